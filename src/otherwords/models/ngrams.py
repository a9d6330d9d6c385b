"""fastText's classifier (Joulin et al. 2017), as the trainer `ngrams` writes it: words and hashed word n-grams.

Learnt are vectors of these features and of the labels; a text is the mean of its features. Answers need the products of
both alone, since all is linear: a weight of every feature for every label. Hashes are fastText's own.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..inference.joining import default_join, options_of, shown_task
from ..problem import Batch, Task
from ..registry import models
from .model import Model, probabilities
from .predictions import Floats
from .trained import read_trained

WEIGHTS, FEATURES = "weights.npz", "features.json"
#: How a text is split: at white space, as fastText does, or also at punctuation and without case, as its tutorial does.
TOKENS = ("spaces", "words")
_WORD = re.compile(r"\w+(?:'\w+)?|[^\w\s]")
#: The end of a line counts as a word: it is what is left of an empty text.
_END = "</s>"
#: Of the hash of a word (FNV-1a), and of an n-gram from those of its words.
_OFFSET, _PRIME, _NGRAM_PRIME = 2166136261, 16777619, np.uint64(116049371)
_TEXTS = 8192

Numbers = npt.NDArray[np.int64]


@models("ngrams.v1", unsigned=("path", "task"))
def ngrams(path: Path, task: Any = None) -> Model:
    """Ask a classifier that the trainer `ngrams` wrote: words and word n-grams with a weight for each label.

    `path` is the folder of the training.
    """
    found = read_trained(path)
    found.refuse_other(task)
    space, weights = read(found.folder, len(found.labels))

    def answer(batch: Batch) -> Floats:
        lines = joined(found.task, found.fields, found.texts(batch))
        return probabilities(scores(space.features(lines), weights), found.labels, str(found.folder))

    return Model(answer, found.labels, found.identity(WEIGHTS, FEATURES), batch_size=1024, light=True, ways=())


@dataclass(frozen=True, eq=False)
class Features:
    """The numbers of the features of some texts, one text after the other; each text has at least one."""

    numbers: Numbers
    lengths: Numbers

    def take(self, texts: Numbers) -> "Features":
        """The features of the texts with these numbers."""
        lengths, starts = self.lengths[texts], (np.cumsum(self.lengths) - self.lengths)[texts]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return Features(self.numbers[np.repeat(starts, lengths) + within], lengths)


@dataclass(frozen=True)
class FeatureSpace:
    """The words of the training texts, and the buckets that their n-grams of 2 to `n` words fall into.

    Words come first, then n-grams; the number after the last stands for n-grams that training did not show.
    """

    words: tuple[str, ...]
    grams: Numbers
    n: int
    buckets: int
    tokens: str

    @classmethod
    def of(cls, lines: Sequence[str], n: int, buckets: int, tokens: str) -> "FeatureSpace":
        """The features that occur in these texts."""
        empty = cls((), np.zeros(0, np.int64), n, buckets, tokens)
        words: set[str] = set()
        grams = [empty.grams]
        for some in _slices(lines):
            split = empty.split(some)
            words.update(*split)
            grams.append(np.unique(empty.hashed(split)[1]))
        return cls(tuple(sorted(words)), np.unique(np.concatenate(grams)), n, buckets, tokens)

    def __len__(self) -> int:
        return len(self.words) + len(self.grams)

    @cached_property
    def places(self) -> dict[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.words)}

    def split(self, lines: Iterable[str]) -> list[list[str]]:
        """The words of each text, and its end."""
        if self.tokens == "spaces":
            return [[*line.split(), _END] for line in lines]
        return [[*_WORD.findall(line.lower()), _END] for line in lines]

    def hashed(self, split: Sequence[Sequence[str]]) -> tuple[Numbers, Numbers]:
        """Which text each n-gram stands in, and its bucket."""
        text = np.repeat(np.arange(len(split)), [len(words) for words in split])
        flat = [word for words in split for word in words]
        known = {word: word_hash(word) for word in set(flat)}
        hashes = np.array([known[word] for word in flat], np.uint32).view(np.int32).astype(np.int64).view(np.uint64)
        texts, buckets, so_far = [text[:0]], [text[:0]], hashes
        for more in range(1, self.n):
            so_far = so_far[:-1] * _NGRAM_PRIME + hashes[more:]  # modulo 2^64, as fastText's
            whole = text[:-more] == text[more:]
            texts.append(text[:-more][whole])
            buckets.append((so_far[whole] % np.uint64(self.buckets)).astype(np.int64))
        return np.concatenate(texts), np.concatenate(buckets)

    def features(self, lines: Sequence[str]) -> Features:
        """The features of each text; a word that training did not show is none."""
        parts = [self._features(some) for some in _slices(lines)]
        return Features(*(np.concatenate([np.zeros(0, np.int64), *part]) for part in zip(*parts, strict=True)))

    def _features(self, lines: Sequence[str]) -> tuple[Numbers, Numbers]:
        split = self.split(lines)
        pairs = [(row, self.places[word]) for row, words in enumerate(split) for word in words if word in self.places]
        rows, numbers = np.array(pairs, np.int64).reshape(-1, 2).T
        texts, buckets = self.hashed(split)
        place = np.searchsorted(self.grams, buckets)
        unseen = np.append(self.grams, -1)[place] != buckets
        grams = np.where(unseen, len(self), len(self.words) + place)
        text = np.concatenate([rows, texts])
        order = np.argsort(text, kind="stable")
        return np.concatenate([numbers, grams])[order], np.bincount(text, minlength=len(lines))


def joined(task: Task, fields: Sequence[str], columns: Sequence[Sequence[str]]) -> list[str]:
    """Every problem as one text, as ParaNLU gives them to fastText: "P H U", or "o1 h1 o2 | o1 h2 o2".

    >>> from otherwords.problem import TASKS
    >>> joined(TASKS["a-nli"], ("hyp1", "hyp2"), [["It rained."], ["It snowed."]])
    ['It rained. | It snowed.']
    """
    options = options_of(task)
    rows = default_join(shown_task(task, fields)).rows(dict(zip(fields, columns, strict=True)), options)
    lines, each = [" ".join(filter(None, row)) for row in rows], len(options) or 1
    return [" | ".join(lines[start : start + each]) for start in range(0, len(lines), each)]


def word_hash(word: str) -> int:
    """fastText's hash of a word: FNV-1a over its bytes, which count as signed.

    >>> hex(word_hash("foobar"))
    '0xbf9cf968'
    """
    value = _OFFSET
    for byte in word.encode("utf-8", "surrogatepass"):
        value = (value ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * _PRIME & 0xFFFFFFFF
    return value


def scores(features: Features, weights: Floats) -> Floats:
    """The mean weights of the features of each text. Each text's are added one by one: its company changes no bit."""
    count = len(features.lengths)
    text = np.repeat(np.arange(count), features.lengths)
    sums = [np.bincount(text, column[features.numbers], count) for column in weights.T]
    return np.asarray(np.stack(sums, axis=1) / np.maximum(features.lengths, 1)[:, None])


def read(folder: Path, labels: int) -> tuple[FeatureSpace, Floats]:
    """The features and weights of a folder; the last row is of n-grams that training did not show, and zero."""
    try:
        found = json.loads((folder / FEATURES).read_text(encoding="utf-8"))
        with (folder / WEIGHTS).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            grams, weights = arrays["grams"], arrays["weights"]
        words = tuple(map(str, found.pop("words")))
        space = FeatureSpace(words, grams, **found)
        if weights.shape != (len(space), labels):
            raise ValueError(f"{len(space)} features and {labels} labels, but weights of the shape {weights.shape}")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, BadZipFile) as error:
        fix = "train the model again, in another folder"
        raise BadInput(f"cannot be read as a model of ngrams: {error}", where=str(folder), fix=fix) from error
    return space, with_unseen(weights)


def with_unseen(weights: npt.NDArray[Any]) -> Floats:
    """The weights, and those of n-grams that training did not show: zero."""
    return np.vstack([weights.astype(np.float64), np.zeros((1, weights.shape[1]))])


def _slices(lines: Sequence[str]) -> Iterator[Sequence[str]]:
    return (lines[start : start + _TEXTS] for start in range(0, max(len(lines), 1), _TEXTS))
