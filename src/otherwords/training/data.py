"""Further pairs made of the sentences of a data set, for teachers to label: most of them of sentences that are alike.

Two sentences drawn at random have nothing to do with each other, and any model says so; what a student can learn from
its teachers is where sentences share words. So most pairs are drawn among the nearest by TF-IDF.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, groupby
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ..datasets.source import Source
from ..errors import BadInput
from ..problem import Task
from ..progress import current
from ..storage.files import digest
from .recipe import Recipe

# MERGED from training.apart: Keep what a model is tested on apart from what it learns: by text, whatever its case and spacing.

T = TypeVar("T")


def squeezed(text: str) -> str:
    r"""A text as texts are compared here.

    >>> squeezed("  A man\tSLEEPS. ")
    'a man sleeps.'
    """
    return " ".join(text.casefold().split())


def shares(texts: Iterable[str], others: set[str]) -> bool:
    """Whether any of some texts is among `others`, which are squeezed.

    >>> shares(["It rains.", "It is  WET."], {"it is wet."})
    True
    """
    return any(squeezed(text) in others for text in texts)


def split(rows: Sequence[T], keys: Sequence[str], share: float, seed: int) -> tuple[list[T], list[T]]:
    """Part rows in two, those with the same key on one side; the second gets about `share` of them.

    The order of the rows does not matter.

    >>> rows = ["A1", "A2", "B1", "B2", "B3", "C1"]
    >>> split(rows, [row[0] for row in rows], share=0.3, seed=1)
    (['B1', 'B2', 'B3'], ['A1', 'A2', 'C1'])
    """
    if not 0 < share < 1:
        raise BadInput(f"found {share}", field="valid", fix="give a share between 0 and 1, or data sets")
    ranks = [digest(seed, squeezed(key)) for key in keys]
    chosen: set[str] = set()
    count, wanted = 0, max(1, round(share * len(rows)))
    for rank, same in groupby(sorted(ranks)):
        if count >= wanted:
            break
        chosen.add(rank)
        count += len(list(same))
    first = [row for row, rank in zip(rows, ranks, strict=True) if rank not in chosen]
    second = [row for row, rank in zip(rows, ranks, strict=True) if rank in chosen]
    if not first:
        raise BadInput("nothing is left to train on", field="valid", fix="give more data, or data sets to validate on")
    return first, second


# MERGED from training.gathering: From the data sets of a recipe to the rows that are trained and validated on, and those that are neither.

_EMPTY = "found an empty text"


class Row(NamedTuple):
    """The texts of a problem and its label; a sentence for a masked-LM has none."""

    texts: tuple[str, ...]
    label: str | None = None


Keys = Callable[[Row], tuple[str, ...]]
#: What a row that is left out has in common with what it must be apart from.
_SHARED = {
    "without": "a text with `without`",
    "valid": "a sentence with `valid`",
    "valid by premise": "a premise with `valid`",
}


@dataclass
class Gathered:
    """What is trained on, what is validated on, and what was left out: how many rows for which reason, and which."""

    task: Task
    train: list[Row] = field(default_factory=list)
    valid: list[Row] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    left_out: list[dict[str, Any]] = field(default_factory=list)

    def leave(self, reason: str, **what: Any) -> None:
        """Put down that a row is left out."""
        self.reasons[reason] += 1
        self.left_out.append({"reason": reason, **what})


def gather(recipe: Recipe, objective: str = "nli") -> Gathered:
    """Read all data of a recipe; keep what is tested and validated on apart from what is trained on.

    For a masked-LM the rows are the distinct sentences of the data, without labels.
    """
    found = Gathered(Source(recipe.data, recipe.task, recipe.columns, recipe.labels).chosen)
    tested = {squeezed(text) for text in _texts(recipe, found.task)}
    rows = _apart(found, _rows(recipe, recipe.data, found), lambda row: row.texts, tested, "without")
    if objective == "masked-lm":
        _validate(found, recipe, _sentences(rows), lambda row: row.texts, "valid")
    else:
        _validate(found, recipe, rows, partial(_premise, found.task), "valid by premise")
    if not found.train:
        told = ", ".join(f"{count} {reason}" for reason, count in found.reasons.items())
        raise BadInput(f"no row is left to train on ({told})", field="data", fix="give more data")
    return found


def _validate(found: Gathered, recipe: Recipe, rows: list[Row], keys: Keys, what: str) -> None:
    """Part rows in training and validation, or read the latter."""
    if isinstance(recipe.valid, list):
        found.valid = list(_rows(recipe, recipe.valid, found, " in `valid`"))
        if what == "valid":
            found.valid = _sentences(found.valid, _fields(recipe, found.task))
        met = {squeezed(key) for row in found.valid for key in keys(row)}
        found.train = _apart(found, rows, keys, met, what)
    elif recipe.valid:
        names = ["\n".join(keys(row)) for row in rows]
        found.train, found.valid = split(rows, names, recipe.valid, recipe.data_seed) if rows else ([], [])
    else:
        found.train = rows


def _premise(task: Task, row: Row) -> tuple[str]:
    """What makes two problems dependent: the task's clustering texts, as one."""
    return ("\n".join(row.texts[task.fields.index(name)] for name in task.cluster),)


