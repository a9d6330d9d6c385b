"""What is trained on: texts or pairs of texts, each with a label, a teacher's probabilities, or both."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import BadInput

#: The label of a row that has none: only a teacher says what it is.
UNLABELLED = -1


@dataclass(frozen=True)
class Examples:
    """Texts, their second texts (none for a masked-LM), label numbers, and a teacher's probabilities where it spoke."""

    firsts: Sequence[str]
    seconds: Sequence[str] | None = None
    labels: npt.NDArray[np.int64] | None = None
    taught: npt.NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.firsts)

    def with_teacher(self, probabilities: npt.NDArray[np.float32]) -> Examples:
        """The same, with what a teacher says of each."""
        return replace(self, taught=probabilities)


def read(path: Path, labels: Sequence[str]) -> Examples:
    """Read what `write` wrote."""
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    if not rows:
        raise BadInput("holds no examples", where=str(path))
    if len(rows[0]) == 1:
        return Examples([row[0] for row in rows])
    number = {label: i for i, label in enumerate(labels)} | {None: UNLABELLED}
    if strangers := {str(row[2]) for row in rows if row[2] not in number}:
        raise BadInput(f"has the labels {', '.join(sorted(strangers))}", where=str(path), fix=f"name all in {labels}")
    codes = np.array([number[row[2]] for row in rows], np.int64)
    return Examples([row[0] for row in rows], [row[1] for row in rows], codes)


def write(path: Path, rows: Iterable[Sequence[str | None]]) -> int:
    """Write rows `[text]` or `[first, second, label or null]` as JSON lines; say how many."""
    count = 0
    with path.open("w", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps(list(row), ensure_ascii=False) + "\n")
            count += 1
    return count
