"""Shares among sound variants, from a table or a run and verdicts: `score(..., verdicts=...)`."""

from __future__ import annotations

import sqlite3

import numpy as np
import polars as pl
import pytest

import otherwords as ow
from otherwords.errors import BadInput
from otherwords.validity.people import COLUMNS


@pytest.fixture(scope="module")
def answers():
    """Two models' answers to 60 problems with four rewordings each; the second never flips."""
    random = np.random.default_rng(6)
    rows = []
    for model, rate in (("loose", 0.3), ("steady", 0.0)):
        for bucket in range(60):
            common = {"model": model, "bucket": f"b{bucket}", "gold": "yes", "cluster": f"c{bucket}"}
            rows.append({**common, "variant": None, "pred": "yes", "how": None, "score": None})
            for number in range(4):
                flip = random.random() < rate
                made = {"variant": f"b{bucket}-{number}", "how": "one" if number % 2 else "two"}
                rows.append({**common, **made, "pred": "no" if flip else "yes", "score": 0.5 + number / 8})
    return pl.DataFrame(rows)


@pytest.fixture(scope="module")
def verdicts(answers):
    """Half of the variants judged by two people; of every sixth, flips first, people find that it is unsound."""
    own = answers.filter(pl.col("model") == "loose", pl.col("variant").is_not_null())
    rows = []
    for place, row in enumerate(own.iter_rows(named=True)):
        if place % 2 == 0:
            sound = "unsound" if row["pred"] == "no" and place % 6 == 0 else "sound"
            common = {"bucket": row["bucket"], "variant": row["variant"], "form": "sound", "question": "sound"}
            common |= {"answer": sound, "probability": 0.5, "batch": 1}
            rows += [{**common, "annotator": who} for who in ("P1", "P2")]
    return pl.DataFrame(rows)


def plain(answers, verdicts, model):
    """The weighted share by hand: flips among the judged variants that are sound."""
    sound = verdicts.filter(pl.col("answer") == "sound")["variant"].unique().to_list()
    own = answers.filter(pl.col("model") == model, pl.col("variant").is_in(sound))
    return (own["pred"] == "no").mean()


def test_rows_of_each_model(answers, verdicts):
    scores = ow.score(answers, "flip_rate", verdicts=verdicts)
    names = [one.metric for one in scores if one.model == "loose"]
    assert names == ["flip_rate", "sound_rate", "flip_rate_sound", "flip_rate_sound:people",
                     "flip_rate_sound:two_strata", "accuracy_sound", "accuracy_sound:people",
                     "accuracy_sound:two_strata"]  # fmt: skip
    loose = {one.metric: one for one in scores if one.model == "loose"}
    assert loose["flip_rate_sound:people"].value == pytest.approx(plain(answers, verdicts, "loose"))
    assert loose["sound_rate"].value == pytest.approx((verdicts["answer"] == "sound").mean())
    corrected, alone = loose["flip_rate_sound"], loose["flip_rate_sound:people"]
    assert corrected.value < loose["flip_rate"].value
    assert corrected.high - corrected.low < alone.high - alone.low
    assert corrected.value == pytest.approx(1 - loose["accuracy_sound"].value, abs=0.02)  # here a flip is an error
    assert (corrected.n_clusters, corrected.n_units, corrected.n_answers) == (60, 60, 240)
    assert corrected.note.startswith("120 of 240 variants judged; no judge, trusted 0.")
    steady = {one.metric: one for one in scores if one.model == "steady"}
    assert (steady["flip_rate_sound"].value, steady["flip_rate_sound"].low) == (0, 0)
    assert steady["flip_rate_sound"].high > 0.05


def test_two_people_who_are_divided_find_it_unsound_until_somebody_decides(answers, verdicts):
    first = verdicts["variant"][0]
    divided = verdicts.with_columns(
        pl.when(pl.col("annotator") == "P2", pl.col("variant") == first).then(pl.lit("unsound")).otherwise("answer")
        .alias("answer")
    )  # fmt: skip
    decided = {**divided.row(0, named=True), "annotator": "A", "answer": "sound", "adjudicated": True}
    both = pl.concat([divided.with_columns(adjudicated=pl.lit(False)), pl.DataFrame([decided])])
    loose = answers.filter(model="loose")
    rates = [ow.score(loose, "flip_rate", verdicts=one)["sound_rate"].value for one in (verdicts, divided, both)]
    assert rates[0] == rates[2] > rates[1]


def test_groups_have_their_own(answers, verdicts):
    only = verdicts.filter(pl.col("variant").str.ends_with("0"))
    with pytest.warns(UserWarning, match="rest on 60 verdicts in 60 clusters; their intervals were tried from 100"):
        scores = ow.score(answers.filter(model="loose"), "flip_rate", by="how", verdicts=only)
    found = {one.group: one for one in scores if one.metric == "flip_rate_sound"}
    assert found["how=two"].value is not None
    assert found["how=one"].value is None
    assert found["how=one"].note == "no verdict on these variants: unsound= SHARE gives bounds"


def test_a_judge_is_a_column_of_the_answers_or_of_a_check(answers, verdicts):
    named = answers.rename({"score": "check:stack:score"})
    by_default, by_name, by_column, without = (
        ow.score(table, "flip_rate", verdicts=verdicts, judge=judge).where(model="loose")["flip_rate_sound"]
        for table, judge in ((named, ""), (named, "stack"), (answers, "score"), (answers, ""))
    )
    assert by_default == by_name
    assert "judge check:stack:score" in by_name.note
    assert by_column.value == by_name.value != without.value
    with pytest.raises(BadInput, match="judge: no such column or check; available: check:stack:score"):
        ow.score(named, "flip_rate", verdicts=verdicts, judge="other")
    with pytest.raises(BadInput, match="judge: how has no such scores"):
        ow.score(named, "flip_rate", verdicts=verdicts, judge="how")


