"""What checks drop of broken and of good variants that were written without knowing the rules."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

pytest.importorskip("spacy")

ROOT = Path(__file__).parents[2]
SETS = sorted((ROOT / "docs" / "validity").glob("broken*.jsonl.xz"))
KINDS = ("negation", "number", "quantifier", "entity", "roles")
#: With mpnet, at least so much is dropped of broken variants, at most so much of good ones: what was measured, less one
#: or two texts a kind. The ninth set is the one that nothing was fitted on.
LEAST = dict.fromkeys(KINDS, 0.93)
MOST = {"good-light": 0.1, "good-structure": 0.11, "good-free": 0.3}
#: Without it, where a third and more of the broken texts are in other words.
SMALL = {"negation": 0.8, "number": 0.88, "quantifier": 0.8, "entity": 0.82, "roles": 0.65}
SMALL_MOST = {"good-light": 0.18, "good-structure": 0.2, "good-free": 0.5}
#: The fourth set has good ones of other kinds.
OTHERS = {"good-near": 0.15, "good-moderate": 0.15, "good-free": 0.35}
#: In which more is missed: all of the third and two thirds of the fourth set are reworded.
MORE_MISSED = {"broken-4": {"number": 0.9, "roles": 0.83, "quantifier": 0.9}}
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


def limits(path, judge="mpnet"):
    """What a set's kinds are dropped at least, and its good ones at most."""
    name = path.name.partition(".")[0]
    least, most = (LEAST | MORE_MISSED.get(name, {}), MOST) if judge == "mpnet" else (SMALL, SMALL_MOST)
    return least, {kind: max(OTHERS[kind], most.get(kind, 0)) for kind in OTHERS} if name == "broken-4" else most


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
@pytest.mark.parametrize("judge", ["mpnet", "nli-small"])
@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_the_stack_drops_what_is_broken_and_keeps_what_is_good(script, path, judge):
    rows = script.read_set([path])
    found = script.rates(rows, script.verdicts(rows, f"stack(judge={judge})"))
    wanted, allowed = limits(path, judge)
    assert {kind: found[kind] for kind, least in wanted.items() if found[kind] < least} == {}
    assert {kind: found[kind] for kind, most in allowed.items() if found[kind] > most} == {}


@pytest.mark.slow
@pytest.mark.parametrize(("fitted", "least"), [(True, 0.8), (False, 0.6)])
def test_roles_drop_exchanges_alone(script, fitted, least):
    """The rules were mended by the first five sets; of the later ones, two thirds of the exchanges were seen."""
    later = ("broken-6", "broken-7", "broken-8", "broken-9")
    rows = script.read_set(path for path in SETS if path.name.startswith(later) != fitted)
    found = script.rates(rows, script.verdicts(rows, "roles"))
    assert found["roles"] >= least
    assert max(rate for kind, rate in found.items() if kind != "roles") <= (0.02 if fitted else 0.04)  # 1 of 32
