"""Abbreviations and short forms, and what they stand for: "the U.S." and "the United States", "TV" and "television"."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from .parsing import ParseTree
from .rewriting import Rewriting, begins_sentence
from .substituting import by_first_word, occurrences, substitute, tag_at, word_at

#: Names and their abbreviations, with capitals and stops as they are usually written.
_NAMES = {
    "U.S.": "United States",
    "US": "United States",
    "U.K.": "United Kingdom",
    "UK": "United Kingdom",
    "EU": "European Union",
    "UN": "United Nations",
    "U.N.": "United Nations",
    "FBI": "Federal Bureau of Investigation",
    "CIA": "Central Intelligence Agency",
    "EPA": "Environmental Protection Agency",
    "FDA": "Food and Drug Administration",
    "SEC": "Securities and Exchange Commission",
    "IMF": "International Monetary Fund",
    "WTO": "World Trade Organization",
    "IRS": "Internal Revenue Service",
    "FCC": "Federal Communications Commission",
    "WWII": "World War II",
    "NYC": "New York City",
}
_SHORT = """
    TV/television TVs/televisions photo/photograph photos/photographs fridge/refrigerator fridges/refrigerators
    ad/advertisement ads/advertisements memo/memorandum memos/memoranda mic/microphone sax/saxophone
    math/mathematics exam/examination exams/examinations
    limo/limousine limos/limousines dorm/dormitory condo/condominium flu/influenza info/information
    CEO/chief_executive_officer GDP/gross_domestic_product mph/miles_per_hour
    veggies/vegetables grandma/grandmother grandpa/grandfather teen/teenager teens/teenagers
    tux/tuxedo rhino/rhinoceros hippo/hippopotamus carb/carbohydrate carbs/carbohydrates
    ID/identification intro/introduction stats/statistics specs/specifications decaf/decaffeinated
    mom/mother moms/mothers dad/father dads/fathers
"""
_LONG_TO_SHORT = """
    bicycle/bike bicycles/bikes airplane/plane airplanes/planes telephone/phone telephones/phones gymnasium/gym
    laboratory/lab laboratories/labs automobile/car automobiles/cars
"""
_TITLES = """
    Dr./Doctor Prof./Professor Sen./Senator Gov./Governor Gen./General Capt./Captain Lt./Lieutenant Sgt./Sergeant
    Rev./Reverend Rep./Representative
"""
_MONTHS = """
    Jan./January Feb./February Aug./August Sept./September Oct./October Nov./November Dec./December
"""
_STATES = """
    Calif./California Fla./Florida Mass./Massachusetts Conn./Connecticut Pa./Pennsylvania Va./Virginia Ill./Illinois
    Mich./Michigan Minn./Minnesota Ariz./Arizona Colo./Colorado Wis./Wisconsin Tenn./Tennessee Ga./Georgia Ky./Kentucky
    Md./Maryland Mo./Missouri Okla./Oklahoma Ore./Oregon Tex./Texas Ala./Alabama Ind./Indiana N.J./New_Jersey
"""
#: What children call their parents by.
_CALLED = {"mom", "dad", "grandma", "grandpa"}
_UNITS = """
    km/kilometers cm/centimeters mm/millimeters kg/kilograms lbs/pounds hrs/hours mins/minutes yrs/years
