"""Who gets which page next, and what they answered: written in one transaction, once, under the person's own name.

Batches are drawn with probabilities that are fixed before (`significance.design`). Within a batch, pages come in an
order of each person's own; one that somebody else has begun comes first, so that agreement is known early.
"""

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl
import sqlalchemy as sa

from ..significance.design import next_items
from ..storage.files import seed_for
from ..validity.people import decide, read_verdicts, usual_rule
from .people import Person
from .store import ANSWERS, ASSIGNMENTS, ITEMS, PARTS, VERDICT_COLUMNS, Store

#: A prime: numbers of items times a person's own number, modulo this, are that person's order.
_PRIME = 2_147_483_647
#: After this many seconds without an answer, a page that somebody holds is given to another person, too.
_HELD = 24 * 3600.0


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


def next_page(store: Store, person: Person, about: Mapping[str, Any]) -> int | None:
    """The page that a person works on: the one they hold, else a new one; None where nothing is left for them."""
    with store.reading() as connection:
        if held := _held(connection, person):
            return held
    with store.writing(giving_out=True) as connection:
        if held := _held(connection, person):  # another window of the same person was faster
            return held
        chosen = _open_item(connection, person, about)
        if chosen is None and draw_batch(connection, about):
            chosen = _open_item(connection, person, about)
        if chosen is None:
            return None
        row = {"person": person.id, "item": chosen, "given_at": time.time(), "adjudicated": False}
        connection.execute(sa.insert(ASSIGNMENTS), row)
        connection.execute(sa.update(ITEMS).where(ITEMS.c.id == chosen).values(taken=ITEMS.c.taken + 1))
    return chosen


def _held(connection: sa.Connection, person: Person) -> int | None:
    found = connection.execute(
        sa.select(ASSIGNMENTS.c.item)
        .where(_own(person), ASSIGNMENTS.c.done_at.is_(None), ASSIGNMENTS.c.skipped.is_(None))
        .order_by(ASSIGNMENTS.c.given_at.desc())
    ).first()
    return int(found.item) if found else None


def _own(person: Person) -> sa.ColumnElement[bool]:
    return sa.and_(ASSIGNMENTS.c.person == person.id, ASSIGNMENTS.c.adjudicated.is_(False))


