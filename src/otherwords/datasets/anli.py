"""Adversarial NLI; abductive NLI, which is called aNLI as well, is in alpha_nli.py."""

from __future__ import annotations

from pathlib import Path

from ..registry import datasets
from .records import Dataset, json_lines, renamed

_LABELS = (("e", "entailment"), ("n", "neutral"), ("c", "contradiction"))


@datasets("anli.v1")
def anli(path: Path) -> Dataset:
    """Adversarial NLI as released: anli_v1.0/R1..R3/*.jsonl (Nie et al. 2020)."""
    names = {"id": "uid", "premise": "context"}
    return Dataset(lambda: renamed(json_lines(path), names), task="nli", files=(path,), labels=_LABELS)
