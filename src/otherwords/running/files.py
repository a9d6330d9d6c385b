"""The stages from file to file, for commands and shell pipes: the driver on a temporary folder."""

import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from ..datasets.source import Source
from ..errors import BadInput, caller_level
from ..language_models.batch_files import BatchReader, reading_batch, writing_batch
from ..models.answering import all_models
from ..models.model import LabelMap
from ..problem import Task
from ..registry import generators as registered
from ..significance.anytime import plan_asking, refuse_wrong_rule
from ..storage import tables
from ..storage.files import refuse_overwriting, write_text
from ..storage.run_folder import RunFolder, key_of, read_part
from ..validity.funnel import Funnel, funnel, scans
from ..validity.mutual_entailment import Counts
from ..variants.resampling import (
    ResampledCounts,
    first_rewordings,
    refuse_emptied,
    refuse_no_share,
    refuse_variants,
    replace_rows,
    spelled,
)
from .asking import read_kept
from .driver import Driver
from .engines import USUAL, checked, closing, make_engine
from .estimating import estimate_answers, estimate_checks, estimate_variants, rows_without_reply
from .exchange import clear_place
from .pool import Engine
from .readiness import files_read
from .study import Study

#: The stage of a temporary folder with the rewordings that rows may be replaced by.
_REWORDINGS = "rewordings"


@dataclass
class Summary:
    """What a command did: rows written, counts of each stage, and the file of rejected rows."""

    rows: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    rejected: Path | None = None
    funnel: Funnel | None = None
    unvaried: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, dict[str, int]] = field(default_factory=dict)
    self_judged: dict[str, Counts] = field(default_factory=dict)
    answered: dict[str, dict[str, int | bool]] = field(default_factory=dict)
    stopped: dict[str, str] = field(default_factory=dict)
    noise_unknown: list[str] = field(default_factory=list)
    spent: dict[str, dict[str, Any]] = field(default_factory=dict)
    planned: dict[str, dict[str, Any]] | None = None
    batched: int | None = None


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
    shard: int = 0,
    engine: Engine | str = USUAL,
    **limits: Any,
) -> Summary:
    """Write the variants of all problems; with `suite`, each original before its variants.

    `unvaried` names a file for the problems that a generator did not vary, `notes` one for what generators left out
    and why, `save_table` one for the table of the generator that had to see all texts first. The `limits` are those of
    `answer_files`: max_requests, max_cost, prices and dry_run.
    """
    study = _study(source, vary=list(using))
    for path in (unvaried, notes):
        tables.refuse_unwritable(path, *files_read(source.names, study))
    refuse_overwriting(save_table, *files_read(source.names, study))
    _refuse_same(out=out, unvaried=unvaried, notes=notes, save_table=save_table)
    settings = {"vary": list(using), "seed": seed, "shard": shard, "engine": engine, **limits}
    with spooled(source, out, **settings) as (driver, summary):
        if driver.budget.dry_run:
            summary.planned = estimate_variants(driver)
            return summary
        generators = driver.survey()
        if save_table:
            _save_table(driver.folder, Path(save_table))
        driver.vary(generators, unvaried)
        if notes:
            tables.write([driver.folder.read("notes")], notes)
        if suite:
            driver.run_stage("buckets")
        summary.rows = _write(driver.folder, "buckets" if suite else "variants", out)
    return summary


