"""Tables on standard output: scores, differences, papers' cells, checks, exports, profiles, circularity reports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from ..problem import rounded
from ..scoring.layout import (
    difference_notes,
    evidence_columns,
    evidence_note,
    evidence_text,
    foot_of,
    missing_text,
    p_value,
    short_groups,
    shrunk_text,
)
from ..scoring.layout import ends_text as _ends
from ..scoring.layout import number_text as _or_dash
from ..scoring.layout import value_text as _value
from ..storage.specs import short_names

if TYPE_CHECKING:
    from ..exporting.export import Export
    from ..judging import Circularity, Judged
    from ..papers.reproduction import Cell
    from ..problem import Score
    from ..profiling.profile import Part, Profile, Suggestions
    from ..scoring.count_tests import CountTest
    from ..scoring.difference import Difference
    from ..significance.agreement import AgreementReport
    from ..validity.funnel import Drops, Funnel

#: Heading of the clusters and, in brackets, their effective number.
_CLUSTERS = "clusters\n(eff. n)"
#: Letters of the longest bar.
_WIDTH = 30
Lead = tuple[str, ...]


def _table(
    names: Iterable[str], numbers: Iterable[str] = (), title: str = "", caption: str = "", *, wrap: bool = False
) -> Table:
    """A table with columns of text, then of numbers, which do not break unless they may `wrap`."""
    table = Table(title=Text(title) if title else None, title_justify="left", header_style="bold")
    table.caption, table.caption_justify = Text(caption) if caption else None, "left"
    for name in names:
        table.add_column(Text(name), overflow="fold")
    for name in numbers:
        table.add_column(Text(name), justify="right", no_wrap=not wrap)
    return table


def _add_sections(table: Table, rows: Iterable[tuple[Lead, Sequence[str | Text]]]) -> Table:
    """Add rows; the leading cells are shown once, at the head of their section. Sections of one row have no lines."""
    last: Lead | None = None
    listed = list(rows)
    lines = any(one[0] == other[0] for one, other in pairwise(listed))
    for lead, cells in listed:
        if lead != last and lines:
            table.add_section()
        table.add_row(*map(Text, lead if lead != last else [""] * len(lead)), *cells)
        last = lead
    return table


# Scores and differences


def score_table(scores: Sequence[Score], confidence: float) -> Table:
    """Scores in per cent with their intervals, a row each."""
    from ..scoring.select import explain_no_pairs

    several, grouped = len({one.model for one in scores}) > 1, any(one.group for one in scores)
    names = [*(["model"] if several else []), *(["group"] if grouped else []), "metric"]
    short, foot = short_groups([one.group for one in scores])
    no_pairs = f"– {reason}" if (reason := explain_no_pairs(scores)) else ""
    caption = "\n".join(filter(None, (no_pairs, evidence_note(scores), missing_text(scores), foot)))
    more, counts = ["shrunk"] if any(one.shrunk is not None for one in scores) else [], evidence_columns(scores)[2:]
    table = _table(names, ("value", f"{100 * confidence:g}% interval", *more, _CLUSTERS, *counts), caption=caption)
    return _add_sections(
        table,
        (
            (
                (*([one.model] if several else []), *([short[one.group]] if grouped else [])),
                (
                    Text(one.metric),
                    _value(one, "  "),
                    _ends(one),
                    *([shrunk_text(one)] if more else []),
                    _clusters(one),
                    *evidence_text(one, counts),
                ),
            )
            for one in scores
        ),
    )


def _clusters(one: Score | Difference) -> str:
    """The number of clusters, and the effective one where it is known."""
    clusters, effective = evidence_text(one)[:2]
    return clusters if one.n_effective is None else f"{clusters} ({effective})"


def _stacked(name: str, width: int = 9) -> str:
    """A heading in lines of about this width, which end after a mark inside the name.

    >>> _stacked("bag_of_words.v1"), _stacked("topic=transport"), _stacked("short")
    ('bag_of_\\nwords.v1', 'topic=\\ntransport', 'short')
    """
    lines = [""]
    for part in re.findall("[^/_.:=-]+[/_.:=-]*|[/_.:=-]+", name) if len(name) > width else [name]:
        if lines[-1] and len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _compared(differences: Sequence[Difference]) -> tuple[str, list[str], str]:
    """How a table calls what is compared: a heading, a text for each row, and the foot; empty if there is one pair.

    Groups are named by their values, under the name of their column, and by the model that gave the answers.
    """
    grouped, (short, foot) = any(one.group for one in differences), short_groups([one.group for one in differences])
    groups = [short[one.group] for one in differences] if grouped else []
    if len({(one.model, one.other) for one in differences}) == 1:
        return ("group" if grouped else ""), groups, foot
    named, foot = short_groups([name for one in differences for name in (one.model, one.other)])
    columns = {name.partition("=")[0] if "=" in name else "" for known, name in named.items() if known}
    column = columns.pop() if len(columns) == 1 else ""
    first, second = (
        [named[getattr(one, side)].removeprefix(f"{column}=") for one in differences] for side in ("model", "other")
    )
    texts = [" ".join(parts) for parts in zip(first, repeat("−"), second, strict=False)]
    return column or "compared", list(map("{}, {}".format, texts, groups)) if groups else texts, foot


def _difference_rows(
    differences: Sequence[Difference], numbers: Sequence[str], cells: Callable[[Difference], list[str]], *texts: str
) -> Table:
    """A table of differences: a row each, below a row for each group that has several; title and notes in `texts`."""
    heading, compared, foot = _compared(differences)
    sections = compared or [one.family for one in differences]
    lines = any(one == other for one, other in pairwise(sections))
    headed = bool(heading) and lines
    names = [heading] if heading and not headed else []
    metric = f"{heading}\nmetric" if headed and heading != "group" else "metric"  # the values of a column
    table = _table([*names, metric], numbers, texts[0], "\n".join(filter(None, (*texts[1:], foot))))
    for one, section, last in zip(differences, sections, ["", *sections], strict=False):
        if section != last and lines:
            table.add_section()
            if headed:
                table.add_row(Text(section, style="italic"))
        table.add_row(*([Text(section)] if names else []), Text(one.metric), *cells(one))
    return table


def difference_table(differences: Sequence[Difference], confidence: float) -> Table:
    """Both values, their difference with its interval, and p-values: a row per metric."""
    pairs = {(one.model, one.other) for one in differences}
    named, pair_foot = short_groups(next(iter(pairs))) if len(pairs) == 1 else ({}, "")
    values = [_stacked(name) for known, name in named.items() if known] or ["first", "second"]
    over_models = any(one.p_t is not None for one in differences)
    tests = ["p", "p\n(maxT)", "p\n(Holm)", *(["p (t)"] if over_models else [])]
    evidence = [_CLUSTERS] if len({_clusters(one) for one in differences}) > 1 else []

    def cells(one: Difference) -> list[str]:
        values = (_or_dash(one.value, one), _or_dash(one.other_value, one), _or_dash(one.difference, one, "+"))
        p = [one.p, one.p_maxt, one.p_holm, *([one.p_t] if over_models else [])]
        return [*values, _ends(one, "+"), *map(p_value, p), *([_clusters(one)] if evidence else [])]

    notes = [*difference_notes(differences), evidence_note(differences), missing_text(differences), pair_foot]
    if not evidence:
        notes.insert(-2, "every row: {} clusters (eff. n {})".format(*evidence_text(differences[0])))
    numbers = (*values, "differ-\nence", f"{100 * confidence:g}% interval", *tests, *evidence)
    return _difference_rows(differences, numbers, cells, "", *notes)


def margin_table(differences: Sequence[Difference]) -> Table:
    """Whether the first is not lower, not higher, neither, by the margin: a row per metric."""
    tested = [one for one in differences if one.margin is not None]
    like, several = tested[0], len({(one.model, one.other) for one in tested}) > 1
    margin = f"margin {like.margin:g} ({rounded(like.margin or 0, 'share')} points of a share)"
    title = margin if several else f"{like.model} − {like.other}, {margin}"
    notes = (
        "a small p says that the first is not below the second by the margin, not above it, or neither (equivalent)",
        "non-inferiority: p (not lower) where higher is better, p (not higher) where lower is better",
    )

    def cells(one: Difference) -> list[str]:
        p = (one.p_not_lower, one.p_not_higher, one.p_equivalent)
        return [_or_dash(one.difference, one, "+"), *map(p_value, p)]

    numbers = ("differ-\nence", "p\n(not lower)", "p\n(not higher)", "p\n(equivalent)")
    return _difference_rows(tested, numbers, cells, title, *notes)


def count_table(tests: Sequence[CountTest]) -> Table:
    """Tests that assume independent rows, a row each."""
    grouped, (short, foot) = any(one.group for one in tests), short_groups([one.group for one in tests])
    several = len({one.models for one in tests}) > 1
    names = [*(["group"] if grouped else []), "test", *(["models"] if several else []), "rows"]
    numbers = ("n", "right in\nfirst only", "right in\nsecond only", "statistic", "p", "odds\nratio", "exact\ninterval")
    caption = "assumes independent rows: wordings of one problem are not, and p is then too small"
    if any(one.test == "mcnemar" for one in tests):
        caption += "; mcnemar: mid-p"
    table = _table(names, numbers, "" if several else tests[0].models, "\n".join(filter(None, (caption, foot))))
    for one in tests:
        lead = [*([short[one.group]] if grouped else []), one.test, *([one.models] if several else []), one.rows]
        counts = (one.n, one.n10, one.n01)
        ends = "–" if one.low is None else f"{_ratio(one.low)} – {_ratio(one.high)}"
        table.add_row(
            *map(Text, lead),
            *("–" if count is None else f"{count:,}" for count in counts),
            "–" if one.statistic is None else f"{one.statistic:.3f}",
            p_value(one.p),
            "–" if one.n10 is None else _ratio(one.odds_ratio) if one.n10 + (one.n01 or 0) else "–",
            ends,
        )
    return table


def _ratio(number: float | None) -> str:
    return "∞" if number is None else f"{number:.2f}"


def frame_table(frame: Any) -> Table:
    """Any table, as it is."""
    table = _table(frame.columns)
    for row in frame.rows():
        table.add_row(*(Text("" if cell is None else str(cell)) for cell in row))
    return table


# Papers, checks, exports


def cell_table(name: str, cells: Sequence[Cell]) -> Table:
    """What a paper prints in a table, what was obtained, the difference and its reason; intervals where any has one."""
    title = f"Table {name}" if name[:1].isdigit() else name
    table = _table(("row", "column"), ("published", "obtained", "difference"), title)
    measured = any(cell.interval or cell.percentile for cell in cells)
    for heading in ("95 % interval", "percentile") if measured else ():
        table.add_column(heading, justify="right", overflow="fold")
    table.add_column("reason", overflow="fold")
    last = ""
    for cell in cells:
        both = cell.published is not None and cell.obtained is not None
        difference = f"{cell.obtained - cell.published:+.{cell.digits + 1}f}" if both else ""  # type: ignore[operator]
        published = "" if cell.published is None else f"{cell.published:.{cell.digits}f}"
        places = ".4g" if cell.published is None else f".{cell.digits + 1}f"
        obtained = "" if cell.obtained is None else f"{cell.obtained:{places}}"
        intervals = [_cell_ends(cell.interval), _cell_ends(cell.percentile)] if measured else []
        style = "" if cell.agrees is not False else "yellow"
        lead = (Text(cell.row if cell.row != last else ""), Text(cell.column))
        table.add_row(*lead, published, obtained, difference, *intervals, Text(cell.reason), style=style)
        last = cell.row
    return table


def _cell_ends(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else " – ".join(f"{round(end, 1) + 0.0:.1f}" for end in ends)


def funnel_table(funnel: Funnel) -> Table:
    """From the variants that were made to those that were kept: what each check dropped, what it alone dropped, why."""
    table = _table(["variants"], ("dropped", "by it alone"))
    table.add_column("commonest reasons", overflow="fold")
    table.add_row(f"{funnel.made:,} made", "", "", "", end_section=True)
    for one in funnel.checks:
        table.add_row(Text(one.name), f"{one.dropped:,}", f"{one.alone:,}", Text(_reasons(one)))
    table.add_section()
    table.add_row(f"{funnel.kept:,} kept", f"{funnel.dropped:,}", "", f"{funnel.kept / funnel.made:.1%} of those made")
    return table


def _reasons(one: Drops) -> str:
    lines = [f"{times:,} × {reason}" for reason, times in one.reasons]
    lines += [f"{one.others:,} × others"] if one.others else []
    lines += [f"{one.left:,} left to the model"] if one.left else []
    lines += [f"{one.unjudged:,} without a verdict"] if one.unjudged else []
    return "\n".join(lines)


def export_table(export: Export) -> Table:
    """Differences, changed answers and accuracy, a row each."""
    comparison, words = export.comparison, export.architecture.endswith("ForMaskedLM")
    rows = f"{comparison.rows:,} {'masked words' if words else 'pairs'}"
    table = _table(["exported and original"], [""], f"{export.source} on {rows}")
    of = "log-probability of the masked word" if words else "probability"
    table.add_row(f"other {'best words' if words else 'labels'}", _share(comparison.differing, comparison.rows))
    table.add_row(
        f"changed in {comparison.shuffles} other orders", _share(comparison.order_changes, comparison.reordered)
    )
    table.add_row(f"largest difference of {of}", f"{comparison.max_difference:.2g}")
    table.add_row("mean difference", f"{comparison.mean_difference:.2g}")
    for name, right in (("original", comparison.original_right), ("exported", comparison.right)):
        table.add_row(f"accuracy, {name}", "–" if right is None else _share(right, comparison.rows))
    return table


def _share(count: int, rows: int) -> str:
    """A count and its share of the total.

    >>> _share(3, 1500)
    '3 (0.20 %)'
    """
    return f"{count:,} ({100 * count / rows:.2f} %)"


# Annotators


def agreement_tables(report: AgreementReport, confidence: float) -> Iterator[Table]:
    """How far annotators agree on each question, and each of them with the others."""
    named = any(one.question for one in report.questions)
    names = ["question"] if named else []
    ends = ("value", f"{100 * confidence:g}% interval", "items", "annotators")
    caption = "cohen, fleiss: kappa; alpha: Krippendorff's; ac1, ac2: Gwet's. 1 is full agreement, 0 that of chance"
    table = _table([*names, "measure"], ends, caption=caption)
    rows = []
    for one in report.questions:
        level = "" if one.level == "nominal" else f" ({one.level})"
        end = "–" if one.low is None or one.high is None else f"{one.low:.3f} – {one.high:.3f}"
        cells = (Text(one.measure + level), _three(one.value), end, f"{one.items:,}", f"{one.annotators:,}")
        rows.append((tuple([one.question] if named else []), cells))
    yield _add_sections(table, rows)
    numbers = ("items", "as the others", "mean kappa", "seconds")
    table = _table([*names, "annotator"], numbers, title="Each annotator against the others")
    people = []
    for who in report.annotators:
        agreed = "–" if who.agreed is None else f"{100 * who.agreed:.1f} %"
        seconds = "–" if who.seconds is None else f"{who.seconds:.1f}"
        cells = (Text(who.annotator), f"{who.items:,}", agreed, _three(who.kappa), seconds)
        people.append((tuple([who.question] if named else []), cells))
    yield _add_sections(table, people)


def _three(value: float | None) -> str:
    return "–" if value is None else f"{value + 0.0:.3f}"


# Profiles


def profile_tables(profile: Profile, top: int, all_words: bool) -> Iterator[Table]:
    """All tables of a profile: of the whole, of each generator where there are several, of masked-LMs' suggestions."""
    yield _summary(profile)
    several = len(profile.generators) > 1
    for part in (profile.whole, *profile.generators) if several else (profile.whole,):
        if not part.changed:
            continue  # the first table says so
        title = f"{_short(part, profile)}: " if several else ""
        yield _substitutions(part, title, top)
        yield _lengths(part, title)
        if table := _artifacts(part, title, all_words):
            yield table
    for one in profile.suggestions:
        names = short_names([other.how for other in profile.suggestions])
        title = f"{names[one.how]}: " if len(names) > 1 else ""
        yield _filters(one, title)
        if one.overlap:
            yield _overlap(one, title)


