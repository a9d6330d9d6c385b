"""The bundled problems about everyday situations: a first run needs no download."""

from collections.abc import Iterator
from pathlib import Path

from ..errors import BadInput
from ..registry import datasets
from .records import Dataset, Record, json_lines

_FILE = Path(__file__).parents[1] / "assets" / "everyday.jsonl"
_SPLITS = ("train", "test", "all")


@datasets("everyday.v1")
def everyday(split: str = "test") -> Dataset:
    """Everyday problems that come with the package: split train, test or all."""
    if split not in _SPLITS:
        raise BadInput(f"found {split!r}", where="everyday.v1", field="split", fix=f"use {', '.join(_SPLITS)}")

    def read() -> Iterator[Record]:
        return (record for record in json_lines(_FILE) if split in ("all", record.row.get("split")))

    return Dataset(read, task="nli", files=(_FILE,))