def resample_files(
    source: Source,
    out: str,
    using: Sequence[str],
    rho: Sequence[float],
    *,
    seed: int = 1,
    save_table: str = "",
    shard: int = 0,
    engine: Engine | str = USUAL,
    **limits: Any,
) -> tuple[Summary, dict[float, ResampledCounts]]:
    """Write all problems, each replaced by its rewording with probability rho; for several rho, `out` has {rho} in it.

    The rewordings are made once for all rho, as `vary` makes them by default, so that `seed` is that of the draw alone.
    A file of rewordings (`recorded`) that rewords none of the rows is refused. The `limits` are those of `vary_files`.
    """
    outs = _outputs_by_rho(out, rho)
    study = _study(source, vary=list(using))
    for path in outs.values():
        tables.refuse_unwritable(path, *files_read(source.names, study))
    refuse_overwriting(save_table, *files_read(source.names, study))
    _refuse_same(save_table=save_table, **{f"rho {spelled(one)}": path for one, path in outs.items()})
    counts: dict[float, ResampledCounts] = {}
    first, settings = next(iter(outs.values())), {"vary": list(using), "shard": shard, "engine": engine, **limits}
    with spooled(source, first, **settings) as (driver, summary):
        folder, task = driver.folder, driver.task
        for part in folder.parts("problems"):
            refuse_variants(read_part(part))
        if driver.budget.dry_run:
            summary.planned = estimate_variants(driver)
            return summary, counts
        generators = driver.survey()
        if save_table:
            _save_table(folder, Path(save_table))
        driver.vary(generators)
        if not _find_rewordings(folder, task):
            _refuse_strange_rows(using)
        for one, path in outs.items():
            total = [ResampledCounts()]
            summary.rows += tables.write(_replaced(folder, task, one, seed, total), path)
            counts[one] = total[0]
    return summary, counts


def _find_rewordings(folder: RunFolder, task: Task) -> int:
    """Keep the first rewording of each row, shard by shard, for all rho; return how many rows have one."""
    found = 0
    for number, parts in enumerate(zip(folder.parts("problems"), folder.parts("variants"), strict=True)):
        rows, variants = map(read_part, parts)
        rewordings = first_rewordings(rows, variants, task)
        refuse_emptied(rows, rewordings, task, "the rewordings")
        folder.write(_REWORDINGS, number, "", rewordings)
        found += rewordings.height
    return found


def _refuse_strange_rows(using: Sequence[str]) -> None:
    """Refuse rewordings from a file that are of none of the rows: it is that of other data."""
    for bound in map(registered.make, using):
        if bound.plugin.name == "recorded":
            message, fix = "rewords none of the rows", "give rewordings of these rows: their `of` names an id"
            raise BadInput(message, where=bound.alias or bound.signature, fix=fix)


def _replaced(
    folder: RunFolder, task: Task, rho: float, seed: int, total: list[ResampledCounts]
) -> Iterator[pl.DataFrame]:
    """The problems of all shards after a draw; the first of `total` counts what it did."""
    for problems, rewordings in zip(folder.parts("problems"), folder.parts(_REWORDINGS), strict=True):
        frame, counts = replace_rows(read_part(problems), read_part(rewordings), rho, seed, task)
        total[0] = total[0].plus(counts)
        yield frame


def _outputs_by_rho(out: str, rho: Sequence[float]) -> dict[float, str]:
    """Where the rows of each rho go."""
    values = list(dict.fromkeys(refuse_no_share(one) for one in rho))
    if not values:
        raise BadInput("no rho named", fix="give the probability that a row is replaced: --rho 0.4")
    if len(values) > 1 and "{rho}" not in out:
        fix = "write {rho} where the number goes, as in -o train-{rho}.parquet"
        raise BadInput(f"is one file for {len(values)} values of rho", where=out, fix=fix)
    return {one: out.replace("{rho}", spelled(one)) for one in values}


def check_files(
    source: Source, out: str, using: Sequence[str], *, shard: int = 0, engine: Engine | str = USUAL, **limits: Any
) -> Summary:
    """Write the suite with the verdicts of all checks as columns. The `limits` are those of `vary_files`."""
    with spooled(source, out, check=list(using), shard=shard, engine=engine, **limits) as (driver, summary):
        if driver.budget.dry_run:
            summary.planned = estimate_checks(driver)
            return summary
        driver.check()
        summary.funnel = funnel(*scans(driver.folder.parts("buckets")))
        summary.rows = _write(driver.folder, "buckets", out)
    return summary


