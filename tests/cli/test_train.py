"""otherwords train: recipes, options on top, what is printed, going on, and wrong input."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast
from transformers.utils import logging

from otherwords.cli.train import TRAINERS
from otherwords.registry import trainers

ROOT = Path(__file__).parents[2]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "a", "not", "is", "man", "men"]


@pytest.fixture(scope="session")
def encoder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("start") / "encoder"
    torch.manual_seed(3)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    logging.disable_progress_bar()
    BertModel(BertConfig(vocab_size=len(WORDS), max_position_embeddings=64, **sizes)).save_pretrained(folder)
    logging.enable_progress_bar()
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    pair, special = "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 2), ("[SEP]", 3)]
    words.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", pair, special)
    names = {f"{name.lower()}_token": f"[{name}]" for name in ("UNK", "PAD", "CLS", "SEP", "MASK")}
    PreTrainedTokenizerFast(tokenizer_object=words, **names).save_pretrained(folder)
    return folder


@pytest.fixture
def recipe(place, encoder) -> str:
    text = f'start = "{encoder}"\ndata = ["everyday"]\nvalid = 0.1\nepochs = 1\nmax_length = 64\ndevice = "cpu"\n'
    (place / "r.toml").write_text(text)
    return "r.toml"


def test_a_recipe_is_trained_and_its_model_answers(cli, place, recipe):
    done = cli("train", "nli", recipe, "-o", "m")
    assert re.match(r"m is trained, valid_accuracy 0\.\d{4}, valid_loss \d\.\d{4}\n", done.stdout)
    assert re.search(r"\d+ examples to train on, \d+ to validate on", done.stderr)
    assert "epoch 1 of 1" in done.stderr
    cli("answer", "everyday", "-m", "hf:m", "--no-canary", "--no-cache", "-o", "answers.jsonl")
    assert len((place / "answers.jsonl").read_text().splitlines()) > 100


def test_the_same_again_is_done_and_anything_else_is_refused(cli, recipe):
    first = cli("train", "nli", recipe, "-o", "m", "--seed", 2)
    again = cli("train", "nli", recipe, "-o", "m", "--seed", 2)
    assert again.stdout == first.stdout.replace("is trained", "was trained before")
    error = cli("train", "nli", recipe, "-o", "m", rc=2).stderr
    assert error == "error: m: contains another training: seed is 2 there, 1 now; choose another folder, or delete it\n"


def test_options_alone_will_do(cli, place, encoder):
    options = ("--start", encoder, "--data", "everyday", "--valid", "0.2", "--epochs", 1, "--batch", 32)
    done = cli("train", "nli", *options, "--learning-rate", 0.001, "--device", "cpu", "-o", "m", "--json", "-q")
    printed = json.loads(done.stdout)
    assert done.stderr == ""
    assert printed["folder"] == "m"
    assert printed["best"]["epoch"] == 1
    assert printed["train"] > printed["valid"] > 20
    settings = json.loads((place / "m" / "data" / "settings.json").read_text())
    assert (settings["batch"], settings["learning_rate"], settings["epochs"]) == (32, 0.001, 1)


def test_zero_is_a_value(cli, place, recipe):
    cli("train", "nli", recipe, "--prepare", "-o", "m", "--seed", 0, "--valid", 0)
    settings = json.loads((place / "m" / "data" / "settings.json").read_text())
    assert settings["seed"] == 0
    assert (place / "m" / "data" / "valid.jsonl").read_text() == ""


def test_masked_words_with_a_validation_set(cli, place, problems, recipe):
    options = ("--valid", problems, "--valid-field", "hypothesis", "--masked", 0.3)
    printed = json.loads(cli("train", "masked-lm", recipe, *options, "-o", "m", "--json").stdout)
    assert printed["valid"] == len((place / "m" / "data" / "valid.jsonl").read_text().splitlines()) > 0
    assert (place / "m" / "model.safetensors").is_file()


def test_prepared_only(cli, place, recipe, problems):
    done = cli("train", "nli", recipe, "--prepare", "--without", problems, "-o", "m")
    assert done.stdout == "m is prepared: python -m otherwords.training m trains it\n"
    assert not (place / "m" / "model.safetensors").exists()
    assert cli("train", "nli", recipe, "--prepare", "--without", problems, "-o", "m", "--quiet").stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nli", "r.toml"), "-o FOLDER"),
        (("nli", "-o", "m", "--start", "x"), "--data"),
        (("nli", "-o", "m", "--data", "everyday"), "start: "),
        (("nli", "absent.toml", "-o", "m"), "absent.toml: "),
        (("nli", "r.toml", "-o", "m", "--data", "absent.jsonl"), "absent.jsonl"),
        (("nli", "r.toml", "-o", "m", "--valid", "2"), "valid: found 2"),
        (("nli", "r.toml", "-o", "m", "--epochs", "0"), "epochs: found 0"),
        (("nli", "r.toml", "-o", "m", "--recombine", "10"), "recombine: found 10"),
        (("nli", "r.toml", "-o", "m", "--precision", "fp8"), "precision: found 'fp8'"),
        (("nli", "r.toml", "-o", "m", "--field", "x"), "--field x"),
        (("masked-lm", "r.toml", "-o", "m", "--valid-field", "hypothesis"), "valid_fields: "),
    ],
)
def test_wrong_input_is_reported_before_any_work(cli, place, recipe, arguments, message):
    error = cli("train", *arguments, rc=2).stderr
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert message in error
    assert not (place / "m").exists()


def test_options_shown_in_the_documentation_exist(cli):
    pages = [ROOT / "docs" / "training.md", ROOT / "recipes" / "README.md"]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages).replace("\\\n", " ")
    shown = re.findall(r"^(?:for .* do )?otherwords train ([a-z][\w-]*)(.*)$", text, re.M)
    assert len(shown) >= 5
    for command, line in shown:
        options = cli("train", command, "--help").stdout
        for option in re.findall(r"(?<=\s)--?[a-z][\w-]*", line):
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", options), f"train {command} has no {option}"


def test_any_trainer_is_a_command(cli, place):
    done = cli("train", "bag_of_words", "--data", "everyday", "--set", "steps=20", "--valid", "0.2", "-o", "bow")
    assert re.match(r"bow is trained, valid_accuracy 0\.\d{4}, valid_loss \d\.\d{4}\n", done.stdout)
    asked = cli("answer", "everyday", "-m", "trained:bow", "--no-canary", "--no-cache", "-o", "answers.jsonl")
    assert len((place / "answers.jsonl").read_text().splitlines()) > 100
    assert "trained:bow: 123 answers" in asked.stderr  # and no picture where rich knows a word between two colons
    again = cli("train", "bag_of_words", "--data", "everyday", "--set", "steps=20", "--valid", "0.2", "-o", "bow")
    assert again.stdout == done.stdout.replace("is trained", "was trained before")
    error = cli("train", "bag_of_words", "--data", "everyday", "--set", "steps=30", "--valid", "0.2", "-o", "bow", rc=2)
    assert "contains another training: steps is 20 there, 30 now" in error.stderr


def test_partial_input_and_a_share(cli, place):
    options = ("--data", "everyday", "--fields", "hypothesis", "--share", 0.5, "--valid", 0, "-o", "m", "--json")
    printed = json.loads(cli("train", "bag_of_words", *options, "--set", "penalty=.5").stdout)
    assert 40 < printed["train"] < 80
    trained = json.loads((place / "m" / "trained.json").read_text())
    assert (trained["fields"], trained["trainer"]) == (["hypothesis"], "bag_of_words.v1(penalty=0.5, steps=200)")


def test_a_search_keeps_the_best(cli, place):
    (place / "space.toml").write_text("steps = [5, 50]\npenalty = {from = 0.1, to = 10.0, log = true}\n")
    options = ("--data", "everyday", "--valid", 0.3, "--search", 3, "--space", "space.toml", "-o", "m")
    done = cli("train", "bag_of_words", *options)
    assert done.stdout.startswith("m is trained, valid_accuracy")
    trials = (place / "m" / "search" / "trials.csv").read_text().splitlines()
    assert trials[0] == "trial,penalty,steps,valid_accuracy,valid_loss,seconds,error,chosen"
    assert len(trials) == 4
    assert cli("train", "bag_of_words", *options).stdout == done.stdout.replace("is trained", "was trained before")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("boostd",), "did you mean boosted"),
        (("bag_of_words", "--set", "step=3"), "step: bag_of_words has no such option; did you mean steps"),
        (("bag_of_words", "--set", "steps"), "cannot read --set steps"),
        (("bag_of_words", "--set", "steps=many"), "steps: found 'many'"),
        (("bag_of_words", "--set", "steps=3", "--set", "steps=4"), "--set steps is given twice"),
        (("bag_of_words", "--seed", "3", "--set", "seed=4"), "seed is given twice"),
        (("bag_of_words", "--epochs", "3"), "epochs: bag_of_words has no such option"),
        (("bag_of_words", "--prepare"), "--prepare: bag_of_words cannot be prepared"),
        (("bag_of_words", "--share", "0"), "share: found 0"),
        (("bag_of_words", "--fields", "update"), "fields: "),
        (("bag_of_words", "--search", "0"), "search: found 0"),
        (("bag_of_words", "--search", "2"), "ie-paper: has spaces for boosted, encoder, not for bag_of_words"),
        (("bag_of_words", "--search", "2", "--prepare"), "--prepare: "),
        (("bag_of_words", "--engine", "processes:2"), "--engine: "),
        (("bag_of_words", "--space", "ie-paper"), "--space: "),
    ],
)
def test_wrong_input_to_other_trainers_is_reported_before_any_work(cli, place, arguments, message):
    error = cli("train", *arguments, "--data", "everyday", "-o", "m", rc=2).stderr
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert message in error
    assert not (place / "m").exists()


def test_help_lists_every_trainer_in_its_own_words(cli):
    """The help is written down, so that it can be shown without importing any trainer."""
    assert {plugin.name: plugin.summary for plugin in trainers} | {"nli": "The old name of encoder."} == TRAINERS
    shown = cli("train", "--help").stdout
    assert all(f"  {name} " in shown for name in TRAINERS)


@pytest.mark.parametrize("named", [("--plugin", "mine.py"), ("--plugin=mine.py",)])
def test_a_trainer_of_a_plug_in_is_a_command(cli, place, named):
    (place / "mine.py").write_text(
        "from dataclasses import dataclass\n"
        "from typing import ClassVar\n"
        "from otherwords.registry import trainers\n"
        "from otherwords.training.bag_of_words import BagOfWords\n\n"
        "@trainers('brief.v1')\n@dataclass(frozen=True)\nclass Brief:\n"
        "    'Take a single step.'\n"
        "    answers_as: ClassVar[str] = 'bag_of_words'\n"
        "    def fit(self, data, folder, seed):\n        return BagOfWords(steps=1).fit(data, folder, seed)\n"
    )
    try:
        done = cli("train", "brief", *named, "--data", "everyday", "-o", "m")
        assert done.stdout.startswith("m is trained")
        assert '"trainer": "brief.v1()#' in (place / "m" / "trained.json").read_text()
    finally:
        trainers.forget(str((place / "mine.py").resolve()))
