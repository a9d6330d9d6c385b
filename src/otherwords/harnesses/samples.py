"""What all logs of other harnesses share: samples are read one by one from large JSON and become an answers table."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import polars as pl

from ..errors import BadInput, caller_level, shorten
from ..models.readouts import find_label
from ..problem import AGAIN, UNREADABLE, USUAL_WAY, label_key

#: Samples that are in memory as Python objects before they become a piece of the table.
_PIECE = 5_000
#: Characters that are read at a time, and that one sample may have at most.
_CHUNK, _LONGEST = 1 << 20, 1 << 28
#: With more distinct right answers than this, they are not labels.
_MOST_LABELS = 1_000
#: Metadata up to this many characters are names by which samples can be grouped.
_LONG = 64
#: The labels of right and wrong answers, if grades count instead of answers.
RIGHT, WRONG = "right", "wrong"
#: The text that was asked about, where a report needs it.
INPUT = "input"
#: Columns for a while: no metadata is called so.
_CHOICES, _CHOSEN, _SHARE = "\0choices", ("\0gold", "\0pred"), "\0share:"
#: What the choices of a sample are called, in their order: as Inspect calls them, by numbers from 1 after the letters.
LETTERS = (*"ABCDEFGHIJKLMNOPQRSTUVWXYZ", *map(str, range(1, 974)))
_ANSWERS = ("gold", "pred", "grade", INPUT, *_CHOSEN)
_OWN = ("id", "epoch", "model", "gold", "pred", "grade", INPUT)


@dataclass(frozen=True)
class LogOptions:
    """How logs are read.

    `bucket_from` says which samples are wordings of one problem (see `logs.with_buckets`). `scorer` names the scorer of
    Inspect, or the filter of lm-evaluation-harness, whose answers count where there are several. With `graded`, whether
    an answer was right counts, and not what it was. With `errors`, samples that have no answer are rows without one.
    `texts` keeps what was asked. `labels` are those of the task, where it is known.
    """

    bucket_from: str = ""
    scorer: str = ""
    graded: bool = False
    errors: bool = False
    texts: bool = False
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class LoggedAnswer:
    """One answer of a log: of which sample, in which epoch, the right label, the one given, and what else is known.

    `pred` is None where there is no answer, `error` says why. `columns` are further columns: metadata and p:LABEL.
    `choices` are all labels that could be given, where that is known, and `shares` how probable each was. Where `gold`
    and `pred` are letters, `chosen` is what these stand for.
    """

    id: str
    model: str
    gold: str | None
    pred: str | None
    epoch: int = 0
    grade: str | None = None
    error: str = ""
    input: str | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    choices: tuple[str, ...] = ()
    chosen: tuple[str | None, str | None] = (None, None)
    shares: tuple[float, ...] = ()


def as_table(samples: Iterable[LoggedAnswer], where: str, options: LogOptions) -> pl.DataFrame:
    """The answers table of a log, a row for each sample; its further epochs are columns of repeats.

    Until then, texts that occur again, as metadata do in every epoch, are in memory once.
    """
    pieces: list[pl.DataFrame] = []
    rows: list[LoggedAnswer] = []
    for sample in samples:
        if sample.pred is None and not options.errors:
            fix = "run it to its end, or leave such samples out with --skip-bad (rejected=FILE)"
            raise BadInput(sample.error or "has no answer", where=f"{where}, sample {sample.id!r}", fix=fix)
        rows.append(sample)
        if len(rows) == _PIECE:
            pieces.append(_piece(rows, options, pieces[:1]))
            rows = []
    pieces += [_piece(rows, options, pieces[:1])] if rows else []
    if not pieces:
        raise BadInput("has no samples", where=where, fix="give the log of an evaluation that has some")
    table = _without_letters(pl.concat(pieces, how="diagonal_relaxed"))
    if options.graded:
        table = table.with_columns(pl.lit(RIGHT).alias("gold"), pl.col("grade").alias("pred"))
        _refuse_ungraded(table, where, options)
    table = _with_repeats(_with_labels(table, where, options), where)
    return table.with_columns(pl.col(pl.Categorical).cast(pl.String))


def _piece(samples: Sequence[LoggedAnswer], options: LogOptions, first: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Samples as rows; which columns are coded is what is best for the first piece, since a table has one kind each."""
    names = [name for name in _OWN if name != INPUT or options.texts]
    columns = {name: [getattr(one, name) for one in samples] for name in names}
    more = dict.fromkeys(name for one in samples for name in one.columns if name not in _OWN)
    columns |= {name: [one.columns.get(name) for one in samples] for name in more}
    if any(one.choices for one in samples):
        columns[_CHOICES] = ["\0".join(one.choices) for one in samples]
        columns |= {name: [one.chosen[place] for one in samples] for place, name in enumerate(_CHOSEN)}
        for place in range(max(len(one.shares) for one in samples)):
            columns[f"{_SHARE}{place}"] = [one.shares[place] if place < len(one.shares) else None for one in samples]
    columns = {name: [whole(one) if isinstance(one, str) else one for one in some] for name, some in columns.items()}
    kinds: dict[str, Any] = dict.fromkeys(columns, pl.String) | {"epoch": pl.Int32}
    kinds |= {name: pl.Float64 for name in columns if name.startswith(("p:", _SHARE))}
    kinds |= {name: pl.Null for name in _CHOSEN if name in columns and not any(columns[name])}
    piece = pl.DataFrame(columns, schema=kinds, strict=False)
    names = [name for name in piece.columns if name not in _ANSWERS]
    coded = (
        [name for name in names if first[0].schema.get(name) == pl.Categorical] if first else _repeated(piece[names])
    )
    return piece.with_columns(pl.col(coded).cast(pl.Categorical))


