"""Reading an answers table: its columns are checked once and coded, so that every metric can rely on them."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches

import numpy as np
import polars as pl

from ..datasets.intake import suggest_layout
from ..errors import BadInput, shorten
from ..frames import LABEL_MASS, REJECTED
from ..problem import AGAIN, TOLERANCE, UNREADABLE, label_key
from .repeats import check_repeats
from .roles import has_only_controls, is_contrast, is_control, is_misplaced, is_partly_marked
from .table import (
    ORIGINAL,
    WHOLE_TABLE,
    Answers,
    Array,
    Location,
    cluster_text,
    clusters_in,
    codes,
    has_duplicates,
    is_variant,
    label_codes,
    label_spellings,
    label_texts,
    respelled,
)

#: What other programs call the columns of an answers table; compared as labels are, the likeliest first.
_SIMILAR: dict[str, tuple[str, ...]] = {
    "bucket": ("bucket-id", "original-id", "problem-id", "problem", "of", "item-id", "item", "question-id", "pairid",
               "uid", "id", "idx", "index"),
    "variant": ("variant-id", "variation", "rewording", "paraphrase-id", "paraphrase", "version", "id"),
    "gold": ("gold-label", "true-label", "label", "target", "y-true", "truth", "reference", "expected"),
    "pred": ("prediction", "predicted-label", "predicted", "pred-label", "predictions", "y-pred", "answer", "output",
             "response", "model-answer"),
    "model": ("model-name", "system"),
    "cluster": (),
}  # fmt: skip
#: How to solve a table in which some answers have a gold label and others have none.
ALL_OR_NONE = "give all of them a label or none, or leave those without out with --skip-bad (rejected=FILE)"


def read(frame: pl.DataFrame, labels: Sequence[str] = (), where: Location = WHOLE_TABLE) -> Answers:
    """Check an answers table of one model and code its columns: of problems and rewordings, of contrasts, or controls.

    Needed: bucket, variant (empty for the original), pred; optional: gold, cluster, and columns `p:<label>` and
    `again:<way>:<number>`. All answers have a gold label, or none has; all buckets have an original, or none has. Where
    answers could not be read, that is the last of the labels, and never a right one.
    """
    frame, where = answered(frame, where)
    check_columns(frame, where)
    frame = respelled(frame, label_spellings([frame], labels), where)
    names = with_unreadable(tuple(labels) or label_names(frame), frame)
    varied = is_variant(frame["variant"])
    originals = np.flatnonzero(~varied)
    bucket, size = codes(frame["bucket"], where)
    _check_originals(frame, bucket, varied, size, where)
    _check_repetition(frame, bucket, where)
    _check_probabilities(frame, where)
    gold, pred = _gold_codes(frame, names, where), label_codes(frame["pred"], names, where)
    check_repeats(frame, names, where)
    heads = originals if len(originals) else np.unique(bucket, return_index=True)[1]  # one row of every bucket
    if not _are_contrasts(frame, where):
        _check_gold(frame, bucket, gold, heads, size, where)
    cluster = np.arange(size)
    if "cluster" in frame.columns:
        cluster[bucket[heads]] = codes(cluster_names(frame.select("bucket", "cluster")[heads], "bucket"), where)[0]
    clusters = clusters_in(frame, bucket)
    return Answers(names, bucket, varied, gold, pred, cluster, frame, where.fields, clusters)


def answered(frame: pl.DataFrame, where: Location = WHOLE_TABLE) -> tuple[pl.DataFrame, Location]:
    """The rows that hold answers, and where they are in the user's table. A gold label that is blank is none.

    Left out are variants that the model judged itself and rejected: they have no `pred`, and the reason in a column
    `rejected`. A row without either is an error later on.
    """
    frame = _with_gold(frame)
    if REJECTED not in frame.columns or "pred" not in frame.columns:
        return frame, where
    rejected = frame["pred"].is_null() & (frame[REJECTED].cast(pl.String).fill_null("") != "")
    if not rejected.any():
        return frame, where
    rows = (~rejected).arg_true().to_numpy()
    return frame.filter(~rejected), replace(where, rows=rows if where.rows is None else where.rows[rows])


def check_columns(frame: pl.DataFrame, where: Location, name: str = "") -> None:
    """Refuse a table that lacks columns or rows, whatever its rows hold; `name` is what it is called beside others."""
    if frame.height == 0:
        raise BadInput("no answers", where=where.table, fix="give a table with at least one row")
    if missing := [name for name in ("bucket", "variant", "pred") if name not in frame.columns]:
        refuse_problems(frame.columns, where.table)
        found = [name for name in frame.columns if name != "gold" or frame["gold"].count()]
        absent = [name for name in ("bucket", "variant", "gold", "pred") if name not in found]
        fix = f"an answers table has bucket, variant, gold, pred; found {', '.join(found)}"
        columns: dict[str, str] = _similar_columns(absent, found)
        fields = columns or {missing[0]: "COLUMN"}
        shown = " ".join(f"--field {name and name + ':'}{one}={column}" for one, column in fields.items())
        python = str(columns) if columns else f"{{{missing[0]!r}: COLUMN}}"
        python = f"{{{name!r}: {python}}}" if name else python
        fix += f": {'use' if columns else 'map one with'} {shown} (in Python columns={python})"
        raise BadInput("no such column", where=where.table, field=missing[0], fix=fix)
    known = ("bucket", "variant", "gold", "pred", "model", "cluster", LABEL_MASS)
    for name in frame.columns:
        if (name in known or name.startswith(("p:", AGAIN))) and frame[name].dtype.is_nested():
            fix = "give one name or number per answer"
            raise BadInput(
                f"found {shorten(frame[name].head(1).to_list()[0])}", where=where.row(0), field=name, fix=fix
            )


def refuse_problems(columns: Sequence[str], where: str) -> None:
    """Refuse a file of problems that is given as one of answers, and name the command that answers them."""
    data = suggest_layout(columns, where)
    if data or {"premise", "hypothesis", "label"} <= set(columns):
        run = f"otherwords run --data {data or where} --with GENERATOR --model MODEL"
        if where == "the answers":
            run = "ow.answer(SUITE, MODEL)"
        raise BadInput("these are problems, not answers", where=where, fix=f"ask a model first: {run}")


def _similar_columns(missing: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """For each missing column, the one that seems to hold it under another name."""
    free = {label_key(name): name for name in columns if name not in _SIMILAR}
    found: dict[str, str] = {}
    for name in missing:
        close = get_close_matches(name, free, 1, 0.75)
        known = [other for other in (name, *_SIMILAR[name], *close) if other in free]
        if known:
            found[name] = free.pop(known[0])
    return found


def label_names(frame: pl.DataFrame) -> tuple[str, ...]:
    """The labels of the `p:<label>` columns and all others that occur, sorted: the order of columns says nothing."""
    stated = {name.removeprefix("p:") for name in frame.columns if name.startswith("p:")}
    again = [name for name in frame.columns if name.startswith(AGAIN)]
    given = [label_texts(frame[column].unique().drop_nulls()) for column in ("gold", "pred", *again)]
    return tuple(sorted({*stated, *(label for some in given for label in some if label.strip())}))


def with_unreadable(names: Sequence[str], *frames: pl.DataFrame) -> tuple[str, ...]:
    """The labels, and at last what stands for an answer that could not be read, where there is any."""
    given = [one[name] for one in frames for name in one.columns if name == "pred" or name.startswith(AGAIN)]
    there = UNREADABLE in names or any((label_texts(one) == UNREADABLE).any() for one in given)
    return (*(name for name in names if name != UNREADABLE), *([UNREADABLE] if there else []))


def clusters_of(answers: Answers) -> Array:
    """What each cluster is called, in the order of their numbers, which say nothing of clusters in another table."""
    heads = answers.originals if answers.has_originals else np.unique(answers.bucket, return_index=True)[1]
    table = answers.frame[heads]
    names = cluster_names(table, "bucket") if "cluster" in table.columns else table["bucket"].cast(pl.String)
    by_number = np.empty(int(answers.cluster.max()) + 1, dtype=object)
    by_number[answers.cluster[answers.bucket[heads]]] = names.to_numpy()
    return by_number.astype(str)


def cluster_names(table: pl.DataFrame, own: str) -> pl.Series:
    """The cluster of each row; a row without one is its own cluster, named by the column `own`."""
    alone = "alone " + pl.col(own).cast(pl.String)
    return table.select(pl.coalesce("cluster " + cluster_text(), alone)).to_series()


def _check_originals(frame: pl.DataFrame, bucket: Array, varied: Array, size: int, where: Location) -> None:
    count = np.bincount(bucket[~varied], minlength=size)
    if (count == 1).all() or varied.all():
        return
    row = int(np.flatnonzero((count != 1)[bucket])[0])
    message = f"bucket {frame['bucket'][row]!r} has {count[bucket[row]]} originals"
    fix = "give one original (a row with an empty variant) per bucket, or leave out the originals of all buckets"
    raise BadInput(message, where=where.row(row), field="variant", fix=fix)


def _check_repetition(frame: pl.DataFrame, bucket: Array, where: Location) -> None:
    if not has_duplicates(bucket, frame["variant"]):
        return
    twice = frame.select(pl.struct("bucket", "variant").is_duplicated()).to_series()
    if twice.any():
        row = int(twice.arg_true()[1])
        message = f"variant {frame['variant'][row]!r} has two answers"
        raise BadInput(message, where=where.row(row), field="variant", fix="give one answer per variant")


def _are_contrasts(frame: pl.DataFrame, where: Location) -> bool:
    """Whether these are contrasts; a mixture of roles is refused: no metric may count them together."""
    marked = is_contrast(frame)
    fix = "separate them with otherwords.answers.split_roles"
    if marked.any() and not marked.all():
        raise BadInput("contrasts and rewordings are mixed", where=where.table, field="contrast", fix=fix)
    if is_control(frame).any() and not has_only_controls(frame):
        raise BadInput("controls and rewordings are mixed", where=where.table, field="control", fix=fix)
    return bool(marked.any())


def _with_gold(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with a column of gold labels, null where there is none."""
    if "gold" not in frame.columns:
        return frame.with_columns(pl.lit(None, pl.String).alias("gold"))
    if frame["gold"].dtype not in (pl.String, pl.Categorical, pl.Enum):
        return frame
    blank = [label for label in frame["gold"].cast(pl.String).unique().drop_nulls() if not label.strip()]
    if not blank:
        return frame
    return frame.with_columns(pl.col("gold").cast(pl.String).replace(dict.fromkeys(blank, None)))


