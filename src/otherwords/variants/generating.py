"""The type of a generator, how generators run on batches of problems, and their notes."""

import inspect
import json
import re
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

import polars as pl

from ..errors import BadInput, caller_level, shorten
from ..frames import Piece, join_pieces, main_columns, problems, variant_row, variant_table
from ..problem import Note, Problem, Task, Variant, changed_fields
from ..progress import current
from ..registry import Bound, generators
from ..storage.files import digest, seed_for, write_text
from ..storage.tables import read
from ..storage.user_code import arity, guard, load_function, write_example
from ..words.language import warn_if_foreign

#: A field, the place in it (`at`), the words there (`from`) and the new ones (`to`); a generator may add keys.
Change = dict[str, Any]
#: Problems given to a generator at a time, so that a model behind it can fill a device.
BATCH = 256
#: The columns of every table of notes; a column for each key of `Note.about` follows.
COLUMNS = {"id": pl.String, "generator": pl.String, "what": pl.String, "count": pl.Int64}
#: The id of a variant that has none of its own: its original's, the generator's, and a number.
_NUMBERED = re.compile(r"(.+)~([\w-]+)\.(\d+)", re.DOTALL)
#: What some generators take in the place of a field: all targets together, or each by itself and together.
SEVERAL = ("both", "each")
#: How the text of a note begins that counts candidates which became no variants.
_LEFT_OUT = "left out: "


@dataclass(frozen=True)
class Generator:
    """What a generator's factory may return instead of a bare function, to declare more about it.

    `function` takes problems and a seed for each, and yields variants and notes. `identity` joins the signature: what
    decides the variants besides the options, such as the model that writes them. A `control` makes variants whose
    outcome is known in advance: they are marked with its name, not checked, and measured separately. `language` is the
    only one supported ("" for any), where that depends on the options.

    A generator that must see all texts first has `survey`, which makes the text of a table from them; it is then made
    again with the option `table` set to that file, and without the options that are `spent` on the survey.

    `columns` is the same generator on whole columns, for generators that need neither seeds nor notes: it takes a table
    of problems and the task, and returns a table of variants. Each row of the first is what a variant would be that
    changes nothing: `of`, which is the problem's id, the texts by field, `label`, and all other columns. A row of the
    second is a variant, in any order of the problems; it may have an `id` of its own, and more columns. `function` must
    give the same variants; it is called where `columns` gives None, because a table or task needs a closer look.

    A generator that reads recorded rows counts in `left_out`, by reason, those that it met and did not use, and
    `unmatched` gives, for a number of problems, how many rows belong to none of them, and an example (None: not known).
    Shards may be done by several processes: `drain` gives what was counted since it was last called, and `merge` adds
    that to the counts of another copy of the generator.
    """

    function: Callable[[Sequence[Problem], Sequence[int]], Iterable[Variant | Note]]
    identity: str = ""
    control: bool = False
    language: str | None = None
    survey: Callable[[Iterable[str]], str] | None = None
    spent: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    unmatched: Callable[[int], tuple[int, str] | None] | None = None
    columns: Callable[[pl.DataFrame, Task], pl.DataFrame | None] | None = None
    drain: Callable[[], Any] = lambda: None
    merge: Callable[[Any], None] = lambda account: None

    def __call__(self, problems: Sequence[Problem], seeds: Sequence[int]) -> Iterable[Variant | Note]:
        """Vary problems, with a seed for each."""
        return self.function(problems, seeds)


def as_generator(function: Any) -> Generator:
    """Accept a bare function from a factory; its attributes count as declared fields."""
    if isinstance(function, Generator):
        return function
    names = [one.name for one in fields(Generator) if one.name != "function"]
    return Generator(function, **{name: getattr(function, name) for name in names if hasattr(function, name)})


def _write_example(folder: Path) -> str:
    return write_example(folder, "reword(text)", "return f'Indeed: {text}'")


