"""Language models from the answer to the score: what cannot be read, label mass, and templates as a factor."""

from __future__ import annotations

import json
import sqlite3
import warnings
from contextlib import contextmanager

import numpy as np
import polars as pl
import pytest
from chat_server import ChatServer, number
from refusals import refuses

import otherwords as ow
from otherwords.answers import reading
from otherwords.errors import BadInput, Unmeasurable, WrongAnswer
from otherwords.models.answering import Asker, Texts, answer_table, ask, load, with_templates
from otherwords.models.cache import Cache
from otherwords.models.model import Answerer, Model, Reply
from otherwords.models.predictions import Cached, Predictions
from otherwords.models.writing import AnswerWriter
from otherwords.problem import TASKS, UNREADABLE, Batch
from otherwords.running.delegating import _as_table, _read_table
from otherwords.storage.specs import split_name

NLI = TASKS["nli"]


def suite(count=8):
    rows = []
    for n in range(count):
        texts = {"premise": f"The premise {n}.", "hypothesis": f"The hypothesis {n}."}
        rows.append({"id": f"p{n}", "of": None, "label": NLI.labels[n % 3], "cluster": f"c{n // 2}", **texts})
        rows.append(
            {"id": f"p{n}~1", "of": f"p{n}", "label": NLI.labels[n % 3], **texts, "premise": f"Premise {n}, it is."}
        )
    return pl.DataFrame(rows)


@contextmanager
def served(say):
    """A server that says what a function makes of the prompt: a word, or a finish reason beside it."""

    def answer(path, body):
        prompt = "\n".join(one["content"] for one in body["messages"])
        text, finish = say(prompt) if isinstance(say(prompt), tuple) else (say(prompt), "stop")
        top = [{"token": text, "logprob": -0.5}, {"token": "the", "logprob": -2.0}]
        if text in (*NLI.labels, *"ABC"):
            others = [one for one in (NLI.labels if text in NLI.labels else "ABC") if one != text]
            top += [{"token": one, "logprob": -3.0} for one in others]
        choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
        choice["logprobs"] = {"content": [{"token": text, "logprob": -0.5, "top_logprobs": top}]}
        return 200, {}, json.dumps({"model": "tiny", "choices": [choice], "usage": {}}).encode()

    with ChatServer(answer=answer) as server:
        yield server, f"api:tiny(url={server.url}, readout=tokens)"


def some_unread(prompt):
    return "hmm" if "premise 3" in prompt.lower() else NLI.labels[number(prompt) % 3]


def test_what_cannot_be_read_is_an_answer_of_its_own(tmp_path):
    with served(some_unread) as (server, spec):
        with pytest.warns(
            UserWarning, match="m: 2 of 16 answers could not be read, such as 'hmm'; each is `unreadable`"
        ):
            table = ow.answer(suite(), f"m={spec}", canary=False, cache=tmp_path / "a.sqlite")
        asked = server.requests
        with pytest.warns(UserWarning, match="could not be read"):
            again = ow.answer(suite(), f"m={spec}", canary=False, cache=tmp_path / "a.sqlite")
        assert server.requests == asked == 16
    assert again.equals(table)
    unread = table.filter(pl.col("pred") == UNREADABLE)
    assert unread["bucket"].to_list() == ["p3", "p3"]
    assert unread.select("^p:.*$").null_count().row(0) == (2, 2, 2)
    assert unread["label_mass"].to_list() == [0.0, 0.0]
    known = np.exp(-0.5) + 2 * np.exp(-3.0)
    np.testing.assert_allclose(table.filter(pl.col("pred") != UNREADABLE)["label_mass"], known)
    assert table["template"].unique().to_list() == ["words"]


def test_what_a_filter_withheld_is_asked_again_the_next_time(tmp_path):
    withheld = [True]

    def say(prompt):
        return ("", "content_filter") if withheld[0] and "premise 3" in prompt.lower() else "neutral"

    with served(say) as (server, spec):
        with pytest.warns(UserWarning, match="2 of 16 answers were withheld by a filter"):
            ow.answer(suite(), spec, canary=False, cache=tmp_path / "a.sqlite")
        withheld[0] = False
        asked = server.requests
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table = ow.answer(suite(), spec, canary=False, cache=tmp_path / "a.sqlite")
        assert server.requests == asked + 2
    assert table["pred"].unique().to_list() == ["neutral"]


