"""English contractions opened and closed: "isn't" and "is not" say the same."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from ..problem import Problem, Task, Variant
from ..registry import generators
from ..words.inflection import cased
from .generating import Generator, chosen_fields

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
#: What every contraction ends with.
_SHORT_END = re.compile(r"['’](?:t|m|re|ve|ll)(?!\w)", re.I)
#: What a text has that may be changed; a superset, for whole columns.
_TRIGGER = r"(?i)['’](?:t|m|re|ve|ll)|not"
_RARE = ("mustn't", "needn't", "mightn't", "shan't")  # understood when met, too stiff to write
_SHORT = {long: short for short, long in _NOT.items() if short not in _RARE}
_CLOSE = re.compile(rf"\b({'|'.join(_SHORT)})\b", re.I)
_BEHIND_VERB = re.compile(
    r"(\b(to|can|could|may|might|must|shall|should|will|would|ought|did|does|do)|['’](d|ll|ve))\s+$", re.I
)
_PRONOUN_NEXT = re.compile(r"\s+(I|you|we|they|he|she|it|there|this|that|these|those)\b", re.I)
_DETERMINER_NEXT = re.compile(r"\s+(the|a|an|my|your|his|her|its|our|their|some|any|every|all|people|[A-Z]\w+)\b")
_ASKING = re.compile(r"\b(why|how|where|when)\s+$", re.I)
_ASKED = ("why", "how", "where", "when")
#: Where a clause begins, or a question.
_OPENING = re.compile(r"(^|[.!?,;:\"“(—-]|\b(what|who|whom|which|and|but|or|so|then|well))\s*$", re.I)
_SUBJECT_BEFORE = re.compile(r"\b(I|you|we|they|he|she|it|there|who)\s+$", re.I)
_END_OF_SENTENCE = re.compile(r"[.!?]")
#: Where the sentences of a text end, and with which mark: found once, not anew for every contraction.
Marks = list[tuple[int, str]]


@generators("contractions.v1", language="en")
def contractions(field: str = "") -> Any:
    """Open English contractions ("isn't" becomes "is not") or, where there is none to open, close them.

    `field` names the text to change; by default all of the task's targets, each in its own variant.
    """

    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant]:
        for problem in problems:
            for name in chosen_fields(problem.task, field, "contractions"):
                text = problem.text[name] or ""
                if (changed := _reworded(text)) != text:
                    yield problem.restate(**{name: changed})

    def columns(rows: pl.DataFrame, task: Task) -> pl.DataFrame:
        made = []
        for name in chosen_fields(task, field, "contractions"):
            some = rows.filter(pl.col(name).str.contains(_TRIGGER))
            known = {text: _reworded(text) for text in some[name].unique()}
            changed = pl.Series(name, list(map(known.__getitem__, some[name])), dtype=pl.String)
            made.append(some.with_columns(changed).filter(changed != some[name]))
        return pl.concat(made)

    return Generator(vary, columns=columns)


def _reworded(text: str) -> str:
    changed = opened(text)
    return closed(text) if changed == text else changed


def opened(text: str) -> str:
    """Write contractions out.

    >>> opened("It isn’t late, and we'll wait; can't you?")
    "It is not late, and we will wait; can't you?"
    """
    marks = [(mark.start(), mark[0]) for mark in _END_OF_SENTENCE.finditer(text)] if "?" in text else []
    pieces, done = [], 0
    for end in _SHORT_END.finditer(text):  # looked for by its apostrophe: most texts have none
        start = end.start()
        while start > done and (text[start - 1].isalnum() or text[start - 1] == "_"):
            start -= 1
        if match := _OPEN.match(text, start):
            pieces += text[done:start], _open(match, marks)
            done = match.end()
    return "".join([*pieces, text[done:]]) if pieces else text


def closed(text: str) -> str:
    """Contract a verb and the "not" behind it.

    >>> closed("He does not know.")
    "He doesn't know."
    """
    return _CLOSE.sub(_close, text) if "not" in text.lower() else text


def _open(match: re.Match[str], marks: Marks) -> str:
    if match[2]:
        return match[2] + cased(_VERB[match[3].lower().replace("’", "'")], match[3])
    if _inverted(match, marks):
        return match[0]
    return cased(_NOT[match[0].lower().replace("’", "'")], match[0])


def _close(match: re.Match[str]) -> str:
    # "to have not seen", "may have not noticed": behind another verb nothing is contracted.
    behind_verb = _BEHIND_VERB.search(_before(match))
    return match[0] if behind_verb else cased(_SHORT[match[0].lower()], match[0])


def _inverted(match: re.Match[str], marks: Marks) -> bool:
    """Whether the subject comes behind the verb, or may: in "isn't it", "why don't the police" no "not" can follow."""
    before, text, end = _before(match), match.string, match.end()
    if _PRONOUN_NEXT.match(text, end):
        return True
    if before.rstrip().lower().endswith(_ASKED) and _ASKING.search(before):
        return True
    following = bisect_left(marks, (end, ""))
    if following < len(marks) and marks[following][1] == "?":
        return not _SUBJECT_BEFORE.search(before)
    return bool(_DETERMINER_NEXT.match(text, end) and _OPENING.search(before))


def _before(match: re.Match[str]) -> str:
    """The few letters before a match."""
    return match.string[max(0, match.start() - 30) : match.start()]
