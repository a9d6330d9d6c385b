"""Other names in all texts of a problem: which names are replaced, and that every text has the new one."""

from __future__ import annotations

from random import Random

import pytest

pytest.importorskip("spacy")

from otherwords.grammar.parsing import parser
from otherwords.grammar.renaming import NAMES, renamings

RENAMED = [
    ("Anna bought a car.", "Anna has a car.", {"Anna"}),
    ("Tom called Susan.", "Susan called Tom.", {"Tom", "Susan"}),
    ("Kevin's dog is old.", "The dog of Kevin is old.", {"Kevin"}),
    ("Anna moved to Leeds.", "Anna lives in Leeds.", {"Anna", "Leeds"}),
]
KEPT = {
    ("Anna Smith left.", "Anna left."): "a surname",
    ("Dr. Peter left.", "Peter left."): "a title",
    ("Tom left.", "Tommy left."): "a form of the same name",
    ("Jon left.", "John left."): "a spelling of the same name",
    ("Tom and Jerry fought.", "Tom fought."): "a pair",
    ("Anna left.", "A woman left."): "named once",
    ("Peter's name has five letters.", "Peter has a name."): "the name itself",
    ("Robert le Lorrain made it.", "Robert made it."): "more of a name",
    ("He moved to Leeds in England.", "He lives in Leeds."): "another place",
    ("Leeds is large.", "Leeds is small."): "something of the town",
    ("He moved north to Leeds.", "He moved to Leeds."): "where the town is",
    ("Madonna sang.", "Madonna sang a song."): "famous",
}


def found(premise: str, hypothesis: str, seed: int = 1):
    texts = {"premise": premise, "hypothesis": hypothesis}
    nodes = dict(zip(texts, parser()(texts.values()), strict=True))
    return texts, list(renamings(texts, nodes, Random(seed)))


@pytest.mark.parametrize(("premise", "hypothesis", "names"), RENAMED)
def test_a_name_changes_everywhere(premise, hypothesis, names):
    texts, some = found(premise, hypothesis)
    assert {one.old for one in some} == names
    for one in some:
        new = one.apply(texts)
        assert all(one.old not in text for text in new.values())
        assert {field: text.replace(one.new, one.old) for field, text in new.items()} == texts
        assert any({one.old, one.new} <= group for group in NAMES)


@pytest.mark.parametrize("texts", [pytest.param(texts, id=f"{texts[0]} ({why})") for texts, why in KEPT.items()])
def test_a_name_stays(texts):
    assert found(*texts)[1] == []


def test_the_seed_draws_the_name():
    names = {found("Anna sat.", "Anna slept.", seed)[1][0].new for seed in range(9)}
    assert len(names) > 3
    assert found("Anna sat.", "Anna slept.", 3) == found("Anna sat.", "Anna slept.", 3)


def test_no_name_is_in_two_groups():
    assert sum(len(group) for group in NAMES) == len(frozenset().union(*NAMES))
