"""What comes out: the table of verdicts, rewordings for the generator `recorded`, and a data card."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean, median
from typing import Any

import polars as pl
import sqlalchemy as sa

from ..errors import BadInput, UnknownName
from ..problem import Problem, Task
from ..significance.agreement import agreement
from ..storage import tables
from ..storage.files import is_stream, refuse_link, write_text
from ..validity.people import COLUMNS
from ..variants.recorded import paired
from .forms import AnnotationForm
from .items import stored_form
from .store import ANSWERS, ASSIGNMENTS, ITEMS, PARTS, PEOPLE, Store

#: What can be exported, and what each is.
EXPORTS = {
    "verdicts": "one row for each item, annotator and question",
    "rewordings": "rewordings for the generator recorded: those that people wrote, or that they found similar",
    "card": "a data card in Markdown: who was asked what, how, and how much they agree",
}
#: PaRTE keeps a sentence whose similarity is above this, on average over its raters.
_SIMILAR = 75.0


def verdict_table(store: Store) -> pl.DataFrame:
    """All verdicts, in an order that does not depend on when they were given."""
    order = "order by bucket, variant, annotator, question"
    with store.reading() as connection:
        rows = connection.execute(sa.text(f"select {', '.join(COLUMNS)} from verdicts {order}")).all()
    columns = list(zip(*rows, strict=True)) or [()] * len(COLUMNS)
    return pl.DataFrame(
        {name: _series(name, kind, values) for (name, kind), values in zip(COLUMNS.items(), columns, strict=True)}
    )


def counted_answers(store: Store) -> pl.DataFrame:
    """The verdicts whose agreement can be had: what people type where they like is not among them."""
    form, task = stored_form(store.about())
    typed = [name for name, question, _ in form.asked(task) if question.kind in ("text", "rewordings")]
    return verdict_table(store).filter(~pl.col("question").is_in(typed))


def bucket_clusters(store: Store) -> pl.DataFrame:
    """The cluster of each bucket."""
    with store.reading() as connection:
        rows = connection.execute(sa.select(ITEMS.c.bucket, ITEMS.c.cluster).distinct()).all()
    return pl.DataFrame([tuple(row) for row in rows], schema=["bucket", "cluster"], orient="row")


def _series(name: str, kind: Any, values: tuple[Any, ...]) -> pl.Series:
    if kind == pl.Boolean:  # SQLite has 0 and 1
        values = tuple(None if value is None else bool(value) for value in values)
    return pl.Series(name, values, dtype=kind)


def export(store: Store, what: str, out: str) -> int:
    """Write one of `EXPORTS` to a file; return how many rows it has. The card is Markdown."""
    if what not in EXPORTS:
        raise UnknownName(f"no export {what!r}; available: {', '.join(EXPORTS)}")
    if what == "card":
        return _write_card(store, out)
    tables.refuse_unwritable(out)
    table = table_of(store, what)
    if not table.height:
        raise BadInput(f"has no {what} yet", where=store.name, fix=_why_none(store, what))
    return tables.write([table], out)


def table_of(store: Store, what: str) -> pl.DataFrame:
    """The verdicts, or the rewordings, as a table."""
    if what == "verdicts":
        return verdict_table(store)
    rows = rewordings(store)
    return pl.DataFrame(rows, infer_schema_length=None) if rows else pl.DataFrame()


def _why_none(store: Store, what: str) -> str:
    if what == "verdicts":
        return "wait until somebody has answered a page"
    form, _ = stored_form(store.about())
    if form.rewords or _asks_similarity(form):
        return "wait until somebody has answered a page"
    return f"people who judge with the form {form.name} write none: export verdicts"


def _write_card(store: Store, out: str) -> int:
    if not out.endswith(".md") and not is_stream(Path(out)):
        raise BadInput("a data card is Markdown", where=out, fix="end the name in .md")
    refuse_link(Path(out))
    write_text(Path(out), data_card(store))
    return 1


def _asks_similarity(form: AnnotationForm) -> bool:
    kinds = {question.name: question.kind for question in form.questions}
    asked = (kinds.get("similarity"), kinds.get("grammatical"))
    return form.show == "reference" and asked == ("number", "choice")


def rewordings(store: Store) -> list[dict[str, Any]]:
    """Rows that the generator `recorded` reads: `of`, the reworded fields, and who wrote them.

    Rewordings of a-NLI's hypotheses are paired at random within their writer. Sentences that people rated (PaRTE) are
    kept where their mean similarity is above 75 and most find them grammatical; of several, the most similar; and a
    problem with both halves gives three rows.
    """
    form, task = stored_form(store.about())
    if form.rewords:
        return list(_written(store, task))
    return list(_assembled(store)) if _asks_similarity(form) else []


def _written(store: Store, task: Task) -> Iterator[dict[str, Any]]:
    query = (
        sa.select(ITEMS.c.bucket, ITEMS.c.content, PEOPLE.c.pseudonym, ANSWERS.c.question, ANSWERS.c.answer)
        .join(ITEMS, ITEMS.c.id == ANSWERS.c.item)
        .join(PEOPLE, PEOPLE.c.id == ANSWERS.c.person)
        .join(ASSIGNMENTS, sa.and_(ASSIGNMENTS.c.person == PEOPLE.c.id, ASSIGNMENTS.c.item == ITEMS.c.id))
        .where(ASSIGNMENTS.c.done_at.is_not(None), ANSWERS.c.question.contains(":"))
        .order_by(ITEMS.c.bucket, PEOPLE.c.pseudonym, ANSWERS.c.question)
    )
    with store.reading() as connection:
        rows = connection.execute(query).all()
    by_bucket: dict[str, list[Any]] = {}
    for row in rows:
        by_bucket.setdefault(row.bucket, []).append(row)
    seed = store.about()["seed"]
    for bucket, some in by_bucket.items():
        page = json.loads(some[0].content)
        problem = Problem(bucket, task, {name: page["original"].get(name, "") for name in task.fields}, None)
        cells = [{row.question.partition(":")[0]: row.answer, "worker": row.pseudonym} for row in some]
        if len(task.targets) == 2 and set(task.targets) == set(task.labels):
            cells = [dict(one) for one in paired(cells, problem, "worker", seed)]
        for number, cell in enumerate(cells, 1):
            yield {"id": f"{bucket}~people.{number}", "of": bucket, **cell}


def _assembled(store: Store) -> Iterator[dict[str, Any]]:
    """PaRTE's rows: the best sentence of each half that is similar and grammatical; P'-H, P-H' and P'-H'."""
    best: dict[str, dict[str, tuple[float, str]]] = {}
    for bucket, field, text, similarity in _rated(store):
        halves = best.setdefault(bucket, {})
        if similarity > _SIMILAR and (field not in halves or similarity > halves[field][0]):
            halves[field] = (similarity, text)
    for bucket, halves in sorted(best.items()):
        alone = [{field: halves[field]} for field in sorted(halves)]
        for number, some in enumerate([*alone, *([halves] if len(halves) > 1 else [])], 1):
            texts = {field: text for field, (_, text) in some.items()}
            similarity = min(value for value, _ in some.values())
            yield {"id": f"{bucket}~people.{number}", "of": bucket, **texts, "similarity": similarity}


