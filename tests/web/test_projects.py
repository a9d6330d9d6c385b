"""From a suite or a run to a database: batches, their probabilities, and what is refused before all work."""

from __future__ import annotations

import os
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
import sqlalchemy as sa
from annotating import ANLI, NLI, invited, serving, write_rows
from refusals import refuses

import otherwords as ow
from otherwords import web
from otherwords.errors import BadInput, UnknownName
from otherwords.web import assignment, people
from otherwords.web.assignment import next_page, save
from otherwords.web.store import ASSIGNMENTS, ITEMS


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A suite of 30 problems with four variants each."""
    rows = []
    for number in range(30):
        original = {"id": f"p{number}", "premise": f"Man {number} sleeps.", "label": "neutral"}
        rows.append({**original, "hypothesis": f"He {number} rests."})
        for n in range(4):
            rows.append({**original, "id": f"p{number}~{n}", "of": f"p{number}", "hypothesis": f"{n} rests {number}."})
    return write_rows(tmp_path_factory.mktemp("many") / "suite.jsonl", rows)


def judge(store, pseudonym, pages, answer="sound"):
    """Judge some pages without a server; return their items."""
    (one,) = web.invite(store, pseudonym=pseudonym)
    about, items = store.about(), []
    while len(items) < pages and (item := next_page(store, one.person, about)) is not None:
        assert save(store, one.person, item, {(0, "sound"): answer})
        items.append(item)
    return items


def opened(source, tmp_path, form="sound", **settings):
    return web.open_project([source], form, str(tmp_path / "verdicts.db"), web.Settings(**settings))


def items_of(store):
    with store.reading() as connection:
        return pl.DataFrame([dict(row._mapping) for row in connection.execute(sa.select(ITEMS))])


def test_batches_follow_each_other_with_their_probabilities(many, tmp_path):
    store = opened(many, tmp_path, number=40, overlap=1)
    assert len(judge(store, "kim", 1000)) == 120
    table = items_of(store)
    assert table.group_by("batch").len().sort("batch").rows() == [(1, 40), (2, 40), (3, 40)]
    assert table.group_by("batch").agg(pl.col("probability").unique().round(6)).sort("batch").rows() == [
        (1, [0.333333]), (2, [0.5]), (3, [1.0])
    ]  # fmt: skip
    store.close()


def test_of_a_batch_that_is_not_finished_the_probability_is_that_of_being_judged(many, tmp_path):
    store = opened(many, tmp_path, number=40, overlap=1)
    judge(store, "kim", 10)
    table = web.verdict_table(store)
    assert table.height == 10
    assert table["probability"].unique().to_list() == [pytest.approx(40 / 120 * 10 / 40)]
    store.close()


def test_the_same_seed_draws_the_same_items_and_orders(many, tmp_path):
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        store = opened(many, tmp_path / name, number=10, seed=7)
        found.append((judge(store, "kim", 5), items_of(store).filter(pl.col("batch") == 1)["content"].to_list()))
        store.close()
    assert found[0] == found[1]


def test_the_next_page_does_not_read_the_whole_suite(suite, tmp_path):
    with closing(opened(suite, tmp_path)) as store, store.reading() as connection:
        for query in (assignment._FIRST_OPEN, assignment._PROGRESS, assignment._FIRST_LEFT_LYING):
            known = dict.fromkeys(query.compile().params, 1)
            plan = connection.execute(sa.text(f"explain query plan {query.text}"), known).all()
            assert "INDEX open_items" in str(plan)


def test_no_item_is_given_to_more_people_than_it_should(many, tmp_path):
    store = opened(many, tmp_path, number=20, overlap=2)
    shown = [set(judge(store, name, 20)) for name in ("a", "b", "c")]
    assert shown[0] == shown[1]  # the first batch, before the next is drawn
    assert not shown[2] & shown[0]
    store.close()


def test_a_page_that_was_left_lying_goes_to_somebody_else(suite, tmp_path):
    store = opened(suite, tmp_path, overlap=1)
    (one,) = web.invite(store, pseudonym="sleeper")
    held = next_page(store, one.person, store.about())
    assert held not in judge(store, "kim", 10)
    with store.writing() as connection:
        connection.execute(sa.update(ASSIGNMENTS).where(ASSIGNMENTS.c.item == held).values(given_at=0.0))
    assert judge(store, "kim", 10) == [held]
    store.close()


def test_a_suite_without_answers_can_be_judged_but_not_by_flips(suite, tmp_path):
    store = opened(suite, tmp_path)
    assert set(items_of(store)["flips"]) == {"{}"}
    store.close()
    for mode in ("flips_first", "most_useful_next"):
        with refuses(BadInput, field=mode):
            web.open_project([suite], "sound", str(tmp_path / "other.db"), web.Settings(mode=mode))
    assert not (tmp_path / "other.db").exists()


def flipping(tmp_path):
    """A run folder whose model flips where a text says so."""
    rows = [dict(NLI[0])]
    rows += [{**NLI[1], "id": f"a~{n}", "hypothesis": f"Flip {n}." if n % 4 == 0 else f"Stay {n}."} for n in range(40)]
    rows += [{**row, "id": f"{row['id']}'", "of": row.get("of") and f"{row['of']}'", "premise": "Another man sleeps."}
             for row in rows]  # fmt: skip
    (tmp_path / "flips.py").write_text(
        "def ask(problems):\n"
        "    return ['neutral' if 'Flip' in one.text['hypothesis'] else 'entailment' for one in problems]\n"
    )
    source = write_rows(tmp_path / "rows.jsonl", [{k: v for k, v in row.items() if v is not None} for row in rows])
    model = f"python:{tmp_path / 'flips.py'}:ask"
    ow.run(ow.Study(data=[source], models=[model], vary=[], canary=False, replicates=50), out=tmp_path / "run")
    return str(tmp_path / "run")


@pytest.mark.parametrize("mode", ["flips_first", "most_useful_next"])
def test_flips_are_preferred_and_weighed(tmp_path, mode):
    store = opened(flipping(tmp_path), tmp_path, mode=mode, number=20, overlap=1)
    judge(store, "kim", 20)
    first = items_of(store).filter(pl.col("batch") == 1)
    flipped = first.filter(pl.col("flips").str.contains("1.0"))
    assert flipped.height > 5  # which a plain sample of 20 among 80 would have
    assert flipped["probability"].min() > first.filter(~pl.col("flips").str.contains("1.0"))["probability"].max()
    judge(store, "kim", 5)  # the next batch rests on the verdicts of the first
    assert items_of(store)["batch"].max() == 2
    store.close()


def test_damaged_answers_are_named_and_nothing_is_made(tmp_path):
    run = flipping(tmp_path)
    (part, *_) = sorted((tmp_path / "run" / "answers").rglob("*.parquet"))
    part.write_bytes(part.read_bytes()[:50])
    with pytest.raises(BadInput, match="is damaged") as caught:
        opened(run, tmp_path)
    assert caught.value.where == str(part)
    assert not list(tmp_path.glob("*.db"))


def test_the_most_useful_next_needs_a_form_that_says_what_is_sound(tmp_path):
    run = flipping(tmp_path)
    for form in ("grammar", "label", "paraphrase"):
        with refuses(BadInput, field="most_useful_next"):
            opened(run, tmp_path, form, mode="most_useful_next")
    own = tmp_path / "own.toml"
    for answers in ('["sound", "odd"]', '["yes", "no"]\noptional = true'):
        own.write_text(f'title = "T"\n[[question]]\nname = "sound"\nask = "?"\nchoices = {answers}\n')
        with pytest.raises(BadInput, match="the form own does not say which variants are sound"):
            opened(run, tmp_path, str(own), mode="most_useful_next")
    with pytest.raises(BadInput, match="the form paraphrase asks about originals, which do not flip; use the mode"):
        opened(run, tmp_path, "paraphrase", mode="flips_first")


def test_the_same_suite_and_form_go_on_and_others_are_refused(suite, tmp_path):
    store = opened(suite, tmp_path)
    judge(store, "kim", 1)
    store.close()
    before = (tmp_path / "verdicts.db").read_bytes()
    with refuses(BadInput, where=str(tmp_path / "verdicts.db")):
        opened(suite, tmp_path, "equivalent")
    other = write_rows(tmp_path / "other.jsonl", NLI[:3])
    with refuses(BadInput, where=str(tmp_path / "verdicts.db")):
        opened(other, tmp_path)
    assert (tmp_path / "verdicts.db").read_bytes() == before
    again = opened(suite, tmp_path)
    assert web.verdict_table(again).height == 1
    again.close()


@pytest.mark.parametrize("content", ["", "id,verdict\n", "SQLite format 3\0 but not quite"])
def test_a_file_of_somebody_else_is_never_touched(suite, tmp_path, content):
    (tmp_path / "verdicts.db").write_text(content, encoding="utf-8")
    with refuses(BadInput, where=str(tmp_path / "verdicts.db")):
        opened(suite, tmp_path)
    assert (tmp_path / "verdicts.db").read_text(encoding="utf-8") == content
    assert not list(tmp_path.glob("verdicts.db-*"))


def test_a_database_of_somebody_else_is_never_touched(suite, tmp_path):
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(tmp_path / "verdicts.db")) as database:
        database.execute("create table about (key text, value text)")
        database.commit()
    before = (tmp_path / "verdicts.db").read_bytes()
    with refuses(BadInput, where=str(tmp_path / "verdicts.db")):
        opened(suite, tmp_path)
    assert (tmp_path / "verdicts.db").read_bytes() == before


def test_the_same_texts_under_other_ids_are_another_suite(suite, tmp_path):
    opened(suite, tmp_path).close()
    renamed = [{**row, "id": row["id"].replace("~x", "~y")} for row in NLI]
    with refuses(BadInput, where=str(tmp_path / "verdicts.db")):
        opened(write_rows(tmp_path / "renamed.jsonl", renamed), tmp_path)


def test_a_database_that_cannot_be_filled_is_not_there(suite, tmp_path, monkeypatch):
    from otherwords.web import items

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(items, "_fill", full)
    with pytest.raises(OSError, match="No space"):
        opened(suite, tmp_path)
    assert not list(tmp_path.glob("verdicts.db*"))


def test_settings_of_a_database_stay(suite, tmp_path):
    opened(suite, tmp_path, overlap=3).close()
    with pytest.warns(UserWarning, match="what it was made with stays: overlap=3"):
        again = opened(suite, tmp_path, overlap=2)
    assert again.about()["overlap"] == 3
    again.close()
    with pytest.warns(UserWarning, match="stays: the text that people agree to"):
        opened(suite, tmp_path, overlap=3, consent="Another text.").close()


def test_a_suite_is_not_overwritten_with_its_verdicts(suite):
    with refuses(BadInput, where=suite):
        web.open_project([suite], "sound", suite)


def test_a_suite_without_variants_is_refused(tmp_path):
    source = write_rows(tmp_path / "only.jsonl", [NLI[0]])
    with refuses(BadInput, where=source):
        opened(source, tmp_path)
    assert not (tmp_path / "verdicts.db").exists()


def test_places_that_cannot_be_written_are_refused(suite, tmp_path):
    with refuses(BadInput):
        web.open_project([suite], "sound", str(tmp_path / "no" / "verdicts.db"))
    with refuses(BadInput):
        web.open_store(str(tmp_path / "nothing.db"))


def test_a_disk_without_room_for_the_database_is_named(suite, tmp_path, monkeypatch):
    def full(connection):
        connection.execute("pragma max_page_count = 1")

    monkeypatch.setattr("otherwords.web.store.use_wal", full)
    with refuses(BadInput):
        web.open_project([suite], "sound", str(tmp_path / "v.db"))
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith("v.db")] == []


def test_an_address_that_nobody_answers_at_is_refused_without_its_password(suite):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"postgresql://kim:secret@127.0.0.1:{free.getsockname()[1]}/db"
        with pytest.raises(BadInput, match="cannot be reached") as caught:
            web.open_project([suite], "sound", address)
    assert "secret" not in str(caught.value)
    with pytest.raises(BadInput, match="is neither a file nor a PostgreSQL address") as caught:
        web.open_project([suite], "sound", "mysql://kim:secret@host/x")
    assert "secret" not in str(caught.value)


def test_a_port_that_is_taken_is_refused():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(BadInput, match="Address already in use; choose another port"):
            web.bind("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(BadInput, match="no such address"):
        web.bind("no.such.host.invalid", 0)


def test_names_that_are_no_hosts_are_refused():
    for name in ("https://example.org", "example.org/annotate", "a b"):
        with refuses(BadInput):
            web.refuse_name(name)
    web.refuse_name("annotate.example.org")


def test_an_open_address_without_tls_is_warned_of():
    with pytest.warns(UserWarning, match="are sent unencrypted; put a proxy with TLS in front"):
        web.warn_unprotected("0.0.0.0", "")
    web.warn_unprotected("0.0.0.0", "annotate.example.org")
    web.warn_unprotected("127.0.0.1", "")


@pytest.mark.parametrize(
    "settings", [{"mode": "best"}, {"number": 0}, {"overlap": 0}, {"every": 0}, {"consent": "  "}], ids=str
)
def test_settings_that_make_no_sense_are_refused(settings):
    with refuses(BadInput):
        web.Settings(**settings)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"role": "boss"}, UnknownName),
        ({"count": 0}, BadInput),
        ({"count": 2, "pseudonym": "kim"}, BadInput),
        ({"pseudonym": "Kim Lee"}, BadInput),
        ({"pseudonym": "<b>"}, BadInput),
        ({"days": 0}, BadInput),
    ],
)
def test_invitations_that_make_no_sense_are_refused(suite, tmp_path, options, kind):
    store = opened(suite, tmp_path)
    with refuses(kind):
        web.invite(store, **options)
    store.close()


def test_a_pseudonym_has_one_role(suite, tmp_path):
    store = opened(suite, tmp_path)
    web.invite(store, pseudonym="kim")
    with refuses(BadInput):
        web.invite(store, "owner", pseudonym="kim")
    with refuses(UnknownName):
        people.find_person(store, "lee")
    store.close()


def test_pseudonyms_of_deleted_people_are_not_used_again(suite, tmp_path):
    store = opened(suite, tmp_path)
    web.invite(store, count=2)
    web.delete_person(store, "annotator-2")
    assert web.invite(store)[0].person.pseudonym == "annotator-3"
    store.close()


def test_test_items_need_known_answers(suite, tmp_path):
    plain = write_rows(tmp_path / "plain.jsonl", NLI[:2])
    with refuses(BadInput, where=plain):
        web.open_project([suite], "sound", str(tmp_path / "v.db"), tests=plain)
    wrong = write_rows(tmp_path / "wrong.jsonl", [NLI[0], {**NLI[1], "answer:sound": "perhaps"}])
    with refuses(BadInput, field="answer:sound"):
        web.open_project([suite], "sound", str(tmp_path / "v.db"), tests=wrong)
    same = write_rows(tmp_path / "same.jsonl", [NLI[0], {**NLI[0], "id": "s", "of": "a", "answer:similarity": "100"}])
    with pytest.raises(BadInput, match="'s': rewords 0 texts; the form similarity compares single sentences"):
        web.open_project([suite], "similarity", str(tmp_path / "v.db"), tests=same)
    assert not (tmp_path / "v.db").exists()


def test_variants_that_reword_two_texts_are_left_out_of_comparisons(tmp_path):
    both = {**NLI[1], "id": "a~both", "premise": "On a bench a man sleeps."}
    source = write_rows(tmp_path / "rows.jsonl", [*NLI[:2], both])
    with pytest.warns(UserWarning, match="1 variants do not reword exactly one text, and are left out"):
        store = opened(source, tmp_path, "similarity")
    assert items_of(store).height == 1
    store.close()


def test_ratings_of_whole_problems_are_no_rewordings(suite, tmp_path):
    form = tmp_path / "own.toml"
    asked = [f'[[question]]\nname = "{name}"\nask = "?"\n' for name in ("similarity", "grammatical")]
    form.write_text(f'title = "T"\nshow = "problem"\n{asked[0]}most = 9\n{asked[1]}choices = ["yes", "no"]\n')
    with closing(opened(suite, tmp_path, str(form))) as store:
        (kim,) = web.invite(store)
        page = next_page(store, kim.person, store.about())
        assert save(store, kim.person, page, {(0, "similarity"): "9", (0, "grammatical"): "yes"})
        assert web.rewordings(store) == []


def test_an_export_needs_something_to_export(suite, tmp_path):
    store = opened(suite, tmp_path)
    with refuses(BadInput):
        web.export(store, "verdicts", str(tmp_path / "out.csv"))
    judge(store, "kim", 1)
    with refuses(BadInput):
        web.export(store, "rewordings", str(tmp_path / "out.jsonl"))
    with refuses(BadInput):
        web.export(store, "card", str(tmp_path / "card.txt"))
    store.close()
    assert not list(tmp_path.glob("out.*"))


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_exports_have_the_columns_of_the_view(suite, tmp_path, ending):
    from otherwords.validity.people import read_verdicts

    store = opened(suite, tmp_path)
    judge(store, "kim", 3)
    out = tmp_path / f"out.{ending}"
    assert web.export(store, "verdicts", str(out)) == 3
    assert read_verdicts(str(out)).equals(read_verdicts(str(tmp_path / "verdicts.db")).sort("bucket", "variant"))
    store.close()


def test_abductive_problems_are_known_by_their_task(tmp_path):
    source = write_rows(tmp_path / "rows.jsonl", ANLI)
    store = web.open_project([source], "label", str(tmp_path / "v.db"), task="a-nli")
    with serving(store) as site:
        _, page = invited(site).next()
    assert "Middle 1" in page
    store.close()


def test_only_the_owner_of_the_file_may_read_it(suite, tmp_path):
    opened(suite, tmp_path).close()
    assert (tmp_path / "verdicts.db").stat().st_mode & 0o077 == 0 or os.name == "nt"


def test_a_deletion_that_a_reader_keeps_from_the_disk_is_warned_of(suite, tmp_path):
    """Who reads keeps SQLite's log as it was; pages and commands wait for half a minute, this test does not."""
    store = opened(suite, tmp_path)
    with closing(store), closing(sqlite3.connect(store.name)) as other:
        web.invite(store, pseudonym="unforgettable")
        with store.reading() as connection:
            connection.exec_driver_sql("pragma busy_timeout = 0")
        other.execute("begin")
        other.execute("select * from people").fetchall()
        with pytest.warns(UserWarning, match="verdicts.db-wal until nobody reads the database"):
            web.delete_person(store, "unforgettable")
        assert b"unforgettable" in Path(f"{store.name}-wal").read_bytes()
        other.rollback()
        store.forget()
        assert b"unforgettable" not in Path(f"{store.name}-wal").read_bytes()
