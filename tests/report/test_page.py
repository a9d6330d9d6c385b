"""The page as a reader gets it: its numbers are those given, its texts are only text, and it loads nothing."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput
from otherwords.problem import Score, Task

MANIFEST: dict[str, Any] = {
    "otherwords": "1.0.0rc1",
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


#: The scripts of the page: data that are no program, and the list that shows them.
OURS = ['<script type="text/plain" id="browse-data">', "<script>"]


def plain(page: str) -> str:
    """The page's text without its tags, white space made one."""
    body = re.sub(r"<(style|script)\b.*?</\1>", " ", page, flags=re.DOTALL)
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
    assert re.findall("<script[^>]*>", page) == OURS
    assert "<img" not in page
    assert page.count("&lt;script&gt;alert") >= 8


def test_nothing_is_loaded(study: Any) -> None:
    page = study.html(manifest=MANIFEST)
    assert not re.findall(r"""(?:src|href|action|data)\s*=\s*["']?\s*(?:https?:|//)""", page)
    assert not re.findall(r"<(?:link|img|iframe|object|embed|base)\b", page)
    assert re.findall("<script[^>]*>", page) == OURS
    assert "@import" not in page
    assert set(re.findall(r"url\(([^)]*)\)", page)) == {"#hatch"}
    assert "default-src 'none'" in page
    script = page.rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'\">" in page  # and so no other script runs


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
    bare = make_score(low=None, high=None, interval="", note="one cluster")
    page = study.html(scores=[none, bare, make_score(model="strong")])
    assert '<span class="none" title="nothing to measure">–</span>' in page
    assert "– is not zero: there was nothing to measure. P_C: no problem has two answered rewordings." in plain(page)
    assert '<span class="none" title="not scored">–</span>' in page
    assert '<span class="interval" title="one cluster">no interval</span>' in page
    assert "No interval: Flip rate (one cluster)." in plain(page)
    assert "None" not in page


def test_evidence_and_the_kind_of_interval_are_shown(study: Any, make_score: Callable[..., Score]) -> None:
    """Without a bootstrap, no replicates are spoken of; a loss has a minus."""
    closed = {"replicates": None, "confidence": 0.95}
    scores = [
        make_score(interval="wilson", n_units=123, n_clusters=41, n_effective=38.6, **closed),
        make_score("accuracy_drop", value=-0.013, low=-0.061, interval="mover", n_units=30, n_clusters=30, **closed),
        make_score("pa", interval="wilson", n_units=14, n_clusters=14, n_effective=14.0, **closed),
    ]
    page = study.html(scores=scores)
    text = plain(page).replace("\u00a0", " ")
    assert "5 answers 123 problems 41 clusters eff. n 39" in text
    assert "\u22121.3 % [\u22126.1, 72.1]" in text
    assert "30 clusters" not in text  # each is a problem
    assert "In brackets: 95 % intervals (Wilson on clusters, MOVER); eff. n: " in text
    assert "MOVER (Accuracy, change): " in text
    assert not re.findall(
        "replicates|bootstrap|drawn with replacement", text.partition("What is needed to reproduce")[0]
    )
    assert 'intervals are not reliable">14\u00a0problems</b>' in page
    drawn = plain(study.html(scores=[*scores, make_score("pvap", replicates=10_000)]))
    assert "Percentile bootstrap (pvap), 90 %, 10,000 replicates: Whole clusters are drawn" in drawn


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


# How a reader finds the way


def links(page: str) -> tuple[list[str], list[str]]:
    return re.findall(r'href="#([^"]+)"', page), re.findall(r'\bid="([^"]+)"', page)


def test_every_link_has_its_place(study: Any, make_score: Callable[..., Score]) -> None:
    grouped = [make_score(group=f"{by}=x") for by in ("topic", "how")]
    verdicts = {"check:x": pl.when(pl.col("of").is_not_null()).then(True)}
    page = study.html(
        manifest={**MANIFEST, "unvaried": {"contractions.v1(field=hypothesis)": 2}},
        scores=[*study.scores, *grouped],
        buckets=study.buckets.with_columns(**verdicts),
    )
    targets, ids = links(page)
    assert len(ids) == len(set(ids))
    assert set(targets) <= set(ids)
    contents = page[page.index("<nav") : page.index("</nav>")]
    sections = ["scores", "by1", "by2", "wording", "problems", "m1", "m2", "browse", "checks", "generators"]
    assert links(contents)[0] == [*sections, "methods", "signatures"]


def test_a_part_of_a_bar_leads_to_its_problems(study: Any) -> None:
    page = study.html()
    targets, _ = links(page[page.index("<figure") : page.index("</figure>")])
    assert set(targets) == {"m1-right", "m2-mixed"}
    right = page[page.index('<h4 id="m1-right">') : page.index('<h3 id="m2">')]
    assert plain(right).startswith("2 always right")
    assert re.findall(r"<b><bdi>(\w+)</bdi></b>", right) == ["cat", "dog"]


def test_models_are_in_the_order_of_their_flips(study: Any) -> None:
    page = study.html()
    head = page[page.index('id="headline"') :].partition("</table>")[0]
    assert re.findall(r'<th scope="row"><bdi class="name">(\w+)<', head) == ["strong", "weak"]
    assert re.findall(r'<td data-label="([^"]+)">', head)[:3] == ["Flip rate", "Accuracy, originals", "P_C"]
    assert re.search(r"<th[^>]*>P_C</th>", head)


def test_a_small_screen_shows_cards(study: Any) -> None:
    """Every cell knows its column, and the style shows it where a table would be wider than the screen."""
    page = study.html()
    assert '<table id="headline" class="cards">' in page
    assert "content: attr(data-label)" in page
    assert all("data-label=" in cell for cell in re.findall(r"<td[^>]*><span", page))


