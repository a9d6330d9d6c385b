"""Parts of an answers table: one model's, a group's, and what several models all answered."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import polars as pl

from ..errors import BadInput, UnknownName
from .coding import EVERYWHERE, Place, label_texts
from .reading import label_names, read
from .table import Answers

_BUCKET, _VARIANT = "\0bucket", "\0variant"  # no column of the user's is called so


def with_model(answers: pl.DataFrame, source: str, sifted: bool = False) -> pl.DataFrame:
    """Give every answer the name of its model; a table without such a column is one model's."""
    if answers.height == 0:
        raise BadInput("no answers", where=source, fix="give a table with at least one row")
    if "model" not in answers.columns:
        return answers.with_columns(pl.lit("model").alias("model"))
    if answers["model"].null_count() and not sifted:
        row = int(answers["model"].is_null().arg_true()[0])
        fix = "name the model of every answer, or leave the column out"
        raise BadInput("found nothing", where=Place(source).row(row), field="model", fix=fix)
    return answers.with_columns(pl.col("model").cast(pl.String))


def groups(answers: pl.DataFrame, by: Sequence[str]) -> Iterator[tuple[str | None, pl.DataFrame]]:
    """The whole table, then its groups: variants by their own value, each with its original for company.

    Besides the table's columns, `label` is the right answer, and `original` says whether the original is answered
    right or wrong.
    """
    yield None, answers
    for column in by:
        yield from ((f"{column}={value}", part) for value, part in split(answers, column))


def split(answers: pl.DataFrame, column: str) -> Iterator[tuple[object, pl.DataFrame]]:
    """The groups of one column, in the order of its values."""
    answers = _derived(answers, column)
    if column not in answers.columns:
        raise UnknownName(f"no column {column!r} to group by; there are: {', '.join(answers.columns)}")
    original = _is_original()
    without = answers.filter(~original, pl.col(column).is_null()).height
    if without:
        warnings.warn(f"{without} variants have no {column} and are in none of its groups", stacklevel=4)
    key = ["model", "bucket"] if "model" in answers.columns else ["bucket"]
    for value in answers[column].drop_nulls().unique().sort().to_list():
        inside = answers.filter(pl.col(column) == value)
        company = answers.filter(original).join(inside.select(key).unique(), on=key, how="semi", maintain_order="left")
        yield value, pl.concat([company, inside.filter(~original)])


def _derived(answers: pl.DataFrame, column: str) -> pl.DataFrame:
    if column in answers.columns:
        return answers
    if column == "label":
        return answers.with_columns(pl.col("gold").alias("label"))  # as it is called in the data
    if column == "original":
        key = ["model", "bucket"] if "model" in answers.columns else ["bucket"]
        right = (pl.col("pred") == pl.col("gold")).filter(_is_original()).first().over(key)
        return answers.with_columns(pl.when(right).then(pl.lit("right")).otherwise(pl.lit("wrong")).alias("original"))
    return answers


def _is_original() -> pl.Expr:
    return pl.col("variant").is_null() | (pl.col("variant").cast(pl.String) == "")


def aligned(
    tables: Sequence[pl.DataFrame], labels: Sequence[str] = (), where: Place = EVERYWHERE, about: str | None = None
) -> list[Answers]:
    """What every model answered, in one order, so that row by row the same question is meant.

    A variant that some model did not answer is left out of all, with a warning: rates of models that were asked
    different variants cannot be compared. The right answers must be the same.
    """
    keyed = [_keyed(table) for table in tables]
    shared = keyed[0].select(_BUCKET, _VARIANT)
    for other in keyed[1:]:
        shared = shared.join(other.select(_BUCKET, _VARIANT), on=[_BUCKET, _VARIANT], how="semi")
    if shared.height == 0:
        fix = "models are compared on the same buckets and variants; their names must agree"
        raise BadInput("no variant is answered by all models", where=where.table, fix=fix)
    cut = [table.join(shared, on=[_BUCKET, _VARIANT], how="semi").sort(_BUCKET, _VARIANT) for table in keyed]
    _say_what_is_left_out(keyed, cut, about)
    _check_gold(cut)
    told = pl.concat([one.select("gold", "pred", "^p:.*$") for one in cut], how="diagonal_relaxed")
    names = tuple(labels) or label_names(told, where)
    clusters = next((one["cluster"] for one in cut if "cluster" in one.columns), None)
    if clusters is not None:
        cut = [one.with_columns(clusters.alias("cluster")) for one in cut]
    return [read(one.drop(_BUCKET, _VARIANT), names, where) for one in cut]


def _keyed(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(
        pl.col("bucket").cast(pl.String).alias(_BUCKET), pl.col("variant").cast(pl.String).fill_null("").alias(_VARIANT)
    )


def _say_what_is_left_out(tables: Sequence[pl.DataFrame], cut: Sequence[pl.DataFrame], about: str | None) -> None:
    lost = [
        f"{before.height - after.height} of {before.height} by {before['model'][0]}"
        for before, after in zip(tables, cut, strict=True)
        if after.height < before.height
    ]
    if lost:
        said = f"compared on the {cut[0].height} answers that all models gave; left out: {', '.join(lost)}"
        said = f"{about}: {said}" if about else said
        why = "a suite that a model filtered itself is cut to the part all share"
        warnings.warn(f"{said}. ({why})", stacklevel=4)


def _check_gold(cut: Sequence[pl.DataFrame]) -> None:
    first = cut[0]
    for other in cut[1:]:
        differ = label_texts(first["gold"]) != label_texts(other["gold"])
        if differ.any():
            row = int(differ.arg_true()[0])
            found = f"{first['gold'][row]!r} for {first['model'][0]}, {other['gold'][row]!r} for {other['model'][0]}"
            place = f"bucket {first['bucket'][row]}, variant {first['variant'][row]}"
            raise BadInput(found, where=place, field="gold", fix="compare models on the same problems")