def _sentences(rows: Sequence[Row], fields: Sequence[int] = ()) -> list[Row]:
    """All distinct texts, each as a row, in the order of their first occurrence."""
    texts = (row.texts[i] for row in rows for i in fields or range(len(row.texts)))
    return [Row((text,)) for text in dict.fromkeys(texts) if text.strip()]


def _fields(recipe: Recipe, task: Task) -> list[int]:
    if strangers := sorted(set(recipe.valid_fields) - set(task.fields)):
        fix = f"{task.name} has {', '.join(task.fields)}"
        raise BadInput(f"found {strangers[0]!r}", field="valid_fields", fix=fix)
    return [task.fields.index(name) for name in recipe.valid_fields]


def _apart(found: Gathered, rows: Iterable[Row], keys: Keys, others: set[str], what: str) -> list[Row]:
    kept = []
    for row in rows:
        if shares(keys(row), others):
            found.leave(f"shares {_SHARED[what]}", texts=row.texts, label=row.label)
        else:
            kept.append(row)
    return kept


def _rows(recipe: Recipe, names: Sequence[str], found: Gathered, which: str = "") -> Iterator[Row]:
    """Rows with a label and all their texts. Each data set may have ids of its own."""
    for name in names:
        source = Source([name], found.task, recipe.columns, recipe.labels, skip_bad=True)
        for row in source:
            if row.get("control"):
                found.leave(f"is a control{which}", where=name, id=row["id"])
            else:
                yield Row(tuple(row[field] for field in found.task.fields), row["label"])
        found.reasons[f"no majority label{which}"] += source.intake.no_majority
        for bad in source.intake.rejected:
            if _EMPTY not in bad["reason"] and not recipe.skip_bad:
                raise BadInput(bad["reason"])
            reason = "empty text" if _EMPTY in bad["reason"] else "bad row"
            found.leave(reason + which, where=bad["where"], found=bad["reason"])


def _texts(recipe: Recipe, task: Task) -> Iterator[str]:
    """Every text of data sets that must stay unseen, those of rows without a majority label, too."""
    for name in recipe.without:
        for bound in Source([name], task, recipe.columns, recipe.labels).bound:
            for record in bound.function():
                yield from _unseen(record, recipe, task)


def _unseen(record: Any, recipe: Recipe, task: Task) -> Iterator[str]:
    columns = [recipe.columns.get(name, name) for name in task.fields]
    if record.error or not all(column in record.row for column in columns):
        message = record.error or f"has no column {' or no '.join(columns)}"
        raise BadInput(message, where=record.where, fix="repair it: what it says must not be trained on")
    yield from (text for column in columns if isinstance(text := record.row[column], str) and text.strip())


# MERGED from training.recombining: Further pairs made of the sentences of a data set, for teachers to label: most of them of sentences that are alike.

