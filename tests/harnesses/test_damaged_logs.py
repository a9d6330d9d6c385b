"""Logs that are damaged, partial or of a kind that nobody expects: each is refused, with its file and sample named."""

from __future__ import annotations

import copy
import importlib.util
import json
import math
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

import otherwords as ow
from otherwords.cli.app import app
from otherwords.errors import BadInput
from otherwords.harnesses import read_log

HERE = Path(__file__).parent
SAMPLES = HERE / "samples"
LM_EVAL = SAMPLES / "samples_otherwords_1.jsonl"
Rows = list[dict[str, Any]]


def neighbour(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"harnesses_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


logs, others = neighbour("test_logs"), neighbour("test_other_outputs")
MEMBERS = logs.members()


def inspect(folder: Path, change: Callable[[Rows, dict[str, Any]], object] = lambda *_: None, **raw: bytes) -> Path:
    """The log of Inspect with other summaries (of p0, p0-v1, p0-v2, p1, ...), or another header."""
    rows, header = json.loads(MEMBERS["summaries.json"]), json.loads(MEMBERS["header.json"])
    change(rows, header)
    found = {**MEMBERS, "summaries.json": json.dumps(rows).encode(), "header.json": json.dumps(header).encode()}
    return logs.zipped({**found, **{f"{name}.json": content for name, content in raw.items()}}, folder / "log.eval")


def of_p1(**fields: Any) -> Callable[[Rows, dict[str, Any]], object]:
    return lambda rows, header: rows[3].update(fields)


def metadata_of_p1(**fields: Any) -> Callable[[Rows, dict[str, Any]], object]:
    return lambda rows, header: rows[3]["metadata"].update(fields)


def of_word(**fields: Any) -> Callable[[Rows, dict[str, Any]], object]:
    return of_p1(scores={"word": {"value": "C", **fields}})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (of_p1(id=None), "sample 4: id: found None"),
        (of_p1(id=["a"]), r"sample 4: id: found \['a'\]"),
        (of_p1(id=math.nan), "sample 4: id: found nan"),
        (of_p1(id=True), "sample 4: id: found True"),
        (of_p1(id="p0"), "sample 'p0': occurs twice in epoch 1"),
        (of_p1(epoch="x"), "sample 'p1': epoch: found 'x'"),
        (of_p1(epoch=None), "sample 'p1': epoch: found None"),
        (of_p1(epoch=10**30), "sample 'p1': epoch: found 1000000"),
        (of_p1(epoch=-2), "sample 'p1': epoch: found -2"),
        (of_p1(epoch=1.5), r"sample 'p1': epoch: found 1\.5"),
        (of_p1(epoch=True), "sample 'p1': epoch: found True"),
        (of_p1(target={"a": 1}), "sample 'p1': target: found {'a': 1}"),
        (of_p1(target=[["a"]]), r"sample 'p1': target: found \[\['a'\]\]"),
        (of_p1(target=None), "sample 'p1': gold: found nothing"),
        (of_p1(scores="C"), "sample 'p1': scores: found 'C'"),
        (of_p1(scores={"word": None}), "sample 'p1': scores: found"),
        (of_word(answer=["a"]), r"sample 'p1': answer: found \['a'\]"),
        (of_p1(error={}), "sample 'p1': ended with an error: 'no message'"),
        (of_p1(error=5), "sample 'p1': ended with an error: 5"),
        (of_p1(metadata=[1]), "sample 'p1': bucket: found nothing"),
        (metadata_of_p1(bucket=None), "sample 'p1': bucket: found nothing"),
        (metadata_of_p1(bucket={"a": 1}), "sample 'p1': bucket: found nothing"),
        (lambda rows, _: rows[4]["metadata"].pop("variant"), "sample 'p1': variant: bucket 'p1' has 2 originals"),
        (lambda rows, _: rows.pop(3), "sample 'p1': lacks 1 of its 2 epochs: the log has 23 of 24 samples"),
        (lambda rows, _: rows.pop(), "sample 'p3-v2': lacks 1 of its 2 epochs: the log has 23 of 24 samples"),
        (lambda rows, _: rows.__delitem__(slice(12, None)), "sample 'p0': lacks 1 of its 2 epochs"),
        (lambda _, header: header.update(eval=None), "eval: does not say what was evaluated"),
        (lambda _, header: header.update(eval=[]), r"eval: found \[\]"),
        (lambda _, header: header["eval"].update(dataset=[1]), r"dataset: found \[1\]"),
        (lambda _, header: header["eval"]["dataset"].update(sample_ids=5), "sample_ids: found 5"),
        (lambda _, header: header.update(results=[1]), r"results: found \[1\]"),
        (lambda _, header: header.update(status="error", error="x"), "error: found 'x'"),
    ],
)
def test_a_damaged_log_of_inspect(tmp_path, change, message):
    with pytest.raises(BadInput, match=rf"log\.eval.*{message}"):
        ow.score(inspect(tmp_path, change), "flip_rate")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"header": b"[1]"}, r"log\.eval: header\.json: found \[1\]"),
        ({"header": b'{"version": 2, '}, r"log\.eval, header\.json: broken JSON"),
        ({"header": b"[" * 100_000}, r"log\.eval, header\.json: broken JSON"),
        ({"summaries": b'{"a": 1}'}, r"log\.eval, summaries\.json: broken JSON"),
        ({"summaries": b'[{"id": "p0"}, 3]'}, r"log\.eval, sample 'p0': has no answer"),
        ({"summaries": b"[3]"}, r"log\.eval, sample 1: found 3 instead"),
        ({"summaries": b'[{"id": ' + b"9" * 5_000 + b"}]"}, r"summaries\.json, sample 1: broken JSON: Exceeds"),
        ({"summaries": b"[]"}, r"log\.eval: has no samples"),
    ],
)
def test_damaged_members_of_a_log_of_inspect(tmp_path, raw, message):
    with pytest.raises(BadInput, match=message):
        read_log(inspect(tmp_path, **raw))


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_member_that_was_changed_is_found_by_its_checksum(tmp_path, method):
    """A byte that differs may leave valid JSON, with another answer in it."""
    path = logs.zipped(MEMBERS, tmp_path / "log.eval", method)
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as file:
        found = file.getinfo("summaries.json")
    if method == zipfile.ZIP_STORED:
        place = content.index(b'"maybe"', found.header_offset)
        content[place : place + 7] = b'"yes"  '
    else:  # the checksum itself, in the directory at the end
        place = content.index(b"PK\x01\x02", content.rindex(b"summaries.json") - 46)
        content[place + 16] ^= 1
    path.write_bytes(content)
    for rejected in (None, tmp_path / "bad.jsonl"):  # nothing of it can be used
        with pytest.raises(BadInput, match=r"log\.eval, summaries\.json: is damaged: its checksum differs") as found:
            ow.score(path, "flip_rate", rejected=rejected)
        assert "copy the log again" in found.value.fix


