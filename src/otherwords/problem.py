"""The basic types: Task, Problem, Variant, Bucket (a problem and its variants), Verdict, Batch and Score."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from .errors import BadInput, UnknownName, decode

#: Columns that the stages write; a task may not use them as text fields.
RESERVED = frozenset(
    {"id", "of", "how", "label", "cluster", "contrast", "control", "model", "bucket", "variant", "gold", "pred"}
)
#: The label of a problem whose annotators found no majority (SNLI's convention): counted and left out.
NO_MAJORITY = "-"
#: The answer of a model that said something, but none of the labels: an answer of its own, never a right one.
UNREADABLE = "unreadable"
#: How far the sum of probabilities may be from one (a float16 softmax is within 2e-3).
TOLERANCE = 5e-3


_GAPS = re.compile(r"[\s_]+")
_NO_WIDTH = re.compile("[\u200b\u2060\ufeff]")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")


def label_key(label: object) -> str:
    """Return the form in which labels are compared, in whatever case, spacing or number format they are written.

    A name with leading zeros is a code, not a number: 01 stays 01. Letters that Unicode writes in several ways
    (accents, full width) are the same; marks without width (U+FEFF, U+200B) are none.

    >>> [label_key(label) for label in ("Not_Entailed ", "not entailed", 1, 1.0, "1.0", "01")]
    ['not-entailed', 'not-entailed', '1', '1', '1', '01']
    """
    text = str(label)
    if not text.isascii():
        text = _NO_WIDTH.sub("", unicodedata.normalize("NFKC", text))
    text = _GAPS.sub("-", text.strip().lower())
    if text[-1:].isdigit() and _NUMBER.fullmatch(text):
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return "0" if text == "-0" else text
    return text


def parse_label_map(text: str, where: str = "--label-map", field: str = "") -> dict[str, str]:
    """Read what a model's labels mean: its own label = the task's, separated by commas.

    >>> parse_label_map("LABEL_0=entailment, LABEL_1=neutral")
    {'LABEL_0': 'entailment', 'LABEL_1': 'neutral'}
    """
    meanings: dict[str, str] = {}
    for part in filter(str.strip, text.split(",")):
        label, _, meaning = (piece.strip() for piece in part.partition("="))
        if not label or not meaning:
            fix = "write LABEL=MEANING,..., as in LABEL_0=entailment,LABEL_1=neutral,LABEL_2=contradiction"
            raise BadInput(f"cannot read {part.strip()!r}", where=where, field=field, fix=fix)
        if label in meanings:
            raise BadInput(f"{label} is given twice", where=where, field=field)
        meanings[label] = meaning
    return meanings


def parse_label_maps(texts: Iterable[str], where: str = "--label-map") -> dict[str, str | dict[str, str]]:
    """Read label maps for all models, or for one: its name and a colon come first.

    >>> parse_label_maps(["LABEL_0=entailment", "small:no=neutral,yes=entailment"])
    {'LABEL_0': 'entailment', 'small': {'no': 'neutral', 'yes': 'entailment'}}
    """
    maps: dict[str, str | dict[str, str]] = {}
    for text in texts:
        model, colon, _ = text.partition("=")[0].rpartition(":")
        meanings = parse_label_map(text[len(model) + len(colon) :], where)
        inner = maps.setdefault(model, {}) if model else maps
        if isinstance(inner, str) or (twice := [label for label in meanings if label in inner]):
            raise BadInput(f"{model or twice[0]} is given twice", where=where)
        inner.update(meanings)
    return maps


@dataclass(frozen=True)
class Task:
    """The named text fields of a problem, its labels, and which fields a rewording may touch.

    `targets` are the fields that may be reworded (default: the last), the others are context. `optional` fields may be
    empty. Problems that share the texts of the `cluster` fields (default: the first) are not independent: SNLI asks
    three questions about every premise.

    >>> Task("two-premise", fields=("first", "second", "hypothesis"), labels=("yes", "no")).targets
    ('hypothesis',)
    """

    name: str
    fields: tuple[str, ...]
    labels: tuple[str, ...]
    targets: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    cluster: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for attribute in ("fields", "labels", "targets", "optional", "cluster"):
            value = getattr(self, attribute)
            if not isinstance(value, (list, tuple)):
                raise BadInput(f"{attribute} must be a list of names, not {value!r}", where=f"task {self.name}")
            object.__setattr__(self, attribute, tuple(str(part) for part in value))
        self._validate()
        object.__setattr__(self, "targets", self.targets or self.fields[-1:])
        object.__setattr__(self, "cluster", self.cluster or self.fields[:1])

    def _validate(self) -> None:
        where = f"task {self.name}"
        if not self.fields or len(set(self.labels)) < 2:
            raise BadInput("needs at least one field and two labels", where=where)
        labels = {label_key(label) for label in self.labels}
        if len(set(self.fields)) < len(self.fields) or len(labels) < len(self.labels):
            raise BadInput("names a field or a label twice", where=where, fix="labels must differ in more than case")
        for taken, meaning in ((NO_MAJORITY, "no majority"), (UNREADABLE, "an answer that cannot be read")):
            if taken in labels:
                raise BadInput(f"the label {taken!r} stands for {meaning}", where=where, fix="use another name")
        if clash := RESERVED & set(self.fields):
            raise BadInput(f"field names {sorted(clash)} are reserved", where=where, fix="rename them")
        for group in (self.targets, self.optional, self.cluster):
            if unknown := set(group) - set(self.fields):
                raise BadInput(f"{sorted(unknown)} are not among its fields {list(self.fields)}", where=where)


TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task(
            "nli",
            ("premise", "hypothesis"),
            ("entailment", "neutral", "contradiction"),
            ("premise", "hypothesis"),
        ),
        Task("rte", ("premise", "hypothesis"), ("entailed", "not-entailed"), ("premise", "hypothesis")),
        Task(
            "a-nli",
            ("obs1", "obs2", "hyp1", "hyp2"),
            ("hyp1", "hyp2"),
            ("hyp1", "hyp2"),
            cluster=("obs1", "obs2"),
        ),
        Task(
            "d-nli",
            ("premise", "hypothesis", "update"),
            ("strengthener", "weakener"),
            optional=("premise",),
            cluster=("premise", "hypothesis"),
        ),
    )
}


#: What each task asks, for people.
ABOUT_TASKS: dict[str, str] = {
    "nli": "Does the hypothesis follow from the premise, contradict it, or neither?",
    "rte": "Does the hypothesis follow from the premise, or not?",
    "a-nli": "Which of two hypotheses better explains what happened between two observations?",
    "d-nli": "Does an update make the hypothesis more or less likely, given the premise?",
}


def get_task(task: str | Task | Mapping[str, Any]) -> Task:
    """Return a task: by name, from a TOML file or a mapping (name, fields, labels, ...), or the one given."""
    if isinstance(task, Task):
        return task
    if isinstance(task, Mapping):
        return _task_from(task, "task")
    if task in TASKS:
        return TASKS[task]
    if task.endswith(".toml"):
        try:
            return _task_from(tomllib.loads(decode(Path(task).read_bytes(), task)), task)
        except (OSError, ValueError, RecursionError) as error:  # absent, not UTF-8, not TOML
            raise BadInput(f"cannot be read as a task: {error}", where=task) from error
    raise UnknownName(f"no task {task!r}; available: {', '.join(TASKS)}, or give a .toml file with fields and labels")


def _task_from(table: Mapping[str, Any], where: str) -> Task:
    known = set(Task.__dataclass_fields__)
    if unknown := set(table) - known:
        raise BadInput(f"unknown keys {sorted(unknown)}", where=where, fix=f"use {', '.join(sorted(known))}")
    if missing := {"fields", "labels"} - set(table):
        raise BadInput(f"lacks {sorted(missing)}", where=where)
    return Task(**{"name": "custom", **table})


@dataclass(frozen=True)
class Problem:
    """One question to a model: a text for every field of the task, and the gold label, where it is known."""

    id: str
    task: Task
    text: Mapping[str, str]
    label: str | None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def restate(self, **text: str) -> Variant:
        """Return a variant of this problem in which the named fields have new texts.

        >>> p = Problem("p1", TASKS["nli"], {"premise": "It isn't wet.", "hypothesis": "It is dry."}, "entailment")
        >>> p.restate(premise="It is not wet.").text["hypothesis"]
        'It is dry.'
        """
        if unknown := set(text) - set(self.task.fields):
            raise UnknownName(f"{sorted(unknown)} are not fields of {self.task.name}: {list(self.task.fields)}")
        return Variant("", self.task, {**self.text, **text}, self.label, self.extra, of=self.id)


@dataclass(frozen=True)
class Variant(Problem):
    """A Problem in other words: `of` is the original's id, `how` the signature of the generator."""

    of: str = ""
    how: str = ""


