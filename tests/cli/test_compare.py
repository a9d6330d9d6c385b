"""otherwords compare: two files, one file, a run folder; tables for people, JSON for programs, wrong usage."""

from __future__ import annotations

import json

import polars as pl
import pytest

KEYS = [
    *("metric", "signature", "model", "other", "group", "value", "other_value", "difference", "low", "high"),
    *("p_swap", "n_units", "n_answers", "unit", "p_bonferroni", "p_holm", "p_bh", "p_t", "family"),
    *("p", "p_interval", "p_crossed", "p_maxt"),
    *("interval", "confidence", "n_clusters", "n_effective", "note"),
    *("margin", "p_not_lower", "p_not_higher", "p_equivalent"),
]


def rows(model: str, flips: set[int]) -> list[dict[str, object]]:
    """Twelve buckets of two variants; in those named, the second variant flips."""
    found = []
    for bucket in range(12):
        for variant in (None, "a", "b"):
            pred = "no" if variant == "b" and bucket in flips else "yes"
            name = variant and f"{bucket}{variant}"
            found.append(
                {"model": model, "bucket": bucket, "variant": name, "gold": "yes", "pred": pred, "how": variant}
            )
    return found


@pytest.fixture
def files(write_jsonl, place):
    steady, shaky = rows("steady", {0}), rows("shaky", set(range(9)))
    write_jsonl(place / "steady.jsonl", steady)
    write_jsonl(place / "shaky.jsonl", shaky)
    write_jsonl(place / "both.jsonl", steady + shaky)


def test_two_files_and_one_file_say_the_same(cli, files):
    separate = cli(
        "compare", "steady.jsonl", "shaky.jsonl", "--metric", "flip_rate", "--metric", "p_c", "--json"
    ).stdout
    together = cli(
        "compare", "both.jsonl", "-m", "steady", "-m", "shaky", "--metric", "flip_rate", "--metric", "p_c", "--json"
    ).stdout
    assert separate == together
    found = json.loads(separate)
    assert [list(one) for one in found] == [KEYS] * 2
    assert found[0]["value"] == pytest.approx(1 / 24)
    assert found[0]["other_value"] == pytest.approx(9 / 24)
    assert found[0]["difference"] == pytest.approx(-8 / 24)
    assert found[0]["p_swap"] < 0.02  # 8 of 8 discordant buckets point one way: 2 / 2^8


def test_a_table_for_people(cli, files):
    shown = cli("compare", "both.jsonl", "--metric", "flip_rate").stdout
    for text in (
        "shaky",
        "steady",
        "difference",
        "95% interval",
        "(maxT)",
        "(Holm)",
        "+33.3",
        "clusters",
        "eff. n",
    ):
        assert text in shown


def test_the_usual_metrics_by_default(cli, files):
    result = cli("compare", "steady.jsonl", "shaky.jsonl", "--replicates", "1000")
    assert "p_c_distinct" in result.stdout
    assert "majority_vote" not in result.stdout
    assert "adjusted for 7 tests" in result.stdout
    assert "mostly move together: accuracy (accuracy_original, accuracy_drop), consistency (p_c, " in result.stdout


def test_foreign_columns_and_labels(cli, files, write_jsonl, place):
    names = {"bucket": "qid", "variant": "version", "gold": "truth", "pred": "said"}
    mean = {"yes": "Yes ", "no": 0}
    for name in ("steady", "shaky"):
        found = [json.loads(line) for line in (place / f"{name}.jsonl").read_text().splitlines()]
        foreign = [{names.get(k, k): mean.get(v, v) for k, v in row.items() if k != "model"} for row in found]
        write_jsonl(place / "foreign" / f"{name}.jsonl", foreign)
    fields = [part for here, there in names.items() for part in ("--field", f"{here}={there}")]
    expected = cli("compare", "steady.jsonl", "shaky.jsonl", "--replicates", "1000", "--json").stdout
    found = cli(
        "compare", "foreign/steady.jsonl", "foreign/shaky.jsonl", *fields, "--label", "0=no", "--replicates", "1000",
        "--json",
    ).stdout  # fmt: skip
    assert found == expected


