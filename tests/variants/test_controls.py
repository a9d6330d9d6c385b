"""What the controls must do: nothing (identity), nothing that matters (tautology), harm (scramble)."""

from __future__ import annotations

import json
import re
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput
from otherwords.problem import TASKS, Problem
from otherwords.registry import generators
from otherwords.variants.controls import extended, scrambled

DOGS = "Two large DOGS chase dogs."


def problem(premise=DOGS, hypothesis="Dogs run after 24 others.", task="nli", **text):
    texts = {"premise": premise, "hypothesis": hypothesis, **text}
    texts = {name: texts[name] for name in TASKS[task].fields}
    return Problem("p", TASKS[task], texts, TASKS[task].labels[0], {"topic": "t"})


def story(hyp1="She slept.", hyp2="She ran off!"):
    return problem(task="a-nli", obs1="I had a dog.", obs2="He was back.", hyp1=hyp1, hyp2=hyp2)


def vary(spec, *problems, seed=7):
    return list(generators.make(spec).function(problems, [seed] * len(problems)))


def test_identity_repeats_every_problem_once():
    problems = [
        Problem(f"p{i}", TASKS["nli"], {"premise": f"P{i}", "hypothesis": "H"}, "neutral", {"n": i}) for i in (1, 2)
    ]
    variants = list(generators.make("identity").function(problems, [0, 1]))
    assert [(v.of, v.text, v.label, v.extra) for v in variants] == [(p.id, p.text, p.label, p.extra) for p in problems]


@pytest.mark.parametrize(
    ("text", "longer"),
    [
        ("A dog sleeps.", "A dog sleeps and true is true."),
        ("A dog sleeps .", "A dog sleeps and true is true ."),
        ("A dog sleeps", "A dog sleeps and true is true"),
        ("Does it?! ", "Does it and true is true?! "),
        ("He waits…", "He waits and true is true…"),
        ('He said "no."', 'He said "no." and true is true'),  # not inside what was said
        ("Mr. Lee sleeps.", "Mr. Lee sleeps and true is true."),
        ("Two lines.\n", "Two lines and true is true.\n"),
        ("", ""),
        (" ?", " ?"),
        ("… .", "… ."),
    ],
)
def test_the_tautology_stands_before_the_final_stop(text, longer):
    assert extended(text) == longer


@given(st.text(), st.integers(1, 6))
def test_the_tautology_only_adds(text, times):
    longer = extended(text, times)
    assert longer.replace(" and true is true", "", times) == text or " and true is true" in text
    assert len(longer) - len(text) in (0, 17 * times)
    assert (longer == text) is (not re.search(r"\w", text))


def test_the_tautology_goes_to_the_hypothesis_by_default():
    one = problem()
    (plain,) = vary("tautology", one)
    assert plain.text == {**one.text, "hypothesis": "Dogs run after 24 others and true is true."}
    assert (plain.label, plain.extra, plain.of) == (one.label, one.extra, "p")
    (long,) = vary("tautology(field=premise, times=5)", one)  # Naik et al.'s test of length
    assert long.text == {**one.text, "premise": f"Two large DOGS chase dogs{' and true is true' * 5}."}


def test_the_tautology_goes_to_the_targets_where_the_hypothesis_is_none():
    (both,) = vary("tautology", story())
    assert (both.text["hyp1"], both.text["hyp2"]) == (
        "She slept and true is true.",
        "She ran off and true is true!",
    )
    assert (both.text["obs1"], both.text["obs2"]) == ("I had a dog.", "He was back.")
    (update,) = vary("tautology", problem(task="d-nli", update="It rains."))
    assert update.text == {"premise": DOGS, "hypothesis": "Dogs run after 24 others.", "update": update.text["update"]}
    assert update.text["update"] == "It rains and true is true."


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Who sleeps?", "a question"),
        ('He asks: "Who sleeps?"', "a question"),
        ("Ann thinks a dog sleeps.", "what somebody believes or says"),
        ("It rains. The judge said he was guilty.", "what somebody believes or says"),
        ("Bill has shown that athletes are smart.", "what somebody believes or says"),
        ("They are waiting to see if it rains.", "what somebody believes or says"),
    ],
)
def test_no_tautology_within_a_question_or_an_attitude(text, why):
    [note] = vary("tautology.v2", problem(hypothesis=text))
    assert (note.what, dict(note.about)) == (f"left out: it would become part of {why}", {"field": "hypothesis"})
    [made] = vary("tautology.v1", problem(hypothesis=text))
    assert " and true is true" in made.text["hypothesis"]


@pytest.mark.parametrize(
    "text",
    ["A dog sleeps.", "Who knows? It rains.", "Ann said it. A dog sleeps.", "She was never on that track before."],
)
def test_other_texts_get_the_tautology(text):
    [made] = vary("tautology.v2", problem(hypothesis=text))
    assert made.text["hypothesis"] == text[:-1] + " and true is true."


def test_an_absent_premise_gets_no_tautology():
    assert vary("tautology(field=premise)", problem("", task="d-nli", update="It rains.")) == []


