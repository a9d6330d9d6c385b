"""Rounded tables: how far off they are, what they weigh, and that only tables are touched."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from onnx import numpy_helper
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.exporting import graphs
from otherwords.exporting.export import rounded, store
from otherwords.inference import families

from .conftest import tiny_model

numbers = st.floats(-100, 100, width=32)


@given(arrays(np.float32, st.tuples(st.integers(1, 5), st.integers(1, 9)), elements=numbers), st.sampled_from([0, 1]))
def test_rounding_is_no_worse_than_the_widest_weight_over_127(table, axis):
    codes, scales = rounded(table, 1 - axis)
    assert codes.dtype == np.int8
    assert codes.min() >= -127
    widest = np.abs(table).max(axis=1 - axis, keepdims=True).astype(np.float64)
    plain = np.rint(table / np.where(widest > 0, widest / 127, 1)) * widest / 127
    for error, bound in zip(
        ((codes * scales.astype(np.float64) - table) ** 2).sum(axis=1 - axis),
        ((plain - table) ** 2).sum(axis=1 - axis),
        strict=True,
    ):
        assert error <= bound * (1 + 1e-4) + 1e-9


@given(arrays(np.float32, (3, 4), elements=numbers), st.sampled_from([0.5, 2.0, 4.0]))
def test_rounding_keeps_to_its_channel_and_follows_its_scale(table, factor):
    codes, scales = rounded(table, 1)
    other = table.copy()
    other[1] *= factor
    again, others = rounded(other, 1)
    np.testing.assert_array_equal(codes[[0, 2]], again[[0, 2]])
    np.testing.assert_array_equal(scales[[0, 2]], others[[0, 2]])


def test_whole_multiples_come_back_exactly():
    table = np.array([[127, -3, 0], [254, 2, -6]], np.float32)
    codes, scales = rounded(table, 1)
    np.testing.assert_array_equal(codes * scales, table)
    assert codes.tolist() == [[127, -3, 0], [127, 1, -3]]


def test_an_empty_channel_is_all_zeros():
    codes, scales = rounded(np.zeros((2, 3), np.float32), 1)
    assert not codes.any()
    assert np.isfinite(scales).all()


def test_a_third_axis_is_rounded_by_channel_too():
    table = np.random.default_rng(1).normal(size=(2, 3, 4)).astype(np.float32)
    codes, scales = rounded(table, (0, 1))
    assert scales.shape == (1, 1, 4)
    np.testing.assert_allclose(codes * scales, table, atol=0.02)


def graph(kind: str = "MaskedLM") -> onnx.ModelProto:
    network = families.read(tiny_model("Bert", kind, hidden_size=64, intermediate_size=128))
    assert network is not None
    build = graphs.masked_lm if kind == "MaskedLM" else graphs.classifier
    return build(network, types=True)  # type: ignore[no-any-return]


@pytest.mark.parametrize(("weights", "kind", "share"), [("int8", np.int8, 0.32), ("fp16", np.float16, 0.55)])
def test_tables_become_small_and_the_rest_stays(weights, kind, share):
    whole, small = graph(), graph()
    store(small, weights)
    assert small.ByteSize() < share * whole.ByteSize()
    before = {one.name: numpy_helper.to_array(one) for one in whole.graph.initializer}
    after = {one.name: numpy_helper.to_array(one) for one in small.graph.initializer}
    for name, array in before.items():
        if array.ndim > 1 and array.size >= 1024:
            assert after[f"{name}.stored"].dtype == kind
            assert name not in after
        else:
            np.testing.assert_array_equal(after[name], array)


def test_fp32_changes_nothing():
    model = graph()
    content = model.SerializeToString(deterministic=True)
    store(model, "fp32")
    assert model.SerializeToString(deterministic=True) == content


@pytest.mark.parametrize("weights", ["int8", "fp16"])
def test_tables_are_float_once_loaded_except_those_looked_up(weights, tmp_path):
    """The session's own graph: no table is widened while it answers, but the rows of embeddings."""
    model = graph("SequenceClassification")
    store(model, weights)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(tmp_path / "loaded.onnx")
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    loaded = onnx.load(tmp_path / "loaded.onnx").graph
    small = {one.name for one in loaded.initializer if one.name.endswith(".stored")}
    users = {node.op_type for node in loaded.node if small & set(node.input)}
    assert users <= {"Gather", "Slice"}  # onnxruntime knows that 0, 1, 2 ... is a slice
    products = [node for node in loaded.node if node.op_type in ("MatMul", "Attention", "Gemm", "FusedGemm")]
    constants = {one.name for one in loaded.initializer}
    assert len(small) == 2  # words and positions; segments are too small
    assert len(products) >= 6
    assert all(node.input[1] in constants for node in products)


def test_unknown_weights_are_refused():
    with refuses(BadInput):
        store(graph(), "int4")


def test_a_weight_beyond_fp16_is_refused():
    model = graph()
    name = next(one.name for one in model.graph.initializer if list(one.dims) == [64, 128])
    tensor = next(one for one in model.graph.initializer if one.name == name)
    tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) + np.float32(1e5), name))
    with refuses(BadInput):
        store(model, "fp16")
