"""What the rules of `structural.v1` overlook, found by reading what they made of MNLI: a guard for each of them.

A guard is asked about a rewriting before it becomes a draft. It gives it back, or a better one, or None.
"""

import re
from collections.abc import Callable, Iterator

from ..words.lexicon import lexicon
from .clauses import MONTHS
from .parsing import ParseTree
from .phrases import PEOPLE, is_bare_being, is_person, is_several, is_someone
from .rewriting import Rewriting, is_lower_in_wordnet

#: Verbs after which a noun and a bare infinitive may look like one noun: "watches the dogs run".
_PERCEIVE = {"see", "hear", "watch", "feel", "notice", "observe", "spot", "witness"}
#: These may be verbs, but are what people watch.
_WATCHED = {"show", "race", "match", "film", "play"}
#: Objects that say how something is done.
_MANNER = {"style", "solo", "barefoot", "shirtless", "acapella", "freestyle"}
#: Verbs that have an object in old books only.
_NO_OBJECT = {"work"}
#: Titles of several people.
_TITLES = {
    "messrs",
    "messrs.",
    "drs",
    "drs.",
    "profs",
    "profs.",
    "sens",
    "sens.",
    "reps",
    "reps.",
    "brothers",
    "sisters",
}
#: Relations of a verb's subject.
_SUBJECTS = ("nsubj", "nsubjpass", "expl", "csubj")
#: "A huge deal" is not a deal that is huge.
_NO_QUALITY = {"deal", "matter", "mess", "ticket", "fan"}
_ABSTRACT = """
    access agreement anger attack article ban belief book change claim confidence cut data deal debate decline decrease
    demand drop effect embargo emphasis essay experience faith focus growth hold impact improvement increase influence
    information interest investment law lecture limit need opinion paper participation perspective policy progress
    reduction report resource restriction rise role rule sale sanction share speech stake study support talk tax threat
    trade trust view war
"""
#: Nouns to which a phrase with "on", "at" or "in" after them belongs: "a book on wine", "anger at the state".
_WITH_PHRASE = frozenset(_ABSTRACT.split())
#: Verbs for what is so, and does not happen at a place.
_STATES = {"affect", "capture", "control", "describe", "determine", "explain", "govern", "influence", "own", "reflect",
           "require", "simulate", "support", "understand"}  # fmt: skip
#: Verbs with a phrase after them that the parser may take for a vague number: "talked about ten men".
_TOPICAL = {"talk", "think", "speak", "dream", "know", "care", "worry", "hear", "read", "write", "learn", "ask",
            "argue", "go", "walk", "run", "jump", "leap", "fly", "climb", "look", "drive", "step", "crawl"}  # fmt: skip
_VAGUE = {"about", "around", "over", "under"}
#: What is given, but not to somebody: "give me a minute".
_TIMES = {"second", "minute", "hour", "day", "week", "month", "year", "moment", "couple", "while"}

Guard = Callable[[ParseTree, Rewriting, list[int]], Rewriting | None]


def guarded(
    rule: Callable[[ParseTree], Iterator[Rewriting]], guard: Guard
) -> Callable[[ParseTree], Iterator[Rewriting]]:
    """A rule whose rewritings pass a guard, which also gets the nodes of the stretch that is rewritten."""

    def rewriter(tree: ParseTree) -> Iterator[Rewriting]:
        for one in rule(tree):
            end = one.at + len(one.before)
            inside = [at for at, node in enumerate(tree.nodes) if one.at <= node.start < end]
            if passed := guard(tree, one, inside):
                yield passed

    return rewriter


# Adjectives that become clauses


