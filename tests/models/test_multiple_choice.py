"""Multiple-choice models of every common architecture answer a-NLI as transformers does, one problem at a time."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch
from refusals import refuses
from tiny_models import KNOWN, build, save, word_tokenizer

from otherwords.errors import BadInput
from otherwords.models.model import Answerer
from otherwords.problem import TASKS, Batch
from otherwords.registry import models as registry

A_NLI = TASKS["a-nli"]
PLAIN = ("input_ids", "attention_mask")
#: Whether an architecture has segment numbers, and a lean pass of our own.
ARCHITECTURES = {
    "bert": (True, True),
    "roberta": (False, True),
    "xlm-roberta": (False, True),
    "camembert": (False, True),
    "distilbert": (False, True),
    "electra": (True, False),
    "mpnet": (False, False),
    "deberta-v2": (True, False),
    "xlnet": (True, False),
}


def made(folder: Path, family: str) -> tuple[Path, object, object]:
    types, _ = ARCHITECTURES[family]
    side = {"padding_side": "left" if family == "xlnet" else "right"}  # it reads the last token
    tokenizer = word_tokenizer(**side) if types else word_tokenizer(PLAIN, **side)
    model = build(family, "ForMultipleChoice")
    return save(model, folder / family, tokenizer), model, tokenizer


def problems(count: int) -> Batch:
    draw = random.Random(4)
    texts = [[" ".join(draw.choices(KNOWN, k=draw.randrange(1, 7))) for _ in range(count)] for _ in A_NLI.fields]
    return Batch(A_NLI, dict(zip(A_NLI.fields, texts, strict=True)))


def by_transformers(model, tokenizer, batch: Batch) -> np.ndarray:
    found = []
    for one in batch:
        seconds = [f"{one.text[name]} {one.text['obs2']}" for name in A_NLI.labels]
        rows = [tokenizer(one.text["obs1"], second, return_tensors="pt") for second in seconds]
        with torch.no_grad():  # each option by itself: nothing is padded
            scores = [model(**{name: ids[None] for name, ids in row.items()}).logits.item() for row in rows]
        found.append(torch.softmax(torch.tensor(scores, dtype=torch.float64), 0).numpy())
    return np.array(found)


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")  # deberta's, while it is imported
@pytest.mark.parametrize("family", ARCHITECTURES)
def test_answers_are_those_of_transformers(tmp_path, family):
    folder, model, tokenizer = made(tmp_path, family)
    bound = registry.make(f"hf:{folder}(device=cpu)")
    batch = problems(9)
    answers = Answerer("m", bound.signature, bound.function, A_NLI)(batch)
    np.testing.assert_allclose(answers.p, by_transformers(model, tokenizer, batch), atol=1e-5)
    assert len(set(answers.pred.tolist())) == 2
    if ARCHITECTURES[family][1]:
        registry.make(f"hf:{folder}(device=cpu, forward=lean)")
    else:
        with refuses(BadInput, where=f"hf:{folder}", field="forward"):
            registry.make(f"hf:{folder}(device=cpu, forward=lean)")


def test_a_problem_is_answered_alone_as_in_company_and_cut_if_one_of_its_options_is(tmp_path):
    folder, *_ = made(tmp_path, "bert")
    model = registry.make(f"hf:{folder}(device=cpu, max_length=12)").function
    batch = problems(12)
    whole = model(batch)
    for place in range(len(batch)):
        alone = model(batch[place : place + 1])
        np.testing.assert_allclose(alone.answers[0], whole.answers[place], atol=1e-6)
        assert alone.cut[0] == whole.cut[place]
    words = [{name: len(text.split()) for name, text in one.text.items()} for one in batch]
    longest = [each["obs1"] + max(each["hyp1"], each["hyp2"]) + each["obs2"] + 3 for each in words]
    assert whole.cut.tolist() == [length > 12 for length in longest]
    assert 0 < whole.cut.sum() < len(batch)
    empty = model(Batch(A_NLI, {name: [] for name in A_NLI.fields}))
    assert empty.answers.shape == (0, 2)


def test_the_join_is_part_of_what_is_signed(tmp_path):
    folder, *_ = made(tmp_path, "bert")
    usual, given, other = (
        registry.make(f"hf:{folder}(device=cpu{more})").signature
        for more in ("", ', join="obs1 | option + obs2"', ', join="obs1 + obs2 | option"')
    )
    assert len({usual, given, other}) == 3
    assert str(tmp_path) not in given
