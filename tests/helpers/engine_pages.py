"""Run pages of the built site in Chromium, each in a fresh tab, and keep which of them run there and how long each took.

`python -m ldpbook engine` runs all pages that are said to run; names run these alone, and nothing is kept.
"""

import csv
import sys
import time

from browser.conftest import HTML, launched, serve
from playwright.sync_api import sync_playwright

from ldpbook.engine import parts

LONGEST = 240  # seconds
ENDED = "['done', 'failed'].includes(document.querySelector('[data-run-state]')?.dataset.runState)"


def measure(context, address):
    """How many seconds pass from the click to the end of a page, and what it says then if it failed."""
    page = context.new_page()
    begun = time.monotonic()
    try:
        page.goto(address)
        begun = time.monotonic()
        page.locator("[data-run-here]").click()
        page.wait_for_function(ENDED, timeout=LONGEST * 1000)
        said = page.locator("#live-status").inner_text()
        good = (
            page.evaluate("document.querySelector('[data-run-state]').dataset.runState") == "done"
        )
        for text in page.locator(".live-stderr").all_text_contents():
            print("   ", *(line for line in text.splitlines() if "interpreted" in line), sep="\n")
        return time.monotonic() - begun, "" if good else said
    except Exception as error:
        return time.monotonic() - begun, str(error).splitlines()[0]
    finally:
        page.close()


def main():
    rows = parts.pages()
    chosen = sys.argv[1:] or [
        row["page"] for row in rows if row["runs"] and row["page"] != "explore/own"
    ]
    with serve(HTML) as server, sync_playwright() as playwright:
        browser = launched(playwright)
        context, seconds = browser.new_context(), {}
        for name in chosen:
            took, wrong = measure(
                context, f"http://127.0.0.1:{server.server_address[1]}/book/{name}.html"
            )
            print(f"{name:32} {took:6.1f} s  {wrong[:300]}", flush=True)
            seconds[name] = None if wrong else round(took, 1)
        browser.close()
        server.shutdown()
    if not sys.argv[1:]:
        with parts.TABLE.open("w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(("page", "runs", "seconds", "why"))
            for row in rows:
                table.writerow(
                    (
                        row["page"],
                        "yes" if row["runs"] else "no",
                        seconds.get(row["page"]) or row["seconds"] or "",
                        row["why"],
                    )
                )
    return sum(took is None for took in seconds.values())


if __name__ == "__main__":
    sys.exit(main())
