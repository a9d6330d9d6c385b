"""Runs a suite in the real HELM: a scenario whose wordings are perturbations, as `in_harness.py helm` asks for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from helm.benchmark.adaptation.adapter_spec import AdapterSpec
from helm.benchmark.augmentations.perturbation_description import PerturbationDescription
from helm.benchmark.config_registry import register_builtin_configs_from_helm_package
from helm.benchmark.executor import ExecutionSpec
from helm.benchmark.run_spec import RunSpec
from helm.benchmark.runner import Runner
from helm.benchmark.scenarios.scenario import Input, Instance, Output, Reference, Scenario, ScenarioSpec
from helm.common.authentication import Authentication
from helm.common.request import GeneratedOutput, Request, RequestResult, Token


class Suite(Scenario):
    """The rows of a suite; each names its bucket and variant."""

    name, description, tags = "suite", "", ()

    def __init__(self, rows: str) -> None:
        super().__init__()
        self.rows = [json.loads(line) for line in Path(rows).read_text(encoding="utf-8").splitlines()]

    def get_instances(self, output_path: str) -> list[Instance]:
        return [
            Instance(
                Input(text=row["prompt"]),
                [Reference(Output(text=word), ["correct"] * (word == row["answer"])) for word in row["choices"]],
                split="test",
                id=row["bucket"],
                perturbation=PerturbationDescription(row["variant"]) if row["variant"] else None,
            )
            for row in self.rows
        ]


class Tiny:
    """Answers from the table; of words that are asked one by one, it finds the one of the table the most likely."""

    def __init__(self, words: dict[str, list[str]]) -> None:
        self.words, self.asked = words, dict[str, int]()

    def make_request(self, request: Request) -> RequestResult:
        question = next((one for one in self.words if request.prompt.startswith(one)), "Answer:")
        rest = request.prompt.removeprefix(question)
        if request.echo_prompt:  # a word follows the question, or none; as a whole, a shorter one is more likely
            text, likely = request.prompt, rest.strip() in self.words.get(question, ())[:1]
            tokens = [Token(one, -1.0 if likely else -1.5) for one in [question, *rest.strip()]]
        else:
            turn = self.asked[question] = self.asked.get(question, -1) + 1
            word = self.words[question][turn]
            letters = {line[3:]: line[0] for line in rest.splitlines() if line[1:3] == ". "}
            text = f" {letters.get(word, word)}"
            tokens = [Token(text, -1.0)]
        logprob = sum(one.logprob for one in tokens)
        return RequestResult(True, [], [GeneratedOutput(text, logprob, tokens)], cached=False, request_time=0.0)


def run_helm(suite: Path, words: dict[str, list[str]], out: Path, method: str) -> None:
    register_builtin_configs_from_helm_package()
    plain: dict[str, Any] = dict.fromkeys(("input_prefix", "input_suffix", "output_prefix", "instance_prefix"), "")
    epochs = 1 if "separate" in method else len(next(iter(words.values())))
    adapter = AdapterSpec(
        method, max_train_instances=0, num_outputs=1, num_trials=epochs, model="mockllm/tiny",
        model_deployment="simple/model1", **plain,
    )  # fmt: skip
    scenario = ScenarioSpec(f"{__name__}.Suite", {"rows": str(suite / "data" / "test.jsonl")})
    asked = ExecutionSpec(None, Authentication(""), str(out / "cache"), parallelism=1)
    runner = Runner(
        asked, str(out), "suite", skip_instances=False, cache_instances=False, cache_instances_only=False,
        skip_completed_runs=False, exit_on_error=True,
    )  # fmt: skip
    runner.executor.context = Tiny(words)
    runner.run_one(RunSpec("suite", scenario, adapter, metric_specs=[]))
