"""The type of a check, helpers for checks of texts, and the rules for names: a name decides a check's columns."""

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import polars as pl

from ..errors import BadInput, caller_level, shorten
from ..frames import reworded, rewordings
from ..problem import Bucket, Task, Verdict, changed_fields
from ..registry import Bound, checks
from ..storage.user_code import arity, guard, load_function, write_example
from ..words.language import warn_if_foreign

#: The text of the original, and that of the variant.
Pair = tuple[str, str]
#: A value for each pair, or the reason why there is none.
Compare = Callable[[Sequence[Pair]], Sequence[float | str]]
#: The reason where a model has no tokens for a text.
EMPTY = "empty text"
_LONG = "longer than the"


@dataclass(frozen=True)
class Check:
    """What a check's factory may return instead of a bare function, to declare more about it.

    `function` takes buckets and gives one verdict per variant, in order. `identity` joins the signature: what decides
    the verdicts besides the options, such as the model that gives them. `refuse_task` raises where the check cannot
    work on the problems of a task.

    `columns` is the same check on whole columns, for checks that need nothing but texts: it takes the task and a table
    with a row for each variant, and returns a table of as many rows, in the same order, with `keep`, `reason` and
    `score`. It is given `id`, `of`, the variant's texts by field, and those of its original as `original:<field>`.
    The stage then never calls `function`, which must give the same verdicts.

    `language` says which one only is supported ("" for any), where that depends on the options.

    `by` is for verdicts that the model under test gives later: the text of the rule that it applies when it answers,
    written into the column `check:<name>:by`. A check that reads verdicts from a file gives the ids of the variants in
    `recorded_ids`, and in `blank` how many rows held no verdict; a warning names ids that are not in the data.
    """

    function: Callable[[Sequence[Bucket]], Iterable[Verdict]]
    identity: str = ""
    refuse_task: Callable[[Task], None] | None = None
    by: str = ""
    language: str | None = None
    recorded_ids: Collection[str] = ()
    blank: int = 0
    columns: Callable[[pl.DataFrame, Task], pl.DataFrame] | None = None

    def __call__(self, buckets: Sequence[Bucket]) -> Iterable[Verdict]:
        """Give a verdict on every variant, in order."""
        return self.function(buckets)


def as_check(function: Any) -> Check:
    """Accept a bare function from a factory; its attributes count as declared fields."""
    if isinstance(function, Check):
        return function
    names = [one.name for one in fields(Check) if one.name != "function"]
    return Check(function, **{name: getattr(function, name) for name in names if hasattr(function, name)})


def _write_example(folder: Path) -> str:
    body = "return len(str(variant.text)) < 2 * len(str(problem.text))"
    return write_example(folder, "short(problem, variant)", body)


@checks("python.v1", unsigned=("target",), example=_write_example)
def python(target: str) -> Check:
    """Ask a Python function about every variant: of the problem and the variant, or of buckets.

    `target` is module:function or path/to/file.py:function. A function of two, problem and variant, gives True to keep
    it, False or a reason to drop it, None for no verdict, or a Verdict. One of one is what a registered check's factory
    returns: it gets buckets, and gives a Verdict for every variant.
    """
    where = f"python:{target}"
    function, identity, _ = load_function(target, where)
    if isinstance(function, Check):
        return guard(replace(function, identity=identity), where)  # type: ignore[no-any-return]
    called = guard(function, where)
    if arity(function) < 2:
        return Check(called, identity)

    def check(buckets: Sequence[Bucket]) -> Iterator[Verdict]:
        for bucket in buckets:
            for variant in bucket.variants:
                found = called(bucket.problem, variant)
                if isinstance(found, str):
                    found = Verdict(not found, found)
                elif found is None or isinstance(found, bool):
                    found = Verdict(found, "" if found is not False else f"dropped by {target.rpartition(':')[2]}")
                if not isinstance(found, Verdict):
                    fix = "return True, False, a reason to drop, None or a Verdict"
                    raise BadInput(f"returned {shorten(found)}", where=where, fix=fix)
                yield found

    return Check(check, identity)


