"""A Llama model computed from its GGUF file with numpy alone: what llama.cpp says can be compared with it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

#: Numbers of the types in the format: their layouts, without texts and lists.
_PLAIN = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY, _ALIGNED = 8, 9, 32
#: The kind of tokens that are no text.
_CONTROL = 3
#: Values in a block of quantised numbers.
_BLOCK = 32


class LlamaFile:
    """The numbers of a file, as floats; `log_probabilities` are those of the token after some tokens."""

    def __init__(self, path: Path):
        with path.open("rb") as file:
            magic, _, tensors, values = struct.unpack("<4sIQQ", file.read(24))
            assert magic == b"GGUF"
            self.meta = {_text(file): _value(file) for _ in range(values)}
            end = file.tell()
            found = [(_text(file), *_tensor(file)) for _ in range(tensors)]
            start = -(-file.tell() // _ALIGNED) * _ALIGNED
            content = np.fromfile(file, np.uint8, offset=start - file.tell())
        self._head = path.read_bytes()[:end]
        self.weights = {name: _floats(content[place:], kind, shape) for name, shape, kind, place in found}

    def save_plain(self, path: Path) -> Path:
        """The same model in 32-bit floats. llama.cpp then computes in floats, too: not in 8 bits between layers."""
        places = np.cumsum([0, *(-(-one.nbytes // _ALIGNED) * _ALIGNED for one in self.weights.values())])
        with path.open("wb") as file:
            file.write(self._head)
            for (name, one), place in zip(self.weights.items(), places, strict=False):
                file.write(struct.pack("<Q", len(name)) + name.encode())
                file.write(struct.pack(f"<I{one.ndim}QIQ", one.ndim, *one.shape[::-1], 0, place))
            for one in self.weights.values():
                file.write(b"\0" * (-file.tell() % _ALIGNED) + one.tobytes())
        return path

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text, those of chats among them, by another tokenizer than llama.cpp's."""
        from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

        words, kinds, merges = (self.meta[f"tokenizer.ggml.{one}"] for one in ("tokens", "token_type", "merges"))
        pairs = [tuple(one.split(" ")) for one in merges]
        tokenizer = Tokenizer(models.BPE({word: number for number, word in enumerate(words)}, pairs))
        steps = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
        special = [word for word, kind in zip(words, kinds, strict=True) if kind == _CONTROL]
        tokenizer.add_special_tokens([AddedToken(word, special=True) for word in special])
        return list(tokenizer.encode(text, add_special_tokens=False).ids)

    def log_probabilities(self, tokens: Sequence[int]) -> np.ndarray:
        """Of each token after the last of some tokens."""
        weights, eps = self.weights, self._number("attention.layer_norm_rms_epsilon")
        states = weights["token_embd.weight"][list(tokens)]
        for layer in range(int(self._number("block_count"))):
            own = {name.split(".")[2]: one for name, one in weights.items() if name.startswith(f"blk.{layer}.")}
            states = states + self._attention(_normed(states, own["attn_norm"], eps), own)
            inner = _normed(states, own["ffn_norm"], eps)
            gate = _product(inner, own["ffn_gate"])
            states = states + _product(gate / (1 + np.exp(-gate)) * _product(inner, own["ffn_up"]), own["ffn_down"])
        last = _normed(states[-1:], weights["output_norm.weight"], eps)
        (logits,) = _product(last, weights.get("output.weight", weights["token_embd.weight"]))
        return logits - np.logaddexp.reduce(logits.astype(np.float64))

    def _attention(self, states: np.ndarray, own: dict[str, np.ndarray]) -> np.ndarray:
        """Causal attention, in which several heads share keys and values."""
        heads = int(self._number("attention.head_count"))
        shared = int(self._number("attention.head_count_kv", heads))

        def split(name: str, count: int) -> np.ndarray:
            return _product(states, own[name]).reshape(len(states), count, -1).swapaxes(0, 1)

        base = self._number("rope.freq_base", 10_000)
        queries, keys = _turned(split("attn_q", heads), base), _turned(split("attn_k", shared), base)
        keys, values = (np.repeat(one, heads // shared, axis=0) for one in (keys, split("attn_v", shared)))
        scores = queries @ keys.swapaxes(1, 2) / np.float32(np.sqrt(queries.shape[-1]))
        scores += np.triu(np.full(scores.shape[1:], -np.inf, np.float32), 1)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = shares / shares.sum(axis=-1, keepdims=True) @ values
        return _product(mixed.swapaxes(0, 1).reshape(len(states), -1), own["attn_output"])

    def _number(self, name: str, default: float | None = None) -> float:
        return float(self.meta.get(f"llama.{name}", default))


def _product(states: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return states @ weight.T


def _normed(states: np.ndarray, weight: np.ndarray, eps: float) -> np.ndarray:
    return states / np.sqrt((states**2).mean(axis=-1, keepdims=True) + eps) * weight


def _turned(states: np.ndarray, base: float) -> np.ndarray:
    """Rotary positions, of neighbouring numbers, as the format has them."""
    size = states.shape[-1]
    angles = np.arange(states.shape[1])[:, None] * base ** (-np.arange(0, size, 2) / size)
    sin, cos = np.sin(angles).astype(np.float32), np.cos(angles).astype(np.float32)
    even, odd = states[..., ::2], states[..., 1::2]
    turned = np.stack([even * cos - odd * sin, even * sin + odd * cos], -1)
    return turned.reshape(states.shape)


# The format


def _text(file: BinaryIO) -> str:
    (length,) = struct.unpack("<Q", file.read(8))
    return file.read(length).decode("utf-8", "replace")


def _value(file: BinaryIO, kind: int | None = None) -> Any:
    if kind is None:
        (kind,) = struct.unpack("<I", file.read(4))
    if kind == _STRING:
        return _text(file)
    if kind == _ARRAY:
        inner, count = struct.unpack("<IQ", file.read(12))
        return [_value(file, inner) for _ in range(count)]
    layout = f"<{_PLAIN[kind]}"
    return struct.unpack(layout, file.read(struct.calcsize(layout)))[0]


def _tensor(file: BinaryIO) -> tuple[tuple[int, ...], int, int]:
    """The shape of a tensor, the number of its type, and its place."""
    (count,) = struct.unpack("<I", file.read(4))
    *sizes, kind, place = struct.unpack(f"<{count}QIQ", file.read(8 * count + 12))
    return tuple(reversed(sizes)), kind, place


def _floats(content: np.ndarray, kind: int, shape: tuple[int, ...]) -> np.ndarray:
    """A tensor in floats: F32, F16, Q4_1 (a scale, a least value, 32 halves of bytes) or Q8_0 (a scale, 32 bytes)."""
    count = int(np.prod(shape))
    if kind in (0, 1):
        layout = np.dtype("<f4" if kind == 0 else "<f2")
        return content[: count * layout.itemsize].view(layout).astype(np.float32).reshape(shape)
    size = {3: 20, 8: 34}[kind]
    blocks = content[: count // _BLOCK * size].reshape(-1, size)
    scale = blocks[:, :2].copy().view("<f2").astype(np.float32)
    if kind == 8:
        return (scale * blocks[:, 2:].view(np.int8)).reshape(shape)
    least, pairs = blocks[:, 2:4].copy().view("<f2").astype(np.float32), blocks[:, 4:]
    return (scale * np.concatenate([pairs & 15, pairs >> 4], axis=1) + least).reshape(shape)
