"""Fit the weights of the check `stack` on development data, and print them with what they detect.

python scripts/fit_stack.py PAIRS.parquet

PAIRS is made by `stack_pairs.py`, which says what its sets are. The other parts of ParaNLU are left for the end.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

from otherwords.grammar import parser
from otherwords.validity.mutual_entailment import EntailmentJudge, load_judge
from otherwords.validity.stack import Evidence, evidence, terms

#: What a set weighs in all; roles are a rule, and not fitted.
WEIGHTS = {"D1": 1.0, "D2": 0.2, "D3": 1.0, "paranlu": 3.0, "structural-snli": 0.5, "structural-mnli": 0.5,
           "wordnet-snli": 0.7, "wordnet-mnli": 0.3}  # fmt: skip
#: The share of accepted paraphrases below 0.5.
FALSE_DROPS = 0.08


def logistic(x: np.ndarray, y: np.ndarray, weight: np.ndarray, ridge: float = 1.0) -> np.ndarray:
    """Ridge logistic regression by Newton's method; the first column is the constant."""
    penalty = ridge * np.r_[0, np.ones(x.shape[1] - 1)]
    found = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(x @ found, -30, 30)))
        slope = x.T @ (weight * (y - p)) - penalty * found
        found += np.linalg.solve((x * (weight * p * (1 - p))[:, None]).T @ x + np.diag(penalty), slope)
    return found


def design(some: list[Evidence]) -> tuple[list[str], np.ndarray]:
    """The terms of each pair, and each once more times the share of words in order."""
    names = ["constant", *(name for name in terms(some[0]) if name != "constant")]
    plain = np.array([[terms(one)[name] for name in names] for one in some])
    return names, np.hstack([plain, plain * np.array([[one.changes.frame] for one in some])])


def main(path: Path) -> None:
    """Fit both sets of weights, and print what they drop of each kind."""
    rows = pl.read_parquet(path).select("set", "kind", "original", "variant").rows()
    for judge in (EntailmentJudge(load_judge("nli-small")), None):
        known = evidence([row[2:] for row in rows], parser(), judge)
        read = [(row, found) for row in rows if isinstance(found := known[row[2:]], Evidence)]
        some = [found for _, found in read]
        sets, kinds = (np.array([row[at] for row, _ in read]) for at in (0, 1))
        names, x = design(some)
        groups = np.where(sets == "G", kinds, sets)
        weight = np.array([WEIGHTS[group] for group in groups]) * (kinds != "roles")
        for group in {*zip(sets, kinds, strict=True)}:
            which = (sets == group[0]) & (kinds == group[1])
            weight[which] *= 1000 / which.sum()
        found = logistic(x, (sets == "G").astype(float), weight)
        value = np.where([bool(one.exchanged) for one in some], -np.inf, x @ found)
        found[0] -= (limit := np.quantile(value[kinds == "paranlu"], FALSE_DROPS))
        size = len(names)
        print("WITH_JUDGE" if judge else "WITHOUT_JUDGE", "= {")
        for name, own, framed in zip(names, found[:size], found[size:], strict=True):
            print(f'    "{name}": ({own:.3f}, {framed:.3f}),')
        print("}")
        for group in sorted({*zip(sets, kinds, strict=True)}):
            which = (sets == group[0]) & (kinds == group[1])
            print(*group, which.sum(), f"dropped {(value[which] < limit).mean():.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