def normalize_spaces(text: str | None) -> str:
    """A text in the form in which texts are compared: with single spaces; a missing field is empty.

    >>> normalize_spaces(" A  dog\\nruns. "), normalize_spaces(None)
    ('A dog runs.', '')
    """
    return " ".join((text or "").split())


def changed_fields(problem: Problem, variant: Problem, only: str = "") -> dict[str, tuple[str, str]]:
    """The fields that a variant changes in more than white space: the old text and the new; of one field with `only`.

    >>> one = Problem("p", TASKS["nli"], {"premise": "It rains.", "hypothesis": "It is wet."}, "entailment")
    >>> changed_fields(one, one.restate(premise="It  rains.", hypothesis="Wet it is."))
    {'hypothesis': ('It is wet.', 'Wet it is.')}
    """
    names = [only] if only else problem.task.fields
    texts = {name: (problem.text[name] or "", variant.text[name] or "") for name in names}
    return {name: (old, new) for name, (old, new) in texts.items() if normalize_spaces(old) != normalize_spaces(new)}


@dataclass(frozen=True)
class Note:
    """What a generator reports about a problem besides variants: what it left out and why, or what it counted.

    `of` is the problem's id; `about` gives details: a model, a field, a word class.

    >>> Note("p1", "left out: repeats itself", 2, {"field": "hypothesis"}).count
    2
    """

    of: str
    what: str
    count: int = 1
    about: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Bucket:
    """A problem and its variants: the unit over which consistency is measured."""

    problem: Problem
    variants: tuple[Variant, ...]


