"""Templates: how a problem is put to a language model, as data. A preset, or a TOML file of the user's."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from string import Formatter
from typing import Any

from ..errors import BadInput, UnknownName, decode, shorten
from ..language_models.completion import Message, Request
from ..problem import UNREADABLE, Task, get_task, label_key
from ..storage.files import digest
from ..storage.specs import nearest

PRESETS = Path(__file__).parent.parent / "assets" / "templates"
#: The template of a task that is asked without one, if it has a preset.
DEFAULT = "words"
FORMS = ("chat", "plain")
#: Stands for the words of all labels, in the order of the template: `yes or no`, `A, B or C`.
LABELS = "labels"
_KINDS = {str: "a text", bool: "true or false", int: "a whole number", list: "a list", dict: "a table"}
#: What numbers may be: at least, and at most.
_RANGES = {
    "max_tokens": (1, 1_000_000),
    "temperature": (0, 100),
    "top_p": (0, 1),
    "frequency_penalty": (-100, 100),
    "presence_penalty": (-100, 100),
}
_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True)
class Parameters:
    """How a template wants a text to be written; what is None is left to the readout, or to the server."""

    max_tokens: int | None = None
    temperature: float | None = 0.0
    top_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True)
class ShotPlan:
    """Which solved problems come first: so many from each file, of each label as many if `balanced`, by `seed`."""

    count: int = 0
    balanced: bool = False
    seed: int = 0
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Template:
    """How problems of a task are put to a language model, and by which words it answers.

    `prompt` has a place {field} for each field of the task, and may have {labels}; a line whose places are all empty is
    left out. `system` comes first: as the message of that role in a chat, else as the first paragraph. Each shot is
    `prompt` and its answer: two turns of a chat, or one text. Plain texts are joined by `separator`, and a word follows
    them after `before_answer`. `words` has the word of each label, in the order in which {labels} names them. A
    template without a `form` is a chat with models that can chat. `exact` and `readout` are explained in `readouts`.
    """

    name: str
    task: Task
    prompt: str
    words: Mapping[str, str]
    system: str = ""
    form: str = ""
    separator: str = "\n\n"
    before_answer: str = " "
    exact: bool = False
    readout: str = "auto"
    parameters: Parameters = Parameters()
    shots: ShotPlan = ShotPlan()
    summary: str = ""
    where: str = field(default="", compare=False)

    @property
    def identity(self) -> str:
        """A digest of all that decides what is asked; not of the name, nor of the summary."""
        left_out = ("name", "summary", "where", "task", "shots", "readout", "parameters")
        given = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in left_out}
        given |= {"words": list(self.words.items()), "parameters": vars(self.parameters)}
        return digest(json.dumps(given, sort_keys=True, ensure_ascii=False))[:12]

    @property
    def listed_words(self) -> str:
        """The words of the labels as {labels} shows them."""
        *most, last = self.words.values()
        return f"{', '.join(most)} or {last}"

    def word_before(self, *, chat: bool) -> str:
        """What stands between a prompt and its answer."""
        return "" if chat else self.before_answer

    def fill(self, texts: Mapping[str, str]) -> str:
        """The prompt with the texts of a problem."""
        return _fill(self._lines, {**texts, LABELS: self.listed_words})

    @cached_property
    def opening(self) -> str:
        """What stands before everything else."""
        return _fill(_lines(self.system), {LABELS: self.listed_words})

    @cached_property
    def _lines(self) -> list[list[tuple[str, str | None]]]:
        return _lines(self.prompt)

    def request(
        self, texts: Mapping[str, str], shots: Sequence[tuple[Mapping[str, str], str]] = (), *, chat: bool
    ) -> Request:
        """What is asked about a problem, after some solved ones; how it is to be answered is for the readout to add."""
        given, first = vars(self.parameters), self.opening
        settings = {name: value for name, value in given.items() if name != "max_tokens"}
        if chat:
            turns = [Message("system", first)] if first else []
            for solved, label in shots:
                turns += [Message("user", self.fill(solved)), Message("assistant", self.words[label])]
            return Request(messages=(*turns, Message("user", self.fill(texts))), **settings)
        solutions = [self.fill(solved) + self.before_answer + self.words[label] for solved, label in shots]
        parts = [*([first] if first else []), *solutions, self.fill(texts)]
        return Request(text=self.separator.join(parts), **settings)


def presets() -> dict[str, Path]:
    """The templates that come along, by name: `words-nli` is the one called `words` for the task nli."""
    return {path.stem: path for path in sorted(PRESETS.glob("*.toml"))}


def read_preset(name: str) -> Template:
    """A template that comes along."""
    path = presets()[name]
    return _from_table(_parsed(path), str(path))


def read_template(given: str, task: Task) -> Template:
    """The template of a name or a file, for a task; without either, the task's own preset."""
    return _suited(_from_table(*_table(given, task)), task)


