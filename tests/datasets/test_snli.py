import json
from collections import Counter

import pytest
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.registry import datasets

SNLI = {
    "annotator_labels": ["neutral", "entailment", "neutral", "neutral", "neutral"],
    "captionID": "4705552913.jpg#2",
    "gold_label": "neutral",
    "pairID": "4705552913.jpg#2r1n",
    "sentence1": "Two women are embracing.",
    "sentence1_binary_parse": "( ( Two women ) ... )",
    "sentence1_parse": "(ROOT (S ...))",
    "sentence2": "The sisters are hugging goodbye.",
    "sentence2_binary_parse": "( ( The sisters ) ... )",
    "sentence2_parse": "(ROOT (S ...))",
}
GLUE = (
    "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\t"
    "sentence2_parse\tsentence1\tsentence2\tlabel1\tgold_label\n"
    '0\t63735\t63735n\tslate\t( x )\t( y )\t(ROOT x)\t(ROOT y)\t"The new rights are nice\tThey are.\tneutral\tneutral\n'
    "1\t91383\t91383c\tgovernment\t( x )\t( y )\t(ROOT x)\t(ROOT y)\tThis site.\tNo site.\tneutral\tcontradiction\n"
)


def written(path, *rows, end="\n", mark=""):
    path.write_bytes((mark + "".join(json.dumps(row) + end for row in rows)).encode())
    return path


@pytest.mark.parametrize(("end", "mark"), [("\n", ""), ("\r\n", ""), ("\r\n", "\ufeff")])
def test_snli_layout(tmp_path, take, end, mark):
    undecided = {**SNLI, "pairID": "other", "gold_label": "-"}
    path = written(tmp_path / "snli_1.0_dev.jsonl", SNLI, undecided, end=end, mark=mark)
    (row,), intake = take(f"snli:{path}")
    assert (row["id"], row["label"], row["of"]) == ("4705552913.jpg#2r1n", "neutral", None)
    assert row["premise"] == "Two women are embracing."
    assert row["hypothesis"] == "The sisters are hugging goodbye."
    assert json.loads(row["annotator_labels"]) == SNLI["annotator_labels"]
    assert row["captionID"] == "4705552913.jpg#2"
    assert not [name for name in row if "parse" in name]
    assert intake.no_majority == 1


def test_snli_bad_rows_are_pinned(tmp_path, take):
    unlabelled = {name: value for name, value in SNLI.items() if name != "gold_label"}
    path = written(tmp_path / "dev.jsonl", SNLI, SNLI, {**SNLI, "pairID": "x", "sentence2": ""}, unlabelled)
    with refuses(BadInput):
        take(f"snli:{path}")
    rows, intake = take(f"snli:{path}", skip_bad=True)
    assert len(rows) == 1
    assert [(bad["where"].rpartition(" ")[2], bad["field"]) for bad in intake.rejected] == [
        ("2", "id"),
        ("3", "hypothesis"),
        ("4", "label"),
    ]


def test_snli_as_released(originals, take):
    rows, intake = take(f"snli:{originals / 'snli_1.0' / 'snli_1.0_dev.jsonl'}")
    assert Counter(row["label"] for row in rows) == {"contradiction": 103, "neutral": 97, "entailment": 96}
    assert intake.no_majority == 4
    assert len({row["id"] for row in rows}) == 296
    assert len(json.loads(rows[0]["annotator_labels"])) == 5


def test_mnli_jsonl_layout(tmp_path, take):
    row = {**SNLI, "pairID": "63735n", "promptID": "63735", "genre": "slate"}
    rows, _ = take(f"mnli:{written(tmp_path / 'multinli_1.0_dev_matched.jsonl', row)}")
    assert (rows[0]["id"], rows[0]["genre"], rows[0]["label"]) == ("63735n", "slate", "neutral")


