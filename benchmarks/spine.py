"""All that is not the model: a whole `run` with a model that costs nothing, against `bare`, rows of one kind."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

import otherwords as ow

from . import isolated

#: Texts that are asked: originals and variants.
ASKED, TINY_ASKED = 500_000, 2_000
PER_PROBLEM = 4
REPEATS, TINY_REPEATS = 3, 1
#: The forms of the data: which of the texts that are asked are there already.
FORMS = {"suite": "a Parquet suite", "contractions": "half of them made by contractions"}
#: `scores.json` of each form and size (SHA-256), as the version before the stages became columnar wrote it,
#: with VERSION in the place of the package's version.
SCORES = {
    ("suite", 2_000): "e5289180f29ac9fbf4eb46344f7a633e5a0de0c06853a08ebccac857f613217e",
    ("contractions", 2_000): "60c51c2d77e1584322c04b314e86745ef035bc8bdab39324b54e75551fcabdaf",
    ("suite", 500_000): "e6a9d50c1cb9360fb8d8a102942e185e528d7474e9691f2ea6d672cc71335621",
    ("contractions", 500_000): "fec851af986f82caea9524f07e0ffa06f9abca3fbc412ccdf511961c357007f1",
}
#: A model that costs next to nothing, and does not say the same to everything.
MODEL = """
LABELS = ("entailment", "neutral", "contradiction")
def ask(batch):
    return [LABELS[len(premise) % 3] for premise in batch["premise"]]
"""

_BARE = """
from pathlib import Path
from benchmarks import bare
times = resource.getrusage(resource.RUSAGE_SELF)
wall = bare.run(Path(sys.argv[1]), Path(sys.argv[2]))
after = resource.getrusage(resource.RUSAGE_SELF)
report(wall=wall, cpu=after.ru_utime + after.ru_stime - times.ru_utime - times.ru_stime)
"""
_RUN = """
import os, time, warnings
data, folder, *vary = sys.argv[1:]
os.chdir(folder)
warnings.simplefilter("ignore")
import otherwords as ow
from otherwords.running.runner import run
times, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
done = run(data=[data], vary=vary, models=["python:model.py:ask"], cache="cache.sqlite", canary=False, out="out")
wall = time.perf_counter() - start
after = resource.getrusage(resource.RUSAGE_SELF)
report(wall=wall, cpu=after.ru_utime + after.ru_stime - times.ru_utime - times.ru_stime,
       stages=done.manifest["timings"], asked=done.manifest["counts"]["asked"])
"""


def run(tiny: bool = False) -> list[dict[str, Any]]:
    asked, repeats = (TINY_ASKED, TINY_REPEATS) if tiny else (ASKED, REPEATS)
    with tempfile.TemporaryDirectory() as place:
        data = {name: Path(place) / f"{name}.parquet" for name in FORMS}
        for name, path in data.items():
            make_data(name, path, asked)
        return [_compare(name, path, data["suite"], asked, repeats) for name, path in data.items()]


def _compare(name: str, data: Path, suite: Path, asked: int, repeats: int) -> dict[str, Any]:
    """One form of the work: the median of its repetitions, each beside one of the bare loop."""
    pairs = []
    for _ in range(repeats):  # in turns, so that a busy moment hits both
        with tempfile.TemporaryDirectory() as folder:
            bare = isolated.run(_BARE, str(suite), folder)
            ours = study(name, data, Path(folder))
            assert ours["asked"] == asked, f"{ours['asked']} texts were asked, not {asked}"
            refuse_other_scores(name, asked, Path(folder) / "out" / "scores.json")
            pairs.append((ours["wall"] / bare["wall"], ours, bare))
    ratio, ours, bare = sorted(pairs, key=lambda pair: pair[0])[len(pairs) // 2]
    rest = ours["wall"] - sum(ours["stages"].values())
    stages = ", ".join(f"{stage} {1e6 * seconds / asked:.1f}" for stage, seconds in ours["stages"].items())
    detail = f"{ours['wall']:.1f} s against {bare['wall']:.1f} s (CPU {ours['cpu']:.1f} against {bare['cpu']:.1f}); "
    detail += f"microseconds a text: {stages}, report and the rest {1e6 * rest / asked:.1f}; "
    detail += f"peak {ours['peak_mb']:.0f} MB; ratios {', '.join(f'{one:.1f}' for one, *_ in pairs)}"
    claim = f"a whole run of {asked:,} texts, {FORMS[name]}, times the bare loop"
    return {"claim": claim, "measured": ratio, "unit": "x", "at_most": 4, "detail": detail}


def study(name: str, data: Path, folder: Path) -> dict[str, Any]:
    """Run the study of this form in a folder, in a process of its own; say what it took."""
    (folder / "model.py").write_text(MODEL)
    vary = ["contractions(field=premise)"] if name == "contractions" else []
    return isolated.run(_RUN, str(data), str(folder), *vary)


def refuse_other_scores(name: str, asked: int, scores: Path) -> None:
    """Raise where the scores are not those of the version before."""
    content = scores.read_bytes().replace(ow.__version__.encode(), b"VERSION")
    found, wanted = hashlib.sha256(content).hexdigest(), SCORES.get((name, asked), "")
    if wanted and found != wanted:
        raise SystemExit(f"{name}, {asked:,} texts: scores.json has changed: {found} instead of {wanted}")


def make_data(name: str, path: Path, asked: int) -> None:
    """The data of this form with which so many texts are asked."""
    if name == "suite":
        _make_suite(path, asked)
    else:
        _make_problems(path, asked // 2)


def write_problems(path: Path, pairs: Iterable[tuple[str, str]], labels: Sequence[str] = ("neutral",)) -> None:
    """Problems in JSON Lines: premises and hypotheses, under the labels in turn."""
    with path.open("w") as file:
        for number, (premise, hypothesis) in enumerate(pairs):
            texts = {"id": f"p{number}", "premise": premise, "hypothesis": hypothesis}
            file.write(json.dumps({**texts, "label": labels[number % len(labels)]}) + "\n")


def _make_suite(path: Path, count: int) -> None:
    """Originals, each before its variants, as a run would write them."""
    each = PER_PROBLEM + 1
    number, place = pl.int_range(count) // each, pl.int_range(count) % each
    text = pl.format("Person {} walked {} metres along the river before breakfast", number, number % 977)
    wording = pl.when(place == 0).then(pl.lit(".")).otherwise(pl.format(", it is said in wording {}.", place * place))
    frame = pl.select(
        pl.when(place == 0).then(pl.format("p{}", number)).otherwise(pl.format("p{}~{}", number, place)).alias("id"),
        pl.when(place > 0).then(pl.format("p{}", number)).alias("of"),
        (text + wording).alias("premise"),
        pl.format("Person {} was up early.", number).alias("hypothesis"),
        label=pl.lit("neutral"),
    )
    frame.write_parquet(path)


def _make_problems(path: Path, count: int) -> None:
    """Problems with one contraction each, in the premise."""
    number = pl.int_range(count)
    frame = pl.select(
        pl.format("p{}", number).alias("id"),
        pl.format("Person {} isn't {} metres from the river on this cold day.", number, number % 977).alias("premise"),
        pl.format("Person {} was up early.", number).alias("hypothesis"),
        label=pl.lit("neutral"),
    )
    frame.write_parquet(path)