def _gold_codes(frame: pl.DataFrame, names: tuple[str, ...], where: Location) -> Array:
    """The gold labels as their places among the names; -1 throughout where there are none.

    A gold label that is missing in part is refused: an accuracy of the others would look like that of all.
    """
    gold = frame["gold"]
    if gold.null_count() == frame.height:
        return np.full(frame.height, -1, dtype=np.int16)
    if gold.null_count():
        row = int(gold.is_null().arg_true()[0])
        message = f"found nothing, but {frame.height - gold.null_count():,} of {frame.height:,} answers have a label"
        raise BadInput(message, where=where.row(row), field="gold", fix=ALL_OR_NONE)
    return label_codes(gold, tuple(name for name in names if name != UNREADABLE), where)


def _check_gold(frame: pl.DataFrame, bucket: Array, gold: Array, heads: Array, size: int, where: Location) -> None:
    """Refuse an answer with another gold label than its original, or (`heads`) than the first row of its bucket."""
    expected = np.zeros(size, dtype=gold.dtype)
    expected[bucket[heads]] = gold[heads]
    if (differ := expected[bucket] != gold).any():
        row = int(np.flatnonzero(differ)[0])
        other = "a variant before it" if is_variant(frame["variant"]).all() else "its original"
        message = f"variant {frame['variant'][row]!r} has the label {frame['gold'][row]!r}, {other} has another"
        fix = "a variant keeps the label of its original, unless both name a suite in a column `contrast`"
        raise BadInput(message, where=where.row(row), field="gold", fix=fix)