def test_columns_of_one_file_alone(cli, files, write_jsonl, place):
    found = [json.loads(line) for line in (place / "shaky.jsonl").read_text().splitlines()]
    write_jsonl(
        place / "foreign" / "shaky.jsonl",
        [{{"bucket": "Ticket-Nr", "pred": "said"}.get(k, k): v for k, v in row.items()} for row in found],
    )
    both = ("steady.jsonl", "foreign/shaky.jsonl")
    fields = ("--field", "shaky:bucket=Ticket-Nr", "--field", "shaky:pred=said")
    for command in ("compare", "score"):
        expected = cli(command, "steady.jsonl", "shaky.jsonl", "--replicates", "200", "--json").stdout
        assert cli(command, *both, *fields, "--replicates", "200", "--json").stdout == expected
        assert "steady" in cli(command, *both, *fields, "--replicates", "200").stdout
    twice = cli("compare", *both, "--field", "bucket=bucket", "--field", "bucket=Ticket-Nr", rc=2).stderr
    assert "--field NAME:bucket=COLUMN" in twice
    missing = cli("compare", *both, "--field", "bucket=Ticket-Nr", rc=2).stderr
    assert "--field steady:bucket=COLUMN" in missing


@pytest.mark.filterwarnings("default")
def test_every_metric_on_request(cli, files):
    result = cli("compare", "steady.jsonl", "shaky.jsonl", "--metric", "all", "--replicates", "100")
    assert "majority_vote" in result.stdout
    assert "not compared" in result.stderr
    assert "no probabilities" in result.stderr


@pytest.mark.filterwarnings("default")
def test_groups(cli, files):
    result = cli("compare", "both.jsonl", "--between", "how", "--matched", "--metric", "flip_rate", "--json")
    found = json.loads(result.stdout)
    assert [(one["group"], one["model"], one["other"]) for one in found] == [
        (group, "how=a", "how=b") for group in ("steady", "shaky", "(models)")
    ]
    assert found[1]["difference"] == pytest.approx(-9 / 12)
    result = cli("compare", "both.jsonl", "--between", "how", "--metric", "flip_rate")
    assert "p (t)" in result.stdout
    assert "12 problems with variants in how=a and how=b are compared within" in result.stderr.replace("\n", " ")


def test_by_and_out(cli, files, place):
    cli("compare", "both.jsonl", "--by", "how", "--metric", "flip_rate", "-o", "found.csv", "-q")
    table = pl.read_csv(place / "found.csv")
    assert table["group"].to_list() == [None, "how=a", "how=b"]
    assert table.columns == KEYS


def test_a_file_without_a_model_is_called_after_itself(cli, files, place):
    for name in ("steady", "shaky"):
        pl.read_ndjson(place / f"{name}.jsonl").drop("model").write_csv(place / f"my {name}.csv")
    [found] = json.loads(cli("compare", "my steady.csv", "my shaky.csv", "--metric", "pa", "--json").stdout)
    assert (found["model"], found["other"]) == ("my steady", "my shaky")


def test_a_run_folder_of_two_models(cli, problems, place):
    cli("run", "--data", problems, "-w", "contractions", "-m", "a=scripted", "-m", "b=scripted(seed=9)", "-o", "out",
        "--no-canary", "--no-cache", "-q")  # fmt: skip
    found = json.loads(cli("compare", "out", "--metric", "flip_rate", "--json").stdout)
    assert [(one["model"], one["other"]) for one in found] == [("a", "b")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("steady.jsonl",), "needs answers of two models; found steady"),
        (("absent.jsonl", "steady.jsonl"), "absent.jsonl"),
        (("both.jsonl", "-m", "steady", "-m", "gone"), "choose two"),
        (("both.jsonl", "--matched"), "--matched belongs to --between"),
        (("both.jsonl", "steady.jsonl", "--between", "how"), "--between compares groups of one table"),
        (("both.jsonl", "--between", "gold"), "gold has only 1 group with variants"),
        (("both.jsonl", "--metric", "jsd_pairs"), "no probabilities"),
        (("both.jsonl", "--metric", "flip_rat"), "no metrics named 'flip_rat'; did you mean flip_rate? Available: "),
        (("both.jsonl", "--metric", "flips"), "no metrics named 'flips'; did you mean flip_rate, flip_worst, "),
        (
            ("both.jsonl", "--interval", "exact"),
            "error: --interval: no interval 'exact'; use auto or wilson or percentile or bca",
        ),
        (("both.jsonl", "-o", "out.xlsx"), ".jsonl"),
        (
            ("both.jsonl", "--margin", "0"),
            "error: --margin: found 0.0; give how large a difference does not matter, such as 0.02 for two points",
        ),
        (("both.jsonl", "--test", "sign"), "no test named 'sign'; available: mcnemar, cochran, tost, ie"),
        (("both.jsonl", "--test", "tost", "--margin", "0"), "error: --margin: found 0.0; give a share of items"),
        (("both.jsonl", "--test", "tost"), "error: --test: tost needs a margin; add --margin"),
        (("both.jsonl", "--test", "ie"), "has 2 variants, not one"),
        (("both.jsonl", "--test", "mcnemar", "--metric", "pa"), "leave out --metric, --between and --matched"),
        (("both.jsonl", "--test", "mcnemar", "--matched"), "leave out --metric, --between and --matched"),
        (("both.jsonl", "--test", "mcnemar", "--margin", "0.1"), "only tost has a margin"),
        (("steady.jsonl", "--test", "mcnemar"), "needs answers of two models"),
        (("both.jsonl", "--test", "mcnemar", "-m", "gone"), "no model named 'gone'; available: steady, shaky"),
    ],
)
def test_wrong_usage(cli, files, leftovers, arguments, message):
    assert message in cli("compare", *arguments, rc=2).stderr.replace("\n", " ")


