"""Laws of the scheduler: order restored, every row computed once, budgets kept, memory ends, errors surface."""

from __future__ import annotations

import threading
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import WrongAnswer
from otherwords.inference import scheduling
from otherwords.inference.scheduling import Scheduler, fitting, full_batches, last_batches, packed_batches
from otherwords.inference.tokens import PaddedRows, Tokens, pad_rows

LENGTHS = st.lists(st.integers(1, 12), max_size=40)
LIMIT = 9


def encode(texts) -> Tokens:
    """A text is a number and a length; its row is the number, repeated, and cut after nine."""
    rows = [[number] * min(length, LIMIT) for number, length in texts]
    return Tokens.of(rows, [length > LIMIT for _, length in texts], types=[[1] * len(row) for row in rows])


class Device:
    """Computes each row's number and length, notes what it saw, and has room for so many tokens."""

    def __init__(self, room: int = 10**9, deferred: bool = False):
        self.room, self.deferred, self.seen, self.failed = room, deferred, [], 0

    def start(self, rows: PaddedRows | Tokens):
        if not self.deferred:
            self._refuse(rows)
        return rows

    def wait(self, rows: PaddedRows):
        if self.deferred:
            self._refuse(rows)
        self.seen.append(rows)
        if isinstance(rows, Tokens):
            sums = np.add.reduceat(rows.ids, rows.offsets[:-1])
            return rows.ids[rows.offsets[:-1]], np.stack([rows.lengths, sums], axis=1)
        lengths = np.full(len(rows), rows.ids.shape[1]) if rows.mask is None else rows.mask.sum(axis=1)
        return rows.ids[:, 0], np.stack([lengths, rows.ids.sum(axis=1)], axis=1)

    def _refuse(self, rows: PaddedRows) -> None:
        if rows.ids.size > self.room:
            self.failed += 1
            raise MemoryError(f"{rows.ids.size} tokens")

    def scheduler(self, budget: int, **more) -> Scheduler:
        return Scheduler(encode, self.start, self.wait, budget, **more)


def texts_of(lengths: list[int]) -> list[tuple[int, int]]:
    return [(number + 1, length) for number, length in enumerate(lengths)]


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    monkeypatch.setattr(scheduling, "PIECE", 7)


def check(found, lengths: list[int]) -> None:
    """Every text has its own row, in the order of the texts."""
    (numbers, sizes), cut = found
    assert numbers.tolist() == [number for number, _ in texts_of(lengths)]
    assert sizes[:, 0].tolist() == [min(length, LIMIT) for length in lengths]
    assert sizes[:, 1].tolist() == [number * min(length, LIMIT) for number, length in texts_of(lengths)]
    assert cut.tolist() == [length > LIMIT for length in lengths]


@given(LENGTHS.filter(len), st.integers(1, 40), st.booleans(), st.integers(1, 4))
def test_order_is_restored_and_budgets_are_kept(lengths, budget, exact, in_flight):
    device = Device()
    check(device.scheduler(budget, exact=exact, in_flight=in_flight)(texts_of(lengths)), lengths)
    assert Counter(number for rows in device.seen for number in rows.ids[:, 0].tolist()) == Counter(
        range(1, len(lengths) + 1)
    )
    for rows in device.seen:
        assert rows.ids.size <= budget or len(rows) == 1
        assert rows.types.shape == rows.ids.shape
        if exact:
            assert rows.mask is None


@given(LENGTHS.filter(len), st.integers(9, 200), st.integers(9, 60), st.booleans(), st.booleans())
def test_where_memory_ends_batches_shrink(lengths, budget, room, exact, deferred):
    device = Device(room, deferred)
    scheduler = device.scheduler(budget, exact=exact, in_flight=3)
    check(scheduler(texts_of(lengths)), lengths)
    assert all(rows.ids.size <= room for rows in device.seen)
    assert sum(map(len, device.seen)) == len(lengths)
    failed = device.failed
    check(scheduler(texts_of(lengths)), lengths)
    assert device.failed - failed <= failed, "what did not fit once is not tried again and again"


