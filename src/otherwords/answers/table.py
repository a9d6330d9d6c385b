"""The answers of one model, column by column, with every bucket, cluster and label coded as a small integer.

Ten million answers are an ordinary size, so names become numbers once, exactly and fast.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from ..errors import BadInput, Unmeasurable, shorten
from ..frames import MISSING
from ..problem import AGAIN, UNREADABLE, label_key

Array = npt.NDArray[Any]
#: Significant digits that single precision holds; 0.7 is 0.69999999 in it.
SINGLE = 7
#: Hidden columns of a collapsed table: how often the bucket of each row occurs; on originals, its places in distinct
#: clusters, each with the number of the cluster and how often that occurs. No column of the user's is called so.
COUNT, PLACES = "\0count", "\0places"
#: Another: whether a row is an original.
ORIGINAL = "\0original"
_NUMBER = "\0number"


@dataclass(frozen=True)
class Location:
    """Where answers come from, so that an error can name the row of the user's own table.

    `rows` are the numbers of their rows in that table (None: all of them, in order); `fields` are the text fields of
    the task, where one is named. Where several tables are read as one, `files` has the first row and the name of each.
    `samples` are the ids that a log of another harness gives its rows, behind the first row of that log.
    """

    table: str = "the answers"
    model: str = ""
    rows: Array | None = None
    fields: tuple[str, ...] = ()
    files: tuple[tuple[int, str], ...] = ()
    samples: tuple[tuple[int, pl.Series], ...] = ()

    def row(self, number: int) -> str:
        """Name a row as the user counts it."""
        row = int(number if self.rows is None else self.rows[number])
        start, table = max(((start, name) for start, name in self.files if start <= row), default=(0, self.table))
        names = next((names for first, names in self.samples if first == start), None)
        return f"{table}, row {row - start + 1}" if names is None else f"{table}, sample {names[row - start]!r}"


WHOLE_TABLE = Location()


class Clusters(NamedTuple):
    """The distinct clusters of a collapsed table: a bucket and a cluster for each place, in the order of clusters.

    `times` says how often each cluster occurs.
    """

    bucket: Array
    cluster: Array
    times: Array


@dataclass(frozen=True)
class Answers:
    """What metrics see. Rows are answers; `bucket` numbers their buckets from 0 to `n_buckets` - 1.

    `original_pred` is, for every row, the answer to its bucket's original; `cluster` holds one number per bucket;
    `fields` are the text fields of the task, where one is named. Without gold labels, `gold` is -1 throughout; without
    originals, all rows are variants. What depends on either is then refused. A collapsed table has each distinct bucket
    once, and `clusters` say which they are in.
    """

    labels: tuple[str, ...]
    bucket: Array
    is_variant: Array
    gold: Array
    pred: Array
    cluster: Array
    frame: pl.DataFrame
    fields: tuple[str, ...] = ()
    clusters: Clusters | None = None

    @property
    def n_buckets(self) -> int:
        """How many buckets there are."""
        return len(self.cluster)

    @cached_property
    def has_gold(self) -> bool:
        """Whether the right answers are known: of all problems, or of none."""
        return bool((self.gold >= 0).all())

    @cached_property
    def has_originals(self) -> bool:
        """Whether there are answers to the originals: of all buckets, or of none."""
        return not self.is_variant.all()

    @cached_property
    def correct(self) -> Array:
        """Whether each answer is right."""
        if not self.has_gold:
            raise Unmeasurable("no gold labels", where=self.model, field="gold", fix="give the right answers")
        return np.asarray(self.pred == self.gold)

    @cached_property
    def originals(self) -> Array:
        """The row of each bucket's original."""
        if not self.has_originals:
            fix = "give the answers to the originals"
            raise Unmeasurable("no originals", where=self.model, field="variant", fix=fix)
        return self._one_of_each(np.flatnonzero(~self.is_variant))

    @cached_property
    def bucket_gold(self) -> Array:
        """The right answer of each bucket, which all of its wordings share; contrasts do not."""
        return np.asarray(self.gold[self._one_of_each(np.arange(len(self.gold)))])

    def _one_of_each(self, rows: Array) -> Array:
        """For every bucket, the last of these rows that is in it."""
        by_bucket = np.empty(self.n_buckets, dtype=np.int64)
        by_bucket[self.bucket[rows]] = rows
        return by_bucket

    @cached_property
    def original_pred(self) -> Array:
        """The answer to the original, repeated for every row of its bucket."""
        return self.of_original(self.pred)

    def of_original(self, values: Array) -> Array:
        """What each row's original has: one value (or row of values) per answer."""
        return np.asarray(values[self.originals][self.bucket])

    @cached_property
    def is_changed(self) -> Array:
        """Which rows are contrasts with another right answer than their original: none among rewordings."""
        return np.asarray(self.gold != self.of_original(self.gold))

    @cached_property
    def p(self) -> Array:
        """Probabilities, a row per answer and a column per label; refused where the model has none."""
        p = probabilities(self.frame, self.labels, self.model)
        return np.asarray(p / sum_shares(p)[:, None])  # they sum to one within TOLERANCE only

    @property
    def model(self) -> str:
        """The name of the model whose answers these are."""
        return str(self.frame["model"][0]) if "model" in self.frame.columns else "model"

    def sum_by_bucket(self, *masks: Array) -> Array:
        """Count, for every bucket, the rows where each mask holds: one column per mask."""
        return np.stack([np.bincount(self.bucket[mask], minlength=self.n_buckets) for mask in masks], axis=1)

    def add_by_bucket(self, values: Array, mask: Array) -> Array:
        """Add up, for every bucket, the values of the rows where the mask holds.

        They are added in the order of their size: floats added in another order differ in their last bits.
        """
        rows = np.flatnonzero(mask)
        rows = rows[np.argsort(values[rows], kind="stable")]
        return np.bincount(self.bucket[rows], values[rows], self.n_buckets)

    @cached_property
    def variants(self) -> tuple[Array, Array]:
        """For every bucket: how many variants are answered right, and how many there are."""
        return self.sum_by_bucket(self.correct & self.is_variant)[:, 0], self.n_variants

    @cached_property
    def n_variants(self) -> Array:
        """For every bucket: how many variants there are."""
        return np.asarray(self.sum_by_bucket(self.is_variant)[:, 0])

    @cached_property
    def label_counts(self) -> Array:
        """For every bucket, a column per label: how many variants are given that label."""
        cells = self.bucket[self.is_variant] * len(self.labels) + self.pred[self.is_variant]
        count = np.bincount(cells, minlength=self.n_buckets * len(self.labels))
        return count.reshape(self.n_buckets, len(self.labels))

    def of_places(self, values: Array) -> Array:
        """One value (or row) per bucket, for each of its places in distinct clusters; once if none is collapsed."""
        return values if self.clusters is None else values[self.clusters.bucket]

    @property
    def cluster_of_places(self) -> Array:
        """The number of the cluster of each of these."""
        return self.cluster if self.clusters is None else self.clusters.cluster

    @property
    def times(self) -> Array:
        """How often each cluster occurs: once, if none is collapsed."""
        return np.ones(int(self.cluster.max()) + 1, dtype=np.int64) if self.clusters is None else self.clusters.times

    @property
    def occurrences(self) -> Array:
        """How often each bucket occurs: once, if none is collapsed."""
        if self.clusters is None:
            return np.ones(self.n_buckets, dtype=np.int64)
        times = self.clusters.times[self.clusters.cluster]
        return np.bincount(self.clusters.bucket, times, self.n_buckets).astype(np.int64)

    def evidence(self, uses: str) -> Array:
        """How many answers of each bucket a metric looks at."""
        count = self.n_variants
        return {"originals": np.ones_like(count), "both": count + 1}.get(uses, count)


