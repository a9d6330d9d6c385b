"""What a figure shows, as data: points with intervals, in series, in panels, on axes with names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from .drawing import finite

#: What can be drawn. Lines have signs and bars of error, curves bands; scatters have signs alone; bars and heat maps
#: have names, not numbers, for x: the groups of bars, the columns of a map, whose rows are the series.
FormName = Literal["lines", "scatter", "curves", "bars", "heat"]
#: The forms that have numbers on both axes.
NUMERIC = ("lines", "scatter", "curves")


@dataclass(frozen=True)
class Axis:
    """What an axis shows, and where it ends if not where the data do; a "share" is printed in per cent."""

    label: str = ""
    unit: Literal["number", "share"] = "number"
    low: float | None = None
    high: float | None = None

    @property
    def name(self) -> str:
        """The label with its unit."""
        return f"{self.label} (%)" if self.unit == "share" else self.label


#: An axis without a name.
NO_AXIS = Axis()


@dataclass(frozen=True)
class Point:
    """A value, `y`, at `x`; the ends of its interval, and that of x, where there are any. NaN and None are no value."""

    x: float | str
    y: float | None
    low: float | None = None
    high: float | None = None
    x_low: float | None = None
    x_high: float | None = None

    @property
    def ends(self) -> list[float]:
        """The value and the ends of its interval, as far as they are numbers."""
        return [one for one in (self.y, self.low, self.high) if one is not None and finite(one)]


@dataclass(frozen=True)
class Series:
    """Points that belong together under one name, which has the same colour and sign in all panels.

    A `strong` guide is drawn as a solid line: one that means more than the others.
    """

    name: str
    points: Sequence[Point]
    strong: bool = False

    @classmethod
    def of(
        cls,
        name: str,
        x: Sequence[float | str],
        y: Sequence[float | None],
        low: Sequence[float | None] | None = None,
        high: Sequence[float | None] | None = None,
        *,
        strong: bool = False,
    ) -> "Series":
        """A series from columns.

        >>> Series.of("m", [0, 1], [0.5, 0.7], [0.4, 0.6], [0.6, 0.8]).points[1]
        Point(x=1, y=0.7, low=0.6, high=0.8, x_low=None, x_high=None)
        """
        none = [None] * len(y)
        columns = zip(x, y, low or none, high or none, strict=True)
        return cls(name, tuple(Point(*one) for one in columns), strong)


@dataclass(frozen=True)
class Mark:
    """A line across a panel at a value of x (its name stands above) or of y (its name is in the legend)."""

    value: float
    name: str
    axis: Literal["x", "y"] = "x"


@dataclass(frozen=True)
class Panel:
    """Series over one pair of axes; `guides` are curves behind them, named where they are, such as bounds."""

    title: str
    series: Sequence[Series]
    guides: Sequence[Series] = ()
    marks: Sequence[Mark] = ()


def drawable(panel: Panel, numeric: bool) -> Panel:
    """A panel without points that cannot be drawn; those without a value stay in rows of names."""
    return replace(
        panel,
        series=[_kept(one, numeric) for one in panel.series],
        guides=[_kept(one, True) for one in panel.guides],
        marks=[one for one in panel.marks if finite(one.value)],
    )


def _kept(series: Series, numeric: bool) -> Series:
    if numeric:
        return replace(series, points=[one for one in series.points if finite(one.y) and _is_number(one.x)])
    return replace(series, points=[one if finite(one.y) else Point(one.x, None) for one in series.points])


def _is_number(x: float | str) -> bool:
    return not isinstance(x, str) and finite(x)


def number(x: float | str) -> float:
    """The x of a point in a form with numbers on both axes."""
    return float(x)


def names_of(panels: Sequence[Panel]) -> list[str]:
    """The names of all series, in the order in which they come up."""
    return list(dict.fromkeys(one.name for panel in panels for one in panel.series))


def categories(panels: Sequence[Panel]) -> list[str]:
    """All names on the axis of x, in the order in which they come up."""
    every = (point for panel in panels for one in panel.series for point in one.points)
    return list(dict.fromkeys(str(point.x) for point in every))


def every_point(panels: Sequence[Panel]) -> Iterator[tuple[Series, Point]]:
    """All points with a value of all series, without the guides."""
    points = ((one, point) for panel in panels for one in panel.series for point in one.points)
    return ((one, point) for one, point in points if point.y is not None)


def shown_value(value: float | None, unit: str) -> str:
    r"""A value in words: a share in per cent.

    >>> shown_value(0.1234, "share").replace("\u00a0", " "), shown_value(12.3456, "number"), shown_value(None, "share")
    ('12.3 %', '12.35', '–')
    """
    if value is None or not finite(value):
        return "–"
    text = f"{100 * value:.1f}\u00a0%" if unit == "share" else f"{value:.4g}"
    return text.replace("-", "\u2212")


def say_point(name: str, point: Point, x: Axis, y: Axis) -> str:
    """A point in words, for those who point at it."""
    across = point.x if isinstance(point.x, str) else f"{x.label or 'x'} {shown_value(point.x, x.unit)}"
    value = shown_value(point.y, y.unit)
    if finite(point.low) and finite(point.high):
        value += f" [{shown_value(point.low, y.unit)}, {shown_value(point.high, y.unit)}]"
    return ", ".join(filter(None, (name, across, f"{y.label} {value}".strip())))


def describe_panels(panels: Sequence[Panel], form: FormName, x: Axis, y: Axis) -> str:
    """Say in words what panels show: the ends of lines and curves, all values of the other forms."""
    sentences = [_describe_series(panel, one, form, x, y) for panel in panels for one in panel.series if one.points]
    start = f"{y.label} by {x.label}. " if x.label and y.label else f"{y.label}. " if y.label else ""
    return f"{start}{'; '.join(sentences)}."


def _describe_series(panel: Panel, series: Series, form: FormName, x: Axis, y: Axis) -> str:
    ends = series.points if form not in ("lines", "curves") else [series.points[0], series.points[-1]]
    across = {id(one): one.x if isinstance(one.x, str) else shown_value(one.x, x.unit) for one in ends}
    joint = " " if form in ("bars", "heat") else " at "
    descriptions = [
        f"{across[id(one)]} {shown_value(one.y, y.unit)}" if joint == " " else
        f"{shown_value(one.y, y.unit)}{joint}{across[id(one)]}"
        for one in dict.fromkeys(ends)
    ]  # fmt: skip
    return f"{', '.join(filter(None, (panel.title, series.name)))}: {', '.join(descriptions)}"
