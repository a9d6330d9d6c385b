"""A bag-of-words classifier: a weak baseline, trained in seconds when it is loaded.

Multinomial logistic regression on which words the last field shares with the others and which it adds. It needs only
numpy, so that the light core has a model that can be trained; the trainer of the same name stores one. Probabilities
are rounded to six places, which hides the last bits, in which processors differ.
"""

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..datasets.intake import Intake
from ..datasets.source import find
from ..errors import BadInput
from ..problem import TASKS, Batch, Task
from ..registry import models
from ..storage.files import digest
from .model import Model
from .predictions import Floats
from .trained import TRAINED, Trained, read_trained

#: What the trainer writes: the features in the order of the rows of their weights.
VOCABULARY, WEIGHTS = "vocabulary.json", "weights.npy"
_WORD = re.compile(r"\w+(?:'\w+)?")


# `train` is not signed as given, since it may be a path of this machine: the identity has the data set's signature.
@models("bag_of_words.v1", unsigned=("train", "batch_size", "task"))
def bag_of_words(
    train: str = "everyday.v1(split=train)",
    penalty: float = 1.0,
    steps: int = 200,
    batch_size: int = 1024,
    task: Any = None,
) -> Model:
    """Bag-of-words baseline, trained on a data set (default: the bundled training problems) when loaded.

    `train` is a data set or a file, `penalty` the L2 weight on the coefficients, `steps` the number of gradient steps.
    It may also be a folder that `otherwords train bag_of_words` wrote, with options of its own.
    """
    if (Path(train).expanduser() / TRAINED).is_file():
        return _stored(read_trained(train), batch_size, task)
    task = task or TASKS["nli"]
    refuse_options(penalty, steps)
    problems, identity = _training_rows(train, task)
    texts = [[row[name] for name in task.fields] for row in problems]
    gold = np.array([task.labels.index(row["label"]) for row in problems])
    vocabulary, weights = learn(texts, gold, len(task.labels), penalty, steps)

    def answer(batch: Batch) -> Floats:
        rows = zip(*(batch[name] for name in batch.task.fields), strict=True)
        return probabilities([list(row) for row in rows], vocabulary, weights)

    return Model(answer, identity=identity, batch_size=batch_size, light=True, ways=())


def _stored(trained: Trained, batch_size: int, task: Task | None) -> Model:
    """The model that the trainer of the same name wrote into a folder."""
    trained.refuse_other(task)
    vocabulary, weights = _read(trained)

    def answer(batch: Batch) -> Floats:
        return probabilities([list(row) for row in zip(*trained.texts(batch), strict=True)], vocabulary, weights)

    return Model(
        answer, trained.labels, trained.identity(VOCABULARY, WEIGHTS), batch_size=batch_size, light=True, ways=()
    )


def _read(trained: Trained) -> tuple[dict[str, int], Floats]:
    try:
        words = json.loads((trained.folder / VOCABULARY).read_text(encoding="utf-8"))
        weights = np.load(trained.folder / WEIGHTS, allow_pickle=False)
        if weights.shape != (len(words), len(trained.labels)):
            raise ValueError(f"{len(words)} words and {len(trained.labels)} labels, but weights of {weights.shape}")
    except (OSError, ValueError, TypeError, EOFError) as error:
        fix = "train the model again, in another folder"
        raise BadInput(f"cannot be read as a bag of words: {error}", where=str(trained.folder), fix=fix) from error
    return {word: i for i, word in enumerate(words)}, weights


def refuse_options(penalty: float, steps: int) -> None:
    """Refuse options with which nothing is learnt."""
    for name, value, least in (("penalty", penalty, 0), ("steps", steps, 1)):
        if not least <= value < math.inf:
            raise BadInput(f"found {value}", where="bag_of_words", field=name, fix=f"give {least} or more")


def learn(
    texts: Sequence[Sequence[str]], gold: npt.NDArray[np.int64], labels: int, penalty: float, steps: int
) -> tuple[dict[str, int], Floats]:
    """The numbers of the features, and a weight of each for every label."""
    features = [_features(list(row)) for row in texts]
    vocabulary = {word: i for i, word in enumerate(sorted(set().union(*features)))}
    return vocabulary, _fit(_matrix(features, vocabulary), np.eye(labels)[gold], penalty, steps)


def probabilities(texts: Sequence[Sequence[str]], vocabulary: dict[str, int], weights: Floats) -> Floats:
    """A row of probabilities for each problem."""
    x = _matrix([_features(list(row)) for row in texts], vocabulary)
    return np.round(_softmax(_product(x, weights)), 6)


def _training_rows(train: str, task: Task) -> tuple[list[dict[str, Any]], str]:
    """Read the training problems: a registered data set, or a file by its ending."""
    bound = find(train)
    try:
        rows = list(Intake(task, labels=dict(bound.function.labels), gold="all").rows(bound.function()))
    except BadInput as error:
        if not error.field:
            raise
        message = f"cannot learn {task.name}: {error.where}: {error.field}: {error.message}"
        fix = "give training problems of that task: bag_of_words(train=FILE)"
        raise BadInput(message, where=f"bag_of_words(train={train})", fix=fix) from error
    content = digest([[row[name] for name in (*task.fields, "label")] for row in rows])
    return rows, f"{bound.signature}@{content[:12]}"


def _features(texts: list[str]) -> set[str]:
    *context, target = [_WORD.findall(text.lower()) for text in texts]
    known = {word for words in context for word in words}
    marks = {("shared " if word in known else "new ") + word for word in target}
    share = sum(word in known for word in target) / max(len(target), 1)
    return marks | {"bias", f"share {int(share * 4)}"}


def _matrix(
    features: list[set[str]], vocabulary: dict[str, int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int]:
    """Row and column numbers of the ones in a sparse 0/1 matrix."""
    pairs = [(i, vocabulary[word]) for i, words in enumerate(features) for word in sorted(words) if word in vocabulary]
    rows, columns = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return rows, columns, len(features)


def _product(x: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int], weights: Floats) -> Floats:
    rows, columns, height = x
    return np.stack([np.bincount(rows, weights[columns, k], height) for k in range(weights.shape[1])], axis=1)


def _fit(
    x: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int], gold: Floats, penalty: float, steps: int
) -> Floats:
    """Gradient descent with momentum; the step size follows from the largest feature count of a row."""
    rows, columns, height = x
    size = int(columns.max()) + 1
    weights, pace = np.zeros((size, gold.shape[1])), np.zeros((size, gold.shape[1]))
    rate = 2.0 / (np.bincount(rows).max() + penalty)
    # With few problems and a large penalty, a longer step would diverge.
    step = min(rate / height * 10, 1 / max(penalty, 1.0))
    for _ in range(steps):
        error = _softmax(_product(x, weights)) - gold
        slope = np.stack([np.bincount(columns, error[rows, k], size) for k in range(gold.shape[1])], axis=1)
        pace = 0.9 * pace - step * (slope + penalty * weights)
        weights = weights + pace
    return weights


def _softmax(z: Floats) -> Floats:
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))
