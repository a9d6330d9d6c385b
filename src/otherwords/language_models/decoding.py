"""Decoding for many prompts at once: sampling, greedy, and beam search, plain or diverse (Vijayakumar et al. 2016)."""

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

#: So many tokens nearly always reach `top_p`.
_FEW = 256
#: The token ids of a text without its end token, and whether it had one.
Line = tuple[list[int], bool]
#: A score worse than any text's.
_WORST = -1e9


class Stepper:
    """A batch that a model of transformers writes token by token: `first` reads the prompts, `next` adds a token.

    Both return logits. `ids` and `mask` are the prompts of one batch: padded on the right for a model with an encoder,
    whose decoder begins with the tokens `start`, and on the left for a causal one, which has no `start`.
    """

    def __init__(self, model: Any, ids: torch.Tensor, mask: torch.Tensor, start: list[int]):
        self.model, self.ids, self.mask, self.start = model, ids, mask, start
        self.states: Any = None
        self.cache: Any = None
        self._takes = set(inspect.signature(model.forward).parameters)

    def first(self, copies: int) -> torch.Tensor:
        """Read the prompts once, then make `copies` rows of each; returns logits [prompts, tokens], not copied."""
        if self.start:
            self.states = self.model.get_encoder()(input_ids=self.ids, attention_mask=self.mask).last_hidden_state
            logits = self._forward(self.ids.new_tensor([self.start]).expand(len(self.ids), -1))
        else:
            logits = self._forward(self.ids)
        if not hasattr(self.cache, "reorder_cache"):
            raise WrongAnswer(f"{type(self.model).__name__}: its KV cache cannot be reordered")
        if logits.isnan().any():
            raise WrongAnswer(f"{type(self.model).__name__} returned NaN; another dtype may work")
        import torch

        self._select(torch.arange(len(self.ids), device=self.ids.device).repeat_interleave(copies))
        return logits

    def next(self, tokens: torch.Tensor, rows: torch.Tensor | None = None) -> torch.Tensor:
        """Continue the chosen rows (by default all), each with its next token: logits [rows, tokens]."""
        if rows is not None:
            self._select(rows)
        if not self.start:
            import torch

            self.mask = torch.cat([self.mask, self.mask.new_ones(len(self.mask), 1)], dim=1)
        return self._forward(tokens[:, None])

    def _select(self, rows: torch.Tensor) -> None:
        self.cache.reorder_cache(rows)
        self.mask = self.mask[rows]
        if self.states is not None:
            self.states = self.states[rows]

    def _forward(self, tokens: torch.Tensor) -> torch.Tensor:
        given: dict[str, Any] = {"attention_mask": self.mask, "past_key_values": self.cache, "use_cache": True}
        if self.start:
            given |= {"decoder_input_ids": tokens, "encoder_outputs": (self.states,)}
        else:
            given["input_ids"] = tokens
            if "position_ids" in self._takes:  # padding on the left must not shift a row's positions
                given["position_ids"] = (self.mask.cumsum(1) - 1).clamp(min=0)[:, -tokens.shape[1] :]
            if "logits_to_keep" in self._takes:  # those of the whole prompt would take gigabytes
                given["logits_to_keep"] = 1
        output = self.model(**given, return_dict=True)
        self.cache = output.get("past_key_values")
        logits: torch.Tensor = output.logits[:, -1].float()
        return logits


# Sampling


