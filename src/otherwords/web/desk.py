"""Pages for owners and adjudicators: progress, agreement, time, people, disagreements, exports."""

import json
import time
from collections.abc import Mapping
from statistics import median
from typing import Any, NamedTuple

import polars as pl
import sqlalchemy as sa
from starlette.responses import RedirectResponse, Response

from ..errors import BadInput, OtherwordsError
from ..significance.agreement import AgreementReport, agreement
from ..storage.tables import without_formulas
from . import exports, people
from .assignment import Page, page_from, write_answers
from .items import stored_form
from .pages import Asking, Site, View, read_answers, render, view_page
from .store import ANSWERS, ASSIGNMENTS, INVITATIONS, ITEMS, PARTS, PEOPLE, SESSIONS, Store

#: Replicates of the bootstrap: enough for a page that is looked at while people work.
_REPLICATES = 500
#: Of the disagreements, so many are listed on a page.
_LISTED = 50
_KINDS = {
    "verdicts.csv": ("verdicts", "text/csv"),
    "verdicts.jsonl": ("verdicts", "application/jsonl"),
    "rewordings.jsonl": ("rewordings", "application/jsonl"),
    "card.md": ("card", "text/markdown"),
}


class Row(NamedTuple):
    """One person in the table of people."""

    pseudonym: str
    role: str
    done: int
    skipped: int
    seconds: float | None
    tests: str
    state: str


class Dispute(NamedTuple):
    """An item on which annotators disagree: how many gave each answer, question by question."""

    item: int
    counts: Mapping[str, list[tuple[str, int]]]
    is_decided: bool


def overview(asking: Asking) -> Response:
    """Everything at a glance; a part of it is asked for again every few seconds."""
    return asking.page("overview.html", invited=[], **_numbers(asking))


def live(asking: Asking) -> Response:
    """The part of the overview that changes."""
    return Response(render("live.html", form=asking.site.form, **_numbers(asking)), media_type="text/html")


def _numbers(asking: Asking) -> dict[str, Any]:
    store = asking.site.store
    with store.reading() as connection:
        drawn, whole = (
            connection.execute(sa.select(sa.func.count()).select_from(ITEMS).where(*which)).scalar_one()
            for which in ([ITEMS.c.batch.is_not(None)], [ITEMS.c.is_test.is_(False)])
        )
        judged = connection.execute(
            sa.select(sa.func.count(ASSIGNMENTS.c.item.distinct()))
            .join(ITEMS, ITEMS.c.id == ASSIGNMENTS.c.item)
            .where(ASSIGNMENTS.c.done_at.is_not(None), ITEMS.c.is_test.is_(False))
        ).scalar_one()
    disputes = find_disputes(store)
    return {
        "agreement": agreement_now(asking.site),
        "whole": whole, "drawn": drawn, "judged": judged, "people": rows_of_people(store),
        "open_disputes": sum(not one.is_decided for one in disputes), "seconds": _median(exports.page_seconds(store)),
    }  # fmt: skip


def agreement_now(site: Site) -> AgreementReport | None:
    """How far annotators agree; None where nobody has judged what another did. Counted again when there is more."""
    with site.store.reading() as connection:
        done = sa.select(sa.func.count(), sa.func.max(ASSIGNMENTS.c.done_at)).where(ASSIGNMENTS.c.done_at.is_not(None))
        state = tuple(connection.execute(done).one())
    if site.agreement[0] != state:
        try:
            clusters = exports.bucket_clusters(site.store)
            found = agreement(exports.counted_answers(site.store), clusters, replicates=_REPLICATES)
        except BadInput:  # one annotator, or only texts
            found = None
        site.agreement = (state, found)
    return site.agreement[1]


def rows_of_people(store: Store) -> list[Row]:
    """Everybody, with what they did, how long a page takes them, and how they did on test items."""
    now = time.time()
    with store.reading() as connection:
        everybody = connection.execute(sa.select(PEOPLE).order_by(PEOPLE.c.id)).all()
        pages = connection.execute(
            sa.select(ASSIGNMENTS.c.person, ASSIGNMENTS.c.done_at, ASSIGNMENTS.c.seconds, ASSIGNMENTS.c.skipped)
        ).all()
        tests = connection.execute(sa.text("select annotator, question, answer, expected from tests")).all()
        sessions = sa.select(SESSIONS.c.person).where(SESSIONS.c.expires_at > now)
        links = sa.select(INVITATIONS.c.person).where(INVITATIONS.c.used_at.is_(None), INVITATIONS.c.expires_at > now)
        joined, open_links = (set(connection.execute(query).scalars()) for query in (sessions, links))
    rows = []
    for one in everybody:
        own = [page for page in pages if page.person == one.id]
        done = [page for page in own if page.done_at is not None]
        state = "active" if one.id in joined else "invited" if one.id in open_links else "no access"
        passed = _passed([test for test in tests if test.annotator == one.pseudonym])
        skipped = sum(page.skipped is not None for page in own)
        rows.append(Row(one.pseudonym, one.role, len(done), skipped, _median([p.seconds for p in done]), passed, state))
    return rows


