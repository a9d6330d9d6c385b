"""Write the large judge of the check `equivalence`: a graph of two megabytes that takes its weights from another file.

    python recipes/equivalence/export_large.py ALL_MPNET_BASE_V2 NAME.npz OUT.onnx [--exact]

The encoder's tables are not repeated: they are external data in model.safetensors of all-mpnet-base-v2, at the offsets
where they stand there, so the digest of that file is noted in the graph. The low-rank additions and the head are stored
in four bits, as those of the small judge (export.py).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from encoders import LARGE, buckets
from export import EPSILON, Additions
from onnx import TensorProto, helper

from otherwords.exporting.graphs import FUSED, IR, OPSET
from otherwords.storage.files import fingerprint

PARTS = {"q": "attention.attn.q", "k": "attention.attn.k", "v": "attention.attn.v", "o": "attention.attn.o",
         "up": "intermediate.dense", "down": "output.dense"}  # fmt: skip


class Judge(Additions):
    """The graph: tables of the file, each with its addition."""

    def __init__(self, file: Path, weights: dict[str, Any], exact: bool) -> None:
        super().__init__()
        with file.open("rb") as opened:
            size = int.from_bytes(opened.read(8), "little")
            self.places, self.start = json.loads(opened.read(size)), 8 + size
        self.file, self.weights, self.exact = file, weights, exact

    def table(self, name: str) -> str:
        """A tensor of the file."""
        place, made = self.places[name], onnx.TensorProto()
        first, last = place["data_offsets"]
        made.name, made.data_type, made.data_location = name, TensorProto.FLOAT, TensorProto.EXTERNAL
        made.dims.extend(place["shape"])
        for key, value in (("location", self.file.name), ("offset", self.start + first), ("length", last - first)):
            made.external_data.add(key=key, value=str(value))
        if name not in {one.name for one in self.constants}:
            self.constants.append(made)
        return name

    def linear(self, x: str, layer: int, part: str) -> str:
        """A map of a layer with its addition of low rank, without its bias."""
        down, up = (self.weights[f"layers.{layer}.{part}.{which}"].astype(np.float32) for which in ("down", "up"))
        first = self("Transpose", self.packed(down, self.exact), perm=[1, 0])
        added = self("MatMul", first, self.packed(2 * up.T, self.exact))
        own = self("Transpose", self.table(f"encoder.layer.{layer}.{PARTS[part]}.weight"), perm=[1, 0])
        return str(self("MatMul", x, self("Add", own, added)))

    def bias(self, layer: int, part: str) -> str:
        """The bias of a map."""
        return self.table(f"encoder.layer.{layer}.{PARTS[part]}.bias")

    def norm(self, x: str, name: str) -> str:
        """A layer norm of the file."""
        scale, shift = (self.table(f"{name}.{kind}") for kind in ("weight", "bias"))
        return str(self("LayerNormalization", x, scale, shift, axis=-1, epsilon=LARGE.epsilon))

    def layer(self, x: str, at: int, distances: str) -> str:
        """One layer."""
        query, key, value = (self.linear(x, at, part) for part in ("q", "k", "v"))
        bias = self("Concat", *(self.bias(at, part) for part in ("q", "k", "v")), axis=0)
        mixed = self("MultiHeadAttention", query, key, value, bias, "", distances, domain=FUSED, num_heads=LARGE.heads)
        name = f"encoder.layer.{at}"
        x = self.norm(
            self("Add", self("Add", self.linear(mixed, at, "o"), self.bias(at, "o")), x), f"{name}.attention.LayerNorm"
        )
        raised = self("BiasGelu", self.linear(x, at, "up"), self.bias(at, "up"), domain=FUSED)
        lowered = self("Add", self.linear(raised, at, "down"), self.bias(at, "down"))
        return self.norm(self("Add", lowered, x), f"{name}.output.LayerNorm")

    def head(self, x: str) -> None:
        """From the last states to `probability`."""
        ends = self("Cast", self("Equal", "input_ids", np.int64(LARGE.end)), to=TensorProto.INT64)
        passed = self("CumSum", ends, np.int64(1))
        begin = self("Cast", self("Equal", "input_ids", np.int64(LARGE.begin)), to=TensorProto.INT64)
        around = self("Add", ends, begin)
        inside = self("Equal", around, np.int64(0))
        means = []
        for text in (0, LARGE.between):
            own = self("And", self("Equal", passed, np.int64(text)), inside)
            own = self("Unsqueeze", self("Cast", own, to=TensorProto.FLOAT), np.array([2]))
            total = self("ReduceSum", self("Mul", x, own), np.array([1]), keepdims=0)
            count = self("Max", self("ReduceSum", own, np.array([1]), keepdims=0), 1.0)
            means.append(self("Div", total, count))
        one, two = means
        first = self("Gather", x, np.int64(0), axis=1)
        features = self("Concat", first, one, two, self("Abs", self("Sub", one, two)), self("Mul", one, two), axis=1)
        scale, shift = (self.weights[f"equal.norm.{name}"] for name in ("weight", "bias"))
        features = self("LayerNormalization", features, scale, shift, axis=-1, epsilon=EPSILON)
        table = self("Transpose", self.packed(self.weights["equal.inner.weight"], self.exact), perm=[1, 0])
        inner = self("BiasGelu", self("MatMul", features, table), self.weights["equal.inner.bias"], domain=FUSED)
        # Not a product of matrices: with one column its sums would depend on the number of rows.
        logit = self("ReduceSum", self("Mul", inner, self.weights["equal.out.weight"][0]), np.array([1]), keepdims=1)
        self("Sigmoid", self("Add", logit, self.weights["equal.out.bias"]), out="probability")


def build(file: Path, weights: dict[str, Any], *, exact: bool = False) -> Any:
    """The judge's graph: tokens of pairs of texts in, probabilities out."""
    graph = Judge(file, weights, exact)
    length = graph("Squeeze", graph("Shape", "input_ids", start=1, end=2))
    place = graph("Range", np.int64(0), length, np.int64(1))
    x = graph("Gather", graph.table("embeddings.word_embeddings.weight"), "input_ids")
    own = graph("Add", place, np.int64(LARGE.offset))
    x = graph("Add", x, graph("Gather", graph.table("embeddings.position_embeddings.weight"), own))
    x = graph.norm(x, "embeddings.LayerNorm")
    # buckets()[0, j] is that of a token j places behind, [j, 0] of one j places before.
    every = buckets(LARGE.places, LARGE.distances).numpy()
    known = np.concatenate([every[:0:-1, 0], every[0]]).astype(np.int64)
    apart = graph("Sub", graph("Unsqueeze", place, np.array([0])), graph("Unsqueeze", place, np.array([1])))
    which = graph("Gather", known, graph("Add", apart, np.int64(LARGE.places - 1)))
    distances = graph("Gather", graph.table("encoder.relative_attention_bias.weight"), which)
    distances = graph("Unsqueeze", graph("Transpose", distances, perm=[2, 0, 1]), np.array([0]))
    for at in range(LARGE.layers):
        x = graph.layer(x, at, distances)
    graph.head(x)
    given = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "length"])
    output = helper.make_tensor_value_info("probability", TensorProto.FLOAT, ["batch", 1])
    whole = helper.make_graph(graph.nodes, "equivalence", [given], [output], graph.constants)
    versions = [helper.make_opsetid("", OPSET), helper.make_opsetid(FUSED, 1)]
    made = helper.make_model(whole, opset_imports=versions, ir_version=IR)
    helper.set_model_props(made, {file.name: fingerprint(file)})
    return made


def main() -> None:
    """Write the graph."""
    parser = argparse.ArgumentParser()
    for name in ("folder", "weights", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--exact", action="store_true")
    given = parser.parse_args()
    model = build(given.folder / "model.safetensors", dict(np.load(given.weights)), exact=given.exact)
    print(f"{given.out}: {given.out.write_bytes(model.SerializeToString(deterministic=True)):,} bytes")


if __name__ == "__main__":
    main()
