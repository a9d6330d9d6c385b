"""Recipes: what they say, what comes on top, and everything that can be wrong in one, told before any work."""

from __future__ import annotations

from pathlib import Path

import pytest

from otherwords.errors import BadInput, UnknownName
from otherwords.training.recipe import Recipe, read_recipe
from otherwords.training.settings import Settings

ROOT = Path(__file__).parents[2]
GOOD = {"start": "encoder", "data": ["data.jsonl"]}


def test_options_come_on_top(tmp_path):
    path = tmp_path / "r.toml"
    path.write_text('start = "a"\ndata = ["x.jsonl"]\nepochs = 3\nvalid = ["y.jsonl"]\n[labels]\n0 = "entailment"\n')
    recipe, settings = read_recipe(path, "nli", start="b", valid=0.1, seed=7)
    assert (recipe.valid, recipe.labels) == (0.1, {"0": "entailment"})
    assert settings == {"start": "b", "epochs": 3, "seed": 7, "objective": "nli"}


@pytest.mark.parametrize(
    "path", sorted((ROOT / "recipes").rglob("*.toml")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_our_recipes_can_be_read(path):
    recipe, settings = read_recipe(path, "masked-lm" if "mlm" in str(path) else "nli")
    assert Settings.of(settings)
    assert set(recipe.without) == {"data/snli-test.jsonl", "data/mnli-test.jsonl"}
    assert not set(recipe.without) & set(recipe.data)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("start = ", "r.toml: cannot be read as a recipe: .*; a recipe is a TOML file"),
        ('start = "a"\ndata = ["x"]\nepoch = 3', "r.toml: epoch: no such setting; there are data, .*, epochs, "),
        ('start = "a"\ndata = ["x"]\nobjective = "nli"', "objective: no such setting"),
        ('start = "a"\ndata = ["x"]\nepochs = "3"', "r.toml: epochs: found '3'; give a whole number"),
        ('start = "a"\ndata = ["x"]\nepochs = 2.5', r"epochs: found 2\.5; give a whole number"),
        ('start = "a"\ndata = ["x"]\nepochs = true', "epochs: found True; give a whole number"),
        ('start = "a"\ndata = ["x"]\nepochs = 0', "epochs: found 0; give 1 or more"),
        ('start = "a"\ndata = ["x"]\nlearning_rate = 3', r"learning_rate: found 3; give 1e-09 to 1"),
        ('start = "a"\ndata = ["x"]\nbatch = 10\naccumulate = 4', "batch: 10 is no multiple of accumulate = 4"),
        ('start = "a"\ndata = ["x"]\nprecision = "fp8"', "precision: found 'fp8'; give auto or bf16 or fp32"),
        ('start = "a"\ndata = ["x"]\nteachers = "t"', "teachers: found 't'; give a list of texts"),
        ('start = "a"\ndata = ["x"]\nteachers = [1]', r"teachers: found \[1\]; give a list of texts"),
        ('start = "a"\ndata = ["x"]\nseed = -1', "seed: found -1; give 0 or more"),
        ('data = ["x"]', "r.toml: start: is missing; name a Hugging Face model or a folder"),
        ('start = "a"', r'r.toml: no data named; write data = \["\.\.\."\]'),
        ('start = "a"\ndata = []', "r.toml: no data named"),
        ('start = "a"\ndata = "x"', r"r.toml: data: found 'x'; write a list: \[\"...\"\]"),
        ('start = "a"\ndata = ["-"]', "data: standard input cannot be read again; name a file"),
        ('start = "a"\ndata = ["x"]\nvalid = 1.0', "valid: found 1; give a share below 1"),
        ('start = "a"\ndata = ["x"]\nvalid = "y"', "valid: found 'y'"),
        ('start = "a"\ndata = ["x"]\nrecombine = 5', "recombine: found 5 without teachers; name teachers"),
        ('start = "a"\ndata = ["x"]\nvalid_fields = ["hypothesis"]', "valid_fields: has nothing to choose from"),
        ('start = "a"\ndata = ["x"]\nlabels = ["a", "b"]', "labels: found .*; write a table"),
    ],
)
def test_wrong_recipes(tmp_path, text, said):
    (tmp_path / "r.toml").write_text(text)
    with pytest.raises(BadInput, match=said):
        read_recipe(tmp_path / "r.toml")


def test_wrong_names_and_places(tmp_path):
    with pytest.raises(BadInput, match="there is no such recipe; name a TOML file, or say what to do with --start"):
        read_recipe(tmp_path / "absent.toml")
    (tmp_path / "r.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match="cannot be read as a recipe"):
        read_recipe(tmp_path / "r.toml")
    with pytest.raises(UnknownName, match="no task 'nil'"):
        read_recipe({**GOOD, "task": "nil"})
    with pytest.raises(BadInput, match="teachers: a masked-LM has none; leave them out"):
        read_recipe({**GOOD, "teachers": ["t"]}, "masked-lm")
    with pytest.raises(BadInput, match="no data named; give --data, or a recipe"):
        read_recipe({"start": "a"})


def test_every_setting_can_stand_in_a_recipe():
    settings = Settings("encoder").as_dict()
    given = {name: value for name, value in settings.items() if name not in ("objective", "labels")}
    recipe, found = read_recipe({**given, "data": ["x"]})
    assert recipe == Recipe(data=["x"])
    assert Settings.of(found) == Settings("encoder")


@pytest.mark.parametrize("labels", [(), ("yes",), ("yes", "yes")])
def test_one_label_is_nothing_to_choose_from(labels):
    with pytest.raises(BadInput, match=r"labels: found .*; name at least two"):
        Settings("encoder", labels=labels)
