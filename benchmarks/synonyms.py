"""`wordnet-ie` against the straightforward form of the IE paper's synonyms, and its memory as problems grow.

Straightforward: the full spaCy pipeline sentence by sentence, then the synsets of every noun looked up where it stands.
Both must make the same variants.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from . import isolated

DATA = Path(__file__).parents[1].parent / "shared" / "data" / "ie_test" / "nli_data.parquet"
PAIRS = 3_000
SIZES = (5_000, 50_000)
TINY_PAIRS, TINY_SIZES = 40, (20, 60)

_READ = """
import time
from otherwords import load
from otherwords.words import tagging
problems = load(sys.argv[1])
tagging.pipeline(tagging.installed(), False)  # loading is not what is measured
"""
_STRAIGHTFORWARD = (
    _READ
    + """
import spacy
from collections import Counter
from otherwords.words.synonyms import _choose
nlp = spacy.load(tagging.installed())
start = time.perf_counter()
pairs = [[nlp(text) for text in row] for row in problems.select("premise", "hypothesis").iter_rows()]
nouns = Counter(token.text.lower() for docs in pairs for doc in docs for token in doc if token.pos_ == "NOUN")
def stand_in(token):
    found = _choose(token.text.lower(), nouns) if token.pos_ == "NOUN" else None
    if not found:
        return token.text_with_ws
    new = found.synonym[:1].upper() + found.synonym[1:] if token.text[:1].isupper() else found.synonym
    return new + token.whitespace_
texts = ["".join(map(stand_in, doc)) for docs in pairs for doc in docs]
report(seconds=time.perf_counter() - start, texts=texts)
"""
)
_OURS = (
    _READ
    + """
from otherwords import vary
start = time.perf_counter()
variants = vary(problems, ["wordnet-ie"])
seconds = time.perf_counter() - start
new = {row[0]: row[1:] for row in variants.select("of", "premise", "hypothesis").iter_rows()}
rows = [new.get(row[0], row[1:]) for row in problems.select("id", "premise", "hypothesis").iter_rows()]
report(seconds=seconds, texts=[text for row in rows for text in row])
"""
)
_MEMORY = """
from otherwords.datasets.source import Source
from otherwords.running.files import vary_files
done = vary_files(Source([sys.argv[1]]), sys.argv[2], ["wordnet-ie"])
report(variants=done.counts["variants"])
"""


def run(tiny: bool = False) -> list[dict[str, Any]]:
    count, sizes = (TINY_PAIRS, TINY_SIZES) if tiny else (PAIRS, SIZES)
    with tempfile.TemporaryDirectory() as place:
        problems = Path(place) / "problems.jsonl"
        _make(problems, count)
        fast, slow = (isolated.run(code, str(problems)) for code in (_OURS, _STRAIGHTFORWARD))
        if fast["texts"] != slow["texts"]:
            raise SystemExit("the two forms disagree")
        peaks = {}
        for size in sizes:
            _make(problems, size)
            peaks[size] = isolated.run(_MEMORY, str(problems), f"{place}/variants.jsonl")["peak_mb"]
    times = (
        f"{slow['seconds'] / fast['seconds']:.1f} times as fast; {count:,} pairs in {fast['seconds']:.1f} s against "
    )
    claim = "wordnet-ie: time as a share of the straightforward form's"
    memory = "; ".join(f"{size:,} problems: peak {peaks[size]:.0f} MB" for size in sizes)
    growth = peaks[sizes[1]] - peaks[sizes[0]]
    return [
        {"claim": claim, "measured": fast["seconds"] / slow["seconds"], "unit": "of it", "at_most": 0.125,
         "detail": f"{times}{slow['seconds']:.1f} s"},
        {"claim": f"peak memory of wordnet-ie at {sizes[1]:,} problems above that at {sizes[0]:,}", "measured": growth,
         "unit": "MB", "at_most": 100, "detail": memory},
    ]  # fmt: skip


def _make(path: Path, count: int) -> None:
    """Pairs of SNLI's test set where it is at hand, else the bundled problems; beyond their number, numbered anew."""
    import polars as pl

    import otherwords as ow

    if DATA.exists():
        rows = pl.read_parquet(DATA).filter(pl.col("dataset") == "snli", pl.col("label") != "-").drop_nulls()
        rows = pl.concat([rows.filter(pl.col("split") == "test"), rows.filter(pl.col("split") != "test")])
    else:
        rows = ow.load("everyday(split=all)")
    pairs = rows.select("premise", "hypothesis", "label").rows()
    with path.open("w") as file:
        for number in range(count):
            premise, hypothesis, label = pairs[number % len(pairs)]
            if number >= len(pairs):
                premise = f"{premise} (scene {number // len(pairs)})"
            row = {"id": str(number), "premise": premise, "hypothesis": hypothesis, "label": label}
            file.write(json.dumps(row) + "\n")
