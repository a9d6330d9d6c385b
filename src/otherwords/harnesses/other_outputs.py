"""What promptfoo and HELM write: promptfoo's JSON or JSON Lines, and the folder of a run of HELM."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from ..errors import BadInput, shorten
from ..storage.tables import parse_json
from .samples import (
    LETTERS,
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
#: What HELM says of every perturbation; the rest are its options.
_PERTURBATION = ("name", "robustness", "fairness", "computed_on")
_CALIBRATED = "multiple_choice_separate_calibrated"


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
        yield replace(one, epoch=seen[key]) if seen[key] else one


# HELM


def read_helm(path: Path, options: LogOptions) -> pl.DataFrame:
    """The answers in the folder of a HELM run. Its perturbations are wordings of the instance that they perturb."""
    file = path / SCENARIO_STATE if path.is_dir() else path
    return as_table(_helm(file, options), str(file), options)


def _helm(file: Path, options: LogOptions) -> Iterator[LoggedAnswer]:
    header: dict[str, Any] = {}
    with file.open("rb") as stream:
        states = enumerate(JsonReader(stream, str(file)).elements(("request_states",), header.__setitem__), 1)
        replies = (_reply(one, header, f"{file}, request {number}") for number, one in states)
        epochs: dict[tuple[int, str], int] = {}
        for key, group in itertools.groupby(replies, key=lambda one: one.key):
            epoch, listed = epochs.setdefault(key[2:], len(epochs)), list(group)
            for one in listed if listed[0].reference is None else [_most_likely(listed)]:
                yield replace(one.sample, epoch=epoch)


class _Reply(NamedTuple):
    """A reply of HELM: what it belongs to, and of a reference that is asked apart, how likely it is."""

    key: tuple[str, str, int, str]
    sample: LoggedAnswer
    reference: int | None
    sign: int
    likelihood: float


def _most_likely(replies: list[_Reply]) -> _Reply:
    """The reference with the highest score, of those the first, as HELM has it; one without a reply, if there is any.

    The score is the mean log-probability of its tokens, or what the question adds to their log-probability.
    """
    if without := [one for one in replies if one.sample.pred is None]:
        return without[0]
    scores: dict[int | None, float] = {}
    for one in replies:
        scores[one.reference] = scores.get(one.reference, 0.0) + one.sign * one.likelihood
    best = max(scores, key=lambda reference: scores[reference])
    return next(one for one in replies if one.reference == best)


def _reply(one: Mapping[str, Any], header: Mapping[str, Any], where: str) -> _Reply:
    try:
        return _request_state(one, header.get("adapter_spec") or one.get("adapter_spec") or {})
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, re.error) as error:
        fix = "give the folder of a run that helm-run has finished"
        message = f"lacks {error}" if isinstance(error, KeyError) else f"is not as HELM writes it: {error}"
        raise BadInput(message, where=where, fix=fix) from None


def _request_state(one: Mapping[str, Any], spec: Mapping[str, Any]) -> _Reply:
    instance, request, reference = one["instance"], one["request"], one.get("reference_index")
    trial = int(one.get("train_trial_index") or 0)
    if not 0 <= trial < 1_000_000:
        raise ValueError(f"train_trial_index is {shorten(trial)}")
    if as_text(instance["id"]) is None:
        raise KeyError("id")
    references = [(str(some["output"]["text"]), some.get("tags", ())) for some in instance.get("references") or ()]
    texts, correct = [text for text, _ in references], [text for text, tags in references if "correct" in tags]
    choices = tuple((one.get("output_mapping") or {}).values() if reference is None else texts)
    if not all(isinstance(text, str) for text in choices):
        raise TypeError(f"output_mapping is {shorten(one['output_mapping'])}")
    letters = dict(zip(choices, LETTERS, strict=False))
    answer, likelihood = _answer_of(one, texts, spec)
    gold, answer = correct[0] if correct else "", correct[0] if answer in correct else answer
    variant = _wording(instance.get("perturbation") or {})
    model = str(spec.get("model") or spec.get("model_deployment") or request.get("model") or "model")
    sample = LoggedAnswer(
        f"{instance['id']}#{variant}",
        model,
        letters.get(gold, gold) or None,
        letters.get(answer or "", answer),
        grade=None if answer is None or not correct else RIGHT if answer in correct else WRONG,
        error="has no reply",
        input=instance["input"]["text"] if isinstance(instance["input"], dict) else str(instance["input"]),
        columns={"bucket": str(instance["id"]), "variant": variant, "split": instance.get("split")},
        choices=choices,
        chosen=(gold or None, answer) if choices else (None, None),
    )
    key = (sample.id, model, trial, str(request.get("random")))
    return _Reply(key, sample, reference, -1 if one.get("request_mode") == "calibration" else 1, likelihood)


def _answer_of(one: Mapping[str, Any], texts: list[str], spec: Mapping[str, Any]) -> tuple[str | None, float]:
    """What was answered, of several replies the likeliest; of a reference that is asked apart, its text and score."""
    reply = max((one.get("result") or {}).get("completions") or (None,), key=_logprob)
    if reply is None:
        return None, 0.0
    if one.get("reference_index") is None:
        return _mapped(reply["text"].strip(), one.get("output_mapping") or {}, spec), 0.0
    text = texts[one["reference_index"]]
    total, tokens = _log_likelihood(reply, text)
    if math.isnan(total):
        raise ValueError("logprob is nan")
    return text, total if spec.get("method") == _CALIBRATED else total / tokens


def _logprob(reply: Mapping[str, Any] | None) -> float:
    return float((reply or {}).get("logprob") or 0.0)


def _mapped(answer: str, mapping: Mapping[str, str], spec: Mapping[str, Any]) -> str:
    """What a letter stands for; the run may have a pattern by which it is found in a reply."""
    if mapping and (pattern := spec.get("output_mapping_pattern")):
        found = re.search(pattern, answer)
        answer = found.group(1 if found.re.groups else 0) if found else ""
    return mapping.get(answer, answer)


def _log_likelihood(reply: Mapping[str, Any], reference: str) -> tuple[float, int]:
    """The log-probability of a reference, which a reply repeats after the question, and how many tokens it has."""
    text, logs = "", list[float]()
    for token in reversed(reply.get("tokens") or ()):
        text = token["text"] + text
        logs.append(float(token["logprob"]))
        if len(text.strip()) >= len(reference):
            return math.fsum(logs), len(logs)
    return _logprob(reply), 1


def _wording(perturbation: Mapping[str, Any]) -> str:
    """The name of a perturbation, with its options: one name may have several, or several seeds."""
    name = perturbation.get("name", "")
    if not isinstance(name, str):
        raise TypeError(f"the name of a perturbation is {shorten(name)}")
    options = {name: value for name, value in perturbation.items() if name not in _PERTURBATION}
    listed = ", ".join(f"{name}={value}" for name, value in options.items())
    return f"{name}({listed})" if listed else name