@generators("python.v1", unsigned=("target",), example=_write_example)
def python(target: str, field: str = "") -> Generator:
    """Reword with a Python function: of a text, of a problem, or of problems and their seeds.

    `target` is module:function or path/to/file.py:function. A function whose parameter is called `text` gets that of
    `field`, or of each target of the task in turn; another with one parameter gets the Problem. Both give a text, a
    problem, None, or several. One with two parameters is what a registered generator's factory returns.
    """
    where = f"python:{target}"
    function, identity, _ = load_function(target, where)
    if isinstance(function, Generator):
        return guard(replace(function, identity=identity), where)  # type: ignore[no-any-return]
    called = guard(function, where)
    control = bool(getattr(function, "control", False))
    if arity(function) > 1:
        return Generator(called, identity, control)
    takes_text = next(iter(inspect.signature(function).parameters)) == "text"

    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant | Note]:
        for problem in problems:
            names = chosen_fields(problem.task, field, where)
            for name in names if takes_text else names[-1:]:
                if not takes_text or problem.text[name]:
                    made = called(problem.text[name] if takes_text else problem)
                    yield from _restated(made, problem, name, where, control)

    return Generator(vary, identity, control)


def _restated(made: Any, problem: Problem, name: str, where: str, control: bool) -> Iterator[Variant | Note]:
    """What a user's function made of a problem, as variants; a text is one of the field `name`."""
    if made is None:
        return
    for one in made if isinstance(made, Iterable) and not isinstance(made, str) else [made]:
        if isinstance(one, Note):
            yield one
        elif isinstance(one, (str, Problem)):
            variant = problem.restate(**({name: one} if isinstance(one, str) else one.text))
            if control or changed_fields(problem, variant):  # a text that stays as it is, is no variant
                yield variant if isinstance(one, str) else replace(variant, extra=one.extra)
        elif one is not None:
            fix = "return a text, a problem (problem.restate(...)), None, or a list of these"
            raise BadInput(f"returned {shorten(one)}", where=where, fix=fix)


# For generators: which fields to change, and how to write the changes down


def refuse_wrong_fields(specs: Sequence[str], task: Task) -> None:
    """Refuse, before anything is varied, a field for a generator of the package that the task does not have."""
    for spec in specs:
        plugin, options = generators.read(spec)
        field = options.get("field")
        if isinstance(field, str) and field not in SEVERAL and plugin.factory.__module__.startswith("otherwords."):
            chosen_fields(task, field, plugin.name)


def chosen_fields(task: Task, field: str, generator: str) -> tuple[str, ...]:
    """The field that is named, or all of the task's targets.

    >>> from otherwords.problem import TASKS
    >>> chosen_fields(TASKS["nli"], "", "identity"), chosen_fields(TASKS["nli"], "premise", "identity")
    (('premise', 'hypothesis'), ('premise',))
    """
    if field and field not in task.fields:
        raise BadInput(f"no field {field!r}", where=generator, fix=f"use one of {', '.join(task.fields)}")
    return (field,) if field else task.targets


def with_changes(problem: Problem, changes: Sequence[Change]) -> Variant:
    """A variant with all changes applied, which the column `changes` lists as JSON."""
    text = dict(problem.text)
    for change in sorted(changes, key=lambda one: (one["field"], -one["at"])):
        name, start, end = change["field"], change["at"], change["at"] + len(change["from"])
        text[name] = text[name][:start] + change["to"] + text[name][end:]
    variant = problem.restate(**text)
    return with_columns(variant, {"changes": json.dumps(list(changes), ensure_ascii=False)})


def with_columns(variant: Variant, columns: Mapping[str, Any]) -> Variant:
    """A variant with more columns; one of the problem's of the same name is kept as `input_<name>`."""
    own = {f"input_{name}": variant.extra[name] for name in columns if variant.extra.get(name) is not None}
    extra = {**variant.extra, **own, **columns}
    return Variant(variant.id, variant.task, variant.text, variant.label, extra, of=variant.of, how=variant.how)


# Running generators


def prepared(using: Sequence[str | Bound], texts: Callable[[], Iterable[str]]) -> list[Bound]:
    """Bind generators by name; those that must see all texts first see them now."""
    bound = [_bind(one, texts) if isinstance(one, str) else one for one in using]
    refuse_repeated(bound)
    return bound


