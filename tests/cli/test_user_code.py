"""Models and plug-ins of users on the command line: nothing stale, standard output clean, errors with file and line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from otherwords.registry import KINDS, _plugin_files

pytestmark = pytest.mark.filterwarnings("always")  # as users see them
MODEL = """
import ow_helper
def ask(batch):
    return [ow_helper.ANSWER] * len(batch)
"""
PLUGINS = '''
import ow_helper
from otherwords.problem import Verdict
from otherwords.registry import checks, datasets, generators, metrics, models
print("loading")

@generators("ow-mark.v1")
def mark(sign: str = "!"):
    """Put a mark behind the hypothesis."""
    def vary(problems, seeds):
        print("varying")
        for problem in problems:
            yield problem.restate(hypothesis=problem.text["hypothesis"] + sign + ow_helper.ANSWER)
    return vary

@checks("ow-any.v1")
def keep():
    """Keep every variant."""
    return lambda buckets: [Verdict(True) for bucket in buckets for _ in bucket.variants]

@metrics("ow_wrong.v1")
def wrong():
    """Share of variants that are answered wrongly."""
    return lambda answers: answers.sum_by_bucket(~answers.correct & answers.is_variant, answers.is_variant)

@models("ow-same.v1")
def same(label: str = "neutral"):
    """Answer every problem with the same label."""
    return lambda batch: [label] * len(batch)
'''


@pytest.fixture
def files(place: Path) -> Iterator[Path]:
    """A model and a file of plug-ins, both with a helper; modules and plug-ins are forgotten after the test."""
    (place / "ow_model.py").write_text(MODEL)
    (place / "ow_helper.py").write_text("ANSWER = 'neutral'")
    (place / "ow_plugins.py").write_text(PLUGINS)
    yield place
    for registry in KINDS.values():
        for name in [name for name, plugin in registry._plugins.items() if plugin.source.startswith(str(place))]:
            del registry._plugins[name]
    for path in [path for path in _plugin_files if path.is_relative_to(place.resolve())]:
        del _plugin_files[path]  # workers of later tests would load it
    for name in [name for name in sys.modules if name.startswith("ow_")]:
        del sys.modules[name]


def preds(lines, text) -> set[str]:
    return {row["pred"] for row in lines(text)}


@pytest.mark.parametrize(
    "cache", [("--cache", "answers.sqlite"), pytest.param(("--no-cache",), marks=pytest.mark.slow)]
)
def test_a_changed_helper_gives_new_answers(cli, problems, files, lines, cache):
    model = ("-m", "python:ow_model.py:ask", "--no-canary", *cache)
    run = ("run", "--data", problems, "-w", "contractions", "--metric", "accuracy_variants", "-o", "run", *model, "-q")
    for answer in ("neutral", "entailment", "contradiction"):
        (files / "ow_helper.py").write_text(f"ANSWER = {answer!r}")
        assert preds(lines, cli("answer", problems, *model, "-q").stdout) == {answer}
        cli(*run)
        assert set(pl.read_parquet("run/answers/*/*.parquet")["pred"]) == {answer}


def test_no_cache_asks_again_in_the_same_folder(cli, problems, files):
    """Also for what no signature covers: a prompt that is not declared."""
    read = "Path(__file__).with_name('prompt.txt').read_text()"
    (files / "ow_model.py").write_text(f"from pathlib import Path\ndef ask(batch): return [{read}] * len(batch)\n")
    model = ("-m", "python:ow_model.py:ask", "--no-canary")
    run = ("run", "--data", problems, "-w", "contractions", "--metric", "flip_rate", "-o", "run", *model)
    for text in ("neutral", "entailment"):
        (files / "prompt.txt").write_text(text)
        assert "answers, 0 from the cache\n" in cli(*run, "--no-cache").stderr
        assert set(pl.read_parquet("run/answers/*/*.parquet")["pred"]) == {text}
    (files / "prompt.txt").write_text("contradiction")
    cli("run", "run", "-q")
    assert set(pl.read_parquet("run/answers/*/*.parquet")["pred"]) == {"entailment"}  # it is continued, by its folder
    cli("run", "run", "--no-cache", "-q")
    assert set(pl.read_parquet("run/answers/*/*.parquet")["pred"]) == {"contradiction"}


@pytest.mark.parametrize(
    "declared", ["ask.files = ['prompt.txt']", "ask.files = ['weights']", "ask.version = {version}"]
)
def test_a_changed_prompt_or_version_gives_new_answers(cli, problems, files, lines, declared):
    read = "Path(__file__).with_name('prompt.txt').read_text()"
    source = f"from pathlib import Path\ndef ask(batch): return [{read}] * len(batch)\n"
    for version, text in enumerate(("neutral", "entailment")):
        (files / "prompt.txt").write_text(text)
        (files / "weights").mkdir(exist_ok=True)
        (files / "weights" / "layer.bin").write_text(text)
        (files / "ow_model.py").write_text(source + declared.format(version=version))
        command = ("answer", problems, "-m", "python:ow_model.py:ask", "--no-canary", "-q", "--cache", "c.sqlite")
        assert preds(lines, cli(*command).stdout) == {text}


@pytest.mark.parametrize(
    "declared", ["files = ['nowhere.txt']", "files = 'prompt.txt'", "files = 3", "version = []", "files = [3]"]
)
def test_wrong_declarations_are_refused(cli, problems, files, declared):
    (files / "ow_model.py").write_text(f"def ask(batch): ...\nask.{declared}")
    error = cli("answer", problems, "-m", "python:ow_model.py:ask", "--no-canary", "-q", rc=2).stderr
    assert error.startswith(f"error: python:ow_model.py:ask: {declared.split()[0]}: ")


def test_a_module_that_appears_later_leaves_its_answers_uncached(cli, problems, files, lines):
    (files / "ow_model.py").write_text(
        "import pydoc\n"
        "def ask(batch):\n"
        "    wet = any('wet' in text for text in batch['hypothesis'])\n"
        "    return [pydoc.locate('ow_late').ANSWER if wet else 'neutral'] * len(batch)\n"
    )
    command = ("answer", problems, "-m", "m=python:ow_model.py:ask", "--no-canary", "--cache", "c.sqlite")
    for answer in ("entailment", "contradiction"):
        (files / "ow_late.py").write_text(f"ANSWER = {answer!r}")
        done = cli(*command, "--batch-size", 1)
        assert [row["pred"] for row in lines(done.stdout)].count(answer) == 1
        warned = (
            "warning: m: answers are not cached: it has loaded ow_late.py, which is not signed; import it at the top of"
        )
        assert done.stderr.count(f"{warned} ow_model.py") == 1
        cli("run", "--data", problems, "-w", "contractions", "--metric", "flip_rate", "-o", "run", *command[2:], "-q")
        assert answer in set(pl.read_parquet("run/answers/*/*.parquet")["pred"])  # the folder's part is not reused


def test_the_answers_from_the_cache_are_counted(cli, problems, files):
    command = ("answer", problems, "-m", "m=python:ow_model.py:ask", "--no-canary", "--cache", "c.sqlite")
    assert "\nm: 3 answers, 0 from the cache\n" in cli(*command).stderr
    assert "\nm: 3 answers, 3 from the cache\n" in cli(*command).stderr
    assert "from the cache" not in cli(*command, "-q").stderr
    run = ("run", "--data", problems, "-w", "contractions", "--metric", "flip_rate", "-o", "run", *command[2:])
    first = cli(*run).stderr
    assert "\nm: 8 answers, 3 from the cache\n" in first
    again = cli(*run).stderr
    assert "\nm: 8 answers, 0 from the cache, 8 from this folder (1 of 1 parts reused)\n" in again
    [counts] = json.loads(Path("run/manifest.json").read_text())["answered"].values()
    assert counts == {
        "answers": 8, "from_cache": 0, "from_folder": 8, "parts": 1, "parts_reused": 1, "fresh": False
    }  # fmt: skip


def test_fresh_asks_everything_anew_and_replaces_what_was_stored(cli, problems, files, lines):
    """A model whose answers depend on what no signature covers: here, a file that it does not declare."""
    (files / "ow_model.py").write_text(
        "def ask(batch):\n    with open('said.txt') as file: return [file.read()] * len(batch)\n"
    )
    common = ("-m", "m=python:ow_model.py:ask", "--no-canary", "--cache", "c.sqlite")
    run = ("run", "--data", problems, "-w", "contractions", "--metric", "accuracy_variants", "-o", "run", *common)
    Path("said.txt").write_text("neutral")
    cli("answer", problems, *common, "-q")
    cli(*run, "-q")
    key = json.loads(Path("run/manifest.json").read_text())["signatures"]
    Path("said.txt").write_text("entailment")
    assert preds(lines, cli("answer", problems, *common, "-q").stdout) == {"neutral"}
    done = cli("answer", problems, *common, "--fresh")
    assert preds(lines, done.stdout) == {"entailment"}
    assert "\nm: 3 answers, 0 from the cache; all asked anew, stored answers replaced\n" in done.stderr
    assert preds(lines, cli("answer", problems, *common, "-q").stdout) == {"entailment"}
    cli(*run, "-q", "--fresh")
    assert set(pl.read_parquet("run/answers/*/*.parquet")["pred"]) == {"entailment"}
    assert json.loads(Path("run/manifest.json").read_text())["signatures"] == key


def test_plug_ins_of_a_file_on_every_command(cli, problems, files, lines):
    plugin = ("--plugin", files / "ow_plugins.py", "-q")
    done = cli("vary", problems, "-w", "ow-mark(sign=?)", "--suite", *plugin, "-o", "suite.jsonl")
    assert done.stdout == ""
    cli("check", "suite.jsonl", "-w", "ow-any", *plugin, "-o", "checked.jsonl")
    answers = cli("answer", "checked.jsonl", "-m", "ow-same", "--no-canary", *plugin, "--no-cache").stdout
    Path("answers.jsonl").write_text(answers)
    assert preds(lines, answers) == {"neutral"}
    [score] = json.loads(cli("score", "answers.jsonl", "--metric", "ow_wrong", "--json", *plugin).stdout)
    assert score["value"] == pytest.approx(2 / 3)
    assert "ow-mark.v1" in cli("list", "generators", *plugin[:2]).stdout


def test_a_study_names_its_plug_ins_and_an_edit_makes_variants_anew(cli, problems, files, lines):
    Path("study.toml").write_text(
        f"data = ['{problems}']\nplugins = ['ow_plugins.py']\nvary = ['ow-mark']\ncheck = ['ow-any']\n"
        "models = ['ow-same']\nmetrics = ['ow_wrong']\ncanary = false\ncache = false\n"
    )
    for word in ("neutral", "entailment"):
        (files / "ow_helper.py").write_text(f"ANSWER = {word!r}")
        cli("run", "study.toml", "-o", "run", "-q")
        texts = pl.read_parquet("run/variants/*.parquet")["hypothesis"]
        assert all(text.endswith(f"!{word}") for text in texts)


FUNCTIONS = """
def reword(text):
    print("noise")
    return [text.upper(), text]

