"""answer --until: asks until the answer is known, says so in the table, and score gives the interval that allows it."""

from __future__ import annotations

import json
import random
import re

import polars as pl
import pytest
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput, Unmeasurable

PROBLEMS = 400
#: The model answers by the hash of the text: two of three variants flip.
MODEL = ("-m", "m=scripted(log=asked.jsonl)", "--no-canary")
RULE = "flip_rate within 0.08"
LINE = re.compile(r"stopped after ([\d,]+) of 400 problems.*: flip_rate ([\d.]+) \[([\d.]+), ([\d.]+)\] \(anytime\)")


def suite_rows(count: int = PROBLEMS, variants: int = 2, **more: object) -> list[dict[str, object]]:
    """Problems of their own premise each, with variants; `n` knows each problem whatever it is called."""
    rows: list[dict[str, object]] = []
    for n in range(count):
        text = {"premise": f"It is {n} o'clock.", "label": "neutral", "n": n, **more}
        rows.append({"id": f"p{n}", "hypothesis": f"It is past {n}.", **text})
        rows += [
            {"id": f"p{n}.{k}", "of": f"p{n}", "hypothesis": f"It is after {n}, {k}.", **text} for k in range(variants)
        ]
    return rows


@pytest.fixture
def suite(place, write_jsonl):
    return write_jsonl(place / "suite.jsonl", suite_rows())


def ask(cli, suite, out, *more, rule=RULE, rc=0):
    return cli("answer", suite, *MODEL, "--cache", "cache.sqlite", "--until", rule, "-o", out, *more, rc=rc)


def test_it_stops_and_says_so(cli, suite, place, lines):
    done = ask(cli, suite, "answers.jsonl")
    last = done.stderr.strip().splitlines()[-1]
    match = LINE.fullmatch(last)
    assert match, last
    rows = lines(place / "answers.jsonl")
    asked = {row["bucket"] for row in rows}
    assert int(match[1]) == len(asked) < PROBLEMS
    assert len(rows) == 3 * len(asked), "all wordings of a problem, or none"
    assert len(lines(place / "asked.jsonl")) == len(rows), "what is not in the table was not asked"
    assert {row["until"] for row in rows} == {f"{RULE} (largest=2)"}
    assert sorted({row["asked"] for row in rows}) == list(range(1, len(asked) + 1))
    assert [row["n"] for row in rows] == sorted(row["n"] for row in rows), "in the order of the suite"
    assert float(match[4]) - float(match[3]) <= 0.161


@pytest.mark.parametrize(
    "ending", ["csv", "parquet", *(pytest.param(one, marks=pytest.mark.slow) for one in ("jsonl", "tsv"))]
)
def test_score_prints_the_interval_that_stopped_it(cli, suite, place, ending):
    last = ask(cli, suite, f"answers.{ending}").stderr.strip().splitlines()[-1]
    result = cli("score", f"answers.{ending}", "--metric", "flip_rate", "--json")
    [score] = json.loads(result.stdout)
    assert score["interval"] == "anytime"
    assert (score["low"], score["high"]) == (score["anytime_low"], score["anytime_high"])
    shown = f"flip_rate {score['value']:.3f} [{score['low']:.3f}, {score['high']:.3f}] (anytime)"
    assert last.endswith(shown)
    assert "until='flip_rate within 0.08'" in score["signature"]
    assert result.stderr == ""
    assert "anytime interval: flip_rate" in cli("score", f"answers.{ending}", "--metric", "flip_rate").stdout


@pytest.mark.filterwarnings("default")
def test_intervals_of_other_metrics_are_warned_of(cli, suite):
    ask(cli, suite, "answers.csv")
    result = cli("score", "answers.csv", "--metric", "flip_rate", "--metric", "accuracy_variants", "--json")
    assert "asked until 'flip_rate within 0.08'; the intervals of accuracy_variants do not" in result.stderr
    other = json.loads(result.stdout)[1]
    assert other["interval"] == "wilson"
    assert other["anytime_low"] < other["low"] < other["high"] < other["anytime_high"]


def test_the_order_hangs_on_content_and_seed_alone(cli, suite, place, write_jsonl, lines):
    """Other names and another order of the rows: the same problems are asked, in the same order."""
    rows = suite_rows()
    other = [{**row, "id": f"x{row['id']}", **({"of": f"x{row['of']}"} if "of" in row else {})} for row in rows]
    random.Random(1).shuffle(other)
    ask(cli, suite, "one.jsonl")
    ask(cli, write_jsonl(place / "other.jsonl", other), "two.jsonl")
    ask(cli, suite, "three.jsonl", "--seed", 2)
    one, two, three = (
        {row["n"]: row["asked"] for row in lines(place / f"{name}.jsonl")} for name in ("one", "two", "three")
    )
    assert one == two
    assert one != three


