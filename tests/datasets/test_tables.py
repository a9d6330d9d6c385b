import polars as pl
import pytest
from refusals import refuses

from otherwords.errors import BadInput, UnknownName
from otherwords.registry import datasets

NAMES = {
    *("jsonl.v1", "csv.v1", "tsv.v1", "parquet.v1", "hf.v1", "snli.v1", "mnli.v1", "breaking_nli.v1", "anli.v1"),
    *("rte.v1", "alpha_nli.v1", "delta_nli.v1", "paranlu.v1", "parte.v1", "everyday.v1", "monli.v1", "med.v1"),
}
ROWS = [
    {"id": "a", "premise": 'He said "no".', "hypothesis": "He spoke.", "label": "entailment", "topic": "talk"},
    {"id": "b", "premise": '"Wait', "hypothesis": "Zoë, wait!", "label": "neutral", "topic": "talk"},
]


def test_every_data_set_is_found_and_says_what_it_is():
    found = {plugin.full_name: plugin.summary for plugin in datasets}
    assert set(found) >= NAMES
    assert all(20 < len(found[name]) <= 110 and found[name].endswith(".") for name in NAMES)


def test_a_miss_lists_the_names():
    with refuses(UnknownName):
        datasets.make("snil:dev.jsonl")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_jsonl_with_any_line_end_and_byte_order_mark(tmp_path, take, end, mark):
    path = tmp_path / "some.jsonl"
    path.write_bytes(mark + pl.DataFrame(ROWS).write_ndjson().replace("\n", end).encode())
    rows, _ = take(f"jsonl:{path}", "nli")
    assert [(r["id"], r["premise"], r["hypothesis"], r["label"], r["topic"]) for r in rows] == [
        ("a", 'He said "no".', "He spoke.", "entailment", "talk"),
        ("b", '"Wait', "Zoë, wait!", "neutral", "talk"),
    ]


def test_jsonl_names_the_broken_line_and_reads_on(tmp_path, take):
    path = tmp_path / "some.jsonl"
    good = '{"premise": "A.", "hypothesis": "B.", "label": "neutral"}'
    path.write_text(f'{good}\n{{"premise":\n\n[1]\n{good}\n')
    rows, intake = take(f"jsonl:{path}", "nli", skip_bad=True)
    assert len(rows) == 2
    assert [bad["where"] for bad in intake.rejected] == [f"{path}, line 2", f"{path}, line 4"]
    with refuses(BadInput):
        take(f"jsonl:{path}", "nli")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_csv_with_any_line_end_and_byte_order_mark(tmp_path, take, end, mark):
    path = tmp_path / "some.csv"
    path.write_bytes(mark + pl.DataFrame(ROWS).write_csv(line_terminator=end).encode())
    rows, _ = take(f"csv:{path}", "nli")
    assert [r["premise"] for r in rows] == ['He said "no".', '"Wait']


def test_csv_row_with_a_cell_too_few_is_bad(tmp_path, take):
    path = tmp_path / "some.csv"
    path.write_text("premise,hypothesis,label\nA.,B.,neutral\nA.,B.\n")
    rows, intake = take(f"csv:{path}", "nli", skip_bad=True)
    assert len(rows) == 1
    assert intake.rejected[0]["where"] == f"{path}, line 3"
    assert "2 cells under 3 column names" in intake.rejected[0]["reason"]


@pytest.mark.parametrize("last", ["", 'He said "hi".,D.,neutral\n'])
def test_a_quotation_mark_that_is_not_closed_takes_no_other_row_with_it(tmp_path, take, last):
    path = tmp_path / "some.csv"
    path.write_text('premise,hypothesis,label\nA.,B.,neutral\n"Open.,B.,neutral\n' + "C.,D.,neutral\n" * 30 + last)
    rows, intake = take(f"csv:{path}", "nli", skip_bad=True)
    assert [row["premise"] for row in rows] == ["A.", *["C."] * 30, *(['He said "hi".'] if last else [])]
    assert [bad["where"] for bad in intake.rejected] == [f"{path}, line 3"]
    assert intake.rejected[0]["row"] == {"line": '"Open.,B.,neutral'}
    with refuses(BadInput):
        take(f"csv:{path}", "nli")


