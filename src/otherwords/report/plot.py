"""The main result as a plot and as a sentence: does the answer depend on the wording? And charts of experiments.

The plot has for each model a bar of its problems. A problem is asked in several wordings, the original among them. It
depends on the wording if two of them get different answers, so that a model with any flip has such problems, and one
without flips has none. The bars are inline SVG that needs no plotting library; their widths are percentages, and their
colours CSS variables of the page, so that the plot follows its light and dark palettes. Charts are files of their own,
dark on white.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import NamedTuple

from ..answers.groups import OneAnswer
from ..problem import Score
from ..training.history import round_ticks
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
    m gives one answer, neutral, to all 40 wordings: that it keeps its answer says nothing about the wording.
    """
    if not constant:
        return ""
    keeps = "it keeps its answer" if len(constant) == 1 else "they keep their answers"
    return (
        f"{_join([f'{model} {one}' for model, one in constant.items()])}: that {keeps} says nothing about the wording."
    )


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


# Charts: curves in panels, and bars

#: A panel's width and height inside its axes, and the margins to its left, above and below.
_WIDTH, _HEIGHT, _LEFT, _ABOVE, _BELOW = 250, 180, 74, 34, 46
#: How high a line of a chart's title is, and how wide at most a letter is on average, of titles and of other text.
_LINE, _BOLD, _PLAIN = 18, 8, 7
#: From the edge of a panel to its first and last point; points of a curve above which signs would cover each other.
_INSET, _MANY = 10, 30
#: Colours that colour-blind readers tell apart (Okabe and Ito 2008), and for the black and white print: dashes, signs.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9")
_DASHES = ("", "6 3", "2 3", "8 3 2 3", "12 4")
_SIGNS = (
    "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0",
    "m-3.5-3.5h7v7h-7z",
    "m0-5l4.5 8h-9z",
    "m0-5l5 5-5 5-5-5z",
    "m0 5l-4.5-8h9z",
)
_CHART_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#222}.title{font-weight:600;font-size:13px}.quiet{fill:#555}"
    ".grid{stroke:#e2e2e2}.axis{stroke:#888}.curve{fill:none;stroke-width:1.6}"
    ".limit{stroke:#b00020;stroke-dasharray:4 3}.over{fill:#b00020;font-size:11px}"
)


#: Characters that XML does not have.
_NO_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class Curve(NamedTuple):
    """A curve through points: x, y, and how far the bar at the point reaches up and down (0: there is none)."""

    name: str
    points: Sequence[tuple[float, float, float]]


class Panel(NamedTuple):
    """Curves over one pair of axes."""

    title: str
    curves: Sequence[Curve]


