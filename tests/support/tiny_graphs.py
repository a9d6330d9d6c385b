"""Tiny ONNX graphs that need no torch: a classifier and a masked-LM of a dozen nodes each, and their folders."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tiny_models import LABELS, SPECIAL, WORDS
from tokenizers import Tokenizer, models, pre_tokenizers, processors

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_random = np.random.default_rng(7)
#: The classifier's tables.
EMBEDDING = _random.normal(size=(len(WORDS), 5)).astype(np.float32)
SEGMENT = _random.normal(size=(2, 5)).astype(np.float32)
WEIGHT = _random.normal(size=(5, 3)).astype(np.float32)


def save_classifier(folder: Path, model: onnx.ModelProto | None = None, labels: tuple[str, ...] = LABELS) -> Path:
    """Write a graph, by default `classifier_graph()`, its tokenizer and its config."""
    return _save(folder, model or classifier_graph(), {"id2label": {str(i): name for i, name in enumerate(labels)}})


def save_masked_lm(folder: Path) -> Path:
    """Write `masked_lm_graph()`, its tokenizer and its config."""
    return _save(folder, masked_lm_graph(), {"vocab_size": len(WORDS)})


def classifier_graph(inputs=INPUTS, columns: int | str = 3, quantised: bool = False) -> onnx.ModelProto:
    """Embed, mean over what the mask keeps, one linear layer: a bag of words in the shape of a transformer."""
    constants = {
        "E": EMBEDDING,
        "T": SEGMENT,
        "W": WEIGHT,
        "two": np.array([2], np.int64),
        "one": np.array([1], np.int64),
    }
    nodes = [
        helper.make_node("Gather", ["E", "input_ids"], ["words"]),
        helper.make_node("Gather", ["T", "token_type_ids"], ["segments"]) if "token_type_ids" in inputs else None,
        helper.make_node(
            "Add" if "token_type_ids" in inputs else "Identity", ["words", "segments"][: len(inputs) - 1], ["x"]
        ),
        helper.make_node("Cast", ["attention_mask"], ["m"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["m", "two"], ["mask"]),
        helper.make_node("Mul", ["x", "mask"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "one"], ["sum"], keepdims=0),
        helper.make_node("ReduceSum", ["mask", "one"], ["count"], keepdims=0),
        helper.make_node("Div", ["sum", "count"], ["mean"]),
    ]
    if quantised:
        nodes += [
            helper.make_node("DynamicQuantizeLinear", ["mean"], ["q", "scale", "zero"]),
            helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["pooled"]),
        ]
    nodes.append(helper.make_node("MatMul", ["pooled" if quantised else "mean", "W"], ["logits"]))
    graph = helper.make_graph(
        [node for node in nodes if node],
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in inputs],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", columns])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def masked_lm_graph() -> onnx.ModelProto:
    """The mean of the words and the position of the mask decide."""
    chance = np.random.default_rng(3)
    tables = {
        "words": chance.normal(size=(len(WORDS), 6)).astype(np.float32),
        "places": chance.normal(size=(512, 6)).astype(np.float32),
        "out": (3 * chance.normal(size=(6, len(WORDS)))).astype(np.float32),
        "one": np.array([1], np.int64),
    }
    nodes = [
        helper.make_node("Gather", ["words", "input_ids"], ["embedded"]),
        helper.make_node("ReduceMean", ["embedded"], ["mean"], axes=[1], keepdims=0),
        helper.make_node("Gather", ["places", "at"], ["place"]),
        helper.make_node("Add", ["mean", "place"], ["state"]),
        helper.make_node("MatMul", ["state", "out"], ["logits"]),
        helper.make_node("LogSoftmax", ["logits"], ["logp"], axis=1),
        helper.make_node("TopK", ["logp", "k"], ["top_logp", "top_ids"], axis=1),
        helper.make_node("Unsqueeze", ["own", "one"], ["own_column"]),
        helper.make_node("GatherElements", ["logp", "own_column"], ["own_found"], axis=1),
        helper.make_node("Squeeze", ["own_found", "one"], ["own_logp"]),
    ]
    shapes = {"input_ids": ["batch", "length"], "at": ["batch"], "own": ["batch"], "k": [1]}
    info = helper.make_tensor_value_info
    outputs = [("top_ids", TensorProto.INT64), ("top_logp", TensorProto.FLOAT)]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [info(name, TensorProto.INT64, shape) for name, shape in shapes.items()],
        [
            *(info(name, kind, ["batch", "top"]) for name, kind in outputs),
            info("own_logp", TensorProto.FLOAT, ["batch"]),
        ],
        [numpy_helper.from_array(table, name) for name, table in tables.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _save(folder: Path, model: onnx.ModelProto, config: dict[str, object]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "model.onnx")
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    pair, special = "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", pair, special)
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.enable_padding(length=40)  # a tokenizer's own settings must not reach the model
    tokenizer.enable_truncation(4)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder
