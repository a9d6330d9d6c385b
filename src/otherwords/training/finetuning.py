"""Fine-tune an encoder: the one loop behind `otherwords train`, the embedded models and the invariance test's models.

It imports torch, transformers and numpy alone.
"""

from __future__ import annotations

import math
import shutil
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..inference.tokens import Ints
from ..progress import current
from . import checkpoints
from .evaluating import evaluated
from .examples import Examples
from .history import History
from .order import batches, slope
from .settings import Settings
from .starting import start
from .stopping import between_steps
from .updating import optimizer, portions

#: A checkpoint is written at every validation, and in between after so many seconds.
_CHECKPOINT_SECONDS = 600


@dataclass
class _State:
    """Where a training is: epochs done, batches done in this one, validations; and the best of them so far."""

    epoch: int = 0
    batch: int = 0
    updates: int = 0
    best: float = -1.0
    best_at: int = 0
    evaluations: int = 0
    seconds: float = 0.0
    stopped: bool = False
    _since: float = field(default_factory=time.monotonic)

    def tick(self) -> None:
        now = time.monotonic()
        self.seconds, self._since = self.seconds + now - self._since, now

    def as_dict(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}


def finetune(settings: Settings, train: Examples, valid: Examples | None, folder: Path) -> dict[str, float]:
    """Train, and leave the best model in `folder`, where `hf:FOLDER` finds it; return its validation figures.

    What is in the folder from an earlier, interrupted call is gone on with; a finished one is not begun again.
    """
    if checkpoints.is_trained(folder):
        _sweep(folder)
        return History(folder).best()
    folder.mkdir(parents=True, exist_ok=True)
    return _Training(settings, train, valid, folder).run()


class _Training:
    def __init__(self, settings: Settings, train: Examples, valid: Examples | None, folder: Path):
        import torch

        self.settings, self.folder = settings, folder
        torch.manual_seed(settings.seed)
        self.started = start(settings)
        self.device = self.started.device
        self.train = self.started.objective(train, settings)
        self.valid = self.started.objective(valid, settings) if valid is not None and len(valid) else None
        if cut := int(self.train.tokens.cut.sum()):
            longest = int(self.train.tokens.lengths.max())
            warnings.warn(f"{cut} of {len(train)} examples have more than {longest} tokens: cut", stacklevel=3)
        self.model = self.started.model.to(self.device)
        self.batches = math.ceil(len(train) / settings.batch)
        self.optimizer = optimizer(self.model, settings, fused=self.device.startswith("cuda"))
        self.state, self.history = _State(), History(folder)

    def run(self) -> dict[str, float]:
        state, found = self.state, checkpoints.load(self.folder, self.model, self.optimizer)
        if found:
            self.history.hear_again(found.pop("heard"), self.device)
            vars(state).update(found)
        self.history.cut_to(state.updates)
        with between_steps() as interrupted:
            while state.epoch < self.settings.epochs and not state.stopped:
                self._epoch(interrupted)
                current().done()
                state.epoch, state.batch = state.epoch + 1, 0
        return self._finish()

    def _epoch(self, interrupted: Callable[[], bool]) -> None:
        state, settings = self.state, self.settings
        plan = list(batches(self.train.tokens.lengths, settings.batch, settings.seed, state.epoch))
        current().start(f"epoch {state.epoch + 1} of {settings.epochs}", len(self.train.tokens))
        current().advance(sum(len(rows) for rows in plan[: state.batch]))
        validate_at = {round(len(plan) * (i + 1) / settings.evaluations) for i in range(settings.evaluations)}
        for rows in plan[state.batch :]:
            self._step(rows)
            current().advance(len(rows))
            if state.batch in validate_at:
                self._validate()
                if state.stopped:
                    return
            elif interrupted() or time.monotonic() - state._since > _CHECKPOINT_SECONDS:
                self._checkpoint()
            if interrupted():
                raise KeyboardInterrupt

    def _step(self, rows: Ints) -> None:
        """One update. The losses of all portions are added up before they are divided: portions may be unequal."""
        import torch

        state, settings = self.state, self.settings
        inputs = self.train.batch(rows, np.random.default_rng([settings.seed, state.epoch, state.batch]))
        weight = self.train.weight(inputs)
        self.model.train()
        for portion in portions(inputs, settings.accumulate):
            with self.started.autocast():
                loss, right, count = self.train.loss(self.model, self.started.send(portion))
            (loss / max(1, weight)).backward()
            self.history.hear(loss, self.train.weight(portion), right, count)
        for group in self.optimizer.param_groups:
            group["lr"] = settings.learning_rate * slope(state.updates, settings.epochs * self.batches, settings.warmup)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), settings.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        state.batch, state.updates = state.batch + 1, state.updates + 1

    def _validate(self) -> None:
        state = self.state
        figures = evaluated(self.model, self.valid, self.started) if self.valid is not None else {}
        state.evaluations += 1
        state.tick()
        seen = state.epoch + state.batch / self.batches
        self.history.write(epoch=round(seen, 4), update=state.updates, seconds=round(state.seconds, 1), **figures)
        if not figures or figures["valid_accuracy"] > state.best:
            state.best, state.best_at = figures.get("valid_accuracy", 0.0), state.evaluations
            self.started.save(self.model, self._best())
        elif self.settings.patience and state.evaluations - state.best_at >= self.settings.patience:
            state.stopped = True
        self._checkpoint()
        for other in self.folder.glob("best-*"):  # only now: until the checkpoint was there, it was the best
            if other != self._best():
                shutil.rmtree(other)

    def _best(self) -> Path:
        return self.folder / f"best-{self.state.best_at}"

    def _checkpoint(self) -> None:
        self.state.tick()
        progress = {**self.state.as_dict(), "heard": self.history.heard()}
        checkpoints.save(self.folder, self.model, self.optimizer, progress)

    def _finish(self) -> dict[str, float]:
        """Move the best model to where it is looked for, the weights last: a folder that has them is done."""
        for file in sorted(self._best().iterdir(), key=lambda file: file.suffix == ".safetensors"):
            file.replace(self.folder / file.name)
        _sweep(self.folder)
        return self.history.best()


def _sweep(folder: Path) -> None:
    """Remove what only a training that goes on needs."""
    for left in folder.glob("best-*"):
        shutil.rmtree(left)
    checkpoints.forget(folder)
