"""Models on servers from end to end: scores through faults, resumed runs, ledgers, dry runs, and no key anywhere."""

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from chat_server import ChatServer, refusal
from typer.testing import CliRunner, Result

import otherwords as ow
from otherwords.cli.app import app
from otherwords.datasets.suite import open_source
from otherwords.errors import BadInput, LimitReached
from otherwords.language_models import pacing
from otherwords.language_models.replies import ReplyStore
from otherwords.models.api import probed
from otherwords.problem import TASKS
from otherwords.registry import models
from otherwords.running.driver import Driver
from otherwords.running.engines import InProcess, make_engine
from otherwords.storage.run_folder import RunFolder

KEY = "sk-very-secret-0123456789"
PRICES = 'currency = "EUR"\n[tiny]\ninput = 100\noutput = 100\n'


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "BACKOFF", 0.02)
    monkeypatch.setattr(pacing, "LONGEST", 0.1)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prices.toml").write_text(PRICES)
    return lambda *arguments: CliRunner().invoke(app, [str(one) for one in arguments])


def spec(server: ChatServer, *options: str) -> str:
    """A model that needs no probe: its readout is named."""
    return f"api:tiny({', '.join([f'url={server.url}', 'readout=tokens', *options])})"


def problems(count: int) -> pl.DataFrame:
    """Originals with two variants each."""
    rows = []
    for number in range(count // 3):
        rows += [
            {"id": f"{number}{end}", "of": f"{number}" if end else None, "how": end or None, "label": "entailment"}
            | {"premise": f"Person {number} walks{end}.", "hypothesis": "Somebody moves."}
            for end in ("", " home", " away")
        ]
    return pl.DataFrame(rows)


def scores(folder: Path, server: ChatServer, count: int, **more: Any) -> list[float]:
    model = f"tiny={spec(server, 'timeout=2.0')}"
    settings = {"metrics": ["flip_rate", "accuracy_original", "p_c"], "replicates": 10, "canary": False}
    result = ow.run(data=[problems(count)], models=[model], out=folder, cache=None, **settings, **more)
    assert result.manifest["spent"]["now"]["tiny@" + server.url.partition("://")[2]]["requests"] == server.requests
    return [one.value for one in result.scores]


@pytest.mark.parametrize("count", [90, pytest.param(2001, marks=pytest.mark.slow)])
def test_faults_change_no_score_and_nothing_is_asked_twice(count: int, tmp_path: Path) -> None:
    with ChatServer() as server:
        right = scores(tmp_path / "right", server, count)
    with ChatServer(faults=0.3, slow=60.0) as server:
        assert scores(tmp_path / "faults", server, count) == right
        assert len(server.finished) == count
        assert set(server.finished.values()) == {1}
        assert sum(server.faulty.values()) > 1.2 * count
    assert not list((tmp_path / "faults").glob(".answers*"))


def otherwords(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "otherwords", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})


def stored(folder: Path) -> int:
    with ReplyStore(folder / "answers.replies.sqlite") as replies:
        return sum(one["replies"] for one in replies.info())


@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
@pytest.mark.parametrize("moments", [(40,), pytest.param(tuple(range(15, 315, 15)), marks=pytest.mark.slow)])
def test_a_run_that_is_killed_or_interrupted_sends_no_finished_request_again(
    how: signal.Signals, moments: tuple[int, ...], tmp_path: Path
) -> None:
    """Killed at so many moments: when the server has given so many replies. In flight are eight at most.

    A reply may have been on its way when the process ended: finished at the server, and never read.
    """
    count = 330 if len(moments) > 1 else 120
    problems(count).write_ndjson(tmp_path / "suite.jsonl")
    with ChatServer(latency=0.02, model="tiny") as server:
        command = ["answer", str(tmp_path / "suite.jsonl"), "--no-canary", "-o", str(tmp_path / "answers.jsonl"), "-q"]
        command += ["-m", spec(server, "concurrency=8"), "--cache", str(tmp_path / "answers.sqlite")]
        kept: list[int] = []
        for moment in moments:
            process, begin = otherwords(*command), sum(server.finished.values())
            while sum(server.finished.values()) < max(moment, begin + 1) and process.poll() is None:
                time.sleep(0.002)
            process.send_signal(how)
            _, error = process.communicate(timeout=30)
            assert process.returncode == {signal.SIGKILL: -9, signal.SIGINT: 130}[how], error
            if how == signal.SIGINT:
                assert error.startswith("error: interrupted; ")
            kept.append(stored(tmp_path))
            assert kept[-1] >= len(server.finished) - 8 * (len(kept))
        assert kept == sorted(kept)
        before = server.requests
        process = otherwords(*command)
        _, error = process.communicate(timeout=60)
        assert process.returncode == 0, error
        assert server.requests - before == count - kept[-1]
        assert len(server.finished) == count
        assert sum(one - 1 for one in server.finished.values()) <= 8 * len(moments)
    assert pl.read_ndjson(tmp_path / "answers.jsonl").height == count


