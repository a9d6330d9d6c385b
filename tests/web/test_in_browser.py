"""In a real browser: every form by two annotators, adjudication and export; keyboard, telephone, no JavaScript, axe."""

from __future__ import annotations

import re
from contextlib import ExitStack, contextmanager

import browsing
import pytest
from annotating import ANLI, NLI, write_rows

import otherwords as ow
from otherwords import web

pytestmark = pytest.mark.slow
FORMS = web.shipped_forms()


@contextmanager
def joined(browser, pages, role="annotator", **options):
    """Somebody who opens their link, agrees and begins; on every page they pass, axe finds nothing serious."""
    (one,) = web.invite(pages.store, role)
    with browsing.opened(browser, pages.link(one.token), **options) as visit:
        visit.page.get_by_label("I have read this and agree").check()
        press(visit.page, visit.page.get_by_role("button", name="Begin"))
        yield visit


def press(page, button):
    """Press a button and wait for the page behind it."""
    with page.expect_navigation():
        button.click()


def fill(page, turn):
    """Answer all questions of a page; `turn` decides which answer."""
    for group in page.locator("#item fieldset.question").all():
        options = group.get_by_role("radio").all()
        options[turn % len(options)].check()
    for number in page.locator("#item input[type=number]").all():
        number.fill("90")
    tabs = page.locator("label.tab").all() or [None]
    for tab in tabs:
        if tab:
            tab.click()
        for place, text in enumerate(page.locator("#item textarea:visible").all()):
            text.fill(f"Entirely different wording, version {place}, by {turn}.")


