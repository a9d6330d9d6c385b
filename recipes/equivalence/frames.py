"""Pairs that are reworded throughout: two ways to say one thing that happened, or two things that differ in one.

A frame is what happened: who, what, whom, how many, when, where, said by whom. `pairs` draws frames, says each in two
of the many ways that frames.txt.gz has, and for a broken pair changes one part of the frame first: roles exchanged, a
negation, a number, a quantifier, an entity, a time or place, whose look it is, cause and effect.

>>> import random
>>> for a, b, same, kind in list(pairs(3, random.Random(5))): print(same, kind, a, b, sep=" | ") # doctest: +SKIP
"""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Frame = dict[str, Any]


def read_banks() -> dict[str, Any]:
    """The banks by name: each line has ways to say one thing, separated by bars."""
    file = Path(__file__).parent / "frames.txt.gz"
    parts = gzip.decompress(file.read_bytes()).decode().split("\n\n")
    named = {head[2:]: lines for head, *lines in (part.strip().splitlines() for part in parts)}
    return {name: [[one.strip() for one in line.split("|")] for line in lines] for name, lines in named.items()}


BANKS = read_banks()
# Who and what, in one form or several of the same
PEOPLE, GROUPS, ANIMALS, FOLK, MANY, THINGS, COUNTED = (
    BANKS[name] for name in ("PEOPLE", "GROUPS", "ANIMALS", "FOLK", "MANY", "THINGS", "COUNTED")
)
# How many, how often; when, where, why; what somebody looks like
NUMBERS, QUANTIFIERS, OFTEN, WHEN, WHERE, WHY, LOOKS = (
    BANKS[name] for name in ("NUMBERS", "QUANTIFIERS", "OFTEN", "WHEN", "WHERE", "WHY", "LOOKS")
)
# What one does to a thing or to several; who does what to whom: the first two are exchanged to break it
ACTS, COUNTS, ROLES, SAME_BOTH_WAYS, SCENES = (
    BANKS[name] for name in ("ACTS", "COUNTS", "ROLES", "SAME_BOTH_WAYS", "SCENES")
)
# What rises and falls, how long things last; what is said of a clause, and how two of them go together
RATES, RATED, LASTING, DURATIONS, SAYS, LINKS = (
    BANKS[name] for name in ("RATES", "RATED", "LASTING", "DURATIONS", "SAYS", "LINKS")
)
# What one does, and behind two slashes what one does not do
PAIRED = [
    tuple([one.strip() for one in side.split("|")] for side in "|".join(line).split("//")) for line in BANKS["DOES"]
]
#: The line of LINKS in which the order of both parts does not matter.
EVEN_LINK = 5
CLAUSES = ("does", "acts", "counts", "roles", "even", "rates", "lasting", "often")


