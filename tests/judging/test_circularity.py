"""The circularity report, worked by hand: one model of known answers, itself and another as judges, six problems."""

from __future__ import annotations

import json
from dataclasses import asdict

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from rich.text import Text

import otherwords as ow
from otherwords.cli.tables import circularity_tables
from otherwords.errors import BadInput, LabelOrder, UnknownName
from otherwords.judging import Earlier
from otherwords.judging.rates import kappa
from otherwords.significance.proportions import wilson

E, N, C = "entailment", "neutral", "contradiction"
#: A problem: its right answer, and the model's; only the last is answered wrong.
PROBLEMS = {"p1": (E, E), "p2": (E, E), "p3": (C, C), "p4": (N, N), "p5": (C, C), "p6": (E, N)}
#: A variant: how it came about, the model's answer, and which judges accept it.
VARIANTS = {
    "p1a": ("x.v1()", C, ["other"]),
    "p1b": ("x.v1()", E, ["self", "other"]),
    "p2a": ("x.v1()", N, ["self"]),
    "p3a": ("x.v1()", E, ["other"]),
    "p3b": ("y.v1(k=1)", N, ["self"]),
    "p4a": ("y.v1(k=1)", E, ["other"]),
    "p5a": ("y.v1(k=1)", C, ["self", "other"]),
    "p6a": (None, E, ["self"]),
}


def suite():
    rows = [{"id": name, "of": None, "how": None, "label": gold} for name, (gold, _) in PROBLEMS.items()]
    rows += [
        {"id": name, "of": name[:2], "how": how, "label": PROBLEMS[name[:2]][0]} for name, (how, *_) in VARIANTS.items()
    ]
    texts = [{"premise": "P.", "hypothesis": f"It is {row['id']}.", "cluster": row["id"][:2]} for row in rows]
    return pl.DataFrame([{**row, **text} for row, text in zip(rows, texts, strict=True)], infer_schema_length=None)


def entailing(judge):
    """Both directions of what a judge accepts; of p3a, which nobody but the other does, the model finds one."""
    pairs = [(f"It is {name[:2]}.", f"It is {name}.") for name, (*_, by) in VARIANTS.items() if judge in by]
    rows = [pair for one, two in pairs for pair in ((one, two), (two, one))]
    rows += [("It is p3.", "It is p3a.")] if judge == "self" else []
    return [{"premise": one, "hypothesis": two, "pred": E} for one, two in rows]


@pytest.fixture
def model(jsonl):
    preds = {**{name: pred for name, (_, pred) in PROBLEMS.items()}, **{name: one[1] for name, one in VARIANTS.items()}}
    rows = [{"premise": "P.", "hypothesis": f"It is {name}.", "pred": pred} for name, pred in preds.items()]
    return f"mine=scripted(script={jsonl(*rows, *entailing('self'), name='model.jsonl')}, otherwise=neutral)"


@pytest.fixture
def other(jsonl):
    return f"other=scripted(script={jsonl(*entailing('other'), name='other.jsonl')}, otherwise=neutral)"


def measured(model, judges, table=None, **more):
    table = suite() if table is None else table
    return ow.circularity(table, model, judges, canary=False, cache=None, replicates=200, **more)


def values(row):
    return {score.metric: score.value for score in row.scores}


def test_rates_under_each_judge(model, other):
    found = measured(model, ["self", other])
    rows = {row.judge: row for row in found.judged}
    assert list(rows) == ["(none)", "self", "other"]
    # Right of p1 to p5. Fooled: p1 (a), p2 (a), p3 (a, b), p4 (a); strictly not by p2a and p3b, which are neutral.
    assert values(rows["(none)"]) == {"r_r": 4 / 5, "r_s": 3 / 5, "r_s_without_neutral": 2 / 4, "r_r_at": 3.5 / 5}
    # By itself it accepts p1b, p2a, p3b, p5a (and p6a, which does not count).
    assert values(rows["self"]) == {"r_r": 2 / 5, "r_s": 0.0, "r_s_without_neutral": 0.0, "r_r_at": 2 / 4}
    # The other accepts p1a, p1b, p3a, p4a, p5a.
    assert values(rows["other"]) == {"r_r": 3 / 5, "r_s": 3 / 5, "r_s_without_neutral": 2 / 4, "r_r_at": 2.5 / 4}
    for row, accepted, without in ((rows["(none)"], 8, 0), (rows["self"], 5, 1), (rows["other"], 5, 1)):
        assert (row.variants, row.accepted, row.problems, row.right, row.without) == (8, accepted, 6, 5, without)
        assert row.score("r_r").n_units == 5  # the same problems under all judges
        assert 0 <= row.score("r_r").low <= row.score("r_r").value <= row.score("r_r").high <= 1
    assert found.under("self") is rows["self"]
    assert rows["self"].score("absent") is None
    assert found.judges["self"].endswith("#self")
    assert "#scripted.v1(" in found.judges["other"]


