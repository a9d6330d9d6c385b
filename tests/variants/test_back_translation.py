"""Back-translation: there and back by two writers, with the translation kept beside what came of it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.problem import TASKS, Note, Problem, Variant
from otherwords.registry import generators

PAIR = {"premise": "A dog runs.", "hypothesis": "It moves."}
THERE = {"A dog runs.": ["Ein Hund rennt."], "It moves.": ["Es bewegt sich.", "Es geht.", "", "Es bewegt sich.", "Es…"]}
BACK = {"Ein Hund rennt.": ["A dog is running."], "Es bewegt sich.": ["It is moving."], "Es geht.": ["It moves"]}


def scripts(folder: Path, there: dict[str, list[str]], back: dict[str, list[str]]) -> str:
    for name, book in (("there", there), ("back", back)):
        (folder / f"{name}.json").write_text(json.dumps(book), encoding="utf-8")
    return f'there="scripted:{folder / "there.json"}", back="scripted:{folder / "back.json"}"'


@pytest.fixture
def books(tmp_path):
    return scripts(tmp_path, THERE, BACK)


def generate(spec: str) -> tuple[list[Variant], Counter]:
    found = list(generators.make(spec).function([Problem("p1", TASKS["nli"], PAIR, "entailment")], [7]))
    notes = Counter({one.what.removeprefix("left out: "): one.count for one in found if isinstance(one, Note)})
    return [one for one in found if isinstance(one, Variant)], notes


def test_there_and_back(books):
    found, left_out = generate(f"back-translation({books}, k=5)")
    assert [(one.text["hypothesis"], one.extra["pivot"]) for one in found] == [("It is moving.", "Es bewegt sich.")]
    assert left_out == {
        "says what the original says": 1,
        "on the way there: empty": 1,
        "on the way there: repeats another candidate": 1,
        "on the way there: has no end within the tokens it may have": 1,
    }


def test_both_fields(books):
    found, _ = generate(f"back-translation({books}, field=both)")
    assert [tuple(one.text.values()) for one in found] == [("A dog is running.", "It is moving.")]
    assert found[0].extra == {"rewritten": "premise+hypothesis", "pivot": "Ein Hund rennt.\nEs bewegt sich."}


def test_a_check_may_decide(books):
    found, left_out = generate(f'back-translation({books}, accept="overlap(most=0.1)")')
    assert (found, left_out) == ([], {"not accepted by overlap": 1})


@pytest.mark.parametrize("otherwise", ["echo", "nothing"])
def test_writers_that_give_the_text_or_nothing_are_no_crash(otherwise):
    writer = f'"scripted(otherwise={otherwise})"'
    found, left_out = generate(f"back-translation(there={writer}, back={writer})")
    assert found == []
    assert sum(left_out.values()) == 1


@pytest.mark.parametrize("prefix", ["", "translate to English: "])
def test_what_was_not_translated_back_is_no_variant(tmp_path, prefix):
    """A model that gives its prompt back, or the translation in it, would make a variant in the other language."""
    for written in (f"{prefix}Es ist nass.", "Es ist nass.", "es ist nass", f"{prefix.lower()}es ist  nass."):
        there, back = {"It moves.": ["Es ist nass."]}, {"Es ist nass.": [written]}
        spec = f'back-translation({scripts(tmp_path, there, back)}, return_prefix="{prefix}")'
        assert generate(spec) == ([], {"gives the prompt back": 1})
    unchanged = scripts(tmp_path, {"It moves.": ["It moves."]}, {"It moves.": ["It moves."]})
    assert generate(f'back-translation({unchanged}, return_prefix="{prefix}")') == (
        [],
        {"says what the original says": 1},
    )


def test_translations_that_are_none_go_no_further(tmp_path):
    result = ["Es Es Es Es", "to German:  it moves.", "Es bewegt sich."]
    both = scripts(tmp_path, {"It moves.": result}, {"": ["It is moving."]})
    found, left_out = generate(f'back-translation({both}, k=3, prefix="to German: ")')
    assert [one.extra["pivot"] for one in found] == ["Es bewegt sich."]
    assert left_out == {"on the way there: repeats itself": 1, "on the way there: gives the prompt back": 1}


def test_options_that_cannot_work_are_refused(books):
    with refuses(BadInput):
        generate(f"back-translation({books}, k=0)")
    with refuses(BadInput):
        generate(f"back-translation({books}, temperature=0.5)")
    with refuses(BadInput):
        generate(f"back-translation({books}, field=title)")


def test_two_marian_models_from_their_folders(tmp_path):
    """Through the code that loads from the hub; with a fast tokenizer, since Marian's own needs sentencepiece."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    import tiny_models

    folders = [
        tiny_models.save_writer(tmp_path / name, "marian", seed=seed) for name, seed in (("there", 2), ("back", 22))
    ]
    there, back = (f'"hf:{folder}(device=cpu, max_new=6)"' for folder in folders)
    bound = generators.make(f"back-translation(there={there}, back={back}, k=4, decoding=sample, cut=true)")
    texts = ["a dog runs in the park", "no cat sleeps", "it rains and the dog runs"]
    problems = [Problem(text, TASKS["nli"], {"premise": "a", "hypothesis": text}, "neutral") for text in texts]
    found = list(bound.function(problems, [1, 2, 3]))
    variants = [one for one in found if isinstance(one, Variant)]
    assert variants
    assert all(one.extra["pivot"] and one.text["hypothesis"] != one.of for one in variants)
    alone = [
        one for problem, seed in zip(problems, (1, 2, 3), strict=True) for one in bound.function([problem], [seed])
    ]
    assert [one for one in alone if isinstance(one, Variant)] == variants
    assert "there@" in bound.signature
    assert "back@" in bound.signature
