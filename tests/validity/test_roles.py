"""The check of roles: which fields it reads, what it says, and what it leaves without a verdict."""

from __future__ import annotations

import pytest

pytest.importorskip("spacy")

from otherwords.problem import TASKS, Bucket, Problem
from otherwords.registry import checks

STORY = {"obs1": "It rained.", "obs2": "They were wet.", "hyp1": "Tom splashed Ann.", "hyp2": "Ann pushed Tom."}


def judged(task: str, texts: dict[str, str], *afters: dict[str, str], spec: str = "roles"):
    problem = Problem("p", TASKS[task], texts, TASKS[task].labels[0])
    bucket = Bucket(problem, tuple(problem.restate(**after) for after in afters))
    return list(checks.make(spec).function([bucket]))


def test_the_reason_names_both():
    [verdict] = judged("nli", {"premise": "Germany defeats Latvia.", "hypothesis": "x"},
                       {"premise": "Latvia defeats Germany."})  # fmt: skip
    assert verdict.keep is False
    assert verdict.reason == 'roles: "Germany" defeats "Latvia" became "Latvia" defeats "Germany"'
    assert verdict.score == 1


def test_every_changed_field_counts():
    both, one, none = judged(
        "a-nli",
        STORY,
        {"hyp1": "Ann splashed Tom.", "hyp2": "Tom pushed Ann."},
        {"hyp1": "Ann was splashed by Tom.", "hyp2": "Tom pushed Ann."},
        {"hyp1": "Ann was splashed by Tom.", "hyp2": "Tom was pushed by Ann."},
    )
    assert (both.keep, both.score) == (False, 2)
    assert (one.keep, one.score) == (False, 1)
    assert (none.keep, none.reason, none.score) == (True, "", 0)


def test_modifiers_can_be_left_out():
    texts = {"premise": "A red car and a blue bus.", "hypothesis": "x"}
    after = {"premise": "A blue car and a red bus."}
    [found] = judged("nli", texts, after)
    assert found.reason.startswith("modifiers: ")
    assert judged("nli", texts, after, spec="roles(modifiers=false)")[0].keep is True


def test_what_cannot_be_parsed_has_no_verdict_and_is_counted():
    texts = {"premise": "A dog bit a man.", "hypothesis": "x"}
    with pytest.warns(UserWarning, match="roles: 1 of 3 variants have no verdict: a text cannot be parsed"):
        verdicts = judged(
            "nli", texts, {"premise": "A dog bit. " * 2000}, {"premise": "A man bit a dog."}, {"premise": ""}
        )
    assert [verdict.keep for verdict in verdicts] == [None, False, True]  # nobody has a role in an empty text


def test_an_exchange_in_one_field_counts_even_if_another_cannot_be_parsed():
    [verdict] = judged("a-nli", STORY, {"hyp1": "Ann splashed Tom.", "hyp2": ""})
    assert verdict.keep is False