@pytest.mark.parametrize("name", ["dev_matched.tsv", "multinli_1.0_dev_matched.txt", "DEV.TSV"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_mnli_tables_are_not_quoted(tmp_path, take, name, end):
    path = tmp_path / name
    path.write_bytes(GLUE.replace("\n", end).encode())
    rows, _ = take(f"mnli:{path}")
    assert [(r["id"], r["label"], r["genre"]) for r in rows] == [
        ("63735n", "neutral", "slate"),
        ("91383c", "contradiction", "government"),
    ]
    assert rows[0]["premise"] == '"The new rights are nice'
    assert not [column for column in rows[0] if "parse" in column]


def test_mnli_test_set_of_glue_has_no_labels(tmp_path, take):
    path = tmp_path / "test_matched.tsv"
    path.write_text("index\tpairID\tsentence1\tsentence2\n0\t1n\tA.\tB.\n")
    with pytest.warns(UserWarning, match="no column `label`"):
        [row], _ = take(f"mnli:{path}")
    assert (row["premise"], row["label"]) == ("A.", None)


def test_breaking_nli_layout(tmp_path, take):
    row = {
        "sentence1": "A man holds a saxophone.",
        "category": "instruments",
        "gold_label": "contradiction",
        "annotator_labels": ["contradiction"] * 3,
        "pairID": 3107,
        "sentence2": "A man holds a guitar.",
    }
    path = written(tmp_path / "dataset.jsonl", row)
    assert [record.row["id"] for record in datasets.make(f"breaking_nli:{path}").function()][1:] == [
        "breaking_nli-3107"
    ]
    rows, _ = take(f"breaking_nli:{path}")
    assert [(r["id"], r["of"], r["label"], r["contrast"], r.get("category")) for r in rows] == [
        (rows[0]["id"], None, "entailment", "breaking_nli", None),
        ("breaking_nli-3107", rows[0]["id"], "contradiction", "breaking_nli", "instruments"),
    ]
    assert rows[0]["premise"] == rows[0]["hypothesis"] == rows[1]["premise"]
    assert rows[0]["cluster"] == rows[1]["cluster"]


def test_breaking_nli_asks_a_premise_of_itself_once(tmp_path, take):
    """Wherever its contrasts stand in the file, and by the same name in any part of it."""
    rows = [
        {"sentence1": premise, "sentence2": f"H{n}.", "gold_label": "neutral", "pairID": n}
        for n, premise in enumerate(["A.", "B.", "A."])
    ]
    found, _ = take(f"breaking_nli:{written(tmp_path / 'dataset.jsonl', *rows)}")
    originals = {row["premise"]: row["id"] for row in found if row["of"] is None}
    assert sorted(originals) == ["A.", "B."]
    assert [row["of"] for row in found if row["of"]] == [originals["A."], originals["B."], originals["A."]]
    part, _ = take(f"breaking_nli:{written(tmp_path / 'part.jsonl', rows[2])}")
    assert part[0]["id"] == originals["A."]


def test_breaking_nli_bad_rows_are_pinned(tmp_path, take):
    path = written(tmp_path / "dataset.jsonl", {"sentence2": "H.", "gold_label": "neutral", "pairID": 1})
    with refuses(BadInput):
        take(f"breaking_nli:{path}")


def test_breaking_nli_as_released(originals, take):
    rows, _ = take(f"breaking_nli:{originals / 'breaking_nli' / 'dataset.jsonl'}")
    contrasts = [row for row in rows if row["of"]]
    assert Counter(row["label"] for row in contrasts) == {"contradiction": 246, "entailment": 50, "neutral": 4}
    assert Counter(row["category"] for row in contrasts).most_common(2) == [("drinks", 50), ("instruments", 45)]
    assert all(isinstance(row["id"], str) for row in rows)
    assert {row["contrast"] for row in rows} == {"breaking_nli"}


def test_breaking_nli_whole(shared, take):
    """8,193 pairs on 1,796 premises, 982 of them entailed: counted in the table by itself."""
    rows, _ = take(f"breaking_nli:{shared / 'breaking_nli' / 'breaking_nli.parquet'}")
    assert Counter(row["of"] is None for row in rows) == {False: 8193, True: 1796}
    changed = Counter(row["label"] for row in rows if row["of"])
    assert changed == {"contradiction": 7164, "neutral": 47, "entailment": 982}
    assert {row["label"] for row in rows if row["of"] is None} == {"entailment"}


ANLI_ROW = {
    "uid": "8a91e1a2-9a32-4fd9-b1b6-bd2ee2287c8f",
    "hypothesis": "There are two songs.",
    "context": "The Parma trolleybus system forms part of the public transport network.",
    "label": "c",
    "model_label": "e",
    "emturk": False,
    "genre": "wikipedia",
    "reason": "It is about trolleybuses.",
    "tag": "",
}


def test_anli_layout(tmp_path, take):
    path = tmp_path / "dev.jsonl"
    rows = [{**ANLI_ROW, "uid": label, "label": label} for label in "enc"]
    path.write_bytes(b"\xef\xbb\xbf" + "".join(json.dumps(row) + "\r\n" for row in rows).encode())
    found, _ = take(f"anli:{path}")
    assert [(row["id"], row["label"]) for row in found] == [
        ("e", "entailment"),
        ("n", "neutral"),
        ("c", "contradiction"),
    ]
    assert found[0]["premise"] == ANLI_ROW["context"]
    assert found[0]["reason"] == "It is about trolleybuses."
    assert found[0]["model_label"] == "e"


def test_anli_hidden_label_is_refused(tmp_path, take):
    path = tmp_path / "test.jsonl"
    path.write_text(json.dumps({**ANLI_ROW, "label": "hidden"}) + "\n")
    with refuses(BadInput):
        take(f"anli:{path}")
