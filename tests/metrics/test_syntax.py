"""Distances of structure: parsed sentences, their trees written down by hand."""

from __future__ import annotations

import polars as pl
import pytest
from refusals import refuses

from otherwords.errors import BadInput, Unmeasurable
from otherwords.grammar.tree_distance import LabelledTree as Tree
from otherwords.grammar.tree_distance import tree_distance
from otherwords.pipeline import score
from otherwords.registry import metrics

ACTIVE = "The dog chased the cat."


def answers(*hypotheses: str) -> pl.DataFrame:
    names = [None, *(f"a{number}" for number in range(1, len(hypotheses)))]
    columns = {"gold": ["yes", "no"], "pred": ["yes", "no"], "bucket": ["a", "b"]}
    frame = pl.DataFrame({"bucket": "a", "variant": names, "hypothesis": hypotheses, "gold": "yes", "pred": "yes"})
    other = pl.DataFrame({**{key: column[1:] for key, column in columns.items()}, "hypothesis": ["No."]})
    return pl.concat([frame, other], how="diagonal")


def value(frame: pl.DataFrame, options: str = "") -> float | None:
    pytest.importorskip("spacy")
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
    pytest.importorskip("spacy")
    assert "syntactic_distance.v1(pipeline=" in (signature := metrics.make('syntactic_distance(pipeline="")').signature)
    assert "parser" in signature


def test_levels_below_none_are_refused():
    with refuses(BadInput):
        metrics.make('syntactic_distance(pipeline="", level=-1)')


def test_white_space_is_no_structure():
    assert value(answers(ACTIVE, "  The dog  chased\nthe cat. ")) == 0
    assert value(answers(ACTIVE, " The  cat was chased.\n")) == pytest.approx(3 / 13)


# Constituency trees of a file

TREES = """(ROOT (S (NP (DT The) (NN dog)) (VP (VBD chased) (NP (DT the) (NN cat))) (. .)))

(ROOT (S (NP (DT The) (NN cat)) (VP (VBD was) (VP (VBN chased) (PP (IN by) (NP (DT the) (NN dog))))) (. .)))
(S (`` ``) (NP (PRP It)) (VP (VBZ is) (RB n't)) ('' '') (-LRB- -LRB-) (. .) (-RRB- -RRB-)) (S (VP (VB Go)) (. .))
"""


def by_trees(folder, frame: pl.DataFrame, options: str = "", name: str = "trees.txt") -> float | None:
    if name == "trees.txt":
        (folder / name).write_text(TREES)
    return score(frame, [f"syntactic_distance(trees={folder / name}{options})"], replicates=20)[0].value


def test_constituency_trees_by_hand(tmp_path):
    """Level 3 of the active: S, NP VP . and DT NN VBD NP; of the passive VBD VP in their place: one edit."""
    frame = answers(ACTIVE, "The cat was chased by the dog.")
    assert by_trees(tmp_path, frame) == pytest.approx(1 / 18)
    assert by_trees(tmp_path, frame, ", level=2") == 0
    assert by_trees(tmp_path, frame, ", level=0") == pytest.approx(4 / 26)  # VP, VBN, PP and IN are new
    assert by_trees(tmp_path, answers(ACTIVE, ACTIVE)) == 0


def test_trees_are_found_by_their_words_however_these_are_written(tmp_path):
    assert by_trees(tmp_path, answers(ACTIVE, "\u201cIt isn't\u201d (.) Go.")) > 0.3
    table = pl.DataFrame({"text": [ACTIVE, "A cat."], "tree": [TREES.splitlines()[0], "(NP (DT A) (NN cat))"]})
    table.write_ndjson(tmp_path / "trees.jsonl")
    assert by_trees(tmp_path, answers(ACTIVE, "A cat."), name="trees.jsonl") > 0


def test_texts_without_a_tree_are_named(tmp_path):
    with refuses(Unmeasurable):
        by_trees(tmp_path, answers(ACTIVE, "The cat slept.", "A cow slept."))


@pytest.mark.parametrize("line", ["(S (NP (NN dog))", "(S (NN dog)))", "dog", "(NP (NN dog)) dog", "()"])
def test_what_is_no_tree_is_refused_with_its_line(tmp_path, line):
    (tmp_path / "wrong.txt").write_text(f"(NP (NN cat))\n{line}\n")
    with refuses(BadInput):
        metrics.make(f"syntactic_distance(trees={tmp_path / 'wrong.txt'})")


def test_a_file_that_cannot_have_trees_is_refused(tmp_path):
    (tmp_path / "latin.txt").write_bytes("(NP (NN caf\u00e9))".encode("latin-1"))
    pl.DataFrame({"sentence": ["a"], "tree": ["(NN a)"]}).write_csv(tmp_path / "other.csv")
    for name in ("latin.txt", "other.csv", "none.txt"):
        with refuses(BadInput):
            metrics.make(f"syntactic_distance(trees={tmp_path / name})")
    with refuses(BadInput):
        metrics.make(f"syntactic_distance(pipeline=english, trees={tmp_path / 'none.txt'})")


def test_the_signature_has_the_content_of_the_trees(tmp_path):
    by_trees(tmp_path, answers(ACTIVE, ACTIVE))
    before = metrics.make(f"syntactic_distance(trees={tmp_path / 'trees.txt'})").signature
    (tmp_path / "trees.txt").write_text(TREES + "(NN a)\n")
    assert metrics.make(f"syntactic_distance(trees={tmp_path / 'trees.txt'})").signature != before
