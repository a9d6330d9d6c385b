"""Scores as printed: tables of percentages with their intervals, and what each number means."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..problem import Score
from ..registry import metrics as registered
from ..scoring.select import FIRST

#: Heading and definition of the metrics that every study has; others are shown under their own name.
MEANINGS = {
    "accuracy_original": ("Accuracy, originals", "Share of the original problems that the model answers correctly."),
    "accuracy_drop": (
        "Accuracy, change",
        (
            "Share of all rewordings answered correctly, minus that of their originals, each weighted by its number "
            "of rewordings: negative if the model loses accuracy. The accuracy on originals also includes problems "
            "without rewordings."
        ),
    ),
    "accuracy_variants": (
        "Accuracy, rewordings",
        "Share of all rewordings answered correctly, pooled: problems with many rewordings weigh more.",
    ),
    "p_c": (
        "P_C",
        (
            "Probability that two rewordings of a problem, drawn with replacement, are both right or both wrong: at "
            "least one half. At 100\u00a0% no error is due to the wording. It is undefined if every problem has only "
            "one rewording. The estimator is that of Srikanth et al. (2024)."
        ),
    ),
    "p_c_distinct": (
        "P_C, distinct pairs",
        "The same for two different rewordings, which is unbiased: P_C also counts pairs of a rewording with itself.",
    ),
    "label_agreement": (
        "Label agreement",
        "Probability that two different rewordings of a problem get the same label, right or wrong.",
    ),
    "pa": (
        "Pattern accuracy",
        "Share of problems with at least 90\u00a0% (or what the signature says) of their rewordings right.",
    ),
    "label_mass": (
        "Label mass",
        (
            "Total probability that a language model gives to the labels, averaged over originals and rewordings. If "
            "it is near 0, the model would rather say something else, and its answers mean little."
        ),
    ),
    "repeat_flips": (
        "Noise floor",
        (
            "Probability that the same text, asked again in the same way, gets a different answer: the mean of "
            "original and rewording, over the rewordings. A flip rate of this size may be pure noise."
        ),
    ),
    "flip_rate_net": (
        "Flip rate, net of noise",
        (
            "Flip rate between answers given at different times, minus the noise floor: 0 on average if the wording "
            "has no effect, and then as often below as above. Without noise it is the flip rate."
        ),
    ),
    "flip_rate": (
        "Flip rate",
        "Share of rewordings whose predicted label differs from the original's, whether it was right or wrong.",
    ),
    "sensitivity": (
        "Sensitivity",
        "Share of contrasts with a different right answer than the original's whose predicted label differs as well.",
    ),
    "contrast_accuracy": (
        "Accuracy, contrasts",
        "Share of contrasts with a different right answer than the original's that the model answers correctly.",
    ),
    "control_flips": (
        "Flips, controls",
        "Share of a control's variants whose predicted label differs from the original's; rewordings are not included.",
    ),
    "contrast_consistency": (
        "Consistency, contrasts",
        "Share of problems answered correctly together with all of their contrasts (Gardner et al. 2020).",
    ),
}
#: Why a metric may have no value; others only lack answers, or labels, that they could look at.
_LACKING = dict.fromkeys(("p_c", "p_c_distinct", "label_agreement"), "no problem has two answered rewordings")
#: What each kind of interval is called, and how it is made.
KINDS = {
    "wilson": (
        "Wilson on clusters",
        (
            "Wilson's interval for a share, with an effective number of answers estimated from the spread between "
            "clusters. Nothing is drawn at random. A share of 0 or 1 also has an interval, because other problems "
            "could still differ."
        ),
    ),
    "mover": (
        "MOVER",
        "For a difference of two shares: their Wilson intervals, combined by how the two shares vary together.",
    ),
    "net": (
        "Wilson beyond noise",
        (
            "For a share minus the noise floor, which can fall below 0 only by chance: Wilson's interval with an "
            "error of two parts, that of the noise and that of the share."
        ),
    ),
    "percentile": (
        "Percentile bootstrap",
        "Whole clusters are drawn with replacement; the interval contains the middle of the resulting values.",
    ),
    "bca": (
        "BCa bootstrap",
        (
            "Whole clusters are drawn with replacement; the interval contains the middle of the resulting values, "
            "corrected for bias and, if the metric is smooth, for skew."
        ),
    ),
    "anytime": (
        "Anytime",
        "The run stopped once the question was decided; this interval is valid however often results were checked.",
    ),
}
#: What the headline is about: the first column, and the order of models.
HEADLINE = "flip_rate"
#: Rows that one table of groups shows; the scores file has them all.
MOST_ROWS = 200
#: Metrics that stand side by side; more stand one below the other.
MOST_COLUMNS = 8


class Interval(NamedTuple):
    """A kind of interval: its name, how it is made, the metrics that have it, confidence and replicates as printed."""

    name: str
    how: str
    metrics: list[str]
    confidence: str
    replicates: str


@dataclass(frozen=True)
class Column:
    """A metric as one signature computes it. `ambiguous` where another column has the same name.

    `lacking` says why some of its values are missing, `unknown` why some have no interval; empty where none is.
    """

    metric: str
    signature: str
    name: str
    meaning: str
    ambiguous: bool
    lacking: str = ""
    unknown: str = ""


@dataclass(frozen=True)
class TableRow:
    """The scores of one model, in one group, column by column; None where a metric was not scored."""

    model: str
    value: str
    scores: tuple[Score | None, ...]


@dataclass(frozen=True)
class ScoreTable:
    """Scores laid out; `by` names the grouping column, and is empty in the headline table."""

    by: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    hidden: int

    @property
    def tall(self) -> bool:
        """Whether metrics are rows, not columns: a dozen columns of numbers are unreadable."""
        return len(self.columns) > MOST_COLUMNS


def percent(fraction: float) -> str:
    r"""Round to a tenth of a percent.

    >>> [percent(fraction).replace("\u2212", "-") for fraction in (0.31249, -0.0123, -0.00001)]
    ['31.2', '-1.2', '0.0']
    """
    return f"{round(100 * fraction, 1) + 0.0:.1f}".replace("-", "\u2212")


def shown(number: float, unit: str) -> str:
    r"""Print a share in per cent, another number to three places.

    >>> shown(0.5, "share"), shown(12.3456, "number")
    ('50.0', '12.346')
    """
    return percent(number) if unit == "share" else f"{number:.3f}".replace("-", "\u2212")


def count(number: int, noun: str) -> str:
    r"""Put a number before its noun, which stays on its line.

    >>> count(1, "rewording"), count(7782, "rewording")
    ('1\xa0rewording', '7,782\xa0rewordings')
    """
    return f"{number:,}\u00a0{noun}{'' if number == 1 else 's'}"


def tables(scores: Sequence[Score], names: Mapping[str, str] | None = None) -> list[ScoreTable]:
    """Lay the scores out: first over all, then one table per grouping column; `names` are short ones of generators."""
    scores = [replace(score, signature=re.split(" (?:average|models)=", score.signature)[0]) for score in scores]
    by = dict.fromkeys(_split(score.group)[0] for score in scores)
    by.pop("", None)
    some = {name: [score for score in scores if _split(score.group)[0] == name] for name in ("", *by)}
    return [_table(name, own, names or {} if name == "how" else {}) for name, own in some.items()]


def _split(group: str | None) -> tuple[str, str]:
    column, _, value = (group or "").partition("=")
    return column, value


def _table(by: str, scores: Sequence[Score], names: Mapping[str, str]) -> ScoreTable:
    keys = list(dict.fromkeys((score.metric, score.signature) for score in scores))
    keys.sort(key=lambda key: (key[0].partition("(")[0] not in FIRST, key[0] != HEADLINE))
    cells = {(_split(s.group)[1], s.model, s.metric, s.signature): s for s in scores}
    lines = [(value, model) for value in _unique(v for v, *_ in cells) for model in _unique(m for _, m, *_ in cells)]
    rows = [
        TableRow(model, names.get(value, value), tuple(cells.get((value, model, *key)) for key in keys))
        for value, model in lines
    ]
    rows = [row for row in rows if any(row.scores)]
    metrics = [metric for metric, _ in keys]
    empty = {(one.metric, one.signature) for one in scores if one.value is None}
    columns = tuple(
        Column(m, s, *meaning(m), metrics.count(m) > 1, lacking(m) if (m, s) in empty else "", _unknown(scores, (m, s)))
        for m, s in keys
    )
    most = MOST_ROWS if len(columns) <= MOST_COLUMNS else MOST_COLUMNS
    return ScoreTable(by, columns, tuple(rows[:most]), max(0, len(rows) - most))


def meaning(metric: str) -> tuple[str, str]:
    """Heading and definition: as written here, else the metric's own summary; empty for an unknown metric."""
    if metric in MEANINGS:
        return MEANINGS[metric]
    name = re.split("[(:]", metric)[0]
    known = {plugin.name: plugin.summary for plugin in registered}
    return metric, MEANINGS[name][1] if name in MEANINGS else known.get(name, "")


