"""DGP(phi, rho): each row is replaced by its rewording with probability rho, by a draw of its own."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.frames import to_frame
from otherwords.problem import TASKS
from otherwords.variants.resampling import draws, resample

NLI = TASKS["nli"]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
IDS = st.one_of(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4), st.integers().map(str))


def rows_of(ids: list[str], texts: list[str], **more: Any) -> pl.DataFrame:
    rows = [
        {"id": one, "premise": text, "hypothesis": "So.", "label": "neutral", "cluster": text, **more}
        for one, text in zip(ids, texts, strict=True)
    ]
    return to_frame(rows, NLI)


def variants_of(pairs: list[tuple[str, str]], how: str = "by hand") -> pl.DataFrame:
    rows = [
        {"id": f"{of}~{n}", "of": of, "how": how, "premise": text, "hypothesis": "So.", "label": "neutral"}
        for n, (of, text) in enumerate(pairs)
    ]
    return to_frame(rows, NLI)


TABLES = st.lists(IDS, min_size=1, max_size=8, unique=True).flatmap(
    lambda ids: st.tuples(
        st.just(ids),
        st.lists(TEXTS, min_size=len(ids), max_size=len(ids)),
        st.lists(st.tuples(st.sampled_from([*ids, "a stranger"]), TEXTS), max_size=12),
    )
)


@given(TABLES, st.floats(0, 1), st.integers(-(2**70), 2**70))
def test_a_table_is_resampled_as_its_rows_would_be_one_by_one(table, rho, seed):
    ids, texts, pairs = table
    frame, counts = resample(rows_of(ids, texts), variants_of(pairs), rho, seed, NLI)
    able = changed = several = 0
    for place, (name, text) in enumerate(zip(ids, texts, strict=True)):
        new = [one for of, one in pairs if of == name and one != text]
        replaced = bool(new) and float(draws([name], seed)[0]) < rho
        able, changed, several = able + bool(new), changed + replaced, several + (len(new) > 1)
        row = frame.row(place, named=True)
        assert (row["id"], row["of"], row["label"], row["cluster"]) == (name, None, "neutral", text)
        assert row["premise"] == (new[0] if replaced else text)
        assert (row["changed"], row["how"]) == (replaced, "by hand" if replaced else None)
    assert counts == (len(ids), able, changed, several)


@given(TABLES, st.floats(0, 1), st.integers(0, 99), st.randoms(use_true_random=False))
def test_neither_the_order_nor_the_company_of_a_row_matters(table, rho, seed, random):
    ids, texts, pairs = table
    whole = resample(rows_of(ids, texts), variants_of(pairs), rho, seed, NLI)[0]
    order = list(range(len(ids)))
    random.shuffle(order)
    some = order[: len(order) // 2 + 1]
    part = resample(rows_of([ids[i] for i in some], [texts[i] for i in some]), variants_of(pairs), rho, seed, NLI)[0]
    assert part.rows() == [whole.row(i) for i in some]


@given(TABLES, st.integers(0, 99))
def test_nothing_is_replaced_at_0_all_that_can_be_at_1_and_samples_are_nested(table, seed):
    ids, texts, pairs = table
    drawn = {rho: resample(rows_of(ids, texts), variants_of(pairs), rho, seed, NLI) for rho in (0, 0.3, 0.8, 1)}
    assert drawn[0][1].changed == 0
    assert drawn[1][1].changed == drawn[1][1].changeable
    changed = [set(frame.filter("changed")["id"]) for frame, _ in drawn.values()]
    assert changed == sorted(changed, key=len)
    assert all(one <= other for one, other in pairwise(changed))


def test_the_share_that_is_replaced_is_rho_and_samples_of_other_seeds_are_independent():
    names = [f"row {i}" for i in range(20_000)]
    first, second = (draws(names, seed) < 0.3 for seed in (1, 2))
    for share, expected in ((first.mean(), 0.3), ((first & second).mean(), 0.09)):
        assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / len(names))
    assert np.all((draws(names, 1) >= 0) & (draws(names, 1) < 1))


def test_a_draw_is_the_same_everywhere():
    assert draws(["a", "ü", "", "1"], seed=7).tolist() == pytest.approx(
        [0.0652925, 0.7670469, 0.1707382, 0.3032425], abs=1e-7
    )


def test_other_columns_stay_and_one_called_changed_keeps_its_content():
    frame, _ = resample(rows_of(["a"], ["x"], topic="t", changed="mine"), variants_of([("a", "y")]), 1, 1, NLI)
    assert frame.row(0, named=True) == {
        "id": "a", "of": None, "how": "by hand", "premise": "y", "hypothesis": "So.", "label": "neutral",
        "cluster": "x", "topic": "t", "input_changed": "mine", "changed": True,
    }  # fmt: skip


@pytest.mark.parametrize("rho", [-0.1, 1.1, math.nan, math.inf, "0.5", True, None])
def test_rho_is_a_share(rho):
    with refuses(BadInput, field="rho"):
        resample(rows_of(["a"], ["x"]), variants_of([]), rho, 1, NLI)


def test_rewordings_among_the_rows_are_refused():
    with refuses(BadInput, field="of"):
        resample(variants_of([("a", "x")]), variants_of([]), 0.5, 1, NLI)
