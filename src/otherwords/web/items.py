"""From a suite to what people see: pages that do not reveal generators and models, and the database that holds them."""

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import polars as pl
import sqlalchemy as sa

from .._version import __version__
from ..answers.reading import answered
from ..datasets.suite import Suite, open_suite
from ..errors import BadInput, caller_level, setting
from ..frames import kept, reworded
from ..problem import Bucket, Problem, Task, Variant, changed_fields, normalize_spaces
from ..significance.design import MODES
from ..storage.files import digest, refuse_overwriting, seed_for
from ..storage.run_folder import RunFolder
from ..storage.specs import head_of
from ..validity.people import NO, USUAL, YES
from .forms import AnnotationForm, FormQuestion, load_form
from .store import ITEMS, PARTS, Store, create_store, exists, is_address, open_store

#: What annotators agree to before they begin, unless the owner gives another text.
CONSENT = (
    "You are asked to read short texts and to judge or reword them. Some may be odd, because computers wrote them.\n"
    "Your answers are stored under a pseudonym with the time that you took. They may be published under that "
    "pseudonym, as part of a data set. Your name and address are not stored.\n"
    "Taking part is voluntary: you can stop at any time, and delete all your answers yourself on the page “About me”."
)
#: Columns in which a suite may say who wrote a variant: nobody is asked to judge their own work.
AUTHORS = ("annotator", "worker")
#: What the columns of known answers of test items begin with.
KNOWN = "answer:"


@dataclass(frozen=True)
class ItemPart:
    """One thing to judge on a page: a variant, or a control, with the answers that are expected of it."""

    variant: str
    text: Mapping[str, str]
    is_control: bool = False
    expected: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Item:
    """What a page shows, and what is known of it that the page does not show."""

    bucket: str
    original: Mapping[str, str]
    label: str
    parts: tuple[ItemPart, ...]
    fields: tuple[str, ...] = ()
    cluster: str = ""
    stratum: str = ""
    flips: Mapping[str, float] = field(default_factory=dict)
    judge: float | None = None
    author: str = ""
    is_test: bool = False

    def names(self) -> list[str]:
        """The ids of the bucket and of the parts, which no page shows."""
        return [self.bucket, *(part.variant for part in self.parts)]

    def content(self) -> str:
        """What the page is made of; of the variants, their texts alone."""
        page = {"original": dict(self.original), "label": self.label, "fields": list(self.fields)}
        return json.dumps({**page, "parts": [dict(part.text) for part in self.parts]}, ensure_ascii=False)


@dataclass(frozen=True)
class Settings:
    """How items are given out: `overlap` people each (by default as many as the form says), in batches of `number`."""

    mode: str = "sample"
    number: int = 100
    overlap: int | None = None
    every: int = 10
    seed: int = 1
    judge: str = ""
    consent: str = CONSENT

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise BadInput(f"found {self.mode!r}", field=setting("--mode", "mode"), fix=f"use {', '.join(MODES)}")
        for name in ("number", "overlap", "every"):
            if (getattr(self, name) or 0) < 1 and getattr(self, name) is not None:
                raise BadInput(f"found {getattr(self, name)}", field=setting(f"--{name}", name), fix="give 1 or more")
        if not self.consent.strip():
            raise BadInput("is empty", field=setting("--consent", "consent"), fix="say what people agree to")


def open_project(
    suite: Sequence[str],
    form: str,
    out: str,
    settings: Settings | None = None,
    *,
    task: str = "",
    tests: str = "",
) -> Store:
    """The database of a suite and a form: made now, or the one that is there, if it is of the same suite and form.

    `tests` names a table of items whose answers are known (columns `answer:QUESTION`).
    """
    chosen = load_form(form)
    if not is_address(out):
        refuse_overwriting(out, *suite)
    opened = open_suite(list(suite), task)
    items = suite_items(opened, chosen, (settings or Settings()).judge)
    if tests:
        items += known_items(tests, chosen, opened.task)
    key = digest(chosen.signature, asdict(opened.task), [(one.names(), one.content()) for one in items])
    if exists(out):
        return _continued(out, key, chosen, settings)
    settings = settings or Settings()
    settings = settings if settings.overlap else replace(settings, overlap=chosen.overlap)
    _refuse_mode(settings, items, chosen)
    about = {**asdict(settings), "form": chosen.name, "signature": chosen.signature, "key": key}
    about |= {"questions": [asdict(one) for one in chosen.questions], "layout": _layout(chosen)}
    about |= {"task": asdict(opened.task), "suite": [Path(one).name for one in suite], "otherwords": __version__}
    seed = settings.seed
    return create_store(out, about, lambda connection: _fill(connection, items, chosen.name, seed))


