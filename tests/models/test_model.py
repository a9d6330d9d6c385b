"""What is not one proper answer per problem is refused: each way to be wrong, in its own words."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput, WrongAnswer
from otherwords.models.answering import answer_table, ask, load, split_name, warn_unused_labels
from otherwords.models.cache import Cache
from otherwords.models.model import Answerer, Model, Reply, as_model
from otherwords.problem import TASKS, Batch, Task

NLI, RTE = TASKS["nli"], TASKS["rte"]
THREE = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]]


def batch(count=2, task=NLI):
    return Batch(task, {name: [f"{name} {i}" for i in range(count)] for name in task.fields})


def answerer(answer, task=NLI, label_map=None, **more) -> Answerer:
    function = answer if callable(answer) else lambda _: answer
    return Answerer("mine", "mine.v1()", Model(function, **more), task, label_map or {})


# What may be returned.


@pytest.mark.parametrize("way", [list, tuple, np.array, pl.DataFrame, lambda rows: np.array(rows, dtype=np.float32)])
def test_rows_of_probabilities(way):
    rows = pl.DataFrame(THREE, orient="row") if way is pl.DataFrame else way(THREE)
    answers = answerer(rows)(batch())
    assert answers.pred.tolist() == [0, 1]
    np.testing.assert_allclose(answers.p, THREE, atol=1e-7)
    assert len(answers) == 2


@pytest.mark.parametrize("way", [list, tuple, np.array, lambda labels: np.array(labels, dtype=object)])
def test_labels(way):
    answers = answerer(way(["contradiction", "Neutral"]))(batch())
    assert answers.pred.tolist() == [2, 1]
    assert answers.p is None


def test_columns_in_the_models_own_order():
    answers = answerer(THREE, labels=("contradiction", "ENTAILMENT", "neutral"))(batch())
    assert answers.pred.tolist() == [2, 0]
    assert answers.p.tolist() == [[0.2, 0.1, 0.7], [0.8, 0.1, 0.1]]


def test_several_labels_may_mean_the_same_argmax_comes_first():
    """PaRTE: argmax over three, then merge; the merged probabilities may well say otherwise."""
    label_map = {"entailment": "entailed", "neutral": "not-entailed", "contradiction": "not-entailed"}
    model = answerer([[0.4, 0.3, 0.3]], RTE, label_map, labels=NLI.labels)
    answers = model(batch(1, RTE))
    assert answers.pred.tolist() == [0]
    np.testing.assert_allclose(answers.p, [[0.4, 0.6]])
    assert model.targets == ("entailed", "not-entailed", "not-entailed")


@given(
    st.lists(st.lists(st.integers(1, 1000), min_size=3, max_size=3), min_size=1, max_size=6),
    st.permutations(NLI.labels),
)
def test_merging_keeps_the_mass_and_the_argmax(weights, order):
    p = np.array(weights) / np.array(weights).sum(axis=1, keepdims=True)
    label_map = {"entailment": "entailed", "neutral": "not-entailed", "contradiction": "not-entailed"}
    answers = answerer(p, RTE, label_map, labels=tuple(order))(batch(len(p), RTE))
    np.testing.assert_allclose(answers.p.sum(axis=1), 1)
    np.testing.assert_allclose(answers.p[:, 0], p[:, order.index("entailment")])
    assert answers.pred.tolist() == [int(order[row.argmax()] != "entailment") for row in p]


def test_label_map_may_overrule_equal_names():
    assert answerer(["entailment"], label_map={"entailment": "contradiction"})(batch(1)).pred.tolist() == [2]


def test_half_precision_is_close_enough():
    p = np.array([[0.3333, 0.3333, 0.3333]], dtype=np.float16)
    assert answerer(p)(batch(1)).pred.tolist() == [0]


# What may not.


@pytest.mark.parametrize(
    "answer",
    [
        [[0.5, 0.5, math.nan], THREE[1]],
        [THREE[0], [0.5, 0.5, math.inf]],
        [[0.5, 0.2, 0.1], THREE[1]],
        [[2.5, -1.0, 0.3], THREE[1]],
        [[1.5, -0.5, 0.0], THREE[1]],
        THREE[:1],
        [*THREE, THREE[0]],
        [],
        ["neutral"],
        ["neutral"] * 3,
        None,
        [[0.5, 0.5], [0.5, 0.5]],
        [0, 2],
        [[THREE], [THREE]],
        [[0.5, 0.5], [1.0]],
        {"neutral": 1},
        0.5,
    ],
)
def test_what_is_no_proper_answer(answer):
    with refuses(WrongAnswer) as caught:
        answerer(answer)(batch())
    assert caught.value.exit_code == 2


def test_a_generator_is_no_answer():
    with refuses(WrongAnswer):
        answerer(row for row in THREE)(batch())


@pytest.mark.parametrize("answer", [["neutral", "maybe"], np.array(["neutral", "maybe"])])
def test_an_unknown_label_names_the_map(answer):
    with refuses(BadInput):
        answerer(answer)(batch())


def test_labels_that_fit_no_task_are_refused_when_loaded(tmp_path):
    path = tmp_path / "m.py"
    path.write_text("def f(batch): return [[0.5, 0.5]] * len(batch)\nf.labels = ['LABEL_0', 'LABEL_1']\n")
    fix = "map its labels: --label-map LABEL_0=...,LABEL_1=... (in Python label_map={'LABEL_0': ..., 'LABEL_1': ...})"
    with refuses(BadInput, fix=fix):
        load(f"python:{path}:f", RTE)
    model = load(f"python:{path}:f", RTE, {"label_0": "not-entailed", "LABEL_1": "entailed"})
    assert model.targets == ("not-entailed", "entailed")
    with refuses(BadInput):
        load(f"python:{path}:f", RTE, {"LABEL_0": "entailed", "LABEL_1": "yes"})


def test_labels_of_a_map_that_the_model_does_not_have_are_warned_of(tmp_path):
    """A warning and no more: a study has one map for all its models."""
    path = tmp_path / "m.py"
    path.write_text("def f(batch): return [[0.5, 0.5]] * len(batch)\nf.labels = ['not-entailed', 'ENTAILED']\n")
    known = {"entailed": "not-entailed", "not_entailed": "entailed"}
    strange = {"entails": "entailed", "LABEL_0": "entailed"}
    mine = load(f"mine=python:{path}:f", RTE, known | strange)
    assert mine.signature == load(f"mine=python:{path}:f", RTE, known).signature
    with pytest.warns(UserWarning, match="label map has entails.*mine has not-entailed, ENTAILED"):
        warn_unused_labels(known | {"entails": "entailed"}, {"mine": mine.model.labels})
    path.with_name("o.py").write_text(
        "def f(batch): return [[0.5, 0.5]] * len(batch)\nf.labels = ['LABEL_0', 'entails']\n"
    )
    other = load(f"other=python:{path.with_name('o.py')}:f", RTE, {**strange, "LABEL_0": "not-entailed"})
    warn_unused_labels(
        known | strange, {one.name: one.model.labels for one in (mine, other)}
    )  # warnings are errors here


def test_a_label_map_may_be_for_one_model(tmp_path):
    path = tmp_path / "m.py"
    path.write_text("def f(batch): return [[0.5, 0.5]] * len(batch)\nf.labels = ['LABEL_0', 'LABEL_1']\n")
    maps = {"LABEL_0": "entailed", "LABEL_1": "not-entailed", "b": {"label_0": "not-entailed", "label_1": "entailed"}}
    one, two = (load(f"{name}=python:{path}:f", RTE, maps) for name in "ab")
    assert one.targets == ("entailed", "not-entailed")
    assert two.targets == ("not-entailed", "entailed")
    with pytest.warns(UserWarning, match="has LABEL_7, but b has LABEL_0, LABEL_1"):
        warn_unused_labels({"b": {"LABEL_7": "entailed"}}, {"a": one.model.labels, "b": two.model.labels})


def test_an_ambiguous_label_is_named(tmp_path):
    path = tmp_path / "m.py"
    path.write_text("def f(batch): return [[0.5, 0.5]] * len(batch)\nf.labels = ['entailment', 'not_entailment']\n")
    fix = "map its labels: --label-map not_entailment=... (in Python label_map={'not_entailment': ...})"
    with refuses(BadInput, fix=fix) as caught:
        load(f"mine=python:{path}:f", TASKS["nli"])
    assert "'not_entailment' is ambiguous: it may mean neutral or contradiction" in str(caught.value)
    with refuses(BadInput, field="label_map", where="mine") as caught:
        load(f"mine=python:{path}:f", RTE, {"entailment": "entailed", "Entailment": "not-entailed"})
    assert "'Entailment' is ambiguous: entailed and not-entailed" in str(caught.value)
    with pytest.warns(UserWarning, match="none of its labels .* means contradiction"):
        load(f"mine=python:{path}:f", TASKS["nli"], {"not_entailment": "neutral"})


def test_nothing_wrong_reaches_the_cache():
    model = answerer(lambda given: THREE[: len(given)] if len(given) < 3 else [[math.nan] * 3] * len(given))
    with Cache() as cache:
        with refuses(WrongAnswer):
            ask(batch(3).columns, model, cache, batch_size=3)
        assert cache.info() == []


@pytest.mark.parametrize("size", [0, -1])
def test_batches_hold_at_least_one(size):
    with refuses(BadInput):
        Model(lambda given: [], batch_size=size)


def test_a_bare_function_is_a_model():
    model = as_model(len)
    assert (model(batch()), model.labels, model.batch_invariant) == (2, (), True)
    assert as_model(model) is model


# What was cut.


@pytest.mark.parametrize("answers", [THREE, ["neutral", "entailment"]])
def test_a_reply_says_what_was_cut(answers):
    found = answerer(Reply(answers, np.array([False, True])))(batch())
    assert found.cut.tolist() == [False, True]
    assert found.pred.tolist() == answerer(answers)(batch()).pred.tolist()
    assert answerer(answers)(batch()).cut is None


def test_a_reply_is_checked_like_any_answer():
    with refuses(WrongAnswer):
        answerer(Reply(THREE[:1], np.array([True, False])))(batch())
    with refuses(WrongAnswer):
        answerer(Reply(None, np.array([True, False])))(batch())


def test_a_reply_need_not_tell_what_was_cut():
    assert answerer(Reply(THREE))(batch()).cut is None
    assert answerer(Reply(np.empty((0, 3)), []))(batch(0)).cut.tolist() == []


@pytest.mark.parametrize("cut", [[True], [[True], [False]], True, ["yes", "no"], [0.0, 1.0], [None, True]])
def test_cuts_are_a_flag_for_each_problem(cut):
    with refuses(WrongAnswer):
        answerer(Reply(THREE, cut))(batch())


def cutting(seen: list[int], limit: int = 4) -> Answerer:
    """Reads no more than four letters of a premise."""

    def answer(given):
        seen.append(len(given))
        return Reply(["neutral"] * len(given), np.array([len(text) > limit for text in given["premise"]]))

    return answerer(answer, max_length=limit)


def test_answers_of_before_cuts_were_noted_are_asked_for_again():
    seen: list[int] = []
    texts = {"premise": ["aaaaaa", "a"], "hypothesis": ["x", "x"]}
    with Cache() as cache:
        silent = answerer(["neutral", "neutral"])
        assert [answer.cut for answer in ask(texts, silent, cache)] == [None, None]
        assert [answer.cut for answer in ask(texts, cutting(seen), cache)] == [True, False]
        assert [answer.cut for answer in ask(texts, cutting(seen), cache)] == [True, False]
    assert seen == [2]


def test_cuts_that_came_along_are_another_models():
    rows = {"id": ["p"], "of": [None], "label": ["neutral"], "premise": ["aaaaaa"], "hypothesis": ["x"]}
    frame = pl.DataFrame({**rows, "truncated": [False]}, schema_overrides={"of": pl.String})
    with Cache() as cache:
        model = cutting([])
        table = answer_table(frame, model, ask({"premise": ["aaaaaa"], "hypothesis": ["x"]}, model, cache))
    assert table.select("truncated", "input_truncated").row(0) == (True, False)


# Asking.


def recording(task=NLI, **more):
    seen = []

    def answer(given):
        seen.append([tuple(problem.text.values()) for problem in given])
        return [
            [len(problem.text[task.fields[0]]) % 7 / 10, 0.3, 0.7 - len(problem.text[task.fields[0]]) % 7 / 10]
            for problem in given
        ]

    return answerer(answer, task, **more), seen


def test_equal_texts_are_asked_once_and_known_ones_never():
    model, seen = recording()
    texts = {"premise": ["a", "bb", "a", "ccc"], "hypothesis": ["x", "x", "x", "x"]}
    settled = []
    with Cache() as cache:
        first = list(ask(texts, model, cache, progress=settled.append))
        assert sorted(text for some in seen for text in some) == [("a", "x"), ("bb", "x"), ("ccc", "x")]
        assert first[0] == first[2] != first[1]
        assert sum(settled) == 4
        seen.clear()
        assert list(ask(texts, model, cache)) == first
        assert seen == []
        ask({"premise": ["a", "new"], "hypothesis": ["x", "x"]}, model, cache)
        assert seen == [[("new", "x")]]


def test_batches_are_sorted_by_length_and_of_the_size_asked_for():
    model, seen = recording(batch_size=3)
    words = ["aaaaaaaa", "a", "aaaa", "aaa", "aa", "aaaaaa", "aaaaa"]
    with Cache() as cache:
        ask({"premise": words, "hypothesis": ["x"] * 7}, model, cache)
        assert [len(some) for some in seen] == [3, 3, 1]
        assert [text[0] for some in seen for text in some] == sorted(words, key=len)
        seen.clear()
        ask({"premise": [w + "!" for w in words], "hypothesis": ["x"] * 7}, model, cache, batch_size=5)
        assert [len(some) for some in seen] == [5, 2]


@settings(max_examples=at_most(25))  # each opens two databases
@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=12), st.integers(1, 5), st.randoms())
def test_order_and_batch_size_do_not_matter(words, size, chance):
    model, _ = recording()
    with Cache() as one, Cache() as other:
        first = list(ask({"premise": [w * ord(w) for w in words], "hypothesis": words}, model, one))
        order = list(range(len(words)))
        chance.shuffle(order)
        again = ask(
            {"premise": [words[i] * ord(words[i]) for i in order], "hypothesis": [words[i] for i in order]},
            model,
            other,
            size,
        )
        assert [first[i] for i in order] == list(again)


def test_answers_of_one_model_task_or_label_map_are_not_anothers():
    signatures = [
        load("scripted", NLI).signature,
        load("scripted(seed=1)", NLI).signature,
        load("scripted", NLI, {"entailment": "neutral"}).signature,
    ]
    assert len(set(signatures)) == 3
    model, seen = recording()
    pairs = Task("pairs", NLI.fields, ("x", "y", "z"))
    texts = {"premise": ["a"], "hypothesis": ["b"]}
    with Cache() as cache:
        ask(texts, model, cache)
        ask(texts, Answerer("mine", "other.v1()", model.model, NLI), cache)
        ask(texts, Answerer("mine", "mine.v1()", model.model, pairs), cache)
        assert len(seen) == 3


def test_what_a_task_asks_for_is_part_of_the_question():
    """Which field is the target decides what a sequence-pair model reads second: once the cache did not know."""
    model, seen = recording(Task("t", ("a", "b", "c"), NLI.labels, ("c",)))
    other = Answerer("mine", "mine.v1()", model.model, Task("t", ("a", "b", "c"), NLI.labels, ("b",)))
    texts = {"a": ["x"], "b": ["y"], "c": ["z"]}
    with Cache() as cache:
        ask(texts, model, cache)
        ask(texts, other, cache)
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ("small=hf:org/model", ("small", "hf:org/model")),
        ("a-b_c.1=scripted(seed=1)", ("a-b_c.1", "scripted(seed=1)")),
        ("scripted(seed=1)", ("scripted(seed=1)", "scripted(seed=1)")),
        ("onnx:a=b/c", ("onnx:a=b/c", "onnx:a=b/c")),
        ("scripted", ("scripted", "scripted")),
    ],
)
def test_short_names(spec, parts):
    assert split_name(spec) == parts


def test_a_model_that_answers_now_so_now_so_is_refused(tmp_path):
    path = tmp_path / "m.py"
    path.write_text(
        "def f(batch):\n    return ['neutral'] * len(batch) if len(batch) == 2 else [[1, 0, 0]] * len(batch)\n"
    )
    frame = ow.load("everyday").head(3)
    with refuses(WrongAnswer):
        ow.answer(frame, f"python:{path}:f", canary=False, batch_size=2)


def test_a_batch_of_one_is_enough():
    assert Model(lambda given: [], batch_size=1).batch_size == 1


@pytest.mark.parametrize("numbers", [[0, 2], np.array([0, 2]), [np.int64(0), np.int8(2)], (0.0, 1.0)])
def test_numbers_are_no_labels(numbers):
    with refuses(WrongAnswer) as caught:
        answerer(numbers)(batch())
    assert f"returned a number for each problem, such as {numbers[0]};" in str(caught.value)
    assert "return label names (entailment, neutral, contradiction)" in str(caught.value)
    assert ("map the numbers with --label-map 0=...," in str(caught.value)) == (not isinstance(numbers[0], float))


@pytest.mark.parametrize("numbers", [[0, 2], np.array([0, 2], dtype=np.int32), [np.int64(0), np.int8(2)]])
def test_numbers_are_labels_where_a_label_map_says_so(numbers):
    meant = {"0": "contradiction", "1": "neutral", "2": "entailment"}
    assert answerer(numbers, label_map=meant)(batch()).pred.tolist() == [2, 0]
    with refuses(BadInput, fix="map its labels: --label-map 2=..."):
        answerer(numbers, label_map={"0": "contradiction"})(batch())


def test_an_unknown_label_is_not_called_ambiguous():
    with refuses(BadInput, fix="map its labels: --label-map Widerspruch=...") as caught:
        answerer(["Widerspruch", "neutral"])(batch())
    assert "its label 'Widerspruch' means none of entailment, neutral, contradiction" in str(caught.value)


class TestThreeLabelsForTwo:
    """An NLI model on RTE: entailment is entailed, everything else is not (PaRTE)."""

    FULL = {"entailment": "entailed", "neutral": "not-entailed", "contradiction": "not-entailed"}  # noqa: RUF012

    def test_need_no_map(self):
        plain, mapped = (load("nli-small", RTE, label_map) for label_map in (None, self.FULL))
        assert plain.targets == mapped.targets == ("entailed", "not-entailed", "not-entailed")
        assert plain.signature == mapped.signature

    def test_a_map_of_the_users_is_kept(self):
        other = {**self.FULL, "neutral": "entailed"}
        assert load("nli-small", RTE, other).targets[1] == "entailed"
        assert load("nli-small", RTE, {"Neutral": "entailed"}).targets[1] == "entailed"

    def test_other_names_are_refused_as_before(self):
        with refuses(BadInput):
            answerer(THREE, task=RTE, labels=("yes", "neutral", "contradiction")).check_labels()
