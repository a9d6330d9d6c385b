"""Words replaced at their places: the variant, and the account of it in the column `changes`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..problem import Problem, Variant

#: A field, the place in it, the words there and those that come instead; a generator may say more.
Change = dict[str, Any]


def with_changes(problem: Problem, changes: Sequence[Change]) -> Variant:
    """A variant with the changes made, each at its place, and kept as JSON in the column `changes`."""
    text = dict(problem.text)
    for change in sorted(changes, key=lambda one: (one["field"], -one["at"])):
        name, start, end = change["field"], change["at"], change["at"] + len(change["from"])
        text[name] = text[name][:start] + change["to"] + text[name][end:]
    own = {} if problem.extra.get("changes") is None else {"input_changes": problem.extra["changes"]}
    extra = {**problem.extra, **own, "changes": json.dumps(list(changes), ensure_ascii=False)}
    return Variant("", problem.task, text, problem.label, extra, of=problem.id)
