"""Tables in memory: whatever a user calls a table, as rows or as a frame, and a list of what may be given alone."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import polars as pl

from ..errors import BadInput, shorten

Named = TypeVar("Named")


def as_list(names: Named | Sequence[Named]) -> list[Named]:
    """A list of what may be given alone: one name is a list with one name.

    >>> as_list("flip_rate"), as_list(["flip_rate", "p_c"])
    (['flip_rate'], ['flip_rate', 'p_c'])
    """
    return list(names) if isinstance(names, Sequence) and not isinstance(names, str) else [names]


def texts_by_text(given: Mapping[Any, Any] | None, setting: str) -> dict[str, str]:
    """The setting `columns` or `labels` with texts for numbers: a pandas frame without a header numbers its columns.

    >>> texts_by_text({"premise": 0}, "columns"), texts_by_text({0: "entailment"}, "labels")
    ({'premise': '0'}, {'0': 'entailment'})
    """
    if given is not None and not isinstance(given, Mapping):
        example = "{0: 'entailment', ...}" if setting == "labels" else "{'premise': 'sentence1', ...}"
        raise BadInput(f"found {shorten(given)}", field=setting, fix=f"give a dict, as in {setting}={example}")
    return {str(name): str(value) for name, value in (given or {}).items()}


class ArrowTable(Protocol):
    """Anything that exports Arrow data: a pyarrow Table, a DuckDB relation, a cuDF or Modin frame."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Export the data."""


