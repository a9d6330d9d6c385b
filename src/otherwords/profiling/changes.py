"""Which words of an original a variant replaced: as its generator recorded it, else by aligning the texts."""

import json
from typing import Any

from ..errors import BadInput, shorten
from ..problem import Problem
from ..words.alignment import substitutions

#: Words that betray a label in SNLI and MultiNLI, by corpus and label: the five strongest of each, in the order of
#: Gururangan et al. (2018), Table 4.
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


def changes(variant: Problem, original: Problem) -> list[tuple[str, str]]:
    """Pairs of words before and after, lower-cased, over all fields.

    They come from the column `changes` (a JSON list of {"field", "from", "to"}); where it is absent or empty, the texts
    are aligned. An alignment sees "dog" become "domestic dog" as a word added, a generator knows that it replaced one.
    """
    recorded = variant.extra.get("changes")
    inherited = recorded == original.extra.get("changes")  # then it is about an earlier rewording
    if listed := [] if inherited else _listed(recorded, variant.id):
        # An article follows the word after it, and is no substitution of its own.
        return [(old, new) for old, new, kind in listed if kind != "article"]
    fields = variant.task.fields
    return [pair for name in fields for pair in substitutions(original.text[name], variant.text[name])]


def _listed(recorded: Any, name: str) -> list[tuple[str, str, str]]:
    """What a generator recorded: words before, words after, and the part of speech if it is given."""
    try:
        listed = json.loads(recorded.strip() or "null") if isinstance(recorded, str) else recorded
        return [(_plain(one["from"]), _plain(one["to"]), one.get("pos", "")) for one in listed or []]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        fix = 'give a JSON list of {"field": ..., "from": ..., "to": ...}, or nothing'
        raise BadInput(f"found {shorten(recorded)}", where=f"variant {name!r}", field="changes", fix=fix) from error


def _plain(words: str) -> str:
    return " ".join(words.lower().split())
