"""What lm-evaluation-harness writes with `--log_samples`: `samples_TASK_DATE.jsonl`, beside `results_DATE.json`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from ..errors import BadInput, shorten
from ..storage.tables import parse_json
from .samples import (
    LETTERS,
    RIGHT,
    WRONG,
    LoggedAnswer,
    LogOptions,
    as_table,
    as_text,
    named_columns,
    named_labels,
    part_of,
    softmax,
    translated,
)

_FIX = "run the evaluation again, with --log_samples"
#: What names a sample in its document, the first that is there; else its place.
_NAMES = ("id", "idx", "uid", "question_id")


def read_lm_eval(path: Path, options: LogOptions) -> pl.DataFrame:
    """The answers in a file of samples, or in all files of samples of a folder."""
    files = sorted(path.glob("samples_*.jsonl")) if path.is_dir() else [path]
    tables = [as_table(_SampleFile(one, options).read(), str(one), options) for one in files]
    return tables[0] if len(tables) == 1 else pl.concat(tables, how="diagonal_relaxed")


class _SampleFile:
    """A file of samples."""

    def __init__(self, path: Path, options: LogOptions):
        self.path, self.options = path, options
        self._beside = str(_beside(path))
        self.results = _results(path)
        self._filters: set[str] = set()

    @property
    def _model(self) -> str:
        """The model: as the results name it, else as the folder is called."""
        named = self.results.get("model_name") or part_of(self.results, "config", self._beside).get("model_args")
        name = as_text(named) if named else None
        return name or self.path.absolute().parent.name.replace("__", "/")

    def read(self) -> Iterator[LoggedAnswer]:
        """The samples, line by line; after the last, whether there are as many as the results say."""
        count, model = 0, self._model
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                where = f"{self.path}, line {number}"
                one = _parsed(line, where)
                if self._is_wanted(one, where):
                    count += 1
                    yield from self._samples(one, model, where)
        self._refuse_fewer(count)

    def _is_wanted(self, one: Mapping[str, Any], where: str) -> bool:
        """Whether the answers of this filter count; of several, one must be named."""
        name = str(one.get("filter", "none"))
        self._filters.add(name)
        if self.options.scorer:
            return name == self.options.scorer
        if len(self._filters) > 1:
            fix = f"choose one with --scorer NAME: {', '.join(sorted(self._filters))}"
            raise BadInput("samples are there once for each filter", where=where, field="filter", fix=fix)
        return True

    def _samples(self, one: Mapping[str, Any], model: str, where: str) -> Iterator[LoggedAnswer]:
        doc = one["doc"] if isinstance(one["doc"], dict) else {}
        name = next((str(doc[key]) for key in _NAMES if as_text(doc.get(key)) is not None), str(one["doc_id"]))
        place = f"{where}, sample {name!r}"
        choices, labels = _choices(one, place), named_labels(doc)
        columns, grade, text = named_columns(doc), _grade(one), _first_argument(one) if self.options.texts else None
        if choices:
            named = tuple(translated(text, labels) or "" for text in choices)
            logs = _logs(one["filtered_resps"], len(named), place)
            right, best = _place_of(one["target"], choices), logs.index(max(logs))
            gold = translated(as_text(one["target"]), labels) if right is None else LETTERS[right]
            chosen = None if right is None else named[right], named[best]
            shares = tuple(softmax(logs))
            yield LoggedAnswer(name, model, gold, LETTERS[best], 0, grade, "", text, columns, named, chosen, shares)
            return
        gold = translated(as_text(one["target"]), labels)
        for epoch, given in enumerate(_texts(one["filtered_resps"], place)):
            answer = translated(given, labels) or ""
            yield LoggedAnswer(name, model, gold, answer, epoch, grade, "", text, columns, tuple(labels.values()))

    def _refuse_fewer(self, count: int) -> None:
        if self.options.scorer and not count:
            fix = f"available: {', '.join(sorted(self._filters))}"
            raise BadInput(
                f"no filter is called {self.options.scorer!r}", where=str(self.path), field="scorer", fix=fix
            )
        of_task = part_of(part_of(self.results, "n-samples", self._beside), _task_of(self.path), self._beside)
        expected = of_task.get("effective", 0)
        if not isinstance(expected, int):
            raise BadInput(f"found {shorten(expected)}", where=self._beside, field="effective", fix=_FIX)
        if count < expected and not self.options.errors:
            message = f"has {count:,} of {expected:,} samples"
            raise BadInput(message, where=f"{self.path}, after sample {count}", fix=_FIX)


def _parsed(line: bytes, where: str) -> dict[str, Any]:
    try:
        one = parse_json(line.decode())
    except ValueError as error:
        raise BadInput(str(error), where=where, fix=_FIX) from None
    fix = "give a file that --log_samples wrote"
    if not isinstance(one, dict):
        raise BadInput(f"found {shorten(one)} instead of a sample", where=where, fix=fix)
    if lacking := [name for name in ("doc_id", "doc", "target", "filtered_resps") if name not in one]:
        raise BadInput(f"lacks {', '.join(lacking)}", where=where, fix=fix)
    return one


def _results(path: Path) -> dict[str, Any]:
    """What the file of results beside a file of samples says; nothing where there is none."""
    beside = _beside(path)
    if not beside.is_file():
        return {}
    try:
        found = json.loads(beside.read_bytes())
    except (ValueError, RecursionError) as error:
        raise BadInput(f"cannot be read: {error}", where=str(beside), fix=_FIX) from error
    if not isinstance(found, dict):
        raise BadInput(f"found {shorten(found)} instead of results", where=str(beside), fix=_FIX)
    return found


def _beside(path: Path) -> Path:
    """The file of results beside a file of samples."""
    return path.with_name(f"results_{path.stem.rpartition('_')[2]}.json")


def _task_of(path: Path) -> str:
    return path.stem.removeprefix("samples_").rpartition("_")[0]


def _choices(one: Mapping[str, Any], where: str) -> list[str]:
    """The texts whose likelihoods were compared; none where the model wrote freely."""
    given = one.get("arguments")
    if isinstance(given, dict):  # as files have it: gen_args_0, gen_args_1, ...
        given = [list(some.values()) if isinstance(some, dict) else some for some in given.values()]
    if not isinstance(given, list) or not given or not all(isinstance(some, list) and some for some in given):
        raise BadInput(f"found {shorten(given)}", where=where, field="arguments", fix=_FIX)
    pairs = [some for some in given if len(some) > 1 and isinstance(some[1], str)]
    texts, half = [(as_text(some[1]) or "").strip().replace("\0", "\ufffd") for some in pairs], len(pairs) // 2
    if len({*texts}) > 1 and texts[:half] == texts[half:]:  # again without the question, for mutual information
        texts = texts[:half]
    return texts[: len(LETTERS)]


def _logs(given: Any, count: int, where: str) -> list[float]:
    try:
        logs = [float(one[0]) for one in given[:count]]
    except (TypeError, ValueError, IndexError, KeyError):
        logs = []
    best = max(logs, default=math.nan)  # -inf is what cannot be; if all are, there is no answer
    if len(logs) < count or any(math.isnan(one) for one in logs) or not math.isfinite(best):
        raise BadInput(f"found {shorten(given)}", where=where, field="filtered_resps", fix=_FIX)
    return logs


def _texts(given: Any, where: str) -> list[str]:
    """What the model wrote, each time it was asked."""
    first = given[0] if isinstance(given, list) and given else given
    texts = first if isinstance(first, list) else [first]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise BadInput(f"found {shorten(given)}", where=where, field="filtered_resps", fix=_FIX)
    return texts


def _place_of(target: Any, choices: list[str]) -> int | None:
    """The place of the right choice, which its number or its text says; None where neither does."""
    text = (as_text(target) or "").strip()
    if text in choices and not text.isdecimal():
        return choices.index(text)
    places = {str(place): place for place in range(len(choices))}
    return places.get(text)


def _grade(one: Mapping[str, Any]) -> str | None:
    """Right or wrong, where one of the metrics says so."""
    given = one.get("metrics")
    names = [name for name in given if isinstance(name, str)] if isinstance(given, list) else []
    value = next((one[name] for name in ("acc", "exact_match", *names) if name in one), None)
    return {1.0: RIGHT, 0.0: WRONG}.get(float(value)) if isinstance(value, int | float) else None


def _first_argument(one: Mapping[str, Any]) -> str | None:
    first = next(iter(one["arguments"].values() if isinstance(one["arguments"], dict) else one["arguments"]), ())
    values = list(first.values()) if isinstance(first, dict) else list(first)
    return as_text(values[0]) if values else None