def _repeated(piece: pl.DataFrame) -> list[str]:
    """The columns of texts that occur twice or more on average, as most metadata do."""
    return [one.name for one in piece.iter_columns() if one.dtype == pl.String and 2 * one.n_unique() <= len(one)]


def _without_letters(table: pl.DataFrame) -> pl.DataFrame:
    """The table with what letters stand for, if that is the same few texts in all samples; else with the letters."""
    if _CHOICES not in table.columns:
        return table
    orders = [text.split("\0") for text in table[_CHOICES].unique(maintain_order=True).fill_null("")]
    labels = orders[0]
    gold, pred = _CHOSEN
    if len(set(labels)) == len(labels) and all(sorted(one) == sorted(labels) for one in orders):
        table = table.with_columns(pl.coalesce(gold, "gold").alias("gold"), pl.coalesce(pred, "pred").alias("pred"))
        table = _with_shares(table, {label: [one.index(label) for one in orders] for label in labels}, orders)
    elif any(table[name].count() for name in _CHOSEN):
        letters = LETTERS[: max(map(len, orders))]
        table = _with_shares(table, {letter: [place] for place, letter in enumerate(letters)}, ())
        if _SHARE + "0" in table.columns:  # a sample may have fewer choices than others
            known = pl.col(_SHARE + "0").is_not_null()
            table = table.with_columns(pl.when(known).then(pl.col(f"p:{one}").fill_null(0.0)) for one in letters)
        table = table.with_columns(pl.lit("\0".join(letters)).alias(_CHOICES))
    return table.select(pl.exclude(r"^\x00(gold|pred|share:\d+)$"))


def _with_shares(table: pl.DataFrame, places: Mapping[str, list[int]], orders: Sequence[list[str]]) -> pl.DataFrame:
    """The table with the probability of each label, which stands at its place in the choices of a sample."""
    if f"{_SHARE}0" not in table.columns:
        return table
    shares = {}
    for label, where in places.items():
        named = [pl.col(f"{_SHARE}{place}") for place in where]
        cases = (
            pl.when(pl.col(_CHOICES) == "\0".join(one)).then(share) for one, share in zip(orders, named, strict=False)
        )
        shares[f"p:{label}"] = named[0] if len(set(where)) == 1 else pl.coalesce(*cases)
    return table.with_columns(**shares)


def _refuse_ungraded(table: pl.DataFrame, where: str, options: LogOptions) -> None:
    lacking = table["pred"].is_null()
    if lacking.any() and not options.errors:
        name = table["id"][int(lacking.arg_true()[0])]
        fix = "score answers as right or wrong, or leave out --graded (graded)"
        raise BadInput("is neither right nor wrong", where=f"{where}, sample {name!r}", field="graded", fix=fix)


