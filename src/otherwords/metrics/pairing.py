"""Which two are compared: two models, of one table or two, or two groups of one model's answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import polars as pl

from ..errors import BadInput
from ..storage import tables
from .coding import Place
from .parting import Part, parts
from .reading import check_columns, read
from .splitting import is_original, of_model, split, with_model
from .table import Answers

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
    check_columns(table, Place(source))
    sides = []
    for name in table["model"].unique(maintain_order=True).to_list():
        sides.append(Side(name, *of_model(table, Place(source), name)))
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
