"""From scores to what is printed: tables of percentages with their intervals, and the answer in one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..problem import Score

#: Heading and definition of the metrics that every study has; others are shown under their own name.
MEANINGS = {
    "accuracy_original": ("Accuracy, originals", "Share of the original problems that the model answers correctly."),
    "accuracy_variants": (
        "Accuracy, rewordings",
        "Share of all rewordings answered correctly, pooled: a problem with many rewordings weighs more.",
    ),
    "p_c": (
        "P_C",
        "Chance that two rewordings of a problem, drawn with replacement, are both right or both wrong (the estimator "
        "of Srikanth et al. 2024). 100\u00a0% means that no error is due to the wording; 50\u00a0% is the least possible.",
    ),
    "flip_rate": (
        "Flip rate",
        "Share of rewordings whose predicted label differs from the original's, whether it was right or wrong.",
    ),
}
#: Rows that one table of groups shows; the scores file has them all.
MOST_ROWS = 200
_NAMED = 3


@dataclass(frozen=True)
class Column:
    """A metric as one signature computes it. `told_apart` where another column has the same name."""

    metric: str
    signature: str
    name: str
    meaning: str
    told_apart: bool


@dataclass(frozen=True)
class Row:
    """The scores of one model, in one group, column by column; None where a metric was not scored."""

    model: str
    value: str
    scores: tuple[Score | None, ...]


@dataclass(frozen=True)
class Table:
    """Scores laid out; `by` names the grouping column, and is empty in the headline table."""

    by: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    hidden: int


def percent(fraction: float) -> str:
    """Round to a tenth of a percent.

    >>> percent(0.31249), percent(-0.0123), percent(-0.00001)
    ('31.2', '−1.2', '0.0')
    """
    return f"{round(100 * fraction, 1) + 0.0:.1f}".replace("-", "−")


def count(number: int, noun: str) -> str:
    """Put a number before its noun, without a plural where there is one.

    >>> count(1, "rewording"), count(7782, "rewording")
    ('1 rewording', '7,782 rewordings')
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
    rows = [Row(model, value, tuple(cells.get((value, model, *key)) for key in keys)) for value, model in lines]
    rows = [row for row in rows if any(row.scores)]
    metrics = [metric for metric, _ in keys]
    columns = tuple(Column(m, s, *MEANINGS.get(m, (m, "")), metrics.count(m) > 1) for m, s in keys)
    return Table(by, columns, tuple(rows[:MOST_ROWS]), max(0, len(rows) - MOST_ROWS))


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def sentence(scores: Sequence[Score], counted: Mapping[str, tuple[int, int, int]]) -> str:
    """Answer the question in words: how often each model changed its answer.

    `counted` has flips, rewordings and problems by model, for studies that do not score the flip rate.
    """
    flips = {s.model: s for s in scores if s.metric == "flip_rate" and s.group is None and s.value is not None}
    said = {s.model: (s.value or 0.0, s.low, s.high, s.n_answers, s.n_units) for s in flips.values()}
    for model, (changed, asked, problems) in counted.items():
        if asked and not flips:
            said[model] = (changed / asked, None, None, asked, problems)
    if not said:
        return "This run cannot tell: no rewording was answered."
    if all(rate[0] == 0 for rate in said.values()):
        parts = [f"{m} gave the same answer to all {_asked(n, units)}" for m, (_, _, _, n, units) in said.items()]
        return f"On these problems, yes: {_listed(parts)}."
    order = list(said)
    if len(order) > _NAMED:
        order = [min(order, key=lambda m: said[m][0]), max(order, key=lambda m: said[m][0])]
    parts = [f"{'' if i else 'changed its answer '}on {_rate(*said[m])}" for i, m in enumerate(order)]
    if len(said) > _NAMED:
        return (
            f"Not always: of {len(said)} models, {order[0]} {parts[0]} (least often) and {order[1]} {parts[1]} (most)."
        )
    return f"Not always: {_listed([f'{model} {part}' for model, part in zip(order, parts, strict=True)])}."


def _rate(value: float, low: float | None, high: float | None, answers: int, units: int) -> str:
    interval = f" [{percent(low)}, {percent(high)}]" if low is not None and high is not None else ""
    return f"{percent(value)}\u00a0%{interval} of {_asked(answers, units)}"


def _asked(answers: int, units: int) -> str:
    return f"{count(answers, 'rewording')} of {count(units, 'problem')}"


def _listed(parts: list[str]) -> str:
    return ", and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def intervals(signatures: Iterable[str]) -> dict[str, str]:
    """Read confidence, replicates and cluster off the metrics' signatures, where they agree.

    >>> intervals(["p_c.v1 interval=percentile(confidence=0.95, replicates=10000, cluster=bucket) seed=1"])
    {'confidence': '95', 'replicates': '10,000', 'cluster': 'bucket'}
    """
    text = " ".join(signatures)
    found = {key: set(re.findall(rf"\b{key}=([\w.]+)", text)) for key in ("confidence", "replicates", "cluster")}
    agreed = {key: values.pop() for key, values in found.items() if len(values) == 1}
    if "confidence" in agreed:
        agreed["confidence"] = f"{100 * float(agreed['confidence']):g}"
    if "replicates" in agreed:
        agreed["replicates"] = f"{int(agreed['replicates']):,}"
    return agreed