def test_acceptance_by_source(model, other):
    found = measured(model, ["self", other]).acceptance
    assert [(one.judge, one.model, one.source, one.variants, one.accepted, one.rate.value) for one in found] == [
        ("self", "mine", "(given)", 1, 1, 1.0),
        ("self", "mine", "x.v1()", 4, 2, 1 / 2),
        ("self", "mine", "y.v1(k=1)", 3, 2, 2 / 3),
        ("other", "", "(given)", 1, 0, 0.0),
        ("other", "", "x.v1()", 4, 3, 3 / 4),
        ("other", "", "y.v1(k=1)", 3, 2, 2 / 3),
    ]
    rate = found[1].rate
    assert rate.metric == "mutual_entailment"
    assert rate.signature.startswith('mutual-entailment.v1(threshold=0.0, field="")#self interval=')
    assert rate.low < rate.value < rate.high
    assert (found[0].rate.low, found[0].rate.high) == (None, None)  # one problem


def test_where_two_judges_disagree(model, other):
    (one,) = measured(model, ["self", other]).disagreements
    # Both accept p1b and p5a; the model alone p2a, p3b, p6a; the other alone p1a, p3a, p4a.
    assert (one.model, one.judge, one.other) == ("mine", "self", "other")
    assert (one.both, one.only_judge, one.only_other, one.neither, one.share) == (2, 3, 3, 0, 6 / 8)
    assert one.kappa == pytest.approx(-0.6)  # (2/8 - 34/64) / (1 - 34/64)
    assert (one.r_r.value, one.r_r.n_units) == (0.0, 5)


def test_a_group_has_the_same_problems_under_every_judge(model, other):
    with pytest.warns(UserWarning, match="1 variants have no how"):
        found = measured(model, ["self", other], by=["how"])
    rows = [row for row in found.judged if row.group == "how=y.v1(k=1)"]
    # p3b (neutral), p4a (entailment), p5a: p3 and p4 are fooled; each judge accepts one of the two.
    assert [(row.judge, row.right, row.accepted, row.without) for row in rows] == [
        ("(none)", 3, 3, 0),
        ("self", 3, 2, 1),
        ("other", 3, 2, 1),
    ]
    assert [row.score("r_r").value for row in rows] == [2 / 3, 1 / 3, 1 / 3]


def test_several_models_share_what_all_accept_themselves(model, other):
    agreeable = "yes=scripted(otherwise=entailment)"
    found = measured([model, agreeable], ["self", other])
    assert [(row.model, row.judge, row.accepted, row.right, row.score("r_r").value) for row in found.judged] == [
        ("mine", "(none)", 8, 5, 4 / 5),
        ("mine", "self", 5, 5, 2 / 5),
        ("mine", "other", 5, 5, 3 / 5),
        ("yes", "(none)", 8, 3, 0.0),
        ("yes", "self", 8, 3, 0.0),
        ("yes", "other", 5, 3, 0.0),
    ]
    # All that the first accepts, the second does, too: the two are compared on these five.
    shared = [(row.model, row.judge, row.accepted, row.without, row.score("r_r").value) for row in found.shared]
    assert shared == [("mine", "self of all", 5, 1, 2 / 5), ("yes", "self of all", 5, 0, 0.0)]
    assert [(one.model, one.judge) for one in found.acceptance if one.source == "x.v1()"] == [
        ("mine", "self"),
        ("yes", "self"),
        ("", "other"),
    ]
    assert measured(model, ["self", other]).shared == ()
    assert measured([model, agreeable], [other]).shared == ()


def test_one_judge_compared_with_itself(model):
    found = measured(model, ["self", "again=mutual-entailment(judge=self)"])
    (one,) = found.disagreements
    assert (one.other, one.share, one.kappa) == ("again", 0.0, 1.0)
    strict = measured(model, ["mutual-entailment(judge=self, field=premise)"])
    assert strict.judged[1].accepted == 8  # the hypothesis is not judged


