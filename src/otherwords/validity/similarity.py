"""Similarity of meaning by a sentence encoder: a rewording should have nearly the same vector as its original.

What is near may say the opposite all the same: of SNLI's hypotheses that a premise entails and contradicts, 7 in 100
pairs pass the default limit. Encoders see what a text is about better than what it says of it.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from ..errors import BadInput
from ..language_models.encoder import SentenceEncoder, load
from ..problem import Bucket, Verdict
from ..registry import checks
from .checking import EMPTY, Check, Pair, compared, too_long, warn_too_long

_WHERE = "similarity"


# The encoder is not signed as given, since it may hold a path of this machine: the identity is its signature.
@checks("similarity.v1", unsigned=("encoder",), extra="hf")
def similarity(encoder: str = "hf:sentence-transformers/all-MiniLM-L6-v2", least: float = 0.7) -> Any:
    """Drop variants with a changed field that is not similar to the original's (cosine below `least`).

    `encoder` makes vectors of texts; a changed field that is longer than it reads is dropped, too. The score is the
    cosine, the smallest over changed fields. With MiniLM, below 0.7 are 4 of the 512 rewordings that people wrote for
    `everyday`, and all but 1 of 3,000 pairs of SNLI's at random.
    """
    if not -1 <= least <= 1:
        raise BadInput(f"found {least!r}", where=_WHERE, field="least", fix="give a cosine from -1 to 1")
    model = load(encoder)

    def check(buckets: Sequence[Bucket]) -> Iterator[Verdict]:
        verdicts = [_verdict(cosine, least) for cosine in compared(buckets, partial(cosines, model), same=1.0)]
        warn_too_long(_WHERE, "the encoder", verdicts)
        return iter(verdicts)

    return Check(check, identity=model.signature)


def cosines(model: SentenceEncoder, pairs: Sequence[Pair]) -> list[float | str]:
    """The cosine of both texts of each pair; none where a text has no tokens or is truncated."""
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    legible = {text for text, there in zip(texts, model.legible(texts), strict=True) if there}
    short = {text for text, long in zip(texts, model.too_long(texts), strict=True) if not long}
    readable = [pair for pair in pairs if legible.issuperset(pair)]
    whole = [pair for pair in readable if short.issuperset(pair)]
    values: dict[Pair, float | str] = dict.fromkeys(readable, too_long("encoder"))
    values.update(zip(whole, model.cosines(whole).tolist(), strict=True))
    return [values.get(pair, EMPTY) for pair in pairs]


def _verdict(cosine: float | str, least: float) -> Verdict:
    if isinstance(cosine, str):
        return Verdict(False, cosine)
    return Verdict(cosine >= least, "" if cosine >= least else f"cosine {cosine:.3f} below {least:g}", cosine)
