"""Logs of other harnesses: the samples that the real packages wrote give the scores of our own table, to the bit."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard
from refusals import refuses
from typer.testing import CliRunner

import otherwords as ow
from otherwords.cli.app import app
from otherwords.errors import BadInput
from otherwords.harnesses import LogOptions, find_harness, read_log

SAMPLES = Path(__file__).parent / "samples"
INSPECT, LM_EVAL, OWN = SAMPLES / "inspect.eval", SAMPLES / "samples_otherwords_1.jsonl", SAMPLES / "answers.csv"
BY_ID = r"(?P<bucket>p\d+)(-(?P<variant>v\d+))?"
Members = dict[str, bytes]


def members(path: Path = INSPECT) -> Members:
    """The content of each member of a log; `zipfile` finds them, and zstandard reads them."""
    content, found = path.read_bytes(), {}
    for one in zipfile.ZipFile(path).infolist():
        names = int.from_bytes(content[one.header_offset + 26 : one.header_offset + 28], "little")
        extra = int.from_bytes(content[one.header_offset + 28 : one.header_offset + 30], "little")
        begin = one.header_offset + 30 + names + extra
        raw = content[begin : begin + one.compress_size]
        found[one.filename] = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True).read()
    return found


def zipped(given: Members, path: Path, method: int = zipfile.ZIP_DEFLATED) -> Path:
    """The same as Inspect wrote it before it used zstd."""
    with zipfile.ZipFile(path, "w", method) as file:
        for name, content in given.items():
            file.writestr(name, content)
    return path


@pytest.fixture
def inspect_json(tmp_path: Path) -> Path:
    """The log in Inspect's other format: what stands in the header, then the samples."""
    found = members()
    samples = [json.loads(content) for name, content in found.items() if name.startswith("samples/")]
    path = tmp_path / "inspect.json"
    path.write_text(json.dumps({**json.loads(found["header.json"]), "samples": samples}, indent=2))
    return path


def scores(source: Any, **options: Any) -> list[Any]:
    return list(ow.score(source, replicates=199, **options))


def test_inspect_and_our_own_table_give_the_same_scores_to_the_bit(inspect_json, tmp_path):
    expected = scores(OWN, by="topic")
    assert scores(INSPECT, by="topic") == expected
    assert scores(inspect_json, by="topic") == expected
    assert scores(zipped(members(), tmp_path / "old.eval"), by="topic") == expected
    assert scores(zipped(members(), tmp_path / "plain.eval", zipfile.ZIP_STORED), by="topic") == expected
    assert {one.metric for one in expected} >= {"repeat_flips", "flip_rate", "p_c", "accuracy_drop"}


def test_lm_eval_and_our_own_table_give_the_same_scores_to_the_bit():
    once = pl.read_csv(OWN).drop("again:usual:1")
    assert scores(LM_EVAL) == scores(once)
    assert scores(SAMPLES) == scores(once)  # a folder of samples
    inspect = read_log(INSPECT).drop("again:usual:1")
    assert scores(inspect) == scores(once)


def test_all_of_a_comparison_is_the_same_whatever_the_logs(tmp_path):
    other = (
        pl.read_csv(OWN)
        .drop("again:usual:1")
        .with_columns(pl.lit("other").alias("model"), pl.col("gold").alias("pred"))
    )
    other.write_csv(tmp_path / "other.csv")
    once = pl.read_csv(OWN).drop("again:usual:1")
    differences = [list(ow.compare(one, tmp_path / "other.csv", replicates=999)) for one in (LM_EVAL, once)]
    assert differences[0] == differences[1]


def test_an_answers_table_of_a_log_has_its_metadata_and_epochs():
    table = read_log(INSPECT)
    expected = ["model", "bucket", "variant", "gold", "pred"]
    assert table.columns[:5] == expected
    own = pl.read_csv(OWN).with_columns(pl.col("variant").fill_null(""))
    key = ["bucket", "variant"]
    assert table.select(own.columns).sort(key).equals(own.sort(key))


@pytest.mark.parametrize(
    ("log", "harness"),
    [(INSPECT, "inspect"), (LM_EVAL, "lm-eval"), (SAMPLES, "lm-eval"), (OWN, ""), ("nothing.eval", "")],
)
def test_the_harness_of_a_log_is_found(log, harness):
    assert find_harness(log) == harness


