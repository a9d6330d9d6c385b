"""Fit the weights of the check `stack` on development data, and print them with what they detect.

python scripts/fit_stack.py PAIRS.parquet

PAIRS is made by `stack_pairs.py`, which says what its sets are. At most so many of each kind are drawn as `MOST` says,
and none that the judge was trained on. The other half of ParaNLU is left for the end.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from stack_pairs import FOLDS, Row, is_unseen

from otherwords.grammar import parser
from otherwords.validity.stack import Evidence, Judges, evidence, terms

#: What a set weighs in all; sound pairs go by their kind.
WEIGHTS = {"D1": 0.7, "D2": 0.7, "D3": 0.7, "D4": 0.7, "written": 4.0, "third": 4.0, "later": 12.0, "practice": 0.5,
           "own": 2.0, "good-own": 1.5, "good-light": 1.6, "good-structure": 3.0, "good-free": 1.6,
           "good-near": 1.6, "good-moderate": 1.6,
           "d-SNLI": 1.2, "d-ATOMIC": 1.2, "d-SOCIAL": 1.2,
           "a-NLI": 1.2, "structural-snli": 1.5, "structural-mnli": 1.5, "wordnet-snli": 2.0,
           "wordnet-mnli": 1.0}  # fmt: skip
#: Kinds of which more is missed count more.
MISSED = {"roles": 4.0, "quantifier": 2.0}
#: How much weights are pulled: those without a judge to 0, those with one to those without.
RIDGE = 1.0
PARAPHRASES = ("d-SNLI", "d-ATOMIC", "d-SOCIAL", "a-NLI")
#: The share of accepted paraphrases below 0.5.
FALSE_DROPS = 0.095
#: At most so many pairs of each kind in a set, drawn by the seed; all of the others.
MOST, SEED = {"D1": 25, "D2": 0, "D3": 0, "D4": 0, "G": 400, "own": 250}, 1
Weights = dict[str, tuple[float, float]]


def logistic(x: np.ndarray, y: np.ndarray, weight: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Logistic regression by Newton's method, pulled to what is known; the first column is the constant."""
    penalty = RIDGE * np.r_[0, np.ones(x.shape[1] - 1)]
    found = known.copy()
    for _ in range(12):
        p = 1 / (1 + np.exp(-np.clip(x @ found, -30, 30)))
        slope = x.T @ (weight * (y - p)) - penalty * (found - known)
        found += np.linalg.solve((x * (weight * p * (1 - p))[:, None]).T @ x + np.diag(penalty), slope)
    return found


def design(some: Sequence[Evidence]) -> tuple[list[str], np.ndarray]:
    """The terms of each pair, and each once more times the share of words in order."""
    names = ["constant", *(name for name in terms(some[0]) if name != "constant")]
    plain = np.array([[terms(one)[name] for name in names] for one in some])
    return names, np.hstack([plain, plain * np.array([[one.changes.frame] for one in some])])


def fit(sets: np.ndarray, kinds: np.ndarray, some: Sequence[Evidence], known: Weights) -> tuple[Weights, np.ndarray]:
    """The weights of each term, and which pairs they drop; where a rule decides nothing is fitted."""
    names, x = design(some)
    by_rule = np.array([bool(one.exchanged or one.contradicted) for one in some])
    sound = (sets == "G") | np.char.startswith(kinds.astype(str), "good")
    weight = np.zeros(len(some))
    for group in {*zip(sets, kinds, strict=True)}:
        which = (sets == group[0]) & (kinds == group[1])
        name = group[1] if sound[which].all() else group[0]
        weight[which] = 1000 * WEIGHTS[name] * MISSED.get(group[1], 1.0) / which.sum()
    start = np.array([known.get(name, (0.0, 0.0)) for name in names]).T.ravel()
    found = logistic(x, sound.astype(float), weight * ~by_rule, start)
    value = np.where(by_rule, -np.inf, x @ found)
    found[0] -= np.quantile(value[np.isin(kinds, PARAPHRASES)], FALSE_DROPS)
    half = len(names)
    return dict(zip(names, zip(found[:half], found[half:], strict=True), strict=True)), values(some, found)


def values(some: Sequence[Evidence], weights: np.ndarray) -> np.ndarray:
    """The logit of each pair; where a rule decides the least."""
    by_rule = np.array([bool(one.exchanged or one.contradicted) for one in some])
    return np.where(by_rule, -np.inf, design(some)[1] @ weights)


def validated(sets: np.ndarray, kinds: np.ndarray, texts: np.ndarray, some: Sequence[Evidence], known: Weights):
    """The logit of each pair by weights that were fitted without its original: in five parts."""
    _, place = np.unique(texts, return_inverse=True)
    part = np.random.default_rng(SEED).integers(0, FOLDS, place.max() + 1)[place]
    found = np.zeros(len(some))
    for one in range(FOLDS):
        own = np.flatnonzero(part != one)
        weights, _ = fit(sets[own], kinds[own], [some[at] for at in own], known)
        rest = np.flatnonzero(part == one)
        found[rest] = values([some[at] for at in rest], np.array([*weights.values()]).T.ravel())
    return found


def report(name: str, rows: Sequence[Row], some: Sequence[Evidence], known: Weights) -> Weights:
    """Fit, and print the weights, and what they drop of each kind, by themselves and validated."""
    sets, kinds, texts = (np.array([row[at] for row in rows]) for at in (0, 1, 2))
    weights, found = fit(sets, kinds, some, known)
    print(f"{name} = {{")
    for term, (own, framed) in weights.items():
        print(f'    "{term}": ({own:.3f}, {framed:.3f}),')
    print("}")
    unseen = validated(sets, kinds, texts, some, known)
    for group in sorted({*zip(sets, kinds, strict=True)}):
        which = (sets == group[0]) & (kinds == group[1])
        print(
            *group, which.sum(), f"dropped {(found[which] < 0).mean():.3f}, validated {(unseen[which] < 0).mean():.3f}"
        )
    return weights


def drawn(path: Path) -> list[Row]:
    """The pairs that are fitted on: of each kind at most `MOST`, none that the judge was trained on."""
    rng = random.Random(SEED)
    rows: list[Row] = []
    for (name, _), part in sorted(pl.read_parquet(path).group_by("set", "kind")):
        unseen = [row for row in part.select("set", "kind", "original", "variant").rows() if is_unseen(row)]
        rows += rng.sample(unseen, min(len(unseen), MOST.get(name, len(unseen))))
    return rows


def main(path: Path) -> None:
    """Fit the weights without a judge, and from them those with each."""
    rows, parse = drawn(path), parser()
    without: Weights = {}
    for name, judge in (("WITHOUT_JUDGE", ""), ("WITH_JUDGE", "nli-small"), ("WITH_MPNET", "mpnet")):
        known = evidence([row[2:] for row in rows], parse, Judges(judge) if judge else None)
        read = [(row, found) for row in rows if isinstance(found := known[row[2:]], Evidence)]
        weights = report(name, [row for row, _ in read], [found for _, found in read], without)
        without = without or weights


if __name__ == "__main__":
    main(Path(sys.argv[1]))
