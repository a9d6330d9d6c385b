"""Figures with names on one axis: grouped bars with their intervals, and heat maps."""

from . import drawing
from .axes import Box, Given, fits, horizontal, label_below, label_lines, left_of, vertical
from .drawing import LINE, Entry, Scale, look, path, text, text_width
from .series import Mark, Panel, Point, Series, categories, every_point, names_of, say_point, shown_value

#: The widest labels of rows, as a share of the figure, and the longest of columns, which are turned.
_LABELS, _TURNED = 0.36, 100
#: The share of a colour above which the letters on it are those of the paper.
_DEEP = 0.63


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
        self.left = labels + 8 if self.flat else left_of(axis, self.scale, self.height)
        self.below = self._below()
        self.above = 5.0

    def _fits(self) -> bool:
        """Whether every name of a group has room below its bars, in two lines."""
        slot = self.given.room / len(self.groups) - 3
        return len(self.names) * 4 <= slot and all(fits(one, slot) for one in self.groups)

    def _below(self) -> float:
        if self.flat:
            return 18 + LINE * len(label_lines(self.given.y, self.given.room * (1 - _LABELS)))
        rows = max(len(drawing.lines(one, self.given.room / len(self.groups) - 3)) for one in self.groups)
        return 4 + LINE * (rows + len(label_lines(self.given.x, self.given.room)))

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
            body = horizontal(self.given.y, scale, box, self.palette, grid=True)
        else:
            body = vertical(self.given.y, scale, box, self.palette, first)
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
            parts.append(label_below(self.given.x, box, 1 + LINE * rows, self.palette))
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
        self.turned = not all(fits(one, self.cell - 3) for one in self.columns)
        longest = max(map(text_width, self.columns))
        rows = max(len(drawing.lines(one, self.cell - 3)) for one in self.columns)
        self.above: float = 8 + (min(longest, _TURNED) if self.turned else LINE * rows)
        self.tall = min(max(self.cell * 0.62, 17.0), 30.0)
        self.height = self.tall * len(self.names)
        self.below = 5 + LINE * len(label_lines(given.x, given.room))

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
        return body + label_below(self.given.x, box, -1, self.palette)

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
