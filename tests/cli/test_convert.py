"""otherwords convert, as the user meets it; what it writes is tested with the library."""

from __future__ import annotations

import json

import pytest
import tiny_models
import torch


@pytest.fixture
def pickled(place):
    model = tiny_models.build("bert")
    tiny_models.save(model, place / "old", tiny_models.word_tokenizer())
    (place / "old" / "model.safetensors").unlink()
    torch.save(model.state_dict(), place / "old" / "pytorch_model.bin")


def test_a_folder_of_somebody_else_is_left_alone(cli, pickled, place):
    (place / "thesis").mkdir()
    (place / "thesis" / "chapter.txt").write_text("mine")
    error = cli("convert", "hf:old", "-o", "thesis", rc=2).stderr
    assert error == "error: thesis: exists and is not an empty folder; choose another folder with -o\n"
    assert [file.name for file in (place / "thesis").iterdir()] == ["chapter.txt"]


@pytest.mark.slow
def test_the_command_that_the_refusal_names_makes_a_model_that_answers(cli, pickled, place, problems):
    refusal = cli("answer", "problems.jsonl", "-m", "hf:old", rc=2).stderr
    assert "otherwords convert hf:old -o FOLDER, then use hf:FOLDER" in refusal
    assert json.loads(cli("convert", "hf:old", "-o", "new", "--json").stdout) == {"folder": "new", "model": "hf:new"}
    cli("answer", "problems.jsonl", "-m", "hf:new", "--no-canary", "-o", "answers.jsonl", "-q")
    assert (place / "answers.jsonl").is_file()
