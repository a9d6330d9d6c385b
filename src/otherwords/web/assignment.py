"""Who gets which page next, and what they answered: written in one transaction, once, under the person's own name.

Batches are drawn with probabilities that are fixed before (`significance.design`). Within a batch, pages come in an
order of each person's own: were pages preferred that somebody else has begun, two who work at the same time would have
the same order.
"""

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl
import sqlalchemy as sa

from ..significance.design import next_items
from ..storage.files import seed_for
from ..validity.people import COLUMNS, decide, read_verdicts, usual_rule
from .people import Person
from .store import ANSWERS, ASSIGNMENTS, ITEMS, PARTS, Store

#: A prime: numbers of items times a person's own number, modulo this, are that person's order.
_PRIME = 2_147_483_647
#: After this many seconds without an answer, a page that somebody holds is given to another person, too.
_LEFT_LYING = 24 * 3600.0


class Page(NamedTuple):
    """A page of a person: what it shows, and what they answered so far, by part and question."""

    item: int
    original: Mapping[str, str]
    label: str
    fields: Sequence[str]
    parts: Sequence[Mapping[str, str]]
    answers: Mapping[tuple[int, str], str]
    is_done: bool

    def order(self, seed: int, person: Person) -> list[int]:
        """The order in which the parts are shown to a person, so that the control is not always the last."""
        return sorted(range(len(self.parts)), key=lambda part: seed_for(seed, person.pseudonym, self.item, part))


class PersonProgress(NamedTuple):
    """How far a person is: pages they have done, skipped, and how many are left for them in what was drawn."""

    done: int
    skipped: int
    left: int


# Statements of every page are texts: SQLAlchemy takes longer to build expressions than SQLite to answer.
_HELD = sa.text(
    "select item from assignments where person = :person and not adjudicated and done_at is null and skipped is null "
    "order by given_at desc, item limit 1"
)
_GIVEN = sa.text("select count(*) from assignments where person = :person and not adjudicated")
_NOT_HAD = (
    "not exists (select 1 from assignments where person = :person and item = items.id) "
    "and (author is null or replace('|' || author || '|', '|' || :pseudonym || '|', '') = '|' || author || '|')"
)
_OPEN = "batch >= 1 and not is_test and taken < :overlap"  # `is not null` would read all items
#: The order of a person, by their own factor.
_IN_ORDER = f"order by batch, cast(id as bigint) * :factor % {_PRIME} limit 1"
_FIRST_OPEN = sa.text(f"select id from items where {_OPEN} and {_NOT_HAD} {_IN_ORDER}")
_FIRST_TEST = sa.text(f"select id from items where is_test and {_NOT_HAD} {_IN_ORDER}")
_FIRST_LEFT_LYING = sa.text(
    f"select id from items where batch >= 1 and not is_test and {_NOT_HAD} and taken - (select count(*) "
    "from assignments where item = items.id and done_at is null and skipped is null and given_at < :stale) < :overlap "
    f"{_IN_ORDER}"
)
_GIVE = sa.text("insert into assignments (person, item, given_at, adjudicated) values (:person, :item, :now, false)")
_TAKE = sa.text("update items set taken = taken + 1 where id = :item")
_PROGRESS = sa.text(
    "select count(done_at) as done, count(skipped) as skipped, "
    "sum(case when done_at is null and skipped is null then 1 else 0 end) as held, "
    f"(select count(*) from items where {_OPEN} and {_NOT_HAD}) as open "
    "from assignments where person = :person and not adjudicated"
)
_PAGE = sa.text(
    "select items.content as content, assignments.done_at as done_at from assignments join items on items.id = item "
    "where person = :person and item = :item and skipped is null"
)
_DONE = sa.text(
    "update assignments set done_at = :now, seconds = coalesce(seconds, :now - given_at) "
    "where person = :person and item = :item and skipped is null"
)
#: When a person was done with a page, with an answer or without.
_ENDED = sa.func.coalesce(ASSIGNMENTS.c.done_at, ASSIGNMENTS.c.given_at + ASSIGNMENTS.c.seconds, ASSIGNMENTS.c.given_at)
_CLEAR = sa.text("delete from answers where person = :person and item = :item")
_STORE = sa.text(
    "insert into answers (person, item, part, question, answer) values (:person, :item, :part, :question, :answer)"
)
_ANSWERS = sa.text("select part, question, answer from answers where person = :person and item = :item")


