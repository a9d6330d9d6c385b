"""Two targets, reworded apart: paraphrases of a-NLI's two hypotheses are paired at random within whoever wrote them.

ParaNLU pairs what one worker wrote, and what one generator made, "resampling where necessary" (sections 4.2 and 6.1).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any

from ..errors import BadInput
from ..problem import Problem, Task
from ..storage.files import seed_for

#: Who wrote a row; the first of these that it has. NL-Augmenter's files say `transformation`, CheckList's `test`.
COLUMNS = ("worker", "annotator", "generator", "transformation", "test")
Row = Mapping[str, Any]


def pairs(ones: Sequence[str], others: Sequence[str], seed: int) -> list[tuple[str, str]]:
    """Pair each of the more numerous side once; the fewer are all used, and then drawn from again.

    Neither side's order matters.

    >>> pairs(["a", "b", "c"], ["x", "y"], seed=1)
    [('a', 'x'), ('b', 'y'), ('c', 'y')]
    """
    if not ones or not others:
        raise BadInput("one side is empty", fix="pair what has at least one text on either side")
    random = Random(seed)
    size = max(len(ones), len(others))
    first, second = (_drawn(sorted(side), size, random) for side in (ones, others))
    return sorted(zip(first, second, strict=True))


def paired(rows: Iterable[Row], problem: Problem, column: str, seed: int) -> list[Row]:
    """Rows that reword one of two targets, paired within `column`; all others stay as they are, and come first.

    A row whose writer reworded only the one target stays, too: there is nothing to pair it with.
    """
    whole: list[Row] = []
    halves: dict[tuple[str, str], dict[str, list[str]]] = {}
    for row in rows:
        target = _only_target(row, problem)
        writer = _writer(row, problem, column) if target else None
        if target is None or writer is None:
            whole.append(row)
        else:
            sides = halves.setdefault(writer, {name: [] for name in problem.task.targets})
            sides[target].append(_half(row, target, problem))
    for writer, sides in sorted(halves.items()):
        whole += _joined(sides, problem.task, seed_for(seed, *writer))
    return whole


def chooses(task: Task) -> bool:
    """Whether the answer is one of two targets, as in a-NLI."""
    return len(task.targets) == 2 and set(task.targets) == set(task.labels)


def _drawn(side: list[str], size: int, random: Random) -> list[str]:
    return random.sample(side, len(side)) + random.choices(side, k=size - len(side))


def _only_target(row: Row, problem: Problem) -> str | None:
    """The one target that a row rewords, and all that it does; None where there is more, or nothing."""
    changed = [name for name, text in problem.text.items() if not _same(row.get(name), text)]
    return changed[0] if len(changed) == 1 and changed[0] in problem.task.targets else None


def _same(text: str | None, original: str) -> bool:
    """Whether a row leaves a field alone: it lacks it, or changes no more than white space."""
    return text is None or text.split() == original.split()


def _writer(row: Row, problem: Problem, column: str) -> tuple[str, str] | None:
    """Who wrote a row: which column says so, and what it says; a worker 7 is not the generator 7."""
    if column and row.get(column) is None:
        fix = "fill it in, or leave rows as they are with pair=none"
        raise BadInput("found nothing", where=f"a rewording of {problem.id!r}", field=column, fix=fix)
    found = [(name, str(row[name])) for name in ([column] if column else COLUMNS) if row.get(name) is not None]
    return found[0] if found else None


def _half(row: Row, target: str, problem: Problem) -> str:
    """A row as text that can be sorted: the one target, and what is told about it."""
    left_out = {*problem.task.fields, "of", "how", "label", "cluster"} - {target}
    told = {name: value for name, value in row.items() if value is not None and name not in left_out}
    return json.dumps(told, sort_keys=True, default=str)


def _joined(sides: dict[str, list[str]], task: Task, seed: int) -> list[Row]:
    one, other = (sides[name] for name in task.targets)
    if not one or not other:
        return [json.loads(text) for text in sorted(one + other)]
    return [_merged(json.loads(a), json.loads(b), task) for a, b in pairs(one, other, seed)]


def _merged(one: dict[str, Any], other: dict[str, Any], task: Task) -> Row:
    """Both rows in one: what they agree on as it is, ids joined, the rest under each target's name."""
    first, second = task.targets
    row = {name: value for name, value in {**one, **other}.items() if one.get(name, value) == other.get(name, value)}
    for name in sorted((one.keys() & other.keys()) - row.keys() - {"id"}):
        row |= {f"{name}_{first}": one[name], f"{name}_{second}": other[name]}
    row.pop("id", None)  # one id alone would occur as often as its row is drawn
    return {**row, "id": f"{one['id']}+{other['id']}"} if "id" in one and "id" in other else row
