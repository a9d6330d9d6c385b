"""The profile of a transformation: what it changes in a suite, as in Salvatore et al. (2023), Appendix C."""

from .profile import (
    ARTIFACTS,
    Artifact,
    FilterRate,
    Length,
    Overlap,
    Part,
    Profile,
    Substitution,
    Suggestions,
    changes,
    profile,
)

__all__ = [
    "ARTIFACTS",
    "Artifact",
    "FilterRate",
    "Length",
    "Overlap",
    "Part",
    "Profile",
    "Substitution",
    "Suggestions",
    "changes",
    "profile",
]
