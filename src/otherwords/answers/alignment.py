"""Which two are compared: two models, of one table or two, or two groups of one model's answers."""

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
from .groups import is_original, of_model, split, with_model
from .reading import answered, check_columns, label_names, read
from .roles import Part, parts
from .table import EVERYWHERE, Answers, Place, label_texts

# MERGED from metrics.aligning: What several models all answered, in one order, so that row by row the same question is meant.

_BUCKET, _VARIANT = "\0bucket", "\0variant"  # no column of the user's is called so
_TEXTS = tuple(dict.fromkeys(name for task in TASKS.values() for name in task.fields))


def aligned(
    tables: Sequence[pl.DataFrame], labels: Sequence[str] = (), where: Place = EVERYWHERE, about: str | None = None
) -> list[Answers]:
    """Cut the tables to the answers that all models gave, and read them; each must have been read alone before.

    A variant that some model did not answer is left out of all, with a warning: rates of models that were asked
    different variants cannot be compared. The right answers must be the same, and the texts where they are told.
    """
    keyed = [_keyed(table) for table in tables]
    shared = keyed[0].select(_BUCKET, _VARIANT)
    for other in keyed[1:]:
        shared = shared.join(other.select(_BUCKET, _VARIANT), on=[_BUCKET, _VARIANT], how="semi")
    if shared.height == 0:
        fix = "models are compared on the same buckets and variants; their names must agree"
        raise BadInput("no variant is answered by all models", where=about or where.table, fix=fix)
    cut = [table.join(shared, on=[_BUCKET, _VARIANT], how="semi").sort(_BUCKET, _VARIANT) for table in keyed]
    _say_what_is_left_out(keyed, cut, about)
    for other in cut[1:]:
        _check_same(cut[0], other)
    told = [one.select(label_texts(one["gold"]), label_texts(one["pred"]), "^p:.*$") for one in cut]
    names = tuple(labels) or label_names(pl.concat(told, how="diagonal_relaxed"), where)
    return [read(one.drop(_BUCKET, _VARIANT), names, where) for one in _clustered_alike(cut)]


