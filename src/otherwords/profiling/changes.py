"""What a variant put for what: as its generator wrote it down, else as an alignment of the texts shows it."""

from __future__ import annotations

import json
from typing import Any

from ..errors import BadInput, shorten
from ..problem import Problem, changed_fields
from ..words.alignment import substitutions

# MERGED from words.artifacts: Words that betray a label in SNLI and MultiNLI: the five strongest of each (Gururangan et al. 2018, Table 4).

#: By corpus and label, the strongest first, as the paper prints them.
ARTIFACTS: dict[str, dict[str, tuple[str, ...]]] = {
    "snli": {
        "entailment": ("outdoors", "least", "instrument", "outside", "animal"),
        "neutral": ("tall", "first", "competition", "sad", "favorite"),
        "contradiction": ("nobody", "sleeping", "no", "tv", "cat"),
    },
    "mnli": {
        "entailment": ("some", "yes", "something", "sometimes", "various"),
        "neutral": ("also", "because", "popular", "many", "most"),
        "contradiction": ("never", "no", "nothing", "any", "none"),
    },
}


# MERGED from profiling.changes: What a variant put for what: as its generator wrote it down, else as an alignment of the texts shows it.


def changed(variant: Problem, original: Problem) -> bool:
    """Whether a variant differs from its original in more than white space."""
    return bool(changed_fields(original, variant))


def changes(variant: Problem, original: Problem) -> list[tuple[str, str]]:
    """Pairs of words before and after, lower-cased, over all fields.

    A column `changes` (a JSON list of {"field", "from", "to"}) tells them; where it is absent or empty, the texts are
    aligned. An alignment sees "dog" become "domestic dog" as a word added, a generator knows that it replaced one.
    """
    told = variant.extra.get("changes")
    listed = [] if told == original.extra.get("changes") else _listed(told, variant.id)  # else of an earlier rewording
    if listed:
        # An article follows the word after it, and is no substitution of its own.
        return [(old, new) for old, new, kind in listed if kind != "article"]
    fields = variant.task.fields
    return [pair for name in fields for pair in substitutions(original.text[name], variant.text[name])]


def _listed(told: Any, name: str) -> list[tuple[str, str, str]]:
    """What a generator wrote down: words before, words after, and the part of speech if it is told."""
    try:
        listed = json.loads(told.strip() or "null") if isinstance(told, str) else told
        return [(_said(one["from"]), _said(one["to"]), one.get("pos", "")) for one in listed or []]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        fix = 'give a JSON list of {"field": ..., "from": ..., "to": ...}, or nothing'
        raise BadInput(f"found {shorten(told)}", where=f"variant {name!r}", field="changes", fix=fix) from error


def _said(words: str) -> str:
    return " ".join(words.lower().split())
