"""What figures are drawn with: colours, signs, text that is measured, scales with round ticks, legends. All as SVG.

Lengths are CSS pixels, 96 to the inch: a figure of one column of print is 8.5 cm wide, and its smallest letters have
7.5 points. Colours are attributes, without a style sheet, so that programs other than browsers read the files, too.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from ..training.history import round_ticks

#: The width of one and of two columns of print (8.5 and 17.5 cm), and the sizes of letters and titles.
NARROW, WIDE, LETTERS, TITLE = 321, 661, 10, 11
#: How high a line of letters and of a title is; what is left free around a figure.
LINE, TITLE_LINE, EDGE = 12.5, 14, 4
#: Widths of the letters from space to tilde in Helvetica, in thousandths of their size (Adobe's font metrics).
_WIDTHS = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, *[556] * 10, 278, 278, 584, 584,
    584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611,
    722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
)  # fmt: skip
#: Other fonts that may stand in for it are up to a tenth wider, bold letters another tenth.
_WIDER, _BOLD = 1.07, 1.08
_FONTS = "Helvetica Neue,Helvetica,Arial,Liberation Sans,sans-serif"
#: Characters that XML does not have.
_NO_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
#: Signs of about the same area around their place; they tell series apart where colours do not.
_SIGNS = (
    "m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0z",
    "m-2.9-2.9h5.8v5.8h-5.8z",
    "m0-4.1l3.7 6.6h-7.4z",
    "m0-4.2l4.2 4.2-4.2 4.2-4.2-4.2z",
    "m0 4.1l-3.7-6.6h7.4z",
    "m-1.3-3.8h2.6v2.5h2.5v2.6h-2.5v2.5h-2.6v-2.5h-2.5v-2.6h2.5z",
    "m-3.6 0l1.8-3.1h3.6l1.8 3.1-1.8 3.1h-3.6z",
)
_DASHES = ("", "6 2.5", "2 2", "8 2.5 2 2.5", "11 3.5")
#: Hatches of bars, as lines that start this often and lead so far across and up; the first bars have none.
_HATCHES = ((0, 0, 0), (6, 1, 1), (6, -1, 1), (5, 0, 1), (5, 1, 0), (3.5, 1, 1), (3.5, -1, 1))


@dataclass(frozen=True)
class Palette:
    """The colours of a figure: what is read, what is less important, what is behind it, and the series."""

    ink: str
    quiet: str
    grid: str
    paper: str
    limit: str
    high: str
    low: str
    series: tuple[str, ...]


#: Okabe and Ito's colours (2008), which colour-blind readers tell apart, without their yellow, which white hides.
LIGHT = Palette(
    ink="#1f2429", quiet="#555d65", grid="#e3e4e0", paper="#ffffff", limit="#a3341f", high="#00507d", low="#9c3d00",
    series=("#0072b2", "#d55e00", "#009e73", "#b5558b", "#1f2429", "#d08f00", "#3f9fd6"),
)  # fmt: skip
DARK = Palette(
    ink="#e4e6e8", quiet="#9ba5ae", grid="#33393f", paper="#15181b", limit="#f0917c", high="#5aa5d6", low="#e08a4a",
    series=("#4aa3df", "#ef8a45", "#35c196", "#dd9cc0", "#e4e6e8", "#e9b13b", "#9bd2f5"),
)  # fmt: skip


def _named(palette: Palette) -> dict[str, str]:
    """The colours of a palette by the names that a page's style sheet gives them."""
    roles = {name: colour for name, colour in vars(palette).items() if name != "series"}
    numbered = {str(number): colour for number, colour in enumerate(palette.series, 1)}
    return {f"--fig-{name}": colour for name, colour in (roles | numbered).items()}


def _variables(light: Palette) -> Palette:
    """A palette of the names, each with the light colour for a page that does not define it."""
    ink, quiet, grid, paper, limit, high, low, *series = (
        f"var({name},{colour})" for name, colour in _named(light).items()
    )
    return Palette(ink, quiet, grid, paper, limit, high, low, tuple(series))


#: Colours that follow the page's, which defines them by STYLE.
PAGE = _variables(LIGHT)


def _sheet(palette: Palette) -> str:
    return ":root{" + ";".join(f"{name}:{colour}" for name, colour in _named(palette).items()) + "}"


#: What a page with figures has in its style sheet, once: light and dark colours, and that a figure fits its place.
STYLE = f"{_sheet(LIGHT)}\n@media (prefers-color-scheme: dark){{{_sheet(DARK)}}}\n.fig{{max-width:100%;height:auto}}\n"


class Look(NamedTuple):
    """How a series is drawn: its colour, dashes, sign, whether the sign is hollow, and the hatch of its bars."""

    colour: str
    dashes: str
    sign: str
    hollow: bool
    hatch: tuple[float, int, int]