def draw(rng: random.Random, kind: str = "") -> Frame:
    """What happened."""
    kind = kind or rng.choice(("does", "does", "acts", "counts", "counts", "roles", "roles", "roles", "even", "rates",
                               "lasting", "often", "quantified", "quantified", "quantified", "scene", "scene", "says",
                               "link", "link"))  # fmt: skip
    frame: Frame = {"kind": kind}
    if kind == "scene":
        who = ANIMALS if rng.random() < 0.4 else FOLK
        frame |= {"what": place(SCENES, rng), "who": who, "a": place(who, rng), "b": place(who, rng)}
        frame |= {"looks": [looks(rng), looks(rng)] if who is FOLK else [None, None], "animals": who is ANIMALS}
    elif kind == "says":
        frame |= {"what": place(SAYS, rng), "p": place(PEOPLE, rng), "s": draw(rng, rng.choice(CLAUSES))}
    elif kind == "link":
        s, z = (draw(rng, rng.choice(CLAUSES)) for _ in "sz")
        frame |= {"what": place(LINKS, rng), "s": s, "z": z}
    else:
        own = {"does": PAIRED, "acts": ACTS, "counts": COUNTS, "roles": ROLES, "even": SAME_BOTH_WAYS, "rates": RATES,
               "lasting": LASTING, "often": ACTS, "quantified": PAIRED}[kind]  # fmt: skip
        who = GROUPS if kind in ("roles", "even") and rng.random() < 0.25 else PEOPLE
        frame |= {"what": place(own, rng), "who": who, "a": place(who, rng), "b": place(who, rng)}
        frame |= {
            "t": place(THINGS, rng),
            "n": place(NUMBERS, rng),
            "c": place(COUNTED, rng),
            "yes": rng.random() < 0.5,
        }
        frame |= {"q": place(QUANTIFIERS, rng), "ns": place(MANY, rng), "rated": place(RATED, rng)}
        frame |= {"d": place(DURATIONS, rng), "often": place(OFTEN, rng), "numbered": rng.random() < 0.3}
        frame |= {"looks": [looks(rng, 0.12), looks(rng, 0.12)] if who is PEOPLE else [None, None]}
        more = {"when": (WHEN, 0.4), "where": (WHERE, 0.3), "why": (WHY, 0.15)}
        frame |= {name: place(some, rng) if rng.random() < share else None for name, (some, share) in more.items()}
    while "a" in frame and frame["a"] == frame["b"]:
        frame["b"] = place(frame["who"], rng)
    return frame


def place(some: Any, rng: random.Random) -> int:
    """One of a bank."""
    return rng.randrange(len(some))


def looks(rng: random.Random, share: float = 0.35) -> int | None:
    """What somebody looks like, or nothing."""
    return place(LOOKS, rng) if rng.random() < share else None


def say(frame: Frame, rng: random.Random) -> str:
    """The frame in one of its ways, as a clause."""
    kind = frame["kind"]
    if kind == "scene":
        a, b = (noun(frame, name, rng) for name in "ab")
        return rng.choice(SCENES[frame["what"]]).format(A=a, B=b)
    if kind == "says":
        return rng.choice(SAYS[frame["what"]]).format(p=rng.choice(PEOPLE[frame["p"]]), s=say(frame["s"], rng))
    if kind == "link":
        return rng.choice(LINKS[frame["what"]]).format(s=say(frame["s"], rng), z=say(frame["z"], rng))
    a, b = (somebody(frame, name, rng) for name in "ab")
    number = rng.choice(NUMBERS[frame["n"]])
    thing, counted = rng.choice(THINGS[frame["t"]]), f"{number} {rng.choice(COUNTED[frame['c']])}"
    if kind == "does":
        text = f"{a} {rng.choice(PAIRED[frame['what']][not frame['yes']])}"
    elif kind == "quantified":
        text = f"{several(frame, number, rng)} {plural(rng.choice(PAIRED[frame['what']][not frame['yes']]))}"
    elif kind == "acts":
        text = f"{a} {rng.choice(ACTS[frame['what']]).format(t=thing)}"
    elif kind == "often":
        text = often(a, rng.choice(ACTS[frame["what"]]).format(t=thing), rng.choice(OFTEN[frame["often"]]), rng)
    elif kind == "counts":
        text = f"{a} {rng.choice(COUNTS[frame['what']]).format(n=counted)}"
    elif kind in ("roles", "even"):
        own = ROLES if kind == "roles" else SAME_BOTH_WAYS
        text = rng.choice(own[frame["what"]]).format(a=a, b=b, t=thing)
    elif kind == "rates":
        digits = next((one for one in NUMBERS[frame["n"]] if one.isdigit()), "12")
        text = rng.choice(RATES[frame["what"]]).format(what=rng.choice(RATED[frame["rated"]]), n=digits)
    else:
        text = rng.choice(LASTING[frame["what"]]).format(a=a, d=rng.choice(DURATIONS[frame["d"]]))
    return around(text, frame, rng)


