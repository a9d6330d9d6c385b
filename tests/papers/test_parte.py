"""PaRTE's printed digits from the authors' collated file (Verma et al. 2023, Table 2 and the text on its figures)."""

from __future__ import annotations

from math import floor
from pathlib import Path

import polars as pl
import pytest
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.papers.parte import MODELS, reproduce
from otherwords.papers.reproduction import Cell
from otherwords.pipeline import score

DATA = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.fixture(scope="module")
def cells(reproduced) -> dict[tuple[str, str, str], Cell]:
    if not (DATA / "parte").exists():
        pytest.skip("needs shared/data/parte")
    return {(cell.table, cell.row, cell.column): cell for cell in reproduced("parte", DATA)}


def truncated(cell: Cell) -> float:
    return floor(cell.obtained * 10**cell.digits + 1e-9) / 10**cell.digits


@pytest.mark.parametrize("model", MODELS)
def test_accuracy_on_rte_is_exact_when_truncated(cells, model: str) -> None:
    cell = cells["2", model, "RTE"]
    assert truncated(cell) == cell.published
    assert cell.agrees or cell.reason == "printed truncated"


@pytest.mark.parametrize("model", ["BiLSTM", "RoBERTa"])
def test_accuracy_on_parte_is_exact_for_two_models(cells, model: str) -> None:
    assert truncated(cells["2", model, "PaRTE"]) == cells["2", model, "PaRTE"].published


@pytest.mark.parametrize(
    ("model", "changes"), [("BoW", 174), ("BiLSTM", 184), ("BERT", 110), ("RoBERTa", 96), ("GPT-3", 108)]
)
def test_share_of_changed_answers_is_within_six_rows(cells, model: str, changes: int) -> None:
    cell = cells["2", model, "% changed"]
    assert cell.obtained == pytest.approx(100 * changes / 1126, abs=1e-12)
    assert abs(cell.obtained - cell.published) <= 0.54
    assert f"{changes} of 1126 changed there" in cell.reason


@pytest.mark.parametrize("model", MODELS)
def test_the_figures_fit_the_table(cells, model: str) -> None:
    ways = ("correct to incorrect", "incorrect to correct")
    worse, better = (cells["Figure 1", model, way].obtained for way in ways)
    rte, parte, changed = (cells["2", model, column].obtained for column in ("RTE", "PaRTE", "% changed"))
    assert 100 * (worse + better) / 1126 == pytest.approx(changed, abs=1e-9)
    assert 100 * (better - worse) / 1126 == pytest.approx(parte - rte, abs=1e-9)
    one, both = (cells["Figure 2", model, f"{kind} paraphrased"].obtained for kind in ("one", "both"))
    assert (1004 * one + 122 * both) / 1126 == pytest.approx(changed, abs=1e-9)
    assert cells["Figure 2", model, "increase"].obtained == pytest.approx(both - one, abs=1e-12)
    entailed, other = (cells["Figure 3", model, kind].obtained for kind in ("entailed", "not entailed"))
    assert (542 * entailed + 584 * other) / 1126 == pytest.approx(changed, abs=1e-9)
    right, wrong = (cells["Figure 4", model, f"original {kind}"].obtained for kind in ("correct", "incorrect"))
    assert (rte * right + (100 - rte) * wrong) / 100 == pytest.approx(changed, abs=1e-9)
    sizes = {"PP": 28, "IR": 288, "IE": 193, "QA": 234, "SUM": 207, "RC": 68, "MT": 50, "CD": 58}
    by_task = sum(size * cells["Figure 5", model, task].obtained for task, size in sizes.items())
    assert by_task / 1126 == pytest.approx(changed, abs=1e-9)


def test_what_the_text_prints_of_the_figures_is_next_to_the_file(cells) -> None:
    """RoBERTa: 55 of 944 and 41 of 182 in the file; 52 and 38 make the printed 5.5 and 20.88, and 90 of 1126 = 7.99."""
    right, wrong = (cells["Figure 4", "RoBERTa", f"original {kind}"] for kind in ("correct", "incorrect"))
    assert (right.published, wrong.published) == (5.5, 20.88)
    assert [right.obtained, wrong.obtained] == pytest.approx([100 * 55 / 944, 100 * 41 / 182], abs=1e-12)
    increases = [cells["Figure 2", model, "increase"].published for model in MODELS]
    assert increases == [4.01, 6.01, 4.97, 4.83, 3.55]


