"""Weights that are not those of the configuration beside them: fewer, more, or cut short."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiny_models
from refusals import refuses
from transformers import BertConfig, BertForMaskedLM, BertForPreTraining, BertForSequenceClassification, BertModel

from otherwords.errors import BadInput
from otherwords.inference.hf_folders import MASKED_LM, find, load, load_start

SIZES = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 9}


@pytest.fixture
def save(tmp_path):
    """Saves a BERT of two layers, whose config.json then has as many as asked for."""

    def saved(kind: type, layers: int = 2) -> Path:
        model = kind(BertConfig(num_hidden_layers=2, max_position_embeddings=12, **SIZES))
        tiny_models.save(model, tmp_path, tiny_models.word_tokenizer())
        config = json.loads((tmp_path / "config.json").read_text())
        (tmp_path / "config.json").write_text(json.dumps({**config, "num_hidden_layers": layers}))
        return tmp_path

    return saved


@pytest.mark.parametrize(
    ("kind", "name"), [(BertForSequenceClassification, "bert.encoder.layer.1"), (BertModel, "encoder.layer.1")]
)
def test_layers_that_the_configuration_does_not_know_are_refused(save, kind, name):
    folder = find(str(save(kind, layers=1)))
    for loading in (load, load_start):
        with refuses(BadInput, where=folder.who) as caught:
            loading(folder)
        assert f"encoder weights {name}." in str(caught.value)


@pytest.mark.parametrize("kind", [BertForSequenceClassification, BertModel])
def test_missing_layers_are_not_called_a_missing_head(save, kind):
    folder = find(str(save(kind, layers=3)))
    for loading in (load, load_start):
        with refuses(BadInput, where=folder.who) as caught:
            loading(folder)
        assert "encoder weights are missing: bert.encoder.layer.2." in str(caught.value)


def test_heads_of_other_tasks_and_poolers_may_stay(save):
    folder = find(str(save(BertForPreTraining)))
    assert load(folder, MASKED_LM).config.num_hidden_layers == 2  # without the pooler, and the head for sentence pairs
    _, new = load_start(folder)
    assert new == ("classifier.bias", "classifier.weight")


def test_a_masked_lm_may_start_a_classifier_without_a_pooler(save):
    _, new = load_start(find(str(save(BertForMaskedLM))))
    assert new == ("bert.pooler.dense.bias", "bert.pooler.dense.weight", "classifier.bias", "classifier.weight")


@pytest.mark.parametrize("content", [b"", b"version https://git-lfs.github.com/spec/v1\n", b"\x10" + bytes(200)])
def test_damaged_weights_are_named(save, content):
    folder = save(BertForSequenceClassification)
    (folder / "model.safetensors").write_bytes(content)
    with refuses(BadInput):
        load(find(str(folder)))


def test_pickled_weights_may_be_of_any_kind_of_model(save):
    folder = save(BertModel)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with refuses(BadInput) as caught:
        find(str(folder))
    assert "SequenceClassification" not in str(caught.value)
