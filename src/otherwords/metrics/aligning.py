"""What several models all answered, in one order, so that row by row the same question is meant."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import polars as pl

from ..errors import BadInput
from ..problem import TASKS
from .coding import EVERYWHERE, Place, label_texts
from .reading import label_names, read
from .table import Answers

_BUCKET, _VARIANT = "\0bucket", "\0variant"  # no column of the user's is called so
_TEXTS = tuple(dict.fromkeys(name for task in TASKS.values() for name in task.fields))


def aligned(
    tables: Sequence[pl.DataFrame], labels: Sequence[str] = (), where: Place = EVERYWHERE, about: str | None = None
) -> list[Answers]:
    """Cut the tables to the answers that all models gave, and read them; each must have been read alone before.

    A variant that some model did not answer is left out of all, with a warning: rates of models that were asked
    different variants cannot be compared. The right answers must be the same, and the texts where they are told.
    """
    keyed = [_keyed(table) for table in tables]
    shared = keyed[0].select(_BUCKET, _VARIANT)
    for other in keyed[1:]:
        shared = shared.join(other.select(_BUCKET, _VARIANT), on=[_BUCKET, _VARIANT], how="semi")
    if shared.height == 0:
        fix = "models are compared on the same buckets and variants; their names must agree"
        raise BadInput("no variant is answered by all models", where=about or where.table, fix=fix)
    cut = [table.join(shared, on=[_BUCKET, _VARIANT], how="semi").sort(_BUCKET, _VARIANT) for table in keyed]
    _say_what_is_left_out(keyed, cut, about)
    for other in cut[1:]:
        _check_same(cut[0], other)
    told = [one.select(label_texts(one["gold"]), label_texts(one["pred"]), "^p:.*$") for one in cut]
    names = tuple(labels) or label_names(pl.concat(told, how="diagonal_relaxed"), where)
    return [read(one.drop(_BUCKET, _VARIANT), names, where) for one in _clustered_alike(cut)]


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


def _check_same(first: pl.DataFrame, other: pl.DataFrame) -> None:
    """Refuse two models that were not asked the same: another right answer, or other words under the same name."""
    texts = [name for name in _TEXTS if name in first.columns and name in other.columns]
    for name in ("gold", *texts):
        one, two = ((label_texts(t[name]) if name == "gold" else t[name].cast(pl.String)) for t in (first, other))
        differ = (one != two).fill_null(False)
        if differ.any():
            row = int(differ.arg_true()[0])
            found = f"{one[row]!r} for {first['model'][0]}, {two[row]!r} for {other['model'][0]}"
            place = f"bucket {first['bucket'][row]}, variant {first['variant'][row]}"
            raise BadInput(found, where=place, field=name, fix="compare models on the same problems and variants")


def _clustered_alike(cut: Sequence[pl.DataFrame]) -> Sequence[pl.DataFrame]:
    """Give all the clusters of the table that tells most of them."""
    named = pl.col("cluster").cast(pl.String).replace("", None)
    cut = [one.with_columns(named) if "cluster" in one.columns else one for one in cut]
    original = cut[0][_VARIANT] == ""  # a bucket belongs where its original belongs
    told = [one for one in cut if "cluster" in one.columns and one["cluster"].filter(original).count()]
    if not told:
        return cut
    best = min(told, key=lambda one: one["cluster"].filter(original).null_count())
    for one in told:
        pairs = pl.DataFrame({"a": best["cluster"], "b": one["cluster"]}).filter(original).drop_nulls()
        if pairs.n_unique() != pairs["a"].n_unique() or pairs.n_unique() != pairs["b"].n_unique():
            mine, theirs = best["model"][0], one["model"][0]
            warnings.warn(f"{mine} and {theirs} tell different clusters; those of {mine} are taken", stacklevel=4)
    return [one.with_columns(best["cluster"].alias("cluster")) for one in cut]
