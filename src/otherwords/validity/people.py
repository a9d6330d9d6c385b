"""Human verdicts: one row per item, annotator and question, from a file or a database; and what they decide.

A table of verdicts has the columns of `COLUMNS`. Files may lack all but `variant` and `answer`; a file in the layout of
the check `human` (`id`, `verdict`) is one, too. `annotate` keeps its own as a view of that name in a database.
"""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ..datasets.source import plain_records
from ..errors import BadInput, MissingExtra, shorten
from ..problem import label_key
from ..storage import tables
from ..storage.in_memory import AnyTable, frame_or_name

#: The columns of a table of verdicts, and what they hold. `probability` is that of the item to be in its batch.
COLUMNS: Mapping[str, Any] = {
    "bucket": pl.String,
    "variant": pl.String,
    "form": pl.String,
    "question": pl.String,
    "answer": pl.String,
    "annotator": pl.String,
    "probability": pl.Float64,
    "batch": pl.Int64,
    "seconds": pl.Float64,
    "adjudicated": pl.Boolean,
}
#: The view, or table, of a database that has them.
VIEW = "verdicts"
#: Other names of columns, as the check `human` and sheets of verdicts have them.
OTHER_NAMES = {"id": "variant", "verdict": "answer"}
YES = frozenset({"yes", "y", "true", "1", "valid", "keep", "sound", "good", "ok"})
NO = frozenset({"no", "n", "false", "0", "invalid", "drop", "unsound", "bad"})
#: How tables write that there is nothing; what pandas and R write among them. "None" may be an answer.
BLANK = frozenset({"", "na", "n/a", "nan", "null", "<na>"})
_TRUE_OR_FALSE = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
#: How a file that is a SQLite database begins.
_SQLITE = b"SQLite format 3\0"
#: Addresses of PostgreSQL, as `annotate` takes them.
_SERVERS = ("postgresql://", "postgres://", "postgresql+psycopg://")


def read_verdicts(source: AnyTable | str | Path) -> pl.DataFrame:
    """All verdicts of a file, a SQLite database, a PostgreSQL server (by URL) or a table, with all columns.

    What a file lacks is empty: one annotator, one question, one batch, and no probability. Blank answers are left out.
    """
    given = frame_or_name(source, "the verdicts")
    where = given if isinstance(given, str) else "the verdicts"
    table = given if isinstance(given, pl.DataFrame) else _read(given)
    if where.startswith(_SERVERS):
        where = "the PostgreSQL server"  # its URL may hold a password
    table = _standard(table, where)
    _refuse_unusable(table, where)
    blank = pl.col("answer").str.strip_chars().str.to_lowercase().is_in(list(BLANK))
    filled = table.filter(pl.col("answer").is_not_null() & ~blank)
    if not filled.height:
        raise BadInput("contains no verdicts", where=where, fix="give one row per judged variant and question")
    return filled


def has_questions(path: Path) -> bool:
    """Whether a file is a database, or a table with a row for each question, and not one for each variant."""
    if not path.is_file() or _is_database(path):
        return path.is_file()
    first = next(iter(plain_records(path)), None)
    return first is not None and {"question", "answer"} <= set(first.row)


def _is_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _read(source: str) -> pl.DataFrame:
    if source.startswith(_SERVERS):
        return _from_postgres("postgresql://" + source.partition("://")[2])
    if "://" in source:
        where = source.partition("://")[0] + "://…"  # what follows may hold a password
        fix = "use a file, or postgresql://USER@HOST/DATABASE"
        raise BadInput("is neither a file nor a PostgreSQL address", where=where, fix=fix)
    if Path(source).is_file() and _is_database(Path(source)):
        return _from_sqlite(Path(source))
    return tables.read(source, texts=("question", "answer", "annotator", "form", "verdict"))