def clusters_in(frame: pl.DataFrame, bucket: Array) -> Clusters | None:
    """The distinct clusters of a collapsed table, whose rows are in buckets so numbered; None of another table."""
    if PLACES not in frame.columns:
        return None
    places = frame.select(pl.Series(_NUMBER, bucket), PLACES).drop_nulls(PLACES).explode(PLACES).unnest(PLACES)
    places = places.sort("cluster", maintain_order=True)
    numbers, cluster = np.unique(places["cluster"].to_numpy(), return_inverse=True)
    times = np.empty(len(numbers), dtype=np.int64)
    times[cluster] = places["times"].to_numpy()
    return Clusters(places[_NUMBER].to_numpy(), cluster, times)


def count_rows(table: pl.DataFrame) -> int:
    """How many answers a table holds, or stands for where it is collapsed."""
    return int(table[COUNT].sum()) if COUNT in table.columns else table.height


# Originals and variants


def is_original() -> pl.Expr:
    """Which rows of an answers table are originals: those whose variant is null or empty."""
    return pl.col("variant").is_null() | (pl.col("variant").cast(pl.String) == "")


def is_variant(variant: pl.Series) -> Array:
    """Which rows are variants, which have a name; originals have none."""
    if variant.dtype == pl.Null:
        return np.zeros(len(variant), dtype=bool)
    if variant.dtype in (pl.String, pl.Categorical, pl.Enum):
        return (variant.cast(pl.String).fill_null("") != "").to_numpy()
    return variant.is_not_null().to_numpy()


