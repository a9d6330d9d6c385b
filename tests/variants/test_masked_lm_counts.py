"""What does not change which suggestions MERGE has: counts, the order of masked-LMs, pieces; and that counts add up."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise

import polars as pl
import pytest
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from varying import vary_rows

from otherwords.problem import TASKS, Note, Problem, Variant
from otherwords.registry import generators
from otherwords.variants.masked_lm.counts import CLASS, CLASS_ELSEWHERE, ELSEWHERE, FILTERS, KEPT, UNLIKELY
from otherwords.variants.masked_lm.generator import UNSCRAMBLED

#: The filters that an ablation does without.
WITHOUT = {
    "": set(),
    "union": {ELSEWHERE, CLASS_ELSEWHERE},
    "class-only": {UNLIKELY},
    "probability-only": {CLASS, CLASS_ELSEWHERE},
    "none": {UNLIKELY, CLASS, CLASS_ELSEWHERE},
}
FLOWERS = ("She holds a flower tightly.", "He sees the flower here.")


def script(folder, name: str, result: dict) -> str:
    (folder / f"{name}.json").write_text(json.dumps(result), encoding="utf-8")
    return f"{name}=scripted:{folder / name}.json"


def merged(texts: tuple[str, str], models: list[str], options: str = "") -> tuple[pl.DataFrame, pl.DataFrame]:
    frame = pl.DataFrame({"id": ["p"], "premise": [texts[0]], "hypothesis": [texts[1]], "label": ["neutral"]})
    return vary_rows(frame, [f"masked-lm(models={json.dumps(models)}, classes=noun, least=1, n=0{options})"])


@pytest.fixture
def flowers(tmp_path):
    """`large` finds "Circle" unlikely and "Apple" likely, as names; `small` finds both likely, as nouns."""
    masked = [text.replace("flower", "[MASK]") for text in FLOWERS]
    large = [["Apple", 0.5], ["flower", 0.3], ["Circle", 0.01]]
    small = [["apple", 0.4], ["circle", 0.3], ["flower", 0.1]]
    result = {"large": large, "small": small}
    return {name: script(tmp_path, name, dict.fromkeys(masked, words)) for name, words in result.items()}


@pytest.mark.parametrize("options", ["", ", counts=all"])
@pytest.mark.parametrize("order", [("large", "small"), ("small", "large"), ("small",)])
def test_a_masked_lm_accepts_what_it_writes_itself(flowers, order, options):
    """ "Apple" and "Circle" of the other one are names, which neither adds nor takes away anything."""
    variants, _ = merged(FLOWERS, [flowers[name] for name in order], options)
    assert variants.select("replacement", "origin", "hypothesis").rows() == [
        ("apple", "small", "He sees the apple here."),
        ("circle", "small", "He sees the circle here."),
    ]


@pytest.mark.parametrize("order", [("large", "small"), ("small", "large")])
def test_ablations_keep_the_seeds_whatever_the_order(flowers, order):
    """The first that accepts a word writes it: without the class, that may be "Apple"."""
    models = [flowers[name] for name in order]
    for ablation in ("class-only", "probability-only", "none"):
        variants, _ = merged(FLOWERS, models, f", ablation={ablation}")
        assert variants["replacement"].to_list() == ["apple", "circle"]
    [apple, circle] = variants["hypothesis"]
    assert apple == {"large": "He sees the Apple here.", "small": "He sees the apple here."}[order[0]]
    assert circle == {"large": "He sees the Circle here.", "small": "He sees the circle here."}[order[0]]


def test_a_piece_is_not_the_word_to_beat(tmp_path):
    words = [["##dog", 0.5], ["cat", 0.3], ["dog", 0.1]]
    spec = script(tmp_path, "a", {"A big [MASK] runs.": words, "The [MASK] is tired.": words})
    variants, _ = merged(("A big dog runs.", "The dog is tired."), [spec])
    assert variants["replacement"].to_list() == ["cat"]
    assert json.loads(variants["changes"][0])[0]["p"] == {"a": [0.3, 0.1]}


def test_what_falls_by_its_class_in_another_text_has_its_own_name(tmp_path):
    """An apple in the premise, Apple in the hypothesis: the class takes it there, and for that reason it goes here."""
    here, there = (text.replace("flower", "[MASK]") for text in FLOWERS)
    others = [["circle", 0.3], ["flower", 0.1]]
    spec = script(tmp_path, "a", {here: [["apple", 0.5], *others], there: [["Apple", 0.5], *others]})
    variants, notes = merged(FLOWERS, [spec])
    assert variants["replacement"].to_list() == ["circle"]
    result = {(one["field"], one["what"]): (one["count"], one["reached"]) for one in notes.iter_rows(named=True)}
    assert result["premise", ELSEWHERE] == result["hypothesis", ELSEWHERE] == (0, "2")
    assert (result["premise", CLASS], result["premise", CLASS_ELSEWHERE]) == ((0, "2"), (1, "2"))
    assert (result["hypothesis", CLASS], result["hypothesis", CLASS_ELSEWHERE]) == ((1, "2"), (0, "1"))


def test_words_that_cannot_be_scrambled_are_counted(tmp_path):
    """Both are nouns and likelier; the letters of "oo" have no other order."""
    words = [["cow", 0.4], ["oo", 0.3], ["dog", 0.1]]
    spec = script(tmp_path, "a", {"A big [MASK] runs.": words, "The [MASK] is tired.": words})
    variants, notes = merged(("A big dog runs.", "The dog is tired."), [spec], ", ablation=scrambled")
    assert [sorted(one) for one in variants["replacement"]] == [sorted("cow")]
    assert notes.filter(what=KEPT)["count"].to_list() == [2]
    assert notes.filter(what=UNSCRAMBLED).select("count", "word_class").rows() == [(1, "noun")]


NOUNS = ("dog", "cat", "man", "horse", "ball")
VERBS = ("sees", "likes")
ADJECTIVES = ("small", "big", "old", "red", "young")
LARGE = ("Dog", "Horse", "Rose", "March", "Small", "##dog", "##s", "7")
sentences = st.builds(
    "{} {} {} {} a {} {}.".format,
    *(st.sampled_from(some) for some in (("The", "A"), ADJECTIVES, NOUNS, VERBS, ADJECTIVES, NOUNS)),
)


@pytest.fixture(scope="module")
def ablations(tmp_path_factory):
    words = {"vocabulary": [*NOUNS, *VERBS, *ADJECTIVES, *LARGE, "rose", "march", "table", "tiny"]}
    spec = script(tmp_path_factory.mktemp("any"), "any", words).partition("=")[2]
    models = json.dumps([f"a={spec}(otherwise=any)", f"b={spec}(otherwise=any, seed=5)"])
    return {
        name: generators.make(f'masked-lm(models={models}, top=14, least=1, n=0, ablation="{name}")').function
        for name in WITHOUT
    }


@settings(max_examples=at_most(40), deadline=None)
@given(premise=sentences, hypothesis=sentences, ablation=st.sampled_from(list(WITHOUT)))
def test_what_reached_a_filter_is_what_it_removed_and_what_reached_the_next(ablations, premise, hypothesis, ablation):
    """And behind the last one, for each masked-LM, class and field, are the changes that it accepts in the variants."""
    problem = Problem("p", TASKS["nli"], {"premise": premise, "hypothesis": hypothesis}, "neutral")
    made = list(ablations[ablation]([problem], [1]))
    notes = [one for one in made if isinstance(one, Note)]
    variants = [one for one in made if isinstance(one, Variant)]
    assert not {one.what for one in notes} & WITHOUT[ablation]
    assert sum(one.count for one in notes if one.what == KEPT) == len(variants)
    result = {(*_key(one), one.what): (one.count, int(one.about["reached"])) for one in notes if one.what in FILTERS}
    accepted = _accepted(variants)
    filters = [one for one in FILTERS if one not in WITHOUT[ablation]]
    for key in {key[:3] for key in result}:
        counts = [result.get((*key, what), (0, 0)) for what in filters]
        if key[1] in {variant.extra["word_class"] for variant in variants}:
            counts.append((0, accepted[key]))
        else:  # none is left, and the class may not have been looked at
            counts = counts[: filters.index(CLASS)] if CLASS in filters else counts
        assert all(reached - removed == after for (removed, reached), (_, after) in pairwise(counts))


def _key(note: Note) -> tuple[str, str, str]:
    return note.about["model"], note.about["word_class"], note.about["field"]


def _accepted(variants: list[Variant]) -> Counter[tuple[str, str, str]]:
    return Counter(
        (model, change["pos"], change["field"])
        for variant in variants
        for change in json.loads(variant.extra["changes"])
        for model in change["p"]
    )
