"""The one plot: for each model a bar of problems that are always right, depend on the wording, or are always wrong.

Drawn as inline SVG by hand, which needs no plotting library. Widths are percentages, so text keeps its size on a
narrow screen; colours are CSS variables of the page, so the plot follows its light and dark palettes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from .numbers import count, percent

#: Class, label and where its text hangs (x, text-anchor), from left to right.
_PARTS = (
    ("right", "always right", "0", "start"),
    ("mixed", "depends on the wording", "50%", "middle"),
    ("wrong", "always wrong", "100%", "end"),
)
_ROW, _BAR, _NAME = 104, 26, 27
_HATCH = (
    '<defs><pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect class="mixed" width="7" height="7"/><rect class="thread" width="2" height="7"/></pattern></defs>'
)


@dataclass(frozen=True)
class Bar:
    """How many problems of a model are always right, mixed or always wrong; `single` have one rewording only."""

    model: str
    right: int
    mixed: int
    wrong: int
    single: int = 0

    @property
    def total(self) -> int:
        """All problems with at least one answered rewording."""
        return self.right + self.mixed + self.wrong


def draw(bars: Sequence[Bar]) -> str:
    """Draw the bars, one below the other, in SVG whose title and description say the same in words."""
    height = _ROW * len(bars) - 18
    rows = "\n".join(_row(bar, _ROW * i) for i, bar in enumerate(bars))
    title = "Problems by whether the answers to their rewordings are right"
    return (
        f'<svg class="plot" role="img" aria-labelledby="plot-title plot-desc" width="100%" height="{height}">\n'
        f'<title id="plot-title">{title}</title>\n<desc id="plot-desc">{escape(describe(bars))}</desc>\n'
        f"{_HATCH}\n{rows}\n</svg>"
    )


def describe(bars: Sequence[Bar]) -> str:
    """Say in words what the plot shows."""
    return " ".join(
        f"{bar.model}: of {count(bar.total, 'problem')}, "
        + ", ".join(f"{label} {getattr(bar, part):,} ({_share(bar, part)})" for part, label, _, _ in _PARTS)
        + "."
        for bar in bars
    )


def _row(bar: Bar, y: int) -> str:
    lines = [
        f'<text class="name" x="0" y="{y + 15}">{escape(_short(bar.model))}<title>{escape(bar.model)}</title></text>',
        f'<text class="quiet" x="100%" y="{y + 15}" text-anchor="end">{count(bar.total, "problem")}</text>',
    ]
    done = 0
    for part, label, x, anchor in _PARTS:
        number = getattr(bar, part)
        if number:
            lines.append(
                f'<rect class="part {part}" x="{_place(done, bar)}" y="{y + 24}" width="{_place(number, bar)}" '
                f'height="{_BAR}"><title>{label}: {number:,} ({_share(bar, part)})</title></rect>'
            )
        done += number
        lines.append(
            f'<text x="{x}" y="{y + 67}" text-anchor="{anchor}"><tspan class="{part}">■</tspan> '
            f'<tspan class="number">{number:,}</tspan> ({_share(bar, part)})</text>'
            f'<text class="quiet" x="{x}" y="{y + 83}" text-anchor="{anchor}">{label}</text>'
        )
    return "\n".join(lines)


def _place(number: int, bar: Bar) -> str:
    return f"{100 * number / bar.total:.3f}%"


def _share(bar: Bar, part: str) -> str:
    return f"{percent(getattr(bar, part) / bar.total)}\u00a0%"


def _short(name: str) -> str:
    """Keep both ends of a long name: the middle says least."""
    half = _NAME // 2
    return name if len(name) <= _NAME else f"{name[:half]}…{name[-half + 1 :]}"
