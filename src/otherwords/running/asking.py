"""The answer stage: shards are read ahead of the models, and their answers written behind."""

import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import polars as pl

from .. import pipeline
from .._version import __version__
from ..frames import REJECTED, WITHHELD, kept
from ..models.answering import Asker, Questions, Texts, answer_table, asked_columns
from ..models.cache import Cache
from ..models.model import Answerer
from ..models.repeating import repeats_of
from ..models.writing import AnswerWriter
from ..problem import Repeat
from ..progress import current
from ..registry import load_plugins
from ..significance.anytime import Plan, Stopped
from ..storage.files import digest
from ..storage.run_folder import RunFolder, answer_folder, key_of, read_part
from ..validity.mutual_entailment import judged_by
from .stages import Made, ShardJob, height, load_cached

Item = TypeVar("Item")
#: What a job names: a model.
Specs = tuple[str, ...]


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
    """buckets/ -> answers/<model>/, for many shards; jobs of one shard, for several models, follow each other.

    The next shards are read and looked up in the cache while a model works, once for all models; parts are written
    when the answers are stored, behind its back. Shards that are smaller than a model's batch are asked together.
    """
    if not jobs:
        return []
    load_plugins(jobs[0].plugins)
    models = {job.using: load_cached(job.using[0], job.task, job.label_map, job.fresh) for job in jobs}
    with Cache(jobs[0].cache) as cache, AnswerWriter(cache) as writer:
        repeats = {job.using: repeats_of(models[job.using], job.repeats, job.repeat_ways) for job in jobs}
        askers = {using: Asker(one, writer, jobs[0].batch_size, repeats[using]) for using, one in models.items()}
        made: dict[ShardJob, Made] = {}
        with closing(_ahead(_chunks(jobs, askers, shelf or Shelf()))) as chunks:
            for chunk in chunks:
                for shard in chunk.shards:
                    made.update(shard.reused)
                    times = {job: 1 + len(repeats[job.using]) for job in shard.reused}
                    current().advance(sum(times[job] * one.rows for job, one in shard.reused.items()))
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

    The first is alone: for it the model must wait. So is each where answers depend on the rest of their batch: workers
    are asked about one shard at a time, and the answers must be the same.
    """
    invariant = all(asker.model.model.batch_invariant for asker in askers.values())
    size, most = max(asker.size for asker in askers.values()) if invariant else 0, 0
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
    source = RunFolder(jobs[0].folder).part("buckets", jobs[0].number)
    name = (str(source), key_of(source))
    reused, todo = {}, {}
    for job in jobs:
        key, made = key_and_part(job, askers[job.using], name[1])
        if made:
            reused[job] = made
        else:
            todo[job.using] = (job, key)
    read = partial(read_kept, source)
    suite = shelf.keep(name, read, lambda one: int(one.estimated_size())) if todo else pl.DataFrame()
    return _Shard(reused, todo, suite, suite.height + sum(one.rows for one in reused.values()), name)


def key_and_part(job: ShardJob, asker: Asker, source_key: str) -> tuple[str, Made | None]:
    """The key of a model's answers to a shard, and the part with this key, if it is there and may be used."""
    folder, model = RunFolder(job.folder), asker.model
    again = [one.model.repeat.column for one in asker.again]
    part = folder.part(answer_folder(model.name, model.signature), job.number)
    key = digest(__version__, source_key, model.name, model.signature, *([again] if again else ()))
    is_there = key_of(part) == key and not job.fresh and _has_rejected(folder.part("buckets", job.number), part)
    return key, Made(height(part), reused=True) if is_there else None


def read_kept(source: Path) -> pl.DataFrame:
    """The rows of a shard that no check dropped."""
    return kept(read_part(source).lazy()).collect()


def _look_up(shards: list[_Shard], askers: Mapping[Specs, Asker], shelf: Shelf, judged: bool) -> _Chunk:
    models = list(shards[0].todo)
    if judged or not models:
        return _Chunk(shards, {})

    def distinct(model: Answerer) -> Texts:
        parts = [asked_columns(one.suite, model) for one in shards]
        columns = {name: pl.concat([part[name] for part in parts]) for name in parts[0]}
        return Texts.of(columns, model.task, originals=model.model.by_original)

    def texts(model: Answerer) -> Texts:
        key = (model.model.by_original, *(one.source for one in shards))
        return shelf.keep(key, partial(distinct, model), lambda one: one.size)

    return _Chunk(shards, {using: askers[using].look_up(texts(askers[using].model)) for using in models})


def _answer_chunk(chunk: _Chunk, using: Specs, asker: Asker, writer: AnswerWriter) -> Iterator[tuple[ShardJob, Made]]:
    """Ask a model about the shards, and hand its answers over to be written."""
    model, begin = asker.model, 0
    if using in chunk.questions:
        for shard in chunk.shards:
            pipeline.warn_if_foreign_to(model, (shard.suite[name] for name in model.task.fields))
        answers = asker.ask(chunk.questions[using], current().advance, model.tally)
        were_stored = chunk.questions[using].were_stored
        again = asker.ask_again(chunk.questions[using].texts, current().advance)
    for shard in chunk.shards:
        if using in chunk.questions:
            rows = slice(begin, begin := begin + shard.suite.height)
            repeated = {name: one.take(rows) for name, one in again.items()}
            build = partial(answer_table, shard.suite, model, answers.take(rows), again=repeated)
            made = Made(shard.suite.height, from_cache=int(were_stored[rows].sum()))
        else:
            writer.wait()  # it asks through the cache, twice
            before = model.tally.from_cache
            repeats = [one.model.repeat for one in asker.again]
            table = pipeline.answers_of(model, shard.suite, writer.cache, asker.size, repeats)
            build = partial(pl.DataFrame, table)
            made = Made(table.height, from_cache=model.tally.from_cache - before)
        job, key = shard.todo[using]
        writer.then(partial(write_answers, job, model, key if model.is_storable() else unfit(key), build))
        yield job, made


def unfit(key: str) -> str:
    """A key that fits no later run, so that it asks again."""
    return digest(key, uuid.uuid4().hex)


def write_answers(job: ShardJob, model: Answerer, key: str, build: Callable[[], pl.DataFrame]) -> None:
    """Write a model's answers to a shard; those of which some were withheld are made again by the next run."""
    table = build()
    key = unfit(key) if WITHHELD in table.columns and table[WITHHELD].any() else key
    RunFolder(job.folder).write(answer_folder(model.name, model.signature), job.number, key, table)


def answer_until(
    folder: RunFolder, model: Answerer, plan: Plan, cache: Cache, batch_size: int, repeats: Sequence[Repeat] = ()
) -> tuple[Made, Stopped]:
    """buckets/ -> answers/<model>/ as one part, of the clusters that it took to answer the plan's rule"""
    before = model.tally.from_cache
    current().start("answers", plan.rows.height * (1 + len(repeats)))
    answers, stopped = pipeline.answers_until(model, plan, cache, batch_size, repeats)
    current().done()
    stage = answer_folder(model.name, model.signature)
    folder.write(stage, 0, digest(__version__, uuid.uuid4().hex), answers)  # of this call alone
    folder.trim(stage, 1)
    return Made(answers.height, from_cache=model.tally.from_cache - before), stopped


def _has_rejected(source: Path, part: Path) -> bool:
    """Whether a part has the variants that the model rejected itself, if any; earlier versions left them out."""
    judges, columns = (pl.scan_parquet(path, glob=False).collect_schema() for path in (source, part))
    return REJECTED in columns or not judged_by(judges)
