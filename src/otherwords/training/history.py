"""The log of a training: a line of JSON per validation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = "log.jsonl"


class History:
    """What was measured, kept in the training's folder as it is measured."""

    def __init__(self, folder: Path):
        self.path = folder / FILE
        self._heard: Any = None

    def hear(self, loss: Any, right: Any, count: Any) -> None:
        """Add a batch to the running figures, on its device: reading them each time would halt it."""
        import torch

        one = torch.ones((), device=loss.device)
        now = torch.stack([loss.float(), one, right.float(), count.float()])
        self._heard = now if self._heard is None else self._heard + now

    def write(self, **figures: float) -> None:
        """Put down a line: the given figures, and the training loss and accuracy since the last."""
        if self._heard is not None:
            loss, batches, right, count = self._heard.tolist()
            figures["train_loss"], figures["train_accuracy"] = loss / batches, right / max(1.0, count)
            self._heard = None
        with self.path.open("a", encoding="utf-8") as log:
            log.write(json.dumps(figures) + "\n")

    def lines(self) -> list[dict[str, float]]:
        """All that was put down."""
        if not self.path.is_file():
            return []
        return [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]

    def cut_to(self, update: int) -> None:
        """Forget lines of after a checkpoint: what they tell of is done again."""
        kept = [line for line in self.lines() if line["update"] <= update]
        self.path.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")

    def best(self) -> dict[str, float]:
        """The line of the model that was kept: the first best on validation, else the last."""
        lines = self.lines()
        return max(lines, key=lambda line: line.get("valid_accuracy", line["update"])) if lines else {}
