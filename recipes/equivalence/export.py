"""Write the judge of the check `equivalence`: a graph of some hundred kilobytes beside nli-small's model.onnx.

    python recipes/equivalence/export.py src/otherwords/assets/nli-small NAME.npz [--exact] [-o FILE]

The encoder's tables are not repeated: they are external data in model.onnx, at the offsets where they stand there, so
the digest of that file is noted in the graph. The low-rank additions and the head are stored in four bits, with a scale
for each 32 of them; the additions are multiplied out and added to the tables once, when the graph is loaded. --exact
stores all of it as float, to compare.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from otherwords.exporting.graphs import FUSED
from otherwords.storage.files import fingerprint

#: Constants of fewer bytes are copied.
SMALL = 128
LAYERS = 6
#: So many numbers of four bits have a scale of their own.
BLOCK = 32
#: States in nli-small's graph by their names: its last layer reads the first token only.
ALL_TOKENS, FIRST_TOKEN, LAST = "layernormalization_63_0", "slice_64_0", "layernormalization_78_0"
FIRST, POOLED, CLASSIFIER = "squeeze_79_0", "tanh_82_0", "constant_85"
#: What PyTorch's LayerNorm adds to the variance.
EPSILON = 1e-5


class Additions:
    """Nodes and constants that are added to a graph."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def __call__(self, kind: str, *inputs: Any, out: str = "", domain: str = "", count: int = 1, **more: Any) -> Any:
        """Add a node; give its output, or all of several. Numbers and arrays become constants."""
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        outputs = [out or f"j{len(self.nodes)}_{place}" for place in range(count)]
        self.nodes.append(helper.make_node(kind, names, outputs, domain=domain, **more))
        return outputs[0] if count == 1 else outputs

    def constant(self, value: Any) -> str:
        """Add a constant; give its name."""
        array = np.asarray(value)
        array = array.astype(np.float32) if array.dtype.kind == "f" else array
        name = f"c{len(self.constants)}"
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


def tables(layer: int) -> dict[str, tuple[str, ...]]:
    """Which tables of the graph hold which maps of a layer; the last layer has query, key and value apart."""
    start = 7 + 12 * layer
    if layer < LAYERS - 1:
        parts: Iterable[tuple[int, tuple[str, ...]]] = ((0, ("q", "k", "v")), (2, ("o",)), (6, ("up",)), (8, ("down",)))
    else:
        parts = ((2, ("q",)), (3, ("k",)), (4, ("v",)), (6, ("o",)), (10, ("up",)), (12, ("down",)))
    return {f"constant_{start + place}": names for place, names in parts}


def both_orders(graph: Additions) -> None:
    """Below each other, the rows as given and with their two texts exchanged, as `ids` and `types`."""
    length = graph("Shape", "input_ids", start=1, end=2)
    place = graph("Range", np.int64(0), graph("Squeeze", length), np.int64(1))
    second = graph("ReduceSum", "token_type_ids", np.array([1]), keepdims=1)  # tokens of the second text and its end
    early = graph("LessOrEqual", place, second)
    ahead = graph("Sub", graph("Add", place, graph("Sub", length, second)), np.int64(1))
    taken = graph("Where", early, ahead, graph("Sub", place, second))
    taken = graph("Where", graph("Equal", place, np.int64(0)), np.int64(0), taken)
    exchanged = graph("GatherElements", "input_ids", taken, axis=1)
    types = graph("Cast", graph("Not", early), to=TensorProto.INT64)
    graph("Concat", "input_ids", exchanged, out="ids", axis=0)
    graph("Concat", "token_type_ids", types, out="types", axis=0)


def adapted(graph: Additions, weights: dict[str, Any], exact: bool) -> dict[str, str]:
    """The tables with their additions of low rank, by the name of the table."""
    found = {}
    for layer in range(LAYERS):
        for table, parts in tables(layer).items():
            sums = []
            for part in parts:
                down, up = (weights[f"layers.{layer}.{part}.{which}"].astype(np.float32) for which in ("down", "up"))
                first = graph("Transpose", graph.packed(down, exact), perm=[1, 0])
                sums.append(graph("MatMul", first, graph.packed(2 * up.T, exact)))
            added = graph("Concat", *sums, axis=1) if len(sums) > 1 else sums[0]
            found[table] = graph("Add", table, added)
    return found


