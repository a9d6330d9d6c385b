"""The library as its users meet it: any table, one name for a list, functions as models, results as tables."""

from __future__ import annotations

import dataclasses
import sys
import webbrowser
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput, LabelOrder, MissingExtra, UnknownName, WrongAnswer
from otherwords.registry import generators

ROWS: list[dict[str, Any]] = [
    {"id": 1, "premise": "It isn't wet.", "hypothesis": "It is dry.", "label": "entailment", "topic": "weather"},
    {"id": 2, "premise": "They're late.", "hypothesis": "She isn't here.", "label": "neutral", "topic": "people"},
    {"id": 3, "premise": "He can't swim.", "hypothesis": "He swims.", "label": "contradiction", "topic": "people"},
]
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}
#: The same table as everybody has it.
TABLES: dict[str, Any] = {
    "pandas": pd.DataFrame(ROWS),
    "pandas with an index": pd.DataFrame(ROWS).set_index("id"),
    "pandas, categorical": pd.DataFrame(ROWS).astype({"label": "category", "topic": "category"}),
    "pandas, nullable": pd.DataFrame(ROWS).convert_dtypes(),
    "pandas, of arrow": pd.DataFrame(ROWS).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame(ROWS),
    "polars, lazy": pl.LazyFrame(ROWS),
    "polars, categorical": pl.DataFrame(ROWS).with_columns(pl.col("label", "topic").cast(pl.Categorical)),
    "arrow": pa.table(COLUMNS),
    "arrow, batch": pa.RecordBatch.from_pylist(ROWS),
    "rows": ROWS,
    "rows, one by one": (row for row in ROWS),
    "columns": COLUMNS,
}
TABLES_AGAIN = {name: table for name, table in TABLES.items() if name != "rows, one by one"}


def same(batch: ow.Batch) -> list[str]:
    """Answers by the length of the premise, so that some rewordings flip it."""
    return ["entailment" if len(text) % 2 else "neutral" for text in batch["premise"]]


def problems() -> pl.DataFrame:
    return ow.load(ROWS)


def answers() -> pl.DataFrame:
    return ow.answer(ow.vary(ROWS, "contractions", suite=True), same, canary=False, cache=None)


# Tables