def _from_sqlite(path: Path) -> pl.DataFrame:
    """The view of a database that nobody can change through this connection."""
    place = path.resolve()
    # With no log beside it nobody writes to it, and a reader need make none: it may lie where nothing can be written.
    how = "mode=ro" if Path(f"{place}-wal").exists() else "immutable=1"
    try:
        with closing(sqlite3.connect(f"{place.as_uri()}?{how}", uri=True)) as database:
            cursor = database.execute(f"SELECT * FROM {VIEW}")
            return _frame([one[0] for one in cursor.description], cursor.fetchall())
    except sqlite3.Error as error:
        fix = f"give a database that `annotate` wrote, with a view `{VIEW}`"
        raise BadInput(f"cannot be read: {error}", where=str(path), fix=fix) from error


def _from_postgres(url: str) -> pl.DataFrame:
    try:
        import psycopg
    except ModuleNotFoundError as error:
        raise MissingExtra("verdicts on a PostgreSQL server", "postgres") from error
    try:
        with psycopg.connect(url, connect_timeout=10) as database, database.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {VIEW}")
            return _frame([one.name for one in cursor.description or ()], cursor.fetchall())
    except psycopg.Error as error:
        fix = f"check its URL, and that `annotate` made the view `{VIEW}` there"
        message = f"cannot be read: {type(error).__name__}"  # whose text may hold the password
        raise BadInput(message, where="the PostgreSQL server", fix=fix) from None


