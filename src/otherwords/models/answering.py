"""Asking a model: each distinct text once, through the answer cache, in batches of similar length."""

import warnings
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl

from ..errors import BadInput, WrongAnswer, caller_level
from ..problem import Batch, Task, label_key
from ..registry import models
from ..storage.files import digest
from ..storage.specs import split_name
from .cache import Cache, Cached, key
from .canary import canary_batch, refuse_permuted
from .model import AnswerCount, Answerer, LabelMap, as_model, label_map_of, label_map_suffix, with_merged
from .python_callable import AnyModel, as_spec

Progress = Callable[[int], None]
#: The column that marks answers to truncated problems.
TRUNCATED = "truncated"


def load(spec: AnyModel, task: Task, label_map: LabelMap | None = None, *, fresh: bool = False) -> Answerer:
    """Make a model ready to answer a task: by its name, which may carry a short one (`small=hf:some/model`), or itself.

    `label_map` says what its labels mean; a map of maps is for several models, by name. A `fresh` model uses no
    answers that were stored before. What a function or a Model is called is said in `as_spec`.
    """
    name, spec = split_name(as_spec(spec))
    bound = models.make(spec, task=task)
    model = as_model(bound.function)
    used = with_merged(label_map_of(label_map or {}, name, model.labels), model.labels, task)
    answerer = Answerer(name, bound.signature + label_map_suffix(used), model, task, used, fresh)
    if model.labels:
        answerer.check_labels()  # now, not at the first batch
    return answerer


def refuse_wrong_models(specs: Sequence[str], label_map: LabelMap | None = None) -> None:
    """Refuse, before any is loaded, a model or an option that does not exist, two of one name, a map for none."""
    chosen = [split_name(spec) for spec in specs]
    for _, spec in chosen:
        models.refuse_wrong(spec)
    if len(dict(chosen)) < len(chosen):
        fix = "give each its own name: one=SPEC, two=SPEC; to a function, ow.Model(function, name=...)"
        raise BadInput("two models have the same name", fix=fix)
    names = [name for name, _ in chosen]
    for name, entry in (label_map or {}).items() if specs else ():
        if not isinstance(entry, str) and name not in names:
            raise BadInput(f"no model is named {name!r}", where="label_map", fix=f"use one of {', '.join(names)}")


def ask(
    columns: Mapping[str, Sequence[str]],
    model: Answerer,
    cache: Cache,
    batch_size: int = 0,
    progress: Progress = lambda count: None,
    tally: AnswerCount | None = None,
) -> list[Cached]:
    """Answer every row of texts, in order. `progress` is called with the number of rows that each step has answered.

    `tally` counts the answers, and those that were stored before the model was loaded.
    """
    task, size = model.task, batch_size or model.model.batch_size
    number = cache.model(model.signature, _task_key(task))
    model_key = bytes.fromhex(digest(model.signature, _task_key(task)))
    rows = list(zip(*(columns[name] for name in task.fields), strict=True))
    keys = [key(model_key, row) for row in rows]
    places: dict[bytes, list[int]] = {}
    for place, one in enumerate(keys):
        places.setdefault(one, []).append(place)
    stored = cache.find(list(places))
    if model.fresh:
        stored = {one: found for one, found in stored.items() if found[1] >= model.loaded}
    if model.model.max_length:  # answers of a version that did not store `cut` are asked for again
        stored = {one: found for one, found in stored.items() if found[0].cut is not None}
    if tally:
        tally.answers += len(rows)
        tally.from_cache += sum(len(places[one]) for one, (_, at) in stored.items() if at < model.loaded)
    known = {one: answer for one, (answer, _) in stored.items()}
    progress(sum(len(places[one]) for one in known))
    todo = sorted((one for one in places if one not in known), key=lambda one: (_length(rows[places[one][0]]), one))
    for some in (todo[start : start + size] for start in range(0, len(todo), size)):
        texts = [rows[places[one][0]] for one in some]
        found = model(Batch(task, {name: [text[i] for text in texts] for i, name in enumerate(task.fields)}))
        p = [None] * len(some) if found.p is None else [tuple(row) for row in found.p.tolist()]
        cut = [None] * len(some) if found.cut is None else found.cut.tolist()
        fresh = dict(zip(some, map(Cached, found.pred.tolist(), p, cut), strict=True))
        if model.is_storable():
            cache.put(number, fresh)
        known.update(fresh)
        progress(sum(len(places[one]) for one in some))
    return [known[one] for one in keys]


