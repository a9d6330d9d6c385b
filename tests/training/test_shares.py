"""Shares of the training data, validation under a label map, checkpoints: what learning curves need."""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from safetensors.torch import load_file
from typer.testing import CliRunner

from otherwords.cli.app import app
from otherwords.errors import BadInput
from otherwords.models.answering import all_models
from otherwords.problem import TASKS
from otherwords.training import train
from otherwords.training.data import TrainingData, TrainingRow, collect_rows, take_share
from otherwords.training.recipe import Recipe

from .conftest import LABELS, problems, toy_rows

D_NLI = TASKS["d-nli"]
ODD = st.text(st.sampled_from(["a", "B", " ", "é", "\ud83d", "1", "\n"]), max_size=4)


def defeasible(path: Path, rows: list[Any]) -> Path:
    names = ("premise", "hypothesis", "update", "label")
    path.write_text("\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows), encoding="utf-8")
    return path


def drawn(path: Path, share: float, **more: Any) -> list[Any]:
    recipe = Recipe(data=[str(path)], task="d-nli", valid=0.0, share=share, **more)
    return collect_rows(recipe).train


def shared(rows: list[tuple[str, ...]], share: float, seed: int) -> list[TrainingRow]:
    both = [
        TrainingRow((*texts, update), label) for texts in rows for update, label in zip("uv", D_NLI.labels, strict=True)
    ]
    data = TrainingData(D_NLI, train=both)
    take_share(data, lambda row: ("\n".join(row.texts[:2]),), share, seed)
    return data.train


def cluster(row: TrainingRow) -> str:
    return " ".join(f"{row.texts[0]}\n{row.texts[1]}".casefold().split())


@given(
    rows=st.lists(st.tuples(ODD, ODD), min_size=1, max_size=40),
    order=st.randoms(use_true_random=False),
    seed=st.integers(0, 3),
    shares=st.lists(st.floats(0.001, 1.0), min_size=2, max_size=4).map(sorted),
)
def test_shares_are_nested_whole_clusters_that_do_not_depend_on_the_order(rows, order, seed, shares):
    whole = shared(rows, 1.0, seed)
    drawn = [shared(rows, share, seed) for share in shares]
    for small, large in pairwise(drawn):
        assert {*small} <= {*large}
    for some, share in zip(drawn, shares, strict=True):
        chosen = {cluster(row) for row in some}
        assert some == [row for row in whole if cluster(row) in chosen]  # whole clusters, in the order of the data
        largest = max(Counter(map(cluster, some)).values())
        assert round(share * len(whole)) <= len(some) < round(share * len(whole)) + largest + (share * len(whole) < 1)
    shuffled = list(rows)
    order.shuffle(shuffled)
    assert {*shared(shuffled, shares[0], seed)} == {*drawn[0]}


def test_a_share_is_about_as_large_as_it_says_and_other_seeds_draw_others(tmp_path):
    draw = random.Random(1)
    rows = [(f"p{i % 500}", f"h{i % 500}", f"u{i}", draw.choice(["strengthener", "weakener"])) for i in range(2000)]
    path = defeasible(tmp_path / "d.jsonl", rows)
    sizes = {share: len(drawn(path, share)) for share in (0.01, 0.05, 0.1, 0.5)}
    assert sizes == {0.01: 20, 0.05: 100, 0.1: 200, 0.5: 1000}
    assert drawn(path, 0.05) != drawn(path, 0.05, data_seed=2)
    shown = [row.texts for row in drawn(path, 0.05, fields=["update"])]  # partial input learns from the same rows
    assert shown == [row.texts[2:] for row in drawn(path, 0.05)]


def test_validation_rows_are_the_same_for_every_share(tmp_path):
    rows = [(f"p{i % 50}", f"h{i % 50}", f"u{i}", ["strengthener", "weakener"][i // 50 % 2]) for i in range(400)]
    path = str(defeasible(tmp_path / "d.jsonl", rows))
    made = [collect_rows(Recipe(data=[path], task="d-nli", valid=0.2, share=share)) for share in (0.1, 1.0)]
    assert made[0].valid == made[1].valid
    assert made[0].reasons["not in the share"] == len(made[1].train) - len(made[0].train) > 0


def test_a_share_that_leaves_a_class_empty_is_refused(tmp_path):
    rows = [(f"p{i}", f"h{i}", f"u{i}", "weakener" if i == 7 else "strengthener") for i in range(300)]
    path = defeasible(tmp_path / "d.jsonl", rows)
    with refuses(BadInput, field="share"):
        drawn(path, 0.01)


def test_rows_that_show_nothing_are_left_out(tmp_path):
    rows = [("", "h", "u", "weakener"), ("p", "h", "u", "strengthener"), ("q", "h", "v", "weakener")]
    recipe = Recipe(data=[str(defeasible(tmp_path / "d.jsonl", rows))], task="d-nli", valid=0.0, fields=["premise"])
    data = collect_rows(recipe)
    assert [row.texts for row in data.train] == [("p",), ("q",)]
    assert (data.fields, data.reasons["empty text"]) == (("premise",), 1)


def test_data_sets_of_different_layouts_in_one_recipe(tmp_path):
    """ParaNLU's unified model: one file in the layout of its authors, one table of our own names."""
    own = defeasible(tmp_path / "own.jsonl", [("p", "h", "u", "weakener")])
    theirs = tmp_path / "theirs.jsonl"
    row = {"Premise": "P", "Hypothesis": "H", "Update": "U", "UpdateType": "strengthener"}
    more = {"SNLIPairId": "1", "AnnotatedBy": "x", "UpdateTypeImpossible": False, "UpdateTypeImpossibleReason": None}
    theirs.write_text(json.dumps({**row, **more}) + "\n")
    data = collect_rows(Recipe(data=[str(own), f"delta_nli:{theirs}"], task="d-nli", valid=0.0))
    assert [row.texts for row in data.train] == [("p", "h", "u"), ("P", "H", "U")]
    assert [row.label for row in data.train] == ["weakener", "strengthener"]


def log_of(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


# Three classes trained, two asked


@pytest.fixture
def recipe(encoder) -> dict[str, Any]:
    usual = {"epochs": 4, "batch": 16, "max_length": 16, "learning_rate": 3e-3, "device": "cpu"}
    return {"start": str(encoder), **usual}


def two_labels(path: Path, rows: list[list[Any]]) -> str:
    names = {"entailment": "entailed", "neutral": "not-entailed", "contradiction": "not-entailed"}
    return problems(path, [[*row[:2], names[row[2]]] for row in rows])


def test_three_classes_are_trained_and_two_asked(recipe, tmp_path):
    data, valid = problems(tmp_path / "nli.jsonl", toy_rows(300)), toy_rows(90, seed=2)
    valid = [[f"the {row[0]}", *row[1:]] for row in valid]  # other premises, so that no training row is left out
    three = train({**recipe, "data": [data], "valid": [problems(tmp_path / "v.jsonl", valid)]}, out=tmp_path / "three")
    asked = {"valid": [two_labels(tmp_path / "rte.jsonl", valid)], "valid_task": "rte"}
    two = train({**recipe, "data": [data], **asked}, out=tmp_path / "two")
    weights = [load_file(tmp_path / name / "model.safetensors")["classifier.weight"] for name in ("three", "two")]
    assert weights[1].shape[0] == 3
    lines = [
        [json.loads(line) for line in (tmp_path / n / "log.jsonl").read_text().splitlines()] for n in ("three", "two")
    ]
    for fine, coarse in zip(*lines, strict=True):  # merged labels are right whenever the labels are, and likelier
        assert coarse["valid_accuracy"] >= fine["valid_accuracy"]
        assert coarse["valid_loss"] < fine["valid_loss"]
    assert two.figures["valid_accuracy"] > 0.9
    assert two.counts["labels"].keys() == set(LABELS)
    assert three.figures["valid_accuracy"] > 0.9


def test_a_label_map_says_otherwise_what_labels_mean(recipe, tmp_path):
    data = problems(tmp_path / "nli.jsonl", toy_rows(60))
    valid = problems(
        tmp_path / "v.jsonl", [["the x", row[1], "odd" if row[2] == "neutral" else "fine"] for row in toy_rows(30, 2)]
    )
    task = {"name": "oddity", "fields": ["premise", "hypothesis"], "labels": ["odd", "fine"]}
    names = {"entailment": "fine", "contradiction": "FINE", "neutral": "odd"}
    chosen = {**recipe, "epochs": 1, "data": [data], "valid": [valid], "valid_task": task}
    train({**chosen, "valid_label_map": names}, out=tmp_path / "m")
    with refuses(BadInput, field="valid_label_map"):
        train({**chosen, "valid_label_map": {"neutral": "odd"}}, out=tmp_path / "n")
    for wrong in ({**names, "nuetral": "odd"}, dict.fromkeys(names, "fine")):
        with refuses(BadInput, field="valid_label_map"):
            train({**chosen, "valid_label_map": wrong}, out=tmp_path / "n")
    with refuses(BadInput, field="valid_task"):
        train({**chosen, "valid_task": "d-nli"}, out=tmp_path / "n")
    other = {"data": [data], "valid": [valid], "valid_task": task, "valid_label_map": names}
    assert 0 <= train(other, "bag_of_words", out=tmp_path / "n").figures["valid_accuracy"] <= 1


# Checkpoints


def test_all_checkpoints_are_asked_with_one_command(recipe, tmp_path):
    def cli(*given: str):
        return CliRunner().invoke(app, list(given))

    data = problems(tmp_path / "nli.jsonl", toy_rows(60))
    chosen = {**recipe, "epochs": 3, "valid": 0.2, "data": [data], "checkpoints": True}
    train(chosen, out=tmp_path / "m")
    out, place = tmp_path / "answers.parquet", tmp_path / "m" / "checkpoints"
    arguments = ["answer", data, "--no-canary", "--no-cache", "-q", "-o", str(out)]
    assert cli(*arguments, "-m", f"hf:{place}/*(device=cpu)").exit_code == 0
    table = pl.read_parquet(out)
    names = [folder.name for folder in sorted(place.iterdir())]
    assert table["model"].unique(maintain_order=True).to_list() == [f"hf:{place}/{name}(device=cpu)" for name in names]
    assert table.height == 3 * 60
    assert cli(*arguments, "-m", f"epoch=hf:{place}/*").exit_code == 0
    assert pl.read_parquet(out)["model"].unique(maintain_order=True).to_list() == [f"epoch-{name}" for name in names]
    one = tmp_path / "one.parquet"
    assert cli(*arguments[:-1], str(one), "-m", f"hf:{place}/{names[1]}(device=cpu)").exit_code == 0
    same = table.filter(pl.col("model").str.contains(names[1]))
    assert pl.read_parquet(one)["pred"].to_list() == same["pred"].to_list()


def test_a_pattern_that_matches_nothing_is_refused(tmp_path):
    with refuses(BadInput, where=f"hf:{tmp_path}/checkpoints/*"):
        all_models(["nli-small", f"hf:{tmp_path}/checkpoints/*"])
    assert all_models(["nli-small", "a=hf:org/name", "python:m:f"]) == ["nli-small", "a=hf:org/name", "python:m:f"]


def test_every_validation_leaves_a_model_that_answers(recipe, tmp_path):
    data = problems(tmp_path / "nli.jsonl", toy_rows(160))
    chosen = {**recipe, "epochs": 2, "evaluations": 2, "valid": 0.2, "data": [data]}
    plain = train(chosen, out=tmp_path / "plain")
    kept = train({**chosen, "checkpoints": True}, out=tmp_path / "kept")
    log = log_of(tmp_path / "kept")
    folders = sorted((tmp_path / "kept" / "checkpoints").iterdir())
    assert [folder.name for folder in folders] == [f"{line['update']:06d}" for line in log]
    assert kept.figures["valid_accuracy"] == plain.figures["valid_accuracy"]
    model = (tmp_path / "kept" / "model.safetensors").read_bytes()
    assert model == (tmp_path / "plain" / "model.safetensors").read_bytes()
    assert model in [(folder / "model.safetensors").read_bytes() for folder in folders]
    assert len({(folder / "model.safetensors").read_bytes() for folder in folders}) == 4


@pytest.mark.parametrize("change", [{"adam_epsilon": 1e-2}, {"clip": 0.0}])
def test_epsilon_and_clipping_change_what_is_learnt(recipe, tmp_path, change):
    data = problems(tmp_path / "nli.jsonl", toy_rows(40))
    chosen = {**recipe, "epochs": 1, "valid": 0.0, "data": [data], "clip": 0.01}
    train(chosen, out=tmp_path / "usual")
    train({**chosen, **change}, out=tmp_path / "other")
    models = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("usual", "other")]
    assert models[0] != models[1]
