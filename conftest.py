"""For every test and doctest: a cache of its own, a folder to write to, and how many examples hypothesis tries."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from refusals import DRAFTS, UPDATE, merge_drafts

#: It runs in the environment of HELM, and imports it.
collect_ignore = ["tests/support/in_helm.py"]

# No deadline: how long an example takes depends on the machine. The same examples are tried everywhere, fewer of them
# without the slow tests.
settings.register_profile("all", deadline=None, derandomize=True)
settings.register_profile("fast", settings.get_profile("all"), max_examples=12)

#: Memory that is used as a disk, on Linux: tests write thousands of small files, and each is synced.
MEMORY = Path("/dev/shm")
#: Bytes that must be free there: in many containers it is small.
ROOM = 4 << 30


@pytest.fixture(scope="session", autouse=True)
def _caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for all caches. Fixtures that outlive a test do not use the user's cache either."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTHERWORDS_CACHE", str(folder / "answers.sqlite"))
        yield folder


#: Numbers the caches: a folder for each, as `tmp_path` would make it, costs more than most of the tests.
_numbers = count(1)


@pytest.fixture(autouse=True)
def _own_cache(_caches: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHERWORDS_CACHE", str(_caches / str(next(_numbers)) / "answers.sqlite"))


@pytest.fixture(autouse=True)
def _names_in_doctests(request: pytest.FixtureRequest, doctest_namespace: dict[str, Any]) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        doctest_namespace["tmp"] = request.getfixturevalue("tmp_path") / "run"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-messages` rewrites the golden file of error messages."""
    parser.addoption("--update-messages", action="store_true", help="rewrite tests/messages.json from this run")


def pytest_configure(config: pytest.Config) -> None:
    """Be fast without the slow tests, and pass `--update-messages` on to workers, which inherit the environment."""
    fast = "not slow" in config.getoption("-m")
    settings.load_profile("fast" if fast else "all")
    if fast:
        _save_time()
    if config.getoption("--update-messages"):
        os.environ[UPDATE] = "1"


def _save_time() -> None:
    """Tables of a few rows on one thread, in every process, and temporary files in memory. All tests do without."""
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the golden file from the messages of all processes."""
    config = session.config
    updating = config.getoption("--update-messages") and not hasattr(config, "workerinput")
    if updating and DRAFTS.exists():
        chosen = config.getoption("-m") or config.getoption("-k") or config.args != config.getini("testpaths")
        merge_drafts(whole=not chosen)
