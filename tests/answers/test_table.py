"""Coding: one number per name, decided by the set of names alone, in any order of rows."""

from __future__ import annotations

from random import Random

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from otherwords.answers.reading import read
from otherwords.answers.table import WHOLE_TABLE, Location, codes
from otherwords.errors import BadInput

NAMES = st.lists(st.text(max_size=5), min_size=1, max_size=30)


def coded(names: list[str]) -> dict[str, int]:
    """The number of each name, which must be the same in every row."""
    found, count = codes(pl.Series("bucket", names, dtype=pl.String), WHOLE_TABLE)
    assert sorted(set(found.tolist())) == list(range(count))
    numbers = dict(zip(names, found.tolist(), strict=True))
    assert [numbers[name] for name in names] == found.tolist()
    assert len(set(numbers.values())) == len(numbers) == count
    return numbers


@given(NAMES, st.integers(0, 2**32))
def test_the_same_names_get_the_same_numbers_in_any_order_and_number(names: list[str], seed: int) -> None:
    random = Random(seed)
    again = [*names, *random.choices(names, k=random.randrange(20))]
    random.shuffle(again)
    assert coded(again) == coded(names)


@given(NAMES, st.integers(3, 6))
def test_runs_of_a_name_are_coded_as_single_rows_are(names: list[str], length: int) -> None:
    """Rows that stand together go by their first rows, others one by one: two ways, one result."""
    together = [name for name in names for _ in range(length)]
    heads = sum(one != other for one, other in zip(together, [None, *together], strict=False))
    assert heads * 2 < len(together)  # the short way
    assert coded(together) == coded(list(dict.fromkeys(names)))


@given(NAMES)
def test_names_with_one_hash_are_distinguished_and_keep_the_promise(names: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pl.Series, "hash", lambda self: pl.repeat(7, len(self), dtype=pl.UInt64, eager=True))
        assert coded(names) == coded(names[::-1]) == coded([*names, *names])


def test_numbers_and_categories_are_coded_as_their_names() -> None:
    column = pl.Series("bucket", [3, 1, 3, 2])
    expected = codes(column.cast(pl.String), WHOLE_TABLE)[0].tolist()
    assert codes(column, WHOLE_TABLE)[0].tolist() == expected
    assert codes(column.cast(pl.String).cast(pl.Categorical), WHOLE_TABLE)[0].tolist() == expected


def test_two_models_tables_number_their_buckets_alike() -> None:
    """What pairing relies on: the rows of two models stand side by side, bucket by bucket."""
    names = [f"b{i}" for i in range(50)]
    rows = {"bucket": names * 3, "variant": [None] * 50 + ["1"] * 50 + ["2"] * 50, "gold": ["x"] * 150}
    one = pl.DataFrame({**rows, "pred": ["x"] * 150})
    other = one.sample(fraction=1, shuffle=True, seed=1).with_columns(pred=pl.lit("y"))
    together = one.sort("bucket", "variant")  # coded run by run
    tables = [read(table, ("x", "y")) for table in (one, other, together)]
    orders = [table.frame["bucket"].gather(table.originals).to_list() for table in tables]
    assert orders[0] == orders[1] == orders[2]
    assert np.array_equal(tables[0].cluster, tables[1].cluster)


def test_an_answer_without_a_name_is_refused_with_its_row() -> None:
    place = Location("answers.csv", rows=np.array([4, 9]))
    with refuses(BadInput):
        codes(pl.Series("bucket", ["a", None]), place)
