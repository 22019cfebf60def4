"""Sentences that a run of the page found false: struck, said to a screen reader, and shown as they were after a restart."""

import pytest

from browser.conftest import serious
from browser.steps import enter, status

PAGE = "book/course/grr"
STRUCK = "[data-condition=false]"
ALL_FALSE = "ldpkit.conditions(Object.fromEntries([...document.querySelectorAll('[data-when]')].map(s => [s.dataset.when, false])), ['k = 10'])"


@pytest.mark.parametrize("width", [1300, 390])
def test_a_struck_sentence_is_readable(page, site, theme, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{site}/{PAGE}.html", wait_until="load")
    sentences = page.locator("[data-when]")
    assert sentences.count() >= 3 and page.locator(STRUCK).count() == 0
    before = page.inner_text("article")
    page.evaluate(ALL_FALSE)
    page.evaluate(ALL_FALSE)  # once more changes nothing
    assert page.locator(f"{STRUCK}[role=deletion]").count() == sentences.count()
    remarks = page.locator(f"{STRUCK} + .when-remark")
    assert remarks.count() == sentences.count()
    assert (
        remarks.first.inner_text().strip()
        == "true for the book's parameters (k = 10), not for yours."
    )
    assert "line-through" in page.locator(STRUCK).first.evaluate(
        "e => getComputedStyle(e).textDecorationLine"
    )
    assert page.locator(STRUCK).first.aria_snapshot().count("Not for these parameters") == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width and page.errors == []
    assert serious(page) == []
    page.evaluate("ldpkit.conditions()")
    assert page.inner_text("article") == before


def test_a_run_with_two_answers_strikes_what_is_about_more(page, live):
    enter(page, live, PAGE)
    page.get_by_label("k", exact=True).fill("2")
    page.get_by_role("button", name="Run all with these values").click()
    status(page, "Done")
    remark = page.locator(f"{STRUCK} + .when-remark")
    assert remark.count() >= 1 and "(k = 10)" in remark.first.inner_text()
    page.click("#live-restart")
    status(page, "Restarted")
    assert page.locator(STRUCK).count() == 0 and page.errors == []


def test_a_remark_of_the_built_site_comes_back_and_no_values_are_called_yours_unchanged(page, site):
    page.goto(f"{site}/book/stop_when_sure.html", wait_until="load")
    remarks, built = page.locator(".when-remark"), page.locator(STRUCK).count()
    before = remarks.all_inner_texts()
    assert built and page.locator("[data-when]").count() > built
    page.evaluate(ALL_FALSE.replace(", ['k = 10']", ""))  # a run with no value changed
    said = remarks.all_inner_texts()
    assert len(said) > built and "not for yours" not in "".join(set(said) - set(before))
    assert set(said) - set(before) == {" true in the run of this site, not in yours."}
    page.evaluate(ALL_FALSE)
    assert set(remarks.all_inner_texts()) == {
        " true for the book's parameters (k = 10), not for yours."
    }
    page.evaluate("ldpkit.conditions()")
    assert remarks.all_inner_texts() == before and page.errors == []
