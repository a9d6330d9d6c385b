"""The profile of a transformation: how much it changes, which words, and what that does to length and artifacts.

Lengths and frequencies are those of the whole suite after rewording: a problem without a variant counts as it is, one
with several by their mean.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from .._version import __version__
from ..datasets.source import files_of
from ..datasets.suite import Suite, SuiteName, open_suite
from ..errors import BadInput, caller_level, shorten
from ..frames import kept as without_dropped
from ..frames import reworded
from ..problem import Bucket, Problem, Task, changed_fields
from ..progress import current
from ..running.files import spooled
from ..storage import tables
from ..storage.run_folder import RunFolder, read_part
from ..variants.masked_lm.counts import FILTERS, KEPT, filter_rates, overlap
from ..words.alignment import substitutions
from ..words.language import split_words

_WORD = re.compile(r"[^\W_]+")
#: What stands for the label of problems without one.
UNLABELLED = "(no label)"
#: Words that betray a label in SNLI and MultiNLI, by corpus and label: the five strongest of each, in the order of
#: Gururangan et al. (2018), Table 4.
ARTIFACTS: dict[str, dict[str, tuple[str, ...]]] = {
    "snli": {
        "entailment": ("outdoors", "least", "instrument", "outside", "animal"),
        "neutral": ("tall", "first", "competition", "sad", "favorite"),
        "contradiction": ("nobody", "sleeping", "no", "tv", "cat"),
    },
    "mnli": {
        "entailment": ("some", "yes", "something", "sometimes", "various"),
        "neutral": ("also", "because", "popular", "many", "most"),
        "contradiction": ("never", "no", "nothing", "any", "none"),
    },
}


def profile(
    suite: SuiteName,
    task: str | Task | Mapping[str, Any] = "",
    *,
    kept: bool = False,
    columns: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    skip_bad: bool = False,
    out: str | Path | None = None,
) -> Profile:
    """Describe what the variants of a suite do to their originals, over all and by generator (`how`).

    `suite` is a table, a run folder, or one or more files or data sets with originals and variants. Left out are
    contrasts and controls, which are no rewordings; with `kept`, also variants that a check dropped: not otherwise,
    because a profile is of the transformation. `out` names a file for all substitutions of each generator. With
    `skip_bad`, rows that cannot be used are written to `rejected.jsonl` beside it, or in the current folder.

    >>> rows = {"id": ["a", "a1"], "of": [None, "a"], "how": [None, "mine"], "label": ["neutral"] * 2}
    >>> texts = {"premise": ["A man runs.", "An adult male runs."], "hypothesis": ["He is late."] * 2}
    >>> found = profile(pl.DataFrame({**rows, **texts})).whole
    >>> found.share_changed, found.words_changed, found.substitutions[0].before, found.lengths[0].after
    (1.0, 1.0, 'man', 7.0)
    """
    tables.refuse_unwritable(out, *files_of(suite))
    opened = open_suite(suite, task, columns, labels, skip_bad)
    tally, left_out = Tally(opened.task), 0
    with _read_parts(opened, str(out or "-")) as parts:
        for part in parts:
            left = without_dropped(part.lazy()).collect() if kept else part
            left_out += part.height - left.height
            for bucket in reworded(left, opened.task):
                tally.add(bucket)
            current().advance(part.height)
    if not tally.variants:
        raise BadInput("no variants to profile", where=opened.name, fix=_advice(left_out))
    result = replace(tally.profile(), suggestions=_suggestions(opened.runs))
    if out:
        tables.write([_substitution_rows(part) for part in result.generators], out)
    return result


@contextmanager
def _read_parts(suite: Suite, out: str) -> Iterator[Iterator[pl.DataFrame]]:
    """The suite in parts of whole buckets; files are spooled to disk, so that memory stays flat."""
    if suite.source is None:
        yield iter([suite.table()])
        return
    with spooled(suite.source, out) as (driver, summary):
        current().start("profile", driver.intake["rows"])
        yield map(read_part, driver.folder.parts("problems"))
        current().done()
    if summary.rejected:
        warnings.warn(f"left out {len(suite.intake.rejected)} rows; see {summary.rejected}", stacklevel=caller_level())


def _substitution_rows(part: Part) -> pl.DataFrame:
    rows = [{"how": part.how, **asdict(one)} for one in part.substitutions]
    schema = {"how": pl.String, "before": pl.String, "after": pl.String, "count": pl.Int64, "share": pl.Float64}
    return pl.DataFrame(rows, schema=schema)


def _advice(left_out: int) -> str:
    if left_out:
        return f"the checks dropped all {left_out}: leave out kept (--kept) to profile them"
    return "give originals and variants other than controls: the output of vary --suite, two files, or a run folder"


# What a profile consists of


@dataclass(frozen=True)
class Substitution:
    """Words of originals that became other words: how often, and which share of all substitutions that is."""

    before: str
    after: str
    count: int
    share: float


@dataclass(frozen=True)
class Length:
    """Mean length, in words over all fields, of the problems of a label before and after.

    `increase` is relative; None where there were no words before.
    """

    label: str
    problems: int
    before: float
    after: float
    increase: float | None


@dataclass(frozen=True)
class Artifact:
    """A word that betrays a label: the share of that label's problems that contain it, before and after."""

    corpus: str
    label: str
    word: str
    before: float
    after: float


