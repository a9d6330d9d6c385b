"""The fastest ways to compute the parts of an encoder where it is, tried out before they are used."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .families import Network
from .lean_parts import Packed, Parts, packed, padded_attention, plain_parts

if TYPE_CHECKING:
    import torch

#: Half precision has 8 bits at worst: numbers below 8 are off by a 32nd when rounded otherwise, and are rounded twice.
TOLERANCE = 0.1


def choose_parts(network: Network) -> Parts | None:
    """The parts with which a network is computed faster than by transformers; None where there are none.

    On a processor these are torch's own. On a GPU they are kernels of ours, which need half precision, and Triton with
    its C compiler; they are tried out here, once. Without them, filling up for torch's attention costs all the gain: of
    RoBERTa-large's shape, the forward pass alone computes 31,400 pairs a second of SNLI's lengths on an H200 with
    them, and 14,900 without.
    """
    place, plain = network.encoder.words.device.type, plain_parts()
    if place == "cuda" and _for_kernels(network):
        return checked(network, replace(plain, attention=_short_attention, add_norm=_kernel_norm), plain)
    return plain if place == "cpu" else None


def checked(network: Network, fast: Parts, plain: Parts) -> Parts | None:
    """The fast parts; None, and a warning, where they fail or compute something else than the plain ones."""
    try:
        differences = try_out(network, fast, plain)
    except Exception as error:  # what a compiler may raise has no common root
        trouble = f"failed ({type(error).__name__}: {str(error).strip().partition(chr(10))[0]})"
    else:
        if all(difference < TOLERANCE for difference in differences):
            return fast
        trouble = f"differ by {', '.join(f'{one:.3g}' for one in differences)} from torch's own"
    warnings.warn(f"kernels for short texts {trouble}: going on without, at about half the speed", stacklevel=2)
    return None


def try_out(network: Network, parts: Parts, expected: Parts) -> tuple[float, float]:
    """How far attention and norm are from what is expected, on random numbers of the network's shape and place."""
    import torch

    like, heads = network.encoder.layers[0].query.weight, network.encoder.heads
    generator = torch.Generator(like.device).manual_seed(0)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(shape, device=like.device, generator=generator).to(like.dtype)

    lengths = torch.tensor([1, 2, 16, 17, 27, 40], device=like.device)
    offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    joint, x, y, bias = random(103, 3 * len(like)), random(103, len(like)), random(103, len(like)), random(len(like))
    weight = random(len(like)).tanh()
    with torch.cuda.device_of(like):
        rows = packed(offsets, 40, 103)
        mixed = [way.attention(joint, rows, heads).float() for way in (parts, expected)]
        normed = [way.add_norm(x, y, weight, bias, 1e-5).float() for way in (parts, expected)]
    return float((mixed[0] - mixed[1]).abs().max()), float((normed[0] - normed[1]).abs().max())


def _for_kernels(network: Network) -> bool:  # gpu only
    """Whether there is Triton, and the network is in half precision and has heads of a usual size."""
    from .kernels import attention

    weight, heads = network.encoder.layers[0].query.weight, network.encoder.heads
    half = weight.element_size() == 2 and weight.is_floating_point()
    return bool(half and attention.AVAILABLE and len(weight) // heads in attention.SIZES)


def _short_attention(joint: torch.Tensor, rows: Packed, heads: int) -> torch.Tensor:  # gpu only
    from .kernels.attention import LONGEST, attend

    if rows.longest > LONGEST:
        return padded_attention(joint, rows, heads)
    return attend(joint, rows.offsets, rows.longest, heads)


def _kernel_norm(x: Any, y: Any, weight: Any, bias: Any, epsilon: float) -> Any:  # gpu only
    from .kernels.add_norm import add_norm

    return add_norm(x, y, weight, bias, epsilon)
