"""`paper paranlu`: given and automatic paraphrases, corrected values, the split by a partial-input model, dynamics."""

from __future__ import annotations

import re

import polars as pl
import pytest
import tiny_models
from ray_nodes import nodes

from otherwords.errors import BadInput, UnknownName
from otherwords.metrics.corrected import corrected_mean
from otherwords.papers.paranlu_experiment import Paranlu
from otherwords.papers.paranlu_tables import GIVEN, ParaphrasedSet
from otherwords.papers.protocol import run_paper

ANIMALS = ("dog", "cat", "cow", "hen", "pig", "fox")
ROWS = [
    {"id": f"{animal}{number}", "premise": f"The {animal} isn't in the garden.", "hypothesis": text, "label": label,
     "kind": ("odd", "even")[number % 2]}
    for animal in ANIMALS
    for number, (text, label) in enumerate(
        [(f"The {animal} isn't outside.", "neutral"), (f"A {animal} is in the garden.", "contradiction")]
    )
]  # fmt: skip
PARAPHRASES = [
    {"id": f"{row['id']}.{number}", "of": row["id"], "hypothesis": f"{word} {row['hypothesis']}"}
    for row in ROWS
    for number, word in enumerate(("Now", "Well,", "Here" if row["id"] < "d" else "So"))
]
#: Models as functions: probabilities of the labels in the task's order (entailment, neutral, contradiction).
MODELS = """
def full(batch):
    sure = [0.55 + len(text) % 5 / 10 for text in batch["hypothesis"]]
    return [[0, one, 1 - one] if "n't" in text or text[0] == "H" else [0, 1 - one, one]
            for one, text in zip(sure, batch["hypothesis"])]
def partial(batch):
    return [[0, 0.8, 0.2] if "dog" in text or "Well" in text else [0, 0.3, 0.7] for text in batch["hypothesis"]]
def labels(batch):
    return ["neutral"] * len(batch)
"""


@pytest.fixture
def settings(tmp_path):
    for name, rows in (("rows", ROWS), ("test", ROWS[::2] + ROWS[1:4]), ("paraphrases", PARAPHRASES)):
        rows = [{**row, "id": f"t{place}"} for place, row in enumerate(rows)] if name == "test" else rows
        pl.DataFrame(rows).write_ndjson(tmp_path / f"{name}.jsonl")
    (tmp_path / "models.py").write_text(MODELS)
    models = {name: {"model": f"python:{tmp_path / 'models.py'}:{name}"} for name in ("full", "partial", "labels")}
    models["partial"]["partial"] = True
    data = {"data": str(tmp_path / "rows.jsonl"), "paraphrases": str(tmp_path / "paraphrases.jsonl")}
    data["testset"] = {"data": str(tmp_path / "test.jsonl")}
    twice = ["contractions(field=premise)", "contractions(field=hypothesis)"]
    return {
        "datasets": {"garden": data}, "models": models, "automatic": twice, "judge": "", "cache": None,
        "canary": False, "replicates": 20, "finetuning": {"growing": ["partial", "full"]},
    }  # fmt: skip


def cells(table, **chosen):
    """The cells of the row whose texts are these, by column."""
    names = [column.full for column in table.columns]
    rows = (dict(zip(names, row, strict=True)) for row in table.cells)
    return next(row for row in rows if all(row[name].value == value for name, value in chosen.items()))


