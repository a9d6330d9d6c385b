"""What `gpu_training` trains and asks, packed into one small file; and what came back, as ordinary tables.

    python -m benchmarks.gpu_training_data prepare SHARED_DATA PLACE [--rows N]
    python -m benchmarks.gpu_training_data collect PLACE RESULTS OUT

`prepare` writes PLACE/prepared.tar.xz: a prepared training for each cell (as `otherwords train --prepare` writes it),
and the questions that the models are asked. `collect` writes tables of answers, without texts.
"""

from __future__ import annotations

import argparse
import json
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from otherwords.papers.ie_data import IEData, prepare_data
from otherwords.problem import TASKS, Task
from otherwords.registry import Bound
from otherwords.training.data import TrainingData, TrainingRow
from otherwords.training.making import describe_training, train
from otherwords.training.recipe import read_recipe
from otherwords.training.trainer import begin
from otherwords.variants.resampling import replace_rows

RHO, RUNS = (0.0, 0.5, 1.0), (1, 2, 3)
SHARES, INPUTS = (0.1, 0.5, 1.0), {"full": [], "update": ["update"]}
RECIPES = Path(__file__).parents[1] / "recipes"
NLI, D_NLI = TASKS["nli"], TASKS["d-nli"]


def prepare(shared: Path, place: Path, rows: int = 0) -> None:
    """Write all cells and questions into PLACE, and pack them; with `rows`, only so many of each table."""
    place.mkdir(parents=True, exist_ok=True)
    cells, questions = place / "cells", place / "questions"
    questions.mkdir(exist_ok=True)
    ie_cells(shared / "ie_test", place, rows)
    d_nli_cells(shared, place, rows)
    with tarfile.open(place / "prepared.tar.xz", "w:xz", preset=9) as packed:
        for folder in (cells, questions):
            packed.add(folder, folder.name)
    print(f"{place / 'prepared.tar.xz'}: {(place / 'prepared.tar.xz').stat().st_size / 2**20:.1f} MiB")


# The IE test: SNLI, resampled


def ie_cells(data: Path, place: Path, rows: int) -> None:
    """A training for each rho and run on SNLI, drawn as `otherwords paper ie-test` does; both versions of the test."""
    folder = place / "snli"
    words = json.loads((data / "veto.json").read_text(encoding="utf-8"))["snli"]
    veto = place / "veto.txt"
    veto.write_text("\n".join(sorted(set(words))) + "\n", encoding="utf-8")
    table, small = str(data / "nli_data.parquet"), {"train_size": rows, "test_size": rows} if rows else {}
    where = {"train": ["dev", "train_not_in_sample"], "test": ["test"]}
    parts = {part: {"data": [table], "where": {"dataset": ["snli"], "split": some}} for part, some in where.items()}
    prepare_data("snli", IEData(**parts, valid=0.05, **small), f"wordnet-ie(veto={veto})", 1, folder)
    trainer = read_recipe(RECIPES / "ie-test" / "minilm.toml", data=["x"])[1]
    for rho in RHO:
        for run in RUNS:
            drawn = {part: _resampled(folder, part, rho, run) for part in ("train", "valid")}
            counts = {f"{part}_changed": int(frame["changed"].sum()) for part, frame in drawn.items()}
            made = {part: _training_rows(frame) for part, frame in drawn.items()}
            _write_cell(
                place / "cells" / f"ie-rho-{rho:.2f}-run-{run}", trainer, TrainingData(NLI, **made), run, counts
            )
    test, variants = (pl.read_parquet(folder / f"test{kind}.parquet") for kind in ("", ".variants"))
    _write_questions(place, "snli", NLI, test.select("id", "label", *NLI.fields))
    changed = variants.select(pl.col("of").alias("id"), "label", *NLI.fields)
    _write_questions(place, "snli-reworded", NLI, changed)


def _resampled(folder: Path, part: str, rho: float, run: int) -> pl.DataFrame:
    rows, variants = (pl.read_parquet(folder / f"{part}{kind}.parquet") for kind in ("", ".variants"))
    return replace_rows(rows, variants, rho, run, NLI)[0]


