"""Names to functions: specs, options, signatures, versions, and plug-ins from outside."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput, UnknownName
from otherwords.problem import TASKS, Problem
from otherwords.registry import (
    KINDS,
    Bound,
    Registry,
    _plugin_files,
    datasets,
    generators,
    load_plugins,
    metrics,
    models,
)
from otherwords.storage.specs import short_names

PROBLEM = Problem("p", TASKS["nli"], {"premise": "It rains.", "hypothesis": "It is wet."}, "entailment")


@pytest.fixture
def things() -> Registry:
    """A registry of its own, in a package without modules."""
    registry = Registry("things", "otherwords.assets_of_nobody")
    registry._complete = True  # nothing to look for

    @registry("echo.v1", unsigned=("speed",))
    def echo(
        word: str = "hm", count: int = 1, share: float = 0.5, loud: bool = False, file: Path = Path(), more: Any = None,
        speed: int = 1,
    ) -> Any:  # fmt: skip
        """Say it again."""
        return {"word": word, "count": count, "share": share, "loud": loud, "file": file, "more": more, "speed": speed}

    return registry


def without_code(bound: Bound) -> str:
    """The signature of a plug-in as far as its options decide it; that of a user's plug-in goes on with its source."""
    assert "#" in bound.signature
    return bound.signature.partition("#")[0]


def test_plug_ins_are_listed_by_name_and_version(things):
    for name in ("zebra.v1", "echo.v10", "echo.v2", "ant.v3"):
        things(name)(lambda: None)
    assert [plugin.full_name for plugin in things] == ["ant.v3", "echo.v1", "echo.v2", "echo.v10", "zebra.v1"]


def test_defaults_are_bound_and_signed(things):
    bound = things.make("echo")
    assert without_code(bound) == "echo.v1(word=hm, count=1, share=0.5, loud=false, file=, more=null)"
    assert bound.function["count"] == 1
    assert things.make("echo.v1()").signature == things.make(" echo.v1 ").signature == bound.signature


@pytest.mark.parametrize(
    ("written", "name", "value"),
    [
        ("word=noun", "word", "noun"),
        ('word="two words, and a comma"', "word", "two words, and a comma"),
        (r'word="a \"quoted\" word"', "word", 'a "quoted" word'),
        ('word="ends in ) and ]"', "word", "ends in ) and ]"),
        ("word=everyday.v1(split=train)", "word", "everyday.v1(split=train)"),
        ("word=", "word", ""),
        ("word=a=b", "word", "a=b"),
        ("word=Zoë 木", "word", "Zoë 木"),
        ("word=1.10", "word", "1.10"),
        ("word=9e12345", "word", "9e12345"),
        ("word=007", "word", "007"),
        ("word=true", "word", "true"),
        ("word=null", "word", "null"),
        ('word="1"', "word", "1"),
        ("count=3", "count", 3),
        ("count=-3", "count", -3),
        ("share=1", "share", 1.0),
        ("share=1e-3", "share", 0.001),
        ("share=.1", "share", 0.1),
        ("share=-1.", "share", -1.0),
        ("word=.1", "word", ".1"),
        ("loud=true", "loud", True),
        ("file=2024", "file", Path("2024")),
        ("file=a b.jsonl", "file", Path("a b.jsonl")),
        ('file="a, b.jsonl"', "file", Path("a, b.jsonl")),
        ("more=[1, 2]", "more", [1, 2]),
        ('more=[["a]", "b"], ["c"]]', "more", [["a]", "b"], ["c"]]),
        ('more={"k": {"n": [1, "}"]}}', "more", {"k": {"n": [1, "}"]}}),
        ("more=word", "more", "word"),
        ("more=null", "more", None),
        ("more=2", "more", 2),
    ],
)
def test_options_are_read(things, written, name, value):
    for spec in (f"echo({written})", f"echo.v1( {written} )", f"echo(speed=7, {written})", f"echo({written}, speed=7)"):
        found = things.make(spec).function[name]
        assert found == value
        assert type(found) is type(value)


@pytest.mark.parametrize(
    "written",
    [
        "count=many",
        "count=1.5",
        "count=true",
        'count="1"',
        "share=half",
        "share=.",
        "count=1.",
        "loud=yes",
        "loud=1",
        "count=1, count=2",
        "more=[a, b]",
        'word="open',
        'word="a" b',
        "count=1, two",
    ],
)
def test_options_that_cannot_be_read(things, written):
    with refuses(BadInput):
        things.make(f"echo({written})")


