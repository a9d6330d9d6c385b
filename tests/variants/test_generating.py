"""What generators declare, the columns of their variants, and their notes, with a column for what a note is about."""

from __future__ import annotations

import html
import json
import tempfile
from dataclasses import replace

import polars as pl
import pytest
from odd_suites import write_columnar
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput
from otherwords.problem import TASKS, Note, Problem
from otherwords.registry import generators
from otherwords.storage.tables import read
from otherwords.variants.generating import COLUMNS, Generator, as_generator, notes_table, prepared, with_changes


def test_what_notes_are_about_are_columns():
    result = notes_table([("g", Note("p", "x", about={"field": "premise"})), ("g", Note("q", "x", 2, {"model": "m"}))])
    assert result.rows() == [("p", "g", "x", 1, "premise", None), ("q", "g", "x", 2, None, "m")]
    assert result.columns == [*COLUMNS, "field", "model"]
    assert notes_table([]).columns == list(COLUMNS)


@pytest.mark.parametrize("name", COLUMNS)
def test_no_note_is_about_a_column_that_all_have(name):
    with refuses(BadInput):
        notes_table([("g.v1()", Note("p", "x")), ("g.v1()", Note("p", "x", about={"field": "y", name: "z"}))])


def test_a_bare_function_is_a_generator_and_its_attributes_count():
    def bare(problems, seeds):
        return []

    assert as_generator(bare) == Generator(bare)
    bare.control, bare.identity = True, "model-1"
    assert (as_generator(bare).control, as_generator(bare).identity) == (True, "model-1")
    declared = ow.Generator(bare, spent=("corpus",))
    assert as_generator(declared) is declared
    assert declared([], []) == []


def test_only_a_survey_needs_a_folder(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "absent")
    assert [one.signature for one in prepared(["identity"], list)] == ["identity.v1()"]
    with pytest.raises(FileNotFoundError):
        prepared(["wordnet-ie"], list)


def test_columns_of_the_problem_are_kept_under_another_name():
    problem = Problem("p", TASKS["nli"], {"premise": "A dog", "hypothesis": "A cat"}, "neutral", {"changes": "old"})
    change = {"field": "premise", "at": 2, "from": "dog", "to": "hound"}
    variant = with_changes(problem, [change])
    assert variant.text["premise"] == "A hound"
    assert (variant.extra["input_changes"], json.loads(variant.extra["changes"])) == ("old", [change])


# Names that users give generators


PROBLEMS = pl.DataFrame(
    {
        "id": ["a", "b"],
        "premise": ["It isn't raining on the two men.", "A man is not sleeping, he's running."],
        "hypothesis": ["The men are not wet.", "The man isn't asleep."],
        "label": ["neutral", "entailment"],
    }
)


@pytest.mark.parametrize("spec", ["contractions(field=premise)", "scramble", "identity"])
def test_a_name_is_in_how_and_changes_nothing_else(spec):
    plain, named = ow.vary(PROBLEMS, [spec]), ow.vary(PROBLEMS, [f"mine={spec}"])
    assert plain.height
    assert named.drop("how").equals(plain.drop("how")), "neither ids nor random choices depend on the name"
    assert named["how"].to_list() == [f"mine={how}" for how in plain["how"]]


def test_two_generators_of_one_name_are_refused():
    for specs in (["x=contractions", "x=identity"], ["contractions", "contractions=identity"]):
        with refuses(BadInput, fix="give each a different name, as in one=contractions"):
            ow.vary(PROBLEMS, specs)
    with refuses(BadInput, fix="give it once"):
        ow.vary(PROBLEMS, ["one=contractions", "two=contractions"])
    both = ow.vary(PROBLEMS, ["one=contractions(field=premise)", "contractions(field=hypothesis)"])
    assert both["how"].n_unique() == 2


def test_variants_that_are_there_under_another_name_are_not_made_again():
    suite = pl.concat([PROBLEMS, ow.vary(PROBLEMS, ["mine=contractions"])], how="diagonal_relaxed")
    with refuses(BadInput, fix="give only the originals, or change the options"):
        ow.vary(suite, ["contractions"])


@pytest.fixture(scope="module")
def named_run(tmp_path_factory):
    """A study whose generators have names: one that few problems suit, two that differ in an option."""
    folder = tmp_path_factory.mktemp("names")
    (folder / "study.toml").write_text(
        'data = ["everyday.v1(split=test)"]\n'
        'vary = ["short=contractions", "contractions(field=premise)", "contractions(field=hypothesis)"]\n'
        'models = ["scripted"]\nby = ["how"]\nmetrics = ["flip_rate"]\ncanary = false\ncheck = []\nreplicates = 50\n',
        encoding="utf-8",
    )
    return ow.run(folder / "study.toml", cache=None, out=folder / "run")


