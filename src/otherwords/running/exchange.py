"""Shards for workers that do not see the run folder: their parts travel through a place that all see.

A part travels as a file that is named by its stage and its key, so that what a driver finds there is not made again.
"""

import io
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from ..errors import BadInput
from ..progress import current
from ..storage.files import atomic
from ..storage.places import Place
from ..storage.run_folder import DAMAGED, RunFolder, key_of
from .pool import Engine, GiveUp
from .stages import SHARD_STAGES, Made, ShardJob, height, reused, sources_of


@dataclass(frozen=True)
class SentJob:
    """A shard's job whose parts are in a place: names of files by the stage that made them, or will have made them."""

    job: ShardJob
    stage: str
    place: str
    sources: tuple[tuple[str, str], ...]
    results: tuple[tuple[str, str], ...]

    @property
    def number(self) -> int:
        """That of the shard."""
        return self.job.number


def make_elsewhere(sent: SentJob) -> Made:
    """What a worker does: the same as here, in a folder of its own."""
    place = Place(sent.place)
    with tempfile.TemporaryDirectory(prefix="otherwords-") as name:
        folder = RunFolder(name)
        for stage, file in sent.sources:
            _write(folder.part(stage, sent.number), _sent(place, file))
        made = SHARD_STAGES[sent.stage].function(replace(sent.job, folder=name))
        for stage, file in sent.results:
            place.store(file, folder.part(stage, sent.number).read_bytes())
    return made


def _sent(place: Place, file: str) -> bytes:
    data = place.fetch(file)
    if data is None:
        raise BadInput(f"lacks {file}, which the driver put there", where=place.name, fix="run again")
    return data


def map_elsewhere(
    engine: Engine, stage: str, jobs: Iterable[ShardJob], give_up: GiveUp | None = None
) -> Iterator[Made]:
    """Map a stage over shards whose parts travel through the place that workers share; what is there is not remade."""
    place, there, sent = Place(engine.shared), list[Made](), deque[SentJob]()

    def send() -> Iterator[SentJob]:
        for job in jobs:
            key = SHARD_STAGES[stage].key(job)
            one = _addressed(job, stage, engine.shared, key)
            if made := reused(stage, job, key) or _taken_back(one, place):
                there.append(made)
                current().advance(made.rows)
                continue
            for source, (_, file) in zip(sources_of(stage, job), one.sources, strict=True):
                place.store(file, source.read_bytes())
            sent.append(one)
            yield one

    for made in engine.map(make_elsewhere, send(), give_up):
        one = sent.popleft()
        if not _taken_back(one, place) and not made.given_up:
            raise BadInput(f"lacks what was made of shard {one.number}", where=place.name, fix="run again")
        yield made
    yield from there


def _addressed(job: ShardJob, stage: str, where: str, key: str) -> SentJob:
    sources = [(part.parent.name, f"{part.parent.name}-{key_of(part)}") for part in sources_of(stage, job)]
    return SentJob(
        job, stage, where, tuple(sources), tuple((one, f"{one}-{key}") for one in SHARD_STAGES[stage].results)
    )


def _taken_back(sent: SentJob, place: Place) -> Made | None:
    """Take the parts that were made of a shard into the run folder, if all are there; then none needs to stay there."""
    folder = RunFolder(sent.job.folder)
    found = []
    for stage, file in sent.results:
        if not _is_whole(data := place.fetch(file) or b""):
            return None
        found.append((folder.part(stage, sent.number), data))
    for part, data in found:
        _write(part, data)
    for _, file in (*sent.results, *sent.sources):
        place.remove(file)
    return Made(height(found[0][0]), reused=True)


def _is_whole(data: bytes) -> bool:
    """Whether a part is there to its end: some places, such as FTP, show a file while it is written."""
    with suppress(*DAMAGED):
        return bool(data) and bool(pl.read_parquet_metadata(io.BytesIO(data)))
    return False


def clear_place(engine: Engine) -> None:
    """Delete what a run, or a command, has in the place that its workers share."""
    if engine.shared:
        Place(engine.shared).clear()


def _write(path: Path, data: bytes) -> None:
    with atomic(path) as draft:
        draft.write_bytes(data)
