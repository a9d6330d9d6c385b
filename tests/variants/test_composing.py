"""Rewritings put together: stretches, synonyms inside and beside them, and what does not go together."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otherwords.grammar.rewriting import Rewriting
from otherwords.variants.composing import Edit, combine, texts_after
from otherwords.variants.structural import Candidate, Rewritten
from otherwords.variants.wordnet import SynonymChanges

TEXT = "A dog chases a cat near a dog."


def rebuilt(text: str, before: str, after: str, how: str = "passive", field: str = "premise") -> Edit:
    one = Rewriting(how, text.index(before), before, after)
    return Edit(how, Candidate(how, [Rewritten(field, one, one.apply(text))]))


def word(text: str, old: str, new: str, field: str = "premise", articles: bool = True) -> Edit:
    """A word replaced everywhere, with "a" before it made "an" where it is asked for."""
    changes: list[dict[str, Any]] = []
    at = text.find(old)
    while at >= 0:
        if articles and new[0] in "aeiou" and text[max(0, at - 2) : at].lower() == "a ":
            a = text[at - 2]
            changes.append({"field": field, "at": at - 2, "from": a, "to": f"{a}n", "pos": "article", "synset": ""})
        changes.append({"field": field, "at": at, "from": old, "to": new, "pos": "noun", "synset": "x.n.01"})
        at = text.find(old, at + 1)
    return Edit("synonym", None, SynonymChanges(new, changes))


def result(text: str, *edits: Edit) -> str | None:
    changes = combine(["premise"], edits)
    return None if changes is None else texts_after({"premise": text}, changes).get("premise", text)


PASSIVE = rebuilt(TEXT, "A dog chases a cat", "A cat is chased by a dog")


@pytest.mark.parametrize(
    ("edits", "after"),
    [
        ([PASSIVE], "A cat is chased by a dog near a dog."),
        ([word(TEXT, "cat", "kitty")], "A dog chases a kitty near a dog."),
        ([PASSIVE, word(TEXT, "cat", "kitty")], "A kitty is chased by a dog near a dog."),
        ([PASSIVE, word(TEXT, "cat", "animal")], "An animal is chased by a dog near a dog."),
        ([word(TEXT, "dog", "hound"), PASSIVE], "A cat is chased by a hound near a hound."),
        ([word(TEXT, "dog", "animal"), PASSIVE], "A cat is chased by an animal near an animal."),
        ([PASSIVE, rebuilt(TEXT, "near a dog", "beside a dog", "beside")], "A cat is chased by a dog beside a dog."),
        ([word(TEXT, "cat", "kitty"), word(TEXT, "dog", "hound")], "A hound chases a kitty near a hound."),
    ],
)
def test_what_goes_together(edits, after):
    assert result(TEXT, *edits) == after


@pytest.mark.parametrize(
    ("edits", "why"),
    [
        ([PASSIVE, rebuilt(TEXT, "a cat near", "near a cat", "order")], "stretches that overlap"),
        ([PASSIVE, word(TEXT, "chases", "pursues")], "a word that the other rewriting changes"),
        ([word(TEXT, "cat", "kitty"), word(TEXT, "cat", "animal")], "a word replaced twice"),
        ([word(TEXT, "cat", "animal"), word(TEXT, "dog", "animal")], "two words that become one"),
        ([rebuilt(TEXT, "cat near a dog", "cat beside a dog"), word(TEXT, "cat", "animal")], "an article left outside"),
    ],
)
def test_what_does_not(edits, why):
    assert combine(["premise"], edits) is None, why


def test_capitals_follow_the_place():
    text = "Cars pass a dog."
    passive = rebuilt(text, "Cars pass a dog", "A dog is passed by cars")
    assert result(text, passive, word(text, "Cars", "Automobiles")) == "A dog is passed by automobiles."


def test_each_field_has_its_own_changes():
    texts = {"premise": TEXT, "hypothesis": "A cat runs."}
    both = (
        word(TEXT, "cat", "kitty").synonym.changes
        + word(texts["hypothesis"], "cat", "kitty", "hypothesis").synonym.changes
    )
    changes = combine(texts, [PASSIVE, Edit("synonym", None, SynonymChanges("kitty", both))])
    assert [change["field"] for change in changes] == ["premise", "hypothesis"]
    assert texts_after(texts, changes) == {
        "premise": "A kitty is chased by a dog near a dog.",
        "hypothesis": "A kitty runs.",
    }


@given(st.permutations([PASSIVE, word(TEXT, "cat", "kitty"), word(TEXT, "dog", "animal")]))
def test_the_order_of_edits_does_not_matter(edits):
    assert result(TEXT, *edits) == "A kitty is chased by an animal near an animal."


def test_one_clause_is_rebuilt_once():
    """Both stretches are free, but the sentence would have two verbs."""
    text = "A stray dog walking in a park."
    there = rebuilt(text, "A stray", "There is a stray", "caption to there")._replace(kind="caption")
    verb = rebuilt(text, "walking", "is walking", "caption to sentence")._replace(kind="caption")
    swap = rebuilt(text, "a park", "one park", "numeral")
    assert result(text, there, verb) is None
    assert result(text, there, swap) == "There is a stray dog walking in one park."
