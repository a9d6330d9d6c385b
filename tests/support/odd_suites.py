"""For plug-ins on columns: suites of odd rows, to hold them against what works row by row, and one of a user's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import strategies as st

from otherwords.frames import to_frame
from otherwords.problem import TASKS, Task
from otherwords.registry import Bound

#: Words, marks and spaces of which odd texts are made: contractions in all spellings, other scripts, nothing to see.
BITS = [
    "isn't", "Isn't", "ISN'T", "isn’t", "is not", "Is not", "IS NOT", "cannot", "can't", "won't", "don't", "doeſ not",
    "ıſn't", "n't", "'t", "I'm", "you're", "we'll", "'ll", "'d", "he'd", "'mother", "’", "not", "this", "to", "why",
    "the", "he", "people", "Rome", "dog", "Dog", "dog,", "A", "1", "_", "-", ".", "?", " ", "  ", "\n", "\t", "\x1c",
    "\x85", "\u3000", "\u200b", "\u0300", "é", "İ", "ẞ", "犬が走る", "ก็", "🐈", "\0",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(BITS).flatmap(lambda bit: st.sampled_from([bit, f"{bit} "])), max_size=7).map("".join)
TEXTS = (
    TEXTS | st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.just("isn't it odd, is not it? " * 99)
)
IDS = st.sampled_from(["a", "b", "7", "a~contractions.1", "a~contractions.4", "a~identity.2", "~", "x.1", "É", ""])
VALUES = {
    "n": st.none() | st.integers(-5, 2**62),
    "share": st.none() | st.floats(),
    "yes": st.none() | st.booleans(),
    "changes": st.none() | st.sampled_from(["[]", "", "x"]),
    "nothing": st.none(),
    "control": st.none() | st.sampled_from(["", " ", "identity"]),
    "contrast": st.none() | st.sampled_from(["", " ", "negated"]),
    "id_of": st.text(st.characters(exclude_categories=["Cs"]), max_size=2),
    "input_model": st.none() | st.integers(0, 3),
}


@st.composite
def rows(draw: Any, task: Task) -> list[dict[str, Any]]:
    """Originals and variants of theirs, in any order; some with verdicts and columns of their own."""
    names = draw(st.lists(IDS, unique=True, min_size=1, max_size=6))
    extras = draw(st.lists(st.sampled_from(sorted(VALUES)), unique=True))
    found: list[dict[str, Any]] = []
    for number, name in enumerate(names):
        originals = [one["id"] for one in found if one["of"] is None]
        of = draw(st.sampled_from(originals)) if number and draw(st.booleans()) else None
        text = {field: draw(TEXTS | st.none()) if field in task.optional else draw(TEXTS) for field in task.fields}
        if of is not None and draw(st.booleans()):  # what changes nothing, or little, or repeats
            text |= {field: next(one for one in found if one["id"] == of)[field] for field in task.fields[:-1]}
        label = draw(st.none() | st.sampled_from(task.labels))
        about = {"id": name, "of": of, "how": "mine.v1()" if of else None, "label": label, "cluster": f"c{number}"}
        found.append({**about, **text, **{extra: draw(VALUES[extra]) for extra in extras}})
    if draw(st.booleans()):
        found = [{**one, "check:surface": draw(st.none() | st.booleans())} for one in found]
    return draw(st.permutations(found))


@st.composite
def suites(draw: Any) -> tuple[pl.DataFrame, Task]:
    """A table as the intake makes it, and its task."""
    task = TASKS[draw(st.sampled_from(["nli", "d-nli", "a-nli"]))]
    return to_frame(draw(rows(task)), task), task


#: The file of a user's plug-in that works on columns.
_COLUMNAR = """
import polars as pl
import otherwords as ow

def row_by_row(*given):
    raise RuntimeError("the stage has the other form")

def columns(rows, task):
    {}

mine = ow.{}(row_by_row, columns=columns)
"""


def write_columnar(folder: Path, kind: str, body: str) -> str:
    """Write a Generator or a Check of a user's, whose form for columns has this body; the spec that names it."""
    (folder / "mine.py").write_text(_COLUMNAR.format(body, kind), encoding="utf-8")
    return f"mine=python:{folder / 'mine.py'}:mine"


def row_by_row(bound: Bound, declared: Any) -> Bound:
    """A plug-in without its form for columns; `declared` is what its factory declares."""
    return replace(bound, function=replace(declared, columns=None))
