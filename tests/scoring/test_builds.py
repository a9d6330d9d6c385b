"""Continuous integration: gates on the difference to a baseline, JUnit XML, Markdown, the action, the plug-in."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import polars as pl
import pytest
from refusals import refuses
from typer.testing import CliRunner, Result

import otherwords as ow
from otherwords.cli.app import app
from otherwords.errors import BadInput
from otherwords.problem import Score
from otherwords.running.pytest_plugin import Wording
from otherwords.scoring import check_baseline, compare, junit_xml, markdown
from otherwords.scoring.builds import parse_baseline
from otherwords.scoring.gates import GateResult

ROOT = Path(__file__).parents[2]


def answers(flips: int, model: str = "tiny", count: int = 300) -> pl.DataFrame:
    """So many of the problems change their answer with the wording."""
    rows = [
        {"model": model, "bucket": str(number), "variant": variant, "gold": "yes"}
        | {"pred": "no" if variant and number < flips else "yes"}
        for number in range(count)
        for variant in ("", f"{number}v")
    ]
    return pl.DataFrame(rows)


def test_a_model_that_is_shown_to_be_no_worse_passes():
    [result], [difference] = check_baseline(answers(12), answers(10), ["flip_rate<=0.05"], replicates=99)
    [expected] = compare(answers(12), answers(10), ["flip_rate"], margin=0.05, replicates=99)
    assert result.passed == (expected.p_not_higher <= 0.025) is True
    assert difference.difference == expected.difference
    [result], _ = check_baseline(answers(12), answers(10), ["accuracy_drop>=-5%"], replicates=99)
    assert result.passed


@pytest.mark.parametrize("gate", ["flip_rate<=0.02", "accuracy_drop>=-0.02"])
def test_a_model_that_may_be_worse_fails(gate):
    [result], _ = check_baseline(answers(30), answers(10), [gate], replicates=99)
    assert not result.passed
    assert "is not shown" in result.line


@pytest.mark.parametrize("margin", [0.03, 0.05, 0.06, 0.1])
def test_the_gate_is_the_score_test_of_tango(margin):
    """Tango (1998): the variance of a difference of paired shares, at the margin. Ours estimates it from clusters."""
    rows = [(place, "no" if place < 13 else "yes", "no" if 11 <= place < 15 else "yes") for place in range(400)]
    tables = [
        pl.DataFrame(
            {"model": "m", "bucket": [f"b{row[0]}" for row in rows] * 2, "variant": [""] * 400 + ["v"] * 400,
             "gold": "yes", "pred": [row[which] for row in rows] * 2}
        )
        for which in (1, 2)
    ]  # fmt: skip
    [result], [row] = check_baseline(*tables, [f"accuracy_original>=-{margin}"])
    lost, won, n = 11, 2, 400
    b = -lost - won - (2 * n - won + lost) * margin
    nuisance = (math.sqrt(b * b - 8 * n * lost * margin * (1 + margin)) - b) / (4 * n)
    z = (won - lost + n * margin) / math.sqrt(n * (2 * nuisance - margin * (1 + margin)))
    assert -NormalDist().inv_cdf(row.p_not_lower) == pytest.approx(z, rel=0.07)
    assert result.passed == (row.p_not_lower <= 0.025)
    assert row.model == "m"


def test_a_sample_that_is_too_small_shows_nothing():
    [result], _ = check_baseline(answers(1, count=20), answers(1, count=20), ["flip_rate<=0.01"], replicates=99)
    assert not result.passed


def test_models_are_compared_with_their_namesakes():
    both = pl.concat([answers(10, "a"), answers(20, "b")])
    results, _ = check_baseline(both, both, ["flip_rate<=0.05"], replicates=99)
    assert [(one.model, one.passed) for one in results] == [("a", True), ("b", True)]
    with refuses(BadInput, field="baseline"):
        check_baseline(both, answers(10, "a"), ["flip_rate<=0.05"])


@pytest.mark.parametrize(
    "gate",
    ["flip_rate", "flip_rate>=0.02", "flip_rate<=0", "flip_rate<0.02", "flip_rate.high<=0.02", "flip_rate[a=b]<=0.1"],
)
def test_a_baseline_gate_that_is_none_is_refused(gate):
    with refuses(BadInput):
        parse_baseline([gate])


GATES = [
    GateResult("flip_rate<=0.1", "a<b>", True, "a<b>: fine"),
    GateResult("p_c>=0.8", "a<b>", False, 'bad & "odd" \x00|'),
]
SCORES = [Score("flip_rate", "flip_rate.v1()", "a<b>", None, 0.05, 0.01, 0.1, 20, 40)]


def test_junit_has_a_case_for_each_gate_and_model():
    suite = ET.fromstring(junit_xml(SCORES, GATES))[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    cases = suite.findall("testcase")
    assert [(one.get("classname"), one.get("name")) for one in cases] == [
        ("a<b>", "flip_rate<=0.1"),
        ("a<b>", "p_c>=0.8"),
    ]
    assert cases[0].find("failure") is None
    assert cases[1].find("failure").get("message") == 'bad & "odd" �|'
    grouped = replace(SCORES[0], group="topic=x")
    output = ET.fromstring(junit_xml([*SCORES, grouped], []))[0].findtext("system-out")
    assert output == "a<b>: flip_rate 5.0 % [1.0 – 10.0]\na<b>: flip_rate [topic=x] 5.0 % [1.0 – 10.0]"
    alone = ET.fromstring(junit_xml(SCORES, []))[0]
    assert [one.get("name") for one in alone.findall("testcase")] == ["measured"]


def test_a_gate_on_the_difference_to_a_baseline_is_a_case_of_its_own(cli):
    """Of cases with one name, GitLab shows one."""
    files = ("--baseline", "old.csv", "--no-worse", "flip_rate<=0.2", "--junit", "out.xml")
    cli("score", "new.csv", "--replicates", "99", "--metric", "flip_rate", "--require", "flip_rate<=0.2", *files)
    names = [one.get("name") for one in ET.parse("out.xml").iter("testcase")]
    assert names == ["flip_rate<=0.2", "flip_rate<=0.2 against the baseline"]


def test_the_summary_is_markdown_that_no_name_breaks():
    text = markdown(SCORES, GATES)
    assert text.startswith("## otherwords: 1 of 2 gates failed\n\n- ❌ bad")
    assert "| a\\<b\\> | flip\\_rate | 5.0 % | 1.0 – 10.0 | 20 | 40 |" in text


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    answers(30).write_csv("new.csv")
    answers(10).write_csv("old.csv")
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_score_writes_both_and_exits_by_all_gates(cli):
    files = ("--junit", "out.xml", "--summary", "out.md")
    quick = ("--replicates", "99", "--metric", "flip_rate")
    done = cli(
        "score",
        "new.csv",
        *quick,
        "--require",
        "flip_rate<=0.2",
        "--baseline",
        "old.csv",
        "--no-worse",
        "flip_rate<=0.02",
        *files,
    )
    assert done.exit_code == 1, done.output
    assert "above the baseline by less than 2.0 points is not shown" in done.stderr
    suite = ET.parse("out.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert "| +6.7 points |" in Path("out.md").read_text()
    done = cli("score", "new.csv", *quick, "--baseline", "old.csv", "--no-worse", "flip_rate<=0.2", *files)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    "options",
    [
        ("--baseline", "old.csv"),
        ("--no-worse", "flip_rate<=0.1"),
        ("--baseline", "nothing.csv", "--no-worse", "flip_rate<=0.1"),
        ("--junit", "out.txt"),
        ("--summary", "new.csv"),
        ("old.csv", "--baseline", "old.csv", "--no-worse", "flip_rate<=0.1"),
    ],
)
def test_wrong_options_are_refused_before_any_work(cli, options):
    done = cli("score", "new.csv", *options)
    assert done.exit_code == 2
    assert sorted(path.name for path in Path().iterdir()) == ["new.csv", "old.csv"]


STUDY = """
data = ["everyday"]
vary = ["contractions"]
models = ["scripted(otherwise=neutral)"]
metrics = ["flip_rate"]
canary = false
replicates = 99
"""


def action() -> dict:
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((ROOT / "action.yml").read_text())


def test_the_action_is_composite_and_uses_every_input():
    given = action()
    assert given["runs"]["using"] == "composite"
    text = (ROOT / "action.yml").read_text()
    for name in given["inputs"]:
        assert f"inputs.{name}" in text.partition("runs:")[2], name
    for step in given["runs"]["steps"]:
        assert "uses" in step or step["shell"] == "bash"
        # What a user gives reaches the shell by the environment alone, so that it is never a command.
        assert "${{" not in step.get("run", "")
    ids = {step.get("id") for step in given["runs"]["steps"]}
    for output in given["outputs"].values():
        assert output["value"].split(".")[1] in ids


def run_step(step: dict, here: Path, **given: str) -> subprocess.CompletedProcess[str]:
    """Run a step as the service does: inputs become variables, and programs are found by PATH."""
    inputs = {name: one.get("default", "") for name, one in action()["inputs"].items()} | given
    values = {}
    for name, text in step["env"].items():
        [key] = [key for key in inputs if text == f"${{{{ inputs.{key} }}}}"]
        values[name] = inputs[key]
    bin_folder = here / "bin"
    bin_folder.mkdir(exist_ok=True)
    (bin_folder / "otherwords").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m otherwords "$@"\n')
    (bin_folder / "python").write_text(f'#!/bin/sh\necho "$@" > "{here}/installed"\n')
    for program in bin_folder.iterdir():
        program.chmod(0o755)
    places = {"GITHUB_OUTPUT": str(here / "output"), "GITHUB_STEP_SUMMARY": str(here / "summary.md")}
    places["GITHUB_ACTION_PATH"] = str(ROOT)
    environment = {**os.environ, **values, **places, "PATH": f"{bin_folder}:{os.environ['PATH']}"}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_steps_of_the_action_run(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    install, run = action()["runs"]["steps"][1:]
    for given, package in (
        ({}, str(ROOT)),
        ({"extras": "hf"}, f"{ROOT}[hf]"),
        ({"extras": "hf,spacy", "version": "1.0.0"}, "otherwords[hf,spacy]==1.0.0"),
        ({"version": "dist/otherwords.whl"}, "dist/otherwords.whl"),
    ):
        assert run_step(install, tmp_path, **given).returncode == 0
        assert (tmp_path / "installed").read_text().split()[-1] == package
    done = run_step(run, tmp_path, study="study.toml", folder="run", require="flip_rate<=0.1\nflip_rate>=0.5\n")
    assert done.returncode == 1, done.stderr
    assert "1 of 2 gates failed" in (tmp_path / "summary.md").read_text()
    outputs = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    assert ET.parse(tmp_path / outputs["junit"]).getroot()[0].get("failures") == "1"
    assert (tmp_path / outputs["report"]).exists()


TESTS = """
def test_wording(otherwords):
    run = otherwords.run(data=["everyday"], vary=["contractions"], models=["scripted(otherwise=neutral)"],
                         metrics=["flip_rate"], canary=False, replicates=9, require=["flip_rate<=0.1"])
    otherwords.score(run.folder, "flip_rate", require=["flip_rate<=0.1"], replicates=9)
    otherwords.no_worse(run.folder, run.folder, "flip_rate<=0.3", replicates=99)