def work(visit, turn=0):
    """Answer until nothing is left; return how many pages there were."""
    count = 0
    while "/item/" in visit.page.url:
        fill(visit.page, turn)
        press(visit.page, visit.page.locator("#save"))
        assert not visit.page.locator(".summary").count(), visit.page.locator("main").inner_text()
        count += 1
    return count


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run whose model answers at random."""
    folder = tmp_path_factory.mktemp("run")
    source = write_rows(folder / "rows.jsonl", NLI)
    ow.run(ow.Study(data=[source], models=["scripted"], vary=[], canary=False, replicates=50), out=folder / "run")
    return str(folder / "run")


#: Which answers of a form mean that a variant is sound, where that is not known; paraphrases are no verdicts.
RULES = {"grammar": "error=none"}


@pytest.mark.filterwarnings("ignore:.*verdicts", "ignore:.*clusters")
@pytest.mark.parametrize("form", FORMS)
def test_every_form_by_two_annotators(browser, site, run, form, tmp_path):
    pages = site(form, source=run)
    counts = []
    for turn in (0, 7):  # never the same of two, three or five answers, nor neighbours of five
        with joined(browser, pages) as visit:
            assert browsing.serious_faults(visit.page) == []
            counts.append(work(visit, turn))
            assert "that is all" in visit.page.get_by_role("heading", level=1).inner_text()
            assert visit.complaints == []
            assert visit.beyond(pages.address) == []
    assert counts[0] == counts[1] > 0
    table = web.verdict_table(pages.store)
    assert table["annotator"].n_unique() == 2
    assert table.filter(table["annotator"] == "annotator-1").height == table.height / 2
    assert web.export(pages.store, "verdicts", str(tmp_path / "verdicts.parquet")) == table.height
    if pages.form.rewords:
        assert len(web.rewordings(pages.store)) == table.height
        return
    with joined(browser, pages, "adjudicator") as visit:
        links = visit.page.get_by_role("link", name=re.compile("^Decide page"))
        assert links.count() == counts[0]  # the two gave other answers everywhere
        press(visit.page, links.first)
        fill(visit.page, 1)
        press(visit.page, visit.page.get_by_role("button", name="Decide"))
        assert f"{counts[0] - 1} of {counts[0]} to decide" in visit.page.locator(".lead").inner_text()
        assert visit.complaints == []
    assert web.verdict_table(pages.store)["adjudicated"].any()
    scores = ow.score(run, ["flip_rate"], verdicts=pages.store.name, sound=RULES.get(form, ""), replicates=50)
    assert any(one.metric == "flip_rate_sound" for one in scores)


def test_two_hypotheses_are_on_tabs(browser, site):
    pages = site("paraphrase", rows=ANLI)
    with joined(browser, pages) as visit:
        assert visit.page.locator("textarea:visible").count() == 3
        assert browsing.serious_faults(visit.page) == []
        fill(visit.page, 0)
        press(visit.page, visit.page.locator("#save"))
    assert len(web.rewordings(pages.store)) == 3


def test_the_distance_follows_the_typing(browser, site):
    pages = site("paraphrase")
    with joined(browser, pages) as visit:
        original = visit.page.locator("section.card:not(.context) dd").inner_text()
        near = visit.page.locator("p.near").first
        visit.page.locator("textarea").first.fill(original)
        near.get_by_text("too close").wait_for()
        assert near.locator(".dot.red").count()
        visit.page.locator("textarea").nth(1).fill("Something wholly different here")  # which is not the first one's
        visit.page.locator("p.near").nth(1).get_by_text("different enough").wait_for()
        assert visit.page.locator("p.near").nth(1).locator(".dot.green").count()
        assert near.locator(".dot.red").count()
        assert visit.complaints == []


def test_disagreements_are_decided_and_exported(browser, site):
    pages = site("sound")
    for turn in range(2):
        with joined(browser, pages) as visit:
            work(visit, turn)
    with joined(browser, pages, "adjudicator") as visit:
        assert browsing.serious_faults(visit.page) == []
        for left in (3, 2, 1, 0):
            press(visit.page, visit.page.get_by_role("link", name=re.compile("^Decide page")).first)
            assert browsing.serious_faults(visit.page) == []
            visit.page.get_by_role("radio").first.check()
            press(visit.page, visit.page.get_by_role("button", name="Decide"))
            assert f"{left} of 4 to decide" in visit.page.locator(".lead").inner_text()
    with joined(browser, pages, "owner") as visit:
        assert browsing.serious_faults(visit.page) == []
        with visit.page.expect_download() as download:
            visit.page.get_by_role("link", name="Verdicts (CSV)").click()
        lines = download.value.path().read_text(encoding="utf-8").splitlines()
        assert len(lines) == 1 + 8 + 4
        visit.page.get_by_label("How many").fill("2")
        press(visit.page, visit.page.get_by_role("button", name="Make links"))
        assert visit.page.locator("input.copy").count() == 2
        assert browsing.serious_faults(visit.page) == []
        assert visit.complaints == []


def test_the_keyboard_alone_will_do(browser, site):
    pages = site("fluency")
    (one,) = web.invite(pages.store)
    with browsing.opened(browser, pages.link(one.token)) as visit:
        keys = visit.page.keyboard
        reach(visit.page, "input[type=checkbox]")
        keys.press("Space")
        reach(visit.page, "button")
        strike(visit.page, "Enter")
        for _ in range(3):  # with the digits
            keys.press("5")
            keys.press("4")
            strike(visit.page, "Enter")
        strike(visit.page, "u")
        reach(visit.page, "#item input[type=radio]")  # and without them
        keys.press("ArrowLeft")
        reach(visit.page, "#save")
        strike(visit.page, "Enter")
        keys.press("s")
        reach(visit.page, "details.skip button")
        strike(visit.page, "Enter")
        assert visit.page.get_by_text("that is all").count()
    table = web.verdict_table(pages.store)
    assert sorted(table.filter(table["question"] == "fluency")["answer"]) == ["4", "5", "5"]


def test_digits_lead_to_numbers_that_are_typed(browser, site):
    with joined(browser, site("similarity", number=1)) as visit:
        keys, reached = visit.page.keyboard, "document.activeElement.matches('#item input[type=number]')"
        reach(visit.page, "#item input[type=number]")
        while visit.page.evaluate(reached):
            keys.type("75")
            keys.press("Tab")
            keys.press("1")
            keys.press("1")
        strike(visit.page, "Enter")
        assert not visit.page.locator(".summary").count()


def strike(page, key):
    """Press a key that leads to another page."""
    with page.expect_navigation():
        page.keyboard.press(key)


def reach(page, selector):
    """Press Tab until an element has the focus."""
    for _ in range(60):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} cannot be reached")


@pytest.mark.parametrize("form", FORMS)
def test_a_telephone_will_do(browser, site, form):
    long = {**ANLI[0], "id": "tv1", "of": "tv", "hyp1": "The screen of the TV was broken " + "o" * 90}
    pages = site(form, rows=[*ANLI, long])
    with joined(browser, pages, width=380, height=800, has_touch=True, is_mobile=True) as visit:
        assert not browsing.too_wide(visit.page)
        assert browsing.serious_faults(visit.page) == []
        assert work(visit, 1) > 0
    with joined(browser, pages, "owner", width=380, height=800) as visit:
        for path in ("/overview", "/decide", "/me"):
            visit.page.goto(f"{pages.address}{path}")
            assert not browsing.too_wide(visit.page), path


@pytest.mark.parametrize("words", [1, 60])
def test_the_reference_stays_in_sight_beside_its_last_sentence(browser, site, words):
    rows = [{**NLI[0], "hypothesis": "Somebody sleeps. " * words}, *NLI[1:3]]
    with joined(browser, site("similarity", rows=rows), width=380, height=800, has_touch=True, is_mobile=True) as visit:
        visit.page.get_by_role("radio").last.focus()
        assert visit.page.evaluate(
            """() => {
                const [reference, last] = [".context", "#item section:last-of-type fieldset:last-of-type"].map((name) =>
                    document.querySelector(name).getBoundingClientRect());
                return reference.top >= 0 && reference.height < 300 && last.top >= reference.bottom && last.top < 800;
            }"""
        )
        assert browsing.serious_faults(visit.page) == []


@pytest.mark.parametrize("form", FORMS)
def test_javascript_is_not_needed(browser, site, form):
    pages = site(form)
    with joined(browser, pages, java_script_enabled=False) as visit:
        assert work(visit) > 0
        press(visit.page, visit.page.get_by_role("button", name="Undo the last page"))
        assert "/item/" in visit.page.url
        visit.page.get_by_text("Skip this page").click()
        press(visit.page, visit.page.get_by_role("button", name="Skip", exact=True))
        assert visit.page.get_by_text("that is all").count()


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_serious_on_any_page(browser, site, dark):
    pages = site("similarity", rows=NLI)
    (one,) = web.invite(pages.store)
    with browsing.opened(browser, pages.link(one.token), dark=dark) as visit:
        assert browsing.serious_faults(visit.page) == []
        press(visit.page, visit.page.get_by_role("button", name="Begin"))  # without agreeing
        assert browsing.serious_faults(visit.page) == []
    with joined(browser, pages, dark=dark) as visit:
        press(visit.page, visit.page.locator("#save"))
        assert visit.page.locator(".error").count()
        assert browsing.serious_faults(visit.page) == []
        work(visit, 1)
        assert browsing.serious_faults(visit.page) == []
        visit.page.goto(f"{pages.address}/me")
        assert browsing.serious_faults(visit.page) == []
        visit.page.goto(f"{pages.address}/nowhere")
        assert browsing.serious_faults(visit.page) == []
    with ExitStack() as stack:
        work(stack.enter_context(joined(browser, pages, dark=dark)), 0)
        owner = stack.enter_context(joined(browser, pages, "owner", dark=dark))
        for path in ("/overview", "/decide", "/me"):
            owner.page.goto(f"{pages.address}{path}")
            assert browsing.serious_faults(owner.page) == [], path
