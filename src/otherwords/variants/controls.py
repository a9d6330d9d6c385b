"""Controls: generators whose outcome is known beforehand, to test the test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..problem import Problem, Variant
from ..registry import generators


@generators("identity.v1")
def identity() -> Any:
    """Repeat every problem unchanged: any flip it shows is the model's own unsteadiness."""

    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant]:
        for problem in problems:
            yield problem.restate()

    return vary