def line_chart(
    title: str, panels: Sequence[Panel], x: str, y: str, limit: tuple[float, str] | None = None, least: float = math.inf
) -> str:
    """Draw panels with common scales; `x` and `y` say what the axes show, `limit` is a line across with its name.

    The scale of y reaches from `least`, or the lowest point where that is lower. Points that are not finite are left
    out; the chart's description says the ends of each curve in words.
    """
    shown = [_finite(panel) for panel in panels]
    points = [point for panel in shown for curve in panel.curves for point in curve.points] or [(0.0, 0.0, 0.0)]
    heights = [y + sign * bar for _, y, bar in points for sign in (1, -1)]
    scale = _ticks([*heights, *([limit[0]] if limit else []), *([least] if math.isfinite(least) else [])])
    across = _ticks([point[0] for point in points])
    names = list(dict.fromkeys(curve.name for panel in shown for curve in panel.curves))
    columns = min(3, max(1, len(shown)))
    width = max([columns * (_WIDTH + _LEFT), *(16 + _in_legend(name) for name in names)])
    legend, top = _chart_legend(names, width)
    cell = _HEIGHT + _ABOVE + _BELOW
    parts = [legend]
    for number, panel in enumerate(shown):
        row, column = divmod(number, columns)
        at = f"translate({_LEFT + column * (_WIDTH + _LEFT)} {top + _ABOVE + row * cell})"
        parts.append(f'<g transform="{at}">{_axes(panel.title, across, scale, x, y)}')
        parts += [_drawn(curve, names.index(curve.name), len(names), across, scale) for curve in panel.curves]
        parts.append(f"{_across(limit, scale) if limit else ''}</g>\n")
    height = top + -(-len(shown) // columns) * cell + 4
    return _document(title, _in_words(shown, x, y), width + 24, height, "".join(parts))


def bar_chart(title: str, bars: Sequence[tuple[str, float]], x: str) -> str:
    """Draw shares as bars one below the other, each with its name and its per cent."""
    left = 16 + _PLAIN * max((len(name) for name, _ in bars), default=0)
    most = max((share for _, share in bars), default=0) or 1
    parts = []
    for row, (name, share) in enumerate(bars):
        y, width = 40 + 22 * row, _HEIGHT * 2 * share / most
        parts.append(f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{_escaped(name)}</text>')
        parts.append(f'<rect x="{left}" y="{y}" width="{width:.1f}" height="16" fill="{_COLOURS[0]}"/>')
        parts.append(f'<text class="quiet" x="{left + width + 6:.1f}" y="{y + 12}">{100 * share:.1f} %</text>\n')
    height = 40 + 22 * len(bars) + 30
    parts.append(f'<text class="quiet" x="{left}" y="{height - 12}">{_escaped(x)}</text>\n')
    words = "; ".join(f"{name}: {100 * share:.1f} %" for name, share in bars)
    return _document(title, words, left + 2 * _HEIGHT + 80, height, "".join(parts))


def _document(title: str, words: str, width: int, height: int, body: str) -> str:
    """A picture with its title above, in as many lines as its width needs, and what it shows in words."""
    lines = [f'<text class="title" x="16" y="{22 + _LINE * row}">{_escaped(line)}</text>\n'
             for row, line in enumerate(wrap(title, (width - 32) // _BOLD))]  # fmt: skip
    shown, below = "".join(lines), _LINE * max(0, len(lines) - 1)
    if below:
        body, height = f'<g transform="translate(0 {below})">{body}</g>', height + below
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">\n<title>{_escaped(title)}</title>\n<desc>{_escaped(words)}</desc>\n'
        f'<style>{_CHART_STYLE}</style>\n<rect width="{width}" height="{height}" fill="#fff"/>\n{shown}{body}</svg>\n'
    )


def _ticks(values: Sequence[float]) -> list[float]:
    return round_ticks([round(value, 6) for value in values])  # what differs by less is one point


def _escaped(text: str) -> str:
    return escape(_NO_XML.sub("\ufffd", text))


def _finite(panel: Panel) -> Panel:
    kept = [Curve(name, [point for point in points if all(map(math.isfinite, point))]) for name, points in panel.curves]
    return Panel(panel.title, [curve for curve in kept if curve.points])


def _in_words(panels: Sequence[Panel], x: str, y: str) -> str:
    ends = [
        f"{panel.title}, {curve.name}: {curve.points[0][1]:.4g} at {curve.points[0][0]:g}, "
        f"{curve.points[-1][1]:.4g} at {curve.points[-1][0]:g}"
        for panel in panels
        for curve in panel.curves
    ]
    return f"{y} by {x}. {'; '.join(ends)}."


def _look(number: int) -> tuple[str, str, str]:
    return (
        _COLOURS[number % len(_COLOURS)],
        _DASHES[(number + number // len(_COLOURS)) % len(_DASHES)],
        _SIGNS[number % len(_SIGNS)],
    )


def _in_legend(name: str) -> int:
    """How wide the entry of a curve is in the legend."""
    return 56 + _PLAIN * len(name)


def _chart_legend(names: Sequence[str], width: int) -> tuple[str, int]:
    """The names of the curves, in as many lines as they need, and how high these are."""
    parts, x, y = [], 16, 44
    for number, name in enumerate(names):
        colour, dashes, sign = _look(number)
        needed = _in_legend(name)
        if x > 16 and x + needed > width:
            x, y = 16, y + 20
        line = f'<path class="curve" d="M{x} {y}h28" stroke="{colour}" stroke-dasharray="{dashes}"/>'
        parts.append(f'{line}<path d="M{x + 14} {y}{sign}" fill="{colour}"/>')
        parts.append(f'<text x="{x + 36}" y="{y + 4}">{_escaped(name)}</text>\n')
        x += needed
    return "".join(parts), y + 14


def _axes(title: str, across: Sequence[float], scale: Sequence[float], x: str, y: str) -> str:
    """The frame of a panel; its origin is the upper left corner inside the axes."""
    most = _WIDTH // _BOLD
    short = title if len(title) <= most else f"{title[: most - 1]}…"  # the next panel begins there
    parts = [f'<text class="title" y="-12">{_escaped(short)}</text>']
    for tick in scale:
        at = _up(tick, scale)
        parts.append(f'<line class="grid" x2="{_WIDTH}" y1="{at}" y2="{at}"/>')
        parts.append(f'<text class="quiet" x="-7" y="{at + 4}" text-anchor="end">{tick:.4g}</text>')
    for tick in across:
        at = _along(tick, across)
        parts.append(f'<text class="quiet" x="{at}" y="{_HEIGHT + 17}" text-anchor="middle">{tick:.4g}</text>')
    middle = f'<text class="quiet" x="{_WIDTH / 2}" y="{_HEIGHT + 36}" text-anchor="middle">{_escaped(x)}</text>'
    turned = f'transform="rotate(-90)" x="{-_HEIGHT / 2}" y="-52"'
    parts.append(f'<line class="axis" x2="{_WIDTH}" y1="{_HEIGHT}" y2="{_HEIGHT}"/>{middle}')
    parts.append(f'<text class="quiet" {turned} text-anchor="middle">{_escaped(y)}</text>\n')
    return "".join(parts)


def _across(limit: tuple[float, str], scale: Sequence[float]) -> str:
    """A line across a panel, and its name above the panel, where it hides no point."""
    at = _up(limit[0], scale)
    line = f'<line class="limit" x2="{_WIDTH}" y1="{at}" y2="{at}"/>'
    return f'{line}<text class="over" x="{_WIDTH}" y="-3" text-anchor="end">- - {_escaped(limit[1])}</text>\n'


def _drawn(curve: Curve, number: int, curves: int, across: Sequence[float], scale: Sequence[float]) -> str:
    """A curve with its signs and bars, moved aside a little, so that bars of other curves do not hide it."""
    colour, dashes, sign = _look(number)
    aside = 2.2 * (number - (curves - 1) / 2)
    at = [(round(_along(x, across) + aside, 1), _up(y, scale), y, bar) for x, y, bar in curve.points]
    way = "L".join(f"{x} {y}" for x, y, _, _ in at)
    line = f'<path class="curve" d="M{way}" stroke="{colour}" stroke-dasharray="{dashes}"/>'
    bars = "".join(
        f"M{x} {_up(y - bar, scale)}V{_up(y + bar, scale)}m-3 0h6M{x - 3:.1f} {_up(y - bar, scale)}h6"
        for x, _, y, bar in at
        if bar > 0
    )
    sign = sign if len(at) <= _MANY else "m-1.5-1.5h3v3h-3z"
    signs = "".join(f"M{x} {height}{sign}" for x, height, _, _ in at)
    whiskers = f'<path d="{bars}" stroke="{colour}" fill="none"/>' if bars else ""
    return f'<g><title>{_escaped(curve.name)}</title>{line}{whiskers}<path d="{signs}" fill="{colour}"/></g>\n'


def _up(value: float, scale: Sequence[float]) -> float:
    return round(_HEIGHT * (scale[-1] - value) / (scale[-1] - scale[0]), 1)


def _along(value: float, across: Sequence[float]) -> float:
    return round(_INSET + (_WIDTH - 2 * _INSET) * (value - across[0]) / (across[-1] - across[0]), 1)
