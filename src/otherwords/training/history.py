"""What a training writes into its folder while it runs: its log with a picture of the curves, and its checkpoint.

The log has a JSON line per validation. A checkpoint is safetensors (weights, optimiser, random state) and the progress,
written as a whole or not at all.
"""

import json
import math
import shutil
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..storage.files import disk_errors, write_text

FILE, PLOT, _CHECKPOINT = "log.jsonl", "log.svg", "checkpoint"
#: What became of the start's head, and the models of all validations, where they are kept.
START, CHECKPOINTS = "data/start.json", "checkpoints"
#: A panel's width and height inside its axes, and the margins around it.
_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP, _BELOW = 300, 200, 58, 52, 84, 48
_PANELS = (("Loss", "loss"), ("Accuracy", "accuracy"))
#: The curves of a panel, their colours and dashes: readable without colour, too.
_KINDS = (("train", "training", "#7a7a7a", "5 3"), ("valid", "validation", "#0b62a4", ""))
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#222}.title{font-weight:600;font-size:13px}.quiet{fill:#555}"
    ".grid{stroke:#e2e2e2}.axis{stroke:#888}path{fill:none;stroke-width:2}"
)

Points = list[tuple[float, float]]


class History:
    """The figures of a training, written to its folder as they are measured."""

    def __init__(self, folder: Path):
        self.path = folder / FILE
        self._sums: Any = None  # of loss, right answers and answers since the last line
        self._weight = 0

    def add(self, loss: Any, weight: int, right: Any, count: Any) -> None:
        """Add a portion to the running sums, on its device: reading them each time would stall it."""
        import torch

        sums = torch.stack([loss.detach(), right, count]).to(torch.float64)
        self._sums = sums if self._sums is None else self._sums + sums
        self._weight += weight

    def running(self) -> list[float]:
        """The running sums, for a checkpoint."""
        return [] if self._sums is None else [*self._sums.tolist(), self._weight]

    def restore(self, running: list[float], device: str) -> None:
        """Continue with the running sums of a checkpoint."""
        import torch

        if running:
            self._sums, self._weight = torch.tensor(running[:3], dtype=torch.float64, device=device), int(running[3])

    def write(self, **figures: float) -> None:
        """Write a line: the given figures, and the training loss and accuracy since the last line."""
        if running := self.running():
            loss, right, count, weight = running
            figures["train_loss"] = loss / weight
            if count:  # rows that only teachers label have no accuracy
                figures["train_accuracy"] = right / count
            self._sums, self._weight = None, 0
        _refuse_non_finite(figures)
        with self.path.open("a", encoding="utf-8") as log:
            log.write(json.dumps(figures) + "\n")
        write_text(self.path.with_name(PLOT), draw(self.lines()))

    def lines(self) -> list[dict[str, float]]:
        """All lines written so far."""
        if not self.path.is_file():
            return []
        whole = self.path.read_text(encoding="utf-8").rpartition("\n")[0]  # a killed process may leave half a line
        return [json.loads(line) for line in whole.splitlines()]

    def truncate(self, update: int) -> None:
        """Remove the lines after a checkpoint: these updates are repeated."""
        kept = [line for line in self.lines() if line["update"] <= update]
        self.path.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")

    def best(self) -> dict[str, float]:
        """The line of the model that is kept: the first best on validation, or the last without validation."""
        lines = self.lines()
        return max(lines, key=lambda line: line.get("valid_accuracy", line["update"])) if lines else {}


def _refuse_non_finite(figures: dict[str, float]) -> None:
    for name, value in figures.items():
        if not math.isfinite(value):
            fix = "lower learning_rate, or set precision to fp32; then train again in another folder"
            raise BadInput(f"training diverged: {name} is {value}", field="learning_rate", fix=fix)


# The checkpoint


