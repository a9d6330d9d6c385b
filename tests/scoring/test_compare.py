"""Comparisons: what both models answered, paired by cluster, against naive loops; and groups of a model's variants."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refuses
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

import otherwords as ow
from otherwords.errors import BadInput, UnknownName
from otherwords.registry import metrics
from otherwords.scoring.compare import compare, compare_groups
from otherwords.scoring.count_tests import count_tests
from otherwords.scoring.select import FAMILIES
from otherwords.significance import adjust, crossed_test

LABELS = ("entailment", "neutral", "contradiction")
FEW: dict[str, Any] = {"replicates": 400}
#: Where no p-value is looked at, fewer do.
FEWER = "ignore:.*too few for a small adjusted p"


def suite(seed: int = 1, buckets: int = 40, most: int = 4) -> pl.DataFrame:
    """Buckets with one to `most` variants made in two ways; three buckets to a cluster."""
    random = np.random.default_rng(seed)
    rows = []
    for bucket in range(buckets):
        gold = LABELS[random.integers(3)]
        for variant in range(1 + random.integers(1, most + 1)):
            name, how = (f"{bucket}.{variant}", "ab"[variant % 2]) if variant else (None, None)
            rows.append((f"b{bucket}", name, gold, f"c{bucket // 3}", how))
    return pl.DataFrame(rows, schema=["bucket", "variant", "gold", "cluster", "how"], orient="row")


def answered(table: pl.DataFrame, model: str, skill: float, seed: int) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    right = random.random(table.height) < skill
    other = pl.Series(np.array(LABELS)[random.integers(0, 3, table.height)])
    pred = pl.when(pl.Series(right)).then("gold").otherwise(other)
    return table.with_columns(pl.lit(model).alias("model"), pred.alias("pred"))


@pytest.fixture
def two() -> list[pl.DataFrame]:
    table = suite()
    return [answered(table, "one", 0.9, 2), answered(table, "two", 0.6, 3)]


def flips(table: pl.DataFrame) -> dict[str, list[bool]]:
    original = {row["bucket"]: row["pred"] for row in table.to_dicts() if row["variant"] is None}
    found: dict[str, list[bool]] = {}
    for row in table.to_dicts():
        if row["variant"] is not None:
            found.setdefault(row["cluster"], []).append(row["pred"] != original[row["bucket"]])
    return found


def test_values_and_difference_are_those_of_the_scores(two: list[pl.DataFrame]) -> None:
    names = ["flip_rate", "p_c", "accuracy_original", "r_r", "pa", "flip_directions"]
    found = compare(*two, names, **FEW)
    scores = [{one.metric: one.value for one in ow.score(table, names, replicates=2)} for table in two]
    assert {one.metric: one.value for one in found} == pytest.approx(scores[0])
    assert {one.metric: one.other_value for one in found} == pytest.approx(scores[1])
    for one in found:
        assert one.difference == pytest.approx(one.value - one.other_value, abs=1e-12)  # type: ignore[operator]
        assert one.low <= one.difference <= one.high  # type: ignore[operator]


def test_the_interval_is_that_of_a_naive_paired_bootstrap(two: list[pl.DataFrame]) -> None:
    [one] = compare(*two, ["flip_rate"], replicates=10_000, interval="percentile")
    sides = [flips(table) for table in two]
    clusters, random, drawn = sorted(sides[0]), np.random.default_rng(5), []
    for _ in range(4_000):
        chosen = random.choice(clusters, len(clusters))
        rates = [np.mean(np.concatenate([side[cluster] for cluster in chosen])) for side in sides]
        drawn.append(rates[0] - rates[1])
    spread = np.std(drawn)
    assert one.low == pytest.approx(np.quantile(drawn, 0.025), abs=0.12 * spread)
    assert one.high == pytest.approx(np.quantile(drawn, 0.975), abs=0.12 * spread)


def test_swapping_single_originals_is_mcnemars_test() -> None:
    """With one bucket to a cluster and accuracy on originals, swapping is flipping coins for discordant pairs."""
    table = suite(buckets=60).drop("cluster")
    one, other = answered(table, "one", 0.9, 2), answered(table, "two", 0.5, 3)
    right = [
        (
            side.filter(pl.col("variant").is_null())["pred"] == side.filter(pl.col("variant").is_null())["gold"]
        ).to_numpy()
        for side in (one, other)
    ]
    n10, n01 = int((right[0] & ~right[1]).sum()), int((~right[0] & right[1]).sum())
    exact = mcnemar([[0, n10], [n01, 0]], exact=True).pvalue
    [found] = compare(one, other, ["accuracy_original"], replicates=50_000)
    assert found.p_swap == pytest.approx(exact, abs=4 * np.sqrt(exact / 50_000) + 1 / 50_000)


def test_two_tables_or_one_and_shuffled_renamed_rows_give_the_same_bytes(two: list[pl.DataFrame]) -> None:
    names = ["flip_rate", "p_c", "p_c_distinct", "majority_vote"]

    def results(found: list[ow.Difference]) -> bytes:
        return json.dumps([asdict(one) for one in found]).encode()

    separate = results(compare(*two, names, **FEW))
    together = pl.concat(two).sample(fraction=1, shuffle=True, seed=4)
    assert results(compare(together, using=names, **FEW)) == separate
    renamed = together.with_columns(
        (pl.lit("x") + pl.col(name)).alias(name) for name in ("bucket", "variant", "cluster")
    )
    assert results(compare(renamed, using=names, models=["one", "two"], **FEW)) == separate


def mirrored(one: ow.Difference) -> dict[str, Any]:
    """What comparing the other way round must give, to the bit."""
    turned = {"model": one.other, "other": one.model, "value": one.other_value, "other_value": one.value}
    turned |= {"p_not_lower": one.p_not_higher, "p_not_higher": one.p_not_lower}
    for name, number in (("difference", one.difference), ("low", one.high), ("high", one.low)):
        turned[name] = None if number is None else -number + 0.0
    return asdict(one) | turned


def with_probabilities(table: pl.DataFrame, seed: int) -> pl.DataFrame:
    p = np.random.default_rng(seed).dirichlet(np.ones(3), table.height)
    best = p.argmax(axis=1)
    for row, label in enumerate(table["pred"].to_list()):  # the answer is the most probable label
        place = LABELS.index(label)
        p[row, [place, best[row]]] = p[row, [best[row], place]]
    return table.with_columns(pl.Series(f"p:{name}", p[:, place]) for place, name in enumerate(LABELS))


@pytest.mark.filterwarnings("ignore:not compared", FEWER)
def test_the_other_way_round_every_metric_is_mirrored_to_the_bit(two: list[pl.DataFrame]) -> None:
    pair = [with_probabilities(table, seed) for seed, table in enumerate(two)]
    there = compare(*pair, ["all"], replicates=399, margin=0.05)
    back = compare(*reversed(pair), ["all"], replicates=399, margin=0.05)
    assert len(there) > 50
    for one, other in zip(there, back, strict=True):
        assert mirrored(one) == asdict(other), one.metric


@pytest.mark.filterwarnings("ignore:problems have", "ignore:.*are compared within", "ignore:not compared")
@pytest.mark.parametrize("apart", [True, False])
def test_groups_the_other_way_round_are_mirrored_too(two: list[pl.DataFrame], apart: bool) -> None:
    table = two[1].with_columns(side=(pl.col("bucket").str.slice(1).cast(pl.Int64) // 3 % 2).cast(pl.String))
    if not apart:
        table = table.with_columns(cluster=pl.col("cluster").str.slice(1).cast(pl.Int64) // 2)
    turned = table.with_columns(side=pl.col("side").replace({"0": "1", "1": "0"}))
    there, back = (compare_groups(one, "side", replicates=500) for one in (table, turned))
    for one, other in zip(there, back, strict=True):
        assert ("test=exchange" if apart else "test=swap") in one.signature
        assert mirrored(one) == asdict(other) | {"model": "side=1", "other": "side=0"}, one.metric


def test_a_model_and_itself_do_not_differ_and_have_no_interval(two: list[pl.DataFrame]) -> None:
    for kind in ("auto", "percentile", "bca"):
        for one in compare(two[0], two[0], ["flip_rate", "p_c", "pa"], interval=kind, **FEW):
            assert (one.model, one.other) == ("one (1)", "one (2)")
            assert (one.difference, one.low, one.high) == (0.0, None, None)
            assert (one.note, one.interval) == ("the answers are the same", "")
            assert one.p_swap == one.p_maxt == one.p_holm == 1.0


def rows_of(model: str, preds: list[str], clusters: str = "") -> pl.DataFrame:
    """A problem for each word: the letters are the answers to the original and its variants, y is right."""
    rows = []
    for bucket, letters in enumerate(preds):
        cluster = clusters[bucket] if clusters else str(bucket)
        rows += [(f"b{bucket}", str(i) if i else None, "y", cluster, one) for i, one in enumerate(letters)]
    names = ["bucket", "variant", "gold", "cluster", "pred"]
    return pl.DataFrame(rows, schema=names, orient="row").with_columns(model=pl.lit(model))


@pytest.mark.parametrize("kind", ["auto", "percentile", "bca"])
def test_what_is_the_same_part_by_part_has_no_interval(kind: str) -> None:
    """One of two variants is right in every problem of both, so PA at 0.1 is; both are in some problems of one."""
    one, two = rows_of("one", ["yyn"] * 4 + ["yyy"] * 4), rows_of("two", ["yyn"] * 8)
    curve = compare(one, two, ["pa_curve(step=0.1)"], interval=kind, **FEW)
    for at in (0.1, 0.9):
        [alone] = compare(one, two, [f"pa(at={at})"], interval=kind, **FEW)
        [part] = [found for found in curve if found.metric == f"pa_curve:{at:.2f}"]
        assert [part.low, part.high, part.p] == pytest.approx([alone.low, alone.high, alone.p], abs=1e-9)
        assert part.note == alone.note
        assert part.note == ("the same for both in every cluster" if at == 0.1 else "")
        assert (part.low is None) == (at == 0.1)


def test_the_answers_are_called_the_same_only_where_they_are() -> None:
    """In the first cluster the two err in different problems, so that the accuracies agree and the flips do not."""
    one = rows_of("one", ["yn", "yy", "yy", "yn"], clusters="aabc")
    two = rows_of("two", ["yy", "yn", "yy", "yn"], clusters="aabc")
    notes = {found.metric: found.note for found in compare(one, two, ["flip_rate", "r_r", "p_c_bound"], **FEW)}
    assert set(notes.values()) == {"the same for both in every cluster"}
    [found] = compare(one, one, ["flip_rate"], **FEW)
    assert found.note == "the answers are the same"


def test_equal_rates_of_different_problems_have_an_interval() -> None:
    """No variant of a right original flips in either, but they are not the same originals."""
    one, two = rows_of("one", ["yy"] * 6 + ["nn"] * 2), rows_of("two", ["yy"] * 8)
    [found] = compare(one, two, ["flip_when_right"], **FEW)
    assert (found.difference, found.note) == (0.0, "")
    assert found.low < 0 < found.high  # type: ignore[operator]


@pytest.mark.parametrize("kind", ["auto", "percentile"])
def test_the_difference_of_two_drops_may_be_more_than_one(kind: str) -> None:
    """One model loses all that it has, the other wins all: -1 and 1, which are two apart."""
    one, two = rows_of("one", ["yn"] * 11 + ["yy"]), rows_of("two", ["ny"] * 11 + ["nn"])
    for found in compare(one, two, ["accuracy_drop", "pa_drop", "vote_gain(original=false)"], interval=kind, **FEW):
        assert found.difference == pytest.approx(-22 / 12)
        assert -2 <= found.low <= found.difference <= found.high < 0  # type: ignore[operator]


def test_models_are_compared_on_what_both_answered(two: list[pl.DataFrame]) -> None:
    """A suite that a model filtered itself: the variants it dropped must not count for the other either."""
    kept = two[0].filter(pl.col("variant").is_null() | (pl.col("how") == "a"))
    with pytest.warns(
        UserWarning, match=r"compared on the \d+ answers that all models have; left out: \d+ of \d+ by two"
    ):
        [one] = compare(kept, two[1], ["flip_rate"], **FEW)
    [same] = compare(kept, two[1].filter(pl.col("variant").is_null() | (pl.col("how") == "a")), ["flip_rate"], **FEW)
    assert asdict(one) == asdict(same)
    assert one.n_answers == kept.filter(pl.col("variant").is_not_null()).height


@pytest.mark.filterwarnings("ignore:problems have .* variants on average")
def test_the_usual_metrics_by_default_and_p_values_adjusted_for_them_alone(two: list[pl.DataFrame]) -> None:
    found = compare(*two, replicates=1_000)
    usual = {one.metric for one in ow.score(two[0], replicates=5)}
    assert {one.metric for one in found} == usual
    for one in found:
        assert one.p_bonferroni == pytest.approx(min(1.0, len(usual) * one.p))  # type: ignore[operator]
    groups = {one.metric for one in compare_groups(two[0], "how", matched=True, replicates=1_000)}
    assert groups == usual - {"accuracy_original"}


@pytest.mark.filterwarnings("ignore:not compared", FEWER)
def test_near_copies_stand_together_as_a_family(two: list[pl.DataFrame]) -> None:
    families = {one.metric: one.family for one in compare(*two, ["all"], replicates=50)}
    order = list(families.values())
    assert order == sorted(order, key=order.index)
    for name, members in FAMILIES.items():
        assert {families[metric] for metric in members if metric in families} <= {name}
    assert families["p_c"] == families["p_c_distinct"] == families["label_agreement"] == "consistency"


def test_every_metric_of_a_family_exists_and_is_in_one() -> None:
    named = [metric for members in FAMILIES.values() for metric in members]
    assert len(named) == len(set(named))
    assert set(named) <= {plugin.name for plugin in metrics}
    documented = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
    for name, members in FAMILIES.items():
        assert f"| {name} | {', '.join(f'`{metric}`' for metric in members)} |" in documented


@pytest.mark.filterwarnings(FEWER)
def test_all_metrics_but_curves_and_suite_statistics(two: list[pl.DataFrame]) -> None:
    lacking = r"not compared: .*jsd_pairs, ks, ks_labels, ks_split, sigma \(the answers have no probabilities\)"
    with pytest.warns(UserWarning, match=lacking):
        found = {one.metric for one in compare(*two, ["all"], replicates=50)}
    assert {"flip_rate", "p_c", "p_c_distinct", "r_r", "r_s", "pa", "pvap", "majority_vote"} <= found
    assert not {name for name in found if name.startswith(("pa_curve", "majority_class", "jaccard", "snr"))}
    assert [one.metric for one in compare(*two, ["pa_curve(step=0.5)"], **FEW)] == ["pa_curve:0.50", "pa_curve:1.00"]


def test_adjusted_p_values_cover_all_differences(two: list[pl.DataFrame]) -> None:
    found = compare(*two, ["flip_rate", "p_c", "pa", "accuracy_original"], by=["how"], **FEW)
    assert {one.group for one in found} == {None, "how=a", "how=b"}
    for one in found:
        assert one.p_bonferroni == pytest.approx(min(1.0, len(found) * one.p))  # type: ignore[operator]
        assert one.p_swap <= one.p_bh <= one.p_holm <= one.p_bonferroni  # type: ignore[operator]


def test_bca_intervals_are_another_kind(two: list[pl.DataFrame]) -> None:
    plain, corrected = (compare(*two, ["p_c"], interval=kind, **FEW)[0] for kind in ("percentile", "bca"))
    assert "difference=bca.v2(" in corrected.signature
    assert (plain.low, plain.high) != (corrected.low, corrected.high)
    assert plain.p_swap == corrected.p_swap


def three(one: pl.DataFrame, two: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([one, two, one.with_columns(model=pl.lit("x"))])


def by_cluster(one: pl.DataFrame) -> pl.DataFrame:
    return one.with_columns(side=pl.when(pl.col("variant").is_not_null()).then("cluster"))


BAD: dict[str, tuple[Any, dict[str, str]]] = {
    "three models": (lambda one, two: compare(three(one, two)), {}),
    "one model": (lambda one, two: compare(one), {"fix": "give a second table"}),
    "an unknown model": (lambda one, two: compare(three(one, two), models=["one", "three"]), {}),
    "itself": (lambda one, two: compare(three(one, two), models=["one", "one"]), {"fix": "choose two of one, two, x"}),
    "nothing shared": (lambda one, two: compare(one, two.with_columns(bucket=pl.lit("x") + pl.col("bucket"))), {}),
    "other gold": (lambda one, two: compare(one, two.with_columns(gold=pl.lit("neutral"))), {"field": "gold"}),
    "no such interval": (
        lambda one, two: compare(one, two, interval="exact"),
        {"fix": "use auto or wilson or percentile or bca"},
    ),
    "no probabilities": (lambda one, two: compare(one, two, ["jsd_pairs"]), {}),
    "across": (lambda one, two: compare(one, two, ["never_right"]), {"where": "never_right"}),
    "one cluster": (
        lambda one, two: compare(*(table.with_columns(cluster=pl.lit("c")) for table in (one, two)), ["p_c"]),
        {"where": "p_c"},
    ),
    "no such group": (lambda one, two: compare_groups(one, "genre"), {}),
    "one group": (lambda one, two: compare_groups(one.filter(pl.col("how").ne_missing("b")), "how"), {}),
    "no match": (
        lambda one, two: compare_groups(by_cluster(one), "side", matched=True),
        {"fix": "compare the groups without matching"},
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_compared_is_refused_with_what_would_work(case: str, two: list[pl.DataFrame]) -> None:
    act, fields = BAD[case]
    with refuses((BadInput, UnknownName), **fields):
        act(*two)


@pytest.mark.filterwarnings("ignore:problems have", "ignore:.*are compared within")
def test_groups_of_different_problems_and_of_the_same(two: list[pl.DataFrame]) -> None:
    [loose] = compare_groups(two[0], "how", ["flip_rate"], **FEW)
    assert (loose.model, loose.other, loose.group) == ("how=a", "how=b", "one")
    by_group = {one.group: one.value for one in ow.score(two[0], ["flip_rate"], by=["how"], replicates=2)}
    assert (loose.value, loose.other_value) == pytest.approx((by_group["how=a"], by_group["how=b"]))
    [tight] = compare_groups(two[0], "how", ["flip_rate"], matched=True, **FEW)
    ways = two[0].filter(pl.col("how").is_not_null()).group_by("bucket").agg(pl.col("how").n_unique())
    assert tight.n_units == ways.filter(pl.col("how") == 2).height <= loose.n_units


def test_groups_of_unequal_size_and_shared_problems_are_reported() -> None:
    with pytest.warns(UserWarning, match="problems (have|with)") as caught:
        compare_groups(answered(suite(), "one", 0.7, 1), "how", ["p_c"], **FEW)
    messages = " / ".join(str(one.message) for one in caught)
    assert re.search(r"problems have 1\.\d in how=a and 1\.\d in how=b variants on average", messages)
    assert re.search(r"\d+ problems with variants in how=a and how=b are .* --matched", messages)


@pytest.mark.filterwarnings("ignore:problems have", "ignore:.*are compared within")
def test_several_models_get_a_t_test_over_their_scores() -> None:
    table = suite()
    models = pl.concat([answered(table, name, 0.6 + i / 10, i) for i, name in enumerate("xyz")])
    found = compare_groups(models, "how", ["accuracy_variants"], **FEW)
    assert [one.group for one in found] == ["x", "y", "z", "(models)"]
    sides = [one.value for one in found[:3]], [one.other_value for one in found[:3]]
    assert found[3].p_t == pytest.approx(stats.ttest_ind(*sides, equal_var=False).pvalue)
    paired = compare_groups(models, "how", ["accuracy_variants"], matched=True, **FEW)
    sides = [one.value for one in paired[:3]], [one.other_value for one in paired[:3]]
    assert paired[3].p_t == pytest.approx(stats.ttest_rel(*sides).pvalue)
    assert "p (t)" in repr(found).split("\n")[0]  # shown, and said what it is
    assert "p (t): the papers' t test over models, which exceeds its level; do not base decisions on it" in repr(found)
    assert "t(paired, over models)" in paired[3].signature
    assert found[3].p_swap is None


def _share(table: pl.DataFrame, way: str) -> tuple[list[str], np.ndarray, float]:
    """By hand: clusters of a group, each one's part in the error of the accuracy on variants, and that accuracy."""
    variants = table.filter(pl.col("how") == way).with_columns(right=pl.col("gold") == pl.col("pred"))
    sums = variants.group_by("cluster").agg(pl.col("right").sum(), pl.len()).sort("cluster")
    value, n = sums["right"].sum() / sums["len"].sum(), sums.height
    moved = (sums["right"] - value * sums["len"]).to_numpy() / sums["len"].sum() * np.sqrt(n / (n - 1))
    return sums["cluster"].to_list(), moved, value


