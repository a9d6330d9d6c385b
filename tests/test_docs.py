"""What the documentation shows is run: Python blocks as they stand, commands against the options that exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)


def blocks(page: Path, language: str) -> list[str]:
    return [text for name, text in BLOCK.findall(page.read_text(encoding="utf-8")) if name == language]


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OTHERWORDS_CACHE": str(folder / "cache.sqlite")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page: Path, tmp_path: Path) -> None:
    code = "\n\n".join(blocks(page, "python"))
    done = run([sys.executable, "-c", code or "pass"], tmp_path)
    assert done.returncode == 0, done.stderr


def test_plugins_of_the_guide_work(tmp_path: Path) -> None:
    """The guide's plug-ins, announced by an entry point as it says, do what it says."""
    page = ROOT / "docs" / "extending.md"
    (tmp_path / "guide.py").write_text("\n\n".join(blocks(page, "python")))
    info = tmp_path / "guide-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: guide\nVersion: 1\n")
    kinds = ("generators", "checks", "models", "metrics", "datasets")
    (info / "entry_points.txt").write_text("".join(f"[otherwords.{kind}]\nguide = guide\n" for kind in kinds))
    (tmp_path / "two_premises.toml").write_text(blocks(page, "toml")[1])
    (tmp_path / "mine.jsonl").write_text(
        '{"uid": "1", "context": "It rains.", "hypothesis": "It is wet.", "label": "entailment"}\n'
        '{"uid": "2", "context": "It is dry.", "hypothesis": "It rains.", "label": "contradiction"}\n'
    )
    (tmp_path / "two.jsonl").write_text('{"first": "a", "second": "b", "hypothesis": "c", "label": "follows"}\n')
    study = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
import otherwords as ow
result = ow.run(data=["mine:mine.jsonl"], vary=["polite"], check=["short"], models=["always(label=entailment)"],
                canary=False, metrics=["wrong_flips", "flip_rate", "accuracy_variants"])
print([(one.metric, one.value, one.n_answers) for one in result.scores])
answers = ow.answer(ow.load("two.jsonl", task="two_premises.toml"), "python:guide:ask", "two_premises.toml")
"""
    done = run([sys.executable, "-c", study], tmp_path)
    expected = "[('wrong_flips', 0.0, 2), ('flip_rate', 0.0, 2), ('accuracy_variants', 0.5, 2)]"
    assert done.stdout.strip() == expected, done.stderr
    # The guide's `ask` says "neutral", which is none of that task's labels: refused, with the labels it has.
    assert done.returncode == 1
    assert "does not follow" in done.stderr


def shown_commands() -> list[str]:
    text = "\n".join(block for page in PAGES for block in blocks(page, "sh"))
    lines = [part.split("#")[0].strip() for line in text.splitlines() for part in line.split("|")]
    return sorted({line for line in lines if line.startswith("otherwords ")})


@pytest.mark.parametrize("line", shown_commands())
def test_shown_commands_exist(line: str, tmp_path: Path) -> None:
    words = line.split()
    done = run([str(Path(sys.executable).with_name("otherwords")), words[1], "--help"], tmp_path)
    assert done.returncode == 0, done.stderr
    for option in re.findall(r"(?<=\s)--?[a-z][\w-]*", line):
        assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", done.stdout), f"{words[1]} has no {option}"
