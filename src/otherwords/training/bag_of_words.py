"""The bag-of-words baseline as a trainer: learnt once, stored, and answered from its folder."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from ..models.bag_of_words import VOCABULARY, WEIGHTS, learn, probabilities, refuse_options
from ..registry import trainers
from ..storage.files import write_text
from .data import TrainingData
from .trainer import refuse_non_finite, validated


@trainers("bag_of_words.v1")
@dataclass(frozen=True)
class BagOfWords:
    """Logistic regression on the words that the last field shares with the others, and those that it adds.

    `penalty` is the L2 weight on the coefficients, `steps` the number of gradient steps. It needs numpy alone, and
    draws nothing: the seed does not matter.
    """

    answers_as: ClassVar[str] = "bag_of_words"
    penalty: float = 1.0
    steps: int = 200

    def __post_init__(self) -> None:
        refuse_options(self.penalty, self.steps)

    def fit(self, data: TrainingData, folder: Path, seed: int) -> dict[str, float]:
        """Learn the weights, store them, and answer the validation rows."""
        labels = data.task.labels
        gold = np.array([labels.index(str(row.label)) for row in data.train])
        with np.errstate(over="ignore", invalid="ignore"):  # weights that overflow are refused below
            vocabulary, weights = learn([row.texts for row in data.train], gold, len(labels), self.penalty, self.steps)
        refuse_non_finite(weights, "bag_of_words")
        write_text(folder / VOCABULARY, json.dumps(list(vocabulary)))
        np.save(folder / WEIGHTS, weights, allow_pickle=False)
        answers = probabilities([row.texts for row in data.valid], vocabulary, weights)
        return validated(data, answers)
