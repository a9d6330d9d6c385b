"""From what the user names to a table: files by their ending, data sets by their name, and bad input end to end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from refusals import refuses

import otherwords as ow
from otherwords.datasets.source import Source, find
from otherwords.datasets.suite import load
from otherwords.errors import BadInput, UnknownName

SPECIAL = "Zoë said “no” — 木曜日 \U0001f327\ufe0f, it’s\xa0wet."


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("name", "signed"),
    [
        ("some.jsonl", "jsonl.v1(path=some.jsonl)"),
        ("some.ndjson", "jsonl.v1(path=some.ndjson)"),
        ("a/b/some.csv", "csv.v1(path=some.csv)"),
        ("some.tsv", "tsv.v1(path=some.tsv, quoted=false)"),
        ("some.parquet", "parquet.v1(path=some.parquet)"),
        ("-", "jsonl.v1(path=-)"),
        ("everyday", "everyday.v1(split=test)"),
        ("everyday.v1(split=all)", "everyday.v1(split=all)"),
        ("snli:dev.jsonl", "snli.v1(path=dev.jsonl)"),
        ("snli(path=dev.jsonl)", "snli.v1(path=dev.jsonl)"),
        ("csv:odd.name", "csv.v1(path=odd.name)"),
    ],
)
def test_files_by_their_ending_and_data_sets_by_their_name(name, signed):
    assert find(name).signature == signed


def test_a_folder_of_parquet(good):
    Path("parts").mkdir()
    pl.DataFrame([{**good, "id": "a"}]).write_parquet("parts/0.parquet")
    pl.DataFrame([{**good, "id": "b", "topic": "x"}]).write_parquet("parts/1.parquet")
    assert load("parts").select("id", "topic").rows() == [("a", None), ("b", "x")]
    assert load("parquet:parts").height == 2


def test_names_that_mean_nothing(good):
    with refuses(UnknownName):
        load("snil")
    with refuses(UnknownName):
        load("snil:dev.jsonl")
    Path("notes.txt").write_text("x")
    with refuses(BadInput):
        load("notes.txt")
    with refuses(BadInput):
        load()


@pytest.mark.parametrize(
    "name", ["gone.jsonl", "gone.ndjson", "gone.csv", "gone.tsv", "gone.parquet", "snli:gone.jsonl"]
)
def test_a_file_that_is_not_there(name):
    with refuses(BadInput):
        load(name)


def test_broken_json_on_line_471(jsonl, good):
    lines = [json.dumps({**good, "id": i}) for i in range(1, 601)]
    lines[470] = lines[470][:-10]
    path = jsonl(*lines, name="dev.jsonl")
    with refuses(BadInput, where=f"{path}, line 471"):
        load(str(path))
    source = Source([str(path)], skip_bad=True)
    assert len(list(source)) == 599
    assert source.intake.rejected == [
        {
            "where": f"{path}, line 471",
            "field": "",
            "reason": source.intake.rejected[0]["reason"],
            "row": {"line": lines[470] + "\n"},
        }
    ]


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[1, 2]",
        '"text"',
        b'{"premise": "\xff"}',
        '{"n": ' + "1" * 5_000 + "}",
        "[" * 100_000,
        '{"premise": "\\ud83d", "hypothesis": "H", "label": "neutral"}',
    ],
)
def test_lines_that_are_no_rows(jsonl, good, line):
    path = str(jsonl(good, line, good))
    with refuses(BadInput):
        load(path)
    source = Source([path], skip_bad=True)
    assert [row["id"] for row in source] == ["1", "3"]
    written = source.write_rejected(Path("out"))
    assert written == Path("out/rejected.jsonl")
    (kept,) = map(json.loads, written.read_bytes().decode().splitlines())
    assert kept["where"] == f"{path}, line 2"
    assert kept["reason"].startswith(f"{path}, line 2: ")


def test_rejected_rows_are_kept_as_they_were(jsonl, good):
    bad = [{**good, "label": "?", "note": SPECIAL}, {**good, "premise": "\ud83d half", "id": "x"}]
    source = Source([str(jsonl(good, *bad))], skip_bad=True)
    list(source)
    lines = source.write_rejected(Path()).read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["row"] for line in lines] == bad
    assert SPECIAL in lines[0]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("ending", ["jsonl", "csv", "tsv"])
def test_byte_order_marks_line_ends_and_unicode(good, end, mark, ending):
    row = {**good, "premise": SPECIAL, "hypothesis": "word " * 5_000 + "end"}
    if ending == "jsonl":
        text = json.dumps(row, ensure_ascii=False) + end
    else:
        mid = {"csv": ",", "tsv": "\t"}[ending]
        quoted = [f'"{value}"' if ending == "csv" else value for value in row.values()]
        text = mid.join(row) + end + mid.join(quoted) + end
    Path(f"f.{ending}").write_bytes(mark + text.encode())
    (found,) = load(f"f.{ending}").to_dicts()
    assert {name: found[name] for name in row} == row


def test_csv_errors_are_pinned():
    Path("a.csv").write_text("premise,hypothesis,label\nA.,B.,neutral\nA.,B.\n")
    with refuses(BadInput):
        load("a.csv")
    Path("b.csv").write_bytes(b"premise,hypothesis,label\nA\xff.,B.,neutral\n")
    with refuses(BadInput):
        load("b.csv")
    Path("c.csv").write_text("")
    with refuses(BadInput):
        load("c.csv")
    Path("d.csv").write_text("premise,hypothesis,label,note,note\nA.,B.,neutral,1,2\n")
    with refuses(BadInput):
        load("d.csv")
    Path("e.csv").write_text('premise,hypothesis,label\n"A.\nB.",B.,maybe\n')
    with refuses(BadInput):
        load("e.csv")


def test_rows_of_parquet_are_numbered(good):
    pl.DataFrame([good, {**good, "label": "maybe"}]).write_parquet("a.parquet")
    with refuses(BadInput):
        load("a.parquet")


def test_dates_and_lists_of_parquet_come_along(good):
    frame = pl.DataFrame([good]).with_columns(
        when=pl.date(2020, 2, 29), tags=pl.lit(["a", "b"]), ratio=pl.lit("1.50").cast(pl.Decimal(10, 2))
    )
    frame.write_parquet("a.parquet")
    assert load("a.parquet").select("when", "tags", "ratio").row(0) == ("2020-02-29", '["a", "b"]', "1.50")


def test_names_that_look_like_patterns(good):
    for name in ("a[1].parquet", "b*.parquet"):
        pl.DataFrame([good]).write_parquet(name)
        assert load(name).height == 1


def test_columns_and_labels_by_the_users_names(jsonl):
    path = jsonl({"uid": 7, "s1": "P.", "s2": "H.", "y": 0}, {"uid": 8, "s1": "P.", "s2": "H!", "y": 1})
    frame = load(
        str(path),
        columns={"id": "uid", "premise": "s1", "hypothesis": "s2", "label": "y"},
        labels={"0": "entailment", "1": "neutral"},
    )
    assert frame.select("id", "premise", "hypothesis", "label").rows() == [
        ("7", "P.", "H.", "entailment"),
        ("8", "P.", "H!", "neutral"),
    ]
    assert frame.columns == ["id", "of", "how", "premise", "hypothesis", "label", "cluster"]


def test_a_users_mapping_comes_on_top_of_the_data_sets(jsonl):
    path = jsonl({"uid": "a", "context": "P.", "hypothesis": "H.", "label": "c"})
    assert load(f"anli:{path}")["label"].to_list() == ["contradiction"]
    assert load(f"anli:{path}", labels={"c": "neutral"})["label"].to_list() == ["neutral"]


def test_several_files_are_one(jsonl, good):
    originals = jsonl({**good, "id": "o"}, name="originals.jsonl")
    variants = jsonl({**good, "id": "v", "of": "o"}, name="variants.jsonl")
    for names in ((originals, variants), (variants, originals)):
        assert load(*map(str, names))["id"].to_list() == ["o", "v"]
    with refuses(BadInput):
        load(str(variants))
    with refuses(BadInput):
        load(str(originals), str(originals))


def test_data_sets_of_different_tasks(jsonl):
    rows = jsonl({"Premise": "P", "Hypothesis": "H", "Update": "U", "UpdateType": "weakener"}, name="test.jsonl")
    with refuses(BadInput):
        load("everyday", f"delta_nli:{rows}")


def test_the_task_comes_from_the_data_set_or_the_user(jsonl, good):
    rows = jsonl({**good, "label": "entailed"}, name="rte.jsonl")
    assert load(str(rows), task="rte")["label"].to_list() == ["entailed"]
    with refuses(BadInput):
        load(str(rows))
    own = {"fields": ["text"], "labels": ["yes", "no"]}
    texts = jsonl({"text": "x", "label": "yes"}, name="mine.jsonl")
    assert load(str(texts), task=own).columns == ["id", "of", "how", "text", "label", "cluster"]


def test_extra_columns_of_mixed_kinds_become_text(jsonl, good):
    values = [1, "two", None, True, 2.5, [1]]
    frame = load(str(jsonl(*[{**good, "x": value} for value in values])))
    assert frame["x"].to_list() == ["1", "two", None, "true", "2.5", "[1]"]
    numbers = load(str(jsonl(*[{**good, "x": value} for value in (1, 2.5, None)])))
    assert numbers["x"].to_list() == [1.0, 2.5, None]


def test_standard_input_is_read_once_as_json_lines(good):
    code = "import otherwords as ow; print(ow.load('-').select('id', 'label').rows())"
    text = b"\xef\xbb\xbf" + json.dumps({**good, "id": "a"}).encode() + b"\r\n"
    done = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, check=True)
    assert done.stdout.decode() == "[('a', 'entailment')]\n"


def test_broken_standard_input_names_the_line(good):
    code = "import otherwords as ow; ow.load('-')"
    done = subprocess.run([sys.executable, "-c", code], input=b"{}\n", capture_output=True, check=False)
    assert b"BadInput: -, line 1: premise: no such column" in done.stderr


def test_the_signature_covers_all_that_decides_the_rows(jsonl, good):
    path = str(jsonl(good))
    tasks = [{"fields": ["premise", "hypothesis"], "labels": list(ow.TASKS["nli"].labels), **more} for more in (
        {}, {"targets": ["premise"]}, {"cluster": ["hypothesis"]}, {"optional": ["premise"]}
    )]  # fmt: skip
    sources = [
        Source([path]),
        Source([path, "everyday"]),
        Source([path], columns={"id": "premise"}),
        Source([path], labels={"x": "neutral"}),
        Source([path], skip_bad=True),
        *[Source([path], task) for task in tasks],
    ]
    signatures = [json.dumps(source.signature) for source in sources]
    assert len(set(signatures)) == len(signatures)
    assert json.dumps(Source([path]).signature) == signatures[0]
    assert str(Path(path).parent) not in signatures[0]
    jsonl(good, good)
    assert json.dumps(Source([path]).signature) != signatures[0]


def test_labels_next_to_the_file_are_signed(jsonl):
    """A changed labels file once left the signature, and so the run folder, as it was."""
    row = {"story_id": "s", "obs1": "A", "obs2": "B", "hyp1": "C", "hyp2": "D"}
    path = jsonl(row, name="dev.jsonl")
    labels_file = path.with_name("dev-labels.lst")
    signatures = set()
    for labels in ("1\n", "2\n"):
        labels_file.write_text(labels)
        signatures.add(find(f"alpha_nli:{path}").signature)
        elsewhere = path.with_name("other.lst")
        elsewhere.write_text(labels * 2)
        signatures.add(find(f"alpha_nli(path={path}, labels_path={elsewhere})").signature)
    assert len(signatures) == 4
    assert not [signature for signature in signatures if os.sep in signature]


def test_a_local_folder_of_hugging_face_is_signed_by_its_content(tmp_path, good):
    pytest.importorskip("datasets")
    Path("here").mkdir()
    Path("here/a.jsonl").write_text(json.dumps(good))
    before = find(f"hf:{tmp_path}/here").signature
    assert find("hf:here").signature == before
    Path("here/a.jsonl").write_text(json.dumps({**good, "label": "neutral"}))
    assert find("hf:here").signature != before
    assert str(tmp_path) not in before
    assert find("hf:org/name(revision=1.10)").signature == 'hf.v1(split=test, config="", revision=1.10)#org/name'


def test_a_folder_without_tables_is_no_data():
    Path("empty").mkdir()
    with refuses(BadInput):
        load("empty")
    with refuses(BadInput):
        load("parquet:empty")


def test_rows_of_long_tables_are_numbered_through(good, monkeypatch):
    monkeypatch.setattr("otherwords.datasets.records.BATCH", 10)
    rows = [{**good, "id": str(i)} for i in range(21)]
    rows[-1]["label"] = "maybe"
    pl.DataFrame(rows).write_parquet("long.parquet")
    with refuses(BadInput, where="long.parquet, row 21", field="label"):
        load("long.parquet")
    with pytest.warns(UserWarning, match=r"left out 1 rows, the first: long\.parquet, row 21: label"):
        table = load("long.parquet", skip_bad=True)
    assert table["id"].to_list() == [str(i) for i in range(20)]


def test_what_is_there_but_no_file():
    Path("folder").mkdir()
    os.mkfifo("pipe")
    writer = subprocess.Popen(["bash", "-c", "echo {} > pipe"])
    for name in ("folder", "pipe"):
        with refuses(BadInput):
            load(f"jsonl:{name}")
    writer.wait()


def test_names_with_a_colon_are_files_if_they_are_there(good):
    Path("a:b.jsonl").write_text(json.dumps(good))
    assert load("a:b.jsonl").height == 1
