"""The table of all problems that a page holds: every wording once, its answers, and what is too much for a page."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any

import polars as pl
import pytest

from otherwords.problem import TASKS
from otherwords.report import browse
from otherwords.report.browse import Wavering, encode, look_up
from otherwords.report.flips import count_problems


def table(study: Any, chosen: pl.Series | None = None) -> dict[str, Any]:
    found = look_up(chosen, [study.answers.lazy()], [study.buckets.lazy()], study.task)
    read: dict[str, Any] = json.loads(zlib.decompress(encode(found, ["weak", "strong"], study.task, {}), -15))
    return read


def test_every_wording_is_there_once_with_its_answers(study: Any) -> None:
    found = table(study)
    assert found["id"] == ["cat", "cat.1", "cat.2", "cat.3", "dog", "dog.1", "dog.2"]
    assert found["size"] == [4, 3]
    assert found["hows"] == ["by_hand.v1()"]
    assert found["how"] == [-1, 0, 0, 0, -1, 0, 0]
    labels = found["labels"]
    assert [labels[one] for one in found["gold"]] == ["entailment", "contradiction"]
    weak, strong = found["models"]
    given = study.answers.filter(pl.col("model") == "weak")["pred"].to_list()
    assert [labels[one] for one in weak["pred"]] == given
    assert [labels[one] for one in weak["first"]] == ["entailment", "neutral"]
    assert (weak["name"], strong["sure"]) == ("weak", None)


def test_a_text_that_stayed_is_not_repeated(study: Any) -> None:
    premise, hypothesis = table(study)["texts"]
    assert premise[:4] == [
        "The cat sleeps on the mat.",
        0,
        "The cat is asleep on the mat.",
        "On the mat, the cat sleeps.",
    ]
    assert hypothesis[:3] == ["An animal rests.", "Some animal rests.", 0]


def test_probabilities_are_whole_per_cents(study: Any) -> None:
    p = {"p:entailment": pl.lit(0.616), "p:neutral": pl.lit(0.3), "p:contradiction": pl.lit(0.084)}
    study.answers = study.answers.with_columns(**p)
    assert table(study)["models"][0]["sure"] == [62, 30, 30, 62, 30, 30, 8]


def test_without_originals_answers_are_compared_with_the_commonest(study: Any) -> None:
    study.answers = study.answers.filter(pl.col("variant").is_not_null())
    found = table(study)
    assert [found["labels"][one] for one in found["models"][0]["first"]] == ["neutral", "contradiction"]
    assert found["models"][0]["pred"][0] == -1, "the original was not answered"


def test_what_is_not_known_is_null(study: Any) -> None:
    study.answers = study.answers.with_columns(gold=pl.lit(None, pl.String)).filter(
        ~((pl.col("model") == "strong") & (pl.col("variant") == "cat.2"))
    )
    study.buckets = study.buckets.filter(~pl.col("id").is_in(["cat.1", "dog"]))
    found = table(study)
    assert found["gold"] == [-1, -1]
    assert found["texts"][0][found["id"].index("cat.1")] is None
    assert found["models"][1]["pred"][found["id"].index("cat.2")] == -1


def test_contrasts_and_controls_are_not_among_them(study: Any) -> None:
    marks = pl.when(pl.col("variant") == "cat.3").then(pl.lit("identity")).alias("control")
    contrast = pl.when(pl.col("bucket") == "dog").then(pl.lit("suite")).alias("contrast")
    study.answers = study.answers.with_columns(marks, contrast)
    assert table(study)["id"] == ["cat", "cat.1", "cat.2"]


def test_the_order_of_the_answers_does_not_matter(study: Any) -> None:
    before = table(study)
    study.answers = study.answers.sample(fraction=1, shuffle=True, seed=7)
    assert table(study) == before


def test_chosen_problems_alone(study: Any) -> None:
    found = table(study, pl.Series(["dog"]))
    assert found["id"] == ["dog", "dog.1", "dog.2"]


def test_a_very_long_text_is_cut(study: Any) -> None:
    study.buckets = study.buckets.with_columns(premise=pl.col("premise") + " x" * 5000)
    premise = table(study)["texts"][0]
    assert len(premise[0]) == browse.LONGEST + 2
    assert premise[0].endswith(" …")


def counted(name: str, flips: list[int], n: int = 4, model: str = "m") -> pl.DataFrame:
    names = [f"{name}{place}" for place in range(len(flips))]
    return pl.DataFrame({"model": model, "bucket": names, "n": n, "flips": flips})


def texts(*frames: pl.DataFrame, letters: int = 5) -> list[pl.LazyFrame]:
    names = sorted({name for frame in frames for name in frame["bucket"]})
    return [pl.LazyFrame({"id": names, "of": [None] * len(names), "premise": ["x" * letters] * len(names)})]


def test_a_run_that_fits_is_whole() -> None:
    one = counted("a", [1, 0, 4])
    found = Wavering(most=12)
    found.add(one)
    assert found.chosen(texts(one), ["premise"], 1) is None


def test_originals_without_rewordings_count_too() -> None:
    """A million problems of which few were reworded do not fit: those few are shown."""
    one = counted("a", [1, 0, 4])
    found = Wavering(most=12)
    found.add(one)
    assert found.chosen(texts(one), ["premise"], 25).to_list() == ["a2", "a0", "a1"]


def test_of_a_large_run_the_most_wavering_stay_whichever_model_wavers() -> None:
    """Found part by part, with far more problems than are kept, and the same as from one table."""
    parts = [counted(f"p{i}-", [(7 * i + j) % 5 for j in range(20)], model="m") for i in range(9)]
    parts += [counted(f"p{i}-", [(3 * i + j) % 4 for j in range(20)], model="other") for i in range(9)]
    found = Wavering(most=40)
    for part in parts:
        found.add(part)
    every = pl.concat(parts).group_by("bucket").agg(pl.col("flips").max())
    order = every.sort("flips", "bucket", descending=[True, False])["bucket"].head(10)
    assert found.chosen(texts(*parts), ["premise"], 1).to_list() == order.to_list()
    assert (found.problems["m"], found.variants["other"]) == (180, 720)


def test_long_texts_leave_room_for_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browse, "MOST_LETTERS", 25)
    one = counted("a", [4, 3, 2, 1])
    found = Wavering()
    found.add(one)
    assert found.chosen(texts(one, letters=10), ["premise"], 1).to_list() == ["a0", "a1"]


def test_the_page_says_that_it_does_not_hold_all(study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "All 2\u00a0problems of the run with 5\u00a0rewordings." in study.html()
    monkeypatch.setattr(browse.Wavering.__init__, "__defaults__", (3,))
    page = study.html()
    assert "The 1\u00a0problem that wavers most, with 3\u00a0rewordings: the run has 5\u00a0rewordings of" in page
    data = re.search('id="browse-data">([^<]*)<', page)[1]
    assert json.loads(zlib.decompress(base64.b64decode(data), -15))["id"][0] == "cat"


def test_counts_of_the_page_are_those_of_its_problems(study: Any) -> None:
    found = count_problems(study.answers)
    wavering = Wavering()
    wavering.add(found)
    assert (wavering.problems, wavering.variants) == ({"weak": 2, "strong": 2}, {"weak": 5, "strong": 5})
    assert study.task == TASKS["nli"]
