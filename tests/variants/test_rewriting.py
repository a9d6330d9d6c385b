"""What becomes of what a model writes: sentences freed of what surrounds them, and all that is none told apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otherwords.language_models.writer import CUT_OFF, WITHHELD, Draft
from otherwords.problem import TASKS, Problem
from otherwords.variants.back_translation import _defect
from otherwords.variants.rewriting import (
    DraftFilter,
    RewriteJob,
    comparable,
    extract_sentence,
    repeats_itself,
    starts_prompt,
)

SOURCE = "A dog runs in the park."
PROMPT = f"Rephrase the following sentence while preserving its original meaning: {SOURCE}"
WANTED = "In the park, a dog runs."


@pytest.mark.parametrize(
    "written",
    [
        WANTED,
        f"  {WANTED}\n",
        f"{PROMPT}\n{WANTED}",
        f"{PROMPT} {WANTED}",
        f'"{WANTED}"',
        f"“{WANTED}”",
        f"Rephrased: {WANTED}",
        f"Here is a rephrased version of the sentence:\n\n{WANTED}",
        f'Sure! Here\'s the paraphrase: "{WANTED}"',
        f"1. {WANTED}\n2. A dog is running.",
        f"- {WANTED}",
        f"**{WANTED}**".replace("**", "*"),
        f"{WANTED}\n\nThis keeps the original meaning.",
        "In  the park,\ta dog runs.",
        f'{WANTED}")',
        f"{WANTED}*",
        f"Sure, here you go:\n{WANTED}",
        f"Sure! Here are some alternatives:\n1. {WANTED}",
        f"Answer: {WANTED}",
        f"**Answer:** {WANTED}",
        f"Assistant: Paraphrased sentence: {WANTED}",
        f"Paraphrase 1: {WANTED}",
        f"Hypothesis: {WANTED}",
        f"{PROMPT.lower()} {WANTED}",
        f"{PROMPT.replace(' ', '  ')}\n{WANTED}",
    ],
)
def test_the_sentence_is_found(written):
    assert extract_sentence(written, SOURCE, PROMPT, fields=("premise", "hypothesis")) == (WANTED, "")


@pytest.mark.parametrize(
    "sound",
    [
        "The judge announced her sentence: ten years.",
        "Translated works: rain.",
        "Note the version: rain.",
        "Here is the news: it rains.",
        "He said: go.",
        "2 men walk.",
        "Outputs: rain.",
        "Surely it rains.",
    ],
)
def test_what_only_looks_like_an_announcement_is_left_whole(sound):
    assert extract_sentence(sound, SOURCE, PROMPT, fields=("premise", "hypothesis")) == (sound, "")


def test_what_the_source_begins_with_may_stay():
    assert extract_sentence("Answer: it does.", "Answer: yes.", "Reword: Answer: yes.") == ("Answer: it does.", "")
    assert extract_sentence("1. A dog", "1. Dog", "Reword: 1. Dog") == ("1. A dog", "")
    assert extract_sentence("He spoke:", "He said:", "Reword: He said:") == ("He spoke:", "")
    assert extract_sentence("Sure, it rains.", "Sure, there is rain.", "x")[1] == ""


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("", "empty"),
        ("\n \n", "empty"),
        ("...", "empty"),
        ('""', "empty"),
        ("Rephrased version:", "empty"),
        (SOURCE, "says what the original says"),
        ("a dog  runs in the park", "says what the original says"),
        (f"Rephrased: {SOURCE}", "says what the original says"),
        (f"{PROMPT} {SOURCE}", "says what the original says"),
        (PROMPT, "gives the prompt back"),
        (PROMPT.replace(":", ""), "gives the prompt back"),
        ("The dog the dog the dog runs.", "repeats itself"),
        ("It runs and runs and runs and runs.", "repeats itself"),
        ("Aaaaaaaaaaaaaaaah, a dog.", "repeats itself"),
        (PROMPT.lower(), "gives the prompt back"),
        (f'"{PROMPT}"', "gives the prompt back"),
        (f"{PROMPT} {PROMPT}", "gives the prompt back"),
        ("Sure! A dog runs about.", "speaks of the task"),
        ("The judge read out the sentence: a dog.", "speaks of the task"),
        ("Paraphrase 1: A dog. Paraphrase 2: A cat.", "speaks of the task"),
        ("Sure, here you go:", "empty"),
        ("Sure! Here you go:", "empty"),
        ("3. place", "begins with a number as in a list"),
        ("1) one dog", "begins with a number as in a list"),
        ("A dog runs in the park。", "says what the original says"),
        ('The sentence can be rephrased as "a dog".', "speaks of the task"),
    ],
)
def test_what_is_none_is_reported(written, reason):
    assert extract_sentence(written, SOURCE, PROMPT)[1] == reason


def test_what_the_source_has_may_stay():
    assert extract_sentence("He said: no, no, no!", "No, no, no, he said: no!", "x: {text}") == (
        "He said: no, no, no!",
        "",
    )
    assert extract_sentence('"No" was what he said.', 'He said "no".', "x") == ('"No" was what he said.', "")
    assert extract_sentence('"No," he said, "no."', "He said no.", "x") == ('"No," he said, "no."', "")
    assert extract_sentence("He (a man) said no (twice)", "x", "y") == ("He (a man) said no (twice)", "")
    assert extract_sentence('He said "no"', "He said no.", "y") == ('He said "no"', "")
    assert extract_sentence("The sentence was long.", "It was a long sentence: the sentence was long!", "x")[1] == ""


@pytest.mark.parametrize(
    "written",
    ["It rains all day.", "it rains all day", "Since it rains all day, a dog runs.", "It rains all day.\nA dog."],
)
def test_what_else_the_prompt_shows_is_no_rewording(written):
    prompt = f"It rains all day.\n{PROMPT}"
    assert extract_sentence(written, SOURCE, prompt)[1] == "gives the prompt back"
    assert extract_sentence(written, SOURCE, prompt.replace("\n", " So: "), shown=["It rains all day."])[1] == (
        "gives the prompt back"
    )
    assert extract_sentence(written, SOURCE, PROMPT)[1] == ""


def test_a_source_that_holds_the_context_may_be_reworded():
    shown, source = "It rains all day.", "He says it rains all day."
    prompt = f"{shown}\nReword: {source}"
    assert extract_sentence("He claims it rains all day.", source, prompt, [shown]) == (
        "He claims it rains all day.",
        "",
    )


def test_a_sentence_that_goes_on_where_the_prompt_ends_is_not_cut():
    assert extract_sentence("Reword it now: A dog runs and barks.", "A dog runs", "Reword it now: A dog runs") == (
        "Reword it now: A dog runs and barks.",
        "gives the prompt back",
    )


@given(st.lists(st.sampled_from(["a", "Dog", "no\n"]), min_size=1, max_size=6), st.integers(1, 30))
def test_every_beginning_of_a_prompt_is_one(words, length):
    prompt = " ".join(words)
    assert starts_prompt(prompt[:length].upper(), prompt)
    assert not starts_prompt(f"{prompt[:length]} cat", prompt)
    assert not starts_prompt(" \n", prompt)


def test_a_translation_that_begins_with_its_source_is_not_cut():
    assert extract_sentence("A dog runs and barks.", "A dog runs", "A dog runs") == ("A dog runs and barks.", "")


@given(st.text(max_size=40), st.text(min_size=1, max_size=30), st.text(max_size=30))
def test_nothing_crashes_and_a_sentence_has_one_line(written, source, prompt):
    text, reason = extract_sentence(written, source, prompt)
    if not reason:
        assert text.strip() == text != ""
        assert len(text.splitlines()) == 1
        assert comparable(text) != comparable(source)


@given(st.lists(st.sampled_from(["a", "dog", "no"]), min_size=1, max_size=3), st.integers(1, 6))
def test_a_stretch_three_times_in_a_row_repeats_itself(stretch, times):
    text = " ".join(["x", *stretch * times, "y"])
    assert bool(repeats_itself(text)) is (times >= 3 or _thrice(stretch * times))


def _thrice(words: list[str]) -> bool:
    """By brute force over all pairs of places."""
    return any(
        words[i:j] == words[j : 2 * j - i] == words[2 * j - i : 3 * j - 2 * i]
        for i in range(len(words))
        for j in range(i + 1, len(words))
        if 3 * j - 2 * i <= len(words)
    )


@pytest.mark.parametrize("cut", [False, True])
def test_what_a_filter_withheld_is_no_draft_and_is_counted(cut):
    problem = Problem("p", TASKS["nli"], {"premise": SOURCE, "hypothesis": "It runs."}, "neutral")
    job = RewriteJob(problem, "premise", "", PROMPT, 0)
    DraftFilter(9, cut=cut).take([job], [[(Draft("In the park, a", WITHHELD), ""), (Draft(WANTED), "")]])
    assert [text for text, _ in job.passed] == [WANTED]
    assert job.left_out == {WITHHELD: 1}
    assert _defect(Draft("Im Park", WITHHELD), SOURCE, "", cut) == WITHHELD
    assert _defect(Draft("Im Park", CUT_OFF), SOURCE, "", cut) == ("" if cut else CUT_OFF)