def test_labels_that_it_would_rather_not_say_are_warned_of():
    unsure = Model(
        lambda batch: Reply(["neutral"] * len(batch), p=np.full((len(batch), 3), 1 / 3), mass=np.full(len(batch), 0.1))
    )
    with pytest.warns(
        UserWarning, match=r"the labels have 10.0% of the probability on average \(column `label_mass`\)"
    ):
        ow.answer(suite(2), unsure, canary=False, cache=None)


# Shots


def test_wordings_of_a_problem_see_the_same_shots_and_never_itself(tmp_path):
    other = [pl.format(f"{name}: {{}}", pl.col("id").hash()).alias(name) for name in NLI.fields]
    rows = pl.concat(
        [suite(8).filter(pl.col("of").is_null()), suite(8).filter(pl.col("of").is_not_null()).with_columns(other)]
    )
    rows.filter(pl.col("of").is_null()).write_ndjson(tmp_path / "same.jsonl")
    with served(lambda prompt: "neutral") as (server, spec):
        model = spec.replace(")", f", shots=3, shots_from={tmp_path / 'same.jsonl'})")
        first = ow.answer(rows, model, canary=False, cache=tmp_path / "a.sqlite")
        asked = {one["messages"][-1]["content"]: one["messages"][:-1] for one in server.bodies}
        assert len(asked) == server.requests == 16
        for of, text in rows.select(pl.coalesce("of", "id"), "premise").iter_rows():
            (shown,) = (turns for prompt, turns in asked.items() if text in prompt)
            original = rows.row(by_predicate=pl.col("id") == of, named=True)
            (same,) = (turns for prompt, turns in asked.items() if original["premise"] in prompt)
            assert shown == same
            assert not [turn for turn in shown if original["hypothesis"] in turn["content"]]
        assert ow.answer(rows, model, canary=False, cache=tmp_path / "a.sqlite").equals(first)
        assert server.requests == 16
        variant = rows.filter(pl.col("id") == "p3~1").with_columns(of=pl.lit(None, pl.String))
        ow.answer(variant, model, canary=False, cache=tmp_path / "a.sqlite")  # of which nobody knows the original
        assert server.requests <= 17


BY_ORIGINAL = """
from otherwords import Model

def ask(batch):
    return [batch.task.labels[len(one) % 3] for one in batch.originals["premise"]]

model = Model(ask, by_original=True)
"""


@pytest.mark.parametrize(
    "engine",
    [{}, pytest.param({"engine": "processes", "workers": 2}, marks=pytest.mark.slow)],
    ids=["here", "processes"],
)
def test_a_model_that_is_asked_by_the_original_is_given_it_by_every_engine(tmp_path, monkeypatch, engine):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(BY_ORIGINAL)
    rows = suite(8).with_columns(premise=pl.col("premise") + pl.lit("!").repeat_by(pl.int_range(16)).list.join(""))
    rows.write_ndjson("suite.jsonl")
    model = "m=python:mine.py:model"
    done = ow.run(data="suite.jsonl", models=[model], canary=False, cache=None, out="out", **engine)
    want = {row["id"]: NLI.labels[len(row["premise"]) % 3] for row in rows.iter_rows(named=True) if row["of"] is None}
    for table in (done.answers().collect(), ow.answer(rows, model, canary=False, cache=None)):
        assert table.height == 16
        assert table["pred"].to_list() == [want[bucket] for bucket in table["bucket"]]
    assert len({*want.values()}) > 1


# Scores


def answers(*pred, gold="yes", **more):
    count = len(pred)
    rows = {
        "bucket": ["a"] * count,
        "variant": [None, *map(str, range(1, count))],
        "gold": [gold] * count,
        "pred": list(pred),
    }
    return pl.DataFrame({**rows, **more}, strict=False)


@pytest.mark.parametrize("spelling", ["unreadable", "Unreadable "])
def test_it_is_never_right_and_a_flip_to_it_is_a_flip(spelling):
    table = answers("yes", spelling, "no", "yes")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {
            one.metric: one.value
            for one in ow.score(
                table,
                ["accuracy_variants", "flip_rate", "unreadable"],
                task="nli",
                labels={"yes": "entailment", "no": "neutral"},
            )
        }
    assert found["flip_rate"] == pytest.approx(2 / 3)
    assert found["unreadable"] == 0.25
    read = reading.read(table, ("no", "yes"))
    assert read.labels == ("no", "yes", UNREADABLE)
    assert read.correct.tolist() == [True, False, False, True]


