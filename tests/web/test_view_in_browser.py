"""`otherwords view` in a real browser, beside a run that really goes on."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import browsing
import pytest
from annotating import Visitor
from viewing import viewing

import otherwords as ow

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::UserWarning")]

EVIL = "<img src=x onerror=alert(1)></script><script>throw Error('evil')</script>"
READY = "html[data-browse=ready]"


def suite(problems: int) -> list[dict[str, Any]]:
    rows = []
    for i in range(problems):
        row = {"id": f"p{i:02}", "premise": f"A man in {i} runs.", "hypothesis": f"{EVIL} {i}", "label": "neutral"}
        rows.append(row)
        varied = {**row, "of": row["id"], "how": "x"}
        rows += [{**varied, "id": f"p{i:02}-{k}", "premise": f"A guy in {i}, {k}."} for k in (0, 1)]
    return rows


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("runs")
    for name, seed in (("one", 1), ("two", 5)):
        models = [f"first=scripted(seed={seed})", f"second=scripted(seed={seed + 1})"]
        ow.run(data=[suite(30)], models=models, check=[], canary=False, cache=None, replicates=100, out=folder / name)
    with viewing(folder) as found:
        yield found


def test_from_the_overview_to_a_problem_and_to_a_comparison(browser: Browser, address: str) -> None:
    with browsing.opened(browser, address) as visit:
        page = visit.page
        assert page.locator("section.card").count() == 2
        page.click("text=two")
        page.wait_for_selector(READY, state="attached")
        page.fill("#browse-text", "p17")
        page.press("#browse-text", "Enter")
        assert page.inner_text("#browse-detail h3") == "p17"
        assert EVIL in page.inner_text("#browse-detail"), "markup is text"
        assert page.locator("img").count() == 0
        page.click("text=Compare models")
        page.select_option("[name=first]", label="one: first")
        page.select_option("[name=second]", label="two: first")
        page.click("button")
        assert "one: first − two: first" in page.inner_text("table")
        assert visit.complaints == []
        assert visit.beyond(address) == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [380, 800, 1400])
def test_everybody_can_use_it(browser: Browser, address: str, width: int, dark: bool) -> None:
    for path in ("/", "/run/0", "/compare?first=0~first&second=0~second", "/nothing"):
        with browsing.opened(browser, address + path, width=width, dark=dark) as visit:
            if path == "/run/0":
                visit.page.wait_for_selector(READY, state="attached")
            assert browsing.serious_faults(visit.page) == []
            assert not browsing.too_wide(visit.page), path
            assert [one for one in visit.complaints if "404" not in one] == []


def test_a_run_is_watched_while_it_goes_on(browser: Browser, tmp_path: Path) -> None:
    """Bars grow, first scores come with intervals, and in the end it is done, without a hand on the page."""
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, suite(60))))
    study = {"data": [str(tmp_path / "data.jsonl")], "models": ["slow=scripted(seed=1, delay=0.4, batch_size=6)"]}
    study |= {"shard": 12, "check": [], "canary": False, "cache": False, "replicates": 100}
    (tmp_path / "study.json").write_text(json.dumps(study))
    code = "import json, sys, otherwords as ow; ow.run(json.load(open(sys.argv[1])), out=sys.argv[2])"
    command = [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "study.json"), str(tmp_path / "run")]
    with subprocess.Popen(command) as running:
        while not list((tmp_path / "run").glob("answers/*/part-*.parquet")):
            assert running.poll() is None, "the run ended before it was looked at"
            time.sleep(0.05)
        with viewing(tmp_path / "run") as address, browsing.opened(browser, address) as visit:
            page = visit.page
            assert "going on" in page.inner_text("main")
            first = _done(page.inner_text(".bars"))
            page.wait_for_selector("text=These intervals hold however often you look.", timeout=60_000)
            while _done(page.inner_text(".bars")) == first:
                page.wait_for_timeout(200)
            page.wait_for_selector("section .done", timeout=120_000)
            assert page.locator(".bars").count() == 0
            asked = len(visit.requests)
            page.wait_for_timeout(5_000)
            assert len(visit.requests) == asked, "what is done is not asked for again"
            assert visit.complaints == []
        assert running.wait(60) == 0


def _done(bars: str) -> int:
    found = re.search(r"answers of slow\s+(\d+) of", bars)
    assert found, bars
    return int(found[1])


def test_the_command_says_where_it_is_and_ends_with_a_signal(tmp_path: Path) -> None:
    settings = {"models": ["scripted"], "check": [], "canary": False, "cache": None, "replicates": 100}
    ow.run(data=[suite(3)], out=tmp_path / "run", **settings)
    command = [sys.executable, "-m", "otherwords", "view", str(tmp_path), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr
        found = re.fullmatch(r"1 run: (http://127\.0\.0\.1:\d+)\n", running.stderr.readline())
        assert found
        visitor = Visitor(found[1])
        assert visitor.get("/").status == 200
        visitor.close()
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 130
        assert "the runs are as they were" in running.stderr.read()
