"""What generators say besides variants: what they left out, why and how often; a table with a row for each count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from ..errors import BadInput
from ..problem import Note
from ..storage.tables import read

#: The columns of every table of notes; what a note is about comes after them, a column each.
COLUMNS = {"id": pl.String, "generator": pl.String, "what": pl.String, "count": pl.Int64}


def notes_table(notes: Iterable[tuple[str, Note]]) -> pl.DataFrame:
    """Notes of generators, each given with the generator's signature, as a table.

    >>> told = notes_table([("g.v1()", Note("p1", "left out: empty", 2, {"field": "premise"}))])
    >>> told.row(0, named=True)
    {'id': 'p1', 'generator': 'g.v1()', 'what': 'left out: empty', 'count': 2, 'field': 'premise'}
    """
    notes = list(notes)
    _refuse_columns(notes)
    rows = [{"id": n.of, "generator": who, "what": n.what, "count": n.count, **n.about} for who, n in notes]
    about = sorted({name for row in rows for name in row} - set(COLUMNS))
    return pl.DataFrame(rows, schema={**COLUMNS, **dict.fromkeys(about, pl.String)}, orient="row")


def read_notes(path: str | Path) -> pl.DataFrame:
    """Read the notes that `vary --notes FILE` wrote, in any format of tables, or those of a run folder.

    A column that few notes have is empty in most rows, from which its type cannot be told: here it is known.
    """
    inner = Path(path) / "notes"
    table = read(inner if inner.is_dir() else path)
    if lost := [name for name in COLUMNS if name not in table.columns]:
        fix = "give what vary --notes FILE wrote, or the folder of a run"
        raise BadInput(f"is no table of notes: it has no column {', '.join(lost)}", where=str(path), fix=fix)
    about = [name for name in table.columns if name not in COLUMNS]
    return table.select(*(pl.col(name).cast(COLUMNS.get(name, pl.String)) for name in (*COLUMNS, *about)))


def totals(tables: Iterable[pl.DataFrame | pl.LazyFrame]) -> dict[str, dict[str, int]]:
    """How often each generator said what, over all tables of notes.

    >>> table = notes_table([("g.v1()", Note("p1", "left out: empty", 2)), ("g.v1()", Note("p2", "left out: empty"))])
    >>> totals([table])
    {'g.v1()': {'left out: empty': 3}}
    """
    found: dict[str, dict[str, int]] = {}
    for table in tables:
        counted = table.lazy().group_by("generator", "what").agg(pl.col("count").sum()).sort("generator", "what")
        for generator, what, count in counted.collect().iter_rows():
            mine = found.setdefault(generator, {})
            mine[what] = mine.get(what, 0) + count
    return found


def left_out(counts: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """Of the totals, what was left out, by reason; notes that merely count begin otherwise."""
    mark = "left out: "
    told = {
        generator: {what.removeprefix(mark): count for what, count in said.items() if count and what.startswith(mark)}
        for generator, said in counts.items()
    }
    return {generator: reasons for generator, reasons in told.items() if reasons}


def _refuse_columns(notes: Iterable[tuple[str, Note]]) -> None:
    for who, note in notes:
        if taken := sorted(COLUMNS.keys() & note.about.keys()):
            fix = f"call it otherwise: every table of notes has {', '.join(COLUMNS)}"
            raise BadInput(f"a note is about {taken[0]}", where=who, field="about", fix=fix)
