"""fastText's classifier: its hashes and its update rule, what it learns, and what it answers from its folder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses
from small_data import fit, toy
from typer.testing import CliRunner

import otherwords as ow
from otherwords.cli.app import app
from otherwords.errors import BadInput
from otherwords.models.answering import load
from otherwords.models.ngrams import FeatureSpace, joined, word_hash
from otherwords.problem import TASKS, Batch, Task
from otherwords.registry import models, trainers
from otherwords.training.data import TrainingData, TrainingRow
from otherwords.training.ngrams import Ngrams

ODD = st.text(st.characters(codec=None), max_size=30) | st.sampled_from(
    ["", " ", "a a a", "Zoë — 木", "\ud83d", "x " * 400]
)


def test_a_word_has_the_hash_that_fasttext_gives_it():
    """FNV-1a of 32 bits (the published test vectors), but bytes above 127 count as signed, as in fastText's code."""
    assert [word_hash(word) for word in ("", "a", "foobar")] == [0x811C9DC5, 0xE40C292C, 0xBF9CF968]
    signed = 2166136261
    for byte in "é".encode():
        signed = ((signed ^ ((byte - 256) & 0xFFFFFFFF)) * 16777619) & 0xFFFFFFFF
    assert word_hash("é") == signed


def ngram_buckets(words: list[str], n: int, buckets: int) -> list[int]:
    """As Dictionary::addWordNgrams in fastText's dictionary.cc: hashes are int32, their sum is uint64."""
    hashes = [int(np.uint32(word_hash(word)).view(np.int32)) for word in words]
    found = []
    for i, start in enumerate(hashes):
        so_far = start % 2**64
        for j in range(i + 1, min(len(hashes), i + n)):
            so_far = (so_far * 116049371 + hashes[j]) % 2**64
            found.append(so_far % buckets)
    return found


@settings(max_examples=40, deadline=None)
@given(st.lists(ODD, min_size=1, max_size=4), st.integers(1, 5), st.sampled_from(["spaces", "words"]))
def test_features_are_those_of_the_plain_rule(lines, n, tokens):
    space = FeatureSpace.of(lines[:2], n, 1000, tokens)
    found = space.features(lines)
    ends = np.cumsum(found.lengths)
    grams = space.grams.tolist()
    for line, first, last in zip(lines, ends - found.lengths, ends, strict=True):
        (words,) = space.split([line])
        expected = [space.places[word] for word in words if word in space.places]
        for bucket in ngram_buckets(words, n, 1000):
            expected.append(len(space.words) + grams.index(bucket) if bucket in grams else len(space))
        assert sorted(found.numbers[first:last].tolist()) == sorted(expected)


def plain_fasttext(options: Ngrams, data: TrainingData, seed: int) -> tuple[FeatureSpace, np.ndarray]:
    """Model::update of fastText, row by row, in the order and from the vectors that the trainer draws."""
    labels = data.task.labels
    lines = joined(data.task, data.fields, [[row.texts[i] for row in data.train] for i in range(len(data.fields))])
    space = FeatureSpace.of(lines, options.ngrams, options.buckets, options.tokens)
    features = space.features(lines)
    rows = np.split(features.numbers, np.cumsum(features.lengths)[:-1])
    draw = np.random.default_rng([seed, 18])
    vectors = (draw.random((len(space), options.size), np.float32) * 2 - 1) / np.float32(options.size)
    vectors, out, step = vectors.astype(np.float64), np.zeros((len(labels), options.size)), 0
    for _ in range(options.epochs):
        for number in draw.permutation(len(rows)):
            rate = options.learning_rate * (1 - step / (options.epochs * len(rows)))
            hidden = vectors[rows[number]].mean(axis=0)
            powers = np.exp(out @ hidden)
            alpha = -rate * powers / powers.sum()
            alpha[labels.index(data.train[number].label)] += rate
            gradient = alpha @ out / len(rows[number])
            out += np.outer(alpha, hidden)
            for feature in rows[number]:
                vectors[feature] += gradient
            step += 1
    return space, vectors @ out.T


def test_with_one_row_at_a_time_the_weights_are_those_of_fasttexts_update(tmp_path):
    options, data = Ngrams(batch=1, size=8, learning_rate=0.5, buckets=500), toy(60)
    fit(options, data, tmp_path / "m", seed=3)
    _, expected = plain_fasttext(options, data, 3)
    with np.load(tmp_path / "m" / "weights.npz") as stored:
        np.testing.assert_allclose(stored["weights"], expected, rtol=2e-3, atol=2e-5)


def test_batches_of_rows_learn_what_single_rows_learn(tmp_path):
    data = toy(300)
    accuracy = [
        fit(Ngrams(batch=batch, learning_rate=1.0, epochs=10, size=20), data, tmp_path / str(batch))["valid_accuracy"]
        for batch in (1, 16)
    ]
    assert min(accuracy) > 0.9
    assert abs(accuracy[0] - accuracy[1]) < 0.05


@pytest.mark.parametrize("name", ["trained", "ngrams"])
def test_the_folder_answers(tmp_path, name):
    data = toy(600)
    figures = fit(Ngrams(learning_rate=1.0, epochs=10, size=20), data, tmp_path / "m")
    model = load(f"{name}:{tmp_path / 'm'}", TASKS["nli"])
    columns = {field: [row.texts[i] for row in data.valid] for i, field in enumerate(data.fields)}
    answers = model(Batch(TASKS["nli"], columns))
    right = [TASKS["nli"].labels[pred] == row.label for pred, row in zip(answers.pred, data.valid, strict=True)]
    assert np.mean(right) == figures["valid_accuracy"]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(ODD, ODD), min_size=1, max_size=8))
