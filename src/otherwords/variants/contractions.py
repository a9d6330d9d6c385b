"""English contractions opened and closed: "isn't" and "is not" say the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..problem import Problem, Variant
from ..registry import generators
from .fields import chosen_fields

_VERBS = ("is", "are", "was", "were", "do", "does", "did", "has", "have", "had", "could", "would", "should", "must")
_NOT = {
    **{f"{verb}n't": f"{verb} not" for verb in (*_VERBS, "need", "might")},
    "can't": "cannot",
    "won't": "will not",
    "shan't": "shall not",
}
# 's and 'd are left alone: "it's" may be "it is" or "it has", "he'd" "he had" or "he would".
_VERB = {"'m": " am", "'re": " are", "'ve": " have", "'ll": " will"}
_OPEN = re.compile(
    rf"\b({'|'.join(_NOT)})(?!\w)|\b(I|you|we|they|he|she|it)({'|'.join(_VERB)})(?!\w)".replace("'", "['’]"), re.I
)
_RARE = ("mustn't", "needn't", "mightn't", "shan't")  # understood when met, too stiff to write
_SHORT = {long: short for short, long in _NOT.items() if short not in _RARE}
_CLOSE = re.compile(rf"\b({'|'.join(_SHORT)})\b", re.I)


@generators("contractions.v1")
def contractions(field: str = "") -> Any:
    """Open English contractions ("isn't" becomes "is not") or, where there is none to open, close them.

    `field` names the text to change; by default all of the task's targets, each in a variant of its own.
    """

    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant]:
        for problem in problems:
            for name in chosen_fields(problem.task, field, "contractions"):
                text = problem.text[name] or ""
                changed = opened(text)
                changed = closed(text) if changed == text else changed
                if changed != text:
                    yield problem.restate(**{name: changed})

    return vary


def opened(text: str) -> str:
    """Write contractions out.

    >>> opened("It isn’t late, and we'll wait; can't you?")
    "It is not late, and we will wait; can't you?"
    """
    return _OPEN.sub(_open, text)


def closed(text: str) -> str:
    """Contract a verb and the "not" behind it.

    >>> closed("He does not know.")
    "He doesn't know."
    """
    return _CLOSE.sub(lambda match: _like(match[0], _SHORT[match[0].lower()]), text)


def _open(match: re.Match[str]) -> str:
    if match[2]:
        return match[2] + _VERB[match[3].lower().replace("’", "'")]
    # "isn't it?": inversion would need the "not" after the subject, so a contraction before a pronoun stays.
    following = match.string[match.end() :]
    if re.match(r"\s+(I|you|we|they|he|she|it|there|this|that)\b", following, re.I):
        return match[0]
    return _like(match[0], _NOT[match[0].lower().replace("’", "'")])


def _like(model: str, text: str) -> str:
    return text[0].upper() + text[1:] if model[0].isupper() else text