def _rated(store: Store) -> Iterator[tuple[str, str, str, float]]:
    """The sentences that most found grammatical, with their mean similarity, in a fixed order."""
    table = verdict_table(store).filter(~pl.col("adjudicated"))
    marks = {
        (bucket, variant): dict(zip(*some.select("question", "answer"), strict=False))
        for (bucket, variant), some in table.group_by("bucket", "variant", "question")
        .agg("answer")
        .group_by("bucket", "variant")
    }
    query = sa.select(ITEMS.c.bucket, ITEMS.c.content, PARTS.c.number, PARTS.c.variant).join(
        ITEMS, ITEMS.c.id == PARTS.c.item
    )
    with store.reading() as connection:
        rows = connection.execute(query.where(PARTS.c.is_control.is_(False), ITEMS.c.is_test.is_(False))).all()
    for row in sorted(rows, key=lambda one: (one.bucket, one.variant)):
        given = marks.get((row.bucket, row.variant), {})
        page = json.loads(row.content)
        field = page["fields"][0]
        yes = [answer == "yes" for answer in given.get("grammatical", [])]
        if "similarity" in given and 2 * sum(yes) > len(yes):
            similarity = mean(float(one) for one in given["similarity"])
            yield row.bucket, field, page["parts"][row.number][field], similarity


# The data card


