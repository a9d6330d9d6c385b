"""The circularity report as data: rates under each judge, rates of acceptance, and where two judges differ."""

from dataclasses import dataclass, field

from ..problem import Score

#: Named as the judge where all variants count.
NOBODY = "(none)"
#: The judge of variants that every model accepts for itself.
EVERY_SELF = "self of all"


@dataclass(frozen=True)
class Judged:
    """One model's rates on the variants that one judge accepts, over the whole suite or a group of it.

    `right` are the problems answered correctly, which are the denominator of the rates under every judge; `without`
    are those of them that the judge left no variant: if all of them, no problem is fooled, and r_r and r_s are 0.
    """

    model: str
    judge: str
    group: str | None
    variants: int
    accepted: int
    problems: int
    right: int
    without: int
    scores: tuple[Score, ...]

    def score(self, metric: str) -> Score | None:
        """The score of one metric, or None where it cannot be measured here."""
        return next((one for one in self.scores if one.metric == metric), None)


@dataclass(frozen=True)
class Acceptance:
    """How many variants of one source a judge accepts: of a generator with its options, or given with the data.

    `model` is empty where the judge is not the model itself.
    """

    judge: str
    model: str
    source: str
    variants: int
    accepted: int
    rate: Score


@dataclass(frozen=True)
class Disagreement:
    """Two judges on the same variants: how many both accept, only the first, only the second, or neither.

    `kappa` is Cohen's, None where chance alone would have them always agree; `r_r` is the model's relaxed fooling rate
    on the variants that both accept, None without gold labels.
    """

    model: str
    judge: str
    other: str
    both: int
    only_judge: int
    only_other: int
    neither: int
    share: float
    kappa: float | None
    r_r: Score | None


@dataclass(frozen=True)
class Earlier:
    """What earlier checks did with the `variants`: how many they `dropped`, which the report leaves out.

    `by` says which check dropped how many, some perhaps the same. `set_aside` has the drops of mutual entailment among
    the rest, which do not count here: they are judged again.

    >>> print(Earlier(20, 3, {"surface": 3}, {"mutual-entailment": 5}))
    3 of 20 variants were dropped by earlier checks and are in no row (surface 3); mutual-entailment dropped 5 of the \
rest, which are judged again
    """

    variants: int = 0
    dropped: int = 0
    by: dict[str, int] = field(default_factory=dict)
    set_aside: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        """One line for the user; empty where nothing was dropped."""
        each = ", ".join(f"{name} {count:,}" for name, count in self.by.items())
        before = (
            f"{self.dropped:,} of {self.variants:,} variants were dropped by earlier checks and are in no row ({each})"
        )
        rest = "the rest" if self.dropped else f"{self.variants:,} variants"
        anew = [f"{name} dropped {count:,} of {rest}, which are judged again" for name, count in self.set_aside.items()]
        return "; ".join([*([before] if self.dropped else []), *anew])


@dataclass(frozen=True)
class Circularity:
    """The circularity report: `judged` has a row per model, group and judge, the first of each without a judge.

    `shared` has, for several models, each one's rates on the variants that all of them accept for themselves.
    `judges` explains the judges by their signatures; `earlier` says what was dropped before.
    """

    judges: dict[str, str]
    judged: tuple[Judged, ...]
    acceptance: tuple[Acceptance, ...]
    disagreements: tuple[Disagreement, ...]
    shared: tuple[Judged, ...]
    earlier: Earlier = Earlier()

    def under(self, judge: str, model: str = "", group: str | None = None) -> Judged:
        """What was found under a judge: of the only model or the one that is named, of the whole or of one group."""
        rows = (*self.judged, *self.shared)
        return next(one for one in rows if one.judge == judge and model in ("", one.model) and one.group == group)
