"""Shots: solved problems that a language model sees before the one it is asked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..errors import BadInput, OtherwordsError, setting, shorten
from ..problem import Task, label_key, normalize_spaces
from ..storage.files import digest, seed_for
from .templates import ShotPlan, Template

if TYPE_CHECKING:
    import polars as pl

#: The column with the number of a candidate; no field is called so.
_SHOT = "shot number"
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

    All problems see the same shots, so that what they have in common is computed once; only where one is the asked
    problem, or shares a text or the cluster with it, or has its premise in other words, the next candidate takes its
    place. A rewording sees what its original sees, so that no answer changes because of the shots; but for a shot that
    has a text of the rewording itself.

    `kin` has for each candidate the premises of its cluster, in all wordings that its data set has.
    """

    task: Task
    slots: tuple[tuple[int, int], ...] = ()
    pools: tuple[tuple[Shot, ...], ...] = ()
    kin: tuple[tuple[frozenset[str], ...], ...] = ()

    @property
    def identity(self) -> str:
        """A digest of all candidates, and of how many are shown in which order; "" where there are none."""
        candidates = [[(*one.texts.values(), one.label) for one in pool] for pool in self.pools]
        return digest(self.slots, candidates, [[sorted(one) for one in some] for some in self.kin])[:12]

    def before(self, texts: Mapping[str, str], original: Mapping[str, str] | None = None) -> list[Shot]:
        """The shots that come before a problem, which may be a rewording of an original."""
        own, first = self._of(texts), self._of(original or texts)
        asked = _Texts(own.whole | first.whole, first.premise)
        taken: list[list[int]] = [self._usable(number, asked) for number in range(len(self.pools))]
        return [self.pools[pool][taken[pool][place]] for pool, place in self.slots]

    def _usable(self, number: int, asked: _Texts) -> list[int]:
        """The candidates of a pool for its places: the first ones, but for those that resemble the problem.

        In data that are all alike, those come last that have the words of its premise, and no text of it.
        """
        words = self._words[number]
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
        return [
            [self._of(one.texts, near) for one, near in zip(pool, kin, strict=True)]
            for pool, kin in zip(self.pools, self.kin, strict=True)
        ]

    def _of(self, texts: Mapping[str, str], kin: Iterable[str] = ()) -> _Texts:
        whole = frozenset(normalize_spaces(text).casefold() for text in (*texts.values(), *kin) if text)
        premise = " ".join(texts[name] or "" for name in self.task.cluster)
        return _Texts(whole, frozenset(premise.casefold().split()))


class _Texts(NamedTuple):
    """The texts of a problem and its kin, and the words of its premise (the fields that make a cluster)."""

    whole: frozenset[str]
    premise: frozenset[str]


def _alike(one: _Texts, other: _Texts) -> bool:
    """Whether two problems share a text, or most words of their premises."""
    if one.whole & other.whole:
        return True
    return len(one.premise & other.premise) >= ALIKE * len(one.premise | other.premise) > 0


def draw(template: Template, task: Task, *, count: int = -1, source: str | Sequence[str] = "", seed: int = 0) -> Shots:
    """Draw the shots of a template, by seed and content: so many, from the data sets that it or `source` names.

    Of several data sets, each gives as many; if the plan is balanced, so does each label.
    """
    plan = template.shots
    if count < -1:
        raise BadInput(f"found {count}", field="shots", fix="give 0 or more, or -1 for as many as the template says")
    files = _named(source) or list(_found(plan, template))
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
    kin: list[tuple[frozenset[str], ...]] = []
    slots: list[tuple[int, int]] = []
    for name, wanted in zip(files, _parts(plan.count, len(files)), strict=True):
        table = _table(name, task)
        for pool, size in _pools(name, _candidates(table, task, seed), wanted, plan, task):
            slots += [(len(pools), place) for place in range(size)]
            pools.append(pool)
            kin.append(_kin(pool, table, task))
    slots.sort(key=lambda one: seed_for(seed, "order", *pools[one[0]][one[1]].texts.values()))
    return Shots(task, tuple(slots), tuple(pools), tuple(kin))


def _named(source: str | Sequence[str]) -> list[str]:
    """The data sets that a user names: one, or a list of them; a comma is part of a name."""
    names = [source] if isinstance(source, str) else source
    if not isinstance(names, list | tuple) or not all(isinstance(one, str) for one in names):
        fix = 'give a data set, or several as in ["a.jsonl", "b.jsonl"]'
        raise BadInput(f"found {shorten(source)}", field="shots_from", fix=fix)
    return [one.strip() for one in names if one.strip()]


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


def _table(name: str, task: Task) -> pl.DataFrame:
    """A data set of the task."""
    from ..datasets.source import find  # not before it is needed: on a GPU machine there may be no polars
    from ..datasets.suite import open_suite

    try:
        own = find(name).function.task
        if not own or own == task.name:
            return open_suite(name, task).table()
    except OtherwordsError as error:
        if "," not in name or Path(name).exists():
            raise
        fix = f"give several as a list: shots_from={json.dumps([one.strip() for one in name.split(',')])}"
        raise BadInput(str(error), field="shots_from", fix=fix) from error
    fix = f"name data of the task {task.name}"
    raise BadInput(f"has problems of {own}, not of {task.name}", where=name, field="shots_from", fix=fix)


def _candidates(table: pl.DataFrame, task: Task, seed: int) -> tuple[Shot, ...]:
    """The solved originals of a data set, each distinct one once, in an order that is drawn by content."""
    spelled = {label_key(label): label for label in task.labels}
    rows = table.filter(table["of"].is_null(), table["label"].is_not_null()).select(*task.fields, "label").rows()
    shots = dict.fromkeys((tuple(text or "" for text in texts), label) for *texts, label in rows)
    drawn = sorted(shots, key=lambda one: (seed_for(seed, "shot", *one[0], one[1]), one))
    return tuple(Shot(dict(zip(task.fields, texts, strict=True)), spelled[label_key(label)]) for texts, label in drawn)


def _kin(pool: Sequence[Shot], table: pl.DataFrame, task: Task) -> tuple[frozenset[str], ...]:
    """Of each candidate, the premises of its cluster in all wordings of the data set: another may be asked."""
    import polars as pl

    texts = table.select("of", "cluster", *(pl.col(name).cast(pl.String).fill_null("") for name in task.fields))
    rows = [[number, *one.texts.values()] for number, one in enumerate(pool)]
    shown = pl.DataFrame(rows, schema={_SHOT: pl.Int64, **dict.fromkeys(task.fields, pl.String)}, orient="row")
    owners = texts.filter(pl.col("of").is_null()).join(shown, on=task.fields).select(_SHOT, "cluster").unique()
    kin: list[set[str]] = [set() for _ in pool]
    for number, *premises in texts.join(owners, on="cluster").select(_SHOT, *task.cluster).unique().iter_rows():
        kin[number] |= {one for one in premises if one}
    return tuple(map(frozenset, kin))


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
