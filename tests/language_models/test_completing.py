"""Language models that write: on servers and in files, by sample or greedy, each text by a seed of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import llama_cpp
import pytest
import tiny_gguf
from chat_server import Answer, ChatServer, refusal
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.language_models.writer import CUT_OFF, TOO_LONG, WITHHELD, Decoding, Preferred, choose_decoding, load

SAMPLE = Decoding("sample", 3, temperature=0.7)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("xllamacpp")
    return f"gguf:{tiny_gguf.save(tmp_path_factory.mktemp('tiny') / 'tiny.gguf')}(threads=1, context=512, max_new=8)"


def server(path: str, body: dict[str, Any]) -> Answer | None:
    """Knows `n` and `seed`; of three texts the second has no end."""
    if not path.endswith("/chat/completions") or "logprobs" in body:
        return refusal(404, "no such service")
    texts = [f"{body.get('seed')}/{number} at {body.get('temperature')}" for number in range(body.get("n", 1))]
    choices = [
        {
            "index": number,
            "message": {"role": "assistant", "content": text},
            "finish_reason": ("stop", "length")[number % 2],
        }
        for number, text in enumerate(texts)
    ]
    return 200, {}, json.dumps({"model": body["model"], "choices": choices}).encode()


def test_several_texts_are_one_request_where_the_server_can() -> None:
    with ChatServer(answer=server) as stub:
        writer = load(f'api:small(url="{stub.url}", max_new=20)')
        before = stub.requests
        ((one, two, three),) = writer.write(["a dog"], [2**40 + 7], SAMPLE)
        assert stub.requests == before + 1
        assert stub.bodies[-1] | {"n": 3, "temperature": 0.7, "max_tokens": 20, "seed": 7} == stub.bodies[-1]
        assert (one.text, one.fault, two.fault, three.fault) == ("7/0 at 0.7", "", CUT_OFF, "")
        ((greedy,),) = writer.write(["a dog"], [5], Decoding("greedy"))
        assert greedy.text == "None/0 at 0.0"


@pytest.mark.parametrize("ends", [("content_filter", "stop"), ("stop", "content_filter")])
def test_what_a_filter_withheld_is_no_draft_and_is_not_kept(ends: tuple[str, str]) -> None:
    def filtered(path: str, body: dict[str, Any]) -> Answer:
        message = {"role": "assistant", "content": "<think>a cat</think> The dog ru"}
        choices = [{"index": n, "message": message, "finish_reason": end} for n, end in enumerate(ends)]
        return 200, {}, json.dumps({"model": body["model"], "choices": choices[: body.get("n", 1)]}).encode()

    with ChatServer(answer=filtered) as stub:
        writer = load(f'api:small(url="{stub.url}")')
        ((one, two),) = writer.write(["a dog"], [1], Decoding("sample", 2))
        assert [one.fault, two.fault] == [WITHHELD if end == "content_filter" else "" for end in ends]
        assert one.text == "The dog ru"
        before = stub.requests
        writer.write(["a dog"], [1], Decoding("sample", 2))
        assert stub.requests == before + 1


def test_what_was_written_is_not_paid_for_twice() -> None:
    with ChatServer(answer=server) as stub:
        spec = f'api:small(url="{stub.url}")'
        first = load(spec).write(["a dog", "a cat"], [1, 2], SAMPLE)
        before = stub.requests
        assert load(spec).write(["a cat", "a dog"], [2, 1], SAMPLE) == first[::-1]
        assert stub.requests == before


def test_a_server_of_one_text_at_a_time_is_asked_for_each() -> None:
    pytest.importorskip("xllamacpp")
    writer = load(f'api:tiny(url="{llama_cpp.serve_tiny()}", max_new=6)')
    (drafts,) = writer.write(["a dog"], [1], Decoding("sample", 5))
    assert len(drafts) == 5
    assert len({draft.text for draft in drafts}) > 2


def test_a_file_writes_by_its_seeds(tiny: str) -> None:
    writer = load(tiny)
    (drafts,) = writer.write(["a dog"], [1], SAMPLE)
    ((again, *_),) = writer.write(["a dog"], [2], SAMPLE)
    assert again == drafts[1]
    assert {draft.fault for draft in drafts} <= {"", CUT_OFF}


def test_a_prompt_that_does_not_fit_is_a_fault_of_its_own(tiny: str) -> None:
    long, short = load(tiny).write(["word " * 200, "a dog"], [1, 1], SAMPLE)
    assert [draft.fault for draft in long] == [TOO_LONG]
    assert len(short) == 3


def test_ways_that_only_others_know_are_refused(tiny: str) -> None:
    ways = load(tiny).ways
    with refuses(BadInput, field="decoding"):
        choose_decoding("diverse", 3, "x", ways=ways)
    with refuses(BadInput, field="beams"):
        choose_decoding("sample", 3, "x", beams=2, ways=ways)
    with refuses(BadInput, field="top_k"):
        choose_decoding("sample", 3, "x", top_k=2, ways={"sample": ("temperature", "top_p"), "greedy": ()})


def test_a_default_gives_way(tiny: str) -> None:
    ways = load(tiny).ways
    assert choose_decoding(Preferred("diverse"), 3, "x", ways=ways) == Decoding("sample", 3)
    assert choose_decoding(Preferred("beams"), 1, "x", ways=ways) == Decoding("greedy")
    assert choose_decoding(Preferred("diverse"), 3, "x").way == "diverse"


@pytest.mark.parametrize("option", ["max_new=0", "chat=maybe"])
def test_options_that_cannot_work_are_refused(tiny: str, option: str) -> None:
    with refuses(BadInput, field=option.partition("=")[0]):
        load(f"{tiny.partition('(')[0]}({option})")


def test_a_model_without_chats_is_not_asked_to_chat(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    plain = tiny_gguf.save(tmp_path / "plain.gguf", chat=False)
    assert len(load(f"gguf:{plain}(max_new=4)").write(["a dog"], [1], SAMPLE)[0]) == 3
    with refuses(BadInput, field="chat"):
        load(f"gguf:{plain}(chat=true)")
