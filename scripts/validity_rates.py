"""What share of a generator's variants is sound: rates with intervals from the verdicts under docs/validity/.

python scripts/validity_rates.py [VERDICTS.csv]
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

from otherwords.significance.proportions import wilson

VERDICTS = Path(__file__).parents[1] / "docs" / "validity" / "verdicts.csv"
#: What a verdict must say. The paper calls sound what keeps the label with at most a minor slip (its Appendix A).
KINDS = {
    "label preserved": pl.col("label_preserved") == "yes",
    "grammatical": pl.col("grammar") == "ok",
    "sound": (pl.col("label_preserved") == "yes") & (pl.col("grammar") != "bad"),
    "sound, no slip": (pl.col("label_preserved") == "yes") & (pl.col("grammar") == "ok"),
}


def rates(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Count, total, share and Wilson interval per generator, annotator and kind; "both": yes from both."""
    assessed = verdicts.with_columns(*(what.alias(name) for name, what in KINDS.items()))
    both = (
        assessed.group_by("generator", "item")
        .agg(pl.col(list(KINDS)).all())
        .with_columns(pl.lit("both").alias("judge"))
    )
    every = pl.concat([assessed.select(both.columns), both])
    rows = []
    for (generator, annotator), part in sorted(every.group_by("generator", "judge")):
        for name in KINDS:
            yes, of = int(part[name].sum()), part.height
            low, high = wilson(yes, of, 0.95)
            rows.append({"generator": generator, "judge": annotator, "verdict": name, "yes": yes, "of": of,
                         "share": yes / of, "low": low, "high": high})  # fmt: skip
    return pl.DataFrame(rows)


def agreement(verdicts: pl.DataFrame, name: str) -> tuple[float, float]:
    """How often the two annotators agree, and Cohen's kappa."""
    wide = verdicts.with_columns(KINDS[name].alias(name)).pivot("judge", index="item", values=name)
    one, other = (wide[annotator] for annotator in sorted(set(verdicts["judge"])))
    same = float((one == other).mean())  # type: ignore[arg-type]
    a, b = float(one.mean()), float(other.mean())  # type: ignore[arg-type]
    chance = a * b + (1 - a) * (1 - b)
    return same, (same - chance) / (1 - chance)


if __name__ == "__main__":
    found = pl.read_csv(sys.argv[1] if len(sys.argv) > 1 else VERDICTS)
    pl.Config.set_tbl_rows(100)
    print(rates(found).with_columns((pl.col("share", "low", "high") * 100).round(1)))
    for kind in KINDS:
        print(kind, "agreement {:.3f}, kappa {:.2f}".format(*agreement(found, kind)))
