"""otherwords score: the fixed contract of its JSON, tables from anywhere, groups, gates, wrong tables."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

import otherwords as ow

#: The second bucket has an answer that is no right answer of the table.
pytestmark = pytest.mark.filterwarnings("ignore:.*can never be right")
KEYS = [
    *("metric", "signature", "model", "group", "value", "low", "high", "n_units", "n_answers"),
    *("unit", "interval", "confidence", "replicates", "resampled", "n_clusters", "n_effective", "note"),
    *("anytime_low", "anytime_high", "shrunk", "shrunk_low", "shrunk_high"),
]
METRICS = ["accuracy_original", "accuracy_drop", "flip_rate", "p_c", "p_c_distinct", "label_agreement", "pa"]

#: Two buckets of one model. By hand: originals 1 of 2 right; variants 2 of 5; flips 2 of 5; P_C the mean of 5/9 and 1.
#: Of distinct pairs, 1 of 3 agree in the first bucket; in the second both are wrong, in different ways.
ANSWERS = [
    {"bucket": "1", "variant": None, "gold": "yes", "pred": "yes"},
    {"bucket": "1", "variant": "1a", "gold": "yes", "pred": "no"},
    {"bucket": "1", "variant": "1b", "gold": "yes", "pred": "yes"},
    {"bucket": "1", "variant": "1c", "gold": "yes", "pred": "yes"},
    {"bucket": "2", "variant": None, "gold": "no", "pred": "maybe"},
    {"bucket": "2", "variant": "2a", "gold": "no", "pred": "yes"},
    {"bucket": "2", "variant": "2b", "gold": "no", "pred": "maybe"},
]
BY_HAND = {
    "accuracy_original": 1 / 2,
    "accuracy_drop": 2 / 5 - 3 / 5,
    "flip_rate": 2 / 5,
    "p_c": (5 / 9 + 1) / 2,
    "p_c_distinct": (1 / 3 + 1) / 2,
    "label_agreement": (1 / 3 + 0) / 2,
    "pa": 0.0,
}


@pytest.fixture
def answers(write_jsonl, place):
    return write_jsonl(place / "answers.jsonl", ANSWERS)


def test_json_has_exactly_these_keys_and_unrounded_fractions(cli, answers):
    scores = json.loads(cli("score", answers, "--json").stdout)
    assert [list(score) for score in scores] == [KEYS] * 7
    assert [score["metric"] for score in scores] == METRICS
    for score in scores:
        assert score["value"] == pytest.approx(BY_HAND[score["metric"]], abs=1e-15)
        assert (-1 if score["metric"] == "accuracy_drop" else 0) <= score["low"] <= score["value"] <= score["high"] <= 1
        assert score["group"] is None
        assert score["n_units"] == 2
        assert score["n_answers"] == {"accuracy_original": 2, "accuracy_drop": 7}.get(score["metric"], 5)
        assert score["signature"].startswith(f"{score['metric']}.v1(")
        kind = "mover" if score["metric"] == "accuracy_drop" else "wilson"
        for part in (f"interval={kind}.v2(confidence=0.95, cluster=bucket)", "otherwords="):
            assert part in score["signature"]


def test_a_plain_table_without_model_cluster_or_probabilities_in_every_format(cli, answers, place):
    expected = cli("score", answers, "--json").stdout
    table = pl.DataFrame(ANSWERS)
    table.write_parquet("a.parquet")
    table.write_csv("a.csv")
    table.write_csv("a.tsv", separator="\t")
    table.with_columns(pl.col("variant").fill_null("")).write_csv("r.tsv", separator="\t", quote_style="always")
    for name in ("a.parquet", "a.csv", "a.tsv", "r.tsv"):
        assert cli("score", name, "--json").stdout == expected
    assert cli("score", "-", "--json", stdin=answers.read_bytes()).stdout == expected
    windows = b"\xef\xbb\xbf" + answers.read_bytes().replace(b"\n", b"\r\n")
    (place / "windows.jsonl").write_bytes(windows)
    assert cli("score", "windows.jsonl", "--json").stdout == expected
    assert cli("score", "-", "--json", stdin=windows).stdout == expected


def test_ids_that_look_like_numbers_stay_distinct(cli, place):
    (place / "a.csv").write_text(
        "bucket,variant,gold,pred\n01,,1,1\n01,v,1,0\n1,,0,0\n1,v,0,0\n1.0,,0,1\n1.0,v,0,1\n", encoding="utf-8"
    )
    scores = json.loads(cli("score", "a.csv", "--json").stdout)
    assert {score["metric"]: score["n_units"] for score in scores}["flip_rate"] == 3


def test_other_order_of_rows_same_bytes(cli, answers, write_jsonl, place):
    turned = write_jsonl(place / "turned.jsonl", ANSWERS[::-1])
    assert cli("score", turned, "--json").stdout == cli("score", answers, "--json").stdout


def test_chosen_metrics_seed_replicates_and_confidence(cli, answers):
    options = ("--metric", "flip_rate", "--seed", "7", "--replicates", "50", "--confidence", "0.8", "--interval", "bca")
    [score] = json.loads(cli("score", answers, "--json", *options).stdout)
    assert score["metric"] == "flip_rate"
    assert "confidence=0.8, replicates=50" in score["signature"]
    assert "seed=7" in score["signature"]
    assert "80% interval" in cli("score", answers, *options).stdout


def test_groups(cli, write_jsonl, place):
    rows = [{**row, "model": model, "topic": "x" if row["bucket"] == "1" else "y"} for model in "mn" for row in ANSWERS]
    path = write_jsonl(place / "by.jsonl", rows)
    scores = json.loads(cli("score", path, "--json", "--by", "topic", "--metric", "flip_rate").stdout)
    assert [(score["model"], score["group"], score["value"]) for score in scores] == [
        (model, group, value)
        for model in "mn"
        for group, value in ((None, 2 / 5), ("topic=x", 1 / 3), ("topic=y", 1 / 2))
    ]
    assert all(score["low"] is None for score in scores if score["group"])  # one cluster has no interval
    shown = cli("score", path, "--by", "topic", "--metric", "flip_rate").stdout
    for text in ("topic=x", "33.3 %", "–", "model", "group"):
        assert text in shown


def test_the_table_for_people(cli, answers):
    shown = cli("score", answers).stdout
    for text in (*METRICS, "95% interval", "40.0 %", "77.8 %", "clusters", "(eff. n)", "2 (2)", "answers"):
        assert text in shown
    assert "buckets" not in shown  # each is a cluster
    assert "clusters: one per problem; eff. n: equally weighted clusters with the same information" in shown
    assert "\x1b" not in shown


def wide(model: str = "m", topic: str = "kitchen") -> list[dict[str, Any]]:
    """Twelve thousand answers in clusters of two problems: numbers of the usual width."""
    return [
        {"model": model, "bucket": f"{topic}{n}", "variant": v, "gold": "yes", "pred": ("yes", "no")[n % (v + 2) == 0],
         "cluster": f"{topic}{n // 2}", "topic": topic}
        for n in range(3_000)
        for v in range(4)
    ]  # fmt: skip


def frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows).with_columns(
        variant=pl.when(pl.col("variant") > 0).then(pl.col("bucket") + "." + pl.col("variant").cast(pl.String))
    )


def test_the_usual_metrics_fit_into_100_columns(cli, place):
    frame(wide()).write_parquet(place / "wide.parquet")
    shown = cli("score", "wide.parquet").stdout.splitlines()
    assert max(map(len, shown)) <= 100
    assert "clusters: problems that share a text" in "".join(shown)
    assert any("1,500 (1,500)" in line and "3,000" in line for line in shown)


def test_two_models_and_groups_fit_into_120_columns(cli, place):
    """No name of a metric is broken."""
    rows = [row for model in ("roberta-large-mnli", "nli-small.v1") for t in ("kitchen", "transport")
            for row in wide(model, t)]  # fmt: skip
    frame(rows).write_parquet(place / "wide.parquet")
    for command in ("score", "compare"):
        shown = cli(command, "wide.parquet", "--by", "topic").stdout.splitlines()
        table = [line for line in shown if line[:1] in "┏┃┡│├└"]
        assert max(map(len, table)) <= 120
        assert sum("accuracy_original" in line for line in table) == (6 if command == "score" else 3)


def test_brackets_in_names_are_shown(cli, write_jsonl, place):
    rows = [{**row, "model": model, "kind": "[bold]"} for model in ("[red]a[/red]", "b") for row in ANSWERS]
    shown = cli("score", write_jsonl(place / "a.jsonl", rows), "--by", "kind").stdout
    assert "[red]a[/red]" in shown
    assert "kind=[bold]" in shown


def test_quiet_shows_nothing(cli, answers):
    result = cli("score", answers, "--quiet")
    assert (result.stdout, result.stderr) == ("", "")


def test_task_overrides_the_labels_found(cli, answers, place):
    error = cli("score", answers, "--task", "nli", rc=2).stderr
    assert "row 1: gold: found 'yes'" in error
    (place / "mine.toml").write_text('fields = ["a"]\nlabels = ["yes", "no", "maybe"]\n')
    assert cli("score", answers, "--task", "mine.toml", "--json").stdout == cli("score", answers, "--json").stdout


def test_gates(cli, answers):
    cli("score", answers, "--require", "flip_rate<=40%", "--require", "p_c > 0.7", "-q")
    result = cli("score", answers, "--require", "flip_rate<0.4", "--require", "p_c>=0.9", "--json", rc=1)
    assert len(json.loads(result.stdout)) == 7  # the scores are told all the same
    assert result.stderr == (
        "error: model: flip_rate is 40.0 %, required < 40 %; "
        "model: p_c is 77.8 % (0.7777777777777778), required >= 90 %\n"
    )


def test_a_passed_gate_says_so(cli, answers):
    gates = ("--require", "flip_rate<=40%", "--require", "flip_rate.high<=1", "--require", "pa(at=0.5)>=0")
    shown = cli("score", answers, *gates, "--json")
    assert "pa(at=0.5)" in {score["metric"] for score in json.loads(shown.stdout)}
    lines = shown.stderr.splitlines()
    assert lines[0] == "passed: model: flip_rate is 40.0 %, required <= 40 %"
    assert [line.split(" is ")[0] for line in lines[1:]] == [
        "passed: model: flip_rate.high",
        "passed: model: pa(at=0.5)",
    ]
    assert cli("score", answers, *gates, "-q").stderr == ""


def test_seven_of_a_thousand_are_point_seven_per_cent(cli, write_jsonl, place):
    rows = [
        {"bucket": str(n), "variant": variant, "gold": "yes", "pred": "no" if variant and n < 7 else "yes"}
        for n in range(1000)
        for variant in (None, "v")
    ]
    path = write_jsonl(place / "thousand.jsonl", rows)
    cli("score", path, "--metric", "flip_rate", "--require", "flip_rate<=0.7%", "--require", "flip_rate>=0.007")
    cli("score", path, "--metric", "flip_rate", "--require", "flip_rate<0.7%", "-q", rc=1)


@pytest.mark.parametrize("gate", ["flip_rate", "flip_rate==1", "flip_rate<=", "<0.1", "flip_rate<=1.2.3", "flips<0.1"])
def test_a_gate_that_cannot_be_told(cli, place, gate):
    # No such answers either: a wrong gate is told before anything is read.
    error = cli("score", "absent.jsonl", "--require", gate, rc=2).stderr
    assert repr(gate) in error


def test_a_run_folder_and_its_answers(cli, problems, place):
    cli("run", "--data", problems, "-w", "contractions", "-m", "scripted", "--no-canary", "-o", "run", "-q")
    printed = cli("score", "run", "--json").stdout
    assert json.loads(printed) == json.loads((place / "run" / "scores.json").read_text(encoding="utf-8"))
    assert cli("score", "run/answers", "--json").stdout == printed


def _spoilt(row, **changes):
    return [{**one, **(changes if number == row else {})} for number, one in enumerate(ANSWERS, 1)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (_spoilt(3, pred=None), "row 3: pred: found None; use one of"),
        (
            _spoilt(2, gold="no"),
            "row 2: gold: variant '1a' has the label 'no', its original has another; a variant keeps",
        ),
        (_spoilt(5, variant="2c"), "row 5: variant: bucket '2' has 0 originals; give one original"),
        (_spoilt(2, variant=None), "row 1: variant: bucket '1' has 2 originals; give one original"),
        (_spoilt(3, variant="1a"), "row 3: variant: variant '1a' has two answers; give one answer per variant"),
        (_spoilt(6, bucket=None), "row 6: bucket: found nothing; give a value for every answer"),
        (
            [{k: v for k, v in row.items() if k != "pred"} for row in ANSWERS],
            "pred: ",
        ),
        (
            [{**row, "p:yes": 0.5, "p:no": 0.5, "p:maybe": 0.0 if row["variant"] != "1c" else 0.1} for row in ANSWERS],
            "row 4: p: found {'p:yes': 0.5, 'p:no': 0.5, 'p:maybe': 0.1}",
        ),
    ],
)
def test_a_wrong_table(cli, write_jsonl, place, rows, message):
    error = cli("score", write_jsonl(place / "wrong.jsonl", rows), "--json", rc=2).stderr
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert message in error


def test_a_wrong_table_is_named_with_the_row_in_the_file(cli, write_jsonl, place):
    rows = [{**row, "model": "m"} for row in ANSWERS] + [{**row, "model": "n"} for row in _spoilt(2, gold="no")]
    assert "wrong.jsonl, row 9" in cli("score", write_jsonl(place / "wrong.jsonl", rows), rc=2).stderr


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", '{"bucket": 1}\n{"bucket": 1,\n', "a.jsonl, line 2: broken JSON at column"),
        ("a.jsonl", '{"bucket": 1}\n\n[1]\n', "a.jsonl, line 3: found [1]; write one JSON object per line"),
        (
            "a.jsonl",
            '{"bucket":1,"variant":null,"gold":"a","pred":"a","p:a":1.0}\n{"bucket":1,"variant":"v","p:a":NaN}\n',
            "a.jsonl, line 2: p:a: found nan; give a number, or null",
        ),
        ("a.jsonl", "", "a.jsonl: is empty; give a table with at least one row"),
        ("a.csv", "\n", "a.csv: is empty; give a header and at least one row"),
        ("a.csv", "bucket,variant,gold,pred\n1,,a,a\n1,v,a,a,x\n", "a.csv, line 3: found 5 cells under 4 column names"),
        ("a.parquet", "not parquet", "a.parquet: cannot be read as Parquet"),
        ("a.txt", "x", "a.txt: has an unknown format; use one of .jsonl"),
    ],
)
def test_a_file_that_is_no_table(cli, place, name, text, message):
    (place / name).write_text(text, encoding="utf-8")
    error = cli("score", name, rc=2).stderr
    assert error.startswith(f"error: {message}")
    assert error.count("\n") == 1


def test_a_broken_line_far_down_is_named(cli, place):
    good = json.dumps(ANSWERS[0])
    (place / "long.jsonl").write_text("\n".join([good] * 4710 + [good[:-1]]) + "\n")
    assert cli("score", "long.jsonl", rc=2).stderr.startswith("error: long.jsonl, line 4711: broken JSON at column")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("absent.jsonl",), "absent.jsonl: no such file"),
        ((".",), ".: contains no Parquet files; give a file, or the folder of a finished run"),
        (
            ("answers.jsonl", "--metric", "fliprate"),
            "no metrics named 'fliprate'; did you mean flip_rate? Available: ",
        ),
        (("answers.jsonl", "--by", "topic"), "no column 'topic' to group by; available: bucket"),
        (("answers.jsonl", "--task", "nil"), "no task 'nil'; available: nli"),
    ],
)
def test_wrong_names(cli, answers, arguments, message):
    assert message.replace("bucket", "") in cli("score", *arguments, rc=2).stderr.replace("bucket", "")


@pytest.mark.filterwarnings("default")
def test_originals_alone_have_an_accuracy_and_nothing_else(cli, write_jsonl, place):
    path = write_jsonl(place / "o.jsonl", [row for row in ANSWERS if row["variant"] is None])
    result = cli("score", path, "--json")
    values = {score["metric"]: score["value"] for score in json.loads(result.stdout)}
    assert values == {**dict.fromkeys(METRICS), "accuracy_original": 0.5}
    assert "flip_rate" in result.stderr
    assert "of model: nothing to measure" in result.stderr
    assert "required" in cli("score", path, "--require", "flip_rate<=1", rc=1).stderr


# Answers of other programs


def test_foreign_columns_and_labels(cli, write_jsonl, place, answers):
    names = {"bucket": "id", "variant": "version", "gold": "label", "pred": "prediction"}
    spelled = {"yes": "YES", "no": 0, "maybe": "Maybe "}
    path = write_jsonl(
        place / "foreign.jsonl",
        [{names[k]: spelled.get(v, v) for k, v in row.items() if k in names} for row in ANSWERS],
    )
    error = cli("score", path, rc=2).stderr
    assert "--field bucket=id --field variant=version --field gold=label --field pred=prediction" in error
    fields = [part for here, there in names.items() for part in ("--field", f"{here}={there}")]
    found = json.loads(cli("score", path, *fields, "--label", "0=no", "--json").stdout)
    expected = json.loads(cli("score", answers, "--json").stdout)
    assert [one["value"] for one in found] == [one["value"] for one in expected]
    assert "cannot map" in cli("score", path, "--field", "prediction=pred", rc=2).stderr


def test_two_systems_are_scored_together(cli, write_jsonl, place):
    right = [{**row, "pred": row["gold"]} for row in ANSWERS]
    for name, table in (("small", ANSWERS), ("large", right)):
        write_jsonl(place / f"{name}.jsonl", [{k: v for k, v in row.items() if k != "model"} for row in table])
    found = json.loads(cli("score", "small.jsonl", "large.jsonl", "--metric", "flip_rate", "--json").stdout)
    assert {one["model"]: one["value"] for one in found} == {"small": 0.4, "large": 0.0}
    shown = cli("score", "small.jsonl", "large.jsonl").stdout
    assert "small" in shown
    assert "large" in shown


def test_a_released_data_set_is_recognised(cli, write_jsonl, place):
    row = {"pairID": "1", "gold_label": "neutral", "sentence1": "A dog.", "sentence2": "A cat."}
    write_jsonl(place / "snli_1.0_dev.jsonl", [row])
    for command in ("score", "audit", "compare"):
        error = cli(command, "snli_1.0_dev.jsonl", rc=2).stderr
        assert (
            "these are problems, not answers; ask a model first: otherwords run --data snli:snli_1.0_dev.jsonl" in error
        )
    for command in (
        ("vary", "snli_1.0_dev.jsonl", "-w", "contractions", "-o", "x.jsonl"),
        ("answer", "snli_1.0_dev.jsonl", "-m", "scripted", "-o", "x.jsonl"),
        ("run", "--data", "snli_1.0_dev.jsonl", "-w", "contractions", "-m", "scripted"),
    ):
        assert "the columns are SNLI's: give it as snli:snli_1.0_dev.jsonl" in cli(*command, rc=2).stderr
    write_jsonl(place / "problems.jsonl", [{"id": "1", "premise": "A.", "hypothesis": "B.", "label": "neutral"}])
    assert "otherwords run --data problems.jsonl" in cli("score", "problems.jsonl", rc=2).stderr


def test_a_run_that_is_not_finished_says_so(cli, problems, place):
    cli("run", "--data", problems, "-w", "contractions", "-m", "scripted", "--no-canary", "--no-cache", "-o", "r", "-q")
    answers = sorted((place / "r" / "answers").rglob("*.parquet"))
    for part in answers:
        part.unlink()
    error = cli("score", "r", rc=2).stderr
    assert error == (
        "error: r: has no answers yet: the run is not finished; continue it: repeat its command, or otherwords run r\n"
    )


def test_a_run_that_is_half_finished_says_so(cli, place):
    ow.run(data=["everyday"], vary=["recorded"], models=["scripted"], canary=False, cache=None, shard=60, out="r")
    parts = sorted((place / "r" / "answers").rglob("*.parquet"))
    parts[-1].unlink()
    with pytest.warns(UserWarning, match=rf"r: the run is not finished: scripted.* has answered {len(parts) - 1} of"):
        ow.score("r", ["accuracy_original"], replicates=5)


def constant(model: str, answer: str, others: int = 0) -> list[dict[str, str | None]]:
    """Twenty problems with two labels and a rewording each, all but a few answered alike."""
    rows = [(i, variant) for i in range(20) for variant in (None, f"{i}a")]
    return [
        {"model": model, "bucket": str(i), "variant": variant, "gold": "yes" if i % 2 else "no", "pred": pred}
        for place, (i, variant) in enumerate(rows)
        for pred in ["maybe" if place < others else answer]
    ]


def test_a_model_that_says_the_same_to_everything_is_named_beneath_the_table(cli, write_jsonl, place):
    rows = [*constant("stubborn", "no"), *constant("nearly", "yes", 2), *constant("not quite", "yes", 3)]
    path = write_jsonl(place / "answers.jsonl", rows)
    for shown in (cli("score", path).stdout, cli("score", "-", stdin=path.read_text(encoding="utf-8")).stdout):
        text = " ".join(shown.replace("\u00a0", " ").split("┘")[-1].split())
        assert "stubborn gives one answer, no, to all 40 wordings" in text
        assert "nearly gives one answer, yes, to 95.0 % of 40 wordings" in text
        assert "not quite" not in text
    compared = cli("compare", path, "-m", "stubborn", "-m", "not quite", "--metric", "flip_rate").stdout
    assert "stubborn gives one answer" in compared
    assert "stubborn gives" not in cli("score", path, "--json").stdout


def test_the_note_on_one_answer_needs_no_second_reading(cli, write_jsonl, place):
    """It comes with the results, so that a table from a pipe, or a model compared with its namesake, has it, too."""
    path = write_jsonl(place / "stubborn.jsonl", constant("m", "no"))
    other = write_jsonl(place / "other.jsonl", constant("m", "yes", 10))
    shown = cli("compare", "-", other, "--metric", "flip_rate", stdin=path.read_text(encoding="utf-8")).stdout
    assert "m (1) gives one answer, no, to all 40" in shown
    assert "m (2) gives" not in shown
    assert list(ow.score(path, ["flip_rate"], replicates=5).one_answer) == ["m"]
    assert ow.score(other, ["flip_rate"], replicates=5).one_answer == {}


def test_one_answer_where_it_is_the_right_one(cli, write_jsonl, place):
    """Nobody can tell a good model from a constant one on problems of one label; a nearly constant one is fine."""
    rows = [{**row, "gold": "no"} for row in constant("all", "no")]
    shown = cli("score", write_jsonl(place / "all.jsonl", rows)).stdout.replace("\u00a0", " ")
    assert "all gives one answer, no, to all 40 wordings (all problems have that label)" in shown
    rows = [{**row, "gold": "no"} for row in constant("most", "no", 2)]
    assert "gives one answer" not in cli("score", write_jsonl(place / "most.jsonl", rows)).stdout


def test_metrics_are_told_apart_by_the_options_that_differ(cli, answers):
    shown = cli("score", answers, "--metric", "pa", "--metric", "pa(at=0.5)", "--require", "pa(at=0.5)<=1")
    assert shown.exit_code == 0
    assert "pa(at=0.9) " in shown.stdout
    assert "pa(at=0.5) " in shown.stdout
    assert "of=0" not in shown.stdout


def test_groups_of_generators_are_short_and_signed_at_the_foot(cli, write_jsonl, place):
    hows = (
        "syn=wordnet.v1(n=3, pos=noun)",
        "wordnet.v1(n=1, pos=noun)#abc",
        "wordnet.v1(n=2, pos=noun)#abc",
        "by hand",
    )
    rows = [{**row, "how": None} for row in ANSWERS if row["variant"] is None]
    rows += [{**row, "how": hows[i % 4]} for i, row in enumerate(row for row in ANSWERS if row["variant"])]
    path = write_jsonl(place / "answers.jsonl", rows)
    table, foot = cli("score", path, "--by", "how", "--metric", "flip_rate").stdout.rsplit("┘", 1)
    assert all(f"│ how={name} " in table for name in ("syn", "wordnet (n=1)", "wordnet (n=2)", "by hand"))
    assert "pos=noun" not in table
    assert "syn: wordnet.v1(n=3, pos=noun)" in foot
    assert "wordnet (n=1): wordnet.v1(n=1, pos=noun)#abc" in foot
    assert "by hand" not in foot
    assert '"how=syn=wordnet.v1(n=3, pos=noun)"' in cli("score", path, "--by", "how", "--json").stdout


def test_problems_are_not_shown_with_columns_that_they_lack(cli, place):
    (place / "tickets.csv").write_text("nr,ticket text,claim,gold\n1,It rains.,It is wet.,0\n")
    refused = cli("score", "tickets.csv", rc=2).stderr
    assert "found nr, ticket text, claim, gold" in refused
    assert "gold, model" not in refused
    again = cli("score", "tickets.csv", "tickets.csv", rc=2).stderr
    assert "gold, model" not in again


def test_groups_are_averaged_by_size(cli, write_jsonl, place):
    """By hand: no flip in a, two of two in b; by problems one half, as given a fifth."""
    rows = [{"bucket": "a", "variant": None, "pred": "yes"}, {"bucket": "a", "variant": "1", "pred": "yes"}]
    rows += [{"bucket": "b", "variant": variant, "pred": "no" if variant else "yes"} for variant in (None, "1", "2")]
    path = write_jsonl(place / "sets.jsonl", [{**row, "gold": "yes", "set": row["bucket"]} for row in rows])
    for sizes, value in (((), 0.5), (("--size", "a=400", "--size", "b=100"), 0.2)):
        result = cli("score", path, "--metric", "flip_rate", "--average", "set", *sizes, "--json")
        found = {one["group"]: one["value"] for one in json.loads(result.stdout)}
        assert found == {None: pytest.approx(2 / 3), "set=a": 0.0, "set=b": 1.0, "set=(average)": pytest.approx(value)}
    assert "--size a=NUMBER" in cli("score", path, "--average", "set", "--size", "a=x", rc=2).stderr
    for options, message in (
        (("--average", "set", "--size", "a=1"), "--size: no size, or no group: b"),
        (("--average", "set", "--size", "a=0", "--size", "b=1"), "--size: found 0.0 for a"),
        (("--size", "a=1"), "--size: sizes of no groups; name their column: --average COLUMN"),
        (("--largest", "1", "--metric", "flip_rate"), "--largest: a cluster weighs 2 in flip_rate"),
        (("--shrink",), "--shrink: groups are shrunk"),
    ):
        assert cli("score", path, *options, rc=2).stderr.startswith(f"error: {message}")


def test_hard_cases_by_runs_of_a_model(cli, write_jsonl, place):
    rows = [
        {"model": run, "of": run[0], "bucket": bucket, "variant": variant, "gold": "yes", "pred": pred}
        for run, broken in (("x1", "a"), ("x2", "b"), ("y1", "ab"))
        for bucket in "ab"
        for variant, pred in ((None, "yes"), ("1", "no" if bucket in broken else "yes"))
    ]
    path = write_jsonl(place / "runs.jsonl", rows)
    assert "0 problems" in cli("audit", path, "--list", "hard-cases").stderr
    assert "2 problems" in cli("audit", path, "--list", "hard-cases", "--runs-of", "of").stderr
    assert "runs_of" in cli("audit", path, "--list", "hard-cases", "--runs-of", "family", rc=2).stderr


@pytest.mark.filterwarnings("ignore:.*fewer than 20 clusters", "ignore:.*clusters; with fewer")
def test_groups_are_ranked_by_shrunk_values(cli, write_jsonl, place):
    """Of a group of two problems that both flip and one of forty of which half do, neither is what it seems."""
    rows = []
    for how, buckets in {"few": 2, "many": 40, "most": 60}.items():
        for number in range(buckets):
            flips = how == "few" or (how == "many" and number % 2)
            rows.append({"bucket": f"{how}{number}", "variant": None, "gold": "yes", "pred": "yes"})
            rows.append({**rows[-1], "variant": "v", "pred": "no" if flips else "yes", "how": how})
    path = write_jsonl(place / "a.jsonl", rows)
    arguments = ("score", path, "--metric", "flip_rate", "--by", "how", "--shrink")
    whole, *groups = json.loads(cli(*arguments, "--json").stdout)
    assert whole["shrunk"] is None
    assert [one["shrunk"] for one in groups] == sorted((one["shrunk"] for one in groups), reverse=True)
    few = next(one for one in groups if one["group"] == "how=few")
    assert few["shrunk_low"] < few["shrunk"] < few["shrunk_high"] < few["value"] == 1
    assert "shrunk" in cli(*arguments).stdout
    message = "--shrink: groups are shrunk by their Wilson intervals; name a column with --by (by=...)"
    assert message in cli("score", path, "--shrink", rc=2).stderr


def test_verdicts_give_shares_among_sound_variants(cli, place):
    """The table, what it rests on, JSON for programs, and errors that name the option."""
    rows = [
        f"b{n},{'' if not v else f'b{n}v{v}'},a,{'b' if (n + v) % 4 == 1 and v else 'a'}"
        for n in range(60)
        for v in range(4)
    ]
    (place / "answers.csv").write_text("\n".join(["bucket,variant,gold,pred", *rows]) + "\n")
    said = [f"b{n}v{v},{'no' if (n + v) % 8 == 1 else 'yes'}" for n in range(60) for v in (1, 2)]
    (place / "verdicts.csv").write_text("\n".join(["id,verdict", *said]) + "\n")
    arguments = ("score", "answers.csv", "--metric", "flip_rate", "--verdicts", "verdicts.csv")
    shown = cli(*arguments).stdout
    assert "flip_rate_sound:people" in shown
    assert "flip_rate_sound: 120 of 180 variants judged; no judge, trusted" in shown
    found = {one["metric"]: one for one in json.loads(cli(*arguments, "--json", "--unsound", "0.2").stdout)}
    assert found["flip_rate_sound:least"]["value"] < found["flip_rate_sound"]["value"] < found["flip_rate"]["value"]
    assert found["flip_rate_sound"]["signature"].startswith(
        "flip_rate_sound.v1(judge=none, sound=yes, verdicts=120, trust="
    )
    assert "--judge: no such column or check; run a check" in cli(*arguments, "--judge", "stack", rc=2).stderr
    assert "--sound: needs verdicts of people" in cli("score", "answers.csv", "--sound", "x", rc=2).stderr
    assert "verdicts.csv" in cli(*arguments, "-o", "verdicts.csv", rc=2).stderr
