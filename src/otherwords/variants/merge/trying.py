"""The word class that a new word has in its sentence: the sentence is written anew and tagged."""

from __future__ import annotations

from collections.abc import Iterable

from ...words.tagging import Tagger
from .considering import Tags, Trial


def tags_in_context(tag: Tagger) -> Tags:
    """A function that says the universal tag of new words where they stand; each distinct sentence is tagged once."""

    def tags(trials: Iterable[Trial]) -> dict[Trial, str]:
        asked = list(dict.fromkeys(trials))
        sentences = (f"{text[:start]}{new}{text[end:]}" for text, start, end, new in asked)
        found = {}
        for trial, tokens in zip(asked, tag(sentences), strict=True):
            _, start, _, new = trial
            found[trial] = next((token.pos for token in tokens if token.start == start and token.text == new), "")
        return found

    return tags