"""
_TIMES = {"pm": "p.m.", "am": "a.m.", "p.m.": "pm", "a.m.": "am"}
_FIRMS = "Corp./Corporation Co./Company Ltd./Limited"
_NO_ARTICLE = {"WWII", "NYC"}
#: Abbreviations that stand before a noun without an article, and so do the words: "United States troops".
_STATES_SHORT = {"U.S.", "US", "U.N.", "UN"}
#: Titles that are not shortened, because they begin other names, too: "General Electric".
_KEPT = {"General", "Representative", "Reverend", "Professor"}
#: Phrases that name something else than their first words do.
_LONGER = {"of", "u.s", "today"}


def exchange_names(tree: ParseTree, *, back: bool = False) -> Iterator[Rewriting]:
    """Names of countries and institutions, and their abbreviations; `back` even one whose stop ends the text.

    What ends with "the U.S." may go on: "the U.S. | Postal Service" is often taken for two sentences.

    >>> from .parsing import parser
    >>> text = "He moved to the U.S. in May."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in exchange_names(ParseTree(text, nodes))]
    ['He moved to the United States in May.']
    """
    for first, last, word in occurrences(tree, _names()):
        written = tree.stretch(first, last)
        for short, long in _NAMES.items():
            open_end = short.endswith(".") and last + 1 == len(tree.nodes) and not back
            if not back and {short, long} <= _written_out(tree, short, long):
                continue  # "the World Trade Organization (WTO)"
            if word == short.lower() and written == short and not open_end and _is_name(tree, first, last):
                yield substitute(tree, "abbreviation", first, last, long, keep_case=True)
            elif word == long.lower() and written == long and _may_be_short(tree, first, last, long):
                yield substitute(tree, "abbreviation", first, last, short, keep_case=True)


def exchange_short_forms(tree: ParseTree, *, back: bool = False) -> Iterator[Rewriting]:
    """Short and long forms of common nouns; `back` includes those that are only undone.

    >>> from .parsing import parser
    >>> text = "A man takes a photo of a bicycle."
    >>> [nodes] = parser()([text])
    >>> for one in exchange_short_forms(ParseTree(text, nodes)):
    ...     print(one.apply(text))
    A man takes a photograph of a bicycle.
    A man takes a photo of a bike.
    """
    table = _all_forms() if back else _forms()
    for first, last, word in occurrences(tree, _form_phrases(back)):
        upper = next((one for one in table if one.lower() == word != one), "")  # "TV", "TVs"
        if (upper and tree[first].text not in {upper, upper.lower()}) or not (back or _is_noun(tree, first, last)):
            continue
        for new in table[upper or word]:
            yield substitute(tree, "short form", first, last, new, keep_case=not new.islower() or bool(upper))


def exchange_titles(tree: ParseTree) -> Iterator[Rewriting]:
    """Titles before a name, months before a day, states after a town, firms: "Dr. Smith" and "Doctor Smith".

    >>> from .parsing import parser
    >>> text = "We met Dr. Smith on Jan. 5 in Fresno, Calif., again."
    >>> [nodes] = parser()([text])
    >>> for one in exchange_titles(ParseTree(text, nodes)):
    ...     print(one.apply(text))
    We met Doctor Smith on Jan. 5 in Fresno, Calif., again.
    We met Dr. Smith on January 5 in Fresno, Calif., again.
    We met Dr. Smith on Jan. 5 in Fresno, California, again.
    """
    for kind, table in _in_names().items():
        for first, last, _ in occurrences(tree, _phrases_of(kind)):
            new = table.get(tree.stretch(first, last))
            if new and _fits(tree, kind, first, last):
                yield substitute(tree, kind, first, last, new, keep_case=True)


def exchange_units(tree: ParseTree) -> Iterator[Rewriting]:
    """Units of measure after digits, and the halves of the day: "5 km" and "5 kilometers", "5 pm" and "5 p.m.".

    >>> from .parsing import parser
    >>> [nodes] = parser()(["It is 5 km long."])
    >>> [one.after for one in exchange_units(ParseTree("It is 5 km long.", nodes))]
    ['kilometers']
    """
    for at, node in enumerate(tree.nodes):
        number = word_at(tree, at - 1)
        plural = bool(re.fullmatch(r"\d[\d.,]*", number)) and number != "1"
        new = _units().get(node.text)
        measured = new and plural and word_at(tree, at + 1) not in {"/", "per", "-", ".", "a"}
        timed = node.text in _TIMES and at + 1 < len(tree.nodes) and re.fullmatch(r"\d{1,2}(:\d\d)?", number)
        if measured or timed:
            yield substitute(tree, "unit", at, at, new or _TIMES[node.text])


# Guards


def _is_name(tree: ParseTree, first: int, last: int) -> bool:
    """Whether an abbreviation names a country or institution by itself, not inside a longer name or a list."""
    inside = word_at(tree, first - 1) in {"/", "-", "("} or word_at(tree, last + 1) in {"/", "-", ")", "$", "$$"}
    if inside or tree[last].tag == "PRP" or _is_capital(tree, last + 1):
        return False
    states = tree[last].text in _STATES_SHORT and tag_at(tree, last + 1) in {"NN", "NNS", "NNP"}
    return word_at(tree, first - 1) == "the" or states or tree[last].text in _NO_ARTICLE


def _written_out(tree: ParseTree, *forms: str) -> set[str]:
    """Which of some forms a text has, as whole words."""
    return {one for one in forms if re.search(rf"(?<!\w){re.escape(one)}(?!\w)", tree.text)}


def _is_capital(tree: ParseTree, at: int) -> bool:
    """Whether the word at a place has a capital, as in a longer name: "the U.S. Open"."""
    return at < len(tree.nodes) and tree[at].text[:1].isupper()


def _may_be_short(tree: ParseTree, first: int, last: int, long: str) -> bool:
    """Whether nothing around makes the long name part of another: "United States of America"."""
    named = (
        tag_at(tree, first - 1) == "NNP"
        or _is_capital(tree, last + 1)
        or word_at(tree, last + 1) in _LONGER | {"(", "'"}
    )
    return not named and not begins_sentence(tree, first) and word_at(tree, first - 1) not in {"(", "a", "an"}


def _is_noun(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a short form is a common noun of its own: not in a name, not in a compound such as "cell phone"."""
    node = tree[first]
    if node.text[:1].isupper() and not begins_sentence(tree, first) and not node.text.isupper():
        return False
    if _is_capital(tree, last + 1):
        return False  # "TV Guide"
    if node.text.isupper() and node.text.lower() in _form_phrases(False) and node.text not in _forms():
        return False  # "AD 50"
    if node.text.lower() in _CALLED and not tree.children(first, "det", "poss", "amod"):
        return False  # "Dad cooks": it is his name
    compound = tag_at(tree, first - 1) in {"NN", "NNP", "HYPH"} or tag_at(tree, last + 1) in {"HYPH"}
    joined = tag_at(tree, last + 1) in {"NN", "NNS"} and node.text.lower() != "tv"
    explained = word_at(tree, first - 1) == "(" or word_at(tree, last + 1) in {"(", ")", "/"}
    if node.text.lower() == "teens" and tag_at(tree, first - 1) in {"PRP$", "JJ"}:
        return False  # "in his late teens"
    return tree[last].tag in {"NN", "NNS", "NNP", "NNPS"} and not compound and not joined and not explained


