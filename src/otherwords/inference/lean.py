"""The forward pass of the common encoders over packed rows: no padding, no mask, few and large operations.

Matrix products, norms and activations do not depend on where a row ends; attention alone does. In the last layer only
the first token of each row goes on after attention, since a classifier reads no other.

The `fused` form of the pass has GELU inside the product before it, in the tanh form that cuBLAS has (relu as it is). In
float8, weights and what they are multiplied with have 8 bits (e4m3); sums, norms, attention and the head do not.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from .families import Encoder, Layer, Linear, Network, describe

if TYPE_CHECKING:
    import torch

#: bfloat16 has 8 bits: numbers below 8 differ by 1/32 when rounded in another order, and are rounded twice. A number of
#: float8 differs from its neighbours by an eighth. So much may one differ of those up to 1; larger ones in proportion.
TOLERANCE = 0.15
#: The largest number of float8 (e4m3): beyond it there is only NaN.
LARGEST = 448.0


@dataclass(frozen=True)
class Packed:
    """Where packed rows begin and end; `row` and `place` are the row of each token, and its position there.

    `first` is the first token of each row; of an empty one, some token.
    """

    offsets: torch.Tensor
    first: torch.Tensor
    row: torch.Tensor
    place: torch.Tensor
    longest: int


@dataclass(frozen=True)
class Scaled:
    """A linear map whose weights are stored in float8: they are `weight * scale`."""

    weight: torch.Tensor
    scale: torch.Tensor
    bias: torch.Tensor


@dataclass(frozen=True)
class Parts:
    """How the operations of a layer are computed.

    `attention` gets queries, keys and values side by side, the rows, and the number of heads. `add_norm` returns its
    result twice: as it is added later, and as products read it. `raised` is a product followed by the activation of
    that name. `stored` converts a linear map, once, to what `product` and `raised` take.
    """

    attention: Callable[[torch.Tensor, Packed, int], torch.Tensor]
    add_norm: Callable[..., tuple[torch.Tensor, torch.Tensor]]
    raised: Callable[[torch.Tensor, Any, str], torch.Tensor]
    product: Callable[[torch.Tensor, Any], torch.Tensor]
    stored: Callable[[Linear], Any]


def lean_classifier(classifier: Any, *, fused: bool = False, float8: bool = False) -> LeanClassifier | None:
    """The lean form of a classifier of transformers, on its device; None where there is none, or it would be slower."""
    network = describe(classifier)
    parts = None if network is None else choose_parts(network, fused=fused, float8=float8)
    return None if network is None or parts is None else LeanClassifier.of(network, parts)


@dataclass(frozen=True)
class LeanClassifier:
    """Computes the logits of a described classifier; `parts` say how."""

    network: Network
    joints: tuple[Any, ...]
    parts: Parts

    @classmethod
    def of(cls, network: Network, parts: Parts) -> LeanClassifier:
        """One matrix product computes the queries, keys and values of a layer."""
        joints = tuple(parts.stored(_joint(layer)) for layer in network.encoder.layers)
        layers = tuple(_stored(layer, parts) for layer in network.encoder.layers)
        return cls(replace(network, encoder=replace(network.encoder, layers=layers)), joints, parts)

    def __call__(
        self, input_ids: torch.Tensor, offsets: torch.Tensor, longest: int, token_type_ids: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Logits, a line for each row; row i is `input_ids[offsets[i]:offsets[i + 1]]`, and none exceeds `longest`."""
        rows, encoder = packed(offsets, longest, len(input_ids)), self.network.encoder
        x = read = _embed(encoder, input_ids, token_type_ids, rows)
        for layer, joint in zip(encoder.layers[:-1], self.joints, strict=False):
            x, read = self._rest(layer, self._mix(joint, read, rows), x)
        mixed = self._mix(self.joints[-1], read, rows)
        return self._head(self._rest(encoder.layers[-1], _lines(mixed, rows.first), x[rows.first])[0])

    def _mix(self, joint: Any, read: torch.Tensor, rows: Packed) -> torch.Tensor:
        return self.parts.attention(self.parts.product(read, joint), rows, self.network.encoder.heads)

    def _rest(self, layer: Layer, mixed: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The part of a layer after attention; the result as it is added later, and as products read it."""
        one, two, parts = layer.attention_norm, layer.norm, self.parts
        x, read = parts.add_norm(parts.product(mixed, layer.output), x, one.weight, one.bias, one.epsilon)
        raised = parts.raised(read, layer.up, self.network.encoder.activation)
        return parts.add_norm(parts.product(raised, layer.down), x, two.weight, two.bias, two.epsilon)

    def _head(self, x: torch.Tensor) -> torch.Tensor:
        head = self.network.head
        return _linear(activate(_linear(x, head.dense), head.activation), head.out)


def _stored(layer: Layer, parts: Parts) -> Layer:
    """Queries, keys and values are stored as the joint."""
    output, up, down = (parts.stored(part) for part in (layer.output, layer.up, layer.down))
    return replace(layer, output=output, up=up, down=down)


def _lines(x: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    """Some lines of a table; torch does not index float8 on every device."""
    import torch

    return x.view(torch.uint8)[chosen].view(x.dtype) if x.element_size() == 1 else x[chosen]


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
    before = (counted - real)[rows.first]
    return (counted - before[rows.row]) * real + pad


def _joint(layer: Layer) -> Linear:
    import torch

    three = (layer.query, layer.key, layer.value)
    return Linear(torch.cat([part.weight for part in three]), torch.cat([part.bias for part in three]))


def _linear(x: torch.Tensor, linear: Linear) -> torch.Tensor:
    from torch.nn.functional import linear as product

    return product(x, linear.weight, linear.bias)


def activate(x: torch.Tensor, name: str, *, fused: bool = False) -> torch.Tensor:
    """An activation by its name in `families`; GELU where it is `fused` in its tanh form."""
    import torch
    from torch.nn.functional import gelu

    if name not in ("gelu", "tanh-gelu"):
        return getattr(torch, name)(x)
    return gelu(x, approximate="tanh" if fused or name == "tanh-gelu" else "none")


# How the parts are computed


def choose_parts(network: Network, *, fused: bool = False, float8: bool = False) -> Parts | None:
    """The parts with which a network is computed faster than by transformers; None where there are none.

    On a CPU these are torch's own operations. On a GPU they are our kernels, which need half precision, and Triton
    with its C compiler; they are tested here, once. Without them, padding for torch's attention costs all the gain: a
    network of RoBERTa-large's shape computes 31,400 pairs a second of SNLI's lengths on an H200 with them, and 14,900
    without.
    """
    device = network.encoder.words.device.type
    plain = plain_float8_parts() if float8 else plain_parts(fused=fused)
    if device == "cuda" and _for_kernels(network):
        return checked(network, _float8_parts(network) if float8 else _half_parts(plain, fused=fused), plain)
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
    warnings.warn(f"kernels for short texts {problem}: continuing without them, slower", stacklevel=2)
    return None


def measure_differences(network: Network, parts: Parts, expected: Parts) -> tuple[float, ...]:
    """The largest differences of attention, norm and activated product, on random numbers of the network's shape.

    Numbers above 1 count in proportion. Weights are the first layer's.
    """
    import torch

    layer, heads, activation = network.encoder.layers[0], network.encoder.heads, network.encoder.activation
    like = layer.query.weight
    generator = torch.Generator(like.device).manual_seed(0)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(shape, device=like.device, generator=generator).to(like.dtype)

    lengths = torch.tensor([1, 2, 16, 17, 27, 40], device=like.device)
    offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    joint, x, y, bias = random(103, 3 * len(like)), random(103, len(like)), random(103, len(like)), random(len(like))
    weight = random(len(like)).tanh()
    with torch.cuda.device_of(like):
        rows = packed(offsets, 40, 103)
        ways = [
            (
                way.attention(joint, rows, heads),
                *way.add_norm(x, y, weight, bias, 1e-5),
                way.raised(x, way.stored(layer.up), activation),
            )
            for way in (parts, expected)
        ]
    return tuple(_difference(one.float(), other.float()) for one, other in zip(*ways, strict=True))


def _difference(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float(((found - expected).abs() / expected.abs().clamp_min(1)).max())


def _for_kernels(network: Network) -> bool:  # gpu only
    """Whether Triton is installed, and the network is in half precision and has heads of a known size."""
    from . import kernels

    weight, heads = network.encoder.layers[0].query.weight, network.encoder.heads
    half = weight.element_size() == 2 and weight.is_floating_point()
    return bool(half and kernels.AVAILABLE and len(weight) // heads in kernels.SIZES)


def packed(offsets: torch.Tensor, longest: int, tokens: int) -> Packed:
    """Find the row and position of each token, without waiting for the device."""
    import torch

    rows = torch.arange(len(offsets) - 1, device=offsets.device)
    row = rows.repeat_interleave(offsets.diff(), output_size=tokens)
    place = torch.arange(tokens, device=offsets.device) - offsets[row]
    return Packed(offsets, offsets[:-1].clamp_max(tokens - 1), row, place, longest)


# Torch's own operations, for any device and dtype. Compiling them gained nothing on a GPU.


def plain_parts(*, fused: bool = False) -> Parts:
    """Parts without kernels of our own; `fused` ones compute GELU in its tanh form."""

    def raised(x: torch.Tensor, linear: Linear, activation: str) -> torch.Tensor:
        return activate(_linear(x, linear), activation, fused=fused)

    return Parts(padded_attention, _add_norm, raised, _linear, lambda linear: linear)


def plain_float8_parts() -> Parts:
    """The same in float8, which is made wide again before each operation: as exact as float8 can be, and slow."""

    def product(x: torch.Tensor, linear: Scaled) -> torch.Tensor:
        sums = narrow(x).float() @ linear.weight.float().t()
        return (sums * linear.scale + linear.bias.float()).to(linear.bias.dtype)

    def raised(x: torch.Tensor, linear: Scaled, activation: str) -> torch.Tensor:
        return narrow(activate(product(x, linear), activation, fused=True))

    def attention(joint: torch.Tensor, rows: Packed, heads: int) -> torch.Tensor:
        return narrow(padded_attention(joint, rows, heads))

    def add_norm(*given: Any) -> tuple[torch.Tensor, torch.Tensor]:
        normed, _ = _add_norm(*given)
        return normed, narrow(normed)

    return Parts(attention, add_norm, raised, product, scaled)


def scaled(linear: Linear) -> Scaled:
    """A linear map with weights in float8, the largest of which is float8's largest number."""
    weight = linear.weight.float()
    scale = (weight.abs().max() / LARGEST).clamp_min(1e-12)
    return Scaled(narrow(weight / scale), scale, linear.bias)


def narrow(x: torch.Tensor) -> torch.Tensor:
    """Numbers in float8. They need no scale: what layers pass on lies between a thousandth and a few hundred."""
    import torch

    return x if x.element_size() == 1 else x.clamp(-LARGEST, LARGEST).to(torch.float8_e4m3fn)


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

    normed = layer_norm(x + y, x.shape[-1:], weight, bias, epsilon)
    return normed, normed


# Our kernels and cuBLAS's fused products, on a GPU


def _half_parts(plain: Parts, *, fused: bool) -> Parts:  # gpu only
    from . import kernels

    parts = replace(plain, attention=partial(_short_attention, None), add_norm=kernels.add_norm)
    return replace(parts, raised=_fused_product) if fused else parts


def _float8_parts(network: Network) -> Parts:  # gpu only
    import torch

    from . import kernels

    one = torch.ones((), device=network.encoder.words.device)

    def product(x: torch.Tensor, linear: Scaled) -> torch.Tensor:
        types = {"out_dtype": linear.bias.dtype, "use_fast_accum": True}
        return torch._scaled_mm(narrow(x), linear.weight.t(), one, linear.scale, bias=linear.bias, **types)

    def raised(x: torch.Tensor, linear: Scaled, activation: str) -> torch.Tensor:
        wide = product(x, linear)
        usual = activation in ("gelu", "tanh-gelu")
        return kernels.gelu(wide, torch.float8_e4m3fn) if usual else narrow(activate(wide, activation))

    attention = partial(_short_attention, torch.float8_e4m3fn)
    return Parts(attention, partial(kernels.add_norm, dtype=torch.float8_e4m3fn), raised, product, scaled)


def _fused_product(x: torch.Tensor, linear: Linear, activation: str) -> torch.Tensor:  # gpu only
    """GELU, in its tanh form, or relu inside the product: a fifth less time than after it."""
    import torch

    if activation == "tanh":
        return activate(_linear(x, linear), activation)
    return torch._addmm_activation(linear.bias, x, linear.weight.t(), use_gelu=activation != "relu")


def _short_attention(dtype: Any, joint: torch.Tensor, rows: Packed, heads: int) -> torch.Tensor:  # gpu only
    from .kernels import LONGEST, attend

    if rows.longest > LONGEST:
        mixed = padded_attention(joint, rows, heads)
        return mixed if dtype is None else narrow(mixed)
    return attend(joint, rows.offsets, rows.longest, heads, dtype)
