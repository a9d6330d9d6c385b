"""Tiny models that write, saved once for all tests of this folder."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def tiny() -> ModuleType:
    """The builder of tiny models."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    spec = importlib.util.spec_from_file_location("tiny_writers", Path(__file__).parent / "tiny.py")
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Threads wait for each other longer than models of this size compute."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def saved(tiny, tmp_path_factory) -> Callable[..., Path]:
    """The folder of a tiny model: `saved("t5")`, `saved("llama", chat=True)`."""
    made: dict[tuple[str, bool], Path] = {}

    def folder(kind: str, chat: bool = False) -> Path:
        if (kind, chat) not in made:
            made[kind, chat] = tiny.save(tmp_path_factory.mktemp(kind) / "tiny", kind, chat=chat)
        return made[kind, chat]

    return folder


@pytest.fixture(scope="session")
def prompts(tiny) -> list[str]:
    """Prompts of one to eight words, in no order of length."""
    import random

    chance = random.Random(1)
    return [" ".join(chance.choices(tiny.WORDS, k=chance.randrange(1, 9))) for _ in range(8)]
