"""Asking in columns gives, row by row, what asking one row after the other gives: answers, batches, the cache's rows.

The plain form below is how versions up to 0.16 asked and stored, so that it also says whether files of either are read
by the other.
"""

from __future__ import annotations

import hashlib
import sqlite3
import struct
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput, WrongAnswer
from otherwords.models import writing
from otherwords.models.answering import Asker, Texts, _task_key, answer_table, ask
from otherwords.models.cache import Cache, Keyed, key, keys_of
from otherwords.models.model import AnswerCount, Answerer, Model, Reply
from otherwords.models.predictions import Cached, Predictions
from otherwords.models.writing import AnswerWriter
from otherwords.problem import TASKS, Batch
from otherwords.storage.files import digest

NLI = TASKS["nli"]
#: Few distinct texts, so that some are equal: empty, accented, composed, long, right to left, with a null byte.
TEXTS = st.sampled_from(["", " ", "a", "b", "ab", "é", "e\u0301", "עברית", "犬", "😀" * 3, "x\0y", "z" * 5_000])
ROWS = st.lists(st.tuples(TEXTS, TEXTS), max_size=30)
HALVES = st.lists(st.tuples(TEXTS | st.just("\ud800"), TEXTS | st.just("\udfff!")), max_size=12)


def columns(rows):
    return {name: [row[place] for row in rows] for place, name in enumerate(NLI.fields)}


class Recorded:
    """A model whose answers depend on the text alone, and the batches that it was given."""

    def __init__(self, kind="probabilities", **more):
        self.kind, self.batches = kind, []
        self.model = Answerer("m", "m.v1()", Model(self._answer, **more), NLI)

    def _answer(self, batch: Batch):
        self.batches.append(list(zip(*(batch[name] for name in NLI.fields), strict=True)))
        sizes = [len(premise) % 5 + 2 * (len(hypothesis) % 3) for premise, hypothesis in self.batches[-1]]
        if self.kind == "labels":
            return [NLI.labels[size % 3] for size in sizes]
        p = np.array([[size + 1, 2, 3] for size in sizes], np.float64)
        p /= p.sum(axis=1, keepdims=True)
        return Reply(p, np.array([size > 4 for size in sizes])) if self.kind == "cut" else p


# The plain form


def plain_key(model_key, texts):
    state = hashlib.blake2b(model_key, digest_size=20)
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        state.update(len(raw).to_bytes(8, "little"))
        state.update(raw)
    return state.digest()


def plain_find(database, keys):
    found = {}
    for one in keys:
        for pred, p, cut, at in database.execute("select pred, p, cut, at from answers where key = ?", (one,)):
            values = None if p is None else struct.unpack(f"<{len(p) // 8}d", p)
            found[one] = Cached(pred, values, None if cut is None else bool(cut)), at
    return found


def plain_put(database, model, answers, now):
    for one, a in answers.items():
        p = None if a.p is None else struct.pack(f"<{len(a.p)}d", *a.p)
        statement = "insert or replace into answers (key, model, pred, p, at, cut) values (?, ?, ?, ?, ?, ?)"
        database.execute(statement, (one, model, a.pred, p, now, a.cut))
    database.commit()


def plain_ask(rows, model, cache, size, tally):
    """As `ask`, on a connection of its own."""
    number = cache.model(model.signature, _task_key(model.task))
    database = sqlite3.connect(cache.path)
    model_key = bytes.fromhex(digest(model.signature, _task_key(model.task)))
    keys = [plain_key(model_key, row) for row in rows]
    texts = dict(zip(keys, rows, strict=True))
    stored = plain_find(database, texts)
    if model.fresh:
        stored = {one: found for one, found in stored.items() if found[1] >= model.loaded}
    if model.model.max_length:
        stored = {one: found for one, found in stored.items() if found[0].cut is not None}
    tally.answers += len(rows)
    tally.from_cache += sum(one in stored and stored[one][1] < model.loaded for one in keys)
    known = {one: answer for one, (answer, _) in stored.items()}
    todo = sorted((one for one in texts if one not in known), key=lambda one: (sum(map(len, texts[one])), one))
    for some in (todo[start : start + size] for start in range(0, len(todo), size)):
        found = model(Batch(model.task, columns([texts[one] for one in some])))
        p = [None] * len(some) if found.p is None else [tuple(row) for row in found.p.tolist()]
        cut = [None] * len(some) if found.cut is None else [bool(one) for one in found.cut.tolist()]
        fresh = dict(zip(some, map(Cached, found.pred.tolist(), p, cut), strict=True))
        plain_put(database, number, fresh, time.time())
        known.update(fresh)
    database.close()
    return [known[one] for one in keys]


def content(cache):
    """All rows of the file but the times, with the types of their values."""
    with sqlite3.connect(cache.path) as database:
        query = "select key, model, pred, p, cut, typeof(pred), typeof(p), typeof(at), typeof(cut) from answers"
        return sorted(database.execute(query))


# The same as the plain form


