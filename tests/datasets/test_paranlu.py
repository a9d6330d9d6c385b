import json
from collections import Counter

import pytest
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.registry import datasets

ABDUCTIVE = {
    "example_id": "anli.test.7",
    "source_example_metadata": {"story_id": "s-1"},
    "obs1": "I had a dog.",
    "obs2": "He brought her home.",
    "hyp1": "She ran off.",
    "hyp2": "She slept.",
    "label": 1,
    "modeling_label": 0,
    "annotated_paraphrases": None,
}
DEFEASIBLE = {
    "example_id": "social.train.9",
    "premise_hypothesis_id": "social.train.3",
    "data_source": "social-chem-101",
    "source_example_metadata": {"SocialChemROT": "Be nice."},
    "premise": "",
    "hypothesis": "Be nice.",
    "update": "They are in hospital.",
    "update_type": "strengthener",
    "label": 1,
    "annotated_paraphrases": None,
}


def paraphrase(original, number, **changed):
    fields = ("hyp1", "hyp2", "obs1", "obs2") if "obs1" in original else ("update", "premise", "hypothesis")
    return {
        "paraphrase_id": f"{original['example_id']}.W.{number}",
        "original_example": original,
        "original_example_id": original["example_id"],
        **{f"{field}_paraphrase": changed.get(field) for field in fields},
        "worker_id": "w0001",
        "automatic_system_metadata": changed.get("system"),
    }


def written(path, buckets):
    path.write_text(buckets if isinstance(buckets, str) else json.dumps(buckets), encoding="utf-8-sig")
    return path


def test_abductive_layout(tmp_path, take):
    other = {**ABDUCTIVE, "example_id": "anli.test.8", "label": 2, "source_example_metadata": None}
    buckets = {
        "anli.test.7": [
            paraphrase(ABDUCTIVE, 0, hyp1="She escaped.", hyp2="She dozed."),
            paraphrase(ABDUCTIVE, 1, hyp1="She ran off.", hyp2="She slept."),
        ],
        "anli.test.8": [paraphrase(other, 0, hyp1="She fled.", hyp2="She napped.", system={"model": "t5"})],
    }
    rows, _ = take(f"paranlu:{written(tmp_path / 'anli_paraphrases_human.json', buckets)}")
    assert [(r["id"], r["of"], r["how"], r["hyp1"], r["hyp2"], r["label"]) for r in rows] == [
        ("anli.test.7", None, None, "She ran off.", "She slept.", "hyp1"),
        ("anli.test.7.W.0", "anli.test.7", "human", "She escaped.", "She dozed.", "hyp1"),
        ("anli.test.7.W.1", "anli.test.7", "human", "She ran off.", "She slept.", "hyp1"),
        ("anli.test.8", None, None, "She ran off.", "She slept.", "hyp2"),
        ("anli.test.8.W.0", "anli.test.8", "automatic", "She fled.", "She napped.", "hyp2"),
    ]
    assert {r["obs1"] for r in rows} == {"I had a dog."}
    assert (rows[0]["story_id"], rows[1]["worker"]) == ("s-1", "w0001")
    assert "worker" not in rows[0]


def test_defeasible_layout(tmp_path, take):
    buckets = {"social.train.9": [paraphrase(DEFEASIBLE, 0, update="A doctor sees them.")]}
    (problem, variant), _ = take(f"paranlu:{written(tmp_path / 'social.json', buckets)}")
    assert (problem["update"], variant["update"]) == ("They are in hospital.", "A doctor sees them.")
    assert problem["label"] == variant["label"] == "strengthener"
    assert problem["cluster"] == variant["cluster"] == "social.train.3"
    assert variant["premise"] == ""
    assert variant["data_source"] == "social-chem-101"
    assert variant["SocialChemROT"] == "Be nice."


def test_bad_buckets_and_paraphrases_are_pinned(tmp_path, take):
    stranger = {**DEFEASIBLE, "update": "Another update."}
    good = paraphrase(DEFEASIBLE, 0, update="A doctor sees them.")
    buckets = {
        "empty": [],
        "odd": "text",
        "b": [
            good,
            "text",
            paraphrase(stranger, 1, update="x"),
            paraphrase(DEFEASIBLE, 2),
            paraphrase(DEFEASIBLE, 3, update=""),
        ],
        "abductive": [paraphrase(ABDUCTIVE, 0, hyp1="She escaped.", hyp2="She dozed.")],
    }
    path = written(tmp_path / "d.json", buckets)
    rows, intake = take(f"paranlu:{path}", skip_bad=True)
    assert [r["of"] for r in rows] == [None, "b"]
    found = {bad["where"].removeprefix(f"{path}, bucket "): bad["reason"] for bad in intake.rejected}
    for where, reason in {
        "empty": "found no paraphrase with an original_example",
        "odd": "found no paraphrase with an original_example",
        "b, paraphrase 2": "found str, not a JSON object",
        "b, paraphrase 3": "its original_example is not that of the bucket",
        "b, paraphrase 4": "found no paraphrase of any field",
        "b, paraphrase 5": "update: found an empty text",
        "abductive": "hypothesis: no such column",
        "abductive, paraphrase 1": "found no paraphrase of any field",
    }.items():
        assert reason in found.pop(where)
    assert not found


@pytest.mark.parametrize(
    "content",
    [
        '{\n"a": [\n}',
        "[]",
        "{}",
        {"a": [{"original_example": {"premise": "x"}}]},
    ],
)
def test_files_of_another_layout(tmp_path, content):
    with refuses(BadInput):
        datasets.make(f"paranlu:{written(tmp_path / 'd.json', content)}")


def test_files_that_cannot_be_read(tmp_path):
    with refuses(BadInput):
        datasets.make(f"paranlu:{tmp_path / 'gone.json'}")
    (tmp_path / "latin.json").write_bytes(b'{"a": "\xe9"}')
    with refuses(BadInput):
        datasets.make(f"paranlu:{tmp_path / 'latin.json'}")


@pytest.mark.parametrize(
    ("file", "labels", "variants", "clusters"),
    [
        ("abductive/anli_paraphrases_human.json", {"hyp1": 35, "hyp2": 25}, 500, 59),
        ("abductive/anli_paraphrases_human_large.json", {"hyp1": 31, "hyp2": 29}, 521, 60),
        ("defeasible/snli/snli_paraphrases_human.json", {"weakener": 34, "strengthener": 26}, 441, 44),
        ("defeasible/atomic/atomic_paraphrases_human.json", {"weakener": 35, "strengthener": 25}, 450, 55),
        ("defeasible/social/social_paraphrases_human.json", {"weakener": 31, "strengthener": 29}, 426, 43),
    ],
)
def test_as_released(originals, take, file, labels, variants, clusters):
    path = originals / "paraphrase-nlu" / "annotated_data" / file
    rows, intake = take(f"paranlu:{path}")
    problems = [row for row in rows if row["of"] is None]
    restated = [row for row in rows if row["of"]]
    assert Counter(row["label"] for row in problems) == labels
    assert len({row["id"] for row in restated}) == len(restated) == variants
    assert len({row["cluster"] for row in rows}) == clusters
    assert {row["how"] for row in restated} == {"human"}
    assert all(row["worker"].startswith("w") for row in restated)
    assert intake.rejected == []
    # The texts, against the file itself.
    target = "hyp2" if "abductive" in file else "update"
    released = [p[f"{target}_paraphrase"] for bucket in json.loads(path.read_text()).values() for p in bucket]
    assert [row[target] for row in restated] == released
