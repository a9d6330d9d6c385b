"""`paper paranlu`: given and automatic paraphrases, corrected values, the split by a partial-input model, dynamics."""

from __future__ import annotations

import polars as pl
import pytest

from otherwords.errors import BadInput, UnknownName
from otherwords.metrics.corrected import corrected_mean
from otherwords.papers.paranlu_experiment import Paranlu
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


def test_data_without_paraphrases_are_refused(tmp_path, settings):
    del settings["datasets"]["garden"]["paraphrases"]
    with pytest.raises(BadInput, match="no paraphrases of these problems"):
        run_paper(Paranlu, settings, out=tmp_path / "out")
