"""Numbers in digits and in words: "2 dogs" and "two dogs", "the 3rd floor" and "the third floor", "5%" and "5 percent".

Only numbers that count things are rewritten; those in dates, times, names, scores and addresses are left alone.
"""

import re
from collections.abc import Iterator
from functools import cache

from .parsing import ParseTree
from .rewriting import Rewriting, begins_sentence
from .substituting import substitute, tag_at, word_at

_UNITS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
""".split()  # noqa: SIM905
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905
_ORDINAL_UNITS = """
    zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
    fifteenth sixteenth seventeenth eighteenth nineteenth
""".split()  # noqa: SIM905
_MONTHS = """
    january february march april may june july august september october november december jan feb mar apr jun jul aug
    sep sept oct nov dec
"""
_NOT_COUNTED = f"""
    {_MONTHS} o'clock pm am p.m. a.m. p.m a.m km kg cm mm m ft lb lbs mph g mg ml gb mb hp oz kb hz mhz ghz x th st nd
    rd percent street avenue road ave st. degrees degree per
"""
#: Words before which a number is part of a date, a time, an address or a measure that has an abbreviation.
_NO_NOUNS = frozenset(_NOT_COUNTED.split())
_NUMBERED = f"""
    {_MONTHS} number no no. nos. # $ £ € ¥ us$ page pages chapter section room part step level figure table act scene
    verse line lines volume vol grade highway interstate route flight channel article title phase class type category
    apartment apt suite building gate bus platform track track lane block exhibit appendix item point week day year
    windows version at since until till by the-year around war psalm psalms model unit option question rule top
