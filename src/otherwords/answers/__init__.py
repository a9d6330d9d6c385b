"""The answers table: reading and checking, the roles of its rows, its groups, and the alignment of several models."""

from .alignment import align
from .groups import groups
from .reading import read, separate_rejects
from .roles import split_roles
from .table import Answers, Location

__all__ = ["Answers", "Location", "align", "groups", "read", "separate_rejects", "split_roles"]
