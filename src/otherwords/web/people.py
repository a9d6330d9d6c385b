"""Who takes part: invitation links that work once, roles, sessions, pseudonyms; and how their data are deleted."""

import hashlib
import re
import secrets
import time
from dataclasses import dataclass

import sqlalchemy as sa

from ..errors import BadInput, UnknownName
from .store import ABOUT, ANSWERS, ASSIGNMENTS, INVITATIONS, ITEMS, PEOPLE, SESSIONS, Store

#: An annotator judges; an adjudicator decides what annotators disagree on; an owner also sees, invites and exports.
ROLES = ("annotator", "adjudicator", "owner")
DAY = 24 * 3600.0
#: How long a session lasts, in days; who comes later is invited again and goes on where they were.
SESSION_DAYS = 30.0
_SESSION = sa.text(
    "select people.id, people.pseudonym, people.role from sessions join people on people.id = sessions.person "
    "where sessions.digest = :digest and sessions.expires_at > :now"
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


@dataclass(frozen=True)
class Person:
    """Somebody who takes part, by pseudonym: no name or address is stored."""

    id: int
    pseudonym: str
    role: str

    @property
    def decides(self) -> bool:
        """Whether they may see what annotators disagree on."""
        return self.role in ("adjudicator", "owner")


@dataclass(frozen=True)
class Invitation:
    """A link that was given out: its secret exists here only; the database has a digest."""

    person: Person
    token: str
    days: float


def invite(
    store: Store, role: str = "annotator", count: int = 1, *, pseudonym: str = "", days: float = 7.0
) -> list[Invitation]:
    """Make invitation links, one a person. Who has the `pseudonym` already goes on where they were."""
    if role not in ROLES:
        raise UnknownName(f"no role {role!r}; available: {', '.join(ROLES)}")
    if not 1 <= count <= 1000 or (pseudonym and count > 1):
        raise BadInput(f"found {count}", field="count", fix="invite 1 to 1000 people; with a pseudonym, one")
    if not 0 < days <= 365:
        raise BadInput(f"found {days}", field="days", fix="give a number of days above 0, at most 365")
    if pseudonym and not _NAME.fullmatch(pseudonym):
        fix = "use 1 to 40 letters, digits, dots, - or _"
        raise BadInput(f"found {pseudonym!r}", field="pseudonym", fix=fix)
    made = []
    with store.writing(giving_out=True) as connection:
        for _ in range(count):
            person = _person(connection, role, pseudonym)
            token, now = secrets.token_urlsafe(32), time.time()
            row = {"digest": hashed(token), "person": person.id, "expires_at": now + days * DAY}
            connection.execute(sa.insert(INVITATIONS), row)
            made.append(Invitation(person, token, days))
    return made


def invite_missing(store: Store, annotators: int) -> list[Invitation]:
    """Invite an owner, and as many annotators as are not there yet; an owner always gets a new link."""
    with store.reading() as connection:
        roles = [role for (role,) in connection.execute(sa.select(PEOPLE.c.role).order_by(PEOPLE.c.id))]
        owner = connection.execute(sa.select(PEOPLE.c.pseudonym).where(PEOPLE.c.role == "owner")).scalar() or ""
    missing = annotators - roles.count("annotator")
    return invite(store, "owner", pseudonym=owner) + (invite(store, "annotator", missing) if missing > 0 else [])


def _person(connection: sa.Connection, role: str, pseudonym: str) -> Person:
    """The person of this pseudonym, or a new one."""
    found = connection.execute(sa.select(PEOPLE).where(PEOPLE.c.pseudonym == pseudonym)).first() if pseudonym else None
    if found:
        if found.role != role:
            fix = f"invite them as {found.role}, or choose another pseudonym"
            raise BadInput(f"is {found.role}, not {role}", field=pseudonym, fix=fix)
        return Person(found.id, found.pseudonym, found.role)
    name = pseudonym or _free_name(connection, role)
    row = {"pseudonym": name, "role": role, "created_at": time.time()}
    number = connection.execute(sa.insert(PEOPLE).returning(PEOPLE.c.id), row).scalar_one()
    return Person(number, name, role)


def _free_name(connection: sa.Connection, role: str) -> str:
    """A pseudonym that nobody has or had: exports may name somebody who was deleted since."""
    key = f"made:{role}"
    made = connection.execute(sa.select(ABOUT.c.value).where(ABOUT.c.key == key)).scalar()
    number = int(made or 0) + 1
    while connection.execute(sa.select(PEOPLE.c.id).where(PEOPLE.c.pseudonym == f"{role}-{number}")).first():
        number += 1
    connection.execute(sa.delete(ABOUT).where(ABOUT.c.key == key))
    connection.execute(sa.insert(ABOUT), {"key": key, "value": str(number)})
    return f"{role}-{number}"


def invited(store: Store, token: str) -> Person | None:
    """Who a link is for, if it can still be used."""
    with store.reading() as connection:
        return _invited(connection, token)


def _invited(connection: sa.Connection, token: str) -> Person | None:
    found = connection.execute(
        sa.select(PEOPLE.c.id, PEOPLE.c.pseudonym, PEOPLE.c.role)
        .join(INVITATIONS, INVITATIONS.c.person == PEOPLE.c.id)
        .where(
            INVITATIONS.c.digest == hashed(token),
            INVITATIONS.c.used_at.is_(None),
            INVITATIONS.c.expires_at > time.time(),
        )
    ).first()
    return Person(*found) if found else None


def join(store: Store, token: str) -> str | None:
    """Use up a link: the secret of a new session; None where the link was used, revoked, has expired or never was."""
    with store.writing() as connection:
        used = connection.execute(
            sa.update(INVITATIONS)
            .where(
                INVITATIONS.c.digest == hashed(token),
                INVITATIONS.c.used_at.is_(None),
                INVITATIONS.c.expires_at > time.time(),
            )
            .values(used_at=time.time())
            .returning(INVITATIONS.c.person)
        ).first()
        if not used:
            return None
        secret = secrets.token_urlsafe(32)
        row = {"digest": hashed(secret), "person": used.person, "expires_at": time.time() + SESSION_DAYS * DAY}
        connection.execute(sa.insert(SESSIONS), row)
        consented = sa.update(PEOPLE).where(PEOPLE.c.id == used.person, PEOPLE.c.consented_at.is_(None))
        connection.execute(consented.values(consented_at=time.time()))
    return secret


def person_of(store: Store, secret: str) -> Person | None:
    """Whose session this is, if it is one."""
    with store.reading() as connection:
        found = connection.execute(_SESSION, {"digest": hashed(secret), "now": time.time()}).first()
    return Person(*found) if found else None


def leave(store: Store, secret: str) -> None:
    """End a session."""
    with store.writing() as connection:
        connection.execute(sa.delete(SESSIONS).where(SESSIONS.c.digest == hashed(secret)))


def find_person(store: Store, pseudonym: str) -> Person:
    """The person of this pseudonym."""
    with store.reading() as connection:
        rows = connection.execute(sa.select(PEOPLE.c.id, PEOPLE.c.pseudonym, PEOPLE.c.role)).all()
    for row in rows:
        if row.pseudonym == pseudonym:
            return Person(*row)
    raise UnknownName(f"no person is called {pseudonym!r}; available: {', '.join(sorted(r.pseudonym for r in rows))}")


def revoke(store: Store, pseudonym: str) -> Person:
    """Close all links and sessions of a person; the verdicts stay."""
    person = find_person(store, pseudonym)
    with store.writing() as connection:
        connection.execute(sa.delete(INVITATIONS).where(INVITATIONS.c.person == person.id))
        connection.execute(sa.delete(SESSIONS).where(SESSIONS.c.person == person.id))
    return person


def delete_person(store: Store, pseudonym: str) -> int:
    """Delete a person with all that they did; items go back to the others. Returns how many verdicts were deleted."""
    person = find_person(store, pseudonym)
    with store.writing(giving_out=True) as connection:
        own = ASSIGNMENTS.c.person == person.id
        held = sa.select(ASSIGNMENTS.c.item).where(
            own, ASSIGNMENTS.c.skipped.is_(None), ASSIGNMENTS.c.adjudicated.is_(False)
        )
        connection.execute(sa.update(ITEMS).where(ITEMS.c.id.in_(held)).values(taken=ITEMS.c.taken - 1))
        done = sa.select(sa.func.count()).select_from(ASSIGNMENTS).where(own, ASSIGNMENTS.c.done_at.is_not(None))
        count = int(connection.execute(done).scalar_one())
        for table in (ANSWERS, ASSIGNMENTS, SESSIONS, INVITATIONS):
            connection.execute(sa.delete(table).where(table.c.person == person.id))
        connection.execute(sa.delete(PEOPLE).where(PEOPLE.c.id == person.id))
    store.forget()
    return count


def hashed(secret: str) -> str:
    """What the database keeps of a secret; one of 256 random bits needs no salt."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
