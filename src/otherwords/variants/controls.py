"""A control that should hurt: words with their letters in another order, the same wherever a word occurs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, TypeVar

from ..errors import BadInput
from ..problem import Problem, Task, Variant
from ..registry import generators
from ..words.english import warn_of_other_language
from .generating import Change, chosen_fields, with_changes

# MERGED from variants.controls: Controls: generators whose outcome is known beforehand, to test the test. (`scramble` has a file of its own.)

Generator = TypeVar("Generator", bound=Callable[..., Iterator[Variant]])
#: Naik et al. (2018) made the stress tests that Liu et al. (2019) used and the IE paper cites (section 4.1).
TAUTOLOGY = " and true is true"
#: What may end a text; the tautology goes before it, however it is spaced ("sleeps ." where texts are tokenised).
_STOPS = ".!?…"


def control(vary: Generator) -> Generator:
    """Say of a generator's function that it is a control."""
    vary.control = True  # type: ignore[attr-defined]
    return vary


@generators("identity.v1")
def identity() -> Any:
    """Repeat every problem unchanged: any flip it shows is the model's own unsteadiness."""

    @control
    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant]:
        for problem in problems:
            yield problem.restate()

    return vary


@generators("tautology.v1")
def tautology(field: str = "", times: int = 1) -> Any:
    """Add "and true is true" before the final stop: longer, odd, and exactly as true as before.

    `field` names the text to change; by default it is the hypothesis where that is a target, else every target, all in
    one variant. `times` says how often: five times in the premise is Naik et al.'s test of length.
    """
    if times < 1:
        raise BadInput(f"found {times}", where="tautology.v1", field="times", fix="give 1 or more")

    @control
    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant]:
        for problem in problems:
            warn_of_other_language(problem.text.values(), "tautology.v1")
            names = chosen_fields(problem.task, field or _default(problem.task), "tautology.v1")
            text = {name: extended(problem.text[name] or "", times) for name in names}
            if any(text[name] != (problem.text[name] or "") for name in names):
                yield problem.restate(**text)

    return vary


def extended(text: str, times: int = 1) -> str:
    """A text with the tautology before its final stop; one without words stays as it is.

    >>> extended("A dog sleeps.")
    'A dog sleeps and true is true.'
    >>> extended("Who sleeps ?", times=2)
    'Who sleeps and true is true and true is true ?'
    """
    end = len(text.rstrip().rstrip(_STOPS).rstrip())
    return text[:end] + TAUTOLOGY * times + text[end:] if re.search(r"\w", text) else text


def _default(task: Task) -> str:
    return "hypothesis" if "hypothesis" in task.targets else ""


# MERGED from variants.scramble: A control that should hurt: words with their letters in another order, the same wherever a word occurs.

#: Letters alone: a run that touches a digit, an underscore or a combining accent is no word here.
_WORD = re.compile(r"(?<![\w\u0300-\u036f])[^\W\d_]{4,}(?![\w\u0300-\u036f])")
#: Words of four letters and more that carry grammar, not content, and the stems of "couldn't" and its like.
_GRAMMAR = """
    about above across after again against along already also although always among another anybody anyone anything
    around because been before behind being below beneath beside between beyond both cannot could does doing down during
    each either else even ever every everybody everyone everything from have having here hers herself himself however
    into itself just less like many might mine more most much must myself neither never nobody none nothing once only
    onto other others ought ours ourselves outside over quite rather same shall should since some somebody someone
    something still such than that their theirs them themselves then there these they this those though through
    throughout thus together toward towards under underneath unless until upon very well were what whatever when
    whenever where whereas wherever whether which whichever while whoever whom whose will with within without would
    your yours yourself yourselves aren couldn didn doesn hadn hasn haven mightn mustn needn shouldn wasn weren wouldn
"""
_FUNCTION = frozenset(_GRAMMAR.split())


@generators("scramble.v1")
def scramble(words: int = 1, inner: bool = False, field: str = "") -> Any:
    """Shuffle the letters of words, identically wherever they occur: a model that never minds does not read.

    `words` is how many different words, drawn with the problem's seed (0: all); function words, numbers and words of
    fewer than four letters are left alone. With `inner`, the first and last letter keep their places. `field` names
    the text to change; by default all of the task's targets, in one variant. `changes` lists what became of what.
    """
    if words < 0:
        raise BadInput(f"found {words}", where="scramble.v1", field="words", fix="give a number of words, 0 for all")

    @control
    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant]:
        for problem, seed in zip(problems, seeds, strict=True):
            texts = {name: problem.text[name] or "" for name in chosen_fields(problem.task, field, "scramble.v1")}
            swaps = _draw(texts, words, inner, Random(seed))
            if listed := [change for name, text in texts.items() for change in _changes(name, text, swaps)]:
                yield with_changes(problem, listed)

    return vary


def scrambled(word: str, random: Random, inner: bool = False) -> str:
    """A word of small letters in another order; itself only where there is no other.

    >>> scrambled("umbrella", Random(1)), scrambled("umbrella", Random(1), inner=True), scrambled("oooo", Random(1))
    ('rlmlaueb', 'urelmlba', 'oooo')
    """
    first, middle, last = (word[:1], word[1:-1], word[-1:]) if inner else ("", word, "")
    if len(set(middle)) < 2:
        return word
    letters = list(middle)
    while "".join(letters) == middle:
        random.shuffle(letters)
    return first + "".join(letters) + last


def _draw(texts: Mapping[str, str], words: int, inner: bool, random: Random) -> dict[str, str]:
    """What some words become, by their small letters; those that have but one order are never drawn."""
    found = [word for text in texts.values() for word in _WORD.findall(text)]
    small = {word.lower() for word in found if len(word.lower()) == len(word)}  # the dotted capital I has two
    able = sorted(word for word in small - _FUNCTION if len(set(word[1:-1] if inner else word)) > 1)
    some = random.sample(able, words) if 0 < words < len(able) else able
    return {word: scrambled(word, random, inner) for word in sorted(some)}


def _swapped(word: str, swaps: Mapping[str, str]) -> str:
    """The word's new letters, capitals where it had capitals."""
    letters = swaps.get(word.lower())
    if letters is None or len(letters) != len(word):
        return word
    raised = (new.upper() if old.isupper() else new for old, new in zip(word, letters, strict=True))
    return "".join(big if len(big) == 1 else small for big, small in zip(raised, letters, strict=True))


def _changes(field: str, text: str, swaps: Mapping[str, str]) -> Iterator[Change]:
    for match in _WORD.finditer(text):
        if (new := _swapped(match[0], swaps)) != match[0]:
            yield {"field": field, "at": match.start(), "from": match[0], "to": new}
