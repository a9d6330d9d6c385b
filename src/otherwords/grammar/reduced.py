"""Relative clauses, full and reduced ("a man who is wearing a hat", "a man wearing a hat"), and their pronouns."""

from collections.abc import Iterator

from ..words.inflection import inflected
from .clauses import (
    EVENT_PARTICIPLES,
    FINITE,
    LIVING_STATES,
    MOVING_VERBS,
    NO_PROGRESSIVE,
    SIMPLE_PARTICIPLES,
    SIMPLE_VERBS,
    STATE_PARTICIPLES,
    has_odd_marks,
    is_spoken,
    number,
    tense,
)
from .parsing import ParseTree
from .phrases import BE_FORMS, PLACE_AND_TIME, SOMEONE, is_living, is_person, is_several, may_be_person
from .relative import RELATIVE
from .rewriting import Rewriting, rewrite_span

#: Clothes, which do not sit or stand themselves.
_WORN = {"hat", "shirt", "dress", "coat", "jacket", "suit", "uniform", "costume", "jeans", "cap", "skirt",
         "vest", "sweater", "outfit", "helmet"}  # fmt: skip
#: Verbs whose object and participle are two things: "kept a man waiting".
_SMALL_CLAUSES = {"keep", "leave", "get", "have", "set", "send", "catch", "find", "imagine", "want", "need",
                  "like", "hate", "love", "mind", "stop", "remember", "start", "hear", "feel"}  # fmt: skip
#: Prepositions whose noun a clause may describe; after others the participle may be a gerund: "about people leaving".
_BEFORE_NOUNS = PLACE_AND_TIME | {"to", "by", "toward", "towards"}
#: Nouns before "of" that name what they show, or a number of the things after "of".
_OF_WHAT = {"picture", "photo", "photograph", "image", "group", "crowd", "front", "line", "row", "bunch",
            "pair", "couple", "team", "top", "side"}  # fmt: skip
#: Singular nouns of which the noun after "of" has the clause: "a group of men who are".
_AMOUNTS = {"group", "crowd", "couple", "pair", "team", "bunch", "line", "row", "lot", "number", "band",
            "class", "gang"}  # fmt: skip
#: Nouns before "that" that are no things: "the way that he walks".
_NO_THING = {"way", "reason", "time", "day", "moment", "place", "fact", "extent", "degree", "point",
             "manner", "year", "week", "month", "one", "thing"}  # fmt: skip
#: What has a title or a name of its own, which may follow.
_TITLED = {"film", "movie", "book", "novel", "song", "album", "play", "show", "series", "musical", "poem", "magazine",
           "newspaper", "ship", "company", "firm", "band", "game", "opera", "story", "article"}  # fmt: skip
#: Before a noun that has one of these, "that" is usual and "which" is not.
_ONLY_THAT = {"all", "every", "any", "no", "each", "only", "first", "last", "next", "same", "very", "such"}
#: Words of texts without apostrophes and commas, in which a clause after a noun may be the main one.
_CHAT = {"u", "ur", "nt"}


def to_full_relative(tree: ParseTree) -> Iterator[Rewriting]:
    """Write out the pronoun and the form of "be" before a participle that follows its noun.

    >>> from .parsing import parser
    >>> text = "A man wearing a hat is reading."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in to_full_relative(ParseTree(text, nodes))]
    ['A man who is wearing a hat is reading.']
    """
    if has_odd_marks(tree):
        return
    for verb, node in enumerate(tree.nodes):
        if node.dep != "acl" or node.tag not in {"VBG", "VBN", "VBD"} or not _may_be_full(tree, verb):
            continue
        first = tree.subtree(verb)[0]
        noun = _described(tree, node.head, first)
        words = None if noun is None else _finite_words(tree, noun, verb)
        if noun is not None and words:
            who = is_person(tree, noun) and not is_several(tree, noun)
            new = f"{'who' if who else 'that'} {words}"
            yield rewrite_span(tree, "reduced to full relative", first, verb, new)


