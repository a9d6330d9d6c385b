"""Tables and figures as files: what was written is replaced, what is of another origin is never touched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.report.exhibits import LISTING, write_exhibits
from otherwords.report.figures import Figure, Panel, Series
from otherwords.report.tables import Table, TableColumn


def table(name: str, value: int = 1) -> Table:
    return Table(name, "t", [TableColumn("a", "count")], [[value]])


def figure(name: str) -> Figure:
    return Figure(name, "t", "lines", [Panel("", [Series.of("m", [0.0, 1.0], [0.2, float("nan")])])])


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_every_form_of_each_is_written(tmp_path: Path) -> None:
    written = write_exhibits(tmp_path / "x", [table("one")], [figure("two")])
    expected = [
        "exhibits.json",
        "figures/two.json",
        "figures/two.svg",
        "tables/one.csv",
        "tables/one.md",
        "tables/one.tex",
    ]
    assert files(tmp_path / "x") == expected == sorted(str(path.relative_to(tmp_path / "x")) for path in written)
    data = json.loads((tmp_path / "x/figures/two.json").read_text())
    assert data["panels"][0]["series"][0]["points"][1]["y"] is None


def test_what_an_earlier_call_wrote_is_replaced_or_removed(tmp_path: Path) -> None:
    write_exhibits(tmp_path, [table("one"), table("two")], [])
    write_exhibits(tmp_path, [table("one", 5)], [figure("new")])
    assert "5" in (tmp_path / "tables/one.csv").read_text()
    assert not (tmp_path / "tables/two.csv").exists()
    assert (tmp_path / "figures/new.svg").exists()


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    write_exhibits(tmp_path, [table("one"), table("two")], [])
    (tmp_path / "tables/two.md").write_text("changed by hand")
    (tmp_path / "tables/three.md").write_text("of somebody else")
    write_exhibits(tmp_path, [table("one")], [])
    assert (tmp_path / "tables/two.md").read_text() == "changed by hand"
    assert (tmp_path / "tables/three.md").read_text() == "of somebody else"


def test_a_listing_that_leads_elsewhere_removes_nothing(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("x")
    folder = tmp_path / "x"
    write_exhibits(folder, [table("one")], [])
    listing = json.loads((folder / LISTING).read_text())
    digest = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"  # of x
    listing["files"] |= {"../own.txt": digest, "tables/../../own.txt": digest}
    (folder / LISTING).write_text(json.dumps(listing))
    write_exhibits(folder, [table("one")], [])
    assert (tmp_path / "own.txt").read_text() == "x"


@pytest.mark.parametrize("path", ["tables/one.md", "tables", LISTING])
def test_a_foreign_file_in_the_way_is_refused_before_anything_is_written(tmp_path: Path, path: str) -> None:
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text("of somebody else")
    with refuses(BadInput):
        write_exhibits(tmp_path, [table("one")], [figure("two")])
    assert files(tmp_path) == [path]


def test_a_file_that_was_changed_since_is_refused(tmp_path: Path) -> None:
    write_exhibits(tmp_path, [table("one")], [])
    (tmp_path / "tables/one.tex").write_text("changed by hand")
    with refuses(BadInput):
        write_exhibits(tmp_path, [table("one", 2)], [])
    assert "1" in (tmp_path / "tables/one.csv").read_text()


def test_two_of_one_name_are_refused(tmp_path: Path) -> None:
    with refuses(BadInput):
        write_exhibits(tmp_path / "x", [table("one"), table("one")], [])
    assert not (tmp_path / "x").exists()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "x").symlink_to(tmp_path / "elsewhere")
    with refuses(BadInput):
        write_exhibits(tmp_path / "x", [table("one")], [])
