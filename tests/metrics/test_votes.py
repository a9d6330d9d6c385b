"""Majority votes by hand and by counting on fingers."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import polars as pl
import pytest
from arrays import value_of
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from otherwords.answers.reading import read
from otherwords.errors import BadInput
from otherwords.pipeline import score
from otherwords.registry import metrics

LABELS = ("e", "n", "c")
#: Right answer, answer to the original, answers to the variants.
BUCKETS = st.lists(
    st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS), st.text("enc", max_size=6)), min_size=1, max_size=8
)


def table(buckets: list[tuple[str, str, str]]) -> pl.DataFrame:
    rows = []
    for name, (gold, original, variants) in enumerate(buckets):
        rows.append((f"b{name}", None, gold, original))
        rows += [(f"b{name}", str(place), gold, pred) for place, pred in enumerate(variants)]
    return pl.DataFrame(rows, schema=["bucket", "variant", "gold", "pred"], orient="row", infer_schema_length=None)


def counted(gold: str, votes: str) -> Fraction:
    """Count on fingers."""
    most = Counter(votes).most_common()
    winners = [label for label, count in most if count == most[0][1]]
    return Fraction(gold in winners, len(winners))


@pytest.mark.parametrize(
    ("gold", "votes", "value"),
    [
        ("e", "een", 1.0),
        ("e", "enn", 0.0),
        ("e", "en", 1 / 2),
        ("e", "nc", 0.0),  # a tie between two wrong answers
        ("e", "enc", 1 / 3),
        ("e", "eenncc", 1 / 3),
        ("e", "e", 1.0),
        ("e", "n", 0.0),
    ],
)
def test_one_bucket_by_hand(gold: str, votes: str, value: float) -> None:
    frame = table([(gold, "c", votes)])
    assert value_of("majority_vote(original=false)", frame, LABELS) == value


@given(BUCKETS, st.booleans())
def test_as_counted_on_fingers(buckets: list[tuple[str, str, str]], original: bool) -> None:
    voting = [one for one in buckets if one[2]]
    metric = metrics.make(f"majority_vote(original={str(original).lower()})").function
    gain = metrics.make(f"vote_gain(original={str(original).lower()})").function
    answers = read(table(buckets), LABELS)
    rows = metric.statistics(answers)
    assert rows[:, -1].sum() == len(voting)
    assert not rows[answers.variants[1] == 0].any()
    if not voting:
        return
    share = sum(counted(gold, first * original + variants) for gold, first, variants in voting) / len(voting)
    alone = Fraction(sum(gold == first for gold, first, _ in voting), len(voting))
    assert float(metric.combine(rows.sum(axis=0))) == pytest.approx(float(share), abs=1e-14)
    assert float(gain.combine(gain.statistics(answers).sum(axis=0))) == pytest.approx(float(share - alone), abs=1e-14)


def test_scores_and_who_votes() -> None:
    frame = table([("e", "e", "nn"), ("e", "n", "ee"), ("c", "c", "n"), ("n", "n", "")])
    with_original, without, gain = score(
        frame, ["majority_vote", "majority_vote(original=false)", "vote_gain"], replicates=50
    )
    assert (with_original.value, with_original.n_units, with_original.n_answers) == (0.5, 3, 8)  # 0, 1 and a tie
    assert (without.value, without.n_units, without.n_answers) == (1 / 3, 3, 5)
    assert gain.value == pytest.approx(1 / 2 - 2 / 3)


@pytest.mark.filterwarnings("ignore:.*can never be right")
def test_a_vote_that_mends_everything_buys_everything() -> None:
    [gain] = score(table([("e", "n", "eee"), ("c", "e", "ccc")]), ["vote_gain"], replicates=20)
    assert (gain.value, gain.high) == (1.0, 1.0)
    assert gain.low < 0.1  # two problems say little
    [loss] = score(table([("e", "e", "nnn"), ("c", "c", "eee")]), ["vote_gain"], replicates=20)
    assert loss.value == -1.0


def test_constant_answers_gain_nothing() -> None:
    [gain] = score(table([("e", "e", "eee"), ("c", "e", "e"), ("n", "e", "eeeee")]), ["vote_gain"], replicates=20)
    assert gain.value == 0.0
    assert -gain.low == gain.high > 0  # three problems say little


def test_a_problem_without_variants_has_no_vote() -> None:
    with (
        pytest.warns(UserWarning, match="majority_vote of model: nothing to measure"),
        refuses(BadInput),
    ):
        score(table([("e", "e", "")]), ["majority_vote"])