def to_reduced_relative(tree: ParseTree) -> Iterator[Rewriting]:
    """Leave out "who is" before a participle, where the tense is that of the main clause.

    >>> from .parsing import parser
    >>> text = "A man who is wearing a hat is reading."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in to_reduced_relative(ParseTree(text, nodes))]
    ['A man wearing a hat is reading.']
    """
    if has_odd_marks(tree):
        return
    for verb, node in enumerate(tree.nodes):
        if node.dep != "relcl" or not tree.contiguous(verb) or tree.children(verb, "neg"):
            continue
        pronoun, noun = tree.subtree(verb)[0], node.head
        left = [one for one in tree.children(verb) if one < verb]
        words = [tree[one].text.lower() for one in range(pronoun, verb + 1)]
        if left != list(range(pronoun, verb)) or words[0] not in RELATIVE or _described(tree, noun, pronoun) is None:
            continue
        if participle := _participle(tree, noun, verb, words[1:]):
            yield rewrite_span(tree, "full to reduced relative", pronoun, verb, participle)


def exchange_relativizer(tree: ParseTree) -> Iterator[Rewriting]:
    """Exchange "who" and "that" for people, "which" and "that" for things, in clauses without a comma.

    >>> from .parsing import parser
    >>> text = "He met a man who sings."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in exchange_relativizer(ParseTree(text, nodes))]
    ['He met a man that sings.']
    """
    if has_odd_marks(tree) or is_spoken(tree):
        return
    for verb, node in enumerate(tree.nodes):
        if node.dep != "relcl" or not tree.contiguous(verb):
            continue
        pronoun = tree.subtree(verb)[0]
        if pronoun != node.head + 1 or tree[pronoun + 1].text.startswith(("'", "’")):
            continue
        if new := _other_pronoun(tree, node.head, verb, pronoun):
            yield rewrite_span(tree, "relative pronoun", pronoun, pronoun, new)


def insert_relativizer(tree: ParseTree) -> Iterator[Rewriting]:
    """Put "that" before a relative clause that begins with its subject.

    >>> from .parsing import parser
    >>> text = "The book he bought is red."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in insert_relativizer(ParseTree(text, nodes))]
    ['The book that he bought is red.']
    """
    if not _CHAT.isdisjoint(node.text.lower() for node in tree.nodes):  # "if u dont have money u cant come"
        return
    for verb, first in _object_relatives(tree):
        plain = tree[first].text.lower() != "that" and not _may_be_one_phrase(tree, first)
        if plain and _begins_with_subject(tree, verb, first):
            yield rewrite_span(tree, "relative pronoun inserted", first, first, f"that {tree[first].text}")


def delete_relativizer(tree: ParseTree) -> Iterator[Rewriting]:
    """Leave out the "that" or "which" of a relative clause that has a subject of its own.

    >>> from .parsing import parser
    >>> text = "The book that he bought is red."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in delete_relativizer(ParseTree(text, nodes))]
    ['The book he bought is red.']
    """
    for verb, first in _object_relatives(tree):
        if tree[first].text in {"that", "which"} and _begins_with_subject(tree, verb, first + 1):
            yield rewrite_span(tree, "relative pronoun left out", first, first + 1, tree[first + 1].text)


def _may_be_one_phrase(tree: ParseTree, first: int) -> bool:
    """Whether noun and subject may be one phrase: "the weapon inspectors have had", "the film Jaws left"."""
    node, alone = tree[first], tree[first].dep in {"nsubj", "nsubjpass"} and len(tree.subtree(first)) == 1
    title = node.text[:1].isupper() and tree[first - 1].lemma.lower() in _TITLED
    bare = node.tag in {"NN", "NNS", "NNPS"} and node.lemma.lower() not in {"people", "other"} | SOMEONE
    return title or (alone and bare)


def _begins_with_subject(tree: ParseTree, verb: int, first: int) -> bool:
    return any(tree.subtree(one)[0] == first for one in tree.children(verb, "nsubj", "nsubjpass"))


def _has_tense(tree: ParseTree, verb: int) -> bool:
    return any(tree[one].tag in FINITE for one in [verb, *tree.children(verb, "aux", "auxpass")])


def _is_no_clause(tree: ParseTree, verb: int) -> bool:
    """Whether a clause after a noun is a filler or a quotation: "i guess", "with the words Masada shall not fall"."""
    filler = tree[verb].lemma in {"guess", "think", "know", "mean", "suppose", "say", "believe", "hope"}
    return (filler and len(tree.subtree(verb)) == 2) or tree[tree[verb].head].lemma in {
        "word",
        "motto",
        "slogan",
        "title",
    }


