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
_ENDS = "(?:t|m|re|ve|ll)"
_SHORT_END = re.compile(rf"['’]{_ENDS}(?!\w)", re.I)
_RARE = ("mustn't", "needn't", "mightn't", "shan't")  # understood when met, too stiff to write
_SHORT = {long: short for short, long in _NOT.items() if short not in _RARE}
_CLOSE = re.compile(rf"\b({'|'.join(_SHORT)})\b", re.I)
_VERBS_BEFORE = "to|can|could|may|might|must|shall|should|will|would|ought|did|does|do"
_PRONOUN = "I|you|we|they|he|she|it|there|this|that|these|those"
_DETERMINER = "the|a|an|my|your|his|her|its|our|their|some|any|every|all|people"
_BEHIND_VERB = re.compile(rf"(\b({_VERBS_BEFORE})|['’](d|ll|ve))\s+$", re.I)
_PRONOUN_NEXT = re.compile(rf"\s+({_PRONOUN})\b", re.I)
_DETERMINER_NEXT = re.compile(rf"\s+({_DETERMINER}|[A-Z]\w+)\b")
_ASKED = "(?:why|how|where|when)"
_ASKING = re.compile(rf"\b{_ASKED}\s+$", re.I)
#: Where a clause begins, or a question.
_OPENING = re.compile(r"(^|[.!?,;:\"“(—-]|\b(what|who|whom|which|and|but|or|so|then|well))\s*$", re.I)
_SUBJECT_BEFORE = re.compile(r"\b(I|you|we|they|he|she|it|there|who)\s+$", re.I)
# For whole columns: what is replaced where, and where one must look closer. Rust's expressions cannot look around.
_OPENED = {**_NOT, **{short.capitalize(): long.capitalize() for short, long in _NOT.items()}, **_VERB}
_CLOSED = {**_SHORT, **{long.capitalize(): short.capitalize() for long, short in _SHORT.items()}}
#: What a text has that may be changed, and others.
_TRIGGER = rf"(?i)['’]{_ENDS}|not"
_ANY_END = rf"(?i)'{_ENDS}"
_EXACTLY_OPEN = rf"\b(?:{'|'.join({*_OPENED} - {*_VERB})}|(?:[Yy]ou|[Ww]e|[Tt]hey|[Ss]?[Hh]e|[Ii]t?)'(?:m|re|ve|ll))\b"
_LONG = "|".join(_CLOSED)
_EXACTLY_LONG = rf"\b(?:{_LONG})\b"
_ANY_LONG = rf"(?i)\b(?:{'|'.join(_SHORT)})\b"
_UNSURE_OPEN = rf"\?|n't +(?:[A-Z]|(?i:{_PRONOUN}|{_DETERMINER})\b)|(?i)\b{_ASKED} +\w+'"
_UNSURE_CLOSE = rf"(?i)(?:\b(?:{_VERBS_BEFORE})|'d) +(?:{'|'.join(_SHORT)})"
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
            changed = _reworded_column(some[name])
            made.append(some.with_columns(changed).filter(changed != some[name]))
        return pl.concat(made)

    return Generator(vary, columns=columns)


def _reworded(text: str) -> str:
    changed = opened(text)
    return closed(text) if changed == text else changed


def _reworded_column(texts: pl.Series) -> pl.Series:
    """Every text reworded: plain ones all at once, the others one by one, and each once.

    Plain is printable ASCII in which all that looks like a contraction, or could be contracted, is exactly that, in
    small letters or with a capital, and nothing stands beside it that `opened` or `closed` must look at.
    """
    text = pl.col("text")
    counts = {"ends": _ANY_END, "shorts": _EXACTLY_OPEN, "longs": _ANY_LONG, "exact": _EXACTLY_LONG, "inner": _LONG}
    table = texts.alias("text").to_frame().with_columns(
        text.str.contains("[^ -~]").alias("odd"), **{name: text.str.count_matches(one) for name, one in counts.items()}
    )  # fmt: skip
    opens = pl.col("ends").gt(0) & pl.col("ends").eq(pl.col("shorts")) & ~text.str.contains(_UNSURE_OPEN)
    exact = pl.col("longs").eq(pl.col("exact")) & pl.col("longs").eq(pl.col("inner"))
    closes = pl.col("ends").eq(0) & exact & ~text.str.contains(_UNSURE_CLOSE)
    new = (
        pl.when("odd").then(None)
        .when(opens).then(text.str.replace_many(list(_OPENED), list(_OPENED.values())))
        .when(closes).then(text.str.replace_many(list(_CLOSED), list(_CLOSED.values())))
    )  # fmt: skip
    table = table.select(text, new.alias("new"))
    known = {one: _reworded(one) for one in table.filter(pl.col("new").is_null())["text"].unique()}
    whole = text.replace_strict(known, default=pl.col("new")) if known else pl.col("new")
    return table.select(whole.alias(texts.name)).to_series()


def opened(text: str) -> str:
    """Write contractions out.

    >>> opened("It isn’t late, and we'll wait; can't you?")
    "It is not late, and we will wait; can't you?"
    """
    marks = [(mark.start(), mark[0]) for mark in _END_OF_SENTENCE.finditer(text)] if "?" in text else []
    pieces: list[str] = []
    done = 0
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
    long = _NOT.get(match[0].lower().replace("’", "'"))  # none with letters that are only like an s, or like an i
    return match[0] if long is None or _inverted(match, marks) else cased(long, match[0])


def _close(match: re.Match[str]) -> str:
    # "to have not seen", "may have not noticed": behind another verb nothing is contracted.
    short = _SHORT.get(match[0].lower())
    return match[0] if short is None or _BEHIND_VERB.search(_before(match)) else cased(short, match[0])


def _inverted(match: re.Match[str], marks: Marks) -> bool:
    """Whether the subject comes behind the verb, or may: in "isn't it", "why don't the police" no "not" can follow."""
    before, text, end = _before(match), match.string, match.end()
    if _PRONOUN_NEXT.match(text, end):
        return True
    if _ASKING.search(before):
        return True
    following = bisect_left(marks, (end, ""))
    if following < len(marks) and marks[following][1] == "?":
        return not _SUBJECT_BEFORE.search(before)
    return bool(_DETERMINER_NEXT.match(text, end) and _OPENING.search(before))


def _before(match: re.Match[str]) -> str:
    """The few letters before a match."""
    return match.string[max(0, match.start() - 30) : match.start()]
