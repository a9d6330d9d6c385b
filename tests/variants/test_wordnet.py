"""wordnet.v1 on sentences by hand: one for every rule, the laws, and options that make no sense."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from examples import at_most
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput
from otherwords.problem import TASKS, Problem, Variant
from otherwords.registry import generators

pytest.importorskip("spacy")
DATA = Path(__file__).parents[2].parent / "shared" / "data"


def nli(premise: str, hypothesis: str = "Yes.", name: str = "p") -> Problem:
    return Problem(name, TASKS["nli"], {"premise": premise, "hypothesis": hypothesis}, "neutral", {"topic": "t"})


def vary(problem: Problem, spec: str = "wordnet.v1(changes=0)", seed: int = 1) -> list[Variant]:
    return list(generators.make(spec).function([problem], [seed]))


def reworded(premise: str, hypothesis: str = "Yes.", spec: str = "wordnet.v1(changes=0)") -> tuple[str, str]:
    """The first variant's texts, or the original's where there is none."""
    made = vary(nli(premise, hypothesis), spec)
    return (made[0].text["premise"], made[0].text["hypothesis"]) if made else (premise, hypothesis)


@pytest.mark.parametrize(
    ("before", "after", "pos"),
    [
        # number and case
        ("Two men see the man.", "Two adult males see the adult male.", "noun"),
        ("Cars are near the car.", "Automobiles are near the automobile.", "noun"),
        ("THE CARS ARE A CAR.", "THE AUTOMOBILES ARE AN AUTOMOBILE.", "noun"),
        ("The man's car is red.", "The adult male's automobile is red.", "noun"),
        # a and an, only right before the word
        ("A car is on a red road.", "An automobile is on a red road.", "noun"),
        ("There is an infant here.", "There is a baby here.", "noun"),
        ("There is a red car here.", "There is a red automobile here.", "noun"),
        ("A  car\n\nis on a\u00a0car.", "An  automobile\n\nis on an\u00a0automobile.", "noun"),
        ("There is a huge ant.", "There is an immense ant.", "adjective"),
        # tense
        ("He buys a house.", "He purchases a house.", "verb"),
        ("He bought a house.", "He purchased a house.", "verb"),
        ("He is buying a house.", "He is purchasing a house.", "verb"),
        ("He has bought a house.", "He has purchased a house.", "verb"),
        # degree
        ("This is the biggest house.", "This is the largest house.", "adjective"),
        ("It is the largest of all.", "It is the biggest of all.", "adjective"),
        # adverbs
        ("They are playing outside.", "They are playing outdoors.", "adverb"),
        # always written in capitals
        ("She watches TV.", "She watches television.", "noun"),
    ],
)
def test_the_form_is_kept(before, after, pos):
    assert reworded(before, spec=f"wordnet.v1(changes=0, pos={pos})")[0] == after


@pytest.mark.parametrize(
    ("text", "pos", "why"),
    [
        ("He works for Car Store in Boston.", "noun", "names"),
        ("It is a car park.", "noun", "expressions of WordNet"),
        ("A car crash was there.", "noun", "a noun before a noun"),
        ("It is a man-made lake.", "noun", "hyphens"),
        ('He wrote "car" there.', "noun", "quoted words"),
        ("The glasses are there.", "noun", "plurals that are words of their own"),
        ("The bike is there.", "noun", "no sense is dominant"),
        ("It was one of a couple, or a dozen.", "noun", "words that count"),
        ("He has done it, and is having it.", "verb", "auxiliaries and light verbs"),
        ("She picked it up.", "verb", "verbs with particles"),
        ("There is a red and blue one.", "adjective", "colours"),
        ("Many others are not all the same.", "all", "quantifiers and negations"),
        ("He is outside the town.", "adverb", "a preposition"),
        ("The cat was chased there.", "verb", "an expression in the passive: gone after by"),
        ("It was a touching and tiring day.", "adjective", "participles"),
        ("It is the children's.", "noun", "another possessive: kids'"),
        ("It is the boys' own.", "noun", "another possessive: male children's"),
        ("His father is there.", "noun", "an expression after a possessive: his male parent"),
    ],
)
def test_what_stays(text, pos, why):
    assert vary(nli(text), f"wordnet.v1(changes=0, pos={pos})") == [], why


def test_a_word_is_replaced_everywhere_alike():
    assert reworded("A man in a car is there.", "Two men have cars, and the man sees a car.") == (
        "An adult male in an automobile is there.",
        "Two adult males have automobiles, and the adult male sees an automobile.",
    )


def test_a_word_that_must_stay_somewhere_stays_everywhere():
    assert reworded("A car is near the boy.", 'It says "car" there.')[0] == "A car is near the male child."


@pytest.mark.parametrize("other", ["An automobile is here.", "There were many automobiles."])
def test_a_synonym_that_is_there_already_is_none(other):
    assert vary(nli("A car is here.", other)) == []


def test_a_synonym_in_a_field_that_stays_counts_too():
    task = TASKS["d-nli"]
    text = {"premise": "An automobile is here.", "hypothesis": "It is fast.", "update": "The car is red."}
    assert vary(Problem("d", task, text, "weakener")) == []
    [made] = vary(Problem("d", task, {**text, "premise": ""}, "weakener"))
    assert made.text == {"premise": "", "hypothesis": "It is fast.", "update": "The automobile is red."}


def test_two_words_do_not_become_one():
    made = vary(nli("The auto is near the car.", "Yes."), "wordnet.v1(changes=0, n=9)")
    for variant in made:
        changed = [one["to"].lower() for one in json.loads(variant.extra["changes"])]
        assert len(set(changed)) == len(changed)


def test_a_word_in_two_parts_of_speech_stays():
    assert vary(nli("They attempt it.", "It was an attempt."), "wordnet.v1(pos=noun+verb, changes=0)") == []


def test_changes_can_be_traced():
    [made] = vary(nli("A car stops.", "Cars!"), "wordnet.v1")
    assert json.loads(made.extra["changes"]) == [
        {"field": "premise", "at": 0, "from": "A", "to": "An", "synset": "", "pos": "article"},
        {"field": "premise", "at": 2, "from": "car", "to": "automobile", "synset": "car.n.01", "pos": "noun"},
        {"field": "hypothesis", "at": 0, "from": "Cars", "to": "Automobiles", "synset": "car.n.01", "pos": "noun"},
    ]
    assert made.extra["topic"] == "t"
    assert made.label == "neutral"


def test_several_variants_take_other_words_first():
    made = vary(nli("A man, a car, a couch and a baby are there."), "wordnet.v1(n=9)")
    assert {variant.text["premise"] for variant in made} == {
        "An adult male, a car, a couch and a baby are there.",
        "A man, an automobile, a couch and a baby are there.",
        "A man, a car, a sofa and a baby are there.",
        "A man, a car, a couch and an infant are there.",
    }


@pytest.mark.parametrize(("changes", "expected"), [(1, 1), (2, 2), (9, 4), (0, 4)])
def test_as_many_words_change_as_are_asked_for(changes, expected):
    [made] = vary(nli("A man, a car, a couch and a baby are there."), f"wordnet.v1(changes={changes})")
    result = [one for one in json.loads(made.extra["changes"]) if one["pos"] != "article"]
    assert len(result) == expected


def test_the_seed_decides_which():
    problem = nli("A man, a car, a couch and a baby are there.")
    assert len({vary(problem, "wordnet.v1", seed)[0].text["premise"] for seed in range(20)}) == 4
    assert vary(problem, "wordnet.v1", 7) == vary(problem, "wordnet.v1", 7)


def test_one_field_alone():
    assert reworded("A car is here.", "A car is there.", 'wordnet.v1(field="hypothesis")') == (
        "A car is here.",
        "An automobile is there.",
    )


def test_words_around_choose_the_sense():
    text = "She moves the pedals of the bike with her foot."
    assert vary(nli(text)) == []
    assert reworded(text, spec="wordnet.v1(senses=context)")[0] == "She moves the pedals of the bicycle with her foot."


def test_a_veto_is_obeyed(tmp_path):
    (tmp_path / "veto.txt").write_text("# words that stay\nCar\n", encoding="utf-8")
    assert reworded("A man has a car.", spec=f"wordnet.v1(changes=0, veto={tmp_path / 'veto.txt'})")[0] == (
        "An adult male has a car."
    )


@pytest.mark.parametrize(
    "options",
    [
        "pos=nouns",
        "pos=noun+pronoun",
        "n=0",
        "changes=-1",
        "senses=often",
        "dominance=2",
        "veto=nowhere.txt",
        "pipeline=xx_none",
    ],
)
def test_bad_options(options):
    with refuses(BadInput):
        vary(nli("A car is here."), f"wordnet.v1({options})")


def test_an_unknown_field():
    with refuses(BadInput):
        vary(nli("A car is here."), "wordnet.v1(field=update)")


SOME = "A an the man Men car CARS couch child kids large buys outside ice cream , . not two Boston man-made ’s Zoë"
WORDS = st.sampled_from([*SOME.split(" "), '"', "  ", ""])
TEXTS = st.lists(WORDS, max_size=10).map(" ".join)
SLOW = settings(max_examples=at_most(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])


@SLOW
@given(TEXTS, TEXTS, st.integers(0, 2**32), st.integers(0, 3), st.integers(1, 4))
def test_laws(premise, hypothesis, seed, changes, n):
    problem = nli(premise, hypothesis)
    made = vary(problem, f"wordnet.v1(pos=all, n={n}, changes={changes})", seed)
    texts = [tuple(variant.text.values()) for variant in made]
    assert len(texts) <= n
    assert len({*texts, (premise, hypothesis)}) == len(texts) + 1  # distinct, and none is the original
    for variant in made:
        assert undone(variant) == problem.text
        changed = [one for one in json.loads(variant.extra["changes"]) if one["pos"] != "article"]
        assert changed
        assert len({one["synset"] for one in changed}) <= (changes or len(changed))


def undone(variant: Variant) -> dict[str, str]:
    """The original's texts, from a variant and the changes that it tells of, the last of which is undone first."""
    texts = dict(variant.text)
    result = json.loads(variant.extra["changes"])
    for name in texts:
        own = [one for one in result if one["field"] == name]
        for number in reversed(range(len(own))):
            one = own[number]
            start = one["at"] + sum(len(other["to"]) - len(other["from"]) for other in own[:number])
            end = start + len(one["to"])
            assert texts[name][start:end] == one["to"]
            texts[name] = texts[name][:start] + one["from"] + texts[name][end:]
    return texts