def _object_relatives(tree: ParseTree) -> Iterator[tuple[int, int]]:
    """Relative clauses with a subject of their own, right after their noun; each with its first node."""
    for verb, node in enumerate([] if is_spoken(tree) or _may_be_cleft(tree) else tree.nodes):
        subjects = tree.children(verb, "nsubj", "nsubjpass")
        if node.dep != "relcl" or not tree.contiguous(verb) or has_odd_marks(tree) or len(subjects) != 1:
            continue
        first, [subject] = tree.subtree(verb)[0], subjects
        if first == node.head + 1 and tree[node.head].pos == "NOUN" and subject < verb and tree.contiguous(subject):
            if (tree[node.head].dep == "pobj" and tree[node.head].head == 0) or _is_no_clause(tree, verb):
                continue  # "As a young man he was"
            question = any(tree[one].tag in {"WP", "WDT", "WP$", "WRB"} for one in tree.subtree(subject))
            if not question and tree[node.head].lemma.lower() not in _AMOUNTS and _has_tense(tree, verb):
                yield verb, first


def _may_be_cleft(tree: ParseTree) -> bool:
    """Whether "that" may belong to "it is": "it was only after leaving the shop that he noticed"."""
    return any(
        node.text.lower() == "it" and node.dep in {"nsubj", "expl"} and tree[node.head].lemma == "be"
        for node in tree.nodes
    )


# Reduced relatives


def _may_be_full(tree: ParseTree, verb: int) -> bool:
    """Whether a participle describes the noun before it, and nothing but "being" comes before it in its clause."""
    noun, left = tree[verb].head, [one for one in tree.children(verb) if one < verb]
    if not tree.contiguous(verb) or [tree[one].text.lower() for one in left] not in ([], ["being"]):
        return False
    if tree[noun].head == noun or tree[noun].dep in {"conj", "appos", "npadvmod", "ROOT"}:
        return False  # the whole text is a caption
    if (
        tree[noun].dep in {"nsubj", "nsubjpass"}
        and noun > tree[noun].head
        and "there" not in tree.words(tree[noun].head)
    ):
        return False  # "nor are auditors required to"
    if not tree[noun].text.isalpha() or any(one < verb for one in tree.children(noun, "conj", "cc")):
        return False
    made = tree[noun].dep == "dobj" and tree[tree[noun].head].lemma in _SMALL_CLAUSES  # "had a lamp installed"
    made |= tree[noun].dep == "pobj" and tree[tree[noun].head].text.lower() == "with"  # "with all work suspended"
    allowed = _governor_allows(tree, noun) if tree[verb].tag == "VBG" else not made
    return allowed and not _is_apart(tree, noun)


def _is_apart(tree: ParseTree, noun: int) -> bool:
    """Whether a comma is between a noun and the verb above it, so that the verb may not be the noun's."""
    above = tree[noun].head
    while tree[above].head != above and tree[above].pos not in {"VERB", "AUX"}:
        above = tree[above].head
    inside = set(tree.subtree(noun))
    between = range(min(above, noun), max(above, noun))
    return any(tree[one].text == "," and one not in inside for one in between)


def _governor_allows(tree: ParseTree, noun: int) -> bool:
    """Whether the word above a noun takes a thing, and not what happens with it."""
    above = tree[tree[noun].head]
    if tree[noun].dep == "pobj":
        of_what = above.text.lower() == "of" and tree[above.head].lemma.lower() in _OF_WHAT
        return above.text.lower() in _BEFORE_NOUNS or of_what
    return tree[noun].dep in {"nsubj", "nsubjpass", "attr"} or (
        tree[noun].dep == "dobj" and above.lemma not in _SMALL_CLAUSES
    )


def _described(tree: ParseTree, noun: int, first: int) -> int | None:
    """The noun that a clause beginning at a node describes; None where it may be another than the parser says."""
    if tree[noun].pos not in {"NOUN", "PRON"} or tree[noun].tag.startswith("PRP"):
        return None
    if first == noun + 1:
        return noun
    between = range(noun + 1, first)
    inside = {one for prep in tree.children(noun, "prep") for one in tree.subtree(prep)}
    nouns = [one for one in between if tree[one].pos in {"NOUN", "PROPN", "PRON"}]
    if not set(between) <= inside or not nouns:
        return None
    if tree[noun + 1].text.lower() == "of" and tree[noun].lemma.lower() in _AMOUNTS and nouns == [first - 1]:
        return nouns[0]
    apart = is_person(tree, noun) and not any(is_living(tree, one) or tree[one].named for one in nouns)
    return noun if apart and "of" not in tree.words(noun) else None


