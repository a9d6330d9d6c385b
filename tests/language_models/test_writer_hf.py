"""Writers from folders: the same in any company, chats in their template, and what cannot write is refused."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest
import torch
import transformers
from refusals import refuses
from tiny_models import WRITER_VOCABULARY

from otherwords.errors import BadInput, WrongAnswer
from otherwords.language_models.writer import CUT_OFF, TOO_LONG, Decoding, load
from otherwords.registry import writers

DECODINGS = [
    Decoding("sample", 3, temperature=1.3, top_k=12, top_p=0.9),
    Decoding("diverse", 3, beams=2, diversity=1.0),
    Decoding("beams", 2, beams=3),
]
#: Models and the number of a decoding.
COMBINATIONS = [
    *(("t5", 1), ("gpt2", 2), ("llama", 0)),
    *(pytest.param(*one, marks=pytest.mark.slow) for one in (("t5", 0), ("gpt2", 1), ("llama", 2))),
    *(pytest.param("marian", number, marks=pytest.mark.slow) for number in range(3)),
]


@pytest.mark.parametrize(("kind", "number"), COMBINATIONS)
def test_neither_batch_nor_order_matters(saved_writer, prompts, kind, number):
    spec, decoding = f"hf:{saved_writer(kind)}(device=cpu, max_new=9", DECODINGS[number]
    whole = load(f"{spec})").write(prompts, range(8), decoding)
    order = random.Random(4).sample(range(8), 8)
    for size, tokens in ((1, 0), (3, 0), (8, 300)):
        writer, found = load(f"{spec}, tokens={tokens})"), {}
        for start in range(0, 8, size):
            rows = order[start : start + size]
            found |= dict(zip(rows, writer.write([prompts[row] for row in rows], rows, decoding), strict=True))
        assert [found[row] for row in range(8)] == whole
    assert len({draft.text for drafts in whole for draft in drafts}) > 4


def test_a_chat_model_gets_the_prompt_as_a_message(saved_writer):
    chat, plain = (
        load(f"hf:{saved_writer('llama', chat=True)}(device=cpu, chat={chat})") for chat in ("true", "false")
    )
    one = Decoding("beams", 3, beams=3)
    assert chat.write(["a dog runs"], [0], one) == plain.write(["<s> user : a dog runs :"], [0], one)
    assert chat.write(["a dog runs"], [0], one) != plain.write(["a dog runs"], [0], one)


def test_the_template_is_part_of_the_signature(saved_writer, tmp_path):
    folder = Path(shutil.copytree(saved_writer("llama", chat=True), tmp_path / "tiny"))
    before = writers.make(f"hf:{folder}(device=cpu)").signature
    (folder / "chat_template.jinja").write_text("{{ messages[0]['content'] }}")
    assert writers.make(f"hf:{folder}(device=cpu)").signature != before
    (folder / "chat_template.jinja").write_text("{{ raise_exception('no users here') }}")
    with refuses(BadInput):
        load(f"hf:{folder}(device=cpu)").write(["a dog"], [0], Decoding())


def test_a_tokenizer_that_ends_every_text_does_not_end_prompts(saved_writer, tmp_path):
    folder = Path(shutil.copytree(saved_writer("llama"), tmp_path / "tiny"))
    saved = json.loads((folder / "tokenizer.json").read_text())
    parts = [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}]
    special = {"</s>": {"id": "</s>", "ids": [1], "tokens": ["</s>"]}}
    saved["post_processor"] = {"type": "TemplateProcessing", "single": parts, "pair": parts, "special_tokens": special}
    (folder / "tokenizer.json").write_text(json.dumps(saved))
    usual, ending = (load(f"hf:{one}(device=cpu)") for one in (saved_writer("llama"), folder))
    one = Decoding("beams", 3, beams=3)
    assert ending.write(["a dog runs"], [0], one) == usual.write(["a dog runs"], [0], one)


def test_of_a_prompt_that_is_too_long_nothing_is_written(saved_writer):
    long = "a dog runs " * 30
    for kind in ("t5", "gpt2"):
        writer = load(f"hf:{saved_writer(kind)}(device=cpu, max_length=20, max_new=8)")
        first, second = writer.write([long, "a dog runs"], [0, 0], Decoding())
        assert [draft.fault for draft in first] == [TOO_LONG]
        assert second[0].fault in ("", CUT_OFF)
        assert second == writer.write(["a dog runs"], [0], Decoding())[0]


def test_positions_are_not_overrun(saved_writer):
    writer = load(f"hf:{saved_writer('gpt2')}(device=cpu, max_new=40)")  # of 64 positions, 24 are left for the prompt
    found = writer.write(["a dog runs " * 8, "a dog runs " * 9], [0, 0], Decoding())
    assert [drafts[0].fault == TOO_LONG for drafts in found] == [False, True]
    with refuses(BadInput):
        load(f"hf:{saved_writer('gpt2')}(device=cpu, max_new=64)")


def test_a_text_without_an_end_is_marked(saved_writer, prompts):
    found = load(f"hf:{saved_writer('t5')}(device=cpu, max_new=2)").write(
        prompts, [0] * 8, Decoding("beams", 3, beams=3)
    )
    assert {draft.fault for drafts in found for draft in drafts} == {"", CUT_OFF}


def test_memory_that_ends_halves_the_batch(saved_writer, prompts, monkeypatch):
    whole = load(f"hf:{saved_writer('t5')}(device=cpu, max_new=5)").write(prompts, [0] * 8, DECODINGS[1])
    from otherwords.language_models import writer_hf as huggingface

    sizes, search = [], huggingface.search

    def full(stepper, *given):
        sizes.append(len(stepper.ids))
        if len(stepper.ids) > 4:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return search(stepper, *given)

    monkeypatch.setattr(huggingface, "search", full)
    assert load(f"hf:{saved_writer('t5')}(device=cpu, max_new=5)").write(prompts, [0] * 8, DECODINGS[1]) == whole
    assert sizes[0] > 4


def test_a_tokenizer_of_another_model_is_refused(saved_writer, tmp_path):
    folder = Path(shutil.copytree(saved_writer("gpt2"), tmp_path / "tiny"))
    config = json.loads((folder / "tokenizer.json").read_text())
    config["model"]["vocab"]["elephant"] = 500
    (folder / "tokenizer.json").write_text(json.dumps(config))
    with refuses(WrongAnswer):
        load(f"hf:{folder}(device=cpu)").write(["a elephant"], [0], Decoding())


def test_what_does_not_write_is_refused(saved_writer, tmp_path):
    bert = transformers.BertConfig(vocab_size=20, hidden_size=16, num_hidden_layers=1, num_attention_heads=2)
    folder = Path(shutil.copytree(saved_writer("t5"), tmp_path / "tiny"))
    transformers.BertForMaskedLM(bert).save_pretrained(folder)
    with refuses(BadInput):
        load(f"hf:{folder}")


@pytest.mark.parametrize("options", ["max_new=0", "max_length=2", "tokens=-1", "dtype=int8", "revision=main"])
def test_options_that_cannot_work_are_refused(saved_writer, options):
    with refuses(BadInput):
        load(f"hf:{saved_writer('t5')}({options})")


def test_folders_that_are_not_there_or_not_whole_are_refused(saved_writer, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with refuses(BadInput):
        load(f"hf:{tmp_path / 'nowhere'}")
    folder = Path(shutil.copytree(saved_writer("t5"), tmp_path / "tiny"))
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with refuses(BadInput):
        load(f"hf:{folder}")


def test_a_model_without_an_end_is_refused(saved_writer, tmp_path):
    folder = Path(shutil.copytree(saved_writer("gpt2"), tmp_path / "tiny"))
    for name in ("config.json", "generation_config.json", "tokenizer_config.json"):
        config = json.loads((folder / name).read_text())
        (folder / name).write_text(
            json.dumps({key: value for key, value in config.items() if not key.startswith("eos")})
        )
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "eos_token_id": None}))
    with refuses(BadInput):
        load(f"hf:{folder}(device=cpu)")


def test_tokens_that_may_not_be_used_are_not(saved_writer, tmp_path, prompts):
    folder = Path(shutil.copytree(saved_writer("t5"), tmp_path / "tiny"))
    words = ["Rephrase", "runs", "park", "dog"]
    config = json.loads((folder / "generation_config.json").read_text())
    banned = [[WRITER_VOCABULARY.index(word)] for word in words]
    (folder / "generation_config.json").write_text(json.dumps({**config, "bad_words_ids": banned}))
    for decoding in DECODINGS:
        free, bound = (
            load(f"hf:{one}(device=cpu)").write(prompts, range(8), decoding) for one in (saved_writer("t5"), folder)
        )
        used = [
            {word for drafts in found for draft in drafts for word in draft.text.split()} for found in (free, bound)
        ]
        assert used[0] & set(words)
        assert not used[1] & set(words)