def _keyed(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(
        pl.col("bucket").cast(pl.String).alias(_BUCKET), pl.col("variant").cast(pl.String).fill_null("").alias(_VARIANT)
    )


def _say_what_is_left_out(tables: Sequence[pl.DataFrame], cut: Sequence[pl.DataFrame], about: str | None) -> None:
    lost = [
        f"{before.height - after.height} of {before.height} by {before['model'][0]}"
        for before, after in zip(tables, cut, strict=True)
        if after.height < before.height
    ]
    if lost:
        said = f"compared on the {cut[0].height} answers that all models gave; left out: {', '.join(lost)}"
        said = f"{about}: {said}" if about else said
        why = "a suite that a model filtered itself is cut to the part all share"
        warnings.warn(f"{said}. ({why})", stacklevel=4)


def _check_same(first: pl.DataFrame, other: pl.DataFrame) -> None:
    """Refuse two models that were not asked the same: another right answer, or other words under the same name."""
    texts = [name for name in _TEXTS if name in first.columns and name in other.columns]
    for name in ("gold", *texts):
        one, two = ((label_texts(t[name]) if name == "gold" else t[name].cast(pl.String)) for t in (first, other))
        differ = (one != two).fill_null(False)
        if differ.any():
            row = int(differ.arg_true()[0])
            found = f"{one[row]!r} for {first['model'][0]}, {two[row]!r} for {other['model'][0]}"
            place = f"bucket {first['bucket'][row]}, variant {first['variant'][row]}"
            raise BadInput(found, where=place, field=name, fix="compare models on the same problems and variants")


def _clustered_alike(cut: Sequence[pl.DataFrame]) -> Sequence[pl.DataFrame]:
    """Give all the clusters of the table that tells most of them."""
    named = pl.col("cluster").cast(pl.String).replace("", None)
    cut = [one.with_columns(named) if "cluster" in one.columns else one for one in cut]
    original = cut[0][_VARIANT] == ""  # a bucket belongs where its original belongs
    told = [one for one in cut if "cluster" in one.columns and one["cluster"].filter(original).count()]
    if not told:
        return cut
    best = min(told, key=lambda one: one["cluster"].filter(original).null_count())
    for one in told:
        pairs = pl.DataFrame({"a": best["cluster"], "b": one["cluster"]}).filter(original).drop_nulls()
        if pairs.n_unique() != pairs["a"].n_unique() or pairs.n_unique() != pairs["b"].n_unique():
            mine, theirs = best["model"][0], one["model"][0]
            warnings.warn(f"{mine} and {theirs} tell different clusters; those of {mine} are taken", stacklevel=4)
    return [one.with_columns(best["cluster"].alias("cluster")) for one in cut]


# MERGED from metrics.pairing: Which two are compared: two models, of one table or two, or two groups of one model's answers.

Source = pl.DataFrame | str | Path


@dataclass(frozen=True)
class Side:
    """One of two models: what it is called in the comparison, its answers, and where they come from."""

    name: str
    frame: pl.DataFrame
    place: Place

    def read(self, labels: Sequence[str] = ()) -> Answers:
        """Check and code the answers; a wrong row is told as the user counts it."""
        return read(self.frame, labels, self.place)

    def parts(self, labels: Sequence[str] = ()) -> dict[Part, Side]:
        """The model's rewordings, contrasts and controls, each checked; what is not there is not in it."""
        parted = {part: Side(self.name, frame, place) for part, frame, place in parts(self.frame, self.place)}
        for side in parted.values():
            side.read(labels)
        return parted


def load(answers: Source) -> list[Side]:
    """Read an answers table, model by model; a file that names no model is called after itself."""
    source = "the answers" if isinstance(answers, pl.DataFrame) else str(answers)
    table = answers if isinstance(answers, pl.DataFrame) else tables.read(answers)
    if "model" not in table.columns and not isinstance(answers, pl.DataFrame) and table.height:
        table = table.with_columns(pl.lit(Path(answers).stem).alias("model"))
    table = with_model(table, source)
    table, place = answered(table, Place(source))
    check_columns(table, place)
    sides = []
    for name in table["model"].unique(maintain_order=True).to_list():
        sides.append(Side(name, *of_model(table, place, name)))
    return sides


def two_models(answers: Source, other: Source | None, models: Sequence[str]) -> tuple[Side, Side]:
    """Find the two models that are meant; two tables that call their model alike are told apart."""
    given = [{side.name: side for side in load(one)} for one in (answers, other) if one is not None]
    known = [sorted(sides) for sides in given]
    there = " and ".join(", ".join(names) for names in known)
    if other is None and len(known[0]) < 2:
        raise BadInput(f"two models are compared; the answers hold {there}", fix="give a second table")
    wanted = list(models)
    if not wanted:
        wanted = known[0] if other is None else [names[0] for names in known if len(names) == 1]
    where = given * 2 if other is None else given
    if len(wanted) != 2 or any(name not in sides for name, sides in zip(wanted, where, strict=True)):
        fix = "name two of them, in their order: --model NAME --model NAME"
        found = f", not {' and '.join(models)}" if models else ""
        raise BadInput(f"two models are compared; the answers hold {there}{found}", fix=fix)
    one, two = (sides[name] for name, sides in zip(wanted, where, strict=True))
    if one.name == two.name:
        if other is None:
            raise BadInput(f"{one.name} cannot be compared with itself", fix=f"name two of {there}")
        return replace(one, name=f"{one.name} (1)"), replace(two, name=f"{two.name} (2)")
    return one, two


def two_groups(
    answers: pl.DataFrame, column: str, labels: Sequence[str], matched: bool
) -> list[tuple[str, str, list[Answers]]]:
    """Each two groups of a column in one model's answers; matched, on the buckets that have variants in both."""
    parts = {str(value): _with_variants(part) for value, part in split(answers, column)}
    parts = {value: part for value, part in parts.items() if part.height}
    if len(parts) < 2:
        raise BadInput(
            f"{column} has variants in {len(parts)} group", fix="name a column that tells at least two groups"
        )
    found = []
    for one, other in combinations(parts, 2):
        pair = [parts[one], parts[other]]
        if matched:
            pair = [a.join(b.select("bucket").unique(), on="bucket", how="semi").sort("bucket", "variant")
                    for a, b in (pair, pair[::-1])]  # fmt: skip
        if all(part.height for part in pair):
            found.append((f"{column}={one}", f"{column}={other}", [read(part, labels) for part in pair]))
    if not found:
        fix = "compare the groups without matching"
        raise BadInput(f"no bucket has variants in two groups of {column}", fix=fix)
    return found


def _with_variants(part: pl.DataFrame) -> pl.DataFrame:
    """Buckets that have at least one variant in the group."""
    return part.filter((~is_original()).any().over("bucket"))
