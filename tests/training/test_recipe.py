"""Recipes: what they contain, what overrides them, and every mistake in one, found before any work."""

from __future__ import annotations

from pathlib import Path

import pytest
from refusals import refuses

from otherwords.errors import BadInput, UnknownName
from otherwords.training.recipe import Recipe, read_recipe
from otherwords.training.settings import TrainingSettings

ROOT = Path(__file__).parents[2]
GOOD = {"start": "encoder", "data": ["data.jsonl"]}


def test_options_come_on_top(tmp_path):
    path = tmp_path / "r.toml"
    path.write_text('start = "a"\ndata = ["x.jsonl"]\nepochs = 3\nvalid = ["y.jsonl"]\n[labels]\n0 = "entailment"\n')
    recipe, trainer = read_recipe(path, "nli", start="b", valid=0.1, seed=7)
    assert (recipe.valid, recipe.labels, recipe.seed) == (0.1, {"0": "entailment"}, 7)
    assert (trainer.plugin.name, trainer.function.start, trainer.function.epochs) == ("encoder", "b", 3)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "recipes").glob("*-small/*.toml")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_our_recipes_can_be_read(path):
    recipe, trainer = read_recipe(path, "masked-lm" if "mlm" in str(path) else "nli")
    assert trainer.function.start.startswith("encoders/")
    assert set(recipe.without) == {"data/snli-test.jsonl", "data/mnli-test.jsonl"}
    assert not set(recipe.without) & set(recipe.data)


@pytest.mark.parametrize(
    "text",
    [
        "start = ",
        pytest.param("start = " + "[" * 3000, id="too deep"),
        'start = "a"\ndata = ["x"]\nepoch = 3',
        'start = "a"\ndata = ["x"]\nobjective = "nli"',
        'start = "a"\ndata = ["x"]\nepochs = "3"',
        'start = "a"\ndata = ["x"]\nepochs = 2.5',
        'start = "a"\ndata = ["x"]\nepochs = true',
        'start = "a"\ndata = ["x"]\nepochs = 0',
        'start = "a"\ndata = ["x"]\nlearning_rate = 3',
        'start = "a"\ndata = ["x"]\ndropout = -0.5',
        'start = "a"\ndata = ["x"]\nbatch = 10\naccumulate = 4',
        'start = "a"\ndata = ["x"]\nprecision = "fp8"',
        'start = "a"\ndata = ["x"]\nteachers = "t"',
        'start = "a"\ndata = ["x"]\nteachers = [1]',
        'start = "a"\ndata = ["x"]\nseed = -1',
        'data = ["x"]',
        'start = "a"',
        'start = "a"\ndata = []',
        'start = "a"\ndata = "x"',
        'start = "a"\ndata = ["-"]',
        'start = "a"\ndata = ["x"]\nvalid = 1.0',
        'start = "a"\ndata = ["x"]\nvalid = "y"',
        'start = "a"\ndata = ["x"]\nrecombine = 5',
        'start = "a"\ndata = ["x"]\nvalid_fields = ["hypothesis"]',
        'start = "a"\ndata = ["x"]\nlabels = ["a", "b"]',
    ],
)
def test_wrong_recipes(tmp_path, text):
    (tmp_path / "r.toml").write_text(text)
    with refuses(BadInput):
        read_recipe(tmp_path / "r.toml")


def test_wrong_names_and_places(tmp_path):
    with refuses(BadInput):
        read_recipe(tmp_path / "absent.toml")
    (tmp_path / "r.toml").write_bytes(b"\xff\xfe")
    with refuses(BadInput):
        read_recipe(tmp_path / "r.toml")
    with refuses(UnknownName):
        read_recipe({**GOOD, "task": "nil"})
    with refuses(BadInput):
        read_recipe({**GOOD, "teachers": ["t"]}, "masked-lm")
    with refuses(BadInput):
        read_recipe({"start": "a"})


def test_every_setting_can_stand_in_a_recipe():
    settings = TrainingSettings("encoder").as_dict()
    implied = ("objective", "labels", "masked", "fields", "merged")
    given = {name: value for name, value in settings.items() if name not in implied}
    recipe, trainer = read_recipe({**given, "data": ["x"]})
    assert recipe == Recipe(data=["x"])
    assert trainer.function.settings() == TrainingSettings("encoder")


@pytest.mark.parametrize("labels", [(), ("yes",), ("yes", "yes")])
def test_one_label_is_nothing_to_choose_from(labels):
    with refuses(BadInput):
        TrainingSettings("encoder", labels=labels)
