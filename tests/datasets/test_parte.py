import csv
import json
from collections import Counter

import pytest

ROW = {
    "dataset": "RTE2_test.column",
    "corpus_sent_id": 485,
    "gold_label": True,
    "task": "SUM",
    "sentence1": "Insurgent attacks on pipelines have halted oil exports .",
    "sentence2": "Insurgents have attacked Iraq 's oil industry .",
    "s2_para_id": None,
    "silver_label": None,
    "s1_para_id": None,
}
HYPOTHESIS = {
    **ROW,
    "sentence2": "The oil industry was attacked.",
    "s2_para_id": "RTE2_test.column_s2_485_para2",
    "silver_label": True,
}
BOTH = {
    **HYPOTHESIS,
    "sentence1": "Attacks have halted oil exports.",
    "s1_para_id": "RTE2_test.column_s1_485_para1",
}
TABLE = {
    "id": "prte_3",
    "original_pair_premise": "Kidnappings , figures show , have increased .",
    "original_pair_hypothesis": 'Argentina sees "upsurge" .',
    "gold_label": "not_entailed",
    "original_pair_id": "RTE1_test.column_49_IR",
    "paraphrased_pair_premise": "Kidnappings , figures show , have increased .",
    "paraphrased_pair_hypothesis": "An upsurge is seen.",
    "paraphrased_pair_id": "RTE1_test.column_49_IR_h",
    "combined_original": "x",
    "combined_modified": "y",
    "jaccard": "0.75",
    "bert_para_pred": "1",
    "bert_orig_pred": "0",
}


def lines(path, *rows, end="\n", mark=""):
    path.write_bytes((mark + "".join(json.dumps(row) + end for row in rows)).encode())
    return path


def table(path, *rows, end="\r\n", encoding="utf-8"):
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.DictWriter(file, list(TABLE), lineterminator=end)
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize(("end", "mark"), [("\n", ""), ("\r\n", "\ufeff")])
def test_candidates_layout(tmp_path, take, end, mark):
    path = lines(tmp_path / "RTE_test_paraphrased.jsonl", HYPOTHESIS, ROW, BOTH, end=end, mark=mark)
    rows, _ = take(f"parte:{path}")
    original = "RTE2_test.column_485_SUM"
    assert [(r["id"], r["of"], r.get("side"), r["label"]) for r in rows] == [
        (original, None, None, "entailed"),
        (f"{original}_h2", original, "hypothesis", "entailed"),
        (f"{original}_p1h2", original, "both", "entailed"),
    ]
    assert rows[1]["premise"] == ROW["sentence1"]
    assert rows[1]["hypothesis"] == "The oil industry was attacked."
    assert rows[2]["premise"] == "Attacks have halted oil exports."
    assert (rows[0]["source_task"], rows[0]["dataset"], rows[1]["how"]) == (
        "SUM",
        "RTE2_test.column",
        "t5_paraphrase_paws",
    )


def test_candidate_whose_label_changed_is_refused(tmp_path, take):
    nameless = {**ROW, "corpus_sent_id": None}
    path = lines(tmp_path / "c.jsonl", ROW, {**HYPOTHESIS, "silver_label": False}, BOTH, nameless)
    rows, intake = take(f"parte:{path}", skip_bad=True)
    assert [r["id"] for r in rows] == ["RTE2_test.column_485_SUM", "RTE2_test.column_485_SUM_p1h2"]
    assert [(bad["where"], bad["field"]) for bad in intake.rejected] == [
        (f"{path}, line 2", "label"),
        (f"{path}, line 4", ""),
    ]
    assert "corpus_sent_id" in intake.rejected[1]["reason"]


def test_a_paraphrase_of_the_premise_alone_and_a_missing_silver_label(tmp_path, take):
    premise = {**BOTH, "sentence2": ROW["sentence2"], "s2_para_id": None, "silver_label": None}
    rows, _ = take(
        f"parte:{lines(tmp_path / 'c.jsonl', {**ROW, 'gold_label': False}, {**premise, 'gold_label': False})}"
    )
    assert [(r["id"][-6:], r.get("side"), r["label"]) for r in rows] == [
        ("85_SUM", None, "not-entailed"),
        ("SUM_p1", "premise", "not-entailed"),
    ]


