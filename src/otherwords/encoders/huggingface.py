"""Sentence encoders of the Hugging Face ecosystem, by hub name or local folder, with torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..errors import BadInput
from ..inference.hf_folders import Folder, find, load_fast_tokenizer, load_start
from ..inference.limits import careful, limit, positions, refuse_sizes
from ..inference.padding import choose_padding
from ..inference.scheduling import Scheduler
from ..inference.tokenizing import text_encoder
from ..inference.torch_device import TorchDevice, budget, choose_device, choose_dtype, refuse_budget
from ..registry import encoders
from .encoding import Encoder
from .pooling import choose_pooling, pooled
from .reading import Reading, read_reading

if TYPE_CHECKING:
    import torch

#: Rows that this processor computes at a time, never more nor fewer; 8 are as fast as 64, and 5 times as fast as 1.
ROWS = 8
#: Tokens of a text that are read where nobody says how many.
LENGTH = 256


# As of models: the identity has name, commit or content, the arithmetic, and the pooling and length that were chosen.
@encoders("hf.v1", unsigned=("name", "pooling", "max_length", "device", "dtype", "tokens", "revision"))
def hf(
    name: str,
    pooling: str = "",
    max_length: int = 0,
    device: str = "auto",
    dtype: str = "float32",
    tokens: int = 0,
    revision: str = "",
) -> Encoder:
    """Encode texts with a model of the Hugging Face hub, or of a local folder (safetensors only).

    `pooling` makes one vector of the tokens': mean or cls; unless given, as a folder made by sentence-transformers
    tells, or mean. Texts of more than `max_length` tokens are cut (0: at what such a folder tells, or 256), and put in
    lower case where it says so. `device` is auto (cuda where there is one), cpu or cuda:N; `dtype` is float32,
    bfloat16, float16 or auto (bfloat16 on GPUs that have it, which blurs the third digit of a cosine). A batch holds up
    to `tokens` tokens (0: as suits the device). `revision` is a branch, tag or commit on the hub. Code that comes with
    a model is never run.
    """
    folder = find(name, revision)
    refuse_budget(folder.who, tokens)
    _fetch_pooling(folder, name)
    chosen, told = choose_pooling(pooling, folder.path, folder.who), read_reading(folder.path, folder.who)
    length = max_length or told.max_length or LENGTH
    refuse_sizes(folder.who, length)
    return _encoder(folder, chosen, Reading(length, told.lower), device, dtype, tokens)


@lru_cache(maxsize=2)
def _encoder(folder: Folder, pooling: str, reading: Reading, device: str, dtype: str, tokens: int) -> Encoder:
    """Load once what a check and several metrics may share; a folder is known by its content."""
    tokenizer, model, place = load_fast_tokenizer(folder), _model(folder), choose_device(device, folder.who)
    arithmetic = choose_dtype(dtype, place, folder.who)
    model = model.to(device=place, dtype=arithmetic).eval()
    return Encoder(
        _scheduler(model, tokenizer, place, folder.who, reading, tokens, pooling),
        identity=f"{folder.identity}:{reading}:{pooling}:{str(arithmetic).removeprefix('torch.')}",
        batch_invariant=place.type == "cpu",
        reads=reading.legible(tokenizer.backend_tokenizer),
    )


def _scheduler(
    model: Any, tokenizer: Any, place: torch.device, who: str, reading: Reading, tokens: int, pooling: str
) -> Scheduler:
    length, padding = limit(who, reading.max_length, positions(model)), choose_padding(tokenizer, model)
    steady = place.type == "cpu"

    def forward(**inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (pooled(model(**inputs).last_hidden_state, inputs.get("attention_mask"), pooling),)

    runner = TorchDevice(place, _by_eights(forward) if steady else forward)
    types = "token_type_ids" in tokenizer.model_input_names
    return Scheduler(
        reading.cased(text_encoder(tokenizer.backend_tokenizer, length, types=types)),
        careful(runner.start, model, who, length),
        runner.wait,
        tokens or budget(place),
        exact=padding.exact or steady,
        pad=padding.pad,
        in_flight=runner.in_flight,
    )


def _by_eights(forward: Callable[..., tuple[torch.Tensor, ...]]) -> Callable[..., tuple[torch.Tensor, ...]]:
    """Let as many rows be computed at a time whatever their number, so that all are summed in the same order.

    Products of matrices of one shape treat all rows alike, and those of another shape may not: otherwise the last
    bits of a vector, and with them a verdict at the limit, would depend on its company.
    """

    def fixed(**inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        import torch

        count = len(inputs["input_ids"])
        filled = {name: torch.cat([one, one[:1].expand(-count % ROWS, -1)]) for name, one in inputs.items()}
        parts = [
            forward(**{name: one[first : first + ROWS] for name, one in filled.items()})
            for first in range(0, count, ROWS)
        ]
        return tuple(torch.cat(some)[:count] for some in zip(*parts, strict=True))

    return fixed


def _model(folder: Folder) -> Any:
    """The bare encoder; a layer on top of it that reads the first token for some task is neither needed nor missed."""
    model, new = load_start(folder, "AutoModel")
    if lost := [name for name in new if "pooler" not in name]:
        message = f"its weights lack {', '.join(lost[:4])}: it would encode at random"
        raise BadInput(message, where=folder.who, fix="save it again, with all its weights")
    return model


def _fetch_pooling(folder: Folder, name: str) -> None:
    """Of a hub model, fetch what says how to pool: it lies in a folder of its own, which no other model needs."""
    if folder.path.parent.name != "snapshots" or any(folder.path.glob("*_Pooling/config.json")):
        return
    from huggingface_hub import snapshot_download

    try:
        snapshot_download(name, revision=folder.path.name, allow_patterns=["*_Pooling/config.json"])
    except Exception as error:  # no network, no access
        fix = "check the network, or give a folder made by save_pretrained"
        raise BadInput(f"cannot fetch how it pools ({type(error).__name__})", where=folder.who, fix=fix) from error
