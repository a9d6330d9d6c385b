"""The rows of a recipe's data sets: collected, split for validation, separated from test data, and recombined."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, groupby
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ..datasets.intake import is_without_text
from ..datasets.source import Source
from ..errors import BadInput
from ..inference.joining import options_of
from ..models.model import with_merged
from ..problem import Task, get_task, label_key
from ..progress import current
from ..storage.files import digest
from .recipe import Recipe

#: What a row that is left out has in common with the data that it must not share texts with.
_SHARED = {
    "without": "a text with `without`",
    "valid": "a sentence with `valid`",
    "valid by premise": "a premise with `valid`",
}
#: Shares of recombined pairs: similar premise and hypothesis, similar hypotheses, reversed rows; the rest is random.
_SIMILAR, _HYPOTHESES, _REVERSED = 0.6, 0.3, 0.05
#: A partner is drawn from this many of the nearest sentences.
_NEAREST = 40
#: A word in more than this share of the texts, and in more than so many, says little about a text, and costs most.
_COMMON, _FEW = 0.1, 20
_BLOCK = 1024

T = TypeVar("T")
Pair = tuple[str, str]


class TrainingRow(NamedTuple):
    """The texts of a problem and its label; a sentence for a masked-LM has no label."""

    texts: tuple[str, ...]
    label: str | None = None


Keys = Callable[[TrainingRow], tuple[str, ...]]


@dataclass
class TrainingData:
    """Rows to train and to validate on, and what was left out: how many rows for which reason, and which.

    The texts of a row are those of `fields`, in this order: all of the task's, or the ones that a model of partial
    input is shown. Where the validation rows have labels of another task (two, of a model with three), `merged` says
    which of them each label of the task means.
    """

    task: Task
    fields: tuple[str, ...] = ()
    train: list[TrainingRow] = field(default_factory=list)
    valid: list[TrainingRow] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    left_out: list[dict[str, Any]] = field(default_factory=list)
    merged: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.fields = self.fields or self.task.fields

    def leave_out(self, reason: str, **details: Any) -> None:
        """Record a row that is left out."""
        self.reasons[reason] += 1
        self.left_out.append({"reason": reason, **details})


def collect_rows(recipe: Recipe, objective: str = "nli") -> TrainingData:
    """Read all data of a recipe; training rows share no text with test data and no premise with validation data.

    For a masked-LM the rows are the distinct sentences of the data, without labels.
    """
    data = TrainingData(Source(recipe.data, recipe.task, recipe.columns, recipe.labels).chosen)
    shown = _shown_fields(recipe, data.task)
    data.merged = _merged(recipe, data.task)
    test_texts = {normalized(text) for text in _test_texts(recipe, data.task)}
    rows = _without_shared(data, _rows(recipe, recipe.data, data), lambda row: row.texts, test_texts, "without")
    keys: Keys
    if objective == "masked-lm":
        rows, keys = _sentences(rows), lambda row: row.texts
        _add_validation(data, recipe, rows, keys, "valid")
    else:
        keys = partial(_premise, data.task)
        _add_validation(data, recipe, rows, keys, "valid by premise")
    take_share(data, keys, recipe.share, recipe.data_seed)
    _show(data, shown)
    if not data.train:
        reasons = ", ".join(f"{count} {reason}" for reason, count in (+data.reasons).items())
        raise BadInput(f"no rows left to train on ({reasons})", field="data", fix="give more data")
    return data


def _shown_fields(recipe: Recipe, task: Task) -> tuple[str, ...]:
    """The fields that the model is shown, in the task's order; of a choice it must see all options."""
    if unknown := [name for name in recipe.fields if name not in task.fields]:
        fix = f"{task.name} has {', '.join(task.fields)}"
        raise BadInput(f"found {unknown[0]!r}", field="fields", fix=fix)
    shown = tuple(name for name in task.fields if not recipe.fields or name in recipe.fields)
    if recipe.fields and (hidden := [name for name in options_of(task) if name not in shown]):
        fix = f"show all of them: {', '.join(task.labels)}"
        raise BadInput(f"{task.name} chooses between fields, and {hidden[0]} is not shown", field="fields", fix=fix)
    return shown


