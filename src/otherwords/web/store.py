"""The database of human verdicts: SQLite in WAL mode, or PostgreSQL by URL; an acknowledged verdict is on disk."""

import json
import os
import sqlite3
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ..errors import BadInput, MissingExtra, caller_level
from ..storage.files import use_wal

#: Tells SQLite files of ours from those of others ("OWvd").
APPLICATION_ID = 0x4F577664
VERSION = "1"
#: Held in PostgreSQL by a transaction that gives out items, so that no item is given out too often.
_GIVING_OUT = 7_230_511

META = sa.MetaData()
ABOUT = sa.Table("about", META, sa.Column("key", sa.Text, primary_key=True), sa.Column("value", sa.Text))
ITEMS = sa.Table(
    "items",
    META,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("form", sa.Text, nullable=False),
    sa.Column("batch", sa.Integer),  # null: not drawn yet
    sa.Column("bucket", sa.Text, nullable=False),
    sa.Column("cluster", sa.Text, nullable=False),
    sa.Column("stratum", sa.Text, nullable=False),
    sa.Column("flips", sa.Text, nullable=False),  # by model, where it is known
    sa.Column("judge", sa.Double),
    sa.Column("probability", sa.Double),  # fixed when the batch is drawn
    sa.Column("is_test", sa.Boolean, nullable=False),
    sa.Column("author", sa.Text),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("taken", sa.Integer, nullable=False),  # how many people have it, or have judged it
    sa.Index("open_items", "batch", "taken"),
)
PARTS = sa.Table(
    "parts",
    META,
    sa.Column("item", sa.ForeignKey("items.id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("variant", sa.Text, nullable=False),
    sa.Column("is_control", sa.Boolean, nullable=False),
    sa.Column("expected", sa.Text, nullable=False),
)
PEOPLE = sa.Table(
    "people",
    META,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("pseudonym", sa.Text, nullable=False, unique=True),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("consented_at", sa.Double),
)
INVITATIONS = sa.Table(
    "invitations",
    META,
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("person", sa.ForeignKey("people.id"), nullable=False, index=True),
    sa.Column("expires_at", sa.Double, nullable=False),
    sa.Column("used_at", sa.Double),
)
SESSIONS = sa.Table(
    "sessions",
    META,
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("person", sa.ForeignKey("people.id"), nullable=False, index=True),
    sa.Column("expires_at", sa.Double, nullable=False),
)
ASSIGNMENTS = sa.Table(
    "assignments",
    META,
    sa.Column("person", sa.ForeignKey("people.id"), primary_key=True),
    sa.Column("item", sa.ForeignKey("items.id"), primary_key=True, index=True),
    sa.Column("given_at", sa.Double, nullable=False),
    sa.Column("done_at", sa.Double),
    sa.Column("seconds", sa.Double),
    sa.Column("skipped", sa.Text),
    sa.Column("adjudicated", sa.Boolean, nullable=False),
)
ANSWERS = sa.Table(
    "answers",
    META,
    sa.Column("person", sa.Integer, primary_key=True),
    sa.Column("item", sa.Integer, primary_key=True),
    sa.Column("part", sa.Integer, primary_key=True),
    sa.Column("question", sa.Text, primary_key=True),
    sa.Column("answer", sa.Text, nullable=False),
    sa.ForeignKeyConstraint(["person", "item"], ["assignments.person", "assignments.item"]),
    sa.ForeignKeyConstraint(["item", "part"], ["parts.item", "parts.number"]),
)
_JOINED = """
from answers
join assignments on assignments.person = answers.person and assignments.item = answers.item
join people on people.id = answers.person
join items on items.id = answers.item
join parts on parts.item = answers.item and parts.number = answers.part
where assignments.done_at is not null"""
#: Of a batch, the share of items that somebody has judged: they were given out at random, so that this share times the
#: probability of being drawn is the probability of having been judged by now.
_JUDGED = """(select items.batch as batch,
1.0 * count(distinct assignments.item) / count(distinct items.id) as judged
from items left join assignments on assignments.item = items.id and assignments.done_at is not null
where items.batch is not null and not items.is_test group by items.batch)"""
#: Test items and controls are no part of the suite: they are in a view of their own, with the answer that was expected.
_VIEWS = {
    "verdicts": f"""select items.bucket as bucket, parts.variant as variant, items.form as form,
answers.question as question, answers.answer as answer, people.pseudonym as annotator,
items.probability * shares.judged as probability, items.batch as batch, assignments.seconds as seconds,
assignments.adjudicated as adjudicated
{_JOINED.replace("where", f"left join {_JUDGED} as shares on shares.batch = items.batch where")}
and not items.is_test and not parts.is_control""",
    "tests": f"""select items.id as item, answers.part as part, answers.question as question, answers.answer as answer,
people.pseudonym as annotator, parts.expected as expected, parts.is_control as is_control
{_JOINED} and (items.is_test or parts.is_control)""",
}


class Store:
    """An open database of verdicts. `reading` and `writing` give connections; a block that fails changes nothing."""

    def __init__(self, engine: sa.Engine, name: str):
        self.engine, self.name = engine, name
        self.is_sqlite = engine.dialect.name == "sqlite"
        self._one_writer = threading.Lock()  # SQLite has one writer; who waits here is served at once, not by polling
        self._flushing = _Flushing(f"{engine.url.database}-wal")

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection that changes nothing."""
        with self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self, giving_out: bool = False, durable: bool = True) -> Iterator[sa.Connection]:
        """A transaction that is on disk when the block has ended, or, not `durable`, with the next one that is.

        With `giving_out`, no other such block runs at the same time, in any process.
        """
        if self.is_sqlite:
            with self._one_writer, self.engine.execution_options(writing=True).begin() as connection:
                yield connection
            if durable:
                self._flushing.flush()
            return
        with self.engine.begin() as connection:
            if not durable:
                connection.execute(sa.text("set local synchronous_commit to off"))
            if giving_out:
                connection.execute(sa.text(f"select pg_advisory_xact_lock({_GIVING_OUT})"))
            yield connection

    def about(self) -> dict[str, Any]:
        """What the database says of itself: form, task, settings, the digest of its suite."""
        with self.reading() as connection:
            return {key: json.loads(value) for key, value in connection.execute(sa.select(ABOUT))}

    def note(self, **about: Any) -> None:
        """Change what the database says of itself."""
        rows = [{"key": key, "value": json.dumps(value)} for key, value in about.items()]
        with self.writing() as connection:
            connection.execute(sa.delete(ABOUT).where(ABOUT.c.key.in_(list(about))))
            connection.execute(sa.insert(ABOUT), rows)

    def forget(self) -> None:
        """Remove from the disk what was deleted before: it may be in SQLite's write-ahead log, or in old rows still."""
        if not self.is_sqlite:
            with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.execute(sa.text("vacuum (full) answers, assignments, sessions, invitations, people"))
            return
        with self.engine.connect() as connection:
            is_read, *_ = connection.connection.execute("pragma wal_checkpoint(truncate)").fetchone()
        if is_read:
            message = f"{self.name}: what was deleted is in the file {self.name}-wal until nobody reads the database"
            warnings.warn(f"{message}; close what does, and open it again", stacklevel=caller_level())

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


class _Flushing:
    """Puts SQLite's write-ahead log on the disk: once for all transactions that wait for it.

    That is what `synchronous = full` does after every transaction, one by one. A disk that takes 20 ms would then store
    50 verdicts a second, and everybody would wait for all others.
    """

    def __init__(self, path: str):
        self.path = path
        self._counting, self._disk = threading.Lock(), threading.Lock()
        self._asked = self._flushed = 0

    def flush(self) -> None:
        """Return when all that was committed before this call is on the disk."""
        with self._counting:
            self._asked += 1
            ticket = self._asked
        with self._disk:
            if self._flushed >= ticket:
                return  # somebody else's flush began after our commit
            with self._counting:
                latest = self._asked
            handle = os.open(self.path, os.O_RDWR)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
            self._flushed = latest


_ADDRESS = "a file, or postgresql://USER@HOST/DATABASE"


def is_address(name: str) -> bool:
    """Whether a name is a PostgreSQL address rather than a file."""
    return name.startswith(("postgresql:", "postgres:", "postgresql+psycopg:"))


def open_store(name: str) -> Store:
    """Open a database that is there; a file or database of somebody else is refused, and nothing in it is changed."""
    if not is_address(name) and Path(name).is_dir():
        raise BadInput("is a folder", where=name, fix="name a file in it, such as verdicts.db")
    if not is_address(name) and "://" in name:
        raise BadInput("is neither a file nor a PostgreSQL address", where=_shown(name), fix=f"use {_ADDRESS}")
    if not is_address(name) and not Path(name).is_file():
        raise BadInput("no such database", where=name, fix="make one: otherwords annotate SUITE --form FORM -o FILE.db")
    if not is_address(name) and Path(name).stat().st_size == 0:
        raise BadInput("is an empty file", where=name, fix="remove it, or name another")
    store = _connect(name)
    if not _is_ours(store):
        store.close()
        raise BadInput("is not a verdict database", where=_shown(name), fix="name a database that annotate created")
    return store


def create_store(name: str, about: Mapping[str, Any], fill: Callable[[sa.Connection], None]) -> Store:
    """Make a new database with its tables, views and items, or none: a file that is there is never touched."""
    if is_address(name):
        store = _connect(name)
        if sa.inspect(store.engine).get_table_names():
            store.close()
            raise BadInput("is not empty", where=_shown(name), fix="create a separate database for these verdicts")
    else:
        _refuse_place(name)
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))  # for its owner alone
        store = _connect(name)
    try:
        with store.writing() as connection:
            META.create_all(connection)
            for view, definition in _VIEWS.items():
                connection.execute(sa.text(f"create view {view} as {definition}"))
            rows = [{"key": key, "value": json.dumps(value)} for key, value in about.items()]
            connection.execute(sa.insert(ABOUT), [*rows, {"key": "schema", "value": json.dumps(VERSION)}])
            fill(connection)
    except BaseException as error:
        store.close()
        for ending in ("", "-wal", "-shm") if store.is_sqlite else ():
            Path(f"{name}{ending}").unlink(missing_ok=True)
        if isinstance(error, sa.exc.OperationalError):
            raise _unusable(name, error) from error
        raise
    return store