def test_unknown_and_missing_options(things):
    with refuses(UnknownName):
        things.make("echo(wrod=x)")
    with refuses(UnknownName):
        things.make("echo(zz=1, count=2, wrod=x)")

    @things("needy.v1")
    def needy(path: Path, more: int = 1) -> Any:
        """Need a path."""

    with refuses(BadInput):
        things.make("needy")

    @things("plain.v1")
    def plain() -> Any:
        """Need nothing."""

    with refuses(UnknownName):
        things.make("plain(x=1)")
    with refuses(BadInput):
        things.make("plain:x")


@pytest.mark.parametrize(
    "spec", ["", "(", "1x", "echo(", "echo)", "echo(1)", "echo.v1(count)", "a b", "echo.v1.v2", ":x"]
)
def test_specs_that_cannot_be_read(things, spec):
    with refuses((BadInput, UnknownName)):
        things.make(spec)


@pytest.mark.parametrize(
    ("spec", "word", "count"),
    [
        ("echo:some word", "some word", 1),
        ("echo:org/model-1.0", "org/model-1.0", 1),
        ("echo:a:b", "a:b", 1),
        ("echo:a (draft).txt", "a (draft).txt", 1),
        ("echo:", "", 1),
        ('echo:"quoted"', '"quoted"', 1),
        ("echo:7", "7", 1),
        ("echo.v1:x(count=2)", "x", 2),
        ("echo:x()", "x", 1),
        ("echo:f(x)(count=2)", "f(x)", 2),
    ],
)
def test_the_first_option_may_follow_a_colon(things, spec, word, count):
    function = things.make(spec).function
    assert (function["word"], function["count"]) == (word, count)


def test_a_colon_and_the_same_option_again(things):
    with refuses(BadInput):
        things.make("echo:x(word=y)")


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(word=TEXTS, count=st.integers(-(10**12), 10**12), share=st.floats(allow_nan=False, allow_infinity=False))
def test_what_is_written_as_json_is_read_back(word, count, share):
    registry = Registry("things", "nowhere")
    registry._complete = True

    @registry("echo.v1")
    def echo(word: str = "", count: int = 0, share: float = 0.0) -> Any:
        return (word, count, share)

    bound = registry.make(f"echo(share={share!r}, word={json.dumps(word)}, count={count})")
    assert bound.function == (word, count, share)
    assert registry.make(without_code(bound)).function == bound.function  # a signature is a spec again


def test_versions(things):
    @things("echo.v2")
    def echo_two(word: str = "two") -> Any:
        """Say it better."""
        return word

    @things("echo.v10")
    def echo_ten(word: str = "ten") -> Any:
        """Say it best."""
        return word

    assert without_code(things.make("echo")) == "echo.v10(word=ten)"
    assert things.make("echo.v2").function == "two"
    assert things.make("echo.v1").function["word"] == "hm"
    assert [plugin.full_name for plugin in things] == ["echo.v1", "echo.v2", "echo.v10"]
    with refuses(UnknownName):
        things.get("echo.v3")


def test_a_miss_lists_what_exists():
    for registry, known in ((models, "scripted.v1"), (metrics, "p_c.v1"), (generators, "identity.v1")):
        with refuses(UnknownName) as caught:
            registry.make("nothing")
        assert known in str(caught.value)


def test_a_name_of_another_kind_is_reported():
    with refuses(UnknownName) as caught:
        models.make("mlm-small(threads=1)")
    assert "mlm-small is one of the masked_lms" in str(caught.value)
    assert "mean" not in str(caught.value)
    with refuses(UnknownName):
        generators.get("flip_rate.v1")


def test_has_looks_at_the_name_alone(things):
    assert things.has("echo")
    assert things.has("echo.v1(count=nonsense)")
    assert things.has("echo:anything")
    assert not things.has("echo.v7")
    assert not things.has("some/echo.jsonl")
    assert not things.has("echo.jsonl")


def test_double_registration_is_refused(things):
    with refuses(BadInput):

        @things("echo.v1")
        def other() -> Any:
            """Something else."""

    assert things.make("echo").function["word"] == "hm"


def test_the_same_factory_may_be_registered_again(things):
    factory = things.get("echo").factory
    assert things("echo.v1")(factory) is factory


