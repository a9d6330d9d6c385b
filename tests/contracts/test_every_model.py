"""Every model: one answer per problem whatever the text, the same in any order and company, and never asked twice."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest

import otherwords as ow
from otherwords.errors import OtherwordsError
from otherwords.models.answering import ask, load
from otherwords.models.cache import Cache
from otherwords.models.canary import canary_batch
from otherwords.models.model import Answerer, Predictions, as_model
from otherwords.problem import TASKS, Batch, Task

KIND = "models"
NLI = TASKS["nli"]
TINY = "a dog runs in the park while it rains and no cat sleeps".split()  # noqa: SIM905
HARD = [
    ("", ""),
    (" ", "\n"),
    ("word " * 5_000, "end"),
    ("a man", "word " * 5_000),
    ("Zoë — 木曜日 \U0001f327\ufe0f", "it\u2019s\xa0fine\u200b"),
    ('"quoted, with comma"\tand tab', "two\nlines\r\n"),
    ("\0 null", "[SEP] [CLS] <s> </s>"),
    ("A" * 10_000, "{}"),
]


@cache
def once(spec: str) -> Answerer:
    return load(spec, NLI)


@pytest.fixture
def model(spec) -> Answerer:
    return once(spec)


def batch(texts) -> Batch:
    return Batch(NLI, {"premise": [one for one, _ in texts], "hypothesis": [other for _, other in texts]})


@cache
def everyday() -> list[tuple[str, str]]:
    return ow.load("everyday(split=all)").head(12).select("premise", "hypothesis").rows()


def sample() -> list[tuple[str, str]]:
    chance = random.Random(3)
    tiny = [tuple(" ".join(chance.choices(TINY, k=chance.randrange(1, 9))) for _ in "ab") for _ in range(20)]
    questions = canary_batch(NLI)
    return [
        *tiny,
        *everyday(),
        *zip(questions["premise"], questions["hypothesis"], strict=True),
    ]


@cache
def answers_of(spec: str) -> Predictions:
    """What a model answers to the whole sample."""
    return once(spec)(batch(sample()))


def test_one_answer_per_problem(spec):
    answers = answers_of(spec)
    assert len(answers) == len(sample())
    assert set(answers.pred.tolist()) <= {0, 1, 2}
    if answers.p is not None:
        assert answers.p.shape == (len(sample()), 3)
        np.testing.assert_allclose(answers.p.sum(axis=1), 1, atol=1e-5)
        assert answers.p.min() >= 0
    if len(set(answers.pred.tolist())) == 1:
        pytest.skip("it gives one answer to the whole sample, which proves little")


@pytest.mark.parametrize(("size", "count"), [(1, 10), (5, 1000)])
def test_neither_order_nor_company_matters(spec, model, size, count):
    texts = sample()
    whole = answers_of(spec)
    order = random.Random(size).sample(range(len(texts)), min(count, len(texts)))
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        some = model(batch([texts[row] for row in rows]))
        assert some.pred.tolist() == whole.pred[rows].tolist()
        if whole.p is None:
            assert some.p is None
        elif model.model.batch_invariant:
            assert some.p.tobytes() == whole.p[rows].tobytes()
        else:
            np.testing.assert_allclose(some.p, whole.p[rows], atol=1e-5)


def test_made_again_it_answers_the_same(model, spec):
    again = load(spec, NLI)
    assert again.signature == model.signature
    assert again(batch(sample())).pred.tolist() == answers_of(spec).pred.tolist()


def test_how_many_it_is_given_at_a_time_changes_nothing(model):
    with Cache() as one, Cache() as two:
        texts = batch(sample()).columns
        assert [a.pred for a in ask(texts, model, one)] == [a.pred for a in ask(texts, model, two, batch_size=3)]


@pytest.mark.parametrize("number", range(len(HARD)))
def test_every_text_is_answered_or_refused_aloud(model, number):
    """A cut text is flagged; a text that cannot be read is an error of ours; nothing is dropped or guessed."""
    try:
        answers = model(batch([HARD[number], *sample()[:2]]))
    except OtherwordsError:
        return
    assert len(answers) == 3
    assert answers.p is None or np.isfinite(answers.p).all()
    if model.model.max_length:
        assert answers.cut is not None, "it has a limit, and does not say what it cut"
        assert answers.cut[1:].tolist() == [False, False]
        long = max(len(text.split()) for text in HARD[number]) > 1_000
        assert answers.cut[0] or not long, "5,000 words do not fit, and it did not say so"
    else:
        assert answers.cut is None


def test_what_was_cut_is_known_again_from_the_cache(model):
    texts = batch([HARD[2], *sample()[:2]]).columns
    with Cache() as cache:
        try:
            first = ask(texts, model, cache)
        except OtherwordsError:
            assert not model.model.max_length, "it says that it cuts what is too long, and refuses it"
            return
        assert [answer.cut for answer in ask(texts, model, cache)] == [answer.cut for answer in first]
        assert [answer.cut for answer in first] == ([True, False, False] if model.model.max_length else [None] * 3)


def test_what_it_was_asked_it_is_not_asked_again(model):
    calls = []

    def counted(given):
        calls.append(len(given))
        return model.model.function(given)

    from dataclasses import replace

    counting = replace(model, model=replace(model.model, function=counted))
    with Cache() as cache:
        first = ask(batch(sample() * 2).columns, counting, cache)
        assert sum(calls) == len(set(sample()))
        calls.clear()
        assert ask(batch(sample() * 2).columns, counting, cache) == first
        assert calls == []


@pytest.mark.parametrize(
    "task",
    [TASKS["rte"], TASKS["d-nli"], TASKS["a-nli"], Task("mood", ("text",), ("good", "bad"))],
    ids=lambda t: t.name,
)
def test_another_task_is_answered_or_refused_aloud(spec, task):
    texts = Batch(task, {name: ["A man is eating.", "It rains."] for name in task.fields})
    try:
        model = load(spec, task)
        answers = model(texts)
    except OtherwordsError:
        return
    assert len(answers) == 2
    assert set(answers.pred.tolist()) <= set(range(len(task.labels)))


def test_what_it_says_of_itself(bound):
    model = as_model(bound.function)
    assert model.batch_size >= 1
    assert type(model.batch_invariant) is bool
    assert all(isinstance(label, str) for label in model.labels)
