"""Texts drawn token by token, or the likeliest token each time; chance comes from numbers of a row's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .decoding import Decoding
from .stepping import Stepper

if TYPE_CHECKING:
    import torch

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
