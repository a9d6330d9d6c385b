"""The answers table: how it is read, which rows play which role, its groups, and what models have in common."""

from .alignment import align
from .groups import groups
from .reading import read, separate_rejects
from .roles import split_roles
from .table import Answers, Location

__all__ = ["Answers", "Location", "align", "groups", "read", "separate_rejects", "split_roles"]
