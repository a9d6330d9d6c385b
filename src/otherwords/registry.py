"""Names instead of objects: `wordnet.v1(pos=noun)` finds a factory, binds its options and prints its signature.

A plug-in is a decorated factory that takes options and returns a function. Built-ins are found in this package, others
through entry points of the group `otherwords.<kind>`; either way a plug-in is one file, registered nowhere else.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
import typing
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeVar

from .errors import BadInput, UnknownName
from .storage.files import fingerprint

Factory = TypeVar("Factory", bound=Callable[..., Any])
_SPEC = re.compile(
    r"(?P<name>[A-Za-z][\w-]*(?:\.v\d+)?)(?::(?P<rest>.*?))?(?:\((?P<options>\s*|\s*\w+\s*=.*)\))?", re.S
)
_OPTION = re.compile(r"\s*(\w+)\s*=\s*")
_WORD = re.compile(r"[^,]*")
_NEXT = re.compile(r"\s*(?:,|$)")
_PLAIN = re.compile(r"[\w./:#+-]+")


@dataclass(frozen=True)
class Plugin:
    """A registered factory under its versioned name; `unsigned` options change the speed, never the result."""

    name: str
    version: int
    factory: Callable[..., Any]
    unsigned: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """Name and version, as signatures print it."""
        return f"{self.name}.v{self.version}"

    @property
    def summary(self) -> str:
        """The first line of the factory's docstring."""
        return (inspect.getdoc(self.factory) or "").partition("\n")[0]

    def options(self) -> dict[str, Any]:
        """Name every option with its default; an option that must be given has `...`."""
        parameters = inspect.signature(self.factory).parameters.values()
        return {p.name: ... if p.default is p.empty else p.default for p in parameters}

    def shown_options(self) -> str:
        """The options with their defaults, as a signature prints them; `task` is given by the run."""
        return ", ".join(
            name if default is ... else f"{name}={_print(default)}"
            for name, default in self.options().items()
            if name != "task"
        )


@dataclass(frozen=True)
class Bound:
    """A plug-in with its options bound: the function it made, the signature that explains it, a name of its own."""

    plugin: Plugin
    signature: str
    function: Any
    alias: str = ""

    @property
    def name(self) -> str:
        """What the user calls it; unless told, what it is called here."""
        return self.alias or self.plugin.name

    @property
    def title(self) -> str:
        """The signature, behind the name that the user gave it."""
        return f"{self.alias}={self.signature}" if self.alias else self.signature


