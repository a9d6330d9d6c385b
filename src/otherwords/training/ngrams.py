"""Training of fastText's classifier (Joulin et al. 2017): stochastic gradient descent on word n-grams, with scipy."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..models.model import probabilities
from ..models.ngrams import FEATURES, TOKENS, WEIGHTS, Features, FeatureSpace, joined, scores, with_unseen
from ..progress import current
from ..registry import trainers
from ..storage.files import atomic, write_text
from .data import TrainingData
from .trainer import columns_of, refuse_non_finite, validated

Array = npt.NDArray[np.float32]
#: Texts whose features are gathered at a time, for many batches.
_TEXTS = 4096


@trainers("ngrams.v1", example="ngrams(learning_rate=1.0, epochs=30)")
@dataclass(frozen=True)
class Ngrams:
    """The classifier of fastText: word n-grams, hashed, with a linear layer; needs no extra.

    As in ParaNLU: n-grams of up to `ngrams` words, `epochs` 5, `learning_rate` .1, which falls to zero. The other
    defaults are fastText's: vectors of `size` numbers, n-grams in so many `buckets`. `tokens=words` splits off
    punctuation and ignores case; `spaces` splits at white space only. Gradients of `batch` rows are added up, as those
    of fastText's threads are; with 1, rows come one by one. The fields of a problem are joined: "P H U"; where a task
    chooses between fields, "o1 h1 o2 | o1 h2 o2". N-grams that training did not show weigh nothing, where fastText
    gives them a small random vector. A small set of short texts needs a higher rate, or more epochs.
    """

    answers_as: ClassVar[str] = "ngrams"

    ngrams: int = 4
    epochs: int = 5
    learning_rate: float = 0.1
    size: int = 100
    buckets: int = 2_000_000
    batch: int = 16
    tokens: str = "spaces"

    def __post_init__(self) -> None:
        most = {"ngrams": 16, "epochs": 10_000, "size": 4096, "buckets": 2**31, "batch": 65_536, "learning_rate": 1000}
        for name, limit in most.items():
            value, least = getattr(self, name), 0 if name == "learning_rate" else 1
            if not least <= value <= limit or not value:
                fix = f"give more than 0, at most {limit}" if least == 0 else f"give {least} to {limit}"
                raise BadInput(f"found {value}", where="ngrams", field=name, fix=fix)
        if self.tokens not in TOKENS:
            raise BadInput(f"found {self.tokens!r}", where="ngrams", field="tokens", fix=f"give {' or '.join(TOKENS)}")

    def fit(self, data: TrainingData, folder: Path, seed: int) -> dict[str, float]:
        """Learn from the training rows, and write the weight of every feature for every label."""
        lines = joined(data.task, data.fields, columns_of(data.train, data.fields))
        number = {label: place for place, label in enumerate(data.task.labels)}
        labels = np.array([number[str(row.label)] for row in data.train], np.int64)
        space = FeatureSpace.of(lines, self.ngrams, self.buckets, self.tokens)
        weights, loss = self._learn(space.features(lines), labels, len(space), len(number), seed)
        refuse_non_finite(weights, "ngrams")
        kept = {"n": space.n, "buckets": space.buckets, "tokens": space.tokens, "words": space.words}
        write_text(folder / FEATURES, json.dumps(kept) + "\n")
        with atomic(folder / WEIGHTS) as draft, draft.open("wb") as file:
            np.savez(file, grams=space.grams, weights=weights)
        lines = joined(data.task, data.fields, columns_of(data.valid, data.fields))
        logits = scores(space.features(lines), with_unseen(weights))
        return {**validated(data, probabilities(logits, data.task.labels, "ngrams")), "train_loss": loss}

    def _learn(
        self, features: Features, labels: npt.NDArray[np.int64], count: int, outputs: int, seed: int
    ) -> tuple[Array, float]:
        """The products of the vectors of features and labels, and the mean loss of the last epoch."""
        draw = np.random.default_rng([seed, 18])
        vectors = (draw.random((count, self.size), np.float32) * 2 - 1) / np.float32(self.size)
        out, steps, loss = np.zeros((outputs, self.size), np.float32), 0, 0.0
        total = self.epochs * len(labels)
        current().start("epochs", self.epochs)
        with np.errstate(over="ignore", invalid="ignore"):  # a rate that is too high shows in the figures
            for _ in range(self.epochs):
                loss = 0.0
                for batch, gold in self._batches(features, labels, draw):
                    rate = self.learning_rate * (1 - steps / total)
                    loss += _step(vectors, out, batch, gold, np.float32(rate))
                    steps += len(gold)
                current().advance(1)
            current().done()
            return np.asarray(vectors @ out.T, np.float32), loss / len(labels)

    def _batches(
        self, features: Features, labels: npt.NDArray[np.int64], draw: np.random.Generator
    ) -> Iterator[tuple[Features, npt.NDArray[np.int64]]]:
        """All rows in random order."""
        order = draw.permutation(len(labels))
        many = -(-_TEXTS // self.batch) * self.batch
        for start in range(0, len(order), many):
            rows = order[start : start + many]
            some, ends = features.take(rows), np.cumsum(features.lengths[rows])
            for first in range(0, len(rows), self.batch):
                last = min(first + self.batch, len(rows))
                numbers = some.numbers[ends[first] - some.lengths[first] : ends[last - 1]]
                yield Features(numbers, some.lengths[first:last]), labels[rows[first:last]]


def _step(vectors: Array, out: Array, batch: Features, gold: npt.NDArray[np.int64], rate: np.float32) -> float:
    """One step of fastText's update rule for the rows of a batch, all from the same weights; returns their loss."""
    from scipy.sparse import csr_array

    columns, inverse = np.unique(batch.numbers, return_inverse=True)
    shares = np.repeat((1 / batch.lengths).astype(np.float32), batch.lengths)
    ends = np.concatenate([[0], np.cumsum(batch.lengths)])
    texts = csr_array((shares, inverse, ends), shape=(len(gold), len(columns)))
    here = vectors[columns]
    hidden = texts @ here
    logits = hidden @ out.T
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    error = powers / powers.sum(axis=1, keepdims=True)
    chosen = error[np.arange(len(gold)), gold]
    error[np.arange(len(gold)), gold] -= 1
    error *= -rate
    vectors[columns] = here + texts.T @ (error @ out)
    out += error.T @ hidden
    return float(-np.log(np.maximum(chosen, np.float32(1e-30))).sum())
