"""Distances of meaning by hand: vectors computed with transformers, histograms counted on paper; absent texts."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest
import tiny_models
import torch
from refusals import refuses
from scipy.spatial.distance import jensenshannon
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast
from transformers.utils import logging

from otherwords.errors import BadInput, Unmeasurable
from otherwords.pipeline import score
from otherwords.registry import metrics

TEXT = "a dog runs in the park while it rains and no cat sleeps"
WORDS = ["[PAD]", "[UNK]", *TEXT.split()]


@pytest.fixture(scope="module")
def bert() -> BertModel:
    torch.manual_seed(9)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(vocab_size=len(WORDS), max_position_embeddings=16, initializer_range=0.5, **sizes)
    return BertModel(config).eval()


@pytest.fixture(scope="module")
def encoder(bert, tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("embeddings") / "tiny"
    logging.disable_progress_bar()
    bert.save_pretrained(folder)
    logging.enable_progress_bar()
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]", pad_token="[PAD]").save_pretrained(folder)
    return json.dumps(f"hf:{folder}(device=cpu)")


def distance(bert, one: str, other: str) -> float:
    vectors = []
    for text in (one, other):
        with torch.inference_mode():
            ids = torch.tensor([[WORDS.index(word) for word in text.split()]])
            vectors.append(bert(input_ids=ids).last_hidden_state[0].mean(dim=0).double().numpy())
    return 1 - float(vectors[0] @ vectors[1] / np.linalg.norm(vectors[0]) / np.linalg.norm(vectors[1]))


def answers() -> pl.DataFrame:
    """Bucket a: a variant of one field that flips, one of both that does not, one unchanged; b: one that flips."""
    return pl.DataFrame(
        {
            "bucket": ["a", "a", "a", "a", "b", "b"],
            "variant": [None, "a1", "a2", "a3", None, "b1"],
            "premise": ["a dog runs", "a dog sleeps", "the cat runs", "a dog runs", "it rains", "it rains"],
            "hypothesis": ["no cat", "no cat", "no dog", "no cat", "the park", "in the park"],
            "gold": ["yes", "yes", "yes", "yes", "no", "no"],
            "pred": ["yes", "no", "yes", "yes", "yes", "no"],
        }
    )


def by_hand(bert) -> list[float]:
    """The mean over changed fields; what changed nothing is at no distance."""
    both = distance(bert, "a dog runs", "the cat runs"), distance(bert, "no cat", "no dog")
    return [
        distance(bert, "a dog runs", "a dog sleeps"),
        sum(both) / 2,
        0.0,
        distance(bert, "the park", "in the park"),
    ]


def value(frame: pl.DataFrame, spec: str) -> float | None:
    return score(frame, [spec], replicates=20)[0].value


def test_embedding_distance_is_the_mean_cosine_distance_of_changed_texts(bert, encoder):
    found = score(answers(), [f"embedding_distance(encoder={encoder})"], replicates=20)[0]
    assert found.value == pytest.approx(np.mean(by_hand(bert)), abs=1e-5)
    assert found.signature.startswith('embedding_distance.v1(fields="", suite=)#hf.v1()#tiny@')
    assert found.unit == "number"


def test_named_fields_count_whether_they_changed_or_not(bert, encoder):
    premises = [by_hand(bert)[0], distance(bert, "a dog runs", "the cat runs"), 0.0, 0.0]
    found = value(answers(), f"embedding_distance(encoder={encoder}, fields=premise)")
    assert found == pytest.approx(np.mean(premises), abs=1e-5)


def test_texts_of_a_suite(encoder, tmp_path):
    id_ = pl.coalesce("variant", "bucket").alias("id")
    answers().select(id_, "premise", "hypothesis").write_parquet(tmp_path / "suite.parquet")
    bare = answers().drop("premise", "hypothesis")
    spec = f"embedding_distance(encoder={encoder}, suite={tmp_path / 'suite.parquet'})"
    assert value(bare, spec) == value(answers(), f"embedding_distance(encoder={encoder})")
    with refuses(Unmeasurable):
        value(bare, f"embedding_distance(encoder={encoder})")


def test_the_divergence_of_flipped_from_kept_by_hand(bert, encoder):
    """Two flips, a1 and b1, and two kept, one of them at 0: counted in bins, compared with SciPy's square root."""
    near = by_hand(bert)
    top, bins = max(near) * 1.5, 5
    place = [min(int(one / top * bins), bins - 1) for one in near]
    flipped, kept = (np.bincount([place[i] for i in rows], minlength=bins) / 2 for rows in ((0, 3), (1, 2)))
    assert (flipped != kept).any()
    for base in ("2", "e"):
        found = value(answers(), f"embedding_jsd(encoder={encoder}, bins={bins}, top={top}, base={base})")
        assert found == pytest.approx(jensenshannon(flipped, kept, base=2 if base == "2" else math.e) ** 2, abs=1e-9)


