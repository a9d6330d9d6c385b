"""The choice of metrics, their titles in a table, and the settings of intervals."""

import math
import re
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

import polars as pl

from .._version import __version__
from ..answers.alignment import COLUMNS
from ..answers.collapsing import collapse
from ..answers.groups import has_label_mass, has_templates
from ..answers.repeats import has_repeats
from ..answers.roles import ROLES, Role
from ..answers.table import Answers, is_variant
from ..errors import BadInput, Unmeasurable, caller_level, setting
from ..frames import LABEL_MASS, REJECTED, TEMPLATE
from ..metrics.metric import FIXES, UNUSUAL, Metric, as_metric, ratio, role_of
from ..problem import AGAIN, ALL_MODELS, MOST_REPLICATES, Score
from ..registry import Bound, metrics
from ..significance.anytime import ASKED, UNTIL
from ..significance.intervals import KINDS, has_closed_form
from ..storage.in_memory import as_list
from ..storage.specs import short_names
from ..storage.user_code import HERE, as_specs

Result = TypeVar("Result")
#: What stands before any flip rate, where the same was asked again: the noise, and what is left without it.
NOISE = ("repeat_flips", "flip_rate_net")
#: The same with what a language model's labels had of the probability, where it is known.
FIRST = ("label_mass", *NOISE)
#: What is measured by default: these, and the numbers of the papers that need nothing but labels.
USUAL = (
    *FIRST,
    *("accuracy_original", "accuracy_drop", "flip_rate", "p_c", "p_c_distinct", "label_agreement", "pa"),
    *("sensitivity", "contrast_accuracy", "contrast_consistency", "control_flips"),
)
#: Metrics that say nearly the same, by family: near-copies of one number, and corrected variants of it.
FAMILIES: dict[str, tuple[str, ...]] = {
    "accuracy": (
        *("accuracy_original", "accuracy_original_weighted", "accuracy_seeds", "accuracy_variants", "accuracy_drop"),
        *("accuracy_buckets", "accuracy_worst"),
        *("accuracy_corrected", "accuracy_merged", "accuracy_testset", "majority_vote", "vote_gain"),
    ),
    "flips": (
        *("flip_rate", "flip_rate_merged", "flips_lost_by_merging", "flip_to_right", "flip_to_wrong"),
        *("flip_wrong_to_wrong", "flip_when_right", "flip_when_wrong", "flip_directions", "flips_by_margin"),
        "flip_worst",
    ),
    "noise": ("repeat_flips", "way_flips", "flip_rate_net"),
    "consistency": (
        *("p_c", "p_c_distinct", "p_c_corrected", "p_c_distinct_corrected", "p_c_bound"),
        *("label_agreement", "fleiss_kappa", "vap", "pvap", "pvap_distinct"),
    ),
    "pattern": ("pa", "pa_curve", "pa_drop", "matching_threshold"),
    "fooling": (
        *("r_r", "r_r_at", "r_s", "r_s_at", "r_s_without_neutral", "r_s_without_neutral_at", "too_few_variants"),
        "r_r_worst",
    ),
    "shift": ("jsd_pairs", "jsd_means", "ks", "ks_split", "ks_labels", "sigma"),
    "contrasts": ("sensitivity", "contrast_accuracy", "contrast_consistency"),
}
#: Replicates beyond each end of a bootstrap interval, from which on the ends are worth printing.
FEWEST_IN_TAIL = 5
#: What a table lacks where a role has no rows, and how to fix it.
_LACKING: dict[Role, tuple[str, str]] = {
    "rewordings": (
        "the table has only {there}",
        "add problems and rewordings (rows with empty `contrast` and `control`)",
    ),
    "contrasts": (
        "the table has no contrasts",
        "add a contrast suite to the data: breaking_nli:FILE, monli:FILE, med:FILE, or rows with a column `contrast`",
    ),
    "controls": (
        "the table has no controls",
        "add a control: --with identity, tautology or scramble",
    ),
}


