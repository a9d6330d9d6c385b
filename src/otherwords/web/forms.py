"""The questions that people answer: a form is a TOML file; those of the papers are bundled."""

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import fields as fields_of
from importlib import resources
from pathlib import Path
from typing import Any
from unicodedata import category

from ..errors import BadInput, UnknownName, shorten
from ..problem import TASKS, Task, label_key, normalize_spaces
from ..storage.files import digest, read_toml

#: What a page shows: an original and its variant; one text alone; a reference and several sentences, one of which is
#: the reference itself; or an original that is to be reworded.
SHOWN = ("pair", "problem", "reference", "target")
KINDS = ("choice", "number", "text", "labels", "rewordings")
#: Numbers up to this many are buttons to choose from, more are typed in.
_FEW = 11
#: The longest text that is taken, in characters.
LONGEST = 2000
_FOLDER = resources.files(__package__) / "forms"


@dataclass(frozen=True)
class FormQuestion:
    """One question of a form.

    `kind` is choice (`choices`), number (`least` to `most`; `ends` explains both), labels (those of the task), text, or
    rewordings (`number` texts for each target). `expected` is what a control must get: the reference beside itself.
    """

    name: str
    ask: str
    kind: str = "choice"
    help: str = ""
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int = 0
    ends: tuple[str, ...] = ()
    number: int = 3
    optional: bool = False
    expected: str = ""

    def options(self, task: Task) -> tuple[str, ...]:
        """What can be chosen; nothing where the answer is typed in."""
        if self.kind == "labels":
            return task.labels
        if self.kind == "number" and self.most - self.least < _FEW:
            return tuple(map(str, range(self.least, self.most + 1)))
        return self.choices

    def read(self, answer: str, task: Task) -> tuple[str, str]:
        """The answer as it is stored, and what is wrong with it: one of the two is empty, or both.

        >>> from otherwords.problem import TASKS
        >>> similarity = FormQuestion("similarity", "How similar?", "number", least=0, most=100)
        >>> similarity.read(" 075 ", TASKS["nli"]), similarity.read("101", TASKS["nli"])
        (('75', ''), ('', 'Give a whole number from 0 to 100.'))
        """
        text = plain_text(answer)
        if not text:
            return "", "" if self.optional else "Please answer this question."
        if len(text) > LONGEST:
            return "", f"Please use at most {LONGEST:,} characters."
        if self.kind == "number":
            return self._read_number(text)
        if self.kind in ("text", "rewordings"):
            return text, ""
        chosen = {label_key(one): one for one in self.options(task)}.get(label_key(text), "")
        return chosen, "" if chosen else "Choose one of the answers."

    def _read_number(self, text: str) -> tuple[str, str]:
        plain = text.isascii() and text.isdigit() and len(text) < 10
        if plain and self.least <= int(text) <= self.most:
            return str(int(text)), ""
        return "", f"Give a whole number from {self.least} to {self.most}."


@dataclass(frozen=True)
class AnnotationForm:
    """A form: what a page shows, and the questions about it.

    `rows` says what is judged: variants, originals, or all. `context` and `label` are shown or hidden. A page of `show
    = "reference"` has `sentences` of them, and the reference as a control. `overlap` is how many people answer a page.
    """

    name: str
    title: str
    questions: tuple[FormQuestion, ...]
    show: str = "pair"
    rows: str = "variants"
    context: str = "shown"
    label: str = "hidden"
    sentences: int = 3
    overlap: int = 2
    guidance: str = ""
    source: str = ""

    @property
    def signature(self) -> str:
        """Tells two forms apart: all that decides what people are asked."""
        return digest(self.name, [[str(getattr(one, f.name)) for f in fields_of(one)] for one in self.questions],
                      self.show, self.rows, self.context, self.label, self.sentences, self.guidance)[:16]  # fmt: skip

    @property
    def rewords(self) -> bool:
        """Whether people write rewordings, rather than judge them."""
        return any(question.kind == "rewordings" for question in self.questions)

    def asked(self, task: Task) -> list[tuple[str, FormQuestion, str]]:
        """Every answer that a part of a page has: its name, the question, and the target that is reworded.

        >>> from otherwords.problem import TASKS
        >>> [name for name, *_ in load_form("paraphrase").asked(TASKS["a-nli"])]
        ['hyp1:1', 'hyp1:2', 'hyp1:3', 'hyp2:1', 'hyp2:2', 'hyp2:3']
        """
        found = []
        for question in self.questions:
            if question.kind != "rewordings":
                found.append((question.name, question, ""))
                continue
            for target in reworded_targets(task):
                found += [(f"{target}:{n}", question, target) for n in range(1, question.number + 1)]
        return found


