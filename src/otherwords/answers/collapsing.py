"""Collapsing answers: each distinct bucket once, with how often it occurs, from a table that is read part by part.

What a metric that looks at labels alone (`Metric.labels_only`) makes of a bucket hangs on what its wordings were
answered, and not on its name. Of a million buckets a few hundred differ in that. The collapsed table has these: it is
an answers table like any other, with two hidden columns that say how often a bucket occurs, and in which clusters.
Scores made of it are those of the whole table, to the bit.

Of every bucket, sixteen bytes are kept until the end: a cluster may come up again in any part.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import polars as pl

from ..errors import BadInput
from ..frames import LABEL_MASS, MISSING, REJECTED
from ..problem import AGAIN
from .groups import of_model
from .reading import answered, bad_probabilities, read
from .roles import CONTRAST, CONTROL, split_roles
from .table import COUNT, PLACES, WHOLE_TABLE, Array, cluster_text, codes, has_duplicates

#: More distinct buckets than this, and more than half of all, are not worth collapsing.
_MOST_DISTINCT = 50_000
#: Rows that fit into a processor's cache.
_IN_CACHE = 100_000
#: More kinds of answers than this (a column to group by has a value for every row) are not, either.
_MOST_KINDS = 10_000
_VARIED = "\0varied"  # no column of the user's is called so
_ABSENT, _BETWEEN = "\0absent", "\0,"  # and no label
_NEEDED = ("model", "bucket", "variant", "pred")
_TEXTS = (*_NEEDED, "gold", "cluster", CONTRAST, CONTROL)
_PLAIN = (pl.String, pl.Boolean, pl.Null)


class _NotCollapsible(Exception):
    """The table is not as the answer stage writes it, or its buckets hardly repeat: it is read as a whole instead."""


def collapse(parts: Sequence[pl.LazyFrame], by: Sequence[str] = (), labels: Sequence[str] = ()) -> pl.DataFrame | None:
    """The distinct buckets of a table that comes in parts, none of which splits a bucket; None where that cannot be.

    One part is in memory at a time, and no more of its columns than needed. `by` names columns to group by, `labels`
    are the task's. None is the answer, too, to rows that `read` refuses: it can then name them in the whole table.
    """
    try:
        schema = pl.concat(parts, how="diagonal_relaxed").collect_schema()
        with ThreadPoolExecutor(1, "answers-check") as pool:
            wanted, collapser = _columns_needed(schema, by), _Collapser(schema, by, pool)
            for part in parts:
                there = part.collect_schema()
                collapser.add(part.select(name for name in wanted if name in there).collect())
            return collapser.table(labels)
    except (_NotCollapsible, pl.exceptions.PolarsError):  # a damaged part is named where all are read
        return None


def in_parts(table: pl.DataFrame) -> list[pl.LazyFrame]:
    """A table in memory, cut between buckets into parts that fit into a processor's cache; whole, if they are mixed."""
    if table.height < 2 * _IN_CACHE or "bucket" not in table.columns:
        return [table.lazy()]
    heads = _heads(table["bucket"])
    if heads is None:
        return [table.lazy()]
    starts = heads.arg_true().to_numpy()
    cuts = np.unique(starts[np.searchsorted(starts, np.arange(0, starts[-1] + 1, _IN_CACHE))]).tolist()
    return [table[begin:end].lazy() for begin, end in pairwise([*cuts, table.height])]


def _columns_needed(schema: Iterable[str], by: Sequence[str]) -> list[str]:
    """Those of a table's columns that collapsing looks at."""
    wanted = {*_TEXTS, REJECTED, LABEL_MASS, *by}
    return [name for name in schema if name in wanted or name.startswith(("p:", AGAIN))]