#: Of all pairs: premise and hypothesis alike, two hypotheses alike, a row turned round; the rest at random.
_ALIKE, _HYPOTHESES, _TURNED = 0.6, 0.3, 0.05
#: How many of the nearest sentences a partner is drawn from.
_NEAREST = 40
#: A word in more of the texts than this share, and than so many, says little of what a text is about, and costs most.
_COMMON, _FEW = 0.1, 20
_PORTION = 1024

Pair = tuple[str, str]


def recombine(rows: Sequence[Pair], count: int, seed: int) -> list[Pair]:
    """Make `count` pairs of the sentences of `rows`: none twice, none of the rows', never a text with itself.

    >>> rows = [("A dog runs.", "An animal moves."), ("A dog sleeps.", "A dog is still."), ("It rains.", "It is wet.")]
    >>> len(recombine(rows, 3, seed=1))
    3
    """
    firsts, seconds = ({squeezed(row[side]): row[side] for row in rows} for side in (0, 1))
    made = _Made(rows)
    most = max(0, len(firsts) * len(seconds) - len(made.met) - len(firsts.keys() & seconds)) // 2
    if count > most:  # drawing the last ones at random would not end
        raise BadInput(f"found {count}", field="recombine", fix=f"these sentences allow for {most} at most")
    random = np.random.default_rng([seed, 7])
    ones, others = list(firsts.values()), list(seconds.values())
    made.take(_alike(ones, others, random), round(_ALIKE * count))
    made.take(_alike(others, others, random), round((_ALIKE + _HYPOTHESES) * count))
    made.take(_turned(rows, random), round((_ALIKE + _HYPOTHESES + _TURNED) * count))
    made.take(_any(ones, others, random), count)
    return [made.pairs[i] for i in random.permutation(count)]


class _Made:
    """The pairs so far, and those that must not be made: the data's own."""

    def __init__(self, rows: Iterable[Pair]):
        self.pairs: list[Pair] = []
        self.met = {(squeezed(first), squeezed(second)) for first, second in rows}

    def take(self, pairs: Iterable[Pair], until: int) -> None:
        for pair in pairs if len(self.pairs) < until else ():
            key = squeezed(pair[0]), squeezed(pair[1])
            if key in self.met or key[0] == key[1]:
                continue
            self.met.add(key)
            self.pairs.append(pair)
            if len(self.pairs) == until:
                return


def _turned(rows: Sequence[Pair], random: np.random.Generator) -> Iterator[Pair]:
    return ((rows[i][1], rows[i][0]) for i in random.permutation(len(rows)))


def _any(firsts: Sequence[str], seconds: Sequence[str], random: np.random.Generator) -> Iterator[Pair]:
    while True:
        for i, j in random.integers((len(firsts), len(seconds)), size=(4096, 2)):
            yield firsts[i], seconds[j]


def _alike(firsts: Sequence[str], seconds: Sequence[str], random: np.random.Generator) -> Iterator[Pair]:
    """Every first text with each of the nearest second ones, in an order at random."""
    left, right = _tf_idf([*firsts, *seconds], len(firsts))
    found = np.concatenate(list(_nearest(left, right)))
    for i, j in found[random.permutation(len(found))]:
        yield firsts[i], seconds[j]


def _tf_idf(texts: Sequence[str], cut: int) -> tuple[Any, Any]:
    """Rows of unit length, a column a word: its count times log(1 + texts / texts with the word)."""
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
    turned, width = right.T.tocsr(), right.shape[0]
    current().start("alike", left.shape[0])
    for start in range(0, left.shape[0], _PORTION):
        block = (left[start : start + _PORTION] @ turned).tocsr()
        # Whole numbers, all different: ties fall alike on every machine.
        keys = np.rint(block.data.astype(np.float64) * -1e6).astype(np.int64) * width + block.indices
        ends = zip(block.indptr[:-1], block.indptr[1:], strict=True)
        found = [np.sort(_least(keys[a:b])) % width for a, b in ends]
        rows = np.repeat(np.arange(len(found)) + start, [len(row) for row in found])
        yield np.stack([rows, np.concatenate(found)], axis=1)
        current().advance(len(found))
    current().done()


def _least(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return keys if len(keys) <= _NEAREST else np.partition(keys, _NEAREST)[:_NEAREST]