def exists(name: str) -> bool:
    """Whether there is something under this name already: a file, or tables in a database."""
    if not is_address(name):
        return Path(name).exists()
    store = _connect(name)
    try:
        return bool(sa.inspect(store.engine).get_table_names())
    finally:
        store.close()


def _refuse_place(name: str) -> None:
    if "://" in name:
        raise BadInput("is neither a file nor a PostgreSQL address", where=_shown(name), fix=f"use {_ADDRESS}")
    path = Path(name)
    if path.exists() or path.is_symlink():
        raise BadInput("already exists", where=name, fix="name another file, or remove it")
    if not path.absolute().parent.is_dir():
        raise BadInput(f"the folder {path.parent} does not exist", where=name, fix="create it, or choose another place")
    if not os.access(path.absolute().parent, os.W_OK):
        raise BadInput(f"{path.parent} is not writable", where=name, fix="name another place")


def _is_ours(store: Store) -> bool:
    try:
        if store.is_sqlite:
            with store.reading() as connection:
                if connection.exec_driver_sql("pragma application_id").scalar() != APPLICATION_ID:
                    return False
        return store.about().get("schema") == VERSION
    except sa.exc.OperationalError as error:
        if "no such table" in str(error):
            return False
        raise _unusable(store.name, error) from error
    except sa.exc.DatabaseError:  # no database
        return False


