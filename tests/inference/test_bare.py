"""A GPU machine may have torch, transformers and numpy, and no more: what runs there must load without the rest."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import otherwords.inference
import otherwords.language_models

ABSENT = {"polars", "pydantic", "typer", "rich", "onnxruntime", "onnx", "spacy", "scipy"}
BARE = [
    "otherwords.models",
    *(f"otherwords.inference.{module.name}" for module in pkgutil.iter_modules(otherwords.inference.__path__)),
    *(
        f"otherwords.language_models.{module.name}"
        for module in pkgutil.iter_modules(otherwords.language_models.__path__)
    ),
    "otherwords.models.huggingface",
    "otherwords.models.model",
]


def loaded(names: list[str]) -> set[str]:
    code = f"import sys, importlib\nfor name in {names!r}: importlib.import_module(name)\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.split()}


def test_it_loads_with_numpy_alone():
    assert len(BARE) > 10
    assert loaded(BARE) & {*ABSENT, "torch", "transformers", "tokenizers"} == set()


def test_the_test_can_fail():
    assert "polars" in loaded(["otherwords.models.answering"])