def test_every_candidate_has_the_jaccard_index_of_the_file(cells) -> None:
    counts = {column: cell.obtained for (table, row, column), cell in cells.items() if row == "candidates"}
    assert (counts.pop("premises"), counts.pop("hypotheses")) == (956, 1493)
    assert counts == dict.fromkeys(("all", "Jaccard as in the file", "Jaccard at most 0.75"), 2449)


def test_examples_are_counted_as_in_the_paper(cells) -> None:
    counts = {column: cell.obtained for (table, row, column), cell in cells.items() if row == "examples"}
    assert counts == {"all": 1126, "premise": 402, "hypothesis": 602, "both": 122, "originals": 884}


def test_every_deviation_has_a_reason(cells) -> None:
    for cell in cells.values():
        if cell.published is not None and not cell.agrees:
            assert cell.reason, cell
    assert {cell.column for cell in cells.values() if cell.obtained is None} == {"MNLI"}


#: What the cells of a model are, as a user would name it: metric and group.
METRICS = {
    ("2", "RTE"): ("accuracy_original_weighted", None),
    ("2", "PaRTE"): ("accuracy_variants", None),
    ("2", "% changed"): ("flip_rate", None),
    ("Figure 2", "one paraphrased"): ("flip_rate", "both=False"),
    ("Figure 2", "both paraphrased"): ("flip_rate", "both=True"),
    ("Figure 3", "entailed"): ("flip_rate", "gold=1"),
    ("Figure 3", "not entailed"): ("flip_rate", "gold=0"),
    ("Figure 4", "original correct"): ("flip_when_right", None),
    ("Figure 4", "original incorrect"): ("flip_when_wrong", None),
    ("Figure 5", "MT"): ("flip_rate", "task=MT"),
}


def test_registered_metrics_give_the_same_digits_and_both_intervals(cells, few_replicates) -> None:
    """The way a user would take: each original once, its paraphrases with it, clusters of one premise."""
    rows = pl.read_parquet(DATA / "parte" / "parte.parquet").with_columns(
        gold=(pl.col("gold_label") == "entailed").cast(pl.Int8), both=pl.col("paraphrased") == "ph"
    )
    common = {"bucket": "original_pair_id", "cluster": "premise", "task": "task", "gold": "gold"}
    variants = rows.select(**common, variant="id", both="both", pred="roberta_par")
    originals = rows.select(**common, pred="roberta_orig").unique("bucket")
    answers = pl.concat([originals, variants], how="diagonal")
    names, found = list(dict.fromkeys(name for name, _ in METRICS.values())), {}
    for group in ("both", "gold", "task"):
        present, former = (
            score(answers, names, by=group, interval=kind, replicates=few_replicates) for kind in ("auto", "percentile")
        )
        found |= {(one.metric, one.group): (one, drawn) for one, drawn in zip(present, former, strict=True)}
    for (table, column), key in METRICS.items():
        cell, (one, drawn) = cells[table, "RoBERTa", column], found[key]
        assert cell.obtained == pytest.approx(100 * one.value, abs=1e-12), column
        assert cell.interval == pytest.approx((100 * one.low, 100 * one.high), abs=1e-12), column
        assert cell.percentile == pytest.approx((100 * drawn.low, 100 * drawn.high), abs=1e-12), column


def test_counts_and_differences_have_no_interval(cells) -> None:
    without = {(table, column) for (table, _, column), cell in cells.items() if cell.interval is None}
    assert {column for table, column in without if table == "2"} == {"MNLI"}
    assert {column for table, column in without if table == "Figure 2"} == {"increase"}
    assert {table for table, _ in without} == {"2", "Section 3", "Figure 1", "Figure 2"}
    assert all((cell.interval is None) == (cell.percentile is None) for cell in cells.values())


def test_missing_data_are_named(tmp_path: Path) -> None:
    with refuses(BadInput):
        reproduce(tmp_path)
