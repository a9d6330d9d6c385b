"""The answer stage on shards: read ahead, written behind, several models at once; and the parts are the same bytes."""

from __future__ import annotations

import json
import threading
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from refusals import refuses
from varying import contracted

import otherwords as ow
from otherwords.errors import BadInput, WrongAnswer
from otherwords.models.cache import Cache
from otherwords.models.python_callable import as_spec
from otherwords.problem import TASKS
from otherwords.running import Engine, asking, stages
from otherwords.running.asking import answer_shards
from otherwords.running.stages import ShardJob
from otherwords.storage.run_folder import RunFolder

NLI = TASKS["nli"]
MODELS = ("one=scripted", "two=scripted(seed=2)", "three=bag_of_words")


@pytest.fixture(autouse=True)
def fresh():
    stages.forget()
    yield
    stages.forget()


@pytest.fixture
def place(tmp_path):
    """Six shards of four rows; texts of one recur in the next."""
    folder = RunFolder(tmp_path / "run")
    for number in range(6):
        rows = range(3 * number, 3 * number + 4)
        frame = pl.DataFrame(
            {
                "id": [f"p{number}" if not i % 4 else f"p{number}-{i}" for i in range(4)],
                "of": [None if not i % 4 else f"p{number}" for i in range(4)],
                "premise": [f"It rains, {row}." for row in rows],
                "hypothesis": ["It is wet." if row % 2 else None for row in rows],
                "label": ["neutral"] * 4,
                "cluster": [f"p{number}"] * 4,
                "check:surface": [None, True, True, number != 2],
            }
        )
        folder.write("buckets", number, f"key {number}", frame)
    return folder


def jobs(folder, *models, cache="cache.sqlite", **more):
    """Jobs of all models, shard by shard."""
    path = str(folder.path.parent / cache)
    return [
        ShardJob(str(folder.path), number, NLI, (model,), cache=path, **more) for number in range(6) for model in models
    ]


def parts(folder):
    found = {part.relative_to(folder.path): part.read_bytes() for part in folder.parts("answers")}
    for part in found:
        (folder.path / part).unlink()
    return found


def logged(path):
    return [tuple(json.loads(line)) for line in Path(path).read_text().splitlines()]


@pytest.mark.parametrize("models", [MODELS[:1], MODELS], ids=["one", "three"])
@pytest.mark.parametrize("size", [0, 1, 7, 1000])
def test_together_and_alone_the_parts_are_the_same_bytes(place, models, size):
    made = answer_shards(jobs(place, *models, batch_size=size))
    together = parts(place)
    assert len(together) == 6 * len(models)
    alone = [answer_shards([job])[0] for job in jobs(place, *models, cache="other.sqlite", batch_size=size)]
    assert parts(place) == together
    assert made == alone
    assert [one.rows for one in made[:: len(models)]] == [4, 4, 3, 4, 4, 4]


def test_a_text_of_several_shards_is_asked_once(place, tmp_path):
    answer_shards(jobs(place, f"m=scripted(log={json.dumps(str(tmp_path / 'log'))})"))
    asked = Counter(logged(tmp_path / "log"))
    assert set(asked.values()) == {1}
    assert len(asked) == 19  # 3 a shard, one more in the last; the row that a check dropped is the next shard's first


def test_small_shards_are_asked_together(place):
    sizes = []

    def model(batch):
        sizes.append(len(batch))
        return ["neutral"] * len(batch)

    answer_shards(jobs(place, as_spec(model), batch_size=8))
    assert sizes == [4, 5, 7, 3]  # the first shard alone, then two by two; what they have in common is asked once
    parts(place)
    sizes.clear()
    (place.path.parent / "cache.sqlite").unlink()
    answer_shards(jobs(place, as_spec(model), batch_size=1_000))
    assert sizes == [4, 9, 6]  # ever more


def test_parts_that_fit_are_not_made_again_and_the_rest_comes_from_the_cache(place):
    some = jobs(place, *MODELS[:2])
    first = answer_shards(some)
    assert [(one.reused, one.from_cache) for one in first] == [(False, 0)] * 12
    stages.forget()  # the models are loaded anew, so that what is stored is of before
    folders = sorted(place.inner("answers"))
    (folders[0] / "part-00001.parquet").unlink()
    (folders[0] / "part-00002.parquet").unlink()
    (folders[1] / "part-00002.parquet").unlink()
    again = answer_shards(some)
    assert [one.rows for one in again] == [one.rows for one in first]
    assert sum(one.reused for one in again) == 9
    assert [one.from_cache for one in again if not one.reused] == [4, 3, 3]


def test_a_failing_model_keeps_what_was_answered(place, tmp_path):
    (tmp_path / "m.py").write_text(
        "from otherwords.errors import WrongAnswer\n"
        "def ask(batch):\n"
        "    if any('9' in text for text in batch['premise']):\n        raise WrongAnswer('no')\n"
        "    return ['neutral'] * len(batch)\n"
    )
    with refuses(WrongAnswer):
        answer_shards(jobs(place, f"m=python:{tmp_path}/m.py:ask", batch_size=1))
    assert [part.name for part in place.parts("answers")] == [f"part-0000{n}.parquet" for n in range(3)]
    (tmp_path / "m.py").write_text("def ask(batch):\n    return ['neutral'] * len(batch)\n")
    stages.forget()
    answer_shards(jobs(place, f"m=python:{tmp_path}/m.py:ask", batch_size=1))


