"""What is said of noise before any flip: how often the same text got another answer, or that nobody asked."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..problem import Score
from ..scoring.select import NOISE
from .numbers import percent

#: Models up to which the sentence names each; of more, the steadiest and the least steady.
_NAMED = 3


def noise_sentence(scores: Sequence[Score]) -> str:
    """The noise floor of each model that was asked again, and its flip rate net of it; empty where none was.

    >>> noise = Score("repeat_flips", "repeat_flips.v1()", "m", None, 0.02, 0.01, 0.04, 50, 100)
    >>> net = Score("flip_rate_net", "flip_rate_net.v1()", "m", None, 0.05, 0.02, 0.09, 50, 100)
    >>> start, rest = noise_sentence([noise, net]).replace("\u00a0", " ").split(": ")
    >>> print(rest)
    asked the same text again, m gives another answer 2.0 % [1.0, 4.0] of the time (net of that, 5.0 % [2.0, 9.0] flip).
    """
    floor, net = (_of_models(scores, name) for name in NOISE)
    if not floor:
        return ""
    start = "Noise first: asked the same text again, "
    if len(floor) <= _NAMED:
        verb = dict.fromkeys(floor, "") | {next(iter(floor)): "gives another answer "}
        parts = [
            f"{model} {verb[model]}{_share(one)} of the time{_net(net.get(model))}" for model, one in floor.items()
        ]
        return f"{start}{', and '.join(parts)}."
    least, most = (choose(floor, key=lambda model: floor[model].value or 0.0) for choose in (min, max))
    return (
        f"{start}{least} gives another answer least often of {len(floor)} models, {_share(floor[least])} of the time"
        f"{_net(net.get(least))}, and {most} most often, {_share(floor[most])}{_net(net.get(most))}."
    )


def mass_sentence(scores: Sequence[Score]) -> str:
    """What the labels of each language model had of its probability; empty where no server returned it.

    >>> mass = Score("label_mass", "label_mass.v1()", "m", None, 0.02, 0.01, 0.04, 50, 100)
    >>> print(mass_sentence([mass]).replace("\u00a0", " ").partition(": ")[0])
    Of the probability, the labels had 2.0 % [1.0, 4.0] with m
    """
    found = _of_models(scores, "label_mass")
    if not found:
        return ""
    least, most = (choose(found, key=lambda model: found[model].value or 0.0) for choose in (min, max))
    named = list(found) if len(found) <= _NAMED else [least, most]
    parts = ", and ".join(f"{_share(found[model])} with {model}" for model in named)
    some = "" if len(found) <= _NAMED else f" (the least and the most of {len(found)} models)"
    return f"Of the probability, the labels had {parts}{some}: near 0, a model would rather say something else."


def noise_unknown(manifest: Mapping[str, Any]) -> str:
    """That the noise of models was not measured, though their answers vary, and how to measure it; else nothing.

    >>> noise_unknown({"noise_unknown": ["m"]}).partition(":")[0]
    'The noise of m was not measured'
    """
    names = manifest.get("noise_unknown")
    if not isinstance(names, Sequence) or not names:
        return ""
    models = ", ".join(map(str, names))
    why = "the same text may get another answer, so that some flips may be noise"
    return f"The noise of {models} was not measured: {why}. To measure it: --repeats 2."


def _of_models(scores: Sequence[Score], name: str) -> dict[str, Score]:
    """The score of each model over all; of several ways of asking, the first."""
    found: dict[str, Score] = {}
    for one in scores:
        if one.metric.partition("(")[0] == name and one.group is None and one.value is not None:
            found.setdefault(one.model, one)
    return found


def _net(score: Score | None) -> str:
    if score is None:
        return ""
    is_clear = score.low is None or score.low > 0
    return f" (net of that, {_share(score)} flip)" if is_clear else f" (net of that, {_share(score)}: perhaps nothing)"


def _share(score: Score) -> str:
    value = f"{percent(score.value or 0.0)}\u00a0%"
    if score.low is None or score.high is None:
        return value
    return f"{value} [{percent(score.low)}, {percent(score.high)}]"
