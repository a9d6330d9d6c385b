"""Do the tests catch faults? Puts 52 small faults into a copy of the package, one at a time, and runs the room's tests.

    python scripts/mutate.py --check           every fault still applies, its tests exist
    python scripts/mutate.py                   all faults; an hour or so on two cores
    python scripts/mutate.py lock-waits words  some faults, or all of a room

A fault is caught if a fast test fails with it and passes without it. The exit code is 1 if a fault survives or no
longer applies: then choose another line for it, or write the missing test.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = Path("src/otherwords")
#: Seconds after which tests that do not end count as failed: a fault may make a loop endless.
LONGEST = 150
ENDLESS = -99
#: The tests of each room. Doctests of the room are always run, too.
TESTS = {
    "storage": ("tests/storage",),
    "datasets": ("tests/datasets",),
    "problem.py": ("tests/test_problem.py",),
    "registry.py": ("tests/test_registry.py",),
    "frames.py": ("tests/test_frames.py",),
    "words": ("tests/words", "tests/metrics/test_distances.py"),
    "grammar": ("tests/grammar", "tests/variants/test_structural.py"),
    "inference": ("tests/inference",),
    "language_models": ("tests/language_models",),
    "models": ("tests/models",),
    "variants": ("tests/variants",),
    "validity": ("tests/validity",),
    "answers": ("tests/answers", "tests/metrics"),
    "metrics": ("tests/metrics",),
    "significance": ("tests/significance",),
    "scoring": ("tests/scoring",),
    "pipeline.py": ("tests/test_pipeline.py",),
    "running": ("tests/running",),
    "judging": ("tests/judging",),
    "profiling": ("tests/profiling",),
    "report": ("tests/report",),
    "papers": ("tests/papers",),
    "training": ("tests/training",),
    "exporting": ("tests/exporting",),
    "cli": ("tests/cli",),
}


class Fault(NamedTuple):
    """A named edit: `old`, which occurs once in the file or room `place`, becomes `new`."""

    name: str
    place: str
    old: str
    new: str

    @property
    def room(self) -> str:
        """The sub-package or module whose tests should notice."""
        return self.place.split("/")[0]


FAULTS = [
    # Storage and data
    Fault("digest-unsorted", "storage", "json.dumps(parts, sort_keys=True", "json.dumps(parts, sort_keys=False"),
    Fault("stale-part-kept", "storage", "if key_of(path) != key:", "if not path.exists():"),
    Fault("bad-line-not-named", "storage", "_raise_unreadable(source, separator, where, quoted=", "bool("),
    Fault("lock-waits", "storage", "acquire(blocking=False)", "acquire(timeout=3)"),
    Fault(
        "variant-label-unchecked", "datasets", 'if (row["label"] or "") != original.label and not suite:', "if False:"
    ),
    Fault("parquet-rows-from-zero", "datasets", "range(before + 1, before + 1 + frame", "range(before, before + frame"),
    Fault("reverse-same-label", "datasets", '.row["label"]) != label)', '.row["label"]) == label)'),
    Fault(
        "white-space-is-change",
        "datasets",
        "if normalize_spaces(text) != normalize_spaces(original.get(k))",
        "if text != original.get(k)",
    ),
    Fault("labels-case-sensitive", "problem.py", "text.strip().lower())", "text.strip())"),
    # Words and sentences
    Fault("jaccard-of-nothing", "words", "if a | b else 1.0", "if a | b else 0.0"),
    Fault("thousand-no-scale", "words", "if _SCALES[word] >= 1000:", "if _SCALES[word] > 1000:"),
    Fault("rarest-sense-first", "words", "(-known[word], word)", "(known[word], word)"),
    Fault("bare-noun-with-number", "grammar", '"det", "poss", "nummod", "predet")', '"det", "poss", "predet")'),
    Fault("tree-leaf-off-by-one", "grammar", "else len(labels) - 1)", "else len(labels))"),
    # Models
    Fault("limit-exclusive", "inference", "if value < least:", "if value <= least:"),
    Fault(
        "batch-over-budget",
        "inference",
        "return max(1, budget // int(lengths.max()))",
        "return max(1, budget // int(lengths.min()))",
    ),
    Fault(
        "packed-without-last",
        "inference",
        'np.searchsorted(lengths.cumsum(), budget, "right")',
        'np.searchsorted(lengths.cumsum(), budget, "left")',
    ),
    Fault(
        "empty-mask-allowed",
        "language_models",
        "if not 0 <= first < last <= len(text):",
        "if not 0 <= first <= last <= len(text):",
    ),
    Fault("too-many-drafts-allowed", "language_models", "len(some) > decoding.count", "len(some) > decoding.count + 1"),
    Fault("batch-size-zero-allowed", "models", "if self.batch_size < 1:", "if self.batch_size < 0:"),
    Fault("cache-ignores-task", "models", "digest(model.signature, _task_key(model.task))", "digest(model.signature)"),
    # Variants and checks
    Fault("scramble-keeps-order", "variants", 'while "".join(letters) == middle:', "while False:"),
    Fault("candidate-in-one-place", "variants/masked_lm", "if len(places) > 1 and", "if len(places) >= 1 and"),
    Fault("unlikely-words-win", "variants/masked_lm", "if logp > self.own", "if logp < self.own"),
    Fault("need-as-many-as-asked", "variants", "if need > k:", "if need >= k:"),
    Fault("tie-of-votes-kept", "validity", "else 2 * yes > total", "else 2 * yes >= total"),
    Fault("fluency-sign", "validity", "if gain >= -most", "if gain >= most"),
    Fault("ratio-unchecked-above", "validity", "not min_ratio <= ratio <= max_ratio", "not min_ratio <= ratio"),
    Fault("overlap-exclusive", "validity", "Verdict(share <= most,", "Verdict(share < most,"),
    # Answers, metrics, significance
    Fault("last-bin-open", "answers", ".astype(np.int64), bins - 1))", ".astype(np.int64), bins))"),
    Fault("pair-agreement", "metrics", "(n - k) * (n - k - 1)", "(n - k) * (n - k)"),
    Fault("too-few-variants-counted", "metrics", "answers.n_variants >= max(of, 1)", "answers.n_variants > max(of, 1)"),
    Fault("strict-as-relaxed", "metrics", "(answers.pred == against)", "(answers.pred != answers.gold)"),
    Fault(
        "weighted-as-plain",
        "metrics",
        "np.stack([answers.correct[answers.originals] * n, n]",
        "np.stack([answers.correct[answers.originals], n]",
    ),
    Fault("welch-freedom", "significance", "sample.size - 1.0", "sample.size"),
    Fault(
        "one-sided-interval",
        "significance",
        "np.full(values.shape[1], 1 - tail)",
        "np.full(values.shape[1], 1 - 2 * tail)",
    ),
    Fault(
        "confidence-one-allowed",
        "significance/proportions.py",
        "if not 0 < confidence < 1:",
        "if not 0 < confidence <= 1:",
    ),
    Fault("smaller-p-decides", "scoring", "p=max(both, default=None)", "p=min(both, default=None)"),
    Fault("gate-in-per-cent", "scoring", "(100 if match[4] else 1)", "1"),
    Fault(
        "gate-passes-without-score",
        "scoring",
        "number is not None and _SIGNS",
        "number is None or _SIGNS",
    ),
    # Runs, reports, papers
    Fault(
        "shard-splits-bucket",
        "running",
        "return is_original.arg_true().to_numpy() if self.contiguous else np.arange(len(piece))",
        "return np.arange(len(piece))",
    ),
    Fault("duplicate-ids-accepted", "datasets", 'if not self.seen.add(row["id"],', 'if self.seen.add(row["id"],'),
    Fault("duplicate-ids-in-columns", "datasets", 'if intake.seen.may_repeat(columns["id"]) or', "if"),
    Fault("collapsed-counts-once", "answers", "pl.Series(COUNT, repeated)", "pl.Series(COUNT, repeated).clip(0, 1)"),
    Fault(
        "versions-unsorted",
        "registry.py",
        "key=lambda plugin: (plugin.name, plugin.version)",
        "key=lambda plugin: plugin.version",
    ),
    Fault("share-not-per-cent", "report", "round(100 * fraction, 1)", "round(10 * fraction, 1)"),
    Fault(
        "fewest-flips-first",
        "report",
        "descending=[True, True, True, False]).head(most)",
        "descending=[False, True, True, False]).head(most)",
    ),
    Fault("candidates-limit-exclusive", "papers", "(shares <= 0.75)", "(shares < 0.75)"),
    # Training, exports, command line
    Fault("masks-the-rest", "training", "chosen = draw < self.share", "chosen = draw > self.share"),
    Fault(
        "validates-too-early",
        "training",
        "round(len(plan) * (i + 1) / settings.evaluations)",
        "round(len(plan) * i / settings.evaluations)",
    ),
    Fault("shortest-refused", "exporting", ".max_length < SHORTEST:", ".max_length <= SHORTEST:"),
    Fault(
        "model-column-missing",
        "cli",
        "several, grouped = len({one.model for one in scores}) > 1",
        "several, grouped = len({one.model for one in scores}) > 2",
    ),
]


class Outcome(NamedTuple):
    """What became of a fault: caught, survived, or not applied; and the test or the reason."""

    fault: Fault
    result: str
    detail: str


def main() -> int:
    """Run the faults that are named, or all; print a line for each and a summary."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="names of faults or rooms; default: all")
    parser.add_argument("--check", action="store_true", help="only see whether every fault applies")
    parser.add_argument("--workers", default="2", help="pytest's processes")
    options = parser.parse_args()
    faults = [one for one in FAULTS if not options.names or {one.name, one.room} & set(options.names)]
    if unknown := set(options.names) - {word for one in FAULTS for word in (one.name, one.room)}:
        parser.error(
            f"no fault or room {', '.join(sorted(unknown))}; there are {', '.join(one.name for one in FAULTS)}"
        )
    if options.check:
        outcomes = [check(one) for one in faults]
    else:
        with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
            copy = copied(Path(folder))
            outcomes = [inject(one, copy, options.workers) for one in faults]
    counts = Counter(one.result for one in outcomes)
    print(", ".join(f"{count} {result}" for result, count in counts.items()), f"of {len(faults)} faults")
    return int(set(counts) - {"caught", "applies"} != set())


