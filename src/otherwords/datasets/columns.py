"""Intake in whole columns: what `Intake` checks row by row, as expressions over a batch.

A batch either passes as a whole or is left to `Intake`, row by row, which alone says what is wrong and where. Both keep
what they know of the data so far in the same place, so that batches of either kind may follow one another.
"""

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import chain
from json.encoder import encode_basestring
from typing import Any

import polars as pl

from ..frames import MARKS, MISSING, Piece, free_columns, main_columns
from ..problem import NO_MAJORITY, label_key
from ..storage.in_memory import as_scalar
from .intake import Intake, name_text, plain_text
from .records import RecordBatch, in_chunks

#: What Python calls a space; Polars strips some others, and not all of these.
_SPACES = "".join(filter(str.isspace, map(chr, range(sys.maxunicode + 1))))
#: The place of a row in its batch, and what is known of its original; no column of the user's is among them.
_PLACE, _ORIGIN, _LABEL, _CLUSTER, _CONTRAST = "\0place", "\0origin", "\0label", "\0cluster", "\0contrast"


class _Odd(Exception):
    """A batch holds what is wrong, or what only a look at its rows can tell."""


def pieces(intake: Intake, batches: Iterable[RecordBatch]) -> Iterator[Piece]:
    """Check all batches. Pieces come out in the order of the rows: columns, or rows that were checked one by one."""
    for batch in _until_labelled(intake, batches):
        try:
            piece = _take(intake, batch)
        except _Odd:
            yield from in_chunks(intake.checked(batch.records()))
        else:
            if piece.height:
                yield piece
    intake.finish()


