"""AFLite once more, as plain loops from its description: dictionaries, sets and Newton's method.

A round: n classifiers, each trained on m problems (whole pairs, in the order of a permutation from seed, round and
number) and asked all others. Of those that more than tau of the classifiers get right, the k best leave, the first by
pair and id of equally good ones. The end: fewer than k leave, or no more than m remain. A score is a mean over rounds.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np


def plain_aflite(
    problems: list[dict[str, Any]], n: int, m: int, k: int, tau: Fraction, seed: int
) -> tuple[dict[str, float | None], dict[str, int]]:
    """The score of each problem (`id`, `pair`, `label`, `vector`), and the round in which those that left did."""
    problems = sorted(problems, key=lambda one: (one["pair"], one["id"]))
    history: dict[str, list[Fraction]] = {one["id"]: [] for one in problems}
    left: dict[str, int] = {}
    number_of_round = 0
    while len(problems) > m:
        right, asked = dict.fromkeys(history, 0), dict.fromkeys(history, 0)
        pairs = sorted({one["pair"] for one in problems})
        for classifier in range(n):
            chosen: set[str] = set()
            trained = 0
            for place in np.random.default_rng([seed, number_of_round, classifier]).permutation(len(pairs)):
                if trained >= m:
                    break
                chosen.add(pairs[place])
                trained += sum(one["pair"] == pairs[place] for one in problems)
            training = [one for one in problems if one["pair"] in chosen]
            others = [one for one in problems if one["pair"] not in chosen]
            if not others:
                continue
            answers = classify(training, others)
            for one, answer in zip(others, answers, strict=True):
                asked[one["id"]] += 1
                right[one["id"]] += answer == one["label"]
        number_of_round += 1
        shares = {one["id"]: Fraction(right[one["id"]], asked[one["id"]]) for one in problems if asked[one["id"]]}
        for name, share in shares.items():
            history[name].append(share)
        ranked = sorted(((-share, place) for place, share in enumerate(shares.values()) if share > tau))[:k]
        leaving = {list(shares)[place] for _, place in ranked}
        left |= dict.fromkeys(leaving, number_of_round)
        problems = [one for one in problems if one["id"] not in leaving]
        if len(leaving) < k:
            break
    return {name: float(sum(some) / len(some)) if some else None for name, some in history.items()}, left


def classify(training: list[dict[str, Any]], others: list[dict[str, Any]]) -> list[str]:
    """The labels of others by logistic regression with a penalty of half the squared weights, by Newton's method."""
    labels = sorted({one["label"] for one in training})
    if len(labels) == 1:
        return labels * len(others)
    x = np.array([[*one["vector"], 1.0] for one in training])
    free = np.zeros(x.shape[1])
    free[:-1] = 1  # the offset has no penalty
    outputs = 1 if len(labels) == 2 else len(labels)
    wanted = np.array([[one["label"] == label for label in labels[-outputs:]] for one in training], float)
    weights = np.zeros((x.shape[1], outputs))
    for _ in range(60):
        p = probabilities(x @ weights)
        gradient = x.T @ (p - wanted) + free[:, None] * weights
        blocks = [
            [x.T @ ((p[:, a] * ((a == b) - p[:, b]))[:, None] * x) + (a == b) * np.diag(free) for b in range(outputs)]
            for a in range(outputs)
        ]
        step = np.linalg.lstsq(np.block(blocks), gradient.T.ravel(), rcond=1e-12)[0].reshape(outputs, -1).T
        weights -= step
        if abs(step).max() < 1e-11:
            break
    values = np.array([[*one["vector"], 1.0] for one in others]) @ weights
    if outputs == 1:
        return [labels[int(value > 0)] for value in values[:, 0]]
    return [labels[int(np.argmax(row))] for row in values]


def probabilities(values: np.ndarray) -> np.ndarray:
    """Of one output the logistic function, of several the softmax."""
    if values.shape[1] == 1:
        return np.asarray(1 / (1 + np.exp(-values)))
    raised = np.exp(values - values.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))