def test_nothing_accepted_at_all(model):
    never = "no=scripted(otherwise=contradiction)"
    found = measured(model, ["self", never])
    row = found.under("no")
    assert (row.accepted, row.right, row.without) == (0, 5, 5)
    # As METHODS has it: of all five problems answered correctly, none is fooled. One variant there is of none.
    assert values(row) == {"r_r": 0.0, "r_s": 0.0, "r_s_without_neutral": 0.0, "r_r_at": None}
    assert (row.score("r_r").n_units, row.score("r_r").low) == (5, 0.0)
    assert row.score("r_r").high == pytest.approx(wilson(0, 5)[1], abs=1e-11)
    (one,) = found.disagreements
    assert (one.both, one.only_judge, one.only_other, one.neither) == (0, 5, 0, 3)
    assert (one.kappa, one.r_r.value) == (0.0, 0.0)
    assert measured(model, ["yes=scripted(otherwise=entailment)", never]).disagreements[0].kappa == 0.0


def test_a_judge_must_pass_the_canary(model, tmp_path):
    turned = "from otherwords.models.canary import questions\nfrom otherwords.problem import TASKS\n"
    turned += "RIGHT = dict(questions(TASKS['nli']))\nOTHER = {'entailment': 'contradiction', 'neutral': 'neutral'}\n"
    turned += "def judge(batch):\n    pairs = zip(batch['premise'], batch['hypothesis'])\n"
    turned += "    return [OTHER.get(RIGHT.get(pair, 'neutral'), 'entailment') for pair in pairs]\n"
    (tmp_path / "turned.py").write_text(turned)
    spec = f"python:{tmp_path}/turned.py:judge"
    with refuses(LabelOrder):
        ow.circularity(suite(), "nli-small", [spec], cache=None, replicates=10)
    for judge, more in ((f'mutual-entailment(judge="{spec}", canary=false)', {}), (spec, {"canary": False})):
        found = ow.circularity(suite(), "nli-small", ["x=" + judge], cache=None, replicates=10, **more)
        assert found.under("x").accepted == 0


def test_verdicts_of_an_earlier_report_are_not_taken_for_new_ones(model, other):
    marked = suite().with_columns(pl.lit(False).alias("accepted:other"), pl.lit(True).alias("accepted:self"))
    assert asdict(measured(model, ["self", other], marked)) == asdict(measured(model, ["self", other]))


def test_one_generator_with_several_options_is_several_sources(model):
    how = pl.when(pl.col("id") == "p3b").then(pl.lit("y.v1(k=2)")).otherwise("how").alias("how")
    found = measured(model, ["self"], suite().with_columns(how))
    assert [(one.source, one.variants, one.accepted) for one in found.acceptance] == [
        ("(given)", 1, 1),
        ("x.v1()", 4, 2),
        ("y.v1(k=1)", 2, 1),
        ("y.v1(k=2)", 1, 1),
    ]
    _, table = circularity_tables(found, 0.95)
    assert list(table.columns[1].cells) == [Text(name) for name in ("(given)", "x", "y (k=1)", "y (k=2)")]


def test_a_problem_without_a_right_answer_is_reported_before_any_work(tmp_path):
    log = tmp_path / "log.jsonl"
    label = pl.when(pl.col("id") != "p2").then("label").alias("label")
    with refuses(BadInput, where="the table, row 2", field="label"):
        measured(f"scripted(log={log})", ["self"], suite().with_columns(label))
    assert not log.exists()


def test_controls_contrasts_and_what_was_dropped_are_left_out(model, other):
    control = {"id": "p1c", "of": "p1", "premise": "P.", "hypothesis": "x", "label": E, "control": "identity"}
    contrast = [{"id": "s", "premise": "P.", "hypothesis": "s", "label": E, "contrast": "mine"}]
    contrast += [{**contrast[0], "id": "s1", "of": "s", "label": C}]
    table = pl.concat([suite(), pl.DataFrame([control, *contrast], infer_schema_length=None)], how="diagonal")
    assert asdict(measured(model, ["self", other], table)) == asdict(measured(model, ["self", other]))
    dropped = suite().with_columns((pl.col("id") != "p2a").alias("check:mine"))
    assert measured(model, ["self", other], dropped).under("self").score("r_r").value == 1 / 5


def test_it_is_what_check_and_answer_give(model, other):
    """The same numbers, stage by stage."""
    for judge, name in (("self", "self"), (other.removeprefix("other="), "other")):
        checked = ow.check(suite(), [f"mutual-entailment(judge={json.dumps(judge)}, canary=false)"])
        answers = ow.answer(checked, model, canary=False, cache=None)
        (score,) = ow.score(answers, ["r_r"], task="nli", replicates=200)
        assert score == measured(model, ["self", other]).under(name).score("r_r")


