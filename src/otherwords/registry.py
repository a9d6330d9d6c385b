"""Names instead of objects: `wordnet.v1(pos=noun)` finds a factory, binds its options and prints its signature.

A plug-in is a decorated factory that takes options and returns a function. Built-in plug-ins are found in this package,
others through entry points of the group `otherwords.<kind>`; either way a plug-in is one file, registered nowhere else.
"""

import importlib
import inspect
import json
import pkgutil
import re
import typing
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, TypeVar

from .errors import BadInput, OtherwordsError, UnknownName, WrongAnswer
from .storage.signing import sign_declared, sign_files, sign_plugin, source_of, sources
from .storage.specs import SPEC, nearest, parse_options, read_value, spell, split_name
from .storage.user_code import HERE, guard, guarded, load_file, load_target

Factory = TypeVar("Factory", bound=Callable[..., Any])
#: A spec with which a plug-in can be tried, or a function that writes a sample into a folder and returns the spec.
Example = str | Callable[[Path], str]
#: Stands for code that cannot be signed: what it made is not used again by another process.
_UNSIGNED = f"unsigned-{uuid.uuid4().hex[:12]}"
#: The content of every file that was loaded for its plug-ins.
_plugin_files: dict[Path, str] = {}
#: What a plug-in's function works on: no option of its factory is called so.
_WORKED_ON = frozenset({"text", "problem", "problems", "buckets", "batch", "answers"})


@dataclass(frozen=True)
class Plugin:
    """A registered factory under its versioned name.

    `unsigned` options change the speed, never the result, or are signed by the function's `identity`. `example` is
    what the contract tests make the plug-in with; without one they use its defaults. `language` is the only one that it
    supports ("en"), `extra` the optional part that it needs, `measured` how sound its variants were found, and where.
    `distribution` is the name and version of the package that announces it by an entry point.
    """

    name: str
    version: int
    factory: Callable[..., Any]
    unsigned: tuple[str, ...] = ()
    example: Example = ""
    language: str = ""
    extra: str = ""
    measured: str = ""
    distribution: str = ""

    @property
    def source(self) -> str:
        """Where it comes from, if not from this package: the path of its file, or the name of its module."""
        module = self.factory.__module__ or ""
        return "" if f"{module}.".startswith("otherwords.") else str(source_of(self.factory) or module)

    @property
    def full_name(self) -> str:
        """Name and version, as signatures print it."""
        return f"{self.name}.v{self.version}"

    @property
    def summary(self) -> str:
        """The first line of the factory's docstring."""
        return (inspect.getdoc(self.factory) or "").partition("\n")[0]

    def options(self) -> dict[str, Any]:
        """Every option with its default; a required option has `...`."""
        return dict(self._defaults)

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        """Read once: a run asks dozens of times."""
        parameters = inspect.signature(self.factory).parameters.values()
        return {p.name: ... if p.default is p.empty else p.default for p in parameters}

    def shown_options(self) -> str:
        """The options with their defaults, as a signature prints them; `task` is given by the run."""
        return ", ".join(
            name if default is ... else f"{name}={spell(default)}"
            for name, default in self.options().items()
            if name != "task"
        )

    def example_spec(self, folder: Path) -> str:
        """A spec that makes this plug-in, with its sample, if it has one, in `folder`."""
        if callable(self.example):
            return self.example(folder)
        if not self.example and (missing := [name for name, value in self.options().items() if value is ...]):
            fix = f'declare one after the name: ("{self.full_name}", example="{self.name}({missing[0]}=...)"), or a '
            fix += "function that writes a sample into the folder it is given and returns the spec"
            raise BadInput(f"needs {', '.join(missing)} and declares no example", where=self.full_name, fix=fix)
        return self.example or self.full_name


@dataclass(frozen=True)
class Bound:
    """A plug-in with its options bound: what the factory returned, the signature, and the user's name for it."""

    plugin: Plugin
    signature: str
    function: Any
    alias: str = ""

    @property
    def name(self) -> str:
        """The user's name for it, else the plug-in's."""
        return self.alias or self.plugin.name

    @property
    def title(self) -> str:
        """The signature, after the user's name if there is one."""
        return f"{self.alias}={self.signature}" if self.alias else self.signature


