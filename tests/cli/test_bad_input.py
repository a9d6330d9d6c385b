"""Bad input: each fault names file, line or row, field, what was found and how to fix it; nothing is left behind."""

from __future__ import annotations

import json
import shutil

import polars as pl
import pytest

GOOD = {"id": "a", "premise": "It isn't so.", "hypothesis": "It is.", "label": "neutral"}
#: A second row that cannot be used, and the field that is named.
BAD = {
    "missing column": ({"id": "b", "premise": "P.", "label": "neutral"}, "hypothesis"),
    "wrong column": ({"id": "b", "premise": "P.", "hypo": "H.", "label": "neutral"}, "hypothesis"),
    "unknown label": ({**GOOD, "id": "b", "label": "maybe"}, "label"),
    "empty text": ({**GOOD, "id": "b", "hypothesis": " \t"}, "hypothesis"),
    "null text": ({**GOOD, "id": "b", "premise": None}, "premise"),
    "number for text": ({**GOOD, "id": "b", "premise": 7}, "premise"),
    "duplicate id": (dict(GOOD), "id"),
    "no id": ({**GOOD, "id": ""}, "id"),
    "no original": ({**GOOD, "id": "b", "of": "zz"}, "of"),
    "own variant": ({**GOOD, "id": "b", "of": "b"}, "of"),
    "other gold": ({**GOOD, "id": "b", "of": "a", "label": "entailment"}, "label"),
}
COMMANDS = {
    "vary": ("vary", "{file}", "-w", "contractions", "-o", "out/x.jsonl"),
    "check": ("check", "{file}", "-o", "out/x.csv"),
    "answer": ("answer", "{file}", "-m", "scripted", "--no-canary", "-o", "out/x.parquet"),
    "run": ("run", "--data", "{file}", "-w", "contractions", "-m", "scripted", "--no-canary", "-o", "out/run"),
}


def _command(name, file):
    return [part.format(file=file) for part in COMMANDS[name]]


def _one_line(error):
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert "Traceback" not in error
    return error


@pytest.mark.parametrize(
    ("command", "fault"), [*(("vary", fault) for fault in BAD), *((name, "unknown label") for name in COMMANDS)]
)
def test_the_error_is_named_and_nothing_is_left(cli, write_jsonl, place, leftovers, command, fault):
    row, field = BAD[fault]
    write_jsonl(place / "bad.jsonl", [GOOD, row])
    error = _one_line(cli(*_command(command, "bad.jsonl"), "-q", rc=2).stderr)
    assert error.startswith(f"error: bad.jsonl, line 2: {field}: ")
    assert not (place / "out").exists()
    assert leftovers() == []


@pytest.mark.parametrize("command", ["vary", "run"])  # by pipes, and by the runner
def test_broken_json_far_down(cli, place, leftovers, command):
    lines = [json.dumps({**GOOD, "id": str(i)}) for i in range(2710)] + ['{"id": "x", "premise": "P']
    (place / "long.jsonl").write_text("\n".join(lines) + "\n")
    error = _one_line(cli(*_command(command, "long.jsonl"), "-q", rc=2).stderr)
    assert error.startswith("error: long.jsonl, line 2711: broken JSON")
    assert not (place / "out").exists()
    assert leftovers() == []


@pytest.mark.parametrize(
    ("name", "content", "where"),
    [
        (
            "a.csv",
            b"id,premise,hypothesis,label\n1,P,H,neutral\n2,P,H,neutral,x\n",
            "a.csv, line 3: ",
        ),
        ("a.csv", b"id,premise,hypothesis,label\n1,P,H,neutral\n2,P,H,\n", "a.csv, line 3: label: "),
        ("a.csv", b"id,premise,hypothesis,label\n1,P\xff,H,neutral\n", "a.csv, line 2: "),
        ("a.csv", b"", "a.csv: "),
        (
            "a.tsv",
            b"id\tpremise\thypothesis\tlabel\n1\tP\t\tneutral\n",
            "a.tsv, line 2: hypothesis: ",
        ),
        ("a.parquet", b"no parquet", "a.parquet: "),
        ("a.jsonl", b'{"id": "1\xff"}\n', "a.jsonl, line 1: "),
        ("a.jsonl", b"[1, 2]\n", "a.jsonl, line 1: "),
        ("a.txt", b"x", "a.txt: "),
    ],
)
def test_files_that_cannot_be_read(cli, place, leftovers, name, content, where):
    (place / name).write_bytes(content)
    error = _one_line(cli(*_command("vary", name), "-q", rc=2).stderr)
    assert error.startswith(f"error: {where}")
    assert not (place / "out").exists()
    assert leftovers() == []


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf\n\n"])
def test_an_empty_file(cli, place, content):
    (place / "empty.jsonl").write_bytes(content)
    assert "no rows" in _one_line(cli(*_command("vary", "empty.jsonl"), "-q", rc=2).stderr)


