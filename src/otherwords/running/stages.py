"""The stages on a run folder: a shard in, a part out. An engine maps them over the shards."""

import json
import shutil
import uuid
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import polars as pl

from .. import pipeline
from .._version import __version__
from ..datasets.source import Source
from ..errors import caller_level
from ..frames import REJECTED, Piece, by_bucket, is_unmarked, join_pieces, kept
from ..models.answering import Asker, Questions, Texts, answer_table, load
from ..models.cache import Cache
from ..models.model import Answerer
from ..models.writing import AnswerWriter
from ..problem import Task
from ..progress import current
from ..registry import KINDS, Bound, load_plugins
from ..significance.anytime import Plan, Stopped
from ..storage import tables
from ..storage.files import digest, fingerprint
from ..storage.run_folder import RunFolder, answer_folder, key_of, read_part
from ..validity.checking import as_check
from ..validity.mutual_entailment import judged_by
from ..variants.generating import as_generator, left_out, surveyed, texts_of, totals, warn_unused_rows
from ..words import language

#: Rows after which a shard ends, at the next bucket; and where a generator or check works problem by problem: it may
#: be slow, and what it did of a shard is lost when the run is interrupted.
SHARD, SLOW_SHARD = 20_000, 2_000
#: Rows that are in memory together while scattered buckets are put together.
_GROUP = 200_000

Item = TypeVar("Item")
#: What a job names: generators, checks, or a model.
Specs = tuple[str, ...]


@dataclass(frozen=True)
class ShardJob:
    """One shard of one stage: what to do, with what, where. `using` names the generators or checks, or the model.

    `since` is when the driver loaded that model: what is older in the cache was stored before this run.
    """

    folder: str
    number: int
    task: Task
    using: tuple[str, ...] = ()
    seed: int = 1
    label_map: tuple[tuple[str, str], ...] = ()
    cache: str = ""
    batch_size: int = 0
    plugins: tuple[str, ...] = ()
    fresh: bool = False
    since: float = 0.0


class Made(NamedTuple):
    """A part: its rows, whether it was there already, and how many of its answers were in the cache.

    `accounts` are what its generators have counted, whose copies in the driver have not seen this shard.
    """

    rows: int
    reused: bool = False
    from_cache: int = 0
    accounts: tuple[Any, ...] = ()


def vary_shard(job: ShardJob) -> Made:
    """problems/ -> variants/ and notes/"""
    load_plugins(job.plugins)
    folder, source = RunFolder(job.folder), RunFolder(job.folder).part("problems", job.number)
    generators = [make_cached("generators", name) for name in job.using]
    key = digest(__version__, key_of(source), [one.title for one in generators], job.seed, job.task.targets)
    parts = [folder.part(stage, job.number) for stage in ("variants", "notes")]
    if all(key_of(part) == key for part in parts):  # one alone may be left of a study that did not end
        current().advance(_height(source) * len(generators))  # otherwise the generators report, batch by batch
        return Made(_height(parts[0]), reused=True)
    problems = read_part(source)
    variants, notes = pipeline.varied(problems, generators, job.task, job.seed)
    empty = [name for name, kind in variants.schema.items() if kind == pl.Null and name in problems.schema]
    variants = variants.with_columns(pl.col(name).cast(problems.schema[name]) for name in empty)
    folder.write("notes", job.number, key, notes)
    folder.write("variants", job.number, key, variants)
    return Made(variants.height, accounts=tuple(as_generator(one.function).drain() for one in generators))


def check_shard(job: ShardJob) -> Made:
    """problems/ and variants/ -> buckets/"""
    load_plugins(job.plugins)
    folder = RunFolder(job.folder)
    sources = [part for part in (folder.part(stage, job.number) for stage in ("problems", "variants")) if part.exists()]
    checks = [make_cached("checks", name) for name in job.using]
    key = digest(__version__, [key_of(part) for part in sources], [one.title for one in checks], job.task.targets)

    part = folder.part("buckets", job.number)
    if reused := key_of(part) == key:
        rows = _height(part)
    else:
        suite = by_bucket(pl.concat([read_part(source) for source in sources], how="diagonal_relaxed"))
        folder.write("buckets", job.number, key, pipeline.checked(suite, checks, job.task))
        rows = suite.height
    current().advance(rows)
    return Made(rows, reused)