def test_samples_are_put_together_by_a_pattern_of_ids_or_a_file(tmp_path):
    table = read_log(INSPECT, BY_ID)
    assert table["variant"].unique().sort().to_list() == ["", "v1", "v2"]
    named = read_log(INSPECT).select("id", "bucket", "variant")
    named.write_csv(tmp_path / "buckets.csv")
    without = members()
    summaries = json.loads(without["summaries.json"])
    for one in summaries:
        del one["metadata"]["bucket"], one["metadata"]["variant"]
    without["summaries.json"] = json.dumps(summaries).encode()
    log = zipped(without, tmp_path / "log.eval")
    expected = scores(OWN)
    assert scores(log, logs=LogOptions(str(tmp_path / "buckets.csv"))) == expected
    assert scores(log, logs=LogOptions(BY_ID)) == expected
    with refuses(BadInput, where=str(log)):
        read_log(log)
    with refuses(BadInput, where=f"{log}, sample 'p0'"):
        read_log(log, "(?P<bucket>x.*)")
    named.filter(pl.col("id") != "p1").write_csv(tmp_path / "buckets.csv")
    with refuses(BadInput, where=f"{log}, sample 'p1'", field="id"):
        read_log(log, str(tmp_path / "buckets.csv"))


def test_samples_are_put_together_by_a_column():
    table = read_log(INSPECT, "topic")
    assert table["bucket"].unique().sort().to_list() == ["indoors", "outdoors"]
    assert scores(INSPECT, columns={"bucket": "bucket", "variant": "variant"}) == scores(OWN)
    with refuses(BadInput, where=str(INSPECT), field="bucket_from"):
        read_log(INSPECT, "topics")


@pytest.mark.parametrize("how", ["(?P<bucket", "(?P<variant>.*)"])
def test_a_pattern_that_is_none_is_refused(how):
    with refuses(BadInput, where=how, field="bucket_from"):
        read_log(INSPECT, how)


def test_rows_of_our_own_tables_are_put_together_by_id_too():
    table = read_log(INSPECT, BY_ID).drop("bucket", "variant")
    assert scores(table, logs=LogOptions(BY_ID)) == scores(OWN)


def test_the_grade_counts_where_answers_are_no_labels():
    [right] = [one for one in scores(INSPECT, logs=LogOptions(graded=True)) if one.metric == "accuracy_original"]
    [own] = [one for one in scores(OWN) if one.metric == "accuracy_original"]
    assert right.value == own.value
    assert set(read_log(INSPECT, graded=True)["pred"]) == {"right", "wrong"}
    assert set(read_log(LM_EVAL, graded=True)["gold"]) == {"right"}


def changed(tmp_path: Path, change: Callable[[Members], None]) -> Path:
    found = members()
    change(found)
    return zipped(found, tmp_path / "log.eval")


def summarised(found: Members, change: Callable[[list[dict[str, Any]]], None]) -> None:
    some = json.loads(found["summaries.json"])
    change(some)
    found["summaries.json"] = json.dumps(some).encode()


def test_a_second_scorer_must_be_named(tmp_path):
    def add(some: list[dict[str, Any]]) -> None:
        for one in some:
            one["scores"]["other"] = {"value": "C", "answer": one["target"]}

    log = changed(tmp_path, lambda found: summarised(found, add))
    with refuses(BadInput, where=f"{log}, sample 'p0'"):
        read_log(log)
    assert scores(log, logs=LogOptions(scorer="word")) == scores(OWN)
    assert set(read_log(log, scorer="other")["grade"]) == {"right"}
    with refuses(BadInput, field="scorer"):
        read_log(log, scorer="third")


def test_a_sample_that_ended_with_an_error_is_named(tmp_path):
    def break_one(some: list[dict[str, Any]]) -> None:
        some[4] |= {"error": "the server was gone", "scores": {}}

    log = changed(tmp_path, lambda found: summarised(found, break_one))
    with refuses(BadInput, where=f"{log}, sample 'p1-v1'"):
        read_log(log)
    with pytest.warns(UserWarning, match="1 answers left out"):
        kept = ow.score(log, "flip_rate", rejected=tmp_path / "rejected.jsonl")
    assert kept[0].n_answers == 7
    assert "p1-v1" in (tmp_path / "rejected.jsonl").read_text()


def test_a_log_that_was_not_finished_is_refused(tmp_path):
    def cancel(found: Members) -> None:
        header = json.loads(found["header.json"])
        found["header.json"] = json.dumps({**header, "status": "cancelled"}).encode()

    log = changed(tmp_path, cancel)
    with refuses(BadInput, where=str(log)):
        read_log(log)

    def lose_the_end(found: Members) -> None:
        del found["header.json"], found["summaries.json"], found["reductions.json"]

    log = changed(tmp_path, lose_the_end)
    with refuses(BadInput, where=str(log)):
        read_log(log)
    assert ow.score(log, "flip_rate", rejected=tmp_path / "rejected.jsonl")[0].n_answers == 8


