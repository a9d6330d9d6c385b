"""The IE test as one experiment: what is refused before training, what a cell holds, what is never done twice."""

from __future__ import annotations

import json
import shutil
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from ie_grids import answers_of, as_toml, forget_plugins, problems, results_of, settings, write_rows
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput, Busy, OtherwordsError, UnknownName
from otherwords.papers import ie_data
from otherwords.papers.experiment import opened
from otherwords.papers.ie_cells import TrainingCell, matched_rows, propose, scanned
from otherwords.papers.ie_data import IEData, prepare_data
from otherwords.papers.ie_experiment import run_ie_test
from otherwords.papers.ie_settings import read_ie_settings
from otherwords.significance.ie_test import Matched, ie_test, matched, matched_answers
from otherwords.variants.resampling import draws

DATA = Path(__file__).parents[3] / "shared" / "data" / "ie_test"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    forget_plugins(monkeypatch)
    return tmp_path


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder in which an experiment was finished as `x`, and its settings."""
    folder = tmp_path_factory.mktemp("finished")
    values = settings(folder, rho=[0.5], runs=1)
    run_ie_test(values, out=folder / "x")
    return folder, values


def cell_of(folder: Path, **about: Any) -> dict[str, Any]:
    where = {"dataset": "mine", "model": "bow", "rho": "0.50", "run": 1, **about}
    path = folder / "cells" / where["dataset"] / where["model"] / f"rho-{where['rho']}" / f"run-{where['run']}"
    return json.loads((path / "cell.json").read_text())


def changed_setting(values: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Settings with another value at a dotted path."""
    copy = json.loads(json.dumps(values))
    inner = copy
    *names, last = path.split(".")
    for name in names:
        inner = inner[name]
    inner[last] = value
    return copy


# What comes out


def test_every_cell_is_a_trained_folder_with_an_ordinary_table_of_answers(place):
    done = run_ie_test(settings(place), out="x")
    cells = sorted(one.parent.relative_to("x/cells") for one in Path("x").rglob("cell.json"))
    assert [one.as_posix() for one in cells] == [
        f"mine/bow/rho-{rho}/run-{run}" for rho in ("0.00", "0.50") for run in (1, 2)
    ]
    for one in cells:
        answers = ow.score(Path("x/cells") / one / "answers.parquet", ["accuracy_original", "flip_rate"])
        assert len(answers) == 2
    folder = Path("x/cells/mine/bow/rho-0.50/run-1")
    suite = ow.vary("test.jsonl", "contractions(field=premise)", suite=True)
    again = ow.answer(suite, f"trained:{folder}", canary=False, cache=None)
    stored = pl.read_parquet(folder / "answers.parquet")
    assert stored.select("bucket", "variant", "gold", "pred").equals(again.select("bucket", "variant", "gold", "pred"))
    assert done.results is not None
    assert done.results.decisions.height == 2
    assert done.results.runs.height == 4


def test_a_cell_counts_what_the_draw_replaced(place):
    run_ie_test(settings(place, rho=[0, 0.5, 1]), out="x")
    counts = {rho: cell_of(Path("x"), rho=rho) for rho in ("0.00", "0.50", "1.00")}
    assert [one["train_changed"] for one in counts.values()][::2] == [0, counts["1.00"]["train_rows"]]
    assert 0 < counts["0.50"]["train_changed"] < counts["0.50"]["train_rows"]
    assert {(one["test_rows"], one["test_changed"]) for one in counts.values()} == {(30, 30)}
    assert all(one["train_rows"] + one["valid_rows"] == 60 for one in counts.values())


def test_the_matched_sample_takes_an_unchanged_row_as_it_is(place):
    rows = [{**row, "premise": row["premise"].replace("isn't", "is")} if row["id"] == "p301" else row for row in problems(30, 300)]  # fmt: skip # noqa: E501
    values = settings(place)
    write_rows(place / "test.jsonl", rows)
    done = run_ie_test(values, out="x")
    assert done.data["mine"].changed["test"] == 29
    from otherwords.papers.ie_experiment import _Experiment
    from otherwords.running.engines import InProcess

    experiment = _Experiment(done.settings, Path("x"), InProcess(), False)
    experiment.data = done.data
    for cell in experiment._cells():
        found = matched_rows(cell).collect()
        same = found.filter(pl.col("id") == "p301")
        assert same["before"].to_list() == same["after"].to_list()
        assert same["changed"].to_list() == [False]
        direct = matched_answers(pl.read_parquet(Path(cell.folder) / "answers.parquet"))
        assert matched(found["before"] == found["gold"], found["after"] == found["gold"]) == direct


def test_neither_names_nor_the_order_of_rows_decide_a_draw(place):
    values = settings(place)
    run_ie_test(values, out="x")
    write_rows(place / "train.jsonl", problems(60)[::-1])
    other = {**values, "datasets": {"yours": values["datasets"]["mine"]}, "models": {"words": values["models"]["bow"]}}
    run_ie_test(other, out="y")
    names = ("seed", "train_changed", "valid_changed", "train_rows", "valid_rows")
    for rho in ("0.00", "0.50"):
        one, two = cell_of(Path("x"), rho=rho), cell_of(Path("y"), rho=rho, dataset="yours", model="words")
        assert [one[name] for name in names] == [two[name] for name in names]