def _until_labelled(intake: Intake, batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
    """The batches; where rows without a label are to be left out, none before it is known that some have one."""
    batches = iter(batches)
    if intake.skip_bad and intake.gold == "all or none":
        first = next(batches, RecordBatch(lambda: ()))
        if any(map(intake.has_label, first.records())):
            intake.labelled = True
            yield first
        else:
            rest = chain([first], batches)
            yield RecordBatch(lambda: intake.until_labelled(record for batch in rest for record in batch.records()))
    yield from batches


def _take(intake: Intake, batch: RecordBatch) -> pl.DataFrame:
    """The rows of a batch as a table, all of them good; `intake` then knows them. Nothing changes for an odd one."""
    if batch.frame is None or not batch.frame.height:
        raise _Odd
    values = _used(intake, batch)
    columns = _main_columns(intake, values, batch.frame.height)
    labelled, kept, others = _labelled(intake, columns), _kept(intake, columns), _others(intake, batch)
    label = pl.when(pl.col("of").is_null()).then(pl.col("label").fill_null(""))
    intake.seen.extend(columns.with_columns(label))
    intake.labelled = labelled
    intake.number += columns.height
    intake.mapped |= set(intake.columns) & set(values)
    intake.has_label_column |= "label" in values
    intake.accepted += kept.height
    intake.no_majority += columns.height - kept.height
    intake.unlabelled += kept["label"].null_count()
    return _assemble(intake, batch, kept, others)


def _used(intake: Intake, batch: RecordBatch) -> dict[str, pl.Series]:
    """The columns used here, under the names used here. None may be absent, nor may a row lack what it must have."""
    frame = batch.frame
    assert frame is not None
    names = {name: name for name in frame.columns if name in intake.unmapped}
    names |= {name: column for name, column in intake.columns.items() if column in frame.columns}
    needed = {*intake.task.fields, *({"id", "label"} & set(intake.columns))} - set(intake.task.optional)
    if needed - set(names):
        raise _Odd
    if batch.rows is not None:
        always = [column for name, column in names.items() if name in needed or name == "id"]
        if any(column not in row for row in batch.rows for column in always):
            raise _Odd
    return {name: frame[column] for name, column in names.items()}


def _main_columns(intake: Intake, values: dict[str, pl.Series], height: int) -> pl.DataFrame:
    """The columns that every row has, with contrasts and controls, as texts; each value is good by itself."""
    first = intake.number + 1
    columns = {
        "id": _texts(values.get("id", pl.Series(range(first, first + height))), name_text, height),
        **{name: _texts(values.get(name), plain_text, height) for name in ("how", "cluster", *MARKS)},
        "of": _texts(values.get("of"), name_text, height),
        "label": _labels(intake, _texts(values.get("label"), plain_text, height)),
    }
    for name in intake.task.fields:
        columns[name] = _field(values.get(name), height)
    empty = {name: columns[name].str.strip_chars(_SPACES) == "" for name in intake.task.fields}
    for mark in MARKS:
        if any(label_key(name) in ("true", "false") for name in columns[mark].unique()):
            raise _Odd
    if (columns["id"] == "").any() or any(empty[name].any() for name in empty if name not in intake.task.optional):
        raise _Odd
    frame = pl.DataFrame([column.alias(name) for name, column in columns.items()])
    wrong = (pl.col("of") == pl.col("id")) | (
        (pl.col("control") != "") & ((pl.col("of") == "") | (pl.col("contrast") != ""))
    )
    if frame.select(wrong.any()).item():
        raise _Odd
    frame = frame.with_columns(pl.col("of", "how").replace("", None), pl.col("cluster").replace(MISSING[1:], ""))
    return frame.with_columns(_clusters(frame, intake.task.cluster))


def _texts(column: pl.Series | None, convert: Callable[[Any], str], height: int) -> pl.Series:
    """A column as texts without outer spaces; what is missing is empty."""
    if (texts := _strings(column, height)) is not None:
        return texts.str.strip_chars(_SPACES)
    assert column is not None
    if column.dtype.is_integer():
        return column.cast(pl.String).fill_null("")
    return _series([convert(value) for value in column.to_list()])


def _strings(column: pl.Series | None, height: int) -> pl.Series | None:
    """A column of texts, empty where they are missing; None for one that has other values."""
    if column is None or column.dtype == pl.Null:
        return pl.repeat("", height, dtype=pl.String, eager=True)
    is_text = column.dtype in (pl.String, pl.Categorical, pl.Enum)
    return column.cast(pl.String).fill_null("") if is_text else None


def _series(texts: list[str]) -> pl.Series:
    try:
        return pl.Series(texts, dtype=pl.String)
    except UnicodeEncodeError:  # half a surrogate pair
        raise _Odd from None


def _field(column: pl.Series | None, height: int) -> pl.Series:
    if (texts := _strings(column, height)) is None:
        raise _Odd
    return texts


def _labels(intake: Intake, texts: pl.Series) -> pl.Series:
    """The labels as the task spells them, null for none."""
    meanings = {text: intake.meanings.get(label_key(text)) for text in texts.unique()}
    if any(text and meaning is None for text, meaning in meanings.items()):
        raise _Odd
    return texts.replace_strict(meanings, return_dtype=pl.String)


def _clusters(frame: pl.DataFrame, fields: Sequence[str]) -> pl.Series:
    """The clusters of originals; where none is named, a digest of their texts, as `files.digest` has it."""
    unnamed = frame.select((pl.col("cluster") == "") & pl.col("of").is_null()).to_series()
    if not unnamed.any():
        return frame["cluster"]
    texts = [frame[name].filter(unnamed).to_list() for name in fields]
    problems = texts[0] if len(fields) == 1 else list(zip(*texts, strict=True))
    spelled = encode_basestring if len(fields) == 1 else _spelled
    names = {one: sha256(f"[{spelled(one)}]".encode()).hexdigest()[:16] for one in dict.fromkeys(problems)}
    return frame["cluster"].scatter(unnamed.arg_true(), [names[one] for one in problems])


def _spelled(texts: Iterable[str]) -> str:
    return ", ".join(map(encode_basestring, texts))


def _labelled(intake: Intake, columns: pl.DataFrame) -> bool | None:
    """Whether the rows have labels, all or none of them; contrasts always have one, and do not count."""
    missing, contrasts = columns["label"].is_null(), columns["contrast"] != ""
    ordinary = missing.filter(~contrasts)
    if (missing & contrasts).any() or (intake.gold == "all" and missing.any()):
        raise _Odd
    if intake.gold != "all or none" or not len(ordinary):
        return intake.labelled
    labelled = not ordinary[0]
    if ordinary.n_unique() > 1 or intake.labelled not in (None, labelled):
        raise _Odd
    return labelled


def _kept(intake: Intake, columns: pl.DataFrame) -> pl.DataFrame:
    """The rows but those without a majority label, variants with the cluster of their original, all as it allows."""
    if intake.seen.may_repeat(columns["id"]) or (intake.waiting and columns["id"].is_in([*intake.waiting]).any()):
        raise _Odd
    columns = columns.with_row_index(_PLACE)
    if columns["of"].null_count() < columns.height:
        columns = _beside_originals(intake, columns)
    return columns.filter(pl.col("label").ne_missing(NO_MAJORITY))


def _beside_originals(intake: Intake, columns: pl.DataFrame) -> pl.DataFrame:
    """The rows, variants with the cluster of their original, and without a majority label if it has none."""
    known = (
        pl.col("id").alias("of"),
        pl.col("label").fill_null("").alias(_LABEL),
        pl.col("cluster").alias(_CLUSTER),
        pl.col("contrast").alias(_CONTRAST),
    )
    originals = columns.filter(pl.col("of").is_null()).select(*known, pl.col(_PLACE).cast(pl.Int64).alias(_ORIGIN))
    is_variant = pl.col("of").is_not_null() & pl.col("label").ne_missing(NO_MAJORITY)
    absent = columns.filter(is_variant).join(originals, on="of", how="anti")["of"].unique()
    if len(absent):
        earlier = intake.seen.originals(absent).select(*known, pl.lit(-1, pl.Int64).alias(_ORIGIN))
        if earlier.height < len(absent):
            raise _Odd
        originals = pl.concat([originals, earlier])
    beside = columns.join(originals, on="of", how="left", maintain_order="left")
    comes_first = pl.col(_ORIGIN) > pl.col(_PLACE)
    other_suite = pl.col("contrast") != pl.col(_CONTRAST)
    other_label = (pl.col("contrast") == "") & (pl.col("label").fill_null("") != pl.col(_LABEL))
    wrong = comes_first | ((pl.col(_LABEL) != NO_MAJORITY) & (other_suite | other_label))
    if beside.select((is_variant & wrong).any()).item():
        raise _Odd
    left_out = pl.col("of").is_not_null() & (pl.col(_LABEL) == NO_MAJORITY)
    return beside.with_columns(
        pl.when(left_out).then(pl.lit(NO_MAJORITY)).otherwise(pl.col("label")).alias("label"),
        pl.coalesce(_CLUSTER, "cluster").alias("cluster"),
    )


# The other columns, which are passed on


def _others(intake: Intake, batch: RecordBatch) -> dict[str, str]:
    """The free names of the other columns by their own."""
    assert batch.frame is not None
    names = [name for name in batch.frame.columns if name not in intake.used]
    for name in names:
        if "\0" in name:
            raise _Odd
        if batch.frame[name].dtype == pl.Object:
            _series([str(as_scalar(value)) for value in batch.frame[name]])
    free = dict(zip(names, free_columns(dict.fromkeys(names), (*main_columns(intake.task), *MARKS)), strict=True))
    if batch.rows is not None and [*free] != [*free.values()]:
        raise _Odd  # which names are free may differ from row to row
    return free


def _assemble(intake: Intake, batch: RecordBatch, kept: pl.DataFrame, others: dict[str, str]) -> pl.DataFrame:
    """The table `id, of, how, <fields>, label, cluster`, and the others in the order in which rows first have them."""
    assert batch.frame is not None
    main = kept.select(main_columns(intake.task))
    columns = {name: batch.frame[name] for name in others}
    if kept.height < batch.frame.height:
        columns = {name: column.gather(kept[_PLACE]) for name, column in columns.items()}
    first = {name: (0, 1, place) for place, name in enumerate(others)}
    if batch.rows is not None:
        first = _first_places([batch.rows[place] for place in kept[_PLACE]], others)
    for place, mark in enumerate(MARKS):
        rows = (kept[mark] != "").arg_true()
        if len(rows):
            columns[mark], first[mark] = kept[mark].replace("", None), (rows[0], 0, place)
    ordered = sorted(first, key=first.__getitem__)
    return main.with_columns(columns[name].alias(others.get(name, name)) for name in ordered)


def _first_places(rows: Sequence[dict[str, Any]], names: Collection[str]) -> dict[str, tuple[int, int, int]]:
    """The first row that has a key, and the key's place in it."""
    first: dict[str, tuple[int, int, int]] = {}
    for number, row in enumerate(rows):
        if len(first) == len(names):
            break
        for place, name in enumerate(row):
            if name in names:
                first.setdefault(name, (number, 1, place))
    return first
