"""Asking the same again on purpose: what the same text is answered tells how much of a flip is noise."""

import warnings
from collections.abc import Iterable, Mapping, Sequence

from ..errors import BadInput, caller_level, setting, shorten
from ..problem import ALONE, COLD, SHUFFLED, USUAL_WAY, Repeat
from .model import Answerer

#: Ways that models of the package know.
_WAYS = (USUAL_WAY, COLD, ALONE, SHUFFLED)


def local_ways(batch_invariant: bool, *, draws: bool = False, forgets: bool = False) -> tuple[str, ...]:
    """The ways of a model that runs here: its answers may depend on the rest of the batch, or on what came before.

    One that `draws` at random gives another answer as usual, too. One that remembers beginnings, and `forgets` them on
    request, is asked again in another order first: it remembers then as it does when it is asked, and other things.
    """
    if batch_invariant:
        return (USUAL_WAY,) if draws else ()
    return (SHUFFLED, *((USUAL_WAY,) if draws or forgets else ()), *((COLD,) if forgets else ()))


def server_ways(forgets: bool) -> tuple[str, ...]:
    """The ways of a model on a server. One that `forgets` beginnings on request is asked so unless the user says not.

    Asked as usual, it takes the very prompt from its memory, and repeats itself.
    """
    return (*((COLD,) if forgets else ()), USUAL_WAY, ALONE)


def function_ways(batch_invariant: bool) -> tuple[str, ...]:
    """The ways of a user's function, of which nobody knows what it does."""
    return (USUAL_WAY,) if batch_invariant else (SHUFFLED, USUAL_WAY)


def refuse_wrong_repeats(count: int, ways: Sequence[str]) -> None:
    """Refuse settings that no model could follow."""
    field = setting("--repeats", "repeats")
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise BadInput(f"found {shorten(count)}", field=field, fix="give how often to ask again, such as 2")
    if ways and not count:
        fix = f"say how often: {setting('--repeats 2', 'repeats=2')}"
        raise BadInput(f"nothing is asked again in the way {ways[0]}", field=field, fix=fix)


def repeats_of(model: Answerer, count: int, ways: Sequence[str] = ()) -> list[Repeat]:
    """How a model is asked again: `count` times in each of the `ways`, by default in its first one.

    None of a model that gives the same answer to the same text, whatever happens.
    """
    known, chosen = model.model.ways, list(dict.fromkeys(ways))
    if not count:
        return []
    field = setting("--repeat-way", "repeat_ways")
    if not known:
        if strange := [way for way in chosen if way not in _WAYS]:
            raise BadInput(f"found {strange[0]!r}", field=field, fix=f"use one of {', '.join(_WAYS)}")
        return []
    if unknown := [way for way in chosen if way not in known]:
        more = "; perhaps `otherwords probe` finds more" if model.model.by_driver and COLD not in known else ""
        fix = f"it has {', '.join(known)}{more}"
        raise BadInput(f"cannot be asked again in the way {unknown[0]!r}", where=model.name, field=field, fix=fix)
    return [Repeat(way, number) for way in chosen or known[:1] for number in range(1, count + 1)]


def warn_not_repeated(names: Iterable[str]) -> None:
    """Say which models are not asked again, though repeats were asked for."""
    if some := list(names):
        reason = "it gives the same answer to the same text" if len(some) == 1 else "they answer the same text the same"
        warnings.warn(f"{', '.join(some)}: not asked again, because {reason}", stacklevel=caller_level())


def warn_asked_once(repeats: Mapping[str, Sequence[Repeat]]) -> None:
    """Say, before it is asked and paid for, of which models the repeats are too few for a noise floor."""
    asked = {name: [one.way for one in again] for name, again in repeats.items()}
    some = {name: ways for name, ways in asked.items() if ways and USUAL_WAY not in ways and len({*ways}) == len(ways)}
    if some:
        known = dict.fromkeys(way for ways in some.values() for way in ways)
        ways, fix = ", ".join(known), setting("--repeats 2", "repeats=2")
        message = f"{', '.join(some)}: asked once {ways}, and a noise floor needs two answers in one way: {fix}"
        warnings.warn(message, stacklevel=caller_level())


def warn_remembered(model: Answerer, repeats: Sequence[Repeat]) -> None:
    """Say where a server may take all repeats from its memory of prompts: the noise floor is then too low."""
    if not model.model.by_driver or any(one.way != USUAL_WAY for one in repeats) or not repeats:
        return
    cold = setting("--repeat-way cold", "repeat_ways='cold'")
    known = COLD in model.model.ways
    fix = f"{cold} asks without it" if known else "perhaps `otherwords probe` finds out how to ask without it"
    message = f"{model.name}: asked again as usual, a server that remembers prompts repeats itself, and the noise"
    warnings.warn(f"{message} seems smaller than it is; {fix}", stacklevel=caller_level())


def is_noisy(model: Answerer) -> bool:
    """Whether it is known that the same text may get another answer: from a server, or in another batch."""
    return bool(model.model.ways) and (model.model.by_driver or not model.model.batch_invariant)