class Registry:
    """All plug-ins of one kind. Calling it with a versioned name gives the decorator that registers a factory.

    Where they can be `named`, a spec may carry a name of its own: `grammar=human:verdicts.csv`.
    """

    def __init__(self, kind: str, package: str, *, named: bool = False):
        self.kind, self._package, self._named = kind, package, named
        self._plugins: dict[str, Plugin] = {}
        self._complete = False

    def __call__(self, name: str, *, unsigned: tuple[str, ...] = ()) -> Callable[[Factory], Factory]:
        """Register the decorated factory under `name`, which ends in `.v` and a number."""
        match = re.fullmatch(r"([A-Za-z][\w-]*)\.v(\d+)", name)
        if not match:
            raise BadInput(f"a {self.kind} plug-in is named like thing.v1, not {name!r}")

        def register(factory: Factory) -> Factory:
            known = self._plugins.get(name)
            if known and not _same(known.factory, factory):
                raise BadInput(
                    f"{self.kind}: {name} is registered twice",
                    fix="a changed method becomes the next version",
                )
            self._plugins[name] = Plugin(match[1], int(match[2]), factory, unsigned)
            return factory

        return register

    def __iter__(self) -> Iterator[Plugin]:
        self._discover()
        return iter(sorted(self._plugins.values(), key=lambda plugin: (plugin.name, plugin.version)))

    def get(self, name: str) -> Plugin:
        """Find a plug-in by its versioned name, or the newest version by its plain name."""
        found = [p for p in self if name in (p.full_name, p.name)]
        if not found:
            raise UnknownName(self._missed(name))
        return found[-1]

    def has(self, spec: str) -> bool:
        """Whether the part of `spec` before any options is a name registered here."""
        match = _SPEC.fullmatch(spec)
        return bool(match) and any(match["name"] in (p.full_name, p.name) for p in self)  # type: ignore[index]

    def make(self, spec: str, **defaults: Any) -> Bound:
        """Turn `name`, `name.v1(option=value, ...)` or `name:first-option` into a bound function.

        `defaults` fill options that the plug-in has and the spec does not give (a run's task); they are not signed.
        """
        alias, spec = _alias(spec) if self._named else ("", spec)
        plugin, given = self._read(spec)
        signed = _bind(plugin, given, spec)
        context = {name: defaults[name] for name in plugin.options() if name in defaults and name not in given}
        function = plugin.factory(**{**signed, **context})
        return Bound(plugin, _signature(plugin, signed, context, getattr(function, "identity", "")), function, alias)

    def respell(self, spec: str, **options: object) -> str:
        """Write a spec anew with some options set, or left out where they are None."""
        plugin, given = self._read(spec)
        set_now = {name: json.dumps(str(value), ensure_ascii=False) for name, value in options.items()}
        given = {name: value for name, value in (given | set_now).items() if options.get(name, "") is not None}
        return f"{plugin.full_name}({', '.join(f'{name}={value}' for name, value in given.items())})"

    def with_options(self, specs: Sequence[str], **options: object) -> list[str]:
        """Set options wherever a plug-in has them and its spec is silent; an option that none has is an error."""
        told = list(specs)
        for name, value in options.items():
            takers = [i for i, spec in enumerate(told) if name in self._read(spec)[0].options()]
            if not takers:
                with_it = [plugin.name for plugin in self if name in plugin.options()]
                raise BadInput(f"none of {', '.join(specs)} takes {name}", fix=f"{' and '.join(with_it)} would")
            for i in takers:
                if name not in self._read(told[i])[1]:
                    told[i] = self.respell(told[i], **{name: value})
        return told

    def takes(self, spec: str, option: str) -> bool:
        """Whether a spec names a plug-in with that option, and is silent about it."""
        if not self.has(spec):
            return False
        plugin, given = self._read(spec)
        return option in plugin.options() and option not in given

    def refuse_wrong(self, spec: str) -> None:
        """Complain of a name or an option that does not exist, without making anything."""
        plugin, given = self._read(spec)
        _bind(plugin, given, spec)

    def _missed(self, name: str) -> str:
        """What to say of a name that is not here: of which kind it is, what there is, and what is written alike."""
        names = ", ".join(plugin.full_name for plugin in self) or "none"
        for kind, registry in KINDS.items():
            if kind != self.kind and _holds(registry, name):
                told = f"{name} is one of the {kind}, not of the {self.kind} (otherwords list {kind})"
                return f"no {self.kind} named {name!r}: {told}; the {self.kind} are: {names}."
        near = _nearest(name.partition(".")[0], [plugin.name for plugin in self])
        hint = f" Did you mean {near}?" if near else ""
        return f"no {self.kind} named {name!r}; there are: {names}.{hint}"

    def _read(self, spec: str) -> tuple[Plugin, dict[str, str]]:
        match = _SPEC.fullmatch(spec.strip())
        if not match:
            raise BadInput(f"cannot read {spec!r}", fix="write name, name.v1(option=value) or name:path")
        plugin = self.get(match["name"])
        given = _parse_options(match["options"] or "", spec)
        parameters = list(plugin.options())
        if match["rest"] is not None:
            if not parameters or parameters[0] in given:
                raise BadInput(f"{plugin.full_name} takes nothing after the colon", where=spec)
            given[parameters[0]] = json.dumps(match["rest"])
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
                entry.load()
            except Exception as error:  # somebody else's code: the rest of the toolkit works without it
                message = f"{self.kind}: the plug-in {entry.name} = {entry.value} cannot be loaded"
                warnings.warn(f"{message}: {type(error).__name__}: {error}", stacklevel=2)


def split_name(spec: str) -> tuple[str, str]:
    """Take `name=spec` apart; without a name, the spec itself is one.

    >>> split_name("small=hf:org/model"), split_name("scripted(seed=1)")
    (('small', 'hf:org/model'), ('scripted(seed=1)', 'scripted(seed=1)'))
    """
    head, mark, tail = spec.partition("=")
    if mark and head.replace("-", "").replace("_", "").replace(".", "").isalnum():
        return head, tail
    return spec, spec


def _alias(spec: str) -> tuple[str, str]:
    name, rest = split_name(spec)
    return ("", spec) if name == spec else (name, rest)


def _holds(registry: Registry, name: str) -> bool:
    """Whether a name is registered there; where a kind cannot be imported (a bare GPU machine), it is not."""
    try:
        return any(name in (plugin.full_name, plugin.name) for plugin in registry)
    except ImportError:
        return False


def _nearest(name: str, names: Sequence[str]) -> str:
    """The one of `names` that was perhaps meant, or nothing.

    >>> _nearest("max_lenght", ["name", "max_length"]), _nearest("x", ["name"])
    ('max_length', '')
    """
    return next(iter(get_close_matches(name, names, n=1, cutoff=0.5)), "")


