"""otherwords annotate and otherwords verdicts: links, errors before anything is written, and management."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path

import pytest
from annotating import NLI, Visitor, process, write_rows

from otherwords import web


@pytest.fixture
def suite(tmp_path):
    return write_rows(tmp_path / "suite.jsonl", NLI)


@pytest.fixture
def database(suite, tmp_path):
    """A database with one answered page of kim's."""
    path = str(tmp_path / "verdicts.db")
    store = web.open_project([suite], "sound", path)
    (one,) = web.invite(store, pseudonym="kim")
    from otherwords.web.assignment import next_page, save

    item = next_page(store, one.person, store.about())
    save(store, one.person, item, {(0, "sound"): "sound"})
    store.close()
    return path


def test_a_server_prints_links_and_ends_with_a_signal(cli, suite, tmp_path):
    out = str(tmp_path / "verdicts.db")
    with process(suite, "--form", "sound", "-o", out, "--annotators", "2") as (running, ready):
        assert [one["role"] for one in ready["invitations"]] == ["owner", "annotator", "annotator"]
        person = Visitor(ready["address"]).join(ready["invitations"][1]["link"])
        item, _ = person.next()
        assert person.answer(item, sound="sound").status == 303
        running.send_signal(signal.SIGINT)
        assert running.wait(20) == 130
        invited = json.loads(cli("verdicts", "invite", out, "--json").stdout)
        assert invited[0]["link"].startswith(f"{ready['address']}/join/")  # not at a port where nobody listens
    with process(suite, "--form", "sound", "-o", out) as (_, ready):
        assert [one["role"] for one in ready["invitations"]] == ["owner"]  # the others have their links
        person.close()
        person.address = ready["address"]
        assert person.next()[0] != item  # with the same cookie


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--form", "soundness"], "no form 'soundness'; available: equivalent, fluency, "),
        (["--form", "sound", "--mode", "best"], "--mode: found 'best'; use sample, flips_first, most_useful_next"),
        (["--form", "sound", "--mode", "flips_first"], "needs to know which variants flip"),
        (["--form", "sound", "--behind-tls", "https://x.org"], "--behind-tls: found 'https://x.org'"),
        (["--form", "sound", "--consent", "nowhere.txt"], "--consent: cannot be read"),
        (["--form", "sound", "--judge", "equivalence"], "equivalence: no such column"),
        (["--form", "sound", "--host", "no.such.host.invalid"], "--host: no such address"),
        (["--form", "nowhere.toml"], "nowhere.toml: no such file"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(cli, suite, tmp_path, arguments, message):
    out = tmp_path / "verdicts.db"
    done = cli("annotate", suite, "-o", str(out), "--port", "0", *arguments, rc=2)
    assert message in done.stderr
    assert not out.exists()


def test_a_port_below_zero_is_said_to_be_no_port(cli, suite, tmp_path):
    done = cli("annotate", suite, "--form", "sound", "-o", str(tmp_path / "v.db"), "--port", "-5", rc=2)
    assert "'--port'" in done.stderr
    assert "--host" not in done.stderr


def test_a_port_that_is_taken_is_said_before_anything_is_written(cli, suite, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = cli("annotate", suite, "--form", "sound", "-o", str(tmp_path / "v.db"), "--port", str(port), rc=2)
    assert f"--port: 127.0.0.1:{port}: Address already in use; choose another port" in done.stderr
    assert not (tmp_path / "v.db").exists()


def test_a_foreign_file_is_not_overwritten(cli, suite, tmp_path):
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    done = cli("annotate", suite, "--form", "sound", "-o", str(tmp_path / "notes.txt"), "--port", "0", rc=2)
    assert "is not a verdict database" in done.stderr
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_people_are_invited(cli, database):
    done = cli("verdicts", "invite", database, "-n", "2", "--address", "https://a.example/", "--json")
    rows = json.loads(done.stdout)
    assert [row["pseudonym"] for row in rows] == ["annotator-1", "annotator-2"]
    assert all(row["link"].startswith("https://a.example/join/") for row in rows)
    shown = cli("verdicts", "invite", database, "--role", "adjudicator", "--pseudonym", "dana").stdout
    assert shown.startswith("adjudicator dana: http://127.0.0.1:8000/join/")
    assert "no role 'boss'" in cli("verdicts", "invite", database, "--role", "boss", rc=2).stderr


def test_verdicts_are_exported(cli, database, tmp_path, lines):
    assert cli("verdicts", "export", database, "-o", "-").stdout.count("\n") == 1
    out = tmp_path / "out.jsonl"
    assert "1 rows" in cli("verdicts", "export", database, "-o", str(out)).stderr
    assert lines(out)[0]["annotator"] == "kim"
    cli("verdicts", "export", database, "--what", "card", "-o", str(tmp_path / "card.md"))
    done = cli("verdicts", "export", database, "--what", "everything", "-o", str(out), rc=2)
    assert "no export 'everything'; available: verdicts, rewordings, card" in done.stderr
    cli("verdicts", "export", database, "-o", database, rc=2)


def test_access_is_closed_and_verdicts_are_kept(cli, database):
    assert "kim no longer has access" in cli("verdicts", "revoke", database, "kim").stderr
    store = web.open_store(database)
    assert web.verdict_table(store).height == 1
    store.close()
    assert "no person is called 'lee'; available: kim" in cli("verdicts", "revoke", database, "lee", rc=2).stderr


def test_a_person_is_deleted_when_confirmed(cli, database):
    for said in ("n\n", ""):
        refused = cli("verdicts", "delete", database, "kim", stdin=said, rc=1)
        assert refused.stderr.endswith("error: nothing was deleted; answer y, or give --yes\n")
    done = cli("verdicts", "delete", database, "kim", "--yes")
    assert done.stderr == "kim and 1 answered pages were deleted\n"
    assert b"kim" not in Path(database).read_bytes()
    cli("verdicts", "delete", database, "kim", "--yes", rc=2)


@pytest.mark.parametrize("command", ["invite", "revoke", "export", "delete"])
def test_a_database_that_is_none_is_refused(cli, suite, command, tmp_path):
    more = {"revoke": ["kim"], "delete": ["kim", "--yes"], "export": ["-o", str(tmp_path / "x.csv")]}.get(command, [])
    for path, message in (
        (suite, "is not a verdict database"),
        (str(tmp_path / "none.db"), "no such database"),
        (str(tmp_path), "is a folder; name a file in it, such as verdicts.db"),
        (
            "mysql://kim:secret@host/x",
            "is neither a file nor a PostgreSQL address; use a file, or postgresql://USER@HOST",
        ),
    ):
        refused = cli("verdicts", command, path, *more, rc=2).stderr
        assert message in refused
        assert "secret" not in refused


@pytest.mark.parametrize("address", ["javascript:alert(1)", "http://a b", "127.0.0.1:8000", ""])
def test_links_to_nowhere_are_not_made(cli, database, address):
    refused = cli("verdicts", "invite", database, "--address", address, rc=2).stderr
    assert refused.startswith(f"error: --address: found {address!r}; give it as annotate printed it: http://")
    store = web.open_store(database)
    assert [one.person.pseudonym for one in web.invite(store)] == ["annotator-1"]  # nobody was before
    store.close()


def test_without_the_extra_the_command_names_it(cli, suite, monkeypatch):
    import sys

    for name in [name for name in sys.modules if name.startswith(("otherwords.web", "starlette"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette", None)
    import otherwords

    monkeypatch.delattr(otherwords, "web", raising=False)
    done = cli("annotate", suite, "--form", "sound", "-o", "v.db", rc=2)
    assert "annotate needs an optional part: pip install 'otherwords[web]'" in done.stderr
