"""WordNet as shipped, and a tiny French wordnet in a folder of its own."""

from __future__ import annotations

import gzip
import hashlib
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import otherwords
from otherwords.errors import BadInput
from otherwords.problem import TASKS, Problem
from otherwords.registry import generators
from otherwords.words.lexicon import PARTS, lexicon, other_wordnet

ASSETS = Path(otherwords.__file__).parent / "assets" / "wordnet"


def unpacked(name: str) -> bytes:
    if name == "exceptions":
        return gzip.decompress((ASSETS / f"{name}.tsv.gz").read_bytes())
    return pl.read_parquet(ASSETS / f"{name}.parquet")["text"][0].encode()


@pytest.mark.parametrize("name", ["synsets", "exceptions"])
def test_the_table_is_what_its_card_says(name):
    text = unpacked(name)
    card = (ASSETS / "README.md").read_text(encoding="utf-8")
    row = next(line for line in card.splitlines() if line.startswith(f"| `{name}."))
    assert hashlib.sha256(text).hexdigest() in row
    assert f"| {len(text.splitlines()):,} |" in row
    assert "Princeton University" in (ASSETS / "LICENSE").read_text(encoding="utf-8")


def lemmas() -> dict[str, list[str]]:
    """The lemmas of each part of speech in order."""
    found: dict[str, set[str]] = {part: set() for part in PARTS.values()}
    for line in unpacked("synsets").decode().splitlines():
        kind, words, *_ = line.split("\t")
        found["a" if kind == "s" else kind].update(re.sub(r":\d+", "", words).lower().split("|"))
    return {part: sorted(some) for part, some in found.items()}


def test_the_size_of_wordnet_3():
    # Unique strings and synsets of WordNet 3.0 as its documentation (wnstats) counts them.
    counts = {part: len(some) for part, some in lemmas().items()}
    assert counts == {"n": 117_798, "v": 11_529, "a": 21_479, "r": 4_481}
    kinds = [line[0] for line in unpacked("synsets").decode().splitlines()]
    assert {kind: kinds.count(kind) for kind in "nvr"} == {"n": 82_115, "v": 13_767, "r": 3_621}
    assert kinds.count("a") + kinds.count("s") == 18_156


def test_the_senses_of_every_lemma_are_those_of_the_index_files_in_their_order():
    """The checksum is of the files index.* of WordNet 3.0, as lines of lemma, part of speech and numbers of synsets."""
    index = lexicon()._index
    rows = ((lemma, part, index[lemma, part]) for part, some in lemmas().items() for lemma in some)
    text = "".join(f"{lemma}\t{part}\t{' '.join(map(str, numbers))}\n" for lemma, part, numbers in rows)
    assert hashlib.sha256(text.encode()).hexdigest() == (
        "f56b03d8fcae3f465e54671ac404fb97967acc634523001d832739f83aa9ebc5"
    )


@pytest.mark.parametrize(
    ("word", "pos", "names"),
    [
        # A higher count comes first (5, 4, 0, 0), whatever the case; of equals the later line.
        ("China", "n", "china.n.01 china.n.02 taiwan.n.01 chinaware.n.01"),
        # The first and the fourth have both "Earth" and "earth", which count as one; the second and third are equals.
        ("earth", "n", "earth.n.01 earth.n.02 land.n.04 earth.n.04 earth.n.05 worldly_concern.n.01 ground.n.09"),
        ("go over", "v", "review.v.03 go_off.v.05 check.v.01 fall_over.v.01"),
        # Satellites are adjectives: by their count first, of equals behind heads of earlier lines.
        ("main", "a", "chief.s.01 independent.a.03 main.s.03"),
        ("linear", "a", "linear.a.01 linear.a.02 analogue.a.01 linear.s.04 linear.s.05"),
    ],
)
def test_senses_come_in_the_order_that_wordnet_gives(word, pos, names):
    """As the program `wn` of WordNet 3.0 prints them (`wn earth -over`)."""
    assert [synset.name for synset in lexicon().synsets(word, pos)] == names.split()


