"""How scores and differences are shown: the cells of tables, numbers as text, and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import NamedTuple

from ..errors import BadInput
from ..problem import Score, rounded
from ..storage.files import write_text
from ..storage.specs import short_names
from .difference import Difference

_EMPTY = "–"
#: What a table shows of the evidence behind a score; buckets only where they are not the clusters.
EVIDENCE = ("clusters", "eff. n", "buckets", "answers")
#: The height of a row of a picture, the width of a letter and of the scale, and the letters.
_ROW, _LABEL, _WIDTH, _FONT = 26, 7.2, 420, "font: 13px system-ui, sans-serif"


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
    known = {one.confidence for one in results if one.confidence is not None}
    return f"{100 * known.pop():g}% interval" if len(known) == 1 else "interval"


# Pictures


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


def draw(results: Sequence[Score | Difference]) -> Picture:
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
    return Picture(f'<svg xmlns="http://www.w3.org/2000/svg" {size} style="{_FONT}">\n{"".join(parts)}</svg>\n')


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
    'clusters: one per problem; eff. n: equally weighted clusters with the same information'
    """
    if not any(one.n_effective is not None for one in scores):
        return ""
    what = "problems that share a text" if "buckets" in evidence_columns(scores) else "one per problem"
    return f"clusters: {what}; eff. n: equally weighted clusters with the same information"


def difference_notes(differences: Sequence[Difference]) -> list[str]:
    """What the columns of a table of differences mean, a line each."""
    notes = ["shares in per cent, differences in percentage points"]
    if others := [one.metric.partition(":")[0] for one in differences if one.unit != "share"]:
        notes[0] += f"; {', '.join(dict.fromkeys(others))} as they are"
    tests = sum(one.p_swap is not None for one in differences)
    notes.append("p: the larger p-value of two: permutation test (swaps clusters) and interval")
    if tests > 1:
        how = "maxT from the same permutations for all metrics, Holm for any dependence"
        notes.append(f"p (maxT), p (Holm): p adjusted for {tests} tests, {how}")
    if over_models := sum(one.p_crossed is not None for one in differences):
        crossed = "p from a test that crosses models and problems"
        notes.append(f"(models): {crossed}, adjusted for {over_models} test{'s' * (over_models > 1)}")
    if any(one.p_t is not None for one in differences):
        notes.append("p (t): the papers' t test over models, which exceeds its level; do not base decisions on it")
    families: dict[str, dict[str, None]] = {}
    for one in differences:
        families.setdefault(one.family, {})[one.metric] = None
    if related := [f"{family} ({', '.join(names)})" for family, names in families.items() if len(names) > 1]:
        notes.append(f"families of metrics that mostly move together: {', '.join(related)}")
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
    anytime = (
        f"anytime interval: {', '.join(stopped)} (valid however often the results were checked)" if stopped else ""
    )
    return "\n".join(filter(None, (f"no interval: {'; '.join(listed)}" if listed else "", anytime)))


def p_value(p: float | None) -> str:
    """A p-value as papers print it.

    >>> p_value(0.04213), p_value(0.0001), p_value(1.0)
    ('0.042', '<0.001', '1.000')
    """
    if p is None:
        return _EMPTY
    return "<0.001" if p < 0.001 else f"{p:.3f}"
