"""Gates: what is required of scores, exactly as it is written, and told before any work where it cannot be."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput, GateFailed, UnknownName, Unmeasurable
from otherwords.problem import Score
from otherwords.scoring.gates import check, compare_exactly, enforce
from otherwords.scoring.requirements import needs_anytime, parse, refuse_unknown, ungrouped


def _score(value: float | None, metric: str = "flip_rate", model: str = "m", group: str | None = None, **more: Any):
    name = metric.partition("(")[0].partition(":")[0]
    return Score(metric, f"{name}.v1()", model, group, value, None, None, 1, 1, **more)


def _table(flips: int = 0, kept: int = 0, n: int = 60, control: str = "", constant: str = "") -> pl.DataFrame:
    """Problems with a rewording each, of which some flip, and contrasts, of which some keep the answer."""
    rows: list[dict[str, Any]] = []
    for place in range(n):
        topic = "sport" if place % 2 else "art"
        pred = "no" if place < flips else "yes"
        rows += [
            {"bucket": f"a{place}", "gold": "yes", "pred": "yes", "topic": topic},
            {"bucket": f"a{place}", "variant": "v", "gold": "yes", "pred": pred, "topic": topic, "how": "mine.v1(n=1)"},
            {"bucket": f"b{place}", "gold": "yes", "pred": "yes", "contrast": "suite"},
            {"bucket": f"b{place}", "variant": "x", "gold": "no", "contrast": "suite"}
            | {"pred": "yes" if place < kept else "no"},
        ]
        if control:
            pred = "no" if control == "scramble" else "yes"
            rows.append({"bucket": f"a{place}", "variant": "c", "gold": "yes", "pred": pred, "control": control})
    schema = ("bucket", "variant", "gold", "pred", "topic", "how", "contrast", "control")
    table = pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], infer_schema_length=None)
    return table.with_columns(pred=pl.lit(constant)) if constant else table


def _judged(gate: str, table: pl.DataFrame, **more: Any) -> list[tuple[bool, str]]:
    return [(one.passed, one.line) for one in check([gate], ow.score(table, require=[gate], replicates=200, **more))]


# Reading


@pytest.mark.parametrize(
    ("gate", "name", "sign", "bound"),
    [
        ("flip_rate<=0.1", "flip_rate", "<=", "1/10"),
        (" p_c  >=  85 % ", "p_c", ">=", "17/20"),
        ("p_c>.5", "p_c", ">", "1/2"),
        ("accuracy-x<1", "accuracy-x", "<", "1"),
        ("drop<=-1e-3", "drop", "<=", "-1/1000"),
        ("flip_rate<=0.7%", "flip_rate", "<=", "7/1000"),
        ("pa(at=0.5)>=0.9", "pa(at=0.5)", ">=", "9/10"),
        ('x(file="a, (b].csv")<1', 'x(file="a, (b].csv")', "<", "1"),
        ("flip_directions:no>yes<=5%", "flip_directions:no>yes", "<=", "1/20"),
        ("flip_rate.high<=0.1", "flip_rate.high", "<=", "1/10"),
        ("sigma:flipped.anytime_low>0", "sigma:flipped.anytime_low", ">", "0"),
        ("flip_rate[topic=sport].low>=0.1", "flip_rate[topic=sport].low", ">=", "1/10"),
        ('flip_rate[topic="a, b"]<1', "flip_rate[topic=a, b]", "<", "1"),
        ("flip_rate[how=syn.v1(n=1, pos=noun)]<1", "flip_rate[how=syn.v1(n=1, pos=noun)]", "<", "1"),
        ("flip_rate.v1<1", "flip_rate.v1", "<", "1"),
    ],
)
def test_gates_are_read(gate, name, sign, bound):
    [one] = parse(gate).conditions
    assert (str(one), one.sign, one.bound) == (name, sign, Fraction(bound))


def test_a_model_and_a_group_stand_in_one_pair_of_brackets():
    for gate in ("flip_rate[model=small(k=1), topic=sport].high<=0.1", "flip_rate[topic=sport,model=small(k=1)]<1"):
        [one] = parse(gate).conditions
        assert (one.model, one.group) == ("small(k=1)", "topic=sport")


@pytest.mark.parametrize(
    "gate",
    [
        *("", "flip_rate", "flip_rate=0.1", "flip_rate<=x", "<=0.1", "a<=1.2.3", "a<=.", "a<=--1", "a<=1e999"),
        *("a[]<1", "a[b]<1", "a[b=]<1", "a[b=c<1", "a[b=c, d=e]<1", "a[model=x, model=y]<1", "a.hihg<1", "a(b=1<1"),
        *("a<=" + "1" * 5000, "certificate(a<1", "a<=1%%"),
    ],
)
def test_nonsense_is_refused_with_an_example(gate):
    with refuses(BadInput) as caught:
        parse(gate)
    assert caught.value.fix


# Bounds


@pytest.mark.parametrize(
    ("gate", "value", "holds"),
    [
        ("flip_rate<=0.1", 0.1, True),
        ("flip_rate<0.1", 0.1, False),
        ("flip_rate>=0.1", 0.1, True),
        ("flip_rate>0.1", 0.1, False),
        ("flip_rate<=10%", 0.1, True),
        ("flip_rate<=0.7%", 7 / 1000, True),
        ("flip_rate<0.7%", 7 / 1000, False),
        ("drop<=0.01", 0.95 - 0.94, True),  # 0.010000000000000009
        ("drop>=0", 0.3 - 0.1 - 0.2, True),  # -2.8e-17
        ("flip_rate<1e-20", 0.0, True),
        ("flip_rate<=0.1", 0.1 + 1e-13, False),
        ("snr<=3", float("inf"), False),
        ("flip_rate<=1", None, False),  # what is undefined does not hold
    ],
)
def test_bounds(gate, value, holds):
    score = [_score(value, parse(gate).conditions[0].name)]
    if holds:
        [passed] = enforce([gate], score)
        assert passed.passed
    else:
        with refuses(GateFailed):
            enforce([gate], score)


def _decimals(n: int) -> bool:
    """Whether every k / n can be written out."""
    for factor in (2, 5):
        while n % factor == 0:
            n //= factor
    return n == 1


def test_every_share_equals_the_decimal_that_it_is():
    """All k / n that end, up to n = 2,000: at the bound, neither above nor below; both as a number and in per cent."""
    for n in filter(_decimals, range(1, 2001)):
        for k in range(n + 1):
            exact = Decimal(k) / Decimal(n)
            for written in (f"{exact:f}", f"{exact * 100:f}%"):
                assert compare_exactly(k / n, parse(f"flip_rate<={written}").conditions[0].bound) == 0, (k, n)
        held = {sign: check([f"flip_rate{sign}{written}"], [_score(1.0)])[0].passed for sign in _SIGNS}
        assert held == _SIGNS


_SIGNS = {"<=": True, ">=": True, "<": False, ">": False}


@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), st.integers(0, 10**6))
def test_any_share_against_any_decimal_is_compared_as_fractions_are(share, millionths):
    n, k = share
    exact, bound = Fraction(k, n), Fraction(millionths, 10**6)
    held = {sign: check([f"flip_rate{sign}{millionths}e-6"], [_score(k / n)])[0].passed for sign in _SIGNS}
    assert held == {"<=": exact <= bound, ">=": exact >= bound, "<": exact < bound, ">": exact > bound}


def test_a_share_is_never_above_one():
    with refuses(BadInput, fix="write 10% or 0.1"):
        refuse_unknown(["flip_rate<=10"], [])


# Which scores


def test_every_model_must_pass_and_every_failure_is_reported():
    scores = [_score(0.05, model="good"), _score(0.5, model="bad"), _score(0.95, "p_c", "good")]
    scores.append(_score(0.6, "p_c", "bad"))
    with refuses(GateFailed) as failed:
        enforce(["flip_rate<=0.1", "p_c>=0.9"], scores)
    assert str(failed.value) == "bad: flip_rate is 50.0 %, required <= 10 %; bad: p_c is 60.0 %, required >= 90 %"
    assert failed.value.exit_code == 1


def test_a_model_that_lacks_the_score_does_not_pass():
    scores = [_score(0.05, model="one"), _score(0.05, model="one", group="topic=a"), _score(0.05, model="other")]
    results = check(["flip_rate[topic=a]<=0.1"], scores)
    assert [(one.model, one.passed) for one in results] == [("one", True), ("other", False)]
    assert results[1].line == "other: flip_rate[topic=a] was not measured, required <= 10 %"


def test_a_model_may_be_required():
    scores = [_score(0.05, model="small"), _score(0.9, model="large"), _score(0.01, model="large", group="topic=a")]
    assert [one.model for one in enforce(["flip_rate[model=small]<=0.1"], scores)] == ["small"]
    assert [one.model for one in enforce(["flip_rate[model=large, topic=a]<=0.1"], scores)] == ["large"]
    with refuses(GateFailed):
        enforce(["flip_rate[model=large]<=0.1"], scores)
    with refuses(GateFailed):
        enforce(["flip_rate[model=huge]<=0.1"], scores)


def test_what_is_measured_on_all_models_has_no_model():
    scores = [_score(0.05), _score(4.0, "snr:snr", "(all)", unit="number")]
    assert [one.line for one in enforce(["snr:snr>=3"], scores)] == ["(all): snr:snr is 4.0, required >= 3"]
    with refuses(BadInput):
        refuse_unknown(["snr:snr[model=m]>=3"], [])


def test_groups_are_not_gated():
    assert len(enforce(["flip_rate<=0.1"], [_score(0.05), _score(0.9, group="topic=x")])) == 1


def test_a_gate_on_what_is_not_measured():
    with refuses(GateFailed):
        enforce(["p_c>=0.9"], [_score(0.05)])


def test_a_group_may_be_required():
    whole = Score("flip_rate", "flip_rate.v1() x", "m", None, 0.5, None, None, 1, 1)
    part = Score("control_flips", "control_flips.v1() x", "m", "control=identity", 0.0, None, None, 1, 1)
    enforce(["control_flips[control=identity]<=0", "flip_rate<=0.5"], [whole, part])
    with refuses(GateFailed):
        enforce(["control_flips[control=identity]>0"], [whole, part])
    with refuses(GateFailed):  # several controls have no number in common
        enforce(["control_flips<=0"], [whole, part])


def test_a_generator_is_named_as_in_tables():
    table = _table(flips=3)
    for name in ("mine", '"mine.v1(n=1)"'):
        assert _judged(f"flip_rate[how={name}]<=5%", table)[0][0]


def test_options_choose_among_namesakes():
    table = _table(flips=3)
    scores = ow.score(table, ["pa(at=0.5)", "pa(at=0.9)"], replicates=100)
    assert [one.line for one in enforce(["pa(at=0.5)>=0.9", "pa>=90%"], scores)] == [
        "model: pa(at=0.5) is 95.0 %, required >= 90 %",
        "model: pa is 95.0 %, required >= 90 %",
    ]
    with refuses(GateFailed):
        enforce(["pa(at=0.7)>=0.9"], scores)
    alone = ow.score(table, ["pa(at=0.5)"], replicates=100)  # which the table calls pa
    assert enforce(["pa>=0.9", "pa(at=0.5)>=0.9"], alone)
    with refuses(GateFailed):
        enforce(["pa(at=0.7)>=0.9"], alone)


# Ends of intervals


def test_ends_of_intervals():
    score = _score(0.08, confidence=0.95, interval="wilson", anytime_low=0.01, anytime_high=0.2)
    score = Score(**{**vars(score), "low": 0.05, "high": 0.123})
    held = {"high<=0.1": False, "low<=0.1": True, "value<=0.1": True, "anytime_high<=0.2": True, "anytime_low>0": True}
    assert {end: check([f"flip_rate.{end}"], [score])[0].passed for end in held} == held
    assert check(["flip_rate.high<=0.1"], [score])[0].line == "m: flip_rate.high is 12.3 %, required <= 10 %"


def test_an_end_that_is_not_there_fails_with_the_reason():
    lines = {
        "flip_rate.high<=1": "m: flip_rate.high does not exist: only one cluster, required <= 100 %",
        "flip_rate.anytime_high<=1": "m: flip_rate.anytime_high does not exist: only one cluster, required <= 100 %",
    }
    for gate, line in lines.items():
        assert [(one.passed, one.line) for one in check([gate], [_score(0.1, note="only one cluster")])] == [
            (False, line)
        ]
    [one] = check(["flip_rate.anytime_high<=1"], [_score(0.1)])
    assert (one.passed, "no anytime interval was computed" in one.line) == (False, True)
    [one] = check(["flip_rate.high<=1"], [_score(0.1)])
    assert (one.passed, "there is no interval" in one.line) == (False, True)


def test_which_gates_need_the_anytime_interval():
    assert needs_anytime(["p_c>0", "flip_rate.anytime_high<=0.1"])
    assert needs_anytime(["certificate(flip_rate.anytime_high<=0.1, sensitivity>=0.5)"])
    assert not needs_anytime(["flip_rate.high<=0.1"])


def test_a_missed_gate_says_the_value_as_tables_do_and_the_exact_one():
    with refuses(GateFailed) as caught:
        enforce(["flip_rate<=0.1"], [_score(8 / 13)])
    assert str(caught.value) == "m: flip_rate is 61.5 % (0.6153846153846154), required <= 10 %"


def test_a_bound_is_shown_as_it_is_written():
    [one] = check(["flip_rate<=12.345678%"], [_score(0.5)])
    assert one.line.endswith("required <= 12.345678 %")


# Before any work


@pytest.mark.parametrize(
    "gate",
    [
        *("flips<1", "flip_rate(x=1)<1", "pa(at=high)<1", "sigma<1", "sigma:upside<1", "flip_rate:x<1"),
        *("flip_rate.v9<1", "accuracy_testset>0.5", "pvap.anytime_high<0.5", "accuracy_drop.anytime_low>-1"),
        "certificate(flip_rate<=0.1, sensitivity>=0.8, never_right<=0.2)",
    ],
)
def test_unknown_gates_are_refused_before_any_work(gate):
    with refuses((UnknownName, BadInput)) as caught:
        ow.score("absent.jsonl", require=[gate])
    assert repr(gate) in str(caught.value)


def test_what_is_not_chosen_is_measured_for_its_gate():
    table = _table(flips=3)
    scores = ow.score(table, "flip_rate", require=["pa(at=0.5)>=0.9", "r_r.low>0", "flip_rate[topic=art]<1"])
    assert {one.metric for one in scores} == {"flip_rate", "pa", "r_r"}
    assert {one.group for one in scores} == {None, "topic=art", "topic=sport"}
    both = ow.score(table, require=["pa(at=0.5)>=0.9"], replicates=100)  # beside the usual
    assert {"pa(at=0.9)", "pa(at=0.5)", "accuracy_original"} <= {one.metric for one in both}


@pytest.mark.parametrize(
    ("gate", "kind"),
    [
        ("flip_rate[topic=history]<1", UnknownName),
        ("flip_rate[colour=red]<1", UnknownName),
        ("flip_rate[model=other]<1", UnknownName),
        ("sensitivity[topic=art]>0", UnknownName),  # contrasts have no topic
        ("control_flips[control=identity]<=0", Unmeasurable),
        ("flip_directions:no>maybe<1", UnknownName),
        ("sigma:flipped<1", Unmeasurable),
        ("certificate(flip_rate<=0.5, control_flips[control=scramble]>=0.5)", Unmeasurable),
    ],
)
def test_gates_that_the_table_cannot_answer_are_refused(gate, kind, monkeypatch):
    monkeypatch.setattr("otherwords.pipeline.measure_groups", lambda *_: pytest.fail("measured"))
    with refuses(kind):
        ow.score(_table(), require=[gate])


def test_several_controls_must_be_named():
    table = pl.concat([_table(control="identity"), _table(control="scramble").filter(pl.col("control").is_not_null())])
    table = table.with_columns(variant=pl.when(pl.col("control") == "scramble").then(pl.lit("s")).otherwise("variant"))
    with refuses(UnknownName):
        ow.score(table, require=["control_flips<=0.1"])
    assert _judged("control_flips[control=identity]<=0", table)[0][0]
    assert _judged("certificate(flip_rate<=0.5, control_flips[control=scramble]>=0.5)", table)[0][0]


def test_a_control_alone_can_be_named_too():
    assert _judged("control_flips[control=identity]<=0", _table(control="identity")) == [
        (True, "model: control_flips[control=identity] is 0.0 %, required <= 0 %")
    ]


def test_without_groups_the_conditions_stay():
    gates = ["flip_rate[model=a, topic=x].high<=0.7%", "control_flips[control=identity]<=0"]
    assert ungrouped(gates) == ["flip_rate.high<=0.007", "control_flips[control=identity]<=0"]


# Certificates

CERTIFICATE = "certificate(flip_rate<=0.1, sensitivity>=0.8)"


def test_a_certificate_holds_at_the_ends_of_both_intervals():
    [(passed, line)] = _judged(CERTIFICATE, _table(flips=6, kept=8, n=200))
    assert passed
    assert line.startswith("certificate: model, flip_rate at most 10 % (3.0 %, 95 % interval ")
    assert " and sensitivity at least 80 % (96.0 %, 95 % interval " in line
    assert (
        f"200 problems): passed at 97.5 % (one-sided); otherwords {ow.__version__}, flip_rate.v1(), sensitivity.v1()"
        in line
    )
    assert "\n" not in line
    for table, missed in ((_table(16, 8, 200), "flip_rate"), (_table(6, 34, 200), "sensitivity")):
        [score] = ow.score(table, missed)
        assert check([f"{missed}{'<=0.1' if missed == 'flip_rate' else '>=0.8'}"], [score])[0].passed  # the value
        [(passed, line)] = _judged(CERTIFICATE, table)
        assert not passed
        assert [clause.split()[0] for clause in line.split(" and ") if "is missed" in clause] in (
            [missed],
            ["certificate:"],
        )


@pytest.mark.parametrize(
    "gate",
    [
        "certificate()",
        "certificate(flip_rate<=0.1)",
        "certificate(sensitivity>=0.8)",
        "certificate(flip_rate>=0.1, sensitivity>=0.8)",
        "certificate(flip_to_wrong<=0.1, sensitivity>=0.8)",  # which a model that is never right has
        "certificate(flip_rate<=0.1, sensitivity<=0.8)",
        "certificate(flip_rate<=1, sensitivity>=0.8)",
        "certificate(flip_rate<=0.1, sensitivity>=0)",
        "certificate(flip_rate<=0.1, sensitivity>=-1)",
        "certificate(flip_rate.low<=0.1, sensitivity>=0.8)",
        "certificate(flip_rate<=0.1, sensitivity.high>=0.8)",
        "certificate(flip_rate<=0.1, contrast_accuracy>=0.8)",  # which one answer may have
        "certificate(flip_rate<=0.1, contrast_consistency>=0.8)",
        "certificate(flip_rate<=0.1, control_flips>=0.8)",
        "certificate(flip_rate<=0.1, control_flips[control=identity]>=0.8)",
        "certificate(flip_rate[model=a]<=0.1, sensitivity[model=b]>=0.8)",
        "certificate(certificate(flip_rate<=0.1, sensitivity>=0.8))",
    ],
)
def test_a_certificate_without_both_sides_is_refused(gate):
    with refuses(BadInput) as caught:
        parse(gate)
    assert caught.value.fix


def test_a_certificate_needs_contrasts():
    with refuses(Unmeasurable) as caught:
        ow.score(_table().filter(pl.col("contrast").is_null()), require=[CERTIFICATE])
    assert "contrast suite" in caught.value.fix


def test_the_same_text_must_keep_its_answer():
    good = _table(control="identity")
    [(passed, line)] = _judged(CERTIFICATE, good, using="flip_rate")
    assert passed
    assert "the same text never got another answer" in line
    first = (pl.col("control") == "identity") & (pl.col("bucket") == "a7")
    shaken = good.with_columns(pred=pl.when(first).then(pl.lit("no")).otherwise("pred"))
    with pytest.warns(UserWarning, match="identical texts"):
        [(passed, line)] = _judged(CERTIFICATE, shaken)
    assert not passed
    assert "the same text sometimes got another answer" in line


def test_a_certificate_without_an_interval_fails():
    scores = [_score(0.0, note="one cluster"), _score(1.0, "sensitivity", note="one cluster")]
    [one] = check([CERTIFICATE], scores)
    assert not one.passed
    assert one.line.count("does not exist: one cluster) is missed") == 2


@settings(max_examples=at_most(25), deadline=None)
@given(
    label=st.sampled_from(["yes", "no", "maybe"]),
    gold=st.lists(st.tuples(*[st.sampled_from(["yes", "no"])] * 3), min_size=1, max_size=30),
    bounds=st.tuples(st.integers(1, 99), st.sampled_from(["1e-18", "1e-9", "0.0001", "0.01", "0.5", "0.99"])),
    side=st.sampled_from(["sensitivity", "control_flips[control=scramble]"]),
    interval=st.sampled_from(["percentile", "bca"]),
)
@pytest.mark.filterwarnings("ignore")
def test_one_answer_to_everything_never_passes(label, gold, bounds, side, interval):
    """Whatever the label, the data, the bounds and the interval."""
    rows: list[dict[str, Any]] = []
    for place, (own, other, third) in enumerate(gold):
        rows += [
            {"bucket": f"a{place}", "variant": None, "gold": own, "contrast": None, "control": None},
            {"bucket": f"a{place}", "variant": "v", "gold": own, "contrast": None, "control": None},
            {"bucket": f"a{place}", "variant": "s", "gold": own, "contrast": None, "control": "scramble"},
            {"bucket": f"b{place}", "variant": None, "gold": other, "contrast": "c", "control": None},
            {"bucket": f"b{place}", "variant": "x", "gold": third, "contrast": "c", "control": None},
        ]
    table = pl.DataFrame(rows, infer_schema_length=None).with_columns(pred=pl.lit(label))
    gate = f"certificate(flip_rate<={bounds[0]}%, {side}>={bounds[1]}, contrast_accuracy>=1e-9)"
    scores = ow.score(table, require=[gate], replicates=50, interval=interval)
    assert [one.passed for one in check([gate], scores)] == [False]
