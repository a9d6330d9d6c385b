"""Masked-LMs of the Hugging Face ecosystem, by hub name or local folder, with torch."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ..inference.hf_folders import MASKED_LM, OpenModel, find, open_model
from ..inference.scheduling import Scheduler
from ..registry import masked_lms
from .masked_lm import Encode, MaskedLM

if TYPE_CHECKING:
    import torch


# The dtype is in the identity: `auto` leaves it to the device.
@masked_lms("hf.v1", unsigned=("name", "device", "dtype", "tokens", "revision"), extra="hf")
def hf(
    name: str, max_length: int = 256, device: str = "auto", dtype: str = "auto", tokens: int = 0, revision: str = ""
) -> MaskedLM:
    """Fill masks with a masked-LM of the Hugging Face hub, or of a local folder (safetensors only).

    Of texts of more than `max_length` tokens, or than it has positions for, those around the mask are read. `device` is
    auto (cuda where there is one), cpu or cuda:N; `dtype` is auto (bfloat16 on GPUs that have it), float32, bfloat16 or
    float16. A batch holds up to `tokens` tokens (0: as suits the device). `revision` is a branch, tag or commit on the
    hub. Code that comes with a model is never run.
    """
    folder = find(name, revision)
    opened = open_model(folder, MASKED_LM, max_length=max_length, device=device, dtype=dtype, tokens=tokens)
    return MaskedLM(
        opened.tokenizer.backend_tokenizer,
        partial(_scheduler, opened),
        opened.length,
        types=opened.types,
        mask=str(opened.tokenizer.mask_token or ""),
        size=int(opened.model.config.vocab_size),
        identity=opened.identity,
        batch_invariant=False,  # the choice of kernels depends on the batch, and with it the last bits
    )


def _scheduler(opened: OpenModel, encode: Encode, top: int) -> Scheduler:
    def forward(at: torch.Tensor, own: torch.Tensor, **inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        logp = logits_at(opened.model, at, **inputs).float().log_softmax(dim=-1)
        best = logp.topk(top, dim=-1)
        own_logp = logp.gather(1, own.clamp(min=0)[:, None])  # where not one token was masked, any will do
        return best.indices, best.values, own_logp[:, 0]

    return opened.scheduler(encode, forward)


def logits_at(model: Any, at: torch.Tensor, **inputs: torch.Tensor) -> torch.Tensor:
    """The logits at one position of each row: the head, which costs as much as several layers, computes only there.

    Whatever its head consists of, a masked-LM passes it the hidden states of its encoder. A hook selects the positions
    asked about from these. A model without a separate encoder computes all logits, and they are selected afterwards.
    """

    def select(states: torch.Tensor) -> torch.Tensor:
        return states.gather(1, at[:, None, None].expand(-1, 1, states.shape[-1]))

    def select_states(encoder: Any, given: Any, output: Any) -> Any:
        output["last_hidden_state"] = select(output["last_hidden_state"])
        return output

    hook = model.base_model.register_forward_hook(select_states) if model.base_model is not model else None
    try:
        logits = model(**inputs).logits
    finally:
        if hook is not None:
            hook.remove()
    return (logits if hook is not None else select(logits)).squeeze(1)
