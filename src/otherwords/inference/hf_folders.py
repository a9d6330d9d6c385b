"""Models of the Hugging Face ecosystem: find the folder, refuse one that cannot be used, and open the model."""

from __future__ import annotations

import json
import shlex
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BadInput, MissingExtra
from ..storage.files import digest, fingerprint
from .limits import Padding, choose_padding, limit, positions, refuse_sizes, with_limits_checked
from .scheduling import Scheduler
from .torch_device import (
    FLOAT8,
    Recorder,
    Replayed,
    TorchDevice,
    budget,
    choose_device,
    choose_dtype,
    refuse_budget,
    refuse_float8,
)

if TYPE_CHECKING:
    import torch

#: Weights, configuration, tokenizer, chat template: other files of a folder are neither fetched nor signed.
FILES = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja")
#: Weights that may run code when they are loaded: fetched only to be converted.
PICKLED = ("pytorch_model*.bin", "pytorch_model.bin.index.json")
TOKENIZER = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
#: The classes of transformers that models are loaded with.
CLASSIFIER = "AutoModelForSequenceClassification"
MULTIPLE_CHOICE = "AutoModelForMultipleChoice"
MASKED_LM = "AutoModelForMaskedLM"
SEQ2SEQ_LM = "AutoModelForSeq2SeqLM"
CAUSAL_LM = "AutoModelForCausalLM"
ENCODER = "AutoModel"
#: Weights that an encoder may have or lack: those of a task, and tables that are computed.
_OPTIONAL = ("pooler", "position_ids", "inv_freq", "embeddings._weight")
#: What `otherwords train` writes beside a model, and times in it: no part of the model.
_RECORDS = ("trained.json", "training.json")
_SAFE = {"trust_remote_code": False, "local_files_only": True}


@dataclass(frozen=True)
class Folder:
    """Where a model's files are, what the user called it, and its identity: its name and commit or content."""

    path: Path
    who: str
    identity: str

    def read_config(self) -> dict[str, Any]:
        """The config.json of the folder."""
        path = self.path / "config.json"
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise BadInput(f"is not JSON: {error}", where=str(path), fix="save the model again") from error
        if not isinstance(config, dict):
            raise BadInput("is not a JSON object", where=str(path), fix="save the model again")
        return config


@dataclass(frozen=True)
class OpenModel:
    """A model ready to compute on its device; it reads `length` tokens, and has `room` positions (0: no limit known).

    A batch holds up to `tokens` tokens. `float8` asks for products of 8 bits, whatever the weights' dtype.
    """

    folder: Folder
    tokenizer: Any
    model: Any
    device: torch.device
    dtype: torch.dtype
    length: int
    room: int
    tokens: int
    float8: bool = False

    @property
    def who(self) -> str:
        """What the user called it."""
        return self.folder.who

    @property
    def identity(self) -> str:
        """The folder's identity and the dtype, which `auto` leaves to the device."""
        return f"{self.folder.identity}:{FLOAT8 if self.float8 else str(self.dtype).removeprefix('torch.')}"

    @property
    def types(self) -> bool:
        """Whether the tokenizer gives segment numbers."""
        return "token_type_ids" in self.tokenizer.model_input_names

    @cached_property
    def padding(self) -> Padding:
        """How batches are padded."""
        return choose_padding(self.tokenizer, self.model)

    def scheduler(
        self, encode: Callable[..., Any], forward: Callable[..., Any], *, exact: bool = False, packed: bool = False
    ) -> Scheduler:
        """A scheduler that computes batches with `forward`, as TorchDevice calls it."""
        recorded = packed and self.device.type == "cuda"
        runner = TorchDevice(self.device, Replayed(forward, Recorder()) if recorded else forward, filled=recorded)
        return Scheduler(
            encode,
            with_limits_checked(runner.start, self.model, self.who, self.length),
            runner.wait,
            self.tokens,
            exact=exact or self.padding.exact,
            packed=packed,
            pad=self.padding.pad,
            in_flight=runner.in_flight,
        )


def open_model(
    folder: Folder,
    auto: str = CLASSIFIER,
    *,
    max_length: int = 256,
    device: str = "auto",
    dtype: str = "auto",
    tokens: int = 0,
    fast: bool = True,
) -> OpenModel:
    """Load the model of a folder onto a device; options that cannot work are refused before the weights are read.

    `auto` is the class of transformers to load with. `fast` asks for a tokenizer of the `tokenizers` library. A
    budget of 0 `tokens` leaves it to the device.
    """
    refuse_budget(folder.who, tokens)
    refuse_sizes(folder.who, max_length)
    tokenizer, model = load_fast_tokenizer(folder) if fast else load_tokenizer(folder), load(folder, auto)
    room = positions(model)
    length = limit(folder.who, max_length, room)
    place = choose_device(device, folder.who)
    if float8 := dtype == FLOAT8 and auto == CLASSIFIER:
        refuse_float8(place, folder.who)
    also = (FLOAT8,) if auto == CLASSIFIER else ()
    arithmetic = choose_dtype("bfloat16" if float8 else dtype, place, folder.who, also)
    model = model.to(device=place, dtype=arithmetic).eval()
    return OpenModel(folder, tokenizer, model, place, arithmetic, length, room, tokens or budget(place), float8)


