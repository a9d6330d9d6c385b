"""Pairs that a writer is shown first: ten by chance, the same each time, and never the sentence itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_server import Answer, ChatServer, refusal
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput
from otherwords.registry import generators
from otherwords.variants.example_pairs import WITH_EXAMPLES, read_pairs

PAIRS = [{"text": f"Sentence number {n}.", "paraphrase": f"Number {n} is this sentence."} for n in range(20)]


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in PAIRS))
    return path


def test_so_many_are_drawn_by_the_seed(pairs: Path) -> None:
    one, again, other = (read_pairs(pairs, 10, seed, "x") for seed in (1, 1, 2))
    assert one == again != other
    shown = one.before("Something else.", WITH_EXAMPLES)
    assert shown.count("Sentence: ") == shown.count("Paraphrase: ") == 10
    assert one.signature == again.signature != other.signature


def test_a_sentence_is_never_shown_to_itself(pairs: Path) -> None:
    found = read_pairs(pairs, 10, 1, "x")
    for text, paraphrase in found.pairs:
        shown = found.before(f" {text} ", WITH_EXAMPLES)
        assert text not in shown
        assert paraphrase not in shown
        assert shown.count("Sentence: ") == 10


def test_files_that_cannot_work_are_refused(tmp_path: Path, pairs: Path) -> None:
    with refuses(BadInput):
        read_pairs(pairs, 20, 1, "x")
    with refuses(BadInput, field="shots"):
        read_pairs(pairs, 0, 1, "x")
    (tmp_path / "other.jsonl").write_text('{"text": "One."}\n')
    with refuses(BadInput):
        read_pairs(tmp_path / "other.jsonl", 1, 1, "x")
    with refuses(BadInput, field="examples"):
        generators.make(f"paraphrase(model=scripted, context=true, prompt='{{text}} {{context}}', examples={pairs})")


def test_a_sentence_with_several_paraphrases_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "twice.jsonl"
    path.write_text("".join(json.dumps(one | {"paraphrase": f"{n}."}) + "\n" for one in PAIRS[:4] for n in range(3)))
    assert read_pairs(path, 3, 1, "x").before("Else.", WITH_EXAMPLES).count("Sentence: ") == 3
    with pytest.raises(BadInput, match="has 4 pairs; give at least 6"):
        read_pairs(path, 5, 1, "x")


def test_paraphrases_as_paranlu_asked_for_them(tmp_path: Path, pairs: Path) -> None:
    """Section 6: ten examples, nine texts at a temperature of 0.7; back-translation through the same server."""
    asked: list[dict[str, Any]] = []

    def server(path: str, body: dict[str, Any]) -> Answer | None:
        if not path.endswith("/chat/completions") or "logprobs" in body:
            return refusal(404, "no such service")
        asked.append(body)
        prompt = body["messages"][0]["content"]
        texts = {"To German": "Ein Tier bewegt sich", "To English": "Some creature is moving"}
        text = texts.get(prompt.partition(":")[0], "A canine moves")
        choices = [
            {"index": n, "message": {"role": "assistant", "content": f" {text}, {n}."}, "finish_reason": "stop"}
            for n in range(body.get("n", 1))
        ]
        return 200, {}, json.dumps({"model": body["model"], "choices": choices}).encode()

    problem = {"id": "p", "premise": "A dog runs.", "hypothesis": "An animal moves.", "label": "entailment"}
    with ChatServer(answer=server) as stub:
        model = json.dumps(f'api:small(url="{stub.url}")')
        spec = f"paraphrase(model={model}, k=9, temperature=0.7, tries=0, examples={json.dumps(str(pairs))})"
        table = ow.vary([problem], [spec])
        assert table["hypothesis"].to_list() == [f"A canine moves, {n}." for n in range(9)]
        body = asked[-1]
        assert (body["n"], body["temperature"]) == (9, 0.7)
        assert body["messages"][0]["content"].count("Paraphrase:") == 11
        assert body["messages"][0]["content"].endswith("Sentence: An animal moves.\nParaphrase:")
        assert "decoding=sample+examples@" in table["how"][0]
        there = f'back-translation(there={model}, back={model}, prefix="To German: ", return_prefix="To English: ")'
        (row,) = ow.vary([problem], [there]).to_dicts()
        assert (row["pivot"], row["hypothesis"]) == ("Ein Tier bewegt sich, 0.", "Some creature is moving, 0.")
        assert "decoding=greedy" in row["how"]
        assert asked[-1]["temperature"] == 0
