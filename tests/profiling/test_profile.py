"""The profile of a transformation: worked by hand on small suites, run on the papers' data, and blind to any order."""

from __future__ import annotations

import json
import random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput, UnknownName
from otherwords.profiling.profile import ARTIFACTS


def row(name, of=None, how=None, label="entailment", premise="A man is outside.", hypothesis="He waits.", **more):
    return {"id": name, "of": of, "how": how, "premise": premise, "hypothesis": hypothesis, "label": label, **more}


#: Four problems; one is reworded by two generators, one by none.
SUITE = [
    row("a"),
    row("a1", "a", "x.v1()", premise="An adult male is outside.", hypothesis="He waits."),
    row("a2", "a", "x.v1()", premise="An adult male is out there.", hypothesis="He lingers."),
    row("a3", "a", "y.v1()", premise="A man is outside."),  # unchanged
    row("b", label="neutral", premise="Two dogs run.", hypothesis="They are tall."),
    row("b1", "b", "y.v1()", "neutral", "Two dogs run.", "They are quite big."),
    row("c", label="neutral", premise="It rains.", hypothesis="It pours."),
    row("d", label="entailment", premise="A man sits.", hypothesis="He waits."),
    row("d1", "d", "x.v1()", "entailment", "An adult male sits.", "He waits."),
]


def frame(rows):
    return pl.DataFrame(rows, infer_schema_length=None)


def test_worked_by_hand():
    found = ow.profile(frame(SUITE))
    whole, (x, y) = found.whole, found.generators
    assert (found.task, whole.how, x.how, y.how) == ("nli", "all", "x.v1()", "y.v1()")
    assert [(part.problems, part.variants, part.changed) for part in (whole, x, y)] == [(4, 5, 3), (4, 3, 2), (4, 2, 1)]
    assert (whole.share_changed, x.share_changed, y.share_changed) == (0.75, 0.5, 0.25)
    # a1: man; a2: man, outside, waits; b1: tall; d1: man. a3 is no change and does not count.
    assert (whole.words_changed, x.words_changed, y.words_changed) == (6 / 4, 5 / 3, 1.0)
    assert [(one.before, one.after, one.count) for one in whole.substitutions] == [
        ("man", "adult male", 3),
        ("outside", "out there", 1),
        ("tall", "quite big", 1),
        ("waits", "lingers", 1),
    ]
    assert [one.share for one in whole.substitutions] == [3 / 6, 1 / 6, 1 / 6, 1 / 6]
    assert [(one.before, one.after, one.count) for one in y.substitutions] == [("tall", "quite big", 1)]


def test_lengths_are_of_all_problems_of_a_label():
    whole, (x, y) = (lambda found: (found.whole, found.generators))(ow.profile(frame(SUITE)))
    # Entailment: a has 6 words, d 5. By x a becomes (7 + 8) / 2 and d 6; by all, a becomes (7 + 8 + 6) / 3.
    assert [(one.label, one.problems, one.before) for one in whole.lengths] == [
        ("entailment", 2, 5.5),
        ("neutral", 2, 5.0),
    ]
    assert [one.after for one in x.lengths] == [(7.5 + 6) / 2, 5.0]
    assert [one.after for one in y.lengths] == [5.5, 5.5]  # b: 6 to 7; c stays at 4
    assert [one.after for one in whole.lengths] == [(7 + 6) / 2, 5.5]
    assert x.lengths[0].increase == pytest.approx(6.75 / 5.5 - 1)


def test_artifact_words():
    found = ow.profile(frame(SUITE))
    changed = {
        (one.corpus, one.label, one.word): (one.before, one.after)
        for one in found.whole.artifacts
        if one.before != one.after
    }
    # One of two entailments has "outside", which one of its three variants lost; one of two neutrals loses "tall".
    assert changed == {
        ("snli", "entailment", "outside"): (0.5, pytest.approx(1 / 3)),
        ("snli", "neutral", "tall"): (0.5, 0.0),
    }
    assert len(found.whole.artifacts) == 20  # ten for each of the two labels that occur


def test_the_lists_of_gururangan():
    """Table 4 of the paper: ten words for each label, of which "no" stands in both lists."""
    words = [word for lists in ARTIFACTS.values() for some in lists.values() for word in some]
    assert (len(words), len(set(words))) == (30, 29)


