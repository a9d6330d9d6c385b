"""The roles of variants: rewordings, contrasts and controls. Each metric uses one role.

A row of an answers table is a contrast where its column `contrast` names a suite; so is the original it belongs to. A
variant is a control where its column `control` names one; its original is an ordinary problem.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np
import polars as pl

from ..errors import BadInput
from .table import Array, Location, is_variant

Role = Literal["rewordings", "contrasts", "controls"]
#: The roles, in the order of reports.
ROLES: tuple[Role, ...] = ("rewordings", "contrasts", "controls")
#: The column that names the suite; empty or absent for problems and their rewordings.
CONTRAST = "contrast"
#: The column that names the control (identity, ...) a variant comes from; empty or absent for all others.
CONTROL = "control"
_NAMES = {CONTRAST: "the suite of a contrast", CONTROL: "the control that made the variant"}
_ONE_SUITE = "use one suite name on the original and all its contrasts; leave rewordings empty"
_VARIANTS = "only variants outside contrast suites can be controls"


def split_roles(answers: pl.DataFrame, where: Location) -> Iterator[tuple[Role, pl.DataFrame, Location]]:
    """Split a table: problems with their rewordings, contrasts, controls; a role without rows is left out.

    A bucket is of one suite or of none: an original that is marked and a variant that is not, or that names another
    suite, are refused. Controls come with their originals, which stay with the rewordings, too.

    >>> rows = {"bucket": ["a", "a", "a", "b", "b"], "variant": [None, "a1", "a2", None, "b1"]}
    >>> marks = {"control": [None, None, "identity", None, None], "contrast": [None, None, None, "med", "med"]}
    >>> table = pl.DataFrame({**rows, **marks})
    >>> [(name, part["variant"].to_list()) for name, part, _ in split_roles(table, Location())]
    [('rewordings', [None, 'a1']), ('contrasts', [None, 'b1']), ('controls', [None, 'a2'])]
    """
    contrast, control = is_contrast(answers), is_control(answers)
    _refuse_wrong_marks(answers, where)
    marks = [_stripped(name).replace("", None) for name in _NAMES if name in answers.columns]
    answers = answers.with_columns(marks)  # an empty name is none, and makes no group
    chosen = {"rewordings": ~contrast, "contrasts": contrast, "controls": np.zeros_like(control)}
    if control.any():
        chosen |= {"rewordings": ~(contrast | control), "controls": control | _originals_of(answers, control)}
    for name in ROLES:
        rows = np.flatnonzero(chosen[name])
        if len(rows):
            numbers = rows if where.rows is None else where.rows[rows]
            part = answers if len(rows) == answers.height else answers[rows]
            yield name, part, replace(where, rows=numbers)


def is_contrast(table: pl.DataFrame) -> Array:
    """Which rows of a table, of answers or of a suite, are contrasts or their originals."""
    return _is_marked(table, CONTRAST)


def is_control(table: pl.DataFrame) -> Array:
    """Which rows of a table are variants that a control made."""
    return _is_marked(table, CONTROL)


def has_only_controls(answers: pl.DataFrame) -> bool:
    """Whether all variants outside contrast suites are controls."""
    others = ~(is_contrast(answers) | is_control(answers))
    return not (others & is_variant(answers["variant"])).any()


def _is_marked(table: pl.DataFrame, column: str) -> Array:
    if column not in table.columns or table[column].dtype == pl.Null:
        return np.zeros(table.height, dtype=bool)
    if table[column].dtype not in (pl.String, pl.Categorical, pl.Enum):
        fix = f"it holds {_NAMES[column]}, and is empty on other rows; rename it if it means something else"
        raise BadInput(f"found {table[column].dtype}, not text", field=column, fix=fix)
    return np.asarray(table.select(_stripped(column).fill_null("") != "").to_series())


def _stripped(column: str) -> pl.Expr:
    """A mark without white space around it; a blank is no mark."""
    return pl.col(column).cast(pl.String).str.strip_chars()


def _originals_of(answers: pl.DataFrame, control: Array) -> Array:
    """Which rows are the originals of controls."""
    mark, key = "\0control", _key(answers)  # no column of the user's is called so
    has_control = answers.select(*key, pl.Series(mark, control)).select(pl.col(mark).any().over(key)).to_series()
    return np.asarray(has_control) & ~is_variant(answers["variant"])


def is_partly_marked(answers: pl.DataFrame) -> Array:
    """Which rows are in a bucket that is marked as a contrast in part; a bucket is one model's."""
    if CONTRAST not in answers.columns:
        return np.zeros(answers.height, dtype=bool)
    suites = _stripped(CONTRAST).fill_null("").n_unique().over(_key(answers))
    return np.asarray(answers.select(suites > 1).to_series())


def is_misplaced(answers: pl.DataFrame) -> Array:
    """Which rows name a control but are originals or contrasts."""
    control = is_control(answers)
    return control & (~is_variant(answers["variant"]) | is_contrast(answers)) if control.any() else control


def _refuse_wrong_marks(answers: pl.DataFrame, where: Location) -> None:
    for column, wrong, message, fix in (
        (CONTRAST, is_partly_marked(answers), "is marked in part, or with two names", _ONE_SUITE),
        (CONTROL, is_misplaced(answers), "has a control for an original, or among contrasts", _VARIANTS),
    ):
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise BadInput(f"bucket {answers['bucket'][row]!r} {message}", where=where.row(row), field=column, fix=fix)


def _key(answers: pl.DataFrame) -> list[str]:
    return ["model", "bucket"] if "model" in answers.columns else ["bucket"]
