"""The built book in a real browser: every page loads, is complete, and asks nobody else for
anything.

Links are checked without a browser, by `book/ldpbook/build.py`."""

from urllib.parse import urlencode

import pytest

from browser.conftest import PAGES, ROOT
from ldpbook import wording


def luminance(page, selector):
    """Relative luminance of an element's background, looking through transparent ones."""
    return page.locator(selector).first.evaluate("""e => {
        let c;
        do { c = getComputedStyle(e).backgroundColor.match(/[\\d.]+/g).map(Number); e = e.parentElement; }
        while (e && c.length === 4 && c[3] === 0);
        return (0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]) / 255;
    }""")


# what runs off the window, and code that is only seen by scrolling; tables and formulas may scroll
# by themselves
OUTSIDE = """() => {
    const scrolls = e => ["auto", "scroll"].includes(getComputedStyle(e).overflowX);
    const kept = e => e && (scrolls(e) || kept(e.parentElement));
    const wide = [...document.querySelectorAll("article *:not(mjx-container *)")].filter(
        e => e.getBoundingClientRect().width && e.getBoundingClientRect().right > innerWidth + 1 && !kept(e.parentElement));
    const cut = [...document.querySelectorAll("article pre")].filter(e => e.scrollWidth > e.clientWidth + 1);
    return [...wide, ...cut].map(e => `${e.tagName} ${e.textContent.slice(0, 60)}`);
}"""


# roots that the browser draws without their sign
BARE = """all => all.filter(root => root.checkVisibility() && root.getBoundingClientRect().width > 0
    && root.firstElementChild.getBoundingClientRect().left - root.getBoundingClientRect().left < 2).map(root => root.textContent)"""


def explained(page):
    """Check that short names and words are explained on hover and at their first use.

    Short names in words: in running text, or in a table if the page has the name in tables only;
    headings, links' names and the card at the head are left. Words of the glossary once.
    """
    uses = page.eval_on_selector_all(
        "article abbr:not(.word)",
        """all => all.map(a => {
        const block = a.closest("tr") || a.closest("p, figcaption"), before = a.previousSibling?.data || "", after = a.nextSibling?.data || "";
        const link = a.closest("a"), whole = !/\\w-$/.test(before) && !/^-\\w/.test(after)
            && (!link || RegExp(a.textContent + "('?s|’s)?$").test(link.textContent.replace("+", "\\\\+")));
        return {name: a.textContent, title: a.title, rank: whole && block && !a.closest("h1, h2, h3, h4, .admonition-title") ? +!!a.closest("tr") : 2,
                block: block?.textContent.replaceAll("’", "'").replace(/\\s+/g, " ").toLowerCase()};
    })""",
    )
    assert all(use["title"] == wording.table()[use["name"]] for use in uses)
    for short in {use["name"] for use in uses}:
        first = min((use for use in uses if use["name"] == short), key=lambda use: use["rank"])
        assert first["rank"] == 2 or first["title"].lower() in first["block"], short
    words = page.locator("article abbr.word")
    found = words.evaluate_all("all => all.map(a => [a.textContent, a.title])")
    met = [wording.meaning(used) for used, _ in found]
    assert [title for _, title in found] == [said for _, said in met]
    assert len({word for word, _ in met}) == len(met)
    elsewhere = "article :is(a, h1, h2, h3, h4, table, pre, code, .glossary) abbr.word"
    assert page.locator(elsewhere).count() == 0


