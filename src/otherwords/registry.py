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
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, TypeVar

from .errors import BadInput, OtherwordsError, UnknownName, WrongAnswer
from .storage.files import fingerprint
from .storage.user_code import guard, guarded, load_file, sign_declared, sign_files, sign_plugin, source_of, sources

Factory = TypeVar("Factory", bound=Callable[..., Any])
#: A spec with which a plug-in can be tried, or a function that writes a sample into a folder and returns the spec.
Example = str | Callable[[Path], str]
_SPEC = re.compile(
    r"(?P<name>[A-Za-z][\w-]*(?:\.v\d+)?)(?::(?P<rest>.*?))?(?:\((?P<options>\s*|\s*\w+\s*=.*)\))?", re.S
)
_SIGNATURE = re.compile(
    r"(?:(?P<alias>[\w.-]+)=)?(?P<name>[A-Za-z][\w-]*)\.v(?P<version>\d+)\((?P<options>.*)\)(?:#(?P<identity>.*))?",
    re.S,
)
_OPTION = re.compile(r"\s*(\w+)\s*=\s*")
_WORD = re.compile(r"[^,]*")
#: A value in single quotes, to the last one before the next option; an apostrophe within is no end.
_QUOTED = re.compile(r"'(.*?)'(?=\s*(?:,\s*\w+\s*=|,?\s*$))", re.S)
_NEXT = re.compile(r"\s*(?:,|$)")
#: Stands for code that cannot be signed: what it made is not used again by another process.
_UNSIGNED = f"unsigned-{uuid.uuid4().hex[:12]}"
#: The content of every file that was loaded for its plug-ins.
_plugin_files: dict[Path, str] = {}
#: What a plug-in's function works on: no option of its factory is called so.
_WORKED_ON = frozenset({"text", "problem", "problems", "buckets", "batch", "answers"})
_PLAIN = re.compile(r"[\w./:#+-]+")


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
        parameters = inspect.signature(self.factory).parameters.values()
        return {p.name: ... if p.default is p.empty else p.default for p in parameters}

    def shown_options(self) -> str:
        """The options with their defaults, as a signature prints them; `task` is given by the run."""
        return ", ".join(
            name if default is ... else f"{name}={_spell(default)}"
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
        match = _SPEC.fullmatch(self._split(spec)[1])
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
        given |= {name: json.dumps(str(value), ensure_ascii=False) for name, value in options.items()}
        kept = {name: value for name, value in given.items() if options.get(name, "") is not None}
        respelled = f"{plugin.full_name}({', '.join(f'{name}={value}' for name, value in kept.items())})"
        return f"{alias}={respelled}" if alias else respelled

    def with_options(self, specs: Sequence[str], **options: object) -> list[str]:
        """Set options wherever a plug-in has them and its spec does not; an option that none has is an error."""
        respelled = list(specs)
        for name, value in options.items():
            if not any(name in self._read(spec)[0].options() for spec in specs):
                takers = [plugin.name for plugin in self if name in plugin.options()]
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

    def refuse_wrong(self, spec: str) -> None:
        """Refuse a name or an option that does not exist, without making anything."""
        plugin, given = self._read(spec)
        _bind(plugin, given, spec)

    def _split(self, spec: str) -> tuple[str, str]:
        """The user's name for a plug-in, empty where there is none, and the spec without it."""
        name, rest = split_name(spec) if self._named else (spec, spec)
        return "" if name == spec else name, rest

    def _lacks(self, spec: str, option: str) -> bool:
        plugin, given = self._read(spec)
        return option in plugin.options() and option not in given

    def _named_so(self, name: str) -> list[Plugin]:
        """All versions that a name stands for, the newest last."""
        return [plugin for plugin in self if name in (plugin.full_name, plugin.name)]

    def _unknown(self, name: str) -> str:
        """The message about an unknown name: another kind that has it, the existing names, and similar ones."""
        names = ", ".join(plugin.full_name for plugin in self) or "none"
        for kind, registry in KINDS.items():
            if kind != self.kind and registry._is_known(name):
                hint = f"{name} is one of the {kind}, not of the {self.kind} (otherwords list {kind})"
                return f"no {self.kind} named {name!r}: {hint}; the {self.kind} are: {names}."
        near = nearest(name.partition(".")[0], [plugin.name for plugin in self])
        hint = f"did you mean {near}? There" if near else "there"
        elsewhere = "" if near else " If it is registered in a notebook or a file: --plugin FILE.py (plugins=[...])."
        return f"no {self.kind} named {name!r}; {hint} are: {names}.{elsewhere}"

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
        match = _SPEC.fullmatch(self._split(spec)[1].strip())
        if not match:
            raise BadInput(f"cannot read {spec!r}", fix=self._meant(spec))
        plugin = self.get(match["name"])
        given = _parse_options(match["options"] or "", spec)
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


def split_name(spec: str) -> tuple[str, str]:
    """Split `name=spec`; without a name, the spec itself is the name.

    >>> split_name("small=hf:org/model"), split_name("scripted(seed=1)")
    (('small', 'hf:org/model'), ('scripted(seed=1)', 'scripted(seed=1)'))
    """
    name, mark, rest = spec.partition("=")
    return (name, rest) if mark and re.sub("[-_.]", "", name).isalnum() else (spec, spec)


def short_names(titles: Sequence[str]) -> dict[str, str]:
    """What tables call plug-ins: the user's name, else the plug-in's, with the options in which namesakes differ.

    A `python` plug-in is called by its function. A text that is no signature stays as it is.

    >>> list(short_names(["syn=a.v1(n=3)", "a.v1(n=1, pos=noun)", "a.v1(n=2, pos=noun)", "b.v2()", "by hand"]).values())
    ['syn', 'a (n=1)', 'a (n=2)', 'b', 'by hand']
    """
    read = {title: match for title in titles if (match := _SIGNATURE.fullmatch(title))}
    short = {title: _plain_name(read[title]) if title in read else title for title in titles}
    namesakes: dict[str, dict[str, dict[str, str]]] = {}
    for title, match in read.items():
        if not match["alias"]:
            namesakes.setdefault(short[title], {})[title] = _parts(match)
    for some in namesakes.values():
        keys = dict.fromkeys(key for parts in some.values() for key in parts)
        differing = [key for key in keys if len({parts.get(key) for parts in some.values()}) > 1]
        for title, parts in some.items() if differing else ():
            short[title] += f" ({', '.join(key + parts[key] for key in differing if key in parts)})"
    shared = {name for name, count in Counter(short.values()).items() if count > 1}
    return {title: title if name in shared else name for title, name in short.items()}


def _plain_name(signature: re.Match[str]) -> str:
    """The user's name for a plug-in, the function of a `python` plug-in (`#mine.py:reword@...`), or its own name."""
    function = re.search(r":(\w+)@", signature["identity"] or "") if signature["name"] == "python" else None
    return signature["alias"] or (function[1] if function else signature["name"])


def _parts(signature: re.Match[str]) -> dict[str, str]:
    """The version, the options and the identity of a signature: what may tell it from a namesake."""
    try:
        options = _parse_options(signature["options"], signature[0])
    except BadInput:  # a file's name may hold commas
        options = {"": signature["options"]}
    named = {f"{name}=" if name else "": value for name, value in options.items()}
    return {".v": signature["version"], **named, "#": (signature["identity"] or "")[:8]}


def nearest(name: str, names: Sequence[str]) -> str:
    """The most similar of `names`, or nothing.

    >>> nearest("max_lenght", ["name", "max_length"]), nearest("x", ["name"])
    ('max_length', '')
    """
    return next(iter(get_close_matches(name, names, n=1, cutoff=0.5)), "")


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


# Options: from a spec's text to values of the type that the factory's annotation asks for, and back into a signature


def _parse_options(text: str, spec: str) -> dict[str, str]:
    """Cut `pos=noun, k=3` into values as they are written: JSON from an opening mark to its end, else a word."""
    options: dict[str, str] = {}
    position = 0
    while position < len(text.rstrip()):
        name = _OPTION.match(text, position)
        quoted = _QUOTED.match(text, name.end()) if name else None
        end = quoted.end() if quoted else _end_of_value(text, name.end()) if name else None
        following = None if end is None else _NEXT.match(text, end)
        if not name or not following:
            fix = 'write name=value, ...; a value with a comma in quotes, lists as in ["a", "b"]'
            raise BadInput(f"cannot read the options from {text[position:]!r}", where=spec, fix=fix)
        if name[1] in options:
            raise BadInput(f"the option {name[1]} is given twice", where=spec)
        options[name[1]] = json.dumps(quoted[1]) if quoted else text[name.end() : end].rstrip()
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
    values = {name: _read_value(text, hints.get(name), f"{spec}: {name}") for name, text in given.items()}
    return options | values


def _read_value(text: str, wanted: Any, where: str) -> Any:
    """Read a value: a word is text where text is wanted (`revision=1.10`), else JSON where it looks like it."""
    value = text if wanted in (str, Path) and not text.startswith('"') else _decode(text)
    if wanted is float and type(value) is int:
        return float(value)
    if wanted is Path:
        # A folder is signed by its own name, and "." and ".." have none.
        return Path(value).resolve() if value and Path(value).name in ("", "..") else Path(value)
    if wanted in (str, int, float, bool) and type(value) is not wanted:
        kind = "true or false" if wanted is bool else wanted.__name__
        raise BadInput(f"found {value!r}", where=where, fix=f"give {kind}")
    return value


def _decode(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


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
    parts = ", ".join(f"{name}={_spell(value)}" for name, value in signed.items())
    return f"{plugin.full_name}({parts})" + (f"#{identity}" if identity else "")


def _spell(value: Any) -> str:
    """A value as signatures have it; a file by its name and content, so that its folder does not matter."""
    if isinstance(value, Path):
        if value == Path():  # the default of an option that is not given
            return ""
        return f"{value.name}#{fingerprint(value)[:12]}" if value.exists() else value.name
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if _PLAIN.fullmatch(text) or not isinstance(value, str) else json.dumps(text)


datasets = Registry("datasets", "otherwords.datasets")
generators = Registry("generators", "otherwords.variants", named=True)
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
