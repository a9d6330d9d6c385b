"""Code of users: what decides its results is in its signature, whatever else the process has loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.registry import models as registry
from otherwords.storage.signing import sign_object, sources
from otherwords.storage.user_code import LateModules, guard, load_file, load_function


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, whose modules are forgotten after the test."""
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith(("ow_", "otherwords_file_")):
            del sys.modules[name]


@pytest.fixture
def write(here: Path) -> Callable[..., None]:
    def write(**texts: str) -> None:
        for name, text in texts.items():
            path = here / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    return write


def signature(target: str = "ow_main.py:f") -> str:
    return registry.make(f"python:{target}").signature


def names(file: str) -> set[str]:
    return set(sources(Path(file)).values())


@pytest.mark.parametrize(
    "main",
    [
        "import ow_helper\ndef f(batch): return ow_helper.answer(batch)",
        "from ow_helper import answer as f",
        "def f(batch):\n    import ow_helper\n    return ow_helper.answer(batch)",
        "def f(batch):\n    from ow_helper import answer\n    return answer(batch)",
        "import importlib\ndef f(batch): return importlib.import_module('ow_' + 'helper').answer(batch)",
        "def f(batch): return __import__('ow_helper').answer(batch)",
        "from ow_pkg.deep import f",
        "import ow_front\nf = ow_front.f",
    ],
)
def test_a_changed_helper_is_another_model(write, main):
    write(
        ow_main=main,
        ow_helper="def answer(batch): return ['neutral'] * len(batch)",
        ow_front="from ow_helper import *\nf = answer",
        **{
            "ow_pkg/__init__": "",
            "ow_pkg/deep": "from .near import f",
            "ow_pkg/near": "import ow_helper\ndef f(batch): return ow_helper.answer(batch)",
        },
    )
    before, answers = signature(), registry.make("python:ow_main.py:f").function([1])
    assert answers == ["neutral"]
    write(ow_helper="def answer(batch): return ['neutraL'] * len(batch)")  # of the same length, in the same second
    assert signature() != before
    assert registry.make("python:ow_main.py:f").function([1]) == ["neutraL"]
    write(ow_helper="def answer(batch): return ['neutral'] * len(batch)")
    assert signature() == before


def test_the_top_of_a_package_is_the_root(write, here):
    files = {
        "ow_pkg/__init__": "import ow_pkg.settings",
        "ow_pkg/settings": "X = 1",
        "ow_pkg/models/__init__": "",
        "ow_pkg/models/one": "from ..tools import g\ndef f(batch): return g(batch)",
        "ow_pkg/tools": "def g(batch): return ['neutral'] * len(batch)",
        "ow_pkg/other": "def never_imported(): ...",
    }
    write(**files)
    wanted = {"ow_pkg/__init__.py", "ow_pkg/settings.py", "ow_pkg/models/__init__.py", "ow_pkg/models/one.py"}
    assert names("ow_pkg/models/one.py") == {*wanted, "ow_pkg/tools.py"}
    before = signature("ow_pkg.models.one:f")
    write(**{"ow_pkg/tools": "def g(batch): return ['entailment'] * len(batch)"})
    assert signature("ow_pkg.models.one:f") != before
    assert registry.make("python:ow_pkg.models.one:f").function([1]) == ["entailment"]


def test_what_is_installed_is_not_signed(write, here):
    write(ow_main="import numpy, json, otherwords, ow_installed, ow_helper\ndef f(batch): ...", ow_helper="")
    write(**{".venv/lib/python3/site-packages/ow_installed": "X = 1", ".venv/src/ow_editable": "X = 1"})
    (here / ".venv" / "pyvenv.cfg").write_text("home = /usr")
    for folder in (".venv/lib/python3/site-packages", ".venv/src"):
        sys.path.append(str(here / folder))
    try:
        assert names("ow_main.py") == {"ow_main.py", "ow_helper.py"}
        write(ow_main="import importlib, ow_installed, ow_editable, ow_helper\ndef f(batch): ...")
        assert names("ow_main.py") == {"ow_main.py", "ow_helper.py"}
    finally:
        del sys.path[-2:]


def test_a_project_inside_a_virtual_environment_is_signed(write, here):
    (here / "pyvenv.cfg").write_text("home = /usr")
    write(**{"project/ow_main": "import ow_helper", "project/ow_helper": ""})
    assert names("project/ow_main.py") == {"ow_main.py", "ow_helper.py"}


def test_packages_without_init_are_signed(write):
    write(**{"ow_main": "import ow_space.deep.one", "ow_space/deep/one": "from . import two", "ow_space/deep/two": ""})
    assert names("ow_main.py") == {"ow_main.py", "ow_space/deep/one.py", "ow_space/deep/two.py"}


def test_too_many_files_are_not_read(write, here, monkeypatch):
    monkeypatch.setattr("otherwords.storage.signing._MOST", 2)
    write(ow_main="import importlib", ow_a="", ow_b="")
    assert names("ow_main.py") == {"ow_main.py"}


def test_circles_and_broken_files_are_signed(write):
    write(ow_main="import ow_a", ow_a="import ow_b, ow_main", ow_b="import ow_a\ndef broken(:")
    assert names("ow_main.py") == {"ow_main.py", "ow_a.py", "ow_b.py"}


