"""MERGE (Zgreaban et al. 2025): words that the texts share are replaced by what masked-LMs find likelier."""

from .generator import masked_lm

__all__ = ["masked_lm"]
