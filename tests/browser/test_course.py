"""Answer boxes, explorers inside lessons and the explorer of the scoreboard: by keyboard, from a file,
on a phone, in both themes, without scripts."""

import csv
import json
import re

import pandas as pd
import pytest

from browser.conftest import HTML, PAGES, ROOT, serious, themed
from ldpbook import errata, lessons

LESSONS = lessons.lessons(ROOT)
BOARD = ROOT / "_build" / "scoreboard.csv"


def right(box):
    """What a box accepts, as its own page finds it."""
    law = "ldpkit[b.dataset.law](JSON.parse(b.dataset.with))[b.dataset.take]"
    return box.evaluate(f"b => b.dataset.law ? {law} : +b.dataset.answer")


def answered(box, text):
    """Type an answer, press Enter, return what is said."""
    box.locator("input").fill(text)
    box.locator("input").press("Enter")
    return box.locator("[role=status]").inner_text()


@pytest.mark.parametrize("name", LESSONS)
def test_every_box_takes_the_right_answer_and_no_other_from_a_file(page, name):
    """Also the explorer of the lesson starts, where the page wants it to."""
    page.goto((HTML / f"{name}.html").as_uri(), wait_until="load")
    page.wait_for_selector(".explorer[data-state=ready]")
    boxes = page.locator("[data-quiz]")
    assert boxes.count() >= 2 and boxes.count() == page.locator("[data-quiz][data-state]").count()
    for box in boxes.all():
        answer, tolerance = right(box), float(box.get_attribute("data-tolerance"))
        more, less = str(answer + 2 * tolerance + abs(answer)), str(answer - 2 * tolerance)
        assert answered(box, more) == "Not yet: less than that."
        assert answered(box, less) == "Not yet: more than that."
        assert answered(box, "about a half").startswith("Please give one number")
        assert answered(box, "").startswith("Please give one number")
        assert box.locator(".quiz-why").get_attribute("open") is None
        assert answered(box, f"{answer:.9f}".replace(".", ",")).startswith("Right: ")
        assert box.locator(".quiz-why").get_attribute("open") is not None
        assert answered(box, f" {100 * answer:.9f} %").startswith("Right: ")
    assert page.errors == []
    assert [url for url in page.outside if not url.startswith("file:")] == []


def test_numbers_may_be_written_in_every_common_way(page):
    page.goto((HTML / f"{LESSONS[0]}.html").as_uri())
    box = page.locator("[data-quiz]").first
    page.wait_for_selector("[data-quiz][data-state]")

    def said(answer, text):
        box.evaluate("(b, a) => { b.dataset.answer = a; b.dataset.tolerance = 0.01; }", answer)
        return answered(box, text).partition(":")[0]

    for answer, text in [
        ("0.25", "1/4"), ("0.25", ".25"), ("0.25", "25%"), ("-0.5", "\u22120,5"), ("-0.5", "\u2013.5"), ("22026", "22,026"), ("22026", "22 026"),
        ("1234.5", "1,234.5"), ("1e-6", "1e-6"), ("5", "5.0"),
    ]:  # fmt: skip
        assert said(answer, text) == "Right", text
    for answer, text in [("0.25", "25"), ("0.5", "-0.5"), ("22026", "22.026")]:
        assert said(answer, text) == "Not yet", text
    box.evaluate("b => { b.dataset.answer = 0.5625; }")
    assert answered(box, "56.25") == "Not yet: write 0.5625, or 56.25 %."
    examples = "Please give one number, such as 0.25, 0,25, 25 % or 1/4."
    for text in ("1/0", "1/2/3", "0..5", "--1", "x", "%", "1e"):
        assert said("0.25", text) == examples, text


