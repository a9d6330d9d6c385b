"""Every data set: unique ids, rows that pass the door, places in complaints, a clear word where the file is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from refusals import refuses

from otherwords.datasets.intake import Intake
from otherwords.datasets.records import Dataset, Record
from otherwords.datasets.suite import load
from otherwords.errors import BadInput
from otherwords.problem import TASKS, get_task
from otherwords.registry import datasets

KIND = "datasets"


@pytest.fixture
def dataset(bound) -> Dataset:
    return bound.function


def test_it_poses_a_known_task_or_any(dataset):
    assert dataset.task in ("", *TASKS)
    assert set(dict(dataset.labels).values()) <= {*get_task(dataset.task or "nli").labels, "-"}


def test_its_records_have_a_place_and_can_be_read_again(dataset):
    first = list(dataset())
    assert first
    assert all(isinstance(record, Record) and record.where and not record.error for record in first)
    assert len({record.where for record in first}) == len(first) or any("of" in record.row for record in first)
    assert list(dataset()) == first


def test_its_files_are_named_and_in_every_place(dataset):
    assert dataset.files
    assert all(isinstance(path, Path) and path.exists() for path in dataset.files)
    assert all(str(dataset.files[0]) in record.where for record in dataset())


def test_every_row_gets_a_unique_id(dataset):
    intake = Intake(get_task(dataset.task or "nli"), labels=dict(dataset.labels))
    rows = list(intake.rows(dataset()))
    assert len(rows) == len(list(dataset())) - intake.no_majority
    assert intake.rejected == []
    assert len({row["id"] for row in rows}) == len(rows)
    assert all(row["label"] in intake.task.labels and row["cluster"] for row in rows)
    originals = {row["id"] for row in rows if row["of"] is None}
    assert originals
    assert all(row["of"] in originals for row in rows if row["of"] is not None)


def test_it_loads_as_a_table(spec, dataset):
    table = load(spec)
    assert table.height
    assert table.columns[:3] == ["id", "of", "how"]
    assert table.select(get_task(dataset.task or "nli").fields).null_count().row(0) == (0,) * len(
        get_task(dataset.task or "nli").fields
    )


def test_a_file_that_is_not_there_is_bad_input_that_names_it(plugin, spec):
    if ... not in datasets.get(plugin[1]).options().values():
        pytest.skip("needs no file of the user's")
    ending = Path(spec.partition(":")[2]).suffix
    with refuses(BadInput):
        load(f"{plugin[1]}:/nowhere/at/all/gone{ending}")
