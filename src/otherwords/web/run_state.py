"""What can be seen of a run folder while its run goes on, and after: how far it is, its scores, its problems.

Nothing is written. Parts and manifest are written whole or not at all, so that they can be read at any time; what is
made of them is kept until one of them changes.
"""

import threading
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import polars as pl

from ..answers.groups import OneAnswer
from ..errors import BadInput, OtherwordsError
from ..problem import ALL_MODELS, Score, Task
from ..progress import Progress, reporting_to
from ..report import browse
from ..report.reading import count_answers, finished_run
from ..scoring.compare import compare
from ..scoring.difference import Difference
from ..scoring.grouped import MEAN_OF_MODELS
from ..storage.files import digest
from ..storage.run_folder import DAMAGED, RunFolder
from ..storage.specs import short_names, split_name

#: The stages whose parts are counted, and what a bar says of them.
_STAGES = {"problems": "problems read", "variants": "rewordings made", "buckets": "rewordings checked"}
#: Seconds after which a run that is not done and writes nothing was perhaps stopped.
QUIET = 120
#: Results that are kept of a run: more would be those of models that somebody compares by the dozen.
_KEPT = 32
#: What may happen to files that another process replaces while they are read.
CHANGING = (OtherwordsError, OSError, *DAMAGED)

Made = TypeVar("Made")


class StageBar(NamedTuple):
    """How much of a stage is done; `total` is 0 while nobody knows."""

    name: str
    done: int
    total: int


class LiveScores(NamedTuple):
    """Scores, and whether they are those of a finished run; of one that goes on, ends hold however often one looks."""

    scores: Sequence[Score]
    is_done: bool
    constant: dict[str, OneAnswer]


