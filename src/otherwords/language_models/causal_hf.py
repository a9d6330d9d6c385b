"""Causal models of the Hugging Face ecosystem as language models that know their tokens, with torch.

Requests are computed in batches by the scheduler of all local models. A beginning that many of them share (an
instruction, solved examples) is tokenised and computed once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, WrongAnswer
from ..inference.hf_folders import CAUSAL_LM, Folder, OpenModel, open_model, quietly
from ..inference.limits import known_tokens, refuse_unknown_token, with_limits_checked
from ..inference.scheduling import Arrays, Scheduler
from ..inference.shared_prefix import NotShareableError, Prefix, Read, forward, read_prefix
from ..inference.tokens import Tokens, clean, encodings, flattened
from ..inference.torch_device import TorchDevice
from ..storage.files import seed_for
from .beginnings import chat_texts, common_tokens, continued, group_by_beginning, split_place
from .completion import LENGTH, STOP, Capabilities, Completion, Message, Request, Usage, final_answer, thinks
from .writer import Decoding
from .writer_hf import Author, Prompter, as_chat, ends_prompts, special_tokens

if TYPE_CHECKING:
    import torch

#: How many times as many tokens as in a classifier's batch are held while texts are written, see `writer_hf`.
_ROOM = 8
#: A beginning of fewer tokens is computed with each prompt: merging two attentions costs as much.
_SHORTEST = 16
#: Prefixes that are kept for the next batch of requests: those of a template or two.
_KEPT = 4
#: By how much of their deviation logits may differ with a shared prefix; where they differ more, it is not shared.
_TOLERANCE, _HALF_TOLERANCE = 1e-3, 0.25

Floats = npt.NDArray[np.float64]


def open_causal(
    folder: Folder, *, max_length: int = 0, device: str = "auto", dtype: str = "auto", tokens: int = 0
) -> CausalModel:
    """Load the causal model of a folder. Prompts of more than `max_length` tokens are refused (0: than it can read)."""
    opened = open_model(
        folder, CAUSAL_LM, max_length=max_length or 1 << 30, device=device, dtype=dtype, tokens=tokens, fast=False
    )
    most = opened.room or int(getattr(opened.model.config.get_text_config(), "max_position_embeddings", 0) or 0)
    _refuse_not_causal(opened)
    return CausalModel(replace(opened, length=min(opened.length, most or opened.length)))


def _refuse_not_causal(opened: OpenModel) -> None:
    """Raise where a token sees those behind it, as in an encoder whose head was saved as a decoder's."""
    import torch

    with torch.inference_mode(), quietly():
        one, other = opened.model(input_ids=torch.tensor([[0, 1], [0, 2]], device=opened.device)).logits[:, 0].float()
    if not torch.allclose(one, other, atol=0.1, rtol=0.01):
        fix = "use a causal language model, or a classifier"
        raise BadInput("its tokens see those behind them: it is not causal", where=opened.who, fix=fix)


