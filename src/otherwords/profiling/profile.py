"""The profile of a transformation: how much it changes, which words, and what that does to length and artifacts.

Lengths and frequencies are those of the suite as a whole, put in other words: a problem without a variant counts as it
is, one with several by their mean.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import polars as pl

from .. import stages
from ..datasets.intake import Intake
from ..datasets.records import Record
from ..datasets.source import Source
from ..errors import BadInput
from ..frames import kept as without_dropped
from ..frames import reworded, to_frame
from ..problem import Task, get_task
from ..progress import current
from ..storage import tables
from ..storage.run import RunFolder, read_part
from .parts import Part, Profile
from .suggestions import suggestions
from .tally import Tally

Suite = pl.DataFrame | str | Path


def profile(
    suite: Suite | Sequence[str | Path],
    task: str | Task | Mapping[str, Any] = "",
    *,
    kept: bool = False,
    columns: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    skip_bad: bool = False,
    out: str | Path | None = None,
) -> Profile:
    """Describe what the variants of a suite do to their originals, over all and by generator (`how`).

    `suite` is a table, a run folder, or one or more files or data sets with originals and variants. Left out are
    contrasts and controls, which are no rewordings; with `kept`, also variants that a check dropped: not otherwise,
    because a profile is of the transformation. `out` names a file for all substitutions of each generator.

    >>> rows = {"id": ["a", "a1"], "of": [None, "a"], "how": [None, "mine"], "label": ["neutral"] * 2}
    >>> texts = {"premise": ["A man runs.", "An adult male runs."], "hypothesis": ["He is late."] * 2}
    >>> found = profile(pl.DataFrame({**rows, **texts})).whole
    >>> found.share_changed, found.words_changed, found.substitutions[0].before, found.lengths[0].after
    (1.0, 1.0, 'man', 7.0)
    """
    tables.refuse_unwritable(out)
    with _parts(suite, task, columns or {}, labels or {}, skip_bad) as (parts, chosen):
        tally, left_out = Tally(chosen), 0
        for part in parts:
            left = without_dropped(part.lazy()).collect() if kept else part
            left_out += part.height - left.height
            for bucket in reworded(left, chosen):
                tally.add(bucket)
            current().advance(part.height)
    if not tally.variants:
        raise BadInput("there are no variants to profile", where=_name(suite), fix=_advice(left_out))
    found = replace(tally.profile(), suggestions=suggestions(_names(suite)))
    if out:
        tables.write([_listed(part) for part in found.generators], out)
    return found


def _listed(part: Part) -> pl.DataFrame:
    rows = [{"how": part.how, **asdict(one)} for one in part.substitutions]
    schema = {"how": pl.String, "before": pl.String, "after": pl.String, "count": pl.Int64, "share": pl.Float64}
    return pl.DataFrame(rows, schema=schema)


@contextmanager
def _parts(
    suite: Suite | Sequence[str | Path],
    task: str | Task | Mapping[str, Any],
    columns: Mapping[str, str],
    labels: Mapping[str, str],
    skip_bad: bool,
) -> Iterator[tuple[Iterator[pl.DataFrame], Task]]:
    """The suite in parts of whole buckets: checked at the door and spooled to disk, so that memory stays flat."""
    if isinstance(suite, pl.DataFrame):
        intake = Intake(get_task(task or "nli"), columns, labels, skip_bad)
        yield iter([_checked(suite, intake)]), intake.task
        return
    named = _names(suite)
    source = Source([_buckets(name) for name in named], task or _task_of(named), columns, labels, skip_bad)
    with tempfile.TemporaryDirectory(prefix="otherwords-") as place:
        folder = RunFolder(place)
        current().start("problems")
        noted = stages.take_in(source, folder)
        current().done()
        current().start("profile", noted["rows"])
        yield map(read_part, folder.parts("problems")), source.chosen
        current().done()


def _checked(suite: pl.DataFrame, intake: Intake) -> pl.DataFrame:
    """A table made by hand is held to the rules of the door, as a file is."""
    rows = enumerate(suite.iter_rows(named=True), 1)
    taken = list(intake.rows(Record(f"the suite, row {number}", row) for number, row in rows))
    if rejected := intake.rejected:
        warnings.warn(f"left out {len(rejected)} rows, the first: {rejected[0]['reason']}", stacklevel=5)
    return to_frame(taken, intake.task)


def _buckets(name: str) -> str:
    """A run folder stands for its buckets."""
    inner = Path(name) / "buckets"
    return str(inner) if inner.is_dir() else name


def _task_of(names: Sequence[str]) -> str | dict[str, Any]:
    """The task that a run folder's manifest tells of."""
    told = [RunFolder(name).manifest.get("task") for name in names if (Path(name) / "buckets").is_dir()]
    return told[0] if told and isinstance(told[0], dict) else ""


def _names(suite: Suite | Sequence[str | Path]) -> list[str]:
    """What the user named; a table has no name."""
    if isinstance(suite, pl.DataFrame):
        return []
    return [str(suite)] if isinstance(suite, (str, Path)) else list(map(str, suite))


def _name(suite: Suite | Sequence[str | Path]) -> str:
    return ", ".join(_names(suite)) or "the suite"


def _advice(left_out: int) -> str:
    if left_out:
        return f"the checks dropped all {left_out}: leave kept (--kept) out to profile them"
    return "name originals and variants that are no controls: a file of vary --suite, two files, or a run folder"