def test_the_training_rows_are_drawn_once_before_anything_is_replaced(place):
    values = settings(place)
    values["datasets"]["mine"] |= {"train_size": 20, "test_size": 12}
    run_ie_test(values, out="x")
    train = pl.read_parquet("x/data/mine/train.parquet")
    assert (train.height, pl.read_parquet("x/data/mine/test.parquet").height) == (20, 12)
    assert {cell_of(Path("x"), rho=rho, run=run)["train_rows"] for rho in ("0.00", "0.50") for run in (1, 2)} == {20}
    assert train["id"].to_list() == sorted(train["id"], key=lambda one: int(one[1:]))


def test_a_validation_share_is_split_off_by_premise(place):
    run_ie_test(settings(place), out="x")
    train, valid = (pl.read_parquet(f"x/data/mine/{part}.parquet")["premise"] for part in ("train", "valid"))
    assert len(valid) >= 12
    assert not set(train) & set(valid)


def test_validation_data_can_be_named_and_be_none(place):
    values = settings(place)
    write_rows(place / "valid.jsonl", problems(9, first=900))
    run_ie_test(changed_setting(values, "datasets.mine.valid", str(place / "valid.jsonl")), out="x")
    assert cell_of(Path("x"))["valid_rows"] == 9
    run_ie_test(changed_setting(values, "datasets.mine.valid", 0.0), out="y")
    assert (cell_of(Path("y"))["valid_rows"], cell_of(Path("y"))["valid_accuracy"]) == (0, None)


def test_rows_of_one_file_are_told_apart_by_a_column(place):
    rows = [{**row, "part": part} for part, some in (("a", problems(60)), ("b", problems(30, 300))) for row in some]
    write_rows(place / "whole.jsonl", rows)
    values = settings(place)
    for part, value in (("train", "a"), ("test", ["b", "c"])):
        values["datasets"]["mine"][part] = {"data": "whole.jsonl", "where": {"part": value}}
    done = run_ie_test(values, out="x")
    assert done.data["mine"].rows["test"] == 30


def test_files_with_the_same_ids_are_read_together(place):
    values = settings(place)
    write_rows(place / "more.jsonl", [{**row, "premise": f"And {row['premise']}"} for row in problems(30)])
    values["datasets"]["mine"]["train"] = [str(place / "train.jsonl"), str(place / "more.jsonl")]
    done = run_ie_test(values, out="x")
    assert done.data["mine"].rows["train"] + done.data["mine"].rows["valid"] == 90


def test_any_task_will_do(place):
    words = {"strengthener": "likely", "weakener": "hardly"}
    rows = [
        {"premise": None, "hypothesis": f"It is {n}.", "update": f"It isn't {word} {n % 5}.", "label": label}
        for n in range(45)
        for label, word in words.items()
    ]
    write_rows(place / "d.jsonl", [{**row, "part": "train" if n < 60 else "test"} for n, row in enumerate(rows)])
    parts = {part: {"data": "d.jsonl", "where": {"part": part}} for part in ("train", "test")}
    values = settings(place, generator="contractions", datasets={"d": {**parts, "task": "d-nli"}})
    done = run_ie_test(values, out="x")
    assert done.data["d"].changed == {"train": 54, "valid": 6, "test": 30}
    assert cell_of(Path("x"), dataset="d")["test_changed"] == 30


def test_several_classifiers_of_a_sample_vote(place):
    done = run_ie_test(settings(place, votes=3, rho=[0.5], runs=1), out="x")
    folder = Path("x/cells/mine/bow/rho-0.50/run-1")
    assert sorted(one.parent.name for one in folder.rglob("answers.parquet")) == ["run-1", "vote-2", "vote-3"]
    assert done.results is not None
    assert done.results.runs.height == 1
    assert done.estimate.trainings == 3


# Never twice


def test_finished_cells_are_never_repeated(place):
    values = settings(place)
    run_ie_test(values, out="x")
    before = {
        path: (path.stat().st_mtime_ns, path.read_bytes()) for path in Path("x/cells").rglob("*") if path.is_file()
    }
    results, answers = results_of(Path("x")), answers_of(Path("x"))
    run_ie_test(values, out="x")
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in before} == before
    lost = Path("x/cells/mine/bow/rho-0.50/run-2")
    (lost / "cell.json").unlink()
    (lost / "answers.parquet").unlink()
    run_ie_test(out="x")  # the folder knows its experiment
    again = {path for path in before if path.stat().st_mtime_ns != before[path][0]}
    assert {path.parent for path in again} == {lost}
    assert (results_of(Path("x")), answers_of(Path("x"))) == (results, answers)


def test_a_half_trained_cell_is_trained_again(place):
    values = settings(place)
    run_ie_test(values, out="x")
    results = results_of(Path("x"))
    lost = Path("x/cells/mine/bow/rho-0.50/run-2")
    (lost / "begun.txt").write_text(json.loads((lost / "cell.json").read_text())["key"])
    for name in ("cell.json", "answers.parquet", "trained.json"):
        (lost / name).unlink()
    next(iter(lost.glob("weights*"))).write_bytes(b"half")
    run_ie_test(values, out="x")
    assert results_of(Path("x")) == results


