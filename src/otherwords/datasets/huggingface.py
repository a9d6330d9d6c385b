"""Data sets of the Hugging Face hub, or local ones in its formats."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import BadInput, MissingExtra
from ..problem import NO_MAJORITY
from ..registry import datasets
from ..storage.files import fingerprint
from .records import Dataset, Record

_FORMATS = {".json": "json", ".jsonl": "json", ".csv": "csv", ".parquet": "parquet"}


# `name` is not in the signature, since it may be a local path: the identity names the data set.
@datasets("hf.v1", unsigned=("name",))
def hf(name: str, split: str = "test", config: str = "", revision: str = "") -> Dataset:
    """Hugging Face `datasets`: a hub name, a folder from save_to_disk, or local JSON, CSV or Parquet.

    `split` and `config` are named as on the data set's page. Class labels come out as their names, and -1 (the
    hub's mark for "no label") as no majority. A file, or a folder that was saved without splits, is read whole
    whatever `split` says. Pin a hub data set with `revision`; a local one is identified by its content.
    """
    try:
        import datasets as library
    except ImportError as error:
        raise MissingExtra("hf: data sets", "datasets") from error
    files = (Path(name),) if Path(name).exists() else ()
    identity = f"{files[0].resolve().name}@{fingerprint(files[0])[:12]}" if files else name

    def read() -> Iterator[Record]:
        table = _load(library, name, split, config, revision)
        names = {c: f.names for c, f in table.features.items() if isinstance(f, library.ClassLabel)}
        for number, row in enumerate(table, 1):
            labels = {column: _named(row[column], names[column]) for column in names}
            yield Record(f"{name}, {split} row {number}", {**row, **labels})

    return Dataset(read, files=files, identity=identity)


def _load(library: Any, name: str, split: str, config: str, revision: str) -> Any:
    path = Path(name)
    try:
        if (path / "dataset_dict.json").is_file() or (path / "state.json").is_file():
            return _choose(library.load_from_disk(name), name, split)
        if path.suffix in _FORMATS:
            if not path.is_file():  # otherwise the hub is asked for it, for half a minute
                raise BadInput("no such file", where=name)
            return library.load_dataset(_FORMATS[path.suffix], data_files={split: name}, split=split)
        # Code from the hub is never run: `datasets` 3 would ask on the terminal, newer ones cannot.
        options = {"name": config or None, "revision": revision or None, "trust_remote_code": False}
        return library.load_dataset(name, split=split, **options)
    except BadInput:
        raise
    except Exception as error:  # the library and the network below it raise dozens of unrelated types
        reason = " ".join(f"{error} {error.__cause__ or ''}".split())[:500]
        message = f"split {split!r} cannot be loaded: {reason}"
        fix = "give split= and config= as the data set's page lists them, or a local file or folder"
        raise BadInput(message, where=f"hf:{name}", fix=fix) from error


def _choose(saved: Any, name: str, split: str) -> Any:
    """Take a split from the result of save_to_disk: several splits, or one table that may name its split."""
    splits = list(saved) if isinstance(saved, dict) else [str(saved.split)] if saved.split else [split]
    if split not in splits:
        fix = f"give split={' or split='.join(splits)}"
        raise BadInput(f"no split {split!r}", where=f"hf:{name}", fix=fix)
    return saved[split] if isinstance(saved, dict) else saved


def _named(value: int | None, names: list[str]) -> str | None:
    if value is None:
        return None
    return NO_MAJORITY if value < 0 else names[value]