# For checks that compare two texts with a model


def compared(buckets: Sequence[Bucket], compare: Compare, same: float) -> Iterator[float | str]:
    """The smallest value of `compare` over the changed fields of every variant, in order.

    A variant that changed nothing has the value `same`. One that left a field empty, or filled an empty one, has none,
    nor has one with a field for which `compare` has none: the reason takes the value's place. All distinct pairs are
    compared in one call, because models are fast on large batches.
    """
    pairs = [changed_fields(bucket.problem, variant) for bucket in buckets for variant in bucket.variants]
    distinct = list(dict.fromkeys(pair for some in pairs for pair in some.values() if has_texts(pair)))
    known = dict(zip(distinct, compare(distinct), strict=True)) if distinct else {}
    for some in pairs:
        values = [known.get(pair, EMPTY) for pair in some.values()]
        reasons = [value for value in values if isinstance(value, str)]
        yield reasons[0] if reasons else min((value for value in values if not isinstance(value, str)), default=same)


def has_texts(pair: Pair) -> bool:
    """Whether both texts have anything to read."""
    return all(map(has_text, pair))


def has_text(text: str) -> bool:
    """Whether a text has anything to read besides white space and invisible characters.

    >>> has_text("No."), has_text(" \\u200b")
    (True, False)
    """
    return any(sign.isprintable() and not sign.isspace() for sign in text)


def too_long(reader: str) -> str:
    """The reason for dropping a text that is too long for a judge or an encoder: its end would not be checked.

    >>> too_long("judge")
    'longer than the judge reads'
    """
    return f"{_LONG} {reader} reads"


def warn_too_long(where: str, reader: str, verdicts: Sequence[Verdict]) -> None:
    """Warn, once for all these verdicts, of variants with texts that are too long."""
    if count := sum(_LONG in verdict.reason for verdict in verdicts):
        message = f"{count:,} of {len(verdicts):,} variants do not pass: a text is longer than {reader} accepts"
        fix = "raise its option max_length, if it has one"
        warnings.warn(f"{where}: {message}, and would be truncated; {fix}", stacklevel=caller_level())


# For the stage that runs checks


def verdicts(using: Sequence[Bound], suite: pl.DataFrame, task: Task) -> Iterator[pl.DataFrame]:
    """The verdicts of each check on a suite: a table with `id` and its columns, a row for each rewording.

    Buckets are made only if a check asks for them, and once for all.
    """
    buckets: list[Bucket] | None = None
    table: pl.DataFrame | None = None
    for one in using:
        check, column = as_check(one.function), f"check:{one.name}"
        if check.columns is not None:
            table = rewordings(suite, task) if table is None else table
            texts = (
                text for row in table.select(f"original:{name}" for name in task.fields).iter_rows() for text in row
            )
            warn_if_foreign(one.plugin, texts, check.language)
            found = _refuse_other_tables(check.columns(table, task), one, table.height).insert_column(0, table["id"])
        else:
            buckets = reworded(suite, task) if buckets is None else buckets
            warn_if_foreign(one.plugin, (text for b in buckets for text in b.problem.text.values()), check.language)
            found = _by_buckets(one, buckets)
        found = found.select(
            "id",
            pl.col("keep").alias(column),
            pl.col("reason").replace("", None).alias(f"{column}:reason"),
            pl.col("score").alias(f"{column}:score"),
        )
        yield found.with_columns(pl.lit(check.by).alias(f"{column}:by")) if check.by else found


#: The columns of a table of verdicts.
_VERDICT = {"keep": pl.Boolean, "reason": pl.String, "score": pl.Float64}


def _by_buckets(one: Bound, buckets: Sequence[Bucket]) -> pl.DataFrame:
    ids = [variant.id for bucket in buckets for variant in bucket.variants]
    given = list(one.function(buckets))
    if len(given) != len(ids):
        raise BadInput(f"{one.signature} returned {len(given)} verdicts for {len(ids)} variants")
    columns = {name: [getattr(verdict, name) for verdict in given] for name in _VERDICT}
    return pl.DataFrame({"id": ids, **columns}, schema={"id": pl.String, **_VERDICT})