def answers_in(folder):
    """All answers of a run, and whether they are right."""
    parts = map(pl.read_parquet, folder.rglob("answers/**/*.parquet"))
    return pl.concat(parts, how="diagonal_relaxed").with_columns(right=pl.col("pred") == pl.col("gold"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_all_exhibits_follow_from_the_answers(tmp_path, settings):
    results = run_paper(Paranlu, settings, out=tmp_path / "out").results
    assert {*results.tables, *results.figures, *results.missing} >= set(Paranlu.exhibits)
    assert {"Table 2", "Table 4", "Table 6", "Table 7"} <= set(results.tables)
    assert {"Figure 3", "Figure 4", "Figure 6"} <= set(results.figures)
    answers = answers_in(tmp_path / "out" / "cells" / "garden" / "given")
    row = cells(results.tables["Table 4"][0], model="full")
    own = answers.filter(pl.col("model") == "full")
    variants = own.filter(pl.col("variant").is_not_null())
    theta = variants.group_by("bucket").agg(pl.col("right").mean()).sort("bucket")["right"].to_numpy()
    assert 0 < theta.mean() < 1
    assert row["P_C"].value == pytest.approx((theta**2 + (1 - theta) ** 2).mean())
    originals = own.filter(pl.col("variant").is_null()).sort("bucket")
    test = pl.read_parquet(tmp_path / "out" / "data" / "garden~test-answers.parquet").filter(pl.col("model") == "full")
    confidences = [[one[f"p:{one['gold']}"] for one in some.iter_rows(named=True)] for some in (originals, test)]
    assert row["A~"].value == pytest.approx(corrected_mean(theta, *confidences))
    assert row["A_T"].value == pytest.approx((test["pred"] == test["gold"]).mean())
    assert cells(results.tables["Table 4"][0], model="labels")["A~"].value is None  # it gives no probabilities
    assert [series.name for series in results.figures["Figure 3"][0].panels[0].series] == ["full"]
    sizes = cells(results.tables["Table 2"][0], data="garden")
    assert (sizes["problems"].value, sizes["paraphrases"].value) == (12, 36)
    right = answers.filter(pl.col("model") == "partial", pl.col("variant").is_null(), "right")["bucket"].to_list()
    split = cells(results.tables["Table 7"][0], artifacts="likely", full="full")
    assert (split["problems"].value, split["partial input: A_O"].value) == (len(right), 1)
    among = variants.filter(pl.col("bucket").is_in(right))
    assert split["full input: A_par"].value == pytest.approx(among["right"].mean())


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_problems_are_selected_over_deciles_and_bring_their_own_paraphrases(tmp_path, settings):
    originals = pl.DataFrame(ROWS)
    rewordings = pl.DataFrame(PARAPHRASES).join(originals.select("premise", "label", of="id"), on="of")
    pl.concat([originals, rewordings], how="diagonal").write_ndjson(tmp_path / "both.jsonl")
    settings |= {"datasets": {"garden": str(tmp_path / "both.jsonl")}, "automatic": [], "finetuning": {}}
    settings["models"] = {"full": settings["models"]["full"]}
    settings["select"] = {"how": "deciles", "n": 3, "by": "kind", "model": "full"}
    results = run_paper(Paranlu, settings, out=tmp_path / "out").results
    selected = pl.read_parquet(tmp_path / "out" / "data" / "garden~selected.parquet")
    assert dict(selected.group_by("kind").len().iter_rows()) == {"odd": 3, "even": 3}
    asked = answers_in(tmp_path / "out" / "cells" / "garden" / "given")
    assert set(asked["bucket"]) == set(selected["id"])
    theta = asked.filter(pl.col("variant").is_not_null()).group_by("bucket").agg(pl.col("right").mean())["right"]
    table = results.tables["Table 4"][0]
    assert cells(table, model="full")["P_C"].value == pytest.approx((theta**2 + (1 - theta) ** 2).mean())
    sizes = cells(results.tables["Table 2"][0], data="garden")
    assert (sizes["problems"].value, sizes["paraphrases"].value) == (6, 18)
    assert {"Table 7", "Figure 4", "Figure 5", "Figure 6", "Figure 8"} <= set(results.missing)
    assert any("not corrected" in one for one in results.deviations)


@pytest.mark.parametrize("dropped", [0, 1])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_the_paper_prints_stands_beside_its_own_data_alone(tmp_path, dropped):
    """d-SOCIAL has 250 problems and 1,835 paraphrases; a set of another size is no such."""
    rows = [
        {"id": f"p{n}", "premise": f"Dog {n} runs.", "hypothesis": "It moves.", "label": "neutral"} for n in range(250)
    ]
    reworded = [{**row, "id": f"{row['id']}.{k}", "of": row["id"], "hypothesis": f"It moves, time {k}."}
                for n, row in enumerate(rows) for k in range(7 + (n < 85))]  # fmt: skip
    pl.DataFrame(reworded[dropped:] + [{**row, "of": None} for row in rows]).write_ndjson(tmp_path / "both.jsonl")
    some = {"datasets": {"social": str(tmp_path / "both.jsonl")}, "models": {"m": "scripted"}, "judge": "", "check": []}
    results = run_paper(
        Paranlu, {**some, "cache": None, "canary": False, "replicates": 2}, out=tmp_path / "out"
    ).results
    sizes, distances = results.tables["Table 2"][0].cells[0], results.tables["Table 6"][0].cells[0]
    printed = [one.published for one in (*sizes[3:], distances[3])]
    assert printed == ([None] * 4 if dropped else [1835, 7.3, 1.8, 0.4])
    assert results.has_published is not bool(dropped)
    whole = ParaphrasedSet("social", 250, {GIVEN: tmp_path / "out" / "cells" / "social" / "given" / "run"}, {}, {}, {})
    assert whole.sizes().tolist() == [7] * (165 + dropped) + [8] * (85 - dropped), "in one order, whatever the threads"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"automatic": "no-such-generator"}, "no-such-generator"),
        ({"finetuning": {"growing": ["nobody"]}}, "no model 'nobody'"),
        ({"select": {"how": "deciles"}}, "no model ''"),
        ({"select": {"how": "sample", "aflite": "hf:x"}}, "AFLite makes the strata"),
        ({"select": {"how": "sample", "n": 7, "by": "kind"}}, "too few problems for 7 of each: even has 6, odd has 6"),
        ({"select": {"how": "sample", "n": 2, "by": "colour"}}, "no column 'colour'"),
    ],
)
def test_bad_settings_are_refused_before_any_model_is_asked(tmp_path, settings, change, message):
    with pytest.raises((BadInput, UnknownName), match=message):
        run_paper(Paranlu, {**settings, **change}, out=tmp_path / "out")
    assert not (tmp_path / "out" / "cells").exists()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_another_model_does_not_ask_the_judge_again(tmp_path, settings):
    log = tmp_path / "asked"
    lines = (
        "def ask(batch):",
        f"    open({str(log)!r}, 'a').write('x' * len(batch))",
        "    return ['entailment'] * len(batch)",
    )
    (tmp_path / "judge.py").write_text("\n".join(lines))
    some = {**settings, "judge": f"python:{tmp_path / 'judge.py'}:ask", "finetuning": {}}
    models = {"full": settings["models"]["full"]}
    run_paper(Paranlu, {**some, "models": models}, out=tmp_path / "out")
    asked = log.read_text()
    assert asked
    run_paper(Paranlu, {**some, "models": {**models, "labels": settings["models"]["labels"]}}, out=tmp_path / "out")
    assert log.read_text() == asked