def test_what_another_model_of_the_same_name_left_half_done_goes(place):
    values = settings(place, rho=[0.5], runs=1)
    more = {**values, "models": {**values["models"], "other": {"trainer": "bag_of_words(steps=9)"}}}
    run_ie_test(more, out="x")
    lost = Path("x/cells/mine/other/rho-0.50/run-1")
    (lost / "begun.txt").write_text(json.loads((lost / "cell.json").read_text())["key"])
    (lost / "cell.json").unlink()
    run_ie_test(values, out="x")  # without it
    again = {**values, "models": {**values["models"], "other": {"trainer": "bag_of_words(steps=4)"}}}
    run_ie_test(again, out="x")
    assert cell_of(Path("x"), model="other")["trainer"] == "bag_of_words.v1(penalty=1.0, steps=4)"
    assert not (lost / "begun.txt").exists()


@pytest.mark.slow
def test_an_experiment_may_grow(place):
    values = settings(place)
    run_ie_test(values, out="x")
    before = answers_of(Path("x"))
    more = {**values, "rho": [0, 0.5, 1], "runs": 3, "alpha": 0.1}
    more["models"] = {**values["models"], "longer": {"trainer": "bag_of_words(steps=9)"}}
    done = run_ie_test(more, out="x")
    assert done.estimate.trainings == 18
    assert {name: data for name, data in answers_of(Path("x")).items() if name in before} == before
    run_ie_test(more, out="y")
    assert results_of(Path("x")) == results_of(Path("y"))
    run_ie_test(values, out="x")
    run_ie_test(values, out="z")
    assert results_of(Path("x")).keys() >= results_of(Path("z")).keys()
    assert results_of(Path("x"))["runs.csv"] == results_of(Path("z"))["runs.csv"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("seed", 2),
        ("generator", "contractions"),
        ("votes", 2),
        ("models.bow.steps", 6),
        ("datasets.mine.valid", 0.3),
        ("datasets.mine.train_size", 30),
    ],
)
def test_another_experiment_in_the_folder_is_refused_with_what_differs(finished, monkeypatch, path, value):
    place, values = finished
    monkeypatch.chdir(place)
    with refuses(BadInput, where="x") as caught:
        run_ie_test(changed_setting(values, path, value), out="x")
    assert f"{path} is" in str(caught.value)


def test_other_content_of_the_data_is_another_experiment(place):
    values = settings(place, rho=[0.5], runs=1)
    run_ie_test(values, out="x")
    write_rows(place / "test.jsonl", problems(33, first=300))
    with refuses(BadInput, where="x") as caught:
        run_ie_test(values, out="x")
    assert "the data of mine is" in str(caught.value)


def test_a_folder_of_somebody_else_is_not_touched(place):
    (place / "x").mkdir()
    (place / "x" / "thesis.docx").write_text("mine")
    with refuses(BadInput, where="x"):
        run_ie_test(settings(place), out="x")
    assert [one.name for one in (place / "x").iterdir()] == ["thesis.docx"]


@pytest.mark.slow
def test_processes_give_the_same_bytes(place):
    values = settings(place)
    run_ie_test(values, out="x")
    run_ie_test(values, out="y", engine="processes:2")
    assert results_of(Path("x")) == results_of(Path("y"))
    assert answers_of(Path("x")) == answers_of(Path("y"))


# Refused before any training


@pytest.mark.parametrize(
    ("path", "value", "kind"),
    [
        ("rho", [0.5, 1.5], BadInput),
        ("rho", [-0.1], BadInput),
        ("rho", [], BadInput),
        ("rho", ["x"], BadInput),
        ("rho", [True], BadInput),
        ("runs", 0, BadInput),
        ("alpha", 1.0, BadInput),
        ("votes", 0, BadInput),
        ("votes", True, BadInput),
        ("generator", "identity", BadInput),
        ("generator", "no-such", UnknownName),
        ("generator", "wordnet(n=x)", BadInput),
        ("models", {}, BadInput),
        ("models.bow.trainer", "no-such", UnknownName),
        ("models.bow.stepps", 5, UnknownName),
        ("models.bow.steps", 0, BadInput),
        ("models.bow", {"trainer": "masked-lm(start=x)"}, BadInput),
        ("models.../x", {"trainer": "bag_of_words"}, BadInput),
        ("baseline", "no-such", BadInput),
        ("datasets", {}, BadInput),
        ("datasets.mine.train", "no-such.jsonl", OtherwordsError),
        ("datasets.mine.test", [], BadInput),
        ("datasets.mine.valid", 1.0, BadInput),
        ("datasets.mine.valid", "no-such.jsonl", OtherwordsError),
        ("datasets.mine.tset", "test.jsonl", BadInput),
        ("datasets.mine.train", {"data": "train.jsonl", "where": {"split": "x"}}, BadInput),
        ("datasets.mine.train", {"data": "train.jsonl", "where": {"label": "x"}}, BadInput),
        ("datasets.mine.train_size", 1, BadInput),
        ("datasets.mine.test_size", 7, BadInput),
        ("datasets.mine.verdicts", {"test": "no-such.csv"}, BadInput),
        ("datasets.mine.verdicts", {"dev": "train.jsonl"}, BadInput),
        ("replicates", 100, BadInput),
        ("nonsense", 1, BadInput),
    ],
)
def test_what_cannot_work_is_refused_before_any_training(place, path, value, kind):
    values = settings(place, runs=5)
    if "/" in path:
        values["models"]["../x"] = value
    else:
        values = changed_setting(values, path, value)
    with refuses(kind):
        run_ie_test(values, out="x")
    assert not (place / "x").exists()


