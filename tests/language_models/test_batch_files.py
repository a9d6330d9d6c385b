"""Batch files: what is asked is what `api:` would send, replies that come back are answers, and what lacks is said."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from chat_server import ChatServer
from refusals import refuses
from typer.testing import CliRunner, Result

from otherwords.cli.app import app
from otherwords.datasets.suite import open_source
from otherwords.errors import BadInput
from otherwords.language_models.batch_files import _version_of, reading_batch
from otherwords.running.files import answer_files

PREMISES = ("It rains.", "It does not rain.", "A man sleeps.", "The men are wet.")


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    rows = [
        {"id": str(number), "premise": text, "hypothesis": "It is wet.", "label": "neutral"}
        for number, text in enumerate(PREMISES)
    ]
    rows.append({**rows[0], "id": "again"})
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return lambda *arguments: CliRunner().invoke(app, [str(one) for one in arguments])


def asked(server: ChatServer, *more: str, readout: str = "tokens") -> list[str]:
    model = f"tiny=api:tiny(url={server.url}, readout={readout})"
    return ["answer", "rows.jsonl", "-m", model, "--no-canary", "-q", *more]


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def run_batch(server: ChatServer, requests: list[dict[str, Any]], out: str) -> None:
    """What a batch service does: each request is sent, and its reply written under its name."""
    with Path(out).open("w") as file:
        for one in requests:
            address = server.url.removesuffix("/v1") + one["url"]
            request = urllib.request.Request(address, json.dumps(one["body"]).encode(), method=one["method"])
            try:
                with urllib.request.urlopen(request) as answer:
                    response: dict[str, Any] = {"status_code": 200, "body": json.load(answer)}
            except urllib.error.HTTPError as error:
                response = {"status_code": error.code, "body": json.load(error)}
            file.write(json.dumps({"custom_id": one["custom_id"], "response": response, "error": None}) + "\n")


@pytest.mark.parametrize(
    ("url", "beginning"),
    [
        ("http://127.0.0.1:8000/v1", "/v1"),
        ("http://127.0.0.1:8000", "/v1"),
        ("https://gateway.example/openai/v1/", "/v1"),  # batch services know no other, whoever passes them on
        ("https://models.example/api/v3", "/api/v3"),
    ],
)
def test_addresses_in_batch_files_are_those_of_the_service(url, beginning):
    assert _version_of(url) == beginning


@pytest.mark.parametrize("readout", ["tokens", "text"])
def test_a_batch_gives_the_answers_of_the_server_itself(cli, readout, tmp_path):
    with ChatServer() as server:
        done = cli(*asked(server, "--batch-out", "requests.jsonl", readout=readout))
        assert (done.exit_code, done.stdout) == (0, "requests.jsonl: 4 requests\n")
        assert server.requests == 0
        requests = lines("requests.jsonl")
        assert {one["url"] for one in requests} == {"/v1/chat/completions"}
        run_batch(server, requests[::-1], "replies.jsonl")
        count = server.requests
        done = cli(*asked(server, "--batch-in", "replies.jsonl", "-o", "batch.jsonl", readout=readout))
        assert done.exit_code == 0, done.output
        assert server.requests == count
        bodies = server.bodies[:]
        direct = cli(*asked(server, "-o", "direct.jsonl", "--cache", "other.sqlite", readout=readout))
        assert direct.exit_code == 0, direct.output
        assert lines("batch.jsonl") == lines("direct.jsonl")
        key = lambda body: json.dumps(body, sort_keys=True)  # noqa: E731
        assert sorted(map(key, server.bodies[count:])) == sorted(map(key, bodies))


def test_replies_without_log_probabilities_are_no_answers(cli):
    """The server itself would be refused; and halves of characters are in no table."""
    with ChatServer(logprobs=False) as server:
        cli(*asked(server, "--batch-out", "requests.jsonl"))
        run_batch(server, lines("requests.jsonl"), "replies.jsonl")
        done = cli(*asked(server, "--batch-in", "replies.jsonl", "-o", "answers.jsonl"))
        assert done.exit_code == 2
        assert "4 ended with an error, the first: 'gives no log-probabilities'; 0 replies are stored" in done.stderr
        cli(*asked(server, "--batch-out", "requests.jsonl", readout="text"))
        run_batch(server, lines("requests.jsonl"), "replies.jsonl")
        Path("replies.jsonl").write_text(
            Path("replies.jsonl").read_text().replace('"content": "', r'"content": "\ud800')
        )
        done = cli(*asked(server, "--batch-in", "replies.jsonl", "-o", "answers.jsonl", readout="text"))
        assert "could not be read, such as '\ufffd" in str(done.exception)


def test_what_lacks_is_asked_in_another_batch(cli, tmp_path):
    with ChatServer() as server:
        cli(*asked(server, "--batch-out", "requests.jsonl"))
        requests = lines("requests.jsonl")
        run_batch(server, requests[:2], "replies.jsonl")
        with Path("replies.jsonl").open("a") as file:
            error = {"code": "batch_expired", "message": "This request could not be executed in time."}
            file.write(json.dumps({"custom_id": requests[2]["custom_id"], "response": None, "error": error}) + "\n")
        done = cli(*asked(server, "--batch-in", "replies.jsonl", "-o", "answers.jsonl"))
        assert done.exit_code == 2
        assert "of 4 requests, 1 have none; 1 ended with an error" in done.stderr
        assert "could not be executed in time" in done.stderr
        assert "2 replies are stored" in done.stderr
        assert not Path("answers.jsonl").exists()
        done = cli(*asked(server, "--batch-out", "rest.jsonl"))
        assert {one["custom_id"] for one in lines("rest.jsonl")} == {one["custom_id"] for one in requests[2:]}
        run_batch(server, lines("rest.jsonl"), "more.jsonl")
        both = ("--batch-in", "replies.jsonl", "--batch-in", "more.jsonl")
        done = cli(*asked(server, *both, "-o", "answers.jsonl"))
        assert done.exit_code == 0, done.output
        assert pl.read_ndjson("answers.jsonl").height == 5
        count = server.requests
        assert cli(*asked(server, "-o", "again.jsonl")).exit_code == 0
        assert server.requests == count  # all of it is in the cache


@pytest.mark.filterwarnings("always:.* rows without a reply")
def test_rows_without_a_reply_are_left_out_if_asked(cli, tmp_path):
    rows = [{**row, "of": "0"} if row["id"] == "1" else row for row in lines("rows.jsonl")]
    rows.append({**rows[3], "id": "3-v", "of": "3", "premise": "The women are wet."})
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with ChatServer() as server:
        cli(*asked(server, "--batch-out", "requests.jsonl"))
        requests = lines("requests.jsonl")
        asks = lambda one, premise: f" {premise}\n" in one["body"]["messages"][-1]["content"]  # noqa: E731
        named = {premise: one for one in requests for premise in PREMISES if asks(one, premise)}
        kept = [one for one in requests if one not in (named[PREMISES[2]], named[PREMISES[3]])]
        run_batch(server, kept, "replies.jsonl")
        with Path("replies.jsonl").open("a") as file:
            filtered = {"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]}
            response = {"status_code": 200, "body": filtered}
            line = {"custom_id": named[PREMISES[2]]["custom_id"], "response": response, "error": None}
            file.write(json.dumps(line) + "\n")
        for _ in range(2):  # the second time, replies are stored already
            done = cli(*asked(server, "--batch-in", "replies.jsonl", "-o", "answers.jsonl", "--skip-bad"))
            assert done.exit_code == 0, done.output
            assert "3 rows without a reply are left out, the first: '2' ended with an error" in done.stderr
            assert [row["bucket"] for row in lines("answers.jsonl")] == ["0", "0", "again"]
            reasons = {row["row"]["id"]: row["reason"] for row in lines("rejected.jsonl")}
            assert reasons == {
                "2": "ended with an error: 'withheld by a filter of the server'",
                "3": "has no reply",
                "3-v": "its original has no reply",
            }


@pytest.mark.filterwarnings("ignore:.*asked again as usual")
@pytest.mark.parametrize("repeats", [0, 1])
def test_a_shard_without_any_reply_is_left_out(cli, tmp_path, repeats):
    with ChatServer() as server:
        cli(*asked(server, "--batch-out", "requests.jsonl", "--repeats", str(repeats)))
        run_batch(server, [one for one in lines("requests.jsonl") if PREMISES[2] not in str(one)], "replies.jsonl")
        source = open_source(["rows.jsonl"], "", {}, {}, True)
        model = f"tiny=api:tiny(url={server.url}, readout=tokens)"
        options = {"canary": False, "batch_in": ["replies.jsonl"], "repeats": repeats, "shard": 1}
        with pytest.warns(UserWarning, match="1 rows without a reply are left out"):
            answer_files(source, "answers.jsonl", [model], **options)
    assert [row["bucket"] for row in lines("answers.jsonl")] == ["0", "1", "3", "again"]


def test_rejected_rows_do_not_take_the_place_of_replies(cli, tmp_path):
    Path("rejected.jsonl").write_text("mine")
    with ChatServer() as server:
        done = cli(*asked(server, "--batch-in", "rejected.jsonl", "-o", "answers.jsonl", "--skip-bad"))
    assert done.exit_code == 2
    assert "rejected.jsonl: is read and written" in done.stderr
    assert Path("rejected.jsonl").read_text() == "mine"


def test_what_lacks_everywhere_is_no_table(cli, tmp_path):
    with ChatServer() as server:
        cli(*asked(server, "--batch-out", "requests.jsonl"))
        error = {"code": "batch_expired", "message": "too late"}
        failed = [{"custom_id": one["custom_id"], "response": None, "error": error} for one in lines("requests.jsonl")]
        Path("replies.jsonl").write_text("".join(json.dumps(one) + "\n" for one in failed))
        done = cli(*asked(server, "--batch-in", "replies.jsonl", "-o", "answers.jsonl", "--skip-bad"))
        assert done.exit_code == 2
        assert "4 ended with an error" in done.stderr
        assert not Path("answers.jsonl").exists()


def test_the_canary_and_repeats_are_in_the_batch(cli, tmp_path):
    with ChatServer() as server:
        command = [one for one in asked(server, "--repeats", "1") if one != "--no-canary"]
        cli(*command, "--batch-out", "requests.jsonl")
        requests = lines("requests.jsonl")
        assert len({one["custom_id"] for one in requests}) == len(requests) > 8
        run_batch(server, requests, "replies.jsonl")
        done = cli(*command, "--batch-in", "replies.jsonl", "-o", "answers.jsonl")
        assert done.exit_code in (0, 1), done.output  # the canary may find this server's labels odd
        assert "have none" not in done.stderr


def test_replies_to_other_requests_are_refused(cli, tmp_path):
    with ChatServer() as server:
        cli(*asked(server, "--batch-out", "requests.jsonl"))
        run_batch(server, lines("requests.jsonl"), "replies.jsonl")
        done = cli(*asked(server, "--batch-in", "replies.jsonl", "-o", "answers.jsonl", readout="text"))
        assert done.exit_code == 2
        assert "no reply in replies.jsonl is to one of these requests" in done.stderr


@pytest.mark.parametrize(
    "text",
    ['{"custom_id": "x"}', "[]", '{"custom_id": "', '{"custom_id": 3}', f'{{"custom_id": "{"g" * 40}"}}'],
)
def test_a_line_that_is_no_reply_is_named(tmp_path, text):
    good = json.dumps({"custom_id": "0" * 40, "response": None, "error": None})
    path = tmp_path / "replies.jsonl"
    path.write_text(f"{good}\n{text}\n")
    with refuses(BadInput, where=f"{path}, line 2"), reading_batch([path]):
        pass


def test_replies_are_not_overwritten_by_the_answers(cli, tmp_path):
    with ChatServer() as server:
        cli(*asked(server, "--batch-out", "requests.jsonl"))
        run_batch(server, lines("requests.jsonl"), "replies.jsonl")
        replies = Path("replies.jsonl").read_bytes()
        done = cli(*asked(server, "--batch-in", "replies.jsonl", "-o", "./replies.jsonl"))
    assert done.exit_code == 2
    assert "replies.jsonl: is read and written; name another place for the output" in done.stderr
    assert Path("replies.jsonl").read_bytes() == replies


def test_a_batch_of_models_without_a_server_is_refused(cli, tmp_path):
    done = cli("answer", "rows.jsonl", "-m", "bag_of_words", "-q", "--batch-out", "requests.jsonl")
    assert done.exit_code == 2
    assert "error: --model: none of the models asks a server; name one as api:MODEL" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


def test_options_that_exclude_each_other_are_refused(cli, tmp_path):
    with ChatServer() as server:
        for options in (
            ("--batch-out", "a.jsonl", "--batch-in", "b.jsonl"),
            ("--batch-out", "a.jsonl", "--no-cache"),
            ("--batch-in", "a.jsonl", "--dry-run"),
            ("--batch-out", "a.csv"),
            ("--batch-out", "rows.jsonl"),
            ("--batch-in", "nothing.jsonl"),
        ):
            done = cli(*asked(server, *options, "-o", "out.jsonl"))
            assert done.exit_code == 2, options
            assert done.stderr.startswith("error: "), done.stderr
        assert len(lines("rows.jsonl")) == 5
        assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.jsonl"]