@dataclass(frozen=True)
class Part:
    """What one generator did, or all together. `words_changed` is the mean over variants that differ from the original.

    It counts words of the original that were replaced or left out, over all fields together.
    """

    how: str
    problems: int
    variants: int
    changed: int
    share_changed: float
    words_changed: float | None
    substitutions: tuple[Substitution, ...]
    lengths: tuple[Length, ...]
    artifacts: tuple[Artifact, ...]


@dataclass(frozen=True)
class FilterRate:
    """How many suggestions of a masked-LM, for words of a class in a field, reached a filter, and what it removed."""

    model: str
    word_class: str
    field: str
    filter: str
    removed: int
    reached: int
    percent: float


@dataclass(frozen=True)
class Overlap:
    """How many suggestions of a problem two masked-LMs share on average; one and itself: that it has alone."""

    model: str
    other: str
    mean: float


@dataclass(frozen=True)
class Suggestions:
    """What became of the suggestions of masked-LMs, by generator."""

    how: str
    filters: tuple[FilterRate, ...]
    overlap: tuple[Overlap, ...]


@dataclass(frozen=True)
class Profile:
    """The whole suite, each generator by itself, the suggestions of masked-LMs in a run, and the version."""

    task: str
    whole: Part
    generators: tuple[Part, ...]
    suggestions: tuple[Suggestions, ...] = ()
    otherwords: str = __version__

    def shortened(self, top: int) -> Profile:
        """The same with the most frequent substitutions only."""
        parts = [replace(part, substitutions=part.substitutions[:top]) for part in (self.whole, *self.generators)]
        return replace(self, whole=parts[0], generators=tuple(parts[1:]))


# Counting


class Tally:
    """Counts what variants do to their originals: whole numbers only, so that the order of buckets does not matter."""

    def __init__(self, task: Task):
        self.task, self.variants = task, 0
        self._words = {label: frozenset(word for _, word in _artifact_words(label)) for label in task.labels}
        self._problems: Counter[str] = Counter()
        self._sizes: Counter[str] = Counter()
        self._found: Counter[tuple[str, str]] = Counter()
        self._all, self._hows = _Changes(), dict[str, _Changes]()

    def add(self, bucket: Bucket) -> None:
        """Count a problem and its variants, for all together and for each generator."""
        label, before = bucket.problem.label or UNLABELLED, self._look(bucket.problem)
        self._problems[label] += 1
        self._sizes[label] += before.size
        self._found.update((label, word) for word in before.words)
        self.variants += len(bucket.variants)
        looks: dict[str, list[_Look]] = {}
        for variant in bucket.variants:
            looks.setdefault(variant.how or "unknown", []).append(self._look(variant, bucket.problem))
        for how, some in looks.items():
            self._hows.setdefault(how, _Changes()).add(label, before, some)
        if looks:
            self._all.add(label, before, [look for some in looks.values() for look in some])

    def _look(self, problem: Problem, original: Problem | None = None) -> _Look:
        text = " ".join(problem.text[name] for name in self.task.fields)
        words = self._words.get(problem.label or UNLABELLED, frozenset()).intersection(_WORD.findall(text.lower()))
        if original is None or not changed_fields(original, problem):
            return _Look(len(split_words(text)), words, False, [])
        return _Look(len(split_words(text)), words, True, changes(problem, original))

    def profile(self) -> Profile:
        """Turn counts into means and shares."""
        parts = [self._part(how, self._hows[how]) for how in sorted(self._hows)]
        return Profile(self.task.name, self._part("all", self._all), tuple(parts))

    def _part(self, how: str, counts: _Changes) -> Part:
        problems, total = sum(self._problems.values()), sum(counts.pairs.values())
        pairs = sorted(counts.pairs.items(), key=lambda item: (-item[1], item[0]))
        return Part(
            how=how,
            problems=problems,
            variants=counts.variants,
            changed=counts.problems,
            share_changed=counts.problems / problems,
            words_changed=counts.words / counts.changed if counts.changed else None,
            substitutions=tuple(Substitution(*pair, count, count / total) for pair, count in pairs),
            lengths=tuple(
                self._length(label, counts) for label in (*self.task.labels, UNLABELLED) if self._problems[label]
            ),
            artifacts=tuple(
                self._artifact(corpus, label, word, counts)
                for label in self.task.labels
                if self._problems[label]
                for corpus, word in _artifact_words(label)
            ),
        )

    def _length(self, label: str, counts: _Changes) -> Length:
        before = Fraction(self._sizes[label], self._problems[label])
        after = before + _mean(counts.added_words, label) / self._problems[label]
        increase = float(after / before - 1) if before else None
        return Length(label, self._problems[label], float(before), float(after), increase)

    def _artifact(self, corpus: str, label: str, word: str, counts: _Changes) -> Artifact:
        before = Fraction(self._found[label, word], self._problems[label])
        after = before + _mean(counts.added_artifacts, (label, word)) / self._problems[label]
        return Artifact(corpus, label, word, float(before), float(after))


