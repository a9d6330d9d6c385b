"""Ways to compute what of an encoder is no product: attention over rows end to end, addition with norm, activations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Packed:
    """Where rows begin and end in a stream of tokens; `row` and `place` say where each token stands."""

    offsets: torch.Tensor
    row: torch.Tensor
    place: torch.Tensor
    longest: int


@dataclass(frozen=True)
class Parts:
    """`attention` gets queries, keys and values side by side, the rows, and the number of heads."""

    attention: Callable[[torch.Tensor, Packed, int], torch.Tensor]
    add_norm: Callable[..., torch.Tensor]
    activations: Mapping[str, Callable[[torch.Tensor], torch.Tensor]]


def packed(offsets: torch.Tensor, longest: int, tokens: int) -> Packed:
    """Find the row and place of each token, without waiting for the device."""
    import torch

    rows = torch.arange(len(offsets) - 1, device=offsets.device)
    row = rows.repeat_interleave(offsets.diff(), output_size=tokens)
    place = torch.arange(tokens, device=offsets.device) - offsets[row]
    return Packed(offsets, row, place, longest)


def plain_parts() -> Parts:
    """Parts made of torch's own operations, for any device and arithmetic. Compiling them gained nothing on a GPU."""
    import torch
    from torch.nn.functional import gelu

    tanh_gelu = partial(gelu, approximate="tanh")
    return Parts(
        padded_attention, _add_norm, {"gelu": gelu, "tanh-gelu": tanh_gelu, "relu": torch.relu, "tanh": torch.tanh}
    )


def padded_attention(joint: torch.Tensor, rows: Packed, heads: int) -> torch.Tensor:
    """Side by side for torch's own attention, then end to end again; rows of one length need no filling and no mask."""
    from torch.nn.functional import scaled_dot_product_attention

    count, tokens = len(rows.offsets) - 1, len(joint)
    if count * rows.longest == tokens:
        q, k, v = joint.view(count, rows.longest, 3, heads, -1).permute(2, 0, 3, 1, 4)
        return scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(tokens, -1)
    filled = joint.new_zeros((count, rows.longest, joint.shape[1]))
    filled[rows.row, rows.place] = joint
    q, k, v = filled.view(count, rows.longest, 3, heads, -1).permute(2, 0, 3, 1, 4)
    places = rows.place.new_ones(rows.longest).cumsum(0)
    mask = (places <= rows.offsets.diff()[:, None])[:, None, None, :]
    mixed = scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2)
    return mixed[rows.row, rows.place].reshape(tokens, -1)


def _add_norm(x: Any, y: Any, weight: Any, bias: Any, epsilon: float) -> Any:
    from torch.nn.functional import layer_norm

    return layer_norm(x + y, x.shape[-1:], weight, bias, epsilon)
