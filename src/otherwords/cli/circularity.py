"""otherwords circularity"""

from __future__ import annotations

import json as json_library
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from ..report.accounts import short_names
from . import options as opt
from .display import bars, console, say
from .tables import shown

if TYPE_CHECKING:
    from ..judging.findings import Circularity, Judged
    from ..problem import Score


# MERGED from cli.circularity_tables: The circularity report as tables: rates under each judge, acceptance by source, judges beside each other.


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


# MERGED from cli.circularity: otherwords circularity


def circularity(
    suite: Annotated[
        list[str],
        typer.Argument(
            metavar="SUITE",
            help="Originals and variants: a run folder, or files and data sets as for other commands; - for standard "
            "input.",
        ),
    ],
    model: opt.Models,
    judge: Annotated[
        list[str],
        typer.Option(
            "--judge",
            metavar="[NAME=]JUDGE",
            help="self, a model, or mutual-entailment(judge=MODEL, ...). Default: self and nli-small.",
        ),
    ] = [],  # noqa: B006
    metric: Annotated[
        list[str],
        typer.Option("--metric", metavar="METRIC", help="A metric, or several. Default: the fooling rates."),
    ] = [],  # noqa: B006
    by: opt.By = [],  # noqa: B006
    task: opt.TaskName = "",
    label_map: opt.LabelMap = "",
    no_canary: opt.NoCanary = False,
    batch_size: opt.BatchSize = 0,
    cache: opt.CachePath = "",
    no_cache: opt.NoCache = False,
    replicates: opt.Replicates = 10_000,
    confidence: opt.Confidence = 0.95,
    interval: opt.Interval = "percentile",
    out: Annotated[
        str,
        typer.Option("-o", "--out", metavar="FILE", help="Write the answers there, with the verdict of each judge."),
    ] = "",
    seed: opt.Seed = 1,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Show what fooling rates owe to their judge: the model itself, or another one.

    A variant counts only where a judge finds that it and its original entail each other. Rates under each judge, on the
    same problems; how many variants of each source a judge accepts; how often two judges disagree.
    """
    from ..judging.circularity import JUDGES, METRICS
    from ..judging.circularity import circularity as measure

    with bars(quiet or json):
        found = measure(
            suite, model, judge or JUDGES, task, using=metric or METRICS, by=by, label_map=opt.label_map(label_map),
            canary=not no_canary, cache=None if no_cache else cache, batch_size=batch_size, seed=seed,
            replicates=replicates, confidence=confidence, interval=interval, out=out or None,
        )  # fmt: skip
    if not quiet and (told := str(found.earlier)):
        say(told)
    if json and out != "-":  # which has the answers as JSON lines
        typer.echo(json_library.dumps(asdict(found), indent=2, ensure_ascii=False))
    elif not quiet and out != "-":
        screen = console()
        for table in circularity_tables(found, confidence):
            screen.print(table)