@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_a_deflated_member_that_was_cut_is_refused(tmp_path, share):
    path = inspect(tmp_path)
    content = bytearray(path.read_bytes())
    place = content.rindex(b"PK\x01\x02", 0, content.rindex(b"summaries.json"))
    size = int.from_bytes(content[place + 20 : place + 24], "little")
    content[place + 20 : place + 24] = int(size * share).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"log\.eval, summaries\.json"):
        read_log(path)


def test_half_a_surrogate_pair_is_valid_json_and_no_text(tmp_path):
    """A reply that was cut within an emoji is logged so."""
    with pytest.warns(UserWarning, match="none of the labels"):
        table = read_log(inspect(tmp_path, of_word(answer="\ud83d")))
    assert table["pred"][3] == "unreadable"


def lm_eval(
    folder: Path, change: Callable[[Rows], object] = lambda rows: None, more: str = "", results: str = ""
) -> Path:
    rows = [json.loads(line) for line in LM_EVAL.read_text().splitlines()]
    change(rows)
    path = folder / "samples_otherwords_1.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + more)
    if results:
        (folder / "results_1.json").write_text(results)
    return path


def of_third(**fields: Any) -> dict[str, Any]:
    return {"change": lambda rows: rows[2].update(fields)}


def likelihoods(*values: str) -> dict[str, Any]:
    return of_third(filtered_resps=[[one, "False"] for one in values])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"more": "null\n"}, "line 13: found None instead of a sample"),
        ({"more": "5\n"}, "line 13: found 5 instead of a sample"),
        ({"more": '"doc_id doc target filtered_resps"\n'}, "line 13: found 'doc_id doc target"),
        ({"more": "[1]\n"}, r"line 13: found \[1\] instead of a sample"),
        ({"change": lambda rows: rows.append(rows[0])}, "sample 'p0': occurs twice"),
        (likelihoods("nan", "-1", "-2"), "line 3, sample 'p0-v2': filtered_resps"),
        (likelihoods("inf", "-1", "-2"), "line 3, sample 'p0-v2': filtered_resps"),
        (likelihoods("1e309", "-1", "-2"), "line 3, sample 'p0-v2': filtered_resps"),
        (likelihoods("-inf", "-inf", "-inf"), "line 3, sample 'p0-v2': filtered_resps"),
        (of_third(arguments={}), r"line 3, sample 'p0-v2': arguments: found \[\]"),
        (of_third(target=None), "sample 'p0-v2': gold: found nothing"),
        (of_third(target="9" * 5_000), "sample 'p0-v2': gold: variant 'p0-v2' has the label '999"),
        (of_third(target="\u0661"), "sample 'p0-v2': gold: variant 'p0-v2' has the label '\u0661'"),
        (of_third(doc=None), "sample '2': bucket: found nothing"),
        ({"results": "[]"}, r"results_1\.json: found \[\] instead of results"),
        ({"results": '{"n-samples": 5}'}, r"results_1\.json: n-samples: found 5"),
        ({"results": '{"n-samples": {"otherwords": 5}}'}, r"results_1\.json: otherwords: found 5"),
        ({"results": '{"n-samples": {"otherwords": {"effective": "x"}}}'}, r"results_1\.json: effective: found 'x'"),
        ({"results": '{"config": "x"}'}, r"results_1\.json: config: found 'x'"),
    ],
)
def test_a_damaged_file_of_lm_eval(tmp_path, how, message):
    with pytest.raises(BadInput, match=message):
        ow.score(lm_eval(tmp_path, **how), "flip_rate")


