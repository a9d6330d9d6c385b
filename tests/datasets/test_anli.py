import json

from refusals import refuses

from otherwords.errors import BadInput

ROW = {
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
    rows = [{**ROW, "uid": label, "label": label} for label in "enc"]
    path.write_bytes(b"\xef\xbb\xbf" + "".join(json.dumps(row) + "\r\n" for row in rows).encode())
    found, _ = take(f"anli:{path}")
    assert [(row["id"], row["label"]) for row in found] == [
        ("e", "entailment"),
        ("n", "neutral"),
        ("c", "contradiction"),
    ]
    assert found[0]["premise"] == ROW["context"]
    assert found[0]["reason"] == "It is about trolleybuses."
    assert found[0]["model_label"] == "e"


def test_anli_hidden_label_is_refused(tmp_path, take):
    path = tmp_path / "test.jsonl"
    path.write_text(json.dumps({**ROW, "label": "hidden"}) + "\n")
    with refuses(BadInput):
        take(f"anli:{path}")