@pytest.mark.filterwarnings("ignore:problems have", "ignore:.*are compared within")
@pytest.mark.parametrize("matched", [False, True])
def test_models_and_problems_are_crossed(matched: bool) -> None:
    """The decision over models has the problems, which all models share, in its error."""
    table = suite()
    models = [answered(table, name, 0.6 + i / 10, i) for i, name in enumerate("xyz")]
    if matched:
        ways = table.filter(pl.col("how").is_not_null()).group_by("bucket").agg(pl.col("how").n_unique())
        both = ways.filter(pl.col("how") == 2)["bucket"].implode()
    row = compare_groups(pl.concat(models), "how", ["accuracy_variants"], matched=matched, **FEW)[3]
    values, moved = [], []
    for one in models:
        cut = one.filter(pl.col("bucket").is_in(both)) if matched else one
        (names, first, value), (others, second, other) = (_share(cut, way) for way in "ab")
        own = dict.fromkeys(sorted({*names, *others}), 0.0)
        for cluster, part in (*zip(names, first, strict=True), *zip(others, -second, strict=True)):
            own[cluster] += part
        values.append(value - other)
        moved.append(list(own.values()))
    expected = crossed_test(values, moved, confidence=0.95)
    assert (row.difference, row.p_crossed) == pytest.approx((expected.difference, expected.p), abs=1e-6)
    assert (row.low, row.high) == pytest.approx((expected.low, expected.high), abs=1e-6)
    assert row.p == row.p_crossed == row.p_holm
    assert "crossed(models x clusters, confidence=0.95)" in row.signature


