"""Figures: one specification gives a file for print, a picture that follows a page's light and dark, and its data.

Five forms serve the papers: lines with bars of error, scatters with guides such as iso-curves, families of curves with
marks, grouped bars, and heat maps; each also in panels with common scales. Our own SVG needs no plotting library.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import BadInput
from ..metrics import p_c_at
from . import drawing
from .axes import Box, Form, Given
from .bars import GroupedBars, HeatMap
from .drawing import EDGE, LIGHT, LINE, NARROW, PAGE, STYLE, TITLE, TITLE_LINE, WIDE, Palette
from .plane import Plane
from .series import (
    NO_AXIS,
    NUMERIC,
    Axis,
    FormName,
    Mark,
    Panel,
    Point,
    Series,
    categories,
    describe_panels,
    drawable,
    every_point,
)

__all__ = ["STYLE", "Axis", "Figure", "FormName", "Mark", "Panel", "Point", "Series", "consistency_plane", "pareto"]

#: Groups of bars, and columns of a map, above which a single panel is as wide as two columns of print.
_MANY_BARS, _MANY_COLUMNS = 24, 7
#: PVAP on the iso-curves of the plane of accuracy and consistency.
_LEVELS = (0.1, 0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Figure:
    """What is drawn: panels of one form, on axes that all of them share.

    `name` is that of its files. `across` is how many panels stand side by side (0: one to three, as many as fit);
    a figure of one panel is as wide as a column of print, unless it is `wide`, and of several as wide as two.
    `note` stands below.
    """

    name: str
    title: str
    form: FormName
    panels: Sequence[Panel]
    x: Axis = NO_AXIS
    y: Axis = NO_AXIS
    note: str = ""
    across: int = 0
    wide: bool = False

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", self.name):
            raise BadInput(
                f"{self.name!r} cannot be used as a file name",
                where="figure",
                fix="use letters, digits, hyphens and dots",
            )
        for panel in self.panels:
            wrong = [
                one.x for series in panel.series for one in series.points if isinstance(one.x, str) == self.numeric
            ]
            if wrong:
                what = "a number" if self.numeric else "a name"
                raise BadInput(f"x is {wrong[0]!r}", where=f"figure {self.name}", fix=f"{self.form} need {what} there")
        if not any(True for _ in every_point(self._drawn)):
            raise BadInput("has no point with a value", where=f"figure {self.name}", fix="leave it out, and say why")

    @property
    def numeric(self) -> bool:
        """Whether both axes have numbers."""
        return self.form in NUMERIC

    @property
    def _drawn(self) -> list[Panel]:
        return [drawable(panel, self.numeric) for panel in self.panels]

    @property
    def columns(self) -> int:
        """How many panels stand side by side."""
        count = len(self.panels)
        return min(self.across or (2 if count in (2, 4) else 3), count)

    @property
    def width(self) -> int:
        """How wide the figure is, in CSS pixels."""
        series = {one.name for panel in self.panels for one in panel.series}
        names = len(categories(self.panels)) if not self.numeric else 0
        crowded = names > _MANY_COLUMNS if self.form == "heat" else names * len(series) > _MANY_BARS
        return WIDE if self.wide or self.columns > 1 or crowded else NARROW

    def svg(self) -> str:
        """A file of its own: in the size of print, dark on white."""
        return _render(self, LIGHT)

    def inline(self) -> str:
        """A part of a page: it fills its place, in the page's colours, light or dark, which STYLE defines."""
        return _render(self, PAGE)

    def data(self) -> dict[str, Any]:
        """All of it as JSON has it; what is not finite is null."""
        found: dict[str, Any] = _plain(asdict(self))
        return found


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# Layout


def _make_form(given: Given) -> Form:
    if given.form == "heat":
        return HeatMap(given)
    return GroupedBars(given) if given.form == "bars" else Plane(given)