@dataclass
class _OfModel:
    """What is kept of a model's buckets: of each the distinct bucket that it is like, and hashes of its cluster."""

    pattern: list[Array] = field(default_factory=list)
    cluster: list[Array] = field(default_factory=list)
    check: list[Array] = field(default_factory=list)
    kinds: Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    has_probabilities: set[bool] = field(default_factory=set)
    times: Array | None = None
    places: pl.DataFrame | None = None

    def close(self) -> None:
        """All parts of this model were seen: keep how often each pattern occurs, and the distinct clusters alone."""
        if self.times is None:
            pattern = _joined(self.pattern)
            self.times = np.bincount(pattern)
            self.places = _places(pattern, self.times, self) if self.cluster else None


class _Collapser:
    """Takes in part after part, and makes the table of distinct buckets.

    A kind of answer is what a row says, without its name: variant or original, gold, pred, repeats, marks and groups. A
    pattern is a distinct bucket, as the sorted kinds of its answers.
    """

    def __init__(self, schema: Mapping[str, pl.DataType], by: Sequence[str], pool: ThreadPoolExecutor):
        self._pool = pool
        self._checked: Future[bool] | None = None
        self.again = [name for name in schema if name.startswith(AGAIN)]
        texts = (*_TEXTS, *self.again)
        self.schema = {**schema, **{name: pl.String() for name in texts if schema.get(name) == pl.Null}}
        own = dict.fromkeys(name for name in by if name in schema and name not in texts)
        self.plain = [*(name for name in ("gold", "pred", CONTRAST, CONTROL) if name in schema), *own]
        self.columns = [*self.plain, *self.again]
        self._refuse_unusual(by)
        self.kinds: dict[tuple[object, ...], int] = {}
        self.patterns: dict[bytes, int] = {}
        self.models: dict[str, _OfModel] = {}
        self.buckets = 0

    def _refuse_unusual(self, by: Sequence[str]) -> None:
        known = all(name in self.schema for name in _NEEDED)
        texts = all(self.schema[name] == pl.String for name in (*_TEXTS, *self.again) if name in self.schema)
        plain = all(kind.is_integer() or kind in _PLAIN for kind in map(self.schema.__getitem__, self.columns))
        there = all(name in self.schema or name in ("label", "original") for name in by)
        if not (known and texts and plain and there) or {*by} & {"model", "bucket", "variant", "cluster"}:
            raise _NotCollapsible

    def add(self, part: pl.DataFrame) -> None:
        """Take in the rows of some buckets, of one model or several."""
        if REJECTED in part.columns:
            part, _ = answered(part)
        lacking = [name for name in _columns_needed(self.schema, self.columns) if name not in part.columns]
        other = [name for name, kind in part.schema.items() if kind != self.schema[name]]  # null in this part
        part = part.with_columns(*(pl.lit(None, self.schema[name]).alias(name) for name in lacking),
                                 *(pl.col(name).cast(self.schema[name]) for name in other))  # fmt: skip
        if part.height and (part["pred"].null_count() or part["bucket"].null_count() or part["model"].null_count()):
            raise _NotCollapsible
        models = part["model"].unique().to_list()
        for model, before in self.models.items():
            if len(models) == 1 and model not in models:  # the parts of a run come model by model
                before.close()
        for model in models:
            rows = part if len(models) == 1 else of_model(part, WHOLE_TABLE, model)[0]
            self._add(self.models.setdefault(model, _OfModel()), rows)
        distinct = len(self.patterns)
        if len(self.kinds) > _MOST_KINDS or (distinct > _MOST_DISTINCT and 2 * distinct > self.buckets):
            raise _NotCollapsible

    def _add(self, own: _OfModel, frame: pl.DataFrame) -> None:
        if own.times is not None:
            raise _NotCollapsible
        number, size = _bucket_numbers(frame["bucket"])
        varied = (frame["variant"].is_not_null() & (frame["variant"] != "")).to_numpy()
        originals = np.flatnonzero(~varied)
        if len(originals) != size or not (np.bincount(number[originals], minlength=size) == 1).all():
            raise _NotCollapsible
        self._check_behind(number, frame)
        stated = [name for name in frame.columns if name.startswith("p:")]
        own.has_probabilities.add(any(frame[name].null_count() < frame.height for name in stated))
        if len(own.has_probabilities) > 1:
            raise _NotCollapsible
        kind, numbers, counts = self._kinds(frame, varied)
        own.kinds = _padded(own.kinds, len(self.kinds))
        own.kinds[numbers[counts > 0]] += counts[counts > 0]
        own.pattern.append(self._pattern_numbers(number, kind, numbers, size))
        self.buckets += size
        if "cluster" in self.schema:
            first, second = _cluster_hashes(frame.select("bucket", "cluster")[originals])
            place = np.argsort(number[originals], kind="stable")
            own.cluster.append(first[place])
            own.check.append(second[place].astype(np.uint32))

    def _check_behind(self, number: Array, frame: pl.DataFrame) -> None:
        """Look for answers that cannot be used in another thread, while these are counted; one part at a time."""
        self._refuse_checked()
        self._checked = self._pool.submit(_has_bad_answers, number, frame)

    def _refuse_checked(self) -> None:
        if self._checked is not None and self._checked.result():
            raise _NotCollapsible

    def _kinds(self, frame: pl.DataFrame, varied: Array) -> tuple[Array, Array, Array]:
        """The kind of each row, numbered in this part; the number of each kind in all parts; how often it occurs."""
        values: list[list[tuple[object, ...]]] = [[(False,), (True,)]]
        code = varied.view(np.uint8)
        repeats = [_together(frame.select(self.again))] if self.again else []
        for column in (*(frame[name] for name in self.plain), *repeats):
            distinct, of_column = _coded(column)
            if math.prod(len(some) for some in values) * len(distinct) > _MOST_KINDS:
                code, values = _numbered_anew(code, values)  # of all combinations few occur
            values.append([_apart(str(one)) if repeats and column is repeats[0] else (one,) for one in distinct])
            if len(distinct) > 1:
                size = math.prod(len(some) for some in values)
                if size > max(_MOST_KINDS, 4 * frame.height):
                    raise _NotCollapsible
                small = np.min_scalar_type(size)
                code = code.astype(small) * small.type(len(distinct)) + of_column.astype(small)
        counts = np.bincount(code, minlength=math.prod(len(some) for some in values))
        numbers = np.zeros(len(counts), dtype=np.int32)
        there = np.flatnonzero(counts)
        for one, kind in zip(there.tolist(), _combined(there, values), strict=True):
            numbers[one] = self.kinds.setdefault(kind, len(self.kinds))
        return code, numbers, counts

    def _pattern_numbers(self, number: Array, kind: Array, numbers: Array, size: int) -> Array:
        """The number of each bucket's pattern: one bucket of each distinct hash is looked at, and stands for all."""
        hashes = _sums(_mixed(numbers)[kind], number, size)
        _, first, place = np.unique(hashes, return_index=True, return_inverse=True)
        chosen = np.zeros(size, dtype=bool)
        chosen[first] = True
        rows = np.flatnonzero(chosen[number])
        rows = rows[np.lexsort((numbers[kind[rows]], number[rows]))]
        cuts = np.flatnonzero(np.diff(number[rows])) + 1
        by_bucket = dict(zip(np.sort(first).tolist(), np.split(numbers[kind[rows]], cuts), strict=True))
        patterns = [self.patterns.setdefault(by_bucket[one].tobytes(), len(self.patterns)) for one in first.tolist()]
        return np.array(patterns, dtype=np.int32)[place]

    def table(self, labels: Sequence[str]) -> pl.DataFrame:
        """The distinct buckets of all models, refused where the table cannot be read or a hash stood for two things."""
        self._refuse_checked()
        sequences = [np.frombuffer(one, dtype=np.int32) for one in self.patterns]
        kinds = pl.DataFrame(list(self.kinds), schema=[_VARIED, *self.columns], orient="row", infer_schema_length=None)
        kinds = kinds.with_columns(pl.col(name).cast(self.schema[name]) for name in self.columns)
        frames = [self._of_model(name, own, sequences, kinds) for name, own in self.models.items()]
        if not frames:
            raise _NotCollapsible
        table, where = answered(pl.concat(frames))
        try:
            for _, rows, place in split_roles(table, where):
                for model in rows["model"].unique():
                    read(of_model(rows, place, model)[0], labels)
        except BadInput:
            raise _NotCollapsible from None
        return table

    def _of_model(self, model: str, own: _OfModel, sequences: Sequence[Array], kinds: pl.DataFrame) -> pl.DataFrame:
        own.close()
        assert own.times is not None
        times, there = own.times, np.flatnonzero(own.times)
        row_kinds = np.concatenate([sequences[one] for one in there.tolist()])
        lengths = np.array([len(sequences[one]) for one in there.tolist()])
        repeated = np.repeat(times[there], lengths)
        if not np.array_equal(np.bincount(row_kinds, repeated, len(kinds)), _padded(own.kinds, len(kinds))):
            raise _NotCollapsible  # two distinct buckets had one hash
        names = np.repeat(there, lengths)
        table = kinds[row_kinds].with_columns(
            pl.lit(model).alias("model"),
            pl.Series("bucket", names).cast(pl.String),
            pl.when(_VARIED).then(pl.int_range(pl.len()).cast(pl.String)).alias("variant"),
            pl.Series(COUNT, repeated),
            *(pl.lit(None, pl.Float64).alias(name) for name in self.schema if name.startswith("p:")),
        )
        each = own.places
        if each is None:
            each = pl.DataFrame({"bucket": there, "cluster": there, "times": times[there]})
        else:
            table = table.with_columns(pl.col("bucket").alias("cluster"))
        lists = (
            each.group_by("bucket")
            .agg(pl.struct("cluster", "times").alias(PLACES))
            .with_columns(pl.col("bucket").cast(pl.String))
        )
        table = table.join(lists, on="bucket", how="left", maintain_order="left")
        return table.with_columns(pl.when(~pl.col(_VARIED)).then(pl.col(PLACES))).drop(_VARIED)


