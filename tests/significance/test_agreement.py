"""Agreement of annotators, held against examples that were printed, and against other packages."""

from __future__ import annotations

import tracemalloc

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otherwords.errors import BadInput
from otherwords.significance.agreement import (
    agreement,
    agreement_of,
    coded,
    cohen_kappa,
    counted,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
)
from otherwords.validity.people import read_verdicts

#: Krippendorff 2011, example C: four observers, twelve units; Gwet's irrCAC calls it cac.raw4raters.
FOUR = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ],
    dtype=object,
).T
#: Fleiss 1971, table 1: thirty patients, five diagnoses, six psychiatrists each.
DIAGNOSES = [
    [0, 0, 0, 6, 0], [0, 3, 0, 0, 3], [0, 1, 4, 0, 1], [0, 0, 0, 0, 6], [0, 3, 0, 3, 0], [2, 0, 4, 0, 0],
    [0, 0, 4, 0, 2], [2, 0, 3, 1, 0], [2, 0, 0, 4, 0], [0, 0, 0, 0, 6], [1, 0, 0, 5, 0], [1, 1, 0, 4, 0],
    [0, 3, 3, 0, 0], [1, 0, 0, 5, 0], [0, 2, 0, 3, 1], [0, 0, 5, 0, 1], [3, 0, 0, 1, 2], [5, 1, 0, 0, 0],
    [0, 2, 0, 4, 0], [1, 0, 2, 0, 3], [0, 0, 0, 0, 6], [0, 1, 0, 5, 0], [0, 2, 0, 1, 3], [2, 0, 0, 4, 0],
    [1, 0, 0, 4, 1], [0, 5, 0, 1, 0], [4, 0, 0, 0, 2], [0, 2, 0, 4, 0], [1, 0, 5, 0, 0], [0, 0, 0, 0, 6],
]  # fmt: skip


def pairs(table):
    """The ratings of two annotators from their contingency table."""
    cells = [(row, column, n) for row, some in enumerate(table) for column, n in enumerate(some)]
    return np.array([(row, column) for row, column, n in cells for _ in range(n)])


def ratings_of(counts):
    return np.array([[code for code, n in enumerate(row) for _ in range(n)] for row in counts])


@pytest.mark.parametrize(("level", "printed"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_krippendorff_2011_with_missing_ratings(level, printed):
    assert round(krippendorff_alpha(FOUR, level), 3) == printed


def test_krippendorff_2011_two_observers():
    binary = np.array([[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]]).T
    assert round(krippendorff_alpha(binary), 3) == 0.095
    nominal = np.array([list("aabbdcccedda"), list("babbbcccedDd".lower())]).T
    assert round(krippendorff_alpha(nominal), 3) == 0.692


def test_fleiss_1971():
    assert round(fleiss_kappa(DIAGNOSES), 3) == 0.430


def test_cohen_1960():
    """Cohen 1960, table 2: 200 cases, three categories."""
    assert round(cohen_kappa(*pairs([[88, 14, 18], [10, 40, 10], [2, 6, 12]]).T), 3) == 0.492


def test_the_examples_of_irr_cac():
    """The vignette of irrCAC 1.0, by Gwet: contingency table, distribution of raters, raw ratings."""
    abstractors = pairs([[13, 0, 0], [0, 20, 7], [0, 4, 56]])
    assert round(cohen_kappa(*abstractors.T), 7) == 0.7964094
    assert round(gwet_ac(abstractors), 7) == 0.8493305
    assert round(krippendorff_alpha(abstractors), 7) == 0.7972585
    half = DIAGNOSES[:15]
    assert round(fleiss_kappa(half), 7) == 0.4139265
    assert round(gwet_ac(ratings_of(half)), 7) == 0.4448007
    assert round(krippendorff_alpha(ratings_of(half)), 7) == 0.4204384
    assert round(gwet_ac(FOUR), 5) == 0.77544
    assert round(fleiss_kappa(counted(coded(FOUR)[0], 5)), 5) == 0.76117


def test_the_paradox_of_kappa():
    """Agreement of 94 % on 125 items of which nearly all are alike: kappa is below 0, AC1 is not (Gwet 2002)."""
    ratings = pairs([[118, 5], [2, 0]])
    assert round(cohen_kappa(*ratings.T), 4) == -0.0234
    assert round(gwet_ac(ratings), 4) == 0.9408


def test_ac2_equals_its_definition():
    """The sums of Gwet 2014, chapter 4, written out item by item."""
    values, total, several = [1, 2, 3, 4, 5], [], 0
    near = {(a, b): 1 - (a - b) ** 2 / 16 for a in values for b in values}
    shares = np.zeros(5)
    for row in FOUR:
        own = [one for one in row if one is not None]
        shares += [own.count(value) / len(own) / len(FOUR) for value in values]
        if len(own) > 1:
            several += 1
            both = [near[a, b] for i, a in enumerate(own) for j, b in enumerate(own) if i != j]
            total.append(sum(both) / len(both))
    observed, chance = sum(total) / several, sum(near.values()) / 20 * (shares * (1 - shares)).sum()
    assert gwet_ac(FOUR, weighted=True) == pytest.approx((observed - chance) / (1 - chance), abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=4, max_size=20))
def test_other_packages_find_the_same(rows):
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater", reason="needs statsmodels")
    ratings = np.array(rows)
    counts = np.stack([(ratings == value).sum(axis=1) for value in range(4)], axis=1)
    mine = fleiss_kappa(counts)
    if mine is not None:
        assert mine == pytest.approx(inter_rater.fleiss_kappa(counts), abs=1e-9)
    table = np.zeros((4, 4))
    np.add.at(table, (ratings[:, 0], ratings[:, 1]), 1)
    own = cohen_kappa(ratings[:, 0], ratings[:, 1])
    if own is not None:
        assert own == pytest.approx(inter_rater.cohens_kappa(table, return_results=False), abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=3, max_size=20), st.permutations(range(3)))
