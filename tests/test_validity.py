"""The judged validity of the generators: what the documentation prints is what the verdicts say."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import otherwords as ow
from otherwords.significance.proportions import wilson

ROOT = Path(__file__).parents[1]
ROWS = {
    "keep the label": "label preserved",
    "are grammatical, no slip": "grammatical",
    "are **sound**: keep the label, at most a slip": "sound",
    "are sound without a slip": "sound, no slip",
}


def load_script(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def script():
    return load_script("validity_rates")


@pytest.fixture(scope="module")
def verdicts():
    return pl.read_csv(ROOT / "docs" / "validity" / "verdicts.csv.gz")


def test_every_item_is_judged_twice(verdicts):
    assert verdicts.group_by("item").len()["len"].unique().to_list() == [2]
    assert verdicts.select("item", "judge").is_unique().all()
    assert set(verdicts["label_preserved"]) == {"yes", "no"}
    assert set(verdicts["grammar"]) <= {"ok", "minor", "bad"}


def test_the_page_says_what_the_verdicts_say(script, verdicts):
    rates = script.rates(verdicts).filter(pl.col("judge") == "both")
    lines = (ROOT / "docs" / "validity" / "README.md").read_text(encoding="utf-8").splitlines()
    for head, kind in ROWS.items():
        found = rates.filter(pl.col("verdict") == kind).sort("generator")
        cells = [
            f"{100 * s:.1f} % [{100 * a:.1f}, {100 * b:.1f}]" for s, a, b in found.select("share", "low", "high").rows()
        ]
        assert f"| {head} | {' | '.join(cells)} |" in lines


def test_rates_by_hand(script):
    rows = [("i", "A", "yes", "ok"), ("i", "B", "yes", "minor"), ("j", "A", "yes", "ok"), ("j", "B", "no", "bad")]
    table = pl.DataFrame(rows, ["item", "judge", "label_preserved", "grammar"], orient="row")
    found = script.rates(table.with_columns(pl.lit("g").alias("generator")))
    yes = {(judge, kind): n for judge, kind, n in found.select("judge", "verdict", "yes").rows()}
    assert [yes["A", kind] for kind in ROWS.values()] == [2, 2, 2, 2]
    assert [yes["B", kind] for kind in ROWS.values()] == [1, 0, 1, 0]
    assert [yes["both", kind] for kind in ROWS.values()] == [1, 0, 1, 0]
    assert script.agreement(table, "label preserved") == (0.5, 0.0)


@pytest.mark.parametrize(
    ("spec", "seed", "count"),
    [("wordnet.v1", "SEED", 10), ("structural.v1", "SEED_EACH", 10), ("masked-lm(least=1)", "SEED_EACH", 2)],
)
def test_some_variants_are_still_what_was_judged(spec, seed, count, verdicts):
    """The thin version of what follows: a few problems, each with the variant that was judged among its own."""
    shared_data()
    sample = load_script("validity_sample")
    judgements = verdicts.filter(pl.col("generator") == first_version(spec)).unique("item").sort("problem")
    some = judgements.head(count)
    suite = sample.problems()[0].filter(pl.col("id").is_in(some["problem"].to_list()))
    originals = {row["id"]: row for row in suite.iter_rows(named=True)}
    variants = ow.vary(suite, [spec], seed=getattr(sample, seed))
    items = {sample.item(originals[row["of"]], row)["item"] for row in variants.iter_rows(named=True)}
    assert set(some["item"]) <= items


@pytest.mark.slow
def test_the_synonyms_are_still_what_was_judged(verdicts, tmp_path):
    data = shared_data()
    veto = tmp_path / "veto.txt"
    veto.write_text("\n".join(json.loads((data / "veto.json").read_text())["snli"]), encoding="utf-8")
    assert drawn(tmp_path, "--veto", str(veto)) == judged(verdicts, "wordnet-ie.v1", "wordnet.v1")


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["structural.v1", "masked-lm(least=1)"])
def test_the_others_are_still_what_was_judged(spec, verdicts, tmp_path):
    shared_data()
    assert drawn(tmp_path, "--each", spec) == judged(verdicts, first_version(spec))


def first_version(spec: str) -> str:
    """The full name of the generator that was judged."""
    return f"{spec.partition('(')[0].removesuffix('.v1')}.v1"


def shared_data() -> Path:
    data = ROOT.parent / "shared" / "data" / "ie_test"
    if not data.exists():
        pytest.skip("needs shared/data/ie_test")
    pytest.importorskip("spacy")
    return data


def drawn(folder: Path, *options: str) -> set[str]:
    """The items that the script lays out."""
    script = [sys.executable, str(ROOT / "scripts" / "validity_sample.py"), str(folder), *options]
    subprocess.run(script, check=True, capture_output=True)
    return {json.loads(line)["item"] for line in (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()}


def judged(verdicts: pl.DataFrame, *generators: str) -> set[str]:
    return set(verdicts.filter(pl.col("generator").is_in(generators))["item"])


@pytest.mark.parametrize(
    ("reading", "heading"),
    [
        (2, "## A strict reading of problems that nobody had read"),
        (3, "### A third reading, after the guards"),
        (4, "### A fourth reading"),
    ],
)
def test_a_strict_reading_says_what_its_verdicts_say(reading, heading):
    rows = pl.read_csv(ROOT / "docs" / "validity" / "strict.csv.gz").filter(pl.col("reading") == reading)
    page = (ROOT / "docs" / "validity" / "README.md").read_text(encoding="utf-8")
    table = page.partition(heading)[2].partition("\n- ")[0]
    for (generator,), part in rows.group_by("generator"):
        line = next(one for one in table.splitlines() if one.startswith(f"| `{generator}"))
        cells = line.split("|")[2:6]
        for domain, cell in zip(("captions", "genres", "news", "everyday"), cells, strict=True):
            own = part.filter(pl.col("domain") == domain)
            sound = own.filter((pl.col("first") == "yes") & (pl.col("second").fill_null("yes") == "yes")).height
            low, high = wilson(sound, own.height, 0.95)
            assert cell.strip() == f"{sound} of {own.height} [{low:.1%}, {high:.1%}]".replace("%", "")
