"""The changed fields of variants beside the original's, for checks that compare two texts with a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ..problem import Bucket, Problem, Variant

#: The text of the original, and that of the variant.
Pair = tuple[str, str]
Compare = Callable[[Sequence[Pair]], npt.NDArray[np.float64]]


def compared(buckets: Sequence[Bucket], compare: Compare, same: float) -> Iterator[float | None]:
    """The smallest value of `compare` over the changed fields of every variant, in order.

    A variant that changed nothing has the value `same`; one that left a field empty, or filled one, has None. All
    pairs are compared at once, and each distinct one once, because models are fast in company.
    """
    pairs = [changed_fields(bucket.problem, variant) for bucket in buckets for variant in bucket.variants]
    distinct = list(dict.fromkeys(pair for some in pairs for pair in some if all(map(has_text, pair))))
    found = dict(zip(distinct, compare(distinct).tolist(), strict=True)) if distinct else {}
    for some in pairs:
        yield min((found[pair] for pair in some), default=same) if all(pair in found for pair in some) else None


def changed_fields(problem: Problem, variant: Variant) -> list[Pair]:
    """The fields that a variant words otherwise: each as it was, and as it is.

    >>> from otherwords.problem import TASKS
    >>> one = Problem("p", TASKS["nli"], {"premise": "It rains.", "hypothesis": "It is wet."}, "entailment")
    >>> changed_fields(one, one.restate(hypothesis="Wet it is."))
    [('It is wet.', 'Wet it is.')]
    """
    return [(problem.text[name], text) for name, text in variant.text.items() if text != problem.text[name]]


def has_text(text: str) -> bool:
    """Whether there is anything to read: neither blanks nor invisible marks alone.

    >>> has_text("No."), has_text(" \\u200b")
    (True, False)
    """
    return any(sign.isprintable() and not sign.isspace() for sign in text)
