"""From a recipe to a model: prepared, resumed, refused where something else is there; teachers; a bare machine."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from refusals import refuses
from safetensors.torch import load_file
from transformers import BertForSequenceClassification

from otherwords import training
from otherwords.errors import BadInput, Busy, OtherwordsError
from otherwords.models.huggingface import hf
from otherwords.models.model import Answerer
from otherwords.models.trained import read_trained
from otherwords.problem import TASKS, Batch
from otherwords.registry import load_plugins, trainers
from otherwords.storage.files import lock_folder
from otherwords.training import making
from otherwords.training.data import TrainingData, TrainingRow
from otherwords.training.history import describe, draw
from otherwords.training.making import fit, train
from otherwords.training.objectives import read_examples
from otherwords.training.prepared import prepared_settings, train_prepared
from otherwords.training.settings import TrainingSettings

from .conftest import LABELS, problems, save_model, save_tokenizer, toy_rows

SRC = Path(making.__file__).parents[2]


@pytest.fixture
def recipe(encoder, tmp_path):
    data = [problems(tmp_path / "one.jsonl", toy_rows(80)), problems(tmp_path / "two.jsonl", toy_rows(80, seed=2))]
    usual = {"epochs": 2, "batch": 16, "max_length": 16, "learning_rate": 3e-3, "device": "cpu"}
    return {"start": str(encoder), "data": data, "valid": 0.2, **usual}


def content(folder):
    return {path.name: path.read_bytes() for path in sorted((folder / "data").iterdir()) if path.name != ".lock"}


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_two_data_sets_become_a_model(recipe, tmp_path):
    result = train(recipe, out=tmp_path / "m")
    assert result.counts["train"] + result.counts["valid"] == 160
    assert 32 <= result.counts["valid"] < 45  # a fifth, and the rest of the last premise
    rows = {side: lines(tmp_path / "m" / "data" / f"{side}.jsonl") for side in ("train", "valid")}
    assert sorted(rows["train"] + rows["valid"]) == sorted(toy_rows(80) + toy_rows(80, seed=2))
    assert not {row[0] for row in rows["train"]} & {row[0] for row in rows["valid"]}
    assert result.figures == lines(tmp_path / "m" / "log.jsonl")[-1] or result.figures["epoch"] == 1
    teacher = Answerer("m", "m", hf(str(tmp_path / "m"), device="cpu"), TASKS["nli"])
    batch = Batch(TASKS["nli"], {"premise": ["a dog runs"], "hypothesis": ["no dog runs"]})
    assert teacher(batch).p.shape == (1, 3)


def test_the_same_recipe_makes_the_same_bytes(recipe, tmp_path, encoder):
    chosen = {**recipe, "teachers": ["t"], "recombine": 60, "without": [problems(tmp_path / "t.jsonl", toy_rows(3, 9))]}
    train(chosen, out=tmp_path / "here", prepare_only=True)
    call = f"train({chosen!r}, out={str(tmp_path / 'there')!r}, prepare_only=True)"
    code = f"from otherwords.training.making import train; {call}"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": "5"}, check=True)
    assert content(tmp_path / "here") == content(tmp_path / "there")
    assert {"counts.json", "left-out.jsonl", "origin.json", "settings.json", "train.jsonl", "valid.jsonl"} == set(
        content(tmp_path / "here")
    )


def test_other_seeds_learn_from_the_same_rows(recipe, tmp_path):
    for seed in (1, 2):
        train(recipe, out=tmp_path / f"{seed}", prepare_only=True, seed=seed)
    train(recipe, out=tmp_path / "other", prepare_only=True, data_seed=2)
    one, two, other = (content(tmp_path / name) for name in ("1", "2", "other"))
    assert one["valid.jsonl"] == two["valid.jsonl"] != other["valid.jsonl"]
    assert one["settings.json"] != two["settings.json"]


def test_prepared_here_and_carried_out_there_is_the_same(recipe, tmp_path):
    train(recipe, out=tmp_path / "at-once")
    train(recipe, out=tmp_path / "later", prepare_only=True)
    train_prepared(tmp_path / "later")
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in ("at-once", "later"))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_an_unfinished_training_is_resumed_and_a_finished_one_is_left(recipe, tmp_path):
    train(recipe, out=tmp_path / "m", prepare_only=True)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "m" / "data").iterdir()}
    first = train(recipe, out=tmp_path / "m")
    weights = (tmp_path / "m" / "model.safetensors").stat().st_mtime_ns
    assert train(recipe, out=tmp_path / "m") == replace(first, before=True)
    assert (tmp_path / "m" / "model.safetensors").stat().st_mtime_ns == weights
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())


@pytest.mark.parametrize(
    "changes", [{"learning_rate": 1e-4}, {"valid": 0.3, "seed": 4}, {"teachers": ["t"]}], ids=", ".join
)
def test_another_training_in_the_same_place_is_refused(recipe, tmp_path, changes):
    train(recipe, out=tmp_path / "m", prepare_only=True)
    with refuses(BadInput, where=str(tmp_path / "m")) as refusal:
        train({**recipe, **changes}, out=tmp_path / "m")
    assert all(f"{name} is " in str(refusal.value) for name in changes)


def test_changed_data_under_the_same_name_is_refused(recipe, tmp_path):
    train(recipe, out=tmp_path / "m", prepare_only=True)
    problems(tmp_path / "two.jsonl", toy_rows(80, seed=3))
    with refuses(BadInput):
        train(recipe, out=tmp_path / "m")


@pytest.mark.parametrize("name", ["data/train.jsonl", "data/mine.csv"])
def test_data_of_somebody_else_in_the_folder_are_left_alone(recipe, tmp_path, name):
    (tmp_path / "project" / "data").mkdir(parents=True)
    (tmp_path / "project" / name).write_text("mine")
    with refuses(BadInput, where=str(tmp_path / "project")):
        train(recipe, out=tmp_path / "project", prepare_only=True)
    assert [path.read_text() for path in (tmp_path / "project" / "data").iterdir()] == ["mine"]


def test_a_folder_with_something_else_is_left_alone(recipe, tmp_path, encoder):
    """Above all the start: its weights would pass for a finished training's."""
    occupied = Path(shutil.copytree(encoder, tmp_path / "occupied"))
    before = sorted(path.name for path in occupied.iterdir())
    with refuses(BadInput, where=str(occupied)):
        train({**recipe, "start": str(occupied)}, out=occupied)
    assert sorted(path.name for path in occupied.iterdir()) == before
    (tmp_path / "file").write_text("")
    with refuses(BadInput, where=str(tmp_path / "file")):
        train(recipe, out=tmp_path / "file")