def _unusable(name: str, error: sa.exc.OperationalError) -> BadInput:
    """A disk is full, or a folder read-only: a reader, too, makes a log beside the database."""
    fix = "free some space, make its folder writable, or use another one"
    return BadInput(f"cannot be used: {error.orig}", where=_shown(name), fix=fix)


def _connect(name: str) -> Store:
    try:
        engine = _postgres(name) if is_address(name) else _sqlite(name)
    except ImportError as error:
        raise MissingExtra("verdicts in PostgreSQL", "postgres") from error
    except sa.exc.ArgumentError as error:
        raise BadInput(
            f"is not a valid address: {error}", where=_shown(name), fix="postgresql://USER@HOST/DATABASE"
        ) from error
    store = Store(engine, _shown(name))
    if not store.is_sqlite:
        try:
            engine.connect().close()
        except sa.exc.OperationalError as error:
            reason = str(error.orig).splitlines()[0]
            raise BadInput(f"cannot be reached: {reason}", where=store.name, fix="is the server running?") from error
    return store


def _postgres(name: str) -> sa.Engine:
    url = sa.make_url("postgresql+psycopg:" + name.partition(":")[2])
    settings = {"client_encoding": "utf8"}  # whatever the database has
    return sa.create_engine(url, pool_size=20, max_overflow=20, pool_pre_ping=True, connect_args=settings)


def _sqlite(name: str) -> sa.Engine:
    path = Path(name).absolute()
    is_new = path.stat().st_size == 0  # made by `create_store` a moment ago: others are refused before
    pool = {"poolclass": sa.pool.QueuePool, "pool_size": 20, "max_overflow": 20}
    engine = sa.create_engine(sa.URL.create("sqlite", database=str(path)), **pool, connect_args={"timeout": 30})

    def prepare(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None  # transactions begin where `begin` below says so
        if is_new:
            connection.execute(f"pragma application_id = {APPLICATION_ID}")
        if connection.execute("pragma application_id").fetchone()[0] == APPLICATION_ID:
            use_wal(connection)  # which would change a file of somebody else
            connection.execute("pragma synchronous = normal")  # the log is flushed by `_Flushing`
            connection.execute("pragma foreign_keys = on")
            connection.execute("pragma secure_delete = on")  # what a person has deleted is overwritten, not hidden

    def begin(connection: sa.Connection) -> None:
        writing = connection.get_execution_options().get("writing")
        connection.exec_driver_sql("begin immediate" if writing else "begin")

    sa.event.listen(engine, "connect", prepare)
    sa.event.listen(engine, "begin", begin)
    return engine


def _shown(name: str) -> str:
    """A name as messages may show it: without the password."""
    if not is_address(name) and "://" not in name:
        return name
    try:
        return sa.make_url(name).render_as_string(hide_password=True)
    except sa.exc.ArgumentError:
        return name.partition(":")[0] + ":…"