def answer_shard(job: ShardJob) -> Made:
    """buckets/ -> answers/<model>/"""
    return answer_shards([job])[0]


class Shelf:
    """What models share of a suite, kept from one model to the next while there is `room` for so many bytes.

    A suite that fits is read, and its texts are deduplicated, only once, although two models may not be in memory.
    """

    def __init__(self, room: int = 0):
        self._room = room
        self._items: dict[Any, Any] = {}

    def keep(self, key: Any, make: Callable[[], Item], size: Callable[[Item], int]) -> Item:
        """What is kept under a key, or else made now."""
        if key in self._items:
            return cast(Item, self._items[key])
        item = make()
        if self._room > 0 and size(item) <= self._room:
            self._room -= size(item)
            self._items[key] = item
        return item


def answer_shards(jobs: Sequence[ShardJob], shelf: Shelf | None = None) -> list[Made]:
    """The same for many shards, one after the other; jobs of one shard, for several models, follow each other.

    The next shards are read and looked up in the cache while a model works, once for all models; parts are written
    when the answers are stored, behind its back. Shards that are smaller than a model's batch are asked together.
    """
    if not jobs:
        return []
    load_plugins(jobs[0].plugins)
    models = {job.using: load_cached(job.using[0], job.task, job.label_map, job.fresh, job.since) for job in jobs}
    with Cache(jobs[0].cache) as cache, AnswerWriter(cache) as writer:
        askers = {using: Asker(model, writer, jobs[0].batch_size) for using, model in models.items()}
        made: dict[ShardJob, Made] = {}
        with closing(_ahead(_chunks(jobs, askers, shelf or Shelf()))) as chunks:
            for chunk in chunks:
                for shard in chunk.shards:
                    made.update(shard.reused)
                    current().advance(sum(one.rows for one in shard.reused.values()))
                for using in chunk.shards[0].todo:
                    made.update(_answer_chunk(chunk, using, askers[using], writer))
    return [made[job] for job in jobs]


class _Shard(NamedTuple):
    """A shard: the parts that are there already and, for the models that are still to answer, the suite and their keys.

    A model is named by its specs, as in a job.
    """

    reused: dict[ShardJob, Made]
    todo: dict[Specs, tuple[ShardJob, str]]
    suite: pl.DataFrame
    rows: int
    source: tuple[str, str]


class _Chunk(NamedTuple):
    """Shards that are asked together, and the questions to each model; none yet where models judge variants first."""

    shards: list[_Shard]
    questions: dict[Specs, Questions]


def _ahead(items: Iterator[Item]) -> Generator[Item, None, None]:
    """The same items, each made in another thread while the one before is used."""
    with ThreadPoolExecutor(1, "next-shards") as pool:
        coming = pool.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = pool.submit(next, items, None)
            yield item


def _chunks(jobs: Sequence[ShardJob], askers: Mapping[Specs, Asker], shelf: Shelf) -> Iterator[_Chunk]:
    """Read the shards, as many at a time as fit into a batch of a model, and look up their texts in the cache.

    The first is alone: for it the model must wait.
    """
    size, most = max(asker.size for asker in askers.values()), 0
    shards: list[_Shard] = []
    judged = False
    for _, some in groupby(jobs, lambda job: job.number):
        shard = _read_shard(list(some), askers, shelf)
        judged |= bool(judged_by(shard.suite.columns))
        rows = sum(one.rows for one in shards)
        if shards and (judged or rows + shard.rows > most or shard.todo.keys() != shards[0].todo.keys()):
            yield _look_up(shards, askers, shelf, judged)
            shards, most = [], min(size, 3 * rows)
        shards.append(shard)
    yield _look_up(shards, askers, shelf, judged)


