"""Shots: solved problems that a language model sees before the one it is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ..errors import BadInput, setting
from ..problem import Task, label_key, normalize_spaces
from ..storage.files import digest, seed_for
from .templates import ShotPlan, Template

#: Candidates that are kept beside those that are shown, to take their places.
SPARE = 100
#: From this share of common words on, two texts are taken for the same in other words (Jaccard).
ALIKE = 0.5


class Shot(NamedTuple):
    """A solved problem."""

    texts: Mapping[str, str]
    label: str


@dataclass(frozen=True)
class Shots:
    """The shots of a template: slots in a fixed order, each with candidates, of which the first is used.

    All problems see the same shots, so that what they have in common is computed once; only where one has a text of
    the asked problem, or its premise in other words, the next candidate takes its place.
    """

    task: Task
    slots: tuple[tuple[int, int], ...] = ()
    pools: tuple[tuple[Shot, ...], ...] = ()

    @property
    def identity(self) -> str:
        """A digest of all candidates, and of how many are shown in which order; "" where there are none."""
        return digest(self.slots, [[(*one.texts.values(), one.label) for one in pool] for pool in self.pools])[:12]

    def before(self, texts: Mapping[str, str]) -> list[Shot]:
        """The shots that come before a problem."""
        taken: list[list[int]] = [self._usable(number, texts) for number in range(len(self.pools))]
        return [self.pools[pool][taken[pool][place]] for pool, place in self.slots]

    def _usable(self, number: int, texts: Mapping[str, str]) -> list[int]:
        """The candidates of a pool for its places: the first ones, but for those that resemble the problem.

        In data that are all alike, those come last that have the words of its premise, and no text of it.
        """
        asked, words = self._of(texts), self._words[number]
        chosen = [*range(sum(pool == number for pool, _ in self.slots))]
        alike = [place for place in chosen if _alike(asked, words[place])]
        if not alike:
            return chosen
        rest = range(len(chosen), len(words))
        far = (place for place in rest if not _alike(asked, words[place]))
        near = (
            place for place in (*rest, *alike) if _alike(asked, words[place]) and not asked.whole & words[place].whole
        )
        others = chain(far, near)
        for place in alike:
            chosen[place] = next(others, -1)
        if -1 in chosen:
            fix = "draw them from other data than those that are asked, or fewer"
            raise BadInput("too few shots are left that do not resemble the problem", field="shots", fix=fix)
        return chosen

    @cached_property
    def _words(self) -> list[list[_Texts]]:
        return [[self._of(one.texts) for one in pool] for pool in self.pools]

    def _of(self, texts: Mapping[str, str]) -> _Texts:
        whole = frozenset(normalize_spaces(text).casefold() for text in texts.values() if text)
        premise = " ".join(texts[name] or "" for name in self.task.cluster)
        return _Texts(whole, frozenset(premise.casefold().split()))


class _Texts(NamedTuple):
    """The texts of a problem, and the words of its premise (the fields that make a cluster)."""

    whole: frozenset[str]
    premise: frozenset[str]


def _alike(one: _Texts, other: _Texts) -> bool:
    """Whether two problems share a text, or most words of their premises."""
    if one.whole & other.whole:
        return True
    return len(one.premise & other.premise) >= ALIKE * len(one.premise | other.premise) > 0


def draw(template: Template, task: Task, *, count: int = -1, source: str = "", seed: int = 0) -> Shots:
    """Draw the shots of a template, by seed and content: so many, from the data sets that it or `source` names.

    Of several data sets (with commas between), each gives as many; if the plan is balanced, so does each label.
    """
    plan = template.shots
    if count < -1:
        raise BadInput(f"found {count}", field="shots", fix="give 0 or more, or -1 for as many as the template says")
    files = [one.strip() for one in source.split(",") if one.strip()] or list(_found(plan, template))
    plan = replace(plan, count=plan.count if count < 0 else count)
    seed = seed or plan.seed
    if not plan.count:
        return Shots(task)
    if not files:
        fix = (
            f"name a data set: {setting('shots_from=FILE', 'shots_from=FILE')}, or files under [shots] in the template"
        )
        raise BadInput(f"needs {plan.count} shots, and has nothing to draw them from", where=template.name, fix=fix)
    pools: list[tuple[Shot, ...]] = []
    slots: list[tuple[int, int]] = []
    for name, wanted in zip(files, _parts(plan.count, len(files)), strict=True):
        for pool, size in _pools(name, _candidates(name, task, seed), wanted, plan, task):
            slots += [(len(pools), place) for place in range(size)]
            pools.append(pool)
    slots.sort(key=lambda one: seed_for(seed, "order", *pools[one[0]][one[1]].texts.values()))
    return Shots(task, tuple(slots), tuple(pools))


def _found(plan: ShotPlan, template: Template) -> Iterator[str]:
    """The files that a template names, beside the template if they are there."""
    for name in plan.files:
        near = Path(template.where).parent / name
        yield str(near) if near.exists() else name


def _parts(count: int, parts: int) -> list[int]:
    """A number in nearly equal parts, the larger first.

    >>> _parts(36, 3), _parts(5, 2)
    ([12, 12, 12], [3, 2])
    """
    return [count // parts + (place < count % parts) for place in range(parts)]


def _candidates(name: str, task: Task, seed: int) -> tuple[Shot, ...]:
    """The solved originals of a data set, each distinct one once, in an order that is drawn by content."""
    from ..datasets.source import find  # not before it is needed: on a GPU machine there may be no polars
    from ..datasets.suite import open_suite

    own = find(name).function.task
    if own and own != task.name:
        fix = f"name data of the task {task.name}"
        raise BadInput(f"has problems of {own}, not of {task.name}", where=name, field="shots_from", fix=fix)
    table = open_suite(name, task).table()
    spelled = {label_key(label): label for label in task.labels}
    rows = table.filter(table["of"].is_null(), table["label"].is_not_null()).select(*task.fields, "label").rows()
    shots = dict.fromkeys((tuple(text or "" for text in texts), label) for *texts, label in rows)
    drawn = sorted(shots, key=lambda one: (seed_for(seed, "shot", *one[0], one[1]), one))
    return tuple(Shot(dict(zip(task.fields, texts, strict=True)), spelled[label_key(label)]) for texts, label in drawn)


def _pools(
    name: str, candidates: Sequence[Shot], wanted: int, plan: ShotPlan, task: Task
) -> Iterator[tuple[tuple[Shot, ...], int]]:
    """The candidates for the shots of one data set, and how many are shown; of each label by itself, if balanced."""
    groups = {"": list(candidates)}
    if plan.balanced:
        groups = {label: [one for one in candidates if one.label == label] for label in task.labels}
    for (label, some), size in zip(groups.items(), _parts(wanted, len(groups)), strict=True):
        if len(some) < size:
            found = f"has {len(some)} solved problems{f' with the label {label}' if label else ''}"
            raise BadInput(f"{found}, and {size} shots are wanted", where=name, field="shots_from", fix="draw fewer")
        if size:
            yield tuple(some[: size + SPARE]), size
