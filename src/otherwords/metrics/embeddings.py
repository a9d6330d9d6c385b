"""How far variants are from their originals to a sentence encoder, and whether those that flip answers are farther."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..encoders.encoding import Encoder, load
from ..errors import BadInput, Unmeasurable, shorten
from ..registry import metrics
from .distances import Pair, averaged, by_variant
from .divergence import divergence, unit_of
from .metric import Array, Metric, divide
from .shift import flipped_and_kept
from .table import Answers


# An encoder is named by the user, since none comes with the package; its own signature is signed, not a path.
@metrics("embedding_distance.v1", unsigned=("encoder",))
def embedding_distance(encoder: str, fields: str = "", suite: Path = Path()) -> Any:
    """Cosine distance between the sentence vectors of original and variant, averaged over variants: 0 to 2.

    `encoder` makes the vectors, as hf:NAME. `fields` names the text columns, with commas between; `suite` a table of
    id and texts, for answers without them.
    """
    model = load(encoder)
    return averaged(_distances(model), fields, suite, share=False, identity=model.signature)


@metrics("embedding_jsd.v1", unsigned=("encoder",))
def embedding_jsd(
    encoder: str,
    fields: str = "",
    suite: Path = Path(),
    bins: int = 20,
    top: float = 0.4,
    base: str = "2",
    only_right: bool = False,
) -> Any:
    """Jensen-Shannon divergence between the cosine distances of variants that flipped and of those that did not.

    Near 0, what flips an answer is no farther from its original than what does not (Arakelyan et al. 2024, who found
    0.001 and do not say how they counted). The distances are counted in `bins` of equal width from 0 to `top`, those
    above in the last. Few flips in many bins look apart by chance: this describes, and has no interval. `encoder`,
    `fields` and `suite` as in embedding_distance; `base` of the logarithm is 2 (bits) or e (nats); `only_right` looks
    at problems whose original is answered right, as the paper does.
    """
    _refuse_bins(bins, top)
    model, unit = load(encoder), unit_of(base)
    distance_of = by_variant(_distances(model), fields, suite)

    def statistics(answers: Answers) -> Array:
        place = np.minimum((distance_of(answers) / top * bins).astype(np.int64), bins - 1)
        sides = flipped_and_kept(answers, only_right)
        counts = answers.sum_by_bucket(*(side & (place == one) for side in sides for one in range(bins)))
        return np.column_stack([counts, counts.sum(axis=1)])

    def combine(totals: Array) -> Array:
        sides = totals[..., :bins], totals[..., bins : 2 * bins]
        flipped, kept = (divide(side, side.sum(axis=-1, keepdims=True)) for side in sides)
        return divergence(flipped, kept) / unit

    # Drawn again, two histograms differ by chance as well: an interval would lie above the value.
    return Metric(statistics, combine, uses="both", share=False, interval=False, identity=model.signature)


def _distances(model: Encoder) -> Any:
    """A function that gives the cosine distance of both texts of each pair; of equals, it is 0 without a look."""

    def compare(pairs: Sequence[Pair]) -> list[float]:
        changed = [pair for pair in pairs if pair[0] != pair[1]]
        if empty := [pair for pair in changed if not all(text.strip() for text in pair)]:
            fix = "leave such variants out, as the check `surface` does"
            raise Unmeasurable(f"an empty text points nowhere: {shorten(empty[0])}", where=model.signature, fix=fix)
        found = dict(zip(changed, (1 - model.cosines(changed)).tolist(), strict=True))
        return [found.get(pair, 0.0) for pair in pairs]

    return compare


def _refuse_bins(bins: int, top: float) -> None:
    if bins < 2:
        raise BadInput(f"found {bins}", where="embedding_jsd", field="bins", fix="give 2 or more")
    if not 0 < top <= 2:
        fix = "give a distance above 0 and at most 2"
        raise BadInput(f"found {top!r}", where="embedding_jsd", field="top", fix=fix)