def _short(part: Part, profile: Profile) -> str:
    """What a table calls a generator."""
    return short_names([one.how for one in profile.generators]).get(part.how, part.how)


def _summary(profile: Profile) -> Table:
    short = short_names([one.how for one in profile.generators])
    numbers = ("problems", "variants", "problems changed", "words changed per variant")
    table = _table(["generator"], numbers, caption=foot_of(short))
    parts = (profile.whole, *profile.generators) if len(profile.generators) > 1 else profile.generators
    for part in parts:
        mean = "–" if part.words_changed is None else f"{part.words_changed:.2f}"
        share = f"{part.changed:,} ({part.share_changed:.1%})"
        table.add_row(Text(short.get(part.how, part.how)), f"{part.problems:,}", f"{part.variants:,}", share, mean)
    return table


def _substitutions(part: Part, title: str, top: int) -> Table:
    most = part.substitutions[:top]
    total = sum(one.count for one in part.substitutions)
    title += f"the {len(most)} most frequent of {total:,} substitutions ({len(part.substitutions):,} different)"
    table = _table(("before", "after"), ("times", "share"), title)
    table.add_column("", no_wrap=True)
    for one in most:
        bar = "█" * max(1, round(_WIDTH * one.count / most[0].count))
        words = (Text(side) if side else Text("–", style="dim") for side in (one.before, one.after))
        table.add_row(*words, f"{one.count:,}", f"{one.share:.1%}", bar)
    return table