def stored_form(about: Mapping[str, Any]) -> tuple[AnnotationForm, Task]:
    """The form and the task of a database, as they were when it was made."""
    questions = tuple(FormQuestion(**_tuples(one)) for one in about["questions"])
    return AnnotationForm(name=about["form"], questions=questions, **about["layout"]), Task(**about["task"])


def _tuples(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}


def _layout(form: AnnotationForm) -> dict[str, Any]:
    return {name: value for name, value in asdict(form).items() if name not in ("name", "questions")}


def _continued(out: str, key: str, form: AnnotationForm, settings: Settings | None) -> Store:
    store = open_store(out)
    about = store.about()
    if about["key"] == key:
        given = {name: value for name, value in asdict(settings).items() if value is not None} if settings else {}
        others = (name for name in given if name != "consent" and given[name] != about[name])
        kept = [f"{name}={about[name]}" for name in others]
        if settings and settings.consent not in (CONSENT, about["consent"]):
            kept.append("the text that people agree to")
        if kept:
            message = f"{store.name}: what it was made with stays: {', '.join(kept)}"
            warnings.warn(message, stacklevel=caller_level())
        return store
    store.close()
    if about["signature"] != form.signature:
        raise BadInput(f"has another form, {about['form']!r}", where=store.name, fix="name that form, or another file")
    suites = ", ".join(about["suite"])
    raise BadInput(f"has other items, of {suites}", where=store.name, fix="name that suite, or another file")


def _refuse_mode(settings: Settings, items: Sequence[Item], form: AnnotationForm) -> None:
    """Refuse a mode that needs what the suite does not have, or the form does not ask."""
    if settings.mode != "sample" and form.rows == "originals":
        fix = "use the mode sample"
        raise BadInput(f"the form {form.name} asks about originals, which do not flip", field=settings.mode, fix=fix)
    if settings.mode == "most_useful_next" and not _says_what_is_sound(form):
        fix = "use a form such as sound or label-preserved, or the mode flips_first"
        raise BadInput(f"the form {form.name} does not say which variants are sound", field=settings.mode, fix=fix)
    if settings.mode != "sample" and not any(item.flips for item in items):
        fix = "give the folder of a run with answers, or use the mode sample"
        raise BadInput("needs to know which variants flip", field=settings.mode, fix=fix)


def _says_what_is_sound(form: AnnotationForm) -> bool:
    """Whether answers mean, by the usual rules, that a variant is sound or not."""
    asked = {one.name: one for one in form.questions if one.kind in ("choice", "number")}
    rule = next((rule for rule in USUAL if set(rule.questions) <= set(asked)), None)
    if rule is None and len(form.questions) > 1:
        return False
    kind = "number" if rule and rule.is_rating else "choice"
    names = rule.questions if rule else tuple(asked)
    answers = {one.lower() for name in names if kind == "choice" for one in asked[name].choices}
    if not names or not answers <= YES | NO:
        return False
    return all(asked[name].kind == kind and not asked[name].optional for name in names)


def _fill(connection: sa.Connection, items: Sequence[Item], form: str, seed: int) -> None:
    """Write the items in an order at random, so that their numbers tell nothing."""
    order = list(items)
    Random(seed_for(seed, "items")).shuffle(order)
    rows, parts = [], []
    for number, item in enumerate(order, 1):
        values = {"bucket": item.bucket, "cluster": item.cluster, "stratum": item.stratum, "judge": item.judge}
        values |= {"flips": json.dumps(item.flips), "is_test": item.is_test, "author": item.author or None}
        rows.append({"id": number, "form": form, **values, "content": item.content(), "taken": 0})
        for place, part in enumerate(item.parts):
            expected = json.dumps(dict(part.expected))
            parts.append({"item": number, "number": place, "variant": part.variant, "is_control": part.is_control,
                          "expected": expected})  # fmt: skip
    connection.execute(sa.insert(ITEMS), rows)
    connection.execute(sa.insert(PARTS), parts)


