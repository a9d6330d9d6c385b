"""Code of users, models and plug-ins: loaded from a file or a module, and guarded while it runs."""

import functools
import hashlib
import importlib
import inspect
import re
import sys
import traceback
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import fields, is_dataclass, replace
from itertools import islice
from pathlib import Path
from types import (
    ModuleType,
)
from typing import Any

from ..errors import BadInput, OtherwordsError, UnknownName, shorten
from .files import fingerprint
from .signing import (
    file_of,
    is_installed,
    root_of,
    sign_declared,
    sign_files,
    sign_object,
    signed_files,
    source_of,
    sources,
)

_END = object()
#: Characters of an error's text that are shown; --debug shows them all.
_LONGEST = 1_000
#: What stands before the name of a function that was given in this process; no module is called so.
HERE = "this-process:"
#: Generators, checks and metrics that were given as functions in this process, each with its identity.
_given: dict[str, tuple[Any, str]] = {}
#: The source of every module that was loaded from here, as it was then, to notice that one was edited since.
_loaded: dict[str, tuple[Path, str]] = {}
#: The file of the function that was running when a module was loaded.
_loaded_by: dict[str, Path] = {}


# Loading


def load_target(target: str, where: str) -> tuple[ModuleType, Any]:
    """The module and the object that `module:name` or `path/to/file.py:name` stand for."""
    place, _, name = target.rpartition(":")
    if not place or not name:
        kind = where.partition(":")[0]
        raise BadInput("names no function", where=where, fix=f"write {kind}:module:function or {kind}:file.py:function")
    module = load_file(Path(place).expanduser(), where) if place.endswith(".py") else _load_module(place, where)
    public = {key: value for key, value in vars(module).items() if callable(value) and not key.startswith("_")}
    own = [key for key, value in public.items() if getattr(value, "__module__", "") == module.__name__]
    names = ", ".join(own or public) or "none"
    if not hasattr(module, name):
        raise UnknownName(f"{where}: no {name!r} there; its public callables: {names}")
    if not callable(found := getattr(module, name)) and not is_dataclass(found):
        raise BadInput(f"has type {type(found).__name__}, not function", where=where, fix=f"its callables: {names}")
    return module, found


def _call_factory(factory: Any, where: str) -> Any:
    """What a function without parameters returns: a function, or a plug-in."""
    with guarded(where):
        made = factory()
    if not callable(made) and not is_dataclass(made):
        fix = "let it return a function, or take the arguments that such a function takes"
        raise BadInput(f"takes no argument and returned {type(made).__name__}, no function", where=where, fix=fix)
    return made


def write_example(folder: Path, header: str, body: str) -> str:
    """Write a file with a function of one statement, and name it: the example of each `python` plug-in.

    >>> write_example(tmp.parent, "shout(text)", "return text.upper()").endswith("mine.py:shout")
    True
    """
    (folder / "mine.py").write_text(f"def {header}:\n    {body}\n", encoding="utf-8")
    return f"python:{folder / 'mine.py'}:{header.partition('(')[0]}"


def load_function(target: str, where: str) -> tuple[Any, str, dict[Path, str]]:
    """What a target stands for, its identity (names, and the content of source and declared files), and its source.

    A function without parameters is a factory: it stands for what it returns.
    """
    if target.startswith(HERE):
        return *_given_here(target, where), {}
    module, found = load_target(target, where)
    path = file_of(module)
    if path is None or not path.is_file():
        raise BadInput("has no file, so changes cannot be detected", where=where, fix="put the function in a .py file")
    signed = sources(path)
    if (origin := source_of(found)) and origin != path:
        signed |= sources(origin)
    if not is_dataclass(found) and not arity(found):
        found = _call_factory(found, where)
    place, _, name = target.rpartition(":")
    shown = f"{Path(place).name if place.endswith('.py') else place}:{name}"
    parts = (sign_files(signed), sign_declared(found, path.parent, where), str(getattr(found, "identity", "")))
    return found, f"{shown}@{'+'.join(filter(None, parts))}", signed


