from __future__ import annotations

import json

import polars as pl
import pytest
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput, MissingExtra
from otherwords.problem import TASKS, Note, Problem, Variant
from otherwords.registry import generators
from otherwords.words import language
from otherwords.words import tagging as pipelines

pytest.importorskip("spacy")
pytest.importorskip("lemminflect")


def problem(premise: str, hypothesis: str = "Yes.", **extra: object) -> Problem:
    return Problem("p", TASKS["nli"], {"premise": premise, "hypothesis": hypothesis}, "neutral", extra)


def vary(one: Problem, options: str = "", seed: int = 1) -> list[Variant]:
    return [made for made in all_of(one, options, seed) if isinstance(made, Variant)]


def all_of(one: Problem, options: str = "", seed: int = 1) -> list[Variant | Note]:
    return list(generators.make(f"structural.v1({options})").function([one], [seed]))


BOTH = problem("A man and a woman are walking a dog.", "A dog is chasing a red ball.")


def test_a_variant_says_what_was_rewritten_and_where():
    [made] = vary(problem("A dog is chasing a cat.", source="mine"))
    assert made.text == {"premise": "A cat is being chased by a dog.", "hypothesis": "Yes."}
    assert made.extra["rewriting"] == "passive"
    assert made.extra["source"] == "mine"
    [change] = json.loads(made.extra["changes"])
    assert change == {
        "field": "premise",
        "at": 2,
        "from": "dog is chasing a cat.",
        "to": "cat is being chased by a dog.",
        "how": "passive",
    }


def test_all_kinds_are_there():
    made = vary(BOTH, "n=0")
    assert {(one.extra["rewriting"], one.text["premise"], one.text["hypothesis"]) for one in made} == {
        ("coordination swap", "A woman and a man are walking a dog.", BOTH.text["hypothesis"]),
        ("passive", BOTH.text["premise"], "A red ball is being chased by a dog."),
        ("adjective to clause", BOTH.text["premise"], "A dog is chasing a ball that is red."),
    }


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ("voice", {"passive"}),
        ("coordination", {"coordination swap"}),
        ("relative+coordination", {"coordination swap", "adjective to clause"}),
        ("definite", set()),
    ],
)
def test_kinds_are_chosen(kinds, expected):
    assert {one.extra["rewriting"] for one in vary(BOTH, f"n=0, kinds={kinds}")} == expected


@pytest.mark.parametrize(
    ("text", "how", "expected"),
    [
        ("A dog isn't barking.", "contraction opened", "A dog is not barking."),
        ("A dog is not barking.", "contraction closed", "A dog isn't barking."),
    ],
)
def test_contractions_are_one_kind(text, how, expected):
    [made] = vary(problem(text), "kinds=contraction")
    assert (made.extra["rewriting"], made.text["premise"]) == (how, expected)


def test_so_many_are_drawn_by_the_seed():
    assert [len(vary(BOTH, f"n={n}")) for n in (1, 2, 3, 9, 0)] == [1, 2, 3, 3, 3]
    drawn = {vary(BOTH, seed=seed)[0].extra["rewriting"] for seed in range(30)}
    assert drawn == {"coordination swap", "passive", "adjective to clause"}
    assert vary(BOTH, "n=2", seed=4) == vary(BOTH, "n=2", seed=4)


def test_one_field_alone():
    assert {one.extra["rewriting"] for one in vary(BOTH, "n=0, field=premise")} == {"coordination swap"}
    assert all(one.text["premise"] == BOTH.text["premise"] for one in vary(BOTH, "n=0, field=hypothesis"))


def test_together_does_to_all_fields_what_all_allow():
    both = problem("A dog is chasing a cat.", "A boy is holding a red ball.")
    made = {one.extra["rewriting"]: one for one in vary(both, "n=0, together=true")}
    assert set(made) == {"passive", "adjective to clause"}
    assert made["passive"].text == {
        "premise": "A cat is being chased by a dog.",
        "hypothesis": "A red ball is being held by a boy.",
    }
    assert [one["field"] for one in json.loads(made["passive"].extra["changes"])] == ["premise", "hypothesis"]
    assert made["adjective to clause"].text["premise"] == both.text["premise"]


def test_together_prefers_the_same_words():
    """The premise has two passives: the one that the hypothesis has, too, goes with it, whatever is drawn first."""
    both = problem("A boy is holding a box. A dog is chasing a cat.", "A dog is chasing a cat.")
    for seed in range(8):
        made = [one.text for one in vary(both, "n=0, together=true", seed)]
        assert {
            "premise": "A boy is holding a box. A cat is being chased by a dog.",
            "hypothesis": "A cat is being chased by a dog.",
        } in made
        assert {
            "premise": "A box is being held by a boy. A dog is chasing a cat.",
            "hypothesis": "A dog is chasing a cat.",
        } in made
        assert len(made) == 2


def test_context_is_never_touched():
    texts = {
        "obs1": "A dog chases a cat.",
        "obs2": "A man eats an apple.",
        "hyp1": "A boy kicks a ball.",
        "hyp2": "No.",
    }
    one = Problem("a", TASKS["a-nli"], texts, "hyp1")
    [made] = vary(one, "n=0")
    assert made.text == {**texts, "hyp1": "A ball is kicked by a boy."}
    assert made.label == "hyp1"


