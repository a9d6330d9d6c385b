"""Asking the same again: through `answer` and `run`, resumed, on engines, and by models of every kind."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from engine_runs import files_of
from refusals import refuses
from tiny_models import build, save, word_tokenizer
from typer.testing import CliRunner

import otherwords as ow
from otherwords.cli.app import app
from otherwords.errors import BadInput
from otherwords.problem import Repeat
from otherwords.running import stages

#: A model with noise by seed: a third of the texts get any answer, by text, way and number. It logs what it is asked.
NOISY = """
import hashlib
import os

LABELS = ("entailment", "neutral", "contradiction")

def digit(*parts):
    return hashlib.sha256("|".join(map(str, parts)).encode()).digest()[0]

def ask(batch):
    with open(os.environ["ASKED"], "a") as log:
        log.writelines(f"{batch.repeat.column}\\n" for _ in range(len(batch)))
    texts = zip(batch["premise"], batch["hypothesis"])
    return [LABELS[digit(*text, *(batch.repeat if digit("noisy", *text) < 80 else ())) % 3] for text in texts]
"""
AGAIN = ["again:usual:1", "again:usual:2"]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "noisy.py").write_text(NOISY)
    monkeypatch.setenv("ASKED", str(tmp_path / "asked.txt"))
    monkeypatch.chdir(tmp_path)
    stages.forget()
    return "noisy=python:noisy.py:ask"


def asked(folder: Path) -> dict[str, int]:
    """How often a text was asked since the last look, by repeat."""
    log = folder / "asked.txt"
    lines = log.read_text().splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return {name: lines.count(name) for name in sorted(set(lines))}


def run(out: Path, model: str, **settings: Any) -> ow.running.Run:
    stages.forget()
    plain = {"data": ["everyday"], "vary": ["recorded"], "models": [model], "canary": False, "shard": 100}
    return ow.run(out=out, **{**plain, "cache": str(out.parent / "cache.sqlite"), **settings})


def test_answers_are_columns_beside_the_first_ones(model: str, tmp_path: Path) -> None:
    suite = ow.vary("everyday", "recorded", suite=True)
    once = ow.answer(suite, model, canary=False, cache=tmp_path / "c.sqlite")
    texts = asked(tmp_path)
    table = ow.answer(suite, model, canary=False, cache=tmp_path / "c.sqlite", repeats=2)
    assert asked(tmp_path) == dict.fromkeys(AGAIN, texts["again:usual:0"]), "the first answers are in the cache"
    assert table.drop(AGAIN).equals(once)
    assert 0 < (table["pred"] != table["again:usual:1"]).mean() < 0.5
    assert (table["again:usual:1"] != table["again:usual:2"]).any()
    more = ow.answer(suite, model, canary=False, cache=tmp_path / "c.sqlite", repeats=3)
    assert asked(tmp_path) == {"again:usual:3": texts["again:usual:0"]}
    assert more.drop("again:usual:3").equals(table)


def test_a_run_keeps_repeats_and_adding_some_asks_nothing_else(model: str, tmp_path: Path) -> None:
    first = run(tmp_path / "run", model)
    texts = asked(tmp_path)["again:usual:0"]
    assert "repeat_flips" not in {one.metric for one in first.scores}
    before = first.answers().collect()
    second = run(tmp_path / "run", model, repeats=2)
    assert asked(tmp_path) == dict.fromkeys(AGAIN, texts)
    assert [one.metric for one in second.scores][:2] == ["repeat_flips", "flip_rate_net"]
    assert second.answers().collect().drop(AGAIN).equals(before)
    assert second.manifest["repeated"] == {"noisy": {"usual": 2}}
    run(tmp_path / "run", model, repeats=2)
    assert asked(tmp_path) == {}
    assert {one.metric: one.value for one in second.scores if one.metric == "flip_rate"} == {
        one.metric: one.value for one in first.scores if one.metric == "flip_rate"
    }
    table = ow.answer(tmp_path / "run" / "buckets", model, canary=False, cache=tmp_path / "cache.sqlite", repeats=2)
    assert ow.score(table)["flip_rate_net"].value == pytest.approx(second.scores["flip_rate_net"].value)


def test_shards_give_the_same_numbers(model: str, tmp_path: Path) -> None:
    here = run(tmp_path / "here", model, repeats=1, cache=None)
    other = run(tmp_path / "other", model, repeats=1, cache=None, shard=1000)
    assert list(here.scores) == list(other.scores)


@pytest.mark.slow
def test_engines_give_the_same(model: str, tmp_path: Path) -> None:
    """Workers rephrase and check; a model with repeats is asked by the driver."""
    here = run(tmp_path / "here", model, repeats=1, cache=None)
    there = run(tmp_path / "there", model, repeats=1, cache=None, engine="processes:2")
    files = [files_of(one.folder) for one in (here, there)]
    assert files[0].keys() == files[1].keys()
    assert [name for name in files[0] if files[0][name] != files[1][name]] == []


def test_a_killed_run_asks_what_is_missing(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure in the middle of the repeats: what was answered is stored, and the whole is that of one run."""
    whole = run(tmp_path / "whole", model, repeats=2, cache=None, batch_size=50)
    texts = asked(tmp_path)["again:usual:0"]
    broken = NOISY.replace(
        "    texts =", "    if os.environ.get('FAIL') == batch.repeat.column: raise OSError\n    texts ="
    )
    (tmp_path / "noisy.py").write_text(broken)
    monkeypatch.setenv("FAIL", "again:usual:2")
    with pytest.raises(ow.OtherwordsError):
        run(tmp_path / "run", model, repeats=2, batch_size=50)
    begun = asked(tmp_path)
    assert begun["again:usual:1"] <= texts
    monkeypatch.setenv("FAIL", "")
    found = run(tmp_path / "run", model, repeats=2, batch_size=50)
    rest = asked(tmp_path)
    assert begun["again:usual:0"] + rest.get("again:usual:0", 0) == texts
    assert begun["again:usual:1"] + rest.get("again:usual:1", 0) == texts
    assert found.answers().collect().equals(whole.answers().collect())