def test_data_half_written_is_written_again(recipe, tmp_path):
    train(recipe, out=tmp_path / "whole", prepare_only=True)
    train(recipe, out=tmp_path / "half", prepare_only=True)
    (tmp_path / "half" / "data" / "settings.json").unlink()  # it comes last
    (tmp_path / "half" / "data" / "train.jsonl").write_text("[")
    train(recipe, out=tmp_path / "half", prepare_only=True)
    assert content(tmp_path / "half") == content(tmp_path / "whole")


def test_two_processes_do_not_train_the_same(recipe, tmp_path):
    train(recipe, out=tmp_path / "m", prepare_only=True)
    with lock_folder(tmp_path / "m", tmp_path / "m" / "data" / ".lock"), refuses(Busy):
        train(recipe, out=tmp_path / "m")
    assert train(recipe, out=tmp_path / "m").figures


def test_what_another_process_is_preparing_is_left_to_it(recipe, tmp_path):
    """Reading the data may take minutes, in which the same command is easily given twice."""
    data = tmp_path / "m" / "data"
    data.mkdir(parents=True)
    with lock_folder(tmp_path / "m", data / ".lock"):
        (data / "left-out.jsonl").write_text("")
        with refuses(Busy):
            train({"data": recipe["data"]}, "bag_of_words", out=tmp_path / "m")
        assert (data / "left-out.jsonl").read_text() == ""
    (data / "left-out.jsonl").unlink()  # it was killed before it wrote anything
    assert train({"data": recipe["data"]}, "bag_of_words", out=tmp_path / "m").figures


