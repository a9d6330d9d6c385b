"""Gates: what is required of a score."""

from __future__ import annotations

import pytest
from refusals import refuses

from otherwords.errors import BadInput, GateFailed, UnknownName
from otherwords.problem import Score
from otherwords.scoring.gates import enforce, parse, refuse_unknown


def _score(value, metric="flip_rate", model="m", group=None):
    return Score(metric, f"{metric}.v1()", model, group, value, None, None, 1, 1)


@pytest.mark.parametrize(
    ("gate", "read"),
    [
        ("flip_rate<=0.1", ("flip_rate", "<=", 0.1)),
        (" p_c  >=  85 % ", ("p_c", ">=", 0.85)),
        ("p_c>.5", ("p_c", ">", 0.5)),
        ("accuracy-x<1", ("accuracy-x", "<", 1.0)),
        ("drop<=-1e-3", ("drop", "<=", -0.001)),
    ],
)
def test_gates_are_read(gate, read):
    assert parse(gate) == read


@pytest.mark.parametrize(
    "gate", ["", "flip_rate", "flip_rate=0.1", "flip_rate<=x", "<=0.1", "a<=1.2.3", "a<=.", "a<=--1"]
)
def test_nonsense_is_refused_with_an_example(gate):
    with refuses(BadInput):
        parse(gate)


@pytest.mark.parametrize(
    ("gate", "value", "holds"),
    [
        ("flip_rate<=0.1", 0.1, True),
        ("flip_rate<0.1", 0.1, False),
        ("flip_rate>=0.1", 0.1, True),
        ("flip_rate>0.1", 0.1, False),
        ("flip_rate<=10%", 0.1, True),
        ("flip_rate<=1", None, False),  # what is undefined does not hold
    ],
)
def test_bounds(gate, value, holds):
    if holds:
        enforce([gate], [_score(value)])
    else:
        with refuses(GateFailed):
            enforce([gate], [_score(value)])


def test_every_model_must_pass_and_every_failure_is_reported():
    scores = [_score(0.05, model="good"), _score(0.5, model="bad"), _score(0.6, "p_c", "bad")]
    with refuses(GateFailed) as failed:
        enforce(["flip_rate<=0.1", "p_c>=0.9"], scores)
    assert str(failed.value) == "bad: flip_rate is 50.0 %, required <= 10 %; bad: p_c is 60.0 %, required >= 90 %"
    assert failed.value.exit_code == 1


def test_groups_are_not_gated():
    assert enforce(["flip_rate<=0.1"], [_score(0.05), _score(0.9, group="topic=x")]) is None


def test_a_gate_on_what_is_not_measured():
    with refuses(UnknownName):
        enforce(["p_c>=0.9"], [_score(0.05)])


def test_unknown_gates_are_refused_before_any_work():
    refuse_unknown(["flip_rate<=0.1", "p_c>0"], [])
    refuse_unknown(["flip_rate<=0.1"], ["flip_rate.v1"])
    with refuses(UnknownName):
        refuse_unknown(["p_c>0"], ["flip_rate"])
    with refuses(UnknownName):
        refuse_unknown(["flips<1"], [])
    with refuses(BadInput):
        refuse_unknown(["flips"], [])


def test_a_group_may_be_required():
    whole = Score("flip_rate", "s", "m", None, 0.5, None, None, 1, 1)
    part = Score("control_flips", "s", "m", "control=identity", 0.0, None, None, 1, 1)
    enforce(["control_flips[control=identity]<=0", "flip_rate<=0.5"], [whole, part])
    with refuses(GateFailed):
        enforce(["control_flips[control=identity]>0"], [whole, part])
    with refuses(UnknownName):
        enforce(["control_flips<=0"], [whole, part])


def test_a_missed_gate_says_the_value_as_tables_do_and_the_exact_one():
    with refuses(GateFailed) as caught:
        enforce(["flip_rate<=0.1"], [_score(8 / 13)])
    assert str(caught.value) == "m: flip_rate is 61.5 % (0.6153846153846154), required <= 10 %"