def _passed(tests: list[Any]) -> str:
    """Of the known answers of test items and controls, how many a person gave."""
    known = [(json.loads(test.expected).get(test.question), test.answer) for test in tests]
    known = [(expected, answer) for expected, answer in known if expected is not None]
    return f"{sum(expected == answer for expected, answer in known)} of {len(known)}" if known else "–"


def _median(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


# Disagreements


def find_disputes(store: Store) -> list[Dispute]:
    """The items on which people differ, the undecided first: in a choice, or by more than a step of a scale.

    A step is one of few marks, or a quarter of a long scale: who says 90 and who says 95 agree.
    """
    about = store.about()
    form, _ = stored_form(about)
    steps = {one.name: max(1.0, (one.most - one.least) / 4) if one.kind == "number" else 0.0 for one in form.questions}
    names = [one.name for one in form.questions if one.kind in ("choice", "labels", "number")]
    query = (
        sa.select(ANSWERS.c.item, ANSWERS.c.part, ANSWERS.c.question, ANSWERS.c.answer, ASSIGNMENTS.c.adjudicated)
        .join(ASSIGNMENTS, sa.and_(ASSIGNMENTS.c.person == ANSWERS.c.person, ASSIGNMENTS.c.item == ANSWERS.c.item))
        .join(ITEMS, ITEMS.c.id == ANSWERS.c.item)
        .join(PARTS, sa.and_(PARTS.c.item == ANSWERS.c.item, PARTS.c.number == ANSWERS.c.part))
        .where(
            ASSIGNMENTS.c.done_at.is_not(None), ITEMS.c.is_test.is_(False), PARTS.c.is_control.is_(False),
            ANSWERS.c.question.in_(names),
        )
    )  # fmt: skip
    by_item: dict[int, dict[tuple[int, str], dict[str, int]]] = {}
    decided = set()
    with store.reading() as connection:
        for row in connection.execute(query):
            if row.adjudicated:
                decided.add(row.item)
                continue
            counts = by_item.setdefault(row.item, {}).setdefault((row.part, row.question), {})
            counts[row.answer] = counts.get(row.answer, 0) + 1
    found = []
    for item, by_question in sorted(by_item.items()):
        differing = {key: counts for key, counts in by_question.items() if _differ(list(counts), steps[key[1]])}
        if differing:
            shown = {_called(key, about): sorted(counts.items()) for key, counts in sorted(differing.items())}
            found.append(Dispute(item, shown, item in decided))
    return sorted(found, key=lambda one: one.is_decided)


def _differ(answers: list[str], step: float) -> bool:
    if not step:
        return len(answers) > 1
    marks = [float(answer) for answer in answers]
    return max(marks) - min(marks) > step


def _called(key: tuple[int, str], about: Mapping[str, Any]) -> str:
    part, name = key
    return f"{name} of sentence {part + 1}" if about["layout"]["show"] == "reference" else name


def disagreements(asking: Asking) -> Response:
    """The items that annotators disagree on."""
    disputes = find_disputes(asking.site.store)
    views = [(one, _view(asking, one.item)) for one in disputes[:_LISTED]]
    undecided = sum(not one.is_decided for one in disputes)
    return asking.page("decide.html", disputes=views, undecided=undecided, total=len(disputes))


def _page(asking: Asking, item: int) -> Page:
    with asking.site.store.reading() as connection:
        content = connection.execute(sa.select(ITEMS.c.content).where(ITEMS.c.id == item)).scalar_one()
        return page_from(connection, item, content, asking.who, False)


def _view(asking: Asking, item: int, **given: Any) -> View:
    site = asking.site
    return view_page(_page(asking, item), site.form, site.task, None, site.about["seed"], **given)


def show_dispute(asking: Asking) -> Response:
    """One disagreement, to be decided."""
    dispute = _dispute(asking)
    if not dispute:
        return asking.refused(404, "There is no disagreement on this page.")
    return asking.page("dispute.html", dispute=dispute, view=_view(asking, dispute.item))


def _dispute(asking: Asking) -> Dispute | None:
    item = asking.item
    return next((one for one in find_disputes(asking.site.store) if one.item == item), None)


def decide(asking: Asking) -> Response:
    """Store what an adjudicator decides; one decision an item, the last one counts."""
    site, dispute = asking.site, _dispute(asking)
    if not dispute:
        return asking.refused(404, "There is no disagreement on this page.")
    answers, errors = read_answers(asking.fields, _page(asking, dispute.item), site.form, site.task)
    if errors:
        view = _view(asking, dispute.item, answers=answers, errors=errors)
        return asking.page("dispute.html", 422, dispute=dispute, view=view)
    now = time.time()
    with site.store.writing(giving_out=True) as connection:
        earlier = sa.and_(ASSIGNMENTS.c.item == dispute.item, ASSIGNMENTS.c.adjudicated.is_(True))
        deciders = sa.select(ASSIGNMENTS.c.person).where(earlier)
        connection.execute(sa.delete(ANSWERS).where(ANSWERS.c.item == dispute.item, ANSWERS.c.person.in_(deciders)))
        connection.execute(sa.delete(ASSIGNMENTS).where(earlier))
        row = {"person": asking.who.id, "item": dispute.item, "given_at": now, "done_at": now, "adjudicated": True}
        connection.execute(sa.insert(ASSIGNMENTS), row)
        write_answers(connection, asking.who, dispute.item, answers)
    return RedirectResponse("/decide", 303)


# People and exports


def invite(asking: Asking) -> Response:
    """Make links; they are shown once."""
    fields = asking.fields
    count = fields.get("count", "") or "1"
    number = int(count) if count.isdecimal() and len(count) < 10 else 0
    try:
        made = people.invite(
            asking.site.store, fields.get("role", "annotator"), number, pseudonym=fields.get("pseudonym", "").strip()
        )
    except OtherwordsError as error:
        return asking.refused(422, f"Nobody was invited: {error}.")
    links = [(one.person, asking.site.link(one.token)) for one in made]
    return asking.page("overview.html", invited=links, **_numbers(asking))


def revoke(asking: Asking) -> Response:
    """Close somebody's links and sessions."""
    return _with_person(asking, people.revoke)


def delete(asking: Asking) -> Response:
    """Delete somebody's data."""
    if asking.fields.get("confirm") != asking.fields.get("pseudonym"):
        return asking.refused(422, "Nothing was deleted: type the pseudonym to confirm.")
    return _with_person(asking, people.delete_person)


def _with_person(asking: Asking, change: Any) -> Response:
    pseudonym = asking.fields.get("pseudonym", "")
    if pseudonym == asking.who.pseudonym:
        return asking.refused(422, "Nothing was changed: an owner's own access is closed on the command line.")
    try:
        change(asking.site.store, pseudonym)
    except OtherwordsError as error:
        return asking.refused(404, f"Nothing was changed: {error}.")
    return RedirectResponse("/overview", 303)


def download(asking: Asking) -> Response:
    """One of the exports."""
    found = _KINDS.get(asking.path["name"])
    if not found:
        return asking.refused(404, f"There is no such export; available: {', '.join(_KINDS)}.")
    what, kind = found
    store, name = asking.site.store, asking.path["name"]
    if what == "card":
        text = exports.data_card(store)
    else:
        table = exports.table_of(store, what)
        text = _as_csv(table) if name.endswith(".csv") else table.write_ndjson()
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=f"{kind}; charset=utf-8", headers=headers)


def _as_csv(table: pl.DataFrame) -> str:
    """A table that a spreadsheet opens with a click: what annotators typed is not run as a formula."""
    answers = without_formulas(table.lazy().select("answer")).collect()
    return table.with_columns(answers["answer"]).write_csv()


_OWNER = ("owner",)
_DECIDING = ("adjudicator", "owner")
ROUTES = [
    ("/overview", overview, _OWNER, "GET"),
    ("/overview/live", live, _OWNER, "GET"),
    ("/people/invite", invite, _OWNER, "POST"),
    ("/people/revoke", revoke, _OWNER, "POST"),
    ("/people/delete", delete, _OWNER, "POST"),
    ("/export/{name}", download, _OWNER, "GET"),
    ("/decide", disagreements, _DECIDING, "GET"),
    ("/decide/{item:int}", show_dispute, _DECIDING, "GET"),
    ("/decide/{item:int}", decide, _DECIDING, "POST"),
]