def test_names_and_orders_do_not_matter_to_nominal_measures(rows, names):
    ratings = np.array(rows)
    renamed = np.array(names)[ratings]
    for measure in (krippendorff_alpha, gwet_ac, lambda some: cohen_kappa(*some.T)):
        one, other, turned = measure(ratings), measure(renamed[::-1]), measure(ratings[:, ::-1])
        assert (one is None) == (other is None) == (turned is None)
        if one is not None:
            assert one == pytest.approx(other, abs=1e-12) == pytest.approx(turned, abs=1e-12)
            assert one <= 1


def test_where_all_answers_are_the_same_there_is_no_value():
    same = np.array([["yes", "yes"]] * 5)
    assert cohen_kappa(*same.T) is None
    assert krippendorff_alpha(same) is None
    assert fleiss_kappa([[3, 0], [3, 0]]) is None
    assert krippendorff_alpha([[0.7, 0.7]] * 7 + [[None, 0.1]], "interval") is None


def test_a_scale_of_a_hundred_marks_needs_no_matrix_for_each_item():
    random = np.random.default_rng(5)
    ratings = random.integers(0, 101, (2_000, 1)) + random.integers(0, 2, (2_000, 2))
    rows = read_verdicts(long(ratings.tolist()))
    tracemalloc.start()
    alpha = agreement(rows, replicates=20).questions[0]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (alpha.measure, alpha.level, round(alpha.value, 2)) == ("alpha", "interval", 1.0)
    assert peak < 60e6  # 2,000 tables of 101 x 101 are 160 MB


def test_annotators_may_be_called_as_columns_are(tmp_path):
    names = {"P0": "variant", "P1": "question"}
    rows = [{**row, "annotator": names[row["annotator"]]} for row in long([["yes", "no"]])]
    report = agreement_of(rows, replicates=2, out=tmp_path / "apart.csv")
    assert [one.annotator for one in report.annotators] == ["question", "variant"]
    assert pl.read_csv(tmp_path / "apart.csv").rows() == [("sound", "b0", "v0", "no", "yes")]


def test_annotators_may_share_no_item():
    assert cohen_kappa(["yes", None], [None, "no"]) is None
    report = agreement(read_verdicts(long([["yes", "no", None], [None, "no", "no"], ["no", "no", None]])), replicates=2)
    assert [one.items for one in report.annotators] == [2, 3, 1]
    alone = agreement(read_verdicts(long([["yes", None], [None, "no"]])), replicates=2)
    assert {one.value for one in alone.questions} == {None}


