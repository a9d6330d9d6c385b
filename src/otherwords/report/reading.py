"""What a report is made of: a finished run, its scores, and what is counted in its answers."""

import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

import polars as pl

from ..answers.groups import OneAnswer, constant_answers, count_given
from ..answers.reading import answered
from ..answers.roles import CONTRAST, CONTROL
from ..answers.table import COUNT
from ..errors import BadInput
from ..frames import REJECTED
from ..problem import Score, Task
from ..storage.run_folder import RunFolder
from . import accounts, plot
from .browse import Wavering
from .flips import FlipCounts, refuse_missing


def finished_run(path: str | Path) -> tuple[RunFolder, list[Score]]:
    """The folder of a finished run, and its scores."""
    folder = RunFolder(path)
    if not (folder.path / "scores.json").exists():
        raise BadInput("has no scores.json", where=str(path), fix="give the folder of a finished run: otherwords run")
    scores = _read_scores(folder.path)
    if "task" not in folder.manifest:
        raise BadInput("has no manifest.json", where=str(path), fix="run the study again")
    return folder, scores


def _read_scores(folder: Path) -> list[Score]:
    """The scores of a run. Those of an earlier version do not say their unit: a number would look like a share."""
    fix = "run the study again"
    try:
        rows = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
        scores = [Score(**row) for row in rows]
    except (ValueError, TypeError, RecursionError) as error:
        raise BadInput(f"its scores.json is damaged: {error}", where=str(folder), fix=fix) from error
    if lacking := [one.name for one in fields(Score) if any(one.name not in row for row in rows)]:
        message = f"its scores.json is of an earlier version, without {', '.join(lacking)}"
        raise BadInput(message, where=str(folder), fix=fix)
    return scores


class AnswerCounts(NamedTuple):
    """What the page says of all answers: how many there are, their flips, labels and marks."""

    answers: int
    flips: FlipCounts
    wavering: Wavering
    given: pl.DataFrame
    marks: pl.DataFrame

    @property
    def constant(self) -> dict[str, OneAnswer]:
        """The models that give one answer to everything, or nearly."""
        return constant_answers(self.given)

    def ranked(self, scores: Sequence[Score]) -> tuple[list[str], list[plot.Bar]]:
        """All models, those that flip least first, and the bars of those that have one, in the same order."""
        every = list(dict.fromkeys([*(one.model for one in scores), *sorted(self.flips.models)]))
        bars = {model: bar for model in every if (bar := self.flips.bar(model)).total}
        models = plot.ranked(every, scores, list(bars.values()), self.constant)
        return models, [bars[model] for model in models if model in bars]

    def browsable(self, buckets: Sequence[pl.LazyFrame], task: Task) -> pl.Series | None:
        """The problems that a page can hold; None for all of them."""
        asked = self.given.group_by("model").agg(pl.col(COUNT).sum())[COUNT].to_list()
        return self.wavering.chosen(buckets, task.fields, max(asked, default=0))


def count_answers(answers: Sequence[pl.LazyFrame]) -> AnswerCounts:
    """Count answers part by part."""
    known, marks = ("model", "bucket", "variant", "gold", "pred", REJECTED), (CONTRAST, CONTROL)
    counts, wavering, total, given, marked = FlipCounts(), Wavering(), 0, [], []
    for part in answers:
        there = list(part.collect_schema())
        refuse_missing([*there, *(["gold"] if "gold" not in there else ())])
        columns = [name for name in there if name in (*known, *marks)]
        some, _ = answered(part.select(columns).collect())
        total += some.height
        given.append(count_given(some))
        marked.append(some.select(name for name in marks if name in some.columns).unique())
        wavering.add(counts.add(accounts.rewordings(some)))
    return AnswerCounts(total, counts, wavering, pl.concat(given), pl.concat(marked, how="diagonal_relaxed"))
