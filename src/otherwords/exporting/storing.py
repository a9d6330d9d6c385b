"""Weights stored small and computed with in full: int8 with a scale per output, or fp16, made float at load.

Only weight tables are rounded, never what the model computes, so an answer cannot depend on its neighbours in a batch,
as it does under dynamic quantisation. onnxruntime folds the few operations that widen a table when it loads a graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BadInput
from .graph import Array, onnx

WEIGHTS = ("int8", "fp16", "fp32")
#: Tables of fewer numbers stay as they are, as do biases and norms: there is nothing to save.
SMALL = 1024


def store(model: Any, weights: str) -> None:
    """Rewrite a model, in place, so that its tables are stored as told."""
    if weights not in WEIGHTS:
        raise BadInput(f"found {weights!r}", where="export", field="weights", fix=f"give one of {', '.join(WEIGHTS)}")
    if weights == "fp32":
        return
    graph, ahead = model.graph, []
    tables = {one.name: onnx().numpy_helper.to_array(one) for one in graph.initializer}
    tables = {name: a for name, a in tables.items() if a.dtype == np.float32 and a.ndim > 1 and a.size >= SMALL}
    for name, table in tables.items():
        users = [node for node in graph.node if name in node.input]
        small = _fp16(name, table) if weights == "fp16" else _int8(name, table, users)
        _replace(graph, name, small)
        ahead += _widen(graph, name, list(small), users)
    nodes = [*ahead, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)


def rounded(table: Array, axis: int) -> tuple[Array, Array]:
    """Whole numbers from -127 to 127 and a scale for each channel along `axis`, least squares off the table.

    >>> codes, scales = rounded(np.array([[0.5, -1.0], [0.0, 0.0]], np.float32), axis=0)
    >>> codes.tolist(), (codes * scales).round(2).tolist()
    ([[64, -127], [0, 0]], [[0.5, -1.0], [0.0, 0.0]])
    """
    rows = np.moveaxis(table, axis, 0).reshape(table.shape[axis], -1).astype(np.float64)
    widest = np.abs(rows).max(axis=1, keepdims=True)
    codes = np.rint(rows * (127 / np.where(widest > 0, widest, 1)))
    norm = np.maximum((codes * codes).sum(axis=1, keepdims=True), 1)
    scales = (rows * codes).sum(axis=1, keepdims=True) / norm  # the best for these codes
    moved = np.moveaxis(table, axis, 0)
    wide = scales.reshape(-1, *([1] * (table.ndim - 1))).astype(np.float32)
    return np.moveaxis(codes.reshape(moved.shape).astype(np.int8), 0, axis), np.moveaxis(wide, 0, axis)


def _fp16(name: str, table: Array) -> dict[str, Array]:
    if np.abs(table).max() > np.finfo(np.float16).max:
        message = f"a weight of {np.abs(table).max():.3g} is beyond fp16"
        raise BadInput(message, where="export", field="weights", fix="store them as int8 or fp32")
    return {f"{name}.stored": table.astype(np.float16)}


def _int8(name: str, table: Array, users: list[Any]) -> dict[str, Array]:
    codes, scales = rounded(table, _outputs_axis(name, table, users))
    return {f"{name}.stored": codes, f"{name}.scale": scales}


def _outputs_axis(name: str, table: Array, users: list[Any]) -> int:
    """Which axis counts the outputs of a table, by what is done with it; the rows, where it is looked up."""
    last = {"MatMul", "FusedMatMul", "Attention"}
    across = all(node.op_type in last or (node.op_type == "Gemm" and not _setting(node, "transB")) for node in users)
    return table.ndim - 1 if users and across and all(node.input[1] == name for node in users) else 0


def _replace(graph: Any, name: str, small: dict[str, Array]) -> None:
    (place,) = (i for i, one in enumerate(graph.initializer) if one.name == name)
    del graph.initializer[place]
    made = [onnx().numpy_helper.from_array(np.ascontiguousarray(array), new) for new, array in small.items()]
    graph.initializer.extend(made)


def _widen(graph: Any, name: str, small: list[str], users: list[Any]) -> list[Any]:
    """Nodes that make the whole table float at load; look-ups widen no more than the rows they take."""
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
    wide = f"{out}.wide"
    return [make("Cast", small[:1], [wide], to=to), make("Mul", [wide, small[1]], [out])]


def _setting(node: Any, name: str) -> int:
    return next((int(one.i) for one in node.attribute if one.name == name), 0)
