"""Label safety: what a rewording does to negations, quantifiers, numbers and opposites."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otherwords.problem import TASKS, Bucket, Problem
from otherwords.registry import checks


def judged(before, *afters, spec="label-safety"):
    problem = Problem("p", TASKS["nli"], {"premise": before, "hypothesis": "It is so."}, "neutral")
    bucket = Bucket(problem, tuple(problem.restate(premise=after) for after in afters))
    return list(checks.make(spec).function([bucket]))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("A man isn't sleeping.", "A man is not asleep."),
        ("Nobody is outside.", "No one is outdoors."),
        ("He cannot swim.", "He can’t swim."),
        ("He won't come", "He will not come"),
        ("Two dogs run.", "2 dogs are running."),
        ("A dozen eggs cost 1,000 yen.", "12 eggs cost 1000 yen."),
        ("One man runs.", "A man runs."),  # "one" may be a pronoun, or an article with stress
        ("He took the red one.", "He took the red hat."),
        ("Lots of people sit.", "Many people sit."),
        ("A hot meal", "A warm meal"),
        ("A man and a woman", "A woman and a man"),  # opposites change places, none is lost
        ("It isn't true that he isn't here.", "It is not true that he is not here."),
        ("A man kisses his wife", "An adult male kisses his married woman"),  # each has a counterpart of its own
        ("日本 🙂", "日本 👍"),
    ],
)
def test_left_alone(before, after):
    (verdict,) = judged(before, after)
    assert (verdict.keep, verdict.reason, verdict.score) == (True, "", 0)


@pytest.mark.parametrize(
    ("before", "after", "reasons"),
    [
        ("He is not here.", "He is here.", ['negation: "not" lost']),
        ("He is here.", "He isn't here.", ['negation: "not" added']),
        ("Nobody is here.", "Somebody is here.", ['negation: "nobody" lost']),
        ("He never came.", "He did not come.", ['negation: "never" became "not"']),
        ("It is not without risk.", "It is without risk.", ['negation: "not" lost']),
        ("He doesn't not know.", "He does not know.", ['negation: "not" lost']),
        ("Two dogs", "Three dogs", ["number: 2 became 3"]),
        ("One dog", "Three dogs", ["number: 1 became 3"]),
        ("Two dogs", "One dog", ["number: 2 became 1"]),
        ("Two dogs", "The dogs", ["number: 2 lost"]),
        ("A dog of 5", "A dog of 5, 6", ["number: 6 added"]),
        ("The first man", "The second man", ["number: 1st became 2nd"]),
        ("All men", "Some men", ['quantifier: "all" became "some"']),
        ("At least two men", "Two men", ['quantifier: "at least" lost']),
        ("Few men", "A few men", ['quantifier: "few" became "a few"']),
        ("A hot day", "A cold day", ['antonym: "hot" became "cold"']),
        ("The men sat", "The women sat", ['antonym: "men" became "women"']),
        ("The door is open", "Closed is the door", ['antonym: "open" became "closed"']),
        ("He stands", "He is sitting", ['antonym: "stands" became "sitting"']),
        ("Two men aren't hot", "3 men are hot", ['negation: "not" lost', "number: 2 became 3"]),
    ],
)
def test_touched(before, after, reasons):
    (verdict,) = judged(before, after)
    assert (verdict.keep, verdict.reason.split("; "), verdict.score) == (False, reasons, len(reasons))


@pytest.mark.parametrize("off", ["negation", "quantifiers", "numbers", "antonyms"])
def test_each_can_be_switched_off(off):
    texts = {"negation": "Not", "quantifiers": "All", "numbers": "2", "antonyms": "hot"}
    others = {"negation": "So", "quantifiers": "Some", "numbers": "3", "antonyms": "cold"}
    (all_on,) = judged(" ".join(texts.values()), " ".join(others.values()))
    (one_off,) = judged(" ".join(texts.values()), " ".join(others.values()), spec=f"label-safety({off}=false)")
    assert (all_on.score, one_off.score) == (4, 3)
    (alone,) = judged(texts[off], others[off], spec=f"label-safety({off}=false)")
    assert alone.keep


def test_each_variant_and_field_by_itself():
    problem = Problem("p", TASKS["nli"], {"premise": "Two men.", "hypothesis": "No man."}, "neutral")
    texts = [{"premise": "Three men."}, {"hypothesis": "A man."}, {"premise": "A pair.", "hypothesis": "Men."}, {}]
    bucket = Bucket(problem, tuple(problem.restate(**text) for text in texts))
    assert [(v.keep, v.reason) for v in checks.make("label-safety").function([bucket])] == [
        (False, "number: 2 became 3"),
        (False, 'negation: "no" lost'),
        (False, 'number: 2 lost; negation: "no" lost'),
        (True, ""),
    ]


@given(st.text(), st.text())
def test_any_text_is_judged_and_the_same_text_is_safe(one, other):
    there, back = judged(one, other)[0], judged(other, one)[0]
    assert there.keep is (there.reason == "")
    assert judged(one, one)[0].keep
    assert there.keep is back.keep  # what is lost one way is added the other


CUES = ["not", "two", "2", "three", "all", "some", "hot", "cold", "nobody", "man", "woman", "one", "is", "."]


@given(st.lists(st.sampled_from(CUES)), st.randoms())
def test_order_does_not_matter_to_single_words(words, random):
    moved = random.sample(words, len(words))
    # Commas keep them apart: "some two" is about two.
    spaced = [" , ".join(some) for some in (words, moved)]
    assert judged(*spaced)[0].keep


def test_breaking_nli(shared):
    """Pairs that differ in one word, by kind (Glockner et al. 2018): other numbers are all seen, synonyms pass."""
    path = shared / "breaking_nli" / "breaking_nli.parquet"
    table = pl.read_parquet(path).filter(pl.col("category").is_in(["cardinals", "ordinals", "synonyms", "antonyms"]))
    dropped: dict[tuple[str, str], list[bool]] = {}
    for row in table.iter_rows(named=True):
        (verdict,) = judged(row["premise"], row["hypothesis"])
        dropped.setdefault((row["category"], row["label"]), []).append(not verdict.keep)
    share = {kind: sum(some) / len(some) for kind, some in dropped.items()}
    assert share["cardinals", "contradiction"] == share["ordinals", "contradiction"] == 1
    assert share["cardinals", "entailment"] == share["ordinals", "entailment"] == 0
    assert share["synonyms", "entailment"] < 0.01
    assert share["antonyms", "contradiction"] > 0.7
