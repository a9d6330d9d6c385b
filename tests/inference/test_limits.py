"""What a model has places and embeddings for: against transformers' own models of many families."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from transformers import AutoConfig, AutoModelForSequenceClassification, BertConfig, BertModel

from otherwords.errors import BadInput, WrongAnswer
from otherwords.inference.limits import (
    SHORTEST,
    configured_positions,
    known_tokens,
    limit,
    positions,
    refuse_sizes,
    with_limits_checked,
)
from otherwords.inference.tokens import PaddedRows

SHAPE = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "vocab_size": 20}
GPT = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 14, "vocab_size": 20}
#: How many tokens a family reads where its table has 14 rows.
FAMILIES = {"bert": 14, "electra": 14, "albert": 14, "distilbert": 14, "nystromformer": 14}
BEHIND_PAD = ("roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "roberta-prelayernorm", "data2vec-text", "ibert")
OWN = {
    "distilbert": {"dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 16},
    "nystromformer": {"segment_means_seq_len": 14, "num_landmarks": 14},
}
FAMILIES |= dict.fromkeys((*BEHIND_PAD, "mpnet"), 12)


def build(family: str, **more: object):
    config = AutoConfig.for_model(family, **{**SHAPE, "max_position_embeddings": 14, **OWN.get(family, {}), **more})
    return AutoModelForSequenceClassification.from_config(config).eval()


@pytest.mark.parametrize("family", FAMILIES)
def test_positions_are_as_many_as_the_model_can_compute(family):
    model, ids = build(family), torch.full((1, FAMILIES[family]), 5)
    assert positions(model) == configured_positions(model.config.to_dict()) == FAMILIES[family]
    assert known_tokens(model) == 20
    model(input_ids=ids)
    with pytest.raises((IndexError, RuntimeError)):
        model(input_ids=torch.cat([ids, ids[:, :1]], dim=1))


def test_a_pad_of_another_number_moves_the_count():
    model = build("roberta", pad_token_id=4)
    assert positions(model) == configured_positions(model.config.to_dict()) == 9


def test_gpt_has_its_own_names():
    model = AutoModelForSequenceClassification.from_config(AutoConfig.for_model("gpt2", **GPT, pad_token_id=0))
    assert positions(model) == configured_positions({"model_type": "gpt2", "n_positions": 14}) == 14


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")  # deberta's, while it is imported
def test_relative_positions_are_no_limit():
    model = build("deberta-v2", relative_attention=True, position_biased_input=False)
    assert positions(model) == configured_positions(model.config.to_dict()) == 0


def test_letters_need_no_table_of_tokens():
    assert known_tokens(build("canine", num_hash_buckets=16)) == 0


@pytest.mark.parametrize("config", [{}, {"max_position_embeddings": None}, {"max_position_embeddings": "many"}])
def test_a_configuration_that_does_not_tell_sets_no_limit(config):
    assert configured_positions(config) == 0


@given(st.integers(SHORTEST, 999), st.one_of(st.just(0), st.integers(SHORTEST, 999)))
def test_the_limit_is_the_lower_of_both(max_length, room):
    assert limit("m", max_length, room) == (min(max_length, room) if room else max_length)


def test_a_model_without_room_for_a_pair_is_refused():
    with refuses(BadInput):
        limit("m", 256, room=7)


def test_only_where_it_can_help_is_a_smaller_length_advised():
    start = with_limits_checked(lambda rows: rows, BertModel(BertConfig(**SHAPE, max_position_embeddings=14)), "m", 256)
    with refuses(WrongAnswer):
        start(PaddedRows(np.full((2, 15), 5), None, None))
    with refuses(WrongAnswer):
        start(PaddedRows(np.full((2, 3), 20), None, None))


def test_the_least_length_and_budget_are_allowed_and_less_is_refused():
    refuse_sizes("m", SHORTEST, 1)
    with refuses(BadInput, where="m", field="max_length"):
        refuse_sizes("m", SHORTEST - 1)
    with refuses(BadInput, where="m", field="tokens"):
        refuse_sizes("m", SHORTEST, 0)