class ViewedRun:
    """A run folder that is looked at, under a name that tells it from others."""

    def __init__(self, path: Path, number: int = 0, name: str = ""):
        self.folder, self.number, self.name = RunFolder(path), number, name or path.resolve().name
        self._kept: dict[str, tuple[Any, Any]] = {}
        self._lock = threading.Lock()

    @property
    def task(self) -> Task | None:
        """The task, as soon as it is known."""
        found = self.folder.manifest.get("task")
        return Task(**found) if isinstance(found, dict) else None

    @property
    def is_done(self) -> bool:
        """Whether its report is there, and younger than all its answers.

        Where a folder was copied, files have the times of the copy: it is done if no part is missing and nobody writes.
        """
        report = self.folder.path / "report.html"
        if not report.is_file():
            return False
        if report.stat().st_mtime_ns >= max(self._times(self.folder.parts("answers")), default=0):
            return True
        return self.quiet_for > QUIET and all(bar.done == bar.total for bar in self.bars())

    @property
    def quiet_for(self) -> float:
        """Seconds since anything was written into it."""
        every = [*self._parts(), self.folder.path / "manifest.json"]
        return max(0.0, time.time() - max(self._times(every), default=0) / 1e9)

    def _parts(self) -> list[Path]:
        return [part for stage in (*_STAGES, "answers") for part in self.folder.parts(stage)]

    @staticmethod
    def _times(paths: Sequence[Path]) -> list[int]:
        return [one.stat().st_mtime_ns for one in paths if one.exists()]

    def stamp(self) -> str:
        """What changes whenever anything does that is shown."""
        parts = self._parts()
        files = [self.folder.path / name for name in ("manifest.json", "scores.json", "report.html")]
        seen = (len(parts), max(self._times(parts), default=0), self._times(files), self.quiet_for > QUIET)
        return digest(list(seen))[:16]

    def _once(self, what: str, make: Callable[[], Made], *others: "ViewedRun") -> Made:
        """What is made, or was made before of the same files."""
        with self._lock:
            stamp = [self.stamp(), *(one.stamp() for one in others)]
            if what not in self._kept or self._kept[what][0] != stamp:
                with warnings.catch_warnings(), reporting_to(Progress()):
                    warnings.simplefilter("ignore")  # the run was warned
                    self._kept[what] = (stamp, make())
                for old in list(self._kept)[:-_KEPT]:
                    del self._kept[old]
            made: Made = self._kept[what][1]
            return made

    # How far it is

    def bars(self) -> list[StageBar]:
        """The stages, then what each model has answered, in parts of the data."""
        intake = self.folder.manifest.get("intake")
        shards = int(intake.get("shards", 0)) if isinstance(intake, dict) else 0
        found = [StageBar(says, len(self.folder.parts(stage)), shards) for stage, says in _STAGES.items()]
        if self.folder.manifest.get("study", {}).get("vary") == []:
            found = [one for one in found if one.name != _STAGES["variants"]]
        answered = self._answered()
        return [
            *found,
            *(StageBar(f"answers of {model}", answered.get(model, 0), shards) for model in self.models(answered)),
        ]

    def models(self, answered: dict[str, int] | None = None) -> list[str]:
        """The models of its study, then others that have answers."""
        named = [split_name(str(one))[0] for one in self.folder.manifest.get("study", {}).get("models", ())]
        there = self._answered() if answered is None else answered
        asked = [one for one in named if one in there or not any(other.startswith(f"{one}@") for other in there)]
        return list(dict.fromkeys([*asked, *there]))

    def _answered(self) -> dict[str, int]:
        """Parts with answers of each model; its name stands in them."""
        counts: dict[str, int] = {}
        by_folder: dict[Path, list[Path]] = {}
        for part in self.folder.parts("answers"):
            by_folder.setdefault(part.parent, []).append(part)
        for parts in by_folder.values():
            name = pl.scan_parquet(parts[0], glob=False).select("model").head(1).collect().item()
            counts[str(name)] = len(parts)
        return counts

    # What is known so far

    def live(self) -> LiveScores:
        """Its scores; while it goes on, those of the answers that are there."""
        return self._once("live", self._live)

    def _live(self) -> LiveScores:
        if not self._answered():
            return LiveScores([], self.is_done, {})
        constant = count_answers(self.folder.batches("answers")).constant
        if not self.is_done:
            return LiveScores(self._so_far(), False, constant)
        every = finished_run(self.folder.path)[1]
        return LiveScores([one for one in every if one.model not in (ALL_MODELS, MEAN_OF_MODELS)], True, constant)

    def _so_far(self) -> list[Score]:
        """Scores of a run that goes on, with ends that hold at every look; none where there is nothing to measure."""
        from ..pipeline import score

        try:
            found = score(self.folder.path, anytime=True)
        except BadInput:
            return []
        ends = [replace(one, low=one.anytime_low, high=one.anytime_high, interval="anytime") for one in found]
        return [one for one in ends if one.low is not None]

    def problems(self) -> browse.Browsed | None:
        """The list of all problems, as far as they are answered; nothing before the first is."""
        return self._once("problems", self._problems) if self._answered() else None

    def _problems(self) -> browse.Browsed | None:
        task = self.task
        if task is None:
            return None
        answers, buckets = self.folder.batches("answers"), self.folder.batches("buckets")
        about = count_answers(answers)
        found = browse.look_up(about.browsable(buckets, task), answers, buckets, task)
        names = short_names(sorted(found.rows["how"].drop_nulls().unique()))
        return browse.browsed(found, about.wavering, self.models(), task, names)

    def answers_of(self, model: str) -> pl.DataFrame:
        """All answers of a model."""
        if model not in self._answered():
            there = ", ".join(self._answered()) or "none yet"
            raise BadInput(f"no answers of {model}", where=self.name, fix=f"available: {there}")
        return self.folder.scan("answers").filter(pl.col("model") == model).collect()

    def compared(self, model: str, other: "ViewedRun", rival: str) -> Sequence[Difference]:
        """The differences between a model of this run and one of another, or of the same."""

        def make() -> Sequence[Difference]:
            shown = [
                f"{run.name}: {name}" if self is not other else name for run, name in ((self, model), (other, rival))
            ]
            frames = [self.answers_of(model), other.answers_of(rival)]
            named = [one.with_columns(model=pl.lit(name)) for one, name in zip(frames, shown, strict=True)]
            return compare(named[0], named[1])

        return self._once(f"{model}\0{other.number}\0{rival}", make, other)


def find_runs(paths: Sequence[Path]) -> list[ViewedRun]:
    """The run folders that are named, and those in folders that are named; what is neither is refused."""
    found: dict[Path, None] = {}
    for path in paths:
        inner = [path] if RunFolder(path).is_run() else _inside(path)
        if not inner:
            there = path.exists()
            reason = "is not a run folder and contains none" if there else "no such folder"
            raise BadInput(
                reason, where=str(path), fix="name run folders, or a folder that contains them, such as runs/"
            )
        found |= dict.fromkeys(one.resolve() for one in inner)
    names = _names(list(found))
    return [ViewedRun(path, number, name) for number, (path, name) in enumerate(zip(found, names, strict=True))]


def _names(paths: Sequence[Path]) -> list[str]:
    """What runs are called: by their folders, with those above as far as it takes to tell them apart.

    >>> _names([Path("a/x"), Path("b/y")]), _names([Path("a/x/run"), Path("b/x/run")])
    (['x', 'y'], ['a/x/run', 'b/x/run'])
    """
    for depth in range(1, max(len(path.parts) for path in paths) + 1):
        names = ["/".join(path.parts[-depth:]) for path in paths]
        if len(set(names)) == len(names) and "run" not in names:
            break
    return names


def _inside(path: Path) -> list[Path]:
    """The runs in a folder: directly, or as cells of a paper's experiment."""
    if not path.is_dir():
        return []
    near = [one for one in (*path.iterdir(), *path.glob("cells/**/run")) if one.is_dir()]
    return sorted(one for one in near if RunFolder(one).is_run())