@pytest.mark.parametrize("name", TABLES)
def test_load_takes_every_kind_of_table(name: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pl.DataFrame(ROWS).write_parquet(path)
    assert ow.load(TABLES[name]).equals(ow.load(str(path)))


@pytest.mark.parametrize("name", TABLES_AGAIN)
def test_every_stage_takes_every_kind_of_table(name: str) -> None:
    table = TABLES_AGAIN[name]
    expected = ow.vary(problems(), ["contractions"])
    assert ow.vary(table, "contractions").equals(expected)
    assert ow.check(table, "surface").columns[:3] == ["id", "of", "how"]
    assert ow.answer(table, same, canary=False, cache=None)["bucket"].to_list() == ["1", "2", "3"]


@pytest.mark.parametrize(
    "convert",
    [
        pl.DataFrame.to_pandas,
        pl.DataFrame.lazy,
        pytest.param(pl.DataFrame.to_arrow, marks=pytest.mark.slow),
        pytest.param(pl.DataFrame.to_dicts, marks=pytest.mark.slow),
        pytest.param(lambda frame: frame.to_dict(as_series=False), marks=pytest.mark.slow),
    ],
)
def test_answers_are_scored_compared_and_suites_profiled_from_every_kind_of_table(convert: Any) -> None:
    table, suite = convert(answers()), convert(ow.vary(ROWS, "contractions", suite=True))
    assert ow.score(table, replicates=50) == ow.score(answers(), replicates=50)
    other = convert(answers().with_columns(pl.col("gold").alias("pred")))
    assert ow.compare(table, other, "flip_rate", replicates=50) == ow.compare(
        answers(), answers().with_columns(pl.col("gold").alias("pred")), ["flip_rate"], replicates=50
    )
    assert ow.profile(suite) == ow.profile(ow.vary(ROWS, "contractions", suite=True))
    found = ow.circularity(suite, same, "self", canary=False, cache=None, replicates=50)
    assert found.under("self").variants == 4


def test_measure_takes_columns_of_a_data_frame() -> None:
    table = answers().to_pandas()
    columns = {name: table[name] for name in ("gold", "pred", "bucket", "variant", "cluster")}
    assert ow.measure("flip_rate", **columns).value == ow.score(table, "flip_rate")["flip_rate"].value


def test_odd_columns_and_labels_as_numbers() -> None:
    mine = pd.DataFrame(
        {"text": ["It rains."] * 3, "claim": ["It is wet.", "It is late.", "It is dry."], "y": [0, 1, 2]}
    )
    names = {"premise": "text", "hypothesis": "claim", "label": "y"}
    loaded = ow.load(mine, columns=names, labels={0: "entailment", 1: "neutral", 2: "contradiction"})
    assert loaded["label"].to_list() == ["entailment", "neutral", "contradiction"]
    assert loaded["id"].to_list() == ["1", "2", "3"]


def test_whole_numbers_beside_missing_ones_are_whole_again() -> None:
    """pandas keeps them as floats: 7 would be "7.0" in a table and in every group."""
    table = pd.DataFrame([{**row, "year": year} for row, year in zip(ROWS, (1999, None, 2001), strict=True)])
    assert ow.load(table)["year"].to_list() == [1999, None, 2001]


def test_ids_that_are_floats_are_whole_numbers() -> None:
    """pandas makes floats of a column of numbers of which one is missing: `of` of every suite, `id` of some."""
    rows = [{**ROWS[0], "of": None}, {**ROWS[0], "id": 7, "of": 1}]
    for table in (pd.DataFrame(rows).astype({"id": float}), pl.DataFrame(rows).cast({"id": pl.Float64})):
        loaded = ow.load(table)
        assert loaded["id"].to_list() == ["1", "7"]
        assert loaded["of"].to_list() == [None, "1"]


def test_columns_without_names_are_mapped_by_number(tmp_path: Path) -> None:
    table = pd.DataFrame([[row["premise"], row["hypothesis"], row["label"]] for row in ROWS])
    names = {"premise": 0, "hypothesis": 1, "label": 2}
    assert ow.load(table, columns=names)["premise"].to_list() == [row["premise"] for row in ROWS]
    settings: Any = {"vary": "contractions", "models": same, "canary": False, "cache": None, "metrics": "flip_rate"}
    assert (
        ow.run(table, columns=names, **settings, replicates=50, out=tmp_path / "run").scores["flip_rate"].n_units == 3
    )
    given = answers().select("bucket", "variant", "gold", "pred").to_pandas()
    given.columns = range(4)
    columns = {"bucket": 0, "variant": 1, "gold": 2, "pred": 3}
    assert ow.score(given, "flip_rate", columns=columns, replicates=50)["flip_rate"].n_units == 3


def test_a_table_without_rows_is_refused_as_such() -> None:
    for columns in ({}, {"premise": "text"}):
        with refuses(BadInput, fix="give at least one problem") as caught:
            ow.load(pd.DataFrame(ROWS).head(0), columns=columns)
        assert "no rows" in str(caught.value)


@pytest.mark.parametrize("setting", ["labels", "columns"])
def test_names_that_are_no_dict_are_refused(setting: str) -> None:
    with refuses(BadInput, field=setting):
        ow.load(ROWS, **{setting: ["entailment", "neutral"]})
    with refuses(BadInput, field=setting):
        ow.score(answers(), **{setting: ["entailment", "neutral"]})


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_what_is_missing_in_pandas_is_missing(missing: Any) -> None:
    table = pd.DataFrame([*ROWS[:2], {**ROWS[2], "topic": missing}])
    assert ow.load(table)["topic"].to_list() == ["weather", "people", None]
    with refuses(BadInput, where="the table, row 3", field="premise"):
        ow.load(pd.DataFrame([*ROWS[:2], {**ROWS[2], "premise": missing}]))


def test_a_column_of_mixed_kinds_is_text_and_a_text_that_is_none_is_refused() -> None:
    assert ow.load([{**ROWS[0], "note": 1}, {**ROWS[1], "note": "two"}])["note"].to_list() == ["1", "two"]
    with refuses(BadInput, where="the table, row 1", field="premise", fix="texts must be strings"):
        ow.load(pd.DataFrame([{**ROWS[0], "premise": 7}, ROWS[1]]))


def changed(**values: Any) -> list[dict[str, Any]]:
    return [ROWS[0], {**ROWS[1], **values}]


@pytest.mark.parametrize("stage", [ow.load, lambda data: ow.vary(data, "contractions"), ow.check, ow.profile])
@pytest.mark.parametrize(
    ("rows", "field"),
    [
        (changed(label="maybe"), "label"),
        (changed(id=1), "id"),
        (changed(hypothesis=" "), "hypothesis"),
        ([ROWS[0], {name: value for name, value in ROWS[1].items() if name != "premise"}], "premise"),
        (changed(of="nobody"), "of"),
    ],
    ids=["label", "id", "empty", "column", "original"],
)
def test_a_table_is_checked_as_a_file_is(rows: Any, field: str, stage: Any) -> None:
    with refuses(BadInput, where="the table, row 2", field=field):
        stage(rows)


@pytest.mark.parametrize(
    ("rows", "columns", "option"),
    [
        (changed(label=2), {}, "labels={2: ...}"),
        (changed(hypothesis=" "), {}, "skip_bad=True"),
        ([{"text": "a"}], {}, "columns={'premise': COLUMN}"),
        (ROWS, {"cluster": "group"}, "columns={'cluster': COLUMN}"),
    ],
)
def test_who_gives_a_table_is_told_of_keywords_and_not_of_options(rows: Any, columns: Any, option: str) -> None:
    with pytest.raises(BadInput) as caught:
        ow.load(rows, columns=columns)
    assert option in caught.value.fix
    assert "--" not in str(caught.value)


@pytest.mark.parametrize(
    ("table", "field"),
    [
        (pd.DataFrame([["a", "b"]], columns=["premise", "premise"]), "premise"),
        (pd.DataFrame([["a"]], columns=pd.MultiIndex.from_tuples([("premise", "first")])), ""),
        (pa.table([["a"], ["b"]], names=["premise", "premise"]), ""),
        (pd.Series(["a"]), ""),
        ({"premise": "a"}, "premise"),
        ({"premise": ["a"], "hypothesis": ["b", "c"]}, ""),
        ([["a", "b"]], ""),
        (7, ""),
        ([{("a", "b"): 1}], ""),
    ],
)
def test_what_is_no_table_is_refused(table: Any, field: str) -> None:
    with refuses(BadInput, field=field):
        ow.load(table)


def test_rows_that_cannot_be_used_can_be_left_out() -> None:
    with pytest.warns(UserWarning, match=r"left out 1 rows, the first: the table, row 2: label: found 'maybe'"):
        assert ow.load(changed(label="maybe"), skip_bad=True)["id"].to_list() == ["1"]


def test_a_run_says_how_many_rows_it_left_out(tmp_path: Path) -> None:
    table = pd.DataFrame([*changed(label="maybe"), ROWS[2]])
    settings: Any = {"vary": "contractions", "models": same, "canary": False, "cache": None, "metrics": "flip_rate"}
    for _ in range(2):  # also where it is continued
        with pytest.warns(UserWarning, match=r"left out 1 rows; see .*rejected\.jsonl"):
            ow.run(table, **settings, skip_bad=True, replicates=50, out=tmp_path / "run")


def test_problems_without_a_majority_label_are_left_out_with_a_warning(tmp_path: Path) -> None:
    """SNLI marks them with "-"."""
    released = tmp_path / "snli_1.0_dev.jsonl"
    names = {"id": "pairID", "premise": "sentence1", "hypothesis": "sentence2", "label": "gold_label"}
    pl.DataFrame(changed(label="-")).rename(names).write_ndjson(released)
    settings: Any = {"vary": "contractions", "models": same, "canary": False, "cache": None, "metrics": "flip_rate"}
    for number, data in enumerate((changed(label="-"), f"snli:{released}")):
        with pytest.warns(UserWarning, match=r"left out 1 row without a majority label \('-'\)"):
            assert ow.load(data)["id"].to_list() == ["1"]
        with pytest.warns(UserWarning, match="left out 1 row without a majority label"):
            ow.run(data=data, **settings, replicates=50, out=tmp_path / f"run-{number}")


def test_pandas_is_read_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pd.DataFrame(ROWS, dtype=object)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert ow.load(table).equals(problems())


def test_what_is_set_beside_a_table_stays_beside_it() -> None:
    """A variant may stand before its original; the rows come back in the order in which they were given."""
    suite = ow.vary(ROWS, "contractions", suite=True).reverse()
    assert ow.check(suite, "surface")["id"].to_list() == suite["id"].to_list()


def test_a_suite_has_each_original_before_its_variants() -> None:
    suite = ow.vary(pd.DataFrame(ROWS), "contractions", suite=True)
    assert suite.filter(pl.col("of").is_null()).equals(problems().select(suite.columns))
    variants = suite.filter(pl.col("of").is_not_null())
    assert variants.equals(ow.vary(ROWS, "contractions").select(suite.columns))
    assert suite["id"].to_list()[:2] == ["1", "1~contractions.1"]


def test_stages_take_names_and_run_folders(tmp_path: Path) -> None:
    run = ow.run(data="everyday", vary="recorded", models="scripted", canary=False, cache=None, replicates=50,
                 by="topic", metrics="flip_rate", check="surface", out=tmp_path / "run")  # fmt: skip
    assert ow.vary("everyday", "contractions").height == 30
    assert ow.check(run, "overlap").height == ow.check(run.folder, ["overlap"]).height == 430
    assert ow.answer(run, same, canary=False, cache=None).height == 430
    assert ow.score(run, "flip_rate", by="topic", replicates=50) == run.scores
    assert ow.profile(run) == ow.profile(str(run.folder))
    assert ow.load(run).height == 430
    assert ow.load(run, ROWS).height == 433
    assert {score.metric for score in run.scores} == {"flip_rate"}


# Models


class Lengths:
    """A model with a state, such as a classifier that was trained here."""

    labels = ("long", "short", "empty")

    def __init__(self, limit: int):
        self.limit = limit

    def __call__(self, batch: ow.Batch) -> list[list[float]]:
        return [[1.0, 0, 0] if len(text) > self.limit else [0, 1.0, 0] for text in batch["premise"]]


MEANINGS = {"long": "entailment", "short": "neutral", "empty": "contradiction"}


def test_a_function_a_model_and_an_object_answer() -> None:
    expected = ["entailment", "entailment", "neutral"]
    assert ow.answer(ROWS, same, canary=False, cache=None)["pred"].to_list() == expected
    table = ow.answer(ROWS, ow.Model(same, identity="lengths-1"), canary=False, cache=None)
    assert table["pred"].to_list() == expected
    assert table["model"].unique().to_list() == ["same"]
    table = ow.answer(ROWS, Lengths(13), label_map=MEANINGS, canary=False, cache=None)
    assert table["pred"].to_list() == ["neutral", "neutral", "entailment"]
    assert table["model"][0] == "Lengths"
    assert table["p:entailment"].to_list() == [0, 0, 1]


def test_a_function_that_has_changed_is_asked_again_and_one_with_an_identity_only_once(tmp_path: Path) -> None:
    """A function may use a classifier that was trained again."""
    model, cache = Lengths(13), tmp_path / "cache.sqlite"
    first = ow.answer(ROWS, model, label_map=MEANINGS, canary=False, cache=cache)["pred"].to_list()
    model.limit = 100
    second = ow.answer(ROWS, model, label_map=MEANINGS, canary=False, cache=cache)["pred"].to_list()
    assert first != second == ["neutral"] * 3
    log = str(tmp_path / "asked")

    def count(batch: ow.Batch) -> list[str]:
        with Path(log).open("a") as file:
            file.write("." * len(batch))
        return ["neutral"] * len(batch)

    for _ in range(2):
        ow.answer(ROWS, ow.Model(count, identity="v1"), canary=False, cache=cache)
    assert Path(log).read_text() == "..."


@pytest.mark.parametrize(
    ("home", "name"), [("torch.nn.modules.module", "Module"), ("transformers.pipelines.base", "Pipeline")]
)
def test_a_network_is_no_model_by_itself_and_is_refused_at_once(home: str, name: str, tmp_path: Path) -> None:
    """It takes tensors, or texts, and no Batch, and to sign its tensors would take a minute."""
    base = type(name, (), {"__module__": home, "__call__": lambda self, batch: []})
    network = type("BertForSequenceClassification", (base,), {})()
    fix = "give hf:FOLDER (save_pretrained writes one), or a function of a Batch that uses it"
    for given in (network, ow.Model(network)):
        with refuses(BadInput, where="model", fix=fix):
            ow.answer(ROWS, given, canary=False, cache=None)
    with refuses(BadInput, where="model", fix=fix):
        ow.run(ROWS, vary="contractions", models=[network], out=tmp_path / "run")


def test_one_model_is_asked_at_a_time() -> None:
    fix = "ask one after the other and give ow.score both tables, or use ow.run(models=[...])"
    with refuses(BadInput, where="model", fix=fix):
        ow.answer(ROWS, [same, "nli-small"], canary=False, cache=None)  # type: ignore[arg-type]


def test_the_canary_is_asked_of_functions_too() -> None:
    with pytest.warns(UserWarning, match="same"):
        ow.answer(ROWS, same, cache=None)


def test_what_a_function_raises_names_it() -> None:
    def broken(batch: ow.Batch) -> list[str]:
        raise KeyError("premises")

    with refuses(WrongAnswer):
        ow.answer(ROWS, broken, canary=False, cache=None)
    with refuses(BadInput):
        ow.answer(ROWS, 7, canary=False, cache=None)  # type: ignore[arg-type]


def test_a_run_takes_functions_and_models_beside_names(tmp_path: Path) -> None:
    def other(batch: ow.Batch) -> list[str]:
        return ["neutral"] * len(batch)

    run = ow.run(data="everyday", vary="recorded", models=[same, ow.Model(other, identity="v1"), "scripted"],
                 canary=False, cache=None, metrics="flip_rate", replicates=50, out=tmp_path / "run")  # fmt: skip
    assert {score.model for score in run.scores} == {"same", "other", "scripted"}
    signatures = run.manifest["signatures"]["models"]
    assert signatures["other"].startswith("python.v1()#other@")
    assert signatures["other"].endswith("v1")
    assert signatures["same"].startswith("python.v1()#same@")


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, list, iter])
def test_the_data_of_a_run_may_come_first_and_a_run_is_continued(kind: Any, tmp_path: Path) -> None:
    settings: Any = {"vary": "contractions", "models": same, "canary": False, "cache": None, "metrics": "flip_rate"}
    run = ow.run(kind(ROWS), **settings, replicates=50, out=tmp_path / "run")
    assert run.scores["flip_rate"].n_units
    with pytest.warns(UserWarning, match="a table is not here: continuing with problems/"):
        assert ow.run(run).manifest["answered"]["same"]["parts_reused"] == 1