def _merged(recipe: Recipe, task: Task) -> dict[str, str]:
    """What each label of the task means in the validation data, where these have a task of their own."""
    if not recipe.valid_task:
        if recipe.valid_label_map:
            fix = "name the task of the validation data in valid_task"
            raise BadInput("found no valid_task", field="valid_label_map", fix=fix)
        return {}
    asked = get_task(recipe.valid_task)
    if not isinstance(recipe.valid, list):
        fix = "name data sets in valid: a share of the data has the labels of the data"
        raise BadInput(f"found {asked.name} and no data sets in valid", field="valid_task", fix=fix)
    if set(asked.fields) != set(task.fields):
        fix = f"give a task with the fields {', '.join(task.fields)}"
        raise BadInput(f"{asked.name} has the fields {', '.join(asked.fields)}", field="valid_task", fix=fix)
    if unknown := [name for name in recipe.valid_label_map if label_key(name) not in map(label_key, task.labels)]:
        fix = f"the labels that are learnt are {', '.join(task.labels)}"
        raise BadInput(f"found {unknown[0]!r}", field="valid_label_map", fix=fix)
    known = {label_key(label): label for label in asked.labels}
    given = {
        label_key(label): meant for label, meant in with_merged(recipe.valid_label_map, task.labels, asked).items()
    }
    merged = {label: known.get(label_key(given.get(label_key(label), label)), "") for label in task.labels}
    if unmapped := [label for label, meant in merged.items() if not meant]:
        fix = f'say which of {", ".join(asked.labels)} each label means: {{{unmapped[0]} = "..."}}'
        message = f"{unmapped[0]!r} has no meaning in {asked.name}"
        raise BadInput(message, field="valid_label_map", fix=fix)
    if unmeant := [label for label in asked.labels if label not in merged.values()]:
        message = f"none of {', '.join(task.labels)} means {unmeant[0]!r} of {asked.name}"
        raise BadInput(message, field="valid_label_map", fix="let at least one mean each of them")
    return merged


def normalized(text: str) -> str:
    r"""A text without differences of case and spacing, as texts are compared here.

    >>> normalized("  A man\tSLEEPS. ")
    'a man sleeps.'
    """
    return " ".join(text.casefold().split())


def split_rows(rows: Sequence[T], keys: Sequence[str], share: float, seed: int) -> tuple[list[T], list[T]]:
    """Split rows in two, with equal keys on the same side; the second part gets about `share` of the rows.

    The order of the rows does not matter.

    >>> rows = ["A1", "A2", "B1", "B2", "B3", "C1"]
    >>> split_rows(rows, [row[0] for row in rows], share=0.3, seed=1)
    (['B1', 'B2', 'B3'], ['A1', 'A2', 'C1'])
    """
    if not 0 < share < 1:
        raise BadInput(f"found {share}", field="valid", fix="give a share between 0 and 1, or data sets")
    ranks = [digest(seed, normalized(key)) for key in keys]
    chosen = _first_ranks(ranks, share)
    first = [row for row, rank in zip(rows, ranks, strict=True) if rank not in chosen]
    second = [row for row, rank in zip(rows, ranks, strict=True) if rank in chosen]
    if not first:
        raise BadInput("no rows left to train on", field="valid", fix="give more data, or data sets to validate on")
    return first, second


def _first_ranks(ranks: Sequence[str], share: float) -> set[str]:
    """The first of all different ranks that so large a share of the rows has; so a smaller share is part of it."""
    chosen: set[str] = set()
    count, wanted = 0, max(1, round(share * len(ranks)))
    for rank, same in groupby(sorted(ranks)):
        if count >= wanted:
            break
        chosen.add(rank)
        count += len(list(same))
    return chosen


def take_share(data: TrainingData, keys: Keys, share: float, seed: int) -> None:
    """Train on a share of the rows, whole clusters; which ones depends on their texts and the seed alone."""
    if share == 1 or not data.train:
        return
    ranks = [digest(seed, "share", *map(normalized, keys(row))) for row in data.train]
    chosen = _first_ranks(ranks, share)
    before, total = {row.label for row in data.train}, len(data.train)
    data.train = [row for row, rank in zip(data.train, ranks, strict=True) if rank in chosen]
    data.reasons["not in the share"] += total - len(data.train)
    if lost := sorted(str(label) for label in before - {row.label for row in data.train}):
        message = f"{share:g} of {total:,} rows are {len(data.train):,}, and none of them is {' or '.join(lost)}"
        raise BadInput(message, field="share", fix="give a larger share, or another data_seed")


def _show(data: TrainingData, fields: tuple[str, ...]) -> None:
    """Leave only the texts of these fields; rows that have nothing in them are left out."""
    if fields == data.task.fields:
        return
    data.fields, places = fields, [data.task.fields.index(name) for name in fields]
    for side, which in (("train", ""), ("valid", " in `valid`")):
        cut = [TrainingRow(tuple(row.texts[place] for place in places), row.label) for row in getattr(data, side)]
        kept = [row for row in cut if any(text.strip() for text in row.texts)]
        setattr(data, side, kept)
        data.reasons[f"empty text{which}"] += len(cut) - len(kept)


