"""Surface checks: a variant is not empty, unchanged or a repetition, in proportion, and shares not too many words.

PaRTE keeps a paraphrase only if it does not share too many words with its source (its section 3): `overlap`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import BadInput
from ..problem import Bucket, Problem, Verdict, changed_fields, normalize_spaces
from ..registry import checks
from ..words.distance import jaccard
from ..words.language import split_words
from .checking import has_text


@checks("surface.v1")
def surface(min_ratio: float = 0.33, max_ratio: float = 3.0) -> Any:
    """Drop variants that are empty, unchanged, repeated in their bucket, or out of proportion to the original.

    Between `min_ratio` and `max_ratio` is in proportion: of lengths in words, over all fields together.
    """
    if not 0 <= min_ratio <= max_ratio:
        message = f"found min_ratio={min_ratio:g}, max_ratio={max_ratio:g}"
        raise BadInput(message, where="surface", fix="give 0 <= min_ratio <= max_ratio")

    def check(buckets: Sequence[Bucket]) -> Iterator[Verdict]:
        for bucket in buckets:
            seen = {_key(bucket.problem): "unchanged"}
            words = _words(bucket.problem)
            for variant in bucket.variants:
                ratio = _words(variant) / words
                reason = seen.get(_key(variant), "")
                seen.setdefault(_key(variant), "repeated in its bucket")
                changed = changed_fields(bucket.problem, variant).values()
                if any(has_text(old) and not has_text(new) for old, new in changed):
                    reason = "empty text"
                elif not reason and not min_ratio <= ratio <= max_ratio:
                    reason = f"length ratio {ratio:.2f}"
                yield Verdict(not reason, reason, ratio)

    return check


@checks("overlap.v1")
def overlap(most: float = 0.75) -> Any:
    """Drop variants whose changed fields share too many words with the original's (Jaccard above `most`).

    The paper's Appendix B words the condition the wrong way round; its data follow this one.
    """
    if not 0 <= most <= 1:
        raise BadInput(f"found {most!r}", where="overlap", field="most", fix="give a share from 0 to 1")

    def check(buckets: Sequence[Bucket]) -> Iterator[Verdict]:
        for bucket in buckets:
            for variant in bucket.variants:
                changed = changed_fields(bucket.problem, variant)
                share = max((jaccard(*texts) for texts in changed.values()), default=1.0)
                yield Verdict(share <= most, "" if share <= most else f"Jaccard {share:.3f} above {most:g}", share)

    return check


def _key(problem: Problem) -> tuple[str, ...]:
    return tuple(normalize_spaces(problem.text[name]) for name in problem.task.fields)


def _words(problem: Problem) -> int:
    return max(1, sum(len(split_words(problem.text[name] or "")) for name in problem.task.fields))