@pytest.mark.parametrize("name", PAGES)
def test_page_is_whole_typeset_explained_and_asks_nobody_outside(page, site, name):
    page.goto(f"{site}/{name}.html#%E0%A4%A", wait_until="networkidle")  # which encodes nothing
    page.evaluate("location.hash = '%'")
    assert page.locator("article h1").count() == 1
    assert page.outside == []
    assert page.errors == []
    for image in page.locator("article img").all():
        image.evaluate("i => { i.loading = 'eager'; return i.decode(); }")
        assert image.evaluate("i => i.complete && i.naturalWidth > 0")
        named = image.evaluate("i => i.closest('a')?.textContent.trim()")  # a link's words say it
        assert named or len(image.get_attribute("alt") or "") > 30
    assert page.locator("article .output.stderr, article .traceback").count() == 0
    assert "np.float64" not in page.locator("article").inner_text()
    fields = page.locator("article dl.property > dd > dl.field-list > dt").all_inner_texts()
    assert not any(name.startswith("Type") for name in fields)  # a sentence up to its colon
    assert page.locator("article .math > math").count() == page.locator("article .math").count()
    assert page.locator("article msqrt").evaluate_all(BARE) == []
    explained(page)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(OUTSIDE) == []


def test_figures_keep_a_light_ground_and_text_contrasts(page, site, theme):
    page.goto(f"{site}/book/ldp_auditor/fig2.html", wait_until="networkidle")
    assert page.locator("html").get_attribute("data-theme") == theme
    assert (luminance(page, "article p") > 0.5) == (theme == "light")
    assert luminance(page, "article figure img") > 0.9
    page.locator("article [data-twin]").first.scroll_into_view_if_needed()
    page.wait_for_selector("article figure .tw-plot svg")
    assert (luminance(page, "article figure .tw-plot") > 0.5) == (theme == "light")
    assert page.locator("article figcaption").first.is_visible()


def test_clients_are_filtered_by_package_and_verdict(page, site):
    page.goto(f"{site}/book/released/index.html", wait_until="networkidle")
    rows = page.locator("tr:has([data-package])")
    every, status = rows.count(), page.locator(".table-filters [role=status]")
    page.get_by_label("Verdict", exact=True).select_option("violates")
    broken = page.locator("tr:has([data-package]):visible")
    assert 0 < broken.count() < every
    assert status.inner_text() == f"{broken.count()} of {every} clients"
    verdicts = broken.locator("td:last-child").all_inner_texts()
    assert all(text.startswith("violates") for text in verdicts)
    page.get_by_label("Package", exact=True).select_option("flwr")
    assert {text.split()[0] for text in broken.locator("summary").all_inner_texts()} == {"flwr"}


def searched(page, site, question):
    """Ask the search; the names of the pages that it finds."""
    page.goto(f"{site}/search.html?{urlencode({'q': question})}", wait_until="networkidle")
    page.get_by_text("Search finished").wait_for()
    found = page.locator("#search-results li > a").evaluate_all("a => a.map(e => e.pathname)")
    return [path.removeprefix("/").removeprefix("book/").partition(".html")[0] for path in found]


@pytest.mark.parametrize("question, expected", [
    ("memoization", ["ldp_auditor/memoisation"]),
    ("memoization attack", ["ldp_auditor/memoisation"]),
    ("Figure 8", ["ldp_auditor/fig8", "kv_auditor/fig8", "refinement/fig8", "ldp_sgd/fig4"]),
    ("fig. 12", ["ldp_auditor/fig7", "refinement/fig10"]),
    ("KV-Auditor figure 8", ["kv_auditor/fig8"]),
    ("table 3", ["ldp_sgd/table3", "kv_auditor/tables"]),
    ("THE", ["notation"]),
    ("THE protocol", ["refinement/fig5"]),
    ("alpha", ["notation"]),
    ("SUE", ["notation", "ldp_auditor/fig8"]),
    ("RS+FD", ["notation", "ldp_auditor/fig7"]),
    ("subset selection", ["ldp_auditor/packages"]),
    ("neighboring", ["ldp_auditor/fig7"]),
    ("poisoning gain", ["refinement/fig6"]),
    ("ReRo", ["notation"]),
])  # fmt: skip
def test_search_has_the_page_among_five_and_pages_before_the_module(page, site, question, expected):
    names = searched(page, site, question)
    assert set(expected) <= set(names[:5])
    module = [name.startswith("api/") for name in names]
    assert module == sorted(module)
    assert page.errors == []