def test_after_a_refusal_the_folder_can_be_used(place):
    with refuses(BadInput):
        run_ie_test(settings(place, generator="identity"), out="x")
    run_ie_test(settings(place), out="x")


def test_a_transformation_that_changes_no_row_of_the_test_set_is_refused(place):
    values = settings(place)
    write_rows(place / "test.jsonl", [{**row, "premise": "It is late."} for row in problems(30, 300)])
    with refuses(BadInput, where="datasets.mine"):
        run_ie_test(values, out="x")


def test_a_trainer_that_returns_nan_is_named_and_the_others_stay(place):
    (place / "broken.py").write_text(
        "from dataclasses import dataclass\nfrom typing import ClassVar\nfrom otherwords.registry import trainers\n\n"
        "@trainers('broken.v1')\n@dataclass(frozen=True)\nclass Broken:\n    '''Learns nothing.'''\n"
        "    answers_as: ClassVar[str] = 'scripted'\n"
        "    def fit(self, data, folder, seed):\n        return {'valid_accuracy': float('nan')}\n"
    )
    values = settings(place, plugins=["broken.py"], rho=[0.5], runs=1)
    values["models"]["worse"] = {"trainer": "broken"}
    with refuses(BadInput) as caught:
        run_ie_test(values, out="x")
    assert "broken.v1" in str(caught.value)
    assert cell_of(Path("x"))["run"] == 1


def test_rows_that_teach_nothing_are_refused_with_their_data_set(place):
    with refuses(BadInput, where="datasets.mine", field="data"):
        run_ie_test(changed_setting(settings(place), "datasets.mine.train_size", 1), out="x")


@pytest.mark.parametrize("engine", ["in-process", "processes:2"])
def test_a_gpu_that_is_not_there_is_refused_before_any_training(place, engine):
    (place / "gpu.py").write_text(
        "from dataclasses import dataclass\nfrom typing import ClassVar\nfrom otherwords.errors import BadInput\n"
        "from otherwords.registry import trainers\n\n"
        "@trainers('on-gpu.v1')\n@dataclass(frozen=True)\nclass OnGPU:\n    '''Needs a GPU.'''\n"
        "    answers_as: ClassVar[str] = 'bag_of_words'\n"
        "    def refuse_unready(self):\n"
        "        raise BadInput('there is no GPU', where='on-gpu', field='device', fix='give cpu')\n"
        "    def fit(self, data, folder, seed):\n        return {'valid_accuracy': 1.0}\n"
    )
    values = settings(place, plugins=["gpu.py"])
    values["models"]["second"] = {"trainer": "on-gpu"}
    with refuses(BadInput, field="models.second"):
        run_ie_test(values, out="x", engine=engine)
    assert not (place / "x").exists()


def test_a_rewording_without_text_is_refused_before_any_training(place):
    (place / "mine.py").write_text("def nothing(problem):\n    return problem.restate(premise=' ')\n")
    with refuses(BadInput, where="datasets.mine", field="premise"):
        run_ie_test(settings(place, generator="python:mine.py:nothing"), out="x")
    assert not (place / "x").exists()


def test_a_folder_that_was_there_stays_after_a_refusal(place):
    (place / "x").mkdir()
    with refuses(BadInput):
        run_ie_test(settings(place, generator="identity"), out="x")
    assert list((place / "x").iterdir()) == []


def test_a_scan_is_not_a_dry_run(place):
    with refuses(BadInput, field="dry_run"):
        run_ie_test(settings(place), out="x", scan=True, dry_run=True)
    assert not (place / "x").exists()


def test_values_of_rho_that_differ_by_rounding_are_one(place):
    done = run_ie_test(settings(place, rho=[0.3, 0.1 + 0.2], runs=1), out="x")
    assert done.settings.rho == [0.3]
    assert str(read_ie_settings(settings(place, rho=[-0.0, 0]), Path("y")).rho) == "[0.0]"
    assert done.results is not None
    assert done.results.runs.height == 1


# Damage


def copied(finished: tuple[Path, dict[str, Any]], place: Path) -> tuple[Path, dict[str, Any]]:
    shutil.copytree(finished[0] / "x", place / "x")
    return place / "x", finished[1]


