"""What is not the run's own is neither deleted nor written to; and nothing that is read is written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput
from otherwords.running.study import Study

#: Three problems with something to contract.
ROWS = [
    {"id": name, "premise": f"It isn't {name}.", "hypothesis": "They're late.", "label": "neutral"} for name in "abc"
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    write("data.jsonl", ROWS)
    return tmp_path / "here"


def write(path, rows):
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))


def names(folder):
    return [one.name for one in Path(folder).iterdir()]


def study(**more):
    plain = {"data": ["data.jsonl"], "vary": ["contractions"], "models": ["scripted"], "canary": False}
    return {**plain, "replicates": 10, **more}


def snapshot(folder):
    """Every file with its content and every link with its goal."""
    paths = sorted(folder.rglob("*"))
    return {str(one): str(one.readlink()) if one.is_symlink() else one.is_file() and one.read_bytes() for one in paths}


class TestFolders:
    @pytest.mark.parametrize(
        "files",
        [
            {"notes.txt": "mine"},
            {"problems/part-00000.parquet": "mine"},
            {"answers/mine.csv": "mine", "report.html": "mine"},
            {"manifest.json": '{"name": "my web app"}', "index.html": "mine"},
            {"manifest.json": "[]"},
            {"manifest.json": "{broken"},
            {".git/config": "mine"},
        ],
    )
    def test_of_others_are_refused(self, here, files):
        for name, text in files.items():
            (here / "out" / name).parent.mkdir(parents=True, exist_ok=True)
            (here / "out" / name).write_text(text)
        before = snapshot(here)
        with refuses(BadInput, where="out") as caught:
            ow.run(study(), out="out")
        assert next(iter(files)).partition("/")[0] in caught.value.message
        assert snapshot(here) == before

    def test_that_are_new_or_empty_are_taken(self, here):
        Path("empty").mkdir()
        for out in ("empty", "new/below"):
            assert ow.run(study(), out=out).report.is_file()

    def test_are_left_as_they_were_where_nothing_came_about(self, here):
        Path("empty").mkdir()
        write("data.jsonl", [{"id": "a"}])
        with refuses(BadInput):
            ow.run(study(), out="empty")
        assert [one.name for one in Path("empty").iterdir() if one.name != ".lock"] == []

    def test_with_a_cache_of_their_own_can_be_resumed(self, here):
        write("data.jsonl", [*ROWS, {"id": "bad"}])
        with refuses(BadInput):
            ow.run(study(cache="out/cache.sqlite"), out="out")
        write("data.jsonl", ROWS)
        ow.run(study(cache="out/cache.sqlite"), out="out")
        assert Path("out/cache.sqlite").is_file()

    def test_that_lost_their_manifest_are_known_by_their_parts(self, here):
        folder = ow.run(study(), out="out").folder
        (folder / "manifest.json").unlink()
        assert ow.run(study(), out="out").scores

    def test_that_are_read_are_not_written(self, here):
        Path("parts").mkdir()
        pl.DataFrame(ROWS).write_parquet("parts/a.parquet")
        for out in ("parts", "parts/run"):
            with refuses(BadInput):
                ow.run(study(data=["parts"]), out=out)
        assert names("parts") == ["a.parquet"]

    def test_are_not_their_own_data(self, here):
        ow.run(study(), out="out")
        for data in ("out", "out/problems", "out/problems/part-00000.parquet"):
            with refuses(BadInput):
                ow.run(study(data=[data]), out="out")


class TestStrangers:
    """In a folder of our own."""

    def test_survive_whatever_changes(self, here):
        ow.run(study(shard=1, vary=["contractions", "wordnet-ie"], models=["one=scripted", "two=scripted"]), out="out")
        strangers = [
            *("notes.txt", ".film.mkv.part", "part-00000.parquet", "mine/part-00000.parquet", "scores.json.old"),
            *("problems/mine.csv", "problems/part-1.parquet", "problems/old/part-00000.parquet", "variants/mine.csv"),
            *("notes/mine.csv", "tables/mine/table.tsv", "tables/mine.tsv", "buckets/part-x.parquet"),
            *("answers/mine.csv", "answers/mine/part-00000.parquet", "answers/.DS_Store", ".answers.sqlite.mine"),
        ]
        inside = next(Path("out/answers").glob("two-*")) / "mine.txt"
        for path in (*(Path("out") / name for name in strangers), inside):
            path.parent.mkdir(exist_ok=True)
            path.write_text("mine")
        write("data.jsonl", ROWS[:2])
        with pytest.warns(UserWarning, match="two is no longer in the study"):
            ow.run(study(models=["one=scripted"], cache=None, shard=100), out="out")  # fewer rows, models, parts
        write("data.jsonl", [*ROWS, {**ROWS[0], "id": "v", "of": "a", "premise": "It is not a."}])
        with pytest.warns(UserWarning, match="one is no longer in the study"):
            ow.run(study(vary=[]), out="out")  # no variants
        for path in (*(Path("out") / name for name in strangers), inside):
            assert path.read_text() == "mine", path
        assert not list(Path("out/variants").glob("part-0*"))

    @pytest.mark.parametrize("name", ["problems/part-00000.parquet", "buckets/part-00009.parquet"])
    def test_in_the_place_of_a_part_are_named(self, here, name):
        ow.run(study(), out="out")
        pl.DataFrame({"mine": [1]}).write_parquet(Path("out") / name)
        write("data.jsonl", ROWS[:2])
        with refuses(BadInput, where=str(Path("out") / name)):
            ow.run(study(), out="out")
        assert pl.read_parquet(Path("out") / name).columns == ["mine"]


class TestLinks:
    def test_in_the_place_of_the_folder(self, here):
        Path("elsewhere").mkdir()
        Path("out").symlink_to("elsewhere")
        with refuses(BadInput, where="out"):
            ow.run(study(), out="out")
        assert names("elsewhere") == []

    @pytest.mark.parametrize(
        "name", ["answers", "problems", "scores.json", "manifest.json", ".lock", ".taking-in", ".answers.sqlite"]
    )
    def test_in_a_run_folder(self, here, name):
        ow.run(study(cache=None), out="out")
        own, elsewhere = Path("out") / name, here / "elsewhere"
        if own.exists():
            shutil.move(own, elsewhere)
        else:
            elsewhere.write_text("mine")
        own.symlink_to(elsewhere)
        before = snapshot(here)
        with refuses(BadInput, where=str(own)):
            ow.run(study(cache=None, seed=2), out="out")
        assert snapshot(here) == before

    def test_in_the_place_of_a_part(self, here):
        ow.run(study(), out="out")
        part = Path("out/buckets/part-00000.parquet")
        shutil.move(part, "elsewhere.parquet")
        part.symlink_to(here / "elsewhere.parquet")
        with refuses(BadInput, where=str(part)):
            ow.run(study(check=["overlap"]), out="out")

    def test_above_the_folder_are_followed(self, here):
        Path("disk").mkdir()
        Path("runs").symlink_to("disk")
        assert ow.run(study()).report.is_file()


class TestNames:
    def test_the_same_study_is_resumed_and_another_has_its_own_folder(self, here):
        first = ow.run(study()).folder
        assert ow.run(study(cache=None, batch_size=3, shard=2)).folder == first
        for change in ({"seed": 2}, {"models": ["other=scripted"]}, {"metrics": ["flip_rate"]}, {"by": ["gold"]}):
            assert ow.run(study(**change)).folder != first
        assert len(names("runs")) == 5

    @pytest.mark.parametrize(
        "name", ["../../evil", "/etc/evil", "CON", "", "." * 3, "x" * 300, "a/b\\c", "Ünï códe 日本", "nul\x00\n", "-o"]
    )
    def test_are_safe(self, here, name):
        folder = ow.run(study(name=name)).folder
        assert folder.parent == Path("runs")
        assert names("runs") == [folder.name]
        assert len(folder.name.encode()) < 200
        assert folder.name.replace("-", "").replace("_", "").isalnum()
        assert not folder.name.startswith("-")

    def test_that_look_alike_differ_in_the_digits(self):
        one, other = (Study(name=name, data=["x"], models=["m"]).folder for name in ("a/b", "a-b"))
        assert one != other
        assert str(one)[:-6] == str(other)[:-6] == str(Path("runs/a-b-"))
