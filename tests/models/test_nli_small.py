"""The embedded classifier: right where anybody would be, the same in any company, and missed aloud."""

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
from otherwords.inference import onnx_files as embedded
from otherwords.models.answering import load, run_canary
from otherwords.models.cache import Cache
from otherwords.problem import TASKS, Batch

NLI = TASKS["nli"]


def everyday() -> tuple[Batch, list[str]]:
    frame = ow.load("everyday(split=all)")
    return Batch(NLI, {name: frame[name].to_list() for name in NLI.fields}), frame["label"].to_list()


def test_it_is_right_more_often_than_not_on_the_bundled_problems():
    """Chance is a third; people wrote these problems, and not for it."""
    batch, gold = everyday()
    answers = load("nli-small", NLI)(batch)
    right = np.mean([NLI.labels[pred] == label for pred, label in zip(answers.pred, gold, strict=True)])
    assert right > 0.5
    assert not answers.cut.any()


@pytest.mark.slow
@pytest.mark.parametrize(("dataset", "least"), [("snli", 0.815), ("mnli", 0.715)])
def test_it_is_as_good_as_its_card_must_say(shared, dataset, least):
    """On 2,000 rows of the test split, which it has never seen; the card has the whole."""
    frame = pl.read_parquet(shared / "ie_test" / "nli_data.parquet")
    rows = frame.filter(dataset=dataset, split="test").filter(pl.col("label").is_in(NLI.labels)).sample(2000, seed=1)
    batch = Batch(NLI, {name: rows[name].to_list() for name in NLI.fields})
    answers = load("nli-small", NLI)(batch)
    right = np.mean([NLI.labels[pred] == label for pred, label in zip(answers.pred, rows["label"], strict=True)])
    assert right >= least


def test_its_labels_are_in_order():
    with Cache() as cache:
        run_canary(load("nli-small", NLI), cache)  # warns or raises where they are not


@pytest.mark.parametrize("options", ["", "(tokens=40)", "(threads=1)"])
def test_company_order_and_budget_change_no_bit(options):
    batch, _ = everyday()
    whole = load("nli-small", NLI)(batch)
    order = random.Random(1).sample(range(len(batch)), 60)
    model = load(f"nli-small{options}", NLI)
    for rows in (order, order[:1]):
        some = model(Batch(NLI, {name: [batch[name][row] for row in rows] for name in NLI.fields}))
        assert some.p.tobytes() == whole.p[rows].tobytes()
    assert model.model.batch_invariant
    assert model.signature == load("nli-small", NLI).signature


def test_what_is_beyond_its_positions_is_cut_and_no_option_is_offered():
    texts = {"premise": ["it rains " * 400, "it rains"], "hypothesis": ["the street is wet"] * 2}
    frame = pl.DataFrame({"id": ["a", "b"], "of": [None, None], "label": ["neutral"] * 2, **texts})
    frame = frame.with_columns(pl.col("of").cast(pl.String), pl.col("id").alias("cluster"))
    told = (
        r"1 of 2 problems have more than 512 tokens and were cut.*; it has positions for no more; the column truncated"
    )
    with pytest.warns(UserWarning, match=told):
        answers = ow.answer(frame, "nli-small(max_length=1000)", cache=None, canary=False)
    assert answers["truncated"].to_list() == [True, False]
    with pytest.warns(
        UserWarning, match=r"more than 256 tokens and were cut.*; the option max_length changes that; the"
    ):
        ow.answer(frame, "nli-small", cache=None, canary=False)


def test_it_needs_neither_torch_nor_transformers():
    code = "import sys; from otherwords.registry import models; models.make('nli-small'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "transformers"} & set(done.stdout.split())


def test_a_masked_lm_is_told_apart():
    with refuses(BadInput):
        load(f"onnx:{embedded.ASSETS / 'mlm-small'}", NLI)


def test_an_installation_without_it_says_what_would_work(monkeypatch, tmp_path):
    monkeypatch.setattr(embedded, "ASSETS", tmp_path)
    with refuses(BadInput):
        load("nli-small", NLI)
