"""A list of scores or differences that shows itself as a table, finds a metric by name, and becomes a data frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, SupportsIndex, TypeVar, overload

import polars as pl

from ..answers.groups import OneAnswer
from ..errors import BadInput, MissingExtra, UnknownName
from ..problem import Score, rounded
from ..significance.proportions import effective_size, shrink
from ..storage.files import write_text
from ..storage.specs import short_names

_EMPTY = "–"
#: What a table shows of the evidence behind a score; buckets only where they are not the clusters.
EVIDENCE = ("clusters", "eff. n", "buckets", "answers")


@dataclass(frozen=True)
class Difference:
    """One metric of two models (or groups): both values, the first minus the second, its interval and p-values.

    `p` is the p-value to decide by: the larger of `p_swap`, from swapping whole clusters between the two, and
    `p_interval`, the level at which the interval leaves out 0. `p_maxt` is adjusted for all metrics by swaps that they
    share, `p_bonferroni`, `p_holm` and `p_bh` are `p` adjusted for all differences of one call. With a `margin`, a
    small `p_not_lower` says that the first is not below the second by so much, `p_not_higher` that it is not above,
    `p_equivalent` both. `interval` names the kind of interval, and `note` says why there is none. `n_units`,
    `n_answers`, `n_clusters` and `n_effective` are those of the side that has fewer. `family` names the metrics that
    say nearly the same: read them as one finding.

    Where groups are compared for several models, a row of the group "(models)" has the mean difference. `p_crossed` and
    the interval are of the test in which models and problems are crossed: decide by it; the adjusted p-values are those
    of all such rows. `p_t` is the papers' t test over the models' scores, which does not hold its level where models
    share problems (it rejects up to 46 % of true nulls): for reproduction only.
    """

    metric: str
    signature: str
    model: str
    other: str
    group: str | None
    value: float | None
    other_value: float | None
    difference: float | None
    low: float | None
    high: float | None
    p_swap: float | None
    n_units: int
    n_answers: int
    unit: str = "share"
    p_bonferroni: float | None = None
    p_holm: float | None = None
    p_bh: float | None = None
    p_t: float | None = None
    family: str = ""
    p: float | None = None
    p_interval: float | None = None
    p_crossed: float | None = None
    p_maxt: float | None = None
    interval: str = ""
    confidence: float | None = None
    n_clusters: int = 0
    n_effective: float | None = None
    note: str = ""
    margin: float | None = None
    p_not_lower: float | None = None
    p_not_higher: float | None = None
    p_equivalent: float | None = None


@dataclass(frozen=True)
class CountTest:
    """A test of how many answers are right, which assumes that rows are independent of each other.

    `rows` says which answers are counted. Of two columns (models, or originals and variants), n10 rows are right in the
    first alone and n01 in the second alone; `difference` is of their shares right, `odds_ratio` is n10 / n01 with its
    exact interval, None where it is infinite. `p` of McNemar's test is the mid-p, `p_exact` the exact one.
    """

    test: str
    signature: str
    models: str
    group: str | None
    rows: str
    n: int
    n10: int | None
    n01: int | None
    difference: float | None
    statistic: float | None
    p: float
    p_exact: float | None = None
    odds_ratio: float | None = None
    low: float | None = None
    high: float | None = None
    confidence: float | None = None
    margin: float | None = None
    assumes: str = "independent rows"


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
            raise UnknownName(f"no metric {metric!r} here; there are: {known}")
        if len(found) > 1:
            rows = ", ".join(dict.fromkeys(" ".join(filter(None, (row.model, row.group))) for row in found))
            fix = f".where(metric={metric!r}, model=..., group=...)"
            raise UnknownName(f"{metric!r} has {len(found)} rows ({rows}): choose with {fix}")
        return found[0]

    def shrunk(self) -> Results[Row]:
        """Scores whose groups also have values shrunk towards each other, and are ranked by them, greatest first.

        Of all groups of a column, for each model and metric: shares with Wilson's interval alone. The order of groups
        is that of the first metric.
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
        return Picture(_draw(self))

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


@dataclass(frozen=True)
class Picture:
    """A picture that a notebook shows, as SVG."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Write it to an .svg file."""
        write_text(Path(path), self.svg)

    def __repr__(self) -> str:
        return f"a picture ({len(self.svg):,} bytes of SVG); .save(FILE) writes it"