def _add_validation(data: TrainingData, recipe: Recipe, rows: list[TrainingRow], keys: Keys, kind: str) -> None:
    """Read the validation data sets, or split them off the rows."""
    if isinstance(recipe.valid, list):
        data.valid = list(_rows(recipe, recipe.valid, data, " in `valid`", recipe.valid_task))
        if kind == "valid":
            data.valid = _sentences(data.valid, _field_numbers(recipe, data.task))
        known = {normalized(key) for row in data.valid for key in keys(row)}
        data.train = _without_shared(data, rows, keys, known, kind)
    elif recipe.valid:
        names = ["\n".join(keys(row)) for row in rows]
        data.train, data.valid = split_rows(rows, names, recipe.valid, recipe.data_seed) if rows else ([], [])
    else:
        data.train = rows


def _premise(task: Task, row: TrainingRow) -> tuple[str]:
    """What makes two problems dependent: the task's clustering texts, as one."""
    return ("\n".join(row.texts[task.fields.index(name)] for name in task.cluster),)


def _sentences(rows: Sequence[TrainingRow], fields: Sequence[int] = ()) -> list[TrainingRow]:
    """All distinct texts, each as a row, in the order of their first occurrence."""
    texts = (row.texts[i] for row in rows for i in fields or range(len(row.texts)))
    return [TrainingRow((text,)) for text in dict.fromkeys(texts) if text.strip()]


def _field_numbers(recipe: Recipe, task: Task) -> list[int]:
    if unknown := sorted(set(recipe.valid_fields) - set(task.fields)):
        fix = f"{task.name} has {', '.join(task.fields)}"
        raise BadInput(f"found {unknown[0]!r}", field="valid_fields", fix=fix)
    return [task.fields.index(name) for name in recipe.valid_fields]


def _without_shared(
    data: TrainingData, rows: Iterable[TrainingRow], keys: Keys, known: set[str], kind: str
) -> list[TrainingRow]:
    """The rows that have no key among the known ones; the others are left out."""
    kept = []
    for row in rows:
        if any(normalized(key) in known for key in keys(row)):
            data.leave_out(f"shares {_SHARED[kind]}", texts=row.texts, label=row.label)
        else:
            kept.append(row)
    return kept


def _rows(
    recipe: Recipe, names: Sequence[str], data: TrainingData, which: str = "", task: Any = ""
) -> Iterator[TrainingRow]:
    """Rows with a label and all their texts. Each data set may have its own ids and its own layout.

    A `task` of their own has other labels, which the recipe's map does not concern.
    """
    asked, labels = (get_task(task), {}) if task else (data.task, recipe.labels)
    for name in names:
        source = Source([name], asked, recipe.columns, labels, skip_bad=True, gold="all")
        for row in source:
            if row.get("control"):
                data.leave_out(f"is a control{which}", where=name, id=row["id"])
            else:
                yield TrainingRow(tuple(row[field] for field in data.task.fields), row["label"])
        data.reasons[f"no majority label{which}"] += source.intake.no_majority
        for bad in source.intake.rejected:
            if not (empty := is_without_text(bad)) and not recipe.skip_bad:
                raise BadInput(bad["reason"])
            reason = "empty text" if empty else "bad row"
            data.leave_out(reason + which, where=bad["where"], found=bad["reason"])


def _test_texts(recipe: Recipe, task: Task) -> Iterator[str]:
    """Every text of the data sets of `without`, also of rows without a majority label."""
    columns = [recipe.columns.get(name, name) for name in task.fields]
    for name in recipe.without:
        for bound in Source([name], task, recipe.columns, recipe.labels).bound:
            for record in bound.function():
                if record.error or not all(column in record.row for column in columns):
                    message = record.error or f"has no column {' or no '.join(columns)}"
                    raise BadInput(message, where=record.where, fix="repair it: its texts are excluded from training")
                texts = (record.row[column] for column in columns)
                yield from (text for text in texts if isinstance(text, str) and text.strip())


# Further pairs, for teachers to label


