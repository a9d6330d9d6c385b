"""Scores as printed: tables of percentages with their intervals, and the main result in one sentence."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..problem import Score
from ..registry import metrics as registered

#: Heading and definition of the metrics that every study has; others are shown under their own name.
MEANINGS = {
    "accuracy_original": ("Accuracy, originals", "Share of the original problems that the model answers correctly."),
    "accuracy_variants": (
        "Accuracy, rewordings",
        "Share of all rewordings answered correctly, pooled: a problem with many rewordings weighs more.",
    ),
    "p_c": (
        "P_C",
        (
            "Chance that two rewordings of a problem, drawn with replacement, are both right or both wrong: at least "
            "one half. At 100\u00a0% no error is due to the wording. The estimator is that of Srikanth et al. (2024)."
        ),
    ),
    "p_c_distinct": (
        "P_C, distinct pairs",
        "The same for two different rewordings, which is unbiased: P_C counts pairs of a rewording with itself.",
    ),
    "label_agreement": (
        "Label agreement",
        "Chance that two different rewordings of a problem get the same label, right or wrong.",
    ),
    "pa": (
        "Pattern accuracy",
        "Share of problems with at least 90\u00a0% (or what the signature says) of their rewordings right.",
    ),
    "flip_rate": (
        "Flip rate",
        "Share of rewordings whose predicted label differs from the original's, whether it was right or wrong.",
    ),
    "sensitivity": (
        "Sensitivity",
        "Share of contrasts with another right answer than the original's whose predicted label differs from it, too.",
    ),
    "contrast_accuracy": (
        "Accuracy, contrasts",
        "Share of contrasts with another right answer than the original's that the model answers correctly.",
    ),
    "control_flips": (
        "Flips, controls",
        "Share of a control's variants whose predicted label differs from the original's; no rewording is among them.",
    ),
    "contrast_consistency": (
        "Consistency, contrasts",
        "Share of problems answered correctly together with all of their contrasts (Gardner et al. 2020).",
    ),
}
#: Rows that one table of groups shows; the scores file has them all.
MOST_ROWS = 200
#: Metrics that stand side by side; more stand one below the other.
MOST_COLUMNS = 8
_NAMED = 3


@dataclass(frozen=True)
class Column:
    """A metric as one signature computes it. `ambiguous` where another column has the same name."""

    metric: str
    signature: str
    name: str
    meaning: str
    ambiguous: bool


@dataclass(frozen=True)
class TableRow:
    """The scores of one model, in one group, column by column; None where a metric was not scored."""

    model: str
    value: str
    scores: tuple[Score | None, ...]


@dataclass(frozen=True)
class Table:
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


def tables(scores: Sequence[Score]) -> list[Table]:
    """Lay the scores out: first over all, then one table per grouping column."""
    by = dict.fromkeys(_split(score.group)[0] for score in scores)
    by.pop("", None)
    return [_table(name, [score for score in scores if _split(score.group)[0] == name]) for name in ("", *by)]


def _split(group: str | None) -> tuple[str, str]:
    column, _, value = (group or "").partition("=")
    return column, value


def _table(by: str, scores: Sequence[Score]) -> Table:
    keys = list(dict.fromkeys((score.metric, score.signature) for score in scores))
    cells = {(_split(s.group)[1], s.model, s.metric, s.signature): s for s in scores}
    lines = [(value, model) for value in _unique(v for v, *_ in cells) for model in _unique(m for _, m, *_ in cells)]
    rows = [TableRow(model, value, tuple(cells.get((value, model, *key)) for key in keys)) for value, model in lines]
    rows = [row for row in rows if any(row.scores)]
    metrics = [metric for metric, _ in keys]
    columns = tuple(Column(m, s, *meaning(m), metrics.count(m) > 1) for m, s in keys)
    most = MOST_ROWS if len(columns) <= MOST_COLUMNS else MOST_COLUMNS
    return Table(by, columns, tuple(rows[:most]), max(0, len(rows) - most))


def meaning(metric: str) -> tuple[str, str]:
    """Heading and definition: as written here, else the metric's own summary; empty for an unknown metric."""
    if metric in MEANINGS:
        return MEANINGS[metric]
    name = re.split("[(:]", metric)[0]
    known = {plugin.name: plugin.summary for plugin in registered}
    return metric, MEANINGS[name][1] if name in MEANINGS else known.get(name, "")


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