def as_specs(given: Sequence[Any], *, named: bool = True) -> list[Any]:
    """Plug-ins by their specs: a function or an object gets one that stands for it in this process, and its name.

    It is signed by what it consists of. Specs stay as they are, and so does a plug-in that is bound already.
    """
    specs, names = [], set()
    for one in given:
        if isinstance(one, str) or hasattr(one, "plugin"):
            specs.append(one)
            continue
        if isinstance(one, type) or not (callable(one) or is_dataclass(one)):
            fix = "give a name, as in `otherwords list`, or a function"
            raise BadInput(f"found {shorten(one)}", where="the plug-ins", fix=fix)
        inner = getattr(one, "function", getattr(one, "statistics", one))
        name = re.sub(r"\W+", "-", getattr(inner, "__name__", type(inner).__name__)).strip("-") or "function"
        if name in names:
            raise BadInput(f"two functions are called {name}", fix="give each a different name")
        names.add(name)
        _given[f"{HERE}{name}"] = _made(one, f"the function {name}", f"{HERE}{name}")
        specs.append(f"{name}=python:{HERE}{name}" if named else f"python:{HERE}{name}")
    return specs


def _made(given: Any, where: str, shown: str) -> tuple[Any, str]:
    """What a function of this process stands for, and its identity; another process never shares one without hash."""
    try:
        content = sign_object(given)
    except (TypeError, ValueError, RecursionError):
        content = f"unsigned-{uuid.uuid4().hex[:12]}"
    if not is_dataclass(given) and not arity(given):
        given = _call_factory(given, where)
    path = source_of(given)
    parts = (content, sign_declared(given, path and path.parent, where), str(getattr(given, "identity", "")))
    return given, f"{shown}@{'+'.join(filter(None, parts))}"


def _given_here(target: str, where: str) -> tuple[Any, str]:
    if target not in _given:
        fix = "give the function again: vary=[...], check=[...], metrics=[...]"
        raise BadInput("was a function of the process that ran the study", where=where, fix=fix)
    return _given[target]


def arity(function: Any) -> int:
    """How many arguments a function needs; one, where it does not say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    several = any(one.kind is one.VAR_POSITIONAL for one in parameters)
    return max(sum(one.default is one.empty and one.kind in (0, 1) for one in parameters), int(several))


def load_file(path: Path, where: str) -> ModuleType:
    """Run a file as a module, from its source as it is now; in a package, it may import relatively."""
    path = path.expanduser()
    if not path.is_file():
        raise BadInput(f"no such file (from {Path.cwd()})", where=where, fix="give the path of a .py file")
    module = ModuleType(f"otherwords_file_{path.stem}_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}")
    module.__file__ = str(path.resolve())
    root = root_of(path.resolve())
    module.__package__ = ".".join(path.resolve().parent.relative_to(root).parts)
    with _importing(where, path.resolve().parent, root):
        sys.modules[module.__name__] = module  # where dataclasses and pickle look for it
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    return module


def _load_module(name: str, where: str) -> ModuleType:
    importlib.invalidate_caches()
    with _importing(where):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if not f"{name}.".startswith(f"{error.name}."):
                raise  # it is there, but something that it imports is not
            fix = "write a module that can be imported, or path/to/file.py:function"
            raise BadInput(f"no module {error.name!r} (looked in {Path.cwd()} too)", where=where, fix=fix) from None


@contextmanager
def _importing(where: str, *folders: Path) -> Iterator[None]:
    """Import from `folders` and the current directory too, during one import; say why it failed."""
    _forget_edited()
    with _searching(*folders, Path.cwd()), guarded(where, "its import failed"):
        yield


@contextmanager
def _searching(*folders: Path, running: Path | None = None) -> Iterator[None]:
    """Import from these folders first, for a while; note what is imported, and while which file's function ran."""
    path, count = list(sys.path), len(sys.modules)
    sys.path[:0] = [str(folder) for folder in dict.fromkeys(folders)]
    try:
        yield
    finally:
        sys.path[:] = path
        for name in list(islice(reversed(sys.modules), max(0, len(sys.modules) - count))):  # the newest are last
            if (file := file_of(sys.modules.get(name))) and not is_installed(file):
                _loaded[name] = (file, fingerprint(file))
                if running:
                    _loaded_by[name] = running


def _forget_edited() -> None:
    """Where a file was edited since it was loaded, let all modules be imported again: others hold parts of it."""
    if all(path.is_file() and fingerprint(path) == content for path, content in _loaded.values()):
        return
    for name in _loaded:
        if cached := getattr(sys.modules.pop(name, None), "__cached__", None):
            Path(cached).unlink(missing_ok=True)  # it counts as fresh where a file is edited twice in a second
    _loaded.clear()
    _loaded_by.clear()
    importlib.invalidate_caches()


# Guarding


@contextmanager
def guarded(where: str, doing: str = "", kind: type[OtherwordsError] = BadInput) -> Iterator[None]:
    """Run a user's code: what it prints goes to standard error, what it raises becomes an error with file and line."""
    with redirect_stdout(sys.stderr):
        try:
            yield
        except OtherwordsError:
            raise
        except (Exception, SystemExit) as error:
            cause = _describe_error(error)
            message = f"{doing}: {cause}" if doing else cause
            raise kind(f"{where}: {message}{_line_of(error)}") from error