def test_what_was_asked_before_is_not_asked_again(cli, suite, place, lines):
    ask(cli, suite, "wide.jsonl", rule="flip_rate within 0.2")
    first = len(lines(place / "asked.jsonl"))
    ask(cli, suite, "narrow.jsonl")
    asked = [tuple(one) for one in lines(place / "asked.jsonl")]
    assert first < len(asked) == len(set(asked)) == len(lines(place / "narrow.jsonl"))
    ask(cli, suite, "again.jsonl")
    assert len(lines(place / "asked.jsonl")) == len(asked)
    assert (place / "again.jsonl").read_bytes() == (place / "narrow.jsonl").read_bytes()


def test_an_interrupted_run_is_taken_up(cli, suite, place, lines, monkeypatch):
    """The model breaks down in the middle; the answers it gave are in the cache."""
    from otherwords.models import scripted

    original, calls = scripted._improvise, []

    def breaking(*arguments):
        calls.append(1)
        if len(calls) > 150:
            raise KeyboardInterrupt
        return original(*arguments)

    with monkeypatch.context() as broken:
        broken.setattr(scripted, "_improvise", breaking)
        cli("answer", suite, *MODEL, "--cache", "cache.sqlite", "--until", RULE, "-o", "a.jsonl", "-q", rc=130)
    assert not (place / "a.jsonl").exists()
    (place / "asked.jsonl").unlink()
    ask(cli, suite, "a.jsonl", "-q")
    assert len(lines(place / "asked.jsonl")) == len(lines(place / "a.jsonl")) - 96  # of the first look were stored


def test_clusters_stay_together(cli, place, write_jsonl, lines):
    rows = [{**row, "cluster": f"c{int(row['n']) // 4}"} for row in suite_rows()]
    done = ask(cli, write_jsonl(place / "clustered.jsonl", rows), "answers.jsonl", rule="flip_rate within 0.1")
    answers = pl.read_ndjson("answers.jsonl")
    assert set(answers.group_by("cluster").agg(pl.col("bucket").n_unique())["bucket"]) == {4}
    assert answers.group_by("cluster").agg(pl.col("asked").n_unique())["asked"].max() == 1
    assert re.search(r"stopped after \d+ of 400 problems \(\d+ of 100 clusters\)", done.stderr)


@pytest.mark.parametrize(("rule", "side"), [("flip_rate<=0.9", "below"), ("flip_rate <= 30%", "above")])
def test_a_bound_is_answered_either_way(cli, suite, rule, side):
    ask(cli, suite, "answers.csv", rule=rule)
    [score] = json.loads(cli("score", "answers.csv", "--metric", "flip_rate", "--json").stdout)
    assert score["n_units"] < PROBLEMS
    assert score["high"] <= 0.9 if side == "below" else score["low"] > 0.3


@pytest.mark.filterwarnings("default")
def test_where_the_data_run_out_it_says_so(cli, suite, lines, place):
    message = "asked all 400 problems before 'flip_rate within 0.001' was answered: flip_rate 0."
    done = ask(cli, suite, "answers.jsonl", rule="flip_rate within 0.001")
    assert message in done.stderr
    assert "stopped after" not in done.stderr
    assert len(lines(place / "answers.jsonl")) == 3 * PROBLEMS


def test_problems_without_variants_come_last(cli, place, write_jsonl, lines):
    alone = [{**row, "id": f"alone{row['n']}", "premise": f"Alone {row['n']}."} for row in suite_rows(300, 0)]
    ask(cli, write_jsonl(place / "mixed.jsonl", [*alone, *suite_rows()]), "answers.jsonl")
    assert not any(row["bucket"].startswith("alone") for row in lines(place / "answers.jsonl"))


def test_each_model_stops_by_itself(cli, suite, place):
    models = ("-m", "any=scripted", "-m", "constant=scripted(otherwise=neutral)", "--no-canary", "--no-cache")
    done = cli("answer", suite, *models, "--until", RULE, "-o", "answers.csv")
    assert re.search(r"^any: stopped after", done.stderr, re.M)
    assert re.search(r"^constant: stopped after", done.stderr, re.M)
    sizes = pl.read_csv("answers.csv").group_by("model").agg(pl.col("asked").max())
    counts = dict(sizes.iter_rows())
    assert counts["constant"] < counts["any"]
    scores = json.loads(cli("score", "answers.csv", "--metric", "flip_rate", "--json").stdout)
    assert [one["interval"] for one in scores] == ["anytime", "anytime"]