def _training_rows(frame: pl.DataFrame) -> list[TrainingRow]:
    return [TrainingRow(tuple(texts), label) for *texts, label in frame.select(*NLI.fields, "label").iter_rows()]


def _write_cell(folder: Path, trainer: Bound, data: TrainingData, seed: int, counts: dict[str, int]) -> None:
    begin(folder, describe_training(trainer, data, seed))
    trainer.function.prepare(data, folder, seed)
    (folder / "data" / "counts.json").write_text(json.dumps(counts), encoding="utf-8")


# Defeasible inference: the development sets, asked about ParaNLU's buckets


def d_nli_cells(shared: Path, place: Path, rows: int) -> None:
    """A training for each share, input and seed on the development sets; ParaNLU's originals and paraphrases.

    The test sets are asked, too: a model's corrected values (A~, P~_C) weigh deciles by its answers there.
    """
    table = pl.read_parquet(shared / "defeasible" / "defeasible_dev_test.parquet")
    usable = table.filter(~pl.col("impossible"), pl.col("update").fill_null("").str.strip_chars() != "")
    names = ("premise", "hypothesis", "update", pl.col("update_type").alias("label"))
    for source in ("snli", "atomic"):
        chosen = usable.filter(split="dev", source=source).select(*names)
        (chosen.head(rows) if rows else chosen).write_ndjson(place / f"defeasible-{source}-dev.jsonl")
    asked = _buckets(shared / "paranlu", rows)
    asked.select("premise", "hypothesis", "update", "label").write_ndjson(place / "paranlu.jsonl")
    recipe = tomllib.loads((RECIPES / "paranlu" / "minilm-defeasible.toml").read_text(encoding="utf-8"))
    recipe |= {"data": [str(place / f"defeasible-{source}-dev.jsonl") for source in ("snli", "atomic")]}
    recipe |= {"without": [str(place / "paranlu.jsonl")]}
    for name, fields in INPUTS.items():
        for share in SHARES:
            for seed in RUNS:
                folder = place / "cells" / f"d-nli-{name}-{round(100 * share):03d}-seed-{seed}"
                train({**recipe, "fields": fields, "share": share, "seed": seed}, out=folder, prepare_only=True)
    _write_questions(place, "paranlu", D_NLI, asked.rename({"variant": "id"}))
    test = usable.filter(split="test").with_row_index("id").select(pl.col("id").cast(pl.String), "source", *names)
    _write_questions(place, "d-nli-test", D_NLI, test.head(rows) if rows else test)


def _buckets(folder: Path, rows: int) -> pl.DataFrame:
    """The originals and the published paraphrases of d-NLI, a row each; an original's `variant` is its bucket."""
    problems = pl.read_parquet(folder / "problems.parquet").filter(pl.col("split").str.starts_with("d-"))
    names = {"context1": "premise", "context2": "hypothesis", "target1": "update", "label_name": "label"}
    originals = (
        problems.drop("label")
        .rename(names)
        .with_columns(pl.col("premise").fill_null(""), pl.col("bucket_id").alias("variant"))
    )
    main = pl.read_parquet(folder / "paraphrases.parquet").filter(pl.col("collection") == "main")
    context = originals.select("bucket_id", "premise", "hypothesis", "label", "split")
    joined = main.select("bucket_id", "paraphrase_id", "target1", "pos").join(context, on="bucket_id")
    variants = joined.rename({"target1": "update"}).with_columns(
        pl.format("{}#{}", pl.col("bucket_id"), pl.col("pos")).alias("variant")
    )
    columns = ("split", "bucket_id", "variant", "premise", "hypothesis", "update", "label")
    both = pl.concat([originals.select(columns), variants.select(columns)])
    return both.head(rows) if rows else both


def _write_questions(place: Path, name: str, task: Task, frame: pl.DataFrame) -> None:
    columns = {field: frame[field].fill_null("").to_list() for field in task.fields}
    about = {"fields": list(task.fields), "labels": list(task.labels), "columns": columns}
    (place / "questions" / f"{name}.json").write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")
    frame.drop(task.fields).write_parquet(place / f"{name}.ids.parquet")


# What came back


