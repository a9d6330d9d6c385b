"""The report of a run in a real browser: 100,000 rewordings of SNLI's length and three models, from a file.

How long until the list of all problems can be used, how long a filter takes until it is painted, and how large the page
is. The texts are random words of WordNet, which compress worse than sentences do. Needs chromium and playwright.
"""

from __future__ import annotations

import importlib
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import otherwords as ow

PROBLEMS, TINY_PROBLEMS, VARIANTS = 10_000, 60, 10
#: Words of a premise and a hypothesis of SNLI, on average.
PREMISE, HYPOTHESIS = 14, 8
MODELS = ["first=scripted(seed=1)", "second=scripted(seed=2)", "third=scripted(seed=3)"]
#: From a click, or a key, to the second frame after it: then the browser has painted what it changed to.
SECONDS = """([name, value]) => new Promise(done => {
  const one = document.getElementById('browse-' + name), start = performance.now();
  one.value = value;
  one.dispatchEvent(new Event(name === 'text' ? 'input' : 'change', {bubbles: true}));
  const found = document.getElementById('browse-found');
  const wait = () => requestAnimationFrame(() => requestAnimationFrame(() => done((performance.now() - start) / 1000)));
  if (name !== 'text') { wait(); return; }
  new MutationObserver((_, seen) => { seen.disconnect(); wait(); }).observe(found, {childList: true});
})"""


def run(tiny: bool = False) -> list[dict[str, Any]]:
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
    browsing: Any = importlib.import_module("browsing")
    if reason := browsing.why_not():
        raise SystemExit(reason)
    with tempfile.TemporaryDirectory() as place, browsing.running() as browser:
        page, seconds = written(Path(place), TINY_PROBLEMS if tiny else PROBLEMS)
        loads = [load(browsing, browser, page) for _ in range(1 if tiny else 5)]
        took = filters(browsing, browser, page)
        size = page.stat().st_size / 1e6
    rewordings = f"{(TINY_PROBLEMS if tiny else PROBLEMS) * VARIANTS:,} rewordings, {len(MODELS)} models"
    cost = f"written in {seconds:.1f} s of CPU time, models compared"
    shown = ", ".join(f"{name} {1000 * one:.0f} ms" for name, one in took.items())
    return [
        {"claim": f"a page of {rewordings} opens from a file, until its list can be used (median of {len(loads)})",
         "measured": median(loads), "unit": "s", "at_most": 3, "detail": " ".join(f"{one:.2f}" for one in loads)},
        {"claim": "the slowest of five filters, from the key to the painted list (each the median of 5)",
         "measured": 1000 * max(took.values()), "unit": "ms", "at_most": 200, "detail": shown},
        {"claim": "its size", "measured": size, "unit": "MB", "at_most": 25, "detail": cost},
    ]  # fmt: skip


def written(folder: Path, problems: int) -> tuple[Path, float]:
    """The page of a run of so many problems, and the CPU seconds that writing it once more took."""
    data = folder / "suite.jsonl"
    with data.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in suite(problems))
    study = ow.Study(data=[str(data)], models=MODELS, check=[], canary=False, cache=False)
    done = ow.run(study, out=folder / "run")
    start = time.process_time()
    page = ow.report.rerender(done.folder)
    return page, time.process_time() - start


def suite(problems: int) -> list[dict[str, Any]]:
    """Problems of random words; in each rewording of one, two words of a text are others."""
    from otherwords.words.lexicon import lexicon

    draw = random.Random(1)
    plain = (word for gloss in lexicon().glosses() for word in gloss.lower().split())
    words = sorted({word for word in plain if word.isalpha() and len(word) < 9})
    words = draw.sample(words, min(8_000, len(words)))
    rows = []
    for place in range(problems):
        texts = {"premise": draw.choices(words, k=PREMISE), "hypothesis": draw.choices(words, k=HYPOTHESIS)}
        label = draw.choice(["entailment", "neutral", "contradiction"])
        rows.append({"id": f"p{place}", **_joined(texts), "label": label})
        for number in range(VARIANTS):
            field = draw.choice(["premise", "hypothesis"])
            new = list(texts[field])
            for at in draw.sample(range(len(new)), 2):
                new[at] = draw.choice(words)
            made = {"id": f"p{place}-{number}", "of": f"p{place}", "how": f"generator-{number % 4}", "label": label}
            rows.append({**made, **_joined({**texts, field: new})})
    return rows


def _joined(texts: dict[str, list[str]]) -> dict[str, str]:
    return {name: f"{' '.join(words).capitalize()}." for name, words in texts.items()}


def load(browsing: Any, browser: Any, page: Path) -> float:
    start = time.perf_counter()
    with browsing.opened(browser, page) as visit:
        visit.page.wait_for_selector("html[data-browse=ready]", state="attached")
        took = time.perf_counter() - start
        assert visit.complaints == [], visit.complaints
        assert visit.beyond("file://") == []
    return took


def filters(browsing: Any, browser: Any, page: Path) -> dict[str, float]:
    """Five filters, each on all problems, five times: the median of the seconds until its result is painted."""
    wanted = {"text": "tr", "label": "0", "how": "2", "outcome": "wrong", "order": "flips"}
    found: dict[str, list[float]] = {name: [] for name in wanted}
    with browsing.opened(browser, page) as visit:
        visit.page.wait_for_selector("html[data-browse=ready]", state="attached")
        for _ in range(5):
            for name, value in wanted.items():
                found[name].append(visit.page.evaluate(SECONDS, [name, value]))
                visit.page.evaluate("document.getElementById('browse-form').reset()")
                visit.page.wait_for_timeout(200)
    return {name: median(took) for name, took in found.items()}
