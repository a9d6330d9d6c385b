"""`otherwords export`: a table for people, JSON for programs, nothing where it is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification, PreTrainedTokenizerFast
from transformers.utils import logging

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "man", "is", "the", "not", "men", "raining", "it"]
LABELS = {0: "entailment", 1: "neutral", 2: "contradiction"}


def save(kind: type, folder: Path) -> Path:
    torch.manual_seed(2)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(vocab_size=len(WORDS), id2label=LABELS, initializer_range=0.3, **sizes)
    logging.disable_progress_bar()
    kind(config).save_pretrained(folder)
    logging.enable_progress_bar()
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    pair, special = "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 2), ("[SEP]", 3)]
    words.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", pair, special)
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("unk", "pad", "cls", "sep", "mask")}
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    PreTrainedTokenizerFast(tokenizer_object=words, model_input_names=inputs, **names).save_pretrained(folder)
    return folder


@pytest.fixture
def classifier(place: Path) -> Path:
    return save(BertForSequenceClassification, place / "nli")


def test_a_table_shows_how_close_it_is(cli, classifier, problems):
    done = cli("export", classifier, "-o", "out", "--on", problems)
    assert "on 3 pairs" in done.stdout
    for name in (
        "other labels",
        "changed in 5 other orders",
        "largest difference of probability",
        "accuracy, exported",
    ):
        assert name in done.stdout
    assert "of int8 written to out: use it as onnx:out" in done.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["nli", "out", "problems.jsonl"]
    answered = cli("answer", problems, "-m", "onnx:out", "--no-cache", "--no-canary", "-o", "-")
    assert answered.stdout.count('"pred"') == 3


def test_json_is_the_record(cli, classifier, problems):
    printed = json.loads(cli("export", classifier, "-o", "out", "--on", problems, "--weights", "fp16", "--json").stdout)
    assert printed.pop("path") == "out"
    assert printed == json.loads(Path("out/export.json").read_text())
    assert printed["comparison"]["rows"] == 3
    assert printed["weights"] == "fp16"


@pytest.mark.filterwarnings("default:accuracy is not measured")
def test_a_model_whose_labels_nobody_named_says_how_it_is_asked(cli, classifier, problems):
    config = json.loads((classifier / "config.json").read_text())
    (classifier / "config.json").write_text(json.dumps({**config, "id2label": None, "num_labels": 3}))
    done = cli("export", classifier, "-o", "out", "--on", problems)
    assert "warning: accuracy is not measured" in done.stderr
    assert "use it as -m onnx:out --label-map LABEL_0=...,LABEL_1=...,LABEL_2=..." in done.stderr.replace("\n", " ")
    meant = "LABEL_0=entailment,LABEL_1=neutral,LABEL_2=contradiction"
    printed = cli("export", classifier, "-o", "out", "--on", problems, "--label-map", meant).stderr
    assert printed.endswith("use it as onnx:out\n")
    assert "warning" not in printed


def test_quiet_prints_nothing(cli, classifier, problems):
    done = cli("export", classifier, "-o", "out", "--on", problems, "--quiet")
    assert done.stdout == done.stderr == ""


def test_a_masked_lm_is_compared_on_words(cli, place, problems):
    folder = save(BertForMaskedLM, place / "mlm")
    done = cli("export", folder, "-o", "out", "--on", problems, "--weights", "fp32", "--limit", "0")
    assert "on 6 masked words" in done.stdout
    assert "largest difference of log-probability of the masked word" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere", "-o", "out"), "no folder"),
        (("nli", "-o", "problems.jsonl"), "problems.jsonl: is a file, not a folder; choose another folder with -o"),
        (("nli", "-o", "nli"), "nli: is read and written; name another place"),
        (("nli", "-o", "out", "--weights", "int4"), "weights: found 'int4'; give one of int8, fp16, fp32"),
        (("nli", "-o", "out", "--limit", "-1"), "limit: found -1.0; give a share from 0 to 1"),
        (("nli", "-o", "out", "--on", "absent.jsonl"), "absent.jsonl"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(cli, classifier, problems, monkeypatch, arguments, message):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    error = cli("export", *arguments, rc=2).stderr
    assert error.startswith("error: ")
    assert message in error
    assert error.count("\n") == 1
    assert sorted(path.name for path in Path().iterdir()) == ["nli", "problems.jsonl"]
