"""One file is enough: newcomers of every kind, put into a copy of the package, are found and held to their contracts.

The newcomers are those of `docs/extending.md`, at the paths that the page gives, and a language model of each kind.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from otherwords.registry import KINDS

ROOT = Path(__file__).parents[2]
LANGUAGE_MODELS = '''
import json
from pathlib import Path

import numpy as np

from otherwords.inference.scheduling import Scheduler
from otherwords.inference.tokens import Tokens
from otherwords.language_models.encoder import SentenceEncoder
from otherwords.registry import encoders, masked_lms, writers


def sample(folder: Path) -> str:
    words = "a dog runs in the park while it rains and no cat sleeps".split()
    (folder / "words.json").write_text(json.dumps({"vocabulary": words}))
    return f"guessing:{folder / 'words.json'}"


@masked_lms("guessing.v1", example=sample)
def guessing(path: Path):
    """Fill masks with any word of the file at `path`."""
    return masked_lms.get("scripted").factory(path, otherwise="any")


@writers("mixing.v1")
def mixing():
    """Write the words of the prompt in another order."""
    return writers.get("scripted").factory(otherwise="shuffle")


@encoders("letters.v1")
def letters(max_length: int = 256):
    """Count the letters of a text, of which at most `max_length` are read."""
    def encode(texts):
        ids = [[ord(sign) % 64 + 1 for sign in text[:max_length]] for text in texts]
        return Tokens.of(ids, [len(text) > max_length for text in texts])

    def count(rows):
        return (np.stack([np.bincount(row, minlength=65) for row in rows.ids]).astype(np.float32),)

    return SentenceEncoder(Scheduler(encode, lambda rows: rows, count, budget=4096, exact=True))
'''

#: As a first attempt looks: a generator of rare words and no options, a model of one task, a reader of its own.
PLAIN = {
    "variants/big_large.py": '''
from otherwords.registry import generators


def sample(folder):
    line = '{"premise": "A big dog runs.", "hypothesis": "A big dog moves.", "label": "entailment"}'
    (folder / "problems.jsonl").write_text(line)
    return "big-large"


@generators("big-large.v1", example=sample)
def big_large():
    """Say large where a target says big."""
    def vary(problems, seeds):
        for problem in problems:
            fields = [name for name in problem.task.targets if " big " in problem.text[name]]
            if fields:
                yield problem.restate(**{name: problem.text[name].replace(" big ", " large ") for name in fields})
    return vary
''',
    "models/shared_words.py": '''
from otherwords.registry import models


@models("shared-words.v1")
def shared_words():
    """Answer entailment where premise and hypothesis share a word."""
    def ask(batch):
        pairs = zip(batch["premise"], batch["hypothesis"])
        return ["entailment" if {*premise.split()} & {*other.split()} else "neutral" for premise, other in pairs]
    return ask
''',
    "datasets/piped.py": '''
from pathlib import Path
from otherwords.datasets.records import Dataset, Record
from otherwords.registry import datasets


def sample(folder):
    (folder / "piped.txt").write_text("It rains.|It is wet.|E")
    return f"piped:{folder / 'piped.txt'}"


@datasets("piped.v1", example=sample)
def piped(path: Path):
    """Lines of premise, hypothesis and label, which is E, N or C."""
    def read():
        for number, line in enumerate(path.read_text().splitlines(), 1):
            yield Record(f"{path}, line {number}", dict(zip(("premise", "hypothesis", "label"), line.split("|"))))
    return Dataset(read, task="nli", files=(path,), labels={"E": "entailment", "N": "neutral", "C": "contradiction"})
''',
}


def newcomers() -> dict[str, str]:
    """Files by their paths: the guide's blocks whose first line is a path in the package, and more."""
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    files = dict(re.findall(r"^```python\n# (src/otherwords/\S+\.py)\n(.*?)^```", page, re.M | re.S))
    more = {"language_models/newcomers.py": LANGUAGE_MODELS, **PLAIN}
    return {**files, **{f"src/otherwords/{path}": text for path, text in more.items()}}


def names(text: str) -> list[tuple[str, str]]:
    """The kinds and names that a file registers."""
    return re.findall(r'^@(\w+)\("([\w-]+\.v\d+)"', text, re.M)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The repository as far as contract tests need it, with one new file of each kind."""
    ignored = shutil.ignore_patterns("assets", "__pycache__")
    for folder in ("src/otherwords", "tests/contracts", "tests/support"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    for linked in ("src/otherwords/assets", "docs"):
        (tmp_path / linked).symlink_to(ROOT / linked, target_is_directory=True)
    for name in ("conftest.py", "pyproject.toml", "tests/conftest.py", "tests/messages.json"):
        shutil.copy(ROOT / name, tmp_path / name)
    for path, text in newcomers().items():
        assert not (tmp_path / path).exists(), f"{path} would replace a file of the package"
        (tmp_path / path).write_text(text, encoding="utf-8")
    return tmp_path


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_guide_has_one_of_each_kind():
    kinds = {kind for text in newcomers().values() for kind, _ in names(text)}
    assert kinds == {*KINDS, "papers"}


def test_newcomers_are_found_and_can_be_tried(copy):
    """The thin version of what follows: found in their folders, and made with their defaults or declared examples."""
    registered = [one for text in newcomers().values() for one in names(text) if one[0] in KINDS]
    code = f"""
import tempfile
from pathlib import Path
from otherwords.registry import KINDS
for kind, name in {registered!r}:
    spec = KINDS[kind].get(name).example_spec(Path(tempfile.mkdtemp(dir={str(copy)!r})))
    print(KINDS[kind].make(spec).plugin.full_name)
"""
    done = python(copy, "-c", code)
    assert done.stdout.split() == [name for _, name in registered], done.stderr


@pytest.mark.slow
def test_contract_tests_pick_newcomers_up(copy):
    """In a process of its own, on the copy; nothing is edited but the new files themselves."""
    registered = [name for text in newcomers().values() for kind, name in names(text) if kind in KINDS]
    # A metric of the toolkit's own has a row in docs/metrics.md; that is documentation, and not part of this proof.
    chosen = f"({' or '.join(registered)}) and not page_of_metrics"
    arguments = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0", "--no-header", "-rA", "tests/contracts")
    done = python(copy, *arguments, "-k", chosen, "--deselect", "tests/contracts/test_newcomers.py")
    assert done.returncode == 0, done.stdout + done.stderr
    passed = [line for line in done.stdout.splitlines() if line.startswith("PASSED")]
    for name in registered:
        assert sum(name in line for line in passed) > 5, f"{name} is not held to any contract of its kind"
