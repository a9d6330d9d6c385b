"""How often tests over several models reject where there is nothing to find, at a nominal 5 %.

Two groups of wordings, alike on average for models and problems such as these: models differ in skill and in which of
the two suits them (the interaction), problems in difficulty, and in which suits them. The crossed test, which decides,
must reject at most 6 %; the papers' t over models' scores is measured beside it, and so is the same variance with
Satterthwaite's degrees of freedom.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np

SIMULATIONS, TINY_SIMULATIONS = 10_000, 20
#: The most that a test which we recommend may reject.
LEVEL = 0.06


class Cell(NamedTuple):
    """One kind of table: how many models and problems, and what makes them differ."""

    models: int
    problems: int
    clustered: bool  # problems in clusters of three that share two thirds of their difficulty
    interaction: float  # standard deviation of what a model gains by the one wording, in logits
    matched: bool  # both wordings of the same problems
    rate: float  # the median problem's

    def __str__(self) -> str:
        clusters = ", clustered" if self.clustered else ""
        problems = f"{self.problems} {'shared' if self.matched else 'different'} problems{clusters}"
        return f"{self.models} models, {problems}, interaction {self.interaction:g}, rate {self.rate:g}"


CELLS = [
    Cell(models, problems, clustered, interaction, matched, rate)
    for (models, problems, clustered, interaction), (matched, rate) in product(
        product((3, 5), (20, 50, 200), (False, True), (0.0, 0.5, 1.5)), ((True, 0.5), (False, 0.95))
    )
]


def run(tiny: bool = False) -> list[dict[str, Any]]:
    cells, simulations = (CELLS[:2], TINY_SIMULATIONS) if tiny else (CELLS, SIMULATIONS)
    found = {str(cell): rejected(cell, simulations, seed) for seed, cell in enumerate(cells)}
    shares = {test: {cell: each[test] for cell, each in found.items()} for test in ("crossed", "satterthwaite", "t")}
    worst = {test: max(each, key=lambda cell: each[cell]) for test, each in shares.items()}
    beside = "; ".join(f"{test} {shares[test][worst[test]]:.1%} ({worst[test]})" for test in ("satterthwaite", "t"))
    return [
        {
            "claim": f"true nulls that the crossed test rejects, the most of {len(cells)} cells of {simulations:,}",
            "measured": 100 * shares["crossed"][worst["crossed"]],
            "unit": "%",
            "at_most": 100 * LEVEL,
            "detail": f"at {worst['crossed']}; beside it, at most: {beside}",
            "cells": found,
        }
    ]


def rejected(cell: Cell, simulations: int, seed: int) -> dict[str, float]:
    """The share of true nulls that each test rejects at 5 %: `crossed`, with `satterthwaite`, and the papers' `t`."""
    from otherwords.significance import t_test
    from otherwords.significance.across_models import crossed_tests

    random = np.random.default_rng([seed, simulations])
    times = dict.fromkeys(("crossed", "satterthwaite", "t"), 0.0)
    for start in range(0, simulations, 500):
        values, moved = null_tables(cell, random, min(500, simulations - start))
        first, second = values
        times["crossed"] += (crossed_tests(first - second, moved)[2] < 0.05).sum()
        times["satterthwaite"] += (_satterthwaite(first - second, moved) < 0.05).sum()
        times["t"] += sum(t_test(*each, cell.matched).p < 0.05 for each in zip(first, second, strict=True))
    return {test: float(count / simulations) for test, count in times.items()}


def null_tables(cell: Cell, random: np.random.Generator, tables: int) -> tuple[np.ndarray, np.ndarray]:
    """The accuracy of each model in both groups, table by table, and how much each cluster moves each difference."""
    size = 3 if cell.clustered else 1
    centre = np.log(cell.rate / (1 - cell.rate))

    def of_problems(deviation: float, models: int = 1) -> np.ndarray:
        shared = random.normal(0, deviation, (tables, models, -(-cell.problems // size)))
        own = random.normal(0, deviation, (tables, models, cell.problems))
        weight = 2 / 3 if cell.clustered else 0.0
        return np.sqrt(weight) * np.repeat(shared, size, axis=2)[..., : cell.problems] + np.sqrt(1 - weight) * own

    skill = random.normal(0, 0.4, (tables, cell.models, 1))
    gain = random.normal(0, cell.interaction, (tables, cell.models, 1))
    common = [of_problems(1.5) + of_problems(0.7, cell.models) for _ in range(1 if cell.matched else 2)]
    suits = of_problems(0.5) + of_problems(0.5, cell.models)
    starts = np.arange(0, cell.problems, size)
    values, moved = [], []
    for sign, difficulty in ((0.5, common[0]), (-0.5, common[-1])):
        logit = centre + skill + difficulty + sign * (gain + suits)
        count = random.integers(1, 9, (tables, 1, cell.problems))
        right = random.binomial(count, 1 / (1 + np.exp(-logit)))
        num, den = np.add.reduceat(right, starts, axis=2), np.add.reduceat(count, starts, axis=2)
        total = den.sum(axis=2, keepdims=True)
        value, n = num.sum(axis=2, keepdims=True) / total, len(starts)
        values.append(value[..., 0])
        moved.append(2 * sign * (num - value * den) / total * np.sqrt(n / (n - 1)))
    return np.array(values), moved[0] + moved[1] if cell.matched else np.concatenate(moved, axis=2)


def _satterthwaite(values: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """The p-values with the same variance and Satterthwaite's degrees of freedom."""
    from scipy.special import stdtr

    models, clusters = moved.shape[1:]
    shared = moved.mean(axis=1)
    rest = ((moved - shared[:, None]) ** 2).sum(axis=(1, 2)) / (models * (models - 1))
    parts = np.stack([values.var(axis=1, ddof=1) / models, (shared**2).sum(axis=1), rest])
    variance = np.maximum(np.maximum(parts[0] + parts[1] - parts[2], parts[0]), parts[1]) + 1e-30
    freedom = np.array([models - 1, clusters - 1, (models - 1) * (clusters - 1)])[:, None]
    df = np.maximum(variance**2 / ((parts**2 / freedom).sum(axis=0) + 1e-60), 1)
    return np.asarray(2 * stdtr(df, -np.abs(values.mean(axis=1)) / np.sqrt(variance)))
