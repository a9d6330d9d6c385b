"""Align the answers of two models or two groups: only questions that all of them answered are compared."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import polars as pl

from ..errors import BadInput
from ..problem import TASKS
from ..storage import tables
from .groups import of_model, split, with_model
from .reading import answered, check_columns, label_names, read
from .roles import Role, split_roles
from .table import WHOLE_TABLE, Answers, Location, is_original, label_texts

#: An answers table, or the file or run folder that holds one.
TableOrPath = pl.DataFrame | str | Path
_BUCKET, _VARIANT = "\0bucket", "\0variant"  # no column of the user's is called so
_TEXTS = tuple(dict.fromkeys(name for task in TASKS.values() for name in task.fields))


@dataclass(frozen=True)
class ModelTable:
    """The answers of one model: what it is called in a comparison, its rows, and where they come from."""

    name: str
    frame: pl.DataFrame
    place: Location

    def read(self, labels: Sequence[str] = ()) -> Answers:
        """Check and code the answers; errors name rows as the user counts them."""
        return read(self.frame, labels, self.place)

    def by_role(self, labels: Sequence[str] = ()) -> dict[Role, ModelTable]:
        """The model's rewordings, contrasts and controls, each checked; a role without rows is left out."""
        roles = {
            role: ModelTable(self.name, frame, place) for role, frame, place in split_roles(self.frame, self.place)
        }
        for table in roles.values():
            table.read(labels)
        return roles


def load(answers: TableOrPath) -> list[ModelTable]:
    """Read an answers table, model by model; a file without a model column names its model after itself."""
    source = "the answers" if isinstance(answers, pl.DataFrame) else str(answers)
    table = answers if isinstance(answers, pl.DataFrame) else tables.read(answers)
    if "model" not in table.columns and not isinstance(answers, pl.DataFrame) and table.height:
        table = table.with_columns(pl.lit(Path(answers).stem).alias("model"))
    table = with_model(table, source)
    table, location = answered(table, Location(source))
    check_columns(table, location)
    names = table["model"].unique(maintain_order=True).to_list()
    return [ModelTable(name, *of_model(table, location, name)) for name in names]


def two_models(answers: TableOrPath, other: TableOrPath | None, models: Sequence[str]) -> tuple[ModelTable, ModelTable]:
    """Find the two models to compare; models with the same name are numbered."""
    given = [{one.name: one for one in load(table)} for table in (answers, other) if table is not None]
    known = [sorted(one) for one in given]
    listed = " and ".join(", ".join(names) for names in known)
    if other is None and len(known[0]) < 2:
        raise BadInput(f"needs answers of two models; found {listed}", fix="give a second table")
    wanted = list(models)
    if not wanted:
        wanted = known[0] if other is None else [names[0] for names in known if len(names) == 1]
    sources = given * 2 if other is None else given
    if len(wanted) != 2 or any(name not in source for name, source in zip(wanted, sources, strict=True)):
        fix = "choose two: --model NAME --model NAME"
        named = f"{' and '.join(models)} cannot be compared" if models else "needs two models"
        raise BadInput(f"{named}: the answers are of {listed}", fix=fix)
    first, second = (source[name] for name, source in zip(wanted, sources, strict=True))
    if first.name == second.name:
        if other is None:
            raise BadInput(f"{first.name} cannot be compared with itself", fix=f"choose two of {listed}")
        return replace(first, name=f"{first.name} (1)"), replace(second, name=f"{second.name} (2)")
    return first, second


def two_groups(
    answers: pl.DataFrame, column: str, labels: Sequence[str], matched: bool
) -> list[tuple[str, str, list[Answers]]]:
    """All pairs of groups of a column in one model's answers; matched: on the buckets with variants in both."""
    groups = {str(value): _with_variants(group) for value, group in split(answers, column)}
    groups = {value: group for value, group in groups.items() if group.height}
    if len(groups) < 2:
        fix = "name a column that has at least two groups"
        raise BadInput(f"{column} has only {len(groups)} group with variants", fix=fix)
    pairs = []
    for first, second in combinations(groups, 2):
        pair = [groups[first], groups[second]]
        if matched:
            pair = [a.join(b.select("bucket").unique(), on="bucket", how="semi").sort("bucket", "variant")
                    for a, b in (pair, pair[::-1])]  # fmt: skip
        if all(group.height for group in pair):
            pairs.append((f"{column}={first}", f"{column}={second}", [read(group, labels) for group in pair]))
    if not pairs:
        fix = "compare the groups without matching"
        raise BadInput(f"no bucket has variants in two groups of {column}", fix=fix)
    return pairs


