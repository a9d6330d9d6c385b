"""Writes the committed samples of logs with the real harnesses: `python tests/harnesses/regenerate.py HARNESSES`.

HARNESSES is the folder that `make test-all` installs them into. A suite of four problems is written by
`otherwords suite`, run by Inspect, by lm-evaluation-harness and (its first problem) by promptfoo and HELM, with a model
that answers from `answers.csv`, and their logs are kept under plain names; that of Inspect without events.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from otherwords.harnesses import write_suite

HERE = Path(__file__).parent / "samples"
SUPPORT = Path(__file__).parents[1] / "support"
RUNNER = SUPPORT / "in_harness.py"


#: Nothing reads events, which are three quarters of a log.
_WITHOUT_EVENTS = """
import sys
from inspect_ai.log import read_eval_log, write_eval_log
log = read_eval_log(sys.argv[1])
for sample in log.samples:
    sample.events = []
write_eval_log(log, sys.argv[2])
"""


def words_of(suite: Path, answers: pl.DataFrame) -> dict[str, list[str]]:
    """What the model answers to each prompt of a suite, by an answers table: its answer, then its repeats."""
    again = [name for name in answers.columns if name.startswith("again:")]
    asked = {
        (row["bucket"], row["variant"] or ""): [row["pred"], *(row[name] for name in again)]
        for row in answers.iter_rows(named=True)
    }
    words: dict[str, list[str]] = {}
    for line in (suite / "data" / "test.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        spelled = dict(zip(row["labels"], row["choices"], strict=True))
        words[row["prompt"]] = [spelled[label] for label in asked[row["bucket"], row["variant"]]]
    return words


def run_harness(python: str, harness: str, suite: Path, words: dict[str, list[str]], out: Path, *more: str) -> None:
    table = out.parent / f"{out.name}.words.json"
    table.write_text(json.dumps(words))
    command = [python, str(RUNNER), harness, str(suite), str(table), str(out), *more]
    quiet = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "PATH": "/usr/bin:/bin", "HOME": str(out.parent)}
    done = subprocess.run(command, capture_output=True, text=True, env=quiet, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def run_promptfoo(program: str, suite: Path, words: dict[str, list[str]], out: Sequence[Path], *more: str) -> None:
    """Run promptfoo in the folder of a suite. It exits with 100 if an answer was wrong."""
    shutil.copy(SUPPORT / "promptfoo_model.cjs", suite)
    (suite / "words.json").write_text(json.dumps(words))
    outputs = [text for path in out for text in ("-o", str(path))]
    plain = ["--no-cache", "--no-table", "--no-progress-bar", "--max-concurrency", "1"]
    command = [program, "eval", "--providers", "file://promptfoo_model.cjs", *plain, *outputs, *more]
    quiet = dict.fromkeys(("PROMPTFOO_DISABLE_TELEMETRY", "PROMPTFOO_DISABLE_UPDATE"), "1")
    quiet |= {"PATH": os.environ["PATH"], "HOME": str(suite), "OTHERWORDS_WORDS": "words.json"}
    done = subprocess.run(command, cwd=suite, capture_output=True, text=True, env=quiet, check=False, timeout=300)
    assert done.returncode in (0, 100), done.stdout[-3000:] + done.stderr[-3000:]


def main(harnesses: str) -> None:
    python, program = (str(Path(harnesses) / name) for name in ("bin/python", "node_modules/.bin/promptfoo"))
    answers = pl.read_csv(HERE / "answers.csv", schema_overrides={"variant": pl.String})
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_suite([str(HERE / "suite.jsonl")], folder / "suite", template=str(HERE / "short.toml"))
        words = words_of(folder / "suite", answers)
        run_harness(python, "inspect", folder / "suite", words, folder / "inspect")
        [log] = (folder / "inspect").glob("*.eval")
        subprocess.run([python, "-c", _WITHOUT_EVENTS, str(log), str(HERE / "inspect.eval")], check=True)
        run_harness(python, "lm-eval", folder / "suite", words, folder / "lm")
        for log in (folder / "lm").rglob("*_2*.json*"):
            shutil.copy(log, HERE / f"{log.stem.rpartition('_')[0]}_1{log.suffix}")
        run_harness(python, "helm", folder / "suite", words, folder / "helm", "--kind", "multiple_choice_joint")
        state = json.loads((folder / "helm" / "runs" / "suite" / "suite" / "scenario_state.json").read_text())
        state["request_states"] = [one for one in state["request_states"] if one["instance"]["id"] == "p0"]
        _write_plain(state, HERE / f"helm_{_version_of(python, 'crfm-helm')}.json")
        results = folder / "results.json"
        run_promptfoo(program, folder / "suite", words, [results], "--repeat", "2", "--filter-first-n", "3")
        written = json.loads(results.read_text(encoding="utf-8"))
        written["config"]["outputPath"] = [results.name]
        _write_plain(written, HERE / f"promptfoo_{written['metadata']['promptfooVersion']}.json")


def _write_plain(value: object, path: Path) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def _version_of(python: str, package: str) -> str:
    command = [python, "-c", f"import importlib.metadata as m; print(m.version({package!r}))"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main(sys.argv[1])