def test_settings_changed_by_hand_are_noticed(recipe, tmp_path):
    train(recipe, out=tmp_path / "m", prepare_only=True)
    path = tmp_path / "m" / "data" / "settings.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "epochs": 9}))
    with refuses(BadInput):
        train(recipe, out=tmp_path / "m")


def test_what_is_left_out_is_kept(recipe, tmp_path):
    odd = problems(tmp_path / "odd.jsonl", [["a dog runs", "a dog runs", "-"], ["", "a", "neutral"], *toy_rows(5, 7)])
    test = problems(tmp_path / "test.jsonl", toy_rows(1))
    result = train({**recipe, "data": [*recipe["data"], odd], "without": [test]}, out=tmp_path / "m", prepare_only=True)
    counts = result.counts["left_out"]
    assert (counts["empty text"], counts["no majority label"]) == (1, 1)
    assert counts["shares a text with `without`"] == 167 - 2 - result.counts["train"] - result.counts["valid"] > 0
    kept = lines(tmp_path / "m" / "data" / "left-out.jsonl")
    assert len(kept) == sum(counts.values()) - 1  # of rows without a majority label, only the number is known
    seen = {text.casefold() for text in toy_rows(1)[0][:2]}
    assert all(seen & set(row["texts"]) for row in kept if "texts" in row)


def test_a_label_that_reads_like_a_message_is_an_error_like_any_other_wrong_one(recipe, tmp_path):
    odd = problems(tmp_path / "odd.jsonl", [["a dog runs", "a dog runs", "found an empty text"], *toy_rows(9)])
    with refuses(BadInput):
        train({"data": [odd]}, "bag_of_words", out=tmp_path / "m")


def test_other_tasks_have_other_labels(recipe, tmp_path):
    rows = [[*row[:2], "entailed" if row[2] == "entailment" else "not-entailed"] for row in toy_rows(60)]
    chosen = {**recipe, "data": [problems(tmp_path / "rte.jsonl", rows)], "task": "rte", "epochs": 1}
    train(chosen, out=tmp_path / "m")
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    assert config["id2label"] == {"0": "entailed", "1": "not-entailed"}


