"""Shares among sound variants: what a model does where people find the rewording sound.

From answers to all variants, verdicts of people on some, and a judge's scores of all where there is one. The estimates
are those of `significance.prediction_powered`; here tables become arrays, and estimates Scores.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from .._version import __version__
from ..answers.groups import columns_of, groups, of_model
from ..answers.reading import read
from ..answers.roles import split_roles
from ..answers.table import Answers, Array, Location, label_texts
from ..errors import BadInput, caller_level, setting, shorten
from ..problem import Score, label_key
from ..significance.intervals import Units, share_interval
from ..significance.prediction_powered import (
    Powered,
    batch_weights,
    cluster_sums,
    powered_share,
    share_bounds,
    two_strata,
    verdicts_to_halve,
)
from ..storage.in_memory import AnyTable
from ..validity.people import Sound, against_gold, decide, read_verdicts, usual_rule
from .select import IntervalSettings, resampled

#: What a row that is not the corrected share itself is called, after the share.
PEOPLE, STRATA, LEAST, MOST = ("people", "two_strata", "least", "most")
#: The share of variants that people find sound.
RATE = "sound_rate"
#: With fewer verdicts than this, or in fewer clusters, intervals were not tried (`python -m benchmarks people`).
FEW_VERDICTS, FEW_CLUSTERS = 100, 50


class Share(NamedTuple):
    """A share of answers to variants that can be had among the sound ones: its name, and what it is of all."""

    name: str
    of_all: str
    needs: str


SHARES = (Share("flip_rate_sound", "flip_rate", "originals"), Share("accuracy_sound", "accuracy_variants", "gold"))


@dataclass(frozen=True)
class People:
    """What people said of variants (`decide`), by which rule, and which column of the suite a judge's scores are.

    `unsound` is the greatest part of variants that may be unsound, for bounds that need no verdict.
    """

    decided: pl.DataFrame | None = None
    rule: str = ""
    judge: str = ""
    unsound: float | None = None


def refuse_without_verdicts(verdicts: object, sound: str, judge: str, pooled: bool) -> None:
    """Refuse settings that mean nothing without verdicts, or with templates pooled, before any work."""
    for flag, name, value in (("--sound", "sound", sound), ("--judge", "judge", judge)):
        if value and verdicts is None:
            fix = f"name them with {setting('--verdicts FILE', 'verdicts=')}"
            raise BadInput("needs verdicts of people", field=setting(flag, name), fix=fix)
    if verdicts is not None and pooled:
        fix = f"leave out {setting('--pool-templates', 'pool_templates')}: each template is a model of its own"
        raise BadInput("verdicts are on variants, not on templates", field=setting("--verdicts", "verdicts"), fix=fix)


def read_people(
    verdicts: AnyTable | str | Path | None,
    answers: pl.DataFrame,
    suite: pl.DataFrame | None,
    sound: str = "",
    judge: str = "",
    unsound: float | None = None,
) -> tuple[People, pl.DataFrame]:
    """Read verdicts, and give the answers a judge's scores of their variants, from the suite or their own columns."""
    if unsound is not None and not 0 <= unsound < 1:
        fix = "give the greatest part of variants that may be unsound, from 0 to below 1"
        raise BadInput(f"found {unsound:g}", field=setting("--unsound", "unsound"), fix=fix)
    if verdicts is None:
        return People(unsound=unsound), answers
    where = str(verdicts) if isinstance(verdicts, str | Path) else "the verdicts"
    where = where if "://" not in where else "the PostgreSQL server"
    table = read_verdicts(verdicts)
    if "gold" in answers.columns:
        _refuse_other_labels(table, answers, where)
        names = answers["variant"].cast(pl.String).fill_null("")
        table = against_gold(table, dict(zip(names, label_texts(answers["gold"]), strict=True)))
    rule = Sound.parse(sound, setting("--sound", "sound")) if sound else usual_rule(table, where)
    decided = decide(table, rule, where)
    _refuse_half_known(decided, where)
    _warn_unknown(decided, answers, where)
    column = judge_column(judge, answers, suite)
    return People(decided, str(rule) or "yes", column, unsound), with_judge(answers, suite, column)


def _refuse_other_labels(verdicts: pl.DataFrame, answers: pl.DataFrame, where: str) -> None:
    """Refuse labels none of which the answers have: under other names, all variants would be unsound."""
    given = verdicts.filter(question="label")["answer"].unique().sort().to_list()
    known = {one for name in ("gold", "pred") for one in label_texts(answers[name]).drop_nulls().unique()}
    if given and not {*map(label_key, given)} & {*map(label_key, known)}:
        fix = f"the labels in the answers are {', '.join(sorted(known))}"
        raise BadInput(f"found {shorten(', '.join(given))}", where=where, field="label", fix=fix)


