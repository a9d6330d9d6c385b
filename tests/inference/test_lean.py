"""The lean forward pass against transformers' own logits, one row at a time, in every family, beside any others."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
import transformers
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st

from otherwords.inference.families import Linear, describe
from otherwords.inference.lean import (
    LARGEST,
    TOLERANCE,
    LeanClassifier,
    checked,
    choose_parts,
    lean_classifier,
    measure_differences,
    narrow,
    packed,
    padded_attention,
    plain_float8_parts,
    plain_parts,
    scaled,
)
from otherwords.inference.scheduling import Scheduler
from otherwords.inference.tokens import Tokens
from otherwords.inference.torch_device import Replayed, TorchDevice

WORDS, PLACES, PAD = 30, 20, 0
SIZES = {"num_hidden_layers": 3, "num_attention_heads": 4, "hidden_size": 32, "intermediate_size": 64}
FAMILIES = {
    "Bert": SIZES,
    "Roberta": {**SIZES, "type_vocab_size": 1},
    "XLMRoberta": {**SIZES, "type_vocab_size": 1},
    "Camembert": {**SIZES, "type_vocab_size": 1},
    "Electra": {**SIZES, "embedding_size": 16},
    "DistilBert": {"n_layers": 3, "n_heads": 4, "dim": 32, "hidden_dim": 64},
}
#: Lengths from one token to all places, alike and not; RoBERTa's kin have one place less.
LENGTHS = {"one": [1], "alike": [7] * 5, "mixed": [5, 1, 19, 7, 7, 2], "longest": [19, 19]}


def tiny(family: str, **settings):
    torch.manual_seed(5)
    known = {**FAMILIES[family], "vocab_size": WORDS, "max_position_embeddings": PLACES, "pad_token_id": PAD}
    config = getattr(transformers, f"{family}Config")(**known, num_labels=3, initializer_range=0.4, **settings)
    model = getattr(transformers, f"{family}ForSequenceClassification")(config).eval()
    for weights in model.parameters():  # biases and norms start at 0 and 1, which would hide a mistake
        weights.data += torch.randn_like(weights) * 0.1
    return model


def rows_of(lengths: list[int], lowest: int = 0) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(len(lengths))
    return [torch.randint(lowest, WORDS, (length,), generator=generator) for length in lengths]


def end_to_end(rows: list[torch.Tensor]) -> dict:
    lengths = [len(row) for row in rows]
    return {
        "input_ids": torch.cat(rows),
        "offsets": torch.tensor([0, *np.cumsum(lengths).tolist()]),
        "longest": max(lengths),
    }


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("family", FAMILIES)
def test_logits_are_those_of_each_row_alone(family, lengths):
    """Padding tokens inside a text count too: RoBERTa gives them no position of their own."""
    model, rows = tiny(family), rows_of(LENGTHS[lengths])
    with torch.inference_mode():
        expected = torch.cat([model(input_ids=row[None]).logits for row in rows])
        found = lean_classifier(model)(**end_to_end(rows))
    assert expected.abs().max() > 0.5
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_are_those_of_the_padded_batch(family):
    model, rows = tiny(family), rows_of(LENGTHS["mixed"], lowest=1)
    filled = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)
    with torch.inference_mode():
        expected = model(input_ids=filled, attention_mask=(filled != PAD).long()).logits
        found = lean_classifier(model)(**end_to_end(rows))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("family", ["Bert", "Electra"])
def test_segments_are_seen(family):
    model, rows = tiny(family), rows_of(LENGTHS["mixed"])
    types = [(torch.arange(len(row)) > len(row) // 2).long() for row in rows]
    with torch.inference_mode():
        expected = torch.cat(
            [model(input_ids=row[None], token_type_ids=one[None]).logits for row, one in zip(rows, types, strict=True)]
        )
        found = lean_classifier(model)(**end_to_end(rows), token_type_ids=torch.cat(types))
        without = lean_classifier(model)(**end_to_end(rows))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    assert (without - expected).abs().max() > 0.01


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "gelu_pytorch_tanh", "relu"])
def test_activations_are_the_models_own(activation):
    model, rows = tiny("Bert", hidden_act=activation), rows_of([9, 4])
    with torch.inference_mode():
        expected = torch.cat([model(input_ids=row[None]).logits for row in rows])
        found = lean_classifier(model)(**end_to_end(rows))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_fused_form_is_the_model_with_gelu_in_its_tanh_form(family):
    """Expected: transformers' own model, told to use that form; the model itself is close, but not the same."""
    name = "activation" if family == "DistilBert" else "hidden_act"
    model, tanh, rows = tiny(family), tiny(family, **{name: "gelu_pytorch_tanh"}), rows_of(LENGTHS["mixed"])
    with torch.inference_mode():
        expected = torch.cat([tanh(input_ids=row[None]).logits for row in rows])
        exact = lean_classifier(model)(**end_to_end(rows))
        found = lean_classifier(model, fused=True)(**end_to_end(rows))
    torch.testing.assert_close(found, expected, atol=5e-5, rtol=5e-5)
    assert 1e-4 < (found - exact).abs().max() < 0.05