def template_name(given: str) -> str:
    """What a template is called, whatever the task: by its file, or by presets, of which those of one name agree."""
    known = presets()
    names = [path for name, path in known.items() if name == given or re.fullmatch(rf"{re.escape(given)}-.*", name)]
    if not given.endswith(".toml") and not names:
        raise _unknown(given, None, known)
    path = Path(given).expanduser() if given.endswith(".toml") else names[0]
    return _checked_name(_parsed(path).get("name", path.stem), str(path))


def _table(given: str, task: Task) -> tuple[dict[str, Any], str]:
    known = presets()
    if given.endswith(".toml"):
        path = Path(given).expanduser()
    else:
        name = given or DEFAULT
        path = known.get(f"{name}-{task.name}") or known.get(name) or Path()
        if path == Path():
            raise _unknown(name, task, known)
    return _parsed(path), str(path)


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(decode(path.read_bytes(), str(path)))
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"cannot be read as a template: {error}", where=str(path)) from error


def _unknown(name: str, task: Task | None, known: Mapping[str, Path]) -> UnknownName:
    fix = f"give a .toml file, or one of {', '.join(known)} (otherwords list templates)"
    if task and any(one.startswith(f"{name}-") for one in known):
        return UnknownName(f"the task {task.name} has no template {name!r}; {fix}")
    near = nearest(name, list(known))
    return UnknownName(f"no template {name!r}; {f'did you mean {near}? ' if near else ''}{fix}")


def _from_table(table: Mapping[str, Any], where: str) -> Template:
    """A template of what its file says; unknown keys and wrong types are refused."""
    own: dict[str, Any] = {"name": str, "task": str, "prompt": str, "words": dict, "order": list, "system": str}
    own |= {"separator": str, "before_answer": str, "exact": bool, "readout": str, "parameters": dict, "shots": dict}
    own |= {"form": str, "summary": str}
    _refuse(table, own, where)
    if missing := [name for name in ("task", "prompt", "words") if name not in table]:
        raise BadInput(f"lacks {', '.join(missing)}", where=where, fix="a template has task, prompt and [words]")
    given = {name: value for name, value in table.items() if name not in ("order", "words", "parameters", "shots")}
    if given.get("form", "") not in ("", *FORMS):
        raise BadInput(f"found {given['form']!r}", where=where, field="form", fix=f"use {' or '.join(FORMS)}")
    _checked_name(given.setdefault("name", Path(where).stem), where)
    task = get_task(given.pop("task"))
    return Template(
        task=task,
        words=_words(table, task, where),
        parameters=_parameters(table.get("parameters", {}), where),
        shots=_plan(table.get("shots", {}), where),
        where=where,
        **given,
    )


