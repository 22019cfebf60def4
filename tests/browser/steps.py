"""Steps that tests of several pages take in a browser."""

import json
import urllib.request

from browser.conftest import HTML

PAGE = "book/ldp_auditor/fig1"
FIGURE = "fig-ldp-auditor-1"


def cells(name=PAGE):
    return json.loads((HTML / "_live" / f"{name}.json").read_text())["cells"]


def status(page, start, timeout=180):
    """Wait until the status line starts with `start`; return the whole line."""
    page.wait_for_function(
        "start => document.querySelector('#live-status')?.textContent.startsWith(start)",
        arg=start,
        timeout=1000 * timeout,
    )
    return page.inner_text("#live-status")


def unfold(page):
    """Open the folds around the cells that stand before a page's figure."""
    page.evaluate("document.querySelectorAll('.tag_setup details').forEach(d => d.open = true)")


def enter(page, server, name=PAGE):
    page.goto(server.link)
    page.goto(f"{server.base}/static/{name}.html")
    status(page, "Ready")
    unfold(page)
    return page


def write(page, code, index=None):
    """Put code into a cell, by default the first after the parameters; return that cell."""
    index = cells()[1]["index"] if index is None else index
    cell = page.locator(f"#cell-{index}")
    cell.locator("details").evaluate_all("all => all.forEach(d => d.open = true)")
    if (edit := cell.locator("button[aria-label^=Edit]")).is_visible():
        edit.click()
    cell.locator("textarea").fill(code)
    return cell


def running(server):
    """The kernels of a server."""
    asked = urllib.request.Request(f"{server.near}/api/kernels", headers=server.key)
    return {kernel["id"] for kernel in json.load(urllib.request.urlopen(asked))}


def opened(page, address):
    page.goto(address, wait_until="load")
    page.wait_for_selector(".explorer[data-state=ready]")
    return page.locator(".explorer[data-explorer]")


def said(page):
    return page.locator(".ex-verdict").inner_text()


def drawn(page):
    """Let what was asked for be drawn: a frame for the work, and one after it."""
    frame = "new Promise(requestAnimationFrame)"
    page.evaluate(f"async () => {{ await {frame}; await {frame}; }}")


FITS = "e => e.querySelector('.tw-plot').clientWidth === +e.querySelector('.tw-plot svg')?.getAttribute('width')"
