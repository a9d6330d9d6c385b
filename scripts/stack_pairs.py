"""Build the table of pairs that `fit_stack.py` fits the weights of the check `stack` on.

python scripts/stack_pairs.py DATA PAIRS.parquet

DATA is a folder with ie_test/nli_data.parquet (SNLI and MNLI; only the split train_not_in_sample is read) and
paranlu/*.parquet, of which the half of the buckets is read that `is_calibration` chooses. PAIRS gets the columns set,
kind, original, variant:

- D1: broken sentences of SNLI and MNLI, each beside the sentence that was broken;
- D2: broken paraphrases of ParaNLU, beside the sentence that was paraphrased;
- D3: those of D1, reworded by `structural.v2` or `wordnet.v2` besides;
- D4: broken paraphrases of ParaNLU, beside the paraphrase that was broken;
- G: sound pairs, which are accepted paraphrases and variants of `structural.v2` and `wordnet.v2`;
- written, third, later: what was written by hand, broken and sound (docs/validity/broken.jsonl.xz, -2, ..., -8);
- practice: the same, mostly exchanged roles, written beside the rules (docs/validity/roles.jsonl.xz);
- own: broken and sound, reworded throughout, written to train the judges of `equivalence` (recipes/equivalence).

Of texts that are no part of D1, D3, the later sets and the variants by rules, the judges were trained on four folds of
five. Only the fifth is fitted on (`is_unseen`).
"""

from __future__ import annotations

import hashlib
import itertools
import lzma
import random
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from broken_variants import broken
from check_rates import read_set

import otherwords as ow

ROOT = Path(__file__).parents[1]
Row = tuple[str, str, str, str]
#: Texts are in one of five folds; the judges were not trained on this one, nor on the later sets.
FOLDS, UNSEEN = 5, 0
#: How a line of the judge's own texts begins, and what it breaks.
KINDS = {"-": "negation", "#": "number", "%": "quantifier", "@": "entity", "~": "roles", "!": "opposite"}
#: Broken sentences of each kind, and problems from each data set for sound variants.
PER_KIND, PROBLEMS = 400, 1200
LONGEST = 160
#: The parts of ParaNLU, with how many paraphrases of each kind are broken and the seed for that.
PARTS = {"d-SNLI": (200, 4), "d-ATOMIC": (120, 5), "d-SOCIAL": (120, 5), "a-NLI": (120, 5)}
WRITTEN = {
    "written": ("broken", "broken-2"),
    "third": ("broken-3",),
    "later": ("broken-4", "broken-5", "broken-6", "broken-7", "broken-8"),
    "practice": ("roles",),
}


def sentences(data: Path, name: str, seed: int = 4) -> list[str]:
    """Sentences of a data set's training part in random order."""
    rows = _training(data, name)
    texts = list(dict.fromkeys(text.strip() for text in [*rows["hypothesis"], *rows["premise"]] if text))
    texts = [text for text in texts if "\n" not in text and len(text) < LONGEST]
    random.Random(seed).shuffle(texts)
    return texts


def accepted(data: Path, split: str) -> list[tuple[str, str]]:
    """Sentences of a part of ParaNLU with paraphrases that people accepted; a-NLI has no verdicts, all count."""
    folder = data / "paranlu"
    here = pl.col("split") == split
    problems = pl.read_parquet(folder / "problems.parquet").filter(here)
    verdicts = pl.read_parquet(folder / "validation.parquet").filter(here & (pl.col("decision") == "valid"))
    rows = pl.read_parquet(folder / "paraphrases.parquet").filter(here & (pl.col("collection") == "main"))
    if split != "a-NLI":
        rows = rows.join(verdicts.select("paraphrase_id").unique(), on="paraphrase_id", how="semi")
    both = rows.join(problems.select("bucket_id", original="target1"), on="bucket_id").sort("bucket_id", "pos")
    pairs = both.select("original", "target1").rows()
    return [(old, new.strip()) for old, new in pairs if old and new and old != new]


