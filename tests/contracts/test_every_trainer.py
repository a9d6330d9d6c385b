"""Every trainer: it learns what can be learnt, the same every time, and its folder answers as an ordinary model."""

from __future__ import annotations

import json
import random
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses

from otherwords.errors import BadInput, OtherwordsError
from otherwords.models.answering import load
from otherwords.problem import TASKS, Batch, Task
from otherwords.registry import KINDS
from otherwords.training.data import TrainingData, TrainingRow
from otherwords.training.making import fit

KIND = "trainers"
NLI = TASKS["nli"]
#: The hypothesis has one of these, and that is the label; the tiny encoders know the words.
MARKS = dict(zip(NLI.labels, ("dog", "cat", "park"), strict=True))
OTHERS = ("runs", "rains", "sleeps", "while", "it")
#: Not the model: when and how it was made.
RECORDS = ("trained.json", "log.jsonl", "log.svg", "data")
ODD = ["", " \n", "word " * 3_000, "Zoë — 木曜日 \U0001f327", "\0 [SEP]", '"a", b\t', "\ud800 lone", "A" * 5_000]


def rows(count: int, seed: int = 1) -> list[TrainingRow]:
    draw, made = random.Random(seed), []
    for _ in range(count):
        label = draw.choice(NLI.labels)
        texts = " ".join(draw.choices(OTHERS, k=3)), f"{draw.choice(OTHERS)} {MARKS[label]}"
        made.append(TrainingRow(texts, label))
    return made


def toy(fields: tuple[str, ...] = NLI.fields) -> TrainingData:
    shown = [NLI.fields.index(name) for name in fields]
    train, valid = (
        [row._replace(texts=tuple(row.texts[i] for i in shown)) for row in rows(count, seed)]
        for count, seed in ((120, 1), (30, 2))
    )
    return TrainingData(NLI, fields, train=train, valid=valid)


@pytest.fixture
def trainer(plugin, bound):
    if not bound.function.answers_as:
        pytest.skip("its models answer no problems")
    return bound


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    @cache
    def make(spec: str) -> tuple[Path, dict[str, float]]:
        folder = tmp_path_factory.mktemp("trained") / "model"
        return folder, fit(KINDS[KIND].make(spec), toy(), folder, 3)

    return make


@pytest.fixture
def model(trainer, spec, finished) -> Path:
    return finished(spec)[0]


def ask(folder: Path, pairs: list[tuple[str, ...]], task: Task = NLI) -> list[str]:
    columns = {name: [pair[i] for pair in pairs] for i, name in enumerate(task.fields)}
    return [task.labels[i] for i in load(f"trained:{folder}", task)(Batch(task, columns)).pred]


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in RECORDS}


def test_it_learns_what_can_be_learnt(trainer, spec, model, finished):
    unseen = rows(60, seed=7)
    right = [a == row.label for a, row in zip(ask(model, [row.texts for row in unseen]), unseen, strict=True)]
    assert np.mean(right) > 0.9
    assert finished(spec)[1]["valid_accuracy"] > 0.9


def test_the_same_training_makes_the_same_bytes(trainer, model, tmp_path):
    fit(trainer, toy(), tmp_path / "again", 3)
    assert files(tmp_path / "again") == files(model)
    assert load(f"trained:{model}", NLI).signature == load(f"trained:{tmp_path / 'again'}", NLI).signature


def test_a_folder_says_what_it_is(trainer, model):
    found = json.loads((model / "trained.json").read_text())
    assert found["trainer"] == trainer.signature
    assert (found["seed"], found["fields"], found["labels"]) == (3, list(NLI.fields), list(NLI.labels))
    assert found["rows"] == {"train": 120, "valid": 30}
    assert not (model / "training.json").exists()


def test_a_folder_may_be_moved(trainer, model, tmp_path):
    pairs = [row.texts for row in rows(20, seed=8)]
    moved = shutil.copytree(model, tmp_path / "model")
    shutil.rmtree(moved / "data", ignore_errors=True)
    assert ask(moved, pairs) == ask(model, pairs)
    assert load(f"trained:{moved}", NLI).signature == load(f"trained:{model}", NLI).signature