def test_a_generators_own_account_is_preferred():
    changes = [
        {"field": "premise", "from": old, "to": new} for old, new in (("dog", "domestic dog"), ("DOG", "Domestic  dog"))
    ]
    rows = [
        row("a", premise="A dog and a DOG."),
        row("a1", "a", "x", premise="A domestic dog and a domestic dog.", changes=json.dumps(changes)),
        row("a2", "a", "x", premise="A domestic dog and a dog.", changes=None),
    ]
    whole = ow.profile(frame(rows)).whole
    assert [(one.before, one.after, one.count) for one in whole.substitutions] == [
        ("dog", "domestic dog", 2),
        ("", "domestic", 1),
    ]
    assert whole.words_changed == 2 / 2


@pytest.mark.parametrize("changes", ["{", "[1]", '[{"field": "premise"}]', '[{"from": 1, "to": "x"}]', "7"])
def test_an_account_that_cannot_be_read(changes):
    rows = [row("a"), row("a1", "a", "x", premise="A guy.", changes=changes)]
    with refuses(BadInput):
        ow.profile(frame(rows))


def test_dropped_variants_are_left_out_where_asked():
    rows = [{**one, "check:surface": None if one["of"] is None else one["id"] != "a3"} for one in SUITE]
    assert ow.profile(frame(rows), kept=True).whole.variants == 4
    assert ow.profile(frame(rows)).whole == ow.profile(frame(SUITE)).whole
    gone = [{**one, "check:surface": None if one["of"] is None else False} for one in SUITE]
    with refuses(BadInput):
        ow.profile(frame(gone), kept=True)


def test_verdicts_may_come_as_text():
    checked = [{**one, "check:x": None if one["of"] is None else str(one["id"] != "a3").lower()} for one in SUITE]
    assert ow.profile(frame(checked), kept=True).whole.variants == 4


def test_a_table_may_have_its_own_names_and_labels():
    renamed = frame(SUITE).rename({"premise": "text"}).with_columns(pl.col("label").str.to_uppercase().str.head(3))
    names = {"ENT": "entailment", "NEU": "neutral"}
    assert ow.profile(renamed, columns={"premise": "text"}, labels=names) == ow.profile(frame(SUITE))


def test_bad_rows_of_a_table_are_left_out_with_a_warning():
    with pytest.warns(UserWarning, match=r"left out 1 rows.*the table, row 10: hypothesis"):
        found = ow.profile(frame([*SUITE, row("z", hypothesis="")]), skip_bad=True)
    assert found == ow.profile(frame(SUITE))


def test_no_words_before_have_no_increase():
    task = ow.Task("notes", ("note", "reply"), ("yes", "no"), optional=("note", "reply"))
    rows = [{"id": n, "of": of, "how": None, "note": note, "reply": "", "label": "yes"}
            for n, of, note in (("a", None, ""), ("a1", "a", "two words"))]  # fmt: skip
    (length,) = ow.profile(frame(rows), task).whole.lengths
    assert (length.before, length.after, length.increase) == (0, 2, None)


@pytest.mark.parametrize("changes", ["[]", " [ ] ", "", "  ", "null", None, []])
def test_an_empty_account_is_none(changes):
    rows = [row("a"), row("a1", "a", "x", premise="A guy is outside.", changes=changes)]
    whole = ow.profile(frame(rows)).whole
    assert whole.words_changed == 1
    assert [(one.before, one.after) for one in whole.substitutions] == [("man", "guy")]


def test_contrasts_are_no_rewordings():
    rows = [*SUITE, row("k", contrast="monli"), row("k1", "k", "c", "neutral", "A dog.", contrast="monli")]
    assert ow.profile(frame(rows)) == ow.profile(frame(SUITE))


@given(st.randoms())
def test_order_does_not_matter(order: random.Random):
    assert ow.profile(frame(order.sample(SUITE, len(SUITE)))) == ow.profile(frame(SUITE))


def test_files_run_folders_and_tables_agree(jsonl, tmp_path):
    whole = ow.profile(frame(SUITE))
    path = jsonl(*SUITE, name="suite.jsonl")
    assert ow.profile(str(path)) == ow.profile(path) == whole
    originals = jsonl(*(one for one in SUITE if not one["of"]), name="originals.jsonl")
    variants = jsonl(*(one for one in SUITE if one["of"]), name="variants.jsonl")
    assert ow.profile([variants, originals]) == whole
    study = {"data": [str(path)], "models": ["scripted"], "canary": False, "cache": None, "metrics": ["flip_rate"]}
    run = ow.run(study, out=tmp_path / "run", check=["label-safety"], shard=1)
    assert len(list((run.folder / "buckets").iterdir())) > 1
    assert ow.profile(run.folder) == whole  # label-safety finds nothing in these