def draw(
    stepper: Stepper, seeds: Sequence[int], decoding: Decoding, ends: Sequence[int], banned: Sequence[int], most: int
) -> list[list[Line]]:
    """`decoding.count` texts for every prompt, of up to `most` tokens, sampled or greedy; greedy ones need no seed.

    A row that has ended is dropped from the batch at once.
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
    texts = list(zip(lines, ended, strict=True))
    return [texts[start : start + copies] for start in range(0, len(texts), copies)]


def uniforms(seeds: Sequence[int], copies: int, most: int) -> npt.NDArray[np.float64]:
    """A number from 0 to 1 for each token of each text, from a counter-based generator with the key (seed, candidate).

    So a sample depends on the seed, the candidate and the position, and not on the batch. Of a seed the last 64 bits
    count.

    >>> uniforms([7], 2, 40)[1, :2].tolist() == uniforms([3, 7], 2, 2)[3].tolist()
    True
    """
    pairs = [(seed % 2**64, candidate) for seed in seeds for candidate in range(copies)]
    keys = [np.array(pair, dtype=np.uint64) for pair in pairs]
    return np.stack([np.random.Generator(np.random.Philox(key=key)).random(most) for key in keys])


def drawn(logits: torch.Tensor, chance: torch.Tensor, decoding: Decoding) -> torch.Tensor:
    """Sample one token of each row, by inverting the cumulative probability of those that `kept` leaves."""
    probabilities, ids = kept(logits, decoding)
    summed = probabilities.double().cumsum(-1)
    reached = (summed <= chance[:, None] * summed[:, -1:]).sum(-1, keepdim=True).clamp(max=summed.shape[1] - 1)
    return (reached if ids is None else ids.gather(1, reached))[:, 0]


def kept(logits: torch.Tensor, decoding: Decoding) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Probabilities of the tokens that may be sampled, and their ids, likeliest first; None: all, in order of id.

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
    """As many tokens as may be kept, likeliest first: sorting a whole vocabulary would take longer than the model."""
    size = logits.shape[1]
    if decoding.top_k:
        best = logits.topk(min(decoding.top_k, size), dim=-1)
        return best.values.softmax(-1), best.indices
    probabilities = logits.softmax(-1)
    best = probabilities.topk(min(_FEW, size), dim=-1)
    if bool((best.values.sum(-1) < decoding.top_p).any()):
        best = probabilities.topk(size, dim=-1)
    return best.values, best.indices


# Beam search


def search(
    stepper: Stepper, decoding: Decoding, ends: Sequence[int], banned: Sequence[int], most: int
) -> list[list[Line]]:
    """`decoding.count` texts for every prompt, of up to `most` tokens: the best of one group, or the best of each.

    A text's score is the mean log-probability of its tokens. As in transformers, a group is done when it has as many
    finished texts as beams, and its best beam, at its present length, is worse than all of them. Groups choose one
    after the other; a token that earlier ones chose costs `decoding.diversity` each time. Prompts that are done are
    dropped from the batch.
    """
    import torch

    copies = decoding.rows
    logits = stepper.first(copies).repeat_interleave(copies, dim=0)
    logits[:, list(banned)] = -torch.inf
    state = _Beams.begin(logits, decoding, most)
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
class _Beams:
    """Beams [prompts, groups, beams], unfinished and finished; `open` groups may still find better ones."""

    prompt: torch.Tensor
    scores: torch.Tensor
    texts: torch.Tensor
    finished: torch.Tensor
    finished_texts: torch.Tensor
    lengths: torch.Tensor
    open: torch.Tensor

    @classmethod
    def begin(cls, logits: torch.Tensor, decoding: Decoding, most: int) -> _Beams:
        import torch

        shape = (len(logits) // decoding.rows, decoding.groups, decoding.beams)
        scores = logits.new_zeros(shape)
        scores[..., 1:] = _WORST  # all beams are equal at first: only one may continue
        texts = torch.zeros((*shape, most), dtype=torch.long, device=logits.device)
        number = torch.arange(shape[0], device=logits.device)
        finished = torch.full_like(scores, _WORST)
        opened = torch.ones(shape[:2], dtype=torch.bool, device=logits.device)
        return cls(number, scores, texts, finished, texts.clone(), torch.zeros_like(texts[..., 0]), opened)

    def select(self, prompts: torch.Tensor) -> _Beams:
        return _Beams(*(getattr(self, field.name)[prompts] for field in fields(self)))

    def lines(self, done: torch.Tensor, decoding: Decoding, stops: torch.Tensor) -> dict[int, list[Line]]:
        """The texts of the prompts that are done, by the prompts' numbers."""
        import torch

        each = 1 if decoding.way == "diverse" else decoding.count
        lines: dict[int, list[Line]] = {}
        for row in done.nonzero()[:, 0].tolist():
            texts = self.finished_texts[row, :, :each].flatten(0, 1)
            cut = [text[:length] for text, length in zip(texts, self.lengths[row, :, :each].flatten(), strict=True)]
            ended = [bool(torch.isin(text[-1:], stops).any()) for text in cut]
            ids = [(text[:-1] if end else text).tolist() for text, end in zip(cut, ended, strict=True)]
            lines[int(self.prompt[row])] = list(zip(ids, ended, strict=True))
        return lines


def _choose(
    state: _Beams, logits: torch.Tensor, decoding: Decoding, stops: torch.Tensor, step: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """One more token for every beam, and the row of its prompt that it continues: [prompts, groups, beams] each."""
    import torch

    shape = state.scores.shape
    logp = (logits / decoding.temperature).log_softmax(-1).view(*shape, -1)
    taken = logp.new_zeros(shape[0], logp.shape[-1])
    chosen = []
    for group in range(shape[1]):
        penalised = logp[:, group] - decoding.diversity * taken[:, None] if group else logp[:, group]
        counts = state.open[:, group, None].expand(-1, shape[2]).to(logp.dtype)  # groups that are done add no penalty
        tokens, parents = _choose_in_group(state, group, penalised, stops, step)
        taken.scatter_add_(1, tokens, counts)
        chosen.append((tokens, parents + group * shape[2]))
    return torch.stack([tokens for tokens, _ in chosen], 1), torch.stack([parents for _, parents in chosen], 1)


def _choose_in_group(
    state: _Beams, group: int, logp: torch.Tensor, stops: torch.Tensor, step: int
) -> tuple[torch.Tensor, torch.Tensor]:
    import torch

    beams, size = logp.shape[1:]
    scores = (logp + state.scores[:, group, :, None]).flatten(1)
    # However many of the best end here, enough are left to continue.
    best, places = scores.topk(min((1 + len(stops)) * beams, scores.shape[1]), dim=-1)
    parents, tokens = places // size, places % size
    texts = state.texts[:, group].gather(1, parents[..., None].expand(-1, -1, state.texts.shape[-1]))
    texts[..., step] = tokens
    last = step + 1 == state.texts.shape[-1]
    ended = torch.isin(tokens, stops)
    _finish(state, group, best, texts, ended | last, step + 1)
    # At the last step, too, later groups are to differ: so the beams that would continue are still returned.
    going = (best + ended * _WORST).topk(beams, dim=-1)
    state.scores[:, group] = going.values
    state.texts[:, group] = texts.gather(1, going.indices[..., None].expand(-1, -1, texts.shape[-1]))
    worst = state.finished[:, group].min(-1).values
    state.open[:, group] &= going.values[:, 0] / (step + 1) > worst
    return tokens.gather(1, going.indices), parents.gather(1, going.indices)


def _finish(
    state: _Beams, group: int, best: torch.Tensor, texts: torch.Tensor, ended: torch.Tensor, length: int
) -> None:
    """Keep the best finished texts, those included that end now and are among the best `beams` continuations."""
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