def guard_clause(tree: ParseTree, one: Rewriting, inside: list[int]) -> Rewriting | None:
    """Not idioms, names, or a tense that is unclear; "who" for persons.

    >>> from .parsing import parser
    >>> from .relative import to_clause
    >>> text = "The tall senator loves big business."
    >>> [nodes] = parser()([text])
    >>> [made.apply(text) for made in guarded(to_clause, guard_clause)(ParseTree(text, nodes))]
    ['The senator who is tall loves big business.']
    """
    noun = inside[-1]
    adjective = min(tree.children(noun, "amod"))
    if _is_expression(tree, adjective, noun) or _has_odd_form(tree, adjective, noun):
        return None
    if not _is_before_own_verb(tree, noun) or not _has_clear_tense(tree, noun):
        return None
    if is_person(tree, noun) and not is_several(tree, noun):
        return one._replace(after=re.sub(r" that (?=(?:is|are|was|were) \S+$)", " who ", one.after))
    return one


def _is_expression(tree: ParseTree, adjective: int, noun: int) -> bool:
    """Whether WordNet has adjective and noun as one word; "old man" means what it says."""
    words = f"{tree[adjective].text.lower()} {tree[noun].lemma.lower()}"
    known = lexicon().knows(words, "n") and not is_someone(tree, noun)
    return known or tree[noun].lemma.lower() in _NO_QUALITY


def _has_odd_form(tree: ParseTree, adjective: int, noun: int) -> bool:
    """Whether one of both has a capital of its own, or the noun is tagged as a plural and is none."""
    capital = adjective > 0 and tree[adjective].text[:1].isupper() and tree[adjective - 1].text not in {".", '"', "“"}
    node = tree[noun]
    plural = node.text.lower() in PEOPLE or node.text.lower() != node.lemma.lower()
    return capital or node.text[:1].isupper() or (node.tag == "NNS" and not plural)


def _is_before_own_verb(tree: ParseTree, noun: int) -> bool:
    """Whether a verb after the noun is the noun's, and no participle: "a small town called Oz", "known as"."""
    after = noun + 1
    if after == len(tree.nodes) or tree[after].pos not in {"VERB", "AUX"}:
        return True
    subject = noun
    while tree[subject].dep not in _SUBJECTS and tree[subject].head != subject:
        subject = tree[subject].head
    own = tree[subject].dep in _SUBJECTS and tree[subject].head in {after, tree[after].head}
    return own and not (tree[after].tag == "VBD" and after + 1 < len(tree.nodes) and tree[after + 1].text == "as")


def _has_clear_tense(tree: ParseTree, noun: int) -> bool:
    """Whether the next verb above the noun that has a tense also has a subject, so that it is no participle."""
    at = noun
    while tree[at].head != at:
        at = tree[at].head
        if tree[at].tag in {"VBD", "VBZ", "VBP"} or tree.children(at, "aux", "auxpass"):
            break
    while tree[at].dep == "conj" and not tree.children(at, *_SUBJECTS) and tree[at].pos in {"VERB", "AUX"}:
        at = tree[at].head
    return tree[at].tag != "VBD" or bool(tree.children(at, *_SUBJECTS))


# Passives


def guard_passive(tree: ParseTree, one: Rewriting, inside: list[int]) -> Rewriting | None:
    """Not what one sees somebody do ("watches the dogs run"), nor how ("sings solo"), nor "by man" without an article.

    >>> from .parsing import parser
    >>> from .voice import to_passive
    >>> text = "The band is performing punk style."
    >>> [nodes] = parser()([text])
    >>> list(guarded(to_passive, guard_passive)(ParseTree(text, nodes)))
    []
    """
    for thing in (at for at in inside if tree[at].dep == "dobj" and tree[tree[at].head].dep == "ROOT"):
        verb, noun, first = (tree[at] for at in (tree[thing].head, thing, tree.subtree(thing)[0]))
        if verb.lemma in _NO_OBJECT or noun.lemma.lower() in _MANNER:
            return None
        if any(is_bare_being(tree, at) for at in tree.children(tree[thing].head, "nsubj")):
            return None  # "Man examines a car"
        if verb.lemma in _PERCEIVE and tree.children(thing, "compound") and _may_be_infinitive(noun.text.lower()):
            return None
        if first.text.islower() and first.pos in {"NOUN", "ADJ", "VERB", "X"} and not lexicon().knows(first.text):
            return None  # "is working wiht eggs"
        topic = first.text.lower() in _VAGUE and verb.lemma in _TOPICAL
        if topic or _is_expression_of_verb(tree, thing) or _has_own_phrase(tree, thing):
            return None
    return None if _is_firm(tree, one) else one