def _same(one: Callable[..., Any], other: Callable[..., Any]) -> bool:
    """Whether two factories are one, perhaps decorated twice."""
    return one is other or getattr(one, "__code__", one) is getattr(other, "__code__", other)


def _parse_options(text: str, spec: str) -> dict[str, str]:
    """Cut `pos=noun, k=3` into values as they are written: JSON from an opening mark to its end, else a word."""
    options: dict[str, str] = {}
    position = 0
    while position < len(text.rstrip()):
        name = _OPTION.match(text, position)
        end = _end_of_value(text, name.end()) if name else None
        following = None if end is None else _NEXT.match(text, end)
        if not name or not following:
            fix = 'write name=value, ...; a value with a comma in double quotes, lists as in ["a", "b"]'
            raise BadInput(f"cannot read the options from {text[position:]!r}", where=spec, fix=fix)
        if name[1] in options:
            raise BadInput(f"the option {name[1]} is given twice", where=spec)
        options[name[1]] = text[name.end() : end].rstrip()
        position = following.end()
    return options


def _end_of_value(text: str, start: int) -> int | None:
    if text[start : start + 1] not in ('"', "[", "{"):
        return _WORD.match(text, start).end()  # type: ignore[union-attr]  # an empty word is one too
    try:
        return json.JSONDecoder().raw_decode(text, start)[1]
    except json.JSONDecodeError:
        return None


def _bind(plugin: Plugin, given: dict[str, str], spec: str) -> dict[str, Any]:
    """Bind given options, as written, over defaults, each of the type that the factory's annotation asks for."""
    options = plugin.options()
    if strangers := [name for name in given if name not in options]:
        near = _nearest(strangers[0], list(options))
        told = f"{plugin.full_name} has no option {', '.join(strangers)}; it has {', '.join(options) or 'none'}"
        raise UnknownName(f"{told}; did you mean {near}?" if near else told)
    if missing := [name for name, value in options.items() if value is ... and name not in given]:
        raise BadInput(
            f"{plugin.full_name} needs {', '.join(missing)}",
            where=spec,
            fix=f"write {plugin.name}({missing[0]}=...)",
        )
    hints = typing.get_type_hints(plugin.factory)
    read = {name: _read(text, hints.get(name), f"{spec}: {name}") for name, text in given.items()}
    return {name: read.get(name, default) for name, default in options.items()}


def _read(text: str, wanted: Any, where: str) -> Any:
    """Read a value: a word is text where text is wanted (`revision=1.10`), else JSON where it looks like it."""
    value = text if wanted in (str, Path) and not text.startswith('"') else _decoded(text)
    if wanted is float and type(value) is int:
        return float(value)
    if wanted is Path:
        # A folder is signed by its own name, and "." and ".." have none.
        return Path(value).resolve() if value and Path(value).name in ("", "..") else Path(value)
    if wanted in (str, int, float, bool) and type(value) is not wanted:
        kind = "true or false" if wanted is bool else wanted.__name__
        raise BadInput(f"found {value!r}", where=where, fix=f"give {kind}")
    return value


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _signature(plugin: Plugin, signed: dict[str, Any], context: dict[str, Any], identity: str) -> str:
    """Print name, version and every bound option; files by name and content, so that their place does not matter."""
    parts = [
        f"{name}={_print(value)}"
        for name, value in signed.items()
        if name not in plugin.unsigned and name not in context
    ]
    return f"{plugin.full_name}({', '.join(parts)})" + (f"#{identity}" if identity else "")


def _print(value: Any) -> str:
    if isinstance(value, Path):
        if value == Path():  # the default of an option that is not given
            return ""
        return f"{value.name}#{fingerprint(value)[:12]}" if value.exists() else value.name
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if _PLAIN.fullmatch(text) or not isinstance(value, str) else json.dumps(text)


datasets = Registry("datasets", "otherwords.datasets")
generators = Registry("generators", "otherwords.variants")
checks = Registry("checks", "otherwords.validity", named=True)
masked_lms = Registry("masked_lms", "otherwords.language_models")
writers = Registry("writers", "otherwords.language_models")
encoders = Registry("encoders", "otherwords.language_models")
models = Registry("models", "otherwords.models")
metrics = Registry("metrics", "otherwords.metrics")
papers = Registry("papers", "otherwords.papers")
KINDS = {
    registry.kind: registry
    for registry in (datasets, generators, checks, masked_lms, writers, encoders, models, metrics, papers)
}
