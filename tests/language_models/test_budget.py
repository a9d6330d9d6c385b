"""Prices, limits that hold with many requests in flight, and the ledger."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otherwords.errors import BadInput, LimitReached
from otherwords.language_models.budget import (
    Budget,
    Price,
    Prices,
    Spent,
    added,
    make_budget,
    most_tokens,
    read_prices,
)
from otherwords.language_models.completion import Message, Request, Usage

TABLE = (
    'currency = "USD"\n["some/model:free"]\ninput = 2.5\ncached = 1.25\noutput = 10\n[other]\ninput = 1\noutput = 2\n'
)
PRICES = Prices({"m": Price(1.0, 0.5, 4.0)}, "EUR")


def test_prices_are_read(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(TABLE)
    prices = read_prices(tmp_path / "p.toml")
    assert (prices.of("some/model:free"), prices.currency) == (Price(2.5, 1.25, 10.0), "USD")
    assert prices.of("other") == Price(1.0, 1.0, 2.0)
    assert prices.of("unknown") is None
    assert Price(2.5, 1.25, 10.0).of(Usage(1_000_000, 200_000, 100_000)) == pytest.approx(2.0 + 0.25 + 1.0)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("x = ", "TOML"),
        ("[m]\ninput = 1", "input and output"),
        ("[m]\ninput = 1\noutput = -2", "m.output"),
        ("[m]\ninput = 1\noutput = nan", "m.output"),
        ("[m]\ninput = true\noutput = 2", "m.input"),
        ("[m]\ninput = 1\noutput = 2\nbatch = 3", "m.batch"),
        ("m = 3", "input and output"),
        ("currency = 3", "currency"),
    ],
)
def test_prices_that_are_none_are_refused(text: str, named: str, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(BadInput, match=named):
        read_prices(tmp_path / "p.toml")


def test_a_limit_of_costs_needs_prices_of_the_model(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="without prices"):
        make_budget(max_cost=1.0)
    (tmp_path / "p.toml").write_text(TABLE)
    with pytest.raises(BadInput, match=r"no price of m; .*some/model:free"):
        make_budget(max_cost=1.0, prices=tmp_path / "p.toml").price("m")
    with pytest.raises(BadInput, match="no such file"):
        make_budget(prices=tmp_path / "absent.toml")
    with pytest.raises(BadInput, match="max_requests"):
        make_budget(max_requests=-1)


REQUEST = Request(messages=(Message("user", "word " * 20),), max_tokens=10)


@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 1), st.booleans()), max_size=60),
    st.floats(0, 0.01),
    st.integers(0, 40),
)
def test_no_limit_is_exceeded_whatever_comes_back_and_when(events, most: float, count: int) -> None:
    """Requests are sent and settled in any order; what comes back is no more than was possible."""
    budget, worst, held, sent = Budget(count, most, PRICES), most_tokens(REQUEST), [], 0
    for is_sent, share, arrived in events:
        if is_sent:
            try:
                if one := budget.reserve("m@u", "m", REQUEST):
                    held.append(one)
                    sent += 1
            except LimitReached:
                assert sent >= count or not held
        elif held:
            used = Usage(int(worst.prompt * share), 0, int(worst.completion * share))
            budget.settle(held.pop(), used if arrived else None)
        assert budget.cost + sum(one.cost for one in held) <= most + 1e-12
        assert sent <= count
    spent = budget.spent("m@u")
    assert spent.requests == sent
    assert (spent.cost or 0.0) == pytest.approx(budget.cost)


def test_what_was_refused_costs_nothing_and_what_was_lost_its_most() -> None:
    budget = Budget(prices=PRICES)
    for charged in (False, True):
        one = budget.reserve("m@u", "m", REQUEST)
        assert one
        budget.settle(one, None, charged=charged)
    assert budget.cost == PRICES.by_model["m"].of(most_tokens(REQUEST)) > 0
    assert budget.as_json()["m@u"]["unknown"] == 1


def test_what_was_not_sent_after_all_was_no_request() -> None:
    budget = Budget(max_requests=1, prices=PRICES)
    one = budget.reserve("m@u", "m", REQUEST, retry=True)
    assert one
    budget.release(one)
    assert budget.spent("m@u") == Spent()
    assert budget.reserve("m@u", "m", REQUEST)


def test_ledgers_are_added() -> None:
    one = {"requests": 2, "prompt": 10, "cost": 0.5, "currency": "EUR"}
    assert added(one, {"requests": 1, "prompt": 5}) == {"requests": 3, "prompt": 15, "cost": 0.5, "currency": "EUR"}
    assert added({}, one) == one
    assert added(one, one)["cost"] == 1.0
    other = {**one, "currency": "USD", "cost": 0.25}
    assert added(one, other) == {"requests": 4, "prompt": 20, "cost": 0.25, "currency": "USD"}


@pytest.mark.parametrize("text", [f"['m']\ninput = {'9' * 400}\noutput = 1", f"a = {'[' * 3000}"])
def test_prices_that_break_a_reader_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text(text)
    with pytest.raises(BadInput):
        read_prices(tmp_path / "prices.toml")


@pytest.mark.parametrize("limits", [{"max_requests": "x"}, {"max_requests": 1.5}, {"max_cost": "1"}, {"prices": 5}])
def test_limits_that_are_no_numbers_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="found"):
        make_budget(**limits)
