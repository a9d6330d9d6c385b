"""Beam search, plain or in diverse groups (Vijayakumar et al. 2016), over many prompts at once."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import WrongAnswer
from .writer import Decoding

if TYPE_CHECKING:
    import torch


# MERGED from writers.stepping: A model of transformers that writes many texts at once, one token at a time, with its cache of keys and values.


class Stepper:
    """Rows of tokens being written: `first` reads the prompts, `next` adds a token to every row; both give logits.

    `ids` and `mask` are the prompts of one batch: filled up on the right for a model with an encoder, whose decoder
    begins with the tokens `start`, and on the left for a causal one, which has no `start`.
    """

    def __init__(self, model: Any, ids: torch.Tensor, mask: torch.Tensor, start: list[int]):
        self.model, self.ids, self.mask, self.start = model, ids, mask, start
        self.states: Any = None
        self.cache: Any = None
        self._takes = set(inspect.signature(model.forward).parameters)

    def first(self, copies: int) -> torch.Tensor:
        """Read the prompts once, and make `copies` rows of each; gives logits [prompts, tokens], before the copying."""
        if self.start:
            self.states = self.model.get_encoder()(input_ids=self.ids, attention_mask=self.mask).last_hidden_state
            begun = self.ids.new_tensor([self.start]).expand(len(self.ids), -1)
            logits = self._forward(begun)
        else:
            logits = self._forward(self.ids)
        if not hasattr(self.cache, "reorder_cache"):
            raise WrongAnswer(f"{type(self.model).__name__} keeps no keys and values that can be put in another order")
        if logits.isnan().any():
            raise WrongAnswer(f"{type(self.model).__name__} gave no numbers; another dtype may work")
        import torch

        self._select(torch.arange(len(self.ids), device=self.ids.device).repeat_interleave(copies))
        return logits

    def next(self, tokens: torch.Tensor, rows: torch.Tensor | None = None) -> torch.Tensor:
        """Go on with the chosen rows (all, where none are named), each with its next token: logits [rows, tokens]."""
        if rows is not None:
            self._select(rows)
        if not self.start:
            self.mask = self._longer(self.mask)
        return self._forward(tokens[:, None])

    def _select(self, rows: torch.Tensor) -> None:
        self.cache.reorder_cache(rows)
        self.mask = self.mask[rows]
        if self.states is not None:
            self.states = self.states[rows]

    def _longer(self, mask: torch.Tensor) -> torch.Tensor:
        import torch

        return torch.cat([mask, mask.new_ones(len(mask), 1)], dim=1)

    def _forward(self, tokens: torch.Tensor) -> torch.Tensor:
        given: dict[str, Any] = {"attention_mask": self.mask, "past_key_values": self.cache, "use_cache": True}
        if self.start:
            given |= {"decoder_input_ids": tokens, "encoder_outputs": (self.states,)}
        else:
            given["input_ids"] = tokens
            if "position_ids" in self._takes:  # filling on the left must not move a row's places
                given["position_ids"] = (self.mask.cumsum(1) - 1).clamp(min=0)[:, -tokens.shape[1] :]
            if "logits_to_keep" in self._takes:  # those of the whole prompt would need gigabytes
                given["logits_to_keep"] = 1
        output = self.model(**given, return_dict=True)
        self.cache = output.get("past_key_values")
        logits: torch.Tensor = output.logits[:, -1].float()
        return logits


# MERGED from writers.sampling: Texts drawn token by token, or the likeliest token each time; chance comes from numbers of a row's own.

#: So many tokens nearly always hold the share of probability that is asked for.
_FEW = 256
#: A text as token numbers without its end, and whether it has one.
Line = tuple[list[int], bool]


def draw(
    stepper: Stepper, seeds: Sequence[int], decoding: Decoding, ends: Sequence[int], banned: Sequence[int], most: int
) -> list[list[Line]]:
    """`decoding.count` texts for every prompt, of up to `most` tokens; greedy ones need no seed.

    A row that has ended is dropped from the batch at once, so that long texts do not make the short ones wait.
    """
    import torch

    copies = decoding.rows
    logits = stepper.first(copies).repeat_interleave(copies, dim=0)
    chance = torch.from_numpy(uniforms(seeds, copies, most)).to(logits.device)
    rows = torch.arange(len(logits), device=logits.device)  # which text each row of the batch is
    lines: list[list[int]] = [[] for _ in range(len(logits))]
    ended = [False] * len(lines)
    for step in range(most):
        logits[:, list(banned)] = -torch.inf
        tokens = logits.argmax(-1) if decoding.way == "greedy" else drawn(logits, chance[rows, step], decoding)
        stopped = torch.isin(tokens, torch.tensor(ends, device=tokens.device))
        for row, token, stop in zip(rows.tolist(), tokens.tolist(), stopped.tolist(), strict=True):
            ended[row] = stop
            if not stop:
                lines[row].append(token)
        going = (~stopped).nonzero()[:, 0]
        if not len(going) or step + 1 == most:
            break
        rows = rows[going]
        logits = stepper.next(tokens[going], going if len(going) < len(stopped) else None)
    found = list(zip(lines, ended, strict=True))
    return [found[start : start + copies] for start in range(0, len(found), copies)]


def uniforms(seeds: Sequence[int], copies: int, most: int) -> npt.NDArray[np.float64]:
    """A number from 0 to 1 for each token of each text, from a counter-based generator with the key (seed, candidate).

    So a draw depends on its prompt's seed, its candidate and its place, and not on the batch. Of a seed the last 64
    bits count.

    >>> uniforms([7], 2, 40)[1, :2].tolist() == uniforms([3, 7], 2, 2)[3].tolist()
    True
    """
    pairs = [(seed % 2**64, candidate) for seed in seeds for candidate in range(copies)]
    keys = [np.array(pair, dtype=np.uint64) for pair in pairs]
    return np.stack([np.random.Generator(np.random.Philox(key=key)).random(most) for key in keys])


def drawn(logits: torch.Tensor, chance: torch.Tensor, decoding: Decoding) -> torch.Tensor:
    """One token of each row, by inverting the cumulative probability of what `kept` leaves."""
    probabilities, ids = kept(logits, decoding)
    summed = probabilities.double().cumsum(-1)
    reached = (summed <= chance[:, None] * summed[:, -1:]).sum(-1, keepdim=True).clamp(max=summed.shape[1] - 1)
    return (reached if ids is None else ids.gather(1, reached))[:, 0]


def kept(logits: torch.Tensor, decoding: Decoding) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Probabilities of the tokens that may be drawn, and which these are, likeliest first; None: all, in their order.

    The `top_k` likeliest are kept, and of these the fewest whose probabilities reach `top_p` (Holtzman et al. 2020).
    """
    logits = logits / decoding.temperature
    if not decoding.top_k and decoding.top_p >= 1:
        return logits.softmax(-1), None
    probabilities, ids = _likeliest(logits, decoding)
    before = probabilities.cumsum(-1) - probabilities
    enough = before >= decoding.top_p
    enough[:, 0] = False
    return probabilities.masked_fill(enough, 0.0), ids


