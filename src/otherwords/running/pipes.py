"""The stages from file to file, as commands and shell pipes use them: read and check all input, then work."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from ..datasets.source import Source
from ..errors import BadInput
from ..models.answering import run_canary
from ..models.cache import Cache, default_path
from ..progress import current
from ..storage import tables
from ..storage.files import write_text
from ..storage.run_folder import RunFolder, read_part
from ..validity.checking import refuse_duplicate_names, refuse_unfit, warn_replaced_verdicts, warn_unknown_ids
from ..validity.funnel import Funnel, funnel, scans
from ..validity.mutual_entailment import Counts
from . import stages, varying
from .engines import InProcess


@dataclass
class Summary:
    """What a command did: rows written, counts along the way, where rejected rows went."""

    rows: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    rejected: Path | None = None
    funnel: Funnel | None = None
    unvaried: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, dict[str, int]] = field(default_factory=dict)
    self_judged: dict[str, Counts] = field(default_factory=dict)


def vary_files(
    source: Source,
    out: str,
    using: Sequence[str],
    *,
    seed: int = 1,
    suite: bool = False,
    unvaried: str = "",
    notes: str = "",
    save_table: str = "",
    shard: int = stages.SHARD,
) -> Summary:
    """Write the variants of all problems; with `suite`, each original before its variants.

    `unvaried` names a file for the problems that a generator made nothing of, `notes` one for what generators left out
    and why, `save_table` one for the table of the generator that had to see all texts first.
    """
    stages.forget()
    for path in (unvaried, notes):
        tables.refuse_unwritable(path)
    _refuse_same(out=out, unvaried=unvaried, notes=notes, save_table=save_table)
    with _taken_in(source, out, shard, generators=using) as (folder, summary, shards):
        specs = varying.prepare(folder, using, source.chosen, summary.counts["rows"])
        if save_table:
            _save_table(folder, Path(save_table))
        jobs = [stages.Job(str(folder.path), i, source.chosen, tuple(specs), seed) for i in shards]
        counts = stages.run_stage(InProcess(), "variants", jobs, summary.counts["originals"] * len(specs))
        left = varying.list_unvaried(folder, specs, unvaried)
        summary.counts["unvaried"], summary.unvaried = left.problems, left.by_generator
        summary.left_out = left.left_out
        if notes:
            tables.write([folder.read("notes")], notes)
        stage = "buckets" if suite else "variants"
        if suite:
            stages.run_stage(InProcess(), stage, [stages.Job(str(folder.path), i, source.chosen) for i in shards])
        summary.counts["variants"] = sum(counts)
        summary.rows = tables.write(_frames(folder, stage), out)
    return summary


def _refuse_same(**paths: str) -> None:
    """Complain of two outputs in one file, of which only the later would stay."""
    seen: dict[Path, str] = {}
    for name, path in paths.items():
        if path and (other := seen.setdefault(Path(path).resolve(), name)) != name:
            fix = "name a file of its own for each"
            raise BadInput(f"is named for {other} and for {name}", where=path, fix=fix)


def _save_table(folder: RunFolder, path: Path) -> None:
    tables = varying.tables_of(folder)
    if len(tables) != 1:
        fix = "use it with one generator that learns from the corpus, such as wordnet-ie, without table="
        raise BadInput(f"there are {len(tables)} tables to save", where=str(path), fix=fix)
    write_text(path, tables[0].read_text(encoding="utf-8"))


def check_files(source: Source, out: str, using: Sequence[str], *, shard: int = stages.SHARD) -> Summary:
    """Write the suite with the verdict of each check beside every variant."""
    stages.forget()
    with _taken_in(source, out, shard, checks=using) as (folder, summary, shards):
        jobs = [stages.Job(str(folder.path), i, source.chosen, tuple(using)) for i in shards]
        counts = stages.run_stage(InProcess(), "buckets", jobs, summary.counts["rows"])
        summary.counts["dropped"] = sum(counts) - stages.asked(folder)
        summary.funnel = funnel(*scans(folder.parts("buckets")))
        judges = [stages.made("checks", name) for name in using]
        warn_replaced_verdicts(judges, scans(folder.parts("problems")))
        warn_unknown_ids(judges, folder.parts("buckets"))
        summary.rows = tables.write(_frames(folder, "buckets"), out)
    return summary


def answer_files(
    source: Source,
    out: str,
    models: Sequence[str],
    *,
    label_map: Mapping[str, str] | None = None,
    canary: bool = True,
    cache: str | None = "",
    batch_size: int = 0,
    shard: int = stages.SHARD,
) -> Summary:
    """Write one answer per row and model; rows that a check dropped are not asked."""
    mapping = tuple(sorted((label_map or {}).items()))
    stages.forget()
    stages.refuse_wrong_models(models)
    with _taken_in(source, out, shard) as (folder, summary, shards):
        stages.run_stage(InProcess(), "buckets", [stages.Job(str(folder.path), i, source.chosen) for i in shards])
        total = stages.asked(folder)
        summary.counts["dropped"] = summary.counts["rows"] - total
        with Cache(None if cache is None else cache or default_path()) as store:
            for spec in models:
                if canary:
                    run_canary(stages.answerer(spec, source.chosen, mapping), store)
                jobs = [
                    stages.Job(str(folder.path), i, source.chosen, (spec,), 1, mapping, str(store.path), batch_size)
                    for i in shards
                ]
                stages.run_stage(InProcess(), "answers", jobs, total)
                model = stages.answerer(spec, source.chosen, mapping)
                stages.warn_truncated_parts(folder, model)
                summary.self_judged[model.name] = stages.self_judged(folder, model)
        summary.rows = tables.write(_frames(folder, "answers"), out)
    return summary


@contextmanager
def _taken_in(
    source: Source, out: str, shard: int, **using: Sequence[str]
) -> Iterator[tuple[RunFolder, Summary, range]]:
    """Spool the checked input to disk: nothing is done, let alone written, before all of it is known to be good."""
    tables.refuse_unwritable(out)
    for kind, names in using.items():
        for name in names:
            stages.made(kind, name)  # a wrong name is told now, not after a long input
    judges = [stages.made("checks", name) for name in using.get("checks", ())]
    refuse_duplicate_names(judges)
    refuse_unfit(judges, source.chosen)
    beside = Path() if out == "-" else Path(out).parent
    with tempfile.TemporaryDirectory(prefix="otherwords-") as place:
        folder = RunFolder(place)
        current().start("problems")
        with source.rejected_to(beside):
            noted: dict[str, Any] = stages.take_in(source, folder, shard)
        current().done()
        summary = Summary(counts={name: noted[name] for name in ("rows", "originals", "no_majority", "rejected")})
        yield folder, summary, range(noted["shards"])
    if source.intake.rejected:
        summary.rejected = source.write_rejected(beside)


def _frames(folder: RunFolder, stage: str) -> Iterable[pl.DataFrame]:
    return map(read_part, folder.parts(stage))