class _Look(NamedTuple):
    """What is counted of one text: its words, the artifacts among them, and what became of the original's words."""

    size: int
    words: frozenset[str]
    changed: bool
    pairs: list[tuple[str, str]]


class _Changes:
    """Counts of one generator. Differences to the original are kept by bucket size, for their means to be exact."""

    def __init__(self) -> None:
        self.variants = self.problems = self.changed = self.words = 0
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.added_words: Counter[tuple[Any, int]] = Counter()
        self.added_artifacts: Counter[tuple[Any, int]] = Counter()

    def add(self, label: str, before: _Look, looks: Sequence[_Look]) -> None:
        self.variants += len(looks)
        self.problems += any(look.changed for look in looks)
        for look in looks:
            self.changed += look.changed
            self.words += sum(len(split_words(old)) for old, _ in look.pairs)
            self.pairs.update(look.pairs)
            self.added_words[label, len(looks)] += look.size - before.size
            for word in look.words ^ before.words:
                self.added_artifacts[(label, word), len(looks)] += 1 if word in look.words else -1


def _mean(sums: Counter[tuple[Any, int]], key: Any) -> Fraction:
    """Sum over problems of the mean over their variants."""
    return sum((Fraction(total, n) for (name, n), total in sums.items() if name == key), Fraction(0))


def _artifact_words(label: str) -> list[tuple[str, str]]:
    return [(corpus, word) for corpus, lists in ARTIFACTS.items() for word in lists.get(label, ())]


def _suggestions(runs: Sequence[RunFolder]) -> tuple[Suggestions, ...]:
    """For each generator with masked-LMs, from the notes of run folders."""
    notes = [run.read("notes") for run in runs if run.parts("notes")]
    whole = pl.concat(notes, how="diagonal_relaxed") if notes else pl.DataFrame({"what": [], "generator": []})
    filters = whole.filter(pl.col("what").is_in(FILTERS)) if whole.height else whole
    return tuple(_of_generator(name, whole.filter(generator=name)) for name in sorted(set(filters["generator"])))


def _of_generator(generator: str, notes: pl.DataFrame) -> Suggestions:
    rates = tuple(FilterRate(**row) for row in filter_rates(notes).iter_rows(named=True))
    if not (notes["what"] == KEPT).any():  # no class had suggestions enough
        return Suggestions(generator, rates, ())
    rows = overlap(notes).unpivot(index="model", variable_name="other", value_name="mean").sort("model", "other")
    return Suggestions(generator, rates, tuple(Overlap(**row) for row in rows.iter_rows(named=True)))


# Which words a variant replaced


def changes(variant: Problem, original: Problem) -> list[tuple[str, str]]:
    """Pairs of words before and after, lower-cased, over all fields.

    They come from the column `changes` (a JSON list of {"field", "from", "to"}); where it is absent or empty, the texts
    are aligned. An alignment sees "dog" become "domestic dog" as a word added, a generator knows that it replaced one.
    """
    recorded = variant.extra.get("changes")
    inherited = recorded == original.extra.get("changes")  # then it is about an earlier rewording
    if listed := [] if inherited else _listed(recorded, variant.id):
        # An article follows the word after it, and is no substitution of its own.
        return [(old, new) for old, new, kind in listed if kind != "article"]
    fields = variant.task.fields
    return [pair for name in fields for pair in substitutions(original.text[name], variant.text[name])]


def _listed(recorded: Any, name: str) -> list[tuple[str, str, str]]:
    """What a generator recorded: words before, words after, and the part of speech if it is given."""
    try:
        listed = json.loads(recorded.strip() or "null") if isinstance(recorded, str) else recorded
        return [(_plain(one["from"]), _plain(one["to"]), one.get("pos", "")) for one in listed or []]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        fix = 'give a JSON list of {"field": ..., "from": ..., "to": ...}, or nothing'
        raise BadInput(f"found {shorten(recorded)}", where=f"variant {name!r}", field="changes", fix=fix) from error


def _plain(words: str) -> str:
    return " ".join(words.lower().split())
