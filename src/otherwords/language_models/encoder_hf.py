"""Sentence encoders of the Hugging Face ecosystem, by hub name or local folder, with torch."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BadInput
from ..inference.hf_folders import Folder, find, load_fast_tokenizer, load_start
from ..inference.limits import careful, choose_padding, limit, positions, refuse_sizes
from ..inference.scheduling import Scheduler
from ..inference.tokens import clean, encodings, text_encoder
from ..inference.torch_device import TorchDevice, budget, choose_device, choose_dtype, refuse_budget
from ..registry import encoders
from .encoder import Encoder

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer

    from ..inference.tokens import Tokens


# MERGED from encoders.reading: How an encoder reads a text: up to which token, and in lower case or as it is, as sentence-transformers writes it.

#: The families after which sentence-transformers has named the file; of late, it is bert's for all.
_FAMILIES = ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")


@dataclass(frozen=True)
class Reading:
    """How many tokens are read (0: nobody says), and whether texts are put in lower case first.

    >>> str(Reading(128)), str(Reading(128, lower=True))
    ('128', '128:lower')
    """

    max_length: int = 0
    lower: bool = False

    def __str__(self) -> str:
        return f"{self.max_length}{':lower' if self.lower else ''}"

    def cased(self, encode: Callable[[Sequence[str]], Tokens]) -> Callable[[Sequence[str]], Tokens]:
        """A function from texts to tokens, for texts in the case in which they are to be read."""
        return (lambda texts: encode([text.lower() for text in texts])) if self.lower else encode

    def legible(self, tokenizer: Tokenizer) -> Callable[[Sequence[str]], list[bool]]:
        """A function that says of texts whether the tokenizer makes more of each than the tokens around all texts."""
        return lambda texts: [
            not all(one.special_tokens_mask) for one in encodings(tokenizer, [clean(text) for text in texts])
        ]


def read_reading(folder: Path, who: str) -> Reading:
    """What a folder made by sentence-transformers tells; of other folders, nothing."""
    files = [file for family in _FAMILIES if (file := folder / f"sentence_{family}_config.json").is_file()]
    if not files or not (folder / "modules.json").is_file():
        return Reading()
    told = read_json(files[0], who)
    length, lower = (told.get("max_seq_length"), told.get("do_lower_case")) if isinstance(told, dict) else ("", "")
    if not (length is None or (type(length) is int and length > 0)) or lower not in (None, False, True):
        found = f"{files[0].name} tells max_seq_length {length!r} and do_lower_case {lower!r}"
        raise BadInput(found, where=who, fix="write a number of tokens there, and true or false")
    return Reading(length or 0, bool(lower))


def read_json(file: Path, who: str) -> Any:
    """A JSON file beside a model."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadInput(f"{file.name} is not JSON: {error}", where=who, fix="download or save it again") from error


# MERGED from encoders.pooling: How an encoder makes one vector of its tokens': as sentence-transformers writes beside a model, or the user says.

POOLINGS = ("mean", "cls")
#: How sentence-transformers' files name them: as one of many switches, and since version 5.3 as a word.
_WRITTEN = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls", "mean": "mean", "cls": "cls"}
#: Parts of a model that leave its vectors' direction alone; all vectors are made unit length here.
_KNOWN = ("Transformer", "Pooling", "Normalize")


def choose_pooling(wanted: str, folder: Path, who: str) -> str:
    """The pooling that the user wants, or else that the folder tells; a folder that tells nothing has mean.

    What sentence-transformers would compute besides is refused: it is no encoder without it.
    """
    if wanted and wanted not in POOLINGS:
        raise BadInput(f"found {wanted!r}", where=who, field="pooling", fix=f"give one of {', '.join(POOLINGS)}")
    place = _pooling_folder(folder, who)
    if wanted or place is None:
        return wanted or "mean"
    if not (file := folder / place / "config.json").is_file():
        fix = "fetch it, too, or give pooling=mean or pooling=cls"
        raise BadInput(f"has no {place}/config.json, of which modules.json speaks", where=who, fix=fix)
    return _read_pooling(file, who)


def pooled(states: torch.Tensor, mask: torch.Tensor | None, pooling: str) -> torch.Tensor:
    """The first token's state of each row, or the mean over all that are not filled up."""
    if pooling == "cls":
        return states[:, 0].float()
    if mask is None:
        return states.float().mean(dim=1)
    real = mask[:, :, None].float()
    return (states.float() * real).sum(dim=1) / real.sum(dim=1)


def _pooling_folder(folder: Path, who: str) -> str | None:
    """Where the pooling of a model of sentence-transformers is described; None for other models."""
    if not (file := folder / "modules.json").is_file():
        return None
    parts = read_json(file, who)
    if not (
        isinstance(parts, list) and all(isinstance(part, dict) and {"type", "path"} <= set(part) for part in parts)
    ):
        fix = "download or save it again, or give a folder without it and pooling=mean or pooling=cls"
        raise BadInput("modules.json is no list of parts with type and path", where=who, fix=fix)
    names = [str(part["type"]).rpartition(".")[2] for part in parts]
    if strangers := [name for name in names if name not in _KNOWN]:
        fix = f"use one that is made of {', '.join(_KNOWN)} alone"
        raise BadInput(f"its vectors are computed on by {', '.join(strangers)}", where=who, fix=fix)
    return next((str(part["path"]) for part, name in zip(parts, names, strict=True) if name == "Pooling"), None)


def _read_pooling(file: Path, who: str) -> str:
    told = read_json(file, who)
    if not isinstance(told, dict):
        found = f"{file.parent.name}/config.json holds no names and values"
        raise BadInput(found, where=who, fix="download or save it again, or give pooling=")
    switches = [name for name, on in told.items() if name.startswith("pooling_mode_") and on is True]
    modes = [told["pooling_mode"]] if "pooling_mode" in told else switches
    if len(modes) != 1 or modes[0] not in _WRITTEN:
        message = f"{file.parent.name}/config.json asks for {', '.join(map(str, modes)) or 'no pooling'}"
        raise BadInput(message, where=who, fix=f"use a model of {' or '.join(POOLINGS)} pooling, or give pooling=")
    return _WRITTEN[modes[0]]


# MERGED from encoders.huggingface: Sentence encoders of the Hugging Face ecosystem, by hub name or local folder, with torch.

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
