"""A release: reproducible archives, an inventory of what is bundled, an SBOM, and a site of all pages with search."""

from __future__ import annotations

import html.parser
import importlib.util
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest

import otherwords

ROOT = Path(__file__).parents[1]
#: The environment with hatchling and mkdocs, which `make test-all` installs.
RELEASE = Path(os.environ.get("OTHERWORDS_RELEASE", ROOT / ".release"))


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"scripts_{name}", ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


release, site = script("release"), script("site")


@pytest.fixture(scope="module")
def release_python() -> str:
    python = RELEASE / "bin" / "python"
    if not python.exists():
        pytest.skip("needs hatchling and mkdocs in .release: make .release/.done")
    return str(python)


def test_everything_bundled_is_in_the_inventory_once():
    assert release.unlisted() == []
    for row in release.inventory():
        assert list(ROOT.glob(row.files)), row
        assert (ROOT / row.text).is_file(), row


def test_the_inventory_test_can_fail(monkeypatch, tmp_path):
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "new.js").write_text("")
    (tmp_path / "LICENCES.md").write_text((ROOT / "LICENCES.md").read_text())
    monkeypatch.setattr(release, "ROOT", tmp_path)
    monkeypatch.setattr(release, "BUNDLED", ("assets",))
    assert release.unlisted() == ["assets/new.js"]


def test_the_bill_of_materials_names_what_is_bundled_and_what_is_needed():
    bill = release.sbom("1.2.3")
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert bill == release.sbom("1.2.3")
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", bill["serialNumber"])
    names = [one["name"] for one in bill["components"]]
    assert {"htmx", "WordNet 3.0", "nli-small", "polars", "numpy"} <= set(names)
    assert "axe-core (tests only)" not in names
    references = [one["bom-ref"] for one in bill["components"]]
    assert len(references) == len(set(references))
    assert bill["dependencies"][0]["dependsOn"] == references
    [polars] = [one for one in bill["components"] if one["name"] == "polars"]
    assert polars["purl"] == f"pkg:pypi/polars@{polars['version']}"
    assert polars["licenses"], "it is installed, and states its licence"
    [rich] = [one for one in bill["components"] if one["name"] == "rich"]
    assert rich["licenses"] == [{"license": {"name": "MIT"}}]
    [numpy, *_] = [one for one in bill["components"] if one["name"] == "numpy"]
    assert "expression" in numpy["licenses"][0], "SPDX, as the package states it"


def test_a_bill_without_licences_is_not_made(monkeypatch, tmp_path):
    """Where nothing of what the wheel needs is installed, the licences would be missing without a word."""
    assert release.unlicensed() == []
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(release, "ROOT", tmp_path)
    (tmp_path / "requirements").mkdir()
    pins = "polars==2.1.0 \\\n    --hash=x\nwin==1 ; sys_platform == 'win32' \\\n"
    (tmp_path / "requirements" / "core.txt").write_text(pins)
    assert release.unlicensed() == ["polars"]


def test_nothing_that_the_core_needs_asks_for_the_source_of_what_uses_it():
    """Who passes an Apache-licensed package on with a GPL-licensed one has to give all of it under the GPL."""
    stated = {name: json.dumps(release.licences_of(name)) for name, _, _ in release.pinned()}
    assert [name for name, licence in stated.items() if re.search("GPL|General Public", licence)] == []


def test_all_packages_that_the_core_needs_are_in_the_bill():
    declared = re.findall(
        r'^    "([a-z0-9-]+)>=',
        (ROOT / "pyproject.toml").read_text().partition("dependencies = [")[2].partition("]")[0],
        re.M,
    )
    assert len(declared) > 5
    assert set(declared) <= {one["name"] for one in release.sbom("1")["components"]}


def test_the_citation_has_the_version():
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (cited["cff-version"], cited["version"], cited["license"]) == ("1.2.0", otherwords.__version__, "Apache-2.0")


