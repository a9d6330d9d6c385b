"""The model under test as judge: each model answers the variants that it accepts itself, however the stages are run."""

from __future__ import annotations

import json
import warnings

import polars as pl
import pytest
from refusals import refuses

import otherwords as ow
from otherwords.datasets.source import Source
from otherwords.errors import BadInput
from otherwords.metrics import list_too_few_variants
from otherwords.running.files import answer_files, check_files
from otherwords.storage import tables


def row(name, hypothesis, of=None, label="entailment", **more):
    texts = {"premise": "P.", "hypothesis": hypothesis}
    return {"id": name, "of": of, **texts, "label": label, "cluster": of or name, **more}


#: Three problems; H, I and J have rewordings h, hh, i and j.
SUITE = [
    row("a", "H."),
    row("a1", "h", "a"),
    row("a2", "hh", "a"),
    row("b", "I.", label="neutral"),
    row("b1", "i", "b", "neutral"),
    row("c", "J."),
    row("c1", "j", "c"),
]
#: The first model accepts h and i, is right of all problems, and says of h that it is a contradiction.
FIRST = [
    *[("P.", "H.", "entailment"), ("P.", "I.", "neutral"), ("P.", "J.", "entailment"), ("P.", "h", "contradiction")],
    *[("P.", "i", "neutral"), ("H.", "h", "entailment"), ("h", "H.", "entailment")],
    *[("I.", "i", "entailment"), ("i", "I.", "entailment"), ("H.", "hh", "entailment"), ("hh", "H.", "neutral")],
    *[("J.", "j", "contradiction"), ("j", "J.", "entailment")],
]


@pytest.fixture
def model(jsonl, tmp_path):
    """The first model; it fails where it is asked what nobody should ask. Its log tells what it was asked."""
    script = jsonl(*({"premise": p, "hypothesis": h, "pred": expected} for p, h, expected in FIRST), name="first.jsonl")
    return f"first=scripted(script={script}, otherwise=fail, log={tmp_path / 'log.jsonl'})"


def frame(rows=SUITE):
    return pl.DataFrame(rows, infer_schema_length=None)


def answered(suite, model, **more):
    return ow.answer(suite, model, canary=False, cache=None, **more)


def variants(answers):
    return answers.drop_nulls("pred")["variant"].drop_nulls().to_list()


def test_the_check_leaves_it_to_the_model():
    checked = ow.check(frame(), ["surface", "mutual-entailment"])
    assert checked.filter(pl.col("of").is_not_null())["check:mutual-entailment:by"].to_list() == ["self"] * 4
    assert checked.filter(pl.col("of").is_null())["check:mutual-entailment:by"].null_count() == 3
    assert checked["check:mutual-entailment"].null_count() == 7
    strict = ow.check(frame(), ["me=mutual-entailment(threshold=0.9, field=hypothesis)"])
    assert strict["check:me:by"].drop_nulls().unique().to_list() == ["self(threshold=0.9, field=hypothesis)"]


def test_each_model_answers_what_it_accepts(model, tmp_path):
    checked = ow.check(frame(), ["mutual-entailment"])
    answers = answered(checked, model)
    assert variants(answers) == ["a1", "b1"]
    assert answers.filter(pl.col("variant").is_null())["bucket"].to_list() == ["a", "b", "c"]
    asked = answers.filter(pl.col("variant").is_not_null(), pl.col("pred").is_not_null())
    assert asked["check:mutual-entailment"].to_list() == [True, True]
    assert asked["check:mutual-entailment:score"].to_list() == [1.0, 1.0]
    assert asked["rejected"].null_count() == 2
    assert answers["check:mutual-entailment:by"].to_list() == [None, "self", "self", None, "self", None, "self"]
    rejected = answers.filter(pl.col("rejected").is_not_null())
    assert rejected.select("variant", "pred", "p:neutral", "check:mutual-entailment").rows() == [
        ("a2", None, None, False),
        ("c1", None, None, False),
    ]
    assert rejected["rejected"].to_list() == [
        "mutual-entailment: variant does not entail original: neutral",
        "mutual-entailment: original does not entail variant: contradiction",
    ]
    asked = {tuple(json.loads(line)) for line in (tmp_path / "log.jsonl").read_text().splitlines()}
    assert asked == {(p, h) for p, h, _ in FIRST}  # the problem with hh or j in it is not asked
    assert variants(answered(checked, "scripted(otherwise=entailment)")) == ["a1", "a2", "b1", "c1"]


