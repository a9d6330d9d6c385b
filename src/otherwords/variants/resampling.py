"""The IE paper's data-generating process: each row is replaced by its reworded version with probability rho.

A row's draw depends on the seed and its id alone: neither the order of the rows, nor other rows, nor shards matter. The
same seed gives nested samples: what is replaced at rho = 0.2 is replaced at 0.4.
"""

import hashlib
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from ..errors import BadInput, setting, shorten
from ..problem import Task

#: Columns that are added to the rows; one of the user's under this name is kept as `input_changed`.
CHANGED = "changed"


class ResampledCounts(NamedTuple):
    """What a draw did: rows, how many of them have a rewording, how many were replaced, how many had several."""

    rows: int = 0
    changeable: int = 0
    changed: int = 0
    several: int = 0

    def plus(self, other: "ResampledCounts") -> "ResampledCounts":
        """The counts of two tables together."""
        return ResampledCounts(*(one + two for one, two in zip(self, other, strict=True)))


def refuse_no_share(rho: float) -> float:
    """Refuse what is no probability.

    >>> refuse_no_share(0.4)
    0.4
    """
    if isinstance(rho, bool) or not isinstance(rho, int | float) or not (math.isfinite(rho) and 0 <= rho <= 1):
        fix = "give a share from 0 (nothing is replaced) to 1 (all that can be)"
        raise BadInput(f"found {shorten(rho)}", field=setting("--rho", "rho"), fix=fix)
    return float(rho)


def spelled(rho: float) -> str:
    """A value of rho with all its digits, as messages and names of files have it.

    >>> spelled(0.4), spelled(1), spelled(0.1234567), spelled(-0.0)
    ('0.4', '1', '0.1234567', '0')
    """
    return repr(float(rho) + 0.0).removesuffix(".0")  # -0 is 0


def draws(ids: Iterable[str], seed: int) -> npt.NDArray[np.float64]:
    """A number in [0, 1) for each id: the same for the same id and seed, wherever it stands.

    >>> draws(["a", "b", "a"], seed=1).round(3).tolist()
    [0.396, 0.414, 0.396]
    """
    key = hashlib.blake2b(repr(int(seed)).encode(), digest_size=32).digest()
    hashed = (hashlib.blake2b(one.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest() for one in ids)
    whole = np.frombuffer(b"".join(hashed), dtype="<u8")
    return (whole >> np.uint64(11)).astype(np.float64) * 2.0**-53


def first_rewordings(rows: pl.DataFrame, variants: pl.DataFrame, task: Task) -> pl.DataFrame:
    """Of the variants of each row, the first one that changes a text; `several` says whether there are more.

    A transformation gives one. Of a generator that makes several, the first stands for it.
    """
    refuse_variants(rows)
    fields = list(task.fields)
    originals = rows.select(pl.col("id").alias("of"), *(pl.col(name).alias(f"\0{name}") for name in fields))
    there = variants.with_columns(pl.col("of").cast(pl.String)).join(
        originals, on="of", how="inner", maintain_order="left"
    )
    differs = pl.any_horizontal(pl.col(name).ne_missing(pl.col(f"\0{name}")) for name in fields)
    changing = there.filter(differs).select(variants.columns)
    return changing.with_columns((pl.len().over("of") > 1).alias("several")).unique(
        "of", keep="first", maintain_order=True
    )


def resample(
    rows: pl.DataFrame, variants: pl.DataFrame, rho: float, seed: int, task: Task
) -> tuple[pl.DataFrame, ResampledCounts]:
    """Replace each row by its rewording with probability `rho`: one row out for each row in, ids and order kept.

    A row without a rewording stays. All columns but the texts stay; `how` names the generator where a row was replaced,
    and `changed` says whether it was.

    >>> from otherwords.problem import TASKS
    >>> rows = pl.DataFrame({"id": ["a", "b"], "of": None, "how": None, "premise": ["It isn't.", "It is."],
    ...     "hypothesis": ["No.", "Yes."], "label": "neutral", "cluster": ["a", "b"]})
    >>> variants = rows[:1].with_columns(of=pl.lit("a"), how=pl.lit("by hand"), premise=pl.lit("It is not."))
    >>> frame, counts = resample(rows, variants, rho=1, seed=1, task=TASKS["nli"])
    >>> frame.select("id", "premise", "how", "changed").rows()
    [('a', 'It is not.', 'by hand', True), ('b', 'It is.', None, False)]
    >>> counts
    ResampledCounts(rows=2, changeable=1, changed=1, several=0)
    """
    return replace_rows(rows, first_rewordings(rows, variants, task), rho, seed, task)


def replace_rows(
    rows: pl.DataFrame, rewordings: pl.DataFrame, rho: float, seed: int, task: Task
) -> tuple[pl.DataFrame, ResampledCounts]:
    """The same with what `first_rewordings` gave, which is found once for all rho and seeds."""
    refuse_no_share(rho)
    fields = list(task.fields)
    new = {name: f"\0{name}" for name in ("how", *fields)}
    drawn = rows.with_columns(pl.Series("\0drawn", draws(rows["id"], seed) < rho, dtype=pl.Boolean))
    names = [pl.col(name).alias(other) for name, other in new.items()]
    found = rewordings.select(pl.col("of").alias("id"), pl.lit(True).alias("\0there"), *names)
    joined = drawn.join(found, on="id", how="left", maintain_order="left")
    there = pl.col("\0there").fill_null(False)
    changed = there & pl.col("\0drawn")
    texts = [pl.when(changed).then(pl.col(new[name])).otherwise(pl.col(name)).alias(name) for name in fields]
    how = pl.when(changed).then(pl.col(new["how"]).cast(pl.String)).otherwise(pl.lit(None, pl.String)).alias("how")
    able, done = joined.select(there.sum().alias("able"), changed.sum().alias("done")).row(0)
    kept = [pl.col(name).alias(f"input_{name}" if name == CHANGED else name) for name in rows.columns]
    frame = joined.with_columns(*texts, how, changed.alias("\0changed")).select(
        *kept, pl.col("\0changed").alias(CHANGED)
    )
    return frame, ResampledCounts(rows.height, able, done, int(rewordings["several"].sum()))


def refuse_emptied(rows: pl.DataFrame, rewordings: pl.DataFrame, task: Task, where: str) -> None:
    """Refuse a rewording that leaves nothing of a text: no model could be trained on it, or asked."""
    originals = rows.select(pl.col("id").alias("of"), *(pl.col(name).alias(f"\0{name}") for name in task.fields))
    both = rewordings.join(originals, on="of", how="inner", maintain_order="left")
    for name in task.fields:
        lost, was = (pl.col(one).fill_null("").str.strip_chars() == "" for one in (name, f"\0{name}"))
        if (found := both.filter(lost & ~was)).height:
            message = f"{found['how'][0]} rewords {found['of'][0]!r} as an empty text"
            raise BadInput(message, where=where, field=name, fix="give nothing where there is no rewording")


def refuse_variants(rows: pl.DataFrame) -> None:
    """Refuse rewordings among the rows that are to be reworded."""
    if rows["of"].null_count() < rows.height:
        name, of = rows.filter(pl.col("of").is_not_null()).select("id", "of").row(0)
        option = setting("--variants FILE", "variants=")
        fix = f"give the problems alone; {option} takes their rewordings"
        raise BadInput(f"{name!r} is a rewording of {of!r}, not a problem", field="of", fix=fix)
