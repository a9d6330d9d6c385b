"""The log of a training: a line of JSON per validation, and a picture of all of them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..storage.files import write_text
from .curves import draw

FILE, PLOT = "log.jsonl", "log.svg"


class History:
    """What was measured, kept in the training's folder as it is measured."""

    def __init__(self, folder: Path):
        self.path = folder / FILE
        self._heard: Any = None
        self._weight = 0

    def hear(self, loss: Any, weight: int, right: Any, count: Any) -> None:
        """Add a portion to the running figures, on its device: reading them each time would halt it."""
        import torch

        told = torch.stack([loss.detach(), right, count]).to(torch.float64)
        self._heard = told if self._heard is None else self._heard + told
        self._weight += weight

    def heard(self) -> list[float]:
        """The running figures, for a checkpoint."""
        return [] if self._heard is None else [*self._heard.tolist(), self._weight]

    def hear_again(self, told: list[float], device: str) -> None:
        """Go on with the running figures of a checkpoint."""
        import torch

        if told:
            self._heard, self._weight = torch.tensor(told[:3], dtype=torch.float64, device=device), int(told[3])

    def write(self, **figures: float) -> None:
        """Put down a line: the given figures, and the training loss and accuracy since the last."""
        if told := self.heard():
            loss, right, count, weight = told
            figures["train_loss"] = loss / weight
            if count:  # of rows that a teacher alone speaks of, nobody knows what is right
                figures["train_accuracy"] = right / count
            self._heard, self._weight = None, 0
        _refuse_nonsense(figures)
        with self.path.open("a", encoding="utf-8") as log:
            log.write(json.dumps(figures) + "\n")
        write_text(self.path.with_name(PLOT), draw(self.lines()))

    def lines(self) -> list[dict[str, float]]:
        """All that was put down."""
        if not self.path.is_file():
            return []
        whole = self.path.read_text(encoding="utf-8").rpartition("\n")[0]  # a killed process may leave half a line
        return [json.loads(line) for line in whole.splitlines()]

    def cut_to(self, update: int) -> None:
        """Forget lines of after a checkpoint: what they tell of is done again."""
        kept = [line for line in self.lines() if line["update"] <= update]
        self.path.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")

    def best(self) -> dict[str, float]:
        """The line of the model that was kept: the first best on validation, else the last."""
        lines = self.lines()
        return max(lines, key=lambda line: line.get("valid_accuracy", line["update"])) if lines else {}


def _refuse_nonsense(figures: dict[str, float]) -> None:
    for name, value in figures.items():
        if not math.isfinite(value):
            fix = "lower learning_rate, or set precision to fp32; then begin again in another folder"
            raise BadInput(f"the model learns no more: {name} is {value}", field="learning_rate", fix=fix)
