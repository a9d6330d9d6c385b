"""What is found out before a study works: where its data are, whether its models fit and its metrics can measure."""

import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from .. import pipeline
from ..answers.groups import group_names
from ..answers.looked_up import check_files, is_looked_up
from ..datasets.source import MEMORY, Source, files_of, find
from ..datasets.suite import open_source
from ..errors import BadInput, OtherwordsError, UnknownName, Unmeasurable, caller_level
from ..frames import LABEL_MASS, TEMPLATE, is_unmarked, kept
from ..metrics.metric import as_metric
from ..models.answering import ask, run_canary
from ..models.cache import Cache
from ..models.canary import canary_batch
from ..models.model import Answerer
from ..models.repeating import repeats_of, warn_asked_once, warn_not_repeated, warn_remembered
from ..problem import AGAIN, Repeat, Task
from ..progress import Progress, current, reporting_to
from ..registry import Bound, checks, generators, metrics, models
from ..scoring.requirements import conditions, refuse_absent_group, ungrouped
from ..scoring.select import need_texts
from ..storage import tables
from ..storage.files import RUN_FILES, STAGES, fingerprint, refuse_overwriting
from ..storage.run_folder import RunFolder
from ..storage.specs import split_name
from ..variants.generating import BATCH, as_generator
from . import stages
from .study import Study

#: Problems of each role on which the scoring is rehearsed.
_SAMPLE = 12


#: Settings that decide what is read: with any of them changed, the data are read again.
_READING = ("data", "task", "columns", "labels", "skip_bad")


@dataclass(frozen=True)
class OpenedData:
    """The data of a study, and what the manifest says of them; `before` is the run folder in which they were read.

    That is None where the data themselves are there, which are then read, or known to be unchanged.
    """

    source: Source
    inputs: list[dict[str, Any]]
    before: Path | None = None


def open_data(study: Study, earlier: RunFolder | None, changes: Mapping[str, Any]) -> OpenedData:
    """Open the data of a study. Where those of an earlier run are not here, its `problems/` stand for them."""
    if earlier is None or any(name in changes for name in _READING) or not (missing := _missing(study)):
        stage = "problems" if study.vary else "buckets"
        names = (study.columns, study.labels, study.skip_bad)
        source = open_source(study.tables, study.task, *names, stage=stage, marked=True)
        inputs = [_about(bound) for bound in source.bound]
        if earlier and not any(name in changes for name in _READING) and _differ(inputs, earlier):
            message = f"{earlier.path}: the data have changed since they were read, and are read again"
            warnings.warn(message, stacklevel=caller_level())
        return OpenedData(source, inputs)
    manifest = earlier.manifest
    intake = manifest.get("intake", {})
    if "task" not in manifest or not intake or len(earlier.parts("problems")) != intake.get("shards"):
        fix = "give it with --data, or run where it is"
        raise BadInput(f"{missing[0]} is not here, and problems/ is not whole", where=str(earlier.path), fix=fix)
    warnings.warn(
        f"{earlier.path}: {missing[0]} is not here: continuing with problems/, as they were read",
        stacklevel=caller_level(),
    )
    source = Source([str(earlier.path / "problems")], manifest["task"])
    return OpenedData(source, manifest.get("inputs", []), earlier.path)


def _differ(inputs: list[dict[str, Any]], earlier: RunFolder) -> bool:
    before = earlier.manifest.get("inputs")
    return before is not None and before != inputs


def _missing(study: Study) -> list[str]:
    names = [name for name in study.tables if isinstance(name, str) and not _is_here(name)]
    return ["standard input" if name == "-" else "a table" if name.startswith(MEMORY) else name for name in names]


def _is_here(name: str) -> bool:
    """Whether data can be read again: neither piped, nor a table of a process that has ended, nor files elsewhere."""
    if name == "-" or name.startswith(MEMORY):
        return False
    try:
        return all(file.exists() for file in find(name).function.files)
    except (OtherwordsError, OSError):
        return False


