"""Charts of experiments: well-formed pictures that need no colour, whatever the names and numbers are."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st

from otherwords.report.plot import Curve, Panel, bar_chart, line_chart

SVG = "{http://www.w3.org/2000/svg}"
NUMBERS = st.floats(-1e6, 1e6) | st.sampled_from([math.nan, math.inf, -math.inf, 0.0])
NAMES = st.text(max_size=30)  # control characters and lone surrogates among them
CURVES = st.lists(st.tuples(NAMES, st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=5)), max_size=4)


def texts(svg: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@settings(max_examples=at_most(40), deadline=None)
@given(panels=st.lists(st.tuples(NAMES, CURVES), max_size=5))
def test_any_names_and_numbers_make_a_picture(panels: list) -> None:
    svg = line_chart("a <b> & c", [Panel(name, [Curve(*one) for one in curves]) for name, curves in panels], "x", "y")
    svg.encode()  # can be written
    tree = ElementTree.fromstring(svg)
    assert [one.text for one in tree.iter(f"{SVG}title")][0] == "a <b> & c"  # noqa: RUF015
    drawn = " ".join(path.get("d", "") for path in tree.iter(f"{SVG}path"))
    assert not {"nan", "inf"} & set(drawn.replace("M", " ").replace("L", " ").split())


def test_axes_and_curves_are_named() -> None:
    curves = [Curve("first", [(0, 0.2, 0.05), (1, 0.4, 0)]), Curve("second", [(0, 0.3, 0), (1, 0.1, 0)])]
    svg = line_chart("Title", [Panel("left", curves), Panel("right", curves[:1])], "rho", "p", (0.01, "limit"), 0.0)
    shown = texts(svg)
    assert {"Title", "left", "right", "first", "second", "rho", "p", "- - limit", "0", "0.4", "1"} <= set(shown)
    assert (shown.count("first"), shown.count("rho"), shown.count("- - limit")) == (1, 2, 2)
    words = next(ElementTree.fromstring(svg).iter(f"{SVG}desc")).text or ""
    assert "left, first: 0.2 at 0, 0.4 at 1" in words


def test_curves_are_told_apart_without_colour() -> None:
    curves = [Curve(f"m{i}", [(0, i, 0), (1, i, 0)]) for i in range(20)]
    tree = ElementTree.fromstring(line_chart("t", [Panel("p", curves)], "x", "y"))
    lines = [path for path in tree.iter(f"{SVG}path") if path.get("class") == "curve"]
    looks = {(path.get("stroke"), path.get("stroke-dasharray")) for path in lines}
    assert len(looks) == 20
    assert len({path.get("stroke-dasharray") for path in lines}) == 5


def test_a_picture_is_as_wide_as_its_panels_and_holds_all_names() -> None:
    curve = [Curve("m", [(0, 0.2, 0), (1, 0.4, 0)])]
    title = "A title that is longer than a single panel is wide, and then some more of it"
    pictures = [ElementTree.fromstring(line_chart(one, [Panel("p", curve)], "x", "y")) for one in ("short", title)]
    assert pictures[0].get("width") == pictures[1].get("width")
    lines = [one.text or "" for one in pictures[1].iter(f"{SVG}text") if one.get("x") == "16"]
    assert " ".join(lines) == title
    assert max(map(len, lines)) * 8 <= int(pictures[1].get("width", 0)) - 32
    assert int(pictures[1].get("height", 0)) - int(pictures[0].get("height", 0)) == 18 * (len(lines) - 1) > 0
    long = ElementTree.fromstring(line_chart("t", [Panel("q" * 80, [Curve("m" * 80, curve[0].points)])], "x", "y"))
    ends = [int(one.get("x", 0)) + 7 * len(one.text or "") for one in long.iter(f"{SVG}text") if one.text == "m" * 80]
    assert ends < [int(long.get("width", 0))]
    assert "q" * 80 not in texts(ElementTree.tostring(long, "unicode"))
    assert "q" * 80 in (next(long.iter(f"{SVG}desc")).text or "")


def test_a_bar_reaches_as_far_as_its_share() -> None:
    svg = bar_chart("Most frequent", [("man → adult male", 0.12), ("a <b>", 0.03), ("none", 0.0)], "share")
    bars = [float(one.get("width", 0)) for one in ElementTree.fromstring(svg).iter(f"{SVG}rect")][1:]
    assert bars == [pytest.approx(4 * bars[1]), bars[1], 0.0]
    assert {"man → adult male", "a <b>", "12.0 %", "3.0 %", "share"} <= set(texts(svg))
    assert texts(bar_chart("Nothing", [], "share")) == ["Nothing", "share"]