@pytest.mark.parametrize("question, expected", [
    ("how many reports", "stop_when_sure"), ("Own client", "your_own"), ("shuffle", "course/shuffling"),
])  # fmt: skip
def test_search_knows_what_readers_call_a_page_and_shows_sentences(page, site, question, expected):
    assert expected in searched(page, site, question)[:3]
    excerpts = page.locator("#search-results .context").all_inner_texts()
    assert len(excerpts) > 5 and not any(text.startswith("...") for text in excerpts)
    assert sum(text.endswith((".", ":", "?", "!", ")")) for text in excerpts) > 0.8 * len(excerpts)


@pytest.mark.parametrize("question, expected", [
    ("sample size", {"explore/audit", "stop_when_sure"}),
    ("how many reports do I need", {"explore/audit", "stop_when_sure"}),
    ("How many users do I need for an audit?", {"explore/audit", "stop_when_sure"}),
    ("is figure 6 of ldp-auditor reproduced", {"ldp_auditor/fig6"}),
    ("is Figure 6 of KV-Auditor reproduced?", {"kv_auditor/fig6"}),
    ("figure 6 ldp-auditor", {"ldp_auditor/fig6"}),
    ("what is SUE", {"notation"}),
    ("What is a shuffler?", {"notation"}),
    ("what is epsilon", {"course/coins"}),
    ("contents", {"intro"}),
    ("how do I audit my client", {"audit_your_client"}),
    ("how do I install it", {"intro"}),
    ("Which conclusions of the papers differ?", {"claims"}),
    ("what is a shufler", {"notation"}),
    ("memoistaion atack", {"ldp_auditor/memoisation"}),
    ("How do clients hide both a key and its value?", {"kv_auditor/mechanisms"}),
    ("OpenDP bug", {"released/opendp_bool", "released/opendp_bits"}),
    ("install ldpkit", {"audit_your_client"}),
])  # fmt: skip
def test_search_answers_questions_as_people_ask_them(page, site, question, expected):
    assert set(searched(page, site, question)[: len(expected)]) == expected
    assert page.errors == []


@pytest.mark.parametrize("question, told", [
    ("is my timestamp leaking", "No page has “timestamp”. These have “leaking”."),
    ("squad braids fireworks", "No page has “braids”, “fireworks”. These have “squad”."),
    ("timestamp", "No page has “timestamp”. Ask with other words."),
])  # fmt: skip
def test_search_says_which_word_no_page_has_and_shows_pages_with_the_others(
    page, site, question, told
):
    page.goto(f"{site}/search.html?{urlencode({'q': question})}", wait_until="networkidle")
    page.locator("#search-results").get_by_text(told).wait_for()
    page.wait_for_function("document.activeElement.matches('.search-summary')")
    page.keyboard.press("Tab")
    first = page.evaluate(
        "document.activeElement.closest('#search-results li:first-child') !== null"
    )
    assert first == ("These" in told)
    assert page.errors == []


def test_an_excerpt_answers_the_question_and_is_no_record_of_the_run(page, site):
    searched(page, site, "Is Figure 6 of LDP-Auditor reproduced?")
    first = page.locator("#search-results .context").first
    first.get_by_text("numbers agree").wait_for()
    searched(page, site, "Floating point")
    assert "numpy" not in first.inner_text()


def test_search_shows_the_name_of_a_page_and_what_a_short_name_stands_for(page, site):
    questions = {"THE": "THE: thresholding with histogram encoding"}
    questions["KV-Auditor figure 8"] = "KV-Auditor, Figure 8: "
    for question, shown in questions.items():
        searched(page, site, question)
        assert shown in page.locator("#search-results li").first.inner_text()


def test_questions_are_read_as_pages_are(page, site):
    page.goto(f"{site}/search.html")
    pages = (ROOT / "book" / f"{name}.md" for name in ("errata/rad", "notation", "intro"))
    text, language = "\n".join(path.read_text() for path in pages), wording.English({})
    words = sorted({word for word in language.split(text) if word.isascii()})
    stem = "words.map(w => new Stemmer().stemWord(w.toLowerCase()))"
    assert page.evaluate(f"words => {stem}", words) == [language.stem(word) for word in words]
    found = page.evaluate("splitQuery('THE of Figures 7, the Table 2')")
    assert found == "THE_ figure7 table2".split()