def test_a_study_carries_names_through_all_its_tables(named_run):
    titles = list(named_run.manifest["unvaried"])
    assert titles[0].startswith("short=contractions.v1(")
    assert named_run.manifest["signatures"]["vary"] == titles
    assert {one["generator"] for one in read(named_run.folder / "unvaried.jsonl").iter_rows(named=True)} == set(titles)
    assert {score.group for score in named_run.scores} == {None, *(f"how={title}" for title in titles)}
    assert [part.how for part in ow.profile(named_run.folder).generators] == sorted(titles)


def test_its_report_writes_each_signature_once(named_run):
    page = named_run.report.read_text(encoding="utf-8")
    for title in named_run.manifest["unvaried"]:
        assert html.unescape(page).count(title.partition("=")[2] if title.startswith("short=") else title) == 1
    body = page.partition("<footer")[0]
    assert "contractions (field=premise)" in body
    assert "contractions (field=hypothesis)" in body
    assert '<bdi class="name">short</bdi>' in body
    assert "contractions.v1(" not in body


def test_a_generator_that_surveys_the_texts_keeps_its_name():
    pytest.importorskip("spacy")
    made = ow.vary(PROBLEMS, ["ie=wordnet-ie"])
    assert all(how.startswith("ie=wordnet-ie.v1(") for how in made["how"])
    assert made.height


# Generators that work on columns


def test_a_users_generator_may_work_on_columns(tmp_path):
    """In any order of problems, with ids and columns of its own; a column of the problem's is not lost."""
    yes = ".with_columns(pl.lit('Yes.').alias('hypothesis'), "
    spec = write_columnar(
        tmp_path, "Generator", f"return pl.concat([rows.reverse(), rows]){yes}source=pl.col('label'))"
    )
    found = ow.vary(PROBLEMS.with_columns(topic=pl.Series([1, 2])), [spec])
    assert found["id"].to_list() == ["a~python.1", "a~python.2", "b~python.1", "b~python.2"]
    assert found["hypothesis"].to_list() == ["Yes."] * 4
    expected = (PROBLEMS["premise"][1], "entailment", 2, "entailment")
    assert found.select("premise", "label", "topic", "source").row(2) == expected
    assert set(found["how"].str.slice(0, 12)) == {"mine=python."}
    for new, ids in (("''", ["one", "b~python.1"]), ("None", ["one", "b~python.1"]), ("'two'", ["one", "two"])):
        spec = write_columnar(
            tmp_path, "Generator", f"return rows{yes}id=pl.col('of').replace('b', {new}).replace('a', 'one'))"
        )
        assert ow.vary(PROBLEMS, [spec])["id"].to_list() == ids


def on_columns(columns):
    """A generator under a name that is known, so that messages have no digest of a temporary file."""
    return replace(generators.make("polite=identity"), function=ow.Generator(list, columns=columns))


@pytest.mark.parametrize(
    ("columns", "field"),
    [
        (lambda rows, task: 3, ""),
        (lambda rows, task: rows.drop("premise"), "premise"),
        (lambda rows, task: rows.drop("of"), "of"),
        (lambda rows, task: rows.with_columns(premise=pl.lit(3)), "premise"),
    ],
    ids=["no table", "no text", "no original", "a number"],
)
def test_what_is_no_table_of_variants_is_refused(columns, field):
    fix = "return rows of the table that was given, with other texts: table.with_columns(...)"
    with refuses(BadInput, where="polite=identity.v1()", field=field, fix=fix):
        ow.vary(PROBLEMS, [on_columns(columns)])


@pytest.mark.parametrize("column", ["of", "id"])
def test_a_variant_of_nothing_and_an_id_that_is_taken_are_refused(column):
    taken = {"of": "z", "id": "a"}[column]
    with refuses(BadInput):
        ow.vary(PROBLEMS, [on_columns(lambda rows, task: rows.with_columns(pl.lit(taken).alias(column)))])


def test_an_error_on_columns_names_the_line(tmp_path):
    with pytest.raises(BadInput, match=r"AttributeError.*missing.*\(mine.py, line 9\)"):
        ow.vary(PROBLEMS, [write_columnar(tmp_path, "Generator", "return rows.missing")])


def test_no_problem_is_made_where_all_work_on_columns(monkeypatch):
    monkeypatch.setattr(Problem, "__init__", None)
    suite = ow.vary(PROBLEMS, ["contractions", "identity", "contractions(field=premise)"], suite=True)
    assert ow.check(suite, ["surface", "overlap"])["check:surface"].null_count() < suite.height
