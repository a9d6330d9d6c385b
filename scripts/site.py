"""Builds the documentation as a site with search: `python scripts/site.py [--out site]`. Needs mkdocs, and no network.

Pages keep the places that they have in the repository, so that their links work there and here. What pages link to
besides is copied along.
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

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
#: The pages of each entry of the menu, in their order; a test proves that all pages are there.
MENU: dict[str, list[str]] = {
    "Start": ["README.md", "docs/README.md"],
    "Guides": [
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


def title_of(page: Path) -> str:
    """The first heading of a page, without its marks."""
    found = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.M)
    return re.sub(r"[`*]", "", found[1]) if found else page.stem


def linked(page: str) -> Iterator[Path]:
    """The files of the repository that a page links to, or shows."""
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.S)
    for name in LINK.findall(text):
        if "://" not in name and not name.startswith("mailto:"):
            target = (ROOT / page).parent.joinpath(name).resolve()
            if target.is_file() and target.is_relative_to(ROOT):
                yield target


def stage(folder: Path) -> None:
    """Copy the pages and what they link to, at their places."""
    for page in pages():
        for path in (ROOT / page, *linked(page)):
            target = folder / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def config(source: Path, out: Path) -> str:
    """The settings of mkdocs, as JSON, which is YAML: a theme that loads nothing from elsewhere, and strict links."""
    menu = [{entry: [{title_of(ROOT / page): page} for page in some]} for entry, some in MENU.items()]
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


def main() -> None:
    """Build the site."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "site")
    given = parser.parse_args()
    build(given.out)
    print(given.out / "index.html")


if __name__ == "__main__":
    main()
