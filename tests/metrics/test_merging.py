"""Merged labels: what vanishes, what stays, and where adding up probabilities answers otherwise."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from arrays import pair_table, parts_of, value_of
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import otherwords as ow
from otherwords.answers.reading import read
from otherwords.errors import BadInput, Unmeasurable
from otherwords.registry import metrics

LABELS = ("entailment", "neutral", "contradiction")
PAIRS = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=30)


def table(p: list[tuple[float, float, float]], gold: str = "entailment") -> pl.DataFrame:
    """One bucket: the original, then its variants; the label is the most probable of three."""
    pred = [LABELS[int(np.argmax(row))] for row in p]
    rows = {"bucket": ["a"] * len(p), "variant": [None, *map(str, range(1, len(p)))], "gold": [gold] * len(p)}
    columns = dict(zip((f"p:{label}" for label in LABELS), zip(*p, strict=True), strict=True))
    return pl.DataFrame({**rows, "pred": pred, **columns})


#: Entailed at first by a hair; the second is neutral and the third contradicts, the last is clear.
FRAME = table([(0.4, 0.3, 0.3), (0.3, 0.5, 0.2), (0.3, 0.2, 0.5), (0.8, 0.1, 0.1)])


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        ("flip_rate", [2 / 3]),
        ("flip_rate_merged", [2 / 3]),
        ("flip_rate_merged(by=probability)", [1 / 3]),  # 0.3 + 0.3 beats 0.4: the original itself is not entailed
        ("flips_lost_by_merging", [0.0]),
        ("flip_rate_merged(merge=entailment+neutral)", [1 / 3]),
        ("flips_lost_by_merging(merge=entailment+neutral)", [1 / 3]),
        ("accuracy_merged", [1.0, 1 / 3]),
        ("accuracy_merged(by=probability)", [0.0, 1 / 3]),
        ("accuracy_merged(merge=entailment+neutral)", [1.0, 2 / 3]),
    ],
)
def test_by_hand(spec: str, values: list[float]) -> None:
    assert [one.value for one in ow.score(FRAME, [spec], task="nli")] == values


def test_flips_between_merged_labels_vanish() -> None:
    frame = table([(0.1, 0.5, 0.4), (0.1, 0.4, 0.5), (0.1, 0.6, 0.3), (0.9, 0.0, 0.1)], gold="contradiction")
    found = ow.score(frame, ["flip_rate", "flip_rate_merged", "flips_lost_by_merging", "accuracy_merged"], task="nli")
    assert {one.metric: one.value for one in found} == {
        "flip_rate": 2 / 3,
        "flip_rate_merged": 1 / 3,
        "flips_lost_by_merging": 1 / 3,
        "accuracy_merged:originals": 1.0,  # neutral is as good as contradiction here
        "accuracy_merged:variants": 2 / 3,
    }
    assert [one.n_answers for one in found] == [3, 3, 3, 1, 3]  # each part counts its own


@given(PAIRS)
def test_what_merging_leaves_and_what_it_loses_is_the_flip_rate(pairs: list[tuple[str, str]]) -> None:
    pred, before = map(list, zip(*pairs, strict=True))
    frame = pair_table(pred, before)
    left, lost = (value_of(name, frame, LABELS) for name in ("flip_rate_merged", "flips_lost_by_merging"))
    assert left + lost == pytest.approx(value_of("flip_rate", frame, LABELS), abs=1e-12)
    assert value_of(f"flip_rate_merged(merge={'+'.join(LABELS)})", frame, LABELS) == 0
    agreement = parts_of("accuracy_merged", frame, LABELS)["variants"]  # the right answer is the original's
    assert agreement == pytest.approx(1 - left, abs=1e-12)


def entails(p: np.ndarray, labels: tuple[str, ...] = LABELS, merge: str = "neutral+contradiction") -> list[bool]:
    """Whether each row of probabilities, added up after merging, answers with the label that was first."""
    order = np.argsort(labels)
    likely = [labels[one] for one in order[p[:, order].argmax(axis=1)]]  # of equals the first by name
    rows = {"bucket": range(len(p)), "variant": [""] * len(p), "gold": [LABELS[0]] * len(p), "pred": likely}
    frame = pl.DataFrame({**rows, **{f"p:{label}": p[:, i] for i, label in enumerate(labels)}})
    metric = metrics.make(f"accuracy_merged(merge={merge}, by=probability)").function
    data = read(frame, labels)
    return (metric.statistics(data)[data.bucket, 0] == 1).tolist()


@given(st.lists(st.tuples(*[st.integers(0, 20)] * 3).filter(any), min_size=1, max_size=20))
def test_adding_up_entails_exactly_where_entailment_has_half(counts: list[tuple[int, int, int]]) -> None:
    p = np.array(counts) / np.array(counts).sum(axis=1, keepdims=True)
    assert entails(p) == [wins(row) for row in counts]


def wins(row: tuple[int, int, int]) -> bool:
    """Entailment has more than half, or half and nobody before it: (1, 0, 1) goes by name to contradiction."""
    return 2 * row[0] > sum(row) or (2 * row[0] == sum(row) and row[2] < row[0])


TIED = [(0.5, 0.2, 0.3), (0.2, 0.5, 0.3), (0.3, 0.5, 0.2), (0.5, 0.5, 0.0), (0.5, 0.3, 0.2), (1 / 3, 1 / 3, 1 / 3)]


@pytest.mark.parametrize("order", [(1, 2, 0), (2, 1, 0)])
@pytest.mark.parametrize("merge", ["neutral+contradiction", "entailment+neutral", "entailment+contradiction"])
def test_the_order_of_columns_does_not_decide_between_equals(merge: str, order: tuple[int, int, int]) -> None:
    labels = tuple(LABELS[i] for i in order)
    p = np.array(TIED)
    assert entails(p[:, order], labels, merge) == entails(p, LABELS, merge)
    frame = table(TIED)
    turned = frame.select("bucket", "variant", "gold", "pred", *(f"p:{label}" for label in labels))
    for name in ("flip_rate_merged", "accuracy_merged"):
        specs = [f"{name}(merge={merge}, by=probability)"]
        assert [one.value for one in ow.score(turned, specs)] == [one.value for one in ow.score(frame, specs)]


@pytest.mark.parametrize(("pred", "flips"), [("entailment", 0.0), ("neutral", 1.0), ("contradiction", 1.0)])
@pytest.mark.filterwarnings("ignore:.*not the most probable")
def test_between_equals_the_models_own_answer_decides(pred: str, flips: float) -> None:
    frame = table([(0.8, 0.1, 0.1), (0.5, 0.2, 0.3)]).with_columns(pred=pl.Series(["entailment", pred]))
    [one] = ow.score(frame, ["flip_rate_merged(by=probability)"], task="nli")
    assert one.value == flips


def test_a_gold_label_that_is_merged_already_is_named_too() -> None:
    frame = FRAME.drop(pl.selectors.starts_with("p:")).with_columns(gold=pl.lit("not-entailed"))
    with pytest.warns(UserWarning, match="can never be right"):
        found = ow.score(frame, ["accuracy_merged(merge=neutral+contradiction+not-entailed)"])
    assert [one.value for one in found] == [0.0, 2 / 3]


@pytest.mark.parametrize("merge", ["neutral", "neutral+", "", "neutral+neutral", "+"])
def test_a_merge_is_of_two_labels_or_more(merge: str) -> None:
    for name in ("flip_rate_merged", "flips_lost_by_merging", "accuracy_merged"):
        with refuses(BadInput):
            metrics.make(f'{name}(merge="{merge}")')


def test_other_ways_of_merging_are_refused() -> None:
    with refuses(BadInput):
        metrics.make("flip_rate_merged(by=vote)")


def test_labels_that_the_answers_lack_cannot_be_merged() -> None:
    rte = FRAME.with_columns(pl.lit("entailed").alias("gold"), pl.lit("entailed").alias("pred"))
    with refuses(Unmeasurable):
        ow.score(rte.drop(pl.selectors.starts_with("p:")), ["flip_rate_merged"], task="rte")
    with refuses(Unmeasurable):
        ow.score(FRAME.drop(pl.selectors.starts_with("p:")), ["flip_rate_merged(by=probability)"], task="nli")
