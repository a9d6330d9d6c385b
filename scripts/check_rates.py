"""Print how many variants of each type checks drop: broken ones they should, good ones they should not.

python scripts/check_rates.py SET.jsonl [SET.jsonl ...] [--with roles --with stack] [--missed]

A line of SET, which may be packed (.gz, .xz), has the fields id, type, original and variant. The types that begin with
"good" are sound rewordings; of all others every variant says something else.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import polars as pl

import otherwords as ow

CHECKS = ("surface", "label-safety", "roles", 'stack(judge="")', "stack")
#: Something to stand beside the text that was changed; checks read changed fields only.
PREMISE = "It is so."
SCHEMA = dict.fromkeys(("id", "of", "premise", "hypothesis"), pl.String)


def read_set(paths: Iterable[Path]) -> list[dict[str, str]]:
    """The lines of some sets; ids that several sets share do not matter."""
    unpack = {".gz": gzip.decompress, ".xz": lzma.decompress}
    texts = (unpack.get(path.suffix, bytes)(path.read_bytes()) for path in paths)
    return [json.loads(line) for text in texts for line in text.splitlines() if line]


def verdicts(rows: Sequence[dict[str, str]], check: str) -> list[bool]:
    """Whether a check drops each variant."""
    problems = [(f"p{n}", None, PREMISE, row["original"]) for n, row in enumerate(rows)]
    variants = [(f"v{n}", f"p{n}", PREMISE, row["variant"]) for n, row in enumerate(rows)]
    suite = pl.DataFrame([*problems, *variants], schema=SCHEMA, orient="row")
    suite = suite.with_columns(label=pl.lit("entailment"))  # no check reads it
    checked = ow.check(suite, [f"it={check}"]).filter(pl.col("of").is_not_null())
    found = dict(checked.select(pl.col("of"), ~pl.col("check:it")).iter_rows())
    return [bool(found[f"p{n}"]) for n in range(len(rows))]


def rates(rows: Sequence[dict[str, str]], dropped: Sequence[bool]) -> dict[str, float]:
    """The share of variants of each type that were dropped."""
    table = pl.DataFrame({"type": [row["type"] for row in rows], "dropped": list(dropped)})
    return dict(table.group_by("type", maintain_order=True).agg(pl.col("dropped").mean()).iter_rows())


def in_words(rows: Sequence[dict[str, str]], dropped: Sequence[bool]) -> Iterator[str]:
    """The rates of each type and of all good ones, in per cent with Wilson's 95 % interval."""
    good = [one for one in zip(rows, dropped, strict=True) if one[0]["type"].startswith("good")]
    for kind in [*rates(rows, dropped), "all good"]:
        own = [drop for row, drop in zip(rows, dropped, strict=True) if row["type"] == kind] or [one for _, one in good]
        if own:
            low, high = wilson(sum(own), len(own))
            yield f"{kind} {100 * sum(own) / len(own):.1f} [{100 * low:.0f}, {100 * high:.0f}] of {len(own)}"


def wilson(count: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's interval of a share.

    >>> [round(one, 3) for one in wilson(66, 70)]
    [0.862, 0.978]
    """
    middle, share = 1 + z * z / total, count / total
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / middle
    return max(0.0, (share + z * z / (2 * total)) / middle - half), min(
        1.0, (share + z * z / (2 * total)) / middle + half
    )


def missed(rows: Sequence[dict[str, str]], dropped: Sequence[bool]) -> Iterator[str]:
    """Broken variants that were kept, and good ones that were dropped."""
    for row, drop in zip(rows, dropped, strict=True):
        if drop == row["type"].startswith("good"):
            yield f"  {row['type']}: {row['original']} | {row['variant']}"


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("sets", type=Path, nargs="+")
    options.add_argument("--with", dest="checks", action="append")
    options.add_argument("--missed", action="store_true", help="print each wrong verdict")
    given = options.parse_args()
    rows = read_set(given.sets)
    for check in given.checks or CHECKS:
        dropped = verdicts(rows, check)
        print(check, *in_words(rows, dropped), sep="  ")
        for line in missed(rows, dropped) if given.missed else ():
            print(line)
