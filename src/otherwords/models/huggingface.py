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


# `name` is not signed as it is given, because it may be a path of this machine: the identity has the model's name
# and commit or content. The device, like the batch, changes last bits only, which `batch_invariant` owns up to.
@models("hf.v1", unsigned=("name", "device", "batch_size", "revision"))
def hf(name: str, max_length: int = 256, device: str = "auto", batch_size: int = 64, revision: str = "") -> Model:
    """Ask a sequence-pair classifier of the Hugging Face hub, or of a local folder (safetensors only).

    Pairs of more than `max_length` tokens are cut. `device` is auto (cuda where there is one), cpu, cuda, cuda:1;
    `revision` a branch, tag or commit of the hub. Code that comes with a model is never run.
    """
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtra("hf models", "hf") from error

    who = f"hf:{name}"
    refuse_sizes(who, max_length, batch_size)
    folder, identity = _folder(name, revision)
    _refuse_incomplete(folder, who)
    with _quiet(transformers):
        tokenizer, classifier = _load(transformers, folder, who)
    labels = label_names(classifier.config.id2label, f"{who}: config.json")
    place = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    try:
        classifier = classifier.to(device=torch.device(place), dtype=torch.float32).eval()
    except (AssertionError, RuntimeError) as error:
        raise BadInput(f"cannot use {device!r}: {error}", where=who, field="device", fix="give auto or cpu") from error
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


def _folder(name: str, revision: str) -> tuple[Path, str]:
    """Find the files, from the hub if need be, and the name and commit or content that identify them."""
    path = Path(name).expanduser()
    if path.is_dir():
        if revision:
            raise BadInput("a local folder has no revisions", where=f"hf:{name}", field="revision", fix="leave it out")
        files = sorted(file for pattern in _FILES for file in path.glob(pattern))
        content = digest(*((file.name, fingerprint(file)) for file in files))
        return path, f"{path.resolve().name}@{content[:12]}"
    if path.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
        fix = "give a folder with config.json, model.safetensors and a tokenizer, or a name on the hub"
        raise BadInput(f"no such folder: {path.absolute()}", where=f"hf:{name}", fix=fix)
    return _from_hub(name, revision)


def _from_hub(name: str, revision: str) -> tuple[Path, str]:
    from huggingface_hub import snapshot_download

    try:
        # One snapshot for all the files: tokenizer and weights of the same commit, which names the folder.
        found = snapshot_download(name, revision=revision or None, allow_patterns=list(_FILES), ignore_patterns=["*/*"])
    except Exception as error:  # of many kinds: no such name, no access, no network, offline and not yet fetched
        tried = f"no folder {Path(name).absolute()}, and not to be had from the hub"
        fix = "check the name, the revision and the network, or give a local folder"
        message = f"{tried} ({type(error).__name__}: {str(error).strip().splitlines()[0]})"
        raise BadInput(message, where=f"hf:{name}", fix=fix) from error
    return Path(found), f"{name}@{Path(found).name[:12]}"


def _refuse_incomplete(folder: Path, who: str) -> None:
    """Refuse what transformers reports obscurely, or not at all (it makes up an empty tokenizer)."""
    if not (folder / "config.json").is_file():
        raise BadInput("no config.json there", where=who, fix="save the model with save_pretrained")
    if not any(file for pattern in _TOKENIZER for file in folder.glob(pattern)):
        fix = f"save it there with tokenizer.save_pretrained (one of {', '.join(_TOKENIZER)})"
        raise BadInput("no tokenizer there", where=who, fix=fix)
    if not any(folder.glob("*.safetensors")):
        pickled = "only pickled weights, which can run code when loaded" if any(folder.glob("*.bin")) else "none"
        convert = "AutoModelForSequenceClassification.from_pretrained(SOURCE).save_pretrained(FOLDER)"
        fix = f"where you trust the source, convert with transformers: {convert}"
        raise BadInput(f"needs weights as .safetensors, found {pickled}", where=who, fix=fix)


def _load(transformers: Any, folder: Path, who: str) -> tuple[Any, Any]:
    safe = {"trust_remote_code": False, "local_files_only": True}
    lenient = {
        "output_loading_info": True,
        "ignore_mismatched_sizes": True,
    }  # so that the message can be ours
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **safe)
        auto = transformers.AutoModelForSequenceClassification
        classifier, info = auto.from_pretrained(folder, use_safetensors=True, **safe, **lenient)
    except Exception as error:  # OSError, ValueError, KeyError, SafetensorError, ImportError ...
        fix = "it must load with AutoTokenizer and AutoModelForSequenceClassification, without code of its own"
        raise BadInput(f"transformers cannot load it: {error}", where=who, fix=fix) from error
    if wrong := [str(key) for key in info["mismatched_keys"]]:
        message = f"the weights do not fit config.json, which names {len(classifier.config.id2label)} labels"
        raise BadInput(f"{message}: {'; '.join(sorted(wrong))}", where=who, fix="correct id2label in config.json")
    if missing := sorted(info["missing_keys"]):
        message = f"the weights lack {', '.join(missing[:4])}: without a trained head its answers would be random"
        raise BadInput(message, where=who, fix="fine-tune it for the task first, or name a model that is")
    return tokenizer, classifier


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
