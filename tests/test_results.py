"""The page of results: its tables are what the committed scores say."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("results", ROOT / "scripts" / "results.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def kept(script):
    return json.loads(script.SCORES.read_text(encoding="utf-8"))


def test_the_page_says_what_was_measured(script, kept):
    page = script.PAGE.read_text(encoding="utf-8")
    for name, table in script.tables(kept).items():
        assert f"<!-- {name} -->\n{table}\n<!-- /{name} -->" in page


def test_all_that_is_promised_was_measured(script, kept):
    assert set(kept["generators"]) == set(script.GENERATORS)
    assert set(kept["contrasts"]) == {"breaking_nli", "monli", "med"}


def test_identity_flips_nothing(kept):
    value, low, high, _, answers = kept["generators"]["identity"]["scores"]["control_flips"]
    assert (value, answers) == (0.0, 9824)
    assert low == 0.0 <= high


def test_rates_obey_their_laws(kept):
    for one in kept["generators"].values():
        scores = {name: score[0] for name, score in one["scores"].items()}
        if "r_r" in scores:
            assert 0 <= scores["r_s"] <= scores["r_r"] <= 1
        curve = [value for name, value in scores.items() if name.startswith("pa_curve")]
        assert curve == sorted(curve, reverse=True)
        known = [score for score in one["scores"].values() if score[0] is not None]  # one variant makes no pairs
        assert all(low <= value <= high for value, low, high, *_ in known)