def refuse_repeated(using: Iterable[Bound]) -> None:
    """Refuse a generator that is given twice, under whatever names, and one name for two of them.

    >>> refuse_repeated([generators.make("contractions"), generators.make("short=contractions(field=premise)")])
    """
    using = list(using)
    if twice := [name for name, count in Counter(one.signature for one in using).items() if count > 1]:
        raise BadInput(f"{twice[0]} is named twice", fix="give it once")
    named = {one.alias for one in using if one.alias}
    if shared := [name for name, count in Counter(one.name for one in using).items() if count > 1 and name in named]:
        fix = f"give each a different name, as in one={using[0].plugin.name}"
        raise BadInput(f"two generators are called {shared[0]}", fix=fix)


def texts_of(originals: pl.DataFrame, task: Task) -> Iterator[str]:
    """The texts of problems in a table, problem by problem, without empty ones."""
    return (text for row in originals.select(task.fields).iter_rows() for text in row if text)


def _bind(spec: str, texts: Callable[[], Iterable[str]]) -> Bound:
    bound = generators.make(spec)
    if as_generator(bound.function).survey is None:
        return bound
    with tempfile.TemporaryDirectory(prefix="otherwords-") as folder:
        return generators.make(surveyed(spec, texts, Path(folder)))


def surveyed(spec: str, texts: Callable[[], Iterable[str]], folder: Path, *known: str) -> str:
    """Let a generator survey all texts, if it must; return the spec with the table that it made.

    The table is in `folder`, under a name made of the spec and of what is `known` to decide its content; one that
    exists is not made again.
    """
    bound = generators.make(spec)
    generator = as_generator(bound.function)
    if generator.survey is None:
        return spec
    path = folder / digest(bound.signature, *known)[:8] / "table.tsv"
    if not path.exists():
        write_text(path, generator.survey(texts()))
    return generators.respell(spec, table=path.resolve(), **dict.fromkeys(generator.spent))


def numbered(names: pl.Series) -> Counter[tuple[str, str]]:
    """The highest number among existing variants of each problem and generator."""
    counts: Counter[tuple[str, str]] = Counter()
    for name in names.filter(names.str.contains("~", literal=True)):
        if match := _NUMBERED.fullmatch(name):
            counts[match[1], match[2]] = max(counts[match[1], match[2]], int(match[3]))
    return counts


def generate(
    using: Sequence[Bound], originals: pl.DataFrame, task: Task, seed: int, counts: Counter[tuple[str, str]]
) -> tuple[pl.DataFrame, list[tuple[str, Note]]]:
    """The variants of all generators as one table, and their notes, each with the generator's title.

    Variants are numbered together with those that the same generator made under other options: `counts` says how many
    there are. A control marks its variants with its name, so that nothing counts them among the rewordings. A name of
    the user's stands before the signature in `how`, and decides nothing else: ids and random choices are the same
    without it. Problems are made only if a generator asks for them, and once for all.
    """
    names = Counter(one.plugin.name for one in using)
    pieces: list[Piece] = []
    notes: list[tuple[str, Note]] = []
    made: list[Problem] | None = None
    for generator in using if originals.height else ():
        table = _by_columns(generator, originals, task, counts)
        if table is not None:
            pieces.append(variant_table(table, task))
            if names[name := generator.plugin.name] > 1:  # another one goes on counting
                counts.update({(of, name): count for of, count in table["of"].value_counts().iter_rows()})
            continue
        made = problems(originals, task) if made is None else made
        rows: list[dict[str, Any]] = []
        for one in _by_problems(generator, made, originals["cluster"].to_list(), seed, counts):
            notes.append((generator.title, one)) if isinstance(one, Note) else rows.append(one)
        pieces.append(rows)
    return join_pieces([one for one in pieces if len(one)], task), notes


