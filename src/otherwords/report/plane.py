"""Figures with numbers on both axes: lines with bars of error, scatters, and curves with bands."""

from collections.abc import Sequence
from itertools import pairwise

from . import drawing
from .axes import Box, Given, base, clip, horizontal, label_lines, left_of, vertical
from .drawing import LETTERS, LINE, Entry, Look, Scale, look, path, sign, text, text_width
from .series import Mark, Panel, Point, Series, every_point, names_of, number, say_point

#: From the edge of a plane to its first and last point; points above which signs would cover each other.
_INSET, _MANY = 7, 40
#: Lines for the marks of the axis of x, one after the other.
_MARKED = ("4 2.5", "1.5 2", "7 2 1.5 2")


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
        self.left = left_of(y, self.y, self.height)
        self.below = 18 + LINE * len(label_lines(x, given.room))
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
        body = vertical(self.given.y, y, box, self.palette, first) + base(box, self.palette)
        body += horizontal(self.given.x, x, box, self.palette)
        body += clip(box, "".join(self._guide(one, x, y) for one in panel.guides))
        body += self._guide_names(panel, x, y) + self._marks(panel.marks, box, x, y)
        drawn = [self._series(one, x, y) for one in panel.series if one.points]
        return body + clip(box, "".join(line for line, _ in drawn)) + "".join(signs for _, signs in drawn)

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


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether two boxes, as left, top, width and height, have a place in common."""
    return all(one[i] < other[i] + other[i + 2] and other[i] < one[i] + one[i + 2] for i in (0, 1))