def long(ratings, question="sound", **more):
    return [
        {"bucket": f"b{row // 2}", "variant": f"v{row}", "question": question, "annotator": f"P{column}",
         "answer": str(one), "seconds": 2.0 + column, **more}
        for row, some in enumerate(ratings)
        for column, one in enumerate(some)
        if one is not None
    ]  # fmt: skip


def test_a_table_of_verdicts_gives_every_measure_with_its_interval():
    report = agreement(read_verdicts(long(FOUR)), replicates=300)
    values = {one.measure: one for one in report.questions}
    assert list(values) == ["cohen", "fleiss", "alpha", "ac1", "ac2"]
    assert values["alpha"].level == "ordinal"
    assert round(values["alpha"].value, 3) == 0.815
    assert round(values["ac1"].value, 5) == 0.77544
    for one in report.questions:
        assert one.low < one.value <= one.high <= 1
        assert (one.items, one.annotators) == (11, 4)
    assert report.seconds == {"sound": 4.0}
    again = agreement(read_verdicts(long(FOUR)[::-1]), replicates=300)
    assert again.questions == report.questions


def test_annotators_are_held_against_the_others():
    ratings = [["yes", "yes", "yes"], ["yes", "yes", "no"], ["no", "no", "yes"], ["no", "no", None]]
    report = agreement(read_verdicts(long(ratings)), replicates=2)
    first, second, third = report.annotators
    assert (first.annotator, first.items, first.agreed) == ("P0", 4, 1.0)
    assert (third.items, third.agreed, third.seconds) == (3, pytest.approx(1 / 3), 4.0)
    assert second.kappa > third.kappa
    assert [one["variant"] for one in report.disagreements] == ["v1", "v2"]
    assert report.disagreements[0]["answers"] == {"P0": "yes", "P1": "yes", "P2": "no"}


def test_an_order_of_words_is_told():
    rows = long([["good", "fair"], ["poor", "poor"]])
    with pytest.warns(UserWarning, match="sound: taken in alphabetical order: fair, good, poor; if that is not"):
        agreement(read_verdicts(rows), level="ordinal", replicates=2)


def test_clusters_widen_the_interval():
    """Twenty copies of one item say no more than one: as one cluster they are drawn together."""
    random = np.random.default_rng(3)
    ratings = np.repeat(random.integers(0, 2, (30, 2)), 6, axis=0)
    rows = [{**row, "bucket": row["variant"]} for row in long(ratings.tolist())]
    clusters = pl.DataFrame({"bucket": [f"v{n}" for n in range(180)], "cluster": [f"c{n // 6}" for n in range(180)]})
    verdicts = read_verdicts(rows)
    alone, together = (agreement(verdicts, some, replicates=400).questions[2] for some in (None, clusters))
    assert alone.value == together.value
    assert together.high - together.low > 1.8 * (alone.high - alone.low)


def test_an_interval_covers_its_value():
    """Alpha of 40 items by two annotators of whom each errs in one of ten: in 50 draws, 95 % is 47.5."""
    random, held, truth = np.random.default_rng(8), 0, 0.64
    for _ in range(50):
        right = random.integers(0, 2, (60, 1))
        ratings = right ^ (random.random((60, 2)) < 0.1)
        one = agreement(read_verdicts([{**row, "bucket": row["variant"]} for row in long(ratings.tolist())]),
                        replicates=200).questions[2]  # fmt: skip
        held += one.low <= truth <= one.high
    assert held >= 43


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(BadInput, match="annotator: has fewer than two annotators"):
        agreement(read_verdicts(long([["yes"], ["no"]])))
    with pytest.raises(BadInput, match="level: found 'ratio'; use nominal, ordinal, interval"):
        krippendorff_alpha(FOUR, "ratio")
    with pytest.raises(BadInput, match="level: differences need numbers"):
        krippendorff_alpha([["a", "b"]], "interval")
    with pytest.raises(BadInput, match="contains no ratings"):
        gwet_ac([[None, None]])
