"""Export a trained model as one small ONNX file that needs no torch, and compare it with the original first."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .._version import __version__
from ..datasets.source import Source
from ..errors import BadInput, GateFailed
from ..inference import families
from ..problem import Batch, label_key
from ..storage.files import disk_errors, write_json
from . import graphs as building
from . import tracing
from .comparing import Comparison, compare_labels, compare_words
from .graphs import onnx
from .original import NAMELESS, Original, open_original, write_beside
from .storing import WEIGHTS, store

# MERGED from exporting.folder: A folder that is whole or absent: made beside its place, and moved there when all is well.

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


# MERGED from exporting.export: Export a trained model as one small ONNX file that needs no torch, and compare it with the original first.

#: Above this share of changed labels, or best words, an export is refused, unless told otherwise. The best words of a
#: masked-LM are often close to one another.
LABELS_LIMIT, WORDS_LIMIT = 0.01, 0.05
#: Beyond this, protobuf cannot write a message.
LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Export:
    """What was exported, how, and how far it is from its original. `graph` is "built" (by hand) or "traced".

    `labels` are what a classifier answers, in the order of its outputs.
    """

    path: str
    source: str
    architecture: str
    weights: str
    graph: str
    size: int
    on: tuple[str, ...]
    limit: float
    labels: tuple[str, ...]
    comparison: Comparison

    @property
    def nameless(self) -> bool:
        """Whether it answers LABEL_0 and the like, so that whoever asks it must say what that means: --label-map."""
        return any(map(NAMELESS.fullmatch, self.labels))


def export(
    path: str,
    out: str | Path,
    *,
    weights: str = "int8",
    on: Sequence[str] = ("everyday",),
    limit: float | None = None,
    revision: str = "",
    task: str = "",
    columns: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    skip_bad: bool = False,
    label_map: Mapping[str, str] | None = None,
) -> Export:
    """Write a classifier or masked-LM of transformers as a folder that `onnx:FOLDER` loads, or nothing at all.

    `path` is a folder or a hub name (of a certain `revision`). `weights` says how tables are stored: int8, fp16 or
    fp32; computed with is always fp32. Both models are asked about the data `on`, and where more than `limit` of the
    labels differ (0.01 unless told), or of a masked-LM's best words (0.05), the export is refused. `label_map` says
    what the model's labels mean in the data; labels that nobody named (LABEL_0) are called that from now on.
    """
    out = Path(out)
    _refuse_settings(weights, limit)
    refuse_taken(out)
    onnx()  # before the data is read and the model loaded
    source = Source(tuple(on), task, columns or {}, labels or {}, skip_bad)
    rows = list(source)
    if rejected := source.intake.rejected:
        warnings.warn(f"left out {len(rejected)} rows, the first: {rejected[0]['reason']}", stacklevel=2)
    original = open_original(path, revision)
    named = _names(original, label_map or {})
    allowed = (WORDS_LIMIT if original.is_masked_lm else LABELS_LIMIT) if limit is None else limit
    with whole(out) as draft:
        graph = _write(original, draft, weights, named)
        found = _compare(original, draft, source, rows, label_map or {})
        size = (draft / "model.onnx").stat().st_size
        signatures = tuple(bound.signature for bound in source.bound)
        how = (original.folder.identity, original.architecture, weights, graph, size, signatures, allowed, named)
        made = Export(str(out), *how, found)
        _enforce(made, original)
        write_json(draft / RECORD, record(made))
    return made


def record(made: Export) -> dict[str, Any]:
    """What export.json says: all but the place."""
    table = {"otherwords": __version__, **asdict(made)}
    del table["path"]
    return table


def _refuse_settings(weights: str, limit: float | None) -> None:
    if weights not in WEIGHTS:
        raise BadInput(f"found {weights!r}", where="export", field="weights", fix=f"give one of {', '.join(WEIGHTS)}")
    if limit is not None and not 0 <= limit <= 1:
        raise BadInput(f"found {limit}", where="export", field="limit", fix="give a share from 0 to 1, as in 0.01")


def _names(original: Original, label_map: Mapping[str, str]) -> tuple[str, ...]:
    """The labels as they will be called, after a look at whose meanings are told."""
    known = {} if original.is_masked_lm else {label_key(name) for name in original.labels}
    if strangers := [name for name in label_map if label_key(name) not in known]:
        has = f"it answers {', '.join(original.labels)}" if known else "it is a masked-LM, and has no labels"
        message = f"the model does not answer {', '.join(strangers)}"
        raise BadInput(message, where=original.folder.who, field="label_map", fix=has)
    return original.named(label_map)


def _write(original: Original, draft: Path, weights: str, labels: tuple[str, ...]) -> str:
    """Write the graph and what belongs to it, and say how the graph was made."""
    network, which = families.read(original.model), "masked_lm" if original.is_masked_lm else "classifier"
    if network is not None:
        model = getattr(building, which)(network, types=original.types)
    else:
        model = getattr(tracing, which)(original.model, types=original.types, who=original.folder.who)
    store(model, weights)
    if model.ByteSize() > LARGEST:
        message = f"would take {model.ByteSize() / 1e9:.1f} GB as {weights}, and an ONNX file holds 2"
        raise BadInput(message, where=original.folder.who, field="weights", fix="store them as fp16 or int8")
    (draft / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    write_beside(original, draft, labels)
    return "traced" if network is None else "built"


def _compare(
    original: Original, draft: Path, source: Source, rows: list[dict[str, Any]], label_map: Mapping[str, str]
) -> Comparison:
    fields = source.chosen.fields
    if original.is_masked_lm:
        texts = list(dict.fromkeys(row[name] for row in rows for name in fields if row[name]))
        return compare_words(original, draft / "model.onnx", texts)
    from ..models.onnx import onnx as load

    batch = Batch(source.chosen, {name: [row[name] for row in rows] for name in fields})
    exported = load(draft, max_length=original.max_length)
    return compare_labels(original, exported, batch, [row["label"] for row in rows], label_map)


def _enforce(made: Export, original: Original) -> None:
    """Refuse an export whose answers are not those of its original, or not the same in every order."""
    found = made.comparison
    what = "masked words have another best word" if original.is_masked_lm else "labels differ from the original's"
    compared = (found.differing, found.rows, what)
    shuffled = (found.order_changes, found.reordered, "answers change with the order")
    for count, rows, told in (compared, shuffled):
        if count > made.limit * rows:
            fix = "; store the weights as fp16 or fp32, or allow more with --limit" if made.weights == "int8" else ""
            said = f"{count:,} of {rows:,} {told} ({count / rows:.2%}, allowed {made.limit:.2%})"
            raise GateFailed(f"{original.folder.who}: not exported: {said}{fix}")