def save_checkpoint(folder: Path, model: Any, optimizer: Any, progress: dict[str, Any]) -> None:
    """Replace the checkpoint of a training by the current state."""
    import torch
    from safetensors.torch import save_file

    new, old, kept = (folder / name for name in (f"{_CHECKPOINT}.new", f"{_CHECKPOINT}.old", _CHECKPOINT))
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    numbers = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        numbers["cuda"] = torch.cuda.get_rng_state()  # gpu only
    with disk_errors(new):
        save_file(_weights(model), new / "model.safetensors")
        save_file(_moments(model, optimizer), new / "optimizer.safetensors")
        save_file(numbers, new / "random.safetensors")
        (new / "progress.json").write_text(json.dumps(progress), encoding="utf-8")
    if kept.exists():  # otherwise a killed process left only the old one
        shutil.rmtree(old, ignore_errors=True)
        kept.rename(old)
    new.rename(kept)
    shutil.rmtree(old, ignore_errors=True)


def load_checkpoint(folder: Path, model: Any, optimizer: Any) -> dict[str, Any] | None:
    """Restore a training from its checkpoint and return its progress; None without a checkpoint."""
    import torch
    from safetensors.torch import load_file

    if not has_checkpoint(folder):
        return None
    names = (_CHECKPOINT, f"{_CHECKPOINT}.old")  # only the old one where a process was killed between two renames
    kept = next(folder / name for name in names if (folder / name).exists())
    stored = load_file(kept / "model.safetensors")
    with torch.no_grad():
        for name, weight in _weights(model).items():
            weight.copy_(stored[name])
    _restore(model, optimizer, load_file(kept / "optimizer.safetensors"))
    numbers = load_file(kept / "random.safetensors")
    torch.set_rng_state(numbers["cpu"])
    if "cuda" in numbers and torch.cuda.is_available():
        torch.cuda.set_rng_state(numbers["cuda"])  # gpu only
    progress: dict[str, Any] = json.loads((kept / "progress.json").read_text(encoding="utf-8"))
    return progress


def has_checkpoint(folder: Path) -> bool:
    """Whether a training can be resumed."""
    return any((folder / name / "progress.json").is_file() for name in (_CHECKPOINT, f"{_CHECKPOINT}.old"))


def is_trained(folder: Path) -> bool:
    """Whether a training is finished: its weights are written last."""
    return (folder / "model.safetensors").is_file()


def remove_checkpoint(folder: Path) -> None:
    """Remove the checkpoint of a finished training."""
    for name in (f"{_CHECKPOINT}.new", f"{_CHECKPOINT}.old", _CHECKPOINT):
        shutil.rmtree(folder / name, ignore_errors=True)


