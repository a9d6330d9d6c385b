"""How far annotators agree beyond chance: Cohen's and Fleiss' kappa, Krippendorff's alpha, Gwet's AC1 and AC2.

Each is a function of sums over items, so one bootstrap of items, or of their clusters, gives the interval of all.
Formulas: Cohen 1960 (of more than two annotators, the mean over pairs: Light 1971); Fleiss 1971, for items with
different numbers of ratings as in Gwet 2014; Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability"; Gwet 2008
and 2014. Tests hold them against the examples that these publications print.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from ..errors import BadInput, caller_level, setting
from ..storage import tables
from ..storage.in_memory import AnyTable, frame_or_name
from ..validity.people import read_verdicts
from .bootstrap import Array, Sample, bootstrap, by_cluster, collapse
from .intervals import percentile

#: What distances of answers mean: another answer is another one; they are ordered; their differences count.
LEVELS = ("nominal", "ordinal", "interval")
#: Answers that are numbers are marks on a scale up to so many different ones, and measurements above.
_MARKS = 10
#: Answers in words are choices up to so many different ones, and texts above, or where most of them differ.
_CHOICES = 12
#: Of more annotators than this, no mean over pairs is computed; Fleiss' kappa is of all together.
_MOST_PAIRED = 10


@dataclass(frozen=True)
class Agreement:
    """How far annotators agree on a question, by one coefficient, with the interval of a bootstrap.

    `value` is None where the coefficient is not defined: all answers are the same, or nobody answered what another
    did. `items` are those that two or more answered.
    """

    question: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    items: int
    annotators: int
    level: str = "nominal"


@dataclass(frozen=True)
class Annotator:
    """One annotator on one question: how many items, how often as most of the others said, and how long each took.

    `agreed` is a share of the items that others answered, too, and were not divided on; `kappa` is the mean of Cohen's
    over the others; `seconds` is the median.
    """

    question: str
    annotator: str
    items: int
    agreed: float | None
    kappa: float | None
    seconds: float | None


@dataclass(frozen=True)
class AgreementReport:
    """Agreement by question, and by annotator; a row for each item on which annotators differ; seconds per item."""

    questions: list[Agreement]
    annotators: list[Annotator]
    disagreements: list[dict[str, Any]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


# The coefficients, of a table of codes: a row per item, a column per annotator, -1 where there is no answer


def cohen_kappa(one: npt.ArrayLike, other: npt.ArrayLike) -> float | None:
    """Cohen's kappa of two annotators, on the items that both answered; None without any, or where all say the same.

    >>> round(cohen_kappa(["yes", "yes", "no", "no"], ["yes", "no", "no", "no"]), 3)
    0.5
    """
    codes, values = coded(np.stack([np.asarray(one, dtype=object), np.asarray(other, dtype=object)], axis=1))
    return _value(_cohen(codes, len(values)))


def fleiss_kappa(counts: npt.ArrayLike) -> float | None:
    """Fleiss' kappa of a table with a row per item and a column per category: how many annotators chose it.

    >>> round(fleiss_kappa([[3, 0], [2, 1], [0, 3], [0, 3]]), 3)
    0.657
    """
    return _value(_fleiss(np.asarray(counts, dtype=np.float64)))


def krippendorff_alpha(ratings: npt.ArrayLike, level: str = "nominal") -> float | None:
    """Krippendorff's alpha of ratings with a row per item and a column per annotator; None or NaN is missing.

    >>> round(krippendorff_alpha([[1, 1], [2, 2], [3, 4], [4, 4], [None, 2]], "interval"), 3)
    0.926
    """
    codes, values = coded(np.asarray(ratings, dtype=object))
    return _value(_alpha(counted(codes, len(values)), _places(values, level), level))


def gwet_ac(ratings: npt.ArrayLike, weighted: bool = False) -> float | None:
    """Gwet's AC1 of ratings with a row per item and a column per annotator; `weighted` is AC2 with quadratic weights.

    >>> round(gwet_ac([["a", "a"], ["a", "a"], ["b", "a"], ["a", "a"]]), 3)
    0.68
    """
    codes, values = coded(np.asarray(ratings, dtype=object))
    return _value(_gwet(counted(codes, len(values)), _places(values, "interval") if weighted else None))


def coded(ratings: Array) -> tuple[Array, list[Any]]:
    """Codes of a table of answers, -1 for missing ones, and the answers that they stand for, in order."""
    missing = np.array([one is None or one != one for one in ratings.ravel()], dtype=bool).reshape(ratings.shape)
    there = set(ratings[~missing].tolist())
    if ratings.ndim != 2 or not there:
        raise BadInput("contains no ratings", where="the table", fix="give a row per item and a column per annotator")
    values = sorted(there, key=lambda one: (isinstance(one, str), one))
    place = {value: number for number, value in enumerate(values)}
    flat = [-1 if lost else place[one] for one, lost in zip(ratings.ravel(), missing.ravel(), strict=True)]
    return np.array(flat, dtype=np.int64).reshape(ratings.shape), values


def counted(codes: Array, size: int) -> Array:
    """How many annotators gave each answer: a row per item, a column per answer."""
    return np.stack([(codes == value).sum(axis=1) for value in range(size)], axis=1).astype(np.float64)


class _Sums(NamedTuple):
    """Rows of statistics, one for each item, and what makes a coefficient of their sums (along the last axis)."""

    rows: Array
    combine: Callable[[Array], Array]


def _value(sums: _Sums) -> float | None:
    found = float(sums.combine(sums.rows.sum(axis=0)[None])[0]) if len(sums.rows) else float("nan")
    return None if np.isnan(found) else found


def _beyond_chance(observed: Array, chance: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(1 - chance > 1e-12, (observed - chance) / (1 - chance), np.nan))


def _cohen(codes: Array, size: int) -> _Sums:
    """Of all pairs of annotators who share items: a table of both answers for each pair, one after the other."""
    pairs = [pair for pair in combinations(range(codes.shape[1]), 2) if (codes[:, pair] >= 0).all(axis=1).any()]
    rows = np.zeros((len(codes), len(pairs), size, size))
    for place, (one, other) in enumerate(pairs):
        both = np.flatnonzero((codes[:, one] >= 0) & (codes[:, other] >= 0))
        rows[both, place, codes[both, one], codes[both, other]] = 1

    return _Sums(rows.reshape(len(codes), -1), partial(_mean_kappa, pairs=len(pairs), size=size))


def _mean_kappa(sums: Array, pairs: int, size: int) -> Array:
    """The mean of Cohen's kappa over pairs of annotators, from their tables one after the other."""
    tables = sums.reshape(len(sums), pairs, size, size)
    with np.errstate(invalid="ignore", divide="ignore"):
        tables = tables / tables.sum(axis=(2, 3), keepdims=True)
    observed = np.trace(tables, axis1=2, axis2=3)
    kappas = _beyond_chance(observed, (tables.sum(axis=3) * tables.sum(axis=2)).sum(axis=2))
    known = ~np.isnan(kappas)
    total = np.where(known, kappas, 0).sum(axis=1)
    return np.where(known.any(axis=1), total / np.maximum(known.sum(axis=1), 1), np.nan)