@settings(max_examples=at_most(40), deadline=None)
@given(
    ROWS | HALVES, ROWS, st.integers(1, 7), st.sampled_from(["probabilities", "labels", "cut"]), st.sampled_from([0, 9])
)
def test_asking_in_columns_is_asking_row_by_row(rows, earlier, size, kind, limit):
    plain, quick = Recorded(kind, max_length=limit), Recorded(kind, max_length=limit)
    with Cache() as one, Cache() as other:
        for some in (earlier, rows):  # what was stored by either form is known to the other
            counts = AnswerCount(), AnswerCount()
            expected = plain_ask(some, plain.model, one, size, counts[0])
            assert list(ask(columns(some), quick.model, other, size, tally=counts[1])) == expected
            assert quick.batches == plain.batches
            assert counts[0] == counts[1]
            assert content(one) == content(other)


@settings(max_examples=at_most(25), deadline=None)
@given(ROWS, ROWS, st.booleans(), st.sampled_from(["probabilities", "labels", "cut"]))
def test_files_of_either_form_are_read_by_the_other(earlier, rows, fresh, kind):
    """A model that was loaded later finds the answers; a fresh one asks anew."""
    for first_plain in (True, False):
        first, second = Recorded(kind), Recorded(kind)
        object.__setattr__(first.model, "loaded", time.time() - 60)
        object.__setattr__(second.model, "fresh", fresh)
        tally = AnswerCount()
        with Cache() as cache:
            if first_plain:
                plain_ask(earlier, first.model, cache, 4, AnswerCount())
            else:
                ask(columns(earlier), first.model, cache, 4)
            object.__setattr__(second.model, "loaded", time.time() + 0.001)
            if first_plain:
                found = list(ask(columns(rows), second.model, cache, 4, tally=tally))
            else:
                found = plain_ask(rows, second.model, cache, 4, tally)
        new = set(rows) if fresh else set(rows) - set(earlier)
        assert {text for batch in second.batches for text in batch} == new
        assert tally == AnswerCount(len(rows), 0 if fresh else sum(row in earlier for row in rows))
        with Cache() as empty:
            assert found == plain_ask(rows, Recorded(kind).model, empty, 4, AnswerCount())


@settings(max_examples=at_most(40))
@given(st.lists(st.tuples(st.text(), st.text(), st.text()), min_size=1, max_size=6), st.binary(max_size=40))
def test_keys_are_those_of_earlier_versions(rows, model_key):
    expected = [plain_key(model_key, row) for row in rows]
    assert keys_of(model_key, list(zip(*rows, strict=True))) == expected
    assert [key(model_key, row) for row in rows] == expected
    assert keys_of(model_key, [["a\ud800", "b"]]) == [plain_key(model_key, [text]) for text in ("a\ud800", "b")]


@settings(max_examples=at_most(40))
@given(st.lists(st.tuples(TEXTS | st.none(), TEXTS | st.none()), max_size=30))
def test_columns_of_polars_and_lists_have_the_same_distinct_texts(rows):
    given = {name: pl.Series([row[place] for row in rows], dtype=pl.String) for place, name in enumerate(NLI.fields)}
    listed = columns([tuple(text or "" for text in row) for row in rows])
    one, other = Texts.of(given, NLI), Texts.of(listed, NLI)
    assert one.columns == other.columns
    for name in ("places", "counts", "lengths"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()
    assert [tuple(column[place] for column in one.columns) for place in one.places] == list(
        zip(*listed.values(), strict=True)
    )


@settings(max_examples=at_most(30))
@given(st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.sampled_from([None, False, True])), max_size=12))
def test_answers_with_and_without_probabilities_may_be_stored_side_by_side(rows):
    answers = {
        key(b"m", [str(i)]): Cached(pred, (0.25, 0.5, 0.25) if p else None, cut)
        for i, (pred, p, cut) in enumerate(rows)
    }
    with Cache() as cache:
        cache.put(1, answers)
        assert cache.get(list(answers)) == answers


def test_many_labels_and_many_keys():
    answers = {key(b"m", [str(i)]): Cached(i, None, i % 2 == 0) for i in range(0, 120_000, 7)}
    with Cache() as cache:
        cache.put(1, answers)
        asked = [key(b"m", [str(i)]) for i in range(120_000)]
        assert cache.get(asked) == answers


# Ahead and behind


def test_what_is_asked_meanwhile_is_not_asked_again():
    """Questions may be looked up before the answers to earlier ones are stored, or even known."""
    recorded = Recorded(batch_size=2)
    texts = [Texts.of(columns([(letter, "x") for letter in letters]), NLI) for letters in ("abc", "bcd", "cde")]
    with Cache() as cache, AnswerWriter(cache) as writer:
        asker = Asker(recorded.model, writer)
        questions = [asker.look_up(one) for one in texts]
        answers = [list(asker.ask(one)) for one in questions]
        late = list(asker.ask(asker.look_up(texts[0])))
    assert sorted(text for batch in recorded.batches for text, _ in batch) == list("abcde")
    assert answers[0][1:] == answers[1][:2] == late[1:]
    assert answers[1][1:] == answers[2][:2]