@pytest.mark.parametrize("spec", ["tautology(field=update)", "scramble(field=update)"])
def test_a_field_that_the_task_lacks(spec):
    with refuses(BadInput):
        vary(spec, problem())


@pytest.mark.parametrize(
    "spec",
    [
        "tautology(times=0)",
        "scramble(words=-1)",
    ],
)
def test_numbers_that_make_no_sense(spec):
    with refuses(BadInput):
        generators.make(spec)


def test_one_word_is_scrambled_wherever_it_occurs():
    (variant,) = vary("scramble", problem("Two DOGS of 1999 see dogs.", "Dogs and others run."))
    changes = json.loads(variant.extra["changes"])
    assert [change["field"] for change in changes] == ["premise", "premise", "hypothesis"]
    assert [change["from"] for change in changes] == ["DOGS", "dogs", "Dogs"]
    first, second, third = (change["to"] for change in changes)
    assert (first, third) == (second.upper(), second.capitalize())
    assert sorted(second) == sorted("dogs")
    assert second != "dogs"
    assert variant.text == {"premise": f"Two {first} of 1999 see {second}.", "hypothesis": f"{third} and others run."}
    assert (variant.extra["topic"], variant.label) == ("t", "entailment")


def test_all_words_or_some():
    one = problem("Large yellow butterflies landed.", "Somewhere people danced.")
    able = {"large", "yellow", "butterflies", "landed", "somewhere", "people", "danced"}
    for words in (0, 1, 3, 7, 50):
        (variant,) = vary(f"scramble(words={words})", one)
        changed = {change["from"].lower() for change in json.loads(variant.extra["changes"])}
        assert len(changed) == min(words or 50, len(able))
        assert changed <= able


def test_the_seed_decides():
    one = problem("Large yellow butterflies landed.", "Somewhere people danced.")
    assert vary("scramble", one, seed=1) == vary("scramble", one, seed=1)
    assert len({str(vary("scramble", one, seed=seed)) for seed in range(20)}) > 10


@pytest.mark.parametrize(
    "text",
    [
        "A man is in it.",  # too short
        "These would never have been there without them.",  # no content
        "They couldn't, we shouldn’t, it wasn't.",
        "In 2019 route66 was 5000.",  # numbers
        "aaaa oooo",  # no other order
        "snake_case cafe\u0301",  # no words of letters alone
        "",
    ],
)
def test_what_is_left_alone(text):
    assert vary("scramble(words=0, field=premise)", problem(text)) == []


def test_with_inner_the_ends_keep_their_places():
    (variant,) = vary("scramble(words=0, inner=true)", problem("Researchers abba noon.", "Deeper water."))
    for change in json.loads(variant.extra["changes"]):
        assert (change["to"][0], change["to"][-1]) == (change["from"][0], change["from"][-1])
    assert " abba noon." in variant.text["premise"]  # "bb" and "oo" have but one order


def test_one_field_alone_is_scrambled():
    (variant,) = vary("scramble(words=0, field=hypothesis)", problem("Dogs chase.", "Dogs chase."))
    assert variant.text["premise"] == "Dogs chase." != variant.text["hypothesis"]


@given(st.text("abcdeéüAB", min_size=1, max_size=9), st.integers(0, 99), st.booleans())
def test_laws_of_scrambled_words(word, seed, inner):
    word = word.lower()
    new = scrambled(word, Random(seed), inner)
    assert Counter(new) == Counter(word)
    assert (new == word) is (len(set(word[1:-1] if inner else word)) < 2)
    assert new == scrambled(word, Random(seed), inner)
    if inner:
        assert (new[0], new[-1]) == (word[0], word[-1])


@given(st.text("abcdeéüABÉ .,'5_\u0301", max_size=60), st.integers(0, 3), st.booleans(), st.integers(0, 99))
def test_laws_of_scrambled_texts(text, words, inner, seed):
    """Same length, same letters, same capitals in the same places, all that is no letter untouched."""
    spec = f"scramble(words={words}, inner={str(inner).lower()})"
    for variant in vary(spec, problem(text, "Dogs chase cats."), seed=seed):
        for name, before in {"premise": text, "hypothesis": "Dogs chase cats."}.items():
            after = variant.text[name]
            assert len(after) == len(before)
            assert Counter(after.lower()) == Counter(before.lower())
            for old, new in zip(before, after, strict=True):
                assert (old.isupper(), old.isalpha()) == (new.isupper(), new.isalpha())
                assert old == new or old.isalpha()
        pairs = {(change["from"].lower(), change["to"].lower()) for change in json.loads(variant.extra["changes"])}
        assert len({old for old, _ in pairs}) == len(pairs)  # a word becomes the same wherever it stands
        assert all(old != new for old, new in pairs)


def test_the_bundled_problems_all_have_words_to_scramble():
    frame = ow.load("everyday(split=all)")
    for spec in ("scramble", "tautology.v1"):
        variants = ow.vary(frame, [spec])
        assert variants["of"].to_list() == frame["id"].to_list()
    assert "changes" in ow.vary(frame, ["scramble"]).columns