def test_an_unread_answer_is_neither_a_right_answer_nor_the_meaning_of_a_label():
    with pytest.raises(BadInput, match="gold: found"):
        reading.read(answers("yes", "no", gold=UNREADABLE), ("no", "yes"))
    with pytest.raises(BadInput, match="--label: unreadable stands for an answer that could not be read"):
        ow.score(answers("yes", UNREADABLE), labels={UNREADABLE: "no"})
    with pytest.raises(BadInput, match="label_map: unreadable stands for an answer that could not be read"):
        load("scripted", NLI, {"Unreadable": "neutral"})


def test_a_table_may_map_its_own_word_to_it():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        [found] = ow.score(
            answers("entailment", "n/a", gold="entailment"), ["unreadable"], labels={"n/a": UNREADABLE}, task="nli"
        )
    assert found.value == 0.5


def test_probabilities_that_lack_are_counted_and_not_passed_over():
    p = {"p:no": [0.2, None, None], "p:yes": [0.8, None, None]}
    table = answers("yes", UNREADABLE, "no", **p, label_mass=[0.9, None, 0.5])
    read = reading.read(table, ("no", "yes"))
    with pytest.raises(Unmeasurable, match=r"2 of 3 answers have no probabilities \(1 could not be read\)"):
        read.p  # noqa: B018
    with pytest.raises(BadInput, match="probabilities must be numbers"):  # no reason is given why it has none
        reading.read(table.drop("label_mass"), ("no", "yes"))
    whole = answers("yes", UNREADABLE, **{"p:no": [0.2, 0.5], "p:yes": [0.8, 0.5]})
    assert reading.read(whole, ("no", "yes")).p.tolist() == [[0.2, 0.8, 0.0], [0.5, 0.5, 0.0]]


def test_label_mass_stands_before_any_flip_rate_where_a_model_returned_it():
    one, other = (answers("yes", "no", "yes").with_columns(model=pl.lit(name)) for name in "ab")
    table = pl.concat([one.with_columns(label_mass=pl.Series([0.5, 0.25, None])), other], how="diagonal")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        usual = [(score.model, score.metric) for score in ow.score(table)]
        assert "label_mass" not in {score.metric for score in ow.score(other, "all")}
    assert [model for model, metric in usual if metric == "label_mass"] == ["a"]
    assert usual.index(("a", "label_mass")) < usual.index(("a", "flip_rate"))
    with pytest.warns(UserWarning, match=r"b: not measured: label_mass \(no label mass\)"):
        [found, _, _] = ow.score(table, ["flip_rate", "label_mass"])
    assert (found.metric, found.value, found.n_answers, found.unit) == ("label_mass", 0.375, 2, "share")
    with pytest.raises(Unmeasurable, match="no label mass, which label_mass needs"):
        ow.score(other, "label_mass")
    with pytest.raises(Unmeasurable, match=r"label_mass: found 1\.5"):
        ow.score(one.with_columns(label_mass=pl.Series([0.5, 1.5, None])), "label_mass")


def test_unread_answers_raise_no_suspicion():
    table = answers("yes", UNREADABLE, "no", **{"p:no": [0.2, None, 0.9], "p:yes": [0.8, None, 0.1]})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ow.score(table, ["flip_rate"], replicates=9)
    assert not [one for one in caught if "never be right" in str(one.message) or "most probable" in str(one.message)]


def test_a_collapsed_table_has_the_same_scores(monkeypatch):
    chance = np.random.default_rng(1)
    preds = chance.choice(["yes", "no", UNREADABLE], 400)
    rows = {"bucket": [f"b{n // 4}" for n in range(400)], "variant": [str(n % 4) if n % 4 else "" for n in range(400)]}
    table = pl.DataFrame({**rows, "gold": ["yes"] * 400, "pred": preds, "model": ["m"] * 400})
    using = ["flip_rate", "accuracy_variants", "unreadable", "p_c", "label_agreement"]
    plain = ow.score(table, using)
    monkeypatch.setattr("otherwords.pipeline.LARGE", 10)
    assert ow.score(table, using) == plain


# The cache, and workers


def test_a_cache_of_an_earlier_version_is_given_what_it_lacks(tmp_path):
    path = tmp_path / "old.sqlite"
    with Cache(path) as cache:
        cache.put(cache.model("m", "t"), {b"k" * 20: Cached(1, (0.25, 0.75), True)})
    with sqlite3.connect(path) as database:
        database.execute("alter table answers drop column mass")
    database.close()
    with Cache(path) as cache:
        assert cache.get([b"k" * 20]) == {b"k" * 20: Cached(1, (0.25, 0.75), True, None)}
        new = {b"a" * 20: Cached(2, None, None, 0.1 + 0.2), b"b" * 20: Cached(0, (1.0, 0.0), False, 0.0)}
        cache.put(cache.model("m", "t"), new)
        assert cache.get([b"a" * 20, b"b" * 20, b"k" * 20]) == {**new, b"k" * 20: Cached(1, (0.25, 0.75), True, None)}


