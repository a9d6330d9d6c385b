"""MERGE's results (section 5), of one data set: accuracies, groups of variants, hard problems, ratings."""

from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..answers.table import Array
from ..metrics.across import audit
from ..metrics.pattern import GRID
from ..report.figures import Axis, Figure, Mark, Panel, Series
from ..report.tables import Table, TableCell, TableColumn
from ..significance.bootstrap import by_cluster
from ..variants.corpus import word_counts
from .merge_suite import (
    ON_SEEDS,
    ON_VARIANTS,
    Groups,
    GroupTest,
    MergeSuite,
    cell,
    compare_groups,
    compare_models,
    curve,
    drop,
    matching,
    mean_curve,
    mean_interval,
    pattern,
    share,
    share_of,
)
from .merge_variants import (
    Exhibits,
    Row,
    add_variants,
    drawn_for_judges,
    examples,
    good_by_model,
    judged_variants,
    marks_given,
)

_RATED = "needs people's ratings: fill in the tables in to-judge/, then name them in verdicts"
_THRESHOLDS = [float(one) for one in GRID]
_SHARE_RIGHT = Axis("share of variants that must be right", "share")
_PA = Axis("pattern accuracy", "share")


def exhibits_of(suite: MergeSuite) -> Exhibits:
    """Everything the paper shows, of one data set."""
    found = Exhibits(suite)
    add_variants(found)
    _add_accuracies(found)
    _add_groups(found)
    _add_hard_problems(found)
    _add_ratings(found)
    return found


def summary(suite: MergeSuite) -> str:
    """The main result in two sentences."""
    seeds, variants, passed = (
        np.mean([share(one, columns).value[0] for one in suite.whole.values()])
        for columns in (ON_SEEDS, ON_VARIANTS, pattern(suite.settings.quality))
    )
    count = len(suite.whole)
    return (
        f"{suite.dataset}: {suite.variants['of'].n_unique():,} of {suite.problems.height:,} problems are seeds. "
        f"{'As a mean over ' if count > 1 else 'Of '}{count} model{'s' if count > 1 else ''}, {seeds:.1%} of seeds and "
        f"{variants:.1%} of variants are right; of {passed:.1%} of seeds, at least {suite.settings.quality:.0%} of the "
        "variants are."
    )


# Section 5.1: accuracy and pattern accuracy


def _add_accuracies(found: Exhibits) -> None:
    suite = found.suite
    found.add("Table 3", _table_3(suite))
    if (pairs := _model_pairs(suite)) is not None:
        found.add("Section 5.1", pairs)
    at = [place for place, threshold in enumerate(_THRESHOLDS) if threshold >= 0.8]
    curves = {model: curve(one) for model, one in suite.whole.items()}
    quality = Mark(suite.settings.quality, "QT")
    high = [
        Series.of(model, [_THRESHOLDS[i] for i in at], [float(values[i]) for i in at])
        for model, values in curves.items()
    ]
    title = "Pattern accuracy on all variants"
    found.add(
        "Figure 4",
        Figure(suite.file("figure-4"), title, "curves", [Panel("", high, marks=[quality])], _SHARE_RIGHT, _PA),
    )
    panels = []
    for model, values in curves.items():
        low, top = matching(suite.whole[model])
        seeds = Mark(float(share(suite.whole[model], ON_SEEDS).value[0]), "accuracy on seeds", "y")
        marks = [Mark((low + top) / 2, "MT"), quality, seeds]
        panels.append(Panel(model, [Series.of("", _THRESHOLDS, values.tolist())], marks=marks))
    note = "QT: the quality threshold; MT: the middle of the thresholds where both accuracies are nearest."
    found.add(
        "Figure 11",
        Figure(suite.file("figure-11"), f"{title}, all thresholds", "curves", panels, _SHARE_RIGHT, _PA, note),
    )


