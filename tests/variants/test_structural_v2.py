"""`structural.v2`: which kinds it uses, what it verifies and when, and that batches do not matter."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput
from otherwords.grammar.parsing import parser
from otherwords.problem import TASKS, Note, Problem, Variant
from otherwords.registry import generators
from otherwords.variants import soundness, structural

pytest.importorskip("spacy")
pytest.importorskip("lemminflect")


def problem(premise: str, hypothesis: str = "Yes.", name: str = "p") -> Problem:
    return Problem(name, TASKS["nli"], {"premise": premise, "hypothesis": hypothesis}, "neutral")


def all_of(problems: list[Problem], options: str = "kinds=all", seeds: list[int] | None = None) -> list[Variant | Note]:
    function = generators.make(f"structural.v2({options})").function
    return list(function(problems, seeds or [1] * len(problems)))


def vary(one: Problem, options: str = "kinds=all", seed: int = 1) -> list[Variant]:
    return [made for made in all_of([one], options, [seed]) if isinstance(made, Variant)]


#: The kinds that `structural.v1` has, too.
OLD = "kinds=voice+definite+relative+coordination+dative+contraction"
BOTH = problem("A man and a woman are walking a dog.", "A dog is chasing a red ball.")
SEVERAL = [
    BOTH,
    problem("A young man competes in a tennis championship. A dog is chasing a cat.", "It isn't so.", "q"),
    problem("It rains.", "It rains.", "r"),
    problem("She gives the dog a bone. An old man eats a bun.", "The winner is the girl.", "s"),
]


def test_the_newest_version_is_meant_by_the_plain_name():
    assert generators.get("structural").version == 2


def test_the_old_kinds_are_there_and_new_ones():
    old = {"coordination swap", "passive", "adjective to clause"}
    assert {one.extra["rewriting"] for one in vary(BOTH, f"{OLD}, n=0")} == old
    assert {one.extra["rewriting"] for one in vary(BOTH, "kinds=all, n=0")} == {*old, "there"}


WORDS = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=5).map(" ".join)


@given(WORDS, WORDS)
def test_what_changed_leads_from_the_old_text_to_the_new_one(old, new):
    at, before, after = structural._stretch(old, new)
    assert old[at : at + len(before)] == before
    assert old[:at] + after + old[at + len(before) :] == new


def test_words_that_are_added_or_left_out_keep_their_spaces():
    inserted, left_out = "He said that it rained.", "He said it rained."
    assert [one.text["premise"] for one in vary(problem(left_out), "kinds=that")] == [inserted]
    assert [one.text["premise"] for one in vary(problem(inserted), "kinds=that")] == [left_out]


def test_names_change_in_all_texts_only_where_that_is_asked_for():
    one = problem("Anna met Tom. Anna was late.", "Anna was late.")
    made = vary(one, "kinds=renaming")
    assert [variant.extra["rewriting"] for variant in made] == ["renaming"]
    [new] = {variant.text["hypothesis"].split()[0] for variant in made}
    assert new != "Anna"
    assert made[0].text == {"premise": f"{new} met Tom. {new} was late.", "hypothesis": f"{new} was late."}
    assert "renaming" not in {variant.extra["rewriting"] for variant in vary(one, "kinds=all, n=0")}
    assert vary(problem("Anna Smith met Tom.", "Anna was late."), "kinds=renaming") == []


def test_the_first_of_two_are_of_different_kinds():
    one = problem("A dog is chasing a cat. A boy kicks a ball. A girl reads a book. An old man eats a bun.")
    for seed in range(6):
        assert {made.extra["rewriting"] for made in vary(one, f"{OLD}, n=2", seed)} == {
            "passive",
            "adjective to clause",
        }


@pytest.mark.parametrize("options", ["kinds=all", "kinds=all, n=2", "kinds=all, n=0", "kinds=all, together=true"])
def test_what_a_problem_gets_does_not_depend_on_the_others(options):
    seeds = [3, 4, 5, 6]
    alone = [made for one, seed in zip(SEVERAL, seeds, strict=True) for made in all_of([one], options, [seed])]
    assert all_of(SEVERAL, options, seeds) == alone


def test_some_are_the_first_of_all():
    for seed in range(5):
        everything = vary(SEVERAL[3], "kinds=all, n=0", seed)
        assert vary(SEVERAL[3], "kinds=all, n=2", seed) == everything[:2]


def test_only_as_many_are_parsed_as_are_needed(monkeypatch):
    counts = []

    class Counting:
        identity = "counting"

        def __call__(self, texts):
            texts = list(texts)
            counts.append(len(texts))
            return parser()(texts)

    monkeypatch.setattr(structural, "parser", lambda name: Counting())
    one = problem("A dog is chasing a cat. A boy kicks a ball. A girl reads a book. An old man eats a bun.")
    assert len(vary(one)) == 1
    assert counts[0] == 2  # both texts, as they are
    assert sum(counts[1:]) <= 3


def test_what_cannot_be_taken_back_is_noted_and_another_is_made():
    one = problem("A young man competes in a tennis championship. A dog is chasing a cat.")
    for seed in range(6):
        made = all_of([one], OLD, [seed])
        assert [part.extra["rewriting"] for part in made if isinstance(part, Variant)] == ["passive"]
        for note in (part for part in made if isinstance(part, Note)):
            assert dict(note.about) == {"field": "premise", "rewriting": "adjective to clause"}


def test_a_rewriting_that_changes_a_number_is_noted(monkeypatch):
    """No rule does; so one is made that does."""
    from otherwords.grammar.rewriting import Kind, Rewriting

    def miscount(tree):
        return [Rewriting("miscounted", tree.text.index("two"), "two", "three")] if "two" in tree.text else []

    def recount(tree):
        return [Rewriting("recounted", tree.text.index("three"), "three", "two")] if "three" in tree.text else []

    kind = Kind((miscount,), {"miscounted": recount})
    monkeypatch.setitem(structural.EQUIVALENCES_V2, "voice", kind)
    [note] = all_of([problem("He has two dogs.")], "kinds=voice")
    assert isinstance(note, Note)
    assert note.what == "left out: a negation, a quantifier or a number would change"
    assert dict(note.about) == {"field": "premise", "rewriting": "miscounted"}
    monkeypatch.setitem(structural.EQUIVALENCES_V2, "voice", kind._replace(exempt="for the test"))
    [made] = all_of([problem("He has two dogs.")], "kinds=voice")
    assert made.text["premise"] == "He has three dogs."


def test_titles_keep_their_contractions():
    assert vary(problem("Hilary Swank won for Boys Don't Cry."), "kinds=contraction") == []
    [made] = vary(problem("Boys don't cry."), "kinds=contraction")
    assert made.text["premise"] == "Boys do not cry."


@pytest.fixture
def measured(monkeypatch):
    found = (soundness.KindRate("voice", "captions", 99, 100), soundness.KindRate("voice", "news", 80, 100))
    found += (soundness.KindRate("relative", "captions", 99, 100),)
    monkeypatch.setattr(soundness, "rates", lambda: found)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("n=0, domain=captions", {"passive", "adjective to clause"}),
        ("n=0", {"adjective to clause"}),
        ("n=0, kinds=voice, domain=news", {"passive"}),
        (f"n=0, {OLD}, domain=news", {"coordination swap", "passive", "adjective to clause"}),
    ],
)
def test_kinds_that_were_found_sound_are_the_default(options, expected, measured):
    assert {one.extra["rewriting"] for one in vary(BOTH, options)} == expected


def test_where_nothing_was_found_sound_kinds_must_be_named(measured):
    with refuses(BadInput, field="domain"):
        generators.make("structural.v2(domain=news)")


@pytest.mark.parametrize("options", ["kinds=passive", "n=-1", "domain=poems"])
def test_wrong_options(options):
    with refuses(BadInput):
        generators.make(f"structural.v2({options})")


def test_the_signature_says_on_which_rates_the_kinds_depend():
    plain, named = (generators.make(f"structural.v2({options})").signature for options in ("", "kinds=voice"))
    assert plain.rpartition("+")[2] == soundness.fingerprint()
    assert "rates-" not in named


def test_an_option_does_not_change_the_problem():
    before = replace(BOTH)
    vary(BOTH, "kinds=all, n=0, together=true")
    assert before == BOTH


def test_a_text_that_two_generators_make_stays_under_both_names_and_none_makes_it_twice():
    problems = [
        {"premise": "The kids aren't near a couch.", "hypothesis": "Two kids tried to buy it.", "label": "neutral"}
    ]
    both = ow.vary(problems, ["contractions", "structural.v2(kinds=contraction)"])
    assert both["premise"].to_list() == ["The kids are not near a couch."] * 2
    assert both["how"].n_unique() == both["id"].n_unique() == 2
    for spec in ("structural.v2(n=0, kinds=all)", "wordnet.v2(n=9, changes=2)", "reworded(n=9, kinds=all)"):
        made = ow.vary(problems, [spec])
        assert made.height > 1
        assert made.select("premise", "hypothesis").is_unique().all(), spec
