"""A study and its folder: the same bytes whatever the order, shards and batches; a rerun costs what changed."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import random
import re
import shutil
from dataclasses import asdict
from pathlib import Path

import polars as pl
import pytest
from refusals import refuses

import otherwords as ow
from otherwords.datasets.source import Source
from otherwords.errors import BadInput, OtherwordsError, UnknownName
from otherwords.report.page import rerender
from otherwords.running.files import answer_files, check_files, vary_files
from otherwords.running.study import Study, read_study
from otherwords.storage.run_folder import RunFolder

LABELS = ("entailment", "neutral", "contradiction")

#: Some of the problems have no topic on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:.*belong to no group", "ignore:.*held another study")


def _rows(count=40):
    """Problems that share premises in pairs, with extra columns of several kinds, some of them half empty."""
    for i in range(count):
        row = {
            "id": f"p{i}",
            "premise": f"It isn't the {i // 2}th day, and we'll wait.",
            "hypothesis": f"They're not on time {i}.",
            "label": LABELS[i % 3],
            "topic": "abc"[i % 3],
            "size": i % 4 if i > 10 else None,
            "ready": i % 2 == 0,
        }
        yield row if i % 5 else {name: value for name, value in row.items() if name != "topic"}


def _write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture
def data(tmp_path):
    return _write(tmp_path / "data.jsonl", _rows())


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The data, in `run` a finished study of it, and its cache: made once."""
    home = tmp_path_factory.mktemp("finished")
    study = _study(_write(home / "data.jsonl", _rows()), home / "log")
    ow.run(study, out=home / "run", cache=str(home / "cache.sqlite"))
    return home


@pytest.fixture
def folder(home, tmp_path):
    """A copy of the finished study, with the cache that it left; nothing of it depends on where it lies."""
    shutil.copytree(home / "run", tmp_path / "run")
    cache = Path(os.environ["OTHERWORDS_CACHE"])
    cache.parent.mkdir()
    shutil.copyfile(home / "cache.sqlite", cache)
    return tmp_path / "run"


@pytest.fixture
def study(data, tmp_path):
    return _study(data, tmp_path / "log")


def _study(data, log):
    return {
        "data": [data],
        "vary": ["contractions"],
        "models": [f"m=scripted(log={log})"],
        "canary": False,
        "replicates": 200,
        "by": ["topic"],
        "shard": 9,
    }


@pytest.fixture
def asked(tmp_path):
    """How many texts were asked since the last look."""
    seen = [0]

    def look():
        lines = (tmp_path / "log").read_text().splitlines() if (tmp_path / "log").exists() else []
        new, seen[0] = len(lines) - seen[0], len(lines)
        return new

    return look


def _scores(folder):
    return (folder / "scores.json").read_bytes()


def _parts(folder, stage=""):
    """Every part with its inode, which changes when a file is written again."""
    return {str(path.relative_to(folder)): path.stat().st_ino for path in (folder / stage).rglob("*.parquet")}


class TestSameBytes:
    @pytest.mark.parametrize("batch", [1, pytest.param(7, marks=pytest.mark.slow)])
    def test_whatever_the_shards_batches_and_order(self, study, tmp_path, batch):
        study["by"] = ["topic", "size", "ready"]
        plain = _scores(ow.run(study, out=tmp_path / "plain").folder)
        rows = list(_rows())
        random.Random(5).shuffle(rows)
        shuffled = _write(tmp_path / "shuffled.jsonl", rows)
        change = {"data": [shuffled], "shard": 4, "batch_size": batch}
        other = ow.run(study, out=tmp_path / "other", cache=str(tmp_path / "other.sqlite"), **change)
        assert _scores(other.folder) == plain

    def test_from_any_format(self, study, folder, tmp_path, data):
        plain = _scores(folder)
        pl.read_ndjson(data, infer_schema_length=None).write_parquet(tmp_path / "data.parquet")
        other = ow.run(study, out=tmp_path / "other", data=[str(tmp_path / "data.parquet")])
        assert _scores(other.folder) == plain

    def test_of_a_suite_in_any_order(self, study, folder, tmp_path, data):
        plain = _scores(folder)
        problems = ow.load(data)
        suite = pl.concat([problems, ow.vary(problems, ["contractions"])], how="diagonal_relaxed")
        suite.sample(fraction=1, shuffle=True, seed=3).write_parquet(tmp_path / "suite.parquet")
        other = ow.run(study, out=tmp_path / "other", data=[str(tmp_path / "suite.parquet")], vary=[])
        assert _scores(other.folder) == plain

    def test_of_a_cold_and_a_warm_cache(self, study, tmp_path, asked):
        first = _scores(ow.run(study, out=tmp_path / "one").folder)
        assert asked() == 40 * 3  # each text once: an original and a variant of each side
        assert _scores(ow.run(study, out=tmp_path / "two").folder) == first
        assert asked() == 0


