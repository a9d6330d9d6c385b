"""What travels between a driver and its workers, as JSON: jobs there; progress, prints, warnings and results back."""

import importlib
import inspect
import io
import json
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

from .._version import __version__
from ..errors import ON_COMMAND_LINE
from ..progress import Progress, reporting_to
from ..words import language

#: What libraries read when they are loaded, to decide how many threads they start; the last is read by our own code.
_THREADS = (
    *("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
    *("NUMEXPR_NUM_THREADS", "RAYON_NUM_THREADS", "OTHERWORDS_THREADS"),
)
#: Warnings that nobody sees unless he asks for them.
_HIDDEN = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
#: Seconds between two reports of a worker's progress.
_REPORT = 0.1


class Hello(NamedTuple):
    """A worker is ready: its version, and where it is."""

    version: str = __version__
    place: str = ""


class Outcome(NamedTuple):
    """What became of a job: its result, or an error; and what it warned of. Errors and warnings are packed."""

    result: Any = None
    error: "PackedError | None" = None
    trace: str = ""
    warnings: "tuple[PackedError, ...]" = ()


class Remote(Exception):
    """Where an error was raised in a worker, for --debug."""

    def __str__(self) -> str:
        return f"in a worker process:\n{self.args[0]}"


def thread_settings(threads: int, given: Mapping[str, str]) -> dict[str, str]:
    """The environment of a worker that may use so many cores, or fewer where the variables that are given say so."""
    asked = {name: given.get(name, "") for name in _THREADS}
    return {name: str(min(threads, int(n)) if n.isdigit() and int(n) else threads) for name, n in asked.items()}


def encode_job(function: Callable[..., Any], job: Any) -> str:
    """A job as it travels."""
    return json.dumps(encoded((ON_COMMAND_LINE.get(), function, job)))


def encoded(value: Any) -> Any:
    """A value as JSON: names, numbers, lists, and records (dataclasses, named tuples) of importable classes."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) in (list, tuple):
        return {type(value).__name__: [encoded(one) for one in value]}
    if isinstance(value, Mapping):
        return {"dict": [[encoded(key), encoded(one)] for key, one in value.items()]}
    if (inspect.isfunction(value) or isinstance(value, type)) and "<locals>" not in value.__qualname__:
        return {"name": f"{value.__module__}:{value.__qualname__}"}
    if (is_dataclass(value) or hasattr(value, "_fields")) and not isinstance(value, type):
        names = getattr(value, "_fields", None) or [one.name for one in fields(value)]
        return {"record": encoded(type(value))["name"], "fields": {one: encoded(getattr(value, one)) for one in names}}
    name = getattr(value, "__qualname__", type(value).__name__)
    raise TypeError(f"{name} cannot travel: give workers names, paths, numbers, and functions of a module")


def decoded(value: Any) -> Any:
    """The value that `encoded` was given."""
    if not isinstance(value, dict):
        return value
    if "record" in value:
        return _found(value["record"])(**{name: decoded(one) for name, one in value["fields"].items()})
    [(kind, content)] = value.items()
    if kind == "name":
        return _found(content)
    if kind == "dict":
        return {decoded(key): decoded(one) for key, one in content}
    return {"list": list, "tuple": tuple}[kind](map(decoded, content))


def _found(name: str) -> Any:
    module, _, path = name.partition(":")
    found: Any = importlib.import_module(module)
    for one in path.split("."):
        found = getattr(found, one)
    return found


class PackedError(NamedTuple):
    """An error or a warning on its way: its class, arguments and attributes, and its text where these cannot travel."""

    content: str
    text: str
    warning: bool


def packed(error: BaseException) -> PackedError:
    """An error or a warning as it travels."""
    text = str(error) if isinstance(error, Warning) else f"{type(error).__name__}: {error}"
    content = ""
    with suppress(Exception):  # one that holds an open file
        content = json.dumps(encoded((type(error), error.__reduce__()[1], error.__dict__)))
    return PackedError(content, text, isinstance(error, Warning))


def unpacked(one: PackedError) -> BaseException:
    """The error or warning that `packed` was given, or its text where its class is unknown here."""
    with suppress(Exception):
        kind, given, attributes = decoded(json.loads(one.content))
        error: BaseException = kind.__new__(kind, *given)
        error.__dict__.update(attributes)
        return error
    return UserWarning(one.text) if one.warning else RuntimeError(one.text)


# In a worker


def carry_out(job: str, send: Callable[[int], None]) -> Outcome:
    """Do a job, which `encode_job` made, and say what became of it; `send` is told how many rows are done."""
    language.forget()  # what each shard would warn of first: the driver shows the first of them
    report = _Report(send)
    outcome = Outcome()
    with warnings.catch_warnings(record=True) as caught, reporting_to(report):
        warnings.simplefilter("always")
        for kind in _HIDDEN:
            warnings.simplefilter("ignore", kind)
        try:
            on_command_line, function, given = decoded(json.loads(job))
            ON_COMMAND_LINE.set(on_command_line)
            outcome = Outcome(function(given))
            encoded(outcome)
        except SystemExit:  # it is stopped
            raise
        except BaseException as error:
            outcome = Outcome(error=packed(error), trace=traceback.format_exc())
    report.send_now()
    sys.stdout.flush()
    return outcome._replace(warnings=tuple(packed(one.message) for one in caught))  # type: ignore[arg-type]


class _Report(Progress):
    """Tells the driver how many rows are done, a few times a second."""

    def __init__(self, send: Callable[[int], None]):
        self._send, self._count, self._last = send, 0, time.monotonic()

    def advance(self, count: int) -> None:
        """So many more rows are done."""
        self._count += count
        if time.monotonic() - self._last > _REPORT:
            self.send_now()

    def send_now(self) -> None:
        """Tell the driver now."""
        if self._count:
            self._send(self._count)
        self._count, self._last = 0, time.monotonic()


class Prints(io.RawIOBase):
    """A stream whose text the driver prints on its standard error, in whole lines: those of others come between."""

    def __init__(self, send: Callable[[str], None]):
        self._send, self._rest = send, ""

    def writable(self) -> bool:
        """It can only be written to."""
        return True

    def write(self, data: Any) -> int:
        """Send the lines that are whole."""
        text = self._rest + bytes(data).decode("utf-8", "replace")
        end = max(text.rfind("\n"), text.rfind("\r")) + 1
        self._rest = text[end:]
        if end:
            self._send(text[:end])
        return len(data)

    def flush(self) -> None:
        """Send what is left of a line."""
        rest, self._rest = getattr(self, "_rest", ""), ""
        if rest:
            self._send(rest)
