"""The encoders that judges are trained on, in torch: nli-small's (BERT) and all-mpnet-base-v2's (MPNet).

Both have the same layers. MPNet has no types of tokens, one bias for each distance of two tokens in all layers, and
other ids for what stands around texts.
"""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional


@dataclass(frozen=True)
class Shape:
    """What an encoder is like, and the ids that it begins, separates and pads with."""

    layers: int
    width: int
    heads: int
    words: int
    places: int
    epsilon: float
    begin: int
    end: int
    pad: int
    between: int  # how many ends stand between two texts
    offset: int  # the place of the first token
    types: int = 0
    distances: int = 0


SMALL = Shape(6, 384, 12, 30522, 512, 1e-12, 101, 102, 0, 1, 0, types=2)
LARGE = Shape(12, 768, 12, 30527, 514, 1e-5, 0, 2, 1, 2, 2, distances=32)


class Layer(nn.Module):
    """A layer of BERT and of MPNet."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width, self.heads = shape.width, shape.heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.first, self.second = (nn.LayerNorm(width, eps=shape.epsilon) for _ in range(2))

    def forward(self, x, mask, p):
        """States in, states out; `p` is the dropout."""
        b, n, _ = x.shape
        q, k, v = (one(x).view(b, n, self.heads, -1).transpose(1, 2) for one in (self.q, self.k, self.v))
        a = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask.to(q.dtype), dropout_p=p)
        x = self.first(x + functional.dropout(self.o(a.transpose(1, 2).reshape(b, n, -1)), p, self.training))
        return self.second(x + functional.dropout(self.down(functional.gelu(self.up(x))), p, self.training))


class Encoder(nn.Module):
    """An encoder with a head that says how likely it is that two texts say the same."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.words, self.places = nn.Embedding(shape.words, shape.width), nn.Embedding(shape.places, shape.width)
        self.types = nn.Embedding(shape.types, shape.width) if shape.types else None
        self.distances = nn.Embedding(shape.distances, shape.heads) if shape.distances else None
        self.norm = nn.LayerNorm(shape.width, eps=shape.epsilon)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.equal = Head(shape.width)

    def forward(self, ids, kinds):
        """A logit of equivalence for each pair; `kinds` is 0 in the first text, 1 in the second, 2 in neither."""
        p, n = 0.1 if self.training else 0.0, ids.shape[1]
        x = self.words(ids) + self.places.weight[self.shape.offset : self.shape.offset + n]
        if self.types is not None:
            ends = (ids == self.shape.end).long()
            x = x + self.types(((ends.cumsum(1) > ends) & (ids != self.shape.pad)).long())
        x = functional.dropout(self.norm(x), p, self.training)
        mask = torch.zeros(ids.shape, device=ids.device).masked_fill(ids == self.shape.pad, -1e4)[:, None, None, :]
        if self.distances is not None:
            mask = mask + self.distances(buckets(n, self.shape.distances).to(ids.device)).permute(2, 0, 1)[None]
        for layer in self.layers:
            x = layer(x, mask, p)
        return self.equal(x, kinds)


class Head(nn.Module):
    """From the first state and the means of both texts, their difference and product, to a logit."""

    def __init__(self, width: int, inner: int = 64) -> None:
        super().__init__()
        self.norm, self.inner, self.out = nn.LayerNorm(5 * width), nn.Linear(5 * width, inner), nn.Linear(inner, 1)

    def forward(self, x, kinds):
        """A logit for each row of states."""
        means = []
        for which in (0, 1):
            own = (kinds == which)[:, :, None].to(x.dtype)
            means.append((x * own).sum(1) / own.sum(1).clamp(min=1))
        a, b = means
        features = self.norm(torch.cat([x[:, 0], a, b, (a - b).abs(), a * b], 1))
        return self.out(functional.gelu(self.inner(features)))[:, 0]


def buckets(n: int, count: int, most: int = 128) -> torch.Tensor:
    """The bucket of the distance of each two of n tokens."""
    apart = torch.arange(n)[:, None] - torch.arange(n)[None, :]
    half = count // 2
    exact = half // 2
    far = exact + (torch.log(apart.abs().clamp(min=1).float() / exact) / math.log(most / exact) * (half - exact)).long()
    size = torch.where(apart.abs() < exact, apart.abs(), far.clamp(max=half - 1))
    return (apart < 0).long() * half + size