def encode(graph: Additions, nodes: list[Any], weights: dict[str, Any], exact: bool) -> None:
    """Add nli-small's encoder with adapted tables, on the rows of both orders, and all tokens up to its last layer."""
    made = [node for node in nodes if node.output[0].startswith("constant_")]
    graph.nodes += [node for node in made if not node.output[0].startswith(CLASSIFIER)]
    renamed = {"input_ids": "ids", "token_type_ids": "types", FIRST_TOKEN: ALL_TOKENS, **adapted(graph, weights, exact)}
    for node in nodes:
        node.input[:] = [renamed.get(name, name) for name in node.input]
        if node.output[0] == FIRST:
            graph("Gather", LAST, np.int64(0), out=FIRST, axis=1)
        elif node not in made and node.output[0] not in (FIRST_TOKEN, "logits"):
            graph.nodes.append(node)


def head(graph: Additions, weights: dict[str, Any], exact: bool) -> None:
    """From the pooled state, the first token and the means of both texts, of both orders, to `probability`."""
    second = graph("Unsqueeze", graph("Cast", "types", to=TensorProto.FLOAT), np.array([2]))
    means = []
    for own in (graph("Sub", 1.0, second), second):
        total = graph("ReduceSum", graph("Mul", LAST, own), np.array([1]), keepdims=0)
        means.append(graph("Div", total, graph("ReduceSum", own, np.array([1]), keepdims=0)))
    features = graph("Concat", POOLED, FIRST, *means, axis=1)
    scale, shift = (weights[f"equal.norm.{name}"] for name in ("weight", "bias"))
    features = graph("LayerNormalization", features, scale, shift, axis=-1, epsilon=EPSILON)
    table = graph("Transpose", graph.packed(weights["equal.inner.weight"], exact), perm=[1, 0])
    inner = graph("BiasGelu", graph("MatMul", features, table), weights["equal.inner.bias"], domain=FUSED)
    one, other = graph("Split", inner, axis=0, num_outputs=2, count=2)
    joined = graph("Concat", graph("Add", one, other), graph("Abs", graph("Sub", one, other)), axis=1)
    # Not a product of matrices: with one column its sums would depend on the number of rows.
    logit = graph("ReduceSum", graph("Mul", joined, weights["equal.out.weight"][0]), np.array([1]), keepdims=1)
    graph("Sigmoid", graph("Add", logit, weights["equal.out.bias"]), out="probability")


def refer(constants: Iterable[Any], file: Path) -> None:
    """Replace the content of constants by the places in a file where the same bytes stand."""
    raw = file.read_bytes()
    for one in constants:
        if len(one.raw_data) < SMALL:
            continue
        size, offset = len(one.raw_data), raw.index(one.raw_data)
        one.ClearField("raw_data")
        one.data_location = TensorProto.EXTERNAL
        for key, value in (("location", file.name), ("offset", offset), ("length", size)):
            one.external_data.add(key=key, value=str(value))


def build(file: Path, weights: dict[str, Any], *, exact: bool = False) -> Any:
    """The judge's graph: pairs of texts in, probabilities out; a pair has the same one in both orders."""
    model = onnx.load(file)
    graph = Additions()
    both_orders(graph)
    encode(graph, list(model.graph.node), weights, exact)
    head(graph, weights, exact)
    used = {name for node in graph.nodes for name in node.input}
    tables = [one for one in model.graph.initializer if one.name in used]
    refer(tables, file)
    output = helper.make_tensor_value_info("probability", TensorProto.FLOAT, ["batch", 1])
    whole = helper.make_graph(graph.nodes, "equivalence", model.graph.input, [output], [*tables, *graph.constants])
    made = helper.make_model(whole, opset_imports=model.opset_import, ir_version=model.ir_version)
    helper.set_model_props(made, {file.name: fingerprint(file)})
    return made


def main() -> None:
    """Write the graph."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("-o", "--out", type=Path)
    given = parser.parse_args()
    weights = dict(np.load(given.weights))
    model = build(given.folder / "model.onnx", weights, exact=given.exact)
    out = given.out or given.folder / "equivalence.onnx"
    print(f"{out}: {out.write_bytes(model.SerializeToString(deterministic=True)):,} bytes")


if __name__ == "__main__":
    main()