def test_answers_of_the_laws_are_those_of_the_package(page):
    from ldpkit.attacks import Guess
    from ldpkit.auditors.shuffle import blanket_delta, solve
    from ldpkit.mechanisms import GRR
    from ldpkit.stats import epsilon_lower

    known = {
        ("rates", "tpr", 2): Guess().rates(GRR(2, 1.0))[0],
        ("rates", "tpr", 10): Guess().rates(GRR(10, 1.0))[0],
        ("bound", "epsilon", None): float(epsilon_lower(100, 0, 100, tail=0.005)),
        ("shuffle", "upper", None): solve(lambda e: blanket_delta(1000, 1.0, e), 1e-6, 1.0),
    }
    seen = {}
    for name in LESSONS:
        page.goto((HTML / f"{name}.html").as_uri(), wait_until="load")
        for box in page.locator("[data-law]").all():
            law, take = box.get_attribute("data-law"), box.get_attribute("data-take")
            key = law, take, json.loads(box.get_attribute("data-with")).get("k")
            seen[key] = right(box)
    assert seen == pytest.approx(known, rel=1e-9)


def test_without_scripts_a_box_is_its_question_and_its_answer(browser):
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto((HTML / f"{LESSONS[0]}.html").as_uri())
    box = page.locator("[data-quiz]").first
    assert not box.locator("input").is_visible() and box.locator(".quiz-question").is_visible()
    box.locator("summary").click()
    assert "0.5625" in box.inner_text()
    page.context.close()


@pytest.mark.parametrize(
    "name", "course/index course/coins course/teachers errata/refinement scoreboard".split()
)
def test_pages_of_the_course_pass_axe_and_fit_a_phone(page, site, name, theme):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site}/book/{name}.html", wait_until="networkidle")
    page.wait_for_function("!document.querySelector('[data-board]:not([data-state=ready])')")
    for box in page.locator("[data-quiz]").all():
        answered(box, "99999999")
    assert page.errors == [] and page.outside == []
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_file_of_solutions_can_be_had(page, site):
    page.goto(f"{site}/book/course/teachers.html")
    link = page.locator("article a[download]").evaluate("a => a.href")
    assert page.request.get(link).text().count("**Solution.**") == 24


def afresh(page, address):
    """Load a scoreboard anew."""
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("[data-board][data-state=ready]")


@pytest.fixture
def board(page):
    afresh(page, (HTML / "book" / "scoreboard.html").as_uri())
    page.locator(".board summary").click()
    return page.locator("[data-board]")


def status(page):
    return page.locator(".board-status").inner_text()


def rows(page):
    return page.locator(".board tbody tr:not(.board-more)")


def count(page):
    return int(re.match(r"([\d,]+) of", status(page))[1].replace(",", ""))


def test_all_comparisons_claims_and_errata_are_there_from_a_file(page, board):
    told = pd.read_csv(BOARD)
    assert count(page) == (told["verdict"] != "no-published-value").sum()  # it opens on these
    for kind, number in [
        ("number", len(told)),
        ("claim", len(pd.read_csv(ROOT / "_build" / "claims.csv"))),
        ("erratum", errata.text(ROOT).count("- **Effect**: ")),
    ]:
        page.locator("#board-type").select_option(kind)
        assert count(page) == number
    page.locator("#board-type").select_option("number")
    page.locator("#board-axis").select_option("z")
    exact = told["exact"].notna() & (told["reproduced_se"] > 0) & told["reproduced"].notna()
    assert int(board.get_attribute("data-points")) == exact.sum()
    assert page.errors == []
    assert [url for url in page.outside if not url.startswith("file:")] == []


def test_filters_narrow_and_are_kept_in_the_address(page, board):
    told = pd.read_csv(BOARD)
    page.locator("#board-type").select_option("number")
    page.locator("#board-paper").select_option("rad")
    page.locator("#board-item").select_option("rad/fig1")
    page.locator("#board-paper").select_option("ldp_auditor")
    choices = page.locator("#board-item option:not([disabled])")
    left = choices.evaluate_all("all => all.map(o => o.value)")
    assert page.locator("#board-item").input_value() == "" and len(left) > 8
    assert all(not item or item.startswith("ldp_auditor/") for item in left)
    page.locator("#board-protocol").select_option("OLH")
    page.locator("#board-q").fill("k=25")
    found = count(page)
    assert 0 < found < (told["item"].str.startswith("ldp_auditor/")).sum()
    assert all("OLH" in text for text in rows(page).all_inner_texts())
    afresh(page, page.url)
    assert count(page) == found and page.locator("#board-q").input_value() == "k=25"
    page.locator("#board-q").fill("there is no such thing")
    assert status(page) == "No row fits all filters."
    page.get_by_role("button", name="Clear all filters").click()
    assert count(page) > found and "#" not in page.url
    kind, verdict = page.locator("#board-type"), page.locator("#board-verdict")
    first = kind.input_value()
    verdict.select_option("no-published-value")  # which stands among all rows only
    assert kind.input_value() == "all"
    verdict.select_option("reproduced")
    assert kind.input_value() == first


