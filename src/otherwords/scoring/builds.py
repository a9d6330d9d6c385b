"""For continuous integration: gates on the difference to a baseline, and results as JUnit XML and Markdown.

A baseline gate asks whether a model is *shown* not to be worse than before by a margin (non-inferiority): the same
problems, paired. That a difference is not significant shows nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from .._version import __version__
from ..answers.alignment import Names, TableOrPath, load
from ..errors import BadInput, GateFailed
from ..harnesses.samples import LogOptions
from ..problem import Score, rounded
from ..storage.files import refuse_overwriting, write_text
from .compare import compare
from .difference import Difference
from .gates import GateResult
from .layout import ends_text, value_text
from .requirements import Condition, parse

_FIX = "write flip_rate<=0.02 for at most two points more than before, accuracy_original>=-0.02 for at most two less"
#: Characters that XML cannot hold.
_CONTROL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


# Gates on the difference to a baseline


@dataclass(frozen=True)
class BaselineGate:
    """A bound on the difference to a baseline: `<=` a margin above it, or `>=` a margin below it."""

    text: str
    metric: str
    sign: str
    margin: float


def parse_baseline(gates: Iterable[str]) -> list[BaselineGate]:
    """Read gates on differences: a metric, `<=` and how much higher it may be, or `>=-` and how much lower.

    >>> parse_baseline(["flip_rate<=2%"])[0].margin
    0.02
    """
    return [_gate(text) for text in gates]


def _gate(text: str) -> BaselineGate:
    gate = parse(text)
    one: Condition = gate.conditions[0]
    margin = one.bound if one.sign == "<=" else -one.bound if one.sign == ">=" else Fraction(0)
    if gate.certificate or one.group or one.model or one.part or one.end != "value" or margin <= 0:
        raise BadInput(f"invalid baseline gate {text!r}", fix=_FIX)
    return BaselineGate(text, one.metric, one.sign, float(margin))


def check_baseline(
    answers: TableOrPath,
    baseline: TableOrPath,
    gates: Sequence[str],
    **settings: Any,
) -> tuple[list[GateResult], list[Difference]]:
    """Hold answers against those of a baseline: a result for each gate and model, and the differences behind them.

    Models are compared with their namesakes; where both tables have one model, these two. The `settings` are those of
    `compare`. A gate is passed if the one-sided score test rejects a loss as large as the margin, at half of
    1 - confidence. Its standard error is that at the margin: it can fail where the interval ends just within it.
    """
    results, differences = [], []
    level = (1 - settings.get("confidence", 0.95)) / 2
    names = Names(settings.get("columns") or {}, settings.get("labels") or {}, logs=settings.get("logs", LogOptions()))
    pairs = _pairs(answers, baseline, names)
    for gate in parse_baseline(gates):
        for model, other in pairs:
            found = compare(answers, baseline, [gate.metric], models=[model, other], margin=gate.margin, **settings)
            row = next(one for one in found if one.group is None)
            differences.append(replace(row, model=model))  # by its name, which both tables have
            results.append(_result(gate, row, model, level))
    return results, differences


def _pairs(answers: TableOrPath, baseline: TableOrPath, names: Names) -> list[tuple[str, str]]:
    own, old = ([one.name for one in load(source, names=names)] for source in (answers, baseline))
    if len(own) == len(old) == 1:
        return [(own[0], old[0])]
    if absent := [name for name in own if name not in old]:
        fix = f"the baseline has {', '.join(old)}: name models as it does"
        raise BadInput(f"has no answers of {absent[0]}", where=str(baseline), field="baseline", fix=fix)
    return [(name, name) for name in own]


def _result(gate: BaselineGate, row: Difference, model: str, level: float) -> GateResult:
    p = row.p_not_higher if gate.sign == "<=" else row.p_not_lower
    unit = " points" if row.unit == "share" else ""
    side = "above" if gate.sign == "<=" else "below"
    name = f"{gate.text} against the baseline"  # GitLab shows one of several cases with one name
    what = f"{gate.metric} {side} the baseline by less than {rounded(gate.margin, row.unit)}{unit}"
    if row.difference is None or p is None:
        why = row.note or "there is no difference"
        return GateResult(name, model, False, f"{model}: {what} cannot be shown: {why}")
    found = f"difference {rounded(row.difference, row.unit)}{unit} [{ends_text(row, '+')}], p = {p:.4f}"
    shown = "is shown" if p <= level else "is not shown"
    return GateResult(name, model, p <= level, f"{model}: {what} {shown}: {found}")


# What came out, as files


def refuse_wrong_files(junit: str, summary: str, *inputs: Any) -> None:
    """Refuse, before any work, wrong file extensions and files that are also inputs."""
    for path, suffix in ((junit, ".xml"), (summary, ".md")):
        if path and Path(path).suffix != suffix:
            raise BadInput("has another ending", where=path, fix=f"end it in {suffix}")
        refuse_overwriting(path or None, *inputs)


def write_build_files(
    scores: Sequence[Score],
    gates: Sequence[GateResult],
    differences: Sequence[Difference] = (),
    *,
    junit: str = "",
    summary: str = "",
    title: str = "otherwords",
) -> None:
    """Write results as JUnit XML, with one test per gate and model, and as a summary in Markdown."""
    if junit:
        write_text(Path(junit), junit_xml(scores, gates, title))
    if summary:
        write_text(Path(summary), markdown(scores, gates, differences, title))


def finish_build(
    scores: Sequence[Score],
    gates: Sequence[GateResult],
    answers: TableOrPath,
    *,
    baseline: str = "",
    no_worse: Sequence[str] = (),
    junit: str = "",
    summary: str = "",
    **settings: Any,
) -> list[GateResult]:
    """Compare with a baseline, if there is one, and write what came out; return all gates.

    The `settings` are those of `compare`.
    """
    more, differences = check_baseline(answers, baseline, no_worse, **settings) if baseline else ([], [])
    every = [*gates, *more]
    write_build_files(scores, every, differences, junit=junit, summary=summary)
    return every


def junit_xml(scores: Sequence[Score], gates: Sequence[GateResult], title: str = "otherwords") -> str:
    """JUnit XML: a case for each gate and model; without gates, one for each model, which has its scores."""
    cases = [_case(one) for one in gates] or [_measured(model, scores) for model in _models(scores)]
    failed = sum(not one.passed for one in gates)
    head = f'<testsuite name={_attribute(title)} tests="{len(cases)}" failures="{failed}" errors="0" skipped="0">'
    lines = [_text(f"{one.model}: {_metric(one)} {value_text(one)} [{ends_text(one)}]") for one in scores]
    output = f"<system-out>{chr(10).join(lines)}</system-out>"
    return "\n".join(
        [
            '<?xml version="1.0" encoding="utf-8"?>',
            "<testsuites>",
            head,
            *cases,
            output,
            "</testsuite>",
            "</testsuites>",
            "",
        ]
    )


def _case(one: GateResult) -> str:
    head = f'<testcase classname={_attribute(one.model)} name={_attribute(one.gate)} time="0"'
    if one.passed:
        return f"{head}/>"
    kind = GateFailed.__name__
    return f'{head}><failure type="{kind}" message={_attribute(one.line)}>{_text(one.line)}</failure></testcase>'


def _measured(model: str, scores: Sequence[Score]) -> str:
    return f'<testcase classname={_attribute(model)} name="measured" time="0"/>'


def _models(scores: Sequence[Score]) -> list[str]:
    return list(dict.fromkeys(one.model for one in scores))


def _attribute(text: str) -> str:
    return quoteattr(_CONTROL.sub("�", text))


def _text(text: str) -> str:
    return escape(_CONTROL.sub("�", text))


def markdown(
    scores: Sequence[Score],
    gates: Sequence[GateResult],
    differences: Sequence[Difference] = (),
    title: str = "otherwords",
) -> str:
    """A summary for people: the gates, the differences to a baseline, the scores."""
    failed = [one for one in gates if not one.passed]
    verdict = f"{len(failed)} of {len(gates)} gates failed" if failed else f"all {len(gates)} gates passed"
    parts = [f"## {_cell(title)}: {verdict}" if gates else f"## {_cell(title)}", ""]
    if gates:
        parts += [
            f"- {'✅' if one.passed else '❌'} {_cell(one.line)}" for one in (*failed, *(g for g in gates if g.passed))
        ]
        parts.append("")
    if differences:
        rows = [
            (
                one.model,
                one.metric,
                _signed(one),
                ends_text(one, "+"),
                f"{one.other_value:.4f}" if one.other_value is not None else "–",
            )
            for one in differences
        ]
        parts += [*_table(("model", "metric", "difference", "interval", "baseline"), rows), ""]
    shown = [
        (one.model, _metric(one), value_text(one), ends_text(one), f"{one.n_units:,}", f"{one.n_answers:,}")
        for one in scores
    ]
    parts += _table(("model", "metric", "value", "interval", "problems", "answers"), shown)
    return "\n".join([*parts, "", f"otherwords {__version__}", ""])


def _metric(one: Score) -> str:
    return one.metric if one.group is None else f"{one.metric} [{one.group}]"


def _signed(one: Difference) -> str:
    if one.difference is None:
        return "–"
    text = rounded(one.difference, one.unit)
    return f"{'+' if one.difference > 0 else ''}{text}{' points' if one.unit == 'share' else ''}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return lines + [f"| {' | '.join(map(_cell, row))} |" for row in rows]


def _cell(text: str) -> str:
    """A text in a cell of Markdown: on one line, with special characters escaped."""
    return re.sub(r"([\\|`*_<>\[\]])", r"\\\1", " ".join(text.split()))