@pytest.mark.filterwarnings("ignore:problems have", "ignore:.*treated as different problems")
@pytest.mark.filterwarnings("ignore:.*are compared within")
def test_decisions_over_models_are_adjusted_for_each_other() -> None:
    models = pl.concat([answered(suite(), name, 0.6 + i / 10, i) for i, name in enumerate("xyz")])
    wanted = ["accuracy_variants", "flip_rate", "matching_threshold", "pa"]
    rows = {one.metric: one for one in compare_groups(models, "how", wanted, **FEW).where(group="(models)")}
    smooth = [rows[name] for name in wanted if name in rows and rows[name].p_crossed is not None]
    assert "matching_threshold:low" in rows
    assert rows["matching_threshold:low"].p_crossed is None  # it jumps
    assert rows["matching_threshold:low"].p_t is not None
    assert [one.p_holm for one in smooth] == pytest.approx(adjust([one.p_crossed for one in smooth], "holm").tolist())


@pytest.mark.filterwarnings("ignore:problems have")
def test_one_model_has_nothing_over_models(two: list[pl.DataFrame]) -> None:
    assert all(one.p_crossed is None for one in compare_groups(two[0], "how", ["flip_rate"], matched=True, **FEW))


def test_clusters_count_in_either_table(two: list[pl.DataFrame]) -> None:
    def results(*pair: pl.DataFrame) -> tuple[Any, ...]:
        [one] = compare(*pair, ["flip_rate"], **FEW)
        return one.low, one.high, one.p_swap

    both, bare = results(*two), results(*(table.drop("cluster") for table in two))
    assert results(two[0], two[1].drop("cluster")) == both == results(two[0].drop("cluster"), two[1]) != bare