def test_metrics_of_lm_eval_that_are_no_list_say_nothing(tmp_path):
    assert read_log(lm_eval(tmp_path, **of_third(metrics=5))).height == 12


@pytest.mark.parametrize("blank", ["", " "])
def test_words_of_which_one_is_blank_say_nothing_of_labels(tmp_path, blank):
    def change(rows: Rows) -> None:
        for row in rows:
            row["doc"]["choices"][0] = blank

    table = read_log(lm_eval(tmp_path, change))
    assert {name for name in table.columns if name.startswith("p:")} == {"p:yes", "p:maybe", "p:no"}


@pytest.mark.parametrize("odd", ["\ud83d", "\0"])
def test_labels_with_what_is_no_text_are_read(tmp_path, odd):
    def change(rows: Rows) -> None:
        for row in rows:
            row["doc"]["labels"][0] += odd

    table = read_log(lm_eval(tmp_path, change))
    assert {name for name in table.columns if name.startswith("p:")} == {
        "p:entailment\ufffd",
        "p:neutral",
        "p:contradiction",
    }


def test_many_samples_with_choices_of_their_own_are_letters(tmp_path):
    """A column for each choice of each sample would not fit into memory."""

    def change(rows: Rows) -> None:
        first = rows[0]
        rows.clear()
        for number in range(1_200):
            places = range(3 + number % 2)
            arguments = {f"gen_args_{place}": {"arg_0": "?", "arg_1": f" text {number} {place}"} for place in places}
            replies = [[str(-1.0 - (place != number % 3)), "False"] for place in places]
            rows.append({
                **copy.deepcopy(first), "doc_id": number, "doc": {"id": f"b{number // 2}#{number % 2 or ''}"},
                "arguments": arguments, "filtered_resps": replies, "target": f"text {number} 1",
            })  # fmt: skip

    table = read_log(lm_eval(tmp_path, change), "(?P<bucket>.+)#(?P<variant>.*)")
    shares = [name for name in table.columns if name.startswith("p:")]
    assert shares == ["p:A", "p:B", "p:C", "p:D"]
    assert table.select(shares).sum_horizontal().to_list() == pytest.approx([1.0] * 1_200)
    assert table["gold"].unique().to_list() == ["B"]
    assert table["pred"].to_list() == ["A", "B", "C"] * 400
    assert ow.score(table, "flip_rate")[0].value == 1.0


def test_choices_in_another_order_keep_their_likelihoods(tmp_path):
    def change(rows: Rows) -> None:
        for row in rows[::2]:
            given = row["arguments"]
            row["arguments"] = dict(zip(given, reversed(given.values()), strict=True))
            row["filtered_resps"].reverse()
            row["target"] = str(2 - int(row["target"]))

    plain, turned = read_log(LM_EVAL), read_log(lm_eval(tmp_path, change))
    names = ["gold", "pred", "p:entailment", "p:neutral", "p:contradiction"]
    assert turned.select(names).equals(plain.select(names))


