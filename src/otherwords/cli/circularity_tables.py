"""The circularity report as tables: rates under each judge, acceptance by source, judges beside each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from ..report.accounts import short_names
from .tables import shown

if TYPE_CHECKING:
    from ..judging.findings import Circularity, Judged
    from ..problem import Score


def circularity_tables(found: Circularity, confidence: float) -> Iterator[Table]:
    """All tables of a report; of judges beside each other only where there are several."""
    yield _rates(found, confidence)
    yield _acceptance(found, confidence)
    if found.disagreements:
        yield _disagreements(found)


def _table(title: str, names: list[str], numbers: list[str], caption: str = "") -> Table:
    table = Table(title=Text(title), title_justify="left", header_style="bold", caption=caption or None)
    table.caption_justify = "left"
    for name in names:
        table.add_column(name, overflow="fold", min_width=12)
    for name in numbers:
        table.add_column(name.replace("_neutral", "\n_neutral"), justify="right", no_wrap=True)
    return table


def _rates(found: Circularity, confidence: float) -> Table:
    rows = _together(found)
    lead = _leading(rows)
    metrics = list(dict.fromkeys(score.metric for row in rows for score in row.scores))
    caption = "without: problems answered correctly that the judge left no variant, of all answered correctly"
    title = f"rates on the variants that a judge accepts, {confidence:.0%} intervals"
    table = _table(title, [*lead, "judge"], ["accepted", *metrics, "without"], caption)
    short = short_names(list(dict.fromkeys(row.group for row in rows if row.group)))
    last: tuple[str, ...] = ()
    for row in rows:
        here = tuple({"model": row.model, "group": short[row.group] if row.group else "all"}[name] for name in lead)
        if here != last:
            table.add_section()
        heads = here if here != last else ("",) * len(here)
        scores = [_with_interval(row.score(name), "\n") for name in metrics]
        counts = [f"{row.accepted:,} of {row.variants:,}", f"{row.without:,} of {row.right:,}"]
        table.add_row(*map(Text, (*heads, row.judge)), counts[0], *scores, counts[1])
        last = here
    return table


def _together(found: Circularity) -> list[Judged]:
    """All rows of a model and group together: without a judge, under each, and what all models accept."""
    places = {(row.model, row.group): place for place, row in reversed(list(enumerate(found.judged)))}
    return sorted((*found.judged, *found.shared), key=lambda row: places[row.model, row.group])


def _leading(rows: list[Judged]) -> list[str]:
    several = len({row.model for row in rows}) > 1
    return [*(["model"] if several else []), *(["group"] if any(row.group for row in rows) else [])]


def _acceptance(found: Circularity, confidence: float) -> Table:
    numbers = ["variants", "accepted", "share", f"{confidence:.0%} interval"]
    table = _table("mutual entailment by source", ["judge", "source"], numbers)
    last, short = "", short_names(list(dict.fromkeys(row.source for row in found.acceptance)))
    for row in found.acceptance:
        judge = f"{row.judge}: {row.model}" if row.model else row.judge
        if judge != last:
            table.add_section()
        counts = (f"{row.variants:,}", f"{row.accepted:,}")
        table.add_row(
            Text(judge if judge != last else ""), Text(short[row.source]), *counts, _value(row.rate), _ends(row.rate)
        )
        last = judge
    return table


def _disagreements(found: Circularity) -> Table:
    several = len({row.model for row in found.disagreements}) > 1
    names = [*(["model"] if several else []), "first judge", "second judge"]
    numbers = ["both", "first\nonly", "second\nonly", "neither", "disagree", "kappa", "r_r where\nboth accept"]
    table = _table("judges beside each other", names, numbers)
    for row in found.disagreements:
        lead = [*([row.model] if several else []), row.judge, row.other]
        counts = (f"{one:,}" for one in (row.both, row.only_judge, row.only_other, row.neither))
        kappa = "–" if row.kappa is None else f"{round(row.kappa, 3) + 0.0:.3f}"
        table.add_row(*map(Text, lead), *counts, f"{row.share:.1%}", kappa, _with_interval(row.r_r, "\n"))
    return table


def _with_interval(score: Score | None, between: str = " ") -> str:
    if score is None or score.value is None:
        return "–"
    return _value(score) if _ends(score) == "–" else f"{_value(score)}{between}[{_ends(score)}]"


def _value(score: Score) -> str:
    if score.value is None:
        return "–"
    return f"{shown(score.value, score)}{' %' if score.unit == 'share' else ''}"


def _ends(score: Score) -> str:
    if score.low is None or score.high is None:
        return "–"
    return f"{shown(score.low, score)} – {shown(score.high, score)}"
