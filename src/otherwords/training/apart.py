"""Keep what a model is tested on apart from what it learns: by text, whatever its case and spacing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TypeVar

from ..errors import BadInput
from ..storage.files import digest

T = TypeVar("T")


def squeezed(text: str) -> str:
    r"""A text as texts are compared here.

    >>> squeezed("  A man\tSLEEPS. ")
    'a man sleeps.'
    """
    return " ".join(text.casefold().split())


def shares(texts: Iterable[str], others: set[str]) -> bool:
    """Whether any of some texts is among `others`, which are squeezed.

    >>> shares(["It rains.", "It is  WET."], {"it is wet."})
    True
    """
    return any(squeezed(text) in others for text in texts)


def split(rows: Sequence[T], keys: Sequence[str], share: float, seed: int) -> tuple[list[T], list[T]]:
    """Part rows in two, those with the same key on one side; the second gets about `share` of them.

    The order of the rows does not matter.

    >>> rows = ["A1", "A2", "B1", "B2", "B3", "C1"]
    >>> split(rows, [row[0] for row in rows], share=0.3, seed=1)
    (['B1', 'B2', 'B3'], ['A1', 'A2', 'C1'])
    """
    if not 0 < share < 1:
        raise BadInput(f"found {share}", field="valid", fix="give a share between 0 and 1, or data sets")
    ranks = [digest(seed, squeezed(key)) for key in keys]
    chosen: set[str] = set()
    count, wanted = 0, max(1, round(share * len(rows)))
    for rank, same in groupby(sorted(ranks)):
        if count >= wanted:
            break
        chosen.add(rank)
        count += len(list(same))
    first = [row for row, rank in zip(rows, ranks, strict=True) if rank not in chosen]
    second = [row for row, rank in zip(rows, ranks, strict=True) if rank in chosen]
    if not first:
        raise BadInput("nothing is left to train on", field="valid", fix="give more data, or data sets to validate on")
    return first, second