@pytest.mark.parametrize(
    ("form", "pos", "base"),
    [
        ("dogs", "n", "dog"), ("children", "n", "child"), ("churches", "n", "church"), ("women", "n", "woman"),
        ("ladies", "n", "lady"), ("wolves", "n", "wolf"), ("ran", "v", "run"), ("was", "v", "be"),
        ("hoping", "v", "hope"), ("hotter", "a", "hot"), ("finest", "a", "fine"), ("ice creams", "n", "ice cream"),
    ],
)  # fmt: skip
def test_base_forms(form, pos, base):
    assert base in lexicon().base_forms(form, pos)
    assert lexicon().knows(form, pos)


def test_senses_come_in_their_order_with_names_and_counts():
    first, second = lexicon().synsets("man", "n")[:2]
    assert (first.name, first.words, first.counts) == ("man.n.01", ("man", "adult male"), (749, 0))
    assert second.name == "serviceman.n.01"
    assert lexicon().synsets("majestic")[0].name == "majestic.s.01"
    assert first.gloss.startswith("an adult person who is male")


def test_a_word_without_a_part_of_speech_is_asked_for_in_all():
    found = [synset.pos for synset in lexicon().synsets("light")]
    assert set(found) == {"n", "v", "a", "s", "r"}
    assert found == sorted(found, key="nvasr".index) or found.index("v") > found.index("n")


def test_antonyms_go_both_ways():
    assert "cold" in lexicon().antonyms("hot")
    assert "hot" in lexicon().antonyms("Cold")
    assert lexicon().antonyms("dog") == frozenset()


def test_unknown_words_have_nothing():
    assert lexicon().synsets("qwertz") == []
    assert lexicon().base_forms("qwertz") == ()


@given(st.text(max_size=12))
def test_any_text_may_be_asked_for(text):
    for synset in lexicon().synsets(text):
        assert re.fullmatch(r".+\.[nvasr]\.\d\d+", synset.name)
        assert len(synset.words) == len(synset.counts)


# Other wordnets

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


@pytest.fixture(scope="module")
def french(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("wordnet")
    wn = pytest.importorskip("wn")
    before = wn.config.database_path.parent
    wn.config.data_directory = tmp_path / "wn"
    (tmp_path / "tiny.xml").write_text(tiny(), encoding="utf-8")
    wn.add(tmp_path / "tiny.xml", progress_handler=None)
    other_wordnet.cache_clear()
    yield other_wordnet("tiny-fr:1.0")
    other_wordnet.cache_clear()
    wn.config.data_directory = before


def test_another_wordnet_has_the_same_interface(french):
    [sense] = french.synsets("voiture", "n")
    assert (sense.words, sense.counts, sense.gloss) == (("voiture", "bagnole"), (0, 0), "véhicule")
    assert len(french.synsets("vélo", "n")) == 2
    assert french.base_forms("Voiture", "n") == ("voiture",)
    assert french.base_forms("voitures", "n") == ()
    assert french.knows("pomme de terre")
    assert not french.knows("voiture", "v")
    assert french.antonyms("chaud") == {"froid"}
    assert french.identity == "tiny-fr:1.0"


def test_the_generator_takes_another_wordnet(french, tmp_path):
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


def test_an_unknown_wordnet_is_refused(french):
    with refuses(BadInput, where="wordnet.v1", field="lexicon"):
        other_wordnet("omw-xx:9")


def test_without_wn_the_extra_is_named():
    code = "import sys; sys.modules['wn'] = None\nfrom otherwords.words.lexicon import other_wordnet\n"
    done = subprocess.run(
        [sys.executable, "-c", code + "other_wordnet('x')"], capture_output=True, text=True, check=False
    )
    assert "MissingExtra" in done.stderr
    assert "pip install 'otherwords[wn]'" in done.stderr


@pytest.mark.parametrize(
    ("nouns", "kind"),
    [
        ("plumber senator refugee economist tourist twin quarterback", "person"),
        ("fox swan greyhound salmon mosquito", "animal"),
        ("potato campaign arm leg chair bridge energy tax god Clinton", ""),
    ],
)
def test_persons_and_animals_are_told_by_the_file_they_come_from(nouns, kind):
    """By the definitions, "tax" was a person once, and "chair" alive."""
    assert {noun: lexicon().kinds_of_being(noun)[0] for noun in nouns.split()} == dict.fromkeys(nouns.split(), kind)


def test_a_word_that_is_no_noun_is_no_being():
    assert lexicon().kinds_of_being("quickly") == lexicon().kinds_of_being("") == []