class PandasFrame(Protocol):
    """A pandas DataFrame, as far as it is used here."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""

    @property
    def iloc(self) -> Any:
        """Columns by position."""

    @property
    def index(self) -> Any:
        """The names of the rows."""


#: A table in memory: Polars, pandas, Arrow, rows as dicts (also of a Hugging Face data set), or columns by name.
AnyTable = (
    pl.DataFrame | pl.LazyFrame | ArrowTable | PandasFrame | Iterable[Mapping[str, Any]] | Mapping[str, Sequence[Any]]
)


def as_frame(data: AnyTable, where: str = "the table") -> pl.DataFrame:
    """Any table as a Polars frame; `where` names it in messages. A column of mixed kinds becomes text.

    >>> as_frame([{"id": 1, "label": 0}, {"id": 2, "label": "neutral"}])["label"].to_list()
    ['0', 'neutral']
    """
    frame = _polars(data, where)
    if frame is None:
        columns = _columns(data, where)
        if columns is None:
            rows = list(as_rows(data, where))
            names = dict.fromkeys(name for row in rows for name in row)
            columns = {name: [row.get(name) for row in rows] for name in names}
        return pl.DataFrame({name: _column_of_any(name, values) for name, values in columns.items()})
    texts = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Categorical | pl.Enum)]
    objects = [_column_of_any(name, frame[name].to_list()) for name, kind in frame.schema.items() if kind == pl.Object]
    return frame.with_columns(*(pl.col(name).cast(pl.String) for name in texts), *objects)


def frame_or_name(data: AnyTable | str | os.PathLike[str], where: str = "the table") -> pl.DataFrame | str:
    """Any table as a Polars frame; the name of a file or folder as it is."""
    return os.fspath(data) if isinstance(data, str | os.PathLike) else as_frame(data, where)


def frames_or_names(data: Any, where: str = "the table") -> list[pl.DataFrame | str]:
    """One table or name, or several of them, each as `frame_or_name` has it. A list of dicts is one table."""
    several = isinstance(data, list | tuple) and data and not all(isinstance(one, Mapping) for one in data)
    return [frame_or_name(one, where) for one in (data if several else [data])]


def as_rows(data: AnyTable, where: str = "the table") -> Iterator[dict[str, Any]]:
    """Any table row by row, each value of the kind that it has there; what is missing is None."""
    if (frame := _polars(data, where)) is not None:
        yield from frame.iter_rows(named=True)
    elif (columns := _columns(data, where)) is not None:
        yield from (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))
    elif isinstance(data, str | bytes) or not isinstance(data, Iterable):
        fix = "give a pandas, Polars or Arrow table, a list of dicts, or a dict of columns"
        raise BadInput(f"found {type(data).__name__}, not a table", where=where, fix=fix)
    else:
        for number, row in enumerate(data, 1):
            if not isinstance(row, Mapping):
                fix = "give a list of dicts, one for each row"
                raise BadInput(f"found {shorten(row)}", where=f"{where}, row {number}", fix=fix)
            yield {_column_name(name, where): plain(value) for name, value in row.items()}


def _polars(data: Any, where: str) -> pl.DataFrame | None:
    """What Polars reads without a copy: its own frames and Arrow data."""
    if isinstance(data, pl.DataFrame | pl.LazyFrame):
        return data.lazy().collect()
    exports = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")
    if not exports or _is_pandas(data):
        return None
    try:
        frame = pl.DataFrame(data) if hasattr(data, "__arrow_c_stream__") else pl.from_arrow(data)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        fix = "give a table whose columns have names, each another"
        message = f"{type(data).__name__} cannot be read: {str(error).partition(chr(10))[0]}"
        raise BadInput(message, where=where, fix=fix) from error
    return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()


def _columns(data: Any, where: str) -> dict[str, list[Any]] | None:
    """The columns of a pandas frame or of a dict; None for anything else."""
    if _is_pandas(data):
        return _pandas_columns(data, where)
    return _named_columns(data, where) if isinstance(data, Mapping) else None


def _is_pandas(data: Any) -> bool:
    return any(one.__module__.partition(".")[0] == "pandas" and one.__name__ == "DataFrame" for one in type(data).mro())


def _pandas_columns(data: Any, where: str) -> dict[str, list[Any]]:
    """The columns of a pandas frame, without pyarrow; the index is one where it has a name.

    Whole numbers beside missing ones are kept by pandas as floats: here they are whole numbers again.
    """
    named = {name: data.index.get_level_values(name) for name in data.index.names if name is not None}
    columns = [(name, values) for name, values in named.items() if name not in data.columns]
    columns += [(name, data.iloc[:, place]) for place, name in enumerate(data.columns)]
    frame: dict[str, list[Any]] = {}
    for given, column in columns:
        name = _column_name(given, where)
        if name in frame:
            raise BadInput("names this column twice", where=where, field=name, fix="rename one of them")
        values = [plain(value) for value in column.tolist()]
        there = [value for value in values if value is not None]
        if len(there) < len(values) and there and all(type(one) is float and one.is_integer() for one in there):
            values = [None if value is None else int(value) for value in values]
        frame[name] = values
    return frame


def _named_columns(data: Mapping[Any, Any], where: str) -> dict[str, list[Any]]:
    columns = {}
    for name, values in data.items():
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            fix = "give a list of values for each column; for one row, a list with one dict"
            raise BadInput(f"found {shorten(values)}", where=where, field=str(name), fix=fix)
        columns[_column_name(name, where)] = [plain(value) for value in values]
    if len({len(values) for values in columns.values()}) > 1:
        sizes = ", ".join(f"{name} has {len(values)}" for name, values in columns.items())
        raise BadInput(f"columns of different lengths: {sizes}", where=where, fix="give one entry per row")
    return columns


def _column_name(name: Any, where: str) -> str:
    if not isinstance(name, str | int):
        fix = "name every column with a text; flatten a pandas MultiIndex first"
        raise BadInput(f"found the column name {shorten(name)}", where=where, fix=fix)
    return str(name)


def plain(value: Any) -> Any:
    """A value as Python has it: what numpy wraps without its wrapping, what pandas calls missing as None."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if type(value).__module__ == "numpy":
        value = value.item() if hasattr(value, "item") and not getattr(value, "shape", ()) else value.tolist()
    return None if isinstance(value, float) and value != value else value


def _column_of_any(name: str, values: list[Any]) -> pl.Series:
    return typed_column(name, [as_scalar(value) for value in values])


def as_scalar(value: Any) -> Any:
    """A value as a column of a table has it: a list or a dict as JSON."""
    if value is None or isinstance(value, (str, float, bool)) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (list, tuple, dict)) else str(value)


def typed_column(name: str, values: list[Any]) -> pl.Series:
    """Values as a column; those of mixed kinds become text, and of none at all it has no type."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and kinds != {int}:
        values = [None if value is None else float(value) for value in values]
    elif len(kinds) > 1:
        values = [None if value is None else _text(value) for value in values]
    return pl.Series(name, values, dtype=None if kinds else pl.Null)


def _text(value: Any) -> str:
    """A value as Polars writes it when it concatenates the parts of a run."""
    return str(value).lower() if isinstance(value, bool) else str(value)
