"""How fast servers are asked: limits that grow and are halved, and what headers ask for."""

import asyncio
import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otherwords.language_models.pacing import BACKOFF, LONGEST, Pace, asked_to_wait, backoff, rest_until_reset

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@given(st.lists(st.booleans(), max_size=200), st.integers(1, 64))
def test_the_limit_stays_between_one_and_the_most(events: list[bool], most: int) -> None:
    pace = Pace(most)
    for is_reply in events:
        before = pace.limit
        if is_reply:
            pace.grow()
            assert before <= pace.limit <= before + 1
        else:
            pace.halve(time.monotonic())
            assert pace.limit == max(1.0, before / 2)
        assert 1 <= pace.limit <= most


def test_refusals_of_one_moment_halve_once() -> None:
    pace = Pace(32)
    pace.limit, started = 32.0, time.monotonic()
    for _ in range(10):
        pace.halve(started)
    assert pace.limit == 16


def test_as_many_replies_as_are_in_flight_make_room_for_one_more() -> None:
    pace = Pace(32)
    pace.limit = 10.0
    for _ in range(10):
        pace.grow()
    assert 10.9 < pace.limit <= 11


def test_no_more_are_in_flight_than_the_limit_and_none_in_a_pause() -> None:
    async def work() -> tuple[int, float]:
        pace, most = Pace(4), 0
        pace.pause(0.05)
        begin = time.monotonic()
        first: list[float] = []

        async def one() -> None:
            nonlocal most
            await pace.enter()
            first.append(time.monotonic() - begin)
            most = max(most, pace.in_flight)
            await asyncio.sleep(0.001)
            pace.leave()

        await asyncio.gather(*(one() for _ in range(40)))
        return most, min(first)

    most, first = asyncio.run(work())
    assert most == 4
    assert first >= 0.045


def test_after_a_pause_they_do_not_start_at_one_moment_and_none_before_its_end() -> None:
    async def starts() -> list[float]:
        pace = Pace(8)
        begin = time.monotonic()
        pace.pause(0.2)
        return [one - begin for one in await asyncio.gather(*(pace.enter() for _ in range(8)))]

    found = asyncio.run(starts())
    assert min(found) >= 0.2
    assert max(found) - min(found) > 0.02


@given(st.integers(1, 100))
def test_waits_are_drawn_from_zero_to_a_limit_that_doubles(failures: int) -> None:
    assert 0 <= backoff(failures) <= min(LONGEST, BACKOFF * 2.0 ** (failures - 1))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT"}, 30),
        ({"retry-after": "Wed, 31 Dec 2025 00:00:30 GMT"}, 0),
        ({"retry-after": "soon"}, 0),
    ],
)
def test_a_refusal_says_when_to_come_again(headers: dict[str, str], seconds: float) -> None:
    assert asked_to_wait(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"x-ratelimit-remaining-requests": "1", "x-ratelimit-reset-requests": "1s"}, 0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s"}, 360),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "20ms"}, 0.02),
        ({"x-ratelimit-remaining-tokens": "99", "x-ratelimit-reset-tokens": "1.5"}, 1.5),
        ({"x-ratelimit-remaining-tokens": "100", "x-ratelimit-reset-tokens": "1.5"}, 0),
        (
            {
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2026-01-01T00:00:09Z",
            },
            9,
        ),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "4"}, 4),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1767225605"}, 5),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1767225605500"}, 5.5),
        ({"x-ratelimit-remaining": "1", "x-ratelimit-reset": "4"}, 0),
        ({"ratelimit-remaining": "0", "ratelimit-reset": "3"}, 3),
        ({"ratelimit": '"default";r=0;t=6'}, 6),
        ({"ratelimit": '"minute";r=5;t=6, "day";r=0;t=7'}, 7),
        ({"ratelimit": '"day";r=0', "ratelimit-policy": '"minute";q=10;w=60,"day";q=99;w=80'}, 80),
        ({"ratelimit": "limit=10, remaining=0, reset=8"}, 8),
        ({"ratelimit": "limit=10, remaining=3, reset=8"}, 0),
        ({"ratelimit": '"default";r=zero;t=6'}, 0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "9" * 40}, 0),
        ({"anthropic-ratelimit-output-tokens-remaining": "0", "anthropic-ratelimit-output-tokens-reset": "2"}, 2),
        ({"x-ratelimit-remaining-requests": "none", "x-ratelimit-reset-requests": "1s"}, 0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "later"}, 0),
    ],
)
def test_what_is_left_of_a_limit_is_obeyed(headers: dict[str, str], seconds: float) -> None:
    assert rest_until_reset(headers, 100, NOW) == pytest.approx(seconds)


def test_a_date_is_one_of_the_clock() -> None:
    then = (datetime.now(UTC) + timedelta(seconds=60)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    assert 55 < asked_to_wait({"retry-after": then}) <= 60
