"""The data of an IE experiment: how they are read and drawn, what phi makes of them, and pairs for people to judge.

The driver prepares each data set once, for all cells: its rows, and what phi makes of all of them.
"""

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, field_validator

from ..datasets.intake import IN_FILE
from ..datasets.source import Source, plain_records
from ..errors import BadInput, OtherwordsError, caller_level
from ..pipeline import varied
from ..problem import Task, get_task
from ..progress import current
from ..registry import generators
from ..storage import tables
from ..storage.files import atomic, digest, seed_for, write_json
from ..storage.run_folder import is_whole, read_part
from ..training.data import split_rows
from ..validity.human import count_votes, read_ballots
from ..variants.generating import surveyed, texts_of
from ..variants.resampling import draws, first_rewordings, refuse_emptied
from .data import DataPart, LeftOut, draw_rows, read_rows

#: Written when a data set is ready: its key, its task, and counts of its rows.
PREPARED = "prepared.json"
#: The parts of which pairs are judged.
JUDGED_PARTS = ("train", "test")


class IEData(BaseModel):
    """A data set of the experiment: its three parts, how to read them, and how many rows of it are used.

    `valid` is a part, or a share of the training rows that is split off by premise. `train_size` rows are drawn once,
    before anything is replaced, and so are `test_size`; 0 means all. `generator` is phi, if not the experiment's.
    `verdicts` names tables of verdicts on pairs to be judged, by part, if not those in the folder.
    """

    model_config = ConfigDict(extra="forbid")

    train: DataPart
    test: DataPart
    valid: float | DataPart = 0.1
    train_size: int = Field(0, ge=0, strict=True)
    test_size: int = Field(0, ge=0, strict=True)
    generator: str = ""
    task: str | dict[str, Any] = ""
    columns: dict[str, str] = {}
    labels: dict[str, str] = {}
    verdicts: dict[str, str] = {}

    @field_validator("train", "test", "valid", mode="before")
    @classmethod
    def _parts(cls, value: Any) -> Any:
        return {"data": value} if isinstance(value, str | list) else value

    def source(self, part: DataPart, names: Sequence[str] = ()) -> Source:
        """What a part is read from."""
        named = list(names) or part.data
        return Source(named, self.task, self.columns, self.labels, skip_bad=True, gold="all", options=IN_FILE)

    def signature(self) -> str:
        """A digest of the content of its files, and of how they are read."""
        parts = [part for part in (self.train, self.valid, self.test) if isinstance(part, DataPart)]
        return digest([[self.source(part).signature, part.where] for part in parts])[:16]

    def texts_task(self) -> Task:
        """The task of its problems."""
        return self.source(self.train).chosen


# Preparing: the rows of each part, and phi of them


class Prepared(NamedTuple):
    """What is known of a data set that is ready: its key, its task, how many rows each part has and phi changes.

    `left_out`: rows without a majority label, and with an empty text.
    """

    key: str
    task: Task
    rows: dict[str, int]
    changed: dict[str, int]
    generator: str
    left_out: tuple[int, int]


def prepare_data(name: str, data: IEData, generator: str, seed: int, folder: Path, warn: bool = True) -> Prepared:
    """Read and draw the rows of a data set, apply phi to all of them, and write both; what is there is kept.

    The generator surveys the texts of the whole data set, drawn or not, if it has to see them.
    """
    key = digest(data.signature(), data.model_dump(exclude={"verdicts"}), _signature(generator), seed)[:16]
    if (ready := read_prepared(folder)) and ready.key == key and all(map(is_whole, _parts_of(folder, ready))):
        return ready
    task = data.texts_task()
    left_out: LeftOut = {}
    whole = _whole_parts(name, data, task, seed, left_out)
    sizes = {part: getattr(data, f"{part}_size", 0) for part in whole}
    if warn:
        _warn_fewer(name, whole, sizes)
    drawn = {part: draw_rows(rows, sizes[part], seed) for part, rows in whole.items()}
    spec = surveyed(generator, lambda: _all_texts(whole.values(), task), folder / "tables", key)
    (folder / PREPARED).unlink(missing_ok=True)  # from here on the parts may be of two preparations
    current().start(f"phi {name}", sum(rows.height for rows in drawn.values()))
    where = f"datasets.{name}"
    counts = {part: _write_part(folder, part, rows, spec, task, seed, where) for part, rows in drawn.items()}
    current().done()
    about = {
        "key": key, "task": asdict(task), "rows": {part: rows.height for part, rows in drawn.items()},
        "changed": counts, "generator": _signature(spec),
        "before_drawing": {part: rows.height for part, rows in whole.items()},
        "left_out": [sum(counts) for counts in zip(*left_out.values(), strict=True)],
    }  # fmt: skip
    write_json(folder / PREPARED, about)
    return read_prepared(folder)  # type: ignore[return-value]


def read_prepared(folder: Path) -> Prepared | None:
    """What is known of a data set, if it is ready; a file that cannot be read is as good as none."""
    path = folder / PREPARED
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        counts = found["rows"], found["changed"]
        majority, text = found["left_out"]
        return Prepared(found["key"], get_task(found["task"]), *counts, found["generator"], (majority, text))
    except (ValueError, KeyError, TypeError, OtherwordsError):
        return None