def test_a_run_folder_knows_its_task(jsonl, tmp_path):
    rows = [{**one, "label": "entailed"} for one in SUITE]
    study = {"data": [str(jsonl(*rows))], "task": "rte", "models": ["scripted"], "canary": False, "cache": None}
    run = ow.run(study, out=tmp_path / "run", metrics=["flip_rate"])
    found = ow.profile(run.folder)
    assert (found.task, found.whole.artifacts) == ("rte", ())  # the lists are for the labels of NLI


def test_substitutions_as_a_table(tmp_path):
    ow.profile(frame(SUITE), out=tmp_path / "list.csv")
    assert (tmp_path / "list.csv").read_text().splitlines()[:2] == [
        "how,before,after,count,share",
        "x.v1(),man,adult male,3,0.6",
    ]


@pytest.mark.parametrize(
    ("rows", "options", "error", "fields"),
    [
        ([row("a")], {}, BadInput, {"where": "the suite"}),
        (SUITE, {"task": "a-nli"}, BadInput, {"where": "the table, row 1", "field": "obs1"}),
        (SUITE, {"task": "rte"}, BadInput, {"where": "the table, row 1", "field": "label"}),
        (SUITE, {"task": "nil"}, UnknownName, {}),
        (SUITE, {"out": "list.xlsx"}, BadInput, {}),
        ([row("a1", "a")], {}, BadInput, {"where": "the table, row 1", "field": "of"}),
        ([row("a"), row("a")], {}, BadInput, {"where": "the table, row 2", "field": "id"}),
        ([row("a"), row("a1", "a", "x", "neutral")], {}, BadInput, {"where": "the table, row 2", "field": "label"}),
        ([row("a", premise=" ")], {}, BadInput, {"where": "the table, row 1", "field": "premise"}),
        ([row("a", **{"check:x": "maybe"})], {}, BadInput, {"field": "check:x"}),
    ],
)
def test_what_cannot_be_profiled(rows, options, error, fields):
    schema = {"of": pl.String, "how": pl.String}
    with refuses(error, **fields):
        ow.profile(pl.DataFrame(rows, schema_overrides=schema), **options)


def test_an_empty_file(jsonl):
    with refuses(BadInput):
        ow.profile(jsonl(name="empty.jsonl"))


def test_nothing_changed_has_no_mean():
    whole = ow.profile(frame([row("a"), row("a1", "a", "identity")])).whole
    assert (whole.share_changed, whole.words_changed, whole.substitutions) == (0.0, None, ())
    assert whole.lengths[0].increase == 0


def test_parte(shared):
    """T5's paraphrases (Verma et al. 2023): every problem has one that differs, and they are a little shorter."""
    whole = ow.profile(f"parte:{shared}/originals/parte/collated_data_and_preds.csv").whole
    assert whole.share_changed == 1
    assert 2 < whole.words_changed < 8
    assert all(-0.1 < one.increase < 0.05 for one in whole.lengths)


def test_frequencies_before_are_those_of_table_15(shared):
    """Salvatore et al. (2023) print the share of SNLI problems with a word: premise or hypothesis, of that label."""
    table = pl.read_parquet(shared / "ie_test" / "nli_data.parquet")
    table = table.filter(pl.col("dataset") == "snli", pl.col("split") == "test", pl.col("label") != "-")
    rows = table.select(
        pl.col("i").cast(pl.String).alias("id"), pl.lit(None, pl.String).alias("of"), "premise", "hypothesis", "label"
    )
    variant = rows[:1].with_columns(pl.col("id").alias("of"), pl.lit("v").alias("id"))
    found = {(one.label, one.word): one.before for one in ow.profile(pl.concat([rows, variant])).whole.artifacts}
    printed = {("contradiction", "tv"): 0.9, ("neutral", "competition"): 0.8, ("entailment", "outdoors"): 3.2,
               ("entailment", "outside"): 9.8, ("entailment", "animal"): 0.8}  # fmt: skip
    # They counted the training set, which the released data lack: a test set of 10,000 is within half a point.
    assert {key: 100 * found[key] for key in printed} == pytest.approx(printed, abs=0.5)
