"""Conversions between tables, Problems and Buckets; and texts joined to answers."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NoReturn

import polars as pl

from .errors import BadInput, Unmeasurable, shorten
from .problem import Bucket, Problem, Task, Variant
from .storage.in_memory import as_scalar, typed_column

#: How texts spell that there is no value: NaN of a float, NA of pandas.
MISSING = ("", "nan", "NaN", "NAN", "<NA>")
#: Why a model, asked to accept a variant itself, rejected it: such a row of an answers table has no `pred`.
REJECTED = "rejected"
#: What all labels together had of a language model's probability: where it is known, an answer may lack probabilities.
LABEL_MASS = "label_mass"
#: The column that marks answers which a filter of the server withheld: the next run asks for them again.
WITHHELD = "withheld"
#: By which template a language model was asked.
TEMPLATE = "template"
#: Columns that say that a row is no rewording: the suite of a contrast, the name of a control.
MARKS = ("contrast", "control")
#: How a table holds values of these types: as they are.
KINDS: dict[type, Any] = {str: pl.String(), bool: pl.Boolean(), int: pl.Int64(), float: pl.Float64()}
#: Columns that a later stage writes: one that comes along under such a name is kept as `input_<name>`.
_TAKEN = frozenset({"model", "bucket", "variant", "gold", "pred", "row"})


def free_columns(values: Mapping[str, Any], taken: Iterable[str] = ()) -> dict[str, Any]:
    """The other columns of a row, under names that are free; nested values become JSON, which any table can hold.

    >>> free_columns({"model": "gpt", "tags": ["a", "b"]})
    {'input_model': 'gpt', 'tags': '["a", "b"]'}
    """
    claimed = _TAKEN.union(taken)
    columns = {}
    for name, value in values.items():
        free = f"input_{name}" if name in claimed else name
        while free != name and free in values:
            free = f"input_{free}"
        columns[free] = as_scalar(value)
    return columns


def main_columns(task: Task) -> list[str]:
    """The columns that every table of problems has, in their order."""
    return ["id", "of", "how", *task.fields, "label", "cluster"]


def is_verdict(name: str) -> bool:
    """Whether a column has the verdicts of a check; its reasons and scores have a second colon."""
    return bool(re.fullmatch("check:[^:]+", name))


def to_frame(rows: Sequence[dict[str, Any]], task: Task) -> pl.DataFrame:
    """Make a table `id, of, how, <fields>, label, cluster, <extras>`; an extra of mixed kinds becomes text.

    Verdicts of checks may be text, from a CSV file. An extra that is empty in all rows has no type: it takes the type
    that it has in other shards.
    """
    main = main_columns(task)
    extras = list(dict.fromkeys(name for row in rows for name in row if name not in main))
    columns = {name: pl.Series(name, [row.get(name) for row in rows], dtype=pl.String) for name in main}
    for name in extras:
        columns[name] = _column_of_extra(name, [row.get(name) for row in rows])
    return pl.DataFrame(columns)


#: Rows of a table, as columns or one by one.
Piece = pl.DataFrame | list[dict[str, Any]]


def join_pieces(pieces: Sequence[Piece], task: Task) -> pl.DataFrame:
    """Make the table that `to_frame` makes of all rows of the pieces; only columns of several kinds go value by value.

    >>> from otherwords.problem import TASKS
    >>> row = {"id": "a", "premise": "A.", "hypothesis": "B.", "note": 1}
    >>> join_pieces([to_frame([row], TASKS["nli"]), [{**row, "note": "x"}]], TASKS["nli"])["note"].to_list()
    ['1', 'x']
    """
    if not any(isinstance(piece, pl.DataFrame) for piece in pieces):
        return to_frame([row for piece in pieces for row in piece], task)  # type: ignore[misc]
    main = main_columns(task)
    rows = [[piece.columns] if isinstance(piece, pl.DataFrame) else piece for piece in pieces]
    extras = dict.fromkeys(name for some in rows for row in some for name in row if name not in main)
    there = [frozenset(piece.columns) if isinstance(piece, pl.DataFrame) else () for piece in pieces]
    columns = {name: pl.concat([_cast(part, pl.String) for part in _parts(pieces, name, there)]) for name in main}
    return pl.DataFrame({**columns, **{name: _extra(name, _parts(pieces, name, there)) for name in extras}})


def _parts(pieces: Sequence[Piece], name: str, columns: Sequence[Collection[str]]) -> list[pl.Series | list[Any]]:
    """A column of each piece; nulls where it has none."""
    parts: list[pl.Series | list[Any]] = []
    for piece, there in zip(pieces, columns, strict=True):
        if isinstance(piece, pl.DataFrame):
            parts.append(piece[name] if name in there else pl.repeat(None, piece.height, eager=True))
        else:
            parts.append([row.get(name) for row in piece])
    return parts


def _cast(part: pl.Series | list[Any], kind: Any) -> pl.Series:
    return pl.Series("", part, dtype=kind) if isinstance(part, list) else part.cast(kind).alias("")


def _extra(name: str, parts: list[pl.Series | list[Any]]) -> pl.Series:
    filled = [part for part in parts if isinstance(part, list) or part.null_count() < len(part)]
    kinds = {None if isinstance(part, list) else _kind(part) for part in filled}
    kind = next(iter(kinds), pl.Boolean if is_verdict(name) else pl.Null)
    if len(kinds) > 1 or kind is None or (is_verdict(name) and kind != pl.Boolean):
        values = [v for part in parts for v in (part if isinstance(part, list) else map(as_scalar, part.to_list()))]
        return _column_of_extra(name, values)
    return pl.concat([_cast(part, kind) for part in parts]).alias(name)


def _kind(column: pl.Series) -> Any:
    """How `to_frame` keeps the values of a column; None if it must look at them."""
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        return pl.String
    if column.dtype in (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32):
        return pl.Int64 if column.min() > -(2**63) else None  # type: ignore[operator]
    return pl.Float64 if column.dtype.is_float() else pl.Boolean if column.dtype == pl.Boolean else None


def _column_of_extra(name: str, values: list[Any]) -> pl.Series:
    return _verdicts(name, values) if is_verdict(name) else typed_column(name, values)


def _verdicts(name: str, values: list[Any]) -> pl.Series:
    meaning = {"true": True, "false": False, "": None}
    for value in values:
        if value is not None and str(value).lower() not in meaning:
            raise BadInput(f"found {shorten(value)}", field=name, fix="use true (keep) or false (drop)")
    return pl.Series(name, [None if v is None else meaning[str(v).lower()] for v in values], dtype=pl.Boolean)


def problems(frame: pl.DataFrame, task: Task) -> list[Problem]:
    """Turn rows into Problems, and rows that have `of` into Variants."""
    known = main_columns(task)
    extras = [name for name in frame.columns if name not in known and not name.startswith("check:")]
    return [_problem(row, task, extras) for row in frame.iter_rows(named=True)]


def _problem(row: dict[str, Any], task: Task, extras: list[str]) -> Problem:
    text = {name: row[name] for name in task.fields}
    extra = {name: row[name] for name in extras}
    if row.get("of") is None:
        return Problem(row["id"], task, text, row["label"], extra)
    return Variant(row["id"], task, text, row["label"], extra, of=row["of"], how=row["how"] or "")


def variant_row(variant: Variant, cluster: str, identity: str = "", how: str = "", **marks: str) -> dict[str, Any]:
    """A Variant as a row, under the id and `how` that it has or is given; it shares its original's cluster."""
    extra = {**variant.extra, **marks} if marks else variant.extra
    return {
        "id": identity or variant.id,
        "of": variant.of,
        "how": how or variant.how,
        **variant.text,
        "label": variant.label,
        "cluster": cluster,
        **free_columns(extra, main_columns(variant.task)),
    }


