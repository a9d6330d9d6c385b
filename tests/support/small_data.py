"""Problems that a small classifier can learn, and a trainer held to what every trainer is held to."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from otherwords.problem import TASKS
from otherwords.registry import Bound, trainers
from otherwords.training.data import TrainingData, TrainingRow
from otherwords.training.making import fit as fit_checked

NOUNS = ("dog", "cat", "bird", "man", "girl", "fish", "horse", "child")
_ENDS = {"entailment": "is there .", "neutral": "is tall .", "contradiction": "is nowhere ."}


def toy(count: int, seed: int = 1) -> TrainingData:
    """NLI in which the last words of the hypothesis give the label away; a fifth of the rows validate."""
    chance = random.Random(seed)
    rows = []
    for _ in range(count):
        noun, label = chance.choice(NOUNS), chance.choice(TASKS["nli"].labels)
        rows.append(TrainingRow((f"a {noun} sleeps in the park .", f"the {noun} {_ENDS[label]}"), label))
    return TrainingData(TASKS["nli"], train=rows[count // 5 :], valid=rows[: count // 5])


def fit(trainer: Any, data: TrainingData, folder: Path, seed: int = 1) -> dict[str, float]:
    """Train as `otherwords train` does once the data are read."""
    plugin = next(one for one in trainers if one.factory is type(trainer))
    return fit_checked(Bound(plugin, repr(trainer), trainer), data, folder, seed)
