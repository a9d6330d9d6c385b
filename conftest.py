"""For every test and doctest: a cache of answers that is nobody's, and a folder to write to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from refusals import DRAFTS, UPDATE, merge_drafts

# How long an example takes says more about the machine than about the code; the same examples are tried everywhere.
settings.register_profile("otherwords", deadline=None, derandomize=True)
settings.register_profile("few examples", settings.get_profile("otherwords"), max_examples=25)
settings.load_profile("otherwords")


@pytest.fixture(scope="session", autouse=True)
def _no_cache_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Fixtures that live longer than a test do not touch the user's answers either."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTHERWORDS_CACHE", str(tmp_path_factory.mktemp("cache") / "answers.sqlite"))
        yield


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHERWORDS_CACHE", str(tmp_path / "cache" / "answers.sqlite"))


@pytest.fixture(autouse=True)
def _names_in_doctests(doctest_namespace: dict[str, Any], tmp_path: Path) -> None:
    doctest_namespace["tmp"] = tmp_path / "run"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-messages` rewrites the golden file of error messages."""
    parser.addoption("--update-messages", action="store_true", help="rewrite tests/messages.json from this run")


def pytest_configure(config: pytest.Config) -> None:
    """Try fewer examples in the fast run; tell worker processes, which inherit the environment, to update messages."""
    if "not slow" in config.getoption("markexpr"):
        settings.load_profile("few examples")
    if config.getoption("--update-messages"):
        os.environ[UPDATE] = "1"


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Put together what all processes saw."""
    updating = session.config.getoption("--update-messages") and not hasattr(session.config, "workerinput")
    if updating and DRAFTS.exists():
        merge_drafts(whole=not session.config.args or session.config.args == session.config.getini("testpaths"))
