"""Intake in whole columns gives what intake row by row gives: tables, counts, errors, rejected rows, warnings."""

from __future__ import annotations

import json
import math
import re
import warnings
from enum import Enum
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from otherwords.datasets import columns, records
from otherwords.datasets.intake import Intake
from otherwords.datasets.records import Dataset, Record
from otherwords.errors import BadInput
from otherwords.frames import join_pieces, to_frame
from otherwords.problem import TASKS, Task
from otherwords.registry import datasets

NLI = TASKS["nli"]
GOOD = {"premise": "A man sleeps.", "hypothesis": "Somebody sleeps.", "label": "entailment"}


@pytest.fixture(autouse=True, scope="module")
def small_batches():
    """Batches of three rows or a few bytes, so that a few rows are many batches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "BATCH", 3)
        patch.setattr(records, "_CHUNK", 250)
        yield


def outcome(intake: Intake, work: Any) -> dict[str, Any]:
    """All that a user can see of an intake: what came out before an error, the error, counts, lists, warnings."""
    given_out: list[Any] = []
    error = ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            given_out.extend(one for one in work(intake))
        except BadInput as problem:
            error = f"{problem} | {problem.field} | {problem.fix}"
    counts = (intake.accepted, intake.unlabelled, intake.no_majority, intake.number)
    return {
        "out": given_out,
        "error": error,
        "counts": counts,
        "rejected": json.dumps(intake.rejected),
        "warnings": [str(one.message) for one in caught],
    }


def assert_same(dataset: Dataset, task: Task = NLI, **options: Any) -> None:
    """Both ways through the intake, with everything that can be seen of them."""
    by_row = outcome(Intake(task, **options), lambda intake: intake.rows(dataset()))
    by_column = outcome(Intake(task, **options), lambda intake: columns.pieces(intake, dataset.batches()))
    tables = [
        _table(lambda: to_frame(by_row.pop("out"), task)),
        _table(lambda: join_pieces(by_column.pop("out"), task)),
    ]
    assert by_column == by_row
    if isinstance(tables[0], str) or isinstance(tables[1], str):
        assert tables[0] == tables[1]
    else:
        assert tables[1].columns == tables[0].columns
        assert_frame_equal(tables[1], tables[0], check_exact=True)


def _table(make: Any) -> Any:
    try:
        return make()
    except BadInput as error:  # a verdict that is none
        return str(error)


def of_rows(*rows: dict[str, Any]) -> Dataset:
    return Dataset(lambda: (Record(f"f.jsonl, line {number}", row) for number, row in enumerate(rows, 1)))


# Odd rows: mostly good ones with some value exchanged, because a batch of nothing but bad ones says little.

TEXTS = st.sampled_from(
    ["A.", "B b.", "", " ", "\x1f", "\u3000", None, "\ud83d", 'say "no": \\', "l1\nl2", "é", "x" * 300]
)
IDS = st.sampled_from(["a", "b", "c", "d", " a ", "e", "f", 7, 7.0, 0.5, "007", "7", "", None, True, "\x00", "nan"])
LABELS = st.sampled_from(["entailment", "Neutral ", "-", "", None, "maybe", 0, "ENTAILMENT", True, "\uff45ntailment"])


class Odd(Enum):
    """Polars would take its value for it."""

    A = "x"


ANY = st.sampled_from(
    [
        None,
        1,
        2.5,
        "x",
        "",
        True,
        math.inf,
        10**30,
        -(2**63),
        2**63 - 1,
        ["a", None],
        ["\udc00"],
        Odd.A,
        {"k": [1]},
        "\ud83d",
        "true",
        (1, 2),
    ]
)
CHANGES = st.one_of(
    st.tuples(st.sampled_from(["premise", "hypothesis"]), st.one_of(TEXTS, ANY)),
    st.tuples(st.sampled_from(["id", "of", "id", "of", "of"]), IDS),
    st.tuples(st.sampled_from(["label"]), LABELS),
    st.tuples(st.sampled_from(["how", "cluster"]), st.sampled_from(["human", " ", None, 5, "nan", "<NA>", 1.5])),
    st.tuples(
        st.sampled_from(["contrast", "control"]), st.sampled_from(["mine", "", " mine ", None, True, "False", 3])
    ),
    st.tuples(
        st.sampled_from(
            [
                "topic",
                "n",
                "model",
                "input_model",
                "check:x",
                "check:x:reason",
                "^n$",
                "pair",
                "",
                "column_7",
                "\0place",
            ]
        ),
        ANY,
    ),
    st.tuples(st.sampled_from(["premise", "label", "id", "topic"]), st.just(...)),
)


@st.composite
def suites(draw: Any, most: int = 9) -> list[dict[str, Any]]:
    """Rows of originals and variants, of which some values are exchanged, added or taken away."""
    rows: list[dict[str, Any]] = []
    common = draw(st.lists(CHANGES, max_size=2))
    for number in range(draw(st.integers(1, most))):
        row: dict[str, Any] = {"id": f"r{number}", **GOOD}
        if number and draw(st.booleans()):
            row |= {"of": f"r{draw(st.integers(0, number))}", "how": "human"}
        changes = draw(st.lists(CHANGES, max_size=2)) if draw(st.integers(0, 4)) == 0 else []
        for name, value in (*common, *changes):
            if value is ...:
                row.pop(name, None)
            else:
                row[name] = value
        rows.append(row)
    return rows


OPTIONS = st.fixed_dictionaries(
    {
        "skip_bad": st.booleans(),
        "gold": st.sampled_from(["all or none", "all or none", "all", "any"]),
        "columns": st.sampled_from(
            [{}, {}, {}, {"id": "pair"}, {"premise": "topic"}, {"label": "n"}, {"cluster": "id"}]
        ),
        "labels": st.sampled_from([{}, {}, {"0": "neutral", "x": "-"}]),
    }
)


@given(suites(), OPTIONS)
@example([{**GOOD, "id": "a", "topic": "x"}, {**GOOD, "contrast": "s", "id": "b"}], {})
@example([{**GOOD, "model": 1, "input_model": 2}, {**GOOD, "model": 1}], {})
@example([{**GOOD, "label": "-", "note": 1}, GOOD, {**GOOD, "n": 2}, GOOD], {})
def test_rows_of_any_kind(rows, options):
    assert_same(of_rows(*rows), **options)


@given(suites(), st.booleans())
def test_a_task_with_optional_fields_and_clusters_of_two_texts(rows, skip_bad):
    task = Task(
        "own", ("premise", "hypothesis"), ("entailment", "neutral"), (), ("premise",), ("premise", "hypothesis")
    )
    assert_same(of_rows(*rows), task, skip_bad=skip_bad)


@given(suites(), OPTIONS)
def test_json_lines(tmp_path_factory, rows, options):
    path = tmp_path_factory.mktemp("lines") / "some.jsonl"
    path.write_text("".join(json.dumps(row, default=list) + "\n" for row in rows))
    assert_same(datasets.make(f"jsonl:{path}").function, **options)


LINES = st.sampled_from(
    [
        json.dumps({"id": 1, **GOOD}),
        json.dumps({"id": "b", **GOOD}, separators=(",", ":")),
        json.dumps({"id": "c", "of": "b", **GOOD}),
        *(
            '{"a":1',
            '"b":2}',
            '{"a":1},{"b":2}',
            '{"a":[1',
            "2]}",
            '{"a":"x',
            'y"}',
            "[1]",
            "[]",
            "{}",
            "7",
            "",
            " ",
            "nul",
        ),
        *('{"id": "d", "id": "e"}', '{"id": null, "id": "e"}', '{"n" : 1, "n": 2}', '{"n": 1e400}', '{"n": NaN}'),
        *(
            '{"n": {"n": 1}, "n": 2}',
            '{"n\\\\": 1, "n\\\\": 2}',
            '{"t": "a\\\\"}',
            '{"t": "say \\"no\\": x"}',
            '{"n": -0}',
        ),
        *('{"n": 123456789012345678901234567890}', '{"t": "\\ud83d"}', '{"t": "\\ud83d\\ude00"}', '\ufeff{"n": 1}'),
        *('{"n": 1}\r', '{"n": 1} ', ' {"n": 1}', '{"n": "a\tb"}', '{"\\u006e": 1, "n": 2}', '{"n": 1}{"n": 2}'),
    ]
)


@given(st.lists(LINES, max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
@example(['{"a":1},{"b":2}', '{"a":1', '"b":2}'], "\n", True, False)
@example(['{"a":1},{"b":2}', '{"a":[1', "2]}"], "\n", True, False)
@example(['{"a":1},{"b":2}', '{"a":"x', 'y"}'], "\n", True, False)
def test_lines_that_are_no_objects(tmp_path_factory, lines, end, whole, mark):
    path = tmp_path_factory.mktemp("lines") / "some.jsonl"
    text = end.join(lines) + (end if whole else "")
    path.write_bytes((b"\xef\xbb\xbf" if mark else b"") + text.encode())
    assert_reads_the_same(datasets.make(f"jsonl:{path}").function)
    assert_same(datasets.make(f"jsonl:{path}").function, skip_bad=True)


def test_lines_that_are_not_text(tmp_path):
    path = tmp_path / "some.jsonl"
    path.write_bytes(json.dumps({"id": 1, **GOOD}).encode() + b'\n{"id": "\xff"}\n')
    assert_same(datasets.make(f"jsonl:{path}").function)
    assert_same(datasets.make(f"jsonl:{path}").function, skip_bad=True)


def assert_reads_the_same(dataset: Dataset) -> None:
    """Batches have the records that the reader gives one by one, and columns have their values."""
    expected = list(dataset())
    batches = list(dataset.batches())
    assert repr([record for batch in batches for record in batch.records()]) == repr(expected)
    for batch in batches:
        if batch.frame is not None:
            rows = [{name: record.row.get(name) for name in batch.frame.columns} for record in batch.records()]
            assert repr(batch.frame.to_dicts()) == repr(rows)


# Text tables: cells of any kind, and pieces of files that no writer would write.

CELLS = st.sampled_from(
    [
        "",
        "a",
        "A man.",
        'x"y',
        '"x"',
        '"x""y"',
        '"l1\nl2"',
        '"l1\r\nl2"',
        "a\rb",
        '"',
        '""',
        " ",
        "é",
        "\x00",
        "007",
        '"a"b',
        "1;2",
        "\t",
    ]
)
LINE_ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r", "\n\n"])
ROWS = st.lists(st.tuples(st.lists(CELLS, min_size=0, max_size=4), LINE_ENDS), max_size=6)
HEADERS = st.sampled_from(
    [
        "id,premise,hypothesis",
        "id;premise;hypothesis",
        "id",
        '"id","pre\nmise"',
        "id,id",
        "",
        "\ufeffid,x",
        'i"d,x',
        "é,x",
    ]
)


@example("id,premise,hypothesis", "\r", [([], "\r\n"), (["a"], "\n")], ",", "csv", True)
@given(HEADERS, LINE_ENDS, ROWS, st.sampled_from([",", ";", "\t"]), st.sampled_from(["csv", "tsv"]), st.booleans())
def test_files_of_cells_of_any_kind(tmp_path_factory, header, end, rows, separator, kind, whole):
    text = header + end + "".join(separator.join(cells) + ending for cells, ending in rows)
    path = tmp_path_factory.mktemp("cells") / f"some.{kind}"
    path.write_bytes(text.encode() if whole else text.encode()[:-1])
    try:
        assert_reads_the_same(datasets.make(f"{kind}:{path}").function)
    except BadInput as error:  # a column twice, an empty file
        with pytest.raises(BadInput, match=re.escape(str(error))):
            list(datasets.make(f"{kind}:{path}").function.batches())


@given(suites(), OPTIONS, st.sampled_from(["necessary", "always", "non_numeric"]), st.sampled_from(["\n", "\r\n"]))
def test_tables_of_text(tmp_path_factory, rows, options, style, end):
    path = tmp_path_factory.mktemp("texts") / "some.csv"
    frame = _as_texts(rows)
    path.write_text(frame.write_csv(quote_style=style, line_terminator=end), encoding="utf-8", newline="")
    assert_reads_the_same(datasets.make(f"csv:{path}").function)
    assert_same(datasets.make(f"csv:{path}").function, **options)


def _as_texts(rows: list[dict[str, Any]]) -> pl.DataFrame:
    names = dict.fromkeys(name for row in rows for name in row)
    texts = {name: [_as_text(row.get(name)) for row in rows] for name in names}
    return pl.DataFrame(texts, schema=dict.fromkeys(names, pl.String))


def _as_text(value: Any) -> str | None:
    """A text without half characters, and without zero bytes, several of which make a file look like UTF-16."""
    return None if value is None else str(value).encode("utf-8", "replace").decode().replace("\0", "0")


def test_cells_that_are_not_text_and_lines_that_are_short(tmp_path):
    path = tmp_path / "some.csv"
    good = b"A.,B.,neutral\n"
    path.write_bytes(b"premise,hypothesis,label\n" + good * 40 + b"A\xff,B.,neutral\n" + good + b"A.,B.\n\n" + good)
    assert_reads_the_same(datasets.make(f"csv:{path}").function)
    assert_same(datasets.make(f"csv:{path}").function)
    assert_same(datasets.make(f"csv:{path}").function, skip_bad=True)


@given(suites(), OPTIONS)
def test_parquet(tmp_path_factory, rows, options):
    path = tmp_path_factory.mktemp("parquet") / "some.parquet"
    columns = {name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)}
    series = []
    for name, values in columns.items():
        try:
            series.append(pl.Series(name, values, strict=True))
        except Exception:  # values that no column can hold together
            series.append(_as_texts([{name: value} for value in values])[name])
    pl.DataFrame(series).write_parquet(path)
    assert_reads_the_same(datasets.make(f"parquet:{path}").function)
    assert_same(datasets.make(f"parquet:{path}").function, **options)
