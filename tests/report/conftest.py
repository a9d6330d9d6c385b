"""A small study by hand: two problems, five rewordings, two models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
import pytest

from otherwords.problem import TASKS, Score, Task
from otherwords.report.page import render

TEXTS = {
    "cat": ("The cat sleeps on the mat.", "An animal rests."),
    "cat.1": ("The cat sleeps on the mat.", "Some animal rests."),
    "cat.2": ("The cat is asleep on the mat.", "An animal rests."),
    "cat.3": ("On the mat, the cat sleeps.", "An animal is resting."),
    "dog": ("A dog barks loudly at night.", "The dog is silent."),
    "dog.1": ("A dog barks at night.", "The dog is silent."),
    "dog.2": ("A dog barks loudly at night.", "The dog makes no noise."),
}
GOLD = {"cat": "entailment", "dog": "contradiction"}
PREDS = {
    "weak": ["entailment", "neutral", "neutral", "entailment", "neutral", "neutral", "contradiction"],
    "strong": ["entailment"] * 4 + ["contradiction"] * 3,
}
SIGNATURE = "{}.v1() interval=percentile(confidence=0.9, replicates=500, cluster=cluster) seed=1 otherwords=1.0.0rc1"


@dataclass
class Study:
    """What `render` takes; tests change one part and look at the page."""

    scores: list[Score]
    answers: pl.DataFrame
    buckets: pl.DataFrame
    task: Task = TASKS["nli"]
    manifest: dict[str, Any] = field(default_factory=dict)

    def html(self, **changes: Any) -> str:
        some = replace(self, **changes)
        return render(some.scores, some.answers, some.buckets, some.task, some.manifest)


def a_score(metric: str = "flip_rate", model: str = "weak", group: str | None = None, **values: Any) -> Score:
    how = {"interval": "percentile", "confidence": 0.9, "replicates": 500, "resampled": "cluster"}
    given: dict[str, Any] = {"value": 0.6, "low": 0.5, "high": 0.7213, "n_units": 2, "n_answers": 5, **how, **values}
    return Score(metric=metric, signature=SIGNATURE.format(metric), model=model, group=group, **given)


def table(texts: dict[str, tuple[str, ...]], fields: tuple[str, ...], labels: dict[str, str]) -> pl.DataFrame:
    rows = []
    for name, text in texts.items():
        of = name.partition(".")[0]
        row = {"id": name, "of": None if of == name else of, "how": None if of == name else "by_hand.v1()"}
        rows.append({**row, **dict(zip(fields, text, strict=True)), "label": labels[of], "cluster": of})
    return pl.DataFrame(rows, infer_schema_length=None)


def answers(buckets: pl.DataFrame, preds: dict[str, list[str]]) -> pl.DataFrame:
    frames = [
        buckets.select(
            pl.lit(model).alias("model"),
            pl.coalesce("of", "id").alias("bucket"),
            pl.when(pl.col("of").is_not_null()).then("id").alias("variant"),
            pl.col("label").alias("gold"),
            pl.Series("pred", given),
            "how",
            "cluster",
        )
        for model, given in preds.items()
    ]
    return pl.concat(frames)


@pytest.fixture
def make_score() -> Callable[..., Score]:
    return a_score


@pytest.fixture
def make_table() -> Callable[..., pl.DataFrame]:
    return table


@pytest.fixture
def make_answers() -> Callable[..., pl.DataFrame]:
    return answers


@pytest.fixture
def study() -> Study:
    buckets = table(TEXTS, ("premise", "hypothesis"), GOLD)
    strong = {"model": "strong", "value": 0.0, "low": 0.0, "high": 0.0}
    scores = [
        a_score("accuracy_original", value=0.5, low=0.0, high=1.0, n_answers=2),
        a_score("p_c", value=0.5277, low=0.5, high=0.5555),
        a_score(),
        a_score("accuracy_original", model="strong", value=1.0, low=1.0, high=1.0, n_answers=2),
        a_score("p_c", model="strong", value=1.0, low=1.0, high=1.0),
        a_score(**strong),
    ]
    return Study(scores, answers(buckets, PREDS), buckets)
