"""Runs a suite in a real harness, with a tiny model that answers from a table: `python in_harness.py HARNESS ...`.

This file runs in the environment of the harness, and imports nothing of otherwords. The table is JSON: what is answered
to each prompt, a word for each epoch.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
from pathlib import Path
from typing import Any

Words = dict[str, list[str]]


def run_inspect(suite: Path, words: Words, out: Path, kind: str) -> None:
    from inspect_ai import eval as evaluate
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    spec = importlib.util.spec_from_file_location("inspect_task", suite / "inspect_task.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    asked: dict[str, int] = {}

    def answer(messages: list[Any], *_: Any) -> ModelOutput:
        prompt = messages[-1].text
        asked[prompt] = asked.get(prompt, 0) + 1
        output = ModelOutput.from_content("mockllm", words[prompt][asked[prompt] - 1])
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else a tokenizer is downloaded
        return output

    epochs = len(next(iter(words.values())))
    [log] = evaluate(
        module.otherwords(),
        model=get_model("mockllm/tiny", custom_outputs=answer),
        epochs=epochs,
        max_samples=1,
        log_dir=str(out),
        log_format=kind,
        display="none",
    )
    assert log.status == "success", log.error


def run_lm_eval(suite: Path, words: Words, out: Path, kind: str) -> None:
    import lm_eval
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    class Tiny(LM):
        """Likes the word of the table best."""

        def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:
            pairs = [one.args for one in requests]
            return [
                (-0.5 if words[prompt][0] == text.strip() else -2.0 - len(text) / 8, False) for prompt, text in pairs
            ]

        def loglikelihood_rolling(self, requests: list[Any]) -> list[float]:
            raise NotImplementedError

        def generate_until(self, requests: list[Any]) -> list[str]:
            raise NotImplementedError

    os.chdir(suite)
    manager = TaskManager(include_path=".", include_defaults=False)
    results = lm_eval.simple_evaluate(model=Tiny(), tasks=["otherwords"], task_manager=manager, log_samples=True)
    samples = results.pop("samples")
    tracker = EvaluationTracker(output_path=str(out))
    tracker.general_config_tracker.model_name = "mockllm/tiny"
    tracker.general_config_tracker.model_name_sanitized = "mockllm__tiny"
    tracker.save_results_aggregated(results=results, samples=samples)
    for name, rows in samples.items():
        tracker.save_results_samples(task_name=name, samples=rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("harness", choices=["inspect", "lm-eval", "helm"])
    parser.add_argument("suite", type=Path)
    parser.add_argument("words", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--kind", default="eval")
    given = parser.parse_args()
    if given.harness == "helm":
        from in_helm import run_helm as run
    else:
        run = {"inspect": run_inspect, "lm-eval": run_lm_eval}[given.harness]
    run(given.suite.absolute(), json.loads(given.words.read_text()), given.out.absolute(), given.kind)
