"""Recognising Textual Entailment: the PASCAL challenges RTE1 to RTE3, in their XML."""

from collections.abc import Iterator
from pathlib import Path
from xml.parsers import expat

from ..errors import BadInput
from ..registry import datasets
from .records import Dataset, Record

_TEXTS = {"t": "premise", "h": "hypothesis"}
_ATTRIBUTES = {"task": "source_task", "value": "label", "entailment": "label"}
_LABELS = (("TRUE", "entailed"), ("FALSE", "not-entailed"), ("YES", "entailed"), ("NO", "not-entailed"))


@datasets("rte.v1")
def rte(path: Path) -> Dataset:
    """RTE1 to RTE3 as released: rte1_dev.xml ... rte3_test.xml (Dagan et al. 2006 and after).

    Every file numbers its pairs from 1, so the id is `<file stem>-<pair id>`. The attribute `task` (IE, QA, ...)
    becomes `source_task`; the others keep their names.
    """
    return Dataset(lambda: _pairs(path), task="rte", files=(path,), labels=_LABELS)


def _pairs(path: Path) -> Iterator[Record]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(path)) from error
    reader = _Reader(path)
    try:
        reader.parser.Parse(content, True)
    except expat.ExpatError as error:
        message = f"malformed XML: {expat.ErrorString(error.code)}"
        raise BadInput(message, where=f"{path}, line {error.lineno}", fix="repair the file") from error
    if not reader.records:
        fix = "RTE files are <entailment-corpus><pair><t/><h/></pair>..."
        raise BadInput("has no <pair>", where=str(path), fix=fix)
    yield from reader.records


class _Reader:
    """Collects the pairs with their line numbers, which ElementTree does not have.

    RTE1 names a DTD: expat does not fetch it by default. Entities declared in the file are refused, because a few of
    them can expand to gigabytes.
    """

    def __init__(self, path: Path):
        self.records: list[Record] = []
        self._path = path
        self._where = self._error = self._field = ""
        self._row: dict[str, str] = {}
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._letters
        self.parser.EntityDeclHandler = self._refuse
        self.parser.SkippedEntityHandler = self._skipped

    def _line(self) -> str:
        return f"{self._path}, line {self.parser.CurrentLineNumber}"

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "pair":
            self._where, self._error, self._row = self._line(), "", {}
            for name, value in attributes.items():
                self._row[_ATTRIBUTES.get(name, name)] = value
            if "id" in attributes:
                self._row["id"] = f"{self._path.stem}-{attributes['id']}"
        elif tag in _TEXTS and not self._field:
            self._field = _TEXTS[tag]
            if self._field in self._row:
                self._error = f"has two <{tag}>"
            self._row[self._field] = ""

    def _letters(self, text: str) -> None:
        if self._field:
            self._row[self._field] += text

    def _end(self, tag: str) -> None:
        if tag == "pair":
            wanted = {"id": "id=", "label": "value= or entailment=", "premise": "<t>", "hypothesis": "<h>"}
            missing = [name for key, name in wanted.items() if key not in self._row]
            error = self._error or (f"the pair has no {', no '.join(missing)}" if missing else "")
            self.records.append(Record(self._where, self._row, error))
            self._row = {}
        elif self._field == _TEXTS.get(tag):
            self._row[self._field] = self._row[self._field].strip()
            self._field = ""

    def _refuse(self, name: str, *_: object) -> None:
        raise BadInput(f"declares the entity {name!r}", where=self._line(), fix="remove it: RTE files need no entities")

    def _skipped(self, name: str, _: object) -> None:
        # If a DTD is named but not read, expat drops &eacute; silently.
        self._error = self._error or f"uses the entity &{name};, which the file does not define"
