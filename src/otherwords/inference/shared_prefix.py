"""A beginning that all rows of a batch share is computed once, and its keys and values are read by all of them.

Each row attends to itself and, apart from that, to the shared beginning; the two results are merged by their
log-sum-exps, which is what attending to both at once computes (cascade attention, Juravsky et al. 2024). The keys of
the beginning are never copied for each row. Rows are padded on the right: in causal attention no token sees those
behind it, so that no mask is needed, and the fast kernels can be used.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

#: The name of the attention below in transformers. There is no mask of that name, so that models make none.
NAME = "otherwords_shared_prefix"
#: What models may ask of their attention that is not computed here.
_UNKNOWN = ("softcap", "s_aux", "position_bias", "head_mask", "cache")
#: What is made of logits [rows, places, vocabulary]: tensors with one row for each.
Read = Callable[["torch.Tensor"], "tuple[torch.Tensor, ...]"]


class NotShareableError(Exception):
    """The model computes something else than causal attention to all tokens before: its beginning cannot be shared."""


@dataclass(frozen=True)
class Prefix:
    """The keys and values of a beginning of `length` tokens, layer by layer: [1, heads, length, dimensions]."""

    length: int
    keys: list[torch.Tensor]
    values: list[torch.Tensor]


@dataclass
class _Use:
    prefix: Prefix
    layers: set[int] = field(default_factory=set)


_in_use: ContextVar[_Use | None] = ContextVar("prefix in use", default=None)


def read_prefix(model: Any, ids: torch.Tensor) -> Prefix:
    """Compute a beginning, given its token ids; raises NotShareableError if the model does not keep all its keys."""
    if "position_ids" not in inspect.signature(model.forward).parameters:
        raise NotShareableError("its positions cannot be given")
    output = model.base_model(input_ids=ids[None], use_cache=True, return_dict=True)
    layers = getattr(output.get("past_key_values"), "layers", None) or []
    pairs = [(getattr(layer, "keys", None), getattr(layer, "values", None)) for layer in layers]
    for both in pairs:
        if any(one is None or one.ndim != 4 or one.shape[-2] != len(ids) for one in both):
            raise NotShareableError("its cache does not hold all tokens")
    if not pairs:
        raise NotShareableError("it has no cache")
    return Prefix(len(ids), [key for key, _ in pairs], [value for _, value in pairs])


@contextmanager
def continuing(model: Any, prefix: Prefix) -> Iterator[None]:
    """Let the rows that the model computes here continue a beginning; the caller gives their `position_ids`."""
    from transformers import AttentionInterface

    AttentionInterface.register(NAME, _attend)
    use, config = _Use(prefix), model.config.get_text_config()
    usual = config._attn_implementation
    token = _in_use.set(use)
    config._attn_implementation = NAME
    try:
        yield
    except TypeError as error:  # such layers miss the mask that they were not given
        raise NotShareableError("its layers have an attention of their own") from error
    finally:
        config._attn_implementation = usual
        _in_use.reset(token)
    if len(use.layers) != len(prefix.keys):
        raise NotShareableError("its layers have an attention of their own")


def _attend(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **more: Any,
) -> tuple[torch.Tensor, None]:
    """What transformers calls in each layer: takes [rows, heads, tokens, width], gives [rows, tokens, heads, width]."""
    import torch

    use, layer = _in_use.get(), getattr(module, "layer_idx", None)
    if use is None or layer is None or not 0 <= layer < len(use.prefix.keys):
        raise NotShareableError("its layers have no numbers")
    _refuse_special(module, attention_mask, use.prefix.length + key.shape[-2], more)
    use.layers.add(layer)
    rows, heads, tokens, _ = query.shape
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    own, own_log = attention(query, key, value, scale, causal=True)
    together = query.transpose(1, 2).reshape(1, rows * tokens, heads, -1).transpose(1, 2)
    old, old_log = attention(together, use.prefix.keys[layer], use.prefix.values[layer], scale, causal=False)
    old = old.transpose(1, 2).reshape(rows, tokens, heads, -1)
    old_log = old_log.reshape(heads, rows, tokens).permute(1, 2, 0)
    share = torch.sigmoid(own_log.transpose(1, 2) - old_log)[..., None]
    return torch.lerp(old, own.transpose(1, 2), share.to(old.dtype)), None


def _refuse_special(module: Any, mask: torch.Tensor | None, length: int, more: dict[str, Any]) -> None:
    window = more.get("sliding_window")
    if mask is not None or not getattr(module, "is_causal", True) or more.get("is_causal") is False:
        raise NotShareableError("it has a mask of its own")
    if window is not None and window < length:
        raise NotShareableError("its attention has a window")
    if found := [name for name in _UNKNOWN if more.get(name) is not None]:
        raise NotShareableError(f"its attention has {found[0]}")


# Forward passes of causal models, with a shared beginning or without


def forward(
    model: Any, prefix: Prefix | None, read: Read, input_ids: torch.Tensor, at: torch.Tensor, **_: Any
) -> tuple[torch.Tensor, ...]:
    """What `read` makes of the logits at the places `at`. Rows are padded on the right, so they need no mask."""
    import torch

    if prefix is None:
        return read(_logits_at(model, at, input_ids=input_ids, use_cache=False))
    positions = torch.arange(prefix.length, prefix.length + input_ids.shape[1], device=input_ids.device)
    with continuing(model, prefix):
        logits = _logits_at(model, at, input_ids=input_ids, position_ids=positions[None], use_cache=False)
    return read(logits)


def _logits_at(model: Any, at: torch.Tensor, **inputs: Any) -> torch.Tensor:
    """The logits at some places of each row: [rows, places, vocabulary].

    A hook selects the hidden states that the head gets: the logits of all tokens would take gigabytes. Of a model
    without such a head, all logits are computed, and selected afterwards.
    """
    selected = []

    def select(states: torch.Tensor) -> torch.Tensor:
        return states.gather(1, at[..., None].expand(-1, -1, states.shape[-1]))

    def select_states(head: Any, given: Any) -> Any:
        selected.append(True)
        return (select(given[0]), *given[1:])

    head = model.get_output_embeddings()
    hook = head.register_forward_pre_hook(select_states) if head is not None else None
    try:
        logits: torch.Tensor = model(**inputs).logits
    finally:
        if hook is not None:
            hook.remove()
    return logits if selected else select(logits)


# Attention with its log-sum-exp


def attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float, *, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention [rows, heads, tokens, dimensions] and the log-sum-exp of its scores [rows, heads, tokens].

    Several heads of queries may share one of keys. By a kernel that keeps no scores, where the device has one.
    """
    groups = query.shape[1] // key.shape[1]
    kernel = _kernel(str(query.device), query.dtype, query.shape[-1], value.shape[-1], groups)
    return _computed(kernel, query, key, value, scale, causal)


