"""Code of users, models and plug-ins: loaded from a file or a module, guarded while it runs, and signed by content.

What is signed is read from the source, before anything runs: the file, and every file that its import statements reach,
at the top or inside functions, wherever it lies; installed packages are left out. Code that imports by name (importlib,
exec) is signed with all files below its root. So a signature depends neither on a process nor on its company.
"""

import ast
import functools
import hashlib
import importlib
import inspect
import os
import re
import sys
import sysconfig
import traceback
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import fields, is_dataclass, replace
from importlib.machinery import EXTENSION_SUFFIXES
from itertools import islice
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

from ..errors import BadInput, OtherwordsError, UnknownName, shorten
from .files import digest, fingerprint

#: The names in a folder.
Listing = Callable[[Path], frozenset[str]]
_PACKAGE = Path(__file__).parents[1]
#: Imports by name: what these load cannot be read from the source.
_BY_NAME = {"importlib", "runpy", "pkgutil", "imp", "exec", "eval", "__import__"}
#: Files that a root may have; where there are more, what is imported by name is not signed, and so not cached.
_MOST = 2_000
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
#: All files that were signed in this process.
_signed: set[Path] = set()


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


def load_function(target: str, where: str) -> tuple[Any, str, dict[Path, str]]:
    """What a target stands for, its identity (names, and the content of source and declared files), and its source.

    A function without parameters is a factory: it stands for what it returns.
    """
    if target.startswith(HERE):
        return *_given_here(target, where), {}
    module, found = load_target(target, where)
    path = _file_of(module)
    if path is None or not path.is_file():
        raise BadInput("has no file, so changes cannot be detected", where=where, fix="put the function in a .py file")
    signed = sources(path)
    if (origin := source_of(found)) and origin != path:
        signed |= sources(origin)
    if not is_dataclass(found) and not arity(found):
        with guarded(where):
            found = found()
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
            raise BadInput(f"two functions are called {name}", fix="give each a name of its own")
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
        with guarded(where):
            given = given()
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
            if (file := _file_of(sys.modules.get(name))) and not _is_installed(file):
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
    own = [one for one in frames if one.filename[:1] != "<" and not _is_installed(Path(one.filename))]
    if isinstance(error, SyntaxError) and error.filename and not own:
        return f" ({Path(error.filename).name}, line {error.lineno})"
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
        own = [] if source is None or _is_installed(source) else [source.parent, root_of(source), Path.cwd()]
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


# Signing by source


def sign_plugin(factory: Any) -> str:
    """Hash a plug-in's factory as `sign_object` does; an installed one by the files of its own package.

    A package that is installed again under the same version is other code, too.
    """
    source = source_of(factory)
    return sign_files(sources(source)) if source and _is_installed(source) else sign_object(factory)


def sign_files(files: dict[Path, str]) -> str:
    """Hash files by content and by the name given to each; one file by its content alone."""
    hashes = sorted((name, fingerprint(path)) for path, name in files.items())
    return hashes[0][1][:12] if len(hashes) == 1 else digest(*hashes)[:12]


def sign_declared(owner: Any, base: Path | None, where: str) -> str:
    """What an object declares in its attributes `version`, and `files`: paths relative to its own file, by content."""
    version, given = getattr(owner, "version", ""), getattr(owner, "files", ())
    if not isinstance(version, (str, int, float)):
        raise BadInput(f"found {version!r}", where=where, field="version", fix="give a text or a number")
    if not isinstance(given, (list, tuple)) or not all(isinstance(one, (str, Path)) for one in given):
        raise BadInput(f"found {given!r}", where=where, field="files", fix="give a list of paths")
    hashes = []
    for one in given:
        path = next((p for p in ((base or Path()) / Path(one).expanduser(), Path(one)) if p.exists()), None)
        if path is None:
            fix = "give paths relative to the file of the function, or absolute ones"
            raise BadInput(f"no such file: {one}", where=where, field="files", fix=fix)
        hashes.append((path.name if Path(one).is_absolute() else Path(one).as_posix(), fingerprint(path)))
    parts = [f"v{version}"] if str(version) else []
    return "+".join(parts + ([digest(*sorted(hashes))[:12]] if hashes else []))