def _check_probabilities(frame: pl.DataFrame, where: Location) -> None:
    wrong = bad_probabilities(frame)
    if wrong.any():
        row = int(wrong.arg_true()[0])
        fix = "probabilities must be numbers from 0 to 1 that sum to one; or leave the p: columns out"
        values = frame.select("^p:.*$").row(row, named=True)
        raise BadInput(f"found {values}", where=where.row(row), field="p", fix=fix)


def bad_probabilities(frame: pl.DataFrame) -> pl.Series:
    """Rows of one model with invalid probabilities; a model without any probabilities is fine.

    So is an answer without any that could not be read, or that says what its labels had together.
    """
    p = frame.select(pl.col("^p:.*$").cast(pl.Float64, strict=False))
    if not p.width or all(frame[name].null_count() == frame.height for name in p.columns):
        return pl.repeat(False, frame.height, eager=True)
    total = p.select(pl.sum_horizontal(pl.all(), ignore_nulls=False)).to_series()
    low = p.select(pl.min_horizontal(pl.all())).to_series()
    wrong = (((total - 1).abs() > TOLERANCE) | total.is_nan() | (low < 0)).fill_null(True)
    return wrong & ~_may_lack(frame, p) if wrong.any() else wrong


def _may_lack(frame: pl.DataFrame, p: pl.DataFrame) -> pl.Series:
    """Which rows have no probabilities at all, and a reason for it."""
    nothing = p.select(pl.all_horizontal(pl.all().is_null())).to_series()
    has_reason = pl.repeat(False, frame.height, eager=True)
    if "pred" in frame.columns:
        has_reason |= (label_texts(frame["pred"]) == UNREADABLE).fill_null(False)
    if LABEL_MASS in frame.columns:
        has_reason |= frame[LABEL_MASS].is_not_null()
    return nothing & has_reason


