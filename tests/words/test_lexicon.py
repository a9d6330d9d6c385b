from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import otherwords
from otherwords.words.lexicon import PARTS, lexicon

ASSETS = Path(otherwords.__file__).parent / "assets" / "wordnet"


@pytest.mark.parametrize("name", ["synsets", "index", "exceptions"])
def test_the_table_is_what_its_card_says(name):
    text = gzip.decompress((ASSETS / f"{name}.tsv.gz").read_bytes())
    card = (ASSETS / "README.md").read_text(encoding="utf-8")
    row = next(line for line in card.splitlines() if f"`{name}.tsv.gz`" in line)
    assert hashlib.sha256(text).hexdigest() in row
    assert f"| {len(text.splitlines()):,} |" in row
    assert "Princeton University" in (ASSETS / "LICENSE").read_text(encoding="utf-8")


def test_the_size_of_wordnet_3():
    # Unique strings and synsets of WordNet 3.0 as its documentation (wnstats) counts them.
    lines = gzip.decompress((ASSETS / "index.tsv.gz").read_bytes()).decode().splitlines()
    counts = {part: sum(line.split("\t")[1] == part for line in lines) for part in PARTS.values()}
    assert counts == {"n": 117_798, "v": 11_529, "a": 21_479, "r": 4_481}
    kinds = [line[0] for line in gzip.decompress((ASSETS / "synsets.tsv.gz").read_bytes()).decode().splitlines()]
    assert {kind: kinds.count(kind) for kind in "nvr"} == {"n": 82_115, "v": 13_767, "r": 3_621}
    assert kinds.count("a") + kinds.count("s") == 18_156


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
