"""The figures and tables of an IE experiment: all of the paper's are there or said not to be; files hold numbers."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
from ie_experiments import analysed, cells_of, experiment

from otherwords.papers.ie_figures import Absent, Exhibit, exhibits, text, write
from otherwords.papers.ie_results import IEResults, ResultSettings, results
from otherwords.profiling import profile

SVG = "{http://www.w3.org/2000/svg}"
#: Figures 1 and 2 of the paper are drawings without data.
EXPECTED = {*(f"Figure {i}" for i in range(3, 9)), *(f"Table {i}" for i in range(1, 19))}


@pytest.fixture(scope="module")
def whole() -> IEResults:
    """An experiment that knows all there is to know: verdicts, texts, a profile, searched options, a collapsed run."""
    matched = experiment(rows=90, models=("bag of words", "net|1"), rho=(0.0, 0.4, 1.0))
    constant = (pl.col("model") == "net|1") & (pl.col("rho") == 1.0) & (pl.col("run") == 2)
    one = [
        pl.when(constant).then(pl.lit("neutral")).otherwise(pl.col(side)).alias(side) for side in ("before", "after")
    ]
    other = matched.with_columns(one).with_columns(dataset=pl.lit("other/set"))
    matched = pl.concat([matched, other])
    cells = cells_of(matched).with_row_index("seconds").with_columns(
        pl.col("seconds") * 1.5,
        trainer=pl.format("boosted.v1(rounds={}, depth=3)", pl.col("run") + 10),
        train_rows=pl.lit(500),
    )  # fmt: skip
    ids = [f"t{i}" for i in range(90)]
    before, after = [f"A man | {i}\nruns." for i in range(90)], [f"An adult male {i} runs." for i in range(90)]
    texts = pl.DataFrame({"id": ids, "premise": before, "premise_after": after})
    judged = texts.head(6).with_columns(split=pl.lit("test"), sound=pl.Series([True, True, False, None, True, False]))
    suite = {
        "id": ["a", "a1", "b", "b1"], "of": [None, "a", None, "b"], "how": [None, "mine", None, "mine"],
        "label": ["entailment"] * 2 + ["neutral"] * 2, "hypothesis": ["He is outdoors."] * 4,
        "premise": ["A man runs.", "An adult male runs.", "A man sat.", "An adult male sat."],
    }  # fmt: skip
    how = ResultSettings(
        replicates=300,
        sound={"toy": {"test": (3, 5)}},
        judged={"toy": judged},
        texts={"toy": texts, "other/set": texts},
        profiles={"toy": profile(pl.DataFrame(suite))},
        spaces={"net|1": {"rounds": "10 to 30"}},
    )
    return results(cells, matched, how)


def numbered(papers: str) -> set[str]:
    """The figures and tables that a title names: "Tables 3 to 6", "Figures 4 and 5", "Table 2"."""
    kind, _, rest = papers.partition(" ")
    numbers = [int(one) for one in re.findall(r"\d+", rest)]
    every = range(numbers[0], numbers[-1] + 1) if " to " in rest else numbers
    return {f"{kind.removesuffix('s')} {one}" for one in every}


def covered(found: IEResults) -> set[str]:
    named = [one.paper for one in exhibits(found) if one.paper.startswith(("Figure", "Table"))]
    return set().union(*map(numbered, named))


def test_every_figure_and_table_of_the_paper_has_its_counterpart(whole: IEResults) -> None:
    assert covered(whole) == EXPECTED
    assert not [one for one in exhibits(whole) if isinstance(one, Absent)]


def test_what_cannot_be_shown_is_said_with_its_reason() -> None:
    bare = analysed(experiment().with_columns(after="before"))
    assert covered(bare) == EXPECTED
    absent = {one.paper: one.why for one in exhibits(bare) if isinstance(one, Absent)}
    assert set(absent) == {"Figure 8", "Tables 3 to 6", "Tables 7 to 12", "Tables 13 to 15", "Tables 17 and 18"}
    assert all(absent.values())


def test_files_hold_the_tables_and_pictures(whole: IEResults, tmp_path: Path) -> None:
    written = write(whole, tmp_path / "results")
    assert sorted(written) == sorted((tmp_path / "results").iterdir())
    for one in exhibits(whole):
        assert isinstance(one, Exhibit)
        assert re.fullmatch(r"[\w.-]+", one.name)
        table = pl.read_csv(tmp_path / "results" / f"{one.name}.csv")
        assert (table.columns, table.height) == (one.frame.columns, one.frame.height)
        assert (tmp_path / "results" / f"{one.name}.svg").exists() == bool(one.svg) == one.name.startswith("figure")
    runs = pl.read_csv(tmp_path / "results" / "runs.csv")
    assert runs.height == 24
    assert runs["p_exact"].to_list() == whole.runs["p_exact"].to_list()
    page = (tmp_path / "results" / "results.md").read_text(encoding="utf-8")
    for one in exhibits(whole):
        assert one.title in page
    assert all((tmp_path / "results" / name).exists() for name in re.findall(r"\]\(([^)]+)\)", page))
    assert text(whole) in page
    assert (tmp_path / "results" / "results.txt").read_text(encoding="utf-8") == text(whole) + "\n"


def test_times_are_in_a_file_of_their_own(whole: IEResults, tmp_path: Path) -> None:
    slower = IEResults(**{**whole.__dict__, "runs": whole.runs.with_columns(pl.col("seconds") + 9)})
    for name, found in (("one", whole), ("two", slower)):
        write(found, tmp_path / name)
    differ = {
        file.name
        for file in (tmp_path / "one").iterdir()
        if file.read_bytes() != (tmp_path / "two" / file.name).read_bytes()
    }
    assert differ == {"timings.csv"}


def test_an_earlier_analysis_leaves_nothing_behind_and_nothing_foreign_is_touched(
    whole: IEResults, tmp_path: Path
) -> None:
    write(whole, tmp_path / "used")
    (tmp_path / "used" / "table-99.csv").write_text("mine", encoding="utf-8")
    bare = analysed(experiment())
    write(bare, tmp_path / "used")
    write(bare, tmp_path / "fresh")
    used, fresh = ({file.name for file in (tmp_path / name).iterdir()} for name in ("used", "fresh"))
    assert used - fresh == {"table-99.csv"}


def by_name(found: IEResults) -> dict[str, Exhibit]:
    return {one.name: one for one in exhibits(found) if isinstance(one, Exhibit)}


def test_pictures_are_well_formed_and_show_every_point(whole: IEResults) -> None:
    points = {"figure-3": 12, "figure-4-toy": 12, "figure-4-other_set": 12, "figure-6": 12, "figure-7": 12}
    for name, count in points.items():
        tree = ElementTree.fromstring(by_name(whole)[name].svg)
        signs = [path.get("d", "") for path in tree.iter(f"{SVG}path") if path.get("fill") not in (None, "none")]
        assert sum(sign.count("M") for sign in signs) == count + 2  # and one for each curve in the legend
        assert next(one.text for one in tree.iter(f"{SVG}title")) == by_name(whole)[name].title
        assert "share of transformed training items (rho)" in {one.text for one in tree.iter(f"{SVG}text")}


def test_accuracies_have_their_deviations_as_bars(whole: IEResults) -> None:
    frame = by_name(whole)["figure-4-toy"].frame
    bars = sum((frame[f"accuracy_{side}_std"] > 0).sum() for side in ("before", "after"))
    tree = ElementTree.fromstring(by_name(whole)["figure-4-toy"].svg)
    drawn = [path.get("d", "") for path in tree.iter(f"{SVG}path") if path.get("fill") == "none"]
    assert sum(path.count("V") for path in drawn) == bars > 6


def test_figure_3_shows_the_baseline_alone_where_one_is_named() -> None:
    found = analysed(experiment(), ResultSettings(replicates=300, baseline="b"))
    assert by_name(found)["figure-3"].frame["model"].unique().to_list() == ["b"]
    assert "rejected below 0.025" in by_name(found)["figure-3"].svg


def test_hyperparameters_stand_beside_their_space(whole: IEResults) -> None:
    rows = by_name(whole)["table-7-net_1"].frame.rows(named=True)
    assert [row["option"] for row in rows] == ["trainer", "rounds", "depth"]
    assert rows[1] == {
        "option": "rounds",
        "space": "10 to 30",
        "toy": "11 (x3), 12 (x3)",
        "other/set": "11 (x3), 12 (x3)",
    }
    assert "there was no search" in by_name(whole)["table-7-bag_of_words"].title
    assert "space" not in by_name(whole)["table-7-bag_of_words"].frame.columns


def test_judged_pairs_and_hard_cases_are_shown_with_their_texts(whole: IEResults, tmp_path: Path) -> None:
    found = by_name(whole)
    assert found["table-3-toy"].frame["id"].to_list() == ["t0", "t1", "t4"]
    assert found["table-4-toy"].frame["id"].to_list() == ["t2", "t5"]
    assert found["table-17-toy"].frame["premise_after"].null_count() == 0
    write(whole, tmp_path)
    page = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "A man \\| 0 runs." in page  # neither a column nor a line of its own


def test_the_profile_is_in_figure_8_and_tables_13_to_15(whole: IEResults) -> None:
    found = by_name(whole)
    assert found["figure-8-toy"].frame.rows() == [("man", "adult male", 2, 1.0)]
    assert "man → adult male" in found["figure-8-toy"].svg
    assert "100.0 % of the training problems change" in found["table-13-toy"].title
    assert found["table-15"].frame.height > 0
    assert found["table-15"].shown is not None
    assert found["table-15"].shown.height == 0  # no such word came or went


def test_the_summary_has_a_line_for_each_setting(whole: IEResults) -> None:
    lines = text(whole).splitlines()
    assert lines[0].split()[:3] == ["data", "set", "model"]
    settings = lines[1 : lines.index("")]
    assert len(settings) == 12
    row = whole.decisions.row(0, named=True)
    assert settings[0].startswith(f"{row['dataset']}")
    assert f"{100 * row['label_flips']:.1f}" in settings[0]
    assert max(map(len, lines)) <= 120
    said = " ".join(text(whole).split())
    assert "(1 of 2 collapsed)" in said
    assert "collapsed: 1 of 24 runs" in said
    assert "McNemar 12, Cochran's Q 12" in said
    assert "toy 60.0 % sound [23.1–88.2] (5 pairs judged)" in said
    assert "other/set 82.5 % sound [78.5–85.9] (not judged; Table 16 of the paper, SNLI)" in said
    assert lines[-1] == whole.settings.signature


def test_the_summary_tells_what_whole_clusters_say() -> None:
    matched = experiment().with_columns(cluster=pl.col("id").str.slice(0, 2))
    assert "clusters swapped whole" in " ".join(text(analysed(matched)).split())
    assert "clusters" not in text(analysed(experiment()))


def test_decisions_are_worded_apart() -> None:
    same = text(analysed(experiment(rows=600).with_columns(after="before")))
    assert same.count("  equivalent") == 4
    few = experiment(rows=60).with_columns(changed=pl.col("id").is_in(["t1", "t2"]))
    assert text(analysed(few)).count("too few changed items to reject") == 4
    worse = experiment(rows=600).with_columns(
        after=pl.when(pl.col("id").str.ends_with("1")).then(pl.lit("?")).otherwise("before")
    )
    assert text(analysed(worse)).count("not invariant") == 4


def test_a_long_scan_is_summed_up_by_model() -> None:
    scan = experiment(rows=60, models=("m",), rho=tuple(i / 200 for i in range(130)), runs=1)
    lines = text(analysed(scan)).splitlines()
    assert lines[1].split()[:3] == ["toy", "m", "130"]
    assert lines[2] == ""


def test_an_infinite_t_is_left_out_of_the_picture() -> None:
    lost = experiment(rows=30).with_columns(before="gold", changed=pl.lit(True), after=pl.lit("?"))
    found = analysed(lost)
    assert found.runs["t"].to_list() == [float("inf")] * 8
    assert Absent("Figure 6", "t is infinite in all settings") in exhibits(found)
    assert "figure-7" in by_name(found)
