"""Which answers changed with the wording: counts for the plot, and its problems."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ..errors import BadInput
from ..frames import with_texts
from ..problem import Task
from .numbers import percent
from .plot import PARTS, Bar
from .wording import Segment, compare, excerpt

#: Problems shown for each model: those that flipped most, and a sample of every other part of its bar.
TOP, SAMPLE = 10, 3
#: Rewordings shown of each problem, and problems named by their id alone.
MOST_REWORDINGS, MOST_IDS = 40, 200


@dataclass(frozen=True)
class ShownAnswer:
    """What a model answered, how sure it was (a percentage, or empty), and whether that is right, if known."""

    label: str
    sure: str
    right: bool | None


@dataclass(frozen=True)
class ShownRewording:
    """One variant as shown: its changed fields, and the answer to it."""

    id: str
    how: str
    texts: Mapping[str, tuple[Segment, ...]]
    answer: ShownAnswer
    flipped: bool
    known: bool


@dataclass(frozen=True)
class Case:
    """A problem as shown: its texts, its right and its given answer (None where there is none), and its rewordings."""

    bucket: str
    gold: str | None
    texts: Mapping[str, tuple[Segment, ...]]
    answer: ShownAnswer | None
    flips: int
    n: int
    rewordings: tuple[ShownRewording, ...]


@dataclass(frozen=True)
class Listing:
    """The problems behind one part of a model's bar: some as shown, the ids of others, how many are not named."""

    part: str
    total: int
    cases: tuple[Case, ...]
    others: tuple[str, ...]
    hidden: int


def mark_flips(answers: pl.DataFrame) -> pl.DataFrame:
    """Give the answers `model, bucket, variant, gold, pred`, with whether each is a `flip`, is `right`, and how `sure`.

    An original's own row has a null variant and is no flip. Where the original was not answered, an answer is a flip if
    it is not the commonest of its problem. `right` is null where the right answer is not known.
    """
    refuse_missing(answers.columns)
    if "model" not in answers.columns:
        answers = answers.with_columns(pl.lit("model").alias("model"))
    sure = [pl.when(pl.col("pred") == name[2:]).then(pl.col(name)) for name in answers.columns if name.startswith("p:")]
    text = [pl.col(name).cast(pl.String) for name in ("model", "bucket", "pred")]
    blank = [pl.col(name).cast(pl.String).replace("", None) for name in ("variant", "gold")]
    frame = answers.with_columns(text).select("model", "bucket", "pred", *blank, pl.coalesce(*sure, None).alias("sure"))
    key = ["model", "bucket"]
    counts = frame.group_by(*key, "pred").agg(pl.col("variant").is_null().any().alias("original"), pl.len())
    order = counts.sort("original", "len", "pred", descending=[True, True, False])
    first = order.group_by(key, maintain_order=True).agg(pl.col("pred", "original").first().name.prefix("first_"))
    frame = frame.join(first, on=key, how="left", maintain_order="left")
    return frame.with_columns(
        (pl.col("pred") == pl.col("gold")).alias("right"),
        (pl.col("variant").is_not_null() & (pl.col("pred") != pl.col("first_pred"))).alias("flip"),
    )


def refuse_missing(columns: Sequence[str]) -> None:
    """Refuse answers that lack a column."""
    if missing := sorted({"bucket", "variant", "gold", "pred"} - set(columns)):
        raise BadInput(f"no column {', '.join(missing)}", where="the answers", fix=f"found {', '.join(columns)}")


def by_problem(marked: pl.DataFrame) -> pl.DataFrame:
    """Count, for every model and problem with two wordings, one a rewording: rewordings `n`, `flips`, and its `part`.

    Its part of the bar depends on all its wordings, the original among them: all are answered "right"; the answers
    differ, or some are right and some wrong ("mixed"); all get the same answer, which is "wrong" or, where the right
    one is not known, the "same".
    """
    right = pl.col("right").fill_null(False)
    changed = (pl.col("pred").n_unique() > 1) | (right.any() & ~right.all())
    unknown = pl.when(pl.col("right").is_null().any()).then(pl.lit("same")).otherwise(pl.lit("wrong"))
    part = pl.when(right.all()).then(pl.lit("right")).when(changed).then(pl.lit("mixed")).otherwise(unknown)
    reworded = pl.col("variant").is_not_null()
    counts = (reworded.sum().alias("n"), pl.col("flip").sum().alias("flips"), part.alias("part"))
    compared = (reworded & pl.col("first_original")).sum().alias("compared")
    known = pl.col("right").is_not_null().any().alias("known")
    found = marked.group_by("model", "bucket").agg(*counts, compared, known, pl.len().alias("wordings"))
    return found.filter(pl.col("n") > 0, pl.col("wordings") > 1).drop("wordings").sort("model", "bucket")


