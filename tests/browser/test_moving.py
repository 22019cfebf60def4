"""What moves while a page loads, and whether the contents on the left show the page at hand."""

import pytest

# how far the parts of a page in sight have moved without a reader's doing, as browsers count it
WATCH = """window.moved = 0;
new PerformanceObserver(list => list.getEntries().forEach(e => { if (!e.hadRecentInput) window.moved += e.value; }))
    .observe({type: "layout-shift", buffered: true});"""
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(window.moved))))"
SIZES = {"wide": (1280, 900), "phone": (390, 844)}
THROTTLE = 4  # a slow reader's machine paints what it has before the whole page has come
LEAST = 0.1  # what browsers call good


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", [
    "intro", "course/grr", "scoreboard", "kv_auditor/fig6", "kv_auditor/fig6#fig-kv-6",
    "ldp_auditor/fig1", "ldp_auditor/fig1#fig-ldp-auditor-1",
])  # fmt: skip
def test_nothing_in_sight_moves_while_a_page_loads(browser, site, name, size):
    width, height = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height})
    page, (path, _, place) = context.new_page(), name.partition("#")
    page.add_init_script(WATCH)
    context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": THROTTLE})
    page.goto(f"{site}/book/{path}.html#{place}", wait_until="networkidle")
    if place:
        page.locator(f"#{place} [data-state=ready]").wait_for()
    assert page.evaluate(DRAWN) <= LEAST
    context.close()


def test_the_contents_on_the_left_show_the_page_that_a_link_of_the_text_leads_to(page, site):
    page.set_viewport_size({"width": 1280, "height": 400})
    page.goto(f"{site}/book/intro.html")
    page.locator("article a[href^='scoreboard.html']").first.click()
    page.wait_for_url("**/scoreboard.html*")
    page.wait_for_load_state()
    sidebar = page.locator("#pst-primary-sidebar")
    entry = page.locator(".bd-docs-nav a.current").last
    frame, place = sidebar.bounding_box(), entry.bounding_box()
    assert frame["y"] <= place["y"] and place["y"] + place["height"] <= 400
    sidebar.evaluate("e => { e.scrollTop = e.scrollHeight; }")
    page.goto(f"{site}/book/course/grr.html")
    place = entry.bounding_box()
    assert frame["y"] <= place["y"] and place["y"] + place["height"] <= 400
