"""Words joined by "and" that have an order of their own, or a name: bread and butter, safe and sound."""

from __future__ import annotations

_SET_PAIRS = """
    bread/butter mac/cheese macaroni/cheese rock/roll salt/pepper fish/chips black/white bed/breakfast ladies/gentlemen
    bow/arrow hide/seek peanut/jelly cup/saucer knife/fork back/forth pros/cons arts/crafts cowboys/indians ups/downs
    hip/hop tug/war day/night cause/effect trial/error cat/mouse bacon/eggs country/western surf/turf law/order
    husband/wife bride/groom mr./mrs. milk/cookies cops/robbers mom/pop mom/pops mom/dad tooth/nail flesh/blood
    heart/soul body/soul gin/tonic rum/coke ham/eggs skin/bone skin/bones odds/ends bits/pieces nuts/bolts pins/needles
    ins/outs highs/lows wear/tear life/limb life/death supply/demand profit/loss research/development needle/thread
    lock/key thunder/lightning pen/paper adam/eve romeo/juliet simon/garfunkel barnes/noble procter/gamble
    bosnia/herzegovina trinidad/tobago antigua/barbuda serbia/montenegro sodom/gomorrah
    brown/williamson ernst/young deloitte/touche
    sick/tired safe/sound red/blue high/dry short/sweet dead/gone alive/well free/clear first/foremost loud/clear
    rich/famous fair/square hale/hearty alive/kicking
"""
_PAIRS = {frozenset(pair.split("/")) for pair in _SET_PAIRS.split()}
_LATER = """
    subsequent second third later latter former resulting following associated next final consequent ensuing last then
    remaining corresponding respective related things stuff rest surrounding adjacent neighboring
"""
#: What says that one thing comes after another, or out of it, or that there are more.
IN_ORDER = frozenset(_LATER.split())


def is_set_pair(words: list[str]) -> bool:
    """Whether the first and the last of some joined words, in small letters, are a set phrase.

    >>> is_set_pair(["red", "white", "blue"]), is_set_pair(["dogs", "cats"])
    (True, False)
    """
    return frozenset({words[0], words[-1]}) in _PAIRS