@pytest.mark.parametrize(
    "rule", ["", " ", "nothing within 0.1", "pvap within 0.1", "flip_rate within 0.6", "flip_rate", "flip_rate<=1.5"]
)
def test_a_wrong_rule_costs_nothing(cli, suite, place, rule):
    error = ask(cli, suite, "answers.csv", rule=rule, rc=2).stderr
    assert error.startswith("error: --until: " if "nothing" not in rule else "error: no metrics named 'nothing'")
    assert not (place / "asked.jsonl").exists()
    assert not (place / "answers.csv").exists()


def test_rules_that_the_suite_cannot_answer(place, write_jsonl):
    def answer(rows, rule):
        return ow.answer(rows, lambda batch: pytest.fail("asked"), until=rule, cache=None, canary=False)

    with refuses(BadInput, where="until"):
        answer(suite_rows(4, 0), RULE)
    with refuses(BadInput, where="until"):
        answer(suite_rows(4), "control_flips<=0.1")
    with refuses(BadInput, where="until"):
        answer(suite_rows(4), "")
    with refuses(BadInput, where="until"):
        answer(suite_rows(4), "jaccard within 0.1")
    with refuses(BadInput, where="until"):
        answer(suite_rows(4), "flip_when_right within 0.1")
    with refuses(Unmeasurable):
        answer([{**row, "label": None} for row in suite_rows(4)], "accuracy_variants within 0.1")


def test_as_a_library():
    answers = ow.answer(suite_rows(), "scripted", until=RULE, seed=3, confidence=0.9, cache=None, canary=False)
    assert answers["bucket"].n_unique() < PROBLEMS
    [score] = ow.score(answers, "flip_rate", confidence=0.9)
    assert score.interval == "anytime"
    assert score.high - score.low <= 0.16
    [surer] = ow.score(answers, "flip_rate", confidence=0.99)
    assert surer.low < score.low < score.high < surer.high
    groups = ow.score(answers.with_columns(half=pl.col("n") < 200), "flip_rate", by="half", confidence=0.9)
    assert [one.interval for one in groups] == ["anytime"] * 3


def test_columns_of_these_names_may_be_the_users(cli, place, write_jsonl, lines):
    """In a suite they are kept under another name; in answers of another program they mean nothing."""
    ask(cli, write_jsonl(place / "dated.jsonl", suite_rows(until="May", asked="Ann")), "answers.jsonl")
    row = lines(place / "answers.jsonl")[0]
    assert (row["input_until"], row["input_asked"]) == ("May", "Ann")
    table = pl.DataFrame(
        [{"bucket": f"b{n}", "variant": v, "pred": "yes", "gold": "yes"} for n in range(30) for v in ("", "v")]
    )
    dated = table.with_columns(until=pl.lit("2026-05-01"), asked=pl.lit("Ann"))
    assert ow.score(dated, "flip_rate")[0] == ow.score(table, "flip_rate")[0]


def test_anytime_ends_on_request():
    answers = ow.answer(suite_rows(60), "scripted", cache=None, canary=False)
    plain = ow.score(answers, ["flip_rate", "pvap"])
    assert [one.anytime_low for one in plain] == [None, None]
    flips, pvap = ow.score(answers, ["flip_rate", "pvap"], anytime=True)
    assert flips.interval == "wilson"
    assert flips.anytime_low < flips.low < flips.high < flips.anytime_high
    assert (pvap.anytime_low, pvap.anytime_high) == (None, None)
    shuffled = ow.score(answers.sample(fraction=1.0, shuffle=True, seed=1), ["flip_rate", "pvap"], anytime=True)
    assert shuffled == [flips, pvap]


def test_the_most_that_a_cluster_may_weigh_widens_anytime_ends():
    """A table that grows does not tell how large its largest problem will be: the user may."""
    answers = ow.answer(suite_rows(60), "scripted", cache=None, canary=False)
    [plain] = ow.score(answers, "flip_rate", anytime=True)
    [same], [wider] = (ow.score(answers, "flip_rate", anytime=most) for most in (2, 20))
    assert (same.anytime_low, same.anytime_high) == (plain.anytime_low, plain.anytime_high)
    assert wider.anytime_low < plain.anytime_low < plain.anytime_high < wider.anytime_high
    with refuses(BadInput, field="anytime"):
        ow.score(answers.vstack(answers.filter(pl.col("variant") != "").with_columns(variant=pl.col("variant") + "x")),
                 "flip_rate", anytime=2)  # fmt: skip
    with refuses(BadInput, field="anytime"):
        ow.score(answers, "flip_rate", anytime=-1)


def test_a_gate_on_an_anytime_end_names_a_largest_cluster(cli, place):
    ow.answer(suite_rows(60), "scripted", cache=None, canary=False).write_csv(place / "answers.csv")
    gate = ["--require", "flip_rate.anytime_high<=0.8"]
    cli("score", "answers.csv", *gate)
    cli("score", "answers.csv", *gate, "--largest", 20, rc=1)


