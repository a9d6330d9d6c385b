"""From a folder of transformers to one that `onnx:` loads: the same answers, whole or nothing, and what is refused."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from refusals import refuses

from otherwords import exporting
from otherwords.errors import BadInput, GateFailed, MissingExtra
from otherwords.exporting import comparing
from otherwords.exporting.comparing import ask_all
from otherwords.exporting.export import export, whole_folder
from otherwords.inference.limits import SHORTEST
from otherwords.models.model import Reply
from otherwords.problem import TASKS, Batch
from otherwords.registry import models as registry

from .conftest import LABELS, save, some_pairs, tiny_model, tiny_tokenizer


@pytest.fixture
def tiny(saved, tmp_path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(saved, tmp_path / "tiny"))


def probabilities(texts: list[tuple[str, str]]) -> np.ndarray:
    """Each pair by itself, by transformers, in the order of `LABELS`."""
    model, tokenizer = tiny_model("Bert"), tiny_tokenizer()
    with torch.inference_mode():
        rows = [model(**tokenizer(a, b, return_tensors="pt")).logits[0].double().softmax(-1) for a, b in texts]
    return torch.stack(rows).numpy()


def batch(texts: list[tuple[str, str]]) -> Batch:
    return Batch(TASKS["nli"], {"premise": [a for a, _ in texts], "hypothesis": [b for _, b in texts]})


def answers(folder: Path, texts: list[tuple[str, str]], max_length: int = 40) -> np.ndarray:
    """What the exported folder says, asked as users ask it."""
    raw = registry.make(f"onnx:{folder}(max_length={max_length})").function(batch(texts))
    return np.asarray(raw.answers if isinstance(raw, Reply) else raw)


def files(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


@pytest.mark.parametrize(
    ("weights", "near"), [("fp32", 1e-5), pytest.param("fp16", 0.02, marks=pytest.mark.slow), ("int8", 0.4)]
)
def test_an_exported_classifier_answers_as_transformers_does(saved, problems, tmp_path, weights, near):
    result = export(str(saved), tmp_path / "out", weights=weights, on=[str(problems)], limit=1)
    assert files(tmp_path / "out") == ["config.json", "export.json", "model.onnx", "tokenizer.json"]
    texts, model = some_pairs(25, seed=8), registry.make(f"onnx:{tmp_path}/out(max_length=40)").function
    assert model.labels == LABELS
    np.testing.assert_allclose(answers(tmp_path / "out", texts), probabilities(texts), atol=near)
    found = result.comparison
    assert (found.rows, found.order_changes, result.graph) == (30, 0, "built")
    assert 0 <= found.mean_difference <= found.max_difference <= near
    assert model.batch_invariant


def test_figures_of_the_comparison_are_right(exported):
    """Counted again here, from the two models' answers to the same problems."""
    found = exported.comparison
    texts = some_pairs(30)
    found_p, expected = answers(Path(exported.path), texts), probabilities(texts)
    gold = np.array([LABELS.index(("entailment", "neutral", "contradiction")[i % 3]) for i in range(30)])
    assert found.differing == (found_p.argmax(1) != expected.argmax(1)).sum()
    assert found.right == (found_p.argmax(1) == gold).sum()
    assert found.original_right == (expected.argmax(1) == gold).sum()
    assert found.max_difference == pytest.approx(np.abs(found_p - expected).max(), abs=1e-6)
    assert found.mean_difference == pytest.approx(np.abs(found_p - expected).mean(), abs=1e-6)
    assert found.max_difference > 0


def test_the_record_says_how_it_was_made(exported):
    folder = Path(exported.path)
    record = json.loads((folder / "export.json").read_text())
    assert record["source"].startswith("tiny@")
    assert record["architecture"] == "BertForSequenceClassification"
    assert (record["weights"], record["graph"], record["limit"]) == ("int8", "built", 1)
    assert record["comparison"]["differing"] == exported.comparison.differing
    assert record["size"] == (folder / "model.onnx").stat().st_size
    assert str(folder) not in json.dumps(record)


def test_the_same_model_gives_the_same_bytes(saved, exported, problems, tmp_path):
    export(str(saved), tmp_path / "again", on=[str(problems)], limit=1)
    for file in Path(exported.path).iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