def _describe_error(error: BaseException) -> str:
    """What a user's code raised, on one line of ordinary length."""
    try:
        text = str(error) if not isinstance(error, SystemExit) else "" if error.code is None else repr(error.code)
    except Exception:  # also this is the user's code
        text = "(its text cannot be shown)"
    text = " ".join(text.split())
    text = f"{text[:_LONGEST]} ..." if len(text) > _LONGEST else text
    if isinstance(error, SystemExit):
        return f"it called sys.exit({text})"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _line_of(error: BaseException) -> str:
    """The line of the user's code where an error was raised, as ` (mine.py, line 12)`."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [one for one in frames if one.filename[:1] != "<" and not is_installed(Path(one.filename))]
    if isinstance(error, SyntaxError) and error.filename and not own:
        place = f" ({Path(error.filename).name}, line {error.lineno})"
        return "" if str(error).endswith(place) else place
    notebook = [one for one in frames if one.filename[:1] == "<"]
    return "".join(f" ({Path(one.filename).name}, line {one.lineno})" for one in (own or notebook)[-1:])


def guard(value: Any, where: str, kind: type[OtherwordsError] = BadInput) -> Any:
    """Wrap what a user's factory returned: a function, or a dataclass of them (Generator, Check, Metric, Model ...)."""
    if is_dataclass(value) and not isinstance(value, type) and type(value).__module__.startswith("otherwords."):
        ours = {one.name: getattr(value, one.name) for one in fields(value) if one.init}
        wrapped = {name: _Guarded(one, where, kind) for name, one in ours.items() if _is_foreign(one)}
        return replace(value, **wrapped) if wrapped else value
    return _Guarded(value, where, kind) if _is_foreign(value) else value


def _is_foreign(value: Any) -> bool:
    module = getattr(value, "__module__", None) or type(value).__module__
    return callable(value) and not isinstance(value, (type, _Guarded)) and not f"{module}.".startswith("otherwords.")


class _Guarded:
    """A user's function, guarded while it runs; everything else about it is as it was."""

    def __init__(self, function: Any, where: str, kind: type[OtherwordsError]):
        functools.update_wrapper(self, function, updated=())
        self._function, self._guard = function, (where, "", kind)
        self._source = source = source_of(function)
        own = [] if source is None or is_installed(source) else [source.parent, root_of(source), Path.cwd()]
        self._folders = own  # where its file was imported from, for imports inside the function

    def __call__(self, *given: Any, **named: Any) -> Any:
        with _searching(*self._folders, running=self._source), guarded(*self._guard):
            result = self._function(*given, **named)
        return self._iterate(result) if isinstance(result, Iterator) else result

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._function, name)

    def _iterate(self, results: Iterator[Any]) -> Iterator[Any]:
        while True:
            with _searching(*self._folders, running=self._source), guarded(*self._guard):
                result = next(results, _END)
            if result is _END:
                return
            yield result


# What is loaded later


class LateModules:
    """Notices modules below a root that a model has loaded, but are not among its files. `known` were there before.

    What other code has loaded, such as a generator, is not the model's where its source shows it. What no source shows
    may be loaded by this model, too: nobody would notice, since it already exists.
    """

    def __init__(self, signed: dict[Path, str], known: dict[str, ModuleType]):
        self._signed, self._start = signed, next(iter(signed))
        self._own = sys.modules.keys() - known.keys()  # loaded with the model
        self._known = {k: v for k, v in known.items() if k not in _loaded or _loaded[k][0] in signed_files}
        self._last: dict[str, ModuleType] = {}

    def __call__(self) -> str:
        """Say why answers from now on cannot be stored, or nothing."""
        if sys.modules == self._last:  # as after almost every batch
            return ""
        root = root_of(self._start)
        for name, module in list(sys.modules.items()):
            if self._known.get(name) is module:
                continue
            file = file_of(module)
            own = name in self._own or _loaded_by.get(name) in self._signed
            if file and self._is_unsigned(file, root) and (own or (name in _loaded and file not in signed_files)):
                found = "it has loaded" if own else "it may use"
                return f"{found} {file.name}, which is not signed; import it at the top of {self._start.name}"
            self._known[name] = module
        self._last = dict(sys.modules)
        return ""

    def _is_unsigned(self, file: Path, root: Path) -> bool:
        return file not in self._signed and file.is_relative_to(root) and not is_installed(file, root)