def _frame(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> pl.DataFrame:
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return pl.DataFrame({name: pl.Series(values, dtype=_kind(values)) for name, values in columns.items()})


def _kind(values: Sequence[Any]) -> Any:
    """Text where there are only texts or nothing, else what Polars finds."""
    return pl.String if all(value is None or isinstance(value, str) for value in values) else None


def _standard(table: pl.DataFrame, where: str) -> pl.DataFrame:
    """The columns of a table of verdicts, in order and of their kinds; those that are not there filled in."""
    renamed = {old: new for old, new in OTHER_NAMES.items() if old in table.columns and new not in table.columns}
    table = table.rename(renamed)
    if lost := [name for name in ("variant", "answer") if name not in table.columns]:
        fix = f"give {', '.join(COLUMNS)}, or id and verdict; found {', '.join(table.columns) or 'no column'}"
        raise BadInput("no such column", where=where, field=lost[0], fix=fix)
    filled = {"form": "", "question": "", "annotator": "", "batch": 1, "adjudicated": False}
    columns = [
        _cast(table[name], kind, where) if name in table.columns else pl.lit(None, dtype=kind).alias(name)
        for name, kind in COLUMNS.items()
    ]
    return table.select(columns).with_columns(pl.col(name).fill_null(value) for name, value in filled.items())


def _cast(column: pl.Series, kind: Any, where: str) -> pl.Series:
    try:
        if kind == pl.Boolean and column.dtype == pl.String:
            texts = column.str.strip_chars().str.to_lowercase()
            return texts.replace_strict({**_TRUE_OR_FALSE, **dict.fromkeys(BLANK)}, return_dtype=kind)
        if kind == pl.Int64 and column.dtype.is_float():
            return column.cast(pl.String).str.strip_suffix(".0").cast(kind)  # no 1.5
        return column.cast(kind)
    except pl.exceptions.PolarsError as error:
        what = {pl.Float64: "numbers", pl.Int64: "whole numbers", pl.Boolean: "true or false"}.get(kind, "texts")
        raise BadInput(f"found {column.dtype}", where=where, field=column.name, fix=f"give {what}") from error


def _refuse_unusable(table: pl.DataFrame, where: str) -> None:
    """Refuse rows without a variant, impossible probabilities, and two answers of one person to one question."""
    key = ["bucket", "variant", "question", "annotator", "adjudicated"]
    named = (pl.col("annotator") != "") & pl.struct(key).is_duplicated()
    checks = (
        ("variant", pl.col("variant").fill_null("").str.strip_chars() == "", "found nothing", "give the variant's id"),
        ("probability", ~pl.col("probability").is_between(0, 1, closed="right"), "no probability of being asked",
         "give a number above 0, at most 1, or nothing where it is not known"),
        ("batch", pl.col("batch") < 1, "no batch", "number batches from 1"),
        ("annotator", named, "has two answers to one question", "remove one of the two"),
    )  # fmt: skip
    for field, wrong, message, fix in checks:
        rows = table.select(wrong.fill_null(False)).to_series().arg_true()
        if len(rows):
            found = table[field][rows[0]]
            message = f"{message}: {shorten(found)}" if found not in (None, "") else message
            raise BadInput(message, where=f"{where}, row {rows[0] + 1}", field=field, fix=fix)


# What they decide


@dataclass(frozen=True)
class Sound:
    """Which answers mean that a variant is sound: the sum of some questions, held against a mark; this answer; a yes.

    >>> [str(Sound.parse(text)) for text in ("fluency + reasoning >= 9", "error=none", "equivalent")]
    ['fluency+reasoning>=9', 'error=none', 'equivalent']
    """

    questions: tuple[str, ...]
    least: float | None = None
    above: float | None = None
    answer: str = ""

    @classmethod
    def parse(cls, text: str, field: str = "sound") -> "Sound":
        """From `QUESTION`, `QUESTION=ANSWER`, or `QUESTION+QUESTION>=MARK` (or `>`)."""
        found = re.fullmatch(r"\s*([^<>=+]+(?:\+[^<>=+]+)*?)\s*(?:(>=|>|=)\s*([^<>=]+?))?\s*", text)
        names = tuple(name.strip() for name in found[1].split("+")) if found else ()
        sign, mark = (found[2] or "", found[3] or "") if found else ("", "")
        if len(names) == 1 and names[0] and sign in ("", "="):
            return cls(names, answer=mark.lower())
        if not all(names) or sign not in (">=", ">") or not re.fullmatch(r"-?\d+(\.\d+)?", mark):
            fix = "write QUESTION for a yes, QUESTION=ANSWER, or QUESTION>=MARK or QUESTION+QUESTION>=MARK for ratings"
            raise BadInput(f"cannot read {text!r}", field=field, fix=fix)
        return cls(names, float(mark) if sign == ">=" else None, float(mark) if sign == ">" else None)

    def __str__(self) -> str:
        """As it is parsed.

        >>> str(Sound(("similarity",), above=75.0)), str(Sound(("",)))
        ('similarity>75', '')
        """
        sign, mark = (">=", self.least) if self.least is not None else (">", self.above)
        end = f"={self.answer}" if self.answer else "" if mark is None else f"{sign}{mark:g}"
        return "+".join(self.questions) + end

    @property
    def is_rating(self) -> bool:
        """Whether answers are numbers."""
        return self.least is not None or self.above is not None


#: What counts as sound where a form asks these questions; MERGE counts F+R >= 9, PaRTE a similarity above 75.
#: A label is a yes where it is the right one (`against_gold`).
USUAL = (
    Sound(("fluency", "reasoning"), least=9.0),
    Sound(("similarity",), above=75.0),
    Sound(("label_preserved",)),
    Sound(("valid",)),
    Sound(("equivalent",)),
    Sound(("sound",)),
    Sound(("label",)),
)


def usual_rule(verdicts: pl.DataFrame, where: str = "the verdicts") -> Sound:
    """What counts as sound where nobody says: by the questions that were asked."""
    asked = verdicts["question"].unique().sort().to_list()
    found = next((rule for rule in USUAL if set(rule.questions) <= set(asked)), None)
    if found is None and len(asked) == 1:
        return Sound((asked[0],))
    if found is None:
        fix = f"say which answers mean that a variant is sound, such as {asked[0]}; available: {', '.join(asked)}"
        raise BadInput("several questions were asked", where=where, field="question", fix=fix)
    return found


def against_gold(verdicts: pl.DataFrame, gold: Mapping[str, str]) -> pl.DataFrame:
    """Verdicts in which a label that people found right is a yes where it is the variant's in the data, else a no."""
    known = verdicts["variant"].replace_strict(gold, default=None, return_dtype=pl.String)
    right = [
        None if label is None else label_key(label) == label_key(answer)
        for label, answer in zip(known, verdicts["answer"], strict=True)
    ]
    verdict = pl.Series("answer", ["yes" if one else "no" for one in right], dtype=pl.String)
    labels = pl.col("question") == "label"
    marked = verdicts.with_columns(pl.when(labels).then(verdict).otherwise(pl.col("answer")).alias("answer"))
    return marked.filter(~labels | pl.Series([one is not None for one in right], dtype=pl.Boolean))


def votes(verdicts: pl.DataFrame, rule: Sound, where: str = "the verdicts") -> pl.DataFrame:
    """One row for each item and annotator that answered all questions of the rule: their `mark`, and if it is sound."""
    if lost := [name for name in rule.questions if name not in set(verdicts["question"])]:
        there = ", ".join(verdicts["question"].unique().sort().to_list())
        raise BadInput("this question was not asked", where=where, field=lost[0], fix=f"available: {there}")
    own = verdicts.filter(pl.col("question").is_in(list(rule.questions)))
    own = own.with_columns(_marks(own, rule, where).alias("mark"))
    key = ["bucket", "variant", "annotator", "adjudicated"]
    # Rows without an annotator are votes of different people where there is one question.
    key = [*key, "row"] if len(rule.questions) == 1 else key
    rows = own.with_row_index("row").group_by(key, maintain_order=True)
    both = rows.agg(pl.col("mark").sum(), pl.len().alias("answers"), pl.col("probability", "batch").first())
    both = both.filter(pl.col("answers") == len(rule.questions)).drop("answers", "row", strict=False)
    least, above = rule.least, rule.above
    yes = pl.col("mark") > (above if above is not None else 0.0) if least is None else pl.col("mark") >= least
    return both.with_columns(yes.alias("sound"))


def _marks(own: pl.DataFrame, rule: Sound, where: str) -> pl.Series:
    """Ratings as numbers, yes and no as 1 and 0."""
    texts = own["answer"].str.strip_chars().str.to_lowercase()
    if rule.is_rating:
        marks, fix = texts.cast(pl.Float64, strict=False), "give a number"
        marks = marks.set(marks.is_infinite() | marks.is_nan(), None)
    elif rule.answer:
        if rule.answer not in texts:
            fix = f"available: {', '.join(texts.unique().sort()[:20])}"
            raise BadInput(f"nobody answered {rule.answer!r}", where=where, field=rule.questions[0], fix=fix)
        return (texts == rule.answer).cast(pl.Float64)
    else:
        known = {**dict.fromkeys(YES, 1.0), **dict.fromkeys(NO, 0.0), "1.0": 1.0, "0.0": 0.0}
        marks = texts.replace_strict(known, default=None, return_dtype=pl.Float64)
        fix = "use yes or no (true, 1, valid, keep, sound, ...), or name a mark for ratings: QUESTION>=MARK"
    if marks.null_count():
        row = int(marks.is_null().arg_true()[0])
        message = f"found {shorten(own['answer'][row])} for {own['variant'][row]!r}"
        raise BadInput(message, where=where, field=own["question"][row] or "answer", fix=fix)
    return marks


def decide(verdicts: pl.DataFrame, rule: Sound, where: str = "the verdicts") -> pl.DataFrame:
    """One row for each item: whether it is sound by the adjudicator, else by the majority; a tie is none.

    `share` are the votes for it, of `votes`; `probability` and `batch` are the item's.

    >>> rows = [{"id": "a1", "annotator": who, "verdict": what} for who, what in zip("xyz", ["yes", "no", "yes"])]
    >>> decide(read_verdicts(rows), Sound(("",))).select("variant", "sound", "votes").rows()
    [('a1', True, 3)]
    """
    every = votes(verdicts, rule, where)
    overrides = pl.col("adjudicated") | ~pl.col("adjudicated").any().over("bucket", "variant")
    items = every.with_columns(pl.col("probability").max().over("bucket", "variant")).filter(overrides)
    decided = items.group_by("bucket", "variant").agg(
        (pl.col("sound").mean() > 0.5).alias("sound"),
        pl.col("sound").mean().alias("share"),
        pl.len().alias("votes"),
        pl.col("probability").first(),
        pl.col("batch").min(),
    )
    return decided.sort("bucket", "variant")
