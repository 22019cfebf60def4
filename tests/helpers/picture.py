"""Take the README's picture from the built site: a page that ran in the browser with another parameter, beside the book's figure.

`python -m ldpbook picture` does so, after `make book`.
"""

import io
import json

from browser.conftest import HTML, ROOT, launched, serve
from PIL import Image
from playwright.sync_api import sync_playwright

PAGE, CHANGED = "book/rad/fig1", "m=7"
PICTURE = ROOT / "book" / "_static" / "readme.png"
COLOURS = 64  # enough for lines and text, so that the file stays small


def main():
    release = json.loads((HTML / "_live" / f"{PAGE}.json").read_text())["release"]
    with serve(HTML) as server, sync_playwright() as playwright:
        browser = launched(playwright)
        page = browser.new_page(viewport={"width": 1000, "height": 860})
        address = f"http://127.0.0.1:{server.server_address[1]}/{PAGE}.html"
        page.goto(f"{address}#run={release}&{CHANGED}")
        page.locator("#live-run-all").click()
        page.wait_for_selector("[data-run-state=done]", state="attached", timeout=280_000)
        place = page.locator("[data-run-result]").first
        place.evaluate("e => e.closest('.cell').scrollIntoView({behavior: 'instant'})")
        seen = Image.open(io.BytesIO(page.screenshot()))
        browser.close()
        server.shutdown()
    seen.convert("P", palette=Image.Palette.ADAPTIVE, colors=COLOURS).save(PICTURE, optimize=True)
    print(f"written   {PICTURE.relative_to(ROOT)}, {PICTURE.stat().st_size // 1000} KB")


if __name__ == "__main__":
    main()
