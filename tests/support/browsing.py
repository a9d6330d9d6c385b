"""Pages in a real browser: Debian's chromium, driven by playwright, without any network beyond this machine.

`opened` shows an address and remembers what the page complained of and what it asked for; `serious_faults` lets
axe-core look for what keeps people from using it. Tests take the fixture `browser` of tests/conftest.py.
"""

from __future__ import annotations

import importlib.util
import lzma
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

#: Width and height of a telephone, a tablet and a desk, in CSS pixels: what screenshots are taken at.
SIZES = {"narrow": (380, 800), "middle": (800, 1000), "wide": (1400, 900)}
AXE = Path(__file__).parent / "axe" / "axe.min.js.xz"
#: How badly a fault keeps people out, as axe-core grades it; lesser grades are matters of taste.
SERIOUS = ("serious", "critical")


def chromium() -> str | None:
    """Where the browser is: OTHERWORDS_CHROMIUM, or what the system has."""
    return os.environ.get("OTHERWORDS_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


def why_not() -> str:
    """What a test in a browser lacks here, or nothing."""
    if importlib.util.find_spec("playwright") is None:
        return "needs playwright (otherwords[test])"
    return "" if chromium() else "needs chromium: apt install chromium, or OTHERWORDS_CHROMIUM=/path/to/it"


@contextmanager
def running() -> Iterator[Browser]:
    """A browser, which ends with the block.

    While it runs, its event loop is that of the thread, so that `asyncio.run` is refused there: keep it for a module,
    not for a session.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Visit:
    """A page that is open: `page` is playwright's; `complaints` are errors and warnings, `requests` all addresses."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def beyond(self, *allowed: str) -> list[str]:
        """The addresses asked for that do not begin with one of these."""
        return [one for one in self.requests if not one.startswith(allowed)]


@contextmanager
def opened(
    browser: Browser, address: str | Path, *, width: int = 1400, height: int = 900, dark: bool = False, **options: Any
) -> Iterator[Visit]:
    """Show an address, or a file, in a window of its own (own cookies, own storage); `options` go to `new_context`."""
    scheme = "dark" if dark else "light"
    size = {"width": width, "height": height}
    context = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce", **options)
    try:
        visit = Visit(context.new_page())
        context.on("request", lambda request: visit.requests.append(request.url))
        visit.page.on("console", lambda message: _note(visit, message))
        visit.page.on("pageerror", lambda error: visit.complaints.append(f"uncaught: {error}"))
        visit.page.goto(address.resolve().as_uri() if isinstance(address, Path) else address)
        yield visit
    finally:
        context.close()


def _note(visit: Visit, message: ConsoleMessage) -> None:
    if message.type in ("error", "warning"):
        visit.complaints.append(f"{message.type}: {message.text}")


@cache
def _axe() -> str:
    return lzma.decompress(AXE.read_bytes()).decode()


def serious_faults(page: Page, within: str = "") -> list[str]:
    """What axe-core finds that keeps people out, with the element concerned; `within` is a CSS selector.

    It is evaluated, not added as an element: a strict content policy refuses that, and rightly.
    """
    page.evaluate(_axe())
    found = page.evaluate("within => axe.run(within || document, {resultTypes: ['violations']})", within)
    return [
        f"{one['impact']}: {one['id']} ({one['help']}) at {node['target']}: {node['html'][:200]}"
        for one in found["violations"]
        if one["impact"] in SERIOUS
        for node in one["nodes"]
    ]


def screenshots(browser: Browser, address: str | Path, folder: Path, name: str, **options: Any) -> list[Path]:
    """Pictures of a whole page in three widths, light and dark, to be looked at."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for place, (width, height) in SIZES.items():
        for dark in (False, True):
            path = folder / f"{name}-{place}-{'dark' if dark else 'light'}.png"
            with opened(browser, address, width=width, height=height, dark=dark, **options) as visit:
                visit.page.screenshot(path=path, full_page=True)
            found.append(path)
    return found


def too_wide(page: Page) -> bool:
    """Whether one must scroll sideways to read it."""
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))
