"""What a dry run of a paper's protocol counts, that it sends nothing to a server, and that limits hold."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import polars as pl
import pytest
from chat_server import Answer, ChatServer
from typer.testing import CliRunner

from otherwords.cli.app import app
from otherwords.errors import LimitReached
from otherwords.language_models import pacing
from otherwords.papers.paranlu_experiment import Paranlu
from otherwords.papers.parte_experiment import Parte
from otherwords.papers.protocol import run_paper
from otherwords.papers.sensitivity_experiment import Sensitivity

pytestmark = pytest.mark.filterwarnings("default")
ROWS = [
    {"id": f"p{n}", "premise": f"The dog isn't in the garden of house {n}.", "label": "entailment",
     "hypothesis": f"No dog isn't near house {n}."}
    for n in range(6)
]  # fmt: skip
NUMBERS = count(1)


def obliging(path: str, body: dict[str, Any]) -> Answer:
    """Writes a new text each time that one is to be reworded, and finds everything entailed."""
    prompt = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
    text = f"Somebody goes there, that is {next(NUMBERS)}." if "Rephrase" in prompt else "entailment"
    choice = {"index": 0, "finish_reason": "stop", "message": {"content": text}, "text": text}
    used = {"prompt_tokens": 20, "completion_tokens": 8}
    return 200, {}, json.dumps({"model": "tiny", "choices": [choice], "usage": used}).encode()


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server that was probed; `asked` is how many requests it had since."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pacing, "BACKOFF", 0.02)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    pl.DataFrame(ROWS).write_ndjson("rows.jsonl")
    (tmp_path / "prices.toml").write_text('currency = "EUR"\n[tiny]\ninput = 100\noutput = 100\n')
    with ChatServer(answer=obliging) as found:
        done = CliRunner().invoke(app, ["probe", f"api:tiny(url={found.url})"])
        assert done.exit_code == 0, done.output
        probed = found.requests
        found.asked = lambda: found.requests - probed
        yield found


def model(server: ChatServer) -> str:
    return f"api:tiny(url={server.url}, readout=text)"


def settings(**more: Any) -> dict[str, Any]:
    return {"datasets": {"houses": "rows.jsonl"}, "cache": None, "canary": False, **more}


@pytest.fixture
def sensitivity(server):
    write = f'paraphrase(model="api:tiny(url={server.url})", k=2, field=hypothesis)'
    return settings(models={"tiny": model(server)}, generator=write, judge=model(server), accept=["self", "judge"])


def test_all_that_a_server_would_be_asked_is_counted_and_nothing_is_sent(server, sensitivity, tmp_path):
    done = run_paper(Sensitivity, sensitivity, out=tmp_path / "out", dry_run=True, prices="prices.toml")
    estimate = done.estimate
    assert server.asked() == 0
    assert not (tmp_path / "out" / "cells").exists()
    run_paper(Sensitivity, sensitivity, out=tmp_path / "out")
    first, twice = 6, 2  # the first answers; then drafts, verdicts in both directions and answers, for both who accept
    assert server.asked() <= estimate.requests
    assert estimate.requests >= first + twice * (6 * 2 + 6 * 2 * 2 + 6 * 2)
    assert estimate.answers == first + twice * (6 + 6 * 2)
    assert estimate.variants == twice * 6 * 2
    assert estimate.cost > 0


@pytest.mark.parametrize("local", ["scripted", "api"])
def test_judges_on_a_server_are_counted_and_not_asked(server, tmp_path, local):
    judge = f"mutual-entailment(judge='{model(server)}', canary=false)"
    asked = {"tiny": model(server)} if local == "api" else {"words": "scripted"}
    some = settings(models=asked, generator="contractions", verify=[judge], jaccard=1.0)
    some["datasets"] = {"houses": {"data": "rows.jsonl", "task": "rte", "labels": {"entailment": "entailed"}}}
    estimate = run_paper(Parte, some, out=tmp_path / "out", dry_run=True).estimate
    assert server.asked() == 0
    assert estimate.requests >= 2 * 2 * 6  # both directions of a paraphrased premise and hypothesis
    assert estimate.variants >= 2 * 6
    assert estimate.answers >= 3 * 6


def test_test_sets_and_the_judge_of_paranlu_are_counted(server, tmp_path):
    pl.DataFrame(ROWS).write_ndjson("test.jsonl")
    some = settings(models={"tiny": model(server)}, check=[], judge=model(server))
    some["datasets"] = {
        "houses": {"data": "rows.jsonl", "generator": "contractions", "testset": {"data": "test.jsonl"}}
    }
    estimate = run_paper(Paranlu, some, out=tmp_path / "out", dry_run=True).estimate
    assert server.asked() == 0
    assert estimate.answers == 6 + 6 + 6 * 2  # the test set, originals, and two rewordings of each
    assert estimate.requests == estimate.answers + 6 * 2 * 2


def test_a_limit_holds_for_all_runs_together_and_the_same_command_continues(server, sensitivity, tmp_path):
    sensitivity["cache"] = str(tmp_path / "cache.sqlite")
    for allowed in (4, 20):  # within the first answers; within the first run
        before = server.asked()
        with pytest.raises(LimitReached, match="the limit max_requests is reached"):
            run_paper(Sensitivity, sensitivity, out=tmp_path / "out", max_requests=allowed)
        assert server.asked() - before == allowed
    before = server.asked()
    run_paper(Sensitivity, sensitivity, out=tmp_path / "out", max_requests=1000)
    assert (tmp_path / "out" / "report.html").is_file()
    total = server.asked()
    assert total > before
    run_paper(Sensitivity, sensitivity, out=tmp_path / "out", max_requests=0)
    assert server.asked() == total


def test_the_command_has_the_limits(server, tmp_path):
    lines = [
        f'judge = "{model(server)}"',
        "[datasets]",
        'houses = "rows.jsonl"',
        "[models]",
        f'tiny = "{model(server)}"',
    ]
    (tmp_path / "mine.toml").write_text("\n".join(['generator = "contractions(field=hypothesis)"', *lines]))
    command = ["paper", "sensitivity", "mine.toml", "-o", "out"]
    stopped = CliRunner().invoke(app, [*command, "--max-requests", "3"])
    assert stopped.exit_code != 0
    assert "--max-requests is reached" in stopped.stderr
    assert server.asked() == 3
    dry = CliRunner().invoke(app, [*command, "--dry-run", "--quiet", "--prices", "prices.toml"])
    assert dry.exit_code == 0, dry.stderr
    assert "cost about" in dry.stderr
    assert "and what the server takes" in dry.stderr
    assert server.asked() == 3


def test_quick_takes_few_of_all_data(tmp_path):
    labels = {"entailment": "entailed"}
    rows = [{**one, "id": f"{one['id']}-{n}", "premise": f"{one['premise']} {n}"} for one in ROWS for n in range(120)]
    pl.DataFrame(rows).write_ndjson(tmp_path / "rows.jsonl")
    pl.DataFrame([{**one, "label": "neutral" if n % 2 else "entailment"} for n, one in enumerate(rows)]).write_ndjson(
        tmp_path / "three.jsonl"
    )
    data = {"data": str(tmp_path / "rows.jsonl"), "task": "rte", "labels": labels}
    some = {
        "datasets": {"tested": data}, "validation": {"dev": data}, "mnli": {"matched": str(tmp_path / "three.jsonl")},
        "models": {"words": "scripted"}, "generator": "contractions", "verify": ["surface"], "cache": None,
        "canary": False, "jaccard": 1.0,
    }  # fmt: skip
    run_paper(Parte, some, out=tmp_path / "parte", quick=True)
    drawn = {path.stem: pl.read_parquet(path).height for path in (tmp_path / "parte" / "data").glob("*.parquet")}
    assert {drawn[name] for name in ("tested", "validation~dev", "mnli~matched")} == {60}
    three = {"data": str(tmp_path / "three.jsonl"), "generator": "contractions"}
    some = {
        "datasets": {"x": {**three, "testset": {"data": str(tmp_path / "three.jsonl")}}},
        "models": {"words": "scripted"},
    }
    run_paper(Paranlu, {**some, "cache": None, "canary": False, "judge": ""}, out=tmp_path / "paranlu", quick=True)
    assert pl.read_parquet(tmp_path / "paranlu" / "data" / "x~test.parquet").height == 500


def test_paraphrases_for_validation_and_answers_before_merging_are_counted(server, tmp_path):
    write = f'paraphrase(model="api:tiny(url={server.url})", k=2)'
    data = {"data": "rows.jsonl", "task": "rte", "labels": {"entailment": "entailed"}}
    some = settings(models={"tiny": model(server)}, generator=write, verify=["surface"], jaccard=1.0)
    some |= {"datasets": {"tested": data}, "mnli": {"matched": "rows.jsonl"}}
    one = run_paper(Parte, some, out=tmp_path / "one", dry_run=True).estimate
    more = run_paper(Parte, {**some, "validation": {"dev": data}}, out=tmp_path / "more", dry_run=True).estimate
    drafts = 2 * 6 * 2  # two paraphrases of both sentences
    assert one.variants == drafts
    assert one.answers == 2 * (6 + drafts) + 6  # under two labels and under three, and MNLI
    assert more.variants == 2 * drafts
    assert more.answers == one.answers
    assert more.requests == one.requests + drafts
    assert server.asked() == 0