def test_other_activations_are_the_same_fused():
    model, rows = tiny("Bert", hidden_act="relu"), rows_of([9, 4])
    with torch.inference_mode():
        exact, fused = (lean_classifier(model, fused=way)(**end_to_end(rows)) for way in (False, True))
    assert torch.equal(exact, fused)


def test_float8_has_three_bits_and_no_number_beyond_its_largest():
    given = torch.tensor([1.0, 1.06, 1.19, 400.0, 1e6, -1e6, 0.0001, float("nan")])
    assert narrow(given).float()[:-1].tolist() == [1, 1, 1.25, 384, LARGEST, -LARGEST, 0]
    assert narrow(given).float()[-1].isnan()
    assert narrow(narrow(given)).dtype is torch.float8_e4m3fn


@settings(max_examples=at_most(30))
@given(st.floats(1e-6, 1e6), st.integers(0, 99))
def test_weights_of_any_size_are_stored_in_float8(size, seed):
    weight = torch.randn((8, 16), generator=torch.Generator().manual_seed(seed)) * size
    found = scaled(Linear(weight, torch.zeros(8)))
    assert found.weight.float().abs().max() == LARGEST
    error = (found.weight.float() * found.scale - weight).abs()
    assert (error <= weight.abs() / 15 + weight.abs().max() / LARGEST / 256).all()


def test_weights_that_are_all_zero_stay_zero_in_float8():
    found = scaled(Linear(torch.zeros(2, 16), torch.zeros(2)))
    assert (found.weight.float() * found.scale).tolist() == torch.zeros(2, 16).tolist()


@pytest.mark.parametrize("family", FAMILIES)
def test_in_float8_answers_are_nearly_the_same(family):
    model, rows = tiny(family), rows_of(LENGTHS["mixed"])
    with torch.inference_mode():
        exact = lean_classifier(model, fused=True)(**end_to_end(rows)).softmax(dim=1)
        found = LeanClassifier.of(describe(model), plain_float8_parts())(**end_to_end(rows)).softmax(dim=1)
    assert 1e-4 < (found - exact).abs().max() < 0.35


@settings(max_examples=at_most(30))
@given(st.lists(st.integers(1, 19), min_size=1, max_size=30), st.integers(5, 200))
def test_batches_that_are_filled_up_give_the_same_logits(lengths, budget):
    """What a GPU computes: rows of other texts and empty rows behind the batch."""
    rows = [row.tolist() for row in rows_of(lengths)]

    def encode(some):
        return Tokens.of(some, [False] * len(some))

    plain = TorchDevice(torch.device("cpu"), lambda **inputs: (LEAN(**inputs),))
    filled = replace(plain, filled=True, forward=Replayed(plain.forward, lambda forward, inputs: forward))
    (expected,), _ = Scheduler(encode, plain.start, plain.wait, budget, packed=True)(rows)
    (found,), _ = Scheduler(encode, filled.start, filled.wait, budget, packed=True, in_flight=4)(rows)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_other_families_have_no_lean_form():
    sizes = {**SIZES, "embedding_size": 16, "vocab_size": WORDS}
    assert lean_classifier(transformers.AlbertForSequenceClassification(transformers.AlbertConfig(**sizes))) is None
    assert lean_classifier(tiny("Bert", is_decoder=True)) is None