# Coding names and labels


def cluster_text() -> pl.Expr:
    """The cluster of each row as text, null where it has none; 7.0 is the 7 that it was before a row had none.

    >>> table = pl.DataFrame({"cluster": [7.0, float("nan"), None]})
    >>> table.select(cluster_text()).to_series().to_list()
    ['7', None, None]
    """
    text = pl.col("cluster").cast(pl.String).str.strip_chars().str.replace(r"^(-?\d+)\.0+$", "${1}")
    return pl.when(~text.is_in(MISSING)).then(text).alias("cluster")


def codes(column: pl.Series, where: Location) -> tuple[Array, int]:
    """Number distinct values from 0, and count them.

    The numbers follow the sorted hashes, so they depend on the set of names alone: two tables with the same names give
    each the same number, whatever the order and number of their rows. Pairing models bucket by bucket relies on that.
    Which name comes first is left open: nothing may depend on it.

    >>> first, second = (codes(pl.Series("bucket", names), WHOLE_TABLE)[0] for names in (["a", "b", "a"], ["b", "a"]))
    >>> bool(first[0] == first[2] == second[1] and first[1] == second[0])
    True
    """
    if column.null_count():
        row = int(column.is_null().arg_true()[0])
        raise BadInput("found nothing", where=where.row(row), field=column.name, fix="give a value for every answer")
    texts = column.cast(pl.String)
    heads = (texts != texts.shift(1)).fill_null(True)
    if heads.sum() * 2 < len(texts):  # rows of a bucket mostly stand together: code their first rows, and repeat
        run = heads.cast(pl.Int64).cum_sum().to_numpy() - 1
        short, count = _by_hash(texts.filter(heads))
        return short[run], count
    return _by_hash(texts)


def _by_hash(texts: pl.Series) -> tuple[Array, int]:
    hashes = texts.hash()
    order = hashes.arg_sort().to_numpy()  # which uses all cores
    ordered = hashes.to_numpy()[order]
    code = np.empty(len(order), dtype=np.int64)
    code[order] = np.concatenate([[0], np.cumsum(ordered[1:] != ordered[:-1])])
    first = np.empty(int(code.max()) + 1, dtype=np.int64)
    first[code] = np.arange(len(code))
    if (texts.gather(first).gather(code) != texts).any():  # two strings with one hash: once in ten million tables
        # Sorted names keep the promise of `codes` too; which of two names shares a hash is a matter of the set alone.
        code = texts.rank("dense").to_numpy().astype(np.int64) - 1
    return code, int(code.max()) + 1


