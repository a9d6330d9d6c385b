"""Sequence-pair classifiers of the Hugging Face ecosystem, by hub name or local folder, with torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput, MissingExtra, WrongAnswer
from ..problem import Batch
from ..registry import models
from ..storage.files import digest, fingerprint
from .model import Floats, Model
from .sequence_pairs import Truncation, label_names, pairs, probabilities, refuse_sizes

#: Weights, configuration, tokenizer: other files of a folder are neither fetched nor signed.
_FILES = ("*.safetensors", "*.json", "*.txt", "*.model")
_TOKENIZER = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")


# `name` is not signed as given, since it may be a path of this machine: the identity has the model's name and its
# commit or content. The device, like the batch, changes last bits only, which `batch_invariant` owns up to.
@models("hf.v1", unsigned=("name", "device", "batch_size", "revision"))
def hf(name: str, max_length: int = 256, device: str = "auto", batch_size: int = 64, revision: str = "") -> Model:
    """Ask a sequence-pair classifier of the Hugging Face hub, or of a local folder (safetensors only).

    Pairs of more than `max_length` tokens are cut. `device` is auto (cuda where there is one), cpu or cuda:N;
    `revision` is a branch, tag or commit on the hub. Code that comes with a model is never run.
    """
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtra("hf models", "hf") from error

    who = f"hf:{name}"
    refuse_sizes(who, max_length, batch_size)
    folder, identity = _local(name, revision) if Path(name).expanduser().is_dir() else _hub(name, revision)
    _refuse_incomplete(folder, who)
    with _quiet(transformers):
        tokenizer, classifier = _load(transformers, folder, who)
    labels = label_names(classifier.config.id2label, f"{who}: config.json")
    place = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    try:
        classifier = classifier.to(device=torch.device(place), dtype=torch.float32).eval()
    except (AssertionError, RuntimeError) as error:
        message = f"cannot use {device!r}: {error}"
        raise BadInput(message, where=who, field="device", fix="give auto or cpu") from error
    truncation = Truncation(who, max_length)

    def encode(texts: list[tuple[str, str]]) -> Any:
        firsts, seconds = map(list, zip(*texts, strict=True))
        cut = {"truncation": "longest_first", "max_length": max_length, "padding": True, "verbose": False}
        encoded = tokenizer(firsts, seconds, return_tensors="pt", **cut)
        full = (encoded["attention_mask"].sum(dim=1) == max_length).nonzero().flatten().tolist()
        longer = (len(tokenizer(*texts[row], verbose=False)["input_ids"]) > max_length for row in full)
        truncation.note(sum(longer), len(texts))
        return encoded

    def ask(texts: list[tuple[str, str]]) -> Any:
        try:
            with torch.inference_mode():
                return classifier(**encode(texts).to(place)).logits.double().cpu().numpy()
        except (IndexError, RuntimeError, ValueError) as error:
            hint = f"a smaller max_length (now {max_length}) or batch_size (now {batch_size}) may work"
            raise WrongAnswer(f"{who} failed on a batch of {len(texts)} pairs: {error}; {hint}") from error

    def answer(batch: Batch) -> Floats:
        texts = pairs(batch)
        logits = [ask(texts[start : start + batch_size]) for start in range(0, len(texts), batch_size)]
        return probabilities(np.concatenate(logits), labels, who)

    # Padding and the choice of kernels differ with the batch, and with them the last bits.
    return Model(answer, labels, identity, batch_invariant=False, batch_size=batch_size)


def _local(name: str, revision: str) -> tuple[Path, str]:
    """A folder, and what identifies it: its own name, and the content of the files that make the model."""
    if revision:
        raise BadInput("a local folder has no revisions", where=f"hf:{name}", fix="leave the option out")
    folder = Path(name).expanduser()
    files = sorted(file for pattern in _FILES for file in folder.glob(pattern))
    content = digest(*((file.name, fingerprint(file)) for file in files))
    return folder, f"{folder.resolve().name}@{content[:12]}"


def _hub(name: str, revision: str) -> tuple[Path, str]:
    """A hub model's files, all of one commit, fetched unless they were before; its name and commit identify it."""
    from huggingface_hub import snapshot_download

    chosen = revision or None
    try:
        folder = Path(snapshot_download(name, revision=chosen, allow_patterns=list(_FILES), ignore_patterns=["*/*"]))
    except Exception as error:  # not a hub name, no such name, no access, no network, offline and not fetched yet
        message = f"no folder {Path(name).expanduser().absolute()}, and none from the hub ({_cause(error)})"
        fix = "check the name, the revision and the network, or give a folder made by save_pretrained"
        raise BadInput(message, where=f"hf:{name}", fix=fix) from error
    return folder, f"{name}@{folder.name[:12]}"


def _refuse_incomplete(folder: Path, who: str) -> None:
    """Refuse what transformers reports obscurely, or not at all (it makes up an empty tokenizer)."""
    if not (folder / "config.json").is_file():
        raise BadInput("has no config.json", where=who, fix="save the model with save_pretrained")
    if not any(file for pattern in _TOKENIZER for file in folder.glob(pattern)):
        fix = f"save it there with tokenizer.save_pretrained (one of {', '.join(_TOKENIZER)})"
        raise BadInput("has no tokenizer", where=who, fix=fix)
    if not any(folder.glob("*.safetensors")):
        convert = "AutoModelForSequenceClassification.from_pretrained(SOURCE).save_pretrained(FOLDER)"
        fix = f"convert it with transformers, if you trust its source: {convert}"
        message = "has no weights as .safetensors, and pickled ones (.bin) are refused: loading can run code"
        raise BadInput(message, where=who, fix=fix)


def _load(transformers: Any, folder: Path, who: str) -> tuple[Any, Any]:
    safe = {"trust_remote_code": False, "local_files_only": True}
    lenient = {"output_loading_info": True, "ignore_mismatched_sizes": True}  # our messages say more
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **safe)
        auto = transformers.AutoModelForSequenceClassification
        classifier, info = auto.from_pretrained(folder, use_safetensors=True, **safe, **lenient)
    except Exception as error:  # OSError, ValueError, KeyError, SafetensorError, ImportError ...
        fix = "it must load with AutoTokenizer and AutoModelForSequenceClassification, without code of its own"
        raise BadInput(f"transformers cannot load it: {_cause(error)}", where=who, fix=fix) from error
    if wrong := sorted(str(key) for key in info["mismatched_keys"]):
        message = f"config.json names {len(classifier.config.id2label)} labels, which its weights do not fit"
        raise BadInput(f"{message}: {'; '.join(wrong)}", where=who, fix="correct id2label in config.json")
    if missing := sorted(info["missing_keys"]):
        message = f"has no trained head (its weights lack {', '.join(missing[:4])}): it would answer at random"
        raise BadInput(message, where=who, fix="fine-tune it for the task first, or name a model that is")
    return tokenizer, classifier


def _cause(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"  # what follows is advice not ours


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Keep progress bars and loading reports off the terminal: what matters in them is raised."""
    log = transformers.utils.logging
    verbosity, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        yield
    finally:
        log.set_verbosity(verbosity)
        if bars:
            log.enable_progress_bar()
