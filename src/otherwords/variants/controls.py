"""Controls: generators whose outcome is known beforehand, to test the test. (`scramble` has a file of its own.)

Their function has the attribute `control`: what they make is marked, and counted apart from rewordings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from ..errors import BadInput
from ..problem import Problem, Task, Variant
from ..registry import generators
from ..words.english import warn_of_other_language
from .fields import chosen_fields

Generator = TypeVar("Generator", bound=Callable[..., Iterator[Variant]])
#: Naik et al. (2018) made the stress tests that Liu et al. (2019) used and the IE paper cites (section 4.1).
TAUTOLOGY = " and true is true"
#: What may end a text; the tautology goes before it, however it is spaced ("sleeps ." where texts are tokenised).
_STOPS = ".!?…"


def control(vary: Generator) -> Generator:
    """Say of a generator's function that it is a control."""
    vary.control = True  # type: ignore[attr-defined]
    return vary


@generators("identity.v1")
def identity() -> Any:
    """Repeat every problem unchanged: any flip it shows is the model's own unsteadiness."""

    @control
    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant]:
        for problem in problems:
            yield problem.restate()

    return vary


@generators("tautology.v1")
def tautology(field: str = "", times: int = 1) -> Any:
    """Add "and true is true" before the final stop: longer, odd, and exactly as true as before.

    `field` names the text to change; by default it is the hypothesis where that is a target, else every target, all in
    one variant. `times` says how often: five times in the premise is Naik et al.'s test of length.
    """
    if times < 1:
        raise BadInput(f"found {times}", where="tautology.v1", field="times", fix="give 1 or more")

    @control
    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant]:
        for problem in problems:
            warn_of_other_language(problem.text.values(), "tautology.v1")
            names = chosen_fields(problem.task, field or _default(problem.task), "tautology.v1")
            text = {name: extended(problem.text[name] or "", times) for name in names}
            if any(text[name] != (problem.text[name] or "") for name in names):
                yield problem.restate(**text)

    return vary


def extended(text: str, times: int = 1) -> str:
    """A text with the tautology before its final stop; one without words stays as it is.

    >>> extended("A dog sleeps.")
    'A dog sleeps and true is true.'
    >>> extended("Who sleeps ?", times=2)
    'Who sleeps and true is true and true is true ?'
    """
    end = len(text.rstrip().rstrip(_STOPS).rstrip())
    return text[:end] + TAUTOLOGY * times + text[end:] if re.search(r"\w", text) else text


def _default(task: Task) -> str:
    return "hypothesis" if "hypothesis" in task.targets else ""
