"""IE experiments that are made up: matched samples of models that change some of their answers."""

from __future__ import annotations

import numpy as np
import polars as pl

from otherwords.papers.ie_results import IEResults, ResultSettings, results
from otherwords.papers.ie_samples import RUN

LABELS = ("contradiction", "entailment", "neutral")
QUICK = ResultSettings(replicates=300)


def experiment(
    rows: int = 60,
    models: tuple[str, ...] = ("a", "b"),
    rho: tuple[float, ...] = (0.0, 0.5),
    runs: int = 2,
    seed: int = 1,
) -> pl.DataFrame:
    """Matched samples of models that are right in 70 to 80 % of items and change some answers."""
    random = np.random.default_rng(seed)
    parts = []
    for number, model in enumerate(models):
        for share in rho:
            for run in range(1, runs + 1):
                gold = np.array([LABELS[i % 3] for i in range(rows)])
                noise = np.array(LABELS)[random.integers(0, 3, (2, rows))]
                before = np.where(random.random(rows) < 0.7 + 0.1 * number, gold, noise[0])
                changed = np.arange(rows) % 5 > 0
                after = np.where(changed & (random.random(rows) < 0.3), noise[1], before)
                ids = [f"t{i}" for i in range(rows)]
                columns = {"id": ids, "gold": gold, "before": before, "after": after, "changed": changed}
                keys = {"dataset": "toy", "model": model, "rho": share, "run": run}
                parts.append(pl.DataFrame(columns).with_columns(**{name: pl.lit(one) for name, one in keys.items()}))
    return pl.concat(parts)


def cells_of(matched: pl.DataFrame) -> pl.DataFrame:
    return matched.select(RUN).unique(maintain_order=True)


def analysed(matched: pl.DataFrame, how: ResultSettings = QUICK) -> IEResults:
    return results(cells_of(matched), matched, how)