def _parts_of(folder: Path, ready: Prepared) -> Iterator[Path]:
    return (folder / f"{part}{end}.parquet" for part in ready.rows for end in ("", ".variants"))


def _signature(generator: str) -> str:
    return generators.make(generator).signature


def _write_part(folder: Path, part: str, rows: pl.DataFrame, spec: str, task: Task, seed: int, where: str) -> int:
    """Write the rows of a part and what phi makes of them; give the number of rows that it changes."""
    variants = first_rewordings(rows, varied(rows, [spec], task, seed)[0], task)
    refuse_emptied(rows, variants, task, where)
    for name, frame in ((f"{part}.variants.parquet", variants), (f"{part}.parquet", rows)):
        with atomic(folder / name) as draft:
            frame.write_parquet(draft)
    return variants.height


def _whole_parts(name: str, data: IEData, task: Task, seed: int, left_out: LeftOut) -> dict[str, pl.DataFrame]:
    key = f"datasets.{name}"
    train = read_rows(data, data.train, task, f"{key}.train", left_out)
    test = read_rows(data, data.test, task, f"{key}.test", left_out)
    if isinstance(data.valid, DataPart):
        valid = read_rows(data, data.valid, task, f"{key}.valid", left_out)
    elif data.valid == 0:
        valid = train.clear()
    else:
        keys = ["\n".join(text or "" for text in row) for row in train.select(task.cluster).iter_rows()]
        first, second = split_rows(range(train.height), keys, data.valid, seed)
        train, valid = train[first], train[second]
    shared = train.join(test.select(task.fields).unique(), on=task.fields, how="semi", nulls_equal=True).height
    if shared:
        message = f"{name}: {shared:,} of {train.height:,} rows to train on have the texts of a row of the test set"
        warnings.warn(message, stacklevel=caller_level())
    return {"train": train, "valid": valid, "test": test}


def _warn_fewer(name: str, whole: Mapping[str, pl.DataFrame], sizes: Mapping[str, int]) -> None:
    for part, size in sizes.items():
        if size > (there := whole[part].height):
            message = f"{name}: {part} has {there:,} rows, not {size:,}: all are used"
            warnings.warn(message, stacklevel=caller_level())


def _all_texts(frames: Any, task: Task) -> Iterator[str]:
    whole = list(frames)
    current().start("survey", sum(rows.height for rows in whole))
    for rows in whole:
        yield from texts_of(rows, task)
        current().advance(rows.height)
    current().done()


# People's verdicts


def draw_for_judges(folder: Path, dataset: str, task: Task, count: int, seed: int) -> None:
    """Write so many changed pairs of the training and of the test set, with an empty column for the verdict.

    What is there stays: somebody may have filled it in.
    """
    for part in JUDGED_PARTS if count else ():
        path = sheet(folder, dataset, part)
        if path.exists():
            continue
        pairs = changed_pairs(folder / "data" / dataset, part, task)
        order = pl.Series(draws(pairs["id"], seed_for(seed, "judge"))).arg_sort()
        drawn = pairs[order[:count]].drop("of").with_columns(pl.lit(None, pl.String).alias("verdict"))
        tables.write([drawn], path)


def sheet(folder: Path, dataset: str, part: str) -> Path:
    """The table of pairs to be judged."""
    return folder / "to-judge" / f"{dataset}-{part}.csv"


def changed_pairs(data: Path, part: str, task: Task) -> pl.DataFrame:
    """The rows that phi changes: the variant's `id`, `of`, `label`, the texts, and after them those after phi."""
    originals, variants = (read_part(data / f"{part}{end}.parquet") for end in ("", ".variants"))
    after = variants.select("id", "of", *(pl.col(name).alias(f"{name}_after") for name in task.fields))
    before = originals.select(pl.col("id").alias("of"), "label", *task.fields)
    columns = ["id", "of", "label", *(name + end for name in task.fields for end in ("", "_after"))]
    return after.join(before, on="of", how="left", maintain_order="left").select(columns)


def read_judged(folder: Path, dataset: str, files: Mapping[str, str], task: Task) -> pl.DataFrame | None:
    """The pairs that people judged: `split`, `id`, `sound`, and their texts; None where nobody did.

    The verdicts of a part are in the file that is named for it, or were written into what was drawn.
    """
    frames = []
    for part in JUDGED_PARTS:
        path = Path(files.get(part, sheet(folder, dataset, part)))
        if not path.is_file() or not _is_judged(path):
            if part in files:
                raise BadInput("has no verdict", where=str(path), fix="fill in its column verdict, or do not name it")
            continue
        votes = read_ballots(path, "verdict").votes
        pairs = changed_pairs(folder / "data" / dataset, part, task)
        if unknown := sorted(votes.keys() - set(pairs["id"])):
            fix = f"give verdicts on the pairs in {sheet(folder, dataset, part)}"
            raise BadInput(f"{unknown[0]!r} is not a changed pair of {dataset}, {part}", where=str(path), fix=fix)
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
