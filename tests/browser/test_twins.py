"""Interactive twins of the built book's figures: each is drawn from the figure's own table, walked by
keyboard, in both themes and on a phone, from a file and without a request to anybody."""

import csv
import json
import math
import re

import pytest

from browser.conftest import HTML, PAGES, serious
from browser.steps import FITS

BUILT = [name for name in PAGES if (HTML / f"{name}.html").exists()]
WITH_TWINS = [name for name in BUILT if "data-twin=" in (HTML / f"{name}.html").read_text()]


def twins(page):
    """Every twin of the page, once it is drawn."""
    found = page.locator("[data-twin]")
    for i in range(found.count()):
        found.nth(i).scroll_into_view_if_needed()
        page.wait_for_function(f"document.querySelectorAll('[data-twin]')[{i}].dataset.state")
    return found.all()


def six(cell):
    """A cell of the data as the page shows it: six digits, but all of a whole number."""
    short = isinstance(cell, float) and math.isfinite(cell) and not cell.is_integer()
    return pytest.approx(cell, rel=5.1e-6) if short else cell


def value(text):
    """A cell of a table as a number if it is one; NaN and nothing are the same."""
    try:
        number = float(text)
    except ValueError:
        return text
    return "" if math.isnan(number) else number


def rows_of(name):
    with (HTML / "_figures" / f"{name}.csv").open() as file:
        return [[value(cell) for cell in row] for row in csv.reader(file)][1:]


WALK = """async plot => {
    const said = plot.querySelector("[role=status]"), press = key => plot.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
    const heads = [];
    plot.focus();
    press("ArrowRight");
    const first = said.textContent;
    press("ArrowRight");
    const second = said.textContent;
    press("Home");
    for (let i = 0; i < 400; i++) {
        const head = said.querySelector("strong").textContent.split(/; | · /)[0];
        if (heads.includes(head) && head === heads[0] && i) break;
        if (!heads.includes(head)) heads.push(head);
        press("PageDown");
    }
    press("Escape");
    return {first, second, heads, end: said.textContent};
}"""


REASONS = ".tw-note text, .tw-notes li"  # inside a panel, or below panels that are too small


def reasons(twin, figure):
    """The number of notes in the data of a figure; a large figure has them in a script of its own."""
    inside = twin.locator("script").all_text_contents()
    text = inside[0] if inside else (HTML / "_figures" / f"{figure}.js").read_text()
    return len(json.loads(text[text.index("{") : text.rindex("}") + 1])["spec"]["notes"])


@pytest.mark.parametrize("name", WITH_TWINS)
def test_twins_of_a_page(page, name):
    """One load of the page from a file: everything that is promised of its figures."""
    asked = []
    page.on("request", lambda r: asked.append(r.url))
    page.goto((HTML / f"{name}.html").as_uri(), wait_until="load")
    for twin in twins(page):
        figure = twin.get_attribute("data-twin").rpartition("/")[2]
        assert twin.get_attribute("data-twin").startswith(name.removeprefix("book/"))
        table = rows_of(figure)
        assert twin.get_attribute("data-state") == ("ready" if table else "empty")
        if not table:
            continue
        assert twin.locator(".tw-plot svg").count() == 1
        assert twin.locator(".tw-up").text_content().strip() != "↑"
        assert twin.locator(".tw-along").text_content().strip() != "→"
        assert twin.locator("xpath=../img").is_hidden()
        assert twin.locator(REASONS).count() == reasons(twin, figure)
        signs = twin.locator(".tw-series svg").evaluate_all("all => all.map(s => s.innerHTML)")
        assert len(set(signs)) == len(signs)
        shapes = twin.locator(".tw-g :is(path, rect)")
        drawn = shapes.evaluate_all("all => all.map(p => p.getAttribute('d')).join()")
        assert "NaN" not in drawn and "Infinity" not in drawn and re.search(r"\d", drawn)
        found = twin.locator(".tw-plot").evaluate(WALK)
        points = [row for row in table if row[2] != "claim" and row[3] != ""]
        finite = [row for row in points if isinstance(row[4], float) and math.isfinite(row[4])]
        standing = {panel for panel, *_ in finite}
        assert found["first"] and found["end"] == ""
        if len({row[0] for row in table}) > 1:  # its panels have titles
            assert len(found["heads"]) == len(standing), (figure, found["heads"], standing)
        twin.locator("details summary").click()
        text = "all => all.map(r => [...r.cells].map(c => c.textContent))"
        shown = twin.locator("tbody tr").evaluate_all(text)
        full = [i for i in range(2, len(table[0])) if any(row[i] != "" for row in table)]
        wanted = []  # the names of panel and series stand above their rows
        for group in dict.fromkeys(tuple(row[:2]) for row in table):
            title = ": ".join(f"{part}" for part in group if part != "")
            wanted += [[value(title)]] if title else []
            wanted += [[six(row[i]) for i in full] for row in table if tuple(row[:2]) == group]
        assert [[value(cell) for cell in row] for row in shown] == wanted
        twin.locator("details summary").click()
    for theme in ("light", "dark"):
        page.evaluate("t => { document.documentElement.dataset.theme = t; }", theme)
        page.set_viewport_size({"width": 390, "height": 844})
        page.wait_for_timeout(0)
        for twin in page.locator("[data-twin][data-state=ready]").all():
            twin.scroll_into_view_if_needed()
            page.wait_for_function(FITS, arg=twin.element_handle())
            figure = twin.get_attribute("data-twin").rpartition("/")[2]
            assert twin.locator(REASONS).count() == reasons(twin, figure)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert page.errors == []


