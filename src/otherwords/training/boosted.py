"""Gradient boosting on word counts, the baseline of the IE paper (Salvatore et al. 2023, section 4.4 and Table 7)."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..errors import BadInput
from ..inference.joining import options_of
from ..models.boosted import TREES, WORDS, WordColumns, predict, require_xgboost
from ..registry import trainers
from ..storage.files import atomic, write_text
from .data import TrainingData
from .trainer import refuse_non_finite, validated

#: What each option may be, and what xgboost calls it.
_RANGES = {
    "rounds": (1, 100_000, ""),
    "max_depth": (1, 100, "max_depth"),
    "learning_rate": (1e-6, 10, "learning_rate"),
    "alpha": (0, 1e6, "alpha"),
    "gamma": (0, 1e6, "gamma"),
    "subsample": (1e-6, 1, "subsample"),
    "colsample": (1e-6, 1, "colsample_bytree"),
    "threads": (0, 1024, "nthread"),
}


@trainers("boosted.v1", unsigned=("threads",), extra="boosted")
@dataclass(frozen=True)
class Boosted:
    """Gradient boosting on bag of words: the baseline of the IE paper, with xgboost.

    The words of all fields are counted together, as in the paper, or with `by_field` each field's apart. `rounds` trees
    for each label are grown to `max_depth`, with `learning_rate`, an L1 penalty `alpha` on leaves, a least gain
    `gamma`, and the shares `subsample` of the rows and `colsample` of the columns for each tree. The defaults are the
    paper's for SNLI but for `colsample` (0.95): with all rows and columns nothing is drawn. `threads` (0: all cores)
    change nothing but the time; where several models are trained side by side, one is best.
    """

    answers_as: ClassVar[str] = "boosted"
    rounds: int = 26
    max_depth: int = 15
    learning_rate: float = 0.55
    alpha: float = 0.65
    gamma: float = 0.15
    subsample: float = 1.0
    colsample: float = 1.0
    by_field: bool = False
    threads: int = 1

    def __post_init__(self) -> None:
        for name, (least, most, _) in _RANGES.items():
            if not least <= getattr(self, name) <= most:
                fix = f"give {least:g} to {most:g}"
                raise BadInput(f"found {getattr(self, name)}", where="boosted", field=name, fix=fix)

    def refuse_unready(self) -> None:
        """Refuse to begin without xgboost."""
        require_xgboost()

    def fit(self, data: TrainingData, folder: Path, seed: int) -> dict[str, float]:
        """Count the words, grow the trees, store both, and answer the validation rows."""
        import xgboost

        labels = data.task.labels
        columns = self._columns(data)
        matrix = columns.matrix([row.texts for row in data.train])
        gold = np.array([labels.index(str(row.label)) for row in data.train])
        table = xgboost.DMatrix(matrix, gold, nthread=self.threads or None)
        booster = xgboost.train(self._parameters(len(labels), seed), table, self.rounds)
        refuse_non_finite(predict(booster, matrix[:1000], len(labels), self.threads), "boosted")
        write_text(folder / WORDS, json.dumps(columns.as_dict()))
        with atomic(folder / TREES) as draft:
            draft.write_bytes(booster.save_raw("ubj"))
        answers = predict(booster, columns.matrix([row.texts for row in data.valid]), len(labels), self.threads)
        return validated(data, answers)

    def _columns(self, data: TrainingData) -> WordColumns:
        """The columns that a tree can split on; where a label names a field, words of different fields differ.

        A split needs a weight of 1 on either side, and a row weighs at most 0.5 (twice p times 1 - p): to leave out
        what a single row has changes no tree, and saves a fifth of the time.
        """
        texts = [row.texts for row in data.train]
        by_field = self.by_field or bool(options_of(data.task))
        return WordColumns.of(texts, by_field=by_field, least=2)

    def _parameters(self, labels: int, seed: int) -> dict[str, Any]:
        given = {option: getattr(self, name) for name, (_, _, option) in _RANGES.items() if option}
        fixed = {"objective": "multi:softprob", "num_class": labels, "tree_method": "hist", "verbosity": 0}
        return {**fixed, **given, "seed": seed}
