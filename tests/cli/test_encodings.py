"""Files in other encodings than UTF-8 are named as such, with the line that converts them; CSV for spreadsheets."""

from __future__ import annotations

import csv
import json
import subprocess

import polars as pl
import pytest

ROW = {"id": "é1", "premise": "Ein Café.", "hypothesis": "It is not empty.", "label": "neutral"}
ANSWER = {"model": "m", "bucket": "é1", "variant": "", "gold": "neutral", "pred": "neutral"}
STUDY = 'data = ["everyday"]\nvary = ["recorded"]\nmodels = ["nli-small"]\nname = "é"\n'
TASK = 'name = "é"\nfields = ["text"]\nlabels = ["yes", "no"]\n'


def table(row: dict[str, str], suffix: str) -> str:
    if suffix == ".jsonl":
        return json.dumps(row, ensure_ascii=False) + "\n"
    mark = {".csv": ",", ".tsv": "\t"}[suffix]
    return mark.join(row) + "\n" + mark.join(row.values()) + "\n"


#: A file that some command reads, its text, and the command.
READERS = {
    "problems.jsonl": (table(ROW, ".jsonl"), ("vary", "-w", "contractions")),
    "problems.csv": (table(ROW, ".csv"), ("vary", "-w", "contractions")),
    "problems.tsv": (table(ROW, ".tsv"), ("vary", "-w", "contractions")),
    "answers.jsonl": (table(ANSWER, ".jsonl"), ("score",)),
    "answers.csv": (table(ANSWER, ".csv"), ("score",)),
    "answers.tsv": (table(ANSWER, ".tsv"), ("score",)),
    "study.toml": (STUDY, ("run",)),
    "task.toml": (TASK, ("vary", "everyday", "-w", "contractions", "--task")),
    "verdicts.csv": ("id,verdict\né,yes\n", ("check", "everyday", "-w", "human:verdicts.csv")),
    "veto.txt": ("café\n", ("vary", "everyday", "-w", "wordnet", "--veto")),
    "rewordings.jsonl": (table({"of": "é", **ROW}, ".jsonl"), ("vary", "everyday", "-w", "recorded:rewordings.jsonl")),
    "suite.json": ('{"é": 1}', ("vary", "everyday", "-w", "recorded(path=suite.json, format=checklist)")),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_utf_16_is_named_with_the_line_that_converts_the_file(cli, place, name, encoding):
    text, command = READERS[name]
    (place / name).write_bytes(text.encode(encoding))
    error = cli(*command, *(() if any(name in one for one in command) else (name,)), rc=2).stderr
    shown = {"utf-16-le": "UTF-16LE", "utf-16-be": "UTF-16BE"}.get(encoding, encoding.upper())
    assert f"error: {name}: is {shown} text; convert it: iconv -f {shown} -t UTF-8 {name} > " in error


@pytest.mark.parametrize("name", READERS)
def test_latin_letters_of_windows_are_named_with_the_line_that_converts_the_file(cli, place, name):
    text, command = READERS[name]
    (place / name).write_bytes(text.encode("latin-1"))
    error = cli(*command, *(() if any(name in one for one in command) else (name,)), rc=2).stderr
    assert "not UTF-8 text" in error
    assert f"iconv -f WINDOWS-1252 -t UTF-8 {name} > " in error


def test_the_line_does_what_it_says_and_a_byte_order_mark_does_no_harm(cli, place, lines):
    (place / "my problems.csv").write_bytes(table(ROW, ".csv").encode("utf-16"))
    error = cli("vary", "my problems.csv", "-w", "contractions", rc=2).stderr
    line = error.strip().rpartition("convert it: ")[2]
    subprocess.run(["bash", "-c", line], cwd=place, check=True)
    assert "isn't" in cli("vary", "my problems.utf8.csv", "-w", "contractions").stdout
    (place / "marked.csv").write_bytes(table(ROW, ".csv").encode("utf-8-sig"))
    assert lines(cli("vary", "marked.csv", "-w", "contractions").stdout)[0]["of"] == "é1"


def test_utf_16_on_standard_input(cli):
    error = cli("score", "-", stdin=table(ANSWER, ".jsonl").encode("utf-16"), rc=2).stderr
    assert error == "error: -: is UTF-16 text; pipe it through: iconv -f UTF-16 -t UTF-8\n"


FORMULAS = ["=HYPERLINK(0)", "+1", "- So it isn't.", "@me isn't", "\tisn't", "plain, isn't", "'= isn't"]


def test_csv_for_spreadsheets_runs_no_formula_and_other_csv_keeps_every_letter(cli, place, write_jsonl):
    rows = [{**ROW, "id": f"{n}", "premise": text, "=note": text, "n": -n} for n, text in enumerate(FORMULAS)]
    write_jsonl(place / "problems.jsonl", rows)
    cli("check", "problems.jsonl", "-o", "plain.csv", "-q")
    cli("check", "problems.jsonl", "-o", "safe.csv", "--safe-csv", "-q")
    with (place / "safe.csv").open(encoding="utf-8", newline="") as file:
        cells = list(csv.reader(file))
    texts = [cell for row in cells for cell in row if not cell.lstrip("-").isdigit()]
    assert not [cell for cell in texts if cell[:1] in ("=", "+", "-", "@", "\t")]
    safe = pl.read_csv(place / "safe.csv")
    assert safe["premise"].to_list() == [f"'{text}" for text in FORMULAS[:5]] + FORMULAS[5:]
    assert (safe["n"].to_list(), "'=note" in safe.columns) == ([-n for n in range(len(FORMULAS))], True)
    cli("check", "plain.csv", "-o", "again.csv", "-q")
    assert pl.read_csv(place / "again.csv")["premise"].to_list() == FORMULAS


def test_every_command_that_writes_a_table_can_write_it_for_spreadsheets(cli):
    for command in ("score", "vary", "check", "answer", "circularity", "profile", "audit", "compare"):
        assert "--safe-csv" in cli(command, "--help").stdout