def several(frame: Frame, number: str, rng: random.Random) -> str:
    """A quantified or numbered subject."""
    names = rng.choice(MANY[frame["ns"]])
    return f"{number} {names}" if frame["numbered"] else rng.choice(QUANTIFIERS[frame["q"]]).format(ns=names)


def plural(text: str) -> str:
    """A predicate of several."""
    for one, many in (
        ("was", "were"),
        ("is", "are"),
        ("has", "have"),
        ("does", "do"),
        ("speaks", "speak"),
        ("knows", "know"),
    ):
        text = re.sub(rf"^{one}\b", many, text)
    return text


def often(who: str, what: str, how: str, rng: random.Random) -> str:
    """How often somebody did something."""
    if how in ("always", "never", "often", "rarely", "sometimes", "frequently", "seldom", "hardly ever", "invariably",
               "occasionally", "regularly"):  # fmt: skip
        return f"{who} {how} {what}"
    if how in ("not once", "at no time"):
        return f"{how} was it seen that {who} {what}"
    return f"{who} {what} {how}" if rng.random() < 0.6 else f"{how}, {who} {what}"


def somebody(frame: Frame, which: str, rng: random.Random) -> str:
    """One who takes part, with what he or she looks like."""
    name = rng.choice(frame["who"][frame[which]])
    look = frame["looks"]["ab".index(which)]
    if look is None:
        return name
    way = rng.choice(LOOKS[look])
    if " " not in way and name.startswith("the ") and rng.random() < 0.6:
        return f"the {way} {name[4:]}"
    return f"{name}, who was {way}," if rng.random() < 0.5 or " " not in way else f"{name}, {way},"


def noun(frame: Frame, which: str, rng: random.Random) -> str:
    """One in a scene."""
    name, look = rng.choice(frame["who"][frame[which]]), frame["looks"]["ab".index(which)]
    way = rng.choice(LOOKS[look]) if look is not None else ""
    before, behind = (way + " ", "") if way and " " not in way else ("", f" {way}" if way else "")
    if way and " " not in way and rng.random() < 0.3:
        before, behind = "", f" who is {way}"
    phrase = f"{before}{name}{behind}"
    return f"{'an' if phrase[0] in 'aeiou' and not phrase.startswith('uni') else 'a'} {phrase}"


def around(text: str, frame: Frame, rng: random.Random) -> str:
    """When, where and why, before or behind a clause."""
    some = [
        rng.choice(own[frame[name]])
        for name, own in (("when", WHEN), ("where", WHERE), ("why", WHY))
        if frame[name] is not None
    ]
    rng.shuffle(some)
    for one in some:
        text = f"{one}, {text}" if rng.random() < 0.4 else f"{text} {one}"
    return text


def sentence(frame: Frame, rng: random.Random) -> str:
    """The frame as a sentence."""
    text = say(frame, rng)
    text = re.sub(r",\s*,", ",", text).replace(" ,", ",").strip().rstrip(",")
    text = re.sub(r",( (?:in|on|at) )", r"\1", text) if rng.random() < 0.15 else text
    if rng.random() < 0.12:
        text = text.replace(" did not ", " didn't ").replace(" was not ", " wasn't ").replace("could not", "couldn't")
    return text[0].upper() + text[1:] + "."


