"""MERGE's tables about its variants (Zgreaban et al. 2025): what filters remove, which masked-LMs agree, what is left.

The paper's variants are not released, so that nothing is set beside its numbers here. Table 6 counts every filter on
all suggestions (`counts=all`). How the average of Table 2 for all classes together comes about is not told, and it is
smaller than that of any class; here it is that of all variants of a seed.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ..pipeline import score
from ..variants.masked_lm.counts import filter_rates, overlap, seed_counts, unique_variants, with_columns

__all__ = ["filter_rates", "over_draws", "overlap", "seed_counts", "unique_variants"]


def over_draws(answers: pl.DataFrame, using: Sequence[str] = ("accuracy_variants", "pa")) -> pl.DataFrame:
    """Table 3 and Figure 4: each metric as the mean over the draws of `masked-lm(subsamples=...)`, with its range.

    A draw is scored with all originals that have a variant in it.

    >>> rows = {"bucket": ["a"] * 4, "variant": [None, "a1", "a2", "a3"], "pred": ["yes", "no", "yes", "yes"]}
    >>> answers = pl.DataFrame({**rows, "gold": ["yes"] * 4, "subsamples": [None, "1", "1 2", "2"]})
    >>> over_draws(answers, ["accuracy_variants"]).rows()
    [('model', 'accuracy_variants', 0.75, 0.5, 1.0, 2)]
    """
    made = with_columns(answers, "bucket", "variant", "subsamples")
    found = []
    for draw in sorted({number for told in made["subsamples"] for number in told.split(" ")}, key=int):
        mine = made.filter(pl.col("subsamples").str.split(" ").list.contains(draw))
        seeds = answers.filter(pl.col("variant").is_null(), pl.col("bucket").is_in(mine["bucket"].implode()))
        scored = score(pl.concat([seeds, mine]), using, replicates=1)
        found += [{"model": one.model, "metric": one.metric, "value": one.value} for one in scored]
    value = pl.col("value")
    table = pl.DataFrame(found).group_by("model", "metric", maintain_order=True)
    return table.agg(value.mean(), value.min().alias("least"), value.max().alias("most"), draws=pl.len())
