"""Counting what variants do to their originals, bucket by bucket: sums of whole numbers, so that no order matters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ..problem import Bucket, Problem, Task
from ..words.artifacts import ARTIFACTS
from .changes import changed, changes
from .parts import Artifact, Length, Part, Profile, Substitution

_WORD = re.compile(r"[^\W_]+")


class Tally:
    """Takes buckets in any order, and holds nothing but counts."""

    def __init__(self, task: Task):
        self.task, self.variants = task, 0
        self._words = {label: frozenset(word for _, word in _listed(label)) for label in task.labels}
        self._problems: Counter[str] = Counter()
        self._sizes: Counter[str] = Counter()
        self._found: Counter[tuple[str, str]] = Counter()
        self._all, self._hows = _Changes(), dict[str, _Changes]()

    def add(self, bucket: Bucket) -> None:
        """Count a problem and its variants, for all together and for each generator."""
        label, before = bucket.problem.label, self._look(bucket.problem)
        self._problems[label] += 1
        self._sizes[label] += before.size
        self._found.update((label, word) for word in before.words)
        self.variants += len(bucket.variants)
        looks: dict[str, list[_Look]] = {}
        for variant in bucket.variants:
            looks.setdefault(variant.how or "unknown", []).append(self._look(variant, bucket.problem))
        for how, some in looks.items():
            self._hows.setdefault(how, _Changes()).add(label, before, some)
        if looks:
            self._all.add(label, before, [look for some in looks.values() for look in some])

    def _look(self, problem: Problem, original: Problem | None = None) -> _Look:
        text = " ".join(problem.text[name] for name in self.task.fields)
        words = self._words[problem.label].intersection(_WORD.findall(text.lower()))
        if original is None or not changed(problem, original):
            return _Look(len(text.split()), words, False, [])
        return _Look(len(text.split()), words, True, changes(problem, original))

    def profile(self) -> Profile:
        """Turn counts into means and shares."""
        parts = [self._part(how, self._hows[how]) for how in sorted(self._hows)]
        return Profile(self.task.name, self._part("all", self._all), tuple(parts))

    def _part(self, how: str, made: _Changes) -> Part:
        problems, total = sum(self._problems.values()), sum(made.pairs.values())
        pairs = sorted(made.pairs.items(), key=lambda item: (-item[1], item[0]))
        return Part(
            how=how,
            problems=problems,
            variants=made.variants,
            changed=made.problems,
            share_changed=made.problems / problems,
            words_changed=made.words / made.changed if made.changed else None,
            substitutions=tuple(Substitution(*pair, count, count / total) for pair, count in pairs),
            lengths=tuple(self._length(label, made) for label in self.task.labels if self._problems[label]),
            artifacts=tuple(
                self._artifact(corpus, label, word, made)
                for label in self.task.labels
                if self._problems[label]
                for corpus, word in _listed(label)
            ),
        )

    def _length(self, label: str, made: _Changes) -> Length:
        before = Fraction(self._sizes[label], self._problems[label])
        after = before + _mean(made.longer, label) / self._problems[label]
        increase = float(after / before - 1) if before else None
        return Length(label, self._problems[label], float(before), float(after), increase)

    def _artifact(self, corpus: str, label: str, word: str, made: _Changes) -> Artifact:
        before = Fraction(self._found[label, word], self._problems[label])
        after = before + _mean(made.oftener, (label, word)) / self._problems[label]
        return Artifact(corpus, label, word, float(before), float(after))


class _Look(NamedTuple):
    """What is counted of one text: its words, the telling ones among them, and what became of the original's."""

    size: int
    words: frozenset[str]
    changed: bool
    pairs: list[tuple[str, str]]


class _Changes:
    """Counts of one generator. Differences to the original are kept by bucket size, for their means to be exact."""

    def __init__(self) -> None:
        self.variants = self.problems = self.changed = self.words = 0
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.longer: Counter[tuple[Any, int]] = Counter()
        self.oftener: Counter[tuple[Any, int]] = Counter()

    def add(self, label: str, before: _Look, looks: Sequence[_Look]) -> None:
        self.variants += len(looks)
        self.problems += any(look.changed for look in looks)
        for look in looks:
            self.changed += look.changed
            self.words += sum(len(old.split()) for old, _ in look.pairs)
            self.pairs.update(look.pairs)
            self.longer[label, len(looks)] += look.size - before.size
            for word in look.words ^ before.words:
                self.oftener[(label, word), len(looks)] += 1 if word in look.words else -1


def _mean(sums: Counter[tuple[Any, int]], key: Any) -> Fraction:
    """Sum over problems of the mean over their variants."""
    return sum((Fraction(total, n) for (name, n), total in sums.items() if name == key), Fraction(0))


def _listed(label: str) -> list[tuple[str, str]]:
    return [(corpus, word) for corpus, lists in ARTIFACTS.items() for word in lists.get(label, ())]