def test_variants_that_the_model_rejects_itself_are_not_asked_again(model: str, tmp_path: Path) -> None:
    found = run(tmp_path / "run", model, repeats=1, check=["mutual-entailment(judge=self)"])
    answers = found.answers().collect()
    rejected = answers["rejected"].is_not_null()
    assert rejected.any()
    assert (answers["again:usual:1"].is_null() == rejected).all()
    table = ow.answer(found, model, canary=False, cache=None, repeats=1)
    assert table["again:usual:1"].equals(answers["again:usual:1"])


def test_asking_until_an_answer_is_known_asks_again_too(model: str, tmp_path: Path) -> None:
    suite = ow.vary("everyday", "recorded", suite=True)
    table = ow.answer(suite, model, canary=False, cache=None, until="flip_rate<=0.2", repeats=1)
    assert 0 < table.height < suite.height
    assert table["again:usual:1"].null_count() == 0


def test_the_command_line(model: str, tmp_path: Path) -> None:
    ow.vary("everyday", "recorded", suite=True).write_parquet("suite.parquet")
    run = CliRunner().invoke
    plain = ["answer", "suite.parquet", "-m", model, "--no-canary", "--no-cache"]
    done = run(app, [*plain, "--repeats", "2", "--repeat-way", "usual", "-o", "answers.parquet"])
    assert done.exit_code == 0, done.output
    assert set(AGAIN) <= set(pl.read_parquet("answers.parquet").columns)
    scored = run(app, ["score", "answers.parquet", "--json"])
    assert json.loads(scored.stdout)[0]["metric"] == "repeat_flips"
    assert run(app, [*plain, "--repeats", "1", "--repeat-way", "cold"]).exit_code == 2


@pytest.mark.parametrize(
    "settings", [{"repeats": -1}, {"repeat_ways": ["usual"]}, {"repeats": 1, "repeat_ways": "cold"}]
)
def test_wrong_settings_are_refused_before_any_answer(model: str, tmp_path: Path, settings: dict[str, Any]) -> None:
    suite = [{"premise": "It rains.", "hypothesis": "It is wet.", "label": "neutral"}]
    with refuses(BadInput):
        ow.answer(suite, model, canary=False, cache=None, **settings)
    with refuses(BadInput):
        run(tmp_path / "run", model, **settings)
    assert asked(tmp_path) == {}


