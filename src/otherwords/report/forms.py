"""The forms of figures: panels with numbers on both axes (lines, scatters, curves), grouped bars, heat maps.

A form knows what all panels share: scales, margins, the legend. It draws one panel after the other into a box.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

from . import drawing
from .drawing import LETTERS, LINE, Entry, Look, Palette, Scale, look, path, sign, text, text_width
from .series import (
    Axis,
    FormName,
    Mark,
    Panel,
    Point,
    Series,
    categories,
    every_point,
    names_of,
    number,
    say_point,
    shown_value,
)

#: From the edge of a plane to its first and last point; points above which signs would cover each other.
_INSET, _MANY = 7, 40
#: The widest labels of rows, as a share of the figure, and the longest of columns, which are turned.
_LABELS, _TURNED = 0.36, 100
#: The share of a colour above which the letters on it are those of the paper.
_DEEP = 0.63
#: Lines for the marks of the axis of x, one after the other.
_MARKED = ("4 2.5", "1.5 2", "7 2 1.5 2")


class Box(NamedTuple):
    """A panel's place inside its axes."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Where it ends."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Where it ends below."""
        return self.top + self.height


def _fits(name: str, width: float) -> bool:
    """Whether a name has room in two lines, whole."""
    own = drawing.lines(name, width)
    return len(own) <= 2 and "…" not in "".join(own)


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether two boxes, as left, top, width and height, have a place in common."""
    return all(one[i] < other[i] + other[i + 2] and other[i] < one[i] + one[i + 2] for i in (0, 1))


class Form(Protocol):
    """How panels are drawn, and the room they need to the left, above and below; the first of a row has labels."""

    left: float
    above: float
    below: float
    height: float

    def legend(self) -> list[Entry]:
        """What the legend explains."""
        ...

    def draw(self, panel: Panel, box: Box, first: bool) -> str:
        """One panel, without its title."""
        ...


@dataclass(frozen=True)
class Given:
    """What a figure gives its form: its panels, axes and colours, and how wide it is, in so many columns."""

    form: FormName
    panels: Sequence[Panel]
    x: Axis
    y: Axis
    palette: Palette
    width: float
    across: int

    @property
    def room(self) -> float:
        """About how wide a panel is inside its axes."""
        return (self.width - 45) / self.across - 14


def make_form(given: Given) -> Form:
    """The form of a figure."""
    if given.form == "heat":
        return HeatMap(given)
    return GroupedBars(given) if given.form == "bars" else Plane(given)


# Axes


def _left_of(axis: Axis, scale: Scale, height: float) -> float:
    """How much room the ticks and the label of a vertical axis need."""
    ticks = max(text_width(scale.label(one)) for one in scale.ticks)
    return ticks + 11 + LINE * len(_label_lines(axis, height))


def _label_lines(axis: Axis, room: float) -> list[str]:
    return drawing.lines(axis.name, room, most=2) if axis.label else []


def _vertical(axis: Axis, scale: Scale, box: Box, palette: Palette, first: bool) -> str:
    """Lines across for the ticks of a vertical axis; in the first panel of a row with their labels."""
    parts = [path(f"M{box.left:.1f} {scale(one):.1f}h{box.width:.1f}", palette.grid, 0.7) for one in scale.ticks]
    if first:
        widest = max(text_width(scale.label(one)) for one in scale.ticks)
        parts += [text(box.left - 5, scale(one) + 3.5, scale.label(one), palette.quiet, anchor="end")
                  for one in scale.ticks]  # fmt: skip
        own = _label_lines(axis, box.height)
        for row, line in enumerate(own):
            x, y = box.left - widest - 12 - LINE * (len(own) - 1 - row), box.top + box.height / 2
            parts.append(text(x, y, line, palette.ink, anchor="middle", turned=True, full=axis.name))
    return "".join(parts)


def _horizontal(axis: Axis, scale: Scale, box: Box, palette: Palette, grid: bool = False) -> str:
    """The line, ticks and label of an axis below a panel, with lines upwards for a grid."""
    parts = []
    for one in scale.ticks:
        up = f"V{box.top:.1f}" if grid else "v3.5"
        parts.append(path(f"M{scale(one):.1f} {box.bottom:.1f}{up}", palette.grid if grid else palette.quiet, 0.7))
        parts.append(text(scale(one), box.bottom + 14, scale.label(one), palette.quiet, anchor="middle"))
    parts.append(_label_below(axis, box, 14, palette))
    return "".join(parts)


def _label_below(axis: Axis, box: Box, below: float, palette: Palette) -> str:
    middle, own = box.left + box.width / 2, _label_lines(axis, box.width + 8)
    y = box.bottom + below + LINE + 1
    return drawing.paragraph(middle, y, own, palette.ink, anchor="middle", full=axis.name)


def _base(box: Box, palette: Palette) -> str:
    return path(f"M{box.left:.1f} {box.bottom:.1f}h{box.width:.1f}", palette.quiet, 0.9)


def _clip(box: Box, body: str) -> str:
    """What is drawn in the coordinates of the figure, without what is outside the box."""
    at = f'x="{box.left:.1f}" y="{box.top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'
    view = f'viewBox="{box.left:.1f} {box.top:.1f} {box.width:.1f} {box.height:.1f}"'
    return f"<svg {at} {view}>{body}</svg>\n" if body else ""


# Numbers on both axes


class Plane:
    """Lines with bars of error, scatters, and curves with bands, on scales that all panels share."""

    def __init__(self, given: Given):
        self.given, self.palette, self.names = given, given.palette, names_of(given.panels)
        points = [point for _, point in every_point(given.panels)]
        marks = [one for panel in given.panels for one in panel.marks]
        heights = [end for one in points for end in one.ends] + [one.value for one in marks if one.axis == "y"]
        across = [number(one.x) for one in points] + [one.value for one in marks if one.axis == "x"]
        across += [end for one in points for end in (one.x_low, one.x_high) if end is not None and drawing.finite(end)]
        x, y = given.x, given.y
        self.height: float = round(min(max(given.room * (0.8 if given.form == "scatter" else 0.64), 110), 260))
        self.x = drawing.scale(across, x.low, x.high, most=max(2, int(given.room / 48)), share=x.unit == "share")
        self.y = drawing.scale(heights, y.low, y.high, most=max(3, int(self.height / 32)), share=y.unit == "share")
        self.left = _left_of(y, self.y, self.height)
        self.below = 18 + LINE * len(_label_lines(x, given.room))
        self.aside = self._aside(points)
        self.inset = _INSET + self.aside * (len(self.names) - 1) / 2
        rows = [row for panel in given.panels for _, _, row in self._mark_places(panel.marks, 0, given.room)]
        self.above: float = 5 + 11 * (1 + max(rows, default=-1))

    def _aside(self, points: Sequence[Point]) -> float:
        """How far series stand apart, so that bars of one do not hide another."""
        if self.given.form != "lines" or not any(len(one.ends) > 1 for one in points) or len(self.names) == 1:
            return 0.0
        places = sorted({number(one.x) for one in points})
        scale = self.x.between(0, self.given.room)
        gap = min((scale(b) - scale(a) for a, b in pairwise(places)), default=20.0)
        return min(3.5, 0.6 * gap / len(self.names))

    def legend(self) -> list[Entry]:
        """The series, then lines across."""
        looks = {name: look(place, self.palette) for place, name in enumerate(self.names) if name}
        found = [Entry(name, self._key(one)) for name, one in looks.items()]
        across = dict.fromkeys(mark.name for panel in self.given.panels for mark in panel.marks if mark.axis == "y")
        return found + [Entry(name, path("M0 0h22", self.palette.limit, 1.1, "4 2.5")) for name in across]

    def _key(self, one: Look) -> str:
        line = path("M0 0h22", one.colour, 1.4, one.dashes) if self.given.form != "scatter" else ""
        return line + (sign(11, 0, one, self.palette.paper) if self.given.form != "curves" else "")

    def draw(self, panel: Panel, box: Box, first: bool) -> str:
        """Grid, guides, marks, then the series."""
        x = self.x.between(box.left + self.inset, box.right - self.inset)
        y = self.y.between(box.bottom - _INSET, box.top + _INSET)
        body = _vertical(self.given.y, y, box, self.palette, first) + _base(box, self.palette)
        body += _horizontal(self.given.x, x, box, self.palette)
        body += _clip(box, "".join(self._guide(one, x, y) for one in panel.guides))
        body += self._guide_names(panel, x, y) + self._marks(panel.marks, box, x, y)
        drawn = [self._series(one, x, y) for one in panel.series if one.points]
        return body + _clip(box, "".join(line for line, _ in drawn)) + "".join(signs for _, signs in drawn)

    def _series(self, series: Series, x: Scale, y: Scale) -> tuple[str, str]:
        """The line of a series with its bars or bands, and its signs, which are never cut."""
        place = self.names.index(series.name)
        shown, aside = look(place, self.palette), self.aside * (place - (len(self.names) - 1) / 2)
        at = [(round(x(number(one.x)) + aside, 1), y(one.y or 0.0), one) for one in series.points]
        form = self.given.form
        spread = self._band(at, y, shown) if form == "curves" else self._error_bars(at, x, y, shown)
        line = path("M" + "L".join(f"{a:.1f} {b:.1f}" for a, b, _ in at), shown.colour, 1.5, shown.dashes,
                    more=' stroke-linejoin="round"') if form != "scatter" and len(at) > 1 else ""  # fmt: skip
        if form == "curves" and len(at) > 1:
            return f"<g><title>{drawing.escaped(series.name)}</title>{spread}{line}</g>", ""
        inside = [one for one in at if self.x.holds(number(one[2].x)) and self.y.holds(one[2].y or 0.0)]
        return spread + line, self._signs(series, inside, shown)

    def _signs(self, series: Series, at: Sequence[tuple[float, float, Point]], shown: Look) -> str:
        if len(at) > _MANY:  # dots, which need not be pointed at
            return path(
                "".join(f"M{a:.1f} {b:.1f}m-1.4-1.4h2.8v2.8h-2.8z" for a, b, _ in at), "none", 0, "", shown.colour
            )
        axes = (self.given.x, self.given.y)
        return "".join(sign(a, b, shown, self.palette.paper, say_point(series.name, one, *axes)) for a, b, one in at)

    def _error_bars(self, at: Sequence[tuple[float, float, Point]], x: Scale, y: Scale, shown: Look) -> str:
        ways = ""
        for a, b, one in at:
            if one.low is not None and one.high is not None and drawing.finite(one.low) and drawing.finite(one.high):
                ways += f"M{a - 2:.1f} {y(one.low):.1f}h4m-2 0V{y(one.high):.1f}m-2 0h4"
            if one.x_low is not None and one.x_high is not None and drawing.finite(one.x_low + one.x_high):
                ways += f"M{x(one.x_low):.1f} {b - 2:.1f}v4m0-2H{x(one.x_high):.1f}m0-2v4"
        return path(ways, shown.colour, 0.9) if ways else ""

    def _band(self, at: Sequence[tuple[float, float, Point]], y: Scale, shown: Look) -> str:
        known = [(a, y(one.low), y(one.high)) for a, _, one in at if one.low is not None and one.high is not None]
        if not known:
            return ""
        way = "L".join([*(f"{a:.1f} {low:.1f}" for a, low, _ in known),
                        *(f"{a:.1f} {high:.1f}" for a, _, high in reversed(known))])  # fmt: skip
        return path(f"M{way}Z", "none", 0, fill=shown.colour, more=' fill-opacity=".15"')

    def _guide(self, guide: Series, x: Scale, y: Scale) -> str:
        way = "L".join(f"{x(number(one.x)):.1f} {y(one.y or 0.0):.1f}" for one in guide.points)
        wide, dashes = (1.3, "") if guide.strong else (0.8, "3 2")
        return path(f"M{way}", self.palette.quiet, wide, dashes) if way else ""

    def _guide_names(self, panel: Panel, x: Scale, y: Scale) -> str:
        """The names of guides, each on its own, at the first place from the left where it covers no point or name."""
        taken = [box for series in panel.series for one in series.points for box in _covered(one, x, y)]
        parts = []
        for guide in panel.guides:
            width = text_width(guide.name)
            inside = [(x(number(p.x)), y(p.y or 0.0)) for p in guide.points
                      if x.holds(number(p.x)) and y.holds(p.y or 0.0)]  # fmt: skip
            if guide.strong:  # beside it, on the side where nothing can be
                inside = [(a + 9, b + 7) for a, b in inside[len(inside) // 2 :] if b + 12 < y.start]
            places = [Box(a + 1, b - 5, width, LETTERS) for a, b in inside if a + 1 + width <= x.end]
            if not guide.name or not places:
                continue
            free = (one for one in places if not any(_overlap(one, other) for other in taken))
            place = next(free, places[0])
            taken.append(place)
            at = (place.left, place.top + 8.5)
            back = f'x="{place.left - 1:.1f}" y="{place.top:.1f}" width="{width:.1f}" height="{LETTERS}"'
            parts.append(f'<rect {back} fill="{self.palette.paper}"/>' * (not guide.strong))
            parts.append(text(*at, guide.name, self.palette.quiet))
        return "".join(parts)

    def _mark_places(self, marks: Sequence[Mark], left: float, right: float) -> list[tuple[Mark, float, int]]:
        """Marks of the axis of x with where their names begin, and in which row above the panel."""
        scale = self.x.between(left + self.inset, right - self.inset)
        own = sorted((one for one in marks if one.axis == "x"), key=lambda one: one.value)
        at, sizes = [scale.clipped(one.value) for one in own], [text_width(one.name) for one in own]
        starts = [min(max(x - size / 2, left), right - size) for x, size in zip(at, sizes, strict=True)]
        rows = [0] * len(own)
        if any(starts[i] + sizes[i] + 5 > starts[i + 1] for i in range(len(own) - 1)):
            starts, rows = _beside_lines(at, sizes, left, right)
        return list(zip(own, starts, rows, strict=True))

    def _marks(self, marks: Sequence[Mark], box: Box, x: Scale, y: Scale) -> str:
        parts = [
            path(f"M{box.left:.1f} {y(one.value):.1f}h{box.width:.1f}", self.palette.limit, 1.1, "4 2.5")
            for one in marks
            if one.axis == "y"
        ]
        for place, (mark, start, row) in enumerate(self._mark_places(marks, box.left, box.right)):
            top = box.top - 3 - 11 * row
            parts.append(path(f"M{x(mark.value):.1f} {top:.1f}V{box.bottom:.1f}", self.palette.quiet, 0.9,
                              _MARKED[place % len(_MARKED)]))  # fmt: skip
            parts.append(text(start, top - 2, mark.name, self.palette.quiet))
        return "".join(parts)


def _covered(point: Point, x: Scale, y: Scale) -> list[Box]:
    """The places of a point and of its bars of error."""
    across, up = number(point.x), point.y or 0.0
    sides = [x.clipped(one) for one in (across, point.x_low, point.x_high) if one is not None and drawing.finite(one)]
    ends = [y.clipped(one) for one in point.ends]
    return [
        Box(min(sides) - 5, y(up) - 5, max(sides) - min(sides) + 10, 10),
        Box(x(across) - 5, min(ends) - 5, 10, max(ends) - min(ends) + 10),
    ]


def _beside_lines(
    at: Sequence[float], sizes: Sequence[float], left: float, right: float
) -> tuple[list[float], list[int]]:
    """Where names begin that stand to the right of their lines, or to the left, and their rows: no line crosses one."""
    after = all(x + 3 + size <= right for x, size in zip(at, sizes, strict=True))
    order = range(len(at) - 1, -1, -1) if after else range(len(at))
    starts = [x + 3 if after else max(x - 3 - size, left) for x, size in zip(at, sizes, strict=True)]
    rows, last = [0] * len(at), None
    for place in order:
        if last is not None:
            crossed = starts[place] + sizes[place] > at[last] - 3 if after else starts[place] < at[last] + 3
            rows[place] = rows[last] + 1 if crossed else 0
        last = place
    return starts, rows


# Names on one axis


class GroupedBars:
    """Groups of bars, side by side, or one below the other where the names of groups are long."""

    def __init__(self, given: Given):
        self.given, self.palette, self.names = given, given.palette, names_of(given.panels)
        self.groups = categories(given.panels)
        heights = [0.0, *(end for _, point in every_point(given.panels) for end in point.ends)]
        heights += [one.value for panel in given.panels for one in panel.marks]
        self.flat = not self._fits()
        axis = given.y
        labels = min(max(map(text_width, self.groups)), given.width * _LABELS)
        lines = max(len(drawing.lines(one, labels, most=2)) for one in self.groups)
        slot = max(len(self.names) * 10.0 + 7, LINE * lines + 5)
        self.height: float = len(self.groups) * slot if self.flat else round(min(max(given.room * 0.6, 110), 230))
        self.ends = 34.0 if self.flat and len(self.names) == 1 else 0.0
        most = max(2, int((given.room * (1 - _LABELS) if self.flat else self.height) / (40 if self.flat else 30)))
        low = 1.05 * min(heights) if -0.3 * max(heights) < min(heights) < 0 else None  # less than the next tick
        self.scale = drawing.scale(
            heights, low if axis.low is None else axis.low, axis.high, most=most, share=axis.unit == "share"
        )
        self.left = labels + 8 if self.flat else _left_of(axis, self.scale, self.height)
        self.below = self._below()
        self.above = 5.0

    def _fits(self) -> bool:
        """Whether every name of a group has room below its bars, in two lines."""
        slot = self.given.room / len(self.groups) - 3
        return len(self.names) * 4 <= slot and all(_fits(one, slot) for one in self.groups)

    def _below(self) -> float:
        if self.flat:
            return 18 + LINE * len(_label_lines(self.given.y, self.given.room * (1 - _LABELS)))
        rows = max(len(drawing.lines(one, self.given.room / len(self.groups) - 3)) for one in self.groups)
        return 4 + LINE * (rows + len(_label_lines(self.given.x, self.given.room)))

    def legend(self) -> list[Entry]:
        """The series, unless there is but one without a name, then lines across."""
        looks = {name: look(place, self.palette) for place, name in enumerate(self.names) if name}
        found = [Entry(name, drawing.bar(3, -4, 16, 8, one, self.palette.paper)) for name, one in looks.items()]
        across = dict.fromkeys(mark.name for panel in self.given.panels for mark in panel.marks)
        return found + [Entry(name, path("M0 0h22", self.palette.limit, 1.1, "4 2.5")) for name in across]

    def draw(self, panel: Panel, box: Box, first: bool) -> str:
        """The axis of values, the names of the groups, the bars, and marks across."""
        start, end = (box.left, box.right - self.ends) if self.flat else (box.bottom, box.top)
        scale = self.scale.between(start, end)
        if self.flat:
            body = _horizontal(self.given.y, scale, box, self.palette, grid=True)
        else:
            body = _vertical(self.given.y, scale, box, self.palette, first)
        body += self._group_names(box, first)
        for series in panel.series:
            body += "".join(self._bar(series, one, scale, box) for one in series.points if one.y is not None)
        zero = scale.clipped(0.0)
        body += path(f"M{zero:.1f} {box.top:.1f}v{box.height:.1f}" if self.flat else
                     f"M{box.left:.1f} {zero:.1f}h{box.width:.1f}", self.palette.quiet, 0.9)  # fmt: skip
        return body + "".join(self._mark(one, scale, box) for one in panel.marks)

    def _mark(self, mark: Mark, scale: Scale, box: Box) -> str:
        at = scale.clipped(mark.value)
        way = f"M{at:.1f} {box.top:.1f}v{box.height:.1f}" if self.flat else f"M{box.left:.1f} {at:.1f}h{box.width:.1f}"
        return path(way, self.palette.limit, 1.1, "4 2.5")

    def _group_names(self, box: Box, first: bool) -> str:
        slot, parts = (box.height if self.flat else box.width) / len(self.groups), []
        for place, name in enumerate(self.groups):
            middle = (place + 0.5) * slot
            if not self.flat:
                own, x = drawing.lines(name, slot - 3), box.left + middle
                parts.append(drawing.paragraph(x, box.bottom + 13, own, self.palette.ink, anchor="middle", full=name))
            elif first:
                own = drawing.lines(name, self.left - 8, most=2)
                y = box.top + middle + 3.5 - LINE / 2 * (len(own) - 1)
                parts.append(drawing.paragraph(box.left - 5, y, own, self.palette.ink, anchor="end", full=name))
        if not self.flat:
            rows = max(len(drawing.lines(one, slot - 3)) for one in self.groups)
            parts.append(_label_below(self.given.x, box, 1 + LINE * rows, self.palette))
        return "".join(parts)

    def _bar(self, series: Series, point: Point, scale: Scale, box: Box) -> str:
        """A bar with its interval, and with its value where there is one series from left to right."""
        place, group = self.names.index(series.name), self.groups.index(str(point.x))
        slot = (box.height if self.flat else box.width) / len(self.groups)
        thick = min((slot - min(8, 0.25 * slot)) / len(self.names), 11.0 if self.flat else 26.0)
        start = (group + 0.5) * slot + thick * (place - len(self.names) / 2)
        ends = sorted((scale.clipped(0.0), scale.clipped(point.y or 0.0)))
        shown, title = look(place, self.palette), say_point(series.name, point, self.given.x, self.given.y)
        rest, body = (self.palette.paper, title), thick * 0.94
        middle, value = start + body / 2, shown_value(point.y, self.given.y.unit)
        if self.flat:
            y, last = box.top + start, max(ends[1], *(scale.clipped(one) for one in point.ends))
            number_ = text(last + 4, box.top + middle + 3.5, value, self.palette.quiet) if self.ends else ""
            return drawing.bar(ends[0], y, ends[1] - ends[0], body, shown, *rest) + (
                self._whisker(point, scale, box.top + middle) + number_
            )
        x = box.left + start
        drawn = drawing.bar(x, ends[0], body, ends[1] - ends[0], shown, *rest)
        return drawn + self._whisker(point, scale, box.left + middle)

    def _whisker(self, point: Point, scale: Scale, at: float) -> str:
        if point.low is None or point.high is None or not drawing.finite(point.low + point.high):
            return ""
        low, high = scale.clipped(point.low), scale.clipped(point.high)
        way = (
            f"M{low:.1f} {at - 2:.1f}v4m0-2H{high:.1f}m0-2v4"
            if self.flat
            else f"M{at - 2:.1f} {low:.1f}h4m-2 0V{high:.1f}m-2 0h4"
        )
        return path(way, self.palette.paper, 2.4) + path(way, self.palette.ink, 0.9)


class HeatMap:
    """A matrix: a row for each series, a column for each name of x, the number in each cell."""

    def __init__(self, given: Given):
        self.given, self.palette, self.names = given, given.palette, names_of(given.panels)
        self.columns = categories(given.panels)
        values = [abs(point.y or 0.0) for _, point in every_point(given.panels)]
        most = [abs(one) for one in (given.y.low, given.y.high) if one is not None]
        self.most = max([*values, *most]) or 1.0
        self.left = min(max(map(text_width, self.names)), given.width * _LABELS) + 8
        self.cell = (given.width - self.left - 8) / given.across / len(self.columns)
        self.turned = not all(_fits(one, self.cell - 3) for one in self.columns)
        longest = max(map(text_width, self.columns))
        rows = max(len(drawing.lines(one, self.cell - 3)) for one in self.columns)
        self.above: float = 8 + (min(longest, _TURNED) if self.turned else LINE * rows)
        self.tall = min(max(self.cell * 0.62, 17.0), 30.0)
        self.height = self.tall * len(self.names)
        self.below = 5 + LINE * len(_label_lines(given.x, given.room))

    def legend(self) -> list[Entry]:
        """None: the numbers are in the cells."""
        return []

    def draw(self, panel: Panel, box: Box, first: bool) -> str:
        """The names, then cell by cell."""
        body = self._row_names(box) if first else ""
        wide = box.width / len(self.columns)
        body += "".join(self._column_name(name, box.left + (at + 0.5) * wide, box.top, wide)
                        for at, name in enumerate(self.columns))  # fmt: skip
        for series in panel.series:
            top = box.top + self.names.index(series.name) * self.tall
            for point in series.points:
                left = box.left + self.columns.index(str(point.x)) * wide
                body += self._cell(series, point, Box(left, top, wide, self.tall))
        return body + _label_below(self.given.x, box, -1, self.palette)

    def _number(self, value: float) -> str:
        """A value in a cell: a share in per cent, another with as many digits as its size needs."""
        if self.given.y.unit == "share":
            return f"{100 * value:.1f}".replace("-", "\u2212")
        return (f"{value:,.0f}" if self.most >= 100 else f"{value:.2f}").replace("-", "\u2212")

    def _row_names(self, box: Box) -> str:
        parts = []
        for row, name in enumerate(self.names):
            shown = drawing.shorten(name, self.left - 8)
            y = box.top + (row + 0.5) * self.tall + 3.5
            parts.append(text(box.left - 5, y, shown, self.palette.ink, anchor="end", full=name))
        return "".join(parts)

    def _column_name(self, name: str, x: float, top: float, wide: float) -> str:
        if self.turned:
            own = drawing.lines(name, _TURNED, most=2 if wide > 2 * LINE else 1)
            first = x + 3.5 - LINE / 2 * (len(own) - 1)
            return "".join(text(first + LINE * row, top - 4, line, self.palette.ink, turned=True, full=name)
                           for row, line in enumerate(own))  # fmt: skip
        own = drawing.lines(name, wide - 3)
        y = top - 4 - LINE * (len(own) - 1)
        return drawing.paragraph(x, y, own, self.palette.ink, anchor="middle", full=name)

    def _cell(self, series: Series, point: Point, box: Box) -> str:
        """Its colour is the deeper the further the value is from 0; negative values have another."""
        value, known = point.y or 0.0, point.y is not None
        depth = min(abs(value) / self.most, 1.0)
        fill = self.palette.high if value >= 0 else self.palette.low
        title = drawing.escaped(say_point(series.name, point, self.given.x, self.given.y))
        at = f'x="{box.left + 0.5:.1f}" y="{box.top + 0.5:.1f}"'
        at += f' width="{box.width - 1:.1f}" height="{box.height - 1:.1f}"'
        ink = self.palette.paper if depth > _DEEP else self.palette.ink
        shown = self._number(value) if known else "–"
        middle, y = box.left + box.width / 2, box.top + box.height / 2 + 3.5
        return (
            f'<rect {at} fill="{fill}" fill-opacity="{0.04 + 0.96 * depth:.3f}"><title>{title}</title></rect>'
            + text(middle, y, shown, ink, anchor="middle")
        )