@pytest.mark.parametrize("name", ["ldp_auditor/fig1", "ldp_auditor/fig2", "refinement/fig5"])
def test_axe_finds_no_serious_issue_in_twins(page, site, name, theme):
    """Bars, markers and paths stand for all."""
    page.goto(f"{site}/book/{name}.html", wait_until="load")
    for twin in twins(page):
        twin.locator(".tw-plot").press("ArrowRight")
    page.locator(".tw-table summary").first.click()
    assert serious(page, "[data-twin]") == []


def test_a_series_stands_alone_the_figure_enlarges_and_print_keeps_the_picture(page, site):
    page.goto(f"{site}/book/ldp_auditor/fig2.html", wait_until="load")
    twin = twins(page)[0]
    series = twin.locator(".tw-legend button").nth(1)
    series.click()
    assert series.get_attribute("aria-pressed") == "true"
    assert twin.locator(".tw-alone .tw-g:not(.tw-on)").count() > 0
    plot = twin.locator(".tw-plot")
    plot.press("ArrowRight")
    said = twin.locator("[role=status]")
    assert series.inner_text() in said.inner_text()
    assert re.search(r"this run.*: .*, z = .*\n(exact expectation): ", said.inner_text())
    box = plot.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    twin.get_by_role("button", name="Enlarge").click()
    larger = f"document.querySelector('dialog .tw-plot').clientWidth > 1.3 * {box['width']}"
    page.wait_for_function(larger)
    assert page.locator("dialog[open] .tw-plot svg").is_visible()
    page.keyboard.press("Escape")
    page.wait_for_function("!document.querySelector('dialog.tw-dialog')")
    assert twin.locator(".tw-plot svg").is_visible()
    page.emulate_media(media="print")
    assert twin.is_hidden() and twin.locator("xpath=../img").is_visible()
    assert page.locator(".answer").first.is_visible()


@pytest.fixture
def phone(browser):
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    yield context.new_page()
    context.close()


def test_a_tap_reads_a_value_until_the_next_tap_elsewhere(phone, site):
    phone.goto(f"{site}/book/rad/fig2.html", wait_until="networkidle")
    twin = twins(phone)[0]
    plot, said = twin.locator(".tw-plot"), twin.locator("[role=status]")
    plot.evaluate("e => e.scrollIntoView({block: 'center', behavior: 'instant'})")
    box = plot.bounding_box()
    phone.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert re.search(r"accepted risk .*\nexact: \d", said.inner_text())
    read = said.inner_text()
    phone.evaluate("scrollBy({top: 40, behavior: 'instant'})")
    assert said.inner_text() == read
    phone.touchscreen.tap(4, 200)  # the margin of the page
    assert said.inner_text() == ""


def test_an_enlarged_figure_takes_the_whole_width_and_height_of_a_phone(phone, site):
    phone.goto(f"{site}/book/rad/fig2.html", wait_until="networkidle")
    twin = twins(phone)[0]
    before = twin.locator(".tw-plot").bounding_box()
    twin.get_by_role("button", name="Enlarge").tap()
    phone.wait_for_function("document.querySelector('dialog .tw-plot svg').clientWidth >= 390")
    after = phone.locator("dialog .tw-plot").bounding_box()
    assert after["width"] == 390 and after["height"] > 1.5 * before["height"]
    assert phone.evaluate("document.querySelector('dialog.tw-dialog').scrollWidth") <= 390


def test_colours_of_dots_are_values_too(page, site):
    """A run that changes them alone: they are counted, tabulated, spoken, and drawn on one scale with the book's."""
    page.goto(f"{site}/book/refinement/fig6.html", wait_until="load")
    twin = twins(page)[0]
    book = twin.locator(".tw-key").inner_text()
    page.evaluate(
        """() => {
            const host = document.querySelector('[data-twin]'), {names, rows} = JSON.parse(host.querySelector('script').textContent);
            const line = ([p, s, o, x, y, , gain]) => [names.panel[p], names.series[s], names.source[o], x, y, '', 10 * gain].join();
            ldpkit.twin.overlay(host, ['panel,series,source,x,y,error,gain', ...rows.map(line)].join('\\n'), 'share=0.5');
        }"""
    )
    said = twin.locator("[data-run-moved]").inner_text()
    counted = (
        r"0 of \d+ exact ones differ, (\d+) of \1 values of poisoning gain \(the colours\) differ"
    )
    found = re.search(counted, said)
    assert found, said
    assert twin.locator(".tw-own .tw-dot").count() > 10
    low, high = (
        float(re.search(r"to ([\d.]+)", key)[1])
        for key in (book, twin.locator(".tw-key").inner_text())
    )
    assert abs(high / low - 10) < 0.05
    twin.locator(".tw-plot").press("ArrowRight")
    assert len(re.findall("poisoning gain [0-9]", twin.locator("[role=status]").inner_text())) == 2
    twin.locator("details summary").click()
    assert twin.locator("thead th").last.inner_text() == "poisoning gain"
    filled = twin.locator("tbody td:last-child").all_inner_texts()
    assert len(filled) == 2 * int(found[1]) and all(filled)
