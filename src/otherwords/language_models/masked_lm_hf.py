"""Masked-LMs of the Hugging Face ecosystem, by hub name or local folder, with torch."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ..inference.hf_folders import MASKED_LM, find, load, load_fast_tokenizer
from ..inference.limits import careful, choose_padding, limit, positions, refuse_sizes
from ..inference.scheduling import Scheduler
from ..inference.torch_device import TorchDevice, budget, choose_device, choose_dtype, refuse_budget
from ..registry import masked_lms
from .masked_lm import Encode, MaskedLM

if TYPE_CHECKING:
    import torch


# The arithmetic is in the identity: `auto` leaves it to the device.
@masked_lms("hf.v1", unsigned=("name", "device", "dtype", "tokens", "revision"))
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
    refuse_budget(folder.who, tokens)
    refuse_sizes(folder.who, max_length)
    tokenizer, model = load_fast_tokenizer(folder), load(folder, MASKED_LM)
    length, padding = limit(folder.who, max_length, positions(model)), choose_padding(tokenizer, model)
    place = choose_device(device, folder.who)
    arithmetic = choose_dtype(dtype, place, folder.who)
    model = model.to(device=place, dtype=arithmetic).eval()
    plan = {"budget": tokens or budget(place), "exact": padding.exact, "pad": padding.pad}
    return MaskedLM(
        tokenizer.backend_tokenizer,
        partial(_scheduler, model, place, folder.who, length, plan),
        length,
        types="token_type_ids" in tokenizer.model_input_names,
        mask=str(tokenizer.mask_token or ""),
        size=int(model.config.vocab_size),
        identity=f"{folder.identity}:{str(arithmetic).removeprefix('torch.')}",
        batch_invariant=False,  # the choice of kernels differs with the batch, and with it the last bits
    )


def _scheduler(
    model: Any, place: torch.device, who: str, max_length: int, plan: dict[str, Any], encode: Encode, top: int
) -> Scheduler:
    def forward(at: torch.Tensor, own: torch.Tensor, **inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        logp = logits_at(model, at, **inputs).float().log_softmax(dim=-1)
        best = logp.topk(top, dim=-1)
        mine = logp.gather(1, own.clamp(min=0)[:, None])  # where no one token stood, any will do
        return best.indices, best.values, mine[:, 0]

    runner = TorchDevice(place, forward)
    start = careful(runner.start, model, who, max_length)
    return Scheduler(encode, start, runner.wait, in_flight=runner.in_flight, **plan)


def logits_at(model: Any, at: torch.Tensor, **inputs: torch.Tensor) -> torch.Tensor:
    """The logits of one place in each row: the head, which costs as much as several layers, is computed only there.

    Whatever its head is made of, a masked-LM hands it the states that come out of its encoder. So these are thinned
    out to the places asked about on their way. What does not go that way computes all, and is thinned out after.
    """

    def thinned(states: torch.Tensor) -> torch.Tensor:
        return states.gather(1, at[:, None, None].expand(-1, 1, states.shape[-1]))

    def thin_out(encoder: Any, given: Any, output: Any) -> Any:
        output["last_hidden_state"] = thinned(output["last_hidden_state"])
        return output

    hook = model.base_model.register_forward_hook(thin_out) if model.base_model is not model else None
    try:
        logits = model(**inputs).logits
    finally:
        if hook is not None:
            hook.remove()
    return (logits if hook is not None else thinned(logits)).squeeze(1)