def _refuse_half_known(decided: pl.DataFrame, where: str) -> None:
    """Refuse batches of which some probabilities are known: the others would stand for nearly all variants."""
    known = decided.group_by("batch").agg(pl.col("probability").is_not_null().mean()).sort("batch")
    for batch, share in known.rows():
        if 0 < share < 1:
            fix = "give all of a batch a probability, or none, or number the others as a batch of their own"
            raise BadInput(f"batch {batch} lacks some", where=where, field="probability", fix=fix)


def _warn_unknown(decided: pl.DataFrame, answers: pl.DataFrame, where: str) -> None:
    """Refuse verdicts on none of the variants; warn of those on variants without answers."""
    variants = answers.select(pl.col("bucket", "variant").cast(pl.String)).drop_nulls()
    lost = decided.join(variants, on=_key(decided), how="anti").select("variant", "bucket").rows()
    if not lost:
        return
    name, bucket = lost[0]
    name = f"{name} of {bucket}" if name in variants["variant"] else name
    if len(lost) == decided.height:
        other = variants["variant"].filter(variants["variant"] != "").min() or ""
        fix = f"variants are known by their ids: here {name!r}, in the answers {other!r}"
        raise BadInput("no verdict concerns a variant that was answered", where=where, field="variant", fix=fix)
    message = f"{len(lost)} of {decided.height} verdicts concern variants without answers, such as {name!r}"
    warnings.warn(f"{where}: {message}", stacklevel=caller_level())


def _key(decided: pl.DataFrame) -> list[str]:
    """By what verdicts know their variants: by the bucket, too, where all of them name it."""
    return ["variant"] if decided["bucket"].null_count() else ["bucket", "variant"]


def judge_column(judge: str, answers: pl.DataFrame, suite: pl.DataFrame | None) -> str:
    """The column of a judge's scores: as it is named, or that of the check so named; by default the only one there is.

    Scores that are not between 0 and 1 are not taken by default.
    """
    columns = [*answers.columns, *(suite.columns if suite is not None else [])]
    scored = sorted({name for name in columns if name.startswith("check:") and name.endswith(":score")})
    if not judge:
        usable = [name for name in scored if _is_score(_column(name, answers, suite))]
        return usable[0] if len(usable) == 1 else ""
    found = next((name for name in (judge, f"check:{judge}:score", f"check:{judge}") if name in columns), "")
    if not found:
        fix = f"available: {', '.join(scored)}" if scored else "run a check on the suite first: otherwords check"
        raise BadInput("no such column or check", field=setting("--judge", "judge"), fix=fix)
    if not _is_score(_column(found, answers, suite)):
        fix = "a judge's scores lie between 0 and 1, or are true and false"
        raise BadInput(f"{found} has no such scores", field=setting("--judge", "judge"), fix=fix)
    return found


def _column(name: str, answers: pl.DataFrame, suite: pl.DataFrame | None) -> pl.Series:
    return answers[name] if name in answers.columns or suite is None else suite[name]


def _is_score(column: pl.Series) -> bool:
    if column.dtype == pl.Boolean:
        return True
    known = column.drop_nulls()
    return column.dtype.is_numeric() and bool(len(known)) and bool(known.is_between(0, 1).all())


#: Where the judge's scores stand in the answers; no column of the user's is called so.
_SCORE = "\0judge"


def with_judge(answers: pl.DataFrame, suite: pl.DataFrame | None, column: str) -> pl.DataFrame:
    """Answers with the judge's score of each variant; 1 for all where there is no judge."""
    if not column:
        return answers.with_columns(pl.lit(1.0).alias(_SCORE))
    if column in answers.columns:
        return answers.with_columns(pl.col(column).cast(pl.Float64).alias(_SCORE))
    assert suite is not None  # where the column was found
    scores = suite.select(pl.col("id").cast(pl.String).alias("variant"), pl.col(column).cast(pl.Float64).alias(_SCORE))
    own = answers.with_columns(pl.col("variant").cast(pl.String))
    return own.join(scores.unique("variant"), on="variant", how="left", maintain_order="left")


# Scores


