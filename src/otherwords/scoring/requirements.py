"""Requirements on scores, as in `flip_rate<=0.1`: read, and refused before any work where nothing could meet them.

A condition names a metric as `--metric` does, then a part, a model and group in brackets, and an end of the interval:
`pa(at=0.5)`, `sigma:flipped`, `flip_rate[model=small, topic=sport].high`. A certificate joins conditions of two kinds.
Scores are held against them in `gates`.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import polars as pl

from ..answers.groups import columns_of, group_names, of_model
from ..answers.looked_up import ANSWERS
from ..answers.reading import read
from ..answers.roles import CONTROL, Role
from ..answers.table import Location
from ..errors import BadInput, UnknownName, Unmeasurable
from ..metrics.contrast import NAME as CONTROL_FLIPS
from ..metrics.contrast import SAME_TEXT
from ..metrics.metric import FIXES, as_metric, role_of
from ..registry import Bound, metrics
from ..significance.anytime import is_plain_share
from ..storage.specs import closing, nearest, split_outside
from .layout import short_groups
from .select import USUAL, choose, metrics_by_role, title

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,2})?"
#: The last sign before the number: parts have signs of their own (flip_directions:no>yes).
_GATE = re.compile(rf"\s*(.+?)\s*(<=|>=|<|>)\s*({_NUMBER})\s*(%?)\s*", re.S)
#: The ends of intervals that may be required, and the value itself.
ENDS = ("value", "low", "high", "anytime_low", "anytime_high")
#: The name of a metric, possibly with its version.
METRIC_NAME = re.compile(r"[\w-]+(?:\.v\d+)?")
_REST = re.compile(rf"(?::(?P<part>.+?))?\s*(?:\[(?P<where>.*)\])?\s*(?:\.(?P<end>{'|'.join(ENDS)}))?", re.S)
_CERTIFICATE = re.compile(r"\s*certificate\s*\((.*)\)\s*", re.S)
_FIX = "write it like flip_rate<=0.1, p_c>=85% or flip_rate[topic=sport].high<=10%"
_EXAMPLE = "write it like certificate(flip_rate<=0.1, sensitivity>=0.8)"
#: What an upper bound makes invariance: the answer stays when the problem is put in other words.
_FLIPS = ("flip_rate", "flip_rate_merged")
#: Controls of which no flip is wanted.
_STEADY = (SAME_TEXT, "tautology")


@dataclass(frozen=True)
class Condition:
    """A bound on one score of each model: `metric` as a user names it, its `part`, `model`, `group` and `end`.

    `gate` is what it is a part of, as it is written.
    """

    gate: str
    metric: str
    part: str
    model: str
    group: str
    end: str
    sign: str
    bound: Fraction

    @property
    def name(self) -> str:
        """The plain name of the metric, without version and options."""
        return re.split(r"[.(:]", self.metric)[0]

    @property
    def column(self) -> str:
        """The column of the group."""
        return self.group.partition("=")[0]

    def __str__(self) -> str:
        """What is required, without the model and the bound."""
        part, group = f":{self.part}" if self.part else "", f"[{self.group}]" if self.group else ""
        return f"{self.metric}{part}{group}{'' if self.end == 'value' else f'.{self.end}'}"


@dataclass(frozen=True)
class Gate:
    """What is required, as it is written: one condition, or the several of a certificate."""

    text: str
    conditions: tuple[Condition, ...]
    certificate: bool = False


# Reading


def parse(gate: str) -> Gate:
    """Read a requirement. Its bound is the number that is written, exactly.

    >>> [one] = parse("flip_rate[topic=sport].high <= 0.7%").conditions
    >>> str(one), one.sign, one.bound
    ('flip_rate[topic=sport].high', '<=', Fraction(7, 1000))
    """
    if match := _CERTIFICATE.fullmatch(gate):
        conditions = tuple(_condition(one, gate) for one in split_outside(match[1]) if one.strip())
        return Gate(gate, _two_sided(conditions, gate), certificate=True)
    return Gate(gate, (_condition(gate, gate),))


def _condition(text: str, gate: str) -> Condition:
    match = _GATE.fullmatch(text)
    name = METRIC_NAME.match(match[1]) if match else None
    if match is None or name is None or len(match[3]) > 40:
        raise BadInput(f"invalid requirement {gate!r}", fix=_FIX)
    close = closing(match[1], name.end())
    spec, rest = match[1][:close], match[1][close:]
    found = _REST.fullmatch(rest)
    if found is None:
        near = nearest(rest.rpartition(".")[2], ENDS)
        fix = f"after the name: {', '.join(f'.{end}' for end in ENDS[1:])}" if near else _FIX
        raise BadInput(f"invalid requirement {gate!r}: cannot read {rest!r}", fix=fix)
    model, group = _selected(found["where"], gate)
    part = found["part"] or ""
    if part and close == name.end() and _takes_text(spec):
        spec, part = f"{spec}:{part}", ""
    bound = Fraction(match[3]) / (100 if match[4] else 1)
    return Condition(gate, spec, part, model, group, found["end"] or "value", match[2], bound)


def _takes_text(spec: str) -> bool:
    """Whether what follows the colon is an option that the metric needs (a file), not a part of it."""
    plugin = metrics.get(spec) if metrics.has(spec) else None
    return plugin is not None and next(iter(plugin.options().values()), None) is ...


def _selected(where: str | None, gate: str) -> tuple[str, str]:
    """The model and the group in brackets."""
    chosen: dict[str, str] = {}
    for piece in split_outside(where) if where is not None else ():
        column, mark, value = (one.strip() for one in piece.partition("="))
        if not mark or not column or not value or column in chosen:
            fix = "in brackets: [model=NAME], [COLUMN=VALUE] or [model=NAME, COLUMN=VALUE]"
            raise BadInput(f"invalid requirement {gate!r}: cannot read [{where}]", fix=fix)
        chosen[column] = value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
    groups = [f"{column}={value}" for column, value in chosen.items() if column != "model"]
    if len(groups) > 1:
        fix = "scores are of one column's groups: make one column of both, or two gates"
        raise BadInput(f"invalid requirement {gate!r}: {' and '.join(groups)} at once", fix=fix)
    return chosen.get("model", ""), groups[0] if groups else ""


# Certificates


def _two_sided(conditions: Sequence[Condition], gate: str) -> tuple[Condition, ...]:
    """The conditions on the ends of intervals; refused where they are not of two kinds, or one says nothing."""
    if len({one.model for one in conditions if one.model}) > 1:
        raise BadInput(f"invalid requirement {gate!r}: a certificate is of one model", fix="write one for each model")
    model = next((one.model for one in conditions if one.model), "")
    certified = tuple(replace(_at_the_end(one), model=model) for one in conditions)
    if not any(one.name in _FLIPS and one.sign in ("<=", "<") for one in certified):
        message = f"{gate!r} has no condition of invariance: an upper bound on {' or '.join(_FLIPS)}"
        raise BadInput(message, fix=_EXAMPLE)
    if not any(map(_excludes_constant, certified)):
        message = f"{gate!r} has no condition that a model with one answer to everything must fail"
        fix = "add sensitivity>=0.8, or a control that should flip: control_flips[control=scramble]>=0.5"
        raise BadInput(message, fix=fix)
    return certified


def _at_the_end(one: Condition) -> Condition:
    """The condition on the end that makes it hard: an upper bound on the upper end, a lower one on the lower."""
    upper = one.sign in ("<=", "<")
    end = "high" if upper else "low"
    if one.end not in ("value", end, f"anytime_{end}"):
        fix = f"leave .{one.end} out: a certificate holds at the {'upper' if upper else 'lower'} end"
        raise BadInput(f"{one.gate!r}: {one} {one.sign} says nothing of what is likely", fix=fix)
    if not 0 < one.bound < 1:
        fix = "give a share between 0 and 1, as in 0.1 or 10%"
        raise BadInput(
            f"{one.gate!r}: {one} {one.sign} {decimal_text(one.bound)} is a bound that no model can miss", fix=fix
        )
    if not upper and one.name == CONTROL_FLIPS and one.group in {"", *(f"{CONTROL}={name}" for name in _STEADY)}:
        fix = "name a control that should flip: control_flips[control=scramble]"
        raise BadInput(f"{one.gate!r}: {one} should not be high", fix=fix)
    return replace(one, end=end) if one.end == "value" else one


def _excludes_constant(one: Condition) -> bool:
    """Whether one answer to everything fails: it never changes. (It may well be right on most contrasts.)"""
    return one.sign in (">=", ">") and one.name in ("sensitivity", CONTROL_FLIPS)


# Before any work


def conditions(gates: Iterable[str]) -> list[Condition]:
    """All conditions of some gates."""
    return [one for gate in gates for one in parse(gate).conditions]


def needs_anytime(gates: Iterable[str]) -> bool:
    """Whether a gate is on an end that holds however often one looks."""
    return any(one.end.startswith("anytime") for one in conditions(gates))


def group_columns(gates: Iterable[str]) -> list[str]:
    """The columns whose groups the gates are about."""
    return list(dict.fromkeys(one.column for one in conditions(gates) if one.group))


def ungrouped(gates: Iterable[str]) -> list[str]:
    """The same conditions for all data and every model; controls stay apart, which have no number in common."""
    kept = (replace(one, group=one.group if one.column == CONTROL else "") for one in conditions(gates))
    return [f"{one}{one.sign}{decimal_text(one.bound)}" for one in kept]


def metric_of(condition: Condition, chosen: Sequence[Bound]) -> Bound:
    """The metric that a condition is about: the one chosen metric of that name, else what `--metric` would make."""
    named = [one for one in chosen if condition.name in (one.plugin.name, title(one, [one]))]
    if len(named) == 1 and condition.metric == condition.name:
        return named[0]
    bound = metrics.make(condition.metric)
    return next((one for one in named if one.signature == bound.signature), bound)


def missing_metrics(gates: Iterable[str], chosen: Sequence[Bound]) -> list[str]:
    """The metrics, as users name them, that gates are about and nobody chose."""
    known = {one.signature for one in chosen}
    return list(dict.fromkeys(c.metric for c in conditions(gates) if metric_of(c, chosen).signature not in known))


def refuse_unknown(gates: Iterable[str], using: Sequence[str]) -> None:
    """Refuse, before any work, a gate that cannot be read or whose metric, options or part do not exist."""
    chosen = choose(using)[0]
    for one in conditions(gates):
        metric = as_metric(_known_metric(one, chosen).function)
        if not callable(metric.parts):
            _refuse_part(one, metric.parts)
        if metric.share and abs(one.bound) > 1:
            fix = f"write {decimal_text(one.bound)}% or {decimal_text(one.bound / 100)}"
            raise BadInput(f"cannot require {one.gate!r}: {one.name} is a share, and never above 1", fix=fix)
        if metric.across and (one.model or parse(one.gate).certificate):
            fix = "leave model= out; a certificate is of one model"
            raise BadInput(f"cannot require {one.gate!r}: {one.name} is of all models together", fix=fix)
        if one.end.startswith("anytime") and not is_plain_share(metric):
            fix = "leave .anytime out, or use one that is, such as flip_rate or accuracy_variants"
            raise BadInput(f"cannot require {one.gate!r}: {one.name} is not a ratio of sums between 0 and 1", fix=fix)


def _known_metric(one: Condition, chosen: Sequence[Bound]) -> Bound:
    try:
        return metric_of(one, chosen)
    except UnknownName as error:
        if metrics.has(one.name):
            raise UnknownName(f"cannot require {one.gate!r}: {error}") from error
        known = [title(other, [other]) for other in chosen]
        near = nearest(one.name, [*known, *(plugin.name for plugin in metrics)])
        hint = f"did you mean {near}? Available" if near else "available"
        there = f"{hint}: {', '.join(known)}; others are in `otherwords list metrics`"
        raise UnknownName(f"cannot require {one.gate!r}: no score named {one.metric!r}; {there}") from None
    except BadInput as error:
        raise BadInput(f"cannot require {one.gate!r}: {error}") from error


def _refuse_part(one: Condition, parts: Sequence[str]) -> None:
    if one.part not in (parts or ("",)):
        there = f"available: {', '.join(f'{one.metric}:{part}' for part in parts)}" if parts else "it is one number"
        message = f"no part {one.part!r}" if one.part else f"{one.metric} has several parts"
        raise UnknownName(f"cannot require {one.gate!r}: {message}; {there}")


def refuse_unlabelled(gates: Iterable[str], using: Sequence[str], by: Sequence[str] = ()) -> None:
    """Where problems have no gold labels: refuse metrics that were named, gates and groups that need them."""
    chosen, chosen_for_user = choose(using)
    needing = [title(one, [one]) for one in chosen if _needs_gold(one)]
    wanted = [f"{one.gate!r}" for one in conditions(gates) if _needs_gold(metric_of(one, chosen))]
    wanted += [] if chosen_for_user else needing
    wanted += [f"--by {name}" for name in by if name in ("label", "original")]
    if wanted:
        message = f"the problems have no gold labels, which {', '.join(wanted)} needs"
        raise Unmeasurable(message, field="label", fix=FIXES["gold labels"])


def _needs_gold(bound: Bound) -> bool:
    metric = as_metric(bound.function)
    return metric.gold and metric.uses != "contrasts"  # which have labels always


def with_required(
    gates: Sequence[str], chosen: list[Bound], more: Sequence[str], by: Sequence[str], there: Collection[Role]
) -> tuple[list[Bound], list[str], set[str]]:
    """The metrics and the columns to group by, with those that gates need, and the names of the metrics required.

    A certificate looks at every control that is `there`.
    """
    certified = "controls" in there and any(parse(gate).certificate for gate in gates)
    extra = [*more, *([CONTROL_FLIPS] if certified else [])]
    known = {one.signature for one in chosen}
    bound = [*chosen, *(one for one in (choose(extra)[0] if extra else ()) if one.signature not in known)]
    columns = [*by, *group_columns(gates), *([CONTROL] if certified else [])]
    required = (metric_of(one, bound) for one in conditions(gates))
    return bound, list(dict.fromkeys(columns)), {title(one, [one]) for one in required}


def refuse_unanswerable(
    gates: Sequence[str],
    chosen: Sequence[Bound],
    tables: Mapping[Role, tuple[pl.DataFrame, Location]],
    labels: Sequence[str],
) -> None:
    """Refuse gates that a table cannot answer, before it is scored: it lacks rows, columns, a model or a group."""
    for one in conditions(gates) if tables else ():  # without any answers, that is the error
        bound = metric_of(one, chosen)
        metric = as_metric(bound.function)
        metrics_by_role([bound], tables, lenient=False, where=next(iter(tables.values()))[1].table)
        table, place = tables[role_of(metric)]
        models = table["model"].unique().sort().to_list()
        if one.model and one.model not in models:
            raise UnknownName(f"cannot require {one.gate!r}: no model {one.model!r}; available: {', '.join(models)}")
        _refuse_group(one, table)
        plain = bound.plugin.name in USUAL and not metric.is_unusual  # the other usual ones need nothing but labels
        if not plain and not metric.across:
            answers, where = of_model(table, place, one.model or models[0])
            data = read(answers, labels, where)
            _refuse_part(one, metric.part_names(data) if metric.parts else ())
            metric.rows(data)  # which says what it lacks


def _refuse_group(one: Condition, table: pl.DataFrame) -> None:
    """Refuse a group that the rows of a metric do not have, and controls of which none is named."""
    columns = columns_of(table, [one.column] if one.group else [])
    named = (*table.columns, "label", "original")
    if one.group and one.column not in named and not one.column.startswith(ANSWERS):
        raise UnknownName(
            f"cannot require {one.gate!r}: no column {one.column!r}; available: {', '.join(table.columns)}"
        )
    there = [group for name in columns for group in group_names(table, name)]
    if one.group:
        refuse_absent_group(one, there)
    elif CONTROL in columns:
        known = ", ".join(f"{one.metric}[{group}]" for group in there)
        raise UnknownName(f"cannot require {one.gate!r}: controls have no number in common; available: {known}")


def refuse_absent_group(one: Condition, there: Sequence[str]) -> None:
    """Refuse a group that is not among those that are there."""
    if not any(is_group(one.group, group, there) for group in there):
        known = ", ".join(short_groups(there)[0][group] for group in there)
        raise UnknownName(f"cannot require {one.gate!r}: no group {one.group!r}; available: {known}")


def is_group(wanted: str, group: str | None, groups: Sequence[str | None]) -> bool:
    """Whether a group is the one wanted: as it is, or by the short name that tables have for a generator."""
    return wanted == (group or "") or (bool(wanted) and short_groups(groups)[0].get(group) == wanted)


def decimal_text(number: Fraction) -> str:
    """A decimal as it was written, without zeros at its end.

    >>> decimal_text(Fraction("0.70")), decimal_text(Fraction("1e2"))
    ('0.7', '100')
    """
    return f"{(Decimal(number.numerator) / Decimal(number.denominator)).normalize():f}"