def restated(problem):
    yield problem.restate(hypothesis="So " + problem.text["hypothesis"])
    yield "Thus " + problem.text["hypothesis"]

def whole(problems, seeds):
    return [problem.restate(premise=f"{seed % 2}") for problem, seed in zip(problems, seeds)]

def factory():
    return whole

def nothing(problem):
    return None

def wrong(problem):
    return 3

def short(problem, variant):
    return "loud" if variant.text["premise"].isupper() else True

def odd(problem, variant):
    return 1.5

def right(answers):
    return answers.sum_by_bucket(answers.correct & answers.is_variant, answers.is_variant)
"""


@pytest.mark.parametrize(
    ("name", "made"), [("reword", 6), ("restated", 6), ("whole", 3), ("factory", 3), ("nothing", 0)]
)
@pytest.mark.parametrize("place_of", ["ow mine.py", "./ow mine.py", "ow_mine"])
def test_a_function_is_a_generator(cli, problems, files, lines, name, made, place_of):
    (files / "ow mine.py").write_text(FUNCTIONS)
    (files / "ow_mine.py").write_text(FUNCTIONS)
    rows = lines(cli("vary", problems, "-w", f"python:{place_of}:{name}", "-q").stdout)
    assert len(rows) == made
    assert len({row["id"] for row in rows}) == made


def test_a_function_of_a_text_rewords_one_field_at_a_time(cli, problems, files, lines):
    (files / "ow_mine.py").write_text(FUNCTIONS)
    both = lines(cli("vary", problems, "-w", "python:ow_mine.py:reword", "-q").stdout)
    assert sum(row["premise"].isupper() for row in both) == 3
    one = lines(cli("vary", problems, "-w", "python:ow_mine.py:reword(field=premise)", "-q").stdout)
    assert all(row["premise"].isupper() for row in one)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("    for p in problems: yield p.text['hypothesis'].upper()", "gave 'THE MEN ARE NOT WET.'"),
        ("    yield None", "gave None"),
        ("    return problems[0]", "Problem"),
        ("    return 3", "returned 3"),
        ("    return None", "returned None"),
        ("    return 'text'", "returned 'text'"),
        ("    return problems", "gave Problem"),
    ],
)
def test_a_function_of_problems_and_seeds_gives_variants(cli, problems, files, body, found):
    (files / "ow_words.py").write_text(f"def shout(problems, seeds):\n{body}\n")
    for command in (("vary", problems), ("run", "--data", problems, "-m", "scripted", "--no-canary", "--no-cache")):
        error = cli(*command, "-w", "python:ow_words.py:shout", rc=2).stderr
        assert found in error
        assert "yield variants, as problem.restate(" in error


def test_a_generator_beside_a_model_leaves_its_answers_cached(cli, problems, files):
    (files / "ow_words.py").write_text("import ow_more\ndef shout(text): return text.upper()\n")
    (files / "ow_more.py").write_text("")
    (files / "ow_checks.py").write_text("def keep(problem, variant): return True\n")
    run = ("run", "--data", problems, "-w", "python:ow_words.py:shout", "--check", "python:ow_checks.py:keep")
    run += ("--plugin", "ow_plugins.py", "-w", "ow-mark", "-m", "python:ow_model.py:ask", "--no-canary")
    for folder in ("one", "two"):
        shown = cli(*run, "--cache", "answers.sqlite", "-o", folder).stderr
        assert "not cached" not in shown
    [answered] = json.loads(Path("two/manifest.json").read_text())["answered"].values()
    assert answered["from_cache"] == answered["answers"] > 0


def test_functions_are_checks_and_metrics(cli, problems, files, lines):
    (files / "ow_mine.py").write_text(FUNCTIONS)
    cli("vary", problems, "-w", "python:ow_mine.py:reword", "--suite", "-o", "suite.jsonl", "-q")
    checked = lines(cli("check", "suite.jsonl", "-w", "quiet=python:ow_mine.py:short", "-q").stdout)
    assert [row.get("check:quiet:reason") for row in checked].count("loud") == 3
    assert "returned 1.5; return True" in cli("check", "suite.jsonl", "-w", "python:ow_mine.py:odd", "-q", rc=2).stderr
    assert "returned 3; return a text" in cli("vary", problems, "-w", "python:ow_mine.py:wrong", "-q", rc=2).stderr
    cli(
        "answer",
        "suite.jsonl",
        "-m",
        "scripted(otherwise=neutral)",
        "-o",
        "answers.jsonl",
        "-q",
        "--no-canary",
        "--no-cache",
    )
    [score] = json.loads(cli("score", "answers.jsonl", "--metric", "python:ow_mine.py:right", "--json").stdout)
    assert score["value"] == pytest.approx(1 / 3)


def test_a_file_in_a_package_may_import_relatively_and_functions_are_named_in_tables(cli, problems, files):
    (files / "ow pack").mkdir()
    (files / "ow pack" / "ow_in").mkdir()
    (files / "ow pack" / "ow_in" / "__init__.py").write_text("")
    (files / "ow pack" / "ow_in" / "ow_loud.py").write_text("def loud(text):\n    return text.upper()\n")
    (files / "ow pack" / "ow_in" / "ow_gen.py").write_text(
        "from .ow_loud import loud\ndef shout(text):\n    return loud(text)\n"
    )
    (files / "ow_mine.py").write_text(FUNCTIONS)
    run = ("run", "--data", problems, "-w", "python:ow pack/ow_in/ow_gen.py:shout", "-w", "python:ow_mine.py:reword")
    run += ("--metric", "python:ow_mine.py:right", "--metric", "flip_rate", "--by", "how", "--no-canary")
    (files / "ow_model.py").write_text("def ask(batch):\n    return ['neutral'] * len(batch)\n")
    shown = cli(*run, "-m", "python:ow_model.py:ask", "--require", "right >= 0%", "-o", "out")
    assert "not cached" not in shown.stderr  # the files of the generators are no part of the model
    assert "how=shout" in shown.stdout
    assert " right " in shown.stdout
    (files / "ow_mine.py").write_text("def mean(answers):\n    return 0.5\n")
    error = cli("score", "out", "--metric", "python:ow_mine.py:mean", rc=2).stderr
    assert error.startswith("error: metric: its statistics are 0.5, not an array of numbers with a row for each of 3")


BAD = """
def ask(batch):
    {}