def variant_table(variants: pl.DataFrame, task: Task) -> Piece:
    """Variants as `variant_row` has them, from a table with `id`, `of`, `how`, the fields, `label` and `cluster`.

    It stays a table unless a column has values that no table of ours holds as they are, such as lists.
    """
    main = main_columns(task)
    others = [name for name in variants.columns if name not in main]
    kinds, plain = variants.schema, {*KINDS.values(), pl.Null()}
    if any(kinds[name] not in plain or name.startswith("check:") for name in others):
        halves = (variants.select(names).iter_rows(named=True) for names in (main, others))
        return [{**row, **free_columns(extra, main)} for row, extra in zip(*halves, strict=True)]
    free = free_columns(dict.fromkeys(others), main)
    return variants.select(*main, *(pl.col(old).alias(new) for old, new in zip(others, free, strict=True)))


def originals_of(suite: pl.DataFrame) -> pl.DataFrame:
    """The rows that may be reworded: neither variants nor contrasts."""
    return suite.filter(pl.col("of").is_null(), ~_is_set(suite, "contrast"))


def rewordings(suite: pl.DataFrame, task: Task) -> pl.DataFrame:
    """A row for each variant that `reworded` has, in the order of the suite, for checks that work on columns.

    It has `id`, `of`, the variant's texts by field, and those of its original under `original:<field>`.
    """
    there, skipped = "\0there", "\0skipped"  # no column of the user's is called so
    texts = [pl.col(name).alias(f"original:{name}") for name in task.fields]
    originals = suite.filter(pl.col("of").is_null()).select(
        pl.col("id").alias("of"), *texts, _is_set(suite, "contrast").alias(skipped), pl.lit(True).alias(there)
    )
    variants = suite.filter(pl.col("of").is_not_null())
    found = variants.select("id", "of", *task.fields, _is_set(suite, "control").alias("\0control"))
    found = found.join(originals, on="of", how="left", maintain_order="left")
    if found[there].null_count():
        _refuse_orphan(*found.filter(pl.col(there).is_null()).select("id", "of").row(0))
    return found.filter(~pl.col(skipped), ~pl.col("\0control")).drop(there, skipped, "\0control")