def test_clusters_that_disagree_are_reported(two: list[pl.DataFrame]) -> None:
    other = two[1].with_columns(cluster=pl.col("bucket").str.slice(1).cast(pl.Int64) % 5)
    with pytest.warns(UserWarning, match="one and two have different clusters; using those of one"):
        compare(two[0], other, ["flip_rate"], **FEW)


def test_labels_may_be_text_in_one_table_and_numbers_in_the_other(two: list[pl.DataFrame]) -> None:
    code = {name: str(i) for i, name in enumerate(LABELS)}
    text = [t.with_columns(pl.col("gold", "pred").replace_strict(code)) for t in two]
    expected = [asdict(one) for one in compare(*text, ["accuracy_original"], **FEW)]
    for kind in (pl.Float64, pl.Int64):
        number = text[1].with_columns(pl.col("pred").cast(kind))
        assert [asdict(one) for one in compare(text[0], number, ["accuracy_original"], **FEW)] == expected


@pytest.mark.filterwarnings(FEWER)
def test_a_group_has_the_labels_of_the_whole_table() -> None:
    """Among a, b, c nobody can tell which is the opposite; nor in a group where only a and b occur."""
    table = suite(buckets=30).with_columns(
        gold=pl.col("gold").replace_strict(dict(zip(LABELS, "abc", strict=True))),
        topic=pl.when(pl.col("gold") == "contradiction").then(pl.lit("y")).otherwise(pl.lit("x")),
    )
    right = [table.with_columns(model=pl.lit(name), pred=pl.col("gold")) for name in ("one", "two")]
    with pytest.warns(UserWarning, match="r_s.*no known pair of opposites"):
        found = compare(*right, ["all"], by=["topic"], replicates=50)
    assert not [one.metric for one in found if one.metric.startswith("r_s")]