def test_rows_of_parquet_are_numbered(cli, place):
    pl.DataFrame([GOOD, {**GOOD, "id": "b", "label": "?"}]).write_parquet("a.parquet")
    assert "a.parquet, row 2: label: found '?'" in cli(*_command("vary", "a.parquet"), "-q", rc=2).stderr


def test_standard_input_is_named_too(cli):
    text = json.dumps(GOOD) + "\n" + json.dumps({**GOOD, "id": "b", "label": "?"}) + "\n"
    error = cli("vary", "-", "-w", "contractions", "-q", stdin=text, rc=2).stderr
    assert "line 2: label: found '?'" in error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--cache", "x.sqlite", "--no-cache"), "--cache, --no-cache: both are given; leave one of them out"),
        (("--repeats", "2", "--repeat-way", "sideways"), "--repeat-way: found 'sideways'; use one of usual, cold, "),
        (("--label-map", "yes=entails"), "the label map says that 'yes' means 'entails', which nli does not"),
    ],
)
def test_options_that_nothing_could_follow(cli, write_jsonl, place, options, message):
    write_jsonl(place / "p.jsonl", [GOOD])
    for command in ("answer", "run"):
        error = cli(*_command(command, "p.jsonl"), "-q", *options, rc=2).stderr
        assert _one_line(error).startswith(f"error: {message}")
    assert not (place / "x.sqlite").exists()


def test_a_field_that_is_not_there_leaves_the_earlier_study(cli, write_jsonl, place):
    write_jsonl(place / "p.jsonl", [GOOD])
    run = ("run", "--data", "p.jsonl", "-m", "scripted", "--no-canary", "-o", "run", "-q", "-w")
    cli(*run, "contractions")
    before = {path: path.read_bytes() for path in (place / "run").rglob("*.*")}
    error = cli(*run, "contractions(field=hypo)", rc=2).stderr
    assert error == "error: contractions: no field 'hypo'; use one of premise, hypothesis\n"
    assert {path: path.read_bytes() for path in (place / "run").rglob("*.*")} == before


def test_an_empty_name_is_not_the_current_folder(cli, place):
    """As of a shell's variable that is not set."""
    pl.DataFrame({"bucket": ["a"], "variant": [""], "gold": ["x"], "pred": ["x"]}).write_parquet("answers.parquet")
    pl.DataFrame([GOOD]).write_parquet("problems.parquet")
    for command in (("vary", "", "-w", "contractions"), ("score", ""), ("compare", "answers.parquet", "")):
        error = cli(*command, "-q", rc=2).stderr
        assert "the name of a file is empty" in error or "two models" in error


def test_standard_input_is_read_once(cli):
    error = cli("vary", "-", "-", "-w", "contractions", "-q", stdin=json.dumps(GOOD), rc=2).stderr
    assert error == "error: -: is given twice; name standard input once: it can be read but once\n"


def test_an_earlier_output_survives_bad_input(cli, write_jsonl, place):
    write_jsonl(place / "p.jsonl", [GOOD])
    for command in COMMANDS:
        cli(*_command(command, "p.jsonl"), "-q")
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    write_jsonl(place / "p.jsonl", [GOOD, {**GOOD, "id": "b", "label": "?"}])
    for command in COMMANDS:
        cli(*_command(command, "p.jsonl"), "-q", rc=2)
    after = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    del before[place / "p.jsonl"], after[place / "p.jsonl"]
    assert after == before


