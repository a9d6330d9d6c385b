"""Memory is flat in the size of the input: `vary` and `answer` from file to file, and a whole `run` with its report."""

from __future__ import annotations

import json
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

from . import isolated, spine

PER_PROBLEM = 4
SIZES = (250_000, 1_000_000)
#: Rows of a whole run: originals and variants.
RUN_SIZES = (250_000, 2_000_000)
TINY_SIZES = (40, 80)

_WORK = """
import time, warnings
from otherwords.datasets.source import Source
from otherwords.running.files import answer_files, vary_files
problems, recorded, folder = sys.argv[1:4]
start = time.perf_counter()
done = vary_files(Source([problems]), f"{folder}/suite.jsonl", [f"recorded(path={recorded})"], suite=True)
between = time.perf_counter()
answered = answer_files(Source([f"{folder}/suite.jsonl"]), f"{folder}/answers.parquet", ["scripted(otherwise=neutral)"],
                        cache=f"{folder}/cache.sqlite", canary=False)
report(variants=done.counts["variants"], rows=answered.rows, vary=between - start, answer=time.perf_counter() - between)
"""


def run(tiny: bool = False) -> list[dict[str, Any]]:
    return [_stages(tiny), *(_whole_run(form, tiny) for form in spine.FORMS)]


def _whole_run(form: str, tiny: bool) -> dict[str, Any]:
    """The peak of a run, scores and report included, at two sizes."""
    peaks, sizes = [], TINY_SIZES if tiny else RUN_SIZES
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "data.parquet"
            spine.make_data(form, data, size)
            peaks.append(spine.study(form, data, Path(folder)))
            assert peaks[-1]["asked"] == size
    detail = "; ".join(
        f"{size:,} rows: peak {one['peak_mb']:.0f} MB, {one['wall']:.0f} s"
        for size, one in zip(sizes, peaks, strict=True)
    )
    claim = f"peak memory of a whole run ({spine.FORMS[form]}) at {sizes[1]:,} rows above that at {sizes[0]:,}"
    growth = peaks[1]["peak_mb"] - peaks[0]["peak_mb"]
    return {"claim": claim, "measured": growth, "unit": "MB", "at_most": 150, "detail": detail}


def _stages(tiny: bool) -> dict[str, Any]:
    peaks, sizes = {}, TINY_SIZES if tiny else SIZES
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            problems, recorded = Path(folder) / "problems.jsonl", Path(folder) / "recorded.jsonl"
            _make(problems, recorded, size // PER_PROBLEM)
            peaks[size] = isolated.run(_WORK, str(problems), str(recorded), folder)
            assert peaks[size]["variants"] == size
            assert peaks[size]["rows"] == size + size // PER_PROBLEM
    few, many = (peaks[size] for size in sizes)
    detail = "; ".join(
        f"{size:,} variants: peak {peaks[size]['peak_mb']:.0f} MB, vary {peaks[size]['vary']:.0f} s, "
        f"answer {peaks[size]['answer']:.0f} s"
        for size in sizes
    )
    claim = f"peak memory of vary + answer at {sizes[1]:,} variants above that at {sizes[0]:,}"
    growth = many["peak_mb"] - few["peak_mb"]
    return {"claim": claim, "measured": growth, "unit": "MB", "at_most": 150, "detail": detail}


def _make(problems: Path, recorded: Path, count: int) -> None:
    walk = "walked {} metres along the river before breakfast on a cold day"
    texts = ((f"Person {n} {walk.format(n % 977)}.", f"Person {n} was up early.") for n in range(count))
    spine.write_problems(problems, texts)
    with recorded.open("w") as file:
        for number, variant in product(range(count), range(PER_PROBLEM)):
            text = f"It was early when person {number} got up, wording {variant}."
            file.write(json.dumps({"of": f"p{number}", "hypothesis": text}) + "\n")
