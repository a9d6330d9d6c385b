"""Word overlap: PaRTE keeps a paraphrase only if it does not share too many words with its source (its section 3)."""

from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import BadInput
from ..problem import Bucket, Verdict, changed_fields
from ..registry import checks
from ..words.distance import jaccard


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
