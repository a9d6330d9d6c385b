"""Classifiers on word vectors: what they learn, from which vectors, and that answers do not depend on company."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses
from small_data import fit, toy

from otherwords.errors import BadInput
from otherwords.models.answering import load
from otherwords.models.word_vectors import KnownWords, NetworkShape, classify, encode, logits_of
from otherwords.problem import TASKS, Batch, Task
from otherwords.registry import models, trainers
from otherwords.training.data import TrainingData, TrainingRow
from otherwords.training.word_vectors import BiLSTM, BowMLP, WordVectors, read_vectors

BOW = BowMLP(size=16, hidden=16, epochs=4, min_count=1, batch=8, learning_rate=0.02)
LSTM = BiLSTM(size=16, hidden=16, epochs=6, min_count=1, batch=16, learning_rate=0.03, units=8, layers=1)
BOTH = pytest.mark.parametrize("options", [BOW, LSTM], ids=["bow_mlp", "bilstm"])
FILES = ("network.safetensors", "vocabulary.json")
WORDS = ["dog", "runs", "the", "a", "?", "木", "\ud83d", "unknown"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join) | st.sampled_from(["", " ", "x " * 400])


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Any]:
    base = tmp_path_factory.mktemp("trained")
    for options in (BOW, LSTM):
        fit(options, toy(200), base / options.name)
    return {options.name: base / options.name for options in (BOW, LSTM)}


def accuracy(folder, data: TrainingData, name: str = "trained") -> float:
    model = load(f"{name}:{folder}", data.task)
    columns = dict.fromkeys(data.task.fields, [""] * len(data.valid))
    columns |= {field: [row.texts[i] for row in data.valid] for i, field in enumerate(data.fields)}
    labels = [data.task.labels[pred] for pred in model(Batch(data.task, columns)).pred]
    return float(np.mean([label == row.label for label, row in zip(labels, data.valid, strict=True)]))


@BOTH
@pytest.mark.parametrize("name", ["trained", "word_vectors"])
def test_it_learns_and_its_folder_answers(options, name, folders):
    data = toy(200)
    figures = json.loads((folders[options.name] / "trained.json").read_text())["figures"]
    assert figures["valid_accuracy"] > 0.9
    assert accuracy(folders[options.name], data, name) == figures["valid_accuracy"]


@BOTH
@settings(max_examples=12, deadline=None)
@given(pairs=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=9))
def test_no_answer_depends_on_its_company(options, folders, pairs):
    model = models.make(f"word_vectors({json.dumps(str(folders[options.name]))}, device=cpu)".replace("(", "(path=", 1))
    assert model.function.batch_invariant
    columns = dict(zip(("premise", "hypothesis"), map(list, zip(*pairs, strict=True)), strict=True))
    together = model.function(Batch(TASKS["nli"], columns))
    for number, (premise, hypothesis) in enumerate(pairs):
        alone = model.function(Batch(TASKS["nli"], {"premise": [premise], "hypothesis": [hypothesis]}))
        assert alone.answers.tobytes() == together.answers[number : number + 1].tobytes()
        assert alone.cut[0] == together.cut[number]


@BOTH
def test_texts_that_are_longer_than_it_reads_are_marked(options, folders):
    model = load(f"trained:{folders[options.name]}", TASKS["nli"])
    assert model.model.max_length == 50
    answers = model(Batch(TASKS["nli"], {"premise": ["dog " * 51, "dog " * 50], "hypothesis": ["a", "a"]}))
    assert answers.cut.tolist() == [True, False]


@BOTH
def test_the_same_seed_gives_the_same_bytes_with_any_number_of_threads(options, tmp_path):
    short, threads = replace(options, epochs=1, dropout=0.2), torch.get_num_threads()
    state = torch.random.get_rng_state()
    try:
        for name, seed, count in (("one", 1, 1), ("again", 1, 2), ("other", 2, 2)):
            torch.set_num_threads(count)
            fit(short, toy(60), tmp_path / name, seed=seed)
            assert torch.get_num_threads() == count
    finally:
        torch.set_num_threads(threads)
    one, again, other = (
        [(tmp_path / name / file).read_bytes() for file in FILES] for name in ("one", "again", "other")
    )
    assert one == again
    assert one[0] != other[0]
    assert torch.equal(torch.random.get_rng_state(), state), "the caller's random numbers go on as before"


MOOD = Task("mood", ("text",), ("a", "b", "c", "d"))
STORY = {"hyp1": ("It rained .", "Dry .", "Roof", "None"), "hyp2": ("It rained .", "Dry .", "None", "Roof")}
UPDATES = {"strengthener": ("", "He runs .", "It is fast ."), "weakener": ("", "He runs .", "It is slow .")}
TASKS_TO_LEARN: dict[str, Any] = {
    "update only": (TASKS["d-nli"], ("update",), {label: texts[2:] for label, texts in UPDATES.items()}),
    "options only": (TASKS["a-nli"], ("hyp1", "hyp2"), {label: texts[2:] for label, texts in STORY.items()}),
    "one field, four labels": (MOOD, (), {label: (f"word{label}",) for label in "abcd"}),
}


@BOTH
@pytest.mark.parametrize("name", TASKS_TO_LEARN)
def test_partial_input_and_any_label_set(options, name, tmp_path):
    task, fields, examples = TASKS_TO_LEARN[name]
    rows = [TrainingRow(texts, label) for _ in range(10) for label, texts in examples.items()]
    data = TrainingData(task, fields, rows, rows)
    figures = fit(replace(options, epochs=12, learning_rate=0.05), data, tmp_path / "m")
    assert figures["valid_accuracy"] == accuracy(tmp_path / "m", data) == 1


def plain_logits(network, shape, one: list[list[int]], other: list[list[int]]) -> np.ndarray:
    """Problem by problem, word by word, without batches."""
    rows = []
    for texts in zip(one, other, strict=True):
        vectors = []
        for text in texts:
            words = network["words"].weight[torch.tensor(text)]
            if shape.layers:
                states, (last, _) = network["lstm"](words[None])
                final = torch.cat([last[-2, 0], last[-1, 0]])
                words = {"max": states[0].max(dim=0)[0][None], "mean": states[0], "last": final[None]}[shape.pooling]
            vectors.append(words.mean(dim=0))
        u, v = vectors
        rows.append(network["classifier"](torch.cat([u, v, (u - v).abs(), u * v])[None])[0])
    return torch.stack(rows).detach().numpy()


@pytest.mark.parametrize("pooling", ["", "max", "mean", "last"])
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_batches_of_all_lengths_give_what_single_problems_give(pooling, data):
    torch.manual_seed(3)
    encoder = {"layers": 2, "units": 3, "pooling": pooling} if pooling else {}
    shape = NetworkShape(10, 4, 2, 3, 5, **encoder)
    network = shape.build().eval()
    pairs = data.draw(
        st.lists(st.tuples(*[st.lists(st.integers(1, 9), min_size=1, max_size=7)] * 2), min_size=1, max_size=6)
    )
    one, other = map(list, zip(*pairs, strict=True))
    expected = plain_logits(network, shape, one, other)
    with torch.no_grad():  # as in training: texts of all lengths in one batch
        encoded = encode(network, shape, [text for pair in pairs for text in pair], torch.device("cpu"))
        padded = classify(network, encoded.reshape(len(pairs), 2, -1)).numpy()
    np.testing.assert_allclose(padded, expected, atol=1e-6)
    words = KnownWords(tuple("abcdefgh"))
    columns = [[" ".join("?abcdefgh"[number - 1] for number in text) for text in texts] for texts in (one, other)]
    numbered = words.numbered(TASKS["nli"], TASKS["nli"].fields, columns)
    np.testing.assert_allclose(logits_of(network, shape, numbered, torch.device("cpu")), expected, atol=1e-6)


def vectors_file(folder, text: str | bytes):
    path = folder / "vectors.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_vectors_of_a_file_are_used_as_they_are(tmp_path):
    path = vectors_file(tmp_path, "dog 1 0.5 -2\nzebra 3 3 3\n. . . 9 9 9\ncat 0 1 0\ndog 7 7 7\n")
    fit(replace(BOW, vectors=path, size=0, epochs=1), toy(60), tmp_path / "m")
    from safetensors.torch import load_file

    words = json.loads((tmp_path / "m" / "vocabulary.json").read_text())["words"]
    table = load_file(tmp_path / "m" / "network.safetensors")["words.weight"]
    assert sorted(words[:2]) == ["cat", "dog"]
    assert words[2:] == ["zebra"], "words of the file that training did not show come last"
    assert table[2 + words.index("dog")].tolist() == [1, 0.5, -2]
    assert table[:2].tolist() == [[0] * 3] * 2


def test_vectors_may_be_tuned(tmp_path):
    path = vectors_file(tmp_path, "2 3\ndog 1 0.5 -2 \ncat 0 1 0 \n")  # word2vec: a first line, and blanks at the end
    fit(replace(BOW, vectors=path, size=3, epochs=1, tune_vectors=True), toy(60), tmp_path / "m")
    from safetensors.torch import load_file

    words = json.loads((tmp_path / "m" / "vocabulary.json").read_text())["words"]
    dog = load_file(tmp_path / "m" / "network.safetensors")["words.weight"][2 + words.index("dog")]
    assert "sleeps" in words, "words that the file lacks are learnt"
    assert dog.tolist() != [1, 0.5, -2]
    np.testing.assert_allclose(dog, [1, 0.5, -2], atol=0.2)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("dog 1 2\ncat 1\n", 2),
        ("dog 1 2\n\ncat one 2\n", 3),
        ("dog 1 nan\n", 1),
        ("5 2\ndog 1\n", 2),
        ("dog\n", 1),
        (b"1 2\ndog \xff\xfe\x01 \x02\n", 2),
    ],
)
def test_a_bad_line_is_refused_with_its_number(tmp_path, text, line):
    path = vectors_file(tmp_path, text)
    with refuses(BadInput, where=f"{path}:{line}", field="vectors"):
        read_vectors(path, ["dog", "cat"])


@pytest.mark.parametrize("text", [b"", b"fish 1 2\n", b"PK\x03\x04..", b"\x1f\x8b..."])
def test_a_file_without_our_words_and_a_packed_one_are_refused(tmp_path, text):
    path = vectors_file(tmp_path, text)
    with refuses(BadInput, where=str(path), field="vectors"):
        read_vectors(path, ["dog", "cat"])


def test_another_size_than_that_of_the_file_is_refused(tmp_path):
    path = vectors_file(tmp_path, "dog 1 2\n")
    with refuses(BadInput, where="bow_mlp", field="size"):
        fit(replace(BOW, vectors=path, size=3), toy(30), tmp_path / "m")


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ("bilstm(vectors=nowhere.txt)", "vectors"),
        ("bilstm(epochs=0)", "epochs"),
        ("bilstm(units=0)", "units"),
        ("bilstm(pooling=sum)", "pooling"),
        ("bow_mlp(optimizer=lion)", "optimizer"),
        ("bow_mlp(learning_rate=0)", "learning_rate"),
        ("bow_mlp(dropout=1)", "dropout"),
    ],
)
def test_options_that_cannot_be_are_refused_when_it_is_made(spec, field):
    with refuses(BadInput, where=spec.partition("(")[0], field=field):
        trainers.make(spec)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_refused_before_training(tmp_path):
    with refuses(BadInput, where="bilstm", field="device"):
        fit(replace(LSTM, device="cuda"), toy(30), tmp_path / "m")
    assert not (tmp_path / "m" / "network.safetensors").exists()


def test_weights_that_are_not_finite_are_refused(tmp_path):
    path = vectors_file(tmp_path, "dog 1e30 1e30\ncat 1 1\n")
    with refuses(BadInput, where="bow_mlp"):
        fit(replace(BOW, vectors=path, size=0, epochs=2), toy(60), tmp_path / "m")
    assert not (tmp_path / "m" / "trained.json").exists()


def test_patience_ends_training_and_the_best_epoch_is_kept(tmp_path):
    data = toy(60)
    data.valid = [row._replace(label="neutral") for row in data.valid]  # soon nothing gets better
    figures = fit(replace(BOW, epochs=40, patience=2), data, tmp_path / "m")
    assert figures["epoch"] < 38
    assert accuracy(tmp_path / "m", data) == figures["valid_accuracy"]


def test_without_validation_the_last_epoch_is_kept(tmp_path):
    data = toy(60)
    data.valid = []
    assert fit(replace(BOW, patience=1), data, tmp_path / "m") == {
        "train_loss": pytest.approx(0.5, abs=0.5),
        "epoch": 4,
    }


@pytest.mark.parametrize("damage", ["network", "vocabulary", "other vocabulary"])
def test_a_damaged_folder_is_refused_with_its_name(tmp_path, folders, damage):
    import shutil

    folder = tmp_path / "m"
    shutil.copytree(folders["bow_mlp"], folder)
    if damage == "network":
        (folder / "network.safetensors").write_bytes(b"broken")
    elif damage == "vocabulary":
        (folder / "vocabulary.json").unlink()
    else:
        found = json.loads((folder / "vocabulary.json").read_text())
        (folder / "vocabulary.json").write_text(json.dumps({**found, "words": found["words"][1:]}))
    with refuses(BadInput, where=str(folder)):
        models.make(f"word_vectors:{folder}")


def test_both_share_their_options():
    assert set(WordVectors.__dataclass_fields__) == set(BowMLP.__dataclass_fields__)
    assert set(BiLSTM.__dataclass_fields__) - set(BowMLP.__dataclass_fields__) == {"units", "layers", "pooling"}
