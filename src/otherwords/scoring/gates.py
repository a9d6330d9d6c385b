"""Gates: scores held against what a user requires of them, for use in continuous integration.

Each gate gives a line for each model, passed or not; a certificate gives one to quote. `requirements` reads them.
"""

import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from .._version import __version__
from ..answers.roles import CONTROL
from ..errors import BadInput, GateFailed
from ..metrics.contrast import NAME as CONTROL_FLIPS
from ..metrics.contrast import SAME_TEXT
from ..problem import ALL_MODELS, Score, rounded
from ..registry import metrics
from ..storage.specs import closing, head_of, parse_options
from .grouped import MEAN_OF_MODELS
from .layout import ends_text, value_text
from .requirements import ENDS, METRIC_NAME, Condition, Gate, decimal_text, is_group, parse

_SIGNS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
_WORDS = {"<=": "at most", ">=": "at least", "<": "below", ">": "above"}
#: How far rounding may take a ratio of sums from the number that it is.
_SLACK = Fraction(16 * math.ulp(1.0))


@dataclass(frozen=True)
class GateResult:
    """Whether a model passed a gate, and the line that says so."""

    gate: str
    model: str
    passed: bool
    line: str


def check(gates: Iterable[str], scores: Sequence[Score]) -> list[GateResult]:
    """Hold scores against gates: a result for each gate and model. What is required and not there does not pass."""
    return [result for gate in gates for result in _results(parse(gate), scores)]


def enforce(gates: Iterable[str], scores: Sequence[Score]) -> list[GateResult]:
    """Raise where a model's score, overall or of a group in brackets, misses a requirement or is undefined."""
    return refuse_failed(check(gates, scores))


def refuse_failed(results: list[GateResult]) -> list[GateResult]:
    """Raise where a gate was not passed."""
    if failed := [one.line for one in results if not one.passed]:
        raise GateFailed("; ".join(failed))
    return results


def _results(gate: Gate, scores: Sequence[Score]) -> Iterator[GateResult]:
    rows = [_rows(one, scores) for one in gate.conditions]
    models = list(dict.fromkeys(score.model for some in rows for score in some if score.model != MEAN_OF_MODELS))
    if models != [ALL_MODELS]:  # also those that have no such score
        several = (ALL_MODELS, MEAN_OF_MODELS)
        models = list(dict.fromkeys(score.model for score in scores if score.model not in several))
    wanted = gate.conditions[0].model
    for model in [wanted] if wanted else models:
        found = [
            (one, _row(one, [score for score in some if score.model == model]))
            for one, some in zip(gate.conditions, rows, strict=True)
        ]
        yield _certificate(gate, model, found, scores) if gate.certificate else _single(gate, model, *found[0])


def _rows(one: Condition, scores: Sequence[Score]) -> list[Score]:
    """The scores of a condition's metric, of all models and groups; of namesakes, that with the default options."""
    rows = [score for score in scores if _is_about(one, score)]
    if len({head_of(score.signature) for score in rows}) == 1:
        return rows
    return [score for score in rows if head_of(score.signature) == metrics.make(one.metric).signature]


def _is_about(one: Condition, score: Score) -> bool:
    """Whether a score is of that metric and part, with the options that the condition states."""
    name = METRIC_NAME.match(score.metric)
    close = closing(score.metric, name.end()) if name else 0
    if score.metric[close:].removeprefix(":") != one.part:
        return False
    if one.metric == one.name:
        return name is not None and name[0] == one.name
    wanted, found = metrics.make(one.metric).signature, head_of(score.signature)
    if wanted == found or "#" in wanted or wanted.partition("(")[0] != found.partition("(")[0]:
        return wanted == found
    try:  # a run may have set other options (`suite`)
        asked, given, stated = (
            parse_options(text.partition("(")[2].rpartition(")")[0], text) for text in (wanted, found, one.metric)
        )
    except BadInput:  # a file's name may hold commas
        return False
    return all(given.get(name) == asked.get(name) for name in stated)


def _row(one: Condition, rows: Sequence[Score]) -> Score | None:
    groups = [score.group for score in rows]
    return next((score for score in rows if is_group(one.group, score.group, groups)), None)


