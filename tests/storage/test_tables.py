from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from contextlib import suppress
from random import Random

import polars as pl
import pytest
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from refusals import refuses

from otherwords.datasets.records import delimited, table_rows
from otherwords.errors import BadInput
from otherwords.storage import tables
from otherwords.storage.run_folder import key_of, read_part

FRAME = pl.DataFrame(
    {
        "id": ["a", "b", "c"],
        "text": ['He said "no", twice.', "Zoë — 木", "it's\xa0fine"],
        "n": [1, None, 3],
        "p": [0.1, 1 / 3, 1e-300],
        "keep": [True, None, False],
        "empty": pl.Series([None, None, None], dtype=pl.String),
    }
)
ENDINGS = ["jsonl", "ndjson", "csv", "tsv", "parquet"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_written_is_read_back(tmp_path, ending):
    path = tmp_path / f"table.{ending}"
    assert tables.write([FRAME], path) == 3
    assert_frame_equal(tables.read(path), FRAME, check_dtypes=False)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_line_breaks_within_a_text(tmp_path, ending):
    frame = pl.DataFrame({"text": ["one\ntwo", "three\r\nfour", "five\tsix", '"', "\u2028"]})
    tables.write([frame], tmp_path / f"table.{ending}")
    assert_frame_equal(tables.read(tmp_path / f"table.{ending}"), frame)


def test_tsv_cannot_hold_them_and_says_so(tmp_path):
    for text in ("one\ntwo", "five\tsix"):
        with refuses(BadInput, where=str(tmp_path / "table.tsv"), field="text"):
            tables.write([pl.DataFrame({"text": [text]})], tmp_path / "table.tsv")
    assert not list(tmp_path.glob("*table*"))


@pytest.mark.parametrize("ending", ENDINGS)
def test_frames_may_differ_in_columns_and_kinds(tmp_path, ending):
    frames = [
        pl.DataFrame({"id": ["a"], "x": [1]}),
        pl.DataFrame({"y": [True], "id": ["b"]}),
        pl.DataFrame({"id": ["c"], "x": [0.5], "y": pl.Series([None], dtype=pl.Null)}),
    ]
    path = tmp_path / f"table.{ending}"
    assert tables.write(iter(frames), path) == 3
    assert tables.read(path).to_dicts() == [
        {"id": "a", "x": 1.0, "y": None},
        {"id": "b", "x": None, "y": True},
        {"id": "c", "x": 0.5, "y": None},
    ]


@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_is_written_as_nothing(tmp_path, ending):
    path = tmp_path / f"table.{ending}"
    assert tables.write([], path) == 0
    assert path.exists()
    assert tables.write([FRAME.clear(), FRAME.clear()], path) == 0
    if ending in ("csv", "tsv"):
        assert path.read_text().replace("\t", ",") == "id,text,n,p,keep,empty\n"
    elif ending != "parquet":
        assert path.read_text() == ""


@settings(max_examples=at_most(30))
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=5))
def test_any_text_survives_jsonl_and_parquet(tmp_path_factory, texts):
    folder = tmp_path_factory.getbasetemp()
    frame = pl.DataFrame({"text": texts})
    for ending in ("jsonl", "parquet"):
        tables.write([frame], folder / f"some.{ending}")
        assert tables.read(folder / f"some.{ending}")["text"].to_list() == texts


def test_a_failure_midway_leaves_what_was_there(tmp_path):
    path = tmp_path / "table.jsonl"
    path.write_text("old\n")

    def frames():
        yield FRAME
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        tables.write(frames(), path)
    assert path.read_text() == "old\n"
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["table.jsonl"]


def test_standard_output_and_input(tmp_path):
    code = """
import polars as pl
from otherwords.storage import tables
tables.write([pl.DataFrame({"id": ["a"], "t": ["Zoë"]}), pl.DataFrame({"id": ["b"], "n": [2]})], "-")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.decode() == '{"id":"a","t":"Zoë","n":null}\n{"id":"b","t":null,"n":2}\n'
    code = "from otherwords.storage import tables; print(tables.read('-').to_dicts())"
    back = subprocess.run(
        [sys.executable, "-c", code], input=b"\xef\xbb\xbf" + done.stdout, capture_output=True, check=True
    )
    assert back.stdout.decode() == "[{'id': 'a', 't': 'Zoë', 'n': None}, {'id': 'b', 't': None, 'n': 2}]\n"


def test_a_failure_midway_writes_nothing_to_standard_output():
    code = """
import polars as pl
from otherwords.storage import tables
def frames():
    yield pl.DataFrame({"id": ["a"]})
    raise RuntimeError
tables.write(frames(), "-")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"")


def test_a_folder_of_parts_is_one_table(tmp_path):
    (tmp_path / "parts" / "below").mkdir(parents=True)
    pl.DataFrame({"id": ["a"], "x": [1]}).write_parquet(tmp_path / "parts" / "0.parquet")
    pl.DataFrame({"id": ["b"], "y": ["z"]}).write_parquet(tmp_path / "parts" / "below" / "1.parquet")
    assert tables.read(tmp_path / "parts").to_dicts() == [
        {"id": "a", "x": 1, "y": None},
        {"id": "b", "x": None, "y": "z"},
    ]


@pytest.mark.parametrize("ending", ENDINGS)
def test_names_that_look_like_patterns(tmp_path, ending):
    folder = tmp_path / "run*[1]?"
    folder.mkdir()
    tables.write([FRAME], folder / f"table[2].{ending}")
    assert tables.read(folder / f"table[2].{ending}").height == 3