def collect(place: Path, results: Path, out: Path) -> None:
    """Make tables of what `gpu_training` wrote: `answers-*.parquet`, `matched.parquet` and `cells.csv`."""
    out.mkdir(parents=True, exist_ok=True)
    found = np.load(results / "predictions.npz")
    cells = {cell["cell"]: cell for cell in json.loads((results / "cells.json").read_text(encoding="utf-8"))}
    matched = list(_matched(place, found, cells))
    if matched:
        pl.concat(matched).write_parquet(out / "matched.parquet", compression="zstd")
    for name, table in {"paranlu": _paranlu, "d-nli-test": _d_nli_test}.items():
        keys = [key for key in found.files if key.endswith(f"/{name}")]
        if d_nli := [table(place, found[key], key.partition("/")[0]) for key in keys]:
            pl.concat(d_nli).write_parquet(out / f"answers-{name}.parquet", compression="zstd")
    rows = [
        {name: value for name, value in cell.items() if not isinstance(value, (list, dict))} for cell in cells.values()
    ]
    pl.DataFrame(rows, infer_schema_length=None).sort("cell").write_csv(out / "cells.csv")


def _matched(place: Path, found: Any, cells: dict[str, Any]) -> Iterator[pl.DataFrame]:
    ids, changed = (pl.read_parquet(place / f"snli{kind}.ids.parquet") for kind in ("", "-reworded"))
    for name in (name for name in cells if name.startswith("ie-") and f"{name}/snli" in found.files):
        before, after = (_labels(found[f"{name}/{which}"], NLI) for which in ("snli", "snli-reworded"))
        _, _, rho, _, run = name.split("-")
        new = changed.select("id", pl.Series("after", after), pl.lit(True).alias("changed"))
        frame = ids.select("id", pl.col("label").alias("gold"), pl.Series("before", before))
        whole = frame.join(new, on="id", how="left").with_columns(
            pl.coalesce("after", "before").alias("after"), pl.col("changed").fill_null(False)
        )
        first = (pl.lit("snli").alias("dataset"), pl.lit("minilm").alias("model"), pl.lit(float(rho)).alias("rho"))
        yield whole.select(*first, pl.lit(int(run)).alias("run"), pl.all())


def _paranlu(place: Path, p: Any, name: str) -> pl.DataFrame:
    """An ordinary table of answers; its models are named by input, share and seed."""
    ids = pl.read_parquet(place / "paranlu.ids.parquet")
    variant = pl.when(pl.col("id") == pl.col("bucket_id")).then(None).otherwise("id").alias("variant")
    first = (pl.lit(name).alias("model"), pl.col("bucket_id").alias("bucket"), variant)
    return ids.select(*first, pl.col("label").alias("gold"), *_answers(p), "split")


def _d_nli_test(place: Path, p: Any, name: str) -> pl.DataFrame:
    """Answers to the test sets of defeasible inference, a bucket each."""
    ids = pl.read_parquet(place / "d-nli-test.ids.parquet")
    first = (pl.lit(name).alias("model"), pl.col("id").alias("bucket"), pl.lit(None, pl.String).alias("variant"))
    return ids.select(*first, pl.col("label").alias("gold"), *_answers(p), "source")


def _answers(p: Any) -> list[pl.Series]:
    return [
        pl.Series("pred", _labels(p, D_NLI)),
        *(pl.Series(f"p:{label}", p[:, column]) for column, label in enumerate(D_NLI.labels)),
    ]


def _labels(p: Any, task: Task) -> list[str]:
    return [task.labels[column] for column in p.argmax(axis=1)]


def main() -> None:
    """Prepare or collect."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ways = parser.add_subparsers(dest="way", required=True)
    first = ways.add_parser("prepare")
    first.add_argument("shared", type=Path)
    first.add_argument("place", type=Path)
    first.add_argument("--rows", type=int, default=0)
    second = ways.add_parser("collect")
    for name in ("place", "results", "out"):
        second.add_argument(name, type=Path)
    given = vars(parser.parse_args())
    {"prepare": prepare, "collect": collect}[given.pop("way")](**given)


if __name__ == "__main__":
    main()
