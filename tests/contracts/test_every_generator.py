"""Every generator: only the wording changes, and neither batch nor order nor shards nor earlier calls matter."""

from __future__ import annotations

import copy
import random
from functools import cache

import polars as pl
import pytest

import otherwords as ow
from otherwords.frames import problems
from otherwords.problem import TASKS, Note, Problem, Variant, changed_fields
from otherwords.registry import Bound, generators
from otherwords.storage.files import seed_for
from otherwords.variants.generating import as_generator

KIND = "generators"
pytestmark = pytest.mark.filterwarnings("ignore:.*are not variants. . unchanged")  # which the sample of `recorded` has


def sample() -> list[Problem]:
    """Bundled problems, and some of every task with words that most generators find something to do with."""
    found = problems(ow.load("everyday(split=all)").head(12), TASKS["nli"])
    texts = ["The old man isn't sleeping.", "It does not rain, and we'll wait.", "A dog runs.", "木 Zoë can't — won't!"]
    for name, task in TASKS.items():
        for i, text in enumerate(texts):
            fields = {field: f"{text} ({field})" for field in task.fields}
            found.append(Problem(f"{name}-{i}", task, fields, task.labels[i % len(task.labels)], {"topic": i}))
    return found


@pytest.fixture
def vary(bound):
    return lambda some: variants_of(bound, some)


@cache
def whole_sample(spec: str) -> list[Variant]:
    """The variants of the whole sample, made once."""
    return variants_of(generators.make(spec), sample())


def variants_of(bound: Bound, some: list[Problem]) -> list[Variant]:
    """What it makes of some problems, without its notes."""
    made = bound.function(some, [seed_for(1, bound.signature, problem.id) for problem in some])
    return [one for one in made if not isinstance(one, Note)]


def by_original(variants: list[Variant]) -> dict[str, list[Variant]]:
    found: dict[str, list[Variant]] = {}
    for variant in variants:
        found.setdefault(variant.of, []).append(variant)
    return found


def test_only_the_wording_changes(vary):
    given = sample()
    before = copy.deepcopy(given)
    made = vary(given)
    assert made, "it makes no variant of the sample: declare an `example` with which it does"
    assert given == before
    originals = {problem.id: problem for problem in given}
    for variant in made:
        original = originals[variant.of]
        assert isinstance(variant, Variant)
        assert (variant.label, variant.task) == (original.label, original.task)
        assert list(variant.text) == list(original.text)
        assert all(isinstance(text, str) and text.strip() for text in variant.text.values())
        context = set(original.task.fields) - set(original.task.targets)
        assert all(variant.text[name] == original.text[name] for name in context)
        assert {name: variant.extra.get(name) for name in original.extra} == dict(original.extra)


def test_it_says_something_else_or_is_a_control(bound, spec):
    originals = {problem.id: problem for problem in sample()}
    same = [variant for variant in whole_sample(spec) if not changed_fields(originals[variant.of], variant)]
    assert not same or as_generator(bound.function).control


def test_it_is_deterministic(vary, spec):
    """Also when it is made again, and asked again."""
    assert vary(sample()) == whole_sample(spec)


def test_neither_batch_nor_order_matters(vary, spec):
    some = sample()
    random.Random(7).shuffle(some)
    batches = [[some[0]], [some[1]], *(some[start : start + 7] for start in range(2, len(some), 7))]
    parts = [variant for batch in batches for variant in vary(batch)]
    assert by_original(parts) == by_original(whole_sample(spec))


def test_variants_of_a_control_are_marked(bound):
    variants = ow.vary(ow.load("everyday(split=all)").head(20), [bound])
    marks = set(variants["control"]) if "control" in variants.columns else {None}
    assert marks == ({bound.plugin.name} if as_generator(bound.function).control else {None})


def test_nothing_comes_of_nothing(vary):
    assert vary([]) == []


@pytest.mark.filterwarnings("ignore:recorded.* of its rows are not variants")  # told once for every call
def test_neither_shards_nor_order_matter_to_the_stage(bound, spec):
    frame = ow.load("everyday(split=all)").head(24)
    whole = ow.vary(frame, [bound], seed=3)
    shards = [ow.vary(frame.slice(start, 9), [spec], seed=3) for start in range(0, 24, 9)]
    assert pl.concat(shards, how="diagonal_relaxed").sort("id").equals(whole.sort("id"))
    shuffled = ow.vary(frame.sample(fraction=1, shuffle=True, seed=1), [spec], seed=3)
    assert shuffled.sort("id").equals(whole.sort("id"))
    assert whole["id"].is_unique().all()
    assert set(whole["how"]) == {bound.signature}
    assert not set(whole["id"]) & set(frame["id"])