def scores_among_sound(
    answers: pl.DataFrame,
    people: People,
    *,
    by: Sequence[str],
    labels: Sequence[str],
    settings: IntervalSettings,
    where: Location,
) -> list[Score]:
    """The shares of each model among sound variants, overall and by groups: corrected, by people alone, two strata."""
    rewordings = [(table, place) for role, table, place in split_roles(answers, where) if role == "rewordings"]
    scores: list[Score] = []
    for table, place in rewordings:
        for model in table["model"].unique().sort().to_list():
            own, here = of_model(table, place, model)
            for group, part in groups(own, columns_of(own, by)):
                data = read(part, labels, replace(here, rows=None))
                scores += _of_group(data, group, people, settings)
    if not scores:
        fix = "give answers to originals and their variants, or right answers"
        raise BadInput("no share can be had among sound variants", where=where.table, fix=fix)
    return scores


def _of_group(data: Answers, group: str | None, people: People, settings: IntervalSettings) -> list[Score]:
    items = _Items.of(data, people)
    made = _Maker(data, group, people, settings, items)
    there = {"originals": data.has_originals, "gold": data.has_gold}
    shares = [share for share in SHARES if there[share.needs] and items.size]
    scores = [made.sound_rate()] if shares and items.judged else []
    if scores and group is None:
        _warn_few(data.model, items)
    for share in shares:
        hits = data.pred != (data.original_pred if share.needs == "originals" else data.gold)
        hits = hits if share.needs == "originals" else ~hits
        scores += made.rows(share, hits[data.is_variant].astype(np.float64))
    return scores


@dataclass(frozen=True)
class _Items:
    """The variants of one model and group: a judge's scores, verdicts (NaN where there is none), weights, clusters."""

    judge: Array
    sound: Array
    weight: Array
    cluster: Array
    buckets: int

    @classmethod
    def of(cls, data: Answers, people: People) -> "_Items":
        variants = data.frame.filter(pl.Series(data.is_variant))
        rows = variants.select(pl.col("bucket", "variant").cast(pl.String), _score(data))
        bucket = data.bucket[data.is_variant]
        _, cluster = np.unique(data.cluster[bucket], return_inverse=True)
        judge = rows[_SCORE].to_numpy().astype(np.float64)
        known = judge[~np.isnan(judge)]
        judge = np.where(np.isnan(judge), known.mean() if len(known) else 1.0, judge)
        buckets = len(np.unique(bucket))
        if people.decided is None:
            empty = np.full(len(judge), np.nan)
            return cls(judge, empty, np.zeros(len(judge)), cluster, buckets)
        return cls(judge, *_verdicts(rows, people.decided), cluster, buckets)

    @property
    def size(self) -> int:
        return len(self.judge)

    @property
    def judged(self) -> int:
        return int((~np.isnan(self.sound)).sum())


def _warn_few(model: str, items: _Items) -> None:
    """Warn of fewer verdicts than intervals were tried with."""
    clusters = len(np.unique(items.cluster[~np.isnan(items.sound)]))
    if items.judged < FEW_VERDICTS or clusters < FEW_CLUSTERS:
        message = f"shares among sound variants rest on {items.judged} verdicts in {clusters} clusters"
        fix = f"their intervals were tried from {FEW_VERDICTS} in {FEW_CLUSTERS} on"
        warnings.warn(f"{model}: {message}; {fix}", stacklevel=caller_level())


def _score(data: Answers) -> pl.Expr:
    return pl.col(_SCORE) if _SCORE in data.frame.columns else pl.lit(1.0).alias(_SCORE)


def _verdicts(rows: pl.DataFrame, decided: pl.DataFrame) -> tuple[Array, Array]:
    """Whether each variant is sound to people, NaN where they did not say, and the weights of those verdicts."""
    key = _key(decided)
    if key == ["variant"] and rows["variant"].is_duplicated().any():
        fix = "give the verdicts a column bucket"
        raise BadInput("variants of several buckets share a name", where="the verdicts", field="variant", fix=fix)
    found = rows.join(decided.unique(key), on=key, how="left", maintain_order="left")
    sound = found["sound"].cast(pl.Float64).to_numpy()
    asked, weight = ~np.isnan(sound), np.zeros(len(sound))
    if asked.any():
        own = found.filter(pl.Series(asked))
        p = own["probability"].to_numpy().astype(np.float64)
        weight[asked] = batch_weights(p, own["batch"].to_numpy(), len(sound))
    return sound, weight


