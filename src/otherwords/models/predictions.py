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

    `cut` is None where the model does not say, or did not when the answer was stored. The position after the last label
    is that of an answer that could not be read. `mass` is what the labels had of the probability, where it is known.
    """

    pred: int
    p: tuple[float, ...] | None
    cut: bool | None = None
    mass: float | None = None


@dataclass(frozen=True, eq=False)
class Predictions:
    """Answers, column by column: a label's position for each problem and, if the model gives them, probabilities.

    The position after the last label is that of answers that could not be read. `cut` is 1 for problems that were
    truncated, 0 for others, -1 where the model does not say, or None where it never does. Where only some answers have
    probabilities, as stored ones may, the rows of the others are NaN; `mass` is what the labels of a language model had
    of the probability, NaN where it is not known. What is `transient` is not stored.
    """

    pred: Ints
    p: Floats | None
    cut: npt.NDArray[np.int8] | None = None
    mass: Floats | None = None
    transient: npt.NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.pred)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Predictions) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[Cached]:
        """The answers one by one."""
        p = repeat(None) if self.p is None else (None if one[0] != one[0] else tuple(one) for one in self.p.tolist())
        cut = repeat(None) if self.cut is None else (None if one < 0 else bool(one) for one in self.cut.tolist())
        mass = repeat(None) if self.mass is None else (None if one != one else one for one in self.mass.tolist())
        return (Cached(*one) for one in zip(self.pred.tolist(), p, cut, mass, strict=False))

    def take(self, rows: Ints | slice) -> Predictions:
        """The answers with these numbers."""
        columns = (self.p, self.cut, self.mass, self.transient)
        return Predictions(self.pred[rows], *(None if one is None else one[rows] for one in columns))  # type: ignore[arg-type]

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
        mass = np.full(count, np.nan) if any(one.mass is not None for _, one in parts) else None
        transient = np.zeros(count, np.bool_) if any(one.transient is not None for _, one in parts) else None
        for rows, one in parts:
            pred[rows] = one.pred
            if one.cut is not None:
                cut[rows] = one.cut
            if one.p is not None and p is not None:
                p[rows] = one.p
            if one.mass is not None and mass is not None:
                mass[rows] = one.mass
            if one.transient is not None and transient is not None:
                transient[rows] = one.transient
        return cls(pred, p, cut, mass, transient)

    @classmethod
    def join(cls, parts: Sequence[Predictions]) -> Predictions:
        """All answers of the parts, one part after the other."""
        ends = [0, *accumulate(map(len, parts))]
        return cls.merge(ends[-1], [(np.arange(*pair), one) for pair, one in zip(pairwise(ends), parts, strict=True)])