def _lengths(part: Part, title: str) -> Table:
    table = _table(["label"], ("problems", "before", "after", "increase"), f"{title}mean length in words")
    for one in part.lengths:
        increase = "–" if one.increase is None else f"{one.increase:+.1%}"
        table.add_row(Text(one.label), f"{one.problems:,}", f"{one.before:.2f}", f"{one.after:.2f}", increase)
    return table


def _artifacts(part: Part, title: str, all_words: bool) -> Table | None:
    """Words whose frequency changed, in per cent of the label's problems; None where there is none."""
    words = [one for one in part.artifacts if all_words or one.before != one.after]
    if not words:
        return None
    title += "problems that contain a word known to betray their label"
    table = _table(("label", "word", "known from"), ("before", "after"), title)
    for one in words:
        table.add_row(Text(one.label), one.word, one.corpus.upper(), f"{one.before:.1%}", f"{one.after:.1%}")
    return table


def _filters(one: Suggestions, title: str) -> Table:
    filters = list(dict.fromkeys(rate.filter for rate in one.filters))
    title += "per cent of the suggestions that reached a filter, and were removed by it"
    table = _table(("masked-LM", "class", "field"), filters, title, wrap=True)
    rows: dict[tuple[str, str, str], dict[str, float]] = {}
    for rate in one.filters:
        rows.setdefault((rate.model, rate.word_class, rate.field), {})[rate.filter] = rate.percent
    for lead, percents in rows.items():
        table.add_row(*map(Text, lead), *(f"{percents[name]:.1f}" if name in percents else "–" for name in filters))
    return table