def test_a_run_of_a_notebook_says_where_its_plug_ins_may_be() -> None:
    where = r"registered in a notebook or a file: --plugin FILE\.py \(plugins=\[\.\.\.\]\)"
    with pytest.raises(UnknownName, match=where):
        ow.vary(ROWS, "zzzz")


def test_a_run_names_its_functions_and_two_of_one_name_are_refused(tmp_path: Path) -> None:
    def ask(batch: ow.Batch) -> list[str]:
        return ["neutral"] * len(batch)

    study = {"data": "everyday", "vary": "recorded", "canary": False, "cache": None, "metrics": "flip_rate"}
    run = ow.run(study, models=ask, replicates=50, out=tmp_path / "run")
    assert run.manifest["study"]["models"] == ["ask=python:this-process:ask"]
    with refuses(BadInput):
        ow.run(study, models=[ask, ow.Model(ask)], out=tmp_path / "other")
    named = ow.run(study, models=[ask, ow.Model(ask, name="my ask")], replicates=50, out=tmp_path / "named")
    assert {score.model for score in named.scores} == {"ask", "my-ask"}
    assert ow.answer(ROWS, ow.Model(ask, name="mine"), canary=False, cache=None)["model"][0] == "mine"
    with refuses(BadInput, where="python:this-process:gone", fix="give the function again: models=[...]"):
        ow.answer(ROWS, "gone=python:this-process:gone", cache=None)


