"""Store weights as int8 with scales, or as fp16; all arithmetic stays fp32.

Only weight tables are rounded, never activations, so an answer cannot depend on its neighbours in a batch, as it does
under dynamic quantisation. The nodes that make a table float again have constant inputs: onnxruntime computes them
once, when it loads the graph.
"""

from typing import Any

import numpy as np

from ..errors import BadInput
from .graphs import Array, onnx

WEIGHTS = ("int8", "fp16", "fp32")
#: Tables with fewer numbers stay as they are, like biases and norms: there is little to save.
SMALL = 1024
#: Inputs of an output that share a scale. One for all of them makes the error of MiniLM-L6's logits a third larger,
#: and the file smaller by a thirtieth.
BLOCK = 64


def store(model: Any, weights: str) -> None:
    """Change a model in place so that its tables are stored as int8 or fp16; fp32 changes nothing."""
    if weights not in WEIGHTS:
        raise BadInput(f"found {weights!r}", where="export", field="weights", fix=f"give one of {', '.join(WEIGHTS)}")
    if weights == "fp32":
        return
    graph, ahead = model.graph, []
    tables = {one.name: onnx().numpy_helper.to_array(one) for one in graph.initializer}
    tables = {name: a for name, a in tables.items() if a.dtype == np.float32 and a.ndim > 1 and a.size >= SMALL}
    if not all(np.isfinite(table).all() for table in tables.values()):
        fix = "train or save the model again"
        raise BadInput("the weights contain NaN or infinity", where="export", field="weights", fix=fix)
    for name, table in tables.items():
        users = [node for node in graph.node if name in node.input]
        small = _fp16(name, table) if weights == "fp16" else _int8(name, table, users)
        _replace(graph, name, small)
        ahead += _widen(graph, name, list(small), users)
    nodes = [*ahead, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)


def rounded(table: Array, over: int | tuple[int, ...]) -> tuple[Array, Array]:
    """Integers from -127 to 127, and least-squares scales, each shared along the axes `over`.

    >>> codes, scales = rounded(np.array([[0.5, -1.0], [0.0, 0.0]], np.float32), over=1)
    >>> codes.tolist(), (codes * scales).round(2).tolist()
    ([[64, -127], [0, 0]], [[0.5, -1.0], [0.0, 0.0]])
    """
    exact = table.astype(np.float64)
    widest = np.abs(exact).max(axis=over, keepdims=True)
    codes = np.rint(exact * (127 / np.where(widest > 0, widest, 1)))
    norm = np.maximum((codes * codes).sum(axis=over, keepdims=True), 1)
    scales = (exact * codes).sum(axis=over, keepdims=True) / norm  # the best for these codes
    return codes.astype(np.int8), scales.astype(np.float32)


def _fp16(name: str, table: Array) -> dict[str, Array]:
    if np.abs(table).max() > np.finfo(np.float16).max:
        message = f"a weight of {np.abs(table).max():.3g} is out of range for fp16"
        raise BadInput(message, where="export", field="weights", fix="store them as int8 or fp32")
    return {f"{name}.stored": table.astype(np.float16)}


def _int8(name: str, table: Array, users: list[Any]) -> dict[str, Array]:
    """Codes and scales, and the shape of the table where it is stored in blocks."""
    across = all(_is_product(node, name) and not _setting(node, "transB") for node in users)  # inputs x outputs
    if table.ndim == 2 and all(_is_product(node, name) for node in users):
        inputs, outputs = table.shape if across else table.shape[::-1]
        if inputs % BLOCK == 0:
            parts = (-1, BLOCK, outputs) if across else (outputs, -1, BLOCK)
            codes, scales = rounded(table.reshape(parts), over=1 if across else 2)
            shape = np.array(table.shape, np.int64)
            return {f"{name}.stored": codes, f"{name}.scale": scales, f"{name}.shape": shape}
    codes, scales = rounded(table, tuple(range(table.ndim - 1) if across else range(1, table.ndim)))
    return {f"{name}.stored": codes, f"{name}.scale": scales}


def _is_product(node: Any, name: str) -> bool:
    """Whether a node multiplies by a table; its columns are then the outputs, unless it is transposed."""
    return node.op_type in ("MatMul", "FusedMatMul", "Attention", "Gemm") and node.input[1] == name


def _replace(graph: Any, name: str, small: dict[str, Array]) -> None:
    (place,) = (i for i, one in enumerate(graph.initializer) if one.name == name)
    del graph.initializer[place]
    tensors = [onnx().numpy_helper.from_array(np.ascontiguousarray(array), new) for new, array in small.items()]
    graph.initializer.extend(tensors)


def _widen(graph: Any, name: str, small: list[str], users: list[Any]) -> list[Any]:
    """Nodes that make the whole table float at load; look-ups convert only the rows they take."""
    lookups = [
        node for node in users if node.op_type == "Gather" and not _setting(node, "axis") and node.input[0] == name
    ]
    for node in lookups:
        place = next(i for i, other in enumerate(graph.node) if other is node or other == node)
        del graph.node[place]
        for new in reversed(_looked_up(small, node.input[1], node.output[0])):
            graph.node.insert(place, new)
    return _widened(small, name) if len(lookups) < len(users) else []


def _looked_up(small: list[str], rows: str, out: str) -> list[Any]:
    make = onnx().helper.make_node
    taken = [make("Gather", [one, rows], [f"{out}.{part}"]) for part, one in zip(("taken", "by"), small, strict=False)]
    return [*taken, *_widened([node.output[0] for node in taken], out)]


def _widened(small: list[str], out: str) -> list[Any]:
    make, to = onnx().helper.make_node, onnx().TensorProto.FLOAT
    if len(small) == 1:
        return [make("Cast", small, [out], to=to)]
    wide, scaled = f"{out}.wide", out if len(small) == 2 else f"{out}.scaled"
    nodes = [make("Cast", small[:1], [wide], to=to), make("Mul", [wide, small[1]], [scaled])]
    return nodes if len(small) == 2 else [*nodes, make("Reshape", [scaled, small[2]], [out])]


def _setting(node: Any, name: str) -> int:
    return next((int(one.i) for one in node.attribute if one.name == name), 0)