def test_the_changes_make_the_variant():
    for made in vary(BOTH, "n=0") + vary(BOTH, "n=0, together=true"):
        text = dict(BOTH.text)
        for change in json.loads(made.extra["changes"]):
            at, before = change["at"], change["from"]
            assert text[change["field"]][at : at + len(before)] == before
            text[change["field"]] = (
                text[change["field"]][:at] + change["to"] + text[change["field"]][at + len(before) :]
            )
        assert text == made.text


def test_what_cannot_be_taken_back_is_noted():
    """Behind the clause, "competes" is a noun for the parser: the sentence would have no verb."""
    notes = [
        made for made in all_of(problem("A young man competes in a tennis championship.")) if isinstance(made, Note)
    ]
    assert [(note.what, dict(note.about)) for note in notes] == [
        (
            "left out: parsed anew, it is built otherwise than was meant",
            {"field": "premise", "rewriting": "adjective to clause"},
        )
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("A dog chases a cat. " * 1001, "longer than 20,000 letters"),
        ("\ufeffA dog chases a cat.", "it has control characters"),
        ("A dog\x00 chases a cat.", "it has control characters"),
        ("A dog isn't \ud800 chasing a cat.", "it has control characters"),
    ],
    ids=["empty", "blank", "long", "bom", "nul", "surrogate"],
)
def test_what_is_not_parsed_is_noted(text, why):
    [note] = all_of(problem(text), "field=premise")
    assert isinstance(note, Note)
    assert (note.what, note.count, dict(note.about)) == (f"not parsed: {why}", 1, {"field": "premise"})


@pytest.mark.parametrize("text", ["...", "😀 😀", "A DOG IS CHASING A CAT.", "木", "dog", "A dog runs. " * 100, "?"])
def test_where_there_is_nothing_to_do_nothing_is_done(text):
    assert all_of(problem(text)) == []


def test_a_text_of_many_words_is_rewritten_sentence_by_sentence():
    sentence = "A dog is chasing a cat in the park. "
    made = vary(problem(sentence * 35), "n=0, kinds=voice")
    assert len(made) == 35
    assert len({one.text["premise"] for one in made}) == 35


def test_only_the_sentence_that_changes_is_parsed_again():
    """Else a text of n sentences costs n times its length."""
    from otherwords.grammar.equivalences import sound_rewritings
    from otherwords.grammar.parsing import parser

    letters = []

    def counting(texts):
        return parser()(letters.append(len(text)) or text for text in texts)

    sentence = "A dog is chasing a cat in the park."
    text = " ".join([sentence] * 30)
    [(sound, given_up)] = sound_rewritings([text], ["voice"], counting)
    assert (len(sound), given_up) == (30, [])
    assert sum(letters) < 4 * len(text)


@settings(max_examples=at_most(25), deadline=None)
@given(st.text(max_size=60), st.text(alphabet="the dog and a cat. chase,s 'n\"", max_size=60))
@pytest.mark.filterwarnings("ignore:structural.v1. supports only English")
def test_whatever_comes_the_variant_differs_and_the_label_stays(premise, hypothesis):
    one = problem(premise, hypothesis)
    made = vary(one, "n=0")
    texts = [tuple(variant.text.values()) for variant in made]
    assert len(set(texts)) == len(texts)
    assert tuple(one.text.values()) not in texts
    assert {variant.label for variant in made} <= {"neutral"}


def test_another_language_is_left_alone_with_a_warning():
    language.forget()
    one = problem("Un homme joue de la guitare dans le parc et il chante.", "Un chien court dans la rue.")
    with pytest.warns(UserWarning, match="structural.v1: supports only English, but"):
        assert all_of(one) == []


def test_a_profile_knows_the_words_that_changed():
    frame = pl.DataFrame(
        {
            "id": ["a"],
            "premise": ["A dog is chasing a cat."],
            "hypothesis": ["Yes."],
            "label": ["neutral"],
        }
    )
    suite = pl.concat([frame, ow.vary(frame, ["structural.v1"])], how="diagonal_relaxed")
    assert ow.profile(suite).whole.share_changed == 1.0


def test_what_is_left_out_reaches_the_notes(tmp_path):
    frame = pl.DataFrame(
        {
            "id": ["a"],
            "premise": ["A young man competes in a tennis championship."],
            "hypothesis": ["A dog is chasing a cat."],
            "label": ["neutral"],
        }
    )
    assert ow.vary(frame, ["structural.v1"], notes=tmp_path / "notes.csv")["rewriting"].to_list() == ["passive"]
    [note] = pl.read_csv(tmp_path / "notes.csv").rows(named=True)
    assert note["what"].startswith("left out: ")
    assert (note["id"], note["count"], note["rewriting"]) == ("a", 1, "adjective to clause")


def test_the_signature_says_what_decides():
    signature = generators.make("structural.v1").signature
    assert "/parser+lemminflect-" in signature
    assert "+inflect-" in signature


@pytest.mark.parametrize(
    "options",
    [
        "kinds=passive",
        "n=-1",
        "pipeline=xx_none",
    ],
)
def test_wrong_options(options):
    with refuses(BadInput):
        generators.make(f"structural.v1({options})")


def test_an_unknown_field_is_an_error():
    with refuses(BadInput):
        vary(BOTH, "field=title")


def test_without_spacy_the_install_command_is_reported(monkeypatch):
    from otherwords.grammar.parsing import parser

    monkeypatch.setattr(pipelines, "find_spec", lambda name: None)
    parser.cache_clear()
    with refuses(MissingExtra):
        generators.make("structural.v1")
    parser.cache_clear()
