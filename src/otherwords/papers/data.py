"""What every paper's experiment reads: parts of files or data sets, with labels, filtered and drawn."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, field_validator

from ..datasets.intake import IN_FILE, is_without_text
from ..datasets.source import Source
from ..errors import BadInput
from ..frames import is_unmarked, join_pieces
from ..problem import Task
from ..storage.files import atomic, digest, seed_for
from ..storage.run_folder import is_whole, read_part
from ..variants.resampling import draws

#: Of each file, how many rows have no majority label, and how many an empty text.
LeftOut = dict[str, tuple[int, int]]


class DataPart(BaseModel):
    """Files or data sets that are read as one; `where` keeps rows with these values: {split = ["dev", "test"]}."""

    model_config = ConfigDict(extra="forbid")

    data: list[str] = Field(min_length=1)
    where: dict[str, list[str]] = {}

    @field_validator("data", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("where", mode="before")
    @classmethod
    def _texts(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        several = {name: one if isinstance(one, list) else [one] for name, one in value.items()}
        return {name: [_as_text(one) for one in some] for name, some in several.items()}


def _as_text(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)


class PaperData(DataPart):
    """A data set of a paper's experiment: its problems, and how to read them.

    `size` problems are drawn, once and by the seed; 0 means all. `domain` is "in" where the models were trained on such
    data, and "out" where they were not.
    """

    size: int = Field(0, ge=0, strict=True)
    task: str | dict[str, Any] = ""
    columns: dict[str, str] = {}
    labels: dict[str, str] = {}
    domain: Literal["", "in", "out"] = ""

    def source(self, part: DataPart | None = None, names: Sequence[str] = ()) -> Source:
        """What it is read from."""
        named = list(names) or self.data
        return Source(named, self.task, self.columns, self.labels, skip_bad=True, gold="all", options=IN_FILE)

    def signature(self) -> str:
        """A digest of the content of its files, and of how they are read."""
        return digest(self.source().signature, self.model_dump(exclude={"domain"}))[:16]

    def problems(self, where: str, seed: int) -> tuple[pl.DataFrame, Task]:
        """Its problems, drawn, and their task."""
        task = self.source().chosen
        return draw_rows(read_rows(self, self, task, where), self.size, seed), task


class Readable(Protocol):
    """A data set of an experiment, which says how its files are read."""

    def source(self, part: DataPart, names: Sequence[str] = ()) -> Source:
        """What a part is read from, or the files of it that are named."""
        ...


def read_rows(data: Readable, part: DataPart, task: Task, where: str, left_out: LeftOut | None = None) -> pl.DataFrame:
    """The problems of a part, with labels; rows without a majority or with an empty text are left out, and counted."""
    frames = [_read_one(data, part, name, task, {} if left_out is None else left_out) for name in part.data]
    if len(frames) > 1 and pl.concat([one["id"] for one in frames]).is_duplicated().any():
        frames = [one.with_columns(pl.format("{}:{}", pl.lit(k), "id").alias("id")) for k, one in enumerate(frames, 1)]
    rows = pl.concat(frames, how="diagonal_relaxed")
    for column, values in part.where.items():
        if column not in rows.columns:
            fix = f"available: {', '.join(rows.columns)}"
            raise BadInput("no such column", where=where, field=f"where.{column}", fix=fix)
        rows = rows.filter(pl.col(column).cast(pl.String).is_in(values))
    if not rows.height:
        raise BadInput("no rows left", where=where, field="where" if part.where else "data", fix="give other data")
    return rows


def _read_one(data: Readable, part: DataPart, name: str, task: Task, left_out: LeftOut) -> pl.DataFrame:
    source = data.source(part, [name])
    rows = join_pieces(list(source.pieces()), task)
    if bad := next((one["reason"] for one in source.intake.rejected if not is_without_text(one)), ""):
        raise BadInput(bad)
    left_out[name] = source.intake.no_majority, len(source.intake.rejected)
    return rows.filter(pl.col("of").is_null(), is_unmarked(rows.columns, "contrast", "control"))


def refuse_blank(rows: pl.DataFrame, column: str, where: str, field: str) -> None:
    """Refuse a column that does not have a value in every row."""
    blank = rows.filter(pl.col(column).cast(pl.String).str.strip_chars().fill_null("") == "")
    if blank.height:
        fix = "fill the column, or leave such rows out: where = {" + column + " = [...]}"
        raise BadInput(f"{blank['id'][0]!r} has no value for {column!r}", where=where, field=field, fix=fix)


def write_rows(path: Path, rows: pl.DataFrame) -> Path:
    """Write a table, unless it is there; give its place."""
    if not is_whole(path) or not read_part(path).equals(rows):
        with atomic(path) as draft:
            rows.write_parquet(draft)
    return path


def draw_rows(rows: pl.DataFrame, size: int, seed: int) -> pl.DataFrame:
    """So many rows, in their order, if there are more; which ones hangs on the seed and their ids."""
    if not size or size >= rows.height:
        return rows
    order = pl.Series(draws(rows["id"], seed_for(seed, "size"))).arg_sort()
    return rows[order[:size].sort()]
