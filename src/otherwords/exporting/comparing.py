"""An exported masked-LM beside its original: the same texts, each with one token masked."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..inference.onnx_files import TOKENS, load_graph
from ..inference.scheduling import Scheduler
from ..inference.tokens import PaddedRows, Tokens
from ..models.model import Answerer, Floats, Model, Reply
from ..models.sequence_pairs import pairs, probabilities
from ..problem import TASKS, Batch
from ..progress import current
from ..storage.files import seed_for
from .graphs import ASKED
from .original import NAMELESS, Original

# MERGED from exporting.comparing: An exported classifier beside its original, in torch and single precision, on the same pairs.

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
    original: Original, encode: Callable[[Sequence[Any]], Tokens], read: Callable[[Any, PaddedRows], Any]
) -> Scheduler:
    """The original model on rows of one length at a time; `read` takes what is wanted out of its logits."""
    import torch

    def start(rows: PaddedRows) -> Any:
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


# MERGED from exporting.masked_words: An exported masked-LM beside its original: the same texts, each with one token masked.


@dataclass(frozen=True)
class Place:
    """A row of tokens, one of which is masked: at which place, and which token stood there."""

    ids: list[int]
    types: list[int] | None
    at: int
    own: int


def compare_words(original: Original, graph: Path, texts: Sequence[str]) -> Comparison:
    """Mask one token of every text, by its content, and ask both what stood there."""
    places = masked_places(original, texts)
    own = np.array([place.own for place in places])
    who = original.folder.who
    theirs = in_pieces(_of(places, _original(original)), len(places), "original", who)
    ask = _of(places, _exported(graph))
    ours = in_pieces(ask, len(places), "exported", who)
    gaps = np.abs(ours[:, 1] - theirs[:, 1])
    differing = int((ours[:, 0] != theirs[:, 0]).sum())
    right, original_right = (int((best[:, 0] == own).sum()) for best in (ours, theirs))
    reordered = order_changes(lambda some: ask(some)[:, 0], ours[:, 0])
    far = float(gaps.max()), float(gaps.mean())
    return Comparison(len(places), differing, *far, right, original_right, *reordered)


def masked_places(original: Original, texts: Sequence[str]) -> list[Place]:
    """One masked token for each text that has any; which, is decided by the text alone."""
    cut = {"truncation": True, "max_length": original.max_length, "verbose": False, "return_special_tokens_mask": True}
    encoded = original.tokenizer(list(texts), **cut)
    types = encoded["token_type_ids"] if original.types else [None] * len(texts)
    rows = zip(texts, encoded["input_ids"], types, encoded["special_tokens_mask"], strict=True)
    found = [_place(original, *row) for row in rows if not all(row[3])]
    if not found:
        raise BadInput("no text has a word to mask", fix="name data with texts")
    return found


def _place(original: Original, text: str, ids: list[int], types: list[int] | None, special: list[int]) -> Place:
    words = [i for i, mark in enumerate(special) if not mark]
    at = words[seed_for("masked", text) % len(words)]
    masked = [*ids[:at], original.tokenizer.mask_token_id, *ids[at + 1 :]]
    return Place(masked, types, at, ids[at])


def _of(places: list[Place], ask: Scheduler) -> Callable[[list[int]], npt.NDArray[Any]]:
    """The best token and the log-probability of its own, for places by number."""
    return lambda some: np.stack(ask([places[row] for row in some])[0], axis=1)


def _tokens(places: Sequence[Place]) -> Tokens:
    types = None if places[0].types is None else [place.types for place in places]
    at, own = [place.at for place in places], [place.own for place in places]
    return Tokens.of([place.ids for place in places], [False] * len(places), types=types, at=at, own=own)


def _original(original: Original) -> Scheduler:
    def read(logits: Any, rows: PaddedRows) -> tuple[Any, Any]:
        every = np.arange(len(rows))
        logp = logits[every, rows.at].log_softmax(dim=-1)
        return logp.argmax(dim=-1).double().numpy(), logp[every, rows.own].numpy()

    return reference(original, _tokens, read)


def _exported(file: Path) -> Scheduler:
    graph = load_graph(file, more=tuple(ASKED))

    def start(rows: PaddedRows) -> Any:
        return graph.start(["top_ids", "own_logp"], rows, at=rows.at, own=rows.own, k=np.ones(1, np.int64))

    def wait(started: Any) -> tuple[Any, Any]:
        best, own = graph.wait(started)
        return best[:, 0].astype(np.float64), own.astype(np.float64)

    return Scheduler(_tokens, start, wait, TOKENS, exact=True, in_flight=graph.in_flight)
