"""Tables on standard output: scores, differences between models, and papers' cells beside what was obtained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from ..report.accounts import short_names

if TYPE_CHECKING:
    from ..exporting.export import Export
    from ..judging.findings import Circularity, Judged
    from ..papers.reproduction import Cell
    from ..problem import Score
    from ..profiling.profile import Part, Profile, Suggestions
    from ..scoring.compare import Difference
    from ..validity.funnel import Drops, Funnel

#: Letters of the longest bar.
_WIDTH = 30


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


def circularity_tables(found: Circularity, confidence: float) -> Iterator[Table]:
    """All tables of a report; of judges beside each other only where there are several."""
    yield _rates(found, confidence)
    yield _acceptance(found, confidence)
    if found.disagreements:
        yield _disagreements(found)


def _circularity_table(title: str, names: list[str], numbers: list[str], caption: str = "") -> Table:
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
    table = _circularity_table(title, [*lead, "judge"], ["accepted", *metrics, "without"], caption)
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
    table = _circularity_table("mutual entailment by source", ["judge", "source"], numbers)
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
    table = _circularity_table("judges beside each other", names, numbers)
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
