"""Groups of an answers table: one model's answers, and variants by the value of a column, with their originals.

And which models have one answer to everything.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from ..errors import BadInput, UnknownName, Unmeasurable, caller_level
from ..frames import LABEL_MASS, TEMPLATE
from ..problem import rounded
from .looked_up import ANSWERS, is_looked_up, look_up
from .roles import CONTRAST, CONTROL, is_contrast, is_control
from .table import COUNT, Location, cluster_text, count_rows, is_original, label_texts

#: From this share on, a label is a model's one answer: then at most one answer in ten can differ from the original's.
CONSTANT = 0.95


def with_model(answers: pl.DataFrame, source: str, rejects_allowed: bool = False) -> pl.DataFrame:
    """Give every answer the name of its model; a table without such a column has one model."""
    if answers.height == 0:
        raise BadInput("no answers", where=source, fix="give a table with at least one row")
    if "model" not in answers.columns:
        return answers.with_columns(pl.lit("model").alias("model"))
    if answers["model"].null_count() and not rejects_allowed:
        row = int(answers["model"].is_null().arg_true()[0])
        fix = "name the model of every answer, or leave the column out"
        raise BadInput("found nothing", where=Location(source).row(row), field="model", fix=fix)
    return answers.with_columns(pl.col("model").cast(pl.String))


def of_model(answers: pl.DataFrame, place: Location, model: str) -> tuple[pl.DataFrame, Location]:
    """One model's answers, and which rows of the user's table they are."""
    own = answers["model"] == model
    rows = own.arg_true().to_numpy()
    part = answers if own.all() else answers.filter(own)
    return part, replace(place, model=model, rows=rows if place.rows is None else place.rows[rows])


def has_templates(answers: pl.DataFrame) -> bool:
    """Whether a model was asked by a template."""
    return TEMPLATE in answers.columns and answers[TEMPLATE].count() > 0


def has_label_mass(answers: pl.DataFrame) -> bool:
    """Whether a model returned what its labels had of the probability, with any answer."""
    return LABEL_MASS in answers.columns and answers[LABEL_MASS].count() > 0


def base_model(answers: pl.DataFrame) -> str:
    """The model without its template, of the answers of one model that has the same one throughout; else nothing."""
    if TEMPLATE not in answers.columns or "model" not in answers.columns or answers[TEMPLATE].null_count():
        return ""
    return str(answers.select(_base()).to_series()[0]) if answers[TEMPLATE].n_unique() == 1 else ""


def _base() -> pl.Expr:
    suffix = pl.concat_str(pl.lit("@"), pl.col(TEMPLATE).cast(pl.String))
    model = pl.col("model").cast(pl.String)
    return pl.when(model.str.ends_with(suffix)).then(model.str.strip_suffix(suffix)).otherwise(model)


def pool_templates(answers: pl.DataFrame, where: str) -> pl.DataFrame:
    """A table in which the templates of a model are one model.

    A bucket never has answers to two templates: each has its own, named `bucket@template`. Those of one problem share
    its cluster, or are one, so that intervals know that they are not independent.
    """
    if TEMPLATE not in answers.columns:
        fix = "a table of language models, asked by several templates, has one"
        raise BadInput("no such column, and nothing to pool", where=where, field=TEMPLATE, fix=fix)
    asked, bucket = pl.col(TEMPLATE).is_not_null(), pl.col("bucket").cast(pl.String)
    own = [cluster_text()] if "cluster" in answers.columns else []
    return answers.with_columns(
        pl.when(asked).then(_base()).otherwise(pl.col("model").cast(pl.String)).alias("model"),
        pl.when(asked).then(pl.concat_str(bucket, pl.lit("@"), TEMPLATE)).otherwise(bucket).alias("bucket"),
        pl.coalesce(*own, pl.concat_str(pl.lit("bucket "), bucket)).alias("cluster"),
    )


def groups(answers: pl.DataFrame, by: Sequence[str]) -> Iterator[tuple[str | None, pl.DataFrame]]:
    """The whole table, then its groups: variants by their own value, each with its original.

    Besides the table's columns, `label` is the right answer, and `original` says whether the original is answered
    right or wrong; others are looked up in files (`looked_up`).
    """
    if scored_as_a_whole(answers, by):
        yield None, answers
    for column in by:
        yield from ((f"{column}={value}", part) for value, part in split(answers, column))


def scored_as_a_whole(answers: pl.DataFrame, by: Sequence[str]) -> bool:
    """Whether a table has scores besides those of its groups.

    Several controls have none: they are scored one by one, because some must not flip and others should.
    """
    return CONTROL not in by or CONTROL not in answers.columns or answers[CONTROL].drop_nulls().n_unique() < 2


def columns_of(part: pl.DataFrame, by: Sequence[str]) -> list[str]:
    """The columns that the rows of one role are grouped by: those with a value there; suites or controls, if several.

    A suite has its own columns (Breaking NLI's `category`), which the rewordings in the same table lack.
    """
    marks = {CONTRAST: is_contrast(part), CONTROL: is_control(part)}
    if not marks.keys() & set(part.columns):
        return list(by)
    filled = [name for name in by if name not in part.columns or part[name].null_count() < part.height]
    several = [name for name, rows in marks.items() if rows.any() and part[name].filter(pl.Series(rows)).n_unique() > 1]
    if CONTROL in several:
        return [CONTROL]
    return [*several, *(name for name in filled if name not in several)]


def split(answers: pl.DataFrame, column: str) -> Iterator[tuple[object, pl.DataFrame]]:
    """The groups of one column, in the order of its values."""
    answers = answers.with_columns(values_of(answers, column))
    original = is_original()
    key = ["model", "bucket"] if "model" in answers.columns else ["bucket"]
    for value in answers[column].drop_nulls().unique().sort().to_list():
        inside = answers.filter(pl.col(column) == value)
        originals = answers.filter(original).join(
            inside.select(key).unique(), on=key, how="semi", maintain_order="left"
        )
        yield value, pl.concat([originals, inside.filter(~original)])


def coded(answers: pl.DataFrame, column: str) -> tuple[list[object], npt.NDArray[np.int64]]:
    """The values of a column that make groups, in order, and the number of each row's; -1 where it has none."""
    values = values_of(answers, column)
    names = values.drop_nulls().unique().sort()
    codes = values.replace_strict(names, np.arange(len(names)), default=-1, return_dtype=pl.Int64)
    return names.to_list(), codes.fill_null(-1).to_numpy()


def values_of(answers: pl.DataFrame, column: str) -> pl.Series:
    """A column to group by; a variant without a value belongs to no group, with a warning."""
    answers = _derived(answers, column)
    if column not in answers.columns:
        raise UnknownName(f"no column {column!r} to group by; available: {', '.join(answers.columns)}")
    if answers[column].dtype == pl.String:  # an empty cell of a CSV file is what a data frame calls missing
        named = pl.col(column).str.strip_chars() != ""
        answers = answers.with_columns(pl.when(named).then(pl.col(column)))
    without = count_rows(answers.filter(~is_original(), pl.col(column).is_null()))
    if without:
        warnings.warn(f"{without} variants have no {column} and belong to no group", stacklevel=caller_level())
    return answers[column]


def _derived(answers: pl.DataFrame, column: str) -> pl.DataFrame:
    if column in answers.columns:
        return answers
    if is_looked_up(column):
        return answers.with_columns(look_up(answers, column))
    if column in ("label", "original") and answers["gold"].null_count() == answers.height:
        raise Unmeasurable("no gold labels", field=column, fix="group by a column of the table")
    if column == "original" and not answers.select(is_original().any()).item():
        raise Unmeasurable("no originals", field=column, fix="group by a column of the table")
    if column == "label":
        return answers.with_columns(label_texts(answers["gold"]).alias("label"))  # as it is called in the data
    if column == "original":
        key = ["model", "bucket"] if "model" in answers.columns else ["bucket"]
        right = label_texts(answers["gold"]) == label_texts(answers["pred"])
        marked = answers.with_columns(right.alias("original"))
        original = pl.col("original").filter(is_original()).first().over(key)
        return marked.with_columns(pl.when(original).then(pl.lit("right")).otherwise(pl.lit("wrong")).alias("original"))
    return answers


def group_names(table: pl.DataFrame, column: str) -> list[str]:
    """The groups of a column, as scores name them."""
    if (column == "original" or column.startswith(ANSWERS)) and column not in table.columns:
        return [f"{column}=right", f"{column}=wrong"]
    values = label_texts(table["gold"]) if column == "label" and column not in table.columns else table[column]
    return [f"{column}={value}" for value in values.drop_nulls().unique().sort().to_list() if str(value).strip()]


class OneAnswer(NamedTuple):
    """What a model gives to (nearly) everything: a label, how often, of how many answers; `right` if all have it."""

    label: str
    given: int
    answers: int
    right: bool = False

    def __str__(self) -> str:
        share = "all" if self.given == self.answers else f"{rounded(self.given / self.answers, 'share')}\u00a0% of"
        s = "" if self.answers == 1 else "s"
        right = " (all problems have that label)" if self.right else ""
        return f"gives one answer, {self.label}, to {share} {self.answers:,}\u00a0wording{s}{right}"


def one_answer(answers: pl.DataFrame) -> dict[str, OneAnswer]:
    """The models that give one label to everything they are asked, or nearly: from `CONSTANT` on.

    Nearly everything does not count where that label is as often the right one: then a good model gives it, too.

    >>> rows = {"gold": ["yes", "no"] * 20, "pred": ["yes"] * 40}
    >>> one_answer(pl.DataFrame(rows))
    {'model': OneAnswer(label='yes', given=40, answers=40, right=False)}
    """
    return constant_answers(count_given(answers))


def count_given(answers: pl.DataFrame) -> pl.DataFrame:
    """How often each model gives each `pred` where the right answer is `gold`: those of several tables add up."""
    defaults = {"model": "model", "pred": None, "gold": None, COUNT: 1}
    columns = [pl.col(n) if n in answers.columns else pl.lit(default).alias(n) for n, default in defaults.items()]
    known = answers.select(columns).select(
        pl.col("model", "pred", "gold").cast(pl.String), pl.col(COUNT).cast(pl.Int64)
    )
    return known.group_by("model", "pred", "gold").agg(pl.col(COUNT).sum())


def constant_answers(counts: pl.DataFrame) -> dict[str, OneAnswer]:
    """The models that give one label to everything, from what `count_given` says of them."""
    blank = pl.col("gold", "pred").replace("", None)
    known = counts.with_columns(blank).drop_nulls(("model", "pred"))
    most = known.group_by("model", "pred").agg(pl.col(COUNT).sum()).sort(COUNT, "pred", descending=[True, False])
    found = {}
    for model, label, given in most.unique("model", keep="first", maintain_order=True).sort("model").rows():
        own = known.filter(pl.col("model") == model)
        labelled = own.drop_nulls("gold")
        asked, known_gold, right = (
            count_rows(some) for some in (own, labelled, labelled.filter(pl.col("gold") == label))
        )
        usual = right / known_gold if known_gold else None
        if given == asked or (given >= CONSTANT * asked and (usual is None or usual < CONSTANT)):
            found[model] = OneAnswer(label, given, asked, usual == 1)
    return found