def test_factories_may_be_classes(things):
    class Said:
        """Say a word."""

        def __init__(self, end: str = "!"):
            self.end = end

    class Other(Said):
        """Say another."""

    things("said.v1")(Said)
    things("said.v1")(Said)
    assert things.make("said(end=?)").function.end == "?"
    with refuses(BadInput):
        things("said.v1")(Other)


@pytest.mark.parametrize("name", ["echo", "echo.1", "echo.v", "echo.v1a", "1echo.v1", "ec ho.v1", ""])
def test_names_carry_a_version(things, name):
    with refuses(BadInput):
        things(name)


def test_context_fills_options_and_is_not_signed():
    registry = Registry("things", "nowhere")
    registry._complete = True

    @registry("asker.v1")
    def asker(size: int = 1, task: Any = None) -> Any:
        """Ask."""
        return task

    assert registry.make("asker", task="nli", other=1).function == "nli"
    assert without_code(registry.make("asker", task="nli")) == "asker.v1(size=1)"
    assert registry.get("asker").shown_options() == "size=1"


def test_unsigned_options_do_not_show(things):
    assert things.make("echo(speed=9)").signature == things.make("echo").signature
    assert things.make("echo(count=9)").signature != things.make("echo").signature


def test_files_are_signed_by_name_and_content(things, tmp_path):
    here, there = tmp_path / "here" / "data.txt", tmp_path / "there" / "data.txt"
    for path in (here, there):
        path.parent.mkdir()
        path.write_text("one")
    first = things.make(f"echo(file={here})").signature
    assert first == things.make(f"echo(file={there})").signature
    assert "file=data.txt#" in first
    assert str(tmp_path) not in first
    there.write_text("two")
    assert first != things.make(f"echo(file={there})").signature
    assert things.make(f"echo(file={tmp_path / 'gone.txt'})").signature.count("file=gone.txt,") == 1


def test_a_folder_without_a_name_is_still_signed(things, tmp_path, monkeypatch):
    """`onnx:.` once had the same signature, and so the same cached answers, in every folder."""
    signatures = {}
    for name in ("one", "two"):
        folder = tmp_path / name
        (folder / "below").mkdir(parents=True)
        (folder / "model").write_text(name)
        monkeypatch.chdir(folder)
        signatures[name] = things.make("echo(file=.)").signature
        assert things.make(f"echo(file={folder})").signature == signatures[name]
        monkeypatch.chdir(folder / "below")
        assert things.make("echo(file=..)").signature == signatures[name]
    assert "file=one#" in signatures["one"]
    assert signatures["one"] != signatures["two"]
    assert "file=," in things.make('echo(file="")').signature


def test_identity_is_signed():
    registry = Registry("things", "nowhere")
    registry._complete = True

    class Made:
        identity = "abc"

    registry("thing.v1")(Made)
    assert re.fullmatch(r"thing\.v1\(\)#[0-9a-f]{12}\+abc", registry.make("thing").signature)


def test_texts_that_are_no_words_are_quoted_in_signatures(things):
    assert 'word="two words"' in things.make('echo(word="two words")').signature
    assert 'word=""' in things.make("echo(word=)").signature
    assert "word=org/name-1.0" in things.make("echo:org/name-1.0").signature


def test_shown_options_and_summary(things):
    plugin = things.get("echo")
    assert plugin.summary == "Say it again."
    assert plugin.shown_options() == "word=hm, count=1, share=0.5, loud=false, file=, more=null, speed=1"
    assert datasets.get("jsonl").shown_options() == "path"
    assert datasets.get("jsonl").options() == {"path": ...}


def test_kinds():
    assert list(KINDS) == [
        *("datasets", "generators", "checks", "masked_lms", "writers", "encoders", "models", "trainers", "metrics"),
        "papers",
    ]
    assert all(list(registry) for registry in KINDS.values())


# Plug-ins from outside: a real distribution, as pip leaves it, found by a real interpreter.

SHOUT = '''
from otherwords.registry import generators

@generators("shout.v1")
def shout(mark: str = "!"):
    """Shout the hypothesis."""
    def vary(problems, seeds):
        for problem in problems:
            yield problem.restate(hypothesis=problem.text["hypothesis"].rstrip(".") + mark)
    return vary
'''
OUTSIDE = '''
from otherwords.registry import KINDS

@KINDS["{kind}"]("outside.v1")
def outside(size: int = 1):
    """Come from another package, of the kind {kind}."""
    return lambda *given: []
'''


