"""otherwords doctor: what is there, what is missing with the line that installs it, and nothing private."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import tomllib
from importlib import metadata
from pathlib import Path

from otherwords.cli import doctor

ROOT = Path(__file__).parents[2]


def names(requirements: list[str]) -> set[str]:
    here = [one for one in requirements if "== 'darwin'" not in one]  # there, another build of the same
    return {re.split(r"[<>=\[; ]", one, maxsplit=1)[0] for one in here} - {"otherwords"}


def test_it_knows_every_package_that_the_project_needs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert set(doctor.CORE) == names(project["dependencies"])
    assert set(extras) - {"test", "bench"} == set(doctor.EXTRAS)
    for name, packages in doctor.EXTRAS.items():
        others = re.findall(r"otherwords\[(\w+)\]", " ".join(extras[name]))
        assert set(packages) == names(extras[name]).union(*(names(extras[other]) for other in others))


def test_it_shows_one_screen_and_the_same_as_json(cli, place):
    text = cli("doctor").stdout
    found = json.loads(cli("doctor", "--json").stdout)
    assert len(text.splitlines()) < 25
    assert text.startswith(f"otherwords {found['otherwords']}, Python {found['python']}")
    assert f"polars {found['packages']['polars']}" in text
    assert found["models"]["bundled"] == ["nli-small", "mlm-small"]
    assert found["cache"]["path"] == os.environ["OTHERWORDS_CACHE"]
    assert (found["cache"]["writable"], found["broken"]) == (True, [])
    assert text.endswith("all is well\n")
    assert not list(place.iterdir())  # looking makes nothing


def test_it_names_neither_the_user_nor_a_secret(cli, monkeypatch, tmp_path):
    home = tmp_path / "secretive"
    (home / "hub" / "models--org--fine-model").mkdir(parents=True)
    for name, value in {"HOME": home, "HF_HUB_CACHE": home / "hub", "HF_TOKEN": "hf_private"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("OTHERWORDS_CACHE", str(home / "cache" / "answers.sqlite"))
    text = cli("doctor").stdout + cli("doctor", "--json").stdout
    assert "secretive" not in text
    assert "hf_private" not in text
    assert "answer cache: ~/cache/answers.sqlite, 0 answers" in text
    assert "org/fine-model" in text


def test_what_is_missing_comes_with_the_line_that_installs_it(cli, monkeypatch):
    there = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: _absent(name) if name == "wn" else there(name))
    assert "extra wn: missing wn: pip install 'otherwords[wn]'" in cli("doctor").stdout


def _absent(name: str) -> str:
    raise metadata.PackageNotFoundError(name)


def test_a_damaged_cache_is_broken(cli):
    path = Path(os.environ["OTHERWORDS_CACHE"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"not a database" * 100)
    text = cli("doctor", rc=1).stdout
    assert f"BROKEN: the answer cache {path} cannot be used" in text
    assert "delete" not in text  # it may be somebody's


def test_a_database_of_somebody_else_is_not_to_be_deleted(cli):
    path = Path(os.environ["OTHERWORDS_CACHE"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as database:
        database.execute("create table bookmarks (url text)")
    database.close()
    text = cli("doctor", rc=1).stdout
    assert f"BROKEN: the answer cache {path} cannot be used" in text
    assert "bookmarks" in text
    assert "delete" not in text


def test_a_core_package_that_is_gone_is_broken(cli, monkeypatch):
    there = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: _absent(name) if name == "scipy" else there(name))
    assert "BROKEN: scipy is not installed: pip install otherwords" in cli("doctor", rc=1).stdout
