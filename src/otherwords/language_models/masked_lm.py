"""The interface of masked-LMs: texts with a masked span go in, the likeliest fillings come out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, WrongAnswer
from ..inference.scheduling import Arrays, Scheduler
from ..inference.tokens import Ints, PaddedRows, Tokens
from ..registry import masked_lms
from .masking import Masked, Masker, Question, pseudo_logp, word_logp

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Logs = npt.NDArray[np.float32]
Encode = Callable[[Sequence[Any]], Tokens]
Bools = npt.NDArray[np.bool_]
#: Placeholders in the vocabularies of BERT, Gemma, T5 and fairseq, which were never trained.
_UNUSED = re.compile(r"\[unused\d+\]|<unused_?\d+>|<extra_id_\d+>|<?madeupword\d+>?", re.I)


def load(spec: str) -> MaskedLM:
    """Make a masked-LM ready: `mlm-small`, `onnx:FOLDER`, `hf:NAME`."""
    bound = masked_lms.make(spec)
    return replace(bound.function, signature=bound.signature)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Fillings:
    """What may stand at each mask: token `ids` and their `logp`, best first, one row per mask.

    `logp` are log-probabilities over the whole vocabulary. `own` is that of the masked-out words themselves where they
    were one token there (`one_token`), and NaN where they were not. `cut` says which texts had more tokens than the
    model reads; of these, it read those around the mask.
    """

    ids: Ints
    logp: Logs
    own: Logs
    cut: Bools
    vocabulary: Vocabulary

    def __len__(self) -> int:
        return len(self.own)

    @property
    def one_token(self) -> Bools:
        """Whether the masked-out words were one token of the vocabulary, so that `own` has their log-probability."""
        return ~np.isnan(self.own)

    def words(self, row: int) -> list[tuple[str, float]]:
        """The fillings of one mask as people read them; pieces of words begin with a hyphen: -ing."""
        shown = (self.vocabulary.shown(token) for token in self.ids[row].tolist())
        return list(zip(shown, self.logp[row].tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class MaskedLM:
    """A masked-LM: its tokenizer, and how its batches are computed.

    `scheduler` gets a function that makes `Tokens` (with `at` and `own`) of masked texts, and how many fillings are
    wanted; the arrays of the Scheduler it returns are token ids and log-probabilities [n, top], best first, and the
    log-probability [n] of `own`, with any number where that is -1. `types` says whether the model has segment numbers,
    `mask` is its mask token unless the tokenizer names it, and `size` how many tokens it scores, unless as many as the
    tokenizer has. The tokenizer serves this model only.
    """

    tokenizer: Tokenizer
    scheduler: Callable[[Encode, int], Scheduler]
    max_length: int
    types: bool = False
    mask: str = ""
    size: int = 0
    identity: str = ""
    batch_invariant: bool = True
    signature: str = ""

    def fill(self, masked: Sequence[Masked], top: int = 200) -> Fillings:
        """The `top` likeliest tokens at each mask; an item is a text and the span that is masked: text[first:last].

        To mask "dog", give ("A dog runs.", 2, 5).
        """
        if top < 1:
            raise BadInput(f"found {top}", field="top", fix="give 1 or more")
        if not len(masked):
            raise BadInput("no texts to fill", fix="give at least one (text, first, last)")
        width = min(top, len(self.vocabulary))
        (ids, logp, own), cut = _without_foreign(self.scheduler(self.masker, width))(masked)
        if np.isnan(logp).any():
            row = int(np.flatnonzero(np.isnan(logp).any(axis=1))[0])
            raise WrongAnswer(f"{self.signature or 'the masked-LM'} returned NaN for {masked[row]!r}")
        return Fillings(ids.astype(np.int64), logp.astype(np.float32), own, cut, self.vocabulary)

    def pseudo_logp(self, texts: Sequence[str]) -> list[Logs]:
        """The log-probability of every token of each text where it alone is masked, special tokens excepted.

        Their sum is a text's pseudo-log-likelihood. Of a text that is too long, the tokens around each mask are read.
        """
        return pseudo_logp(self.masker, self._ask, texts)

    def word_logp(self, masked: Sequence[Masked]) -> Logs:
        """The log-probability of the masked-out words, of any number of tokens; of one, it is that of `Fillings.own`.

        There is a mask for each of their tokens, and these are filled in from left to right. It is NaN where one of the
        tokens stands for words that are not in the vocabulary.
        """
        return word_logp(self.masker, self._ask, masked)

    def _ask(self, encode: Encode, asked: Sequence[Question]) -> Logs:
        (_, _, own), _ = self.scheduler(encode, 1)(asked)
        if np.isnan(own).any():
            raise WrongAnswer(f"{self.signature or 'the masked-LM'} returned NaN for some tokens")
        return own.astype(np.float32)

    @cached_property
    def masker(self) -> Masker:
        """Tokenises texts with a masked span."""
        return Masker(self.tokenizer, self.max_length, types=self.types, mask=self.mask)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The tokens it chooses from."""
        return vocabulary(self.masker.tokenizer, self.size)  # the masker has made its mask special


