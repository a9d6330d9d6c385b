"""Controls: generators whose outcome is known in advance, to test the measurement.

`identity` and `tautology` should change no answer; `scramble` should change many.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from ..errors import BadInput
from ..problem import Note, Problem, Task, Variant
from ..registry import generators
from ..words.language import warn_of_other_language
from .generating import Change, Generator, chosen_fields, with_changes

#: Naik et al. (2018) made the stress tests that Liu et al. (2019) used and the IE paper cites (section 4.1).
TAUTOLOGY = " and true is true"
#: What may end a text; the tautology goes before it, however it is spaced ("sleeps ." where texts are tokenised).
_STOPS = ".!?…"
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
_OF_CLAUSES = """
    allege argue assert assume believe bet claim complain conclude deny doubt guess hope imagine imply insist know
    pretend realize suppose suspect swear think wonder wish say said thought knew denies denied
"""
#: Verbs with a clause after them, even without "that"; the clause may be the end of the sentence.
_ATTITUDES = "|".join(_OF_CLAUSES.split())
#: Such a verb, or a word that begins a clause: "that" unless it is "in that place", "ask if", "see how".
_ATTITUDE = re.compile(
    rf"\b(?:(?:{_ATTITUDES})(?:s|d|ed|ing)?|believing|realizing|whether|"
    r"(?!(?:of|at|in|on|for|with|like|from|to|by|after|before|until|than|and|but)\b)\w+ that|"
    r"(?:ask|see|saw|tell|told|hear|heard|explain|show|find out)(?:s|ed|ing)? "
    r"(?:\w+ ){0,2}(?:if|how|why|what|who|where|when))\b",
    re.IGNORECASE,
)


@generators("identity.v1")
def identity() -> Any:
    """Repeat every problem unchanged: any flip shows that the model is not deterministic."""

    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant]:
        for problem in problems:
            yield problem.restate()

    return Generator(vary, control=True, columns=lambda rows, task: rows)


@generators("tautology.v1", language="en")
def tautology(field: str = "", times: int = 1) -> Any:
    """Add "and true is true" before the final stop: longer, odd, and exactly as true as before.

    `field` names the text to change; by default it is the hypothesis where that is a target, else every target, all in
    one variant. `times` says how often: five times in the premise is Naik et al.'s test of length.
    """
    return _tautology(field, times, "tautology.v1", lambda text: "")


@generators("tautology.v2", language="en")
def tautology_v2(field: str = "", times: int = 1) -> Any:
    """Add "and true is true" before the final stop: longer, odd, and exactly as true as before.

    `field` names the text to change; by default it is the hypothesis where that is a target, else every target, all in
    one variant. `times` says how often: five times in the premise is Naik et al.'s test of length. A text is left as it
    is if the addition would become part of a question, or of what somebody believes, says, wants or asks.
    """
    return _tautology(field, times, "tautology.v2", why_not_extended)


def _tautology(field: str, times: int, where: str, why_not: Callable[[str], str]) -> Generator:
    if times < 1:
        raise BadInput(f"found {times}", where=where, field="times", fix="give 1 or more")

    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant | Note]:
        for problem in problems:
            warn_of_other_language(problem.text.values(), where)
            names = chosen_fields(problem.task, field or _default(problem.task), where)
            reasons = {name: why for name in names if (why := why_not(problem.text[name] or ""))}
            yield from (Note(problem.id, f"left out: {why}", 1, {"field": name}) for name, why in reasons.items())
            text = {name: extended(problem.text[name] or "", times) for name in names if name not in reasons}
            if any(new != (problem.text[name] or "") for name, new in text.items()):
                yield problem.restate(**text)

    return Generator(vary, control=True)


@generators("scramble.v1")
def scramble(words: int = 1, inner: bool = False, field: str = "") -> Any:
    """Shuffle the letters of words, identically wherever they occur: a model that reads words should flip.

    `words` is how many different words, drawn with the problem's seed (0: all); function words, numbers and words of
    fewer than four letters are left alone. With `inner`, the first and last letter keep their places. `field` names
    the text to change; by default all of the task's targets, in one variant. `changes` lists what became of what.
    """
    if words < 0:
        raise BadInput(f"found {words}", where="scramble.v1", field="words", fix="give a number of words, 0 for all")

    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant]:
        for problem, seed in zip(problems, seeds, strict=True):
            texts = {name: problem.text[name] or "" for name in chosen_fields(problem.task, field, "scramble.v1")}
            swaps = _draw(texts, words, inner, Random(seed))
            if listed := [change for name, text in texts.items() for change in _changes(name, text, swaps)]:
                yield with_changes(problem, listed)

    return Generator(vary, control=True)


def extended(text: str, times: int = 1) -> str:
    """A text with the tautology before its final stop; one without words stays as it is.

    >>> extended("A dog sleeps.")
    'A dog sleeps and true is true.'
    >>> extended("Who sleeps ?", times=2)
    'Who sleeps and true is true and true is true ?'
    """
    end = len(text.rstrip().rstrip(_STOPS).rstrip())
    return text[:end] + TAUTOLOGY * times + text[end:] if re.search(r"\w", text) else text


def why_not_extended(text: str) -> str:
    """Why the tautology would say something else in a text; empty where it would not.

    What counts is the last sentence, because the tautology is added there.

    >>> why_not_extended("A dog sleeps."), why_not_extended("Who sleeps?"), why_not_extended("Ann thinks a dog sleeps.")
    ('', 'it would become part of a question', 'it would become part of what somebody believes or says')
    """
    last = re.split(r"(?<=[.!?…])[\"'”’)]*\s+", text.strip())[-1]
    if last.rstrip("\"'”’) ").endswith("?"):
        return "it would become part of a question"
    return "it would become part of what somebody believes or says" if _ATTITUDE.search(last) else ""


def _default(task: Task) -> str:
    return "hypothesis" if "hypothesis" in task.targets else ""


def scrambled(word: str, random: Random, inner: bool = False) -> str:
    """The letters of a lower-case word in another order; the word itself only where there is no other order.

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
    """New spellings of some words, in lower case; words whose letters have one order only are never drawn."""
    spelled = [word for text in texts.values() for word in _WORD.findall(text)]
    small = {word.lower() for word in spelled if len(word.lower()) == len(word)}  # the dotted capital I has two
    candidates = sorted(word for word in small - _FUNCTION if len(set(word[1:-1] if inner else word)) > 1)
    some = random.sample(candidates, words) if 0 < words < len(candidates) else candidates
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
