"""Verdicts of people: counted by majority or unanimity, from any table, with complaints that help."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import otherwords as ow
from otherwords.datasets.source import Source
from otherwords.errors import BadInput
from otherwords.pipeline import check
from otherwords.problem import TASKS, Bucket, Problem, Variant, Verdict
from otherwords.registry import checks
from otherwords.running.files import check_files
from otherwords.validity.human import count_votes, read_ballots


def bucket(*names):
    problem = Problem("p", TASKS["nli"], {"premise": "a", "hypothesis": "b"}, "neutral")
    return Bucket(problem, tuple(Variant(n, problem.task, problem.text, "neutral", of="p", how="x") for n in names))


def judged(path, *names, options=""):
    return list(checks.make(f"human:{path}({options})").function([bucket(*names)]))


def vote(name, verdict, **more):
    return {"id": name, "verdict": verdict, **more}


def test_majority_and_unanimity(jsonl):
    votes = [*["yes"] * 3, *["no"] * 2]
    path = jsonl(
        *(vote("a", verdict) for verdict in votes),
        *(vote("b", verdict) for verdict in ("yes", "no")),
        *(vote("c", "yes") for _ in range(2)),
        vote("d", "no"),
    )
    assert judged(path, "a", "b", "c", "d") == [
        Verdict(True, "", 0.6),
        Verdict(False, "1 of 2 found it sound: a tie is no majority", 0.5),
        Verdict(True, "", 1.0),
        Verdict(False, "0 of 1 found it sound", 0.0),
    ]
    assert judged(path, "a", "b", "c", options="rule=unanimous") == [
        Verdict(False, "3 of 5 found it sound", 0.6),
        Verdict(False, "1 of 2 found it sound", 0.5),
        Verdict(True, "", 1.0),
    ]


@pytest.mark.parametrize("cell", ["yes", "Y", " TRUE ", True, 1, "1", "valid", "keep", "sound", "ok", 1.0, "1.0"])
def test_ways_to_say_yes(jsonl, cell):
    assert judged(jsonl(vote("a", cell)), "a")[0].keep is True


@pytest.mark.parametrize("cell", ["no", "N", "False", False, 0, "0", "invalid", "drop", "unsound", 0.0, "0.0"])
def test_ways_to_say_no(jsonl, cell):
    assert judged(jsonl(vote("a", cell)), "a")[0].keep is False


@pytest.mark.parametrize("cell", ["maybe", 0.5, 87, "yes and no", "1.5", "inf"])
def test_anything_else_is_refused(jsonl, cell):
    with refuses(BadInput):
        judged(jsonl(vote("a", cell)), "a")


def test_ratings(jsonl):
    path = jsonl(*({"id": name, "similarity": mark} for name, mark in (("a", 75), ("b", "75.5"), ("c", 20))))
    above = judged(path, "a", "b", "c", options="column=similarity, above=75")  # PaRTE keeps "above 75 out of 100"
    assert [(one.keep, one.reason) for one in above] == [
        (False, "0 of 1 found it sound"), (True, ""), (False, "0 of 1 found it sound"),
    ]  # fmt: skip
    assert [v.keep for v in judged(path, "a", "b", "c", options="column=similarity, least=75")] == [True, True, False]
    with refuses(BadInput):
        judged(jsonl({"id": "a", "similarity": "high"}), options="column=similarity, least=1")
    for mark in ("inf", "-Infinity", "1e999"):
        with refuses(BadInput):
            judged(jsonl({"id": "a", "similarity": mark}), options="column=similarity, least=1")


@pytest.mark.parametrize("nothing", ["", "  ", None, "NA", "nan", "N/A", "None", "<NA>"])
@pytest.mark.parametrize("options", ["", "least=1"])
def test_a_blank_verdict_is_none_and_is_reported(jsonl, nothing, options):
    path = jsonl(vote("p1", nothing, annotator="x"), vote("p1", "1", annotator="y"), vote("q1", nothing))
    assert judged(path, "p1", "q1", options=options) == [Verdict(True, "", 1.0), Verdict(None)]
    with pytest.warns(UserWarning, match="2 verdicts are blank or NA"):
        ow.check(ow.load(str(jsonl(*SUITE, name="suite.jsonl"))), [f"human:{path}({options})"])
    with refuses(BadInput):
        judged(jsonl(vote("a", nothing)), "a", options=options)


def test_unjudged_variants_are_kept_in_silence_or_dropped(jsonl):
    path = jsonl(vote("a", "yes"))
    assert judged(path, "b") == [Verdict(None, "", None)]
    assert judged(path, "b", options="unjudged=drop") == [Verdict(False, "judged by nobody", None)]


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "jsonl", "CSV", "Parquet"])
def test_every_format(tmp_path, ending):
    table = pl.DataFrame({"id": ["a", "a", "7"], "verdict": ["yes", "no", "yes"], "annotator": ["x", "y", "x"]})
    path = tmp_path / f"verdicts.{ending}"
    write = {"csv": table.write_csv, "tsv": lambda p: table.write_csv(p, separator="\t")}
    write |= {"parquet": table.write_parquet, "jsonl": table.write_ndjson}
    write[ending.lower()](path)
    assert [verdict.keep for verdict in judged(path, "7", "a")] == [True, False]


@pytest.mark.parametrize(
    ("rows", "options", "field"),
    [
        ([vote("a", "yes", annotator="x")] * 2, "", "annotator"),
        ([vote("", "yes")], "", "id"),
        ([{"verdict": "yes"}], "", "id"),
        ([{"id": "a", "valid": "yes"}], "", "verdict"),
        ([], "", ""),
        (["{"], "", ""),
        ([vote("a", "yes")], "rule=most", "rule"),
        ([vote("a", "yes")], "unjudged=maybe", "unjudged"),
        ([vote("a", "yes")], "least=1, above=1", ""),
        ([vote("a", "yes")], "least=much", "least"),
        ([vote("a", "yes")], "above=true", "above"),
        ([vote("a", "yes")], "above=Infinity", "above"),
    ],
)
def test_wrong_tables_and_options(jsonl, rows, options, field):
    with refuses(BadInput, field=field):
        judged(jsonl(*rows), options=options)


def test_files_that_cannot_be_read(tmp_path):
    with refuses(BadInput):
        judged(tmp_path / "absent.csv")
    with refuses(BadInput):
        judged(tmp_path / "verdicts.xlsx")


SUITE = [
    {"id": "p", "premise": "A man.", "hypothesis": "A person.", "label": "entailment"},
    {"id": "p1", "of": "p", "premise": "A guy.", "hypothesis": "A person.", "label": "entailment"},
    {"id": "q", "premise": "A cat.", "hypothesis": "An animal.", "label": "entailment"},
    {"id": "q1", "of": "q", "premise": "A tom.", "hypothesis": "An animal.", "label": "entailment"},
]


def test_a_warning_counts_verdicts_on_unknown_variants_once(jsonl, tmp_path):
    suite = jsonl(*SUITE, name="suite.jsonl")
    path = jsonl(*(vote(name, "yes") for name in ("p1", "q1", "x", "y")), name="verdicts.jsonl")
    expected = r"^human.v1\(path=verdicts.jsonl#\w+, .*\): 2 of 4 judged variants"
    with pytest.warns(UserWarning, match=expected) as caught:  # a shard for every problem, one warning for all
        check_files(Source([str(suite)]), str(tmp_path / "out.jsonl"), [f"human:{path}"], shard=1)
    assert len(caught) == 1
    with pytest.warns(UserWarning, match=expected):
        ow.check(ow.load(str(suite)), [f"human:{path}"])


def test_the_unjudged_have_an_empty_verdict_and_are_asked(jsonl, tmp_path):
    suite, path = jsonl(*SUITE, name="suite.jsonl"), jsonl(vote("p1", "no"), name="verdicts.jsonl")
    with warnings.catch_warnings(action="error"):
        done = check_files(Source([str(suite)]), str(tmp_path / "out.jsonl"), [f"human:{path}"])
    rows = {row["id"]: row for row in map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())}
    assert (rows["p1"]["check:human"], rows["p1"]["check:human:reason"]) == (False, "0 of 1 found it sound")
    assert (rows["q1"]["check:human"], rows["q1"]["check:human:reason"]) == (None, None)
    assert done.funnel is not None
    assert (done.funnel.kept, done.funnel.checks[0].dropped, done.funnel.checks[0].unjudged) == (1, 1, 1)
    answered = ow.answer(ow.load(str(tmp_path / "out.jsonl")), "scripted", cache=None, canary=False)
    assert answered["variant"].drop_nulls().to_list() == ["q1"]


@given(st.lists(st.booleans(), min_size=1))
def test_unanimity_is_stricter_than_majority(votes):
    majority, unanimous = count_votes(votes, "majority"), count_votes(votes, "unanimous")
    assert majority.score == unanimous.score == sum(votes) / len(votes)
    assert majority.keep or not unanimous.keep
    flipped = count_votes([not vote for vote in votes], "majority")
    assert not (flipped.keep and majority.keep)  # at most one side has a majority


def test_an_empty_cell_is_no_verdict(tmp_path):
    """Of a table whose other columns are filled in: the cell is there, and says nothing."""
    path = tmp_path / "verdicts.CSV"
    path.write_text("id,verdict\na1,yes\na2,\n", encoding="utf-8")
    ballots = read_ballots(path, "verdict")
    assert (ballots.votes, ballots.blank) == ({"a1": [True]}, 1)


def test_the_mean_of_ratings_decides_and_is_the_score(tmp_path):
    """70 and 90 have no majority above 75, but their mean is; PaRTE takes the mean."""
    path = tmp_path / "ratings.csv"
    path.write_text("id,annotator,similarity\na,x,70\na,y,90\nb,x,76\nb,y,70\n")
    same = {"premise": "P.", "label": "neutral"}
    rows = [{"id": name, "of": "o", "hypothesis": f"H {name}.", **same} for name in "ab"]
    table = pl.DataFrame([{"id": "o", "of": None, "hypothesis": "H.", **same}, *rows])
    judged = check(table, f"human:{path}(column=similarity, rule=mean, above=75)", TASKS["nli"])
    found = judged.filter(pl.col("of").is_not_null()).select("check:human", "check:human:score").rows()
    assert found == [(True, 80.0), (False, 73.0)]
    with refuses(BadInput):
        checks.make(f"human:{path}(column=similarity, rule=mean)")


def test_columns_are_added_up(tmp_path):
    """MERGE counts variants whose fluency and reasoning sum to 9 or more."""
    path = tmp_path / "ratings.csv"
    path.write_text("id,annotator,fluency,reasoning\na,x,5,4\na,y,5,5\nb,x,4,4\nc,x,5,\n")
    found = judged(path, "a", "b", "c", options='score="fluency+reasoning", least=9')
    assert [one.keep for one in found] == [True, False, None]
    check = checks.make(f'human:{path}(score="fluency+reasoning", least=9)')
    assert check.signature.endswith("#score=fluency+reasoning")
    assert "score" not in checks.make(f"human:{path}(column=fluency, least=9)").signature
    with refuses(BadInput, where="human", field="score", fix="give least= or above=, too"):
        checks.make(f"human:{path}(score=fluency)")


@pytest.mark.parametrize("options", ["", 'score="fluency+reasoning", least=9'])
def test_a_row_for_each_question_is_read_too(tmp_path, options):
    rows = [("a", "x", 5, 4, False), ("a", "y", 2, 2, False), ("a", "z", 5, 5, True), ("b", "x", 4, 4, False)]
    lines = [
        json.dumps({"variant": name, "annotator": who, "question": question, "answer": str(mark), "adjudicated": last})
        for name, who, fluency, reasoning, last in rows
        for question, mark in (("fluency", fluency), ("reasoning", reasoning))
    ]
    path = tmp_path / "verdicts.jsonl"
    path.write_text("\n".join(lines))
    assert [one.keep for one in judged(path, "a", "b", options=options)] == [True, False]


def test_the_address_of_a_server_is_no_file_and_its_password_is_not_shown():
    with refuses(BadInput, where="postgresql:/…") as caught:
        read_ballots(Path("postgresql://me:secret@127.0.0.1/verdicts"), "verdict")
    assert "secret" not in str(caught.value)
