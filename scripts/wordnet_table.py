"""Make the compact WordNet table that the package ships from the dictionary files of WordNet 3.0.

    python scripts/wordnet_table.py FOLDER

FOLDER holds data.*, index.*, *.exc and index.sense (Debian: wordnet-base and wordnet-sense-index). Writes two files to
src/otherwords/assets/wordnet/ and prints their checksums. The same input gives the same bytes. The senses of each lemma
and their order are not written, because they follow from the synsets; this is checked here.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl

ASSETS = Path(__file__).parents[1] / "src" / "otherwords" / "assets" / "wordnet"
PARTS = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}


def main(folder: Path) -> None:
    """Read the dictionary, compare the senses that follow from its synsets with its index, write the two files."""
    counts = tag_counts(folder / "index.sense")
    synsets = [line for part in PARTS for line in data(folder, part)]
    number = {(pos, offset): i for i, (pos, offset, *_) in enumerate(synsets)}
    words = {(pos, offset): names for pos, offset, _, names, *_ in synsets}
    rows = []
    for pos, offset, kind, names, pointers, gloss in synsets:
        counted = [name if not (n := counts.get((name.lower(), pos, offset), 0)) else f"{name}:{n}" for name in names]
        opposites = [f"{names[first]}>{words[(part, to)][second]}" for first, part, to, second in pointers]
        rows.append("\t".join([kind, "|".join(counted), "|".join(opposites), gloss]))
    listed = {(lemma, pos): [number[pos, o] for o in offsets] for pos in PARTS for lemma, offsets in index(folder, pos)}
    derived = senses(rows)
    if odd := sorted(key for key in derived.keys() | listed.keys() if derived.get(key) != listed.get(key)):
        sys.exit(f"the senses of {len(odd):,} lemmas do not follow from the synsets; the first is {odd[0]}")
    write("synsets", rows)
    write("exceptions", [f"{pos}\t{line.strip()}" for pos, part in PARTS.items()
                         for line in (folder / f"{part}.exc").read_text("latin-1").splitlines()])  # fmt: skip


def data(folder: Path, pos: str) -> Iterator[tuple[str, str, str, list[str], list[tuple[int, str, str, int]], str]]:
    """Part of speech, offset, kind (s for satellites), words, antonyms and gloss of every synset."""
    for line in lines(folder / f"data.{PARTS[pos]}"):
        fields, _, gloss = line.partition(" | ")
        offset, _, kind, size, *rest = fields.split(" ")
        count = int(size, 16)
        names = [re.sub(r"\((a|p|ip)\)$", "", name) for name in rest[: 2 * count : 2]]
        pointers = rest[2 * count + 1 :]
        found = [
            (int(ends[:2], 16) - 1, part.replace("s", "a"), to, int(ends[2:], 16) - 1)
            for symbol, to, part, ends in zip(
                *(pointers[i : 4 * int(rest[2 * count]) : 4] for i in range(4)), strict=True
            )
            if symbol == "!"
        ]
        yield pos, offset, kind, names, found, " ".join(gloss.split())


def index(folder: Path, pos: str) -> Iterator[tuple[str, list[str]]]:
    """Every lemma with the offsets of its synsets, the most frequent sense first."""
    for line in lines(folder / f"index.{PARTS[pos]}"):
        fields = line.split()
        yield fields[0], fields[-int(fields[2]) :]


def tag_counts(path: Path) -> dict[tuple[str, str, str], int]:
    """How often each sense of a lemma is tagged in the concordance that comes with WordNet."""
    found = {}
    for line in path.read_text("latin-1").splitlines():
        key, offset, _, count = line.split()
        lemma, _, rest = key.partition("%")
        if int(count):
            found[lemma, "nvara"[int(rest[0]) - 1], offset] = int(count)
    return found


def senses(rows: list[str]) -> dict[tuple[str, str], list[int]]:
    """Every lemma with the numbers of its synsets: by count, heads before satellites, the last line first."""
    found: dict[tuple[str, str], dict[int, tuple[int, bool, int]]] = {}
    for number, row in enumerate(rows):
        kind, words, *_ = row.split("\t")
        for name, _, count in (word.partition(":") for word in words.lower().split("|")):
            found.setdefault((name, kind.replace("s", "a")), {})[number] = (int(count or 0), kind != "s", number)
    return {key: sorted(ranks, key=ranks.__getitem__, reverse=True) for key, ranks in found.items()}


def lines(path: Path) -> Iterator[str]:
    """Dictionary lines, without the licence at the head of the file, whose lines begin with two spaces."""
    return (line for line in path.read_text("latin-1").splitlines() if not line.startswith("  "))


def write(name: str, rows: list[str]) -> None:
    """Pack lines without a time stamp, and print the checksum of what was packed."""
    content = ("\n".join(rows) + "\n").encode()
    path = ASSETS / (f"{name}.tsv.gz" if name == "exceptions" else f"{name}.parquet")
    if name == "exceptions":
        path.write_bytes(gzip.compress(content, 9, mtime=0))
    else:  # smaller than gzip, and as fast to read
        text = pl.DataFrame({"text": [content.decode()]})
        text.write_parquet(path, statistics=False, compression="zstd", compression_level=22)
    print(
        f"{hashlib.sha256(content).hexdigest()}  {name}.tsv  {len(rows):,} lines, {path.stat().st_size:,} bytes packed"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
