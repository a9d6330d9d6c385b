"""English or not: sentences by hand in many languages, and odd English ones."""

from __future__ import annotations

import tracemalloc
import warnings
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import otherwords as ow
from otherwords.problem import TASKS, Bucket, Problem
from otherwords.registry import KINDS, checks, generators
from otherwords.words import jaccard, language, lexical_distance, substitutions
from otherwords.words.language import looks_english, split_words, warn_of_other_language

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
        language.forget()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            list(vary(problems, [1] * 5))
        assert sum("seems to be in another language" in str(one.message) for one in caught) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("一个男人在公园里弹吉他。", list("一个男人在公园里弹吉他")),
        ("犬が「走る」、2匹。", ["犬", "が", "走", "る", "2", "匹"]),
        ("ผู้ชาย", ["ผู้", "ช", "า", "ย"]),
        ("개가 공원에서 뛴다.", ["개가", "공원에서", "뛴다."]),
        ("Ein Straße — naïve!", ["Ein", "Straße", "—", "naïve!"]),
        ("", []),
    ],
)
def test_a_text_without_blanks_is_more_than_one_word(text, words):
    assert split_words(text) == words


def test_distances_of_texts_without_blanks_lie_between_same_and_different():
    one, other = "一个男人在公园里弹吉他。", "一个男人在公园里弹钢琴。"
    assert 0.6 < jaccard(one, other) < 1
    assert 0 < lexical_distance(one, other) < 0.4
    assert substitutions(one, other) == [("吉 他", "钢 琴")]
    kept, dropped = (next(iter(checks.make("surface").function([bucket(one, text)]))) for text in (other, other * 4))
    assert (kept.keep, dropped.keep, dropped.reason) == (True, False, "length ratio 4.00")


def bucket(premise: str, reworded: str) -> Bucket:
    problem = Problem("p", TASKS["d-nli"], {"premise": "", "hypothesis": "", "update": premise}, "weakener")
    return Bucket(problem, (problem.restate(update=reworded),))


GERMAN = {"premise": "Ein Mann spielt Gitarre im Park.", "hypothesis": "Der Mann macht nicht viel Musik."}


def frame(**texts):
    rows = [{"id": str(n), **texts, "label": "neutral"} for n in range(3)]
    variants = [{**row, "id": f"{row['id']}.1", "of": row["id"], "premise": texts["premise"] + " Ja."} for row in rows]
    return pl.from_dicts([*rows, *variants], infer_schema_length=None)


def warned(call) -> list[str]:
    language.forget()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in caught if "another language" in str(one.message)]


@pytest.mark.parametrize(
    "call",
    [
        lambda table: ow.vary(table, ["contractions"]),
        lambda table: ow.check(table, ["label-safety"]),
        lambda table: ow.check(table, ["mutual-entailment(judge=nli-small)"]),
        lambda table: ow.answer(table, "nli-small", cache=None, canary=False),
    ],
    ids=["generator", "check", "judge", "model"],
)
def test_what_supports_only_english_says_so_once(call):
    [message] = warned(lambda: call(frame(**GERMAN)))
    assert "supports only English" in message
    assert not warned(lambda: call(frame(premise="A man plays a guitar in the park.", hypothesis="It isn't music.")))


@pytest.mark.parametrize("texts", [GERMAN, {"premise": "一个男人在公园里弹吉他。", "hypothesis": "这个男人在睡觉。"}])
def test_a_study_in_another_language_needs_no_english(texts):
    """Rewordings of one's own, a model of one's own, and checks that know no language: no warning, and numbers."""

    def study():
        suite = ow.check(frame(**texts), ["surface", "overlap(most=0.99)"])
        assert suite["check:surface"].drop_nulls().all()
        answers = ow.answer(suite, "scripted", cache=None, canary=False)
        assert ow.score(answers, ["flip_rate"], replicates=10)[0].value is not None

    assert warned(study) == []


def test_every_plug_in_that_knows_only_english_says_so():
    """By the modules that they use: the word lists, the tagger and the parser are English."""
    known = {(kind, plugin.name) for kind, registry in KINDS.items() for plugin in registry if plugin.language == "en"}
    assert known == {
        *(("generators", name) for name in ("contractions", "masked-lm", "reworded", "structural")),
        *(("generators", name) for name in ("tautology", "wordnet")),
        ("generators", "wordnet-ie"),
        *(("checks", name) for name in ("equivalence", "fluency", "label-safety", "roles", "stack")),
        ("models", "nli-small"),
        ("masked_lms", "mlm-small"),
        ("metrics", "syntactic_distance"),
    }


def test_the_language_of_a_text_of_megabytes_is_told_by_its_beginning():
    tracemalloc.start()
    assert not looks_english("Ein Mann spielt Gitarre im Park. " * 100_000)
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    "texts",
    [
        ["Un homme dort sur le canapé.", "L'homme n'est pas réveillé.", "Deux chiens courent.", "Les animaux bougent."],
        ["Een man slaapt op de bank.", "De man is niet wakker.", "Twee honden rennen.", "De dieren bewegen."],
    ],
)
def test_texts_that_are_too_short_to_tell_are_judged_together(texts):
    language.forget()
    with pytest.warns(UserWarning, match="supports only English"):
        language.warn_if_foreign(KINDS["generators"].get("contractions"), texts)


def test_data_that_are_english_at_the_beginning_only_are_noticed():
    """Shards are large: the first texts of one do not speak for all."""
    language.forget()
    texts = ["A man is asleep on the couch."] * 5_000 + ["Un homme dort sur le canapé de la maison."] * 5_000
    with pytest.warns(UserWarning, match="supports only English"):
        language.warn_if_foreign(KINDS["generators"].get("contractions"), texts)


PIECES = st.sampled_from(
    ["the", "is", "la", "de", "es", "isn't", "esn't", "n't", "'", "l'", "'de", "N'T", "a'", "x", "1", ".", " ", " "]
)


@given(st.lists(PIECES | st.text(max_size=2), max_size=9).map("".join))
def test_a_quick_look_finds_english_only_where_a_long_one_does(text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language, "_is_plain_english", lambda text: False)
        thorough = looks_english(text)
    assert looks_english(text) == thorough