def test_an_interruption_keeps_what_was_answered_and_leaves_no_thread(place):
    def model(batch):
        if any("9" in text for text in batch["premise"]):
            raise KeyboardInterrupt
        return ["neutral"] * len(batch)

    with pytest.raises(KeyboardInterrupt):
        answer_shards(jobs(place, as_spec(model), batch_size=1))
    names = [one.name for one in threading.enumerate()]
    assert not [name for name in names if name.startswith(("next-shards", "answer-cache"))]
    assert [pl.read_parquet(part).height for part in place.parts("answers")] == [4, 4, 3]
    with Cache(place.path.parent / "cache.sqlite") as cache:
        assert cache.info()[0]["answers"] == 11  # the two that are shorter than what interrupted it, too


def test_a_damaged_shard_is_named(place):
    place.part("buckets", 3).write_bytes(b"PAR1 nothing")
    with refuses(BadInput, where=str(place.part("buckets", 3))):
        answer_shards(jobs(place, MODELS[0]))


# In a run


def run(out, models, **more):
    more = {"data": contracted(12), "vary": ["contractions"], "canary": False, "replicates": 100, "shard": 5, **more}
    return ow.run(models=list(models), out=out, cache=str(out.parent / f"{out.name}.sqlite"), **more)


def test_light_models_read_the_suite_once(tmp_path, monkeypatch):
    read, reading = Counter(), asking.read_part
    monkeypatch.setattr(asking, "read_part", lambda path: (read.update([path]), reading(path))[1])
    found = run(tmp_path / "run", MODELS)
    buckets = [path for path in read if path.parent.name == "buckets"]
    assert len(buckets) == len(list((found.folder / "buckets").iterdir())) > 2
    assert {read[path] for path in buckets} == {1}


@pytest.mark.parametrize(("room", "times"), [(64_000_000, 1), (0, 3)], ids=["fits", "does not fit"])
def test_models_that_are_not_light_read_a_suite_once_where_it_fits_into_memory(tmp_path, monkeypatch, room, times):
    (tmp_path / "m.py").write_text("def ask(batch):\n    return ['neutral'] * len(batch)\n")
    monkeypatch.setattr("otherwords.running.driver._SHELF", room)
    read, reading = Counter(), asking.read_part
    monkeypatch.setattr(asking, "read_part", lambda path: (read.update([path]), reading(path))[1])
    models = [f"{name}=python:{tmp_path}/m.py:ask(batch_size={size})" for name, size in (("a", 3), ("b", 9))]
    found = run(tmp_path / "run", [*models, MODELS[0]])
    assert {read[path] for path in read if path.parent.name == "buckets"} == {times}
    assert [one["answers"] for one in found.manifest["answered"].values()] == [found.manifest["counts"]["asked"]] * 3


def test_two_names_of_one_model_ask_once(place, tmp_path):
    log = json.dumps(str(tmp_path / "log"))
    made = answer_shards(jobs(place, f"a=scripted(log={log})", f"b=scripted(log={log})"))
    assert len(made) == 12
    assert set(Counter(logged(tmp_path / "log")).values()) == {1}


@pytest.mark.filterwarnings("ignore:.*accepts none of", "ignore:.*nothing to measure")
@pytest.mark.parametrize("check", [["surface"], ["mutual-entailment(judge=self)"]], ids=["plain", "self-judged"])
def test_several_models_answer_as_each_does_alone(tmp_path, check):
    (tmp_path / "m.py").write_text(
        "def ask(batch):\n    return [['entailment', 'neutral'][len(p) % 2] for p in batch['premise']]\n"
    )
    models = (*MODELS, f"four=python:{tmp_path}/m.py:ask")
    several = run(tmp_path / "several", models, check=check, metrics=["flip_rate", "accuracy_original"])
    assert list(several.manifest["answered"]) == ["one", "two", "three", "four"]
    for model in models:
        name = model.partition("=")[0]
        alone = run(tmp_path / name, [model], check=check, metrics=["flip_rate", "accuracy_original"])
        assert alone.manifest["answered"][name] == several.manifest["answered"][name]
        [folder] = (alone.folder / "answers").iterdir()
        for part in folder.iterdir():
            assert part.read_bytes() == (several.folder / "answers" / folder.name / part.name).read_bytes()


def test_engines_of_ones_own_get_a_job_for_each_model_and_shard(tmp_path):
    class Counting(Engine):
        def __init__(self):
            self.names = []

        def map(self, function, some, give_up=None):
            for job in some:
                self.names.append((function.__name__, *job.using, job.number))
                yield function(job)

    engine = Counting()
    found = run(tmp_path / "run", MODELS[:2], engine=engine)
    shards = len(list((found.folder / "buckets").iterdir()))
    assert [name for name in engine.names if name[0] == "ask_texts"] == [
        ("ask_texts", model, number) for model in MODELS[:2] for number in range(shards)
    ]