@given(LENGTHS.filter(len), st.integers(1, 40), st.integers(9, 60), st.booleans())
def test_rows_end_to_end_fill_batches_and_shrink_where_memory_ends(lengths, budget, room, deferred):
    device = Device(room, deferred)
    scheduler = device.scheduler(budget, packed=True, in_flight=3)
    check(scheduler(texts_of(lengths)), lengths)
    assert sum(map(len, device.seen)) == len(lengths)
    assert all(rows.ids.size <= min(room, budget) or len(rows) == 1 for rows in device.seen)
    if not device.failed and budget >= LIMIT:  # a batch is full when the next row does not fit
        assert sum(rows.ids.size <= budget - LIMIT for rows in device.seen) <= 1


@given(LENGTHS.filter(len))
def test_the_first_rows_are_not_kept_waiting_for_a_full_batch(lengths):
    """Pieces of 1, 2, 4 and 7 texts. Where a device works meanwhile, packed rows of the first two do not wait."""
    waiting, early = Device(), Device()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scheduling, "FIRST", 1)
        for device, in_flight in ((waiting, 1), (early, 3)):
            check(device.scheduler(1000, packed=True, in_flight=in_flight)(texts_of(lengths)), lengths)
    assert [len(rows) for rows in waiting.seen] == [len(lengths)]
    firsts, rest = [1, 2], len(lengths) - 3  # the third piece would make seven: a whole one
    assert [len(rows) for rows in early.seen] == (
        [*firsts, rest] if rest > 0 else {1: [1], 2: [1, 1], 3: [1, 2]}[len(lengths)]
    )


@pytest.mark.parametrize("packed", [False, True])
def test_after_a_halving_the_rest_of_the_batch_is_halved_too(packed):
    device = Device(room=10)
    device.scheduler(64, packed=packed)(texts_of([4] * 16))
    assert device.failed == 3  # 64, 32, 16: and never again 64 or 32
    assert {rows.ids.size for rows in device.seen} == {8}


@pytest.mark.parametrize("deferred", [False, True])
def test_one_row_that_does_not_fit_is_an_error(deferred):
    with pytest.raises(MemoryError, match="6 tokens"):
        Device(5, deferred).scheduler(100)(texts_of([3, 6, 2]))


@pytest.mark.parametrize("place", ["encode", "start", "wait"])
def test_another_error_surfaces(place):
    device = Device()
    scheduler = device.scheduler(10)

    def broken(*_):
        raise KeyError("broken")

    setattr(scheduler, place, broken)
    with pytest.raises(KeyError, match="broken"):
        scheduler(texts_of([3] * 20))


def test_an_error_in_a_later_piece_surfaces_too():
    def sometimes(texts):
        if texts[0][0] > 7:
            raise ValueError("the second piece")
        return encode(texts)

    device = Device()
    with pytest.raises(ValueError, match="the second piece"):
        Scheduler(sometimes, device.start, device.wait, 10)(texts_of([3] * 20))


@pytest.mark.parametrize("way", [{"packed": True}, {"exact": True}, {}])
@pytest.mark.parametrize("lengths", [[0], [3, 0, 2], [3] * 9 + [0]])
def test_a_text_of_no_tokens_is_named(way, lengths):
    with refuses(WrongAnswer):
        Device().scheduler(10, **way)(texts_of(lengths))


def test_no_texts_no_rows():
    arrays, cut = Device().scheduler(10)([])
    assert arrays == ()
    assert len(cut) == 0


def test_the_next_piece_is_tokenised_while_one_is_computed():
    """With both waiting for each other, neither could go on if they took turns."""
    ahead = threading.Event()

    def noting(texts):
        if texts[0][0] > 7:
            ahead.set()
        return encode(texts)

    device = Device()

    def start(rows):
        assert ahead.wait(20), "the second piece was not tokenised meanwhile"
        return device.start(rows)

    check(Scheduler(noting, start, device.wait, 3)(texts_of([3] * 14)), [3] * 14)


