"""A graph in the making: constants and operations are named here, so that building one reads like arithmetic."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import MissingExtra

Array = npt.NDArray[Any]
Given = str | Array | np.int64
#: The operations that onnxruntime adds to the standard ones, fused and faster.
FUSED = "com.microsoft"
#: LayerNormalization is standard since 17, Split without sizes since 18; onnxruntime 1.20 knows up to 21.
OPSET, IR = 18, 9


class Graph:
    """Nodes and constants, in the order of their making. A constant given twice is stored once."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: dict[tuple[Any, ...], str] = {}
        self._tensors: list[Any] = []

    def constant(self, value: Any, kind: Any = None) -> str:
        """Store an array, unless one of the same content is there, and give its name."""
        array = np.asarray(value, kind)
        array = array if array.ndim == 0 else np.ascontiguousarray(array)
        key = (array.dtype.str, array.shape, hashlib.sha256(array.tobytes()).digest())
        if key not in self._constants:
            self._constants[key] = f"constant_{len(self._constants)}"
            self._tensors.append(onnx().numpy_helper.from_array(array, self._constants[key]))
        return self._constants[key]

    def __call__(self, operation: str, *inputs: Given, domain: str = "", name: str = "", **settings: Any) -> str:
        """Add an operation with one output, and give the output's name; arrays become constants."""
        return self.split(operation, 1, *inputs, domain=domain, names=[name] if name else (), **settings)[0]

    def split(
        self, operation: str, count: int, *inputs: Given, domain: str = "", names: Sequence[str] = (), **more: Any
    ) -> list[str]:
        """Add an operation with several outputs."""
        given = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        outputs = list(names) or [f"{operation.lower()}_{len(self._nodes)}_{i}" for i in range(count)]
        self._nodes.append(onnx().helper.make_node(operation, given, outputs, domain=domain, **more))
        return outputs

    def finish(self, inputs: Mapping[str, Sequence[Any]], outputs: Mapping[str, tuple[str, Sequence[Any]]]) -> Any:
        """The whole as a model. All inputs are int64; an output is "FLOAT" or "INT64" and has a shape."""
        helper, kinds = onnx().helper, onnx().TensorProto
        graph = helper.make_graph(
            self._nodes,
            "otherwords",
            [helper.make_tensor_value_info(name, kinds.INT64, shape) for name, shape in inputs.items()],
            [helper.make_tensor_value_info(name, getattr(kinds, k), shape) for name, (k, shape) in outputs.items()],
            self._tensors,
        )
        versions = [helper.make_opsetid("", OPSET), helper.make_opsetid(FUSED, 1)]
        return helper.make_model(graph, opset_imports=versions, ir_version=IR, producer_name="otherwords")


def onnx() -> Any:
    """The library that writes graphs, or word of where it comes from."""
    try:
        import onnx as library
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise MissingExtra("export", "train") from error
    return library