def _about(bound: Bound) -> dict[str, Any]:
    files = [path for path in bound.function.files if path.exists()]
    listed = [{"name": f.name, "sha256": fingerprint(f), "bytes": f.stat().st_size} for f in files]
    return {"signature": bound.signature, "files": listed}


def files_read(names: Iterable[Any], study: Study) -> list[str | Path]:
    """All files and folders that a study reads: its data, and what its plug-ins name."""
    kinds = ((generators, study.vary), (checks, study.check), (metrics, study.metrics), (models, study.asked))
    return [*files_of(list(names)), *(file for kind, specs in kinds for one in specs for file in kind.files(one))]


def refuse_own_files(study: Study, opened: OpenedData, folder: RunFolder) -> None:
    """Refuse a run folder that is read as data, or lies in data; and data that the run would replace."""
    inputs = files_read(study.tables, study)
    refuse_overwriting(folder.path, *inputs)
    if opened.before:
        return
    own = [Path(os.path.realpath(folder.path / name)) for name in (*STAGES, *RUN_FILES)]
    for one in inputs:
        place = Path(os.path.realpath(one))  # not resolve(), which raises where links go round in a circle
        if any(part in own for part in (place, *place.parents)):
            fix = "choose another folder with -o, or copy it first"
            raise BadInput(f"belongs to the run folder {folder.path}, which is written", where=str(one), fix=fix)


class Gives(NamedTuple):
    """What there will be of a model besides labels: probabilities, label mass, answers to what is asked again.

    `columns` have one value throughout, such as its template.
    """

    probabilities: bool
    label_mass: bool
    repeats: Sequence[Repeat]
    columns: Mapping[str, str]


def ready_models(study: Study, load: Callable[[str], Answerer], cache: Cache) -> dict[str, Gives]:
    """Load every model and put it to the canary, one after the other; say what each of them will give.

    The last comes first, so that the first is still loaded when the answering begins.
    """
    gives: dict[str, Gives] = {}
    not_repeated: list[str] = []
    current().start("models", len(study.asked))
    for spec in reversed(study.asked):
        model = load(spec)
        again = repeats_of(model, study.repeats, study.repeat_ways)
        if study.repeats and not again:
            not_repeated.insert(0, model.name)
        warn_remembered(model, again)
        if study.canary:
            run_canary(model, cache)
        gives[model.name] = Gives(*_gives(model, cache, study.canary), again, model.model.columns)
        del model  # before the next is loaded
        current().advance(1)
    current().done()
    warn_not_repeated(not_repeated)
    warn_asked_once({name: one.repeats for name, one in reversed(gives.items())})
    return dict(reversed(gives.items()))


def _gives(model: Answerer, cache: Cache, canary: bool) -> tuple[bool, bool]:
    """Whether a model gives probabilities and label mass, as its stored answers to the canary show.

    Where there are none, it may: any model probabilities, and one that is asked by a template label mass.
    """
    batch = canary_batch(model.task)
    if not canary or not len(batch):
        return True, TEMPLATE in model.model.columns
    answers = list(ask(batch.columns, model, cache))
    return any(one.p is not None for one in answers), any(one.mass is not None for one in answers)


def refuse_wrong_groups(
    study: Study, folder: RunFolder, task: Task, checks: Sequence[Bound], stage: str = "problems"
) -> None:
    """Refuse a column to group by that neither the data has, nor a stage writes, nor a generator adds."""
    known = set(folder.scan(stage).collect_schema()) | {"model", "bucket", "variant", "gold", "pred"}
    known |= {f"check:{one.name}{end}" for one in checks for end in ("", ":reason", ":score")}
    known -= {"id", "of", *task.fields}  # answers have none of them
    known |= {"label", "original"}  # derived from the answers: the right one, and whether the original's was right
    check_files(study.grouped, [split_name(spec)[0] for spec in study.asked])
    unknown = [name for name in study.grouped if name not in known and not is_looked_up(name)]
    if unknown and study.vary and stage == "problems":
        added = _added_columns(study, folder, task)
        unknown = [] if added is None else [name for name in unknown if name not in added]
        known |= added or set()
    if unknown:
        raise UnknownName(f"no column {unknown[0]!r} to group by; available: {', '.join(sorted(known))}")


