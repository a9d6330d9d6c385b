"""Answers in columns, as models give them and the cache stores them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, repeat
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Cached(NamedTuple):
    """A stored answer: the label's position, the probabilities if the model has them, and whether the text was cut.

    `cut` is None where the model does not say, or did not when the answer was stored.
    """

    pred: int
    p: tuple[float, ...] | None
    cut: bool | None = None


@dataclass(frozen=True, eq=False)
class Predictions:
    """Answers, column by column: a label's position for each problem and, if the model gives them, probabilities.

    `cut` is 1 for problems that were truncated, 0 for others, -1 where the model does not say, or None where it never
    does. Where only some answers have probabilities, as stored ones may, the rows of the others are NaN.
    """

    pred: Ints
    p: Floats | None
    cut: npt.NDArray[np.int8] | None = None

    def __len__(self) -> int:
        return len(self.pred)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Predictions) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[Cached]:
        """The answers one by one."""
        p = repeat(None) if self.p is None else (None if one[0] != one[0] else tuple(one) for one in self.p.tolist())
        cut = repeat(None) if self.cut is None else (None if one < 0 else bool(one) for one in self.cut.tolist())
        return (Cached(*one) for one in zip(self.pred.tolist(), p, cut, strict=False))

    def take(self, rows: Ints | slice) -> Predictions:
        """The answers with these numbers."""
        p = None if self.p is None else self.p[rows]
        return Predictions(self.pred[rows], p, None if self.cut is None else self.cut[rows])

    @property
    def has_p(self) -> npt.NDArray[np.bool_]:
        """Which answers have probabilities."""
        return np.zeros(len(self), np.bool_) if self.p is None else ~np.isnan(self.p[:, 0])

    @classmethod
    def merge(cls, count: int, parts: Sequence[tuple[Ints, Predictions]]) -> Predictions:
        """So many answers, from parts of which each says which answers it has."""
        pred, cut = np.zeros(count, np.int64), np.full(count, -1, np.int8)
        widths = [one.p.shape[1] for _, one in parts if one.p is not None]
        p = np.full((count, widths[0]), np.nan) if widths else None
        for rows, one in parts:
            pred[rows] = one.pred
            if one.cut is not None:
                cut[rows] = one.cut
            if one.p is not None and p is not None:
                p[rows] = one.p
        return cls(pred, p, cut)

    @classmethod
    def join(cls, parts: Sequence[Predictions]) -> Predictions:
        """All answers of the parts, one part after the other."""
        ends = [0, *accumulate(map(len, parts))]
        return cls.merge(ends[-1], [(np.arange(*pair), one) for pair, one in zip(pairwise(ends), parts, strict=True)])