DAMAGED = [("prepared.json", "{}"), ("train.parquet", "hello"), ("test.variants.parquet", "")]
ALSO_DAMAGED = [
    ("prepared.json", ""), ("prepared.json", "[1]"), ("valid.variants.parquet", ""), ("test.parquet", "hello"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("file", "content"), [*DAMAGED, *(pytest.param(*one, marks=pytest.mark.slow) for one in ALSO_DAMAGED)]
)
def test_damaged_data_are_prepared_again(finished, place, file, content):
    folder, values = copied(finished, place)
    (folder / "data" / "mine" / file).write_text(content)
    run_ie_test(values, out=folder)
    assert results_of(folder) == results_of(finished[0] / "x")


def test_data_whose_preparation_was_cut_short_are_prepared_again(place, monkeypatch):
    """Its parts may be of two preparations, and none of them is damaged."""
    values = settings(place)["datasets"]["mine"]
    folder, phi = place / "mine", "contractions(field=premise)"
    prepare_data("mine", IEData(**values), phi, 1, folder)
    whole = {path.name: path.read_bytes() for path in folder.glob("*.parquet")}

    def stopped(folder, part, *given):
        if part == "test":
            raise KeyboardInterrupt
        return write(folder, part, *given)

    write = ie_data._write_part
    monkeypatch.setattr(ie_data, "_write_part", stopped)
    with pytest.raises(KeyboardInterrupt):
        prepare_data("mine", IEData(**{**values, "train_size": 9}), phi, 1, folder)
    monkeypatch.setattr(ie_data, "_write_part", write)
    prepare_data("mine", IEData(**values), phi, 1, folder)
    assert {path.name: path.read_bytes() for path in folder.glob("*.parquet")} == whole


@pytest.mark.parametrize(
    "content", ["", "{}", *(pytest.param(one, marks=pytest.mark.slow) for one in ("hello", "[1]"))]
)
def test_a_cell_that_cannot_be_read_is_done_again(finished, place, content):
    folder, values = copied(finished, place)
    (folder / "cells/mine/bow/rho-0.50/run-1/cell.json").write_text(content)
    run_ie_test(values, out=folder)
    assert results_of(folder) == results_of(finished[0] / "x")


def test_damaged_answers_are_named(finished, place):
    folder, values = copied(finished, place)
    path = folder / "cells/mine/bow/rho-0.50/run-1/answers.parquet"
    path.write_bytes(path.read_bytes()[:100])
    with refuses(BadInput, where=str(path)):
        run_ie_test(values, out=folder)
    path.unlink()
    with refuses(BadInput, where=str(path)):
        run_ie_test(values, out=folder)
    shutil.rmtree(path.parent)
    run_ie_test(values, out=folder)
    assert results_of(folder) == results_of(finished[0] / "x")


def test_training_rows_that_are_test_rows_are_warned_of(place):
    values = settings(place)
    write_rows(place / "test.jsonl", [*problems(30, 300), *problems(3)])
    with pytest.warns(UserWarning, match=r"mine: 3 of \d+ rows to train on have the texts of a row of the test set"):
        run_ie_test(changed_setting(values, "datasets.mine.valid", 0.0), out="x")


# Judges


def test_changed_pairs_are_drawn_for_judges_and_their_verdicts_are_used(place):
    values = settings(place, judge=10)
    run_ie_test(values, out="x")
    run_ie_test(settings(place, judge=10), out="y")
    for part in ("train", "test"):
        sheet = Path(f"x/to-judge/mine-{part}.csv")
        drawn = pl.read_csv(sheet)
        assert drawn.columns == ["id", "label", "premise", "premise_after", "hypothesis", "hypothesis_after", "verdict"]
        assert drawn.height == drawn["id"].n_unique() == 10
        assert (drawn["premise"] != drawn["premise_after"]).all()
        assert drawn["verdict"].null_count() == 10
        assert sheet.read_bytes() == Path(f"y/to-judge/mine-{part}.csv").read_bytes()
    verdicts = ["yes"] * 7 + ["no"] * 2 + [None]
    judged = pl.read_csv("x/to-judge/mine-test.csv").with_columns(pl.Series("verdict", verdicts))
    judged.write_csv("x/to-judge/mine-test.csv")
    done = run_ie_test(values, out="x")
    assert done.results is not None
    assert done.results.settings.sound == {"mine": {"test": (7, 9)}}
    assert pl.read_csv("x/to-judge/mine-test.csv")["verdict"].to_list() == verdicts
    judged.write_csv("elsewhere.csv")
    named = changed_setting(values, "datasets.mine.verdicts", {"train": "elsewhere.csv"})
    with refuses(BadInput, where="elsewhere.csv"):
        run_ie_test(named, out="x")


@pytest.mark.parametrize("table", ["id,verdict\np300~1,\n", "id,verdict\nnobody,yes\n", "id,verdict\np300~1,maybe\n"])
def test_wrong_tables_of_verdicts_are_refused_before_any_training(place, table):
    Path("v.csv").write_text(table)
    with refuses(BadInput):
        run_ie_test(changed_setting(settings(place), "datasets.mine.verdicts", {"test": "v.csv"}), out="x")
    assert not Path("x").exists()


# Scan, estimate, quick


def test_a_dry_run_counts_and_keeps_the_first_training_of_each_model(place):
    values = settings(place, runs=3)
    values["models"]["other"] = {"trainer": "bag_of_words(steps=7)"}
    done = run_ie_test(values, out="x", dry_run=True)
    assert (done.estimate.trainings, done.estimate.done) == (12, 2)
    assert done.estimate.seconds > 0
    assert done.results is None
    first = answers_of(Path("x"))
    assert len(first) == 2
    again = run_ie_test(values, out="x", dry_run=True)
    assert again.estimate.done == 2
    assert answers_of(Path("x")) == first
    run_ie_test(values, out="x")
    assert {name: data for name, data in answers_of(Path("x")).items() if name in first} == first


def test_a_scan_tries_many_values_and_proposes_some(place):
    done = run_ie_test(settings(place), out="x", scan=True, quick=True)
    [found] = done.scans
    assert found.table["rho"].to_list() == [step / 10 for step in range(11)]
    assert pl.read_csv("x/results/scan.csv").columns == ["dataset", "rho", "smallest_p", "rejected"]
    assert Path("x/results/scan.svg").read_text().startswith("<svg")
    assert found.proposed[0] == 0
    assert found.proposed[-1] == 1


def test_in_a_scan_the_classifiers_of_a_sample_vote(place):
    """Of eight problems, three classifiers lose four each, but only two by a majority: they are no 24 problems."""
    lost = ({0, 1, 2, 3}, {0, 1, 4, 5}, {0, 1, 6, 7})
    for vote, some in enumerate(lost, 1):
        folder = place / "run-1" / ("" if vote == 1 else f"vote-{vote}")
        folder.mkdir(parents=True, exist_ok=True)
        rows = [
            {"bucket": f"p{n}", "variant": wording, "gold": "yes", "cluster": f"p{n}", "pred": answer}
            for n in range(8)
            for wording, answer in ((None, "yes"), (f"p{n}-1", "no" if n in some else "yes"))
        ]
        pl.DataFrame(rows, infer_schema_length=None).write_parquet(folder / "answers.parquet")
    cell = TrainingCell(str(place / "run-1"), "key", "", "mine", "bow", "bag_of_words", 0.5, 1, 1, votes=3)
    [smallest] = scanned([cell], 0.05).table["smallest_p"]
    assert smallest == ie_test(Matched(8, 8, 2, 0), null="exact", tails="inclusive").p


def test_a_scan_needs_a_cheap_model(place):
    (place / "dear.py").write_text(
        "from dataclasses import dataclass\nfrom typing import ClassVar\nfrom otherwords.registry import trainers\n\n"
        "@trainers('dear.v1')\n@dataclass(frozen=True)\nclass Dear:\n    '''Costs much.'''\n"
        "    answers_as: ClassVar[str] = 'scripted'\n"
        "    def fit(self, data, folder, seed):\n        return {}\n"
    )
    values = settings(place, plugins=["dear.py"], models={"dear": {"trainer": "dear"}})
    with refuses(BadInput, field="baseline"):
        run_ie_test(values, out="x", scan=True)


def test_the_authors_scan_leads_to_the_papers_values():
    path = DATA / "authors_results.parquet"
    if not path.exists():
        pytest.skip("needs the authors' results")
    runs = pl.read_parquet(path).filter(~pl.col("extra"), pl.col("model") == "xgb", pl.col("dataset") == "snli")
    smallest = runs.group_by(pl.col("rho_dir").round(2).alias("rho")).agg(pl.col("paired_t_p_value").min()).sort("rho")
    proposed, accepted = propose(smallest["rho"].to_list(), (smallest["paired_t_p_value"] < 0.01).to_list())
    assert accepted is not None
    assert accepted[0] <= 0.45
    assert accepted[1] >= 0.55
    assert len(proposed) == 7


def test_quick_is_small(place):
    values = settings(place)
    values["datasets"]["mine"]["train_size"] = 5000
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small = read_ie_settings(values, Path("x"), quick=True)
    assert (small.rho, small.runs) == ([0.0, 0.5, 1.0], 2)
    assert (small.datasets["mine"].train_size, small.datasets["mine"].test_size) == (2000, 1000)


def test_the_bundled_experiment_can_be_read():
    bundled = read_ie_settings(None, Path("nowhere"))
    assert list(bundled.datasets) == ["everyday"]
    assert {model.trainer for model in bundled.models.values()} == {"bag_of_words", "boosted"}


def test_draws_of_sizes_and_of_samples_are_independent_of_one_another():
    names = [f"p{n}" for n in range(4000)]
    one, two = (draws(names, seed) < 0.5 for seed in (1, 2))
    assert abs((one == two).mean() - 0.5) < 0.04


# Search


def with_search(values: dict[str, Any], **more: Any) -> dict[str, Any]:
    Path("space.toml").write_text("steps = [3, 5, 8]\npenalty = [0.1, 1.0]\n")
    return {**values, "models": {"bow": {"trainer": "bag_of_words", "search": 3, "space": "space.toml", **more}}}


def test_options_are_searched_once_per_model_and_data_set(place):
    values = with_search(settings(place))
    done = run_ie_test(values, out="x")
    trials = pl.read_csv("x/search/mine/bow/trials.csv")
    assert trials.height == 3
    chosen = trials.filter(pl.col("chosen") == "yes").row(0, named=True)
    for rho in ("0.00", "0.50"):
        for run in (1, 2):
            signature = f"bag_of_words.v1(penalty={chosen['penalty']}, steps={chosen['steps']})"
            assert cell_of(Path("x"), rho=rho, run=run)["trainer"] == signature
    assert done.estimate.trainings == done.estimate.done == 4 + 3
    assert done.results is not None
    assert done.results.settings.spaces == {"bow": {"penalty": "[0.1, 1.0]", "steps": "[3, 5, 8]"}}
    before, trial = results_of(Path("x")), Path("x/search/mine/bow/trial-001/trial.json").stat().st_mtime_ns
    run_ie_test(values, out="x")
    assert results_of(Path("x")) == before
    assert Path("x/search/mine/bow/trial-001/trial.json").stat().st_mtime_ns == trial


SEARCHED = list(product(["cell.json", "trial-001/trial.json"], ["", "{broken", "[1]", "{}"]))


@pytest.mark.parametrize(
    ("name", "content"),
    [pytest.param(*one, marks=() if one in (SEARCHED[0], SEARCHED[-1]) else pytest.mark.slow) for one in SEARCHED],
)
def test_damaged_files_of_a_search_are_made_again(place, name, content):
    values = with_search(settings(place, rho=[0.5], runs=1))
    run_ie_test(values, out="x")
    before = results_of(Path("x"))
    for cell in Path("x").rglob("cell.json"):
        cell.unlink()
    (Path("x/search/mine/bow") / name).write_text(content)
    run_ie_test(values, out="x", dry_run=True)
    run_ie_test(values, out="x")
    assert results_of(Path("x")) == before


def test_options_are_searched_inside_every_sample(place):
    values = with_search(settings(place), search_inside=True)
    done = run_ie_test(values, out="x")
    tables = sorted(Path("x/cells").rglob("trials.csv"))
    assert len(tables) == 4
    for table in tables:
        chosen = pl.read_csv(table).filter(pl.col("chosen") == "yes").row(0, named=True)
        cell = json.loads((table.parents[1] / "cell.json").read_text())
        assert cell["trainer"] == f"bag_of_words.v1(penalty={chosen['penalty']}, steps={chosen['steps']})"
    assert done.estimate.trainings == 4 * (1 + 3)
    assert not list(Path("x").rglob("trial-*/weights*"))


@pytest.mark.parametrize("inside", [False, True])
def test_another_space_in_the_same_file_is_another_experiment(place, inside):
    Path("space.toml").write_text("steps = [1, 2]\n")
    searched = {"trainer": "bag_of_words", "search": 1, "search_inside": inside, "space": "space.toml"}
    values = settings(place, models={"bow": searched}, rho=[0.5], runs=1)
    run_ie_test(values, out="x")
    run_ie_test(values, out="x")
    Path("space.toml").write_text("steps = [3, 4]\n")
    with refuses(BadInput, where="x"):
        run_ie_test(values, out="x")


def test_a_dry_run_with_a_search_does_its_first_trial(place):
    values = with_search(settings(place))
    done = run_ie_test(values, out="x", dry_run=True)
    assert (done.estimate.trainings, done.estimate.done) == (7, 0)
    assert done.estimate.seconds > 0
    assert sorted(one.name for one in Path("x/search/mine/bow").glob("trial-*")) == ["trial-001"]
    assert not Path("x/cells").exists()
    trial = Path("x/search/mine/bow/trial-001/trial.json").read_bytes()
    run_ie_test(values, out="x")
    assert Path("x/search/mine/bow/trial-001/trial.json").read_bytes() == trial


@pytest.mark.parametrize(
    ("path", "value"), [("models.bow.space", "no-such"), ("models.bow.search", -1), ("datasets.mine.valid", 0.0)]
)
def test_a_wrong_search_is_refused_before_any_training(place, path, value):
    with refuses(BadInput):
        run_ie_test(changed_setting(with_search(settings(place)), path, value), out="x")
    assert not list(place.rglob("cells"))
    assert not list(place.rglob("search"))


# How settings may be written


def test_one_of_several_needs_no_list(place):
    values = settings(place, rho=0.5, plugins="mine.py", models={"bow": "bag_of_words"})
    read = read_ie_settings(values, Path("x"))
    assert (read.rho, read.plugins, read.models["bow"].trainer) == ([0.5], ["mine.py"], "bag_of_words")


@pytest.mark.parametrize("spec", ["nli", "nli(epochs=1)"])
def test_the_old_name_of_a_trainer_works_in_experiments_as_in_train(place, spec):
    encoder = {"trainer": spec, "start": "encoder"}
    read = [read_ie_settings(settings(place, models={"m": {**encoder, "trainer": name}}), Path("x"))
            for name in (spec, spec.replace("nli", "encoder"))]  # fmt: skip
    assert read[0] == read[1]
    assert read[0].models["m"].spec.startswith("encoder.v1(")


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("runs", 2.5, "runs"),
        ("seed", "x", "seed"),
        ("generator", 3, "generator"),
        ("datasets", "everyday", "datasets"),
        ("datasets.mine.train", 5, "datasets.mine.train"),
        ("datasets.mine.train", {"data": "a", "where": "b"}, "datasets.mine.train.where"),
        ("datasets.mine.valid", {"data": "a", "wher": {}}, "datasets.mine.valid.wher"),
        ("datasets.mine.valid", [], "datasets.mine.valid.data"),
        ("datasets.mine.task", 5, "datasets.mine.task"),
        ("models.bow", {}, "models.bow.trainer"),
        ("models.bow.search", "x", "models.bow.search"),
        ("seed", "7", "seed"),
        ("seed", True, "seed"),
        ("datasets.mine.train_size", True, "datasets.mine.train_size"),
        ("datasets.mine.test_size", 5.0, "datasets.mine.test_size"),
    ],
)
def test_a_value_of_the_wrong_kind_is_named_with_its_place(place, path, value, field):
    with refuses(BadInput, field=field):
        read_ie_settings(changed_setting(settings(place), path, value), Path("x"))