@lru_cache(maxsize=64)
def _kernel(device: str, dtype: torch.dtype, width: int, value_width: int, groups: int) -> str:
    """The fastest kernel that computes the same as the plain one on this device, found by trial."""
    import torch

    place = torch.device(device)
    half = dtype in (torch.bfloat16, torch.float16)
    fast = "flash_cpu" if place.type == "cpu" else "flash" if half else "efficient"
    if width != value_width or width % 8 or width > 256:
        return "plain"
    drawn = torch.Generator().manual_seed(0)
    query, key, value = (
        torch.randn((2, heads, 24, width), generator=drawn).to(device=place, dtype=dtype)
        for heads in (2 * groups, 2, 2)
    )
    for causal in (True, False):
        expected = _computed("plain", query.float(), key.float(), value.float(), width**-0.5, causal)
        try:
            found = _computed(fast, query, key, value, width**-0.5, causal)
        except (RuntimeError, AttributeError, NotImplementedError, TypeError):  # an older torch, another device
            return "plain"
        if not all(
            torch.allclose(a.float(), b.float(), atol=3e-2, rtol=3e-2) for a, b in zip(found, expected, strict=True)
        ):
            return "plain"
    return fast


def _computed(
    kernel: str, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    import torch

    aten, length = torch.ops.aten, query.shape[-2]
    if kernel == "flash":
        result = aten._scaled_dot_product_flash_attention(query, key, value, 0.0, causal, False, scale=scale)
    elif kernel == "flash_cpu":
        result = aten._scaled_dot_product_flash_attention_for_cpu(query, key, value, 0.0, causal, scale=scale)
    elif kernel == "efficient":
        key, value = _repeated(query, key), _repeated(query, value)
        result = aten._scaled_dot_product_efficient_attention(query, key, value, None, True, 0.0, causal, scale=scale)
    else:
        return _plain(query, _repeated(query, key), _repeated(query, value), scale, causal)
    return result[0], result[1][..., :length]  # some kernels fill up the log-sum-exps


def _plain(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    import torch

    scores = (query @ key.transpose(-1, -2)).float() * scale
    if causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(later, -torch.inf)
    return scores.softmax(-1).to(value.dtype) @ value, scores.logsumexp(-1)


def _repeated(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """A head of keys for each of queries."""
    groups = query.shape[1] // key.shape[1]
    return key if groups == 1 else key.repeat_interleave(groups, dim=1)
