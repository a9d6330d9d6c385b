"""Forms of words by hand: number, tense, degree, capitals, a and an."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otherwords.words.inflection import BASE_TAGS, article, cased, forms_of, inflected, lemma_of


@pytest.mark.parametrize(
    ("lemma", "tag", "form"),
    [
        ("sofa", "NN", "sofa"),
        ("sofa", "NNS", "sofas"),
        ("child", "NNS", "children"),
        ("domestic dog", "NNS", "domestic dogs"),
        ("attempt", "VBZ", "attempts"),
        ("pick up", "VBD", "picked up"),
        ("go after", "VBG", "going after"),
        ("begin", "VBN", "begun"),
        ("large", "JJR", "larger"),
        ("large", "JJS", "largest"),
        ("outdoors", "RB", "outdoors"),
        ("immense", "JJR", None),
        ("eyeglasses", "NNS", None),
        ("sheep", "NNS", None),
    ],
)
def test_forms(lemma, tag, form):
    assert inflected(lemma, tag) == form


@pytest.mark.parametrize(
    ("form", "tag", "bases", "lemma"),
    [
        ("men", "NNS", ("men", "man"), "man"),
        ("saw", "VBD", ("saw", "see"), "see"),
        ("saw", "VB", ("saw", "see"), "saw"),
        ("skateboarders", "NNS", ("skateboarder",), "skateboarder"),
        ("dogs", "NN", ("dog",), None),
        ("xyz", "NN", (), None),
    ],
)
def test_base_forms_by_tag(form, tag, bases, lemma):
    assert lemma_of(form, tag, bases) == lemma


@pytest.mark.parametrize(
    ("word", "before"),
    [
        ("hour", "an"),
        ("honest man", "an"),
        ("unicorn", "a"),
        ("university", "a"),
        ("umbrella", "an"),
        ("automobile", "an"),
        ("European", "a"),
        ("onesie", "a"),
        ("sofa", "a"),
    ],
)
def test_articles(word, before):
    assert article(word) == before


@pytest.mark.parametrize(
    ("text", "model", "expected"),
    [("sofa", "Couch", "Sofa"), ("sofa", "COUCH", "SOFA"), ("sofa", "couch", "sofa"), ("adult", "I", "Adult")],
)
def test_capitals(text, model, expected):
    assert cased(text, model) == expected


@given(st.sampled_from(["car", "sofa", "kid", "individual", "try", "buy", "stop"]), st.sampled_from(["NNS", "VBG"]))
def test_a_form_leads_back_to_its_base(lemma, tag):
    for form in forms_of(lemma, tag, guess=False):
        assert lemma_of(form, tag, (lemma,)) == lemma


@given(st.text(), st.sampled_from(sorted(BASE_TAGS)))
def test_the_base_form_is_itself(lemma, tag):
    assert inflected(lemma, tag) == lemma


@given(st.text(alphabet=st.characters(codec="ascii")), st.sampled_from(["man", "Man", "MAN"]))
def test_capitals_change_nothing_else(text, model):
    assert cased(text, model).lower() == text.lower()


@pytest.mark.parametrize(("package", "call"), [("lemminflect", "inflected('dog', 'NNS')"), ("inflect", "article('x')")])
def test_without_the_library_the_extra_is_named(package, call):
    code = f"import sys; sys.modules[{package!r}] = None\nfrom otherwords.words.inflection import *\n{call}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingExtra" in done.stderr
    assert "pip install 'otherwords[spacy]'" in done.stderr


def test_inflect_is_imported_without_its_type_checks_and_others_keep_theirs():
    """They take two seconds to be put into its code, each time that a process needs an article."""
    code = """
from otherwords.words.inflection import article
assert [article(word) for word in ("hour", "useful thing")] == ["an", "a"]
import inflect, typeguard
assert typeguard.typechecked.__module__.startswith("typeguard")
assert inflect.typechecked is not typeguard.typechecked
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
