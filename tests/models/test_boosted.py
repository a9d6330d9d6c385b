"""Boosted trees on word counts: the sparse columns give the trees of a dense table; folders that cannot be read."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput, MissingExtra
from otherwords.models import boosted as module
from otherwords.models.answering import load
from otherwords.models.boosted import WordColumns
from otherwords.problem import TASKS, Batch
from otherwords.registry import trainers
from otherwords.training.data import TrainingData, TrainingRow
from otherwords.training.making import fit

xgboost = pytest.importorskip("xgboost")
NLI = TASKS["nli"]
WORDS = ["dog", "Dog", "cat", "a", "it's", "木曜日", "\ud800x", "no_1", ""]
texts = st.lists(st.sampled_from(WORDS) | st.text(max_size=8), max_size=12).map(" ".join)
problems = st.lists(st.tuples(texts, texts), max_size=12)


def slow_words(row: tuple[str, ...], by_field: bool) -> list[str]:
    """One word after the other, as the words of a problem are defined."""
    if not by_field:
        return re.findall(r"(?u)\b\w\w+\b", " ".join(row).lower())
    return [f"{i} {word}" for i, text in enumerate(row) for word in re.findall(r"(?u)\b\w\w+\b", text.lower())]


@settings(deadline=None, max_examples=50)
@given(problems, problems, st.booleans(), st.integers(1, 3))
def test_columns_are_what_counting_word_by_word_gives(train, asked, by_field, least):
    columns = WordColumns.of(train, by_field=by_field, least=least)
    counted = [slow_words(row, by_field) for row in train]
    wanted = []
    for word in sorted({word for row in counted for word in row}):
        most = max(row.count(word) for row in counted)
        wanted += [(word, c) for c in range(most) if sum(row.count(word) > c for row in counted) >= least]
    found = [(word, c) for word, n in zip(columns.words, columns.counts, strict=True) for c in range(n)]
    assert found == wanted
    table = columns.matrix(asked).toarray()
    assert table.shape == (len(asked), max(1, len(wanted)))
    rows = [slow_words(row, by_field) for row in asked]
    expected = [[row.count(word) > c for word, c in wanted] or [0] for row in rows]
    assert table.tolist() == np.array(expected, float).reshape(table.shape).tolist()


def rows(count: int, seed: int = 1) -> list[TrainingRow]:
    draw = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        words = [f"w{int(i)}" for i in draw.zipf(1.6, 14) % 60]
        score = words.count("w1") + 2 * words.count("w3") + draw.integers(2)
        made.append(TrainingRow((" ".join(words[:8]), " ".join(words[8:])), NLI.labels[int(min(2, score // 3))]))
    return made


def test_the_trees_are_those_of_dense_counts(tmp_path):
    """The thin version of the benchmark: the same labels as xgboost gives on a plain table of counts."""
    train, test = rows(600), rows(300, seed=2)
    fit(trainers.make("boosted(rounds=8, max_depth=6)"), TrainingData(NLI, train=train), tmp_path / "m")
    words = sorted({word for row in train for word in slow_words(row.texts, by_field=False)})
    dense = [
        np.array([[slow_words(row.texts, by_field=False).count(word) for word in words] for row in part])
        for part in (train, test)
    ]
    options = {"objective": "multi:softprob", "num_class": 3, "max_depth": 6, "learning_rate": 0.55}
    options |= {"alpha": 0.65, "gamma": 0.15, "tree_method": "hist", "nthread": 1}
    gold = [NLI.labels.index(row.label) for row in train]
    bare = xgboost.train(options, xgboost.DMatrix(dense[0], gold), 8)
    wanted = bare.predict(xgboost.DMatrix(dense[1]))
    columns = {name: [row.texts[i] for row in test] for i, name in enumerate(NLI.fields)}
    found = load(f"trained:{tmp_path / 'm'}", NLI)(Batch(NLI, columns))
    assert (found.pred == wanted.argmax(axis=1)).mean() >= 0.999
    np.testing.assert_allclose(found.p, wanted, atol=1e-5)


def test_threads_change_nothing(tmp_path):
    data = TrainingData(NLI, train=rows(400), valid=rows(50, seed=3))
    for threads in (1, 2, 3):
        spec = f"boosted(rounds=4, subsample=0.8, colsample=0.7, threads={threads})"
        fit(trainers.make(spec), data, tmp_path / f"{threads}", 2**40)
    files = [{p.name: p.read_bytes() for p in (tmp_path / f"{n}").iterdir()} for n in (1, 2, 3)]
    assert files[0] == files[1] == files[2]
    signatures = {load(f"boosted:{tmp_path / '1'}(threads={n})", NLI).signature for n in (1, 2)}
    assert len(signatures) == 1


def test_another_seed_draws_other_rows(tmp_path):
    data = TrainingData(NLI, train=rows(300))
    for seed in (1, 2):
        fit(trainers.make("boosted(rounds=3, subsample=0.5)"), data, tmp_path / f"{seed}", seed)
    assert (tmp_path / "1" / "model.ubj").read_bytes() != (tmp_path / "2" / "model.ubj").read_bytes()


def test_texts_without_words_are_answered(tmp_path):
    data = TrainingData(NLI, train=[TrainingRow(("", "?"), label) for label in NLI.labels])
    fit(trainers.make("boosted"), data, tmp_path / "m")
    answers = load(f"trained:{tmp_path / 'm'}", NLI)(Batch(NLI, {"premise": ["", "x"], "hypothesis": ["", "dog"]}))
    np.testing.assert_allclose(answers.p, 1 / 3, atol=1e-6)


def test_folders_that_cannot_be_read(tmp_path):
    fit(trainers.make("boosted(rounds=1)"), TrainingData(NLI, train=rows(20)), tmp_path / "m")
    for name, text in (("model.ubj", "{"), ("words.json", "[]"), ("trained.json", "{}"), ("trained.json", "no")):
        broken = shutil.copytree(tmp_path / "m", tmp_path / "broken", dirs_exist_ok=True)
        (broken / name).write_text(text)
        with refuses(BadInput):
            load(f"boosted:{broken}", NLI)
    (broken / "trained.json").unlink()
    with refuses(BadInput, where=str(broken)):
        load(f"trained:{broken}", NLI)
    (broken / "training.json").write_text(json.dumps({}))
    with refuses(BadInput, where=str(broken)):
        load(f"trained:{broken}", NLI)
    with refuses(BadInput, where=str(tmp_path / "absent")):
        load(f"trained:{tmp_path / 'absent'}", NLI)


@pytest.mark.parametrize(
    "option", ["rounds=0", "max_depth=0", "subsample=0", "colsample=1.5", "alpha=-1", "threads=-1"]
)
def test_options_that_make_no_sense(option):
    with refuses(BadInput, field=option.partition("=")[0]):
        trainers.make(f"boosted({option})")


def test_without_xgboost_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with refuses(MissingExtra):
        fit(trainers.make("boosted"), TrainingData(NLI, train=rows(20)), tmp_path / "m")
    with refuses(MissingExtra):
        load(f"boosted:{tmp_path}", NLI)


def test_a_word_that_one_text_repeats_without_end_costs_no_more_than_its_text():
    odd = [(" ".join(f"w{n}" for n in range(20_000)),), ("the " * 200_000,), ("the " * 100_000,)]
    columns = WordColumns.of(odd, by_field=False, least=2)
    assert (columns.words, columns.counts) == (("the",), (100_000,))