def _without_foreign(plan: Scheduler) -> Scheduler:
    """Make the third array NaN where not one token was masked: what was computed there belongs to no word."""

    def start(rows: PaddedRows) -> Any:
        return rows.own, plan.start(rows)

    def wait(started: Any) -> Arrays:
        own, batch = started
        ids, logp, own_logp = plan.wait(batch)
        return ids, logp, np.where(own < 0, np.nan, own_logp).astype(np.float32)

    return replace(plan, start=start, wait=wait)


# The vocabulary


@dataclass(frozen=True)
class Vocabulary:
    """What each token is; `words[i]` is token i as it appears in a text.

    `whole`: it begins a word after a blank; `opening`: it begins a word without one, as at the start of a text
    (byte-level tokenizers have other tokens there, all others the same). A piece of a word is neither. `special`
    tokens are not text: [MASK] and the like, [unused7], and those that the model scores but the tokenizer has no name
    for, whose word is empty. `punctuation` has neither letter nor digit.
    """

    words: npt.NDArray[np.object_]
    whole: Bools
    opening: Bools
    special: Bools
    punctuation: Bools

    def __len__(self) -> int:
        return len(self.words)

    def shown(self, token: int) -> str:
        """A token as people read it; a piece of a word begins with a hyphen, one without a name is [token 30525]."""
        word = str(self.words[token])
        if self.special[token] and not word:
            return f"[token {token}]"
        return word if self.whole[token] or self.special[token] or self.punctuation[token] else f"-{word}"


def vocabulary(tokenizer: Tokenizer, size: int = 0) -> Vocabulary:
    """Describe all tokens of a tokenizer, or `size`: models score a few more, or fewer, than there are names for.

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
    column = np.array(words, dtype=np.object_)
    return Vocabulary(column, begins & readable, opening & readable, special, wordless & ~special & readable)


def _specials(tokenizer: Tokenizer, names: list[str | None]) -> Bools:
    """Tokens that are not text, or have no name."""
    added = tokenizer.get_added_tokens_decoder()
    special = np.array([name is None or bool(_UNUSED.fullmatch(name)) for name in names], np.bool_)
    declared = [number for number, token in added.items() if token.special and number < len(names)]
    unknown = getattr(tokenizer.model, "unk_token", None)
    special[[*declared, *(number for number, name in enumerate(names) if name and name == unknown)]] = True
    return special


def _marks(tokenizer: Tokenizer, names: list[str | None]) -> tuple[str, str]:
    """The prefix of a token that begins a word (Ġ, ▁ or none), and of a piece inside a word (##)."""
    inside = getattr(tokenizer.model, "continuing_subword_prefix", None)
    if type(tokenizer.model).__name__ == "WordPiece":
        return "", str(inside or "##")
    counts = {mark: sum(bool(name) and str(name).startswith(mark) for name in names) for mark in ("Ġ", "▁")}
    mark = max(counts, key=lambda one: counts[one])
    return (mark if counts[mark] else ""), ""


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