def data_card(store: Store) -> str:
    """What somebody who did not take part must know to use the verdicts, in Markdown."""
    about = store.about()
    form, task = stored_form(about)
    table = verdict_table(store)
    return "\n".join(
        [
            f"# Verdicts: {form.title}",
            "",
            *_card_table(store, about, form, table),
            "",
            "## What people were asked",
            "",
            *(f"{line}\n" for line in form.guidance.strip().splitlines()),
            *(f"- `{one.name}`: {one.ask} {_choices(one.options(task), one)}" for one in form.questions),
            "",
            "## How far annotators agree",
            "",
            *_agreed(store),
            "",
            "## How items were chosen",
            "",
            _chosen(about),
            "",
            "## What people agreed to",
            "",
            *(f"> {line}" for line in about["consent"].strip().splitlines()),
            "",
        ]
    )


def _card_table(store: Store, about: Mapping[str, Any], form: AnnotationForm, table: pl.DataFrame) -> Iterator[str]:
    spent = [seconds for seconds in page_seconds(store) if seconds is not None]
    first, last = _dates(store)
    rows = {
        "suite": ", ".join(about["suite"]),
        "task": about["task"]["name"],
        "form": f"`{form.name}` ({form.source})" if form.source else f"`{form.name}`",
        "annotators": table.filter(~pl.col("adjudicated"))["annotator"].n_unique(),
        "variants judged": table.select("bucket", "variant").n_unique(),
        "verdicts": table.height,
        "of them adjudicated": int(table["adjudicated"].sum()),
        "pages skipped": _skipped(store),
        "median seconds a page": f"{median(spent):.0f}" if spent else "–",
        "collected": f"{first} to {last}" if first else "not yet",
        "otherwords": about["otherwords"],
    }
    yield "| | |"
    yield "|---|---|"
    yield from (f"| {name} | {value} |" for name, value in rows.items())


def _agreed(store: Store) -> Iterator[str]:
    """A row for each question and coefficient; what was adjudicated does not count."""
    answers = counted_answers(store)
    if not answers.height:
        yield "Not known: nobody has answered a question with choices or marks."
        return
    try:
        found = agreement(answers, bucket_clusters(store))
    except BadInput as error:
        yield f"Not known: {error.message}."
        return
    yield "| question | coefficient | value | 95 % interval | items |"
    yield "|---|---|---|---|---|"
    for one in found.questions:
        value, low, high = ("–" if number is None else f"{number:.2f}" for number in (one.value, one.low, one.high))
        yield f"| {one.question} | {one.measure} | {value} | {low} to {high} | {one.items} |"


def _choices(options: tuple[str, ...], question: Any) -> str:
    if options:
        return f"({', '.join(options)})"
    return f"({question.least} to {question.most})" if question.kind == "number" else "(text)"


def _chosen(about: Mapping[str, Any]) -> str:
    drawn = f"In batches of {about['number']} by the mode `{about['mode']}` (seed {about['seed']})"
    return (
        f"{drawn}, with {about['overlap']} people for each item. The column `probability` is the item's probability of "
        "being drawn into its batch, times the share of that batch that was judged. Annotators saw neither which "
        "generator wrote a text nor any model's answer, in an order of their own."
    )


def _skipped(store: Store) -> str:
    """How many pages were given back, and why: what somebody cannot decide is not missing at random."""
    query = sa.select(ASSIGNMENTS.c.skipped).where(ASSIGNMENTS.c.skipped.is_not(None))
    with store.reading() as connection:
        reasons = Counter(reason.partition(":")[0] for reason in connection.execute(query).scalars())
    listed = ", ".join(f"{reason.lower()}: {count}" for reason, count in sorted(reasons.items()))
    return f"{reasons.total()} ({listed})" if reasons else "0"


def page_seconds(store: Store) -> list[float | None]:
    """How long each answered page took."""
    with store.reading() as connection:
        return [row.seconds for row in connection.execute(
            sa.select(ASSIGNMENTS.c.seconds).where(ASSIGNMENTS.c.done_at.is_not(None))
        )]  # fmt: skip


def _dates(store: Store) -> tuple[str, str]:
    with store.reading() as connection:
        query = sa.select(sa.func.min(ASSIGNMENTS.c.done_at), sa.func.max(ASSIGNMENTS.c.done_at))
        ends = connection.execute(query).one()
    first, last = (datetime.fromtimestamp(one, UTC).date().isoformat() if one else "" for one in ends)
    return first, last
