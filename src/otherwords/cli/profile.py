"""otherwords profile"""

from __future__ import annotations

import json as json_library
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from . import options as opt
from .display import bars, console

if TYPE_CHECKING:
    from ..profiling.profile import Part, Profile, Suggestions


# MERGED from cli.suggestion_tables: What became of the suggestions of masked-LMs, as tables: a row per masked-LM, class and field, and who agreed.


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


# MERGED from cli.profile_tables: A profile as tables: what changed by generator, the substitutions as bars, lengths and artifact words by label.

#: Letters of the longest bar.
_WIDTH = 30


def profile_tables(found: Profile, top: int, all_words: bool) -> Iterator[Table]:
    """All tables of a profile: of the whole, and where there are several generators of each."""
    yield _summary(found)
    several = len(found.generators) > 1
    for part in (found.whole, *found.generators) if several else (found.whole,):
        if not part.changed:
            continue  # the first table says so
        title = f"{_short(part, found)}: " if several else ""
        yield _substitutions(part, title, top)
        yield _lengths(part, title)
        if table := _artifacts(part, title, all_words):
            yield table


def _short(part: Part, found: Profile) -> str:
    """A generator without its options, unless another one differs in these alone."""
    name = part.how.partition("(")[0]
    return part.how if sum(one.how.startswith(f"{name}(") for one in found.generators) > 1 else name


def _table(title: str, *names: str, numbers: tuple[str, ...] = ()) -> Table:
    table = Table(title=Text(title) if title else None, title_justify="left", header_style="bold")
    for name in names:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _summary(found: Profile) -> Table:
    numbers = ("problems", "variants", "problems changed", "words changed per variant")
    table = _table("", "generator", numbers=numbers)
    parts = (found.whole, *found.generators) if len(found.generators) > 1 else found.generators
    for part in parts:
        mean = "–" if part.words_changed is None else f"{part.words_changed:.2f}"
        share = f"{part.changed:,} ({part.share_changed:.1%})"
        table.add_row(Text(part.how), f"{part.problems:,}", f"{part.variants:,}", share, mean)
    return table


def _substitutions(part: Part, title: str, top: int) -> Table:
    shown = part.substitutions[:top]
    total = sum(one.count for one in part.substitutions)
    title += f"the {len(shown)} most frequent of {total:,} substitutions ({len(part.substitutions):,} different)"
    table = _table(title, "before", "after", numbers=("times", "share"))
    table.add_column("", no_wrap=True)
    for one in shown:
        bar = "█" * max(1, round(_WIDTH * one.count / shown[0].count))
        words = (Text(side) if side else Text("–", style="dim") for side in (one.before, one.after))
        table.add_row(*words, f"{one.count:,}", f"{one.share:.1%}", bar)
    return table


def _lengths(part: Part, title: str) -> Table:
    table = _table(f"{title}mean length in words", "label", numbers=("problems", "before", "after", "increase"))
    for one in part.lengths:
        increase = "–" if one.increase is None else f"{one.increase:+.1%}"
        table.add_row(Text(one.label), f"{one.problems:,}", f"{one.before:.2f}", f"{one.after:.2f}", increase)
    return table


def _artifacts(part: Part, title: str, all_words: bool) -> Table | None:
    """Words whose frequency changed, in per cent of the label's problems; None where there is none."""
    shown = [one for one in part.artifacts if all_words or one.before != one.after]
    if not shown:
        return None
    title += "problems that contain a word known to betray their label"
    table = _table(title, "label", "word", "known from", numbers=("before", "after"))
    for one in shown:
        table.add_row(Text(one.label), one.word, one.corpus.upper(), f"{one.before:.1%}", f"{one.after:.1%}")
    return table


# MERGED from cli.profile: otherwords profile


def profile(
    suite: Annotated[
        list[str],
        typer.Argument(
            metavar="SUITE",
            help="Originals and variants: a run folder, or files and data sets as for other commands; - for standard "
            "input.",
        ),
    ],
    kept: Annotated[bool, typer.Option("--kept", help="Leave out variants that a check dropped.")] = False,
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, help="How many substitutions to show.")] = 20,
    words: Annotated[
        bool, typer.Option("--all-words", help="Show artifact words whose frequency stays the same, too.")
    ] = False,
    out: Annotated[
        str,
        typer.Option("-o", "--out", metavar="FILE", help="Write all substitutions there: .jsonl, .csv, ..., or -."),
    ] = "",
    task: opt.TaskName = "",
    field: opt.Fields = [],  # noqa: B006
    label: opt.Labels = [],  # noqa: B006
    skip_bad: opt.SkipBad = False,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Show what a transformation does: how much it changes, which words, lengths, artifacts.

    Over all variants and by generator: the share of problems changed, words changed per variant, the most frequent
    substitutions, length before and after by label, and how often words occur that betray a label (Gururangan et al.
    2018). A problem without a variant counts as it is. Of a run folder with variants of masked-lm, also what each
    filter removed, and how far the masked-LMs agree.
    """
    from ..profiling.profile import profile as describe

    columns, labels = opt.pairs(field, "--field"), opt.pairs(label, "--label")
    with bars(quiet or json):
        found = describe(suite, task, kept=kept, columns=columns, labels=labels, skip_bad=skip_bad, out=out or None)
    if json and out != "-":  # which has the substitutions as JSON lines
        typer.echo(json_library.dumps(asdict(found.shortened(top)), indent=2, ensure_ascii=False))
    elif not quiet and out != "-":
        screen = console()
        for table in (*profile_tables(found, top, words), *suggestion_tables(found)):
            screen.print(table)
