"""Builds a release and proves it: `python scripts/release.py [--out dist] [--smoke PYTHON ...]`.

Wheel and sdist are built twice and must be the same bytes; the SBOM names what is bundled and what is needed; the wheel
is installed into fresh environments and answers a few problems there. Needs hatchling (requirements/release.txt).
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
import uuid
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

from packaging.markers import Marker

ROOT = Path(__file__).parents[1]
#: Where files of other origin may be; the rest of the repository is ours.
BUNDLED = ("src/otherwords/assets", "tests/support/axe")
#: The time of files in archives: the same for every build.
EPOCH = "1767225600"
_ROW = re.compile(
    r"^\| (?P<what>[^|]+) \| `(?P<files>[^`]+)` \| (?P<licence>[^|]+) \| (?P<text>[^|]+) \| (?P<origin>[^|]+) \|$", re.M
)
_PIN = re.compile(r"^([a-z0-9._-]+)==([^ \\]+)(?: ; ([^\\]+))?", re.M)
_SMOKE = """
import otherwords as ow
assert "site-packages" in ow.__file__, ow.__file__
run = ow.run(data=["everyday"], vary=["contractions"], models=["bag_of_words"], metrics=["flip_rate"], out="run")
assert run.report.stat().st_size > 10_000
print(ow.__version__, run.scores[0])
"""


class Bundle(NamedTuple):
    """Something of other origin: what it is, its files, its licence, where that stands, and where it comes from."""

    what: str
    files: str
    licence: str
    text: str
    origin: str


def inventory() -> list[Bundle]:
    """The table of LICENCES.md."""
    return [Bundle(*map(str.strip, row)) for row in _ROW.findall((ROOT / "LICENCES.md").read_text(encoding="utf-8"))]


def unlisted() -> list[str]:
    """Bundled files that the inventory does not name, or names twice."""
    rows = inventory()
    files = [path for folder in BUNDLED for path in (ROOT / folder).rglob("*") if path.is_file()]
    names = sorted(path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts)
    return [name for name in names if sum(fnmatch.fnmatchcase(name, row.files) for row in rows) != 1]


def build(out: Path) -> list[Path]:
    """Build wheel and sdist."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH, "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(out)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the build failed:\n{done.stdout}{done.stderr}")
    return sorted(path for path in out.iterdir() if path.suffix in (".whl", ".gz"))


def build_twice(out: Path) -> list[Path]:
    """Build into a folder, and once more elsewhere: both must be the same bytes."""
    first = build(out)
    with tempfile.TemporaryDirectory() as other:
        for one, two in zip(first, build(Path(other)), strict=True):
            if (one.name, digest(one)) != (two.name, digest(two)):
                raise SystemExit(f"{one.name} differs from build to build")
    return first


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sbom(version: str) -> dict[str, Any]:
    """The bill of materials (CycloneDX 1.5): what is bundled in the wheel, and what it needs, as pinned."""
    bundled = [_bundled(row) for row in inventory() if row.files.startswith("src/")]
    needed = [_package(name, number) for name, number, _ in pinned()]
    reference = f"pkg:pypi/otherwords@{version}"
    own = {"type": "library", "name": "otherwords", "version": version, "purl": reference, "bom-ref": reference}
    own["licenses"] = [{"license": {"id": "Apache-2.0"}}]  # type: ignore[assignment]
    parts = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": own},
        "components": [*bundled, *needed],
        "dependencies": [{"ref": reference, "dependsOn": [one["bom-ref"] for one in (*bundled, *needed)]}],
    }
    named = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(parts, sort_keys=True))
    return {**parts, "serialNumber": f"urn:uuid:{named}"}


def pinned() -> list[tuple[str, str, str]]:
    """What the wheel needs, as pinned: name, version, and where it is needed ("": everywhere)."""
    return _PIN.findall((ROOT / "requirements" / "core.txt").read_text(encoding="utf-8"))


def unlicensed() -> list[str]:
    """Packages that are needed here, and whose licence is not known: they are not installed, or state none."""
    here = [name for name, _, where in pinned() if not where or Marker(where).evaluate()]
    return [name for name in here if not licences_of(name)]