def _table_3(suite: MergeSuite) -> Table:
    at = suite.settings.quality
    columns = [
        TableColumn("model"),
        *(TableColumn(one, "share", "accuracy") for one in ("all problems", "seeds", "variants")),
        *(TableColumn(one, "share", "at QT") for one in ("PA", "PA - seeds")),
        TableColumn("MT"),
    ]
    rows: list[Row] = []
    for model, one in suite.whole.items():
        low, high = matching(one)
        threshold = f"{100 * low:.0f}-{100 * high:.0f}" if low < high else f"{100 * low:.0f}"
        values = [_on_all(suite, model), *(share(one, pair) for pair in (ON_SEEDS, ON_VARIANTS, pattern(at)))]
        rows.append([model, *map(cell, values), cell(drop(one, at)), threshold])
    rows.append(_majority(suite))
    clusters = suite.asked["cluster"].n_unique()
    notes = [
        f"QT: at least {at:.0%} of a seed's variants right.",
        "MT: thresholds, in per cent, where PA is nearest the accuracy on seeds.",
        f"Means over {suite.settings.draws} draws; in brackets: 95 % interval, over {clusters} clusters of seeds.",
    ]
    return Table(suite.file("table-3"), "Accuracy and pattern accuracy", columns, rows, notes)


def _on_all(suite: MergeSuite, model: str) -> Any:
    """The accuracy on all problems, with or without variants."""
    own = suite.originals.filter(model=model).sort("cluster")
    _, code = np.unique(own["cluster"].to_numpy().astype(str), return_inverse=True)
    return share_of(by_cluster(np.column_stack([own["right"].cast(pl.Int64), np.ones(own.height, np.int64)]), code))


def _majority(suite: MergeSuite) -> Row:
    """What the most frequent label of seeds would score as the answer to everything."""
    seeds = suite.problems.filter(pl.col("id").is_in(suite.variants["of"].implode()))
    label = seeds["label"].value_counts().sort("count", "label", descending=[True, False])["label"][0]
    times = pl.col("subsamples").str.split(" ").list.len() if "subsamples" in suite.variants.columns else pl.lit(1)
    drawn = suite.variants.select("label", times=times)
    on_variants = int(drawn.filter(label=label)["times"].sum()) / int(drawn["times"].sum())
    on_seeds = seeds.filter(label=label).height / seeds.height
    on_all = suite.problems.filter(label=label).height / suite.problems.height
    return [f"always {label}", on_all, on_seeds, on_variants, on_seeds, 0.0, ""]


def _model_pairs(suite: MergeSuite) -> Table | None:
    """All pairs of models at the quality threshold, on the same seeds."""
    rows: list[Row] = []
    for (one, draws), (other, others) in combinations(suite.whole.items(), 2):
        test = compare_models(draws, others, pattern(suite.settings.quality))
        rows.append([one, other, TableCell(test.difference, test.low, test.high), test.p])
    if not rows:
        return None
    columns = [
        TableColumn("model"),
        TableColumn("other"),
        TableColumn("difference of PA", "share"),
        TableColumn("p", "p"),
    ]
    notes = ["On the same seeds; intervals and p over clusters of problems, not corrected for the number of pairs."]
    return Table(suite.file("model-pairs"), "Models at the quality threshold", columns, rows, notes)


# Sections 5.2 to 5.4: word classes, origins, ablations


def _add_groups(found: Exhibits) -> None:
    suite = found.suite
    ablations = {"MERGE": suite.whole, **suite.ablations}
    matched = {f"{one} (with {other})": some for (one, other), some in suite.matched.items()}
    found.add("Figure 5", _curves(suite, "figure-5", "Word classes", suite.classes))
    reason = "no seed has variants of two word classes"
    found.add("Figure 6", _curves(suite, "figure-6", "Word classes of seeds that have two", matched), reason)
    reason = "no model is named in counterparts, the table of models and the masked-LMs they are relatives of"
    found.add("Figure 7", _curves(suite, "figure-7", "Variants by the masked-LM they come from", suite.origins), reason)
    reason = "no ablation is named in ablations"
    found.add(
        "Figure 8", _curves(suite, "figure-8", "Filters left out", ablations) if suite.ablations else None, reason
    )
    if (tests := _group_tests(suite)) is not None:
        found.add("Sections 5.1 to 5.4", tests)
    found.add("Sections 5.1 to 5.4", _group_table(suite, {**suite.classes, **matched, **suite.origins, **ablations}))


def _curves(suite: MergeSuite, name: str, title: str, groups: Mapping[str, Groups]) -> Figure | None:
    """Mean pattern accuracy over models, a curve for each group."""
    if not groups:
        return None
    series = [Series.of(one, _THRESHOLDS, mean_curve(some).tolist()) for one, some in groups.items()]
    marks = [Mark(suite.settings.quality, "QT")]
    note = "Means over models and draws."
    return Figure(
        suite.file(name), title, "curves", [Panel("", series, marks=marks)], _SHARE_RIGHT, _PA, note, wide=True
    )


