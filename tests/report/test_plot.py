"""The plot says in words what it shows, and its bars add up."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from otherwords.report.plot import Bar, describe, draw


def test_bars_have_the_widths_of_their_shares() -> None:
    svg = draw([Bar("m", 6, 1, 1)])
    widths = [float(width) for width in re.findall(r'class="part \w+" x="[\d.]+%" y="\d+" width="([\d.]+)%"', svg)]
    assert widths == [75.0, 12.5, 12.5]


def test_a_part_without_problems_has_a_label_but_no_bar() -> None:
    svg = draw([Bar("m", 4, 0, 0)])
    assert svg.count("<rect class=") == 3  # two of the hatch, one bar
    assert '<tspan class="number">0</tspan> (0.0\u00a0%)' in svg


def test_it_is_accessible() -> None:
    svg = draw([Bar("m", 6, 1, 1)])
    assert 'role="img" aria-labelledby="plot-title plot-desc"' in svg
    assert "m: of 8\u00a0problems, always right 6 (75.0\u00a0%), depends on the wording 1 (12.5\u00a0%)" in svg
    assert "http" not in svg


def test_it_is_well_formed_whatever_the_names() -> None:
    root = ET.fromstring(draw([Bar('<script>"&', 1, 1, 1), Bar("x" * 200, 0, 1, 0)]))
    texts = ["".join(text.itertext()) for text in root.iter("text")]
    assert any(text.startswith('<script>"&') for text in texts)
    assert any("…" in text for text in texts), "a long name keeps its ends"
    assert describe([Bar("x" * 200, 0, 1, 0)]).startswith("x" * 200)
