"""MERGE (Zgreaban et al. 2025): words that the texts share are replaced by what masked-LMs find likelier."""

from .counts import filter_rates, overlap, seed_counts, unique_variants
from .generator import masked_lm

__all__ = ["filter_rates", "masked_lm", "overlap", "seed_counts", "unique_variants"]