def guard_active(tree: ParseTree, one: Rewriting, inside: list[int]) -> Rewriting | None:
    """Not what the active voice would make an expression of: "the bucket was kicked by the man".

    >>> from .parsing import parser
    >>> from .voice import to_active
    >>> text = "The bucket was kicked by the man."
    >>> [nodes] = parser()([text])
    >>> list(guarded(to_active, guard_active)(ParseTree(text, nodes)))
    []
    """
    things = [at for at in inside if tree[at].dep == "nsubjpass"]
    return None if any(_is_expression_of_verb(tree, thing) for thing in things) else one


def _is_expression_of_verb(tree: ParseTree, thing: int) -> bool:
    """Whether WordNet has the verb with its object as one word: "kick the bucket"."""
    words = [tree[at].text.lower() for at in tree.subtree(thing)]
    return lexicon().knows(" ".join([tree[tree[thing].head].lemma, *words]), "v")


def _is_firm(tree: ParseTree, one: Rewriting) -> bool:
    """Whether what is rewritten begins with a word joined to a name, whose capital it needs: "Marks and Spencer"."""
    joined = len(tree.nodes) > 2 and tree[1].text.lower() in {"and", "&"}
    return one.at == 0 and joined and not tree[0].named and tree[2].named


def _has_own_phrase(tree: ParseTree, thing: int) -> bool:
    """Whether a phrase that the parser gives to the verb may belong to the object before it.

    A state ("affects the resources in government") has no place of its own, unlike what goes on, but it has a time.
    """
    verb = tree[thing].head
    phrases = [at for at in tree.children(verb, "prep") if at > thing]
    dated = all(tree[one].pos == "NUM" for at in phrases for one in tree.children(at, "pobj"))
    state = tree[verb].lemma in _STATES
    return bool(phrases) and not dated and (tree[thing].lemma.lower() in _WITH_PHRASE or state)


def _may_be_infinitive(word: str) -> bool:
    """Whether a word is used as a verb at least a tenth of the time.

    >>> [_may_be_infinitive(word) for word in ("fall", "game", "show")]
    [True, False, False]
    """
    verb, noun = (
        sum(one.counts[one.words.index(word)] for one in lexicon().synsets(word, pos) if word in one.words)
        for pos in ("v", "n")
    )
    return 9 * verb >= noun and verb > 0 and word not in _WATCHED


# Two objects


def guard_dative(tree: ParseTree, one: Rewriting, inside: list[int]) -> Rewriting | None:
    """Not time that is given: "give me a minute".

    >>> from .dative import to_prepositional
    >>> from .parsing import parser
    >>> text = "Give me a couple of minutes."
    >>> [nodes] = parser()([text])
    >>> list(guarded(to_prepositional, guard_dative)(ParseTree(text, nodes)))
    []
    """
    return None if any(tree[at].lemma.lower() in _TIMES for at in inside if tree[at].dep == "dobj") else one


# Definite descriptions


def guard_definite(tree: ParseTree, one: Rewriting, inside: list[int]) -> Rewriting | None:
    """Not a title without an article ("Clinton is President of the board"), a date, nor two things in one phrase.

    >>> from .parsing import parser
    >>> from .swaps import swap_definite
    >>> text = "Clinton is President of the United States."
    >>> [nodes] = parser()([text])
    >>> list(guarded(swap_definite, guard_definite)(ParseTree(text, nodes)))
    []
    """
    sides = [at for at in inside if tree[at].dep in {"nsubj", "attr"} and tree[tree[at].head].head == tree[at].head]
    joined = any(tree[at].dep == "cc" for at in inside)
    dated = any(tree[at].text[:1].isdigit() or tree[at].lemma.lower() in MONTHS for at in inside)
    return None if joined or dated or any(_is_bare_title(tree, at) for at in sides) else one