def _with_labels(table: pl.DataFrame, where: str, options: LogOptions) -> pl.DataFrame:
    """The table with labels as answers: free text is read by the strict rule, and what is no label is unreadable."""
    golds = table["gold"].drop_nulls().unique().sort().to_list()
    if len(golds) > _MOST_LABELS:
        fix = "if answers are not labels, use the grades of the harness: --graded (graded)"
        raise BadInput(f"has {len(golds):,} different right answers", where=where, fix=fix)
    named = [name.removeprefix("p:") for name in table.columns if name.startswith("p:")]
    labels = {label_key(one): one for one in (*options.labels, *golds, *named) if one.strip()}
    labels |= {label_key(one): one for one in _chosen_from(table) if label_key(one) not in labels}
    table = table.drop(_CHOICES, strict=False)
    if not labels or options.graded:
        return table
    given = table["pred"].drop_nulls().unique().to_list()
    read = {text: _label_of(text, labels) for text in given}
    unread = [text for text, label in read.items() if label == UNREADABLE and text.strip()]
    if unread:
        count = table["pred"].is_in(unread).sum()
        known = ", ".join(sorted(labels.values())[:10])
        warnings.warn(
            f"{where}: {count:,} of {table.height:,} answers are none of the labels ({known}), the first "
            f"{shorten(sorted(unread)[0])}; they count as {UNREADABLE}",
            stacklevel=caller_level(),
        )
    changed = {text: label for text, label in read.items() if text != label}
    return table.with_columns(pl.col("pred").replace(changed)) if changed else table


def _chosen_from(table: pl.DataFrame) -> list[str]:
    """All that could be chosen, in any sample."""
    if _CHOICES not in table.columns:
        return []
    return sorted({one for text in table[_CHOICES].unique().drop_nulls() for one in text.split("\0") if one})


def _label_of(text: str, labels: Mapping[str, str]) -> str:
    known = labels.get(label_key(text))
    return known or find_label(text, {label: label for label in labels.values()}) or UNREADABLE


def _with_repeats(table: pl.DataFrame, where: str) -> pl.DataFrame:
    """The first epoch of each sample, with the others as columns `again:usual:N`."""
    asked, epochs = (_numbered(table["model"]) << 32) + _numbered(table["id"]), table["epoch"].to_numpy()
    order = np.lexsort((epochs, asked))  # of numbers, since joins of names take several times the memory of the table
    asked, epochs = asked[order], epochs[order]
    is_first = np.diff(asked, prepend=-1) != 0
    if is_first.all():
        return table.drop("epoch")
    if twice := order[:-1][~is_first[1:] & (np.diff(epochs) == 0)].tolist():
        found = table[min(twice)]
        message = f"occurs twice in epoch {found['epoch'][0]}"
        raise BadInput(message, where=f"{where}, sample {found['id'][0]!r}", fix="give each sample a unique id")
    rows, number = order[is_first], np.cumsum(is_first) - 1
    again = {}
    for place, epoch in enumerate(np.unique(epochs[~is_first]), 1):
        these = ~is_first & (epochs == epoch)
        taken = np.full(len(rows), -1)
        taken[number[these]] = order[these]
        again[f"{AGAIN}{USUAL_WAY}:{place}"] = taken[np.argsort(rows)]
    first = table.drop("epoch")[np.sort(rows)]
    pred = table["pred"]
    return first.with_columns(
        pred.gather(pl.Series(taken).replace(-1, None)).alias(column) for column, taken in again.items()
    )


def _numbered(names: pl.Series) -> np.ndarray[Any, np.dtype[np.int64]]:
    numbers = names.to_physical() if names.dtype == pl.Categorical else names.rank("dense")
    return numbers.cast(pl.Int64).to_numpy()


# What is in a sample


def as_text(value: Any) -> str | None:
    """A value as the text of a cell: names and numbers as they are; what is neither has none.

    >>> [as_text(value) for value in (" yes", 3, 2.0, True, None, ["a"], {"a": 1})]
    [' yes', '3', '2.0', 'true', None, None, None]
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return whole(str(value)) if isinstance(value, str | int | float) else None


def whole(text: str) -> str:
    """A text without halves of surrogate pairs, which are valid JSON and no text."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def name_of(value: Any, where: str) -> str:
    """The id of a sample, which is a text or a whole number."""
    name = as_text(value)
    if name is None or isinstance(value, bool | float):
        raise BadInput(f"found {shorten(value)}", where=where, field="id", fix="give each sample a text or a number")
    return name