@settings(max_examples=at_most(30))
@given(st.lists(st.integers(1, 19), min_size=1, max_size=30), st.integers(1, 80))
def test_any_budget_gives_the_same_logits(lengths, budget):
    lean, rows = LEAN, [row.tolist() for row in rows_of(lengths)]
    runner = TorchDevice(torch.device("cpu"), lambda **inputs: (lean(**inputs),))

    def encode(some):
        return Tokens.of(some, [False] * len(some))

    (found,), _ = Scheduler(encode, runner.start, runner.wait, budget, packed=True)(rows)
    (expected,), _ = Scheduler(encode, runner.start, runner.wait, 1, packed=True)(rows)
    np.testing.assert_allclose(found, expected, atol=1e-5)


LEAN = lean_classifier(tiny("Roberta"))


@settings(max_examples=at_most(30))
@given(st.lists(st.integers(1, 12), min_size=1, max_size=9))
def test_each_row_is_mixed_by_itself(lengths):
    """Expected: softmax(q k / sqrt(size)) v, written out for one row and head at a time."""
    heads, size = 2, 4
    joint = torch.randn(
        (sum(lengths), 3 * heads * size), generator=torch.Generator().manual_seed(3), dtype=torch.double
    )
    offsets = torch.tensor([0, *np.cumsum(lengths).tolist()])
    found = padded_attention(joint, packed(offsets, max(lengths), len(joint)), heads)
    for first, last in pairwise(offsets):
        for head in range(heads):
            q, k, v = (joint[first:last, part * 8 + head * 4 : part * 8 + head * 4 + 4] for part in range(3))
            expected = torch.softmax(q @ k.T / 2, dim=1) @ v
            torch.testing.assert_close(found[first:last, head * 4 : head * 4 + 4], expected)


def test_on_a_processor_parts_are_plain_and_elsewhere_there_are_none():
    model = tiny("Bert")
    assert choose_parts(describe(model)).attention is padded_attention
    assert choose_parts(describe(model), fused=True).attention is padded_attention
    assert choose_parts(describe(model.to("meta"))) is None


def test_kernels_that_compute_something_else_are_found_out():
    network, plain = describe(tiny("Bert")), plain_parts()
    assert set(measure_differences(network, plain, plain)) == {0}
    assert checked(network, same := replace(plain), plain) is same
    shifted = replace(plain, attention=lambda *given: padded_attention(*given).roll(1, 0))
    doubled = replace(plain, add_norm=lambda x, y, *rest: plain.add_norm(x, x, *rest))
    empty = replace(plain, attention=lambda *given: padded_attention(*given) * torch.nan)
    linear = replace(plain, raised=lambda x, linear, _: plain.product(x, linear))
    for wrong in (shifted, doubled, empty, linear):
        with pytest.warns(UserWarning, match="differ by .* from torch's own"):
            assert checked(network, wrong, plain) is None


def test_kernels_that_fail_are_done_without():
    def broken(*_):
        raise RuntimeError("Failed to find C compiler.\nPlease specify via CC")

    plain = plain_parts()
    with pytest.warns(UserWarning, match="RuntimeError: Failed to find C compiler"):
        assert checked(describe(tiny("Bert")), replace(plain, attention=broken), plain) is None


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("way", [{}, {"fused": True}, {"float8": True}], ids=["lean", "fused", "float8"])
def test_kernels_compute_the_same_as_torch(way):
    network = describe(tiny("Bert", num_attention_heads=2).to("cuda", torch.bfloat16))
    parts = choose_parts(network, **way)
    assert parts.attention is not padded_attention
    plain = plain_float8_parts() if "float8" in way else plain_parts(**way)
    assert max(measure_differences(network, parts, plain)) < TOLERANCE
