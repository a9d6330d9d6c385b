"""Models of the Hugging Face ecosystem that write, by hub name or local folder, with torch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BadInput, WrongAnswer
from ..inference.hf_folders import CAUSAL_LM, SEQ2SEQ_LM, Folder, find, load, load_tokenizer, quietly
from ..inference.limits import known_tokens, limit, positions, refuse_sizes
from ..inference.scheduling import last_batches
from ..inference.torch_device import budget, choose_device, choose_dtype, out_of_memory, refuse_budget
from ..registry import writers
from .decoding import Line, Stepper, draw, search
from .writer import CUT_OFF, TOO_LONG, Decoding, Draft, Writer

if TYPE_CHECKING:
    import torch


# MERGED from writers.prompting: Prompts as a model of transformers reads them: in its template for chats where it has one, as rows of tokens.


@dataclass
class Prompter:
    """Turns prompts into tokens of up to `length`; causal models get theirs filled up on the left."""

    tokenizer: Any
    model: Any
    who: str
    length: int
    chat: bool = True

    def encode(self, prompts: Sequence[str]) -> list[list[int]]:
        """The tokens of each prompt; none for one that is too long."""
        chat = self.chat and not self.model.config.is_encoder_decoder and bool(self.tokenizer.chat_template)
        with quietly():  # transformers warns of texts longer than models usually read
            texts = [self._said(prompt) for prompt in prompts] if chat else list(prompts)
            rows = self.tokenizer(texts, add_special_tokens=not chat)["input_ids"] if texts else []
        self._refuse_unknown(rows)
        return [list(row) if len(row) <= self.length else [] for row in rows]

    def side_by_side(self, rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Token numbers and the mask of what is no filling, on the model's device."""
        import torch

        width, left = max(map(len, rows)), not self.model.config.is_encoder_decoder
        pad = next((one for one in (self.tokenizer.pad_token_id, self.model.config.eos_token_id, 0) if _number(one)), 0)
        ids = torch.full((len(rows), width), pad, dtype=torch.long)
        mask = torch.zeros((len(rows), width), dtype=torch.long)
        for number, row in enumerate(rows):
            place = slice(width - len(row), width) if left else slice(0, len(row))
            ids[number, place] = torch.tensor(row)
            mask[number, place] = 1
        return ids.to(self.model.device), mask.to(self.model.device)

    def _said(self, prompt: str) -> str:
        """The prompt as a user's message, and the beginning of an answer."""
        message = [{"role": "user", "content": prompt}]
        try:
            return str(self.tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True))
        except Exception as error:  # templates are programs of a kind, and fail in their own ways
            fix = "write with chat=false"
            raise BadInput(f"its template for chats fails: {error}", where=self.who, fix=fix) from error

    def _refuse_unknown(self, rows: Sequence[Sequence[int]]) -> None:
        """On a GPU, a token that a model has no row for is an error after which the process cannot use it again."""
        known, last = known_tokens(self.model), max((max(row) for row in rows if len(row)), default=0)
        if 0 < known <= last:
            found = f"the tokenizer gave the number {last}, but it knows {known} tokens"
            raise WrongAnswer(f"{self.who}: {found}; use the tokenizer that it was trained with")


def _number(one: Any) -> bool:
    return isinstance(one, int) and one >= 0


# MERGED from writers.huggingface: Models of the Hugging Face ecosystem that write, by hub name or local folder, with torch.

#: How many times as many tokens as in a classifier's batch: one at a time of each row is computed, not all of them.
_ROOM = 8


# The arithmetic is in the identity: `auto` leaves it to the device.
@writers("hf.v1", unsigned=("name", "device", "dtype", "tokens", "revision"))
def hf(
    name: str,
    max_new: int = 40,
    max_length: int = 512,
    chat: bool = True,
    device: str = "auto",
    dtype: str = "auto",
    tokens: int = 0,
    revision: str = "",
) -> Writer:
    """Write with a sequence-to-sequence or causal model of the Hugging Face hub, or of a local folder.

    A text has up to `max_new` tokens; for a prompt of more than `max_length` nothing is written. Where a causal model
    has a template for chats, the prompt is the user's message, unless `chat` is false. `device` is auto (cuda where
    there is one), cpu or cuda:N; `dtype` is auto (bfloat16 on GPUs that have it), float32, bfloat16 or float16. A batch
    holds up to `tokens` tokens (0: as suits the device). `revision` is a branch, tag or commit on the hub. Weights are
    safetensors only, and code that comes with a model is never run.

    Of the folder's generation_config.json, the first and last tokens and those that may not be used are followed; how
    to decode is for whoever asks to say.
    """
    folder = find(name, revision)
    refuse_budget(folder.who, tokens)
    refuse_sizes(folder.who, max_length)
    if max_new < 1:
        raise BadInput(f"found {max_new}", where=folder.who, field="max_new", fix="give 1 or more")
    tokenizer, model = load_tokenizer(folder), load(folder, _head(folder))
    place = choose_device(device, folder.who)
    arithmetic = choose_dtype(dtype, place, folder.who)
    model = model.to(device=place, dtype=arithmetic).eval()
    special = _special(model, tokenizer, folder.who)
    length = _length(folder.who, model, max_length, max_new)
    prompter = Prompter(tokenizer, model, folder.who, length, chat=chat)
    author = _Author(model, tokenizer, prompter, special, max_new, tokens or _ROOM * budget(place))
    # The choice of kernels differs with the batch, and with it the last bits: a tie may be broken otherwise.
    identity = f"{folder.identity}:{str(arithmetic).removeprefix('torch.')}"
    return Writer(author.compose, identity, batch_invariant=False)