@pytest.fixture
def site(tmp_path: Path) -> Callable[..., Path]:
    """A folder like site-packages with one installed distribution of several modules, each of one kind."""

    def install(modules: dict[str, str], kinds: dict[str, str]) -> Path:
        folder = tmp_path / "site"
        info = folder / "outside-1.0.dist-info"
        info.mkdir(parents=True)
        for module, text in modules.items():
            (folder / f"{module}.py").write_text(text)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
        groups = (f"[otherwords.{kinds[module]}]\n{module} = {module}\n" for module in modules)
        (info / "entry_points.txt").write_text("".join(groups))
        return folder

    return install


POLITE = '''
from otherwords.registry import generators
import ow_words

@generators("ow-polite.v1")
def polite(mark: str = "!"):
    """Put a polite word before the hypothesis."""
    def vary(problems, seeds):
        for problem in problems:
            yield problem.restate(hypothesis=f"{ow_words.WORD}: {problem.text['hypothesis']}{mark}")
    return vary
'''


@pytest.fixture
def plugin_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a generator, whose word is in a helper; both are forgotten after the test."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "my plug-ins.py"
    path.write_text(POLITE)
    (tmp_path / "ow_words.py").write_text("WORD = 'Please'")
    yield path
    for registry in KINDS.values():
        registry.forget(str(path))
    sys.modules.pop("ow_words", None)


def test_a_file_registers_plug_ins(plugin_file):
    load_plugins(["my plug-ins.py"])
    [variant] = generators.make("ow-polite").function([PROBLEM], [1])
    assert variant.text["hypothesis"] == "Please: It is wet.!"
    load_plugins([str(plugin_file)])  # the same file: nothing happens
    assert generators.get("ow-polite").source == str(plugin_file)


def test_a_plug_in_of_a_file_is_signed_with_what_it_imports(plugin_file):
    signatures = []
    for word in ("Please", "Pleaze", "Please"):
        (plugin_file.parent / "ow_words.py").write_text(f"WORD = '{word}'")
        load_plugins([str(plugin_file)])
        bound = generators.make("ow-polite")
        signatures.append(bound.signature)
        [variant] = bound.function([PROBLEM], [1])
        assert variant.text["hypothesis"].startswith(word)
    assert signatures[0] == signatures[2] != signatures[1]
    assert re.fullmatch(r'ow-polite\.v1\(mark="!"\)#[0-9a-f]{12}', signatures[0])
    assert str(plugin_file.parent) not in signatures[0]


def test_a_file_that_is_loaded_again_replaces_its_plug_ins(plugin_file):
    load_plugins([str(plugin_file)])
    plugin_file.write_text(POLITE.replace("ow-polite.v1", "ow-polite.v2").replace("def polite", "def politer"))
    load_plugins([str(plugin_file)])
    assert not generators.has("ow-polite.v1")
    plugin_file.write_text(POLITE.replace("def polite", "def politest"))
    load_plugins([str(plugin_file)])
    assert generators.get("ow-polite").factory.__name__ == "politest"
    plugin_file.write_text("1 / 0")
    with refuses(BadInput) as caught:
        load_plugins([str(plugin_file)])
    assert str(caught.value).endswith("ZeroDivisionError: division by zero (my plug-ins.py, line 1)")
    assert generators.has("ow-polite.v1")  # as before


def test_two_files_may_not_claim_one_name(plugin_file):
    load_plugins([str(plugin_file)])
    other = plugin_file.with_name("other.py")
    other.write_text(POLITE)
    with refuses(BadInput) as caught:
        load_plugins([str(other)])
    assert "ow-polite.v1 is registered twice, in my plug-ins.py and in other.py" in str(caught.value)
    other.write_text(POLITE.replace("ow-polite", "contractions"))
    with refuses(BadInput) as caught:
        load_plugins([str(other)])
    assert "contractions.v1 is registered twice, in otherwords and in other.py" in str(caught.value)
    assert generators.get("contractions").factory.__module__ == "otherwords.variants.contractions"


@pytest.mark.parametrize("text", ["", "x = 1", "raise SystemExit"])
def test_a_file_without_plug_ins_is_refused(plugin_file, text):
    plugin_file.write_text(text)
    for _ in "ab":
        with refuses(BadInput):
            load_plugins([str(plugin_file)])
    with refuses(BadInput):
        load_plugins([str(plugin_file.with_name("nowhere.py"))])


