"""The paragraph says what was done, cites what it uses, and its commands repeat the run."""

from __future__ import annotations

import html
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import otherwords as ow
from otherwords.problem import TASKS
from otherwords.report import methods as module
from otherwords.report.methods import label, methods
from otherwords.report.numbers import KINDS

SIGNATURES = {"vary": ["syn=wordnet.v1(n=3)", "structural.v2()"], "check": ["surface.v1(min_ratio=0.3)"]}
MANIFEST: dict[str, Any] = {"otherwords": "1.2", "seed": 7, "signatures": SIGNATURES, "study": {"data": ["a.csv"]}}


def text(found: module.Methods) -> str:
    return " ".join(found.sentences)


def test_it_says_what_was_done_and_cites_it(make_score: Any) -> None:
    scores = [make_score("p_c"), make_score(interval="wilson"), make_score("pa", interval="bca")]
    found = methods(MANIFEST, scores, TASKS["nli"], ["m", "other"], ["comparison", "substitutions"])
    shown = text(found)
    assert (
        "put to “m” and “other”, in their own words and in rewordings made by syn and structural (Miller 1995; "
        in shown
    )
    assert "Rewordings that did not pass surface were left out" in shown
    assert (
        "Reported are: P_C (Srikanth et al. 2024); flip rate (Verma et al. 2023); pattern accuracy (Zgreabăn" in shown
    )
    assert "(90 %) are Percentile bootstrap, Wilson on clusters (Wilson 1927) and BCa bootstrap (Efron 1987)" in shown
    assert "share their premise for independent" in shown
    assert "(Westfall and Young 1993)" in shown
    assert "shrunk towards the mean" in shown
    assert "otherwords 1.2, with seed 7" in shown
    assert len(found.bibtex) == len(set(found.bibtex)) == 9
    assert all(f"@{kind}" in "".join(found.bibtex) for kind in ("article", "book", "inproceedings", "misc"))


def test_what_is_not_there_is_not_spoken_of(make_score: Any) -> None:
    found = methods({}, [make_score(interval="", confidence=None)], TASKS["nli"], ["m"])
    assert "rewordings that came with the data" in text(found)
    assert not re.search("compared|ubstitution|Intervals|None", text(found))
    assert (found.commands, found.study) == ((), ""), "nobody knows what was run"
    study = {"data": ["a.csv"], "models": ["m"], "engine": "processes", "max_cost": 3.0, "vary": []}
    known = methods({"study": study, "otherwords": "1.2"}, [make_score()], TASKS["nli"], ["m"])
    assert known.study == 'data = ["a.csv"]\nmodels = ["m"]\n', "by whom it is done changes nothing"
    assert known.commands[:2] == ("pip install otherwords==1.2", "otherwords run study.toml -o again")


def test_every_citation_has_an_entry() -> None:
    cited = {*module._METRICS.values(), *module._INTERVALS.values(), *module._GENERATORS.values()}
    assert cited <= set(module._entries())
    assert set(module._INTERVALS) <= set(KINDS)
    for key, entry in module._entries().items():
        assert re.fullmatch(r"@\w+\{" + key + r",\n(  \w+ = \{.*\},?\n)+\}", entry), key
        assert re.fullmatch(r"\D+ \d{4}", label(key)), key


def test_what_is_cited_exists() -> None:
    known = {plugin.name for registry in (ow.registry.metrics, ow.registry.generators) for plugin in registry}
    assert {*module._METRICS, *module._GENERATORS} <= known


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_study_on_the_page_gives_the_same_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Saved beside the data, as the page says; names with quotes and markup among the settings."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": str(i), "premise": f"It isn't {word}.", "hypothesis": "It's not.", "label": "neutral"}
        for i, word in enumerate(("wet", "dry", "hot", "cold"))
    ]
    Path("data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    settings = {
        "name": '"x" <b>',
        "vary": ["contractions"],
        "models": ["a=scripted(seed=4)"],
        "labels": {"<i>": "neutral"},
    }
    study = ow.Study(data=["data.jsonl"], canary=False, cache=None, check=[], replicates=100, **settings)
    first = ow.run(study, out="first")
    page = first.report.read_text(encoding="utf-8").partition('id="repeat"')[2]
    toml = html.unescape(re.findall(r"<pre[^>]*>(.*?)</pre>", page, re.DOTALL)[0])
    assert tomllib.loads(toml)["check"] == []
    Path("study.toml").write_text(toml, encoding="utf-8")
    again = ow.run("study.toml", out="again")
    assert list(again.scores) == list(first.scores)
    assert "otherwords run study.toml -o again" in page