def plain_text(text: str) -> str:
    r"""A text as people can see it: single spaces, and no control characters or halves of characters.

    >>> plain_text(" It\x00 is\r\nfine. ")
    'It is fine.'
    """
    return normalize_spaces("".join(one for one in text if one.isspace() or category(one) not in ("Cc", "Cs")))


def reworded_targets(task: Task) -> tuple[str, ...]:
    """The fields that people reword: both hypotheses of a-NLI, else the last target.

    >>> from otherwords.problem import TASKS
    >>> reworded_targets(TASKS["nli"]), reworded_targets(TASKS["a-nli"])
    (('hypothesis',), ('hyp1', 'hyp2'))
    """
    return task.targets if set(task.targets) == set(task.labels) else task.targets[-1:]


def shipped_forms() -> list[str]:
    """The names of the forms that come along."""
    return sorted(file.name.removesuffix(".toml") for file in _FOLDER.iterdir() if file.name.endswith(".toml"))


def load_form(name: str) -> AnnotationForm:
    """A form by its name, or from a TOML file of one's own."""
    if name in shipped_forms():
        return form_from(read_toml(Path(str(_FOLDER / f"{name}.toml")), "a form", ""), name, f"form {name}")
    if not name.endswith(".toml"):
        raise UnknownName(f"no form {name!r}; available: {', '.join(shipped_forms())}, or give a .toml file")
    path = Path(name)
    if not path.is_file():
        raise BadInput("no such file", where=name, fix=f"name a TOML file, or one of {', '.join(shipped_forms())}")
    return form_from(read_toml(path, "a form", "see docs/people.md for one of ten lines"), path.stem, name)


def form_from(table: Mapping[str, Any], name: str, where: str) -> AnnotationForm:
    """A form from what a TOML file holds; every key that is wrong is named."""
    known = {one.name: one for one in fields_of(AnnotationForm) if one.name not in ("name", "questions")}
    _refuse_unknown(table, {*known, "question"}, where)
    values = {key: _typed(value, known[key].type, where, key) for key, value in table.items() if key != "question"}
    if not values.get("title", "").strip():
        raise BadInput("is missing", where=where, field="title", fix='give one: title = "Is it sound?"')
    rows = table.get("question")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise BadInput("has no questions", where=where, field="question", fix="add one or more [[question]]")
    questions = tuple(_question(row, where, f"question {number}") for number, row in enumerate(rows, 1))
    form = AnnotationForm(name=name, questions=questions, **values)
    _check_form(form, where)
    return form


def _question(row: Mapping[str, Any], where: str, place: str) -> FormQuestion:
    known = {one.name: one for one in fields_of(FormQuestion)}
    _refuse_unknown(row, set(known), where, f"{place}: ")
    values = {key: _typed(value, known[key].type, where, f"{place}: {key}") for key, value in row.items()}
    for key in ("name", "ask"):
        if not values.get(key, "").strip():
            raise BadInput("is missing", where=where, field=f"{place}: {key}", fix="a question has a name, and asks")
    if "kind" not in values:
        values["kind"] = "number" if "most" in values else "choice"
    question = FormQuestion(**values)
    _check_question(question, where, place)
    return question


def _refuse_unknown(table: Mapping[str, Any], known: set[str], where: str, place: str = "") -> None:
    for key in table:
        if key not in known:
            raise BadInput("unknown key", where=where, field=f"{place}{key}", fix=f"use {', '.join(sorted(known))}")


