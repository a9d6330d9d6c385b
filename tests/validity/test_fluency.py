"""Fluency as the embedded masked-LM sees it: sentences before their words in disorder; means by hand; bad limits."""

from __future__ import annotations

import json
import math
import random

import pytest
from refusals import refuses

import otherwords as ow
from otherwords.errors import BadInput
from otherwords.language_models.masked_lm import load
from otherwords.problem import TASKS, Bucket, Problem
from otherwords.registry import checks

ONE = Problem(
    "p", TASKS["nli"], {"premise": "A dog runs in the park.", "hypothesis": "An animal is outside."}, "neutral"
)
GOOD = {"premise": "In the park, a dog is running.", "hypothesis": "There is an animal outdoors."}
BAD = {"premise": "Park dog the a in runs.", "hypothesis": "Outside animal is an."}


def judged(spec: str, *texts: dict[str, str]):
    return list(checks.make(spec).function([Bucket(ONE, tuple(ONE.restate(**text) for text in texts))]))


def test_disorder_is_dropped_and_rewordings_are_kept():
    verdicts = judged("fluency", GOOD, BAD, {"hypothesis": BAD["hypothesis"]}, {})
    assert [verdict.keep for verdict in verdicts] == [True, False, False, True]
    assert verdicts[3].score == 0
    assert verdicts[1].reason == f"less fluent by {-verdicts[1].score:.2f} nats per token, more than 1.5"


def test_the_score_is_the_difference_of_means_and_the_smallest_over_changed_fields():
    texts = [*ONE.text.values(), *GOOD.values()]
    means = [math.fsum(logp) / len(logp) for logp in load("mlm-small").pseudo_logp(texts)]
    gains = means[2] - means[0], means[3] - means[1]
    both, premise = judged("fluency(most=20)", GOOD, {"premise": GOOD["premise"]})
    assert premise.score == pytest.approx(gains[0], abs=1e-9)
    assert both.score == pytest.approx(min(gains), abs=1e-9)


@pytest.mark.parametrize("count", [6, pytest.param(24, marks=pytest.mark.slow)])
def test_of_recorded_rewordings_few_are_dropped_and_of_disorder_most(count):
    """The reason for the default: 25 of all 512 are dropped; here are some of them, so that it is fast."""
    problems = {row["id"]: row for row in ow.load("everyday(split=all)").iter_rows(named=True)}
    chance, pairs = random.Random(3), []
    for row in ow.vary(ow.load("everyday(split=all)"), ["recorded"]).iter_rows(named=True):
        if row["of"] and row["hypothesis"] != problems[row["of"]]["hypothesis"]:
            pairs.append((problems[row["of"]]["hypothesis"], row["hypothesis"]))
    pairs = chance.sample(sorted(pairs), count)
    task = TASKS["nli"]
    buckets = []
    for number, (before, after) in enumerate(pairs):
        problem = Problem(str(number), task, {"premise": "It rains.", "hypothesis": before}, "neutral")
        words = before.split()
        disorder = " ".join(chance.sample(words, len(words)))
        buckets.append(Bucket(problem, (problem.restate(hypothesis=after), problem.restate(hypothesis=disorder))))
    verdicts = list(checks.make("fluency").function(buckets))
    assert sum(not verdict.keep for verdict in verdicts[::2]) <= count / 6
    assert sum(not verdict.keep for verdict in verdicts[1::2]) >= count * 5 / 6


def test_empty_texts_are_dropped():
    """The last two are marks that can be seen, but not by the tokenizer: a lone accent, a letter that was lost."""
    texts = ["", " ", "\u200b", "\u0301", "\ufffd"]
    *verdicts, good = judged("fluency", *({"hypothesis": text} for text in texts), {"hypothesis": GOOD["hypothesis"]})
    for verdict in verdicts:
        assert (verdict.keep, verdict.reason, verdict.score) == (False, "empty text", None)
    assert good.keep


def test_white_space_changes_nothing():
    (verdict,) = judged("fluency", {"premise": " A dog  runs in the park.\n"})
    assert (verdict.keep, verdict.score) == (True, 0.0)


def test_an_optional_field_may_be_absent():
    texts = {"premise": None, "hypothesis": "It is out.", "update": "It rains."}
    one = Problem("q", TASKS["d-nli"], texts, "weakener")
    changes = ({"premise": ""}, {"premise": "New."}, {"update": "It is raining."})
    verdicts = list(checks.make("fluency").function([Bucket(one, tuple(one.restate(**some) for some in changes))]))
    assert [(verdict.keep, verdict.reason) for verdict in verdicts] == [(True, ""), (False, "empty text"), (True, "")]


def test_a_model_without_a_mask_is_refused(tmp_path):
    import shutil

    from otherwords.inference.onnx_files import embedded

    shutil.copytree(embedded("mlm-small"), tmp_path / "maskless")
    tokenizer = (embedded("nli-small") / "tokenizer.json").read_text(encoding="utf-8")
    (tmp_path / "maskless" / "tokenizer.json").write_text(tokenizer.replace("[MASK]", "[HIDE]"), encoding="utf-8")
    with refuses(BadInput):
        judged(f"fluency(masked_lm={json.dumps(f'onnx:{tmp_path}/maskless')})", GOOD)


def test_the_signature_has_the_masked_lm_by_content():
    assert checks.make("fluency").signature.startswith("fluency.v1(most=1.5)#mlm-small.v1(max_length=256)#")


@pytest.mark.parametrize("most", [-0.1, math.inf, math.nan])
def test_limits_that_cannot_be(most):
    with refuses(BadInput):
        checks.get("fluency").factory(most=most)


def test_of_long_texts_all_is_read():
    """The model reads 16 tokens at a time; what is out of order stands behind the first 16."""
    start = "A man walks his dog in the park. " * 4
    one = Problem("p", TASKS["nli"], {"premise": f"{start}A dog runs in the park.", "hypothesis": "H."}, "neutral")
    bucket = Bucket(one, (one.restate(premise=f"{start}Park dog the a in runs."),))
    (verdict,) = checks.make('fluency(masked_lm="mlm-small(max_length=16)", most=0.5)').function([bucket])
    assert verdict.keep is False
