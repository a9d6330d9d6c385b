"""Tests of how many answers are right, as textbooks have them (`compare --test`): they assume independent rows.

Wordings of one problem are not independent; `compare` allows for that. These are for papers that need them.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from .._version import __version__
from ..answers.alignment import Columns, ModelTable, Names, align, load
from ..answers.reading import read
from ..answers.table import Answers, Array
from ..errors import BadInput, UnknownName, caller_level, setting
from ..harnesses.samples import LogOptions
from ..problem import Task, get_task
from ..significance.ie_test import Matched, ie_test, matched, matched_answers
from ..significance.proportions import cochran_q, mcnemar, odds_ratio, tost
from ..storage import tables
from ..storage.in_memory import AnyTable, as_list, frame_or_name
from .compare import shared_groups

#: The tests that there are.
TESTS = ("mcnemar", "cochran", "tost", "ie")


@dataclass(frozen=True)
class CountTest:
    """A test of how many answers are right, which assumes that rows are independent of each other.

    `rows` says which answers are counted. Of two columns (models, or originals and variants), n10 rows are right in the
    first alone and n01 in the second alone; `difference` is of their shares right, `odds_ratio` is n10 / n01 with its
    exact interval, None where it is infinite. `p` of McNemar's test is the mid-p, `p_exact` the exact one.
    """

    test: str
    signature: str
    models: str
    group: str | None
    rows: str
    n: int
    n10: int | None
    n01: int | None
    difference: float | None
    statistic: float | None
    p: float
    p_exact: float | None = None
    odds_ratio: float | None = None
    low: float | None = None
    high: float | None = None
    confidence: float | None = None
    margin: float | None = None
    assumes: str = "independent rows"


def count_tests(
    answers: AnyTable | str | os.PathLike[str],
    other: AnyTable | str | os.PathLike[str] | None = None,
    tests: str | Sequence[str] = TESTS[0],
    *,
    models: Sequence[str] = (),
    by: str | Sequence[str] = (),
    task: str | Task = "",
    columns: Columns | None = None,
    labels: Mapping[str, str] | None = None,
    logs: LogOptions = LogOptions(),  # noqa: B008 (frozen)
    confidence: float = 0.95,
    margin: float | None = None,
    out: str | Path | None = None,
) -> list[CountTest]:
    """Compare how many answers are right, with tests that assume *independent rows*: wordings of one problem are not.

    `tests` are "mcnemar" and "tost" (each two models; TOST needs a `margin`), "cochran" (all models together), each on
    the originals and on the variants; and "ie", within each model: its originals against their one variant.

    >>> rows = {"bucket": ["a", "b", "c"], "variant": [None] * 3, "gold": ["yes"] * 3}
    >>> one, other = (pl.DataFrame({**rows, "pred": pred}) for pred in (["yes"] * 3, ["yes", "no", "no"]))
    >>> [found] = count_tests(one, other, "mcnemar")
    >>> found.rows, found.n, found.n10, found.n01, found.p, found.p_exact
    ('originals', 3, 2, 0, 0.25, 0.5)
    """
    tables.refuse_unwritable(out, answers, other)
    of_task, wanted = get_task(task).labels if task else (), _known_tests(as_list(tests), margin)
    sources = [frame_or_name(one, "the answers") for one in (answers, other) if one is not None]
    loaded = _chosen_models(load(*sources, names=Names(columns or {}, labels or {}, of_task, logs)), models)
    shared = [one.by_role(of_task).get("rewordings") for one in loaded]
    reworded = [replace(table, name=one.name) for table, one in zip(shared, loaded, strict=True) if table]
    if len(reworded) < (1 if wanted == ["ie"] else 2):
        raise BadInput(f"needs answers of two models; found {len(reworded)}", fix="give a second table")
    found: list[CountTest] = []
    for group, frames in shared_groups(reworded, as_list(by)):
        counted = _Counted([one.name for one in reworded], group, confidence, margin)
        try:
            found += counted.all(wanted, frames, of_task)
        except BadInput as error:
            if not by:
                raise
            warnings.warn(f"{group or 'all variants'}: not tested: {error}", stacklevel=caller_level())
    if not found:
        raise BadInput("no answers to test", fix="group them by another column")
    if out:
        tables.write([pl.DataFrame([asdict(one) for one in found], infer_schema_length=None)], out)
    return found


def _known_tests(tests: Sequence[str], margin: float | None) -> list[str]:
    if unknown := [name for name in tests if name not in TESTS]:
        raise UnknownName(f"no test named {unknown[0]!r}; available: {', '.join(TESTS)}")
    if "tost" in tests and margin is None:
        raise BadInput("tost needs a margin", where=setting("--test", "tests"), fix="add --margin 0.02 (margin=0.02)")
    if margin is not None and "tost" not in tests:
        raise BadInput(
            "of these tests, only tost has a margin",
            where=setting("--test", "tests"),
            fix="add --test tost, or leave it out",
        )
    return list(dict.fromkeys(tests))


def _chosen_models(loaded: Sequence[ModelTable], models: Sequence[str]) -> list[ModelTable]:
    """The models that are named, or all; those called the same are numbered."""
    names = [one.name for one in loaded]
    twice = [f"{name} ({names[: place + 1].count(name)})" for place, name in enumerate(names)]
    named = {new if names.count(one.name) > 1 else one.name: one for new, one in zip(twice, loaded, strict=True)}
    if unknown := [name for name in models if name not in named]:
        raise UnknownName(f"no model named {unknown[0]!r}; available: {', '.join(named)}")
    return [replace(one, name=name) for name, one in named.items() if not models or name in models]


def _right(models: Sequence[Answers]) -> dict[str, Array]:
    """Which answers to originals and to variants are right: a row each, a column per model."""
    right = {"variants": np.stack([one.correct[one.is_variant] for one in models], axis=1)}
    if all(one.has_originals for one in models):
        right = {"originals": np.stack([one.correct[one.originals] for one in models], axis=1), **right}
    return {rows: table for rows, table in right.items() if len(table)}


@dataclass(frozen=True)
class _Counted:
    """Tests of some models' right answers, as rows of results."""

    names: list[str]
    group: str | None
    confidence: float
    margin: float | None

    def all(self, tests: Sequence[str], frames: Sequence[pl.DataFrame], labels: Sequence[str]) -> list[CountTest]:
        """The tests of one group: those between models on what all answered, the IE test of each model alone."""
        between, found = [name for name in tests if name != "ie"], []
        for rows, right in (_right(align(frames, labels, about=self.group)) if between else {}).items():
            found += [row for name in between for row in self.between(name, rows, right)]
        if "ie" in tests:
            found += [self.within(place, read(frame, labels)) for place, frame in enumerate(frames)]
        return found

    def between(self, test: str, rows: str, right: Array) -> Iterator[CountTest]:
        """One of the tests between models, of all together or of each two."""
        if test == "cochran":
            q = cochran_q(right)
            made = f"cochran_q.v1() otherwords={__version__}"
            names = ", ".join(self.names)
            yield CountTest(test, made, names, self.group, rows, len(right), None, None, None, q.statistic, q.p)
            return
        for one, other in combinations(range(len(self.names)), 2):
            sample = matched(right[:, one], right[:, other])
            row = self._row(test, f"{self.names[one]}, {self.names[other]}", rows, sample)
            if test == "tost":
                assert self.margin is not None
                p = tost(sample.n, sample.n10, sample.n01, self.margin).p
                made = f"tost.v1(margin={self.margin}) otherwords={__version__}"
                yield replace(row, signature=made, margin=self.margin, p=p)
            else:
                result, exact = mcnemar(sample.n10, sample.n01, "mid-p"), mcnemar(sample.n10, sample.n01)
                made = f"mcnemar.v1(method=mid-p) otherwords={__version__}"
                yield replace(row, signature=made, statistic=result.statistic, p=result.p, p_exact=exact.p)

    def within(self, place: int, data: Answers) -> CountTest:
        """The IE test of one model, with its null summed up exactly."""
        found = ie_test(matched_answers(data), null="exact", tails="inclusive")
        row = self._row("ie", self.names[place], "originals and their variants", found.sample)
        return replace(row, signature=found.signature, statistic=_finite(found.t), p=found.p)

    def _row(self, test: str, models: str, rows: str, sample: Matched) -> CountTest:
        ratio = odds_ratio(sample.n10, sample.n01, self.confidence)
        return CountTest(
            test=test,
            signature="",
            models=models,
            group=self.group,
            rows=rows,
            n=sample.n,
            n10=sample.n10,
            n01=sample.n01,
            difference=(sample.n10 - sample.n01) / sample.n,
            statistic=None,
            p=1.0,
            odds_ratio=_finite(ratio.value),
            low=_finite(ratio.low),
            high=_finite(ratio.high),
            confidence=self.confidence,
        )


def _finite(number: float) -> float | None:
    """A number that JSON can hold: None where it is infinite or undefined."""
    return number if math.isfinite(number) else None
