"""An exported classifier beside its original, in torch and single precision, on the same pairs."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..inference.scheduling import Scheduler
from ..inference.tokens import Rows, Tokens
from ..models.model import Answerer, Floats, Model, Reply
from ..models.sequence_pairs import pairs, probabilities
from ..problem import TASKS, Batch
from ..progress import current
from .original import NAMELESS, Original

#: So often so many of the rows are asked again, each time in another order and in pieces of another size.
PIECES = (7, 64, 31, 200, 2)
REORDERED = 1000
_BUDGET = 2048


@dataclass(frozen=True)
class Comparison:
    """How far the exported file is from its original on `rows` pairs, or masked words.

    `differing` counts other labels (or best words), `order_changes` those that the exported file gave otherwise in
    another order. Differences are between probabilities (for masked words, log-probabilities of what stood there).
    `right` and `original_right` are None where the labels are not those of the data.
    """

    rows: int
    differing: int
    max_difference: float
    mean_difference: float
    right: int | None
    original_right: int | None
    order_changes: int
    reordered: int
    shuffles: int = len(PIECES)

    @property
    def rate(self) -> float:
        """The share of rows whose answer differs."""
        return self.differing / self.rows


def compare_labels(
    original: Original, exported: Model, batch: Batch, gold: Sequence[str], label_map: Mapping[str, str]
) -> Comparison:
    """Ask both the same pairs; `label_map` says what the model's labels mean in the data."""

    def ask(rows: list[int]) -> Floats:
        raw = exported(_taken(batch, rows))
        return np.asarray(raw.answers if isinstance(raw, Reply) else raw)

    who = original.folder.who
    theirs = in_pieces(_asking(original, pairs(batch)), len(batch), "original", who)
    ours = in_pieces(ask, len(batch), "exported", who)
    mine, reference_labels = ours.argmax(axis=1), theirs.argmax(axis=1)
    names = _meanings(Answerer(who, "", exported, batch.task, label_map))
    gaps = np.abs(ours - theirs)
    return Comparison(
        len(batch),
        int((mine != reference_labels).sum()),
        float(gaps.max()),
        float(gaps.mean()),
        _right(mine, names, gold),
        _right(reference_labels, names, gold),
        *order_changes(lambda rows: ask(rows).argmax(axis=1), mine),
    )


def in_pieces(ask: Callable[[list[int]], Any], count: int, stage: str, who: str, size: int = 256) -> npt.NDArray[Any]:
    """Ask "original" or "exported" about rows by number, piece by piece; what is no finite number is refused."""
    current().start(stage, count)
    found = []
    for start in range(0, count, size):
        some = list(range(start, min(start + size, count)))
        with np.errstate(invalid="ignore"):  # infinity less infinity; told below
            found.append(np.asarray(ask(some)))
        current().advance(len(some))
    current().done()
    made = np.concatenate(found)
    _refuse_no_numbers(made, stage, who)
    return made


def order_changes(ask: Callable[[list[int]], Any], first: npt.NDArray[Any]) -> tuple[int, int]:
    """How many rows get another answer than at first in any of several orders, and how many were asked again."""
    chosen = random.Random(0).sample(range(len(first)), min(len(first), REORDERED))
    changed = np.zeros(len(first), np.bool_)
    current().start("reordered", len(chosen) * len(PIECES))
    for seed, size in enumerate(PIECES):
        order = random.Random(seed).sample(chosen, len(chosen))
        for start in range(0, len(order), size):
            some = order[start : start + size]
            changed[some] |= np.asarray(ask(some)) != first[some]
            current().advance(len(some))
    current().done()
    return int(changed.sum()), len(chosen)


def reference(
    original: Original, encode: Callable[[Sequence[Any]], Tokens], read: Callable[[Any, Rows], Any]
) -> Scheduler:
    """The original model on rows of one length at a time; `read` takes what is wanted out of its logits."""
    import torch

    def start(rows: Rows) -> Any:
        given = {"input_ids": rows.ids, "token_type_ids": rows.types}
        with torch.inference_mode():
            tensors = {name: torch.from_numpy(ids) for name, ids in given.items() if ids is not None}
            return read(original.model(**tensors).logits.double(), rows)

    return Scheduler(encode, start, lambda made: made, _BUDGET, exact=True, in_flight=1)


#: What may help where a side gives no numbers.
_REMEDIES = {
    "original": "train or save it again: its weights or its arithmetic are broken",
    "exported": "store the weights as fp32",
}


def _refuse_no_numbers(found: npt.NDArray[Any], stage: str, who: str) -> None:
    wrong = int((~np.isfinite(found)).any(axis=1).sum())
    if wrong:
        side = "the original" if stage == "original" else "the exported file"
        message = f"not exported: {side} answers {wrong:,} of {len(found):,} rows with NaN or infinity"
        raise BadInput(message, where=who, fix=_REMEDIES[stage])


def _asking(original: Original, texts: list[tuple[str, str]]) -> Callable[[list[int]], Floats]:
    def encode(some: Sequence[Any]) -> Tokens:
        firsts, seconds = map(list, zip(*some, strict=True))
        cut = {"truncation": "longest_first", "max_length": original.max_length, "verbose": False}
        encoded = original.tokenizer(firsts, seconds, **cut)
        types = encoded["token_type_ids"] if original.types else None
        return Tokens.of(encoded["input_ids"], [False] * len(firsts), types=types)

    ask = reference(original, encode, lambda logits, rows: (logits.numpy(),))
    return lambda some: probabilities(ask([texts[row] for row in some])[0][0], original.labels, original.folder.who)


def _meanings(asked: Answerer) -> tuple[str, ...] | None:
    """What each label stands for in the data, or None, with a word about it; a map that does not fit is an error."""
    try:
        return asked.targets
    except BadInput as error:
        if asked.label_map:
            raise
        message = f"accuracy is not measured: {error.message}; {_advice(asked, error.fix)}"
        warnings.warn(message, UserWarning, stacklevel=2)
        return None


def _advice(asked: Answerer, fix: str) -> str:
    """What would let accuracy be measured; with fewer labels than the data has, no map of them does."""
    if any(map(NAMELESS.fullmatch, asked.model.labels)):
        return f"{fix} (otherwise the exported file, too, is only used with --label-map)"
    count, task = len(asked.model.labels), asked.task
    fitting = [one.name for one in TASKS.values() if (one.fields, len(one.labels)) == (task.fields, count)]
    if count < len(task.labels) and fitting:
        return f"compare it on data with {count} labels, as in --task {fitting[0]}, and {fix}"
    return fix


def _right(labels: npt.NDArray[Any], names: tuple[str, ...] | None, gold: Sequence[str]) -> int | None:
    return None if names is None else sum(names[label] == one for label, one in zip(labels, gold, strict=True))


def _taken(batch: Batch, rows: list[int]) -> Batch:
    return Batch(batch.task, {name: [texts[row] for row in rows] for name, texts in batch.columns.items()})
