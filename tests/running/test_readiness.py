"""Everything about a study is found out before its work begins: nothing is varied, checked or asked for nothing."""

from __future__ import annotations

import json
import weakref
from pathlib import Path

import pytest
from refusals import refuses
from varying import contracted
from warned import lines

import otherwords as ow
from otherwords.errors import BadInput, LabelOrder, OtherwordsError, UnknownName, Unmeasurable
from otherwords.progress import Progress, reporting_to
from otherwords.running import stages

ROWS = contracted(4)
MODEL = "m=scripted(log=log)"
LABELS = "def ask(batch):\n    return ['neutral'] * len(batch)\ndef other(batch):\n    return ask(batch)\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    Path("mine.py").write_text(LABELS)
    return tmp_path


def study(**more):
    plain = {"data": ["data.jsonl"], "vary": ["contractions"], "models": [MODEL], "canary": False, "cache": None}
    return {**plain, "replicates": 200, **more}


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
    refused(Unmeasurable, require=["flip_rate<=1", "control_flips<=0"])
    refused(Unmeasurable, require=["certificate(flip_rate<=0.1, sensitivity>=0.8)"])
    refused(UnknownName, vary=["identity", "scramble", "contractions"], require=["control_flips<=0"])
    refused(BadInput, require=["jaccard(suite=gone.jsonl)<=1"])
    for group in (
        "topic=c",
        "how=wordnet",
        "label=maybe",
        "original=both",
        "control=identity",
        "model=n",
        "colour=red",
    ):
        refused(UnknownName, require=[f"flip_rate[{group}]<=1"])


def test_gates_that_will_be_measured(here):
    gates = ["flip_rate[topic=a]<=1", "p_c>0", "flip_rate[how=contractions].high<=1", "jaccard<=1", "pa(at=0.5)>=0"]
    gates += ["flip_rate[model=m, label=neutral]<=1", "control_flips[control=identity]<=0", "p_c<0"]
    result = ow.run(study(vary=["contractions", "identity"]), out="run", require=gates)
    assert [one.gate for one in result.gates] == gates
    assert [one.gate for one in result.gates if not one.passed] == ["p_c<0"]  # told, not raised
    again = ow.run("run")  # its gates are in its folder
    assert again.gates == result.gates
    assert ow.run("run", require=["p_c>0"]).gates[0].passed


