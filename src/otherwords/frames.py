"""Conversions between tables and objects: rows, frames, Problems and Buckets; and texts joined to answers."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from .errors import BadInput, Unmeasurable, shorten
from .problem import Bucket, Problem, Task, Variant
from .storage.files import digest

#: Why a model, asked to accept a variant itself, rejected it: such a row of an answers table has no `pred`.
REJECTED = "rejected"
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
        columns[free] = _scalar(value)
    return columns


def _scalar(value: Any) -> Any:
    if value is None or isinstance(value, (str, float, bool)) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (list, tuple, dict)) else str(value)


def to_frame(rows: Sequence[dict[str, Any]], task: Task) -> pl.DataFrame:
    """Make a table `id, of, how, <fields>, label, cluster, <extras>`; an extra of mixed kinds becomes text.

    Verdicts of checks may be text, from a CSV file. An extra that is empty in all rows has no type: it takes the type
    that it has in other shards.
    """
    main = ["id", "of", "how", *task.fields, "label", "cluster"]
    extras = list(dict.fromkeys(name for row in rows for name in row if name not in main))
    columns = {name: pl.Series(name, [row.get(name) for row in rows], dtype=pl.String) for name in main}
    for name in extras:
        make = _verdicts if re.fullmatch("check:[^:]+", name) else _column
        columns[name] = make(name, [row.get(name) for row in rows])
    return pl.DataFrame(columns)


def with_standard_columns(frame: pl.DataFrame, task: Task) -> pl.DataFrame:
    """A table made by hand, with the columns that `load` would have given it.

    >>> task = Task("nli", fields=("premise", "hypothesis"), labels=("yes", "no"))
    >>> frame = pl.DataFrame({"id": ["1"], "premise": ["It rains."], "hypothesis": ["It is wet."]})
    >>> with_standard_columns(frame, task).columns
    ['id', 'premise', 'hypothesis', 'of', 'how', 'label', 'cluster']
    """
    if missing := [name for name in ("id", *task.fields) if name not in frame.columns]:
        fix = f"give id, {', '.join(task.fields)}, label; ow.load(FILE, columns=...) maps other names"
        raise BadInput(f"the table has no column {', '.join(missing)}", fix=fix)
    empty = [name for name in ("of", "how", "label") if name not in frame.columns]
    whole = frame.with_columns(pl.lit(None, pl.String).alias(name) for name in empty)
    if "cluster" in frame.columns:
        return whole
    names = [digest(*map(str, texts))[:16] for texts in whole.select(task.cluster).iter_rows()]
    return whole.with_columns(pl.Series("cluster", names, dtype=pl.String))


def _column(name: str, values: list[Any]) -> pl.Series:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and kinds != {int}:
        values = [None if value is None else float(value) for value in values]
    elif len(kinds) > 1:
        values = [None if value is None else _text(value) for value in values]
    return pl.Series(name, values, dtype=None if kinds else pl.Null)


def _text(value: Any) -> str:
    """A value as Polars writes it when it concatenates the parts of a run."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _verdicts(name: str, values: list[Any]) -> pl.Series:
    meaning = {"true": True, "false": False, "": None}
    for value in values:
        if value is not None and str(value).lower() not in meaning:
            raise BadInput(f"found {shorten(value)}", field=name, fix="use true (keep) or false (drop)")
    return pl.Series(name, [None if v is None else meaning[str(v).lower()] for v in values], dtype=pl.Boolean)


def problems(frame: pl.DataFrame, task: Task) -> list[Problem]:
    """Turn rows into Problems, and rows that have `of` into Variants."""
    known = {"id", "of", "how", "label", "cluster", *task.fields}
    extras = [name for name in frame.columns if name not in known and not name.startswith("check:")]
    return [_problem(row, task, extras) for row in frame.iter_rows(named=True)]


def _problem(row: dict[str, Any], task: Task, extras: list[str]) -> Problem:
    text = {name: row[name] for name in task.fields}
    extra = {name: row[name] for name in extras}
    if row.get("of") is None:
        return Problem(row["id"], task, text, row["label"], extra)
    return Variant(row["id"], task, text, row["label"], extra, of=row["of"], how=row["how"] or "")


def variant_rows(variants: Iterable[Variant], clusters: dict[str, str]) -> list[dict[str, Any]]:
    """Turn Variants into rows; they share their original's cluster."""
    return [
        {
            "id": v.id,
            "of": v.of,
            "how": v.how,
            **v.text,
            "label": v.label,
            "cluster": clusters[v.of],
            **free_columns(v.extra, ("id", "of", "how", *v.text, "label", "cluster")),
        }
        for v in variants
    ]


def buckets(suite: pl.DataFrame, task: Task) -> list[Bucket]:
    """Group a suite's rows into buckets, in the order of their originals."""
    rows = problems(suite, task)
    by_id: dict[str, tuple[Problem, list[Variant]]] = {
        row.id: (row, []) for row in rows if not isinstance(row, Variant)
    }
    for row in rows:
        if isinstance(row, Variant):
            if row.of not in by_id:
                fix = "add the original to the suite"
                raise BadInput(f"no problem has the id {row.of!r}", where=f"variant {row.id!r}", field="of", fix=fix)
            by_id[row.of][1].append(row)
    return [Bucket(problem, tuple(variants)) for problem, variants in by_id.values()]


def reworded(suite: pl.DataFrame, task: Task) -> list[Bucket]:
    """The buckets of a suite with their rewordings only: without contrasts and controls."""
    ordinary = [bucket for bucket in buckets(suite, task) if not bucket.problem.extra.get("contrast")]
    return [Bucket(one.problem, tuple(v for v in one.variants if not v.extra.get("control"))) for one in ordinary]


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
