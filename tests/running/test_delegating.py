"""Models that workers ask: each text once, nothing asked again that was answered, the same bytes as in one process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from engine_runs import ROWS, assert_both_see_the_same, seen, write

import otherwords as ow
from otherwords.errors import BadInput, WorkerLost
from otherwords.models import writing
from otherwords.running import Engine

#: A model that writes down what it is asked, ends its process at a text with "11" where there is a file `trap`, and
#: waits before each batch where there is a file `slow`.
MODEL = """
import json, os, signal, time
from pathlib import Path

def ask(batch):
    if Path("slow").exists():
        time.sleep(0.3)
    if Path("trap").exists() and any("11" in one for one in batch["premise"]):
        os.kill(os.getpid(), signal.SIGKILL)
    with Path("asked").open("a") as file:
        file.writelines(json.dumps(pair) + "\\n" for pair in zip(batch["premise"], batch["hypothesis"]))
    return [[0.5, 0.3, 0.2] if len(one) % 2 else [0.1, 0.2, 0.7] for one in batch["premise"]]
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("models.py").write_text(MODEL)
    write(Path("data.jsonl"), ROWS)
    write(Path("twice.jsonl"), [*ROWS, *({**row, "id": f"again-{row['id']}"} for row in ROWS)])
    return tmp_path


def asked():
    """What the model was asked since the last look."""
    found = Counter(Path("asked").read_text().splitlines()) if Path("asked").exists() else Counter()
    Path("asked").unlink(missing_ok=True)
    return found


SETTINGS = {"vary": ["contractions"], "models": ["python:models.py:ask"], "batch_size": 2}


def test_a_text_of_several_shards_is_asked_once_and_the_bytes_are_those_of_one_process(here):
    alone = seen(here / "alone", "in-process", data=["twice.jsonl"], **SETTINGS)
    once = asked()
    shared = seen(here / "shared", "processes:2", data=["twice.jsonl"], **SETTINGS)
    assert asked() == once
    assert set(once.values()) == {1}
    assert shared == alone
    assert not (here / "shared" / ".shards").exists()


def test_a_text_is_asked_once_although_its_answer_is_not_in_the_file_yet(here, monkeypatch):
    monkeypatch.setattr(writing, "REST", 1e6)  # the second transaction is the last
    monkeypatch.setattr(writing, "SLOW", 1e6)

    class Here(Engine):
        def map(self, function, jobs, give_up=None):
            return map(function, jobs)

    again = [{**row, "id": f"again-{row['id']}"} for row in (*ROWS[2:], *ROWS[:2])]  # in other shards
    write(Path("mixed.jsonl"), [*ROWS, *again])
    model = f"scripted(log={json.dumps(str(here / 'asked'))})"
    seen(here / "out", Here(), data=["mixed.jsonl"], **{**SETTINGS, "models": [model]})
    assert set(asked().values()) == {1}


@pytest.mark.slow
def test_models_that_judge_variants_themselves(tmp_path):
    assert_both_see_the_same(
        tmp_path,
        data=["everyday"],
        vary=["recorded"],
        check=["mutual-entailment", "strict=mutual-entailment(threshold=0.9, field=hypothesis)"],
        models=["bag_of_words", "scripted(otherwise=entailment)"],
        shard=120,
    )


@pytest.mark.slow
def test_what_no_worker_survives_is_named_and_the_rest_is_kept(here):
    Path("trap").touch()
    expected = r"its first row is premise .*, hypothesis .*; --skip-bad continues"
    with pytest.raises(WorkerLost, match=expected):
        seen(here / "out", "processes:2", data=["data.jsonl"], **SETTINGS)
    before = asked()
    Path("trap").unlink()
    again = seen(here / "out", "processes:2", data=["data.jsonl"], **SETTINGS)[0]
    twice = [one for one, count in (before + asked()).items() if count > 1]
    assert all(" 8" in one or " 9" in one or " 10" in one or " 11" in one for one in twice), "only of the lost shard"
    alone = seen(here / "alone", "in-process", data=["data.jsonl"], **SETTINGS)[0]
    again.pop("report.html"), alone.pop("report.html")  # which counts the parts that were there
    assert again == alone