def test_rates_count_all_problems_answered_correctly(model):
    answers = answered(ow.check(frame(), ["mutual-entailment"]), model)
    found = {one.metric: one for one in ow.score(answers, ["r_r", "r_s", "r_r_at(k=1)", "too_few_variants(k=1)"])}
    # Right of all three; only a has an accepted variant with another label; c has none at all.
    assert (found["r_r"].value, found["r_s"].value, found["r_r"].n_units) == (1 / 3, 1 / 3, 3)
    assert (found["r_r_at"].value, found["r_r_at"].n_units) == (1 / 2, 2)
    assert found["too_few_variants"].value == 1 / 3
    assert list_too_few_variants(answers, k=1) == ["c"]


def test_what_another_check_dropped_is_not_asked(jsonl, model, tmp_path):
    votes = jsonl("id,verdict", "a1,no", name="votes.csv")
    answers = answered(ow.check(frame(), [f"human:{votes}", "mutual-entailment"]), model)
    assert variants(answers) == ["b1"]
    asked = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert ["H.", "hh"] in asked
    assert ["H.", "h"] not in asked


def test_threshold_holds_for_the_model_too(jsonl):
    texts = [("H.", "h"), ("h", "H.")]
    p = {"p:entailment": 0.6, "p:neutral": 0.4, "p:contradiction": 0.0}
    script = jsonl(*({"premise": one, "hypothesis": two, **p} for one, two in texts), name="script.jsonl")
    spec = f"scripted(script={script}, otherwise=entailment)"
    for threshold, left in ((0.6, ["a1", "a2"]), (0.7, ["a2"])):
        suite = ow.check(frame(SUITE[:3]), [f"mutual-entailment(threshold={threshold})"])
        assert variants(answered(suite, spec)) == left


def test_controls_and_contrasts_are_not_judged():
    rows = [*SUITE[:2], row("a3", "H.", "a", control="identity"), row("s", "S.", contrast="mine")]
    rows += [row("s1", "T.", "s", label="contradiction", contrast="mine")]
    checked = ow.check(frame(rows), ["mutual-entailment"])
    assert checked.filter(pl.col("check:mutual-entailment:by").is_not_null())["id"].to_list() == ["a1"]
    with pytest.warns(UserWarning, match="accepts none of 1 variants"):
        answers = answered(checked, "scripted(otherwise=neutral)")
    assert variants(answers) == ["a3", "s1"]


def test_nothing_accepted_is_reported_and_not_measured():
    checked = ow.check(frame(), ["mutual-entailment"])
    with pytest.warns(UserWarning, match="mine: mutual-entailment: accepts none of 4 variants"):
        answers = answered(checked, "mine=scripted(otherwise=neutral)")
    assert answers["pred"].count() == 3
    with pytest.warns(UserWarning, match="nothing to measure"), refuses(BadInput):
        ow.score(answers, ["r_r"])


def test_another_judge_under_the_same_name_takes_over():
    checked = ow.check(ow.check(frame(), ["mutual-entailment"]), ["mutual-entailment(judge=scripted, canary=false)"])
    assert "check:mutual-entailment:by" not in checked.columns
    assert checked.filter(pl.col("of").is_not_null())["check:mutual-entailment"].null_count() == 0


def test_a_two_label_model_can_be_its_own_judge():
    rows = [{**one, "label": "entailed"} for one in SUITE]
    checked = ow.check(frame(rows), ["mutual-entailment"], "rte")
    answers = answered(checked, "scripted(otherwise=entailed)", task="rte")
    assert variants(answers) == ["a1", "a2", "b1", "c1"]


def test_odd_labels_are_those_of_the_model_under_test(tmp_path):
    (tmp_path / "odd.py").write_text("def odd(batch):\n    return ['yes'] * len(batch)\n")
    labels = {"yes": "entailment"}
    answers = answered(ow.check(frame(), ["mutual-entailment"]), f"python:{tmp_path}/odd.py:odd", label_map=labels)
    assert variants(answers) == ["a1", "a2", "b1", "c1"]


