"""Active and passive: "a cat chases the dog" and "the dog is chased by a cat" mean the same."""

from collections.abc import Iterator

from ..words.inflection import forms_of, inflected
from ..words.lexicon import lexicon
from . import phrases
from .dative import TWO_OBJECTS
from .parsing import ParseTree
from .rewriting import Rewriting, join_reordered, may_be_mistagged, rewrite_span

# Word lists

_ACTIVE_ONLY = """
    be become remain stay seem appear look sound feel have get let resemble equal contain comprise involve lack fit
    suit cost weigh measure last want need wish mean know say tell think believe hope expect try begin start stop
    keep continue finish go come walk run sit stand sleep rest live die dream laugh smile grin wait leave face pose
    lie point belong join marry meet date escape survive await regard concern spend reach exit help cause like
    prefer turn undergo gain lose compete exercise jump dance swim skate land feature consist depict represent
    skateboard surf ski hike camp near include house fidget total exceed depart accuse convict remind
    rob deprive
"""
#: Verbs that have no passive, or one with another meaning.
_NO_PASSIVE = frozenset(_ACTIVE_ONLY.split())
#: Verbs that have a passive with these objects only.
_PASSIVE_WITH = {
    "take": {"picture", "photo", "photograph", "test", "exam"},
    "give": {"speech", "lecture", "talk", "concert", "performance"},
    "do": {"trick", "stunt", "laundry", "homework", "dish", "experiment"},
}
_AMOUNTS = """
    mile kilometer meter metre foot feet inch yard lap hour minute second day week month year night morning afternoon
    evening time way lot bit indoor outdoor indoors outdoors outside inside downtown home today tomorrow
    yesterday tonight weekend other stop nonstop
"""
#: Nouns that say how far, how long or how often; they are not objects, whatever the parser says.
_MEASURES = frozenset(_AMOUNTS.split())
_VERB_AND_NOUN = {
    "hold": "hand breath",
    "shake": "hand head",
    "make": "way face noise sense love fun use progress money living friend peace eye difference",
    "give": "birth chase",
    "lend": "hand",
    "pay": "attention",
    "catch": "fire wave air sun breath eye",
    "play": "catch role tag part doctor house ball dead",
    "blow": "kiss nose",
    "break": "ground",
    "ride": "wave",
    "raise": "arm hand",
    "watch": "tv",
    "wear": "makeup clothes clothing",
    "change": "mind clothes",
    "bear": "witness",
    "serve": "time",
    "shoot": "hoop",
    "throw": "fit party",
    "hit": "road",
    "flip": "bird",
    "form": "part",
    "slacken": "speed pace",
}
#: Verb and noun that mean something else together, or of which neither can be moved.
_IDIOMS = {verb: frozenset(nouns.split()) for verb, nouns in _VERB_AND_NOUN.items()}
_ALSO_TWO = """
    save earn owe allow deny charge promise wish grant award leave guarantee spare forgive tell ask call name consider
    elect appoint get find
"""
#: Verbs that may have two objects, or an object and its complement, without a construction with "to" or "for".
_TWO_WITHOUT_PREPOSITION = frozenset(_ALSO_TWO.split())
#: Verbs whose agent in a passive may be a thing.
_ACTING_THINGS = {"surround", "cover", "follow", "hit", "destroy", "block", "hide", "fill", "knock", "crush", "carry",
                  "pull"}  # fmt: skip
_PLACES_AND_TIMES = """
    lake river street road avenue beach park mount bridge bay square station sea ocean monday tuesday wednesday thursday
    friday saturday sunday january february march april may june july august september october november december
    christmas easter
"""
#: Words in names after "by" that say where or when.
NO_AGENTS = frozenset(_PLACES_AND_TIMES.split())
_MODALS = frozenset({"can", "could", "may", "might", "must", "shall", "should", "will", "would"})
_TENSES = {"is": "present", "are": "present", "am": "present", "was": "past", "were": "past"}
#: Participles where the library prefers the less usual form.
_USUAL = {"light": "lit", "smell": "smelled", "knit": "knitted"}
_HAVE = {("has", False): "has", ("has", True): "have", ("have", False): "has", ("have", True): "have"}
#: The most words between the verb and the agent of a passive: after more, the agent is hard to find.
_MAX_BETWEEN = 7
_MARKS = {",", ";", ":", "?", '"', "(", ")", "-", "--", "–", "—", "/", "“", "”", "...", "…"}


