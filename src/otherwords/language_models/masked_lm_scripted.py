"""A fake for examples, tests and dry runs: a masked-LM that fills masks from a script."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import BadInput, WrongAnswer, decode, shorten
from ..inference.limits import refuse_sizes
from ..inference.scheduling import Arrays, Scheduler
from ..inference.tokens import Ints, PaddedRows, Tokens
from ..registry import masked_lms
from ..storage.files import seed_for
from .masked_lm import Encode, Logs, MaskedLM

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MASK = "[MASK]"
#: The key under which a script has words that are one token, but are proposed nowhere.
VOCABULARY = "vocabulary"
_SPECIAL = ("[UNK]", MASK)
_FIX = f'write {{"A {MASK} runs.": [["dog", 0.5], ["cat", 0.25], ["##s", 0.1]], "{VOCABULARY}": ["horse"]}}'


@masked_lms("scripted.v1")
def scripted(script: Path, otherwise: str = "fail", seed: int = 0, max_length: int = 256) -> MaskedLM:
    """Fill masks as a JSON file says: masked texts with [MASK] in them, and for each a list of [word, probability].

    Words of the lists, and those under the key "vocabulary", are one token; any other is several, or none. Pieces of
    words begin with ##; where several [MASK] stand, as for words of several tokens, the first is filled. What a list
    leaves of 1 is shared by all tokens that are not in it. `otherwise` is what becomes of a text without an entry:
    "fail", or "any" (a pseudo-random filling that depends on the text and `seed` only). Of texts of more than
    `max_length` tokens, those around the mask are read; they are looked up whole.
    """
    if otherwise not in ("fail", "any"):
        raise BadInput(f"found {otherwise!r}", where="scripted.v1", field="otherwise", fix="use fail or any")
    refuse_sizes("scripted.v1", max_length)
    content = _read(script)
    listed = (word for name, words in content.items() for word in (words if name == VOCABULARY else dict(words)))
    vocabulary = list(dict.fromkeys((*_SPECIAL, *listed)))
    book = _Book(script, {name: dict(words) for name, words in content.items() if name != VOCABULARY}, otherwise, seed)
    tokenizer = _tokenizer(vocabulary)
    return MaskedLM(tokenizer, partial(_scheduler, book, tokenizer, vocabulary), max_length, mask=MASK)


class _Book(NamedTuple):
    script: Path
    entries: Mapping[str, Mapping[str, float]]
    otherwise: str
    seed: int

    def logp(self, text: str, vocabulary: Sequence[str]) -> Logs:
        """The log-probability of every token at the mask of a text."""
        if text not in self.entries and self.otherwise == "fail":
            fix = "add it to the script, or set otherwise=any"
            raise WrongAnswer(f"{self.script} has no entry for {text!r}; {fix}")
        if text not in self.entries:
            weights = [1.0 + seed_for(self.seed, word, text) % 1000 for word in vocabulary]
            return np.asarray(np.log(np.array(weights) / sum(weights)), np.float32)
        entry = self.entries[text]
        others = len(vocabulary) - len(entry)
        rest = max(0.0, 1 - sum(entry.values())) / others if others else 0.0
        with np.errstate(divide="ignore"):  # probabilities of 0
            return np.asarray(np.log([entry.get(word, rest) for word in vocabulary]), np.float32)


def _scheduler(book: _Book, tokenizer: Tokenizer, vocabulary: Sequence[str], encode: Encode, top: int) -> Scheduler:
    """As that of all masked-LMs, but a row of tokens is the number of a text that is looked up."""
    texts: list[str] = []

    def look_up(items: Sequence[Any]) -> Tokens:
        tokens = encode(items)
        rows = np.split(tokens.ids, tokens.offsets[1:-1])
        first = len(texts)
        texts.extend(_text(item, row, tokenizer, book) for item, row in zip(items, rows, strict=True))
        numbers = [[number] for number in range(first, len(texts))]
        return Tokens.of(numbers, tokens.cut.tolist(), at=[0] * len(items), own=tokens.own)

    def wait(rows: PaddedRows) -> Arrays:
        logp = np.stack([book.logp(texts[number], vocabulary) for number in rows.ids[:, 0].tolist()])
        best = np.argsort(-logp, axis=1, kind="stable")[:, :top]
        own = np.maximum(rows.own if rows.own is not None else -1, 0)  # where not one token was masked, any will do
        return best, np.take_along_axis(logp, best, axis=1), np.take_along_axis(logp, own[:, None], axis=1)[:, 0]

    return Scheduler(look_up, lambda rows: rows, wait, budget=256, exact=True)


def _text(item: Any, row: Ints, tokenizer: Tokenizer, book: _Book) -> str:
    """The masked text; where only tokens are given, as for words of several, the entry that has the same tokens."""
    if isinstance(item[0], str):
        text, start, end = item
        return f"{text[:start]}{MASK}{text[end:]}"
    shown = " ".join(tokenizer.id_to_token(number) or "" for number in row.tolist())
    return next((text for text in book.entries if tokenizer.encode(text).ids == row.tolist()), shown)


def _tokenizer(vocabulary: Sequence[str]) -> Tokenizer:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def _read(script: Path) -> dict[str, Any]:
    try:
        content = json.loads(decode(script.read_bytes(), str(script)))
    except (OSError, ValueError, RecursionError) as error:  # absent, not UTF-8, not JSON
        raise BadInput(f"cannot be read as a script: {error}", where=str(script), fix=_FIX) from error
    if not isinstance(content, dict):
        raise BadInput(f"found {shorten(content)}", where=str(script), fix=_FIX)
    for name, words in content.items():
        _refuse_bad_entry(name, words, str(script))
    return content


def _refuse_bad_entry(name: str, words: Any, where: str) -> None:
    if name == VOCABULARY:
        if not isinstance(words, list) or not all(isinstance(word, str) and word for word in words):
            raise BadInput(f"found {shorten(words)}", where=where, field=name, fix='give words, as in ["dog", "cat"]')
        return
    if MASK not in name:
        raise BadInput(f"no {MASK} in {shorten(name)}", where=where, fix=f"write {MASK} for the masked word")
    if not isinstance(words, list) or not all(map(_is_pair, words)):
        raise BadInput(f"found {shorten(words)}", where=where, field=name, fix="give a list of [word, probability]")
    if len(dict(words)) < len(words) or sum(dict(words).values()) > 1 + 1e-6:
        fix = "give each word once, with probabilities that sum to at most 1"
        raise BadInput(f"found {shorten(words)}", where=where, field=name, fix=fix)


def _is_pair(one: Any) -> bool:
    known = isinstance(one, list) and len(one) == 2 and isinstance(one[0], str) and bool(one[0])
    return known and isinstance(one[1], (int, float)) and not isinstance(one[1], bool) and 0 <= one[1] <= 1