def count_problems(answers: pl.DataFrame) -> pl.DataFrame:
    """What `by_problem` says of the answers marked, in any order.

    In a table as the answer stage writes it, the rows of a problem stand together and one is its original: then they
    are counted in arrays, which is ten times as fast.
    """
    names = ("model", "bucket", "variant", "gold", "pred")
    if not all(name in answers.columns and answers[name].dtype == pl.String for name in names):
        return _with_wide_counts(by_problem(mark_flips(answers)))
    model, bucket, variant, gold, pred = (answers[name] for name in names)
    heads = ((bucket != bucket.shift(1)) | (model != model.shift(1))).fill_null(True)
    number, size = heads.cast(pl.Int64).cum_sum().to_numpy() - 1, int(heads.sum())
    varied = (variant.is_not_null() & (variant != "")).to_numpy()
    originals = np.flatnonzero(~varied)
    whole = (bucket.filter(heads).hash() ^ model.filter(heads).hash(1)).n_unique() == size
    if not whole or pred.null_count() or not np.array_equal(number[originals], np.arange(size)):
        return _with_wide_counts(by_problem(mark_flips(answers)))

    def count(rows: Any) -> Any:
        return np.bincount(number[rows], minlength=size)

    right, known = (pred == gold).fill_null(False).to_numpy(), (gold.is_not_null() & (gold != "")).to_numpy()
    changed = (pred != pred.gather(originals[number])).to_numpy()
    wordings, n, flips, n_right = count(slice(None)), count(varied), count(changed), count(right)
    mixed = (flips > 0) | ((n_right > 0) & (n_right < wordings))
    place = np.select([n_right == wordings, mixed, count(~known) > 0], [0, 1, 2], 3)
    part = pl.Series(["right", "mixed", "same", "wrong"]).gather(place)
    found = answers.select("model", "bucket").filter(heads)
    counts = {"n": n, "flips": flips, "part": part, "compared": n, "known": count(known) > 0}
    return found.with_columns(pl.Series(name, values) for name, values in counts.items()).filter(pl.col("n") > 0)


def _with_wide_counts(counted: pl.DataFrame) -> pl.DataFrame:
    return counted.with_columns(pl.col("n", "flips", "compared").cast(pl.Int64))


class FlipCounts:
    """The flips of all models, counted in one part of the answers after the other: their bars, and whom to show.

    Of those that depend on the wording, the ones with the largest share of changed answers come first; ties go to more
    flips, then to the smaller id. Of others, those with the most rewordings.
    """

    def __init__(self) -> None:
        self.models: set[str] = set()
        self._sums: list[pl.DataFrame] = []
        self._first: dict[tuple[str, str], pl.DataFrame] = {}

    def add(self, rewordings: pl.DataFrame) -> pl.DataFrame:
        """Count the answers to some problems and their rewordings; give what `count_problems` found."""
        counted = count_problems(rewordings)
        self.models |= set(rewordings["model"].cast(pl.String).unique()) if "model" in rewordings.columns else {"model"}
        sums = (pl.len(), pl.col("flips", "n", "compared").sum(), pl.col("known").any())
        self._sums.append(counted.group_by("model", "part").agg(*sums))
        for (model, part), own in counted.partition_by("model", "part", as_dict=True).items():
            self._first[model, part] = _first(self._first.get((model, part)), own, _shown(part) + MOST_IDS)
        return counted

    def bar(self, model: str) -> Bar:
        """A model's problems by their part, and its flips and rewordings."""
        own = pl.concat(self._sums).filter(pl.col("model") == model)
        parts = {part: int(own.filter(pl.col("part") == part)["len"].sum()) for part in PARTS}
        sums = {name: int(own[name].sum()) for name in ("flips", "n", "compared")}
        return Bar(model, **parts, **sums, known=bool(own["known"].any()))

    def of(self, model: str) -> dict[str, pl.DataFrame]:
        """Those of a model's problems that are shown or named, in order, by the part of its bar."""
        return {part: self._first[model, part] for part in PARTS if (model, part) in self._first}

    def shown(self) -> set[str]:
        """The problems that are shown, of any model."""
        return {name for (_, part), rows in self._first.items() for name in rows["bucket"].head(_shown(part))}


def _shown(part: str) -> int:
    return TOP if part == "mixed" else SAMPLE