def look(number: int, palette: Palette) -> Look:
    """How the series of that number is drawn; the first 35 are all different, also without colour the first 14."""
    round_, place = divmod(number, len(palette.series))
    return Look(
        palette.series[place],
        _DASHES[(number + round_) % len(_DASHES)],
        _SIGNS[place],
        bool(round_ % 2),
        _HATCHES[(number + round_) % len(_HATCHES)],
    )


# Text


def escaped(content: str) -> str:
    """Text as XML has it."""
    return escape(_NO_XML.sub("\ufffd", content))


def text_width(content: str, size: float = LETTERS, bold: bool = False) -> float:
    """How wide a text is at most, whichever of the usual fonts there is.

    >>> round(text_width("accuracy")), round(text_width("精度"))
    (43, 21)
    """
    known = sum(_WIDTHS[ord(one) - 32] if " " <= one <= "~" else 600 if one < "\u2e80" else 1000 for one in content)
    return known * size * _WIDER * (_BOLD if bold else 1) / 1000


def shorten(content: str, width: float, size: float = LETTERS, bold: bool = False) -> str:
    """A text cut in its middle to fit: names of models differ at both ends.

    >>> shorten("organisation/deberta-v3-large-mnli-fever", 120)
    'organisation…-mnli-fever'
    """
    if text_width(content, size, bold) <= width:
        return content
    for kept in range(len(content) - 1, 1, -1):
        cut = f"{content[: -(-kept // 2)]}…{content[len(content) - kept // 2 :]}"
        if text_width(cut, size, bold) <= width:
            return cut
    return "…"


def lines(content: str, width: float, size: float = LETTERS, bold: bool = False, most: int = 99) -> list[str]:
    """A text in lines of at most this width, broken at spaces and after slashes, hyphens and underscores.

    What is left after the last line, and a word that is wider than a line, is cut.
    """
    found = [""]
    words = re.findall(r"[^\s/_-]*[/_-]+|[^\s/_-]+|\s+", content.strip())
    for place, word in enumerate(words):
        if not found[-1] or text_width((found[-1] + word).rstrip(), size, bold) <= width:
            found[-1] += word if found[-1] or not word.isspace() else ""
        elif len(found) == most:
            found[-1] += "".join(words[place:])
            break
        else:
            found.append(word.lstrip())
    return [shorten(one.strip(), width, size, bold) for one in found if one.strip()]


def text(
    x: float, y: float, content: str, colour: str, *, anchor: str = "start", size: float = LETTERS, bold: bool = False,
    turned: bool = False, full: str = "",
) -> str:  # fmt: skip
    """A line of text; `full` is what it says where it was cut."""
    place = f'transform="translate({x:.1f} {y:.1f}) rotate(-90)"' if turned else f'x="{x:.1f}" y="{y:.1f}"'
    more = "" if size == LETTERS else f' font-size="{size:g}"'
    more += ' font-weight="600"' if bold else ""
    more += "" if anchor == "start" else f' text-anchor="{anchor}"'
    title = f"<title>{escaped(full)}</title>" if full and full != content else ""
    return f'<text {place} fill="{colour}"{more}>{title}{escaped(content)}</text>\n'


def paragraph(
    x: float, y: float, content: Sequence[str], colour: str, step: float = LINE, *, anchor: str = "start",
    size: float = LETTERS, bold: bool = False, full: str = "",
) -> str:  # fmt: skip
    """Lines of text one below the other, the first at y."""
    full = full if full != " ".join(content) else ""
    return "".join(
        text(x, y + step * row, line, colour, anchor=anchor, size=size, bold=bold, full=full)
        for row, line in enumerate(content)
    )


# Scales


