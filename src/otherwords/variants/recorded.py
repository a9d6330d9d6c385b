"""Variants that exist already, in a file: rewordings written by people, or by another tool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..problem import Problem, Variant, plain
from ..registry import generators
from .book import Book, Found, opened
from .formats import NATIVE
from .pairing import chooses, paired

#: The rewordings of the bundled problems.
EVERYDAY = Path(__file__).parents[1] / "assets" / "everyday_rewordings.jsonl"


@generators("recorded.v1")
def recorded(path: Path = EVERYDAY, format: str = "", pair: str = "") -> Any:  # noqa: A002 (the user's word)
    """Variants recorded in a file with `of` and the reworded fields (default: those of the bundled problems).

    Fields that a row lacks stay as in the original; other columns come along. `format` names another tool's layout
    (textattack, nl-augmenter, checklist), which is otherwise told by the file; where that has no ids, its rows are
    matched by their original texts. Rows that change nothing but white space are no variants; nor are those of another
    tool that name another of the task's labels. Where a problem is a choice of two targets, rows that reword only one
    of them are paired at random within their writer, the column `pair` (by default worker, annotator, generator,
    transformation or test; none: not at all).
    """
    return Recorded(opened(path, format), pair)


class Recorded:
    """The generator of one file.

    `left_out` counts, by reason, the rows that are no variants of their problem; `unmatched` says how many rows of
    another tool's file found no problem.
    """

    def __init__(self, book: Book, pair: str = "") -> None:
        self._book, self._pair = book, pair
        self._met: set[int] | None = None if book.format == NATIVE else set()
        self._given = 0
        self.left_out: Counter[str] = Counter()

    def __call__(self, problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant]:
        """Give the variants of each problem, in the file's order, pairs after them."""
        for problem, seed in zip(problems, seeds, strict=True):
            self._given += 1
            yield from self._variants(problem, seed)

    def unmatched(self, problems: int) -> int | None:
        """How many rows of another tool's file reworded none of so many problems.

        None for tables: their rows name their originals, and may well be about other problems, too. None also where not
        all problems were given to this very process.
        """
        return None if self._met is None or self._given < problems else len(self._book) - len(self._met)

    def _variants(self, problem: Problem, seed: int) -> Iterator[Variant]:
        found = self._find(problem)
        variants = [_variant(problem, one.place, one.row) for one in found]
        if self._pair != "none" and chooses(problem.task):
            rows = paired([one.row for one in found], problem, self._pair, seed)
            variants = [_variant(problem, f"a rewording of {problem.id!r}", row) for row in rows]
        for variant in variants:
            if _says_the_same(variant, problem):
                self.left_out["unchanged"] += 1
            else:
                yield variant

    def _find(self, problem: Problem) -> list[Found]:
        """The rows on a problem. Another tool's labels may be numbers of its own; names of ours must agree."""
        found = list(self._book.find(problem))
        if self._met is None:
            return found
        self._met.update(one.number for one in found)
        agreeing = [one for one in found if not _contradicts(one.row, problem)]
        self.left_out["with another label"] += len(found) - len(agreeing)
        return [one._replace(row={k: v for k, v in one.row.items() if k != "label"}) for one in agreeing]


def _variant(problem: Problem, where: str, row: Mapping[str, Any]) -> Variant:
    text = {name: row[name] for name in problem.task.fields if row.get(name) is not None}
    if not text:
        fix = f"name at least one of {', '.join(problem.task.fields)}"
        raise BadInput(f"rewords nothing: there are {', '.join(row)}", where=where, fix=fix)
    if wrong := [name for name, value in text.items() if not isinstance(value, str)]:
        raise BadInput("is not text", where=where, field=wrong[0])
    if row.get("label") is not None and plain(row["label"]) != plain(problem.label):
        found = f"found {row['label']!r} but the original {problem.id!r} says {problem.label!r}"
        raise BadInput(found, where=where, field="label", fix="a variant keeps the label of its original")
    known = {*problem.task.fields, "id", "of", "how", "label", "cluster"}
    extra = {**problem.extra, **{name: value for name, value in row.items() if name not in known}}
    variant = problem.restate(**text)
    return Variant(str(row.get("id") or ""), problem.task, variant.text, problem.label, extra, of=problem.id)


def _contradicts(row: Mapping[str, Any], problem: Problem) -> bool:
    """Whether a row names one of the task's labels, and it is not the problem's."""
    return plain(row.get("label")) in {plain(label) for label in problem.task.labels} - {plain(problem.label)}


def _says_the_same(variant: Variant, problem: Problem) -> bool:
    """Whether no more than white space has changed."""
    return all(variant.text[name].split() == text.split() for name, text in problem.text.items())
