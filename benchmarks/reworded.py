"""`reworded` against one parse by spaCy of the same sentences; with a masked-LM that ranks drafts, apart.

The peer is spaCy's own loop with the same pipeline, `nlp.pipe` over all texts, and nothing done with the result.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from . import isolated
from .synonyms import _make

PAIRS, RANKED = 2_000, 100
TINY_PAIRS, TINY_RANKED = 20, 5

_READ = """
import time
from otherwords import load
from otherwords.grammar import parsing
from otherwords.words import tagging
problems = load(sys.argv[1]).head(int(sys.argv[2]))
nlp = parsing._pipeline(tagging.installed())  # loading is not what is measured
"""
_PEER = (
    _READ
    + """
texts = [text for row in problems.select("premise", "hypothesis").iter_rows() for text in row]
start = time.perf_counter()
parsed = sum(len(doc) for doc in nlp.pipe(dict.fromkeys(texts), batch_size=tagging.BATCH))
report(seconds=time.perf_counter() - start, words=parsed)
"""
)
_OURS = (
    _READ
    + """
from otherwords import vary
from otherwords.registry import generators
bound = generators.make(sys.argv[3])
list(bound.function([], []))
vary(load("everyday").head(2), [sys.argv[3]])  # lists and tables are read once
start = time.perf_counter()
variants = vary(problems, [sys.argv[3]])
report(seconds=time.perf_counter() - start, variants=variants.height)
"""
)


def run(tiny: bool = False) -> list[dict[str, Any]]:
    pairs, ranked = (TINY_PAIRS, TINY_RANKED) if tiny else (PAIRS, RANKED)
    with tempfile.TemporaryDirectory() as place:
        problems = Path(place) / "problems.jsonl"
        _make(problems, pairs)
        return [
            _row(problems, pairs, "reworded(kinds=all)", "one parse of the same sentences by spaCy", 4),
            _row(problems, ranked, "reworded(kinds=all, fluency=mlm-small)", "the same, with drafts ranked", 400),
        ]


def _row(problems: Path, count: int, spec: str, against: str, most: float) -> dict[str, Any]:
    peer = isolated.run(_PEER, str(problems), str(count))
    ours = isolated.run(_OURS, str(problems), str(count), spec)
    detail = (
        f"{count:,} pairs, {ours['variants']:,} variants: {ours['seconds']:.1f} s; spaCy {peer['seconds']:.1f} s for "
        f"{peer['words']:,} words"
    )
    return {
        "claim": f"{spec}, of {against}",
        "measured": ours["seconds"] / peer["seconds"],
        "unit": "x",
        "at_most": most,
        "detail": detail,
    }
