"""Fillings against transformers' own logits of the same weights; neither order nor company matters; bad input."""

from __future__ import annotations

import json
import random
import shutil

import numpy as np
import pytest
from refusals import refuses
from tiny_models import KNOWN, TEXT

from otherwords.errors import BadInput
from otherwords.language_models.masked_lm import load
from otherwords.registry import masked_lms


@pytest.fixture(scope="module")
def model(masked_folder):
    return load(f"onnx:{masked_folder}(max_length=32)")


def masked_texts(count: int = 40) -> list[tuple[str, int, int]]:
    chance = random.Random(4)
    items = []
    for _ in range(count):
        words = chance.choices([*KNOWN, "playing", "runner", "Zebra"], k=chance.randrange(1, 9))
        at = chance.randrange(len(words))
        first = sum(len(word) + 1 for word in words[:at])
        items.append((" ".join(words) + ".", first, first + len(words[at])))
    return items


def by_transformers(masked_bert, model, item: tuple[str, int, int]) -> tuple[np.ndarray, int]:
    """Log-probabilities at the mask, one text at a time, and the number of the masked word if it has one."""
    import torch

    text, first, last = item
    tokenizer = model.tokenizer
    ids = tokenizer.encode(f"{text[:first]}[MASK]{text[last:]}").ids
    with torch.inference_mode():
        logits = masked_bert(torch.tensor([ids])).logits[0, ids.index(4)]
    word = tokenizer.token_to_id(text[first:last])
    return logits.double().log_softmax(dim=0).numpy(), -1 if word is None else word


def test_fillings_are_what_transformers_computes(masked_bert, model):
    items = masked_texts()
    found = model.fill(items, top=7)
    assert found.ids.shape == found.logp.shape == (len(items), 7)
    for row, item in enumerate(items):
        logp, word = by_transformers(masked_bert, model, item)
        best = np.argsort(-logp, kind="stable")[:7]
        assert found.ids[row].tolist() == best.tolist()
        np.testing.assert_allclose(found.logp[row], logp[best], atol=1e-5)
        assert found.one_token[row] == (word >= 0)
        if word >= 0:
            np.testing.assert_allclose(found.own[row], logp[word], atol=1e-5)
        else:
            assert np.isnan(found.own[row])
    assert 0 < found.one_token.sum() < len(items), "a sample of one kind proves little"
    assert found.logp.dtype == found.own.dtype == np.float32
    assert not found.cut.any()


@pytest.mark.parametrize("options", ["threads=1", "tokens=1", "tokens=40, threads=2", "tokens=100000"])
def test_neither_order_nor_company_nor_budget_changes_a_bit(masked_folder, model, options):
    items = masked_texts()
    whole = model.fill(items)
    other = load(f"onnx:{masked_folder}(max_length=32, {options})")
    order = random.Random(1).sample(range(len(items)), len(items))
    for rows in (order, order[:1], order[3:5]):
        some = other.fill([items[row] for row in rows])
        assert some.logp.tobytes() == whole.logp[rows].tobytes()
        assert some.ids.tobytes() == whole.ids[rows].tobytes()
        assert some.own.tobytes() == whole.own[rows].tobytes()
    assert other.signature == model.signature
    assert model.batch_invariant


def test_all_tokens_together_are_certain(model):
    found = model.fill(masked_texts(5), top=10_000)
    assert found.ids.shape[1] == len(model.vocabulary)
    np.testing.assert_allclose(np.exp(found.logp.astype(float)).sum(axis=1), 1, atol=1e-5)
    assert (np.diff(found.logp, axis=1) <= 0).all()


def test_words_for_people(model):
    found = model.fill([(TEXT, 2, 5)], top=24)
    words = dict(found.words(0))
    assert {"dog", "-ing", ".", "[MASK]", "play"} <= set(words)
    assert words["dog"] == pytest.approx(float(found.own[0]))
    assert [logp for _, logp in found.words(0)] == found.logp[0].tolist()


