"""English or not: sentences by hand in many languages, and odd English ones."""

from __future__ import annotations

import warnings
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otherwords.problem import TASKS, Problem
from otherwords.registry import generators
from otherwords.words import english
from otherwords.words.english import looks_english, warn_of_other_language

DATA = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.mark.parametrize(
    "text",
    [
        "Un homme joue de la guitare dans le parc.",
        "Deux chiens courent dans l'herbe.",
        "Ein Mann spielt Gitarre im Park.",
        "Zwei Hunde laufen über die Wiese.",
        "Un hombre toca la guitarra en el parque.",
        "Dos perros corren por la hierba.",
        "Un uomo suona la chitarra nel parco.",
        "Een man speelt gitaar in het park.",
        "Mies soittaa kitaraa puistossa.",
        "一个男人在公园里弹吉他。",
        "男の人が公園でギターを弾いている。",
        "رجل يعزف على الجيتار في الحديقة.",
        "Мужчина играет на гитаре в парке.",
    ],
)
def test_other_languages_are_recognised(text):
    assert not looks_english(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Yes.",
        "42",
        "Kids playing soccer outdoors.",
        "Man sleeps.",
        "Isn’t, wasn't, won't!",
        "A woman in La Paz orders crème brûlée.",
        "The café de la Paix is in Paris, and it is old.",
        "木 Zoë can't — won't!",
        "BOYS PLAY BASKETBALL INSIDE",
    ],
)
def test_short_or_odd_english_is_english(text):
    assert looks_english(text)


@given(st.text())
def test_any_text_has_an_answer(text):
    assert looks_english(text) in (True, False)


def test_false_alarms_are_rarer_than_one_in_two_thousand():
    path = DATA / "ie_test" / "nli_data.parquet"
    if not path.exists():
        pytest.skip("needs shared/data/ie_test/nli_data.parquet")
    rows = pl.scan_parquet(path).filter(pl.col("split") == "dev").select("premise", "hypothesis").collect()
    texts = {text for column in rows.iter_columns() for text in column if text}
    assert sum(not looks_english(text) for text in texts) * 2000 < len(texts)


def test_it_warns_once_per_generator():
    french = ["Un homme joue de la guitare.", "Il est dans le parc."]
    with pytest.warns(UserWarning, match=r"first\.v1.*another language.*Un homme joue"):
        assert warn_of_other_language(french, "first.v1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert warn_of_other_language(french, "first.v1")
        assert not warn_of_other_language(["A man plays.", None, ""], "second.v1")
    with pytest.warns(UserWarning, match=r"second\.v1"):
        warn_of_other_language(french, "second.v1")


@pytest.mark.parametrize("spec", ["wordnet", "wordnet-ie(table={table})"])
def test_generators_warn_once_in_a_study(tmp_path, spec):
    pytest.importorskip("spacy")
    (tmp_path / "table.tsv").write_text("homme\tman\n", encoding="utf-8")
    vary = generators.make(spec.format(table=tmp_path / "table.tsv")).function
    text = {"premise": "Un homme joue de la guitare.", "hypothesis": "Il est dans le parc."}
    problems = [Problem(str(i), TASKS["nli"], text, "neutral") for i in range(5)]
    for _ in range(2):  # another study warns again
        english.forget()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            list(vary(problems, [1] * 5))
        assert sum("seems to be in another language" in str(one.message) for one in caught) == 1
