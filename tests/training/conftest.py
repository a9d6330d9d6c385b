"""A tiny BERT and toy tasks that it can learn in a second: all that tests of training need."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, BertModel, PreTrainedTokenizerFast
from transformers.utils import logging

from otherwords.registry import load_plugins, trainers
from otherwords.training.settings import TrainingSettings

NOUNS = ("dog", "cat", "bird", "man", "girl", "fish", "horse", "child")
VERBS = ("runs", "sleeps", "eats", "sings", "jumps", "waits")
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "no", "some", *NOUNS, *VERBS]
LABELS = ("entailment", "neutral", "contradiction")
_NAMES = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}


def save_tokenizer(folder: Path, mask: bool = True) -> None:
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    pair, special = "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 2), ("[SEP]", 3)]
    words.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", pair, special)
    names = {**_NAMES, "mask_token": "[MASK]"} if mask else _NAMES
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    PreTrainedTokenizerFast(tokenizer_object=words, model_input_names=inputs, **names).save_pretrained(folder)


def save_model(folder: Path, kind: type = BertModel, seed: int = 5, **config: Any) -> Path:
    torch.manual_seed(seed)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    model = kind(
        BertConfig(vocab_size=len(WORDS), max_position_embeddings=32, initializer_range=0.1, **sizes, **config)
    )
    logging.disable_progress_bar()
    model.save_pretrained(folder)
    logging.enable_progress_bar()
    return folder


@pytest.fixture(scope="session")
def encoder(tmp_path_factory) -> Path:
    """An encoder without a head, with its tokenizer."""
    folder = save_model(tmp_path_factory.mktemp("start") / "encoder")
    save_tokenizer(folder)
    return folder


@pytest.fixture(scope="session")
def classifier(tmp_path_factory) -> Path:
    """A classifier with a head for the labels in another order."""
    names = dict(enumerate(reversed(LABELS)))
    folder = tmp_path_factory.mktemp("start") / "classifier"
    save_model(folder, BertForSequenceClassification, seed=8, id2label=names)
    save_tokenizer(folder)
    return folder


@pytest.fixture
def settings(encoder) -> Callable[..., TrainingSettings]:
    def make(**changes: Any) -> TrainingSettings:
        usual = {"epochs": 2, "batch": 16, "max_length": 16, "learning_rate": 3e-3, "device": "cpu"}
        return TrainingSettings(**{"start": str(encoder), **usual, **changes})

    return make


def toy_rows(count: int, seed: int = 1) -> list[list[str | None]]:
    """The hypothesis begins with `some`, `a` or `no`, and that is the label: all a model need look at."""
    draw, rows = random.Random(seed), []
    for _ in range(count):
        noun, verb, which = draw.choice(NOUNS), draw.choice(VERBS), draw.randrange(3)
        rows.append([f"a {noun} {verb}", f"{('some', 'a', 'no')[which]} {draw.choice(NOUNS)} {verb}", LABELS[which]])
    return rows


def toy_sentences(count: int, seed: int = 1) -> list[list[str]]:
    """Each noun has its one verb."""
    draw = random.Random(seed)
    nouns = [draw.randrange(len(NOUNS)) for _ in range(count)]
    return [[f"a {NOUNS[i]} {VERBS[i % len(VERBS)]} a {NOUNS[i]} {VERBS[i % len(VERBS)]}"] for i in nouns]


def problems(path: Path, rows: list[list[Any]]) -> str:
    """Rows as a file of problems."""
    lines = [json.dumps({"premise": one, "hypothesis": other, "label": label}) for one, other, label in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


#: A trainer of a user's: its model always gives the same answer, its figures are what the option says.
OWN = """
import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from otherwords.registry import trainers


@trainers("own.v1")
@dataclass(frozen=True)
class Own:
    \"\"\"Learn nothing, and say of it what `figure` says.\"\"\"

    answers_as: ClassVar[str] = "bag_of_words"
    figure: str = "0.5"

    def fit(self, data, folder, seed):
        if self.figure == "raise":
            raise RuntimeError("out of ideas")
        if self.figure != "0.125":
            trainers.make("bag_of_words(steps=1)").function.fit(data, folder, seed)
        return None if self.figure == "none" else {"valid_accuracy": np.float32(self.figure)}
"""


@pytest.fixture
def own_trainer(tmp_path_factory) -> Iterator[str]:
    """A file of a user's with a trainer in it, loaded for one test."""
    file = tmp_path_factory.mktemp("own") / "mine.py"
    file.write_text(OWN, encoding="utf-8")
    load_plugins([str(file)])
    yield str(file)
    trainers.forget(str(file.resolve()))