@pytest.mark.parametrize("question", ["Which?", ""])
@pytest.mark.parametrize("again", [None, "", "Answer:"])
def test_texts_are_choices_once_with_a_question_or_without(tmp_path, question, again):
    """BLiMP asks nothing; for mutual information, the likelihoods of all texts are there a second time."""

    def change(rows: Rows) -> None:
        for row in rows:
            asked = [question] * 3 + ([] if again is None else [again] * 3)
            texts = [given["arg_1"] for given in row["arguments"].values()]
            pairs = zip(asked, texts * 2, strict=False)
            row["arguments"] = {f"gen_args_{n}": {"arg_0": a, "arg_1": b} for n, (a, b) in enumerate(pairs)}
            row["filtered_resps"] += [["-0.1", "False"]] * (len(asked) - 3)

    plain, turned = read_log(LM_EVAL), read_log(lm_eval(tmp_path, change))
    names = ["gold", "pred", "p:entailment", "p:neutral", "p:contradiction"]
    assert turned.select(names).equals(plain.select(names))


def test_of_two_texts_without_a_question_either_may_be_likelier(tmp_path):
    def change(rows: Rows) -> None:
        for number, row in enumerate(rows):
            row["arguments"] = {f"gen_args_{n}": {"arg_0": "", "arg_1": f"{n} of {number}"} for n in range(2)}
            row["filtered_resps"] = [["-2.0", "False"], ["-1.0", "False"]]
            row["target"] = "0"

    table = read_log(lm_eval(tmp_path, change))
    assert (table["gold"].unique().to_list(), table["pred"].unique().to_list()) == (["A"], ["B"])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"vars": [1]}, "result 2: found"),
        ({"testCase": [1]}, r"result 2: testCase: found \[1\]"),
        ({"testCase": {"metadata": [1]}}, r"result 2: metadata: found \[1\]"),
        ({"response": "x"}, "result 2: response: found 'x'"),
        ({"prompt": "x"}, "result 2: prompt: found 'x'"),
        ({"provider": [1]}, r"result 2: provider: found \[1\]"),
        ({"response": None}, "sample 'p0': has no answer"),
    ],
)
def test_a_damaged_result_of_promptfoo(tmp_path, fields, message):
    found = json.loads((SAMPLES / "promptfoo_0.121.20.json").read_text())
    found["results"]["results"][1].update(fields)
    (tmp_path / "results.json").write_text(json.dumps(found))
    with pytest.raises(BadInput, match=rf"results\.json, {message}"):
        read_log(tmp_path / "results.json")


@pytest.mark.parametrize("success", ["x", [1], {}])
def test_a_grade_of_promptfoo_that_is_none_is_none(tmp_path, success):
    found = json.loads((SAMPLES / "promptfoo_0.121.20.json").read_text())
    found["results"]["results"][1]["success"] = success
    (tmp_path / "results.json").write_text(json.dumps(found))
    with pytest.raises(BadInput, match="sample 'p0': graded: is neither right nor wrong"):
        read_log(tmp_path / "results.json", graded=True)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"train_trial_index": "x"}, "is not as HELM writes it: invalid literal"),
        ({"train_trial_index": 10**30}, "is not as HELM writes it: train_trial_index is 1000"),
        ({"train_trial_index": math.inf}, "is not as HELM writes it: cannot convert"),
        ({"instance": None}, "is not as HELM writes it"),
        ({"instance": {"id": None, "input": "x"}}, "lacks 'id'"),
        ({"reference_index": 9}, "is not as HELM writes it: list index"),
        ({"output_mapping": [1]}, "is not as HELM writes it"),
        ({"output_mapping": {"A": 5, "B": None}}, "is not as HELM writes it: output_mapping is {'A': 5"),
        (
            {"reference_index": 0, "result": {"completions": [{"logprob": "nan"}]}},
            "is not as HELM writes it: logprob is nan",
        ),
    ],
)
def test_a_damaged_request_of_helm(tmp_path, fields, message):
    rows = others.states()
    rows[4].update(fields)
    with pytest.raises(BadInput, match=rf"scenario_state\.json, request 5: {message}"):
        read_log(others.helm(tmp_path, rows))


@pytest.mark.filterwarnings("ignore:.*3 answers left out")
def test_a_damaged_log_exits_with_2_and_keeps_what_is_sound_if_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log, runner = inspect(tmp_path, of_p1(scores=None)), CliRunner()
    options = ["score", str(log), "--metric", "flip_rate", "--replicates", "19"]
    done = runner.invoke(app, options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"{log}, sample 'p1': has no answer" in done.stderr
    assert runner.invoke(app, [*options, "--skip-bad"]).exit_code == 0
