"""Which rows come when, and how fast the model may learn then: both follow from the seed and the number alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..inference.tokens import Ints

#: Rows of similar length share a batch: so many batches are filled from a shuffled pool sorted by length.
_POOL = 64


def batches(lengths: Ints, size: int, seed: int, epoch: int) -> Iterator[Ints]:
    """All rows once, in batches of similar length, in an order of each epoch's own.

    >>> rows = [batch.tolist() for batch in batches(np.array([3, 9, 3, 9, 3]), size=2, seed=1, epoch=0)]
    >>> sorted(sum(rows, [])), sorted(map(len, rows))
    ([0, 1, 2, 3, 4], [1, 2, 2])
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(lengths))
    pools = (order[i : i + size * _POOL] for i in range(0, len(order), size * _POOL))
    by_length = [pool[np.argsort(lengths[pool], kind="stable")] for pool in pools]
    found = [pool[i : i + size] for pool in by_length for i in range(0, len(pool), size)]
    yield from (found[i] for i in random.permutation(len(found)))


def slope(update: int, total: int, warmup: float) -> float:
    """Up to one during the warm-up, then straight down to zero.

    >>> [slope(update, total=10, warmup=0.2) for update in (0, 1, 2, 6)]
    [0.5, 1.0, 1.0, 0.5]
    """
    rise = round(total * warmup)
    if update < rise:
        return (update + 1) / rise
    return max(0.0, (total - update) / max(1, total - rise))