def test_every_call_tells_of_another_language_once() -> None:
    german = [{"premise": "Ein Mann schläft auf dem Sofa.", "hypothesis": "Der Mann ist wach.", "label": "neutral"}] * 3
    for _ in range(2):  # another cell of a notebook, perhaps with other data
        with pytest.warns(UserWarning, match="supports only English") as caught:
            ow.vary(german, "contractions")
        assert len(caught) == 1
        with pytest.warns(UserWarning, match="supports only English"):
            ow.answer(german, "nli-small", canary=False, cache=None)


def test_models_of_one_name_in_two_tables_are_scored_apart_unless_the_tables_are_parts_of_one() -> None:
    table = answers()
    new = table.with_columns(pl.col("gold").alias("pred"))
    with pytest.warns(UserWarning, match="several tables have answers of same to the same questions"):
        scores = ow.score([table, new], "flip_rate", replicates=50)
    assert {one.model: one.value for one in scores} == {"same (1)": scores[0].value, "same (2)": 0}
    parts = [table.filter(pl.col("bucket") == name) for name in ("1", "2", "3")]
    assert ow.score(parts, "flip_rate", replicates=50)["flip_rate"].model == "same"


# Functions instead of names


def shout(text: str) -> str:
    return text.upper()


def brief(problem: ow.Problem, variant: ow.Variant) -> bool:
    return len(variant.text["premise"]) < 14


