"""What users write type-checks: the Python of all pages and of the tutorial, against the package as they see it."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import typing
from pathlib import Path

import notebooks
import pytest

import otherwords

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
PACKAGE = Path(otherwords.__file__).parent
#: Pages whose functions have all their types. The others leave some out, as their readers may, and use a name again.
STRICT = ("library", "tutorial")
SETTINGS = """
[mypy]
strict = true
python_version = 3.11
[mypy-datasets.*,lemminflect.*,onnxruntime.*,scipy.*,snowballstemmer.*,spacy.*,transformers.*,torch.*]
ignore_missing_imports = true
follow_imports = skip
[mypy-pandas.*,mine.*,polite.*,systems.*]
ignore_missing_imports = true
[mypy-loose.*]
allow_redefinition = true
local_partial_types = true
strict_optional = false
disable_error_code = no-redef
disallow_untyped_defs = false
disallow_incomplete_defs = false
disallow_untyped_calls = false
disallow_untyped_decorators = false
disallow_any_generics = false
"""


def examples() -> dict[str, str]:
    """The code of each page, as a module."""
    code = {page.stem.lower(): BLOCK.findall(page.read_text(encoding="utf-8")) for page in PAGES}
    code["tutorial"] = list(map(notebooks.source_of, notebooks.cells_of(ROOT / "docs" / "tutorial.ipynb")))
    modules = {name: f"{'strict' if name in STRICT else 'loose'}/{name.replace('-', '_')}.py" for name in code}
    return {modules[name]: "\n\n".join(code[name]) for name in code if code[name]}


def check(code: dict[str, str], folder: Path) -> str:
    """Run mypy on some modules at once, with the cache of `make lint`; give its complaints."""
    (folder / "mypy.ini").write_text(SETTINGS)
    for name, text in code.items():
        (folder / name).parent.mkdir(exist_ok=True)
        ((folder / name).parent / "__init__.py").touch()
        (folder / name).write_text(text, encoding="utf-8")
    files = [str(folder / name) for name in code]
    command = [sys.executable, "-m", "mypy", "--config-file", str(folder / "mypy.ini"), "--no-error-summary", *files]
    environment = {"MYPYPATH": "src", "PATH": ""}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    return re.sub(r"^\S*?(?=(?:strict|loose)/)", "", done.stdout, flags=re.M) + done.stderr


@pytest.mark.slow
def test_the_examples_type_check_and_mistakes_do_not(tmp_path: Path) -> None:
    """One run for both: the types of the package come from its cache, or take half a minute."""
    mistake = """
import otherwords as ow

ow.vary("everyday", 7)
ow.score("answers.csv", by=3)
ow.answer("everyday", lambda batch: ["neutral"] * len(batch), cannary=False)
name: int = ow.score("answers.csv")["flip_rate"].metric
share: str = ow.run(data="everyday").scores[0].value
rows: int = ow.load([{"premise": "a"}]).height
"""
    found = check({**examples(), "strict/mistakes.py": mistake}, tmp_path).splitlines()
    assert [line for line in found if not line.startswith("strict/mistakes.py")] == []
    lines = [int(line.split(":")[1]) for line in found if ": error:" in line]
    assert lines == [4, 5, 6, 7, 8]


def test_the_package_says_that_it_has_types_and_has_them() -> None:
    """The thin version of the above, beside `make lint`: each public function says what it takes and gives."""
    assert (PACKAGE / "py.typed").is_file()
    for name in otherwords.__all__:
        if inspect.isfunction(function := getattr(otherwords, name)):
            parameters = inspect.signature(function).parameters
            hints = typing.get_type_hints(function)
            assert set(hints) == {*parameters, "return"}, name


def test_every_page_with_python_is_an_example() -> None:
    assert {"strict/library.py", "strict/tutorial.py", "loose/readme.py", "loose/extending.py"} <= set(examples())