@pytest.mark.parametrize("limit", [("--max-requests", "40"), ("--max-cost", "0.5")])
def test_a_limit_stops_a_run_that_the_same_command_continues(limit, cli, tmp_path: Path) -> None:
    problems(120).write_ndjson(tmp_path / "suite.jsonl")
    with ChatServer() as server:
        command = ("run", "--data", "suite.jsonl", "-m", f"tiny={spec(server)}", "-o", "out", "--no-canary")
        command += ("--prices", "prices.toml", "--metric", "flip_rate", *limit)
        stopped = cli(*command)
        assert stopped.exit_code == 1
        assert f"the limit {limit[0]} is reached; " in stopped.stderr
        assert "of 120 requests were answered; finished work is kept: run the same command again" in stopped.stderr
        spent = json.loads((tmp_path / "out/manifest.json").read_text())["spent"]
        (now,) = spent["now"].values()
        assert now["requests"] == server.requests
        assert now["cost"] <= 0.5 or limit[0] == "--max-requests"
        for _ in range(10):
            if (done := cli(*command)).exit_code == 0:
                break
        assert done.exit_code == 0, done.stderr
        assert len(server.finished) == 120
        assert set(server.finished.values()) == {1}
        spent = json.loads((tmp_path / "out/manifest.json").read_text())["spent"]
        (total,) = spent["in_all"].values()
        assert total["requests"] == 120 > next(iter(spent["now"].values()))["requests"]
        assert "; in all 120 requests, " in done.stderr


def test_limits_hold_for_functions_too(tmp_path: Path) -> None:
    with ChatServer() as server:
        model, cache = spec(server), tmp_path / "answers.sqlite"
        with pytest.raises(LimitReached, match=r"the limit max_requests is reached; 5 of 30 requests were answered"):
            ow.answer(problems(30), model, canary=False, cache=cache, max_requests=5)
        assert server.requests == 5
        ow.answer(problems(30), model, canary=False, cache=cache, max_requests=25)
        assert set(server.finished.values()) == {1}
        with pytest.raises(BadInput, match="max_cost: costs are not known without prices"):
            ow.answer(problems(30), model, cache=cache, max_cost=1.0)


def test_a_dry_run_counts_and_sends_and_writes_nothing(cli, tmp_path: Path) -> None:
    problems(30).write_ndjson(tmp_path / "suite.jsonl")
    with ChatServer() as server:
        asked = ("suite.jsonl", "-m", f"tiny={spec(server)}", "-m", "scripted", "--cache", "c.sqlite")
        before = sorted(tmp_path.iterdir())
        shown = cli("answer", *asked, "--dry-run", "--prices", "prices.toml", "--no-canary")
        assert shown.exit_code == 0, shown.stderr
        assert shown.stdout.startswith("tiny: about 30 requests, ")
        assert " EUR\nscripted: no request to a server\n" in shown.stdout
        assert (server.requests, sorted(tmp_path.iterdir())) == (0, before)
        assert cli("answer", *asked, "--max-requests", "10", "--no-canary").exit_code == 1
        left = cli("answer", *asked, "--dry-run", "--no-canary").stdout
        assert left.startswith("tiny: about 20 requests, ")
        assert cli("answer", *asked, "--no-canary", "-o", "answers.jsonl").exit_code == 0
        assert cli("answer", *asked, "--dry-run", "--no-canary").stdout.startswith("tiny: no request")
        assert cli("answer", *asked, "--dry-run", "--fresh", "--no-canary").stdout.startswith("tiny: about 30 requests")
        run = ("run", "--data", asked[0], *asked[1:], "-o", "out", "--no-canary", "--metric", "flip_rate")
        found = json.loads(cli(*run, "--dry-run", "--json", "--repeats", "2").stdout)
        assert found["tiny"]["requests"] == 60
        both = ("--template", "words", "--template", "letters")
        found = json.loads(cli(*run, "--dry-run", "--json", *both).stdout)
        assert {name: one["requests"] for name, one in found.items()} == {
            "tiny@words": 0,
            "tiny@letters": 30,
            "scripted": 0,
        }
        assert not (tmp_path / "out").exists()
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            unknown = cli("answer", "suite.jsonl", "-m", f"api:tiny(url={server.url})", "--dry-run")
        assert "about ten requests more" in unknown.stderr
        assert server.requests == 30


