"""Draw the variants that are read domain by domain, and write them for blind annotation.

    python scripts/validity_domains.py OUT --with GENERATOR ...    100 problems a domain that it varies, a variant each
    python scripts/validity_domains.py OUT --kinds GENERATOR       of each of its kinds, 60 problems a domain
    python scripts/validity_domains.py OUT --strict 1 --with ...   the strict reading: another seed, problems never read

Writes OUT/items.jsonl (what an annotator sees: neither generator nor domain is named, the order is random),
OUT/key.jsonl (both, by item) and OUT/counts.jsonl (how many of the problems tried have a variant). The texts stay out
of the repository; verdicts by item are in docs/validity/.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
from validity_sample import (
    DATA,
    SEED_DOMAINS,
    SEED_STRICT,
    SEED_STRICT_AGAIN,
    SEED_STRICT_FOURTH,
    SEED_STRICT_THIRD,
    write,
)

import otherwords as ow

MORE = Path(__file__).parents[1] / "docs" / "validity" / "everyday.jsonl.xz"
RTE = DATA.parents[1] / "rte" / "rte1_3.parquet"
#: Problems a generator is read on, and variants a kind is read on, in each domain.
PER_GENERATOR = 100
PER_KIND = 60
#: Problems tried at most, and at a time.
POOL = {"captions": 10_000, "genres": 10_000, "news": 10_000, "everyday": 10_000}
CHUNK = 400
#: Of the reading by domain, then of the strict readings.
SEEDS = (SEED_DOMAINS, SEED_STRICT, SEED_STRICT_AGAIN, SEED_STRICT_THIRD, SEED_STRICT_FOURTH)
FIELDS = ("premise", "hypothesis")
COLUMNS = ["id", *FIELDS, "label"]


def domains() -> dict[str, pl.DataFrame]:
    """The problems of each domain: SNLI's test set, MNLI's two development sets, RTE 1 to 3, the bundled everyday text.

    Of the everyday problems there are few, so the rewordings written by hand are problems, too, and more were written
    for this reading, by writers who did not know the generators.
    """
    nli = (
        pl.read_parquet(DATA)
        .filter(pl.col("label") != "-")
        .with_columns(pl.format("{}-{}-{}", "dataset", "split", "i").alias("id"))
    )
    rte = pl.read_parquet(RTE).with_columns(pl.format("rte{}-{}-{}", "rte", "split", "id").alias("id"))
    bundled = ow.vary("everyday", "recorded", suite=True).select(COLUMNS)
    more = pl.read_ndjson(lzma.decompress(MORE.read_bytes())).select(COLUMNS)
    frames = {
        "captions": nli.filter(pl.col("dataset") == "snli", pl.col("split") == "test"),
        "genres": nli.filter(pl.col("dataset") == "mnli", pl.col("split") == "test"),
        "news": rte,
        "everyday": pl.concat([bundled, more]),
    }
    return {
        name: frame.select(COLUMNS).filter(*(pl.col(field) != "" for field in FIELDS)) for name, frame in frames.items()
    }


def in_random_order(problems: pl.DataFrame, domain: str, seed: int) -> pl.DataFrame:
    """The problems that may be tried, in the order in which they are: those that were written later come last."""
    later = pl.col("id").str.starts_with("m3-")
    ordered = []
    for part in (problems.filter(~later).sort("id"), problems.filter(later).sort("id")):
        order = random.Random(f"{seed} {domain}").sample(range(part.height), part.height)
        ordered.append(part[order])
    return pl.concat(ordered)[: POOL[domain]]


def read_by_generator(problems: pl.DataFrame, generator: str) -> tuple[list[dict[str, Any]], int]:
    """One variant of each of the first problems that have one, and how many problems were tried."""
    chosen: list[dict[str, Any]] = []
    for start in range(0, problems.height, CHUNK):
        part = problems[start : start + CHUNK]
        chosen += drawn(part, vary(part, generator), [])
        if len(chosen) >= PER_GENERATOR:
            break
    return chosen[:PER_GENERATOR], min(start + CHUNK, problems.height)


def read_by_kind(problems: pl.DataFrame, generator: str, kinds: list[str]) -> tuple[list[dict[str, Any]], int]:
    """The same for each kind of rewriting, made one at a time."""
    wanted = dict.fromkeys(kinds, 0)
    chosen: list[dict[str, Any]] = []
    for start in range(0, problems.height, CHUNK):
        part = problems[start : start + CHUNK]
        for kind in [kind for kind, found in wanted.items() if found < PER_KIND]:
            some = drawn(part, vary(part, f"{generator}(kinds={kind}, n=1)"), [kind])[: PER_KIND - wanted[kind]]
            wanted[kind] += len(some)
            chosen += some
        if min(wanted.values()) >= PER_KIND:
            break
    print({kind: found for kind, found in wanted.items() if found < PER_KIND})
    return chosen, min(start + CHUNK, problems.height)


def vary(problems: pl.DataFrame, generator: str) -> pl.DataFrame:
    """The variants of some problems."""
    empty = pl.lit(None, dtype=pl.String)
    suite = problems.drop("label").with_columns(
        empty.alias("of"), empty.alias("how"), pl.col("premise").alias("cluster")
    )
    return ow.vary(suite, [generator], seed=SEED_DOMAINS)


def drawn(problems: pl.DataFrame, variants: pl.DataFrame, kind: list[str]) -> list[dict[str, Any]]:
    """One variant of each problem, drawn by its id, in the order of the problems."""
    of: dict[str, list[dict[str, Any]]] = {}
    for row in variants.sort("id").iter_rows(named=True):
        of.setdefault(row["of"], []).append(row)
    return [
        {
            **item(problem, random.Random(f"{SEED_DOMAINS} {problem['id']}").choice(of[problem["id"]])),
            "kind": "".join(kind),
        }
        for problem in problems.iter_rows(named=True)
        if problem["id"] in of
    ]


def item(original: dict[str, str], variant: dict[str, str]) -> dict[str, Any]:
    """What an annotator sees, under a name that depends on the content alone."""
    shown = {name: [original[name], variant[name]] for name in FIELDS}
    name = hashlib.sha256(json.dumps([shown, variant["how"]]).encode()).hexdigest()[:12]
    return {"item": name, "label": original["label"], **shown, "problem": original["id"], "how": variant["how"]}


def items(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """All items of all domains; what was counted is written beside them."""
    counts: list[dict[str, object]] = []
    for domain, problems in domains().items():
        if domain not in given.domains:
            continue
        order = in_random_order(problems, domain, SEEDS[given.strict])
        for text in (*given.generators, *given.kinds):
            generator, _, only = text.partition(" @ ")
            if only and domain not in only.split("+"):
                continue
            if given.fresh or given.strict:
                order = order.filter(~pl.col("id").is_in(already_read(generator if given.strict < 3 else "", domain)))
            if text in given.kinds:
                found, tried = read_by_kind(order, generator, given.names)
            else:
                found, tried = read_by_generator(order, generator)
            counts.append({"domain": domain, "generator": generator, "variants": len(found), "tried": tried})
            print(counts[-1], flush=True)
            yield from ({**one, "domain": domain} for one in found)
    write(given.out / "counts.jsonl", counts)


def already_read(generator: str, domain: str) -> list[str]:
    """The problems on which a generator was read before; without one, those on which any was."""
    files = lzma.decompress(MORE.with_name("domains.csv.xz").read_bytes()), MORE.with_name("strict.csv.gz")
    verdicts = [pl.read_csv(file).select("generator", "domain", "problem") for file in files]
    first = pl.read_csv(MORE.with_name("verdicts.csv.gz")).with_columns(pl.lit("captions").alias("domain"))
    verdicts.append(first.select("generator", "domain", "problem"))
    here = (pl.col("domain") == domain) & ((pl.col("generator") == generator.partition("(")[0]) | (generator == ""))
    return pl.concat(verdicts).filter(here)["problem"].to_list()


def main() -> None:
    """Write the items in random order."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--with", dest="generators", nargs="*", default=[], help="GENERATOR, or GENERATOR @ DOMAIN+DOMAIN"
    )
    parser.add_argument("--kinds", nargs="*", default=[], help="a generator that is read kind by kind")
    parser.add_argument("--domains", nargs="*", default=list(POOL), help="which domains")
    parser.add_argument("--fresh", action="store_true", help="leave out problems on which a generator was read before")
    parser.add_argument(
        "--strict", type=int, default=0, help="1 to 4: draw with the seed of that strict reading; implies --fresh"
    )
    parser.add_argument("--names", nargs="*", default=[], help="the kinds")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    found = {one["item"]: one for one in items(given)}
    order = sorted(found)
    random.Random(SEED_DOMAINS).shuffle(order)
    hidden = ("problem", "how", "domain", "kind")
    write(given.out / "items.jsonl", [{k: v for k, v in found[name].items() if k not in hidden} for name in order])
    write(given.out / "key.jsonl", [{k: found[name][k] for k in ("item", *hidden)} for name in order])
    print(f"{len(order)} items")


if __name__ == "__main__":
    main()
