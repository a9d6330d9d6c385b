"""Every benchmark is listed, names only what exists, and runs at a tiny size."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import browsing
import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "benchmarks").glob("*.py"))
#: Scripts with a command line of their own, and what benchmarks share.
SCRIPTS = {"gpu", "gpu_causal", "gpu_explore", "gpu_training", "gpu_training_data"}
SHARED = {"__init__", "__main__", "isolated", "bare", "gpu_busy", "gpu_checks", "gpu_models", "levels"}


@pytest.fixture(scope="module")
def names() -> tuple[str, ...]:
    """The benchmarks that `python -m benchmarks` knows."""
    tree = ast.parse((ROOT / "benchmarks" / "__main__.py").read_text(encoding="utf-8"))
    [value] = [node.value for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "NAMES"]
    return ast.literal_eval(value)


def sources(file: Path) -> Iterator[ast.AST]:
    """The code of a file, and the code in its texts, which it runs in other processes."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    yield tree
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\nimport " in node.value:
            yield ast.parse(node.value)


def imported(file: Path) -> Iterator[tuple[str, str]]:
    """Every module of the package that a file imports from, and the name that it imports."""
    for tree in sources(file):
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "otherwords":
                yield from ((node.module, alias.name) for alias in node.names)


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment}
    return subprocess.run([sys.executable, "-m", *command], cwd=ROOT, env=env, capture_output=True, text=True)


def test_every_benchmark_is_listed(names):
    assert {file.stem for file in MODULES} == {*names, *SCRIPTS, *SHARED}


@pytest.mark.parametrize("file", MODULES, ids=lambda file: file.stem)
def test_what_a_benchmark_imports_exists(file):
    for module, name in imported(file):
        home = importlib.import_module(module)
        assert hasattr(home, name) or importlib.util.find_spec(f"{module}.{name}"), f"{module} has no {name}"


def test_the_import_test_sees_code_in_texts():
    assert ("otherwords.scoring.measure", "sample_of") in set(imported(ROOT / "benchmarks" / "intervals.py"))


def test_unknown_benchmarks_are_refused():
    done = run("benchmarks", "speed", "--tiny")
    assert done.returncode == 2
    assert "no benchmark speed; there are metrics, intervals" in done.stderr


def test_the_smallest_benchmark_runs():
    """The thin version of the next test."""
    done = run("benchmarks", "startup", "--tiny")
    assert done.returncode == 0, done.stderr
    assert "otherwords --help, times importing typer and rich" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", [file.stem for file in MODULES if file.stem not in SCRIPTS | SHARED])
def test_a_benchmark_runs_at_a_tiny_size(name, names):
    assert name in names
    if name == "report_page" and (reason := browsing.why_not()):
        pytest.skip(reason)
    results = ROOT / "benchmarks" / "results" / f"{name}.json"
    before = results.read_bytes() if results.exists() else None  # where it was never run at its full size
    done = run("benchmarks", name, "--tiny", OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 2
    assert (results.read_bytes() if results.exists() else None) == before


def test_the_spine_benchmark_refuses_other_scores_than_before(tmp_path):
    """Its digests are those of the version before the stages became columnar; its tiny run compares them, too."""
    spine = importlib.import_module("benchmarks.spine")
    assert {asked for _, asked in spine.SCORES} == {spine.TINY_ASKED, spine.ASKED}
    assert all(len(one) == 64 for one in spine.SCORES.values())
    (tmp_path / "scores.json").write_text("[]")
    with pytest.raises(SystemExit, match=r"scores\.json has changed"):
        spine.refuse_other_scores("suite", spine.TINY_ASKED, tmp_path / "scores.json")


def test_a_whole_run_has_the_scores_of_before(tmp_path):
    """Every stage, the default scores and the report, on the tiny suite of the spine benchmark."""
    spine = importlib.import_module("benchmarks.spine")
    spine.make_data("suite", tmp_path / "suite.parquet", spine.TINY_ASKED)
    assert spine.study("suite", tmp_path / "suite.parquet", tmp_path)["asked"] == spine.TINY_ASKED
    spine.refuse_other_scores("suite", spine.TINY_ASKED, tmp_path / "out" / "scores.json")


@pytest.mark.slow
def test_the_gpu_benchmarks_run_at_a_tiny_size_anywhere(tmp_path):
    """They go on after an experiment that fails, and write it down."""
    pairs = [
        {"premise": f"A man walks {n} dogs.", "hypothesis": "A man is out.", "label": "neutral"} for n in range(64)
    ]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, pairs)))
    files = ("--pairs", str(tmp_path / "pairs.jsonl"), "--out", str(tmp_path / "out.json"))
    done = run("benchmarks.gpu", "--small", "--count", "64", "--peer", "8", *files)
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "out.json").read_text())["results"]
    failed = {name: value["failed"] for name, value in results.items() if "failed" in value}
    assert all("has no float8 products" in why for why in failed.values()), failed
    assert "end to end: lean" in results
    done = run("benchmarks.gpu_explore", "--small", "--seconds", "300")
    assert done.returncode == 0, done.stderr
    assert "sdpa, mixed" in done.stdout
    assert "failed" not in done.stdout


@pytest.mark.slow
def test_the_benchmark_of_causal_models_runs_at_a_tiny_size_anywhere(tmp_path):
    done = run("benchmarks.gpu_causal", "--quick", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "gpu_causal.json").read_text())["results"]
    assert not [name for name, value in results.items() if "failed" in value]
    assert results["hf: 36-shot"]["tokens_shared"] > 1000
    assert results["shared and not, 36-shot, float32"]["largest_difference"] < 1e-3
    assert (tmp_path / "gpu_causal.txt").read_text().startswith("build: ")