def test_a_sample_that_lacks_is_named(tmp_path):
    def lose(some: list[dict[str, Any]]) -> None:
        some[:] = [one for one in some if one["id"] != "p2"]

    log = changed(tmp_path, lambda found: summarised(found, lose))
    with refuses(BadInput, where=f"{log}, sample 'p2'"):
        read_log(log)


@pytest.mark.parametrize(
    ("where", "text"),
    [
        (", summaries.json, sample 3", b'[{"id": "a", "scores": {}}, {"id": "b"}, {"id": '),
        (", sample 1", b'[{"name": "a"}]'),
        (", summaries.json", b"{}"),
        (", sample 1", b"[3]"),
        ("", b"[]"),
        (", summaries.json", b"[\xff]"),
    ],
)
def test_malformed_summaries_are_refused(tmp_path, where, text):
    log = changed(tmp_path, lambda found: found.update({"summaries.json": text}))
    with refuses(BadInput, where=f"{log}{where}"):
        ow.score(log, rejected=tmp_path / "rejected.jsonl")


@pytest.mark.parametrize("share", [0, 0.3, 0.98, 0.999])
def test_a_truncated_file_is_refused(tmp_path, share):
    content = INSPECT.read_bytes()
    log = tmp_path / "cut.eval"
    log.write_bytes(content[: int(len(content) * share)])
    with refuses(BadInput, where=str(log)):
        read_log(log)


def test_a_damaged_member_is_refused(tmp_path):
    content = bytearray(INSPECT.read_bytes())
    place = content.rfind(b"summaries.json", 0, content.rfind(b"PK\x01\x02samples"))
    place = bytes(content).index(b"summaries.json", bytes(content).index(b"_journal/summaries/1.json") + 10)
    content[place + 60 : place + 90] = b"\0" * 30
    log = tmp_path / "damaged.eval"
    log.write_bytes(content)
    with pytest.raises(BadInput, match=r"damaged\.eval, summaries\.json: cannot be decompressed|broken JSON"):
        read_log(log)


def test_a_json_log_that_ends_too_early_names_the_sample(inspect_json):
    text = inspect_json.read_text()
    inspect_json.write_text(text[: text.index('"id": "p2-v1"') + 40])
    with refuses(BadInput, where=f"{inspect_json}, sample 8"):
        read_log(inspect_json)


