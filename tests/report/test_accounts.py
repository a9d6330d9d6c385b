"""What generators gave up and what models accepted themselves, on the page."""

from __future__ import annotations

import re

import pytest

import otherwords as ow
from otherwords.report.accounts import given_up
from otherwords.storage.specs import short_names


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A model that judges the rewordings itself; contractions make nothing of most problems."""
    study = {"data": ["everyday.v1(split=test)"], "vary": ["recorded", "contractions"], "check": ["mutual-entailment"]}
    settings = {"models": ["scripted"], "canary": False, "cache": None, "replicates": 100}
    return ow.run(study, **settings, out=tmp_path_factory.mktemp("accounts") / "run")


def test_self_judged_rewordings_are_reported_at_the_top_and_counted(run):
    html, counts = run.report.read_text(encoding="utf-8"), run.manifest["self_judged"]["scripted"]["mutual-entailment"]
    judged, accepted = counts["judged"], counts["accepted"]
    assert 0 < accepted < judged
    assert "the rewordings that it accepted itself" in html
    assert re.search(rf"scripted</bdi> {accepted} of {judged}\srewordings\.", html)
    assert f'mutual-entailment, by <bdi class="name">scripted</bdi></th><td>{judged - accepted}</td>' in html
    assert html.count("mutual-entailment</th>") == 0  # no row that says it dropped none
    assert "self_judged" not in html


def test_problems_without_a_variant_are_counted(run):
    [count] = [count for name, count in run.manifest["unvaried"].items() if name.startswith("contractions")]
    html = run.report.read_text(encoding="utf-8")
    assert f'<th scope="row"><bdi class="name">contractions</bdi></th><td>{count}</td>' in html


def test_what_generators_gave_up_has_a_section(study):
    reasons = {"masked-lm.v1(top=20)": {"no likelier than the word itself": 1200, "no <whole> word": 3}}
    html = study.html(manifest={"left_out": reasons})
    assert "What generators left out" in html
    assert '<th scope="row"><bdi class="name">masked-lm</bdi></th><td>0</td>' in html
    assert '<bdi>no likelier than the word itself</bdi> <span class="quiet">1,200×</span>' in html
    assert "no &lt;whole&gt; word" in html


def test_without_such_entries_they_are_not_mentioned(study):
    html = study.html()
    assert "accepted itself" not in html
    assert "What generators left out" not in html
    assert given_up({}) == []


def test_options_are_shown_where_they_distinguish_two_models():
    names = short_names(["a.v1(n=1)#x", "a.v1(n=2)#x", "b.v1(n=1)#x"])
    assert list(names.values()) == ["a (n=1)", "a (n=2)", "b"]