def _by_problems(
    generator: Bound, originals: list[Problem], clusters: list[str], seed: int, counts: Counter[tuple[str, str]]
) -> Iterator[dict[str, Any] | Note]:
    """Variants of one generator, as rows, and its notes, batch by batch."""
    name, function = generator.plugin.name, as_generator(generator.function)
    marks = {"control": name} if function.control else {}
    for start in range(0, len(originals), BATCH):
        some = originals[start : start + BATCH]
        given = {problem.id: cluster for problem, cluster in zip(some, clusters[start : start + BATCH], strict=True)}
        texts = (text for problem in some for text in problem.text.values())
        warn_if_foreign(generator.plugin, texts, function.language)
        seeds = [seed_for(seed, generator.signature, problem.id) for problem in some]
        for one in _refuse_others(function(some, seeds), generator.title):
            if one.of not in given:
                _refuse_stranger(generator, one.of)
            if isinstance(one, Note):
                yield one
                continue
            counts[one.of, name] += 1
            identity = one.id or f"{one.of}~{name}.{counts[one.of, name]}"
            yield variant_row(one, given[one.of], identity, generator.title, **marks)
        current().advance(len(some))


def _by_columns(
    generator: Bound, originals: pl.DataFrame, task: Task, counts: Counter[tuple[str, str]]
) -> pl.DataFrame | None:
    """The same of a generator that works on columns, problems in their order; None of one that does not."""
    function, name = as_generator(generator.function), generator.plugin.name
    main = main_columns(task)
    others = [column for column in originals.columns if column not in main and not column.startswith("check:")]
    given = originals.select(pl.col("id").alias("of"), *task.fields, "label", *others)
    found = function.columns(given, task) if function.columns else None
    if found is None:
        return None
    made = _refuse_other_tables(found, given, generator.title)
    texts = originals.select(task.fields)
    for start in range(0, originals.height, BATCH):
        some = chain.from_iterable(texts.slice(start, BATCH).iter_rows())
        warn_if_foreign(generator.plugin, some, function.language)
    place, cluster = "\0place", "\0cluster"  # no column of the user's is called so
    about = originals.select(pl.col("id").alias("of"), pl.col("cluster").alias(cluster)).with_row_index(place)
    made = made.join(about, on="of", how="left", maintain_order="left")
    if made[place].null_count():
        _refuse_stranger(generator, made.filter(pl.col(place).is_null())["of"][0])
    if not made[place].is_sorted():
        made = made.sort(place, maintain_order=True)
    identity = _numbered_ids(name, pl.col(place), counts)
    if "id" in made.columns:
        identity = pl.coalesce(pl.col("id").cast(pl.String).replace("", None), identity)
    marks = {"control": pl.lit(name)} if function.control else {}
    made = made.with_columns(id=identity, how=pl.lit(generator.title), cluster=pl.col(cluster), **marks)
    current().advance(originals.height)
    return made.drop(place, cluster)


def _numbered_ids(name: str, place: pl.Expr, counts: Counter[tuple[str, str]]) -> pl.Expr:
    """The ids of variants that stand by original, at the same `place` those of one; they are counted on from there."""
    known = {of: count for (of, plugin), count in counts.items() if plugin == name}
    before = pl.col("of").replace_strict(known, default=0, return_dtype=pl.Int64) if known else pl.lit(0)
    row = pl.int_range(pl.len())
    first = pl.when(place.ne_missing(place.shift(1))).then(row).forward_fill()
    return pl.format(f"{{}}~{name}.{{}}", "of", before + 1 + row - first)


def _refuse_stranger(generator: Bound, of: str) -> NoReturn:
    raise BadInput(f"{generator.signature} returned a variant of {of!r}, which is not in its input")


def _refuse_others(made: Any, where: str) -> Iterator[Variant | Note]:
    """What a generator made, if it is variants and notes."""
    fix = "yield variants, as problem.restate(hypothesis=...) makes them, and notes"
    if isinstance(made, str) or not isinstance(made, Iterable):
        raise BadInput(f"returned {shorten(made)}", where=where, fix=fix)
    for one in made:
        if not isinstance(one, (Variant, Note)):
            raise BadInput(f"gave {shorten(one)}", where=where, fix=fix)
        yield one


