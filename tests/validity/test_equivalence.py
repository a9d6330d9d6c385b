"""The judge that comes with the package: what it keeps and drops, its graph, and the file that has its weights."""

from __future__ import annotations

import shutil

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.inference.onnx_files import embedded
from otherwords.problem import TASKS, Bucket, Problem
from otherwords.registry import checks
from otherwords.storage.files import fingerprint
from otherwords.validity.equivalence import GRAPH, MPNET, PARTS, WEIGHTS, JoinedFiles, load_judge, open_small

FOLDER = embedded("nli-small")
DOG = "A brown dog is chasing a cat through the garden."
OFFICE = "The manager did not send the report to all of her colleagues."
ONE = Problem("p", TASKS["nli"], {"premise": DOG, "hypothesis": OFFICE}, "neutral")
SAME = [
    (DOG, "A cat is being chased through the garden by a brown dog."),
    (DOG, "There is a brown dog chasing a cat through the garden."),
    (OFFICE, "The manager didn't send the report to all of her colleagues."),
    ("Two men are sitting on a bench.", "2 men sit on a bench."),
]
OTHER = [
    (DOG, "A cat is chasing a brown dog through the garden."),
    (DOG, "A brown dog is not chasing a cat through the garden."),
    (OFFICE, "The manager did not send the report to any of her colleagues."),
    ("Two men are sitting on a bench.", "Three men are sitting on a bench."),
    ("Two men are sitting on a bench.", "Two women are sitting on a bench."),
]
PAIRS = [*SAME, *OTHER]


@pytest.fixture(scope="module")
def judge():
    return load_judge(FOLDER / JUDGE)


@pytest.fixture(scope="module")
def check():
    return checks.make("equivalence").function


def judged(check, *texts: dict[str, str]):
    return list(check([Bucket(ONE, tuple(ONE.restate(**text) for text in texts))]))


def test_other_words_are_kept_and_another_meaning_is_dropped(judge):
    assert min(judge(SAME)) > 0.5 > max(judge(OTHER))


def test_the_score_is_the_smallest_probability_over_changed_fields(check, judge):
    texts = [{"premise": SAME[0][1]}, {"hypothesis": OTHER[2][1]}]
    verdicts = judged(check, *texts, {**texts[0], **texts[1]}, {})
    (same, other) = judge([SAME[0], OTHER[2]])
    assert [verdict.score for verdict in verdicts] == [same, other, other, 1.0]
    assert [verdict.keep for verdict in verdicts] == [True, False, False, True]
    assert verdicts[1].reason == f"probability {other:.3f} below {checks.get('equivalence').options()['least']:g}"


@pytest.fixture(scope="module")
def alone(judge) -> list[float]:
    return [judge([pair])[0] for pair in PAIRS]


@settings(max_examples=8, deadline=None)
@given(order=st.permutations(range(len(PAIRS))), size=st.integers(1, 9))
def test_neither_company_nor_order_changes_a_bit(judge, alone, order, size):
    chosen = order[:size]
    both_ways = [PAIRS[place] for place in chosen] + [PAIRS[place][::-1] for place in chosen]
    assert judge(both_ways) == 2 * [alone[place] for place in chosen]


def test_empty_texts_are_dropped(check):
    for text in ("", " ", "\u200b"):
        (verdict,) = judged(check, {"hypothesis": text})
        assert (verdict.keep, verdict.reason, verdict.score) == (False, "empty text", None)


def test_what_the_judge_does_not_read_to_its_end_is_dropped_and_reported():
    check = checks.make("equivalence(max_length=24)").function
    with pytest.warns(UserWarning, match=r"^equivalence: 1 of 2 variants .* longer than the judge accepts"):
        long, fits = judged(check, {"hypothesis": f"{OFFICE} It was late."}, {"premise": "A dog is chasing a cat."})
    assert (long.keep, long.reason, long.score) == (False, "longer than the judge reads", None)
    assert fits.score is not None


@pytest.mark.parametrize("least", [-0.1, 1.01, float("nan")])
def test_limits_that_no_probability_has(least):
    with refuses(BadInput):
        checks.get("equivalence").factory(least=least)


# The graph and the file beside it


def test_weights_of_another_file_are_refused(tmp_path):
    for name in (JUDGE, "tokenizer.json", "config.json"):
        shutil.copy(FOLDER / name, tmp_path)
    raw = bytearray((FOLDER / WEIGHTS).read_bytes())
    raw[1_000_000] ^= 1  # all offsets still fit
    (tmp_path / WEIGHTS).write_bytes(raw)
    with refuses(BadInput):
        load_judge(tmp_path / JUDGE)


def test_the_graph_names_the_file_that_it_was_made_for():
    """Where this fails, nli-small's file has changed: run recipes/equivalence/export.py again."""
    graph = onnx.load(FOLDER / JUDGE, load_external_data=False)
    assert {one.key: one.value for one in graph.metadata_props} == {WEIGHTS: fingerprint(FOLDER / WEIGHTS)}
    assert (FOLDER / JUDGE).stat().st_size < 560_000


def test_the_weights_it_refers_to_are_those_of_nli_small():
    raw = (FOLDER / WEIGHTS).read_bytes()
    own = {one.name: one for one in onnx.load(FOLDER / WEIGHTS).graph.initializer}
    referred = [
        one for one in onnx.load(FOLDER / JUDGE, load_external_data=False).graph.initializer if one.external_data
    ]
    total = 0
    for one in referred:
        place = {entry.key: entry.value for entry in one.external_data}
        start, size = int(place["offset"]), int(place["length"])
        assert place["location"] == WEIGHTS
        assert (one.data_type, list(one.dims)) == (own[one.name].data_type, list(own[one.name].dims))
        assert raw[start : start + size] == own[one.name].raw_data
        total += size
    assert total > 0.98 * len(raw)
