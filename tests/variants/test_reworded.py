"""reworded.v1: several rewritings at once, what vetoes them, and the laws; composing is tested by itself."""

from __future__ import annotations

import json

import polars as pl
import pytest
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput
from otherwords.grammar.parsing import parser
from otherwords.grammar.rewriting import Rewriting
from otherwords.problem import TASKS, Note, Problem, Variant
from otherwords.registry import generators
from otherwords.variants import reworded as module
from otherwords.variants.composing import Edit
from otherwords.variants.structural import Candidate, Rewritten
from otherwords.variants.wordnet import SynonymChanges

pytest.importorskip("spacy")
SOME = "voice+coordination+contraction"
TEXTS = [
    ("A man chases a dog and a cat.", "A man isn't alone."),
    ("The kids tried to buy a couch.", "The kids don't have a couch."),
    ("It rains.", "It does not rain."),
    ("A woman in a car holds a baby.", "There is no car."),
    ("Nobody was allowed to leave.", "Everybody stayed."),
]


def problem(premise: str, hypothesis: str = "Yes.", name: str = "p") -> Problem:
    return Problem(name, TASKS["nli"], {"premise": premise, "hypothesis": hypothesis}, "neutral", {})


def vary(problems: list[Problem], spec: str, seeds: list[int] | None = None) -> list[Variant]:
    made = generators.make(spec).function(problems, seeds or [1] * len(problems))
    return [one for one in made if not isinstance(one, Note)]


def test_structure_words_and_contractions_are_changed_together():
    [made] = vary([problem("A kid chases a dog.", "He isn't alone.")], "reworded(kinds=all, changes=0)")
    assert made.text == {"premise": "A dog is chased by a child.", "hypothesis": "He is not alone."}
    assert sorted(made.extra["rewriting"].split(" + ")) == ["contraction opened", "passive", "synonym"]
    changes = json.loads(made.extra["changes"])
    assert [(change["field"], change["how"]) for change in changes] == [
        ("premise", "passive"),
        ("hypothesis", "contraction opened"),
    ]
    assert changes[0]["from"] == "A kid chases a dog"


def test_a_word_is_replaced_in_all_texts():
    [made] = vary([problem("A person sits.", "The person isn't alone.")], "reworded(kinds=none)")
    assert made.text == {"premise": "An individual sits.", "hypothesis": "The individual isn't alone."}


@pytest.mark.parametrize("changes", [1, 2, 3])
def test_as_many_changes_as_asked_for(changes):
    [made] = vary([problem("A man chases a kid near a couch.", "He isn't alone.")], f"reworded(changes={changes})")
    assert len(made.extra["rewriting"].split(" + ")) == changes


def test_kinds_that_were_not_measured_are_off():
    one = problem("A man is in a large red car.", "So.")
    how = {made.extra["rewriting"] for made in vary([one], "reworded(n=9, changes=1, domain=genres)")}
    assert "adjective to clause" not in how
    how = {made.extra["rewriting"] for made in vary([one], "reworded(n=9, changes=1, domain=captions)")}
    assert "adjective to clause" in how


def test_one_field_alone():
    [made] = vary([problem("A person sits.", "The person isn't alone.")], "reworded(field=hypothesis, changes=0)")
    assert made.text == {"premise": "A person sits.", "hypothesis": "The individual is not alone."}


def test_variants_of_a_problem_differ_and_the_first_stays_the_first():
    many = vary([problem("A man chases a kid near a couch.", "He isn't alone.")], "reworded(n=5)")
    texts = [tuple(one.text.values()) for one in many]
    assert len(set(texts)) == len(texts) == 5
    [one] = vary([problem("A man chases a kid near a couch.", "He isn't alone.")], "reworded(n=1)")
    assert tuple(one.text.values()) == texts[0]


def test_what_a_problem_gets_does_not_depend_on_the_others():
    some = [problem(*texts, name=str(at)) for at, texts in enumerate(TEXTS)]
    spec, seeds = f"reworded(n=2, kinds={SOME})", list(range(len(TEXTS)))
    together = vary(some, spec, seeds)
    alone = [made for one, seed in zip(some, seeds, strict=True) for made in vary([one], spec, [seed])]
    assert together == alone != []


def test_the_seed_decides():
    text = problem("A man, a kid, a lawyer and a doctor buy a couch.", "It isn't a car.")
    made = [vary([text], "reworded", [seed])[0].text["premise"] for seed in range(12)]
    assert len(set(made)) > 3
    assert vary([text], "reworded", [3]) == vary([text], "reworded", [3])


def test_the_checks_keep_what_it_makes():
    rows = [
        {"id": str(at), "premise": premise, "hypothesis": hypothesis, "label": "neutral"}
        for at, (premise, hypothesis) in enumerate(TEXTS)
    ]
    problems = ow.load(rows)
    variants = ow.vary(problems, [f"reworded(n=3, kinds={SOME})"])
    assert variants.height > len(TEXTS)
    checked = ow.check(pl.concat([problems, variants], how="diagonal"), ["label-safety", "roles"])
    for name in ("label-safety", "roles"):
        assert checked.filter(pl.col("of").is_not_null())[f"check:{name}"].all()


