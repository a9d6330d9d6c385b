"""The exported file beside its original, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from ..exporting.export import Export


def export_table(made: Export) -> Table:
    """Differences, changed answers and accuracy, a row each."""
    found, words = made.comparison, made.architecture.endswith("ForMaskedLM")
    rows = f"{found.rows:,} {'masked words' if words else 'pairs'}"
    table = Table(title=Text(f"{made.source} on {rows}"), title_justify="left", header_style="bold")
    table.add_column("exported beside original", overflow="fold")
    table.add_column("", justify="right", no_wrap=True)
    of = "log-probability of the masked word" if words else "probability"
    table.add_row(f"other {'best words' if words else 'labels'}", _share(found.differing, found.rows))
    table.add_row(f"changed in {found.shuffles} other orders", _share(found.order_changes, found.reordered))
    table.add_row(f"largest difference of {of}", f"{found.max_difference:.2g}")
    table.add_row("mean difference", f"{found.mean_difference:.2g}")
    for name, right in (("original", found.original_right), ("exported", found.right)):
        table.add_row(f"accuracy, {name}", "–" if right is None else _share(right, found.rows))
    return table


def _share(count: int, rows: int) -> str:
    """A count and what it is of all.

    >>> _share(3, 1500)
    '3 (0.20 %)'
    """
    return f"{count:,} ({100 * count / rows:.2f} %)"