def to_passive(tree: ParseTree) -> Iterator[Rewriting]:
    """Turn active sentences with a plain subject and object into the passive.

    >>> from .parsing import parser
    >>> text = "He is chasing two dogs in the park."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in to_passive(ParseTree(text, nodes))]
    ['Two dogs are being chased in the park by him.']
    """
    for verb in tree.roots():
        left, right = tree.clause(verb)
        match [tree[one].dep for one in left], [tree[one].dep for one in right]:
            case ["nsubj", *helpers], ["dobj", *rest] if set(helpers) <= {"aux"} and set(rest) <= {"prep"}:
                if rewriting := _passive(tree, verb, left[0], right[0], right[1:]):
                    yield rewriting


def to_active(tree: ParseTree, *, by_someone: bool = False) -> Iterator[Rewriting]:
    """Turn passive sentences that name their agent into the active.

    The words after "by" may name a place; such a sentence is left unchanged. `by_someone` says that they do not, as
    is known of a text that was in the active.

    >>> from .parsing import parser
    >>> text = "Two dogs are being chased by him."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in to_active(ParseTree(text, nodes))]
    ['He is chasing two dogs.']
    """
    for verb in tree.roots():
        left, right = tree.clause(verb)
        deps = [tree[one].dep for one in right]
        if [tree[one].dep for one in left][:1] != ["nsubjpass"] or deps.count("agent") != 1:
            continue
        if {tree[one].dep for one in left[1:]} <= {"aux", "auxpass"} and set(deps) <= {"agent", "prep"}:
            agent = right[deps.index("agent")]
            if rewriting := _active(tree, verb, left[0], agent, [one for one in right if one != agent], by_someone):
                yield rewriting


# Rewriting a clause


def _passive(tree: ParseTree, verb: int, subject: int, thing: int, rest: list[int]) -> Rewriting | None:
    plural = phrases.is_plural(tree, thing)
    group = None if plural is None else _passive_group(tree, verb, plural)
    if group is None or _has_open_tense(tree, verb, phrases.is_plural(tree, subject) is not False):
        return None
    if not _may_exchange(tree, verb, subject, thing, rest) or not _has_passive(tree, verb, subject, thing):
        return None
    first, last = tree.subtree(subject)[0], tree.subtree([thing, *rest][-1])[-1]
    pieces = [(_in_case(tree, thing, phrases.SUBJECT_CASE), tree.subtree(thing)[0]), (group, None)]
    pieces += [(tree.phrase(one), tree.subtree(one)[0]) for one in rest]
    pieces += [("by", None), (_in_case(tree, subject, phrases.OBJECT_CASE), first)]
    return rewrite_span(tree, "passive", first, last, join_reordered(tree, pieces))


def _active(tree: ParseTree, verb: int, thing: int, agent: int, rest: list[int], by_someone: bool) -> Rewriting | None:
    doers = tree.children(agent)
    plural = phrases.is_plural(tree, doers[0]) if len(doers) == 1 else None
    group = None if plural is None else _active_group(tree, verb, plural)
    if group is None or not (
        by_someone or (_is_agent(tree, verb, doers[0]) and not phrases.trailing_modifiers(tree, doers[0]))
    ):
        return None
    if not _may_exchange(tree, verb, doers[0], thing, rest) or not _has_passive(tree, verb, doers[0], thing):
        return None
    first, last = tree.subtree(thing)[0], max(tree.subtree(one)[-1] for one in [agent, *rest])
    pieces = [(_in_case(tree, doers[0], phrases.SUBJECT_CASE), tree.subtree(doers[0])[0]), (group, None)]
    pieces += [(_in_case(tree, thing, phrases.OBJECT_CASE), first)]
    pieces += [(tree.phrase(one), tree.subtree(one)[0]) for one in rest]
    return rewrite_span(tree, "active", first, last, join_reordered(tree, pieces))