def _bundled(row: Bundle) -> dict[str, Any]:
    files = sorted(path for path in ROOT.glob(row.files) if path.is_file())
    content = hashlib.sha256("".join(f"{path.name} {digest(path)}\n" for path in files).encode()).hexdigest()
    kind = "machine-learning-model" if any(path.suffix == ".onnx" for path in files) else "data"
    kind = "library" if any(path.suffix == ".js" for path in files) else kind
    known = {"name": row.licence} if row.licence == "WordNet-3.0" else {"id": row.licence}
    return {
        "type": kind,
        "name": row.what,
        "version": content[:12],
        "bom-ref": f"bundled/{row.what.replace(' ', '-')}",
        "licenses": [{"license": known}],
        "description": row.origin,
        "hashes": [{"alg": "SHA-256", "content": content}],
    }


def _package(name: str, version: str) -> dict[str, Any]:
    reference = f"pkg:pypi/{name}@{version}"
    entry: dict[str, Any] = {
        "type": "library",
        "name": name,
        "version": version,
        "purl": reference,
        "bom-ref": reference,
    }
    if licences := licences_of(name):
        entry["licenses"] = licences
    return entry


def licences_of(name: str) -> list[dict[str, Any]]:
    """What a package says of its licence, if it is installed here or in .venv: an SPDX expression, or names."""
    places = [*sys.path, *map(str, ROOT.glob(".venv/lib/*/site-packages"))]
    found = next(iter(importlib.metadata.distributions(name=name, path=places)), None)
    if found is None:
        return []
    fields = found.metadata
    if expression := fields.get("License-Expression"):
        return [{"expression": expression}]
    plain = (fields.get("License") or "").strip()
    classified = [
        one.rpartition(" :: ")[2] for one in fields.get_all("Classifier") or () if one.startswith("License ::")
    ]
    names = [plain.splitlines()[0]] if plain and len(plain) < 80 else classified
    return [{"license": {"name": one}} for one in names]


def smoke(python: str, wheel: Path) -> str:
    """Install the wheel, with what is pinned, into a fresh environment of a Python, and use it there."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([python, "-m", "venv", place], check=True, capture_output=True)
        own = str(Path(place) / "bin" / "python")
        pip = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", "--no-deps"]
        subprocess.run([*pip, "--require-hashes", "-r", str(ROOT / "requirements" / "core.txt")], check=True)
        subprocess.run([*pip, str(wheel)], check=True)
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment["OTHERWORDS_CACHE"] = str(Path(place) / "answers.sqlite")
        command = [own, "-W", "ignore", "-c", _SMOKE]
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"the wheel does not work in {python}:\n{done.stderr}")
        return done.stdout.strip()


def version_of(wheel: Path) -> str:
    """The version that a wheel says it has; its own file of the version must say the same."""
    [_, named, *_] = wheel.name.split("-")
    with zipfile.ZipFile(wheel) as file:
        text = file.read("otherwords/_version.py").decode()
    if f'"{named}"' not in text:
        raise SystemExit(f"{wheel.name}: _version.py says otherwise")
    return named


def main() -> None:
    """Build, list and try."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--smoke", nargs="*", default=[], metavar="PYTHON")
    given = parser.parse_args()
    if names := unlisted():
        raise SystemExit(f"LICENCES.md does not name {', '.join(names)} once")
    if names := unlicensed():
        raise SystemExit(f"no licence is known of {', '.join(names)}: install what the wheel needs (make .venv/.core)")
    given.out.mkdir(parents=True, exist_ok=True)
    archives = build_twice(given.out)
    wheel = next(path for path in archives if path.suffix == ".whl")
    bill = given.out / f"otherwords-{version_of(wheel)}.cdx.json"
    bill.write_text(json.dumps(sbom(version_of(wheel)), indent=1) + "\n", encoding="utf-8")
    for path in (*archives, bill):
        print(digest(path), path.name)
    for python in given.smoke:
        print(python, smoke(python, wheel))


if __name__ == "__main__":
    main()
