"""Training of the cheap baseline of the IE test: boosted trees on sparse columns, against xgboost on a dense table.

On SNLI as the IE paper's authors released it (trained on dev and what they left out of training, asked the test set),
or, where that is not at hand and in the tiny run, on made-up sentences. Times are processor seconds of one thread, so
that other work on the machine changes little. The fits of a grid go through `making.fit`, which counts words, trains,
stores, validates and describes; the bare ones are given the finished sparse matrix.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from . import isolated

DATA = Path(__file__).parents[2] / "shared" / "data" / "ie_test" / "nli_data.parquet"
#: A grid of 11 rho times 5 runs, each on so many rows drawn anew.
FITS, ROWS = 55, 5_000
TINY_FITS, TINY_ROWS = 2, 200

_OPTIONS = '{"objective": "multi:softprob", "num_class": 3, "max_depth": 15, "learning_rate": 0.55, "alpha": 0.65, '
_OPTIONS += '"gamma": 0.15, "tree_method": "hist", "nthread": 1}'

_READ = f"""
import re, time, tempfile
from pathlib import Path
import numpy as np, xgboost
from otherwords.models.answering import load
from otherwords.models.boosted import WordColumns
from otherwords.problem import TASKS, Batch
from otherwords.registry import trainers
from otherwords.training.data import TrainingData, TrainingRow
from otherwords.training.making import fit
nli, options = TASKS["nli"], {_OPTIONS}
train, test = ([TrainingRow(tuple(texts), label) for *texts, label in part] for part in json.load(open(sys.argv[1])))
gold = lambda rows: np.array([nli.labels.index(row.label) for row in rows])
def timed(work):
    start = time.process_time()
    return work(), time.process_time() - start
"""

_AGREEMENT = (
    _READ
    + """
words = [re.findall(r"\\b\\w\\w+\\b", " ".join(row.texts).lower()) for row in [*train, *test]]
place = {word: i for i, word in enumerate(sorted({word for row in words[: len(train)] for word in row}))}
dense = np.zeros((len(words), len(place)), np.float32)
for i, row in enumerate(words):
    for word in row:
        if word in place:
            dense[i, place[word]] += 1
table, asked = xgboost.DMatrix(dense[: len(train)], gold(train), nthread=1), dense[len(train) :]
bare, slow = timed(lambda: xgboost.train(options, table, 26))
wanted = bare.predict(xgboost.DMatrix(asked)).argmax(axis=1)
with tempfile.TemporaryDirectory() as folder:
    _, fast = timed(lambda: fit(trainers.make("boosted"), TrainingData(nli, train=train), Path(folder) / "m"))
    columns = {name: [row.texts[i] for row in test] for i, name in enumerate(nli.fields)}
    found, asking = timed(lambda: load(f"trained:{Path(folder) / 'm'}", nli)(Batch(nli, columns)).pred)
report(slow=slow, fast=fast, asking=asking, other=float((found != wanted).mean()), rows=len(train), asked=len(test),
       accuracy=float((found == gold(test)).mean()), dense=float((wanted == gold(test)).mean()), words=len(place))
"""
)

_GRID = (
    _READ
    + """
fits, count = int(sys.argv[2]), int(sys.argv[3])
bare = ours = counting = 0.0
for number in range(fits):
    some = [train[i] for i in np.random.default_rng(number).permutation(len(train))[:count]]
    data = TrainingData(nli, train=some[: count * 19 // 20], valid=some[count * 19 // 20 :])
    def matrix():
        texts = [row.texts for row in data.train]
        return WordColumns.of(texts, by_field=False, least=2).matrix(texts)
    columns, seconds = timed(matrix)
    counting += seconds
    bare += timed(lambda: xgboost.train(options, xgboost.DMatrix(columns, gold(data.train), nthread=1), 26))[1]
    with tempfile.TemporaryDirectory() as folder:
        ours += timed(lambda: fit(trainers.make("boosted"), data, Path(folder) / "m", number))[1]
report(bare=bare, ours=ours, counting=counting)
"""
)


def run(tiny: bool = False) -> list[dict[str, Any]]:
    fits, rows = (TINY_FITS, TINY_ROWS) if tiny else (FITS, ROWS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.json"
        path.write_text(json.dumps(_made_up(rows) if tiny or not DATA.is_file() else _snli()), encoding="utf-8")
        grid = isolated.run(_GRID, str(path), str(fits), str(rows))
        whole = isolated.run(_AGREEMENT, str(path))
    detail = f"{whole['asked']:,} test rows after training on {whole['rows']:,}; accuracy {whole['accuracy']:.4f}, "
    detail += f"dense {whole['dense']:.4f}"
    times = (
        f"{whole['fast']:.1f} s, counting words included, against {whole['slow']:.1f} s on {whole['words']:,} words; "
    )
    times += f"asking took {whole['asking']:.2f} s"
    added = f"{grid['ours']:.1f} s against {grid['bare']:.1f} s; counting words, which the bare fits are spared, took "
    added += f"{grid['counting']:.1f} s; fits on more rows are dearer, and the rest is not"
    claim = f"{fits} fits of {rows:,} rows through making.fit, times bare xgboost fits on finished matrices"
    return [
        _row("labels that differ from those of dense xgboost", 100 * whole["other"], "%", 0.1, detail),
        _row("a fit, times dense xgboost", whole["fast"] / whole["slow"], "x", 0.3, times),
        _row(claim, grid["ours"] / grid["bare"], "x", 1.3, added),
    ]


def _snli() -> list[list[Any]]:
    import polars as pl

    rows = pl.read_parquet(DATA).filter(pl.col("dataset") == "snli", pl.col("label") != "-").drop_nulls()
    chosen = (rows.filter(pl.col("split") != "test"), rows.filter(pl.col("split") == "test"))
    return [part.select("premise", "hypothesis", "label").rows() for part in chosen]


def _made_up(count: int) -> list[list[Any]]:
    import random

    print("made-up sentences: SNLI is read from ../shared/data/ie_test", file=sys.stderr)
    draw, labels = random.Random(1), ("entailment", "neutral", "contradiction")
    texts = [[" ".join(f"word{draw.randrange(80)}" for _ in range(8)) for _ in "ab"] for _ in range(2 * count)]
    rows = [[*pair, labels[sum("1" in word for word in pair[1].split()) % 3]] for pair in texts]
    return [rows[:count], rows[count:]]


def _row(claim: str, measured: float, unit: str, at_most: float, detail: str) -> dict[str, Any]:
    return {"claim": claim, "measured": measured, "unit": unit, "at_most": at_most, "detail": detail}
