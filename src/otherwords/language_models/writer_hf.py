"""Models of the Hugging Face ecosystem that write, by hub name or local folder, with torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BadInput
from ..inference.hf_folders import CAUSAL_LM, SEQ2SEQ_LM, Folder, OpenModel, find, open_model, quietly
from ..inference.limits import known_tokens, limit, refuse_unknown_token
from ..inference.scheduling import last_batches
from ..inference.tokens import Beginning, is_lost
from ..inference.torch_device import out_of_memory
from ..registry import writers
from .decoding import Line, Stepper, draw, search
from .writer import CUT_OFF, TOO_LONG, Decoding, Draft, Writer

if TYPE_CHECKING:
    import torch

#: How many times as many tokens as in a classifier's batch: one token of each row is computed at a time, not all.
_ROOM = 8
#: How the names of architectures end that write.
_WRITES = ("ForConditionalGeneration", "LMHeadModel", "ForCausalLM", "MTModel", "WithLMHead")


# The dtype is in the identity: `auto` leaves it to the device.
@writers("hf.v1", unsigned=("name", "device", "dtype", "tokens", "revision"), extra="hf")
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
    if max_new < 1:
        raise BadInput(f"found {max_new}", where=folder.who, field="max_new", fix="give 1 or more")
    opened = open_model(
        folder, _head(folder), max_length=max_length, device=device, dtype=dtype, tokens=tokens, fast=False
    )
    prompter = Prompter(opened, _length(opened, max_length, max_new), chat=chat)
    author = Author(opened, prompter, special_tokens(opened), max_new, tokens or _ROOM * opened.tokens)
    # The choice of kernels depends on the batch, and with it the last bits: a tie may be broken otherwise.
    return Writer(author.compose, opened.identity, batch_invariant=False)


@dataclass
class Prompter:
    """Tokenises prompts of up to `length` tokens; those of causal models are padded on the left."""

    opened: OpenModel
    length: int
    chat: bool = True

    def encode(self, prompts: Sequence[str]) -> list[list[int]]:
        """The tokens of each prompt; none for one that is too long."""
        tokenizer, model = self.opened.tokenizer, self.opened.model
        chat = self.chat and not model.config.is_encoder_decoder and bool(tokenizer.chat_template)
        with quietly():  # transformers warns of texts longer than models usually read
            start = Beginning(self._count, self.length)  # what is cut here has more tokens than are read anyway
            parts = [start(prompt) for prompt in prompts]
            lost = [is_lost(*both) for both in zip(prompts, parts, strict=True)]
            texts = [self._as_chat(part) for part in parts] if chat else parts
            rows = tokenizer(texts, add_special_tokens=not chat)["input_ids"] if texts else []
        if not model.config.is_encoder_decoder and not chat and ends_prompts(self.opened):
            rows = [row[:-1] for row in rows]
        # On a GPU, an index beyond the table is an error after which the process cannot use the device again.
        last = max((max(row) for row in rows if len(row)), default=0)
        refuse_unknown_token(self.opened.who, last, known_tokens(model))
        fits = [len(row) <= self.length and not cut for row, cut in zip(rows, lost, strict=True)]
        return [list(row) if fit else [] for row, fit in zip(rows, fits, strict=True)]

    def pad(self, rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Token ids and attention mask, on the model's device."""
        import torch

        config = self.opened.model.config
        width, left = max(map(len, rows)), not config.is_encoder_decoder
        named = (self.opened.tokenizer.pad_token_id, config.eos_token_id)
        pad = next((one for one in named if isinstance(one, int) and one >= 0), 0)
        ids = torch.full((len(rows), width), pad, dtype=torch.long)
        mask = torch.zeros((len(rows), width), dtype=torch.long)
        for number, row in enumerate(rows):
            place = slice(width - len(row), width) if left else slice(0, len(row))
            ids[number, place] = torch.tensor(row)
            mask[number, place] = 1
        return ids.to(self.opened.device), mask.to(self.opened.device)

    def _count(self, text: str) -> int:
        return len(self.opened.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _as_chat(self, prompt: str) -> str:
        return as_chat(self.opened, [{"role": "user", "content": prompt}], fix="set chat=false")


def as_chat(opened: OpenModel, messages: list[dict[str, str]], *, fix: str) -> str:
    """Messages as the model reads them, and the beginning of an answer."""
    try:
        return str(opened.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
    except Exception as error:  # templates are programs, and fail in their own ways
        raise BadInput(f"its chat template fails: {error}", where=opened.who, fix=fix) from error


@dataclass(frozen=True)
class Special:
    """Tokens that a text begins with, may end with, and may not contain."""

    start: list[int]
    ends: list[int]
    banned: list[int]


@dataclass
class Author:
    """Writes texts of up to `max_new` tokens, as many at a time as a `budget` of tokens allows."""

    opened: OpenModel
    prompter: Prompter
    special: Special
    max_new: int
    budget: int

    def compose(self, prompts: Sequence[str], seeds: Sequence[int], decoding: Decoding) -> list[list[Draft]]:
        """Prompts of similar length together, within the budget; a too long one gets one draft with the reason."""
        rows = self.prompter.encode(prompts)
        drafts: list[list[Draft]] = [[Draft("", TOO_LONG)] for _ in rows]
        for number, lines in self.write(rows, seeds, decoding):
            drafts[number] = [self._draft(line) for line in lines]
        return drafts

    def write(
        self, rows: Sequence[Sequence[int]], seeds: Sequence[int], decoding: Decoding
    ) -> Iterator[tuple[int, list[Line]]]:
        """The texts for each row of tokens that is not empty, with its number, batch by batch."""
        fitting = np.array([number for number, row in enumerate(rows) if row], dtype=np.int64)
        lengths = np.array([len(row) + self.max_new for row in rows if row], dtype=np.int64) * decoding.rows
        for batch in last_batches(lengths, self.budget, exact=False):
            some = [(list(rows[number]), seeds[number]) for number in fitting[batch]]
            yield from zip(fitting[batch].tolist(), self._lines(some, decoding), strict=True)

    def _lines(self, some: list[Any], decoding: Decoding) -> list[list[Line]]:
        """The texts of one batch; where memory runs out, of its halves."""
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
        stepper, special = Stepper(self.opened.model, *self.prompter.pad(rows), self.special.start), self.special
        if decoding.way in ("sample", "greedy"):
            return draw(stepper, seeds, decoding, special.ends, special.banned, self.max_new)
        return search(stepper, decoding, special.ends, special.banned, self.max_new)

    def _draft(self, line: Line) -> Draft:
        ids, ended = line
        return Draft(self.opened.tokenizer.decode(ids, skip_special_tokens=True), "" if ended else CUT_OFF)


def _head(folder: Folder) -> str:
    """Which of transformers' classes to load with: the configuration says whether there is an encoder."""
    config = folder.read_config()
    heads = [str(one) for one in config.get("architectures") or []]
    if heads and not any(head.endswith(_WRITES) for head in heads):
        fix = "name a sequence-to-sequence or causal language model"
        raise BadInput(f"{heads[0]} cannot generate text", where=folder.who, fix=fix)
    return SEQ2SEQ_LM if config.get("is_encoder_decoder") else CAUSAL_LM


def special_tokens(opened: OpenModel) -> Special:
    """What the configuration and the tokenizer of a model say of its special tokens."""
    config, wanted = opened.model.config, opened.model.generation_config
    if not (ends := _end_tokens(opened)):
        fix = "set eos_token_id in its generation_config.json"
        raise BadInput("has no end-of-sequence token", where=opened.who, fix=fix)
    words = [one[0] for one in wanted.bad_words_ids or [] if len(one) == 1]
    banned = [token for token in {*words, *(wanted.suppress_tokens or [])} if token not in ends]
    if not config.is_encoder_decoder:
        return Special([], ends, banned)
    start = _first_given(wanted.decoder_start_token_id, getattr(config, "decoder_start_token_id", None))
    start = start or _first_given(wanted.bos_token_id, config.bos_token_id)
    if not start:
        fix = "set decoder_start_token_id in its generation_config.json"
        raise BadInput("has no decoder start token", where=opened.who, fix=fix)
    return Special([start[0], *_first_given(wanted.forced_bos_token_id)], ends, banned)


def ends_prompts(opened: OpenModel) -> bool:
    """Whether a tokenizer puts an end token behind every text: a causal model is to go on with a prompt, not behind it.

    Some that were saved after training do (add_eos_token).
    """
    row = opened.tokenizer("a")["input_ids"]
    return len(row) > 1 and row[-1] in _end_tokens(opened)


def _end_tokens(opened: OpenModel) -> list[int]:
    named = opened.model.generation_config.eos_token_id, opened.model.config.eos_token_id
    return _first_given(*named, opened.tokenizer.eos_token_id)


def _first_given(*options: Any) -> list[int]:
    """The first that is not None, as a list."""
    given: Any = next((one for one in options if one is not None), [])
    return [int(one) for one in given] if isinstance(given, (list, tuple)) else [int(given)]


def _length(opened: OpenModel, max_length: int, max_new: int) -> int:
    """How many tokens of a prompt are read; a causal model needs positions for what it writes, too."""
    config = opened.model.config
    room = opened.room or int(getattr(config, "max_position_embeddings", 0) or 0)
    if not room:
        return max_length
    if room <= max_new:
        raise BadInput(f"has {room} positions", where=opened.who, field="max_new", fix=f"give fewer than {room}")
    return limit(opened.who, max_length, room if config.is_encoder_decoder else room - max_new)
