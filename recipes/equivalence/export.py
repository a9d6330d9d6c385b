"""Write a judge of the check `equivalence`: a graph that takes its encoder's weights from the encoder's own file.

    python recipes/equivalence/export.py ENCODER NAME.npz OUT.onnx [--exact]

ENCODER is the folder of nli-small or of all-mpnet-base-v2. The encoder's tables are not repeated: they are external
data in model.onnx or model.safetensors, at the offsets where they stand there, so the digest of that file is noted in
the graph. The low-rank additions and the head are stored in four bits, with a scale for each 32 of them; the additions
are multiplied out and added to the tables once, when the graph is loaded. --exact stores all of it as float.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from encoders import LARGE, SMALL, Shape, buckets
from onnx import TensorProto, helper, numpy_helper

from otherwords.exporting.graphs import FUSED, IR, OPSET
from otherwords.storage.files import fingerprint

#: Constants of fewer bytes are copied.
SMALLEST = 128
#: So many numbers of four bits have a scale of their own.
BLOCK = 32
#: States in nli-small's graph by their names: its last layer reads the first token only.
ALL_TOKENS, FIRST_TOKEN, LAST = "layernormalization_63_0", "slice_64_0", "layernormalization_78_0"
#: The maps of a layer, as all-mpnet-base-v2 calls them.
PARTS = {"q": "attention.attn.q", "k": "attention.attn.k", "v": "attention.attn.v", "o": "attention.attn.o",
         "up": "intermediate.dense", "down": "output.dense"}  # fmt: skip
#: What PyTorch's LayerNorm adds to the variance.
EPSILON = 1e-5


class Additions:
    """Nodes and constants that are added to a graph."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.known: dict[tuple[Any, ...], str] = {}

    def __call__(self, kind: str, *inputs: Any, out: str = "", domain: str = "", count: int = 1, **more: Any) -> Any:
        """Add a node; give its output, or all of several. Numbers and arrays become constants."""
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        outputs = [out or f"j{len(self.nodes)}_{place}" for place in range(count)]
        self.nodes.append(helper.make_node(kind, names, outputs, domain=domain, **more))
        return outputs[0] if count == 1 else outputs

    def constant(self, value: Any) -> str:
        """Add a constant, unless it is there; give its name."""
        array = np.asarray(value)
        array = array.astype(np.float32) if array.dtype.kind == "f" else array
        key = (array.dtype.str, array.shape, array.tobytes())
        if key in self.known:
            return self.known[key]
        name = self.known[key] = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array if array.ndim == 0 else np.ascontiguousarray(array), name))
        return name

    def packed(self, table: Any, exact: bool) -> str:
        """A table in four bits, two numbers to a byte and a scale for each block, made float at load."""
        if exact:
            return self.constant(table)
        rows, columns = table.shape
        blocks = np.asarray(table, np.float32).reshape(rows, columns // BLOCK, BLOCK)
        scales = (np.abs(blocks).max(2, keepdims=True) / 7).astype(np.float16)
        codes = np.clip(np.round(blocks / np.maximum(scales.astype(np.float32), 1e-8)), -7, 7) + 8
        low, high = np.split(codes.reshape(rows, columns).astype(np.uint8), 2, axis=1)
        both = self("Cast", self.constant(low + 16 * high), to=TensorProto.FLOAT)
        upper = self("Floor", self("Div", both, 16.0))
        lower = self("Sub", both, self("Mul", upper, 16.0))
        numbers = self("Sub", self("Concat", lower, upper, axis=1), 8.0)
        wide = self(
            "Mul",
            self("Reshape", numbers, np.array(blocks.shape)),
            self("Cast", self.half(scales), to=TensorProto.FLOAT),
        )
        return str(self("Reshape", wide, np.array([rows, columns])))

    def half(self, value: Any) -> str:
        """Add a constant in half precision; give its name."""
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value, np.float16), name))
        return name


def head(graph: Additions, x: str, shape: Shape, weights: dict[str, Any], exact: bool) -> None:
    """From the last states of `input_ids` to `probability`."""
    ends, begin = (
        graph("Cast", graph("Equal", "input_ids", np.int64(one)), to=TensorProto.INT64)
        for one in (shape.end, shape.begin)
    )
    passed, inside = graph("CumSum", ends, np.int64(1)), graph("Equal", graph("Add", ends, begin), np.int64(0))
    means = []
    for before in (0, shape.between):
        own = graph("And", graph("Equal", passed, np.int64(before)), inside)
        own = graph("Unsqueeze", graph("Cast", own, to=TensorProto.FLOAT), np.array([2]))
        total = graph("ReduceSum", graph("Mul", x, own), np.array([1]), keepdims=0)
        count = graph("Max", graph("ReduceSum", own, np.array([1]), keepdims=0), 1.0)
        means.append(graph("Div", total, count))
    one, two = means
    first = graph("Gather", x, np.int64(0), axis=1)
    features = graph("Concat", first, one, two, graph("Abs", graph("Sub", one, two)), graph("Mul", one, two), axis=1)
    scale, shift = (weights[f"equal.norm.{name}"] for name in ("weight", "bias"))
    features = graph("LayerNormalization", features, scale, shift, axis=-1, epsilon=EPSILON)
    table = graph("Transpose", graph.packed(weights["equal.inner.weight"], exact), perm=[1, 0])
    inner = graph("BiasGelu", graph("MatMul", features, table), weights["equal.inner.bias"], domain=FUSED)
    # Not a product of matrices: with one column its sums would depend on the number of rows.
    logit = graph("ReduceSum", graph("Mul", inner, weights["equal.out.weight"][0]), np.array([1]), keepdims=1)
    graph("Sigmoid", graph("Add", logit, weights["equal.out.bias"]), out="probability")


