"""The flip rate by hand."""

from __future__ import annotations

import polars as pl
import pytest

from otherwords.errors import BadInput
from otherwords.metrics import flip_rate
from otherwords.pipeline import score


def test_plain_function_by_hand() -> None:
    assert flip_rate(["a", "b", "b"], ["a", "a", "b"]) == 1 / 3
    with pytest.raises(BadInput, match="no answers"):
        flip_rate([], [])


def table(*pred: str) -> pl.DataFrame:
    """Bucket a: the original and two variants; bucket b: the original and one. Gold is x throughout."""
    return pl.DataFrame(
        {"bucket": list("aaabb"), "variant": [None, "1", "2", None, "1"], "gold": ["x"] * 5, "pred": list(pred)}
    )


@pytest.mark.parametrize(
    ("pred", "value"),
    [
        ("xxxxx", 0.0),  # always right
        ("xxyxx", 1 / 3),
        ("xyyxy", 1.0),
        ("yxxyy", 2 / 3),  # from wrong to right is a flip too; wrong and wrong alike is none
        ("yzzxx", 2 / 3),  # from one wrong answer to another as well
    ],
)
def test_metric_compares_each_variant_with_its_own_original(pred: str, value: float) -> None:
    [one] = score(table(*pred), ["flip_rate"])
    assert (one.value, one.n_units, one.n_answers) == (value, 2, 3)


def test_original_may_stand_anywhere_in_the_table() -> None:
    shuffled = table(*"xxyxx").reverse()
    assert score(shuffled, ["flip_rate"]) == score(table(*"xxyxx"), ["flip_rate"])


def test_constant_answers_never_flip_and_say_so_with_an_interval() -> None:
    with pytest.warns(UserWarning, match="no answer can be right"):
        [one] = score(table(*"yyyyy"), ["flip_rate"])
    assert (one.value, one.low, one.high) == (0.0, 0.0, 0.0)
