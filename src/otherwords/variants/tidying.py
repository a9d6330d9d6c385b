"""What a model wrote, made into a sentence: without prompt, lead-in and quotes, or with the reason why it is none."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: A stretch of words, and a run of letters, that stands there so many times in a row goes on for ever.
TIMES, LETTERS = 3, 8
#: What is left off the end, and around a sentence, when two are compared.
_ENDS = " \t.,;:!?\"'“”‘’()[]*…。．｡！？，；：、"
#: Models that chat announce what they do: "Sure! Here is a rephrased version of the sentence:", "Final answer:" ...
#: Listed words at the start tell it, since "The judge read out the sentence: ten years." announces nothing.
_TASK_WORD = r"(?:rephras|paraphras|rewrit|rewrot|reword|sentence|version|translat|alternative)\w*"
_OPENER = r"(?:sure|certainly|of course|absolutely|okay|ok|alright|great)(?: thing)?(?:[!,.:]+\s+|$)"
_HERE = rf"here(?:['’]s| is| are)\b[^:]*\b{_TASK_WORD}[^:]*:"
_LABELS = """answer output assistant response result paraphrase paraphrased paraphrasing rephrase rephrased rephrasing
    rewritten reworded rewording sentence version translation translated text new final alternative possible"""
#: "The sentence was rephrased to ..."
_TALK = re.compile(
    rf"^{_OPENER}|\b(?:rephras|paraphras|reword)\w*|\boriginal (?:meaning|sentence|text)\b|\bthe sentence\b"
    r"|\bas an AI\b|\blanguage model\b",
    re.I,
)
_BULLET = re.compile(r"[-*•]\s+")
_NUMBER = re.compile(r"\(?\d{1,2}[.)]\s+")
#: Lists begin with 1, and sentences with a capital: "3. place" is not an item.
_FIRST = re.compile(r"\(?1[.)]\s+(?=[\"“'«*]?[A-Z])")
_THOUGHT = re.compile(r".*</think>|<think>.*", re.S | re.I)
_QUOTES = {'"': '"', "“": "”", "'": "'", "«": "»", "*": "*"}
_RUN = re.compile(rf"(\w{{1,8}}?)\1{{{LETTERS - 1},}}")


def tidied(
    text: str, source: str, prompt: str, shown: Sequence[str] = (), fields: Sequence[str] = ()
) -> tuple[str, str]:
    """The sentence in what was written for `source` when asked with `prompt`, and why it cannot be used, if so.

    `shown` are other texts that the prompt holds; to give one back is no rewording. `fields` are names that a model may
    put before its answer, as in "Hypothesis: ...". Of several lines the first counts that is more than a lead-in.

    >>> tidied('Here is a rephrased version:\\n\\n"A dog is running."', "A dog runs.", "Rephrase: A dog runs.")
    ('A dog is running.', '')
    >>> tidied("a dog runs", "A dog runs.", "Rephrase: A dog runs.")[1], tidied(" ", "A dog.", "Rephrase: A dog.")[1]
    ('says what the original says', 'empty')
    """
    written = _THOUGHT.sub("", text).strip()
    bare = _after(prompt, written) if same(prompt) != same(source) else written
    if written and not bare:
        return "", "gives the prompt back"
    sentence = _first_line(bare, source, fields)
    if not re.search(r"\w", sentence):
        return sentence, "empty"
    return sentence, _reason(sentence, source, prompt, shown)


def begins(text: str, prompt: str) -> bool:
    """Whether a text, which was cut off, is how the prompt begins.

    >>> begins("it rains.\\nRephrase", "It rains.\\nRephrase this: It is wet."), begins("It is", "It rains.")
    (True, False)
    """
    return bool(same(text)) and same(prompt).startswith(same(text))


def same(text: str) -> str:
    """What is the same for two texts that differ in case, white space and final punctuation only.

    >>> same('A  dog runs.') == same("a dog runs")
    True
    """
    return " ".join(text.casefold().split()).strip(_ENDS)


def repeats_itself(text: str) -> str:
    """The first stretch of words that stands there three times in a row, or run of letters eight times; else nothing.

    >>> repeats_itself("he sees the dog, the dog, the dog"), repeats_itself("no, no: not the dog")
    ('the dog', '')
    """
    words = re.findall(r"\w+(?:['’-]\w+)*", text.casefold())
    for size in range(1, len(words) // TIMES + 1):
        for start in range(len(words) - TIMES * size + 1):
            stretch = words[start : start + size]
            if words[start : start + TIMES * size] == stretch * TIMES:
                return " ".join(stretch)
    run = _RUN.search(text.casefold())
    return run[1] if run and not run[1].isdigit() else ""


def _after(prompt: str, text: str) -> str:
    """What follows the prompt in a text that begins with it, in whatever case and spacing; else the text."""
    asked, found = prompt.casefold().split(), list(re.finditer(r"\S+", text))
    if not asked or [one[0].casefold() for one in found[: len(asked)]] != asked:
        return text
    rest = text[found[len(asked) - 1].end() :]
    # "Reword: A dog runs and barks" has not given "Reword: A dog runs" back: its sentence goes on.
    goes_on = prompt.rstrip()[-1].isalnum() and not rest.lstrip(" ").startswith("\n") and rest.strip()[:1].islower()
    return text if goes_on else rest.strip()


def _first_line(text: str, source: str, fields: Sequence[str]) -> str:
    names = "|".join(map(re.escape, [*_LABELS.split(), *fields]))
    label = rf"\**(?:{names})(?: (?:{names}))?(?: \d+)?\**:"
    lead_in = re.compile(rf"(?:{_OPENER})?(?:(?:{_HERE}|{label})\**\s*)+", re.I)
    for line in text.splitlines():
        line = _unquoted(_unmarked(line.strip(), source), source)
        line = line if lead_in.match(source) else lead_in.sub("", line, count=1) if lead_in.match(line) else line
        line = _closed(_unquoted(line, source))
        if line and (not line.endswith(":") or source.rstrip().endswith(":")):
            return " ".join(line.split())
    return ""


def _unmarked(line: str, source: str) -> str:
    """Without what makes it the first item of a list, unless the source has such."""
    for mark in (_BULLET, _FIRST):
        if mark.match(line) and not mark.match(source):
            return mark.sub("", line, count=1)
    return line


def _unquoted(line: str, source: str) -> str:
    """Without the quotation marks around all of it, unless the source has such."""
    line = line.strip()
    for first, last in _QUOTES.items():
        inner = line[len(first) : -len(last)]
        if len(line) > 1 and line.startswith(first) and line.endswith(last) and not source.startswith(first):
            return inner.strip() if first not in inner and last not in inner else line
    return line


def _closed(line: str) -> str:
    """Without a mark at the end that closes what nothing opened."""
    while line.endswith(('"', ")", "”", "*")):
        last = line[-1]
        opened = line[:-1].count({")": "(", "”": "“"}.get(last, last))
        if opened % 2 if last in '"*' else opened > line[:-1].count(last):
            return line
        line = line[:-1].rstrip()
    return line


def _reason(sentence: str, source: str, prompt: str, shown: Sequence[str]) -> str:
    if same(sentence) == same(source):
        return "says what the original says"
    if _gives_back(sentence, source, prompt, shown):
        return "gives the prompt back"
    if _TALK.search(sentence) and not _TALK.search(source):
        return "speaks of the task"
    if _NUMBER.match(sentence) and not _NUMBER.match(source):
        return "begins with a number as in a list"
    if repeats_itself(sentence) and not repeats_itself(source):
        return "repeats itself"
    return ""


def _gives_back(sentence: str, source: str, prompt: str, shown: Sequence[str]) -> bool:
    """Whether it is a line of the prompt or another text in it, or holds one of three words or more."""
    said, before = same(sentence), same(source)
    asked = " ".join(prompt.rpartition(source)[::2]) if source else prompt
    parts = {same(part) for part in (*shown, *prompt.splitlines(), *asked.splitlines())} - {"", before}
    return any(part == said or (len(part.split()) > 2 and part in said and part not in before) for part in parts)