def _added_columns(study: Study, folder: RunFolder, task: Task) -> set[str] | None:
    """The columns of variants of the first problems; None where a generator made none, so that it is not known yet."""
    found = folder.scan("problems")
    first = found.filter(pl.col("of").is_null(), is_unmarked(found.collect_schema(), "contrast")).head(BATCH).collect()
    columns: set[str] = set()
    for spec in study.vary:
        with warnings.catch_warnings(), reporting_to(Progress()):
            warnings.simplefilter("ignore")  # they come when all problems are varied
            variants = pipeline.varied(first, [spec], task, study.seed)[0] if first.height else first
        if not variants.height:
            return None
        columns |= set(variants.columns)
    return columns - {"id", "of", "label", *task.fields}


def refuse_unmeasurable(study: Study, folder: RunFolder, task: Task, gives: dict[str, Gives]) -> None:
    """Refuse metrics that are asked for by name, and gates, for which the answers will lack something.

    The scoring is rehearsed on the first problems, with invented answers: with probabilities where the models give
    them, contrasts where the data has them, controls where the data or a generator has them.
    """
    if not study.metrics and not study.require:
        return
    _refuse_absent_groups(study, folder, task, list(gives))
    named = [*study.metrics, *(one.metric for one in conditions(study.require))]
    for file in (file for name in named for file in metrics.files(name) if not file.exists()):
        raise BadInput("no such file", where=str(file), fix="name a file of metrics that exists")
    rehearsed = [name for name in study.metrics if name == "all" or not _names_suite(name)]
    gates = [gate for gate in ungrouped(study.require) if not _names_suite(gate)]
    for name in study.metrics:
        if name not in rehearsed:
            _refuse_other_suite(name, study, folder, task)
    table = _rehearsal(study, folder, task, gives, need_texts(named))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if rehearsed or not study.metrics or gates:
                pipeline.score(table, rehearsed, task=task, replicates=2, require=gates)
        except Unmeasurable:
            raise
        except BadInput:  # of the invented answers, which the real ones need not be like
            return


def _refuse_absent_groups(study: Study, folder: RunFolder, task: Task, models: Sequence[str]) -> None:
    """Refuse gates on models and groups that there will not be; what a generator adds is known only later."""
    found = folder.scan("problems")
    made = [stages.make_cached("generators", spec) for spec in study.vary]
    for one in conditions(study.require):
        if one.model and one.model not in models:
            raise UnknownName(f"cannot require {one.gate!r}: no model {one.model!r}; available: {', '.join(models)}")
        there = {
            "label": [f"label={label}" for label in task.labels],
            "original": ["original=right", "original=wrong"],
            "how": [f"how={bound.title}" for bound in made],
            "control": [f"control={bound.plugin.name}" for bound in made if as_generator(bound.function).control],
        }.get(one.column, [])
        if one.column in found.collect_schema():
            there += group_names(found.select(one.column).unique().collect(), one.column)
        if there and one.group:
            refuse_absent_group(one, list(dict.fromkeys(there)))


def _names_suite(name: str) -> bool:
    """Whether a metric, or that of a gate, reads its texts from a suite of its own, which has no invented rows."""
    plain = re.split(r"[(:.<>\[]", name)[0]
    return metrics.has(plain) and "suite" in metrics.get(plain).options() and "suite" in name


def _refuse_other_suite(name: str, study: Study, folder: RunFolder, task: Task) -> None:
    """Refuse a suite that lacks the first problems, or has none of the variants that will be made of them."""
    [path] = [file for file in metrics.files(name) if file.exists()]
    suite = tables.read(path)
    ids = set(suite["id"].cast(pl.String)) if "id" in suite.columns else set()
    first = folder.scan("problems").head(_SAMPLE).collect()
    absent = [one for one in first["id"] if one not in ids]
    originals = first.filter(pl.col("of").is_null(), is_unmarked(first.collect_schema(), "contrast"))
    if not absent and study.vary and originals.height:
        with warnings.catch_warnings(), reporting_to(Progress()):
            warnings.simplefilter("ignore")  # they come when all problems are varied
            made = pipeline.varied(originals, study.vary, task, study.seed)[0]["id"].to_list()
        absent = made if made and not ids.intersection(made) else []
    if absent:
        fix = "leave suite= out: a run measures the texts of its own problems and variants"
        raise Unmeasurable(f"{path} has no row {absent[0]!r}", where=name, field="suite", fix=fix)


