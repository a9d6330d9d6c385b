"""`otherwords view` shows what run folders hold, also of a run that goes on, and can be asked for nothing else."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
import zlib
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from annotating import Visitor
from refusals import refuses
from viewing import viewing

import otherwords as ow
from otherwords.errors import BadInput
from otherwords.problem import Score
from otherwords.web import run_state
from otherwords.web.run_state import ViewedRun, find_runs

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

EVIL = "<script>alert(1)</script>"


def suite() -> list[dict[str, Any]]:
    rows = []
    for i in range(24):
        row = {"id": f"p{i}", "premise": f"{EVIL} It is wet in {i}.", "hypothesis": "It is dry.", "label": "neutral"}
        varied = {**row, "of": row["id"], "how": "x"}
        rows += [row, *({**varied, "id": f"p{i}-{k}", "premise": f"Wet {k}, {i}."} for k in range(2))]
    return rows


def finished(folder: Path, **changes: Any) -> Path:
    settings: dict[str, Any] = {
        "models": ["first=scripted(seed=1)", "second=scripted(seed=2)"], "check": [], "canary": False, "cache": None,
        "replicates": 100, "shard": 9, **changes,
    }  # fmt: skip
    ow.run(data=[suite()], out=folder, **settings)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished(tmp_path_factory.mktemp("runs") / "one")


@pytest.fixture
def going(run: Path, tmp_path: Path) -> Path:
    """The same in its middle: all of the first model's answers, and half of the second's."""
    copy = tmp_path / "going"
    shutil.copytree(run, copy)
    for name in ("report.html", "scores.json"):
        (copy / name).unlink()
    for part in sorted(copy.glob("answers/second-*/part-*.parquet"))[4:]:
        part.unlink()
    return copy


@pytest.fixture
def visitor(run: Path) -> Iterator[Visitor]:
    with viewing(run) as address:
        found = Visitor(address)
        yield found
        found.close()


def plain(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_the_scores_are_those_of_the_run(run: Path, visitor: Visitor) -> None:
    page = plain(visitor.get("/").text)
    assert "one done Model Flip rate" in page
    for row in json.loads((run / "scores.json").read_text()):
        score = Score(**row)
        if score.metric == "flip_rate" and score.group is None and score.value is not None:
            shown = f"{100 * score.value:.1f} % [{100 * score.low:.1f}, {100 * score.high:.1f}]"
            assert f"{score.model} {shown}" in page
            assert shown.partition(" ")[0] in plain(visitor.get("/run/0").text)


def test_the_list_has_all_problems(run: Path, visitor: Visitor) -> None:
    page = visitor.get("/run/0").text
    assert 'id="browse-data" data-src="/run/0/problems"' in page
    assert "All 24\u00a0problems of the run with 48\u00a0rewordings." in page
    [viewed] = find_runs([run])
    found = viewed.problems()
    assert found is not None
    table = json.loads(zlib.decompress(found.data, -15))
    assert len(table["id"]) == 72
    assert table["texts"][0][0].startswith(EVIL)
    assert visitor.get("/run/0/problems").headers["content-type"] == "application/octet-stream"


def test_models_are_compared(run: Path, visitor: Visitor) -> None:
    assert "first" in visitor.get("/compare").text
    page = plain(visitor.get("/compare?first=0~first&second=0~second").text)
    [row] = ow.compare(run, using=["flip_rate"], models=["first", "second"])
    assert "first − second" in page
    assert f"{100 * row.difference:.1f}".replace("-", "\u2212") in page
    same = visitor.get("/compare?first=0~first&second=0~nobody")
    assert "There is no" not in same.text
    assert "These cannot be compared: one: no answers of nobody; available: first, second" in plain(same.text)


def test_runs_are_compared_with_each_other(run: Path, tmp_path: Path) -> None:
    other = finished(tmp_path / "two", models=["first=scripted(seed=5)"])
    with viewing(run, other) as address:
        visitor = Visitor(address)
        assert "2\u00a0runs" in visitor.get("/").text
        page = plain(visitor.get("/compare?first=0~first&second=1~first").text)
        assert "one: first − two: first" in page
        visitor.close()


# While a run goes on


def test_how_far_a_run_is(going: Path) -> None:
    [run] = find_runs([going])
    assert not run.is_done
    assert [tuple(bar) for bar in run.bars()] == [
        ("problems read", 8, 8), ("rewordings checked", 8, 8), ("answers of first", 8, 8), ("answers of second", 4, 8),
    ]  # fmt: skip


def test_first_scores_have_intervals_that_hold_at_every_look(going: Path) -> None:
    [run] = find_runs([going])
    live = run.live()
    assert {one.interval for one in live.scores} == {"anytime"}
    counts = {one.model: one.n_answers for one in live.scores if one.metric == "flip_rate"}
    assert counts == {"first": 48, "second": 24}
    whole = ow.score(going, anytime=True)
    [expected] = [one for one in whole if one.metric == "flip_rate" and one.model == "second"]
    [shown] = [one for one in live.scores if one.metric == "flip_rate" and one.model == "second"]
    assert (shown.low, shown.high) == (expected.anytime_low, expected.anytime_high)


def test_what_changed_is_shown_and_nothing_else(run: Path, going: Path) -> None:
    with viewing(going) as address:
        visitor = Visitor(address)
        page = visitor.get("/").text
        assert "going on" in page
        assert "<progress" in page
        assert "These intervals hold however often you look." in page
        [again] = re.findall(r'hx-get="(/live[^"]*)"', page)
        assert visitor.get(again).status == 204
        [state] = re.findall(r'hx-get="(/run/0/live[^"]*)"', visitor.get("/run/0").text)
        assert visitor.get(state).status == 204
        for part in run.glob("answers/second-*/part-*.parquet"):
            shutil.copy(part, going / part.relative_to(run))
        assert "8 of 8 parts" in visitor.get(again).text
        for name in ("scores.json", "report.html"):
            shutil.copy(run / name, going / name)
        for answer in (visitor.get(again).text, visitor.get(state).text):
            assert "hx-get" not in answer, "a run that is done is not asked for again"
            assert "done" in answer
        visitor.close()


def test_a_run_that_has_just_begun(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "manifest.json").write_text(json.dumps({"otherwords": "1.0.0rc1"}))
    with viewing(tmp_path / "new") as address:
        visitor = Visitor(address)
        assert "No scores yet." in visitor.get("/").text
        assert "No scores yet." in visitor.get("/run/0").text
        assert visitor.get("/run/0/problems").status == 404
        visitor.close()


def test_a_run_that_writes_nothing_was_perhaps_stopped(going: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = time.time() - 600
    for path in going.rglob("*"):
        os.utime(path, (old, old))
    with viewing(going) as address:
        visitor = Visitor(address)
        assert "nothing written for 10\u00a0minutes" in visitor.get("/").text
        visitor.close()


def test_a_copy_of_a_finished_run_is_done(run: Path, tmp_path: Path) -> None:
    """Its report may be older than its answers: files are copied in any order."""
    copied = shutil.copytree(run, tmp_path / "copied")
    old = time.time() - 600
    for path in copied.rglob("*"):
        os.utime(path, (old, old - (path.name == "report.html")))
    assert ViewedRun(copied).is_done
    next(copied.glob("answers/*/part-*")).unlink()
    assert not ViewedRun(copied).is_done


def test_a_damaged_part_is_named_and_the_rest_is_served(going: Path) -> None:
    part = next(going.glob("answers/first-*/part-00001.parquet"))
    part.write_bytes(part.read_bytes()[:-20])
    with viewing(going) as address:
        visitor = Visitor(address)
        reply = visitor.get("/run/0")
        assert reply.status == 503
        assert "Try again." in plain(reply.text)
        assert visitor.get("/static/view.css").status == 200
        visitor.close()


def test_what_is_made_of_a_run_is_kept_until_it_changes(going: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [run] = find_runs([going])
    first = run.problems()
    monkeypatch.setattr(run_state, "count_answers", None)  # it is not called again
    assert run.problems() is first


# What can be asked for


def test_only_looking_is_possible(run: Path, visitor: Visitor) -> None:
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    for path in ("/", "/run/0", "/compare", "/run/0/problems"):
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            reply = visitor.ask(method, path, "")
            assert reply.status == 405, (method, path)
        assert visitor.get(path).status == 200
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "192.168.1.5", ""])
def test_other_names_are_not_served(visitor: Visitor, host: str) -> None:
    reply = visitor.ask("GET", "/", headers={"Host": host})
    assert reply.status in (400, 421)
    assert "one" not in reply.text


def test_the_policy_is_strict(visitor: Visitor) -> None:
    for path in ("/", "/run/0", "/run/0/problems", "/static/browse.js", "/nothing"):
        headers = visitor.get(path).headers
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    "path",
    ["/run/1", "/run/99999999999999999999", "/run/-1", "/run/x", "/run/0/", "/static/page.py", "/static/../viewing.py",
     "/static/%2e%2e%2fviewing.py", "/compare?first=9~x&second=0~first", "/compare?first=x&second=y",
     "/compare?first=%C2%B2~first&second=0~first", "/../../etc/passwd"],
)  # fmt: skip
def test_what_is_not_there_is_a_page_that_says_so(visitor: Visitor, path: str) -> None:
    reply = visitor.get(path)
    assert reply.status == 404
    assert "There is no such page." in reply.text


def test_names_are_only_text(tmp_path: Path) -> None:
    evil = finished(tmp_path / "a<b>&", models=["m=scripted(seed=1)"])
    with viewing(evil) as address:
        visitor = Visitor(address)
        for path in ("/", "/run/0", "/compare"):
            assert "<b>&" not in visitor.get(path).text.replace("<b>&nbsp;", "")
        assert "a&lt;b&gt;&amp;" in visitor.get("/").text
        visitor.close()


# Which runs


def test_a_folder_of_runs_gives_all_of_them(run: Path, tmp_path: Path) -> None:
    assert [one.name for one in find_runs([run.parent])] == ["one"]
    assert [one.name for one in find_runs([run, run.parent, run])] == ["one"], "each once"
    (tmp_path / "paper" / "cells" / "x").mkdir(parents=True)
    shutil.copytree(run, tmp_path / "paper" / "cells" / "x" / "run")
    assert [one.name for one in find_runs([tmp_path / "paper"])] == ["x/run"]


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("x")
    for path in (tmp_path / "missing", tmp_path, tmp_path / "file.txt"):
        with refuses(BadInput):
            find_runs([path])


def test_a_model_asked_by_templates_is_shown_as_asked(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    viewed = ViewedRun(run)
    monkeypatch.setattr(ViewedRun, "_answered", lambda self: {"first@short": 3, "first@long": 3})
    assert viewed.models() == ["second", "first@short", "first@long"]
