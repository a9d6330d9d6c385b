"""The stages on a run folder: a shard in, a part out. An engine maps them over the shards."""

import json
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from .. import pipeline
from .._version import __version__
from ..errors import caller_level
from ..frames import by_bucket, is_unmarked, kept
from ..models.answering import load
from ..models.model import Answerer
from ..problem import Batch, Task
from ..progress import current
from ..registry import KINDS, Bound, load_plugins
from ..storage import tables
from ..storage.files import digest
from ..storage.run_folder import RunFolder, key_of, read_part
from ..validity.checking import as_check
from ..variants.generating import as_generator, left_out, surveyed, texts_of, totals, warn_unused_rows
from ..words import language
from .shards import SHARD, SLOW_SHARD


@dataclass(frozen=True)
class ShardJob:
    """One shard of one stage: what to do, with what, where. `using` names the generators or checks, or the model."""

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
    repeats: int = 0
    repeat_ways: tuple[str, ...] = ()


class Made(NamedTuple):
    """A part: its rows, whether it was there already, and how many of its answers were in the cache.

    `accounts` are what its generators have counted, whose copies in the driver have not seen this shard. What no worker
    survived is `given_up`: there is nothing in it.
    """

    rows: int
    reused: bool = False
    from_cache: int = 0
    accounts: tuple[Any, ...] = ()
    given_up: bool = False


def vary_shard(job: ShardJob) -> Made:
    """problems/ -> variants/ and notes/"""
    load_plugins(job.plugins)
    folder, source = RunFolder(job.folder), RunFolder(job.folder).part("problems", job.number)
    generators, key = [make_cached("generators", name) for name in job.using], variants_key(job)
    if made := reused("variants", job, key):
        current().advance(height(source) * len(generators))  # otherwise the generators report, batch by batch
        return made
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
    checks, key = [make_cached("checks", name) for name in job.using], buckets_key(job)
    made = reused("buckets", job, key)
    if not made:
        sources = [read_part(source) for source in sources_of("buckets", job)]
        suite = by_bucket(pl.concat(sources, how="diagonal_relaxed"))
        folder.write("buckets", job.number, key, pipeline.checked(suite, checks, job.task))
        made = Made(suite.height)
    current().advance(made.rows)
    return made


def variants_key(job: ShardJob) -> str:
    """The key of what `vary_shard` makes."""
    titles = [make_cached("generators", name).title for name in job.using]
    [source] = sources_of("variants", job)
    return digest(__version__, key_of(source), titles, job.seed, job.task.targets)


def buckets_key(job: ShardJob) -> str:
    """The key of what `check_shard` makes."""
    titles = [make_cached("checks", name).title for name in job.using]
    return digest(__version__, [key_of(part) for part in sources_of("buckets", job)], titles, job.task.targets)


class ShardStage(NamedTuple):
    """A stage that makes parts of parts: from which, which ones, by which function, under which key."""

    sources: tuple[str, ...]
    results: tuple[str, ...]
    function: Callable[[ShardJob], Made]
    key: Callable[[ShardJob], str]


#: The stages that need no models, by their first result.
SHARD_STAGES = {
    "variants": ShardStage(("problems",), ("variants", "notes"), vary_shard, variants_key),
    "buckets": ShardStage(("problems", "variants"), ("buckets",), check_shard, buckets_key),
}


def sources_of(stage: str, job: ShardJob) -> list[Path]:
    """The parts of which a shard of a stage is made; a study without generators has no variants."""
    folder = RunFolder(job.folder)
    parts = [folder.part(one, job.number) for one in SHARD_STAGES[stage].sources]
    return [part for part in parts if part.exists()]


def reused(stage: str, job: ShardJob, key: str) -> Made | None:
    """The part that a stage would make of a shard, if all its files are there: another study may have left one."""
    parts = [RunFolder(job.folder).part(one, job.number) for one in SHARD_STAGES[stage].results]
    return Made(height(parts[0]), reused=True) if all(key_of(part) == key for part in parts) else None


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


def load_cached(spec: str, task: Task, label_map: tuple[tuple[str, str], ...], fresh: bool = False) -> Answerer:
    """A model by name, loaded once for all of its shards; the one before it is released first, unless it is light."""
    key = (spec, task, label_map, fresh)
    if key not in _loaded:
        for other in [one for one, model in _loaded.items() if not model.model.light]:
            del _loaded[other]
        _loaded[key] = load(spec, task, dict(label_map), fresh=fresh)
    return _loaded[key]


def release(spec: str, task: Task, label_map: tuple[tuple[str, str], ...], fresh: bool = False) -> Answerer:
    """What is known of a model that workers will ask: here it need not stay in memory, nor on the GPU."""
    model = load_cached(spec, task, label_map, fresh)
    del _loaded[spec, task, label_map, fresh]
    return replace(model, model=replace(model.model, function=_released))


def _released(batch: Batch) -> Any:
    raise RuntimeError("this model is asked by workers")


def is_light(spec: str, task: Task, label_map: tuple[tuple[str, str], ...], fresh: bool = False) -> bool:
    """Whether a model is loaded, and will be whatever else is."""
    model = _loaded.get((spec, task, label_map, fresh))
    return model is not None and model.model.light


def forget() -> None:
    """Clear the caches: files behind names may have changed."""
    make_cached.cache_clear()
    _loaded.clear()
    language.forget()


def height(path: Path) -> int:
    """How many rows a part has."""
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
