"""The interface of sentence encoders: texts go in, vectors of unit length come out, and cosines of pairs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, WrongAnswer, shorten
from ..inference.scheduling import Scheduler
from ..registry import encoders

Vectors = npt.NDArray[np.float32]


def load(spec: str) -> SentenceEncoder:
    """Make an encoder ready: `hf:NAME`."""
    bound = encoders.make(spec)
    return replace(bound.function, signature=bound.signature)  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class PairRegressor:
    """Rates pairs of texts: the one array of `scheduler` has a number for each pair."""

    scheduler: Scheduler
    identity: str

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """A number for each pair."""
        if not pairs:
            return []
        (values,), cut = self.scheduler(pairs)
        if count := int(cut.sum()):
            message = f"{self.identity}: {count:,} of {len(pairs):,} pairs exceed its maximum length and were truncated"
            warnings.warn(f"{message}; raise it with the option max_length", stacklevel=3)
        if (bad := np.flatnonzero(~np.isfinite(values))).size:
            raise WrongAnswer(f"{self.identity} returned no number for {shorten(pairs[int(bad[0])])}")
        return [float(one) for one in values]


@dataclass(frozen=True, eq=False)
class SentenceEncoder:
    """Turns texts into vectors.

    The one array of `scheduler` has a vector for each text, of any norm. `batch_invariant` says whether no vector
    depends on the rest of the batch, to the bit. `reads` says of texts whether the tokenizer gives any tokens for each;
    without it, whether they are more than white space.
    """

    scheduler: Scheduler
    identity: str = ""
    batch_invariant: bool = True
    signature: str = ""
    reads: Callable[[Sequence[str]], Sequence[bool]] | None = None

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """A row of unit length for each text; equal texts are encoded once. Warns of those that are truncated."""
        _refuse_empty(texts)
        distinct = list(dict.fromkeys(texts))
        (vectors,), cut = self.scheduler(distinct)
        self._warn_truncated(int(cut.sum()), len(distinct))
        norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
        if (bad := np.flatnonzero(~(np.isfinite(norms) & (norms > 0)))).size:
            found = f"a vector of norm {float(norms[bad[0], 0]):g} for {shorten(distinct[int(bad[0])])}"
            raise WrongAnswer(f"{self.signature or 'the encoder'} returned {found}")
        unit: Vectors = (vectors / norms).astype(np.float32)
        place = {text: row for row, text in enumerate(distinct)}
        return unit[[place[text] for text in texts]]

    def legible(self, texts: Sequence[str]) -> list[bool]:
        """Whether there is anything to encode in each text; many tokenizers drop a lone accent, for example."""
        return list(self.reads(texts)) if self.reads else [bool(text.strip()) for text in texts]

    def too_long(self, texts: Sequence[str]) -> list[bool]:
        """Whether each text is longer than the encoder reads, so that it would be truncated."""
        return [bool(one) for one in self.scheduler.encode(texts).cut] if len(texts) else []

    def cosines(self, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.float64]:
        """The cosine of the two texts of each pair.

        Each is summed by itself, so that it does not depend on how many there are.
        """
        if not pairs:
            return np.empty(0)
        vectors = self([text for pair in pairs for text in pair]).astype(np.float64)
        sums: npt.NDArray[np.float64] = (vectors[::2] * vectors[1::2]).sum(axis=1)
        return np.clip(sums, -1, 1)

    def _warn_truncated(self, cut: int, count: int) -> None:
        if cut:
            name = self.signature or "the encoder"
            message = f"{name}: {cut:,} of {count:,} texts exceed its maximum length and were truncated"
            warnings.warn(f"{message}; raise it with the option max_length", stacklevel=3)


def _refuse_empty(texts: Sequence[str]) -> None:
    if not len(texts):
        raise BadInput("no texts to encode", fix="give at least one text")
    for row, text in enumerate(texts):
        if not text.strip():
            raise BadInput(f"text {row} is empty", fix="leave out texts without words")
