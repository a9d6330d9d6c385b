"""An exported masked-LM beside its original: the same texts, each with one token masked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..inference.onnx_files import TOKENS, load_graph
from ..inference.scheduling import Scheduler
from ..inference.tokens import Rows, Tokens
from ..storage.files import seed_for
from .building import ASKED
from .comparing import Comparison, in_pieces, order_changes, reference
from .original import Original


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
    def read(logits: Any, rows: Rows) -> tuple[Any, Any]:
        every = np.arange(len(rows))
        logp = logits[every, rows.at].log_softmax(dim=-1)
        return logp.argmax(dim=-1).double().numpy(), logp[every, rows.own].numpy()

    return reference(original, _tokens, read)


def _exported(file: Path) -> Scheduler:
    graph = load_graph(file, more=tuple(ASKED))

    def start(rows: Rows) -> Any:
        return graph.start(["top_ids", "own_logp"], rows, at=rows.at, own=rows.own, k=np.ones(1, np.int64))

    def wait(started: Any) -> tuple[Any, Any]:
        best, own = graph.wait(started)
        return best[:, 0].astype(np.float64), own.astype(np.float64)

    return Scheduler(_tokens, start, wait, TOKENS, exact=True, in_flight=graph.in_flight)
