"""Around the generators of a run folder: what they must see first, and which problems they had nothing for."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import polars as pl

from .problem import Task
from .progress import current
from .registry import Bound
from .stages import made
from .storage.files import write_text
from .storage.run import RunFolder, key_of
from .variants.survey import surveyed


def prepare(folder: RunFolder, specs: Sequence[str], task: Task, rows: int) -> list[str]:
    """Let generators that must see all texts see them; give the specs that know what was learned, in `tables/`."""
    parts = folder.parts("problems")

    def texts() -> Iterator[str]:
        current().start("survey", rows)
        for part in parts:
            yield from _texts(part, task)
        current().done()

    tables = folder.path / "tables"
    told = [surveyed(spec, texts, tables, *map(key_of, parts)) for spec in specs]
    _sweep(tables, told)
    return told


def _texts(part: Path, task: Task) -> Iterator[str]:
    found = _originals(part).select(task.fields).collect()
    for row in found.iter_rows():
        yield from (text for text in row if text)
    current().advance(found.height)


def _originals(part: Path) -> pl.LazyFrame:
    """Problems that may be reworded: neither variants nor contrasts."""
    scan = pl.scan_parquet(part, glob=False)
    contrasts = pl.col("contrast").is_null() if "contrast" in scan.collect_schema() else pl.lit(True)
    return scan.filter(pl.col("of").is_null(), contrasts)


def _sweep(tables: Path, specs: Iterable[str]) -> None:
    """Remove tables of generators that are no longer in the study."""
    wanted = " ".join(specs)
    for other in tables.iterdir() if tables.exists() else ():
        if str(other.resolve()) not in wanted:
            shutil.rmtree(other)


def tables_of(folder: RunFolder) -> list[Path]:
    """The tables that generators made."""
    return sorted((folder.path / "tables").glob("*/*"))


def list_unvaried(folder: RunFolder, specs: Sequence[str], path: Path | None) -> dict[str, int]:
    """Count, for every generator, the problems it made nothing of, and list them in a file, if one is named."""
    signed = [made("generators", spec) for spec in specs]
    counts = {one.signature: 0 for one in signed}
    lines: list[str] = []
    total = 0
    for problems, variants in zip(folder.parts("problems"), folder.parts("variants"), strict=True):
        asked = _originals(problems).select("id").collect()
        total += asked.height
        found = pl.scan_parquet(variants, glob=False).select("of", "how").unique().collect()
        for one in signed:
            some = found.filter(pl.col("how") == one.signature)
            left = asked.join(some, left_on="id", right_on="of", how="anti", maintain_order="left")["id"].to_list()
            counts[one.signature] += len(left)
            if path:
                lines += [json.dumps({"id": name, "generator": one.plugin.full_name}) + "\n" for name in left]
    if path:
        write_text(path, "".join(lines))
    _tell_unmatched(signed, total)
    return counts


def _tell_unmatched(signed: Sequence[Bound], total: int) -> None:
    """Rows of a recorded file that found no problem would otherwise be lost without a word."""
    for one in signed:
        left = one.function.unmatched(total) if hasattr(one.function, "unmatched") else None
        if left:
            warnings.warn(f"{one.signature}: {left:,} of its rows reword none of these problems", stacklevel=3)
