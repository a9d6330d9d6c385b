"""Write sentences that say the same, together, with scripted changes of each: what pairs reworded throughout come from.

    clusters.py DATA OUT.json.xz

DATA has paranlu/*.parquet and parte/parte.parquet, of which the half is read that scripts/stack_pairs.py calibrates on.
Besides: written.txt.gz beside this file, and the sets of docs/validity that were written to be broken or sound. A
cluster has `m`, its sentences, each with changes that break it (`b`) and that do not (`g`); `x`, sentences that say
something else; and `f`, one of five folds: each fold is scored by a judge that has not seen it.
"""

from __future__ import annotations

import json
import lzma
import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import edits
import polars as pl
from data import SEED, clean, some

from otherwords.grammar.parsing import ParseTree, parser

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "scripts"))
from check_rates import read_set  # noqa: E402
from stack_pairs import fold, is_calibration, written_groups  # noqa: E402

SETS = ("broken", "broken-2", "broken-3", "roles")
#: Sets that judges are tried on and never trained on, and the number of their fold.
HELD_OUT, LAST = ("broken-4", "broken-5", "broken-6"), 5
LONGEST = 220
Cluster = dict[str, Any]


def paranlu(folder: Path) -> Iterator[Cluster]:
    """Sentences with the paraphrases that people accepted, and those that they did not."""
    problems = pl.read_parquet(folder / "problems.parquet")
    verdicts = pl.read_parquet(folder / "validation.parquet").filter(pl.col("decision").is_in(["valid", "invalid"]))
    found: dict[tuple[str, int], Cluster] = {}
    for row in problems.iter_rows(named=True):
        for which in (1, 2):
            text = row[f"target{which}"]
            if text and is_calibration(row["target1"]):
                found[row["bucket_id"], which] = {
                    "m": [clean(text)],
                    "x": [],
                    "f": fold(row["target1"]),
                    "s": row["split"],
                }
    for row in verdicts.iter_rows(named=True):
        for which in (1, 2):
            own, text = found.get((row["bucket_id"], which)), row[f"target{which}"]
            if own and text and row["decision"] == "valid":
                own["m"].append(clean(text))
            elif own and text and which == 1 and row["split"] != "a-NLI":
                own["x"].append(["refused", clean(text)])
    yield from found.values()


def parte(file: Path) -> Iterator[Cluster]:
    """Texts of RTE with the paraphrases of PaRTE."""
    for row in pl.read_parquet(file).iter_rows(named=True):
        for field in ("premise", "hypothesis"):
            old, new = row[field], row[f"{field}_par"]
            if old and new and clean(old) != clean(new) and len(old) < LONGEST and is_calibration(row["hypothesis"]):
                yield {"m": [clean(old), clean(new)], "x": [], "f": fold(row["hypothesis"]), "s": "parte"}


def sets() -> Iterator[Cluster]:
    """The sets that were written to be broken or sound."""
    found: dict[str, Cluster] = {}
    for name in (*SETS, *HELD_OUT):
        for row in read_set([ROOT / "docs" / "validity" / f"{name}.jsonl.xz"]):
            text = clean(row["original"])
            own = found.setdefault(
                text, {"m": [text], "x": [], "f": LAST if name in HELD_OUT else fold(text), "s": name}
            )
            if row["type"].startswith("good"):
                own["m"].append(clean(row["variant"]))
            else:
                own["x"].append([row["type"], clean(row["variant"])])
    yield from found.values()


def written() -> Iterator[Cluster]:
    """The recipe's own texts."""
    for same, others in written_groups():
        yield {"m": same, "x": [list(one) for one in others], "f": fold(same[0]), "s": "own"}


def changed(clusters: list[Cluster]) -> None:
    """Replace each sentence by itself and its scripted changes."""
    rng, corpus, parse = random.Random(SEED), edits.Corpus(), parser()
    texts = list(dict.fromkeys(text for one in clusters for text in one["m"]))
    trees = {text: ParseTree(text, nodes) for text, nodes in zip(texts, parse(texts), strict=True) if nodes}
    for tree in trees.values():
        corpus.add(tree)
    made: dict[str, Any] = defaultdict(dict)
    for text, tree in trees.items():
        made[text] = {
            "b": some(tree, list(edits.broken(tree, corpus, rng)), 6, rng),
            "g": some(tree, list(edits.reworded(tree, rng)), 4, rng),
        }
    for one in clusters:
        one["m"] = [{"t": text, **made[text]} for text in dict.fromkeys(one["m"])]


def main() -> None:
    """Everything."""
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    clusters = [*paranlu(data / "paranlu"), *parte(data / "parte" / "parte.parquet"), *sets(), *written()]
    clusters = [one for one in clusters if len(one["m"]) > 1 or one["x"]]
    changed(clusters)
    raw = json.dumps(clusters, separators=(",", ":")).encode()
    out.write_bytes(lzma.compress(raw, preset=9))
    print(len(clusters), sum(len(one["m"]) for one in clusters), len(raw), out.stat().st_size)


if __name__ == "__main__":
    main()
