"""What the forms of figures share: the place of a panel, what a figure gives its form, and axes with their labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from . import drawing
from .drawing import LINE, Entry, Palette, Scale, path, text, text_width
from .series import Axis, FormName, Panel


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


def left_of(axis: Axis, scale: Scale, height: float) -> float:
    """How much room the ticks and the label of a vertical axis need."""
    ticks = max(text_width(scale.label(one)) for one in scale.ticks)
    return ticks + 11 + LINE * len(label_lines(axis, height))


def label_lines(axis: Axis, room: float) -> list[str]:
    """The name of an axis in at most two lines; none where it has no name."""
    return drawing.lines(axis.name, room, most=2) if axis.label else []


def vertical(axis: Axis, scale: Scale, box: Box, palette: Palette, first: bool) -> str:
    """Lines across for the ticks of a vertical axis; in the first panel of a row with their labels."""
    parts = [path(f"M{box.left:.1f} {scale(one):.1f}h{box.width:.1f}", palette.grid, 0.7) for one in scale.ticks]
    if first:
        widest = max(text_width(scale.label(one)) for one in scale.ticks)
        parts += [text(box.left - 5, scale(one) + 3.5, scale.label(one), palette.quiet, anchor="end")
                  for one in scale.ticks]  # fmt: skip
        own = label_lines(axis, box.height)
        for row, line in enumerate(own):
            x, y = box.left - widest - 12 - LINE * (len(own) - 1 - row), box.top + box.height / 2
            parts.append(text(x, y, line, palette.ink, anchor="middle", turned=True, full=axis.name))
    return "".join(parts)


def horizontal(axis: Axis, scale: Scale, box: Box, palette: Palette, grid: bool = False) -> str:
    """The line, ticks and label of an axis below a panel, with lines upwards for a grid."""
    parts = []
    for one in scale.ticks:
        up = f"V{box.top:.1f}" if grid else "v3.5"
        parts.append(path(f"M{scale(one):.1f} {box.bottom:.1f}{up}", palette.grid if grid else palette.quiet, 0.7))
        parts.append(text(scale(one), box.bottom + 14, scale.label(one), palette.quiet, anchor="middle"))
    parts.append(label_below(axis, box, 14, palette))
    return "".join(parts)


def label_below(axis: Axis, box: Box, below: float, palette: Palette) -> str:
    """The name of an axis under a panel, so far below its ticks."""
    middle, own = box.left + box.width / 2, label_lines(axis, box.width + 8)
    y = box.bottom + below + LINE + 1
    return drawing.paragraph(middle, y, own, palette.ink, anchor="middle", full=axis.name)


def base(box: Box, palette: Palette) -> str:
    """The line at the foot of a panel."""
    return path(f"M{box.left:.1f} {box.bottom:.1f}h{box.width:.1f}", palette.quiet, 0.9)


def clip(box: Box, body: str) -> str:
    """What is drawn in the coordinates of the figure, without what is outside the box."""
    at = f'x="{box.left:.1f}" y="{box.top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'
    view = f'viewBox="{box.left:.1f} {box.top:.1f} {box.width:.1f} {box.height:.1f}"'
    return f"<svg {at} {view}>{body}</svg>\n" if body else ""


def fits(name: str, width: float) -> bool:
    """Whether a name has room in two lines, whole."""
    own = drawing.lines(name, width)
    return len(own) <= 2 and "…" not in "".join(own)
