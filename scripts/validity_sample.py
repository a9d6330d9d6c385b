"""Draw the problems on which generators are judged, and lay their variants out for blind judgement.

    python scripts/validity_sample.py OUT --veto FILE

Writes OUT/items.jsonl (what a judge sees: no generator is named, the order is random) and OUT/key.jsonl (which item is
whose). The texts are SNLI's and stay out of the repository; verdicts are kept under docs/validity/ by item.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from pathlib import Path

import polars as pl

import otherwords as ow

DATA = Path(__file__).parents[1].parent / "shared" / "data" / "ie_test" / "nli_data.parquet"
#: Fixed before any variant of these problems was looked at.
SEED = 20_261_115
SIZE = 200


def problems() -> tuple[pl.DataFrame, list[str]]:
    """The SNLI test set, and the ids of the problems drawn from it."""
    rows = pl.read_parquet(DATA).filter(
        pl.col("dataset") == "snli", pl.col("split") == "test", pl.col("label") != "-", pl.col("premise") != ""
    )
    rows = rows.filter(pl.col("hypothesis") != "").with_columns(pl.format("snli-test-{}", "i").alias("id"))
    drawn = random.Random(SEED).sample(sorted(rows["id"]), SIZE)
    frame = rows.select("id", "premise", "hypothesis", "label", pl.col("premise").alias("cluster"))
    empty = pl.lit(None, dtype=pl.String)
    return frame.with_columns(empty.alias("of"), empty.alias("how")), drawn


def main() -> None:
    """Vary the whole set, for its frequencies; keep one variant per drawn problem and generator."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--veto", type=Path, required=True, help="the IE paper's list for SNLI, one word a line")
    parser.add_argument("--also", nargs="*", default=["wordnet"], help="generators besides wordnet-ie")
    given = parser.parse_args()
    suite, drawn = problems()
    sample = suite.filter(pl.col("id").is_in(drawn))
    made = [ow.vary(suite, [f"wordnet-ie(veto={given.veto})"]).filter(pl.col("of").is_in(drawn))]
    made += [ow.vary(sample, [name], seed=SEED) for name in given.also]
    texts = {row["id"]: row for row in sample.iter_rows(named=True)}
    items = [item(texts[row["of"]], row) for part in made for row in part.unique("of", keep="first").to_dicts()]
    random.Random(SEED).shuffle(items)
    given.out.mkdir(parents=True, exist_ok=True)
    write(given.out / "items.jsonl", [{k: v for k, v in one.items() if k not in ("problem", "how")} for one in items])
    write(given.out / "key.jsonl", [{k: one[k] for k in ("item", "problem", "how")} for one in items])
    print(f"{len(items)} items of {SIZE} problems")


def item(original: dict[str, str], variant: dict[str, str]) -> dict[str, object]:
    """What a judge sees, under a name that tells nothing but the content."""
    shown = {name: [original[name], variant[name]] for name in ("premise", "hypothesis")}
    name = hashlib.sha256(json.dumps([shown, variant["how"].partition("(")[0]]).encode()).hexdigest()[:12]
    return {"item": name, "label": original["label"], **shown, "problem": original["id"], "how": variant["how"]}


def write(path: Path, rows: list[dict[str, object]]) -> None:
    """Lines of JSON."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
