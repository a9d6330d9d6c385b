"""Models of the Hugging Face ecosystem as folders of files: found, refused where incomplete, loaded quietly."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import BadInput, MissingExtra
from ..storage.files import digest, fingerprint

# MERGED from inference.hf_weights: Whether a folder's weights are whole, and are those that its configuration speaks of: neither fewer nor more.

#: Weights of an encoder that one may have or lack: those of a task, and tables that are computed.
_OPTIONAL = ("pooler", "position_ids", "inv_freq", "embeddings._weight")


def of_encoder(model: Any, names: Iterable[str]) -> list[str]:
    """Which of these weights belong to the encoder itself, and not to a head; without those it may do without.

    Weights of an encoder that was saved without a head are named without its prefix.
    """
    parts = {name for name, _ in model.base_model.named_children()} - {name for name, _ in model.named_children()}
    inside = f"{model.base_model_prefix}."
    own = (name for name in names if name.startswith(inside) or name.partition(".")[0] in parts)
    return [name for name in own if not any(part in name for part in _OPTIONAL)]


def refuse_lost(model: Any, missing: Iterable[str], who: str) -> None:
    """Raise where weights of the encoder are missing: it would compute with random ones."""
    if lost := of_encoder(model, missing):
        message = f"its weights lack {_some(lost)} of the encoder itself"
        raise BadInput(message, where=who, fix="save it again, with all its weights and the config.json they are of")


def refuse_unused(model: Any, unexpected: Iterable[str], who: str) -> None:
    """Raise where weights of the encoder would not be used; the heads of other tasks need not be."""
    if unused := of_encoder(model, unexpected):
        message = f"config.json knows nothing of {_some(unused)}, which are weights of the encoder itself"
        raise BadInput(message, where=who, fix="put the config.json beside them that they were saved with")


def refuse_damaged(folder: Path, who: str) -> None:
    """Raise where a file of weights cannot be read, because it was cut short or is something else."""
    from safetensors import SafetensorError, safe_open

    for file in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(file, "pt"):
                pass
        except SafetensorError as error:
            raise BadInput(f"{file.name} is damaged ({error})", where=who, fix="download or save it again") from error


def _some(names: list[str]) -> str:
    names = sorted(names)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


# MERGED from inference.hf_folders: Models of the Hugging Face ecosystem as folders of files: found, refused where incomplete, loaded quietly.

#: Weights, configuration, tokenizer, template for chats: other files of a folder are neither fetched nor signed.
FILES = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja")
TOKENIZER = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
CLASSIFIER = "AutoModelForSequenceClassification"
MASKED_LM = "AutoModelForMaskedLM"
SEQ2SEQ_LM = "AutoModelForSeq2SeqLM"
CAUSAL_LM = "AutoModelForCausalLM"


@dataclass(frozen=True)
class Folder:
    """Where a model's files are, what its user called it, and what tells it apart: its name and commit or content."""

    path: Path
    who: str
    identity: str


def find(name: str, revision: str = "") -> Folder:
    """Find a folder made by `save_pretrained`, or fetch one commit of a hub model, unless it was fetched before.

    `revision` is a branch, tag or commit on the hub. What has no configuration, no tokenizer or no weights as
    safetensors is refused here, because transformers reports it obscurely, or makes up an empty tokenizer.
    """
    found = _local(name, revision) if Path(name).expanduser().is_dir() else _hub(name, revision)
    _refuse_incomplete(found)
    return found


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
        raise BadInput("its tokenizer is not one of the `tokenizers` library", where=folder.who, fix=fix)
    return tokenizer


def load(folder: Folder, auto: str = CLASSIFIER) -> Any:
    """A model all of whose weights are in its folder, in single precision; `auto` is transformers' class to load with.

    Weights that do not fit the configuration, are not in it or not there, and untrained heads are refused.
    """
    model, missing = _load(folder, auto)
    if missing:
        message = f"has no trained head (its weights lack {', '.join(missing[:4])}): it would answer at random"
        raise BadInput(message, where=folder.who, fix="fine-tune it for the task first, or name a model that is")
    return model


