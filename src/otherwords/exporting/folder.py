"""A folder that is whole or absent: made beside its place, and moved there when all is well."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import BadInput
from ..storage.files import disk_errors

#: What an exported folder is known by.
RECORD = "export.json"


def refuse_taken(out: Path) -> None:
    """Raise where something is that was not exported before; an earlier export may be replaced."""
    if out.exists() and not out.is_dir():
        raise BadInput("is a file, not a folder", where=str(out), fix="choose another place with -o")
    if out.is_dir() and any(out.iterdir()) and not (out / RECORD).is_file():
        message = f"is there already, and is no export ({RECORD} is missing)"
        raise BadInput(message, where=str(out), fix="choose another place with -o, or remove it")


@contextmanager
def whole(out: Path) -> Iterator[Path]:
    """Give an empty folder; move it to `out` when the block ends well, remove it when it does not.

    What else was in `out` (a card, a licence) is in the new folder too.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".part", dir=out.parent))
    try:
        with disk_errors(out):
            yield draft
            _carry_over(out, draft)
        for file in draft.rglob("*"):
            _settle(file)
        draft.chmod(0o755)
        _swap(draft, out)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _carry_over(out: Path, draft: Path) -> None:
    """Copy what is in `out` and was not written anew. Copied, not moved: until all is well, nothing there changes."""
    if not out.exists():
        return
    for kept in out.iterdir():
        if (draft / kept.name).exists():
            continue
        if kept.is_dir() and not kept.is_symlink():
            shutil.copytree(kept, draft / kept.name, symlinks=True)
        else:
            shutil.copy2(kept, draft / kept.name, follow_symlinks=False)


def _settle(file: Path) -> None:
    if file.is_symlink() or not file.is_file():
        return
    with file.open("rb") as written:
        os.fsync(written.fileno())


def _swap(draft: Path, out: Path) -> None:
    """Put the draft in place of what is there; only between the two moves is there neither."""
    if not out.exists():
        draft.rename(out)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".part", dir=out.parent))
    out.rename(old / out.name)
    draft.rename(out)
    shutil.rmtree(old, ignore_errors=True)
