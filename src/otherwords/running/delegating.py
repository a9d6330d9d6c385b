"""Asking models through workers: the driver alone reads and writes the answer cache.

A worker gets a file of texts to which no answer is known, and leaves one of answers; both are named by what they hold,
so that answers which were there already when a driver was killed are not asked for again.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from .. import pipeline
from .._version import __version__
from ..errors import BadInput
from ..models.answering import Asker, Questions, Replies, Texts, answer_table, asked_columns
from ..models.cache import Cache
from ..models.model import Answerer
from ..models.predictions import Predictions
from ..models.writing import AnswerWriter
from ..problem import Batch, Task
from ..progress import current
from ..registry import load_plugins
from ..storage.files import digest
from ..storage.places import Place
from ..storage.run_folder import RunFolder, key_of
from ..validity.mutual_entailment import judged_by, pairs_to_judge, with_own_verdicts
from .asking import key_and_part, read_kept, unfit, write_answers
from .pool import Engine, GiveUp
from .stages import Made, ShardJob, load_cached

#: Batches that a worker answers before the driver has their answers.
_BATCHES = 16
#: The columns of files: how many rows have a text; its answer, the probabilities of it, whether it was cut, what the
#: labels had of the probability, and whether it must not be stored.
_ROWS, _PRED, _P, _CUT, _MASS, _TRANSIENT = "\0rows", "pred", "p", "cut", "mass", "transient"
#: What is added to the name of a file of texts: its answers, which any driver may use, or the one that asked.
_ANSWERS, _ONCE = "-answers", "-once"
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class AskJob:
    """A file of texts for a model, by name, in a place that workers see; `number` is that of its shard."""

    place: str
    name: str
    number: int
    using: tuple[str, ...]
    task: Task
    label_map: tuple[tuple[str, str], ...]
    signature: str
    batch_size: int
    plugins: tuple[str, ...] = ()


class Answered(NamedTuple):
    """The answers to a job are in a file; whether they may be used by a later run. Or nobody could answer it."""

    name: str
    storable: bool = True
    given_up: bool = False


def ask_texts(job: AskJob) -> Answered:
    """Answer a file of texts, batch by batch."""
    load_plugins(job.plugins)
    model, place = load_cached(job.using[0], job.task, job.label_map), Place(job.place)
    _refuse_other(model, job)
    frame = place.read(job.name)
    if frame is None:
        raise BadInput(
            f"has no {job.name}", where=place.name, fix="workers must see the folder of the run: give --shared"
        )
    columns = {name: frame[name].to_list() for name in frame.columns if name != _ROWS}
    counts, parts, storable = frame[_ROWS].to_numpy(), [], True
    for start in range(0, frame.height, job.batch_size):
        rows = slice(start, start + job.batch_size)
        batch = Batch(job.task, {name: column[rows] for name, column in columns.items()})
        parts.append(model(batch))
        storable &= model.is_storable()
        current().advance(int(counts[rows].sum()))
    name = f"{job.name}{_ANSWERS if storable else _ONCE}"
    place.write(name, _as_table(Predictions.join(parts)))
    return Answered(name, storable)


def _refuse_other(model: Answerer, job: AskJob) -> None:
    """Refuse a model that is not the one of the driver: other weights, or another precision."""
    if model.signature != job.signature:
        found = f"is {model.signature} in a worker and {job.signature} in the driver"
        fix = "let both load the same files; where devices differ, name dtype=... and forward=..., or start on a GPU"
        raise BadInput(found, where=model.name, fix=fix)


def _as_table(answers: Predictions) -> pl.DataFrame:
    columns = {_PRED: pl.Series(answers.pred), _CUT: pl.Series(np.asarray(answers.cut))}
    more = {_MASS: answers.mass, _TRANSIENT: answers.transient}
    columns |= {name: pl.Series(values) for name, values in more.items() if values is not None}
    if answers.p is not None:
        columns |= {f"{_P}{place}": pl.Series(np.ascontiguousarray(one)) for place, one in enumerate(answers.p.T)}
    return pl.DataFrame(columns)


def _read_table(frame: pl.DataFrame) -> Predictions:
    plain = (_PRED, _CUT, _MASS, _TRANSIENT)
    p = [frame[name].to_numpy() for name in frame.columns if name not in plain]
    pred, cut, mass, transient = (frame[name].to_numpy() if name in frame.columns else None for name in plain)
    assert pred is not None
    return Predictions(pred, np.column_stack(p) if p else None, cut, mass, transient)


# In the driver


def delegate(
    engine: Engine, model: Answerer, jobs: Sequence[ShardJob], place: str, give_up: GiveUp | None = None
) -> list[Made]:
    """Let the workers of an engine ask a model, which here needs not be loaded, and write its answers to all shards.

    Where it judges variants itself, it is asked about these first, in all shards.
    """
    with Cache(jobs[0].cache) as cache, AnswerWriter(cache) as writer:
        asker, shared = Asker(model, writer, jobs[0].batch_size), Place(place)
        if any(judged_by(pl.scan_parquet(_source(job), glob=False).collect_schema()) for job in jobs):
            judging = _Delegation(asker, writer, jobs, shared)
            judging.carry_out(engine, judging.ask_judge)
            writer.wait()
        asking = _Delegation(asker, writer, jobs, shared)
        asking.carry_out(engine, asking.ask_rows, give_up)
    return [asking.made[job.number] for job in jobs]


def _source(job: ShardJob) -> Path:
    return RunFolder(job.folder).part("buckets", job.number)


@dataclass
class _Pending:
    """A shard whose questions are with workers: what to do with the answers, and those that have come.

    `is_posted` says whether all of its pieces were given to workers; of those that were, `pieces` have no answer yet.
    """

    questions: Questions
    finish: Callable[[Questions, Predictions, Flags], None]
    is_posted: bool = False
    pieces: deque[list[bytes]] = field(default_factory=deque)
    replies: list[Replies] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


class _Delegation:
    """One pass over all shards: questions go out in the order of the shards, and answers come back in that order.

    What is asked for an earlier shard, and not answered yet, is not asked again; once there are answers that must not
    be stored, each shard asks for itself.
    """

    def __init__(self, asker: Asker, writer: AnswerWriter, jobs: Sequence[ShardJob], place: Place):
        self._asker, self._model, self._task = asker, asker.model, asker.model.task
        self._writer, self._jobs, self._place = writer, jobs, place
        self._pending: deque[_Pending] = deque()
        self._asked: set[bytes] = set()  # and not in the file yet
        self._stored: deque[list[bytes]] = deque()  # since the last look
        self._storable = True
        self.made: dict[int, Made] = {}

    def carry_out(
        self, engine: Engine, ask: Callable[[ShardJob], Iterator[AskJob]], give_up: GiveUp | None = None
    ) -> None:
        """Map what `ask` gives for each shard over the engine, and take what comes back."""
        pieces = (piece for job in self._jobs for piece in ask(job))
        for one in engine.map(ask_texts, pieces, give_up):
            self._take(one)
        self._finish_answered()

    def ask_rows(self, job: ShardJob) -> Iterator[AskJob]:
        """What is to be asked of a shard, as jobs, unless its part already exists."""
        source = _source(job)
        key, reused = key_and_part(job, self._asker, key_of(source))
        if reused:
            self.made[job.number] = reused
            current().advance(reused.rows)
            return
        cache = self._writer.cache
        suite, accepted = with_own_verdicts(read_kept(source), self._model, cache, self._asker.size)
        asked = suite.filter(accepted)
        current().advance(suite.height - asked.height)
        pipeline.warn_if_foreign_to(self._model, (asked[name] for name in self._task.fields))
        yield from self._ask(job, asked, partial(self._write, job, key, suite, accepted))

    def ask_judge(self, job: ShardJob) -> Iterator[AskJob]:
        """What the model is to judge of a shard, as jobs."""
        source = _source(job)
        if key_and_part(job, self._asker, key_of(source))[1] is None:
            pairs = pairs_to_judge(read_kept(source), self._task)
            frame = pl.DataFrame(pairs, schema=dict.fromkeys(self._task.fields, pl.String), orient="row")
            yield from self._ask(job, frame, lambda *_: None, counted=False)

    def _ask(
        self,
        job: ShardJob,
        frame: pl.DataFrame,
        finish: Callable[[Questions, Predictions, Flags], None],
        counted: bool = True,
    ) -> Iterator[AskJob]:
        originals = self._model.model.by_original
        texts = Texts.of(asked_columns(frame, self._model), self._task, originals=originals)
        while self._stored:  # before the look-up, which finds them
            self._asked.difference_update(self._stored.popleft())
        questions = self._asker.look_up(texts, batched=False)
        shared = self._asked if self._storable else set()
        todo = {key: row for key, row in questions.unknown.items() if key not in shared}
        if not counted:
            texts = replace(texts, counts=np.zeros_like(texts.counts))
        current().advance(int(texts.counts.sum() - texts.counts[list(todo.values())].sum()))
        pending = _Pending(questions._replace(texts=replace(questions.texts, columns=())), finish)
        self._pending.append(pending)
        self._asked.update(todo)
        for keys, rows in texts.by_length(todo, _BATCHES * self._asker.size):
            yield from self._post(
                job, pending, keys, pl.DataFrame({**texts.take(rows, self._task), _ROWS: texts.counts[rows]})
            )
        pending.is_posted = True
        self._finish_answered()

    def _post(self, job: ShardJob, pending: _Pending, keys: list[bytes], texts: pl.DataFrame) -> Iterator[AskJob]:
        """Write a file of texts, and give the job to answer it, unless another driver had it answered before."""
        name = digest(__version__, self._model.signature, self._asker.size, sha256(b"".join(keys)).hexdigest())
        if not job.fresh and (answers := self._place.read(f"{name}{_ANSWERS}")) is not None:
            self._hear(pending, keys, Answered(f"{name}{_ANSWERS}"), answers)
            current().advance(int(texts[_ROWS].sum()))
            return
        self._place.write(name, texts)
        pending.pieces.append(keys)
        about = (job.using, self._task, job.label_map, self._model.signature, self._asker.size, job.plugins)
        yield AskJob(self._place.where, name, job.number, *about)

    def _take(self, answered: Answered) -> None:
        """Take the answers to the first piece that is out."""
        pending = next(one for one in self._pending if one.pieces)
        keys = pending.pieces.popleft()
        if answered.given_up:
            self._storable = False  # the shard must not be taken for a whole one
        else:
            self._hear(pending, keys, answered, self._place.read(answered.name))
        self._finish_answered()

    def _hear(self, pending: _Pending, keys: list[bytes], answered: Answered, answers: pl.DataFrame | None) -> None:
        if answers is None or answers.height != len(keys):
            raise BadInput(f"lacks the answers {answered.name}", where=self._place.name, fix="run again")
        pending.replies.append(Replies(keys, _read_table(answers), answered.storable))
        self._storable &= answered.storable
        pending.files += [answered.name.rpartition("-")[0], answered.name]

    def _finish_answered(self) -> None:
        """Finish the first shards, as long as all that they asked is answered."""
        while self._pending and self._pending[0].is_posted and not self._pending[0].pieces:
            pending = self._pending.popleft()
            pending.finish(pending.questions, *self._asker.take(pending.questions, pending.replies))
            for one in pending.replies:
                self._writer.then(partial(self._stored.append, one.keys))
            for name in pending.files:  # once the answers are stored, and the part is there
                self._writer.then(partial(self._place.remove, name))

    def _write(
        self,
        job: ShardJob,
        key: str,
        suite: pl.DataFrame,
        accepted: pl.Series,
        questions: Questions,
        answers: Predictions,
        there: Flags,
    ) -> None:
        """Write the part of a shard; without the buckets of rows that nobody could answer."""
        if not there.all():
            bucket = pl.coalesce("of", "id")
            lost = suite.filter(accepted).filter(pl.Series(~there)).select(bucket).to_series()
            stays = suite.select(~bucket.is_in(lost.implode())).to_series()
            answers = answers.take(np.flatnonzero(stays.filter(accepted).to_numpy()))
            suite, accepted = suite.filter(stays), accepted.filter(stays)
        build = partial(answer_table, suite, self._model, answers, accepted)
        key = key if self._storable else unfit(key)
        self._writer.then(partial(write_answers, job, self._model, key, build))
        self.made[job.number] = Made(suite.height, from_cache=int(questions.were_stored.sum()))
