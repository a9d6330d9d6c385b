"""Forms: those of the papers, one of one's own in ten lines, and what is refused, with file and key."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest
from annotating import invited, serving, texts, write_rows
from refusals import refuses

from otherwords import web
from otherwords.errors import BadInput, UnknownName
from otherwords.problem import TASKS
from otherwords.validity.people import NO, USUAL, YES

ROOT = Path(__file__).parents[2]
OWN = """
title = "Would you say it so?"

[[question]]
name = "natural"
ask = "Is the rewording natural?"
choices = ["yes", "no"]
"""


def test_the_forms_of_the_papers_are_there():
    assert web.shipped_forms() == [
        "equivalent", "fluency", "grammar", "label", "label-preserved", "paraphrase", "paraphrase-alone", "similarity",
        "sound",
    ]  # fmt: skip


@pytest.mark.parametrize("name", web.shipped_forms())
def test_every_form_says_where_it_is_from_and_what_to_do(name):
    form = web.load_form(name)
    assert re.search(r"20\d\d", form.source)
    assert len(form.guidance) > 80
    assert form.title.strip()


@pytest.mark.parametrize("name", web.shipped_forms())
def test_answers_of_the_papers_can_be_read_as_sound_or_not(name):
    """A form either writes, or has a usual rule, or is about something else: labels and grammar."""
    form = web.load_form(name)
    names = {one.name for one in form.questions}
    ruled = any(set(rule.questions) <= names for rule in USUAL)
    assert ruled or form.rewords or name in ("label", "grammar")
    for one in form.questions:
        if ruled and one.kind == "choice":
            assert set(one.choices) <= YES | NO


def test_a_form_of_ones_own_takes_ten_lines(site, tmp_path):
    path = tmp_path / "natural.toml"
    path.write_text(OWN, encoding="utf-8")
    assert len(OWN.strip().splitlines()) <= 10
    pages = site(str(path))
    person = invited(pages)
    item, page = person.next()
    assert "Is the rewording natural?" in page
    assert person.answer(item, natural="yes").status == 303
    assert web.verdict_table(pages.store).select("form", "question", "answer").row(0) == ("natural", "natural", "yes")


def test_the_form_in_the_documentation_works(tmp_path):
    page = (ROOT / "docs" / "people.md").read_text(encoding="utf-8")
    path = tmp_path / "own.toml"
    path.write_text(page.partition("```toml\n")[2].partition("```")[0], encoding="utf-8")
    assert [question.name for question in web.load_form(str(path)).questions] == ["natural"]


def test_the_documentation_lists_every_form():
    page = (ROOT / "docs" / "people.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([a-z-]+)` \| (?:ParaNLU|PaRTE|MERGE|Arak|IE|the same)", page, re.M) != []
    assert {name for name in web.shipped_forms() if f"| `{name}` |" not in page} == set()


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (OWN + "colour = 1", "question 1: colour"),
        ('colour = "red"\n' + OWN, "colour"),
        (OWN.replace("title", "# title"), "title"),
        ('title = "T"', "question"),
        ('title = "T"\nquestion = []', "question"),
        (OWN.replace('"yes", "no"', '"yes"'), "question 1: choices"),
        (OWN.replace('"yes", "no"', '"yes", "Yes "'), "question 1: choices"),
        (OWN.replace('["yes", "no"]', '"yes"'), "question 1: choices"),
        (OWN.replace("natural", "two words", 1), "question 1: name"),
        (OWN.replace('name = "natural"\n', ""), "question 1: name"),
        (OWN.replace('choices = ["yes", "no"]', "least = 5\nmost = 1"), "question 1: most"),
        (OWN.replace('choices = ["yes", "no"]', 'kind = "slider"'), "question 1: kind"),
        (OWN.replace('choices = ["yes", "no"]', 'kind = "rewordings"'), "show"),
        ('show = "everything"\n' + OWN, "show"),
        ('rows = "originals"\n' + OWN, "rows"),
        ("context = true\n" + OWN, "context"),
        ("sentences = 99\n" + OWN, "sentences"),
        ("overlap = 0\n" + OWN, "overlap"),
        (OWN + OWN.partition("\n\n")[2], "question"),
    ],
)
def test_a_wrong_form_is_refused_with_file_and_key(tmp_path, text, field):
    path = tmp_path / "own.toml"
    path.write_text(text, encoding="utf-8")
    with refuses(BadInput, where=str(path), field=field):
        web.load_form(str(path))


def test_questions_that_nobody_can_answer_are_refused(tmp_path):
    path = tmp_path / "own.toml"
    again = '\n[[question]]\nname = "again"\nask = "How else?"\nkind = "rewordings"\n'
    for text, message in (
        (OWN.replace('"no"', '" "'), "question 1: choices: found ' '"),
        (OWN.replace('"no"', r'"n\u0000"'), "question 1: choices: found 'n"),
        (OWN.replace("Is the rewording natural?", " "), "question 1: ask: is missing"),
        (OWN.replace("Would you say it so?", ""), "title: is missing"),
        (OWN.replace('choices = ["yes", "no"]', 'most = 5\nends = ["poor"]'), "question 1: ends: found 1"),
        (OWN + 'expected = "perhaps"', "question 1: expected: found 'perhaps'"),
        ('title = "T"\nshow = "target"' + again, "rows: found 'variants'; people reword each original once"),
        ('title = "T"\nshow = "target"' + again + again.replace("again", "more"), "asks for rewordings twice"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(BadInput, match=re.escape(message)):
            web.load_form(str(path))


def test_a_form_that_is_not_toml_is_refused(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text("title = ", encoding="utf-8")
    with refuses(BadInput, where=str(path)):
        web.load_form(str(path))


def test_unknown_forms_are_refused():
    with refuses(UnknownName):
        web.load_form("soundness")
    with refuses(BadInput, where="nowhere.toml"):
        web.load_form("nowhere.toml")


@pytest.mark.parametrize("name", web.shipped_forms())
@pytest.mark.parametrize("task", ["nli", "a-nli", "d-nli"])
def test_answers_are_read_as_they_are_stored(name, task):
    """Whatever a form asks, an answer that was read is read again as itself, and blanks are no answer."""
    for _, question, _ in web.load_form(name).asked(TASKS[task]):
        for option in (*question.options(TASKS[task]), "7", "Some words."):
            answer, error = question.read(f"  {option} ", TASKS[task])
            assert bool(answer) != bool(error)
            assert not answer or question.read(answer, TASKS[task]) == (answer, "")
        assert bool(question.read("   ", TASKS[task])[1]) != question.optional


def test_a_text_that_is_too_long_is_refused():
    question = web.FormQuestion("why", "Why?", "text")
    assert question.read("x" * 2001, TASKS["nli"])[1]


@pytest.mark.parametrize(("form", "people"), [("paraphrase", 3), ("paraphrase-alone", 3), ("sound", 2)])
def test_as_many_people_are_asked_as_the_paper_asked(suite, tmp_path, form, people):
    """ParaNLU: three texts by each of three workers. Who says another number, gets it."""
    with closing(web.open_project([suite], form, str(tmp_path / "usual.db"))) as store:
        assert store.about()["overlap"] == people
    with closing(web.open_project([suite], form, str(tmp_path / "own.db"), web.Settings(overlap=1))) as store:
        assert store.about()["overlap"] == 1


def test_evidence_stands_beside_context_and_inference(tmp_path):
    """As in ParaNLU, Figure 7."""
    row = {"id": "h", "premise": "A group walks.", "hypothesis": "They hike.", "update": "They have sticks."}
    source = write_rows(tmp_path / "scenario.jsonl", [{**row, "label": "strengthener"}])
    store = web.open_project([source], "paraphrase", str(tmp_path / "own.db"), task="d-nli")
    with closing(store), serving(store) as pages:
        _, page = invited(pages).next()
    assert re.findall(r"<dt>(.*?)</dt>", page) == ["Context", "Inference", "Evidence"]


def test_choices_are_shown_in_their_order(site):
    _, page = invited(site("grammar")).next()
    assert re.findall(r'type="radio" name="0.error" value="(\w+)"', page) == [
        "none", "repetition", "tense", "punctuation", "other",
    ]  # fmt: skip
    assert len(texts(page)) == 2
