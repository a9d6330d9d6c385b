"""How an encoder reads a text: up to which token, and in lower case or as it is, as sentence-transformers writes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BadInput
from ..inference.tokenizing import clean, encodings

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from ..inference.tokens import Tokens

#: The families after which sentence-transformers has named the file; of late, it is bert's for all.
_FAMILIES = ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")


@dataclass(frozen=True)
class Reading:
    """How many tokens are read (0: nobody says), and whether texts are put in lower case first.

    >>> str(Reading(128)), str(Reading(128, lower=True))
    ('128', '128:lower')
    """

    max_length: int = 0
    lower: bool = False

    def __str__(self) -> str:
        return f"{self.max_length}{':lower' if self.lower else ''}"

    def cased(self, encode: Callable[[Sequence[str]], Tokens]) -> Callable[[Sequence[str]], Tokens]:
        """A function from texts to tokens, for texts in the case in which they are to be read."""
        return (lambda texts: encode([text.lower() for text in texts])) if self.lower else encode

    def legible(self, tokenizer: Tokenizer) -> Callable[[Sequence[str]], list[bool]]:
        """A function that says of texts whether the tokenizer makes more of each than the tokens around all texts."""
        return lambda texts: [
            not all(one.special_tokens_mask) for one in encodings(tokenizer, [clean(text) for text in texts])
        ]


def read_reading(folder: Path, who: str) -> Reading:
    """What a folder made by sentence-transformers tells; of other folders, nothing."""
    files = [file for family in _FAMILIES if (file := folder / f"sentence_{family}_config.json").is_file()]
    if not files or not (folder / "modules.json").is_file():
        return Reading()
    told = read_json(files[0], who)
    length, lower = (told.get("max_seq_length"), told.get("do_lower_case")) if isinstance(told, dict) else ("", "")
    if not (length is None or (type(length) is int and length > 0)) or lower not in (None, False, True):
        found = f"{files[0].name} tells max_seq_length {length!r} and do_lower_case {lower!r}"
        raise BadInput(found, where=who, fix="write a number of tokens there, and true or false")
    return Reading(length or 0, bool(lower))


def read_json(file: Path, who: str) -> Any:
    """A JSON file beside a model."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadInput(f"{file.name} is not JSON: {error}", where=who, fix="download or save it again") from error
