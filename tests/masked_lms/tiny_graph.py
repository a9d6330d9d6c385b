"""A masked-LM without torch: the mean of the words and the place of the mask decide, in a graph of a dozen nodes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [*SPECIAL, *"a dog runs in the park while it rains and no cat sleeps".split()]  # noqa: SIM905


def save(folder: Path) -> Path:
    """Write the graph, its tokenizer and its config."""
    folder.mkdir(parents=True)
    onnx.save(graph(), folder / "model.onnx")
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=special)
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"vocab_size": len(WORDS)}), encoding="utf-8")
    return folder


def graph() -> onnx.ModelProto:
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
    made = helper.make_graph(
        nodes,
        "tiny",
        [info(name, TensorProto.INT64, shape) for name, shape in shapes.items()],
        [
            *(info(name, kind, ["batch", "top"]) for name, kind in outputs),
            info("own_logp", TensorProto.FLOAT, ["batch"]),
        ],
        [numpy_helper.from_array(table, name) for name, table in tables.items()],
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
