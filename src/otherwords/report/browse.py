"""All problems of a run for the list that is searched and filtered in the browser: one compressed table of columns.

`browse.js` shows it. A page embeds it as base64 (so that no text can end the element that holds it), a server sends the
same bytes. A run that is too large for a page gives its most wavering problems, and says so.
"""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ..answers.reading import answered
from ..answers.roles import CONTRAST, CONTROL
from ..frames import REJECTED
from ..problem import Task
from . import accounts
from .flips import mark_flips

#: Rewordings and letters that a page holds at most: a browser opens it in a second or two.
MOST_VARIANTS, MOST_LETTERS = 120_000, 40_000_000
#: Letters of a text after which it is cut.
LONGEST = 2_000
#: What is read of the answers, beside the probabilities.
_COLUMNS = ("model", "bucket", "variant", "gold", "pred", REJECTED, CONTRAST, CONTROL)
_PLACE, _KEY = "\0place", "\0key"  # no column of the user's is called so


class Wavering:
    """The problems that waver most, found in one part of the answers after the other.

    How badly a problem wavers is the largest share of its rewordings on which a model changed its answer. The largest
    of several shares can be found model by model, so that no more than fits into a page is kept.
    """

    def __init__(self, most: int = MOST_VARIANTS) -> None:
        self._most, self._kept, self._rows = most, list[pl.DataFrame](), 0
        self.variants: dict[str, int] = {}
        self.problems: dict[str, int] = {}

    def add(self, counted: pl.DataFrame) -> None:
        """Take in the counts of some problems: `model, bucket, n, flips`."""
        share = (pl.col("flips") / pl.col("n")).alias("share")
        for model, n, problems in counted.group_by("model").agg(pl.col("n").sum(), pl.len()).rows():
            self.variants[model] = self.variants.get(model, 0) + n
            self.problems[model] = self.problems.get(model, 0) + problems
        self._kept.append(counted.select("bucket", share, "flips", "n"))
        self._rows += counted.height
        if self._rows > 2 * self._most:
            self._kept = [self._sorted(self._most)]
            self._rows = self._kept[0].height

    def _sorted(self, most: int) -> pl.DataFrame:
        together = pl.concat(self._kept).group_by("bucket").agg(pl.col("share", "flips", "n").max())
        order = together.sort("share", "flips", "bucket", descending=[True, True, False])
        return order.filter(pl.col("n").cum_sum() <= most)

    def chosen(self, buckets: Sequence[pl.LazyFrame], fields: Sequence[str], asked: int) -> pl.Series | None:
        """The names of the problems that a page can hold, those that waver most first; None for all of them.

        `asked` is how many wordings a model was asked, originals without a rewording among them.
        """
        few = max(self.variants.values(), default=0) <= self._most and asked <= 2 * self._most
        if few and _letters(buckets, fields)["letters"].sum() <= MOST_LETTERS:
            return None
        order = self._sorted(self._most)
        letters = _letters(buckets, fields, order["bucket"])
        room = order.join(letters, on="bucket", how="left", maintain_order="left")["letters"].fill_null(0).cum_sum()
        return order["bucket"].filter(room <= MOST_LETTERS)


def _letters(buckets: Sequence[pl.LazyFrame], fields: Sequence[str], some: pl.Series | None = None) -> pl.DataFrame:
    """How many letters each problem, or each of some, has with all its variants, as far as they are shown."""
    found = []
    for part in buckets:
        there = list(part.collect_schema())
        bucket = (pl.coalesce("of", "id") if "of" in there else pl.col("id")).cast(pl.String).alias("bucket")
        sizes = [pl.col(name).cast(pl.String).str.len_bytes().clip(0, LONGEST) for name in fields if name in there]
        total = pl.sum_horizontal(*sizes, pl.lit(0)).cast(pl.Int64).alias("letters")
        wanted = part.select(bucket, total)
        if some is not None:
            wanted = wanted.filter(pl.col("bucket").is_in(some.implode()))
        found.append(wanted.group_by("bucket").agg(pl.col("letters").sum()).collect())  # no part splits a bucket
    return pl.concat(found)


@dataclass(frozen=True)
class Wordings:
    """Problems with their variants, as they were asked: a row for each wording, the original first, and the answers.

    `rows` has `bucket`, `id`, `variant` (null for an original), `cluster`, `how` and the task's fields, null where the
    text is not known; `answers` are those of `flips.mark_flips`. `whole` if these are all problems of the run.
    """

    rows: pl.DataFrame
    answers: pl.DataFrame
    fields: tuple[str, ...]
    whole: bool

    @property
    def known(self) -> bool:
        """Whether any right answer is known."""
        return self.answers["gold"].null_count() < self.answers.height

    @property
    def problems(self) -> int:
        """How many problems there are."""
        return self.rows["variant"].null_count()

    @property
    def variants(self) -> int:
        """How many variants there are."""
        return self.rows.height - self.problems


def look_up(
    chosen: pl.Series | None, answers: Sequence[pl.LazyFrame], buckets: Sequence[pl.LazyFrame], task: Task
) -> Wordings:
    """Read some problems, or all, with their variants, texts and answers."""
    names = None if chosen is None else chosen.implode()
    parts = []
    for part in answers:
        there = [name for name in part.collect_schema() if name in _COLUMNS or name.startswith("p:")]
        some = part if names is None else part.filter(pl.col("bucket").cast(pl.String).is_in(names))
        parts.append(accounts.rewordings(answered(some.select(there).collect())[0]))
    marked = mark_flips(pl.concat(parts, how="diagonal_relaxed"))
    return Wordings(_rows(marked, _suite(chosen, buckets, task), task), marked, task.fields, chosen is None)


def _suite(chosen: pl.Series | None, buckets: Sequence[pl.LazyFrame], task: Task) -> pl.DataFrame:
    """The texts of some problems and their variants, cut where they are very long."""
    wanted = ("id", "of", "how", "cluster", CONTRAST, *task.fields)
    found = []
    for part in buckets:
        there = [name for name in wanted if name in part.collect_schema()]
        some = part.select(there)
        if chosen is not None:
            bucket = pl.coalesce("of", "id") if "of" in there else pl.col("id")
            some = some.filter(bucket.cast(pl.String).is_in(chosen.implode()))
        text = [pl.col(name).cast(pl.String) for name in ("id", "how", "cluster", *task.fields) if name in there]
        found.append(accounts.problems(some.with_columns(text).collect()))
    suite = pl.concat(found, how="diagonal_relaxed")
    suite = suite.with_columns(pl.lit(None, pl.String).alias(name) for name in wanted if name not in suite.columns)
    cut = [
        pl.when(pl.col(name).str.len_chars() > LONGEST)
        .then(pl.col(name).str.head(LONGEST) + " …")
        .otherwise(name)
        .alias(name)
        for name in task.fields
    ]
    return (
        suite.select("id", "how", "cluster", *cut)
        .unique("id", keep="first", maintain_order=True)
        .with_row_index(_PLACE)
    )


def _rows(marked: pl.DataFrame, suite: pl.DataFrame, task: Task) -> pl.DataFrame:
    """A row for each wording that was answered, and for each original; as in the suite, what it lacks by its name."""
    asked = marked.select("bucket", "variant").unique()
    originals = asked.select("bucket", pl.col("bucket").alias("id"), pl.lit(None, pl.String).alias("variant")).unique()
    variants = asked.filter(pl.col("variant").is_not_null()).select("bucket", pl.col("variant").alias("id"), "variant")
    rows = pl.concat([originals, variants]).join(suite, on="id", how="left")
    places = rows.filter(pl.col("variant").is_null()).select("bucket", pl.col(_PLACE).alias(_KEY))
    rows = rows.join(places, on="bucket", how="left")
    order = [_KEY, "bucket", pl.col("variant").is_not_null(), _PLACE, "id"]
    cluster = pl.coalesce("cluster", "bucket").alias("cluster")
    return rows.sort(order, nulls_last=True).select("bucket", "id", "variant", cluster, "how", *task.fields)


class Browsed(NamedTuple):
    """The list of all problems for one page: its data, what is in it, and what the run has."""

    data: bytes
    whole: bool
    known: bool
    problems: int
    variants: int
    all_problems: int
    all_variants: int

    @property
    def base64(self) -> str:
        """The data as a page embeds them: no text of theirs can end the element."""
        return base64.b64encode(self.data).decode()


