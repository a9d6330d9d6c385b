"""A fake for examples, tests and dry runs: a writer that returns texts from a script."""

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from ..errors import BadInput, WrongAnswer, decode, shorten
from ..registry import writers
from .writer import CUT_OFF, Decoding, Draft, Writer

OTHERWISE = ("nothing", "echo", "shuffle", "fail")


@writers("scripted.v1")
def scripted(script: Path = Path(), otherwise: str = "nothing") -> Writer:
    """Write scripted candidates for a prompt, or for the longest text in the script that it ends with.

    `script` is a JSON file: an object from prompts, or texts, to lists of candidates; one that ends in "…" was cut off.
    What is drawn by chance begins at a place of the list that the seed decides. `otherwise` says what is written for
    other prompts: nothing, echo (the prompt), shuffle (its words in another order, by the seed), or fail.
    """
    if otherwise not in OTHERWISE:
        fix = f"use one of {', '.join(OTHERWISE)}"
        raise BadInput(f"found {otherwise!r}", where="scripted.v1", field="otherwise", fix=fix)
    book = _read(script) if script != Path() else {}

    def compose(prompts: Sequence[str], seeds: Sequence[int], decoding: Decoding) -> list[list[Draft]]:
        return [
            [_draft(text) for text in _candidates(book, otherwise, prompt, seed, decoding)[: decoding.count]]
            for prompt, seed in zip(prompts, seeds, strict=True)
        ]

    return Writer(compose)


def _candidates(
    book: dict[str, list[str]], otherwise: str, prompt: str, seed: int, decoding: Decoding
) -> Sequence[str]:
    known = [text for text in book if prompt.endswith(text)]
    if known:
        listed = book[max(known, key=len)]
        first = seed % len(listed) if listed and decoding.seeded else 0
        return [*listed[first:], *listed[:first]]
    if otherwise == "fail":
        raise WrongAnswer(f"the script has no entry for {shorten(prompt, 200)}; add one, or set otherwise")
    if otherwise == "shuffle":
        return [_shuffled(prompt, seed + number) for number in range(decoding.count)]
    return [prompt] * decoding.count if otherwise == "echo" else []


def _shuffled(prompt: str, seed: int) -> str:
    words, generator = prompt.split(), Random(seed)
    shuffled = list(words)
    while shuffled == words and len(set(words)) > 1:
        generator.shuffle(shuffled)
    return " ".join(shuffled)


def _draft(text: str) -> Draft:
    return Draft(text.removesuffix("…"), CUT_OFF if text.endswith("…") else "")


def _read(script: Path) -> dict[str, list[str]]:
    try:
        content: Any = json.loads(decode(script.read_bytes(), str(script)))
    except (OSError, ValueError, RecursionError) as error:  # absent, not UTF-8, not JSON
        raise BadInput(f"cannot be read as JSON: {error}", where=f"scripted:{script}") from error
    if not isinstance(content, dict) or not all(_is_texts(value) for value in content.values()):
        fix = 'give an object such as {"A dog runs.": ["A dog is running."]}'
        raise BadInput(f"found {shorten(content)}", where=f"scripted:{script}", fix=fix)
    return content


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