@dataclass(frozen=True)
class IntervalSettings:
    """How intervals are made."""

    seed: int = 1
    replicates: int = 10_000
    confidence: float = 0.95
    interval: str = "auto"
    anytime: bool | int = False

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1 or not 2 <= self.replicates <= MOST_REPLICATES:
            raise BadInput(f"confidence must lie between 0 and 1, replicates between 2 and {MOST_REPLICATES:,}")
        if self.interval not in KINDS:
            field = setting("--interval", "interval")
            raise BadInput(f"no interval {self.interval!r}", field=field, fix=f"use {' or '.join(KINDS)}")
        if self.anytime < 0:
            raise BadInput(
                f"found {self.anytime}",
                field=setting("--largest", "anytime"),
                fix="give the most that a cluster may weigh",
            )

    def kind(self, metric: Metric) -> str:
        """The kind of interval that a metric gets; empty where it has none of the kind that is asked for.

        One that jumps has percentiles only, and what is no share has no Wilson interval.
        """
        if self.interval in ("auto", "wilson") and has_closed_form(metric):
            return "net" if metric.floor else "mover" if metric.sides else "wilson"
        if self.interval == "wilson":
            return ""
        return "bca" if self.interval == "bca" and metric.smooth else "percentile"

    def draws(self, metric: Metric) -> bool:
        """Whether a metric needs replicates: for its interval, or to see whether its value may be undefined."""
        certain = is_rate(metric) or metric.sides is not None
        return self.kind(metric) in ("percentile", "bca") or (bool(self.kind(metric)) and not certain)

    def warn_few(self, chosen: Sequence[Bound]) -> None:
        """Warn where a metric is resampled too seldom for its confidence: each tail needs a few replicates."""
        resampled = [one for one in (as_metric(bound.function) for bound in chosen) if one.interval]
        enough = math.ceil(round(2 * FEWEST_IN_TAIL / (1 - self.confidence), 6))
        if self.replicates < enough and any(self.kind(one) in ("percentile", "bca") for one in resampled):
            message = f"{self.replicates:,} replicates are too few for an interval at confidence {self.confidence:g}"
            warnings.warn(f"{message}; use {enough:,} or more (--replicates)", stacklevel=caller_level())

    def signature(self, metric: Metric, data: Answers, what: str) -> str:
        """How the interval of `what` was made, as signatures print it, and with which version."""
        kind = of_difference(self.kind(metric)) if what == "difference" else self.kind(metric)
        drawn = kind in ("percentile", "bca")
        options = f"confidence={self.confidence}{f', replicates={self.replicates}' if drawn else ''}"
        made = f"{what}={kind or 'none'}.v2({options}, cluster={resampled(data)})"
        return f"{made}{f' seed={self.seed}' if drawn or what == 'difference' else ''} otherwords={__version__}"


def of_difference(kind: str) -> str:
    """The kind of interval of a difference of two values that have this kind."""
    return "mover" if kind in ("wilson", "net") else kind


def resampled(data: Answers) -> str:
    """The column whose values are resampled together: clusters where the table has them, else buckets."""
    return "cluster" if "cluster" in data.frame.columns else "bucket"


def choose(using: str | Sequence[str]) -> tuple[list[Bound], bool]:
    """Bind the chosen metrics; without a choice the usual ones, with "all" every one that needs no option.

    Besides "all", a metric of texts may be named with the suite that has them. The second value says whether metrics
    were chosen for the user: then one may be left out where the table lacks what it needs, and need not be explained
    where it has nothing to measure. The noise stands before any flip rate, in whatever order they are named.

    >>> [one.plugin.name for one in choose(["unreadable", "flip_rate", "p_c", "flip_rate_net"])[0]]
    ['unreadable', 'flip_rate_net', 'flip_rate', 'p_c']
    """
    using = as_specs(as_list(using), named=False)
    named = [metrics.make(name) for name in using or USUAL if name != "all"]
    with_suite = {one.plugin.full_name for one in named if "suite" in one.plugin.options()}
    every = [metrics.make(name) for name in usable_alone() if name not in with_suite] if "all" in using else []
    chosen = {one.signature: one for one in reversed([*every, *named])}
    return _noise_first([*reversed(chosen.values())]), not using or "all" in using


