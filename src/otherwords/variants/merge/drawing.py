"""Some of the variants that a problem could have, drawn by its seed, once or several times over."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from ...storage.files import seed_for

One = TypeVar("One")


def drawn(pool: Sequence[One], n: int, subsamples: int, seed: int, about: str) -> list[tuple[One, tuple[int, ...]]]:
    """What is in any of several draws of `n` each, in the order of the pool, and in which draws it is, from 1.

    `n` of 0 takes all. `about` names what is drawn from, so that two pools of a problem are drawn from apart.

    >>> drawn(["a", "b", "c"], 2, 2, seed=1, about="noun")
    [('a', (1,)), ('b', (1, 2)), ('c', (2,))]
    """
    size = min(n, len(pool)) if n else len(pool)
    told: dict[int, list[int]] = {}
    for number in range(1, subsamples + 1):
        for place in Random(seed_for(seed, about, str(number))).sample(range(len(pool)), size):
            told.setdefault(place, []).append(number)
    return [(pool[place], tuple(told[place])) for place in sorted(told)]
