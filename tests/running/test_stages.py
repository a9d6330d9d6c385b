"""The stages on a run folder: however the data is cut, ordered or batched, the scores are the same."""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from refusals import refuses

import otherwords as ow
from otherwords import pipeline
from otherwords.datasets import records
from otherwords.datasets.source import Source
from otherwords.datasets.suite import load
from otherwords.errors import BadInput
from otherwords.frames import by_bucket, to_frame
from otherwords.problem import Note, Score, Task
from otherwords.running import InProcess, Study, shards, stages
from otherwords.running.driver import Driver
from otherwords.storage.run_folder import RunFolder, key_of
from otherwords.variants.generating import notes_table

LABELS = ("entailment", "neutral", "contradiction")
GENERATORS = ["contractions", "identity"]
CHECKS = ["surface"]

#: Some of the problems have no topic on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:.*belong to no group")


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Models and generators are kept by name; no test may meet those of another."""
    stages.forget()
    yield
    stages.forget()


def originals(count: int = 18) -> list[dict[str, Any]]:
    """Problems three by three about one premise; `rare` is filled in late, and nowhere in a small first shard."""
    return [
        {
            "id": f"p{i}",
            "premise": f"It isn't warm in room {i // 3}.",
            "hypothesis": f"Room {i} is not hot.",
            "label": LABELS[i % 3],
            "genre": ("news", "talk")[i // 3 % 2],
            "rare": i % 2 == 0 if i >= 12 else None,
            "size": i // 6 if i < 15 else 2.5,
        }
        for i in range(count)
    ]


def variants(count: int = 18) -> list[dict[str, Any]]:
    return [
        {**row, "id": f"{row['id']}.{k}", "of": row["id"], "hypothesis": f"Other words, {k}: {row['hypothesis']}",
         "kind": ("long", "short")[k % 2]}
        for row in originals(count) for k in range(int(row["id"][1:]) % 4)
    ]  # fmt: skip


def written(rows: Iterable[dict[str, Any]], path: Path) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def through(
    data: Path | str, place: Path, shard: int, *, model: str = "scripted(seed=5)", batch_size: int = 0, seed: int = 1
) -> pl.DataFrame:
    """All stages, from a file to answers."""
    settings = {"seed": seed, "batch_size": batch_size, "shard": shard, "cache": str(place / "cache.sqlite")}
    study = Study(data=[str(data)], vary=GENERATORS, check=CHECKS, models=[model], canary=False, **settings)
    driver = Driver(study, Source(study.data), RunFolder(place), InProcess())
    driver.take_in()
    driver.vary(driver.survey())
    driver.check()
    driver.answer()
    return driver.folder.read("answers")


def scores(answers: pl.DataFrame) -> list[Score]:
    return pipeline.score(answers, by=["genre", "kind", "rare", "size"], task="nli", replicates=40)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    rows = sorted([*originals(), *variants()], key=lambda row: int(row["id"][1:].partition(".")[0]))
    return written(rows, tmp_path / "suite.jsonl")


@pytest.fixture
def expected(suite: Path) -> list[Score]:
    """The same without a folder, in one piece."""
    whole = load(str(suite))
    made = pipeline.vary(whole, GENERATORS)
    judged = pipeline.check(pl.concat([whole, made], how="diagonal_relaxed"), CHECKS)
    return scores(pipeline.answer(judged, "scripted(seed=5)", cache=None, canary=False))


@pytest.mark.parametrize("shard", [1, 11, 10_000])
def test_shards_change_no_score(tmp_path: Path, suite: Path, expected: list[Score], shard: int) -> None:
    found = scores(through(suite, tmp_path / "run", shard))
    assert found == expected
    assert {one.group for one in found} >= {
        None,
        "genre=news",
        "kind=short",
        "rare=True",
        "rare=False",
        "size=1.0",
        "size=2.5",
    }


def test_order_and_batches_change_no_score(tmp_path: Path, suite: Path, expected: list[Score]) -> None:
    rows = [json.loads(line) for line in suite.read_text(encoding="utf-8").splitlines()]
    Random(1).shuffle(rows)  # variants before their originals, buckets in pieces
    shuffled = written(rows, tmp_path / "shuffled.jsonl")
    assert scores(through(shuffled, tmp_path / "run", 7, batch_size=1)) == expected


def ordered(rows: Sequence[dict[str, Any]], order: str) -> list[dict[str, Any]]:
    if order == "variants last":
        return sorted(rows, key=lambda row: "of" in row)
    if order == "variants first":
        return sorted(rows, key=lambda row: "of" not in row)
    return Random(4).sample(rows, len(rows))


@pytest.mark.parametrize("order", ["variants last", "variants first", "any"])
@pytest.mark.parametrize("shard", [1, 10])
@pytest.mark.parametrize("group", [7, 200_000])
def test_scattered_buckets_are_put_together_and_never_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str, shard: int, group: int
) -> None:
    monkeypatch.setattr(shards, "_GROUP", group)
    rows = ordered([*originals(), *variants()], order)
    folder = RunFolder(tmp_path / "run")
    noted = shards.take_in(Source([str(written(rows, tmp_path / "rows.jsonl"))]), folder, shard)
    parts = [pl.read_parquet(part) for part in folder.parts("problems")]
    assert pl.concat(parts).equals(by_bucket(load(str(tmp_path / "rows.jsonl"))))
    assert (noted["shards"], noted["rows"], noted["originals"]) == (len(parts), len(rows), 18)
    seen: list[str] = []
    for number, part in enumerate(parts):
        buckets = part.select(pl.coalesce("of", "id")).to_series()
        assert part["of"][0] is None
        firsts = buckets.unique(maintain_order=True).to_list()
        assert buckets.rle().struct.field("value").to_list() == firsts  # each in one piece, ...
        assert part.filter(pl.col("of").is_null())["id"].to_list() == firsts  # ... its original there
        seen += firsts
        if number < len(parts) - 1:
            assert part.height >= shard
    assert Counter(seen) == Counter(f"p{i}" for i in range(18))
    assert sum(part.height for part in parts) == len(rows)


#: Each size with others, for the fast suite; the slow one has them all.
SIZES = [(1, 5), (4, 12), (1_000, 1)]
OTHER_SIZES = [size for size in product([1, 4, 1_000], [1, 5, 12, 1_000]) if size not in SIZES]


@pytest.mark.parametrize(
    ("batch", "shard"), [*SIZES, *(pytest.param(*size, marks=pytest.mark.slow) for size in OTHER_SIZES)]
)
@pytest.mark.parametrize("bad", [False, True])
def test_shards_end_at_the_first_bucket_after_so_many_rows_however_the_data_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int, shard: int, bad: bool
) -> None:
    """The same parts as of rows that are taken one by one, also where a bad row makes some of them be so."""
    monkeypatch.setattr(records, "BATCH", batch)
    rows = sorted([*originals(), *variants()], key=lambda row: int(row["id"][1:].partition(".")[0]))
    rows += [{"id": "x", "label": "maybe"}, {**rows[0], "id": "y", "contrast": "mine"}] if bad else []
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(tmp_path / "rows.parquet")
    source, folder = Source([str(tmp_path / "rows.parquet")], skip_bad=bad), RunFolder(tmp_path / "run")
    noted = shards.take_in(source, folder, shard)
    wanted: list[list[dict[str, Any]]] = [[]]
    for row in Source([str(tmp_path / "rows.parquet")], skip_bad=bad):
        if row["of"] is None and len(wanted[-1]) >= shard:
            wanted.append([])
        wanted[-1].append(row)
    whole = pl.concat([to_frame(some, source.chosen) for some in wanted], how="diagonal_relaxed")
    parts = [pl.read_parquet(part) for part in folder.parts("problems")]
    assert [part["id"].to_list() for part in parts] == [[row["id"] for row in some] for some in wanted]
    assert pl.concat(parts).equals(whole, null_equal=True)
    assert pl.concat(parts).schema == whole.schema
    assert (noted["rows"], noted["originals"], noted["rejected"]) == (len(whole), 18 + bad, bad)


def test_a_smaller_study_in_the_same_folder_leaves_nothing_of_the_larger(tmp_path: Path) -> None:
    large = written(originals(18), tmp_path / "large.jsonl")
    scattered = [{**row, "id": f"q{row['id']}"} for row in originals(3)]
    scattered += [{**scattered[0], "id": "v", "of": scattered[0]["id"]}]
    small = written(scattered, tmp_path / "small.jsonl")
    assert through(large, tmp_path / "run", 2)["bucket"].n_unique() == 18
    answers = through(small, tmp_path / "run", 2)
    assert set(answers["bucket"]) == {"qp0", "qp1", "qp2"}
    assert answers.equals(through(small, tmp_path / "other", 2))
    assert [len(RunFolder(tmp_path / "run").parts(stage)) for stage in ("problems", "variants", "buckets")] == [2] * 3


def asked(log: Path) -> Counter[tuple[str, ...]]:
    return Counter(tuple(json.loads(line)) for line in log.read_text(encoding="utf-8").splitlines())


def test_equal_texts_are_asked_once_over_all_shards_and_runs(tmp_path: Path, suite: Path) -> None:
    log, place = tmp_path / "log", tmp_path / "run"
    model = f"scripted(seed=5, log={log})"
    answers = through(suite, place, 4, model=model, batch_size=3)
    texts = RunFolder(place).read("buckets").filter(pl.col("check:surface").fill_null(True))
    assert asked(log) == Counter(texts.select("premise", "hypothesis").unique().iter_rows())
    assert answers.height == texts.height == stages.count_asked(RunFolder(place))
    assert through(suite, place, 17, model=model).height == answers.height
    for part in RunFolder(place).parts("answers"):
        part.unlink()
    assert through(suite, place, 4, model=model).equals(answers)
    assert set(asked(log).values()) == {1}


def test_dropped_variants_are_marked_and_not_asked(tmp_path: Path) -> None:
    log = tmp_path / "log"
    again = [{**row, "id": f"{row['id']}.same", "of": row["id"], "how": "again"} for row in originals()]
    data = written([*originals(), *again, *variants()], tmp_path / "repeated.jsonl")
    answers = through(data, tmp_path / "run", 8, model=f"scripted(log={log})")
    buckets = RunFolder(tmp_path / "run").read("buckets")
    dropped = buckets.filter(~pl.col("check:surface"))
    assert set(dropped["how"]) == {"again"}
    assert dropped.height == 18
    assert not set(dropped["id"]) & set(answers["variant"].drop_nulls())
    assert answers.height == buckets.height - dropped.height


def test_answers_of_every_shard_begin_with_the_fixed_columns(tmp_path: Path, suite: Path) -> None:
    through(suite, tmp_path / "run", 5)
    fixed = ["model", "bucket", "variant", "gold", "pred", *(f"p:{label}" for label in LABELS)]
    parts = RunFolder(tmp_path / "run").parts("answers")
    assert len(parts) > 5
    for part in parts:
        table = pl.read_parquet(part)
        assert table.columns[: len(fixed)] == fixed
        assert {"how", "cluster", "genre", "rare", "size"} <= set(table.columns)


def marks(place: Path) -> dict[str, int]:
    return {str(path.relative_to(place)): path.stat().st_mtime_ns for path in place.rglob("*.parquet")}


def test_what_is_there_is_not_made_again(tmp_path: Path, suite: Path) -> None:
    place = tmp_path / "run"
    answers, before = through(suite, place, 9), marks(place)
    assert through(suite, place, 9).equals(answers)
    assert marks(place) == before
    RunFolder(place).part("buckets", 1).unlink()  # as a killed run leaves it
    through(suite, place, 9)
    changed = {path for path, mark in marks(place).items() if before[path] != mark}
    assert changed == {"buckets/part-00001.parquet"}


@pytest.mark.parametrize("change", ["data", *(pytest.param(one, marks=pytest.mark.slow) for one in ("seed", "shard"))])
def test_what_changed_is_made_again(tmp_path: Path, suite: Path, change: str) -> None:
    place = tmp_path / "run"
    through(suite, place, 9)
    keys = {stage: [key_of(part) for part in RunFolder(place).parts(stage)] for stage in ("problems", "variants")}
    if change == "data":
        suite.write_text(suite.read_text(encoding="utf-8").replace("warm", "cosy"), encoding="utf-8")
    answers = through(suite, place, 12 if change == "shard" else 9, seed=2 if change == "seed" else 1)
    again = {stage: [key_of(part) for part in RunFolder(place).parts(stage)] for stage in keys}
    assert (again["problems"] == keys["problems"]) == (change == "seed")
    assert not set(again["variants"]) & set(keys["variants"])
    if change == "data":
        assert RunFolder(place).read("buckets")["premise"].str.contains("cosy").all()
    assert answers.height == stages.count_asked(RunFolder(place))


def test_another_choice_of_targets_makes_other_variants(tmp_path: Path) -> None:
    data, place = str(written(originals(6), tmp_path / "rows.jsonl")), tmp_path / "run"
    changed = {}
    for target in ("premise", "hypothesis"):
        task = Task("mine", ("premise", "hypothesis"), LABELS, targets=(target,))
        shards.take_in(Source([data], task), RunFolder(place), 100)
        stages.vary_shard(stages.ShardJob(str(place), 0, task, ("contractions",)))
        made = RunFolder(place).read("variants").join(RunFolder(place).read("problems"), left_on="of", right_on="id")
        changed[target] = [(made[name] != made[f"{name}_right"]).all() for name in ("premise", "hypothesis")]
    assert changed == {"premise": [True, False], "hypothesis": [False, True]}


@pytest.mark.parametrize("name", ["-", pytest.param("jsonl:-", marks=pytest.mark.slow)])
def test_standard_input_is_never_taken_for_what_it_was_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def piped(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
        text = "".join(json.dumps(row) + "\n" for row in rows)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))
        return through(name, tmp_path / "run", 4)

    first = piped(originals(6))
    other = piped({**row, "premise": row["premise"].replace("warm", "cosy")} for row in originals(6))
    folder = RunFolder(tmp_path / "run")
    assert folder.read("buckets")["premise"].str.contains("cosy").all()
    assert other["p:neutral"].to_list() != first["p:neutral"].to_list()
    assert piped(originals(6)).equals(first)


def test_bad_input_leaves_the_earlier_study_as_it_was(tmp_path: Path) -> None:
    place = tmp_path / "run"
    good = written(originals(8), tmp_path / "good.jsonl")
    bad = written([*originals(6), {**originals(7)[6], "label": "maybe"}], tmp_path / "bad.jsonl")
    through(good, place, 2)
    before = marks(place)
    with refuses(BadInput):
        shards.take_in(Source([str(bad)]), RunFolder(place), 2)
    through(good, place, 2)
    assert marks(place).keys() == before.keys()
    assert set(RunFolder(place).read("problems")["id"]) == {f"p{i}" for i in range(8)}


def test_notes_of_another_study_do_not_stay(tmp_path, jsonl):
    """As after a study that was killed between notes and variants, or a folder whose notes were removed."""
    rows = [{"id": f"p{i}", "premise": "It isn't so.", "hypothesis": "No.", "label": "neutral"} for i in range(4)]
    study = {"data": [str(jsonl(*rows))], "vary": ["contractions"], "models": ["scripted"], "shard": 2}
    folder = RunFolder(ow.run({**study, "canary": False, "cache": None}, out=tmp_path / "run").folder)
    before = {part: part.read_bytes() for stage in ("notes", "variants") for part in folder.parts(stage)}
    assert len(before) == 4
    folder.write("notes", 1, "another key", notes_table([("g.v1()", Note("p3", "left out: mine"))]))
    folder.part("notes", 0).unlink()
    done = ow.run({**study, "canary": False, "cache": None}, out=tmp_path / "run")
    assert {part: part.read_bytes() for part in before} == before
    assert not done.manifest["left_out"]


@pytest.mark.parametrize(
    ("vary", "check", "parts"),
    [
        (["contractions", "identity"], ["surface", "overlap"], 1),
        ([], [], 1),
        (["contractions", "scramble"], ["surface"], 3),
        (["contractions"], ["label-safety"], 3),
    ],
)
def test_a_plugin_that_may_be_slow_has_small_shards(tmp_path, vary, check, parts):
    """What it did of a shard is lost when a run is killed; work on columns costs next to nothing."""
    plain = {"premise": "It isn't so.", "hypothesis": "No.", "label": "neutral"}
    data = written(({"id": f"p{i}", **plain} for i in range(2 * stages.SLOW_SHARD + 1)), tmp_path / "rows.jsonl")
    for settings in ({}, {"shard": 1_500}):
        study = Study(data=[str(data)], vary=vary, check=check, models=["scripted"], **settings)
        driver = Driver(study, Source(study.data), RunFolder(tmp_path / "run"), InProcess())
        driver.take_in()
        assert driver.intake["shards"] == (3 if settings else parts)