def _with_variants(part: pl.DataFrame) -> pl.DataFrame:
    """Buckets that have at least one variant in the group."""
    return part.filter((~is_original()).any().over("bucket"))


def align(
    tables: Sequence[pl.DataFrame],
    labels: Sequence[str] = (),
    where: Location = WHOLE_TABLE,
    about: str | None = None,
) -> list[Answers]:
    """Reduce the tables to the answers that all models have, in one order, and read them.

    Each must have been read alone before. A variant that some model did not answer is left out of all, with a warning:
    rates of models that were asked different variants cannot be compared. The right answers must be the same, and the
    texts where the tables have them.
    """
    keyed = [_keyed(table) for table in tables]
    shared = keyed[0].select(_BUCKET, _VARIANT)
    for other in keyed[1:]:
        shared = shared.join(other.select(_BUCKET, _VARIANT), on=[_BUCKET, _VARIANT], how="semi")
    if shared.height == 0:
        fix = "models are compared on the same buckets and variants: their ids must match"
        raise BadInput("no variant has answers of all models", where=about or where.table, fix=fix)
    cut = [table.join(shared, on=[_BUCKET, _VARIANT], how="semi").sort(_BUCKET, _VARIANT) for table in keyed]
    _warn_left_out(keyed, cut, about)
    for other in cut[1:]:
        _check_same(cut[0], other)
    answered = [one.select(label_texts(one["gold"]), label_texts(one["pred"]), "^p:.*$") for one in cut]
    names = tuple(labels) or label_names(pl.concat(answered, how="diagonal_relaxed"), where)
    return [read(one.drop(_BUCKET, _VARIANT), names, where) for one in _with_shared_clusters(cut)]


def _keyed(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(
        pl.col("bucket").cast(pl.String).alias(_BUCKET), pl.col("variant").cast(pl.String).fill_null("").alias(_VARIANT)
    )


def _warn_left_out(tables: Sequence[pl.DataFrame], cut: Sequence[pl.DataFrame], about: str | None) -> None:
    lost = [
        f"{before.height - after.height} of {before.height} by {before['model'][0]}"
        for before, after in zip(tables, cut, strict=True)
        if after.height < before.height
    ]
    if lost:
        message = f"compared on the {cut[0].height} answers that all models have; left out: {', '.join(lost)}"
        message = f"{about}: {message}" if about else message
        reason = "a suite that a model filters itself is reduced to the variants that all models accept"
        warnings.warn(f"{message}. ({reason})", stacklevel=4)


def _check_same(first: pl.DataFrame, other: pl.DataFrame) -> None:
    """Refuse two models that were asked different questions: another right answer or another text under the same id."""
    texts = [name for name in _TEXTS if name in first.columns and name in other.columns]
    for name in ("gold", *texts):
        one, two = ((label_texts(t[name]) if name == "gold" else t[name].cast(pl.String)) for t in (first, other))
        differ = (one != two).fill_null(False)
        if differ.any():
            row = int(differ.arg_true()[0])
            message = f"{one[row]!r} for {first['model'][0]}, {two[row]!r} for {other['model'][0]}"
            place = f"bucket {first['bucket'][row]}, variant {first['variant'][row]}"
            raise BadInput(message, where=place, field=name, fix="compare models on the same problems and variants")


def _with_shared_clusters(cut: Sequence[pl.DataFrame]) -> Sequence[pl.DataFrame]:
    """Give all tables the clusters of the one that names most of them."""
    named = pl.col("cluster").cast(pl.String).replace("", None)
    cut = [one.with_columns(named) if "cluster" in one.columns else one for one in cut]
    original = cut[0][_BUCKET].is_first_distinct()  # a bucket belongs where its original belongs, which comes first
    clustered = [one for one in cut if "cluster" in one.columns and one["cluster"].filter(original).count()]
    if not clustered:
        return cut
    best = min(clustered, key=lambda one: one["cluster"].filter(original).null_count())
    for one in clustered:
        pairs = pl.DataFrame({"a": best["cluster"], "b": one["cluster"]}).filter(original).drop_nulls()
        if pairs.n_unique() != pairs["a"].n_unique() or pairs.n_unique() != pairs["b"].n_unique():
            first, other = best["model"][0], one["model"][0]
            warnings.warn(f"{first} and {other} have different clusters; using those of {first}", stacklevel=4)
    return [one.with_columns(best["cluster"].alias("cluster")) for one in cut]
