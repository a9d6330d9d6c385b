"""A masked-LM as other parts see it: texts with a masked span go in, the likeliest fillings come out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, WrongAnswer
from ..inference.scheduling import Arrays, Scheduler
from ..inference.tokens import Ints, Rows, Tokens
from ..registry import masked_lms
from .likelihood import Question, pseudo_logp, word_logp
from .masking import Masked, Masker
from .vocabulary import Vocabulary, vocabulary

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Logs = npt.NDArray[np.float32]
Encode = Callable[[Sequence[Any]], Tokens]


def load(spec: str) -> MaskedLM:
    """Make a masked-LM ready: `mlm-small`, `onnx:FOLDER`, `hf:NAME`."""
    bound = masked_lms.make(spec)
    return replace(bound.function, signature=bound.signature)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Fillings:
    """What may stand at each mask: token `ids` and their `logp`, best first, one row per mask.

    `logp` are log-probabilities over the whole vocabulary. `own` is that of the masked-out words themselves where they
    were one token there (`one_token`), and not a number where they were not. `cut` says which texts had more tokens
    than the model reads; of these, it saw those around the mask.
    """

    ids: Ints
    logp: Logs
    own: Logs
    cut: npt.NDArray[np.bool_]
    vocabulary: Vocabulary

    def __len__(self) -> int:
        return len(self.own)

    @property
    def one_token(self) -> npt.NDArray[np.bool_]:
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
    wanted; the arrays of the Scheduler it gives are token ids and log-probabilities [n, top], best first, and the
    log-probability [n] of `own`, with any number where that is -1. `types` says whether the model has segment numbers,
    `mask` is its mask token unless the tokenizer tells, and `size` how many tokens it scores, unless as many as the
    tokenizer has. The tokenizer serves this model alone.
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
        """The `top` likeliest tokens at each mask; an item is a text and the first and last place of what is masked.

        The last place is that behind the masked words, as in text[first:last]: ("A dog runs.", 2, 5).
        """
        if top < 1:
            raise BadInput(f"found {top}", field="top", fix="give 1 or more")
        if not len(masked):
            raise BadInput("there is no text to fill", fix="give one or more (text, first, last)")
        width = min(top, len(self.vocabulary))
        (ids, logp, own), cut = _owning(self.scheduler(self.masker, width))(masked)
        if np.isnan(logp).any():
            row = int(np.flatnonzero(np.isnan(logp).any(axis=1))[0])
            raise WrongAnswer(f"{self.signature or 'the masked-LM'} gave no numbers for {masked[row]!r}")
        return Fillings(ids.astype(np.int64), logp.astype(np.float32), own, cut, self.vocabulary)

    def pseudo_logp(self, texts: Sequence[str]) -> list[Logs]:
        """The log-probability of every token of each text where it alone is masked; [CLS] and the like apart.

        Their sum is a text's pseudo-log-likelihood. Of a text that is too long, the tokens around each mask are read.
        """
        return pseudo_logp(self.masker, self._ask, texts)

    def word_logp(self, masked: Sequence[Masked]) -> Logs:
        """The log-probability of the masked-out words, of any number of tokens; of one, it is that of `Fillings.own`.

        As many masks stand there as they have tokens, and are filled from left to right with the right ones. It is not
        a number where one of the tokens stands for words that are in no vocabulary.
        """
        return word_logp(self.masker, self._ask, masked)

    def _ask(self, encode: Encode, asked: Sequence[Question]) -> Logs:
        (_, _, own), _ = self.scheduler(encode, 1)(asked)
        if np.isnan(own).any():
            raise WrongAnswer(f"{self.signature or 'the masked-LM'} gave no numbers for some tokens")
        return own.astype(np.float32)

    @cached_property
    def masker(self) -> Masker:
        """From texts with a masked span to tokens."""
        return Masker(self.tokenizer, self.max_length, types=self.types, mask=self.mask)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The tokens it chooses from."""
        return vocabulary(self.masker.tokenizer, self.size)  # by the masker, its mask is surely special


def _owning(plan: Scheduler) -> Scheduler:
    """Let the third array be no number where no one token stood: whatever was computed there is of no word."""

    def start(rows: Rows) -> Any:
        return rows.own, plan.start(rows)

    def wait(started: Any) -> Arrays:
        own, begun = started
        ids, logp, found = plan.wait(begun)
        return ids, logp, np.where(own < 0, np.nan, found).astype(np.float32)

    return replace(plan, start=start, wait=wait)