def test_cells_of_several_lines_count_them(tmp_path, take):
    path = tmp_path / "some.csv"
    path.write_text('premise,hypothesis,label\n"A\n""big"" one.",B.,neutral\n"C" D.,E.,neutral\nF.,G.\n')
    rows, intake = take(f"csv:{path}", "nli", skip_bad=True)
    assert [row["premise"] for row in rows] == ['A\n"big" one.']
    assert [bad["where"] for bad in intake.rejected] == [f"{path}, line 4", f"{path}, line 5"]


@pytest.mark.parametrize("first", ["sep=;", 'premise;"hypothesis;label'])
def test_a_first_line_that_names_no_columns(tmp_path, take, first):
    path = tmp_path / "some.csv"
    path.write_text(f"{first}\npremise;hypothesis;label\nA.;B.;neutral\n")
    with refuses(BadInput):
        take(f"csv:{path}", "nli")


def test_columns_are_listed_so_that_one_sees_what_is_wrong(tmp_path, take):
    path = tmp_path / "some.csv"
    more = ",".join(f"c{number}" for number in range(40))
    path.write_text(f"premise ,hypothesis,label,{more}\nA.,B.,neutral{',x' * 40}\n")
    with refuses(BadInput):
        take(f"csv:{path}", "nli")


def test_a_folder_is_no_file(tmp_path, take):
    (tmp_path / "some.csv").mkdir()
    with refuses(BadInput):
        take(f"csv:{tmp_path / 'some.csv'}", "nli")


def test_tsv_takes_quotation_marks_as_letters(tmp_path, take):
    path = tmp_path / "some.tsv"
    lines = ["\t".join(row.values()) for row in ROWS]
    path.write_text("\t".join(ROWS[0]) + "\r\n" + "\r\n".join(lines) + "\r\n")
    rows, _ = take(f"tsv:{path}", "nli")
    assert [r["premise"] for r in rows] == ['He said "no".', '"Wait']


def test_tsv_may_be_quoted(tmp_path, take):
    path = tmp_path / "some.tsv"
    path.write_text(pl.DataFrame(ROWS).write_csv(separator="\t"))
    rows, _ = take(f"tsv(path={path}, quoted=true)", "nli")
    assert [r["premise"] for r in rows] == ['He said "no".', '"Wait']
    assert take(f"tsv:{path}", "nli")[0][1]["premise"] == '"""Wait"'


def test_parquet_file_and_folder_of_parts(tmp_path, take):
    folder = tmp_path / "parts"
    folder.mkdir()
    for number, row in enumerate(ROWS):
        pl.DataFrame([row]).write_parquet(folder / f"{number}.parquet")
    pl.DataFrame(ROWS).write_parquet(tmp_path / "whole.parquet")
    parts, _ = take(f"parquet:{folder}", "nli")
    whole, _ = take(f"parquet:{tmp_path / 'whole.parquet'}", "nli")
    assert parts == whole
    assert [r["id"] for r in whole] == ["a", "b"]


def test_parquet_of_something_else(tmp_path, take):
    (tmp_path / "some.parquet").write_text("not a table")
    with refuses(BadInput):
        take(f"parquet:{tmp_path / 'some.parquet'}", "nli")


@pytest.mark.parametrize("name", ["jsonl", "csv", "tsv", "snli", "mnli", "anli", "delta_nli", "parte", "alpha_nli"])
def test_missing_file(tmp_path, take, name):
    with refuses(BadInput):
        take(f"{name}:{tmp_path / 'gone.jsonl'}", "nli" if name in ("jsonl", "csv", "tsv") else "")


def test_tables_leave_the_task_to_the_caller_and_sign_the_content(tmp_path):
    path = tmp_path / "some.jsonl"
    path.write_text("{}\n")
    first = datasets.make(f"jsonl:{path}")
    path.write_text("{} \n")
    assert first.function.task == ""
    assert first.function.files == (path,)
    assert first.signature != datasets.make(f"jsonl:{path}").signature


def test_variants_in_a_table_follow_their_original(tmp_path, take):
    path = tmp_path / "some.csv"
    path.write_text("id,of,premise,hypothesis,label\nv,o,A!,B.,neutral\no,,A.,B.,neutral\n")
    rows, _ = take(f"csv:{path}", "nli")
    assert [(r["id"], r["of"]) for r in rows] == [("o", None), ("v", "o")]
