"""The words and phrases that carry a label, by kind and meaning, and the patterns that find them."""

from __future__ import annotations

import re

from .counting import QUANTITY

#: Before "most", these make it a superlative: "is most beautiful", "her most famous book".
_BEFORE_SUPERLATIVE = "a his her its their my your our is are was were be been am seems looks".split()  # noqa: SIM905
_SUPERLATIVES = "|".join(f"{word} most(?! of )" for word in _BEFORE_SUPERLATIVE)
#: What can be "nearly" so; "about" and "around" are prepositions before them.
_REACHED = "all|every|everyone|everybody|everything|everywhere|each|always|no|none|nobody|nothing|never|nowhere"
_NEARLY = "|".join(f"{word} {{N}}|{word}(?= (?:{_REACHED}) )" for word in ("nearly", "almost", "virtually"))
#: A pair of these is one thing, or no more than one would say without it.
_IN_PAIRS = (
    "jeans|pants|trousers|shorts|slacks|khakis|overalls|leggings|tights|stockings|underwear|pajamas|pyjamas|shoes|boots"
    "|sneakers|sandals|slippers|heels|socks|gloves|mittens|glasses|sunglasses|eyeglasses|goggles|binoculars|headphones"
    "|earrings|scissors|pliers|tongs|tweezers|shears|clippers|chopsticks|skis|skates|rollerblades|crutches|handcuffs"
)
_PAIR = rf"pair of(?! (?:\w+ ){{0,2}}(?:{_IN_PAIRS}) )"

#: Phrases by kind and meaning; of several that fit, the longest counts. {N} is a number that follows.
PHRASES: dict[tuple[str, str], str] = {
    # What looks like a cue, and is none.
    ("", "nothing"): "not only|not just|not merely|not simply|or not|no doubt|no matter|at all|after all|all right"
    "|all of a sudden|all over|all alone|above all|each other|one another"
    "|some (?:kind|sort|type|form|variety) of|the most|most likely|most probably|most recently|how many"
    "|at first|first of all|both(?= \\w+(?: \\w+){0,3} and )"
    "|this one|that one|the one|which one|another one|other one|first one|last one|next one|new one|old one"
    f"|{_SUPERLATIVES}",
    ("negation", "not"): "not|no|none|neither|nor|no longer|not a single|no single|without",
    ("negation", "nobody"): "nobody|no one|no body|no person|no people",
    ("negation", "nothing"): "nothing|no thing|no things",
    ("negation", "nowhere"): "nowhere",
    ("negation", "never"): "never",
    ("negation", "hardly"): "hardly|scarcely|barely",
    ("negation", "rarely"): "rarely|seldom",
    ("quantifier", "all"): "all|every|each|both|everyone|everybody|every one|each one|everything|everywhere|all of",
    ("quantifier", "most"): "most|most of|the most of|the majority|a majority|the vast majority",
    ("quantifier", "mostly"): "mostly|mainly|primarily|chiefly|for the most part",
    ("quantifier", "many"): "many|numerous|a lot|alot|a lot of|alot of|lots of|tons of|plenty of|much of"
    "|a large number of|a great number of|a great many|a great deal of|a good many|quite a few"
    "|dozens of|hundreds of|thousands of|millions of",
    ("quantifier", "some"): "some|several|a few|some of",
    ("quantifier", "few"): "few|very little|too little|there is little|there was little|little or no|little of",
    ("quantifier", "always"): "always|at all times|all the time",
    ("quantifier", "often"): "often|frequently",
    ("quantifier", "usually"): "usually|generally|typically|normally",
    ("quantifier", "sometimes"): "sometimes|occasionally|at times|from time to time",
    ("quantifier", "at least"): "at least|at the least|no (?:less|fewer) than|not (?:less|fewer) than|or more"
    "|a minimum of|minimum of",
    ("quantifier", "at most"): "at most|at the most|no more than|not more than|or less|or fewer|up to {N}"
    "|a maximum of|maximum of",
    ("quantifier", "more than"): "more than|greater than|in excess of|over {N}|above {N}",
    ("quantifier", "less than"): "less than|fewer than|in under|just under|under {N}|below {N}",
    ("quantifier", "only"): "only|merely|solely|nothing but",
    ("quantifier", "exactly"): "exactly|precisely",
    ("quantifier", "about"): f"about {{N}}|around {{N}}|approximately {{N}}|roughly {{N}}|some {{N}}|{_NEARLY}",
    ("quantifier", "except"): "except|except for|excepting|excluding|with the exception of|apart from|aside from",
    ("any", "not"): "any|either|any of",
    ("any", "nobody"): "anybody|anyone|any one|any person|any people",
    ("any", "nothing"): "anything",
    ("any", "nowhere"): "anywhere",
    ("any", "never"): "ever",
    ("number", "two"): f"couple of|duo of|{_PAIR}",
}
_MEANINGS = list(PHRASES)


def phrase(spoken: str, place: int, first: str) -> tuple[str, str, str, int] | None:
    """The phrase that begins at a place with its `first` word: its kind, its meaning, its words, and where it ends.

    >>> phrase("no one came ", 0, "no")
    ('negation', 'nobody', 'no one', 6)
    """
    pattern = _PATTERNS.get(first)
    match = pattern.match(spoken, place) if pattern else None
    if not match:
        return None
    return *_MEANINGS[int(str(match.lastgroup)[1:].partition("_")[0])], match[0], match.end()


def _patterns() -> dict[str, re.Pattern[str]]:
    """The phrases that begin with a word as one pattern, longer ones first; a group's number leads to its meaning."""
    number = rf"(?= (?:a )?(?:{QUANTITY}))"
    firsts: dict[str, list[tuple[str, int]]] = {}
    for index, phrases in enumerate(PHRASES.values()):
        for one in re.split(r"\|(?![^(]*\))", phrases):
            first = re.split(r"\W", one, maxsplit=1)[0]
            firsts.setdefault(first, []).append((one.replace(" {N}", number), index))
    for some in firsts.values():
        some.sort(key=lambda one: -one[0].count(" "))
    return {
        first: re.compile("|".join(f"(?P<c{index}_{n}>{one}(?= ))" for n, (one, index) in enumerate(some)))
        for first, some in firsts.items()
    }


_PATTERNS = _patterns()