def browsed(found: Wordings, every: Wavering, models: Sequence[str], task: Task, names: Mapping[str, str]) -> Browsed:
    """What a page shows of these problems; `every` knows how many the run has."""
    data = encode(found, models, task, names)
    most = (max(counts.values(), default=0) for counts in (every.problems, every.variants))
    return Browsed(data, found.whole, found.known, found.problems, found.variants, *most)


def encode(found: Wordings, models: Sequence[str], task: Task, names: Mapping[str, str]) -> bytes:
    """All of it as raw deflate of JSON; `names` are short ones of generators. The same input gives the same bytes."""
    text = json.dumps(_columns(found, models, task, names), ensure_ascii=False, separators=(",", ":"))
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(text.encode()) + packer.flush()


def _columns(found: Wordings, models: Sequence[str], task: Task, names: Mapping[str, str]) -> dict[str, Any]:
    """The table: columns of wordings, of problems (how many wordings each has), and of each model."""
    rows, marked = found.rows, found.answers
    starts = rows["variant"].is_null().arg_true().to_numpy()
    sizes = np.diff(np.append(starts, rows.height))
    labels = _labels(marked, task)
    hows = sorted(set(rows["how"].drop_nulls()))
    golds = marked.group_by("bucket").agg(pl.col("gold").drop_nulls().min())
    problems = rows[starts].select("bucket").join(golds, on="bucket", how="left", maintain_order="left")
    codes = {how: place for place, how in enumerate(hows)}
    return {
        "fields": list(found.fields),
        "labels": labels,
        "hows": [names.get(one, one) for one in hows],
        "size": sizes.tolist(),
        "gold": _coded(problems["gold"], {label: place for place, label in enumerate(labels)}),
        "id": rows["id"].to_list(),
        "how": _coded(rows["how"], codes),
        "texts": [_texts(rows[name], np.repeat(starts, sizes)) for name in found.fields],
        "models": [_of_model(marked.filter(pl.col("model") == one), one, rows, starts, labels) for one in models],
    }


def _labels(marked: pl.DataFrame, task: Task) -> list[str]:
    """All labels: those of the task first, then what else was answered, or is right."""
    found = {*marked["pred"].unique().drop_nulls(), *marked["gold"].unique().drop_nulls()}
    return [*task.labels, *sorted(found - set(task.labels))]


def _coded(names: pl.Series, codes: Mapping[str, int]) -> list[int]:
    """Names by their numbers, -1 where there is none."""
    return names.replace_strict(codes, default=-1, return_dtype=pl.Int32).to_list() if codes else [-1] * len(names)


def _texts(texts: pl.Series, originals: Any) -> list[str | int | None]:
    """The texts of a field: 0 where a variant has that of its original, null where it is not known."""
    own = texts.to_list()
    same = (texts == texts.gather(originals)).fill_null(False).to_numpy()
    same[np.unique(originals)] = False
    for place in np.flatnonzero(same):
        own[place] = 0
    return own


def _of_model(
    marked: pl.DataFrame, model: str, rows: pl.DataFrame, starts: Any, labels: Sequence[str]
) -> dict[str, Any]:
    """What a model answered to each wording, how sure it was in per cent, and what answers are compared with."""
    codes = {label: place for place, label in enumerate(labels)}
    own = marked.with_columns(pl.coalesce("variant", "bucket").alias("id")).unique("id", keep="first")
    sure = (pl.col("sure").cast(pl.Float64).fill_nan(None) * 100).round().cast(pl.Int16)
    given = rows.select("id").join(own.select("id", "pred", sure), on="id", how="left", maintain_order="left")
    first = own.select("bucket", "first_pred").unique("bucket", keep="any")
    compared = rows[starts].select("bucket").join(first, on="bucket", how="left", maintain_order="left")
    known = given["sure"].null_count() < given.height
    return {
        "name": model,
        "pred": _coded(given["pred"], codes),
        "sure": given["sure"].fill_null(-1).to_list() if known else None,
        "first": _coded(compared["first_pred"], codes),
    }