@dataclass
class CausalModel:
    """A causal model as a TokenScorer. With `shared=False`, every request is computed from its first token on."""

    opened: OpenModel
    shared: bool = True
    _prefixes: dict[tuple[int, ...], Prefix | None] = field(default_factory=dict, repr=False)

    @property
    def identity(self) -> str:
        """The folder's name and content, and the dtype."""
        return self.opened.identity

    @cached_property
    def capabilities(self) -> Capabilities:
        """All that needs log-probabilities, see `continuations`; chats where the tokenizer has a template for them."""
        template = getattr(self.opened.tokenizer, "chat_template", None)
        reasons = thinks(str(template), lambda: self._as_chat((Message("user", "?"),)))
        length = self.opened.length
        return Capabilities(chat=bool(template), context=length, reasons=reasons)

    def first_tokens(self, texts: Sequence[str]) -> list[int]:
        """The first token of each text as a continuation."""
        return [row[0] for row in self._continued(texts)]

    def continuations(self, requests: Sequence[Request], texts: Sequence[str], *, first: bool) -> Floats:
        """The log-probability of each text (or of its first token alone) after each request, a row for each request.

        A text is what follows the tokens of the prompt; texts with the same tokens but the last share a row.
        """
        import torch

        if not requests or not texts:
            return np.empty((len(requests), len(texts)))
        wanted = [row[:1] if first else row for row in self._continued(texts)]
        stems = sorted({tuple(row[:-1]) for row in wanted})
        known = sorted({token for row in wanted for token in row})
        vocabulary = torch.tensor(known, device=self.opened.device)
        found = self._compute(requests, stems, partial(_token_logs, vocabulary))[0]
        result = np.empty((len(requests), len(texts)))
        for number, row in enumerate(wanted):
            logs = found[:, stems.index(tuple(row[:-1]))]
            result[:, number] = sum(logs[:, place, known.index(token)] for place, token in enumerate(row))
        return result

    def complete(self, requests: Sequence[Request]) -> Iterator[tuple[int, Completion]]:
        """Write as each request says; those of one decoding are computed together."""
        kinds = defaultdict(list)
        for number, request in enumerate(requests):
            self._refuse_unknown(request)
            kinds[_decoding(request), request.max_tokens, request.n, request.stop].append(number)
        for numbers in kinds.values():
            replies = self._written([requests[number] for number in numbers])
            yield from ((numbers[place], completion) for place, completion in replies)

    def _written(self, requests: Sequence[Request]) -> Iterator[tuple[int, Completion]]:
        """Texts of one decoding."""
        asked, special = requests[0], special_tokens(self.opened)
        rows = self._rows(requests)
        prompter = Prompter(self.opened, self.opened.length)
        author = Author(self.opened, prompter, special, asked.max_tokens, _ROOM * self.opened.tokens)
        # Problems that drew by the same numbers would err together, and no interval would know.
        seeds = [seed_for(one.seed or 0, one.repeat, *row) for one, row in zip(requests, rows, strict=True)]
        decoding = _decoding(asked)
        for number, drawn in author.write(rows, seeds, decoding):
            lines = drawn * (asked.n // decoding.count)  # where nothing is drawn, all are the same
            texts = [
                self._until(self.opened.tokenizer.decode(ids, skip_special_tokens=True), asked) for ids, _ in lines
            ]
            ends = [STOP if ended or stopped else LENGTH for (_, ended), (_, stopped) in zip(lines, texts, strict=True)]
            usage = Usage(prompt=len(rows[number]), completion=sum(len(line) for line, _ in lines))
            (first, *more), (finish, *others) = [final_answer(text) for text, _ in texts], ends
            yield number, Completion(first, finish, usage=usage, more=tuple(more), ends=tuple(others))

    @staticmethod
    def _until(text: str, request: Request) -> tuple[str, bool]:
        """A text up to the first of the texts that stop it, and whether there was one."""
        ends = [place for stop in request.stop if (place := text.find(stop)) >= 0]
        return (text[: min(ends)], True) if ends else (text, False)

    # From requests to rows of numbers

    def _compute(self, requests: Sequence[Request], stems: Sequence[tuple[int, ...]], read: Read) -> Arrays:
        """What `read` makes of the logits at the end of each request and after each token of each stem.

        The arrays are [requests, stems, places, ...]; a shorter stem repeats its first place at the end.
        """
        arrays: Arrays = ()
        for special, numbers, prompts in self._prompts(requests):
            for group in group_by_beginning(prompts):
                chosen = [prompts[member] for member in group.members]
                results = self._compute_group(chosen, group.shared if self.shared else 0, special, stems, read)
                shaped = [one.reshape(len(chosen), len(stems), *one.shape[1:]) for one in results]
                if not arrays:
                    arrays = tuple(np.empty((len(requests), *one.shape[1:]), one.dtype) for one in shaped)
                for whole, part in zip(arrays, shaped, strict=True):
                    whole[[numbers[member] for member in group.members]] = part
        if any(np.isnan(one).any() for one in arrays if one.dtype.kind == "f"):
            raise WrongAnswer(f"{self.opened.who} returned NaN; another dtype may work")
        return arrays

    def _compute_group(
        self, prompts: list[str], shared: int, special: bool, stems: Sequence[tuple[int, ...]], read: Read
    ) -> Arrays:
        place = split_place(prompts, shared, self._encode, special=special) if shared else 0
        rests: list[Any]
        if place:
            (head,) = self._encode([prompts[0][:place]], special)
            rests = [prompt[place:] for prompt in prompts]
        else:
            head, rests = [], prompts
        if shared and not place:
            rests = self._encode(prompts, special)
            length = common_tokens(rests)
            head, rests = rests[0][:length], [row[length:] for row in rests]
        if prefix := self._prefix(tuple(head), rests[0]) if len(head) >= _SHORTEST else None:
            try:
                return self._compute_rests(prefix, rests, stems, read)
            except NotShareableError:  # of longer rows, which a window does not hold
                self._prefixes[tuple(head)] = None
        return self._compute_rests(None, prompts, stems, read, special=special)

    def _compute_rests(
        self,
        prefix: Prefix | None,
        rests: Sequence[Any],
        stems: Sequence[tuple[int, ...]],
        read: Read,
        *,
        special: bool = False,
    ) -> Arrays:
        """The same for texts, or rows of tokens, that follow a prefix, or none."""
        opened = self.opened
        runner = TorchDevice(opened.device, partial(forward, opened.model, prefix, read))
        start = with_limits_checked(runner.start, opened.model, opened.who, opened.length)
        encode = partial(self._tokens, prefix.length if prefix else 0, special, stems)
        # Any token will do: no other sees it. Some models warn of the one that is meant for padding.
        pad = 1 if opened.model.config.get_text_config().pad_token_id == 0 else 0
        scheduler = Scheduler(encode, start, runner.wait, opened.tokens, pad=pad, in_flight=runner.in_flight)
        return scheduler([(rest, stem) for rest in rests for stem in range(len(stems))])[0]

    def _prompts(self, requests: Sequence[Request]) -> Iterator[tuple[bool, list[int], list[str]]]:
        """The prompts of plain requests, which get special tokens, and of chats, whose template has them."""
        for chat in (False, True):
            numbers = [number for number, one in enumerate(requests) if bool(one.messages) == chat]
            if numbers and chat and not self.capabilities.chat:
                fix = "use a template of plain form"
                raise BadInput("its tokenizer has no template for chats", where=self.opened.who, fix=fix)
            if numbers and chat:
                texts = chat_texts([requests[number].messages for number in numbers], self._as_chat)
            else:
                texts = [requests[number].text for number in numbers]
            if numbers:
                yield not chat, numbers, [clean(text) for text in texts]

    def _as_chat(self, chat: Sequence[Message]) -> str:
        messages = [{"role": one.role, "content": one.content} for one in chat]
        return as_chat(self.opened, messages, fix="use a template of plain form, or one without a system message")

    def _rows(self, requests: Sequence[Request]) -> list[list[int]]:
        rows: list[list[int]] = [[] for _ in requests]
        for special, numbers, prompts in self._prompts(requests):
            for number, row in zip(numbers, self._encode(prompts, special), strict=True):
                if not row:
                    fix = "leave out texts without words"
                    raise BadInput("the tokenizer returned no tokens for a prompt", where=self.opened.who, fix=fix)
                self._refuse_long(len(row) + requests[number].max_tokens)
                rows[number] = row
        return rows

    def _encode(self, texts: Sequence[str], special: bool) -> list[list[int]]:
        tokens = self._encoded(texts, special)
        return [row.tolist() for row in np.split(tokens.ids, tokens.offsets[1:-1])]

    @cached_property
    def _ends_prompts(self) -> bool:
        return ends_prompts(self.opened)

    def _encoded(self, texts: Sequence[str], special: bool) -> Tokens:
        """The tokens of texts; of prompts with their special tokens, but for one that would end them."""
        tokens = self._tokenized(texts, special)
        if not (special and self._ends_prompts):
            return tokens
        keep = np.ones(len(tokens.ids), np.bool_)
        keep[tokens.offsets[1:] - 1] = False
        return Tokens(tokens.ids[keep], tokens.offsets - np.arange(len(tokens.offsets)), tokens.cut)

    def _tokenized(self, texts: Sequence[str], special: bool) -> Tokens:
        tokenizer = self.opened.tokenizer
        if not tokenizer.is_fast:
            rows = tokenizer(list(texts), add_special_tokens=special, verbose=False)["input_ids"]
            return Tokens.of(rows, [False] * len(rows))
        backend = tokenizer.backend_tokenizer
        backend.no_truncation()
        backend.no_padding()
        return flattened(encodings(backend, list(texts), special=special), types=False)

    def _continued(self, texts: Sequence[str]) -> list[list[int]]:
        found = continued(texts, partial(self._encode, special=False))
        if empty := [text for text, row in zip(texts, found, strict=True) if not row]:
            raise BadInput(f"the tokenizer returned no tokens for {empty[0]!r}", where=self.opened.who, field="words")
        return found

    def _tokens(
        self, before: int, special: bool, stems: Sequence[tuple[int, ...]], items: Sequence[tuple[Any, int]]
    ) -> Tokens:
        """Rows of tokens, each with its stem behind it, and the places whose logits are wanted."""
        if isinstance(items[0][0], str):
            tokens = self._encoded([rest for rest, _ in items], special)
        else:
            tokens = Tokens.of([rest for rest, _ in items], [False] * len(items))
        self._refuse_long(before + int(tokens.lengths.max()) + max(map(len, stems)))
        longest = max(map(len, stems))
        ends, sizes = tokens.lengths - 1, np.array([len(stems[stem]) for _, stem in items])
        places = np.arange(longest + 1)
        at = ends[:, None] + np.where(places <= sizes[:, None], places, 0)
        if longest:
            rows = np.split(tokens.ids, tokens.offsets[1:-1])
            whole = [
                np.append(row, np.array(stems[stem], np.int64)) for row, (_, stem) in zip(rows, items, strict=True)
            ]
            tokens = Tokens(np.concatenate(whole), np.cumsum([0, *map(len, whole)]), tokens.cut)
        return replace(tokens, at=at)

    def _refuse_long(self, length: int) -> None:
        """Raise where a prompt has more tokens than are read: one that is cut would ask something else."""
        if length > self.opened.length:
            message = f"a prompt has {length} tokens, and the model reads {self.opened.length}"
            raise BadInput(message, where=self.opened.who, fix="use fewer shots, shorter texts, or another model")

    # On the device

    def _prefix(self, head: tuple[int, ...], rest: Any) -> Prefix | None:
        """The keys and values of a beginning; None where the model's answers would be others with them."""
        if head not in self._prefixes:
            if len(self._prefixes) >= _KEPT:
                self._prefixes.pop(next(iter(self._prefixes)))
            self._prefixes[head] = self._read_prefix(head, rest)
        return self._prefixes[head]

    def _read_prefix(self, head: tuple[int, ...], rest: Any) -> Prefix | None:
        """Read a beginning, and hold one prompt with it against the same without."""
        import torch

        opened = self.opened
        row = self._encode([rest], False)[0] if isinstance(rest, str) else rest
        self._refuse_long(len(row) + len(head))
        refuse_unknown_token(opened.who, max(head), known_tokens(opened.model))
        tolerance = _TOLERANCE if opened.dtype == torch.float32 else _HALF_TOLERANCE
        with torch.inference_mode():
            ids, tail = (torch.tensor(one, device=opened.device) for one in ([*head, *row], row))
            try:
                prefix = read_prefix(opened.model, ids[: len(head)])
                (found,) = forward(opened.model, prefix, _all_logs, tail[None], ids.new_tensor([[len(row) - 1]]))
            except NotShareableError:
                return None
            (expected,) = forward(opened.model, None, _all_logs, ids[None], ids.new_tensor([[len(ids) - 1]]))
            difference = float((found - expected).std() / expected.std())
        return prefix if difference <= tolerance else None

    def _refuse_unknown(self, request: Request) -> None:
        """Raise for what is not computed. Penalties count tokens that were written before: the first has none."""
        penalties = ("frequency_penalty", "presence_penalty") if request.max_tokens > 1 else ()
        for name in (*penalties, "choices", "logprobs", "scored"):
            if getattr(request, name):
                fix = f"leave {name} out" if name != "choices" else "use another readout: tokens, score or text"
                raise BadInput(f"{name} is not computed here", where=self.opened.who, fix=fix)


def _decoding(request: Request) -> Decoding:
    if not request.temperature:
        return Decoding()
    kept = {"top_k": request.top_k or 0, "top_p": request.top_p or 1.0}
    return Decoding("sample", request.n, temperature=request.temperature, **kept)  # type: ignore[arg-type]


# What is made of logits


def _token_logs(tokens: torch.Tensor, logits: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The log-probabilities of some tokens."""
    logits = logits.float()
    return (logits[..., tokens] - logits.logsumexp(-1, keepdim=True),)


def _all_logs(logits: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (logits.float().log_softmax(-1),)