def recombine(rows: Sequence[Pair], count: int, seed: int) -> list[Pair]:
    """Make `count` new pairs of the sentences of `rows`: no pair twice, none of the rows, no text with itself.

    Any model says of two sentences drawn at random that they have nothing to do with each other. A student learns from
    its teachers where sentences share words, so most pairs are drawn among the nearest by TF-IDF.

    >>> rows = [("A dog runs.", "An animal moves."), ("A dog sleeps.", "A dog is still."), ("It rains.", "It is wet.")]
    >>> len(recombine(rows, 3, seed=1))
    3
    """
    firsts, seconds = ({normalized(row[side]): row[side] for row in rows} for side in (0, 1))
    pairs = _NewPairs(rows)
    most = max(0, len(firsts) * len(seconds) - len(pairs.known) - len(firsts.keys() & seconds)) // 2
    if count > most:  # drawing the last ones at random would not end
        raise BadInput(f"found {count}", field="recombine", fix=f"these sentences allow at most {most}")
    random = np.random.default_rng([seed, 7])
    premises, hypotheses = list(firsts.values()), list(seconds.values())
    pairs.take(_similar(premises, hypotheses, random), round(_SIMILAR * count))
    pairs.take(_similar(hypotheses, hypotheses, random), round((_SIMILAR + _HYPOTHESES) * count))
    pairs.take(_reversed(rows, random), round((_SIMILAR + _HYPOTHESES + _REVERSED) * count))
    pairs.take(_random(premises, hypotheses, random), count)
    return [pairs.taken[i] for i in random.permutation(count)]


class _NewPairs:
    """The pairs taken so far, and those that must not be taken again, the data's own among them."""

    def __init__(self, rows: Iterable[Pair]):
        self.taken: list[Pair] = []
        self.known = {(normalized(first), normalized(second)) for first, second in rows}

    def take(self, pairs: Iterable[Pair], until: int) -> None:
        for pair in pairs if len(self.taken) < until else ():
            key = normalized(pair[0]), normalized(pair[1])
            if key in self.known or key[0] == key[1]:
                continue
            self.known.add(key)
            self.taken.append(pair)
            if len(self.taken) == until:
                return


def _reversed(rows: Sequence[Pair], random: np.random.Generator) -> Iterator[Pair]:
    return ((rows[i][1], rows[i][0]) for i in random.permutation(len(rows)))


def _random(firsts: Sequence[str], seconds: Sequence[str], random: np.random.Generator) -> Iterator[Pair]:
    while True:
        for i, j in random.integers((len(firsts), len(seconds)), size=(4096, 2)):
            yield firsts[i], seconds[j]


def _similar(firsts: Sequence[str], seconds: Sequence[str], random: np.random.Generator) -> Iterator[Pair]:
    """Every first text with each of the nearest second ones, in random order."""
    left, right = _tf_idf([*firsts, *seconds], len(firsts))
    places = np.concatenate(list(_nearest(left, right)))
    for i, j in places[random.permutation(len(places))]:
        yield firsts[i], seconds[j]


def _tf_idf(texts: Sequence[str], cut: int) -> tuple[Any, Any]:
    """Rows of unit length, one column per word: its count times log(1 + texts / texts with the word)."""
    from scipy.sparse import csr_array

    counts = [Counter(re.findall(r"\w+", text.casefold())) for text in texts]
    spread = Counter(chain.from_iterable(counts))
    most = max(_FEW, _COMMON * len(texts))
    words = {word: i for i, word in enumerate(word for word in spread if spread[word] <= most)}
    cells = [(i, words[word], n) for i, row in enumerate(counts) for word, n in row.items() if word in words]
    at, column, times = (np.array(part) for part in zip(*cells, strict=True)) if cells else np.zeros((3, 0), np.int64)
    weight = times * np.log1p(len(texts) / np.array([spread[word] for word in words] or [1]))[column]
    norms = np.sqrt(np.bincount(at, weight**2, len(texts)))
    table = csr_array(((weight / norms[at]).astype(np.float32), (at, column)), (len(texts), max(1, len(words))))
    return table[:cut], table[cut:]


def _nearest(left: Any, right: Any) -> Iterator[npt.NDArray[np.int64]]:
    """Pairs (i, j) of rows: for every i the most similar js that have a word in common with it."""
    columns, width = right.T.tocsr(), right.shape[0]
    current().start("similar sentences", left.shape[0])
    for start in range(0, left.shape[0], _BLOCK):
        block = (left[start : start + _BLOCK] @ columns).tocsr()
        # Whole numbers, all different: ties are broken alike on every machine.
        keys = np.rint(block.data.astype(np.float64) * -1e6).astype(np.int64) * width + block.indices
        ends = zip(block.indptr[:-1], block.indptr[1:], strict=True)
        nearest = [np.sort(_least(keys[a:b])) % width for a, b in ends]
        rows = np.repeat(np.arange(len(nearest)) + start, [len(row) for row in nearest])
        yield np.stack([rows, np.concatenate(nearest)], axis=1)
        current().advance(len(nearest))
    current().done()


def _least(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return keys if len(keys) <= _NEAREST else np.partition(keys, _NEAREST)[:_NEAREST]
