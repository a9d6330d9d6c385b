from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.problem import TASKS, Bucket, Problem
from otherwords.registry import checks
from otherwords.validity.surface import _SPACE

ONE = Problem("p", TASKS["nli"], {"premise": "one two three four", "hypothesis": "five six"}, "neutral")


def judged(spec, *texts, problem=ONE):
    bucket = Bucket(problem, tuple(problem.restate(**text) for text in texts))
    return [(verdict.keep, verdict.reason) for verdict in checks.make(spec).function([bucket])]


def test_a_changed_variant_is_kept():
    assert judged("surface", {"premise": "one two three and four"}) == [(True, "")]


def test_unchanged_but_for_white_space_is_dropped():
    assert judged("surface", {}, {"premise": " one  two\nthree four "}) == [(False, "unchanged")] * 2


def test_the_first_of_equals_is_kept():
    texts = [{"premise": "one two three 4"}, {"premise": "one two  three 4"}, {"hypothesis": "five 6"}]
    assert judged("surface", *texts) == [(True, ""), (False, "repeated in its bucket"), (True, "")]


@pytest.mark.parametrize("text", ["", " ", "\n\u3000"])
def test_an_empty_text_is_dropped(text):
    assert judged("surface", {"hypothesis": text}) == [(False, "empty text")]
    assert judged("surface", {"hypothesis": text}, {"hypothesis": text})[1] == (False, "empty text")


def test_an_optional_field_may_stay_empty():
    empty = Problem("p", TASKS["d-nli"], {"premise": "", "hypothesis": "five six", "update": "one two"}, "weakener")
    assert judged("surface", {"update": "one three"}, problem=empty) == [(True, "")]


def test_out_of_proportion():
    texts = [{"premise": "word " * 17}, {"premise": "word " * 16}, {"premise": "one", "hypothesis": "two"}]
    assert judged("surface", *texts) == [(False, "length ratio 3.17"), (True, ""), (True, "")]
    assert judged("surface(min_ratio=0.5, max_ratio=2)", *texts) == [
        (False, "length ratio 3.17"),
        (False, "length ratio 3.00"),
        (False, "length ratio 0.33"),
    ]


def test_buckets_are_judged_by_themselves():
    buckets = [Bucket(ONE, (ONE.restate(premise="x y z"),)), Bucket(ONE, (ONE.restate(premise="x y z"),))]
    assert [verdict.keep for verdict in checks.make("surface").function(buckets)] == [True, True]


def test_the_limits_themselves_are_kept():
    texts = [
        {"premise": "one", "hypothesis": "two three"},
        {"premise": "one two three four five six seven eight", "hypothesis": "a b c d"},
    ]
    assert judged("surface(min_ratio=0.5, max_ratio=2)", *texts) == [(True, ""), (True, "")]


@pytest.mark.parametrize("options", ["min_ratio=2, max_ratio=1", "min_ratio=-1", "max_ratio=0"])
def test_limits_that_keep_nothing(options):
    with refuses(BadInput):
        checks.make(f"surface({options})")


TEXT = st.text(alphabet="ab \n", max_size=4)


@given(st.lists(st.fixed_dictionaries({}, optional={"premise": TEXT, "hypothesis": TEXT}), max_size=6), TEXT)
def test_what_is_kept_is_changed_filled_in_and_unlike_all_others(texts, premise):
    problem = Problem("p", TASKS["nli"], {"premise": f"a {premise}", "hypothesis": "b"}, "neutral")
    kept = [
        {**problem.text, **text}
        for text, (keep, _) in zip(texts, judged("surface(min_ratio=0)", *texts, problem=problem), strict=True)
        if keep
    ]
    plain = [
        tuple(" ".join(text[name].split()) for name in ("premise", "hypothesis"))
        for text in (dict(problem.text), *kept)
    ]
    assert len(set(plain)) == len(plain)
    assert all(part for text in plain for part in text)


@pytest.mark.parametrize("check", ["surface", "overlap"])
def test_an_optional_field_may_be_absent(check):
    texts = {"premise": None, "hypothesis": "It is out.", "update": "It rains."}
    one = Problem("q", TASKS["d-nli"], texts, "weakener")
    variants = (one.restate(update="Rain falls."), one.restate(premise=""))
    verdicts = list(checks.make(check).function([Bucket(one, variants)]))
    assert [verdict.keep for verdict in verdicts] == [True, False]  # the second is unchanged


def test_white_space_on_columns_is_that_of_python():
    signs = pl.Series([chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000])
    assert signs.filter(signs.str.contains(f"[{_SPACE}]")).to_list() == [sign for sign in signs if sign.isspace()]