def test_a_wrong_row_is_reported_as_the_user_counts_it(two: list[pl.DataFrame], tmp_path: Any) -> None:
    for name, table in zip(("one", "two"), two, strict=True):
        table.write_csv(tmp_path / f"{name}.csv")
    twice = pl.concat([two[1], two[1].filter(pl.col("variant").is_not_null())[:1]])
    twice.write_csv(tmp_path / "twice.csv")
    with refuses(BadInput):
        compare(tmp_path / "one.csv", tmp_path / "twice.csv")
    two[1].with_columns(pred=pl.when(pl.int_range(pl.len()) == 7).then(None).otherwise("pred")).write_csv(
        tmp_path / "null.csv"
    )
    with refuses(BadInput):
        compare(tmp_path / "one.csv", tmp_path / "null.csv")


def test_other_words_under_the_same_name_are_refused(two: list[pl.DataFrame]) -> None:
    """Variants that each model made for itself, numbered alike, are not the same variants."""
    texts = [
        table.with_columns(hypothesis=pl.format("{} by " + name, "variant"))
        for name, table in zip("ab", two, strict=True)
    ]
    with refuses(BadInput):
        compare(*texts, ["flip_rate"])


def test_a_group_that_cannot_be_compared_is_left_out_with_its_name(two: list[pl.DataFrame]) -> None:
    marked = [
        table.with_columns(src=pl.when(pl.col("bucket") == "b0").then(pl.lit("rare")).otherwise(pl.lit("rest")))
        for table in two
    ]
    with pytest.warns(UserWarning, match="src=rare: not compared: .*at least two clusters"):
        found = compare(*marked, ["flip_rate"], by=["src"], **FEW)
    assert [one.group for one in found] == [None, "src=rest"]