@pytest.mark.parametrize("count", [60, pytest.param(300, marks=pytest.mark.slow)])
def test_on_snli(count):
    """Two thirds of the problems change, and never into a word that already exists (development set)."""
    path = DATA / "ie_test" / "nli_data.parquet"
    if not path.exists():
        pytest.skip("needs shared/data/ie_test/nli_data.parquet")
    chosen = (pl.col("dataset") == "snli") & (pl.col("split") == "dev") & (pl.col("label") != "-")
    rows = pl.scan_parquet(path).filter(chosen).collect().sample(count, seed=3).rows(named=True)
    some = [nli(row["premise"], row["hypothesis"], str(row["i"])) for row in rows]
    made = {variant.of: variant for variant in generators.make("wordnet.v1").function(some, range(count))}
    assert 0.6 <= len(made) / count <= 0.75
    for problem in some:
        there = " ".join(problem.text.values()).lower().split()
        for one in json.loads(made[problem.id].extra["changes"]) if problem.id in made else []:
            assert one["pos"] == "article" or one["to"].lower() not in there


def test_a_veto_holds_for_the_form_as_written(tmp_path):
    veto = tmp_path / "veto.txt"
    veto.write_text("men\n", encoding="utf-8")
    rows = {"id": ["p"], "of": [None], "how": [None], "premise": ["Two men play chess."], "hypothesis": ["A man sits."]}
    frame = pl.DataFrame({**rows, "label": ["neutral"], "cluster": ["c"]})
    assert ow.vary(frame, [f"wordnet.v1(veto={veto})"]).height == 0  # alike everywhere, or not at all
    veto.write_text("women\n", encoding="utf-8")
    assert ow.vary(frame, [f"wordnet.v1(veto={veto})"])["premise"].to_list() == ["Two adult males play chess."]


@pytest.mark.parametrize(("changes", "possible"), [(1, 4), (2, 6), (3, 4), (0, 1)])
def test_all_choices_are_drawn_before_it_gives_up(changes, possible):
    rows = {"id": ["p"], "of": [None], "how": [None], "label": ["neutral"], "cluster": ["c"], "hypothesis": ["So."]}
    frame = pl.DataFrame({**rows, "premise": ["A man, a car, a child and a couch."]})
    made = ow.vary(frame, [f"wordnet.v1(n=20, changes={changes})"])
    assert made.height == made["premise"].n_unique() >= possible
