"""What becomes of the cells of an IE experiment: pairs for people to judge, their verdicts, and the results."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from ..datasets.source import plain_records
from ..errors import BadInput
from ..frames import by_bucket
from ..problem import Task
from ..profiling.profile import Profile, profile
from ..storage import tables
from ..storage.files import seed_for
from ..validity.human import count_votes, read_ballots
from ..variants.resampling import draws
from .ie_cells import Prepared, TrainingCell, matched_rows

if TYPE_CHECKING:
    from .ie_experiment import IESettings
    from .ie_results import IEResults

#: The parts of which pairs are judged.
JUDGED = ("train", "test")
#: Columns of `cells`, in order.
_CELL = {
    "dataset": pl.String, "model": pl.String, "rho": pl.Float64, "run": pl.Int64, "trainer": pl.String,
    "train_rows": pl.Int64, "train_changed": pl.Int64, "valid_rows": pl.Int64, "valid_changed": pl.Int64,
    "test_rows": pl.Int64, "test_changed": pl.Int64, "valid_accuracy": pl.Float64, "collapsed": pl.String,
    "seconds": pl.Float64, "seed": pl.Int64,
}  # fmt: skip


def draw_for_judges(folder: Path, dataset: str, task: Task, count: int, seed: int) -> None:
    """Write so many changed pairs of the training and of the test set, with an empty column for the verdict.

    What is there stays: somebody may have filled it in.
    """
    for part in JUDGED if count else ():
        path = sheet(folder, dataset, part)
        if path.exists():
            continue
        pairs = changed_pairs(folder / "data" / dataset, part, task)
        order = pl.Series(draws(pairs["id"], seed_for(seed, "judge"))).arg_sort()
        drawn = pairs[order[:count]].drop("of").with_columns(pl.lit("").alias("verdict"))
        tables.write([drawn], path)


def sheet(folder: Path, dataset: str, part: str) -> Path:
    """The table of pairs to be judged."""
    return folder / "to-judge" / f"{dataset}-{part}.csv"


def changed_pairs(data: Path, part: str, task: Task) -> pl.DataFrame:
    """The rows that phi changes: the variant's `id`, `of`, `label`, the texts, and after them those after phi."""
    originals, variants = (pl.read_parquet(data / f"{part}{end}.parquet", glob=False) for end in ("", ".variants"))
    after = variants.select("id", "of", *(pl.col(name).alias(f"{name}_after") for name in task.fields))
    before = originals.select(pl.col("id").alias("of"), "label", *task.fields)
    columns = ["id", "of", "label", *(name + end for name in task.fields for end in ("", "_after"))]
    return after.join(before, on="of", how="left", maintain_order="left").select(columns)


def read_judged(folder: Path, settings: "IESettings", dataset: str, task: Task) -> pl.DataFrame | None:
    """The pairs that people judged: `split`, `id`, `sound`, and their texts; None where nobody did."""
    frames = []
    for part in JUDGED:
        path = Path(settings.datasets[dataset].verdicts.get(part, sheet(folder, dataset, part)))
        if not path.is_file() or not _is_judged(path):
            continue
        votes = read_ballots(path, "verdict").votes
        pairs = changed_pairs(folder / "data" / dataset, part, task)
        if unknown := sorted(votes.keys() - set(pairs["id"])):
            fix = f"give verdicts on the pairs in {sheet(folder, dataset, part)}"
            raise BadInput(f"{unknown[0]!r} is no changed pair of {dataset}, {part}", where=str(path), fix=fix)
        sound = {one: count_votes(some, "majority").keep for one, some in votes.items()}
        judged = pairs.filter(pl.col("id").is_in(list(sound)))
        found = judged["id"].replace_strict(sound, return_dtype=pl.Boolean).alias("sound")
        frames.append(judged.select(pl.lit(part).alias("split"), "id", found, pl.exclude("id", "of")))
    return pl.concat(frames) if frames else None


def _is_judged(path: Path) -> bool:
    return any(str(record.row.get("verdict") or "").strip() for record in plain_records(path))


def verdict_counts(judged: pl.DataFrame | None) -> dict[str, tuple[int, int]] | None:
    """How many pairs are sound, and how many were judged, by part."""
    if judged is None:
        return None
    counts = judged.group_by("split").agg(pl.col("sound").sum().alias("sound"), pl.len()).sort("split")
    return {split: (int(sound), int(total)) for split, sound, total in counts.iter_rows()}


def cells_table(found: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """What all cells say of themselves, a row each."""
    rows = [{name: one.get(name) for name in _CELL} for one in found]
    return pl.DataFrame(rows, schema=_CELL, orient="row")


def matched_table(cells: Sequence[TrainingCell]) -> pl.LazyFrame:
    """The matched samples of all cells, read when they are collected."""
    return pl.concat([matched_rows(cell) for cell in cells])


def analyse(
    folder: Path,
    settings: "IESettings",
    data: Mapping[str, Prepared],
    cells: Sequence[TrainingCell],
    found: Sequence[Mapping[str, Any]],
) -> "IEResults":
    """Make all tests, tables and figures, and write them to `results/`."""
    from .ie_figures import write
    from .ie_results import ResultSettings, results

    judged = {name: read_judged(folder, settings, name, one.task) for name, one in data.items()}
    known = ResultSettings(
        alpha=settings.alpha,
        replicates=settings.replicates,
        margin=settings.margin,
        seed=settings.seed,
        baseline=settings.baseline,
        sound={name: verdict_counts(one) for name, one in judged.items()},
        judged={name: one for name, one in judged.items() if one is not None},
        texts={name: _test_texts(folder / "data" / name, one.task) for name, one in data.items()},
        profiles=dict(_profiles(folder, data)),
    )
    made = results(cells_table(found), matched_table(cells), known)
    write(made, folder / "results")
    return made


def _test_texts(data: Path, task: Task) -> pl.DataFrame:
    """The wordings of the test set, before and after."""
    rows = pl.read_parquet(data / "test.parquet", glob=False).select("id", *task.fields)
    after = changed_pairs(data, "test", task).select(
        pl.col("of").alias("id"), *(f"{name}_after" for name in task.fields)
    )
    joined = rows.join(after, on="id", how="left", maintain_order="left")
    return joined.with_columns(pl.col(f"{name}_after").fill_null(pl.col(name)) for name in task.fields)


def _profiles(folder: Path, data: Mapping[str, Prepared]) -> Iterator[tuple[str, Profile]]:
    """What phi does to the training sets."""
    for name, one in data.items():
        place, main = folder / "data" / name, ["id", "of", "how", *one.task.fields, "label", "cluster"]
        frames = [pl.read_parquet(place / f"train{end}.parquet", glob=False).select(main) for end in ("", ".variants")]
        yield name, profile(by_bucket(pl.concat(frames, how="vertical_relaxed")), one.task)