def wrong(answers: Any) -> Any:
    return answers.sum_by_bucket(~answers.correct & answers.is_variant, answers.is_variant)


def test_functions_are_generators_checks_and_metrics() -> None:
    suite = ow.vary(ROWS, [shout, "contractions"], suite=True)
    made = suite.filter(pl.col("how").str.contains("^shout=python.*#this-process:shout@"))
    assert made["premise"].to_list()[:2] == ["IT ISN'T WET.", "It isn't wet."]
    checked = ow.check(suite, brief)
    assert checked["check:brief:reason"].drop_nulls().unique().to_list() == ["dropped by brief"]
    table = ow.answer(suite, same, canary=False, cache=None)
    scores = ow.score(table, [wrong, "flip_rate"], replicates=50)
    accuracy = ow.score(table, "accuracy_variants", replicates=50)[0].value
    assert scores["wrong"].value == pytest.approx(1 - accuracy)
    assert ow.score(table, ow.Metric(wrong), replicates=50)["wrong"].value == scores["wrong"].value
    right = table.with_columns(pl.col("gold").alias("pred"))
    assert ow.compare(table, right, wrong, replicates=50)["wrong"].other_value == 0  # type: ignore[arg-type]


def test_a_run_takes_functions_for_every_stage(tmp_path: Path) -> None:
    settings: Any = {"vary": shout, "check": [brief, "surface"], "models": same, "metrics": wrong}
    run = ow.run(ROWS, **settings, canary=False, cache=None, replicates=50, out=tmp_path / "run")
    assert [score.metric for score in run.scores] == ["wrong"]
    assert run.manifest["study"]["vary"] == ["shout=python:this-process:shout"]


