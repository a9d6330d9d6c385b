"""Models that a family map relates: students and teachers, neighbours in size."""

from __future__ import annotations

import json

import polars as pl
import pytest
from refusals import refuses
from typer.testing import CliRunner

from otherwords.answers.looked_up import relatives
from otherwords.cli.app import app
from otherwords.errors import BadInput
from otherwords.scoring.compare import compare, compare_relatives

MODELS = ("small", "base", "large", "student")
MAP = """
[small]
family = "a"
size = 10
[base]
family = "a"
size = 110
[large]
family = "a"
size = 355
[student]
distilled_from = "base"
"""


@pytest.fixture
def answers(tmp_path):
    (tmp_path / "models.toml").write_text(MAP)
    rows = [
        {"model": model, "bucket": f"b{bucket}", "variant": variant, "gold": "yes",
         "pred": "no" if variant and (bucket * 7 + place * 3) % (4 + place) == 0 else "yes"}
        for place, model in enumerate(MODELS)
        for bucket in range(40)
        for variant in (None, f"b{bucket}.1")
    ]  # fmt: skip
    pl.DataFrame(rows).write_parquet(tmp_path / "answers.parquet")
    return tmp_path / "answers.parquet"


def test_pairs_are_neighbours_in_size_and_students_with_their_teachers(tmp_path, answers):
    found = compare_relatives(answers, f"family:{tmp_path / 'models.toml'}", ["flip_rate"], replicates=200)
    assert [(one.group, one.model, one.other) for one in found] == [
        ("distilled from", "student", "base"), ("smaller than", "small", "base"), ("smaller than", "base", "large")
    ]  # fmt: skip
    [alone] = compare(answers, using=["flip_rate"], models=["small", "base"], replicates=200)
    assert (found[1].difference, found[1].low, found[1].high, found[1].p) == (
        alone.difference, alone.low, alone.high, alone.p
    )  # fmt: skip
    assert found[1].p_holm >= alone.p_holm  # adjusted for three pairs


def test_the_command_takes_a_family_map(tmp_path, answers):
    arguments = ["compare", str(answers), "--between", f"family:{tmp_path / 'models.toml'}", "--metric", "flip_rate"]
    done = CliRunner().invoke(app, [*arguments, "--replicates", "200", "--json", "--quiet"])
    assert done.exit_code == 0, done.output
    assert {row["group"] for row in json.loads(done.stdout)} == {"distilled from", "smaller than"}


@pytest.mark.parametrize(
    "text",
    [
        "[small]\nfamily = 'a'\n",
        "[small]\nfamily = 'a'\nsize = 'big'\n[base]\nfamily = 'a'\nsize = 2\n",
        "[x]\nsize = 1\n",
    ],
)
def test_a_map_that_relates_nobody_is_refused(tmp_path, text):
    (tmp_path / "models.toml").write_text(text)
    with refuses(BadInput):
        relatives(f"family:{tmp_path / 'models.toml'}", MODELS)
