"""AFLite and a plain reimplementation of it agree: the same partitions, scores and rounds, problem by problem."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from plain_aflite import classify, plain_aflite

from otherwords.problem import TASKS
from otherwords.selection import AFLite, aflite, linear
from otherwords.selection.rows import linked_clusters

#: Task, problems, problems of a pair, settings; the last two end because few leave, and because few remain.
CASES = [
    ("nli", 60, 3, AFLite(n=6, m=25, k=6, tau=0.75, seed=1)),
    ("d-nli", 70, 4, AFLite(n=8, m=20, k=10, tau=0.5, seed=7)),
    ("a-nli", 50, 1, AFLite(n=5, m=20, k=5, tau=0.6, seed=3)),
    ("rte", 60, 2, AFLite(n=4, m=30, k=60, tau=0.75, seed=2)),
    ("nli", 50, 2, AFLite(n=4, m=30, k=5, tau=0.0, seed=5)),
]


@pytest.mark.parametrize(("task", "count", "each", "settings"), CASES)
def test_the_same_partitions(task, count, each, settings):
    known = TASKS[task]
    random = np.random.default_rng(count)
    labels = [known.labels[place] for place in random.integers(len(known.labels), size=count)]
    vectors = random.normal(size=(count, 5))
    strength = np.where(np.arange(count) < count * 0.6, 2.5, 0)
    vectors[np.arange(count), [known.labels.index(label) for label in labels]] += strength
    rows = [
        {"id": f"p{n:02}", **{name: f"{name} {n // each if name in known.cluster else n}." for name in known.fields},
         "label": label}
        for n, label in enumerate(labels)
    ]  # fmt: skip
    table, found = aflite(rows, vectors, settings=settings, task=task)
    pairs = linked_clusters(table, known)  # whose names decide the order that is permuted
    assert [len(set(pairs[start : start + each])) for start in range(0, count, each)] == [1] * -(-count // each)
    problems = [
        {"id": row["id"], "pair": pair, "label": row["label"], "vector": vector}
        for row, pair, vector in zip(rows, pairs, vectors, strict=True)
    ]
    tau = Fraction(str(settings.tau))
    score, left = plain_aflite(problems, settings.n, settings.m, settings.k, tau, settings.seed)
    assert dict(table.select("id", "aflite_left").drop_nulls().rows()) == left
    easy = {name for name, value in score.items() if value is not None and value > tau}
    assert set(table.filter(table["aflite"] == "easy")["id"]) == easy
    for name, value in table.select("id", "aflite_score").rows():
        assert value == pytest.approx(score[name], abs=1e-12)
    assert len(found.leaving) > 1 or settings.k > count // 2
    assert left


@pytest.mark.parametrize(("labels", "alone"), [(2, False), (3, False), (3, True)])
def test_classifiers_that_are_fitted_together_answer_as_each_alone(monkeypatch, labels, alone):
    """Embeddings of very different scales, and a part of the classifiers that has not seen one of the labels."""
    random = np.random.default_rng(labels)
    vectors = (random.normal(size=(300, 24)) * np.geomspace(20, 0.01, 24)) @ random.normal(size=(24, 24))
    gold = (vectors[:, :labels] / vectors[:, :labels].std(axis=0) + random.normal(size=(300, labels))).argmax(axis=1)
    training = random.random((300, 5)) < 0.4
    training[gold == labels - 1, 4] = False
    if alone:
        monkeypatch.setattr(linear, "_ALONE", 0)
    found, slow = linear.classify(linear.in_round_coordinates(vectors, 120), gold, training)
    rows = [{"vector": vector, "label": str(label)} for vector, label in zip(vectors, gold, strict=True)]
    for column in range(5):
        seen = [row for row, used in zip(rows, training[:, column], strict=True) if used]
        assert found[:, column].tolist() == [int(one) for one in classify(seen, rows)]
    assert slow == 0