def test_data_without_paraphrases_are_refused(tmp_path, settings):
    del settings["datasets"]["garden"]["paraphrases"]
    with pytest.raises(BadInput, match="no paraphrases of these problems"):
        run_paper(Paranlu, settings, out=tmp_path / "out")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_generator_that_rewords_nothing_is_named(tmp_path, settings):
    data = {"data": settings["datasets"]["garden"]["data"], "generator": "contractions"}
    plain = {**settings, "datasets": {"garden": data}, "check": ["overlap(most=0.01)"], "automatic": [], "judge": ""}
    with pytest.raises(BadInput, match=r"datasets\.garden: generator: no paraphrase is left"):
        run_paper(Paranlu, plain, out=tmp_path / "out")


# A training set: partition, trainings, selection

TRAIN = [
    {"id": f"{place}-{number}", "premise": f"The {animal} isn't in the {place}.", "hypothesis": text, "label": label,
     "kind": ("odd", "even")[number % 2]}
    for animal in ANIMALS[:3]
    for place in ("garden", "house", "barn", "yard", "park", "field", "street", "kitchen", "wood", "lake")
    for number, (text, label) in enumerate([
        (f"The {animal} isn't here, it is outside.", "neutral"), (f"A {animal} is in the {place}.", "contradiction"),
        (f"There isn't a {animal} in the {place}.", "entailment"), (f"It isn't a {animal}.", "neutral")])
]  # fmt: skip