def test_a_long_text_is_read_around_its_mask_and_flagged(masked_bert, masked_folder):
    """Sixteen tokens of which twelve are read: the special ones, and ten around the mask."""
    model = load(f"onnx:{masked_folder}(max_length=12)")
    items = [(TEXT + ".", TEXT.index(word), TEXT.index(word) + len(word)) for word in ("dog", "it", "sleeps")]
    found = model.fill(items, top=5)
    assert found.cut.all()
    assert found.one_token.all()
    tokens = [*KNOWN, "."]
    for row, (first, mask) in enumerate([(0, 1), (2, 7), (4, 12)]):
        text = " ".join([*tokens[first:mask], tokens[mask], *tokens[mask + 1 : first + 10]])
        start = len(" ".join(tokens[first:mask])) + (mask > first)
        logp, word = by_transformers(masked_bert, model, (text, start, start + len(tokens[mask])))
        np.testing.assert_allclose(found.logp[row], np.sort(logp)[::-1][:5], atol=1e-5)
        np.testing.assert_allclose(found.own[row], logp[word], atol=1e-5)


@pytest.mark.parametrize("span", [(3, 3), (5, 2), (-1, 2), (0, 99)])
def test_spans_that_mask_nothing_are_refused(model, span):
    with refuses(BadInput):
        model.fill([("a dog runs", *span)])


def test_nothing_is_asked_for(model):
    with refuses(BadInput):
        model.fill([])
    with refuses(BadInput):
        model.fill([("a dog", 0, 1)], top=0)


def test_signatures_have_names_and_contents(masked_folder, tmp_path):
    shutil.copytree(masked_folder, tmp_path / "tiny")
    here, there = (masked_lms.make(f"onnx:{place}").signature for place in (masked_folder, tmp_path / "tiny"))
    assert here == there
    assert here.startswith("onnx.v1(path=tiny#")
    config = tmp_path / "tiny" / "config.json"
    file = masked_lms.make(f"onnx:{tmp_path}/tiny/model.onnx").signature
    config.write_text(config.read_text() + " ")
    assert masked_lms.make(f"onnx:{tmp_path}/tiny/model.onnx").signature != file


def test_a_graph_of_plain_logits_is_refused(masked_folder, tmp_path):
    import onnx

    shutil.copytree(masked_folder, tmp_path / "tiny")
    graph = onnx.load(masked_folder / "model.onnx")
    for output in graph.graph.output:
        for node in graph.graph.node:
            node.output[:] = ["logits" if name == output.name == "top_logp" else name for name in node.output]
        output.name = "logits" if output.name == "top_logp" else output.name
    onnx.save(graph, tmp_path / "tiny" / "model.onnx")
    with refuses(BadInput, where=str(tmp_path / "tiny" / "model.onnx")):
        load(f"onnx:{tmp_path}/tiny")


@pytest.mark.parametrize(
    ("name", "content"),
    [("model.onnx", "not a graph"), ("tokenizer.json", "{}"), ("config.json", "{"), ("tokenizer.json", None)],
)
def test_a_broken_file_is_refused_with_its_name(masked_folder, tmp_path, name, content):
    shutil.copytree(masked_folder, tmp_path / "tiny")
    (tmp_path / "tiny" / name).unlink()
    if content is not None:
        (tmp_path / "tiny" / name).write_text(content)
    with refuses(BadInput):
        load(f"onnx:{tmp_path}/tiny")


def test_a_tokenizer_without_a_mask_is_refused(masked_folder, tmp_path):
    shutil.copytree(masked_folder, tmp_path / "tiny")
    path = tmp_path / "tiny" / "tokenizer.json"
    path.write_text(path.read_text().replace("[MASK]", "[HIDE]"))
    with refuses(BadInput):
        load(f"onnx:{tmp_path}/tiny").fill([("a dog", 0, 1)])


@pytest.mark.parametrize("option", ["max_length=2", "tokens=0", "threads=-1"])
def test_sizes_that_cannot_work_are_refused(masked_folder, option):
    with refuses(BadInput, field=option.partition("=")[0]):
        load(f"onnx:{masked_folder}({option})")


def test_more_logits_than_names(masked_folder, tmp_path):
    """Models are often padded to a round number of tokens; nameless ones are special, not an error."""
    shutil.copytree(masked_folder, tmp_path / "tiny")
    path = tmp_path / "tiny" / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    del tokenizer["model"]["vocab"]["sleeps"]
    path.write_text(json.dumps(tokenizer))
    model = load(f"onnx:{tmp_path}/tiny")
    assert model.vocabulary.special[-1]
    assert "[token 23]" in dict(model.fill([("a dog", 2, 5)], top=24).words(0))
