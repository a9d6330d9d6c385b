"""Shards that travel through a place: what is half written there is made again, and nothing stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_runs import ROWS, seen, write

import otherwords as ow
from otherwords.errors import BadInput
from otherwords.running import Engine, Study
from otherwords.running.exchange import SentJob
from otherwords.running.ray_engine import Ray
from otherwords.storage.places import without_password


class Elsewhere(Engine):
    """Does what workers do that do not see the run folder; `spoil` ends the first job while its results are written."""

    def __init__(self, shared: Path, spoil: bool = False):
        self.shared, self.spoil, self.given = str(shared), spoil, []

    def map(self, function, jobs, give_up=None):
        for job in jobs:
            self.given.append(job)
            done = function(job)
            if self.spoil:
                for file in Path(self.shared).glob("*.parquet"):
                    file.write_bytes(file.read_bytes()[:-20])
                raise BadInput("the driver is killed")
            yield done


def run(out, engine, **settings):
    plain = {"models": ["scripted"], "canary": False, "cache": None, "shard": 4, "replicates": 50}
    return ow.run(out=out, engine=engine, **{**plain, **settings})


@pytest.fixture
def data(tmp_path):
    return [str(write(tmp_path / "data.jsonl", ROWS))]


def test_what_is_half_written_in_the_place_is_made_again(tmp_path, data):
    with pytest.raises(BadInput, match="the driver is killed"):
        run(tmp_path / "out", Elsewhere(tmp_path / "place", spoil=True), data=data, vary=["contractions"])
    assert list((tmp_path / "place").iterdir())
    run(tmp_path / "out", Elsewhere(tmp_path / "place"), data=data, vary=["contractions"])
    alone = seen(tmp_path / "alone", "in-process", data=data, vary=["contractions"])[0]
    parts = {name: content for name, content in alone.items() if name.endswith(("parquet", "scores.json"))}
    assert {name: (tmp_path / "out" / name).read_bytes() for name in parts} == parts
    assert not (tmp_path / "place").exists()


def test_what_generators_learned_of_all_texts_is_used_where_it_is(tmp_path, data):
    pytest.importorskip("spacy")
    engine = Elsewhere(tmp_path / "place")
    run(tmp_path / "out", engine, data=data, vary=["contractions", "wordnet-ie"])
    stages = {one.stage for one in engine.given if isinstance(one, SentJob)}
    assert stages == {"buckets"}, "the table is in the run folder, which workers do not see"


def test_passwords_are_not_written_into_the_run_folder(tmp_path):
    study = Study(data=["a"], models=["b"], engine="ray", shared="ftp://me:secret@host:21/folder")
    study.write(tmp_path)
    assert "secret" not in (tmp_path / "study.toml").read_text()
    assert 'shared = "ftp://host:21/folder"' in (tmp_path / "study.toml").read_text()
    assert study.changed(seed=2).shared == study.shared
    assert without_password("/data/at@home") == "/data/at@home"


def test_nothing_is_deleted_where_no_run_was_prepared(tmp_path):
    (tmp_path / "mine.txt").touch()
    engine = Ray(shared=str(tmp_path))
    assert engine.shared == "", "there is no part of the place that is a run's"
