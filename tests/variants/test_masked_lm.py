"""MERGE's rules (Zgreaban et al. 2025, section 3) on masked-LMs that say what they are told."""

from __future__ import annotations

import json
import re
from collections import Counter

import polars as pl
import pytest
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from varying import vary_rows

from otherwords.problem import TASKS, Note, Problem, Variant
from otherwords.registry import generators
from otherwords.words.tagging import tagger


def model(folder, name: str, result: dict) -> str:
    (folder / f"{name}.json").write_text(json.dumps(result), encoding="utf-8")
    return f"{name}=scripted:{folder / name}.json"


def merge(folder, texts: tuple[str, str], *models: dict, **options) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Variants and notes of one problem; the masked-LMs are called a, b, ..."""
    specs = [model(folder, name, result) for name, result in zip("abc", models, strict=False)]
    result = ", ".join(f"{name}={json.dumps(value)}" for name, value in ({"least": 1, "n": 0} | options).items())
    frame = pl.DataFrame({"id": ["p"], "premise": [texts[0]], "hypothesis": [texts[1]], "label": ["neutral"]})
    return vary_rows(frame, [f"masked-lm(models={json.dumps(specs)}, {result})"])


def replacements(variants: pl.DataFrame) -> set[tuple[str, str]]:
    return set(variants.select("replaced", "replacement").rows()) if variants.height else set()


def counted(notes: pl.DataFrame, model: str, field: str) -> dict[str, tuple[int, int]]:
    """What each filter removed, and what had reached it."""
    some = notes.filter(model=model, field=field).select("what", "count", "reached").rows()
    return {what.removeprefix("left out: "): (count, int(reached)) for what, count, reached in some}


def listed(*pairs: tuple[str, float]) -> list[list]:
    return [list(pair) for pair in pairs]


def test_figure_2(tmp_path):
    """`teen` has another class than `small`, `girl` is already part of the problem, `tiny` is less likely."""
    premise, hypothesis = "A small girl is running in the park.", "A small girl is outside."
    sizes = listed(("little", 0.3), ("teen", 0.2), ("girl", 0.15), ("young", 0.12), ("small", 0.1), ("tiny", 0.05))
    girls = listed(("boy", 0.4), ("dog", 0.3), ("girl", 0.2), ("running", 0.05))
    result = {
        "A [MASK] girl is running in the park.": sizes,
        "A [MASK] girl is outside.": sizes,
        "A small [MASK] is running in the park.": girls,
        "A small [MASK] is outside.": girls,
    }
    variants, _ = merge(tmp_path, (premise, hypothesis), result, top=6)
    assert replacements(variants) == {("small", "little"), ("small", "young"), ("girl", "boy"), ("girl", "dog")}
    assert set(variants["classes"]) == {"noun+adjective"}
    row = variants.row(by_predicate=pl.col("replacement") == "little", named=True)
    assert (row["premise"], row["hypothesis"]) == ("A little girl is running in the park.", "A little girl is outside.")
    assert (row["label"], row["word_class"], row["origin"]) == ("neutral", "adjective", "a")


def test_boy_does_not_become_dog_where_dogs_are(tmp_path):
    """Section 3: "two dogs and a boy swim" would no longer entail that only one boy swims."""
    boys = listed(("dog", 0.4), ("girl", 0.3), ("boy", 0.1))
    result = {"Two dogs and a [MASK] swim.": boys, "Only one [MASK] is swimming.": boys}
    variants, notes = merge(tmp_path, ("Two dogs and a boy swim.", "Only one boy is swimming."), result, top=3)
    assert replacements(variants) == {("boy", "girl")}
    assert counted(notes, "a", "premise")["already in the problem"] == (1, 2)


PREMISE, HYPOTHESIS = "A small dog sees a small cat.", "The small dog sleeps."
FIRST, SECOND, ONLY = "A [MASK] dog sees a small cat.", "A small dog sees a [MASK] cat.", "The [MASK] dog sleeps."
A = {
    FIRST: listed(("big", 0.30), ("young", 0.20), ("red", 0.15), ("fire", 0.12), ("small", 0.10)),
    SECOND: listed(("big", 0.30), ("old", 0.25), ("red", 0.15), ("fire", 0.12), ("small", 0.10)),
    ONLY: listed(("young", 0.30), ("fire", 0.25), ("old", 0.20), ("small", 0.10), ("ugly", 0.05)),
}
B = {
    FIRST: listed(("old", 0.40), ("red", 0.20), ("small", 0.15), ("big", 0.10), ("ugly", 0.05)),
    SECOND: listed(("young", 0.30), ("old", 0.25), ("small", 0.15), ("ugly", 0.10), ("fire", 0.05)),
    ONLY: listed(("big", 0.30), ("small", 0.20), ("ugly", 0.10), ("old", 0.05), ("fire", 0.04)),
}
BY_HAND = {
    # likelier than "small":  a, first: big young red fire   second: big old red fire   so in P: big red fire
    #                         b, first: old red              second: young old          so in P: old
    # in P by either: big red fire old.   in H: a young fire old, b big; by either: young fire old big.
    # in both: big fire old, of which "fire" is a noun.
    "": {"big", "old"},
    # P, but for "fire": big red old; H: young old big
    "union": {"big", "red", "old", "young"},
    # all five suggestions but "small":  a, P: big red fire;  b, P: old ugly;  H: young fire old ugly, big ugly old fire
    # in both: big fire old ugly, and again without "fire"
    "class-only": {"big", "old", "ugly"},
    "probability-only": {"big", "old", "fire"},
    "none": {"big", "old", "ugly", "fire"},
}


@pytest.mark.parametrize("ablation", BY_HAND)
def test_all_set_operations_by_hand(tmp_path, ablation):
    variants, _ = merge(tmp_path, (PREMISE, HYPOTHESIS), A, B, top=5, classes="adjective", ablation=ablation)
    assert {new for _, new in replacements(variants)} == BY_HAND[ablation]
    new = variants["replacement"]
    for row, word in zip(variants.iter_rows(named=True), new, strict=True):
        assert row["premise"] == PREMISE.replace("small", word)
        assert row["hypothesis"] == HYPOTHESIS.replace("small", word)


def test_scrambled_letters_are_those_of_the_suggestions(tmp_path):
    variants, _ = merge(tmp_path, (PREMISE, HYPOTHESIS), A, B, top=5, classes="adjective", ablation="scrambled")
    new = variants["replacement"].to_list()
    assert sorted(map(sorted, new)) == [sorted("big"), sorted("old")]
    assert not {"big", "old"} & set(new)
    for row in variants.iter_rows(named=True):
        assert row["premise"] == PREMISE.replace("small", row["replacement"])
        assert row["hypothesis"] == HYPOTHESIS.replace("small", row["replacement"])


def test_ablations_are_made_of_the_problems_that_pass_all_filters(tmp_path):
    """Two suggestions pass with all filters on: `least` of 3 leaves nothing, though four pass with none."""
    texts, options = (PREMISE, HYPOTHESIS), {"top": 5, "classes": "adjective", "least": 3}
    for ablation in ("", *BY_HAND, "scrambled"):
        variants, notes = merge(tmp_path, texts, A, B, ablation=ablation, **options)
        assert variants.height == 0
        assert "left out: a word class with fewer than 3 suggestions" in notes["what"].to_list()


def test_origins_are_all_that_accept_a_word_in_some_text(tmp_path):
    """`big` by a in P and by b in H, `old` the other way round; probabilities are told where they accept it."""
    variants, notes = merge(tmp_path, (PREMISE, HYPOTHESIS), A, B, top=5, classes="adjective")
    assert set(variants["origin"]) == {"a+b"}
    row = variants.row(by_predicate=pl.col("replacement") == "big", named=True)
    result = [
        (one["field"], one["at"], one["from"], one["to"], one["pos"], one["p"]) for one in json.loads(row["changes"])
    ]
    assert result == [
        ("premise", 2, "small", "big", "adjective", {"a": [0.3, 0.1]}),
        ("premise", 19, "small", "big", "adjective", {"a": [0.3, 0.1]}),
        ("hypothesis", 4, "small", "big", "adjective", {"b": [0.3, 0.2]}),
    ]
    kept = notes.filter(what="suggestions kept").select("word_class", "origin", "count").rows()
    assert kept == [("adjective", "a+b", 2)]


def test_filters_count_what_reached_them(tmp_path):
    """By hand from the lists above: two places of five suggestions in the premise, one of which is "small".

    What is accepted at both places counts twice, at every filter: big, red and fire of a are six.
    """
    _, notes = merge(tmp_path, (PREMISE, HYPOTHESIS), A, B, top=5, classes="adjective")
    assert counted(notes, "a", "premise") == {
        "no whole word": (0, 10),
        "no likelier than the word itself": (2, 10),
        "already in the problem": (0, 8),
        "not at every occurrence": (2, 8),
        "not in every text": (2, 6),
        "of another word class": (2, 4),
        "of another word class in another text": (0, 2),
    }
    assert counted(notes, "b", "premise") == {
        "no whole word": (0, 10),
        "no likelier than the word itself": (6, 10),
        "already in the problem": (0, 4),
        "not at every occurrence": (2, 4),
        "not in every text": (0, 2),
        "of another word class": (0, 2),
        "of another word class in another text": (0, 2),
    }


def test_filters_can_be_counted_each_by_itself(tmp_path):
    """Of five in the hypothesis: a has "small" and "ugly" that are no likelier, "small" that is there, and a noun."""
    _, notes = merge(tmp_path, (PREMISE, HYPOTHESIS), A, B, top=5, classes="adjective", counts="all")
    found = counted(notes, "a", "hypothesis")
    assert found["no likelier than the word itself"] == (2, 5)
    assert found["already in the problem"] == (1, 5)
    assert found["of another word class"] == (1, 5)


def test_pieces_punctuation_and_numbers_are_no_words(tmp_path):
    result = listed(("##s", 0.2), (",", 0.2), ("2nd", 0.2), ("cat", 0.3), ("dog", 0.1))
    script = {"A [MASK] runs.": result, "The [MASK] sleeps.": result}
    variants, notes = merge(tmp_path, ("A dog runs.", "The dog sleeps."), script, top=5)
    assert replacements(variants) == {("dog", "cat")}
    assert counted(notes, "a", "premise")["no whole word"] == (3, 5)


def test_the_same_masked_lm_must_accept_every_occurrence(tmp_path):
    here, there = listed(("cat", 0.4), ("dog", 0.1)), listed(("dog", 0.4), ("cat", 0.1))
    first, second, other = "A [MASK] sees a dog.", "A dog sees a [MASK].", "The [MASK] sleeps."
    one, two = {first: here, second: there, other: here}, {first: there, second: here, other: here}
    texts = ("A dog sees a dog.", "The dog sleeps.")
    separate, _ = merge(tmp_path, texts, one, two, top=2)
    assert separate.height == 0
    together, _ = merge(tmp_path, texts, one | {second: here}, two, top=2)
    assert together["premise"].to_list() == ["A cat sees a cat."]
    assert together["origin"].to_list() == ["a+b"], "b accepts it in the hypothesis"


def test_capitals_are_those_of_the_place_and_words_are_compared_without(tmp_path):
    """A model that knows capitals finds "Boys" at the start of a sentence, and "boys" inside."""
    result = {
        "[MASK] run in the park.": listed(("Girls", 0.4), ("boys", 0.3), ("Men", 0.2), ("Boys", 0.1)),
        "The [MASK] run.": listed(("girls", 0.4), ("men", 0.35), ("boys", 0.2), ("Boys", 0.05)),
    }
    variants, _ = merge(tmp_path, ("Boys run in the park.", "The boys run."), result, top=4, classes="noun")
    assert variants.select("premise", "hypothesis").rows() == [("Girls run in the park.", "The girls run.")]
    [first, second] = json.loads(variants["changes"][0])
    assert first["p"]["a"] == [0.4, 0.3], "the word itself is as likely as its likeliest spelling"
    assert (second["from"], second["to"]) == ("boys", "girls")


def test_class_is_that_of_the_word_in_its_sentence(tmp_path):
    """`walk` and `run` are nouns here and verbs there; `house` is no verb."""
    words = listed(("run", 0.4), ("house", 0.3), ("walk", 0.1))
    nouns = {"The [MASK] was long.": words, "A [MASK] is fun.": words}
    verbs = {"They [MASK] to school.": words, "The children [MASK] to a park.": words}
    as_noun, _ = merge(tmp_path, ("The walk was long.", "A walk is fun."), nouns, top=3)
    assert {(row["word_class"], row["replacement"]) for row in as_noun.iter_rows(named=True)} >= {("noun", "run")}
    as_verb, _ = merge(tmp_path, ("They walk to school.", "The children walk to a park."), verbs, top=3)
    assert {(row["word_class"], row["replacement"]) for row in as_verb.iter_rows(named=True)} == {("verb", "run")}


def test_a_word_of_different_classes_is_no_shared_word(tmp_path):
    """A noun in the premise, a verb in the hypothesis: nothing is asked, so that an empty script will do."""
    variants, notes = merge(tmp_path, ("The walk was long.", "They walk to school."), {"vocabulary": ["walk"]})
    assert variants.height == 0
    assert notes.select("what", "count").rows() == [("left out: a shared word of different classes", 1)]


def test_a_word_of_several_tokens_gives_nothing_unless_it_is_asked_for(tmp_path):
    """Its pieces, in turn: 0.2 times 0.5; a bike is likelier, a chair is not."""
    result: dict = {"vocabulary": ["skate", "##board"]}
    for before in ("A", "The"):
        result[f"{before} [MASK] falls."] = listed(("bike", 0.3), ("chair", 0.05))
        result[f"{before} [MASK] [MASK] falls."] = listed(("skate", 0.2))
        result[f"{before} skate [MASK] falls."] = listed(("##board", 0.5))
    texts = ("A skateboard falls.", "The skateboard falls.")
    without, notes = merge(tmp_path, texts, result, top=2, classes="noun")
    assert without.height == 0
    assert counted(notes, "a", "premise")["a place with a word of several tokens"] == (1, 1)
    variants, _ = merge(tmp_path, texts, result, top=2, classes="noun", several=True)
    assert replacements(variants) == {("skateboard", "bike")}
    assert json.loads(variants["changes"][0])[0]["p"] == {"a": [0.3, 0.1]}


def test_subsamples_are_drawn_of_the_same_size_and_reported(tmp_path):
    animals = listed(*((word, 0.15) for word in ("cat", "cow", "pig", "horse", "goat", "fox")), ("dog", 0.05))
    script = {"A [MASK] runs.": animals, "The [MASK] sleeps.": animals}
    texts = ("A dog runs.", "The dog sleeps.")
    whole, _ = merge(tmp_path, texts, script, top=7)
    assert whole.height == 6
    assert "subsamples" not in whole.columns
    variants, _ = merge(tmp_path, texts, script, top=7, n=2, subsamples=5)
    draws = Counter(number for row in variants["subsamples"] for number in row.split())
    assert draws == dict.fromkeys("12345", 2)
    assert variants.height > 2, "draws differ"
    assert variants["replacement"].is_unique().all()
    assert replacements(variants) <= replacements(whole)


def test_frequencies_come_from_a_corpus(tmp_path):
    (tmp_path / "corpus.txt").write_text("A cat. The cat!\n" + "Cow cows " * 12 + "\n", encoding="utf-8")
    words = listed(("cat", 0.3), ("cow", 0.3), ("pig", 0.3), ("dog", 0.05))
    script = {"A [MASK] runs.": words, "The [MASK] sleeps.": words}
    texts = ("A dog runs.", "The dog sleeps.")
    variants, _ = merge(tmp_path, texts, script, top=4, corpus=str(tmp_path / "corpus.txt"))
    result = {row[0]: row[1:] for row in variants.select("replacement", "frequency", "frequency_band").rows()}
    assert result == {"cat": (2, "1-9"), "cow": (12, "10-99"), "pig": (0, "0")}
    assert "corpus-" in variants["how"][0]


def test_columns_of_the_problem_stay(tmp_path):
    words = listed(("cat", 0.3), ("dog", 0.05))
    spec = model(tmp_path, "a", {"A [MASK] runs.": words, "The [MASK] sleeps.": words})
    rows = {"id": ["p"], "premise": ["A dog runs."], "hypothesis": ["The dog sleeps."], "label": ["neutral"]}
    made, _ = vary_rows(
        pl.DataFrame({**rows, "origin": ["mine"], "topic": [7]}), [f'masked-lm(models="{spec}", least=1)']
    )
    assert made.select("origin", "input_origin", "topic").rows() == [("a", "mine", 7)]


def test_a_word_that_the_context_has_too_stays(tmp_path):
    """In a-NLI the observations must not change: a dog that is in one of them is not replaced in the hypotheses."""
    words = listed(("cat", 0.5), ("man", 0.3), ("dog", 0.2))
    result = {"The [MASK] ran.": words, "The [MASK] slept.": words}
    spec = model(tmp_path, "a", result)
    vary = generators.make(f'masked-lm(models="{spec}", least=1, top=3)').function
    texts = {"obs1": "It rained.", "obs2": "A cat came.", "hyp1": "The dog ran.", "hyp2": "The dog slept."}
    free = Problem("free", TASKS["a-nli"], texts, "hyp1")
    held = Problem("held", TASKS["a-nli"], {**texts, "obs1": "There was a dog."}, "hyp1")
    made = [one for one in vary([free, held], [1, 1]) if isinstance(one, Variant)]
    assert [(one.of, one.text["hyp1"], one.text["hyp2"]) for one in made] == [
        ("free", "The man ran.", "The man slept.")
    ]


NOUNS = ("dog", "cat", "man", "woman", "boy", "horse", "table", "ball")
VERBS = ("sees", "likes", "finds")
ADJECTIVES = ("small", "big", "old", "red", "young")
sentences = st.builds(
    "{} {} {} {} a {} {}.".format,
    *(st.sampled_from(some) for some in (("The", "A"), ADJECTIVES, NOUNS, VERBS, ADJECTIVES, NOUNS)),
)


@pytest.fixture(scope="module")
def anything(tmp_path_factory):
    spec = model(tmp_path_factory.mktemp("any"), "any", {"vocabulary": [*NOUNS, *VERBS, *ADJECTIVES]})
    return generators.make(f'masked-lm(models="{spec}(otherwise=any)", least=1, n=0)').function


def words_of(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def overlap(problem: Problem) -> int:
    """How many words premise and hypothesis have in common, counted as often as both have them."""
    one, other = (Counter(words_of(problem.text[name])) for name in ("premise", "hypothesis"))
    return (one & other).total()


@settings(max_examples=at_most(30), deadline=None)
@given(premise=sentences, hypothesis=sentences, seed=st.integers(0, 99))
def test_overlap_length_class_and_all_else_stay(anything, premise, hypothesis, seed):
    problem = Problem("p", TASKS["nli"], {"premise": premise, "hypothesis": hypothesis}, "neutral", {"topic": 3})
    made = list(anything([problem], [seed]))
    variants = [one for one in made if isinstance(one, Variant)]
    assert {one.of for one in made if isinstance(one, Note)} <= {"p"}
    assert len({tuple(one.text.values()) for one in variants} | {(premise, hypothesis)}) == len(variants) + 1
    for variant in variants:
        assert overlap(variant) == overlap(problem)
        assert (variant.label, variant.task, variant.extra["topic"]) == ("neutral", problem.task, 3)
        changes = json.loads(variant.extra["changes"])
        for name in ("premise", "hypothesis"):
            assert len(words_of(variant.text[name])) == len(words_of(problem.text[name]))
            own = [one for one in changes if one["field"] == name]
            assert own
            if len(own) == 1:  # where there are several, each is tagged by itself
                [tokens] = tagger()([variant.text[name]])
                [pos] = [token.pos for token in tokens if token.start == own[0]["at"]]
                assert pos == {"noun": "NOUN", "verb": "VERB", "adjective": "ADJ"}[variant.extra["word_class"]]
