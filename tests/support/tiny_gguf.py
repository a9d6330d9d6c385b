"""A language model of a few thousand random weights as a GGUF file: it says nothing sensible, in no time."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

WIDTH, HIDDEN, CONTEXT = 32, 64, 4096
#: Bytes to which each tensor is aligned, and the numbers of types in the format.
ALIGNED = 32
UINT32, INT32, FLOAT32, STRING, ARRAY = 4, 5, 6, 8, 9
#: Kinds of tokens.
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIAL = ["<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]


#: Pieces of a tokenizer that marks blanks, and puts one before a text that stands alone, as Llama 2's does.
PIECES = ["▁▁", "▁W", "▁S", "▁", "W", "S"]


def save_sentence_piece(path: Path) -> Path:
    """Write a file whose tokens are single bytes, and a few pieces with and without a blank before them."""
    vocabulary = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *PIECES]
    kinds = [UNKNOWN, CONTROL, CONTROL, *[BYTE] * 256, *[NORMAL] * len(PIECES)]
    meta = {
        **_shape(vocabulary),
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.scores": [0.0] * 259 + [-float(place) for place in range(len(PIECES))],
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
    }
    _write(path, meta, _tensors(len(vocabulary), 1))
    return path


def save(path: Path, *, chat: bool = True, seed: int = 1) -> Path:
    """Write the file. Its tokens are single bytes, two pairs of letters, and those of a chat."""
    letters, merges = _letters(), ["t r", "f a"]
    vocabulary = [*letters, *(one.replace(" ", "") for one in merges), *SPECIAL]
    end = vocabulary.index(SPECIAL[0])
    meta = {
        **_shape(vocabulary),
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.token_type": [CONTROL if one in SPECIAL else NORMAL for one in vocabulary],
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.eos_token_id": end,
        "tokenizer.ggml.bos_token_id": end,
    }
    if chat:
        meta["tokenizer.chat_template"] = TEMPLATE
    _write(path, meta, _tensors(len(vocabulary), seed))
    return path


def _shape(vocabulary: list[str]) -> dict[str, Any]:
    return {
        "general.architecture": "llama",
        "llama.context_length": CONTEXT,
        "llama.embedding_length": WIDTH,
        "llama.block_count": 1,
        "llama.feed_forward_length": HIDDEN,
        "llama.attention.head_count": 2,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": WIDTH // 2,
        "llama.vocab_size": len(vocabulary),
        "tokenizer.ggml.tokens": vocabulary,
    }


def _letters() -> list[str]:
    """One printable letter for each byte, as GPT-2 writes them."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(rest)) for byte in range(256)]


def _tensors(size: int, seed: int) -> dict[str, np.ndarray]:
    chance = np.random.default_rng(seed)
    shapes = {
        "token_embd.weight": (size, WIDTH),
        "output_norm.weight": (WIDTH,),
        "output.weight": (size, WIDTH),
        "blk.0.attn_norm.weight": (WIDTH,),
        **{f"blk.0.attn_{one}.weight": (WIDTH, WIDTH) for one in ("q", "k", "v", "output")},
        "blk.0.ffn_norm.weight": (WIDTH,),
        "blk.0.ffn_gate.weight": (HIDDEN, WIDTH),
        "blk.0.ffn_up.weight": (HIDDEN, WIDTH),
        "blk.0.ffn_down.weight": (WIDTH, HIDDEN),
    }
    tensors = {
        name: np.ones(shape, np.float32) if len(shape) == 1 else chance.normal(0, 0.6, shape).astype(np.float32)
        for name, shape in shapes.items()
    }
    # Never the likeliest: bytes that are no letters by themselves, of which servers give no log-probabilities.
    tensors["output.weight"][[*range(32), *range(127, 256)]] = 0
    return tensors


def _write(path: Path, meta: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(meta))
    head += b"".join(_text(key) + _value(value) for key, value in meta.items())
    place, data = 0, b""
    for name, tensor in tensors.items():
        sizes = tensor.shape[::-1]
        head += _text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, 0, place)
        content = tensor.tobytes()
        data += content + b"\0" * (-len(content) % ALIGNED)
        place = len(data)
    path.write_bytes(head + b"\0" * (-len(head) % ALIGNED) + data)


def _text(text: str) -> bytes:
    content = text.encode()
    return struct.pack("<Q", len(content)) + content


def _value(value: Any) -> bytes:
    if isinstance(value, str):
        return struct.pack("<I", STRING) + _text(value)
    if isinstance(value, float):
        return struct.pack("<If", FLOAT32, value)
    if isinstance(value, int):
        return struct.pack("<II", UINT32, value)
    if isinstance(value[0], str):
        return struct.pack("<IIQ", ARRAY, STRING, len(value)) + b"".join(map(_text, value))
    code, kind = ("f", FLOAT32) if isinstance(value[0], float) else ("i", INT32)
    return struct.pack(f"<IIQ{len(value)}{code}", ARRAY, kind, len(value), *value)