class Registry:
    """All plug-ins of one kind. Calling it with a versioned name gives the decorator that registers a factory.

    Where plug-ins can be `named`, a spec may start with a name of the user's: `grammar=human:verdicts.csv`.
    """

    def __init__(self, kind: str, package: str, *, named: bool = False):
        self.kind, self._package, self._named = kind, package, named
        self._plugins: dict[str, Plugin] = {}
        self._complete = False

    def __call__(
        self,
        name: str,
        *,
        unsigned: tuple[str, ...] = (),
        example: Example = "",
        language: str = "",
        extra: str = "",
        measured: str = "",
    ) -> Callable[[Factory], Factory]:
        """Register the decorated factory under `name`, which ends in `.v` and a number."""
        match = re.fullmatch(r"([A-Za-z][\w-]*)\.v(\d+)", name)
        if not match:
            raise BadInput(f"invalid plug-in name {name!r} ({self.kind}): use a form like thing.v1")

        def register(factory: Factory) -> Factory:
            plugin = Plugin(match[1], int(match[2]), factory, unsigned, example, language, extra, measured)
            if plugin.source:
                self._discover()  # first, so that what claims a name of ours is refused, not ours
            known = self._plugins.get(name)
            if known and not _replaces(plugin, known):
                fix = "give a changed method the next version number"
                places = dict.fromkeys(Path(one.source).name or "otherwords" for one in (known, plugin))
                raise BadInput(f"{self.kind}: {name} is registered twice, in {' and in '.join(places)}", fix=fix)
            self._plugins[name] = plugin
            return factory

        return register

    def __reduce__(self) -> str:
        """Its name in this module: code that uses it is not other code when there are more plug-ins."""
        return self.kind

    def __iter__(self) -> Iterator[Plugin]:
        self._discover()
        return iter(sorted(self._plugins.values(), key=lambda plugin: (plugin.name, plugin.version)))

    def get(self, name: str) -> Plugin:
        """Find a plug-in by its versioned name, or the newest version by its plain name."""
        versions = self._named_so(name)
        if not versions:
            raise UnknownName(self._unknown(name))
        return versions[-1]

    def has(self, spec: str) -> bool:
        """Whether the part of `spec` before any options is a name registered here."""
        match = SPEC.fullmatch(self._split(spec)[1])
        return match is not None and bool(self._named_so(match["name"]))

    def make(self, spec: str, **defaults: Any) -> Bound:
        """Turn `name`, `name.v1(option=value, ...)` or `name:first-option` into a bound function.

        `defaults` fill options that the plug-in has and the spec does not give (a run's task); they are not signed.
        """
        alias, rest = self._split(spec)
        plugin, given = self._read(spec)
        options = _bind(plugin, given, rest)
        context = {name: defaults[name] for name in options if name in defaults and name not in given}
        if not plugin.source:
            function = plugin.factory(**{**options, **context})
            identity = getattr(function, "identity", "")
        else:
            with guarded(plugin.full_name):
                function = plugin.factory(**{**options, **context})
            identity = _identity(plugin, function)
            function = guard(function, plugin.full_name, WrongAnswer if self.kind == "models" else BadInput)
        signed = {name: value for name, value in options.items() if name not in {*plugin.unsigned, *context}}
        signature = _sign(plugin, signed, identity)
        return Bound(plugin, signature, function, alias)

    def respell(self, spec: str, **options: object) -> str:
        """Rewrite a spec with some options set, or left out where they are None."""
        alias, (plugin, given) = self._split(spec)[0], self._read(spec)
        plain = {k: v if isinstance(v, bool | int | float | list | dict) else str(v) for k, v in options.items()}
        given |= {name: json.dumps(value, ensure_ascii=False) for name, value in plain.items()}
        kept = {name: value for name, value in given.items() if options.get(name, "") is not None}
        respelled = f"{plugin.full_name}({', '.join(f'{name}={value}' for name, value in kept.items())})"
        return f"{alias}={respelled}" if alias else respelled

    def with_options(self, specs: Sequence[str], **options: object) -> list[str]:
        """Set options wherever a plug-in has them and its spec does not; an option that none has is an error."""
        respelled = list(specs)
        for name, value in options.items():
            if not any(name in self._read(spec)[0].options() for spec in specs):
                takers = dict.fromkeys(plugin.name for plugin in self if name in plugin.options())
                raise BadInput(f"{name} is not an option of {', '.join(specs)}", fix=f"use {' or '.join(takers)}")
            respelled = [self.respell(one, **{name: value}) if self._lacks(one, name) else one for one in respelled]
        return respelled

    def language(self, spec: str) -> str:
        """The only language that the plug-in of a spec supports; "" for any."""
        return self._read(spec)[0].language if self.has(spec) else ""

    def takes(self, spec: str, option: str) -> bool:
        """Whether a spec names a plug-in with that option, and does not set it."""
        return self.has(spec) and self._lacks(spec, option)

    def files(self, spec: str) -> list[Path]:
        """The files and folders that a spec names in its options; none where it cannot be read."""
        try:
            plugin, given = self._read(split_name(spec)[1])
            return [one for one in _bind(plugin, given, spec).values() if isinstance(one, Path) and one != Path()]
        except OtherwordsError:
            return []

    def try_import(self, spec: str) -> None:
        """Import what a spec names, without making anything: raise where it is not there, or its module fails."""
        plugin, given = self._read(split_name(spec)[1])
        if target := _bind(plugin, given, spec).get("target") if plugin.name == "python" else "":
            load_target(target, spec)

    def read(self, spec: str) -> tuple[Plugin, dict[str, Any]]:
        """The plug-in that a spec names, and all its options, without making anything. What is not there raises."""
        plugin, given = self._read(spec)
        return plugin, _bind(plugin, given, spec)

    def _split(self, spec: str) -> tuple[str, str]:
        """The user's name for a plug-in, empty where there is none, and the spec without it."""
        name, rest = split_name(spec) if self._named else (spec, spec)
        return "" if name == spec else name, rest

    def _lacks(self, spec: str, option: str) -> bool:
        plugin, given = self._read(spec)
        return option in plugin.options() and option not in given

    def _named_so(self, name: str) -> list[Plugin]:
        """All versions that a name stands for, the newest last."""
        self._discover()
        plain = name.partition(".")[0]
        named = [plugin for plugin in self._plugins.values() if plugin.name == plain]
        versions = [plugin for plugin in named if name in (plain, plugin.full_name)]
        return sorted(versions, key=lambda plugin: plugin.version)

    def _unknown(self, name: str) -> str:
        """The message about an unknown name: another kind that has it, the existing names, and similar ones."""
        names = ", ".join(plugin.full_name for plugin in self) or "none"
        for kind, registry in KINDS.items():
            if kind != self.kind and registry._is_known(name):
                hint = f"{name} is one of the {kind}, not of the {self.kind} (otherwords list {kind})"
                return f"no {self.kind} named {name!r}: {hint}; the {self.kind} are: {names}."
        near = nearest(name.partition(".")[0], [plugin.name for plugin in self])
        hint = f"did you mean {near}? Available" if near else "available"
        elsewhere = "" if near else " If it is registered in a notebook or a file: --plugin FILE.py (plugins=[...])."
        return f"no {self.kind} named {name!r}; {hint}: {names}.{elsewhere}"

    def _is_known(self, name: str) -> bool:
        """Whether a name is registered here; not where the kind cannot be imported (a bare GPU machine)."""
        try:
            return bool(self._named_so(name))
        except ImportError:
            return False

    def _meant(self, spec: str) -> str:
        """How to write a spec that cannot be read."""
        name, rest = self._split(spec)
        file, ending, function = rest.partition(".py")
        if ending and function[:1] in ("", ":") and self._is_known("python"):
            start = f"{name}=" if name else ""
            return f"a function in a file is {start}python:{file}.py:{function[1:] or 'FUNCTION'}"
        return "write name, name.v1(option=value) or name:path"

    def _read(self, spec: str) -> tuple[Plugin, dict[str, str]]:
        """The plug-in that a spec names, and the options it gives, as they are written."""
        match = SPEC.fullmatch(self._split(spec)[1].strip())
        if not match:
            raise BadInput(f"cannot read {spec!r}", fix=self._meant(spec))
        plugin = self.get(match["name"])
        given = parse_options(match["options"] or "", spec)
        if match["rest"] is not None:
            first = next(iter(plugin.options()), None)
            if first is None or first in given:
                raise BadInput(f"{plugin.full_name} accepts no path after a colon", where=spec)
            given[first] = json.dumps(match["rest"])
        return plugin, given

    def _discover(self) -> None:
        if self._complete:
            return
        package = importlib.import_module(self._package)
        for module in pkgutil.iter_modules(package.__path__, self._package + "."):
            importlib.import_module(module.name)
        self._complete = True
        for entry in entry_points(group=f"otherwords.{self.kind}"):
            try:
                with guarded(entry.value):
                    entry.load()
            except OtherwordsError as error:  # somebody else's code: the rest of the toolkit works without it
                message = f"{self.kind}: the plug-in {entry.name} = {entry.value} cannot be loaded"
                warnings.warn(f"{message}: {error}", stacklevel=2)
            self._attribute(entry)

    def _attribute(self, entry: EntryPoint) -> None:
        """Note the name and version of the distribution that an entry point belongs to with its plug-ins."""
        if entry.dist is None:
            return
        package, distribution = entry.module.partition(".")[0], f"{entry.dist.name}-{entry.dist.version}"
        for name, plugin in self._plugins.items():
            if (plugin.factory.__module__ or "").partition(".")[0] == package:
                self._plugins[name] = replace(plugin, distribution=distribution)

    def forget(self, source: str) -> None:
        """Leave out the plug-ins that come from a file, before it is loaded again."""
        self._plugins = {name: plugin for name, plugin in self._plugins.items() if plugin.source != source}


