"""What the documentation shows is run: Python blocks as they stand; commands are parsed with their options.

The pages in `STORIES` are followed from top to bottom, commands included, and what they show must come out.
`make test` runs the cheap pages and the cheap blocks of the others, and resolves every name; `make test-all` runs all.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny_models
import typer
from pages import read_blocks

import otherwords
import otherwords.running
from otherwords.cli.app import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
#: Pages that are followed block by block, with their commands.
STORIES = [
    ROOT / "README.md",
    *(ROOT / "docs" / name for name in ("README.md", "for-researchers.md", "for-practitioners.md")),
    *(ROOT / "docs" / name for name in ("for-dataset-builders.md", "cluster.md", "among-others.md")),
]
#: Pages that take more than a few seconds, because some of their blocks load a model or a parser.
SLOW = ("rewording.md", "training.md", "variants.md")
HEAVY = re.compile("nli-small|masked-lm|wordnet|structural|reworded|transformers|fluency|mutual-entailment")


def blocks(page: Path, *languages: str) -> list[str]:
    return [block.text for block in read_blocks(page) if block.language in languages]


def follow(pages: list[Path], *options: str, **variables: str) -> None:
    """Follow pages in a process of their own, each in an empty folder; fail with all that went wrong."""
    command = [sys.executable, ROOT / "tests" / "support" / "pages.py", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **variables}
    done = subprocess.run([*command, *pages], env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_first_pages_come_out_as_they_are_told() -> None:
    follow(STORIES[:2], ROWS="2000")


@pytest.mark.slow
def test_stories_come_out_as_they_are_told() -> None:
    follow(STORIES[2:], ROWS="2000")


@pytest.mark.slow
@pytest.mark.parametrize("page", STORIES, ids=lambda page: str(page.relative_to(ROOT)))
def test_stories_come_out_in_processes_of_their_own(page: Path, tmp_path: Path) -> None:
    """Every command as a reader starts it, the slow ones too; the classifiers of Hugging Face are tiny ones."""
    import torch

    model, tokenizer = tiny_models.build("bert"), tiny_models.word_tokenizer()
    folder = tiny_models.save(model, tmp_path / "tiny", tokenizer)
    pickled = tiny_models.save(model, tmp_path / "pickled", tokenizer)
    (pickled / "model.safetensors").unlink()
    torch.save(model.state_dict(), pickled / "pytorch_model.bin")
    follow([page], "--slow", "--processes", ROWS="20000", CLASSIFIER=f"hf:{folder}", PICKLED=f"hf:{pickled}")


LANGUAGE_MODELS = ROOT / "docs" / "llm.md"


@pytest.mark.usefixtures("smollm2")  # the page links to its file
def test_the_page_about_language_models_without_a_server() -> None:
    """The thin version of the next: what asks no model."""
    follow([LANGUAGE_MODELS], URL="http://127.0.0.1:9/v1")


@pytest.mark.slow
def test_the_page_about_language_models_comes_out_as_it_is_told(llama_server: str) -> None:
    follow([LANGUAGE_MODELS], "--slow", URL=llama_server)


@pytest.mark.slow
def test_the_server_of_the_page_about_language_models_starts(smollm2: Path, tmp_path: Path) -> None:
    script = re.compile(r"<<'PY'\n(.*?)^PY$", re.M | re.S)
    [code] = script.findall("".join(blocks(LANGUAGE_MODELS, "sh")))
    (tmp_path / "serve.py").write_text(code)
    command = [sys.executable, tmp_path / "serve.py", smollm2, "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout
        address = next((line for line in server.stdout if line.startswith("http://127.0.0.1:")), "")
        server.kill()
    assert address


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OTHERWORDS_CACHE": str(folder / "cache.sqlite")}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


WITH_PYTHON = [page for page in PAGES if blocks(page, "python")]
BY_ITSELF = [page for page in WITH_PYTHON if page not in STORIES]


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow if page.name in SLOW else ()) for page in BY_ITSELF],
    ids=name_of,
)
def test_python_blocks_run(page: Path, tmp_path: Path) -> None:
    done = run("\n\n".join(blocks(page, "python")), tmp_path)
    assert done.returncode == 0, done.stderr


def test_cheap_blocks_of_slow_pages_run(tmp_path: Path) -> None:
    """The thin version of the above: what loads neither a model nor a parser."""
    pages = [page for page in PAGES if page.name in SLOW]
    cheap = [block for page in pages for block in blocks(page, "python") if not HEAVY.search(block)]
    assert len(cheap) >= 5
    done = run("\n\n".join(cheap), tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_names_in_python_blocks_exist(page: Path) -> None:
    for module, name in used_names("\n\n".join(blocks(page, "python"))):
        home = importlib.import_module(module)
        assert hasattr(home, name) or importlib.util.find_spec(f"{module}.{name}"), f"{module} has no {name}"


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_pages_import_from_rooms_and_not_from_their_modules(page: Path) -> None:
    """A room's `__init__.py` is its public interface, so that its modules can move."""
    modules = {module for module, _ in used_names("\n\n".join(blocks(page, "python")))}
    assert [module for module in modules if not is_public(module)] == []