CELL = """
from otherwords.registry import generators
@generators("ow-cell.v1")
def {name}():
    return lambda problems, seeds: [problem.restate(hypothesis={text!r}) for problem in problems]
"""


def test_a_cell_that_is_run_again_replaces_its_plug_in():
    """A notebook's cells run in `__main__`, which has no file."""
    code = f"""
from otherwords import TASKS, Problem
cell, problem = {CELL!r}, Problem("p", TASKS["nli"], {{}}, "")
for name, text in (("one", "A"), ("one", "B"), ("two", "B"), ("two", "B")):
    exec(compile(cell.format(name=name, text=text), f"<cell {{name}}>", "exec"))
    bound = generators.make("ow-cell")
    print(bound.function([problem], [1])[0].text["hypothesis"], bound.signature)
"""
    done = subprocess.run([sys.executable, "-"], input=code, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    (a, one), (b, two), _, _ = (line.split() for line in done.stdout.splitlines())
    assert (a, b) == ("A", "B")
    assert one != two
    again = subprocess.run([sys.executable, "-"], input=code, capture_output=True, text=True, check=False)
    assert again.stdout == done.stdout


def test_an_upgrade_and_an_edit_are_signed(site):
    """Where only the version changes, a compiled part may have; in a development install only the content does."""
    code = "from otherwords.registry import generators; print(generators.make('shout').signature)"
    folder = site({"loudly": SHOUT}, {"loudly": "generators"})
    first = python(folder, code).stdout
    (folder / "loudly.py").write_text(SHOUT.replace("rstrip", "strip"))
    edited = python(folder, code).stdout
    (folder / "outside-1.0.dist-info").rename(folder / "outside-1.1.dist-info")
    metadata = folder / "outside-1.1.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("1.0", "1.1"))
    upgraded = python(folder, code).stdout
    assert first.startswith('shout.v1(mark="!")#outside-1.0+')
    assert edited.startswith('shout.v1(mark="!")#outside-1.0+')
    assert upgraded == edited.replace("outside-1.0", "outside-1.1")
    assert first != edited


def test_a_package_that_is_installed_again_is_signed_anew(site):
    """Under the same version, as while it is written."""
    code = "from otherwords.registry import generators; print(generators.make('shout').signature)"
    place = site({"loudly": SHOUT}, {"loudly": "generators"})
    folder = place.rename(place.with_name("site-packages"))
    signatures = set()
    for text in (SHOUT, SHOUT.replace("rstrip", "strip")):
        (folder / "loudly.py").write_text(text)
        signatures.add(python(folder, code).stdout)
    assert len(signatures) == 2
    assert all(one.startswith('shout.v1(mark="!")#outside-1.0+') for one in signatures)


def python(site: Path, code: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)


def test_entry_points_of_every_kind_are_found(site):
    modules = {f"outside_{kind}": OUTSIDE.format(kind=kind) for kind in KINDS}
    code = """
from otherwords.registry import KINDS
for kind, registry in KINDS.items():
    signature, _, source = registry.make("outside(size=2)").signature.partition("+")
    print(kind, signature, registry.get("outside").factory.__module__)
"""
    done = python(site(modules, {f"outside_{kind}": kind for kind in KINDS}), code)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [f"{kind} outside.v1(size=2)#outside-1.0 outside_{kind}" for kind in KINDS]


def test_a_plug_in_of_another_package_is_used_and_listed(site):
    code = """
import sys
import otherwords as ow
from otherwords.cli import main
frame = ow.load("everyday").head(2)
variants = ow.vary(frame, ["shout(mark=?)"])
print(variants["how"][0], variants["of"].to_list() == frame["id"].to_list(), variants["hypothesis"][0][-1])
sys.argv = ["otherwords", "list", "generators", "--json"]
main()
"""
    done = python(site({"loudly": SHOUT}, {"loudly": "generators"}), code)
    assert done.stderr == ""
    assert done.stdout.startswith('shout.v1(mark="?")#outside-1.0+')
    assert " True ?\n" in done.stdout
    assert "Shout the hypothesis." in done.stdout


def test_a_broken_plug_in_is_warned_of_and_does_not_break_the_rest(site):
    modules = {"broken": "import no_such_module_anywhere", "twice": SHOUT.replace("shout.v1", "identity.v1")}
    code = """
from otherwords.registry import generators
print([plugin.full_name for plugin in generators])
print(generators.make("identity").plugin.factory.__module__)
"""
    done = python(site(modules, dict.fromkeys(modules, "generators")), code)
    assert done.returncode == 0
    assert "contractions.v1" in done.stdout
    assert "otherwords.variants.controls" in done.stdout
    reasons = {"broken": "broken: ModuleNotFoundError: No module named", "twice": "generators: identity.v1 is"}
    for module, reason in reasons.items():
        assert f"UserWarning: generators: the plug-in {module} = {module} cannot be loaded: {reason}" in done.stderr


# Names of the user's, and names in tables


def test_a_name_of_the_users_is_kept_through_every_reading_of_a_spec():
    named = generators
    assert named.has("syn=contractions(field=premise)")
    assert named.respell("syn=contractions", field="premise") == 'syn=contractions.v1(field="premise")'
    assert named.with_options(["syn=contractions"], field="premise") == ['syn=contractions.v1(field="premise")']
    bound = named.make("syn=contractions")
    assert (bound.name, bound.signature) == ("syn", named.make("contractions").signature)
    with refuses(BadInput):
        named.make("a=b=contractions")


@pytest.mark.parametrize(
    ("titles", "short"),
    [
        (["a.v1(n=1)#x"], ["a"]),
        (["a.v1(n=1)#x", "a.v1(n=2)#x"], ["a (n=1)", "a (n=2)"]),
        (["a.v1(n=1, p=x)", "a.v1(n=1, p=y)", "b.v1(p=x)"], ["a (p=x)", "a (p=y)", "b"]),
        (["a.v1()", "a.v2()"], ["a (.v1)", "a (.v2)"]),
        (["a.v1()#one", "a.v1()#two"], ["a (#one)", "a (#two)"]),
        (["s=a.v1(n=1)", "a.v1(n=1)"], ["s", "a"]),
        (["s=a.v1(n=1)", "s=a.v1(n=2)"], ["s=a.v1(n=1)", "s=a.v1(n=2)"]),
        (["a=b.v1()", "a.v1()"], ["a=b.v1()", "a.v1()"]),
        (
            ["r.v1(path=my, file.csv#12)", "r.v1(path=other.csv#34)"],
            ["r (path=my, file.csv#12)", "r (path=other.csv#34)"],
        ),
        (["by hand", "", "x=y", "f(1)"], ["by hand", "", "x=y", "f(1)"]),
    ],
)
def test_short_names(titles, short):
    assert list(short_names(titles).values()) == short


def test_thousands_of_namesakes_take_no_time():
    titles = [f"a.v1(n={i}, pos=noun)" for i in range(5000)]
    assert len(set(short_names(titles).values())) == 5000


class TestSingleQuotes:
    @pytest.mark.parametrize("spec", ["tautology(field='premise')", 'tautology(field="premise")'])
    def test_are_quotes(self, spec):
        assert generators.make(spec).signature == generators.make("tautology(field=premise)").signature

    def test_may_hold_commas_and_apostrophes(self, things):
        @things("polite.v1")
        def polite(word: str = "", n: int = 1) -> Any:
            return lambda: (word, n)

        assert things.make("polite(word='Mind you, don't', n=2)").function() == ("Mind you, don't", 2)
        assert things.make("polite(word='tis)").function() == ("'tis", 1)
        assert things.make("polite(word='')").function() == ("", 1)


def test_a_plug_in_that_uses_a_registry_is_the_same_whatever_else_is_registered(tmp_path):
    mine, other = tmp_path / "uses_checks.py", tmp_path / "another_check.py"
    mine.write_text(
        "from otherwords.registry import checks, generators\n"
        "@generators('uses-checks.v1')\ndef mine():\n    return lambda text: [str(checks.has('surface'))]\n"
    )
    other.write_text(
        "from otherwords.registry import checks\n"
        "@checks('another-check.v1')\ndef mine():\n    return lambda one: True\n"
    )
    load_plugins([str(mine)])
    before = generators.make("uses-checks").signature
    load_plugins([str(other)])
    try:
        assert generators.make("uses-checks").signature == before
        assert all(pickle.loads(pickle.dumps(registry)) is registry for registry in KINDS.values())
    finally:
        for path in (mine, other):
            for registry in KINDS.values():
                registry.forget(str(path.resolve()))
            _plugin_files.pop(path.resolve(), None)
