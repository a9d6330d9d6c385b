"""Laws that every answers table obeys, on random tables against naive loops."""

from __future__ import annotations

import json
import math
import warnings
from collections import defaultdict
from dataclasses import asdict
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from otherwords.answers import reading
from otherwords.metrics.metric import as_metric
from otherwords.pipeline import score
from otherwords.problem import Score, Task
from otherwords.registry import metrics

TASK = Task("laws", fields=("text",), labels=("a", "b", "c"))
ALL = ("accuracy_original", "accuracy_variants", "flip_rate", "p_c")
#: Those four, one with parts, one of problems, and those of several models.
MORE = (*ALL, "flip_directions", "r_r", "pa_curve(step=0.25)", "snr", "hard_cases", "never_right")
Rows = list[dict[str, Any]]
lawful = settings(max_examples=settings.default.max_examples // 2, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def tables(draw: st.DrawFn, min_variants: int = 0) -> Rows:
    """An answers table as rows, at least two variants of a problem in it; clusters may hold several buckets.

    Drawn from a seed: Hypothesis chooses the size, and repeats itself too much where it chooses every cell.
    """
    random = Random(draw(st.integers(0, 2**32)))
    sizes = [random.randint(min_variants, 5) for _ in range(draw(st.integers(1, 12)))]
    sizes[0] = max(sizes[0], 2)  # P_C has no value where no problem has two variants
    skill, clusters = random.random(), random.randint(1, 8)
    rows: Rows = []
    for number, size in enumerate(sizes):
        gold = random.choice("abc")
        shared = {"bucket": f"b{number}", "gold": gold, "cluster": f"k{random.randrange(clusters)}",
                  "genre": random.choice(["news", "talk"])}  # fmt: skip
        for place in range(size + 1):
            pred = gold if random.random() < skill else random.choice("abc")
            name, how = (f"v{place}", random.choice(["voice", "synonym"])) if place else (None, None)
            rows.append({**shared, "variant": name, "pred": pred, "how": how})
    return rows


def frame(rows: Rows) -> pl.DataFrame:
    return pl.DataFrame(rows, schema_overrides={"variant": pl.String, "how": pl.String}, infer_schema_length=None)


def scored(rows: Rows | pl.DataFrame, using: tuple[str, ...] = ALL, **options: Any) -> list[Score]:
    answers = rows if isinstance(rows, pl.DataFrame) else frame(rows)
    with warnings.catch_warnings():
        if using != ALL or options:
            warnings.filterwarnings("ignore", ".*nothing to measure")  # small tables and groups; the four have values
        return score(answers, using, task=TASK, replicates=60, **options)


def as_bytes(scores: list[Score]) -> bytes:
    return json.dumps([asdict(one) for one in scores], allow_nan=False).encode()


def naive(rows: Rows) -> dict[str, float]:
    """The four metrics with loops and fractions, as METHODS.md words them."""
    originals = {row["bucket"]: row for row in rows if row["variant"] is None}
    variants = [row for row in rows if row["variant"] is not None]
    theta: dict[str, list[bool]] = defaultdict(list)
    for row in variants:
        theta[row["bucket"]].append(row["pred"] == row["gold"])
    shares = [sum(right) / len(right) for right in theta.values()]
    return {
        "accuracy_original": sum(row["pred"] == row["gold"] for row in originals.values()) / len(originals),
        "accuracy_variants": sum(row["pred"] == row["gold"] for row in variants) / len(variants),
        "flip_rate": sum(row["pred"] != originals[row["bucket"]]["pred"] for row in variants) / len(variants),
        "p_c": math.fsum(t**2 + (1 - t) ** 2 for t in shares) / len(shares),
    }


@lawful
@given(tables())
def test_values_and_counts_equal_naive_loops(rows: Rows) -> None:
    found = {one.metric: one for one in scored(rows)}
    assert {name: one.value for name, one in found.items()} == pytest.approx(naive(rows), abs=1e-12)
    variants = [row for row in rows if row["variant"] is not None]
    buckets, with_variants = {row["bucket"] for row in rows}, {row["bucket"] for row in variants}
    counts = {name: (one.n_units, one.n_answers) for name, one in found.items()}
    assert counts.pop("accuracy_original") == (len(buckets), len(buckets))
    assert set(counts.values()) == {(len(with_variants), len(variants))}


@lawful
@given(tables())
def test_intervals_lie_between_0_and_1_and_exist_unless_there_is_one_cluster(rows: Rows) -> None:
    for one in scored(rows):
        counted = [row for row in rows if (row["variant"] is None) == (one.metric == "accuracy_original")]
        if len({row["cluster"] for row in counted}) == 1:
            assert (one.low, one.high) == (None, None)
        else:
            assert one.low is not None
            assert one.high is not None
            assert -1e-12 <= one.low <= one.high <= 1 + 1e-12


@lawful
@given(tables())
def test_p_c_lies_between_its_bound_and_one(rows: Rows) -> None:
    theta: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        if row["variant"] is not None:
            theta[row["bucket"]].append(row["pred"] == row["gold"])
    a = float(np.mean([np.mean(right) for right in theta.values()]))
    value = next(one.value for one in scored(rows) if one.metric == "p_c")
    assert value is not None
    assert 1 - 2 * a * (1 - a) - 1e-12 <= value <= 1


@lawful
@given(tables())
def test_identity_never_flips(rows: Rows) -> None:
    answer = {row["bucket"]: row["pred"] for row in rows if row["variant"] is None}
    same = [{**row, "pred": answer[row["bucket"]]} for row in rows]
    found = {one.metric: one for one in scored(same)}
    assert found["flip_rate"].value == 0.0
    assert found["flip_rate"].low in (0.0, None)
    assert found["p_c"].value == 1.0


@lawful
@given(tables(), st.permutations("abc"))
def test_renaming_labels_changes_no_byte(rows: Rows, order: list[str]) -> None:
    names = dict(zip("abc", order, strict=True))
    renamed = [{**row, "gold": names[row["gold"]], "pred": names[row["pred"]]} for row in rows]
    assert as_bytes(scored(renamed)) == as_bytes(scored(rows))


@lawful
@given(tables())
def test_buckets_without_variants_do_not_touch_what_is_measured_on_variants(rows: Rows) -> None:
    lonely = [{**row, "bucket": f"alone{i}", "cluster": f"alone{i}", "variant": None} for i, row in enumerate(rows)]
    before = [one for one in scored(rows) if one.metric != "accuracy_original"]
    after = [one for one in scored([*lonely, *rows]) if one.metric != "accuracy_original"]
    assert as_bytes(after) == as_bytes(before)


@lawful
@given(tables(), tables())
def test_disjoint_tables_add_up(one: Rows, two: Rows) -> None:
    other = [{**row, "bucket": f"other {row['bucket']}", "cluster": f"other {row['cluster']}"} for row in two]
    union = {score.metric: score.value for score in scored([*one, *other])}
    for name in ALL:
        metric = as_metric(metrics.make(name).function)
        parts = [metric.statistics(reading.read(frame(rows), TASK.labels)).sum(axis=0) for rows in (one, other)]
        assert float(metric.combine(parts[0] + parts[1])) == pytest.approx(union[name], abs=1e-12)


@lawful
@given(tables())
def test_twice_the_same_data_has_the_same_values(rows: Rows) -> None:
    again = [{**row, "bucket": f"again {row['bucket']}", "cluster": f"again {row['cluster']}"} for row in rows]
    values = [one.value for one in scored([*rows, *again])]
    assert values == pytest.approx([one.value for one in scored(rows)], abs=1e-12)


@lawful
@given(tables(min_variants=1))
def test_groups_of_a_bucket_column_equal_the_filtered_table(rows: Rows) -> None:
    using = MORE
    found = scored(rows, using, by=["genre"])
    assert as_bytes([one for one in found if one.group is None]) == as_bytes(scored(rows, using))
    for genre in sorted({row["genre"] for row in rows}):
        alone = scored([row for row in rows if row["genre"] == genre], using)
        grouped = [one for one in found if one.group == f"genre={genre}"]
        assert as_bytes([Score(**{**asdict(one), "group": None}) for one in grouped]) == as_bytes(alone)


@lawful
@given(tables(min_variants=1))
def test_groups_of_a_variant_column_keep_each_variants_original(rows: Rows) -> None:
    using = MORE
    found = scored(rows, using, by=["how"])
    for how in sorted({row["how"] for row in rows if row["how"]}):
        inside = [row for row in rows if row["how"] == how]
        buckets = {row["bucket"] for row in inside}
        company = [row for row in rows if row["variant"] is None and row["bucket"] in buckets]
        alone = scored([*company, *inside], using)
        grouped = [one for one in found if one.group == f"how={how}"]
        assert as_bytes([Score(**{**asdict(one), "group": None}) for one in grouped]) == as_bytes(alone)
    assert {one.group for one in found} == {None} | {f"how={row['how']}" for row in rows if row["how"]}


@lawful
@given(tables(), tables())
def test_models_in_one_table_do_not_meet(one: Rows, two: Rows) -> None:
    together = [*({**row, "model": "m1"} for row in one), *({**row, "model": "m2"} for row in two)]
    found = scored(sorted(together, key=lambda row: str(row["variant"])), MORE[:-3])
    separate = [
        scored([{**row, "model": name} for row in rows], MORE[:-3]) for name, rows in (("m1", one), ("m2", two))
    ]
    assert as_bytes(found) == as_bytes([*separate[0], *separate[1]])
