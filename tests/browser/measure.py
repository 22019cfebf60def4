"""What a page weighs and when it draws, and how long a first reader needs to refute a broken client.

No test: times are of the machine at hand. Run it by itself after `make book`:

    cd tests && ../.venv/bin/python -m browser.measure            # or --weights, for benchmarks/speed.py
"""

import gzip
import json
import statistics
import sys
import tempfile
import time

from playwright.sync_api import sync_playwright

from browser.conftest import HTML, Server, launched, serve

PAGES = "intro ldp_auditor/fig1 ldp_auditor/fig2 kv_auditor/fig6 refinement/fig5 explore/promise".split()
PAGES += "explore/own explore/audit course/grr scoreboard".split()
OURS = tuple("base.js book.css twin explore laws.js quiz.js board live search _figures/".split())
THROTTLE, REPEATS = 4, 3
# when the first twin or explorer of a page stood
WATCH = """new MutationObserver(() => {
    if (!window.drawnAt && document.querySelector('[data-state=ready]')) window.drawnAt = performance.now();
}).observe(document, {subtree: true, attributes: true, attributeFilter: ['data-state']});"""
TIMES = """() => {
    const [page] = performance.getEntriesByType('navigation');
    const paint = performance.getEntriesByName('first-contentful-paint')[0];
    return [paint.startTime, page.domContentLoadedEventEnd, window.drawnAt ?? null];
}"""


def loaded(browser, address, throttle=1):
    """Open a page in a fresh profile, scroll to its first figure; times in ms, and the bytes of each file."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page, sizes = context.new_page(), {}
    page.on("response", lambda r: sizes.setdefault(r.url.partition("?")[0], r))
    page.add_init_script(WATCH)
    context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": throttle})
    page.goto(address, wait_until="networkidle")
    first = page.locator("[data-twin], [data-explorer]").first
    if first.count():
        first.scroll_into_view_if_needed()
        page.wait_for_function("!!document.querySelector('[data-state=ready]')")
    times, bodies = page.evaluate(TIMES), {url: r.body() for url, r in list(sizes.items()) if r.ok}
    context.close()
    return times, bodies


def weights(browser, site, name):
    """Return the kilobytes of our files of a page and of the theme's, each as they are and with gzip."""
    _, bodies = loaded(browser, f"{site}/book/{name}.html")
    kilobytes = {True: [0.0, 0.0], False: [0.0, 0.0]}
    for url, body in bodies.items():
        path = url.removeprefix(f"{site}/")
        own = path.endswith(".html") or path.removeprefix("_static/").startswith(OURS)
        kilobytes[own][0] += len(body) / 1e3
        kilobytes[own][1] += len(gzip.compress(body, 9, mtime=0)) / 1e3
    return kilobytes.values()


def pages(browser, site):
    """Weights and times of each page as lines of a table."""
    times = f"ms at {THROTTLE}x: first paint, interactive, first figure"
    print(f"page; KB (gzip) of ours, of the theme; {times}")
    for name in PAGES:
        sizes = [f"{raw:.0f} ({packed:.0f})" for raw, packed in weights(browser, site, name)]
        address = f"{site}/book/{name}.html"
        runs = [loaded(browser, address, THROTTLE)[0] for _ in range(REPEATS)]
        middle = ["-" if None in v else f"{statistics.median(v):.0f}" for v in zip(*runs)]
        print(f"{name}; {', '.join(sizes)}; {', '.join(middle)}", flush=True)


# what a reader without Python types: the coin for another value is too rare
SHORT = """\
function report(value, random) {
  return random() < 0.8 ? value : Math.floor(random() * k);
}
"""


def explorer(browser, site):
    """From the front page to the reader's own client refuted, without a server behind it, typed at ten keys a second."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    start = time.perf_counter()
    page.goto(f"{site}/book/intro.html")
    page.get_by_role("link", name="write a client yourself").click()
    page.locator("[data-explorer=own][data-state=ready]").wait_for()
    page.locator("#own-code").fill("")
    page.locator("#own-code").press_sequentially(SHORT, delay=100, timeout=120_000)
    page.get_by_role("button", name="Run").click()
    page.get_by_text("Promise broken: ").wait_for(timeout=300_000)
    return time.perf_counter() - start, page.inner_text(".ex-verdict")


# what a reader types: randomised response whose coin for another value is too rare
CLIENT = """\
from ldpkit import audit
from ldpkit import Client

def mine(values, rng):
    lie = rng.random(len(values)) < 0.2
    return np.where(lie, rng.integers(0, 4, len(values)), values)

print(audit(Client(mine, k=4, report="value", epsilon=1.0), "tight", trials=10_000, seed=1).verdict)
"""


def lab(browser):
    """From `make lab` to the reader's own client refuted, typed at ten keys a second."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        with Server(folder) as server:
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(server.link)
            page.get_by_role("link", name="auditing your own mechanism").first.click()
            page.wait_for_function(
                "document.querySelector('#live-status')?.textContent.startsWith('Ready')"
            )
            page.locator(".live-scratch summary").first.click()
            code = page.locator(".live-scratch textarea").first
            code.fill("")
            code.press_sequentially("import numpy as np\n" + CLIENT, delay=100, timeout=120_000)
            code.press("Shift+Enter")
            said = page.locator(".live-scratch .live-stdout").first
            said.wait_for(timeout=300_000)
            return time.perf_counter() - start, said.inner_text().strip()


def main():
    with sync_playwright() as playwright, serve(HTML) as server:
        site = f"http://127.0.0.1:{server.server_address[1]}"
        browser = launched(playwright)
        if sys.argv[1:] == ["--weights"]:
            figures = [name for name in PAGES if name == "intro" or "/fig" in name]
            packed = ([gzipped for _, gzipped in weights(browser, site, n)] for n in figures)
            print(json.dumps(dict(zip(figures, map(sum, packed)))))
            return
        pages(browser, site)
        print("explorer: {:.1f} s: {}".format(*explorer(browser, site)))
        print("make lab: {:.1f} s: {}".format(*lab(browser)))
        browser.close()
        server.shutdown()


if __name__ == "__main__":
    main()
