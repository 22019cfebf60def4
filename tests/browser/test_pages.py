"""The built book in a real browser: every page loads, is complete, and asks nobody else for anything."""

import functools
import http.server
import os
import re
import shutil
import threading
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[2]
HTML = ROOT / "_build" / "html"
PAGES = re.findall(r"(?:root|file): (\S+)", (ROOT / "_toc.yml").read_text())
# The theme declares its launch-button variables twice; harmless and not ours.
KNOWN = ("THEBE_JS_URL",)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="session")
def site():
    assert (HTML / "index.html").exists(), "run `make book` first"
    handler = functools.partial(Quiet, directory=str(HTML))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(scope="session")
def browser():
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "Chromium is not on the path; install it or set CHROMIUM"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser, site):
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    page = context.new_page()
    page.outside, page.errors = [], []
    page.on("request", lambda r: None if r.url.startswith((site, "data:", "blob:")) else page.outside.append(r.url))
    page.on("console", lambda m: page.errors.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda e: page.errors.append(str(e)))
    page.on("response", lambda r: page.errors.append(f"{r.status} {r.url}") if r.status >= 400 else None)
    yield page
    context.close()


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
def test_page_is_whole_and_asks_nobody_outside(page, site, name):
    page.goto(f"{site}/{name}.html", wait_until="networkidle")
    assert page.locator("article h1").count() == 1
    assert page.outside == []
    assert [e for e in page.errors if not any(known in e for known in KNOWN)] == []
    for image in page.locator("article img").all():
        assert image.evaluate("i => i.complete && i.naturalWidth > 0")
        assert len(image.get_attribute("alt") or "") > 30
    assert page.locator("article .output.stderr, article .traceback").count() == 0
    assert "np.float64" not in page.locator("article").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("name", PAGES)
def test_formulas_are_typeset(page, site, name):
    page.goto(f"{site}/{name}.html", wait_until="networkidle")
    formulas = page.locator("article .math").count()
    assert page.locator("article mjx-container").count() >= formulas


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


def test_links_between_pages_lead_somewhere(page, site):
    targets = set()
    for name in PAGES:
        page.goto(f"{site}/{name}.html")
        for href in page.eval_on_selector_all("article a[href]", "links => links.map(a => a.href)"):
            if href.startswith(site):
                targets.add(href.split("#")[0])
    missing = [t for t in sorted(targets) if not (HTML / t.removeprefix(site + "/")).exists()]
    assert len(targets) > len(PAGES) / 2 and missing == []


def test_search_finds_a_protocol(page, site):
    page.goto(f"{site}/search.html?q=subset+selection", wait_until="networkidle")
    page.locator("#search-results li a").first.wait_for()
    assert page.locator("#search-results li").count() > 0


def test_table_of_contents_is_what_was_tested():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    assert toc["root"] in PAGES and len(PAGES) == len(set(PAGES)) >= 10