@pytest.mark.parametrize(
    "content", [b'{"a": 1}\r\n{"a": 2}\r\n', b'\xef\xbb\xbf{"a": 1}\n{"a": 2}\n', b'{"a": 1}\n\n{"a": 2}']
)
def test_jsonl_with_any_line_end_and_byte_order_mark(tmp_path, content):
    (tmp_path / "t.jsonl").write_bytes(content)
    assert tables.read(tmp_path / "t.jsonl").to_dicts() == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(("ending", "mid"), [("csv", b","), ("tsv", b"\t")])
def test_csv_with_crlf_and_byte_order_mark(tmp_path, ending, mid, mark):
    (tmp_path / f"t.{ending}").write_bytes(mark + mid.join([b"a", b"b"]) + b"\r\n" + mid.join([b"1", b"x"]) + b"\r\n")
    assert tables.read(tmp_path / f"t.{ending}").to_dicts() == [{"a": 1, "b": "x"}]


def test_what_differs_late_is_still_seen(tmp_path):
    lines = ['{"a": 1}'] * 5_000 + ['{"a": "x", "b": 2}']
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    table = tables.read(tmp_path / "t.jsonl")
    assert table.columns == ["a", "b"]
    assert table["a"][-1] == "x"


@pytest.mark.parametrize(
    ("name", "content", "line", "field"),
    [
        ("t.jsonl", b'{"a": 1}\n{"a":\n', 2, ""),
        ("t.jsonl", b'{"a": 1}\n{"a": NaN}\n', 2, "a"),
        ("t.jsonl", b"", None, ""),
        ("t.jsonl", b"[1]\n", 1, ""),
        ("t.csv", b"", None, ""),
        ("t.csv", b"a,b\n1,2\n1,2,3\n", 3, ""),
        ("t.csv", b'a,b\n1,2\n"1,2\n1,2\n"1",2\n', 3, ""),
        ("t.parquet", b"PAR1", None, ""),
        ("t.parquet", b"", None, ""),
        ("t.xlsx", b"x", None, ""),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, name, content, line, field):
    path = tmp_path / name
    path.write_bytes(content)
    with refuses(BadInput, where=f"{path}, line {line}" if line else str(path), field=field):
        tables.read(path)


def test_a_long_cell_is_not_taken_for_an_open_mark(tmp_path):
    """Python's reader has a limit, which another table may have lifted before in the same process."""
    csv.field_size_limit(131_072)
    path = tmp_path / "t.csv"
    path.write_text(f'a,b\n"{"x" * 200_000}",2\n1,2,3\n')
    with refuses(BadInput, where=f"{path}, line 3"):
        tables.read(path)


def test_what_is_not_there(tmp_path):
    with refuses(BadInput, where=str(tmp_path / "gone.jsonl")):
        tables.read(tmp_path / "gone.jsonl")
    (tmp_path / "empty").mkdir()
    with refuses(BadInput, where=str(tmp_path / "empty")):
        tables.read(tmp_path / "empty")


def test_names_that_cannot_be_written(tmp_path):
    with refuses(BadInput):
        tables.write([FRAME], tmp_path / "table.xlsx")
    (tmp_path / "folder.jsonl").mkdir()
    with refuses(BadInput):
        tables.write([FRAME], tmp_path / "folder.jsonl")
    (tmp_path / "file").write_text("")
    with refuses(BadInput):
        tables.write([FRAME], tmp_path / "file" / "table.jsonl")
    tables.refuse_unwritable("-")


def damaged(seed: int) -> bytes:
    """A Parquet file with some bytes changed; of some, Polars panics, which is no Exception."""
    random = Random(1)
    file = io.BytesIO()
    rows = {"id": ["a", "b", "c"] * 50, "premise": ["It rains today."] * 150, "label": ["neutral"] * 150}
    pl.DataFrame(rows).write_parquet(file)
    for _ in range(seed):
        data = bytearray(file.getvalue())
        for _ in range(random.choice([1, 2, 4])):
            data[random.randrange(len(data))] = random.randrange(256)
    return bytes(data)


@pytest.mark.parametrize("seed", range(40, 48))
def test_a_damaged_parquet_file_is_refused_whatever_polars_does(tmp_path, seed):
    path = tmp_path / "table.parquet"
    path.write_bytes(damaged(seed))
    for read in (tables.read, read_part, lambda one: list(table_rows(one)), lambda one: tables.read(one.parent)):
        with suppress(BadInput):
            read(path)
    assert isinstance(key_of(path), str)


def test_nested_columns_are_json_in_csv(tmp_path):
    frame = pl.DataFrame({"id": ["a", "b"], "votes": [["y", "n"], None], "about": [{"n": 1}, {"n": 2}]})
    for ending in ("csv", "tsv"):
        tables.write([frame], tmp_path / f"t.{ending}")
        read = tables.read(tmp_path / f"t.{ending}")
        assert [json.loads(one) if one else one for one in read["votes"]] == [["y", "n"], None]
        assert json.loads(read["about"][1]) == {"n": 2}


@pytest.mark.parametrize("mark", [";", "\t"])
def test_a_csv_file_may_be_separated_otherwise(tmp_path, mark):
    rows = [["bucket", "variant", "gold", "pred"], ["a", "", "yes, so", '"yes"'], ["a", "1", "yes, so", "no"]]
    text = "\n".join(mark.join(f'"{one}"' if "," in one else one for one in row) for row in rows)
    (tmp_path / "t.csv").write_text(text + "\n", encoding="utf-8-sig")
    table = tables.read(tmp_path / "t.csv")
    assert table.columns == rows[0]
    assert table["gold"].to_list() == ["yes, so", "yes, so"]
    records = [record.row for record in delimited(tmp_path / "t.csv", ",")]
    assert [record["gold"] for record in records] == ["yes, so", "yes, so"]