def _read_shard(jobs: Sequence[ShardJob], askers: Mapping[Specs, Asker], shelf: Shelf) -> _Shard:
    folder = RunFolder(jobs[0].folder)
    source = folder.part("buckets", jobs[0].number)
    name = (str(source), key_of(source))
    reused, todo = {}, {}
    for job in jobs:
        model = askers[job.using].model
        part = folder.part(answer_folder(model.name, model.signature), job.number)
        key = digest(__version__, name[1], model.name, model.signature)
        if key_of(part) == key and not job.fresh and _has_rejected(source, part):
            reused[job] = Made(_height(part), reused=True)
        else:
            todo[job.using] = (job, key)
    read = partial(_read_kept, source)
    suite = shelf.keep(name, read, lambda one: int(one.estimated_size())) if todo else pl.DataFrame()
    return _Shard(reused, todo, suite, suite.height + sum(one.rows for one in reused.values()), name)


def _read_kept(source: Path) -> pl.DataFrame:
    return kept(read_part(source).lazy()).collect()


def _look_up(shards: list[_Shard], askers: Mapping[Specs, Asker], shelf: Shelf, judged: bool) -> _Chunk:
    models = list(shards[0].todo)
    if judged or not models:
        return _Chunk(shards, {})
    task = askers[models[0]].model.task

    def distinct() -> Texts:
        columns = {name: pl.concat([one.suite[name].cast(pl.String) for one in shards]) for name in task.fields}
        return Texts.of(columns, task)

    texts = shelf.keep(tuple(one.source for one in shards), distinct, lambda one: one.size)
    return _Chunk(shards, {using: askers[using].look_up(texts) for using in models})


def _answer_chunk(chunk: _Chunk, using: Specs, asker: Asker, writer: AnswerWriter) -> Iterator[tuple[ShardJob, Made]]:
    """Ask a model about the shards, and hand its answers over to be written."""
    model, begin = asker.model, 0
    if using in chunk.questions:
        for shard in chunk.shards:
            pipeline.warn_if_foreign_to(model, (shard.suite[name] for name in model.task.fields))
        answers = asker.ask(chunk.questions[using], current().advance, model.tally)
        were_stored = chunk.questions[using].were_stored
    for shard in chunk.shards:
        if using in chunk.questions:
            rows = slice(begin, begin := begin + shard.suite.height)
            build = partial(answer_table, shard.suite, model, answers.take(rows))
            made = Made(shard.suite.height, from_cache=int(were_stored[rows].sum()))
        else:
            writer.wait()  # it asks through the cache, twice
            before = model.tally.from_cache
            table = pipeline.answers_of(model, shard.suite, writer.cache, asker.size)
            build = partial(pl.DataFrame, table)
            made = Made(table.height, from_cache=model.tally.from_cache - before)
        job, key = shard.todo[using]
        if not model.is_storable():
            key = digest(key, uuid.uuid4().hex)  # fits no later run: it asks again
        writer.then(partial(_write_answers, job, model, key, build))
        yield job, made


def _write_answers(job: ShardJob, model: Answerer, key: str, build: Callable[[], pl.DataFrame]) -> None:
    RunFolder(job.folder).write(answer_folder(model.name, model.signature), job.number, key, build())


def answer_until(folder: RunFolder, model: Answerer, plan: Plan, cache: Cache, batch_size: int) -> tuple[Made, Stopped]:
    """buckets/ -> answers/<model>/ as one part, of the clusters that it took to answer the plan's rule"""
    before = model.tally.from_cache
    current().start("answers", plan.rows.height)
    answers, stopped = pipeline.answers_until(model, plan, cache, batch_size)
    current().done()
    stage = answer_folder(model.name, model.signature)
    folder.write(stage, 0, digest(__version__, uuid.uuid4().hex), answers)  # of this call alone
    folder.trim(stage, 1)
    return Made(answers.height, from_cache=model.tally.from_cache - before), stopped


def _has_rejected(source: Path, part: Path) -> bool:
    """Whether a part has the variants that the model rejected itself, if any; earlier versions left them out."""
    judges, columns = (pl.scan_parquet(path, glob=False).collect_schema() for path in (source, part))
    return REJECTED in columns or not judged_by(judges)


