"""`refuses`: like `pytest.raises`, for errors of the package, and checks their wording against a golden file.

A test asserts what is refused and where (`where`, `field`, `fix`); the wording is in `tests/messages.json`, one line
per refusal, in the order in which its test meets them. After a change of wording, `make messages` rewrites that file:
review its diff.
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
#: What a line of the golden file holds behind the parameters of the test; what is empty at its end is left out.
PARTS = ("error", "message", "fix", "where", "field")
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
    return {"error": type(error).__name__, **{name: _normalize(text) for name, text in parts.items() if text}}


def _normalize(text: str) -> str:
    for pattern, name in _VARYING:
        text = pattern.sub(name, text)
    return text


@cache
def golden() -> dict[str, dict[str, str]]:
    """The golden file, by test and number of the refusal in it."""
    return loaded(GOLDEN.read_text(encoding="utf-8"))


def loaded(text: str) -> dict[str, dict[str, str]]:
    """The entries of a golden file; those of the same parameters are counted."""
    entries: dict[str, dict[str, str]] = {}
    for file, tests in json.loads(text).items():
        for test, lines in tests.items():
            numbers: Counter[str] = Counter()
            for parameters, *parts in lines:
                numbers[parameters] += 1
                entry = {name: part for name, part in zip(PARTS, parts, strict=False) if part}
                entries[f"{file}::{test}{parameters} {numbers[parameters]}"] = entry
    return entries


def written(entries: dict[str, dict[str, str]]) -> str:
    """The text of a golden file: a line for each refusal, under its file and test, which are said once.

    >>> print(written({"tests/test_a.py::test_b[c] 1": {"error": "BadInput", "message": "m", "where": "w"}}), end="")
    {
    "tests/test_a.py": {
    "test_b": [
    ["[c]","BadInput","m","","w"]
    ]
    }
    }
    """
    files: dict[str, dict[str, list[str]]] = {}
    for file, test, parameters, number in sorted(map(_place, entries)):
        entry = entries[f"{file}::{test}{parameters} {number}"]
        line = [parameters, *(entry.get(name, "") for name in PARTS)]
        while not line[-1]:
            line.pop()
        files.setdefault(file, {}).setdefault(test, []).append(json.dumps(line, separators=(",", ":")))
    by_file = {file: _lines({test: _lines(lines) for test, lines in tests.items()}) for file, tests in files.items()}
    return _lines(by_file) + "\n"


def _place(key: str) -> tuple[str, str, str, int]:
    """Of "tests/test_a.py::test_b[c] 1": the file, the test, its parameters with their brackets, and the number."""
    test, _, number = key.rpartition(" ")
    file, _, name = test.partition("::")
    function = name.partition("[")[0]
    return file, function, name.removeprefix(function), int(number)


def _lines(texts: list[str] | dict[str, str]) -> str:
    """JSON texts as a JSON list or object with a line for each."""
    if isinstance(texts, list):
        return "[\n" + ",\n".join(texts) + "\n]"
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {text}" for name, text in texts.items()) + "\n}"


def merge_drafts(whole: bool) -> None:
    """Write the golden file from an updating run; entries it did not produce stay, unless it ran the whole suite."""
    drafts = [draft.read_text(encoding="utf-8") for draft in DRAFTS.glob("*.jsonl")]
    entries = dict(json.loads(line) for draft in drafts for line in draft.splitlines())
    kept = {} if whole or not GOLDEN.exists() else golden()
    GOLDEN.write_text(written({**kept, **entries}), encoding="utf-8")
    for draft in DRAFTS.glob("*.jsonl"):
        draft.unlink()
    DRAFTS.rmdir()
