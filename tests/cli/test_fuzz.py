"""Broken input, made by the hundred: no traceback, no foreign file touched, nothing half-written.

`python -m benchmarks fuzz` runs 10,000 cases and 300 processes; `python -m benchmarks.fuzz --only NUMBER` shows one.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import fuzzing
import pytest

FUZZ = Path(__file__).parents[2] / "benchmarks" / "fuzz.py"


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    spec = importlib.util.spec_from_file_location("otherwords_fuzz", FUZZ)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("start", [0, *(pytest.param(start, marks=pytest.mark.slow) for start in (1, 2, 3))])
def test_damaged_commands_end_well(fuzz, start):
    for number in range(start, len(fuzzing.TEMPLATES), 4):
        result = fuzz.attempt(number, process=False)
        assert not result["wrongs"], result


#: Cases that once ended with a traceback: deep TOML, columns of another model, a byte order mark, half a manifest.
ONCE_WRONG = (1908, 4244, 4784, 5703, 6621)


@pytest.mark.parametrize("number", ONCE_WRONG)
def test_what_once_went_wrong_ends_well(fuzz, number):
    result = fuzz.attempt(number, process=False)
    assert not result["wrongs"], result


@pytest.mark.slow
def test_more_damaged_commands_end_well(fuzz):
    for number in range(50_000, 50_000 + 6 * len(fuzzing.TEMPLATES)):
        result = fuzz.attempt(number, process=False)
        assert not result["wrongs"], result


@pytest.mark.slow
def test_damaged_commands_end_well_as_processes(fuzz):
    for number in range(60_000, 60_012):
        result = fuzz.attempt(number, process=True)
        assert not result["wrongs"], result


def test_a_case_is_made_again_from_its_number(tmp_path):
    folders = [tmp_path / name for name in ("one", "two", "done")]
    for folder in folders:
        folder.mkdir()
    for number in range(0, len(fuzzing.TEMPLATES), 9):
        one, two = (fuzzing.make_case(number, folder, tmp_path / "done") for folder in folders[:2])
        assert one == two
        for folder in folders[:2]:
            fuzzing.clear(folder)


def test_what_is_wrong_is_found(tmp_path):
    case = fuzzing.Case(0, ["vary", "problems.jsonl", "-o", "out.jsonl"], "none")
    (tmp_path / "thesis.txt").write_text("years of work")
    case.before = fuzzing.snapshot(tmp_path)
    assert fuzzing.wrongs(case, tmp_path, 0, "", []) == []
    (tmp_path / "thesis.txt").write_text("gone")
    (tmp_path / "out.jsonl").write_text('{"half')
    (tmp_path / ".x.part").write_text("")
    found = fuzzing.wrongs(case, tmp_path, 3, "Traceback (most recent call last)", ["draft"])
    wanted = ("exit code 3", "a traceback", "thesis.txt was changed", ".x.part appeared", ".x.part was left behind")
    assert all(one in found for one in wanted)
    assert any(one.startswith("out.jsonl cannot be read") for one in found)
    assert "temporary file draft" in found