@pytest.mark.parametrize("using", [7, None, [str, 7], [shout, lambda text: text, lambda text: ""]])
@pytest.mark.parametrize("stage", [ow.vary, ow.check])
def test_what_is_neither_a_name_nor_a_function_is_refused(stage: Any, using: Any) -> None:
    with refuses(BadInput):
        stage(ROWS, using)


def test_a_decorated_function_that_is_no_factory_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generators, "_plugins", {plugin.full_name: plugin for plugin in generators})
    generators("no-factory.v1")(lambda problem: problem.text["premise"])
    fix = "decorate a factory: a function of options, or of none, that returns the function of problem"
    with refuses(BadInput, fix=fix):
        ow.vary(ROWS, "no-factory")


# Results


def test_results_are_lists_and_more() -> None:
    with pytest.warns(UserWarning, match="no problem has two variants for p_c"):
        scores = ow.score(answers(), ["flip_rate", "p_c"], by="topic", replicates=50)
    assert isinstance(scores, list)
    assert scores == list(scores)
    assert isinstance(scores[:2], ow.Results)
    assert scores["p_c"] == next(one for one in scores if one.metric == "p_c" and one.group is None)
    assert [one.metric for one in scores.where(group="topic=people")] == ["flip_rate", "p_c"]
    assert scores[-1].group == "topic=weather"
    with refuses(UnknownName):
        scores["flips"]
    with refuses(UnknownName):
        scores.where(group="topic=people")[:0]["p_c"]


def test_a_metric_of_two_models_is_chosen_with_where() -> None:
    both = pl.concat([answers(), answers().with_columns(pl.lit("other").alias("model"))])
    scores = ow.score(both, "flip_rate", replicates=50)
    with refuses(UnknownName):
        scores["flip_rate"]
    assert scores.where(model="other")["flip_rate"].model == "other"


def test_results_print_as_a_table() -> None:
    scores = ow.score(answers(), ["flip_rate", "p_c"], replicates=50)
    assert repr(scores).splitlines() == [
        "metric      value  95% interval  clusters  eff. n  answers",
        "flip_rate  75.0 %    4.6 – 99.5         3       3        4",
        "p_c        83.3 %    9.4 – 99.7         3       3        4",
        "clusters: one per problem; eff. n: equally weighted clusters with the same information",
    ]


def test_results_are_a_table_in_a_notebook() -> None:
    table = answers().with_columns(pl.lit("<b>x</b> & y").alias("model"), pl.lit("<i>").alias("kind"))
    scores = ow.score(table, "flip_rate", by="kind", replicates=50)
    html = scores._repr_html_()
    assert html.count("<tr>") == 3
    assert "kind=&lt;i&gt;" in html
    assert "<i>" not in html
    assert f'title="{scores[0].signature}"' in html
    assert scores[:0]._repr_html_() == "<p>no results</p>"


