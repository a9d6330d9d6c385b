"""Invariance and sensitivity, as the page prints them; contrasts are no flips."""

from __future__ import annotations

import html
import re
from typing import Any

import polars as pl
import pytest

from otherwords.report.accounts import balance, rewordings

INVARIANCE, CONTROLS = '<h2 id="invariance">Invariance and sensitivity</h2>', '<h2 id="known">Controls</h2>'
SUITE = ("premise", "hypothesis")
TEXTS = {"car": ("A red car.", "A red car."), "car.1": ("A red car.", "A blue car.")}


def plain(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def without_contents(page: str) -> str:
    return re.sub(r"<nav.*?</nav>", "", page, flags=re.DOTALL)


def section(page: str) -> str:
    return plain(page.split(INVARIANCE)[1].split("<details")[0])


@pytest.fixture
def contrasted(study: Any, make_score: Any, make_table: Any, make_answers: Any) -> dict[str, Any]:
    """The study by hand, and one contrast that both models take for what it is."""
    suite = make_table(TEXTS, SUITE, {"car": "entailment"}).with_columns(
        pl.Series("label", ["entailment", "neutral"]), pl.lit("cars").alias("contrast")
    )
    more = make_answers(suite, {"weak": ["entailment", "neutral"], "strong": ["entailment", "contradiction"]})
    more = more.with_columns(pl.lit("cars").alias("contrast"))
    scores = [make_score("sensitivity", model=m, value=1.0, low=0.8, high=1.0, n_answers=9) for m in ("weak", "strong")]
    return {
        "scores": [*study.scores, *scores],
        "answers": pl.concat([study.answers, more], how="diagonal_relaxed"),
        "buckets": pl.concat([study.buckets, suite], how="diagonal_relaxed"),
    }


def test_invariance_is_shown_with_sensitivity(study, contrasted):
    text = section(study.html(**contrasted))
    assert "A model that always gives the same answer has perfect invariance and no sensitivity." in text
    # The flip rate of the study by hand is 60.0 % [50.0, 72.13]; the ends of the interval change places.
    assert "weak 40.0 % [27.9, 50.0] 5 answers 2 problems 100.0 % [80.0, 100.0] 9 answers 2 problems" in text
    assert "strong 100.0 % [100.0, 100.0] 5 answers" in text
    assert "Model Invariance rewordings Sensitivity cars strong" in text, "the model that flips least comes first"


def test_the_rest_of_the_page_is_what_it_is_without_contrasts(study, contrasted):
    with_, without = without_contents(study.html(**contrasted)), without_contents(study.html())
    assert INVARIANCE not in without
    before, _, rest = with_.partition(INVARIANCE)
    assert without.startswith(before.rstrip())
    tail = "<h2>Right, wrong, or a matter of wording</h2>"
    end = '<section id="methods"'  # which names all metrics
    assert rest.split(tail)[1].split(end)[0] == without.split(tail)[1].split(end)[0]
    assert "blue car" not in with_


def test_every_suite_has_a_column_and_all_of_them_stand_first(study, contrasted, make_score):
    groups = {"contrast=cars": 0.25, "contrast=<b>": 0.75, "kind=x": 0.125}
    more = [make_score("sensitivity", group=group, value=value) for group, value in groups.items()]
    more.append(make_score("contrast_accuracy", group="contrast=cars", value=0.0625))
    found = balance([*contrasted["scores"], *more], contrasted["answers"])
    assert found is not None
    assert found.suites == ("all suites", "<b>", "cars")
    [(_, invariance, weak), (_, _, strong)] = found.rows
    assert invariance is not None
    assert [one and one.value for one in weak] == [1.0, 0.75, 0.25]
    assert [one and one.value for one in strong] == [1.0, None, None]
    page = study.html(**{**contrasted, "scores": [*contrasted["scores"], *more]})
    assert "all suites" in section(page)
    assert "<b>" not in page.split(INVARIANCE)[1].split("</thead>")[0]  # a suite's name is only text
    assert "6.2 %" in plain(page.split("<summary>All scores of contrasts")[1].split("</details>")[0])
    assert "12.5 %" in plain(page.split("<summary>By kind")[1].split("</details>")[0])


def test_one_suite_that_was_asked_for_as_a_group(study, contrasted, make_score):
    again = make_score("sensitivity", group="contrast=cars", value=1.0, low=0.8, high=1.0, n_answers=9)
    page = study.html(**{**contrasted, "scores": [*contrasted["scores"], again]})
    assert section(page) == section(study.html(**contrasted))


def test_a_study_of_contrasts_only(study, contrasted, make_score):
    marked = {name: contrasted[name].filter(pl.col("contrast").is_not_null()) for name in ("answers", "buckets")}
    page = study.html(scores=[make_score("sensitivity", value=0.5)], **marked)
    assert "No result: no rewording was answered." in plain(page)
    assert "weak – 50.0 %" in section(page)
    assert 'id="headline"' not in page


def test_checks_are_counted_on_rewordings(study, contrasted):
    verdicts = [None, True, True, False, None, True, True, None, None]
    buckets = contrasted["buckets"].with_columns(pl.Series("check:surface", verdicts, dtype=pl.Boolean))
    assert "Of 5 rewordings, 1 (20.0 %) were dropped" in plain(study.html(**{**contrasted, "buckets": buckets}))


def test_rewordings_of_tables_with_and_without_the_mark(study, contrasted):
    assert rewordings(study.answers).equals(study.answers)
    assert rewordings(contrasted["answers"]).height == study.answers.height


# Controls.


@pytest.fixture
def controlled(study: Any, make_score: Any) -> dict[str, Any]:
    """The study by hand, with two controls of its first problem: one repeats it, one does not."""
    first = study.buckets.filter(pl.col("of").is_null()).head(1)
    names = {"identity": "same", "scramble": "other"}
    more = pl.concat(
        first.with_columns(id=pl.lit(f"ctl-{name}"), of="id", hypothesis=pl.lit(text), control=pl.lit(name))
        for name, text in names.items()
    )
    answers = study.answers.filter(pl.col("variant").is_null(), pl.col("bucket") == first["id"][0])
    constant = pl.concat(
        answers.with_columns(variant=pl.lit(f"ctl-{name}"), pred=pl.lit("contradiction"), control=pl.lit(name))
        for name in names
    )
    values = {("weak", "identity"): 0.125, ("weak", "scramble"): 0.875, ("strong", "identity"): 0.0}
    scores = [make_score("control_flips", model=m, value=0.5) for m in ("weak", "strong")]
    scores += [make_score("control_flips", model=m, group=f"control={c}", value=v) for (m, c), v in values.items()]
    return {
        "scores": [*study.scores, *scores],
        "answers": pl.concat([study.answers, constant], how="diagonal_relaxed"),
        "buckets": pl.concat([study.buckets, more], how="diagonal_relaxed"),
    }


def controls_of(page: str) -> str:
    return plain(page.split(CONTROLS)[1].split("<details")[0])


def test_controls_are_shown_with_invariance_with_what_is_expected(study, controlled):
    text = controls_of(study.html(**controlled))
    head = "Model Flips identity must be 0 Flips scramble should be high strong"
    assert head in text
    assert "weak 12.5 %" in text
    assert "87.5 %" in text
    assert "A model that always says the same" not in text  # there is no suite
    assert "50.0 % [" not in text  # of all controls together there is no number


def test_the_rest_of_the_page_is_what_it_is_without_controls(study, controlled):
    with_, without = without_contents(study.html(**controlled)), without_contents(study.html())
    tail, end = "<h2>Right, wrong, or a matter of wording</h2>", '<section id="methods"'
    assert with_.split(tail)[1].split(end)[0] == without.split(tail)[1].split(end)[0]
    assert without.startswith(with_.partition(CONTROLS)[0].rstrip())
    assert "ctl-" not in with_


def test_one_control_has_no_group_and_its_name_from_the_answers(study, controlled, make_score):
    answers = controlled["answers"].filter(pl.col("control").fill_null("identity") == "identity")
    scores = [*study.scores, make_score("control_flips", value=0.25)]
    found = balance(scores, answers)
    assert found is not None
    assert (found.suites, found.controls) == ((), (("identity", "must be 0"),))
    [(model, _, [flips])] = found.rows
    assert (model, flips and flips.value) == ("weak", 0.25)


def test_suites_and_controls_in_one_table(study, contrasted, controlled):
    added = {name: contrasted[name].filter(pl.col("contrast").is_not_null()) for name in ("answers", "buckets")}
    both = {name: pl.concat([controlled[name], added[name]], how="diagonal_relaxed") for name in added}
    scores = [*controlled["scores"], *(one for one in contrasted["scores"] if one.metric == "sensitivity")]
    page = study.html(scores=scores, **both)
    assert "Model Flips identity must be 0" in controls_of(page)
    before = plain(page.split(INVARIANCE)[1].split(CONTROLS)[0])
    assert "A model that always gives the same answer has perfect invariance and no sensitivity." in before
    assert "Model Invariance rewordings Sensitivity cars" in before
    assert "<summary>All scores of contrasts" in page


def test_flips_of_controls_by_another_column_have_a_table_of_their_own(study, controlled, make_score):
    scores = [*controlled["scores"], make_score("control_flips", group="how=mine", value=0.0625)]
    page = study.html(**{**controlled, "scores": scores})
    assert "6.2 %" in plain(page.split("<summary>By how")[1].split("</details>")[0])
    assert "6.2 %" not in controls_of(page)
