"""The forward pass of the common encoders over rows that lie end to end: no padding, no mask, few and large steps.

Products, norms and activations do not care where a row ends; attention alone does, and is told. In the last layer only
the first token of each row goes on after attention, since a classifier reads no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .families import Encoder, Layer, Linear, Network, describe
from .fast_parts import choose_parts
from .lean_parts import Packed, Parts, packed

if TYPE_CHECKING:
    import torch


def lean_classifier(classifier: Any) -> LeanClassifier | None:
    """A lean form of a classifier of transformers, where it is; None where that is not known, or would be slower."""
    network = describe(classifier)
    parts = None if network is None else choose_parts(network)
    return None if network is None or parts is None else LeanClassifier.of(network, parts)


@dataclass(frozen=True)
class LeanClassifier:
    """Computes the logits of a described classifier, with the given ways to compute its parts."""

    network: Network
    joints: tuple[Linear, ...]
    parts: Parts

    @classmethod
    def of(cls, network: Network, parts: Parts) -> LeanClassifier:
        """Make one, with a single product for the queries, keys and values of each layer."""
        return cls(network, tuple(_joint(layer) for layer in network.encoder.layers), parts)

    def __call__(
        self,
        input_ids: torch.Tensor,
        offsets: torch.Tensor,
        longest: int,
        token_type_ids: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Logits, a line for each row; row i is `input_ids[offsets[i]:offsets[i + 1]]`, and none is over `longest`."""
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
        """What follows attention in a layer."""
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
    """0, 1, 2 ...; as RoBERTa counts, behind the number of its padding token, which itself has none."""
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
