"""Any Python function as a model: `python:module:function`, `python:path/to/file.py:function`, or itself."""

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import BadInput, WrongAnswer
from ..problem import Batch
from ..registry import models
from ..storage.signing import sign_declared, sign_files, sign_object, source_of, sources
from ..storage.user_code import HERE, LateModules, arity, guard, load_function
from .model import Model
from .repeating import function_ways

#: The name of a model, a function from a Batch to labels or probabilities, or a Model.
AnyModel = str | Model | Callable[[Batch], Any]
_given: dict[str, Model] = {}
#: Packages and classes whose objects can be called, but not with a Batch.
_NETWORKS = {("torch", "Module"), ("transformers", "Pipeline")}


# `target` is not signed as given, since it may be a path of this machine: the identity names it.
@models("python.v1", unsigned=("target", "batch_size"))
def python(target: str, batch_size: int = 256) -> Model:
    """Ask a Python function: it takes a Batch and returns labels or rows of probabilities.

    `target` is module:function or path/to/file.py:function; the current directory is importable. The function
    may have the attributes `labels` (what its columns mean, where not the task's own labels),
    `batch_invariant` (False where answers depend on the rest of the batch), `version`, and `files` (weights, prompts).
    Signed are the version, the content of these files, of its own file, and of all that this imports, installed
    packages excepted.
    """
    where = f"python:{target}"
    if target.startswith(HERE):
        return _given_here(target, where)
    if batch_size < 1:
        raise BadInput(f"found {batch_size}", where=where, field="batch_size", fix="give 1 or more")
    known = dict(sys.modules)
    found, identity, signed = load_function(target, where)
    function = found.function if isinstance(found, Model) else found
    model = found if isinstance(found, Model) else replace(_as_model(function, where), batch_size=batch_size)
    late = LateModules(signed, known)
    return replace(model, function=guard(function, where, WrongAnswer), identity=identity, uncacheable=late)


def as_spec(model: AnyModel) -> str:
    """The spec of a model: its own if it is named, else one that stands for a function or a Model in this process.

    It is called by the Model's name or the function's; another of that name takes its place. What it consists of is
    signed.

    >>> as_spec("nli-small"), as_spec(lambda batch: ["neutral"] * len(batch)).partition("=")[0]
    ('nli-small', 'lambda')
    """
    if isinstance(model, str):
        return model
    own = (model.name or name_of(model.function)) if isinstance(model, Model) else name_of(model)
    name = re.sub(r"\W+", "-", own).strip("-") or "model"
    _given[f"{HERE}{name}"] = from_object(model)
    return f"{name}=python:{HERE}{name}"


def _given_here(target: str, where: str) -> Model:
    """A model that was given as a function in this process."""
    if target not in _given:
        fix = "give the function again: models=[...]"
        raise BadInput("was a function of the process that ran the study", where=where, fix=fix)
    return _given[target]


def from_object(given: Any) -> Model:
    """A function, a callable object or a Model as a model, signed by what it consists of.

    What cannot be signed is not cached, unless it declares a `version`, which then stands for its state.
    """
    function = given.function if isinstance(given, Model) else given
    if isinstance(given, list | tuple):
        fix = "ask one after the other and give ow.score both tables, or use ow.run(models=[...])"
        raise BadInput(f"found {len(given)} models", where="model", fix=fix)
    if _NETWORKS & {(one.__module__.partition(".")[0], one.__name__) for one in type(function).mro()}:
        fix = "give hf:FOLDER (save_pretrained writes one), or a function of a Batch that uses it"
        raise BadInput(f"{type(function).__name__} takes no Batch of texts", where="model", fix=fix)
    if not callable(function):
        fix = "give a name, a function, or ow.Model(function)"
        raise BadInput(f"found {type(given).__name__}", where="model", fix=fix)
    name = name_of(function)
    where = f"the model {name}"
    owner = given if isinstance(given, Model) and (given.version or given.files) else function
    path = source_of(function)
    declared = (given.identity if isinstance(given, Model) else "", sign_declared(owner, path and path.parent, where))
    content, reason = _content(function, path, bool(declared[0] or getattr(owner, "version", "")))
    known = dict(sys.modules)
    model = given if isinstance(given, Model) else _as_model(function, where)
    return replace(
        model,
        function=guard(function, where, WrongAnswer),
        identity=f"{name}@{'+'.join(filter(None, (content, *declared)))}",
        uncacheable=(lambda: reason) if reason or not path else LateModules(sources(path), known),
        light=True,  # who gave it keeps it in memory anyway
    )


def _as_model(function: Any, where: str) -> Model:
    """A function of a batch, with what its attributes declare."""
    if (count := arity(function)) > 1:
        fix = "a model takes one Batch, def ask(batch): ... batch['premise'] ..., and gives an answer for each problem"
        raise BadInput(f"needs {count} arguments", where=where, fix=fix)
    invariant = bool(getattr(function, "batch_invariant", True))
    return Model(
        function,
        labels=_labels(function, where),
        batch_invariant=invariant,
        batch_size=256,
        ways=function_ways(invariant),
    )


def name_of(function: Any) -> str:
    """The name of a function, or of the class of a callable object."""
    return str(getattr(function, "__name__", None) or type(function).__name__)


def _content(function: Any, path: Path | None, versioned: bool) -> tuple[str, str]:
    """The hash of a function as it is in this process, or the reason why it has none."""
    try:
        return sign_object(function), ""
    except (TypeError, ValueError, RecursionError) as error:
        if versioned:
            return sign_files(sources(path)) if path else "", ""
        return "unsigned", f"{error}; set its attribute `version`, and change it with the model"


def _labels(function: Any, where: str) -> tuple[str, ...]:
    labels = getattr(function, "labels", ())
    if not isinstance(labels, (list, tuple)) or not all(isinstance(label, str) for label in labels):
        raise BadInput(f"found {labels!r}", where=where, field="labels", fix="give a list of names, one per column")
    return tuple(labels)
