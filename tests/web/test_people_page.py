"""docs/people.md, followed by an owner and two scripted annotators, over real HTTP."""

from __future__ import annotations

import os
import random
import shlex
from pathlib import Path

import pytest
from annotating import Visitor, process
from pages import Reader, differs, read_blocks

PAGE = Path(__file__).parents[2] / "docs" / "people.md"
STORY = [block for block in read_blocks(PAGE) if block.language == "sh" and "not run" not in block.marks]


def judge(address, invitation, pages):
    """An annotator who finds nine of ten rewordings sound, and takes one page back."""
    person = Visitor(address).join(invitation["link"])
    chosen = random.Random(invitation["pseudonym"])
    place = person.get("/next").location
    for number in range(pages + 1):
        item = int(place.rpartition("/")[2])
        person.get(place)
        place = person.answer(item, sound="sound" if chosen.random() < 0.9 else "unsound").location
        if number == 3:
            place = person.post("/undo").location


def served(command, pages):
    """Run `annotate` while two people judge."""
    with process(*shlex.split(command)[2:]) as (_, ready):
        for invitation in ready["invitations"]:
            if invitation["role"] == "annotator":
                judge(ready["address"], invitation, pages)


def test_the_story_has_an_owner_who_serves_and_exports():
    commands = [block.text for block in STORY]
    assert ["served" in block.marks for block in STORY].count(True) == 1
    assert commands[0].startswith("otherwords run ")
    assert any("verdicts export" in command for command in commands)


@pytest.mark.slow
def test_the_page_is_what_happens(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setenv("OTHERWORDS_CACHE", str(tmp_path / "cache.sqlite"))
    given = dict(os.environ)
    reader, shown = Reader(processes=True), ""
    for block in STORY:
        if "served" in block.marks:
            served(block.text, pages=100)
            continue
        out, err = reader.follow(block)
        shown += out
        if block.shown:
            assert not differs(block.shown.text, out, err, vary="numbers vary" in block.marks), (
                f"{block.text}\n{out}{err}"
            )
    os.environ.clear()
    os.environ.update(given)
    assert "flip_rate_sound" in shown
    assert "Krippendorff" in shown or "alpha" in shown
    assert (tmp_path / "card.md").read_text(encoding="utf-8").startswith("# Verdicts: Is the new wording sound?")
    assert (tmp_path / "verdicts.csv").read_text(encoding="utf-8").count("\n") == 1 + 2 * 100