"""
#: Words after which a number is a name or a date.
_BEFORE_NAMES = frozenset(_NUMBERED.split()) - {"around", "at", "by", "since", "until", "till", "top"}
#: After these a number without a noun may be a time, a score or an age; it is not looked at anyway.
_JOINS = {
    "to",
    "or",
    "and",
    "-",
    "–",
    "/",
    "x",
    "by",
    "times",
    "plus",
    "minus",
    "through",
    ":",
    ".",
    "vs",
    "versus",
    ")",
}
_PARTS = {
    "half",
    "halves",
    "quarter",
    "quarters",
    "third",
    "thirds",
    "fourths",
    "fifths",
    "tenths",
    "sixths",
    "eighths",
}
_ORDERED = "century centuries floor floors grade graders grader birthday anniversary place edition hole inning"
#: Nouns before which an ordinal may be written either way.
_ORDERED_NOUNS = frozenset(_ORDERED.split())
#: Before these it is usually a word: "the 1st time" is understood, but nobody writes it with care.
_MOSTLY_WORDS = {"day", "week", "month", "year", "time", "round", "season", "generation", "version", "quarter"}
_ORDINAL_JOINS = {"to", "or", "and", "-", "–", "/", "through"}
_DIGITS = re.compile(r"\d{1,3}(?:,\d{3})+|\d+")
_DIGIT_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th)")
_PERCENT = ("%", "percent", "per cent")


def to_digits(tree: ParseTree, *, back: bool = False) -> Iterator[Rewriting]:
    """Write the number of things in digits, if it does not begin the sentence.

    `back` says that the text had digits: then even "one" is a number, and digits may begin the sentence.

    >>> from .parsing import parser
    >>> text = "He saw twenty-one dogs."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in to_digits(ParseTree(text, nodes))]
    ['He saw 21 dogs.']
    """
    for first, last in _runs(tree):
        last_own = _before_scale(tree, first, last)
        value = _value(tree.stretch(first, last_own).lower())
        if value is None or (not back and (value == 1 or begins_sentence(tree, first))):
            continue
        if _counts(tree, first, last):
            yield substitute(tree, "number in digits", first, last_own, _in_digits(value), keep_case=True)


def to_words(tree: ParseTree) -> Iterator[Rewriting]:
    """Write the number of things in words.

    >>> from .parsing import parser
    >>> text = "He saw 2 dogs in 1999."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in to_words(ParseTree(text, nodes))]
    ['He saw two dogs in 1999.']
    """
    for first, last in _runs(tree):
        last_own = _before_scale(tree, first, last)
        written = tree.stretch(first, last_own)
        if not _DIGITS.fullmatch(written) or not _counts(tree, first, last):
            continue
        value = int(written.replace(",", ""))
        if (words := _words().get(value)) and _in_digits(value) == written:
            yield substitute(tree, "number in words", first, last_own, words)


def exchange_percent(tree: ParseTree) -> Iterator[Rewriting]:
    """ "5%" and "5 percent".

    >>> from .parsing import parser
    >>> text = "About 5% of them left."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in exchange_percent(ParseTree(text, nodes))]
    ['About 5 percent of them left.', 'About 5 per cent of them left.']
    """
    for match in re.finditer(
        r"(?<![\w.,$-])(\d+(?:,\d{3})*(?:\.\d+)?)( ?%| percent\b| per cent\b)(?![\w-])", tree.text
    ):
        old = match[2].strip()
        if old == "per cent" and not match[2].startswith(" "):
            continue
        for new in _PERCENT:
            if new != old:
                yield Rewriting("percent", match.start(), match[0], match[1] + (new if new == "%" else f" {new}"))


def exchange_ordinals(tree: ParseTree, *, back: bool = False) -> Iterator[Rewriting]:
    """Ordinals in digits and in words before some nouns; `back` says that the text had digits, before more of them.

    >>> from .parsing import parser
    >>> text = "It was built in the 19th century."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in exchange_ordinals(ParseTree(text, nodes))]
    ['It was built in the nineteenth century.']
    """
    for at, node in enumerate(tree.nodes):
        word, following = node.text.lower(), tree[at + 1] if at + 1 < len(tree.nodes) else None
        nouns = _ORDERED_NOUNS | _MOSTLY_WORDS if back else _ORDERED_NOUNS
        near = {
            word_at(tree, at - 1),
            word_at(tree, at + 2),
            word_at(tree, at - 2) if word_at(tree, at - 1) == "the" else "",
        }
        if following is None or near & _ORDINAL_JOINS or (following.text == "place" and word_at(tree, at - 1) == "the"):
            continue  # "the 11th to the 15th century", "in the first place"
        if (match := _DIGIT_ORDINAL.fullmatch(word)) and following.text in _ORDERED_NOUNS | _MOSTLY_WORDS:
            if (new := _ordinals().get(int(match[1]))) and _in_ordinal_digits(int(match[1])) == word:
                yield substitute(tree, "ordinal in words", at, at, new)
        elif (value := _ordinal_values().get(word)) and following.text in nouns and not begins_sentence(tree, at):
            yield substitute(tree, "ordinal in digits", at, at, _in_ordinal_digits(value), keep_case=True)


def exchange_dollars(tree: ParseTree) -> Iterator[Rewriting]:
    """ "$20" and "20 dollars", if no noun follows: not "a $20 bill".

    >>> from .parsing import parser
    >>> text = "It cost $20 last year."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in exchange_dollars(ParseTree(text, nodes))]
    ['It cost 20 dollars last year.']
    """
    for pattern, new in ((_DOLLARS, r"\1\2 dollars"), (_IN_DOLLARS, r"$\1\2")):
        for match in pattern.finditer(tree.text):
            after = next((node for node in tree.nodes if node.start >= match.end()), None)
            plain = after is None or after.tag not in _COUNTED or after.text in _AFTER_MONEY
            before = tree.text[: match.start()].split()[-1:]
            if plain and before not in (["a"], ["the"], ["an"], ["US"], ["of"]) and match[1] != "1":
                yield Rewriting("dollars", match.start(), match[0], match.expand(new))


_AMOUNT = r"(\d+(?:,\d{3})*(?:\.\d\d?)?)( (?:million|billion|trillion))?"
_DOLLARS = re.compile(rf"(?<![\w$])\${_AMOUNT}(?![\w,.-]*\d)(?!-)(?! (?:million|billion|trillion))(?![kKmMbB]\b)")
_IN_DOLLARS = re.compile(rf"(?<![\w$.,-]){_AMOUNT} dollars(?![\w-])")
_COUNTED = {"NN", "NNS", "NNP", "JJ", "HYPH", "CD"}
#: Nouns that may follow an amount without being counted by it.
_AFTER_MONEY = {"last", "next", "more", "less", "today", "yesterday", "each", "Monday", "Tuesday", "Wednesday",
                "Thursday", "Friday", "Saturday", "Sunday"}  # fmt: skip

# Where numbers count


def _runs(tree: ParseTree) -> Iterator[tuple[int, int]]:
    """Numbers as the first and the last of their nodes: "two hundred", "twenty-five"."""
    at = 0
    while at < len(tree.nodes):
        last = at
        if _is_number(tree, at):
            while _is_number(tree, last + 1) or (word_at(tree, last + 1) == "-" and _is_number(tree, last + 2)):
                last += 1
            yield at, last
        at = last + 1


def _before_scale(tree: ParseTree, first: int, last: int) -> int:
    """The last node of a number without "million": "3 million" becomes "three million"."""
    return last - 1 if last > first and word_at(tree, last) in {"million", "billion", "trillion"} else last


def _is_number(tree: ParseTree, at: int) -> bool:
    return tag_at(tree, at) == "CD" and bool(word_at(tree, at))


def _counts(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a number says how many things there are: its noun comes after it, and it is no date, name or range."""
    noun = tree[last].head
    while tree[noun].dep in {"nummod", "compound"} and tree[noun].tag == "CD" and tree[noun].head != noun:
        noun = tree[noun].head
    if tree[last].dep != "nummod" or noun <= last or tree[noun].tag not in {"NN", "NNS"} or noun - last > 4:
        return False
    after, before = word_at(tree, last + 1), word_at(tree, first - 1)
    if after in _NO_NOUNS | _PARTS | _JOINS or before in _BEFORE_NAMES | _JOINS:
        return False
    if tree[noun].text[:1].isupper() or tree[noun].text.lower() in _NO_NOUNS or not tree[noun].text.isalpha():
        return False
    return not (first and tree[first - 1].named) and not _is_mixed(tree, first, last)