def test_a_wrong_rho_is_named_where_it_stands(place):
    Path("x.toml").write_text(as_toml(settings(place, rho=[0.5, 1.5])))
    with refuses(BadInput, where="x.toml", field="rho"):
        run_ie_test("x.toml", out="x")
    with refuses(BadInput, where="", field="rho"):
        run_ie_test(settings(place), out="x", rho=[2.0])


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        ("generator", "no-such", "generator"),
        ("datasets.mine.generator", "wordnet(n=x)", "datasets.mine.generator"),
        ("datasets.mine.train", "no-such.jsonl", "datasets.mine"),
        ("models.bow.trainer", "no-such", "models.bow"),
        ("models.bow.steps", 0, "models.bow"),
        ("datasets.mine.train_size", 1, "datasets.mine"),
    ],
)
def test_what_cannot_be_made_is_named_with_its_file_and_setting(place, path, value, key):
    (place / "x.toml").write_text(as_toml(changed_setting(settings(place), path, value)))
    with pytest.raises(OtherwordsError) as raised:
        run_ie_test("x.toml", out="x")
    assert str(raised.value).startswith(f"x.toml: {key}: ")
    assert not Path("x").exists()


def test_an_option_that_is_wrong_is_not_looked_for_in_the_file(place):
    Path("x.toml").write_text(as_toml(settings(place)))
    with refuses(BadInput, where="", field="runs"):
        run_ie_test("x.toml", out="x", runs=0)