def test_too_many_differences_for_the_replicates_are_reported(two: list[pl.DataFrame]) -> None:
    with pytest.warns(UserWarning, match=r"too few .* differences; use \d+ replicates"):
        compare(*two, ["flip_rate", "p_c", "pa"], replicates=20)


def test_the_same_metric_with_two_options_has_two_names(two: list[pl.DataFrame]) -> None:
    found = compare(*two, ["pa(at=0.5)", "pa"], **FEW)
    assert [one.metric for one in found] == ["pa(at=0.5)", "pa(at=0.9)"]
    scores = ow.score(two[0], ["pa(at=0.5)", "pa"], replicates=10)
    assert [one.metric for one in scores] == ["pa(at=0.5)", "pa(at=0.9)"]


def test_test_sets_are_cut_to_what_both_answered(two: list[pl.DataFrame], tmp_path: Any) -> None:
    rows = [{"model": m, "id": i + shift, "gold": "neutral", "pred": "neutral" if i % (2 + shift) else "entailment"}
            for m, shift in (("one", 0), ("two", 3)) for i in range(20)]  # fmt: skip
    pl.DataFrame(rows).write_csv(tmp_path / "test.csv")
    spec = f"accuracy_testset(testset={tmp_path / 'test.csv'})"
    with pytest.warns(UserWarning, match="compared on the 17 test items that both answered; 6 answers left out"):
        [one] = compare(*two, [spec], task="nli", **FEW)
    assert (one.n_units, one.n_answers, one.n_clusters) == (17, 17, 17)
    with pytest.warns(UserWarning, match="compared on the 17 test items"):
        both = compare(*two, [spec, "flip_rate"], task="nli", **FEW)
    assert [row.p_swap for row in both if row.metric == "accuracy_testset"] == [one.p_swap]
    wrong = pl.DataFrame(rows).with_columns(
        gold=pl.when((pl.col("model") == "two") & (pl.col("id") == 5)).then(pl.lit("entailment")).otherwise("gold")
    )
    wrong.write_csv(tmp_path / "test.csv")
    with refuses(BadInput):
        compare(*two, [spec], task="nli", **FEW)


@pytest.mark.filterwarnings("ignore:.*not the most probable")
def test_a_part_that_rests_on_one_cluster_has_no_interval(two: list[pl.DataFrame]) -> None:
    """All originals are sure but one: the bin of small margins is about that one."""
    unsure = pl.col("bucket") == "b0"
    p = {"entailment": 0.4, "neutral": 0.35, "contradiction": 0.25}
    sure = [
        pl.when(unsure).then(p[name]).otherwise(0.9 if name == "neutral" else 0.05).alias(f"p:{name}")
        for name in LABELS
    ]
    tables = [t.with_columns(sure) for t in two]
    found = {one.metric: one for one in compare(*tables, ["flips_by_margin"], margin=0.1, **FEW)}
    one = found["flips_by_margin:[0.0,0.2)"]
    assert (one.p_not_lower, one.p_not_higher, one.p_equivalent) == (None, None, None)
    assert (one.low, one.high, one.p_swap, one.p_maxt, one.n_units) == (None, None, None, None, 1)
    assert found["flips_by_margin:[0.8,1.0]"].n_units == 39


def test_empty_clusters_are_none(two: list[pl.DataFrame]) -> None:
    [expected] = compare(*two, ["flip_rate"], **FEW)
    [found] = compare(two[0].with_columns(cluster=pl.lit("")), two[1], ["flip_rate"], **FEW)
    assert (found.low, found.high, found.p_swap) == (expected.low, expected.high, expected.p_swap)


def test_a_metric_named_twice_is_reported_once(two: list[pl.DataFrame]) -> None:
    assert [one.metric for one in compare(*two, ["flip_rate", "flip_rate"], **FEW)] == ["flip_rate"]
    assert [one.metric for one in ow.score(two[0], ["pa", "pa(at=0.9)"], replicates=5)] == ["pa"]


# Evidence, and intervals that are not there


def test_a_difference_says_how_much_stands_behind_it(two: list[pl.DataFrame]) -> None:
    for one in compare(*two, ["flip_rate", "accuracy_original", "p_c"], **FEW):
        score, other = (ow.score(table, [one.metric])[0] for table in two)
        assert (one.interval, one.confidence) == ("mover", 0.95)
        assert one.n_clusters == min(score.n_clusters, other.n_clusters)
        assert one.n_effective == min(score.n_effective, other.n_effective)


@pytest.mark.filterwarnings("error:.*rest on")
def test_few_clusters_are_reported(two: list[pl.DataFrame]) -> None:
    with pytest.warns(UserWarning, match="one and two: intervals rest on 14 clusters; with fewer than 20 they are not"):
        compare(*two, ["flip_rate"], **FEW)
    with pytest.warns(UserWarning, match="3 of 3 groups have fewer than 20 clusters; their intervals"):
        compare(*two, ["flip_rate"], by=["how"], **FEW)


@pytest.mark.filterwarnings("ignore:problems have")
def test_the_size_of_two_groups_is_that_of_the_smaller(two: list[pl.DataFrame]) -> None:
    number = pl.col("bucket").str.slice(1).cast(pl.Int64)
    table = two[0].with_columns(side=pl.when(number < 9).then(pl.lit("x")).otherwise(pl.lit("y")))
    [one] = compare_groups(table, "side", ["flip_rate"], **FEW)
    small = ow.score(table.filter(pl.col("side") == "x"), ["flip_rate"])[0]
    assert (one.n_units, one.n_answers, one.n_clusters) == (9, small.n_answers, 3)