def test_what_is_opened_in_the_drawer_of_contents_is_in_sight(page, site):
    page.set_viewport_size({"width": 820, "height": 700})
    page.goto(f"{site}/book/intro.html", wait_until="networkidle")
    page.locator(".primary-toggle").first.click()
    contents = page.locator("dialog[open] .bd-docs-nav")
    for name in ("The five papers", "Evidence", "Reference"):
        contents.get_by_text(name, exact=True).click()
        page.wait_for_function(
            """name => [...document.querySelectorAll("dialog[open] details[open]")].some((fold) => {
                const { top, bottom } = fold.getBoundingClientRect();
                return fold.querySelector("summary").innerText === name && top >= 0 && bottom <= innerHeight;
            })""",
            arg=name,
        )


@pytest.mark.parametrize("name", ["kv_auditor/tables", "ldp_auditor/fig6"])
def test_a_table_of_numbers_shows_all_its_columns(page, site, name):
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{site}/book/{name}.html", wait_until="networkidle")
    page.evaluate("document.querySelectorAll('article details').forEach(fold => fold.open = true)")
    page.wait_for_selector(".tw-table table")
    hidden = page.evaluate(
        """() => [...document.querySelectorAll(".cell_output .output, .tw-table > div")]
            .filter(box => box.querySelector("table") && box.scrollWidth > box.clientWidth + 1)
            .map(box => [box.scrollWidth, box.clientWidth, box.innerText.slice(0, 60)])"""
    )
    assert hidden == []


@pytest.mark.parametrize(
    ("name", "many"),
    [("claims", 200), ("kv_auditor/tables", 5), ("scoreboard", 500), ("notation", 30), ("faq", 5)],
)
def test_a_row_of_sentences_is_a_card_on_a_phone(page, site, name, many):
    """What is said, how it is tested and the verdict stand below each other, what is short names its column, and nothing scrolls."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site}/book/{name}.html", wait_until="networkidle")
    page.evaluate("document.querySelectorAll('article details').forEach(fold => fold.open = true)")
    cells = page.evaluate(
        """() => [...document.querySelectorAll('article table.cards tbody tr')].map(row =>
            [...row.cells].filter(cell => !("empty" in cell.dataset)).map(cell => { const box = cell.getBoundingClientRect(); return [box.left, box.top, box.right]; }))"""
    )
    assert len(cells) > many
    for row in cells:
        tops = [top for _, top, _ in row]
        assert tops == sorted(tops) and tops[0] < tops[-1]
        assert max(right for *_, right in row) <= 390


def test_the_first_column_stays_on_a_phone(page, site):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site}/book/kv_auditor/tables.html", wait_until="networkidle")
    page.evaluate("document.querySelectorAll('article details').forEach(fold => fold.open = true)")
    wide = page.locator(".cell_output .output:has(td:first-child):not(:has(.cards))").all()
    moved = [
        one for one in wide if one.evaluate("box => (box.scrollLeft = 150) && box.scrollLeft > 10")
    ]
    assert moved
    for one in moved:
        cells = """box => [...box.querySelectorAll("tbody tr > :first-child")].map(cell =>
            cell.getBoundingClientRect().left - box.getBoundingClientRect().left)"""
        assert max(map(abs, one.evaluate(cells))) <= 3


def test_a_data_table_fits_a_phone_and_its_head_stays(page, site):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site}/book/refinement/fig6.html", wait_until="networkidle")
    page.locator(".tw-table summary").first.click()
    box = page.locator(".tw-table > div").first
    assert box.evaluate("box => box.scrollWidth - box.clientWidth") <= 1
    box.evaluate("box => { box.scrollTop = 200; box.scrollIntoView({block: 'center'}); }")
    corner = """box => { const {left, top} = box.getBoundingClientRect();
        return document.elementFromPoint(left + 8, top + 8).closest("thead") !== null; }"""
    assert box.evaluate(corner)