def test_generators_have_short_names_in_tables_of_groups() -> None:
    """A signature is wider than a screen; what a short name stands for is told beneath the table."""
    suite = ow.vary(ROWS, ["contractions(field=premise)", "scramble"], suite=True)
    table = ow.answer(suite, same, canary=False, cache=None)
    scores = ow.score(table, "accuracy_variants", by="how", replicates=50)
    [group] = [one.group for one in scores if one.group]
    lines = repr(scores).splitlines()
    assert any(line.startswith("how=contractions  accuracy_variants") for line in lines)
    assert lines[-1] == f"contractions: {group.removeprefix('how=')}"
    html = scores._repr_html_()
    assert '<td style="text-align: left">how=contractions</td>' in html
    ElementTree.fromstring(html)
    differences = ow.compare(
        table, table.with_columns(pl.col("gold").alias("pred")), "flip_rate", by="how", replicates=50
    )
    assert repr(differences).splitlines()[-1] == lines[-1]


@pytest.mark.parametrize("empty", [None, "", " "])
def test_what_is_empty_is_no_group(empty: Any, tmp_path: Path) -> None:
    """An empty cell of a CSV file is what a data frame calls missing."""
    domain = pl.when(pl.col("bucket") == "1").then(pl.lit(empty)).otherwise(pl.lit("news")).alias("domain")
    table, file = answers().with_columns(domain), tmp_path / "answers.csv"
    table.write_csv(file)
    for given in (table, file):
        with pytest.warns(UserWarning, match="1 variants have no domain and belong to no group"):
            scores = ow.score(given, "flip_rate", by="domain", replicates=50)
        assert [one.group for one in scores] == [None, "domain=news"]


def test_differences_are_results_too() -> None:
    other = answers().with_columns(pl.col("gold").alias("pred"), pl.lit("gold").alias("model"))
    differences = ow.compare(answers(), other, "accuracy_variants", replicates=50)
    assert differences["accuracy_variants"].other == "gold"
    assert repr(differences).splitlines()[0].split() == [
        "metric", "same", "gold", "difference", "95%", "interval", "p", "p", "(maxT)", "p", "(Holm)",
        "clusters", "eff.", "n",
    ]  # fmt: skip
    assert "p: the larger p-value of two: permutation test (swaps clusters) and interval" in repr(differences)
    assert "difference" in differences._repr_html_()
    assert differences.to_polars()["other"].to_list() == ["gold"]


def test_results_are_drawn(tmp_path: Path) -> None:
    table = answers().with_columns(pl.lit("<b>").alias("kind"))
    scores = ow.score(table, "flip_rate", by=["kind", "topic"], replicates=50)
    picture = scores.plot()
    root = ElementTree.fromstring(picture._repr_svg_())
    space = "{http://www.w3.org/2000/svg}"
    assert len(root.findall(f"{space}circle")) == len(scores) == 4
    labels = [text.text for text in root.findall(f"{space}text") if text.get("text-anchor") == "end"]
    assert labels[:2] == ["all  flip_rate", "kind=<b>  flip_rate"]
    left, right = (float(root.findall(f"{space}path")[place].get("d", "M0")[1:].split()[0]) for place in (0, 4))
    middle = float(root.findall(f"{space}circle")[0].get("cx", 0))
    assert (middle - left) / (right - left) == pytest.approx(scores[0].value, abs=0.001)
    picture.save(tmp_path / "flips.svg")
    assert (tmp_path / "flips.svg").read_text(encoding="utf-8") == picture.svg
    assert "SVG" in repr(picture)


def test_differences_are_drawn_around_zero_and_nothing_is_not_drawn() -> None:
    other = answers().with_columns(pl.col("gold").alias("pred"), pl.lit("gold").alias("model"))
    picture = ow.compare(answers(), other, ["accuracy_variants", "p_c"], replicates=50).plot()
    assert picture.svg.count("<circle") == 2
    assert ">0.0 %<" in picture.svg
    scores = ow.score(answers(), "flip_rate", replicates=50)
    with refuses(BadInput):
        scores[:0].plot()
    number = dataclasses.replace(scores[0], unit="number", value=3.0)
    with refuses(BadInput, where="plot"):
        ow.Results([*scores, number]).plot()


def test_results_become_data_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = ow.score(answers(), ["flip_rate", "p_c"], replicates=50)
    assert scores.to_polars()["metric"].to_list() == ["flip_rate", "p_c"]
    frame = scores.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame["value"].tolist() == [one.value for one in scores]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with refuses(MissingExtra):
        scores.to_pandas()