def test_a_veto_leaves_fewer_rewritings(monkeypatch):
    """Whatever has two rewritings is vetoed here, so that one is left."""

    def vetoes(ready, parse):
        return [module._ROLES if len(plan) > 1 else "" for _, plan in ready]

    monkeypatch.setattr(module, "_vetoes", vetoes)
    made = list(generators.make("reworded(kinds=voice)").function([problem("A kid chases a dog.")], [1]))
    variants = [one for one in made if not isinstance(one, Note)]
    assert [one.extra["rewriting"] for one in variants] in (["passive"], ["synonym"])
    assert [note.what for note in made if isinstance(note, Note)] == [module._ROLES]


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        ("A dog barks.", "A dog doesn't bark.", True),
        ("Two dogs bark.", "Three dogs bark.", True),
        ("It is hot.", "It is cold.", True),
        ("He isn't there.", "He is not there.", False),
        ("A man sits.", "An adult male sits.", False),
    ],
)
def test_changes_of_what_carries_the_label_are_seen(before, after, lost):
    assert module._change_label(before, after) is lost


@pytest.mark.parametrize(
    ("text", "kept"),
    [('The word "although" has three syllables.', '"although"'),
     ("He read 'Stop all the clocks' to the kids.", "'Stop all the clocks'"),
     ("The password is “two dogs next to a couch”.", "“two dogs next to a couch”")],
)  # fmt: skip
def test_titles_signs_and_words_that_are_spoken_of_stay_as_they_are(text, kept):
    for spec in ("reworded(kinds=all, n=4)", "structural.v2(kinds=all, n=0)", "wordnet.v2(n=3)"):
        assert all(kept in one.text["premise"] for one in vary([problem(text)], spec)), spec
    assert vary([problem('"Nobody was here," he said.')], "reworded(kinds=all)")


def test_empty_and_foreign_texts_have_no_variants():
    assert vary([problem("", " ")], "reworded(kinds=all)") == []
    german = problem("Ein Mann sitzt auf dem Sofa und liest eine Zeitung.", "Der Mann liest nicht gern.")
    with pytest.warns(UserWarning, match="other than English|language"):
        assert vary([german], "reworded(kinds=all)") == []


def test_a_text_that_is_too_long_is_left_as_it_is_and_noted():
    """It was left out without a word."""
    long = "A man isn't alone. " * 1_200
    made = list(generators.make("reworded(kinds=all)").function([problem(long, "He isn't here.")], [1]))
    assert [one.what for one in made if isinstance(one, Note)] == ["not parsed: longer than 20,000 letters"]
    [variant] = [one for one in made if not isinstance(one, Note)]
    assert variant.text == {"premise": long, "hypothesis": "He is not here."}


def test_fluency_chooses_among_drafts():
    text = problem("A man chases a kid near a couch.", "He isn't alone.")
    drafts = [one.text for one in vary([text], "reworded(n=3)")]
    bound = generators.make("reworded(fluency=mlm-small)")
    [best] = [one for one in bound.function([text], [1]) if not isinstance(one, Note)]
    assert best.text in drafts
    assert "mlm-small.v1" in bound.signature
    assert "fluency" not in bound.signature.partition("#")[0]


@pytest.mark.parametrize("options", ["n=0", "changes=-1", "kinds=passive", "kinds=renaming", "domain=poems"])
def test_bad_options(options):
    with refuses(BadInput, where="reworded.v1", field=options.partition("=")[0]):
        vary([problem("A car is here.")], f"reworded({options})")


def test_no_variant_is_made_twice():
    """An abbreviation and a synonym may lead to the same text."""
    made = vary([problem("He watches TV.")], "reworded(n=5, kinds=all, changes=1)")
    assert [one.text["premise"] for one in made].count("He watches television.") == 1


def test_a_text_that_another_problem_is_parsed_for_changes_nothing():
    """The synonym of one problem makes the text of another, whose new structure is parsed."""
    passive = Rewriting("passive", 0, "A dog chases a cat", "A cat is chased by a dog")
    rebuilt = Edit("voice", Candidate("voice", [Rewritten("premise", passive, "A cat is chased by a dog.")]))
    change = {"field": "premise", "at": 2, "from": "hound", "to": "dog", "pos": "noun", "synset": "dog.n.01"}
    synonym = Edit("synonym", None, SynonymChanges("dog", [change]))
    works = [
        (module._Work({"premise": text}, [edit], 1, 1), [edit])
        for text, edit in (("A dog chases a cat.", rebuilt), ("A hound chases a cat.", synonym))
    ]
    assert module._vetoes(works, parser("")) == ["", ""]