def test_a_data_set_that_cannot_be_split_is_named(place):
    with refuses(BadInput, where="datasets.mine", field="valid"):
        run_ie_test(changed_setting(settings(place), "datasets.mine.valid", 0.999), out="x")


def test_the_page_shows_what_the_results_have():
    docs = Path(__file__).parents[2] / "docs"
    page = (docs / "ie-test.md").read_text(encoding="utf-8").partition("## SNLI")[2]
    shown = [line.strip("| ").split(" | ")[:6] for line in page.splitlines() if line[:3] in ("| 0", "| 1")]
    found = pl.read_csv(docs / "results" / "ie-test" / "decisions.csv").sort("rho")
    columns = ("rho", "accuracy_before", "accuracy_after", "smallest_p", "rejected")
    expected = [
        [f"{rho:g}", *(f"{100 * one:.1f}" for one in (a, b, a - b)), f"{p:.3f}", "differ" if rejected else "–"]
        for rho, a, b, p, rejected in found.select(columns).iter_rows()
    ]
    assert shown == expected


def test_the_settings_of_the_page_can_be_read():
    read = read_ie_settings(Path(__file__).parents[2] / "docs" / "results" / "ie-test" / "snli.toml", Path("x"))
    assert (len(read.rho), read.runs, read.models["boosted"].spec) == (11, 5, "boosted.v1(colsample=0.95)")


