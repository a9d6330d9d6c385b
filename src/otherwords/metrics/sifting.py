"""Sifting: answers that cannot be used are set aside, each with the reason, instead of stopping the whole."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from .coding import label_texts
from .parting import is_contrast, is_misplaced, is_mixed
from .reading import bad_probabilities, is_variant

_ORIGINAL = "\0original"  # no column of the user's is called so
_FINE = pl.lit(None, dtype=pl.String)


def sift(answers: pl.DataFrame, labels: Sequence[str] = ()) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Part a table, of one model or several, in answers that can be used and the others.

    The others have their `row` (from 1, as in the user's table) and the `reason` before their own columns.
    """
    place, reason = "\0row", "\0reason"
    kept, aside = [], []
    for left in answers.with_row_index(place, offset=1).partition_by("model", maintain_order=True):
        left = left.with_columns(pl.Series(_ORIGINAL, ~is_variant(left["variant"])))
        for find in (_nothing, _strangers, _probabilities, _repeated, _originals, _marks, _other_gold):
            judged = left.with_columns(find(left, labels).alias(reason))
            aside.append(judged.filter(pl.col(reason).is_not_null()))
            left = judged.filter(pl.col(reason).is_null()).drop(reason)
        kept.append(left)
    others = pl.concat(aside).sort(place)
    names = [pl.col(place).alias("row"), pl.col(reason).alias("reason")]
    return pl.concat(kept).sort(place).drop(place, _ORIGINAL), others.select(*names, *map(pl.col, answers.columns))


def _nothing(table: pl.DataFrame, labels: Sequence[str]) -> pl.Expr:
    names = ("model", "bucket", "gold", "pred")
    return pl.coalesce(_where(pl.col(name).is_null(), f"{name}: found nothing") for name in names)


def _strangers(table: pl.DataFrame, labels: Sequence[str]) -> pl.Expr:
    if not labels:
        return _FINE
    known = [label_texts(table[name]).is_in(list(labels)) for name in ("gold", "pred")]
    return _where(pl.lit(~(known[0] & known[1])), f"gold or pred is none of {', '.join(labels)}")


def _probabilities(table: pl.DataFrame, labels: Sequence[str]) -> pl.Expr:
    wrong = bad_probabilities(table)
    return _where(pl.lit(wrong), "p: probabilities must be numbers from 0 to 1 that sum to one")


def _repeated(table: pl.DataFrame, labels: Sequence[str]) -> pl.Expr:
    return _where(~pl.struct("bucket", "variant").is_first_distinct(), "answered before")


def _originals(table: pl.DataFrame, labels: Sequence[str]) -> pl.Expr:
    count = pl.col(_ORIGINAL).sum().over("bucket")
    return _where(count != 1, pl.format("its bucket has {} originals", count))


def _marks(table: pl.DataFrame, labels: Sequence[str]) -> pl.Expr:
    mixed = _where(pl.lit(pl.Series(is_mixed(table))), "contrast: its bucket is marked in part, or with two names")
    misplaced = _where(pl.lit(pl.Series(is_misplaced(table))), "control: it is an original, or a contrast")
    return pl.coalesce(mixed, misplaced)


def _other_gold(table: pl.DataFrame, labels: Sequence[str]) -> pl.Expr:
    expected = pl.col("gold").filter(pl.col(_ORIGINAL)).first().over("bucket")
    free = pl.lit(pl.Series(is_contrast(table)))
    return _where((pl.col("gold") != expected) & ~free, "gold differs from its original's")


def _where(wrong: pl.Expr, reason: str | pl.Expr) -> pl.Expr:
    return pl.when(wrong).then(pl.lit(reason) if isinstance(reason, str) else reason)