@pytest.mark.parametrize("command", ["vary", "check", "answer"])
def test_skip_bad_goes_on_and_keeps_every_rejected_row(cli, write_jsonl, place, lines, leftovers, command):
    write_jsonl(place / "bad.jsonl", [GOOD, *(row for row, *_ in BAD.values())])
    with (place / "bad.jsonl").open("a") as file:
        file.write('{"id": \n')
    result = cli(*_command(command, "bad.jsonl"), "--skip-bad")
    assert f"{len(BAD) + 1} rejected" in result.stderr
    assert "rejected rows and the reasons are in out/rejected.jsonl" in result.stderr
    rejected = lines(place / "out" / "rejected.jsonl")
    assert len(rejected) == len(BAD) + 1
    assert {row["where"] for row in rejected} == {f"bad.jsonl, line {i}" for i in range(2, len(BAD) + 3)}
    for row in rejected:
        assert list(row) == ["where", "field", "reason", "row"]
        assert row["reason"].startswith(row["where"])
    assert leftovers() == []


def test_skip_bad_to_standard_output_leaves_the_rejected_here(cli, write_jsonl, place, lines):
    write_jsonl(place / "bad.jsonl", [GOOD, {**GOOD, "id": "b", "label": "?"}])
    assert len(lines(cli("vary", "bad.jsonl", "-w", "contractions", "--skip-bad", "-q").stdout)) == 1
    assert len(lines(place / "rejected.jsonl")) == 1


def test_nothing_but_bad_rows(cli, write_jsonl, place):
    write_jsonl(place / "bad.jsonl", [{**GOOD, "label": "?"}])
    own = (".lock", "manifest.json")  # which say whose folder it is, so that it can be used again
    for command in COMMANDS:
        error = _one_line(cli(*_command(command, "bad.jsonl"), "--skip-bad", "-q", rc=2).stderr)
        assert "bad.jsonl, line 1: label: found '?'" in error
        [kept] = [path for path in (place / "out").rglob("*") if path.is_file() and path.name not in own]
        assert json.loads(kept.read_text())["row"] == {**GOOD, "label": "?"}
        assert kept.name == "rejected.jsonl"
        shutil.rmtree(place / "out")


def test_what_is_odd_but_good(cli, place, lines):
    long = "isn't " + "word " * 5000
    rows = [
        {"id": "ü/1", "premise": long, "hypothesis": "Ça n'est pas 日本語 🙂\u2028", "label": " Neutral "},
        {"id": 2, "premise": "It isn't\r\nso.", "hypothesis": "x", "label": "ENTAILMENT"},
    ]
    text = "\r\n".join(json.dumps(row) for row in rows)  # Windows' line ends, and none at the end
    (place / "odd.jsonl").write_bytes(b"\xef\xbb\xbf" + text.encode())
    one, two = lines(cli("vary", "odd.jsonl", "-w", "contractions", "-q").stdout)
    assert one["premise"].startswith("is not word")
    assert len(one["premise"].split()) == 5002
    assert (one["of"], one["hypothesis"], one["label"]) == ("ü/1", rows[0]["hypothesis"], "neutral")
    assert (two["of"], two["premise"], two["label"]) == ("2", "It is not\r\nso.", "entailment")
    rows = lines(cli("answer", "odd.jsonl", "-m", "scripted", "--no-canary", "-q").stdout)
    assert [row["bucket"] for row in rows] == ["ü/1", "2"]


def test_ids_may_be_left_out(cli, write_jsonl, place, lines):
    write_jsonl(place / "p.jsonl", [{k: v for k, v in GOOD.items() if k != "id"}] * 2)
    assert [row["bucket"] for row in lines(cli("answer", "p.jsonl", "-m", "scripted", "--no-canary", "-q").stdout)] == [
        "1",
        "2",
    ]


