"""What checks declare, and checks under names of their own: a column each, none overwritten without a warning."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import polars as pl
import pytest
from odd_suites import write_columnar
from refusals import refuses

import otherwords as ow
from otherwords.datasets.source import Source
from otherwords.errors import BadInput, UnknownName
from otherwords.registry import checks
from otherwords.running.files import check_files
from otherwords.validity.checking import Check, as_check

SUITE = [
    {"id": "p", "premise": "A man.", "hypothesis": "A person.", "label": "entailment"},
    *(
        {"id": f"p{i}", "of": "p", "premise": text, "hypothesis": "A person.", "label": "entailment"}
        for i, text in enumerate(["A guy.", "An male.", "A mannikin.", "A nam."])
    ),
]
#: PaRTE keeps what is rated above 75 for similarity and is grammatical.
VOTES = [("p0", 90, "yes"), ("p1", 90, "no"), ("p2", 70, "yes"), ("p3", 75, "no")]


@pytest.fixture
def spec(jsonl):
    path = jsonl(*({"id": n, "similarity": s, "gram": g} for n, s, g in VOTES), name="votes.jsonl")
    return [f"similarity=human:{path}(column=similarity, above=75)", f"grammar=human:{path}(column=gram)"]


def test_partes_human_step(jsonl, tmp_path, spec):
    checked = ow.check(ow.load(str(jsonl(*SUITE, name="suite.jsonl"))), [*spec, "surface"])
    variants = checked.filter(pl.col("of").is_not_null())
    assert variants["check:similarity"].to_list() == [True, True, False, False]
    assert variants["check:grammar"].to_list() == [True, False, True, False]
    assert "check:human" not in checked.columns
    done = check_files(Source([str(tmp_path / "suite.jsonl")]), str(tmp_path / "out.jsonl"), [*spec, "surface"])
    assert [(one.name, one.dropped, one.alone) for one in done.funnel.checks] == [
        ("similarity", 2, 1), ("grammar", 2, 1), ("surface", 0, 0),
    ]  # fmt: skip
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["check:grammar"] for row in rows] == [None, True, False, True, False]


def test_a_run_keeps_both_and_says_which_is_which(jsonl, tmp_path, spec):
    study = {"data": [str(jsonl(*SUITE, name="suite.jsonl"))], "models": ["scripted"], "canary": False, "cache": None}
    run = ow.run(study, out=tmp_path / "run", check=spec, metrics=["flip_rate"])
    titles = run.manifest["signatures"]["check"]
    assert [one.partition("#")[0] for one in titles] == [
        f"{name}=human.v1(path=votes.jsonl" for name in ("similarity", "grammar")
    ]
    renamed = [spec[0], spec[1].replace("grammar=", "gram=")]
    ow.run(study, out=tmp_path / "run", check=renamed, metrics=["flip_rate"])  # another name is another column
    columns = pl.read_parquet(tmp_path / "run" / "buckets" / "*.parquet").columns
    assert "check:gram" in columns
    assert "check:grammar" not in columns


@pytest.mark.parametrize("two", [["overlap", "overlap.v1(most=0.5)"], ["surface", "surface=overlap"]])
def test_two_of_one_name_are_refused_before_any_work(jsonl, tmp_path, two):
    path = str(jsonl(*SUITE))
    with refuses(BadInput):
        ow.check(ow.load(path), two)
    with refuses(BadInput):
        check_files(Source([path]), str(tmp_path / "out.jsonl"), two)
    with refuses(BadInput):
        ow.run({"data": [path], "models": ["scripted"], "cache": None}, out=tmp_path / "run", check=two)
    assert not (tmp_path / "run" / "problems").exists()


def test_a_name_is_no_part_of_the_signature():
    plain, named = checks.make("overlap"), checks.make("strict=overlap")
    assert plain.signature == named.signature == plain.title
    assert (plain.name, named.name, named.title) == ("overlap", "strict", f"strict={plain.signature}")
    with refuses(UnknownName):
        checks.make("strict=lap")


def test_verdicts_from_before_are_replaced_with_one_warning(jsonl, tmp_path):
    rows = [*SUITE, {**SUITE[0], "id": "q", "premise": "A cat."}]
    rows += [{**SUITE[1], "id": "q1", "of": "q", "premise": "A tom."}]
    first = ow.check(ow.load(str(jsonl(*rows))), ["surface", "overlap"])
    replaced = "^check:overlap: earlier verdicts are replaced"
    with pytest.warns(UserWarning, match=replaced) as caught:
        second = ow.check(first, ["overlap(most=0)"])
    assert len(caught) == 1
    assert second["check:surface"].equals(first["check:surface"])
    first.write_ndjson(tmp_path / "first.jsonl")
    with pytest.warns(UserWarning, match=replaced) as caught:  # a shard for every bucket, one warning
        check_files(Source([str(tmp_path / "first.jsonl")]), str(tmp_path / "out.jsonl"), ["overlap"], shard=1)
    assert len(caught) == 1
    with warnings.catch_warnings(action="error"):
        ow.check(first, ["strict=overlap(most=0)"])
        ow.check(first.with_columns(pl.lit(None, pl.Boolean).alias("check:overlap")), ["overlap"])  # nothing is lost


def test_a_bare_function_is_a_check_and_its_attributes_count():
    def bare(buckets):
        return []

    assert as_check(bare) == Check(bare)
    bare.identity, bare.by = "model-1", "self"
    assert (as_check(bare).identity, as_check(bare).by) == ("model-1", "self")
    declared = ow.Check(bare, identity="x")
    assert as_check(declared) is declared
    assert declared([]) == []


# Checks that work on columns


def test_a_users_check_may_work_on_columns(tmp_path):
    keep = "pl.col('premise').str.len_chars() < 10"
    reason = f"pl.when(~({keep})).then(pl.lit('long')).otherwise(pl.lit('')).alias('reason')"
    spec = write_columnar(tmp_path, "Check", f"return rows.select(({keep}).alias('keep'), {reason}, score=pl.lit(1))")
    found = ow.check(SUITE, [spec]).filter(pl.col("of").is_not_null())
    assert found["check:mine"].to_list() == [True, True, False, True]
    assert found["check:mine:reason"].to_list() == [None, None, "long", None]
    assert found["check:mine:score"].to_list() == [1.0] * 4


def on_columns(columns):
    """A check under a name that is known, so that messages have no digest of a temporary file."""
    return replace(checks.make("mine=surface"), function=ow.Check(list, columns=columns))


@pytest.mark.parametrize(
    ("columns", "field"),
    [
        (lambda rows, task: [True] * rows.height, ""),
        (lambda rows, task: rows.with_columns(keep=True, score=1.0), "reason"),
        (lambda rows, task: rows.with_columns(keep=pl.lit("perhaps"), reason=pl.lit("x"), score=1.0), "keep"),
    ],
    ids=["no table", "no reason", "a text"],
)
def test_what_is_no_table_of_verdicts_is_refused(columns, field):
    fix = "return a table with keep (true, false or null), reason (text or null) and score (a number or null)"
    with refuses(BadInput, field=field, fix=fix):
        ow.check(SUITE, [on_columns(columns)])


def test_a_verdict_too_few_is_refused():
    with refuses(BadInput):
        ow.check(
            SUITE, [on_columns(lambda rows, task: rows.head(1).with_columns(keep=True, reason=pl.lit(""), score=1))]
        )
