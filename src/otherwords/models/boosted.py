"""Boosted trees on word counts: the model that the trainer of the same name writes, and how texts become its columns.

A count becomes binary columns `count > c`, of which a sparse matrix holds the ones. Trees split on them as they do on
the counts of a dense table, in a quarter of the time at depth 15 (less at smaller depths) and a fraction of the memory;
a sparse matrix of the counts themselves would be another model, because xgboost takes what is not stored as missing,
not as zero.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, MissingExtra
from ..problem import Batch
from ..registry import models
from .model import Model
from .predictions import Floats
from .trained import Trained, read_trained

#: What the trainer writes: the trees as xgboost stores them, and the words with the number of their columns.
TREES, WORDS = "model.ubj", "words.json"
#: A word has two letters or digits, or more, as in scikit-learn's CountVectorizer; the IE paper does not say.
_WORD = re.compile(r"\w\w+")
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class WordColumns:
    """Which words are counted, and how many columns each has: `count > 0`, `count > 1`, and so on.

    With `by_field`, a word of the premise is another one than the same word of the hypothesis.

    >>> columns = WordColumns.of([["a dog, a dog", "dogs"], ["one dog", "two dogs"]], by_field=False, least=1)
    >>> columns.words, columns.counts
    (('dog', 'dogs', 'one', 'two'), (2, 1, 1, 1))
    >>> columns.matrix([["dog dog dog", "cat"]]).toarray()
    array([[1., 1., 0., 0., 0.]], dtype=float32)
    """

    words: tuple[str, ...]
    counts: tuple[int, ...]
    by_field: bool = False

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]], *, by_field: bool, least: int) -> "WordColumns":
        """The words of some problems; a column that fewer than `least` of the problems have is left out."""
        rows = [_words(row, by_field) for row in texts]
        words = sorted(set().union(*rows))
        _, column, counts = _counted(rows, {word: i for i, word in enumerate(words)})
        order = np.lexsort((-counts, column))  # of each word, the highest counts first
        first = np.searchsorted(column[order], np.arange(len(words)))
        enough = np.bincount(column, minlength=len(words)) >= least
        numbers = np.zeros(len(words), np.int64)
        numbers[enough] = counts[order][first[enough] + least - 1]  # `least` problems have so many
        kept = [(word, int(n)) for word, n in zip(words, numbers, strict=True) if n]
        return cls(tuple(word for word, _ in kept), tuple(n for _, n in kept), by_field)

    @cached_property
    def _places(self) -> tuple[dict[str, int], Ints, Ints]:
        """The number of each word, of its first column, and of its columns."""
        counts = np.array(self.counts, np.int64)
        return {word: i for i, word in enumerate(self.words)}, np.cumsum(counts) - counts, counts

    def matrix(self, texts: Sequence[Sequence[str]]) -> Any:
        """A sparse row of ones for each problem."""
        from scipy.sparse import csr_matrix

        number, first, columns = self._places
        at, word, counts = _counted([_words(row, self.by_field) for row in texts], number)
        ones = np.minimum(counts, columns[word])
        offsets = np.arange(ones.sum()) - np.repeat(np.cumsum(ones) - ones, ones)
        places = np.repeat(at, ones), np.repeat(first[word], ones) + offsets
        shape = len(texts), max(1, int(columns.sum()))
        return csr_matrix((np.ones(len(offsets), np.float32), places), shape)

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON holds it."""
        return {"by_field": self.by_field, "words": dict(zip(self.words, self.counts, strict=True))}


def _words(texts: Sequence[str], by_field: bool) -> list[str]:
    """The words of a problem; those of different fields differ by the number of the field, where that matters."""
    if not by_field:
        return _WORD.findall(" ".join(texts).lower())
    return [f"{i} {word}" for i, text in enumerate(texts) for word in _WORD.findall(text.lower())]


def _counted(rows: Sequence[Sequence[str]], number: dict[str, int]) -> tuple[Ints, Ints, Ints]:
    """Row, number and count of each known word of each row, in the order of rows and numbers."""
    at = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    found = np.fromiter((number.get(word, -1) for word in chain.from_iterable(rows)), np.int64, len(at))
    keys, counts = np.unique(at[found >= 0] * max(1, len(number)) + found[found >= 0], return_counts=True)
    row, word = np.divmod(keys, max(1, len(number)))
    return row, word, counts


def require_xgboost() -> None:
    """Raise an error that names the extra where xgboost is missing."""
    if find_spec("xgboost") is None:
        raise MissingExtra("boosted", "boosted")


@models("boosted.v1", unsigned=("path", "threads", "task"), extra="boosted")
def boosted(path: Path, threads: int = 1, task: Any = None) -> Model:
    """Ask boosted trees on word counts that `otherwords train boosted` stored in a folder.

    `threads` of 0 uses all cores; the answers are the same.
    """
    require_xgboost()
    trained = read_trained(path)
    trained.refuse_other(task)
    columns, booster = _load(trained, threads)

    def answer(batch: Batch) -> Floats:
        texts = list(zip(*trained.texts(batch), strict=True))
        return predict(booster, columns.matrix(texts), len(trained.labels), threads)

    return Model(answer, trained.labels, trained.identity(TREES, WORDS), batch_size=8192, light=True, ways=())


def predict(booster: Any, matrix: Any, labels: int, threads: int) -> Floats:
    """A row of probabilities for each row of a matrix."""
    import xgboost

    if not matrix.shape[0]:
        return np.empty((0, labels))
    table = xgboost.DMatrix(matrix, nthread=threads or None)
    return np.asarray(booster.predict(table), np.float64).reshape(-1, labels)


def _load(trained: Trained, threads: int) -> tuple[WordColumns, Any]:
    import xgboost

    try:
        stored = json.loads((trained.folder / WORDS).read_text(encoding="utf-8"))
        columns = WordColumns(tuple(stored["words"]), tuple(stored["words"].values()), stored["by_field"])
        booster = xgboost.Booster({"nthread": threads})
        booster.load_model(trained.folder / TREES)
        shape = len(trained.labels), max(1, sum(columns.counts))
        found = json.loads(booster.save_config())["learner"]["learner_model_param"]
        if (int(found["num_class"]), booster.num_features()) != shape:
            raise ValueError(f"{shape[0]} labels and {shape[1]} columns, but trees of another training")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, xgboost.core.XGBoostError) as error:
        # What xgboost says has the time of day and a path of its own sources in it.
        raise BadInput(
            "cannot be read as boosted trees", where=str(trained.folder), fix="train it again, in another folder"
        ) from error
    return columns, booster
