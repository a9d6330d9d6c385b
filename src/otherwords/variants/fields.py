"""Which fields of a problem a generator rewords."""

from __future__ import annotations

from ..errors import BadInput
from ..problem import Task


def chosen_fields(task: Task, field: str, generator: str) -> tuple[str, ...]:
    """The field that is named, or all of the task's targets.

    >>> from otherwords.problem import TASKS
    >>> chosen_fields(TASKS["nli"], "", "identity"), chosen_fields(TASKS["nli"], "premise", "identity")
    (('premise', 'hypothesis'), ('premise',))
    """
    if field and field not in task.fields:
        raise BadInput(f"no field {field!r}", where=generator, fix=f"use one of {', '.join(task.fields)}")
    return (field,) if field else task.targets