@dataclass(frozen=True)
class _Special:
    """Tokens that a text begins with, may end with, and may not have."""

    start: list[int]
    ends: list[int]
    banned: list[int]


@dataclass
class _Author:
    model: Any
    tokenizer: Any
    prompter: Prompter
    special: _Special
    max_new: int
    budget: int

    def compose(self, prompts: Sequence[str], seeds: Sequence[int], decoding: Decoding) -> list[list[Draft]]:
        """Prompts of like length together, within the budget; those that are too long for the model have one fault."""
        rows = self.prompter.encode(prompts)
        found: list[list[Draft]] = [[Draft("", TOO_LONG)] for _ in rows]
        fitting = np.array([number for number, row in enumerate(rows) if row], dtype=np.int64)
        lengths = np.array([len(row) + self.max_new for row in rows if row], dtype=np.int64) * decoding.rows
        for batch in last_batches(lengths, self.budget, exact=False):
            some = [(rows[number], seeds[number]) for number in fitting[batch]]
            for number, lines in zip(fitting[batch], self._lines(some, decoding), strict=True):
                found[number] = [self._draft(line) for line in lines]
        return found

    def _lines(self, some: list[Any], decoding: Decoding) -> list[list[Line]]:
        """The texts of one batch; where memory ends, of its halves."""
        import torch

        try:
            with torch.inference_mode():
                return self._decode([row for row, _ in some], [seed for _, seed in some], decoding)
        except Exception as error:
            if len(some) == 1 or not out_of_memory(error):
                raise
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        half = (len(some) + 1) // 2
        return self._lines(some[:half], decoding) + self._lines(some[half:], decoding)

    def _decode(self, rows: list[list[int]], seeds: list[int], decoding: Decoding) -> list[list[Line]]:
        ids, mask = self.prompter.side_by_side(rows)
        stepper, special = Stepper(self.model, ids, mask, self.special.start), self.special
        if decoding.way in ("sample", "greedy"):
            return draw(stepper, seeds, decoding, special.ends, special.banned, self.max_new)
        return search(stepper, decoding, special.ends, special.banned, self.max_new)

    def _draft(self, line: Line) -> Draft:
        ids, ended = line
        return Draft(self.tokenizer.decode(ids, skip_special_tokens=True), "" if ended else CUT_OFF)


def _head(folder: Folder) -> str:
    """Which of transformers' classes to load with: the configuration knows whether there is an encoder."""
    config = json.loads((folder.path / "config.json").read_text(encoding="utf-8"))
    heads = [str(one) for one in config.get("architectures") or []]
    writes = ("ForConditionalGeneration", "LMHeadModel", "ForCausalLM", "MTModel", "WithLMHead")
    if heads and not any(head.endswith(writes) for head in heads):
        fix = "name a sequence-to-sequence or causal language model"
        raise BadInput(f"{heads[0]} does not write", where=folder.who, fix=fix)
    return SEQ2SEQ_LM if config.get("is_encoder_decoder") else CAUSAL_LM


def _special(model: Any, tokenizer: Any, who: str) -> _Special:
    wanted = model.generation_config
    ends = _numbers(wanted.eos_token_id, model.config.eos_token_id, tokenizer.eos_token_id)
    if not ends:
        fix = "set eos_token_id in its generation_config.json"
        raise BadInput("has no token that ends a text", where=who, fix=fix)
    words = [one[0] for one in wanted.bad_words_ids or [] if len(one) == 1]
    banned = [token for token in {*words, *(wanted.suppress_tokens or [])} if token not in ends]
    if not model.config.is_encoder_decoder:
        return _Special([], ends, banned)
    start = _numbers(wanted.decoder_start_token_id, getattr(model.config, "decoder_start_token_id", None))
    start = start or _numbers(wanted.bos_token_id, model.config.bos_token_id)
    if not start:
        fix = "set decoder_start_token_id in its generation_config.json"
        raise BadInput("has no token that its decoder begins with", where=who, fix=fix)
    return _Special([start[0], *_numbers(wanted.forced_bos_token_id)], ends, banned)


def _numbers(*found: Any) -> list[int]:
    """The first that is given, as a list."""
    given: Any = next((one for one in found if one is not None), [])
    return [int(one) for one in given] if isinstance(given, (list, tuple)) else [int(given)]


def _length(who: str, model: Any, max_length: int, max_new: int) -> int:
    """How many tokens of a prompt are read; a causal model needs places for what it writes, too."""
    room = positions(model) or int(getattr(model.config, "max_position_embeddings", 0) or 0)
    if not room:
        return max_length
    taken = 0 if model.config.is_encoder_decoder else max_new
    if room <= max(taken, max_new):
        raise BadInput(f"has {room} positions", where=who, field="max_new", fix=f"give fewer than {room}")
    return limit(who, max_length, room - taken)
