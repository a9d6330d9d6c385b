"""What grammars list of English verbs: those without a passive, with two objects, and idioms of verb and noun."""

from __future__ import annotations

_NO_PASSIVE = """
    be become remain stay seem appear look sound feel have get let resemble equal contain comprise involve lack fit
    suit cost weigh measure last want need wish mean know say tell think believe hope expect try begin start stop
    keep continue finish go come walk run sit stand sleep rest live die dream laugh smile grin wait leave face pose
    lie point belong join marry meet date escape survive await regard concern spend reach exit help cause like
    prefer turn undergo gain lose compete exercise jump dance swim skate land feature consist depict represent
    skateboard surf ski hike camp near include house fidget total exceed depart accuse convict remind
    rob deprive
"""
#: Verbs that have no passive, or one that says something else.
NO_PASSIVE = frozenset(_NO_PASSIVE.split())
#: Verbs that stand in the passive with few objects.
PASSIVE_WITH = {
    "take": {"picture", "photo", "photograph", "test", "exam"},
    "give": {"speech", "lecture", "talk", "concert", "performance"},
    "do": {"trick", "stunt", "laundry", "homework", "dish", "experiment"},
}
_MEASURES = """
    mile kilometer meter metre foot feet inch yard lap hour minute second day week month year night morning afternoon
    evening time way lot bit indoor outdoor indoors outdoors outside inside downtown home today tomorrow
    yesterday tonight weekend other stop nonstop
"""
#: Nouns that say how far, how long or how often, and no object, whatever the parser says.
MEASURES = frozenset(_MEASURES.split())
_IDIOMS = {
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
#: Verb and noun that say something else together than apart, or of which neither can be moved.
IDIOMS = {verb: frozenset(nouns.split()) for verb, nouns in _IDIOMS.items()}
_ALSO_TWO = """
    save earn owe allow deny charge promise wish grant award leave guarantee spare forgive tell ask call name consider
    elect appoint get find
"""
#: Verbs that may have two objects, or an object and what it is called, without a construction with "to" or "for".
TWO_WITHOUT_PREPOSITION = frozenset(_ALSO_TWO.split())
#: Verbs of which things, too, are the agent in a passive.
ACTING_THINGS = {"surround", "cover", "follow", "hit", "destroy", "block", "hide", "fill", "knock", "crush", "carry",
                 "pull"}  # fmt: skip
_PLACES_AND_TIMES = """
    lake river street road avenue beach park mount bridge bay square station sea ocean monday tuesday wednesday thursday
    friday saturday sunday january february march april may june july august september october november december
    christmas easter
"""
#: Words in names behind "by" that say where or when.
NO_AGENTS = frozenset(_PLACES_AND_TIMES.split())
