"""The tree of errors: each says what is wrong, where, and how to fix it.

OtherwordsError
├── BadInput         input that cannot be used: `where`, `field`, `message`, `fix`
│   └── Unmeasurable a metric needs what the answers do not have
├── UnknownName      a name that does not exist; the message lists those that do
├── MissingExtra     an optional dependency is not installed
├── WrongAnswer      a model broke its contract
├── LabelOrder       a model's labels seem permuted (exit code 1)
├── GateFailed       a score misses a required value (exit code 1)
├── Busy             another process is using the folder
├── WorkerLost       a worker process was killed, or ended by itself
└── ServerFailed     a server of a language model cannot be asked further; what it answered is kept
    └── LimitReached a limit of requests or costs leaves no room for the next request (exit code 1)
"""

import os
import shlex
import sys
from collections.abc import Iterable
from contextvars import ContextVar
from pathlib import Path

#: Set while a command of the command line runs: messages then name its options, and keywords to callers from Python.
ON_COMMAND_LINE: ContextVar[bool] = ContextVar("ON_COMMAND_LINE", default=False)

_PACKAGE = f"{Path(__file__).parent}{os.sep}"
#: Bytes at the beginning of a file that show its encoding.
_START = 1000
_MARKS = {b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


def setting(flag: str, keyword: str) -> str:
    """What the user calls a setting: an option on the command line, a keyword in Python."""
    return flag if ON_COMMAND_LINE.get() else keyword


class OtherwordsError(Exception):
    """The root of all errors that the package raises itself. The command line exits with `exit_code`."""

    exit_code = 2


class BadInput(OtherwordsError):
    """Input that cannot be used, with its place: "dev.jsonl, line 4711: label: found 'maybe'; use ...".

    `where` is a file and line, a plug-in or a setting; `field` a column or option in it; `fix` how to solve it.
    """

    def __init__(self, message: str, *, where: str = "", field: str = "", fix: str = ""):
        self.message, self.where, self.field, self.fix = message, where, field, fix
        shown = field if field.isprintable() else repr(field)  # a column may be called anything
        place = ": ".join(part for part in (where, shown) if part)
        text = f"{place}: {message}" if place else message
        super().__init__(f"{text}; {fix}" if fix else text)


class Unmeasurable(BadInput):
    """A metric needs what the answers table lacks: probabilities, texts, a second model."""


class UnknownName(OtherwordsError):
    """A name that no registry, task or column has; the message lists those that exist."""


class MissingExtra(OtherwordsError):
    """An optional dependency is not installed; the message names the command that installs it."""

    def __init__(self, what: str, extra: str):
        super().__init__(f"{what} needs an optional part: pip install 'otherwords[{extra}]'")


class WrongAnswer(OtherwordsError):
    """A model returned something that is not one answer per problem."""


class LabelOrder(OtherwordsError):
    """The canary questions show that the model's labels are permuted."""

    exit_code = 1


class GateFailed(OtherwordsError):
    """A score misses a value that the user required."""

    exit_code = 1


class Busy(OtherwordsError):
    """Another process is writing to the same folder."""


class WorkerLost(OtherwordsError):
    """A worker process ended in the middle of a shard. Shards that were done before are kept."""


class ServerFailed(OtherwordsError):
    """A server of a language model cannot be asked any further. Replies that came before are kept."""


class LimitReached(ServerFailed):
    """A limit that the user set leaves no room for the next request. Replies that came before are kept."""

    exit_code = 1


def list_names(names: Iterable[object], most: int = 40) -> str:
    """Names as an error lists those that exist: the first ones, and quoted where not all of them can be seen.

    >>> list_names(["ticket text", "gold ", "id"]), list_names("abcd", most=2)
    ("ticket text, 'gold ', id", 'a, b and 2 more')
    """
    every = [str(name) for name in names]
    shown = (name if name.isprintable() and name.strip() == name != "" else repr(name) for name in every[:most])
    return ", ".join(shown) + (f" and {len(every) - most:,} more" if len(every) > most else "")


def shorten(value: object, limit: int = 60) -> str:
    """Return a value as an error message may show it: its `repr`, cut to `limit` characters."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


# Text in other encodings than UTF-8


def decode(data: bytes, where: str) -> str:
    """Return the content of a file as text, without a byte order mark; raise where it is not UTF-8."""
    refuse_other_encoding(data[:_START], where)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        found = f"is not UTF-8 text (byte 0x{data[error.start]:02x} at {error.start})"
        raise BadInput(found, where=where, fix=convert_line("WINDOWS-1252", where)) from error


def refuse_other_encoding(start: bytes, where: str) -> None:
    """Raise where a file begins as UTF-16 or UTF-32 text does: with their byte order mark, or with many zero bytes."""
    start = start[:_START]
    name = next((name for mark, name in _MARKS.items() if start.startswith(mark)), "")
    zeros = (start[0::2].count(0), start[1::2].count(0))
    if not name and max(zeros) > 1 and min(zeros) == 0:
        name = "UTF-16BE" if zeros[0] else "UTF-16LE"
    if name:
        raise BadInput(f"is {name} text", where=where, fix=convert_line(name, where))


def convert_line(encoding: str, where: str) -> str:
    """The command that converts a file to UTF-8.

    >>> convert_line("UTF-16", "my data.csv")
    "convert it: iconv -f UTF-16 -t UTF-8 'my data.csv' > 'my data.utf8.csv'"
    """
    if where == "-":
        return f"pipe it through: iconv -f {encoding} -t UTF-8"
    stem, dot, ending = where.rpartition(".")
    new = f"{stem}.utf8.{ending}" if dot and "/" not in ending else f"{where}.utf8"
    return f"convert it: iconv -f {encoding} -t UTF-8 {shlex.quote(where)} > {shlex.quote(new)}"


def caller_level() -> int:
    """The `stacklevel` of a warning that is given where this is called: that of the caller of the package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    return level
