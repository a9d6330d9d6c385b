"""Asking a model: each distinct text once, through the answer cache, in batches of similar length."""

import glob
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from ..errors import BadInput, WrongAnswer, caller_level, setting, shorten
from ..frames import LABEL_MASS, WITHHELD
from ..language_models import budget as budgets
from ..language_models.budget import Counted
from ..language_models.endpoint import refuse_key
from ..problem import AGAIN, ORIGINAL, SHUFFLED, UNREADABLE, Batch, Repeat, Task, label_key
from ..progress import advancing
from ..registry import models
from ..storage.files import digest
from ..storage.specs import split_name
from .cache import Cache, Found, keys_of, order_of
from .canary import canary_batch, refuse_permuted
from .model import AnswerCount, Answerer, LabelMap, as_model, label_map_of, label_map_suffix, with_merged
from .predictions import Ints, Predictions
from .python_callable import AnyModel, as_spec
from .templates import template_name
from .writing import AnswerWriter

Progress = Callable[[int], None]
#: A model with a path: perhaps a name, the plug-in, the path, perhaps options.
_PATTERN = re.compile(r"(?P<alias>[\w.-]+=)?(?P<kind>[\w.-]+):(?P<path>[^(]*)(?P<options>\(.*\))?", re.S)
#: The column that marks answers to truncated problems.
TRUNCATED = "truncated"
#: What is said of answers that were withheld, only until they come.
ASKED_AGAIN = "the next run asks for them again"
#: Labels that have less of the probability than this, on average, are not what a language model answers with.
LOW_MASS = 0.5


def load(spec: AnyModel, task: Task, label_map: LabelMap | None = None, *, fresh: bool = False) -> Answerer:
    """Make a model ready to answer a task: by its name, which may carry a short one (`small=hf:some/model`), or itself.

    `label_map` says what its labels mean; a map of maps is for several models, by name. A `fresh` model uses no
    answers that were stored before. What a function or a Model is called is said in `as_spec`.
    """
    name, spec = split_name(as_spec(spec))
    bound = models.make(spec, task=task)
    model = as_model(bound.function)
    used = with_merged(label_map_of(label_map or {}, name, model.labels), model.labels, task)
    answerer = Answerer(name, bound.signature + label_map_suffix(used), model, task, used, fresh)
    if model.labels:
        answerer.check_labels()  # now, not at the first batch
    return answerer


def all_models(specs: Sequence[str]) -> list[str]:
    """The specs, with a model for each folder or file that a `*` in a path stands for, in the order of their names.

    `hf:runs/1/checkpoints/*` are all checkpoints of a training; under a name, `big=hf:...`, they are called
    `big-000120` and so on, by their folders.
    """
    return [one for spec in specs for one in _matching(spec)]


def _matching(spec: str) -> list[str]:
    found = _PATTERN.fullmatch(spec)
    if not found or not glob.has_magic(found["path"]):
        return [spec]
    paths = sorted(glob.glob(str(Path(found["path"]).expanduser())))  # noqa: PTH207 (Path.glob takes no absolute pattern)
    if not paths:
        fix = "check the folder; a training keeps them with checkpoints = true"
        raise BadInput(f"nothing matches {found['path']}", where=spec, fix=fix)
    alias, options = found["alias"] or "", found["options"] or ""
    names = [f"{alias[:-1]}-{Path(path).name}=" if alias else "" for path in paths]
    return [f"{name}{found['kind']}:{path}{options}" for name, path in zip(names, paths, strict=True)]