def _open_item(connection: sa.Connection, person: Person, about: Mapping[str, Any]) -> int | None:
    """An item that a person may get now: a test item every now and then, else one of the oldest batch that has any."""
    given = connection.execute(sa.select(sa.func.count()).select_from(ASSIGNMENTS).where(_own(person))).scalar_one()
    every = about["every"]
    turn = seed_for(about["seed"], person.pseudonym, given // every) % every
    if given % every == turn and (test := _first(connection, person, about, ITEMS.c.is_test)):
        return test
    return _first(connection, person, about, _is_open(about))


def _is_open(about: Mapping[str, Any]) -> sa.ColumnElement[bool]:
    """Items of a batch that too few people have; those who left a page lying for a day do not count."""
    left_lying = (
        sa.select(sa.func.count())
        .select_from(ASSIGNMENTS)
        .where(
            ASSIGNMENTS.c.item == ITEMS.c.id,
            ASSIGNMENTS.c.done_at.is_(None),
            ASSIGNMENTS.c.skipped.is_(None),
            ASSIGNMENTS.c.given_at < time.time() - _HELD,
        )
        .scalar_subquery()
    )
    few = sa.or_(ITEMS.c.taken < about["overlap"], ITEMS.c.taken - left_lying < about["overlap"])
    return sa.and_(ITEMS.c.batch.is_not(None), ITEMS.c.is_test.is_(False), few)


def _first(
    connection: sa.Connection, person: Person, about: Mapping[str, Any], which: sa.ColumnElement[bool]
) -> int | None:
    factor = 1 + seed_for(about["seed"], person.pseudonym) % (_PRIME - 1)
    own_order = (sa.cast(ITEMS.c.id, sa.BigInteger) * factor) % _PRIME
    begun = sa.case((ITEMS.c.taken > 0, 0), else_=1)
    had = sa.exists().where(ASSIGNMENTS.c.person == person.id, ASSIGNMENTS.c.item == ITEMS.c.id)
    by_others = sa.or_(ITEMS.c.author.is_(None), ITEMS.c.author != person.pseudonym)
    query = sa.select(ITEMS.c.id).where(which, ~had, by_others).order_by(ITEMS.c.batch, begun, own_order).limit(1)
    found = connection.execute(query).first()
    return int(found.id) if found else None


def draw_batch(connection: sa.Connection, about: Mapping[str, Any]) -> bool:
    """Draw the next batch, with the probabilities that the mode gives now; False where all items were drawn.

    Nobody draws while a batch has pages that nobody has seen: probabilities rest on all verdicts before them.
    """
    unseen = sa.select(ITEMS.c.id).where(ITEMS.c.batch.is_not(None), ITEMS.c.taken == 0, ITEMS.c.is_test.is_(False))
    if connection.execute(unseen.limit(1)).first():
        return False
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
    rows = connection.execute(sa.text(f"select {', '.join(VERDICT_COLUMNS)} from verdicts")).all()
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
        found = connection.execute(
            sa.select(ITEMS.c.content, ASSIGNMENTS.c.done_at)
            .join(ASSIGNMENTS, ASSIGNMENTS.c.item == ITEMS.c.id)
            .where(ASSIGNMENTS.c.person == person.id, ITEMS.c.id == item, ASSIGNMENTS.c.skipped.is_(None))
        ).first()
        return page_from(connection, item, found.content, person, found.done_at is not None) if found else None


def page_from(connection: sa.Connection, item: int, content: str, person: Person, is_done: bool) -> Page:
    """A page from its stored content and the person's answers."""
    own = (ANSWERS.c.person == person.id, ANSWERS.c.item == item)
    rows = connection.execute(sa.select(ANSWERS.c.part, ANSWERS.c.question, ANSWERS.c.answer).where(*own))
    answers = {(row.part, row.question): row.answer for row in rows}
    page = json.loads(content)
    return Page(item, page["original"], page["label"], page["fields"], page["parts"], answers, is_done)


def save(store: Store, person: Person, item: int, answers: Mapping[tuple[int, str], str], now: float = 0) -> bool:
    """Store all answers of a page, or none; the same page again replaces them. False where it is not the person's.

    When this returns, the verdict is on disk.
    """
    now = now or time.time()
    with store.writing() as connection:
        found = connection.execute(
            sa.select(ASSIGNMENTS.c.given_at, ASSIGNMENTS.c.seconds)
            .where(ASSIGNMENTS.c.person == person.id, ASSIGNMENTS.c.item == item, ASSIGNMENTS.c.skipped.is_(None))
            .with_for_update()
        ).first()
        if not found:
            return False
        write_answers(connection, person, item, answers)
        seconds = found.seconds if found.seconds is not None else max(0.0, now - found.given_at)
        mine = sa.and_(ASSIGNMENTS.c.person == person.id, ASSIGNMENTS.c.item == item)
        connection.execute(sa.update(ASSIGNMENTS).where(mine).values(done_at=now, seconds=round(seconds, 3)))
    return True


def write_answers(connection: sa.Connection, person: Person, item: int, answers: Mapping[tuple[int, str], str]) -> None:
    """Put answers in the place of those before; blank ones are none."""
    connection.execute(sa.delete(ANSWERS).where(ANSWERS.c.person == person.id, ANSWERS.c.item == item))
    rows = [
        {"person": person.id, "item": item, "part": part, "question": question, "answer": answer}
        for (part, question), answer in answers.items()
        if answer
    ]
    if rows:
        connection.execute(sa.insert(ANSWERS), rows)


def skip(store: Store, person: Person, item: int, reason: str) -> bool:
    """Give a page back with a reason; somebody else gets it. False where the person does not hold it."""
    with store.writing(giving_out=True) as connection:
        held = sa.and_(_own(person), ASSIGNMENTS.c.item == item, ASSIGNMENTS.c.skipped.is_(None))
        changed = connection.execute(sa.update(ASSIGNMENTS).where(held).values(skipped=reason, done_at=None))
        if not changed.rowcount:
            return False
        connection.execute(sa.delete(ANSWERS).where(ANSWERS.c.person == person.id, ANSWERS.c.item == item))
        connection.execute(sa.update(ITEMS).where(ITEMS.c.id == item).values(taken=ITEMS.c.taken - 1))
    return True


def undo(store: Store, person: Person) -> int | None:
    """Take back a person's last verdict: the page is open again, with its answers filled in; None without one."""
    with store.writing() as connection:
        last = connection.execute(
            sa.select(ASSIGNMENTS.c.item)
            .where(_own(person), ASSIGNMENTS.c.done_at.is_not(None))
            .order_by(ASSIGNMENTS.c.done_at.desc(), ASSIGNMENTS.c.item)
            .with_for_update()
        ).first()
        if not last:
            return None
        mine = sa.and_(_own(person), ASSIGNMENTS.c.item == last.item)
        connection.execute(sa.update(ASSIGNMENTS).where(mine).values(done_at=None, given_at=time.time()))
    return int(last.item)


def progress(store: Store, person: Person, about: Mapping[str, Any]) -> PersonProgress:
    """How far a person is."""
    with store.reading() as connection:
        done, skipped = connection.execute(
            sa.select(sa.func.count(ASSIGNMENTS.c.done_at), sa.func.count(ASSIGNMENTS.c.skipped)).where(_own(person))
        ).one()
        had = sa.exists().where(ASSIGNMENTS.c.person == person.id, ASSIGNMENTS.c.item == ITEMS.c.id)
        left = sa.select(sa.func.count()).select_from(ITEMS).where(_is_open(about), ~had)
        held = 1 if _held(connection, person) else 0
        return PersonProgress(int(done), int(skipped), int(connection.execute(left).scalar_one()) + held)
