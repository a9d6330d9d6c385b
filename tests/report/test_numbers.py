"""The sentence, the tables, and rounding."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from otherwords.answers.groups import OneAnswer
from otherwords.problem import Score
from otherwords.report.numbers import KINDS, MOST_ROWS, confidence, intervals, percent, resampled, tables
from otherwords.report.plot import Bar, ranked, sentence

Make = Callable[..., Score]


@pytest.mark.parametrize(
    ("fraction", "text"), [(0, "0.0"), (1, "100.0"), (0.12345, "12.3"), (-0.1, "\u221210.0"), (-1e-9, "0.0")]
)
def test_rounding(fraction: float, text: str) -> None:
    assert percent(fraction) == text


def test_one_model(make_score: Make) -> None:
    text = sentence([make_score(value=0.3125, low=0.27, high=0.36, n_answers=308, n_units=123)], [])
    assert text.replace("\u00a0", " ") == (
        "Not always: weak changed its answer on 31.2 % [27.0, 36.0] of 308 rewordings of 123 problems."
    )


def test_one_of_each_without_an_interval(make_score: Make) -> None:
    text = sentence([make_score(value=1.0, low=None, high=None, n_answers=1, n_units=1)], [])
    assert text.replace("\u00a0", " ") == "Not always: weak changed its answer on 100.0 % of 1 rewording of 1 problem."


def test_models_that_answered_the_same(make_score: Make) -> None:
    text = sentence([make_score(), make_score(model="other", value=0.2, low=0.1, high=0.3)], [])
    assert text.replace("\u00a0", " ") == (
        "Not always: asked 5 rewordings of 2 problems, weak changed its answer on 60.0 % [50.0, 72.1], "
        "and other on 20.0 % [10.0, 30.0]."
    )


def test_models_that_answered_different_things(make_score: Make) -> None:
    text = sentence([make_score(), make_score(model="other", n_answers=4)], [])
    assert text.replace("\u00a0", " ").endswith(
        "of 5 rewordings of 2 problems, and other on 60.0 % [50.0, 72.1] of 4 rewordings of 2 problems."
    )


def test_many_models_are_summed_up_by_the_extremes(make_score: Make) -> None:
    text = sentence([make_score(model=f"m{i}", value=i / 10, low=None, high=None) for i in range(1, 6)], [])
    assert "m1 changed its answer least often of 5 models, on 10.0\u00a0%, and m5 most often, on 50.0\u00a0%." in text


def test_no_flips(make_score: Make) -> None:
    text = sentence([make_score(value=0.0, low=0.0, high=0.0)], [])
    assert text.replace("\u00a0", " ") == (
        "On these problems, yes: weak never changed its answer on 5 rewordings of 2 problems."
    )


def test_without_a_flip_rate_the_answers_are_counted(make_score: Make) -> None:
    text = sentence([make_score("p_c")], [Bar("weak", 0, 2, 0, flips=3, n=4, compared=4)])
    assert text.replace("\u00a0", " ") == "Not always: weak changed its answer on 75.0 % of 4 rewordings of 2 problems."


def test_nothing_to_say(make_score: Make) -> None:
    assert "no rewording was answered" in sentence([make_score(value=None, low=None, high=None)], [])
    assert "no rewording was answered" in sentence([make_score("p_c")], [])


def test_groups_make_tables(make_score: Make) -> None:
    scores = [make_score(), *(make_score(group=f"{by}={v}") for by in ("topic", "side") for v in ("a", "b=c"))]
    head, topic, side = tables(scores)
    assert (head.by, topic.by, side.by) == ("", "topic", "side")
    assert [row.value for row in topic.rows] == ["a", "b=c"]
    assert head.rows[0].scores == (scores[0],)


def test_a_metric_with_two_signatures_is_ambiguous(make_score: Make) -> None:
    one = make_score("jsd")
    two = Score("jsd", "jsd.v2()", "weak", None, 0.5, None, None, 1, 1)
    [head] = tables([one, two, make_score()])
    assert [column.ambiguous for column in head.columns] == [False, True, True], "the headline metric comes first"


def test_a_long_table_is_cut(make_score: Make) -> None:
    table = tables([make_score(), *(make_score(group=f"id={i}") for i in range(MOST_ROWS + 3))])[1]
    assert (len(table.rows), table.hidden) == (MOST_ROWS, 3)


def test_each_kind_of_interval_is_described(make_score: Make) -> None:
    """Replicates are spoken of where some were drawn."""
    wilson = {"interval": "wilson", "replicates": None}
    scores = [make_score(**wilson), make_score("p_c", **wilson), make_score("pvap_distinct", confidence=0.95)]
    none = make_score(low=None, high=None, interval="", confidence=None, replicates=None, resampled=None)
    found = intervals([*scores, none])
    assert [(one.name, one.metrics, one.confidence, one.replicates) for one in found] == [
        ("Wilson on clusters", ["Flip rate", "P_C"], "90", ""),
        ("Percentile bootstrap", ["pvap_distinct"], "95", "500"),
    ]
    assert (confidence(scores), confidence(scores[:2]), resampled([*scores, none])) == ("", "90", "cluster")
    assert (intervals([none]), confidence([none]), resampled([none])) == ([], "", "")


def test_every_kind_of_interval_has_a_name() -> None:
    """What `Score.interval` may be, by its own description."""
    named = re.search(r"computed \(([^)]*)\)", " ".join((Score.__doc__ or "").split()))
    assert named
    assert set(re.findall(r'"(\w+)"', named[1])) == set(KINDS)


# Models that give one answer to everything


def test_a_constant_model_is_not_praised(make_score: Make) -> None:
    scores = [make_score(), make_score(model="stubborn", value=0.0, low=0.0, high=0.0)]
    text = sentence(scores, [], {"stubborn": OneAnswer("neutral", 430, 430)}).replace("\u00a0", " ")
    assert text == (
        "Not always: weak changed its answer on 60.0 % [50.0, 72.1] of 5 rewordings of 2 problems. stubborn gives one "
        "answer, neutral, to all 430 wordings: such stability says nothing about robustness to wording."
    )


def test_a_constant_model_alone_answers_nothing(make_score: Make) -> None:
    text = sentence([make_score(value=0.0, low=0.0, high=0.1)], [], {"weak": OneAnswer("neutral", 430, 430)})
    assert text.startswith("These answers cannot tell: weak gives one answer, neutral, to all 430")
    assert "yes" not in text
    assert "never changed" not in text


def test_a_constant_model_is_not_the_one_that_flips_least(make_score: Make) -> None:
    scores = [make_score(model=f"m{i}", value=i / 10, low=None, high=None) for i in range(6)]
    text = sentence(scores, [], {"m0": OneAnswer("neutral", 98, 100)})
    assert "m1 changed its answer least often of 5 models" in text
    assert "m0 gives one answer, neutral, to 98.0\u00a0% of 100\u00a0wordings" in text


def test_the_order_of_models(make_score: Make) -> None:
    values = {"b": 0.3, "constant": 0.0, "unknown": None, "a": 0.3, "best": 0.1}
    scores = [make_score(model=name, value=value) for name, value in values.items()]
    constant = {"constant": OneAnswer("neutral", 9, 9)}
    assert ranked(list(values), scores, [], constant) == ["best", "b", "a", "unknown", "constant"]


def test_without_originals_the_problems_are_counted(make_score: Make) -> None:
    bars = [Bar("weak", 4, 2, 1, flips=2, n=20, compared=0)]
    text = sentence([make_score("p_c")], bars).replace("\u00a0", " ")
    assert text.startswith(
        "Not always: weak gave rewordings of 2 of 7 problems different answers; no original was answered"
    )


def test_groups_of_generators_have_short_names(make_score: Make) -> None:
    title = "syn=wordnet.v1(n=3, pos=noun)"
    table = tables([make_score(), make_score(group=f"how={title}")], {title: "syn"})[1]
    assert [row.value for row in table.rows] == ["syn"]
