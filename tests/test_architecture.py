"""The architecture, enforced: imports point up the flow, the core is light, `__all__` is the API, limits hold."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import otherwords

SRC = Path(otherwords.__file__).parent
FLOW = [
    *("_version", "errors", "problem", "progress", "storage", "registry", "frames", "words", "grammar"),
    *("inference", "language_models", "datasets", "variants", "models", "validity", "training", "exporting"),
    *("harnesses", "answers", "metrics", "significance", "scoring", "pipeline", "judging", "report"),
    *("running", "profiling", "selection", "papers", "web", "cli", "__main__"),
]
HEAVY = ("numpy", "polars", "torch")
MODULES = sorted(SRC.rglob("*.py"))
ROOMS = [file.parent.name for file in MODULES if file.parent.parent == SRC and file.name == "__init__.py"]
#: Modules that may be short without a plug-in in them: what others import from or implement.
INTERFACES = ("_version", "progress")


#: How a module begins to register a plug-in.
REGISTERS = re.compile(
    r"^@(datasets|generators|checks|masked_lms|writers|encoders|models|trainers|metrics|papers)\(", re.M
)


def name_of(file: Path, root: Path = SRC) -> str:
    parts = file.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class Source(NamedTuple):
    """What tests look at in a file."""

    imports: list[ast.Import | ast.ImportFrom]
    classes: list[str]
    dangers: list[str]


@cache
def source(file: Path) -> Source:
    """Parsed once for all tests; the trees of all modules would take much of the memory of a test process."""
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    imports = [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    return Source(imports, [node.name for node in nodes if isinstance(node, ast.ClassDef)], dangers(nodes))


def imports(file: Path, root: Path = SRC) -> Iterator[str]:
    """All modules of the package that a file imports, wherever in it, as `models.cache`."""
    package = [root.name, *file.relative_to(root).parts[:-1]]
    for node in source(file).imports:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{origin}.{alias.name}" for alias in node.names] if origin else []
        for dotted in names:
            if dotted.split(".")[0] == root.name:
                yield _module(dotted.split(".")[1:], root)


def _module(parts: list[str], root: Path) -> str:
    """The longest prefix that is a module: `from .models.cache import Cache` imports `models.cache`."""
    while parts and not (root.joinpath(*parts).with_suffix(".py").is_file() or root.joinpath(*parts).is_dir()):
        parts = parts[:-1]
    return ".".join(parts)


def complaints(root: Path = SRC) -> list[str]:
    """Every import that points down the page, every part that is not on it."""
    found = []
    for file in sorted(root.rglob("*.py")):
        name = name_of(file, root)
        if not name:
            continue  # the top package names everything, lazily
        part = name.split(".")[0]
        if part not in FLOW:
            found.append(f"{name} has no place in the flow: put {part!r} into FLOW where its imports allow")
            continue
        for other in imports(file, root):
            target = other.split(".")[0]
            if target not in FLOW:
                found.append(f"{name} imports {other or 'the top package'}, which has no place in the flow")
            elif target != part and FLOW.index(target) > FLOW.index(part):
                found.append(f"{name} imports {other}, which comes after it")
    return found


def cycles(root: Path = SRC) -> list[str]:
    files = {name_of(file, root): file for file in root.rglob("*.py") if name_of(file, root)}
    graph = {name: {other for other in imports(file, root) if other != name} for name, file in files.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_imports_point_up_the_page():
    assert complaints() == []


def test_no_import_goes_in_a_circle():
    assert cycles() == []


def test_every_part_of_the_flow_exists():
    assert {name_of(file).split(".")[0] for file in MODULES} - {""} == set(FLOW)


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("registry.py", "from .models.cache import Cache", "registry imports models.cache, which comes after it"),
        ("errors.py", "def late():\n    from . import cli", "errors imports cli, which comes after it"),
        ("models/cache.py", "import otherwords.pipeline", "models.cache imports pipeline, which comes after it"),
        ("metrics/one.py", "from otherwords import running", "metrics.one imports running, which comes after it"),
        ("annotate/app.py", "x = 1", "annotate.app has no place in the flow: put 'annotate' into FLOW"),
        ("frames.py", "from . import run", "frames imports the top package, which has no place in the flow"),
    ],
)
def test_the_import_test_can_fail(tmp_path, file, text, complaint):
    root = tmp_path / "otherwords"
    for module in ("registry", "errors", "cli", "pipeline", "running", "models/cache", "models/__init__", file[:-3]):
        path = root / f"{module}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (root / file).write_text(text)
    assert len(complaints(root)) == 1
    assert complaints(root)[0].startswith(complaint)


def test_the_circle_test_can_fail(tmp_path):
    root = tmp_path / "otherwords"
    (root / "models").mkdir(parents=True)
    (root / "models" / "one.py").write_text("from .two import x")
    (root / "models" / "two.py").write_text("from . import one")
    assert set(cycles(root)) == {"models.one", "models.two"}


def loaded(code: str) -> set[str]:
    """The heavy packages in memory after some code has run in a process of its own."""
    tail = f"\nimport sys; print('LOADED', *[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code + tail], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("LOADED")[2].split())


def test_import_nouns_and_registry_are_light():
    names = "otherwords.__version__, dir(otherwords), otherwords.Problem, otherwords.Task, otherwords.OtherwordsError"
    assert loaded(f"import otherwords, otherwords.registry; {names}") == set()


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"]])
def test_help_is_light(arguments):
    code = f"""
