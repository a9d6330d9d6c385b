"""The forward pass of the common encoders over packed rows: no padding, no mask, few and large operations.

Matrix products, norms and activations do not depend on where a row ends; attention alone does. In the last layer only
the first token of each row goes on after attention, since a classifier reads no other.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from .families import Encoder, Layer, Linear, Network, describe

if TYPE_CHECKING:
    import torch

#: bfloat16 has 8 bits: numbers below 8 differ by 1/32 when rounded in another order, and are rounded twice.
TOLERANCE = 0.1


@dataclass(frozen=True)
class Packed:
    """Where packed rows begin and end; `row` and `place` are the row of each token, and its position there."""

    offsets: torch.Tensor
    row: torch.Tensor
    place: torch.Tensor
    longest: int


@dataclass(frozen=True)
class Parts:
    """How all but the matrix products is computed.

    `attention` gets queries, keys and values side by side, the rows, and the number of heads.
    """

    attention: Callable[[torch.Tensor, Packed, int], torch.Tensor]
    add_norm: Callable[..., torch.Tensor]
    activations: Mapping[str, Callable[[torch.Tensor], torch.Tensor]]


def lean_classifier(classifier: Any) -> LeanClassifier | None:
    """The lean form of a classifier of transformers, on its device; None where there is none, or it would be slower."""
    network = describe(classifier)
    parts = None if network is None else choose_parts(network)
    return None if network is None or parts is None else LeanClassifier.of(network, parts)


@dataclass(frozen=True)
class LeanClassifier:
    """Computes the logits of a described classifier; `parts` say how."""

    network: Network
    joints: tuple[Linear, ...]
    parts: Parts

    @classmethod
    def of(cls, network: Network, parts: Parts) -> LeanClassifier:
        """One matrix product computes the queries, keys and values of a layer."""
        return cls(network, tuple(_joint(layer) for layer in network.encoder.layers), parts)

    def __call__(
        self, input_ids: torch.Tensor, offsets: torch.Tensor, longest: int, token_type_ids: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Logits, a line for each row; row i is `input_ids[offsets[i]:offsets[i + 1]]`, and none exceeds `longest`."""
        rows, encoder = packed(offsets, longest, len(input_ids)), self.network.encoder
        x = _embed(encoder, input_ids, token_type_ids, rows)
        for layer, joint in zip(encoder.layers[:-1], self.joints, strict=False):
            x = self._rest(layer, self._mix(joint, x, rows), x)
        first = rows.offsets[:-1]
        mixed = self._mix(self.joints[-1], x, rows)
        return self._head(self._rest(encoder.layers[-1], mixed[first], x[first]))

    def _mix(self, joint: Linear, x: torch.Tensor, rows: Packed) -> torch.Tensor:
        return self.parts.attention(_linear(x, joint), rows, self.network.encoder.heads)

    def _rest(self, layer: Layer, mixed: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """The part of a layer after attention."""
        one, two = layer.attention_norm, layer.norm
        x = self.parts.add_norm(_linear(mixed, layer.output), x, one.weight, one.bias, one.epsilon)
        raised = self.parts.activations[self.network.encoder.activation](_linear(x, layer.up))
        return self.parts.add_norm(_linear(raised, layer.down), x, two.weight, two.bias, two.epsilon)

    def _head(self, x: torch.Tensor) -> torch.Tensor:
        head = self.network.head
        return _linear(self.parts.activations[head.activation](_linear(x, head.dense)), head.out)


def _embed(encoder: Encoder, ids: torch.Tensor, types: torch.Tensor | None, rows: Packed) -> torch.Tensor:
    from torch.nn.functional import embedding, layer_norm

    x = embedding(ids, encoder.words) + embedding(_positions(ids, rows, encoder.pad), encoder.positions)
    if encoder.types is not None:
        x = x + (encoder.types[0] if types is None else embedding(types, encoder.types))
    x = layer_norm(x, x.shape[-1:], encoder.norm.weight, encoder.norm.bias, encoder.norm.epsilon)
    return x if encoder.projection is None else _linear(x, encoder.projection)


def _positions(ids: torch.Tensor, rows: Packed, pad: int | None) -> torch.Tensor:
    """0, 1, 2 ...; RoBERTa counts from behind the number of its padding token, which has no position itself."""
    if pad is None:
        return rows.place
    real = (ids != pad).long()
    counted = real.cumsum(0)
    before = (counted - real)[rows.offsets[:-1]]
    return (counted - before[rows.row]) * real + pad


def _joint(layer: Layer) -> Linear:
    import torch

    three = (layer.query, layer.key, layer.value)
    return Linear(torch.cat([part.weight for part in three]), torch.cat([part.bias for part in three]))


def _linear(x: torch.Tensor, linear: Linear) -> torch.Tensor:
    from torch.nn.functional import linear as product

    return product(x, linear.weight, linear.bias)


# How the parts are computed


def choose_parts(network: Network) -> Parts | None:
    """The parts with which a network is computed faster than by transformers; None where there are none.

    On a CPU these are torch's own operations. On a GPU they are our kernels, which need half precision, and Triton
    with its C compiler; they are tested here, once. Without them, padding for torch's attention costs all the gain: a
    network of RoBERTa-large's shape computes 31,400 pairs a second of SNLI's lengths on an H200 with them, and 14,900
    without.
    """
    device, plain = network.encoder.words.device.type, plain_parts()
    if device == "cuda" and _for_kernels(network):
        return checked(network, replace(plain, attention=_short_attention, add_norm=_kernel_norm), plain)
    return plain if device == "cpu" else None


def checked(network: Network, fast: Parts, plain: Parts) -> Parts | None:
    """The fast parts; None, and a warning, where they fail or do not compute the same as the plain ones."""
    try:
        differences = measure_differences(network, fast, plain)
    except Exception as error:  # what a compiler may raise has no common root
        problem = f"failed ({type(error).__name__}: {str(error).strip().partition(chr(10))[0]})"
    else:
        if all(difference < TOLERANCE for difference in differences):
            return fast
        problem = f"differ by {', '.join(f'{one:.3g}' for one in differences)} from torch's own"
    warnings.warn(f"kernels for short texts {problem}: continuing without them, at about half the speed", stacklevel=2)
    return None


def measure_differences(network: Network, parts: Parts, expected: Parts) -> tuple[float, float]:
    """The largest differences of attention and norm, on random numbers of the network's shape and device."""
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
    """Whether Triton is installed, and the network is in half precision and has heads of a known size."""
    from . import kernels

    weight, heads = network.encoder.layers[0].query.weight, network.encoder.heads
    half = weight.element_size() == 2 and weight.is_floating_point()
    return bool(half and kernels.AVAILABLE and len(weight) // heads in kernels.SIZES)


def _short_attention(joint: torch.Tensor, rows: Packed, heads: int) -> torch.Tensor:  # gpu only
    from .kernels import LONGEST, attend

    if rows.longest > LONGEST:
        return padded_attention(joint, rows, heads)
    return attend(joint, rows.offsets, rows.longest, heads)


def _kernel_norm(x: Any, y: Any, weight: Any, bias: Any, epsilon: float) -> Any:  # gpu only
    from .kernels import add_norm

    return add_norm(x, y, weight, bias, epsilon)


def packed(offsets: torch.Tensor, longest: int, tokens: int) -> Packed:
    """Find the row and position of each token, without waiting for the device."""
    import torch

    rows = torch.arange(len(offsets) - 1, device=offsets.device)
    row = rows.repeat_interleave(offsets.diff(), output_size=tokens)
    place = torch.arange(tokens, device=offsets.device) - offsets[row]
    return Packed(offsets, row, place, longest)


def plain_parts() -> Parts:
    """Parts made of torch's own operations, for any device and dtype. Compiling them gained nothing on a GPU."""
    import torch
    from torch.nn.functional import gelu

    tanh_gelu = partial(gelu, approximate="tanh")
    return Parts(
        padded_attention, _add_norm, {"gelu": gelu, "tanh-gelu": tanh_gelu, "relu": torch.relu, "tanh": torch.tanh}
    )


def padded_attention(joint: torch.Tensor, rows: Packed, heads: int) -> torch.Tensor:
    """Pad for torch's own attention, then pack again; rows of one length need neither padding nor mask."""
    from torch.nn.functional import scaled_dot_product_attention

    count, tokens = len(rows.offsets) - 1, len(joint)
    if count * rows.longest == tokens:
        q, k, v = joint.view(count, rows.longest, 3, heads, -1).permute(2, 0, 3, 1, 4)
        return scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(tokens, -1)
    padded = joint.new_zeros((count, rows.longest, joint.shape[1]))
    padded[rows.row, rows.place] = joint
    q, k, v = padded.view(count, rows.longest, 3, heads, -1).permute(2, 0, 3, 1, 4)
    places = rows.place.new_ones(rows.longest).cumsum(0)
    mask = (places <= rows.offsets.diff()[:, None])[:, None, None, :]
    mixed = scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2)
    return mixed[rows.row, rows.place].reshape(tokens, -1)


def _add_norm(x: Any, y: Any, weight: Any, bias: Any, epsilon: float) -> Any:
    from torch.nn.functional import layer_norm

    return layer_norm(x + y, x.shape[-1:], weight, bias, epsilon)
