"""What holds for plug-ins of every kind: they say what they are, and their signatures can be quoted."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from refusals import refuses

from otherwords.errors import BadInput
from otherwords.registry import KINDS, Plugin

#: Options that mean the same everywhere and need no words; so does the one that follows the colon.
COMMON = {"path", "batch_size", "task"}


def test_it_can_be_tried(plugin, bound):
    """With its defaults, its declared example or a recipe; else the error says what to declare."""
    assert bound.plugin.full_name == plugin[1]


def test_no_recipe_is_left_over(recipes):
    unknown = [(kind, name) for kind in recipes for name in recipes[kind] if not KINDS[kind].has(name)]
    assert unknown == []


def test_a_plugin_without_an_example_is_an_error_that_says_what_to_declare():
    def factory(path: Path, size: int = 1) -> None:
        """Need a path."""

    needy = Plugin("needy", 1, factory)
    with refuses(BadInput, where="needy.v1"):
        needy.example_spec(Path())
    assert Plugin("needy", 1, factory, example="needy:x").example_spec(Path()) == "needy:x"
    assert Plugin("needy", 1, factory, example=lambda folder: f"needy:{folder}").example_spec(Path("a")) == "needy:a"
    assert Plugin("easy", 1, lambda size=1: size).example_spec(Path()) == "easy.v1"


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
    signature = re.sub(r"https?://[\w.:-]+/v1", "", bound.signature)  # the address of a server is no place here
    assert not re.search(r"(^|[^\w.])(/|~/|[A-Z]:\\)\w", signature)
    for place in (Path.home(), Path.cwd(), tmp_path.parent):
        assert str(place) not in bound.signature


def test_its_signature_does_not_depend_on_the_place(plugin, bound, respec, tmp_path):
    spec = respec(tmp_path)
    if str(tmp_path) in spec:  # else it has no sample
        assert KINDS[plugin[0]].make(spec).signature == bound.signature


def test_its_speed_options_are_not_signed(plugin, bound):
    for name in bound.plugin.unsigned:
        assert f"{name}=" not in bound.signature