import sys
sys.argv = ["otherwords", *{arguments!r}]
from otherwords.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
"""
    assert loaded(code) == set()


def test_light_can_fail():
    assert "polars" in loaded("import otherwords; otherwords.load")


def test_all_is_the_api():
    assert sorted(otherwords.__all__) == sorted(set(otherwords.__all__))
    assert dir(otherwords) == sorted(otherwords.__all__)
    for name in otherwords.__all__:
        assert getattr(otherwords, name) is not None, name


def test_lazy_names_and_names_for_type_checkers_agree():
    tree = ast.parse((SRC / "__init__.py").read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    homes = {
        alias.name: str(node.module)
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert homes == otherwords._HOME
    assert set(otherwords.__all__) == {*homes, "__version__"}


def test_public_things_are_at_home_where_the_table_says():
    for name, home in otherwords._HOME.items():
        module = importlib.import_module(f"otherwords.{home}")
        assert getattr(module, name) is getattr(otherwords, name)
        assert getattr(getattr(module, name), "__module__", module.__name__) == module.__name__


def test_a_miss_lists_the_names():
    with pytest.raises(AttributeError, match=r"otherwords has no 'scores'; it has TASKS, .*show_progress, train, vary"):
        getattr(otherwords, "scores")  # noqa: B009


@pytest.fixture(scope="module")
def every_submodule() -> None:
    """Import all of them; one whose extra is not installed is left out."""
    for name in map(name_of, MODULES):
        try:
            importlib.import_module(f"otherwords.{name}" if name else "otherwords")
        except ImportError as error:
            if (error.name or "otherwords").partition(".")[0] == "otherwords":
                raise


def test_no_submodule_replaces_a_public_name(every_submodule):
    for name, home in otherwords._HOME.items():
        assert getattr(otherwords, name) is getattr(sys.modules[f"otherwords.{home}"], name), name
    for name in [name for name in otherwords.__all__ if name[0].islower()]:
        assert inspect.isfunction(getattr(otherwords, name)), name


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_is_public(room, every_submodule):
    module = importlib.import_module(f"otherwords.{room}")
    assert module.__doc__
    assert len(module.__all__) == len(set(module.__all__))
    for name in module.__all__:
        assert not inspect.ismodule(getattr(module, name)), f"{room}.{name} is a submodule"


def test_the_package_stays_small_enough_to_read():
    """At most 397 modules, 35 names at the top, and fewer than 7 % of all lines imports (9.4 % with 332 modules).

    Thirty of them are rules of grammar, one module a construction; seven are the figures and tables of all papers.
    """
    assert len(MODULES) <= 397
    assert len([path for path in SRC.iterdir() if path.name != "__pycache__"]) <= 35
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in MODULES)
    imported = sum((node.end_lineno or 0) - node.lineno + 1 for file in MODULES for node in source(file).imports)
    assert imported / lines < 0.07, f"{imported} of {lines} lines are imports"


def test_a_short_module_is_a_plug_in_or_an_interface():
    short = []
    for file in MODULES:
        text, name = file.read_text(encoding="utf-8"), name_of(file)
        interface = file.name in ("__init__.py", "__main__.py") or name.startswith("cli.") or name in INTERFACES
        if len(text.splitlines()) < 40 and not interface and not REGISTERS.search(text):
            short.append(name)
    assert short == []


def test_no_class_name_occurs_twice():
    """A reader who searches for a class finds one."""
    homes: dict[str, list[str]] = {}
    for file in MODULES:
        for name in source(file).classes:
            homes.setdefault(name, []).append(name_of(file))
    assert {name: modules for name, modules in homes.items() if len(modules) > 1} == {}


UNSAFE = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
#: Where this or another machine's files lie; a package must know none of them.
PLACES = re.compile(r"(^|[\s'\"=(:])(/(home|Users|root|work|tmp|mnt|opt|usr|var|etc)/|[A-Z]:\\|~/)")


def dangers(nodes: Iterable[ast.AST]) -> list[str]:
    """What no file of the package may do."""
    found = []
    for node in nodes:
        line = getattr(node, "lineno", 0)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names] + [str(getattr(node, "module", None))]
            found += [f"line {line}: imports {name}" for name in names if name.split(".")[0] in UNSAFE]
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id == "eval":
                found.append(f"line {line}: eval")
            safe = any(k.arg == "weights_only" and ast.unparse(k.value) == "True" for k in node.keywords)
            dotted = isinstance(node.func, ast.Attribute) and node.func.attr in ("system", "popen", "load")
            if dotted and ast.unparse(node.func) in ("os.system", "os.popen", "torch.load") and not safe:
                found.append(f"line {line}: {ast.unparse(node.func)}")
            found += [f"line {line}: {k.arg}" for k in node.keywords if k.arg in FLAGS and not is_false(k.value)]
        elif isinstance(node, ast.Dict):
            keys = [(key.value, value) for key, value in zip(node.keys, node.values, strict=True) if constant(key)]
            found += [f"line {line}: {key}" for key, value in keys if key in FLAGS and not is_false(value)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and PLACES.search(node.value):
            found.append(f"line {line}: the path {node.value!r}")
    return found


FLAGS = ("trust_remote_code", "shell")


def constant(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant)


def is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def test_source_is_safe_and_knows_no_machine():
    found = {name_of(file): source(file).dangers for file in MODULES}
    assert {name: dangers for name, dangers in found.items() if dangers} == {}


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "from joblib import load",
        "eval('1 + 1')",
        "f(trust_remote_code=True)",
        "f(trust_remote_code=chosen)",
        "options = {'trust_remote_code': True}",
        "run('ls', shell=True)",
        "os.system('ls')",
        "x = '/home/me/data'",
        "x = Path('~/models')",
        "x = 'C:\\\\data'",
    ],
)
def test_the_safety_test_can_fail(line):
    assert len(dangers(ast.walk(ast.parse(line)))) == 1


@pytest.mark.parametrize("line", ["model.eval()", "f(trust_remote_code=False)", "x = 'and/or'", "x = 'a / b'"])
def test_the_safety_test_is_not_afraid_of_shadows(line):
    assert dangers(ast.walk(ast.parse(line))) == []


def layout() -> dict[str, str]:
    """The rows of the layout table in docs/architecture.md: a room, and what it holds."""
    page = (SRC.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `(\w+)/?` \| (.*) \|$", page, re.MULTILINE))


def test_the_layout_table_is_the_flow():
    assert list(layout()) == [name for name in FLOW if not name.startswith("_")]


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "cli"])
def test_the_layout_table_names_every_module_that_is_no_plug_in(room):
    named = set(re.findall(r"`(\w+)/?`", layout()[room]))
    files = [file for file in (SRC / room).glob("*.py") if file.name != "__init__.py" and file.name != "__main__.py"]
    others = {file.stem for file in files if not REGISTERS.search(file.read_text(encoding="utf-8"))}
    assert sorted(others - named) == []


def walk() -> list[str]:
    """The calls of "Following one premise" in docs/architecture.md, in order."""
    page = (SRC.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.partition("## Following one premise")[2].partition("\n## ")[0]
    return re.findall(r"^\d+\. `([\w.]+)`", section, re.MULTILINE)


def test_a_premise_can_be_followed_in_forty_calls():
    assert 30 <= len(walk()) <= 40


@pytest.mark.parametrize("name", walk())
def test_every_call_of_the_walk_exists(name):
    parts = _module(name.split("."), SRC)
    found = importlib.import_module(f"otherwords.{parts}")
    for attribute in name.removeprefix(f"{parts}.").split("."):
        found = getattr(found, attribute)
    assert callable(found)


def test_every_call_of_the_walk_is_made(tmp_path):
    """The walk is what a run does, not what somebody remembers of it."""
    line = '{"id": "a", "premise": "It isn\'t wet.", "hypothesis": "It is dry.", "label": "neutral"}\n'
    other = line.replace('"a"', '"b"').replace("wet", "cold")  # an interval needs two clusters
    (tmp_path / "a.jsonl").write_text(line + other, encoding="utf-8")
    called = set()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(str(SRC)):
            called.add(f"{name_of(Path(frame.f_code.co_filename))}.{frame.f_code.co_qualname}")

    study = {"data": [str(tmp_path / "a.jsonl")], "vary": ["contractions"], "models": ["scripted"], "replicates": 10}
    before = sys.getprofile()
    sys.setprofile(note)
    threading.setprofile(note)  # shards are read, and parts written, in other threads
    try:
        otherwords.run(otherwords.Study(**study, canary=False), out=tmp_path / "run")
    finally:
        sys.setprofile(before)
        threading.setprofile(None)  # type: ignore[arg-type]
    assert [name for name in walk() if name not in called] == ["cli.run.run"]