def _single(gate: Gate, model: str, one: Condition, score: Score | None) -> GateResult:
    unit = score.unit if score else "share"
    line = f"{model}: {one} {_found(one, score)}, required {one.sign} {_shown(one.bound, unit)}"
    return GateResult(gate.text, model, _holds(one, score), line)


def _number(one: Condition, score: Score | None) -> float | None:
    """The value or the end that a condition is on."""
    if score is None:
        return None
    ends = (score.value, score.low, score.high, score.anytime_low, score.anytime_high)
    return ends[ENDS.index(one.end)]


def _holds(one: Condition, score: Score | None) -> bool:
    number = _number(one, score)
    return number is not None and _SIGNS[one.sign](compare_exactly(number, one.bound), 0)


def compare_exactly(number: float, bound: Fraction) -> int:
    """Compare a ratio of sums, which rounding may have moved a little, with the number that is written: -1, 0 or 1.

    >>> [compare_exactly(value, Fraction("0.7") / 100) for value in (6 / 1000, 7 / 1000, 0.95 - 0.943)]
    [-1, 0, 0]
    """
    if math.isinf(number):
        return 1 if number > 0 else -1
    gap = Fraction(number) - bound
    slack = min(_SLACK * max(Fraction(1), abs(bound)), abs(bound) / 2) if bound else _SLACK
    return 0 if abs(gap) <= slack else 1 if gap > 0 else -1


def _found(one: Condition, score: Score | None) -> str:
    """The number as tables print it and, where that is rounded, as it is compared; or why there is none."""
    number = _number(one, score)
    if score is None:
        return "was not measured"
    if number is None:
        why = "has no value" if score.value is None or one.end == "value" else "does not exist"
        reason = score.note or ("no anytime interval was computed" if "anytime" in one.end else "there is no interval")
        return why if score.value is None else f"{why}: {reason}"
    if score.unit != "share":
        return f"is {number}"
    text = rounded(number, "share")
    return f"is {text} %" + ("" if math.isclose(float(text), 100 * number) else f" ({number})")


def _shown(bound: Fraction, unit: str) -> str:
    return f"{decimal_text(100 * bound)} %" if unit == "share" else decimal_text(bound)


def _certificate(
    gate: Gate, model: str, found: Sequence[tuple[Condition, Score | None]], scores: Sequence[Score]
) -> GateResult:
    """One line to quote: what is shown of a model, with its evidence and signatures."""
    clauses, passed = [], True
    for one, score in found:
        # Also the value: that of a model with one answer is 0 to the bit, whatever its interval is.
        holds = _holds(one, score) and _holds(replace(one, end="value"), score)
        clauses.append(f"{_clause(one, score)}{'' if holds else ' is missed'}")
        passed &= holds
    for score in scores:
        if (score.model, score.metric, score.group) == (model, CONTROL_FLIPS, f"{CONTROL}={SAME_TEXT}"):
            steady = score.value == 0
            clauses.append(f"the same text {'never' if steady else 'sometimes'} got another answer")
            passed &= steady
    signed = dict.fromkeys(head_of(score.signature) for _, score in found if score)
    end = f"otherwords {__version__}, {', '.join(signed)}"
    word = f"passed at {100 * min(_level(*one) for one in found):g} % (one-sided)" if passed else "failed"
    line = f"certificate: {model}, {' and '.join(clauses)}: {word}; {end}"
    return GateResult(gate.text, model, passed, line)


def _level(one: Condition, score: Score | None) -> float:
    """The confidence of one end alone; both of an anytime interval share its error in no fixed way."""
    confidence = (score.confidence if score else None) or 0.0
    return confidence if one.end.startswith("anytime") else (1 + confidence) / 2


def _clause(one: Condition, score: Score | None) -> str:
    """A condition in words, with the evidence for it."""
    name = str(replace(one, end="value" if not one.end.startswith("anytime") else one.end))
    claim = f"{name} {_WORDS[one.sign]} {_shown(one.bound, 'share')}"
    if score is None or _number(one, score) is None:
        return f"{claim} ({_found(one, score)})"
    ends = replace(score, low=score.anytime_low, high=score.anytime_high) if "anytime" in one.end else score
    kind = f"{100 * score.confidence:g} % " if score.confidence else ""
    problems = f"{score.n_units:,} problem{'' if score.n_units == 1 else 's'}"
    return f"{claim} ({value_text(score)}, {kind}interval {ends_text(ends)}, {problems})"
