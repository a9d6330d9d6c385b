"""A small suite, and the pages of a form about it, served for one test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from annotating import NLI, serving, write_rows

from otherwords import web
from otherwords.web.pages import Site


@pytest.fixture
def suite(tmp_path: Path) -> str:
    return write_rows(tmp_path / "suite.jsonl", NLI)


@pytest.fixture
def site(tmp_path: Path, suite: str) -> Iterator[Callable[..., Site]]:
    """Serve a form: `site("sound", overlap=2)`; of other `rows`, or of a `source` such as a run."""
    with ExitStack() as open_ones:

        def serve(
            form: str, rows: Any = None, tests: str = "", served: Any = None, source: str = "", **settings: Any
        ) -> Site:
            data = source or (write_rows(tmp_path / "other.jsonl", rows) if rows else suite)
            store = web.open_project(
                [data], form, str(tmp_path / "verdicts.db"), web.Settings(**settings), tests=tests,
                task="a-nli" if rows and "obs1" in rows[0] else "",
            )  # fmt: skip
            open_ones.callback(store.close)
            return open_ones.enter_context(serving(store, **(served or {})))

        yield serve
