"""The one plot: for each model a bar of its problems, by whether the answer depends on the wording.

A problem is asked in several wordings, the original among them. It depends on the wording if two of them get different
answers, so that a model with any flip has such problems, and one without flips has none. The bars are inline SVG that
needs no plotting library; their widths are percentages, and their colours CSS variables of the page, so that the plot
follows its light and dark palettes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .numbers import count, percent

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