# The items of a suite


def suite_items(suite: Suite, form: AnnotationForm, judge: str = "") -> list[Item]:
    """All that might be asked about a suite with this form; at least one."""
    table = kept(suite.table().lazy()).collect()
    judge = f"check:{judge}:score" if f"check:{judge}:score" in table.columns else judge
    if judge and judge not in table.columns:
        fix = f"name a check with scores, or a column: {', '.join(table.columns)}"
        raise BadInput("no such column", where=suite.name, field=judge, fix=fix)
    known = _Known(run_flips(suite), _column(table, judge), _column(table, "cluster"))
    every = reworded(table, suite.task)
    found = [item for bucket in every for item in _bucket_items(bucket, form, known)]
    if form.show == "reference":
        shown = sum(not part.is_control for item in found for part in item.parts)
        if left_out := sum(len(bucket.variants) for bucket in every) - shown:
            message = f"{left_out:,} variants do not reword exactly one text, and are left out: the form {form.name}"
            warnings.warn(f"{message} compares single sentences", stacklevel=caller_level())
    if not found:
        what = {"originals": "originals", "variants": "variants", "all": "texts"}[form.rows]
        fix = "give originals and variants: the output of vary --suite, two files, or a run folder"
        raise BadInput(f"has no {what} to ask about", where=suite.name, fix=fix)
    return found


class _Known(NamedTuple):
    """What is known of the rows of a suite by id, and not shown: flips by model, scores of a judge, clusters."""

    flips: Mapping[str, Mapping[str, float]]
    judge: Mapping[str, Any]
    cluster: Mapping[str, Any]


def _column(table: pl.DataFrame, name: str) -> dict[str, Any]:
    return dict(table.select("id", name).drop_nulls().iter_rows()) if name else {}


def _bucket_items(bucket: Bucket, form: AnnotationForm, known: _Known) -> Iterator[Item]:
    if form.show == "reference":
        yield from _references(bucket, form, known)
        return
    rows: list[Problem] = [bucket.problem] if form.rows in ("originals", "all") else []
    rows += bucket.variants if form.rows in ("variants", "all") else []
    for row in rows:
        changed = tuple(changed_fields(bucket.problem, row)) if form.show == "pair" else ()
        part = ItemPart(row.id, _texts(row))
        yield _item(bucket.problem, [row], (part,), changed, known)


def _references(bucket: Bucket, form: AnnotationForm, known: _Known) -> Iterator[Item]:
    """Pages of one reference, some sentences, and the reference itself as a control (PaRTE, B.2)."""
    by_field: dict[str, list[Variant]] = {}
    for variant in bucket.variants:
        changed = list(changed_fields(bucket.problem, variant))
        if len(changed) == 1:
            by_field.setdefault(changed[0], []).append(variant)
    for name, variants in by_field.items():
        for start in range(0, len(variants), form.sentences):
            some = variants[start : start + form.sentences]
            parts = (*(ItemPart(one.id, {name: one.text[name]}) for one in some), _control(bucket.problem, name, form))
            yield _item(bucket.problem, some, parts, (name,), known)


def _control(problem: Problem, field: str, form: AnnotationForm) -> ItemPart:
    expected = {one.name: one.expected for one in form.questions if one.expected}
    return ItemPart(problem.id, {field: problem.text[field]}, True, expected)


