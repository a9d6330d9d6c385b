"""Which errors mean that memory ran out, and how many cores work; broken files are tested in tests/models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from refusals import refuses

from otherwords.errors import BadInput, WrongAnswer
from otherwords.inference.onnx_files import is_full, load_graph
from otherwords.inference.tokens import PaddedRows


@pytest.fixture
def huge(tmp_path: Path) -> Path:
    """Its output has (2 ** 20) x (ids) x (2 ** 20) numbers: a petabyte for a row of 256 tokens."""
    shape = helper.make_tensor("many", TensorProto.INT64, [3], [2**20, 1, 2**20])
    nodes = [
        helper.make_node("Cast", ["input_ids"], ["x"], to=TensorProto.DOUBLE),
        helper.make_node("ReduceSum", ["x"], ["row"], keepdims=0),
        helper.make_node("Expand", ["row", "many"], ["logits"]),
    ]
    given = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "length"])]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.DOUBLE, None)]
    graph = helper.make_graph(nodes, "huge", given, outputs, [shape])
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "huge.onnx"
    )
    return tmp_path / "huge.onnx"


def test_the_end_of_memory_is_known_as_such(huge):
    graph = load_graph(huge)
    with refuses(WrongAnswer) as caught:
        graph.wait(graph.start(["logits"], PaddedRows(np.ones((2, 3), np.int64), None, None)))
    assert is_full(caught.value)
    assert is_full(MemoryError())
    assert not is_full(WrongAnswer("indices element out of data bounds"))
    assert not is_full(ValueError("x"))


@pytest.mark.parametrize(("threads", "expected"), [(1, 2), (3, 6)])
def test_batches_are_kept_going_for_all_cores(huge, threads, expected):
    assert load_graph(huge, threads).in_flight == expected


def test_a_number_of_threads_that_cannot_be(huge):
    with refuses(BadInput):
        load_graph(huge, -1)