def test_a_masked_lm_is_compared_word_by_word(saved_masked_lm, problems, tmp_path):
    result = export(str(saved_masked_lm), tmp_path / "out", weights="fp32", on=[str(problems)], limit=0)
    texts = {text for pair in some_pairs(30) for text in pair}
    found = result.comparison
    assert found.rows == len(texts)
    assert (found.differing, found.order_changes) == (0, 0)
    assert found.right == found.original_right
    assert found.max_difference < 1e-4
    small = export(str(saved_masked_lm), tmp_path / "small", on=[str(problems)], limit=1).comparison
    assert small.original_right == found.original_right
    assert small.max_difference > found.max_difference


def test_an_architecture_that_is_traced_loads_alike(problems, tmp_path):
    folder = save(tiny_model("MPNet"), tmp_path / "mpnet", types=False)
    result = export(str(folder), tmp_path / "out", weights="fp32", on=[str(problems)], limit=0)
    assert result.graph == "traced"
    assert result.comparison.max_difference < 1e-5
    assert answers(tmp_path / "out", some_pairs(3), max_length=30).shape == (3, 3)


def test_segment_numbers_are_left_out_where_the_tokenizer_makes_none(problems, tmp_path):
    folder = save(tiny_model("Bert"), tmp_path / "plain", types=False)
    result = export(str(folder), tmp_path / "out", weights="fp32", on=[str(problems)], limit=0)
    assert result.comparison.max_difference < 1e-5


def test_too_many_changed_labels_leave_nothing(problems, tmp_path):
    """The first label wins by a hair, in a direction in which these problems do not differ: rounding decides."""
    model, tokenizer = tiny_model("Bert"), tiny_tokenizer()
    with torch.no_grad():
        pairs = [tokenizer(a, b, return_tensors="pt") for a, b in some_pairs(30)]
        states = torch.cat([model.bert(**pair).pooler_output for pair in pairs])
        same = torch.linalg.svd(states - states.mean(dim=0)).Vh[-1]
        model.classifier.weight.copy_(torch.stack([10 * same, 0 * same, 0 * same]))
        model.classifier.bias.copy_(torch.tensor([1e-3 - 10 * float(states.mean(dim=0) @ same), 0, -50]))
    folder = save(model, tmp_path / "close")
    with pytest.raises(GateFailed, match=r"of 30 labels differ"):  # how many depends on the processor
        export(str(folder), tmp_path / "place" / "out", on=[str(problems)])
    assert files(tmp_path / "place") == []
    assert export(str(folder), tmp_path / "out", on=[str(problems)], limit=1).comparison.rate > 0.01


def test_an_earlier_export_is_replaced_and_nothing_else_is(saved, problems, tmp_path):
    out = tmp_path / "place" / "out"
    export(str(saved), out, weights="fp32", on=[str(problems)])
    (out / "README.md").write_text("my card")
    (out / "licences").mkdir()
    (out / "licences" / "data.txt").write_text("CC BY 4.0")
    (out / "latest").symlink_to("nowhere")
    before = (out / "model.onnx").read_bytes()
    export(str(saved), out, on=[str(problems)], limit=1)
    expected = ["README.md", "config.json", "export.json", "latest", "licences", "model.onnx", "tokenizer.json"]
    assert files(out) == expected
    assert (out / "README.md").read_text() == "my card"
    assert (out / "licences" / "data.txt").read_text() == "CC BY 4.0"
    assert (out / "latest").readlink() == Path("nowhere")
    assert (out / "model.onnx").read_bytes() != before
    assert json.loads((out / "export.json").read_text())["weights"] == "int8"
    assert files(out.parent) == ["out"]
    occupied = tmp_path / "occupied"
    occupied.mkdir()
    (occupied / "thesis.txt").write_text("x")
    with refuses(BadInput, where=str(occupied)):
        export(str(saved), occupied, on=[str(problems)])
    with refuses(BadInput, where=str(occupied / "thesis.txt")):
        export(str(saved), occupied / "thesis.txt", on=[str(problems)])
    assert files(occupied) == ["thesis.txt"]


def test_a_folder_is_whole_or_as_it_was(tmp_path):
    out = tmp_path / "out"
    with whole_folder(out) as draft:
        (draft / "one").write_text("1")
    with pytest.raises(FileNotFoundError), whole_folder(out) as draft:
        (draft / "absent" / "two").write_text("2")
    assert files(out) == ["one"]
    assert files(tmp_path) == ["out"]