def find(name: str, revision: str = "", *, pickled: bool = False) -> Folder:
    """Find a folder made by `save_pretrained`, or fetch one commit of a hub model, unless it was fetched before.

    `revision` is a branch, tag or commit on the hub. What has no configuration, no tokenizer or no weights as
    safetensors is refused here, because transformers reports it obscurely, or makes up an empty tokenizer. A `pickled`
    model is found with whatever weights it has, to be converted.
    """
    files = (*FILES, *PICKLED) if pickled else FILES
    folder = _local(name, revision) if Path(name).expanduser().is_dir() else _hub(name, revision, files)
    _refuse_incomplete(folder, pickled=pickled)
    return folder


def load_tokenizer(folder: Folder) -> Any:
    """The model's tokenizer, as transformers has it."""
    transformers = _transformers()
    with quietly():
        try:
            return transformers.AutoTokenizer.from_pretrained(folder.path, **_SAFE)
        except Exception as error:  # OSError, ValueError, KeyError, ImportError ...
            raise _unloadable(folder, "AutoTokenizer", error) from error


def load_fast_tokenizer(folder: Folder) -> Any:
    """The same, where it must be one of the `tokenizers` library."""
    tokenizer = load_tokenizer(folder)
    if not tokenizer.is_fast:
        fix = "save one with AutoTokenizer.from_pretrained(SOURCE, use_fast=True).save_pretrained(FOLDER)"
        raise BadInput("its tokenizer is not a fast tokenizer (`tokenizers` library)", where=folder.who, fix=fix)
    return tokenizer


def load(folder: Folder, auto: str = CLASSIFIER) -> Any:
    """A model with all its weights in its folder, in single precision; `auto` is transformers' class to load with.

    Weights that do not fit the configuration, are missing or superfluous, and untrained heads are refused.
    """
    model, missing = _load(folder, auto)
    if auto == ENCODER:  # its pooler reads the first token for some task, and is not used
        missing = tuple(name for name in missing if "pooler" not in name)
    if missing and auto == ENCODER:
        message = f"weights are missing for {', '.join(missing[:4])}: its vectors would be random"
        raise BadInput(message, where=folder.who, fix="save it again, with all weights")
    if missing:
        message = f"has no trained head (weights are missing for {', '.join(missing[:4])}): its answers would be random"
        raise BadInput(message, where=folder.who, fix="fine-tune it for the task, or use a fine-tuned model")
    return model


def load_start(folder: Folder, auto: str = CLASSIFIER, **config: Any) -> tuple[Any, tuple[str, ...]]:
    """A model to be trained, and the names of its weights that are new: those of a head, never of the encoder.

    `config` is set in its configuration: `num_labels`, `id2label` ... A head of another size is replaced.
    """
    return _load(folder, auto, replace_heads=True, **config)


def _load(folder: Folder, auto: str, *, replace_heads: bool = False, **config: Any) -> tuple[Any, tuple[str, ...]]:
    transformers = _transformers()
    lenient = {"output_loading_info": True, "ignore_mismatched_sizes": True}  # our messages say more
    with quietly():
        try:
            loader = getattr(transformers, auto).from_pretrained
            model, info = loader(folder.path, use_safetensors=True, **_SAFE, **lenient, **config)
        except Exception as error:  # OSError, ValueError, KeyError, SafetensorError, ImportError ...
            _refuse_damaged(folder)
            raise _unloadable(folder, f"AutoTokenizer and {auto}", error) from error
    if info["mismatched_keys"] and not replace_heads:
        _refuse_mismatched(folder, model, sorted(str(key) for key in info["mismatched_keys"]))
    _refuse_unused(folder, model, info["unexpected_keys"])
    # A mismatched weight's name comes with its two shapes.
    mismatched = (str(key if isinstance(key, str) else key[0]) for key in info["mismatched_keys"])
    new = {*info["missing_keys"], *mismatched}
    _refuse_lost(folder, model, new)
    return model.float(), tuple(sorted(new))


@contextmanager
def quietly() -> Iterator[None]:
    """Keep the progress bars, reports and warnings of transformers off the terminal: what matters is raised."""
    log = _transformers().utils.logging
    verbosity, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.set_verbosity(verbosity)
        if bars:
            log.enable_progress_bar()


# Finding