def rarely_wrong(model: str, wrong: set[int], buckets: int = 40) -> pl.DataFrame:
    """Two variants each; in the buckets named, the second is answered wrong."""
    found = []
    for bucket in range(buckets):
        for variant in (None, "a", "b"):
            pred = "no" if variant == "b" and bucket in wrong else "yes"
            found.append((model, bucket, variant and f"{bucket}{variant}", "yes", pred))
    return pl.DataFrame(found, schema=["model", "bucket", "variant", "gold", "pred"], orient="row")


@pytest.mark.parametrize("kind", ["auto", "percentile", "bca"])
def test_a_difference_that_many_replicates_lack_has_no_interval_and_says_why(kind: str) -> None:
    """PVAP is undefined where no variant is wrong: with one wrong variant, in a third of all replicates."""
    pair = rarely_wrong("one", {3}), rarely_wrong("two", set(range(20)))
    [one] = compare(*pair, ["pvap"], interval=kind, **FEW)
    assert one.difference is not None
    assert (one.low, one.high, one.interval) == (None, None, "")
    assert re.fullmatch(r"no value in \d\d% of the replicates", one.note)
    assert one.note in repr(compare(*pair, ["pvap"], interval=kind, **FEW))


def test_rates_that_never_vary_have_an_interval_with_width() -> None:
    """One is always right, the other never wrong but once: the percentile interval had no width on one side."""
    [one] = compare(rarely_wrong("one", set()), rarely_wrong("two", {3}), ["accuracy_variants"], **FEW)
    assert one.low < 0 < one.high  # type: ignore[operator]
    [far] = compare(rarely_wrong("one", set()), rarely_wrong("two", set(range(40))), ["pa"], **FEW)
    assert (far.difference, far.high) == (1.0, 1.0)
    assert 0.8 < far.low < 1.0  # type: ignore[operator]


# Many metrics


def test_p_of_a_metric_does_not_depend_on_what_else_is_asked(two: list[pl.DataFrame]) -> None:
    [alone] = compare(*two, ["flip_rate"], **FEW)
    beside = compare(*two, ["p_c", "flip_rate", "pa", "accuracy_original"], **FEW)["flip_rate"]
    assert (alone.p_swap, alone.low, alone.high) == (beside.p_swap, beside.low, beside.high)
    assert alone.p_maxt == alone.p == max(alone.p_swap, alone.p_interval)  # type: ignore[type-var]
    assert beside.p_maxt >= beside.p_swap  # type: ignore[operator]


def test_metrics_that_coincide_agree(two: list[pl.DataFrame]) -> None:
    for kind in ("auto", "percentile"):
        found = compare(*two, ["pa(at=1.0)", "pa_curve(step=1)"], interval=kind, **FEW)
        first, second = ((one.low, one.high, one.p_swap, one.difference) for one in found)
        assert first == pytest.approx(second, abs=1e-9)


def test_maxt_is_multiplied_by_the_number_of_groups(two: list[pl.DataFrame]) -> None:
    names = ["flip_rate", "p_c", "accuracy_variants"]
    whole = {one.metric: one.p_maxt for one in compare(*two, names, replicates=999)}
    grouped = compare(*two, names, by=["how"], replicates=999).where(group=None)
    for one in grouped:
        assert one.p_maxt == pytest.approx(min(1.0, 3 * whole[one.metric]))  # type: ignore[operator]


def test_near_copies_are_adjusted_less_by_maxt_than_by_holm(two: list[pl.DataFrame]) -> None:
    pair = [two[0], answered(two[0].drop("pred", "model"), "two", 0.75, 9)]
    found = compare(*pair, ["p_c", "p_c_distinct", "vap", "label_agreement"], replicates=2_000)
    assert all(one.p <= one.p_maxt <= one.p_holm for one in found)  # type: ignore[operator]


# Margins


def test_equivalence_within_a_margin() -> None:
    one, same = (answered(suite(3, 400, 3).drop("cluster"), name, 0.9, seed) for name, seed in (("one", 1), ("two", 2)))
    [close] = compare(one, same, ["accuracy_variants"], margin=0.08, **FEW)
    assert close.p_equivalent == max(close.p_not_lower, close.p_not_higher) < 0.01  # type: ignore[type-var]
    worse = answered(suite(3, 400, 3).drop("cluster"), "two", 0.7, 2)
    [far] = compare(one, worse, ["accuracy_variants"], margin=0.08, **FEW)
    assert far.p_not_lower < 0.001 < 0.5 < far.p_not_higher == far.p_equivalent  # type: ignore[operator]
    assert (close.margin, compare(one, same, ["pa"], **FEW)[0].p_equivalent) == (0.08, None)


def test_equal_answers_are_equivalent_only_where_there_are_enough() -> None:
    few, many = (rarely_wrong("one", set(), n) for n in (20, 200))
    assert compare(few, few, ["accuracy_variants"], margin=0.05, **FEW)[0].p_equivalent > 0.1  # type: ignore[operator]
    assert compare(many, many, ["accuracy_variants"], margin=0.05, **FEW)[0].p_equivalent < 0.01  # type: ignore[operator]


@pytest.mark.parametrize(
    ("buckets", "margin"), [(50, 0.1), (100, 0.05), pytest.param(200, 0.1, marks=pytest.mark.slow)]
)
def test_a_margin_test_holds_its_level_at_the_edge(buckets: int, margin: float) -> None:
    """One model loses whole problems and wins none: what is rejected, of all tables that there are at the margin."""
    perfect = rarely_wrong("perfect", set(), buckets)
    level = 0.0
    for lost in range(buckets):
        [one] = compare(rarely_wrong("lossy", set(range(lost)), buckets), perfect, ["pa"], margin=margin, replicates=20)
        if one.p_not_lower > 0.05:  # type: ignore[operator]
            break
        level += stats.binom.pmf(lost, buckets, margin)
    assert 0.01 < level <= 0.06


