"""Prepared folders and starts that cannot be used, in this process; and that teachers are asked once."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from refusals import refuses
from transformers import CanineConfig, CanineModel, CanineTokenizer
from transformers.utils import logging

from otherwords.errors import BadInput
from otherwords.inference import hf_folders
from otherwords.training import __main__ as bare
from otherwords.training.objectives import load_start_model, read_examples, write_examples
from otherwords.training.prepared import prepare, train_prepared
from otherwords.training.settings import TrainingSettings

from .conftest import toy_rows, toy_sentences


def test_examples_come_back_as_they_were_written(tmp_path):
    rows = [["Ä „b“", "c\n", "neutral"], ["d", "e", None]]
    assert write_examples(tmp_path / "x.jsonl", rows) == 2
    found = read_examples(tmp_path / "x.jsonl", TrainingSettings("encoder"))
    assert (found.firsts, found.seconds, found.labels.tolist()) == (["Ä „b“", "d"], ["c\n", "e"], [1, -1])
    write_examples(tmp_path / "y.jsonl", [["one"], ["two"]])
    assert read_examples(tmp_path / "y.jsonl", TrainingSettings("encoder", "masked-lm")).seconds is None


def test_examples_that_cannot_be_used(tmp_path):
    path = str(tmp_path / "x.jsonl")
    write_examples(tmp_path / "x.jsonl", [["a", "b", "maybe"]])
    with refuses(BadInput, where=path):
        read_examples(tmp_path / "x.jsonl", TrainingSettings("encoder"))
    write_examples(tmp_path / "x.jsonl", [["a", "b", "neutral"], ["c", "neutral"]])
    with refuses(BadInput, where=path):
        read_examples(tmp_path / "x.jsonl", TrainingSettings("encoder"))
    write_examples(tmp_path / "x.jsonl", [])
    with refuses(BadInput, where=path):
        read_examples(tmp_path / "x.jsonl", TrainingSettings("encoder"))


def test_a_folder_without_a_training(tmp_path, settings):
    with refuses(BadInput, where=str(tmp_path)):
        train_prepared(tmp_path)
    prepare(tmp_path, settings(), toy_rows(5), [])
    path = tmp_path / "data" / "settings.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "colour": "red"}))
    with refuses(BadInput, where=str(path)):
        train_prepared(tmp_path)


def test_validation_without_labels_is_refused(tmp_path, settings):
    prepare(tmp_path, settings(epochs=1), toy_rows(20), [[*row[:2], None] for row in toy_rows(5)])
    with refuses(BadInput, field="valid"):
        train_prepared(tmp_path)


def test_validation_without_tokens_to_mask_is_refused(tmp_path, settings):
    prepare(tmp_path, settings(objective="masked-lm", epochs=1), toy_sentences(20), [["[SEP]"]])
    with refuses(BadInput, field="valid"):
        train_prepared(tmp_path)


def test_a_tokenizer_without_the_library_is_refused(settings, monkeypatch):
    """The thin version of the next test."""
    monkeypatch.setattr(hf_folders, "load_tokenizer", lambda folder: SimpleNamespace(is_fast=False))
    with refuses(BadInput, where=f"hf:{settings().start}"):
        load_start_model(settings())


@pytest.mark.slow
def test_a_start_without_a_fast_tokenizer(tmp_path):
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    logging.disable_progress_bar()
    CanineModel(CanineConfig(**sizes, num_hash_buckets=16, max_position_embeddings=32)).save_pretrained(tmp_path)
    logging.enable_progress_bar()
    CanineTokenizer().save_pretrained(tmp_path)
    (tmp_path / "vocab.txt").write_text("")
    with refuses(BadInput, where=f"hf:{tmp_path}"):
        load_start_model(TrainingSettings(str(tmp_path)))


def test_teachers_are_asked_once(tmp_path, settings):
    prepare(tmp_path, settings(epochs=1, teachers=(str(tmp_path / "gone"),)), toy_rows(12), [])
    kept = np.full((12, 3), 1 / 3, np.float32)
    np.save(tmp_path / "data" / "taught.npy", kept)
    train_prepared(tmp_path)  # the teacher is gone, and not missed
    assert (np.load(tmp_path / "data" / "taught.npy") == kept).all()


def test_several_folders_one_after_the_other(tmp_path, settings, monkeypatch, capsys):
    for name in ("a", "b"):
        prepare(tmp_path / name, settings(epochs=1), toy_rows(20), toy_rows(5, 2))
    folders = [str(tmp_path / "a"), str(tmp_path / "b")]
    monkeypatch.setattr(sys, "argv", ["training", *folders])
    assert bare.main() == 0
    printed = capsys.readouterr().out
    assert printed.index(folders[0]) < printed.index(folders[1])
    assert printed.count("epoch 1 of 1: 20\n") == 2
    assert printed.endswith((Path(folders[1]) / "log.jsonl").read_text())
    monkeypatch.setattr(sys, "argv", ["training", str(tmp_path)])
    assert bare.main() == 2
    assert capsys.readouterr().err.startswith(f"{tmp_path}: contains no training; ")
    monkeypatch.setattr(sys, "argv", ["training"])
    assert bare.main() == 2
    assert "usage: python -m otherwords.training FOLDER..." in capsys.readouterr().err