def _refuse_other_tables(made: Any, given: pl.DataFrame, where: str) -> pl.DataFrame:
    """What a generator made of columns, if it is a table with all columns that it was given."""
    fix = "return rows of the table that was given, with other texts: table.with_columns(...)"
    if not isinstance(made, pl.DataFrame):
        raise BadInput(f"returned {shorten(made)}", where=where, fix=fix)
    kinds = made.schema
    for name, kind in given.schema.items():
        if name not in kinds:
            raise BadInput("gave a table without this column", where=where, field=name, fix=fix)
        if made.height and kind == pl.String and kinds[name] not in (pl.String, pl.Null):
            raise BadInput(f"gave {kinds[name]}, not text", where=where, field=name, fix=fix)
    return made


def warn_unused_rows(using: Sequence[Bound], problems: int) -> None:
    """Warn, for each generator that reads rows, of those that gave no variant of any problem."""
    for bound in using:
        generator = as_generator(bound.function)
        for reason, count in sorted(generator.left_out.items()):
            if count:
                warnings.warn(
                    f"{bound.alias or bound.signature}: {count:,} of its rows are not variants: {reason}",
                    stacklevel=caller_level(),
                )
        count, example = (generator.unmatched and generator.unmatched(problems)) or (0, "")
        if count:
            message = f"{count:,} of its rows match no problem, such as {example}"
            warnings.warn(f"{bound.alias or bound.signature}: {message}", stacklevel=caller_level())


# Notes


def notes_table(notes: Iterable[tuple[str, Note]]) -> pl.DataFrame:
    """Notes of generators, each given with the generator's title, as a table.

    >>> table = notes_table([("g.v1()", Note("p1", "left out: empty", 2, {"field": "premise"}))])
    >>> table.row(0, named=True)
    {'id': 'p1', 'generator': 'g.v1()', 'what': 'left out: empty', 'count': 2, 'field': 'premise'}
    """
    notes = list(notes)
    for signature, note in notes:
        if taken := sorted(COLUMNS.keys() & note.about.keys()):
            fix = f"use another name: every table of notes has {', '.join(COLUMNS)}"
            raise BadInput(f"the column name {taken[0]} is reserved", where=signature, field="about", fix=fix)
    rows = [{"id": n.of, "generator": one, "what": n.what, "count": n.count, **n.about} for one, n in notes]
    about = sorted({name for row in rows for name in row} - set(COLUMNS))
    return pl.DataFrame(rows, schema={**COLUMNS, **dict.fromkeys(about, pl.String)}, orient="row")


def read_notes(path: str | Path) -> pl.DataFrame:
    """Read the notes that `vary --notes FILE` wrote, in any format of tables, or those of a run folder.

    A column that few notes have is empty in most rows, so its type cannot be inferred; all such columns are text.
    """
    inner = Path(path) / "notes"
    table = read(inner if inner.is_dir() else path)
    if lost := [name for name in COLUMNS if name not in table.columns]:
        fix = "give the output of vary --notes FILE, or a run folder"
        raise BadInput(f"is not a table of notes: it has no column {', '.join(lost)}", where=str(path), fix=fix)
    about = [name for name in table.columns if name not in COLUMNS]
    return table.select(*(pl.col(name).cast(COLUMNS.get(name, pl.String)) for name in (*COLUMNS, *about)))


def totals(tables: Iterable[pl.DataFrame | pl.LazyFrame]) -> dict[str, dict[str, int]]:
    """The sums of all counts, by generator and text of the note.

    >>> table = notes_table([("g.v1()", Note("p1", "left out: empty", 2)), ("g.v1()", Note("p2", "left out: empty"))])
    >>> totals([table])
    {'g.v1()': {'left out: empty': 3}}
    """
    sums: dict[str, dict[str, int]] = {}
    for table in tables:
        counted = table.lazy().group_by("generator", "what").agg(pl.col("count").sum()).sort("generator", "what")
        for generator, what, count in counted.collect().iter_rows():
            own = sums.setdefault(generator, {})
            own[what] = own.get(what, 0) + count
    return sums


def left_out(counts: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """Of the totals, what was left out, by generator and reason."""
    reasons = {
        generator: {what.removeprefix(_LEFT_OUT): n for what, n in one.items() if n and what.startswith(_LEFT_OUT)}
        for generator, one in counts.items()
    }
    return {generator: one for generator, one in reasons.items() if one}