def _first(before: pl.DataFrame | None, new: pl.DataFrame, most: int) -> pl.DataFrame:
    """The first so many problems, of those found before and new ones."""
    share, flips, n, bucket = (pl.col("flips") / pl.col("n"), *map(pl.col, ("flips", "n", "bucket")))
    if before is not None and before.height == most:  # those behind its last need not be sorted
        last = before.row(-1, named=True)
        same = (share == last["flips"] / last["n"]) & (flips == last["flips"])
        ahead = (n > last["n"]) | ((n == last["n"]) & (bucket < last["bucket"]))
        new = new.filter((share > last["flips"] / last["n"]) | (same & ahead))
    both = new if before is None else pl.concat([before, new])
    return both.sort(share, flips, n, bucket, descending=[True, True, True, False]).head(most)


def listings(
    model: str, counts: FlipCounts, marked: pl.DataFrame, buckets: pl.DataFrame, task: Task, names: Mapping[str, str]
) -> list[Listing]:
    """Show the problems behind each part of a model's bar; `names` are short ones of generators.

    `marked` has the answers to problems that are shown, at least, `buckets` their texts.
    """
    found, whole = counts.of(model), counts.bar(model)
    shown = {part: rows.head(_shown(part)) for part, rows in found.items()}
    wanted = pl.concat([one["bucket"] for one in shown.values()]) if shown else pl.Series(dtype=pl.String)
    asked = marked.filter(pl.col("model") == model, pl.col("bucket").is_in(wanted.implode()))
    rows: dict[str, dict[str | None, Any]] = {}
    for row in asked.iter_rows(named=True):
        rows.setdefault(row["bucket"], {})[row["variant"]] = row
    texts = _texts(asked, buckets, task)
    for one in texts.values():
        one["how"] = names.get(one["how"], one["how"])
    lists = []
    for part in found:
        some, others = shown[part], found[part]["bucket"][shown[part].height :]
        cases = [
            _case(bucket, rows[bucket], texts, flips, n) for bucket, n, flips in some["bucket", "n", "flips"].rows()
        ]
        total: int = getattr(whole, part)
        lists.append(Listing(part, total, tuple(cases), tuple(others), total - found[part].height))
    return lists


def _texts(asked: pl.DataFrame, buckets: pl.DataFrame, task: Task) -> dict[str, dict[str, str]]:
    """Give the texts of the answers by id, and the generator under `how`, in the order of the suite."""
    place = "\0place"  # no column of the user's is called so
    how = pl.col("how").fill_null("") if "how" in buckets.columns else pl.lit("")
    ids = pl.concat([asked["bucket"], asked["variant"].drop_nulls()])
    suite = buckets.filter(pl.col("id").cast(pl.String).is_in(ids.implode()))
    suite = suite.with_columns(how.alias("how")).with_row_index(place)
    columns = ["how", *task.fields]
    found = with_texts(asked.select("bucket", "variant"), suite, [place, *columns], "the report", missing_ok=True)
    rows = found.filter(pl.col(place).is_not_null()).sort(place)
    names = rows.select(pl.coalesce("variant", "bucket")).to_series()
    texts = rows.select(pl.col(columns).cast(pl.String).fill_null(""))
    return dict(zip(names, texts.iter_rows(named=True), strict=True))


def _case(bucket: str, answers: dict[str | None, Any], texts: dict[str, dict[str, str]], flips: int, n: int) -> Case:
    """Show one problem: rewordings that changed the answer first, otherwise in the order of the table."""
    original = {name: text for name, text in texts.get(bucket, {}).items() if name != "how"}
    place = {name: i for i, name in enumerate(texts)}
    rows = sorted(
        (row for variant, row in answers.items() if variant is not None),
        key=lambda row: (not row["flip"], place.get(row["variant"], len(place)), row["variant"]),
    )[:MOST_REWORDINGS]
    news = [texts.get(row["variant"], original) for row in rows]
    shown = {name: excerpt(text, (new[name] for new in news)) for name, text in original.items()}
    rewordings = tuple(_rewording(row, original, texts.get(row["variant"])) for row in rows)
    first, gold = answers.get(None), next(iter(answers.values()))["gold"]
    return Case(bucket, gold, shown, _answer(first) if first else None, flips, n, rewordings)


def _rewording(row: Mapping[str, Any], original: Mapping[str, str], text: Mapping[str, str] | None) -> ShownRewording:
    known = text is not None and bool(original)
    changed = {name: compare(old, text[name]) for name, old in original.items() if text and text[name] != old}
    return ShownRewording(row["variant"], text["how"] if text else "", changed, _answer(row), row["flip"], known)


def _answer(row: Mapping[str, Any]) -> ShownAnswer:
    sure = "" if row["sure"] is None else f"{percent(row['sure'])}\u00a0%"
    return ShownAnswer(row["pred"], sure, row["right"])
