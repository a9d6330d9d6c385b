"""Which answers changed with the wording: counts for the plot, and the problems that flipped most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from ..errors import BadInput
from ..problem import Task
from .diff import Segment, compare, excerpt
from .numbers import percent
from .plot import Bar

#: Problems shown for each model, and rewordings shown of each problem.
TOP, MOST_REWORDINGS = 10, 40


@dataclass(frozen=True)
class Answer:
    """What a model said, how sure it was (a percentage, empty where unknown), and whether that is right."""

    label: str
    sure: str
    right: bool


@dataclass(frozen=True)
class Rewording:
    """One variant as shown: its changed fields, and the answer to it."""

    id: str
    how: str
    texts: Mapping[str, tuple[Segment, ...]]
    answer: Answer
    flipped: bool
    known: bool


@dataclass(frozen=True)
class Case:
    """A problem whose answer changed: its texts, its right and its given answer, and its rewordings."""

    bucket: str
    gold: str
    texts: Mapping[str, tuple[Segment, ...]]
    answer: Answer
    flips: int
    n: int
    rewordings: tuple[Rewording, ...]


def judge(answers: pl.DataFrame) -> pl.DataFrame:
    """Give the answers `model, bucket, variant, gold, pred`, with whether each is a `flip`, is `right`, and how `sure`.

    An original's own row has a null variant and is no flip.
    """
    names = {"model", "bucket", "variant", "gold", "pred"}
    if missing := sorted(names - {"model"} - set(answers.columns)):
        raise BadInput(
            f"no column {', '.join(missing)}", where="the answers", fix=f"found {', '.join(answers.columns)}"
        )
    if "model" not in answers.columns:
        answers = answers.with_columns(pl.lit("model").alias("model"))
    sure = [pl.when(pl.col("pred") == name[2:]).then(pl.col(name)) for name in answers.columns if name.startswith("p:")]
    text = [pl.col(name).cast(pl.String) for name in ("model", "bucket", "gold", "pred")]
    variant = pl.col("variant").cast(pl.String).replace("", None)
    frame = answers.with_columns(text).select(
        *sorted(names - {"variant"}), variant, pl.coalesce(*sure, None).alias("sure")
    )
    first = frame.filter(pl.col("variant").is_null()).select("model", "bucket", pl.col("pred").alias("first"))
    frame = frame.join(first, on=["model", "bucket"], how="left", maintain_order="left")
    return frame.with_columns(
        (pl.col("pred") == pl.col("gold")).alias("right"),
        (pl.col("variant").is_not_null() & (pl.col("pred") != pl.col("first"))).alias("flip"),
    )


def by_problem(judged: pl.DataFrame) -> pl.DataFrame:
    """Count, for every model and problem with a rewording: rewordings `n`, `flips`, and those that are `right`."""
    variants = judged.filter(pl.col("variant").is_not_null())
    counts = (pl.len().alias("n"), pl.col("flip").sum().alias("flips"), pl.col("right").sum())
    return variants.group_by("model", "bucket").agg(counts).sort("model", "bucket")


def bar(model: str, counted: pl.DataFrame) -> Bar:
    """Sort a model's problems into always right, mixed and always wrong."""
    mine = counted.filter(pl.col("model") == model)
    tests = (pl.col("right") == pl.col("n"), pl.col("right") == 0, pl.col("n") == 1)
    right, wrong, single = (mine.filter(test).height for test in tests)
    return Bar(model, right, mine.height - right - wrong, wrong, single)


def worst(model: str, judged: pl.DataFrame, counted: pl.DataFrame, buckets: pl.DataFrame, task: Task) -> list[Case]:
    """Give the problems with the largest share of changed answers; ties go to more flips, then to the smaller id."""
    mine = counted.filter(pl.col("model") == model, pl.col("flips") > 0)
    order = [pl.col("flips") / pl.col("n"), pl.col("flips"), pl.col("bucket")]
    top = mine.sort(order, descending=[True, True, False]).head(TOP)
    wanted = pl.col("bucket").is_in(top["bucket"].implode())
    said: dict[str, dict[str | None, Any]] = {}
    for row in judged.filter(pl.col("model") == model, wanted).iter_rows(named=True):
        said.setdefault(row["bucket"], {})[row["variant"]] = row
    texts = _texts(buckets, top["bucket"], task)
    return [_case(bucket, said[bucket], texts, flips, n) for bucket, n, flips in top["bucket", "n", "flips"].rows()]


def _texts(buckets: pl.DataFrame, wanted: pl.Series, task: Task) -> dict[str, dict[str, str]]:
    """Give the texts of the wanted buckets by id, in the order of the table; `how` is kept under the empty name."""
    if missing := [name for name in ("id", "of", *task.fields) if name not in buckets.columns]:
        found = f"found {', '.join(buckets.columns)}"
        raise BadInput(f"no column {', '.join(missing)}", where="the buckets", fix=found)
    rows = buckets.filter(pl.coalesce("of", "id").cast(pl.String).is_in(wanted.implode()))
    how = {"": pl.col("how").fill_null("").alias("")} if "how" in buckets.columns else {"": pl.lit("").alias("")}
    columns = [pl.col(name).fill_null("").cast(pl.String) for name in task.fields]
    return {str(row.pop("id")): row for row in rows.select("id", *columns, how[""]).iter_rows(named=True)}


def _case(bucket: str, said: dict[str | None, Any], texts: dict[str, dict[str, str]], flips: int, n: int) -> Case:
    """Show one problem: rewordings that changed the answer first, otherwise in the order of the table."""
    original = {name: text for name, text in texts.get(bucket, {}).items() if name}
    place = {name: i for i, name in enumerate(texts)}
    rows = sorted(
        (row for variant, row in said.items() if variant is not None),
        key=lambda row: (not row["flip"], place.get(row["variant"], len(place)), row["variant"]),
    )[:MOST_REWORDINGS]
    news = [texts.get(row["variant"], original) for row in rows]
    shown = {name: excerpt(text, (new[name] for new in news)) for name, text in original.items()}
    rewordings = tuple(_rewording(row, original, texts.get(row["variant"])) for row in rows)
    first = said[None]
    return Case(bucket, first["gold"], shown, _answer(first), flips, n, rewordings)


def _rewording(row: Mapping[str, Any], original: Mapping[str, str], text: Mapping[str, str] | None) -> Rewording:
    known = text is not None and bool(original)
    changed = {name: compare(old, text[name]) for name, old in original.items() if text and text[name] != old}
    return Rewording(row["variant"], text[""] if text else "", changed, _answer(row), row["flip"], known)


def _answer(row: Mapping[str, Any]) -> Answer:
    sure = "" if row["sure"] is None else f"{percent(row['sure'])}\u00a0%"
    return Answer(row["pred"], sure, row["right"])
