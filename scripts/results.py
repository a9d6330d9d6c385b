"""How nli-small fares on the whole SNLI test set, generator by generator, and on the contrast suites: docs/results.md.

    python scripts/results.py measure --data snli_test.jsonl --veto veto.txt [--contrast SPEC ...] [--only NAME ...]
    python scripts/results.py measure-mnli --data mnli.jsonl --veto veto.txt --draw 3000 [--only NAME ...]
    python scripts/results.py render

`measure` runs the studies into runs/results and writes docs/results/scores.json; `render` writes its tables into the
page, between the marks that name them. Nothing is cached between studies, so that the times are those of the work.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl

import otherwords as ow
from otherwords.papers.merge import over_draws

ROOT = Path(__file__).parents[1]
PAGE, SCORES = ROOT / "docs" / "results.md", ROOT / "docs" / "results" / "scores.json"
RUNS = ROOT / "runs" / "results"
#: Of the problems that `--draw` chooses.
SEED = 20_261_118
#: With the IE paper's veto list; several variants where a generator can; MERGE's all, and as its paper has them.
GENERATORS = {
    "wordnet-ie": "wordnet-ie(veto={veto})",
    "wordnet.v1": "wordnet.v1(n=5)",
    "masked-lm": "masked-lm(least=1, n=0)",
    "masked-lm, as in the paper": "masked-lm(subsamples=10)",
    "structural.v1": "structural.v1(n=0)",
    "structural.v2": "structural.v2(n=0, domain={domain})",
    "wordnet.v2": "wordnet.v2(n=5)",
    "reworded": "reworded.v1(n=3, domain={domain})",
    "identity": "identity",
}
#: On MNLI, without MERGE: 30 % of its variants there are unsound, and there would be many.
ON_MNLI = ("wordnet-ie", "wordnet.v1", "structural.v1", "structural.v2", "wordnet.v2", "reworded")
METRICS = ("accuracy_original", "accuracy_variants", "flip_rate", "p_c", "p_c_distinct", "r_r", "r_s",
           "r_s_without_neutral", "r_r_at(k=1)", "r_s_at(k=1)", "pa", "pa_curve(step=0.1)")  # fmt: skip
CONTROLS = ("control_flips",)
CONTRASTS = ("sensitivity", "contrast_accuracy", "contrast_consistency")
Shown = dict[str, Any]


def measure(data: str, veto: str, contrasts: list[str], only: list[str]) -> None:
    """Run a study per generator and per contrast suite; keep what earlier calls measured of the others."""
    kept: Shown = json.loads(SCORES.read_text()) if SCORES.exists() else {"generators": {}, "contrasts": {}}
    kept["machine"] = f"{platform.machine()}, 2 cores, Python {platform.python_version()}"
    for name, spec in GENERATORS.items():
        if not only or name in only:
            metrics = CONTROLS if name == "identity" else METRICS
            kept["generators"][name] = study(name, [data], [spec.format(veto=veto, domain="captions")], metrics)
            _save(kept)
    for spec in contrasts:
        name = spec.partition(":")[0]
        if not only or name in only:
            kept["contrasts"][name] = study(name, [spec], [], CONTRASTS)
            _save(kept)


def measure_mnli(data: str, veto: str, only: list[str]) -> None:
    """The same on MNLI, for the generators that are measured there; answers are kept from one to the next."""
    kept: Shown = json.loads(SCORES.read_text())
    for name in ON_MNLI:
        if not only or name in only:
            vary = [GENERATORS[name].format(veto=veto, domain="genres")]
            done = study(f"mnli-{name}", [data], vary, METRICS, cache=str(RUNS / "mnli.db"))
            kept.setdefault("mnli", {})[name] = done
            _save(kept)


def drawn(data: str, count: int) -> str:
    """A file with some of the problems of a data set, in its order."""
    problems = ow.load(data)
    chosen = sorted(random.Random(SEED).sample(range(problems.height), count))
    path = RUNS / f"drawn-{Path(data.rpartition(':')[2]).stem}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    problems[chosen].select("id", "premise", "hypothesis", "label").write_ndjson(path)
    return str(path)


def study(name: str, data: list[str], vary: list[str], metrics: tuple[str, ...], cache: str | None = None) -> Shown:
    """One run from nothing: its scores, counts and seconds by stage."""
    shutil.rmtree(RUNS / name, ignore_errors=True)
    done = ow.run(
        name=name, data=data, vary=vary, models=["nli-small"], metrics=list(metrics), cache=cache, out=RUNS / name
    )
    found = {
        one.metric: [one.value, one.low, one.high, one.n_units, one.n_answers] for one in done.scores if not one.group
    }
    study = {"signature": done.manifest["signatures"].get("vary", [""]), "counts": done.manifest["counts"]}
    varied, draws = None, []
    if vary and name != "identity":
        answers = pl.read_parquet(sorted((RUNS / name / "answers").glob("*/*.parquet")))
        seeds = answers.filter(pl.col("bucket").is_in(answers.drop_nulls("variant")["bucket"].implode()))
        [own] = ow.score(seeds, ["accuracy_original"])
        varied, found["accuracy_seeds"] = own.n_units, [own.value, own.low, own.high, own.n_units, own.n_answers]
        if "subsamples" in answers.columns:
            draws = over_draws(answers, ("accuracy_variants", "pa")).to_dicts()
    print(name, done.manifest["timings"], flush=True)
    return {**study, "varied": varied, "seconds": done.manifest["timings"], "scores": found, "draws": draws}


def _save(kept: Shown) -> None:
    SCORES.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def tables(kept: Shown) -> dict[str, str]:
    """The tables of the page, by name."""
    makers = {"rates": _rates, "mnli": _mnli, "draws": _draws, "curve": _curve, "contrasts": _contrasts, "time": _time}
    return {name: make(kept) for name, make in makers.items()}


def _mnli(kept: Shown) -> str:
    return _rates({"generators": kept["mnli"]}) if "mnli" in kept else "not measured"


def _rates(kept: Shown) -> str:
    names = [name for name in kept["generators"] if name != "identity"]
    wanted = {
        "accuracy on the problems that have a variant": "accuracy_seeds",
        "accuracy on the variants (SA)": "accuracy_variants",
        "flip rate": "flip_rate", "P_C": "p_c", "P_C, distinct pairs": "p_c_distinct", "PA at 0.9": "pa",
        "r_r": "r_r", "r_s": "r_s", "r_s without neutral": "r_s_without_neutral",
        "r_r at one variant": "r_r_at", "r_s at one variant": "r_s_at",
    }  # fmt: skip
    lines = _head("", names)
    lines += [_line("problems with a variant", [f"{kept['generators'][n]['varied']:,}" for n in names])]
    lines += [_line("variants", [f"{kept['generators'][n]['counts']['variants']:,}" for n in names])]
    for title, metric in wanted.items():
        lines.append(_line(title, [_cell(kept["generators"][name]["scores"].get(metric)) for name in names]))
    return "\n".join(lines)


def _draws(kept: Shown) -> str:
    """MERGE as its paper scores it: the mean over the draws, and the range."""
    [found] = [one["draws"] for one in kept["generators"].values() if one.get("draws")]
    lines = _head("over ten draws of twenty", ["mean", "range"])
    for one in found:
        value, least, most = (f"{100 * one[name]:.1f}" for name in ("value", "least", "most"))
        lines.append(_line(one["metric"], [f"{value} %", f"{least} to {most} %"]))
    return "\n".join(lines)


def _curve(kept: Shown) -> str:
    names = [name for name in kept["generators"] if name != "identity"]
    points = [name for name in kept["generators"][names[0]]["scores"] if name.startswith("pa_curve")]
    lines = _head("at least this share right", names)
    for point in points:
        share = re.sub(r"[^\d.]", "", point.removeprefix("pa_curve"))
        lines.append(_line(share, [_cell(kept["generators"][name]["scores"][point]) for name in names]))
    return "\n".join(lines)


def _contrasts(kept: Shown) -> str:
    names = list(kept["contrasts"])
    lines = _head("", names)
    lines += [_line(m, [_cell(kept["contrasts"][name]["scores"].get(m)) for name in names]) for m in CONTRASTS]
    return "\n".join(lines)


def _time(kept: Shown) -> str:
    stages = ("variants", "answers", "scores")
    lines = _head("seconds", [*stages, "in all"])
    for name, one in kept["generators"].items():
        if not one["seconds"]:  # measured on a busy machine
            continue
        seconds = [f"{one['seconds'][stage]:.0f}" for stage in stages]
        lines.append(_line(name, [*seconds, f"{sum(one['seconds'].values()):.0f}"]))
    return "\n".join(lines)


def _head(first: str, names: list[str] | tuple[str, ...]) -> list[str]:
    return [_line(first, list(names)), "|" + "---|" * (len(names) + 1)]


def _line(title: str, cells: list[str]) -> str:
    return f"| {title} | {' | '.join(cells)} |"


def _cell(score: list[Any] | None) -> str:
    if score is None or score[0] is None:
        return "–"
    value, low, high = (f"{100 * number:.1f}" for number in score[:3])
    return f"{value} % [{low}, {high}]"


def render() -> None:
    """Write the tables into the page."""
    page, kept = PAGE.read_text(encoding="utf-8"), json.loads(SCORES.read_text(encoding="utf-8"))
    for name, table in tables(kept).items():
        before, mark, rest = page.partition(f"<!-- {name} -->\n")
        page = before + mark + table + "\n" + rest[rest.index(f"<!-- /{name} -->") :]
    PAGE.write_text(page, encoding="utf-8")


def main() -> None:
    """Measure, or write the page anew."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["measure", "measure-mnli", "render"])
    parser.add_argument("--data", help="the labelled problems of the SNLI test set, as a data set is named")
    parser.add_argument("--veto", help="the IE paper's list for SNLI, one word a line")
    parser.add_argument("--contrast", nargs="*", default=[], help="contrast suites, as data sets are named")
    parser.add_argument("--only", nargs="*", default=[], help="measure these alone")
    parser.add_argument("--draw", type=int, help="measure on so many of the problems, drawn by a seed")
    given = parser.parse_args()
    if given.draw:
        given.data = drawn(given.data, given.draw)
    if given.what == "measure":
        measure(given.data, given.veto, given.contrast, given.only)
    if given.what == "measure-mnli":
        measure_mnli(given.data, given.veto, given.only)
    render()


if __name__ == "__main__":
    main()