def lacking(metric: str) -> str:
    """Why a metric has no value.

    >>> lacking("p_c"), lacking("accuracy_original")
    ('no problem has two answered rewordings', 'no answer, or no label, that it could look at')
    """
    return _LACKING.get(re.split("[(:]", metric)[0], "no answer, or no label, that it could look at")


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _unknown(scores: Sequence[Score], key: tuple[str, str]) -> str:
    """Why values of a column have no interval, each reason once."""
    own = [one for one in scores if (one.metric, one.signature) == key and one.value is not None and one.low is None]
    return ", ".join(_unique(one.note for one in own if one.note))


def intervals(scores: Sequence[Score]) -> list[Interval]:
    """The kinds of intervals that the scores have, the commonest first, each with its metrics' headings.

    >>> how = {"interval": "percentile", "confidence": 0.95, "replicates": 10_000, "resampled": "bucket"}
    >>> [one] = intervals([Score("p_c", "p_c.v1()", "m", None, 0.8, 0.7, 0.9, 10, 20, **how)])
    >>> one.name, one.metrics, one.confidence, one.replicates
    ('Percentile bootstrap', ['P_C'], '95', '10,000')
    """
    kinds: dict[str, list[Score]] = {}
    for one in scores:
        if one.interval:
            kinds.setdefault(one.interval, []).append(one)
    return [
        Interval(
            *KINDS.get(kind, (kind, "")),
            _unique(meaning(one.metric)[0] for one in own),
            _only(f"{100 * one.confidence:g}" for one in own if one.confidence is not None),
            _only(f"{one.replicates:,}" for one in own if one.replicates is not None),
        )
        for kind, own in sorted(kinds.items(), key=lambda pair: -len({one.metric for one in pair[1]}))
    ]


def confidence(scores: Sequence[Score]) -> str:
    """The confidence of all intervals, in per cent; empty where there is none, or several."""
    return _only(f"{100 * one.confidence:g}" for one in scores if one.confidence is not None)


def resampled(scores: Sequence[Score]) -> str:
    """What the intervals take for independent: "bucket", "cluster", or empty where nothing or both."""
    return _only(one.resampled for one in scores if one.interval and one.resampled)


def _only(texts: Iterable[str]) -> str:
    some = _unique(texts)
    return some[0] if len(some) == 1 else ""
