"""Embeddings of problems: from a file or an array, or computed by a trained classifier or a sentence encoder."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..errors import BadInput, setting
from ..language_models.encoder import load
from ..models.model import as_model
from ..problem import Batch, Task
from ..registry import models
from ..storage import tables
from .rows import Array

#: The columns of a table of embeddings, and the arrays of a .npz file.
ID, VECTOR = "id", "embedding"
_FORMS = f".npy (a row for each problem, in their order), .npz or .parquet with {ID} and {VECTOR}"


def embed(rows: pl.DataFrame, task: Task, embeddings: Any = None, model: str = "", encoder: str = "") -> Array:
    """A vector for each row: given, or computed by a trained classifier or a sentence encoder."""
    option = setting("--embeddings", "embeddings")
    given = [embeddings is not None, bool(model), bool(encoder)]
    if sum(given) != 1:
        found = "no embeddings" if not any(given) else "embeddings are given twice"
        fix = f"give {option}, {setting('--model', 'model')} or {setting('--encoder', 'encoder')}"
        raise BadInput(found, field=option, fix=fix)
    if model:
        vectors = first_tokens(rows, task, model)
    elif encoder:
        vectors = _encoded(rows, task, encoder)
    elif isinstance(embeddings, str | Path):
        vectors = read_embeddings(embeddings, rows["id"].to_list())
    else:
        vectors = _checked(np.asarray(embeddings), rows.height, "the embeddings")
    if not np.isfinite(vectors).all():
        name = rows["id"][int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])]
        raise BadInput(f"the embedding of {name!r} is not finite", field=option, fix="embed the problems again")
    return vectors


def read_embeddings(path: str | Path, ids: list[str]) -> Array:
    """Read embeddings from a file, for these ids.

    A .npy file has a row for each problem, in their order; a .npz file the arrays `id` and `embedding`, a Parquet (or
    JSONL) table such columns, in any order. Those of other problems are left out.
    """
    place = Path(path)
    if not place.is_file():
        raise BadInput("no such file", where=str(path), fix=f"give {_FORMS}")
    if place.suffix == ".npy":
        return _checked(_arrays(place), len(ids), str(path))
    if place.suffix == ".npz":
        arrays = _arrays(place)
        if missing := [name for name in (ID, VECTOR) if name not in arrays]:
            fix = f"save both: numpy.savez(FILE, {ID}=..., {VECTOR}=...); found {', '.join(arrays) or 'nothing'}"
            raise BadInput("no such array", where=str(path), field=missing[0], fix=fix)
        names, vectors = [str(one) for one in np.ravel(arrays[ID])], arrays[VECTOR]
    else:
        names, vectors = _from_table(place)
    known = {name: number for number, name in enumerate(names)}
    if len(known) < len(names):
        twice = next(name for number, name in enumerate(names) if known[name] != number)
        raise BadInput(f"{twice!r} has two embeddings", where=str(path), field=ID, fix="give one for each problem")
    if lacking := [name for name in ids if name not in known]:
        fix = f"embed all problems; the file has {len(known):,}, such as {', '.join(map(repr, names[:3]))}"
        raise BadInput(f"no embedding for {lacking[0]!r}; {len(lacking):,} are missing", where=str(path), fix=fix)
    return _checked(vectors, len(names), str(path))[[known[name] for name in ids]]


def _arrays(path: Path) -> Any:
    try:
        found = np.load(path, allow_pickle=False)
        return {name: found[name] for name in found.files} if path.suffix == ".npz" else found
    except (ValueError, OSError, EOFError, KeyError) as error:
        message = f"cannot be read as arrays of numbers: {str(error).splitlines()[0]}"
        raise BadInput(
            message, where=str(path), fix="save it with numpy.save or numpy.savez, without objects"
        ) from error


def _from_table(path: Path) -> tuple[list[str], Array]:
    table = tables.read(path, [ID])
    if missing := [name for name in (ID, VECTOR) if name not in table.columns]:
        fix = f"give {_FORMS}; found {', '.join(table.columns)}"
        raise BadInput("no such column", where=str(path), field=missing[0], fix=fix)
    if not isinstance(table[VECTOR].dtype, pl.List | pl.Array):
        raise BadInput("is not a list of numbers", where=str(path), field=VECTOR, fix=f"give {_FORMS}")
    lists = table[VECTOR].cast(pl.List(pl.Float64), strict=False)
    if lists.list.len().n_unique() != 1 or lists.null_count() or lists.explode().null_count():
        fix = "embed all problems alike"
        raise BadInput("the lists differ in length, or have gaps", where=str(path), field=VECTOR, fix=fix)
    return table[ID].cast(pl.String).to_list(), lists.explode().to_numpy().reshape(table.height, -1)


def _checked(vectors: Array, count: int, where: str) -> Array:
    """Refuse what is not a table of numbers with a row for each problem."""
    if vectors.ndim != 2 or vectors.shape[1] < 1 or vectors.dtype.kind not in "fiu":
        message = f"has the shape {'x'.join(map(str, vectors.shape)) or 'of one value'} of {vectors.dtype}"
        raise BadInput(message, where=where, fix="give a row of numbers for each problem")
    if len(vectors) != count:
        fix = "embed the same rows in the same order; without that order, give a .parquet or .npz file with ids"
        raise BadInput(f"has {len(vectors):,} rows for {count:,} problems", where=where, fix=fix)
    return vectors if vectors.dtype.kind == "f" else vectors.astype(np.float64)


def first_tokens(rows: pl.DataFrame, task: Task, model: str) -> Array:
    """What a trained classifier makes of each whole problem: the first token of its last layer (`Model.embed`).

    `model` is `hf:NAME`, or `trained:FOLDER` of one that `hf` answers for.
    """
    found = as_model(models.make(model, task=task).function)
    if found.embed is None:
        fix = "use one of hf: (or trained: of an encoder), or give embeddings in a file"
        raise BadInput("gives no embeddings", where=model, field=setting("--model", "model"), fix=fix)
    return found.embed(Batch(task, {name: rows[name].fill_null("").to_list() for name in task.fields}))


def _encoded(rows: pl.DataFrame, task: Task, encoder: str) -> Array:
    """The vector of all texts of each problem, one after the other."""
    texts = [" ".join(filter(None, row)) for row in rows.select(task.fields).rows()]
    return load(encoder)(texts)