def _local(name: str, revision: str) -> Folder:
    if revision:
        raise BadInput("a local folder has no revisions", where=f"hf:{name}", fix="leave the option out")
    path = Path(name).expanduser()
    files = sorted(file for pattern in FILES for file in path.glob(pattern))
    content = digest(*((file.name, fingerprint(file)) for file in files if file.name not in _RECORDS))
    return Folder(path, f"hf:{name}", f"{path.resolve().name}@{content[:12]}")


def _hub(name: str, revision: str, files: tuple[str, ...] = FILES) -> Folder:
    _transformers()  # it brings huggingface_hub
    from huggingface_hub import snapshot_download

    chosen = revision or None
    try:
        path = Path(snapshot_download(name, revision=chosen, allow_patterns=list(files), ignore_patterns=["*/*"]))
    except Exception as error:  # not a hub name, no such name, no access, no network, offline and not fetched yet
        message = f"no folder {Path(name).expanduser().absolute()}, and none from the hub ({_cause(error)})"
        fix = "check the name, the revision and the network, or give a folder made by save_pretrained"
        raise BadInput(message, where=f"hf:{name}", fix=fix) from error
    return Folder(path, f"hf:{name}", f"{name}@{path.name[:12]}")


def _refuse_incomplete(folder: Folder, *, pickled: bool = False) -> None:
    if not (folder.path / "config.json").is_file():
        raise BadInput("has no config.json", where=folder.who, fix="save the model with save_pretrained")
    if not any(file for pattern in TOKENIZER for file in folder.path.glob(pattern)):
        fix = f"save it there with tokenizer.save_pretrained (one of {', '.join(TOKENIZER)})"
        raise BadInput("has no tokenizer", where=folder.who, fix=fix)
    if not pickled and not any(folder.path.glob("*.safetensors")):
        fix = f"convert it once: otherwords convert {shlex.quote(folder.who)} -o FOLDER, then use hf:FOLDER"
        message = "has no .safetensors weights; pickled weights (.bin) are refused, because loading them can run code"
        raise BadInput(message, where=folder.who, fix=fix)


# Weights that are not those of the configuration


def _refuse_damaged(folder: Folder) -> None:
    """Raise where a file of weights cannot be read, because it was cut short or is something else."""
    from safetensors import SafetensorError, safe_open

    for file in sorted(folder.path.glob("*.safetensors")):
        try:
            with safe_open(file, "pt"):
                pass
        except SafetensorError as error:
            fix = "download or save it again"
            raise BadInput(f"{file.name} is damaged ({error})", where=folder.who, fix=fix) from error


def _refuse_mismatched(folder: Folder, model: Any, keys: list[str]) -> None:
    count = len(model.config.id2label) if "id2label" in folder.read_config() else "no"
    message = f"config.json has {count} labels, which do not match the weights: {'; '.join(keys)}"
    fix = 'give it "id2label": {"0": "entailment", "1": "neutral", ...}, a name for each output'
    raise BadInput(message, where=folder.who, fix=fix)


def _refuse_unused(folder: Folder, model: Any, unexpected: Iterable[str]) -> None:
    """Raise where weights of the encoder would not be used; the heads of other tasks need not be."""
    if unused := _of_encoder(model, unexpected):
        message = f"config.json does not describe the encoder weights {_some(unused)}"
        raise BadInput(message, where=folder.who, fix="use the config.json that was saved with them")


def _refuse_lost(folder: Folder, model: Any, missing: Iterable[str]) -> None:
    """Raise where weights of the encoder are missing: it would compute with random ones."""
    if lost := _of_encoder(model, missing):
        message = f"encoder weights are missing: {_some(lost)}"
        fix = "save it again, with all weights and their config.json"
        raise BadInput(message, where=folder.who, fix=fix)


def _of_encoder(model: Any, names: Iterable[str]) -> list[str]:
    """Which of these weights belong to the encoder itself, not to a head, and are not optional.

    Weights of an encoder that was saved without a head are named without its prefix.
    """
    parts = {name for name, _ in model.base_model.named_children()} - {name for name, _ in model.named_children()}
    inside = f"{model.base_model_prefix}."
    own = (name for name in names if name.startswith(inside) or name.partition(".")[0] in parts)
    return sorted(name for name in own if not any(part in name for part in _OPTIONAL))


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _unloadable(folder: Folder, auto: str, error: Exception) -> BadInput:
    fix = f"it must load with {auto}, without custom code"
    return BadInput(f"transformers cannot load it: {_cause(error)}", where=folder.who, fix=fix)


def _cause(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"  # what follows is advice not ours


def _transformers() -> Any:
    try:
        import torch  # noqa: F401 (transformers imports without it, and is then of no use)
        import transformers
    except ImportError as error:
        raise MissingExtra("an hf: model", "hf") from error
    return transformers
