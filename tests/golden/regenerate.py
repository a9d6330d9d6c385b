"""Rewrite the golden files with what the code does today: `python tests/golden/regenerate.py [NAME ...]`.

Only for a change of behaviour that is meant: look at the difference that git shows, and say in the commit why it is
right. Without names, all files are written. The functions are those of `test_pins.py`, so that both always agree.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

#: What each score has of its own; the rest is mostly the same in all scores of a metric.
OWN = ("metric", "model", "group", "value", "low", "high", "n_units", "n_answers", "n_clusters", "n_effective")
#: A study with more scores than this says once what is usual.
FEW = 100


def main(names: list[str]) -> None:
    from test_pins import HERE, PINS, STUDIES, now

    for name in names or PINS:
        with tempfile.TemporaryDirectory() as folder:
            value = now(name, Path(folder))
        if name in STUDIES:
            value = tabulated(value)
        (HERE / f"{name}.json").write_text(written(value) + "\n", encoding="utf-8")
        print(name)


def tabulated(study: dict[str, Any]) -> dict[str, Any]:
    """A study with its scores as rows, after the names of the columns.

    Where there are many, a row has the cells of its own, then what is not as `usual` says for all metrics and for its.
    """
    scores = study["scores"]
    (names,) = {tuple(score) for score in scores}
    if len(scores) <= FEW:
        return {**study, "scores": [list(names), *(list(score.values()) for score in scores)]}
    shared = [name for name in names if name not in OWN]
    metrics: dict[str, list[dict[str, Any]]] = {}
    for score in scores:
        metrics.setdefault(score["metric"].partition(":")[0], []).append(score)
    common = {**{name: _most_common(scores, name) for name in shared}, "signature": None}
    every = {metric: {name: _most_common(some, name) for name in shared} for metric, some in metrics.items()}
    rows = [
        [score[name] for name in names if name in OWN] + ([other] if other else [])
        for score in scores
        for other in [_unlike(score, every[score["metric"].partition(":")[0]])]
    ]
    usual = {"(all)": common, **{metric: _unlike(one, common) for metric, one in every.items()}}
    return {"usual": usual, **study, "scores": [list(names), *rows]}


def _most_common(scores: list[dict[str, Any]], name: str) -> Any:
    return json.loads(Counter(json.dumps(score[name]) for score in scores).most_common(1)[0][0])


def _unlike(one: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    """What of one is not as usual, as JSON writes it."""
    return {name: one[name] for name, value in usual.items() if json.dumps(one[name]) != json.dumps(value)}


def written(value: Any, depth: int = 2) -> str:
    """JSON with a line for each entry of the two outer levels: small, and git shows what changed.

    >>> print(written({"a": [1.5, {"b": None}]}))
    {
    "a": [
    1.5,
    {"b":null}
    ]
    }
    """
    if not depth or not isinstance(value, (dict, list)) or not value:
        return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    if isinstance(value, list):
        return "[\n" + ",\n".join(written(one, depth - 1) for one in value) + "\n]"
    lines = [f"{json.dumps(key)}: {written(one, depth - 1)}" for key, one in value.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


if __name__ == "__main__":
    main(sys.argv[1:])