def finished(graph: Additions, given: Sequence[Any], constants: Sequence[Any], file: Path, **versions: Any) -> Any:
    """The model, with the digests of the file that it refers to and of the tokenizer."""
    output = helper.make_tensor_value_info("probability", TensorProto.FLOAT, ["batch", 1])
    whole = helper.make_graph(graph.nodes, "equivalence", given, [output], constants)
    made = helper.make_model(whole, **versions)
    helper.set_model_props(made, {one.name: fingerprint(one) for one in (file, file.parent / "tokenizer.json")})
    return made


# On nli-small


def tables(layer: int) -> dict[str, tuple[str, ...]]:
    """Which tables of the graph hold which maps of a layer; the last layer has query, key and value apart."""
    start = 7 + 12 * layer
    if layer < SMALL.layers - 1:
        parts: Iterable[tuple[int, tuple[str, ...]]] = ((0, ("q", "k", "v")), (2, ("o",)), (6, ("up",)), (8, ("down",)))
    else:
        parts = ((2, ("q",)), (3, ("k",)), (4, ("v",)), (6, ("o",)), (10, ("up",)), (12, ("down",)))
    return {f"constant_{start + place}": names for place, names in parts}


def adapted(graph: Additions, weights: dict[str, Any], exact: bool) -> dict[str, str]:
    """The tables with their additions of low rank, by the name of the table."""
    found = {}
    for layer in range(SMALL.layers):
        for table, parts in tables(layer).items():
            sums = []
            for part in parts:
                down, up = (weights[f"layers.{layer}.{part}.{which}"].astype(np.float32) for which in ("down", "up"))
                first = graph("Transpose", graph.packed(down, exact), perm=[1, 0])
                sums.append(graph("MatMul", first, graph.packed(2 * up.T, exact)))
            added = graph("Concat", *sums, axis=1) if len(sums) > 1 else sums[0]
            found[table] = graph("Add", table, added)
    return found


def refer(constants: Iterable[Any], file: Path) -> None:
    """Replace the content of constants by the places in a file where the same bytes stand."""
    raw = file.read_bytes()
    for one in constants:
        if len(one.raw_data) < SMALLEST:
            continue
        size, offset = len(one.raw_data), raw.index(one.raw_data)
        one.ClearField("raw_data")
        one.data_location = TensorProto.EXTERNAL
        for key, value in (("location", file.name), ("offset", offset), ("length", size)):
            one.external_data.add(key=key, value=str(value))


def small(file: Path, weights: dict[str, Any], exact: bool) -> Any:
    """The judge on nli-small: its encoder with adapted tables, on all tokens up to its last layer."""
    model, graph = onnx.load(file), Additions()
    renamed = {FIRST_TOKEN: ALL_TOKENS, **adapted(graph, weights, exact)}
    nodes, makers = list(model.graph.node), {}
    for node in nodes:
        made = node.output[0].startswith("constant_")  # dequantised: an adapted table is added to these
        node.input[:] = node.input if made else [renamed.get(name, name) for name in node.input]
        makers.update(dict.fromkeys(node.output, node))
    needed, open_names = set(), [LAST, *(name for node in graph.nodes for name in node.input)]
    while open_names:
        if (name := open_names.pop()) in makers and name not in needed:
            needed.update(makers[name].output)
            open_names += makers[name].input
    encoder = [node for node in nodes if needed & {*node.output}]
    made = [node for node in encoder if node.output[0].startswith("constant_")]
    graph.nodes = [*made, *graph.nodes, *(node for node in encoder if node not in made)]
    head(graph, LAST, SMALL, weights, exact)
    used = {name for node in graph.nodes for name in node.input}
    tables = [one for one in model.graph.initializer if one.name in used]
    refer(tables, file)
    versions = {"opset_imports": model.opset_import, "ir_version": model.ir_version}
    return finished(graph, model.graph.input, [*tables, *graph.constants], file, **versions)


# On all-mpnet-base-v2


class Encoder(Additions):
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
        given = (query, key, value, bias, "", distances)
        mixed = self("MultiHeadAttention", *given, domain=FUSED, num_heads=LARGE.heads)
        name = f"encoder.layer.{at}"
        x = self.norm(
            self("Add", self("Add", self.linear(mixed, at, "o"), self.bias(at, "o")), x), f"{name}.attention.LayerNorm"
        )
        raised = self("BiasGelu", self.linear(x, at, "up"), self.bias(at, "up"), domain=FUSED)
        lowered = self("Add", self.linear(raised, at, "down"), self.bias(at, "down"))
        return self.norm(self("Add", lowered, x), f"{name}.output.LayerNorm")


def large(file: Path, weights: dict[str, Any], exact: bool) -> Any:
    """The judge on all-mpnet-base-v2, whose tables are those of model.safetensors."""
    graph = Encoder(file, weights, exact)
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
    head(graph, x, LARGE, weights, exact)
    given = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "length"])
    versions = [helper.make_opsetid("", OPSET), helper.make_opsetid(FUSED, 1)]
    return finished(graph, [given], graph.constants, file, opset_imports=versions, ir_version=IR)


def main() -> None:
    """Write the graph."""
    parser = argparse.ArgumentParser()
    for name in ("encoder", "weights", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--exact", action="store_true")
    given = parser.parse_args()
    own = given.encoder / "model.onnx"
    build, file = (small, own) if own.exists() else (large, given.encoder / "model.safetensors")
    model = build(file, dict(np.load(given.weights)), given.exact)
    print(f"{given.out}: {given.out.write_bytes(model.SerializeToString(deterministic=True)):,} bytes")


if __name__ == "__main__":
    main()
