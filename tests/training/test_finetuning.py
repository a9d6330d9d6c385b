"""The loop: it learns, it resumes to the same bits where it was killed, portions change nothing, it stops early."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from refusals import refuses
from safetensors.torch import load_file, save_file
from transformers import AutoModelForMaskedLM, AutoModelForSequenceClassification, AutoTokenizer

from otherwords.errors import BadInput
from otherwords.models.model import Answerer, as_model
from otherwords.problem import TASKS, Batch
from otherwords.registry import models as registry
from otherwords.training import finetuning, history
from otherwords.training.prepared import prepare, train_prepared
from otherwords.training.settings import TrainingSettings

from .conftest import LABELS, WORDS, toy_rows, toy_sentences

SRC = Path(finetuning.__file__).parents[2]


def trained(folder, settings, train, valid=()):
    prepare(folder, settings, train, valid)
    return train_prepared(folder)


def log(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def weights(folder):
    return load_file(folder / "model.safetensors")


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.fixture(scope="module")
def toy(encoder, tmp_path_factory):
    """A folder with a model trained on the toy task, and its figures; tests leave it as it is."""
    folder = tmp_path_factory.mktemp("toy")
    usual = {"batch": 16, "max_length": 16, "learning_rate": 3e-3, "device": "cpu"}
    chosen = TrainingSettings(str(encoder), epochs=6, **usual)
    return folder, trained(folder, chosen, toy_rows(400), toy_rows(90, seed=2))


def test_a_toy_task_is_learnt_and_the_folder_loads_as_a_model(toy):
    folder, best = toy
    lines = log(folder)
    assert [line["epoch"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert lines[-1]["train_loss"] < lines[0]["train_loss"] / 2
    assert lines[0]["train_accuracy"] < best["valid_accuracy"] > 0.95
    bound = registry.make(f"hf:{folder}")
    model = Answerer("toy", bound.signature, as_model(bound.function), TASKS["nli"], {})
    rows = toy_rows(90, seed=2)
    answers = model(Batch(TASKS["nli"], {"premise": [r[0] for r in rows], "hypothesis": [r[1] for r in rows]}))
    labels = [LABELS[i] for i in answers.p.argmax(axis=1)]
    right = np.mean([label == row[2] for label, row in zip(labels, rows, strict=True)])
    assert right == pytest.approx(best["valid_accuracy"])  # what hf: says is what validation counted


def test_the_validation_figures_are_those_of_transformers(toy):
    (folder, best), valid = toy, toy_rows(90, seed=2)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer([row[0] for row in valid], [row[1] for row in valid], padding=True, return_tensors="pt")
    right = torch.tensor([LABELS.index(row[2]) for row in valid])
    with torch.inference_mode():
        result = model(**inputs, labels=right)
    assert best["valid_loss"] == pytest.approx(result.loss.item(), abs=1e-5)
    assert best["valid_accuracy"] == pytest.approx((result.logits.argmax(1) == right).float().mean().item())


@pytest.mark.slow
def test_masked_words_are_learnt(tmp_path, settings):
    chosen = settings(objective="masked-lm", epochs=8, learning_rate=5e-3)
    best = trained(tmp_path / "m", chosen, toy_sentences(400), toy_sentences(60, seed=2))
    assert log(tmp_path / "m")[0]["train_loss"] > 2 * best["valid_loss"]
    assert best["valid_accuracy"] > 0.8
    model = AutoModelForMaskedLM.from_pretrained(tmp_path / "m").eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "m")
    text = tokenizer("a dog runs a [MASK] runs", return_tensors="pt")
    assert text.pop("attention_mask").all()
    place = text["input_ids"][0].tolist().index(tokenizer.mask_token_id)
    guess = model(**text).logits[0, place].argmax()
    assert tokenizer.decode(guess).strip() in ("dog", "horse")  # whose verb it is: the first and the seventh noun


@pytest.mark.parametrize("objective", ["nli", pytest.param("masked-lm", marks=pytest.mark.slow)])
def test_killed_after_any_checkpoint_it_ends_with_the_same_bits(tmp_path, settings, objective, monkeypatch):
    chosen = settings(objective=objective, epochs=2, evaluations=3)
    train, valid = (
        (toy_rows(100), toy_rows(20, 2)) if objective == "nli" else (toy_sentences(100), toy_sentences(20, 2))
    )
    whole = trained(tmp_path / "whole", chosen, train, valid)
    prepare(tmp_path / "parts", chosen, train, valid)
    real = history.save_checkpoint

    def save_and_die(*arguments):
        real(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(history, "save_checkpoint", save_and_die)
    for _ in range(6):
        with pytest.raises(KeyboardInterrupt):
            train_prepared(tmp_path / "parts")
    monkeypatch.undo()
    parts = train_prepared(tmp_path / "parts")
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "parts"))
    assert {**parts, "seconds": 0} == {**whole, "seconds": 0}
    without_time = [[{**line, "seconds": 0} for line in log(tmp_path / name)] for name in ("whole", "parts")]
    assert without_time[0] == without_time[1]
    assert names(tmp_path / "parts") == names(tmp_path / "whole")


def test_a_checkpoint_amid_an_epoch_keeps_the_running_figures(tmp_path, settings, monkeypatch):
    chosen = settings(epochs=1)
    trained(tmp_path / "whole", chosen, toy_rows(100), toy_rows(20, 2))
    prepare(tmp_path / "parts", chosen, toy_rows(100), toy_rows(20, 2))
    monkeypatch.setattr(finetuning, "_CHECKPOINT_SECONDS", -1)  # after every batch
    real, left = history.save_checkpoint, [3]

    def die_at_last(*arguments):
        real(*arguments)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    monkeypatch.setattr(history, "save_checkpoint", die_at_last)
    with pytest.raises(KeyboardInterrupt):
        train_prepared(tmp_path / "parts")
    assert json.loads((tmp_path / "parts" / "checkpoint" / "progress.json").read_text())["batch"] == 3
    monkeypatch.undo()
    train_prepared(tmp_path / "parts")
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "parts"))
    one, other = ({**log(tmp_path / name)[0], "seconds": 0} for name in ("whole", "parts"))
    assert one == other


@pytest.mark.slow
def test_a_killed_process_is_resumed(tmp_path, settings):
    """SIGKILL, at any moment; the tests around it stop this process at chosen ones."""
    chosen = settings(epochs=12, evaluations=2)
    trained(tmp_path / "whole", chosen, toy_rows(150), toy_rows(20, 2))
    prepare(tmp_path / "parts", chosen, toy_rows(150), toy_rows(20, 2))
    command = [sys.executable, "-m", "otherwords.training", str(tmp_path / "parts")]
    environment = {**os.environ, "PYTHONPATH": str(SRC), "OMP_NUM_THREADS": str(torch.get_num_threads())}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    path, deadline = tmp_path / "parts" / "log.jsonl", time.monotonic() + 120
    while not (path.is_file() and path.read_bytes().count(b"\n") >= 4):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (tmp_path / "parts" / "model.safetensors").exists()  # it was not finished
    train_prepared(tmp_path / "parts")
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "parts"))


def test_a_checkpoint_survives_a_kill_between_its_renames(tmp_path, settings, monkeypatch):
    chosen = settings(epochs=3)
    trained(tmp_path / "whole", chosen, toy_rows(60), toy_rows(20, 2))
    prepare(tmp_path / "parts", chosen, toy_rows(60), toy_rows(20, 2))
    real = Path.rename

    def die_when_two_are_there(self, target):
        if self.name == "checkpoint.new" and target.with_name("checkpoint.old").exists():
            raise KeyboardInterrupt
        return real(self, target)

    monkeypatch.setattr(Path, "rename", die_when_two_are_there)
    with pytest.raises(KeyboardInterrupt):
        train_prepared(tmp_path / "parts")
    monkeypatch.undo()
    assert not (tmp_path / "parts" / "checkpoint").exists()
    train_prepared(tmp_path / "parts")
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "parts"))
    assert names(tmp_path / "parts") == names(tmp_path / "whole")


@pytest.mark.parametrize("objective", [pytest.param("nli", marks=pytest.mark.slow), "masked-lm"])
def test_portions_change_no_more_than_the_last_digits(tmp_path, settings, objective):
    """Rows have unequal numbers of masked tokens, and 90 is no multiple of the batch: means of means would differ."""
    chosen = settings(objective=objective, epochs=1, dropout=0.0, learning_rate=1e-3)
    texts = [row[0].split()[: 3 + i % 4] for i, row in enumerate(toy_sentences(90))]
    train = toy_rows(90) if objective == "nli" else [[" ".join(words)] for words in texts]
    trained(tmp_path / "one", chosen, train)
    trained(tmp_path / "four", replace(chosen, accumulate=4), train)
    one, four = weights(tmp_path / "one"), weights(tmp_path / "four")
    start = load_file(Path(chosen.start) / "model.safetensors")
    moved = sum((one[f"bert.{name}"] - start[name]).square().sum() for name in start if f"bert.{name}" in one)
    difference = sum((one[name] - four[name]).square().sum() for name in one)
    assert difference.sqrt() < 0.01 * moved.sqrt()  # Adam makes much of what is nearly nothing
    first, second = log(tmp_path / "one")[0], log(tmp_path / "four")[0]
    assert first["train_loss"] == pytest.approx(second["train_loss"], rel=1e-4)


def test_it_stops_when_nothing_gets_better_and_keeps_the_best_model(tmp_path, settings):
    """The labels of validation are drawn at random: there is soon nothing to gain."""
    random = np.random.default_rng(1)
    valid = [[row[0], row[1], LABELS[random.integers(3)]] for row in toy_rows(60, 2)]
    best = trained(tmp_path / "m", settings(epochs=40, patience=3), toy_rows(100), valid)
    lines = log(tmp_path / "m")
    at = lines.index(best)
    assert len(lines) == at + 1 + 3 < 40
    assert best["valid_accuracy"] == max(line["valid_accuracy"] for line in lines) > lines[-1]["valid_accuracy"]
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "m").eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "m")
    inputs = tokenizer([row[0] for row in valid], [row[1] for row in valid], padding=True, return_tensors="pt")
    labels = model(**inputs).logits.argmax(1).tolist()
    assert np.mean([LABELS[i] == row[2] for i, row in zip(labels, valid, strict=True)]) == pytest.approx(
        best["valid_accuracy"]
    )


def test_seeds_decide_all_and_nothing_else_does(tmp_path, settings):
    for drawn, (name, seed) in enumerate((("a", 1), ("b", 1), ("c", 2))):
        torch.manual_seed(drawn)  # whatever was drawn before
        trained(tmp_path / name, settings(epochs=1, seed=seed), toy_rows(50))
    assert same(weights(tmp_path / "a"), weights(tmp_path / "b"))
    assert not same(weights(tmp_path / "a"), weights(tmp_path / "c"))


def test_the_model_names_its_labels_in_the_order_of_the_settings(tmp_path, settings):
    labels = ("neutral", "contradiction", "entailment")
    trained(tmp_path / "m", settings(epochs=1, labels=labels), toy_rows(40))
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    assert config["id2label"] == {"0": "neutral", "1": "contradiction", "2": "entailment"}


def test_a_head_for_other_labels_is_replaced(tmp_path, settings, classifier):
    chosen = settings(start=str(classifier), epochs=4, labels=("no", "yes"))
    with pytest.warns(UserWarning, match="its head is replaced: none of its labels .* means no"):
        trained(
            tmp_path / "m", chosen, [[*row[:2], "yes" if row[2] == "entailment" else "no"] for row in toy_rows(300)]
        )
    assert log(tmp_path / "m")[-1]["train_accuracy"] > 0.9
    assert weights(tmp_path / "m")["classifier.weight"].shape[0] == 2


@pytest.mark.slow
def test_bf16_on_the_processor_learns_too(tmp_path, settings):
    best = trained(tmp_path / "m", settings(epochs=6, precision="bf16"), toy_rows(400), toy_rows(60, 2))
    assert best["valid_accuracy"] > 0.9


def test_bf16_computes_otherwise_and_saves_fp32(tmp_path, settings):
    trained(tmp_path / "exact", settings(epochs=1), toy_rows(40))
    trained(tmp_path / "rough", settings(epochs=1, precision="bf16"), toy_rows(40))
    assert not same(weights(tmp_path / "exact"), weights(tmp_path / "rough"))
    assert all(tensor.dtype == torch.float32 for tensor in weights(tmp_path / "rough").values())


def test_dropout_is_set_under_the_names_of_the_encoder(tmp_path, settings, encoder):
    trained(tmp_path / "m", settings(epochs=1, dropout=0.3), toy_rows(20))
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    assert config["hidden_dropout_prob"] == config["attention_probs_dropout_prob"] == 0.3
    odd = Path(shutil.copytree(encoder, tmp_path / "odd"))
    config = {k: v for k, v in json.loads((odd / "config.json").read_text()).items() if "dropout" not in k}
    (odd / "config.json").write_text(json.dumps(config))
    with refuses(BadInput, where=f"hf:{odd}", field="dropout"):
        trained(tmp_path / "n", settings(start=str(odd), dropout=0.3), toy_rows(20))


def test_cut_examples_are_counted(tmp_path, settings):
    rows = [*toy_rows(20), ["a dog runs " * 6, "a cat sleeps", "neutral"]]
    with pytest.warns(UserWarning, match="more than 16 tokens"):
        trained(tmp_path / "m", settings(epochs=1), rows)


def test_a_training_that_diverges_is_refused(tmp_path, settings):
    chosen = settings(epochs=3, learning_rate=1.0, clip=1e9, warmup=0.0, weight_decay=1.0)
    path = Path(shutil.copytree(chosen.start, tmp_path / "huge"))
    tensors = {name: tensor * 1e30 for name, tensor in load_file(path / "model.safetensors").items()}
    save_file(tensors, path / "model.safetensors", {"format": "pt"})
    with refuses(BadInput, field="learning_rate"):
        trained(tmp_path / "m", replace(chosen, start=str(path)), toy_rows(40), toy_rows(10, 2))
    assert not (tmp_path / "m" / "model.safetensors").exists()


def test_weights_that_no_figure_shows_must_be_finite_too(tmp_path, settings):
    path = Path(shutil.copytree(settings().start, tmp_path / "broken"))
    tensors = {name: tensor.clone() for name, tensor in load_file(path / "model.safetensors").items()}
    tensors["embeddings.word_embeddings.weight"][WORDS.index("[MASK]")] = torch.nan  # no row has this token
    save_file(tensors, path / "model.safetensors", {"format": "pt"})
    with refuses(BadInput, field="learning_rate"):
        trained(tmp_path / "m", settings(start=str(path), epochs=1), toy_rows(20))
    assert not (tmp_path / "m" / "model.safetensors").exists()


def test_weights_can_be_read_by_whoever_may_read_the_rest(toy):
    assert len({path.stat().st_mode for path in toy[0].iterdir() if path.is_file()}) == 1


def test_a_finished_training_is_not_repeated(toy):
    folder, best = toy
    before = (folder / "model.safetensors").stat().st_mtime_ns
    assert train_prepared(folder) == best
    assert (folder / "model.safetensors").stat().st_mtime_ns == before


def test_an_interrupted_training_is_saved_and_resumed(tmp_path, settings, monkeypatch):
    """Ctrl-C during a step waits for its end; resuming leads to the same bits."""
    chosen, rows, valid = settings(epochs=2), toy_rows(60), toy_rows(20, 2)
    trained(tmp_path / "whole", chosen, rows, valid)
    step, steps = finetuning._Run._step, []

    def interrupted(self, some):
        steps.append(len(some))
        if len(steps) == 3:
            signal.raise_signal(signal.SIGINT)
        step(self, some)

    with monkeypatch.context() as patch:
        patch.setattr(finetuning._Run, "_step", interrupted)
        with pytest.raises(KeyboardInterrupt):
            trained(tmp_path / "parts", chosen, rows, valid)
    assert len(steps) == 3
    assert history.has_checkpoint(tmp_path / "parts")
    train_prepared(tmp_path / "parts")
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "parts"))


def test_texts_longer_than_the_encoder_reads_are_cut(tmp_path, settings):
    """It has 32 positions, whatever max_length says."""
    rows = [*toy_rows(20), ["a dog runs " * 40, "a cat sleeps", "neutral"]]
    with pytest.warns(UserWarning, match="more than 32 tokens"):
        trained(tmp_path / "m", settings(epochs=1, max_length=1000), rows)
