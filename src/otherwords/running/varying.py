"""Around the generators of a run folder: what they must see first, and which problems they had nothing for."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from ..frames import is_unmarked
from ..problem import Task
from ..progress import current
from ..storage import tables
from ..storage.run_folder import RunFolder, key_of
from ..variants.generating import left_out, surveyed, totals, warn_unused_rows
from .stages import made


def prepare(folder: RunFolder, specs: Sequence[str], task: Task, rows: int) -> list[str]:
    """Let generators that must see all texts see them; give the specs that know what was learned, in `tables/`."""
    parts = folder.parts("problems")

    def texts() -> Iterator[str]:
        current().start("survey", rows)
        for part in parts:
            yield from _texts(part, task)
        current().done()

    place = folder.path / "tables"
    told = [surveyed(spec, texts, place, *map(key_of, parts)) for spec in specs]
    _sweep(place, told)
    return told


def _texts(part: Path, task: Task) -> Iterator[str]:
    found = _originals(part).select(task.fields).collect()
    for row in found.iter_rows():
        yield from (text for text in row if text)
        current().advance(1)


def _originals(part: Path) -> pl.LazyFrame:
    """Problems that may be reworded: neither variants nor contrasts."""
    scan = pl.scan_parquet(part, glob=False)
    return scan.filter(pl.col("of").is_null(), is_unmarked(scan.collect_schema(), "contrast"))


def _sweep(place: Path, specs: Iterable[str]) -> None:
    """Remove tables of generators that are no longer in the study."""
    wanted = " ".join(specs)
    for other in place.iterdir() if place.exists() else ():
        if json.dumps(str(other.resolve()), ensure_ascii=False)[1:-1] not in wanted:  # as a spec spells it
            shutil.rmtree(other)


def tables_of(folder: RunFolder) -> list[Path]:
    """The tables that generators made."""
    return sorted((folder.path / "tables").glob("*/*"))


@dataclass
class Unvaried:
    """Problems that generators made nothing of: how many of each, and how many nobody made anything of.

    `left_out` are the candidates that generators made and gave up, by generator and reason.
    """

    by_generator: dict[str, int]
    problems: int = 0
    total: int = 0
    left_out: dict[str, dict[str, int]] = field(default_factory=dict)


def list_unvaried(folder: RunFolder, specs: Sequence[str], out: str | Path = "") -> Unvaried:
    """Count the problems that a generator made nothing of; list them with its signature in a table, if one is named."""
    signed = [made("generators", spec) for spec in specs]
    found = Unvaried({one.signature: 0 for one in signed})
    listed = []
    for problems, variants in zip(folder.parts("problems"), folder.parts("variants"), strict=True):
        asked = _originals(problems).select("id").collect()
        told = pl.scan_parquet(variants, glob=False).select(pl.col("of").alias("id"), "how").unique().collect()
        found.total += asked.height
        found.problems += asked.join(told, on="id", how="anti").height
        for one in signed:
            some = told.filter(pl.col("how") == one.signature)
            left = asked.join(some, on="id", how="anti", maintain_order="left")
            found.by_generator[one.signature] += left.height
            listed.append(left.with_columns(pl.lit(one.signature).alias("generator")))
    if out:
        tables.write(listed, out)
    found.left_out = left_out(totals(pl.scan_parquet(part, glob=False) for part in folder.parts("notes")))
    warn_unused_rows(signed, found.total)
    if signed and not found.total:
        warnings.warn("all problems are contrasts, which are not reworded", stacklevel=2)
    return found
