"""Closed-class words and set phrases that say the same: "beside" and "next to", "nobody" and "no one"."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from ..words.inflection import inflected
from .parsing import ParseTree
from .phrases import BE_FORMS
from .rewriting import Rewriting, begins_sentence
from .substituting import Guard, by_first_word, occurrences, substitute, tag_at, word_at

_HOW = "function word"
_NEGATIONS = {"not", "n't", "no", "never", "nobody", "nothing", "none", "neither", "nor", "without", "hardly"}
_UNITS_OF_TIME = {"second", "minute", "hour", "day", "week", "month", "year", "night"}


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
            if back or (guard and _is_lower(tree, first, last) and guard(tree, first, last)):
                yield substitute(tree, _HOW, first, last, new)


def exchange_begin_and_start(tree: ParseTree) -> Iterator[Rewriting]:
    """ "Begin" and "start" before another verb: "it began to rain" and "it started to rain".

    >>> from .parsing import parser
    >>> text = "It began to rain."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in exchange_begin_and_start(ParseTree(text, nodes))]
    ['It started to rain.']
    """
    for at, node in enumerate(tree.nodes):
        other = {"begin": "start", "start": "begin"}.get(node.lemma.lower(), "")
        follows = tag_at(tree, at + 1) == "VBG" or (word_at(tree, at + 1) == "to" and tag_at(tree, at + 2) == "VB")
        verb = node.pos == "VERB" and any(one in (at + 1, at + 2) for one in tree.children(at, "xcomp"))
        if other and verb and follows and (form := inflected(other, node.tag)):
            yield substitute(tree, "begin or start", at, at, form)


def to_must(tree: ParseTree) -> Iterator[Rewriting]:
    """ "Has to" in a plain present statement says what "must" says.

    >>> from .parsing import parser
    >>> text = "She has to leave early."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in to_must(ParseTree(text, nodes))]
    ['She must leave early.']
    """
    for at, node in enumerate(tree.nodes):
        plain = node.text.lower() in {"have", "has"} and node.tag in {"VBP", "VBZ"} and not tree.children(at, "aux", "neg")
        follows = word_at(tree, at + 1) == "to" and tag_at(tree, at + 2) == "VB" and at + 2 in tree.children(at, "xcomp")
        question = any(one.text == "?" for one in tree.nodes) or tree.children(at, "dobj")
        idiom = [word_at(tree, at + 2), word_at(tree, at + 3)] in (["do", "with"], ["do", "is"])
        if plain and follows and not question and not idiom and word_at(tree, at - 1) not in _NO_SUBJECTS:
            yield substitute(tree, "must", at, at + 1, "must")


def to_have_to(tree: ParseTree) -> Iterator[Rewriting]:
    """ "Has to" for "must", in the form of either number, to lead back."""
    for at, node in enumerate(tree.nodes):
        if node.text.lower() == "must":
            yield from (substitute(tree, "have to", at, at, new) for new in ("has to", "have to"))


def to_will(tree: ParseTree) -> Iterator[Rewriting]:
    """ "Is going to" before a verb says what "will" says.

    >>> from .parsing import parser
    >>> text = "It is going to rain."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in to_will(ParseTree(text, nodes))]
    ['It will rain.']
    """
    for at, node in enumerate(tree.nodes[:-3]):
        words = [word_at(tree, at + 1), word_at(tree, at + 2)]
        plain = node.text.lower() in {"is", "are", "am"} and words == ["going", "to"] and tag_at(tree, at + 3) == "VB"
        asked = any(one.text == "?" for one in tree.nodes) or _CONDITIONAL & {one.text.lower() for one in tree.nodes[:at + 4]}
        if plain and not asked and node.text.islower():
            yield substitute(tree, "will", at, at + 2, "will")


def to_going_to(tree: ParseTree) -> Iterator[Rewriting]:
    """ "Is going to" for "will", with every form of "be", to lead back."""
    for at, node in enumerate(tree.nodes):
        if node.text.lower() == "will":
            yield from (substitute(tree, "going to", at, at, f"{be} going to") for be in ("is", "are", "am"))


# Guards

#: Words before "have to" that show that it is not one verb: "all you have to do", "the rights they have to vote".
_NO_SUBJECTS = {"all", "what", "everything", "anything", "nothing", "something", "rights", "things", "will", "to", "not"}
_CONDITIONAL = {"if", "when", "unless", "whether", "not", "n't"}
_EVENTS = frozenset(
    """war meeting dinner lunch breakfast game match class exam test flight trip wedding election event race noon
    midnight sunrise sunset arrival departure surgery concert show party performance competition ceremony interview
    conference accident attack earthquake storm death birth revolution""".split()
)
_DAYS = frozenset(
    """day week month year night morning evening afternoon summer winter spring monday tuesday wednesday thursday friday
    saturday sunday weekend""".split()
)


def _is_preposition(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "outside of" is no noun: not "the outside of"."""
    return tag_at(tree, first - 1) not in {"DT", "JJ", "PRP$"} and _has_plain_object(tree, first, last)


