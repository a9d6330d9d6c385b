"""Export a trained model as one small ONNX file that needs no torch, and compare it with the original first."""

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
from ..datasets.source import Source, files_of
from ..errors import BadInput, GateFailed
from ..inference import families
from ..problem import Batch, label_key
from ..storage.files import disk_errors, refuse_overwriting, write_json
from . import graphs
from .comparing import Comparison, compare_labels, compare_words
from .graphs import onnx
from .original import NAMELESS, OriginalModel, open_original, write_config
from .storing import WEIGHTS, store

#: The file that marks a folder as an export.
RECORD = "export.json"
#: By default an export is refused above this share of changed labels, or best words. The best words of a masked-LM are
#: often close to one another.
LABELS_LIMIT, WORDS_LIMIT = 0.01, 0.05
#: The largest message that protobuf can write.
LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Export:
    """What was exported, how, and how far it is from its original. `graph` is "built" (by hand) or "traced".

    `labels` are those of a classifier, in the order of its outputs.
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
        """Whether it answers LABEL_0 and the like, so that its users need --label-map."""
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
    """Write a classifier or masked-LM of transformers as a folder that `onnx:FOLDER` loads; a failure writes nothing.

    `path` is a folder or a hub name (at a `revision`). `weights` says how tables are stored: int8, fp16 or fp32;
    arithmetic is always fp32. Both models answer the data `on`, and the export is refused where more than `limit` of
    the labels differ (default 0.01), or of a masked-LM's best words (0.05). `label_map` says what the model's labels
    mean in the data; labels without a name (LABEL_0) get their name from it.
    """
    out = Path(out)
    _refuse_settings(weights, limit)
    refuse_overwriting(out, path, *files_of(on))
    refuse_occupied(out)
    onnx()  # before the data is read and the model loaded
    source = Source(tuple(on), task, columns or {}, labels or {}, skip_bad, gold="all")
    rows = list(source)
    if rejected := source.intake.rejected:
        warnings.warn(f"left out {len(rejected)} rows, the first: {rejected[0]['reason']}", stacklevel=2)
    original = open_original(path, revision)
    names = _label_names(original, label_map or {})
    allowed = (WORDS_LIMIT if original.is_masked_lm else LABELS_LIMIT) if limit is None else limit
    with whole_folder(out) as draft:
        graph = _write(original, draft, weights, names)
        comparison = _compare(original, draft, source, rows, label_map or {})
        size = (draft / "model.onnx").stat().st_size
        signatures = tuple(bound.signature for bound in source.bound)
        how = (original.folder.identity, original.architecture, weights, graph, size, signatures, allowed, names)
        result = Export(str(out), *how, comparison)
        _enforce_limit(result, original)
        write_json(draft / RECORD, record(result))
    return result


def record(result: Export) -> dict[str, Any]:
    """The content of export.json: all but the path."""
    table = {"otherwords": __version__, **asdict(result)}
    del table["path"]
    return table


def _refuse_settings(weights: str, limit: float | None) -> None:
    if weights not in WEIGHTS:
        raise BadInput(f"found {weights!r}", where="export", field="weights", fix=f"give one of {', '.join(WEIGHTS)}")
    if limit is not None and not 0 <= limit <= 1:
        raise BadInput(f"found {limit}", where="export", field="limit", fix="give a share from 0 to 1, as in 0.01")


def _label_names(original: OriginalModel, label_map: Mapping[str, str]) -> tuple[str, ...]:
    """The labels of the exported model; a label map with other labels than the model has is an error."""
    known = {} if original.is_masked_lm else {label_key(name) for name in original.labels}
    if unknown := [name for name in label_map if label_key(name) not in known]:
        fix = f"its labels are {', '.join(original.labels)}" if known else "a masked-LM has no labels"
        message = f"the model has no label {', '.join(unknown)}"
        raise BadInput(message, where=original.folder.who, field="label_map", fix=fix)
    return original.named(label_map)


def _write(original: OriginalModel, draft: Path, weights: str, labels: tuple[str, ...]) -> str:
    """Write the graph, the tokenizer and the configuration; return how the graph was made."""
    network, which = families.read(original.model), "masked_lm" if original.is_masked_lm else "classifier"
    if network is not None:
        model = getattr(graphs, which)(network, types=original.types)
    else:
        model = getattr(graphs, f"traced_{which}")(original.model, types=original.types, who=original.folder.who)
    store(model, weights)
    if model.ByteSize() > LARGEST:
        message = f"would take {model.ByteSize() / 1e9:.1f} GB as {weights}, more than the 2 GB of an ONNX file"
        raise BadInput(message, where=original.folder.who, field="weights", fix="store them as fp16 or int8")
    (draft / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    write_config(original, draft, labels)
    return "traced" if network is None else "built"


def _compare(
    original: OriginalModel, draft: Path, source: Source, rows: list[dict[str, Any]], label_map: Mapping[str, str]
) -> Comparison:
    fields = source.chosen.fields
    if original.is_masked_lm:
        texts = list(dict.fromkeys(row[name] for row in rows for name in fields if row[name]))
        return compare_words(original, draft / "model.onnx", texts)
    from ..models.onnx import onnx as load

    batch = Batch(source.chosen, {name: [row[name] for row in rows] for name in fields})
    exported = load(draft, max_length=original.max_length)
    return compare_labels(original, exported, batch, [row["label"] for row in rows], label_map)


def _enforce_limit(result: Export, original: OriginalModel) -> None:
    """Refuse an export whose answers differ from the original's, or change with the order of the rows."""
    found = result.comparison
    what = "masked words have another best word" if original.is_masked_lm else "labels differ from the original's"
    compared = (found.differing, found.rows, what)
    shuffled = (found.order_changes, found.reordered, "answers change with the order")
    for count, rows, problem in (compared, shuffled):
        if count > result.limit * rows:
            fix = "; store the weights as fp16 or fp32, or allow more with --limit" if result.weights == "int8" else ""
            measured = f"{count:,} of {rows:,} {problem} ({count / rows:.2%}, allowed {result.limit:.2%})"
            raise GateFailed(f"{original.folder.who}: not exported: {measured}{fix}")


