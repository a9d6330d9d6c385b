"""A model as the answer stage sees it: its labels are translated to the task's, its answers checked.

At the end stands what all classifiers of texts share, whatever computes them.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ON_COMMAND_LINE, BadInput, WrongAnswer, caller_level, shorten
from ..inference.joining import Join, LazyRows, Row, default_join, options_of
from ..inference.scheduling import Scheduler
from ..problem import FIRST_TIME, TOLERANCE, UNREADABLE, USUAL_WAY, Batch, Repeat, Task, label_key
from .predictions import Floats, Ints, Predictions

#: What a model's labels mean: for all models, or, under a model's name, for this one.
LabelMap = Mapping[str, str | Mapping[str, str]]


#: What the labels of NLI mean in a task that asks only whether the hypothesis follows, as PaRTE merges them.
_MERGED = {"entailment": "entailed", "neutral": "not-entailed", "contradiction": "not-entailed"}


@dataclass(frozen=True)
class Reply:
    """What a model's function may return instead of bare labels or probabilities: these, and more about each answer.

    `cut` has a flag for each problem whose text was truncated, or is None where the model does not say. Of a language
    model, `answers` are labels, and None where what it said is none of them; `p` are then the probabilities of the
    labels, a row of NaN where they are not known, and `mass` what all labels together had of the probability.
    Answers that are `transient` are not stored, because the same question may be answered another time.
    """

    answers: Any
    cut: npt.NDArray[np.bool_] | None = None
    p: Floats | None = None
    mass: Floats | None = None
    transient: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Model:
    """What a model's factory may return instead of a bare function, to declare more about it.

    `function` takes a Batch and returns one label per problem, or one row of probabilities per problem with a column
    for each of `labels` (by default the task's). `identity` distinguishes two contents of the same name. The answers
    of a model that is not `batch_invariant` may depend on the rest of the batch; manifest and report say so. A model
    that reads no more than `max_length` tokens truncates the rest, and says so in a Reply; `positions` is the most
    that it can read. It is given `batch_size` problems at a time, and their answers are stored within a second.
    Models that are `light` stay in memory beside others, and answer a study together, so that it is read once for all.

    `version`, and the content of `files` (weights, prompts; paths relative to the file of the code), are signed, too:
    what decides the answers and is not code. `uncacheable` says, after a batch, why answers from there on must not be
    stored, or nothing. A Model that is given itself is called by its `name`, or by that of its function. One that
    `uses_all_cores` by itself, or a GPU, is not asked by several worker processes, which would only share them; one
    that is asked `by_driver` is not asked by workers at all. What one that is asked `by_original` answers depends on
    the problem that a text rewords, too, which must not be among its shots: its batches have the texts of that problem,
    and its answers are stored by both.

    `ways` are those in which the same may be asked again, see `Repeat`; the first is chosen where nobody says. A model
    that gives the same answer to the same text, whatever happens, has none. `columns` are constant columns of its
    answers. `keep_replies` is called before a model is asked, with the file of the answer cache and a time: a model
    that stores replies one by one does so beside that file, and uses none that is older. `unread` has the first reply
    that could not be read, if there is any. `embed` gives a vector for each problem of a batch, as selection uses it.
    """

    function: Callable[[Batch], Any]
    labels: tuple[str, ...] = ()
    identity: str = ""
    batch_invariant: bool = True
    batch_size: int = 64
    max_length: int = 0
    positions: int = 0
    version: str = ""
    files: Sequence[str | Path] = ()
    uncacheable: Callable[[], str] | None = None
    name: str = ""
    light: bool = False
    uses_all_cores: bool = False
    by_driver: bool = False
    by_original: bool = False
    ways: tuple[str, ...] = (USUAL_WAY,)
    columns: Mapping[str, str] = field(default_factory=dict, hash=False)
    keep_replies: Callable[[Path, float], None] | None = None
    unread: Sequence[str] = field(default=(), hash=False, compare=False)
    embed: Callable[[Batch], Floats] | None = None

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise BadInput(f"found {self.batch_size}", field="batch_size", fix="give 1 or more")

    def __call__(self, batch: Batch) -> Any:
        """Answer a batch."""
        return self.function(batch)


@dataclass
class AnswerCount:
    """How many answers a model gave, and how many of them had been stored before it was loaded."""

    answers: int = 0
    from_cache: int = 0


@dataclass(frozen=True)
class Answerer:
    """A model made ready for one task. One that is `fresh` is asked everything that was stored before it was loaded.

    `repeat` says whether it is asked the same again.
    """

    name: str
    signature: str
    model: Model
    task: Task
    label_map: Mapping[str, str] = field(default_factory=dict)
    fresh: bool = False
    loaded: float = field(default_factory=time.time, compare=False)
    tally: AnswerCount = field(default_factory=AnswerCount, compare=False)
    repeat: Repeat = FIRST_TIME

    def repeated(self, repeat: Repeat) -> "Answerer":
        """The same model, asked the same again: its answers are stored under a signature of their own."""
        again = replace(self, signature=f"{self.signature} {repeat.column}", repeat=repeat, tally=AnswerCount())
        again.__dict__["warned"] = self.warned  # the user is told once
        return again

    @cached_property
    def warned(self) -> set[str]:
        """Why answers were not stored, of which the user was told."""
        return set()

    def is_storable(self) -> bool:
        """Whether answers may be stored and used again; where they may not, warn of it, once."""
        reason = self.model.uncacheable() if self.model.uncacheable else ""
        if reason and not self.warned:
            self.warned.add(reason)
            warnings.warn(f"{self.name}: answers are not cached: {reason}", stacklevel=caller_level())
        return not reason

    @property
    def targets(self) -> tuple[str, ...]:
        """The task's label for each of the model's own labels; several may have the same."""
        own = self.model.labels or self.task.labels
        return tuple(self._translate(label) for label in own)

    @cached_property
    def _names(self) -> dict[str, str]:
        """The model's possible labels and their meaning; the user's map overrides equal names."""
        known = {label_key(name): name for name in self.task.labels}
        meant = {label_key(label): known.get(label_key(target), target) for label, target in self.label_map.items()}
        return known | meant

    def _translate(self, label: str) -> str:
        target = self._names.get(label_key(label))
        if target not in self.task.labels:
            raise self._unmapped([label])
        return target

    def check_labels(self) -> None:
        """Refuse labels of the model without a meaning in the task; warn of a label of the task that none means."""
        if unknown := [one for one in self.model.labels if self._names.get(label_key(one)) not in self.task.labels]:
            raise self._unmapped(unknown)
        if lost := [label for label in self.task.labels if label not in self.targets]:
            own = ", ".join(self.model.labels)
            message = f"{self.name}: none of its labels ({own}) means {' or '.join(lost)}"
            warnings.warn(f"{message}: it never gives this answer", stacklevel=caller_level())

    def _unmapped(self, labels: Sequence[str]) -> BadInput:
        """The error about labels that have no meaning in the task: what each could mean is what no other means."""
        own = self.model.labels or self.task.labels
        reached = {self._names.get(label_key(label)) for label in own}
        free = [label for label in self.task.labels if label not in reached] or list(self.task.labels)
        names = ", ".join(repr(label) for label in labels)
        wrong = [target for label in labels if (target := self._names.get(label_key(label)))]
        if wrong:
            found = f"the label map says that {names} means {wrong[0]!r}, which {self.task.name} does not have"
        elif len(labels) == 1 and len(free) == len(self.task.labels):
            fix = f"map its labels: --label-map {labels[0]}=..."
            return BadInput(f"{self.name}: its label {names} means none of {', '.join(free)}", fix=fix)
        elif len(labels) == 1 and len(free) > 1:
            found = f"its label {names} is ambiguous: it may mean {' or '.join(free)}"
        else:
            found = f"its label{'s' * (len(labels) > 1)} {names} ({', '.join(own)}) cannot be mapped"
        example = ",".join(f"{label}=..." for label in labels)
        return BadInput(
            f"{self.name}: {found}; the labels of {self.task.name} are {', '.join(self.task.labels)}",
            fix=f"map its labels: --label-map {example}{_in_python(labels)}",
        )

    def __call__(self, batch: Batch) -> Predictions:
        """Answer a batch, and refuse what is not one valid answer per problem."""
        raw = self.model(batch)
        if not isinstance(raw, Reply):
            return self._checked(raw, batch)
        count = len(batch)
        cut, transient = self._flags(raw.cut, count, "cut"), self._flags(raw.transient, count, "transient")
        answers = self._from_reply(raw, batch)
        return replace(answers, cut=cut, transient=None if transient is None else transient > 0)

    def _from_reply(self, reply: Reply, batch: Batch) -> Predictions:
        """What a Reply has: labels or probabilities, or both, and the mass of the labels."""
        if reply.p is None and reply.mass is None and not _has_none(reply.answers):
            return self._checked(reply.answers, batch)
        answers = self._from_labels([UNREADABLE if one is None else one for one in reply.answers], len(batch))
        p = None if reply.p is None else self._probabilities(reply.p, batch, may_lack=True)
        return replace(answers, p=None if p is None else self._merged(p), mass=self._mass(reply.mass, len(batch)))

    def _mass(self, raw: Any, count: int) -> Floats | None:
        if raw is None:
            return None
        mass = np.asarray(raw)
        if mass.dtype.kind != "f" or mass.shape != (count,) or (mass < 0).any() or (mass > 1 + TOLERANCE).any():
            raise WrongAnswer(f"{self.name} returned {shorten(raw)} as mass; use a number from 0 to 1 for each problem")
        return np.minimum(mass.astype(np.float64), 1.0)

    def _checked(self, raw: Any, batch: Batch) -> Predictions:
        if raw is None:
            raise WrongAnswer(f"{self.name} returned None; return labels or rows of probabilities")
        if isinstance(raw, Iterator):
            raise WrongAnswer(f"{self.name} yields answers one by one; return a list of labels or of rows")
        if isinstance(raw, np.ndarray) and raw.dtype.kind in "UO":
            raw = raw.tolist()  # labels, as scikit-learn gives them
        if isinstance(raw, (list, tuple)) and raw and isinstance(raw[0], str):
            return self._from_labels(raw, len(batch))
        numbers = _whole_numbers(raw)
        if any(label_key(number) in self._names for number in numbers):
            return self._from_labels(numbers, len(batch))
        return self._from_probabilities(raw, batch)

    def _from_labels(self, raw: Sequence[str], count: int) -> Predictions:
        self._count(len(raw), count)
        place = {name: i for i, name in enumerate((*self.task.labels, UNREADABLE))}
        meant = {
            label: place[UNREADABLE if label_key(label) == UNREADABLE else self._translate(label)]
            for label in dict.fromkeys(raw)  # few are distinct
        }
        return Predictions(np.array([meant[label] for label in raw], dtype=np.int64), None)

    def _from_probabilities(self, raw: Any, batch: Batch) -> Predictions:
        given = self._probabilities(raw, batch)
        # argmax first, then merge: as the PaRTE paper does
        return Predictions(self._places[given.argmax(axis=1)], self._merged(given))

    @property
    def _places(self) -> Ints:
        """The place of the label that each of the model's own labels means."""
        return np.array([self.task.labels.index(target) for target in self.targets])

    def _merged(self, given: Floats) -> Floats:
        """Probabilities of the task's labels: those of labels with one meaning add up."""
        merged = np.zeros((len(given), len(self.task.labels)))
        for column, target in enumerate(self._places):
            merged[:, target] += given[:, column]
        return merged

    def _probabilities(self, raw: Any, batch: Batch, *, may_lack: bool = False) -> Floats:
        """Rows of probabilities, checked; a row of NaN is one that may lack."""
        try:
            given = np.asarray(raw, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise WrongAnswer(f"{self.name} returned {shorten(raw)}; return labels or rows of probabilities") from error
        if given.ndim == 1 and len(given) == len(batch) > 0:
            own = ", ".join(self.model.labels or self.task.labels)
            whole = _whole_numbers(raw)[:1]
            found = f"{self.name} returned a number for each problem, such as {(*whole, given[0])[0]}"
            map_them = f", map the numbers with --label-map {whole[0]}=...," if whole else ""
            raise WrongAnswer(
                f"{found}; return label names ({own}){map_them} or rows of probabilities, a column for each label"
            )
        targets = self.targets
        self._count(len(given) if given.ndim else 0, len(batch))
        if given.ndim != 2 or given.shape[1] != len(targets):
            own = ", ".join(self.model.labels or self.task.labels)
            raise WrongAnswer(
                f"{self.name} returned shape {given.shape} for {len(batch)} problems; use a column for each of {own}"
            )
        wrong = ~(np.abs(given.sum(axis=1) - 1) <= TOLERANCE) | ~((given >= 0) & (given <= 1 + TOLERANCE)).all(axis=1)
        if may_lack:
            wrong &= ~np.isnan(given).all(axis=1)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            text = shorten(dict(batch[row].text), 200)
            raise WrongAnswer(
                f"{self.name} returned {[float(value) for value in given[row]]} for {text}; "
                "probabilities must be numbers from 0 to 1 that sum to one (apply softmax to logits first)"
            )
        return given

    def _flags(self, raw: Any, count: int, name: str) -> npt.NDArray[np.int8] | None:
        if raw is None:
            return None
        flags = np.asarray(raw)
        if flags.shape != (count,) or (count and flags.dtype != np.bool_):
            found = f"{self.name} returned flags of shape {flags.shape} and type {flags.dtype} as {name}"
            raise WrongAnswer(f"{found}; use True or False for each of {count} problems, or None")
        return flags.astype(np.int8)

    def _count(self, found: int, wanted: int) -> None:
        if found != wanted:
            raise WrongAnswer(f"{self.name} returned {found} answers for {wanted} problems; return one per problem")


def _has_none(raw: Any) -> bool:
    return isinstance(raw, (list, tuple)) and any(one is None for one in raw)


def _whole_numbers(raw: Any) -> list[str]:
    """What a model returned, as texts, if it is a list of whole numbers; else none."""
    if isinstance(raw, np.ndarray) and raw.ndim == 1:
        raw = raw.tolist()
    whole = isinstance(raw, (list, tuple)) and all(type(one) is int or isinstance(one, np.integer) for one in raw)
    return [str(int(one)) for one in raw] if whole else []


def as_model(function: Any) -> Model:
    """Accept a bare function from a factory."""
    return function if isinstance(function, Model) else Model(function)


def label_map_of(label_map: LabelMap, model: str, labels: Sequence[str] = ()) -> dict[str, str]:
    """The part of a label map that concerns a model: for all, then its own; of these, entries for labels that it has.

    >>> label_map_of({"yes": "neutral", "LABEL_0": "entailment", "small": {"yes": "entailment"}}, "small", ["Yes"])
    {'yes': 'entailment'}
    """
    chosen: dict[str, tuple[str, str]] = {}
    inner = label_map.get(model, {})
    for part in (label_map, {} if isinstance(inner, str) else inner):
        meanings: dict[str, str] = {}
        for label, meaning in part.items():
            if not isinstance(meaning, str):
                continue
            if label_key(label) == UNREADABLE:
                message = f"{UNREADABLE} stands for an answer that could not be read, and means no label"
                raise BadInput(message, where=model, field="label_map", fix="leave it as it is: it is never right")
            if label_key(meanings.setdefault(label_key(label), meaning)) != label_key(meaning):
                message = f"the label {label!r} is ambiguous: {meanings[label_key(label)]} and {meaning}"
                raise BadInput(message, where=model, field="label_map", fix="labels that differ in case only are one")
            chosen[label_key(label)] = (label, meaning)
    own = {label_key(label) for label in labels}
    return {label: meaning for key, (label, meaning) in chosen.items() if key in own or not labels}


def with_merged(label_map: Mapping[str, str], labels: Sequence[str], task: Task) -> dict[str, str]:
    """The map, and what it leaves open where a model of NLI answers RTE: its own labels need no map.

    >>> from otherwords.problem import TASKS
    >>> with_merged({"neutral": "entailed"}, ["Entailment", "neutral", "contradiction"], TASKS["rte"])
    {'entailment': 'entailed', 'contradiction': 'not-entailed', 'neutral': 'entailed'}
    """
    if {label_key(one) for one in labels} != _MERGED.keys() or {*task.labels} != {*_MERGED.values()}:
        return dict(label_map)
    given = {label_key(one) for one in label_map}
    return {**{label: target for label, target in _MERGED.items() if label not in given}, **label_map}


def label_map_suffix(label_map: Mapping[str, str]) -> str:
    """A label map as signatures show it.

    >>> label_map_suffix({"yes": "entailment", "no": "neutral"})
    '[no=neutral,yes=entailment]'
    """
    return f"[{','.join(f'{label}={target}' for label, target in sorted(label_map.items()))}]" if label_map else ""


def _in_python(labels: Sequence[str]) -> str:
    """The same for somebody who does not use the command line."""
    meanings = ", ".join(f"{label!r}: ..." for label in labels)
    return "" if ON_COMMAND_LINE.get() else f" (in Python label_map={{{meanings}}})"


# What classifiers of texts share: texts of a problem, label names, probabilities


def reply(
    scheduler: Scheduler, labels: tuple[str, ...], where: str, batch: Batch, *, join: str = "", choice: bool = False
) -> Reply:
    """Answer with a classifier's scheduler: a row of probabilities for each problem, and which were truncated.

    `join` says how fields become texts, as in `inference.joining` (by default as suits the task). A model of `choice`
    scores each option of a problem by itself; its probabilities are the softmax over these scores.
    """
    way, options = texts_of(batch.task, join, where, choice=choice)
    each = len(options) or 1
    names = options or labels
    if not len(batch):
        return Reply(np.empty((0, len(names))), np.empty(0, np.bool_))
    (logits,), cut = scheduler(LazyRows(batch, way, options))
    scores = np.asarray(logits).reshape(len(batch), -1) if options else logits
    return Reply(probabilities(scores, names, where), np.logical_or.reduceat(cut, np.arange(0, len(cut), each)))


def texts_of(task: Task, join: str, where: str, *, choice: bool = False) -> tuple[Join, tuple[str, ...]]:
    """How a model puts the problems of a task, and the options that it chooses between; or an error."""
    options = options_of(task)
    if options and not choice:
        message = f"chooses between the fields {', '.join(options)}; {where} labels texts, and cannot do that"
        fix = "use a model of AutoModelForMultipleChoice, or a Python function: python:module:function"
        raise BadInput(message, where=f"task {task.name}", fix=fix)
    if choice and not options:
        message = f"does not choose between fields; {where} is a multiple-choice model, and cannot do anything else"
        raise BadInput(message, where=f"task {task.name}", fix="use a classifier (AutoModelForSequenceClassification)")
    way = Join.read(join, where) if join else default_join(task)
    way.refuse_other(task, where)
    return way, options


def pairs(batch: Batch, join: str = "") -> list[Row]:
    """Every problem as the texts that a classifier reads.

    >>> task = Task("two-premise", fields=("first", "second", "hypothesis"), labels=("yes", "no"))
    >>> pairs(Batch(task, {"first": ["It rains."], "second": ["I am out."], "hypothesis": ["I am wet."]}))
    [('It rains. I am out.', 'I am wet.')]
    """
    return texts_of(batch.task, join, "a classifier")[0].rows(batch.columns)


def label_names(id2label: Any, where: str) -> tuple[str, ...]:
    """The model's label names in the order of its outputs, from the `id2label` of its config."""
    fix = 'give it "id2label": {"0": "entailment", "1": "neutral", ...}, in the order of the outputs'
    if not isinstance(id2label, Mapping) or not id2label:
        raise BadInput("has no label names", where=where, field="id2label", fix=fix)
    by_number = {str(number): str(name) for number, name in id2label.items()}
    if set(by_number) != {str(number) for number in range(len(by_number))}:
        raise BadInput(f"numbers its labels {', '.join(by_number)}", where=where, field="id2label", fix=fix)
    if len(by_number) == 1:
        message = "has one output: a score, not a label"
        raise BadInput(message, where=where, field="id2label", fix="use a model with one output per label")
    return tuple(by_number[str(number)] for number in range(len(by_number)))


def probabilities(logits: Any, labels: tuple[str, ...], where: str) -> Floats:
    """Softmax in float64, each row by itself, after a check that there is one column per label."""
    raw = np.asarray(logits, dtype=np.float64)
    if raw.ndim != 2 or raw.shape[1] != len(labels):
        message = f"the outputs have the shape {raw.shape}, but id2label names {len(labels)}"
        raise BadInput(
            f"{message}: {', '.join(labels)}", where=where, fix="correct id2label in config.json to one name per output"
        )
    powers = np.exp(raw - raw.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float64)
