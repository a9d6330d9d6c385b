from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.problem import TASKS, Bucket, Problem
from otherwords.registry import checks
from otherwords.words.distance import jaccard, words

ONE = Problem("p", TASKS["nli"], {"premise": "a b c d", "hypothesis": "e f"}, "neutral")


def judged(spec, *texts):
    bucket = Bucket(ONE, tuple(ONE.restate(**text) for text in texts))
    return list(checks.make(spec).function([bucket]))


#: Table 1 of Verma et al. (2023): the premise, the hypothesis, and their paraphrases.
P = "The cost of security when world leaders gather near Auchterarder for next year 's G8 summit, is expected to top $150 million."  # noqa: E501
P_NEW = (
    "The cost of security when world leaders meet for the G8 summit near Auchterarder next year will top $150 million."
)
H = "More than $150 million will be probably spent for security at next year's G8 summit."
H_NEW = "At the G8 summit next year more than $150 million will likely be spent on security at the event."
TABLE_1 = {"premise": (P, P_NEW), "hypothesis": (H, H_NEW)}


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        (*TABLE_1["premise"], 17 / 24),  # 22 and 19 words, counted by hand
        (*TABLE_1["hypothesis"], 12 / 20),  # 15 and 17; "years" is not "year"
        ("Two films won six Oscars .", "Six Oscars were won by two films.", 5 / 7),  # Verma et al. 2023, figure 1
        ("a b c d", "a b c d", 1.0),
        ("a b c d", "A, b; C! d?", 1.0),
        ("a b c d", "e f", 0.0),
        ("a b c", "b c d", 2 / 4),
        ("the the the cat", "the cat", 1.0),  # words are counted once
        ("don't", "dont", 1.0),  # punctuation is removed, not split at
        ("U.S. army", "US Army", 1.0),
        ("co-operate", "co operate", 0.0),
        ("“quoted”", "quoted", 0.0),  # only ASCII punctuation goes
        ("", "", 1.0),
        ("...", "!?", 1.0),
        ("a", "", 0.0),
        ("Élan", "élan", 1.0),
    ],
)
def test_worked_examples(one, other, share):
    assert jaccard(one, other) == share


def test_words():
    assert words("The dog's bone, the DOG!") == ["the", "dogs", "bone", "the", "dog"]


@given(st.text(), st.text())
def test_laws(one, other):
    assert jaccard(one, other) == jaccard(other, one)
    assert 0 <= jaccard(one, other) <= 1
    assert jaccard(one, one) == 1
    assert jaccard(one, f"  {one}\t") == 1


def test_the_limit_itself_is_kept():
    verdicts = judged("overlap", {"premise": "a b c"}, {"premise": "a b c d e"}, {"premise": "x"})
    assert [(v.keep, v.reason, v.score) for v in verdicts] == [
        (True, "", 0.75),
        (False, "Jaccard 0.800 above 0.75", 0.8),
        (True, "", 0.0),
    ]


def test_of_several_changed_fields_the_most_alike_counts():
    (verdict,) = judged("overlap(most=0.5)", {"premise": "x y", "hypothesis": "e f g"})
    assert (verdict.keep, verdict.score) == (False, 2 / 3)


def test_fields_that_did_not_change_do_not_count():
    (verdict,) = judged("overlap(most=0.1)", {"premise": "x y"})
    assert verdict.keep
    (unchanged,) = judged("overlap", {})
    assert (unchanged.keep, unchanged.score) == (False, 1.0)


def test_the_papers_own_numbers(shared):
    """2,449 paraphrases that the authors' code let pass, with the Jaccard it computed: PaRTE's released candidates."""
    table = pl.read_parquet(shared / "parte" / "rte_test_candidates_j075.parquet")
    computed = [jaccard(*texts) for texts in table.select("original", "paraphrase").iter_rows()]
    assert table.height == 2449
    assert [round(share, 10) for share in computed] == table["jaccard"].to_list()  # the file has ten places
    assert max(computed) <= 0.75


def test_the_papers_example_passes_the_papers_limit():
    problem = Problem("p", TASKS["nli"], {name: pair[0] for name, pair in TABLE_1.items()}, "neutral")
    texts = [{name: TABLE_1[name][1] for name in names} for names in (["premise"], ["hypothesis"], list(TABLE_1))]
    bucket = Bucket(problem, tuple(problem.restate(**text) for text in texts))
    assert [(v.keep, v.score) for v in checks.make("overlap").function([bucket])] == [
        (True, 17 / 24),
        (True, 12 / 20),
        (True, 17 / 24),
    ]
    assert [v.keep for v in checks.make("overlap(most=0.7)").function([bucket])] == [False, True, False]


@pytest.mark.parametrize("most", ["-0.1", "1.1", "75"])
def test_a_limit_that_is_no_share(most):
    with refuses(BadInput):
        checks.make(f"overlap(most={most})")


@given(st.text(alphabet="ab c."), st.text(alphabet="ab c."), st.floats(0, 0.99))
def test_what_is_kept_below_one_is_changed(premise, hypothesis, most):
    (verdict,) = judged(f"overlap(most={most:.3f})", {"premise": premise, "hypothesis": hypothesis})
    if verdict.keep:
        assert words(premise) != words(ONE.text["premise"]) or words(hypothesis) != words(ONE.text["hypothesis"])
    assert judged(f"overlap(most={most:.3f})", {})[0].keep is False
