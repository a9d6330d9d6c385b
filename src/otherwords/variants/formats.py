"""Which tool wrote a file of rewordings: the user says so, or the file's columns and keys do."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

from ..datasets import checklist, nl_augmenter, textattack
from ..datasets.rewordings import Rewording, read_json
from ..datasets.source import ENDINGS
from ..errors import BadInput, UnknownName

#: The toolkit's own layout: a table whose rows name their original in `of`.
NATIVE = "table"
#: Other tools' layouts, and how each is read.
READERS: dict[str, Callable[[Path], Iterator[Rewording]]] = {
    "textattack": textattack.rewordings,
    "nl-augmenter": nl_augmenter.rewordings,
    "checklist": checklist.rewordings,
}


def recognised(path: Path, said: str = "") -> str:
    """The format of a file: what was said, else what its content shows."""
    if said:
        name = said.replace("_", "-")
        if name not in (NATIVE, *READERS):
            raise UnknownName(f"no format {said!r}; there are {_listed()}")
        return name
    found = list(_seen(path))
    if len(found) == 1:
        return found[0]
    message = f"could be any of {', '.join(found)}" if found else "has a format unknown here"
    fix = "use .jsonl, .csv, .tsv or .parquet with a column `of`, or name the tool that wrote it"
    raise BadInput(message, where=str(path), fix=f"{fix}: format= {_listed()}")


def _seen(path: Path) -> Iterator[str]:
    if path.suffix.lower() == ".json":
        yield from _seen_in_json(path)
    elif path.suffix in ENDINGS:
        columns = _columns(path) if path.suffix == ".csv" else set()
        if {"original_text", "perturbed_text"} <= columns:
            yield "textattack"
            if "of" in columns:
                yield NATIVE
        else:
            yield NATIVE
    elif _is_pickle(path):
        yield "checklist"  # which will say what to do with it


def _seen_in_json(path: Path) -> Iterator[str]:
    content = read_json(path)
    tests = content.values() if isinstance(content, dict) else ()
    if isinstance(content, dict) and "test_cases" in content:
        yield "nl-augmenter"
    if any(isinstance(test, dict) and "data" in test and "type" in test for test in tests):
        yield "checklist"


def _columns(path: Path) -> set[str]:
    if not path.is_file():
        return set()  # the reader will say so
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        return set(next(csv.reader(file), ()))


def _is_pickle(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(1) == b"\x80"


def _listed() -> str:
    return ", ".join((NATIVE, *READERS))