@pytest.mark.parametrize(("kind", "value"), [("SequenceClassification", float("nan")), ("MaskedLM", float("inf"))])
def test_a_model_that_returns_nan_is_refused(problems, tmp_path, kind, value):
    model = tiny_model("Bert", kind)
    with torch.no_grad():
        head = model.classifier if kind == "SequenceClassification" else model.cls.predictions.decoder
        head.bias[1] = value
    folder = save(model, tmp_path / "broken")
    with refuses(BadInput, where=f"hf:{folder}"):
        export(str(folder), tmp_path / "place" / "out", weights="fp32", on=[str(problems)])
    assert files(tmp_path / "place") == []


@pytest.mark.parametrize("weights", ["int8", "fp16"])
def test_weights_with_nan_are_refused(problems, tmp_path, weights):
    model = tiny_model("Bert")
    with torch.no_grad():
        model.bert.encoder.layer[0].intermediate.dense.weight[7, 3] = float("nan")
    folder = save(model, tmp_path / "broken")
    with refuses(BadInput, where="export", field="weights"):
        export(str(folder), tmp_path / "place" / "out", weights=weights, on=[str(problems)])
    assert files(tmp_path / "place") == []


def test_the_error_names_the_side_that_returns_nan():
    def ask(rows: list[int]) -> np.ndarray:
        return np.array([[0.5, np.nan if row == 4 else 0.5] for row in rows])

    with refuses(BadInput, where="tiny", fix="store the weights as fp32"):
        ask_all(ask, 6, "exported", "tiny", size=2)
    np.testing.assert_array_equal(ask_all(ask, 4, "exported", "tiny", size=3), np.full((4, 2), 0.5))


def edit(folder: Path, **changes: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    config = {name: value for name, value in {**config, **changes}.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(config))


def test_labels_without_a_name_are_warned_about(tiny, problems, tmp_path):
    edit(tiny, id2label=None, label2id=None, num_labels=3)
    with pytest.warns(UserWarning, match="accuracy is not measured: .*--label-map LABEL_0="):
        result = export(str(tiny), tmp_path / "out", on=[str(problems)], limit=1)
    assert result.comparison.right is result.comparison.original_right is None
    assert result.nameless
    names = json.loads((tmp_path / "out" / "config.json").read_text())["id2label"]
    assert names == {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}


def test_labels_without_a_name_get_it_from_the_label_map(tiny, exported, problems, tmp_path):
    edit(tiny, id2label=None, label2id=None, num_labels=3)
    meant = {f"label_{i}": name for i, name in enumerate(LABELS)}
    result = export(str(tiny), tmp_path / "out", on=[str(problems)], limit=1, label_map=meant)
    assert result.comparison == exported.comparison
    assert result.labels == LABELS
    assert not result.nameless
    assert registry.make(f"onnx:{tmp_path}/out(max_length=40)").function.labels == LABELS
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["label2id"] == {name: i for i, name in enumerate(LABELS)}


def test_names_of_labels_stay_whatever_they_mean_in_the_data(tiny, exported, problems, tmp_path):
    edit(tiny, id2label={"0": "no", "1": "yes", "2": "maybe"}, label2id={"no": 0, "yes": 1, "maybe": 2})
    meant = {"no": "contradiction", "yes": "entailment", "maybe": "neutral"}
    result = export(str(tiny), tmp_path / "out", on=[str(problems)], limit=1, label_map=meant)
    assert result.comparison == exported.comparison
    assert result.labels == ("no", "yes", "maybe")


def test_fewer_labels_than_the_data_has(problems, tmp_path):
    """The advice is followed: with two labels for the data, too, accuracy is measured, here counted by transformers."""
    names = {0: "entailment", 1: "not_entailment"}
    model = tiny_model("Bert", id2label=names, label2id={name: i for i, name in names.items()})
    folder = save(model, tmp_path / "two")
    with pytest.warns(UserWarning, match="--task rte.* --label-map not_entailm"):
        export(str(folder), tmp_path / "out", on=[str(problems)], limit=1)
    data = {"entailment": "entailed", "neutral": "not-entailed", "contradiction": "not-entailed"}
    meant = {"entailment": "entailed", "not_entailment": "not-entailed"}
    two = {"task": "rte", "labels": data, "label_map": meant}
    result = export(str(folder), tmp_path / "out", weights="fp32", on=[str(problems)], limit=1, **two)
    tokenizer = tiny_tokenizer()
    with torch.inference_mode():
        best = [int(model(**tokenizer(a, b, return_tensors="pt")).logits.argmax()) for a, b in some_pairs(30)]
    assert result.comparison.original_right == sum(label == (i % 3 > 0) for i, label in enumerate(best))
    assert result.labels == ("entailment", "not_entailment")


@pytest.mark.parametrize(
    "meant",
    [
        {"LABEL_0": "entailment"},
        {"neutral": "perhaps"},
    ],
)
def test_a_label_map_that_does_not_fit_is_refused(saved, problems, tmp_path, meant):
    with refuses(BadInput):
        export(str(saved), tmp_path / "place" / "out", on=[str(problems)], limit=1, label_map=meant)
    assert not (tmp_path / "place" / "out").exists()


def test_a_masked_lm_has_no_labels_to_map(saved_masked_lm, problems, tmp_path):
    with refuses(BadInput):
        export(str(saved_masked_lm), tmp_path / "out", on=[str(problems)], label_map={"yes": "entailment"})
    assert export(str(saved_masked_lm), tmp_path / "out", on=[str(problems)], limit=1).labels == ()


@pytest.mark.parametrize("architectures", [["BertModel"], None], ids=["an encoder", "none named"])
def test_what_is_neither_classifier_nor_masked_lm_is_refused(tiny, problems, tmp_path, architectures):
    edit(tiny, architectures=architectures)
    with refuses(BadInput, where=f"hf:{tiny}", field="architectures"):
        export(str(tiny), tmp_path / "out", on=[str(problems)])
    assert not (tmp_path / "out").exists()


def test_transformers_chooses_the_class_by_model_type(tiny, problems, tmp_path):
    edit(tiny, architectures=["NoSuchForSequenceClassification", "x"])
    assert export(str(tiny), tmp_path / "out", on=[str(problems)], limit=1).graph == "built"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: [file.unlink() for file in folder.glob("tokenizer*")],
        lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"),
        lambda folder: (folder / "config.json").unlink(),
        lambda folder: (folder / "config.json").write_text("{"),
        lambda folder: (folder / "config.json").write_text("[]"),
        lambda folder: edit(folder, id2label={"0": "score"}),
        lambda folder: edit(folder, architectures=["BertForMaskedLM"]),
        shutil.rmtree,
    ],
)
def test_a_folder_that_cannot_be_exported_is_refused(tiny, problems, tmp_path, monkeypatch, spoil):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    spoil(tiny)
    with refuses(BadInput):
        export(str(tiny), tmp_path / "out", on=[str(problems)])
    assert not (tmp_path / "out").exists()


