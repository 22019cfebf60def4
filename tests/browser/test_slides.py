"""The slides of every paper play in a browser, from a file, and ask nobody for anything."""

import pytest

from browser.conftest import ROOT
from ldpbook import execute, figures, takeaway

# every slide once, with all its parts shown: what is higher or wider than a slide, and pictures that did not come
WALK = """async () => {
    const bad = [], frame = () => new Promise(requestAnimationFrame);
    for (const slide of document.querySelectorAll('section.slide')) {
        const { h, v } = Reveal.getIndices(slide);
        Reveal.slide(h, v, 9);
        await Promise.all([...slide.querySelectorAll('img')].map(i => i.decode().catch(() => bad.push(i.src))));
        await frame(); await frame();
        if (slide.scrollHeight > slide.clientHeight + 2 || slide.scrollWidth > slide.clientWidth + 2)
            bad.push(`${h}/${v} ${slide.querySelector('h1, h2').textContent}`);
    }
    return bad;
}"""


@pytest.fixture(scope="module")
def shows():
    project = execute.Project(ROOT)
    takeaway.main()
    return project.build / "slides"


@pytest.mark.parametrize("paper", figures.PAPERS)
def test_every_slide_of_a_show_fits_and_asks_nobody(page, shows, paper):
    asked = []
    page.on("request", lambda r: asked.append(r.url))
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto((shows / f"{paper}.html").as_uri())
    page.wait_for_function("window.Reveal && Reveal.isReady()")
    assert page.evaluate(WALK) == []
    assert all(url.startswith("file://") for url in asked) and page.errors == []


def test_keys_lead_through_pages_and_figures_and_the_answer_comes_after_the_question(page, shows):
    page.goto((shows / "ldp_auditor.html").as_uri())
    page.wait_for_function("window.Reveal && Reveal.isReady()")
    page.keyboard.press("ArrowRight")
    answer = page.locator("section.present > section.present .fragment").first
    assert page.locator("section.present > section.present h1").inner_text().endswith("?")
    assert "visible" not in (answer.get_attribute("class") or "").split()
    page.keyboard.press("Space")
    assert "visible" in answer.get_attribute("class").split()
    page.keyboard.press("ArrowDown")
    page.wait_for_function("Reveal.getIndices().v === 1")
    assert page.locator("section.present > section.present figure img").is_visible()
    page.keyboard.press("Escape")
    page.wait_for_function("Reveal.isOverview()")
