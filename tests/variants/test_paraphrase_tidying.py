"""What becomes of what a model writes: sentences freed of what surrounds them, and all that is none told apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otherwords.variants.tidying import repeats_itself, same, tidied

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
    ],
)
def test_the_sentence_is_found(written):
    assert tidied(written, SOURCE, PROMPT) == (WANTED, "")


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
        ('The sentence can be rephrased as "a dog".', "speaks of the task"),
    ],
)
def test_what_is_none_is_told(written, reason):
    assert tidied(written, SOURCE, PROMPT)[1] == reason


def test_what_the_source_has_may_stay():
    assert tidied("He said: no, no, no!", "No, no, no, he said: no!", "x: {text}") == ("He said: no, no, no!", "")
    assert tidied('"No" was what he said.', 'He said "no".', "x") == ('"No" was what he said.', "")
    assert tidied('"No," he said, "no."', "He said no.", "x") == ('"No," he said, "no."', "")
    assert tidied("He (a man) said no (twice)", "x", "y") == ("He (a man) said no (twice)", "")
    assert tidied('He said "no"', "He said no.", "y") == ('He said "no"', "")
    assert tidied("The sentence was long.", "It was a long sentence: the sentence was long!", "x")[1] == ""


def test_a_translation_that_begins_with_its_source_is_not_cut():
    assert tidied("A dog runs and barks.", "A dog runs", "A dog runs") == ("A dog runs and barks.", "")


@given(st.text(max_size=40), st.text(min_size=1, max_size=30), st.text(max_size=30))
def test_nothing_crashes_and_a_sentence_has_one_line(written, source, prompt):
    text, reason = tidied(written, source, prompt)
    if not reason:
        assert text.strip() == text != ""
        assert len(text.splitlines()) == 1
        assert same(text) != same(source)


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