def test_a_model_that_computes_the_same_from_the_same_text_is_not_asked_again(tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = run(tmp_path / "run", "bag_of_words", repeats=2)
    assert [str(one.message) for one in caught if "not asked again" in str(one.message)]
    assert not any(name.startswith("again:") for name in found.answers().collect_schema())
    assert found.manifest["noise_unknown"] == []


def test_too_few_repeats_for_a_noise_floor_are_said_before_they_are_asked(tmp_path: Path) -> None:
    function = ow.Model(lambda batch: ["neutral"] * len(batch), name="mine", ways=("cold", "usual", "alone"))
    suite = [{"premise": "It rains.", "hypothesis": "It is wet.", "label": "neutral"}]
    for ways in (["cold"], ["cold", "alone"]):
        with pytest.warns(UserWarning, match=rf"mine: asked once {', '.join(ways)}, and a noise .*repeats=2"):
            ow.answer(suite, function, canary=False, cache=None, repeats=1, repeat_ways=ways)
    for count, ways in ((1, ["cold", "usual"]), (2, ["cold"])):
        ow.answer(suite, function, canary=False, cache=None, repeats=count, repeat_ways=ways)


class Recorder:
    """A batch-dependent function: it remembers its batches."""

    batch_invariant = False
    version = "1"

    def __init__(self) -> None:
        self.batches: list[tuple[Repeat, list[str]]] = []

    def __call__(self, batch: Any) -> list[str]:
        self.batches.append((batch.repeat, list(batch["premise"])))
        return ["neutral"] * len(batch)


def test_shuffled_texts_have_other_company_the_same_in_every_run() -> None:
    rows = [
        {"premise": f"It rains{' and rains' * (n % 5)}, {n}.", "hypothesis": "Wet.", "label": "neutral"}
        for n in range(40)
    ]
    models = [Recorder(), Recorder()]
    for model in models:
        ow.answer(rows, model, canary=False, cache=None, repeats=2, batch_size=64)
    assert models[0].batches == models[1].batches
    by_repeat: dict[Repeat, list[list[str]]] = {}
    for repeat, texts in models[0].batches:
        by_repeat.setdefault(repeat, []).append(texts)
    assert [len(some) for some in by_repeat.values()] == [1, 2, 2], "no batch has more than half of the texts"
    assert {repeat.way for repeat in list(by_repeat)[1:]} == {"shuffled"}
    company = [{frozenset(texts) for texts in some} for some in by_repeat.values()]
    assert company[1] != company[2]
    lengths = [len(text) for text in by_repeat[Repeat("shuffled", 1)][0]]
    assert lengths != sorted(lengths)
    assert {text for some in company[1] for text in some} == {text for some in company[0] for text in some}


def test_where_answers_vary_and_nobody_asked_again_it_is_said_once(tmp_path: Path) -> None:
    model = ow.Model(Recorder(), name="varies", batch_invariant=False, ways=("shuffled",), version="1")
    silent = run(tmp_path / "silent", model)
    assert silent.manifest["noise_unknown"] == ["varies"]
    assert silent.report.read_text().count("The noise of varies was not measured") == 1
    measured = run(tmp_path / "measured", model, repeats=2)
    assert measured.manifest["noise_unknown"] == []
    page = measured.report.read_text()
    assert "was not measured" not in page
    assert page.index("Noise first: asked the same text again, varies gives another answer 0.0") < page.index(
        "one answer"
    )


def test_a_model_of_the_hub_is_asked_again_in_other_company(tmp_path: Path) -> None:
    folder = save(build("bert"), tmp_path / "tiny", word_tokenizer())
    rows = [{"premise": f"It rains, {n}.", "hypothesis": "Wet.", "label": "neutral"} for n in range(20)]
    answers = ow.answer(rows, f"tiny=hf:{folder}", canary=False, cache=None, repeats=2)
    assert answers["again:shuffled:1"].to_list() == answers["again:shuffled:2"].to_list() == answers["pred"].to_list()
    with refuses(BadInput) as refused:
        ow.answer(rows, f"tiny=hf:{folder}", canary=False, cache=None, repeats=1, repeat_ways=["cold"])
    assert refused.value.fix == "it has shuffled"


def test_a_suite_that_has_repeats_of_another_model_keeps_them_apart() -> None:
    rows = [{"id": "a", "premise": "It rains.", "hypothesis": "Wet.", "label": "neutral", "again:usual:1": "neutral"}]
    table = ow.answer(rows, lambda batch: ["neutral"] * len(batch), canary=False, cache=None)
    assert "input_again:usual:1" in table.columns


@pytest.mark.parametrize(
    ("ways", "given", "warned"),
    [
        (("cold", "usual", "alone"), (), ""),
        (("cold", "usual", "alone"), ("usual",), "repeat_ways='cold' asks without it"),
        (("usual", "alone"), (), "perhaps `otherwords probe` finds out how"),
        (("usual", "alone"), ("usual", "alone"), ""),
    ],
)
def test_a_server_that_may_repeat_from_memory_is_warned_of(
    ways: tuple[str, ...], given: tuple[str, ...], warned: str
) -> None:
    """Asked as usual, a server that remembers prompts shows no noise; it is asked cold where it can be."""
    model = ow.Model(lambda batch: ["neutral"] * len(batch), ways=ways, by_driver=True)
    rows = pl.DataFrame({"premise": ["A dog runs."], "hypothesis": ["It moves."], "label": ["neutral"]})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = ow.answer(rows, model, repeats=2, repeat_ways=given, canary=False, cache=False)
    assert f"again:{(given or ways)[0]}:2" in table.columns
    said = [str(one.message) for one in caught if "remembers prompts" in str(one.message)]
    assert (warned in said[0]) if warned else not said
