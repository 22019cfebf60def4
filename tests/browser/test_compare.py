"""A reader's own run and the book's share one chart: it has the whole width, and nothing lies over it."""

import itertools
import json
import re

from browser.conftest import HTML
from browser.steps import FIGURE, FITS, PAGE, cells, enter, status, write

WIDTHS = (1280, 1440, 1920)

# the cell of a figure as the reader sees it: boxes of what is shown, and of every bar of the book and of the run
SEEN = """name => {
    const cell = document.getElementById(name).closest(".cell"), shown = e => e && e.getClientRects().length > 0;
    const box = e => { const {left, top, right, bottom} = e.getBoundingClientRect(); return [left, top, right, bottom]; };
    const bars = own => [...cell.querySelectorAll(`.tw-g${own ? ".tw-own" : ":not(.tw-own)"} .tw-block`)]
        .flatMap(path => [...path.getAttribute("d").matchAll(/M([\\d.-]+) [^h]*h([\\d.-]+)/g)].map(m => [+m[1], +m[1] + +m[2]]));
    return {chart: box(cell.querySelector(".tw-plot svg")), column: box(cell), article: box(document.querySelector("article")),
        others: [".book-figure", ".live-figure img", ".live-new .live-label"].flatMap(s => [...cell.querySelectorAll(s)]).filter(shown).map(box),
        pictures: [...cell.querySelectorAll("img")].filter(e => e.checkVisibility()).length,
        side: box(document.querySelector(".bd-sidebar-secondary")), title: cell.querySelector(".tw-whose")?.textContent,
        faint: +getComputedStyle(cell.querySelector(".tw-g:not(.tw-own)")).opacity, bold: +getComputedStyle(cell.querySelector(".tw-own")).opacity,
        book: bars(false), own: bars(true), wide: document.documentElement.scrollWidth};
}"""


def apart(a, b):
    return a[2] <= b[0] + 1 or b[2] <= a[0] + 1 or a[3] <= b[1] + 1 or b[3] <= a[1] + 1


def one_chart(page, name):
    """Everything that is promised of the chart of two runs, at each width."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.locator(f"#{name}").scroll_into_view_if_needed()
        page.wait_for_function(FITS, arg=page.locator(f"#{name}").element_handle())
        seen = page.evaluate(SEEN, name)
        chart, column = seen["chart"], seen["column"]
        assert chart[0] >= column[0] - 1 and chart[2] <= seen["article"][2], (width, seen)
        assert chart[2] - chart[0] > 0.9 * (column[2] - column[0]), (width, seen)
        assert all(apart(chart, other) for other in [*seen["others"], seen["side"]]), (width, seen)
        assert seen["pictures"] == 0 and seen["wide"] == width
        title = "Your run and the book’s. Bold: your run 1. Faint: the book."
        assert seen["title"].startswith(title)
        assert seen["faint"] < 0.5 and seen["bold"] == 1
        assert seen["own"] and len(seen["own"]) == len(seen["book"])
        pairs = itertools.product(seen["own"], seen["book"])
        assert all(a[1] <= b[0] + 0.2 or b[1] <= a[0] + 0.2 for a, b in pairs)


def test_a_live_run_shares_the_books_chart(page, live):
    enter(page, live)
    page.get_by_label("k", exact=True).fill("3")
    page.get_by_label("trials", exact=True).fill("2_000")
    cell = page.locator(f".cell:has(#{FIGURE})")
    cell.locator("details.hide").evaluate_all("all => all.forEach(d => d.open = true)")
    cell.locator("button[aria-label^='Run cell']").click()
    status(page, "Done")
    one_chart(page, FIGURE)
    picture = cell.locator(".live-figure details")
    assert picture.locator("summary").inner_text() == "Your run as a picture"
    picture.locator("summary").click()
    assert picture.locator("img").evaluate("i => i.decode().then(() => i.naturalWidth > 100)")
    assert page.errors == []


def test_a_variant_and_the_book_share_one_chart(page, site):
    table = (HTML / "_figures" / f"{FIGURE}.csv").read_text()
    run = json.dumps({"csv": table, "label": "k = 3"})

    def varied(route):
        text = route.fetch().text()
        script = rf'data-twin="[\w/-]*{FIGURE}"[^>]*><script type="application/json">{{'
        at = re.search(script, text).end()
        text = f'{text[:at]}"run":{run},{text[at:]}'
        made = text.index('<details class="admonition hide', at)
        beside = f'<figure class="book-figure"><figcaption>In the book</figcaption><img src="../../_figures/{FIGURE}.svg" alt=""></figure>'
        route.fulfill(body=text[:made] + beside + text[made:], content_type="text/html")

    page.route(f"**/{PAGE}.html", varied)
    page.goto(f"{site}/{PAGE}.html")
    page.locator(f"#{FIGURE}").scroll_into_view_if_needed()
    page.locator(f"#{FIGURE} [data-state=ready]").wait_for()
    one_chart(page, FIGURE)
    rows = len(table.splitlines()) - 1
    twin = page.locator(f"#{FIGURE} [data-twin]")
    twin.locator("details summary").click()
    twin.locator("tbody tr", has_text="your run 1").first.wait_for()
    assert rows <= twin.locator("tbody tr:has(td)").count() <= 2 * rows
    assert page.errors == []


def test_an_edit_of_code_is_called_one_also_in_the_cell_of_parameters(page, live):
    enter(page, live)
    own, first = (c["index"] + 1 for c in cells()[:2])
    cell = page.locator(f"#cell-{own - 1}")
    if (edit := cell.locator("button[aria-label^=Edit]")).is_visible():
        edit.click()
    code = cell.locator("textarea")
    code.fill(code.input_value() + "\nmore = 1")
    code.press("Shift+Enter")
    assert f": code of cell {own} changed." in status(page, "Done")
    write(page, "1 + 1").locator("textarea").press("Shift+Enter")
    page.wait_for_function(
        "document.querySelector('#live-status').textContent.match(/^Done.* cells /)"
    )
    assert f": code of cells {own}, {first} changed." in page.inner_text("#live-status")
    page.get_by_role("button", name="Undo all edits").click()
    cell.locator("button[aria-label^='Run cell']").click()
    assert ": nothing changed." in status(page, "Done")
