"""What was dropped is counted, and why."""

from __future__ import annotations

import polars as pl

from otherwords.validity.funnel import alike, funnel


def test_counts_and_reasons() -> None:
    buckets = pl.DataFrame(
        {
            "id": ["a", "a1", "a2", "a3", "a4"],
            "of": [None, "a", "a", "a", "a"],
            "check:surface": [None, True, False, False, None],
            "check:surface:reason": [None, None, "length ratio 3.50", "length ratio 9.00", None],
            "check:surface:score": [None, 1.0, 3.5, 9.0, None],
            "check:overlap": [None, True, True, False, True],
            "check:overlap:reason": [None, None, None, "too alike", None],
        }
    )
    found = funnel(buckets)
    assert found is not None
    surface, overlap = found.checks
    assert (found.made, found.dropped) == (4, 2)
    assert (surface.name, surface.dropped, surface.alone) == ("surface", 2, 1)
    assert surface.reasons == (("length ratio 3.50 to 9.00", 2),)
    assert (overlap.dropped, overlap.alone, overlap.reasons) == (1, 0, (("too alike", 1),))


def test_parts_count_as_the_whole_even_where_one_lacks_a_check() -> None:
    rows = [
        {"id": "a", "of": None},
        {"id": "a1", "of": "a", "check:x": False, "check:x:reason": "ratio 3"},
        {"id": "a2", "of": "a", "check:x": False, "check:x:reason": "ratio 7", "check:y": False},
        {"id": "b", "of": None},
        {"id": "b1", "of": "b", "check:x": True, "check:y": False, "check:y:reason": "no"},
        {"id": "b2", "of": "b", "check:y": True},
    ]
    schema = {"of": pl.String, "check:x": pl.Boolean, "check:y": pl.Boolean}
    whole = pl.DataFrame(rows, schema_overrides=schema)
    found = funnel(whole)
    assert found == funnel(whole[:2], whole[2:3].lazy(), whole[3:])
    assert found is not None
    assert (found.made, found.dropped, found.kept) == (4, 3, 1)
    x, y = found.checks
    assert (x.dropped, x.alone, x.unjudged, x.reasons) == (2, 1, 1, (("ratio 3 to 7", 2),))
    assert (y.dropped, y.alone, y.unjudged, y.reasons) == (2, 1, 1, (("no", 1), ("no reason given", 1)))
    separate = funnel(whole[:2].select("id", "of", "check:x", "check:x:reason"), whole[2:])
    assert separate is not None
    assert (separate.dropped, [one.dropped for one in separate.checks]) == (3, [2, 2])


def test_a_check_without_reasons() -> None:
    found = funnel(pl.DataFrame({"id": ["a", "a1"], "of": [None, "a"], "check:human": [None, False]}))
    assert found is not None
    assert (found.checks[0].dropped, found.checks[0].reasons) == (1, ())


def test_no_checks() -> None:
    assert funnel(pl.DataFrame({"id": ["a"], "of": [None]}, schema_overrides={"of": pl.String})) is None


def test_numbers_sort_as_numbers_and_rare_reasons_come_last() -> None:
    reasons = {"ratio 10 above 2": 1, "ratio 9 above 2": 1, "empty": 1, "b": 1, "c": 5}
    assert alike(reasons) == [("c", 5), ("ratio 9 to 10 above 2", 2), ("b", 1), ("empty", 1)]


def test_what_is_left_to_the_model_is_not_unjudged() -> None:
    rows = {"id": ["a", "a1", "a2", "a3"], "of": [None, "a", "a", "a"], "check:me": [None, None, None, True]}
    found = funnel(
        pl.DataFrame({**rows, "check:me:by": [None, "self", "", "self"]}, schema_overrides={"check:me": pl.Boolean})
    )
    assert found is not None
    assert (found.checks[0].left, found.checks[0].unjudged, found.kept) == (1, 1, 3)
