"""The tokens of a vocabulary as words, in columns, so that fillings can be sifted without a loop over tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from tokenizers import Tokenizer

#: Tokens that hold a place in vocabularies of BERT, Gemma, T5 and fairseq, and were never learnt.
_UNUSED = re.compile(r"\[unused\d+\]|<unused_?\d+>|<extra_id_\d+>|<?madeupword\d+>?", re.I)

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Vocabulary:
    """What each token is; `words[i]` is token i as it appears in a text.

    `whole`: it begins a word where a blank stands before it; `opening`: where none does, as at the start of a text
    (byte-level tokenizers have other tokens there, all others the same). A piece of a word is neither. `special`
    tokens are no text: [MASK] and the like, [unused7], and what the model scores but the tokenizer has no name for,
    whose word is empty. `punctuation` has neither letter nor digit.
    """

    words: npt.NDArray[np.object_]
    whole: Bools
    opening: Bools
    special: Bools
    punctuation: Bools

    def __len__(self) -> int:
        return len(self.words)

    def shown(self, token: int) -> str:
        """A token as people read it; a piece of a word begins with a hyphen, and what has no name is [token 30525]."""
        word = str(self.words[token])
        if self.special[token] and not word:
            return f"[token {token}]"
        return word if self.whole[token] or self.special[token] or self.punctuation[token] else f"-{word}"


def vocabulary(tokenizer: Tokenizer, size: int = 0) -> Vocabulary:
    """Look at all tokens of a tokenizer, or at `size`: models score a few more, or fewer, than there are names for.

    >>> from tokenizers import Tokenizer, models
    >>> tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0, "play": 1, "##ing": 2, "!": 3}, unk_token="[UNK]"))
    >>> found = vocabulary(tokenizer)
    >>> found.words.tolist(), found.whole.tolist(), found.punctuation.tolist()
    (['[UNK]', 'play', 'ing', '!'], [False, True, False, True], [False, False, False, True])
    """
    count = size or tokenizer.get_vocab_size()
    names = [tokenizer.id_to_token(number) for number in range(count)]
    special = _specials(tokenizer, names)
    mark, inside = _marks(tokenizer, names)
    words = _words(tokenizer, names, inside)
    begins = np.array([_begins(name, mark, inside) for name in names], np.bool_) & ~special
    readable = np.array(["\N{REPLACEMENT CHARACTER}" not in word and bool(word) for word in words], np.bool_)
    bare = mark == "Ġ" and not getattr(tokenizer.pre_tokenizer, "add_prefix_space", False)
    opening = ~begins & ~special if bare else begins
    wordless = np.array([bool(word) and not any(map(str.isalnum, word)) for word in words], np.bool_)
    made = np.array(words, dtype=np.object_)
    return Vocabulary(made, begins & readable, opening & readable, special, wordless & ~special & readable)


def _specials(tokenizer: Tokenizer, names: list[str | None]) -> Bools:
    """Tokens that stand for no text, or have no name at all."""
    added = tokenizer.get_added_tokens_decoder()
    special = np.array([name is None or bool(_UNUSED.fullmatch(name)) for name in names], np.bool_)
    told = [number for number, token in added.items() if token.special and number < len(names)]
    unknown = getattr(tokenizer.model, "unk_token", None)
    special[[*told, *(number for number, name in enumerate(names) if name and name == unknown)]] = True
    return special


def _marks(tokenizer: Tokenizer, names: list[str | None]) -> tuple[str, str]:
    """What a token that begins a word starts with (Ġ, ▁ or nothing), and what a piece inside a word does (##)."""
    inside = getattr(tokenizer.model, "continuing_subword_prefix", None)
    if type(tokenizer.model).__name__ == "WordPiece":
        return "", str(inside or "##")
    begun = {mark: sum(bool(name) and str(name).startswith(mark) for name in names) for mark in ("Ġ", "▁")}
    mark = max(begun, key=lambda one: begun[one])
    return (mark if begun[mark] else ""), ""


def _begins(name: str | None, mark: str, inside: str) -> bool:
    return name is not None and name.startswith(mark) and not (inside and name.startswith(inside))


def _words(tokenizer: Tokenizer, names: list[str | None], inside: str) -> list[str]:
    """Each token by itself as the tokenizer's decoder writes it: byte-level tokens are not readable otherwise."""
    named: list[Any] = [number for number, name in enumerate(names) if name is not None]
    texts = tokenizer.decode_batch([[number] for number in named], skip_special_tokens=False)
    words = [""] * len(names)
    for number, text in zip(named, texts, strict=True):
        words[number] = text.strip().removeprefix(inside) if inside else text.strip()
    return words
