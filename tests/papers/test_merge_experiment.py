"""MERGE as one command, on scripted masked-LMs and models: what it counts is checked by hand on three problems."""

from __future__ import annotations

import csv
import json
import tomllib

import numpy as np
import polars as pl
import pytest
from refusals import refuses
from scipy import stats
from typer.testing import CliRunner

from otherwords.cli.app import app
from otherwords.errors import BadInput, OtherwordsError
from otherwords.papers import protocol
from otherwords.papers.experiment import read_settings
from otherwords.papers.merge import over_draws
from otherwords.papers.merge_experiment import Merge
from otherwords.papers.merge_suite import (
    MULTI,
    ON_SEEDS,
    ON_VARIANTS,
    OTHER,
    SAME,
    SIZE,
    by_model,
    compare_groups,
    curve,
    draws_of,
    drop,
    matching,
    origin_kind,
    pattern,
    read_answers,
    share,
)
from otherwords.papers.merge_variants import read_corrected, read_ratings
from otherwords.papers.protocol import run_paper
from otherwords.pipeline import score

WORDS = [["cat", 0.3], ["cow", 0.25], ["pig", 0.2], ["dog", 0.15], ["##s", 0.1]]
COLOURS = [["red", 0.4], ["green", 0.3], ["brown", 0.2], ["##y", 0.1]]
TEXTS = [
    ("A brown dog ran.", "The brown dog slept.", "entailment"),
    ("Some dog came.", "That dog left.", "neutral"),
    ("It rained.", "It was wet.", "neutral"),
]