def test_bounds_need_no_verdicts(answers):
    scores = ow.score(answers.filter(model="loose"), "flip_rate", unsound=0.1)
    flips, least, most = scores["flip_rate"], scores["flip_rate_sound:least"], scores["flip_rate_sound:most"]
    assert least.value == pytest.approx((flips.value - 0.1) / 0.9)
    assert most.value == pytest.approx(flips.value / 0.9)
    assert least.low == pytest.approx((flips.low - 0.1) / 0.9, abs=0.01)
    assert most.high == pytest.approx(flips.high / 0.9, abs=0.01)


def test_verdicts_may_be_a_database_a_file_or_ratings(answers, verdicts, tmp_path):
    whole = verdicts.with_columns(seconds=pl.lit(None, pl.Float64), adjudicated=pl.lit(False)).select(list(COLUMNS))
    with sqlite3.connect(tmp_path / "verdicts.db") as file:
        file.execute(f"CREATE TABLE kept ({', '.join(COLUMNS)})")
        file.executemany(f"INSERT INTO kept VALUES ({', '.join('?' * len(COLUMNS))})", whole.rows())
        file.execute("CREATE VIEW verdicts AS SELECT * FROM kept")
    file.close()
    verdicts.write_csv(tmp_path / "verdicts.csv")
    marks = verdicts.with_columns(
        question=pl.lit("q"), answer=pl.when(answer="sound").then(pl.lit("5")).otherwise(pl.lit("2"))
    )
    table = ow.score(answers, "flip_rate", verdicts=verdicts).where(model="loose")
    for given, rule in ((tmp_path / "verdicts.db", ""), (str(tmp_path / "verdicts.csv"), ""), (marks, "q>=3")):
        found = ow.score(answers, "flip_rate", verdicts=given, sound=rule).where(model="loose")
        assert [one.value for one in found] == [one.value for one in table]


def test_labels_are_sound_where_they_are_right(answers, verdicts):
    said = verdicts.with_columns(
        question=pl.lit("label"), answer=pl.when(answer="sound").then(pl.lit("Yes ")).otherwise(pl.lit("no"))
    )
    scores = [ow.score(answers, "flip_rate", verdicts=one).where(model="loose") for one in (verdicts, said)]
    assert [one.value for one in scores[0]] == [one.value for one in scores[1]]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sound": "sound"}, "sound: needs verdicts of people; name them with verdicts="),
        ({"judge": "score"}, "judge: needs verdicts of people; name them with verdicts="),
        ({"unsound": 1.0}, "unsound: found 1; give the greatest part of variants that may be unsound"),
        ({"verdicts": [{"id": "other", "verdict": "yes"}]}, "the verdicts: variant: no verdict concerns a variant"),
        ({"verdicts": [{"id": "b0-0", "bucket": "b", "verdict": "yes"}]}, "the verdicts: variant: no verdict concerns"),
        (
            {"verdicts": [{"id": "b0-0", "question": "label", "answer": "E"}]},
            "the verdicts: label: found 'E'; the labels in the answers are no, yes",
        ),
        (
            {"verdicts": [{"id": f"b{n}-0", "verdict": "yes", "probability": (0.5, None)[n]} for n in (0, 1)]},
            "the verdicts: probability: batch 1 lacks some; give all of a batch a probability, or none",
        ),
        ({"verdicts": [{"id": "b0-0", "verdict": "yes"}], "sound": "x>"}, "sound: cannot read 'x>'; write QUESTION"),
        (
            {"verdicts": [{"id": "b0-0", "verdict": "yes"}], "pool_templates": True},
            "verdicts: verdicts are on variants",
        ),
    ],
)
def test_what_cannot_be_scored_is_refused(answers, settings, message):
    with pytest.raises(BadInput) as caught:
        ow.score(answers.with_columns(template=pl.lit(None, pl.String)), "flip_rate", **settings)
    assert str(caught.value).startswith(message)


def test_what_is_wrong_with_verdicts_is_said_before_anything_is_measured(answers):
    measured = []
    with pytest.raises(BadInput, match="no such file"):
        ow.score(answers, [lambda table: measured.append(table) or 0.0], verdicts="nowhere.csv")
    assert not measured


def test_verdicts_on_other_variants_are_counted(answers, verdicts):
    for name, shown in (("gone", "gone"), ("b0-0", "b0-0 of b")):
        more = pl.concat([verdicts, verdicts[:2].with_columns(variant=pl.lit(name), bucket=pl.lit("b"))])
        with pytest.warns(UserWarning, match=f"1 of 121 verdicts concern variants without answers, such as '{shown}'"):
            ow.score(answers, "flip_rate", verdicts=more)


@pytest.mark.filterwarnings("ignore:.*rest on 1.. verdicts in 41 clusters")
def test_of_a_run_the_checks_judge(tmp_path):
    """A run's own scores of a check are the judge, without being named."""
    study = ow.Study(data=["everyday"], vary=["recorded"], check=["overlap(most=1)"], models=["scripted"], canary=False)
    ow.run(study, out=tmp_path / "run")
    table = pl.concat(pl.read_parquet(one) for one in sorted((tmp_path / "run" / "answers").rglob("*.parquet")))
    names = table.drop_nulls("variant")["variant"].to_list()[::2]
    given = [{"id": name, "verdict": "yes" if place % 5 else "no"} for place, name in enumerate(names)]
    found = ow.score(tmp_path / "run", ["accuracy_variants"], verdicts=given)["accuracy_sound"]
    assert "judge check:overlap:score" in found.note
    assert found.low < found.value < found.high
