"""Distances of structure: parsed sentences, their trees written down by hand."""

from __future__ import annotations

import polars as pl
import pytest
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.grammar.tree_distance import LabelledTree as Tree
from otherwords.grammar.tree_distance import tree_distance
from otherwords.pipeline import score
from otherwords.registry import metrics

pytest.importorskip("spacy")
ACTIVE = "The dog chased the cat."


def answers(*hypotheses: str) -> pl.DataFrame:
    names = [None, *(f"a{number}" for number in range(1, len(hypotheses)))]
    columns = {"gold": ["yes", "no"], "pred": ["yes", "no"], "bucket": ["a", "b"]}
    frame = pl.DataFrame({"bucket": "a", "variant": names, "hypothesis": hypotheses, "gold": "yes", "pred": "yes"})
    other = pl.DataFrame({**{key: column[1:] for key, column in columns.items()}, "hypothesis": ["No."]})
    return pl.concat([frame, other], how="diagonal")


def value(frame: pl.DataFrame, options: str = "") -> float | None:
    return score(frame, [f'syntactic_distance(pipeline=""{options})'], replicates=20)[0].value


def test_other_words_in_the_same_places_are_no_other_structure():
    assert value(answers("A man eats soup.", "A woman reads books.")) == 0


def test_from_active_to_passive_by_hand():
    """The dog chased the cat. / The cat was chased.

    Two functions become other ones, and an article goes: three edits, of seven nodes and six with those above all.
    """
    the = (Tree("det"),)
    active = Tree("text", (Tree("ROOT", (Tree("nsubj", the), Tree("dobj", the), Tree("punct"))),))
    passive = Tree("text", (Tree("ROOT", (Tree("nsubjpass", the), Tree("auxpass"), Tree("punct"))),))
    assert tree_distance(active, passive) == 3
    assert value(answers(ACTIVE, "The cat was chased.")) == pytest.approx(3 / 13)


def test_the_mean_is_over_variants_and_unchanged_ones_count():
    assert value(answers(ACTIVE, "The cat was chased.", ACTIVE)) == pytest.approx(3 / 26)


def test_only_the_upper_levels_are_compared():
    """An adjective more, on the third level: of seven and eight nodes."""
    frame = answers(ACTIVE, "The dog chased the old cat.")
    assert value(frame) == value(frame, ", level=0") == pytest.approx(1 / 15)
    assert value(frame, ", level=2") == 0


def test_the_signature_has_the_parser():
    assert "syntactic_distance.v1(pipeline=" in (signature := metrics.make('syntactic_distance(pipeline="")').signature)
    assert "parser" in signature


def test_levels_below_none_are_refused():
    with refuses(BadInput):
        metrics.make('syntactic_distance(pipeline="", level=-1)')


def test_white_space_is_no_structure():
    assert value(answers(ACTIVE, "  The dog  chased\nthe cat. ")) == 0
    assert value(answers(ACTIVE, " The  cat was chased.\n")) == pytest.approx(3 / 13)