def label_codes(column: pl.Series, names: tuple[str, ...], where: Location) -> Array:
    """Give each label its place among the names, in whatever spelling; an unknown label is refused with its row."""
    texts = label_texts(column)
    known = {label_key(name): name for name in names}
    other = {text: known.get(label_key(text), text) for text in set(texts.unique().drop_nulls()) - set(names)}
    texts = texts.replace(other) if other else texts
    numbers = np.full(len(texts), -1, dtype=np.int16)
    for number, name in enumerate(names):
        numbers[(texts == name).fill_null(False).to_numpy()] = number
    if (unknown := numbers < 0).any():
        row = int(np.flatnonzero(unknown)[0])
        fix = "give a value for every answer"
        if names:
            mapped = f"--label {texts[row]}=LABEL (in Python labels={{{texts[row]!r}: LABEL}})"
            fix = f"use one of {', '.join(names)}; map it to one with {mapped}, or choose another --task"
        raise BadInput(f"found {shorten(texts[row])}", where=where.row(row), field=column.name, fix=fix)
    return numbers


def label_texts(column: pl.Series) -> pl.Series:
    """Labels as text; a label that a program made a float (1.0) is the whole number it was."""
    if column.dtype.is_float() and (column.is_finite() & (column == column.round(0))).all():
        column = column.cast(pl.Int64)
    return column.cast(pl.String)


def label_spellings(
    frames: Sequence[pl.DataFrame], labels: Sequence[str] = (), meaning: Mapping[str, str] | None = None
) -> dict[str, str]:
    """How each label found in some tables is spelled: those that differ only in case, spacing or number format are one.

    It is spelled as in `labels` (the task's), else as a column `p:<label>` spells it, else as `gold` does, else `pred`;
    of several spellings there, as in the first when sorted, small letters first. `meaning` maps labels found to others.

    >>> table = pl.DataFrame({"gold": ["neutral", "neutral "], "pred": ["Neutral", "LABEL_0"]})
    >>> label_spellings([table], meaning={"label_0": "entailment"})
    {'neutral': 'neutral', 'neutral ': 'neutral', 'LABEL_0': 'entailment', 'Neutral': 'neutral'}
    """
    meaning = meaning or {}
    stated = [name.removeprefix("p:") for frame in frames for name in frame.columns if name.startswith("p:")]
    written = [
        *stated,
        *(text for column in ("gold", "pred") for text in sorted(_distinct(frames, column), key=str.swapcase)),
        *sorted({text for name in _repeated(frames) for text in _distinct(frames, name)}, key=str.swapcase),
    ]
    names: dict[str, str] = {UNREADABLE: UNREADABLE}
    for label in (*labels, *meaning.values(), *written):
        names.setdefault(label_key(label), label.strip())
    meant = {label_key(found): names[label_key(label)] for found, label in meaning.items()}
    return {text: meant.get(label_key(text)) or names[label_key(text)] for text in written}


def _distinct(frames: Sequence[pl.DataFrame], column: str) -> set[str]:
    """The labels that occur in a column of some tables; distinct values are few, whatever the number of rows."""
    given = [frame[column].unique().drop_nulls() for frame in frames if column in frame.columns]
    return {text for values in given for text in label_texts(values)}


def _repeated(frames: Sequence[pl.DataFrame]) -> list[str]:
    """The columns of answers to what was asked again."""
    return list(dict.fromkeys(name for frame in frames for name in frame.columns if name.startswith(AGAIN)))


def respelled(frame: pl.DataFrame, spellings: Mapping[str, str], where: Location) -> pl.DataFrame:
    """A table with its labels spelled so, wherever they stand, also in the names of columns; unchanged if they are."""
    for column in ("gold", "pred", *_repeated([frame])):
        changed = {text: spellings[text] for text in _distinct([frame], column) if spellings[text] != text}
        if changed:
            frame = frame.with_columns(label_texts(frame[column]).replace(changed).alias(column))
    stated = {name: f"p:{spellings[name.removeprefix('p:')]}" for name in frame.columns if name.startswith("p:")}
    for name, other in combinations(stated, 2):
        if stated[name] == stated[other]:
            message = f"the columns {name!r} and {other!r} are the same label, {stated[name].removeprefix('p:')!r}"
            raise BadInput(message, where=where.table, field="p", fix="give one column p:<label> for each label")
    return frame.rename({name: other for name, other in stated.items() if name != other})