def _is_mixed(tree: ParseTree, first: int, last: int) -> bool:
    """Whether another number is near or counts a conjunct, so that both styles would mix: "two or 3 men"."""
    near = [*range(first - 2, first), *range(last + 1, last + 3)]
    noun = tree[last].head
    joined = [*tree.children(noun, "conj"), *([tree[noun].head] if tree[noun].dep == "conj" else [])]
    if any(tree.children(one, "nummod") for one in joined):
        return True
    return any(_is_number(tree, at) for at in near if 0 <= at < len(tree.nodes))


# Values


def _value(words: str) -> int | None:
    """The value of a number in words; None for digits, and for what is not one number."""
    return _values().get(words.replace("-", " ").replace("  ", " ")) if words[:1].isalpha() else None


@cache
def _words() -> dict[int, str]:
    """How numbers are written in words: all small ones, and round ones below a million."""
    small = {n: _below_hundred(n) for n in range(1, 100)}
    hundreds = {100 * n: f"{word} hundred" for n, word in small.items() if n < 10}
    thousands = {1000 * n: f"{word} thousand" for n, word in small.items() if n <= 20 or n % 10 == 0}
    more = {100_000 * n: f"{word} hundred thousand" for n, word in small.items() if n < 10}
    return small | hundreds | thousands | more


@cache
def _values() -> dict[str, int]:
    return {words.replace("-", " "): value for value, words in _words().items()}


@cache
def _ordinals() -> dict[int, str]:
    found = dict(enumerate(_ORDINAL_UNITS)) | {10 * n: f"{word[:-1]}ieth" for n, word in enumerate(_TENS, 2)}
    more = {10 * n + k: f"{_TENS[n - 2]}-{_ORDINAL_UNITS[k]}" for n in range(2, 10) for k in range(1, 10)}
    return {n: word for n, word in (found | more).items() if n}


@cache
def _ordinal_values() -> dict[str, int]:
    """Ordinals of one word; "second" is also a time."""
    return {word: n for n, word in _ordinals().items() if "-" not in word}


def _below_hundred(n: int) -> str:
    if n < 20:
        return _UNITS[n]
    ten = _TENS[n // 10 - 2]
    return f"{ten}-{_UNITS[n % 10]}" if n % 10 else ten


def _in_digits(value: int) -> str:
    return f"{value:,}"


def _in_ordinal_digits(value: int) -> str:
    suffix = "th" if value % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value}{suffix}"
