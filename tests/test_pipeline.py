"""vary, check, answer as library functions: deterministic, indifferent to order, and never asking twice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from refusals import refuses

import otherwords as ow
from otherwords import pipeline
from otherwords.datasets.suite import load
from otherwords.errors import BadInput, LabelOrder, WrongAnswer
from otherwords.metrics.across import audit
from otherwords.models.cache import Cache, cache_path, open_cache
from otherwords.problem import Problem, Variant, Verdict
from otherwords.registry import Bound, Plugin
from otherwords.report.page import render
from otherwords.storage import tables
from otherwords.variants.generating import BATCH

LABELS = ("entailment", "neutral", "contradiction")


def rows(count: int = 12) -> list[dict[str, Any]]:
    """Problems two by two about one premise, half of them with something to contract."""
    return [
        {
            "id": f"p{i}",
            "premise": f"It isn't warm in room {i // 2}.",
            "hypothesis": f"Room {i} is not hot{', as all of them always say' * (i % 2)}." if i % 3 else f"It is {i}.",
            "label": LABELS[i % 3],
            "genre": ("news", "talk", "letters")[i % 3],
            "length": i,
        }
        for i in range(count)
    ]


def frame(records: Sequence[dict[str, Any]], tmp_path: Path, name: str = "data.jsonl") -> pl.DataFrame:
    path = tmp_path / name
    path.write_text("".join(json.dumps(row) + "\n" for row in records), encoding="utf-8")
    return load(str(path))


def suite(records: Sequence[dict[str, Any]], tmp_path: Path, *generators: str | Bound) -> pl.DataFrame:
    originals = frame(records, tmp_path)
    made = pipeline.vary(originals, generators or ["contractions"])
    return pl.concat([originals, made], how="diagonal_relaxed")


def bound(name: str, function: Any, options: str = "") -> Bound:
    """A plug-in made here, without registering it for all other tests."""
    return Bound(Plugin(name, 1, lambda: function), f"{name}.v1({options})", function)


def dice(sides: int = 1000) -> Bound:
    """A generator that says which seed it was given."""

    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant]:
        for problem, seed in zip(problems, seeds, strict=True):
            for throw in range(1 + seed % 3):
                text = f"{problem.text['hypothesis']} {Random(seed + throw).randrange(sides)}"
                yield problem.restate(hypothesis=text)

    return bound("dice", vary, f"sides={sides}")


def again() -> Bound:
    """A generator that repeats its problems, and does not say that it is a control."""
    return bound("again", lambda problems, seeds: (problem.restate() for problem in problems))


def asked(log: Path) -> Counter[tuple[str, ...]]:
    return Counter(tuple(json.loads(line)) for line in log.read_text(encoding="utf-8").splitlines())


# vary


def test_variants_know_their_original_their_maker_and_their_cluster(tmp_path: Path) -> None:
    originals = frame(rows(), tmp_path)
    made = pipeline.vary(originals, ["contractions", "identity"])
    assert made.columns[:7] == ["id", "of", "how", "premise", "hypothesis", "label", "cluster"]
    assert made["id"].n_unique() == made.height
    assert not set(made["id"]) & set(originals["id"])
    assert {how.partition("(")[0] for how in made["how"]} == {"contractions.v1", "identity.v1"}
    both = made.join(originals, left_on="of", right_on="id", suffix="_of")
    assert both.height == made.height
    for column in ("label", "cluster", "genre", "length"):
        assert both[column].to_list() == both[f"{column}_of"].to_list()
    same = both.filter(pl.col("how").str.starts_with("identity"))
    assert same.height == originals.height
    assert same["premise"].to_list() == same["premise_of"].to_list()


def test_vary_is_the_same_each_time_and_in_any_order(tmp_path: Path) -> None:
    originals = frame(rows(), tmp_path)
    made = pipeline.vary(originals, [dice(), "contractions"], seed=3)
    assert made.equals(pipeline.vary(originals, [dice(), "contractions"], seed=3))
    shuffled = pipeline.vary(originals.sample(fraction=1, shuffle=True, seed=1), [dice(), "contractions"], seed=3)
    assert shuffled["id"].to_list() != made["id"].to_list()
    assert shuffled.sort("id").equals(made.sort("id"))
    separate = [
        pipeline.vary(part, [dice(), "contractions"], seed=3) for part in (originals.head(5), originals.tail(7))
    ]
    assert pl.concat(separate).sort("id").equals(made.sort("id"))


def test_every_problem_has_its_own_seed_whatever_batch_it_falls_in(tmp_path: Path) -> None:
    originals = frame(rows(BATCH + 40), tmp_path)
    made = pipeline.vary(originals, [dice(10**9)])
    throws = made.select(pl.col("hypothesis").str.extract(r"(\d+)$")).to_series()
    assert throws.n_unique() == made.height > 2 * BATCH - 200
    assert pipeline.vary(originals.reverse(), [dice(10**9)]).sort("id").equals(made.sort("id"))


def test_seed_and_options_change_what_chance_decides(tmp_path: Path) -> None:
    originals = frame(rows(), tmp_path)
    texts = [
        pipeline.vary(originals, [generator], seed=seed)["hypothesis"].to_list()
        for generator, seed in ((dice(), 1), (dice(), 2), (dice(999), 1))
    ]
    assert len({tuple(one) for one in texts}) == 3


def test_vary_skips_variants_that_are_there_already(tmp_path: Path) -> None:
    whole = suite(rows(), tmp_path)
    assert pipeline.vary(whole, ["identity"])["of"].to_list() == [f"p{i}" for i in range(12)]
    with refuses(BadInput):
        pipeline.vary(whole, ["contractions"])


def test_one_generator_with_two_sets_of_options(tmp_path: Path) -> None:
    originals = frame(rows(), tmp_path)
    made = pipeline.vary(originals, ["contractions(field=premise)", "contractions(field=hypothesis)"])
    assert made["id"].n_unique() == made.height == 12 + 8
    assert set(made["how"]) == {"contractions.v1(field=premise)", "contractions.v1(field=hypothesis)"}
    assert made.filter(pl.col("of") == "p1")["id"].to_list() == ["p1~contractions.1", "p1~contractions.2"]


def test_naming_a_generator_or_check_twice_is_refused(tmp_path: Path) -> None:
    whole = suite(rows(), tmp_path)
    with refuses(BadInput):
        pipeline.vary(whole, ["identity", "identity.v1"])
    with refuses(BadInput):
        pipeline.check(whole, ["overlap(most=0.1)", "overlap(most=0.9)"])


def test_a_generator_may_only_reword_what_it_was_given(tmp_path: Path) -> None:
    def stray(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant]:
        for problem in problems:
            yield Variant("", problem.task, problem.text, problem.label, of="p99")

    with refuses(BadInput):
        pipeline.vary(frame(rows(), tmp_path), [bound("stray", stray)])


def test_nothing_made_is_an_empty_table_with_all_columns(tmp_path: Path) -> None:
    made = pipeline.vary(frame(rows(), tmp_path), [bound("mute", lambda problems, seeds: iter(()))])
    assert made.height == 0
    assert {"id", "of", "how", "premise", "hypothesis", "label", "cluster"} <= set(made.columns)


# check


def test_verdicts_are_columns_of_their_variants_and_nothing_is_removed(tmp_path: Path) -> None:
    whole = suite(rows(), tmp_path, "contractions", again(), "identity").sample(fraction=1, shuffle=True, seed=4)
    judged = pipeline.check(whole, ["surface", "overlap(most=0.6)"])
    assert judged.drop("^check:.*$").equals(whole)
    originals, variants = judged.filter(pl.col("of").is_null()), judged.filter(pl.col("of").is_not_null())
    assert originals.select(pl.col("^check:.*$").is_null().all()).row(0) == (True,) * 6
    controls = variants.filter(pl.col("control") == "identity")
    assert controls.height == 12
    assert controls.select(pl.col("^check:.*$").is_null().all()).row(0) == (True,) * 6
    unchanged = variants.filter(pl.col("how").str.starts_with("again"))
    assert unchanged["check:surface"].to_list() == [False] * 12
    assert set(unchanged["check:surface:reason"]) == {"unchanged"}
    assert unchanged["check:overlap"].to_list() == [False] * 12
    others = variants.filter(pl.col("how").str.starts_with("contractions"))
    assert others["check:surface"].all()
    assert others["check:surface:reason"].null_count() == others.height
    assert (others["check:overlap"] == (others["check:overlap:score"] <= 0.6)).all()
    assert not others["check:overlap"].all()


def test_check_is_the_same_in_any_order_and_replaces_its_own_verdict(tmp_path: Path) -> None:
    whole = suite(rows(), tmp_path, "contractions", "identity")
    judged = pipeline.check(whole, ["surface", "overlap"])
    again = pipeline.check(whole.sample(fraction=1, shuffle=True, seed=2), ["surface", "overlap"])
    assert again.sort("id").equals(judged.sort("id"))
    with pytest.warns(UserWarning, match="check:overlap: earlier verdicts are replaced"):
        stricter = pipeline.check(judged, ["overlap(most=0.0)"])
    assert sorted(stricter.columns) == sorted(judged.columns)
    assert not stricter["check:overlap"].any()
    assert stricter["check:surface"].equals(judged["check:surface"])


def test_a_check_must_judge_every_variant(tmp_path: Path) -> None:
    lazy = bound("lazy", lambda buckets: [Verdict(True)])
    with refuses(BadInput):
        pipeline.check(suite(rows(), tmp_path), [lazy])


def test_a_variant_without_its_original_is_refused(tmp_path: Path) -> None:
    orphans = suite(rows(), tmp_path).filter(pl.col("id") != "p0")
    with refuses(BadInput):
        pipeline.check(orphans, ["surface"])


# answer


def test_answers_table_begins_with_its_fixed_columns(tmp_path: Path) -> None:
    whole = suite(rows(), tmp_path)
    table = pipeline.answer(whole, "me=scripted(seed=1)", cache=None, canary=False)
    fixed = ["model", "bucket", "variant", "gold", "pred", *(f"p:{label}" for label in LABELS)]
    assert table.columns[: len(fixed)] == fixed
    assert table.columns[len(fixed) :] == ["how", "cluster", "genre", "length"]
    assert table.height == whole.height
    assert set(table["model"]) == {"me"}
    assert table["gold"].to_list() == whole["label"].to_list()
    assert table["bucket"].to_list() == [row["of"] or row["id"] for row in whole.iter_rows(named=True)]
    assert table["variant"].to_list() == [row["id"] if row["of"] else None for row in whole.iter_rows(named=True)]
    for row in table.iter_rows(named=True):
        assert sum(row[f"p:{label}"] for label in LABELS) == pytest.approx(1)
        assert row["pred"] == max(LABELS, key=lambda label, row=row: row[f"p:{label}"])


def test_a_model_without_probabilities_leaves_no_column_for_them(tmp_path: Path) -> None:
    path = tmp_path / "words.py"
    path.write_text("def say(batch):\n    return ['neutral' for _ in batch]\n", encoding="utf-8")
    spoiled = [{**row, "p:entailment": 0.3} for row in rows()]
    table = pipeline.answer(suite(spoiled, tmp_path), f"python:{path}:say", cache=None, canary=False)
    assert table.columns[:5] == ["model", "bucket", "variant", "gold", "pred"]
    assert [name for name in table.columns if name.startswith("p:")] == []  # the input's are not this model's
    assert table["input_p:entailment"].to_list() == [0.3] * table.height
    assert {one.value for one in pipeline.score(table, ["flip_rate"], replicates=10)} == {0.0}


def test_a_model_that_changes_its_mind_about_probabilities_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "moody.py"
    path.write_text(
        "def say(batch):\n"
        "    return [[1.0, 0.0, 0.0] if 'hot' in h else 'neutral' for h in batch['hypothesis']]\n",
        encoding="utf-8",
    )  # fmt: skip
    with refuses(WrongAnswer):
        pipeline.answer(frame(rows(), tmp_path), f"python:{path}:say", cache=None, canary=False, batch_size=1)


def test_equal_texts_are_asked_once(tmp_path: Path) -> None:
    log, cache = tmp_path / "log", tmp_path / "cache.sqlite"
    whole = suite([*rows(), {**rows()[1], "id": "twin"}], tmp_path, "contractions", "identity")
    model = f"scripted(log={log}, batch_size=5)"
    table = pipeline.answer(whole, model, cache=cache, canary=False)
    distinct = whole.select("premise", "hypothesis").unique()
    assert distinct.height < whole.height
    assert asked(log) == Counter(distinct.iter_rows())
    assert pipeline.score(table, ["control_flips"], replicates=10)[0].value == 0.0  # identity
    assert pipeline.answer(whole, model, cache=cache, canary=False).equals(table)
    assert sum(asked(log).values()) == distinct.height  # nothing more the second time
    pipeline.answer(whole, f"scripted(seed=1, log={log})", cache=cache, canary=False)
    assert sum(asked(log).values()) == 2 * distinct.height  # another model is asked itself


@pytest.mark.parametrize("as_text", [False, True])
def test_dropped_variants_are_not_asked(tmp_path: Path, as_text: bool) -> None:
    log = tmp_path / "log"
    judged = pipeline.check(suite(rows(), tmp_path, "contractions", again()), ["surface", "overlap(most=0.65)"])
    if as_text:  # as a CSV file tells it
        judged.write_csv(tmp_path / "suite.csv")
        judged = load(str(tmp_path / "suite.csv"))
    dropped = judged.filter(~(pl.col("check:surface") & pl.col("check:overlap")))
    assert 12 < dropped.height < judged.height - 12  # all repetitions, and some more
    table = pipeline.answer(judged, f"scripted(log={log})", cache=None, canary=False)
    assert table.height == judged.height - dropped.height
    assert not set(table["variant"].drop_nulls()) & set(dropped["id"])
    kept = judged.filter(~pl.col("id").is_in(dropped["id"].implode()))
    assert set(asked(log)) == set(kept.select("premise", "hypothesis").iter_rows())


def test_verdicts_that_are_neither_are_refused(tmp_path: Path) -> None:
    with refuses(BadInput):
        frame([{**rows()[0], "check:mine": "perhaps"}], tmp_path)


@pytest.mark.parametrize("batch_size", [0, 1, 7, 1000])
def test_batches_and_order_change_nothing(tmp_path: Path, batch_size: int) -> None:
    whole = suite(rows(), tmp_path, "contractions", dice())
    plain = pipeline.answer(whole, "scripted(seed=2)", cache=None, canary=False)
    mixed = whole.sample(fraction=1, shuffle=True, seed=batch_size)
    other = pipeline.answer(mixed, "scripted(seed=2)", cache=None, canary=False, batch_size=batch_size)
    key = ["bucket", "variant"]
    assert other.sort(key).equals(plain.sort(key))
    scores = [pipeline.score(table, by=["genre", "how"], replicates=300) for table in (plain, other)]
    assert scores[0] == scores[1]


def test_extras_pass_through_and_serve_as_groups(tmp_path: Path) -> None:
    records = [{**row, "tags": ["a", "b"], "sure": row["length"] % 2 == 0} for row in rows()]
    variants = [
        {"of": f"p{i}", "hypothesis": f"Other words for {i}, {k}.", "kind": ("short", "long")[k], "worker": i}
        for i in range(12)
        for k in range(1 + i % 2)
    ]
    (tmp_path / "recorded.jsonl").write_text("".join(json.dumps(row) + "\n" for row in variants), encoding="utf-8")
    whole = suite(records, tmp_path, f"recorded({'path'}={tmp_path / 'recorded.jsonl'})")
    table = pipeline.answer(whole, "scripted", cache=None, canary=False)
    assert table["tags"].unique().to_list() == ['["a", "b"]']
    found = pipeline.score(table, ["flip_rate"], by=["genre", "kind", "sure"], replicates=20)
    groups = {one.group: one for one in found}
    assert set(groups) == {
        None, "genre=letters", "genre=news", "genre=talk", "kind=long", "kind=short", "sure=False", "sure=True",
    }  # fmt: skip
    assert [groups[f"kind={kind}"].n_answers for kind in ("short", "long")] == [12, 6]
    assert [groups[f"sure={sure}"].n_answers for sure in (True, False)] == [6, 12]
    pred = dict(table.filter(pl.col("variant").is_null()).select("bucket", "pred").iter_rows())
    flips = [pred[b] != p for b, p in table.filter(pl.col("kind") == "long").select("bucket", "pred").iter_rows()]
    assert groups["kind=long"].value == sum(flips) / len(flips)


def test_clusters_of_the_data_reach_the_interval(tmp_path: Path) -> None:
    one_premise = [{**row, "premise": "It isn't warm."} for row in rows()]
    table = pipeline.answer(suite(one_premise, tmp_path), "scripted", cache=None, canary=False)
    assert {(one.low, one.high) for one in pipeline.score(table)} == {(None, None)}
    separate = [{**row, "cluster": row["id"]} for row in one_premise]
    table = pipeline.answer(suite(separate, tmp_path), "scripted", cache=None, canary=False)
    assert all(one.low is not None for one in pipeline.score(table))


def test_the_canary_is_run_before_anything_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "permuted.py"
    path.write_text(
        "from otherwords.models.canary import questions\n"
        "from otherwords.problem import TASKS\n"
        "RIGHT = dict(questions(TASKS['nli']))\n"
        "SHIFT = {'entailment': 'neutral', 'neutral': 'contradiction', 'contradiction': 'entailment'}\n"
        "def say(batch):\n"
        "    return [SHIFT[RIGHT.get((p.text['premise'], p.text['hypothesis']), 'neutral')] for p in batch]\n",
        encoding="utf-8",
    )
    problems, spec = frame(rows(), tmp_path), f"python:{path}:say"
    with refuses(LabelOrder):
        pipeline.answer(problems, spec, cache=None)
    assert pipeline.answer(problems, spec, cache=None, canary=False).height == 12
    with pytest.warns(UserWarning, match="is weak"):
        pipeline.answer(problems, "scripted(otherwise=neutral)", cache=None)


def test_a_table_without_rows_is_refused_as_an_empty_file_is(tmp_path: Path) -> None:
    with refuses(BadInput, fix="give at least one problem"):
        pipeline.answer(frame(rows(), tmp_path).head(0), "scripted", cache=None, canary=False)


def test_an_open_cache_stays_open_and_a_default_one_is_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems = frame(rows(), tmp_path)
    with Cache(tmp_path / "mine.sqlite") as cache:
        pipeline.answer(problems, "scripted", cache=cache, canary=False)
        assert [one["answers"] for one in cache.info()] == [12]
    monkeypatch.setenv("OTHERWORDS_CACHE", str(tmp_path / "shared.sqlite"))
    pipeline.answer(problems, "scripted", canary=False)
    assert (tmp_path / "shared.sqlite").exists()


@pytest.mark.parametrize("task", ["rte", "d-nli", "a-nli"])
def test_other_tasks_go_the_same_way(tmp_path: Path, task: str, jsonl: Callable[..., Path]) -> None:
    fields = {"rte": "premise hypothesis", "d-nli": "hypothesis update", "a-nli": "obs1 obs2 hyp1 hyp2"}[task].split()
    label = {"rte": "entailed", "d-nli": "weakener", "a-nli": "hyp2"}[task]
    path = jsonl(*({**{name: f"It isn't {name} {i}." for name in fields}, "label": label} for i in range(6)))
    originals = load(str(path), task=task)
    made = pipeline.vary(originals, ["contractions"], task)
    judged = pipeline.check(pl.concat([originals, made], how="diagonal_relaxed"), ["surface"], task)
    table = pipeline.answer(judged, "scripted", task, cache=None, canary=False)
    found = {one.metric: one for one in pipeline.score(table, task=task, replicates=20)}
    assert found["accuracy_original"].n_units == 6
    assert found["flip_rate"].n_answers == made.height > 0


def test_a_table_made_by_hand_goes_all_the_way():
    """A problem is id, premise, hypothesis, label: nobody need know of the columns that `load` adds."""
    rows = {"id": ["1", "2"], "premise": ["It isn't wet."] * 2, "hypothesis": ["It's dry.", "It rains."]}
    frame = pl.DataFrame({**rows, "label": ["entailment", "contradiction"]})
    suite = pl.concat([frame, pipeline.vary(frame, ["contractions"])], how="diagonal")
    answers = pipeline.answer(pipeline.check(suite, ["surface"]), "bag_of_words", canary=False, cache=None)
    assert answers["bucket"].n_unique() == 2
    assert len(answers) == len(suite)
    assert pipeline.answer(frame, "bag_of_words", canary=False, cache=None)["cluster"].n_unique() == 1
    with refuses(BadInput):
        pipeline.answer(frame.drop("hypothesis"), "bag_of_words", canary=False, cache=None)


def test_metrics_of_texts_find_those_of_a_run_folder(tmp_path):
    done = ow.run(
        data=["everyday"], vary=["recorded"], models=["scripted"], canary=False, cache=None, out=tmp_path / "r"
    )
    [found] = ow.score(done.folder, ["lexical_distance"])
    [named] = ow.score(done.folder, [f"lexical_distance(suite={done.folder / 'buckets'})"])
    assert found == named
    assert 0 < found.value < 1
    problems = dict(ow.load("everyday").select("id", "premise").iter_rows())
    listed = audit(done.folder)
    assert listed.columns[-2:] == ["premise", "hypothesis"]
    assert all(problems[name] == premise for name, premise in listed.select("bucket", "premise").iter_rows())
    assert listed.height > 0


# variants that the model rejected itself


METRICS = ["accuracy_variants", "flip_rate", "accuracy_buckets", "ks"]


def rejecting() -> pl.DataFrame:
    """Two buckets of answers; the model rejected a2, which stands before the other rows of its bucket."""
    table = {
        "bucket": ["a", "a", "a", "b", "b"],
        "variant": ["a2", None, "a1", None, "b1"],
        "gold": ["neutral"] * 5,
        "pred": [None, "neutral", "contradiction", "neutral", "neutral"],
        "rejected": ["mutual-entailment: neither entails the other: neutral", None, None, None, None],
    }
    return pl.DataFrame(
        {**table, "p:neutral": [None, 0.9, 0.2, 0.8, 0.7], "p:contradiction": [None, 0.1, 0.8, 0.2, 0.3]}
    )


@pytest.mark.parametrize("ending", ["jsonl", "csv", "tsv", "parquet"])
def test_what_the_model_rejected_is_no_answer(tmp_path: Path, ending: str) -> None:
    answers = rejecting()
    expected = ow.score(answers.filter(pl.col("pred").is_not_null()).drop("rejected"), METRICS, replicates=20)
    assert ow.score(answers, METRICS, replicates=20) == expected
    tables.write([answers], tmp_path / f"answers.{ending}")
    again = ow.score(tmp_path / f"answers.{ending}", METRICS, replicates=20, rejected=tmp_path / "bad.jsonl")
    assert again == expected
    assert not (tmp_path / "bad.jsonl").exists()


def test_an_answer_without_a_label_needs_a_reason() -> None:
    bad = rejecting().with_columns(
        pl.when(pl.col("variant") == "b1").then(None).otherwise(pl.col("pred")).alias("pred")
    )
    with refuses(BadInput, where="the answers, row 5", field="pred"):
        ow.score(bad, ["flip_rate"])
    empty = rejecting().drop("^p:.*$").with_columns(pl.lit("").alias("rejected"))
    with refuses(BadInput, where="the answers, row 1", field="pred"):
        ow.score(empty, ["flip_rate"])


def test_rows_set_aside_are_counted_in_the_whole_table(tmp_path: Path) -> None:
    bad = pl.concat([rejecting(), rejecting().tail(1)])
    with pytest.warns(UserWarning, match="1 answers left out"):
        ow.score(bad, ["flip_rate"], rejected=tmp_path / "bad.jsonl", replicates=20)
    assert tables.read(tmp_path / "bad.jsonl").select("row", "reason").row(0) == (6, "answered before")


def test_comparison_and_audit_leave_out_what_a_model_rejected() -> None:
    whole = rejecting().with_columns(pl.col("pred").fill_null("neutral"), pl.lit("other").alias("model"))
    both = pl.concat([rejecting().with_columns(pl.lit("one").alias("model")), whole.with_columns(rejected=None)],
                     how="diagonal_relaxed")  # fmt: skip
    with pytest.warns(UserWarning, match="compared on the 4 answers that all models have"):
        (found,) = ow.compare(both.drop("^p:.*$"), using=["flip_rate"], replicates=20)
    assert (found.value, found.other_value) == (0.5, 0.5)
    with pytest.warns(UserWarning, match="that all models have"):
        assert audit(both.drop("^p:.*$"))["bucket"].to_list() == ["a"]


# the option `cache`


def test_what_the_option_cache_means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHERWORDS_CACHE", str(tmp_path / "shared.sqlite"))
    assert cache_path("") == cache_path() == tmp_path / "shared.sqlite"
    assert cache_path(str(tmp_path / "own.sqlite")) == tmp_path / "own.sqlite"
    assert cache_path(None) is None
    assert cache_path(False) is None
    with Cache(tmp_path / "own.sqlite") as cache:
        with open_cache(cache) as same:
            assert same is cache
        assert cache.info() == []  # still open


def test_the_report_shows_answers_only() -> None:
    suite = {"id": ["a", "a1", "a2", "b", "b1"], "of": [None, "a", "a", None, "b"], "premise": list("ABCDE")}
    buckets = pl.DataFrame({**suite, "hypothesis": ["H."] * 5, "how": [None, "g", "g", None, "g"]})
    answers = rejecting().filter(pl.col("pred").is_not_null())
    scores = ow.score(answers, METRICS, replicates=20)
    pages = [render(scores, table, buckets, ow.TASKS["nli"], {}) for table in (answers, rejecting())]
    assert pages[0] == pages[1]


def test_two_problems_with_one_id_are_refused_though_nothing_can_be_varied():
    same = pl.DataFrame(
        [{"id": "p", "premise": "Yes.", "hypothesis": text, "label": "neutral"} for text in ("A.", "B.")]
    )
    with refuses(BadInput, field="id"):
        ow.vary(same, ["contractions"])
