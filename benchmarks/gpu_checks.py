"""What must hold beside speed: memory that ends, half precision against single, and masked words."""

from __future__ import annotations

import gc
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from otherwords.inference import torch_device
from otherwords.models import huggingface
from otherwords.problem import TASKS, Batch

from .gpu_busy import GPU, busy
from .gpu_models import Given, build_masked_lm

Texts = list[tuple[str, str]]


def batch(texts: Texts) -> Batch:
    return Batch(TASKS["nli"], {"premise": [a for a, _ in texts], "hypothesis": [b for _, b in texts]})


def full(folder: str, texts: Texts, gigabytes: float) -> dict[str, Any]:
    """With far too many tokens a batch for the memory allowed: the same labels, after some halving."""
    reference = huggingface.hf(folder)(batch(texts)).answers
    counted, real = [], torch_device.out_of_memory

    def count(error: Exception) -> bool:
        counted.append(type(error).__name__) if real(error) else None
        return real(error)

    if GPU:
        gc.collect()
        torch.cuda.empty_cache()
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, gigabytes * 1e9 / total))
    torch_device.out_of_memory = count
    try:
        with busy() as seen:
            answers = huggingface.hf(folder, tokens=4_000_000)(batch(texts)).answers
    finally:
        torch_device.out_of_memory = real
        if GPU:
            torch.cuda.set_per_process_memory_fraction(1.0)
    return {
        "errors": counted,
        "tokens_of_batches": seen.places[:40],
        "other_labels": float((answers.argmax(axis=1) != reference.argmax(axis=1)).mean()),
        "largest_difference": float(np.abs(answers - reference).max()),
    }


def recorded(folder: str, texts: Texts) -> dict[str, float]:
    """The share of answers that differ in any bit where kernels are launched one by one instead of replayed."""
    model = huggingface.hf(folder)
    first, second = model(batch(texts)).answers, model(batch(texts)).answers
    most, torch_device.MOST_RECORDINGS = torch_device.MOST_RECORDINGS, 0
    try:
        never = huggingface.hf(folder)(batch(texts)).answers
    finally:
        torch_device.MOST_RECORDINGS = most
    differing = {"first_call": first, "second_call": second}
    return {name: float((answers != never).any(axis=1).mean()) for name, answers in differing.items()}


#: Settings of `hf` whose labels are held against those in single precision; the first also against the others.
SETTINGS: dict[str, dict[str, Any]] = {
    "bfloat16, lean": {"dtype": "bfloat16", "forward": "lean"},
    "bfloat16, fused": {"dtype": "bfloat16", "forward": "fused"},
    "bfloat16, transformers": {"dtype": "bfloat16", "forward": "transformers"},
    "float16, lean": {"dtype": "float16", "forward": "lean"},
    "float16, fused": {"dtype": "float16", "forward": "fused"},
    "float8": {"dtype": "float8"},
}


def precision(folder: str, given: Given) -> dict[str, Any]:
    """Labels in other arithmetic against those in single precision, which transformers' forward pass computes."""
    texts = [(row["premise"] or "", row["hypothesis"] or "") for row in given]
    single = huggingface.hf(folder, dtype="float32", forward="transformers")
    p, names = {"float32": single(batch(texts)).answers}, single.labels
    report: dict[str, Any] = {"pairs": len(texts), "accuracy_float32": _accuracy(p["float32"], names, given)}
    for name, setting in SETTINGS.items():
        if not GPU and setting["dtype"] == "float8":
            continue
        p[name] = huggingface.hf(folder, **setting)(batch(texts)).answers
        report[name] = {
            "accuracy": _accuracy(p[name], names, given),
            "against_float32": _other(p[name], p["float32"]),
            "against_bfloat16_lean": _other(p[name], p["bfloat16, lean"]),
        }
    report["float16, fused"]["against_float16_lean"] = _other(p["float16, fused"], p["float16, lean"])
    return report


def _other(found: Any, expected: Any) -> dict[str, float]:
    differ = found.argmax(axis=1) != expected.argmax(axis=1)
    return {"other_labels": float(differ.mean()), "largest_difference": float(np.abs(found - expected).max())}


def _accuracy(p: Any, names: tuple[str, ...], given: Given) -> float | None:
    labelled = [(names[best], row.get("label")) for best, row in zip(p.argmax(axis=1), given, strict=True)]
    right = [label == gold for label, gold in labelled if gold in names]
    return float(np.mean(right)) if right else None


def masked_words(shape: dict[str, int], given: Given, tokenizer_file: str) -> dict[str, float]:
    """The first word of each premise, masked: the best 200 words for it."""
    from otherwords.language_models.masked_lm_hf import hf

    with tempfile.TemporaryDirectory() as folder:
        build_masked_lm(Path(folder), shape, given, tokenizer_file)
        model = hf(folder)
    texts = [row["premise"].strip() for row in given if (row["premise"] or "").split()]
    items = [(text, 0, len(text.split()[0])) for text in texts] * (4 if GPU else 1)
    model.fill(items[:4096], 200)
    start = time.perf_counter()
    model.fill(items, 200)
    return {"masks_per_s": len(items) / (time.perf_counter() - start), "masks": len(items), "top": 200}
