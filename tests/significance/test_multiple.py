"""Adjusted p-values against statsmodels, and the laws they keep."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from statsmodels.stats.multitest import multipletests

from otherwords.errors import BadInput, UnknownName
from otherwords.significance.multiple import adjust, reject

METHODS = {"bonferroni": "bonferroni", "holm": "holm", "benjamini-hochberg": "fdr_bh"}
P_VALUES = st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=30)


def reference(p, method: str) -> tuple[np.ndarray, np.ndarray]:
    """What statsmodels rejects at 5 %, and its p-values; it collects garbage each time, which takes a while here."""
    with patch("gc.collect"):
        return multipletests(p, 0.05, METHODS[method])[:2]


@pytest.mark.parametrize("method", METHODS)
@given(p=P_VALUES)
def test_agrees_with_statsmodels(method: str, p: list[float]) -> None:
    np.testing.assert_allclose(adjust(p, method), reference(p, method)[1], rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("method", METHODS)
def test_rejects_as_statsmodels_does(method: str) -> None:
    random = np.random.default_rng(3)
    for size in (1, 2, 5, 50):
        p = random.beta(0.3, 3, size)
        assert reject(p, 0.05, method).tolist() == reference(p, method)[0].tolist()


@given(p=P_VALUES, alpha=st.floats(0.001, 0.5))
def test_bonferroni_rejects_least_and_benjamini_hochberg_most(p: list[float], alpha: float) -> None:
    few, more, most = (adjust(p, method) for method in METHODS)
    assert (few >= more).all()
    assert (more >= most - 1e-15).all()
    assert (most >= np.asarray(p) - 1e-15).all()
    assert reject(p, alpha, "bonferroni").any() == reject(p, alpha, "holm").any()


@given(p=P_VALUES, data=st.data())
def test_order_does_not_matter(p: list[float], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(p))))
    for method in METHODS:
        assert adjust(np.asarray(p)[order], method).tolist() == adjust(p, method)[order].tolist()


def test_the_example_of_benjamini_and_hochberg() -> None:
    # Benjamini and Hochberg (1995), section 3.1: fifteen p-values; Bonferroni rejects three, their procedure four.
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
    p += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000]
    assert [int(reject(p, 0.05, method).sum()) for method in METHODS] == [3, 3, 4]


@pytest.mark.parametrize("p", [[], [[0.1, 0.2]], [0.1, 1.2], [-0.1], [0.2, float("nan")]])
def test_what_is_no_list_of_p_values_is_refused(p: list[float]) -> None:
    with refuses(BadInput):
        adjust(p)


def test_unknown_method_and_level() -> None:
    with refuses(UnknownName):
        adjust([0.1], "sidak")
    for alpha in (0, 1, float("nan")):
        with refuses(BadInput):
            reject([0.1], alpha)