def test_what_lies_beyond_is_in_the_last_bin(encoder):
    """With all but the unchanged one beyond: flipped all there, kept half."""
    found = value(answers(), f"embedding_jsd(encoder={encoder}, bins=2, top=0.000001)")
    assert found == pytest.approx(jensenshannon([0, 1], [0.5, 0.5], base=2) ** 2, abs=1e-9)


def test_without_flips_there_is_nothing_to_measure(encoder):
    steady = answers().with_columns(pl.col("gold").alias("pred"))
    with pytest.warns(UserWarning, match="embedding_jsd of model: nothing to measure"):
        scores = score(steady, ["flip_rate", f"embedding_jsd(encoder={encoder})"], replicates=20)
    assert [one.value for one in scores] == [0, None]


def test_only_right_leaves_out_what_was_wrong_before(encoder):
    """Bucket b's original is wrong: its flip goes, and a1's is left."""
    found = value(answers(), f"embedding_jsd(encoder={encoder}, bins=2, top=0.000001, only_right=true)")
    assert found == pytest.approx(jensenshannon([0, 1], [0.5, 0.5], base=2) ** 2, abs=1e-9)
    counts = score(answers(), [f"embedding_jsd(encoder={encoder}, only_right=true)"], replicates=20)[0].n_units
    assert counts == 1


def test_an_empty_text_is_no_distance(encoder):
    gone = answers().with_columns(
        pl.when(pl.col("variant") == "a1").then(pl.lit("")).otherwise("premise").alias("premise")
    )
    with refuses(Unmeasurable):
        value(gone, f"embedding_distance(encoder={encoder})")


@pytest.mark.parametrize(
    "options",
    [
        "bins=1",
        "top=0",
        "top=3",
        "base=10",
    ],
)
def test_bins_that_cannot_be(encoder, options):
    with refuses(BadInput):
        metrics.make(f"embedding_jsd(encoder={encoder}, {options})")


def test_an_encoder_must_be_named():
    with refuses(BadInput):
        metrics.make("embedding_distance")


# A model with one output


def test_a_regressor_rates_original_and_variant(tmp_path):
    """The mean over variants of its own number for (original, variant), as transformers gives it."""
    model = tiny_models.build("bert", num_labels=1, id2label={0: "rating"})
    tokenizer = tiny_models.word_tokenizer()
    folder = tiny_models.save(model, tmp_path / "rater", tokenizer)
    texts = ["a dog runs", "it rains in the park", "no dog runs"]
    frame = pl.DataFrame({"bucket": "a", "variant": [None, "a1", "a2"], "hypothesis": texts, "gold": "x", "pred": "x"})
    frame = pl.concat([frame, frame.with_columns(bucket=pl.lit("b"), variant=pl.lit(None)).head(1)], how="diagonal")
    with torch.inference_mode():
        ratings = [float(model(**tokenizer(texts[0], one, return_tensors="pt")).logits) for one in texts[1:]]
    [found] = score(frame, [f"learned_similarity(regressor=hf:{folder}, device=cpu)"], replicates=20)
    assert found.value == pytest.approx(np.mean(ratings), abs=1e-4)
    assert str(tmp_path) not in found.signature


@pytest.mark.parametrize("spec", ["hf:{folder}", "minilm", "hf:"])
def test_a_classifier_is_no_regressor(tmp_path, spec):
    folder = tiny_models.save(tiny_models.build("bert"), tmp_path / "labels", tiny_models.word_tokenizer())
    with refuses(BadInput):
        metrics.make(f"learned_similarity(regressor={json.dumps(spec.format(folder=folder))})")