def _group_table(suite: MergeSuite, groups: Mapping[str, Groups]) -> Table:
    """What the figures show at the quality threshold, model by model."""
    columns = [
        *(TableColumn(one) for one in ("group", "model")),
        *(TableColumn(one, "count") for one in ("seeds", "variants")),
        *(TableColumn(one, "share") for one in ("accuracy", "PA at QT")),
    ]
    at = pattern(suite.settings.quality)
    rows: list[Row] = [
        [name, model, one.seeds, one.variants, cell(share(one, ON_VARIANTS)), cell(share(one, at))]
        for name, group in groups.items()
        for model, one in group.items()
    ]
    return Table(suite.file("groups"), "Word classes, origins and ablations", columns, rows)


def _group_tests(suite: MergeSuite) -> Table | None:
    rows: list[Row] = [[*names, *_tested(test)] for names, test in _tests(suite) if test is not None]
    if not rows:
        return None
    columns = [
        TableColumn("first"), TableColumn("second"), TableColumn("share"), TableColumn("difference", "share"),
        TableColumn("t", "number", "t over models", 2), TableColumn("df", "number", "t over models", 1),
        TableColumn("p", "p", "t over models"), TableColumn("p", "p", "crossed"),
    ]  # fmt: skip
    notes = [
        "The paper's t test over models: paired where seeds are the same, else Welch's.",
        "It takes models that answered the same problems for independent; the crossed test, and the interval, do not.",
    ]
    return Table(suite.file("group-tests"), "Do groups differ over models?", columns, rows, notes)


def _tests(suite: MergeSuite) -> Iterator[tuple[tuple[str, str, str], GroupTest | None]]:
    """The comparisons of the paper: seeds with variants, then groups at the quality threshold."""
    at = pattern(suite.settings.quality)
    whole = suite.whole
    yield ("variants", "seeds", "accuracy"), compare_groups(whole, whole, ON_VARIANTS, ON_SEEDS, paired=True)
    for groups in (suite.classes, suite.origins):
        for (one, some), (other, others) in combinations(groups.items(), 2):
            yield (one, other, "PA at QT"), compare_groups(some, others, at, at, paired=False)
    for (one, other), some in suite.matched.items():
        if one < other:
            names = (f"{one} (with {other})", f"{other} (with {one})", "PA at QT")
            yield names, compare_groups(some, suite.matched[other, one], at, at, paired=True)
    for name, ablated in suite.ablations.items():
        yield (name, "MERGE", "PA at QT"), compare_groups(ablated, whole, at, at, paired=True)


def _tested(test: GroupTest) -> Row:
    return [TableCell(test.difference, test.low, test.high), test.t.t, test.t.df, test.t.p, test.crossed]


# Section 5.5: hard problems


def _add_hard_problems(found: Exhibits) -> None:
    suite = found.suite
    reason = f"no seed is right in fewer than {suite.settings.below:.0%} of its variants, as a mean over models"
    found.add("Table 10", _table_10(suite), reason)
    found.add("Section 5.5", _by_seed(suite))
    if suite.settings.corpus:
        found.add("Section 5.5", _frequencies(suite))
    else:
        found.missing["Section 5.5, frequencies"] = "needs the training corpus: give corpus = FILE"


def _table_10(suite: MergeSuite) -> Table | None:
    """Seeds whose variants hardly any model gets right: are their labels right?"""
    columns_asked = ["model", "bucket", "variant", "gold", "pred", "cluster"]
    answers = pl.concat([suite.originals.select(columns_asked), suite.asked.select(columns_asked)])
    hard = audit(answers, below=suite.settings.below).select("bucket", rate="mean_accuracy")
    listed = hard.join(suite.problems, left_on="bucket", right_on="id", maintain_order="left")
    if not listed.height:
        return None
    given = [name for name in ("annotator_labels", "annotators") if name in listed.columns]
    fields = list(suite.task.fields)
    columns = [
        *(TableColumn(one) for one in (*fields, "label", "corrected", *given)),
        TableColumn("mean accuracy", "share"),
    ]
    rows: list[Row] = [
        [*(one[name] for name in fields), one["label"], suite.corrected.get(one["bucket"], ""),
         *(_joined(one[name]) for name in given), one["rate"]]
        for one in listed.iter_rows(named=True)
    ]  # fmt: skip
    people = "corrected: a person's label." if suite.corrected else "No label was corrected: give corrected = FILE."
    never, seeds = int((hard["rate"] == 0).sum()), suite.asked["bucket"].n_unique()
    notes = [f"{never} of {seeds} seeds have no variant that any model gets right.", people]
    return Table(suite.file("table-10"), "Seeds that hardly any model gets right", columns, rows, notes)