def all_need_variants(study: Study) -> bool:
    """Whether all metrics of a study are about variants alone, so that without any there is nothing to measure."""
    if not study.metrics or "all" in study.metrics:
        return False
    chosen = [as_metric(stages.make_cached("metrics", name).function) for name in study.metrics]
    return all(one.uses in ("variants", "contrasts", "controls") for one in chosen)


def count_variants(folder: RunFolder) -> int:
    """How many variants there are that no check dropped."""
    return int(kept(folder.scan("buckets")).select(pl.col("of").count()).collect().item())


def _rehearsal(study: Study, folder: RunFolder, task: Task, gives: dict[str, Gives], texts: bool) -> pl.DataFrame:
    """Answers that nobody gave, to problems of each role, each with two rewordings and with the controls there are."""
    found = folder.scan("problems")
    columns = found.collect_schema()
    marked = [~is_unmarked(columns, mark) for mark in ("contrast", "control") if mark in columns]
    samples = [found.filter(one).head(_SAMPLE) for one in (is_unmarked(columns, "contrast", "control"), *marked)]
    rows = pl.concat(samples).collect()
    near = found.filter(pl.col("id").is_in(rows["of"].drop_nulls().implode())).collect()
    rows = pl.concat([rows, near]).unique("id", maintain_order=True)
    originals = rows.filter(pl.col("of").is_null(), is_unmarked(columns, "contrast"))
    made = [rows, *(_restated(originals, f"~rehearsed.{number}") for number in (1, 2) if _has_rewordings(study, rows))]
    for spec in study.vary:
        bound = stages.make_cached("generators", spec)
        if as_generator(bound.function).control:
            made.append(_restated(originals, f"~{bound.plugin.name}", control=bound.plugin.name))
    suite = pl.concat(made, how="diagonal_relaxed")
    return pl.concat([_invented(suite, name, task, one, texts) for name, one in gives.items()], how="diagonal_relaxed")


def _has_rewordings(study: Study, rows: pl.DataFrame) -> bool:
    generators = [as_generator(stages.make_cached("generators", spec).function) for spec in study.vary]
    return any(not one.control for one in generators) or not generators


def _restated(originals: pl.DataFrame, end: str, **marks: str) -> pl.DataFrame:
    columns = [pl.lit(value).alias(name) for name, value in marks.items()]
    return originals.with_columns(pl.col("id").alias("of"), pl.col("id") + end, *columns)


def _invented(suite: pl.DataFrame, model: str, task: Task, gives: Gives, texts: bool) -> pl.DataFrame:
    count, labels = suite.height, task.labels
    given = {"pred": [labels[row % len(labels)] for row in range(count)]}
    given |= {one.column: given["pred"] for one in gives.repeats}
    given |= {name: [value] * count for name, value in gives.columns.items()}
    stated = labels if gives.probabilities else ()
    shares = {f"p:{label}": [float(pred == label) for pred in given["pred"]] for label in stated}
    shares |= {LABEL_MASS: [1.0] * count} if gives.label_mass else {}
    head = suite.select(
        pl.lit(model).alias("model"),
        pl.coalesce("of", "id").alias("bucket"),
        pl.when(pl.col("of").is_not_null()).then("id").alias("variant"),
        pl.col("label").alias("gold"),
    )
    others = suite.drop("id", "of", "label", *(() if texts else task.fields)).drop(
        f"^p:.*|{AGAIN}.*$", LABEL_MASS, *given, strict=False
    )
    return pl.concat([head, pl.DataFrame({**given, **shares}), others], how="horizontal")
