"""What checks drop of broken and of good variants that were written without knowing the rules."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

pytest.importorskip("spacy")

ROOT = Path(__file__).parents[2]
SETS = sorted((ROOT / "docs" / "validity").glob("broken*.jsonl.xz"))
#: At least so much is dropped of broken variants, at most so much of good ones; of a set in which broken texts are in
#: other words throughout, less is seen.
LEAST = dict.fromkeys(("negation", "number", "quantifier", "entity", "roles"), 0.94)
REWORDED = {"negation": 0.75, "number": 0.88, "quantifier": 0.9, "entity": 0.8, "roles": 0.65}
MOST = {"good-light": 0.1, "good-structure": 0.16, "good-free": 0.35}
#: The fourth and fifth set, on which no weights were fitted: what was measured once, less one or two texts a kind.
UNFITTED = {"negation": 0.88, "number": 0.92, "quantifier": 0.88, "entity": 0.88, "roles": 0.65}
UNFITTED_MOST = {"good-near": 0.22, "good-moderate": 0.15, "good-free": 0.3}
NEAR = dict.fromkeys(LEAST, 0.92) | {"roles": 0.88}
NEAR_MOST = MOST | {"good-free": 0.4}
#: The sixth set, which nothing was fitted on: two thirds near copies.
SIXTH = {"negation": 0.8, "number": 0.94, "quantifier": 0.9, "entity": 0.88, "roles": 0.82}
LIMITS = {"broken-3": (REWORDED, MOST), "broken-4": (UNFITTED, UNFITTED_MOST), "broken-5": (NEAR, NEAR_MOST),
          "broken-6": (SIXTH, MOST)}  # fmt: skip
ROWS = [
    {"id": "1", "type": "roles", "original": "Tom saw Ann.", "variant": "Ann saw Tom."},
    {"id": "2", "type": "roles", "original": "Tom left Ann.", "variant": "Tom left Rome."},
    {"id": "3", "type": "good-light", "original": "Tom saw Ann.", "variant": "Ann was seen by Tom."},
]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("check_rates", ROOT / "scripts" / "check_rates.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def limits(path):
    """What a set's kinds are dropped at least, and its good ones at most."""
    return LIMITS.get(path.name.partition(".")[0], (LEAST, MOST))


def test_rates_and_wrong_verdicts_by_hand(script, tmp_path):
    file = tmp_path / "set.jsonl"
    file.write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    rows = script.read_set([file, file])
    dropped = script.verdicts(rows, "roles")
    assert dropped == [True, False, False] * 2
    assert script.rates(rows, dropped) == {"roles": 0.5, "good-light": 0.0}
    assert [one.split()[:2] for one in script.in_words(rows, dropped)] == [
        ["roles", "50.0"],
        ["good-light", "0.0"],
        ["all", "good"],
    ]
    assert [round(one, 3) for one in script.wilson(66, 70)] == [0.862, 0.978]
    assert list(script.missed(rows, dropped)) == ["  roles: Tom left Ann. | Tom left Rome."] * 2


def test_the_sets_are_whole(script):
    assert SETS
    for path in SETS:
        rows = script.read_set([path])
        assert len({row["id"] for row in rows}) == len(rows)
        least, most = limits(path)
        assert {row["type"] for row in rows} == {*least, *most}
        assert all(row["original"] != row["variant"] for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_the_stack_drops_what_is_broken_and_keeps_what_is_good(script, path):
    rows = script.read_set([path])
    found = script.rates(rows, script.verdicts(rows, "stack"))
    wanted, allowed = limits(path)
    assert {kind: found[kind] for kind, least in wanted.items() if found[kind] < least} == {}
    assert {kind: found[kind] for kind, most in allowed.items() if found[kind] > most} == {}


@pytest.mark.slow
@pytest.mark.parametrize(("fitted", "least"), [(True, 0.8), (False, 0.65)])
def test_roles_drop_exchanges_alone(script, fitted, least):
    """The rules were mended by the first five sets; of the sixth, 57 of 80 exchanges were seen."""
    rows = script.read_set(path for path in SETS if path.name.startswith("broken-6") != fitted)
    found = script.rates(rows, script.verdicts(rows, "roles"))
    assert found["roles"] >= least
    assert max(rate for kind, rate in found.items() if kind != "roles") <= (0.02 if fitted else 0.04)  # 1 of 32