def has_duplicates(bucket: Array, variant: pl.Series) -> bool:
    """Whether a (bucket, variant) pair occurs twice, by hashes; numbers are compared, not strings."""
    mixed = variant.hash().to_numpy() ^ (bucket.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    return pl.Series(mixed).n_unique() < len(mixed)


# Probabilities, cut at decimal edges, which binary fractions miss by a hair


def probabilities(frame: pl.DataFrame, labels: Sequence[str], where: str) -> Array:
    """The columns `p:<label>` as they are stated, a column per label; refused where answers have none.

    An answer that could not be read has none, nor has one of a language model that did not tell those of all labels.
    """
    names = [f"p:{label}" for label in labels if label != UNREADABLE]
    if missing := [name for name in names if name not in frame.columns]:
        fix = f"add the columns {', '.join(names)}"
        raise Unmeasurable("the answers have no probabilities", where=where, field=missing[0], fix=fix)
    table = with_decimals(frame.select(names)).cast(pl.Float64)
    lacking = table.select(pl.any_horizontal(pl.all().is_null())).to_series()
    if lacking.all():
        raise Unmeasurable("the model returned no probabilities", where=where, fix="it has only labels")
    if lacking.any():
        raise Unmeasurable(_why_lacking(frame, lacking), where=where, fix="leave their problems out, and report that")
    p = table.to_numpy()
    return np.column_stack([p, np.zeros(len(p))]) if UNREADABLE in labels else p


def _why_lacking(frame: pl.DataFrame, lacking: pl.Series) -> str:
    """How many answers have no probabilities, and how many of them could not be read."""
    count = f"{lacking.sum():,} of {frame.height:,} answers have no probabilities"
    unread = int((label_texts(frame["pred"]).filter(lacking) == UNREADABLE).sum()) if "pred" in frame.columns else 0
    return f"{count} ({unread:,} could not be read)" if unread else count


def sum_shares(rows: Array) -> Array:
    """Add up each row from the smallest number to the largest: the order of its columns must not change a bit."""
    return np.asarray(np.sort(rows, axis=-1).sum(axis=-1))


def with_decimals(frame: pl.DataFrame) -> pl.DataFrame:
    """A table with double precision for single in its `p:` columns, as the decimals that they stand for."""
    single = [name for name, kind in frame.schema.items() if name.startswith("p:") and kind == pl.Float32]
    return frame.with_columns(pl.col(single).cast(pl.Float64).round_sig_figs(SINGLE)) if single else frame


def as_written(values: npt.ArrayLike) -> Array:
    """Numbers in double precision; those that come in single precision as the decimals that they stand for.

    >>> as_written(np.array([0.7, 0.9], dtype=np.float32)).tolist()
    [0.7, 0.9]
    """
    given = np.asarray(values)
    double = given.astype(np.float64)
    if given.dtype != np.float32:
        return double
    return pl.Series(double.ravel()).round_sig_figs(SINGLE).to_numpy().reshape(double.shape)


def cut(shares: Array, bins: int) -> Array:
    """Number the bin of each share, among equally wide bins from 0 to 1; the last bin is closed.

    They are rounded first, because 0.6 - 0.2 is a little less than 0.4 in binary, and 0.29 * 100 less than 29.

    >>> cut(np.array([0.0, 0.6 - 0.2, 1.0]), 5).tolist()
    [0, 2, 4]
    """
    return np.asarray(np.minimum(np.floor(np.round(shares * bins, 9)).astype(np.int64), bins - 1))
