"""Tiny models of many architectures, made from their configurations and saved with save_pretrained."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers.utils import logging

from otherwords.exporting.export import Export, export

TEXT = "a dog runs in the park while it rains and no cat sleeps"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *TEXT.split()]
LABELS = ("contradiction", "entailment", "neutral")
SIZES = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32, "intermediate_size": 64}
DISTIL = {"n_layers": 2, "n_heads": 4, "dim": 32, "hidden_dim": 64}
DEBERTA = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 8, "type_vocab_size": 0}
DEBERTA |= {"pooler_hidden_size": 32, "position_biased_input": False}
#: What makes each architecture tiny; RoBERTa's relatives count positions from behind the padding token.
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "Bert": SIZES,
    "Roberta": {**SIZES, "type_vocab_size": 1},
    "XLMRoberta": {**SIZES, "type_vocab_size": 1},
    "Camembert": {**SIZES, "type_vocab_size": 1},
    "Electra": {**SIZES, "embedding_size": 16},
    "DistilBert": DISTIL,
    "MPNet": SIZES,
    "Albert": {**SIZES, "embedding_size": 16},
    "DebertaV2": {**SIZES, **DEBERTA},
}
BUILT = ("Bert", "Roberta", "XLMRoberta", "Camembert", "Electra", "DistilBert")


def tiny_model(name: str, kind: str = "SequenceClassification", **settings: Any) -> Any:
    """A model with large random weights, so that inputs matter."""
    torch.manual_seed(5)
    sizes = {**ARCHITECTURES[name], "vocab_size": len(WORDS), "max_position_embeddings": 40, "pad_token_id": 0}
    names = {"id2label": dict(enumerate(LABELS)), "label2id": {label: i for i, label in enumerate(LABELS)}}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*torch.jit", DeprecationWarning)  # DeBERTa's own
        config = getattr(transformers, f"{name}Config")(**{**sizes, **names, "initializer_range": 0.4, **settings})
        return getattr(transformers, f"{name}For{kind}")(config).eval()


def tiny_tokenizer(types: bool = True) -> Any:
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    second = ":1" if types else ""
    pair, special = f"[CLS] $A [SEP] $B{second} [SEP]{second}", [("[CLS]", 2), ("[SEP]", 3)]
    words.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", pair, special)
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("unk", "pad", "cls", "sep", "mask")}
    inputs = ["input_ids", *(["token_type_ids"] if types else []), "attention_mask"]
    return transformers.PreTrainedTokenizerFast(tokenizer_object=words, model_input_names=inputs, **names)


def save(model: Any, folder: Path, *, types: bool = True) -> Path:
    logging.disable_progress_bar()
    model.save_pretrained(folder)
    logging.enable_progress_bar()
    tiny_tokenizer(types).save_pretrained(folder)
    return folder


def some_pairs(count: int = 40, seed: int = 3) -> list[tuple[str, str]]:
    rng = random.Random(seed)
    return [tuple(" ".join(rng.choices(WORDS[5:], k=rng.randrange(1, 12))) for _ in "ab") for _ in range(count)]  # type: ignore[misc]


@pytest.fixture(scope="session")
def problems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Problems of the few words that the tiny tokenizer knows."""
    labels = ("entailment", "neutral", "contradiction")
    rows = [{"premise": a, "hypothesis": b, "label": labels[i % 3]} for i, (a, b) in enumerate(some_pairs(30))]
    path = tmp_path_factory.mktemp("data") / "problems.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT classifier in a folder."""
    return save(tiny_model("Bert"), tmp_path_factory.mktemp("hf") / "tiny")


@pytest.fixture(scope="module")
def exported(saved: Path, problems: Path, tmp_path_factory: pytest.TempPathFactory) -> Export:
    """The same, exported as int8."""
    return export(str(saved), tmp_path_factory.mktemp("onnx") / "out", on=[str(problems)], limit=1)


@pytest.fixture(scope="session")
def saved_masked_lm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT masked-LM in a folder."""
    return save(tiny_model("Bert", "MaskedLM"), tmp_path_factory.mktemp("hf") / "tiny-mlm")