def test_with_skip_bad_the_rest_goes_on_and_a_later_run_is_whole(here):
    Path("trap").touch()
    settings = {**SETTINGS, "skip_bad": True, "data": ["data.jsonl"]}
    _, warned, about = seen(here / "out", "processes:2", **settings)
    [line] = [one for one in warned if "left out" in one]
    assert line.startswith("python:models.py:ask: left out the problems of 8 texts: a worker process")
    assert "was killed (SIGKILL), as 2 did before it, while it worked on shard" in line
    answers = ow.Run(here / "out", [], Path(), about).answers().collect()
    assert 0 < answers["bucket"].n_unique() < len(ROWS)
    assert answers["pred"].null_count() == 0
    Path("trap").unlink()
    seen(here / "out", "processes:2", **settings)
    assert ow.Run(here / "out", [], Path(), about).answers().collect()["bucket"].n_unique() == len(ROWS)


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["vary", "check"])
def test_the_same_for_generators_and_checks(here, stage):
    Path("mine.py").write_text(
        "import os, signal\nfrom pathlib import Path\n"
        "def die(text):\n    if Path('trap').exists() and '11' in text:\n        os.kill(os.getpid(), signal.SIGKILL)\n"
        "def reword(text):\n    die(text)\n    return text + ' Indeed.'\n"
        "def judge(problem, variant):\n    die(problem.text['premise'])\n    return True\n"
    )
    own = {"vary": ["python:mine.py:reword"]} if stage == "vary" else {"check": ["python:mine.py:judge"]}
    settings = {**SETTINGS, **own, "models": ["scripted"], "data": ["data.jsonl"]}
    Path("trap").touch()
    with pytest.raises(WorkerLost, match="its first row is 'p8'"):
        seen(here / "out", "processes:2", **settings)
    _, warned, _ = seen(here / "out", "processes:2", **settings, skip_bad=True)
    assert any("left out 4 problems: a worker process was killed" in one for one in warned)
    Path("trap").unlink()
    whole = seen(here / "out", "processes:2", **settings, skip_bad=True)[0]
    alone = seen(here / "alone", "in-process", **settings, skip_bad=True)[0]
    whole.pop("report.html"), alone.pop("report.html")  # the first names the warnings of the run before it
    assert whole == alone


@pytest.mark.slow
def test_a_driver_that_is_killed_is_continued_by_another(here):
    Path("slow").touch()
    command = [sys.executable, "-m", "otherwords", "run", "--data", "twice.jsonl", "--with", "contractions", "--model",
               "python:models.py:ask", "--no-canary", "--no-cache", "--shard", "4", "--batch-size", "2", "--engine",
               "processes:2", "-o", "out", "-q"]  # fmt: skip
    driver = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    limit = time.monotonic() + 60
    while not list((here / "out").glob("answers/*/*.parquet")) and time.monotonic() < limit:
        time.sleep(0.05)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    Path("slow").unlink()
    time.sleep(1)  # its workers end by themselves
    before = asked()
    assert before
    subprocess.run(command, check=True)
    after = asked()
    assert after
    twice = before.keys() & after.keys()
    assert len(twice) <= 2 * 16 * 2, "the pieces that two workers had in hand"
    alone = seen(here / "alone", "in-process", data=["twice.jsonl"], **SETTINGS)
    parts = {name: data for name, data in alone[0].items() if name.endswith(".parquet")}
    assert {name: (here / "out" / name).read_bytes() for name in parts} == parts


def test_a_worker_with_other_weights_is_refused(here):
    Path("models.py").write_text(
        "import os\nimport otherwords as ow\n"
        "def ask(batch):\n    return ['neutral'] * len(batch)\n"
        f"mine = ow.Model(ask, version='a' if os.getpid() == {os.getpid()} else 'b')\n"
    )
    with pytest.raises(BadInput, match=r"in a worker and .* in the driver") as caught:
        seen(here / "out", "processes:2", data=["data.jsonl"], vary=["contractions"], models=["python:models.py:mine"])
    assert "dtype" in caught.value.fix