def _likeliest(logits: torch.Tensor, decoding: Decoding) -> tuple[torch.Tensor, torch.Tensor]:
    """As many tokens as can be kept, likeliest first: sorting a whole vocabulary would take longer than the model."""
    size = logits.shape[1]
    if decoding.top_k:
        best = logits.topk(min(decoding.top_k, size), dim=-1)
        return best.values.softmax(-1), best.indices
    probabilities = logits.softmax(-1)
    best = probabilities.topk(min(_FEW, size), dim=-1)
    if bool((best.values.sum(-1) < decoding.top_p).any()):
        best = probabilities.topk(size, dim=-1)
    return best.values, best.indices


# MERGED from writers.beams: Beam search, plain or in diverse groups (Vijayakumar et al. 2016), over many prompts at once.

#: Worse than any text.
_WORST = -1e9


def search(
    stepper: Stepper, decoding: Decoding, ends: Sequence[int], banned: Sequence[int], most: int
) -> list[list[Line]]:
    """`decoding.count` texts for every prompt, of up to `most` tokens: the best of one group, or the best of each.

    A text's score is the mean log-probability of its tokens. As in transformers, a group is done when it has as many
    finished texts as beams, and its best beam, at its present length, is worse than all of them. Groups choose one
    after the other; what earlier ones chose costs `decoding.diversity` each. Prompts that are done leave the batch.
    """
    import torch

    copies = decoding.rows
    logits = stepper.first(copies).repeat_interleave(copies, dim=0)
    logits[:, list(banned)] = -torch.inf
    state = _State.begin(logits, decoding, most)
    stops = torch.tensor(ends, device=logits.device)
    results: dict[int, list[Line]] = {}
    for step in range(most):
        tokens, parents = _choose(state, logits, decoding, stops, step)
        done = ~state.open.any(1) if step + 1 < most else torch.ones_like(state.open[:, 0])
        results |= state.lines(done, decoding, stops)
        if bool(done.all()):
            break
        going = (~done).nonzero()[:, 0]
        rows = (going[:, None, None] * copies + parents[going]).flatten()
        state = state.select(going)
        logits = stepper.next(tokens[going].flatten(), rows)
        logits[:, list(banned)] = -torch.inf
    return [results[prompt] for prompt in sorted(results)]


