"""Pairs a second on one GPU, from strings to probabilities, of a classifier of RoBERTa-large's shape.

    PYTHONPATH=src python -m benchmarks.gpu --pairs PAIRS.jsonl [--model FOLDER] [--tokenizer FILE] [--out FILE.json]

Needs torch, transformers, tokenizers and numpy, and no more. PAIRS.jsonl has premise, hypothesis and perhaps label;
FOLDER is a trained classifier, whose labels in half precision and in 8 bits are held against fp32 (by itself nli-small,
which needs onnx). Every experiment stands alone: what fails is
written down, and the rest goes on. With --small it runs anywhere in a minute, to try the script itself. `gpu_explore`
times the forward pass by itself, and its parts.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers.utils import logging

from otherwords.inference import hf_folders
from otherwords.models import huggingface

from .gpu_busy import GPU, busy, traced
from .gpu_checks import Texts, batch, full, masked_words, precision, recorded
from .gpu_models import LARGE, PLACE, SMALL, build, recombined, trained

#: Settings of `hf` that are timed from strings to probabilities.
RUNS = {
    **{name: {"forward": name} for name in ("transformers", "compiled", "lean", "fused")},
    "float8": {"dtype": "float8"},
}
#: A run asks shard by shard, unless there is one only.
SHARD = 20_000


class Log:
    """Keeps what is known so far, in memory and in a file, and prints it as soon as it is known."""

    def __init__(self, out: str):
        self.out, self.start = out, time.perf_counter()
        self.kept: dict[str, Any] = {"machine": _machine(), "results": {}}

    def __call__(self, name: str, experiment: Callable[[], Any]) -> Any:
        try:
            found = experiment()
        except Exception as error:  # one experiment that fails must not cost the others
            found = {"failed": f"{type(error).__name__}: {str(error)[:600]}"}
        self.kept["results"][name] = found
        print(f"[{time.perf_counter() - self.start:5.0f} s] {name}: {json.dumps(found)}", flush=True)
        if self.out:
            Path(self.out).parent.mkdir(parents=True, exist_ok=True)
            Path(self.out).write_text(json.dumps(self.kept, indent=2) + "\n")
        _tidy()
        return found


def main() -> None:
    options = _options()
    warnings.simplefilter("ignore")
    warnings.filterwarnings("default", "kernels for short texts")
    logging.disable_progress_bar()
    log = Log(options.out)
    given = [json.loads(line) for line in Path(options.pairs).read_text().splitlines()]
    texts, shape = recombined(given, options.count), SMALL if options.small else LARGE
    with tempfile.TemporaryDirectory() as folder:
        log("build", lambda: build(Path(folder), shape, given, options.tokenizer))
        peak = log("matmul peak", _matmul_peak).get("tflops", 0)
        log("tokenizer", lambda: _tokenizer_rate(folder, texts[::4]))
        reference: list[Any] = []
        for name in options.runs.split(","):
            choice = {**RUNS[name], **({"tokens": options.tokens} if options.tokens else {})}
            log(f"end to end: {name}", lambda c=choice: _end_to_end(folder, texts, c, peak, shape, reference))
            log(f"traced: {name}", lambda c=choice: _traced(folder, texts, c))
        for name in options.shards.split(",") if options.shards else ():
            choice = RUNS[name]
            title, some = f"in calls of {SHARD:,}: {name}", _shards(texts)
            log(title, lambda c=choice, s=some: _end_to_end(folder, s, c, peak, shape, [], SHARD))
            log(f"traced, {title}", lambda c=choice, s=some: _traced(folder, s, c, SHARD))
        log("recorded kernels", lambda: recorded(folder, texts[::3]))
        if options.only_runs:
            return
        log("peer: pipeline, fp32, 32", lambda: _pipeline(folder, texts, torch.float32, 32, options.peer))
        log("peer: pipeline, bf16, 128", lambda: _pipeline(folder, texts, torch.bfloat16, 128, 2 * options.peer))
        log("memory ends at 8 GB", lambda: full(folder, texts[::10], 8))
    with tempfile.TemporaryDirectory() as folder:
        chosen = options.model or folder
        if not options.model:
            log("nli-small", lambda: trained(Path(folder)))
        log("memory ends at 1 GB, trained model", lambda: full(chosen, texts[::10], 1))
        log("other arithmetic, trained model", lambda: precision(chosen, given))
    log("masked-lm", lambda: masked_words(shape, given, options.tokenizer))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", required=True)
    parser.add_argument(
        "--model", default="", help="a trained classifier, for labels in other arithmetic (else nli-small)"
    )
    parser.add_argument("--tokenizer", default="", help="a tokenizer.json (else one is trained on the pairs)")
    parser.add_argument("--out", default="")
    parser.add_argument("--count", type=int, default=196_608, help="pairs from end to end")
    parser.add_argument("--peer", type=int, default=1024, help="pairs for the peers")
    parser.add_argument("--runs", default=",".join(RUNS), help="which settings, separated by commas")
    parser.add_argument("--shards", default="fused,float8", help="which of them also in calls of a shard each")
    parser.add_argument("--only-runs", action="store_true", help="no peers, no checks")
    parser.add_argument("--tokens", type=int, default=0, help="tokens a batch, instead of the default")
    parser.add_argument("--small", action="store_true", help="a tiny model, to try the script")
    return parser.parse_args()


def _end_to_end(
    folder: str,
    texts: Texts,
    choice: dict[str, Any],
    peak: float,
    shape: dict[str, int],
    reference: list[Any],
    size: int = 0,
) -> dict[str, Any]:
    """As `ask` sends them: chunks of `size` (or Model.batch_size) in, probabilities out. Some of them warm up."""
    with busy() as seen:
        start = time.perf_counter()
        model = huggingface.hf(folder, **choice)
        model(batch(texts[::10]))
        ready = time.perf_counter() - start
        seen.forget()
        start, size = time.perf_counter(), size or model.batch_size
        parts = [model(batch(texts[first : first + size])).answers for first in range(0, len(texts), size)]
        wall = time.perf_counter() - start
    answers, flops = np.concatenate(parts), seen.flops(shape) / wall / 1e12
    reference[:] = reference or [answers]
    return {
        "pairs_per_s": len(texts) / wall,
        "tokens_per_s": seen.tokens / wall,
        "filled_up": 1 - seen.tokens / sum(seen.places),
        "batches": len(seen.places),
        "tflops": flops,
        "of_peak": flops / peak if peak else None,
        "gpu_idle": 1 - seen.seconds() / wall if GPU else None,
        "peak_gb": torch.cuda.max_memory_allocated() / 1e9 if GPU else None,
        "ready_s": ready,
        "labels": np.bincount(answers.argmax(axis=1), minlength=3).tolist(),
        "other_labels_than_default": float((answers.argmax(axis=1) != reference[0].argmax(axis=1)).mean()),
        "largest_difference_from_default": float(np.abs(answers - reference[0]).max()),
    }


def _shards(texts: Texts) -> Texts:
    """The texts as a run asks them: in shards of all lengths, each ordered by length."""
    order = np.random.default_rng(0).permutation(len(texts))
    parts = (sorted(order[first : first + SHARD].tolist()) for first in range(0, len(order), SHARD))
    return [texts[number] for part in parts for number in part]


def _traced(folder: str, texts: Texts, choice: dict[str, Any], size: int = 0) -> dict[str, Any]:
    """The same again under the profiler: the share of the time in which no kernel and no copy ran, and the longest."""
    model = huggingface.hf(folder, **choice)
    model(batch(texts[::10]))
    size = size or model.batch_size
    with traced() as trace:
        start = time.perf_counter()
        for first in range(0, len(texts), size):
            model(batch(texts[first : first + size]))
        wall = time.perf_counter() - start
    idle = 1 - trace.seconds() / wall if trace.spans else None
    rest = {"gaps": trace.gaps(), "kernel_seconds": trace.kernels()}
    return {"pairs_per_s": len(texts) / wall, "gpu_idle": idle, **rest}


def _pipeline(folder: str, texts: Texts, dtype: Any, size: int, count: int) -> dict[str, float]:
    from transformers import pipeline

    classify = pipeline("text-classification", model=folder, device=0 if GPU else -1, dtype=dtype)
    asked = [{"text": a, "text_pair": b} for a, b in texts[:: max(1, len(texts) // count)][:count]]
    np.random.default_rng(0).shuffle(asked)  # as they come: nobody sorts them for a pipeline
    classify(asked[: 2 * size], batch_size=size)
    start = time.perf_counter()
    classify(asked, batch_size=size)
    return {"pairs_per_s": len(asked) / (time.perf_counter() - start), "pairs": len(asked)}


def _tokenizer_rate(folder: str, texts: Texts) -> dict[str, float]:
    encode = huggingface._encoder(hf_folders.load_tokenizer(hf_folders.find(folder)), 256)
    encode(texts[:4096])
    start = time.perf_counter()
    lengths = np.concatenate([encode(texts[first : first + 4096]).lengths for first in range(0, len(texts), 4096)])
    rate = len(texts) / (time.perf_counter() - start)
    return {"pairs_per_s": rate, "mean": float(lengths.mean()), "longest": int(lengths.max())}


def _matmul_peak() -> dict[str, float]:
    size = 8192 if GPU else 512
    a, b = (torch.randn(size, size, dtype=torch.bfloat16, device=PLACE) for _ in range(2))
    for times in (3, 20):
        (a @ b)[0, 0].item()
        start = time.perf_counter()
        for _ in range(times):
            product = a @ b
        product[0, 0].item()  # waits
    return {"tflops": 2 * size**3 * times / (time.perf_counter() - start) / 1e12}


def _tidy() -> None:
    torch._dynamo.reset()
    gc.collect()
    if GPU:
        torch.cuda.empty_cache()


def _machine() -> dict[str, Any]:
    import tokenizers
    import transformers

    versions = {module.__name__: module.__version__ for module in (torch, transformers, tokenizers, np)}
    name = torch.cuda.get_device_name(0) if GPU else platform.processor()
    return {"device": name, "cores": os.cpu_count(), "python": platform.python_version(), **versions}


if __name__ == "__main__":
    main()