def _joined(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _by_seed(suite: MergeSuite) -> Table:
    """Variants of seeds that a model gets right, and of those that it gets wrong."""
    columns = [TableColumn("model")]
    for group in ("seed right", "seed wrong"):
        columns += [TableColumn("seeds", "count", group), TableColumn("accuracy", "share", group)]
        columns.append(TableColumn("PA at QT", "share", group))
    columns.append(TableColumn("with a right variant", "count", "seed wrong"))
    rows: list[Row] = []
    for model in suite.whole:
        row: Row = [model]
        for side in (True, False):
            some = suite.group((pl.col("seed_right") == side) & (pl.col("model") == model)).get(model)
            values = () if some is None else (share(some, ON_VARIANTS), share(some, pattern(suite.settings.quality)))
            row += [some.seeds, *map(cell, values)] if some else [0, None, None]
        saved = suite.asked.filter(pl.col("model") == model, ~pl.col("seed_right"), pl.col("right"))
        rows.append([*row, saved["bucket"].n_unique()])
    return Table(suite.file("by-seed"), "Variants of seeds that are answered right, and wrong", columns, rows)


def _frequencies(suite: MergeSuite) -> Table:
    """How often words occur in the training corpus, of variants that are right though their seed is wrong."""
    counts = word_counts(Path(suite.settings.corpus))
    words = pl.col("replacement", "replaced").map_elements(lambda word: counts[word.lower()], pl.Int64)
    means_of = [TableColumn(one, "number", "mean frequency", 1) for one in ("replacement", "replaced", "difference")]
    columns = [TableColumn("model"), TableColumn("variants", "count"), *means_of]
    rows: list[Row] = []
    for model in suite.settings.corpus_models or suite.models:
        saved = suite.asked.filter(pl.col("model") == model, ~pl.col("seed_right"), pl.col("right"))
        saved = saved.with_columns(words).sort("cluster")
        if not saved.height:
            rows.append([model, 0, None, None, None])
            continue
        value, low, high = mean_interval(_difference_rows(saved))
        means = [float(np.mean(saved[name].to_numpy())) for name in ("replacement", "replaced")]
        rows.append([model, saved.height, *means, TableCell(value) if np.isnan(low) else TableCell(value, low, high)])
    notes = ["Right variants of wrong seeds, each once; words of any case, counted in the corpus as they stand."]
    return Table(suite.file("frequencies"), "Frequencies in the training corpus", columns, rows, notes)


def _difference_rows(saved: pl.DataFrame) -> Array:
    """By cluster: the sum of differences, and how many."""
    _, code = np.unique(saved["cluster"].to_numpy().astype(str), return_inverse=True)
    difference = (saved["replacement"] - saved["replaced"]).to_numpy()
    return by_cluster(np.column_stack([difference, np.ones(saved.height, np.int64)]), code)


# Annotation


def _add_ratings(found: Exhibits) -> None:
    suite = found.suite
    judged = judged_variants(suite.variants, suite.ratings) if suite.ratings else None
    if judged is None or not judged.height:
        reason = "no variant of this data set was rated" if suite.ratings else _RATED
        found.missing |= dict.fromkeys(("Table 7", "Figure 3", "Figure 10"), reason)
        return
    samples = drawn_for_judges(suite.variants, suite.settings.judge, suite.settings.seed)
    seeds = suite.variants.group_by("word_class").agg(pl.col("of").n_unique())
    found.add("Table 7", examples(suite.file("table-7"), judged, suite.task.fields))
    by_masked = good_by_model(suite.file("figure-3"), judged, samples, dict(seeds.rows()))
    found.add("Figure 3", by_masked, "no variant of a class's table in to-judge/ was rated")
    marks = marks_given(suite.file("figure-10"), judged, samples["all"])
    found.add("Figure 10", marks, "no variant of the table of all classes in to-judge/ was rated")