def test_names_are_not_broken_inside_a_word(study: Any) -> None:
    name = "some-organisation/a_model-with-a-long-name"
    page = study.html(
        scores=[replace(one, model=name) for one in study.scores if one.model == "weak"],
        answers=study.answers.with_columns(model=pl.col("model").replace("weak", name)),
    )
    assert "some-<wbr>organisation/<wbr>a_<wbr>model-<wbr>with-<wbr>a-<wbr>long-<wbr>name</bdi>" in page
    style = page.partition("<style>")[2].partition("</style>")[0]
    assert "break-all" not in style
    assert [rule for rule in style.splitlines() if "anywhere" in rule and not rule.startswith(".foot")] == []


def test_a_study_without_the_canary_says_so(study: Any) -> None:
    assert "The canary was off" in plain(study.html(manifest={"study": {"canary": False}}))
    assert "The canary was off" not in study.html(manifest={"study": {"canary": True}})


def test_signatures_are_at_the_foot_alone(study: Any, make_score: Callable[..., Score]) -> None:
    how = "wordnet.v1(n=3, pos=noun)#abc"
    signed = [replace(make_score("jsd"), signature=f"jsd.v{i}(option=1) seed=1") for i in (1, 2)]
    page = study.html(
        manifest=MANIFEST,
        scores=[*study.scores, *signed, make_score(group=f"how={how}")],
        buckets=study.buckets.with_columns(how=pl.when(pl.col("of").is_not_null()).then(pl.lit(how))),
    )
    body, foot = html.unescape(page).split("<footer")
    for text in (how, *(one.signature for one in signed)):
        assert text not in body
        assert foot.count(text) == 1
    assert 'href="#sig4">[4]</a>' in body, "two metrics of one name are told apart by a link"
    assert "<b>wordnet</b> wordnet.v1(n=3, pos=noun)#abc" in foot


def test_a_constant_model_comes_last_and_is_marked(study: Any, make_score: Callable[..., Score]) -> None:
    constant = study.answers.filter(model="weak").with_columns(model=pl.lit("stubborn"), pred=pl.lit("neutral"))
    page = study.html(
        scores=[make_score(model="stubborn", value=0.0, low=0.0, high=0.0), *study.scores],
        answers=pl.concat([study.answers, constant]),
    )
    text = plain(page)
    assert "stubborn gives one answer, neutral, to all 7 wordings" in text
    assert re.findall(r'<h3 id="m\d"><bdi class="name">(\w+)', page) == ["strong", "weak", "stubborn"]
    assert '<tr class="unranked"><th scope="row"><bdi class="name">stubborn</bdi>' in page
    assert text.count("one answer to everything: neutral") == 3  # at its scores, its bar and its problems
    assert "asked 5 rewordings of 2 problems, strong changed its answer on 0.0 %" in text
    many = [make_score(f"metric_{i}", model=model) for model in ("stubborn", "weak") for i in range(9)]
    tall = study.html(scores=many, answers=pl.concat([study.answers, constant]))
    assert tall.count('<td data-label="stubborn" class="unranked">') == 9
    assert '<td data-label="weak" class="unranked">' not in tall


# Studies that lack something, or have much


def test_without_labels_nothing_is_called_wrong(study: Any, make_score: Callable[..., Score]) -> None:
    unknown = study.answers.with_columns(gold=pl.lit(None, dtype=pl.String))
    page = study.html(scores=[make_score(), make_score(model="strong", value=0.0)], answers=unknown)
    assert "strong: of 2\u00a0problems, same answer to all wordings 2 (100.0\u00a0%), depends on the wording 0" in page
    text = plain(page)
    assert "✗ wrong" not in text
    assert "✓ right" not in text
    assert "always right" not in text


def test_without_originals(study: Any, make_score: Callable[..., Score]) -> None:
    answers = study.answers.filter(pl.col("variant").is_not_null())
    page = study.html(scores=[make_score("p_c")], answers=answers)
    text = plain(page)
    assert "weak gave rewordings of 2 of 2 problems different answers, and strong" in text
    assert "of 0 of 2 problems different answers; no original was answered" in text
    assert "the original was not answered" in text


def test_sixty_metrics_and_three_hundred_groups(study: Any, make_score: Callable[..., Score]) -> None:
    names = [f"metric_{i}" for i in range(59)]
    scores = [make_score(name, model=m) for m in ("weak", "strong") for name in (*names, "flip_rate")]
    groups = [make_score(model=m, group=f"id={i}") for i in range(300) for m in ("weak", "strong")]
    page = study.html(scores=[*scores, *groups])
    head = page[page.index('id="headline"') :].partition("</table>")[0]
    assert plain(head.partition("<tbody>")[2]).startswith("Flip rate")
    assert head.count("<tr>") == 61
    assert "400\u00a0more rows in the scores file." in page


def test_one_rewording_a_problem(tmp_path: Path) -> None:
    """Where the flip rate is not zero, neither is the part of the bar that depends on the wording."""
    study = {"data": ["everyday"], "vary": ["contractions"], "models": ["scripted(seed=3)"], "replicates": 50}
    run = ow.run(study, canary=False, cache=None, out=tmp_path / "run")
    [flips] = [one for one in run.scores if one.metric == "flip_rate"]
    page = run.report.read_text(encoding="utf-8")
    [found] = re.findall(r"depends on the wording (\d+) \(", page.partition("<figure")[2])
    assert flips.value
    assert int(found) == round(flips.value * flips.n_answers), "one rewording each: every flip is a problem"
