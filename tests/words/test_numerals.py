"""Numbers by value, whatever their spelling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otherwords.words.numerals import numerals


def values(words: list[str]) -> list[str]:
    return [one.value for one in numerals(words)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("two men", ["2"]),
        ("2 men", ["2"]),
        ("twenty one dogs", ["21"]),
        ("one hundred", ["100"]),
        ("a hundred", ["100"]),
        ("a dozen eggs", ["12"]),
        ("two dozen", ["24"]),
        ("1,000", ["1000"]),
        ("1,000,000.5", ["1000000.5"]),
        ("five million", ["5000000"]),
        ("1.5 million", ["1500000"]),
        ("three hundred and twenty five thousand and six", ["325006"]),
        ("two and three", ["2", "3"]),
        ("two three", ["2", "3"]),
        ("nineteen ninety", ["19", "90"]),  # a year as it is said stays two numbers
        ("the twenty first", ["21st"]),
        ("21 st", ["21st"]),
        ("the third man", ["3rd"]),
        ("a third of them", ["1/3"]),
        ("two thirds", ["2/3"]),
        ("half", ["0.5"]),
        ("1/2", ["0.5"]),
        ("two and a half", ["2.5"]),
        ("wait a second", []),  # a while, not the one after the first
        ("the second", ["2nd"]),
        ("twice", ["2"]),
        ("zero", ["0"]),
        ("g8", ["g8"]),
        ("1/0", ["1/0"]),
        ("007", ["7"]),
        ("9" * 5000, ["9" * 5000]),  # beyond what Python takes for a whole number
        ("men and women , a few", []),
        (".5 dollars", ["0.5"]),
        ("minus five degrees", ["-5"]),
        ("negative 0.5", ["-0.5"]),
        ("ten minus five", ["10", "5"]),  # a sum, not a sign
        ("5 percent", ["0.05"]),
        ("fifty percent", ["0.5"]),
        ("half a million", ["500000"]),
        ("half a dozen", ["6"]),
        ("a quarter of a million", ["250000"]),
        ("two and a half million", ["2500000"]),
        ("half a mile", ["0.5"]),
        ("2 1/2 miles", ["2.5"]),
        ("2 3/2", ["2", "1.5"]),  # no mixed number
        ("may 3 rd", ["3"]),
        ("3 rd of may", ["3"]),
        ("the third of may", ["3"]),
        ("may the third", ["3"]),
    ],
)
def test_worked_examples(text, found):
    assert values(text.split()) == found


@given(st.integers(0, 999_999))
def test_digits_with_and_without_commas_are_the_same(number):
    assert values([f"{number:,}"]) == values([str(number)]) == [str(number)]


UNITS = "zero one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905


def spell_out(number: int) -> str:
    """A number below ten thousand as it is read out in England, for the numbers whose parts are in the lists."""
    if number >= 1000:
        rest = number % 1000
        return f"{spell_out(number // 1000)} thousand" + (
            f"{' and' if rest < 100 else ''} {spell_out(rest)}" if rest else ""
        )
    if number >= 100:
        return f"{UNITS[number // 100]} hundred" + (f" and {spell_out(number % 100)}" if number % 100 else "")
    if number >= 20:
        return TENS[number // 10 - 2] + (f" {UNITS[number % 10]}" if number % 10 else "")
    return UNITS[number]


@given(st.integers(0, 9_999).filter(lambda n: not 13 <= n % 100 <= 19))
def test_numbers_read_out_have_their_value(number):
    assert values(spell_out(number).split()) == [str(number)]


def test_where_a_number_stands_and_how_it_is_reported():
    found = numerals(["rose", "by", "minus", "five", "percent", "in", "two", "thirds", "of", "them"])
    assert [(one.shown, one.start, one.end) for one in found] == [("-5%", 3, 5), ("2/3", 6, 8)]


def test_an_endless_number_is_several_numbers():
    """Its value would have thousands of digits, which Python refuses to write."""
    found = numerals(["two", "hundred", "and"] * 5_000)
    assert len(found) > 100
    assert found[-1].end >= 14_999
