"""What a model wrote, made into a sentence: without prompt, lead-in and quotes, or with the reason why it is none."""

from __future__ import annotations

import re

#: A stretch of words, and a run of letters, that stands there so many times in a row goes on for ever.
TIMES, LETTERS = 3, 8
#: What is left off the end, and around a sentence, when two are compared.
_ENDS = " \t.,;:!?\"'“”‘’()[]*…"
#: "Here is a rephrased version of the sentence:", "Rewritten:" ... Models that chat announce what they do.
_LEAD_IN = re.compile(r"[^:]*\b(?:rephras|paraphras|rewrit|rewrot|reword|sentence|version|translat)\w*[^:]*:\s*", re.I)
#: "The sentence was rephrased to ..."
_TALK = re.compile(r"\b(?:rephras|paraphras|reword)\w*|\boriginal (?:meaning|sentence|text)\b|\bthe sentence\b", re.I)
_MARK = re.compile(r"(?:[-*•]|\(?\d{1,2}[.)])\s+")
_QUOTES = {'"': '"', "“": "”", "'": "'", "«": "»", "*": "*"}
_RUN = re.compile(rf"(\w{{1,8}}?)\1{{{LETTERS - 1},}}")


def tidied(text: str, source: str, prompt: str) -> tuple[str, str]:
    """The sentence in what was written for `source` when asked with `prompt`, and why it cannot be used, if so.

    Of several lines the first counts that is more than a lead-in.

    >>> tidied('Here is a rephrased version:\\n\\n"A dog is running."', "A dog runs.", "Rephrase: A dog runs.")
    ('A dog is running.', '')
    >>> tidied("a dog runs", "A dog runs.", "Rephrase: A dog runs.")[1], tidied(" ", "A dog.", "Rephrase: A dog.")[1]
    ('says what the original says', 'empty')
    """
    written = text.strip()
    bare = written.removeprefix(prompt.strip()).strip() if prompt.strip() != source.strip() else written
    if written and not bare:
        return "", "gives the prompt back"
    sentence = _first_line(bare, source)
    if not re.search(r"\w", sentence):
        return sentence, "empty"
    return sentence, _reason(sentence, source, prompt)


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


def _first_line(text: str, source: str) -> str:
    for line in text.splitlines():
        line = _unquoted(_MARK.sub("", line.strip(), count=1), source)
        line = line if ":" in source else _LEAD_IN.sub("", line, count=1)
        if line := _closed(_unquoted(line, source)):
            return " ".join(line.split())
    return ""


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


def _reason(sentence: str, source: str, prompt: str) -> str:
    if same(sentence) == same(source):
        return "says what the original says"
    asked = same(prompt.replace(source, " ")) if source in prompt else same(prompt)
    if same(sentence) == same(prompt) or (len(asked.split()) > 2 and asked in same(sentence)):
        return "gives the prompt back"
    if _TALK.search(sentence) and not _TALK.search(source):
        return "speaks of the task"
    if repeats_itself(sentence) and not repeats_itself(source):
        return "repeats itself"
    return ""
