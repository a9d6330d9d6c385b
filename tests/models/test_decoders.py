"""Decoders with a head for labels: they look for the last token by its number, so that filling up can mislead them."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
import tiny_models
import torch
from refusals import refuses
from tiny_models import KNOWN, LABELS
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import AutoModelForSequenceClassification, AutoTokenizer, GPT2Config, GPT2ForSequenceClassification
from transformers import PreTrainedTokenizerFast as Fast

from otherwords.errors import WrongAnswer
from otherwords.inference.limits import NO_TOKEN, Padding, choose_padding
from otherwords.problem import TASKS, Batch
from otherwords.registry import models as registry

WORDS = ["[PAD]", "[UNK]", "[END]", *KNOWN]
#: What the tokenizer and the configuration take for the pad, and whether rows end with [END].
CASES = {
    "only the tokenizer has one": ("[PAD]", None, False),
    "only the configuration has one": (None, 2, False),
    "neither has one": (None, None, False),
    "they differ": ("[PAD]", 2, False),
    "they differ, and rows end with one": ("[PAD]", 2, True),
    "the tokenizer's is what rows end with": ("[END]", None, True),
    "the configuration's is no token": ("[PAD]", -1, False),
    "they agree": ("[PAD]", 0, False),
}


def save(folder: Path, own: str | None, configured: int | None, *, end: bool) -> Path:
    torch.manual_seed(5)
    sizes = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 24, "initializer_range": 0.5}
    tokens = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": configured}
    config = GPT2Config(vocab_size=len(WORDS), id2label=dict(enumerate(LABELS)), **sizes, **tokens)
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if end:
        words.post_processor = processors.TemplateProcessing("$A [END]", "$A $B [END]", [("[END]", 2)])
    named = {"unk_token": "[UNK]"} | ({} if own is None else {"pad_token": own})
    inputs = ["input_ids", "attention_mask"]
    fast = Fast(tokenizer_object=words, model_input_names=inputs, **named)
    return tiny_models.save(GPT2ForSequenceClassification(config), folder, fast)


def some_texts(most: int = 9) -> list[tuple[str, str]]:
    rng = random.Random(3)
    words = WORDS[2:]  # a text may hold the very token that others are filled up with
    return [(" ".join(rng.choices(words, k=rng.randrange(1, most))), rng.choice(words)) for _ in range(12)]


def batch(texts: list[tuple[str, str]]) -> Batch:
    return Batch(TASKS["nli"], {"premise": [a for a, _ in texts], "hypothesis": [b for _, b in texts]})


def one_by_one(folder: Path, texts: list[tuple[str, str]]) -> np.ndarray:
    """transformers' own model and tokenizer, as they are in the folder, on a row at a time."""
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        logits = torch.cat([model.eval()(**tokenizer(*pair, return_tensors="pt")).logits for pair in texts])
    return torch.softmax(logits.double(), dim=1).numpy()


@pytest.mark.parametrize("case", CASES)
def test_rows_in_batches_are_answered_as_each_alone(case, tmp_path):
    own, configured, end = CASES[case]
    folder = save(tmp_path / "gpt", own, configured, end=end)
    assert json.loads((folder / "config.json").read_text())["pad_token_id"] == configured
    expected = one_by_one(folder, some_texts())
    for tokens in (1, 40):
        found = registry.make(f"hf:{folder}(tokens={tokens}, device=cpu)").function(batch(some_texts())).answers
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_only_what_the_model_knows_as_its_pad_is_filled_up_with(tmp_path):
    def chosen(own: str | None, configured: int | None) -> tuple[Padding, int]:
        folder = save(tmp_path / f"{own}-{configured}", own, configured, end=False)
        model = AutoModelForSequenceClassification.from_pretrained(folder)
        return choose_padding(AutoTokenizer.from_pretrained(folder), model), model.config.pad_token_id

    assert chosen("[PAD]", 2) == (Padding(2, exact=False), 2)
    assert chosen(None, 2) == (Padding(2, exact=False), 2)
    assert chosen("[PAD]", None) == (Padding(0, exact=True), NO_TOKEN)
    assert chosen("[PAD]", len(WORDS)) == (Padding(0, exact=True), len(WORDS))


def test_pairs_beyond_its_positions_are_cut(tmp_path):
    folder = save(tmp_path / "gpt", "[PAD]", 0, end=False)
    model = registry.make(f"hf:{folder}(device=cpu)").function
    reply = model(batch([("a dog " * 20, "it rains"), ("a dog " * 11, "it rains")]))
    assert (model.max_length, reply.cut.tolist()) == (24, [True, False])
    expected = one_by_one(folder, [("a dog " * 11, "it rains")])
    np.testing.assert_allclose(reply.answers, np.repeat(expected, 2, axis=0), atol=1e-5)


def test_a_pair_of_no_tokens_is_reported(tmp_path):
    """Without special tokens, nothing is left of two empty texts."""
    folder = save(tmp_path / "gpt", "[PAD]", 0, end=False)
    with refuses(WrongAnswer):
        registry.make(f"hf:{folder}").function(batch([("a dog", "it rains"), ("", " ")]))