def test_rows_are_sorted_by_z_and_each_can_be_linked(page, board):
    told = pd.read_csv(BOARD)
    error = told["reproduced_se"].where(told["reproduced_se"] > 0)
    z = ((told["reproduced"] - told["exact"]) / error).abs()
    page.locator("#board-type").select_option("number")
    page.locator("#board-sort").select_option("z")
    texts = page.locator(".board td[data-label=z]").all_inner_texts()
    shown = [abs(float(text.replace("−", "-").replace(",", ""))) for text in texts]
    assert shown == sorted(shown, reverse=True) and shown[0] == pytest.approx(z.max(), rel=6e-3)
    link = rows(page).nth(3).locator(".board-link")
    name, address = rows(page).nth(3).get_attribute("id"), link.evaluate("a => a.href")
    afresh(page, address)
    marked = page.locator(".board tr[aria-current=true]")
    assert marked.count() == 1 and marked.get_attribute("id") == name and marked.is_visible()
    assert marked.evaluate("e => e === document.activeElement")
    afresh(page, address + "99999")
    assert status(page).startswith("There is no row ")


def test_the_explorer_works_by_keyboard_alone(page, board):
    page.locator("#board-q").focus()
    page.keyboard.type("GRR")
    some = count(page)
    for _ in range(9):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "SELECT"
    page.get_by_role("button", name="CSV of these rows").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "CANVAS"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert " %; " in page.locator(".board-point").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_selector(".board tr[aria-current=true]")
    assert count(page) != some
    page.get_by_role("button", name="Clear all filters").focus()
    page.keyboard.press("Enter")
    page.locator(".board-pager button").nth(2).focus()
    before = rows(page).first.inner_text()
    page.keyboard.press("Enter")
    assert rows(page).first.inner_text() != before


def test_the_rows_can_be_taken_along(page, board):
    page.locator("#board-type").select_option("number")
    page.locator("#board-item").select_option("rad/fig1")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="CSV of these rows").click()
    found = list(csv.DictReader(waiting.value.path().read_text().splitlines()))
    told = pd.read_csv(BOARD)
    told = told[told["item"] == "rad/fig1"]
    assert len(found) == len(told) == count(page)
    for row, kept in zip(found, told.itertuples(), strict=True):
        verdict = "reproduced" if row["verdict"] == "holds" else row["verdict"]
        assert row["series"] == kept.series and verdict == kept.verdict
        assert float(row["reproduced"]) == pytest.approx(kept.reproduced, rel=1e-5)


def test_rows_lead_to_their_figure_and_errata(page, board):
    for kind, most in (("erratum", None), ("claim", 10), ("number", 10)):
        page.locator("#board-type").select_option(kind)
        for link in rows(page).locator("th a:not(.board-link)").all()[:most]:
            path, _, place = link.get_attribute("href").partition("#")
            assert f'id="{place}"' in (HTML / "book" / path).read_text()


def test_no_other_page_loads_the_data_of_the_board():
    loading = [name for name in PAGES if "board.data.js" in (HTML / f"{name}.html").read_text()]
    assert loading == ["book/scoreboard"]


def test_on_paper_a_page_is_black_on_white_and_has_nothing_to_click(page, site):
    themed(page, "dark")
    page.goto(f"{site}/{LESSONS[0]}.html", wait_until="networkidle")
    page.emulate_media(media="print")
    for place in (".bd-sidebar-primary", ".quiz-answer", ".explorer", ".headerlink", ".bd-footer"):
        assert not any(e.is_visible() for e in page.locator(place).all()), place
    for place in ("article p", "article pre span", "article table td", "article code"):
        seen = page.locator(place).first.evaluate("e => getComputedStyle(e).color")
        assert seen in ("rgb(0, 0, 0)", "rgb(51, 51, 51)"), place
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