def _refuse_orphan(variant: str, original: str) -> NoReturn:
    fix = "add the original to the suite"
    raise BadInput(f"no problem has the id {original!r}", where=f"variant {variant!r}", field="of", fix=fix)


def _is_set(frame: pl.DataFrame, name: str) -> pl.Expr:
    """Which rows have a value in a column that Python calls true; none where there is no such column."""
    kind = frame.schema.get(name, pl.Null())
    if kind == pl.Null:
        return pl.lit(False)
    nothing = "" if kind == pl.String else False if kind == pl.Boolean else 0 if kind.is_numeric() else None
    return pl.col(name).is_not_null() if nothing is None else (pl.col(name) != nothing).fill_null(False)


def buckets(suite: pl.DataFrame, task: Task) -> list[Bucket]:
    """Group a suite's rows into buckets, in the order of their originals."""
    rows = problems(suite, task)
    by_id: dict[str, tuple[Problem, list[Variant]]] = {
        row.id: (row, []) for row in rows if not isinstance(row, Variant)
    }
    for row in rows:
        if isinstance(row, Variant):
            if row.of not in by_id:
                _refuse_orphan(row.id, row.of)
            by_id[row.of][1].append(row)
    return [Bucket(problem, tuple(variants)) for problem, variants in by_id.values()]


def reworded(suite: pl.DataFrame, task: Task) -> list[Bucket]:
    """The buckets of a suite with their rewordings only: without contrasts and controls."""
    ordinary = [bucket for bucket in buckets(suite, task) if not bucket.problem.extra.get("contrast")]
    return [Bucket(one.problem, tuple(v for v in one.variants if not v.extra.get("control"))) for one in ordinary]


def by_bucket(suite: pl.DataFrame) -> pl.DataFrame:
    """Move every original before its variants, in the order of the first rows of the buckets."""
    place = "\0place"  # no column of the user's is called so
    begins = pl.col(place).min().over(pl.coalesce("of", "id"))
    return suite.with_row_index(place).sort(begins, maintain_order=True).drop(place)


def is_unmarked(columns: Iterable[str], *marks: str) -> pl.Expr:
    """Which rows have none of these marks. A missing column or an empty name is no mark."""
    empty = [pl.col(name).cast(pl.String).fill_null("").str.strip_chars() == "" for name in marks if name in columns]
    return pl.all_horizontal(pl.lit(True), *empty)


def kept(suite: pl.LazyFrame) -> pl.LazyFrame:
    """Rows that no check dropped. Verdicts are `check:<name>`; their reasons and scores have a second colon."""
    return suite.filter(pl.all_horizontal(pl.lit(True), pl.col("^check:[^:]+$").fill_null(True)))


def with_texts(
    answers: pl.DataFrame, suite: pl.DataFrame, fields: Sequence[str], where: str = "", *, missing_ok: bool = False
) -> pl.DataFrame:
    """Join answers to the texts of a suite (a run's `buckets/`).

    An answer to a variant has its id in `variant`, one to an original in `bucket`. An id that the suite has twice is an
    error; so is one that it does not have, unless `missing_ok`: its texts are then null. `where` names the answers.

    >>> suite = pl.DataFrame({"id": ["a", "a1"], "of": [None, "a"], "premise": ["It rains.", "It's raining."]})
    >>> answers = pl.DataFrame({"bucket": ["a", "a"], "variant": [None, "a1"], "pred": ["neutral", "neutral"]})
    >>> with_texts(answers, suite, ["premise"])["premise"].to_list()
    ['It rains.', "It's raining."]
    """
    if missing := [name for name in fields if name not in suite.columns]:
        fix = f"the suite has {', '.join(filter(str.isprintable, suite.columns))}"
        raise Unmeasurable("no texts", where=where, field=missing[0], fix=fix)
    if "id" not in suite.columns or suite["id"].is_duplicated().any():
        fix = "a suite has one row per problem and variant, with unique ids"
        raise Unmeasurable("the suite has no column id", where=where, field="id", fix=fix)
    key, found = "\0id", "\0found"  # no column of the user's is called so
    variant, bucket = (pl.col(name).cast(pl.String) for name in ("variant", "bucket"))
    texts = suite.select(pl.col("id").cast(pl.String).alias(key), *fields, pl.lit(True).alias(found))
    asked = answers.drop(fields, strict=False).with_columns(pl.coalesce(variant.replace("", None), bucket).alias(key))
    joined = asked.join(texts, on=key, how="left", maintain_order="left")
    if not missing_ok and joined[found].null_count():
        absent = joined.filter(pl.col(found).is_null())[key][0]
        fix = "give the suite of these answers: its ids are their variants and, for originals, buckets"
        raise Unmeasurable(f"the suite has no row {absent!r}", where=where, field="id", fix=fix)
    return joined.drop(key, found)
