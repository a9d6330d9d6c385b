"""A tiny French wordnet in a folder of its own: the same questions, the generator on it, names that are not there."""

from __future__ import annotations

import subprocess
import sys

import pytest
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.problem import TASKS, Problem
from otherwords.registry import generators
from otherwords.words.lexicon import other_wordnet

wn = pytest.importorskip("wn")

#: voiture and bagnole share a sense; vélo has two senses without counts; chaud and froid are opposites.
TINY = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE LexicalResource SYSTEM "http://globalwordnet.github.io/schemas/WN-LMF-1.1.dtd">
<LexicalResource xmlns:dc="https://globalwordnet.github.io/schemas/dc/">
  <Lexicon id="tiny-fr" label="Tiny" language="fr" email="a@b.c" license="CC0" version="1.0" url="https://example.org">
    {entries}
    {synsets}
  </Lexicon>
</LexicalResource>
"""
ENTRIES = {
    ("voiture", "n"): ["s1"],
    ("bagnole", "n"): ["s1"],
    ("vélo", "n"): ["s2", "s3"],
    ("bicyclette", "n"): ["s2"],
    ("pomme de terre", "n"): ["s4"],
    ("chaud", "a"): ["s5"],
    ("froid", "a"): ["s6"],
}
GLOSSES = {"s1": "véhicule", "s2": "deux roues", "s3": "un sport", "s4": "légume", "s5": "haut", "s6": "bas"}


def tiny() -> str:
    entries = []
    for number, ((lemma, pos), synsets) in enumerate(ENTRIES.items()):
        opposite = {"chaud": "froid", "froid": "chaud"}.get(lemma)
        words = [word for word, _ in ENTRIES]
        relation = f'<SenseRelation relType="antonym" target="w{words.index(opposite)}-0"/>' if opposite else ""
        senses = "".join(
            f'<Sense id="w{number}-{i}" synset="tiny-fr-{synset}">{relation}</Sense>'
            for i, synset in enumerate(synsets)
        )
        entries.append(
            f'<LexicalEntry id="w{number}"><Lemma writtenForm="{lemma}" partOfSpeech="{pos}"/>{senses}</LexicalEntry>'
        )
    synsets = [
        f'<Synset id="tiny-fr-{name}" ili="" partOfSpeech="{"a" if name > "s4" else "n"}">'
        f"<Definition>{gloss}</Definition></Synset>"
        for name, gloss in GLOSSES.items()
    ]
    return TINY.format(entries="".join(entries), synsets="".join(synsets))


@pytest.fixture
def french(tmp_path):
    before = wn.config.database_path.parent
    wn.config.data_directory = tmp_path / "wn"
    (tmp_path / "tiny.xml").write_text(tiny(), encoding="utf-8")
    wn.add(tmp_path / "tiny.xml", progress_handler=None)
    other_wordnet.cache_clear()
    yield other_wordnet("tiny-fr:1.0")
    other_wordnet.cache_clear()
    wn.config.data_directory = before


def test_it_answers_the_same_questions(french):
    [sense] = french.synsets("voiture", "n")
    assert (sense.words, sense.counts, sense.gloss) == (("voiture", "bagnole"), (0, 0), "véhicule")
    assert len(french.synsets("vélo", "n")) == 2
    assert french.base_forms("Voiture", "n") == ("voiture",)
    assert french.base_forms("voitures", "n") == ()
    assert french.knows("pomme de terre")
    assert not french.knows("voiture", "v")
    assert french.antonyms("chaud") == {"froid"}
    assert french.identity == "tiny-fr:1.0"


def test_the_generator_works_with_it(french, tmp_path):
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("fr")
    nouns = [[{"LOWER": {"IN": ["voiture", "voitures", "vélo"]}}]]
    pipeline.add_pipe("attribute_ruler").add(nouns, {"POS": "NOUN", "TAG": "NOUN"})
    pipeline.to_disk(tmp_path / "fr")
    bound = generators.make(f'wordnet(lexicon="tiny-fr:1.0", pipeline="{tmp_path / "fr"}", n=5)')
    text = {"premise": "La voiture passe; Voiture!", "hypothesis": "Un vélo, deux voitures."}
    [made] = bound.function([Problem("p", TASKS["nli"], text, "neutral")], [1])
    assert made.text["premise"] == "La bagnole passe; Bagnole!"
    assert made.text["hypothesis"] == text["hypothesis"]  # two senses; a plural
    assert "tiny-fr:1.0" in bound.signature


def test_an_unknown_one_names_those_that_exist(french):
    with refuses(BadInput):
        other_wordnet("omw-xx:9")


def test_without_wn_the_extra_is_named():
    code = "import sys; sys.modules['wn'] = None\nfrom otherwords.words.lexicon import other_wordnet\n"
    done = subprocess.run(
        [sys.executable, "-c", code + "other_wordnet('x')"], capture_output=True, text=True, check=False
    )
    assert "MissingExtra" in done.stderr
    assert "pip install 'otherwords[wn]'" in done.stderr
