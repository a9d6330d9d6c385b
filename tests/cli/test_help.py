"""No command and no option without a word of explanation; -h everywhere; exit codes of wrong usage."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from otherwords import __version__
from otherwords.cli.app import app

ROOT = Path(__file__).parents[2]
GROUP = typer.main.get_command(app)


def _commands(group=GROUP, before=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, (*before, name))
        else:
            yield (*before, name), command


COMMANDS = dict(_commands())


def test_these_are_the_commands():
    assert [" ".join(name) for name in COMMANDS] == [
        "run", "vary", "resample",
        "select partition", "select aflite", "select deciles", "select sample",
        "check", "profile", "probe", "answer", "score", "compare", "circularity", "annotate",
        "verdicts invite", "verdicts revoke", "verdicts export", "verdicts delete", "agreement", "audit",
        "reproduce", "paper ie-test", "paper merge", "paper paranlu", "paper parte", "paper sensitivity",
        "report",
        "view",
        "suite",
        "export",
        "convert",
        "list",
        "train encoder", "train boosted", "train bag_of_words", "train ngrams", "train bow_mlp", "train bilstm",
        "train masked-lm", "train nli",
        "cache info", "cache prune",
        "doctor",
    ]  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS, ids=" ".join)
def test_every_command_and_option_is_explained(cli, name):
    command = COMMANDS[name]
    assert command.help
    for parameter in command.params:
        assert parameter.help, f"{' '.join(name)} {parameter.name} has no help"
        assert parameter.help.rstrip().endswith((".", "'")), parameter.help
    shown = cli(*name, "--help").stdout
    assert shown.startswith(f"Usage: otherwords {' '.join(name)}")
    for parameter in command.params:
        assert all(option in shown for option in parameter.opts if option.startswith("-"))


@pytest.mark.parametrize("name", COMMANDS, ids=" ".join)
def test_every_command_is_documented(name):
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    assert f"otherwords {' '.join(name)}" in text


def test_the_commands_are_listed(cli):
    for arguments in (("-h",), ("--help",)):
        shown = cli(*arguments).stdout
        for name in COMMANDS:
            assert f"  {name[0]} " in shown
        assert "Exit codes: 0 ok, 1 a check or gate failed, 2 wrong usage or input." in " ".join(shown.split())


def test_version(cli):
    assert cli("--version").stdout == f"otherwords {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bogus",), "No such command 'bogus'"),
        (("vary", "x.jsonl", "--wiht", "identity"), "--wiht"),
        (("vary", "x.jsonl"), "Missing option '--with'"),
        (("vary", "--with", "identity"), "Missing argument 'FILE'"),
        (("answer", "x.jsonl"), "Missing option '--model'"),
        (("score",), "Missing argument 'ANSWERS'"),
        (("score", "x.jsonl", "--confidence", "95"), "--confidence"),
        (("score", "x.jsonl", "--replicates", "0"), "--replicates"),
        (("score", "x.jsonl", "--seed", "one"), "--seed"),
        (("run", "--batch-size", "-1"), "--batch-size"),
        (("doctor", "one"), "one"),
    ],
)
def test_wrong_usage_exits_with_2(cli, arguments, message):
    error = cli(*arguments, rc=2).stderr
    assert message in error
    assert "Try 'otherwords" in error
    assert "Traceback" not in error


def test_nothing_at_all_shows_the_help(cli):
    for arguments in ((), ("cache",)):
        result = cli(*arguments, rc=2)
        assert "Usage: otherwords" in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--field", "premise"), "--field premise"),
        (("--field", "=x"), "--field =x"),
        (("--field", "id=a", "--field", "id=b"), "--field id"),
        (("--field", "colour=x"), "'colour'"),
        (("--label", "0"), "--label 0"),
        (("--label", "0=yes"), "'yes'"),
        (("--task", "nil"), "'nil'; available: nli, rte, a-nli, d-nli"),
        (("--task", "absent.toml"), "error: absent.toml: "),
        (("-w", "idntity"), "'idntity'; did you mean identity? Available: back-translation.v1"),
        (("-w", "identity("), "'identity('"),
        (("-w", "identity(x=1)"), "identity.v1 has no option x"),
        (("-o", "out.txt"), "'out.txt'"),
        (("-o", "."), "error: .: "),
        (("-o", "problems.jsonl/x.jsonl"), "problems.jsonl"),
    ],
)
def test_wrong_values_are_reported_before_any_work(cli, problems, option, message):
    error = cli("vary", problems, "-w", "contractions", *option, rc=2).stderr
    assert error.startswith("error: ")
    assert error.count("\n") == 1  # no bar, no empty line: nothing was begun
    assert message in error


def test_the_package_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "otherwords", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"otherwords {__version__}\n"
