"""What became of the suggestions of masked-LMs in a run: the share that each filter removed, and who agreed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from ..storage.run import RunFolder
from ..variants.merge.rates import filter_rates, overlap
from ..variants.merge.tallying import FILTERS, KEPT
from .parts import FilterRate, Overlap, Suggestions


def suggestions(names: Sequence[str]) -> tuple[Suggestions, ...]:
    """For each generator with masked-LMs, from the notes of the run folders that are named."""
    folders = [RunFolder(name) for name in names if (Path(name) / "notes").is_dir()]
    notes = [folder.read("notes") for folder in folders if folder.parts("notes")]
    whole = pl.concat(notes, how="diagonal_relaxed") if notes else pl.DataFrame({"what": [], "generator": []})
    told = whole.filter(pl.col("what").is_in(FILTERS)) if whole.height else whole
    return tuple(_suggestions(name, whole.filter(generator=name)) for name in sorted(set(told["generator"])))


def _suggestions(generator: str, notes: pl.DataFrame) -> Suggestions:
    rates = tuple(FilterRate(**row) for row in filter_rates(notes).iter_rows(named=True))
    if not (notes["what"] == KEPT).any():  # no class had suggestions enough
        return Suggestions(generator, rates, ())
    rows = overlap(notes).unpivot(index="model", variable_name="other", value_name="mean").sort("model", "other")
    return Suggestions(generator, rates, tuple(Overlap(**row) for row in rows.iter_rows(named=True)))
