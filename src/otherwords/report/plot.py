"""The main result as a plot and as a sentence: does the answer depend on the wording?

The plot has for each model a bar of its problems. A problem is asked in several wordings, the original among them. It
depends on the wording if two of them get different answers, so that a model with any flip has such problems, and one
without flips has none. The bars are inline SVG that needs no plotting library; their widths are percentages, and their
colours CSS variables of the page, so that the plot follows its light and dark palettes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..answers.groups import OneAnswer
from ..problem import Score
from .numbers import HEADLINE, count, percent

#: Models up to which the sentence names each; of more, those that flip least and most.
_NAMED = 3

#: The parts of a bar from left to right, and what they are called.
PARTS = {
    "right": "always right",
    "same": "same answer to all wordings",
    "mixed": "depends on the wording",
    "wrong": "always the same wrong answer",
}


class BarSegment(NamedTuple):
    """A part of a bar: its name, label and number of problems, where it begins, and how wide it is, in per cent."""

    part: str
    label: str
    number: int
    share: str
    start: str
    width: str


@dataclass(frozen=True)
class Bar:
    """How many problems of a model are in each part, and whether the right answer to any is `known`.

    Also its `flips`, its rewordings (`n`), and how many of these can be `compared` with an answer to their original.
    """

    model: str
    right: int = 0
    mixed: int = 0
    wrong: int = 0
    same: int = 0
    known: bool = True
    flips: int = 0
    n: int = 0
    compared: int = 0

    @property
    def total(self) -> int:
        """All problems with at least two answered wordings."""
        return self.right + self.mixed + self.wrong + self.same

    def segments(self) -> list[BarSegment]:
        """The parts that this bar can have, also where they are empty: without labels, nothing is right or wrong."""
        possible = {"right": self.known, "wrong": self.known, "mixed": True, "same": self.same or not self.known}
        names = [part for part in PARTS if possible[part]]
        shown, done = [], 0
        for part in names:
            number = getattr(self, part)
            start, width = (f"{100 * some / self.total:.3f}%" for some in (done, number))
            share = f"{percent(number / self.total)}\u00a0%"
            shown.append(BarSegment(part, PARTS[part], number, share, start, width))
            done += number
        return shown


def describe(bars: Sequence[Bar]) -> str:
    """Say in words what the plot shows."""
    return " ".join(
        f"{bar.model}: of {count(bar.total, 'problem')}, "
        + ", ".join(f"{one.label} {one.number:,} ({one.share})" for one in bar.segments())
        + "."
        for bar in bars
    )


# The sentence, and the order of models


def one_answer_note(constant: Mapping[str, OneAnswer]) -> str:
    """A sentence on models that say the same to everything; empty where there is none.

    >>> print(one_answer_note({"m": OneAnswer("neutral", 40, 40)}).replace("\u00a0", " "))
    m gives one answer, neutral, to all 40 wordings: such stability says nothing about robustness to wording.
    """
    if not constant:
        return ""
    given = _join([f"{model} {one}" for model, one in constant.items()])
    return f"{given}: such stability says nothing about robustness to wording."


@dataclass(frozen=True)
class _Flips:
    rate: float
    low: float | None
    high: float | None
    answers: int
    problems: int

    @property
    def share(self) -> str:
        """The rate with its interval."""
        if self.low is None or self.high is None:
            return f"{percent(self.rate)}\u00a0%"
        return f"{percent(self.rate)}\u00a0% [{percent(self.low)}, {percent(self.high)}]"

    @property
    def asked(self) -> str:
        """What the rate is a share of."""
        return f"{count(self.answers, 'rewording')} of {count(self.problems, 'problem')}"


def ranked(
    models: Sequence[str], scores: Sequence[Score], bars: Sequence[Bar], constant: Mapping[str, OneAnswer]
) -> list[str]:
    """The models, those that flip least first; then those whose flips are not known; last those with one answer."""
    flips = _flips(scores, bars)
    return sorted(models, key=lambda m: (m in constant, m not in flips, flips[m].rate if m in flips else 0))


def _flips(scores: Sequence[Score], bars: Sequence[Bar]) -> dict[str, _Flips]:
    """The flip rate of each model: as scored, or counted in a study that does not score it."""
    scored = [s for s in scores if s.metric == HEADLINE and s.group is None]
    if scored:
        return {s.model: _Flips(s.value, s.low, s.high, s.n_answers, s.n_units) for s in scored if s.value is not None}
    return {b.model: _Flips(b.flips / b.n, None, None, b.n, b.total) for b in bars if b.compared}


def sentence(scores: Sequence[Score], bars: Sequence[Bar], constant: Mapping[str, OneAnswer] | None = None) -> str:
    """Answer the question in words: how often each model changed its answer.

    `constant` are models that say the same to everything: they are not praised for it, nor ranked with the others.
    """
    constant = constant or {}
    every, note = _flips(scores, bars), one_answer_note(constant)
    flips = {model: one for model, one in every.items() if model not in constant}
    if flips:
        return f"{_sentence(flips)} {note}".strip()
    if others := [bar for bar in bars if bar.model not in constant]:
        return f"{_without_originals(others)} {note}".strip()
    start = "These answers cannot tell:" if every or bars else "No result: no rewording was answered."
    return f"{start} {note}".strip()


def _without_originals(bars: Sequence[Bar]) -> str:
    """What can be said where no original was answered: in how many problems the rewordings got different answers."""
    start = "Not always" if any(bar.mixed for bar in bars) else "On these problems, yes"
    parts = [
        f"{bar.model} gave rewordings of {bar.mixed:,} of {count(bar.total, 'problem')} different answers"
        for bar in bars
    ]
    return f"{start}: {_join(parts)}; no original was answered, so that no answer can be compared with it."


def _sentence(flips: Mapping[str, _Flips]) -> str:
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