def next_page(store: Store, person: Person, about: Mapping[str, Any]) -> int | None:
    """The page that a person works on: the one they hold, else a new one; None where nothing is left for them.

    Who gets which page need not be on disk at once: a page that is given out twice does no harm.
    """
    with store.reading() as connection:
        if held := connection.execute(_HELD, {"person": person.id}).scalar():
            return int(held)
    with store.writing(giving_out=True, durable=False) as connection:
        if held := connection.execute(_HELD, {"person": person.id}).scalar():  # another window was faster
            return int(held)
        chosen = _choose(connection, person, about)
        if chosen is not None:
            connection.execute(_GIVE, {"person": person.id, "item": chosen, "now": time.time()})
            connection.execute(_TAKE, {"item": chosen})
    return chosen


def _choose(connection: sa.Connection, person: Person, about: Mapping[str, Any]) -> int | None:
    """An item that a person may get now: a test item every now and then, else one of the oldest batch that has any.

    Where there is none, a new batch is drawn, and then what others left lying for a day is given to somebody else.
    """
    known = _known(person, about)
    given = int(connection.execute(_GIVEN, known).scalar_one())
    every = about["every"]
    turn = seed_for(about["seed"], person.pseudonym, given // every) % every
    if given % every == turn and (test := connection.execute(_FIRST_TEST, known).scalar()):
        return int(test)
    found = connection.execute(_FIRST_OPEN, known).scalar()
    if found is None and draw_batch(connection, about):
        found = connection.execute(_FIRST_OPEN, known).scalar()
    if found is None:
        found = connection.execute(_FIRST_LEFT_LYING, {**known, "stale": time.time() - _LEFT_LYING}).scalar()
    return None if found is None else int(found)


def _known(person: Person, about: Mapping[str, Any]) -> dict[str, Any]:
    """What the statements need to know of a person."""
    factor = 1 + seed_for(about["seed"], person.pseudonym) % (_PRIME - 1)
    return {"person": person.id, "pseudonym": person.pseudonym, "factor": factor, "overlap": about["overlap"]}


def _own(person: Person) -> sa.ColumnElement[bool]:
    return sa.and_(ASSIGNMENTS.c.person == person.id, ASSIGNMENTS.c.adjudicated.is_(False))


def draw_batch(connection: sa.Connection, about: Mapping[str, Any]) -> bool:
    """Draw the next batch, with the probabilities that the mode gives now; False where all items were drawn.

    Pages of earlier batches that are left are those that somebody skipped or wrote: others get them first.
    """
    table = _design_table(connection, about)
    if table["asked"].all():
        return False
    number = 1 + (connection.execute(sa.select(sa.func.max(ITEMS.c.batch))).scalar() or 0)
    drawn = next_items(table, about["mode"], about["number"], seed_for(about["seed"], "batch", number) % 2**31)
    rows = [{"key": int(key), "p": p, "n": number} for _, key, p in drawn.iter_rows()]
    update = sa.update(ITEMS).where(ITEMS.c.id == sa.bindparam("key"))
    connection.execute(update.values(probability=sa.bindparam("p"), batch=sa.bindparam("n")), rows)
    return True


def _design_table(connection: sa.Connection, about: Mapping[str, Any]) -> pl.DataFrame:
    """All items as the design of a sample takes them; an item is known by its number, since it may have many parts."""
    columns = (
        ITEMS.c.id,
        ITEMS.c.bucket,
        ITEMS.c.cluster,
        ITEMS.c.stratum,
        ITEMS.c.flips,
        ITEMS.c.judge,
        ITEMS.c.batch,
    )
    rows = connection.execute(sa.select(*columns).where(ITEMS.c.is_test.is_(False)).order_by(ITEMS.c.id)).all()
    flips = [json.loads(row.flips) for row in rows]
    models = sorted({model for one in flips for model in one})
    sound = _soundness(connection) if about["mode"] == "most_useful_next" else {}
    return pl.DataFrame(
        {
            "bucket": [row.bucket for row in rows],
            "variant": [str(row.id) for row in rows],
            "cluster": [row.cluster for row in rows],
            "stratum": [row.stratum for row in rows],
            "asked": pl.Series([row.batch is not None for row in rows], dtype=pl.Boolean),
            **{f"flip:{model}": pl.Series([one.get(model) for one in flips], dtype=pl.Float64) for model in models},
            **({"judge": [row.judge for row in rows]} if any(row.judge is not None for row in rows) else {}),
            "sound": pl.Series([sound.get(row.id) for row in rows], dtype=pl.Float64),
        }
    )


def _soundness(connection: sa.Connection) -> dict[int, float]:
    """The share of an item's parts that people found sound so far, by the usual meaning of the form's questions."""
    rows = connection.execute(sa.text(f"select {', '.join(COLUMNS)} from verdicts")).all()
    if not rows:
        return {}
    verdicts = read_verdicts([dict(row._mapping) for row in rows])
    decided = decide(verdicts, usual_rule(verdicts))
    sound = {
        (bucket, variant): float(yes) for bucket, variant, yes in decided.select("bucket", "variant", "sound").rows()
    }
    shares: dict[int, list[float]] = {}
    query = sa.select(PARTS.c.item, PARTS.c.variant, ITEMS.c.bucket).join(ITEMS, ITEMS.c.id == PARTS.c.item)
    for row in connection.execute(query.where(PARTS.c.is_control.is_(False), ITEMS.c.is_test.is_(False))):
        if (row.bucket, row.variant) in sound:
            shares.setdefault(row.item, []).append(sound[row.bucket, row.variant])
    return {item: sum(some) / len(some) for item, some in shares.items()}


# A person's pages


def page_of(store: Store, person: Person, item: int) -> Page | None:
    """A page that was given to a person; None for all others, whether they exist or not."""
    with store.reading() as connection:
        found = connection.execute(_PAGE, {"person": person.id, "item": item}).first()
        return page_from(connection, item, found.content, person, found.done_at is not None) if found else None


def page_from(connection: sa.Connection, item: int, content: str, person: Person, is_done: bool) -> Page:
    """A page from its stored content and the person's answers."""
    rows = connection.execute(_ANSWERS, {"person": person.id, "item": item})
    answers = {(row.part, row.question): row.answer for row in rows}
    page = json.loads(content)
    return Page(item, page["original"], page["label"], page["fields"], page["parts"], answers, is_done)


def save(store: Store, person: Person, item: int, answers: Mapping[tuple[int, str], str], now: float = 0) -> bool:
    """Store all answers of a page, or none; the same page again replaces them. False where it is not the person's.

    When this returns, the verdict is on disk.
    """
    now = now or time.time()
    with store.writing() as connection:
        # The row is locked by the update, so that two windows of a person cannot write the same answers twice.
        done = connection.execute(_DONE, {"person": person.id, "item": item, "now": now})
        if not done.rowcount:
            return False
        write_answers(connection, person, item, answers)
    return True


def write_answers(connection: sa.Connection, person: Person, item: int, answers: Mapping[tuple[int, str], str]) -> None:
    """Put answers in the place of those before; blank ones are none."""
    connection.execute(_CLEAR, {"person": person.id, "item": item})
    rows = [
        {"person": person.id, "item": item, "part": part, "question": question, "answer": answer}
        for (part, question), answer in answers.items()
        if answer
    ]
    if rows:
        connection.execute(_STORE, rows)


def skip(store: Store, person: Person, item: int, reason: str) -> bool:
    """Give a page back with a reason; somebody else gets it. False where the person does not hold it."""
    with store.writing(giving_out=True) as connection:
        held = sa.and_(_own(person), ASSIGNMENTS.c.item == item, ASSIGNMENTS.c.skipped.is_(None))
        spent = time.time() - ASSIGNMENTS.c.given_at
        skipping = sa.update(ASSIGNMENTS).where(held).values(skipped=reason, done_at=None, seconds=spent)
        changed = connection.execute(skipping)
        if not changed.rowcount:
            return False
        connection.execute(sa.delete(ANSWERS).where(ANSWERS.c.person == person.id, ANSWERS.c.item == item))
        connection.execute(sa.update(ITEMS).where(ITEMS.c.id == item).values(taken=ITEMS.c.taken - 1))
    return True


def undo(store: Store, person: Person) -> int | None:
    """Open the page again that a person answered or skipped last, with its answers filled in; None without one."""
    with store.writing() as connection:
        last = connection.execute(
            sa.select(ASSIGNMENTS.c.item, ASSIGNMENTS.c.skipped)
            .where(_own(person), sa.or_(ASSIGNMENTS.c.done_at.is_not(None), ASSIGNMENTS.c.skipped.is_not(None)))
            .order_by(_ENDED.desc(), ASSIGNMENTS.c.item)
            .with_for_update()
        ).first()
        if not last:
            return None
        own_item = sa.and_(_own(person), ASSIGNMENTS.c.item == last.item)
        opened = sa.update(ASSIGNMENTS).where(own_item).values(done_at=None, skipped=None, given_at=time.time())
        if last.skipped is not None:
            opened = opened.values(seconds=None)
            connection.execute(_TAKE, {"item": last.item})
        connection.execute(opened)
    return int(last.item)


def progress(store: Store, person: Person, about: Mapping[str, Any]) -> PersonProgress:
    """How far a person is."""
    with store.reading() as connection:
        row = connection.execute(_PROGRESS, _known(person, about)).one()
    return PersonProgress(int(row.done), int(row.skipped), int(row.open) + int(row.held or 0))