def _joins_clauses(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "while" opens a clause or what is left of one."""
    return tree[first].dep == "mark" and tag_at(tree, first - 1) not in {"DT", "JJ"} and word_at(tree, last + 1) != ","


def _is_hedge(tree: ParseTree, first: int, last: int) -> bool:
    return tag_at(tree, last + 1) not in {"PRP", ""} and tree[first].pos != "ADJ"


def _exceeds(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a number of things, not a time span, follows "more than" or "over"."""
    number = last + 2 if tag_at(tree, last + 1) == "$" else last + 1
    if tag_at(tree, number) != "CD" or word_at(tree, number) in {"one", "half"} or _is_year(word_at(tree, number)):
        return False
    span = {node.lemma.lower() for node in tree.nodes[number : number + 4]} & {*_UNITS_OF_TIME, "decade", "century", "p.m.", "pm"}
    graded = word_at(tree, first - 1) in {"no", "not", "little", "much", "any", "n't", "just", "all", "ever", "well", "or"}
    counted = tree[last].dep in {"quantmod", "advmod", "nmod"} or tree[last].text.lower() == "than"
    return counted and not span and not graded and word_at(tree, number + 1) not in {"to", "or", "-", "million-dollar"}


def _before_time(tree: ParseTree, first: int, last: int) -> bool:
    nearly = word_at(tree, first - 1) in {"almost", "nearly", "virtually", "not", "just", "on"}
    return word_at(tree, last + 1) in _DAYS and not nearly and tag_at(tree, last + 2) not in {"NN", "NNS", "POS", "HYPH"}


def _before_event(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a plain event, not a clause, is the object: "before the meeting"."""
    objects = tree.children(first, "pobj")
    plain = len(objects) == 1 and tree[objects[0]].lemma.lower() in _EVENTS and objects[0] - last <= 3
    graded = tag_at(tree, first - 1) in {"RB", "NN", "NNS", "JJ", "CD", "IN"} and not begins_sentence(tree, first)
    return plain and not graded and tree[first].dep == "prep"


def _grades(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "a bit" says how much an adjective or adverb holds: "a bit tired"."""
    graded = {"not", "n't", "quite", "just", "every"}
    return tag_at(tree, last + 1) in {"JJ", "JJR", "RBR"} and word_at(tree, first - 1) not in graded and tree[
        last
    ].dep in {"npadvmod", "advmod"}


def _ends_denial(tree: ParseTree, first: int, last: int) -> bool:
    ends = last + 1 == len(tree.nodes) or tree[last + 1].pos == "PUNCT" or word_at(tree, last + 1) in {"because", "and"}
    return ends and any(node.text.lower() in {"not", "n't", "nobody"} for node in tree.nodes[:first])


def _conditional(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a clause follows "as long as": not a length or a time."""
    before = tag_at(tree, first - 1) in {"VBZ", "VBP", "VBD", "VB", "RB"} or word_at(tree, first - 1) == "for"
    return tag_at(tree, last + 1) in {"PRP", "EX"} and not before


def _opens_phrase(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a phrase begins the sentence, or follows a comma."""
    return begins_sentence(tree, first) or word_at(tree, first - 1) == ","


def _always(tree: ParseTree, first: int, last: int) -> bool:
    return True


def _has_object(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a preposition has a noun phrase after it, not "himself" or "that"."""
    objects = [one for at in range(first, last + 1) for one in tree.children(at, "pobj") if one > last]
    return len(objects) == 1 and tree[objects[0]].tag in {"NN", "NNS", "NNP", "NNPS", "PRP"} and not _reflexive(
        tree[objects[0]].text
    )


def _reflexive(word: str) -> bool:
    return word.lower().endswith(("self", "selves"))


def _has_plain_object(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a preposition has a thing with an article or a possessor as its object: a place, not an idiom."""
    objects = [one for at in range(first, last + 1) for one in tree.children(at, "pobj") if one > last]
    if len(objects) != 1 or tree[objects[0]].tag not in {"NN", "NNS", "NNP"}:
        return False
    return bool(tree.children(objects[0], "det", "poss")) and tree[objects[0]].text.lower() not in _NO_PLACES


_NO_PLACES = {"point", "end", "beginning", "death", "tears", "truth", "heart", "mark", "matter", "case", "question"}


def _is_subordinator(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a word opens a subordinate clause, at the beginning or after a comma."""
    opens = begins_sentence(tree, first) or word_at(tree, first - 1) in {",", ";", "—", "--", "(", "and", "but"}
    return opens and tree[last].dep == "mark" and word_at(tree, last + 1) not in {",", ".", "", "not"}


def _is_even_though(tree: ParseTree, first: int, last: int) -> bool:
    return tree[last].dep == "mark"


def _stands_alone(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "no one" and its like are a pronoun, and the whole of a phrase: not "no one man", "a nobody"."""
    following = tag_at(tree, last + 1)
    if following in {"NN", "NNS", "JJ", "NNP"} and word_at(tree, last + 1) != "else" or word_at(tree, last + 1) == "of":
        return False
    return tag_at(tree, first - 1) not in {"DT", "JJ", "PRP$", "POS", "NN"}


def _before_quantity(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a number or a word for all comes after it."""
    negated = word_at(tree, first - 1) in {"not", "n't", "very", "pretty", "so"}
    word = word_at(tree, last + 1)
    known = word in {"all", "every", "everyone", "everybody", "everything", "half", "always", "everywhere", "identical",
                     "impossible", "as", "complete", "finished", "dead", "done"}  # fmt: skip
    return not negated and (known or tag_at(tree, last + 1) == "CD")


def _nearly(tree: ParseTree, first: int, last: int) -> bool:
    return word_at(tree, first - 1) not in {"not", "n't", "very", "pretty", "so"} and word_at(tree, last + 1) != "enough"


def _before_amount(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "about" and its like make a number vague; "talk about two men" is no such case."""
    number = tag_at(tree, last + 1) == "CD" and not _is_year(word_at(tree, last + 1))
    vague = tree[last].dep in {"advmod", "quantmod"}
    return number and vague and word_at(tree, first - 1) not in {"just", "talk", "talking", "talked", "for", "not"}


def _is_year(word: str) -> bool:
    return word.isdigit() and len(word) == 4


def _not_idiom(*following: str) -> Guard:
    """A guard against some words after the phrase."""

    def guard(tree: ParseTree, first: int, last: int) -> bool:
        return word_at(tree, last + 1) not in following

    return guard


def _is_adverb(tree: ParseTree, first: int, last: int) -> bool:
    return tree[last].dep == "advmod" and tree[last].tag == "RB" and not _is_negated(tree, first)


def _is_plain_adverb(tree: ParseTree, first: int, last: int) -> bool:
    """Whether an adverb has nothing beside it that grades it: "more often than not", "how often"."""
    graded = {"more", "most", "how", "less", "as", "so", "too", "than", "every", "very", "not", "n't", "quite", "almost"}
    after = {"than", "as", "enough", ",", "and", "or", "but"}
    return tree[last].dep == "advmod" and word_at(tree, first - 1) not in graded and word_at(tree, last + 1) not in after


def _is_negated(tree: ParseTree, at: int) -> bool:
    return any(node.text.lower() in _NEGATIONS for node in tree.nodes[max(0, at - 6) : at])


def _not_negated(tree: ParseTree, first: int, last: int) -> bool:
    """Whether there is no negation in the sentence, and nothing grades the phrase."""
    graded = {"whole", "quite", "such", "awful", "and", "what", "just"}
    grading = bool(graded & {word_at(tree, first - 1), word_at(tree, last + 1)})
    compound = tag_at(tree, first - 1) in {"NN", "NNP"}
    return not grading and not compound and not any(node.text.lower() in _NEGATIONS for node in tree.nodes)


def _before_plural(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "many" or "numerous" is before its plural noun, with nothing that grades it."""
    noun = tree[first].head
    graded = word_at(tree, first - 1) in {"so", "too", "as", "how", "very", "not", "that", "this", "n't", "great", "good"}
    plain = tree[first].dep == "amod" and tree[noun].tag == "NNS" and 0 < noun - last <= 3
    return plain and not graded and word_at(tree, last + 1) not in {"more", "such", "other", "of"}


def _all_of(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "all of" comes before an article or possessor and a plural noun."""
    determiner = last + 1 < len(tree.nodes) and (tree[last + 1].tag == "PRP$" or word_at(tree, last + 1) in _THE)
    return determiner and tag_at(tree, first - 1) not in {"NN", "NNS", "PRP"} and _noun_after(tree, last + 2) == "NNS"


_THE = {"the", "these", "those"}


def _noun_after(tree: ParseTree, at: int) -> str:
    """The tag of the noun that some adjectives lead to."""
    while tag_at(tree, at) in {"JJ", "CD", "NN"} and tag_at(tree, at + 1) in {"JJ", "NN", "NNS"}:
        at += 1
    return tag_at(tree, at)


def _opens_clause(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a connective begins the sentence, and a comma is behind it."""
    return begins_sentence(tree, first) and word_at(tree, last + 1) == ","


def _ends_clause(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "too" or "as well" ends the sentence."""
    ends = last + 1 == len(tree.nodes) or word_at(tree, last + 1) in {".", "!"}
    return ends and tag_at(tree, first - 1) not in {"RB", "MD", "VB", "JJ"} and not _has_comparison(tree)


def _has_comparison(tree: ParseTree) -> bool:
    return any(node.text.lower() in {"just", "might", "may", "as", *_NEGATIONS} for node in tree.nodes[:-3])


def _of_purpose(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a verb follows "in order to", so that "to" alone says the same."""
    return tag_at(tree, last + 1) == "VB" and word_at(tree, first - 1) not in {"is", "was", "are", "were", "be", "not"}


def _opens_purpose(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "to" opens a sentence with a purpose, and a comma ends it: "To win, he ran"."""
    verb = last + 1
    if not begins_sentence(tree, first) or tag_at(tree, verb) != "VB" or tree[verb].dep != "advcl":
        return False
    comma = any(node.text == "," for node in tree.nodes[verb : tree[verb].head]) and tree[verb].head > verb
    return comma and tree[verb].lemma.lower() not in _COMMENTS


_COMMENTS = frozenset(
    "be tell say begin start put sum quote judge hear see name make give take add cap top recap conclude return".split()
)


def _verb_before(*verbs: str) -> Guard:
    """A guard that wants a form of one of some verbs right before the preposition."""

    def guard(tree: ParseTree, first: int, last: int) -> bool:
        return first > 0 and tree[first - 1].lemma.lower() in verbs and tree[first].dep in {"prep", "prt"}

    return guard


def _rates(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "per" or "a" comes between counted things and a unit of time: "three times a day"."""
    counted = tag_at(tree, first - 1) == "NNS" and tag_at(tree, first - 2) in {"CD", "JJ"}
    unit = word_at(tree, last + 1) in _UNITS_OF_TIME and tag_at(tree, last + 2) not in {"NN", "NNS", "HYPH"}
    return counted and unit and word_at(tree, first - 2) != "few"


def _asks(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "if" or "whether" follows a verb of asking, so that it opens an indirect question."""
    after = word_at(tree, last + 1)
    asking = first > 0 and tree[first - 1].lemma.lower() in {"ask", "wonder", "inquire"} and tree[first - 1].pos == "VERB"
    either = any(node.text.lower() == "or" for node in tree.nodes[last:])
    return asking and not either and after not in {"to", "or", "not"} and tree[first].dep == "mark"


def _outside(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "outside" is an adverb of a verb of being or doing somewhere, without an object."""
    verb = tree[tree[first].head]
    alone = tree[first].dep == "advmod" and not tree.children(first)
    after = word_at(tree, last + 1)
    return alone and verb.lemma.lower() in _DONE_OUTSIDE and after in {"", ".", "in", "on", "with", "at", "and", "together"}


_DONE_OUTSIDE = frozenset("be play sit stand walk run eat work sleep dance exercise relax gather rest lie wait".split())


def _yes(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "yes" or "yeah" is an answer at the beginning."""
    return first == 0 and tree[first].pos in {"INTJ", "ADV", "NOUN", "PROPN", "X"}


def _not_after_be(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a phrase of cause is an adverbial of a clause: a noun follows, and neither "be" nor a noun is before."""
    before = tree[first - 1] if first else None
    copula = before is not None and (before.lemma.lower() in {"be", "not", "n't"} or before.text.lower() in BE_FORMS.values())
    listed = before is not None and before.text.lower() in {"only", "just", "partly", "largely", "mainly", "and", "or"}
    return not copula and not listed and tag_at(tree, last + 1) in {"DT", "NN", "NNS", "JJ", "NNP", "PRP$", "PRP"}


def _is_lower(tree: ParseTree, first: int, last: int) -> bool:
    """Whether the words have no capitals inside a sentence: those of a title are left alone."""
    inner = [node.text for node in tree.nodes[first : last + 1]]
    start = inner[0][:1].isupper() and not begins_sentence(tree, first)
    return not start and not any(word[:1].isupper() for word in inner[1:])


_AFTER_TWICE = ("as", "the", "that", "more", "weekly", "daily", "monthly", "-", "his", "their", "its", "her")
#: Phrases that say the same where their guards hold.
PAIRS: tuple[Pair, ...] = (
    Pair("beside", "next to", _has_object, _has_object),
    Pair("although", "though", _is_subordinator, _is_subordinator),
    Pair("although", "even though", _is_subordinator, _is_even_though),
    Pair("despite", "in spite of", _not_idiom("that", "its"), _not_idiom("it", "that")),
    *(
        Pair(f"{some}one", f"{some}body", _stands_alone, _stands_alone)
        for some in ("every", "some", "any")
    ),
    Pair("no one", "nobody", _stands_alone, _stands_alone),
    Pair("toward", "towards", _has_object, _has_object),
    Pair("among", "amongst", _has_object, _has_object),
    Pair("amid", "amidst", _has_object, _has_object),
    Pair("until", "till", _always, _not_idiom("the")),
    Pair("prior to", "before", _has_object, None),
    Pair("because of", "due to", _not_after_be, _not_after_be),
    Pair("in order to", "to", _of_purpose, _opens_purpose),
    Pair("so as to", "in order to", _of_purpose, None),
    Pair("nearly", "almost", _nearly, _before_quantity),
    Pair("about", "around", _before_amount, _before_amount),
    Pair("approximately", "about", _before_amount, _before_amount),
    Pair("roughly", "approximately", _before_amount, _before_amount),
    Pair("perhaps", "maybe", _always, _is_adverb),
    Pair("a lot of", "lots of", _not_negated, _not_negated),
    Pair("too", "as well", _ends_clause, _ends_clause),
    Pair("outside of", "outside", _is_preposition, None),
    Pair("inside of", "inside", _is_preposition, None),
    Pair("off of", "off", _is_preposition, None),
    Pair("in between", "between", _has_object, None),
    Pair("all of", "all", _all_of, _all_of),
    Pair("both of", "both", _all_of, None),
    Pair("while", "whilst", _joins_clauses, _joins_clauses),
    Pair("kind of", "sort of", _is_hedge, _is_hedge),
    Pair("kinds of", "sorts of", _always, _always),
    Pair("more than", "over", _exceeds, _exceeds),
    Pair("fewer than", "less than", _exceeds, None),
    Pair("every", "each", _before_time, _before_time),
    Pair("before", "prior to", _before_event, None),
    Pair("after", "following", _before_event, None),
    Pair("twice", "two times", _not_idiom(*_AFTER_TWICE), _not_idiom(*_AFTER_TWICE)),
    Pair("a bit", "a little", _grades, _grades),
    Pair("any longer", "anymore", _ends_denial, _ends_denial),
    Pair("once again", "once more", _always, _not_idiom("than")),
    Pair("soon after", "shortly after", _always, _always),
    Pair("adjacent to", "next to", _has_object, None),
    Pair("in the midst of", "amid", _has_plain_object, None),
    Pair("in the direction of", "toward", _has_plain_object, None),
    Pair("as long as", "so long as", _conditional, _conditional),
    Pair("aside from", "apart from", _opens_phrase, _opens_phrase),
    Pair("regarding", "concerning", _has_object, _has_object),
    Pair("owing to", "because of", _not_after_be, None),
    Pair("nevertheless", "nonetheless", _always, _always),
    Pair("consequently", "as a result", _opens_clause, _opens_clause),
    Pair("at first", "initially", _opens_clause, _opens_clause),
    Pair("in the meantime", "meanwhile", _opens_clause, _opens_clause),
    Pair("mostly", "mainly", _is_plain_adverb, _is_plain_adverb),
    Pair("exactly", "precisely", _is_plain_adverb, _is_plain_adverb),
    Pair("certainly", "definitely", _is_plain_adverb, _is_plain_adverb),
    Pair("right away", "immediately", _always, None),
    Pair("atop", "on top of", _has_plain_object, _has_plain_object),
    Pair("underneath", "under", _has_plain_object, None),
    Pair("near", "close to", _has_plain_object, None),
    Pair("each other", "one another", _always, _always),
    Pair("outdoors", "outside", _is_adverb, _outside),
    Pair("for example", "for instance", _always, _always),
    Pair("as if", "as though", _always, _always),
    Pair("in addition", "additionally", _opens_clause, _opens_clause),
    Pair("furthermore", "moreover", _opens_clause, _opens_clause),
    Pair("therefore", "thus", _opens_clause, _opens_clause),
    Pair("in addition to", "besides", _opens_phrase, None),
    Pair("with regard to", "in regard to", _always, _always),
    Pair("with regard to", "regarding", _always, None),
    Pair("instead of", "rather than", _always, None),
    Pair("upon", "on", _verb_before("base", "depend", "rely", "insist", "focus", "reflect"), None),
    Pair("on", "upon", _verb_before("depend", "rely", "insist"), None),
    Pair("often", "frequently", _is_plain_adverb, _is_plain_adverb),
    Pair("rarely", "seldom", _is_plain_adverb, _is_plain_adverb),
    Pair("primarily", "mainly", _is_plain_adverb, _is_plain_adverb),
    Pair("especially", "particularly", _is_plain_adverb, _is_plain_adverb),
    Pair("entirely", "completely", _is_plain_adverb, _is_plain_adverb),
    Pair("many", "numerous", _before_plural, _before_plural),
    Pair("per", "a", _rates, _rates),
    Pair("if", "whether", _asks, _asks),
    Pair("these days", "nowadays", _always, _always),
    Pair("yeah", "yes", _yes, _yes),
    Pair("afterwards", "afterward", _is_adverb, _is_adverb),
    Pair("backwards", "backward", _is_adverb, _is_adverb),
    Pair("upwards", "upward", _is_adverb, _is_adverb),
    Pair("downwards", "downward", _is_adverb, _is_adverb),
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