def _typed(value: Any, kind: Any, where: str, field: str) -> Any:
    """A value of the type that a field has; lists become tuples of texts."""
    name = str(getattr(kind, "__name__", kind))
    if name.startswith("tuple"):
        if isinstance(value, list) and all(isinstance(one, str | int) and one is not True for one in value):
            return tuple(str(one) for one in value)
        raise BadInput(f"found {shorten(value)}", where=where, field=field, fix='give a list: ["yes", "no"]')
    expected = {"str": str, "int": int, "bool": bool}[name]
    if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
        words = {"str": "a text", "int": "a whole number", "bool": "true or false"}
        raise BadInput(f"found {shorten(value)}", where=where, field=field, fix=f"give {words[name]}")
    return value


def _check_question(question: FormQuestion, where: str, place: str) -> None:
    name = question.name
    if not name.replace("_", "").isalnum() or not name.isascii():
        raise BadInput(f"found {name!r}", where=where, field=f"{place}: name", fix="use letters, digits and _")
    if question.kind not in KINDS:
        raise BadInput(f"found {question.kind!r}", where=where, field=f"{place}: kind", fix=f"use {', '.join(KINDS)}")
    if question.kind == "choice" and len({label_key(one) for one in question.choices}) < max(2, len(question.choices)):
        raise BadInput(
            "needs two or more different ones", where=where, field=f"{place}: choices", fix='as in ["yes", "no"]'
        )
    for choice in question.choices:
        if not 0 < len(plain_text(choice)) <= LONGEST or plain_text(choice) != normalize_spaces(choice):
            raise BadInput(f"found {shorten(choice)}", where=where, field=f"{place}: choices", fix="give short texts")
    if question.kind == "number" and not 0 <= question.least < question.most < 10**9:
        raise BadInput("needs 0 <= least < most", where=where, field=f"{place}: most", fix="as in least = 1, most = 5")
    if len(question.ends) not in (0, 2):
        raise BadInput(f"found {len(question.ends)}", where=where, field=f"{place}: ends", fix="explain both ends")
    if question.expected and question.kind != "labels" and question.read(question.expected, TASKS["nli"])[1]:
        fix = "give an answer to the question"
        raise BadInput(f"found {question.expected!r}", where=where, field=f"{place}: expected", fix=fix)
    if not 1 <= question.number <= 20:
        raise BadInput(f"found {question.number}", where=where, field=f"{place}: number", fix="ask for 1 to 20 texts")


def _check_form(form: AnnotationForm, where: str) -> None:
    allowed = {"show": SHOWN, "rows": ("variants", "originals", "all"), "context": ("shown", "hidden")}
    for field, values in {**allowed, "label": ("shown", "hidden")}.items():
        if getattr(form, field) not in values:
            found = getattr(form, field)
            raise BadInput(f"found {found!r}", where=where, field=field, fix=f"use {', '.join(values)}")
    names = [question.name for question in form.questions]
    if len(set(names)) < len(names):
        raise BadInput("two questions have the same name", where=where, field="question", fix="rename one")
    if form.rewords != (form.show == "target"):
        fix = 'people who reword see a target: show = "target" goes with kind = "rewordings", and with no other'
        raise BadInput(f"found {form.show!r}", where=where, field="show", fix=fix)
    if sum(question.kind == "rewordings" for question in form.questions) > 1:
        raise BadInput("asks for rewordings twice", where=where, field="question", fix="ask once, with a larger number")
    if form.rewords and form.rows != "originals":
        fix = 'people reword each original once: rows = "originals"'
        raise BadInput(f"found {form.rows!r}", where=where, field="rows", fix=fix)
    if form.rows != "variants" and form.show in ("pair", "reference"):
        fix = f"show = {form.show!r} needs variants; show a problem to ask about originals"
        raise BadInput(f"found {form.rows!r}", where=where, field="rows", fix=fix)
    if not 1 <= form.sentences <= 10:
        raise BadInput(f"found {form.sentences}", where=where, field="sentences", fix="show 1 to 10 beside a reference")
    if form.overlap < 1:
        raise BadInput(f"found {form.overlap}", where=where, field="overlap", fix="ask at least one person")
