"""A sentence encoder as other parts see it: texts go in, vectors of unit length come out, and cosines of pairs."""

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


def load(spec: str) -> Encoder:
    """Make an encoder ready: `hf:NAME`."""
    bound = encoders.make(spec)
    return replace(bound.function, signature=bound.signature)  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Encoder:
    """Turns texts into vectors.

    The one array of `scheduler` has a vector for each text, of any length. `batch_invariant` says whether no vector
    depends on the others' company, to the bit. `reads` says of texts whether the tokenizer makes anything of each;
    without it, whether they are more than blanks.
    """

    scheduler: Scheduler
    identity: str = ""
    batch_invariant: bool = True
    signature: str = ""
    reads: Callable[[Sequence[str]], Sequence[bool]] | None = None

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """A row of unit length for each text; the same text is read once. Warns of those that it cuts."""
        _refuse_empty(texts)
        distinct = list(dict.fromkeys(texts))
        (found,), cut = self.scheduler(distinct)
        self._warn_truncated(int(cut.sum()), len(distinct))
        lengths = np.linalg.norm(found.astype(np.float64), axis=1, keepdims=True)
        if not (np.isfinite(lengths) & (lengths > 0)).all():
            row = int(np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0)))[0])
            raise WrongAnswer(f"{self.signature or 'the encoder'} has no direction for {shorten(distinct[row])}")
        unit: Vectors = (found / lengths).astype(np.float32)
        place = {text: row for row, text in enumerate(distinct)}
        return unit[[place[text] for text in texts]]

    def legible(self, texts: Sequence[str]) -> list[bool]:
        """Whether there is anything to encode in each text; a lone accent, for one, is lost on many tokenizers."""
        return list(self.reads(texts)) if self.reads else [bool(text.strip()) for text in texts]

    def too_long(self, texts: Sequence[str]) -> list[bool]:
        """Whether each text is longer than the encoder reads, so that its vector would be that of its beginning."""
        return [bool(one) for one in self.scheduler.encode(texts).cut] if len(texts) else []

    def cosines(self, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.float64]:
        """The cosine of both texts of each pair: 1 where they point the same way, 0 where they have nothing in common.

        Each is summed by itself, so that it does not depend on how many there are.
        """
        if not pairs:
            return np.empty(0)
        vectors = self([text for pair in pairs for text in pair]).astype(np.float64)
        sums: npt.NDArray[np.float64] = (vectors[::2] * vectors[1::2]).sum(axis=1)
        return np.clip(sums, -1, 1)

    def _warn_truncated(self, cut: int, count: int) -> None:
        if cut:
            found = f"{cut:,} of {count:,} texts are longer than it reads, and were cut"
            warnings.warn(
                f"{self.signature or 'the encoder'}: {found}; the option max_length changes that", stacklevel=3
            )


def _refuse_empty(texts: Sequence[str]) -> None:
    if not len(texts):
        raise BadInput("there is no text to encode", fix="give one or more")
    for row, text in enumerate(texts):
        if not text.strip():
            raise BadInput(f"text {row} is empty", fix="leave out what has no words: it points nowhere")
