"""Checks by language models: a rewording should mean nearly the same to an encoder, and be as fluent to a masked-LM.

What is near may say the opposite all the same: of SNLI's hypotheses that a premise entails and contradicts, 7 in 100
pairs pass the default limit of `similarity`. Encoders see what a text is about better than what it says of it.
"""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from ..errors import BadInput
from ..language_models.encoder import SentenceEncoder
from ..language_models.encoder import load as load_encoder
from ..language_models.masked_lm import MaskedLM
from ..language_models.masked_lm import load as load_masked_lm
from ..problem import Bucket, Verdict
from ..registry import checks, masked_lms
from .checking import EMPTY, Check, Pair, compared, too_long, warn_too_long


# Neither model is signed as given, since that may hold a path of this machine: the identity is its signature.
@checks("similarity.v1", unsigned=("encoder",), extra="hf")
def similarity(encoder: str = "hf:sentence-transformers/all-MiniLM-L6-v2", least: float = 0.7) -> Any:
    """Drop variants with a changed field that is not similar to the original's (cosine below `least`).

    `encoder` makes vectors of texts; a changed field that is longer than it reads is dropped, too. The score is the
    cosine, the smallest over changed fields. With MiniLM, below 0.7 are 4 of the 512 rewordings that people wrote for
    `everyday`, and all but 1 of 3,000 pairs of SNLI's at random.
    """
    if not -1 <= least <= 1:
        raise BadInput(f"found {least!r}", where="similarity", field="least", fix="give a cosine from -1 to 1")
    model = load_encoder(encoder)

    def check(buckets: Sequence[Bucket]) -> Iterator[Verdict]:
        verdicts = [_verdict(cosine, least) for cosine in compared(buckets, partial(cosines, model), same=1.0)]
        warn_too_long("similarity", "the encoder", verdicts)
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


@checks("fluency.v1", unsigned=("masked_lm",), language="en")
def fluency(masked_lm: str = "mlm-small", most: float = 1.5) -> Any:
    """Drop variants with a changed field that is less fluent than the original's, by more than `most` nats per token.

    `masked_lm` says how likely each token is where it alone is masked; a text's fluency is the mean of the logarithms,
    so that long texts are not less fluent than short ones; of those longer than it reads, it reads what is around each
    token, so that all count. The score is the variant's less the original's, the smallest over changed fields. A word
    in pieces gets more than its due, since each piece is guessed from the others: this finds words out of place and
    order rather than words that do not exist.

    The default drops 25 of the 512 rewordings that people wrote for `everyday`, 97 in 100 of its sentences with their
    words in disorder, and 4 in 10 with a single word scrambled, exchanged or moved by one place.
    """
    if not (math.isfinite(most) and most >= 0):
        raise BadInput(f"found {most!r}", where="fluency", field="most", fix="give 0 nats or more")
    model = load_masked_lm(masked_lm)

    def check(buckets: Sequence[Bucket]) -> Iterator[Verdict]:
        for gain in compared(buckets, partial(gains, model), same=0.0):
            if isinstance(gain, str):
                yield Verdict(False, gain)
            else:
                reason = "" if gain >= -most else f"less fluent by {-gain:.2f} nats per token, more than {most:g}"
                yield Verdict(not reason, reason, gain)

    return Check(check, identity=model.signature, language=masked_lms.language(masked_lm))


def gains(model: MaskedLM, pairs: Sequence[Pair]) -> list[float | str]:
    """How much more fluent the second text of each pair is than the first, in nats per token; less is below 0.

    There is no value for a text without tokens, such as a lone accent.
    """
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    # Summed exactly: a mean must not depend on the batch.
    means = {
        text: math.fsum(logp.tolist()) / len(logp)
        for text, logp in zip(texts, model.pseudo_logp(texts), strict=True)
        if len(logp)
    }
    return [means[after] - means[before] if {before, after} <= means.keys() else EMPTY for before, after in pairs]
