"""Draw the problems on which generators are assessed, and write their variants for blind annotation.

    python scripts/validity_sample.py OUT --veto FILE              the synonyms: the same 200 problems for each
    python scripts/validity_sample.py OUT --each GENERATOR ...     200 problems of which a generator makes something

Writes OUT/items.jsonl (what an annotator sees: no generator is named, the order is random) and OUT/key.jsonl (the
generator of each item). The texts are SNLI's and stay out of the repository; verdicts by item are in docs/validity/.
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
#: The same for generators that make something of some problems only (`--each`).
SEED_EACH = 20_261_116
#: The same for the reading by domain (SNLI test, MNLI, RTE, everyday) of `structural.v2`, `wordnet.v2` and `reworded`.
SEED_DOMAINS = 20_261_117
#: The same for the strict reading of what these generators make since the guards of the development reading.
SEED_STRICT = 20_261_121
#: The same for the second strict reading, after what the first one found was mended.
SEED_STRICT_AGAIN = 20_261_122
#: The same for the third, on problems on which no generator was read.
SEED_STRICT_THIRD = 20_261_123
#: The same for the fourth, of `reworded` after what the third one found was mended.
SEED_STRICT_FOURTH = 20_261_124
SIZE = 200
#: Problems varied at a time, until enough have a variant.
_SOME = 400


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
    """Write one variant per drawn problem and generator, in random order."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--veto", type=Path, help="the IE paper's list for SNLI, one word a line")
    parser.add_argument("--also", nargs="*", default=["wordnet.v1"], help="generators besides wordnet-ie")
    parser.add_argument("--each", nargs="*", default=[], help="generators that are assessed on problems of their own")
    parser.add_argument(
        "--some", type=int, default=_SOME, help="problems varied at a time; changes nothing but the time"
    )
    given = parser.parse_args()
    suite, drawn = problems()
    parts = synonyms(suite, drawn, given.veto, given.also) if given.veto else []
    parts += [first_varied(suite, name, given.some) for name in given.each]
    texts = {row["id"]: row for row in suite.iter_rows(named=True)}
    items = [item(texts[row["of"]], row) for part in parts for row in part.to_dicts()]
    random.Random(SEED).shuffle(items)
    given.out.mkdir(parents=True, exist_ok=True)
    write(given.out / "items.jsonl", [{k: v for k, v in one.items() if k not in ("problem", "how")} for one in items])
    write(given.out / "key.jsonl", [{k: one[k] for k in ("item", "problem", "how")} for one in items])
    print(f"{len(items)} items")


def synonyms(suite: pl.DataFrame, drawn: list[str], veto: Path, also: list[str]) -> list[pl.DataFrame]:
    """Variants of the drawn problems; `wordnet-ie` sees the whole set, for its frequencies."""
    sample = suite.filter(pl.col("id").is_in(drawn))
    parts = [ow.vary(suite, [f"wordnet-ie(veto={veto})"]).filter(pl.col("of").is_in(drawn))]
    parts += [ow.vary(sample, [name], seed=SEED) for name in also]
    return [part.unique("of", keep="first") for part in parts]


def first_varied(suite: pl.DataFrame, generator: str, size: int) -> pl.DataFrame:
    """Of all problems in a random order, the first of which the generator makes something; one of its variants each."""
    order = random.Random(SEED_EACH).sample(sorted(suite["id"]), suite.height)
    parts: list[pl.DataFrame] = []
    for start in range(0, len(order), size):
        some = order[start : start + size]
        found = ow.vary(suite.filter(pl.col("id").is_in(some)), [generator], seed=SEED_EACH)
        place = pl.col("of").replace_strict(some, range(len(some)), return_dtype=pl.Int64)
        groups = found.group_by("of").agg(pl.col("id").sort()).iter_rows()
        chosen = [random.Random(f"{SEED_EACH} {of}").choice(names) for of, names in groups]
        parts.append(found.filter(pl.col("id").is_in(chosen)).sort(place))
        if sum(part.height for part in parts) >= SIZE:
            break
    tried = min(start + size, len(order))
    print(f"{generator}: {sum(part.height for part in parts)} of {tried} problems have a variant")
    return pl.concat(parts, how="diagonal_relaxed").head(SIZE)


def item(original: dict[str, str], variant: dict[str, str]) -> dict[str, object]:
    """What an annotator sees, under a name that depends on the content alone."""
    shown = {name: [original[name], variant[name]] for name in ("premise", "hypothesis")}
    name = hashlib.sha256(json.dumps([shown, variant["how"].partition("(")[0]]).encode()).hexdigest()[:12]
    return {"item": name, "label": original["label"], **shown, "problem": original["id"], "how": variant["how"]}


def write(path: Path, rows: list[dict[str, object]]) -> None:
    """Lines of JSON."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
