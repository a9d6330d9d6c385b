"""The page as a reader gets it: its numbers are those given, its texts are only text, and it loads nothing."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.problem import Score, Task

MANIFEST: dict[str, Any] = {
    "otherwords": "0.1.0",
    "study": {"name": "by hand", "by": ["topic"]},
    "seed": 17,
    "signatures": {
        "vary": ["contractions.v1(field=hypothesis)"],
        "check": ["surface.v1(min_ratio=0.33, max_ratio=3.0)"],
        "models": {"weak": "bag_of_words.v1(seed=1)"},
        "metrics": ["flip_rate.v1()"],
    },
    "inputs": [
        {"signature": "jsonl.v1(path=dev.jsonl)", "files": [{"name": "dev.jsonl", "sha256": "ab" * 32, "bytes": 1234}]}
    ],
    "counts": {"problems": 2},
    "versions": {"polars": "1.30.0"},
    "timings": {"answer": 1.23456789},
    "warnings": ["the canary <died>"],
    "host": ["somewhere"],
}


def plain(page: str) -> str:
    """The page's text without its tags, white space made one."""
    body = re.sub(r"<style>.*?</style>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def section(page: str, heading: str) -> str:
    return page.split(f"<h2>{heading}</h2>")[1].split("<h2")[0]


def test_numbers_are_those_given(study: Any) -> None:
    text = plain(study.html())
    head = text[text.index("Model") : text.index("How to read this")]
    weak = "weak 60.0 % [50.0, 72.1] 5 answers 2 problems 50.0 % [0.0, 100.0] 2 answers 2 problems"
    assert f"{weak} 52.8 % [50.0, 55.5] 5 answers 2 problems" in head
    assert "strong 0.0 % [0.0, 0.0] 5 answers 2 problems 100.0 % [100.0, 100.0] 2 answers 2 problems" in head


def test_the_plot_counts_problems(study: Any) -> None:
    page = study.html()
    assert "weak: of 2\u00a0problems, always right 0 (0.0\u00a0%), depends on the wording 2 (100.0\u00a0%)" in page
    assert "strong: of 2\u00a0problems, always right 2 (100.0\u00a0%)" in page


def test_the_problems_that_flipped_most(study: Any) -> None:
    flipped = section(study.html(), "The problems")
    strong, weak = flipped.split('<h3 id="m2">')
    assert "strong" in strong
    assert re.findall(r"<b><bdi>(\w+)</bdi></b>", weak) == ["cat", "dog"], "2 of 3 comes before 1 of 2"
    assert "No rewording changed its answer." in strong
    assert weak.count('class="flip"') == 3
    assert weak.count('class="kept"') == 2
    assert "<mark>Some</mark> animal rests." in weak
    assert "A dog barks <del" in weak
    assert "An animal rests." in weak
    assert "entailment" in weak


def test_ties_go_to_more_flips_then_to_the_smaller_id(study: Any, make_table: Any, make_answers: Any) -> None:
    names = ["b", "b.1", "a", "a.1", "c", "c.1", "c.2", *(x for i in range(10, 22) for x in (f"d{i}", f"d{i}.1"))]
    texts = {name: (f"Text {name}.", "H.") for name in names}
    buckets = make_table(texts, ("premise", "hypothesis"), {name.partition(".")[0]: "neutral" for name in names})
    preds = {"weak": ["neutral" if "." in name else "entailment" for name in names]}
    flipped = section(study.html(buckets=buckets, answers=make_answers(buckets, preds)), "The problems")
    cases = re.findall(r"<b><bdi>(\w+)</bdi></b>", flipped)
    assert cases == ["c", "a", "b", *(f"d{i}" for i in range(10, 17))]


def test_probabilities_are_shown_where_known(study: Any) -> None:
    p = {
        f"p:{label}": pl.lit(share)
        for label, share in (("entailment", 0.6221), ("neutral", 0.3), ("contradiction", 0.0779))
    }
    page = study.html(answers=study.answers.with_columns(**p))
    assert '<b>entailment</b> <span class="quiet">62.2\u00a0%</span>' in page
    assert '<b>neutral</b> <span class="quiet">30.0\u00a0%</span>' in page
    assert '<span class="quiet">62.2' not in study.html()


def test_texts_are_escaped(study: Any) -> None:
    evil = "<script>alert('x')</script>\"><img src=http://evil>"
    texts = pl.when(pl.col("id") == "cat").then(pl.lit(evil)).otherwise("premise").alias("premise")
    strange = [Score("<i>", evil, evil, None, 0.5, None, None, 1, 1), *study.scores]
    manifest = {
        "study": {"name": evil},
        "warnings": [evil],
        evil: {evil: evil},
        "inputs": [{"files": [{"name": evil}]}],
    }
    page = study.html(
        buckets=study.buckets.with_columns(texts, **{"check:x": False, "check:x:reason": pl.lit(evil)}),
        scores=strange,
        answers=study.answers.with_columns(pl.col("model").replace("weak", evil)),
        task=Task("<b>nli</b>", ("premise", "hypothesis"), ("entailment", "neutral", "contradiction")),
        manifest=manifest,
    )
    assert "<script" not in page
    assert "<img" not in page
    assert page.count("&lt;script&gt;alert") >= 8


def test_nothing_is_loaded(study: Any) -> None:
    page = study.html(manifest=MANIFEST)
    assert not re.findall(r"""(?:src|href|action|data)\s*=\s*["']?\s*(?:https?:|//)""", page)
    assert not re.findall(r"<(?:script|link|img|iframe|object|embed|base|form)\b", page)
    assert "@import" not in page
    assert set(re.findall(r"url\(([^)]*)\)", page)) == {"#hatch"}
    assert "default-src 'none'" in page


def test_the_same_input_gives_the_same_bytes(study: Any) -> None:
    page = study.html(manifest=MANIFEST)
    assert page == study.html(manifest=MANIFEST)
    assert page == study.html(manifest=MANIFEST, answers=study.answers.sample(fraction=1, shuffle=True, seed=3))


def test_the_foot_signs_everything(study: Any) -> None:
    foot = plain(section(study.html(manifest=MANIFEST), "Signatures"))
    for signed in ("contractions.v1(field=hypothesis)", "surface.v1(min_ratio=0.33, max_ratio=3.0)", "ab" * 32):
        assert signed in foot
    assert "weak bag_of_words.v1(seed=1)" in foot
    assert "dev.jsonl 1,234 bytes sha256" in foot
    assert "seed 17" in foot
    assert "polars 1.30.0" in foot
    assert "answer 1.23457" in foot
    assert "somewhere" in foot
    assert all(score.signature in foot for score in study.scores)
    assert "the canary <died>" in plain(study.html(manifest=MANIFEST))


@pytest.mark.parametrize("manifest", [{}, {"signatures": ["a"], "inputs": ["b"], "study": "c"}, {"inputs": [{}]}])
def test_any_part_of_the_manifest_may_be_missing_or_odd(study: Any, manifest: dict[str, Any]) -> None:
    assert "Signatures" in study.html(manifest=manifest)


def test_none_is_a_dash_with_an_explanation(study: Any, make_score: Callable[..., Score]) -> None:
    none = make_score("p_c", value=None, low=None, high=None, n_units=0, n_answers=0)
    page = study.html(scores=[none, make_score(low=None, high=None), make_score(model="strong")])
    assert '<span class="none" title="nothing to measure">–</span>' in page
    assert "– is not zero: there was nothing to measure. P C : no problem has two answered rewordings." in plain(page)
    assert '<span class="none" title="not scored">–</span>' in page
    assert '<span class="interval" title="an interval needs at least two clusters">no interval</span>' in page
    assert "None" not in page


def test_one_bucket(study: Any) -> None:
    is_dog = pl.col("bucket") == "dog"
    page = study.html(answers=study.answers.filter(is_dog), buckets=study.buckets.filter(pl.col("cluster") == "dog"))
    assert "weak: of 1\u00a0problem, always right 0 (0.0\u00a0%), depends on the wording 1" in page


def test_no_variants(study: Any, make_score: Callable[..., Score]) -> None:
    scores = [make_score("accuracy_original"), make_score(value=None, low=None, high=None, n_units=0, n_answers=0)]
    answers = study.answers.filter(pl.col("variant").is_null(), pl.col("model") == "weak")
    originals = study.buckets.filter(pl.col("of").is_null())
    for some in (answers, answers.with_columns(variant=pl.lit(None)), answers.with_columns(variant=pl.lit(""))):
        page = study.html(scores=scores, answers=some, buckets=originals.with_columns(**{"check:x": True}))
        assert "No result: no rewording was answered." in page
        assert '<div class="bar"' not in page
        assert "The checks dropped none of 0\u00a0rewordings." in page


def test_groups_fold_away(study: Any, make_score: Callable[..., Score]) -> None:
    grouped = [make_score(group=f"topic={name}", value=value) for name, value in (("kitchen", 0.111), ("<zoo>", 0.222))]
    page = study.html(scores=[*study.scores, *grouped])
    topic = plain(page.split('<details class="group" id="by1">')[1].split("</details>")[0])
    assert topic.startswith("By topic topic Model Flip rate")
    assert "kitchen weak 11.1 %" in topic
    assert "<zoo> weak 22.2 %" in topic


def test_checks_are_reported(study: Any) -> None:
    dropped = pl.when(pl.col("of").is_not_null()).then(pl.col("id") != "dog.2").alias("check:surface")
    reason = pl.when(pl.col("id") == "dog.2").then(pl.lit("length ratio 3.20")).alias("check:surface:reason")
    text = plain(study.html(buckets=study.buckets.with_columns(dropped, reason)))
    assert "Of 5 rewordings, 1 (20.0 %) were dropped by at least one check; 4 were kept." in text
    assert "Answered: strong 5, weak 5." in text
    assert "surface 1 1 length ratio 3.20 1×" in text
    assert "What was dropped" not in study.html()


def test_a_task_of_ones_own(study: Any, make_table: Any, make_answers: Any, make_score: Any) -> None:
    fields = ("first", "second", "claim")
    texts = {"q": ("One.", "Two.", "Three is more."), "q.1": ("One.", "2.", "Three is more.")}
    buckets = make_table(texts, fields, {"q": "yes"})
    page = study.html(
        scores=[make_score()],
        task=Task("syllogism", fields, ("yes", "no")),
        buckets=buckets,
        answers=make_answers(buckets, {"weak": ["yes", "no"]}),
    )
    assert "task syllogism" in page
    assert all(f"<dt>{name}</dt>" in page for name in fields)
    assert '<dt>second</dt><dd dir="auto"><mark>2</mark>.</dd>' in page


def test_texts_that_are_not_there_or_do_not_differ(study: Any) -> None:
    spaced = (
        pl.when(pl.col("id") == "cat.1").then(pl.lit("An animal  rests.")).otherwise("hypothesis").alias("hypothesis")
    )
    few = study.buckets.filter(~pl.col("id").is_in(["cat.2", "dog"])).with_columns(spaced)
    page = study.html(buckets=few)
    assert "(only white space differs)" in page
    assert "not in the buckets table" in page


def test_a_long_text_does_not_flood_the_page(study: Any) -> None:
    text = " ".join(f"word{i}" for i in range(5000))
    long = study.buckets.with_columns(premise=pl.lit(text + " ") + pl.col("premise"))
    assert len(study.html(buckets=long)) < len(study.html()) + 20_000


def test_many_rewordings_are_cut(study: Any, make_table: Any, make_answers: Any) -> None:
    texts = {"q": ("P.", "H."), **{f"q.{i}": (f"P {i}.", "H.") for i in range(50)}}
    buckets = make_table(texts, ("premise", "hypothesis"), {"q": "neutral"})
    page = study.html(buckets=buckets, answers=make_answers(buckets, {"weak": ["neutral", *["entailment"] * 50]}))
    assert page.count('class="flip"') == 40
    assert "10\u00a0more rewordings not shown." in page


def test_answers_of_one_unnamed_model(study: Any, make_score: Callable[..., Score]) -> None:
    weak = study.answers.filter(pl.col("model") == "weak").drop("model")
    assert '<h3 id="m1"><bdi class="name">model</bdi></h3>' in study.html(
        scores=[make_score(model="model")], answers=weak
    )


def test_what_cannot_be_shown_is_refused(study: Any) -> None:
    with refuses(BadInput):
        study.html(scores=[])
    with refuses(BadInput):
        study.html(answers=study.answers.clear())
    with refuses(BadInput):
        study.html(answers=study.answers.drop("pred"))
    with refuses(BadInput):
        study.html(buckets=study.buckets.drop("premise"))


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH")
def test_a_browser_reads_it(study: Any, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(study.html(manifest=MANIFEST), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-quic", "--disable-sync"]
    flags += [
        "--disable-background-networking",
        "--disable-component-update",
        f"--user-data-dir={tmp_path / 'profile'}",
    ]
    made = subprocess.run(
        [str(CHROMIUM), *flags, "--dump-dom", page.as_uri()],
        capture_output=True, timeout=120, env={**os.environ, "HOME": str(tmp_path)}, check=True,
    )  # fmt: skip
    dom = made.stdout.decode("utf-8")
    head = re.search(r'<table id="headline".*?</table>', dom, flags=re.DOTALL)
    assert head is not None
    assert re.findall(r'<th scope="row"><bdi>(\w+)</bdi>', head[0]) == ["weak", "strong"]
    assert len(re.findall(r"<td>", head[0])) == 6
    assert '<rect class="part mixed"' in dom