@dataclass(frozen=True)
class Scale:
    """From values to places: `low` is at `start`, `high` at `end`. Shares are printed in per cent."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    share: bool = False

    def __call__(self, value: float) -> float:
        """Where a value is."""
        return round(self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low), 2)

    def holds(self, value: float) -> bool:
        """Whether a value is on it."""
        return self.low <= value <= self.high

    def clipped(self, value: float) -> float:
        """Where a value is, or the end beyond which it is."""
        return self(min(max(value, self.low), self.high))

    def label(self, tick: float) -> str:
        """A tick as printed."""
        return f"{100 * tick if self.share else tick:.10g}".replace("-", "\u2212")

    def between(self, start: float, end: float) -> "Scale":
        """The same scale in another place."""
        return Scale(self.low, self.high, start, end, self.ticks, self.share)


def scale(
    values: Sequence[float], low: float | None = None, high: float | None = None, *, most: int = 5, share: bool = False
) -> Scale:
    """A scale around all values with about so many round ticks; a `low` or `high` that is given is its end."""
    ends = [one for one in (*values, low, high) if one is not None]
    ticks = round_ticks([one if abs(one) > 1e-100 else 0.0 for one in ends] or [0.0, 1.0], most)
    first = ticks[0] if low is None or low > ticks[-2] else low
    last = ticks[-1] if high is None or high <= max(first, ticks[0]) else high
    slack = (last - first) * 1e-9
    kept = tuple(one for one in ticks if first - slack <= one <= last + slack)
    return Scale(first, last, 0.0, 1.0, kept, share)


def finite(value: float | None) -> bool:
    """Whether a number can be drawn: there is one, and it is neither infinite nor beyond all scales."""
    return value is not None and math.isfinite(value) and abs(value) < 1e100


# Parts of figures


def path(way: str, colour: str, width: float = 1.4, dashes: str = "", fill: str = "none", more: str = "") -> str:
    """A line, or what it encloses."""
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<path d="{way}" fill="{fill}" stroke="{colour}" stroke-width="{width:g}"{dashed}{more}/>\n'


def sign(x: float, y: float, shown: Look, paper: str, title: str = "") -> str:
    """The sign of a point, and what it says when it is pointed at."""
    inner = f"<title>{escaped(title)}</title>" if title else ""
    fill, edge = (paper, shown.colour) if shown.hollow else (shown.colour, paper)
    stroke = f'stroke="{edge}" stroke-width="{1.3 if shown.hollow else 0.6}"'
    return f'<path d="M{x:.1f} {y:.1f}{shown.sign}" fill="{fill}" {stroke}>{inner}</path>\n'


def bar(x: float, y: float, width: float, height: float, shown: Look, paper: str, title: str = "") -> str:
    """A filled rectangle with the hatch of its series, drawn without a pattern: a page might have its id twice."""
    inner = f"<title>{escaped(title)}</title>" if title else ""
    step, across, up = shown.hatch
    count = int((width + height) / step) + 1 if step else 0
    reach = width + height
    if across and up:
        begin = -height if across > 0 else 0
        ways = "".join(f"M{begin + i * step:.1f} {height:.1f}l{across * reach:.1f} {-reach:.1f}" for i in range(count))
    elif up:
        ways = "".join(f"M{(i + 0.5) * step:.1f} 0v{height:.1f}" for i in range(int(width / step) + 1) if step)
    else:
        ways = "".join(f"M0 {(i + 0.5) * step:.1f}h{width:.1f}" for i in range(count) if step)
    hatch = f'<path d="{ways}" stroke="{paper}" stroke-width="1" fill="none"/>' if ways else ""
    return (
        f'<svg x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.01):.2f}" height="{max(height, 0.01):.2f}">{inner}'
        f'<rect width="100%" height="100%" fill="{shown.colour}"/>{hatch}</svg>\n'
    )


class Entry(NamedTuple):
    """What a legend explains: a name, and how it is drawn as a piece of 22 by 8 around its place."""

    name: str
    key: str


def legend(entries: Sequence[Entry], width: float, top: float, palette: Palette) -> tuple[str, float]:
    """Entries in a row, or else in columns if their names are short enough; and where they end below."""
    sizes = [min(width, 38 + text_width(one.name)) for one in entries]
    if sum(sizes) > width and max(sizes) <= width / 2:
        sizes = [max(sizes)] * len(sizes)
    parts, x, y = [], 0.0, top
    for entry, size in zip(entries, sizes, strict=True):
        if x and x + size > width:
            x, y = 0.0, y + LINE
        parts.append(f'<g transform="translate({EDGE + x:.1f} {y + 7:.1f})">{entry.key}</g>')
        parts.append(text(EDGE + x + 27, y + 10.5, shorten(entry.name, size - 30), palette.ink, full=entry.name))
        x += size
    return "".join(parts), y + (LINE + 3 if entries else 0)


def document(title: str, words: str, width: float, height: float, body: str, palette: Palette) -> str:
    """The whole picture; one with the page's colours has no size or background of its own: it fills its place."""
    inline = palette is PAGE
    size = (
        f'class="fig" width="{1.4 * width:.0f}"'
        if inline
        else f'width="{width / 96 * 25.4:.1f}mm" height="{height / 96 * 25.4:.1f}mm"'
    )
    back = "" if inline else f'<rect width="100%" height="100%" fill="{palette.paper}"/>\n'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escaped(title)}" {size} '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="{_FONTS}" font-size="{LETTERS}">\n'
        f"<title>{escaped(title)}</title>\n<desc>{escaped(words)}</desc>\n{back}{body}</svg>\n"
    )