@dataclass
class _State:
    """Beams [prompts, groups, beams] under way and finished; `open` groups may still find something better."""

    prompt: torch.Tensor
    scores: torch.Tensor
    texts: torch.Tensor
    finished: torch.Tensor
    finished_texts: torch.Tensor
    lengths: torch.Tensor
    open: torch.Tensor

    @classmethod
    def begin(cls, logits: torch.Tensor, decoding: Decoding, most: int) -> _State:
        import torch

        shape = (len(logits) // decoding.rows, decoding.groups, decoding.beams)
        scores = logits.new_zeros(shape)
        scores[..., 1:] = _WORST  # beams are all alike at first: only one may go on
        texts = torch.zeros((*shape, most), dtype=torch.long, device=logits.device)
        number = torch.arange(shape[0], device=logits.device)
        full = torch.full_like(scores, _WORST)
        opened = torch.ones(shape[:2], dtype=torch.bool, device=logits.device)
        return cls(number, scores, texts, full, texts.clone(), torch.zeros_like(texts[..., 0]), opened)

    def select(self, prompts: torch.Tensor) -> _State:
        return _State(*(getattr(self, field.name)[prompts] for field in fields(self)))

    def lines(self, done: torch.Tensor, decoding: Decoding, stops: torch.Tensor) -> dict[int, list[Line]]:
        """The texts of the prompts that are done, by the prompts' numbers."""
        import torch

        each = 1 if decoding.way == "diverse" else decoding.count
        found: dict[int, list[Line]] = {}
        for row in done.nonzero()[:, 0].tolist():
            texts = self.finished_texts[row, :, :each].flatten(0, 1)
            cut = [text[:length] for text, length in zip(texts, self.lengths[row, :, :each].flatten(), strict=True)]
            ended = [bool(torch.isin(text[-1:], stops).any()) for text in cut]
            lines = [(text[:-1] if end else text).tolist() for text, end in zip(cut, ended, strict=True)]
            found[int(self.prompt[row])] = list(zip(lines, ended, strict=True))
        return found


def _choose(
    state: _State, logits: torch.Tensor, decoding: Decoding, stops: torch.Tensor, step: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """One more token for every beam, and the row of its prompt that it goes on from: [prompts, groups, beams] each."""
    import torch

    shape = state.scores.shape
    logp = (logits / decoding.temperature).log_softmax(-1).view(*shape, -1)
    taken = logp.new_zeros(shape[0], logp.shape[-1])
    chosen = []
    for group in range(shape[1]):
        penalised = logp[:, group] - decoding.diversity * taken[:, None] if group else logp[:, group]
        counts = state.open[:, group, None].expand(-1, shape[2]).to(logp.dtype)  # those who were done take nothing
        tokens, parents = _choose_in_group(state, group, penalised, stops, step)
        taken.scatter_add_(1, tokens, counts)
        chosen.append((tokens, parents + group * shape[2]))
    return torch.stack([tokens for tokens, _ in chosen], 1), torch.stack([parents for _, parents in chosen], 1)


def _choose_in_group(
    state: _State, group: int, logp: torch.Tensor, stops: torch.Tensor, step: int
) -> tuple[torch.Tensor, torch.Tensor]:
    import torch

    beams, size = logp.shape[1:]
    scores = (logp + state.scores[:, group, :, None]).flatten(1)
    # However many of the best end here, enough are left to go on with.
    best, places = scores.topk(min((1 + len(stops)) * beams, scores.shape[1]), dim=-1)
    parents, tokens = places // size, places % size
    texts = state.texts[:, group].gather(1, parents[..., None].expand(-1, -1, state.texts.shape[-1]))
    texts[..., step] = tokens
    last = step + 1 == state.texts.shape[-1]
    ended = torch.isin(tokens, stops)
    _finish(state, group, best, texts, ended | last, step + 1)
    # At the last step, too, others are to choose otherwise: so it is still told what would go on.
    going = (best + ended * _WORST).topk(beams, dim=-1)
    state.scores[:, group] = going.values
    state.texts[:, group] = texts.gather(1, going.indices[..., None].expand(-1, -1, texts.shape[-1]))
    worst = state.finished[:, group].min(-1).values
    state.open[:, group] &= going.values[:, 0] / (step + 1) > worst
    return tokens.gather(1, going.indices), parents.gather(1, going.indices)


def _finish(
    state: _State, group: int, best: torch.Tensor, texts: torch.Tensor, ended: torch.Tensor, length: int
) -> None:
    """Keep the best of the finished texts and of those that end now, if they are among the best as many as beams."""
    import torch

    beams = state.scores.shape[2]
    counted = ended & (torch.arange(best.shape[1], device=best.device) < beams) & state.open[:, group, None]
    scores = torch.cat([state.finished[:, group], torch.where(counted, best / length, _WORST)], dim=1)
    merged = torch.cat([state.finished_texts[:, group], texts], dim=1)
    lengths = torch.cat([state.lengths[:, group], torch.full_like(texts[..., 0], length)], dim=1)
    kept = scores.topk(beams, dim=-1)
    state.finished[:, group] = kept.values
    state.finished_texts[:, group] = merged.gather(1, kept.indices[..., None].expand(-1, -1, texts.shape[-1]))
    state.lengths[:, group] = lengths.gather(1, kept.indices)
