"""Beam search, plain or in diverse groups (Vijayakumar et al. 2016), over many prompts at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from .decoding import Decoding
from .sampling import Line
from .stepping import Stepper

if TYPE_CHECKING:
    import torch

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