@pytest.mark.parametrize(("end", "encoding"), [("\n", "utf-8"), ("\r\n", "utf-8-sig")])
def test_collated_layout(tmp_path, take, end, encoding):
    both = {
        **TABLE,
        "id": "prte_4",
        "paraphrased_pair_premise": "There are more.",
        "paraphrased_pair_id": "RTE1_test.column_49_IR_ph",
    }
    path = table(tmp_path / "collated_data_and_preds.csv", TABLE, both, end=end, encoding=encoding)
    rows, _ = take(f"parte:{path}")
    original = "RTE1_test.column_49_IR"
    assert [(r["id"], r["of"], r["premise"], r.get("side"), r.get("pair")) for r in rows] == [
        (original, None, "Kidnappings , figures show , have increased .", None, None),
        (f"{original}_h", original, "Kidnappings , figures show , have increased .", "hypothesis", "prte_3"),
        (f"{original}_ph", original, "There are more.", "both", "prte_4"),
    ]
    assert {r["label"] for r in rows} == {"not-entailed"}
    assert {r["source_task"] for r in rows} == {"IR"}
    assert rows[0]["hypothesis"] == 'Argentina sees "upsurge" .'
    assert (rows[1]["jaccard"], rows[1]["bert_para_pred"]) == ("0.75", "1")
    assert not [name for row in rows for name in row if name.startswith("combined")]


def test_collated_bad_rows(tmp_path, take):
    second = {**TABLE, "id": "prte_5", "paraphrased_pair_id": "RTE1_test.column_49_IR_p"}
    changed = {**second, "original_pair_hypothesis": "Something else ."}
    path = table(tmp_path / "c.csv", TABLE, changed, {**TABLE, "original_pair_id": ""}, second, end="\n")
    path.write_text(path.read_text() + "one cell\n")
    rows, intake = take(f"parte:{path}", skip_bad=True)
    assert [r["id"][-4:] for r in rows] == ["9_IR", "IR_h", "IR_p"]
    assert [bad["where"].rpartition(" ")[2] for bad in intake.rejected] == ["3", "4", "6"]
    assert "differs from its first mention" in intake.rejected[0]["reason"]
    assert "original_pair_id: found nothing" in intake.rejected[1]["reason"]
    assert "1 cells under" in intake.rejected[2]["reason"]


def test_candidates_as_released(originals, take):
    rows, intake = take(f"parte:{originals / 'parte' / 'RTE_test_paraphrased.jsonl'}")
    problems, restated = [r for r in rows if not r["of"]], [r for r in rows if r["of"]]
    assert Counter(r["label"] for r in problems) == {"entailed": 70, "not-entailed": 57}
    assert Counter(r["label"] for r in restated) == {"entailed": 42, "not-entailed": 31}
    assert Counter(r["side"] for r in restated) == {"hypothesis": 35, "premise": 27, "both": 11}
    assert intake.rejected == []
    text = {r["id"]: r for r in problems}
    for row in restated:
        assert (row["premise"] != text[row["of"]]["premise"]) == (row["side"] != "hypothesis")
        assert (row["hypothesis"] != text[row["of"]]["hypothesis"]) == (row["side"] != "premise")


def test_collated_as_released(originals, take):
    rows, intake = take(f"parte:{originals / 'parte' / 'collated_data_and_preds.csv'}")
    problems, restated = [r for r in rows if not r["of"]], [r for r in rows if r["of"]]
    assert len(problems) == 80
    assert Counter(r["label"] for r in restated) == {"entailed": 66, "not-entailed": 33}
    assert Counter(r["side"] for r in restated) == {"hypothesis": 54, "premise": 35, "both": 10}
    assert intake.rejected == []
    # Both files speak of the same problems under the same ids.
    others = {r["id"]: r for r in take(f"parte:{originals / 'parte' / 'RTE_test_paraphrased.jsonl'}")[0]}
    common = [r for r in problems if r["id"] in others]
    assert common
    for row in common:
        assert all(row[name] == others[row["id"]][name] for name in ("premise", "hypothesis", "label", "source_task"))
