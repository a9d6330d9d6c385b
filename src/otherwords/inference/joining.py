"""How the fields of a problem become the text, or the two texts, that a model reads.

A join is written `premise + hypothesis | update`: fields joined by a space, and a bar between first and second text. In
a task that chooses between fields (a-NLI: hyp1 or hyp2), `option` stands for each of them in turn.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import BadInput
from ..problem import Batch, Task
from .tokens import clean

#: Stands in a join for each of the fields that a task chooses between.
OPTION = "option"
#: The key of config.json in which a trained model keeps its join, so that it travels with the model.
JOIN_KEY = "otherwords_join"
_NAME = re.compile(r"[^\s+|]+")
_FORM = "write one or two texts of fields: join='premise + hypothesis | update'"

Row = tuple[str, ...]


@dataclass(frozen=True)
class Join:
    """The fields of the first text, and of the second where there is one.

    >>> str(Join.read("obs1|option  + obs2"))
    'obs1 | option + obs2'
    """

    parts: tuple[tuple[str, ...], ...]

    @classmethod
    def read(cls, text: str, where: str = "") -> Join:
        """Read a join as it is written."""
        parts = tuple(tuple(name.strip() for name in part.split("+")) for part in text.split("|"))
        names = [name for part in parts for name in part]
        if len(parts) > 2 or not all(_NAME.fullmatch(name) for name in names):
            raise BadInput(f"found {text!r}", where=where, field="join", fix=_FORM)
        if twice := {name for name in names if names.count(name) > 1}:
            message = f"names {', '.join(sorted(twice))} twice in {text!r}"
            raise BadInput(message, where=where, field="join", fix="name every field once")
        return cls(parts)

    def __str__(self) -> str:
        return " | ".join(" + ".join(part) for part in self.parts)

    @property
    def names(self) -> tuple[str, ...]:
        """All fields that are read, in order; `option` among them in a choice."""
        return tuple(name for part in self.parts for name in part)

    def refuse_other(self, task: Task, where: str) -> None:
        """Raise where a task has other fields than the join names, or is a choice and the join is not (or reversed)."""
        options = options_of(task)
        known = [name for name in task.fields if name not in options] + [OPTION] * bool(options)
        if unknown := [name for name in self.names if name not in known]:
            fix = f"{task.name} has {', '.join(known)}" + (f" ({OPTION}: {' or '.join(options)})" if options else "")
            raise BadInput(f"{str(self)!r} names {unknown[0]!r}", where=where, field="join", fix=fix)
        if options and OPTION not in self.names:
            message = f"{str(self)!r} does not say where the {OPTION} stands ({' or '.join(options)})"
            raise BadInput(message, where=where, field="join", fix=f"name {OPTION}, as in {default_join(task)}")

    def rows(self, columns: Mapping[str, Sequence[str]], options: Sequence[str] = ()) -> list[Row]:
        """The texts of each problem; in a choice a row for each option of the first problem, then of the second ...

        >>> Join.read("premise + hypothesis | update").rows({"premise": [""], "hypothesis": ["H."], "update": ["U."]})
        [('H.', 'U.')]
        """
        ways = [_joined(self.parts, {**columns, OPTION: columns[name]}) for name in options]
        return [row for rows in zip(*ways, strict=True) for row in rows] if ways else _joined(self.parts, columns)


def options_of(task: Task) -> tuple[str, ...]:
    """The fields that a task chooses between: its labels, where they are names of fields; none in other tasks.

    >>> from otherwords.problem import TASKS
    >>> options_of(TASKS["a-nli"]), options_of(TASKS["d-nli"])
    (('hyp1', 'hyp2'), ())
    """
    return task.labels if set(task.labels) <= set(task.fields) else ()


def default_join(task: Task) -> Join:
    """How a task is put unless somebody says otherwise.

    Two fields are the two texts; of more, the last target is the second text, and all others the first. An option
    comes second, after the first field and before all other context (ParaNLU: obs1, then hypothesis and obs2).

    >>> from otherwords.problem import TASKS
    >>> [str(default_join(TASKS[name])) for name in ("nli", "d-nli", "a-nli")]
    ['premise | hypothesis', 'premise + hypothesis | update', 'obs1 | option + obs2']
    """
    options = options_of(task)
    if options:
        context = [name for name in task.fields if name not in options]
        return Join(tuple(part for part in (tuple(context[:1]), (OPTION, *context[1:])) if part))
    if len(task.fields) == 1:
        return Join((task.fields,))
    last = task.fields[-1] if len(task.fields) == 2 else task.targets[-1]
    return Join((tuple(name for name in task.fields if name != last), (last,)))


def shown_task(task: Task, fields: Sequence[str]) -> Task:
    """The task as a model of partial input sees it: only these fields, in the task's order."""
    shown = tuple(name for name in task.fields if name in fields)
    kept = {part: tuple(name for name in getattr(task, part) if name in shown) for part in ("targets", "cluster")}
    return Task(task.name, shown, task.labels, **kept)


@dataclass(frozen=True)
class LazyRows(Sequence[Row]):
    """The rows of a batch, made when they are asked for: the device need not wait for all."""

    batch: Batch
    join: Join
    options: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.batch) * self._each

    @property
    def _each(self) -> int:
        return len(self.options) or 1

    def __getitem__(self, key: int | slice) -> list[Row] | Row:  # type: ignore[override]
        if not isinstance(key, slice):
            place = range(len(self))[key]
            return self[place : place + 1][0]  # type: ignore[return-value]
        first, last, _ = key.indices(len(self))
        start = first // self._each  # a piece may begin and end between the options of a problem
        columns = self.batch[start : -(-last // self._each)].columns
        return self.join.rows(columns, self.options)[first - start * self._each : last - start * self._each]


def _joined(parts: tuple[tuple[str, ...], ...], columns: Mapping[str, Sequence[str]]) -> list[Row]:
    sides = [_side([columns[name] for name in part]) for part in parts]
    return list(zip(*sides, strict=True))


def _side(columns: Sequence[Sequence[str]]) -> list[str]:
    if len(columns) == 1:
        return list(map(clean, columns[0]))
    return [clean(" ".join(filter(None, texts))) for texts in zip(*columns, strict=True)]
