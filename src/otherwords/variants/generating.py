"""From generators to variants: bound by name, given problems in batches with a seed each, what they make numbered."""

from __future__ import annotations

import json
import re
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from ..errors import BadInput
from ..problem import Note, Problem, Task, Variant
from ..progress import current
from ..registry import Bound, generators
from ..storage.files import digest, seed_for, write_text
from ..storage.tables import read

# MERGED from variants.fields: Which fields of a problem a generator rewords.


def chosen_fields(task: Task, field: str, generator: str) -> tuple[str, ...]:
    """The field that is named, or all of the task's targets.

    >>> from otherwords.problem import TASKS
    >>> chosen_fields(TASKS["nli"], "", "identity"), chosen_fields(TASKS["nli"], "premise", "identity")
    (('premise', 'hypothesis'), ('premise',))
    """
    if field and field not in task.fields:
        raise BadInput(f"no field {field!r}", where=generator, fix=f"use one of {', '.join(task.fields)}")
    return (field,) if field else task.targets


# MERGED from variants.changes: Words replaced at their places: the variant, and the account of it in the column `changes`.

#: A field, the place in it, the words there and those that come instead; a generator may say more.
Change = dict[str, Any]


def with_changes(problem: Problem, changes: Sequence[Change]) -> Variant:
    """A variant with the changes made, each at its place, and kept as JSON in the column `changes`."""
    text = dict(problem.text)
    for change in sorted(changes, key=lambda one: (one["field"], -one["at"])):
        name, start, end = change["field"], change["at"], change["at"] + len(change["from"])
        text[name] = text[name][:start] + change["to"] + text[name][end:]
    own = {} if problem.extra.get("changes") is None else {"input_changes": problem.extra["changes"]}
    extra = {**problem.extra, **own, "changes": json.dumps(list(changes), ensure_ascii=False)}
    return Variant("", problem.task, text, problem.label, extra, of=problem.id)


# MERGED from variants.survey: Generators that must see all texts before they make the first variant: what they learn becomes a file.


def surveyed(spec: str, texts: Callable[[], Iterable[str]], folder: Path, *known: str) -> str:
    """Let a generator see all texts, if it must; give the spec by which it knows what it learned.

    The table lies in `folder`, under a name made of the spec and of what is `known` to decide its content; one that is
    there is not made again.
    """
    bound = generators.make(spec)
    survey = getattr(bound.function, "survey", None)
    if survey is None:
        return spec
    path = folder / digest(bound.signature, *known)[:8] / "table.tsv"
    if not path.exists():
        write_text(path, survey(texts()))
    spent = dict.fromkeys(getattr(bound.function, "spent", ()))
    return generators.respell(spec, table=path.resolve(), **spent)


# MERGED from variants.unused: Rows of a recorded file that became no variant: they would otherwise be lost without a word.


def warn_unused_rows(generators: Sequence[Bound], problems: int) -> None:
    """Warn, for each generator that reads rows, of those that it had no use for, when so many problems are varied.

    Such a generator's function has `left_out`, counts by reason, and `unmatched(problems)`, which is None where that
    cannot be told.
    """
    for one in generators:
        for reason, count in sorted(getattr(one.function, "left_out", {}).items()):
            if count:
                warnings.warn(f"{one.signature}: {count:,} of its rows are no variants: {reason}", stacklevel=3)
        left = one.function.unmatched(problems) if hasattr(one.function, "unmatched") else None
        if left:
            warnings.warn(f"{one.signature}: {left:,} of its rows reword none of these problems", stacklevel=3)


# MERGED from variants.notes: What generators say besides variants: what they left out, why and how often; a table with a row for each count.

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


# MERGED from variants.generating: From generators to variants: bound by name, given problems in batches with a seed each, what they make numbered.

#: The name of a variant that has none of its own: its original's, the generator's, and a number.
_NUMBERED = re.compile(r"(.+)~([\w-]+)\.(\d+)", re.DOTALL)
#: Problems given to a generator at a time, so that a model behind it can fill a device.
BATCH = 256


def prepared(using: Sequence[str | Bound], originals: Sequence[Problem]) -> list[Bound]:
    """Bind generators by name; one that must see all texts first sees them now."""
    with tempfile.TemporaryDirectory(prefix="otherwords-") as place:

        def texts() -> Iterator[str]:
            return (text for problem in originals for text in problem.text.values() if text)

        told = [surveyed(one, texts, Path(place)) if isinstance(one, str) else one for one in using]
        bound = [generators.make(one) if isinstance(one, str) else one for one in told]
    _refuse_twice([one.signature for one in bound])
    return bound


def numbered(names: Iterable[str]) -> Counter[tuple[str, str]]:
    """How far the variants of each problem and generator that are there already have been numbered."""
    counts: Counter[tuple[str, str]] = Counter()
    for name in names:
        if told := _NUMBERED.fullmatch(str(name)):
            counts[told[1], told[2]] = max(counts[told[1], told[2]], int(told[3]))
    return counts


def generate(
    generator: Bound, originals: list[Problem], seed: int, counts: Counter[tuple[str, str]]
) -> Iterator[Variant | Note]:
    """Variants of one generator, and its notes. Variants are numbered together with those of its namesake under other
    options.

    A control marks what it makes with its name, so that nothing counts it among the rewordings.
    """
    name = generator.plugin.name
    mark = {"control": name} if getattr(generator.function, "control", False) else {}
    for start in range(0, len(originals), BATCH):
        some = originals[start : start + BATCH]
        given = {problem.id for problem in some}
        seeds = [seed_for(seed, generator.signature, problem.id) for problem in some]
        for made in generator.function(some, seeds):
            if made.of not in given:
                raise BadInput(f"{generator.signature} made a variant of {made.of!r}, which it was not given")
            if isinstance(made, Note):
                yield made
                continue
            counts[made.of, name] += 1
            identity = made.id or f"{made.of}~{name}.{counts[made.of, name]}"
            extra = {**made.extra, **mark}
            yield Variant(identity, made.task, made.text, made.label, extra, of=made.of, how=generator.signature)
        current().advance(len(some))


def _refuse_twice(names: Sequence[str]) -> None:
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise BadInput(f"{twice[0]} is named twice", fix="name it once")
