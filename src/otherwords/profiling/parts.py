"""What a profile consists of."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .._version import __version__


@dataclass(frozen=True)
class Substitution:
    """Words of originals that became other words: how often, and which share of all substitutions that is."""

    before: str
    after: str
    count: int
    share: float


@dataclass(frozen=True)
class Length:
    """Mean length, in words over all fields, of the problems of a label before and after.

    `increase` is relative; None where there were no words before.
    """

    label: str
    problems: int
    before: float
    after: float
    increase: float | None


@dataclass(frozen=True)
class Artifact:
    """A word that betrays a label: the share of that label's problems that contain it, before and after."""

    corpus: str
    label: str
    word: str
    before: float
    after: float


@dataclass(frozen=True)
class Part:
    """What one generator did, or all together. `words_changed` is the mean over variants that differ at all.

    It counts words of the original that were replaced or left out, over all fields together.
    """

    how: str
    problems: int
    variants: int
    changed: int
    share_changed: float
    words_changed: float | None
    substitutions: tuple[Substitution, ...]
    lengths: tuple[Length, ...]
    artifacts: tuple[Artifact, ...]


@dataclass(frozen=True)
class FilterRate:
    """How many suggestions of a masked-LM, for words of a class in a field, reached a filter, and what it removed."""

    model: str
    word_class: str
    field: str
    filter: str
    removed: int
    reached: int
    percent: float


@dataclass(frozen=True)
class Overlap:
    """How many suggestions of a problem two masked-LMs share on average; one and itself: that it has alone."""

    model: str
    other: str
    mean: float


@dataclass(frozen=True)
class Suggestions:
    """What a generator with masked-LMs noted of their suggestions."""

    how: str
    filters: tuple[FilterRate, ...]
    overlap: tuple[Overlap, ...]


@dataclass(frozen=True)
class Profile:
    """The whole suite, and each generator by itself; what became of suggestions, in a run; and what counted it."""

    task: str
    whole: Part
    generators: tuple[Part, ...]
    suggestions: tuple[Suggestions, ...] = ()
    otherwords: str = __version__

    def shortened(self, top: int) -> Profile:
        """The same with the most frequent substitutions only."""
        parts = [replace(part, substitutions=part.substitutions[:top]) for part in (self.whole, *self.generators)]
        return replace(self, whole=parts[0], generators=tuple(parts[1:]))
