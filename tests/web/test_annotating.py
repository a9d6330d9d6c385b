"""Two people judge a suite over HTTP: what they see, what is stored, undo, skip, resume, and what comes out."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from annotating import ANLI, NLI, Visitor, inputs, invited, texts

from otherwords import web
from otherwords.validity.people import decide, read_verdicts, usual_rule


def judge_all(person, **answers):
    """Answer every page alike; return what was shown."""
    seen = []
    while found := person.next():
        item, page = found
        seen.append(texts(page))
        assert person.answer(item, **answers).status == 303
    return seen


def test_two_people_judge_and_the_verdicts_come_out(site, tmp_path):
    pages = site("label-preserved")
    one, two = invited(pages), invited(pages)
    assert len(judge_all(one, label_preserved="valid")) == 4
    assert len(judge_all(two, label_preserved="invalid")) == 4
    table = web.verdict_table(pages.store)
    assert table.columns == list(read_verdicts(str(tmp_path / "verdicts.db")).columns)
    assert table.height == 8
    assert set(table["variant"]) == {"a~x.1", "a~x.2", "b~x.1", "b~x.2"}
    assert table.group_by("annotator").agg(pl.col("answer").unique()).sort("annotator").rows() == [
        ("annotator-1", ["valid"]),
        ("annotator-2", ["invalid"]),
    ]
    assert table["probability"].to_list() == [1.0] * 8
    assert table["batch"].to_list() == [1] * 8
    assert not table["adjudicated"].any()
    assert table["seconds"].min() >= 0
    decided = decide(table, usual_rule(table))
    assert decided["share"].to_list() == [0.5] * 4


def test_a_third_person_finds_nothing_to_do(site):
    pages = site("sound")
    for _ in range(2):
        judge_all(invited(pages), sound="sound")
    assert invited(pages).next() is None


def test_a_page_shows_neither_generator_nor_answer_nor_id(site):
    pages = site("label-preserved")
    person = invited(pages)
    item, page = person.next()
    everything = page + str(person.get(f"/item/{item}").headers)
    for secret in ("secret-generator", "a~x", "b~x", "how"):
        assert secret not in everything.replace("show", "")


def test_people_see_the_items_in_orders_of_their_own(site):
    rows = [{**NLI[0]}, *({**NLI[1], "id": f"a~{n}", "hypothesis": f"Person {n} sleeps."} for n in range(8))]
    pages = site("sound", rows=rows, overlap=3)
    orders = [[page[-1] for page in judge_all(invited(pages), sound="sound")] for _ in range(2)]
    assert sorted(orders[0]) == sorted(orders[1])
    assert orders[0] != orders[1]


def test_two_who_work_at_the_same_time_have_orders_of_their_own(site):
    rows = [{**NLI[0]}, *({**NLI[1], "id": f"a~{n}", "hypothesis": f"Person {n} sleeps."} for n in range(20))]
    pages = site("sound", rows=rows)
    people, orders = [invited(pages), invited(pages)], ([], [])
    for _ in range(20):
        for person, order in zip(people, orders, strict=True):
            item, _ = person.next()
            person.answer(item, sound="sound")
            order.append(item)
    assert sorted(orders[0]) == sorted(orders[1])
    assert max(abs(place - orders[1].index(item)) for place, item in enumerate(orders[0])) > 5


def test_undo_opens_the_last_page_again(site):
    pages = site("sound")
    person = invited(pages)
    item, _ = person.next()
    person.answer(item, sound="sound")
    assert person.post("/undo").location == f"/item/{item}"
    assert web.verdict_table(pages.store).height == 0
    page = person.get(f"/item/{item}").text
    assert 'value="sound" checked' in page
    person.answer(item, sound="unsound")
    assert web.verdict_table(pages.store)["answer"].to_list() == ["unsound"]


def test_undo_opens_a_page_again_that_was_skipped_last(site):
    pages = site("sound", overlap=1)
    person = invited(pages)
    first, _ = person.next()
    person.answer(first, sound="sound")
    item, _ = person.next()
    person.post(f"/item/{item}/skip", {"reason": "I cannot decide"})
    assert person.post("/undo").location == f"/item/{item}"
    assert person.next()[0] == item
    assert person.answer(item, sound="unsound").status == 303
    assert sorted(web.verdict_table(pages.store)["answer"]) == ["sound", "unsound"]
    assert person.post("/undo").location == f"/item/{item}"
    person.answer(item, sound="unsound")
    assert len(judge_all(person, sound="sound")) == 2
    assert judge_all(invited(pages), sound="sound") == []  # nobody else was given what was taken back


def test_undo_without_an_answer_goes_on(site):
    assert invited(site("sound")).post("/undo").location == "/next"


def test_a_skipped_page_goes_to_somebody_else(site):
    pages = site("sound", overlap=1)
    one = invited(pages)
    item, _ = one.next()
    assert one.post(f"/item/{item}/skip", {"reason": "The text is broken"}).location == "/next"
    assert one.get(f"/item/{item}").status == 404
    assert len(judge_all(one, sound="sound")) == 3
    assert len(judge_all(invited(pages), sound="sound")) == 1


def test_a_page_that_everybody_skips_keeps_nobody_from_the_next_batch(site):
    pages = site("sound", number=1)
    for person in (invited(pages), invited(pages)):
        item, _ = person.next()
        person.post(f"/item/{item}/skip", {"reason": "The text is broken"})
        assert len(judge_all(person, sound="sound")) == 3


@pytest.mark.parametrize("fields", [{}, {"reason": "because"}, {"reason": "Another reason", "words": "  "}])
def test_a_page_is_not_skipped_without_a_reason(site, fields):
    person = invited(site("sound"))
    item, _ = person.next()
    assert person.post(f"/item/{item}/skip", fields).status == 422
    assert person.next()[0] == item


def test_who_comes_back_goes_on_where_they_were(site):
    pages = site("sound")
    person = invited(pages, pseudonym="kim")
    item, _ = person.next()
    person.answer(item, sound="sound")
    held, _ = person.next()
    again = invited(pages, pseudonym="kim")
    assert again.next()[0] == held
    assert "1 done, 3 left" in again.next()[1]


def test_answers_that_are_missing_are_asked_for_and_nothing_is_stored(site):
    pages = site("fluency")
    person = invited(pages)
    item, _ = person.next()
    reply = person.answer(item, fluency="5")
    assert reply.status == 422
    assert "Please answer this question." in reply.text
    assert 'value="5" checked' in reply.text
    assert web.verdict_table(pages.store).height == 0


@pytest.mark.parametrize("answer", ["6", "0", "five", "5.0", "٥", "-1"])
def test_numbers_outside_the_scale_are_refused(site, answer):
    pages = site("fluency")
    person = invited(pages)
    item, _ = person.next()
    assert person.answer(item, fluency=answer, reasoning="5").status == 422
    assert web.verdict_table(pages.store).height == 0


def test_the_same_answer_twice_is_stored_once(site):
    pages = site("sound")
    person = invited(pages)
    item, _ = person.next()
    for _ in range(3):
        assert person.answer(item, sound="sound").status == 303
    assert web.verdict_table(pages.store).height == 1


def test_one_does_not_judge_ones_own_work(site):
    rows = [dict(row, annotator="kim") if row.get("of") == "a" else dict(row) for row in NLI]
    pages = site("sound", rows=rows, overlap=3)
    shown = judge_all(invited(pages, pseudonym="kim"), sound="sound")
    assert len(shown) == 2
    assert len(judge_all(invited(pages, pseudonym="lee"), sound="sound")) == 4


def test_of_sentences_of_several_writers_none_of_them_judges_any(site):
    first, second = (dict(row, worker=who) for row, who in zip(NLI[1:3], ("kim", "lee"), strict=True))
    pages = site("similarity", rows=[NLI[0], first, second], overlap=3)
    for writer in ("kim", "lee"):
        assert invited(pages, pseudonym=writer).next() is None
    assert invited(pages, pseudonym="ki").next()


def test_a_reference_is_shown_with_its_sentences_and_itself(site):
    pages = site("similarity", overlap=1)
    person = invited(pages)
    shown = []
    while found := person.next():
        item, page = found
        reference, *sentences = texts(page)
        assert reference in sentences
        shown.append(len(sentences))
        fields = {name: "100" if name.endswith("similarity") else "yes" for name in inputs(page) if name[0].isdigit()}
        assert person.post(f"/item/{item}", fields).status == 303
    assert sorted(shown) == [2, 2, 3]
    table = web.verdict_table(pages.store)
    assert set(table["variant"]) == {"a~x.1", "a~x.2", "b~x.1", "b~x.2"}
    assert "1 of 1" not in person.get("/me").text


def test_controls_and_test_items_show_who_reads_with_care(site, tmp_path):
    from annotating import write_rows

    tests = [dict(row, **{"answer:similarity": "0" if row.get("of") else None}) for row in NLI[:2]]
    tests[1]["hypothesis"] = "Nobody is there."
    pages = site("similarity", tests=write_rows(tmp_path / "tests.jsonl", tests), every=1)
    person = invited(pages, pseudonym="kim")
    while found := person.next():
        item, page = found
        assert len(texts(page)) - 1 in (2, 3)  # beside every reference stands itself, in test items, too
        fields = {name: "50" if name.endswith("similarity") else "yes" for name in inputs(page) if name[0].isdigit()}
        person.post(f"/item/{item}", fields)
    owner = invited(pages, "owner")
    # four references beside themselves, one of them with the sentence whose answer is known
    assert "0 of 5" in owner.get("/overview").text
    assert web.verdict_table(pages.store)["variant"].n_unique() == 4


def test_people_reword_and_the_generator_recorded_reads_it(site, tmp_path):
    import otherwords as ow

    pages = site("paraphrase", overlap=1)
    person = invited(pages, pseudonym="kim")
    while found := person.next():
        item, page = found
        texts_of = {name: f"Wholly other words, number {name[-1]}." for name in inputs(page) if name[0].isdigit()}
        assert person.post(f"/item/{item}", texts_of).status == 303
    out = tmp_path / "rewordings.jsonl"
    assert web.export(pages.store, "rewordings", str(out)) == 6
    variants = ow.vary([row for row in NLI if "of" not in row], [f"recorded:{out}"])
    assert variants["hypothesis"].to_list()[:3] == [f"Wholly other words, number {n}." for n in (1, 2, 3)]
    assert set(variants["worker"]) == {"kim"}


def test_both_hypotheses_of_abductive_problems_are_reworded_and_paired(site, tmp_path):
    pages = site("paraphrase", rows=ANLI, overlap=1)
    person = invited(pages)
    item, page = person.next()
    assert "Middle 2 (plausible)" in page
    names = [name for name in inputs(page) if name[0].isdigit()]
    assert names == [f"0.hyp{h}:{n}" for h in (1, 2) for n in (1, 2, 3)]
    assert person.post(f"/item/{item}", {name: f"New text {name}." for name in names}).status == 303
    rows = web.rewordings(pages.store)
    assert len(rows) == 3
    assert sorted(row["hyp1"] for row in rows) == [f"New text 0.hyp1:{n}." for n in (1, 2, 3)]
    assert sorted(row["hyp2"] for row in rows) == [f"New text 0.hyp2:{n}." for n in (1, 2, 3)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("After bringing it home, he unpacked the TV and set it up where he intended.", "<b>63</b> of 100: different"),
        ("He took it home, unpacked it, and placed it where he liked it.", "too close"),
        ("He took it to his home and placed it where he wanted it.", "some overlap"),
    ],
)
def test_the_distance_is_that_of_the_paper(site, text, shown):
    original = "He took it home, unpacked it, and placed it where he wanted it."
    pages = site("paraphrase", rows=[{**ANLI[0], "hyp2": original}])
    person = invited(pages)
    item, _ = person.next()
    assert shown in person.post(f"/item/{item}/distance", {"0.hyp2:1": text}).text
    without_script = person.post(f"/item/{item}", {"0.hyp2:1": text, "look": "yes"})
    assert shown in without_script.text
    assert web.verdict_table(pages.store).height == 0


def test_rewordings_must_differ_from_the_original_and_from_each_other(site):
    person = invited(site("paraphrase"))
    item, page = person.next()
    original = texts(page)[-1]
    names = [name for name in inputs(page) if name[0].isdigit()]
    reply = person.post(f"/item/{item}", dict(zip(names, [original.upper(), "New one.", "New two."], strict=True)))
    assert "the same words as the original" in reply.text
    reply = person.post(f"/item/{item}", dict(zip(names, ["New one.", "new  one.", "New two."], strict=True)))
    assert "the same as an earlier rewording" in reply.text


def test_the_context_can_be_hidden(site):
    person = invited(site("paraphrase-alone"))
    _, page = person.next()
    assert len(texts(page)) == 1


def test_parte_assembly_takes_the_most_similar_grammatical_sentence(site):
    pages = site("similarity", overlap=2)
    similar = {"A person is asleep.": "80", "Someone is sleeping.": "90", "In the snow two dogs run.": "76",
               "The dogs are inside.": "95"}  # fmt: skip
    for _ in range(2):
        person = invited(pages)
        while found := person.next():
            item, page = found
            fields = {}
            for name, sentence in zip(
                [n for n in inputs(page) if n.endswith("similarity")], texts(page)[1:], strict=True
            ):
                part = name.partition(".")[0]
                fields |= {name: similar.get(sentence, "100"), f"{part}.grammatical": "yes", f"{part}.offensive": "no"}
            person.post(f"/item/{item}", fields)
    rows = web.rewordings(pages.store)
    assert [(row["of"], row.get("premise"), row.get("hypothesis")) for row in rows] == [
        ("a", None, "Someone is sleeping."),
        ("b", None, "The dogs are inside."),
        ("b", "In the snow two dogs run.", None),
        ("b", "In the snow two dogs run.", "The dogs are inside."),
    ]


def test_disagreements_are_adjudicated(site):
    pages = site("sound")
    judge_all(invited(pages), sound="sound")
    judge_all(invited(pages), sound="unsound")
    decider = invited(pages, "adjudicator", "dana")
    assert decider.get("/").location == "/decide"
    page = decider.get("/decide").text
    assert "4 of 4 to decide" in page
    item = int(page.partition('href="/decide/')[2].partition('"')[0])
    assert decider.post(f"/decide/{item}", {}).status == 422
    assert decider.post(f"/decide/{item}", {"0.sound": "sound"}).status == 303
    assert decider.post(f"/decide/{item}", {"0.sound": "unsound"}).status == 303  # the last one counts
    assert "3 of 4 to decide" in decider.get("/decide").text
    table = web.verdict_table(pages.store)
    assert table.filter("adjudicated").select("annotator", "answer").rows() == [("dana", "unsound")]
    assert decider.get("/overview").status == 403


def test_sentences_have_the_numbers_of_the_disagreement(site):
    pages = site("similarity")
    for mark in ("0", "100"):
        person = invited(pages)
        while found := person.next():
            item, page = found
            marks = [mark if one == "Someone is sleeping." else "50" for one in texts(page)[1:]]
            asked = [name for name in inputs(page) if name[0].isdigit()]
            names = [name for name in asked if name.endswith("similarity")]
            fields = dict.fromkeys(asked, "no") | dict(zip(names, marks, strict=True))
            assert person.post(f"/item/{item}", fields).status == 303
    for _ in range(4):  # sentences of whom would otherwise have an order of their own
        decider = invited(pages, "adjudicator")
        [place] = re.findall(r'href="(/decide/\d+)"', decider.get("/decide").text)
        page = decider.get(place).text
        [number] = re.findall(r"similarity of sentence (\d)", page)
        assert texts(page)[int(number)] == "Someone is sleeping."


@pytest.mark.parametrize(("marks", "count"), [(("4", "5"), 0), (("3", "5"), 4)])
def test_marks_that_are_a_step_apart_are_no_disagreement(site, marks, count):
    pages = site("fluency")
    for mark in marks:
        judge_all(invited(pages), fluency=mark, reasoning="5")
    shown = invited(pages, "adjudicator").get("/decide").text
    assert f"{count} of {count} to decide" in shown if count else "Nobody disagrees" in shown


def test_who_sees_what_others_said_does_not_judge(site):
    pages = site("sound")
    for role in ("owner", "adjudicator"):
        assert invited(pages, role).get("/next").status == 403


def test_the_label_form_asks_about_all_texts_and_hides_the_label(site):
    pages = site("label", overlap=1)
    shown = judge_all(invited(pages), label="neutral")
    assert len(shown) == 6
    assert set(web.verdict_table(pages.store)["variant"]) == {row["id"] for row in NLI}


def test_the_owner_sees_progress_and_can_export(site):
    pages = site("sound")
    judge_all(invited(pages, pseudonym="kim"), sound="sound")
    owner = invited(pages, "owner")
    assert owner.get("/").location == "/overview"
    overview = owner.get("/overview").text
    assert "kim" in overview
    csv = owner.get("/export/verdicts.csv")
    assert csv.text.splitlines()[0] == ",".join(web.verdict_table(pages.store).columns)
    assert csv.headers["content-disposition"] == 'attachment; filename="verdicts.csv"'
    assert len(owner.get("/export/verdicts.jsonl").text.splitlines()) == 4
    assert "# Verdicts: Is the new wording sound?" in owner.get("/export/card.md").text
    assert owner.get("/export/verdicts.db").status == 404
    refused = owner.post("/people/invite", {"count": "three"})
    assert (refused.status, "invite 1 to 1000 people" in refused.text) == (422, True)
    link = owner.post("/people/invite", {"role": "annotator", "count": "1"}).text.partition('value="http')[2]
    token = link.partition("/join/")[2].partition('"')[0]
    assert Visitor(pages.address).get(f"/join/{token}").status == 200


def test_a_person_can_be_deleted_and_their_pages_go_to_others(site):
    pages = site("sound", overlap=1)
    kim = invited(pages, pseudonym="kim")
    judge_all(kim, sound="sound")
    assert kim.post("/me/delete", {"confirm": "lee"}).status == 422
    assert kim.post("/me/delete", {"confirm": "kim"}).status == 200
    assert web.verdict_table(pages.store).height == 0
    assert kim.get("/next").status == 401
    assert len(judge_all(invited(pages), sound="sound")) == 4
    for ending in ("", "-wal"):
        assert b"kim" not in Path(f"{pages.store.name}{ending}").read_bytes()


def test_the_table_for_a_spreadsheet_has_no_formulas(site):
    pages = site("fluency", overlap=1)
    person = invited(pages)
    item, _ = person.next()
    person.answer(item, fluency="5", reasoning="5", why="=HYPERLINK(1)")
    owner = invited(pages, "owner")
    assert ",'=HYPERLINK(1)," in owner.get("/export/verdicts.csv").text
    assert '"=HYPERLINK(1)"' in owner.get("/export/verdicts.jsonl").text


def test_remarks_are_no_answers_that_agree(site):
    """Few remarks, all the same, look like choices; the form knows that they are texts."""
    pages = site("fluency")
    for _ in range(2):
        judge_all(invited(pages), fluency="5", reasoning="4", why="Fine.")
    assert '<th scope="row">why</th>' not in invited(pages, "owner").get("/overview").text
    assert "| why |" not in web.data_card(pages.store)
    assert "| fluency |" in web.data_card(pages.store)


def test_rewordings_are_no_answers_that_agree(site):
    pages = site("paraphrase")
    for person in (invited(pages), invited(pages)):
        item, _ = person.next()
        words = {f"0.hypothesis:{n}": f"In word {n} by {person.cookie[-4:]}" for n in (1, 2, 3)}
        assert person.post(f"/item/{item}", words).status == 303
    assert "Krippendorff" not in invited(pages, "owner").get("/overview").text
    assert "nobody has answered a question with choices or marks" in web.data_card(pages.store)


def test_the_card_counts_what_was_skipped_and_why(site):
    pages = site("sound")
    assert "| pages skipped | 0 |" in web.data_card(pages.store)
    person = invited(pages)
    for fields in ({"reason": "The text is broken"}, {"reason": "Another reason", "words": "Secret: words"}):
        person.post(f"/item/{person.next()[0]}/skip", fields)
    assert "| pages skipped | 2 (another reason: 1, the text is broken: 1) |" in web.data_card(pages.store)
