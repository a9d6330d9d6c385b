"""Further pairs made of the sentences of a data set, for teachers to label: most of them of sentences that are alike.

Two sentences drawn at random have nothing to do with each other, and any model says so; what a student can learn from
its teachers is where sentences share words. So most pairs are drawn among the nearest by TF-IDF.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..progress import current
from .apart import squeezed

#: Of all pairs: premise and hypothesis alike, two hypotheses alike, a row turned round; the rest at random.
_ALIKE, _HYPOTHESES, _TURNED = 0.6, 0.3, 0.05
#: How many of the nearest sentences a partner is drawn from.
_NEAREST = 40
#: A word in more of the texts than this share, and than so many, says little of what a text is about, and costs most.
_COMMON, _FEW = 0.1, 20
_PORTION = 1024

Pair = tuple[str, str]


def recombine(rows: Sequence[Pair], count: int, seed: int) -> list[Pair]:
    """Make `count` pairs of the sentences of `rows`: none twice, none of the rows', never a text with itself.

    >>> rows = [("A dog runs.", "An animal moves."), ("A dog sleeps.", "A dog is still."), ("It rains.", "It is wet.")]
    >>> len(recombine(rows, 3, seed=1))
    3
    """
    firsts, seconds = ({squeezed(row[side]): row[side] for row in rows} for side in (0, 1))
    made = _Made(rows)
    most = max(0, len(firsts) * len(seconds) - len(made.met) - len(firsts.keys() & seconds)) // 2
    if count > most:  # drawing the last ones at random would not end
        raise BadInput(f"found {count}", field="recombine", fix=f"these sentences allow for {most} at most")
    random = np.random.default_rng([seed, 7])
    ones, others = list(firsts.values()), list(seconds.values())
    made.take(_alike(ones, others, random), round(_ALIKE * count))
    made.take(_alike(others, others, random), round((_ALIKE + _HYPOTHESES) * count))
    made.take(_turned(rows, random), round((_ALIKE + _HYPOTHESES + _TURNED) * count))
    made.take(_any(ones, others, random), count)
    return [made.pairs[i] for i in random.permutation(count)]


class _Made:
    """The pairs so far, and those that must not be made: the data's own."""

    def __init__(self, rows: Iterable[Pair]):
        self.pairs: list[Pair] = []
        self.met = {(squeezed(first), squeezed(second)) for first, second in rows}

    def take(self, pairs: Iterable[Pair], until: int) -> None:
        for pair in pairs if len(self.pairs) < until else ():
            key = squeezed(pair[0]), squeezed(pair[1])
            if key in self.met or key[0] == key[1]:
                continue
            self.met.add(key)
            self.pairs.append(pair)
            if len(self.pairs) == until:
                return


def _turned(rows: Sequence[Pair], random: np.random.Generator) -> Iterator[Pair]:
    return ((rows[i][1], rows[i][0]) for i in random.permutation(len(rows)))


def _any(firsts: Sequence[str], seconds: Sequence[str], random: np.random.Generator) -> Iterator[Pair]:
    while True:
        for i, j in random.integers((len(firsts), len(seconds)), size=(4096, 2)):
            yield firsts[i], seconds[j]


def _alike(firsts: Sequence[str], seconds: Sequence[str], random: np.random.Generator) -> Iterator[Pair]:
    """Every first text with each of the nearest second ones, in an order at random."""
    left, right = _tf_idf([*firsts, *seconds], len(firsts))
    found = np.concatenate(list(_nearest(left, right)))
    for i, j in found[random.permutation(len(found))]:
        yield firsts[i], seconds[j]


def _tf_idf(texts: Sequence[str], cut: int) -> tuple[Any, Any]:
    """Rows of unit length, a column a word: its count times log(1 + texts / texts with the word)."""
    from scipy.sparse import csr_array

    counts = [Counter(re.findall(r"\w+", text.casefold())) for text in texts]
    spread = Counter(chain.from_iterable(counts))
    most = max(_FEW, _COMMON * len(texts))
    words = {word: i for i, word in enumerate(word for word in spread if spread[word] <= most)}
    cells = [(i, words[word], n) for i, row in enumerate(counts) for word, n in row.items() if word in words]
    at, column, times = (np.array(part) for part in zip(*cells, strict=True)) if cells else np.zeros((3, 0), np.int64)
    weight = times * np.log1p(len(texts) / np.array([spread[word] for word in words] or [1]))[column]
    norms = np.sqrt(np.bincount(at, weight**2, len(texts)))
    table = csr_array(((weight / norms[at]).astype(np.float32), (at, column)), (len(texts), max(1, len(words))))
    return table[:cut], table[cut:]


def _nearest(left: Any, right: Any) -> Iterator[npt.NDArray[np.int64]]:
    """Pairs (i, j) of rows: for every i the most similar js that have a word in common with it."""
    turned, width = right.T.tocsr(), right.shape[0]
    current().start("alike", left.shape[0])
    for start in range(0, left.shape[0], _PORTION):
        block = (left[start : start + _PORTION] @ turned).tocsr()
        # Whole numbers, all different: ties fall alike on every machine.
        keys = np.rint(block.data.astype(np.float64) * -1e6).astype(np.int64) * width + block.indices
        ends = zip(block.indptr[:-1], block.indptr[1:], strict=True)
        found = [np.sort(_least(keys[a:b])) % width for a, b in ends]
        rows = np.repeat(np.arange(len(found)) + start, [len(row) for row in found])
        yield np.stack([rows, np.concatenate(found)], axis=1)
        current().advance(len(found))
    current().done()


def _least(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return keys if len(keys) <= _NEAREST else np.partition(keys, _NEAREST)[:_NEAREST]