def test_no_answer_depends_on_its_company(tmp_path_factory, pairs):
    folder = tmp_path_factory.getbasetemp() / "company"
    fit(Ngrams(learning_rate=1.0, size=8), toy(60), folder)
    answer = models.make(f"ngrams:{folder}").function
    columns = [list(column) for column in zip(*pairs, strict=True)]
    together = answer(Batch(TASKS["nli"], dict(zip(("premise", "hypothesis"), columns, strict=True))))
    for number, (premise, hypothesis) in enumerate(pairs):
        alone = answer(Batch(TASKS["nli"], {"premise": [premise], "hypothesis": [hypothesis]}))
        assert alone.tobytes() == together[number : number + 1].tobytes()


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(tmp_path):
    options, data = Ngrams(size=8), toy(60)
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        fit(options, data, tmp_path / name, seed=seed)
    one, again, other = ((tmp_path / name / "weights.npz").read_bytes() for name in ("one", "again", "other"))
    assert one == again != other


def test_fields_are_joined_as_in_paranlu():
    story = [["It rained."], ["She was dry."], ["She had an umbrella."], ["She had none."]]
    a_nli, d_nli = TASKS["a-nli"], TASKS["d-nli"]
    expected = "It rained. She had an umbrella. She was dry. | It rained. She had none. She was dry."
    assert joined(a_nli, a_nli.fields, story) == [expected]
    assert joined(d_nli, d_nli.fields, [["P.", ""], ["H.", "H."], ["U.", "U."]]) == ["P. H. U.", "H. U."]
    assert joined(d_nli, ("update",), [["U."]]) == ["U."]


def test_validation_under_fewer_labels_merges_the_best_label(tmp_path):
    data = toy(300)
    merged = {"entailment": "entailed", "neutral": "not-entailed", "contradiction": "not-entailed"}
    data.merged, data.valid = merged, [TrainingRow(row.texts, merged[row.label or ""]) for row in data.valid]
    figures = fit(Ngrams(learning_rate=1.0, epochs=10, size=20), data, tmp_path / "m")
    model = load(f"trained:{tmp_path / 'm'}", TASKS["rte"])
    columns = {field: [row.texts[i] for row in data.valid] for i, field in enumerate(data.fields)}
    answers = model(Batch(TASKS["rte"], columns))
    right = [TASKS["rte"].labels[pred] == row.label for pred, row in zip(answers.pred, data.valid, strict=True)]
    assert np.mean(right) == figures["valid_accuracy"]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("ngrams", 0),
        ("epochs", 0),
        ("learning_rate", 0.0),
        ("learning_rate", float("nan")),
        ("size", 0),
        ("buckets", 0),
    ],
)
def test_options_out_of_range_are_refused(option, value):
    with refuses(BadInput, where="ngrams", field=option):
        Ngrams(**{option: value})


def test_an_unknown_way_to_split_is_refused():
    with refuses(BadInput, where="ngrams", field="tokens"):
        trainers.make("ngrams(tokens=letters)")


def test_a_rate_that_diverges_is_refused_and_leaves_no_model(tmp_path):
    with refuses(BadInput, where="ngrams"):
        fit(Ngrams(learning_rate=1000.0, epochs=50, size=4), toy(60), tmp_path / "m")
    assert not (tmp_path / "m" / "trained.json").exists()


@pytest.mark.parametrize("damage", ["no weights", "other weights", "no words", "not JSON"])
def test_a_damaged_folder_is_refused_with_its_name(tmp_path, damage):
    folder = tmp_path / "m"
    fit(Ngrams(size=4), toy(40), folder)
    if damage == "no weights":
        (folder / "weights.npz").unlink()
    elif damage == "other weights":
        np.savez(folder / "weights.npz", grams=np.zeros(1, np.int64), weights=np.zeros((2, 3)))
    elif damage == "no words":
        (folder / "features.json").write_text(json.dumps({"n": 2}))
    else:
        (folder / "features.json").write_text("{")
    with refuses(BadInput, where=str(folder)):
        models.make(f"ngrams:{folder}")


def test_any_label_set_and_one_field(tmp_path):
    mood = Task("mood", ("text",), ("good", "bad", "odd", "none"))
    pairs = list(zip("wxyz", mood.labels, strict=True))
    rows = [TrainingRow((f"{word} day {i}",), label) for i in range(12) for word, label in pairs]
    fit(Ngrams(learning_rate=1.0, epochs=20, size=10), TrainingData(mood, train=rows), tmp_path / "m")
    model = load(f"trained:{tmp_path / 'm'}", mood)
    answers = model(Batch(mood, {"text": ["w day", "x day", "y day", "z day"]}))
    assert [mood.labels[pred] for pred in answers.pred] == list(mood.labels)


def test_from_the_command_line_to_answers(tmp_path: Path):
    """As a user does it: train on a data set, and ask the folder."""
    how = ["--valid", "0.1", "--learning-rate", "1.0", "-o", str(tmp_path / "m")]
    assert CliRunner().invoke(app, ["train", "ngrams", "--data", "everyday", "-q", *how]).exit_code == 0
    answers = ow.answer(ow.load("everyday").head(5), f"trained:{tmp_path / 'm'}", cache=False, canary=False)
    assert answers["pred"].is_in(list(TASKS["nli"].labels)).all()
