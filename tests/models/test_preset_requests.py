"""The prompts of the papers as a server gets them, byte for byte."""

import json
from pathlib import Path

import polars as pl
import pytest
from chat_server import ChatServer

import otherwords as ow

GOLDEN = Path(__file__).parent.parent / "golden" / "preset_requests.json"
RTE = {"premise": "A man sleeps.", "hypothesis": "Nobody is awake.", "label": "not-entailed"}
A_NLI = {"obs1": "It was dry.", "obs2": "Ann came home wet.", "hyp1": "It began to rain.", "hyp2": "It stayed dry."}
D_NLI = {"premise": "A man is outside.", "hypothesis": "He walks his dog.", "update": "He holds a leash."}
PROBLEMS = {
    "parte": ("rte", RTE),
    "paranlu-a-nli": ("a-nli", {**A_NLI, "label": "hyp1"}),
    "paranlu-d-nli": ("d-nli", {**D_NLI, "label": "strengthener"}),
    "paranlu-d-nli, no premise": ("d-nli", {**D_NLI, "premise": "", "label": "strengthener"}),
}


def reply(path: str, body: dict) -> tuple[int, dict, bytes]:
    words = (" yes", " no", " W", " S", " 1", " 2")
    logprobs = {"tokens": [" yes"], "top_logprobs": [dict.fromkeys(words, -0.75)]}
    choice = {
        "index": 0,
        "text": " yes",
        "finish_reason": "length",
        "logprobs": logprobs if "logprobs" in body else None,
    }
    return 200, {}, json.dumps({"model": "curie", "choices": [choice], "usage": {}}).encode()


def shots(folder: Path, task: str) -> str:
    """Three files of solved problems, which share nothing with the problems above."""
    for number in range(3):
        d_nli = {
            "premise": f"Cat {number} sits.",
            "hypothesis": f"Cat {number} rests.",
            "update": f"Mouse {number} ran.",
        }
        a_nli = {"obs1": f"Cup {number} stood.", "obs2": f"Floor {number} shone.", "hyp1": f"Spilt {number}."}
        rows = [{**d_nli, "label": "weakener"}] if task == "d-nli" else [{**a_nli, "hyp2": "Dry.", "label": "hyp1"}]
        pl.DataFrame(rows).write_ndjson(folder / f"{number}.jsonl")
    return json.dumps([str(folder / f"{number}.jsonl") for number in range(3)])


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_prompts_of_the_papers_are_sent_as_printed(tmp_path: Path, name: str) -> None:
    """Written down from Table 5 of ParaNLU, its released form of shots, and appendix A.5 of PaRTE."""
    task, problem = PROBLEMS[name]
    template = name.partition(",")[0]
    more = "" if template == "parte" else f", shots=3, shots_from={shots(tmp_path, task)}"
    with ChatServer(answer=reply) as server:
        spec = f'api:curie(url="{server.url}", template={template}{more}, readout={"text" if not more else "tokens"})'
        ow.answer([problem], spec, task, canary=False, cache=None)
        (body,) = server.bodies
    assert body == json.loads(GOLDEN.read_text(encoding="utf-8"))[name]
