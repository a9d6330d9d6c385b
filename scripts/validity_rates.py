"""What share of a generator's variants is sound: rates with intervals from the verdicts under docs/validity/.

python scripts/validity_rates.py [VERDICTS.csv]     SNLI alone, by generator and verdict
python scripts/validity_rates.py --domains          by domain, of generators and of the kinds of `structural.v2`
python scripts/validity_rates.py --write            the same, and writes the rates of kinds for the package
"""

from __future__ import annotations

import lzma
import sys
from pathlib import Path

import polars as pl

from otherwords.significance.proportions import wilson
from otherwords.variants.soundness import DOMAINS
from otherwords.variants.structural import KINDS_V2

VERDICTS = Path(__file__).parents[1] / "docs" / "validity" / "verdicts.csv.gz"
KIND_RATES = Path(__file__).parents[1] / "src" / "otherwords" / "variants" / "soundness.csv"
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


def by_domain(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Sound variants by generator, kind and domain: those that keep the label, at most with a slip, in both passes."""
    sound = pl.all_horizontal(
        (pl.col(f"label_{one}") == "y") & (pl.col(f"grammar_{one}") != "bad") for one in ("a", "b")
    )
    counts = verdicts.group_by("generator", "kind", "domain").agg(sound.sum().alias("sound"), pl.len().alias("read"))
    rows = []
    for row in counts.sort("generator", "kind", "domain").iter_rows(named=True):
        low, high = wilson(row["sound"], row["read"], 0.95)
        rows.append({**row, "share": row["sound"] / row["read"], "low": low, "high": high})
    return pl.DataFrame(rows)


def write_kinds(found: pl.DataFrame) -> None:
    """The file from which `structural.v2` knows which kinds are sound where."""
    kinds = found.filter(pl.col("kind") != "", pl.col("generator") == "structural.v2")
    order = pl.col("kind").cast(pl.Enum(KINDS_V2)), pl.col("domain").cast(pl.Enum(list(DOMAINS)))
    kinds.sort(*order).select("kind", "domain", "sound", "read").write_csv(KIND_RATES)


def show_domains(write: bool) -> None:
    """Print the rates by domain."""
    table = lzma.decompress(VERDICTS.with_name("domains.csv.xz").read_bytes())
    verdicts = pl.read_csv(table, schema_overrides={"kind": pl.String}).with_columns(pl.col("kind").fill_null(""))
    found = by_domain(verdicts)
    if write:
        write_kinds(found)
    print(found.with_columns((pl.col("share", "low", "high") * 100).round(1)))
    passes = [(pl.col(f"label_{one}") == "y") & (pl.col(f"grammar_{one}") != "bad") for one in ("a", "b")]
    a, b = (verdicts.select(one.alias("sound"))["sound"] for one in passes)
    print(f"both passes agree on soundness: {(a == b).mean():.1%} of {verdicts.height}")


if __name__ == "__main__":
    if {"--domains", "--write"} & set(sys.argv):
        pl.Config.set_tbl_rows(200)
        show_domains("--write" in sys.argv)
        sys.exit()
    found = pl.read_csv(sys.argv[1] if len(sys.argv) > 1 else VERDICTS)
    pl.Config.set_tbl_rows(100)
    print(rates(found).with_columns((pl.col("share", "low", "high") * 100).round(1)))
    for kind in KINDS:
        print(kind, "agreement {:.3f}, kappa {:.2f}".format(*agreement(found, kind)))