def test_data_that_cannot_be_trained_on(recipe, tmp_path):
    same = problems(tmp_path / "same.jsonl", [[*row[:2], "neutral"] for row in toy_rows(30)])
    with refuses(BadInput, field="data"):
        train({**recipe, "data": [same]}, out=tmp_path / "m")
    with refuses(BadInput, field="data"):
        train({**recipe, "without": recipe["data"]}, out=tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_starts_that_cannot_be_trained(recipe, tmp_path, encoder):
    pickled = Path(shutil.copytree(encoder, tmp_path / "pickled"))
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    with refuses(BadInput, where=f"hf:{pickled}"):
        train({**recipe, "start": str(pickled)}, out=tmp_path / "m")
    with refuses(BadInput):
        train({**recipe, "start": str(tmp_path / "absent")}, out=tmp_path / "m")
    with refuses(BadInput):
        train({**recipe, "teachers": [str(tmp_path / "absent")]}, out=tmp_path / "m")
    assert not (tmp_path / "m").exists()
    maskless = save_model(tmp_path / "maskless")
    save_tokenizer(maskless, mask=False)
    with refuses(BadInput, where=f"hf:{maskless}"):
        train({**recipe, "start": str(maskless)}, "masked-lm", out=tmp_path / "n")
    with refuses(BadInput):
        train({**recipe, "device": "cuda:7"}, out=tmp_path / "o")


@pytest.mark.slow
def test_a_student_follows_its_teachers_where_there_are_no_labels(recipe, tmp_path, classifier):
    """The teacher's head has its labels in another order, and it learns the toy task with labels exchanged."""
    turned = dict(zip(LABELS, (LABELS[1], LABELS[2], LABELS[0]), strict=True))
    rows = [[*row[:2], turned[row[2]]] for row in toy_rows(300, seed=4)]
    taught = {**recipe, "data": [problems(tmp_path / "t.jsonl", rows)], "start": str(classifier), "epochs": 6}
    teacher = train(taught, out=tmp_path / "teacher")
    assert teacher.figures["valid_accuracy"] > 0.9
    chosen = {**recipe, "teachers": [str(tmp_path / "teacher")], "recombine": 300, "epochs": 8, "valid": 0.0}
    result = train(chosen, out=tmp_path / "student")
    assert result.counts["recombined"] == 300
    assert sum(row[2] is None for row in lines(tmp_path / "student" / "data" / "train.jsonl")) == 300
    kept = np.load(tmp_path / "student" / "data" / "taught.npy")
    assert kept.shape == (result.counts["train"] + 300, 3)
    assert kept.sum(axis=1) == pytest.approx(1, abs=1e-5)
    new = toy_rows(60, seed=11)
    batch = Batch(TASKS["nli"], {"premise": [r[0] for r in new], "hypothesis": [r[1] for r in new]})
    labels = [
        Answerer(name, name, hf(str(tmp_path / name), device="cpu"), TASKS["nli"])(batch).p.argmax(axis=1)
        for name in ("teacher", "student")
    ]
    assert np.mean(labels[0] == labels[1]) > 0.9
    data = [LABELS.index(row[2]) for row in new]
    assert np.mean(labels[1] == data) < 0.1  # and not the labels that its own data has


def test_several_teachers_are_averaged(recipe, tmp_path):
    chosen = {**recipe, "epochs": 1}
    for seed in (1, 2):
        train(chosen, out=tmp_path / f"t{seed}", seed=seed)
    train({**chosen, "teachers": [str(tmp_path / "t1"), str(tmp_path / "t2")]}, out=tmp_path / "both")
    examples = read_examples(tmp_path / "both" / "data" / "train.jsonl", TrainingSettings("encoder"))
    batch = Batch(TASKS["nli"], {"premise": examples.firsts, "hypothesis": examples.seconds})
    each = [
        Answerer(name, name, hf(str(tmp_path / name), device="cpu", max_length=16), TASKS["nli"])(batch).p
        for name in ("t1", "t2")
    ]
    assert np.load(tmp_path / "both" / "data" / "taught.npy") == pytest.approx((each[0] + each[1]) / 2, abs=1e-6)
    assert np.abs(each[0] - each[1]).max() > 0.01  # or the mean would be one of them


#: Imported when the core is imported. torch, transformers and tokenizers are imported inside functions.
CORE = {*sys.stdlib_module_names, "numpy"}


def follow_imports(name: str, seen: dict[str, set[str]]) -> None:
    """Add a module of the package to `seen`, with the other packages that it imports; then what it imports of ours."""
    path = SRC.joinpath(*name.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if name in seen or not file.is_file():  # a function or class, not a module
        return
    seen[name] = set()
    package = name if path.is_dir() else name.rpartition(".")[0]
    if "." in name:
        follow_imports(name.rpartition(".")[0], seen)
    for node in ast.parse(file.read_text(encoding="utf-8")).body:  # the top level, without TYPE_CHECKING
        names = [alias.name for alias in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
        if isinstance(node, ast.ImportFrom):
            home = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            names = [home, *(f"{home}.{one}" for one in names)]
        for one in names:
            if one.split(".")[0] == "otherwords":
                follow_imports(one, seen)
            else:
                seen[name].add(one.split(".")[0])


def test_the_core_imports_numpy_and_the_standard_library_alone():
    """The thin version of the next test. To import a module is to import the packages around it."""
    seen: dict[str, set[str]] = {}
    follow_imports("otherwords.training.__main__", seen)
    assert {"otherwords", "otherwords.training", "otherwords.models", "otherwords.training.finetuning"} <= set(seen)
    assert {module: names - CORE for module, names in seen.items() if names - CORE} == {}
    follow_imports("otherwords.datasets.source", seen)
    assert "polars" in set.union(*seen.values())  # else this test could not fail


#: Only this package goes without: what transformers needs itself is there, wherever transformers is.
BLOCKED = """
import builtins, runpy, sys
ABSENT = ("polars", "pydantic", "typer", "rich", "scipy", "jinja2", "onnxruntime", "rapidfuzz")
real = builtins.__import__
def bare(name, globals=None, locals=None, fromlist=(), level=0):
    if level == 0 and name.split(".")[0] in ABSENT and str((globals or {}).get("__name__")).startswith("otherwords"):
        raise ModuleNotFoundError(name)
    return real(name, globals, locals, fromlist, level)
builtins.__import__ = bare
try:
    import otherwords.datasets.source
except ModuleNotFoundError as error:
    assert str(error) == "polars"
else:
    sys.exit("nothing is blocked")
sys.argv = ["otherwords.training", *sys.argv[1:]]
runpy.run_module("otherwords.training", run_name="__main__")
"""


@pytest.mark.slow
def test_a_bare_machine_trains_what_was_prepared(recipe, tmp_path):
    train({**recipe, "epochs": 1}, out=tmp_path / "teacher")
    taught = {**recipe, "teachers": [str(tmp_path / "teacher")], "recombine": 20}
    train(taught, out=tmp_path / "nli", prepare_only=True)
    train({**recipe, "valid": 0.1}, "masked-lm", out=tmp_path / "mlm", prepare_only=True)
    folders = [str(tmp_path / "nli"), str(tmp_path / "mlm")]
    environment = {**os.environ, "PYTHONPATH": str(SRC)}
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, *folders], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for name in ("nli", "mlm"):
        assert (tmp_path / name / "model.safetensors").is_file()
        assert f"{tmp_path / name} {{'epoch'" in done.stdout
    assert read_trained(tmp_path / "nli").task == TASKS["nli"]


def test_the_log_is_drawn(recipe, tmp_path):
    train(recipe, out=tmp_path / "m")
    root = ElementTree.parse(tmp_path / "m" / "log.svg").getroot()
    space = "{http://www.w3.org/2000/svg}"
    assert [group.find(f"{space}title").text for group in root.iter(f"{space}g")] == [
        "training loss", "validation loss", "training accuracy", "validation accuracy",
    ]  # fmt: skip
    assert len(list(root.iter(f"{space}circle"))) == 4 * 2
    log = lines(tmp_path / "m" / "log.jsonl")
    assert root.find(f"{space}desc").text == describe(log)
    assert draw(log) == (tmp_path / "m" / "log.svg").read_text()


def test_a_better_figure_stands_higher():
    log = [{"epoch": 1.0, "valid_accuracy": 0.6}, {"epoch": 2.0, "valid_accuracy": 0.7}]
    circles = ElementTree.fromstring(draw(log)).iter("{http://www.w3.org/2000/svg}circle")
    (x1, y1), (x2, y2) = ((float(one.get("cx")), float(one.get("cy"))) for one in circles)
    assert x1 < x2
    assert y1 > y2


def test_device_and_portions_may_change_on_the_way(recipe, tmp_path):
    train({**recipe, "accumulate": 1}, out=tmp_path / "m", prepare_only=True)
    result = train({**recipe, "accumulate": 2, "device": "auto"}, out=tmp_path / "m")
    assert prepared_settings(tmp_path / "m").accumulate == 2
    assert result.figures


def test_a_refused_training_leaves_nothing(recipe, tmp_path, encoder):
    broken = Path(shutil.copytree(encoder, tmp_path / "broken"))
    weights = broken / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with refuses(BadInput, where=f"hf:{broken}"):
        train({**recipe, "start": str(broken)}, out=tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_teachers_for_other_labels_are_refused(recipe, tmp_path, encoder):
    two = save_model(tmp_path / "two", BertForSequenceClassification, id2label={0: "yes", 1: "no"})
    save_tokenizer(two)
    with refuses(BadInput, where=f"teacher {two}"):
        train({**recipe, "teachers": [str(two)]}, out=tmp_path / "m")


def test_the_package_has_the_names_it_lists():
    assert all(getattr(training, name).__name__ == name for name in training.__all__)
    with pytest.raises(AttributeError, match="it has BagOfWords, Examples, Recipe"):
        getattr(training, "trian")  # noqa: B009


@pytest.mark.parametrize("figure", ["nan", "inf", "none", "7", "raise"])
def test_a_trainer_of_a_user_that_fails_is_named(own_trainer, recipe, tmp_path, figure):
    chosen = {"data": recipe["data"], "figure": figure}
    with refuses(BadInput) as refusal:
        train(chosen, "own", out=tmp_path / "m")
    assert str(refusal.value).startswith("own.v1")
    assert not (tmp_path / "m").exists()


def test_a_trainer_of_a_user_that_writes_no_model_is_named(own_trainer, recipe, tmp_path):
    with refuses(BadInput, where="own.v1"):
        train({"data": recipe["data"], "figure": "0.125"}, "own", out=tmp_path / "m")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("said", "field"), [("level: int = 1", "odd.v1"), ("answers_as: ClassVar[str] = 'no-such'", "answers_as")]
)
def test_what_is_no_trainer_is_refused(recipe, tmp_path, said, field):
    file = tmp_path / "odd.py"
    head = "from dataclasses import dataclass\nfrom typing import ClassVar\nfrom otherwords.registry import trainers\n"
    body = "class Odd:\n    'Odd.'\n    def fit(self, data, folder, seed):\n        return {}\n"
    file.write_text(f"{head}@trainers('odd.v1')\n@dataclass(frozen=True)\n{body}    {said}\n")
    load_plugins([str(file)])
    try:
        with refuses(BadInput, field=field):
            train({"data": recipe["data"]}, "odd", out=tmp_path / "m")
    finally:
        trainers.forget(str(file.resolve()))
    assert not (tmp_path / "m").exists()


def test_a_trainer_of_a_user_that_was_changed_is_another(own_trainer, recipe, tmp_path):
    train({"data": recipe["data"]}, "own", out=tmp_path / "m")
    file = Path(own_trainer)
    file.write_text(file.read_text().replace("steps=1", "steps=2"))
    load_plugins([own_trainer])
    with refuses(BadInput, where=str(tmp_path / "m")):
        train({"data": recipe["data"]}, "own", out=tmp_path / "m")


def test_another_start_of_the_same_name_is_another_training(recipe, tmp_path, encoder):
    start = shutil.copytree(encoder, tmp_path / "start")
    given = {**recipe, "start": str(start), "epochs": 1}
    train(given, out=tmp_path / "m")
    save_model(start, seed=77)
    with refuses(BadInput, where=str(tmp_path / "m")):
        train(given, out=tmp_path / "m")
    shutil.rmtree(start)  # a finished training does not need it any more
    assert train(given, out=tmp_path / "m").before


def test_an_empty_folder_stays_after_a_refusal(tmp_path):
    (tmp_path / "m").mkdir()
    data = problems(tmp_path / "one.jsonl", [row for row in toy_rows(30) if row[2] == LABELS[0]])
    with refuses(BadInput, field="data"):
        train({"data": [data]}, "bag_of_words", out=tmp_path / "m")
    assert list((tmp_path / "m").iterdir()) == []


@pytest.mark.parametrize("name", ["origin.json", "counts.json"])
@pytest.mark.parametrize("content", ["", "[1]"])
def test_a_damaged_record_of_a_training_is_named(recipe, tmp_path, name, content):
    given = {"data": recipe["data"], "steps": 2}
    train(given, "bag_of_words", out=tmp_path / "m")
    path = tmp_path / "m" / "data" / name
    path.write_text(content)
    with refuses(BadInput, where=str(path)):
        train(given, "bag_of_words", out=tmp_path / "m")


@pytest.mark.parametrize("content", ["", "[1]", "{half"])
def test_damaged_settings_of_a_training_are_named(recipe, tmp_path, content):
    train(recipe, out=tmp_path / "m", prepare_only=True)
    path = tmp_path / "m" / "data" / "settings.json"
    path.write_text(content)
    with refuses(BadInput, where=str(path)):
        train(recipe, out=tmp_path / "m")


def test_other_meanings_of_the_labels_that_are_validated_are_another_training(tmp_path):
    """Which model is kept, and its figures, hang on them."""
    rows = [TrainingRow((one, two), label) for one, two, label in toy_rows(60)]
    valid = [row._replace(label="yes" if row.label == LABELS[0] else "no") for row in rows[40:]]
    meanings = dict(zip(LABELS, ("yes", "no", "no"), strict=True))
    data = TrainingData(TASKS["nli"], train=rows[:40], valid=valid, merged=meanings)
    figures = fit(trainers.make("bag_of_words"), data, tmp_path / "m")
    assert fit(trainers.make("bag_of_words"), data, tmp_path / "m") == figures
    data.merged = dict(zip(LABELS, ("no", "yes", "yes"), strict=True))
    with refuses(BadInput, where=str(tmp_path / "m")):
        fit(trainers.make("bag_of_words"), data, tmp_path / "m")


def test_a_trainer_of_a_user_is_trained(own_trainer, recipe, tmp_path):
    result = train({"data": recipe["data"]}, "own", out=tmp_path / "m", figure="0.25")
    assert result.figures == {"valid_accuracy": 0.25}
    assert train({"data": recipe["data"]}, "own", out=tmp_path / "m", figure="0.25").before
    with refuses(BadInput, field="prepare_only"):
        train({"data": recipe["data"]}, "own", out=tmp_path / "n", prepare_only=True)


def test_two_processes_do_not_train_the_same_words(recipe, tmp_path):
    chosen = {"data": recipe["data"]}
    train(chosen, "bag_of_words", out=tmp_path / "m")
    (tmp_path / "m" / "trained.json").unlink()
    with lock_folder(tmp_path / "m", tmp_path / "m" / "data" / ".lock"), refuses(Busy):
        train(chosen, "bag_of_words", out=tmp_path / "m")
    assert train(chosen, "bag_of_words", out=tmp_path / "m").figures


def test_an_encoder_needs_what_is_there(recipe, tmp_path):
    """No GPU, no start: known before any data is read."""
    absent = {**recipe, "data": ["absent.jsonl"]}
    with refuses(BadInput):
        train({**recipe, "device": "cuda:7"}, out=tmp_path / "m")
    with refuses(OtherwordsError):
        train(absent, out=tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_what_an_earlier_version_prepared_is_trained(recipe, tmp_path):
    """It knew neither trainers nor shares, and wrote no training.json."""
    train(recipe, out=tmp_path / "m", prepare_only=True)
    path = tmp_path / "m" / "data" / "origin.json"
    known = json.loads(path.read_text())
    new = ("trainer", "fields", "share", "valid_task", "valid_label_map", "join", "adam_epsilon")
    path.write_text(json.dumps({name: value for name, value in known.items() if name not in new}))
    (tmp_path / "m" / "training.json").unlink()
    with refuses(BadInput, where=str(tmp_path / "m")):
        train({**recipe, "share": 0.5}, out=tmp_path / "m")
    assert train(recipe, out=tmp_path / "m").figures
    assert read_trained(tmp_path / "m").answers_as == "hf"