def _may_exchange(tree: ParseTree, verb: int, subject: int, thing: int, rest: list[int]) -> bool:
    """Whether neither scope nor reference depends on which of the two phrases comes first."""
    if not (phrases.is_noun_phrase(tree, subject) and phrases.is_noun_phrase(tree, thing)) or phrases.has_scope(
        tree, verb
    ):
        return False
    refers = (not phrases.is_pronoun(tree, thing) and phrases.has_pronoun(tree, thing)) or any(
        phrases.has_pronoun(tree, one) for one in rest
    )
    refers |= phrases.has_third_person(tree, subject)  # "Mary was loved by her husband"
    refers |= any(
        tree.children(one, "conj") and phrases.has_pronoun(tree, one) for one in (subject, thing)
    )  # "he and Mary"
    counted = all(
        tree.children(one, "nummod") for one in (subject, thing)
    )  # two men and three boxes: who carries how many?
    loose = phrases.trailing_modifiers(tree, thing)
    loose += [
        one for at in (subject, thing) for one in tree.subtree(at) if tree[one].dep == "cc" and tree[one].head != at
    ]
    loose += [one for one in tree.subtree(thing) if tree[one].text.lower() == "past"]  # "flying past boats"
    unsure = any(may_be_mistagged(tree, one) for one in (subject, thing) if one == tree.subtree(one)[0])
    return not (refers or counted or loose or unsure or _has_marks(tree, verb)) and _can_end_with_agent(
        tree, verb, rest
    )


def _can_end_with_agent(tree: ParseTree, verb: int, rest: list[int]) -> bool:
    """Whether the agent can follow the rest of the clause: only where, when and to whom, in few words."""
    receiver = TWO_OBJECTS.get(_base_form(tree, verb) or "")
    first = rest[0] if rest and tree[rest[0]].text.lower() == receiver else None
    joined = first is not None and any(tree[one].dep == "cc" for one in tree.subtree(first))
    plain = all(one == first or phrases.is_adverbial(tree, one) for one in rest)
    return plain and not joined and sum(len(tree.subtree(one)) for one in rest) <= _MAX_BETWEEN


def _is_agent(tree: ParseTree, verb: int, doer: int) -> bool:
    """Whether a phrase after "by" names the agent, and not a place, as in "is seated by a lake"."""
    named = tree[doer].named and NO_AGENTS.isdisjoint(tree.words(doer))
    return phrases.is_someone(tree, doer) or named or tree[verb].lemma in _ACTING_THINGS


def _has_passive(tree: ParseTree, verb: int, subject: int, thing: int) -> bool:
    """Whether a verb with this object is used in the passive."""
    lemma, noun = _base_form(tree, verb) or "", tree[thing].lemma.lower()
    if lemma in _NO_PASSIVE or noun in _MEASURES or noun in _IDIOMS.get(lemma, ()):
        return False
    if noun not in _PASSIVE_WITH.get(lemma, (noun,)) or phrases.rank(noun) is not None:
        return False  # "paints the wall green"
    if _may_be_two_objects(tree, lemma, thing) or (lemma == "make" and not phrases.is_someone(tree, subject)):
        return False  # "a toy makes a good gift"
    helpers = [tree[one].text.lower() for one in tree.children(verb, "aux")]
    if helpers in (["have"], ["has"], ["had"]) and phrases.is_bare(tree, thing):
        return False  # "the house had broken windows"
    definite = all(phrases.is_definite(tree, one) or phrases.is_pronoun(tree, one) for one in (subject, thing))
    if not _MODALS.isdisjoint(helpers) and not definite:
        return False  # "a man can lift a car" is not about one certain car
    return not (
        tree[verb].tag in {"VBZ", "VBP"} and phrases.is_bare(tree, thing)
    )  # "soccer is played by men" is a habit


def _may_be_two_objects(tree: ParseTree, lemma: str, thing: int) -> bool:
    """Whether an object may be two objects: "teaches the kid baseball", "holds the lady hostage", "hit Tom square"."""
    inside = tree.children(thing, "compound")
    whose = any(tree[one].named or phrases.is_someone(tree, one) for one in inside) and not tree[thing].named
    return bool(inside) and (lemma in TWO_OBJECTS or lemma in _TWO_WITHOUT_PREPOSITION or whose)