def scripts(place):
    """Two masked-LMs of one family and one of another, which differ in what they accept."""
    texts = [text for pair in TEXTS for text in pair[:2]]
    for name, words in {"a": WORDS, "b": WORDS[:1] + WORDS[3:], "c": WORDS[1:2] + WORDS[3:]}.items():
        script = {text.replace("dog", "[MASK]"): words for text in texts if "dog" in text}
        script |= {text.replace("brown", "[MASK]"): COLOURS for text in texts if "brown" in text}
        (place / f"{name}.json").write_text(json.dumps(script))
    rows = [
        {"id": f"p{i}", "premise": p, "hypothesis": h, "label": label, "annotators": "E E N"}
        for i, (p, h, label) in enumerate(TEXTS)
    ]
    (place / "three.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (place / "corpus.txt").write_text("A dog and a dog and a cat.\n")


def settings(place, **changes):
    families = {"a": "first", "b": "first", "c": "second"}
    masked = {name: {"model": f"scripted:{place}/{name}.json", "family": families[name]} for name in families}
    return {
        "datasets": {"three": str(place / "three.jsonl")},
        "masked_lms": masked,
        "models": {"one": "scripted", "two": "scripted(seed=2)"},
        "counterparts": {"one": "a"},
        "ablations": ["union", "scrambled"],
        "top": 5,
        "least": 1,
        "n": 2,
        "draws": 3,
        "corpus": str(place / "corpus.txt"),
        "cache": None,
        "canary": False,
        **changes,
    }


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("merge")
    scripts(folder)
    return folder


@pytest.fixture(scope="module")
def outcome(place):
    return run_paper(Merge, settings(place), out=place / "out")


def rows(outcome, exhibit, number=0):
    return [[getattr(one, "value", one) for one in row] for row in outcome.results.tables[exhibit][number].rows]


def test_every_exhibit_is_there_or_named(outcome):
    results = outcome.results
    assert {*results.tables, *results.figures, *results.missing} >= set(Merge.exhibits)
    assert set(results.missing) == {"Table 1", "Figure 1", "Figure 2", "Table 7", "Figure 3", "Figure 10", "Table 10"}
    assert "2 of 3 problems are seeds" in (outcome.folder / "report.html").read_text()
    assert "One masked-LM" not in " ".join(results.deviations)


def test_the_tables_say_what_the_metrics_say(outcome):
    """Table 3 against the mean over draws that `score` gives, draw by draw."""
    originals, variants = read_answers(outcome.folder / "cells" / "three" / "merge" / "run")
    answers = pl.concat([originals, variants], how="diagonal")
    means = {
        (row[0], row[1]): row[2] for row in over_draws(answers, ["accuracy_original", "accuracy_variants", "pa"]).rows()
    }
    for model, _, seeds, on_variants, passed, less, _ in rows(outcome, "Table 3")[:2]:
        found = [means[model, name] for name in ("accuracy_original", "accuracy_variants", "pa")]
        assert [seeds, on_variants, passed] == pytest.approx(found)
        assert less == pytest.approx(passed - seeds)


def test_suggestions_are_counted_by_who_accepts_them(outcome):
    """pig is a's alone; cat is of a and b, cow of a and c, and all three accept both colours."""
    assert rows(outcome, "Table 2")[0][:3] == ["all", 2, 4.0]
    assert [row[:2] for row in rows(outcome, "Table 4")] == [["noun", 2], ["verb", 0], ["adjective", 1], ["adverb", 0]]
    table = {name: (alone, others) for name, alone, others in rows(outcome, "Table 9")}
    assert table["b"][1] == 0.0
    assert table["c"][1] == table["a"][0] == table[MULTI][1]
    assert table["a"][0] + table[MULTI][0] == 6.0  # two nouns of two seeds, and two adjectives of one
    [panel] = outcome.results.figures["Figure 9"][0].panels
    assert {one.name: [point.y for point in one.points] for one in panel.series}["a"] == [1.0, 2.0, 2.0]


def test_ablations_have_the_same_seeds(outcome):
    seeds = {(group, model): count for group, model, count, *_ in rows(outcome, "Sections 5.1 to 5.4", 1)}
    assert seeds["union", "one"] == seeds["scrambled", "one"] == seeds["MERGE", "one"] == 2
    assert seeds["noun (with adjective)", "two"] == 1
    data = outcome.folder / "data"
    assert pl.read_parquet(data / "three~seeds.parquet")["id"].to_list() == ["p0", "p1"]


def test_people_add_to_what_is_there(place, outcome, monkeypatch):
    """Ratings and corrected labels need no new answers."""
    for name in ("noun", "all"):
        with (place / "out" / "to-judge" / f"three-{name}.csv").open() as file:
            sheet = list(csv.DictReader(file))
        for number, row in enumerate(sheet):
            row |= {"fluency": "5", "reasoning": "4" if number else "1", "explanation": "why not"}
        with (place / f"{name}.csv").open("w") as file:
            writer = csv.DictWriter(file, list(sheet[0]))
            writer.writeheader()
            writer.writerows(sheet)
    (place / "labels.csv").write_text("id,label\np1,contradiction\n")
    monkeypatch.setattr(protocol, "run", lambda *_, **__: pytest.fail("a finished cell was run"))
    changes = {"verdicts": [str(place / "noun.csv"), str(place / "all.csv")], "below": 1.0}
    again = run_paper(Merge, settings(place, **changes, corrected=str(place / "labels.csv")), out=place / "out")
    assert set(again.results.missing) == {"Table 1", "Figure 1", "Figure 2"}
    assert [row[3:5] for row in rows(again, "Table 10") if row[0] == "Some dog came."] == [["contradiction", "E E N"]]
    assert "of 2 seeds" in again.results.tables["Table 10"][0].notes[0]
    [bars] = again.results.figures["Figure 3"][0].panels
    assert {one.name for one in bars.series} == {"adjective", "noun", "weighted by class"}
    assert "why not" in again.results.tables["Table 7"][0].markdown()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"classes": ["pronoun"]}, "classes"),
        ({"ablations": ["no-such"]}, "ablations"),
        ({"counterparts": {"three": "a"}}, "counterparts"),
        ({"counterparts": {"one": "z"}}, "counterparts"),
        ({"corpus_models": ["three"]}, "corpus_models"),
        ({"quality": 0.905}, "quality"),
        ({"corpus": "nowhere.txt"}, ""),
        ({"verdicts": ["nowhere.csv"]}, ""),
        ({"masked_lms": {"z": "no-such-model"}, "counterparts": {}}, ""),
    ],
)
def test_what_cannot_work_is_refused_before_any_work(place, tmp_path, change, field):
    with pytest.raises(OtherwordsError) as refused:
        run_paper(Merge, settings(place, **change), out=tmp_path / "out")
    assert not field or refused.value.field == field
    assert not (tmp_path / "out").exists()


@pytest.mark.filterwarnings("ignore:.*nothing to measure", "ignore:.*no intervals")
def test_problems_without_seeds_are_refused_by_the_setting(place, tmp_path):
    with refuses(BadInput, where="datasets.three"):
        run_paper(Merge, settings(place, least=4, top=5, classes=["verb"]), out=tmp_path / "out")


@pytest.mark.parametrize("row", ["v1,6,5", "v1,5,", ",5,5", "v1,,"])
def test_a_wrong_mark_is_named(tmp_path, row):
    (tmp_path / "marks.csv").write_text(f"id,fluency,reasoning\n{row}\n")
    with refuses(BadInput):
        read_ratings([str(tmp_path / "marks.csv")])


def test_what_the_forms_of_annotate_gave_is_read(tmp_path):
    """Forms fluency and label, as `verdicts export` writes them: a row for each question."""
    head = "variant,question,answer,annotator,adjudicated\n"
    marks = ["v1,fluency,5,x,false", "v1,reasoning,4,x,false", "v1,why,fine,x,false", "v1,fluency,3,y,false",
             "v1,reasoning,2,y,false", "v1,fluency,1,z,true", "v1,reasoning,1,z,true"]  # fmt: skip
    (tmp_path / "fluency.csv").write_text(head + "\n".join(marks) + "\n")
    ratings = read_ratings([str(tmp_path / "fluency.csv")])
    assert sorted(ratings) == [("v1", 3, 2, ""), ("v1", 5, 4, "fine")]
    labels = ["p1,label,neutral,x,false", "p1,label,neutral,y,false", "p1,label,entailment,z,false",
              "p2,label,neutral,x,false", "p2,label,entailment,y,false",
              "p3,label,neutral,x,false", "p3,label,neutral,y,false", "p3,label,entailment,z,true"]  # fmt: skip
    (tmp_path / "labels.csv").write_text(head + "\n".join(labels) + "\n")
    assert read_corrected(str(tmp_path / "labels.csv")) == {"p1": "neutral", "p3": "entailment"}
    with refuses(BadInput):
        read_ratings([str(tmp_path / "labels.csv")])
    with refuses(BadInput):
        read_corrected(str(tmp_path / "fluency.csv"))


