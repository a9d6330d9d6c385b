import json

import pytest
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.registry import datasets


def row(story, **more):
    texts = {"obs1": "It rained.", "obs2": "She was dry.", "hyp1": "She had an umbrella.", "hyp2": "She had none."}
    return {"story_id": story, **texts, **more}


def written(path, *rows, end="\n"):
    path.write_bytes("".join(line if isinstance(line, str) else json.dumps(line) + end for line in rows).encode())
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_labels_next_to_the_file(tmp_path, take, end, mark):
    path = written(tmp_path / "dev.jsonl", row("s"), row("t"), row("s"), end=end)
    (tmp_path / "dev-labels.lst").write_bytes((mark + "1\n2\n2\n").replace("\n", end).encode())
    rows, _ = take(f"alpha_nli:{path}")
    assert [(r["id"], r["label"], r["cluster"], r["story_id"]) for r in rows] == [
        ("s-1", "hyp1", "s", "s"),
        ("t-1", "hyp2", "t", "t"),
        ("s-2", "hyp2", "s", "s"),
    ]
    assert rows[0]["hyp1"] == "She had an umbrella."


def test_labels_elsewhere(tmp_path, take):
    path = written(tmp_path / "dev.jsonl", row("s"))
    (tmp_path / "gold.txt").write_text("2")
    spec = f"alpha_nli(path={path}, labels_path={tmp_path / 'gold.txt'})"
    assert [r["label"] for r in take(spec)[0]] == ["hyp2"]
    assert datasets.make(spec).function.files == (path, tmp_path / "gold.txt")


def test_labels_in_the_row(tmp_path, take):
    path = written(tmp_path / "dev.jsonl", row("s", label=1), row("s", label="2"))
    assert [r["label"] for r in take(f"alpha_nli:{path}")[0]] == ["hyp1", "hyp2"]


def test_labels_nowhere(tmp_path, take):
    path = written(tmp_path / "dev.jsonl", row("s"))
    with refuses(BadInput):
        take(f"alpha_nli:{path}")


@pytest.mark.parametrize("labels", ["1\n", "1\n2\n1\n", "1\n\n2\n", ""])
def test_as_many_labels_as_problems(tmp_path, take, labels):
    path = written(tmp_path / "dev.jsonl", row("s"), row("t"))
    (tmp_path / "dev-labels.lst").write_text(labels)
    with refuses(BadInput):
        take(f"alpha_nli:{path}")


def test_labels_file_that_is_not_there(tmp_path, take):
    path = written(tmp_path / "dev.jsonl", row("s", label=1))
    with refuses(BadInput):
        take(f"alpha_nli(path={path}, labels_path={tmp_path / 'gone.lst'})")


def test_bad_rows_do_not_shift_the_labels(tmp_path, take):
    lines = (row("s"), "{broken\n", row(None), row("t"), row("u", label=1), row("v"))
    path = written(tmp_path / "dev.jsonl", *lines)
    (tmp_path / "dev-labels.lst").write_text("1\n1\n1\n2\n2\n3\n")
    rows, intake = take(f"alpha_nli:{path}", skip_bad=True)
    assert [(r["id"], r["label"]) for r in rows] == [("s-1", "hyp1"), ("t-1", "hyp2")]
    reasons = [bad["reason"] for bad in intake.rejected]
    assert [bad["where"].rpartition(" ")[2] for bad in intake.rejected] == ["2", "3", "5", "6"]
    assert "broken JSON" in reasons[0]
    assert "story_id: found nothing" in reasons[1]
    assert "label: found 1, but" in reasons[2]
    assert "found '3'" in reasons[3]
