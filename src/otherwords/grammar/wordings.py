"""The kinds of rewritings that replace words where they stand.

Each keeps what the sentence says; `renaming`, which does not, works on all texts of a problem and is not among them.
"""

from functools import partial

from . import abbreviations, counting, denial, genitive, verb_phrases
from .function_words import exchange_function_words
from .rewriting import Kind
from .spellings import exchange_spelling

WORDINGS: dict[str, Kind] = {
    "numeral": Kind(
        (
            counting.to_digits,
            counting.to_words,
            counting.exchange_percent,
            counting.exchange_dollars,
            counting.exchange_ordinals,
        ),
        {
            "number in digits": counting.to_words,
            "number in words": partial(counting.to_digits, back=True),
            "percent": counting.exchange_percent,
            "dollars": counting.exchange_dollars,
            "ordinal in digits": counting.exchange_ordinals,
            "ordinal in words": partial(counting.exchange_ordinals, back=True),
        },
    ),
    "function-word": Kind(
        (
            exchange_function_words,
            verb_phrases.exchange_begin_and_start,
            verb_phrases.to_must,
            verb_phrases.to_will,
        ),
        {
            "function word": partial(exchange_function_words, back=True),
            "begin or start": verb_phrases.exchange_begin_and_start,
            "must": verb_phrases.to_have_to,
            "will": verb_phrases.to_going_to,
        },
    ),
    "spelling": Kind((exchange_spelling,), {"spelling": partial(exchange_spelling, back=True)}),
    "abbreviation": Kind(
        (
            abbreviations.exchange_names,
            abbreviations.exchange_short_forms,
            abbreviations.exchange_titles,
            abbreviations.exchange_units,
        ),
        {
            "abbreviation": partial(abbreviations.exchange_names, back=True),
            "short form": partial(abbreviations.exchange_short_forms, back=True),
            **dict.fromkeys(("title", "month", "state", "firm"), abbreviations.exchange_titles),
            "unit": abbreviations.exchange_units,
        },
    ),
    "genitive": Kind((genitive.to_of, genitive.to_s), {"of-genitive": genitive.to_s, "s-genitive": genitive.to_of}),
    "no-any": Kind(
        (denial.to_any, denial.to_no, denial.to_without, denial.to_with_no),
        {
            "not any": denial.to_no,
            "no": denial.contracted_any,
            "without any": denial.to_with_no,
            "with no": denial.to_without,
        },
        exempt='"no" is one cue, "not any" are two',
    ),
    "antonym-not": Kind(
        (denial.to_opposite, denial.to_denied_opposite),
        {"opposite": denial.contracted_opposite, "denied opposite": partial(denial.to_opposite, back=True)},
        exempt="a negation gives way to an opposite, or an opposite to a negation",
    ),
}
