"""Drawing problems: round robin over deciles of a model's confidence, or at random from strata.

ParaNLU draws 125 easy and 125 difficult problems evenly over the deciles of one model's confidence in the right label
(section 4.1). Where a decile is exhausted, it is skipped, and the round goes on; counts per decile are reported.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ..answers.alignment import Names, TableOrPath, load
from ..answers.reading import read
from ..datasets.source import Name, files_of
from ..errors import BadInput, setting
from ..metrics.corrected import D, confidence_in, decile
from ..problem import Task
from ..storage import tables
from ..storage.in_memory import AnyTable, frame_or_name
from .rows import add_column, in_random_order, read_problems, read_rows, refuse_missing

#: The columns that a draw by deciles adds: the model's probability of the right label, and its decile from 0 to 9.
CONFIDENCE, DECILE = "confidence", "decile"


class Chosen(NamedTuple):
    """The rows that were drawn, and a row for each stratum (and decile): how many there were, and were drawn."""

    table: pl.DataFrame
    counts: pl.DataFrame


def deciles(
    data: AnyTable | Name | Sequence[Name],
    answers: TableOrPath | AnyTable,
    *,
    by: str = "",
    n: int = 125,
    model: str = "",
    seed: int = 1,
    task: str | Task | Mapping[str, Any] = "",
    columns: Mapping[str, str | int] | None = None,
    labels: Mapping[Any, str] | None = None,
    out: str | Path | None = None,
    rejected: str | Path | None = None,
) -> Chosen:
    """Draw `n` problems of each stratum of the column `by`, one from each decile of a model's confidence in turn.

    `answers` has the model's probabilities for all problems, as `answer` writes them; `model` names it where there are
    several. Without `by`, all problems are one stratum. A decile without problems left is skipped.
    """
    _refuse_no_number(n, setting("-n", "n"))
    tables.refuse_unwritable(out, *files_of(data), *files_of(answers))
    rows, chosen = read_problems(data, task, columns, labels, rejected)
    refuse_missing(rows, [by] if by else [])
    rows = add_column(rows, _confidences(rows, answers, model, chosen))
    rows = add_column(rows, pl.Series(DECILE, decile(rows[CONFIDENCE].to_numpy()), dtype=pl.Int64))
    taken: list[str] = []
    counts = []
    for value, own in _strata(rows, [by] if by else []):
        if own.height < n:
            fix = f"give {setting('-n', 'n')} {own.height} or less, or more problems"
            message = f"{_called([by], value)} has {own.height:,} problems, not {n:,}"
            raise BadInput(message, field=setting("-n", "n"), fix=fix)
        drawn = _round_robin(own, n, seed)
        taken += drawn
        found = own.group_by(DECILE).agg(pl.len().alias("problems"), pl.col("id").is_in(drawn).sum().alias("drawn"))
        every = pl.DataFrame({DECILE: range(D)}).join(found, on=DECILE, how="left").fill_null(0).sort(DECILE)
        counts.append(every.select(*([pl.lit(value[0]).alias(by)] if by else []), pl.all().cast(pl.Int64)))
    table = rows.filter(pl.col("id").is_in(taken))
    if out:
        tables.write([table], out)
    return Chosen(table, pl.concat(counts))


def sample(
    data: AnyTable | Name | Sequence[Name],
    n: int = 0,
    *,
    each: int = 0,
    by: str | Sequence[str] = (),
    seed: int = 1,
    task: str | Task | Mapping[str, Any] = "",
    columns: Mapping[str, str | int] | None = None,
    labels: Mapping[Any, str] | None = None,
    out: str | Path | None = None,
    rejected: str | Path | None = None,
) -> Chosen:
    """Draw `n` problems at random, from each stratum in proportion to its size; or `each` from every stratum.

    The strata are the combinations of values of the columns `by`. Rewordings come along with their problem. Which
    problems are drawn depends on the seed and their ids, and a larger sample has those of a smaller one where strata
    allow.

    >>> rows = [{"id": str(n), "premise": "P.", "hypothesis": "H.", "label": "neutral", "kind": "ab"[n % 3 == 0]}
    ...         for n in range(9)]
    >>> sample(rows, 6, by="kind").counts.rows()
    [('a', 6, 4), ('b', 3, 2)]
    """
    if bool(n) == bool(each):
        fix = f"give {setting('-n', 'n')} for all, or {setting('--each', 'each')} for every stratum"
        raise BadInput("both are given" if n else "no number of problems given", field=setting("-n", "n"), fix=fix)
    _refuse_no_number(n or each, setting("-n" if n else "--each", "n" if n else "each"))
    tables.refuse_unwritable(out, *files_of(data))
    rows, _ = read_rows(data, task, columns, labels, rejected)
    names = [by] if isinstance(by, str) else list(dict.fromkeys(by))
    problems = rows.filter(pl.col("of").is_null())
    refuse_missing(problems, names)
    strata = list(_strata(problems, names))
    sizes = [own.height for _, own in strata]
    if n > problems.height:
        raise BadInput(f"there are {problems.height:,} problems, not {n:,}", field=setting("-n", "n"),
                       fix=f"give {problems.height} or less, or more data")  # fmt: skip
    numbers = _in_proportion(sizes, n) if n else [each] * len(sizes)
    taken: list[str] = []
    for (value, own), number in zip(strata, numbers, strict=True):
        if number > own.height:
            fix = f"give {min(sizes)} or less, or more problems"
            message = f"{_called(names, value)} has {own.height:,} problems, not {number:,}"
            raise BadInput(message, field=setting("--each", "each"), fix=fix)
        taken += in_random_order(own["id"].to_list(), seed)[:number]
    table = rows.filter(pl.coalesce("of", "id").is_in(taken))
    keys = pl.DataFrame([value for value, _ in strata], schema=names, orient="row") if names else pl.DataFrame()
    counts = pl.concat([keys, pl.DataFrame({"problems": sizes, "drawn": numbers})], how="horizontal")
    if out:
        tables.write([table], out)
    return Chosen(table, counts)


def _refuse_no_number(number: int, option: str) -> None:
    if isinstance(number, bool) or number != int(number) or number < 1:
        raise BadInput(f"found {number}", field=option, fix="give a number of problems, from 1 on")


def _called(by: Sequence[str], value: Sequence[object]) -> str:
    """What messages call a stratum."""
    return ", ".join(f"{name}={one}" for name, one in zip(by, value, strict=False) if name) or "the data"


def _strata(rows: pl.DataFrame, by: Sequence[str]) -> list[tuple[tuple[Any, ...], pl.DataFrame]]:
    """The rows of each combination of values, in the order of the values; all of them where no column is named."""
    if not by:
        return [((), rows)]
    return sorted(rows.group_by(by, maintain_order=True), key=lambda one: tuple(map(str, one[0])))


def _in_proportion(sizes: Sequence[int], n: int) -> list[int]:
    """Divide n in proportion to sizes: whole parts, then one more for the largest remainders, the first of equal ones.

    >>> _in_proportion([5, 3, 1], 4)
    [2, 1, 1]
    """
    total = sum(sizes)
    whole = [n * size // total for size in sizes]
    rest = sorted(range(len(sizes)), key=lambda place: (-(n * sizes[place] % total), place))
    for place in rest[: n - sum(whole)]:
        whole[place] += 1
    return whole


def _confidences(rows: pl.DataFrame, answers: TableOrPath | AnyTable, model: str, task: Task) -> pl.Series:
    """A model's probability of each problem's right label."""
    table = frame_or_name(answers, "the answers")
    where = "the answers" if isinstance(table, pl.DataFrame) else str(table)
    found = {one.name: one for one in load(table, names=Names(known=task.labels))}
    option = setting("--model", "model")
    if model and model not in found:
        raise BadInput(f"no model {model!r}", where=where, field=option, fix=f"name one of {', '.join(found)}")
    if not model and len(found) > 1:
        raise BadInput(f"has {len(found)} models", where=where, field=option, fix=f"name one of {', '.join(found)}")
    own = next(one for name, one in found.items() if not model or name == model)
    data = read(own.by_role(task.labels)["rewordings"].frame, task.labels, own.place)
    stated = confidence_in(data.gold, data.labels, data.frame, where)[data.originals]
    golds = np.array(data.labels)[data.gold[data.originals]]
    names = data.frame["bucket"].gather(data.originals).cast(pl.String).to_list()
    of_problem = dict(zip(names, zip(stated.tolist(), golds.tolist(), strict=True), strict=True))
    lacking = [name for name in rows["id"] if name not in of_problem]
    if lacking:
        message = f"no answer to {lacking[0]!r}" + (f" and {len(lacking) - 1:,} others" if len(lacking) > 1 else "")
        raise BadInput(message, where=where, fix="let the model answer all problems: otherwords answer")
    for name, label in rows.select("id", "label").rows():
        if of_problem[name][1] != label:
            message = f"the right answer to {name!r} is {of_problem[name][1]!r} there, and {label!r} in the data"
            raise BadInput(message, where=where, field="gold", fix="let the model answer these problems")
    values = np.array([of_problem[name][0] for name in rows["id"]], dtype=np.float64)
    if not np.isfinite(values).all():
        name = rows["id"][int(np.flatnonzero(~np.isfinite(values))[0])]
        fix = "use a model that gives probabilities"
        raise BadInput(f"no probability of the right label of {name!r}", where=where, fix=fix)
    return pl.Series(CONFIDENCE, values)


def _round_robin(rows: pl.DataFrame, n: int, seed: int) -> list[str]:
    """The ids that are drawn: one from each decile in turn, skipping those that are exhausted."""
    left = {
        place: in_random_order(rows.filter(pl.col(DECILE) == place)["id"].to_list(), seed)[::-1] for place in range(D)
    }
    drawn: list[str] = []
    while len(drawn) < n:
        drawn += [left[place].pop() for place in range(D) if left[place]]
    return drawn[:n]