def _replaces(new: Plugin, known: Plugin) -> bool:
    """Whether a factory is a known one, or its new version: of the same file and name, or of the same notebook."""
    one, other = new.factory, known.factory
    if one is other or getattr(one, "__code__", one) is getattr(other, "__code__", other):
        return True
    same = bool(new.source) and new.source == known.source
    return same and (one.__module__ == "__main__" or one.__qualname__ == other.__qualname__)


def load_plugins(files: Sequence[str]) -> None:
    """Load files whose decorators register plug-ins, as they are now; what they registered before is replaced."""
    for file in files:
        path = Path(file).expanduser().resolve()
        content = sign_files(sources(path)) if path.is_file() else ""
        if content and _plugin_files.get(path) == content:
            continue
        before = {kind: dict(registry._plugins) for kind, registry in KINDS.items()}
        for registry in KINDS.values():
            registry.forget(str(path))
        try:
            load_file(Path(file), file)
        except BaseException:
            for kind, registry in KINDS.items():
                registry._plugins = before[kind]
            raise
        if not any(plugin.source == str(path) for registry in KINDS.values() for plugin in registry._plugins.values()):
            fix = "decorate a factory in it, as in @generators('mine.v1'), or name its function: python:FILE:function"
            raise BadInput("registers no plug-in", where=file, fix=fix)
        _plugin_files[path] = content