def test_a_masked_lm_without_a_mask_token_is_refused(problems, tmp_path):
    folder = save(tiny_model("Bert", "MaskedLM"), tmp_path / "unmasked")
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        if (folder / name).exists():
            config = json.loads((folder / name).read_text())
            config.pop("mask_token", None)
            (folder / name).write_text(json.dumps(config))
    with refuses(BadInput):
        export(str(folder), tmp_path / "out", on=[str(problems)])


@pytest.mark.parametrize(
    "settings",
    [
        {"weights": "int4"},
        {"limit": 1.5},
        {"limit": float("nan")},
        {"on": []},
    ],
)
def test_settings_that_cannot_work_are_refused(saved, problems, tmp_path, settings):
    with refuses(BadInput):
        export(str(saved), tmp_path / "out", **{"on": [str(problems)], **settings})
    assert not (tmp_path / "out").exists()


def test_rows_left_out_are_warned_about(saved, good, jsonl, tmp_path):
    data = jsonl(good, {**good, "label": "maybe"}, name="some.jsonl")
    with pytest.warns(UserWarning, match="left out 1 rows"):
        result = export(str(saved), tmp_path / "out", on=[str(data)], limit=1, skip_bad=True)
    assert result.comparison.rows == 1


def test_without_onnx_the_extra_is_named(saved, problems, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with refuses(MissingExtra):
        export(str(saved), tmp_path / "out", on=[str(problems)])


def test_the_package_has_the_names_it_lists():
    assert all(getattr(exporting, name).__name__ == name for name in exporting.__all__)


def test_the_shortest_length_that_a_pair_needs_is_enough():
    def model(length: int) -> SimpleNamespace:
        return SimpleNamespace(
            folder=SimpleNamespace(who="m"), is_masked_lm=False, labels=("a", "b"), max_length=length
        )

    comparing._refuse_unusable(model(SHORTEST))
    with refuses(BadInput, where="m"):
        comparing._refuse_unusable(model(SHORTEST - 1))
