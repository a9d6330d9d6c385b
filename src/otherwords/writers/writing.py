"""A model that writes, as other parts see it: prompts go in, some drafts of a text come out for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..errors import BadInput, WrongAnswer
from ..registry import writers
from .decoding import Decoding

#: What may be wrong with a draft, in the words in which it is told.
CUT_OFF = "has no end within the tokens it may have"
TOO_LONG = "the prompt is longer than the model reads"


@dataclass(frozen=True)
class Draft:
    """A text as the model wrote it, and what the model knows to be wrong with it."""

    text: str
    fault: str = ""


Compose = Callable[[Sequence[str], Sequence[int], Decoding], list[list[Draft]]]


def load(spec: str) -> Writer:
    """Make a writer ready: `hf:NAME`, `scripted:FILE`."""
    bound = writers.make(spec)
    return replace(bound.function, signature=bound.signature)  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Writer:
    """A model that writes.

    `compose` gets prompts, a seed for each and the decoding, and gives up to `decoding.count` drafts for each, best
    first; what it draws may depend on a prompt and its seed, and on nothing else.
    """

    compose: Compose
    identity: str = ""
    batch_invariant: bool = True
    signature: str = ""

    def write(self, prompts: Sequence[str], seeds: Sequence[int], decoding: Decoding) -> list[list[Draft]]:
        """Drafts for every prompt; equal prompts are asked once where nothing is left to chance."""
        if len(prompts) != len(seeds):
            raise BadInput(f"{len(prompts)} prompts with {len(seeds)} seeds", fix="give a seed with every prompt")
        keys = [(prompt, seed if decoding.seeded else 0) for prompt, seed in zip(prompts, seeds, strict=True)]
        asked = list(dict.fromkeys(keys))
        found = self.compose([prompt for prompt, _ in asked], [seed for _, seed in asked], decoding) if asked else []
        if len(found) != len(asked) or any(len(drafts) > decoding.count for drafts in found):
            wanted = f"up to {decoding.count} drafts for each of {len(asked)} prompts"
            raise WrongAnswer(f"{self.signature or 'the writer'} gave something else than {wanted}")
        book = dict(zip(asked, found, strict=True))
        return [book[key] for key in keys]