def _has_bad_answers(number: Array, frame: pl.DataFrame) -> bool:
    return bool(has_duplicates(number, frame["variant"]) or bad_probabilities(frame).any())


def _bucket_numbers(names: pl.Series) -> tuple[Array, int]:
    """Number the buckets of some rows; those of a bucket mostly stand together."""
    heads = _heads(names)
    if heads is None:
        return codes(names, WHOLE_TABLE)
    return heads.cast(pl.Int64).cum_sum().to_numpy() - 1, int(heads.sum())


def _cluster_hashes(heads: pl.DataFrame) -> tuple[Array, Array]:
    """Two numbers for the name of each bucket's cluster; one without a cluster (see `cluster_names`) is its own."""
    names, whole = heads["cluster"], heads["cluster"].str
    if whole.contains(r"^\s|\s$|\.0").any() or names.is_in(list(MISSING)).any() or names.null_count():
        names = heads.select(cluster_text()).to_series()
    alone = names.is_null().to_numpy()
    first, second = (
        np.where(alone, heads["bucket"].hash(seed + 2).to_numpy(), names.hash(seed).to_numpy()) for seed in (0, 1)
    )
    return first, second


def _heads(names: pl.Series) -> pl.Series | None:
    """Which rows begin a bucket; None where the rows of one do not stand together. The first rows mostly tell."""
    if len(names) > _IN_CACHE and _heads(names.head(_IN_CACHE // 5)) is None:
        return None
    heads = (names != names.shift(1)).fill_null(True)
    return heads if names.filter(heads).hash().n_unique() == heads.sum() else None


def _combined(codes: Array, values: list[list[tuple[object, ...]]]) -> list[tuple[object, ...]]:
    """What each code stands for, which numbers the combinations of values."""
    places = np.unravel_index(codes, [len(some) for some in values])
    rows = zip(*(each.tolist() for each in places), strict=True)
    return [sum((some[i] for some, i in zip(values, row, strict=True)), ()) for row in rows]


def _numbered_anew(code: Array, values: list[list[tuple[object, ...]]]) -> tuple[Array, list[list[tuple[object, ...]]]]:
    """The same codes, numbered without those that do not occur."""
    there, code = np.unique(code, return_inverse=True)
    return code, [_combined(there, values)]


def _together(columns: pl.DataFrame) -> pl.Series:
    """Columns of labels as one."""
    return columns.select(pl.concat_str(pl.all().fill_null(_ABSENT), separator=_BETWEEN)).to_series()


def _apart(text: str) -> tuple[str | None, ...]:
    """The labels of a row that were put together."""
    return tuple(None if one == _ABSENT else one for one in text.split(_BETWEEN))


def _coded(column: pl.Series) -> tuple[list[object], Array]:
    """The distinct values of a column, and the place of each row's among them."""
    distinct = column.unique()
    if len(distinct) > 8:
        places = column.replace_strict(distinct, np.arange(len(distinct)), return_dtype=pl.Int64)
        return distinct.to_list(), places.to_numpy()
    code = np.zeros(len(column), dtype=np.uint8)
    for place, value in enumerate(distinct.to_list()[1:], 1):
        code += (column.eq_missing(value) if column.null_count() else column == value).to_numpy() * np.uint8(place)
    return distinct.to_list(), code


def _joined(arrays: list[Array]) -> Array:
    """Several arrays as one; the list is left empty, so that nothing is held twice."""
    whole = np.concatenate(arrays)
    arrays.clear()
    return whole


def _places(pattern: Array, times: Array, own: _OfModel) -> pl.DataFrame:
    """Distinct clusters: for each of their places the pattern of the bucket, the cluster, and how often that occurs."""
    keys, checks = _joined(own.cluster), _joined(own.check)
    order = np.argsort(keys)
    keys, checks, pattern = keys[order], checks[order], pattern[order]
    begins = np.concatenate([[True], keys[1:] != keys[:-1]])
    if (checks[1:] != checks[:-1])[~begins[1:]].any():  # two names had one hash
        raise _NotCollapsible
    del keys, checks, order
    alone = begins & np.append(begins[1:], True)  # clusters of one bucket, which mostly are all
    single = np.bincount(pattern[alone], minlength=len(times))
    there = np.flatnonzero(single)
    bucket, cluster, counts = _distinct_lists(pattern[~alone], np.flatnonzero(begins[~alone]), len(times))
    bucket, cluster = np.concatenate([there, bucket]), np.concatenate([np.arange(len(there)), cluster + len(there)])
    counts = np.concatenate([single[there], counts])
    if not np.array_equal(np.bincount(bucket, counts[cluster], len(times)), times):
        raise _NotCollapsible  # two distinct clusters had one hash
    return pl.DataFrame({"bucket": bucket, "cluster": cluster, "times": counts[cluster]})


def _distinct_lists(pattern: Array, starts: Array, size: int) -> tuple[Array, Array, Array]:
    """The distinct lists among some that begin at `starts`, in any order of each: their entries, and how often each is.

    The second array numbers the list of each entry.
    """
    if not len(starts):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    hashes = np.add.reduceat(_mixed(np.arange(size))[pattern], starts)
    _, first, counts = np.unique(hashes, return_index=True, return_counts=True)
    sizes = np.diff(np.append(starts, len(pattern)))[first]
    numbers = np.repeat(np.arange(len(first)), sizes)
    inside = np.arange(len(numbers)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return pattern[np.repeat(starts[first], sizes) + inside], numbers, counts


def _sums(values: Array, number: Array, size: int) -> Array:
    """The sum of each bucket's values, in any order."""
    if (number[1:] >= number[:-1]).all():
        return np.asarray(np.add.reduceat(values, np.searchsorted(number, np.arange(size))))
    sums = np.zeros(size, dtype=np.uint64)
    np.add.at(sums, number, values)
    return sums


def _mixed(numbers: Array) -> Array:
    """A well mixed number for each small one (the finaliser of SplitMix64); their sums tell multisets apart."""
    mixed = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def _padded(counts: Array, size: int) -> Array:
    return np.concatenate([counts, np.zeros(size - len(counts), dtype=counts.dtype)])