def reword(text):
    {}
"""


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("return {}['no']", "KeyError: 'no' (ow_bad.py, line 3)"),
        ("raise SystemExit(0)", "it called sys.exit(0) (ow_bad.py, line 3)"),
        ("exit()", "it called sys.exit() (ow_bad.py, line 3)"),
        (
            "raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})()",
            "E: (its text cannot be shown) (ow_bad.py, line 3)",
        ),
        ("raise ValueError('long ' * 9_999)", f"ValueError: {'long ' * 200} ... (ow_bad.py, line 3)"),
    ],
)
def test_an_error_names_file_and_line(cli, problems, files, line, cause, monkeypatch):
    (files / "ow_bad.py").write_text(BAD.format(line, line))
    command = ("answer", problems, "-m", "python:ow_bad.py:ask", "--no-canary", "--no-cache", "-q")
    done = cli(*command, rc=2)
    assert (done.stdout, done.stderr) == ("", f"error: python:ow_bad.py:ask: {cause}\n")
    debugged = cli("--debug", *command, rc=2).stderr
    assert "Traceback (most recent call last)" in debugged
    assert debugged.endswith(done.stderr)
    monkeypatch.setenv("OTHERWORDS_DEBUG", "1")
    assert "Traceback" in cli(*command, rc=2).stderr
    monkeypatch.delenv("OTHERWORDS_DEBUG")
    error = cli("vary", problems, "-w", "python:ow_bad.py:reword", "-q", rc=2).stderr
    assert error == f"error: python:ow_bad.py:reword: {cause.replace('line 3', 'line 6')}\n"


def test_standard_output_stays_clean(cli, problems, files, lines):
    (files / "ow_loud.py").write_text(
        "print('loading')\ndef ask(batch):\n    print('asked')\n    return ['neutral'] * len(batch)"
    )
    done = cli("answer", problems, "-m", "python:ow_loud.py:ask", "--no-canary", "--no-cache", "-q")
    assert len(lines(done.stdout)) == 3
    assert done.stderr == "loading\nasked\n"


def test_label_maps_for_one_model(cli, problems, files, lines):
    for name in ("ow_one", "ow_two"):
        (files / f"{name}.py").write_text(
            "def ask(batch): return [[1, 0, 0]] * len(batch)\nask.labels = ['A', 'B', 'C']"
        )
    models = ("-m", "one=python:ow_one.py:ask", "-m", "two=python:ow_two.py:ask", "--no-canary", "--no-cache", "-q")
    plain = ("--label-map", "A=entailment,B=neutral,C=contradiction")
    own = ("--label-map", "two:A=neutral,B=entailment")
    done = cli("answer", problems, *models, *plain, *own)
    assert done.stderr == ""
    assert {(row["model"], row["pred"]) for row in lines(done.stdout)} == {("one", "entailment"), ("two", "neutral")}
    assert (
        "no model is named 'three'; use one of one, two"
        in cli("answer", problems, *models, *plain, "--label-map", "three:A=neutral", rc=2).stderr
    )
    assert "A is given twice" in cli("answer", problems, *models, *plain, "--label-map", "A=neutral", rc=2).stderr
    assert "label map has Z" in cli("answer", problems, *models, *plain, "--label-map", "Z=neutral").stderr
    Path("study.toml").write_text(
        f"data = ['{problems}']\nvary = ['contractions']\ncanary = false\ncache = false\nmetrics = ['flip_rate']\n"
        "models = ['one=python:ow_one.py:ask', 'two=python:ow_two.py:ask']\n"
        "[label_map]\nA = 'entailment'\nB = 'neutral'\nC = 'contradiction'\n"
        "[label_map.two]\nA = 'contradiction'\nC = 'entailment'\n"
    )
    cli("run", "study.toml", "-o", "run", "-q")
    signatures = json.loads(Path("run/manifest.json").read_text())["signatures"]["models"]
    assert signatures["two"].endswith("[A=contradiction,B=neutral,C=entailment]")