def _checked_name(name: Any, where: str) -> str:
    """The name of a template, which becomes part of a model's."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        fix = "use letters, digits, - _ and . only (name = ... in the file)"
        raise BadInput(f"found {shorten(name)}", where=where, field="name", fix=fix)
    return name


def _refuse(table: Mapping[str, Any], known: Mapping[str, Any], where: str, inside: str = "") -> None:
    """Refuse unknown keys and values of another type."""
    for name, value in table.items():
        place = f"{inside}.{name}" if inside else name
        if name not in known:
            near = nearest(name, list(known))
            hint = f"did you mean {near}? " if near else ""
            raise BadInput("unknown key", where=where, field=place, fix=f"{hint}available: {', '.join(known)}")
        wanted = known[name]
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            kinds = [wanted] if isinstance(wanted, type) else list(wanted)
            shown = "a number" if float in kinds else " or ".join(_KINDS[one] for one in kinds)
            raise BadInput(f"found {shorten(value)}", where=where, field=place, fix=f"give {shown}")


def _words(table: Mapping[str, Any], task: Task, where: str) -> dict[str, str]:
    """The word of each label of the task, in the order of the template."""
    names = {label_key(label): label for label in task.labels}
    words = {names.get(label_key(label), label): word for label, word in table["words"].items()}
    _refuse(words, dict.fromkeys(task.labels, str), where, "words")
    if missing := [label for label in task.labels if not words.get(label, "").strip()]:
        raise BadInput(f"no word for {', '.join(missing)}", where=where, field="words", fix="give one for each label")
    if len({_folded(word) for word in words.values()}) < len(words):
        raise BadInput("two labels have the same word", where=where, field="words", fix="use words that differ")
    if UNREADABLE in map(_folded, words.values()):
        message = f"the word {UNREADABLE!r} stands for answers that cannot be read"
        raise BadInput(message, where=where, field="words", fix="use another word")
    order = [names.get(label_key(label), str(label)) for label in table.get("order", words)]
    if sorted(order) != sorted(words):
        fix = f"name each of {', '.join(task.labels)} once"
        raise BadInput(f"found {', '.join(order)}", where=where, field="order", fix=fix)
    return {label: words[label].strip() for label in order}


def _folded(word: str) -> str:
    return " ".join(word.split()).casefold()


def _parameters(table: Mapping[str, Any], where: str) -> Parameters:
    number = (int, float)
    known: dict[str, Any] = {"max_tokens": int, "temperature": number, "top_p": number}
    known |= {"frequency_penalty": number, "presence_penalty": number, "stop": list}
    _refuse(table, known, where, "parameters")
    for name, (low, high) in _RANGES.items():
        if not low <= table.get(name, low) <= high:
            place, fix = f"parameters.{name}", f"give {low} to {high:,}"
            raise BadInput(f"found {shorten(table[name])}", where=where, field=place, fix=fix)
    if not all(isinstance(one, str) and one for one in table.get("stop", ())):
        found = f"found {shorten(table['stop'])}"
        raise BadInput(found, where=where, field="parameters.stop", fix="give texts that are not empty")
    given: dict[str, Any] = {name: float(value) if known[name] is number else value for name, value in table.items()}
    return Parameters(**{**given, "stop": tuple(given.get("stop", ()))})


def _plan(table: Mapping[str, Any], where: str) -> ShotPlan:
    _refuse(table, {"count": int, "balanced": bool, "seed": int, "files": (str, list)}, where, "shots")
    if table.get("count", 0) < 0:
        raise BadInput(f"found {table['count']}", where=where, field="shots.count", fix="give 0 or more")
    files = table.get("files", [])
    return ShotPlan(**{**table, "files": tuple(map(str, [files] if isinstance(files, str) else files))})


def _suited(template: Template, task: Task) -> Template:
    """The template, after a check that it asks about this task, about every field of it, and about nothing else.

    Its labels are spelled as the task spells them.
    """
    where, own = template.where, template.task
    if own.fields != task.fields or {*map(label_key, own.labels)} != {*map(label_key, task.labels)}:
        fix = f"use a template for {task.name}: fields {', '.join(task.fields)}, labels {', '.join(task.labels)}"
        raise BadInput(f"{template.name} is a template for {own.name}, not for {task.name}", where=where, fix=fix)
    used = {"prompt": _places(template.prompt, where, "prompt"), "system": _places(template.system, where, "system")}
    allowed = {"prompt": {*task.fields, LABELS}, "system": {LABELS}}
    for key, names in used.items():
        if unknown := [name for name in names if name not in allowed[key]]:
            fix = f"available: {', '.join(f'{{{name}}}' for name in (*task.fields, LABELS) if name in allowed[key])}"
            raise BadInput(f"{{{unknown[0]}}} is not a field of {task.name}", where=where, field=key, fix=fix)
    if missing := [name for name in task.fields if name not in used["prompt"]]:
        fix = f"write {{{missing[0]}}} where its text is to stand"
        raise BadInput(f"has no place for the field {', '.join(missing)}", where=where, field="prompt", fix=fix)
    spelled = {label_key(label): label for label in task.labels}
    return replace(
        template, task=task, words={spelled[label_key(label)]: word for label, word in template.words.items()}
    )


def _places(text: str, where: str, key: str) -> list[str]:
    """The names in braces; {{ and }} are braces themselves."""
    try:
        parts = list(Formatter().parse(text))
    except ValueError as error:
        raise BadInput(str(error), where=where, field=key, fix="write {{ and }} for braces themselves") from error
    return [f"{name}{'!' * bool(how)}{':' * bool(form)}" for _, name, form, how in parts if name is not None]


def _lines(text: str) -> list[list[tuple[str, str | None]]]:
    """Each line as pieces: a text, and the name of the field that follows it, if any does."""
    lines: list[list[tuple[str, str | None]]] = [[]]
    for literal, name, _, _ in Formatter().parse(text):
        first, *rest = literal.split("\n")
        for one in rest:
            lines[-1].append((first, None))
            lines.append([])
            first = one
        lines[-1].append((first, name))
    return lines


def _fill(lines: Sequence[Sequence[tuple[str, str | None]]], texts: Mapping[str, str]) -> str:
    """The lines with their texts, without those that have places and no text for any."""
    filled = []
    for line in lines:
        names = [name for _, name in line if name is not None]
        if not names or any(texts[name] for name in names):
            filled.append("".join(text + (texts[name] if name is not None else "") for text, name in line))
    return "\n".join(filled)