def _render(figure: Figure, palette: Palette) -> str:
    """Title, legend, panels in rows, note: one below the other."""
    panels, width = figure._drawn, figure.width
    form = _make_form(Given(figure.form, panels, figure.x, figure.y, palette, width, figure.columns))
    inner = width - 2 * EDGE
    title = drawing.lines(figure.title, inner, TITLE, bold=True)
    body = drawing.paragraph(EDGE, EDGE + 10, title, palette.ink, TITLE_LINE, size=TITLE, bold=True, full=figure.title)
    keys, y = drawing.legend(form.legend(), inner, EDGE + TITLE_LINE * len(title) + 2, palette)
    drawn, y = _rows(figure, panels, form, y, palette)
    note = drawing.lines(figure.note, inner) if figure.note else []
    body += keys + drawn + drawing.paragraph(EDGE, y + LINE - 2, note, palette.quiet, full=figure.note)
    height = y + LINE * len(note) + EDGE
    words = describe_panels(panels, figure.form, figure.x, figure.y)
    return drawing.document(figure.title, f"{words} {figure.note}".strip(), width, math.ceil(height), body, palette)


def _rows(figure: Figure, panels: Sequence[Panel], form: Form, top: float, palette: Palette) -> tuple[str, float]:
    """The panels in rows from `top` on, and where they end."""
    gap, right, columns = 14, 12, figure.columns
    wide = (figure.width - EDGE - form.left - right - gap * (columns - 1)) / columns
    titles = [drawing.lines(one.title, wide, bold=True, most=2) for one in panels]
    parts = []
    for start in range(0, len(panels), columns):
        row = range(start, min(start + columns, len(panels)))
        head = LINE * max(len(titles[place]) for place in row)
        below = top + head + form.above
        for place in row:
            box = Box(EDGE + form.left + (place - start) * (wide + gap), below, wide, form.height)
            y = top + head - LINE * (len(titles[place]) - 1) - 1
            parts.append(
                drawing.paragraph(box.left, y, titles[place], palette.ink, bold=True, full=panels[place].title)
            )
            parts.append(form.draw(panels[place], box, place == start))
        top = below + form.height + form.below + 4
    return "".join(parts), top


# The plane of accuracy and consistency


def consistency_plane(
    name: str, title: str, panels: Sequence[Panel], *, levels: Sequence[float] = _LEVELS, note: str = ""
) -> Figure:
    """Accuracy and P_C of models in a plane, with the least P_C that an accuracy a allows, and curves of equal PVAP.

    The least is 1 - 2a(1 - a), where all variance is due to the wording, a PVAP of 1 (Srikanth et al. 2024, Figure 3).
    The points of `panels` have shares from 0 to 1 on both axes.
    """
    places = [one for panel in panels for series in panel.series for one in series.points]
    ends = [end for one in places if drawing.finite(one.y) for end in (float(one.x), one.x_low)]
    low = min((end for end in ends if end is not None and drawing.finite(end)), default=0.5)
    start = max(0.0, min(0.5, math.floor(10 * low) / 10))
    steps = [start + (1 - start) * step / 60 for step in range(61)]
    guides = [_iso(f"PVAP {100 * level:g} %", steps, level) for level in levels]
    guides.append(_iso("least possible", steps, 1.0))
    drawn = [Panel(one.title, one.series, [*one.guides, *guides], one.marks) for one in panels]
    heights = [end for one in places if drawing.finite(one.y) for end in one.ends if drawing.finite(end)]
    foot = max(
        0.0, min(0.5, math.floor(10 * min(heights, default=0.5)) / 10)
    )  # corrected values may lie below the least
    x, y = Axis("accuracy", "share", start, 1.0), Axis("consistency P_C", "share", foot, 1.0)
    return Figure(name, title, "scatter", drawn, x, y, note)


def _iso(name: str, steps: Sequence[float], level: float) -> Series:
    return Series.of(name, steps, p_c_at(steps, level).tolist(), strong=level == 1)


def pareto(points: Mapping[str, tuple[float, float]]) -> set[str]:
    """Who is on the front: nobody else is at least as good in both, and better in one.

    >>> sorted(pareto({"a": (0.8, 0.9), "b": (0.9, 0.8), "c": (0.8, 0.8), "d": (0.9, 0.8)}))
    ['a', 'b', 'd']
    """
    return {
        name
        for name, (x, y) in points.items()
        if not any(a >= x and b >= y and (a, b) != (x, y) for a, b in points.values())
    }
