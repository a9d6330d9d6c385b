"""Signing code of users by content, so that a changed one is known to be another.

What is signed is read from the source, before anything runs: the file, and every file that its import statements reach,
at the top or inside functions, wherever it lies; installed packages are left out. Code that imports by name (importlib,
exec) is signed with all files below its root. So a signature depends neither on a process nor on its company.
"""

import ast
import functools
import hashlib
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import EXTENSION_SUFFIXES
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

from ..errors import BadInput
from .files import digest, fingerprint

#: The names in a folder.
Listing = Callable[[Path], frozenset[str]]
_PACKAGE = Path(__file__).parents[1]
#: Imports by name: what these load cannot be read from the source.
_BY_NAME = {"importlib", "runpy", "pkgutil", "imp", "exec", "eval", "__import__"}
#: Files that a root may have; where there are more, what is imported by name is not signed, and so not cached.
_MOST = 2_000
#: All files that were signed in this process.
signed_files: set[Path] = set()


# By source


def sign_plugin(factory: Any) -> str:
    """Hash a plug-in's factory as `sign_object` does; an installed one by the files of its own package.

    A package that is installed again under the same version is other code, too.
    """
    source = source_of(factory)
    return sign_files(sources(source)) if source and is_installed(source) else sign_object(factory)


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
    folders = [one for one in map(Path, sys.path) if one.is_dir() and not is_installed(one, root)]
    search = tuple(dict.fromkeys([start.parent, root, Path.cwd(), *folders]))
    listing = functools.cache(_list_folder)
    found: dict[Path, str] = {}
    seen: set[tuple[str, str]] = set()
    todo = [*(folder / "__init__.py" for folder in start.parents if folder.is_relative_to(root)), start]
    while todo:
        path = todo.pop()
        if path in found or not path.is_file() or (is_installed(path, root) and _package_of(path) != package):
            continue
        base = next((one for one in (root, *search) if path.is_relative_to(one)), path.parent)
        found[path] = path.relative_to(base).as_posix()
        imports, by_name = _imports(path, path.stat().st_mtime_ns, path.stat().st_size)
        for folder, name in set(imports) - seen:
            todo += _locate(name, [Path(folder)] if folder else search, listing)
        seen.update(imports)
        if by_name and not is_installed(root) and ("", "*") not in seen:
            seen.add(("", "*"))
            todo += _all_below(root)
    signed_files.update(found)
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
        file = file_of(sys.modules.get(first))
        if file and not is_installed(file) and _module_files(root_of(file), first, listing):
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


def is_installed(path: Path, root: Path | None = None) -> bool:
    """Whether a file is part of Python, of this package, or installed; below a root, also whether in a venv there."""
    if {"site-packages", "dist-packages"} & set(path.parts) or path.is_relative_to(_PACKAGE):
        return True
    if any(map(path.is_relative_to, _python_folders())):
        return True
    return root is not None and any(_is_venv(one) for one in path.parents if root in one.parents)


@functools.cache
def _python_folders() -> tuple[str, ...]:
    """Where the standard library lies; looking it up takes longer than all else about a file."""
    return tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))


def file_of(module: ModuleType | None) -> Path | None:
    """The file of a module; none where it names what is no file: torch.ops says "_ops.py", a piped script "<stdin>"."""
    file = getattr(module, "__file__", None)
    path = Path(file).resolve() if isinstance(file, str) else None
    return path if path and path.is_file() else None


def source_of(function: Any) -> Path | None:
    """The file that defines a function, or the class of an object; none in a notebook."""
    module = sys.modules.get(getattr(function, "__module__", None) or type(function).__module__)
    return file_of(module)


# Objects of this process


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
        file = file_of(module)
        if file is None:
            return module is None or module.__name__ == "__main__"
        if not is_installed(file):
            self.modules.add(file)
        return not is_installed(file)

    def _definition(self, value: Any) -> Any:
        """What a function or class consists of, with the globals that it uses, as they are now."""
        module = sys.modules.get(value.__module__ or "")
        name = [value.__module__, value.__qualname__] if file_of(module) is None else value.__qualname__
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
