"""The browser of the tests sees what it must see: complaints, requests, faults."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import browsing
import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

GOOD = '<!doctype html><html lang="en"><head><title>t</title></head><body><main><h1>Good</h1>{}</main></body></html>'


def page(folder: Path, body: str) -> Path:
    path = folder / "page.html"
    path.write_text(GOOD.format(body), encoding="utf-8")
    return path


def test_a_good_page_has_no_faults(browser: Browser, tmp_path: Path):
    with browsing.opened(browser, page(tmp_path, "<p>Text.</p>")) as visit:
        assert visit.complaints == []
        assert visit.requests == [(tmp_path / "page.html").as_uri()]
        assert visit.beyond("file://") == []
        assert browsing.serious_faults(visit.page) == []
        assert not browsing.too_wide(visit.page)


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("<script>throw Error('one')</script>", "uncaught: one"),
        ("<script>console.error('two')</script>", "error: two"),
        ('<img src="missing.png" alt="none">', "error: Failed to load resource"),
    ],
)
def test_what_a_page_complains_of_is_noted(browser: Browser, tmp_path: Path, body: str, complaint: str):
    with browsing.opened(browser, page(tmp_path, body)) as visit:
        assert any(one.startswith(complaint) for one in visit.complaints), visit.complaints


def test_a_request_to_elsewhere_is_noted(browser: Browser, tmp_path: Path):
    with browsing.opened(browser, page(tmp_path, '<img src="http://127.0.0.1:9/a.png" alt="none">')) as visit:
        assert visit.beyond("file://") == ["http://127.0.0.1:9/a.png"]


def test_serious_faults_are_found_also_under_a_strict_policy(browser: Browser, tmp_path: Path):
    policy = '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'">'
    with browsing.opened(
        browser, page(tmp_path, policy + '<input type="text"><div style="width:5000px">x</div>')
    ) as visit:
        [fault] = browsing.serious_faults(visit.page)
        assert fault.startswith("critical: label")


def test_a_page_that_must_be_scrolled_sideways_is_too_wide(browser: Browser, tmp_path: Path):
    with browsing.opened(browser, page(tmp_path, '<div style="width:5000px">x</div>'), width=380) as visit:
        assert browsing.too_wide(visit.page)
    found = browsing.screenshots(browser, tmp_path / "page.html", tmp_path / "shots", "page")
    assert [one.name for one in found][:2] == ["page-narrow-light.png", "page-narrow-dark.png"]
    assert all(one.stat().st_size > 1000 for one in found)
    assert len(found) == 6
