"""Which words, put for which others, change answers most: shares shrunk towards what all substitutions have in common.

A rewording counts if it changed one stretch of a text, or the same words in several texts, as MERGE does: words are
compared from both ends, and what is left between is the substitution. The same one is met in several problems; a small
number of them says little, and the largest of many small samples is large by chance. So shares are shrunk
(`significance.proportions.shrink`), and the list is in the order of the shrunk ones.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from ..significance.proportions import shrink
from .browse import Wordings
from .tables import Table, TableCell, TableColumn

#: Words of a substitution on either side, at most; clusters in which it occurs, at least; those that are listed.
MOST_WORDS, FEWEST, LISTED = 4, 2, 10
#: Substitutions below which nothing is common to them.
_FEW = 5
_WORDS = r"[\p{L}\p{N}'’_-]+|[^\p{L}\p{N}\s]"
NOTHING = "∅"


def substitutions(found: Wordings) -> pl.DataFrame:
    """The substitution of each variant that has one: `id, bucket, cluster, old, new`.

    Case does not count. What was put in, or left out, stands for nothing (∅).
    """
    rows = found.rows.with_row_index("row")
    originals = rows.filter(pl.col("variant").is_null()).select("bucket", "cluster", *found.fields)
    pairs = rows.filter(pl.col("variant").is_not_null()).join(originals, on="bucket", suffix="\0old", how="left")
    changed = [pl.col(name) != pl.col(f"{name}\0old") for name in found.fields]
    pairs = pairs.with_columns(texts=pl.sum_horizontal(one.fill_null(False).cast(pl.Int64) for one in changed))
    where = ("id", "bucket", pl.col("cluster\0old").alias("cluster"), "texts")
    some = [
        pairs.filter(one).select(*where, _words(f"{name}\0old", "old"), _words(name, "new"))
        for name, one in zip(found.fields, changed, strict=True)
    ]
    same = pl.struct("old", "new").n_unique().over("id") == 1
    alike = _middles(pl.concat(some)).filter(same, pl.len().over("id") == pl.col("texts"))
    return alike.drop("texts").unique("id", keep="first", maintain_order=True)


def _words(name: str, alias: str) -> pl.Expr:
    return pl.col(name).str.to_lowercase().str.extract_all(_WORDS).alias(alias)


def _middles(pairs: pl.DataFrame) -> pl.DataFrame:
    """What is left of both texts without the words that they begin and end with."""
    head, tail = _common_ends(pairs["old"], pairs["new"])
    pairs = pairs.with_columns(pl.Series("head", head), pl.Series("ends", head + tail))
    for name in ("old", "new"):
        length = pl.col(name).list.len().cast(pl.Int64) - pl.col("ends")
        pairs = pairs.with_columns(pl.col(name).list.slice("head", length))
    longest = pl.max_horizontal(pl.col("old").list.len(), pl.col("new").list.len())
    short = pairs.filter(longest.is_between(1, MOST_WORDS))
    joined = [pl.col(name).list.join(" ").replace("", NOTHING) for name in ("old", "new")]
    return short.select("id", "bucket", "cluster", "texts", *joined)


def _common_ends(old: pl.Series, new: pl.Series) -> tuple[Any, Any]:
    """How many words each pair of texts begins with in common, and with how many others it ends."""
    sizes = [one.list.len().to_numpy().astype(np.int64) for one in (old, new)]
    flat = pl.concat([old.explode(), new.explode()]).cast(pl.Categorical).to_physical().to_numpy()
    texts = flat[: sizes[0].sum()], flat[sizes[0].sum() :]
    starts = [np.cumsum(size) - size for size in sizes]
    least = np.minimum(*sizes)
    head = _run(texts, starts, least, 1)
    ends = [start + size - 1 for start, size in zip(starts, sizes, strict=True)]
    return head, _run(texts, ends, least - head, -1)


def _run(texts: Sequence[Any], starts: Sequence[Any], lengths: Any, step: int) -> Any:
    """How many words are the same, one after the other, from the starts on."""
    pair = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(len(pair)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    one, other = (text[start[pair] + step * place] for text, start in zip(texts, starts, strict=True))
    found, differ = lengths.copy(), one != other
    np.minimum.at(found, pair[differ], place[differ])
    return found


def flips_by_substitution(found: Wordings, model: str) -> pl.DataFrame:
    """How often each substitution changed a model's answer: `old, new, n, share`, those in several clusters.

    A cluster counts once, with its share of changed answers: what is asked of one premise is not independent.
    """
    asked = found.answers.filter(pl.col("model") == model, pl.col("variant").is_not_null(), pl.col("first_original"))
    key = ["old", "new", "cluster"]
    joined = substitutions(found).join(asked.select(pl.col("variant").alias("id"), "flip"), on="id")
    each = joined.group_by(key).agg(pl.col("flip").mean()).sort(key)
    counted = each.group_by("old", "new", maintain_order=True).agg(pl.len().alias("n"), pl.col("flip").mean())
    return counted.filter(pl.col("n") >= FEWEST).rename({"flip": "share"})


def substitution_table(found: Wordings, models: Sequence[str], confidence: float = 0.95) -> Table | str:
    """The substitutions that change each model's answers most, with shrunk intervals; or why there is no such table."""
    if not found.whole:
        return f"the run has more than {found.variants:,} rewordings"
    rows: list[Any] = []
    for model in models:
        counted = flips_by_substitution(found, model)
        if counted.height < _FEW:
            continue
        value, low, high = shrink(counted["share"].to_numpy(), counted["n"].to_numpy(), confidence)
        shrunk = counted.with_columns(value=value, low=low, high=high)
        changing = shrunk.filter(pl.col("share") > 0)
        order = changing.sort("value", "n", "old", "new", descending=[True, True, False, False]).head(LISTED)
        rows.append(f"{model}: {changing.height:,} of {counted.height:,} substitutions changed an answer")
        rows += [
            [f"{old} → {new}", n, share, TableCell(middle, least, most)]
            for old, new, n, share, middle, least, most in order.rows()
        ]
    if not any(isinstance(row, list) for row in rows):
        few = f"fewer than {_FEW} substitutions occur in {FEWEST} clusters or more"
        return "no substitution that occurs again changed an answer" if rows else few
    columns = [TableColumn("substitution"), TableColumn("clusters", "count"), TableColumn("changed", "share")]
    title = "Substitutions that change answers most"
    return Table("substitutions", title, [*columns, TableColumn("shrunk", "share")], rows, _notes(confidence))


def _notes(confidence: float) -> list[str]:
    listed = (
        f"The {LISTED} substitutions with the largest shrunk share, among those that occur in at least {FEWEST} "
        "clusters."
    )
    counted = (
        "Changed: the share of clusters in which the substitution changed the answer (a fraction, if a cluster has "
        "several)."
    )
    towards = "Shrunk: towards the mean of all substitutions of the model, more so for fewer clusters"
    source = "(empirical Bayes, Christiansen and Morris 1997)"
    ends = f"{100 * confidence:g} % intervals in brackets cover on average over substitutions, not for each one."
    return [f"{listed} {counted}", f"{towards} {source}; {ends}"]
