"""Limits and dry runs of everything that asks servers: generators, judges, models and probes, in every command."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from chat_server import Answer, ChatServer
from typer.testing import CliRunner, Result

import otherwords as ow
from otherwords.cli.app import app
from otherwords.datasets.suite import open_source
from otherwords.errors import LimitReached
from otherwords.language_models import pacing
from otherwords.language_models.budget import Budget, Price, Prices, most_tokens
from otherwords.language_models.completion import Capabilities, Message, Request, Usage
from otherwords.models.api import probed
from otherwords.running.driver import ASKS_SERVER
from otherwords.running.files import answer_files
from otherwords.storage import tables

PRICES = 'currency = "EUR"\n[tiny]\ninput = 100\noutput = 100\n'
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "BACKOFF", 0.02)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prices.toml").write_text(PRICES)
    suite().write_ndjson("suite.jsonl")
    suite().filter(pl.col("of").is_null()).write_ndjson("data.jsonl")
    return lambda *arguments: CliRunner().invoke(app, [str(one) for one in arguments])


def suite(size: int = 4) -> pl.DataFrame:
    """Originals with a variant each."""
    return pl.DataFrame(
        [
            {"id": f"{number}{end}", "of": f"{number}" if end else None, "how": end or None, "label": "entailment"}
            | {"premise": f"Person {number} walks{end}.", "hypothesis": f"Somebody moves {number} times."}
            for number in range(size)
            for end in ("", " home")
        ]
    )


def writer(server: ChatServer) -> str:
    return f"api:tiny(url={server.url})"


def asking(server: ChatServer) -> dict[str, tuple[str, ...]]:
    """Commands of which each would ask the server, at first to find out what it can do."""
    write, told = f'paraphrase(model="{writer(server)}", k=2, tries=0)', f"mutual-entailment(judge='{writer(server)}')"
    there = f'back-translation(there="{writer(server)}", back="{writer(server)}", k=2)'
    return {
        "vary": ("vary", "data.jsonl", "--with", write, "-o", "out.jsonl"),
        "back": ("vary", "data.jsonl", "--with", there, "-o", "out.jsonl"),
        "check": ("check", "suite.jsonl", "--with", told, "-o", "out.jsonl"),
        "resample": ("resample", "data.jsonl", "--rho", "0.5", "--with", write, "-o", "out.jsonl"),
        "circularity": (
            "circularity",
            "suite.jsonl",
            "-m",
            "scripted(otherwise=entailment)",
            "--judge",
            writer(server),
            "-o",
            "out.jsonl",
        ),
        "run": ("run", "--data", "data.jsonl", "--with", write, "-m", "scripted", "-o", "out", "--no-canary"),
        "judged": ("run", "--data", "suite.jsonl", "--check", told, "-m", "scripted", "-o", "out", "--no-canary"),
        "probe": ("probe", writer(server)),
    }


@pytest.mark.parametrize("name", ["vary", "back", "check", "resample", "circularity", "run", "judged", "probe"])
def test_no_command_sends_anything_in_a_dry_run_or_beyond_a_limit(name: str, cli, tmp_path: Path) -> None:
    with ChatServer() as server:
        before = sorted(tmp_path.iterdir())
        command = asking(server)[name]
        planned = cli(*command, "--dry-run", "--prices", "prices.toml")
        assert planned.exit_code == 0, planned.stderr
        assert "requests" in planned.stdout
        assert server.looks + server.requests == 0
        stopped = cli(*command, "--max-requests", "3")
        assert stopped.exit_code == 1, stopped.stderr
        assert "--max-requests allows 3" in stopped.stderr
        assert server.looks + server.requests == 0
        assert cli(*command, "--max-cost", "0.00001", "--prices", "prices.toml").exit_code == 1
        assert server.requests == 0
        assert [one for one in sorted(tmp_path.iterdir()) if one.name != "out"] == before


def obliging(path: str, body: dict[str, Any]) -> Answer:
    """Writes a new text each time that one is to be reworded, and finds everything entailed."""
    prompt = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
    is_reworded = "Rephrase" in prompt or "xx" in prompt
    return reply(f"Somebody goes there, that is {next(NUMBERS)}." if is_reworded else "entailment")


NUMBERS = count(1)


def reply(text: str, finish: str = "stop") -> Answer:
    choice = {"index": 0, "finish_reason": finish, "message": {"content": text}, "text": text}
    used = {"prompt_tokens": 20, "completion_tokens": 8}
    return 200, {}, json.dumps({"model": "tiny", "choices": [choice], "usage": used}).encode()


@pytest.mark.parametrize(
    ("command", "entries"),
    [
        (("vary", "data.jsonl", "--with", "{write}", "-o", "out.jsonl"), {"vary": 8}),
        (("vary", "data.jsonl", "--with", "{back}", "-o", "out.jsonl"), {"vary": 16}),
        (("vary", "data.jsonl", "--with", "{accepted}", "-o", "out.jsonl"), {"vary": 8 + 16}),
        (("check", "suite.jsonl", "--with", "{judge}", "-o", "out.jsonl"), {"check": 8}),
        (("resample", "data.jsonl", "--rho", "1", "--with", "{write}", "-o", "out.jsonl"), {"vary": 8}),
        (("circularity", "suite.jsonl", "-m", "m={model}", "--judge", "self", "--no-canary"), {"": 8 + 8}),
        (
            ("run", "--data", "data.jsonl", "--with", "{write}", "--check", "{judge}", "-m", "m={model}", "-o", "out",
             "--no-canary", "--metric", "flip_rate"),
            {"vary": 8, "check": 16, "m": 4 + 8},
        ),
        (
            ("run", "--data", "suite.jsonl", "--check", "mutual-entailment", "-m", "m={model}", "-o", "out",
             "--no-canary", "--metric", "flip_rate"),
            {"m": 8 + 8},
        ),
    ],
)  # fmt: skip
def test_what_a_dry_run_counts_is_what_is_sent(command: tuple[str, ...], entries: dict[str, int], cli) -> None:
    """Where every draft is used and kept; a dry run after that has nothing to count."""
    with ChatServer(answer=obliging) as server:
        cli("probe", writer(server))
        probed, model = server.requests, f"api:tiny(url={server.url}, readout=text)"
        judge = f"mutual-entailment(judge='{model}', canary=false)"
        named = {
            "write": f'paraphrase(model="{writer(server)}", k=2)',
            "back": f'back-translation(there="{writer(server)}", back="{writer(server)}", k=2, prefix="xx ", '
            'return_prefix="xx ")',
            "accepted": f'paraphrase(model="{writer(server)}", k=2, accept="{judge}")',
            "judge": judge,
            "model": model,
        }
        command = tuple(part.format(**named) if part.startswith(("{", "m={")) else part for part in command)
        planned = cli(*command, "--dry-run", "--prices", "prices.toml")
        assert planned.exit_code == 0, planned.stderr
        lines = [line.partition(": about ") for line in planned.stdout.splitlines()]
        found = {name.partition(" ")[0] if "@" in name else name: int(rest.split()[0]) for name, _, rest in lines}
        assert list(found.values()) == list(entries.values()), planned.stdout
        assert all(name in ("", "tiny@127.0.0.1") or name in found for name in entries)
        assert server.requests == probed
        done = cli(*command)
        assert done.exit_code == 0, done.stderr
        assert server.requests - probed == sum(entries.values())
        assert f"{sum(entries.values()):,} requests, " in done.stderr


def test_a_limit_stops_what_writes_and_judges_and_the_same_command_continues(cli, tmp_path: Path) -> None:
    with ChatServer(answer=obliging) as server:
        cli("probe", writer(server))
        probed, model = server.requests, f"api:tiny(url={server.url}, readout=text)"
        write, judge = f'paraphrase(model="{writer(server)}", k=2)', f"mutual-entailment(judge='{model}', canary=false)"
        command = ("run", "--data", "data.jsonl", "--with", write, "--check", judge, "-m", f"m={model}", "-o", "out")
        command += ("--no-canary", "--metric", "flip_rate", "--max-requests", "5")
        for times in range(1, 8):
            stopped = cli(*command)
            assert server.requests - probed == 5 * times, stopped.stderr
            assert (stopped.exit_code, "the limit --max-requests is reached" in stopped.stderr) == (1, True)
        done = cli(*command)
        assert done.exit_code == 0, done.stderr
        assert server.requests - probed == 8 + 16 + 12  # nothing was asked twice
        [total] = json.loads((tmp_path / "out/manifest.json").read_text())["spent"]["in_all"].values()
        assert total["requests"] == 8 + 16 + 12


def test_functions_have_limits_too(tmp_path: Path) -> None:
    with ChatServer(answer=obliging) as server:
        probed(writer(server))
        model, before = f"api:tiny(url={server.url}, readout=text)", server.requests
        judge, limits = f"mutual-entailment(judge='{model}', canary=false)", {"max_requests": 3}
        rows = suite()
        with pytest.raises(LimitReached, match="max_requests"):
            ow.vary(rows.filter(pl.col("of").is_null()), f'paraphrase(model="{writer(server)}", k=2)', **limits)
        with pytest.raises(LimitReached, match="max_requests"):
            ow.check(rows, judge, **limits)
        with pytest.raises(LimitReached, match="max_requests"):
            ow.circularity(rows, "scripted(otherwise=entailment)", f"j={judge}", canary=False, cache=None, **limits)
        assert server.requests - before == 9


@pytest.mark.parametrize("text", ["api:x", "api(model=x)", "api.v1:x", "api.v1(model=x)", "paraphrase(model='api:x')"])
def test_what_asks_a_server_is_known_however_it_is_spelled(text: str) -> None:
    assert ASKS_SERVER.search(text)


def test_a_judge_that_cannot_be_read_drops_a_variant(cli) -> None:
    with ChatServer(answer=lambda path, body: reply("Well, who knows?")) as server:
        judge = f"mutual-entailment(judge='api:tiny(url={server.url}, readout=text)', canary=false)"
        done = cli("check", "suite.jsonl", "--with", judge, "-o", "out.jsonl")
        assert done.exit_code == 0, done.stderr
        reasons = pl.read_ndjson("out.jsonl")["check:mutual-entailment:reason"].drop_nulls().unique().to_list()
        assert reasons == ["neither entails the other: unreadable"]


def test_withheld_answers_are_marked_and_asked_again_by_the_next_run(cli) -> None:
    withheld = [True]

    def answer(path: str, body: dict[str, Any]) -> Answer:
        is_withheld = withheld[0] and "Person 2" in body["messages"][-1]["content"]
        return reply("", "content_filter") if is_withheld else reply("entailment")

    with ChatServer(answer=answer) as server:
        model = f"m=api:tiny(url={server.url}, readout=text)"
        command = ("run", "--data", "suite.jsonl", "-m", model, "-o", "out", "--no-canary", "--metric", "flip_rate")
        first = cli(*command)
        assert first.exit_code == 0, first.stderr
        assert "m: 2 of 8 answers were withheld by a filter of the server (column `withheld`)" in first.stderr
        assert "m: 8 answers, 0 from the cache, 2 withheld\n" in first.stderr
        assert "could not be read" not in first.stderr
        answers = pl.read_parquet("out/answers/*/*.parquet")
        assert answers.filter("withheld")["pred"].to_list() == ["unreadable"] * 2
        assert json.loads(Path("out/manifest.json").read_text())["answered"]["m"]["withheld"] == 2
        withheld[0], before = False, server.requests
        second = cli(*command)
        assert second.exit_code == 0, second.stderr
        assert server.requests - before == 2
        assert pl.read_parquet("out/answers/*/*.parquet")["pred"].to_list() == ["entailment"] * 8
        manifest = json.loads(Path("out/manifest.json").read_text())
        assert "withheld" not in manifest["answered"]["m"]
        assert not [one for one in manifest["warnings"] if "withheld" in one]
        cli(*command)
        assert server.requests - before == 2


def longer(path: str, body: dict[str, Any]) -> Answer:
    """Obeys no limit of tokens."""
    status, headers, content = reply("entailment")
    return status, headers, content.replace(b'"completion_tokens": 8', b'"completion_tokens": 900')


def test_a_limit_of_costs_is_refused_where_a_server_writes_what_it_likes(cli) -> None:
    with ChatServer(answer=longer) as server:
        model = f"api:tiny(url={server.url}, readout=text)"
        command = ("answer", "suite.jsonl", "-m", model, "--no-canary", "-o", "out.jsonl", "--prices", "prices.toml")
        stopped = cli(*command, "--max-cost", "5")
        assert (stopped.exit_code, server.requests) == (2, 1)
        assert "it wrote 900 tokens where 16 were allowed: the cost of a request has no bound" in stopped.stderr
        assert "--max-requests" in stopped.stderr
        cli("probe", model)
        before = server.requests
        refused = cli(*command, "--max-cost", "5")
        assert (refused.exit_code, server.requests) == (2, before)
        assert "drops max_tokens without a word, and does not say how much it reads" in refused.stderr
        assert cli(*command, "--max-requests", "7").exit_code == 0  # one is answered since the first command


def test_a_probe_that_a_limit_of_costs_refuses_finds_out_nothing(cli) -> None:
    with ChatServer(answer=longer) as server:
        refused = cli("probe", writer(server), "--max-cost", "5", "--prices", "prices.toml")
        assert refused.exit_code == 2
        assert "drops max_tokens without a word" in refused.stderr
        assert cli("probe", writer(server), "--dry-run").stdout == "up to 20 requests\n"


def test_a_server_that_drops_the_limit_may_write_as_much_as_it_reads() -> None:
    request = Request(messages=(Message("user", "word"),), max_tokens=1)
    can = Capabilities(context=4096, dropped=("max_tokens",))
    assert (most_tokens(request).completion, most_tokens(request, can).completion) == (1, 4096)
    budget = Budget(max_cost=0.01, prices=Prices({"m": Price(1.0, 1.0, 4.0)}))
    assert budget.reserve("m@u", "m", request, replace(can, context=0, dropped=()))
    with pytest.raises(LimitReached, match="may cost"):
        Budget(max_cost=0.01, prices=budget.prices).reserve("m@u", "m", request, can)


def test_what_a_server_adds_to_prompts_is_reserved_from_then_on() -> None:
    request, prices = Request(messages=(Message("user", "word"),), max_tokens=1), Prices({"m": Price(1.0, 1.0, 4.0)})
    budget = Budget(max_cost=0.05, prices=prices)
    held = budget.reserve("m@u", "m", request)
    assert held
    budget.settle(held, Usage(30_000, 0, 1))
    with pytest.raises(LimitReached, match=r"0\.0300 of 0\.0500 are spent, and the next request may cost 0\.0300"):
        budget.reserve("m@u", "m", request)


def test_words_that_begin_alike_are_found_at_the_first_request(cli) -> None:
    words = "words = {entailment = 'true', neutral = 'open', contradiction = 'trivial'}"
    Path("alike.toml").write_text(f"task = 'nli'\nprompt = '{{premise}} {{hypothesis}}'\n{words}\n")

    def answer(path: str, body: dict[str, Any]) -> Answer:
        status, headers, content = reply("tr")
        top = [{"token": "tr", "logprob": -0.1}, {"token": "open", "logprob": -3.0}]
        listed = {"content": [{"token": "tr", "logprob": -0.1, "top_logprobs": top}]}
        return (
            status,
            headers,
            json.dumps(
                json.loads(content) | {"choices": [json.loads(content)["choices"][0] | {"logprobs": listed}]}
            ).encode(),
        )

    with ChatServer(answer=answer) as server:
        model = f"api:tiny(url={server.url}, readout=tokens, template=alike.toml)"
        done = cli("answer", "suite.jsonl", "-m", model, "--no-canary", "-o", "out.jsonl", "-q")
        assert (done.exit_code, server.requests) == (2, 1)
        assert "the words 'true' and 'trivial' begin with the same token 'tr'" in done.stderr
        assert done.stderr.count("\n") == 1


def test_withheld_answers_of_a_later_shard_have_their_column(cli) -> None:
    def answer(path: str, body: dict[str, Any]) -> Answer:
        return reply("", "content_filter") if "Person 3" in body["messages"][-1]["content"] else reply("entailment")

    with ChatServer(answer=answer) as server:
        model, out = f"m=api:tiny(url={server.url}, readout=text)", "out.csv"
        source = open_source(["suite.jsonl"])
        answer_files(source, out, [model], canary=False, shard=2)
        marked = tables.read(Path(out))
        assert [one in (True, "true") for one in marked["withheld"].to_list()] == [False] * 6 + [True] * 2