@given(LENGTHS, st.integers(1, 40))
def test_full_batches_are_of_one_length_and_leave_the_rest(lengths, budget):
    lengths = np.array(lengths, np.int64)
    batches, rest = full_batches(lengths, budget)
    assert sorted([*(row for rows in batches for row in rows.tolist()), *rest.tolist()]) == list(range(len(lengths)))
    for rows in batches:
        width = int(lengths[rows[0]])
        assert (lengths[rows] == width).all()
        assert len(rows) == max(1, budget // width)
    left = Counter(lengths[rest].tolist())
    assert all(count < max(1, budget // width) for width, count in left.items())


@given(LENGTHS, st.integers(1, 40), st.sampled_from([0.05, 0.2, 0.5]))
def test_full_batches_of_near_lengths_are_full_and_little_filled_up(lengths, budget, slack):
    lengths = np.array(lengths, np.int64)
    batches, rest = full_batches(lengths, budget, slack)
    assert sorted([*(row for rows in batches for row in rows.tolist()), *rest.tolist()]) == list(range(len(lengths)))
    for rows in batches:
        width = int(lengths[rows].max())
        assert len(rows) == max(1, budget // width)
        assert lengths[rows].sum() >= (1 - slack) * len(rows) * width


def test_near_lengths_start_early():
    lengths = np.array([20] * 5 + [21] * 5)
    assert [len(rows) for rows in full_batches(lengths, 210, slack=0.05)[0]] == [10]
    assert full_batches(lengths, 210)[0] == []


@given(LENGTHS, st.integers(1, 40))
def test_packed_batches_are_full_and_leave_less_than_one(lengths, budget):
    lengths = np.array(lengths, np.int64)
    batches, rest = packed_batches(lengths, budget)
    in_order = [row for rows in (*batches, rest) for row in rows.tolist()]
    assert in_order == np.argsort(lengths, kind="stable").tolist()
    assert lengths[rest].sum() <= budget
    for rows, after in pairwise([*batches, rest]):
        assert lengths[rows].sum() <= budget or len(rows) == 1
        assert not len(after) or lengths[rows].sum() + lengths[after[0]] > budget


@given(LENGTHS.filter(len), st.integers(1, 40), st.booleans())
def test_what_fits_is_as_much_as_can(lengths, budget, packed):
    lengths = np.array(lengths, np.int64)
    size = fitting(lengths, budget, packed=packed)

    def held(count: int) -> int:
        return int(lengths[:count].sum() if packed else count * lengths.max())

    assert size == 1 or held(size) <= budget
    assert size >= len(lengths) or held(size + 1) > budget


@given(LENGTHS, st.integers(1, 40), st.booleans())
def test_last_batches_hold_every_row_longest_first(lengths, budget, exact):
    lengths = np.array(lengths, np.int64)
    batches = last_batches(lengths, budget, exact=exact)
    assert sorted(row for rows in batches for row in rows.tolist()) == list(range(len(lengths)))
    widest = [int(lengths[rows].max()) for rows in batches]
    assert widest == sorted(widest, reverse=True)
    for rows, width in zip(batches, widest, strict=True):
        assert len(rows) * width <= budget or len(rows) == 1
        assert not exact or (lengths[rows] == width).all()


ROWS = st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=6), min_size=1, max_size=8)


@given(ROWS, ROWS, st.data())
def test_rows_stay_what_they_are(some, others, data):
    rows = some + others
    columns = {"at": [len(row) - 1 for row in rows], "own": [row[0] for row in rows], "types": rows}
    whole = Tokens.of(rows, [len(row) > 3 for row in rows], **columns)
    parts = [whole.take(np.arange(len(some))), whole.take(np.arange(len(some), len(rows)))]
    joined = parts[0].concat(parts[1])
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1))
    for tokens in (whole, joined):
        taken = tokens.take(np.array(chosen))
        assert [row.tolist() for row in np.split(taken.ids, taken.offsets[1:-1])] == [rows[i] for i in chosen]
        assert taken.types.tolist() == taken.ids.tolist()
        assert taken.at.tolist() == [len(rows[i]) - 1 for i in chosen]
        assert taken.own.tolist() == [rows[i][0] for i in chosen]
        assert taken.cut.tolist() == [len(rows[i]) > 3 for i in chosen]
        batch = pad_rows(tokens, np.array(chosen), pad=-1)
        for ids, i in zip(batch.ids.tolist(), chosen, strict=True):
            assert ids == rows[i] + [-1] * (len(ids) - len(rows[i]))
        assert (batch.mask is None) == (len({len(rows[i]) for i in chosen}) == 1)
