"""`refuses`: like `pytest.raises`, for errors of the package, and checks their wording against a golden file.

A test asserts what is refused and where (`where`, `field`, `fix`); the wording is in `tests/messages.json`, one entry
per refusal. After a change of wording, `make messages` rewrites that file: review its diff.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import currently_in_test_context

from otherwords.errors import OtherwordsError

TESTS = Path(__file__).parents[1]
GOLDEN = TESTS / "messages.json"
#: Where the processes of an updating run write their messages.
DRAFTS = TESTS / ".messages"
#: Tests of every plug-in; the wording of one that is new here is its own.
CONTRACTS = "tests/contracts/test_every_"
UPDATE = "OTHERWORDS_UPDATE_MESSAGES"
#: What differs from run to run: temporary folders, the checkout, addresses in memory, and what plug-ins there are.
_VARYING = [
    (re.compile(r"(?:/[^\s'\":,;()]*)?/pytest-of-[^/]+/pytest-\d+/(?:popen-gw\d+/)?[^/\s'\":,;()]+"), "<tmp>"),
    (re.compile(re.escape(str(TESTS.parent))), "<root>"),
    (re.compile(r"0x[0-9a-f]{6,}"), "<address>"),
    (re.compile(r"(?:(?<= are: )|(?<=vailable: ))[\w-]+\.v\d+(, [\w-]+\.v\d+)*"), "<plug-ins>"),
]
_seen: Counter[str] = Counter()


@contextmanager
def refuses(kind: type[OtherwordsError] | tuple[type[OtherwordsError], ...], **fields: Any) -> Iterator[Any]:
    """Expect an error of this kind whose `where`, `field`, `fix` ... are as given, worded as in the golden file."""
    with pytest.raises(kind) as caught:
        yield caught
    for name, value in fields.items():
        assert getattr(caught.value, name) == value, name
    if not currently_in_test_context():  # hypothesis tries many inputs in one test
        _compare(caught.value)


def _compare(error: BaseException) -> None:
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    _seen[test] += 1
    key = f"{test} {_seen[test]}"
    entry = _entry(error)
    if os.environ.get(UPDATE):
        DRAFTS.mkdir(exist_ok=True)
        with (DRAFTS / f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps([key, entry]) + "\n")
    elif GOLDEN.exists() and (key in golden() or not test.startswith(CONTRACTS)):
        assert golden().get(key) == entry, f"{key}: if the new wording is right, run `make messages`"


def _entry(error: BaseException) -> dict[str, str]:
    names = [name for name in ("where", "field", "message", "fix") if getattr(error, name, "")]
    parts = {name: str(getattr(error, name)) for name in names} or {"message": str(error)}
    return {"error": type(error).__name__, **{name: _normalize(text) for name, text in parts.items()}}


def _normalize(text: str) -> str:
    for pattern, name in _VARYING:
        text = pattern.sub(name, text)
    return text


@cache
def golden() -> dict[str, dict[str, str]]:
    """The golden file, by test and number of the refusal in it."""
    entries: dict[str, dict[str, str]] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return entries


def merge_drafts(whole: bool) -> None:
    """Write the golden file from an updating run; entries it did not produce stay, unless it ran the whole suite."""
    drafts = [draft.read_text(encoding="utf-8") for draft in DRAFTS.glob("*.jsonl")]
    entries = dict(json.loads(line) for draft in drafts for line in draft.splitlines())
    kept = {} if whole or not GOLDEN.exists() else golden()
    lines = [f"{json.dumps(key)}: {json.dumps(entry)}" for key, entry in sorted({**kept, **entries}.items())]
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    for draft in DRAFTS.glob("*.jsonl"):
        draft.unlink()
    DRAFTS.rmdir()