@dataclass(frozen=True)
class Verdict:
    """What a check decides about one variant; every drop has a reason. `keep` is None where it cannot decide."""

    keep: bool | None
    reason: str = ""
    score: float | None = None


#: What the columns of answers to repeated questions begin with.
AGAIN = "again:"
#: The ways in which models may be asked again: as the first time, in other company, without a memory of what they read
#: before, with no other request at the same time.
USUAL_WAY, SHUFFLED, COLD, ALONE = "usual", "shuffled", "cold", "alone"


class Repeat(NamedTuple):
    """A question that is asked again on purpose: in which `way` ("usual" is as the first time), and which time.

    >>> Repeat("cold", 2).column
    'again:cold:2'
    """

    way: str = USUAL_WAY
    number: int = 0

    @property
    def column(self) -> str:
        """The column of its answers."""
        return f"{AGAIN}{self.way}:{self.number}"


FIRST_TIME = Repeat()
#: Begins the columns of a batch with the texts of the problems that its texts reword.
ORIGINAL = "original:"


class Batch(Sequence[Problem]):
    """What a model gets: problems of one task, column by column. `batch["premise"]` lists the premises.

    It has no gold labels, so no model can use them. `repeat` says whether the same was asked before, see `Repeat`.
    `originals` has, by field, the texts of the problem that each rewords, for models that are asked `by_original`; for
    others, and where a text rewords none, they are the texts themselves.
    """

    def __init__(self, task: Task, columns: Mapping[str, Sequence[str]], repeat: Repeat = FIRST_TIME):
        self.task, self.repeat = task, repeat
        self.columns = {name: list(columns[name]) for name in task.fields}
        known = f"{ORIGINAL}{task.fields[0]}" in columns
        self.originals = {name: list(columns[f"{ORIGINAL}{name}"]) for name in task.fields} if known else self.columns

    def __len__(self) -> int:
        return len(self.columns[self.task.fields[0]])

    def __iter__(self) -> Iterator[Problem]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        """Return the texts of a field by its name, or a problem by its position."""
        if isinstance(key, str):
            if key not in self.columns:
                fix = f"it has {', '.join(self.columns)}"
                raise BadInput(f"no field {key!r}", where=f"the task {self.task.name}", fix=fix)
            return self.columns[key]
        if isinstance(key, slice):
            originals = {f"{ORIGINAL}{name}": texts for name, texts in self.originals.items()}
            columns = {name: texts[key] for name, texts in {**self.columns, **originals}.items()}
            return Batch(self.task, columns, self.repeat)
        return Problem("", self.task, {name: texts[key] for name, texts in self.columns.items()}, "")


