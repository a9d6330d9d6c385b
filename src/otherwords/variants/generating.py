"""From generators to variants: bound by name, given problems in batches with a seed each, what they make numbered."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..errors import BadInput
from ..problem import Note, Problem, Variant
from ..progress import current
from ..registry import Bound, generators
from ..storage.files import seed_for
from .survey import surveyed

#: The name of a variant that has none of its own: its original's, the generator's, and a number.
_NUMBERED = re.compile(r"(.+)~([\w-]+)\.(\d+)", re.DOTALL)
#: Problems given to a generator at a time, so that a model behind it can fill a device.
BATCH = 256


def prepared(using: Sequence[str | Bound], originals: Sequence[Problem]) -> list[Bound]:
    """Bind generators by name; one that must see all texts first sees them now."""
    with tempfile.TemporaryDirectory(prefix="otherwords-") as place:

        def texts() -> Iterator[str]:
            return (text for problem in originals for text in problem.text.values() if text)

        told = [surveyed(one, texts, Path(place)) if isinstance(one, str) else one for one in using]
        bound = [generators.make(one) if isinstance(one, str) else one for one in told]
    _refuse_twice([one.signature for one in bound])
    return bound


def numbered(names: Iterable[str]) -> Counter[tuple[str, str]]:
    """How far the variants of each problem and generator that are there already have been numbered."""
    counts: Counter[tuple[str, str]] = Counter()
    for name in names:
        if told := _NUMBERED.fullmatch(str(name)):
            counts[told[1], told[2]] = max(counts[told[1], told[2]], int(told[3]))
    return counts


def generate(
    generator: Bound, originals: list[Problem], seed: int, counts: Counter[tuple[str, str]]
) -> Iterator[Variant | Note]:
    """Variants of one generator, and its notes. Variants are numbered together with those of its namesake under other
    options.

    A control marks what it makes with its name, so that nothing counts it among the rewordings.
    """
    name = generator.plugin.name
    mark = {"control": name} if getattr(generator.function, "control", False) else {}
    for start in range(0, len(originals), BATCH):
        some = originals[start : start + BATCH]
        given = {problem.id for problem in some}
        seeds = [seed_for(seed, generator.signature, problem.id) for problem in some]
        for made in generator.function(some, seeds):
            if made.of not in given:
                raise BadInput(f"{generator.signature} made a variant of {made.of!r}, which it was not given")
            if isinstance(made, Note):
                yield made
                continue
            counts[made.of, name] += 1
            identity = made.id or f"{made.of}~{name}.{counts[made.of, name]}"
            extra = {**made.extra, **mark}
            yield Variant(identity, made.task, made.text, made.label, extra, of=made.of, how=generator.signature)
        current().advance(len(some))


def _refuse_twice(names: Sequence[str]) -> None:
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise BadInput(f"{twice[0]} is named twice", fix="name it once")
