"""Columns to group by that a file has: what another model answers, and what is known of the models."""

from __future__ import annotations

import json

import polars as pl
import pytest
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput, UnknownName, Unmeasurable

BUCKETS = ("a", "b", "c", "d")
#: Answers to each original and its two variants; y is right.
GIVEN = {"full": ("yyy", "yyn", "nny", "ynn"), "small": ("yyy", "yyy", "yyy", "nnn"), "other": ("nnn",) * 4}


def table(*models: str) -> pl.DataFrame:
    rows = [
        {"model": model, "bucket": bucket, "variant": f"{bucket}{n}" if n else "", "gold": "y", "pred": pred}
        for model in models
        for bucket, preds in zip(BUCKETS, GIVEN[model], strict=True)
        for n, pred in enumerate(preds)
    ]
    return pl.DataFrame(rows)


def partial(path, right: str = "ab", **columns):
    """The answers of a model that is right on some originals; labels are spelled otherwise."""
    rows = [
        {"bucket": one, "variant": "", "gold": "Y ", "pred": "y" if one in right else "n", **columns} for one in BUCKETS
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_groups_by_another_model_s_answers(tmp_path):
    file = partial(tmp_path / "partial.jsonl")
    scores = ow.score(table("full"), "accuracy_variants", by=f"answers:{file}")
    assert {one.group: one.value for one in scores} == {
        None: 0.5,
        f"answers:{file}=right": 0.75,
        f"answers:{file}=wrong": 0.25,
    }


def test_the_groups_are_those_of_a_column_with_the_same_values(tmp_path):
    """Also in comparisons, and where originals count."""
    name = f"answers:{partial(tmp_path / 'partial.jsonl')}"
    right = pl.when(pl.col("bucket").is_in(["a", "b"])).then(pl.lit("right")).otherwise(pl.lit("wrong"))
    both = table("full", "small").with_columns(right.alias("partial"))
    found, wanted = (ow.score(both, ["flip_rate", "accuracy_original"], by=one) for one in (name, "partial"))
    pairs = zip(found, wanted, strict=True)
    assert all((a.value, a.low, a.high, a.n_units) == (b.value, b.low, b.high, b.n_units) for a, b in pairs)
    found, wanted = (ow.compare(both, using="flip_rate", by=one) for one in (name, "partial"))
    pairs = zip(found, wanted, strict=True)
    assert all((a.difference, a.p) == (b.difference, b.p) for a, b in pairs)
    assert [one.group for one in found] == [None, f"{name}=right", f"{name}=wrong"]


def test_one_of_several_models(tmp_path):
    first, second = (
        partial(tmp_path / f"{name}.jsonl", right, model=name) for name, right in (("m", "a"), ("n", "bc"))
    )
    both = tmp_path / "both.jsonl"
    both.write_text(first.read_text() + second.read_text())
    scores = ow.score(table("full"), "accuracy_original", by=f"answers:{both}:n")
    assert {one.group: one.n_units for one in scores}[f"answers:{both}:n=right"] == 2
    for name in (f"answers:{both}", f"answers:{both}:x"):
        with refuses(BadInput, field="model"):
            ow.score(table("full"), "accuracy_original", by=name)


def test_a_problem_that_it_did_not_answer_is_in_no_group(tmp_path):
    file = partial(tmp_path / "partial.jsonl")
    file.write_text("\n".join(file.read_text().splitlines()[:3]) + "\n")
    with pytest.warns(UserWarning, match="2 variants have no answers:.* and belong to no group"):
        scores = ow.score(table("full"), "accuracy_variants", by=f"answers:{file}")
    assert [one.n_units for one in scores] == [4, 2, 1]


def test_wrong_files_of_answers(tmp_path):
    with refuses(BadInput):
        ow.score(table("full"), "flip_rate", by=f"answers:{tmp_path / 'none.jsonl'}")
    strange = tmp_path / "strange.jsonl"
    strange.write_text('{"bucket": "z", "variant": "", "gold": "y", "pred": "y"}\n')
    with refuses(BadInput, field="bucket"):
        ow.score(table("full"), "flip_rate", by=f"answers:{strange}")
    variants = tmp_path / "variants.jsonl"
    variants.write_text('{"bucket": "a", "variant": "1", "gold": "y", "pred": "y"}\n')
    with refuses(Unmeasurable):
        ow.score(table("full"), "flip_rate", by=f"answers:{variants}")


def test_a_run_and_its_gates_take_them_and_refuse_a_missing_file_first(tmp_path):
    rows = [{"id": one, "premise": f"It isn't {one}.", "hypothesis": "No.", "label": "neutral"} for one in BUCKETS]
    file = partial(tmp_path / "partial.jsonl")
    settings = {"data": rows, "vary": "contractions", "models": "scripted", "metrics": "flip_rate", "cache": None,
                "canary": False}  # fmt: skip
    gate = f"flip_rate[answers:{file}=right]<=1"
    done = ow.run(**settings, by=f"answers:{file}", require=gate, out=tmp_path / "run")
    assert {one.group for one in done.scores} == {None, f"answers:{file}=right", f"answers:{file}=wrong"}
    assert [one.passed for one in done.gates] == [True]
    with refuses(BadInput):
        ow.run(**settings, by="answers:none.jsonl", out=tmp_path / "other")
    assert not (tmp_path / "other" / "answers").exists()


def family_map(tmp_path, text: str):
    path = tmp_path / "family.toml"
    path.write_text(text)
    return path


def test_means_over_the_models_of_a_family(tmp_path):
    path = family_map(
        tmp_path, '[full]\nfamily = "A"\nsize = 3\n[small]\nfamily = "A"\nsize = 1\n[other]\nfamily = "B"\n'
    )
    scores = ow.score(table("full", "small", "other"), "accuracy_variants", by=[f"family:{path}", "bucket"])
    values = {(one.model, one.group): one.value for one in scores}
    assert values["full", None] == 0.5
    assert values["small", None] == 0.75
    assert values["(mean)", "family=A"] == 0.625
    assert values["(mean)", "family=B"] == 0
    assert values["(mean)", "bucket=b, family=A"] == 0.75
    assert not any(group and group.startswith("family") for model, group in values if model != "(mean)")
    scores = ow.score(table("full", "small", "other"), "accuracy_variants", by=f"family:{path}:size")
    assert {one.group: one.value for one in scores if one.model == "(mean)"} == {"size=1": 0.75, "size=3": 0.5}


def test_a_family_by_one_word(tmp_path):
    path = family_map(tmp_path, 'full = "A"\nsmall = "B"\n')
    scores = ow.score(table("full", "small"), "flip_rate", by=f"family:{path}")
    assert [one.group for one in scores if one.model == "(mean)"] == ["family=A", "family=B"]


@pytest.mark.parametrize(
    "text", ["", "[full", '[full]\nsize = "large"\n', '[x]\nfamily = "A"\n', "[full]\nfamily = [1]\n"]
)
def test_wrong_family_maps(tmp_path, text):
    with refuses(BadInput):
        ow.score(table("full"), "flip_rate", by=f"family:{family_map(tmp_path, text)}")


def test_no_gate_is_about_a_family(tmp_path):
    path = family_map(tmp_path, 'full = "A"\n')
    with refuses(UnknownName):
        ow.score(table("full"), "flip_rate", require=f"flip_rate[family:{path}=A]<=1")


def test_a_run_has_family_means_and_refuses_a_map_of_other_models_first(tmp_path):
    rows = [{"id": one, "premise": f"It isn't {one}.", "hypothesis": "No.", "label": "neutral"} for one in BUCKETS]
    settings = {"data": rows, "vary": "contractions", "models": ["m=scripted", "n=bag_of_words"], "cache": None,
                "canary": False, "metrics": "accuracy_variants"}  # fmt: skip
    path = family_map(tmp_path, 'm = "A"\nn = "A"\n')
    scores = ow.run(**settings, by=f"family:{path}", out=tmp_path / "run").scores
    [mean] = [one for one in scores if one.model == "(mean)"]
    assert mean.value == sum(one.value for one in scores if one.group is None) / 2
    with refuses(BadInput):
        ow.run(**settings, by=f"family:{family_map(tmp_path, 'x = 1')}", out=tmp_path / "other")
    assert not (tmp_path / "other" / "answers").exists()