def break_it(frame: Frame, rng: random.Random) -> tuple[str, Frame] | None:
    """The frame with one part changed, and what was changed; None where this draw changes nothing."""
    kind, new = frame["kind"], dict(frame)
    if kind == "says":
        if rng.random() < 0.25:
            new["p"] = other(PEOPLE, frame["p"], rng)
            return "entity", new
        return inner(frame, "s", rng)
    if kind == "link":
        if rng.random() < 0.25 and frame["what"] != EVEN_LINK:
            new["s"], new["z"] = frame["z"], frame["s"]
            return "order", new
        return inner(frame, rng.choice("sz"), rng)
    ways = {
        "does": ["yes", "yes", "yes", "a"], "quantified": ["q", "q", "q", "yes", "ns"], "acts": ["what", "a", "t"],
        "often": ["often", "often", "t"], "counts": ["n", "n", "n", "c", "a"],
        "roles": ["swap", "swap", "swap", "a", "b"],
        "even": ["a", "b", "what"], "rates": ["what", "what", "rated", "n"], "lasting": ["d", "d", "d", "what"],
        "scene": ["swap", "swap", "a", "b"],
    }[kind]  # fmt: skip
    ways += [name for name in ("when", "where", "why") if frame.get(name) is not None]
    if any(one is not None for one in frame.get("looks", [])):
        ways += ["looks", "looks"]
    return change(frame, rng.choice(ways), rng)


def change(frame: Frame, way: str, rng: random.Random) -> tuple[str, Frame] | None:
    """The frame with this part changed."""
    new, kind = dict(frame), frame["kind"]
    if way == "yes":
        return "negation", new | {"yes": not frame["yes"]}
    if way == "swap":
        return "roles", new | {"a": frame["b"], "b": frame["a"], "looks": frame["looks"][::-1]}
    if way == "looks":
        if kind not in ("roles", "scene") or rng.random() < 0.3:
            return None
        return "modifier", new | {"looks": frame["looks"][::-1]}
    if way == "q" and frame["numbered"]:
        return "number", new | {"n": other(NUMBERS, frame["n"], rng)}
    if way == "what":
        size = len({"acts": ACTS, "even": SAME_BOTH_WAYS, "rates": RATES, "lasting": LASTING}[kind])
        return "other", new | {"what": (frame["what"] + rng.randrange(1, size)) % size}
    if way == "n" and kind == "rates":
        if not any("{n}" in one for one in RATES[frame["what"]]):
            return None
        digits = [at for at, line in enumerate(NUMBERS) if any(one.isdigit() for one in line)]
        here = next((at for at in digits if at == frame["n"]), None)
        return ("number", new | {"n": rng.choice([at for at in digits if at != here])}) if here is not None else None
    banks = {"a": frame["who"], "b": frame["who"], "t": THINGS, "n": NUMBERS, "c": COUNTED, "q": QUANTIFIERS}
    banks |= {"ns": MANY, "rated": RATED, "d": DURATIONS, "often": OFTEN, "when": WHEN, "where": WHERE, "why": WHY}
    new[way] = other(banks[way], frame[way], rng)
    if new.get("a") == new.get("b") or (way == "t" and kind == "roles"):
        return None
    names = {"n": "number", "d": "number", "q": "quantifier", "often": "quantifier"}
    return names.get(way, "entity" if way in ("a", "b", "t", "c", "ns", "rated") else "place"), new


def inner(frame: Frame, part: str, rng: random.Random) -> tuple[str, Frame] | None:
    """The frame with a change in a clause of it."""
    found = break_it(frame[part], rng)
    return (found[0], frame | {part: found[1]}) if found else None


def other(some: list[Any], own: int, rng: random.Random) -> int:
    """Another one of a bank, often a near one."""
    step = rng.choice((-2, -1, 1, 2)) if rng.random() < 0.5 else rng.randrange(1, len(some))
    return (own + step) % len(some)


def pairs(count: int, rng: random.Random) -> Iterator[tuple[str, str, int, str]]:
    """Pairs of sentences, whether they say the same, and what was changed."""
    while count:
        frame = draw(rng)
        if rng.random() < 0.42:
            a, b, same, kind = sentence(frame, rng), sentence(frame, rng), 1, f"frame {frame['kind']}"
        else:
            found = break_it(frame, rng)
            if not found:
                continue
            a, b, same, kind = sentence(frame, rng), sentence(found[1], rng), 0, f"frame {found[0]}"
        if a != b:
            count -= 1
            yield a, b, same, kind
