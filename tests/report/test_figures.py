"""Figures: well-formed pictures of five forms, whatever the names and numbers are, that need no colour to be read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any
from xml.etree import ElementTree

import pytest
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.report import drawing
from otherwords.report.figures import STYLE, Axis, Figure, Mark, Panel, Point, Series, consistency_plane

SVG = "{http://www.w3.org/2000/svg}"
FORMS = ("lines", "scatter", "curves", "bars", "heat")
LONG = "organisation-with-a-long-name/DeBERTa-v3-large-mnli-fever-anli-ling-wanli"
NUMBERS = st.floats(-1e6, 1e6) | st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 1e300, 5e-324, None])
NAMES = st.text(max_size=30)  # control characters and lone surrogates among them


def axes(form: str) -> dict[str, Axis]:
    return {"x": Axis("across"), "y": Axis("accuracy", "share")} if form else {}


def series(form: str, name: str, count: int = 4, start: float = 0.3) -> Series:
    places: list[Any] = [f"g{i}" if form in ("bars", "heat") else i / 10 for i in range(count)]
    values = [start + 0.05 * i for i in range(count)]
    return Series.of(name, places, values, [one - 0.02 for one in values], [one + 0.02 for one in values])


def figure(form: Any, names: list[str], panels: int = 1, **more: Any) -> Figure:
    own = [series(form, name, start=0.1 + 0.03 * place) for place, name in enumerate(names)]
    some = [Panel(f"panel {place}" if panels > 1 else "", own) for place in range(panels)]
    return Figure("figure", "Title", form, some, **axes(form), **more)


def tree(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def texts(svg: str) -> list[str]:
    return ["".join(one.itertext()) for one in tree(svg).iter(f"{SVG}text")]


def shown(one: ElementTree.Element) -> str:
    """What a text shows: without the title that is shown where one points at it."""
    return "".join(part for part in [one.text, *(child.tail for child in one)] if part)


def boxes(svg: str) -> Iterator[tuple[str, tuple[float, float, float, float]]]:
    """Every text that is not turned, with its left, top, right and bottom."""
    for one in tree(svg).iter(f"{SVG}text"):
        if one.get("transform"):
            continue
        size, label = float(one.get("font-size", drawing.LETTERS)), shown(one)
        width = drawing.text_width(label, size, bool(one.get("font-weight"))) / 1.07
        x = float(one.get("x", 0)) - {"start": 0, "middle": width / 2, "end": width}[one.get("text-anchor", "start")]
        y = float(one.get("y", 0))
        yield label, (x, y - 0.7 * size, x + width, y)


def overlaps(svg: str) -> list[tuple[str, str]]:
    return [(a, b) for (a, one), (b, other) in combinations(boxes(svg), 2)
            if one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]]  # fmt: skip


@settings(max_examples=at_most(60), deadline=None)
@given(form=st.sampled_from(FORMS), names=st.lists(NAMES, min_size=1, max_size=4), data=st.data())
def test_any_names_and_numbers_make_a_picture(form: Any, names: list[str], data: st.DataObject) -> None:
    places: Any = NAMES if form in ("bars", "heat") else NUMBERS.filter(lambda one: one is not None)
    points = st.lists(st.builds(Point, places, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS), max_size=4)
    some = [Series(name, [*data.draw(points), Point("a" if form in ("bars", "heat") else 1.0, 0.5)]) for name in names]
    marks = [Mark(data.draw(NUMBERS.filter(lambda one: one is not None)), names[0], "y")]
    one = Figure("f", "a <b> & c", form, [Panel(names[0], some, marks=marks)] * 2, Axis(names[0]), Axis(names[-1]))
    for svg in (one.svg(), one.inline()):
        svg.encode()  # can be written
        assert next(tree(svg).iter(f"{SVG}title")).text == "a <b> & c"
        drawn = " ".join(str(value) for part in tree(svg).iter() for value in part.attrib.values())
        assert not re.search(r"\b(nan|inf|None)\b", drawn.replace(names[0], ""))
    json.dumps(one.data(), allow_nan=False)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("names", [["one"], ["a", "b"], [f"model {i}" for i in range(12)], [LONG, f"second-{LONG}"]])
@pytest.mark.parametrize("panels", [1, 3])
def test_no_text_covers_another_or_leaves_the_picture(form: str, names: list[str], panels: int) -> None:
    marks = [Mark(0.1, "majority threshold"), Mark(0.12, "quality threshold"), Mark(0.4, "chance of a label", "y")]
    one = figure(form, names, panels, note="A note that is longer than one line, about bars of error. " * 2)
    if form in ("lines", "scatter", "curves"):
        one = Figure(one.name, one.title * 20, one.form, [Panel(p.title, p.series, marks=marks) for p in one.panels],
                     Axis("a label that is longer than its axis, " * 3), one.y, one.note)  # fmt: skip
    svg = one.svg()
    assert overlaps(svg) == []
    assert all(box[0] >= 0 and box[2] <= one.width for _, box in boxes(svg))
    crowded = form == "bars" and len(names) * 4 > 24
    assert one.width == (drawing.WIDE if panels > 1 or crowded else drawing.NARROW)


def test_texts_that_cover_each_other_would_be_found() -> None:
    assert overlaps(f'<svg xmlns="{SVG[1:-1]}"><text x="0" y="9">abc</text><text x="5" y="9">def</text></svg>')


@pytest.mark.parametrize("form", FORMS)
def test_letters_are_readable_at_the_width_of_a_column(form: str) -> None:
    root = tree(figure(form, ["a", "b"]).svg())
    millimetres = float(root.get("width", "").removesuffix("mm"))
    scale = millimetres / float(root.get("viewBox", "").split()[2])
    sizes = [float(one.get("font-size", root.get("font-size", 0))) for one in root.iter(f"{SVG}text")]
    assert millimetres <= 85
    assert min(sizes) * scale / 25.4 * 72 >= 7


@pytest.mark.parametrize("form", ["lines", "scatter", "curves", "bars"])
def test_fourteen_series_are_told_apart_without_colour(form: str) -> None:
    looks = [drawing.look(number, drawing.LIGHT) for number in range(14)]
    if form == "bars":
        assert len({(one.colour, one.hatch) for one in looks}) == 14
        assert len({one.hatch for one in looks}) == 7
    elif form == "curves":
        assert len({(one.colour, one.dashes) for one in looks}) == 14
    else:
        assert len({(one.sign, one.hollow) for one in looks}) == 14


@pytest.mark.parametrize("form", FORMS)
def test_a_part_of_a_page_has_the_colours_of_its_style_sheet(form: str) -> None:
    one = figure(form, ["a", "b"])
    colours = {value for part in tree(one.inline()).iter() for name in ("fill", "stroke") if (value := part.get(name))}
    assert all(re.fullmatch(r"none|var\((--fig-\w+),#\w{6}\)", colour) for colour in colours)
    used = {colour[4:].partition(",")[0] for colour in colours if colour != "none"}
    light, dark = (set(re.findall(r"(--fig-\w+):", part)) for part in STYLE.split("@media"))
    assert used <= light == dark
    assert "var(" not in one.svg()
    assert "id=" not in one.inline()  # which a page might have twice


@pytest.mark.parametrize("form", FORMS)
def test_a_picture_says_what_it_shows(form: str) -> None:
    root = tree(figure(form, ["first"]).svg())
    words = next(root.iter(f"{SVG}desc")).text or ""
    assert root.get("role") == "img"
    assert "first" in words
    assert "10.0\u00a0%" in words
    assert "25.0\u00a0%" in words


def test_axes_marks_and_series_are_named_once() -> None:
    own, marks = [series("lines", "first"), series("lines", "second")], [Mark(0.1, "MT"), Mark(0.3, "limit", "y")]
    panels = [Panel(name, own, marks=marks) for name in ("left", "right")]
    found = texts(Figure("f", "Title", "lines", panels, Axis("rho"), Axis("accuracy", "share")).svg())
    once = dict.fromkeys(("Title", "left", "right", "first", "second", "limit", "accuracy (%)"), 1)
    counts = {**once, "rho": 2, "MT": 2}
    assert {name: found.count(name) for name in counts} == counts


def test_a_name_that_is_cut_is_whole_in_its_title() -> None:
    svg = figure("lines", [LONG]).svg()
    cut = [one for one in tree(svg).iter(f"{SVG}text") if "…" in shown(one)]
    assert [child.text for one in cut for child in one] == [LONG]
    assert shown(cut[0]).startswith("organisation")
    assert shown(cut[0]).endswith("wanli")


def bars(svg: str) -> list[tuple[float, float]]:
    """Width and height of each bar but those of the legend."""
    found = [
        (float(one.get("width", 0)), float(one.get("height", 0))) for one in tree(svg).iter(f"{SVG}svg") if one.get("x")
    ]
    return [one for one in found if one != (16.0, 8.0)]


def test_a_bar_reaches_as_far_as_its_value() -> None:
    upright = Figure("f", "t", "bars", [Panel("", [Series.of("m", ["a", "b", "c"], [0.12, 0.03, None])])])
    heights = [height for _, height in bars(upright.svg())]
    assert heights == [pytest.approx(4 * heights[1], rel=0.01), heights[1]]
    names = ["man → adult male, grown up", "a <b> that is longer than its bar is wide", "none at all of these names"]
    flat = Figure("f", "t", "bars", [Panel("", [Series.of("", names, [0.12, -0.03, 0.0])])], y=Axis("share", "share"))
    widths = [width for width, _ in bars(flat.svg())]
    assert widths == [pytest.approx(4 * widths[1], rel=0.01), widths[1], pytest.approx(0, abs=0.02)]
    assert {"12.0\u00a0%", "−3.0\u00a0%"} <= set(texts(flat.svg()))


def test_groups_stay_in_order_where_a_value_is_missing() -> None:
    one = Figure("f", "t", "bars", [Panel("", [Series.of("m", ["a", "b", "c"], [None, math.nan, 0.2])])])
    assert [text for text in texts(one.svg()) if text in "abc"] == ["a", "b", "c"]


def test_cells_of_a_map_have_their_numbers() -> None:
    rows = [Series.of("r1", ["a", "b"], [1.0, -0.25]), Series.of("r2", ["a", "b"], [0.5, None])]
    svg = Figure("f", "t", "heat", [Panel("", rows)], y=Axis("overlap", "share")).svg()
    assert [text for text in texts(svg) if re.fullmatch("[−–0-9.]+", text)] == ["100.0", "−25.0", "50.0", "–"]
    depths = [float(one.get("fill-opacity", 0)) for one in tree(svg).iter(f"{SVG}rect") if one.get("fill-opacity")]
    assert depths[0] == 1 > depths[2] > depths[1] > depths[3]


def test_the_plane_has_its_bound_and_curves_of_equal_pvap() -> None:
    one = consistency_plane(
        "f", "t", [Panel("", [Series("m", [Point(0.8, 0.84, 0.8, 0.88, 0.78, 0.82)])])], levels=(0.5,)
    )
    curves = {guide.name: {round(float(p.x), 3): p.y for p in guide.points} for guide in one.panels[0].guides}
    assert curves["least possible"][0.5] == 0.5
    assert curves["PVAP 50 %"][0.5] == 0.75
    assert curves["PVAP 50 %"][1.0] == curves["least possible"][1.0] == 1
    assert {"least possible", "PVAP 50 %", "accuracy (%)"} <= {shown(one) for one in tree(one.svg()).iter(f"{SVG}text")}


def test_the_plane_holds_points_below_the_bound_and_their_intervals() -> None:
    """Corrected values may lie there: deciles without a problem count as 0."""
    low = consistency_plane("f", "t", [Panel("", [Series("m", [Point(0.6, 0.31, 0.17, 0.5, 0.5, 0.7)])])])
    assert low.y.low == 0.1
    assert "consistency P_C 31.0" in "".join(one.text or "" for one in tree(low.svg()).iter(f"{SVG}title"))
    assert consistency_plane("f", "t", [Panel("", [Series("m", [Point(0.6, 0.8)])])]).y.low == 0.5


@pytest.mark.parametrize("form", FORMS)
def test_one_point_is_drawn_in_the_middle(form: Any) -> None:
    x: Any = "a" if form in ("bars", "heat") else 0.7
    svg = Figure("f", "t", form, [Panel("", [Series.of("m", [x], [0.5])])], Axis("x"), Axis("y")).svg()
    if form in ("lines", "scatter", "curves"):
        signs = [re.match(r"M([\d.]+) ([\d.]+)m", one.get("d", "")) for one in tree(svg).iter(f"{SVG}path")]
        places = [(float(one[1]), float(one[2])) for one in signs if one]
        assert any(150 < x < 210 and y > 60 for x, y in places)
    assert "0.5" in (next(tree(svg).iter(f"{SVG}desc")).text or "")


@pytest.mark.parametrize(
    "change",
    [
        {"panels": []},
        {"panels": [Panel("", [Series.of("m", [0.1], [math.nan])])]},
        {"panels": [Panel("", [Series.of("m", ["a"], [0.5])])]},
        {"form": "bars"},
        {"name": "../f"},
    ],
    ids=["no panel", "no number", "a name for x", "a number for x", "a path"],
)
def test_what_cannot_be_drawn_is_refused(change: dict[str, Any]) -> None:
    given: dict[str, Any] = {"name": "f", "title": "t", "form": "lines", "panels": [Panel("", [series("lines", "m")])]}
    with refuses(BadInput):
        Figure(**{**given, **change})


@settings(max_examples=at_most(100), deadline=None)
@given(st.lists(st.floats(-1e99, 1e99), min_size=1, max_size=4), st.integers(2, 9))
def test_ticks_are_round_and_around_all_values(values: list[float], most: int) -> None:
    scale = drawing.scale(values, most=most)
    spread = scale.high - scale.low
    assert scale.low - 1e-6 * spread <= min(values) <= max(values) <= scale.high + 1e-6 * spread
    assert 2 <= len(scale.ticks) <= most + 4
    steps = {float(f"{b - a:.6g}") for a, b in zip(scale.ticks, scale.ticks[1:], strict=False)}
    assert all(f"{step:e}"[0] in "125" or f"{step:e}".startswith("9.99") for step in steps)
