"""What holds for plug-ins of every kind: they say what they are, and their signatures can be quoted."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from otherwords.registry import KINDS

#: Options that mean the same everywhere and need no words; so does the one that follows the colon.
COMMON = {"path", "batch_size", "task"}


@pytest.mark.parametrize("kind", KINDS)
def test_none_is_forgotten_and_none_is_left_over(kind, recipes):
    assert {plugin.full_name for plugin in KINDS[kind]} == set(recipes[kind])


def test_it_says_in_one_line_what_it_is(plugin):
    summary = KINDS[plugin[0]].get(plugin[1]).summary
    assert 20 <= len(summary) <= 120
    assert summary.endswith(".")
    assert summary[0].isupper()


def test_its_options_are_documented_and_typed(plugin):
    found = KINDS[plugin[0]].get(plugin[1])
    text = inspect.getdoc(found.factory) or ""
    required = [name for name, default in found.options().items() if default is ...]
    silent = [name for name in found.options() if not re.search(rf"\b{name}\b", text)]
    assert set(silent) <= {*COMMON, *required[:1]}
    untyped = [p.name for p in inspect.signature(found.factory).parameters.values() if p.annotation is p.empty]
    assert untyped == []
    assert set(found.unsigned) <= set(found.options())


def test_its_signature_is_stable_and_complete(plugin, spec, bound):
    again = KINDS[plugin[0]].make(spec)
    assert again.signature == bound.signature
    assert bound.signature.startswith(f"{plugin[1]}(")
    options = set(bound.plugin.options()) - set(bound.plugin.unsigned)
    assert [name for name in options if f"{name}=" not in bound.signature] == []


def test_its_signature_knows_no_machine(bound, spec, tmp_path):
    assert not re.search(r"(^|[^\w.])(/|~/|[A-Z]:\\)\w", bound.signature)
    for place in (Path.home(), Path.cwd(), tmp_path.parent):
        assert str(place) not in bound.signature


def test_its_signature_does_not_depend_on_the_place(plugin, recipes, tmp_path):
    made = []
    for place in ("one", "two"):
        folder = tmp_path / place
        folder.mkdir()
        made.append(KINDS[plugin[0]].make(recipes[plugin[0]][plugin[1]](folder)).signature)
    assert made[0] == made[1]


def test_its_speed_options_are_not_signed(plugin, bound):
    for name in bound.plugin.unsigned:
        assert f"{name}=" not in bound.signature
