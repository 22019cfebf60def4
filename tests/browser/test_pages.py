"""The built book in a real browser: every page loads, is complete, and asks nobody else for anything.

Links are checked without a browser, by `book/_tools/check_pages.py`.
"""

import pytest
import yaml
from conftest import PAGES, ROOT


def luminance(page, selector):
    """Relative luminance of an element's background, looking through transparent ones."""
    return page.evaluate(
        """selector => {
            let e = document.querySelector(selector), c;
            do { c = getComputedStyle(e).backgroundColor.match(/[\\d.]+/g).map(Number); e = e.parentElement; }
            while (e && c.length === 4 && c[3] === 0);
            return (0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]) / 255;
        }""",
        selector,
    )


@pytest.mark.parametrize("name", PAGES)
def test_page_is_whole_typeset_and_asks_nobody_outside(page, site, name):
    page.goto(f"{site}/{name}.html", wait_until="networkidle")
    assert page.locator("article h1").count() == 1
    assert page.outside == []
    assert page.errors == []
    for image in page.locator("article img").all():
        assert image.evaluate("i => i.complete && i.naturalWidth > 0")
        assert len(image.get_attribute("alt") or "") > 30
    assert page.locator("article .output.stderr, article .traceback").count() == 0
    assert "np.float64" not in page.locator("article").inner_text()
    assert page.locator("article mjx-container").count() >= page.locator("article .math").count()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_figures_keep_a_light_ground_and_text_contrasts(page, site, theme):
    page.add_init_script(f"localStorage.setItem('mode', '{theme}'); localStorage.setItem('theme', '{theme}')")
    page.goto(f"{site}/book/ldp_auditor/fig2.html", wait_until="networkidle")
    assert page.locator("html").get_attribute("data-theme") == theme
    assert (luminance(page, "article p") > 0.5) == (theme == "light")
    assert luminance(page, "article figure img") > 0.9
    assert page.locator("article figcaption").first.is_visible()


@pytest.mark.parametrize("width", [390, 1300])
def test_pages_fit_a_phone_and_a_screen(page, site, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{site}/book/ldp_auditor/fig1.html", wait_until="networkidle")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator("article figure img").first.bounding_box()["width"] <= width


def test_search_finds_a_protocol(page, site):
    page.goto(f"{site}/search.html?q=subset+selection", wait_until="networkidle")
    page.locator("#search-results li a").first.wait_for()
    assert page.locator("#search-results li").count() > 0


def test_table_of_contents_is_what_was_tested():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    assert toc["root"] in PAGES and len(PAGES) == len(set(PAGES)) >= 10
