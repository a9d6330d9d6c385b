"""Pickled weights as safetensors: read in a process of its own by a reader that runs no code, then checked by loading.

`python -m otherwords.exporting.converting FOLDER OUT` is that process; it prints its result as one line of JSON.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import BadInput, MissingExtra
from ..inference.hf_folders import (
    CAUSAL_LM,
    CLASSIFIER,
    ENCODER,
    FILES,
    MASKED_LM,
    SEQ2SEQ_LM,
    Folder,
    find,
    load,
    load_tokenizer,
)
from ..storage.files import write_json
from .export import whole_folder

#: Where transformers keeps pickled weights, and the index of those in several files.
PICKLE, INDEX = "pytorch_model.bin", "pytorch_model.bin.index.json"
#: Weights that only other libraries can read.
_OTHERS = {"*.h5": "TensorFlow", "*.ckpt*": "TensorFlow", "*.msgpack": "Flax", "*.ot": "Rust", "*.onnx": "onnxruntime"}
_HEADS = {
    "ForSequenceClassification": CLASSIFIER,
    "ForMaskedLM": MASKED_LM,
    "ForCausalLM": CAUSAL_LM,
    "LMHeadModel": CAUSAL_LM,
    "ForConditionalGeneration": SEQ2SEQ_LM,
    "MTModel": SEQ2SEQ_LM,
}


def convert(name: str, out: str | Path, revision: str = "") -> Path:
    """Write a model with pickled weights as a folder with safetensors, which `hf:FOLDER` loads, or write nothing.

    `name` is a folder or a hub name (at a `revision`), with or without `hf:`. Weights are read with torch's
    `weights_only`, in another process: a pickle that would do anything else is refused. The new folder is loaded before
    it is given its name.
    """
    out = Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInput("exists and is not an empty folder", where=str(out), fix="choose another folder with -o")
    folder = find(name.removeprefix("hf:"), revision, pickled=True)
    _refuse_other_weights(folder)
    with whole_folder(out) as draft:
        written = _in_own_process(folder, draft)
        for pattern in FILES:
            for file in folder.path.glob(pattern):
                if file.name != INDEX:
                    shutil.copyfile(file, draft / file.name)
        for file in folder.path.glob("*_Pooling/config.json"):  # of sentence-transformers
            (draft / file.parent.name).mkdir()
            shutil.copyfile(file, draft / file.parent.name / file.name)
        write_json(draft / "conversion.json", {"source": folder.identity, "tensors": written})
        _refuse_unloadable(draft, folder)
    return out


def _refuse_other_weights(folder: Folder) -> None:
    if any(folder.path.glob("*.safetensors")):
        raise BadInput("has safetensors already", where=folder.who, fix=f"use {folder.who} as it is")
    if (folder.path / PICKLE).is_file() or (folder.path / INDEX).is_file():
        return
    others = [(file.name, who) for pattern, who in _OTHERS.items() for file in folder.path.glob(pattern)]
    if others:
        message = f"has weights for {others[0][1]} only ({others[0][0]})"
        fix = "ask its authors for PyTorch weights, or load and save it with that library"
        raise BadInput(message, where=folder.who, fix=fix)
    raise BadInput(f"has no {PICKLE}", where=folder.who, fix="give a folder or hub model with PyTorch weights")


def _in_own_process(folder: Folder, draft: Path) -> int:
    """Let another process read the pickles, so that they cannot reach this one; return how many tensors it wrote."""
    command = [sys.executable, "-m", __name__, str(folder.path.resolve()), str(draft.resolve())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        result = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        fix = "it may need more memory, or be damaged: download it again"
        raise BadInput(f"its weights cannot be read: {lines[-1]}", where=folder.who, fix=fix) from None
    if "missing" in result:
        raise MissingExtra("convert", "hf")
    if "refused" in result:
        message = f"{result['file']} is refused: {result['refused']}"
        fix = "do not use it: a file of weights has no need for code" if result["code"] else "download it again"
        raise BadInput(message, where=folder.who, fix=fix)
    return int(result["tensors"])


def _refuse_unloadable(draft: Path, folder: Folder) -> None:
    new = find(str(draft))
    new = Folder(draft, folder.who, new.identity)  # errors name what the user gave
    heads = [str(one) for one in new.read_config().get("architectures") or []]
    auto = next((auto for head in heads for ending, auto in _HEADS.items() if head.endswith(ending)), ENCODER)
    load_tokenizer(new)
    load(new, auto)


# The other process: torch and safetensors alone


def main(folder: Path, draft: Path) -> dict[str, Any]:
    """Write the weights of a folder as safetensors; the result says how many tensors, or what was refused."""
    try:
        from safetensors.torch import save_file
    except ImportError:
        return {"missing": "hf"}
    count = 0
    places: dict[str, str] = {}
    files = list(_files(folder))
    for number, file in enumerate(files, 1):
        tensors = _read(file)
        if "refused" in tensors:
            return {**tensors, "file": file.name}
        single = len(files) == 1
        name = "model.safetensors" if single else f"model-{number:05}-of-{len(files):05}.safetensors"
        save_file(tensors, draft / name, {"format": "pt"})
        count += len(tensors)
        places |= dict.fromkeys(tensors, name)
    if len(files) > 1:
        write_json(draft / "model.safetensors.index.json", {"metadata": {}, "weight_map": places})
    return {"tensors": count}


def _files(folder: Path) -> Iterator[Path]:
    """The files that hold the weights, each once."""
    if not (folder / INDEX).is_file():
        yield folder / PICKLE
        return
    names = json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].values()
    for name in sorted({Path(str(name)).name for name in names}):  # a path would lead out of the folder
        yield folder / name


def _read(file: Path) -> dict[str, Any]:
    """The tensors of a file, each with memory of its own: safetensors has no shared ones."""
    import torch

    try:
        content = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:
        code = [line.strip() for line in str(error).splitlines() if "GLOBAL" in line or "nsupported" in line]
        if type(error).__name__ == "UnpicklingError" and code:
            return {"refused": f"it holds more than weights ({code[0][:200]})", "code": True}
        # Not a pickle at all, cut short, absent.
        return {"refused": f"cannot be read ({type(error).__name__}: {str(error)[:200]})", "code": False}
    tensors = {str(name): value for name, value in content.items()} if isinstance(content, Mapping) else {}
    if not tensors or not all(isinstance(value, torch.Tensor) for value in tensors.values()):
        return {"refused": "it is not a table of named tensors", "code": False}
    return {name: value.detach().clone().contiguous() for name, value in tensors.items()}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]))))