class TestRerun:
    def test_of_a_finished_study_asks_and_writes_nothing_new(self, study, folder, tmp_path, asked):
        before, parts = _scores(folder), _parts(folder)
        again = ow.run(study, out=folder, cache=str(tmp_path / "new.sqlite"))
        assert asked() == 0  # not even with an empty cache: the parts are there
        assert (_scores(folder), _parts(folder)) == (before, parts)
        assert [asdict(score) for score in again.scores] == json.loads(before)
        assert "flip_rate" in again.report.read_text()

    def test_other_metrics_and_groups_touch_no_part(self, study, folder, asked):
        parts = _parts(folder)
        run = ow.run(study, out=folder, metrics=["p_c"], by=[], replicates=50, confidence=0.9)
        assert [score.metric for score in run.scores] == ["p_c"]
        assert run.manifest["signatures"]["metrics"] == [run.scores[0].signature]
        assert _parts(folder) == parts
        assert asked() == 0

    def test_a_metric_of_texts_finds_them(self, study, folder):
        of_texts = ["jaccard", "token_overlap(fields=premise)"]
        [flips, *texts] = ow.run(study, out=folder, by=[], metrics=["flip_rate", *of_texts]).scores
        assert [one.value for one in texts] == [one.value for one in ow.score(folder, of_texts)]
        assert flips == ow.run(study, out=folder, by=[], metrics=["flip_rate"]).scores[0]

    def test_another_model_leaves_the_first_alone_and_a_removed_one_goes(self, study, folder, asked):
        parts = _parts(folder)
        both = ow.run(study, out=folder, models=[*study["models"], "other=scripted(seed=8)"])
        assert {score.model for score in both.scores} == {"m", "other"}
        assert parts.items() <= _parts(folder).items()
        assert asked() == 0
        removed = f"m is no longer in the study: its answers go from {folder}, not from the cache"
        with pytest.warns(UserWarning, match=f"^{re.escape(removed)}$"):
            alone = ow.run(study, out=folder, models=["other=scripted(seed=8)"])
        assert removed not in alone.manifest["warnings"]
        assert {score.model for score in alone.scores} == {"other"}
        assert len(list((folder / "answers").iterdir())) == 1
        assert set(pl.read_parquet(folder / "answers" / "*" / "*.parquet")["model"]) == {"other"}
        assert list(alone.manifest["signatures"]["models"]) == ["other"]

    def test_other_options_of_a_model_of_the_same_name(self, study, folder):
        one = _scores(folder)
        ow.run(study, out=folder, models=["m=scripted(seed=8)"])
        assert _scores(folder) != one
        assert len(list((folder / "answers").iterdir())) == 1
        ow.run(study, out=folder)
        assert _scores(folder) == one

    def test_another_seed_regenerates_variants_but_asks_no_known_text(self, study, folder, asked):
        before = _parts(folder, "variants")
        run = ow.run(study, out=folder, seed=2)
        assert run.manifest["seed"] == 2
        assert not before.items() & _parts(folder, "variants").items()
        assert asked() == 0

    def test_another_generator(self, study, folder, tmp_path, asked):
        problems = _parts(folder, "problems")
        ow.run(study, out=folder, vary=["contractions(field=premise)"])
        assert asked() == 0
        assert _parts(folder, "problems") == problems
        answers = pl.read_parquet(folder / "answers" / "*" / "*.parquet")
        assert answers.height == 80  # an original and one variant: no row of the earlier generator is left
        fresh = ow.run(study, out=tmp_path / "fresh", vary=["contractions(field=premise)"]).folder
        assert _scores(folder) == _scores(fresh)

    def test_another_check(self, study, folder, tmp_path, asked):
        again = [{**row, "id": f"{row['id']}.again", "of": row["id"]} for row in _rows()]
        data = [*study["data"], _write(tmp_path / "again.jsonl", again)]
        run = ow.run(study, out=folder, check=["overlap(most=0.9)"], data=data)
        assert asked() == 0
        assert run.manifest["counts"] == {"variants": 80, "unvaried": 0, "dropped": 40, "asked": 120}
        assert "check:surface" not in pl.read_parquet(folder / "buckets" / "*.parquet").columns

    def test_smaller_data_leave_no_stale_parts(self, study, folder, tmp_path, asked):
        assert len(RunFolder(folder).parts("problems")) == 5
        _write(tmp_path / "data.jsonl", list(_rows())[:10])
        run = ow.run(study, out=folder)
        assert asked() == 0
        for stage in ("problems", "variants", "buckets", "answers"):
            assert len(RunFolder(folder).parts(stage)) == 2
        assert {score.n_units for score in run.scores if score.group is None} == {10}
        assert _scores(ow.run(study, out=tmp_path / "fresh").folder) == _scores(folder)

    def test_another_shard_size_leaves_no_stale_parts(self, study, folder):
        before = _scores(folder)
        ow.run(study, out=folder, shard=100)
        for stage in ("problems", "variants", "buckets", "answers"):
            assert len(RunFolder(folder).parts(stage)) == 1
        assert _scores(folder) == before

    def test_from_generated_to_recorded_variants(self, study, folder, tmp_path, data):
        problems = ow.load(data)
        again = ow.vary(problems, ["identity"]).drop("control")  # as somebody's own rewordings
        suite = pl.concat([problems, again], how="diagonal_relaxed")
        suite.write_parquet(tmp_path / "suite.parquet")
        run = ow.run(study, out=folder, data=[str(tmp_path / "suite.parquet")], vary=[], check=[])
        assert not (folder / "variants").exists()
        assert "vary" not in run.manifest["signatures"]  # nothing of the earlier study is in the manifest
        assert {score.value for score in run.scores if score.metric == "flip_rate"} == {0.0}

    def test_a_changed_study_that_fails_leaves_no_scores_of_the_old_one(self, study, folder):
        with refuses(OtherwordsError):
            ow.run(study, out=folder, models=["m=scripted(otherwise=fail)"])
        assert not (folder / "scores.json").exists()
        assert not (folder / "report.html").exists()

    def test_an_edited_model_file_is_asked_again(self, study, tmp_path):
        model = tmp_path / "mine.py"
        for label in LABELS[:2]:
            model.write_text(f"def ask(batch):\n    return [{label!r}] * len(batch)\n")
            run = ow.run(study, out=tmp_path / "run", models=[f"m=python:{model}:ask"])
            assert set(pl.read_parquet(run.folder / "answers" / "*" / "*.parquet")["pred"]) == {label}