def _item(
    problem: Problem, rows: Sequence[Problem], parts: tuple[ItemPart, ...], fields: tuple[str, ...], known: _Known
) -> Item:
    """One page; it flips where any of its variants does, and is as sound to a judge as they are on average."""
    flips: dict[str, float] = {}
    for row in rows:
        for model, value in known.flips.get(row.id, {}).items():
            flips[model] = max(value, flips.get(model, 0.0))
    scores = [float(known.judge[row.id]) for row in rows if row.id in known.judge]
    authors = [str(row.extra[name]) for row in rows for name in AUTHORS if row.extra.get(name) is not None]
    how = {head_of(row.how) for row in rows if isinstance(row, Variant) and row.how}
    return Item(
        problem.id, _texts(problem), problem.label or "", parts, fields,
        cluster=str(known.cluster.get(problem.id, problem.id)), stratum="+".join(sorted(how)), flips=flips,
        judge=sum(scores) / len(scores) if scores else None, author="|".join(dict.fromkeys(authors)),
    )  # fmt: skip


def _texts(problem: Problem) -> dict[str, str]:
    return {name: normalize_spaces(text) for name, text in problem.text.items() if text}


def run_flips(suite: Suite) -> dict[str, dict[str, float]]:
    """Of every variant of a run, by model, whether its answer differs from the original's; empty without answers."""
    flips: dict[str, dict[str, float]] = {}
    for run in suite.runs:
        for answers in _answers(run):
            originals = answers.filter(pl.col("variant").fill_null("") == "").select("model", "bucket", first="pred")
            both = answers.filter(pl.col("variant").fill_null("") != "").join(originals, on=["model", "bucket"])
            for model, variant, pred, first in both.select("model", "variant", "pred", "first").iter_rows():
                flips.setdefault(variant, {})[model] = float(pred != first)
    return flips


def _answers(run: RunFolder) -> Iterator[pl.DataFrame]:
    """What a run's models answered, a few parts at a time; a damaged part is named."""
    with run.naming_damage():
        for part in run.batches("answers") if run.parts("answers") else ():
            yield answered(part.collect())[0]


def known_items(path: str, form: AnnotationForm, task: Task) -> list[Item]:
    """Items whose answers are known, to see who reads with care: a suite with columns `answer:QUESTION`."""
    opened = open_suite([path], task)
    table = opened.table()
    names = [question.name for question in form.questions if f"{KNOWN}{question.name}" in table.columns]
    if not names or form.rewords:
        needed = " or ".join(f"{KNOWN}{question.name}" for question in form.questions)
        fix = f"a form that people reword with has no test items; others need {needed}"
        raise BadInput("has no known answers", where=path, field=f"{KNOWN}{form.questions[0].name}", fix=fix)
    found = []
    for bucket in reworded(table, task):
        for row in bucket.variants if form.rows == "variants" else (bucket.problem, *bucket.variants):
            if expected := _expected(row, form, names, task, path):
                found.append(_known_item(bucket.problem, row, expected, form, path))
    if not found:
        raise BadInput("has no row with a known answer", where=path, fix=f"fill in {KNOWN}{names[0]}")
    return found


def _known_item(problem: Problem, row: Problem, expected: Mapping[str, str], form: AnnotationForm, where: str) -> Item:
    """A page that cannot be told from the others: one of a reference has a control, too."""
    changed = tuple(changed_fields(problem, row))
    parts = [ItemPart(row.id, _texts(row), expected=expected)]
    if form.show == "reference":
        if len(changed) != 1:
            fix = f"the form {form.name} compares single sentences; the reference itself is on every page"
            raise BadInput(f"rewords {len(changed)} texts", where=f"{where}, {row.id!r}", fix=fix)
        name = changed[0]
        parts = [ItemPart(row.id, {name: row.text[name]}, expected=expected), _control(problem, name, form)]
    return Item(problem.id, _texts(problem), problem.label or "", tuple(parts), changed, is_test=True)


def _expected(row: Problem, form: AnnotationForm, names: Sequence[str], task: Task, where: str) -> dict[str, str]:
    expected = {}
    for question in form.questions:
        value = row.extra.get(f"{KNOWN}{question.name}") if question.name in names else None
        if value is None or not str(value).strip():
            continue
        answer, wrong = question.read(str(value), task)
        if wrong:
            raise BadInput(f"found {value!r}", where=f"{where}, {row.id!r}", field=f"{KNOWN}{question.name}", fix=wrong)
        expected[question.name] = answer
    return expected
