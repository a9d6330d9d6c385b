"""Built and traced graphs against transformers' own outputs, to the last bits of fp32, and whatever shares a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.exporting import graphs
from otherwords.inference import families

from .conftest import ARCHITECTURES, BUILT, WORDS, tiny_model

LENGTH = 17


def takes_types(name: str) -> bool:
    return name in ("Bert", "Electra", "Albert")


def session(graph: onnx.ModelProto) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 2
    return onnxruntime.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])


def graph_of(model: Any, kind: str, how: str, types: bool) -> onnx.ModelProto:
    if how == "traced":
        return getattr(graphs, f"traced_{kind}")(model, types=types, who="tiny")
    network = families.read(model)
    assert network is not None
    return getattr(graphs, kind)(network, types=types)


def rows(count: int, types: bool, length: int = LENGTH) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(count)
    ids = rng.integers(5, len(WORDS), (count, length))
    segments = np.tile((np.arange(length) > length // 2).astype(np.int64), (count, 1))
    return {"input_ids": ids, **({"token_type_ids": segments} if types else {})}


def torch_logits(model: Any, given: dict[str, np.ndarray]) -> torch.Tensor:
    with torch.inference_mode():
        return model(**{name: torch.from_numpy(array) for name, array in given.items()}).logits


#: What is built by hand is not traced in use. Relatives of others come in `make test-all`.
RELATIVES = ("XLMRoberta", "Camembert", "Albert", "DebertaV2")
CASES = [
    pytest.param(name, "built" if name in BUILT else "traced", marks=pytest.mark.slow if name in RELATIVES else ())
    for name in ARCHITECTURES
]


@pytest.mark.parametrize(("name", "how"), CASES)
def test_a_classifiers_logits_are_those_of_transformers(name, how):
    model, types = tiny_model(name), takes_types(name)
    asked = session(graph_of(model, "classifier", how, types))
    assert [one.name for one in asked.get_inputs()] == list(rows(1, types))
    for count, length in ((5, LENGTH), (2, 9), (1, 30)):
        given = rows(count, types, length)
        found = asked.run(["logits"], given)[0]
        np.testing.assert_allclose(found, torch_logits(model, given).numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("name", "how"), CASES)
def test_a_masked_lm_says_what_transformers_says_at_the_mask(name, how):
    model, types = tiny_model(name, "MaskedLM"), takes_types(name)
    asked = session(graph_of(model, "masked_lm", how, types))
    given, at, own = rows(6, types), np.array([1, 16, 4, 4, 9, 0]), np.array([5, 6, 7, 8, 9, 10])
    feeds = {**given, "at": at, "own": own, "k": np.array([4])}
    ids, logp, own_logp = asked.run(["top_ids", "top_logp", "own_logp"], feeds)
    expected = torch_logits(model, given).log_softmax(dim=-1)[torch.arange(6), torch.from_numpy(at)]
    best = expected.topk(4)
    np.testing.assert_allclose(logp, best.values.numpy(), atol=1e-4)
    np.testing.assert_allclose(own_logp, expected[torch.arange(6), torch.from_numpy(own)].numpy(), atol=1e-4)
    np.testing.assert_array_equal(ids, best.indices.numpy())
    assert asked.run(["top_ids"], {**feeds, "k": np.array([7])})[0].shape == (6, 7)


@pytest.mark.parametrize("activation", ["gelu_new", "gelu_pytorch_tanh", "relu"])
def test_other_activations_are_built_too(activation):
    model = tiny_model("Bert", hidden_act=activation)
    given = rows(4, True)
    found = session(graph_of(model, "classifier", "built", True)).run(["logits"], given)[0]
    np.testing.assert_allclose(found, torch_logits(model, given).numpy(), rtol=1e-4, atol=1e-4)


def test_what_is_not_built_is_left_to_tracing():
    assert families.read(tiny_model("Bert", hidden_act="silu")) is None
    assert families.read(tiny_model("Albert")) is None
    assert families.read(tiny_model("Bert", is_decoder=True)) is None


def test_a_classifier_without_segment_numbers_takes_the_first():
    model = tiny_model("Bert")
    given = rows(4, False)
    found = session(graph_of(model, "classifier", "built", False)).run(["logits"], given)[0]
    np.testing.assert_allclose(found, torch_logits(model, given).numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["Roberta", "MPNet"])
def test_a_padding_token_inside_a_text_has_no_position(name):
    model = tiny_model(name)
    given = rows(3, False)
    given["input_ids"][1, 7] = 0  # "[PAD]", as a text may well say
    how = "built" if name in BUILT else "traced"
    found = session(graph_of(model, "classifier", how, False)).run(["logits"], given)[0]
    np.testing.assert_allclose(found, torch_logits(model, given).numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["Bert", pytest.param("Roberta", marks=pytest.mark.slow), "DistilBert"])
@pytest.mark.parametrize("kind", ["classifier", "masked_lm"])
def test_company_does_not_reach_a_bit(name, kind):
    """Wide enough for onnxruntime's blocked kernels; a row alone may be summed otherwise, so two are the least."""
    wide = {"dim": 96, "hidden_dim": 200} if name == "DistilBert" else {"hidden_size": 96, "intermediate_size": 200}
    task, types = {"classifier": "SequenceClassification", "masked_lm": "MaskedLM"}[kind], takes_types(name)
    asked = session(graph_of(tiny_model(name, task, **wide), kind, "built", types))
    given = rows(64, types)
    if kind == "masked_lm":
        given |= {"at": np.arange(64) % LENGTH, "own": np.arange(64) % len(WORDS)}
    fixed = {"k": np.array([3])} if kind == "masked_lm" else {}
    whole = asked.run(None, {**given, **fixed})
    for size in (2, 7, 31):
        for start in range(0, 64 - size, size):
            part = asked.run(None, {**{n: a[start : start + size] for n, a in given.items()}, **fixed})
            for some, every in zip(part, whole, strict=True):
                np.testing.assert_array_equal(some, every[start : start + size])


def test_tied_tables_are_stored_once():
    model, shapes = tiny_model("Bert", "MaskedLM", vocab_size=99), ([99, 32], [32, 99])
    for how in ("built", "traced"):
        graph = graph_of(model, "masked_lm", how, True)
        assert sum(list(one.dims) in shapes for one in graph.graph.initializer) == 1


def test_a_model_that_cannot_be_traced_is_named():
    model = tiny_model("Albert")
    model.albert.forward = None
    with refuses(BadInput):
        graphs.traced_classifier(model, types=True, who="tiny")