@pytest.mark.filterwarnings("ignore:.*nothing to measure")
def test_a_group_of_which_nothing_is_left_fails(here):
    rows = [{**row, "topic": "c", "premise": "Fine.", "hypothesis": "Good."} for row in ROWS[:1]]
    Path("data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, *ROWS[1:]]))
    [one] = ow.run(study(), out="run", require=["flip_rate[topic=c]<=1"]).gates
    assert (one.passed, one.line) == (False, "m: flip_rate[topic=c] has no value, required <= 100 %")
    assert Path("run/report.html").exists()


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
    ow.run(study(models=["a=python:mine.py:ask", "b=python:mine.py:other"]), out="two")
    assert loaded == ["b=python:mine.py:other", "a=python:mine.py:ask", "b=python:mine.py:other"]
    loaded.clear()
    ow.run(study(models=["a=scripted", "b=scripted(seed=1)"]), out="light")
    assert loaded == ["b=scripted(seed=1)", "a=scripted"]  # which take no room, and answer together


def test_one_model_at_a_time_is_in_memory(here, monkeypatch):
    alive, most = weakref.WeakSet(), []
    load = stages.load

    def counted(*args, **options):
        most.append(len(alive))
        model = load(*args, **options)
        alive.add(model.model)
        return model

    monkeypatch.setattr(stages, "load", counted)
    models = ["a=python:mine.py:ask", "b=python:mine.py:other", "c=python:mine.py:ask(batch_size=3)"]
    ow.run(study(models=models), out="run")
    assert most == [0] * 5


def test_light_models_stay_beside_the_one_in_memory(here, monkeypatch):
    alive, most = weakref.WeakSet(), []
    load = stages.load

    def counted(*args, **options):
        most.append(sum(not model.light for model in alive))
        model = load(*args, **options)
        alive.add(model.model)
        return model

    monkeypatch.setattr(stages, "load", counted)
    models = ["a=python:mine.py:ask", "b=scripted", "c=python:mine.py:other", "d=scripted(seed=1)"]
    ow.run(study(models=models), out="run")
    assert most == [0] * len(most)
    assert len(most) == 5  # a was the last to be tried, and the first to answer
    assert list(ow.run("run").manifest["signatures"]["models"]) == ["a", "b", "c", "d"]


def test_the_progress_says_what_is_done(here):
    names = []

    class Stages(Progress):
        def start(self, stage, total=None):
            names.append(stage)

    with reporting_to(Stages()):
        ow.run(study(), out="run")
    assert names == ["problems", "models", "variants", "buckets", "answers", "scores"]


LABELLED = [{**row, "label": label} for row, label in zip(ROWS, ["neutral", "entailment"] * 2, strict=True)]


@pytest.mark.filterwarnings("ignore:.*not measured", "ignore:.*nothing to measure")
def test_groups_by_the_original_and_distances_of_texts_are_measured(here):
    """Two models that are right on different originals share no problem of a group: each is measured by itself."""
    Path("data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in LABELLED))
    models = ["m=scripted(otherwise=neutral)", "n=scripted(otherwise=entailment)"]
    for metrics in ([], ["lexical_distance"], ["lexical_distance", "hard_cases", "snr"], ["all"]):
        scores = ow.run(study(models=models, metrics=metrics, by=["original"]), out="run").scores
        found = {(one.model, one.group) for one in scores}
        assert {("m", "original=right"), ("n", "original=wrong"), ("m", None)} <= found
        if "hard_cases" in metrics:
            assert ("(all)", None) in {(one.model, one.group) for one in scores if one.metric == "hard_cases"}
        named = [one for one in scores if one.metric == "lexical_distance"]
        assert bool(named) == bool({"lexical_distance", "all"} & {*metrics})
        assert all(one.value for one in named)
    [again] = [one for one in ow.score("run", "all") if (one.model, one.metric) == ("m", "lexical_distance")]
    assert again.value == next(one.value for one in named if (one.model, one.group) == ("m", None))


def test_models_that_share_no_problem_of_a_group_are_warned_of(here):
    Path("data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in LABELLED))
    models = ["m=scripted(otherwise=neutral)", "n=scripted(otherwise=entailment)"]
    match = "original=right, original=wrong: not measured together: hard_cases .no variant has"
    with pytest.warns(UserWarning, match=match) as caught:
        ow.run(study(models=models, metrics=["hard_cases"], by=["original"]), out="run")
    assert len(lines(caught)) == 1


@pytest.mark.parametrize("metrics", [["lexical_distance"], ["flip_rate", "p_c"]])
def test_without_any_variant_no_model_is_asked(here, metrics):
    plain = [{**row, "premise": f"Dogs sleep {i}.", "hypothesis": "Cats do."} for i, row in enumerate(ROWS)]
    Path("data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in plain))
    with refuses(BadInput, where="run"):
        ow.run(study(metrics=metrics), out="run")
    assert not Path("log").exists()
    with pytest.warns(UserWarning, match="nothing to measure"):
        assert ow.run(study(metrics=["accuracy_original", *metrics]), out="run").scores


def test_where_checks_drop_every_variant_no_model_is_asked(here):
    Path("verdicts.csv").write_text(
        "id,verdict\n" + "".join(f"p{i}~contractions.{n},no\n" for i in range(4) for n in (1, 2))
    )
    with refuses(BadInput, where="run"):
        ow.run(study(metrics=["lexical_distance"], check=["human:verdicts.csv"]), out="run")
    assert not Path("log").exists()


def test_a_suite_that_cannot_have_the_variants(here):
    refused(Unmeasurable, metrics=["lexical_distance(suite=data.jsonl)"])
    Path("other.jsonl").write_text(json.dumps({"id": "x", "premise": "One.", "hypothesis": "Two."}) + "\n")
    refused(Unmeasurable, metrics=["flip_rate", "jaccard(suite=other.jsonl)"])
    ow.run(study(), out="before")
    [one] = ow.run(study(metrics=["lexical_distance(suite=before/buckets)"]), out="run").scores
    [same] = ow.run(study(metrics=["lexical_distance"]), out="again").scores
    assert one.value == same.value
