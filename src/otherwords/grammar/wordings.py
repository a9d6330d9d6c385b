"""The rules that replace words where they stand, by kind, and the rule that leads back from each rewriting.

Each keeps what the sentence says; `renaming`, which does not, works on all texts of a problem and is not among them.
"""

from collections.abc import Callable, Iterable
from functools import partial

from . import abbreviations, counting, denial, genitive, verb_phrases
from .function_words import exchange_function_words
from .parsing import ParseTree
from .rewriting import Rewriting
from .spellings import exchange_spelling

_Rule = Callable[[ParseTree], Iterable[Rewriting]]
#: The rules of each kind.
WORDINGS: dict[str, tuple[_Rule, ...]] = {
    "numeral": (
        counting.to_digits,
        counting.to_words,
        counting.exchange_percent,
        counting.exchange_dollars,
        counting.exchange_ordinals,
    ),
    "function-word": (
        exchange_function_words,
        verb_phrases.exchange_begin_and_start,
        verb_phrases.to_must,
        verb_phrases.to_will,
    ),
    "spelling": (exchange_spelling,),
    "abbreviation": (
        abbreviations.exchange_names,
        abbreviations.exchange_short_forms,
        abbreviations.exchange_titles,
        abbreviations.exchange_units,
    ),
    "genitive": (genitive.to_of, genitive.to_s),
    "no-any": (denial.to_any, denial.to_no, denial.to_without, denial.to_with_no),
    "antonym-not": (denial.to_opposite, denial.to_denied_opposite),
}
#: The rule that reverses a rewriting, by the rewriting's name.
WORDING_INVERSES: dict[str, _Rule] = {
    "number in digits": counting.to_words,
    "number in words": partial(counting.to_digits, back=True),
    "percent": counting.exchange_percent,
    "dollars": counting.exchange_dollars,
    "ordinal in digits": counting.exchange_ordinals,
    "ordinal in words": partial(counting.exchange_ordinals, back=True),
    "function word": partial(exchange_function_words, back=True),
    "begin or start": verb_phrases.exchange_begin_and_start,
    "must": verb_phrases.to_have_to,
    "will": verb_phrases.to_going_to,
    "spelling": partial(exchange_spelling, back=True),
    "abbreviation": partial(abbreviations.exchange_names, back=True),
    "short form": partial(abbreviations.exchange_short_forms, back=True),
    **dict.fromkeys(("title", "month", "state", "firm"), abbreviations.exchange_titles),
    "unit": abbreviations.exchange_units,
    "of-genitive": genitive.to_s,
    "s-genitive": genitive.to_of,
    "not any": denial.to_no,
    "no": denial.contracted_any,
    "without any": denial.to_with_no,
    "with no": denial.to_without,
    "opposite": denial.contracted_opposite,
    "denied opposite": partial(denial.to_opposite, back=True),
}
