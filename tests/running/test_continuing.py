"""A run folder says what its study is, and continues it: elsewhere, without the data, from a pipe, from memory."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path

import polars as pl
import pytest
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses
from varying import contracted

import otherwords as ow
from otherwords.errors import BadInput
from otherwords.running.study import Study, read_study
from otherwords.storage.run_folder import RunFolder, key_of
from otherwords.storage.specs import to_toml

ROWS = contracted(6)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NAMES = st.dictionaries(TEXT, TEXT, max_size=3)


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    write(ROWS)
    return tmp_path / "here"


def write(rows):
    Path("data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def study(**more):
    plain = {"data": ["data.jsonl"], "vary": ["contractions"], "models": ["m=scripted(log=../log)"], "canary": False}
    return {**plain, "replicates": 10, "shard": 2, "cache": None, **more}


def asked():
    return len(Path("../log").read_text().splitlines())


def parts(folder):
    return {str(one.relative_to(folder)): (key_of(one), one.read_bytes()) for one in Path(folder).rglob("*.parquet")}


class TestToml:
    @settings(max_examples=at_most(60), deadline=None)
    @given(
        name=TEXT, task=st.sampled_from(["", "rte", {"name": "ü", "fields": ["a b", 'c"'], "labels": ["\x7f", "\\n"]}]),
        columns=NAMES, labels=NAMES, label_map=NAMES, lists=st.lists(TEXT, min_size=1, max_size=3),
        cache=st.sampled_from(["", None, False, "my cache.sqlite"]), confidence=st.floats(0.01, 0.99),
        seed=st.integers(), flag=st.booleans(),
    )  # fmt: skip
    def test_of_a_study_is_the_study(
        self, name, task, columns, labels, label_map, lists, cache, confidence, seed, flag
    ):
        every = {
            "name": name, "data": lists, "task": task, "columns": columns, "labels": labels, "skip_bad": flag,
            "vary": lists, "check": lists, "models": lists, "label_map": label_map, "canary": flag, "batch_size": 3,
            "cache": cache, "metrics": lists, "by": lists, "seed": seed, "replicates": 7, "confidence": confidence,
            "interval": "bca", "shard": 9, "plugins": [], "require": lists, "engine": "ray",
            "workers": 3, "gpu_share": 0.5, "shared": name, "gpus": [], "templates": lists, "repeats": 2,
            "repeat_ways": lists, "max_requests": 5, "max_cost": 0.5, "prices": name,
        }  # fmt: skip
        assert set(every) == set(Study.model_fields)
        one = Study(**every)
        assert Study(**tomllib.loads(to_toml(one.model_dump()))) == one

    def test_of_a_run_is_what_was_run(self, here):
        Path("task.toml").write_text(
            'name = "own"\nfields = ["premise", "hypothesis"]\nlabels = ["neutral", "other"]\n'
        )
        run = ow.run(study(task="task.toml", by=["topic"], columns={"id": "id"}, labels={"Ü=1": "other"}), out="run")
        assert read_study(run.folder).model_dump() == run.manifest["study"]
        Path("task.toml").unlink()
        assert ow.run("run").scores == run.scores
        made = tomllib.loads(Path("run/study.toml").read_text())["made"]
        assert made == {"otherwords": ow.__version__, "directory": str(here)}

    def test_names_that_are_no_text_are_refused(self, here):
        with refuses(BadInput):
            ow.run(study(data=["\udcff.jsonl"]))


class TestContinuing:
    def test_does_nothing_again(self, here):
        first, count = ow.run(study(), out="run"), asked()
        before = parts("run")
        again = ow.run("run")
        assert (again.scores, again.folder, asked(), parts("run")) == (first.scores, first.folder, count, before)

    def test_goes_on_where_it_stopped(self, here):
        first = ow.run(study(), out="run")
        count = asked()
        for part in (*RunFolder("run").parts("answers")[1:], Path("run/scores.json")):
            part.unlink()
        assert ow.run("run").scores == first.scores
        assert asked() == count + 12  # of two of three shards: two problems with two variants each

    def test_with_options_on_top_is_a_changed_study_in_the_same_folder(self, here):
        ow.run(study(), out="run")
        count = asked()
        both = ow.run("run", models=["m=scripted(log=../log)", "other=scripted(seed=3)"])
        assert {one.model for one in both.scores} == {"m", "other"}
        assert asked() == count
        assert len(read_study("run").models) == 2

    def test_the_study_says_the_command_that_continues_it(self, here):
        for out, shown in (("run", "run"), ("my runs/one", "'my runs/one'"), (here / "inner" / "two", "inner/two")):
            ow.run(study(), out=out)
            first = (Path(out) / "study.toml").read_text().splitlines()[0]
            assert first == f"# The study of this folder: `otherwords run {shown}` continues it."

    def test_files_that_are_where_the_run_was_started_are_told(self, here, tmp_path, monkeypatch):
        Path("mine.py").write_text("def ask(batch): return ['neutral'] * len(batch)\n")
        ow.run(study(models=["m=python:mine.py:ask"]), out="run")
        monkeypatch.chdir(tmp_path)
        fix = f"continue it from there, or copy mine.py here (the run was started in {here})"
        with refuses(BadInput, where="here/run", field="models", fix=fix):
            ow.run("here/run")

    def test_may_go_to_another_folder(self, here):
        first = ow.run(study(), out="run")
        other = ow.run("run", out="other", seed=2)
        assert other.folder == Path("other")
        assert read_study("run").seed == 1
        assert json.loads((first.folder / "scores.json").read_text())[0]["signature"] == first.scores[0].signature

    def test_elsewhere_without_the_data(self, here, tmp_path, monkeypatch):
        first, count = ow.run(study(), out="run"), asked()
        (tmp_path / "there").mkdir()
        shutil.move("run", tmp_path / "there" / "moved")
        Path("data.jsonl").unlink()
        monkeypatch.chdir(tmp_path / "there")
        before = parts("moved")
        with pytest.warns(UserWarning, match=r"moved: data.jsonl is not here: continuing with problems/"):
            again = ow.run("moved")
        assert again.scores == first.scores
        assert again.manifest["inputs"] == first.manifest["inputs"]
        assert (parts("moved"), asked()) == (before, count)
        with pytest.warns(UserWarning, match="is not here"):
            changed = ow.run("moved", vary=["identity"], metrics=["control_flips"], shard=4)
        assert {one.metric for one in changed.scores} == {"control_flips"}
        assert len(RunFolder("moved").parts("problems")) == 2
        with pytest.warns(UserWarning, match="is not here"):
            assert ow.run("moved", vary=["contractions"], metrics=[], out="third").scores == first.scores

    def test_when_the_data_are_back_knows_them(self, here):
        ow.run(study(), out="run")
        before = parts("run")
        Path("data.jsonl").rename("away")
        with pytest.warns(UserWarning, match="is not here"):
            ow.run("run")
        Path("away").rename("data.jsonl")
        ow.run("run")
        assert parts("run") == before

    def test_changed_data_are_read_again(self, here):
        ow.run(study(), out="run")
        write(ROWS[:3])
        with pytest.warns(UserWarning, match="the data have changed since they were read, and are read again"):
            assert ow.run("run").manifest["intake"]["rows"] == 3

    def test_without_data_and_without_all_problems_is_refused(self, here):
        ow.run(study(), out="run")
        Path("data.jsonl").unlink()
        RunFolder("run").parts("problems")[1].unlink()
        with refuses(BadInput, where="run"):
            ow.run("run")

    def test_a_folder_of_an_earlier_version_has_its_study_in_the_manifest(self, here):
        first = ow.run(study(), out="run")
        Path("run/study.toml").unlink()
        assert ow.run("run").scores == first.scores
        assert Path("run/study.toml").is_file()

    def test_a_folder_that_is_no_run_is_refused(self, here):
        Path("empty").mkdir()
        with refuses(BadInput, where="empty"):
            ow.run("empty")


class TestMemory:
    def test_tables_are_data(self, here):
        first = ow.run(study(), out="file")
        run = ow.run(study(data=pl.DataFrame(ROWS)), out="table")
        assert run.scores == first.scores
        assert run.manifest["study"]["data"][0].startswith("memory#")
        for data in (pl.LazyFrame(ROWS), ROWS, [pl.DataFrame(ROWS[:3]), pl.DataFrame(ROWS[3:])]):
            pooled = [one for one in ow.run(study(data=data)).scores if one.group is None]  # two are scored apart, too
            assert pooled == list(first.scores)

    def test_are_known_by_their_content(self, here):
        table = pl.DataFrame(ROWS)
        first, count = ow.run(study(data=[table], cache="answers.sqlite")).folder, asked()
        assert ow.run(study(data=[table.clone()], cache="answers.sqlite")).folder == first
        assert asked() == count
        other = ow.run(study(data=[table.with_columns(topic=pl.lit("c"))])).folder
        assert other != first

    def test_and_files_are_read_as_one(self, here):
        write(ROWS[:3])
        run = ow.run(study(data=["data.jsonl", pl.DataFrame(ROWS[3:])]), out="run")
        assert run.manifest["intake"]["rows"] == 6

    def test_bad_rows_are_named(self, here):
        with refuses(BadInput, where="the table, row 2", field="label"):
            ow.run(study(data=pl.DataFrame([ROWS[0], {**ROWS[1], "label": "maybe"}])))

    def test_a_run_on_them_is_continued_without_them(self, here):
        first = ow.run(study(data=pl.DataFrame(ROWS)), out="run")
        with pytest.warns(UserWarning, match="is not here: continuing with problems/"):
            again = ow.run("run", replicates=20)
        assert [one.value for one in again.scores] == [one.value for one in first.scores]

    def test_a_study_keeps_its_tables(self, here):
        one = Study(**study(data=[pl.DataFrame(ROWS)]))
        assert ow.run(one, out="run", seed=2).manifest["intake"]["rows"] == 6

    @pytest.mark.parametrize("data", [3, [3], [None]])
    def test_what_is_no_table_is_refused(self, here, data):
        with refuses(BadInput):
            ow.run(study(data=data))


def test_a_run_gives_its_answers_lazily(here):
    run = ow.run(study(), out="run")
    assert run.answers().select(pl.len()).collect().item() == 18
    assert set(run.answers().collect()["model"]) == {"m"}
    assert run.report == Path("run/report.html")


def test_the_manifest_names_the_versions_of_what_is_installed(here):
    import importlib.metadata

    versions = ow.run(study(), out="run").manifest["versions"]
    for name in ("torch", "transformers", "onnxruntime", "polars", "numpy", "spacy", "tokenizers"):
        try:
            assert versions[name] == importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            assert name not in versions