def test_what_workers_leave_is_what_they_were_told():
    whole = Predictions(
        np.array([0, 3, 1]), np.array([[1.0, 0, 0], [np.nan] * 3, [0, 1.0, 0]]), np.array([-1, -1, -1], np.int8),
        np.array([0.5, np.nan, 0.25]), np.array([False, True, False]),
    )  # fmt: skip
    back = _read_table(_as_table(whole))
    assert back == whole
    assert back.transient.tolist() == [False, True, False]
    plain = Predictions(np.array([1]), None, np.array([0], np.int8))
    assert _read_table(_as_table(plain)).mass is None


def test_transient_answers_are_given_and_not_stored(tmp_path):
    model = Answerer("m", "m.v1()", Model(lambda b: Reply([None] * len(b), transient=np.arange(len(b)) < 2)), NLI)
    columns = {"premise": ["a", "b", "c"], "hypothesis": ["d"] * 3}
    with Cache(tmp_path / "a.sqlite") as cache:
        assert ask(columns, model, cache).pred.tolist() == [3, 3, 3]
        assert cache.info()[0]["answers"] == 1
        with AnswerWriter(cache) as writer:
            assert len(Asker(model, writer).look_up(Texts.of(columns, NLI)).unknown) == 2


def test_labels_and_probabilities_may_not_be_mixed_without_a_reason():
    frame = suite(1)
    model = Answerer("m", "m.v1()", Model(lambda b: None), NLI)
    p = np.array([[1.0, 0, 0], [np.nan] * 3])
    with pytest.raises(ow.OtherwordsError, match="returned probabilities for 1 of 2 problems"):
        answer_table(frame, model, Predictions(np.array([0, 1]), p))
    kept = answer_table(frame, model, Predictions(np.array([0, 1]), p, mass=np.array([0.9, 0.2])))
    assert kept["p:neutral"].to_list() == [0.0, None]


@pytest.mark.parametrize("mass", [[0.5], [0.5, 1.5], [-0.1, 0.2], ["a", "b"]])
def test_a_mass_that_is_none_is_refused(mass):
    model = Answerer("m", "m.v1()", Model(lambda b: Reply(["neutral"] * len(b), mass=mass)), NLI)
    with pytest.raises(WrongAnswer, match="as mass; use a number from 0 to 1 for each problem"):
        model(Batch(NLI, {"premise": ["a", "b"], "hypothesis": ["c", "d"]}))


# Templates as a factor


def test_several_templates_make_several_models(tmp_path):
    own = tmp_path / "mine.toml"
    words = 'words = {entailment = "A", neutral = "B", contradiction = "C"}'
    own.write_text(f'task = "nli"\nname = "short"\nprompt = "{{premise}} {{hypothesis}}"\n{words}')
    specs = with_templates(
        ["m=api:tiny(url=http://x/v1)", "api:org/big", "scripted", "n=api:tiny(template=words)"], ["letters", str(own)]
    )
    names = [split_name(one)[0] for one in specs]
    assert names == ["m@letters", "m@short", "api:org/big@letters", "api:org/big@short", "scripted", "n"]
    assert with_templates(["scripted"], []) == ["scripted"]
    with pytest.raises(BadInput, match=r"scripted takes no template, or has one; use a language model: .*api"):
        with_templates(["scripted"], ["letters"])
    with pytest.raises(BadInput, match="two templates have the same name"):
        with_templates(["api:tiny"], ["letters", "letters-nli"])


def say_by_template(prompt):
    """By letters it says A to everything; by words it has some answer."""
    return "A" if "one letter" in prompt else NLI.labels[number(prompt) % 3]


@pytest.mark.parametrize(
    "asked",
    [{"model": ["a", "a", "b", "b"]}, {"model": ["a@x", "a@x", "b@y", "b@y"], "template": ["x", "x", "y", "y"]}],
    ids=["no templates", "two models with one each"],
)
def test_models_that_are_not_templates_of_one_are_not_compared_as_such(asked):
    rows = {"bucket": ["1"] * 4, "variant": ["", "1"] * 2, "gold": ["yes"] * 4, "pred": ["yes", "no", "yes", "yes"]}
    with refuses(Unmeasurable, field="template"):
        ow.score(pl.DataFrame(rows | asked), ["template_flips"])