def test_the_order_of_rows_does_not_matter(model, other):
    mixed = suite().sample(fraction=1, shuffle=True, seed=3)
    assert asdict(measured(model, ["self", other], mixed)) == asdict(measured(model, ["self", other]))


def test_answers_go_to_a_file(model, other, tmp_path):
    measured([model, "yes=scripted(otherwise=entailment)"], ["self", other], out=tmp_path / "answers.parquet")
    answers = pl.read_parquet(tmp_path / "answers.parquet")
    assert answers.height == 2 * 14
    accepted = answers.filter(pl.col("model") == "mine", pl.col("accepted:self"))
    assert accepted["variant"].to_list() == ["p1b", "p2a", "p3b", "p5a", "p6a"]


def test_a_run_folder_is_a_suite(model, other, tmp_path, jsonl):
    rows = jsonl(*suite().iter_rows(named=True), name="suite.jsonl")
    study = {"data": [str(rows)], "check": ["surface", "mutual-entailment"], "models": [model], "metrics": ["r_r"]}
    ow.run({**study, "canary": False, "cache": None}, out=tmp_path / "run")
    here = [measured(model, ["self", other], table).judged for table in (tmp_path / "run", str(rows), [rows])]
    assert here[0] == here[1] == here[2]
    assert [row.score("r_r").value for row in here[0]] == [4 / 5, 2 / 5, 3 / 5]


YES = "scripted(otherwise=entailment)"
#: Of three rewordings, one is none, and one says something else.
CHECKED = {"a": "A man is sleeping.", "a1": "Nobody is sleeping.", "a2": "A man is sleeping.", "a3": "A man sleeps."}


def checked_rows():
    return [
        {
            "id": name,
            "of": "a" if name != "a" else None,
            "premise": "A man sleeps here.",
            "hypothesis": text,
            "label": E,
        }
        for name, text in CHECKED.items()
    ]


@pytest.mark.parametrize("name", ["me=", pytest.param("", marks=pytest.mark.slow)])
def test_earlier_verdicts_of_judges_do_not_choose_the_variants(tmp_path, jsonl, name):
    using = ["surface", f"{name}mutual-entailment:nli-small"]
    study = {"data": [str(jsonl(*checked_rows(), name="rows.jsonl"))], "check": using, "models": [YES]}
    ow.run({**study, "metrics": ["r_r"], "canary": False, "cache": None}, out=tmp_path / "run")
    column = f"check:{name.removesuffix('=') or 'mutual-entailment'}"
    buckets = pl.read_parquet(tmp_path / "run" / "buckets" / "*.parquet")
    assert buckets.filter(~pl.col(column))["id"].to_list() == ["a1"]
    found = measured("scripted(otherwise=entailment)", ["nli-small"], tmp_path / "run")
    assert [(row.judge, row.variants, row.accepted) for row in found.judged] == [("(none)", 2, 2), ("nli-small", 2, 1)]
    assert [(row.variants, row.accepted) for row in found.acceptance] == [(2, 1)]
    assert found.earlier == Earlier(3, 1, {"surface": 1}, {column.removeprefix("check:"): 1})


def test_in_a_table_the_name_says_which_verdicts_are_a_judges():
    table = ow.check(pl.DataFrame(checked_rows()), ["surface", "mutual-entailment:nli-small"])
    found = measured("scripted(otherwise=entailment)", ["nli-small"], table)
    assert found.earlier == Earlier(3, 1, {"surface": 1}, {"mutual-entailment": 1})
    message = (
        "1 of 3 variants were dropped by earlier checks and are in no row (surface 1); mutual-entailment dropped 1 of"
    )
    assert str(found.earlier) == f"{message} the rest, which are judged again"
    assert str(measured("scripted(otherwise=entailment)", ["self"]).earlier) == ""
    with refuses(BadInput):
        measured("scripted", ["self"], table.with_columns(pl.col("of").is_null().alias("check:mine")))


def test_a_judge_accepts_nothing_that_it_does_not_read_to_its_end():
    long = "A man walks his dog in the park. " * 4
    texts = {"a": f"{long}It rains.", "a1": f"{long}It does not rain."}
    rows = [{**row, "hypothesis": texts[row["id"]]} for row in checked_rows()[:2]]
    judges = ["far=nli-small(max_length=256)", "near=nli-small(max_length=32)"]
    with pytest.warns(
        UserWarning, match="1 of 1 variants do not pass: a text is longer than nli-small.max_length=32"
    ) as caught:
        found = measured("scripted(otherwise=entailment)", judges, pl.DataFrame(rows))
    assert len(caught) == 1
    assert found.under("near").accepted == 0


