"""Fooling rates: by hand, against all draws and the hypergeometric distribution, and their order."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import polars as pl
import pytest
from arrays import value_of
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from scipy.stats import hypergeom

import otherwords as ow
from otherwords.errors import BadInput, Unmeasurable
from otherwords.metrics import fooled_within, list_too_few_variants
from otherwords.registry import metrics

LABELS = ("entailment", "neutral", "contradiction")
NAMES = {"E": "entailment", "N": "neutral", "C": "contradiction", "-": "not-entailed", "+": "entailed"}
#: A gold label, the answer to the original, then to its variants.
Problems = list[tuple[str, str, str]]


def table(problems: Problems) -> pl.DataFrame:
    rows = [
        (number, str(place) if place else None, NAMES[gold], NAMES[pred])
        for number, (gold, original, variants) in enumerate(problems)
        for place, pred in enumerate([original, *variants])
    ]
    schema = {"bucket": pl.Int64, "variant": pl.String, "gold": pl.String, "pred": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def values(problems: Problems, *specs: str, task: str = "nli") -> list[float | None]:
    return [one.value for one in ow.score(table(problems), specs, task=task, replicates=20)]


BOTH = ("r_r", "r_s", "r_s_without_neutral")


@pytest.mark.parametrize(
    ("problems", "rates"),
    [
        ([("E", "E", "EEE"), ("N", "N", "NN"), ("C", "C", "CCC")], (0, 0, 0)),
        ([("E", "E", "ENE"), ("C", "C", "CCE")], (1, 0.5, 0.5)),
        ([("E", "E", "ENC"), ("C", "C", "NNN")], (1, 0.5, 0.5)),
        ([("N", "N", "NE"), ("N", "N", "NC"), ("N", "N", "NN"), ("E", "E", "N")], (0.75, 0.5, 0)),
        ([("E", "E", "C"), ("E", "N", "CCC"), ("E", "C", "EEE")], (1, 1, 1)),  # wrong at first: not asked
        ([("E", "E", "CC"), ("E", "E", ""), ("C", "C", ""), ("N", "N", "")], (0.25, 0.25, 1 / 3)),  # all count
    ],
)
def test_by_hand(problems: Problems, rates: tuple[float, ...]) -> None:
    assert values(problems, *BOTH) == list(rates)


def test_two_labels_are_opposites() -> None:
    assert values([("+", "+", "+-"), ("-", "-", "-+"), ("-", "-", "--")], *BOTH, task="rte") == [2 / 3] * 3


def test_units_are_problems_answered_correctly() -> None:
    [one] = ow.score(table([("E", "E", "EC"), ("E", "C", "CC"), ("N", "N", "")]), ["r_r"], task="nli")
    assert (one.value, one.n_units, one.n_answers) == (0.5, 2, 4)


#: Table 3 of Arakelyan et al. (2024), MNLI, averaged over models: r_s and r_r in per cent for each gold label.
TABLE_3 = {"entailment": (2.78, 13.41), "neutral": (14.33, 14.33), "contradiction": (3.69, 11.17)}
HALF = {"entailment": "NC", "neutral": "EC", "contradiction": "NE"}


def test_per_label_as_the_paper_prints_it() -> None:
    problems: Problems = []
    for label, (strict, relaxed) in TABLE_3.items():
        gold, (mild, opposite) = label[0].upper(), HALF[label]
        r, s = round(100 * relaxed), round(100 * strict)
        hard = 0 if label == "neutral" else s
        kinds = [opposite] * hard + [mild] * (r - hard) + [gold] * (10_000 - r)
        problems += [(gold, gold, kind) for kind in kinds]
    found = ow.score(table(problems), ["r_s", "r_r"], by=["label"], task="nli", replicates=20)
    rates = {(one.group, one.metric): one.value for one in found}
    for label, (strict, relaxed) in TABLE_3.items():
        assert rates[f"label={label}", "r_s"] == pytest.approx(strict / 100, abs=1e-12)
        assert rates[f"label={label}", "r_r"] == pytest.approx(relaxed / 100, abs=1e-12)
    # Weighing labels alike; the share of flips that reach the opposite is 21 % and 33 % (METHODS.md, section 5).
    assert rates[None, "r_r"] == pytest.approx((13.41 + 14.33 + 11.17) / 300, abs=1e-12)
    for label, share in (("entailment", 21), ("contradiction", 33)):
        assert round(100 * rates[f"label={label}", "r_s"] / rates[f"label={label}", "r_r"]) == share


@given(st.integers(1, 12), st.data())
def test_at_k_is_the_share_of_all_draws_that_hold_a_fooling_one(n: int, data: st.DataObject) -> None:
    f, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    draws = [any(draw) for draw in combinations([1] * f + [0] * (n - f), k)]
    [found] = fooled_within(k, [f], [n])
    assert found == pytest.approx(np.mean(draws), abs=1e-12)
    assert found == pytest.approx(hypergeom(n, f, k).sf(0), abs=1e-12)


def test_at_k_is_exact_at_its_ends() -> None:
    n = np.arange(5, 200)
    assert (fooled_within(5, 0 * n, n) == 0).all()
    assert (fooled_within(5, n, n) == 1).all()
    assert (fooled_within(5, n - 4, n) == 1).all()  # four that do not fool are too few for five draws
    assert fooled_within(7, [1], [140]).tolist() == [7 / 140]
    assert fooled_within(500, [1, 999], [1000, 1000]).tolist() == [0.5, 1.0]
    assert fooled_within(1, [], []).tolist() == []


GOLD = st.sampled_from("ENC")
ANY = st.lists(st.tuples(GOLD, GOLD, st.text("ENC", max_size=6)), min_size=1, max_size=12).filter(
    lambda problems: any(gold == pred and variants for gold, pred, variants in problems)
)


@given(ANY)
def test_strict_is_at_most_relaxed_and_both_are_shares(problems: Problems) -> None:
    relaxed, strict = values(problems, "r_r", "r_s")
    assert 0 <= strict <= relaxed <= 1


@given(st.lists(st.tuples(GOLD, st.text("ENC", min_size=4, max_size=4)), min_size=1, max_size=10))
def test_rates_grow_with_k_up_to_the_plain_rate(problems: list[tuple[str, str]]) -> None:
    right = [(gold, gold, variants) for gold, variants in problems]
    for name in BOTH:
        if name == "r_s_without_neutral" and all(gold == "N" for gold, _ in problems):
            continue
        *rising, plain = values(right, *(f"{name}_at(k={k})" for k in range(1, 5)), name)
        assert all(low <= high + 1e-12 for low, high in pairwise(rising))
        assert rising[-1] == plain


@given(ANY, st.integers(1, 3))
def test_without_neutral_is_the_strict_rate_of_the_other_problems(problems: Problems, k: int) -> None:
    others = [one for one in problems if one[0] != "N"]
    if any(gold == pred and len(variants) >= k for gold, pred, variants in others):
        [found] = values(problems, f"r_s_without_neutral_at(k={k})")
        strict, relaxed = values(others, f"r_s_at(k={k})", f"r_r_at(k={k})")
        assert found == strict <= relaxed + 1e-12


def test_without_neutral_by_hand() -> None:
    """Two of four are drawn: with one opposite the chance is 1/2, with two 1 - C(2,2)/C(4,2) = 5/6."""
    problems = [("E", "E", "EENC"), ("C", "C", "CEEN"), ("N", "N", "EEEE"), ("E", "E", "C"), ("C", "E", "EEEE")]
    found = ow.score(table(problems), ["r_s_without_neutral_at(k=2)"], task="nli", replicates=20)
    assert [(one.value, one.n_units, one.n_answers) for one in found] == [((1 / 2 + 5 / 6) / 2, 2, 8)]
    assert values([("+", "+", "+-"), ("-", "-", "++")], "r_s_without_neutral_at(k=1)", task="rte") == [0.75]


def test_one_draw_is_the_mean_share_of_fooling_variants() -> None:
    problems = [("E", "E", "ENC"), ("E", "E", "C"), ("E", "E", ""), ("N", "E", "CCC")]
    assert values(problems, "r_r_at(k=1)", "r_s_at(k=1)") == [(2 / 3 + 1) / 2, (1 / 3 + 1) / 2]


def test_problems_with_fewer_variants_are_left_out_at_k_counted_and_listed() -> None:
    problems = [("E", "E", "EEC"), ("E", "E", "C"), ("E", "C", "C"), ("N", "N", "")]
    found = ow.score(table(problems), ["r_r_at(k=2)", "too_few_variants(k=2)", "r_r"], task="nli", replicates=20)
    assert [one.value for one in found] == [2 / 3, 2 / 3, 2 / 3]
    assert [(one.n_units, one.n_answers) for one in found] == [(1, 3), (3, 7), (3, 7)]
    assert list_too_few_variants(table(problems), k=2) == ["1", "3"]
    assert list_too_few_variants(table(problems), k=1) == ["3"]


def test_a_label_that_nobody_gave_is_an_opposite_all_the_same() -> None:
    """Entailment and neutral alone occur: still, neutral is not the opposite of entailment."""
    frame = table([("E", "E", "N"), ("N", "N", "E")])
    assert [value_of(name, frame) for name in BOTH] == [1.0, 0.5, 0.0]


@pytest.mark.filterwarnings("ignore:.*can never be right")
def test_other_labels_need_an_opposite_that_is_given() -> None:
    frame = table([("E", "E", "N"), ("C", "C", "E")]).with_columns(
        pl.col("gold", "pred").replace_strict({"entailment": "up", "neutral": "level", "contradiction": "down"})
    )
    with refuses(Unmeasurable):
        ow.score(frame, ["r_s"])
    assert [one.value for one in ow.score(frame, ["r_s(opposite=up<->down)"], replicates=20)] == [0.5]
    assert ow.score(frame, ["r_s(opposite=up <-> level)"], replicates=20)[0].value == 1.0
    with refuses(Unmeasurable):
        ow.score(frame, ["r_s(opposite=up<->yes)"])
    for wrong in ("up", "up<->up", "up<->", "a<->b<->c"):
        with refuses(BadInput):
            metrics.make(f"r_s(opposite={wrong})")


@pytest.mark.parametrize("name", ["r_r_at", "r_s_at", "r_s_without_neutral_at", "too_few_variants"])
def test_k_is_at_least_one(name: str) -> None:
    with refuses(BadInput):
        metrics.make(f"{name}(k=0)")


@pytest.mark.parametrize(
    ("problems", "metric"),
    [
        ([("E", "E", ""), ("N", "N", "")], "r_r"),  # no variants at all: not 0
        ([("E", "N", "E"), ("N", "E", "E")], "r_s"),  # nothing answered correctly
        ([("N", "N", "E")], "r_s_without_neutral"),
        ([("E", "E", "EE")], "r_r_at(k=3)"),
        ([("N", "N", "EE"), ("E", "E", "C")], "r_s_without_neutral_at(k=2)"),
    ],
)
def test_nothing_to_measure_is_not_zero(problems: Problems, metric: str) -> None:
    with pytest.warns(UserWarning, match="nothing to measure"), refuses(BadInput):
        ow.score(table(problems), [metric], task="nli")


def test_more_draws_or_fooling_variants_than_there_are_is_refused() -> None:
    with refuses(BadInput):
        fooled_within(3, [1], [2])
    with refuses(BadInput):
        fooled_within(1, [3], [2])


def test_one_problem_has_a_rate_but_no_interval() -> None:
    [one] = ow.score(table([("E", "E", "EC")]), ["r_s"], task="nli")
    assert (one.value, one.low, one.high) == (1.0, None, None)