def _is_bare_title(tree: ParseTree, at: int) -> bool:
    """Whether a phrase without an article may be an office: all its words are also written in lower case."""
    words = [at, *tree.children(at, "compound")]
    return not tree.children(at, "det", "poss") and all(is_lower_in_wordnet(tree[one].text.lower()) for one in words)


# Conjuncts


def guard_conjuncts(tree: ParseTree, one: Rewriting, inside: list[int]) -> Rewriting | None:
    """Not under a title or noun that they share, where another list is in the same order, in ranges, nor in titles.

    >>> from .parsing import parser
    >>> from .swaps import swap_conjuncts
    >>> text = "Bob and Alice are better than John and Mary. There is a swimsuit and an evening gown portion."
    >>> [nodes] = parser()([text])
    >>> list(guarded(swap_conjuncts, guard_conjuncts)(ParseTree(text, nodes)))
    []
    """
    first = next(at for at in inside if tree[at].head not in inside or tree[at].head == at)
    chain = [first]
    while below := [at for at in tree.children(chain[-1], "conj") if at in inside]:
        chain += below[:1]
    shared = _has_shared_title(tree, chain) or _has_shared_noun(tree, chain)
    wrong = shared or _has_parallel(tree, chain) or _is_ordered(tree, chain) or _is_mixed(tree, chain)
    return None if wrong or _is_title(tree, chain) or _lacks_noun(tree, chain) else one


def _is_title(tree: ParseTree, chain: list[int]) -> bool:
    """Whether common nouns have capitals: "Pride and Prejudice"."""
    return all(tree[at].text[:1].isupper() and is_lower_in_wordnet(tree[at].text.lower()) for at in chain)


def _lacks_noun(tree: ParseTree, chain: list[int]) -> bool:
    """Whether the first conjunct may be an adjective without its noun: "a red and a blue car"."""
    alone = not tree.children(chain[0], "amod", "compound") and lexicon().knows(tree[chain[0]].text.lower(), "a")
    return alone and any(tree.children(at, "amod") for at in chain[1:])


def _has_shared_title(tree: ParseTree, chain: list[int]) -> bool:
    """Whether a plural before the first name belongs to all: "Presidents George Bush and Bill Clinton"."""
    before = [tree[at] for at in tree.children(chain[0], "compound")]
    return tree[chain[0]].named and any(node.tag in {"NNS", "NNPS"} or node.text.lower() in _TITLES for node in before)


def _has_shared_noun(tree: ParseTree, chain: list[int]) -> bool:
    """Whether the last noun may belong to all ("a swimsuit and an evening gown portion"); not "slide show"."""
    built = [tree.children(at, "compound") for at in chain]
    if not built[-1] or any(built[:-1]) or tree[chain[-1]].named:
        return False
    return not lexicon().knows(f"{tree[built[-1][-1]].text} {tree[chain[-1]].lemma}".lower(), "n")


def _has_parallel(tree: ParseTree, chain: list[int]) -> bool:
    """Whether as many other names are joined in the sentence, so that the order may tell who does what."""
    others = [at for at, node in enumerate(tree.nodes) if node.dep == "conj" and node.named and at not in chain]
    starts = [at for at in others if tree[at].head not in others and tree[tree[at].head].named]
    sizes = [2 + sum(tree[at].head == start for at in others) for start in starts]
    return tree[chain[0]].named and len(chain) in sizes


def _is_ordered(tree: ParseTree, chain: list[int]) -> bool:
    """Whether the order may be that of the things: "from north to south, Lesvos, Chios and Samos"."""
    before = [tree[at].text.lower() for at in range(max(0, chain[0] - 8), chain[0])]
    return len(chain) > 2 and ("from" in before or "being" in before or "order" in before)


def _is_mixed(tree: ParseTree, chain: list[int]) -> bool:
    """Whether after "with" somebody is joined to a thing, and may belong before it: "a dog with a ball and a cat"."""
    under = tree[tree[chain[0]].head].text.lower() == "with"
    return under and len({is_someone(tree, at) for at in chain}) > 1
