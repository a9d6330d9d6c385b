import sys

import pytest
from refusals import refuses

from otherwords.errors import BadInput, MissingExtra
from otherwords.registry import datasets

library = pytest.importorskip("datasets")
COLUMNS = {
    "premise": ["It rains.", "It snows.", "It hails."],
    "hypothesis": ["It is wet."] * 3,
    "label": [0, 2, -1],
}
LABELS = ("entailment", "neutral", "contradiction")


@pytest.fixture(autouse=True)
def _offline(tmp_path, monkeypatch):
    """No test reaches for the hub or leaves anything in the user's cache."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


def table(**options):
    text = library.Value("string")
    features = library.Features({"premise": text, "hypothesis": text, "label": library.ClassLabel(names=list(LABELS))})
    return library.Dataset.from_dict(COLUMNS, features=features, **options)


def test_saved_table_with_class_labels(tmp_path, take):
    table().save_to_disk(str(tmp_path / "saved"))
    rows, intake = take(f"hf:{tmp_path / 'saved'}", "nli")
    assert [(r["id"], r["premise"], r["label"]) for r in rows] == [
        ("1", "It rains.", "entailment"),
        ("2", "It snows.", "contradiction"),
    ]
    assert intake.no_majority == 1
    assert datasets.make(f"hf:{tmp_path / 'saved'}").function.files == (tmp_path / "saved",)


def test_a_missing_class_label_is_a_bad_row(tmp_path, take):
    features = library.Features({**table().features})
    saved = library.Dataset.from_dict({**COLUMNS, "label": [1, None, 0]}, features=features)
    saved.save_to_disk(str(tmp_path / "saved"))
    rows, intake = take(f"hf:{tmp_path / 'saved'}", "nli", skip_bad=True)
    assert [r["label"] for r in rows] == ["neutral", "entailment"]
    assert intake.rejected[0]["where"] == f"{tmp_path / 'saved'}, test row 2"


def test_saved_splits(tmp_path, take):
    library.DatasetDict({"train": table(), "dev": table().select([1])}).save_to_disk(str(tmp_path / "saved"))
    rows, _ = take(f"hf(name={tmp_path / 'saved'}, split=dev)", "nli")
    assert [r["premise"] for r in rows] == ["It snows."]
    with refuses(BadInput):
        take(f"hf:{tmp_path / 'saved'}", "nli")


def test_a_saved_table_that_knows_its_split(tmp_path, take):
    table(split="train").save_to_disk(str(tmp_path / "saved"))
    assert len(take(f"hf(name={tmp_path / 'saved'}, split=train)", "nli")[0]) == 2
    with refuses(BadInput):
        take(f"hf:{tmp_path / 'saved'}", "nli")


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_local_files(tmp_path, take, ending):
    path = tmp_path / f"some.{ending}"
    plain = library.Dataset.from_dict({**COLUMNS, "label": ["entailment", "contradiction", "-"]})
    {"jsonl": plain.to_json, "csv": plain.to_csv, "parquet": plain.to_parquet}[ending](str(path))
    rows, intake = take(f"hf:{path}", "nli")
    assert [r["label"] for r in rows] == ["entailment", "contradiction"]
    assert intake.no_majority == 1


def test_local_folder_lists_its_splits(tmp_path, take):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "train.jsonl").write_text('{"premise": "A.", "hypothesis": "B.", "label": "neutral"}\n')
    rows, _ = take(f"hf(name={folder}, split=train)", "nli")
    assert [r["premise"] for r in rows] == ["A."]
    with refuses(BadInput):
        take(f"hf:{folder}", "nli")


def test_local_files_that_cannot_be_read(tmp_path, take):
    with refuses(BadInput):
        take(f"hf:{tmp_path / 'gone.csv'}", "nli")
    (tmp_path / "bad.jsonl").write_text('{"premise":')
    with refuses(BadInput):
        take(f"hf:{tmp_path / 'bad.jsonl'}", "nli")


def test_hub_out_of_reach(take):
    with refuses(BadInput):
        take("hf:no-such/thing", "nli")


def test_the_library_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with refuses(MissingExtra):
        datasets.make("hf:snli")