def _noise_first(chosen: Sequence[Bound]) -> list[Bound]:
    """Metrics in their order, but for those of noise and label mass: they stand before the first flip rate."""
    place = next((number for number, one in enumerate(chosen) if family(one) == "flips"), len(chosen))
    late = [one for one in chosen[place:] if one.plugin.name in FIRST]
    return [*chosen[:place], *late, *(one for one in chosen[place:] if one not in late)]


def unnamed_noise(chosen: Sequence[Bound], table: pl.DataFrame) -> list[Bound]:
    """The noise, which stands before any flip rate: where answers were asked again, and none of it is chosen."""
    is_chosen = any(one.plugin.name in NOISE for one in chosen)
    if is_chosen or not any(family(one) == "flips" for one in chosen) or not has_repeats(table):
        return []
    return [metrics.make(name) for name in NOISE]


def usable_alone() -> list[str]:
    """The full names of the metrics that need no option, and declare no example with one."""
    return [one.full_name for one in metrics if ... not in one.options().values() and not one.example]


def need_texts(using: Sequence[str]) -> bool:
    """Whether some of these metrics are about the texts of the answers themselves, and not of a suite they name."""
    return "all" in using or any(metrics.takes(name, "suite") for name in using)


def family(bound: Bound) -> str:
    """The family of a metric; one that belongs to none is alone in its own.

    >>> family(metrics.make("p_c_distinct")), family(metrics.make("control_flips"))
    ('consistency', 'control_flips')
    """
    name = bound.plugin.name
    return next((group for group, members in FAMILIES.items() if name in members), name)


def by_family(chosen: Sequence[Bound]) -> list[Bound]:
    """Metrics with those of a family together, families in the order in which they are first named."""
    order = list(dict.fromkeys(map(family, chosen)))
    return sorted(chosen, key=lambda one: order.index(family(one)))


def metrics_by_role(
    chosen: Sequence[Bound], there: Collection[Role], lenient: bool, where: str
) -> dict[Role, list[Bound]]:
    """The metrics that look at each role: rewordings, contrasts and controls.

    A metric whose role is not `there` is refused. Where it was not asked for by name, it is left out; without a
    warning if it is about contrasts or controls, because most tables have none.
    """
    by_role = {role: [one for one in chosen if role_of(as_metric(one.function)) == role] for role in ROLES}
    for role in ROLES:
        if role in there or not by_role[role]:
            continue
        wanted = [one for one in by_role[role] if not lenient or not as_metric(one.function).is_unusual]
        names = ", ".join(one.plugin.name for one in wanted)
        lacking, fix = _LACKING[role]
        lacking = lacking.format(there=" and ".join(there))
        if not lenient:
            raise Unmeasurable(f"{names}: {lacking}", where=where, fix=fix)
        if role == "rewordings":
            warnings.warn(f"{where}: {lacking}; not measured: {names}", stacklevel=caller_level())
    return by_role


def keep_original_metrics(chosen: Sequence[Bound], lenient: bool, where: str) -> list[Bound]:
    """Where all variants are controls: the metrics that look at originals, the others being refused or left out."""
    kept = [one for one in chosen if as_metric(one.function).uses == "originals"]
    if others := [one.plugin.name for one in chosen if one not in kept and not lenient]:
        fix = "use control_flips, or add rewordings"
        raise Unmeasurable(f"{', '.join(others)}: all variants are controls", where=where, fix=fix)
    return kept


