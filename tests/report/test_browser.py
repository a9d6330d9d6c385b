"""The report in a real browser: it complains of nothing, asks nobody, and its list searches, filters and sorts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import browsing
import polars as pl
import pytest

import otherwords as ow
from otherwords.problem import TASKS
from otherwords.storage.run_folder import RunFolder

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::UserWarning")]

LABELS = TASKS["nli"].labels
EVIL = "<img src=x onerror=alert(1)></script><script>throw Error('evil')</script> &amp; a cat"
READY = "html[data-browse=ready]"


def rows(problems: int = 60) -> Iterator[dict[str, Any]]:
    """Problems with four rewordings by two generators; the text of the first has markup."""
    for place in range(problems):
        premise = EVIL if place == 0 else f"A dog number {place} runs over the green field."
        row = {"id": f"p{place:02}", "premise": premise, "hypothesis": "An animal moves.", "label": LABELS[place % 3]}
        yield row
        for number, word in enumerate(("hurries", "walks", "races", "trots")):
            new = premise.replace("runs", word) if place else f"{premise} {word}"
            how = "verbs" if number % 2 else "nouns"
            yield {**row, "id": f"p{place:02}-{number}", "of": row["id"], "how": how, "premise": new}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    models = ["first=scripted(seed=1)", "second=scripted(seed=2)", "same=scripted(otherwise=neutral)"]
    study = ow.Study(data=[list(rows())], models=models, check=["surface"], canary=False, cache=False, replicates=200)
    return ow.run(study, out=folder / "run").report


@pytest.fixture
def visit(browser: Browser, report: Path) -> Iterator[browsing.Visit]:
    with browsing.opened(browser, report) as found:
        found.page.wait_for_selector(READY, state="attached")
        yield found
        assert found.complaints == []
        assert found.beyond("file://", "data:") == []
        assert len(found.requests) == 1


def found(page: Page) -> int:
    """How many problems the page says it lists."""
    return int(page.inner_text("#browse-found").split("\u00a0")[0].replace(",", ""))


def in_order(page: Page) -> list[str]:
    """The ids of the rows that exist, from top to bottom."""
    script = "all => all.sort((a, b) => a.dataset.at - b.dataset.at).map(one => one.querySelector('.id').textContent)"
    names: list[str] = page.locator("#browse-list .row").evaluate_all(script)
    return names


def search(page: Page, words: str, hits: int) -> None:
    """Search at once; so many are found."""
    page.fill("#browse-text", words)
    page.press("#browse-text", "Enter")
    assert found(page) == hits


@pytest.fixture(scope="module")
def counts(report: Path) -> pl.DataFrame:
    """Flips, right and wrong answers of each model and problem, counted here from the answers of the run."""
    every = RunFolder(report.parent).read("answers")
    first = every.filter(pl.col("variant").is_null()).select("model", "bucket", pl.col("pred").alias("first"))
    flip = pl.col("variant").is_not_null() & (pl.col("pred") != pl.col("first"))
    right = pl.col("pred") == pl.col("gold")
    joined = every.join(first, on=["model", "bucket"]).with_columns(flip.alias("flip"), right.alias("right"))
    return joined.group_by("model", "bucket", maintain_order=True).agg(
        pl.col("flip").sum(), pl.col("right").sum(), pl.len(), pl.col("gold").first()
    )


def test_it_lists_all_problems_the_most_wavering_first(visit: browsing.Visit, counts: pl.DataFrame) -> None:
    assert found(visit.page) == 60
    worst = counts.group_by("bucket").agg(pl.col("flip").max(), pl.col("flip").sum().alias("all"))
    order = worst.sort("flip", "all", "bucket", descending=[True, True, False])["bucket"].to_list()
    shown = in_order(visit.page)
    assert 10 < len(shown) < 40, "only what is in sight exists"
    assert shown == order[: len(shown)]


def test_search_finds_texts_and_ids_whatever_the_case(visit: browsing.Visit) -> None:
    for words, names in (("DOG NUMBER 17 ", ["p17"]), ("p23-2", ["p23"]), ("no such words", [])):
        search(visit.page, words, len(names))
        assert in_order(visit.page) == names
    assert "No problem fits." in visit.page.inner_text("#browse-detail")
    visit.page.fill("#browse-text", "number 31")  # without Enter
    visit.page.locator("#browse-list .row", has_text="p31").wait_for()
    visit.page.click("text=Reset")
    visit.page.locator("#browse-row-5").wait_for()
    assert found(visit.page) == 60


def test_filters_are_those_of_the_answers(visit: browsing.Visit, counts: pl.DataFrame) -> None:
    page, second = visit.page, counts.filter(pl.col("model") == "second")
    page.select_option("#browse-label", label="neutral")
    assert found(page) == 20
    page.select_option("#browse-label", label="any")
    page.select_option("#browse-model", label="second")
    expected = {
        "flipped": second["flip"] > 0, "kept": second["flip"] == 0, "right": second["right"] == second["len"],
        "wrong": second["right"] < second["len"], "never": second["right"] == 0,
    }  # fmt: skip
    for outcome, fits in expected.items():
        page.select_option("#browse-outcome", outcome)
        assert found(page) == fits.sum(), outcome
    page.select_option("#browse-outcome", "")
    page.select_option("#browse-order", "data")
    assert in_order(page)[:3] == ["p00", "p01", "p02"]
    page.select_option("#browse-model", label="same")
    page.select_option("#browse-outcome", "flipped")
    assert found(page) == 0


def test_answers_and_generators_are_filters_too(visit: browsing.Visit, report: Path) -> None:
    every, page = RunFolder(report.parent).read("answers"), visit.page
    page.select_option("#browse-model", label="same")
    page.select_option("#browse-pred", label="entailment")
    assert found(page) == 0
    page.select_option("#browse-model", label="first")
    assert found(page) == every.filter(pl.col("model") == "first", pl.col("pred") == "entailment")["bucket"].n_unique()
    page.select_option("#browse-pred", label="any")
    page.select_option("#browse-how", label="verbs")
    assert found(page) == 60
    assert page.locator("#browse-detail .wordings > li").count() == 2
    assert "2\u00a0rewordings of other generators not shown." in page.inner_text("#browse-detail")


def test_the_chosen_problem_is_shown_with_what_changed(visit: browsing.Visit) -> None:
    page = visit.page
    search(page, "dog number 17", 1)
    detail = page.locator("#browse-detail")
    assert detail.locator("h3").inner_text() == "p17"
    assert {one.inner_text() for one in detail.locator("mark").all()} == {"hurries", "walks", "races", "trots"}
    assert "A dog number 17 runs over the green field." in detail.inner_text()
    assert detail.locator("li").first.locator(".flip").count() > 0, "a rewording that changed an answer comes first"


def test_it_is_used_by_keys_alone(visit: browsing.Visit) -> None:
    page = visit.page
    page.focus("#browse-list")
    names = in_order(page)
    for key, place in (("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("Home", 0)):
        page.keyboard.press(key)
        assert page.inner_text("#browse-detail h3") == names[place]
        assert page.get_attribute("#browse-list", "aria-activedescendant") == f"browse-row-{place}"
        assert page.get_attribute(f"#browse-row-{place}", "aria-selected") == "true"
    page.keyboard.press("End")
    assert page.get_attribute("#browse-list", "aria-activedescendant") == "browse-row-59"
    assert page.locator("#browse-row-59").is_visible()
    assert page.locator("[aria-selected=true]").count() == 1


def test_markup_in_a_premise_is_text(visit: browsing.Visit) -> None:
    page = visit.page
    search(page, "onerror=alert(1)", 1)
    assert EVIL in page.inner_text("#browse-detail")
    assert EVIL in page.inner_text("#browse-list")
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [380, 800, 1400])
def test_everybody_can_use_it(browser: Browser, report: Path, width: int, dark: bool) -> None:
    with browsing.opened(browser, report, width=width, dark=dark) as visit:
        visit.page.wait_for_selector(READY, state="attached")
        for details in visit.page.locator("details").all():
            details.evaluate("one => { one.open = true; }")
        assert browsing.serious_faults(visit.page) == []
        assert not browsing.too_wide(visit.page)
        assert visit.complaints == []


def test_without_scripts_all_else_is_there(browser: Browser, report: Path) -> None:
    with browsing.opened(browser, report, java_script_enabled=False) as visit:
        text = visit.page.inner_text("main")
        assert "This list needs JavaScript; the rest of the page works without it." in text
        assert "Flip rate" in text
        assert visit.page.locator("#browse-form").is_hidden()


def test_in_print_the_list_is_left_out(browser: Browser, report: Path) -> None:
    with browsing.opened(browser, report) as visit:
        visit.page.wait_for_selector(READY, state="attached")
        visit.page.emulate_media(media="print")
        assert visit.page.locator("#browse").is_hidden()
        assert visit.page.locator("#headline").is_visible()


def test_a_page_without_right_answers_offers_none(browser: Browser, tmp_path: Path) -> None:
    data = [{name: value for name, value in row.items() if name != "label"} for row in rows(6)]
    run = ow.run(data=[data], models=["scripted(seed=1)"], canary=False, cache=None, check=[], out=tmp_path / "run")
    with browsing.opened(browser, run.report) as visit:
        visit.page.wait_for_selector(READY, state="attached")
        assert visit.page.locator("#browse-label").count() == 0
        assert found(visit.page) == 6
        options = visit.page.locator("#browse-outcome option").all_inner_texts()
        assert options == ["any", "a rewording changed the answer", "no rewording changed it"]
        assert visit.complaints == []


def test_ten_thousand_rewordings_without_lag(browser: Browser, tmp_path: Path) -> None:
    """A thin version of `python -m benchmarks report_page`, with limits for a busy machine."""
    from benchmarks import report_page

    page, _ = report_page.written(tmp_path, 1_000)
    assert page.stat().st_size < 25e6 / 10
    assert report_page.load(browsing, browser, page) < 10
    assert max(report_page.filters(browsing, browser, page).values()) < 1
