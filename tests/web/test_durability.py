"""Many annotators at once, and a server that is killed: no verdict is lost or doubled; on PostgreSQL, too."""

from __future__ import annotations

import http.client
import os
import random
import signal
import threading
import time
from pathlib import Path

import postgres
import pytest
import sqlalchemy as sa
from annotating import Visitor, invited, process, serving, write_rows

from otherwords import web
from otherwords.validity.people import read_verdicts
from otherwords.web.store import ANSWERS, PEOPLE

ROWS = [
    {"id": "a", "premise": "P.", "hypothesis": "H.", "label": "neutral"},
    *({"id": f"a{n}", "of": "a", "premise": "P.", "hypothesis": f"H {n}.", "label": "neutral"} for n in range(400)),
]


@pytest.fixture(scope="module")
def cluster():
    if reason := postgres.why_not():
        pytest.skip(reason)
    with postgres.running() as address:
        yield address


@pytest.fixture
def server(cluster):
    """An empty database of the cluster."""
    engine = sa.create_engine(cluster.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text("drop schema public cascade"))
        connection.execute(sa.text("create schema public"))
    engine.dispose()
    return cluster


def stored(store):
    """What the database has, by pseudonym and item."""
    query = sa.select(PEOPLE.c.pseudonym, ANSWERS.c.item, ANSWERS.c.answer)
    with store.reading() as connection:
        rows = connection.execute(query.join(PEOPLE, PEOPLE.c.id == ANSWERS.c.person)).all()
    found = {(row.pseudonym, row.item): row.answer for row in rows}
    assert len(found) == len(rows)
    return found


def judge_at_once(site, people, pages):
    """All people judge some pages at the same time; return their own logs."""
    log, failures = {}, []

    def work(name):
        try:
            person = invited(site, pseudonym=name)
            _, place = 0, person.get("/next").location
            for _ in range(pages):
                item = int(place.rpartition("/")[2])
                answer = random.Random(f"{name} {item}").choice(("sound", "unsound"))
                person.get(place)
                reply = person.answer(item, sound=answer)
                assert reply.status == 303, reply.text
                log[name, item] = answer
                place = reply.location
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(f"p{number}",)) for number in range(people)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    return log


def check_at_once(database, tmp_path, people, pages):
    suite = write_rows(tmp_path / "suite.jsonl", ROWS)
    store = web.open_project([suite], "sound", database, web.Settings(number=20, overlap=2))
    with serving(store) as site:
        log = judge_at_once(site, people, pages)
    assert len(log) == people * pages
    assert stored(store) == log
    table = web.verdict_table(store)
    assert table.group_by("variant").len()["len"].max() == 2  # nobody judges what two others have
    assert read_verdicts(database).height == len(log)
    store.close()


def test_many_at_once_lose_nothing(tmp_path):
    check_at_once(str(tmp_path / "verdicts.db"), tmp_path, people=6, pages=4)


@pytest.mark.slow
def test_many_more_at_once_lose_nothing(tmp_path):
    check_at_once(str(tmp_path / "verdicts.db"), tmp_path, people=20, pages=20)


@pytest.mark.slow
def test_many_at_once_lose_nothing_on_postgresql(server, tmp_path):
    check_at_once(server, tmp_path, people=20, pages=20)


def check_kills(database, tmp_path, moments):
    """Kill the server at random moments while three people judge; all that was acknowledged must be there."""
    suite = write_rows(tmp_path / "suite.jsonl", ROWS)
    log, cookies = {}, {}
    for moment in range(moments):
        with process(suite, "--form", "sound", "-o", database, "--overlap", "3", "--annotators", "3") as (
            server,
            ready,
        ):
            for one in ready["invitations"]:
                if one["role"] == "annotator":
                    cookies[one["pseudonym"]] = Visitor(ready["address"]).join(one["link"]).cookie
            stop = threading.Event()
            threads = [threading.Thread(target=judge_until, args=(ready["address"], name, cookie, log, stop))
                       for name, cookie in cookies.items()]  # fmt: skip
            for thread in threads:
                thread.start()
            count, until = len(log), time.monotonic() + 60
            while len(log) == count and time.monotonic() < until:  # on a busy machine the first takes a while
                time.sleep(0.005)
            time.sleep(random.Random(moment).uniform(0.0, 0.4))
            os.kill(server.pid, signal.SIGKILL)
            server.wait()
            stop.set()
            for thread in threads:
                thread.join()
    store = web.open_store(database)
    found = stored(store)
    store.close()
    assert len(log) > moments
    assert {key: found.get(key) for key in log} == log


def judge_until(address, name, cookie, log, stop):
    """Judge as fast as possible until the server is gone."""
    person = Visitor(address, cookie)
    try:
        place = person.get("/next").location
        while not stop.is_set() and place.startswith("/item/"):
            item = int(place.rpartition("/")[2])
            reply = person.answer(item, sound="sound" if item % 2 else "unsound")
            if reply.status == 303:
                log[name, item] = "sound" if item % 2 else "unsound"
            place = reply.location
    except (OSError, http.client.HTTPException):
        pass


def test_a_killed_server_has_kept_what_it_acknowledged(tmp_path):
    check_kills(str(tmp_path / "verdicts.db"), tmp_path, moments=1)


@pytest.mark.slow
def test_a_server_killed_twenty_times_has_kept_what_it_acknowledged(tmp_path):
    check_kills(str(tmp_path / "verdicts.db"), tmp_path, moments=20)


@pytest.mark.slow
def test_a_server_killed_twenty_times_has_kept_all_on_postgresql(server, tmp_path):
    check_kills(server, tmp_path, moments=20)


def on_disk(store):
    """All that PostgreSQL has in its tables' files."""
    with store.reading() as connection:
        connection.execute(sa.text("checkpoint"))
        folder = Path(connection.execute(sa.text("show data_directory")).scalar_one())
    return b"".join(file.read_bytes() for file in (folder / "base").rglob("*") if file.is_file())


@pytest.mark.slow
def test_everything_else_works_on_postgresql(server, tmp_path):
    """Undo, skip, adjudication, invitations, deletion, and going on with the same database."""
    suite = write_rows(tmp_path / "suite.jsonl", ROWS[:4])
    store = web.open_project([suite], "sound", server, web.Settings(number=2))
    with serving(store) as site:
        one, two = invited(site, pseudonym="kim"), invited(site, pseudonym="lee")
        while found := one.next():
            one.answer(found[0], sound="sound")
        assert one.post("/undo").status == 303
        one.answer(one.next()[0], sound="sound")
        skipped, _ = two.next()
        two.post(f"/item/{skipped}/skip", {"reason": "Another reason", "words": "Unforgettable"})
        while found := two.next():
            two.answer(found[0], sound="unsound")
        decider = invited(site, "adjudicator")
        assert "2 of 2 to decide" in decider.get("/decide").text
        item = next(n for (who, n) in stored(store) if who == "lee")
        assert decider.post(f"/decide/{item}", {"0.sound": "sound"}).status == 303
        owner = invited(site, "owner")
        assert "Agreement" in owner.get("/overview").text
        assert b"Unforgettable" in on_disk(store)
        assert web.delete_person(store, "lee") == 2
        assert b"Unforgettable" not in on_disk(store)
        assert web.verdict_table(store)["annotator"].unique().sort().to_list() == ["adjudicator-1", "kim"]
    store.close()
    again = web.open_project([suite], "sound", server, web.Settings(number=2))
    assert web.verdict_table(again).height == 4
    again.close()
