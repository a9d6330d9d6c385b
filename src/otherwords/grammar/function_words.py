"""Closed-class words and set phrases that say the same: "beside" and "next to", "nobody" and "no one"."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from . import contexts
from .parsing import ParseTree
from .rewriting import Rewriting
from .substituting import Guard, by_first_word, occurrences, substitute

_HOW = "function word"


class Pair(NamedTuple):
    """Two phrases that say the same, what must hold for the first to become the second, and the reverse.

    A guard that is None forbids that direction; it is only taken to lead back.
    """

    one: str
    other: str
    forth: Guard | None
    back: Guard | None


def exchange_function_words(tree: ParseTree, *, back: bool = False) -> Iterator[Rewriting]:
    """Replace a closed-class word or phrase by another; `back` leaves out all guards, to lead back.

    >>> from .parsing import parser
    >>> text = "No one sat next to the door."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in exchange_function_words(ParseTree(text, nodes))]
    ['Nobody sat next to the door.', 'No one sat beside the door.']
    """
    for first, last, phrase in occurrences(tree, _phrases()):
        for new, guard in _others()[phrase]:
            if back or (guard and contexts.is_lower(tree, first, last) and guard(tree, first, last)):
                yield substitute(tree, _HOW, first, last, new)


#: Phrases that say the same where their guards hold.
PAIRS: tuple[Pair, ...] = (
    Pair("beside", "next to", contexts.has_object, contexts.has_object),
    Pair("although", "though", contexts.is_subordinator, contexts.is_subordinator),
    Pair("although", "even though", contexts.is_subordinator, contexts.is_even_though),
    Pair("despite", "in spite of", contexts.not_idiom("that", "its"), contexts.not_idiom("it", "that")),
    *(
        Pair(f"{some}one", f"{some}body", contexts.stands_alone, contexts.stands_alone)
        for some in ("every", "some", "any")
    ),
    Pair("no one", "nobody", contexts.stands_alone, contexts.stands_alone),
    Pair("toward", "towards", contexts.has_object, contexts.has_object),
    Pair("among", "amongst", contexts.has_object, contexts.has_object),
    Pair("amid", "amidst", contexts.has_object, contexts.has_object),
    Pair("until", "till", contexts.always, contexts.is_until),
    Pair("prior to", "before", contexts.has_object, None),
    Pair("because of", "due to", contexts.not_after_be, contexts.not_after_be),
    Pair("in order to", "to", contexts.of_purpose, contexts.opens_purpose),
    Pair("so as to", "in order to", contexts.of_purpose, None),
    Pair("nearly", "almost", contexts.nearly, contexts.before_quantity),
    Pair("about", "around", contexts.before_amount, contexts.before_amount),
    Pair("approximately", "about", contexts.before_amount, contexts.before_amount),
    Pair("roughly", "approximately", contexts.before_amount, contexts.before_amount),
    Pair("perhaps", "maybe", contexts.always, contexts.is_adverb),
    Pair("a lot of", "lots of", contexts.not_negated, contexts.not_negated),
    Pair("too", "as well", contexts.ends_clause, contexts.ends_clause),
    Pair("outside of", "outside", contexts.is_preposition, None),
    Pair("inside of", "inside", contexts.is_preposition, None),
    Pair("off of", "off", contexts.is_preposition, None),
    Pair("in between", "between", contexts.has_object, None),
    Pair("all of", "all", contexts.all_of, contexts.all_of),
    Pair("both of", "both", contexts.all_of, None),
    Pair("while", "whilst", contexts.joins_clauses, contexts.joins_clauses),
    Pair("kind of", "sort of", contexts.is_hedge, contexts.is_hedge),
    Pair("kinds of", "sorts of", contexts.always, contexts.always),
    Pair("more than", "over", contexts.exceeds, contexts.exceeds),
    Pair("fewer than", "less than", contexts.exceeds, None),
    Pair("every", "each", contexts.before_time, contexts.before_time),
    Pair("before", "prior to", contexts.before_event, None),
    Pair("after", "following", contexts.before_event, None),
    Pair("twice", "two times", contexts.twice, contexts.twice),
    Pair("a bit", "a little", contexts.grades, contexts.grades),
    Pair("any longer", "anymore", contexts.ends_denial, contexts.ends_denial),
    Pair("once again", "once more", contexts.always, contexts.not_idiom("than")),
    Pair("soon after", "shortly after", contexts.always, contexts.always),
    Pair("adjacent to", "next to", contexts.has_object, None),
    Pair("in the midst of", "amid", contexts.has_plain_object, None),
    Pair("in the direction of", "toward", contexts.has_plain_object, None),
    Pair("as long as", "so long as", contexts.conditional, contexts.conditional),
    Pair("aside from", "apart from", contexts.opens_phrase, contexts.opens_phrase),
    Pair("regarding", "concerning", contexts.has_object, contexts.has_object),
    Pair("owing to", "because of", contexts.not_after_be, None),
    Pair("nevertheless", "nonetheless", contexts.always, contexts.always),
    Pair("consequently", "as a result", contexts.opens_clause, contexts.opens_clause),
    Pair("at first", "initially", contexts.opens_clause, contexts.opens_clause),
    Pair("in the meantime", "meanwhile", contexts.opens_clause, contexts.opens_clause),
    Pair("mostly", "mainly", contexts.is_plain_adverb, contexts.is_plain_adverb),
    Pair("exactly", "precisely", contexts.is_plain_adverb, contexts.is_plain_adverb),
    Pair("certainly", "definitely", contexts.is_plain_adverb, contexts.is_plain_adverb),
    Pair("right away", "immediately", contexts.always, None),
    Pair("atop", "on top of", contexts.has_plain_object, contexts.has_plain_object),
    Pair("underneath", "under", contexts.has_plain_object, None),
    Pair("near", "close to", contexts.has_plain_object, None),
    Pair("each other", "one another", contexts.always, contexts.always),
    Pair("outdoors", "outside", contexts.is_adverb, contexts.outside),
    Pair("for example", "for instance", contexts.always, contexts.always),
    Pair("as if", "as though", contexts.always, contexts.always),
    Pair("in addition", "additionally", contexts.opens_clause, contexts.opens_clause),
    Pair("furthermore", "moreover", contexts.opens_clause, contexts.opens_clause),
    Pair("therefore", "thus", contexts.opens_clause, contexts.opens_clause),
    Pair("in addition to", "besides", contexts.opens_phrase, None),
    Pair("with regard to", "in regard to", contexts.always, contexts.always),
    Pair("with regard to", "regarding", contexts.always, None),
    Pair("instead of", "rather than", contexts.always, None),
    Pair("upon", "on", contexts.verb_before("base", "depend", "rely", "insist", "focus", "reflect"), None),
    Pair("on", "upon", contexts.verb_before("depend", "rely", "insist"), None),
    Pair("often", "frequently", contexts.is_plain_adverb, contexts.is_plain_adverb),
    Pair("rarely", "seldom", contexts.is_plain_adverb, contexts.is_plain_adverb),
    Pair("primarily", "mainly", contexts.is_plain_adverb, contexts.is_plain_adverb),
    Pair("especially", "particularly", contexts.is_plain_adverb, contexts.is_plain_adverb),
    Pair("entirely", "completely", contexts.is_plain_adverb, contexts.is_plain_adverb),
    Pair("many", "numerous", contexts.before_plural, contexts.before_plural),
    Pair("per", "a", contexts.rates, contexts.rates),
    Pair("if", "whether", contexts.asks, contexts.asks),
    Pair("these days", "nowadays", contexts.is_time_adverb, contexts.is_time_adverb),
    Pair("yeah", "yes", contexts.yes, contexts.yes),
    Pair("afterwards", "afterward", contexts.is_adverb, contexts.is_adverb),
    Pair("backwards", "backward", contexts.is_adverb, contexts.is_adverb),
    Pair("upwards", "upward", contexts.is_adverb, contexts.is_adverb),
    Pair("downwards", "downward", contexts.is_adverb, contexts.is_adverb),
)


@cache
def _others() -> dict[str, list[tuple[str, Guard | None]]]:
    """What may replace each phrase, with its guard."""
    found: dict[str, list[tuple[str, Guard | None]]] = {}
    for pair in PAIRS:
        found.setdefault(pair.one, []).append((pair.other, pair.forth))
        found.setdefault(pair.other, []).append((pair.one, pair.back))
    return found


@cache
def _phrases() -> dict[str, Sequence[str]]:
    return {**by_first_word(list(_others()))}
