"""Pickled weights become safetensors, and a pickle that would run code does not."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import pytest
import tiny_models
import torch
from refusals import refuses
from safetensors.torch import load_file

from otherwords.errors import BadInput
from otherwords.exporting.converting import convert, main
from otherwords.inference.hf_folders import MASKED_LM, find, load


def pickled(folder: Path, head: str = "ForSequenceClassification", shards: int = 1) -> dict[str, torch.Tensor]:
    """A tiny BERT whose weights are pickled, in one file or several, as many published models have them."""
    model = tiny_models.build("bert", head)
    tiny_models.save(model, folder, tiny_models.word_tokenizer())
    (folder / "model.safetensors").unlink()
    weights = model.state_dict()
    if shards == 1:
        torch.save(weights, folder / "pytorch_model.bin")
        return weights
    places = {name: f"pytorch_model-{n % shards:05}.bin" for n, name in enumerate(weights)}
    for place in set(places.values()):
        torch.save({name: weights[name] for name in weights if places[name] == place}, folder / place)
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": places}))
    return weights


@pytest.mark.parametrize("shards", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_the_weights_are_the_same_to_the_bit(tmp_path, shards):
    weights = pickled(tmp_path / "old", shards=shards)
    convert(str(tmp_path / "old"), tmp_path / "new")
    files = sorted((tmp_path / "new").glob("*.safetensors"))
    assert len(files) == shards
    found = {name: tensor for file in files for name, tensor in load_file(file).items()}
    assert found.keys() == weights.keys()
    assert all(torch.equal(found[name], weights[name]) for name in weights)
    model = load(find(str(tmp_path / "new")))
    assert all(torch.equal(model.state_dict()[name], weights[name]) for name in weights)
    assert not list((tmp_path / "new").glob("pytorch_model*"))
    assert not list(tmp_path.glob(".*.part"))


@pytest.mark.slow
def test_weights_that_are_tied_stay_tied(tmp_path):
    weights = pickled(tmp_path / "old", "ForMaskedLM")
    pointers = [tensor.data_ptr() for tensor in weights.values()]
    assert len(set(pointers)) < len(pointers)
    convert(f"hf:{tmp_path / 'old'}", tmp_path / "new")
    model = load(find(str(tmp_path / "new")), MASKED_LM)
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight


class Evil:
    """Unpickled, it creates a file."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch '{self.path}'",)


def test_a_pickle_that_would_run_code_is_refused_and_runs_none(tmp_path):
    pickled(tmp_path / "old")
    torch.save({"weight": Evil(tmp_path / "harm")}, tmp_path / "old" / "pytorch_model.bin")
    with refuses(BadInput, where=f"hf:{tmp_path / 'old'}") as caught:
        convert(str(tmp_path / "old"), tmp_path / "new")
    assert "pytorch_model.bin is refused: it holds more than weights" in str(caught.value)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["old"]
    with (tmp_path / "old" / "pytorch_model.bin").open("rb") as file:  # it does harm where it is loaded as a pickle
        archive = torch.load(file, weights_only=False)
    assert archive
    assert (tmp_path / "harm").exists()


@pytest.mark.parametrize("content", [b"", b"not a pickle", pickle.dumps([1, 2]), pickle.dumps({"a": 1})])
def test_what_is_no_table_of_weights_is_refused(tmp_path, content):
    pickled(tmp_path / "old")
    (tmp_path / "old" / "pytorch_model.bin").write_bytes(content)
    assert main(tmp_path / "old", tmp_path)["refused"]


def test_an_index_cannot_lead_out_of_the_folder(tmp_path):
    pickled(tmp_path / "old", shards=2)
    torch.save({"w": torch.zeros(1)}, tmp_path / "secret.bin")
    index = {"weight_map": {"w": "../secret.bin"}}
    (tmp_path / "old" / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    result = main(tmp_path / "old", tmp_path)
    assert (result["file"], "cannot be read" in result["refused"]) == ("secret.bin", True)


def test_nothing_is_written_where_there_is_something(tmp_path):
    pickled(tmp_path / "old")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "thesis.txt").write_text("mine")
    with refuses(BadInput, where=str(tmp_path / "new"), fix="choose another folder with -o"):
        convert(str(tmp_path / "old"), tmp_path / "new")
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("tf_model.h5", "has weights for TensorFlow only (tf_model.h5)"),
        ("flax_model.msgpack", "has weights for Flax only (flax_model.msgpack)"),
        ("model.safetensors", "has safetensors already"),
        ("other.txt", "has no pytorch_model.bin"),
    ],
)
def test_other_weights_are_refused_by_name(tmp_path, file, message):
    pickled(tmp_path / "old")
    (tmp_path / "old" / "pytorch_model.bin").rename(tmp_path / "old" / file)
    with refuses(BadInput, where=f"hf:{tmp_path / 'old'}") as caught:
        convert(str(tmp_path / "old"), tmp_path / "new")
    assert caught.value.message == message


@pytest.mark.slow
def test_what_does_not_load_afterwards_is_not_kept(tmp_path):
    weights = pickled(tmp_path / "old")
    few = {name: tensor for name, tensor in weights.items() if "layer.1." not in name}
    torch.save(few, tmp_path / "old" / "pytorch_model.bin")
    with refuses(BadInput, where=f"hf:{tmp_path / 'old'}"):
        convert(str(tmp_path / "old"), tmp_path / "new")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["old"]


def test_the_refusal_of_a_pickle_names_the_command(tmp_path):
    pickled(tmp_path / "old")
    fix = f"convert it once: otherwords convert hf:{tmp_path / 'old'} -o FOLDER, then use hf:FOLDER"
    with refuses(BadInput, fix=fix):
        find(str(tmp_path / "old"))
