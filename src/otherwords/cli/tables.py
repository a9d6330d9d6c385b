"""Tables on standard output: scores, differences between models, and papers' cells beside what was obtained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from ..papers.reproduction import Cell
    from ..problem import Score
    from ..scoring.compare import Difference
    from ..validity.funnel import Drops, Funnel


def score_table(scores: Sequence[Score], confidence: float) -> Table:
    """Scores in per cent with their intervals, a row each."""
    table = Table(title=None, header_style="bold", row_styles=["", ""])
    several, grouped = len({one.model for one in scores}) > 1, any(one.group for one in scores)
    names = [*(["model"] if several else []), *(["group"] if grouped else []), "metric"]
    for name in names:
        table.add_column(name, overflow="fold")
    for name in ("value", f"{confidence:.0%} interval", "buckets", "answers"):
        table.add_column(name, justify="right", no_wrap=True)
    last: tuple[str, str | None] | None = None
    for one in scores:
        cells = {"model": "", "group": "", "metric": one.metric}
        if last != (one.model, one.group):  # a name is said once, at the head of its section
            cells |= {"model": one.model, "group": one.group or "all"}
            table.add_section()
        last = (one.model, one.group)
        interval = "–" if one.low is None or one.high is None else f"{shown(one.low, one)} – {shown(one.high, one)}"
        value = "–" if one.value is None else f"{shown(one.value, one)}{' %' if one.unit == 'share' else '  '}"
        table.add_row(*(Text(cells[name]) for name in names), value, interval, f"{one.n_units:,}", f"{one.n_answers:,}")
    return table


def shown(number: float, score: Score | Difference, sign: str = "") -> str:
    """A share in per cent to a tenth, another number to three places."""
    if score.unit == "share":
        return f"{round(100 * number, 1) + 0.0:{sign}.1f}"  # never -0.0
    return f"{round(number, 3) + 0.0:{sign}.3f}"


def difference_table(found: Sequence[Difference], confidence: float) -> Table:
    """Both values, their difference with its interval, and p-values: a row per metric."""
    table = Table(title=None, header_style="bold", caption=_caption(found), caption_justify="left")
    first, second = found[0].model, found[0].other
    several = any((one.model, one.other) != (first, second) for one in found)
    grouped = any(one.group for one in found)
    over_models = any(one.p_t is not None for one in found)
    for name in [*(["compared"] if several else []), *(["group"] if grouped else []), "metric"]:
        table.add_column(name, overflow="fold")
    names = ("first", "second") if several else (first, second)
    tests = ["p", "p (Holm)", *(["p (t)"] if over_models else [])]
    for name in (*names, "difference", f"{confidence:.0%} interval", *tests, "buckets"):
        table.add_column(Text(name), justify="right", no_wrap=True)
    last: tuple[str, str, str | None] | None = None
    for one in found:
        here = (one.model, one.other, one.group)
        lead = [*([f"{one.model} − {one.other}"] if several else []), *([one.group or "all"] if grouped else [])]
        if last != here:
            table.add_section()
        values = [_or_dash(one.value, one), _or_dash(one.other_value, one), _or_dash(one.difference, one, "+")]
        unsure = one.low is None or one.high is None
        interval = "–" if unsure else f"{shown(one.low, one, '+')} – {shown(one.high, one, '+')}"  # type: ignore[arg-type]
        p = [p_value(one.p_swap), p_value(one.p_holm), *([p_value(one.p_t)] if over_models else [])]
        heads = lead if last != here else [""] * len(lead)
        table.add_row(*map(Text, [*heads, one.metric]), *values, interval, *p, f"{one.n_units:,}")
        last = here
    return table


def _caption(found: Sequence[Difference]) -> str:
    said = "shares in per cent, their differences in points"
    if others := [one.metric.partition(":")[0] for one in found if one.unit != "share"]:
        said += f"; {', '.join(dict.fromkeys(others))} as they are"
    tests = sum(one.p_swap is not None for one in found)
    return f"{said}; p: clusters swapped between the two, adjusted for {tests} tests"


def _or_dash(number: float | None, one: Difference, sign: str = "") -> str:
    return "–" if number is None else shown(number, one, sign)


def p_value(p: float | None) -> str:
    """A p-value as papers print it.

    >>> p_value(0.04213), p_value(0.0001), p_value(1.0)
    ('0.042', '<0.001', '1.000')
    """
    if p is None:
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def frame_table(frame: Any) -> Table:
    """Any table, as it is."""
    table = Table(header_style="bold")
    for name in frame.columns:
        table.add_column(Text(name), overflow="fold")
    for row in frame.rows():
        table.add_row(*(Text("" if cell is None else str(cell)) for cell in row))
    return table


def cell_table(name: str, cells: Sequence[Cell]) -> Table:
    """What a paper prints in a table, what was obtained, the difference and its reason."""
    table = Table(title=f"Table {name}" if name[:1].isdigit() else name, title_justify="left", header_style="bold")
    for column in ("row", "column"):
        table.add_column(column, overflow="fold")
    for column in ("published", "obtained", "difference"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("reason", overflow="fold")
    last = ""
    for cell in cells:
        both = cell.published is not None and cell.obtained is not None
        difference = f"{cell.obtained - cell.published:+.{cell.digits + 1}f}" if both else ""  # type: ignore[operator]
        published = "" if cell.published is None else f"{cell.published:.{cell.digits}f}"
        places = ".4g" if cell.published is None else f".{cell.digits + 1}f"
        obtained = "" if cell.obtained is None else f"{cell.obtained:{places}}"
        style = "" if cell.agrees is not False else "yellow"
        row = cell.row if cell.row != last else ""
        table.add_row(Text(row), Text(cell.column), published, obtained, difference, Text(cell.reason), style=style)
        last = cell.row
    return table


def funnel_table(funnel: Funnel) -> Table:
    """From the variants that were made to those that were kept: what each check dropped, by itself alone, and why."""
    table = Table(header_style="bold")
    table.add_column("variants", overflow="fold")
    for name in ("dropped", "by it alone"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("commonest reasons", overflow="fold")
    table.add_row(f"{funnel.made:,} made", "", "", "", end_section=True)
    for one in funnel.checks:
        table.add_row(Text(one.name), f"{one.dropped:,}", f"{one.alone:,}", Text(_reasons(one)))
    table.add_section()
    table.add_row(f"{funnel.kept:,} kept", f"{funnel.dropped:,}", "", f"{funnel.kept / funnel.made:.1%} of those made")
    return table


def _reasons(one: Drops) -> str:
    told = [f"{times:,} × {reason}" for reason, times in one.reasons]
    told += [f"{one.others:,} × others"] if one.others else []
    told += [f"{one.left:,} left to the model"] if one.left else []
    told += [f"nothing said of {one.unjudged:,}"] if one.unjudged else []
    return "\n".join(told)