#: `Score.model` of a metric that measures all models of a table together.
ALL_MODELS = "(all)"


#: More bootstrap replicates than anybody needs: their error is below that of rounding.
MOST_REPLICATES = 1_000_000


@dataclass(frozen=True)
class Score:
    """One number that a paper can quote: its value, interval and counts, and the signature that explains it.

    `value` is None where the metric has nothing to measure, and `low`, `high` where there is no interval: `note` then
    says why; of a share among sound variants, it says what that rests on. `n_clusters` are the clusters behind it, and
    `n_effective` the number of equally weighted ones with the same information (Kish 1965).
    `unit` is "share" for what is printed in per cent, else "number". `interval` is the kind of interval that was
    computed ("wilson", "mover", "net", "percentile", "bca", "anytime"), at this `confidence` and, if drawn, with so
    many `replicates`, over what the column `resampled` names ("cluster" or "bucket"); it is empty, and they None, where
    there is no interval.
    `anytime_low` and `anytime_high` are the ends that hold however often one looks, where they were asked for.
    `shrunk` is a group's value moved towards those of the other groups, the more the less there is to it, with an
    interval of its own; None where it was not asked for.
    """

    metric: str
    signature: str
    model: str
    group: str | None
    value: float | None
    low: float | None
    high: float | None
    n_units: int
    n_answers: int
    unit: str = "share"
    interval: str = ""
    confidence: float | None = None
    replicates: int | None = None
    resampled: str | None = None
    n_clusters: int = 0
    n_effective: float | None = None
    note: str = ""
    anytime_low: float | None = None
    anytime_high: float | None = None
    shrunk: float | None = None
    shrunk_low: float | None = None
    shrunk_high: float | None = None

    def __str__(self) -> str:
        """The score as tables print it."""
        name = self.metric if self.group is None else f"{self.metric}[{self.group}]"
        if self.value is None:
            return f"{name} –"
        text = f"{name} {rounded(self.value, self.unit)}{' %' if self.unit == 'share' else ''}"
        if self.low is None or self.high is None:
            return text
        return f"{text} [{rounded(self.low, self.unit)} – {rounded(self.high, self.unit)}]"


def rounded(number: float, unit: str, sign: str = "") -> str:
    """A number as tables print it: a share in per cent to a tenth, another to three places.

    >>> rounded(1 / 3, "share"), rounded(1 / 3, "number", "+"), rounded(-0.0001, "share")
    ('33.3', '+0.333', '0.0')
    """
    if unit == "share":
        return f"{round(100 * number, 1) + 0.0:{sign}.1f}"  # never -0.0
    return f"{round(number, 3) + 0.0:{sign}.3f}"