@dataclass(frozen=True)
class _Maker:
    """Makes the Scores of one model and group."""

    data: Answers
    group: str | None
    people: People
    settings: IntervalSettings
    items: _Items

    def rows(self, share: Share, hits: Array) -> list[Score]:
        """The corrected share, then what stands beside it."""
        scores = self._bounds(share, hits) if self.people.unsound is not None else []
        if self.people.decided is None:
            return scores
        items = self.items
        sums = cluster_sums(hits, items.judge, items.sound, items.weight, items.cluster)
        if not np.nansum(items.sound):
            return [self._nothing(share), *scores]
        found, alone = (powered_share(sums, self._confidence, trust) for trust in (None, 0.0))
        strata = two_strata(hits, items.judge, items.sound, items.weight, items.cluster, self._confidence)
        trust = round(float(found.trust), 4)
        corrected = self._score(share.name, (found.value, found.low, found.high), "", trust=trust)
        return [
            replace(corrected, note=self._note(found)),
            self._score(share.name, (alone.value, alone.low, alone.high), PEOPLE),
            self._score(share.name, strata, STRATA),
            *scores,
        ]

    def sound_rate(self) -> Score:
        """The share of variants that people find sound."""
        items = self.items
        sound = np.nan_to_num(items.sound)
        value = float((items.weight * sound).sum() / items.weight.sum())
        influence = np.bincount(items.cluster, items.weight * (sound - value)) / items.weight.sum()
        there = np.bincount(items.cluster, items.weight) > 0
        low, high = share_interval(np.array(value), [Units(influence[there], np.ones(there.sum()))], self._confidence)
        return self._score(RATE, (value, low, high), "")

    @property
    def _confidence(self) -> float:
        return self.settings.confidence

    def _bounds(self, share: Share, hits: Array) -> list[Score]:
        """What the share may be whatever people would say, with the ends of its interval over all variants."""
        rows = np.stack([np.bincount(self.items.cluster, hits), np.bincount(self.items.cluster)], axis=1)
        value = hits.mean()
        influence = (rows[:, 0] - value * rows[:, 1]) / len(hits)
        low, high = share_interval(np.array(value), [Units(influence, np.ones(len(rows)))], self._confidence)
        unsound = self.people.unsound or 0.0
        ends = [share_bounds(float(one), unsound) for one in (value, low, high)]
        return [
            self._score(share.name, tuple(end[place] for end in ends), part, unsound=unsound)
            for place, part in enumerate((LEAST, MOST))
        ]

    def _nothing(self, share: Share) -> Score:
        why = "no verdict found one sound here" if self.items.judged else "no verdict on these variants"
        note = f"{why}: {setting('--unsound', 'unsound=')} SHARE gives bounds"
        return replace(self._score(share.name, (np.nan, np.nan, np.nan), ""), value=None, note=note)

    def _note(self, found: Powered) -> str:
        """How many verdicts there are, what the judge is worth, and how many more would halve the interval."""
        judged, size = self.items.judged, self.items.size
        judge = f"judge {self.people.judge}" if self.people.judge else "no judge"
        more = verdicts_to_halve(found, judged, size)
        halve = "more verdicts alone would not halve the interval: more problems would"
        if more is not None:
            halve = f"about {more:,} more would halve the interval"
        return f"{judged:,} of {size:,} variants judged; {judge}, trusted {float(found.trust):.2f}; {halve}"

    def _score(self, name: str, ends: Sequence[Any], part: str, **options: Any) -> Score:
        value, low, high = (None if np.isnan(one) else round(float(one), 12) for one in ends)
        known = low is not None
        judged = np.unique(self.items.cluster[~np.isnan(self.items.sound)])
        shown = {"judge": self.people.judge or "none", "sound": self.people.rule, "verdicts": self.items.judged}
        shown = {**shown, **options} if "unsound" not in options else options
        listed = ", ".join(f"{key}={one}" for key, one in shown.items())
        interval = f"interval=wilson.v2(confidence={self._confidence}, cluster={resampled(self.data)})"
        return Score(
            metric=f"{name}:{part}" if part else name,
            signature=f"{name}.v1({listed}) {interval} otherwords={__version__}",
            model=self.data.model,
            group=self.group,
            value=value,
            low=low,
            high=high,
            n_units=self.items.buckets,
            n_answers=self.items.size,
            interval="wilson" if known else "",
            confidence=self._confidence if known else None,
            resampled=resampled(self.data) if known else None,
            n_clusters=len(judged) if part not in (LEAST, MOST) else len(np.unique(self.items.cluster)),
            note="" if known or value is None else "too few clusters were judged",
        )