class TestDamage:
    @pytest.mark.parametrize("shift", [0, *(pytest.param(one, marks=pytest.mark.slow) for one in range(1, 4))])
    def test_a_part_that_is_damaged_is_rebuilt(self, study, folder, asked, shift):
        """A part of every stage at once, each damaged in another way; with all shifts, each stage in each way."""
        before, heights = _scores(folder), {}
        for number, stage in enumerate(("problems", "variants", "buckets", "answers")):
            part = RunFolder(folder).parts(stage)[number]
            heights[part], raw = pl.read_parquet(part).height, part.read_bytes()
            part.write_bytes([b"", raw[: len(raw) // 2], b"what is this?" * 99, b""][(number + shift) % 4])
            if (number + shift) % 4 == 3:
                part.unlink()
        ow.run(study, out=folder)
        assert _scores(folder) == before
        assert asked() == 0
        assert {part: pl.read_parquet(part).height for part in heights} == heights

    def test_a_part_damaged_inside_is_named(self, study, folder):
        before = json.loads((folder / "manifest.json").read_text())
        part = RunFolder(folder).parts("answers")[2]
        raw = bytearray(part.read_bytes())
        raw[4:200] = b"\xff" * 196  # the footer, and so the key, is whole
        part.write_bytes(raw)
        with refuses(BadInput, where=str(part)):
            ow.run(study, out=folder)
        part.unlink()
        assert ow.run(study, out=folder).manifest["signatures"] == before["signatures"]

    def test_a_damaged_manifest_is_named(self, study, folder):
        (folder / "manifest.json").write_text("{")
        with refuses(BadInput, where=str(folder / "manifest.json")):
            ow.run(study, out=folder)
        (folder / "manifest.json").unlink()
        ow.run(study, out=folder)

    def test_any_reader_opens_the_parts_of_a_stage_as_one_table(self, folder):
        for stage, height in (("problems", 40), ("variants", 80), ("buckets", 120), ("answers", 120)):
            table = pl.read_parquet(folder / stage / "**" / "*.parquet")  # strict: no part may differ from the first
            assert table.height == height
            assert table.schema["size"] == pl.Int64
            assert table.schema["ready"] == pl.Boolean

    def test_strangers_in_the_folder_are_left_alone(self, study, folder):
        strangers = [folder / "notes.txt", folder / "answers" / ".DS_Store", folder / "problems" / "mine.csv"]
        for path in strangers:
            path.write_text("mine")
        ow.run(study, out=folder, metrics=["p_c"])
        assert all(path.read_text() == "mine" for path in strangers)


class TestManifest:
    def test_says_everything_that_decides_the_result(self, study, tmp_path, data):
        run = ow.run(study, out=tmp_path / "run")
        manifest = json.loads((run.folder / "manifest.json").read_text(encoding="utf-8"))
        assert manifest == run.manifest
        raw = (tmp_path / "data.jsonl").read_bytes()
        assert manifest["inputs"] == [
            {
                "signature": f"jsonl.v1(path=data.jsonl#{hashlib.sha256(raw).hexdigest()[:12]})",
                "files": [{"name": "data.jsonl", "sha256": hashlib.sha256(raw).hexdigest(), "bytes": len(raw)}],
            }
        ]
        assert manifest["signatures"] == {
            "vary": ['contractions.v1(field="")'],
            "check": ["surface.v1(min_ratio=0.33, max_ratio=3.0)"],
            "models": {"m": "scripted.v1(script=, otherwise=any, seed=0)"},
            "metrics": list(dict.fromkeys(score.signature for score in run.scores)),
        }
        assert manifest["seed"] == 1
        assert manifest["otherwords"] == ow.__version__
        assert manifest["versions"]["python"] == platform.python_version()
        assert manifest["versions"]["polars"] == pl.__version__
        assert set(manifest["timings"]) == {"problems", "variants", "buckets", "answers", "scores"}
        assert all(seconds >= 0 for seconds in manifest["timings"].values())
        assert manifest["task"]["labels"] == list(LABELS)
        assert manifest["intake"]["rows"] == manifest["intake"]["originals"] == 40
        assert manifest["counts"] == {"variants": 80, "unvaried": 0, "dropped": 0, "asked": 120}
        assert manifest["batch_invariant"] == {"m": True}
        assert Study(**manifest["study"]) == read_study(study)

    def test_place_does_not_matter_to_signatures(self, study, folder, tmp_path):
        before = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        other = ow.run(study, out=tmp_path / "two")
        assert before["study"]["data"] != other.manifest["study"]["data"]
        assert other.manifest["signatures"] == before["signatures"]
        assert other.manifest["inputs"] == before["inputs"]

    @pytest.mark.filterwarnings("default")
    def test_warnings_are_in_the_manifest_and_in_the_report(self, study, tmp_path):
        with pytest.warns(UserWarning, match="m is weak"):
            run = ow.run({**study, "by": []}, out=tmp_path / "run", canary=True)
        assert len(run.manifest["warnings"]) == 1
        assert run.manifest["warnings"][0].startswith("m is weak: ")
        assert run.manifest["warnings"][0] in run.report.read_text(encoding="utf-8")
        assert ow.run({**study, "by": []}, out=tmp_path / "run").manifest["warnings"] == []

    def test_the_report_is_the_same_when_rendered_again(self, folder):
        page = (folder / "report.html").read_bytes()
        assert rerender(folder) == folder / "report.html"
        assert (folder / "report.html").read_bytes() == page


class TestReadStudy:
    def test_from_a_file_with_changes_on_top(self, tmp_path):
        path = tmp_path / "my study.toml"
        path.write_text('data = ["everyday"]\nmodels = ["scripted"]\nseed = 4\n')
        study = read_study(path, seed=5, vary=["recorded"])
        assert (study.name, study.seed, study.vary, study.check) == ("my study", 5, ["recorded"], ["surface"])
        assert ow.Study(data=["everyday"], models=["scripted"]).name == "everyday"

    def test_a_study_object_with_changes_on_top(self, study, tmp_path):
        run = ow.run(read_study(study), out=tmp_path / "run", metrics=["p_c"])
        assert {score.metric for score in run.scores} == {"p_c"}
        assert Study(**run.manifest["study"]) == read_study({**study, "metrics": ["p_c"]})

    def test_a_misspelt_setting_is_named_before_a_missing_one(self):
        with refuses(BadInput):
            read_study({"dta": ["x"], "models": ["scripted"]})


class TestLibrary:
    def test_stage_by_stage_gives_what_run_gives(self, study, folder, tmp_path, data):
        scores = [ow.Score(**one) for one in json.loads(_scores(folder))]
        problems = ow.load(data)
        suite = pl.concat([problems, ow.vary(problems, ["contractions"])], how="diagonal_relaxed")
        checked = ow.check(suite, ["surface"])
        answers = ow.answer(checked, "m=scripted", canary=False, cache=None)
        assert ow.score(answers, by=study["by"], replicates=200) == scores
        assert ow.score(folder, by=study["by"], replicates=200) == scores
        assert ow.score(str(folder / "answers"), by=study["by"], replicates=200) == scores
        answers.write_parquet(tmp_path / "answers.parquet")
        assert ow.score(tmp_path / "answers.parquet", by=study["by"], replicates=200) == scores

    def test_load_maps_and_skips(self, tmp_path):
        path = tmp_path / "x.csv"
        path.write_text("nr,p,h,y\n1,A.,B.,0\n2,A.,,0\n3,A.,C.,1\n")
        columns = {"id": "nr", "premise": "p", "hypothesis": "h", "label": "y"}
        labels = {"0": "entailment", "1": "neutral"}
        with pytest.warns(
            UserWarning, match=r"left out 1 rows, the first: .*x\.csv, line 3: hypothesis: found an empty"
        ):
            table = ow.load(str(path), columns=columns, labels=labels, skip_bad=True)
        assert table["id"].to_list() == ["1", "3"]
        assert table["label"].to_list() == ["entailment", "neutral"]
        assert table["cluster"].n_unique() == 1

    def test_answer_takes_an_open_cache(self, data, tmp_path, asked):
        problems = ow.load(data)
        with ow.Cache(tmp_path / "mine.sqlite") as cache:
            for _ in range(2):
                ow.answer(problems, f"scripted(log={tmp_path / 'log'})", canary=False, cache=cache)
        assert asked() == 40

    def test_wrong_names_are_errors_of_ours(self, study, tmp_path, data):
        for wrong in ({"vary": ["x"]}, {"check": ["x"]}, {"models": ["x"]}, {"metrics": ["x"]}, {"by": ["x"]}):
            with refuses(UnknownName):
                ow.run(study, out=tmp_path / "run", **wrong)
        with refuses(OtherwordsError):
            ow.run(models=["scripted"], out=tmp_path / "run")


def test_a_cache_that_cannot_be_opened_is_refused_before_any_work(tmp_path):
    with refuses(BadInput, where=str(tmp_path)):
        ow.run(data=["everyday"], vary=["recorded"], models=["scripted"], cache=str(tmp_path), out=tmp_path / "run")
    assert not (tmp_path / "run" / "problems").exists()


def test_a_file_command_and_a_run_make_the_same_rows(study, folder, tmp_path, data):
    """A command is the same driver on a temporary folder."""
    suite, checked, answers = (tmp_path / f"{name}.parquet" for name in ("suite", "checked", "answers"))
    vary_files(Source([data]), str(suite), study["vary"], suite=True, shard=7)
    check_files(Source([str(suite)]), str(checked), ["surface"], shard=11)
    done = answer_files(Source([str(checked)]), str(answers), study["models"], canary=False)
    assert done.counts["asked"] == 120
    key = ["bucket", "variant"]
    columns = ["model", *key, "gold", "pred", "p:neutral", "how", "cluster", "check:surface", "topic"]
    run = RunFolder(folder).read("answers").select(columns)
    assert pl.read_parquet(answers).select(columns).sort(key).equals(run.sort(key))


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("with", "vary"), ("field", "columns"), ("model", "models"), ("label", "labels"), ("navary", "vary")],
)
def test_a_setting_by_another_name_is_pointed_at_its_own(wrong, right):
    with refuses(BadInput, field=wrong) as caught:
        read_study({"data": ["a.jsonl"], "models": ["scripted"], wrong: "x"})
    assert caught.value.fix.startswith(f"did you mean {right}?")


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ("data/tickets.csv", "tickets"),
        (["snli:dev.v1.jsonl", "b.csv"], "dev.v1"),
        ("everyday", "everyday"),
        ("-", "study"),
        ([{"premise": "A.", "hypothesis": "B."}], "study"),
    ],
)
def test_a_study_without_a_name_is_called_as_its_data(data, name):
    assert read_study({"data": data, "models": ["scripted"]}).name == name
    assert read_study({"data": data, "models": ["scripted"], "name": "mine"}).name == "mine"
    folder = read_study({"data": data, "models": ["scripted"]}).folder.name
    assert folder.startswith(f"{name.replace('.', '-')}-")