def test_what_may_not_be_stored_is_asked_again():
    recorded = Recorded(uncacheable=lambda: "it is random")
    texts = Texts.of(columns([("a", "x")]), NLI)
    with Cache() as cache, AnswerWriter(cache) as writer:
        asker = Asker(recorded.model, writer)
        questions = [asker.look_up(texts) for _ in "ab"]
        with pytest.warns(UserWarning, match="m: answers are not cached: it is random"):
            asker.ask(questions[0])
        asker.ask(questions[1])
        assert len(recorded.batches) == 2
        writer.wait()
        assert cache.info() == []


def batch(number, count=3):
    keys = [key(b"m", [f"{number} {i}"]) for i in range(count)]
    return Keyed(1, keys, Predictions(np.zeros(count, np.int64), None))


def test_a_slow_model_waits_until_its_batch_is_stored(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "SLOW", 0.0)
    with Cache(tmp_path / "c.sqlite") as cache, AnswerWriter(cache) as writer:
        for number in range(3):
            writer.add(*batch(number))
            other = sqlite3.connect(cache.path)
            assert other.execute("select count(*) from answers").fetchone() == (3 * (number + 1),)
            other.close()


def test_a_fast_model_has_few_transactions_and_loses_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "SLOW", 1e9)
    monkeypatch.setattr(writing, "REST", 1e9)
    sizes, store = [], Cache.store
    monkeypatch.setattr(Cache, "store", lambda self, some: (sizes.append(len(some)), store(self, some))[1])
    written = []
    with Cache(tmp_path / "c.sqlite") as cache:
        with AnswerWriter(cache) as writer:
            writer.add(*batch(0))
            writer.wait()
            for number in range(1, 200):
                writer.add(*batch(number))
            writer.then(lambda: written.append(cache.get(batch(199).keys)))
        assert sizes == [1, 199]
        assert len(written[0]) == 3  # a part is written when its answers are stored
        found = cache.get([one for number in range(200) for one in batch(number).keys])
        assert len(found) == 600


def test_answers_are_stored_when_the_model_fails(tmp_path):
    def fail(given):
        if len(given["premise"][0]) > 3:
            raise WrongAnswer("no answer")
        return ["neutral"] * len(given)

    model = Answerer("m", "m.v1()", Model(fail, batch_size=1), NLI)
    with Cache(tmp_path / "c.sqlite") as cache:
        with refuses(WrongAnswer):
            ask(columns([("a" * n, "x") for n in range(1, 6)]), model, cache)
        assert [row["answers"] for row in cache.info()] == [3]


@pytest.mark.parametrize("end", ["add", "wait", "leave"])
def test_what_goes_wrong_behind_the_model_is_raised_with_the_file(tmp_path, end):
    with Cache(tmp_path / "c.sqlite") as cache:
        cache._db.execute("pragma query_only = true")
        fix = "make file and folder writable, or give another file with --cache, or use --no-cache"
        with refuses(BadInput, where=str(cache.path), fix=fix), AnswerWriter(cache) as writer:
            writer.add(*batch(0))
            if end == "wait":
                writer.wait()
            if end == "add":
                while True:
                    writer.add(*batch(1))
        assert not [one for one in threading.enumerate() if one.name == "answer-cache"]


def test_a_part_that_cannot_be_written_is_an_error_too(tmp_path):
    with Cache() as cache, pytest.raises(FileNotFoundError), AnswerWriter(cache) as writer:
        writer.then(lambda: Path(tmp_path / "gone" / "part").write_text("x"))


def test_an_error_of_the_model_is_not_hidden_by_one_of_the_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "SLOW", 1e9)
    with Cache(tmp_path / "c.sqlite") as cache:
        cache._db.execute("pragma query_only = true")

        def work(writer):
            writer.add(*batch(0))
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt), AnswerWriter(cache) as writer:
            work(writer)


def test_more_answers_than_may_wait_are_waited_for(monkeypatch):
    monkeypatch.setattr(writing, "ROWS", 5)
    monkeypatch.setattr(writing, "SLOW", 1e9)
    with Cache() as cache:
        with AnswerWriter(cache) as writer:
            for number in range(50):
                writer.add(*batch(number))
                assert writer._rows < 2 * 5 + 3
        assert len(cache.get([one for number in range(50) for one in batch(number).keys])) == 150


# The answers table


def test_rows_that_were_not_asked_have_no_answer():
    frame = pl.DataFrame({"id": ["a", "b", "c"], "of": [None, "a", "a"], "label": ["neutral"] * 3})
    frame = frame.with_columns(premise=pl.lit("x"), hypothesis=pl.lit("y"))
    answers = Predictions(np.array([0, 2]), np.array([[1.0, 0.0, 0.0], [0.0, 0.25, 0.75]]), np.array([0, 1], np.int8))
    table = answer_table(frame, Recorded().model, answers, pl.Series([True, False, True]))
    assert table["pred"].to_list() == [NLI.labels[0], None, NLI.labels[2]]
    assert table[f"p:{NLI.labels[2]}"].to_list() == [0.0, None, 0.75]
    assert table["truncated"].to_list() == [False, None, True]