def _has_marks(tree: ParseTree, verb: int) -> bool:
    """Whether the sentence has commas, brackets or quotation marks, or is a question."""
    below = [tree[one] for one in tree.subtree(verb)]
    return any(node.text in _MARKS or node.pos in {"SYM", "SPACE", "X"} for node in below)


def _in_case(tree: ParseTree, at: int, case: dict[str, str]) -> str:
    """The text of a phrase; a pronoun in the given case."""
    text = tree.phrase(at)
    return case.get(text.lower(), text) if phrases.is_pronoun(tree, at) else text


# The verb and its auxiliaries


def _passive_group(tree: ParseTree, verb: int, plural: bool) -> str | None:
    """The passive verb group of a clause for a singular or plural subject; None where there is none.

    >>> from .parsing import parser
    >>> [nodes] = parser()(["The dog has chased the cats."])
    >>> _passive_group(ParseTree("The dog has chased the cats.", nodes), 3, plural=True)
    'have been chased'
    """
    participle = _participle(tree, verb)
    auxiliaries = [tree[one].text.lower() for one in tree.children(verb, "aux")]
    match [*auxiliaries, tree[verb].tag]:
        case ["VBZ" | "VBP"]:
            helpers = [phrases.BE_FORMS["present", plural]]
        case ["VBD"]:
            helpers = [phrases.BE_FORMS["past", plural]]
        case [("is" | "are" | "was" | "were") as be, "VBG"]:
            helpers = [phrases.BE_FORMS[_TENSES[be], plural], "being"]
        case [("has" | "have") as have, "VBN" | "VBD"]:
            helpers = [_HAVE[have, plural], "been"]
        case ["had", "VBN" | "VBD"]:
            helpers = ["had", "been"]
        case [modal, "VB"] if modal in _MODALS:
            helpers = [modal, "be"]
        case _:
            return None
    return " ".join([*helpers, participle]) if participle else None


def _active_group(tree: ParseTree, verb: int, plural: bool) -> str | None:
    """The active verb group of a clause for a singular or plural subject; None where there is none.

    >>> from .parsing import parser
    >>> [nodes] = parser()(["The cats are being chased by the dog."])
    >>> _active_group(ParseTree("The cats are being chased by the dog.", nodes), 4, plural=False)
    'is chasing'
    """
    lemma = _base_form(tree, verb)
    auxiliaries = [tree[one].text.lower() for one in sorted(tree.children(verb, "aux", "auxpass"))]
    match auxiliaries:
        case [("is" | "are" | "was" | "were") as be]:
            parts = [("VBD" if _TENSES[be] == "past" else "VBP" if plural else "VBZ")]
        case [("is" | "are" | "was" | "were") as be, "being"]:
            parts = [phrases.BE_FORMS[_TENSES[be], plural], "VBG"]
        case [("has" | "have") as have, "been"]:
            parts = [_HAVE[have, plural], "VBN"]
        case ["had", "been"]:
            parts = ["had", "VBN"]
        case [modal, "be"] if modal in _MODALS:
            parts = [modal, "VB"]
        case _:
            return None
    form = inflected(lemma, parts[-1]) if lemma else None
    return " ".join([*parts[:-1], form]) if form else None


def _has_open_tense(tree: ParseTree, verb: int, plural: bool) -> bool:
    """Whether a verb may be in the present or in the past: "they cut the bread"."""
    lemma = _base_form(tree, verb) or ""
    return plural and not tree.children(verb, "aux") and lemma in forms_of(lemma, "VBD")


def _base_form(tree: ParseTree, verb: int) -> str | None:
    """The base form of a verb: the parser's if it inflects to the word, else one of WordNet's, else None.

    The parser takes "riding" for a form of "rid".
    """
    node = tree[verb]
    word, tags = node.text.lower(), ("VBN", "VBD") if node.tag in {"VBN", "VBD"} else (node.tag,)
    bases = (node.lemma.lower(), *lexicon().base_forms(word, "v")) if node.pos == "VERB" else ()
    fitting = (base for base in bases if any(word in forms_of(base, tag, guess=False) for tag in tags))
    return next((base for base in fitting if base.isalpha()), None)


def _participle(tree: ParseTree, verb: int) -> str | None:
    lemma = _base_form(tree, verb)
    return _USUAL.get(lemma) or inflected(lemma, "VBN") if lemma else None
