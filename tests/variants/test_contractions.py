from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.problem import TASKS, Problem
from otherwords.registry import generators
from otherwords.variants.contractions import closed, opened


def vary(spec, *problems):
    return list(generators.make(spec).function(problems, [0] * len(problems)))


def problem(premise, hypothesis="Fine.", task="nli", **text):
    texts = {"premise": premise, "hypothesis": hypothesis, **text}
    return Problem("p", TASKS[task], texts, TASKS[task].labels[0], {"topic": "t"})


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("It isn't late.", "It is not late."),
        ("They don't and won't go.", "They do not and will not go."),
        ("I can't see.", "I cannot see."),
        (
            "We'll wait; I'm here; you're there; they've gone.",
            "We will wait; I am here; you are there; they have gone.",
        ),
        ("Don't go!", "Do not go!"),
        ("He shan't.", "He shall not."),
        ("It mightn't, it needn't, it mustn't.", "It might not, it need not, it must not."),
        ("(isn't)", "(is not)"),
        ("Wouldn't help.", "Would not help."),
        ("It ISN'T here, I'M here.", "It IS NOT here, I AM here."),
        ("People who don't know.", "People who do not know."),
        ("You don't know?", "You do not know?"),
    ],
)
def test_opened(short, long):
    assert opened(short) == long


@pytest.mark.parametrize(
    "text",
    [
        "It is late.",
        "Isn't it?",
        "Can't you stay?",
        "Why don't the police test it?",
        "I wonder why don't people ask.",
        "Isn't the man here?",
        "Didn't Bob come.",
        "What didn't the man see?",
        "It's his; he'd go.",  # is or has, had or would: nobody knows
        "The dog's bone isn'thing.",
        "Oisn't.",
        "",
    ],
)
def test_left_alone(text):
    assert opened(text) == text


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("He does not know.", "He doesn't know."),
        ("Do not go, I cannot stay and will not.", "Don't go, I can't stay and won't."),
        ("Is not is not.", "Isn't isn't."),
        ("It must not, need not, might not, shall not.", "It must not, need not, might not, shall not."),
        ("This notion, whatnot.", "This notion, whatnot."),
        ("IT IS NOT HERE.", "IT ISN'T HERE."),
        ("To have not seen it.", "To have not seen it."),
        ("He should have not gone, I may have not noticed.", "He should have not gone, I may have not noticed."),
    ],
)
def test_closed(long, short):
    assert closed(long) == short


@given(st.text(), st.sampled_from(["isn't", "Don't", "we'll", "CAN'T", "they've", "does not"]), st.text())
def test_laws(before, word, after):
    text = f"{before} {word} {after}"
    assert opened(opened(text)) == opened(text)
    assert closed(closed(text)) == closed(text)


def test_every_target_in_its_own_variant():
    one = problem("It isn't wet.", "It does not rain.")
    assert [variant.text for variant in vary("contractions", one)] == [
        {"premise": "It is not wet.", "hypothesis": "It does not rain."},
        {"premise": "It isn't wet.", "hypothesis": "It doesn't rain."},
    ]
    assert all(
        (v.of, v.label, v.extra, v.id) == ("p", "entailment", {"topic": "t"}, "") for v in vary("contractions", one)
    )


def test_where_there_is_one_to_open_none_is_closed():
    (variant,) = vary("contractions", problem("It isn't wet and is not dry."))
    assert variant.text["premise"] == "It is not wet and is not dry."


def test_one_field_alone():
    one = problem("It isn't wet.", "It isn't dry.")
    assert [variant.text["premise"] for variant in vary("contractions(field=hypothesis)", one)] == ["It isn't wet."]
    assert vary("contractions:premise", one)[0].text["hypothesis"] == "It isn't dry."


def test_targets_only():
    one = problem("It isn't wet.", "It isn't dry.", "d-nli", update="It doesn't rain.")
    assert [variant.text["update"] for variant in vary("contractions", one)] == ["It does not rain."]


def test_no_contraction_no_variant():
    assert vary("contractions", problem("It rains."), problem("It snows.")) == []


def test_no_such_field():
    with refuses(BadInput):
        vary("contractions(field=update)", problem("It isn't."))


def test_the_work_grows_with_the_length_of_a_text_not_with_its_square():
    """Two megabytes without a full stop: the end of the sentence is not looked for at each contraction anew."""
    assert opened("it isn't late and " * 110_000) == "it is not late and " * 110_000
    assert closed("it is not late and " * 110_000) == "it isn't late and " * 110_000


@pytest.mark.parametrize("text", ["He doeſ not know.", "It ıſn't so.", "It iſn’t."])
def test_letters_that_case_only_resembles_are_left_alone(text):
    """Python's expressions take a long s for an s; no contraction is written with it."""
    assert opened(text) == closed(text) == text