def test_a_run_shows_its_scores_and_opens_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = ow.run(data="everyday", vary="recorded", models="scripted", canary=False, cache=None, replicates=50,
                 metrics="flip_rate", out=tmp_path / "run")  # fmt: skip
    assert "flip_rate" in repr(run)
    assert str(run.report) in repr(run)
    assert "<table>" in run._repr_html_()
    assert run.to_polars().equals(run.scores.to_polars())
    assert run.to_pandas()["metric"].tolist() == ["flip_rate"]
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    run.open()
    assert opened == [run.report.resolve().as_uri()]
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    with pytest.warns(UserWarning, match=r"no browser was found; the report is .*report\.html"):
        run.open()


# Progress


def test_progress_is_shown_where_it_is_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0  # by a clock of the test's own, which goes on only while the model works

    def slow(batch: ow.Batch) -> list[str]:
        nonlocal now
        now += 0.3
        return same(batch)

    monkeypatch.setattr("otherwords.progress.time", SimpleNamespace(monotonic=lambda: now))
    ow.answer(ROWS, slow, canary=False, batch_size=1, cache=None)
    assert capsys.readouterr().err == ""
    try:
        ow.show_progress()
        ow.answer(ROWS, slow, canary=False, batch_size=1, cache=None)
        ow.vary(ROWS, "contractions")  # too fast to be worth a line
    finally:
        ow.show_progress(False)
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == "answers: 3 of 3 in 0.9 s"
    assert any("2 of 3" in line for line in lines)
    ow.answer(ROWS, slow, canary=False, cache=None)
    assert capsys.readouterr().err == ""


def test_errors_of_calls_from_python_name_keywords(tmp_path):
    path = tmp_path / "tickets.csv"
    path.write_text("nr,ticket,claim,label\n1,It rains.,It is wet.,2\n")
    with refuses(BadInput) as caught:
        ow.load(path)
    assert "columns={'premise': COLUMN}" in caught.value.fix
    assert "--" not in caught.value.fix
    with refuses(BadInput) as caught:
        ow.load(path, columns={"premise": "ticket", "hypothesis": "claim"})
    assert "labels={'2': ...}" in caught.value.fix


def test_errors_in_a_notebook_say_how_to_fix_it_there() -> None:
    permuted = {"entailment": "contradiction", "neutral": "neutral", "contradiction": "entailment"}
    with pytest.raises(LabelOrder, match=r"in Python label_map=\{'entailment': 'entailment', .*, or canary=False\)"):
        ow.answer(ROWS, "nli-small", label_map=permuted, cache=None)
    with refuses(BadInput, fix="give models=[...], or a study file"):
        ow.run(ROWS, vary="contractions")
    with refuses(BadInput, where="the answers", fix="ask a model first: ow.answer(SUITE, MODEL)"):
        ow.score(ow.load(ROWS))


def test_a_warning_shows_the_line_of_the_caller(tmp_path: Path) -> None:
    """And no line of the package, which says nothing to a user."""
    run: Any = {"vary": "contractions", "models": same, "cache": None, "metrics": "flip_rate", "replicates": 50}
    topics = answers().with_columns(pl.when(pl.col("bucket") != "1").then(pl.col("topic")))
    calls = [
        lambda: ow.load(changed(label="maybe"), skip_bad=True),
        lambda: ow.load(changed(label="-")),
        lambda: ow.load([{"premise": "It rains.", "hypothesis": "It is wet."}]),
        lambda: ow.score(topics, "flip_rate", by="topic", replicates=50),
        lambda: ow.answer(ROWS, same, cache=None),
        lambda: ow.run(changed(label="maybe"), skip_bad=True, **run, out=tmp_path / "run"),
        lambda: ow.run([{"premise": "It isn't wet.", "hypothesis": "It is dry."}], **run, out=tmp_path / "other"),
    ]
    for number, call in enumerate(calls):
        with pytest.warns(UserWarning, match="left out|no column `label`|belong to no group|is weak") as caught:
            call()
        assert {one.filename for one in caught} == {__file__}, number


def test_a_score_is_printed_as_in_the_table():
    score = ow.Score("flip_rate", "flip_rate.v1()", "m", None, 1 / 3, 0.1, 0.625, 5, 9)
    assert str(score) == "flip_rate 33.3 % [10.0 – 62.5]"
    assert str(dataclasses.replace(score, low=None, high=None)) == "flip_rate 33.3 %"
    assert str(dataclasses.replace(score, value=None, low=None, high=None)) == "flip_rate –"
    assert str(dataclasses.replace(score, unit="number", group="topic=a")) == "flip_rate[topic=a] 0.333 [0.100 – 0.625]"
    assert repr(score).startswith("Score(metric='flip_rate'")
