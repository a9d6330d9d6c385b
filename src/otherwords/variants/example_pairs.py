"""Sentences with a paraphrase of each, shown to a writer before the sentence that it is to rewrite."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

from ..errors import BadInput
from ..problem import normalize_spaces
from ..storage.files import digest
from ..storage.tables import read

#: The columns of a file of pairs.
TEXT, PARAPHRASE = "text", "paraphrase"
#: How a sentence is put after others of its kind. Ours: ParaNLU does not print how its examples were.
WITH_EXAMPLES = "Sentence: {text}\nParaphrase:"
_INSTRUCTION = "Rephrase each sentence while preserving its original meaning.\n\n"


@dataclass(frozen=True)
class ExamplePairs:
    """So many of these pairs are shown, the first that are not the sentence itself; where there are none, nothing."""

    pairs: tuple[tuple[str, str], ...] = ()
    count: int = 0

    def __bool__(self) -> bool:
        return bool(self.pairs)

    @property
    def signature(self) -> list[str]:
        """All that can be shown, in its order."""
        return [f"examples@{digest(self.count, *map(list, self.pairs))[:12]}"] if self.pairs else []

    def before(self, sentence: str, template: str) -> str:
        """What stands before the prompt of a sentence: the instruction, and pairs in the form of the prompt.

        >>> print(ExamplePairs((("It rains.", "Rain falls."),), 1).before("It snows.", WITH_EXAMPLES))
        Rephrase each sentence while preserving its original meaning.
        <BLANKLINE>
        Sentence: It rains.
        Paraphrase: Rain falls.
        <BLANKLINE>
        <BLANKLINE>
        """
        if not self.pairs:
            return ""
        others = [pair for pair in self.pairs if normalize_spaces(pair[0]) != normalize_spaces(sentence)]
        shown = [f"{template.replace('{text}', text)} {other}\n\n" for text, other in others[: self.count]]
        return (_INSTRUCTION if template == WITH_EXAMPLES else "") + "".join(shown)


def read_pairs(path: Path, count: int, seed: int, where: str) -> ExamplePairs:
    """The pairs of a file in an order that the seed decides; none where no file is named."""
    if path == Path():
        return ExamplePairs()
    if count < 1:
        raise BadInput(f"found {count}", where=where, field="shots", fix="give 1 or more, or leave examples out")
    pairs = []
    for number, row in enumerate(read(path, (TEXT, PARAPHRASE)).iter_rows(named=True), 1):
        given = [row.get(name) for name in (TEXT, PARAPHRASE)]
        if not all(isinstance(one, str) and one.strip() for one in given):
            fix = f"give every row a text in the columns {TEXT} and {PARAPHRASE}"
            raise BadInput("has no pair of sentences", where=f"{path}, row {number}", fix=fix)
        pairs.append((normalize_spaces(str(given[0])), normalize_spaces(str(given[1]))))
    Random(seed).shuffle(pairs)
    distinct: dict[str, tuple[str, str]] = {}
    for pair in pairs:
        distinct.setdefault(pair[0], pair)
    if len(distinct) <= count:
        fix = f"give at least {count + 1}: a sentence is never shown to itself; or fewer shots"
        raise BadInput(f"has {len(distinct)} pairs", where=str(path), fix=fix)
    return ExamplePairs(
        tuple(islice(distinct.values(), count + 1)), count
    )  # one more, should the sentence itself be among them