@pytest.fixture
def training(tmp_path):
    rows = [{**row, "id": f"{row['id']}-{number}"} for number, row in enumerate(TRAIN)]
    pl.DataFrame(rows).write_ndjson(tmp_path / "train.jsonl")
    pl.DataFrame(rows[:8]).write_ndjson(tmp_path / "test.jsonl")
    data = {"train": {"data": str(tmp_path / "train.jsonl")}, "testset": {"data": str(tmp_path / "test.jsonl")}}
    return {
        "datasets": {"places": {**data, "generator": "contractions"}}, "judge": "", "cache": None, "canary": False,
        "replicates": 20, "seed": 3,
        "models": {"words": {"trainer": "bag_of_words(steps=20)", "shares": [0.5, 1.0]},
                   "blind": {"trainer": "bag_of_words(steps=20)", "fields": ["hypothesis"]}},
        "select": {"how": "deciles", "n": 6, "by": "kind", "model": "words", "parts": {"pool": 0.3}},
    }  # fmt: skip


def part(folder, name):
    return pl.read_parquet(folder / "data" / f"places{name and '~'}{name}.parquet")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_training_set_is_divided_trained_on_and_selected_from(tmp_path, training, monkeypatch):
    out = tmp_path / "out"
    results = run_paper(Paranlu, training, out=out).results
    pool, rest, selected = part(out, ""), part(out, "rest"), part(out, "selected")
    test = pl.read_ndjson(tmp_path / "test.jsonl")
    assert not set(pool["premise"]) & set(rest["premise"])
    assert not {*pool["premise"], *rest["premise"]} & set(test["premise"])
    assert set(selected["id"]) <= set(pool["id"])
    assert dict(selected.group_by("kind").len().iter_rows()) == {"odd": 6, "even": 6}
    rows = {row[1].value: row for row in results.tables["Section 5.1"][0].cells}
    assert set(rows) == {"words", "words-50", "blind"}
    assert rows["words"][3].value + rows["words"][4].value == rest.height
    assert 0.3 * rest.height < rows["words-50"][3].value < 0.6 * rest.height
    assert [row[2].value for row in results.tables["Figure 6"][0].cells] == ["words-50", "words"]
    assert {row[0].value for row in results.tables["Table 4"][0].cells} == {"words"}  # neither stages nor partial input
    assert {row[1].value for row in results.tables["Table 7"][0].cells} == {"blind"}
    assert "8 training rows of places share" in " ".join(results.deviations)
    monkeypatch.setattr("otherwords.papers.paranlu_training.train_recipe", lambda *_: pytest.fail("trained again"))
    run_paper(Paranlu, out=out)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_paraphrases_of_what_was_selected_may_be_collected_and_given_later(tmp_path, training):
    out = tmp_path / "out"
    del training["datasets"]["places"]["generator"]
    results = run_paper(Paranlu, training, out=out).results
    assert "to-paraphrase" in results.missing["Table 4"]
    sheet = pl.read_csv(out / "to-paraphrase" / "places.csv", infer_schema=False)
    assert sheet.height == 9 * part(out, "selected").height
    assert set(sheet["hypothesis"]) == {""}
    filled = sheet.with_columns(hypothesis=pl.format("{} {}", pl.int_range(pl.len()), "original:hypothesis")).head(30)
    filled.write_csv(tmp_path / "written.csv")
    training["datasets"]["places"]["paraphrases"] = str(tmp_path / "written.csv")
    results = run_paper(Paranlu, training, out=out).results
    assert cells(results.tables["Table 2"][0], data="places")["paraphrases"].value == 30
    filled.head(20).write_csv(tmp_path / "written.csv")
    with pytest.raises(BadInput, match="the paraphrases of places is"):
        run_paper(Paranlu, training, out=out)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_dry_run_trains_on_a_few_rows_and_keeps_nothing(tmp_path, training):
    estimate = run_paper(Paranlu, training, out=tmp_path / "out", dry_run=True).estimate
    assert estimate.trainings == 3
    assert estimate.answers > 0
    assert not (tmp_path / "out" / "cells").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_trained_embedder_gives_aflite_its_strata(tmp_path, training):
    pytest.importorskip("transformers")
    start = tiny_models.save(tiny_models.build("bert", ""), tmp_path / "start", tiny_models.word_tokenizer())
    training["select"] |= {"by": "", "n": 2, "embedder": f"encoder(start={start}, epochs=1, device=cpu)",
                           "parts": {"embedder": 0.3, "pool": 0.3}, "at_least": {},
                           "filter": {"classifiers": 8, "train_on": 20, "leave": 5, "tau": 0.5}}  # fmt: skip
    results = run_paper(Paranlu, training, out=tmp_path / "out").results
    parts = [part(tmp_path / "out", name) for name in ("", "embedder", "rest")]
    assert len({*parts[0]["premise"], *parts[1]["premise"], *parts[2]["premise"]}) == sum(
        one["premise"].n_unique() for one in parts
    )
    marked = pl.read_parquet(tmp_path / "out" / "cells" / "places" / "aflite" / "rows.parquet")
    assert set(marked["id"]) == set(parts[0]["id"])
    assert set(marked["aflite"]) == {"easy", "difficult"}
    counts = results.tables["Table 2"][1]
    assert sum(row[-1].value for row in counts.cells) == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"select": {"parts": {"pool": 1.2}}}, "found {'pool': 1.2}"),
        ({"select": {"parts": {"tank": 0.2}}}, "no part 'tank'"),
        ({"select": {"parts": {"pool": 0.3}, "embedder": "encoder(start=x)", "how": "deciles", "model": "words"}}, "x"),
        ({"models": {"words": {"trainer": "no-such-trainer"}}}, "no-such-trainer"),
        ({"models": {"m": {"trainer": "bag_of_words", "model": "scripted"}}}, "both are given"),
        ({"models": {"m": {"model": "scripted", "share": 0.5}}}, "nothing is trained"),
        ({"models": {"m": {"trainer": "bag_of_words", "shares": [2]}}}, "share"),
        ({"models": {"m": {"trainer": "bag_of_words", "shares": "half"}}}, "found 'half'"),
        ({"models": {"words": {"trainer": "bag_of_words", "fields": ["colour"]}}}, "no field 'colour'"),
        ({"models": {"m": {}}}, "is missing"),
    ],
)
def test_trainings_that_cannot_work_are_refused_before_any_work(tmp_path, training, change, message):
    with pytest.raises((BadInput, UnknownName), match=re.escape(message)):
        run_paper(Paranlu, {**training, **change}, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_trainer_needs_a_training_set(tmp_path, settings):
    settings["models"]["new"] = {"trainer": "bag_of_words"}
    with pytest.raises(BadInput, match=r"datasets.garden: train: no training set for models.new.trainer"):
        run_paper(Paranlu, settings, out=tmp_path / "out")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_trainings_and_runs_on_ray_give_the_same_tables(tmp_path, training):
    pytest.importorskip("ray", reason="the extra `ray` is not installed: pip install 'otherwords[ray]'")
    here = run_paper(Paranlu, training, out=tmp_path / "here").results
    with nodes({"num_cpus": 2}) as cluster:
        there = run_paper(
            Paranlu, training, out=tmp_path / "there", engine={"engine": f"ray://{cluster.address}"}
        ).results
    for name, tables in here.tables.items():
        assert [table.csv() for table in there.tables[name]] == [table.csv() for table in tables], name