def _weights(model: Any) -> dict[str, Any]:
    """Parameters, each once: tied ones share a tensor, which safetensors refuses to store twice."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def _moments(model: Any, optimizer: Any) -> dict[str, Any]:
    states = optimizer.state
    return {
        f"{name}:{part}": value
        for name, parameter in model.named_parameters()
        for part, value in states.get(parameter, {}).items()
    }


def _restore(model: Any, optimizer: Any, stored: dict[str, Any]) -> None:
    parameters = dict(model.named_parameters())
    for key, value in stored.items():
        name, _, part = key.rpartition(":")
        parameter = parameters[name]
        # `step` stays on the CPU, or on the device of the weights if the optimiser is fused.
        moved = part != "step" or bool(optimizer.param_groups[0].get("fused"))
        optimizer.state[parameter][part] = value.to(parameter.device) if moved else value


# The picture


def draw(lines: Sequence[dict[str, float]]) -> str:
    """Draw the lines of a log; the description of the picture says the last of them in words."""
    width, height = _LEFT + 2 * _WIDTH + _GAP + 24, _TOP + _HEIGHT + _BELOW
    panels = "".join(_panel(lines, i, title, figure) for i, (title, figure) in enumerate(_PANELS))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">\n<title>Loss and accuracy over the epochs of a training</title>\n'
        f"<desc>{escape(describe(lines))}</desc>\n<style>{_STYLE}</style>\n"
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n{_legend()}{panels}</svg>\n'
    )


def describe(lines: Sequence[dict[str, float]]) -> str:
    """Say in words where the curves end.

    >>> describe([{"epoch": 2.0, "train_loss": 0.5, "valid_accuracy": 0.75}])
    'After epoch 2: training loss 0.5, validation accuracy 0.75.'
    """
    last = lines[-1]
    figures = [
        f"{kind} {figure} {last[f'{short}_{figure}']:.4g}"
        for _, figure in _PANELS
        for short, kind, _, _ in _KINDS
        if f"{short}_{figure}" in last
    ]
    return f"After epoch {last['epoch']:g}: {', '.join(figures)}."


def _legend() -> str:
    parts = []
    for i, (_, kind, colour, dashes) in enumerate(_KINDS):
        x = _LEFT + 110 * i
        parts.append(f'<path d="M{x} 16h26" stroke="{colour}" stroke-dasharray="{dashes}"/>')
        parts.append(f'<text x="{x + 32}" y="20">{kind}</text>\n')
    return "".join(parts)


def _panel(lines: Sequence[dict[str, float]], number: int, title: str, figure: str) -> str:
    left, bottom = _LEFT + number * (_WIDTH + _GAP), _TOP + _HEIGHT
    curves = {kind[0]: _points(lines, f"{kind[0]}_{figure}") for kind in _KINDS}
    ticks = round_ticks([value for points in curves.values() for _, value in points] or [0.0, 1.0])
    epochs = max(1, math.ceil(lines[-1]["epoch"]))
    parts = [f'<text class="title" x="{left}" y="{_TOP - 12}">{title}</text>\n']
    for tick in ticks:
        y = _y(tick, ticks)
        parts.append(f'<line class="grid" x1="{left}" x2="{left + _WIDTH}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text class="quiet" x="{left - 8}" y="{y + 4}" text-anchor="end">{tick:.4g}</text>\n')
    for epoch in range(0, epochs + 1, math.ceil(epochs / 10)):
        x = left + _WIDTH * epoch / epochs
        parts.append(f'<text class="quiet" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{epoch}</text>')
    parts.append(f'<line class="axis" x1="{left}" x2="{left + _WIDTH}" y1="{bottom}" y2="{bottom}"/>\n')
    parts.append(f'<text class="quiet" x="{left + _WIDTH / 2}" y="{bottom + 38}" text-anchor="middle">epochs</text>\n')
    for short, kind, colour, dashes in _KINDS:
        at = [(left + _WIDTH * epoch / epochs, _y(value, ticks)) for epoch, value in curves[short]]
        parts.append(_curve(at, f"{kind} {figure}", colour, dashes))
    return "".join(parts)


def _curve(at: Points, name: str, colour: str, dashes: str) -> str:
    if not at:
        return ""
    way = "L".join(f"{x:.1f} {y:.1f}" for x, y in at)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in at)
    return f'<g><title>{name}</title><path d="M{way}" stroke="{colour}" stroke-dasharray="{dashes}"/>{dots}</g>\n'


def _points(lines: Sequence[dict[str, float]], name: str) -> Points:
    return [(line["epoch"], line[name]) for line in lines if name in line]


def _y(value: float, ticks: Sequence[float]) -> float:
    return round(_TOP + _HEIGHT * (ticks[-1] - value) / (ticks[-1] - ticks[0]), 1)


def round_ticks(values: Sequence[float], most: int = 5) -> list[float]:
    """Round numbers around all values, in at most so many steps within them.

    >>> round_ticks([0.52, 0.81])
    [0.5, 0.6, 0.7, 0.8, 0.9]
    """
    low, high = min(values), max(values)
    if high - low <= 1e-9 * max(abs(low), abs(high)):  # a single point is drawn in the middle
        low, high = low - (abs(low) / 10 or 1.0), high + (abs(high) / 10 or 1.0)
    spread = high - low
    step = 10.0 ** math.floor(math.log10(spread))
    step = next(step * part for part in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0) if spread / (step * part) <= most)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{i * step:.12g}") for i in range(first, last + 1)]