def test_the_changes_begin_with_the_version_and_a_candidate_is_no_alpha():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\S+)", text, re.M)[0] == otherwords.__version__
    status = "4 - Beta" if re.search(r"[a-z]", otherwords.__version__) else "5 - Production/Stable"
    assert f'"Development Status :: {status}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_menu_has_every_page_once():
    pages = site.pages()
    assert len(pages) == len(set(pages))
    written = (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb"))
    there = {path.relative_to(ROOT).as_posix() for path in written}
    assert there - set(pages) == set()
    assert all((ROOT / page).is_file() for page in pages)


def test_the_settings_of_the_site_load_nothing_from_elsewhere(tmp_path):
    settings = json.loads(site.config(tmp_path / "pages", tmp_path / "site"))
    assert settings["theme"]["highlightjs"] is False
    assert settings["plugins"] == ["search"]
    assert [page for entry in settings["nav"] for some in entry.values() for one in some for page in one.values()] == [
        site.staged(page) for page in site.pages()
    ]


def test_a_notebook_is_a_page_with_what_its_code_has_shown():
    text = site.markdown_of(ROOT / "docs" / "tutorial.ipynb")
    assert text.startswith("# ")
    assert "```python\nimport otherwords as ow\n" in text or "import otherwords as ow" in text
    assert "<svg" in text
    assert "<table" in text
    assert "```text\n" in text
    assert ".ipynb)" not in site.markdown_of(ROOT / "docs" / "README.md")
    assert site.title_of(ROOT / "docs" / "tutorial.ipynb")


class Links(html.parser.HTMLParser):
    """What a page links to, what it loads, and the names of places in it."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.names |= {value for name in ("id", "name") if (value := given.get(name))}
        if tag == "a" and (target := given.get("href")):
            self.links.append(target)
        self.loads += [value for name in ("src",) if (value := given.get(name))]
        if tag == "link" and (target := given.get("href")) and given.get("rel") in ("stylesheet", "shortcut icon"):
            self.loads.append(target)


@pytest.fixture(scope="module")
def built(release_python: str, tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Links]:
    out = tmp_path_factory.mktemp("site")
    command = [release_python, str(ROOT / "scripts" / "site.py"), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {page: Links(page.read_text(encoding="utf-8")) for page in sorted(out.rglob("*.html"))}


def target_of(page: Path, link: str) -> tuple[Path, str]:
    parts = urlsplit(link)
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    return target / "index.html" if target.is_dir() else target, unquote(parts.fragment)


@pytest.mark.slow
def test_no_link_of_the_site_is_broken(built):
    broken = []
    for page, found in built.items():
        if page.name == "404.html":
            continue  # its links are made for the root of a server
        for link in found.links:
            if urlsplit(link).scheme or link == "#":
                continue
            target, name = target_of(page, link)
            if not target.is_file():
                broken.append(f"{page.name}: {link}")
            elif name and target in built and name not in built[target].names:
                broken.append(f"{page.name}: {link} has no such heading")
    assert broken == []


@pytest.mark.slow
def test_every_page_is_reached_in_two_clicks_and_loads_nothing_from_elsewhere(built):
    home = next(page for page in built if page.name == "index.html" and (page.parent / "search.html").exists())
    reached = {home}
    for _ in range(2):
        reached |= {target_of(page, link)[0] for page in tuple(reached) if page in built for link in built[page].links}
    pages = {(home.parent / page).with_suffix(".html") for page in site.pages()}
    pages = {page if page.stem != "README" else page.with_name("index.html") for page in pages}
    assert pages - reached == set()
    for page, found in built.items():
        assert [one for one in found.loads if urlsplit(one).netloc] == [], page


@pytest.mark.slow
def test_the_site_can_be_searched(built):
    home = next(page for page in built if (page.parent / "search.html").exists())
    script = (home.parent / "search" / "search_index.js").read_text(encoding="utf-8")
    index = json.loads(script.removeprefix("const searchIndex = ").removesuffix(";\n"))
    places = {one["location"] for one in index}
    assert any(place.startswith("docs/metrics.html") for place in places)
    assert any(place.startswith("docs/tutorial.html") for place in places)
    assert any("flip_rate" in one["text"] for one in index)


@pytest.mark.slow
def test_search_works_where_the_site_is_opened_from_its_folder(built, browser):
    home = next(page for page in built if (page.parent / "search.html").exists())
    page = browser.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.goto(f"{(home.parent / 'search.html').as_uri()}?q=flip_rate")
    page.wait_for_selector("#mkdocs-search-results article")
    assert "flip_rate" in page.inner_text("#mkdocs-search-results article p")
    page.fill("#mkdocs-search-query", "flip_rate qqzzqq")
    assert page.inner_text("#mkdocs-search-results") == "Nothing found."
    page.fill("#mkdocs-search-query", "krippendorff alpha")
    page.click("#mkdocs-search-results article a")
    page.wait_for_url("**/docs/**")
    assert wrong == []
    page.close()


@pytest.mark.slow
def test_archives_are_the_same_bytes_and_the_wheel_works_by_itself(release_python, tmp_path):
    command = [release_python, str(ROOT / "scripts" / "release.py"), "--out", str(tmp_path / "dist")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # which builds twice, and compares
    assert done.returncode == 0, done.stdout + done.stderr
    [wheel] = (tmp_path / "dist").glob("*.whl")
    [archive] = (tmp_path / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as file:
        assert any(name.endswith("/LICENCES.md") for name in file.getnames())
    place = tmp_path / "site-packages"
    with zipfile.ZipFile(wheel) as file:
        assert len({one.date_time for one in file.infolist()}) == 1
        file.extractall(place)
    assert "pytest11" in next(place.glob("*.dist-info/entry_points.txt")).read_text()
    environment = {**os.environ, "PYTHONPATH": str(place), "OTHERWORDS_CACHE": str(tmp_path / "answers.sqlite")}
    command = [sys.executable, "-W", "ignore", "-c", release._SMOKE]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(otherwords.__version__)
