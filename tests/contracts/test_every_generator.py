"""Every generator: only the wording changes, and neither batch nor order nor shards nor earlier calls matter."""

from __future__ import annotations

import copy
import random
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from examples import at_most
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odd_suites import row_by_row, suites
from polars.testing import assert_frame_equal

import otherwords as ow
from otherwords import pipeline
from otherwords.errors import BadInput
from otherwords.frames import problems
from otherwords.problem import TASKS, Note, Problem, Variant, changed_fields
from otherwords.registry import Bound, generators
from otherwords.storage.files import seed_for
from otherwords.variants.generating import as_generator

KIND = "generators"
NOTHING = (
    "it makes no variant of the sample: declare an `example` with options that do, or one that writes problems.jsonl "
    "(docs/extending.md)"
)
pytestmark = pytest.mark.filterwarnings("ignore:.*are not variants. . unchanged")  # which the sample of `recorded` has


@cache
def everyday() -> pl.DataFrame:
    return ow.load("everyday(split=all)")


def frame(folder: Path, most: int) -> pl.DataFrame:
    """Bundled problems, after those that the generator's example wrote into the folder, if any."""
    own = [ow.load(str(path)) for path in folder.glob("problems.jsonl")]
    return pl.concat([*own, everyday().head(most)], how="diagonal_relaxed")


def sample(folder: Path) -> list[Problem]:
    """Its own and bundled problems, and some of every task with words that most generators do something with."""
    found = problems(frame(folder, 12), TASKS["nli"])
    texts = ["The old man isn't sleeping.", "It does not rain, and we'll wait.", "A dog runs.", "木 Zoë can't — won't!"]
    for name, task in TASKS.items():
        for i, text in enumerate(texts):
            fields = {field: f"{text} ({field})" for field in task.fields}
            found.append(Problem(f"{name}-{i}", task, fields, task.labels[i % len(task.labels)], {"topic": i}))
    return found


@pytest.fixture
def some(folder):
    return sample(folder)


@pytest.fixture
def vary(bound):
    return lambda some: variants_of(bound, some)


@cache
def whole_sample(spec: str, folder: Path) -> list[Variant]:
    """The variants of the whole sample, made once."""
    return variants_of(generators.make(spec), sample(folder))


def variants_of(bound: Bound, some: list[Problem]) -> list[Variant]:
    """What it makes of some problems, without its notes."""
    made = bound.function(some, [seed_for(1, bound.signature, problem.id) for problem in some])
    return [one for one in made if not isinstance(one, Note)]


def by_original(variants: list[Variant]) -> dict[str, list[Variant]]:
    found: dict[str, list[Variant]] = {}
    for variant in variants:
        found.setdefault(variant.of, []).append(variant)
    return found


def test_only_the_wording_changes(vary, some):
    before = copy.deepcopy(some)
    made = vary(some)
    assert made, NOTHING
    assert some == before
    originals = {problem.id: problem for problem in some}
    for variant in made:
        original = originals[variant.of]
        assert isinstance(variant, Variant)
        assert (variant.label, variant.task) == (original.label, original.task)
        assert list(variant.text) == list(original.text)
        assert all(isinstance(text, str) and text.strip() for text in variant.text.values())
        context = set(original.task.fields) - set(original.task.targets)
        assert all(variant.text[name] == original.text[name] for name in context)
        assert {name: variant.extra.get(name) for name in original.extra} == dict(original.extra)


def test_it_says_something_else_or_is_a_control(bound, spec, folder, some):
    originals = {problem.id: problem for problem in some}
    same = [variant for variant in whole_sample(spec, folder) if not changed_fields(originals[variant.of], variant)]
    assert not same or as_generator(bound.function).control


def test_it_is_deterministic(vary, spec, folder, some):
    """Also when it is made again, and asked again."""
    assert vary(some) == whole_sample(spec, folder)


def test_neither_batch_nor_order_matters(vary, spec, folder, some):
    random.Random(7).shuffle(some)
    batches = [[some[0]], [some[1]], *(some[start : start + 7] for start in range(2, len(some), 7))]
    parts = [variant for batch in batches for variant in vary(batch)]
    assert by_original(parts) == by_original(whole_sample(spec, folder))


def test_variants_of_a_control_are_marked(bound, folder):
    variants = ow.vary(frame(folder, 20), [bound])
    marks = set(variants["control"]) if "control" in variants.columns else {None}
    assert marks == ({bound.plugin.name} if as_generator(bound.function).control else {None})


def test_nothing_comes_of_nothing(vary):
    assert vary([]) == []


@pytest.mark.filterwarnings("ignore:recorded.* of its rows (are not variants|match no problem)")  # of every shard
def test_neither_shards_nor_order_matter_to_the_stage(bound, spec, folder):
    table = frame(folder, 16)
    whole = ow.vary(table, [bound], seed=3)
    shards = [ow.vary(table.slice(start, 6), [spec], seed=3) for start in range(0, table.height, 6)]
    assert pl.concat(shards, how="diagonal_relaxed").sort("id").equals(whole.sort("id"))
    shuffled = ow.vary(table.sample(fraction=1, shuffle=True, seed=1), [spec], seed=3)
    assert shuffled.sort("id").equals(whole.sort("id"))
    assert whole["id"].is_unique().all()
    assert whole.height, NOTHING
    assert set(whole["how"]) == {bound.signature}
    assert not set(whole["id"]) & set(table["id"])


OTHERS = st.lists(st.sampled_from(["identity", "contractions", "contractions(field=update)", "scramble"]), unique=True)


@pytest.mark.filterwarnings("ignore")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=at_most(60))
@given(suites(), OTHERS, st.randoms())
def test_columns_give_the_same_variants_as_problems(bound, table, others, random):
    """Ids, notes, all columns and their kinds, among other generators, of odd data."""
    if as_generator(bound.function).columns is None:
        pytest.skip("it works problem by problem")
    rows, task = table
    using = [bound, *(one for one in map(generators.make, others) if one.signature != bound.signature)]
    random.shuffle(using)

    def made(each):
        try:
            return pipeline.varied(rows, each, task, seed=3)
        except BadInput as error:  # an id is taken, a task has no such field
            return str(error)

    found, expected = made(using), made([row_by_row(one, as_generator(one.function)) for one in using])
    if isinstance(expected, str):
        assert found == expected
        return
    for one, other in zip(found, expected, strict=True):
        assert_frame_equal(one, other)