def answer_files(
    source: Source,
    out: str,
    models: Sequence[str],
    *,
    label_map: LabelMap | None = None,
    templates: Sequence[str] = (),
    canary: bool = True,
    cache: str | None = "",
    batch_size: int = 0,
    plugins: Sequence[str] = (),
    fresh: bool = False,
    until: str | None = None,
    seed: int = 1,
    confidence: float = 0.95,
    repeats: int = 0,
    repeat_ways: Sequence[str] = (),
    max_requests: int | None = None,
    max_cost: float | None = None,
    prices: str = "",
    dry_run: bool = False,
    batch_out: str = "",
    batch_in: Sequence[str] = (),
    shard: int = 0,
    engine: Engine | str = USUAL,
) -> Summary:
    """Write one answer per row and model. Rows that a check dropped, or that a model rejected itself, are not asked.

    A language model is asked by each of the `templates`. With `until`, each model is asked cluster by cluster until
    that rule is answered; `repeats` asks the same again, in `repeat_ways` (see `otherwords.answer`). Requests to
    servers end at `max_requests` and `max_cost`, by the table `prices`; in a `dry_run` they are counted, and none is
    sent. With `batch_out` they are written to a file instead, those that are not answered yet; `batch_in` names files
    of replies to them, which are stored, and then nothing is sent. Where the source skips bad rows, those without a
    reply of every model are left out, too, and with an original its variants.
    """
    _refuse_wrong_batch(batch_out, batch_in, cache, dry_run)
    if batch_in:
        tables.refuse_unwritable(out, *batch_in)
        if source.skip_bad:
            refuse_overwriting(_folder_of(out) / "rejected.jsonl", *batch_in)
    if until is not None:
        refuse_wrong_rule(until, confidence)
    settings: dict[str, Any] = {
        "models": all_models(models), "label_map": dict(label_map or {}), "templates": list(templates),
        "canary": canary, "cache": cache, "batch_size": batch_size, "plugins": list(plugins),
        "repeats": repeats, "repeat_ways": list(repeat_ways),
        "max_requests": 0 if batch_in else max_requests, "max_cost": max_cost, "prices": prices,
        "shard": shard, "engine": engine, "dry_run": dry_run or bool(batch_out or batch_in),
    }  # fmt: skip
    with spooled(source, out, **settings) as (driver, summary):
        driver.fresh = fresh
        if batch_out:
            summary.batched = _write_batch(driver, batch_out)
            return summary
        lacking = _read_batch(driver, batch_in, until) if batch_in else {}
        if dry_run:
            summary.planned = estimate_answers(driver)
            return summary
        plan = None
        if until is not None:  # before any model is loaded
            suite = driver.folder.read("problems")
            plan = plan_asking(until, suite, driver.task, seed, confidence)
        driver.get_ready()
        driver.check()
        _leave_out(driver, lacking)
        driver.answer(plan)
        summary.rows = _write(driver.folder, "answers", out)
    return summary


def _write_batch(driver: Driver, out: str) -> int:
    """Write the requests that a run would send to a file; return how many there are."""
    with writing_batch(out, *files_read(driver.source.names, driver.study)) as writer:
        driver.budget.batch = writer
        estimate_answers(driver)
    return writer.count


def _read_batch(driver: Driver, files: Sequence[str], until: str | None) -> dict[str, str]:
    """Store the replies in files, so that asking finds them; return the rows without a reply, with the reason."""
    with reading_batch(files) as replies:
        driver.budget.batch = replies
        estimate_answers(driver)
        lacking = _lacking_rows(driver, replies, until)
    driver.start_spending()
    return lacking


def _lacking_rows(driver: Driver, replies: BatchReader, until: str | None) -> dict[str, str]:
    """The rows that a batch has no reply to, with the reason, where they may be left out; else any is an error."""
    source = driver.source
    if replies.is_complete or not source.skip_bad or until is not None:
        replies.refuse_incomplete()
        return {}
    with replies.uncounted():
        lacking = rows_without_reply(driver, replies)
    kept = sum(read_kept(part).height for part in driver.folder.parts("buckets")) - len(lacking)
    if not lacking or not kept:  # what lacks is asked of the canary, or of variants that the model judges
        replies.refuse_incomplete()
    return lacking