def check(fault: Fault) -> Outcome:
    """Whether a fault can be put into the package as it is, and its tests exist."""
    problem = ""
    try:
        edited(fault, ROOT)
    except ValueError as error:
        problem = str(error)
    missing = [path for path in TESTS[fault.room] if not (ROOT / path).exists()]
    if missing and not problem:
        problem = f"no such tests: {', '.join(missing)}"
    return report(Outcome(fault, "not applied" if problem else "applies", problem))


def edited(fault: Fault, root: Path) -> tuple[Path, str]:
    """The file that holds the fault's place, and its text with the fault."""
    place = root / PACKAGE / fault.place
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place] if place.exists() else []
    hits = [(file, text) for file in files if fault.old in (text := file.read_text(encoding="utf-8"))]
    count = sum(text.count(fault.old) for _, text in hits)
    if count != 1:
        raise ValueError(
            f"OLD TEXT {'NOT FOUND' if not count else f'FOUND {count} TIMES'} in {fault.place}: {fault.old}"
        )
    ((file, text),) = hits
    text = text.replace(fault.old, fault.new)
    ast.parse(text)
    return file, text


def inject(fault: Fault, copy: Path, workers: str) -> Outcome:
    """Put a fault into the copy, run its tests, and take it out again."""
    try:
        file, text = edited(fault, copy)
    except ValueError as error:
        return report(Outcome(fault, "not applied", str(error)))
    tests = [path for path in (*TESTS[fault.room], str(PACKAGE / fault.room)) if (copy / path).exists()]
    before, start = file.read_text(encoding="utf-8"), time.monotonic()
    try:
        file.write_text(text, encoding="utf-8")
        code, failed = run_tests(copy, ["-n", workers, *tests])
    finally:
        file.write_text(before, encoding="utf-8")
    seconds = f"{time.monotonic() - start:.0f} s"
    if code == 0:
        return report(Outcome(fault, "survived", f"{seconds}, {', '.join(tests)}"))
    if code == ENDLESS:
        return report(Outcome(fault, "caught", f"{seconds}, its tests do not end"))
    if not failed:
        return report(Outcome(fault, "not applied", f"pytest ended with {code} and no failed test"))
    if run_tests(copy, failed[:1])[0]:
        return report(Outcome(fault, "not applied", f"{failed[0]} fails without the fault"))
    return report(Outcome(fault, "caught", f"{seconds}, {failed[0]}"))


def run_tests(copy: Path, arguments: list[str]) -> tuple[int, list[str]]:
    """pytest's exit code and the tests that failed, or files that could not be collected."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", *arguments]
    # Bytecode is found by a file's time and size: two edits within a second could share one.
    environment = os.environ | {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=copy, env=environment, start_new_session=True, **pipes) as process:
        try:
            output, _ = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # the workers, too
            return ENDLESS, []
    return process.returncode, re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)


def copied(folder: Path) -> Path:
    """A copy of the checkout, with the papers' data next to it as tests expect."""
    copy = folder / "checkout"

    def ignored(folder: str, names: list[str]) -> set[str]:
        generated = {"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis"}
        return generated | {".git", ".venv", "runs", "data", "encoders"} if Path(folder) == ROOT else generated

    shutil.copytree(ROOT, copy, ignore=ignored)
    if (shared := ROOT.parent / "shared").exists():
        (folder / "shared").symlink_to(shared.resolve())
    return copy


def report(outcome: Outcome) -> Outcome:
    """Print an outcome as soon as it is known."""
    print(f"{outcome.result:12} {outcome.fault.name:28} {outcome.detail}", flush=True)
    return outcome


if __name__ == "__main__":
    sys.exit(main())