# The output folder, written as a whole or not at all


def refuse_occupied(out: Path) -> None:
    """Refuse a folder that holds something else than an earlier export, which may be replaced."""
    if out.exists() and not out.is_dir():
        raise BadInput("is a file, not a folder", where=str(out), fix="choose another folder with -o")
    if out.is_dir() and any(out.iterdir()) and not (out / RECORD).is_file():
        message = f"exists and is not an export ({RECORD} is missing)"
        raise BadInput(message, where=str(out), fix="choose another folder with -o, or remove it")


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """Give an empty folder; move it to `out` when the block succeeds, remove it when it fails.

    Other files in `out` (a card, a licence) are copied to the new folder.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".part", dir=out.parent))
    try:
        with disk_errors(out):
            yield draft
            _carry_over(out, draft)
        for file in draft.rglob("*"):
            _flush(file)
        draft.chmod(0o755)
        _swap(draft, out)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _carry_over(out: Path, draft: Path) -> None:
    """Copy the files of `out` that were not written again. Copied, not moved: a failure changes nothing there."""
    if not out.exists():
        return
    for kept in out.iterdir():
        if (draft / kept.name).exists():
            continue
        if kept.is_dir() and not kept.is_symlink():
            shutil.copytree(kept, draft / kept.name, symlinks=True)
        else:
            shutil.copy2(kept, draft / kept.name, follow_symlinks=False)


def _flush(file: Path) -> None:
    if file.is_symlink() or not file.is_file():
        return
    mode = "r+b" if os.access(file, os.W_OK) else "rb"  # Windows syncs only what is open for writing
    with file.open(mode) as written:
        os.fsync(written.fileno())


def _swap(draft: Path, out: Path) -> None:
    """Replace `out` by the draft; between the two moves neither exists."""
    if not out.exists():
        draft.rename(out)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".part", dir=out.parent))
    out.rename(old / out.name)
    draft.rename(out)
    shutil.rmtree(old, ignore_errors=True)