def keep_supported(
    by_role: dict[Role, list[Bound]],
    tables: Mapping[Role, pl.DataFrame],
    lenient: bool,
    where: str,
    required: Collection[str] = (),
) -> dict[Role, list[Bound]]:
    """The metrics that need nothing which the table of their role lacks: gold labels, or originals.

    The others are refused; where they were not asked for by name nor `required` by a gate, they are left out, with one
    warning for each reason; without one where nothing was asked again, by templates, or has a label mass: most tables.
    """
    kept = dict(by_role)
    left_out: dict[str, list[str]] = {}
    for role, table in tables.items():
        gold, originals = table["gold"].count() > 0, not is_variant(table["variant"]).all()
        special = has_repeats(table), has_label_mass(table)
        templates = has_templates(table) or not lenient
        lacks = {one.signature: as_metric(one.function).lacking(gold, originals, *special) for one in by_role[role]}
        fitting = [one for one in by_role[role] if templates or not as_metric(one.function).templates]
        kept[role] = [one for one in fitting if not lacks[one.signature]]
        for one in by_role[role]:
            if lacks[one.signature]:
                left_out.setdefault(lacks[one.signature], []).append(title(one, [one]))
    for lacking, names in left_out.items():
        if wanted := [name for name in names if not lenient or name in required]:
            raise Unmeasurable(f"no {lacking}, which {', '.join(wanted)} needs", where=where, fix=FIXES[lacking])
        if lacking in UNUSUAL:
            continue
        warnings.warn(
            f"{where}: no {lacking}; not measured: {', '.join(names)}; {FIXES[lacking]}", stacklevel=caller_level()
        )
    return kept


def keep_of_model(chosen: Sequence[Bound], table: pl.DataFrame, lenient: bool, model: str) -> list[Bound]:
    """The metrics for one model's answers: without label mass where it returned none, though others of its table did.

    A warning says so of a metric that was asked for by name.
    """
    if has_label_mass(table):
        return list(chosen)
    kept = [one for one in chosen if not as_metric(one.function).label_mass]
    if len(kept) < len(chosen) and not lenient:
        names = ", ".join(title(one, [one]) for one in chosen if one not in kept)
        warn_about(model, f"not measured: {names} (no label mass)")
    return kept


def read_collapsed(
    parts: Sequence[pl.LazyFrame], using: Sequence[Bound], by: Sequence[str], labels: Sequence[str]
) -> pl.DataFrame | None:
    """The distinct buckets of answers that come in parts, where metrics need no more; None where they need all.

    Of a table whose asking was stopped by looking, the order of the clusters counts, too. Where no answer has a label
    mass, what is about it needs nothing.
    """
    columns = {name for part in parts for name in part.collect_schema()}
    chosen = [as_metric(one.function) for one in using]
    if UNTIL in columns or not all(one.labels_only or (one.label_mass and LABEL_MASS not in columns) for one in chosen):
        return None
    return collapse(parts, by, labels)


def columns_needed(schema: Sequence[str], using: Sequence[Bound], by: Sequence[str]) -> list[str]:
    """Those of the columns of answers that metrics look at, and groups; some metrics may look at any."""
    plugins = [one.plugin for one in using]
    if any(one.source or one.name == "python" or {"suite", "runs_of"} & one.options().keys() for one in plugins):
        return list(schema)
    known = {*COLUMNS, *by, UNTIL, ASKED, REJECTED, LABEL_MASS, TEMPLATE}
    return [name for name in schema if name in known or name.startswith(("p:", AGAIN))]


def explain_no_pairs(scores: Sequence[Score]) -> str:
    """Why metrics that compare two variants of a problem have no value, where no problem has two; else nothing.

    >>> explain_no_pairs([Score("p_c", "p_c.v1()", "m", None, None, None, None, n_units=0, n_answers=0)])
    'no problem has two variants for p_c to compare'
    """
    empty = dict.fromkeys(re.split("[(:]", one.metric)[0] for one in scores if one.value is None and not one.n_units)
    known = {name.partition(".")[0] for name in usable_alone()}
    fewest = {name: as_metric(metrics.make(name).function).fewest for name in empty if name in known}
    if not fewest or min(fewest.values()) < 2:  # there is no variant at all
        return ""
    return f"no problem has two variants for {', '.join(fewest)} to compare"