def sources(start: Path) -> dict[Path, str]:
    """The file, and the files that its imports reach, each with a name that does not depend on where they lie."""
    start = start.resolve()
    root, package = root_of(start), _package_of(start)
    folders = [one for one in map(Path, sys.path) if one.is_dir() and not _is_installed(one, root)]
    search = tuple(dict.fromkeys([start.parent, root, Path.cwd(), *folders]))
    listing = functools.cache(_list_folder)
    found: dict[Path, str] = {}
    seen: set[tuple[str, str]] = set()
    todo = [*(folder / "__init__.py" for folder in start.parents if folder.is_relative_to(root)), start]
    while todo:
        path = todo.pop()
        if path in found or not path.is_file() or (_is_installed(path, root) and _package_of(path) != package):
            continue
        base = next((one for one in (root, *search) if path.is_relative_to(one)), path.parent)
        found[path] = path.relative_to(base).as_posix()
        imports, by_name = _imports(path, path.stat().st_mtime_ns, path.stat().st_size)
        for folder, name in set(imports) - seen:
            todo += _locate(name, [Path(folder)] if folder else search, listing)
        seen.update(imports)
        if by_name and not _is_installed(root) and ("", "*") not in seen:
            seen.add(("", "*"))
            todo += _all_below(root)
    _signed.update(found)
    return found


def root_of(path: Path) -> Path:
    """The folder of a file, or the one that its package lies in."""
    return next(folder for folder in path.parents if not (folder / "__init__.py").exists())


def _package_of(path: Path) -> Path:
    """The top folder of a file's package, or the file."""
    return next((one for one in (path, *path.parents) if one.parent == root_of(path)), path)


