"""Builds the documentation as a site with search: `python scripts/site.py [--out site]`. Needs mkdocs, and no network.

Pages keep the places that they have in the repository, so that their links work there and here. What pages link to
besides is copied along. The tutorial, a notebook, becomes a page. Search is our own (`search.js`), since that of mkdocs
finds nothing where the site is opened from its folder.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SEARCH = Path(__file__).with_name("search.js")
#: The field of the search stays in sight, and code has room.
STYLE = ".wy-side-nav-search { position: sticky; top: 0; z-index: 2 }\n.wy-nav-content { max-width: 960px }\n"
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
#: The pages of each entry of the menu, in their order; a test proves that all pages are there.
MENU: dict[str, list[str]] = {
    "Start": ["README.md", "docs/README.md"],
    "Guides": [
        "docs/tutorial.ipynb",
        "docs/for-practitioners.md",
        "docs/for-researchers.md",
        "docs/for-dataset-builders.md",
        "docs/among-others.md",
        "docs/people.md",
        "docs/library.md",
    ],
    "Reference": [
        "docs/metrics.md",
        "docs/variants.md",
        "docs/rewording.md",
        "docs/models.md",
        "docs/llm.md",
        "docs/training.md",
        "docs/cluster.md",
        "docs/run-folder.md",
        "docs/extending.md",
    ],
    "Papers": [
        "docs/reproductions.md",
        "docs/ie-test.md",
        "docs/ie-results.md",
        "docs/papers/merge.md",
        "docs/papers/paranlu.md",
        "docs/papers/parte.md",
        "docs/papers/sensitivity.md",
    ],
    "Results": ["docs/results.md", "docs/validity/README.md", "benchmarks/README.md", "recipes/README.md"],
    "Project": [
        "docs/architecture.md",
        "docs/deprecation.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "LICENCES.md",
        "src/otherwords/assets/nli-small/README.md",
        "src/otherwords/assets/nli-small/equivalence.md",
        "src/otherwords/assets/mlm-small/README.md",
        "src/otherwords/assets/wordnet/README.md",
    ],
}


def pages() -> list[str]:
    """All pages of the menu."""
    return [page for some in MENU.values() for page in some]


def staged(page: str) -> str:
    """Under which name mkdocs finds a page: a notebook becomes Markdown."""
    return re.sub(r"\.ipynb$", ".md", page)


def markdown_of(page: Path) -> str:
    """A page as Markdown: a notebook with its code and what that has shown; links to notebooks lead to their pages."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        text = "\n\n".join(part for cell in json.loads(text)["cells"] for part in _parts(cell)) + "\n"
    return re.sub(r"(?<=[\w-])\.ipynb(?=[)#])", ".md", text)


def _parts(cell: dict[str, Any]) -> Iterator[str]:
    """A cell of a notebook: its text, or its code and the richest form of each output."""
    source = "".join(cell["source"])
    yield source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```"
    for output in cell.get("outputs", ()):
        shown = output.get("data", {})
        rich = next((shown[kind] for kind in ("image/svg+xml", "text/html") if kind in shown), None)
        plain = "".join(output.get("text", ()) or shown.get("text/plain", ()))
        yield f"```text\n{plain.rstrip()}\n```" if rich is None else f"<div>\n{''.join(rich)}\n</div>"


def title_of(page: Path) -> str:
    """The first heading of a page, without its marks."""
    found = re.search(r"^# (.+)$", markdown_of(page), re.M)
    return re.sub(r"[`*]", "", found[1]) if found else page.stem


def linked(page: str) -> Iterator[Path]:
    """The files of the repository that a page links to, or shows."""
    text = re.sub(r"```.*?```", "", markdown_of(ROOT / page), flags=re.S)
    for name in LINK.findall(text):
        if "://" not in name and not name.startswith("mailto:"):
            target = (ROOT / page).parent.joinpath(name).resolve()
            if target.is_file() and target.is_relative_to(ROOT):
                yield target


def stage(folder: Path) -> None:
    """Copy the pages and what they link to, at their places."""
    for page in pages():
        for path in linked(page):
            target = folder / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    for page in pages():
        target = folder / staged(page)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(markdown_of(ROOT / page), encoding="utf-8")
    (folder / "site.css").write_text(STYLE, encoding="utf-8")


def config(source: Path, out: Path) -> str:
    """The settings of mkdocs, as JSON, which is YAML: a theme that loads nothing from elsewhere, and strict links."""
    menu = [{entry: [{title_of(ROOT / page): staged(page)} for page in some]} for entry, some in MENU.items()]
    settings = {
        "site_name": "otherwords",
        "docs_dir": str(source),
        "site_dir": str(out),
        "nav": menu,
        "theme": {
            "name": "readthedocs",
            "highlightjs": False,
            "navigation_depth": 2,
            "include_homepage_in_sidebar": True,
        },
        "plugins": ["search"],
        "extra_css": ["site.css"],
        "use_directory_urls": False,
        "markdown_extensions": ["tables", "fenced_code", "toc"],
        "validation": {"links": {"not_found": "warn", "anchors": "ignore", "absolute_links": "warn"}},
    }
    return json.dumps(settings)


def build(out: Path) -> None:
    """Build the site; a link that leads nowhere is an error."""
    with tempfile.TemporaryDirectory() as place:
        stage(Path(place) / "pages")
        settings = Path(place) / "mkdocs.yml"
        settings.write_text(config(Path(place) / "pages", out.absolute()), encoding="utf-8")
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", str(settings)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"the site cannot be built:\n{done.stdout}{done.stderr}")
    write_search(out / "search")


def write_search(folder: Path) -> None:
    """Put our search in the place of that of mkdocs, which needs a server; its index becomes a script."""
    index = json.loads((folder / "search_index.json").read_text(encoding="utf-8"))["docs"]
    sections = [one for one in index if "#" in one["location"]]  # not pages, which say the same again
    script = f"const searchIndex = {json.dumps(sections, ensure_ascii=False)};\n"
    (folder / "search_index.js").write_text(script, encoding="utf-8")
    shutil.copyfile(SEARCH, folder / "main.js")
    for name in ("search_index.json", "worker.js", "lunr.js"):
        (folder / name).unlink()


def main() -> None:
    """Build the site."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "site")
    given = parser.parse_args()
    build(given.out)
    print(given.out / "index.html")


if __name__ == "__main__":
    main()