#: What makes a part of each stage.
SHARD_FUNCTIONS = {"variants": vary_shard, "buckets": check_shard, "answers": answer_shard}


def count_asked(folder: RunFolder) -> int:
    """How many rows the models will be asked: all that no check dropped."""
    return sum(kept(pl.scan_parquet(p, glob=False)).select(pl.len()).collect().item() for p in folder.parts("buckets"))


# Plug-ins by name, made once per process


def choose_shard(generators: Sequence[str], checks: Sequence[str]) -> int:
    """The size of shards that suits the plug-ins: large, unless one works problem by problem and may be slow."""
    made = [as_generator(make_cached("generators", name).function).columns for name in generators]
    judges = [as_check(make_cached("checks", name).function).columns for name in checks]
    return SLOW_SHARD if None in (*made, *judges) else SHARD


@lru_cache(maxsize=64)
def make_cached(kind: str, name: str) -> Bound:
    """A plug-in by name, made once per process."""
    return KINDS[kind].make(name)


#: The models that are loaded: one, and those that are light. Several others may not fit into memory.
_loaded: dict[tuple[Any, ...], Answerer] = {}


def load_cached(
    spec: str, task: Task, label_map: tuple[tuple[str, str], ...], fresh: bool = False, since: float = 0.0
) -> Answerer:
    """A model by name, loaded once for all of its shards; the one before it is released first, unless it is light.

    A worker loads it later than the driver, and counts it as loaded `since` then.
    """
    key = (spec, task, label_map, fresh)
    if key not in _loaded:
        for other in [one for one, model in _loaded.items() if not model.model.light]:
            del _loaded[other]
        model = load(spec, task, dict(label_map), fresh=fresh)
        _loaded[key] = replace(model, loaded=since) if since else model
    return _loaded[key]


def is_light(spec: str, task: Task, label_map: tuple[tuple[str, str], ...], fresh: bool = False) -> bool:
    """Whether a model is loaded, and will be whatever else is."""
    model = _loaded.get((spec, task, label_map, fresh))
    return model is not None and model.model.light


def forget() -> None:
    """Clear the caches: files behind names may have changed."""
    make_cached.cache_clear()
    _loaded.clear()
    language.forget()


# Intake


def take_in(source: Source, folder: RunFolder, shard: int = SHARD) -> dict[str, Any]:
    """Read the data into the folder as `problems/`, bucket by bucket; return the counts."""
    files = [path for bound in source.bound for path in bound.function.files]
    unseen = any(str(path) == "-" for path in files)
    key = digest(__version__, source.signature, shard, [fingerprint(path) for path in files if path.exists()])
    counts = dict(folder.manifest.get("intake", {}))
    draft = RunFolder(folder.path / ".taking-in")  # until all is known to be good, an earlier study stays as it was
    shutil.rmtree(draft.path, ignore_errors=True)
    known = counts.get("key") == key and {"shards", "rows", "originals", "rejected", "no_majority"} <= counts.keys()
    if known and not unseen and _is_whole(folder, key, counts["shards"]):
        return keep_problems(folder)
    try:
        cutter = _Cutter(shard)
        with warnings.catch_warnings(record=True) as caught:
            count = _write(draft, key, cutter.cut(_counted(source.pieces()), source.chosen), unseen)
        if not cutter.contiguous:
            _align(draft)
            count = _write(draft, key, _Cutter(shard).cut(_bucket_by_bucket(draft), source.chosen), unseen)
            draft.trim("problems", count)
        _align(draft)
        folder.adopt("problems", draft)
    finally:
        shutil.rmtree(draft.path, ignore_errors=True)
    intake = source.intake
    counts = {"key": key, "shards": count, "rows": intake.accepted, "originals": cutter.originals,
              "no_majority": intake.no_majority, "rejected": len(intake.rejected)}  # fmt: skip
    if intake.unlabelled:
        counts["unlabelled"] = intake.unlabelled
    if caught:
        counts["warnings"] = [str(one.message) for one in caught]
        for message in counts["warnings"]:
            warnings.warn(message, stacklevel=caller_level())
    (folder.path / "rejected.jsonl").unlink(missing_ok=True)
    if intake.rejected:
        source.write_rejected(folder.path)
    folder.note(intake=counts)
    return counts


