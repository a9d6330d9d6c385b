"""Gates: what a user requires of a score, as in `flip_rate<=0.1`, for use in continuous integration."""

import math
import operator
import re
from collections.abc import Iterable, Sequence

from ..errors import BadInput, GateFailed, UnknownName, Unmeasurable
from ..metrics.metric import FIXES, as_metric
from ..problem import Score
from ..registry import Bound
from .select import choose, title

_SIGNS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
_NAME = r"[\w-]+(?:\([^)]*\))?(?::[^<>=]*[^<>=\s])?"  # pa, pa(at=0.5), sigma:flipped
#: A group in brackets: control_flips[control=identity].
_GATE = re.compile(rf"\s*({_NAME}(?:\[[^\]]+\])?)\s*(<=|>=|<|>)\s*([-+]?[0-9.]+(?:e-?\d+)?)\s*(%?)\s*")


def parse(gate: str) -> tuple[str, str, float]:
    """Read a requirement.

    >>> parse("flip_rate <= 10%")
    ('flip_rate', '<=', 0.1)
    """
    match = _GATE.fullmatch(gate)
    try:
        bound = float(match[3]) if match else None
    except ValueError:
        bound = None
    if match is None or bound is None:
        raise BadInput(f"invalid requirement {gate!r}", fix="write it like flip_rate<=0.1 or p_c>=85%")
    return match[1], match[2], bound / 100 if match[4] else bound


def refuse_unlabelled(gates: Iterable[str], chosen: Sequence[str], by: Sequence[str] = ()) -> None:
    """Where problems have no gold labels: refuse metrics that were named, gates and groups that need them."""
    bound, chosen_for_user = choose(chosen)
    needing = [title(one, [one]) for one in bound if _needs_gold(one)]
    wanted = [f"{gate!r}" for gate in gates if metric_of(gate) in needing]
    wanted += [] if chosen_for_user else needing
    wanted += [f"--by {name}" for name in by if name in ("label", "original")]
    if wanted:
        message = f"the problems have no gold labels, which {', '.join(wanted)} needs"
        raise Unmeasurable(message, field="label", fix=FIXES["gold labels"])


def _needs_gold(bound: Bound) -> bool:
    metric = as_metric(bound.function)
    return metric.gold and metric.uses != "contrasts"  # which have labels always


def metric_of(gate: str) -> str:
    """The metric that a gate is about.

    >>> metric_of("control_flips[control=identity] <= 1%")
    'control_flips'
    """
    return re.split(r"[(:\[]", parse(gate)[0])[0]


def refuse_unknown(gates: Iterable[str], chosen: Sequence[str]) -> None:
    """Refuse a gate that cannot be read, or that no chosen metric (none: the usual) can answer, before any work."""
    asked = [(gate, parse(gate)[0]) for gate in gates]
    known = [title(one, [one]) for one in choose(chosen)[0]]
    for gate, name in asked:
        if metric_of(gate) not in known:
            there = f"there are: {', '.join(known)}; others can be measured with --metric NAME"
            raise UnknownName(f"cannot require {gate!r}: no score named {name!r}; {there}")


def _named(score: Score) -> str:
    return score.metric if score.group is None else f"{score.metric}[{score.group}]"


def _value_of(score: Score) -> str:
    """The value as tables print it and, where that is rounded, as it is compared."""
    if score.value is None:
        return "has no value"
    if score.unit != "share":
        return f"is {score.value}"
    rounded = f"{100 * score.value:.1f}"
    return f"is {rounded} %" + ("" if math.isclose(float(rounded), 100 * score.value) else f" ({score.value})")


def _bound_of(score: Score, bound: float) -> str:
    return f"{100 * bound:g} %" if score.unit == "share" else f"{bound:g}"


def enforce(gates: Iterable[str], scores: Sequence[Score]) -> None:
    """Raise where a model's score, overall or of a group in brackets, misses a requirement or is undefined."""
    failed = []
    for gate in gates:
        name, sign, bound = parse(gate)
        matching = [one for one in scores if _named(one) == name]
        if not matching:
            known = ", ".join(sorted({_named(one) for one in scores}))
            raise UnknownName(f"cannot require {gate!r}: no score named {name!r}; there are: {known}")
        failed += [
            f"{one.model}: {name} {_value_of(one)}, required {sign} {_bound_of(one, bound)}"
            for one in matching
            if one.value is None or not _SIGNS[sign](one.value, bound)
        ]
    if failed:
        raise GateFailed("; ".join(failed))
