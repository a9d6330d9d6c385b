"""Fine-tune an encoder: the loop behind `otherwords train`, the bundled models and the models of the invariance test.

It imports only torch, transformers and numpy.
"""

import math
import shutil
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput
from ..inference.tokens import Ints
from ..progress import current
from ..storage.files import write_json
from . import history
from .objectives import Examples, MaskedWords, StartModel, TextLabels, load_start_model
from .settings import TrainingSettings

#: A checkpoint is written at every validation, and in between after so many seconds.
_CHECKPOINT_SECONDS = 600
#: Rows of similar length share a batch: so many batches are filled from a shuffled pool sorted by length.
_POOL = 64
#: Rows of a batch in validation.
_ROWS = 256


def finetune(settings: TrainingSettings, train: Examples, valid: Examples | None, folder: Path) -> dict[str, float]:
    """Train, and write the best model to `folder`, where `hf:FOLDER` finds it; return its validation figures.

    An interrupted training in the folder is resumed; a finished one is not repeated.
    """
    if history.is_trained(folder):
        _sweep(folder)
        return history.History(folder).best()
    folder.mkdir(parents=True, exist_ok=True)
    return _Run(settings, train, valid, folder).run()


@dataclass
class _TrainingState:
    """Where a training is: epochs, batches of this epoch, updates and validations done; and the best validation."""

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


class _Run:
    def __init__(self, settings: TrainingSettings, train: Examples, valid: Examples | None, folder: Path):
        import torch

        self.settings, self.folder = settings, folder
        torch.manual_seed(settings.seed)
        self.start = load_start_model(settings)
        self.device = self.start.device
        self.train = self.start.objective(train, settings)
        merged = merged_numbers(settings)
        self.valid = self.start.objective(valid, settings, merged) if valid is not None and len(valid) else None
        if cut := int(self.train.tokens.cut.sum()):
            longest = int(self.train.tokens.lengths.max())
            warnings.warn(f"{cut} of {len(train)} examples have more than {longest} tokens: truncated", stacklevel=3)
        self.model = self.start.model.to(self.device)
        self.batches = math.ceil(len(train) / settings.batch)
        self.optimizer = make_optimizer(self.model, settings, fused=self.device.startswith("cuda"))
        self.state, self.history = _TrainingState(), history.History(folder)

    def run(self) -> dict[str, float]:
        state, progress = self.state, history.load_checkpoint(self.folder, self.model, self.optimizer)
        if progress:
            self.history.restore(progress.pop("heard"), self.device)
            vars(state).update(progress)
        self.history.truncate(state.updates)
        write_json(self.folder / history.START, self.start.head.as_dict())
        with delayed_interrupt() as interrupted:
            while state.epoch < self.settings.epochs and not state.stopped:
                self._epoch(interrupted)
                current().done()
                state.epoch, state.batch = state.epoch + 1, 0
        return self._finish()

    def _epoch(self, interrupted: Callable[[], bool]) -> None:
        state, settings = self.state, self.settings
        plan = list(batches(self.train.lengths, settings.batch, settings.seed, state.epoch))
        current().start(f"epoch {state.epoch + 1} of {settings.epochs}", len(self.train.lengths))
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
        """One update. The losses of all portions are summed before they are divided: portions may be unequal."""
        import torch

        state, settings = self.state, self.settings
        inputs = self.train.batch(rows, np.random.default_rng([settings.seed, state.epoch, state.batch]))
        weight = self.train.weight(inputs)
        self.model.train()
        for portion in portions(inputs, settings.accumulate):
            with self.start.autocast():
                loss, right, count = self.train.loss(self.model, self.start.send(portion))
            (loss / max(1, weight)).backward()
            self.history.add(loss, self.train.weight(portion), right, count)
        factor = rate_factor(state.updates, settings.epochs * self.batches, settings.warmup)
        for group in self.optimizer.param_groups:
            group["lr"] = settings.learning_rate * factor
        if settings.clip:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), settings.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        state.batch, state.updates = state.batch + 1, state.updates + 1

    def _validate(self) -> None:
        state = self.state
        figures = evaluate(self.model, self.valid, self.start) if self.valid is not None else {}
        state.evaluations += 1
        state.tick()
        seen = state.epoch + state.batch / self.batches
        self.history.write(epoch=round(seen, 4), update=state.updates, seconds=round(state.seconds, 1), **figures)
        _refuse_non_finite(self.model)
        if self.settings.checkpoints:
            self._keep()
        if not figures or figures["valid_accuracy"] > state.best:
            state.best, state.best_at = figures.get("valid_accuracy", 0.0), state.evaluations
            self.start.save(self.model, self._best())
        elif self.settings.patience and state.evaluations - state.best_at >= self.settings.patience:
            state.stopped = True
        self._checkpoint()
        for other in self.folder.glob("best-*"):  # only now: the previous checkpoint refers to it
            if other != self._best():
                shutil.rmtree(other)

    def _keep(self) -> None:
        """Keep the model of this validation, whole or not at all: `checkpoints/000120` is that of update 120."""
        kept = self.folder / history.CHECKPOINTS / f"{self.state.updates:06d}"
        draft = kept.with_name(f".{kept.name}")
        for left in (draft, kept):  # of a training that was killed after its last checkpoint
            shutil.rmtree(left, ignore_errors=True)
        self.start.save(self.model, draft)
        draft.rename(kept)

    def _best(self) -> Path:
        return self.folder / f"best-{self.state.best_at}"

    def _checkpoint(self) -> None:
        self.state.tick()
        progress = {**self.state.as_dict(), "heard": self.history.running()}
        history.save_checkpoint(self.folder, self.model, self.optimizer, progress)

    def _finish(self) -> dict[str, float]:
        """Move the best model to its place, the weights last: a folder that has them is finished."""
        for file in sorted(self._best().iterdir(), key=lambda file: file.suffix == ".safetensors"):
            file.replace(self.folder / file.name)
        _sweep(self.folder)
        return self.history.best()