#: What stands in a line after its other keys, and what the error says; None where it is no fault.
HOSTILE = {
    "lists nested 100,000 deep": ('"x": ' + "[" * 100_000 + "]" * 100_000, "nested too deeply"),
    "objects nested 100,000 deep": ('"x": ' + '{"a": ' * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
    "an integer of 5,000 digits": ('"x": ' + "9" * 5_000, "a number has too many digits"),
    "an integer beyond 64 bits": ('"x": ' + "9" * 30, None),
    "a control character": ('"x": "a\x00b"', "broken JSON at column"),
    "half a surrogate pair": (r'"x": "\ud83d"', "found an unpaired surrogate"),
    "the other half": (r'"x": "a \ude00 b"', "found an unpaired surrogate"),
    "a whole surrogate pair": (r'"x": "\ud83d\ude00"', None),
    "a key twice": ('"label": "neutral", "label": "entailment"', "it has 'label' twice"),
    "a key twice, with spaces": ('"label" : "neutral", "label" :"entailment"', "it has 'label' twice"),
    "an escaped control character": (r'"x": "a\u0000b"', None),
}
READERS = {
    "score": ("score", "{file}", "--replicates", "9", "-q"),
    "compare": ("compare", "{file}", "{file}", "--metric", "flip_rate", "--replicates", "99", "-q"),
    "audit": ("audit", "{file}", "-q"),
    "vary": ("vary", "{file}", "-w", "contractions", "-o", "out/x.jsonl", "-q"),
    "check": ("check", "{file}", "-o", "out/x.csv", "-q"),
    "answer": ("answer", "{file}", "-m", "scripted", "--no-canary", "--no-cache", "-o", "out/x.parquet", "-q"),
}
ANSWERED = [{"bucket": b, "variant": v, "gold": "no", "pred": "no"} for b in "ab" for v in (None, "1")]


@pytest.mark.parametrize("fault", HOSTILE)
@pytest.mark.parametrize("command", READERS)
def test_hostile_json_is_refused_with_its_line(cli, place, command, fault):
    extra, message = HOSTILE[fault]
    answers = command in ("score", "compare", "audit")
    rows = ANSWERED if answers else [{**GOOD, "id": one, "x": None} for one in "abcd"]
    if not answers and "label" in extra:
        extra = extra.replace("label", "topic")
    lines = [json.dumps(row) for row in rows]
    lines[1] = lines[1].replace(', "x": null', "").removesuffix("}") + f", {extra}}}"
    (place / "hostile.jsonl").write_bytes("\n".join(lines).encode())
    result = cli(*(part.format(file="hostile.jsonl") for part in READERS[command]), rc=2 if message else 0)
    if message:
        expected = message if answers else message.replace("label", "topic")
        assert "hostile.jsonl, line 2: " in _one_line(result.stderr)
        assert expected in result.stderr


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN"])
def test_numbers_without_an_end_are_no_names(cli, place, command, number):
    rows = ANSWERED if command in ("score", "compare", "audit") else [{**GOOD, "id": one} for one in "abcd"]
    key = "pred" if rows is ANSWERED else "label"
    lines = [json.dumps(row) for row in rows]
    lines[1] = json.dumps({**rows[1], key: "?"}).replace('"?"', number)
    (place / "hostile.jsonl").write_text("\n".join(lines))
    error = cli(*(part.format(file="hostile.jsonl") for part in READERS[command]), rc=2).stderr
    assert f"hostile.jsonl, line 2: {key}: found " in _one_line(error)


def test_a_label_without_a_meaning_is_shown_as_one_types_it(cli, place):
    (place / "p.csv").write_text("premise,hypothesis,label\nIt rains.,It is wet.,2\n")
    assert "map it with --label 2=..., or" in cli("vary", "p.csv", "-w", "contractions", rc=2).stderr
    (place / "p.csv").write_text("premise,hypothesis,label\nIt rains.,It is wet.,so so\n")
    assert "map it with --label 'so so'=..., or" in cli("vary", "p.csv", "-w", "contractions", rc=2).stderr


def test_a_spreadsheet_with_semicolons_is_read(cli, place):
    (place / "p.csv").write_text("id;premise;hypothesis;label\n1;It isn't wet, I think.;It is wet.;neutral\n")
    assert "It is not wet, I think." in cli("vary", "p.csv", "-w", "contractions", "-q").stdout