@pytest.mark.parametrize("task", ["a-nli", "d-nli"])
def test_a_task_without_entailment_is_refused_before_any_work(task, tmp_path, jsonl):
    fields = ow.TASKS[task].fields
    rows = jsonl({"id": "a", **dict.fromkeys(fields, "x"), "label": ow.TASKS[task].labels[0]})
    with refuses(BadInput, where="mutual-entailment", field="judge"):
        ow.check(ow.load(str(rows), task=task), ["surface", "mutual-entailment"], task)
    with refuses(BadInput, where="mutual-entailment", field="judge"):
        check_files(Source([str(rows)], task), str(tmp_path / "out.jsonl"), ["mutual-entailment"])
    study = {"data": [str(rows)], "task": task, "check": ["mutual-entailment"], "models": ["scripted"]}
    with refuses(BadInput, where="mutual-entailment", field="judge"):
        ow.run(study, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert not (tmp_path / "out.jsonl").exists()


def test_a_table_cannot_name_other_judges(model):
    checked = ow.check(frame(), ["mutual-entailment"])
    column = "check:mutual-entailment:by"
    result = checked.with_columns(pl.when(pl.col(column).is_not_null()).then(pl.lit("python:x.py:f")).alias(column))
    with refuses(BadInput):
        answered(result, model)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("shard", [1, 2_000])
def test_from_file_to_file(jsonl, model, tmp_path, ending, shard):
    suite, checked, out = jsonl(*SUITE, name="suite.jsonl"), tmp_path / f"c.{ending}", tmp_path / f"answers.{ending}"
    check_files(Source([str(suite)]), str(checked), ["mutual-entailment"], shard=shard)
    done = answer_files(Source([str(checked)]), str(out), [model, "scripted"], canary=False, cache=None, shard=shard)
    assert done.self_judged["first"] == {"mutual-entailment": {"judged": 4, "accepted": 2}}
    own = tables.read(out).filter(pl.col("model") == "first")
    here = answered(ow.check(frame(), ["mutual-entailment"]), model)
    assert own["variant"].to_list() == here["variant"].to_list()
    assert own["pred"].to_list() == here["pred"].to_list()


@pytest.fixture
def study(jsonl, model):
    suite = jsonl(*SUITE, name="suite.jsonl")
    models = [model, "second=scripted(otherwise=entailment)"]
    metrics = ["r_r", "too_few_variants(k=1)"]
    return {
        "data": [str(suite)], "check": ["mutual-entailment"], "models": models, "metrics": metrics, "shard": 2,
        "canary": False, "cache": None,
    }  # fmt: skip


def test_a_run_with_two_models(study, tmp_path):
    done = ow.run(study, out=tmp_path / "run")
    assert done.manifest["self_judged"] == {
        "first": {"mutual-entailment": {"judged": 4, "accepted": 2}},
        "second": {"mutual-entailment": {"judged": 4, "accepted": 4}},
    }
    found = {(one.model, one.metric): one.value for one in done.scores}
    assert found == {
        ("first", "r_r"): 1 / 3,
        ("first", "too_few_variants"): 1 / 3,
        ("second", "r_r"): 0.0,  # right of a and c, and says the same of everything
        ("second", "too_few_variants"): 0.0,
    }


def test_models_are_compared_on_what_both_accept(study, tmp_path):
    folder = ow.run(study, out=tmp_path / "run").folder
    with pytest.warns(UserWarning, match="compared on the 5 answers that all models have"):
        (found,) = ow.compare(folder, using=["r_r"], replicates=50)
    assert (found.value, found.other_value) == (1 / 3, 0.0)


def test_resuming(study, tmp_path):
    folder, log = tmp_path / "run", tmp_path / "log.jsonl"
    study = {**study, "cache": str(tmp_path / "answers.sqlite")}
    ow.run(study, out=folder)
    parts = sorted(folder.glob("answers/*/*.parquet"))
    before, asked = {part: part.read_bytes() for part in parts}, log.read_text()
    assert len(parts) == 6  # three shards of two models
    ow.run(study, out=folder)
    assert log.read_text() == asked
    parts[1].unlink()
    again = ow.run(study, out=folder)
    assert {part: part.read_bytes() for part in parts} == before
    assert again.manifest["self_judged"]["first"]["mutual-entailment"] == {"judged": 4, "accepted": 2}
    with pytest.warns(UserWarning, match="no longer in the study"):
        other = ow.run({**study, "check": ["surface"], "models": study["models"][1:]}, out=folder)
    assert "self_judged" not in other.manifest


def test_its_answers_are_its_verdicts_for_nothing(jsonl, tmp_path):
    """A text that the suite asks anyway is not asked again to judge."""
    log = tmp_path / "log.jsonl"
    rows = [{**row("a", "H."), "premise": "h"}, {**row("a1", "h", "a"), "premise": "h"}]
    spec = f"scripted(otherwise=entailment, log={log})"
    answered(ow.check(frame(rows), ["mutual-entailment"]), spec)
    asked = [json.loads(line) for line in log.read_text().splitlines()]
    assert sorted(asked) == [["H.", "h"], ["h", "H."], ["h", "h"]]


@pytest.mark.parametrize("order", [1, -1])
def test_counts_of_several_checks_are_their_own(jsonl, tmp_path, order):
    """One accepts h at most, the other whatever entails; together they leave one."""
    p = {"p:entailment": 0.9, "p:neutral": 0.1, "p:contradiction": 0.0}
    weak = {"p:entailment": 0.6, "p:neutral": 0.4, "p:contradiction": 0.0}
    pairs = [("H.", "h", p), ("h", "H.", p), ("H.", "hh", weak), ("hh", "H.", weak)]
    script = jsonl(*({"premise": one, "hypothesis": two, **p} for one, two, p in pairs), name="script.jsonl")
    spec = f"m=scripted(script={script}, otherwise=neutral)"
    checks = ["strict=mutual-entailment(threshold=0.8)", "mutual-entailment"][::order]
    result = {"strict": {"judged": 4, "accepted": 1}, "mutual-entailment": {"judged": 4, "accepted": 2}}
    suite, checked, out = jsonl(*SUITE, name="suite.jsonl"), tmp_path / "c.jsonl", tmp_path / "a.jsonl"
    check_files(Source([str(suite)]), str(checked), checks)
    done = answer_files(Source([str(checked)]), str(out), [spec], canary=False, cache=None, shard=2)
    assert done.self_judged["m"] == result
    assert variants(tables.read(out)) == ["a1"]
    study = {
        "data": [str(suite)],
        "check": checks,
        "models": [spec],
        "metrics": ["flip_rate"],
        "shard": 2,
        "cache": None,
    }
    folder = ow.run({**study, "canary": False}, out=tmp_path / "run").folder
    assert ow.run({**study, "canary": False}, out=folder).manifest["self_judged"]["m"] == result


def test_a_wrong_field_is_refused_before_any_work(tmp_path, jsonl):
    for judge in ("self", "scripted"):
        spec = f"mutual-entailment(judge={judge}, field=hypo)"
        with refuses(BadInput, where="mutual-entailment", field="field"):
            ow.check(frame(), [spec])
        study = {"data": [str(jsonl(*SUITE))], "check": [spec], "models": ["scripted"]}
        with refuses(BadInput, where="mutual-entailment", field="field"):
            ow.run(study, out=tmp_path / "run")
        assert not (tmp_path / "run").exists()


def test_a_field_of_any_name_reaches_the_model():
    task = ow.Task("c", ("first-text", "second (text), or so"), ("entailment", "neutral"))
    named = dict(zip(("premise", "hypothesis"), task.fields, strict=True))
    checked = ow.check(frame().rename(named), [f'mutual-entailment(field="{task.fields[1]}")'], task)
    assert variants(answered(checked, "scripted(otherwise=entailment)", task=task)) == ["a1", "a2", "b1", "c1"]


def test_a_model_accepts_nothing_that_it_does_not_read_to_its_end():
    long = "A man walks his dog in the park. " * 4
    texts = {"a": f"{long}It rains.", "a1": f"{long}It does not rain."}
    suite = pl.DataFrame([{**row(name, text, "a" if name == "a1" else None)} for name, text in texts.items()])
    checked = ow.check(suite, ["mutual-entailment"])
    expected = "mutual-entailment: 1 of 1 variants do not pass: a text is longer than nli-small"
    with warnings.catch_warnings(record=True) as result:
        warnings.simplefilter("always")
        assert variants(answered(checked, "nli-small(max_length=32)")) == []
    assert sum(str(one.message).startswith(expected) for one in result) == 1