def test_a_signature_depends_neither_on_the_place_nor_on_company(write, here, tmp_path_factory, monkeypatch):
    files = {
        "ow_main": "import ow_helper\ndef f(batch): ...",
        "ow_helper": "",
        "ow_other": "import ow_more\ndef f(batch): ...",
        "ow_more": "",
    }
    write(**files)
    alone = signature()
    assert signature("ow_other.py:f") != alone
    assert signature() == alone == signature(f"{here}/ow_main.py:f")
    elsewhere = tmp_path_factory.mktemp("else where")
    for name, text in files.items():
        (elsewhere / f"{name}.py").write_text(text)
    monkeypatch.chdir("/")
    for name in [name for name in sys.modules if name.startswith("ow_")]:
        del sys.modules[name]
    assert signature(f"{elsewhere}/ow_main.py:f") == alone
    code = f"from otherwords.registry import models; print(models.make('python:{here}/ow_main.py:f').signature)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ})
    assert done.stdout.strip() == alone


def test_a_module_that_appears_later_is_noticed(write, here):
    write(ow_main="import pydoc\ndef f(batch): pydoc.locate('ow_late')", ow_late="")
    known = dict(sys.modules)
    module, late = (
        load_file(Path("ow_main.py"), "here"),
        LateModules(sources(Path("ow_main.py")), known),
    )
    assert late() == ""
    guard(module.f, "here")([])  # loads it by a name that no source shows
    assert late() == "it has loaded ow_late.py, which is not signed; import it at the top of ow_main.py"


def test_what_other_code_loads_is_not_the_models(write, here):
    write(ow_main="import pydoc\ndef f(batch): pydoc.locate('ow_words')", ow_words="")
    write(ow_other="import ow_words\ndef f(text): ...")
    known = dict(sys.modules)
    module, late = load_file(Path("ow_main.py"), "here"), LateModules(sources(Path("ow_main.py")), known)
    load_function("ow_other.py:f", "there")  # signed with its helper
    assert late() == ""
    del sys.modules["ow_words"]
    guard(module.f, "here")([])
    assert late() == "it has loaded ow_words.py, which is not signed; import it at the top of ow_main.py"


# Objects of this process


def numbers(limit: int) -> Callable[[list[str]], list[bool]]:
    return lambda batch: [len(one) > limit for one in batch]


def test_functions_are_signed_by_code_and_closure():
    assert sign_object(numbers(3)) == sign_object(numbers(3))
    assert sign_object(numbers(3)) != sign_object(numbers(4))
    assert sign_object(lambda batch: 1) != sign_object(lambda batch: 2)


def in_a_notebook(cell: str, **known: object) -> str:
    """The signature of the function `f` after a cell was run."""
    space = {"__name__": "__main__of_a_notebook", **known}
    exec(compile(cell, "<cell>", "exec"), space)
    return sign_object(space["f"])


def test_functions_of_a_notebook_are_signed_with_what_they_use():
    one = in_a_notebook("LIMIT = 3\ndef g(x): return x > LIMIT\ndef f(batch): return [g(x) for x in batch]")
    assert one == in_a_notebook("LIMIT = 3\ndef g(x): return x > LIMIT\ndef f(batch): return [g(x) for x in batch]")
    assert one != in_a_notebook("LIMIT = 4\ndef g(x): return x > LIMIT\ndef f(batch): return [g(x) for x in batch]")
    assert one != in_a_notebook("LIMIT = 3\ndef g(x): return x < LIMIT\ndef f(batch): return [g(x) for x in batch]")
    classes = [
        in_a_notebook(f"class C:\n    def __call__(self, x): return {n}\nc = C()\ndef f(b): return c(b)") for n in "112"
    ]
    assert classes[0] == classes[1] != classes[2]


def test_the_state_of_objects_is_signed():
    import numpy as np

    arrays = [in_a_notebook("def f(batch): return weights", weights=np.array([1.0, n])) for n in (1, 1, 2)]
    assert arrays[0] == arrays[1] != arrays[2]
    with pytest.raises(TypeError, match="of the type lock in it cannot be read"):
        in_a_notebook("import threading\nlock = threading.Lock()\ndef f(batch):\n    with lock: return batch")


# Guarding


def test_what_it_prints_goes_to_standard_error(capsys):
    guard(lambda: print("loud"), "here")()
    assert list(guard(lambda: (print(n) for n in "ab"), "here")()) == [None, None]
    assert capsys.readouterr() == ("", "loud\na\nb\n")


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("def f():\n    return {}['no']", "KeyError: 'no' (ow_bad.py, line 2)"),
        ("def f():\n    raise ValueError('two\\n lines')", "ValueError: two lines (ow_bad.py, line 2)"),
        ("def f():\n    raise SystemExit(3)", "it called sys.exit(3) (ow_bad.py, line 2)"),
        ("def f():\n    quit()", "it called sys.exit() (ow_bad.py, line 2)"),
        ("import json\ndef f():\n    json.loads('{')", "(char 1) (ow_bad.py, line 3)"),
        ("def f():\n    yield 1\n    raise OSError('gone')", "OSError: gone (ow_bad.py, line 3)"),
    ],
)
def test_what_it_raises_names_the_line(here, source, cause):
    (here / "ow_bad.py").write_text(source)
    function = guard(load_file(here / "ow_bad.py", "mine").f, "mine")
    with refuses(BadInput) as caught:
        list(function())
    assert str(caught.value).startswith("mine: ")
    assert str(caught.value).endswith(cause)
    assert caught.value.__cause__ is not None


def test_an_interruption_passes():
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guard(interrupted, "here")()


def test_attributes_of_a_guarded_function_are_kept():
    def named() -> int:
        """Say one."""
        return 1

    named.control = True
    guarded = guard(named, "here")
    assert (guarded(), guarded.control, guarded.__name__, guarded.__doc__) == (1, True, "named", "Say one.")
    assert not hasattr(guarded, "other")
    assert guard("text", "here") == "text"