def _overlap(one: Suggestions, title: str) -> Table:
    models = list(dict.fromkeys(cell.model for cell in one.overlap))
    title += "suggestions per problem that two masked-LMs share, or one has alone"
    table = _table(["masked-LM"], models, title, wrap=True)
    means = {(cell.model, cell.other): cell.mean for cell in one.overlap}
    for model in models:
        table.add_row(Text(model), *(f"{means[model, other]:.1f}" for other in models))
    return table


# Circularity reports


def circularity_tables(report: Circularity, confidence: float) -> Iterator[Table]:
    """All tables of a report; of pairs of judges only where there are several."""
    yield _rates(report, confidence)
    yield _acceptance(report, confidence)
    if report.disagreements:
        yield _disagreements(report)


def _circularity_table(title: str, names: Sequence[str], numbers: Sequence[str], caption: str = "") -> Table:
    """Long names of metrics are broken, so that the names of judges are not."""
    table = _table(names, [name.replace("_neutral", "\n_neutral") for name in numbers], title, caption)
    for column in table.columns[: len(names)]:
        column.min_width = 12
    return table


def _rates(report: Circularity, confidence: float) -> Table:
    rows = _by_model(report)
    several, grouped = len({row.model for row in rows}) > 1, any(row.group for row in rows)
    metrics = list(dict.fromkeys(score.metric for row in rows for score in row.scores))
    caption = "without: problems answered correctly that the judge left no variant, of all answered correctly"
    title = f"rates on the variants that a judge accepts, {confidence:.0%} intervals"
    names = [*(["model"] if several else []), *(["group"] if grouped else []), "judge"]
    short, foot = short_groups([row.group for row in rows])
    caption += f"\n{foot}" if foot else ""
    table = _circularity_table(title, names, ["accepted", *metrics, "without"], caption)

    def cells(row: Judged) -> tuple[Lead, list[str | Text]]:
        group = short[row.group]
        scores = [_with_interval(row.score(name)) for name in metrics]
        counts = [f"{row.accepted:,} of {row.variants:,}", f"{row.without:,} of {row.right:,}"]
        lead = (*([row.model] if several else []), *([group] if grouped else []))
        return lead, [Text(row.judge), counts[0], *scores, counts[1]]

    return _add_sections(table, map(cells, rows))