def varied(problems: pl.DataFrame, generator: str) -> list[tuple[str, str]]:
    """Texts of problems with what a generator makes of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        variants = ow.vary(problems, [generator]).filter(pl.col("of").is_not_null())
    known = {row["id"]: row for row in problems.iter_rows(named=True)}
    return [
        (known[row["of"]][field], row[field])
        for row in variants.iter_rows(named=True)
        for field in ("premise", "hypothesis")
        if row[field] != known[row["of"]][field]
    ]


def pairs(data: Path) -> list[Row]:
    """All rows of the table."""
    texts = [text for name in ("snli", "mnli") for text in sentences(data, name)[:6000]]
    minimal = sorted(broken(texts, PER_KIND, 21))
    rows: list[Row] = [("D1", *row) for row in minimal]
    rows += [("D3", *row) for row in _reworded(minimal)]
    rows += _paraphrases(data)
    for name, files in WRITTEN.items():
        paths = [ROOT / "docs" / "validity" / f"{file}.jsonl.xz" for file in files]
        rows += [(name, row["type"], row["original"], row["variant"]) for row in read_set(paths)]
    rows += own_texts()
    for name in ("snli", "mnli"):
        problems = _training(data, name).sample(PROBLEMS, seed=3)
        for generator in ("structural.v2(n=2,kinds=all)", "wordnet.v2(pos=all)"):
            kind = f"{generator.partition('.')[0]}-{name}"
            rows += [("G", kind, old, new) for old, new in varied(problems, generator)]
    return rows


def is_calibration(original: str) -> bool:
    """Whether a bucket is one of those that weights may be fitted on: every second, drawn by its original's digest."""
    return int(hashlib.sha256(original.encode()).hexdigest(), 16) % 2 == 0


def fold(text: str) -> int:
    """The fold of an original."""
    return hashlib.sha256(text.encode()).digest()[0] % FOLDS


def is_unseen(row: Row) -> bool:
    """Whether the judges of `equivalence` were not trained on a pair."""
    never = row[0] in ("D1", "D3", "later") or row[1].startswith(("structural", "wordnet"))
    return never or (row[0] != "D4" and fold(" ".join(row[2].split())) == UNSEEN)


def written_groups() -> Iterator[tuple[list[str], list[tuple[str, str]]]]:
    """The judge's own texts: sentences that say the same, and sentences that do not with what they break."""
    file = ROOT / "recipes" / "equivalence" / "written.txt.xz"
    for block in lzma.decompress(file.read_bytes()).decode().split("\n\n"):
        lines = [(kind, text) for kind, text in (line.split(" ", 1) for line in block.strip().splitlines())]
        yield (
            [text for kind, text in lines if kind == "="],
            [(KINDS[kind], text) for kind, text in lines if kind != "="],
        )


def own_texts() -> Iterator[Row]:
    """Pairs of the judge's own texts, each beside those that say the same."""
    for same, others in written_groups():
        yield from (("own", "good-own", *both) for both in itertools.combinations(same, 2))
        yield from (("own", kind, first, text) for first in same for kind, text in others)


def _paraphrases(data: Path) -> list[Row]:
    """Accepted paraphrases, and some of them broken, beside what was paraphrased and beside themselves."""
    rows: list[Row] = []
    for part, (count, seed) in PARTS.items():
        found = accepted(data, part)
        originals = {new: old for old, new in found}
        rows += [("G", part, old, new) for old, new in found]
        for kind, new, worse in sorted(broken(sorted(originals), count, seed)):
            rows.append(("D2", kind, originals[new], worse))
            if is_calibration(originals[new]):
                rows.append(("D4", kind, new, worse))
    return [row for row in rows if row[0] == "D4" or is_calibration(row[2])]


def _reworded(minimal: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Broken sentences in other words; exchanged roles are no part, because `stack` has a rule for them."""
    known = {new: (kind, old) for kind, old, new in minimal if kind != "roles"}
    ids = [f"b{n}" for n in range(len(known))]
    table = pl.DataFrame({"id": ids, "premise": ["It is so."] * len(known), "hypothesis": list(known)})
    table = table.with_columns(label=pl.lit("entailment"))
    found = [row for one in ("structural.v2(n=1,kinds=all)", "wordnet.v2(pos=all)") for row in varied(table, one)]
    return [(*known[old], new) for old, new in found if old in known]


def _training(data: Path, name: str) -> pl.DataFrame:
    table = pl.read_parquet(data / "ie_test" / "nli_data.parquet")
    rows = table.filter((pl.col("split") == "train_not_in_sample") & (pl.col("dataset") == name))
    rows = rows.filter(pl.col("label") != "-").with_columns(id=pl.col("dataset") + pl.col("i").cast(pl.String))
    return rows.select("id", "premise", "hypothesis", "label")


if __name__ == "__main__":
    folder, out = map(Path, sys.argv[1:3])
    table = pl.DataFrame(pairs(folder), schema=["set", "kind", "original", "variant"], orient="row").unique(
        maintain_order=True
    )
    table.write_parquet(out)
    print(table.group_by("set", "kind").len().sort("set", "kind"))
