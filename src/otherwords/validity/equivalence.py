"""Equivalence: a judge that was trained to tell other words from another meaning, exchanged roles among them.

Its graph has additions of low rank to nli-small's encoder and a head of its own; all other weights are those in
nli-small's file, which is not copied. Its card, assets/nli-small/equivalence.md, says how well it judges.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from ..errors import BadInput
from ..inference import onnx_files
from ..inference.limits import configured_positions, limit, refuse_sizes
from ..inference.scheduling import Scheduler
from ..problem import Bucket, Verdict
from ..registry import checks
from ..storage.files import fingerprint
from .checking import Check, Pair, compared, too_long, warn_too_long

#: The judge's graph, and the file beside it that has the encoder's weights.
JUDGE, WEIGHTS = "equivalence.onnx", "model.onnx"
#: Tokens to a batch, in which each pair counts twice: it is read in both orders.
TOKENS = onnx_files.TOKENS // 2


@checks("equivalence.v2", language="en")
def equivalence(least: float = 0.1, max_length: int = 256) -> Check:
    """Drop variants with a changed field that does not say the same, by a judge that comes with otherwords.

    A field is dropped where the judge's probability of saying the same is below `least`, or where both texts have more
    than `max_length` tokens together. The score is the probability, the smallest over changed fields; both orders of
    the texts have the same one.
    """
    if not 0 <= least <= 1:
        raise BadInput(f"found {least!r}", where="equivalence", field="least", fix="give a probability from 0 to 1")
    file = onnx_files.find_graph(onnx_files.embedded("nli-small") / JUDGE)
    judge = load_judge(file, max_length)

    def check(buckets: Sequence[Bucket]) -> Iterator[Verdict]:
        verdicts = [_verdict(found, least) for found in compared(buckets, judge, same=1.0)]
        warn_too_long("equivalence", "the judge", verdicts)
        return iter(verdicts)

    return Check(check, identity=onnx_files.content(file))


def load_judge(file: Path, max_length: int = 256) -> Callable[[Sequence[Pair]], list[float | str]]:
    """A function that gives the probability that both texts of a pair say the same, or the reason why there is none."""
    refuse_sizes("equivalence", max_length)
    _refuse_other_weights(file)
    length = limit(str(file), max_length, configured_positions(onnx_files.read_config(file)))
    return partial(_probabilities, onnx_files.load_graph(file).scheduler("probability", length, TOKENS))


def _probabilities(scheduler: Scheduler, pairs: Sequence[Pair]) -> list[float | str]:
    if not pairs:
        return []
    (found,), cut = scheduler(pairs)
    return [too_long("judge") if lost else value for value, lost in zip(found[:, 0].tolist(), cut, strict=True)]


def _refuse_other_weights(file: Path) -> None:
    """The graph refers to weights by their places in a file, so it must be the very file that it was made for."""
    weights = file.parent / WEIGHTS
    if fingerprint(weights).encode() not in file.read_bytes():
        fix = "reinstall otherwords, or make it anew: recipes/equivalence/export.py"
        raise BadInput(f"was made for another {weights.name} than the one beside it", where=str(file), fix=fix)


def _verdict(found: float | str, least: float) -> Verdict:
    if isinstance(found, str):
        return Verdict(False, found)
    return Verdict(found >= least, "" if found >= least else f"probability {found:.3f} below {least:g}", found)