def to_pandas(frame: pl.DataFrame) -> Any:
    """A pandas frame; pandas and pyarrow come with an extra."""
    try:
        return frame.to_pandas()
    except ModuleNotFoundError as error:
        raise MissingExtra("to_pandas()", "pandas") from error


class Layout(NamedTuple):
    """The cells of a table as text: so many columns of `texts`, then numbers."""

    header: list[str]
    texts: int
    rows: list[list[str]]
    caption: str = ""


def layout(results: Sequence[Score | Difference]) -> Layout:
    """What is printed of scores or differences; a column in which all rows are alike is left out."""
    return _score_layout(results) if isinstance(results[0], Score) else _difference_layout(results)  # type: ignore[arg-type]


def short_groups(groups: Iterable[str | None]) -> tuple[dict[str | None, str], str]:
    """What a table calls each group (of `how`: generators by their short names), and the foot with their titles."""
    titles = {one: one.removeprefix("how=") for one in groups if one and one.startswith("how=")}
    short = short_names(list(titles.values()))
    named = {one: f"how={short[titles[one]]}" if one in titles else one or "all" for one in (None, *groups)}
    return named, foot_of(short)


def foot_of(short: Mapping[str, str]) -> str:
    """The foot of a table: in full what it calls by short names."""
    return "\n".join(f"{name}: {title.removeprefix(f'{name}=')}" for title, name in short.items() if title != name)


def _score_layout(scores: Sequence[Score]) -> Layout:
    several, grouped = len({one.model for one in scores}) > 1, any(one.group for one in scores)
    shrunk = any(one.shrunk is not None for one in scores)
    names = [*(["model"] if several else []), *(["group"] if grouped else []), "metric"]
    short, foot = short_groups([one.group for one in scores])
    evidence = evidence_columns(scores)
    rows = [
        [*([one.model] if several else []), *([short[one.group]] if grouped else []), one.metric,
         value_text(one), ends_text(one), *([shrunk_text(one)] if shrunk else []), *evidence_text(one, evidence)]
        for one in scores
    ]  # fmt: skip
    caption = "\n".join(filter(None, (evidence_note(scores), missing_text(scores), foot)))
    header = [*names, "value", _interval_heading(scores), *(["shrunk"] if shrunk else []), *evidence]
    return Layout(header, len(names), rows, caption)


def _difference_layout(differences: Sequence[Difference]) -> Layout:
    first, grouped = differences[0], any(one.group for one in differences)
    several = len({(one.model, one.other) for one in differences}) > 1
    pair = ["first", "second"] if several else [first.model, first.other]
    names = [*(["compared"] if several else []), *(["group"] if grouped else []), "metric"]
    short, foot = short_groups([one.group for one in differences])
    evidence, tests = evidence_columns(differences)[:-1], 4 if any(one.p_t is not None for one in differences) else 3
    rows = [
        [*([f"{one.model} − {one.other}"] if several else []), *([short[one.group]] if grouped else []), one.metric,
         *(number_text(number, one) for number in (one.value, one.other_value)), number_text(one.difference, one, "+"),
         ends_text(one, "+"), *map(p_value, (one.p, one.p_maxt, one.p_holm, one.p_t)[:tests]),
         *evidence_text(one, evidence)]
        for one in differences
    ]  # fmt: skip
    header = [*names, *pair, "difference", _interval_heading(differences)]
    header += [*("p", "p (maxT)", "p (Holm)", "p (t)")[:tests], *evidence]
    notes = (*difference_notes(differences), evidence_note(differences), missing_text(differences), foot)
    caption = "\n".join(filter(None, notes))
    return Layout(header, len(names), rows, caption)


def _interval_heading(results: Sequence[Score | Difference]) -> str:
    known = {one.confidence for one in results} - {None}
    return f"{known.pop():.0%} interval" if len(known) == 1 else "interval"


def _html_row(cells: Sequence[str], texts: int, signature: str) -> str:
    """Cells of text to the left, numbers to the right, the signature behind the metric."""
    parts = []
    for place, cell in enumerate(cells):
        title = f' title="{escape(signature)}"' if place == texts - 1 else ""
        side = "left" if place < texts else "right"
        parts.append(f'<td style="text-align: {side}"{title}>{escape(cell)}</td>')
    return f"<tr>{''.join(parts)}</tr>"


# Pictures

