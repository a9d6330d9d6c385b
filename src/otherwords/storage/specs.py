"""Specs as text: `name=plugin.v1(option=value)` cut into its parts, values read and spelled, short names for tables.

And settings as TOML.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ..errors import BadInput
from .files import fingerprint

SPEC = re.compile(r"(?P<name>[A-Za-z][\w-]*(?:\.v\d+)?)(?::(?P<rest>.*?))?(?:\((?P<options>\s*|\s*\w+\s*=.*)\))?", re.S)
_SIGNATURE = re.compile(
    r"(?:(?P<alias>[\w.-]+)=)?(?P<name>[A-Za-z][\w-]*)\.v(?P<version>\d+)\((?P<options>.*)\)(?:#(?P<identity>.*))?",
    re.S,
)
_OPTION = re.compile(r"\s*(\w+)\s*=\s*")
_WORD = re.compile(r"[^,]*")
#: A value in single quotes, to the last one before the next option; an apostrophe within is no end.
_QUOTED = re.compile(r"'(.*?)'(?=\s*(?:,\s*\w+\s*=|,?\s*$))", re.S)
_NEXT = re.compile(r"\s*(?:,|$)")
#: Numbers as people and papers write them, which are none in JSON: .1 and 1.
_POINT_FIRST_OR_LAST = re.compile(r"[+-]?(?:\d+\.|\.\d+)(?:[eE][+-]?\d+)?")
#: How an error names the values that a type allows.
_KINDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
_PLAIN = re.compile(r"[\w./:#+-]+")


def split_name(spec: str) -> tuple[str, str]:
    """Split `name=spec`; without a name, the spec itself is the name.

    What comes before an @ in a name, as in `model@template`, may be anything that could be a spec without options.

    >>> split_name("small=hf:org/model"), split_name("scripted(seed=1)")
    (('small', 'hf:org/model'), ('scripted(seed=1)', 'scripted(seed=1)'))
    >>> split_name("api:org/model@letters=api.v1(model=org/model)")
    ('api:org/model@letters', 'api.v1(model=org/model)')
    """
    name, mark, rest = spec.partition("=")
    base, _, last = name.rpartition("@")
    named = all(re.sub("[-_.]", "", one).isalnum() for one in ((last,) if base and "(" not in base else (name,)))
    return (name, rest) if mark and named else (spec, spec)


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
        options = parse_options(signature["options"], signature[0])
    except BadInput:  # a file's name may hold commas
        options = {"": signature["options"]}
    named = {f"{name}=" if name else "": value for name, value in options.items()}
    return {".v": signature["version"], **named, "#": (signature["identity"] or "")[:8]}


def split_signature(signature: str) -> tuple[str, dict[str, str]]:
    """The plug-in of a signature, and its options as they are written; a text that is no signature has none.

    >>> split_signature("boosted.v1(rounds=26, subsample=1.0)"), split_signature("by hand")
    (('boosted.v1', {'rounds': '26', 'subsample': '1.0'}), ('by hand', {}))
    """
    found = _SIGNATURE.fullmatch(signature)
    if not found:
        return signature, {}
    options = {name.removesuffix("="): value for name, value in _parts(found).items() if name.endswith("=")}
    return f"{found['name']}.v{found['version']}", options


def nearest(name: str, names: Sequence[str]) -> str:
    """The most similar of `names`; of those that begin with it as a word, also in the plural, three; or nothing.

    >>> nearest("max_lenght", ["name", "max_length"]), nearest("x", ["name"])
    ('max_length', '')
    >>> nearest("flips", ["p_c", "flip_rate", "flip_worst"])
    'flip_rate, flip_worst'
    """
    begin = [one for one in dict.fromkeys(names) if re.split("[_-]", one)[0] in (name, name.removesuffix("s"))]
    similar = get_close_matches(name, begin or names, n=3 if begin else 1, cutoff=0.0 if begin else 0.5)
    return ", ".join(sorted(similar, key=len))


def parse_options(text: str, spec: str) -> dict[str, str]:
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


def read_value(text: str, wanted: Any, where: str) -> Any:
    """Read a value: a word is text where text is wanted (`revision=1.10`), else JSON where it looks like it."""
    value = text if wanted in (str, Path) and not text.startswith('"') else decode(text)
    if wanted is float and type(value) is int:
        return float(value)
    if wanted is Path:
        # A folder is signed by its own name, and "." and ".." have none.
        return Path(value).resolve() if value and Path(value).name in ("", "..") else Path(value)
    if wanted in _KINDS and type(value) is not wanted:
        raise BadInput(f"found {value!r}", where=where, fix=f"give {_KINDS[wanted]}")
    return value


def decode(text: str) -> Any:
    """What JSON makes of a word; a number may begin or end with its point; all else is text.

    >>> decode("0.5"), decode(".5"), decode("-1."), decode("true"), decode("v1.5")
    (0.5, 0.5, -1.0, True, 'v1.5')
    """
    try:
        return json.loads(text)
    except ValueError:
        return float(text) if _POINT_FIRST_OR_LAST.fullmatch(text) else text


def spell(value: Any) -> str:
    """A value as signatures have it; a file by its name and content, so that its folder does not matter."""
    if isinstance(value, Path):
        if value == Path():  # the default of an option that is not given
            return ""
        return f"{value.name}#{fingerprint(value)[:12]}" if value.exists() else value.name
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if _PLAIN.fullmatch(text) or not isinstance(value, str) else json.dumps(text)


def head_of(signature: str) -> str:
    """The plug-in at the beginning of a longer signature, with its options and identity.

    >>> head_of("pa.v1(at=0.9) interval=wilson(confidence=0.95) seed=1")
    'pa.v1(at=0.9)'
    """
    start = re.match(r"[\w.-]*", signature).end()  # type: ignore[union-attr]
    end = closing(signature, start)
    return signature[:end] + re.match(r"(?:#\S*)?", signature[end:])[0]  # type: ignore[index]


def closing(text: str, start: int) -> int:
    """Where a parenthesis that opens at `start` ends; `start` itself where none does.

    >>> closing('a(b=")", c=1) x', 1)
    13
    """
    depth = 0
    for place, mark in _outside_quotes(text, start) if text[start : start + 1] == "(" else ():
        depth += {"(": 1, ")": -1}.get(mark, 0)
        if not depth:
            return place + 1
    return start


def split_outside(text: str) -> list[str]:
    """Cut at the commas that are neither in quotes nor in brackets.

    >>> split_outside('a(b=1, c=2), "d, e", f[g, h]')
    ['a(b=1, c=2)', ' "d, e"', ' f[g, h]']
    """
    depth, start, pieces = 0, 0, []
    for place, mark in _outside_quotes(text):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(mark, 0)
        if mark == "," and not depth:
            pieces.append(text[start:place])
            start = place + 1
    return [*pieces, text[start:]]


def _outside_quotes(text: str, start: int = 0) -> Iterator[tuple[int, str]]:
    """The characters outside double quotes, with their places."""
    quoted = False
    for place in range(start, len(text)):
        if text[place] == '"' and text[place - 1 : place] != "\\":
            quoted = not quoted
        elif not quoted:
            yield place, text[place]


def to_toml(values: Mapping[str, Any]) -> str:
    """Settings as TOML, tables last; None is left out, except that no cache is written as false.

    >>> print(to_toml({"labels": {"0": "yes", "1": None}, "name": "ü", "vary": [], "cache": None}), end="")
    name = "ü"
    vary = []
    cache = false
    <BLANKLINE>
    [labels]
    "0" = "yes"
    """
    plain = {name: False if name == "cache" and value is None else value for name, value in values.items()}
    lines = [f"{name} = {_toml(value)}" for name, value in plain.items() if value is not None and not _is_table(value)]
    for name, table in values.items():
        if _is_table(table):
            lines += ["", f"[{name}]", *_entries(table)]
    return "\n".join(lines) + "\n"


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value)


def _entries(table: Mapping[str, Any]) -> Iterator[str]:
    return (f"{_toml(str(key))} = {_toml(value)}" for key, value in table.items() if value is not None)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(_entries(value)) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # which JSON writes as it is
