"""Everything about a study is found out before its work begins: nothing is varied, checked or asked for nothing."""

from __future__ import annotations

import json
import weakref
from pathlib import Path

import pytest
from refusals import refuses
from varying import contracted

import otherwords as ow
from otherwords.errors import BadInput, LabelOrder, OtherwordsError, UnknownName, Unmeasurable
from otherwords.progress import Progress, reporting_to
from otherwords.running import stages

ROWS = contracted(4)
MODEL = "m=scripted(log=log)"
LABELS = "def ask(batch):\n    return ['neutral'] * len(batch)\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    Path("mine.py").write_text(LABELS)
    return tmp_path


def study(**more):
    plain = {"data": ["data.jsonl"], "vary": ["contractions"], "models": [MODEL], "canary": False, "cache": None}
    return {**plain, "replicates": 10, **more}


def refused(error, **more):
    """Nothing was made but the problems, and nothing was asked."""
    with refuses(error):
        ow.run(study(**more), out="run")
    assert not Path("log").exists()
    assert not Path("run/variants").exists()
    assert not Path("run/buckets").exists()


@pytest.mark.parametrize(
    "second",
    ["python:gone.py:ask", "python:mine.py:gone", "onnx:gone"],
)
def test_a_broken_second_model_costs_nothing_of_the_first(here, second):
    refused(OtherwordsError, models=[MODEL, f"n={second}"])


def test_a_study_without_variants_asks_no_model_anything(here):
    refused(BadInput, vary=[], canary=True)
    refused(BadInput, vary=[], models=["python:gone.py:ask"])


def test_a_second_model_that_gives_no_label(here):
    with refuses(OtherwordsError):
        ow.run(study(models=["m=scripted", "n=scripted(otherwise=maybe)"], canary=True), out="run")
    assert not Path("run/variants").exists()


def test_a_second_model_with_other_labels(here):
    Path("mine.py").write_text(LABELS + "ask.labels = ['yes', 'no', 'perhaps']\n")
    refused(BadInput, models=[MODEL, "n=python:mine.py:ask"])


@pytest.mark.filterwarnings("ignore:.*is weak")
def test_a_second_model_with_permuted_labels(here):
    turned = {"entailment": "neutral", "neutral": "contradiction", "contradiction": "entailment"}
    code = "from otherwords.models.canary import questions\nfrom otherwords.problem import TASKS\n"
    code += f"turned = {turned}\nknown = {{texts: turned[label] for texts, label in questions(TASKS['nli'])}}\n"
    code += "def ask(batch):\n    return [known.get((one.text['premise'], one.text['hypothesis']), 'neutral') "
    Path("mine.py").write_text(code + "for one in batch]\n")
    with refuses(LabelOrder):
        ow.run(study(models=["m=scripted", "n=python:mine.py:ask"], canary=True), out="run")
    assert not Path("run/variants").exists()


def test_columns_to_group_by(here):
    refused(UnknownName, by=["colour"])
    refused(UnknownName, by=["premise"])
    refused(UnknownName, vary=["contractions", "identity"], by=["topic", "chagnes"])
    scores = ow.run(study(by=["topic", "gold", "label", "original", "check:surface"]), out="run").scores
    assert {"label=neutral", "original=right"} <= {one.group for one in scores}


@pytest.mark.filterwarnings("ignore:.*belong to no group")
def test_columns_that_a_generator_adds(here):
    Path("rewordings.jsonl").write_text(json.dumps({"of": "p1", "premise": "Not one.", "rule": "r1"}) + "\n")
    scores = ow.run(study(vary=["recorded:rewordings.jsonl"], by=["rule"]), out="run").scores
    assert "rule=r1" in {one.group for one in scores}


def test_metrics_that_lack_something(here):
    for metric in ("sensitivity", "control_flips"):
        refused(Unmeasurable, metrics=[metric])
    refused(BadInput, metrics=["jaccard(suite=gone.jsonl)"])
    assert ow.run(study(vary=["identity", "contractions"], metrics=["control_flips", "jaccard"]), out="run").scores


@pytest.mark.filterwarnings("ignore:.*is weak")
def test_metrics_of_probabilities_of_a_model_that_gives_labels(here):
    with refuses(Unmeasurable):
        ow.run(study(models=["n=python:mine.py:ask"], metrics=["jsd_pairs"], canary=True), out="run")
    assert not Path("run/variants").exists()


def test_gates_that_nothing_will_measure(here):
    with refuses(UnknownName):
        ow.run(study(), out="run", require=["flip_rate<=1", "control_flips<=0"])
    assert not Path("log").exists()
    assert ow.run(study(), out="run", require=["flip_rate[topic=a]<=1", "p_c>0"]).scores


@pytest.mark.parametrize(
    "more",
    [
        {"vary": ["recorded:gone.jsonl"]},
        {"vary": ["masked-lm(model=onnx:gone)"]},
        {"check": ["human:gone.csv"]},
        {"check": ["mutual-entailment(judge=onnx:gone)"]},
        {"metrics": ["embedding_distance(encoder=hf:gone)"]},
    ],
)
def test_generators_checks_and_metrics_that_cannot_be_made(here, more):
    refused(OtherwordsError, **more)


def test_results_of_an_earlier_study_stay_where_a_changed_one_cannot_begin(here):
    ow.run(study(), out="run")
    before = Path("run/scores.json").read_bytes()
    with refuses(BadInput), pytest.warns(UserWarning, match="no longer in the study"):
        ow.run("run", models=["python:gone.py:ask"])
    assert Path("run/scores.json").read_bytes() == before
    assert Path("run/report.html").exists()
    assert ow.run("run").scores


def test_one_model_is_loaded_once_and_the_first_of_several_is_kept(here, monkeypatch):
    loaded = []
    load = stages.load

    def counted(spec, *rest, **options):
        loaded.append(spec)
        return load(spec, *rest, **options)

    monkeypatch.setattr(stages, "load", counted)
    ow.run(study(), out="one")
    assert loaded == [MODEL]
    loaded.clear()
    ow.run(study(models=["a=scripted", "b=scripted(seed=1)"]), out="two")
    assert loaded == ["b=scripted(seed=1)", "a=scripted", "b=scripted(seed=1)"]


def test_one_model_at_a_time_is_in_memory(here, monkeypatch):
    alive, most = weakref.WeakSet(), []
    load = stages.load

    def counted(*args, **options):
        most.append(len(alive))
        model = load(*args, **options)
        alive.add(model.model)
        return model

    monkeypatch.setattr(stages, "load", counted)
    ow.run(study(models=["a=scripted", "b=scripted(seed=1)", "c=scripted(seed=2)"]), out="run")
    assert most == [0] * 5


def test_the_progress_says_what_is_done(here):
    names = []

    class Stages(Progress):
        def start(self, stage, total=None):
            names.append(stage)

    with reporting_to(Stages()):
        ow.run(study(), out="run")
    assert names == ["problems", "models", "variants", "buckets", "answers", "scores"]
