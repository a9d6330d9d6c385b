"""The list of faults in `scripts/mutate.py` fits the package: whoever moves a line or a test finds out at once."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "mutate.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("mutate", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_fault_applies_and_its_tests_exist(script):
    outcomes = [script.check(fault) for fault in script.FAULTS]
    assert [(one.fault.name, one.detail) for one in outcomes if one.result != "applies"] == []
    assert len({fault.name for fault in script.FAULTS}) == len(script.FAULTS) >= 50


def test_every_room_with_faults_names_tests_that_exist(script):
    assert [path for paths in script.TESTS.values() for path in paths if not (SCRIPT.parents[1] / path).exists()] == []