def test_footnotes_explain_each_p_in_a_line(cli, files):
    shown = cli("compare", "both.jsonl", "--metric", "flip_rate").stdout
    assert shown.splitlines()[-4:] == [
        "shares in per cent, differences in percentage points",
        "p: the larger p-value of two: permutation test (swaps clusters) and interval",
        "clusters: one per problem; eff. n: equally weighted clusters with the same information",
        "every row: 12 clusters (eff. n 12)",
    ]
    more = cli("compare", "both.jsonl", "--metric", "flip_rate", "--metric", "pa", "--by", "how").stdout
    assert "p (maxT), p (Holm): p adjusted for 6 tests, maxT from the same permutations for all metrics, Holm" in more
    groups = cli("compare", "both.jsonl", "--between", "how", "--matched", "--metric", "flip_rate").stdout
    assert "(models): p from a test that crosses models and problems, adjusted for 1 test\n" in groups
    assert "p (t): the papers' t test over models, which exceeds its level; do not base decisions on it" in groups


def test_equivalence_and_non_inferiority_with_a_margin(cli, files):
    [found] = json.loads(cli("compare", "both.jsonl", "--metric", "flip_rate", "--margin", "0.2", "--json").stdout)
    assert found["margin"] == 0.2
    assert found["p_not_lower"] < 0.01 < found["p_not_higher"] == found["p_equivalent"]  # shaky flips far more
    shown = cli("compare", "both.jsonl", "--metric", "flip_rate", "--margin", "0.2").stdout
    for text in (
        "(not lower)",
        "(not higher)",
        "(equivalent)",
        "shaky − steady, margin 0.2 (20.0 points of a share)",
        "a small p says that the first is not below the second by the margin",
        "non-inferiority: ",
    ):
        assert text in shown


def test_textbook_tests_are_marked_as_assuming_independent_rows(cli, files, place):
    arguments = ("--test", "mcnemar", "--test", "cochran", "--test", "tost", "--margin", "0.1")
    shown = cli("compare", "both.jsonl", *arguments).stdout
    for text in (
        "assumes independent rows",
        "mcnemar",
        "cochran",
        "tost",
        "originals",
        "variants",
        "odds",
        "mid-p",
    ):
        assert text in shown
    found = json.loads(cli("compare", "steady.jsonl", "shaky.jsonl", *arguments, "--json").stdout)
    assert {one["assumes"] for one in found} == {"independent rows"}
    [variants] = [one for one in found if (one["test"], one["rows"]) == ("mcnemar", "variants")]
    assert (variants["n"], variants["n10"], variants["n01"], variants["odds_ratio"]) == (24, 8, 0, None)
    assert variants["p_exact"] == pytest.approx(2 / 2**8)
    assert variants["p"] == pytest.approx(1 / 2**8)
    cli("compare", "both.jsonl", "--test", "mcnemar", "-o", "tests.csv", "-q")
    assert pl.read_csv(place / "tests.csv")["assumes"].to_list() == ["independent rows"] * 2
    assert "independent rows" in cli("compare", "--help").stdout.replace("\n", " ")


@pytest.mark.filterwarnings("default")
def test_the_ie_test_of_each_way_of_rewording(cli, files):
    result = cli("compare", "both.jsonl", "--test", "ie", "--by", "how", "--json")
    found = json.loads(result.stdout)
    assert [(one["group"], one["models"]) for one in found] == [
        (group, model) for group in ("how=a", "how=b") for model in ("steady", "shaky")
    ]
    assert (found[3]["n10"], found[3]["n01"], found[3]["rows"]) == (9, 0, "originals and their variants")
    assert "all variants: not tested" in result.stderr.replace("\n", " ")
