"""A tiny graph against the same arithmetic in numpy; and every way in which a folder can be wrong."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import numpy as np
import onnx
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from refusals import refuses
from tiny_graphs import EMBEDDING, INPUTS, SEGMENT, WEIGHT, classifier_graph, save_classifier
from tiny_models import KNOWN, LABELS, WORDS

import otherwords as ow
from otherwords.errors import BadInput, WrongAnswer
from otherwords.inference.joining import LazyRows, default_join
from otherwords.models.model import Answerer, Predictions, as_model
from otherwords.problem import TASKS, Batch, Task
from otherwords.registry import models as registry


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return save_classifier(tmp_path / "tiny")


def load(spec: str, task: Task = TASKS["nli"], label_map=None) -> Answerer:
    bound = registry.make(spec)
    return Answerer(spec, bound.signature, as_model(bound.function), task, label_map or {})


def batch(texts: list[tuple[str, str]]) -> Batch:
    return Batch(TASKS["nli"], {"premise": [a for a, _ in texts], "hypothesis": [b for _, b in texts]})


def some_texts(count: int = 60) -> list[tuple[str, str]]:
    rng = random.Random(3)
    return [tuple(" ".join(rng.choices(KNOWN, k=rng.randrange(12))) for _ in "ab") for _ in range(count)]  # type: ignore[misc]


def by_hand(texts: list[tuple[str, str]], segments: bool = True) -> np.ndarray:
    """The same model in float64 numpy, one pair at a time, in the order of `LABELS`."""
    rows = []
    for first, second in texts:
        a, b = (["[CLS]", *first.split(), "[SEP]"], [*second.split(), "[SEP]"])
        ids = [WORDS.index(word) if word in WORDS else 1 for word in a + b]
        x = EMBEDDING[ids].astype(float) + (SEGMENT[[0] * len(a) + [1] * len(b)] if segments else 0)
        logits = x.mean(axis=0) @ WEIGHT
        rows.append(np.exp(logits) / np.exp(logits).sum())
    return np.array(rows)


def same(left: Predictions, right: Predictions) -> bool:
    assert left.p is not None
    assert right.p is not None
    return np.array_equal(left.p, right.p) and np.array_equal(left.pred, right.pred)


def part(answers: Predictions, rows) -> Predictions:
    assert answers.p is not None
    return Predictions(answers.pred[rows], answers.p[rows])


def test_answers_are_what_numpy_computes(tiny):
    texts = [*some_texts(), ("a zebra runs", "\ud800 rains"), ("", "")]
    answers = load(f"onnx:{tiny}")(batch(texts))
    columns = [LABELS.index(label) for label in TASKS["nli"].labels]
    np.testing.assert_allclose(answers.p, by_hand(texts)[:, columns], rtol=1e-5)
    assert answers.pred.tolist() == by_hand(texts)[:, columns].argmax(axis=1).tolist()
    assert len(set(answers.pred.tolist())) > 1


def test_only_declared_inputs_are_fed(tmp_path):
    folder = save_classifier(tmp_path / "two", classifier_graph(inputs=INPUTS[:2]))
    model = registry.make(f"onnx:{folder}").function
    np.testing.assert_allclose(model(batch(some_texts())).answers, by_hand(some_texts(), segments=False), rtol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 7, 64])
@pytest.mark.parametrize("threads", [1, 2])
def test_any_order_batch_and_thread_count_gives_the_same_bits(tiny, size, threads):
    texts = some_texts()
    whole = load(f"onnx:{tiny}")(batch(texts))
    model = load(f"onnx:{tiny}(threads={threads}, tokens={8 * size})")
    assert same(model(batch(texts)), whole)
    order = random.Random(size).sample(range(len(texts)), len(texts))
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        assert same(model(batch([texts[row] for row in rows])), part(whole, rows))


def test_large_logits_do_not_overflow(tmp_path):
    model = classifier_graph()
    for constant in model.graph.initializer:
        if constant.name == "W":
            constant.CopyFrom(numpy_helper.from_array(WEIGHT * 1e5, "W"))
    answers = load(f"onnx:{save_classifier(tmp_path / 'steep', model)}")(batch(some_texts()))
    assert np.isfinite(answers.p).all()
    np.testing.assert_allclose(answers.p.sum(axis=1), 1)


def test_the_signature_is_made_of_names_and_contents(tiny, tmp_path):
    folder, file = registry.make(f"onnx:{tiny}").signature, registry.make(f"onnx:{tiny / 'model.onnx'}").signature
    assert str(tmp_path) not in folder + file
    assert folder.startswith("onnx.v1(path=tiny#")
    assert file.startswith("onnx.v1(path=model.onnx#")
    assert registry.make(f"onnx:{tiny}(threads=1, tokens=3)").signature == folder
    shutil.copytree(tiny, tmp_path / "elsewhere" / "tiny")
    assert registry.make(f"onnx:{tmp_path}/elsewhere/tiny").signature == folder
    assert registry.make(f"onnx:{tmp_path}/elsewhere/tiny/model.onnx").signature == file
    assert registry.make(f"onnx:{tiny}(max_length=99)").signature != folder


@pytest.mark.parametrize("change", ["config.json", "tokenizer.json"])
def test_the_signature_covers_the_files_next_to_the_graph(tiny, change):
    before = [registry.make(f"onnx:{path}").signature for path in (tiny, tiny / "model.onnx")]
    (tiny / change).write_text((tiny / change).read_text().replace("neutral", "Neutral").replace("sleeps", "slept"))
    after = [registry.make(f"onnx:{path}").signature for path in (tiny, tiny / "model.onnx")]
    assert not set(before) & set(after)


def test_weights_in_a_file_of_their_own_are_signed(tiny):
    external = {"save_as_external_data": True, "location": "weights.bin", "size_threshold": 64}
    onnx.save(classifier_graph(), tiny / "model.onnx", **external)
    before = registry.make(f"onnx:{tiny}/model.onnx")
    np.testing.assert_allclose(before.function(batch(some_texts())).answers, by_hand(some_texts()), rtol=1e-5)
    content = bytearray((tiny / "weights.bin").read_bytes())
    content[3] ^= 1
    (tiny / "weights.bin").write_bytes(content)
    assert registry.make(f"onnx:{tiny}/model.onnx").signature != before.signature


def test_dynamic_quantisation_depends_on_the_batch_and_says_so(tmp_path, tiny):
    assert as_model(registry.make(f"onnx:{tiny}").function).batch_invariant
    model = registry.make(f"onnx:{save_classifier(tmp_path / 'int8', classifier_graph(quantised=True))}").function
    assert not model.batch_invariant
    texts = [("a dog", "it rains"), ("the cat", "no cat")]
    assert any(
        not np.array_equal(model(batch(texts)).answers[i], model(batch([text])).answers[0])
        for i, text in enumerate(texts)
    )


def test_cut_pairs_are_reported(tiny):
    long, short = ("a dog runs in the park", "it rains"), ("a dog", "it rains")
    model = load(f"onnx:{tiny}(max_length=8)")
    answers = model(batch([long, short, long]))
    assert answers.cut.tolist() == [True, False, True]
    assert same(part(answers, [0]), model(batch([("a dog runs", "it rains")])))  # the longer text is cut
    assert load(f"onnx:{tiny}(max_length=11)")(batch([long])).cut.tolist() == [False]  # eleven tokens: just fits
    assert load(f"onnx:{tiny}(max_length=10)")(batch([long])).cut.tolist() == [True]
    assert model.model.max_length == 8


@pytest.mark.parametrize(("family", "most"), [("bert", 10), ("roberta", 8)])
def test_no_more_is_read_than_the_model_has_positions_for(tiny, family, most):
    config = json.loads((tiny / "config.json").read_text())
    places = {"model_type": family, "max_position_embeddings": 10, "pad_token_id": 1}
    (tiny / "config.json").write_text(json.dumps({**config, **places}))
    long, model = ("a dog runs in the park", "it rains"), load(f"onnx:{tiny}")
    assert (model.model.max_length, model.model.positions) == (most, most)
    assert model(batch([long])).cut.tolist() == [True]
    assert same(model(batch([long])), load(f"onnx:{tiny}(max_length={most})")(batch([long])))


def test_no_problems_no_answers(tiny):
    found = registry.make(f"onnx:{tiny}").function(batch([]))
    assert (found.answers.shape, found.cut.shape) == ((0, 3), (0,))
    assert len(load(f"onnx:{tiny}")(batch([]))) == 0


def suite(*texts: tuple[str, str]) -> pl.DataFrame:
    rows = [{"id": str(i), "premise": a, "hypothesis": b, "label": "neutral"} for i, (a, b) in enumerate(texts)]
    return pl.DataFrame(rows).with_columns(pl.lit(None, pl.String).alias("of"), pl.col("id").alias("cluster"))


def test_cuts_are_reported_once_for_a_whole_table_and_again_from_the_cache(tiny, tmp_path):
    """Three batches of two, two rows cut, one of them there twice."""
    long, short = ("a dog runs in the park", "it rains"), ("a dog", "it rains")
    table = suite(long, short, ("no cat", "it rains"), long, ("a", "cat"), ("in the park it rains and no cat", "a cat"))
    spec, kept = f"small=onnx:{tiny}(max_length=8)", tmp_path / "cache.sqlite"
    message = r"^small: 3 of 6 problems have more than 8 tokens and were truncated.*max_length"
    for _ in "ab":
        with pytest.warns(UserWarning, match=message) as caught:
            answers = ow.answer(table, spec, cache=kept, canary=False, batch_size=2)
        assert len(caught) == 1
        assert answers["truncated"].to_list() == [True, False, False, True, False, True]


def test_a_run_of_many_shards_reports_truncation_once_and_so_does_its_manifest(tiny, tmp_path):
    """Thirty problems in shards of twenty rows; asked again, the parts say the same."""
    spec = f"small=onnx:{tiny}(max_length=10)"
    ow.load("everyday").head(30).write_ndjson(tmp_path / "some.jsonl")
    data = [str(tmp_path / "some.jsonl")]
    study = {"data": data, "vary": ["contractions"], "models": [spec], "canary": False, "cache": None, "shard": 20}
    texts = []
    for _ in "ab":
        with pytest.warns(
            UserWarning, match="^small: .* problems have more than 10 tokens and were truncated"
        ) as caught:
            result = ow.run(study, out=tmp_path / "run")
        texts += [str(one.message) for one in caught if "tokens" in str(one.message)]
    assert len(texts) == 2
    assert texts[0] == texts[1]
    assert result.manifest["warnings"].count(texts[0]) == 1
    answers = pl.concat(map(pl.read_parquet, (tmp_path / "run" / "answers").rglob("*.parquet")), how="diagonal_relaxed")
    assert texts[0].startswith(f"small: {answers['truncated'].sum():,} of {len(answers):,} problems")


def test_a_file_of_answers_reports_truncation_once(tiny, tmp_path):
    from otherwords.datasets.source import Source
    from otherwords.running.files import answer_files

    out = tmp_path / "answers.jsonl"
    with pytest.warns(UserWarning, match="problems have more than 10 tokens and were truncated") as caught:
        answer_files(
            Source(["everyday"]), str(out), [f"onnx:{tiny}(max_length=10)"], canary=False, cache=None, shard=20
        )
    assert len(caught) == 1
    assert "truncated" in out.read_text()


def test_a_table_without_cuts_does_not_mention_them(tiny):
    answers = ow.answer(suite(("a dog", "it rains")), f"onnx:{tiny}", cache=None, canary=False)
    assert "truncated" not in answers.columns


def test_three_fields_are_put_as_context_and_target(tiny):
    task = TASKS["d-nli"]
    model = load(f"onnx:{tiny}", task, dict(zip(LABELS, ["weakener", "strengthener", "weakener"], strict=True)))
    texts = {"premise": ["a dog", ""], "hypothesis": ["it runs", "it runs"], "update": ["it rains", "no cat"]}
    answers = model(Batch(task, texts))
    expected = by_hand([("a dog it runs", "it rains"), ("it runs", "no cat")])
    np.testing.assert_allclose(answers.p[:, 0], expected[:, 1], rtol=1e-5)


def test_a_multiple_choice_model_is_refused(tiny):
    config = json.loads((tiny / "config.json").read_text())
    (tiny / "config.json").write_text(json.dumps({**config, "architectures": ["BertForMultipleChoice"]}))
    with refuses(BadInput, where=f"onnx:{tiny}"):
        registry.make(f"onnx:{tiny}")


def test_a_choice_is_refused_and_a_single_field_is_a_single_text(tiny):
    model = registry.make(f"onnx:{tiny}").function
    with refuses(BadInput, where="task a-nli"):
        model(Batch(TASKS["a-nli"], {name: ["a dog"] for name in TASKS["a-nli"].fields}))
    single = Task("mood", fields=("text",), labels=("good", "bad"))
    answers = model(Batch(single, {"text": ["a dog", "it rains and no cat sleeps"]}))
    assert answers.answers.shape == (2, 3)
    assert not answers.cut.any()


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "config.json"])
def test_a_missing_file_is_named(tiny, name):
    (tiny / name).unlink()
    with refuses(BadInput):
        registry.make(f"onnx:{tiny}")


def test_no_such_path_and_a_graph_under_another_name(tiny):
    with refuses(BadInput):
        registry.make(f"onnx:{tiny}/nowhere")
    (tiny / "model.onnx").rename(tiny / "small.onnx")
    with refuses(BadInput):
        registry.make(f"onnx:{tiny}")
    assert registry.make(f"onnx:{tiny}/small.onnx").function.labels == LABELS


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.onnx", b"not a graph"),
        ("model.onnx", b""),
        ("tokenizer.json", b"{}"),
        ("config.json", b"{"),
        ("config.json", b"[]"),
        ("config.json", b'{"id2label": {"0": "yes", "2": "no"}}'),
        ("config.json", b'{"id2label": {"0": "score"}}'),
        ("config.json", b'{"id2label": {"0": "yes", "1": "no"}}'),
    ],
)
def test_a_broken_file_is_refused_with_its_name(tiny, name, content):
    (tiny / name).write_bytes(content)
    with refuses(BadInput):
        registry.make(f"onnx:{tiny}")


def test_a_width_known_only_when_run_is_still_checked(tmp_path):
    folder = save_classifier(tmp_path / "free", classifier_graph(columns="labels"), labels=("yes", "no"))
    with refuses(BadInput):
        registry.make(f"onnx:{folder}").function(batch(some_texts(1)))


def test_generic_label_names_are_passed_on(tmp_path):
    names = ("LABEL_0", "LABEL_1", "LABEL_2")
    spec = f"onnx:{save_classifier(tmp_path / 'generic', labels=names)}"
    with refuses(BadInput):
        load(spec)(batch(some_texts(1)))
    answers = load(spec, label_map=dict(zip(names, LABELS, strict=True)))(batch(some_texts()))
    np.testing.assert_allclose(answers.p[:, 0], by_hand(some_texts())[:, 1], rtol=1e-5)


def test_other_inputs_are_refused(tmp_path):
    model = classifier_graph()
    model.graph.input.append(helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["batch"]))
    with refuses(BadInput):
        registry.make(f"onnx:{save_classifier(tmp_path / 'strange', model)}")


def test_a_graph_of_fixed_size_is_refused(tmp_path):
    model = classifier_graph()
    for one in model.graph.input:
        one.type.tensor_type.shape.dim[0].dim_value = 1
    with refuses(BadInput):
        registry.make(f"onnx:{save_classifier(tmp_path / 'fixed', model)}")


def test_a_graph_that_fails_names_the_model_and_what_may_help(tiny):
    tokenizer = json.loads((tiny / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"]["dog"] = 4711  # beyond the embedding
    (tiny / "tokenizer.json").write_text(json.dumps(tokenizer))
    with refuses(WrongAnswer):
        registry.make(f"onnx:{tiny}").function(batch([("a dog", "rains")]))


@pytest.mark.parametrize("option", ["max_length=2", "tokens=0"])
def test_sizes_that_cannot_work_are_refused(tiny, option):
    with refuses(BadInput):
        registry.make(f"onnx:{tiny}({option})")


def stored_small(way: str) -> onnx.ModelProto:
    """The same graph with its last table as int8 codes and a scale per column."""
    model = classifier_graph()
    scale = (np.abs(WEIGHT).max(axis=0) / 127).astype(np.float32)
    codes = np.rint(WEIGHT / scale).astype(np.int8)
    tables = [one for one in model.graph.initializer if one.name != "W"]
    del model.graph.initializer[:]
    added = [numpy_helper.from_array(codes, "codes"), numpy_helper.from_array(scale, "scale")]
    model.graph.initializer.extend([*tables, *added])
    if way == "DequantizeLinear":
        nodes = [helper.make_node("DequantizeLinear", ["codes", "scale"], ["W"], axis=1)]
    else:
        nodes = [helper.make_node("Cast", ["codes"], ["wide"], to=TensorProto.FLOAT)]
        nodes.append(helper.make_node("Mul", ["wide", "scale"], ["W"]))
    nodes += model.graph.node
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


@pytest.mark.parametrize("way", ["DequantizeLinear", "Cast"])
def test_weights_stored_small_are_computed_with_in_full(tmp_path, way, monkeypatch):
    """Equal, to rounding, to numpy in float64 with the same table; int8 arithmetic would be off by a per cent."""
    scale = (np.abs(WEIGHT).max(axis=0) / 127).astype(np.float32)
    model = registry.make(f"onnx:{save_classifier(tmp_path / 'small', stored_small(way))}").function
    monkeypatch.setitem(globals(), "WEIGHT", np.rint(WEIGHT / scale) * scale)
    np.testing.assert_allclose(model(batch(some_texts())).answers, by_hand(some_texts()), rtol=1e-5)
    assert model.batch_invariant
    assert same_bits(model, some_texts())


def same_bits(model, texts) -> bool:
    whole = model(batch(texts)).answers
    return all(np.array_equal(model(batch([text])).answers[0], row) for text, row in zip(texts, whole, strict=True))


THREE_FIELDS = Task("two-premise", fields=("first", "second", "hypothesis"), labels=("yes", "no"))
ODD = st.text(st.sampled_from(["a", " ", "é", "\ud83d", "\x00"]), max_size=3)


@given(st.lists(st.tuples(ODD, ODD, ODD), max_size=9), st.integers(-1, 10), st.integers(-1, 10), st.booleans())
def test_pairs_made_piece_by_piece_are_the_pairs_of_the_whole(rows, start, stop, three):
    """Expected: every field before the last joined by spaces, empty ones left out, half a character replaced."""
    task = THREE_FIELDS if three else TASKS["nli"]
    columns = {name: [row[i] for row in rows] for i, name in enumerate(task.fields)}
    lazy = LazyRows(Batch(task, columns), default_join(task))
    expected = [
        (" ".join(text for text in texts[:-1] if text).replace("\ud83d", "?"), texts[-1].replace("\ud83d", "?"))
        for texts in zip(*columns.values(), strict=True)
    ]
    assert len(lazy) == len(expected)
    assert lazy[start:stop] == expected[start:stop]
    assert list(lazy) == expected
    assert [lazy[-number - 1] for number in range(len(rows))] == expected[::-1]
