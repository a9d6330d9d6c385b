"""What generators gave up and what models accepted themselves, on the page."""

from __future__ import annotations

import re

import pytest

import otherwords as ow
from otherwords.report.accounts import given_up, short_names

DATA = {"data": ["everyday"], "models": ["nli-small"], "canary": False, "cache": None}


def page(tmp_path, **study):
    return ow.run(**DATA, **study, out=tmp_path / "run").report.read_text(encoding="utf-8")


def test_self_judged_rewordings_are_told_at_the_top_and_counted(tmp_path):
    html = page(tmp_path, vary=["recorded"], check=["mutual-entailment"])
    assert "asked only what it accepted itself" in html
    assert re.search(r"<bdi>nli-small</bdi> 266 of 307\srewordings\.", html)
    assert "mutual-entailment, by <bdi>nli-small</bdi></th><td>41</td>" in html
    assert html.count("mutual-entailment</th>") == 0  # no row that says it dropped none
    assert "self_judged" not in html


def test_without_such_a_check_nothing_is_said_of_it(tmp_path):
    html = page(tmp_path, vary=["recorded"], check=["surface"])
    assert "accepted itself" not in html
    assert "What generators gave up" not in html


def test_what_generators_gave_up_has_a_section(tmp_path):
    pytest.importorskip("spacy")
    html = page(tmp_path, vary=["contractions", "masked-lm(least=1)"])
    assert "What generators gave up" in html
    assert '<th scope="row">masked-lm.v1</th>' in html
    assert "no likelier than the word itself" in html


def test_options_are_shown_where_they_tell_two_apart():
    told = short_names(["a.v1(n=1)#x", "a.v1(n=2)#x", "b.v1(n=1)#x"])
    assert list(told.values()) == ["a.v1(n=1)#x", "a.v1(n=2)#x", "b.v1"]


def test_a_manifest_without_such_entries():
    assert given_up({}) == []
