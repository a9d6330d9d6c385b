"""What became of the suggestions of masked-LMs, as tables: a row per masked-LM, class and field, and who agreed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from ..profiling.parts import Profile, Suggestions


def suggestion_tables(found: Profile) -> Iterator[Table]:
    """Two tables for each generator with masked-LMs; the second where one suggestion or more was kept."""
    for one in found.suggestions:
        title = f"{one.how}: " if len(found.suggestions) > 1 else ""
        yield _filters(one, title)
        if one.overlap:
            yield _overlap(one, title)


def _filters(one: Suggestions, title: str) -> Table:
    names = list(dict.fromkeys(rate.filter for rate in one.filters))
    told = f"{title}per cent of the suggestions that reached a filter, and were removed by it"
    table = Table(title=Text(told), title_justify="left", header_style="bold")
    for name in ("masked-LM", "class", "field"):
        table.add_column(name, overflow="fold")
    for name in names:
        table.add_column(name, justify="right")
    rows: dict[tuple[str, str, str], dict[str, float]] = {}
    for rate in one.filters:
        rows.setdefault((rate.model, rate.word_class, rate.field), {})[rate.filter] = rate.percent
    for about, percents in rows.items():
        table.add_row(*map(Text, about), *(f"{percents[name]:.1f}" if name in percents else "–" for name in names))
    return table


def _overlap(one: Suggestions, title: str) -> Table:
    told = f"{title}suggestions per problem that two masked-LMs share, or one has alone"
    table = Table(title=Text(told), title_justify="left", header_style="bold")
    models = list(dict.fromkeys(cell.model for cell in one.overlap))
    for name in ("masked-LM", *models):
        table.add_column(Text(name), justify="left" if name == "masked-LM" else "right")
    means = {(cell.model, cell.other): cell.mean for cell in one.overlap}
    for model in models:
        table.add_row(Text(model), *(f"{means[model, other]:.1f}" for other in models))
    return table