def test_a_study_with_several_templates(tmp_path):
    with served(say_by_template) as (_, spec), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = ow.run(
            data=suite(24),
            models=[f"m={spec}", "plain=scripted"],
            templates=["words", "letters"],
            check=[],
            out=tmp_path / "run",
            metrics=["flip_rate", "accuracy_variants", "template_flips", "unreadable"],
            cache=str(tmp_path / "a.sqlite"),
            replicates=50,
        )
    told = [str(one.message) for one in caught]
    assert any("m@letters is weak" in one and "because it answers entailment to all of them" in one for one in told)
    table = run.answers().collect()
    assert set(table["model"].unique()) == {"m@words", "m@letters", "plain"}
    assert set(table.filter(pl.col("model") == "m@letters")["template"]) == {"letters"}
    assert table.filter(pl.col("model") == "plain")["template"].null_count() == 48
    by_model = {one.model: one.value for one in run.scores if one.metric == "flip_rate"}
    assert by_model["m@letters"] == 0
    differ = table.pivot("model", index=["bucket", "variant"], values="pred")
    [flips] = [one for one in run.scores if one.metric == "template_flips"]
    assert flips.value == pytest.approx((differ["m@words"] != differ["m@letters"]).mean())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pooled = ow.score(run.folder, ["flip_rate"], pool_templates=True, replicates=50)
        again = ow.run(tmp_path / "run", templates=["words"], metrics=["flip_rate", "unreadable"])
    values = {one.model: one for one in pooled}
    assert set(values) == {"m", "plain"}
    assert values["m"].value == pytest.approx((by_model["m@words"] + by_model["m@letters"]) / 2)
    assert (values["m"].n_units, values["m"].n_clusters) == (48, values["plain"].n_clusters)
    assert {one.model for one in again.scores} >= {"m@words", "plain"}
    assert "m@letters" not in {one.model for one in again.scores}


def test_a_run_of_one_model_by_two_templates_knows_so_before_it_asks(tmp_path):
    settings = {"data": suite(6), "metrics": ["template_flips"], "canary": False, "cache": None}
    with served(say_by_template) as (_, spec), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = ow.run(models=[f"m={spec}"], templates=["words", "letters"], out=tmp_path / "two", **settings)
        assert [one.metric for one in run.scores] == ["template_flips"]
        with pytest.raises(Unmeasurable, match="no model was asked by two templates"):
            ow.run(models=[f"m={spec}"], templates=["words"], out=tmp_path / "one", **settings)
    assert not (tmp_path / "one" / "answers").exists()


def test_pooled_templates_of_a_problem_are_one_cluster():
    asked = [(t, n, v) for t in ("x", "y") for n in range(30) for v in ("", "1")]
    rows = [{"model": f"m@{t}", "template": t, "bucket": f"b{n}", "variant": v, "gold": "yes"} for t, n, v in asked]
    pred = pl.Series("pred", ["yes" if n % 3 or not v else "no" for _, n, v in asked])
    table = pl.DataFrame(rows).with_columns(pred)
    one = ow.score(table.filter(pl.col("template") == "x"), ["flip_rate"], seed=1)[0]
    [both] = ow.score(table, ["flip_rate"], pool_templates=True, seed=1)
    assert (both.model, both.n_units, both.n_clusters) == ("m", 60, 30)
    assert (both.low, both.high) == pytest.approx((one.low, one.high))  # the second template tells nothing new
    with pytest.raises(BadInput, match="template: no such column, and nothing to pool"):
        ow.score(table.drop("template"), pool_templates=True)


def test_the_page_and_the_manifest_count_what_could_not_be_read(tmp_path):
    with served(some_unread) as (_, spec), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = ow.run(
            data=suite(),
            models=[f"m={spec}"],
            check=[],
            out=tmp_path / "run",
            metrics=["flip_rate", "label_mass"],
            require=["label_mass >= 0.1"],
            canary=False,
            cache=False,
        )
    assert run.manifest["answered"]["m"]["unreadable"] == 2
    assert [one.metric for one in run.scores] == ["label_mass", "flip_rate"]
    assert 'id="mass">Of the probability, the labels had ' in run.report.read_text(encoding="utf-8")
    assert "2 of 16\u00a0answers of" in run.report.read_text(encoding="utf-8")