def _leave_out(driver: Driver, lacking: Mapping[str, str]) -> None:
    """Leave rows without a reply out of the buckets, and note them as rejected."""
    if not lacking:
        return
    folder = driver.folder
    for number, part in enumerate(folder.parts("buckets")):
        frame = read_part(part)
        folder.write("buckets", number, key_of(part), frame.filter(~pl.col("id").is_in(list(lacking))))
    for name, reason in lacking.items():
        row = {"where": f"row {name!r}", "field": "batch_in", "reason": reason, "row": {"id": name}}
        driver.source.intake.rejected.append(row)
    first, reason = next(iter(lacking.items()))
    message = f"{len(lacking):,} rows without a reply are left out, the first: {first!r} {reason}"
    warnings.warn(message, stacklevel=caller_level())


def _refuse_wrong_batch(out: str, given: Sequence[str], cache: str | None, dry_run: bool) -> None:
    """Refuse options that exclude each other: replies are found again by the cache."""
    if out and given:
        raise BadInput(
            "--batch-out and --batch-in exclude each other", fix="write the requests first, then read the replies"
        )
    if (out or given) and (cache is None or dry_run):
        other = "--dry-run" if dry_run else "--no-cache"
        raise BadInput(f"{'--batch-out' if out else '--batch-in'} excludes {other}", fix=f"leave out {other}")


@contextmanager
def spooled(source: Source, out: str, **settings: Any) -> Iterator[tuple[Driver, Summary]]:
    """Spool the checked input to disk; nothing is written until all of it is valid.

    Gives the driver on a temporary folder, and a summary that is complete after the block. Rejected rows are written to
    the folder of `out`.
    """
    folder = _folder_of(out)
    engine, dry_run = settings.pop("engine", USUAL), settings.pop("dry_run", False)
    study = _study(source, **settings)
    tables.refuse_unwritable(out, *files_read(source.names, study))
    if source.skip_bad:
        refuse_overwriting(folder / "rejected.jsonl", *files_read(source.names, study))
    engine = make_engine(engine) if isinstance(engine, str) else checked(engine)
    with tempfile.TemporaryDirectory(prefix="otherwords-") as place, _clearing(engine), closing(engine):
        driver, summary = Driver(study, source, RunFolder(place), engine, dry_run=dry_run), Summary()
        driver.take_in(folder)
        yield driver, summary
        manifest = driver.folder.manifest
    counts = {**manifest["intake"], **manifest.get("counts", {})}
    summary.counts = {name: count for name, count in counts.items() if isinstance(count, int)}
    for name in ("unvaried", "left_out", "self_judged", "answered", "stopped", "spent"):
        setattr(summary, name, manifest.get(name, {}))
    summary.noise_unknown = manifest.get("noise_unknown", [])
    if source.intake.rejected:
        summary.rejected = source.write_rejected(folder)


def _folder_of(out: str) -> Path:
    """Where rejected rows go."""
    return Path() if out == "-" else Path(out).parent


@contextmanager
def _clearing(engine: Engine) -> Iterator[None]:
    """Leave nothing in the place that workers share: no later command could use it."""
    try:
        yield
    finally:
        clear_place(engine)


def _study(source: Source, **settings: Any) -> Study:
    """A command is a study of one stage; only a whole study must have models, hence no validation."""
    return Study.model_construct(**{"data": list(source.names), "check": [], "models": [], **settings})


def _write(folder: RunFolder, stage: str, out: str) -> int:
    return tables.write(map(read_part, folder.parts(stage)), out)


def _refuse_same(**paths: str) -> None:
    """Refuse two outputs in one file: only the later would remain."""
    seen: dict[str, str] = {}
    for name, path in paths.items():
        if path and (other := seen.setdefault(os.path.realpath(path), name)) != name:
            fix = "give a different file for each"
            raise BadInput(f"is given for both {other} and {name}", where=path, fix=fix)


def _save_table(folder: RunFolder, path: Path) -> None:
    found = sorted((folder.path / "tables").glob("*/*"))
    if len(found) != 1:
        fix = "use exactly one generator that learns from the corpus, such as wordnet-ie, without table="
        raise BadInput(f"found {len(found)} tables to save", where=str(path), fix=fix)
    write_text(path, found[0].read_text(encoding="utf-8"))