@pytest.mark.parametrize("margin", [0, -0.1, float("nan"), float("inf")])
def test_a_margin_is_above_zero(margin: float, two: list[pl.DataFrame]) -> None:
    with refuses(BadInput, field="margin"):
        compare(*two, ["flip_rate"], margin=margin)


@pytest.mark.filterwarnings("ignore:problems have")
def test_clusters_that_groups_share_are_reported(two: list[pl.DataFrame]) -> None:
    """No bucket has variants in both groups, but the clusters do."""
    table = two[0].with_columns(side=(pl.col("bucket").str.slice(1).cast(pl.Int64) % 2).cast(pl.String))
    with pytest.warns(UserWarning, match="side=0 and side=1 share 13 clusters, and are compared within them"):
        [one] = compare_groups(table, "side", ["flip_rate"], **FEW)
    assert "test=swap" in one.signature
    [apart] = compare_groups(table.drop("cluster"), "side", ["flip_rate"], **FEW)
    assert "test=exchange" in apart.signature
    assert one.difference == pytest.approx(apart.difference)


# Tests that assume independent rows


def test_counts_of_right_answers(two: list[pl.DataFrame], tmp_path: Path) -> None:
    found = count_tests(*two, ["mcnemar", "cochran", "tost"], margin=0.1, out=tmp_path / "tests.jsonl")
    assert [(one.test, one.rows) for one in found] == [
        (test, rows) for rows in ("originals", "variants") for test in ("mcnemar", "cochran", "tost")
    ]
    assert {one.assumes for one in found} == {"independent rows"}
    joined = two[0].join(two[1], on=["bucket", "variant"], nulls_equal=True)
    joined = joined.with_columns(a=pl.col("pred") == pl.col("gold"), b=pl.col("pred_right") == pl.col("gold"))
    for rows, kept in (
        ("originals", joined.filter(pl.col("variant").is_null())),
        ("variants", joined.filter(pl.col("variant").is_not_null())),
    ):
        test, q, equal = (one for one in found if one.rows == rows)
        n10, n01 = kept.filter(pl.col("a") & ~pl.col("b")).height, kept.filter(pl.col("b") & ~pl.col("a")).height
        assert (test.n, test.n10, test.n01) == (kept.height, n10, n01)
        assert test.p_exact == pytest.approx(mcnemar([[0, n10], [n01, 0]], exact=True).pvalue)
        assert test.p < test.p_exact  # type: ignore[operator]
        assert test.low < test.odds_ratio == n10 / n01 < test.high  # type: ignore[operator]
        assert q.p == pytest.approx(mcnemar([[0, n10], [n01, 0]], exact=False, correction=False).pvalue)
        assert equal.margin == 0.1
    assert len((tmp_path / "tests.jsonl").read_text().splitlines()) == len(found)


def test_cochran_takes_all_models_and_mcnemar_each_two(two: list[pl.DataFrame]) -> None:
    found = count_tests(three(*two), tests=["cochran", "mcnemar"])
    assert [one.models for one in found[:4]] == ["one, two, x", "one, two", "one, x", "two, x"]
    assert found[2].p == 1.0
    assert (found[2].odds_ratio, found[2].high) == (None, None)
    assert [one.models for one in count_tests(three(*two), tests="mcnemar", models=["two", "x"])] == ["two, x"] * 2


def test_the_ie_test_looks_at_originals_and_their_variants(two: list[pl.DataFrame]) -> None:
    single = two[0].filter(pl.col("variant").is_null() | pl.col("variant").str.ends_with(".1"))
    [found] = count_tests(single, tests="ie")
    assert (found.models, found.rows, found.n) == ("one", "originals and their variants", 40)
    with refuses(BadInput, field="variant"):
        count_tests(two[0], tests="ie")


@pytest.mark.parametrize(
    ("tests", "kind"), [(["sign"], UnknownName), (["tost"], BadInput)], ids=["unknown", "no margin"]
)
def test_tests_that_cannot_be_made_are_refused(
    tests: list[str], kind: type[Exception], two: list[pl.DataFrame]
) -> None:
    with refuses(kind):
        count_tests(*two, tests)
    with refuses(BadInput):
        count_tests(two[0], tests=["mcnemar"])


def test_all_metrics_of_one_label_with_a_margin() -> None:
    """Nothing but our own warnings: none of the arithmetic."""
    rows = {"bucket": [n for n in range(30) for _ in "ovw"], "variant": ["", "v", "w"] * 30, "gold": ["x"] * 90}
    table = pl.DataFrame({**rows, "pred": ["x"] * 90})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compare(table, table, "all", margin=0.1, **FEW)
    assert {one.category for one in caught} == {UserWarning}


def test_a_part_without_an_interval_has_no_margin_tests() -> None:
    one, other = (with_probabilities(suite().pipe(answered, "m", 0.7, seed), seed) for seed in (1, 2))
    found = {row.metric: row for row in compare(one, other, ["ks", "flip_rate"], margin=0.1, **FEW)}
    assert found["flip_rate"].p_equivalent is not None
    flipped = found["ks"]
    assert flipped.low is None
    assert flipped.note
    assert (flipped.p_not_lower, flipped.p_not_higher, flipped.p_equivalent) == (None, None, None)