def lines(path: Path = LM_EVAL) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def written(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def test_free_text_of_lm_eval_is_read_by_the_strict_rule(tmp_path):
    rows = lines()
    for row in rows:
        row["arguments"] = {"gen_args_0": {"arg_0": row["doc"]["prompt"], "arg_1": {"until": ["\n"]}}}
        row["target"], row["filtered_resps"] = (
            row["doc"]["answer"],
            [[f"Answer: {row['doc']['answer']}.", "yes and no"]],
        )
    rows[0]["filtered_resps"][0][0] = "I do not know"
    log = written(tmp_path / "samples_free_1.jsonl", rows)
    with pytest.warns(UserWarning, match="answers are none of the labels"):
        table = read_log(log)
    assert table["pred"].to_list() == ["unreadable", *(row["doc"]["label"] for row in rows[1:])]
    assert set(table["again:usual:1"]) == {"unreadable"}


def test_one_of_several_filters_must_be_named(tmp_path):
    rows = [{**row, "filter": name} for name in ("strict", "flexible") for row in lines()]
    log = written(tmp_path / "samples_otherwords_2.jsonl", rows)
    with refuses(BadInput, where=f"{log}, line 13", field="filter"):
        read_log(log)
    assert read_log(log, scorer="strict").height == 12
    with refuses(BadInput, where=str(log), field="scorer"):
        read_log(log, scorer="loose")


def test_samples_that_are_fewer_than_the_results_say_are_refused(tmp_path):
    log = written(tmp_path / "samples_otherwords_1.jsonl", list(lines()[:7]))
    (tmp_path / "results_1.json").write_bytes((SAMPLES / "results_1.json").read_bytes())
    with refuses(BadInput, where=f"{log}, after sample 7"):
        read_log(log)


@pytest.mark.parametrize(
    "change",
    [
        {"filtered_resps": [["x", False]] * 3},
        {"filtered_resps": []},
        {"arguments": 3},
        {"arguments": {"gen_args_0": {"arg_0": "a", "arg_1": {}}}, "filtered_resps": [[1]]},
    ],
)
def test_a_malformed_sample_of_lm_eval_is_named(tmp_path, change):
    rows = lines()
    rows[3] |= change
    log = written(tmp_path / "samples_x_3.jsonl", rows)
    with pytest.raises(BadInput, match=r"samples_x_3\.jsonl, line 4, sample 'p1'"):
        read_log(log)


def test_a_broken_line_of_lm_eval_is_named(tmp_path):
    log = written(tmp_path / "samples_x_3.jsonl", [*lines()[:2], '{"doc_id": 3, "doc":'])
    with refuses(BadInput, where=f"{log}, line 3"):
        read_log(log)
    log = written(tmp_path / "samples_x_3.jsonl", [*lines()[:2], "{}"])
    with refuses(BadInput, where=f"{log}, line 3"):
        read_log(log)


def test_likelihoods_are_probabilities_and_the_highest_is_the_answer():
    table = read_log(LM_EVAL)
    shares = table.select("p:entailment", "p:neutral", "p:contradiction")
    assert shares.sum_horizontal().to_list() == pytest.approx([1.0] * 12)
    best = [max(row, key=row.get).removeprefix("p:") for row in shares.to_dicts()]  # type: ignore[arg-type]
    assert best == table["pred"].to_list()


def test_choices_that_are_the_same_in_all_samples_are_labels_and_others_letters(tmp_path):
    def ask(some: list[dict[str, Any]], choices: Callable[[int], list[str]]) -> None:
        for place, one in enumerate(some):
            one |= {"choices": choices(place), "target": "A"}
            one["scores"]["word"] |= {"answer": "AB"[place % 2]}
            one["metadata"].pop("choices"), one["metadata"].pop("labels")

    log = changed(tmp_path, lambda found: summarised(found, lambda some: ask(some, lambda place: ["yes", "no"])))
    assert set(read_log(log)["pred"]) == {"yes", "no"}
    log = changed(tmp_path, lambda found: summarised(found, lambda some: ask(some, lambda place: [f"a{place}", "b"])))
    assert set(read_log(log)["pred"]) == {"A", "B"}


def test_choices_after_the_letters_are_numbered_as_inspect_does(tmp_path):
    def ask(some: list[dict[str, Any]]) -> None:
        for place, one in enumerate(some):
            choices = [f"text {number}" for number in range(28)]
            choices[26:] = choices[26:] if place % 2 else choices[:25:-1]
            one |= {"choices": choices, "target": str(1 + choices[26:].index("text 27"))}
            one["scores"]["word"] |= {"answer": one["target"]}
            one["metadata"].pop("choices"), one["metadata"].pop("labels")

    table = read_log(changed(tmp_path, lambda found: summarised(found, ask)))
    assert {*table["gold"], *table["pred"]} == {"text 27"}


def test_numbers_that_go_on_in_the_next_chunk_are_whole(monkeypatch):
    from otherwords.harnesses import samples

    monkeypatch.setattr(samples, "_CHUNK", 3)
    values = [12345, {"a": [1.5, "x\u20ac"]}, -7]
    text = json.dumps({"before": 1234567, "list": values, "after": {"b": None}}, ensure_ascii=False)
    kept: dict[str, Any] = {}
    reader = samples.JsonReader(io.BytesIO(text.encode()), "x")
    assert list(reader.elements(["list"], kept.__setitem__)) == values
    assert kept == {"before": 1234567, "after": {"b": None}}


def test_commands_read_logs(tmp_path):
    runner = CliRunner()
    done = runner.invoke(app, ["score", str(INSPECT), "--bucket-from", BY_ID, "--json", "--replicates", "199"])
    assert [one["value"] for one in json.loads(done.stdout)] == [one.value for one in scores(OWN)]
    page = tmp_path / "page.html"
    done = runner.invoke(app, ["report", str(INSPECT), "-o", str(page)])
    assert done.exit_code == 0, done.output
    text = page.read_text()
    assert "So: Her keys are blue. yes, maybe or no?" in text
    assert "mockllm" in text
    done = runner.invoke(app, ["report", str(INSPECT)])
    assert done.exit_code == 2


@pytest.mark.parametrize("text", ["{}", "[]", "null", '{"a":', ""])
def test_json_that_is_no_log_is_said_to_be_none(tmp_path, text):
    path = tmp_path / "log.json"
    path.write_text(text)
    with refuses(BadInput, where=str(path)):
        ow.score(str(path))


@pytest.mark.parametrize("option", [("--graded",), ("--scorer", "match")])
@pytest.mark.parametrize("command", ["score", "compare"])
def test_what_is_for_logs_alone_is_not_ignored_elsewhere(command, option):
    done = CliRunner().invoke(app, [command, str(OWN), *option])
    assert done.exit_code == 2
    assert f"error: {option[0]}: is for logs of other harnesses; leave it out" in done.stderr
