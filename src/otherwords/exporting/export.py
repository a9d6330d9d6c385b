"""Export a trained model as one small ONNX file that needs no torch, and compare it with the original first.

Weights are stored as int8 with scales, or as fp16; all arithmetic stays fp32. Only weight tables are rounded, never
activations, so an answer cannot depend on its neighbours in a batch, as it does under dynamic quantisation. The nodes
that make a table float again have constant inputs: onnxruntime computes them once, when it loads the graph.
"""

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._version import __version__
from ..datasets.source import Source, files_of
from ..errors import BadInput, GateFailed
from ..inference import families
from ..problem import Batch, label_key
from ..storage.files import disk_errors, refuse_overwriting, write_json
from . import graphs
from .comparing import (
    NAMELESS,
    Comparison,
    OriginalModel,
    compare_labels,
    compare_words,
    open_original,
    write_config,
)
from .graphs import Array, onnx

#: The file that marks a folder as an export.
RECORD = "export.json"
#: By default an export is refused above this share of changed labels, or best words. The best words of a masked-LM are
#: often close to one another.
LABELS_LIMIT, WORDS_LIMIT = 0.01, 0.05
#: The largest message that protobuf can write.
LARGEST = 2**31 - 1
#: How weights may be stored.
WEIGHTS = ("int8", "fp16", "fp32")
#: Tables with fewer numbers stay as they are, like biases and norms: there is little to save.
SMALL = 1024
#: Inputs of an output that share a scale. One for all of them makes the error of MiniLM-L6's logits a third larger,
#: and the file smaller by a thirtieth.
BLOCK = 64


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
    """Export a classifier or masked-LM of transformers to a folder that `onnx:FOLDER` loads; a failure writes nothing.

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


# Small weights


def store(model: Any, weights: str) -> None:
    """Change a model in place so that its tables are stored as int8 or fp16; fp32 changes nothing."""
    if weights not in WEIGHTS:
        raise BadInput(f"found {weights!r}", where="export", field="weights", fix=f"give one of {', '.join(WEIGHTS)}")
    if weights == "fp32":
        return
    graph, ahead = model.graph, []
    tables = {one.name: onnx().numpy_helper.to_array(one) for one in graph.initializer}
    tables = {name: a for name, a in tables.items() if a.dtype == np.float32 and a.ndim > 1 and a.size >= SMALL}
    if not all(np.isfinite(table).all() for table in tables.values()):
        fix = "train or save the model again"
        raise BadInput("the weights contain NaN or infinity", where="export", field="weights", fix=fix)
    for name, table in tables.items():
        users = [node for node in graph.node if name in node.input]
        small = _fp16(name, table) if weights == "fp16" else _int8(name, table, users)
        _replace(graph, name, small)
        ahead += _widen(graph, name, list(small), users)
    nodes = [*ahead, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)


def rounded(table: Array, over: int | tuple[int, ...]) -> tuple[Array, Array]:
    """Integers from -127 to 127, and least-squares scales, each shared along the axes `over`.

    >>> codes, scales = rounded(np.array([[0.5, -1.0], [0.0, 0.0]], np.float32), over=1)
    >>> codes.tolist(), (codes * scales).round(2).tolist()
    ([[64, -127], [0, 0]], [[0.5, -1.0], [0.0, 0.0]])
    """
    exact = table.astype(np.float64)
    widest = np.abs(exact).max(axis=over, keepdims=True)
    codes = np.rint(exact * (127 / np.where(widest > 0, widest, 1)))
    norm = np.maximum((codes * codes).sum(axis=over, keepdims=True), 1)
    scales = (exact * codes).sum(axis=over, keepdims=True) / norm  # the best for these codes
    return codes.astype(np.int8), scales.astype(np.float32)


def _fp16(name: str, table: Array) -> dict[str, Array]:
    if np.abs(table).max() > np.finfo(np.float16).max:
        message = f"a weight of {np.abs(table).max():.3g} is out of range for fp16"
        raise BadInput(message, where="export", field="weights", fix="store them as int8 or fp32")
    return {f"{name}.stored": table.astype(np.float16)}


def _int8(name: str, table: Array, users: list[Any]) -> dict[str, Array]:
    """Codes and scales, and the shape of the table where it is stored in blocks."""
    across = all(_is_product(node, name) and not _setting(node, "transB") for node in users)  # inputs x outputs
    if table.ndim == 2 and all(_is_product(node, name) for node in users):
        inputs, outputs = table.shape if across else table.shape[::-1]
        if inputs % BLOCK == 0:
            parts = (-1, BLOCK, outputs) if across else (outputs, -1, BLOCK)
            codes, scales = rounded(table.reshape(parts), over=1 if across else 2)
            shape = np.array(table.shape, np.int64)
            return {f"{name}.stored": codes, f"{name}.scale": scales, f"{name}.shape": shape}
    codes, scales = rounded(table, tuple(range(table.ndim - 1) if across else range(1, table.ndim)))
    return {f"{name}.stored": codes, f"{name}.scale": scales}


def _is_product(node: Any, name: str) -> bool:
    """Whether a node multiplies by a table; its columns are then the outputs, unless it is transposed."""
    return node.op_type in ("MatMul", "FusedMatMul", "Attention", "Gemm") and node.input[1] == name


def _replace(graph: Any, name: str, small: dict[str, Array]) -> None:
    (place,) = (i for i, one in enumerate(graph.initializer) if one.name == name)
    del graph.initializer[place]
    tensors = [onnx().numpy_helper.from_array(np.ascontiguousarray(array), new) for new, array in small.items()]
    graph.initializer.extend(tensors)


def _widen(graph: Any, name: str, small: list[str], users: list[Any]) -> list[Any]:
    """Nodes that make the whole table float at load; look-ups convert only the rows they take."""
    lookups = [
        node for node in users if node.op_type == "Gather" and not _setting(node, "axis") and node.input[0] == name
    ]
    for node in lookups:
        place = next(i for i, other in enumerate(graph.node) if other is node or other == node)
        del graph.node[place]
        for new in reversed(_looked_up(small, node.input[1], node.output[0])):
            graph.node.insert(place, new)
    return _widened(small, name) if len(lookups) < len(users) else []


def _looked_up(small: list[str], rows: str, out: str) -> list[Any]:
    make = onnx().helper.make_node
    taken = [make("Gather", [one, rows], [f"{out}.{part}"]) for part, one in zip(("taken", "by"), small, strict=False)]
    return [*taken, *_widened([node.output[0] for node in taken], out)]


def _widened(small: list[str], out: str) -> list[Any]:
    make, to = onnx().helper.make_node, onnx().TensorProto.FLOAT
    if len(small) == 1:
        return [make("Cast", small, [out], to=to)]
    wide, scaled = f"{out}.wide", out if len(small) == 2 else f"{out}.scaled"
    nodes = [make("Cast", small[:1], [wide], to=to), make("Mul", [wide, small[1]], [scaled])]
    return nodes if len(small) == 2 else [*nodes, make("Reshape", [scaled, small[2]], [out])]


def _setting(node: Any, name: str) -> int:
    return next((int(one.i) for one in node.attribute if one.name == name), 0)
