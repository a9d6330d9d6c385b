import json
from collections import Counter

import polars as pl
import pytest

ROW = {
    "DataSource": "SNLI",
    "AssignmentIdAnon": 10221,
    "WorkerIdAnon": 111,
    "Premise": "A young male is running while playing tennis.",
    "Hypothesis": "A man moves while playing a game",
    "SNLIPairId": "6556870225.jpg#3r1n",
    "Update": "The young male is a child.",
    "UpdateType": "weakener",
    "UpdateTypeImpossible": False,
    "UpdateTypeImpossibleReason": "{}",
}
IMPOSSIBLE = {**ROW, "Update": "", "UpdateTypeImpossible": True, "UpdateTypeImpossibleReason": "It just describes it."}


def written(path, *rows, end="\n", mark=""):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes((mark + "".join(json.dumps(row) + end for row in rows)).encode())
    return path


@pytest.mark.parametrize(("end", "mark"), [("\n", ""), ("\r\n", "\ufeff")])
def test_layout(tmp_path, take, end, mark):
    strong = {**ROW, "Update": "He runs.", "UpdateType": "strengthener"}
    path = written(tmp_path / "defeasible-snli" / "dev.jsonl", ROW, IMPOSSIBLE, strong, end=end, mark=mark)
    rows, intake = take(f"delta_nli:{path}")
    assert [(r["id"], r["label"], r["update"]) for r in rows] == [
        ("snli.dev.0", "weakener", "The young male is a child."),
        ("snli.dev.2", "strengthener", "He runs."),
    ]
    assert rows[0]["premise"] == ROW["Premise"]
    assert rows[0]["hypothesis"] == ROW["Hypothesis"]
    assert (rows[0]["SNLIPairId"], rows[0]["WorkerIdAnon"]) == ("6556870225.jpg#3r1n", 111)
    assert rows[0]["cluster"] == rows[1]["cluster"]
    assert intake.no_majority == 1
    assert not intake.rejected


@pytest.mark.parametrize("premise", [{"Premise": None}, {"Premise": ""}, {}])
def test_social_has_no_premise(tmp_path, take, premise):
    kept = ("Hypothesis", "Update", "UpdateType", "UpdateTypeImpossible")
    row = {"DataSource": "SOCIAL-CHEM-101", **premise, **{name: ROW[name] for name in kept}}
    rows, _ = take(f"delta_nli:{written(tmp_path / 'defeasible-social' / 'test.jsonl', row)}")
    assert (rows[0]["id"], rows[0]["premise"]) == ("social.test.0", "")


def test_an_empty_update_without_the_mark_is_bad(tmp_path, take):
    path = written(tmp_path / "d" / "dev.jsonl", ROW, {**ROW, "Update": " "}, {**ROW, "UpdateType": "neither"})
    rows, intake = take(f"delta_nli:{path}", skip_bad=True)
    assert len(rows) == 1
    assert [(bad["where"], bad["field"]) for bad in intake.rejected] == [
        (f"{path}, line 2", "update"),
        (f"{path}, line 3", "label"),
    ]


@pytest.mark.parametrize(
    ("source", "labels", "left_out"),
    [
        ("snli", {"strengthener": 139, "weakener": 137}, 24),
        ("atomic", {"strengthener": 140, "weakener": 139}, 21),
    ],
)
def test_as_released(originals, shared, take, source, labels, left_out):
    rows, intake = take(f"delta_nli:{originals / 'defeasible-nli' / f'defeasible-{source}' / 'test.jsonl'}")
    assert Counter(row["label"] for row in rows) == labels
    assert (intake.no_majority, intake.rejected) == (left_out, [])
    # ParaNLU's authors gave the same ids to the same problems: their gold labels (1 = strengthener) agree.
    released = pl.read_parquet(shared / "paranlu" / "pred_testset.parquet", columns=["example_id", "gold"])
    gold = dict(released.unique().iter_rows())
    assert all(gold[row["id"]] == (row["label"] == "strengthener") for row in rows)