def with_templates(specs: Sequence[str], templates: Sequence[str]) -> list[str]:
    """The specs, with a model for each template, called `model@template`, where a model takes one and names none."""
    if not templates:
        return list(specs)
    if wrong := [one for one in templates if not isinstance(one, str)]:
        fix = "give a name or a .toml file, as text"
        raise BadInput(f"found {shorten(wrong[0])}", field=setting("--template", "template"), fix=fix)
    takers = [models.takes(split_name(spec)[1], "template") for spec in specs]
    if specs and not any(takers):
        kinds = " or ".join(plugin.name for plugin in models if "template" in plugin.options())
        message = f"{', '.join(split_name(spec)[0] for spec in specs)} takes no template, or has one"
        raise BadInput(message, field=setting("--template", "templates"), fix=f"use a language model: {kinds}")
    names = {template: template_name(template) for template in dict.fromkeys(templates)}
    if len({*names.values()}) < len(names):
        fix = "give each a different name: name = ... in the file"
        raise BadInput("two templates have the same name", field=setting("--template", "templates"), fix=fix)
    return [
        one
        for spec, takes in zip(specs, takers, strict=True)
        for one in ([_with_template(spec, *pair) for pair in names.items()] if takes else [spec])
    ]


def _with_template(spec: str, template: str, called: str) -> str:
    name, plain = split_name(spec)
    base = name if name != plain else plain.partition("(")[0]
    return f"{base}@{called}={models.respell(plain, template=template)}"


def refuse_wrong_models(specs: Sequence[str], label_map: LabelMap | None = None, task: Task | None = None) -> None:
    """Refuse, before any is loaded, a model or an option that does not exist, two of one name, a map for none.

    So is a map to a label that the task does not have, also where it is for a label that no model gives.
    """
    chosen = [split_name(spec) for spec in specs]
    for _, spec in chosen:
        plugin, options = models.read(spec)
        refuse_key(str(options.get("key_env", "")), f"{plugin.name}:{options.get('model', '')}")
    if len(dict(chosen)) < len(chosen):
        fix = "give each its own name: one=SPEC, two=SPEC; to a function, ow.Model(function, name=...)"
        raise BadInput("two models have the same name", fix=fix)
    names = [name for name, _ in chosen]
    for name, entry in (label_map or {}).items() if specs else ():
        if not isinstance(entry, str) and name not in names:
            raise BadInput(f"no model is named {name!r}", where="label_map", fix=f"use one of {', '.join(names)}")
        for label, meaning in {name: entry}.items() if isinstance(entry, str) else entry.items():
            if task and label_key(meaning) not in map(label_key, task.labels):
                message = f"the label map says that {label!r} means {meaning!r}, which {task.name} does not have"
                raise BadInput(message, fix=f"use one of {', '.join(task.labels)}")


