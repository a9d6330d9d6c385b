"""The interface of models that write: prompts go in, some drafts of a text come out for each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..errors import BadInput, WrongAnswer
from ..registry import writers
from .completion import final_answer

#: What may be wrong with a draft, as reports say it.
CUT_OFF = "has no end within the tokens it may have"
TOO_LONG = "the prompt is longer than the model reads"
WITHHELD = "withheld by a filter of the server"
#: What leaves nothing to use, however much the user lets pass.
USELESS = (TOO_LONG, WITHHELD)
#: The options of each way of decoding; others would have no effect, and are refused.
WAYS: dict[str, tuple[str, ...]] = {
    "diverse": ("beams", "diversity", "temperature"),
    "beams": ("beams",),
    "sample": ("temperature", "top_k", "top_p"),
    "greedy": (),
}
#: Their defaults. Arakelyan et al. (2024) give a temperature between 0.3 and 0.6 for diverse beams.
_DEFAULTS: dict[str, dict[str, float]] = {
    "diverse": {"beams": 1, "diversity": 1.0, "temperature": 0.45},
    "beams": {"beams": 4},
    "sample": {"temperature": 1.0},
}


class Preferred(str):
    """A way of decoding that gives way to another where the writer does not know it: a default, not a user's choice."""

    __slots__ = ()


@dataclass(frozen=True)
class Draft:
    """A text as the model wrote it, and what the model knows to be wrong with it.

    A `stand_in` is no text of a model: a dry run lets no server write, and counts what would come after.
    """

    text: str
    fault: str = ""
    stand_in: bool = False


@dataclass(frozen=True)
class Decoding:
    """A way of decoding with all its numbers: `count` candidates for every prompt.

    `beams` are those of each group; diverse decoding has as many groups as candidates, the others one. `diversity`
    is subtracted from a token's log-probability for each beam of an earlier group that has it at the same position
    (Vijayakumar et al. 2016). `top_k` and `top_p` keep the likeliest tokens; 0 and 1.0 keep all.
    """

    way: str = "greedy"
    count: int = 1
    beams: int = 1
    diversity: float = 0.0
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0

    @property
    def groups(self) -> int:
        """How many groups of beams there are."""
        return self.count if self.way == "diverse" else 1

    @property
    def rows(self) -> int:
        """How many texts are written at the same time for one prompt."""
        return {"diverse": self.count * self.beams, "beams": self.beams, "sample": self.count, "greedy": 1}[self.way]

    @property
    def seeded(self) -> bool:
        """Whether the result depends on a seed."""
        return self.way == "sample"


Compose = Callable[[Sequence[str], Sequence[int], Decoding], list[list[Draft]]]


def load(spec: str) -> Writer:
    """Make a writer ready: `hf:NAME`, `api:NAME`, `gguf:FILE`, `scripted:FILE`."""
    bound = writers.make(spec)
    return replace(bound.function, signature=bound.signature)  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Writer:
    """A model that writes.

    `compose` gets prompts, a seed for each and the decoding, and returns up to `decoding.count` drafts for each, best
    first; what it samples may depend on a prompt and its seed, and on nothing else. `ways` are the ways of decoding
    that it knows, with the options of each.
    """

    compose: Compose
    identity: str = ""
    batch_invariant: bool = True
    signature: str = ""
    ways: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: WAYS)

    def write(self, prompts: Sequence[str], seeds: Sequence[int], decoding: Decoding) -> list[list[Draft]]:
        """Drafts for every prompt, without reasoning; equal prompts are asked once unless the decoding samples."""
        if len(prompts) != len(seeds):
            raise BadInput(f"{len(prompts)} prompts with {len(seeds)} seeds", fix="give one seed per prompt")
        keys = [(prompt, seed if decoding.seeded else 0) for prompt, seed in zip(prompts, seeds, strict=True)]
        asked = list(dict.fromkeys(keys))
        drafts = self.compose([prompt for prompt, _ in asked], [seed for _, seed in asked], decoding) if asked else []
        if len(drafts) != len(asked) or any(len(some) > decoding.count for some in drafts):
            wanted = f"up to {decoding.count} drafts for each of {len(asked)} prompts"
            raise WrongAnswer(f"{self.signature or 'the writer'} did not return {wanted}")
        final = [[replace(one, text=final_answer(one.text)) for one in some] for some in drafts]
        by_key = dict(zip(asked, final, strict=True))
        return [by_key[key] for key in keys]


def choose_decoding(
    way: str,
    count: int,
    where: str,
    beams: int = 0,
    diversity: float = 0.0,
    temperature: float = 0.0,
    top_k: int = 0,
    top_p: float = 0.0,
    ways: Mapping[str, tuple[str, ...]] = WAYS,
) -> Decoding:
    """The decoding that a user describes, among the `ways` of a writer; an option of 0 takes its default.

    >>> choose_decoding("sample", 3, "paraphrase.v1", top_k=120, top_p=0.95)
    Decoding(way='sample', count=3, beams=1, diversity=0.0, temperature=1.0, top_k=120, top_p=0.95)
    >>> choose_decoding("diverse", 10, "paraphrase.v1").groups
    10
    """
    if way not in WAYS:
        raise BadInput(f"found {way!r}", where=where, field="decoding", fix=f"use one of {', '.join(ways)}")
    if way not in ways and isinstance(way, Preferred):
        way = "greedy" if count == 1 and not (temperature or top_k or top_p) else "sample"
    if way not in ways:
        raise BadInput(f"the writer does not know {way}", where=where, field="decoding", fix=f"use {' or '.join(ways)}")
    given = {"beams": beams, "diversity": diversity, "temperature": temperature, "top_k": top_k, "top_p": top_p}
    _refuse_wrong(way, given, where, ways)
    numbers = {**_DEFAULTS.get(way, {}), **{name: value for name, value in given.items() if value}}
    if way == "beams":
        numbers["beams"] = beams or max(int(numbers["beams"]), count)
    _refuse_too_many(way, count, int(numbers.get("beams", 1)), where)
    return Decoding(way, count, **numbers)  # type: ignore[arg-type]


def other_way(chosen: Decoding, preferred: str) -> list[str]:
    """What signatures add where a writer decodes in another way than the default, which they name."""
    return [] if chosen.way == preferred else [f"decoding={chosen.way}"]


def _refuse_wrong(way: str, given: dict[str, float], where: str, ways: Mapping[str, tuple[str, ...]]) -> None:
    for name, value in given.items():
        if not 0 <= value < math.inf or (name == "top_p" and value > 1):
            wanted = "a share up to 1" if name == "top_p" else "a number above 0"
            raise BadInput(f"found {value}", where=where, field=name, fix=f"give {wanted}, or 0 for the default")
        if value and name not in ways[way]:
            able = ", ".join(one for one, names in ways.items() if name in names)
            fix = f"leave it out, or use decoding={able}" if able else "leave it out: the writer does not know it"
            raise BadInput(f"has no effect with decoding={way}", where=where, field=name, fix=fix)


def _refuse_too_many(way: str, count: int, beams: int, where: str) -> None:
    most = {"beams": beams, "greedy": 1}.get(way, count)
    if not 1 <= count <= most:
        fix = {"beams": "give at least k beams", "greedy": "greedy decoding returns one text; use another decoding"}
        raise BadInput(f"found {count} for decoding={way}", where=where, field="k", fix=fix.get(way, "give 1 or more"))
