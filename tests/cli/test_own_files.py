"""No command writes what it reads, in whatever spelling, nor through a link; it is refused before any work."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from otherwords.running.stages import SHARD_STAGES

ANSWERS = (
    "bucket,variant,gold,pred\na,,neutral,neutral\na,a1,neutral,entailment\nb,,neutral,neutral\nb,b1,neutral,neutral\n"
)
RUN = ("run", "--data", "problems.jsonl", "-w", "contractions", "-m", "scripted", "--no-canary", "--replicates", 10)


@pytest.fixture
def files(problems, place, cli):
    cli("vary", problems, "-w", "contractions", "--suite", "-o", "suite.jsonl", "-q")
    (place / "answers.csv").write_text(ANSWERS)
    (place / "veto.txt").write_text("man\n")
    (place / "verdicts.csv").write_text("id,keep\nx,true\n")
    return place


def _content(place):
    return {path: path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


COMMANDS = [
    (("vary", "problems.jsonl", "-w", "contractions", "-o"), "problems.jsonl"),
    (("vary", "jsonl:problems.jsonl", "-w", "contractions", "-o"), "problems.jsonl"),
    (("vary", "problems.jsonl", "-w", "recorded:suite.jsonl", "-o"), "suite.jsonl"),
    (("vary", "problems.jsonl", "-w", "contractions", "-o", "x.jsonl", "--notes"), "problems.jsonl"),
    (("vary", "problems.jsonl", "-w", "contractions", "-o", "x.jsonl", "--unvaried"), "problems.jsonl"),
    (("vary", "problems.jsonl", "-w", "wordnet-ie", "--veto", "veto.txt", "-o", "x.jsonl", "--save-table"), "veto.txt"),
    (("check", "suite.jsonl", "-o"), "suite.jsonl"),
    (("check", "suite.jsonl", "-w", "human:verdicts.csv", "-o"), "verdicts.csv"),
    (("answer", "suite.jsonl", "-m", "scripted", "--no-canary", "-o"), "suite.jsonl"),
    (("score", "answers.csv", "-o"), "answers.csv"),
    (("compare", "answers.csv", "answers.csv", "-o"), "answers.csv"),
    (("profile", "suite.jsonl", "-o"), "suite.jsonl"),
    (("audit", "answers.csv", "-o"), "answers.csv"),
    (("circularity", "suite.jsonl", "-m", "scripted", "--judge", "self", "--no-canary", "-o"), "suite.jsonl"),
]


@pytest.mark.parametrize(
    ("command", "name", "how"),
    [*((*one, "same") for one in COMMANDS), *((*COMMANDS[0], how) for how in ("link", "hard link", "through a link"))],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_what_is_read_is_not_written(cli, files, command, name, how):
    target = {"same": f"./{name}", "link": f"link-{name}", "hard link": f"hard-{name}", "through a link": f"up/{name}"}
    out = target[how]
    if how == "link":
        Path(out).symlink_to(name)
    elif how == "hard link":
        os.link(name, out)
    elif how == "through a link":
        Path("up").symlink_to(".")
    before = _content(files)
    error = cli(*command, out, rc=2).stderr
    assert error.count("\n") == 1
    assert error.startswith(f"error: {Path(out)}: is ")
    assert _content(files) == before


def test_rejected_rows_do_not_replace_the_input(cli, files):
    Path("suite.jsonl").rename("rejected.jsonl")
    before = Path("rejected.jsonl").read_bytes()
    for command in (("vary", "-w", "contractions"), ("check",), ("answer", "-m", "scripted"), ("score",)):
        error = cli(*command, "rejected.jsonl", "--skip-bad", "-o", "x.jsonl", rc=2).stderr
        assert error.startswith("error: rejected.jsonl: is read and written"), error
    assert Path("rejected.jsonl").read_bytes() == before


def test_a_link_is_not_written_through(cli, files):
    Path("precious.jsonl").write_text("mine")
    Path("out.jsonl").symlink_to("precious.jsonl")
    error = cli("vary", "problems.jsonl", "-w", "contractions", "-o", "out.jsonl", rc=2).stderr
    assert error.startswith("error: out.jsonl: is a link; name ")
    assert Path("precious.jsonl").read_text() == "mine"
    assert Path("out.jsonl").is_symlink()


def test_links_in_a_circle_are_no_files(cli, files):
    Path("a.jsonl").symlink_to("a.jsonl")
    for command in (("vary", "-o", "x.jsonl"), ("run", "-m", "scripted", "-o", "run", "--data")):
        error = cli(*command, "a.jsonl", "-w", "contractions", rc=2).stderr
        assert error.endswith("error: a.jsonl: no such file\n"), error
    error = cli("vary", "problems.jsonl", "-w", "contractions", "-o", "a.jsonl", rc=2).stderr
    assert error.startswith("error: a.jsonl: is a link")


def test_devices_and_pipes_are_written_into(cli, files):
    os.mkfifo("pipe.jsonl")
    with subprocess.Popen(["timeout", "20", "cat", "pipe.jsonl"], stdout=subprocess.PIPE, text=True) as reader:
        cli("vary", "problems.jsonl", "-w", "contractions", "-o", "pipe.jsonl", "-q")
        assert reader.communicate()[0].count("\n") == 5
    assert stat.S_ISFIFO(Path("pipe.jsonl").stat().st_mode)
    # Devices are opened first: nothing can be replaced in the folder of descriptors, whatever the code under test does.
    with Path("/dev/null").open("wb") as null, Path("/dev/full").open("wb") as full:
        nowhere, nothing_left = (f"/proc/self/fd/{one.fileno()}" for one in (null, full))
        cli("vary", "problems.jsonl", "-w", "contractions", "-o", nowhere, "-q")
        error = cli("vary", "problems.jsonl", "-w", "contractions", "-o", nothing_left, "-q", rc=2).stderr
    assert error.startswith(f"error: {nothing_left}: No space left on device; free some space; nothing was written")


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        (("vary", "problems.jsonl", "-w", "contractions"), "nothing was written: run the same command again"),
        (("check", "suite.jsonl"), "nothing was written: run the same command again"),
        (
            ("answer", "suite.jsonl", "-m", "python:stops.py:ask"),
            "nothing was written, but answers that were given",
        ),
        (("run", "--data", "suite.jsonl", "-m", "python:stops.py:ask"), "finished work is kept: run the same command"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_stopped_command_claims_to_keep_only_what_it_keeps(cli, files, monkeypatch, command, kept):
    def stop(*_):
        raise KeyboardInterrupt

    Path("stops.py").write_text("def ask(batch):\n    raise KeyboardInterrupt\n")
    for stage in ("variants", "buckets") if command[0] in ("vary", "check") else ():
        monkeypatch.setitem(SHARD_STAGES, stage, SHARD_STAGES[stage]._replace(function=stop))
    error = cli(*command, "-o", "out.jsonl", "-q", rc=130).stderr
    assert error.startswith(f"error: interrupted; {kept}")
    assert Path("out.jsonl").exists() == (command[0] == "run")


class TestReports:
    @pytest.fixture
    def folder(self, cli, files):
        cli(*RUN, "-o", "mine", "-q")
        return files / "mine"

    def test_may_replace_the_report_and_nothing_else_of_the_run(self, cli, folder):
        cli("report", "mine", "-o", "mine/report.html")
        cli("report", "mine", "-o", "mine/other.html")
        for name in ("manifest.json", "scores.json", "answers/x.html"):
            assert "error: mine/" in cli("report", "mine", "-o", f"mine/{name}", rc=2).stderr

    def test_are_not_written_through_a_link(self, cli, folder):
        Path("precious.html").write_text("mine")
        (folder / "report.html").unlink()
        (folder / "report.html").symlink_to("../precious.html")
        for more in ((), ("-o", "mine/report.html")):
            assert "is a link" in cli("report", "mine", *more, rc=2).stderr
        assert Path("precious.html").read_text() == "mine"

    def test_tables_never_replace_what_is_of_another_origin(self, cli, folder):
        shown = cli("report", "mine", "--tables", "out")
        assert shown.stdout.split() == ["mine/report.html", "out"]
        assert "no comparison: there is one model" in shown.stderr
        cli("report", "mine", "--tables", "out")
        Path("out/tables/scores.md").write_text("changed by hand")
        assert "was changed since it was written" in cli("report", "mine", "--tables", "out", rc=2).stderr
        assert "is a file, not a folder" in cli("report", "mine", "--tables", "problems.jsonl", rc=2).stderr
        assert Path("out/tables/scores.md").read_text() == "changed by hand"

    def test_scores_may_go_into_the_run_folder(self, cli, folder):
        cli("score", "mine", "-o", "mine/flips.csv", "-q")
        assert "is in mine/answers, which is read" in cli("score", "mine", "-o", "mine/answers/x.csv", rc=2).stderr


class TestRunFoldersAsInput:
    """`answer`, `check` and `vary` take a run folder, as `score` does."""

    @pytest.fixture
    def folder(self, cli, files):
        cli(*RUN, "-o", "mine", "-q")
        return files / "mine"

    def test_answer_asks_its_buckets(self, cli, folder, lines):
        cli("answer", "mine", "-m", "other=scripted(seed=3)", "--no-canary", "-o", "answers.jsonl", "-q")
        assert [row["variant"] for row in lines(Path("answers.jsonl"))].count(None) == 3
        assert len(lines(Path("answers.jsonl"))) == 8

    def test_check_checks_its_buckets_again(self, cli, folder, lines):
        cli("check", "mine", "-w", "overlap(most=0)", "-o", "suite.jsonl", "-q")
        rows = lines(Path("suite.jsonl"))
        assert [row["check:overlap"] for row in rows if row["of"]] == [False] * 5
        assert all(row["check:surface"] for row in rows if row["of"])

    def test_vary_varies_its_problems(self, cli, folder, lines):
        cli("vary", "mine", "-w", "identity", "-o", "variants.jsonl", "-q")
        assert [row["of"] for row in lines(Path("variants.jsonl"))] == ["a", "b", "c"]

    def test_its_task_is_known(self, cli, files, write_jsonl):
        rows = [{"id": str(i), "first": f"It isn't {i}.", "second": "So.", "label": "no"} for i in range(3)]
        write_jsonl(files / "two.jsonl", rows)
        (files / "task.toml").write_text('name = "mine"\nfields = ["first", "second"]\nlabels = ["yes", "no"]\n')
        task = ("--data", "two.jsonl", "--task", "task.toml", "-w", "contractions(field=first)", "-m", "scripted")
        cli("run", *task, "-o", "two", "-q", "--replicates", 10)
        Path("task.toml").unlink()
        cli("vary", "two", "-w", "identity", "-o", "variants.jsonl", "-q")
        cli("answer", "two", "-m", "scripted", "-o", "answers.jsonl", "-q")
        cli("run", "two", "-q", "--seed", 2)

    def test_one_that_is_not_whole_is_named(self, cli, files):
        cli(*RUN, "-m", "python:gone.py:f", "-o", "half", "-q", rc=2)
        error = cli("answer", "half", "-m", "scripted", rc=2).stderr
        assert error == "error: half: is a run folder without buckets; continue the run first: otherwords run half\n"
