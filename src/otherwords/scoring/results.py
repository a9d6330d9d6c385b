"""A list of scores or differences that shows itself as a table, finds a metric by name, and becomes a data frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from html import escape
from types import MappingProxyType
from typing import Any, SupportsIndex, TypeVar, overload

import polars as pl

from ..answers.groups import OneAnswer
from ..errors import MissingExtra, UnknownName
from ..problem import Score
from ..significance.proportions import effective_size, shrink
from .difference import Difference
from .layout import Picture, draw, layout
from .select import FIRST

Row = TypeVar("Row", bound=Score | Difference)


class Results(list[Row]):
    """A list of Scores or of Differences. A notebook shows it as a table; so does `print`.

    `results["flip_rate"]` is the one row of that metric over all data. Slices, and what `where` chooses, are Results.

    >>> values = {"p_c": 0.9, "pa": 0.2}
    >>> rows = [Score(name, f"{name}.v1()", "m", None, value, 0.1, 0.3, 10, 20) for name, value in values.items()]
    >>> Results(rows)["pa"].value
    0.2
    >>> Results(rows)[:1]
    metric   value     interval  clusters  eff. n  buckets  answers
    p_c     90.0 %  10.0 – 30.0         –       –       10       20
    """

    #: The models, among those whose answers were measured, that give one label to everything.
    one_answer: Mapping[str, OneAnswer] = MappingProxyType({})

    @overload
    def __getitem__(self, key: str | SupportsIndex) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> Results[Row]: ...

    def __getitem__(self, key: Any) -> Any:
        """Return a row by its position or the name of its metric, or some rows by a slice."""
        if isinstance(key, str):
            return self._named(key)
        found = super().__getitem__(key)
        return Results(found) if isinstance(key, slice) else found

    def where(self, *, metric: str = "", model: str = "", group: str | None = "") -> Results[Row]:
        """The rows of a metric, a model, a group (`topic=sport`; None is all data), or of several of these at once."""
        return Results(
            row
            for row in self
            if (not metric or row.metric == metric)
            and (not model or row.model == model)
            and (group == "" or row.group == group)
        )

    def _named(self, metric: str) -> Row:
        named = self.where(metric=metric)
        found = named.where(group=None) or named
        if not found:
            known = ", ".join(dict.fromkeys(row.metric for row in self)) or "none"
            raise UnknownName(f"no metric {metric!r} here; available: {known}")
        if len(found) > 1:
            rows = ", ".join(dict.fromkeys(" ".join(filter(None, (row.model, row.group))) for row in found))
            fix = f".where(metric={metric!r}, model=..., group=...)"
            raise UnknownName(f"{metric!r} has {len(found)} rows ({rows}): choose with {fix}")
        return found[0]

    def shrunk(self) -> Results[Row]:
        """Scores whose groups also have values shrunk towards each other, and are ranked by them, greatest first.

        Of all groups of a column, for each model and metric: shares with Wilson's interval alone. The order of groups
        is that of the first metric that is not about noise or label mass.
        """
        rows: list[Any] = list(self)
        together: dict[tuple[str, str, str], list[int]] = {}
        for place, row in enumerate(rows):
            if isinstance(row, Score) and row.group and row.interval == "wilson":
                together.setdefault((row.model, row.metric, row.group.partition("=")[0]), []).append(place)
        rank: dict[tuple[str, str | None], float] = {}
        for (model, _, _), places in together.items():
            for place, row in zip(places, _shrink([rows[place] for place in places]), strict=True):
                rows[place] = row
                if row.metric.partition("(")[0] not in FIRST:
                    rank.setdefault((model, row.group), -(row.shrunk or 0.0))
        found: Results[Row] = Results(_ranked(rows, rank))
        found.__dict__.update(self.__dict__)  # what is noted about the whole list
        return found

    def to_polars(self) -> pl.DataFrame:
        """All fields of all rows as a Polars frame."""
        return pl.DataFrame([asdict(row) for row in self], infer_schema_length=None)

    def to_pandas(self) -> Any:
        """All fields of all rows as a pandas frame; needs the extra `pandas`."""
        return to_pandas(self.to_polars())

    def plot(self) -> Picture:
        """A picture: a point for each value and a line for its interval, row by row."""
        return draw(self)

    def __repr__(self) -> str:
        if not self:
            return "no results"
        table = layout(self)
        cells = [table.header, *table.rows]
        widths = [max(len(row[place]) for row in cells) for place in range(len(table.header))]
        lines = [
            "  ".join(
                cell.ljust(width) if place < table.texts else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in cells
        ]
        return "\n".join([*lines, *([table.caption] if table.caption else [])])

    def _repr_html_(self) -> str:
        """The table, for notebooks; pointing at a metric shows its signature."""
        if not self:
            return "<p>no results</p>"
        table = layout(self)
        head = "".join(f"<th>{escape(name)}</th>" for name in table.header)
        body = "\n".join(
            _html_row(cells, table.texts, row.signature) for cells, row in zip(table.rows, self, strict=True)
        )
        caption = escape(table.caption).replace("\n", "<br/>")
        note = f"\n<caption style='caption-side: bottom; text-align: left'>{caption}</caption>" if table.caption else ""
        return f"<table>{note}\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"


def _shrink(scores: Sequence[Score]) -> list[Score]:
    """The same metric of all groups of a column, with shrunk values where there are two or more."""
    if len(scores) < 2:
        return list(scores)
    known = [(one.value or 0.0, one.low or 0.0, one.high or 0.0, one.confidence or 0.95) for one in scores]
    moved = shrink([one[0] for one in known], [effective_size(*one) for one in known], known[0][3])
    signature = f" shrunk=beta-binomial.v1(groups={len(scores)})"
    return [
        replace(one, signature=one.signature + signature, shrunk=value, shrunk_low=low, shrunk_high=high)
        for one, value, low, high in zip(scores, *(end.tolist() for end in moved), strict=True)
    ]


def _ranked(rows: Sequence[Any], rank: Mapping[tuple[str, str | None], float]) -> list[Any]:
    """Groups of a column in the order of their rank, where they stand; all else stays in place."""
    blocks: dict[tuple[str, str | None], list[Any]] = {}
    for row in rows:
        blocks.setdefault((row.model, row.group), []).append(row)
    places: dict[tuple[str, str], list[tuple[str, str | None]]] = {}
    for model, group in blocks:
        places.setdefault((model, (group or "").partition("=")[0]), []).append((model, group))
    ordered = {key: iter(sorted(keys, key=lambda key: rank.get(key, 0.0))) for key, keys in places.items()}
    return [row for model, group in blocks for row in blocks[next(ordered[model, (group or "").partition("=")[0]])]]


def to_pandas(frame: pl.DataFrame) -> Any:
    """A pandas frame; pandas and pyarrow come with an extra."""
    try:
        return frame.to_pandas()
    except ModuleNotFoundError as error:
        raise MissingExtra("to_pandas()", "pandas") from error


def _html_row(cells: Sequence[str], texts: int, signature: str) -> str:
    """Cells of text to the left, numbers to the right, the signature behind the metric."""
    parts = []
    for place, cell in enumerate(cells):
        title = f' title="{escape(signature)}"' if place == texts - 1 else ""
        side = "left" if place < texts else "right"
        parts.append(f'<td style="text-align: {side}"{title}>{escape(cell)}</td>')
    return f"<tr>{''.join(parts)}</tr>"