@dataclass(frozen=True)
class Texts:
    """The distinct texts of some rows, field by field: what all models share.

    `places` says of each row which of them it has, `counts` how many rows have each, `lengths` its characters.
    """

    columns: tuple[list[str], ...]
    places: Ints
    counts: Ints
    lengths: Ints

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        return sum(sys.getsizeof(text) for column in self.columns for text in column) + 8 * len(self.places)

    @classmethod
    def of(cls, columns: Mapping[str, Sequence[str] | pl.Series], task: Task, *, originals: bool = False) -> "Texts":
        """The distinct ones, in the order of their first rows; of a Polars column, null is the empty text.

        With `originals`, those of the problems that they reword belong to them; where there are none, themselves.
        """
        given = [columns[name] for name in task.fields]
        if originals:
            given += [columns.get(f"{ORIGINAL}{name}", columns[name]) for name in task.fields]
        if all(isinstance(one, pl.Series) for one in given):
            texts, places = _distinct_columns([pl.Series(one).fill_null("") for one in given])
        else:
            texts, places = _distinct_rows([list(one) for one in given])
        lengths = np.zeros(len(texts[0]), np.int64)
        for column in texts[: len(task.fields)]:
            lengths += np.fromiter(map(len, column), np.int64, len(column))
        return cls(tuple(texts), places, np.bincount(places, minlength=len(texts[0])), lengths)

    def by_length(self, some: dict[bytes, int], size: int) -> Iterator[tuple[list[bytes], Ints]]:
        """Some of the texts, by key, in portions of a size: by length, and of one length as they are given."""
        keys, numbers = list(some), np.fromiter(some.values(), np.int64, len(some))
        order = np.argsort(self.lengths[numbers], kind="stable")
        for places in (order[start : start + size] for start in range(0, len(order), size)):
            yield [keys[place] for place in places.tolist()], numbers[places]

    def shuffled(self, some: dict[bytes, int], size: int) -> Iterator[tuple[list[bytes], Ints]]:
        """The same in the order of their keys, which is as good as random, and the same in every run.

        No portion has more than half of them: all together would be the company in which they were asked before.
        """
        keys = sorted(some)
        size = max(1, min(size, len(keys) // 2))
        for start in range(0, len(keys), size):
            portion = keys[start : start + size]
            yield portion, np.array([some[key] for key in portion], np.int64)

    def take(self, rows: Ints, task: Task) -> dict[str, list[str]]:
        """The texts with these numbers, by field."""
        numbers = rows.tolist()
        names = [*task.fields, *(f"{ORIGINAL}{name}" for name in task.fields)]
        columns = ([column[row] for row in numbers] for column in self.columns)
        return dict(zip(names, columns, strict=False))


def asked_columns(rows: pl.DataFrame, model: Answerer) -> dict[str, pl.Series]:
    """The texts of rows by field and, for a model that is asked by these too, those of the problems that they reword.

    A row whose original is not among the rows is its own.
    """
    fields = model.task.fields
    own = {name: rows[name].cast(pl.String) for name in fields}
    if not model.model.by_original or "of" not in rows.columns:
        return own
    first = rows.filter(pl.col("of").is_null()).select("id", *(pl.col(name).alias(ORIGINAL + name) for name in fields))
    found = rows.select("of").join(first.unique("id"), left_on="of", right_on="id", how="left", maintain_order="left")
    known = rows["of"].is_in(first["id"].implode())
    return own | {
        ORIGINAL + name: pl.select(
            pl.when(known).then(found[ORIGINAL + name].cast(pl.String)).otherwise(own[name])
        ).to_series()
        for name in fields
    }


def _distinct_columns(columns: Sequence[pl.Series]) -> tuple[list[list[str]], Ints]:
    frame = pl.DataFrame([column.alias(str(number)) for number, column in enumerate(columns)])
    first = frame.with_row_index("row").select(pl.col("row").first().over(frame.columns)).to_series().to_numpy()
    is_first = first == np.arange(frame.height)
    places = (np.cumsum(is_first) - 1)[first]
    distinct = frame if is_first.all() else frame.filter(pl.Series(is_first))
    return [column.to_list() for column in distinct], places


def _distinct_rows(columns: Sequence[list[str]]) -> tuple[list[list[str]], Ints]:
    """The same for texts that Polars may not be able to hold, such as half of a surrogate pair."""
    numbers: dict[tuple[str, ...], int] = {}
    places = [numbers.setdefault(row, len(numbers)) for row in zip(*columns, strict=True)]
    return [[row[field] for row in numbers] for field in range(len(columns))], np.array(places, np.int64)


class _Ready(NamedTuple):
    """A batch that is ready to be asked: the numbers of its texts, and their keys."""

    rows: Ints
    keys: list[bytes]
    batch: Batch


class Questions(NamedTuple):
    """Texts as one model is asked about them: what the cache has of them, the others by key, and these in batches.

    `seen` is how many batches of this process the cache had by then.
    """

    texts: Texts
    found: Found
    unknown: dict[bytes, int]
    batches: list[_Ready]
    seen: int

    @property
    def were_stored(self) -> npt.NDArray[np.bool_]:
        """Of each row, whether its answer was stored before the model was loaded."""
        old = np.zeros(len(self.texts.counts), np.bool_)
        old[self.found.rows] = self.found.old
        return old[self.texts.places]


class Replies(NamedTuple):
    """Answers that somebody else got from a model: the keys of the texts, the answers, whether they may be stored."""

    keys: list[bytes]
    answers: Predictions
    storable: bool


class Asker:
    """Asks a model through the answer cache: every distinct text once, in batches of similar length.

    All that can be prepared is done by `look_up`, which may be called ahead, in another thread: `ask` knows what was
    answered since, and little is left to do between two batches. `again` asks the same again, once for each of the
    `repeats`.
    """

    def __init__(self, model: Answerer, writer: AnswerWriter, batch_size: int = 0, repeats: Sequence[Repeat] = ()):
        self.model, self._writer, self.size = model, writer, batch_size or model.model.batch_size
        self._number = writer.cache.model(model.signature, _task_key(model.task))
        self._key = _model_key(model)
        self._recent = writer.recent[self._number]
        if keep := model.model.keep_replies:
            keep(writer.cache.path, model.loaded if model.fresh else 0.0)
        self.again = [Asker(model.repeated(one), writer, batch_size) for one in repeats]

    def look_up(self, texts: Texts, *, batched: bool = True) -> Questions:
        """Find what is stored, and prepare the batches of what is not, unless somebody else is asked."""
        seen = self._writer.stored
        keys = keys_of(self._key, texts.columns)
        order = order_of(keys)
        found = self._writer.cache.find([keys[row] for row in order.tolist()], self.model.loaded)
        usable = ~found.old if self.model.fresh else np.ones(len(found.rows), np.bool_)
        if self.model.model.max_length:  # answers of a version that did not store `cut` are asked for again
            usable &= np.asarray(found.answers.cut) >= 0
        kept = np.flatnonzero(usable)
        known = Found(order[found.rows[kept]], found.answers.take(kept), found.old[kept])
        is_open = np.ones(len(keys), np.bool_)
        is_open[known.rows] = False
        todo = order[is_open[order]]
        unknown = {keys[row]: row for row in todo.tolist()}
        return Questions(texts, known, unknown, self._batches(texts, unknown) if batched else [], seen)

    def _batches(self, texts: Texts, unknown: dict[bytes, int]) -> list[_Ready]:
        task, repeat, batches = self.model.task, self.model.repeat, []
        portions = texts.shuffled if repeat.way == SHUFFLED else texts.by_length
        for keys, rows in portions(unknown, self.size):
            batches.append(_Ready(rows, keys, Batch(task, texts.take(rows, task), repeat)))
        return batches

    def ask(
        self, questions: Questions, progress: Progress = lambda count: None, tally: AnswerCount | None = None
    ) -> Predictions:
        """Answer the rows of the texts, in order. Arguments are as for the function `ask`."""
        texts, _, unknown, batches, _ = questions
        if tally:
            tally.answers += len(texts.places)
            tally.from_cache += int(questions.were_stored.sum())
        parts = self._known(questions)
        if len(parts) > 1:
            known = {row for rows, _ in parts[1:] for row in rows.tolist()}
            unknown = {key: row for key, row in unknown.items() if row not in known}
            batches = self._batches(texts, unknown)
        progress(sum(int(texts.counts[rows].sum()) for rows, _ in parts))
        stored: list[bytes] = []
        for one in batches:
            with advancing(int(texts.counts[one.rows].sum()), progress):
                answers = self.model(one.batch)
                parts.append((one.rows, answers))
                if self.model.is_storable():
                    stored += self._store(one.keys, answers)
        whole = Predictions.merge(len(texts.counts), parts)
        if stored:
            if len(stored) < len(unknown):
                unknown = {key: unknown[key] for key in stored}
            self._recent.append((self._writer.added, unknown, whole))
        return whole.take(texts.places)

    def ask_again(self, texts: Texts, progress: Progress = lambda count: None) -> dict[str, Predictions]:
        """The answers to the same texts, asked again, by the names of their columns."""
        return {one.model.repeat.column: one.ask(one.look_up(texts), progress) for one in self.again}

    def take(self, questions: Questions, replies: Sequence[Replies]) -> tuple[Predictions, npt.NDArray[np.bool_]]:
        """The same where the answers that were missing are replies: others were asked, and what they said is stored.

        Questions that were looked up meanwhile rely on them, also on those that must not be stored. The second value
        says which rows have an answer: nobody may have been able to give one.
        """
        texts = questions.texts
        parts, asked, kept = self._known(questions), dict[bytes, int](), 0
        for keys, answers, storable in replies:
            some = {key: questions.unknown[key] for key in keys}
            parts.append((np.fromiter(some.values(), np.int64, len(some)), answers))
            asked |= some
            if storable:
                kept += len(self._store(keys, answers))
        whole = Predictions.merge(len(texts.counts), parts)
        there = np.zeros(len(whole), np.bool_)
        for rows, _ in parts:
            there[rows] = True
        if replies:
            self._recent.append((self._writer.added + (kept < len(asked)), asked, whole))
        return whole.take(texts.places), there[texts.places]

    def _store(self, keys: list[bytes], answers: Predictions) -> list[bytes]:
        """Store a batch, without what is transient, and return the keys of what was stored."""
        if answers.transient is not None and answers.transient.any():
            kept = np.flatnonzero(~answers.transient)
            keys, answers = [keys[row] for row in kept.tolist()], answers.take(kept)
        if keys:
            self._writer.add(self._number, keys, answers)
        return keys

    def _known(self, questions: Questions) -> list[tuple[Ints, Predictions]]:
        """What the cache had, and what was asked since then."""
        return [(questions.found.rows, questions.found.answers), *self._answered_since(questions)]

    def _answered_since(self, questions: Questions) -> list[tuple[Ints, Predictions]]:
        """What was asked since the questions were looked up. What is older, later questions found in the cache."""
        while self._recent and self._recent[0][0] <= questions.seen:
            self._recent.popleft()
        unknown = questions.unknown
        shared = [(unknown.keys() & places.keys(), places, answers) for _, places, answers in self._recent]
        return [
            (np.array([unknown[one] for one in same]), answers.take(np.array([places[one] for one in same])))
            for same, places, answers in shared
            if same
        ]


def is_only_counted(model: Answerer) -> bool:
    """Whether the requests of a model are counted, and not sent: it is on a server, and this is a dry run."""
    return model.model.keep_replies is not None and budgets.current().dry_run


def count_requests(model: Answerer, texts: Texts, cache: Cache | None) -> None:
    """Count what the server of a model would be asked about texts that the cache does not have."""
    for rows in _not_cached(model, texts, cache):
        with suppress(Counted):
            model.model(Batch(model.task, texts.take(rows, model.task), model.repeat))


def texts_without_reply(model: Answerer, texts: Texts, cache: Cache | None) -> Iterator[int]:
    """In a dry run, the places of texts that can be answered neither from the cache nor by stored replies.

    Texts are tried together, and then in halves, as long as something lacks.
    """
    for batch in _not_cached(model, texts, cache):
        parts = [batch]
        while parts:
            rows = parts.pop()
            try:
                model.model(Batch(model.task, texts.take(rows, model.task), model.repeat))
            except Counted:
                if len(rows) == 1:
                    yield int(rows[0])
                else:
                    parts += [rows[len(rows) // 2 :], rows[: len(rows) // 2]]


def _not_cached(model: Answerer, texts: Texts, cache: Cache | None) -> Iterator[Ints]:
    """The texts whose answers the cache does not have, in batches."""
    keys = keys_of(_model_key(model), texts.columns)
    unknown = {key: row for row, key in enumerate(keys)}
    if cache and not model.fresh:
        for row in cache.find(keys).rows.tolist():
            unknown.pop(keys[row], None)
    for _, rows in texts.by_length(unknown, model.model.batch_size):
        yield rows


def ask(
    columns: Mapping[str, Sequence[str] | pl.Series],
    model: Answerer,
    cache: Cache,
    batch_size: int = 0,
    progress: Progress = lambda count: None,
    tally: AnswerCount | None = None,
) -> Predictions:
    """Answer every row of texts, in order. `progress` is called with the number of rows that each step has answered.

    `tally` counts the answers, and those that were stored before the model was loaded. In a dry run, requests to a
    server are counted, and all answers are the first label.
    """
    texts = Texts.of(columns, model.task, originals=model.model.by_original)
    if is_only_counted(model):
        return _counted(texts, model, cache)
    with AnswerWriter(cache) as writer:
        asker = Asker(model, writer, batch_size)
        return asker.ask(asker.look_up(texts), progress, tally)


def _counted(texts: Texts, model: Answerer, cache: Cache) -> Predictions:
    model.model.keep_replies(cache.path, model.loaded if model.fresh else 0.0)  # type: ignore[misc]
    count_requests(model, texts, cache)
    return Predictions(np.zeros(len(texts.places), np.int64), None)


def answer_table(
    frame: pl.DataFrame,
    model: Answerer,
    answers: Predictions,
    accepted: pl.Series | None = None,
    again: Mapping[str, Predictions] = MappingProxyType({}),
) -> pl.DataFrame:
    """Join answers to their rows: `model, bucket, variant, gold, pred, p:<label>...` and the other columns of the rows.

    Where only some rows are `accepted`, the answers are to these: `pred` and probabilities of the others are null.
    Where any text was truncated to the length that the model reads, `truncated` says which; of a language model,
    `label_mass` says what all labels together had of the probability, and `template` how it was asked; `withheld` marks
    answers, of the first time or again, that a filter of its server withheld. `again` has the
    answers to the same, asked again, which become columns, too. Such columns of the rows are another model's, and are
    kept as `input_p:<label>`, `input_truncated` and so on.
    """
    given = _answer_columns(model, answers)
    given = given.with_columns(_answer_columns(model, one)["pred"].alias(name) for name, one in again.items())
    if withheld := [one.transient for one in (answers, *again.values()) if one.transient is not None]:
        given = given.with_columns(pl.Series(WITHHELD, np.logical_or.reduce(withheld)))
    if accepted is not None and not accepted.all():
        places = pl.Series(np.cumsum(accepted.to_numpy()) - 1)
        given = given.select(pl.all().gather(pl.select(pl.when(accepted).then(places)).to_series()))
    table = frame.select(
        pl.lit(model.name).alias("model"),
        pl.coalesce("of", "id").alias("bucket"),
        pl.when(pl.col("of").is_not_null()).then("id").alias("variant"),
        pl.col("label").alias("gold"),
    )
    given = given.with_columns(pl.lit(value).alias(name) for name, value in model.model.columns.items())
    others = [name for name in frame.columns if name not in {"id", "of", "label", *model.task.fields}]
    own = {TRUNCATED, LABEL_MASS, WITHHELD, *model.model.columns}
    inputs = frame.select(pl.col(name).alias(_input_name(name, own)) for name in others)
    return pl.concat([table, given, inputs], how="horizontal")


def _answer_columns(model: Answerer, answers: Predictions) -> pl.DataFrame:
    """The answers alone, as columns."""
    labels, has_p = model.task.labels, answers.has_p
    mass = answers.mass if answers.mass is not None else np.full(len(answers), np.nan)
    unexplained = ~has_p & np.isnan(mass) & (answers.pred < len(labels))
    if has_p.any() and unexplained.any():
        count = len(answers) - unexplained.sum()
        found = f"{model.name} returned probabilities for {count} of {len(answers)} problems, labels for the rest"
        raise WrongAnswer(f"{found}; return probabilities for all, or labels for all")
    names = pl.Series("pred", [*labels, UNREADABLE], dtype=pl.String)
    given = pl.DataFrame({"pred": names.gather(pl.Series(answers.pred))})
    if answers.p is not None and has_p.any():
        p = np.ascontiguousarray(answers.p.T)
        given = given.with_columns(pl.Series(f"p:{label}", p[i]).fill_nan(None) for i, label in enumerate(labels))
    if not np.isnan(mass).all():
        given = given.with_columns(pl.Series(LABEL_MASS, mass).fill_nan(None))
    cut = answers.cut if answers.cut is not None else np.zeros(0, np.int8)
    return given.with_columns(pl.Series(TRUNCATED, cut > 0)) if (cut > 0).any() else given


def warn_truncated(model: Answerer, cut: int, count: int) -> None:
    """Warn, once for a whole table, of problems that the model truncated."""
    if cut:
        limit = model.model.max_length
        excess = f"more than {limit:,} tokens" if limit else "more tokens than it accepts"
        message = f"{model.name}: {cut:,} of {count:,} problems have {excess} and were truncated, the longer text first"
        most = limit and limit == model.model.positions
        hint = "it has no more positions" if most else "raise it with the option max_length"
        warnings.warn(f"{message}; {hint}; the column `truncated` marks them", stacklevel=caller_level())


def warn_withheld(model: Answerer, withheld: int, count: int) -> None:
    """Warn, once for a whole table, of answers that a filter withheld."""
    if withheld:
        message = f"{model.name}: {withheld:,} of {count:,} answers were withheld by a filter of the server (column"
        message += f" `{WITHHELD}`); each is `{UNREADABLE}`, and is not stored: {ASKED_AGAIN}"
        warnings.warn(message, stacklevel=caller_level())


def warn_unread(model: Answerer, unread: int, count: int, mass: float | None) -> None:
    """Warn, once for a whole table, of answers that could not be read, and of a model that says something else."""
    if unread:
        first = f", such as {shorten(model.model.unread[0], 100)}" if model.model.unread else ""
        message = f"{model.name}: {unread:,} of {count:,} answers could not be read{first}; each is `{UNREADABLE}`"
        warnings.warn(f"{message}, which is never right; try another template or readout", stacklevel=caller_level())
    if mass is not None and mass < LOW_MASS:
        message = f"{model.name}: the labels have {mass:.1%} of the probability on average (column `{LABEL_MASS}`)"
        hint = "it would rather say something else: try another template, or read it by choices or text"
        warnings.warn(f"{message}; {hint}", stacklevel=caller_level())


def run_canary(model: Answerer, cache: Cache) -> None:
    """Run the canary: raises where the labels are permuted, warns where the model is weak."""
    batch = canary_batch(model.task)
    if len(batch):
        answers = ask(batch.columns, model, cache)
        if is_only_counted(model):
            return
        refuse_permuted(model, [(*model.task.labels, UNREADABLE)[answer.pred] for answer in answers])


def warn_unused_labels(label_map: LabelMap, models: Mapping[str, Sequence[str]]) -> None:
    """Warn of entries of a label map for labels that no model has. A model that declares no labels may have any."""
    own = {name: {label_key(label) for label in labels} for name, labels in models.items()}
    if not all(own.values()):
        return
    for name, entry in label_map.items():
        labels, some = ([name], own) if isinstance(entry, str) else (list(entry), {name: own.get(name, set())})
        if strange := [label for label in labels if not any(label_key(label) in one for one in some.values())]:
            known = "; ".join(f"{one} has {', '.join(models[one])}" for one in some)
            warnings.warn(f"the label map has {', '.join(strange)}, but {known}", stacklevel=caller_level())


def _input_name(name: str, own: Collection[str]) -> str:
    return f"input_{name}" if name.startswith(("p:", AGAIN)) or name in own else name


def _model_key(model: Answerer) -> bytes:
    """What all keys of a model's answers are made with."""
    return bytes.fromhex(digest(model.signature, _task_key(model.task)))


def _task_key(task: Task) -> str:
    """All of a task that an answer may depend on: the target decides which text a pair classifier reads second."""
    return f"{','.join(task.fields)} (of these {','.join(task.targets)}) -> {','.join(task.labels)}"