def test_a_key_is_in_no_file(cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    problems(30).write_ndjson(tmp_path / "suite.jsonl")
    with ChatServer(key=KEY) as server:
        model = f"tiny={spec(server, 'key_env=MY_KEY')}"
        run = ("run", "--data", "suite.jsonl", "-o", "out", "--no-canary", "--cache", "cache.sqlite", "-m")
        done = cli(*run, model)
        assert done.exit_code == 0, done.stderr
        wrong = cli(*run, model.replace("MY_KEY", "OTHER"), "--fresh")
        assert wrong.exit_code == 2
        assert "the key in OTHER is not set, and the server requires a key (401: " in wrong.stderr
        monkeypatch.setenv("MY_KEY", KEY + "x")
        echoed = cli(*run, model, "--fresh")
        assert "the key in MY_KEY is not accepted (401: Incorrect API key provided: [key]." in echoed.stderr
        written = [one for one in tmp_path.rglob("*") if one.is_file()]
        assert len(written) > 8
        assert not [one for one in written if KEY.encode() in one.read_bytes()]
        assert KEY not in done.output + wrong.output + echoed.output


def test_a_key_instead_of_its_variable_is_in_no_file_either(cli, tmp_path: Path) -> None:
    problems(3).write_ndjson(tmp_path / "suite.jsonl")
    key = "gsk_" + "Qm4x" * 13
    model = f"api:tiny(url=http://127.0.0.1:9/v1, readout=tokens, key_env={key})"
    done = cli("run", "--data", "suite.jsonl", "-o", "out", "-m", model)
    assert done.exit_code == 2
    assert "key_env: is not a valid variable name" in done.stderr
    assert key not in done.output + done.stderr
    assert not [one for one in tmp_path.rglob("*") if one.is_file() and key.encode() in one.read_bytes()]


def test_a_model_on_a_server_is_not_given_to_workers(tmp_path: Path) -> None:
    problems(30).write_ndjson(tmp_path / "suite.jsonl")
    with ChatServer() as server:
        model = f"tiny={spec(server)}"
        study = ow.Study(data=[str(tmp_path / "suite.jsonl")], models=[model, "scripted"], canary=False)
        engine = make_engine("processes", 2)
        driver = Driver(study, open_source(study.data), RunFolder(tmp_path / "run"), engine)
        assert isinstance(driver._engine_for("answers", [model]), InProcess)
        assert driver._engine_for("answers", ["scripted"]) is engine
        assert isinstance(
            driver._engine_for("variants", [f'paraphrase(model="api:tiny(url={server.url})")']), InProcess
        )


@pytest.mark.slow
def test_servers_are_asked_by_this_process_alone(tmp_path: Path) -> None:
    with ChatServer() as server:
        model = f"tiny={spec(server)}"
        settings = {"metrics": ["flip_rate"], "canary": False, "cache": None, "engine": "processes", "workers": 2}
        with pytest.raises(LimitReached):
            ow.run(data=[problems(60)], models=[model], out=tmp_path / "out", max_requests=7, shard=20, **settings)
        assert server.requests == 7


def test_stored_replies_are_shown_and_deleted(cli, tmp_path: Path) -> None:
    problems(30).write_ndjson(tmp_path / "suite.jsonl")
    with ChatServer() as server:
        asked = ("answer", "suite.jsonl", "-m", spec(server), "--cache", "c.sqlite", "--no-canary")
        assert cli(*asked, "-o", "a.jsonl").exit_code == 0
        assert "c.replies.sqlite: 30 replies of servers" in cli("cache", "info", "--cache", "c.sqlite").stdout
        found = json.loads(cli("cache", "info", "--cache", "c.sqlite", "--json").stdout)["replies"]["models"]
        assert [one["replies"] for one in found] == [30]
        pruned = cli("cache", "prune", "--model", "api.v1", "--cache", "c.sqlite").stdout
        assert pruned == "30 answers deleted, 30 replies of servers\n"
        assert cli(*asked, "-o", "a.jsonl").exit_code == 0
        assert server.requests == 60
        pruned = cli("cache", "prune", "--model", ":words@", "--cache", "c.sqlite").stdout
        assert pruned.startswith("30 answers deleted, 0 replies of servers: these are kept by model and server")


def test_an_address_that_is_not_encrypted_is_warned_of() -> None:
    with pytest.warns(UserWarning, match=r"http://10\.0\.0\.3/v1 is not encrypted"):
        models.make("api:tiny(url=http://10.0.0.3/v1, readout=tokens)")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("url=http://me:pass@host/v1", "user or password"),
        ("concurrency=0", "concurrency"),
        ("timeout=0", "timeout"),
        ("chat=perhaps", "chat"),
        ("extra=3", "extra"),
        ("dialect=latin", "dialect"),
        ("readout=mind", "readout"),
        ("template=absent.toml", "template"),
        ("template=wrong.toml", "readout: found 'mind'"),
        ('extra={"stream": true}', "extra"),
        ('extra={"max_tokens": 9}', "max_tokens"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_sent(options: str, named: str, cli, tmp_path: Path) -> None:
    words = "words = {entailment = 'a', neutral = 'b', contradiction = 'c'}"
    prompt = "task = 'nli'\nreadout = 'mind'\nprompt = '{premise} {hypothesis}'"
    (tmp_path / "wrong.toml").write_text(f"{prompt}\n{words}\n")
    with ChatServer() as server:
        url = "" if "url=" in options else f"url={server.url}, "
        with pytest.raises(BadInput, match=named) as caught:
            models.make(f"api:tiny({url}{options})")
        assert server.requests == 0
    assert "pass" not in str(caught.value).replace("password", "")


def test_a_template_that_names_its_readout_needs_no_probe() -> None:
    with ChatServer() as server:
        made = models.make(f"api:tiny(url={server.url}, template=parte)", task=TASKS["rte"])
        assert server.requests == 0
        assert ":text(text)" in made.signature


def test_what_a_probe_found_out_holds_for_every_dialect() -> None:
    def answer(path: str, body: dict[str, Any]) -> Any:
        return refusal(400, "`temperature` is deprecated for this model") if "temperature" in body else None

    with ChatServer(answer=answer) as server:
        model = f"api:tiny(url={server.url}, dialect=anthropic)"
        probed(model)
        with pytest.warns(UserWarning, match="accepts no temperature"):
            models.make(model)


def test_a_server_that_is_not_there_is_said_in_one_line(cli, tmp_path: Path) -> None:
    problems(30).write_ndjson(tmp_path / "suite.jsonl")
    done = cli(
        "answer", "suite.jsonl", "-m", "api:tiny(url=http://127.0.0.1:9/v1)", "--no-cache", "-o", "a.jsonl", "-q"
    )
    assert done.exit_code == 2
    assert done.stderr.startswith("error: api:tiny: http://127.0.0.1:9/v1 cannot be reached")
    assert done.stderr.count("\n") == 1
    with ChatServer(answer=lambda path, body: refusal(404, "The model `tiny` does not exist")) as server:
        done = cli("answer", "suite.jsonl", "-m", spec(server), "--no-cache", "-o", "a.jsonl", "-q")
        assert (done.exit_code, done.stderr.count("\n"), server.requests) == (2, 1, 1)