def test_the_template_is_an_experiment():
    settings = read_settings(Merge.kind, tomllib.loads(Merge.template()))
    assert set(settings.counterparts) <= set(settings.models)


# Numbers over draws


def answers_at_random(seed, models=("one",)):
    """Thirty seeds in clusters of two, with eight variants each, as one draw."""
    random = np.random.default_rng(seed)
    tables = []
    for model in models:
        right = random.random((30, 9)) < random.beta(2, 1, 30)[:, None]
        frame = pl.DataFrame(
            {"bucket": np.repeat([f"b{i:02}" for i in range(30)], 9), "variant": [None, *range(1, 9)] * 30}
        )
        pred = np.where(right.ravel(), "yes", "no")
        tables.append(
            frame.with_columns(pl.lit(model).alias("model"), pl.lit("yes").alias("gold"), pl.Series("pred", pred))
        )
    table = pl.concat(tables).with_columns(pl.col("variant").cast(pl.String))
    return table.with_columns(cluster=pl.col("bucket").str.slice(1).cast(pl.Int64).floordiv(2).cast(pl.String))


def as_variants(answers):
    right = answers.with_columns(right=pl.col("pred") == pl.col("gold"))
    seeds = right.filter(pl.col("variant").is_null()).select("model", "bucket", seed_right="right")
    variants = right.filter(pl.col("variant").is_not_null()).join(seeds, on=["model", "bucket"])
    return variants.with_columns(subsamples=pl.lit("1"))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_one_draw_has_the_values_and_intervals_of_the_metrics(seed):
    answers = answers_at_random(seed)
    draws = draws_of(as_variants(answers))
    scores = {one.metric: one for one in score(answers, ["pa", "accuracy_variants", "accuracy_seeds", "pa_drop"])}
    pairs = {"pa": pattern(0.9), "accuracy_variants": ON_VARIANTS, "accuracy_seeds": ON_SEEDS}
    found = {**{name: share(draws, columns) for name, columns in pairs.items()}, "pa_drop": drop(draws, 0.9)}
    for name, one in found.items():
        expected = (scores[name].value, scores[name].low, scores[name].high)
        assert [one.value[0], one.low[0], one.high[0]] == pytest.approx(expected, abs=1e-6)
    low, high = (one.value for one in score(answers, ["matching_threshold"], interval="percentile", replicates=10))
    assert matching(draws) == pytest.approx((low, high))
    assert (np.diff(curve(draws)) <= 0).all()


def test_groups_are_compared_over_models():
    answers = answers_at_random(4, ("one", "two", "three"))
    whole = by_model(as_variants(answers), ["one", "two", "three"])
    same = compare_groups(whole, whole, ON_SEEDS, ON_SEEDS, paired=True)
    assert (same.difference, same.t.p, same.crossed) == (0.0, 1.0, 1.0)
    test = compare_groups(whole, whole, ON_VARIANTS, ON_SEEDS, paired=True)
    by_hand = [share(one, ON_VARIANTS).value[0] - share(one, ON_SEEDS).value[0] for one in whole.values()]
    assert test.difference == pytest.approx(np.mean(by_hand))
    assert test.t.t == pytest.approx(stats.ttest_1samp(by_hand, 0).statistic)
    assert test.low <= test.difference <= test.high
    assert compare_groups({"one": whole["one"]}, whole, ON_SEEDS, ON_SEEDS, paired=True) is None


def test_where_a_variant_comes_from_depends_on_the_model(place):
    kind = Merge.kind(**settings(place))
    origins = pl.DataFrame({"origin": ["a", "b", "c", "a+c", "b+c"]})
    assert origins.select(origin_kind("a", kind)).to_series().to_list() == [SAME, SIZE, OTHER, MULTI, MULTI]
    assert origins.select(origin_kind("c", kind)).to_series().to_list() == [OTHER, OTHER, SAME, MULTI, MULTI]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*is weak:")  # the bundled baseline, which is there to be one
def test_the_quick_version_of_the_command(tmp_path):
    shown = CliRunner().invoke(app, ["paper", "merge", "--quick", "-o", str(tmp_path / "quick"), "--json"])
    assert shown.exit_code == 0, shown.output
    assert set(json.loads(shown.output)["missing"]) >= {"Figure 3", "Figure 10"}