def test_one_process_at_a_time_works_on_a_folder(place):
    values = settings(place)
    with opened(Path("x")), refuses(Busy):
        run_ie_test(values, out="x")
    run_ie_test(values, out="x", dry_run=True)


@pytest.mark.slow
def test_a_scan_searches_for_the_options_of_its_baseline_first(place):
    done = run_ie_test(with_search(settings(place, runs=1)), out="x", scan=True, quick=False, rho=[0.5])
    assert Path("x/search/mine/bow/trials.csv").is_file()
    assert done.scans[0].table.height == 101


@pytest.mark.slow
def test_an_encoder_is_trained_in_cells_like_any_other(place):
    pytest.importorskip("transformers", reason="needs the extra `train`")
    import tiny_models

    start = tiny_models.save(tiny_models.build("bert"), place / "start", tiny_models.word_tokenizer())
    encoder = {"trainer": "encoder", "start": str(start), "epochs": 1, "batch": 16, "device": "cpu"}
    done = run_ie_test(settings(place, rho=[0.5], runs=2, models={"tiny": encoder}), out="x")
    assert done.results is not None
    assert done.results.runs["trainer"][0].startswith("encoder.v1(")
    run_ie_test(settings(place, rho=[0.5], runs=2, models={"tiny": encoder}), out="y", engine="processes:2")
    assert answers_of(Path("x")) == answers_of(Path("y"))
