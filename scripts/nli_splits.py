"""Cut the IE paper's table of SNLI and MNLI into the data sets that the shipped models are trained and tested on.

    python scripts/nli_splits.py nli_data.parquet OUT

Writes OUT/{snli,mnli}-{dev,test,train}.jsonl. Rows of split `train_not_in_sample` become `train`. Rows with an empty
text are left out, and counted; rows without a majority label stay, because their texts are test texts all the same.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

SPLITS = {"dev": "dev", "test": "test", "train_not_in_sample": "train"}


def cut(table: pl.DataFrame, dataset: str, split: str) -> tuple[pl.DataFrame, int]:
    """The problems of one split, and how many were left out."""
    rows = table.filter(pl.col("dataset") == dataset, pl.col("split") == split).sort("i")
    texts = rows.filter(*(pl.col(name).fill_null("").str.strip_chars() != "" for name in ("premise", "hypothesis")))
    name = pl.format(f"{dataset}-{SPLITS[split]}-{{}}", pl.col("i")).alias("id")
    return texts.select(name, "premise", "hypothesis", "label"), len(rows) - len(texts)


def main() -> None:
    """Write all six files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    table = pl.read_parquet(given.table)
    given.out.mkdir(parents=True, exist_ok=True)
    for dataset in ("snli", "mnli"):
        for split, name in SPLITS.items():
            problems, left_out = cut(table, dataset, split)
            path = given.out / f"{dataset}-{name}.jsonl"
            problems.write_ndjson(path)
            print(f"{path}: {len(problems):,} problems, {left_out} left out for an empty text")


if __name__ == "__main__":
    main()