def _fits(tree: ParseTree, kind: str, first: int, last: int) -> bool:
    """Whether a title, a month, a state or a firm stands where it must."""
    before, after = tag_at(tree, first - 1), tag_at(tree, last + 1)
    if kind == "title":
        plain = before not in {"NNP", "DT", "HYPH", "``", "''"} and tree[last].text not in _KEPT
        return plain and after == "NNP" and tree[last + 1].text[:1].isupper()
    if kind == "month":
        return bool(re.fullmatch(r"\d{1,2}", word_at(tree, last + 1)))
    if kind == "state":
        town = word_at(tree, first - 1) == "," and tag_at(tree, first - 2) == "NNP"
        listed = word_at(tree, last + 1) == "," and tag_at(tree, last + 2) == "NNP"
        return town and not listed and after != "NNP" and not word_at(tree, last + 1)[:1].isdigit()
    return before in {"NNP", "NNPS"} and after not in {"NNP", "NN", "NNS"} and tree[first - 1].text[:1].isupper()


# Tables


@cache
def _names() -> Mapping[str, Sequence[str]]:
    return by_first_word([one.lower() for pair in _NAMES.items() for one in pair])


@cache
def _forms() -> dict[str, list[str]]:
    """What each short or long form may become."""
    found: dict[str, list[str]] = {}
    for pair in _SHORT.split():
        one, other = pair.replace("_", " ").split("/")
        found.setdefault(one, []).append(other)
        if one not in _NEVER_MADE:
            found.setdefault(other, []).append(one)
    for pair in _LONG_TO_SHORT.split():
        one, other = pair.split("/")
        found.setdefault(one, []).append(other)
    return found


#: Short forms that are not made: the long word has other meanings ("introduction", "mother"), or the short one has.
_NEVER_MADE = {"ad", "ads", "mic", "flu", "info", "ID", "intro", "stats", "specs", "mom", "moms", "dad", "dads", "teen",
               "math", "veggies", "exam", "exams", "tux", "decaf", "teens", "grandma", "grandpa", "memos"}  # fmt: skip


@cache
def _all_forms() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pair in [*_SHORT.split(), *_LONG_TO_SHORT.split()]:
        one, other = pair.replace("_", " ").split("/")
        found.setdefault(one, []).append(other)
        found.setdefault(other, []).append(one)
    return found


@cache
def _form_phrases(back: bool) -> Mapping[str, Sequence[str]]:
    return by_first_word([one.lower() for one in (_all_forms() if back else _forms())])


@cache
def _in_names() -> dict[str, dict[str, str]]:
    """Titles, months, states and firms: both directions."""
    lists = {"title": _TITLES, "month": _MONTHS, "state": _STATES, "firm": _FIRMS}
    pairs = {kind: [pair.replace("_", " ").split("/") for pair in text.split()] for kind, text in lists.items()}
    return {kind: dict(some) | {other: one for one, other in some} for kind, some in pairs.items()}


@cache
def _phrases_of(kind: str) -> Mapping[str, Sequence[str]]:
    return by_first_word([one.lower() for one in _in_names()[kind]])


@cache
def _units() -> dict[str, str]:
    pairs = [pair.split("/") for pair in _UNITS.split()]
    return dict(pairs) | {other: one for one, other in pairs if one in {"km", "cm", "mm", "kg"}}
