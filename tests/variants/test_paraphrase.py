"""Paraphrases by a writer: k distinct ones that pass, refined where fewer do, in one field or several."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput, UnknownName
from otherwords.problem import TASKS, Note, Problem, Variant
from otherwords.registry import generators
from otherwords.storage.files import seed_for

PAIR = {"premise": "A dog runs.", "hypothesis": "It moves."}
BOOK = {
    "A dog runs.": ["A dog is running.", "a dog runs", "A dog is  running", "The dog runs.", "Running, a dog."],
    "It moves.": ["It is moving.", "", "It it it it", "It goes…", "The thing moves."],
}
PROBLEM = Problem("p1", TASKS["nli"], PAIR, "entailment", {"topic": 1})


@pytest.fixture
def script(tmp_path):
    def write(book) -> str:
        (tmp_path / "book.json").write_text(json.dumps(book), encoding="utf-8")
        return f"scripted:{tmp_path / 'book.json'}"

    return write


def made(spec: str, *problems: Problem) -> tuple[list[Variant], Counter]:
    """Variants, and what was left out, by reason."""
    bound = generators.make(spec)
    given = problems or (PROBLEM,)
    found = list(bound.function(given, [seed_for(1, bound.signature, one.id) for one in given]))
    notes: Counter = Counter()
    for one in found:
        if isinstance(one, Note):
            notes[one.what.removeprefix("left out: ")] += one.count
    return [one for one in found if isinstance(one, Variant)], notes


def hypotheses(variants: list[Variant]) -> list[str]:
    return [variant.text["hypothesis"] for variant in variants]


def test_distinct_candidates_become_variants_and_the_rest_is_reported(script):
    found, left_out = made(f'paraphrase(model="{script(BOOK)}", k=5, tries=0)')
    assert hypotheses(found) == ["It is moving.", "The thing moves."]
    assert left_out == {"empty": 1, "repeats itself": 1, "has no end within the tokens it may have": 1}
    assert {variant.extra["rewritten"] for variant in found} == {"hypothesis"}
    assert all(variant.text["premise"] == PAIR["premise"] for variant in found)
    assert all((variant.label, variant.of, variant.extra["topic"]) == ("entailment", "p1", 1) for variant in found)


def test_case_white_space_and_the_last_stop_make_no_difference(script):
    found, left_out = made(f'paraphrase(model="{script(BOOK)}", field=premise, k=5, tries=0)')
    assert [one.text["premise"] for one in found] == ["A dog is running.", "The dog runs.", "Running, a dog."]
    assert left_out == {"says what the original says": 1, "repeats another candidate": 1}


def test_more_may_be_drawn_than_are_kept_and_what_was_cut_may_count(script):
    found, left_out = made(f'paraphrase(model="{script(BOOK)}", k=2, draw=5, cut=true)')
    assert hypotheses(found) == ["It is moving.", "It goes"]
    assert left_out["more than were asked for"] == 1


def test_of_what_was_cut_off_the_lines_before_the_last_are_whole(script):
    book = {"It moves.": ["It is moving.\nSentence: A man…", "It goes on and…", "\n\nIt goes on and…"]}
    found, left_out = made(f'paraphrase(model="{script(book)}", k=3, tries=0)')
    assert hypotheses(found) == ["It is moving."]
    assert left_out == {"has no end within the tokens it may have": 2}


@pytest.mark.parametrize(("tries", "need", "passed"), [(0, 0, 1), (300, 0, 4), (300, 4, 4), (300, 2, 2), (300, 1, 1)])
def test_refinements_are_drawn_until_enough_pass(script, tries, need, passed):
    """The first four candidates are one; chance finds the others, and stops when it has found them."""
    book = {"It moves.": ["One.", "one", "One!", "ONE", "Two.", "Three.", "Four."]}
    found, left_out = made(f'paraphrase(model="{script(book)}", k=4, tries={tries}, need={need})')
    assert len(found) == passed
    assert left_out["repeats another candidate"] >= 3
    assert len(found) + sum(left_out.values()) < 4 + max(tries, 1)


def test_refining_stops_when_the_tries_are_spent(script):
    found, left_out = made(f'paraphrase(model="{script({"It moves.": ["One."]})}", k=3, tries=7)')
    assert hypotheses(found) == ["One."]
    assert left_out == {"repeats another candidate": 7}


def test_what_the_check_drops_does_not_count(script):
    book = {"It moves.": ["It moves fast.", "Something is in motion.", "It moves now.", "There is motion."]}
    found, left_out = made(f'paraphrase(model="{script(book)}", k=4, tries=0, accept="overlap(most=0.5)")')
    assert hypotheses(found) == ["Something is in motion.", "There is motion."]
    assert left_out == {"not accepted by overlap": 2}
    signature = generators.make(f'paraphrase(model="{script(book)}", accept="overlap(most=0.5)")').signature
    assert signature.endswith("+overlap.v1(most=0.5)")


def test_each_is_one_side_the_other_and_both(script):
    found, _ = made(f'paraphrase(model="{script(BOOK)}", field=each, k=5, tries=0)')
    assert Counter(one.extra["rewritten"] for one in found) == {
        "premise": 3,
        "hypothesis": 2,
        "premise+hypothesis": 3,
    }
    both = [tuple(one.text.values()) for one in found if one.extra["rewritten"] == "premise+hypothesis"]
    assert both == [
        ("A dog is running.", "It is moving."),
        ("The dog runs.", "The thing moves."),
        ("Running, a dog.", "It is moving."),  # the scarcer side is drawn from again
    ]
    assert [
        tuple(one.text.values()) for one in made(f'paraphrase(model="{script(BOOK)}", field=both, k=5, tries=0)')[0]
    ] == both


def test_other_tasks_have_their_targets_rewritten(script):
    book = {"one.": ["First."], "two.": ["Second."], "new.": ["More."]}
    story = {"obs1": "A.", "obs2": "B.", "hyp1": "one.", "hyp2": "two."}
    update = {"premise": "", "hypothesis": "So.", "update": "new."}
    found, _ = made(
        f'paraphrase(model="{script(book)}", k=1, tries=0)',
        Problem("a", TASKS["a-nli"], story, "hyp1"),
        Problem("d", TASKS["d-nli"], update, "weakener"),
    )
    assert [one.extra["rewritten"] for one in found] == ["hyp1+hyp2", "update"]
    assert [found[0].text["hyp1"], found[0].text["hyp2"], found[1].text["update"]] == ["First.", "Second.", "More."]


def test_an_empty_text_is_not_rewritten(script):
    empty = Problem("d", TASKS["d-nli"], {"premise": "", "hypothesis": "So.", "update": "It moves."}, "weakener")
    found, left_out = made(f'paraphrase(model="{script(BOOK)}", field=premise)', empty)
    assert (found, left_out) == ([], {})


@pytest.mark.parametrize(
    ("otherwise", "reason"), [("echo", "gives the prompt back"), ("nothing", "nothing was written")]
)
def test_a_writer_that_gives_the_prompt_or_nothing_is_no_crash(otherwise, reason):
    found, left_out = made(f'paraphrase(model="scripted(otherwise={otherwise})", k=3, tries=2)')
    assert found == []
    assert set(left_out) == {reason}


def test_what_was_left_out_is_in_the_notes_of_the_stage():
    from otherwords.pipeline import varied
    from otherwords.variants.generating import left_out, totals

    spec = 'paraphrase(model="scripted(otherwise=echo)", k=3, tries=2)'
    made, notes = varied(ow.load("everyday").head(3), [spec], TASKS["nli"], 0)
    assert made.height == 0
    assert list(left_out(totals([notes])).values()) == [{"gives the prompt back": 15}]


def test_context_is_shown_only_where_it_is_asked_for(script):
    """ParaNLU, section 6: its paraphrasers do not see it."""
    book = {"In this context: It moves.": ["The dog moves."], "A dog runs. So It moves.": ["Hence it moves."]}
    spec = f'paraphrase(model="{script(book)}", k=1, tries=0'
    assert made(f"{spec})")[0] == []
    assert hypotheses(made(f'{spec}, context=true, prompt="{{context}} In this context: {{text}}")')[0]) == [
        "The dog moves."
    ]
    assert hypotheses(made(f'{spec}, context=true, prompt="{{premise}} So {{text}}")')[0]) == ["Hence it moves."]
    asked = "Rephrase the following sentence while preserving its original meaning in this context:"
    shown = {f"A dog runs.\n{asked} It moves.": ["Yes, it moves."]}
    assert hypotheses(made(f'paraphrase(model="{script(shown)}", k=1, tries=0, context=true)')[0]) == ["Yes, it moves."]


def test_the_context_does_not_become_the_sentence(script):
    asked = "Rephrase the following sentence while preserving its original meaning in this context: It moves."
    echoes = ["A dog runs.", "a dog runs", f"A dog runs.\n{asked}", f"a dog runs.\n{asked.lower()}"]
    cut = ["A dog runs.\nRephrase the following sent…", "A dog r…", "Premise: A dog runs."]
    book = {"It moves.": [*echoes, *cut, "The dog moves."]}
    for more in ("", ", cut=true", ', prompt="{premise} Rephrase: {text}"'):
        found, left_out = made(f'paraphrase(model="{script(book)}", k=8, tries=0, context=true{more})')
        assert hypotheses(found) == ["The dog moves."]
        assert left_out == {"gives the prompt back": 7}
    assert "A dog runs." in hypotheses(made(f'paraphrase(model="{script(book)}", k=8, tries=0)')[0])


def test_a_job_without_hope_is_asked_once(script, tmp_path):
    """Where nothing is left to chance and nothing was written, more tries would count it again and change nothing."""
    assert made('paraphrase(model="scripted", k=3, tries=5)')[1] == {"nothing was written": 1}
    by_chance = made('paraphrase(model="scripted", k=3, tries=5, decoding=sample)')[1]
    assert by_chance == {"nothing was written": 6}


def test_a_prompt_that_is_too_long_is_reported_once(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    import tiny_models

    writer = f"hf:{tiny_models.save_writer(tmp_path / 'tiny', 'gpt2')}(device=cpu, max_length=8, max_new=4)"
    long = Problem("p", TASKS["nli"], {"premise": "a", "hypothesis": "a dog runs " * 9}, "neutral")
    for decoding in ("diverse", "sample"):
        found, left_out = made(f'paraphrase(model="{writer}", k=3, tries=5, decoding={decoding})', long)
        assert (found, left_out) == ([], {"the prompt is longer than the model reads": 1})


def test_the_prompt_is_the_papers(script):
    book = {"Rephrase the following sentence while preserving its original meaning: It moves.": ["It is in motion."]}
    assert hypotheses(made(f'paraphrase(model="{script(book)}", tries=0)')[0]) == ["It is in motion."]


def test_texts_with_braces_are_texts(script):
    odd = Problem("p", TASKS["nli"], {"premise": "x", "hypothesis": "It is {premise} {0}."}, "neutral")
    assert hypotheses(made(f'paraphrase(model="{script({"It is {premise} {0}.": ["Odd."]})}", tries=0)', odd)[0]) == [
        "Odd."
    ]


def test_a_sweep_gives_candidates_for_every_setting(script):
    tokens = "COND_SEMANTIC_SIM_80 COND_LEXICAL_DIV_{} COND_SYNTACTIC_DIV_50It moves."
    book = {tokens.format(30): ["It is moving."], tokens.format(60): ["There is motion.", "It is moving."]}
    settings = [f"semantic=80 lexical={number} syntactic=50" for number in (30, 60)]
    found, _ = made(f'paraphrase(model="{script(book)}", k=2, tries=0, sweep={json.dumps(settings)})')
    assert [(one.extra["sweep"], one.text["hypothesis"]) for one in found] == [
        (settings[0], "It is moving."),
        (settings[1], "There is motion."),
        (settings[1], "It is moving."),
    ]
    plain = {"paraphrase: It moves.": ["Motion."], "formal: It moves.": ["It is in motion."]}
    spec = f'paraphrase(model="{script(plain)}", k=1, tries=0, prompt="{{text}}", sweep=["paraphrase: ", "formal: "])'
    assert [one.extra["sweep"] for one in made(spec)[0]] == ["paraphrase: ", "formal: "]


def test_columns_of_the_input_are_kept_under_another_name(script):
    result = Problem("p", TASKS["nli"], PAIR, "neutral", {"rewritten": "mine"})
    found, _ = made(f'paraphrase(model="{script(BOOK)}", tries=0)', result)
    assert (found[0].extra["rewritten"], found[0].extra["input_rewritten"]) == ("hypothesis", "mine")


def test_parte_and_the_earlier_code_are_options(script):
    """PaRTE: three by top-k 120 and top-p 0.95; before Arakelyan et al. 2024: 28, 10 distinct, 5 accepted, 15 tries."""
    parte = f'paraphrase(model="{script(BOOK)}", field=each, k=3, decoding=sample, top_k=120, top_p=0.95, tries=0)'
    assert len(made(parte)[0]) > 3
    earlier = f'paraphrase(model="{script(BOOK)}", k=10, draw=28, need=5, tries=15, accept=surface)'
    assert hypotheses(made(earlier)[0]) == ["It is moving.", "The thing moves."]


@pytest.mark.parametrize(
    "options",
    [
        "k=0",
        "tries=-1",
        "draw=3",
        "need=11",
        "temperature=-0.5",
        "decoding=sample, top_p=2",
        "decoding=beams, diversity=1",
        "decoding=dreams",
        'prompt="Rephrase this."',
        'prompt="{premise}: {text}"',
        'prompt="Say {text}", context=true',
        "sweep=formal",
        'sweep=["a", "a"]',
        'sweep=["semantic=80"]',
        'sweep=["semantic=80 lexical=33 syntactic=50"]',
        'sweep=["semantic=99 lexical=30 syntactic=50"]',
        'accept="mutual-entailment(judge=self)"',
    ],
)
def test_options_that_cannot_work_are_refused(options):
    with refuses(BadInput):
        generators.make(f'paraphrase(model="scripted", {options})')


def test_names_that_do_not_exist_are_refused(script):
    with refuses(BadInput):
        made('paraphrase(model="scripted", field=title)')
    with refuses(BadInput):
        made('paraphrase(model="scripted", context=true, prompt="{title}: {text}")')
    with refuses(UnknownName):
        generators.make('paraphrase(model="gpt:x")')
    with refuses(UnknownName):
        generators.make('paraphrase(model="scripted", accept=taste)')


def test_the_writer_is_in_the_signature(script, tmp_path):
    one = generators.make(f'paraphrase(model="{script(BOOK)}")').signature
    other = generators.make(f'paraphrase(model="{script({**BOOK, "x": ["y"]})}")').signature
    assert one != other
    assert str(Path(tmp_path)) not in one
    assert "#scripted.v1(script=book.json#" in one