@dataclass(frozen=True)
class _Flips:
    rate: float
    low: float | None
    high: float | None
    answers: int
    problems: int

    @property
    def share(self) -> str:
        """The rate with its interval, where it has one."""
        if self.low is None or self.high is None:
            return f"{percent(self.rate)}\u00a0%"
        return f"{percent(self.rate)}\u00a0% [{percent(self.low)}, {percent(self.high)}]"

    @property
    def asked(self) -> str:
        """What the rate is a share of."""
        return f"{count(self.answers, 'rewording')} of {count(self.problems, 'problem')}"


def sentence(scores: Sequence[Score], counted: Mapping[str, tuple[int, int, int]]) -> str:
    """Answer the question in words: how often each model changed its answer.

    `counted` has flips, rewordings and problems by model, for studies that do not score the flip rate.
    """
    scored = [s for s in scores if s.metric == "flip_rate" and s.group is None]
    flips = {s.model: _Flips(s.value, s.low, s.high, s.n_answers, s.n_units) for s in scored if s.value is not None}
    if not scored:
        flips = {m: _Flips(changed / asked, None, None, asked, n) for m, (changed, asked, n) in counted.items()}
    if not flips:
        return "No result: no rewording was answered."
    shared = len(flips) > 1 and len({one.asked for one in flips.values()}) == 1
    start = f"asked {next(iter(flips.values())).asked}, " if shared else ""
    of = {model: "" if shared else f" of {one.asked}" for model, one in flips.items()}
    if all(one.rate == 0 for one in flips.values()):
        parts = [f"{model} never changed its answer{of[model].replace(' of', ' on', 1)}" for model in flips]
        return f"On these problems, yes: {start}{_join(parts)}."
    if len(flips) <= _NAMED:
        verb = dict.fromkeys(flips, "") | {next(iter(flips)): "changed its answer "}
        return f"Not always: {start}{_join([f'{m} {verb[m]}on {flips[m].share}{of[m]}' for m in flips])}."
    least, most = min(flips, key=lambda m: flips[m].rate), max(flips, key=lambda m: flips[m].rate)
    return (
        f"Not always: {start}{least} changed its answer least often of {len(flips)} models, on {flips[least].share}"
        f"{of[least]}, and {most} most often, on {flips[most].share}{of[most]}."
    )


def _join(parts: list[str]) -> str:
    return ", and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def intervals(scores: Sequence[Score]) -> dict[str, str]:
    """Kind, confidence, replicates and what was resampled, as the intervals have them; empty where they differ.

    >>> how = {"interval": "percentile", "confidence": 0.95, "replicates": 10_000, "resampled": "bucket"}
    >>> intervals([Score("p_c", "p_c.v1()", "m", None, 0.8, 0.7, 0.9, 10, 20, **how)])
    {'interval': 'percentile', 'confidence': '95', 'replicates': '10,000', 'cluster': 'bucket'}
    """
    known = [score for score in scores if score.interval]
    values: dict[str, set[str]] = {
        "interval": {score.interval for score in known} - {"wilson"},  # which stands in for the others
        "confidence": {f"{100 * score.confidence:g}" for score in known if score.confidence is not None},
        "replicates": {f"{score.replicates:,}" for score in known if score.replicates is not None},
        "cluster": {score.resampled for score in known if score.resampled is not None},
    }
    return {name: some.pop() if len(some) == 1 else "" for name, some in values.items()}
