"""Verbs that say the same of two whichever comes first, and pairs of verbs that say it the other way round."""

from __future__ import annotations

from functools import lru_cache

from ..words.lexicon import lexicon

_PAIRS = """
    meet marry resemble match equal date border divorce wed intersect adjoin face encounter fight battle oppose
    constitute be become remain
"""
#: Verbs that say of two the same whichever comes first, or that one is the other.
SYMMETRIC = frozenset(_PAIRS.split())
#: Verbs of which object and receiver may change places: "introduce Ann to Ben".
JOINING = frozenset(["introduce", "compare", "connect", "link", "join", "attach", "relate", "tie", "marry", "match"])
_CONVERSE = """
    buy/sell give/receive give/get give/take give/have give/accept lend/borrow precede/follow lead/follow teach/learn
    teach/study send/receive send/get send/have hire/serve own/belong have/belong contain/fill fear/frighten fear/scare
    like/please enjoy/please enjoy/amuse admire/impress dislike/annoy hate/anger win/lose chase/flee pursue/flee
    chase/escape employ/serve pay/charge pay/receive pay/get offer/accept show/see tell/hear tell/learn
    bring/receive bring/get host/visit inherit/leave cause/result feed/eat interest/enjoy bore/dislike
    surprise/expect confuse/understand need/help watch/entertain watch/attract ride/carry house/inhabit drive/pass
    afraid/frighten afraid/scare scared/frighten fond/please proud/please
    buy/pay purchase/pay
    like/comfort love/comfort get/strike catch/strike have/make have/cause suffer/cause suffer/trouble defeat/lose
    beat/lose
"""
#: Verbs of which one says of B and A what the other says of A and B.
CONVERSE = {frozenset(pair.split("/")) for pair in _CONVERSE.split()}
_GETTING = """
    get receive buy borrow learn inherit hear accept obtain purchase acquire flee escape run suffer benefit rent
"""
#: Those that never say the same of the same two.
_STRICT = """
    buy/sell lend/borrow teach/learn send/receive precede/follow defeat/lose beat/lose fear/frighten fear/scare
    win/lose
"""
_OPPOSED = {frozenset(pair.split("/")) for pair in _STRICT.split()}
#: With these prepositions the subject is the one whom it concerns: "he lost to her".
TURNED = {(verb, "to") for verb in ("lose", "belong", "surrender", "yield", "succumb")} | {
    (verb, "from") for verb in _GETTING.split()
}


def is_converse(verb: str, other: str) -> bool:
    """Whether two verbs cannot be said of the same two in the same order."""
    return frozenset((verb, other)) in _OPPOSED


def same_both_ways(verb: str, other: str) -> bool:
    """Whether two verbs say the same where those around them are exchanged.

    >>> same_both_ways("meet", "meet"), same_both_ways("buy", "sell"), same_both_ways("bite", "bite")
    (True, True, False)
    """
    return not SYMMETRIC.isdisjoint((verb, other)) or frozenset((verb, other)) in CONVERSE


@lru_cache(maxsize=1 << 14)
def base_verb(word: str, lemma: str) -> str:
    """The base form of a verb, which taggers now and then get wrong.

    >>> base_verb("scares", "scar"), base_verb("ran", "run")
    ('scare', 'run')
    """
    known = lexicon().base_forms(word, "v")
    if (short := word.removesuffix("s")) in known:
        return short
    return lemma if lemma in known or not known else next(iter(known))


@lru_cache(maxsize=1 << 15)
def are_synonyms(word: str, other: str) -> bool:
    """Whether two base forms share a sense as nouns or verbs."""
    return any(other in synset.words for synset in lexicon().synsets(word) if synset.pos in "nv")
