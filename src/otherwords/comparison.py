"""Do two models differ? Differences for every metric, on what both were asked."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import polars as pl

from .choices import Settings, choose, deal
from .differences import Difference, differences
from .errors import BadInput
from .metrics.aligning import aligned
from .metrics.pairing import Side, Source, two_models
from .metrics.parting import PARTS, Part
from .metrics.splitting import columns_of, groups
from .problem import Task, get_task
from .progress import current
from .significance.multiple import adjust
from .storage import tables


def compare(
    answers: Source,
    other: Source | None = None,
    using: Sequence[str] = ("all",),
    *,
    models: Sequence[str] = (),
    by: Sequence[str] = (),
    task: str | Task = "",
    seed: int = 1,
    replicates: int = 10_000,
    confidence: float = 0.95,
    interval: str = "percentile",
    out: str | Path | None = None,
) -> list[Difference]:
    """Compare two models, from two answers tables or from one that holds both, with each metric (default: all).

    `models` names the two where there are more. Only what both answered counts, and what is left out is said.

    >>> rows = {"bucket": ["a", "a", "b", "b"], "variant": [None, "a1", None, "b1"], "gold": ["yes"] * 4}
    >>> one = pl.DataFrame({**rows, "pred": ["yes", "yes", "yes", "no"]})
    >>> other = pl.DataFrame({**rows, "pred": ["yes", "no", "yes", "no"]})
    >>> [found] = compare(one, other, ["flip_rate"])
    >>> found.value, found.other_value, found.difference, found.n_units
    (0.5, 1.0, -0.5, 2)
    """
    tables.refuse_unwritable(out)
    settings = Settings(seed, replicates, confidence, interval)
    labels = get_task(task).labels if task else ()
    chosen, lenient = choose(using)
    both = two_models(answers, other, models)
    parted = _shared_parts([side.parts(labels) for side in both])  # a wrong row is told before any is left out
    dealt = deal(chosen, parted, lenient, " and ".join(side.name for side in both))
    jobs = [(part, *group) for part, sides in parted.items() if dealt[part] for group in _shared_groups(sides, by)]
    current().start("compare", sum(len(dealt[part]) for part, *_ in jobs))
    names = [side.name for side in both]
    found: list[Difference] = []
    known = dict.fromkeys(parted, labels)
    if "controls" in parted and not labels:  # which are told one by one, and not as a whole
        known["controls"] = aligned([side.frame for side in parted["controls"]])[0].labels
    for part, group, pair in jobs:
        try:
            asked = aligned(pair, known[part], about=group)
            known[part] = known[part] or asked[0].labels  # as in the whole: a group has no label set of its own
            found += differences(dealt[part], asked, names, group, settings, lenient, shared=True)
        except BadInput as error:
            if group is None:
                raise
            warnings.warn(f"{group}: not compared: {error}", stacklevel=2)
    current().done()
    return finished(found, settings, out)


def _shared_parts(parted: Sequence[dict[Part, Side]]) -> dict[Part, list[Side]]:
    """Rewordings, contrasts and controls, where both models have answers to them."""
    shared = {part: [one[part] for one in parted] for part in PARTS if all(part in one for one in parted)}
    for part in PARTS:
        if part in shared or not any(part in one for one in parted):
            continue
        what = "problems that are no contrasts" if part == "rewordings" else part
        warnings.warn(f"only one of the models has answers to {what}", stacklevel=3)
    return shared


def _shared_groups(both: Sequence[Side], by: Sequence[str]) -> Iterator[tuple[str | None, list[pl.DataFrame]]]:
    columns = list(dict.fromkeys(name for side in both for name in columns_of(side.frame, by)))
    parts = [dict(groups(side.frame, columns)) for side in both]
    for group in dict.fromkeys([*parts[0], *parts[1]]):
        if all(group in some for some in parts):
            yield group, [some[group] for some in parts]
        else:
            warnings.warn(f"only one of the models has answers in {group}", stacklevel=3)


def finished(found: list[Difference], settings: Settings, out: str | Path | None) -> list[Difference]:
    """Adjust the p-values for all differences together, and write them."""
    told = [place for place, one in enumerate(found) if one.p_swap is not None]
    if not told:
        raise BadInput("nothing to compare", fix="give answers to the same originals and variants, in two clusters")
    if len(told) / (settings.replicates + 1) > 1 - settings.confidence:
        enough = math.ceil(len(told) / (1 - settings.confidence))
        said = f"{len(told)} differences at {settings.replicates} replicates: no adjusted p-value can be small"
        warnings.warn(f"{said}; {enough} replicates or fewer metrics and groups would do", stacklevel=3)
    ways = {"p_bonferroni": "bonferroni", "p_holm": "holm", "p_bh": "benjamini-hochberg"}
    p = [found[place].p_swap for place in told]
    adjusted = {name: adjust(p, way).tolist() for name, way in ways.items()}  # type: ignore[arg-type]
    for i, place in enumerate(told):
        found[place] = replace(found[place], **{name: values[i] for name, values in adjusted.items()})
    if out:
        tables.write([pl.DataFrame([asdict(one) for one in found], infer_schema_length=None)], out)
    return found
