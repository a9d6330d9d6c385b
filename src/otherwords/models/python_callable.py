"""Any Python function as a model: `python:module:function` or `python:path/to/file.py:function`."""

import hashlib
import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4

from ..errors import BadInput, OtherwordsError, UnknownName, WrongAnswer
from ..problem import Batch
from ..registry import models
from .model import Model

#: The name of a model, a function from a Batch to labels or probabilities, or a Model.
AnyModel = str | Model | Callable[[Batch], Any]
#: What stands before the name of a function that was given in this process; no module is called so.
_HERE = "this-process:"
_given: dict[str, Model] = {}
#: The content of modules that were imported from here, to notice that one was edited since.
_imported: dict[str, str] = {}


# `target` is not signed as given, since it may be a path of this machine: the identity names it.
@models("python.v1", unsigned=("target", "batch_size"))
def python(target: str, batch_size: int = 256) -> Model:
    """Ask a Python function: it takes a Batch and returns labels or rows of probabilities.

    `target` is module:function or path/to/file.py:function; the current directory is importable. The function
    may have the attributes `labels` (what its columns mean, where not the task's own labels) and
    `batch_invariant` (False where answers depend on the rest of the batch). The content of its file is signed,
    that of helper files is not.
    """
    where = f"python:{target}"
    if target.startswith(_HERE):
        return _given_here(target, where)
    place, _, name = target.rpartition(":")
    if not place or not name:
        raise BadInput("names no function", where=where, fix="write python:module:function or python:file.py:function")
    if batch_size < 1:
        raise BadInput(f"found {batch_size}", where=where, field="batch_size", fix="give 1 or more")
    module = _from_file(Path(place), where) if place.endswith(".py") else _from_module(place, where)
    function = _find(module, name, where)
    shown = f"{Path(place).name if place.endswith('.py') else place}:{name}"
    return Model(
        _explained(function, where),
        labels=_labels(function, where),
        identity=f"{shown}@{_content(module, function, where)}",
        batch_invariant=bool(getattr(function, "batch_invariant", True)),
        batch_size=batch_size,
    )


def _explained(function: Callable[[Batch], Any], where: str) -> Callable[[Batch], Any]:
    """The function; what it raises names it, and the size of the batch."""

    def answer(batch: Batch) -> Any:
        try:
            return function(batch)
        except OtherwordsError:
            raise
        except Exception as error:
            cause = f"{type(error).__name__}: {error}"
            raise WrongAnswer(f"{where} raised {cause} on a batch of {len(batch)} problems") from error

    return answer


def as_spec(model: AnyModel) -> str:
    """The spec of a model: its own if it is named, else one that stands for a function or a Model in this process.

    It is called by the function's name; another of that name takes its place. Nothing tells whether a function still
    does what it did (a classifier that it uses may have been trained again): it is asked afresh each time it is given,
    unless a Model has an `identity`.

    >>> as_spec("nli-small"), as_spec(lambda batch: ["neutral"] * len(batch)).partition("=")[0]
    ('nli-small', 'lambda')
    """
    if isinstance(model, str):
        return model
    if not callable(model):
        fix = "give a name, a function of a batch, or ow.Model(function)"
        raise BadInput(f"found {type(model).__name__}, not a model", fix=fix)
    function = model.function if isinstance(model, Model) else model
    name = re.sub(r"\W+", "-", getattr(function, "__name__", type(function).__name__)).strip("-_")
    if not isinstance(model, Model):
        invariant = bool(getattr(model, "batch_invariant", True))
        model = Model(model, labels=_labels(model, name), batch_invariant=invariant, batch_size=256)
    identity = f"{name}@{model.identity or uuid4().hex[:12]}"
    _given[f"{_HERE}{name}"] = replace(model, function=_explained(function, name), identity=identity)
    return f"{name}=python:{_HERE}{name}"


def _given_here(target: str, where: str) -> Model:
    """A model that was given as a function in this process."""
    if target not in _given:
        fix = "give the function again: models=[...]"
        raise BadInput("was a function of the process that ran the study", where=where, fix=fix)
    return _given[target]


def _from_file(path: Path, where: str) -> ModuleType:
    """Run a file as a module, from its source as it is now."""
    if not path.is_file():
        raise BadInput(f"no such file (from {Path.cwd()})", where=where, fix="write python:path/to/file.py:function")
    name = f"otherwords_file_{path.stem}_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]  # a .py file has a spec
    sys.modules[name] = module  # where dataclasses and pickle look for it
    with _importing(where, path.resolve().parent):
        _run(module, path)
    return module


def _run(module: ModuleType, path: Path) -> None:
    """Fill a module from its source; a .pyc may be stale when a file is edited twice in a second."""
    exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)


def _from_module(name: str, where: str) -> ModuleType:
    importlib.invalidate_caches()
    with _importing(where):
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if not f"{name}.".startswith(f"{error.name}."):
                raise  # it is there, but something that it imports is not
            fix = "write a module that can be imported, or path/to/file.py:function"
            raise BadInput(f"no module {error.name!r} (looked in {Path.cwd()} too)", where=where, fix=fix) from None
        content = _sha(module)
        if _imported.setdefault(name, content) != content:
            _imported[name] = content
            _run(module, Path(str(module.__file__)))
    return module


@contextmanager
def _importing(where: str, *folders: Path) -> Iterator[None]:
    """Import from `folders` and the current directory too, during one import; say why it failed."""
    before = list(sys.path)
    sys.path[:0] = [str(folder) for folder in (*folders, Path.cwd())]
    try:
        yield
    except OtherwordsError:
        raise
    except (Exception, SystemExit) as error:
        raise BadInput(f"its import failed: {type(error).__name__}: {error}", where=where) from error
    finally:
        sys.path[:] = before


def _find(module: ModuleType, name: str, where: str) -> Callable[[Batch], Any]:
    public = {key: value for key, value in vars(module).items() if callable(value) and not key.startswith("_")}
    own = [key for key, value in public.items() if getattr(value, "__module__", "") == module.__name__]
    names = ", ".join(own or public) or "none"
    if not hasattr(module, name):
        raise UnknownName(f"{where}: no {name!r} there; its public callables: {names}")
    function = getattr(module, name)
    if not callable(function):
        raise BadInput(f"has type {type(function).__name__}, not function", where=where, fix=f"its callables: {names}")
    return function  # type: ignore[no-any-return]


def _labels(function: Any, where: str) -> tuple[str, ...]:
    labels = getattr(function, "labels", ())
    if not isinstance(labels, (list, tuple)) or not all(isinstance(label, str) for label in labels):
        raise BadInput(f"found {labels!r}", where=where, field="labels", fix="give a list of names, one per column")
    return tuple(labels)


def _content(module: ModuleType, function: Any, where: str) -> str:
    """Hash the module's file, and the file that defines the function where that is another."""
    origin = sys.modules.get(getattr(function, "__module__", None) or "", module)
    hashes = [_sha(module), *([_sha(origin)] if origin is not module else [])]
    if not all(hashes):
        raise BadInput("has no file, so changes cannot be detected", where=where, fix="put the function in a .py file")
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()[:12]


def _sha(module: ModuleType) -> str:
    file = getattr(module, "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:12] if file else ""