def keep_problems(folder: RunFolder) -> dict[str, Any]:
    """The counts of an earlier intake, whose problems stay as they are."""
    counts = dict(folder.manifest["intake"])
    for message in counts.get("warnings", ()):  # a suite that leaves rows out says so in every report
        warnings.warn(message, stacklevel=caller_level())
    current().advance(counts["rows"])
    return counts


class _Cutter:
    """Cuts a stream of rows into frames between buckets, and records whether every bucket was contiguous."""

    def __init__(self, shard: int):
        self.shard, self.contiguous, self.originals = shard, True, 0
        self._bucket: str | None = None

    def cut(self, pieces: Iterable[Piece], task: Task) -> Iterator[pl.DataFrame]:
        some: list[Piece] = []
        height = 0
        for piece in pieces:
            begin, starts = 0, self._starts(piece)
            while begin < len(piece):
                beginnings = starts[np.searchsorted(starts, begin + max(self.shard - height, 0 if height else 1)) :]
                end = int(beginnings[0]) if len(beginnings) else len(piece)
                if end > begin:
                    some.append(piece[begin:end])
                height, begin = height + end - begin, end
                if len(beginnings):
                    yield join_pieces(some, task)
                    some, height = [], 0
        if some:
            yield join_pieces(some, task)

    def _starts(self, piece: Piece) -> np.ndarray:
        """Where the buckets of a piece begin; all of its rows once some bucket is in pieces, and must be cut again."""
        frame = (
            piece.select("id", "of")
            if isinstance(piece, pl.DataFrame)
            else pl.DataFrame({name: pl.Series([row[name] for row in piece], dtype=pl.String) for name in ("id", "of")})
        )
        is_original = frame["of"].is_null()
        buckets = frame.select(
            pl.when(is_original).then("id").forward_fill().fill_null(pl.lit(self._bucket, pl.String))
        ).to_series()
        self.contiguous &= bool((is_original | buckets.eq_missing(frame["of"])).all())
        self.originals += int(is_original.sum())
        self._bucket = buckets[-1] if len(buckets) else self._bucket
        return is_original.arg_true().to_numpy() if self.contiguous else np.arange(len(piece))


def _write(folder: RunFolder, key: str, frames: Iterable[pl.DataFrame], unseen: bool) -> int:
    """Write frames as parts. No signature covers standard input, so its content is in the keys."""
    count = 0
    for frame in frames:
        folder.write("problems", count, digest(key, count, frame.write_ndjson() if unseen else ""), frame)
        count += 1
    return count


def _counted(pieces: Iterable[Piece]) -> Iterator[Piece]:
    for piece in pieces:
        current().advance(len(piece))
        yield piece


