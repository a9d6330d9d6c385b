"""The recipes that come with the repository: each can be read, by the trainer that its folder or its text names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from otherwords.inference.joining import Join
from otherwords.problem import get_task
from otherwords.training.recipe import read_recipe

RECIPES = sorted((Path(__file__).parents[2] / "recipes").rglob("*.toml"))
SMALL = ("boosted", "ngrams", "bilstm", "bow_mlp")


@pytest.fixture(autouse=True)
def vectors(tmp_path, monkeypatch):
    """The word vectors that some recipes name."""
    (tmp_path / "glove.840B.300d.txt").write_text("dog 0.1 0.2\ncat 0.3 0.4\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def trainer_of(path: Path) -> str:
    if path.parent.name == "mlm-small":
        return "masked-lm"
    return next((name for name in SMALL if path.stem.startswith(name)), "encoder")


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_recipe_can_be_read(path):
    recipe, trainer = read_recipe(path, trainer_of(path))
    task = get_task(recipe.task or "nli")
    assert set(recipe.fields) <= set(task.fields)
    if join := getattr(trainer.function, "join", ""):
        Join.read(join).refuse_other(task, str(path))
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    assert first.startswith("# ")  # it says what it is, and where its numbers come from


@pytest.mark.parametrize("folder", ["ie-test", "paranlu", "parte"])
def test_the_readme_names_every_recipe_of_the_papers_and_no_other(folder):
    text = (RECIPES[0].parents[1] / "README.md").read_text(encoding="utf-8")
    [row] = [line for line in text.splitlines() if line.startswith(f"| `recipes/{folder}`")]
    names = re.sub(r"\([^)]*\)", "", row.strip("| ").split(" | ")[2])  # without what stands in brackets
    there = [path.stem for path in RECIPES if path.parent.name == folder]
    assert sorted(re.findall(r"`([\w-]+)`", names)) == sorted(there)


#: Epochs, tokens, learning rate, weight decay, epsilon and clipping, on SNLI and on MNLI (IE paper, Tables 8-12).
PRINTED = {
    "albert": [(2, 90, 6.7e-5, 1.1e-3, 3e-8, 0.91), (2, 130, 6.7e-5, 6.6e-3, 2e-8, 0.97)],
    "bert": [(3, 130, 7.7e-5, 2.2e-3, 1e-7, 0.94), (2, 90, 7.2e-5, 3.3e-3, 3e-8, 1.0)],
    "xlnet": [(1, 100, 6.7e-5, 0.01, 4e-8, 1.0), (2, 100, 6.1e-5, 4.4e-3, 1e-7, 0.9)],
    "roberta-base": [(3, 140, 3.2e-5, 8.8e-3, 2e-8, 0.9), (1, 150, 6.1e-5, 3.3e-3, 1e-7, 0.93)],
    "roberta-large": [(1, 140, 5e-5, 8.8e-3, 4e-8, 0.93), (2, 150, 5e-5, 8.8e-3, 5e-7, 0.9)],
}


@pytest.mark.parametrize("model", PRINTED)
def test_the_encoders_of_the_ie_paper_are_trained_as_it_prints(model):
    names = ("epochs", "max_length", "learning_rate", "weight_decay", "adam_epsilon", "clip")
    for data, expected in zip(("snli", "mnli"), PRINTED[model], strict=True):
        [path] = [one for one in RECIPES if one.parts[-2:] == ("ie-test", f"{model}-{data}.toml")]
        options = read_recipe(path)[1].function
        assert tuple(getattr(options, name) for name in names) == expected


def test_the_printed_numbers_of_the_papers():
    """IE paper, Table 12; ParaNLU, section 5; PaRTE, Appendix A (METHODS 1, 2 and 4)."""
    found = {f"{path.parent.name}/{path.stem}": read_recipe(path, trainer_of(path))[1].function for path in RECIPES}
    large = found["ie-test/roberta-large-mnli"]
    assert (large.start, large.epochs, large.adam_epsilon) == ("roberta-large-mnli", 2, 5e-7)
    unified = found["paranlu/roberta-large-unified"]
    assert (unified.epochs, unified.learning_rate, unified.batch) == (2, 2e-5, 32)
    parte = found["parte/bert-large"]
    assert (parte.epochs, parte.learning_rate, parte.batch, parte.accumulate) == (5, 3e-6, 32, 2)
    small = found["paranlu/ngrams"], found["paranlu/bilstm"], found["parte/bow_mlp"], found["parte/bilstm"]
    assert (small[0].ngrams, small[0].epochs, small[0].learning_rate) == (4, 5, 0.1)
    infersent = small[1]
    assert (infersent.units, infersent.hidden, infersent.optimizer, infersent.learning_rate) == (2048, 512, "sgd", 0.1)
    assert (infersent.pooling, infersent.epochs, infersent.batch, infersent.patience > 0) == ("max", 10, 64, True)
    for one in small[2:]:
        assert (one.vocabulary, one.max_length, one.learning_rate, one.batch, one.epochs) == (50_000, 50, 0.005, 32, 15)
    assert {one.vectors.name for one in small[1:]} == {"glove.840B.300d.txt"}
    assert (small[3].layers, small[3].units, small[3].pooling) == (2, 64, "max")