def _finite_words(tree: ParseTree, noun: int, verb: int) -> str | None:
    """A participle with the form of "be" that its noun and the tense need, or the simple form of a state."""
    plural, when = number(tree, noun), tense(tree, tree[verb].head)
    if plural is None or not when:
        return None
    word, lemma = tree[verb].text.lower(), tree[verb].lemma.lower()
    if tree[verb].tag != "VBG":
        return _passive_words(tree, verb, plural, when)
    if lemma in SIMPLE_VERBS and not (lemma == "read" and is_living(tree, noun)):
        return inflected(lemma, "VBD" if when == "past" else "VBP" if plural else "VBZ")
    alone = tree[noun].dep in {"nsubj", "nsubjpass", "attr"} and not tree.children(verb, "dobj", "attr")
    moves = lemma in MOVING_VERBS and alone and tree[noun].lemma.lower() not in _WORN
    goes_on = lemma not in NO_PROGRESSIVE and (is_living(tree, noun) or moves)
    return f"{BE_FORMS[when, plural]} {word}" if goes_on else None


def _passive_words(tree: ParseTree, verb: int, plural: bool, when: str) -> str | None:
    word = tree[verb].text.lower()
    if tree.children(verb, "auxpass"):
        return f"{BE_FORMS[when, plural]} being {word}"
    noun, right = tree[verb].head, [one for one in tree.children(verb) if one > verb]
    dated = any(one.tag == "CD" or one.text == "ago" for one in (tree[at] for at in tree.subtree(verb)))
    if not right or (is_living(tree, noun) and word not in STATE_PARTICIPLES and not tree.children(verb, "agent")):
        return None  # "the price people paid"
    if word in LIVING_STATES and not is_living(tree, noun):
        return None
    purpose = word == "used" and bool(tree.children(verb, "xcomp"))  # and not "beaches used in the war"
    if when == "past" or purpose or (word in STATE_PARTICIPLES and not dated):
        return f"{BE_FORMS[when, plural]} {word}"
    return f"was {word}" if word in EVENT_PARTICIPLES and not plural else None


def _participle(tree: ParseTree, noun: int, verb: int, words: list[str]) -> str | None:
    """What is left of a clause's verb: the participle after "is", "-ing" for the simple form of a state."""
    when, event = tense(tree, noun), words[-1] in EVENT_PARTICIPLES
    own = "past" if tree[verb].tag == "VBD" or words[0] in {"was", "were"} else "present"
    many = words[0] in {"are", "were"} if words[0] in BE_FORMS.values() else number(tree, noun)
    if number(tree, noun) is not many:
        return None  # "the site that were organized"
    if tree[noun].dep == "ROOT" or (own != when and not (event and own == "past")):
        return None
    match [*words[:-1], tree[verb].tag]:
        case ["is" | "are" | "was" | "were", "VBG"] if tree[verb].lemma not in NO_PROGRESSIVE:
            return words[-1]
        case ["is" | "are" | "was" | "were", "being", "VBN"]:
            return f"being {words[-1]}"
        case ["is" | "are" | "was" | "were", "VBN" | "VBD" | "JJ"] if (
            own == when == "past" or event or words[-1] in STATE_PARTICIPLES | {"used"}
        ):
            return words[-1]
        case ["VBZ" | "VBP" | "VBD"] if tree[verb].lemma in SIMPLE_PARTICIPLES:
            return inflected(tree[verb].lemma, "VBG")
    return None


# Pronouns


def _other_pronoun(tree: ParseTree, noun: int, verb: int, pronoun: int) -> str | None:
    """The other pronoun that a clause may have; None where only one is usual, or the clause may be no relative one."""
    if tree[noun].pos != "NOUN" or tree[noun].lemma.lower() in _NO_THING or tree[noun].text[:1].isupper():
        return None
    if any(node.text.lower() == "it" and node.dep in {"nsubj", "expl"} for node in tree.nodes):
        return None  # "it is the man that sings"
    word, subject = tree[pronoun].text, tree[pronoun].dep in {"nsubj", "nsubjpass"}
    if any(tree[one].text.lower() == word for one in tree.subtree(verb) if one > pronoun):
        return None  # "a man that sings and that dances"
    person, plain = is_person(tree, noun), not _ONLY_THAT & set(tree.words(noun))
    match word:
        case "who":
            return "that" if person and subject else None
        case "which":
            return "that"
        case "that" if person:
            return "who" if subject else None
        case "that" if subject or tree[pronoun].dep == "dobj":
            return "which" if plain and not may_be_person(tree, noun) else None
    return None
