"""What is asked of a model and how its answers are weighed, held against transformers and against numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses
from tiny_models import FAMILIES, LABELS, build, save, word_tokenizer
from transformers import AutoModelForMaskedLM, AutoModelForSequenceClassification
from transformers.utils import logging

from otherwords.errors import BadInput
from otherwords.inference.tokens import Tokens
from otherwords.training.finetuning import batches, rate_factor
from otherwords.training.objectives import UNLABELLED, Examples, MaskedWords, TextLabels, load_start_model
from otherwords.training.settings import TrainingSettings

PAD, CLS, SEP, MASK, SPECIAL, VOCABULARY = 0, 2, 3, 4, (0, 1, 2, 3, 4), 22
ROWS = st.lists(st.lists(st.integers(5, 21), max_size=12), min_size=1, max_size=30)


def masked_words(rows, share=0.15):
    tokens = Tokens.of([[CLS, *row, SEP] for row in rows], cut=[False] * len(rows))
    return MaskedWords(tokens, PAD, MASK, SPECIAL, VOCABULARY, share)


@given(rows=ROWS, seed=st.integers(0, 99), share=st.floats(0.05, 0.9))
def test_only_words_are_masked_and_of_every_row_at_least_one(rows, seed, share):
    objective = masked_words(rows, share)
    chosen = np.arange(len(rows))
    inputs = objective.batch(chosen, np.random.default_rng(seed))
    guessed = inputs["labels"] != -100
    for i, row in enumerate(rows):
        own = np.array([CLS, *row, SEP] + [PAD] * (inputs["input_ids"].shape[1] - len(row) - 2))
        assert (inputs["labels"][i][guessed[i]] == own[guessed[i]]).all()
        assert (inputs["input_ids"][i][~guessed[i]] == own[~guessed[i]]).all()
        assert not guessed[i][np.isin(own, SPECIAL)].any()
        assert guessed[i].any() == bool(row)
    assert objective.weight(inputs) == guessed.sum()
    again = objective.batch(chosen, np.random.default_rng(seed))
    assert all((inputs[name] == again[name]).all() for name in inputs)


def test_shares_of_masking_are_those_of_bert():
    rows = np.random.default_rng(1).integers(5, 22, (400, 50)).tolist()
    inputs = masked_words(rows).batch(np.arange(400), np.random.default_rng(2))
    guessed = inputs["labels"] != -100
    shown, right = inputs["input_ids"][guessed], inputs["labels"][guessed]
    assert guessed.sum() / 20_000 == pytest.approx(0.15, abs=0.01)
    # A random token is the mask, or the right one, once in 22 times.
    assert (shown == MASK).mean() == pytest.approx(0.8 + 0.1 / 22, abs=0.02)
    assert (shown == right).mean() == pytest.approx(0.1 + 0.1 / 22, abs=0.02)


def loaded(auto, folder, **config):
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    model = auto.from_pretrained(folder, **config).eval()
    logging.enable_progress_bar()
    logging.set_verbosity(verbosity)
    return model


def tensors(inputs):
    return {name: torch.from_numpy(value) for name, value in inputs.items()}


def test_the_loss_of_masked_words_is_that_of_transformers(encoder):
    model = loaded(AutoModelForMaskedLM, encoder)
    objective = masked_words([[5, 6, 7], [8], [9, 10, 11, 12, 13], []], share=0.5)
    inputs = objective.batch(np.arange(4), np.random.default_rng(1))
    expected = model(**tensors(inputs))
    loss, right, count = objective.loss(model, tensors(inputs))
    assert count == objective.weight(inputs) > 3
    assert loss.item() / count == pytest.approx(expected.loss.item(), rel=1e-5)
    labels = torch.from_numpy(inputs["labels"])
    assert right == ((expected.logits.argmax(-1) == labels) & (labels != -100)).sum()


@settings(max_examples=at_most(25), deadline=None)
@given(share=st.floats(0, 1), seed=st.integers(0, 99))
def test_the_loss_with_teachers_by_hand(classifier, share, seed):
    random = np.random.default_rng(seed)
    model = loaded(AutoModelForSequenceClassification, classifier)
    tokens = Tokens.of([[CLS, *random.integers(5, 22, 4).tolist(), SEP] for _ in range(6)], cut=[False] * 6)
    labels = np.array([0, 1, 2, UNLABELLED, UNLABELLED, 1])
    taught = random.dirichlet([1, 1, 1], 6).astype(np.float32)
    examples = Examples([""] * 6, [""] * 6, labels, taught)
    objective = TextLabels(tokens, examples, PAD, share)
    inputs = objective.batch(np.arange(6), random)
    loss, right, count = objective.loss(model, tensors(inputs))
    ids = torch.from_numpy(inputs["input_ids"])
    logp = torch.log_softmax(model(input_ids=ids).logits, dim=1).detach().double().numpy()
    wanted = 0.0
    for i, label in enumerate(labels):
        soft = -(taught[i] * logp[i]).sum()
        wanted += soft if label == UNLABELLED else share * soft - (1 - share) * logp[i, label]
    assert loss.item() == pytest.approx(wanted, rel=1e-4)
    assert (count.item(), objective.weight(inputs)) == (4, 6)
    assert right.item() == sum(logp[i].argmax() == label for i, label in enumerate(labels))


# A batch teaches what its rows teach


def losses(folder, settings, examples):
    """The loss of a batch, and the sum of those of its rows alone, where nothing is padded."""
    start = load_start_model(TrainingSettings(str(folder), device="cpu", **settings))
    start.model.eval()
    objective, random = start.objective(examples, TrainingSettings(str(folder), **settings)), np.random.default_rng(1)

    def loss(*rows):
        with torch.inference_mode():
            return objective.loss(start.model, tensors(objective.batch(np.array(rows), random)))[0].item()

    return loss(0, 1, 2), loss(0) + loss(1) + loss(2)


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")  # deberta's, while it is imported
@pytest.mark.parametrize("family", FAMILIES)
def test_a_row_is_learnt_in_a_batch_as_it_is_alone(tmp_path, family):
    """XLNet reads the last token: padded on the right, a training would learn from the padding."""
    side = {"padding_side": "left"} if family == "xlnet" else {}
    types = ["token_type_ids"] if family in ("bert", "electra", "albert", "deberta", "deberta-v2", "xlnet") else []
    tokenizer = word_tokenizer(["input_ids", *types, "attention_mask"], **side)
    texts = ["a dog", "a dog runs in the park", "no"], ["it rains", "no", "the cat sleeps while it rains"]
    pairs = Examples(*texts, np.array([0, 1, 2]))
    folder = save(build(family), tmp_path / "labels", tokenizer)
    together, alone = losses(folder, {"labels": LABELS}, pairs)
    assert together == pytest.approx(alone)
    if family == "deberta":  # transformers has no multiple choice of this one
        return
    folder = save(build(family, "ForMultipleChoice"), tmp_path / "choice", tokenizer)
    options = [text for row in zip(*texts, strict=True) for text in row]
    choice = Examples(["a cat"] * 6, options, np.array([0, 1, 1]), options=2)
    together, alone = losses(folder, {"labels": ("one", "two"), "fields": ("story", "one", "two")}, choice)
    assert together == pytest.approx(alone)


def test_a_decoder_that_knows_no_padding_learns_that_of_its_tokenizer(tmp_path, monkeypatch):
    monkeypatch.setitem(FAMILIES, "gpt2", {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64})
    model = build("gpt2", pad_token_id=None, bos_token_id=None, eos_token_id=None)
    folder = save(model, tmp_path / "m", word_tokenizer(["input_ids", "attention_mask"]))
    pairs = Examples(["a dog", "a dog runs in the park", "no"], ["it", "no", "the cat sleeps"], np.array([0, 1, 2]))
    together, alone = losses(folder, {"labels": LABELS}, pairs)
    assert together == pytest.approx(alone)
    assert load_start_model(TrainingSettings(str(folder), device="cpu")).model.config.pad_token_id == 0
    save(model, tmp_path / "none", word_tokenizer(["input_ids", "attention_mask"], pad_token=None))
    with refuses(BadInput, where=f"hf:{tmp_path / 'none'}"):
        load_start_model(TrainingSettings(str(tmp_path / "none"), device="cpu"))


@given(
    lengths=st.lists(st.integers(1, 60), min_size=1, max_size=300),
    size=st.integers(1, 40),
    seed=st.integers(0, 9),
    epoch=st.integers(0, 3),
)
def test_an_epoch_has_every_row_once(lengths, size, seed, epoch):
    plan = list(batches(np.array(lengths), size, seed, epoch))
    assert sorted(np.concatenate(plan).tolist()) == list(range(len(lengths)))
    assert len(plan) == -(-len(lengths) // size)  # as many updates as were counted on
    assert sorted(map(len, plan))[1:] == [size] * (len(plan) - 1)


def test_epochs_and_seeds_come_in_other_orders_and_batches_are_of_similar_length():
    lengths = np.random.default_rng(1).integers(5, 60, 640)
    plans = {tuple(np.concatenate(list(batches(lengths, 16, *which)))) for which in ((1, 0), (1, 1), (2, 0))}
    assert len(plans) == 3
    spread = [np.ptp(lengths[rows]) for rows in batches(lengths, 16, 1, 0)]
    assert np.mean(spread) < 5 < np.ptp(lengths)


@given(total=st.integers(1, 500), warmup=st.floats(0, 1))
def test_the_rate_rises_to_one_and_falls(total, warmup):
    rates = [rate_factor(update, total, warmup) for update in range(total)]
    top = rates.index(max(rates))
    assert all(0 < rate <= 1 for rate in rates)
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    assert max(rates) == pytest.approx(1)