def load_start(folder: Folder, auto: str = CLASSIFIER, **config: Any) -> tuple[Any, tuple[str, ...]]:
    """A model to be trained, and the names of its weights that are new: those of a head, never of the encoder.

    `config` is set in its configuration: `num_labels`, `id2label` ... A head of another size is replaced.
    """
    return _load(folder, auto, replace_heads=True, **config)


@contextmanager
def quietly() -> Iterator[None]:
    """Keep transformers' bars, reports and warnings of its own making off the terminal: what matters is raised."""
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


_SAFE = {"trust_remote_code": False, "local_files_only": True}


def _local(name: str, revision: str) -> Folder:
    if revision:
        raise BadInput("a local folder has no revisions", where=f"hf:{name}", fix="leave the option out")
    path = Path(name).expanduser()
    files = sorted(file for pattern in FILES for file in path.glob(pattern))
    content = digest(*((file.name, fingerprint(file)) for file in files))
    return Folder(path, f"hf:{name}", f"{path.resolve().name}@{content[:12]}")


def _hub(name: str, revision: str) -> Folder:
    _transformers()  # it brings huggingface_hub
    from huggingface_hub import snapshot_download

    chosen = revision or None
    try:
        path = Path(snapshot_download(name, revision=chosen, allow_patterns=list(FILES), ignore_patterns=["*/*"]))
    except Exception as error:  # not a hub name, no such name, no access, no network, offline and not fetched yet
        message = f"no folder {Path(name).expanduser().absolute()}, and none from the hub ({_cause(error)})"
        fix = "check the name, the revision and the network, or give a folder made by save_pretrained"
        raise BadInput(message, where=f"hf:{name}", fix=fix) from error
    return Folder(path, f"hf:{name}", f"{name}@{path.name[:12]}")


def _refuse_incomplete(folder: Folder) -> None:
    if not (folder.path / "config.json").is_file():
        raise BadInput("has no config.json", where=folder.who, fix="save the model with save_pretrained")
    if not any(file for pattern in TOKENIZER for file in folder.path.glob(pattern)):
        fix = f"save it there with tokenizer.save_pretrained (one of {', '.join(TOKENIZER)})"
        raise BadInput("has no tokenizer", where=folder.who, fix=fix)
    if not any(folder.path.glob("*.safetensors")):
        fix = "convert it, if you trust its source: load it with transformers, then model.save_pretrained(FOLDER)"
        message = "has no weights as .safetensors, and pickled ones (.bin) are refused: loading can run code"
        raise BadInput(message, where=folder.who, fix=fix)


def _load(folder: Folder, auto: str, *, replace_heads: bool = False, **config: Any) -> tuple[Any, tuple[str, ...]]:
    transformers = _transformers()
    lenient = {"output_loading_info": True, "ignore_mismatched_sizes": True}  # our messages say more
    with quietly():
        try:
            loader = getattr(transformers, auto).from_pretrained
            model, info = loader(folder.path, use_safetensors=True, **_SAFE, **lenient, **config)
        except Exception as error:  # OSError, ValueError, KeyError, SafetensorError, ImportError ...
            refuse_damaged(folder.path, folder.who)
            raise _unloadable(folder, f"AutoTokenizer and {auto}", error) from error
    if (wrong := sorted(str(key) for key in info["mismatched_keys"])) and not replace_heads:
        named = "id2label" in json.loads((folder.path / "config.json").read_text(encoding="utf-8"))
        count = len(model.config.id2label) if named else "no"
        message = f"config.json names {count} labels, which its weights do not fit: {'; '.join(wrong)}"
        fix = 'give it "id2label": {"0": "entailment", "1": "neutral", ...}, a name for each output'
        raise BadInput(message, where=folder.who, fix=fix)
    refuse_unused(model, info["unexpected_keys"], folder.who)
    new = {*info["missing_keys"], *(_name(key) for key in info["mismatched_keys"])}
    refuse_lost(model, new, folder.who)
    return model.float(), tuple(sorted(new))


def _name(key: Any) -> str:
    """A mismatched weight's name, which comes with its two shapes."""
    return str(key if isinstance(key, str) else key[0])


def _unloadable(folder: Folder, auto: str, error: Exception) -> BadInput:
    fix = f"it must load with {auto}, without code of its own"
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
