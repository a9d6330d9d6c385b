"""The profile of a transformation: what it changes in a suite, as in Salvatore et al. (2023), Appendix C."""

from .changes import ARTIFACTS, changed, changes
from .profile import Artifact, FilterRate, Length, Overlap, Part, Profile, Substitution, Suggestions, profile

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
    "changed",
    "changes",
    "profile",
]
