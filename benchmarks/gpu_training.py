"""Train prepared cells on one GPU, several at a time, and ask each model its questions.

    PYTHONPATH=src python -m benchmarks.gpu_training PREPARED.tar.xz --start FOLDER --out RESULTS [--limit 520]

Needs torch, transformers and numpy, and no more; `gpu_training_data` makes the packed cells, and tables of what comes
back. FOLDER has the encoder to start from (its weights may be stored in half precision). RESULTS gets four small files,
which are whole after every cell: predictions.npz (probabilities, no texts), cells.json (what each cell was and how long
it took), logs.jsonl (the log of every training) and failures.txt. Run again, it goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tarfile
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np

WORKERS = 6
#: Which questions a cell is asked, by the beginning of its name.
ASKED = {"ie-": ("snli", "snli-reworded"), "d-nli-": ("paranlu", "d-nli-test")}
ANSWERS, ABOUT = "answers.npz", "about.json"


def main() -> int:
    """Unpack, let workers do the cells, and pack what they made."""
    given = _options()
    work = Path(given.work)
    if given.worker is not None:
        return do_cells(work, given.worker, given.workers, given.until, given.device)
    began = time.time()
    work.mkdir(parents=True, exist_ok=True)
    with tarfile.open(given.packed) as packed:
        packed.extractall(work, filter="data")
    _set_start(work, Path(given.start), given.epochs)
    until = began + given.limit
    for attempt in (1, 2):  # what a lost worker left is done by another
        missing = [cell for cell in _cells(work) if not (cell / ABOUT).is_file()]
        if missing and time.time() < until - 30:
            print(f"[{time.time() - began:.0f} s] attempt {attempt}: {len(missing)} cells to do", flush=True)
            _let_work(work, given, until, Path(given.out), began)
    pack(work, Path(given.out), began)
    left = [cell.name for cell in _cells(work) if not (cell / ABOUT).is_file()]
    print(f"[{time.time() - began:.0f} s] done; not done: {', '.join(left) or 'none'}", flush=True)
    return 1 if left else 0


def _options() -> Any:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packed")
    parser.add_argument("--start", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--work", default="/tmp/gpu-training")
    parser.add_argument("--limit", type=float, default=520, help="seconds after which nothing is begun or waited for")
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--epochs", type=int, default=0, help="fewer epochs, to try the script")
    parser.add_argument("--worker", type=int, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, default=0.0, help=argparse.SUPPRESS)
    return parser.parse_args()


def _cells(work: Path) -> list[Path]:
    """All cells, the longest first, so that none is begun last that takes long."""
    sizes = {cell: (cell / "data" / "train.jsonl").stat().st_size for cell in (work / "cells").iterdir()}
    return sorted(sizes, key=lambda cell: (-sizes[cell], cell.name))


def _set_start(work: Path, start: Path, epochs: int) -> None:
    """Say in every cell where the encoder is on this machine."""
    for cell in _cells(work):
        path = cell / "data" / "settings.json"
        settings = json.loads(path.read_text(encoding="utf-8")) | {"start": str(start.resolve())}
        settings |= {"epochs": epochs} if epochs else {}
        path.write_text(json.dumps(settings, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _let_work(work: Path, given: Any, until: float, out: Path, began: float) -> None:
    """Start the workers, pack what there is now and then, and end those that are late."""
    shared = [given.packed, "--start", given.start, "--out", given.out, "--work", given.work, "--device", given.device]
    command = [sys.executable, "-m", "benchmarks.gpu_training", *shared, "--workers", str(given.workers)]
    workers = [
        subprocess.Popen([*command, "--until", str(until), "--worker", str(number)]) for number in range(given.workers)
    ]
    packed = 0
    while any(worker.poll() is None for worker in workers) and time.time() < until:
        time.sleep(1)
        done = sum((cell / ABOUT).is_file() for cell in _cells(work))
        if done > packed:
            packed = done
            pack(work, out, began)
    for worker in workers:
        if worker.poll() is None:
            worker.terminate()
            worker.wait(10)


def do_cells(work: Path, number: int, workers: int, until: float, device: str) -> int:
    """Every n-th cell: train, ask, write; one that fails is written down, and the next one is begun."""
    for cell in _cells(work)[number::workers]:
        if (cell / ABOUT).is_file() or time.time() > until - 15:
            continue
        try:
            do_cell(work, cell, device)
        except Exception:  # one cell that fails must not cost the others
            (cell / "failed.txt").write_text(traceback.format_exc(), encoding="utf-8")
            print(f"{cell.name} failed: {traceback.format_exc(limit=-1)}", flush=True)
    return 0


def do_cell(work: Path, cell: Path, device: str) -> None:
    """Train one cell and ask its model; what says that it is done is written last."""
    import torch

    from otherwords.models.huggingface import hf
    from otherwords.problem import Batch, Task
    from otherwords.training.prepared import change_settings, train_prepared
    from otherwords.training.trainer import finish_if_begun

    began = time.time()
    change_settings(cell, device=device)
    figures = finish_if_begun(cell, train_prepared(cell))
    trained = time.time()
    model = hf(str(cell), max_length=128, device=device, dtype="float32", forward="transformers")
    answers = {}
    for name in next(names for start, names in ASKED.items() if cell.name.startswith(start)):
        asked = json.loads((work / "questions" / f"{name}.json").read_text(encoding="utf-8"))
        task = Task("asked", tuple(asked["fields"]), tuple(asked["labels"]))
        order = [model.labels.index(label) for label in task.labels]
        answers[name] = np.asarray(model(Batch(task, asked["columns"])).answers, np.float32)[:, order]
    np.savez(cell / ANSWERS, **answers)
    counts = json.loads((cell / "data" / "counts.json").read_text(encoding="utf-8"))
    settings = json.loads((cell / "data" / "settings.json").read_text(encoding="utf-8"))
    about = {"cell": cell.name, **counts, **figures, "seed": settings["seed"], "epochs": settings["epochs"]}
    place = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor()
    about |= {"train_seconds": round(trained - began, 1), "ask_seconds": round(time.time() - trained, 1)}
    about |= {"device": place, "torch": torch.__version__, "join": settings["join"]}
    (cell / ABOUT).write_text(json.dumps(about), encoding="utf-8")
    print(f"{cell.name}: {about['train_seconds']} + {about['ask_seconds']} s, {figures}", flush=True)


def pack(work: Path, out: Path, began: float) -> None:
    """Write what is done so far: four files, each replaced as a whole."""
    out.mkdir(parents=True, exist_ok=True)
    done = [cell for cell in sorted((work / "cells").iterdir()) if (cell / ABOUT).is_file()]
    arrays: dict[str, Any] = {}
    for cell in done:
        with np.load(cell / ANSWERS) as answers:
            arrays |= {f"{cell.name}/{name}": answers[name] for name in answers.files}
    draft = out / ".predictions.npz"
    np.savez_compressed(draft, **arrays)
    draft.replace(out / "predictions.npz")
    about = [json.loads((cell / ABOUT).read_text(encoding="utf-8")) for cell in done]
    lines = [
        json.dumps({"cell": cell.name, **json.loads(line)})
        for cell in done
        for line in (cell / "log.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    failed = [one for one in sorted((work / "cells").glob("*/failed.txt")) if one.parent not in done]
    texts = {
        "cells.json": json.dumps(about, indent=1) + "\n",
        "logs.jsonl": "".join(f"{line}\n" for line in lines),
        "failures.txt": "".join(f"== {one.parent.name}\n{one.read_text(encoding='utf-8')}\n" for one in failed),
    }
    for name, text in texts.items():
        (out / f".{name}").write_text(text, encoding="utf-8")
        (out / f".{name}").replace(out / name)
    print(f"[{time.time() - began:.0f} s] {len(done)} cells packed", flush=True)


if __name__ == "__main__":
    sys.exit(main())