@functools.lru_cache(maxsize=10_000)
def _imports(path: Path, *_: int) -> tuple[tuple[tuple[str, str], ...], bool]:
    """All that a file imports, as (folder, if relative) and name, and whether it imports by name, too."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError):  # a compiled module, or not Python
        return (), False
    found, by_name = [], False
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [("", alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            folder = str(path.parents[node.level - 1]) if 0 < node.level <= len(path.parents) else ""
            start = f"{node.module}." if node.module else ""
            found += [(folder, f"{start}{alias.name}") for alias in node.names]
        elif isinstance(node, ast.Name):
            by_name |= node.id in _BY_NAME - {"importlib"}
    plain = {"importlib.metadata", "importlib.resources"}
    by_name |= any(name.partition(".")[0] in _BY_NAME and not any(map(name.startswith, plain)) for _, name in found)
    return tuple(dict.fromkeys(found)), by_name


def _locate(name: str, search: Sequence[Path], listing: Listing) -> Iterator[Path]:
    """The files that importing a dotted name runs: its packages and itself, in the first folder that has its start."""
    first = name.partition(".")[0]
    homes = [folder for folder in search if _module_files(folder, first, listing)][:1]
    if not homes:  # parts of a package without __init__.py may lie in several folders
        homes = [folder for folder in search if first in listing(folder) and listing(folder / first)]
    for folder in homes:
        for part in name.split("."):
            yield from _module_files(folder, part, listing)
            folder /= part
    if not homes and first not in sys.stdlib_module_names:  # an editable install is found by a hook
        file = _file_of(sys.modules.get(first))
        if file and not _is_installed(file) and _module_files(root_of(file), first, listing):
            yield from _locate(name, [root_of(file)], listing)


def _module_files(folder: Path, name: str, listing: Listing) -> list[Path]:
    if name in listing(folder) and "__init__.py" in listing(folder / name):
        return [folder / name / "__init__.py"]
    return [folder / f"{name}{end}" for end in (".py", *EXTENSION_SUFFIXES) if f"{name}{end}" in listing(folder)]


def _list_folder(folder: Path) -> frozenset[str]:
    try:
        return frozenset(one.name for one in folder.iterdir())
    except OSError:
        return frozenset()


def _all_below(root: Path) -> list[Path]:
    found: list[Path] = []
    for visited, (folder, folders, names) in enumerate(os.walk(root)):
        folders[:] = [one for one in folders if one[0] != "." and not _is_venv(Path(folder, one))]
        found += [Path(folder, name) for name in names if name.endswith(".py")]
        if len(found) > _MOST or visited > _MOST:
            return []
    return found


def _is_venv(folder: Path) -> bool:
    return folder.name in ("site-packages", "node_modules", "__pycache__") or (folder / "pyvenv.cfg").is_file()


def _is_installed(path: Path, root: Path | None = None) -> bool:
    """Whether a file is part of Python, of this package, or installed; below a root, also whether in a venv there."""
    if {"site-packages", "dist-packages"} & set(path.parts) or path.is_relative_to(_PACKAGE):
        return True
    if any(path.is_relative_to(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")):
        return True
    return root is not None and any(_is_venv(one) for one in path.parents if root in one.parents)


def _file_of(module: ModuleType | None) -> Path | None:
    """The file of a module; none where it names what is no file: torch.ops says "_ops.py", a piped script "<stdin>"."""
    file = getattr(module, "__file__", None)
    path = Path(file).resolve() if isinstance(file, str) else None
    return path if path and path.is_file() else None


def source_of(function: Any) -> Path | None:
    """The file that defines a function, or the class of an object; none in a notebook."""
    module = sys.modules.get(getattr(function, "__module__", None) or type(function).__module__)
    return _file_of(module)


class LateModules:
    """Notices modules below a root that a model has loaded, but are not among its files. `known` were there before.

    What other code has loaded, such as a generator, is not the model's where its source shows it. What no source shows
    may be loaded by this model, too: nobody would notice, since it is there already.
    """

    def __init__(self, signed: dict[Path, str], known: dict[str, ModuleType]):
        self._signed, self._start = signed, next(iter(signed))
        self._own = sys.modules.keys() - known.keys()  # loaded with the model
        self._known = {k: v for k, v in known.items() if k not in _loaded or _loaded[k][0] in _signed}

    def __call__(self) -> str:
        """Say why answers from now on cannot be stored, or nothing."""
        root = root_of(self._start)
        for name, module in list(sys.modules.items()):
            if self._known.get(name) is module:
                continue
            file = _file_of(module)
            own = name in self._own or _loaded_by.get(name) in self._signed
            if file and self._is_unsigned(file, root) and (own or (name in _loaded and file not in _signed)):
                found = "it has loaded" if own else "it may use"
                return f"{found} {file.name}, which is not signed; import it at the top of {self._start.name}"
            self._known[name] = module
        return ""

    def _is_unsigned(self, file: Path, root: Path) -> bool:
        return file not in self._signed and file.is_relative_to(root) and not _is_installed(file, root)


# Signing objects of this process


def sign_object(value: Any) -> str:
    """Hash a function or object by what it consists of here: code, defaults, closure, state; and by its source.

    Raises TypeError where something in it cannot be read.
    """
    description = _Description()
    described = description.describe(value)
    files = {path: name for module in sorted(description.modules) for path, name in sources(module).items()}
    return digest(described, sign_files(files) if files else "")[:12]


class _Description:
    """Describes objects as JSON, for a hash; collects the files that define them."""

    def __init__(self) -> None:
        self.modules: set[Path] = set()
        self._seen: dict[int, tuple[int, Any]] = {}

    def describe(self, value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, float, complex, str, Path)):
            return [type(value).__name__, str(value)]
        if isinstance(value, (bytes, bytearray)):
            return ["bytes", hashlib.sha256(value).hexdigest()]
        if id(value) in self._seen:
            return ["again", self._seen[id(value)][0]]
        self._seen[id(value)] = len(self._seen), value  # kept alive, or another would get its id
        if isinstance(value, (list, tuple)):
            return [type(value).__name__, *map(self.describe, value)]
        if isinstance(value, (set, frozenset)):
            return ["set", *sorted(repr(one) for one in value)]
        if type(value) is dict:  # others may hold more: the default of a defaultdict
            return ["dict", *([self.describe(key), self.describe(one)] for key, one in value.items())]
        if isinstance(value, CodeType):
            return ["code", value.co_name, value.co_code.hex(), value.co_names, self.describe(value.co_consts)]
        if isinstance(value, MethodType):
            return ["method", self.describe(value.__func__), self.describe(value.__self__)]
        if isinstance(value, functools.partial):
            return ["partial", *map(self.describe, (value.func, value.args, value.keywords))]
        if isinstance(value, ModuleType):
            self._is_own(value)
            return ["module", value.__name__]
        if isinstance(value, (FunctionType, type)):
            return self._definition(value)
        if isinstance(value, BuiltinFunctionType) and isinstance(value.__self__, (ModuleType, type(None))):
            return ["builtin", value.__module__, value.__qualname__]
        try:
            state = value.__reduce_ex__(4)  # what pickle would store; nothing is pickled here
        except Exception as error:  # locks, sessions, handles: each type has its own way to say so
            raise TypeError(f"an object of the type {type(value).__name__} in it cannot be read") from error
        if isinstance(state, str):  # the name of a global: of a function that functools.cache wrapped, say
            return ["named", state, self.describe(getattr(value, "__wrapped__", None))]
        parts = [list(one) if isinstance(one, Iterator) else one for one in state]
        return ["object", self.describe(type(value)), self.describe(parts)]

    def _is_own(self, module: ModuleType | None) -> bool:
        """Whether a module is the user's; note its file, if it has one."""
        file = _file_of(module)
        if file is None:
            return module is None or module.__name__ == "__main__"
        if not _is_installed(file):
            self.modules.add(file)
        return not _is_installed(file)

    def _definition(self, value: Any) -> Any:
        """What a function or class consists of, with the globals that it uses, as they are now."""
        module = sys.modules.get(value.__module__ or "")
        name = [value.__module__, value.__qualname__] if _file_of(module) is None else value.__qualname__
        if not self._is_own(module):
            return ["installed", value.__module__, value.__qualname__]
        if isinstance(value, type):
            inside = {key: _inner(one) for key, one in vars(value).items() if _decides(key, one)}
            return ["class", name, *map(self.describe, (inside, [one for one in value.__bases__ if one is not object]))]
        used = {key: value.__globals__[key] for key in sorted(_names(value.__code__) & value.__globals__.keys())}
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        declared = {key: one for key, one in vars(value).items() if key != "__wrapped__"}
        parts = (value.__code__, value.__defaults__, value.__kwdefaults__, cells, declared, used)
        return ["function", name, *map(self.describe, parts)]


def _decides(name: str, value: Any) -> bool:
    """Whether an attribute of a class may decide what it does: its functions and data, not what Python adds."""
    if isinstance(value, (MemberDescriptorType, GetSetDescriptorType)) or name == "_abc_impl":
        return False
    return isinstance(value, FunctionType) or not (name.startswith("__") and name.endswith("__"))


def _inner(value: Any) -> Any:
    """The functions of a method or property."""
    if isinstance(value, property):
        return [value.fget, value.fset, value.fdel]
    return getattr(value, "__func__", value.func if isinstance(value, functools.cached_property) else value)


def _names(code: CodeType) -> set[str]:
    return set(code.co_names).union(*(_names(one) for one in code.co_consts if isinstance(one, CodeType)))
