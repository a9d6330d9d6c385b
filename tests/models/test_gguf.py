"""`gguf:FILE` as a model: labels by every readout, the same as through a server, and from the file by other means."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
import pytest
import tiny_gguf
from gguf_weights import LlamaFile
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput
from otherwords.language_models.completion import Capabilities, Message, Request
from otherwords.language_models.dialects import body_of
from otherwords.language_models.endpoint import Endpoint
from otherwords.language_models.gguf_file import GgufFile
from otherwords.language_models.served import Served
from otherwords.models.answering import load
from otherwords.models.model import Answerer
from otherwords.problem import TASKS, Batch

NLI = TASKS["nli"]
PAIRS = [("A dog runs.", "An animal moves."), ("It rains.", "It is dry."), ("A man eats.", "He is hungry.")]
#: Nats. Seen on one machine, one request at a time and without the prefix cache: 0 in all digits between llama.cpp's
#: server and llama.cpp in this process, 0.008 between these and numpy on a file of 32-bit floats; with the cache, or
#: in parallel, up to 0.32. Fixed since.
TOLERANCE = 0.02


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("xllamacpp")
    return tiny_gguf.save(tmp_path_factory.mktemp("tiny") / "tiny.gguf")


def batch(pairs: list[tuple[str, str]]) -> Batch:
    return Batch(NLI, {"premise": [one for one, _ in pairs], "hypothesis": [other for _, other in pairs]})


def model(path: Path, **options: object) -> Answerer:
    given = ", ".join(f"{name}={json.dumps(value)}" for name, value in options.items())
    return load(f"gguf({', '.join(part for part in (f'path={json.dumps(str(path))}, threads=1', given) if part)})", NLI)


#: A chat and a plain text as they are asked, as the model reads them, and labels after each.
QUESTION = "A dog runs. Does an animal move? Answer yes or no."
STATEMENT = "Premise: It rains.\nHypothesis: It is dry.\nTrue, false or unknown? Answer:"
CHAT = (
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
    f"<|im_start|>user\n{QUESTION}<|im_end|>\n<|im_start|>assistant\n"
)
ASKED = [
    (Request(messages=(Message("user", QUESTION),), max_tokens=1), CHAT, ["Yes", "No", "yes"]),
    (Request(text=STATEMENT, max_tokens=1), STATEMENT, [" True", " False", " true"]),
]


def through_server(url: str, name: str, request: Request, texts: list[str]) -> np.ndarray:
    """What a server says, asked by itself and cold."""
    served = Served(Endpoint(name, url), Capabilities(logprobs=100, cold="cache_prompt"), concurrency=1)
    ((_, reply),) = served.complete([replace(request, logprobs=100, way="cold", repeat=1)])
    assert reply.usage.cached == 0
    found = np.array([reply.top[0].get(text, np.nan) for text in texts])
    assert np.isfinite(found).all(), f"a label is not among the 100 likeliest: {dict(reply.top[0])}"
    return found


def test_label_log_probabilities_through_the_server_are_those_of_the_file(llama_server: str, smollm2: Path) -> None:
    """By llama.cpp both times: once on its server, once in this process."""
    file = GgufFile(smollm2, context=512, threads=1)
    for request, _, texts in ASKED:
        direct = file.continuations([request], texts, first=True)[0]
        through = through_server(llama_server, "smollm2", request, texts)
        np.testing.assert_allclose(through, direct, rtol=0, atol=TOLERANCE)


@pytest.mark.slow
def test_label_log_probabilities_are_those_computed_from_the_file_without_llama_cpp(
    smollm2: Path, llama_server: str, tmp_path: Path
) -> None:
    """By numpy, with another tokenizer. The file is written in 32 bits, because of a quantised one llama.cpp rounds
    what passes between layers to 8 bits, too, and is then a little off its own weights, by up to 0.26 nat here."""
    weights = LlamaFile(smollm2)
    plain = weights.save_plain(tmp_path / "plain.gguf")
    url, file = llama_cpp.serve_here(plain, "plain"), GgufFile(plain, context=512, threads=1)
    for request, prompt, texts in ASKED:
        logs = weights.log_probabilities(weights.tokens(prompt))
        computed = np.array([logs[weights.tokens(text)[0]] for text in texts])
        np.testing.assert_allclose(through_server(url, "plain", request, texts), computed, rtol=0, atol=TOLERANCE)
        np.testing.assert_allclose(
            file.continuations([request], texts, first=True)[0], computed, rtol=0, atol=TOLERANCE
        )
        quantised = through_server(llama_server, "smollm2", request, texts)
        np.testing.assert_allclose(quantised, computed, rtol=0, atol=0.5)


def test_a_small_file_gives_what_numpy_computes_from_it(tiny: Path) -> None:
    weights, request = LlamaFile(tiny), Request(text="a dog. true or false?", max_tokens=1)
    logs = weights.log_probabilities(weights.tokens(request.text))
    texts = ["t", "f", "no", " "]
    computed = [logs[weights.tokens(text)[0]] for text in texts]
    found = GgufFile(tiny, context=512, threads=1).continuations([request], texts, first=True)[0]
    np.testing.assert_allclose(found, computed, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("readout", ["tokens", "score", "choices", "text"])
def test_every_readout_gives_an_answer(tiny: Path, readout: str) -> None:
    answers = model(tiny, readout=readout)(batch(PAIRS))
    assert len(answers) == 3
    if readout in ("tokens", "score"):
        assert answers.p is not None
        np.testing.assert_allclose(answers.p.sum(axis=1), 1)
        assert answers.mass is not None
        assert (answers.mass > 0).all()
    if readout == "choices":
        assert set(answers.pred.tolist()) <= {0, 1, 2}


def test_no_answer_depends_on_another(tiny: Path) -> None:
    one = model(tiny, readout="tokens")
    together, apart = one(batch(PAIRS)), [one(batch([pair])) for pair in reversed(PAIRS)]
    assert together.p is not None
    assert [answers.p.tobytes() for answers in reversed(apart)] == [row.tobytes() for row in together.p]
    assert one.model.batch_invariant
    assert not model(tiny, cache_prompt=True).model.batch_invariant


def test_it_is_asked_again_as_it_is_asked(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a memory, in another order and with it; without one, the same file gives the same: there is no noise."""
    bodies: list[dict[str, Any]] = []
    asked = GgufFile._ask

    def spy(file: GgufFile, request: Request, **more: Any) -> Any:
        bodies.append({"cache_prompt": file.cache_prompt, **body_of(file._form, request, file.capabilities)[1]})
        return asked(file, request, **more)

    monkeypatch.setattr(GgufFile, "_ask", spy)
    warm, same = model(tiny, cache_prompt=True, readout="tokens"), model(tiny, readout="tokens")
    assert (warm.model.ways, same.model.ways) == (("shuffled", "usual", "cold"), ())
    rows = [{"premise": f"{'It rains. ' * n}So it is.", "hypothesis": "It is wet."} for n in range(12)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = ow.answer(rows, f"gguf:{tiny}(threads=1, cache_prompt=true)", repeats=1, canary=False, cache=None)
    assert "again:shuffled:1" in table.columns
    first, again = bodies[:12], bodies[12:]
    assert [one["messages"] for one in first] != [one["messages"] for one in again]
    assert {one["cache_prompt"] for one in bodies} == {True}


def test_a_template_that_draws_is_asked_again_as_usual(tiny: Path, tmp_path: Path) -> None:
    words = '[words]\nentailment = "yes"\nneutral = "perhaps"\ncontradiction = "no"\n'
    path = tmp_path / "warm.toml"
    path.write_text(f'task = "nli"\nprompt = "{{premise}} {{hypothesis}}"\n{words}[parameters]\ntemperature = 1.0\n')
    drawn = model(tiny, template=str(path), readout="text").model
    assert (drawn.ways, drawn.batch_invariant) == (("usual",), False)
    assert model(tiny, template=str(path), readout="tokens").model.ways == ()


def test_the_signature_has_the_content_and_neither_place_nor_speed(tiny: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved.gguf"
    moved.write_bytes(tiny.read_bytes())
    other = tiny_gguf.save(tmp_path / "other.gguf", seed=2)
    signature = model(tiny).signature
    assert model(moved, context=2048).signature == signature
    assert model(other).signature != signature
    assert model(tiny, cache_prompt=True).signature != signature
    assert model(tiny, readout="score").signature != signature


def test_a_file_without_a_template_for_chats_is_asked_plainly(tmp_path: Path, tiny: Path) -> None:
    plain = tiny_gguf.save(tmp_path / "plain.gguf", chat=False)
    assert len(model(plain)(batch(PAIRS))) == 3


@pytest.mark.parametrize(
    ("begin", "read"), [("<think>", "choices(grammar+4096)"), ("<think></think>", "tokens(tokens)")]
)
def test_one_that_thinks_in_a_chat_is_read_by_its_answer_and_not_so_where_a_text_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begin: str, read: str
) -> None:
    monkeypatch.setattr(tiny_gguf, "TEMPLATE", tiny_gguf.TEMPLATE.replace("<|assistant|>", f"<|assistant|>{begin}"))
    thinker, template = tiny_gguf.save(tmp_path / "thinker.gguf"), tmp_path / "plain.toml"
    words = '[words]\nentailment = "A"\nneutral = "B"\ncontradiction = "C"'
    template.write_text(f'task = "nli"\nform = "plain"\nprompt = "{{premise}} {{hypothesis}}"\n{words}')
    assert read in model(thinker, template="letters").signature
    assert "tokens(tokens)" in model(thinker, template=str(template)).signature


def test_problems_longer_than_the_context_are_refused(tiny: Path) -> None:
    with refuses(BadInput, field="context"):
        model(tiny, context=512)(batch([("word " * 1000, "end")]))