class LowRank(nn.Module):
    """A linear map with an addition of low rank, which alone is trained."""

    def __init__(self, base: nn.Linear, rank: int) -> None:
        super().__init__()
        self.base = base
        self.down = nn.Parameter(torch.randn(rank, base.in_features) / math.sqrt(base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        """The base map and twice the addition."""
        return self.base(x) + 2 * functional.linear(functional.linear(x, self.down), self.up)


def load(path: Path) -> Encoder:
    """The encoder in a folder: nli-small, or all-mpnet-base-v2 (its model.safetensors, or what `pack` made of it)."""
    return _small(path / "model.onnx") if (path / "model.onnx").exists() else _large(path)


def _large(folder: Path) -> Encoder:
    w = unpacked(folder / "model.npz") if (folder / "model.npz").exists() else safetensors(folder / "model.safetensors")
    m, put = Encoder(LARGE), {}
    put["words.weight"] = w["embeddings.word_embeddings.weight"]
    put["places.weight"] = w["embeddings.position_embeddings.weight"]
    put["distances.weight"] = w["encoder.relative_attention_bias.weight"]
    names = {"q": "attention.attn.q", "k": "attention.attn.k", "v": "attention.attn.v", "o": "attention.attn.o",
             "first": "attention.LayerNorm", "up": "intermediate.dense", "down": "output.dense",
             "second": "output.LayerNorm"}  # fmt: skip
    for kind in ("weight", "bias"):
        put[f"norm.{kind}"] = w[f"embeddings.LayerNorm.{kind}"]
        for at in range(LARGE.layers):
            for own, other in names.items():
                put[f"layers.{at}.{own}.{kind}"] = w[f"encoder.layer.{at}.{other}.{kind}"]
    missing, other = m.load_state_dict(
        {name: torch.from_numpy(np.array(one)) for name, one in put.items()}, strict=False
    )
    assert not other, other
    assert all(name.startswith("equal.") for name in missing), missing
    return m


def safetensors(path: Path) -> dict[str, np.ndarray]:
    """The float tensors of a file, by name."""
    with path.open("rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        head = json.loads(file.read(size))
    whole = np.memmap(path, np.uint8, "r", offset=8 + size)
    return {
        name: whole[slice(*one["data_offsets"])].view("<f4").reshape(one["shape"])
        for name, one in head.items()
        if name != "__metadata__" and one["dtype"] == "F32"
    }


def pack(folder: Path, out: Path) -> None:
    """Write an encoder's matrices in eight bits, a scale for each row: to send them where room is scarce."""
    found: dict[str, Any] = {}
    for name, table in safetensors(folder / "model.safetensors").items():
        if table.ndim == 2 and len(table) > 64:
            scale = np.abs(table).max(1, keepdims=True) / 127
            found[name], found[f"{name}.scale"] = np.round(table / np.maximum(scale, 1e-12)).astype(np.int8), scale
        else:
            found[name] = table
    np.savez(out, **found)


def unpacked(path: Path) -> dict[str, np.ndarray]:
    """What `pack` wrote, as floats."""
    with np.load(path) as found:
        return {
            name: found[name] * found[f"{name}.scale"] if f"{name}.scale" in found else found[name]
            for name in found
            if not name.endswith(".scale")
        }


# nli-small's ONNX file, without the onnx package


def fields(data: memoryview):
    """The fields of a protobuf message: number, and value (an integer or bytes)."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        elif kind == 5:
            value, at = struct.unpack("<f", data[at : at + 4])[0], at + 4
        else:
            value, at = struct.unpack("<d", data[at : at + 8])[0], at + 8
        yield number, value


def varint(data: memoryview, at: int) -> tuple[int, int]:
    """An integer and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value, at, shift = value | (byte & 127) << shift, at + 1, shift + 7
        if byte < 128:
            return value, at


def packed(data: memoryview) -> list[int]:
    """Integers one behind the other."""
    found, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        found.append(value)
    return found


def tensor(data: memoryview) -> tuple[str, np.ndarray]:
    """One tensor: float32, int8 or int64."""
    shape, kind, name, raw, floats = [], 1, "", None, []
    for number, value in fields(data):
        if number == 1:
            shape += packed(value) if isinstance(value, memoryview) else [value]
        elif number == 2:
            kind = value
        elif number == 8:
            name = bytes(value).decode()
        elif number == 9:
            raw = bytes(value)
        elif number == 4:
            floats = np.frombuffer(bytes(value), "<f4") if isinstance(value, memoryview) else [*floats, value]
    dtype = {1: "<f4", 3: "i1", 7: "<i8"}[kind]
    array = np.frombuffer(raw, dtype) if raw is not None else np.asarray(floats, dtype)
    return name, array.reshape(shape) if array.size else array


def constants(path: Path) -> dict[str, np.ndarray]:
    """The tensors of an ONNX file by name, those stored as int8 with their scales applied."""
    model = memoryview(path.read_bytes())
    graph = next(value for number, value in fields(model) if number == 7)
    found = dict(tensor(value) for number, value in fields(graph) if number == 5)
    for name in [name for name in found if name.endswith(".stored")]:
        short = name.removesuffix(".stored")
        wide = found[name].astype(np.float32) * found[f"{short}.scale"]
        found[short] = wide.reshape(found[f"{short}.shape"]) if f"{short}.shape" in found else wide
    return found


def _small(path: Path) -> Encoder:
    w = {name: torch.tensor(np.array(value)) for name, value in constants(path).items() if value.ndim}
    c = lambda number: w[f"constant_{number}"]  # noqa: E731
    m = Encoder(SMALL)
    m.words.weight.data, m.places.weight.data, m.types.weight.data = c(0), c(3), c(4)
    m.norm.weight.data, m.norm.bias.data = c(5), c(6)
    for at, layer in enumerate(m.layers):
        start = 7 + 12 * at
        if at < SMALL.layers - 1:
            parts, bias, rest = c(start).split(SMALL.width, 1), c(start + 1), start + 2
        else:
            parts, bias, rest = (c(start + 2), c(start + 3), c(start + 4)), c(start + 5), start + 6
        for one, part, own in zip((layer.q, layer.k, layer.v), parts, bias.split(SMALL.width), strict=True):
            one.weight.data, one.bias.data = part.T.contiguous(), own.clone()
        layer.o.weight.data, layer.o.bias.data = c(rest).T.contiguous(), c(rest + 1)
        layer.first.weight.data, layer.first.bias.data = c(rest + 2), c(rest + 3)
        layer.up.weight.data, layer.up.bias.data = c(rest + 4).T.contiguous(), c(rest + 5)
        layer.down.weight.data, layer.down.bias.data = c(rest + 6).T.contiguous(), c(rest + 7)
        layer.second.weight.data, layer.second.bias.data = c(rest + 8), c(rest + 9)
    return m