# Rejected rows: set aside with a reason, where the user asked for that instead of an error


def separate_rejects(
    answers: pl.DataFrame, labels: Sequence[str] = (), where: Location = WHOLE_TABLE
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split a table, of one model or several, into answers that can be used and the others.

    The others have their `row` (from 1, as in the user's table) and the `reason` before their own columns.
    """
    number, reason = "\0row", "\0reason"
    kept, rejects = [], []
    rows = np.arange(answers.height) if where.rows is None else where.rows
    numbered = answers.select(pl.Series(number, rows + 1), pl.all())
    for left in numbered.partition_by("model", maintain_order=True):
        left = left.with_columns(pl.Series(ORIGINAL, ~is_variant(left["variant"])))
        whole = [_originals] if left[ORIGINAL].any() else []  # a table without any is one of variants
        for find in (
            _missing,
            _unknown_labels,
            _unknown_repeats,
            _probabilities,
            _repeated,
            *whole,
            _marks,
            _other_gold,
        ):
            checked = left.with_columns(find(left, labels).alias(reason))
            rejects.append(checked.filter(pl.col(reason).is_not_null()))
            left = checked.filter(pl.col(reason).is_null()).drop(reason)
        kept.append(left)
    others = pl.concat(rejects).sort(number)
    names = [pl.col(number).alias("row"), pl.col(reason).alias("reason")]
    return pl.concat(kept).sort(number).drop(number, ORIGINAL), others.select(*names, *map(pl.col, answers.columns))


def _missing(table: pl.DataFrame, labels: Sequence[str]) -> pl.Expr:
    names = ["model", "bucket", "gold", "pred"]
    if table["gold"].null_count() == table.height:
        names.remove("gold")
    return pl.coalesce(_where(pl.col(name).is_null(), f"{name}: found nothing") for name in names)


def _unknown_labels(table: pl.DataFrame, labels: Sequence[str]) -> pl.Expr:
    if not labels:
        return pl.lit(None, dtype=pl.String)
    gold, pred = (label_texts(table[name]) for name in ("gold", "pred"))
    known = (gold.is_null() | gold.is_in(list(labels))) & pred.is_in([*labels, UNREADABLE])
    return _where(pl.lit(~known), f"gold or pred is none of {', '.join(labels)}")


def _unknown_repeats(table: pl.DataFrame, labels: Sequence[str]) -> pl.Expr:
    names = [name for name in table.columns if name.startswith(AGAIN)] if labels else []
    known = [
        label_texts(table[name]).str.strip_chars().fill_null("").is_in(["", *labels, UNREADABLE]) for name in names
    ]
    reasons = [
        _where(pl.lit(~one), f"{name} is none of {', '.join(labels)}") for name, one in zip(names, known, strict=True)
    ]
    return pl.coalesce(*reasons, pl.lit(None, dtype=pl.String))


def _probabilities(table: pl.DataFrame, labels: Sequence[str]) -> pl.Expr:
    wrong = bad_probabilities(table)
    return _where(pl.lit(wrong), "p: probabilities must be numbers from 0 to 1 that sum to one")


def _repeated(table: pl.DataFrame, labels: Sequence[str]) -> pl.Expr:
    return _where(~pl.struct("bucket", "variant").is_first_distinct(), "answered before")


def _originals(table: pl.DataFrame, labels: Sequence[str]) -> pl.Expr:
    count = pl.col(ORIGINAL).sum().over("bucket")
    return _where(count != 1, pl.format("its bucket has {} originals", count))


def _marks(table: pl.DataFrame, labels: Sequence[str]) -> pl.Expr:
    mixed = _where(
        pl.lit(pl.Series(is_partly_marked(table))), "contrast: its bucket has rows without a suite, or two suites"
    )
    misplaced = _where(pl.lit(pl.Series(is_misplaced(table))), "control: it is an original, or a contrast")
    return pl.coalesce(mixed, misplaced)


def _other_gold(table: pl.DataFrame, labels: Sequence[str]) -> pl.Expr:
    # Where there are no originals, the first row of a bucket decides.
    expected = pl.col("gold").sort_by(ORIGINAL, descending=True, maintain_order=True).first().over("bucket")
    free = pl.lit(pl.Series(is_contrast(table)))
    return _where((pl.col("gold") != expected) & ~free, "gold differs from its original's")


def _where(wrong: pl.Expr, reason: str | pl.Expr) -> pl.Expr:
    return pl.when(wrong).then(pl.lit(reason) if isinstance(reason, str) else reason)
