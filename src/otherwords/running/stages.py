"""The stages on a run folder: each maps a shard to a part. Jobs are names and numbers, so any engine can carry them."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from .. import pipeline
from .._version import __version__
from ..datasets.intake import ProblemRow
from ..datasets.source import Source
from ..errors import BadInput
from ..frames import kept, to_frame
from ..models.answering import TRUNCATED, load, warn_truncated
from ..models.cache import Cache
from ..models.model import Answerer
from ..problem import Task
from ..progress import current
from ..registry import KINDS, Bound, split_name
from ..storage.files import digest, fingerprint, write_json
from ..storage.run_folder import RunFolder, key_of, read_part
from ..validity.mutual_entailment import Counts, judged_by, total, warn_none_accepted
from ..words import english
from .engines import Engine

#: Rows after which a shard ends, at the next bucket.
SHARD = 2_000


@dataclass(frozen=True)
class Job:
    """One shard of one stage: what to do, with what, where. `using` names the generators or checks, or the model."""

    folder: str
    number: int
    task: Task
    using: tuple[str, ...] = ()
    seed: int = 1
    label_map: tuple[tuple[str, str], ...] = ()
    cache: str = ""
    batch_size: int = 0


def take_in(source: Source, folder: RunFolder, shard: int = SHARD) -> dict[str, Any]:
    """Bring the data into the folder as `problems/`, bucket by bucket; give the counts."""
    files = [path for bound in source.bound for path in bound.function.files]
    unseen = any(str(path) == "-" for path in files)
    key = digest(__version__, source.signature, shard, [fingerprint(path) for path in files if path.exists()])
    noted = folder.manifest.get("intake", {})
    draft = RunFolder(folder.path / ".taking-in")  # until all is known to be good, an earlier study stays as it was
    shutil.rmtree(draft.path, ignore_errors=True)
    if noted.get("key") == key and not unseen and _is_whole(folder, key, noted["shards"]):
        for said in noted.get("warnings", ()):  # a suite that leaves rows out says so in every report
            warnings.warn(said, stacklevel=2)
        return dict(noted)
    try:
        cutter = _Cutter(shard)
        with warnings.catch_warnings(record=True) as heard:
            count = _write(draft, key, cutter.cut(iter(source), source.chosen), unseen)
        if not cutter.contiguous:
            count = _write(draft, key, _slices(_by_bucket(draft.read("problems")), shard), unseen)
            draft.trim("problems", count)
        _align(draft)
        shutil.rmtree(folder.path / "problems", ignore_errors=True)
        (draft.path / "problems").rename(folder.path / "problems")
    finally:
        shutil.rmtree(draft.path, ignore_errors=True)
    intake = source.intake
    noted = {"key": key, "shards": count, "rows": intake.accepted, "originals": cutter.originals,
             "no_majority": intake.no_majority, "rejected": len(intake.rejected)}  # fmt: skip
    if heard:
        noted["warnings"] = [str(one.message) for one in heard]
        for said in noted["warnings"]:
            warnings.warn(said, stacklevel=2)
    (folder.path / "rejected.jsonl").unlink(missing_ok=True)
    if intake.rejected:
        source.write_rejected(folder.path)
    folder.note(intake=noted)
    return noted


def _align(folder: RunFolder) -> None:
    """Give all parts the same columns of the same kinds, so that any reader can open `problems/*.parquet` as one."""
    parts = folder.parts("problems")
    scans = [pl.scan_parquet(part, glob=False) for part in parts]
    schema = pl.concat(scans, how="diagonal_relaxed").collect_schema()
    for number, part in enumerate(parts):
        if scans[number].collect_schema() != schema:
            whole = pl.concat([pl.DataFrame(schema=schema), read_part(part)], how="diagonal_relaxed")
            folder.write("problems", number, key_of(part), whole)


def _is_whole(folder: RunFolder, key: str, count: int) -> bool:
    wanted = [digest(key, number, "") for number in range(count)]
    return [key_of(part) for part in folder.parts("problems")] == wanted


def _by_bucket(suite: pl.DataFrame) -> pl.DataFrame:
    """Set every original before its variants, in the order in which the buckets begin."""
    place = "\0place"  # no column of the user's is called so
    begins = pl.col(place).min().over(pl.coalesce("of", "id"))
    return suite.with_row_index(place).sort(begins, maintain_order=True).drop(place)


class _Cutter:
    """Cuts a stream of rows into frames between buckets, and sees whether buckets came in one piece."""

    def __init__(self, shard: int):
        self.shard, self.contiguous, self.originals = shard, True, 0

    def cut(self, rows: Iterable[ProblemRow], task: Task) -> Iterator[pl.DataFrame]:
        some: list[ProblemRow] = []
        bucket = None
        for row in rows:
            if row["of"] is None:
                bucket, self.originals = row["id"], self.originals + 1
                if len(some) >= self.shard:
                    yield to_frame(some, task)
                    some = []
            elif row["of"] != bucket:
                self.contiguous = False
            some.append(row)
            current().advance(1)
        if some:
            yield to_frame(some, task)


def _slices(frame: pl.DataFrame, shard: int) -> Iterator[pl.DataFrame]:
    starts = frame.select(pl.col("of").is_null().arg_true()).to_series().to_list()
    begin = 0
    for start in starts:
        if start - begin >= shard:
            yield frame.slice(begin, start - begin)
            begin = start
    yield frame.slice(begin)


def _write(folder: RunFolder, key: str, frames: Iterable[pl.DataFrame], unseen: bool) -> int:
    """Write frames as parts. What came from standard input no signature knows, so that its content is in the keys."""
    count = 0
    for frame in frames:
        folder.write("problems", count, digest(key, count, frame.write_ndjson() if unseen else ""), frame)
        count += 1
    return count


def run_stage(engine: Engine, stage: str, jobs: list[Job], total: int | None = None) -> list[int]:
    """Map a stage over its shards; give the rows of each part."""
    current().start(stage.partition("/")[0], total)
    counts = list(engine.map(FUNCTIONS[stage.partition("/")[0]], jobs))
    if jobs:
        for made in (_stage(stage, jobs[0]), *(("notes",) if stage == "variants" else ())):
            RunFolder(jobs[0].folder).trim(made, len(jobs))
    current().done()
    return counts


def vary_shard(job: Job) -> int:
    """problems/ -> variants/ and notes/"""
    folder, source = RunFolder(job.folder), RunFolder(job.folder).part("problems", job.number)
    bound = [made("generators", name) for name in job.using]
    key = digest(__version__, key_of(source), [one.signature for one in bound], job.seed, job.task.targets)

    parts = [folder.part(stage, job.number) for stage in ("variants", "notes")]
    if all(key_of(part) == key for part in parts):  # one alone may be left of a study that did not end
        current().advance(_height(source) * len(bound))  # else the generators tell, batch by batch
        return _height(parts[0])
    problems = read_part(source)
    variants, said = pipeline.varied(problems, bound, job.task, job.seed)
    empty = [name for name, kind in variants.schema.items() if kind == pl.Null and name in problems.schema]
    variants = variants.with_columns(pl.col(name).cast(problems.schema[name]) for name in empty)
    folder.write("notes", job.number, key, said)
    folder.write("variants", job.number, key, variants)
    return variants.height


def check_shard(job: Job) -> int:
    """problems/ and variants/ -> buckets/"""
    folder = RunFolder(job.folder)
    sources = [part for part in (folder.part(stage, job.number) for stage in ("problems", "variants")) if part.exists()]
    bound = [made("checks", name) for name in job.using]
    key = digest(__version__, [key_of(part) for part in sources], [one.title for one in bound], job.task.targets)

    def build() -> pl.DataFrame:
        suite = pl.concat([read_part(part) for part in sources], how="diagonal_relaxed")
        return pipeline.check(_by_bucket(suite), bound, job.task)

    part = folder.make("buckets", job.number, key, build)
    current().advance(_height(part))
    return _height(part)


def answer_shard(job: Job) -> int:
    """buckets/ -> answers/<model>/"""
    folder = RunFolder(job.folder)
    model = answerer(job.using[0], job.task, job.label_map)
    source = folder.part("buckets", job.number)
    key = digest(__version__, key_of(source), model.name, model.signature)
    path = folder.part(_stage("answers", job), job.number)
    to_judge = judged_by(pl.scan_parquet(source, glob=False).collect_schema())
    if key_of(path) == key and (not to_judge or _counts(path) is not None):
        current().advance(_height(path))
        return _height(path)
    with Cache(job.cache) as cache:
        answers, counts = pipeline.answer_shard(read_part(source), model, cache, job.batch_size)
    _counts_beside(path).unlink(missing_ok=True)
    if to_judge:
        write_json(_counts_beside(path), {"key": key, "self_judged": counts})
    folder.write(_stage("answers", job), job.number, key, answers)
    return answers.height


FUNCTIONS = {"variants": vary_shard, "buckets": check_shard, "answers": answer_shard}


def _stage(stage: str, job: Job) -> str:
    if stage != "answers":
        return stage
    return answer_folder(answerer(job.using[0], job.task, job.label_map))


@lru_cache(maxsize=64)
def made(kind: str, name: str) -> Bound:
    """A plug-in by name, made once per process."""
    return KINDS[kind].make(name)


@lru_cache(maxsize=1)  # one at a time: several may not fit
def answerer(spec: str, task: Task, label_map: tuple[tuple[str, str], ...]) -> Answerer:
    """A model by name, loaded once for all of its shards."""
    return load(spec, task, dict(label_map))


def warn_truncated_parts(folder: RunFolder, model: Answerer) -> None:
    """Warn of problems that a model read only in part, once for all of its shards, made now or before."""
    parts = [pl.scan_parquet(part, glob=False) for part in folder.parts(answer_folder(model))]
    cut = [part.select(pl.col(TRUNCATED).sum()) for part in parts if TRUNCATED in part.collect_schema()]
    rows = [part.select(pl.len()) for part in parts]
    warn_truncated(model, *(sum(one.collect().item() for one in some) for some in (cut, rows)))


def self_judged(folder: RunFolder, model: Answerer) -> Counts:
    """How many variants a model was to judge itself, and accepted; warn where it accepted none."""
    found = total(_counts(part) or {} for part in folder.parts(answer_folder(model)))
    warn_none_accepted(model.name, found)
    return found


def refuse_wrong_models(specs: Sequence[str]) -> None:
    """Complain of a model or an option that does not exist, or of two models of one name, before any is loaded."""
    chosen = [split_name(spec) for spec in specs]
    for _, spec in chosen:
        KINDS["models"].refuse_wrong(spec)
    if len(dict(chosen)) < len(chosen):
        raise BadInput("two models have the same name", fix="name them apart: one=SPEC, two=SPEC")


def forget() -> None:
    """Make everything anew next time: files behind names may have changed."""
    made.cache_clear()
    answerer.cache_clear()
    english.forget()


def answer_folder(model: Answerer) -> str:
    """Answers lie in a folder per model, named after it."""
    plain = "".join(letter if letter.isalnum() else "-" for letter in model.name)[:40].strip("-")
    return f"answers/{plain}-{digest(model.name, model.signature)[:8]}"


def asked(folder: RunFolder) -> int:
    """How many rows the models will be asked: all but the dropped."""
    return sum(kept(pl.scan_parquet(p, glob=False)).select(pl.len()).collect().item() for p in folder.parts("buckets"))


def _counts_beside(part: Path) -> Path:
    """Where it is noted how many variants of a part the model was to judge: those it did not accept have no answers."""
    return part.with_suffix(".json")


def _counts(part: Path) -> Counts | None:
    """What is noted beside a part; None where it is absent, damaged or another part's: both are made again."""
    try:
        found = json.loads(_counts_beside(part).read_text(encoding="utf-8"))
        return found["self_judged"] if found["key"] == key_of(part) else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _height(path: Path) -> int:
    return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())
