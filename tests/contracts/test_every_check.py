"""Every check: one verdict per variant, in order, with a reason for every drop, and each bucket by itself."""

from __future__ import annotations

import copy
import math
import random

import polars as pl
import pytest
from examples import at_most
from hypothesis import HealthCheck, given, settings
from odd_suites import row_by_row, suites
from polars.testing import assert_frame_equal

from otherwords import pipeline
from otherwords.frames import to_frame, variant_row
from otherwords.problem import TASKS, Bucket, Problem, Variant, Verdict
from otherwords.registry import checks
from otherwords.validity.checking import as_check

KIND = "checks"
#: One of the sample is endless, of which checks that cannot read it warn.
pytestmark = pytest.mark.filterwarnings("ignore:.* variants do not pass. a text is longer")


def bucket(name: str, task: str, *texts: dict[str, str]) -> Bucket:
    found = TASKS[task]
    fields = {field: f"The {field} {name} tells of an old man on a red chair." for field in found.fields}
    problem = Problem(name, found, fields, found.labels[0])
    variants = [
        Variant(f"{name}~{i}", found, {**fields, **text}, problem.label, of=name, how="x")
        for i, text in enumerate(texts)
    ]
    return Bucket(problem, tuple(variants))


def sample() -> list[Bucket]:
    """Good variants and every kind of bad one: unchanged, empty, endless, repeated, hardly changed."""
    good = {"hypothesis": "Somebody aged sits there, on furniture of that colour."}
    hardly = {"hypothesis": "The hypothesis a tells of an old man on a red chair!"}
    return [
        bucket("a", "nli", good, {}, {"hypothesis": ""}, {"premise": "word " * 500}, good, hardly),
        bucket("b", "nli"),
        bucket("c", "nli", {"premise": "It is about somebody aged, sitting."}),
        bucket("d", "d-nli", {"update": "Somebody sits and speaks of age."}, {"update": "木"}),
        bucket("e", "a-nli", {"hyp1": "He sat down there.", "hyp2": "Nobody sat down there."}, {}),
    ]


@pytest.fixture
def judge(bound):
    def judged(buckets: list[Bucket]) -> list[Verdict]:
        return list(bound.function(buckets))

    return judged


def test_one_verdict_per_variant_and_a_reason_for_every_drop(judge):
    given = sample()
    before = copy.deepcopy(given)
    verdicts = judge(given)
    assert given == before
    assert len(verdicts) == sum(len(one.variants) for one in given)
    for verdict in verdicts:
        assert isinstance(verdict, Verdict)
        assert verdict.keep is None or type(verdict.keep) is bool
        assert bool(verdict.reason) is (verdict.keep is False)
        assert verdict.score is None or math.isfinite(verdict.score)
    if not {True, False} <= {verdict.keep for verdict in verdicts}:
        pytest.skip("it gives one verdict on the whole sample: its own tests must show what it keeps and drops")


def test_verdicts_are_in_the_order_of_the_variants(judge):
    """Also where the variants come in another order."""
    places = ("Rome", "Oslo", "Bern", "Kiel")
    texts = [{"hypothesis": f"Somebody in {place} sits elsewhere, perhaps."} for place in places]
    endless = " ".join([bucket("a", "nli").problem.text["hypothesis"], "not"] * 8)  # too long, too alike, and denied
    texts.insert(2, {"hypothesis": endless})
    whole = bucket("a", "nli", *texts)
    verdicts = judge([whole])
    assert judge([Bucket(whole.problem, whole.variants[::-1])]) == verdicts[::-1]
    keeps = [verdict.keep for verdict in verdicts]
    assert keeps == [True, True, False, True, True] or len(set(keeps)) == 1


def test_buckets_are_judged_by_themselves(judge):
    some = sample()
    alone = {one.problem.id: judge([one]) for one in some}
    random.Random(1).shuffle(some)
    together = judge(some)
    assert together == [verdict for one in some for verdict in alone[one.problem.id]]
    assert judge(some + some) == together * 2  # and so the same when asked again


def test_nothing_comes_of_nothing(judge):
    assert judge([]) == []
    assert judge([bucket("b", "nli")]) == []


def test_the_stage_marks_and_removes_nothing(bound, spec):
    some = [one for one in sample() if one.problem.task.name == "nli"]
    rows = [
        {"id": one.problem.id, "of": None, "how": None, **one.problem.text, "label": one.problem.label, "cluster": "c"}
        for one in some
    ]
    rows += [variant_row(variant, "c") for one in some for variant in one.variants]
    suite = to_frame(rows, TASKS["nli"])
    checked = pipeline.checked(suite, [spec], TASKS["nli"])
    assert checked.select(suite.columns).equals(suite)
    name = f"check:{bound.plugin.name}"
    assert checked.filter(pl.col("of").is_null())[name].null_count() == 3
    dropped = checked.filter(~pl.col(name))
    assert dropped["of"].null_count() == dropped[f"{name}:reason"].null_count() == 0
    # Other buckets first; within a bucket, the order decides which of two equal variants is the repetition.
    turned = suite.sort(pl.coalesce("of", "id"), descending=True, maintain_order=True)
    assert pipeline.checked(turned, [spec], TASKS["nli"]).sort("id").equals(checked.sort("id"))


@pytest.mark.parametrize(("name", "keep"), [("surface", False), ("overlap", False), ("label-safety", True)])
def test_an_unchanged_variant_is_kept_only_by_checks_of_meaning(name, keep):
    """Those with a model: `compared` gives them a value for it, and no judge is asked about it."""
    assert next(iter(checks.make(name).function([bucket("c", "nli", {})]))).keep is keep


@pytest.mark.filterwarnings("ignore")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=at_most(60))
@given(suites())
def test_columns_give_the_same_verdicts_as_buckets(bound, table):
    """Reasons and scores, of odd data, also where another check works bucket by bucket."""
    if as_check(bound.function).columns is None:
        pytest.skip("it works bucket by bucket")
    suite, task = table
    beside = checks.make("wide=surface(min_ratio=0.9, max_ratio=1.1)")
    expected = pipeline.checked(suite, [row_by_row(one, as_check(one.function)) for one in (bound, beside)], task)
    assert_frame_equal(pipeline.checked(suite, [bound, beside], task), expected)
    assert_frame_equal(pipeline.checked(suite, [bound, row_by_row(beside, as_check(beside.function))], task), expected)
