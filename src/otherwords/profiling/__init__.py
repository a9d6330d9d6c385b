"""What a transformation does to a suite, as Salvatore et al. (2023) describe theirs in Appendix C."""

from .changes import ARTIFACTS, changes
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
    "changes",
    "profile",
]