def part_of(given: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
    """An object within another, which may lack; what is no object is refused."""
    value = given.get(name)
    if value is not None and not isinstance(value, Mapping):
        raise BadInput(f"found {shorten(value)}", where=where, field=name, fix="the log is damaged, or of another kind")
    return value or {}


def named_columns(given: Any) -> dict[str, Any]:
    """The names and numbers among the metadata of a sample, as columns; what has parts, or is a long text, is none."""
    if not isinstance(given, Mapping):
        return {}
    texts = {str(name): as_text(value) for name, value in given.items()}
    kept = {name: text for name, text in texts.items() if text is not None and len(text) <= _LONG}
    return {name: text for name, text in kept.items() if name not in _OWN and not name.startswith((AGAIN, "\0"))}


def named_labels(given: Any) -> dict[str, str]:
    """The label of each word, where a sample says so in `choices` and `labels`, as our own suites do."""
    if not isinstance(given, Mapping):
        return {}
    words, labels = given.get("choices"), given.get("labels")
    if not (isinstance(words, list) and isinstance(labels, list) and len(words) == len(labels)):
        return {}
    named = {
        label_key(str(word)): str(label).replace("\0", "\ufffd") for word, label in zip(words, labels, strict=True)
    }
    return {} if "" in named else named  # a blank is no answer


def translated(text: str | None, labels: Mapping[str, str]) -> str | None:
    """The label of an answer in a suite's own words; another answer as it is.

    >>> translated("Yes.", {"yes": "entailment", "no": "contradiction"})
    'entailment'
    """
    if text is None or not labels:
        return text
    known = labels.get(label_key(text))
    return known or find_label(text, {label: word for word, label in labels.items()}) or text


def softmax(logs: Sequence[float]) -> list[float]:
    """Log-probabilities as shares of their sum."""
    highest = max(logs)
    powers = [math.exp(one - highest) for one in logs]
    return [one / math.fsum(powers) for one in powers]


# Large JSON, element by element

_DECODER = json.JSONDecoder()


class ByteStream(Protocol):
    """What bytes are read from, piece by piece."""

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes, at most so many; b"" at the end."""
        ...


class JsonReader:
    """Reads a JSON text from a stream; of one list in it, one element is in memory at a time."""

    def __init__(self, stream: ByteStream, where: str):
        self._stream, self.where = stream, where
        self._text, self._place, self._ended = "", 0, False
        self._decode = _incremental()

    def elements(self, path: Sequence[str], keep: Callable[[str, Any], None]) -> Iterator[Any]:
        """The elements of the list under a path of keys ("": the text is that list).

        `keep` gets the other keys of the outermost object with their values.
        """
        yield from self._inside(list(path), keep)
        if self._next():
            raise self._broken("more text after its end", "")

    def _inside(self, path: list[str], keep: Callable[[str, Any], None] | None) -> Iterator[Any]:
        if not path:
            yield from self._list()
            return
        self._expect("{")
        while self._next() != "}":
            key = self._value()
            self._expect(":")
            if key == path[0] and self._next() == ("{" if path[1:] else "["):
                yield from self._inside(path[1:], None)
            else:
                value = self._value()
                if keep:
                    keep(str(key), value)
            if self._next() != ",":
                break
            self._expect(",")
        self._expect("}")

    def _list(self) -> Iterator[Any]:
        self._expect("[")
        count = 0
        while self._next() != "]":
            count += 1
            yield self._value(f"sample {count}")
            if self._next() != ",":
                break
            self._expect(",")
        self._expect("]", f"after sample {count}")

    def _value(self, what: str = "") -> Any:
        self._next()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._place)
            except (ValueError, RecursionError) as error:
                if self._ended or len(self._text) - self._place > _LONGEST:
                    raise self._broken(str(error).partition(":")[0], what) from None
            else:
                if end < len(self._text) or self._ended:  # a number may go on in the next chunk
                    self._place = end
                    return value
            self._more()

    def _next(self) -> str:
        """The next character that is no space; "" at the end."""
        while True:
            while self._place < len(self._text):
                if not (character := self._text[self._place]).isspace():
                    return character
                self._place += 1
            if self._ended:
                return ""
            self._more()

    def _expect(self, mark: str, what: str = "") -> None:
        found = self._next()
        if found != mark:
            raise self._broken(f"expected {mark!r}, found {found!r}" if found else "the text ends too early", what)
        self._place += 1

    def _more(self) -> None:
        """Read on: as much again as is left, so that a long sample is not decoded too often."""
        rest = self._text[self._place :]
        try:
            chunk = self._stream.read(max(_CHUNK, len(rest)))
            self._ended = not chunk
            self._text, self._place = rest + self._decode(chunk, not chunk), 0
        except UnicodeDecodeError:
            raise BadInput("is not UTF-8 text", where=self.where) from None

    def _broken(self, message: str, what: str) -> BadInput:
        place = f"{self.where}, {what}" if what else self.where
        return BadInput(
            f"broken JSON: {message}", where=place, fix="the log is damaged, or its writing was interrupted"
        )


def _incremental() -> Callable[[bytes, bool], str]:
    import codecs

    return codecs.getincrementaldecoder("utf-8-sig")().decode