def _bucket_by_bucket(folder: RunFolder) -> Iterator[pl.DataFrame]:
    """All rows with each original before its variants, in the order of the originals, which come before them already.

    The rows are dealt out on disk to groups that follow one another, so that no more than a group is in memory.
    """
    place, groups = "\0place", folder.path / "groups"  # no column of the user's is called so
    groups.mkdir()
    places, done = _places(folder.parts("problems")), 0
    for number, part in enumerate(folder.parts("problems")):
        frame = read_part(part)
        frame = frame.with_columns(pl.Series(place, places[done : done + frame.height]))
        done += frame.height
        for (group,), some in frame.group_by(pl.col(place) // _GROUP, maintain_order=True):
            some.write_parquet(groups / f"{group:06}-{number:06}.parquet", compression="lz4", statistics=False)
    for group in range(len(places) // _GROUP + 1):
        if dealt := sorted(groups.glob(f"{group:06}-*.parquet")):
            yield pl.concat([read_part(one) for one in dealt]).sort(place).drop(place)


def _places(parts: Sequence[Path], seed: int = 0) -> np.ndarray:
    """The place of each row where every bucket is in one piece. Ids are known by hashes that all differ."""
    frames = (pl.read_parquet(part, columns=["id", "of"], glob=False) for part in parts)
    hashed = [(one["of"].is_null().to_numpy(), one.select(pl.coalesce("of", "id").hash(seed))) for one in frames]
    is_original = np.concatenate([flags for flags, _ in hashed])
    buckets = np.concatenate([hashes.to_series().to_numpy() for _, hashes in hashed])
    numbers = np.flatnonzero(is_original)
    order = np.argsort(buckets[numbers])
    names, numbers = buckets[numbers][order], numbers[order]
    if (names[1:] == names[:-1]).any():
        return _places(parts, seed + 1)
    begins = numbers[np.searchsorted(names, buckets)]
    places = np.empty(len(begins), np.int64)
    places[np.argsort(begins, kind="stable")] = np.arange(len(begins))
    return places


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


def _height(path: Path) -> int:
    return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())


# What generators must see before the first shard, and the problems that they did not vary


def survey(folder: RunFolder, specs: Sequence[str], task: Task, rows: int) -> list[str]:
    """Show all texts to the generators that need them; return specs that name the tables they learned, in `tables/`."""
    parts = folder.parts("problems")

    def texts() -> Iterator[str]:
        current().start("survey", rows)
        for part in parts:
            originals = _originals(part).select(task.fields).collect()
            yield from texts_of(originals, task)
            current().advance(originals.height)
        current().done()

    place = folder.path / "tables"
    complete = [surveyed(spec, texts, place, *map(key_of, parts)) for spec in specs]
    wanted = " ".join(complete)
    for other in folder.inner("tables"):  # of generators that are no longer in the study
        if json.dumps(str(other.resolve()), ensure_ascii=False)[1:-1] not in wanted:  # as a spec spells it
            folder.remove(f"tables/{other.name}")
    return complete


@dataclass
class Unvaried:
    """Problems without variants: how many for each generator, and how many for all of them.

    `left_out` counts the candidates that generators made and left out, by generator and reason.
    """

    by_generator: dict[str, int]
    problems: int = 0
    total: int = 0
    left_out: dict[str, dict[str, int]] = field(default_factory=dict)


def merge_accounts(specs: Sequence[str], part: Made) -> None:
    """Give the generators of this process what those that made a part have counted, wherever that was."""
    for spec, account in zip(specs, part.accounts, strict=False):
        as_generator(make_cached("generators", spec).function).merge(account)


def list_unvaried(folder: RunFolder, specs: Sequence[str], out: str | Path = "") -> Unvaried:
    """Count the problems that a generator did not vary; list them with its title in the table `out`, if given."""
    generators = [make_cached("generators", spec) for spec in specs]
    counts = Unvaried({one.title: 0 for one in generators})

    def without() -> Iterator[pl.DataFrame]:
        yield pl.DataFrame(schema={"id": pl.String, "generator": pl.String})
        for problems, variants in zip(folder.parts("problems"), folder.parts("variants"), strict=True):
            originals = _originals(problems).select("id").collect()
            varied = pl.scan_parquet(variants, glob=False).select(pl.col("of").alias("id"), "how").unique().collect()
            counts.total += originals.height
            counts.problems += originals.join(varied, on="id", how="anti").height
            for one in generators:
                own = varied.filter(pl.col("how") == one.title)
                left = originals.join(own, on="id", how="anti", maintain_order="left")
                counts.by_generator[one.title] += left.height
                if left.height:
                    yield left.with_columns(pl.lit(one.title).alias("generator"))

    if out:
        tables.write(without(), out)  # part by part, so that memory stays flat
    else:
        deque(without(), maxlen=0)
    counts.left_out = left_out(totals(pl.scan_parquet(part, glob=False) for part in folder.parts("notes")))
    warn_unused_rows(generators, counts.total)
    if generators and not counts.total:
        warnings.warn("all problems are contrasts, and contrasts are not reworded", stacklevel=caller_level())
    return counts


def _originals(part: Path) -> pl.LazyFrame:
    """Problems that may be reworded: neither variants nor contrasts."""
    scan = pl.scan_parquet(part, glob=False)
    return scan.filter(pl.col("of").is_null(), is_unmarked(scan.collect_schema(), "contrast"))
