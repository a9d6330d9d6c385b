"""Tables at the door: JSONL, CSV, TSV and Parquet, written frame by frame in bounded memory and only ever whole."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from ..errors import BadInput
from .files import atomic

FORMATS = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")


def refuse_unwritable(target: str | Path) -> None:
    """Complain of a name that cannot be written to before any work is done for it."""
    path = Path(target)
    if str(target) != "-" and path.suffix not in FORMATS:
        raise BadInput(
            f"cannot write {path.name!r}",
            fix=f"end the name in {', '.join(FORMATS)}, or use - for standard output",
        )
    if path.is_dir() and str(target) != "-":
        raise BadInput("is a folder", where=str(path), fix="name a file")


def write(frames: Iterable[pl.DataFrame], target: str | Path) -> int:
    """Write frames to a file, its format told by its ending, or as JSONL to standard output (`-`); count the rows.

    All is assembled on disk first: frames may differ in columns, and a reader at the other end of a pipe must not see
    half a table. A column that a frame lacks is null there.
    """
    refuse_unwritable(target)
    with tempfile.TemporaryDirectory(prefix="otherwords-") as folder:
        parts = []
        for number, frame in enumerate(frames):
            parts.append(Path(folder) / f"{number:06}.parquet")
            frame.write_parquet(parts[-1])
        whole = (
            pl.concat([pl.scan_parquet(part) for part in parts], how="diagonal_relaxed") if parts else pl.LazyFrame()
        )
        if str(target) == "-":
            draft = Path(folder) / "out.jsonl"
            whole.sink_ndjson(draft)
            with draft.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        else:
            with atomic(Path(target)) as draft:
                _sink(whole, draft, Path(target).suffix)
        return int(whole.select(pl.len()).collect().item()) if parts else 0


def _sink(table: pl.LazyFrame, path: Path, suffix: str) -> None:
    if suffix == ".parquet":
        table.sink_parquet(path)
    elif suffix in (".csv", ".tsv"):
        table.sink_csv(path, separator="\t" if suffix == ".tsv" else ",")
    else:
        table.sink_ndjson(path)


def read(path: str | Path) -> pl.DataFrame:
    """Read a whole table (an answers table, say) from a file, standard input (`-`) or a folder of Parquet parts."""
    where = str(path)
    path = Path(path)
    if where != "-" and not path.exists():
        raise BadInput("there is no such file", where=where)
    try:
        if where == "-":
            return pl.read_ndjson(sys.stdin.buffer.read(), infer_schema_length=None)
        if path.is_dir():
            parts = [pl.scan_parquet(part) for part in sorted(path.rglob("*.parquet"))]
            return pl.concat(parts, how="diagonal_relaxed").collect()
        if path.suffix == ".parquet":
            return pl.read_parquet(path)
        if path.suffix in (".csv", ".tsv"):
            return pl.read_csv(path, separator="\t" if path.suffix == ".tsv" else ",", infer_schema_length=None)
        if path.suffix in (".jsonl", ".ndjson"):
            return pl.read_ndjson(path, infer_schema_length=None)
    except (pl.exceptions.PolarsError, ValueError) as error:
        raise BadInput(
            f"cannot be read as a table: {error}", where=where, fix="give a table with at least one row"
        ) from error
    raise BadInput("has a format unknown here", where=where, fix=f"use one of {', '.join(FORMATS)}")
