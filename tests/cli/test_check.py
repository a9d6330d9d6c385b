"""otherwords check: verdicts beside every variant, nothing removed."""

from __future__ import annotations

import pytest


@pytest.fixture
def suite(cli, problems, repeated, place):
    cli("vary", problems, repeated, "-w", "contractions", "--suite", "-o", "suite.jsonl", "-q")
    return place / "suite.jsonl"


def test_verdicts_are_columns_and_dropped_variants_stay(cli, suite, lines):
    before, after = lines(suite), lines(cli("check", suite, "--with", "surface", "-q").stdout)
    assert [row["id"] for row in after] == [row["id"] for row in before]
    for row in after:
        if row["of"] is None:
            assert row["check:surface"] is None
        elif row["id"].endswith(".again"):
            assert (row["check:surface"], row["check:surface:reason"]) == (False, "unchanged")
        else:
            assert (row["check:surface"], row["check:surface:reason"]) == (True, None)


def test_surface_is_the_default(cli, suite):
    assert cli("check", suite, "-q").stdout == cli("check", suite, "-w", "surface", "-q").stdout


def test_several_checks_and_options(cli, suite, lines):
    rows = lines(cli("check", suite, "-w", "surface", "-w", "overlap(most=0.5)", "-q").stdout)
    assert {"check:surface", "check:overlap", "check:overlap:reason", "check:overlap:score"} <= set(rows[0])


def test_problems_and_variants_from_two_files(cli, problems, repeated, place, suite, lines):
    cli("vary", problems, "-w", "contractions", "-o", "variants.csv", "-q")
    separate = lines(cli("check", problems, repeated, "variants.csv", "-q").stdout)
    together = lines(cli("check", suite, "-q").stdout)
    assert separate == together


def test_variants_without_their_originals_are_refused(cli, problems, place):
    cli("vary", problems, "-w", "identity", "-o", "variants.jsonl", "-q")
    error = cli("check", "variants.jsonl", "-q", rc=2).stderr
    assert error.startswith("error: variants.jsonl, line 1: of: no problem has the id 'a'; give the originals too")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_verdicts_are_used_whatever_the_format(cli, suite, lines, place, ending):
    cli("check", suite, "-o", f"checked.{ending}", "-q")
    rows = lines(cli("answer", f"checked.{ending}", "-m", "scripted", "--no-canary", "-q").stdout)
    assert len(rows) == 3 + 5  # the originals and the contractions; those that repeat them are not asked
    assert not [row for row in rows if (row["variant"] or "").endswith(".again")]


def test_a_suite_without_any_variant_can_be_piped_on(cli, problems, lines):
    checked = cli("check", problems, "-q").stdout
    assert len(lines(cli("answer", "-", "-m", "scripted", "--no-canary", "-q", stdin=checked).stdout)) == 3


def test_says_how_many_it_dropped(cli, suite):
    assert "3 dropped; 11 rows written to out.jsonl" in cli("check", suite, "-o", "out.jsonl").stderr


def test_a_verdict_that_is_none_is_refused(cli, suite, place):
    text = cli("check", suite, "-q").stdout.replace('"check:surface":true', '"check:surface":"maybe"')
    error = cli("answer", "-", "-m", "scripted", "--no-canary", "-q", stdin=text, rc=2).stderr
    assert "check:surface: found 'maybe'" in error


def test_the_funnel_is_shown_on_standard_error(cli, suite):
    done = cli("check", suite, "-w", "surface", "-w", "label-safety", "-o", "out.jsonl")
    assert done.stdout == ""
    shown = " ".join(done.stderr.replace("│", " ").split())
    assert "8 made" in shown
    assert "surface 3 3 3 × unchanged" in shown
    assert "label-safety 0 0" in shown
    assert "5 kept 3 62.5% of those made" in shown
    assert "made" not in cli("check", suite, "-o", "out.jsonl", "-q").stderr


def test_controls_are_not_judged_and_not_in_the_funnel(cli, problems, lines):
    made = cli("vary", problems, "-w", "identity", "-w", "contractions", "--suite", "-q").stdout
    done = cli("check", "-", "-w", "surface", "-w", "overlap(most=0)", "-o", "out.jsonl", stdin=made)
    assert "5 made" in done.stderr
    rows = lines(cli("answer", "out.jsonl", "-m", "scripted", "--no-canary", "-q").stdout)
    assert [row["control"] for row in rows] == [None, "identity"] * 3  # of the rest, all are dropped
    assert (
        "made"
        not in cli(
            "check", "-", "-o", "x.jsonl", stdin=cli("vary", problems, "-w", "identity", "--suite").stdout
        ).stderr
    )


def test_no_funnel_where_nothing_was_made(cli, problems):
    assert "made" not in cli("check", problems, "-o", "out.jsonl").stderr


def test_run_shows_the_funnel_too(cli, suite, place):
    options = ("--data", suite, "-m", "scripted", "--no-canary", "--no-cache", "--metric", "flip_rate", "-o", "run")
    shown = cli("run", *options).stderr
    assert "3 × unchanged" in shown
    assert "3 × unchanged" in cli("run", *options).stderr  # when nothing is left to do, too
    assert "unchanged" not in cli("run", *options, "-q").stderr
