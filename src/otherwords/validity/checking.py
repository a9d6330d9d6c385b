"""Names of checks decide their columns: no two of a call may share one, and verdicts from before are replaced aloud."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import polars as pl

from ..errors import BadInput
from ..problem import Bucket, Problem, Variant, Verdict
from ..registry import Bound

# MERGED from validity.changed: The changed fields of variants beside the original's, for checks that compare two texts with a model.

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


# MERGED from validity.long_texts: Texts longer than a judge or an encoder reads: what it did not see may say anything, and it cannot vouch for them.

_LONG = "longer than the"


def too_long(reader: str) -> str:
    """The reason of a drop.

    >>> too_long("judge")
    'longer than the judge reads'
    """
    return f"{_LONG} {reader} reads"


def warn_too_long(where: str, reader: str, verdicts: Sequence[Verdict]) -> None:
    """Warn, once for all these verdicts, of variants that could not be read to their end."""
    if count := sum(_LONG in verdict.reason for verdict in verdicts):
        found = f"{count:,} of {len(verdicts):,} variants have texts longer than {reader} reads, and do not pass"
        fix = "a larger max_length of it, where it has the option, changes that"
        warnings.warn(f"{where}: {found}: what was cut off may say anything; {fix}", stacklevel=3)


# MERGED from validity.replaced: Names of checks decide their columns: no two of a call may share one, and verdicts from before are replaced aloud.


def refuse_duplicate_names(judges: Iterable[Bound]) -> None:
    """Complain of two checks that would write one column.

    >>> from otherwords.registry import checks
    >>> refuse_duplicate_names([checks.make("overlap"), checks.make("strict=overlap(most=0.5)")])
    """
    twice = [name for name, count in Counter(one.name for one in judges).items() if count > 1]
    if twice:
        fix = f"name them apart, as in one={twice[0]}, two={twice[0]}(...): a name becomes the column check:<name>"
        raise BadInput(f"{twice[0]} is named twice", fix=fix)


def warn_replaced_verdicts(judges: Iterable[Bound], suites: Iterable[pl.DataFrame | pl.LazyFrame]) -> None:
    """Warn, once for each check, of verdicts that a suite brought along under its name. A suite may come in parts."""
    judges, parts = list(judges), [suite.lazy() for suite in suites]
    for column in [f"check:{one.name}" for one in judges]:
        if any(_judged(part, column) for part in parts):
            fix = "name the check apart to keep both, as in NAME=CHECK"
            warnings.warn(f"{column}: verdicts from before are replaced; {fix}", stacklevel=3)


def _judged(part: pl.LazyFrame, column: str) -> bool:
    if column not in part.collect_schema():
        return False
    return bool(part.select(pl.col(column).is_not_null().any()).collect().item())
