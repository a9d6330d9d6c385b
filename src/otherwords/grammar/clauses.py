"""What the rules for whole clauses share: tense, who or that, and verbs that are states, places or events."""

from ..words.inflection import forms_of
from .parsing import ParseTree
from .phrases import SOMEONE, is_plural

#: Tags of verbs that have a tense, and of modals.
FINITE = frozenset({"VBZ", "VBP", "VBD", "MD"})
#: Marks after which the parser's clauses are not to be trusted.
ODD_MARKS = frozenset({'"', "“", "”", "``", "''", "(", ")", "[", "]", "?", ":", ";", "--", "—", "...", "…", "/"})
_STATES = """
    parked seated dressed covered filled surrounded located called named titled labeled labelled painted decorated
    attached tied hung stacked lined displayed lit clad gathered huddled perched stuck stationed equipped known wrapped
    crowded packed strapped tucked marked situated bundled shaped connected linked related associated
    posed adorned layered scattered piled mounted buckled bent crouched sprawled stretched hunched spread
    draped illuminated fenced dedicated devoted interested engaged involved enrolled employed required needed
    owned designed intended armed chained positioned assembled loaded coated dotted inscribed fitted
    provided offered caused affected covered protected controlled operated directed managed supported expected
    included contained described listed shown
"""
#: Past participles that say what something is like while the main clause holds.
STATE_PARTICIPLES = frozenset(_STATES.split())
_EVENTS = """
    written published issued founded established introduced signed killed born built released created discovered
    invented launched destroyed elected appointed adopted proposed announced arrested carved painted
"""
#: Those of them that are said of people and animals.
LIVING_STATES = {"seated", "dressed", "clad", "huddled", "gathered", "crouched", "hunched", "sprawled",
                 "bundled", "buckled", "armed"}  # fmt: skip
#: Past participles that say what was done to something before, whatever the main clause says.
EVENT_PARTICIPLES = frozenset(_EVENTS.split())
_SIMPLE = """
    contain belong consist live say depict represent lead resemble require exist govern read feature comprise
    correspond remain exceed
"""
#: Those of them that are usual as "-ing" after a noun.
SIMPLE_PARTICIPLES = {"contain", "belong", "live", "lead", "depict", "represent", "feature", "consist",
                      "require"}  # fmt: skip
#: Verbs that take the simple form where others take the progressive: "a box that contains".
SIMPLE_VERBS = frozenset(_SIMPLE.split())
_STATIVE = """
    be have like love hate seem appear mean prefer remember understand believe doubt wish hope include involve concern
    regard follow accord know need want own relate pertain exclude see hear depend base start begin bar date give pend
    range owe go come become
"""
#: Verbs whose "-ing" is a preposition, or has no progressive, or more than one meaning.
NO_PROGRESSIVE = frozenset(_STATIVE.split())
_MOVING = """
    sit stand hang fly run drive move float burn flow stick rest lean face travel sail swim fall grow roll drift spin
    park point cross blow bounce jump shine glow melt
"""
#: What a thing may be doing: with other verbs the parser has probably found the wrong noun.
MOVING_VERBS = frozenset(_MOVING.split())
#: Months, some of which are names of people, too.
MONTHS = frozenset({"january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
                    "november", "december"})  # fmt: skip
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_SPANS = """
    second minute hour day week month year decade century morning afternoon evening night noon midnight weekend spring
    summer autumn fall winter season christmas easter thanksgiving
"""
#: Nouns that name a time.
TIMES = MONTHS | frozenset((_DAYS + _SPANS).split())
#: Transcripts of speech are longer, captions in lower case are shorter.
_LONG = 14


def tense(tree: ParseTree, at: int) -> str:
    """The tense in which a clause below a node would stand: "past", "present", or nothing where that is not certain.

    It is that of the nearest verb above with a tense; a text without such a verb is a caption, in the present.

    >>> from .parsing import parser
    >>> [nodes] = parser()(["He saw a man in a hat."])
    >>> tense(ParseTree("He saw a man in a hat.", nodes), 6)
    'past'
    """
    while not (found := _own_tense(tree, at)) and tree[at].head != at:
        at = tree[at].head
    if not found and not any(node.tag in FINITE for node in tree.nodes):
        return "present"
    return "" if found == "open" else found


def has_odd_marks(tree: ParseTree) -> bool:
    """Whether a sentence has quotation marks, brackets, a colon or a dash, or is a question."""
    return any(node.text in ODD_MARKS or node.pos in {"SYM", "SPACE", "X"} for node in tree.nodes)


def is_spoken(tree: ParseTree) -> bool:
    """Whether a text is a transcript without sentences: long, without a capital at its beginning and a final stop."""
    last = tree.nodes[-1].text if tree.nodes else ""
    return len(tree.nodes) > _LONG and tree.text[:1].islower() and last not in {".", "!", "?"}


def number(tree: ParseTree, at: int) -> bool | None:
    """Whether a noun is plural, as `is_plural` says, of the noun alone without what is joined to it."""
    if tree.children(at, "conj", "cc"):
        return None
    if tree[at].text.lower() in SOMEONE:
        return tree[at].text.lower() == "those"
    return is_plural(tree, at)


def _own_tense(tree: ParseTree, verb: int) -> str:
    """The tense of a verb and its auxiliaries; "open" with a modal or with "to"."""
    if tree[verb].pos not in {"VERB", "AUX"}:
        return ""
    helpers = tree.children(verb, "aux", "auxpass")
    if tree[verb].dep == "conj" and not helpers and not tree.children(verb, "nsubj"):
        return ""  # "they are cooked and then served": a participle like the first
    tags = {tree[one].tag for one in [verb, *helpers]}
    if tags & {"MD", "TO"} or ("VBD" in tags and not helpers and _may_be_participle(tree, verb)):
        return "open"
    return "past" if "VBD" in tags else "present" if tags & {"VBZ", "VBP"} else ""


def _may_be_participle(tree: ParseTree, verb: int) -> bool:
    """Whether a past tense may be a participle in a text without a verb: "a catcher in blue, prepared to catch"."""
    subjects = [one for one in tree.children(verb, "nsubj") if one < verb]
    if not subjects:
        return True
    same = tree[verb].text.lower() in forms_of(tree[verb].lemma.lower(), "VBN")
    last = all(node.pos == "PUNCT" for node in tree.nodes[verb + 1 :])
    comma = any(tree[one].text == "," for one in range(subjects[0], verb))
    return same and (last or comma)