def _refuse_other_tables(found: Any, one: Bound, height: int) -> pl.DataFrame:
    """What a check gave of columns, if it is a table of verdicts."""
    fix = "return a table with keep (true, false or null), reason (text or null) and score (a number or null)"
    if not isinstance(found, pl.DataFrame):
        raise BadInput(f"returned {shorten(found)}", where=one.title, fix=fix)
    if lost := [name for name in _VERDICT if name not in found.columns]:
        raise BadInput("gave a table without this column", where=one.title, field=lost[0], fix=fix)
    if found.height != height:
        raise BadInput(f"{one.signature} returned {found.height} verdicts for {height} variants")
    table = found.select(list(_VERDICT))
    for name, kind in _VERDICT.items():
        try:
            table = table.with_columns(pl.col(name).cast(kind))
        except pl.exceptions.PolarsError as error:
            raise BadInput(f"gave {found.schema[name]}", where=one.title, field=name, fix=fix) from error
    return table


def refuse_unfit(using: Iterable[Bound], task: Task) -> None:
    """Refuse, before any work, a check that cannot be used on this task."""
    for one in using:
        if refuse := as_check(one.function).refuse_task:
            refuse(task)


def refuse_duplicate_names(using: Iterable[Bound]) -> None:
    """Refuse two checks that would write one column.

    >>> from otherwords.registry import checks
    >>> refuse_duplicate_names([checks.make("overlap"), checks.make("strict=overlap(most=0.5)")])
    """
    twice = [name for name, count in Counter(one.name for one in using).items() if count > 1]
    if twice:
        fix = f"give each a name, as in one={twice[0]}, two={twice[0]}(...): a name becomes the column check:<name>"
        raise BadInput(f"{twice[0]} is named twice", fix=fix)


def warn_replaced_verdicts(using: Iterable[Bound], suites: Iterable[pl.DataFrame | pl.LazyFrame]) -> None:
    """Warn, once for each check, of earlier verdicts in a suite under its name. A suite may come in parts."""
    using, parts = list(using), [suite.lazy() for suite in suites]
    for column in [f"check:{one.name}" for one in using]:
        if any(_has_verdicts(part, column) for part in parts):
            fix = "give the check another name to keep both, as in NAME=CHECK"
            warnings.warn(f"{column}: earlier verdicts are replaced; {fix}", stacklevel=caller_level())


def warn_unknown_ids(using: Iterable[Bound], variants: Iterable[str | Path]) -> None:
    """Warn of recorded verdicts on variants that do not exist, and of verdicts that are blank.

    `variants` are all ids, or the parts of a run that hold them. A check sees one shard at a time, so this is called
    once, after all shards.
    """
    recorded = [(one.title, check) for one in using if (check := as_check(one.function)).recorded_ids]
    unknown = [set(check.recorded_ids) for _, check in recorded]
    for one in variants if recorded else ():
        names = _read_ids(one)
        for ids in unknown:
            ids.difference_update(names)
    for (title, check), ids in zip(recorded, unknown, strict=True):
        if ids:
            first = next(name for name in check.recorded_ids if name in ids)
            message = f"{len(ids)} of {len(check.recorded_ids)} judged variants are not in the data, such as {first!r}"
            warnings.warn(f"{title}: {message}", stacklevel=caller_level())
        if check.blank:
            warnings.warn(
                f"{title}: {check.blank} verdicts are blank or NA and count as missing", stacklevel=caller_level()
            )


def _has_verdicts(part: pl.LazyFrame, column: str) -> bool:
    if column not in part.collect_schema():
        return False
    return bool(part.select(pl.col(column).is_not_null().any()).collect().item())


def _read_ids(one: str | Path) -> list[str]:
    if isinstance(one, str):
        return [one]
    return pl.scan_parquet(one, glob=False).filter(pl.col("of").is_not_null()).select("id").collect()["id"].to_list()