_ROW, _LABEL, _WIDTH, _FONT = 26, 7.2, 420, "font: 13px system-ui, sans-serif"


def _draw(results: Sequence[Score | Difference]) -> str:
    """Draw rows one below the other on one scale: from 0 to 100 per cent, or as wide as the numbers are."""
    if not results:
        raise BadInput("no results to draw")
    if len({one.unit for one in results}) > 1:
        fix = "draw some of them: .where(metric=...).plot()"
        raise BadInput("shares and other numbers have no scale in common", where="plot", fix=fix)
    table = layout(results)
    labels = ["  ".join(row[: table.texts]) for row in table.rows]
    left = round(_LABEL * max(map(len, labels))) + 12
    low, high = _scale(results)
    height = _ROW * len(results) + 34
    parts = [_axis(low, high, left, height, results[0])]
    for place, (one, label) in enumerate(zip(results, labels, strict=True)):
        parts.append(_point(one, label, _ROW * place + 16, left, low, high))
    total = left + _WIDTH + 70
    size = f'width="{total}" height="{height}" viewBox="0 0 {total} {height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} style="{_FONT}">\n{"".join(parts)}</svg>\n'


def _middle(one: Score | Difference) -> float | None:
    return one.value if isinstance(one, Score) else one.difference


def _scale(results: Sequence[Score | Difference]) -> tuple[float, float]:
    """Shares from 0 to 1, from -1 where one is a loss; differences as far to the left as to the right of 0.

    Other numbers with 0 among them.
    """
    numbers = [number for one in results for number in (_middle(one), one.low, one.high) if number is not None]
    if not isinstance(results[0], Score):
        most = max([abs(number) for number in numbers], default=0) or 1
        return -most, most
    if results[0].unit == "share":
        return (-1.0 if min(numbers, default=0) < 0 else 0.0), 1.0
    low, high = min([0.0, *numbers]), max([0.0, *numbers])
    return low, high if high > low else low + 1


def _axis(low: float, high: float, left: int, height: int, like: Score | Difference) -> str:
    lines = []
    for place in range(5):
        number, x = low + (high - low) * place / 4, left + _WIDTH * place / 4
        text = f"{shown(number, like)}{' %' if like.unit == 'share' else ''}"
        lines.append(f'<path d="M{x:.1f} 4V{height - 24}" stroke="#8884"/>')
        lines.append(f'<text x="{x:.1f}" y="{height - 8}" text-anchor="middle" fill="#888">{text}</text>\n')
    return "".join(lines)


def _point(one: Score | Difference, label: str, y: int, left: int, low: float, high: float) -> str:
    def x(number: float) -> str:
        return f"{left + _WIDTH * (number - low) / (high - low):.1f}"

    middle = _middle(one)
    parts = [f'<text x="{left - 10}" y="{y + 4}" text-anchor="end" fill="currentColor">{escape(label)}</text>']
    if one.low is not None and one.high is not None:
        parts.append(f'<path d="M{x(one.low)} {y}H{x(one.high)}" stroke="#3572a5" stroke-width="3" opacity=".5"/>')
    if middle is not None:
        title = f"{number_text(middle, one)} [{ends_text(one)}]"
        parts.append(f'<circle cx="{x(middle)}" cy="{y}" r="5" fill="#3572a5"><title>{title}</title></circle>')
    return "".join(parts) + "\n"


# Numbers as text


def shown(number: float, score: Score | Difference, sign: str = "") -> str:
    """A share in per cent to a tenth, another number to three places."""
    return rounded(number, score.unit, sign)


def number_text(number: float | None, score: Score | Difference, sign: str = "") -> str:
    """A number, or a dash where there is none."""
    return _EMPTY if number is None else shown(number, score, sign)


def value_text(score: Score, otherwise: str = "") -> str:
    """The value with its unit; a value that is not a share ends in `otherwise`, to stay aligned."""
    if score.value is None:
        return _EMPTY
    return f"{shown(score.value, score)}{' %' if score.unit == 'share' else otherwise}"


def ends_text(score: Score | Difference, sign: str = "") -> str:
    """Both ends of the interval."""
    if score.low is None or score.high is None:
        return _EMPTY
    return f"{shown(score.low, score, sign)} – {shown(score.high, score, sign)}"