def test_a_judge_who_accepts_all_changes_nothing(model):
    nobody, all_of_them = measured(model, ["yes=scripted(otherwise=entailment)"]).judged
    assert nobody.scores == all_of_them.scores
    assert all_of_them.accepted == all_of_them.variants == 8


def test_other_metrics(model, other):
    found = measured(model, ["self"], using=["flip_rate"])
    # Flips of all eight: p1a, p2a, p3a, p3b, p4a and p6a; of the five it accepts: p2a, p3b, p6a.
    assert [values(row) for row in found.judged] == [{"flip_rate": 6 / 8}, {"flip_rate": 3 / 5}]


def test_other_tasks():
    rows = suite().with_columns(pl.lit("entailed").alias("label"))
    (nobody, own) = measured("scripted(otherwise=entailed)", ["self"], rows, task="rte").judged
    assert (own.accepted, values(own)["r_r"], values(own)["r_s"]) == (8, 0.0, 0.0)
    rows = suite().rename({"premise": "obs1", "hypothesis": "hyp2"}).with_columns(
        pl.lit("hyp1").alias("label"), obs2=pl.lit("o"), hyp1=pl.lit("h")
    )  # fmt: skip
    judges = ["yes=scripted(otherwise=entailment)"]
    (nobody, other) = measured("scripted(otherwise=hyp1)", judges, rows, task="a-nli").judged
    assert (nobody.right, other.accepted, values(other)["r_r"]) == (
        6,
        8,
        0.0,
    )  # it is self alone that cannot judge here


@pytest.mark.parametrize(
    "more",
    [
        {"judges": []},
        {"judges": ["self", "self"]},
        {"judges": ["a=scripted", "a=bag_of_words"]},
        {"model": ["scripted", "scripted"]},
        {"model": []},
        {"task": "a-nli", "suite": "story"},
        {"suite": "originals"},
        {"confidence": 2.0},
    ],
)
def test_wrong_input(more):
    story = {"id": ["a", "a1"], "of": [None, "a"], "obs1": ["x"] * 2, "obs2": ["x"] * 2, "hyp1": ["x", "y"]}
    named = {"story": pl.DataFrame({**story, "hyp2": ["x"] * 2, "label": ["hyp1"] * 2}), "originals": suite().head(6)}
    table = named.get(more.get("suite", ""), suite())
    given = {"model": "scripted", "judges": ["self"], "canary": False, "cache": None, **more, "suite": table}
    with refuses(BadInput):
        ow.circularity(**given)


def test_wrong_names_are_reported_before_any_work(tmp_path):
    for model, judges in (("scripte", ["self"]), ("scripted", ["nli-smal"])):
        with refuses(UnknownName):
            ow.circularity(suite(), model, judges, cache=tmp_path / "cache.sqlite")
    with refuses(UnknownName):
        ow.circularity(suite(), "scripted", using=["r_x"], cache=tmp_path / "cache.sqlite")
    with refuses(UnknownName):
        ow.circularity(suite(), "scripted", ["self"], by=["sid"], cache=tmp_path / "cache.sqlite")
    assert not (tmp_path / "cache.sqlite").exists()


def test_an_open_cache_stays_open(model, other, tmp_path):
    with ow.Cache(tmp_path / "cache.sqlite") as cache:
        ow.circularity(suite(), model, ["self", other], canary=False, cache=cache, replicates=10)
        assert [row["answers"] for row in cache.info()] == [14 + 2 * 8, 2 * 8]  # the model's questions, and the judge's


def test_a_model_that_answers_and_judges_is_asked_nothing_twice(tmp_path):
    spec = f"scripted(otherwise=entailment, log={tmp_path / 'log.jsonl'})"
    measured(spec, ["self", f"other={spec}"])
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 14 + 2 * 8


#: The worked examples of Wikipedia's article on Cohen's kappa: 50 grant proposals, and two tables of equal agreement.
@pytest.mark.parametrize(
    ("counts", "value"), [((20, 5, 10, 15), 0.4), ((45, 15, 25, 15), 0.1304), ((25, 35, 5, 35), 0.2593)]
)
def test_kappa(counts, value):
    assert kappa(*counts) == pytest.approx(value, abs=5e-5)


@given(st.tuples(*[st.integers(0, 30)] * 4).filter(any))
def test_laws_of_kappa(counts):
    both, one, other, neither = counts
    found = kappa(*counts)
    assert found == kappa(both, other, one, neither) == kappa(neither, one, other, both)
    if found is None:
        assert one == other == 0
    else:
        assert -1 <= found <= 1
        assert (found == 1) is (one == other == 0)
