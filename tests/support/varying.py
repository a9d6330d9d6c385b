"""Small tables, and their variants and notes as the stage `vary` makes them."""

from __future__ import annotations

import polars as pl

import otherwords as ow
from otherwords.pipeline import varied
from otherwords.problem import TASKS


def vary_rows(frame: pl.DataFrame, using: list[str], seed: int = 1) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Check a table of NLI problems, then reword them."""
    return varied(ow.load(frame), using, TASKS["nli"], seed)


def contracted(n: int) -> list[dict[str, str]]:
    """Problems that `contractions` can reword, of two topics in turn."""
    same = {"hypothesis": "They're late.", "label": "neutral"}
    return [{"id": f"p{i}", "premise": f"It isn't {i}.", **same, "topic": "ab"[i % 2]} for i in range(n)]
