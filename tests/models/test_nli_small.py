"""The embedded classifier: right on easy problems, the same in any batch, and an error where it is missing."""

from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput
from otherwords.inference import onnx_files
from otherwords.models.answering import load, run_canary
from otherwords.models.cache import Cache
from otherwords.models.model import Answerer
from otherwords.problem import TASKS, Batch

NLI = TASKS["nli"]


@pytest.fixture(scope="module")
def model() -> Answerer:
    return load("nli-small", NLI)


@pytest.fixture(scope="module")
def everyday() -> pl.DataFrame:
    """Every third of the bundled problems."""
    return ow.load("everyday(split=all)").gather_every(3)


def batch(frame: pl.DataFrame) -> Batch:
    return Batch(NLI, {name: frame[name].to_list() for name in NLI.fields})


def test_it_is_right_more_often_than_not_on_the_bundled_problems(model, everyday):
    """Chance is a third; people wrote these problems, and not for it."""
    answers = model(batch(everyday))
    right = np.mean([NLI.labels[pred] == label for pred, label in zip(answers.pred, everyday["label"], strict=True)])
    assert right > 0.5
    assert not answers.cut.any()


@pytest.mark.slow
@pytest.mark.parametrize(("dataset", "least"), [("snli", 0.815), ("mnli", 0.715)])
def test_it_is_as_good_as_its_card_must_say(model, shared, dataset, least):
    """On 2,000 rows of the test split, which it has never seen; the card has the whole."""
    frame = pl.read_parquet(shared / "ie_test" / "nli_data.parquet")
    rows = frame.filter(dataset=dataset, split="test").filter(pl.col("label").is_in(NLI.labels)).sample(2000, seed=1)
    answers = model(batch(rows))
    right = np.mean([NLI.labels[pred] == label for pred, label in zip(answers.pred, rows["label"], strict=True)])
    assert right >= least


def test_its_labels_are_in_order(model):
    with Cache() as cache:
        run_canary(model, cache)  # warns or raises where they are not


def test_neither_order_nor_batch_nor_budget_changes_a_bit(model, everyday):
    order = random.Random(1).sample(range(len(everyday)), 30)
    whole = model(batch(everyday[order]))
    other = load("nli-small(tokens=40, threads=1)", NLI)
    for rows in (order[::-1], order[:1]):
        places = [order.index(row) for row in rows]
        assert other(batch(everyday[rows])).p.tobytes() == whole.p[places].tobytes()
    assert model.model.batch_invariant
    assert other.signature == model.signature


def test_what_is_beyond_its_positions_is_cut_and_no_option_is_offered():
    texts = {"premise": ["it rains " * 400, "it rains"], "hypothesis": ["the street is wet"] * 2}
    frame = pl.DataFrame({"id": ["a", "b"], "of": [None, None], "label": ["neutral"] * 2, **texts})
    frame = frame.with_columns(pl.col("of").cast(pl.String), pl.col("id").alias("cluster"))
    with pytest.warns(UserWarning, match="1 of 2 problems have more than 512 tokens .*no more positions"):
        answers = ow.answer(frame, "nli-small(max_length=1000)", cache=None, canary=False)
    assert answers["truncated"].to_list() == [True, False]
    with pytest.warns(UserWarning, match="more than 256 tokens .*the option max_length"):
        ow.answer(frame, "nli-small", cache=None, canary=False)


def test_it_needs_neither_torch_nor_transformers():
    code = "import sys; from otherwords.registry import models; models.make('nli-small'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "transformers"} & set(done.stdout.split())


def test_a_masked_lm_is_refused():
    with refuses(BadInput):
        load(f"onnx:{onnx_files.ASSETS / 'mlm-small'}", NLI)


def test_an_installation_without_it_says_how_to_fix_it(monkeypatch, tmp_path):
    monkeypatch.setattr(onnx_files, "ASSETS", tmp_path)
    with refuses(BadInput):
        load("nli-small", NLI)