def test_problems_without_labels():
    rows = [{name: value for name, value in row.items() if name != "label"} for row in suite_rows()]
    with pytest.warns(UserWarning, match="no column `label`"):
        answers = ow.answer(rows, "scripted", until=RULE, cache=None, canary=False)
    assert ow.score(answers, "flip_rate")[0].interval == "anytime"


def test_contrasts_stop_by_their_own_metric():
    """Problems and rewordings beside the contrasts tell nothing about sensitivity, and are not asked."""
    contrasts = [
        {**row, "id": f"c{row['id']}", "premise": f"See: {row['premise']}", "contrast": "med"}
        | ({"of": f"c{row['of']}", "label": "contradiction"} if "of" in row else {})
        for row in suite_rows(300)
    ]
    rule = "sensitivity within 0.1"
    answers = ow.answer([*suite_rows(50), *contrasts], "scripted", until=rule, cache=None, canary=False)
    assert set(answers["contrast"]) == {"med"}
    [score] = ow.score(answers, "sensitivity")
    assert (score.interval, score.high - score.low <= 0.2) == ("anytime", True)


def test_a_metric_whose_sums_are_no_share_has_no_anytime_ends():
    def twice(answers):
        return answers.sum_by_bucket(answers.is_variant, answers.is_variant) * [2, 1]

    answers = ow.answer(suite_rows(30), "scripted", cache=None, canary=False)
    [score] = ow.score(answers, twice, anytime=True)
    assert (score.value, score.anytime_high) == (2, None)


STOPPED = "flip_rate within 0.2 (largest=1)"


def stopped_table(until: object = STOPPED, asked: object = range(1, 31), **more: object) -> pl.DataFrame:
    """Thirty problems with a variant each, every third of which flips, as `answer --until` writes them."""
    twice = [one for one in asked for _ in "ov"] if isinstance(asked, (range, list)) else asked
    rows = {"bucket": [f"b{n}" for n in range(30) for _ in "ov"], "variant": ["", "v"] * 30, "gold": ["x"] * 60}
    rows["pred"] = [("x", "y")[k and n % 3 == 0] for n in range(30) for k in (0, 1)]
    rule = pl.lit(until) if isinstance(until, str) else until
    return pl.DataFrame(rows).with_columns(**{"until": rule, "asked": pl.Series(twice)} | more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "places",
    [[0] * 30, [None] * 30, ["first"] * 30, [float("nan")] * 30, [-n for n in range(30)]],
    ids=["zero", "empty", "words", "nan", "negative"],
)
def test_a_stopped_table_without_its_places_is_refused(places):
    """Else it would get the narrower interval of a table that nobody looked at while it grew."""
    with refuses(BadInput, where="model", field="asked"):
        ow.score(stopped_table(asked=places), ["flip_rate"])


def test_a_stopped_table_that_lost_the_column_is_refused(cli):
    stopped_table().drop("asked").write_csv("answers.csv")
    assert "asked: " in cli("score", "answers.csv", rc=2).stderr


def test_a_model_that_was_stopped_by_two_rules_is_refused():
    rules = pl.Series([STOPPED] * 30 + ["pa within 0.2 (largest=1)"] * 30)
    with refuses(BadInput, where="model", field="until"):
        ow.score(stopped_table(until=rules), ["flip_rate"])


@pytest.mark.parametrize("largest", ["1.2.3", "-", "e"])
def test_what_only_looks_like_a_rule_is_the_users(largest):
    [score] = ow.score(stopped_table(until=f"flip_rate within 0.2 (largest={largest})"), ["flip_rate"])
    assert score.interval == "wilson"


def test_places_may_have_gaps():
    """Whoever leaves rows out of a stopped table leaves holes in the order; huge places cost no memory."""
    [plain] = ow.score(stopped_table(), ["flip_rate"])
    [gaps] = ow.score(stopped_table(asked=[10**12 + 7 * n for n in range(30)]), ["flip_rate"])
    assert (gaps.low, gaps.high, gaps.interval) == (plain.low, plain.high, "anytime")


@pytest.mark.filterwarnings("default")
def test_a_comparison_of_stopped_models_is_warned_of(cli):
    stopped_table(model=pl.lit("a")).write_csv("a.csv")
    stopped_table(model=pl.lit("b"), pred=pl.lit("x")).drop("until", "asked").write_csv("b.csv")
    told = cli("compare", "a.csv", "b.csv", "--metric", "flip_rate").stderr
    assert told.count("a was asked until 'flip_rate within 0.2'") == 1, told
    groups = stopped_table(model=pl.lit("a"), how=pl.Series(["p", "q"] * 30).sort())
    groups.write_csv("groups.csv")
    told = cli("compare", "groups.csv", "--between", "how", "--metric", "flip_rate").stderr
    assert told.count("a was asked until 'flip_rate within 0.2'") == 1, told