def test_too_strict(otherwords):
    otherwords.score("answers.csv", "flip_rate", require=["flip_rate<=0.01"], replicates=9)
"""


def test_the_fixture_fails_a_test_by_its_gates(tmp_path):
    """The thin version of the next."""
    properties: dict[str, object] = {}
    wording = Wording(tmp_path, properties.__setitem__)
    wording.score(answers(30), "flip_rate", require=["flip_rate<=0.1"], replicates=9)
    assert properties == {"tiny: flip_rate": 0.1}
    with pytest.raises(pytest.fail.Exception, match=r"tiny: flip_rate is 10\.0 %, required <= 1 %"):
        wording.score(answers(30), "flip_rate", require=["flip_rate<=0.01"], replicates=9)
    with pytest.raises(pytest.fail.Exception, match="is not shown"):
        wording.no_worse(answers(30), answers(10), "flip_rate<=0.02", replicates=99)


@pytest.mark.slow
def test_the_plugin_of_pytest_fails_tests_by_gates(tmp_path):
    (tmp_path / "test_mine.py").write_text(TESTS)
    answers(30).write_csv(tmp_path / "answers.csv")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml", "out.xml", "-W", "ignore"]
    command += ["-W", "error::pytest.PytestWarning"]  # of properties in JUnit files, for one
    plugin = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]["otherwords"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [*command, "-p", plugin], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "tiny: flip_rate is 10.0 %, required <= 1 %" in done.stdout
    properties = {
        one.get("name"): one.get("value") for one in ET.parse(tmp_path / "out.xml").getroot().iter("property")
    }
    assert properties["tiny: flip_rate"] == "0.1"


def test_the_plugin_loads_nothing_of_the_package_at_first():
    code = """
import sys, otherwords.running.pytest_plugin
print([one for one in ("numpy", "polars") if one in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_a_run_is_compared_with_a_baseline(cli, tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    ow.run(tmp_path / "study.toml", out=tmp_path / "old")
    done = cli(
        "run",
        "study.toml",
        "-o",
        "new",
        "-q",
        "--baseline",
        "old",
        "--no-worse",
        "flip_rate<=0.3",
        "--summary",
        "new.md",
    )
    assert done.exit_code == 0, done.output
    assert "all 1 gates passed" in Path("new.md").read_text()