def answer_table(frame: pl.DataFrame, model: Answerer, answers: Sequence[Cached | None]) -> pl.DataFrame:
    """Join answers to their rows: `model, bucket, variant, gold, pred, p:<label>...` and the other columns of the rows.

    A row with None for an answer was not asked: its `pred` and probabilities are null. Where any text was truncated
    to the length that the model reads, `truncated` says which. Probabilities and `truncated` of the rows are another
    model's, and are kept as `input_p:<label>` and `input_truncated`.
    """
    labels = model.task.labels
    asked = [answer for answer in answers if answer is not None]
    pred = pl.Series([answer.pred for answer in asked], dtype=pl.UInt32)
    given = pl.DataFrame({"pred": pl.Series("pred", labels, dtype=pl.String).gather(pred)})
    p = np.array([answer.p for answer in asked if answer.p is not None])
    if 0 < len(p) < len(asked):
        found = f"{model.name} returned probabilities for {len(p)} of {len(asked)} problems, labels for the rest"
        raise WrongAnswer(f"{found}; return probabilities for all, or labels for all")
    if len(p):
        given = given.with_columns(pl.Series(f"p:{label}", p[:, i]) for i, label in enumerate(labels))
    if any(answer.cut for answer in asked):
        given = given.with_columns(pl.Series(TRUNCATED, [bool(answer.cut) for answer in asked]))
    if len(asked) < len(answers):
        numbers = iter(range(len(asked)))
        rows = pl.Series([None if answer is None else next(numbers) for answer in answers], dtype=pl.UInt32)
        given = given.select(pl.all().gather(rows))
    table = frame.select(
        pl.lit(model.name).alias("model"),
        pl.coalesce("of", "id").alias("bucket"),
        pl.when(pl.col("of").is_not_null()).then("id").alias("variant"),
        pl.col("label").alias("gold"),
    )
    others = [name for name in frame.columns if name not in {"id", "of", "label", *model.task.fields}]
    inputs = frame.select(pl.col(name).alias(_input_name(name)) for name in others)
    return pl.concat([table, given, inputs], how="horizontal")


def warn_truncated(model: Answerer, cut: int, count: int) -> None:
    """Warn, once for a whole table, of problems that the model truncated."""
    if cut:
        limit = model.model.max_length
        excess = f"more than {limit:,} tokens" if limit else "more tokens than it accepts"
        message = f"{model.name}: {cut:,} of {count:,} problems have {excess} and were truncated, the longer text first"
        most = limit and limit == model.model.positions
        hint = "it has no more positions" if most else "raise it with the option max_length"
        warnings.warn(f"{message}; {hint}; the column `truncated` marks them", stacklevel=caller_level())


def run_canary(model: Answerer, cache: Cache) -> None:
    """Run the canary: raises where the labels are permuted, warns where the model is weak."""
    batch = canary_batch(model.task)
    if len(batch):
        answers = ask(batch.columns, model, cache)
        refuse_permuted(model, [model.task.labels[answer.pred] for answer in answers])


def warn_unused_labels(label_map: LabelMap, models: Mapping[str, Sequence[str]]) -> None:
    """Warn of entries of a label map for labels that no model has. A model that declares no labels may have any."""
    own = {name: {label_key(label) for label in labels} for name, labels in models.items()}
    if not all(own.values()):
        return
    for name, entry in label_map.items():
        labels, some = ([name], own) if isinstance(entry, str) else (list(entry), {name: own.get(name, set())})
        if strange := [label for label in labels if not any(label_key(label) in one for one in some.values())]:
            known = "; ".join(f"{one} has {', '.join(models[one])}" for one in some)
            warnings.warn(f"the label map has {', '.join(strange)}, but {known}", stacklevel=caller_level())


def _input_name(name: str) -> str:
    return f"input_{name}" if name.startswith("p:") or name == TRUNCATED else name


def _task_key(task: Task) -> str:
    """All of a task that an answer may depend on: the target decides which text a pair classifier reads second."""
    return f"{','.join(task.fields)} (of these {','.join(task.targets)}) -> {','.join(task.labels)}"


def _length(row: tuple[str, ...]) -> int:
    return sum(map(len, row))