def test_a_damaged_folder_is_refused_aloud(trainer, model, tmp_path):
    pairs, refused = [row.texts for row in rows(20, seed=8)], list[str]()
    for path in sorted(one for one in model.iterdir() if one.is_file() and one.name not in RECORDS[1:]):
        whole = path.read_bytes()
        for content in (
            None,
            b"",
            whole[: len(whole) // 2],
            b"[1, 2]",
            b"null",
            b'{"words": ["a"], "by_field": false}',
            b"hello",
            bytes(range(256)) * 8,
        ):
            damaged = shutil.copytree(model, tmp_path / "model")
            (damaged / path.name).write_bytes(content) if content is not None else (damaged / path.name).unlink()
            try:
                assert len(ask(damaged, pairs)) == 20  # a file that does not matter
            except OtherwordsError as error:
                refused.append(str(error))
            shutil.rmtree(damaged)
    assert refused
    assert not [message for message in refused if "\n" in message]


def test_its_answers_do_not_depend_on_their_company(trainer, model):
    pairs = [row.texts for row in rows(30, seed=9)]
    assert ask(model, pairs) == [ask(model, [pair])[0] for pair in pairs]
    assert ask(model, []) == []


def test_it_is_not_trained_again_and_nothing_else_is_trained_there(trainer, spec, model, finished):
    before = {path: path.stat().st_mtime_ns for path in model.iterdir()}
    assert fit(trainer, toy(), model, 3) == finished(spec)[1]
    assert {path: path.stat().st_mtime_ns for path in model.iterdir()} == before
    with refuses(BadInput, where=str(model)):
        fit(trainer, toy(), model, 4)
    less = toy()
    less.train.pop()
    with refuses(BadInput, where=str(model)):
        fit(trainer, less, model, 3)


@pytest.mark.parametrize("name", NLI.fields)
def test_it_learns_from_one_field(trainer, tmp_path, name):
    figures = fit(trainer, toy((name,)), tmp_path / "m", 1)
    assert (figures["valid_accuracy"] > 0.9) == (name == "hypothesis")
    pairs = [row.texts for row in rows(20, seed=8)]
    other = [(first, "it") if name == "premise" else ("it", second) for first, second in pairs]
    assert ask(tmp_path / "m", pairs) == ask(tmp_path / "m", other)  # it does not see the other field


@pytest.mark.parametrize(
    "task", [TASKS["rte"], TASKS["d-nli"], TASKS["a-nli"], Task("mood", ("text",), ("good", "bad"))]
)
def test_it_learns_every_task(trainer, tmp_path, task):
    """Of an abductive problem, the option with the mark is right; elsewhere the last text has it."""
    draw, made = random.Random(4), []
    for _ in range(100):
        label, texts = draw.choice(task.labels), [draw.choice(OTHERS) for _ in task.fields]
        place = task.fields.index(label) if label in task.fields else -1
        texts[place] += " dog" if label in (task.labels[0], *task.fields) else " cat"
        made.append(TrainingRow(tuple(texts), label))
    figures = fit(trainer, TrainingData(task, train=made[:80], valid=made[80:]), tmp_path / "m", 1)
    assert len(set(ask(tmp_path / "m", [row.texts for row in made], task))) == 2
    assert figures["valid_accuracy"] > (
        0.9 if trainer.function.answers_as != "bag_of_words" or len(task.fields) < 4 else 0.4
    )


@pytest.mark.filterwarnings("ignore:.*truncated")
def test_odd_texts_are_learnt_from_and_asked_or_refused_aloud(trainer, tmp_path):
    odd = [
        TrainingRow((one, other), NLI.labels[i % 3])
        for i, (one, other) in enumerate(zip(ODD, ODD[1:] + ODD[:1], strict=True))
    ]
    data = TrainingData(NLI, train=[*rows(40), *odd], valid=odd)
    try:
        fit(trainer, data, tmp_path / "m", 1)
        assert len(ask(tmp_path / "m", [row.texts for row in odd])) == len(odd)
    except OtherwordsError:
        assert not (tmp_path / "m" / "trained.json").exists()


def test_without_validation_there_are_no_figures_of_it(trainer, tmp_path):
    figures = fit(trainer, TrainingData(NLI, train=rows(40)), tmp_path / "m", 1)
    assert "valid_accuracy" not in figures
    assert len(ask(tmp_path / "m", [("it rains", "it rains")])) == 1


def test_a_label_that_no_row_has_is_never_the_answer(trainer, tmp_path):
    two = [row for row in rows(80) if row.label != "neutral"]
    fit(trainer, TrainingData(NLI, train=two), tmp_path / "m", 1)
    assert "neutral" not in ask(tmp_path / "m", [row.texts for row in rows(40, seed=5)])


@pytest.mark.parametrize(
    ("train", "field"),
    [
        ([], "data"),
        ([TrainingRow(("it", "rains"), "neutral")] * 5, "data"),
        ([TrainingRow(("it", "rains"), "maybe"), *rows(5)], "data"),
        ([TrainingRow(("it", "rains")), *rows(5)], "data"),
    ],
    ids=["no rows", "one label", "another label", "no label"],
)
def test_what_nothing_can_be_learnt_from_is_refused_before_any_work(trainer, tmp_path, train, field):
    with refuses(BadInput, field=field):
        fit(trainer, TrainingData(NLI, train=train), tmp_path / "m", 1)
    assert not (tmp_path / "m").exists()
    with refuses(BadInput, field="seed"):
        fit(trainer, toy(), tmp_path / "m", -1)
    assert not (tmp_path / "m").exists()


def test_problems_of_another_task_are_refused(trainer, model):
    with refuses(OtherwordsError):
        load(f"trained:{model}", TASKS["d-nli"])(
            Batch(TASKS["d-nli"], {name: ["it"] for name in TASKS["d-nli"].fields})
        )
