"""A start that is a classifier: its head is matched to the labels by name or by a map, never by position."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from safetensors.torch import load_file
from tiny_models import FAMILIES, build, save, word_tokenizer
from transformers import BertForSequenceClassification

from otherwords.errors import BadInput
from otherwords.inference.hf_folders import find
from otherwords.training import train
from otherwords.training.heads import match_labels
from otherwords.training.objectives import load_start_model
from otherwords.training.settings import TrainingSettings

from .conftest import LABELS, problems, save_model, save_tokenizer, toy_rows

#: The order of roberta-large-mnli.
MNLI = ("contradiction", "neutral", "entailment")


def start(folder: Path, names=MNLI) -> Path:
    save_model(folder, BertForSequenceClassification, seed=8, id2label=dict(enumerate(names)))
    save_tokenizer(folder)
    return folder


def head(folder: Path, **settings):
    loaded = load_start_model(TrainingSettings(str(folder), device="cpu", **settings))
    return loaded.model.classifier.weight.detach(), loaded.head


def test_rows_are_matched_by_name(tmp_path):
    folder = start(tmp_path / "s")
    own = load_file(folder / "model.safetensors")["classifier.weight"]
    found, how = head(folder)
    assert torch.equal(found, own[[2, 1, 0]])
    assert (how.how, how.why) == (
        "matched",
        "entailment -> entailment, neutral -> neutral, contradiction -> contradiction",
    )


def test_rows_are_matched_by_a_map(tmp_path):
    folder = start(tmp_path / "s", ("LABEL_0", "LABEL_1", "LABEL_2"))
    own = load_file(folder / "model.safetensors")["classifier.weight"]
    names = dict(zip(("LABEL_0", "label_1", "LABEL_2"), MNLI, strict=True))
    assert torch.equal(head(folder, start_labels=names)[0], own[[2, 1, 0]])


def test_of_a_head_with_more_labels_the_rows_of_these_are_taken(tmp_path):
    folder = start(tmp_path / "s", ("other", *MNLI))
    own = load_file(folder / "model.safetensors")["classifier.weight"]
    assert torch.equal(head(folder)[0], own[[3, 2, 1]])


@pytest.mark.parametrize("names", [("LABEL_0", "LABEL_1", "LABEL_2"), ("yes", "maybe", "no"), ("entailment", "other")])
def test_an_unmatched_head_is_replaced_and_said_so(tmp_path, names):
    folder = start(tmp_path / "s", names)
    own = load_file(folder / "model.safetensors")["classifier.weight"]
    torch.manual_seed(1)
    with pytest.warns(UserWarning, match="its head is replaced: none of its labels"):
        found, how = head(folder)
    assert how.how == "replaced"
    assert not any(torch.equal(row, other) for row in found for other in own)
    assert found.abs().mean() < 0.2  # drawn anew as transformers does, not left as memory was


def test_a_training_goes_on_from_the_matched_head_and_says_what_became_of_it(tmp_path):
    """Accuracy before any update is that of the start, whose labels have another order."""
    data = problems(tmp_path / "d.jsonl", toy_rows(200))
    usual = {"data": [data], "batch": 16, "max_length": 16, "learning_rate": 3e-3, "device": "cpu", "valid": 0.2}
    folder = start(tmp_path / "s")
    train({**usual, "start": str(folder), "epochs": 6}, out=tmp_path / "first")
    config = tmp_path / "first" / "config.json"
    assert list(json.loads(config.read_text())["id2label"].values()) == list(LABELS)
    task = {"name": "back", "fields": ["premise", "hypothesis"], "labels": list(reversed(LABELS))}
    again = {**usual, "start": str(tmp_path / "first"), "epochs": 1, "learning_rate": 1e-9, "task": task}
    kept = train(again, out=tmp_path / "second")
    assert kept.figures["valid_accuracy"] > 0.9
    assert json.loads((tmp_path / "second" / "trained.json").read_text())["head"]["is"] == "matched"


def test_meanings_that_cannot_be_followed(tmp_path, encoder):
    folder = start(tmp_path / "s", ("LABEL_0", "LABEL_1", "LABEL_2"))
    for names in ({"LABEL_7": "neutral"}, {"LABEL_0": "neutral", "LABEL_1": "maybe"}, {"LABEL_0": "neutral"}):
        with refuses(BadInput, where=f"hf:{folder}", field="start_labels"):
            head(folder, start_labels=names)
    with refuses(BadInput, field="start_labels"):
        head(encoder, start_labels={"LABEL_0": "neutral"})


def test_several_rows_for_one_label_begin_nothing(tmp_path):
    merged = {"entailment": "entailed", "neutral": "not-entailed", "contradiction": "not-entailed"}
    with refuses(BadInput, field="start_labels"):
        head(start(tmp_path / "s"), labels=("entailed", "not-entailed"), start_labels=merged)


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")  # deberta's, while it is imported
@pytest.mark.parametrize("family", FAMILIES)
def test_the_rows_of_labels_are_found_in_every_architecture(tmp_path, family):
    """Two starts that differ in the order of their labels alone begin a training with the same weights."""
    model = build(family, id2label=dict(enumerate(LABELS)))
    folders = save(model, tmp_path / "usual", word_tokenizer()), tmp_path / "other"
    state = model.state_dict()
    changed = [name for name, weight in state.items() if weight.shape[:1] == (3,) and "embed" not in name]
    for name in changed:
        state[name] = state[name][[2, 1, 0]]
    model.load_state_dict(state)
    model.config.id2label = dict(enumerate(reversed(LABELS)))
    save(model, folders[1], word_tokenizer())
    both = [load_start_model(TrainingSettings(str(folder), device="cpu")) for folder in folders]
    weights = [dict(one.model.named_parameters()) for one in both]
    assert [one.head.how for one in both] == ["matched", "matched"]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert find(str(folders[0])).identity != find(str(folders[1])).identity


@given(st.permutations(range(5)), st.lists(st.sampled_from(["", " ", "x"]), min_size=5, max_size=5))
def test_matching_follows_names_whatever_their_order_and_spelling(order, blanks):
    labels = [f"label {i}" for i in range(5)]
    own = [f"{blanks[i].strip('x')}{labels[i].upper()}" for i in order]
    rows, reason = match_labels(own, labels, {})
    assert reason == ""
    assert [own[row].strip().lower() for row in rows] == labels