def title(bound: Bound, chosen: Sequence[Bound], part: str = "") -> str:
    """What a metric is called in a table: its name, with the options that tell it from others so called, and the part.

    >>> one, other = metrics.make("pa(at=0.5)"), metrics.make("pa")
    >>> title(one, [one]), title(one, [one, other])
    ('pa', 'pa(at=0.5)')
    """
    if HERE in bound.signature:
        name = bound.signature.partition(HERE)[2].partition("@")[0]
        return f"{name}:{part}" if part else name
    namesakes = [other.signature for other in chosen if other.plugin.name == bound.plugin.name]
    name = short_names([bound.signature, *namesakes])[bound.signature].replace(" (", "(", 1)
    return f"{name}:{part}" if part else name


def is_rate(metric: Metric) -> bool:
    """Whether a metric is a share of units, with 0 and 1 for its ends."""
    return metric.rate or metric.combine is ratio


class WarningsTogether:
    """Inside it, `warn_about` waits; at the end, each message comes once, with the names of all that it is about."""

    _open: ContextVar[dict[tuple[str, str], list[str]] | None] = ContextVar("_open", default=None)

    def __enter__(self) -> None:
        self._token = self._open.set({})

    def __exit__(self, *_: object) -> None:
        waiting = self._open.get() or {}
        self._open.reset(self._token)
        for (what, message), names in waiting.items():
            apart = [name for name in names if name != ALL_MODELS] or names
            warn_about("" if "" in names else list_some(apart, "models or groups"), message, what)


def warn_about(who: str, message: str, what: str = "") -> None:
    """Warn about a model or a group, or with an empty name about the whole; `what` is said of it before its name."""
    if (waiting := WarningsTogether._open.get()) is not None:
        names = waiting.setdefault((what, message), [])
        names += [] if who in names else [who]
        return
    start = f"{what} of {who}: " if what else f"{who}: " if who else ""
    warnings.warn(f"{start}{message}", stacklevel=caller_level())


def list_some(names: Sequence[str], what: str) -> str:
    """Up to four names, or three and how many others there are.

    >>> list_some("abcde", "groups")
    'a, b, c and 2 other groups'
    """
    return ", ".join(names) if len(names) < 5 else f"{', '.join(names[:3])} and {len(names) - 3} other {what}"


def collect_measurable(
    chosen: Sequence[Bound], lenient: bool, who: str, what: str, work: Callable[[Bound, Metric], Result | None]
) -> list[Result]:
    """Do the work for each metric; where the answers lack what it needs, raise, or (`lenient`) leave it out.

    A warning names those that are left out: `who` is the model or group, `what` the work that was not done. Work may
    give None for a metric that it does not concern.
    """
    results: list[Result] = []
    left_out: dict[str, list[str]] = {}
    for bound in chosen:
        try:
            result = work(bound, as_metric(bound.function))
        except Unmeasurable as error:
            if not lenient:
                raise
            if error.message.removeprefix("no ") not in UNUSUAL:  # some models have none, which was said
                left_out.setdefault(error.message, []).append(title(bound, [bound]))
            continue
        if result is not None:
            results.append(result)
    if left_out:
        warn_about(who, f"{what}: {by_reason(left_out)}")
    return results


def by_reason(names: Mapping[str, Sequence[str]]) -> str:
    """List what was left out, reason by reason.

    >>> by_reason({"no texts": ["jaccard", "token_overlap"]})
    'jaccard, token_overlap (no texts)'
    """
    return "; ".join(f"{', '.join(some)} ({reason})" for reason, some in names.items())


def number(value: Any) -> float | None:
    """A value as scores hold it: None where it is undefined."""
    return None if math.isnan(value) else float(value)