def shrunk_text(score: Score) -> str:
    """A group's value as the others make it likely, with its interval."""
    if score.shrunk is None or score.shrunk_low is None or score.shrunk_high is None:
        return _EMPTY
    ends = f"{shown(score.shrunk_low, score)} – {shown(score.shrunk_high, score)}"
    return f"{shown(score.shrunk, score)} % [{ends}]"


def evidence_columns(scores: Sequence[Score | Difference]) -> tuple[str, ...]:
    """The columns of EVIDENCE that say something: without buckets where each of them is a cluster."""
    alike = all(one.n_units == one.n_clusters for one in scores)
    return tuple(name for name in EVIDENCE if name != "buckets" or not alike)


def evidence_text(score: Score | Difference, columns: Sequence[str] = EVIDENCE) -> list[str]:
    """How much evidence there is, column by column."""
    texts = {
        "clusters": f"{score.n_clusters:,}" if score.n_clusters or score.value is None else _EMPTY,
        "eff. n": _EMPTY if score.n_effective is None else f"{score.n_effective:,.0f}",
        "buckets": f"{score.n_units:,}",
        "answers": f"{score.n_answers:,}",
    }
    return [texts[name] for name in columns]


def evidence_note(scores: Sequence[Score | Difference]) -> str:
    """What the columns of evidence mean, in few words; empty where nothing is known of clusters.

    >>> evidence_note([Score("pa", "pa.v1()", "m", None, 0.7, 0.6, 0.8, 10, 20, n_clusters=10, n_effective=10.0)])
    'clusters: here, each problem is one; eff. n: how many of equal weight would tell as much'
    """
    if not any(one.n_effective is not None for one in scores):
        return ""
    what = "problems with a text in common" if "buckets" in evidence_columns(scores) else "here, each problem is one"
    return f"clusters: {what}; eff. n: how many of equal weight would tell as much"


def difference_notes(differences: Sequence[Difference]) -> list[str]:
    """What the columns of a table of differences mean, a line each."""
    notes = ["shares in per cent, their differences in points"]
    if others := [one.metric.partition(":")[0] for one in differences if one.unit != "share"]:
        notes[0] += f"; {', '.join(dict.fromkeys(others))} as they are"
    tests = sum(one.p_swap is not None for one in differences)
    notes.append("p: the larger of that of clusters swapped between the two and that of the interval")
    if tests > 1:
        how = "maxT by swaps that all metrics share, Holm whatever they share"
        notes.append(f"p (maxT), p (Holm): p adjusted for {tests} tests, {how}")
    if over_models := sum(one.p_crossed is not None for one in differences):
        crossed = "p from models and problems crossed"
        notes.append(f"(models): {crossed}, adjusted for {over_models} test{'s' * (over_models > 1)}")
    if any(one.p_t is not None for one in differences):
        notes.append("p (t): the papers' test over models, which does not hold its level: not to decide by")
    families: dict[str, dict[str, None]] = {}
    for one in differences:
        families.setdefault(one.family, {})[one.metric] = None
    if related := [f"{family} ({', '.join(names)})" for family, names in families.items() if len(names) > 1]:
        notes.append(f"families, whose metrics mostly move together: {', '.join(related)}")
    return notes


def missing_text(scores: Sequence[Score | Difference]) -> str:
    """Which scores have a value but no interval, and why, and which an anytime one; empty where all have the usual one.

    >>> missing_text([Score("pvap", "pvap.v1()", "m", None, 0.7, None, None, 10, 20, note="one cluster")])
    'no interval: pvap (one cluster)'
    """
    reasons: dict[str, list[str]] = {}
    for one in scores:
        if one.note and one.low is None:
            reasons.setdefault(one.note, []).append(one.metric)
    listed = [f"{', '.join(dict.fromkeys(names))} ({reason})" for reason, names in reasons.items()]
    stopped = dict.fromkeys(one.metric for one in scores if one.interval == "anytime")
    anytime = f"anytime interval: {', '.join(stopped)} (holds however often one looked)" if stopped else ""
    return "\n".join(filter(None, (f"no interval: {'; '.join(listed)}" if listed else "", anytime)))


def p_value(p: float | None) -> str:
    """A p-value as papers print it.

    >>> p_value(0.04213), p_value(0.0001), p_value(1.0)
    ('0.042', '<0.001', '1.000')
    """
    if p is None:
        return _EMPTY
    return "<0.001" if p < 0.001 else f"{p:.3f}"
