"""The pytest plug-in: the fixture `otherwords`, with which a test says what may not change when the wording does.

pytest loads this file in every project where otherwords is installed, so that it imports nothing else at first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ..problem import Score
    from ..scoring.gates import GateResult
    from .runner import Run


@dataclass
class Wording:
    """What a test asks of a model: runs go to a folder of the test, and gates that fail fail the test."""

    folder: Path
    record: Callable[[str, object], None]
    _runs: list[Path] = field(default_factory=list)

    def run(self, study: Any = None, *, require: Sequence[str] = (), **settings: Any) -> Run:
        """Run a study (a file, or settings as of `otherwords.run`), and fail the test where a gate is missed."""
        from .runner import run

        out = settings.pop("out", None) or self.folder / f"run-{len(self._runs) + 1}"
        done = run(study, out=out, require=[*require], **settings)
        self._runs.append(done.folder)
        self._report(done.scores, done.gates)
        return done

    def score(self, answers: Any, using: Any = (), *, require: Sequence[str] = (), **settings: Any) -> Sequence[Score]:
        """Score answers (a table, a file, a run folder, a log), and fail the test where a gate is missed."""
        from ..pipeline import score
        from ..scoring.gates import check

        scores = score(answers, using, require=[*require], **settings)
        self._report(scores, check(require, scores))
        return scores

    def no_worse(self, answers: Any, baseline: Any, *gates: str, **settings: Any) -> None:
        """Fail the test unless answers are shown not to be worse than a baseline's, as `flip_rate<=0.02`."""
        from ..scoring.builds import check_baseline

        results, _ = check_baseline(answers, baseline, gates, **settings)
        self._report((), results)

    def _report(self, scores: Sequence[Score], gates: Sequence[GateResult]) -> None:
        """Keep scores as properties of the test, which `--junitxml` writes, and fail where a gate is missed."""
        for one in scores:
            self.record(f"{one.model}: {one.metric}{f'[{one.group}]' if one.group else ''}", one.value)
        if failed := [one.line for one in gates if not one.passed]:
            pytest.fail("\n".join(failed), pytrace=False)


@pytest.fixture
def otherwords(tmp_path: Path, request: pytest.FixtureRequest) -> Wording:
    """Run studies, score answers and compare with a baseline; a gate that is missed fails the test."""
    # What `record_property` does, but for its warning that properties of tests are no part of the newer JUnit schema.
    return Wording(tmp_path, lambda name, value: request.node.user_properties.append((name, value)))
