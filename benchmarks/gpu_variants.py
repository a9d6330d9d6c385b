"""Ways to compute the same classifier on a GPU, to be timed side by side before one is kept."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch.nn import functional

Change = Callable[[Any], Any]


def variants(autotune: bool = False) -> dict[str, tuple[Change, Callable[[], Any]]]:
    """By name: what is done to a copy of the model, and the context it is run in."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    found: dict[str, tuple[Change, Callable[[], Any]]] = {"stock": (_same, nullcontext)}
    for name in ("FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "MATH"):
        found[f"stock, {name.lower()}"] = (_same, lambda name=name: sdpa_kernel(getattr(SDPBackend, name)))
    found["fused qkv"] = (lambda model: fuse(model, _sdpa), nullcontext)
    found["short attention"] = (short, nullcontext)
    found["fused qkv, short attention"] = (lambda model: fuse(model, attend), nullcontext)
    found["compiled"] = (compiled, nullcontext)
    found["compiled, fused qkv"] = (lambda model: compiled(fuse(model, _sdpa)), nullcontext)
    found["compiled, short attention"] = (lambda model: compiled(short(model)), nullcontext)
    found["compiled, fused qkv, short attention"] = (lambda model: compiled(fuse(model, attend)), nullcontext)
    if autotune:
        mode = "max-autotune-no-cudagraphs"
        found["autotuned, fused qkv, short attention"] = (lambda m: compiled(fuse(m, attend), mode), nullcontext)
    return found


def compiled(model: Any, mode: str | None = None) -> Any:
    """Layer by layer, for any shape, as `hf(compile=true)` does."""
    for layer in model.base_model.encoder.layer:
        layer.compile(dynamic=True, mode=mode)
    return model


def short(model: Any) -> Any:
    """The stock model with an attention that takes each head of a short row as one tile."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

    def attention(module: Any, query: Any, key: Any, value: Any, mask: Any, **options: Any) -> tuple[Any, None]:
        return (attend(query, key, value) if mask is None else _sdpa(query, key, value, mask)), None

    AttentionInterface.register("short", attention)
    AttentionMaskInterface.register("short", sdpa_mask)
    model.config._attn_implementation = "short"
    return model


def fuse(model: Any, attention: Callable[..., Any]) -> Any:
    """One product for queries, keys and values in each layer of a BERT or RoBERTa."""
    for layer in model.base_model.encoder.layer:
        layer.attention.self = Fused(layer.attention.self, attention)
    return model


class Fused(torch.nn.Module):
    """Self-attention with one matrix for queries, keys and values."""

    def __init__(self, old: Any, attention: Callable[..., Any]):
        super().__init__()
        parts = (old.query, old.key, old.value)
        self.weight = torch.nn.Parameter(torch.cat([part.weight for part in parts]), requires_grad=False)
        self.bias = torch.nn.Parameter(torch.cat([part.bias for part in parts]), requires_grad=False)
        self.heads, self.attention = old.num_attention_heads, attention

    def forward(self, hidden_states: Any, attention_mask: Any = None, *args: Any, **options: Any) -> tuple[Any, None]:
        rows, length, width = hidden_states.shape
        joint = functional.linear(hidden_states, self.weight, self.bias)
        query, key, value = joint.view(rows, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        attention = self.attention if attention_mask is None else _sdpa
        found = attention(query, key, value) if attention_mask is None else attention(query, key, value, attention_mask)
        return found.reshape(rows, length, width), None


def _same(model: Any) -> Any:
    return model


def _sdpa(query: Any, key: Any, value: Any, mask: Any = None) -> Any:
    return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask).transpose(1, 2)


@torch.library.custom_op("otherwords_bench::attend", mutates_args=())
def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Attention of [rows, heads, length, size] without a mask, as [rows, length, heads, size]; up to 128 tokens."""
    rows, heads, length, size = query.shape
    out = torch.empty((rows, length, heads, size), dtype=query.dtype, device=query.device)
    if length > 128:
        return out.copy_(_sdpa(query, key, value))
    block = max(16, 1 << (length - 1).bit_length())
    strides = [part.stride(dim) for part in (query, key, value) for dim in (0, 1, 2)]
    warps = 1 if block <= 32 else 2 if block == 64 else 4
    _kernel()[(rows * heads,)](
        query, key, value, out, *strides, heads, length, size**-0.5, block=block, size=size, num_warps=warps
    )
    return out


@attend.register_fake
def _(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    rows, heads, length, size = query.shape
    return query.new_empty((rows, length, heads, size))


def copied(model: Any) -> Any:
    """Something to change, while the model stays as it is."""
    return copy.deepcopy(model)


_made: list[Any] = []


def _kernel() -> Any:
    if not _made:
        from .gpu_attention import kernel

        _made.append(kernel)
    return _made[0]