def _fleiss(counts: Array) -> _Sums:
    """For each item: the share of its pairs of ratings that agree, whether it has a pair, the shares of its answers."""
    n = counts.sum(axis=1, keepdims=True)
    several = n[:, 0] > 1
    agree = ((counts * (counts - 1)).sum(axis=1) / np.where(several, n[:, 0] * (n[:, 0] - 1), 1)) * several
    shares = counts / np.maximum(n, 1)
    rows = np.column_stack([agree, several, n[:, 0] > 0, shares])

    def combine(sums: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore"):
            observed, share = sums[:, 0] / sums[:, 1], sums[:, 3:] / sums[:, 2:3]
        return _beyond_chance(observed, (share**2).sum(axis=1))

    return _Sums(rows, combine)


def _gwet(counts: Array, places: Array | None) -> _Sums:
    """As Fleiss, with another chance; weights make near answers agree in part."""
    size = counts.shape[1]
    weights = np.eye(size)
    if places is not None and size > 1:
        weights = 1 - ((places[:, None] - places) / (places[-1] - places[0])) ** 2
    n = counts.sum(axis=1, keepdims=True)
    several = n[:, 0] > 1
    near = (counts * (counts @ weights - 1)).sum(axis=1) / np.where(several, n[:, 0] * (n[:, 0] - 1), 1) * several
    rows = np.column_stack([near, several, n[:, 0] > 0, counts / np.maximum(n, 1)])

    def combine(sums: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore"):
            observed, share = sums[:, 0] / sums[:, 1], sums[:, 3:] / sums[:, 2:3]
        chance = weights.sum() / max(size * (size - 1), 1) * (share * (1 - share)).sum(axis=1)
        return np.where(sums[:, 1] > 0, _beyond_chance(observed, chance), np.nan)

    return _Sums(rows, combine)


def _alpha(counts: Array, places: Array, level: str) -> _Sums:
    """For each item: its part of the matrix of coincidences."""
    if level == "interval":
        return _alpha_of_differences(counts, places)
    size, n = counts.shape[1], counts.sum(axis=1)
    pairs = counts[:, :, None] * (counts[:, None, :] - np.eye(size))
    rows = np.where(n[:, None, None] > 1, pairs / np.maximum(n - 1, 1)[:, None, None], 0.0)

    def combine(sums: Array) -> Array:
        seen = sums.reshape(-1, size, size)
        totals = seen.sum(axis=2)
        far, whole = _distances(totals, level), totals.sum(axis=1)
        expected = totals[:, :, None] * totals[:, None, :] - totals[:, :, None] * np.eye(size)
        apart, by_chance = (seen * far).sum(axis=(1, 2)), (expected * far).sum(axis=(1, 2))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(by_chance > 0, 1 - (whole - 1) * apart / by_chance, np.nan)

    return _Sums(rows.reshape(len(counts), -1), combine)


def _alpha_of_differences(counts: Array, places: Array) -> _Sums:
    """The same from how many answers an item has, their sum and their squares: scales may have a hundred answers."""
    counts, marks = counts * (counts.sum(axis=1, keepdims=True) > 1), places - places[0]
    n, first, second = counts.sum(axis=1), counts @ marks, counts @ marks**2
    rows = np.column_stack([n, first, second, 2 * (n * second - first**2) / np.maximum(n - 1, 1)])

    def combine(sums: Array) -> Array:
        n, first, second, apart = sums.T
        by_chance = 2 * (n * second - first**2)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(by_chance > 1e-12 * n * second, 1 - (n - 1) * apart / by_chance, np.nan)

    return _Sums(rows, combine)


def _distances(totals: Array, level: str) -> Array:
    """Squared distances of answers: (replicates, answers, answers)."""
    if level == "nominal":
        size = totals.shape[1]
        return np.broadcast_to(1 - np.eye(size), (len(totals), size, size))
    middle = totals.cumsum(axis=1) - totals / 2  # how many answers lie below the middle of each
    return np.asarray((middle[:, :, None] - middle[:, None, :]) ** 2)


def _places(values: Sequence[Any], level: str) -> Array:
    if level not in LEVELS:
        raise BadInput(f"found {level!r}", field=setting("--level", "level"), fix=f"use {', '.join(LEVELS)}")
    if level != "interval":
        return np.arange(len(values), dtype=np.float64)
    try:
        return np.array([float(value) for value in values])
    except ValueError:
        fix = "use nominal or ordinal for answers that are not numbers"
        raise BadInput("differences need numbers", field=setting("--level", "level"), fix=fix) from None


# From a table of verdicts


def agreement_of(
    verdicts: AnyTable | str | Path,
    answers: AnyTable | str | Path | None = None,
    *,
    out: str | Path | None = None,
    **settings: Any,
) -> AgreementReport:
    """The same as `agreement`, from files: verdicts, and a run or its answers for the clusters of buckets.

    `out` writes a row for each disagreement: question, bucket, variant, and a column for each annotator.
    """
    tables.refuse_unwritable(out, verdicts)
    judged, clusters = read_verdicts(verdicts), None
    if answers is not None:
        judged, clusters = _of_run(judged, frame_or_name(answers, "the answers"))
    report = agreement(judged, clusters, **settings)
    if out:
        keys = ("question", "bucket", "variant")
        rows = [{**{key: row[key] for key in keys},
                 **{f"annotator:{name}" if name in keys else name: one for name, one in row["answers"].items()}}
                for row in report.disagreements]  # fmt: skip
        tables.write([pl.DataFrame(rows, infer_schema_length=None)] if rows else [], out)
    return report


def _of_run(verdicts: pl.DataFrame, answers: pl.DataFrame | str) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """The verdicts with the buckets of their variants, and the clusters of buckets where the answers name them."""
    where = answers if isinstance(answers, str) else "the answers"
    known = answers if isinstance(answers, pl.DataFrame) else tables.read(answers)
    if lost := [name for name in ("bucket", "variant") if name not in known.columns]:
        fix = f"give a run folder, or its answers; found {', '.join(known.columns)}"
        raise BadInput("no such column", where=where, field=lost[0], fix=fix)
    known = known.with_columns(pl.col("bucket", "variant").cast(pl.String))
    places = known.select("variant", found="bucket").drop_nulls().unique("variant")
    verdicts = verdicts.join(places, on="variant", how="left", maintain_order="left")
    verdicts = verdicts.with_columns(pl.coalesce("bucket", "found").alias("bucket")).drop("found")
    if not verdicts["bucket"].is_in(known["bucket"].unique().to_list()).any():
        fix = f"variants are known by their ids: one that was judged is {verdicts['variant'][0]!r}"
        raise BadInput("contains none of the judged variants", where=where, fix=fix)
    clustered = "cluster" in known.columns
    return verdicts, known.select(pl.col("bucket", "cluster").cast(pl.String)) if clustered else None


def agreement(
    verdicts: pl.DataFrame,
    clusters: pl.DataFrame | None = None,
    *,
    level: str = "",
    confidence: float = 0.95,
    replicates: int = 2_000,
    seed: int = 1,
) -> AgreementReport:
    """How far annotators agree, question by question, from a table of verdicts (`validity.people.read_verdicts`).

    Adjudicated rows do not count. `clusters` has `bucket` and `cluster`; without it, variants of a bucket belong
    together. `level` is that of alpha: nominal, ordinal or interval; by default ordinal for marks (numbers, up to ten
    different ones), interval for more, nominal for anything else.
    """
    own = verdicts.filter(~pl.col("adjudicated"), pl.col("annotator") != "")
    if own["annotator"].n_unique() < 2:
        fix = "give a column annotator, and let two or more judge the same variants"
        raise BadInput("has fewer than two annotators", where="the verdicts", field="annotator", fix=fix)
    if clusters is not None:
        own = own.join(clusters.select("bucket", "cluster").unique("bucket"), on="bucket", how="left")
    questions: list[Agreement] = []
    people: list[Annotator] = []
    apart: list[dict[str, Any]] = []
    for question in own["question"].unique().sort().to_list():
        rows = own.filter(pl.col("question") == question)
        table = _Table.of(rows, level)
        if table.is_text:
            continue
        questions += _coefficients(question, table, confidence, replicates, seed)
        people += _annotators(question, table, rows)
        apart += _disagreements(question, table)
    if not questions:
        fix = "ask a question with choices or marks"
        raise BadInput("has only texts, which cannot be counted", where="the verdicts", field="answer", fix=fix)
    seconds = own.drop_nulls("seconds").group_by("question").agg(pl.col("seconds").median()).sort("question")
    return AgreementReport(questions, people, apart, dict(seconds.iter_rows()))


@dataclass(frozen=True)
class _Table:
    """The answers to one question: codes with a row per item and a column per annotator, and what they stand for."""

    items: pl.DataFrame
    names: list[str]
    codes: Array
    values: list[Any]
    level: str
    cluster: Array

    @classmethod
    def of(cls, rows: pl.DataFrame, level: str) -> "_Table":
        people = rows.with_columns(annotator="annotator:" + pl.col("annotator"))  # one may be called bucket
        wide = people.pivot("annotator", index=["bucket", "variant"], values="answer", aggregate_function="first")
        wide = wide.sort("bucket", "variant")
        texts = wide.select(sorted(wide.columns[2:])).select(pl.all().str.strip_chars().str.to_lowercase())
        names = [name.partition(":")[2] for name in texts.columns]
        numbers = texts.select(pl.all().cast(pl.Float64, strict=False))
        numeric = all(texts[name].null_count() == numbers[name].null_count() for name in texts.columns)
        codes, values = coded((numbers if numeric else texts).to_numpy().astype(object))
        level = level or cls._usual(values, numeric)
        if level == "ordinal" and not numeric and 2 < len(values) <= _CHOICES:
            message = f"{rows['question'][0]}: taken in alphabetical order: {', '.join(values)}"
            warnings.warn(f"{message}; if that is not their order, give numbers", stacklevel=caller_level())
        where = rows.unique("bucket") if "cluster" in rows.columns else None
        key = pl.col("bucket").fill_null(pl.col("variant"))
        known = wide if where is None else wide.join(where.select("bucket", "cluster"), on="bucket", how="left")
        key = key if where is None else pl.coalesce("cluster", key)
        place = known.select(key.rank("dense")).to_series().to_numpy().astype(np.int64) - 1
        return cls(wide.select("bucket", "variant"), names, codes, values, level, place)

    @property
    def is_text(self) -> bool:
        """Whether people wrote what they liked, so that answers cannot be counted."""
        different, answers = len(self.values), int((self.codes >= 0).sum())
        return isinstance(self.values[0], str) and different > min(_CHOICES, max(4, answers / 2))

    @staticmethod
    def _usual(values: Sequence[Any], numeric: bool) -> str:
        if not numeric or len(values) <= 2:
            return "nominal"
        return "ordinal" if len(values) <= _MARKS else "interval"


def _coefficients(question: str, table: _Table, confidence: float, replicates: int, seed: int) -> list[Agreement]:
    counts = counted(table.codes, len(table.values))
    shared = counts.sum(axis=1) > 1
    places = _places(table.values, table.level)
    measures = {"alpha": _alpha(counts, places, table.level)}
    if table.level != "interval":
        measures = {"fleiss": _fleiss(counts), **measures, "ac1": _gwet(counts, None)}
        if len(table.names) <= _MOST_PAIRED:
            measures = {"cohen": _cohen(table.codes, len(table.values)), **measures}
    if table.level != "nominal":
        measures["ac2"] = _gwet(counts, places)
    weighted = {"alpha": table.level, "ac2": "quadratic"}
    found = []
    for name, sums in measures.items():
        value = _value(sums)
        low, high = _ends(sums, table.cluster, confidence, replicates, seed) if value is not None else (None, None)
        level = weighted.get(name, "nominal")
        found.append(Agreement(question, name, value, low, high, int(shared.sum()), len(table.names), level))
    return found


def _ends(sums: _Sums, cluster: Array, confidence: float, replicates: int, seed: int) -> tuple[float | None, ...]:
    """The interval of a coefficient from a bootstrap of clusters; none where there is a single one."""
    units = by_cluster(sums.rows, cluster)
    if len(units) < 2 or replicates < 2:
        return None, None
    sample = Sample(*collapse(units), lambda totals: sums.combine(totals)[:, None])
    [values] = bootstrap([sample], replicates, seed)
    values = values[~np.isnan(values[:, 0])]
    if len(values) < 0.95 * replicates:  # in too many draws all answers are the same
        return None, None
    low, high = percentile(values, confidence)
    return float(low[0]), float(high[0])


def _annotators(question: str, table: _Table, rows: pl.DataFrame) -> list[Annotator]:
    counts = counted(table.codes, len(table.values))
    seconds = dict(rows.drop_nulls("seconds").group_by("annotator").agg(pl.col("seconds").median()).iter_rows())
    found = []
    for place, name in enumerate(table.names):
        own = table.codes[:, place]
        answered = np.flatnonzero(own >= 0)
        others = counts[answered].copy()
        others[np.arange(len(answered)), own[answered]] -= 1
        most = others.max(axis=1)
        decided = (most > 0) & ((others == most[:, None]).sum(axis=1) == 1)
        agreed = (others.argmax(axis=1) == own[answered])[decided]
        pairs = [_pair_kappa(own, other, len(table.values)) for other in np.delete(table.codes, place, axis=1).T]
        kappas = [one for one in pairs if not np.isnan(one)]
        share = float(agreed.mean()) if len(agreed) else None
        kappa = float(np.mean(kappas)) if kappas else None
        found.append(Annotator(question, name, len(answered), share, kappa, seconds.get(name)))
    return found


def _pair_kappa(one: Array, other: Array, size: int) -> float:
    both = (one >= 0) & (other >= 0)
    table = np.bincount(one[both] * size + other[both], minlength=size * size)
    return float(_mean_kappa(table[None], 1, size)[0])


def _disagreements(question: str, table: _Table) -> list[dict[str, Any]]:
    """Items on which annotators differ, those most divided first."""
    counts = counted(table.codes, len(table.values))
    divided = np.flatnonzero((counts > 0).sum(axis=1) > 1)
    order = divided[np.argsort((counts.max(axis=1) / counts.sum(axis=1).clip(1))[divided], kind="stable")]
    found = []
    for row in order:
        bucket, variant = table.items.row(int(row))
        codes = zip(table.names, table.codes[row], strict=True)
        answers = {name: str(_shown(table.values[code])) for name, code in codes if code >= 0}
        found.append({"question": question, "bucket": bucket, "variant": variant, "answers": answers})
    return found


def _shown(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value
