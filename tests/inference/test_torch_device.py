"""Batches on the CPU, and out-of-memory errors: torch's own, raised by asking for more than there is."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from refusals import refuses
from transformers import BertConfig, BertModel, RobertaConfig, RobertaModel, XLNetConfig, XLNetModel

from otherwords.errors import BadInput, WrongAnswer
from otherwords.inference import torch_device
from otherwords.inference.limits import positions, with_limits_checked
from otherwords.inference.scheduling import Scheduler
from otherwords.inference.tokens import PaddedRows, Tokens
from otherwords.inference.torch_device import (
    Replayed,
    TorchDevice,
    choose_device,
    choose_dtype,
    out_of_memory,
    refuse_float8,
)

CPU = torch.device("cpu")


def add_up(input_ids, attention_mask=None, **others):
    kept = input_ids if attention_mask is None else input_ids * attention_mask
    return kept.sum(dim=1), torch.full((len(input_ids),), len(others))


def test_what_a_batch_has_is_sent_and_results_come_back():
    runner = TorchDevice(CPU, add_up)
    ids = np.array([[1, 2], [3, 4]])
    sums, others = runner.wait(runner.start(PaddedRows(ids, None, np.zeros_like(ids), np.array([0, 1]))))
    assert sums.tolist() == [3, 7]
    assert others.tolist() == [2, 2]  # types and the place asked about


def test_rows_end_to_end_come_with_their_ends():
    def first_tokens(input_ids, offsets, longest, **others):
        return input_ids[offsets[:-1]], torch.full((len(offsets) - 1,), longest), torch.full((1,), len(others))

    runner = TorchDevice(CPU, first_tokens)
    tokens = Tokens.of([[5, 6, 7], [8]], [False, False], types=[[0, 0, 1], [0]])
    firsts, longest, others = runner.wait(runner.start(tokens))
    assert (firsts.tolist(), longest.tolist(), others.tolist()) == ([5, 8], [3, 3], [1])


def test_rows_end_to_end_that_a_model_has_no_places_for_are_reported():
    size = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8, "vocab_size": 9}
    start = with_limits_checked(lambda rows: rows, BertModel(BertConfig(max_position_embeddings=3, **size)), "m", 256)
    fits = Tokens.of([[5, 6, 7], [8]], [False, False])
    assert start(fits) is fits
    with refuses(WrongAnswer):
        start(Tokens.of([[5, 6, 7, 8], [8]], [False, False]))


def test_where_memory_ends_batches_are_halved_until_they_fit():
    sizes = []

    def hungry(input_ids, **_):
        sizes.append(len(input_ids))
        if len(input_ids) > 3:
            torch.empty(2**52, dtype=torch.int8)  # four petabytes
        return (input_ids.sum(dim=1),)

    def encode(rows):
        return Tokens.of(rows, [False] * len(rows))

    runner = TorchDevice(CPU, hungry)
    rows = [[number, 1] for number in range(20)]
    plan = Scheduler(encode, runner.start, runner.wait, budget=40)
    (sums,), _ = plan(rows)
    assert sums.tolist() == list(range(1, 21))
    assert sizes[:3] == [20, 10, 5]
    assert plan.budget == 5 * 2 // 2  # from now on


class Recordings:
    """Forward passes that note what they are given; a recording works for the shapes it was made with only."""

    def __init__(self, broken: bool = False):
        self.launched, self.replayed, self.broken = [], [], broken

    def forward(self, input_ids, longest):
        self.launched.append(len(input_ids))
        return (input_ids * longest,)

    def record(self, forward, inputs):
        if self.broken:
            raise RuntimeError("CUDA error: operation not permitted\nwhen stream is capturing")

        def replay(input_ids, longest):
            assert (input_ids.shape, longest) == (inputs["input_ids"].shape, inputs["longest"])
            self.replayed.append(len(input_ids))
            return (input_ids * longest,)

        return replay


def test_kernels_are_recorded_when_a_shape_comes_again():
    seen = Recordings()
    replayed = Replayed(seen.forward, seen.record)
    for size, longest in ((3, 16), (4, 16), (3, 16), (3, 16), (3, 32), (4, 16)):
        (found,) = replayed(input_ids=torch.arange(size), longest=longest)
        assert found.tolist() == [one * longest for one in range(size)]
    assert seen.launched == [3, 4, 3]
    assert seen.replayed == [3, 3, 4]
    replayed.forget()
    replayed(input_ids=torch.arange(3), longest=16)
    assert seen.launched == [3, 4, 3, 3]


def test_long_rows_large_batches_and_too_many_shapes_are_not_recorded(monkeypatch):
    monkeypatch.setattr(torch_device, "MOST_TOKENS", 9)
    monkeypatch.setattr(torch_device, "MOST_RECORDINGS", 2)
    seen = Recordings()
    replayed = Replayed(seen.forward, seen.record)
    for size, longest in [(3, 129), (10, 16), (1, 16), (2, 16), (3, 16)] * 3:
        replayed(input_ids=torch.arange(size), longest=longest)
    assert sorted(seen.replayed) == [1, 1, 2, 2]


def test_kernels_that_cannot_be_recorded_are_launched():
    seen = Recordings(broken=True)
    replayed = Replayed(seen.forward, seen.record)
    replayed(input_ids=torch.arange(3), longest=16)
    with pytest.warns(UserWarning, match="could not be recorded .RuntimeError: CUDA error: operation not permitted."):
        assert replayed(input_ids=torch.arange(3), longest=16)[0].tolist() == [0, 16, 32]
    assert replayed(input_ids=torch.arange(3), longest=16)[0].tolist() == [0, 16, 32]  # and no other warning
    assert seen.launched == [3, 3, 3]


def test_results_of_a_batch_that_is_filled_up_are_those_of_its_rows():
    def first_tokens(input_ids, offsets, longest):
        return input_ids[offsets[:-1].clamp_max(len(input_ids) - 1)], torch.full((len(offsets) - 1,), longest)

    runner = TorchDevice(CPU, first_tokens, filled=True)
    rows = Tokens.of([[5, 6, 7], [8]], [False, False])
    firsts, widths = runner.wait(runner.start(rows))
    assert (firsts.tolist(), widths.tolist()) == ([5, 8], [16, 16])
    long = Tokens.of([[5] * 200, [8]], [False, False])
    firsts, widths = runner.wait(runner.start(long))
    assert (firsts.tolist(), widths.tolist()) == ([5, 8], [200, 200])


def test_a_processor_has_no_float8():
    with refuses(BadInput):
        refuse_float8(CPU, "hf:m")


def test_a_row_too_large_by_itself_is_an_error():
    runner = TorchDevice(CPU, lambda input_ids, **_: (torch.empty(2**52, dtype=torch.int8),))
    with pytest.raises(MemoryError, match="allocate"):
        runner.start(PaddedRows(np.array([[1]]), None, None))


def test_other_errors_stay_what_they_are():
    runner = TorchDevice(CPU, lambda input_ids, **_: (input_ids @ torch.zeros(7, dtype=torch.int64),))
    with pytest.raises(RuntimeError, match="size mismatch"):
        runner.start(PaddedRows(np.array([[1, 2]]), None, None))
    assert not out_of_memory(RuntimeError("size mismatch"))


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        RuntimeError("CUDA error: out of memory"),
    ],
)
def test_the_errors_of_a_full_gpu_are_known(error):
    assert out_of_memory(error)


def test_auto_is_single_precision_on_the_processor():
    assert choose_dtype("auto", CPU, "m") is torch.float32
    assert choose_dtype("bfloat16", CPU, "m") is torch.bfloat16
    with refuses(BadInput):
        choose_dtype("half", CPU, "m")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_gpu_that_is_not_there_is_refused():
    assert choose_device("auto", "m") == CPU
    with refuses(BadInput):
        choose_device("cuda:0", "m")


def test_positions_are_counted_as_the_family_counts():
    size = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8, "vocab_size": 9}
    assert positions(BertModel(BertConfig(max_position_embeddings=12, **size))) == 12
    roberta = RobertaModel(RobertaConfig(max_position_embeddings=12, pad_token_id=1, **size)).eval()
    assert positions(roberta) == 10
    roberta(input_ids=torch.full((1, 10), 5))
    with pytest.raises((IndexError, RuntimeError), match="out of"):
        roberta(input_ids=torch.full((1, 11), 5))
    assert positions(XLNetModel(XLNetConfig(d_model=8, n_layer=1, n_head=1, d_inner=8, vocab_size=9))) == 0
