"""Tables and figures as files: `tables/*.{md,csv,tex}` and `figures/*.{svg,json}` in one folder."""

import json
from collections.abc import Sequence
from pathlib import Path

from .._version import __version__
from ..errors import BadInput
from ..storage.files import fingerprint, read_json, refuse_link, refuse_overwriting, write_json, write_text
from .figures import Figure
from .tables import Table

#: What the folder says of the files that were written into it: their digests.
LISTING = "exhibits.json"
_FOREIGN, _ELSEWHERE = "already exists with other content", "choose another folder, or remove it"


def write_exhibits(folder: Path, tables: Sequence[Table], figures: Sequence[Figure], *inputs: str | Path) -> list[Path]:
    """Write tables and figures into a folder; nothing in `inputs`, which are read, is written to.

    What an earlier call wrote there is replaced, or removed if it is no longer among them. A file of another origin, or
    one that was changed since, is never touched: one in the way is refused before anything is written.
    """
    refuse_unusable(folder, *inputs)
    texts = _texts(tables, figures)
    former = _former(folder)
    _refuse_foreign(folder, texts, former)
    for name, content in texts.items():
        write_text(folder / name, content)
    for name, digest in former.items():
        path = folder / name
        if name not in texts and path.is_file() and fingerprint(path) == digest:
            path.unlink()
    written = {name: fingerprint(folder / name) for name in texts}
    write_json(folder / LISTING, {"otherwords": __version__, "files": written})
    return [folder / name for name in (*texts, LISTING)]


def _texts(tables: Sequence[Table], figures: Sequence[Figure]) -> dict[str, str]:
    """The content of every file, by its path in the folder."""
    found: dict[str, str] = {}
    for texts in (*map(_of_table, tables), *map(_of_figure, figures)):
        if twice := next((name for name in texts if name in found), ""):
            raise BadInput("two exhibits have this name", where=twice, fix="give each a different name")
        found |= texts
    return found


def _of_table(table: Table) -> dict[str, str]:
    texts = {"md": table.markdown(), "csv": table.csv(), "tex": table.latex()}
    return {f"tables/{table.name}.{kind}": content for kind, content in texts.items()}


def _of_figure(figure: Figure) -> dict[str, str]:
    data = json.dumps(figure.data(), ensure_ascii=False, allow_nan=False, indent=1)
    return {f"figures/{figure.name}.svg": figure.svg(), f"figures/{figure.name}.json": f"{data}\n"}


def _former(folder: Path) -> dict[str, str]:
    """The files of an earlier call, with their digests; names that lead elsewhere are not among them."""
    listed = read_json(folder / LISTING).get("files")
    files = listed.items() if isinstance(listed, dict) else ()
    return {str(name): str(digest) for name, digest in files if _is_ours(str(name))}


def _is_ours(name: str) -> bool:
    """Whether a name is one that could have been written here."""
    place, _, file = name.partition("/")
    return place in ("tables", "figures") and bool(file) and "/" not in file and "\\" not in file


def refuse_unusable(folder: Path, *inputs: str | Path) -> None:
    """Refuse, before any work, a folder into which tables and figures cannot go; `inputs` are what is read."""
    refuse_overwriting(folder, *inputs)
    for path in (folder, folder / "tables", folder / "figures"):
        refuse_link(path)
        if path.exists() and not path.is_dir():
            raise BadInput("is a file, not a folder", where=str(path), fix=_ELSEWHERE)
    listing = folder / LISTING
    if listing.exists() and "files" not in read_json(listing):
        raise BadInput(_FOREIGN, where=str(listing), fix=_ELSEWHERE)


def _refuse_foreign(folder: Path, texts: dict[str, str], former: dict[str, str]) -> None:
    """Refuse a folder where a file that is not ours stands in the way."""
    for name, content in texts.items():
        path = folder / name
        refuse_link(path)
        if path.is_dir():
            raise BadInput("is a folder", where=str(path), fix=_ELSEWHERE)
        if path.exists() and fingerprint(path) != former.get(name) and path.read_bytes() != content.encode():
            changed = "was changed since it was written" if name in former else _FOREIGN
            raise BadInput(changed, where=str(path), fix=_ELSEWHERE)