def _by_model(report: Circularity) -> list[Judged]:
    """All rows of a model and group together: without a judge, under each, and what all models accept."""
    places = {(row.model, row.group): place for place, row in reversed(list(enumerate(report.judged)))}
    return sorted((*report.judged, *report.shared), key=lambda row: places[row.model, row.group])


def _acceptance(report: Circularity, confidence: float) -> Table:
    numbers = ["variants", "accepted", "share", f"{100 * confidence:g}% interval"]
    short = short_names(list(dict.fromkeys(row.source for row in report.acceptance)))
    table = _circularity_table("mutual entailment by source", ["judge", "source"], numbers, foot_of(short))
    return _add_sections(
        table,
        (
            (
                (f"{row.judge}: {row.model}" if row.model else row.judge,),
                (Text(short[row.source]), f"{row.variants:,}", f"{row.accepted:,}", _value(row.rate), _ends(row.rate)),
            )
            for row in report.acceptance
        ),
    )


def _disagreements(report: Circularity) -> Table:
    several = len({row.model for row in report.disagreements}) > 1
    names = [*(["model"] if several else []), "first judge", "second judge"]
    numbers = ["both", "first\nonly", "second\nonly", "neither", "disagree", "kappa", "r_r where\nboth accept"]
    table = _circularity_table("pairs of judges", names, numbers)
    for row in report.disagreements:
        lead = [*([row.model] if several else []), row.judge, row.other]
        counts = (f"{count:,}" for count in (row.both, row.only_judge, row.only_other, row.neither))
        kappa = "–" if row.kappa is None else f"{round(row.kappa, 3) + 0.0:.3f}"
        table.add_row(*map(Text, lead), *counts, f"{row.share:.1%}", kappa, _with_interval(row.r_r))
    return table


def _with_interval(score: Score | None) -> str:
    if score is None or score.value is None:
        return "–"
    return _value(score) if _ends(score) == "–" else f"{_value(score)}\n[{_ends(score)}]"
