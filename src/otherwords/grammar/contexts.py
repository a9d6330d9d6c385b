"""Where a closed-class word or phrase may be replaced: what must be before it, after it, or above it in the tree."""

from .parsing import ParseTree
from .phrases import BE_FORMS
from .rewriting import begins_sentence, is_lower_in_wordnet
from .substituting import Guard, tag_at, word_at

_NEGATIONS = {"not", "n't", "no", "never", "nobody", "nothing", "none", "neither", "nor", "without", "hardly"}
_UNITS_OF_TIME = {"second", "minute", "hour", "day", "week", "month", "year", "night"}
_EVENT_NOUNS = """
    war meeting dinner lunch breakfast game match class exam test flight trip wedding election event race noon
    midnight sunrise sunset arrival departure surgery concert show party performance competition ceremony interview
    conference accident attack earthquake storm death birth revolution
"""
_EVENTS = frozenset(_EVENT_NOUNS.split())
_TIME_NOUNS = """
    day week month year night morning evening afternoon summer winter spring monday tuesday wednesday thursday friday
    saturday sunday weekend
"""
_DAYS = frozenset(_TIME_NOUNS.split())


def is_preposition(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "outside of" is no noun: not "the outside of"."""
    return tag_at(tree, first - 1) not in {"DT", "JJ", "PRP$"} and has_plain_object(tree, first, last)


def joins_clauses(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "while" opens a clause or what is left of one."""
    return tree[first].dep == "mark" and tag_at(tree, first - 1) not in {"DT", "JJ"} and word_at(tree, last + 1) != ","


def is_hedge(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "kind of" has something after it, and is not praise: "kind of you"."""
    return tag_at(tree, last + 1) not in {"PRP", ""} and tree[first].pos != "ADJ"


def exceeds(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a number of things, not a time span, follows "more than" or "over"."""
    number = last + 2 if tag_at(tree, last + 1) == "$" else last + 1
    if tag_at(tree, number) != "CD" or word_at(tree, number) in {"one", "half"} or _is_year(word_at(tree, number)):
        return False
    span = {node.lemma.lower() for node in tree.nodes[number : number + 4]} & {
        *_UNITS_OF_TIME,
        "decade",
        "century",
        "p.m.",
        "pm",
    }
    graded = word_at(tree, first - 1) in {
        "no",
        "not",
        "little",
        "much",
        "any",
        "n't",
        "just",
        "all",
        "ever",
        "well",
        "or",
    }
    counted = tree[last].dep in {"quantmod", "advmod", "nmod"} or tree[last].text.lower() == "than"
    counted = counted and not (first > 0 and tree[first - 1].lemma.lower() in _ACROSS)
    counted = counted and not (
        tree[last].text.lower() == "over" and tag_at(tree, first - 1) in {"NN", "NNS"}
    )  # a bridge
    return counted and not span and not graded and word_at(tree, number + 1) not in {"to", "or", "-", "million-dollar"}


#: After these, "over" may be a place: "extends over 3 square miles".
_ACROSS = {"extend", "spread", "stretch", "range", "fly", "jump", "leap", "run", "hang", "tower", "look", "rule",
           "preside", "vary", "scatter", "distribute", "occur"}  # fmt: skip


def before_time(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a unit of time follows, as in "every day"; "nearly each day" cannot be said."""
    nearly = word_at(tree, first - 1) in {"almost", "nearly", "virtually", "not", "just", "on"}
    return (
        word_at(tree, last + 1) in _DAYS and not nearly and tag_at(tree, last + 2) not in {"NN", "NNS", "POS", "HYPH"}
    )


def twice(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "twice" counts an event, and grades neither an amount nor a participle: "the twice elected mayor"."""
    return word_at(tree, last + 1) not in _AFTER_TWICE and not tag_at(tree, last + 1).startswith(("V", "J"))


_AFTER_TWICE = {"as", "the", "that", "more", "weekly", "daily", "monthly", "-", "his", "their", "its", "her"}


def before_event(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a plain event, not a clause, is the object: "before the meeting"."""
    objects = tree.children(first, "pobj")
    plain = len(objects) == 1 and tree[objects[0]].lemma.lower() in _EVENTS and objects[0] - last <= 3
    graded = tag_at(tree, first - 1) in {"RB", "NN", "NNS", "JJ", "CD", "IN"} and not begins_sentence(tree, first)
    return plain and not graded and tree[first].dep == "prep"


def grades(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "a bit" says how much an adjective or adverb holds: "a bit tired"."""
    graded = {"not", "n't", "quite", "just", "every"}
    return (
        tag_at(tree, last + 1) in {"JJ", "JJR", "RBR"}
        and word_at(tree, first - 1) not in graded
        and tree[last].dep in {"npadvmod", "advmod"}
    )


def ends_denial(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "anymore" ends a clause with a negation."""
    ends = last + 1 == len(tree.nodes) or tree[last + 1].pos == "PUNCT" or word_at(tree, last + 1) in {"because", "and"}
    return ends and any(node.text.lower() in {"not", "n't", "nobody"} for node in tree.nodes[:first])


def conditional(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a clause follows "as long as": not a length or a time."""
    before = tag_at(tree, first - 1) in {"VBZ", "VBP", "VBD", "VB", "RB"} or word_at(tree, first - 1) == "for"
    able = {"can", "could"} & {word_at(tree, at) for at in (last + 2, last + 3)}  # "as long as you can"
    return tag_at(tree, last + 1) in {"PRP", "EX"} and not before and not able


def opens_phrase(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a phrase begins the sentence, or follows a comma."""
    return begins_sentence(tree, first) or word_at(tree, first - 1) == ","


def always(tree: ParseTree, first: int, last: int) -> bool:
    """A phrase that may be replaced wherever it stands."""
    return True


def has_object(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a preposition has a noun phrase after it, not "himself" or "that"."""
    objects = [one for at in range(first, last + 1) for one in tree.children(at, "pobj") if one > last]
    return (
        len(objects) == 1
        and tree[objects[0]].tag in {"NN", "NNS", "NNP", "NNPS", "PRP"}
        and not _reflexive(tree[objects[0]].text)
    )


def _reflexive(word: str) -> bool:
    return word.lower().endswith(("self", "selves"))


def has_plain_object(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a preposition has a thing with an article or a possessor as its object: a place, not an idiom."""
    objects = [one for at in range(first, last + 1) for one in tree.children(at, "pobj") if one > last]
    if len(objects) != 1 or tree[objects[0]].tag not in {"NN", "NNS", "NNP"}:
        return False
    return bool(tree.children(objects[0], "det", "poss")) and tree[objects[0]].text.lower() not in _NO_PLACES


_NO_PLACES = {"point", "end", "beginning", "death", "tears", "truth", "heart", "mark", "matter", "case", "question"}


def is_subordinator(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a word opens a subordinate clause, at the beginning or after a comma."""
    opens = begins_sentence(tree, first) or word_at(tree, first - 1) in {",", ";", "—", "--", "(", "and", "but"}
    return opens and tree[last].dep == "mark" and word_at(tree, last + 1) not in {",", ".", "", "not"}


def is_until(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "till" is no till, and no title: "the old till was faster"."""
    return tree[first].tag == "IN" and word_at(tree, last + 1) != "the" and not tag_at(tree, last + 1).startswith("V")


def is_even_though(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "even though" opens a clause."""
    return tree[last].dep == "mark"


def stands_alone(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "no one" and its like are a pronoun, and the whole of a phrase: not "no one man", "a nobody"."""
    word, tag = word_at(tree, last + 1), tag_at(tree, last + 1)
    if word == "of" or (tag in {"NN", "NNS", "JJ", "NNP"} and word != "else"):
        return False
    return tag_at(tree, first - 1) not in {"DT", "JJ", "PRP$", "POS", "NN"}


def before_quantity(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a number or a word for all comes after it."""
    negated = word_at(tree, first - 1) in {"not", "n't", "very", "pretty", "so"}
    word = word_at(tree, last + 1)
    known = word in {"all", "every", "everyone", "everybody", "everything", "half", "always", "everywhere", "identical",
                     "impossible", "as", "complete", "finished", "dead", "done"}  # fmt: skip
    return not negated and (known or tag_at(tree, last + 1) == "CD")


def nearly(tree: ParseTree, first: int, last: int) -> bool:
    """Whether nothing grades or denies "nearly"."""
    return (
        word_at(tree, first - 1) not in {"not", "n't", "very", "pretty", "so"} and word_at(tree, last + 1) != "enough"
    )


#: After these, "about" opens a topic.
_OF_A_TOPIC = {"just", "for", "not", "talk", "talking", "talked", "talks", "know", "knows", "write", "wrote", "read"}


def before_amount(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "about" and its like make a number vague; "a film about two men" is no such case."""
    number = tag_at(tree, last + 1) == "CD" and not _is_year(word_at(tree, last + 1))
    vague = tree[last].dep in {"advmod", "quantmod"}
    topic = tag_at(tree, first - 1) in {"NN", "NNS", "NNP", "NNPS", "RB"} or word_at(tree, first - 1) in _OF_A_TOPIC
    return number and vague and not topic


def _is_year(word: str) -> bool:
    return word.isdigit() and len(word) == 4


def not_idiom(*following: str) -> Guard:
    """A guard against some words after the phrase."""

    def guard(tree: ParseTree, first: int, last: int) -> bool:
        return word_at(tree, last + 1) not in following

    return guard


def is_adverb(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a word is an adverb of a verb or an adjective, without a negation before it."""
    noun = tag_at(tree, first - 1) in {"DT", "PRP$"}  # "a maybe", "the outdoors"
    return tree[last].dep == "advmod" and tree[last].tag == "RB" and not noun and not _is_negated(tree, first)


def is_time_adverb(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a phrase says when: "he works at home these days", not "these days are special"."""
    return tree[last].dep in {"npadvmod", "advmod"}


def is_plain_adverb(tree: ParseTree, first: int, last: int) -> bool:
    """Whether an adverb has nothing beside it that grades it: "more often than not", "how often"."""
    graded = {
        "more",
        "most",
        "how",
        "less",
        "as",
        "so",
        "too",
        "than",
        "every",
        "very",
        "not",
        "n't",
        "quite",
        "almost",
    }
    after = {"than", "as", "enough", ",", "and", "or", "but"}
    return (
        tree[last].dep == "advmod" and word_at(tree, first - 1) not in graded and word_at(tree, last + 1) not in after
    )


def _is_negated(tree: ParseTree, at: int) -> bool:
    return any(node.text.lower() in _NEGATIONS for node in tree.nodes[max(0, at - 6) : at])


def not_negated(tree: ParseTree, first: int, last: int) -> bool:
    """Whether there is no negation in the sentence, and nothing grades the phrase."""
    graded = {"whole", "quite", "such", "awful", "and", "what", "just"}
    grading = bool(graded & {word_at(tree, first - 1), word_at(tree, last + 1)})
    compound = tag_at(tree, first - 1) in {"NN", "NNP"}
    return not grading and not compound and not any(node.text.lower() in _NEGATIONS for node in tree.nodes)


def before_plural(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "many" or "numerous" is before its plural noun, with nothing that grades it."""
    noun = tree[first].head
    graded = word_at(tree, first - 1) in {
        "so",
        "too",
        "as",
        "how",
        "very",
        "not",
        "that",
        "this",
        "n't",
        "great",
        "good",
    }
    plain = tree[first].dep == "amod" and tree[noun].tag == "NNS" and 0 < noun - last <= 3
    vague = tree[noun].lemma.lower() in {"dozen", "hundred", "thousand", "million", "billion"}
    return plain and not graded and not vague and word_at(tree, last + 1) not in {"more", "such", "other", "of"}


def all_of(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "all of" comes before an article or possessor and a plural noun."""
    determiner = last + 1 < len(tree.nodes) and (tree[last + 1].tag == "PRP$" or word_at(tree, last + 1) in _THE)
    return determiner and tag_at(tree, first - 1) not in {"NN", "NNS", "PRP"} and _noun_after(tree, last + 2) == "NNS"


_THE = {"the", "these", "those"}


def _noun_after(tree: ParseTree, at: int) -> str:
    """The tag of the noun that some adjectives lead to."""
    while tag_at(tree, at) in {"JJ", "CD", "NN"} and tag_at(tree, at + 1) in {"JJ", "NN", "NNS"}:
        at += 1
    return tag_at(tree, at)


def opens_clause(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a connective begins the sentence, and a comma is behind it."""
    return begins_sentence(tree, first) and word_at(tree, last + 1) == ","


def ends_clause(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "too" or "as well" ends the sentence."""
    ends = last + 1 == len(tree.nodes) or word_at(tree, last + 1) in {".", "!"}
    return ends and tag_at(tree, first - 1) not in {"RB", "MD", "VB", "JJ"} and not _has_comparison(tree)


def _has_comparison(tree: ParseTree) -> bool:
    return any(node.text.lower() in {"just", "might", "may", "as", *_NEGATIONS} for node in tree.nodes[:-3])


def of_purpose(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a verb follows "in order to", so that "to" alone says the same."""
    return tag_at(tree, last + 1) == "VB" and word_at(tree, first - 1) not in {"is", "was", "are", "were", "be", "not"}


def opens_purpose(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "to" opens a sentence with a purpose, and a comma ends it: "To win, he ran"."""
    verb = last + 1
    if not begins_sentence(tree, first) or tag_at(tree, verb) != "VB" or tree[verb].dep != "advcl":
        return False
    comma = any(node.text == "," for node in tree.nodes[verb : tree[verb].head]) and tree[verb].head > verb
    return comma and tree[verb].lemma.lower() not in _COMMENTS


_COMMENT_VERBS = "be tell say begin start put sum quote judge hear see name make give take add cap top recap conclude"
#: Verbs after "to" at the beginning of a sentence that tell no purpose: "To be sure, ...".
_COMMENTS = frozenset(_COMMENT_VERBS.split())


def verb_before(*verbs: str) -> Guard:
    """A guard that wants a form of one of some verbs right before the preposition."""

    def guard(tree: ParseTree, first: int, last: int) -> bool:
        return first > 0 and tree[first - 1].lemma.lower() in verbs and tree[first].dep in {"prep", "prt"}

    return guard


def rates(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "per" or "a" comes between counted things and a unit of time: "three times a day"."""
    counted = tag_at(tree, first - 1) == "NNS" and tag_at(tree, first - 2) in {"CD", "JJ"}
    unit = word_at(tree, last + 1) in _UNITS_OF_TIME and tag_at(tree, last + 2) not in {"NN", "NNS", "HYPH"}
    return counted and unit and word_at(tree, first - 2) != "few"


def asks(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "if" or "whether" follows a verb of asking, so that it opens an indirect question."""
    after = word_at(tree, last + 1)
    asking = (
        first > 0 and tree[first - 1].lemma.lower() in {"ask", "wonder", "inquire"} and tree[first - 1].pos == "VERB"
    )
    either = any(node.text.lower() == "or" for node in tree.nodes[last:])
    return asking and not either and after not in {"to", "or", "not"} and tree[first].dep == "mark"


def outside(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "outside" is an adverb of a verb of being or doing somewhere, without an object."""
    verb = tree[tree[first].head]
    alone = tree[first].dep == "advmod" and not tree.children(first)
    after = word_at(tree, last + 1)
    return (
        alone
        and verb.lemma.lower() in _DONE_OUTSIDE
        and after in {"", ".", "in", "on", "with", "at", "and", "together"}
    )


_OUTSIDE_VERBS = "be play sit stand walk run eat work sleep dance exercise relax gather rest lie wait"
#: What is done outside is done outdoors.
_DONE_OUTSIDE = frozenset(_OUTSIDE_VERBS.split())


def yes(tree: ParseTree, first: int, last: int) -> bool:
    """Whether "yes" or "yeah" is an answer at the beginning, to nobody who is called "sir"."""
    polite = word_at(tree, last + 2) in {"sir", "madam", "ma'am", "mr.", "mrs.", "ms.", "lord", "your", "my", "father"}
    return first == 0 and tree[first].pos in {"INTJ", "ADV", "NOUN", "PROPN", "X"} and not polite


def not_after_be(tree: ParseTree, first: int, last: int) -> bool:
    """Whether a phrase of cause is an adverbial of a clause: a noun follows, and neither "be" nor a noun is before."""
    before = tree[first - 1] if first else None
    copula = before is not None and (
        before.lemma.lower() in {"be", "not", "n't"} or before.text.lower() in BE_FORMS.values()
    )
    listed = before is not None and before.text.lower() in {"only", "just", "partly", "largely", "mainly", "and", "or"}
    return not copula and not listed and tag_at(tree, last + 1) in {"DT", "NN", "NNS", "JJ", "NNP", "PRP$", "PRP"}


def is_lower(tree: ParseTree, first: int, last: int) -> bool:
    """Whether the words have no capitals inside a sentence: those of a title are left alone."""
    inner = [node.text for node in tree.nodes[first : last + 1]]
    capital = inner[0][:1].isupper()
    inside = capital and not begins_sentence(tree, first)
    after = [node.text for node in tree.nodes[last + 1 : last + 4] if node.text[:1].isupper() and node.text != "I"]
    title = capital and any(is_lower_in_wordnet(word.lower()) for word in after)  # "Maybe I'm Amazed is a song"
    return not inside and not title and not any(word[:1].isupper() for word in inner[1:])