def plugin_files() -> list[str]:
    """The files of plug-ins that this process has loaded, if they are still there."""
    return [str(path) for path in _plugin_files if path.is_file()]


def is_local(kind: str, spec: str) -> bool:
    """Whether a spec names what this process alone has: a function given here, standard input, a plug-in of no file."""
    if HERE in spec or any(str(file) == "-" for file in KINDS[kind].files(spec)):
        return True
    plugin, _ = KINDS[kind]._read(split_name(spec)[1])
    return bool(plugin.source) and not plugin.distribution and Path(plugin.source) not in _plugin_files


def _bind(plugin: Plugin, given: dict[str, str], spec: str) -> dict[str, Any]:
    """All options: those that are given, read by the factory's annotations, and the defaults of the others."""
    options = plugin.options()
    if unknown := [name for name in given if name not in options]:
        message = f"{plugin.full_name} has no option {', '.join(unknown)}; it has {', '.join(options) or 'none'}"
        near = nearest(unknown[0], list(options))
        raise UnknownName(f"{message}; did you mean {near}?" if near else message)
    if missing := [name for name, value in options.items() if value is ... and name not in given]:
        fix = f"write {plugin.name}({missing[0]}=...)"
        if plugin.source and missing[0] in _WORKED_ON:
            fix = f"decorate a factory: a function of options, or of none, that returns the function of {missing[0]}"
        raise BadInput(f"{plugin.full_name} needs {', '.join(missing)}", where=spec, fix=fix)
    hints = typing.get_type_hints(plugin.factory)
    values = {name: read_value(text, hints.get(name), f"{spec}: {name}") for name, text in given.items()}
    return options | values


def _identity(plugin: Plugin, function: Any) -> str:
    """What decides the results of an outsider's plug-in besides its options: its distribution, source, and files."""
    folder = source_of(plugin.factory)
    try:
        content = sign_plugin(plugin.factory)
    except (TypeError, ValueError, RecursionError):
        content = _UNSIGNED
    declared = sign_declared(function, folder and folder.parent, plugin.full_name)
    parts = (plugin.distribution, content, declared, getattr(function, "identity", ""))
    return "+".join(str(part) for part in parts if part)


def _sign(plugin: Plugin, signed: dict[str, Any], identity: str) -> str:
    parts = ", ".join(f"{name}={spell(value)}" for name, value in signed.items())
    return f"{plugin.full_name}({parts})" + (f"#{identity}" if identity else "")


datasets = Registry("datasets", "otherwords.datasets")
generators = Registry("generators", "otherwords.variants", named=True)
checks = Registry("checks", "otherwords.validity", named=True)
masked_lms = Registry("masked_lms", "otherwords.language_models")
writers = Registry("writers", "otherwords.language_models")
encoders = Registry("encoders", "otherwords.language_models")
models = Registry("models", "otherwords.models")
trainers = Registry("trainers", "otherwords.training")
metrics = Registry("metrics", "otherwords.metrics")
papers = Registry("papers", "otherwords.papers")
KINDS = {
    registry.kind: registry
    for registry in (datasets, generators, checks, masked_lms, writers, encoders, models, trainers, metrics, papers)
}
