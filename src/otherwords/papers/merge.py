"""MERGE's tables about its variants (Zgreaban et al. 2025): what filters remove, which masked-LMs agree, what is left.

The authors released neither variants nor predictions, so the tables are computed from a run of one's own. Printed
values are shown for the same rows: word classes, and models that the run names as the paper does (BERT-B, ...). They
hold for the paper's data and models, not for the run's. Table 6 counts every filter on all suggestions (`counts=all`).
The paper does not describe how Table 2 gets the average of all classes together, which is smaller than that of any
class; here it is over all variants of a seed.

A cell of Table 3 has intervals where the run draws no `subsamples`: it is a metric then, else a mean over draws.
"""

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from ..errors import BadInput
from ..pipeline import score
from ..registry import papers
from ..storage.run_folder import RunFolder
from ..storage.specs import short_names
from ..variants.masked_lm.counts import FILTERS, KEPT, filter_rates, overlap, seed_counts, unique_variants, with_columns
from .reproduction import Both, Cell, Key, Reproduce, WithIntervals, against_published, in_percent

Obtained = Iterator[tuple[Key, float | WithIntervals]]
#: Metrics of Table 3, as the paper's columns: SA on the seeds, SA and PA (at 90 %) on their variants.
METRICS = ("accuracy_original", "accuracy_variants", "pa")
#: What the three cells of a model are, of all variants: the draws hold originals with variants only.
WHOLE = ("accuracy_seeds", "accuracy_variants", "pa_drop")


@papers("merge.v1")
def merge() -> Reproduce:
    """MERGE (Zgreaban et al. 2025): Tables 2, 3 and 6 and Figure 9, from a run of one's own with masked-lm."""
    return reproduce


def reproduce(data: Path) -> list[Cell]:
    """Tables 2, 3 and 6 and Figure 9 of the run folder `data`; of several generators, each has its own tables."""
    folder = RunFolder(data)
    if not folder.parts("notes") or not folder.parts("variants"):
        fix = "give your own run: otherwords run --data FILE --with masked-lm -m MODEL -o RUN, then --data RUN"
        raise BadInput("MERGE's variants and predictions were not released", where=str(data), fix=fix)
    notes, variants, answers = (folder.read(stage) for stage in ("notes", "variants", "answers"))
    if not (generators := sorted(notes.filter(pl.col("what").is_in(FILTERS))["generator"].unique())):
        raise BadInput("the run has no variants of masked-lm", where=str(data), fix="run it --with masked-lm")
    cells: dict[Key, float | WithIntervals] = {}
    names = short_names(generators)
    for name in generators:
        suffix = "" if len(generators) == 1 else f" {names[name]}"
        own = notes.filter(generator=name)
        asked = answers.filter(pl.col("variant").is_null() | (pl.col("how") == name))
        obtained = (*_table_2(variants.filter(how=name), own), *_table_3(asked), *_suggestions(own))
        cells |= {(f"{table}{suffix}", row, column): value for (table, row, column), value in obtained}
    return [cell for cell in against_published("merge", cells) if cell.obtained is not None]


def over_draws(answers: pl.DataFrame, using: Sequence[str] = ("accuracy_variants", "pa")) -> pl.DataFrame:
    """Table 3 and Figure 4: each metric as the mean over the draws of `masked-lm(subsamples=...)`, with its range.

    A draw is scored with all originals that have a variant in it.

    >>> rows = {"bucket": ["a"] * 4, "variant": [None, "a1", "a2", "a3"], "pred": ["yes", "no", "yes", "yes"]}
    >>> answers = pl.DataFrame({**rows, "gold": ["yes"] * 4, "subsamples": [None, "1", "1 2", "2"]})
    >>> over_draws(answers, ["accuracy_variants"]).rows()
    [('model', 'accuracy_variants', 0.75, 0.5, 1.0, 2)]
    """
    variants = with_columns(answers, "bucket", "variant", "subsamples")
    rows = []
    for draw in sorted({number for numbers in variants["subsamples"] for number in numbers.split(" ")}, key=int):
        drawn = variants.filter(pl.col("subsamples").str.split(" ").list.contains(draw))
        seeds = answers.filter(pl.col("variant").is_null(), pl.col("bucket").is_in(drawn["bucket"].implode()))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*: intervals rest on")  # values are all that is used
            scores = score(pl.concat([seeds, drawn]), using, interval="wilson")  # which draws no replicates
        rows += [{"model": one.model, "metric": one.metric, "value": one.value} for one in scores]
    value = pl.col("value")
    table = pl.DataFrame(rows).group_by("model", "metric", maintain_order=True)
    return table.agg(value.mean(), value.min().alias("least"), value.max().alias("most"), draws=pl.len())


def _table_2(variants: pl.DataFrame, notes: pl.DataFrame) -> Obtained:
    if not variants.height:  # no class had suggestions enough
        return
    for word_class, seeds, mean, *shares in (counts := seed_counts(variants, notes)).rows():
        yield ("2", word_class, "seeds"), seeds
        yield ("2", word_class, "variants per seed"), mean
        yield from (
            (("2", word_class, f"% {name}"), share) for name, share in zip(counts.columns[3:], shares, strict=True)
        )
    if "subsamples" in variants.columns:
        yield from ((("2", name, "unique variants"), mean) for name, mean in unique_variants(variants).items())


def _table_3(answers: pl.DataFrame) -> Obtained:
    """Means over the draws; a run without `subsamples` is one draw, whose cells have intervals."""
    if not answers["variant"].count():
        return
    intervals: dict[str, list[Both]] = {}
    if "subsamples" not in answers.columns:
        intervals = _intervals(answers)
        answers = answers.with_columns(subsamples=pl.when(pl.col("variant").is_not_null()).then(pl.lit("1")))
    means = {(model, metric): 100 * value for model, metric, value, *_ in over_draws(answers, METRICS).rows()}
    for model in dict.fromkeys(model for model, _ in means):
        seeds, variants, pattern = (means[model, metric] for metric in METRICS)
        columns = {
            "accuracy, seeds": seeds,
            "accuracy, variants": variants,
            "PA at 90 % - accuracy, seeds": pattern - seeds,
        }
        both = intervals.get(model, [(None, None)] * len(columns))
        for (column, value), ends in zip(columns.items(), both, strict=True):
            yield ("3", model, column), WithIntervals(value, *ends)


def _intervals(answers: pl.DataFrame) -> dict[str, list[Both]]:
    """Both intervals of the three metrics, by model."""
    present, former = score(answers, WHOLE), score(answers, WHOLE, interval="percentile")
    found: dict[str, list[Both]] = {}
    for one, drawn in zip(present, former, strict=True):
        found.setdefault(one.model, []).append(in_percent(one, drawn))
    return found


def _suggestions(notes: pl.DataFrame) -> Obtained:
    """Table 6, and Figure 9 where any suggestion was kept."""
    for one in filter_rates(notes).iter_rows(named=True):
        yield ("6", f"{one['model']}, {one['word_class']}", f"{one['filter']}, {one['field']}"), one["percent"]
    if (notes["what"] == KEPT).any():
        for model, *means in (matrix := overlap(notes)).rows():
            yield from (
                (("Figure 9", model, other), mean) for other, mean in zip(matrix.columns[1:], means, strict=True)
            )
