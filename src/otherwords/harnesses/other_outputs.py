"""What promptfoo and HELM write: promptfoo's JSON or JSON Lines, and the folder of a run of HELM."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from ..errors import BadInput, shorten
from ..storage.tables import parse_json
from .samples import (
    RIGHT,
    WRONG,
    JsonReader,
    LoggedAnswer,
    LogOptions,
    as_table,
    as_text,
    named_columns,
    named_labels,
    part_of,
    translated,
)

#: The file of a HELM run that has its requests with their replies.
SCENARIO_STATE = "scenario_state.json"
#: Assertions of promptfoo that name the right answer.
_EQUAL = ("equals", "iequals", "is-equal", "contains", "icontains", "starts-with")


# promptfoo


def read_promptfoo(path: Path, options: LogOptions) -> pl.DataFrame:
    """The answers in promptfoo's output: `promptfoo eval -o results.json`, or .jsonl."""
    return as_table(_numbered(_promptfoo(path, options)), str(path), options)


def _promptfoo(path: Path, options: LogOptions) -> Iterator[LoggedAnswer]:
    prompts: set[str] = set()
    for number, one in enumerate(_results(path), 1):
        where = f"{path}, result {number}"
        if not isinstance(one, dict) or not isinstance(one.get("vars", {}), dict):
            raise BadInput(f"found {shorten(one)}", where=where, fix="give a file that promptfoo eval -o wrote")
        prompts.add(str(part_of(one, "prompt", where).get("label", "")))
        yield _result(one, where, several=len(prompts) > 1)


def _results(path: Path) -> Iterator[Any]:
    with path.open("rb") as file:
        if path.suffix == ".json":
            yield from JsonReader(file, str(path)).elements(("results", "results"), lambda *_: None)
            return
        for number, line in enumerate(file, 1):
            if line.strip():
                yield _line(line, f"{path}, line {number}")


def _line(line: bytes, where: str) -> Any:
    try:
        return parse_json(line.decode())
    except ValueError as error:
        raise BadInput(str(error), where=where, fix="the file is damaged, or its writing was interrupted") from None


def _result(one: Mapping[str, Any], where: str, *, several: bool) -> LoggedAnswer:
    case, response = part_of(one, "testCase", where), part_of(one, "response", where)
    given = {**part_of(case, "metadata", where), **part_of(one, "vars", where)}
    name = as_text(given.get("id")) or as_text(one.get("testIdx"))
    if name is None:
        raise BadInput("has no id", where=where, fix="give each test a variable `id`, or keep testIdx in the output")
    provider, labels, prompt = one.get("provider"), named_labels(given), part_of(one, "prompt", where)
    if not isinstance(provider, str):
        about = part_of(one, "provider", where)
        provider = as_text(about.get("label") or None) or as_text(about.get("id") or None) or "model"
    error = as_text(one.get("error")) if response.get("output") is None else None
    output = response.get("output")
    answer = output if isinstance(output, str) else None if output is None else json.dumps(output)
    return LoggedAnswer(
        name,
        f"{provider}@{prompt.get('label')}" if several else provider,
        translated(as_text(given.get("label")) or _expected(case), labels),
        translated(answer, labels),
        grade=None if not isinstance(one.get("success"), bool) else RIGHT if one["success"] else WRONG,
        error=f"ended with an error: {shorten(error)}" if error else "",
        input=as_text(prompt.get("raw")),
        columns=named_columns(given),
        choices=tuple(labels.values()),
    )


def _expected(case: Mapping[str, Any]) -> str | None:
    """The right answer, where an assertion names it."""
    asserts = case.get("assert")
    for one in asserts if isinstance(asserts, list) else ():
        if isinstance(one, dict) and one.get("type") in _EQUAL:
            return as_text(one.get("value"))
    return None


def _numbered(samples: Iterator[LoggedAnswer]) -> Iterator[LoggedAnswer]:
    """The samples, each further one of the same test and model in the next epoch."""
    seen: dict[tuple[str, str], int] = {}
    for one in samples:
        key = (one.model, one.id)
        seen[key] = seen.get(key, -1) + 1
        yield LoggedAnswer(**{**vars(one), "epoch": seen[key]}) if seen[key] else one


# HELM


def read_helm(path: Path, options: LogOptions) -> pl.DataFrame:
    """The answers in the folder of a HELM run. Its perturbations are wordings of the instance that they perturb."""
    file = path / SCENARIO_STATE if path.is_dir() else path
    return as_table(_helm(file, options), str(file), options)


def _helm(file: Path, options: LogOptions) -> Iterator[LoggedAnswer]:
    header: dict[str, Any] = {}
    best: tuple[tuple[Any, ...], float, LoggedAnswer] | None = None
    with file.open("rb") as stream:
        for number, one in enumerate(
            JsonReader(stream, str(file)).elements(("request_states",), header.__setitem__), 1
        ):
            where = f"{file}, request {number}"
            try:
                key, likelihood, sample = _request_state(one, header)
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                fix = "give the folder of a run that helm-run has finished"
                message = f"lacks {error}" if isinstance(error, KeyError) else f"is not as HELM writes it: {error}"
                raise BadInput(message, where=where, fix=fix) from None
            if best and best[0] == key and likelihood <= best[1]:
                continue
            if best and best[0] != key:
                yield best[2]
            best = key, likelihood, sample
    if best:
        yield best[2]


def _request_state(one: Mapping[str, Any], header: Mapping[str, Any]) -> tuple[tuple[Any, ...], float, LoggedAnswer]:
    """An answer with what it belongs to, and how likely it was: of references that are asked apart, that one counts."""
    instance, mapping = one["instance"], one.get("output_mapping") or {}
    perturbation = (instance.get("perturbation") or {}).get("name", "")
    trial, reference = int(one.get("train_trial_index") or 0), one.get("reference_index")
    if not 0 <= trial < 1_000_000:
        raise ValueError(f"train_trial_index is {shorten(trial)}")
    correct = [ref["output"]["text"] for ref in instance.get("references") or () if "correct" in ref.get("tags", ())]
    completions = (one.get("result") or {}).get("completions") or ()
    answer: str | None = completions[0]["text"].strip() if completions else None
    if reference is not None:
        answer = str(instance["references"][reference]["output"]["text"])
    answer = None if answer is None else mapping.get(answer, answer)
    if answer is not None and answer in correct:
        answer = correct[0]
    if as_text(instance["id"]) is None:
        raise KeyError("id")
    name = f"{instance['id']}#{perturbation}"
    spec = header.get("adapter_spec") or one.get("adapter_spec") or {}
    model = str(spec.get("model") or spec.get("model_deployment") or one["request"].get("model") or "model")
    columns = {"bucket": str(instance["id"]), "variant": perturbation, "split": instance.get("split")}
    text = instance["input"]["text"] if isinstance(instance["input"], dict) else str(instance["input"])
    graded = None if answer is None or not correct else RIGHT if answer in correct else WRONG
    texts = tuple(mapping.values())
    gold = correct[0] if correct else None
    sample = LoggedAnswer(name, model, gold, answer, trial, graded, "has no reply", text, columns, texts)
    likelihood = float(completions[0].get("logprob") or 0.0) if reference is not None and completions else 0.0
    return (name, trial, model), likelihood, sample
