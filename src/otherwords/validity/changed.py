"""The changed fields of variants beside the original's, for checks that compare two texts with a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..problem import Bucket, Problem, Variant

#: The text of the original, and that of the variant.
Pair = tuple[str, str]
#: A value for each pair, or why there is none.
Compare = Callable[[Sequence[Pair]], Sequence[float | str]]
#: Why there is none where the model makes nothing of a text.
EMPTY = "empty text"


def compared(buckets: Sequence[Bucket], compare: Compare, same: float) -> Iterator[float | str]:
    """The smallest value of `compare` over the changed fields of every variant, in order.

    A variant that changed nothing has the value `same`; one that left a field empty, or filled one, has none, as where
    `compare` has none for a field: instead, it is told why. All pairs are compared at once, and each distinct one once,
    because models are fast in company.
    """
    pairs = [changed_fields(bucket.problem, variant) for bucket in buckets for variant in bucket.variants]
    distinct = list(dict.fromkeys(pair for some in pairs for pair in some.values() if has_texts(pair)))
    found = dict(zip(distinct, compare(distinct), strict=True)) if distinct else {}
    for some in pairs:
        values = [found.get(pair, EMPTY) for pair in some.values()]
        why = [value for value in values if isinstance(value, str)]
        yield why[0] if why else min((value for value in values if not isinstance(value, str)), default=same)


def changed_fields(problem: Problem, variant: Variant, only: str = "") -> dict[str, Pair]:
    """The fields that a variant words otherwise: each as it was, and as it is; of one field, if `only` names it.

    White space does not make a text another text. A field that is not there is an empty one.

    >>> from otherwords.problem import TASKS
    >>> one = Problem("p", TASKS["nli"], {"premise": "It rains.", "hypothesis": "It is wet."}, "entailment")
    >>> changed_fields(one, one.restate(premise="It  rains.", hypothesis="Wet it is."))
    {'hypothesis': ('It is wet.', 'Wet it is.')}
    """
    names = [only] if only else problem.task.fields
    texts = {name: (problem.text[name] or "", variant.text[name] or "") for name in names}
    return {name: (old, new) for name, (old, new) in texts.items() if old.split() != new.split()}


def has_texts(pair: Pair) -> bool:
    """Whether there is anything to read on both sides."""
    return all(map(has_text, pair))


def has_text(text: str) -> bool:
    """Whether there is anything to read: neither blanks nor invisible marks alone.

    >>> has_text("No."), has_text(" \\u200b")
    (True, False)
    """
    return any(sign.isprintable() and not sign.isspace() for sign in text)
