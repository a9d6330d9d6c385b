"""Fixtures for all tests: files of rows, and the data of the papers if present."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import browsing
import llama_cpp
import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

#: Tiny models compute on one thread: two wait for each other, and for the other test processes, ten times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")

DATA = Path(__file__).parents[1].parent / "shared" / "data"
#: A valid row; tests break copies of it.
GOOD = {"premise": "A man sleeps.", "hypothesis": "Somebody sleeps.", "label": "entailment"}


@pytest.fixture
def good() -> dict[str, Any]:
    return dict(GOOD)


@pytest.fixture
def jsonl(tmp_path: Path) -> Callable[..., Path]:
    """Write rows (or lines, as text or bytes) to a file of the given name."""

    def write(
        *rows: dict[str, Any] | str | bytes, name: str = "rows.jsonl", end: str = "\n", mark: bytes = b""
    ) -> Path:
        lines = [
            row if isinstance(row, bytes) else (row if isinstance(row, str) else json.dumps(row)).encode()
            for row in rows
        ]
        path = tmp_path / name
        path.write_bytes(mark + b"".join(line + end.encode() for line in lines))
        return path

    return write


@pytest.fixture
def shared() -> Path:
    """The data of the papers, next to the checkout."""
    if not DATA.is_dir():
        pytest.skip("needs ../shared/data")
    return DATA


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """A small language model as a GGUF file."""
    if reason := llama_cpp.why_not():
        pytest.skip(reason)
    found = llama_cpp.model_file()
    assert found
    return found


@pytest.fixture(scope="session")
def llama_server(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of llama.cpp's server with that model, `http://127.0.0.1:PORT/v1`, where it is called smollm2."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "llama_cpp"
    shared.mkdir(exist_ok=True)
    with llama_cpp.serving(shared) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real browser, for the tests of one module; `browsing.opened` shows pages in it."""
    if reason := browsing.why_not():
        pytest.skip(reason)
    with browsing.running() as found:
        yield found