def evaluate(model: Any, valid: TextLabels | MaskedWords, start: StartModel) -> dict[str, float]:
    """The mean loss, and the share of labels or masked tokens that are right; the same batches every time."""
    import torch

    model.eval()
    order, sums = np.argsort(valid.lengths, kind="stable"), torch.zeros(3, dtype=torch.float64)
    for first in range(0, len(order), _ROWS):
        inputs = valid.batch(order[first : first + _ROWS], np.random.default_rng([0, first]))
        with torch.inference_mode(), start.autocast():
            loss, right, count = valid.loss(model, start.send(inputs))
        sums += torch.stack([loss, right, count]).to("cpu", torch.float64)
    total_loss, total_right, total = sums.tolist()
    if not total:
        missing = "labelled rows" if isinstance(valid, TextLabels) else "tokens to mask"
        raise BadInput(f"validation data has no {missing}", field="valid", fix="give other rows to validate on")
    return {"valid_loss": total_loss / total, "valid_accuracy": total_right / total}


def _refuse_non_finite(model: Any) -> None:
    """Refuse NaN and infinity in weights, which no figure need show: those of tokens that no row has."""
    import torch

    finite = torch.stack([torch.isfinite(weight).all() for weight in model.parameters()])
    if not finite.all():  # read once for all
        fix = "lower learning_rate, or start from another model; then train again in another folder"
        raise BadInput("training failed: its weights are not finite", field="learning_rate", fix=fix)


def merged_numbers(settings: TrainingSettings) -> tuple[int, ...]:
    """For each label of a training, the number of the label that validation data has for it; none if it has the same.

    >>> names = {"entailment": "entailed", "neutral": "not-entailed", "contradiction": "not-entailed"}
    >>> merged_numbers(TrainingSettings("encoder", merged=names))
    (0, 1, 1)
    """
    asked = list(dict.fromkeys(settings.merged.values()))
    return tuple(asked.index(settings.merged[label]) for label in settings.labels) if asked else ()


# Parts of an update: each follows from the seed and its number alone


def batches(lengths: Ints, size: int, seed: int, epoch: int) -> Iterator[Ints]:
    """All rows once, in batches of similar length, in another order in each epoch.

    >>> rows = [batch.tolist() for batch in batches(np.array([3, 9, 3, 9, 3]), size=2, seed=1, epoch=0)]
    >>> sorted(sum(rows, [])), sorted(map(len, rows))
    ([0, 1, 2, 3, 4], [1, 2, 2])
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(lengths))
    pools = (order[i : i + size * _POOL] for i in range(0, len(order), size * _POOL))
    by_length = [pool[np.argsort(lengths[pool], kind="stable")] for pool in pools]
    plan = [pool[i : i + size] for pool in by_length for i in range(0, len(pool), size)]
    yield from (plan[i] for i in random.permutation(len(plan)))


def rate_factor(update: int, total: int, warmup: float) -> float:
    """The share of the learning rate that an update uses: up to one during the warm-up, then linearly to zero.

    >>> [rate_factor(update, total=10, warmup=0.2) for update in (0, 1, 2, 6)]
    [0.5, 1.0, 1.0, 0.5]
    """
    rise = round(total * warmup)
    if update < rise:
        return (update + 1) / rise
    return max(0.0, (total - update) / max(1, total - rise))


def portions(inputs: dict[str, Any], count: int) -> Iterator[dict[str, Any]]:
    """Split a batch into `count` parts of nearly equal size, or one per row where there are fewer.

    >>> [part["labels"].tolist() for part in portions({"labels": np.arange(5)}, 2)]
    [[0, 1], [2, 3, 4]]
    """
    rows = len(inputs["labels"])
    ends = np.linspace(0, rows, min(count, rows) + 1).round().astype(int)
    return ({name: value[a:b] for name, value in inputs.items()} for a, b in pairwise(ends))


def make_optimizer(model: Any, settings: TrainingSettings, *, fused: bool) -> Any:
    """AdamW, without weight decay of biases and normalisations."""
    import torch

    weights = [p for p in model.parameters() if p.requires_grad and p.ndim > 1]
    others = [p for p in model.parameters() if p.requires_grad and p.ndim <= 1]
    groups = [{"params": weights, "weight_decay": settings.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, eps=settings.adam_epsilon, fused=fused)


@contextmanager
def delayed_interrupt() -> Iterator[Callable[[], bool]]:
    """Delay the first Ctrl-C: the given function says whether there was one. A second one interrupts at once."""
    if threading.current_thread() is not threading.main_thread():  # where signals cannot be caught
        yield lambda: False
        return
    signals: list[int] = []

    def note(number: int, frame: Any) -> None:
        if signals:
            raise KeyboardInterrupt
        signals.append(number)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(signals)
    finally:
        signal.signal(signal.SIGINT, before)


def _sweep(folder: Path) -> None:
    """Remove what only an unfinished training needs."""
    for left in folder.glob("best-*"):
        shutil.rmtree(left)
    history.remove_checkpoint(folder)
