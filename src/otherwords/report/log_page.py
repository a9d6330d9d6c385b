"""The report on logs of other harnesses: their answers are scored and shown with the prompts."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from .._version import __version__
from ..errors import BadInput
from ..harnesses.logs import find_harness, read_any
from ..harnesses.samples import INPUT, LogOptions
from ..pipeline import score
from ..problem import UNREADABLE, Task
from ..storage.files import fingerprint, refuse_overwriting, write_text
from .page import render


def write_log_report(logs: Sequence[Path], out: Path, options: LogOptions) -> Path:
    """Score logs of other harnesses, a model or more each, and write the page of their answers."""
    refuse_overwriting(out, *logs)
    tables = [read_any(path, replace(options, texts=True)) for path in logs]
    table = _named_whole(pl.concat(tables, how="diagonal_relaxed"))
    scores = score(table.drop(INPUT))
    labels = sorted({str(one) for name in ("gold", "pred") for one in table[name].drop_nulls()} - {UNREADABLE})
    if len(labels) < 2:
        raise BadInput("all answers are the same label", where=str(logs[0]), fix="give the log of a task with labels")
    task = Task("log", (INPUT,), tuple(labels))
    write_text(out, render(scores, table.drop(INPUT), _texts(table), task, _manifest(logs)))
    return out


def _named_whole(table: pl.DataFrame) -> pl.DataFrame:
    """The table with names of variants that say their bucket, too: texts are found by them."""
    is_variant = pl.col("variant").fill_null("") != ""
    return table.with_columns(
        pl.when(is_variant).then(pl.concat_str("bucket", pl.lit("#"), "variant")).alias("variant")
    )


def _texts(table: pl.DataFrame) -> pl.DataFrame:
    """The suite that was asked, as far as the logs tell: what each wording said, and its label."""
    original = pl.col("variant").is_null()
    named = table.select(
        pl.coalesce("variant", "bucket").alias("id"),
        pl.when(~original).then("bucket").alias("of"),
        pl.lit("recorded").alias("how"),
        pl.col(INPUT).fill_null(""),
        pl.col("gold").alias("label"),
    )
    return named.unique("id", keep="first", maintain_order=True)


def _manifest(logs: Sequence[Path]) -> dict[str, Any]:
    files = [
        {"name": str(path), **({"bytes": path.stat().st_size, "sha256": fingerprint(path)} if path.is_file() else {})}
        for path in logs
    ]
    kinds = ", ".join(dict.fromkeys(find_harness(path) for path in logs))
    return {
        "otherwords": __version__,
        "study": {"title": "", "canary": False},
        "inputs": [{"log": kinds, "files": files}],
    }