def is_public(module: str) -> bool:
    """Whether it is the package, a module at its top, a sub-package, or a paper, which is a thing by itself."""
    folder = ROOT / "src" / Path(*module.split("."))
    return module.count(".") < 2 or folder.is_dir() or module.startswith("otherwords.papers.")


def used_names(code: str) -> Iterator[tuple[str, str]]:
    """What is imported from a module of the package, or asked of `ow`."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "otherwords":
            yield from ((node.module or "", alias.name) for alias in node.names)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ow":
            yield otherwords.__name__, node.attr


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
    done = run(study, tmp_path)
    expected = "[('wrong_flips', 0.0, 2), ('flip_rate', 0.0, 2), ('accuracy_variants', 0.5, 2)]"
    assert done.stdout.strip() == expected, done.stderr
    # The guide's `ask` says "neutral", which is none of that task's labels: refused, with the labels it has.
    assert done.returncode == 1
    assert "does not follow" in done.stderr


def shown_commands() -> list[str]:
    """Every `otherwords ...` of the pages, pipes taken apart and continued lines put together."""
    text = "\n".join(block for page in PAGES for block in blocks(page, "sh", "bash")).replace("\\\n", " ")
    lines = [part.strip() for line in text.splitlines() for part in line.split("|")]
    return sorted({line for line in lines if line.startswith("otherwords ")})


def parse(line: str) -> None:
    """Parse a command line as the application would, and go no further: what it does not take is an error."""
    group = typer.main.get_command(app)
    name, *words = shlex.split(line, comments=True)
    context = group.make_context(name, words.copy())
    while hasattr(group, "resolve_command"):
        name, group, words = group.resolve_command(context, words)
    group.make_context(name, words)


@pytest.mark.parametrize("line", shown_commands())
def test_shown_commands_parse(line: str) -> None:
    parse(line)


@pytest.mark.parametrize(
    "line", ["otherwords rum study.toml", "otherwords score --mertic x", "otherwords train nlu x.toml"]
)
def test_the_command_test_can_fail(line: str) -> None:
    with pytest.raises(Exception, match=r"No such|no trainers named"):
        parse(line)


def test_a_page_that_shows_something_else_fails(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n\n```text\n2\n```\n\n```sh\notherwords lust\n```\n")
    with pytest.raises(AssertionError, match=r"(?s)shown:\s+2\s+found:\s+1\s.*No such command 'lust'"):
        follow([page])


LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """The files and headings that a page links to; what is on the web is left out."""
    for file, heading in LINK.findall(re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)):
        if "://" not in file:
            yield (page.parent / file).resolve() if file else page, heading


def headings(page: Path) -> set[str]:
    lines = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for target, heading in links(page):
        assert target.exists(), f"{page.name} links to {target}, which does not exist"
        assert not heading or heading in headings(target), f"{page.name}: {target.name} has no heading #{heading}"


def test_every_page_is_reached_from_the_readme() -> None:
    reached, found = {ROOT / "README.md"}, [ROOT / "README.md"]
    while found:
        targets = {target for target, _ in links(found.pop()) if target.suffix == ".md" and target.exists()}
        found += targets - reached
        reached |= targets
    assert [str(page) for page in sorted((ROOT / "docs").rglob("*.md")) if page not in reached] == []


def test_the_files_on_the_page_about_clusters_can_be_read() -> None:
    """The settings of a study, the description for Kubernetes, and the script for Slurm."""
    yaml = pytest.importorskip("yaml")
    page = ROOT / "docs" / "cluster.md"
    [settings], [cluster] = blocks(page, "toml"), blocks(page, "yaml")
    study = otherwords.running.Study(data=["everyday"], models=["scripted"], **tomllib.loads(settings))
    assert (study.engine, study.workers) == ("ray", 16)
    described = yaml.safe_load(cluster)["spec"]
    pods = [described["headGroupSpec"], *described["workerGroupSpecs"]]
    assert [pod["template"]["spec"]["containers"][0]["env"][0]["value"] for pod in pods] == ["token", "token"]
    for script in blocks(page, "sh"):
        assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0, script


def test_the_pipelines_on_the_page_about_other_harnesses_are_right() -> None:
    """GitHub's example gives the action inputs that it has, and GitLab's runs a command that parses."""
    yaml = pytest.importorskip("yaml")
    github, gitlab = map(yaml.safe_load, blocks(ROOT / "docs" / "among-others.md", "yaml"))
    inputs = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
    [step] = [one for one in github["jobs"]["wording"]["steps"] if one["uses"].startswith("otherwords/")]
    assert set(step["with"]) <= set(inputs)
    [command] = [line for line in gitlab["wording"]["script"] if line.startswith("otherwords ")]
    parse(command)
    assert gitlab["wording"]["artifacts"]["reports"]["junit"] in command


def test_what_a_cluster_costs_follows_from_the_measured_rate() -> None:
    measured = json.loads((ROOT / "benchmarks" / "results" / "gpu.json").read_text(encoding="utf-8"))["results"]
    rate = round(measured["in calls of 20,000: fused"]["pairs_per_s"], -3)
    page = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    assert f"answers {rate:,.0f} pairs a second" in page
    rows = re.findall(r"^\| (1|8|64) \| ([\d.]+) (min|s) \| ([\d.]+) (h|min) \|", page, flags=re.M)
    assert len(rows) == 3
    seconds = {"s": 1, "min": 60, "h": 3600}
    for gpus, fast, fast_unit, slow, slow_unit in rows:
        for shown, expected in (
            (float(fast) * seconds[fast_unit], 5e7 / rate / int(gpus)),
            (float(slow) * seconds[slow_unit], 5e8 / rate / int(gpus)),
        ):
            assert shown == pytest.approx(expected, rel=0.03)


def test_the_readme_shows_what_the_demo_measures() -> None:
    """The golden scores of the quickstart (`make demo`), as its table prints them."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for one in json.loads((ROOT / "tests" / "golden" / "quickstart.json").read_text(encoding="utf-8")):
        value, low, high = (f"{100 * one[name]:.1f}" for name in ("value", "low", "high"))
        clusters = rf"{one['n_clusters']} \({one['n_effective']:.0f}\)"
        counts = rf"{clusters} │ +{one['n_units']} │ +{one['n_answers']} │"
        line = rf"│ {one['metric']} +│ +{value} % │ +{low} – {high} │ +{counts}"
        assert re.search(line, readme), line
