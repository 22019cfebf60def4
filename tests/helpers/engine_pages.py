"""Run pages of the built site in Chromium, each in a browser of its own, and keep which of them run there, how long each took and what it held.

`python -m ldpbook engine` runs all pages that are said to run; names run these alone, and nothing is kept. A page is run twice: by a reader who comes for the first time, and once more with what the browser kept (the parts and the image).
"""

import csv
import pathlib
import re
import sys
import time

from browser.conftest import HTML, launched, serve
from playwright.sync_api import sync_playwright

from ldpbook.engine import parts

LONGEST = 240  # seconds
KEPT = "async () => (await (await caches.open('ldpkit-engine')).keys()).some((k) => k.url.includes('image-'))"
ENDED = "['done', 'failed'].includes(document.querySelector('[data-run-state]')?.dataset.runState)"


def held():
    """How many megabytes the largest process of a page held at most."""
    most = 0
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if b"--type=renderer" in (folder / "cmdline").read_bytes():
                most = max(
                    most, int(re.search(r"VmHWM:\s+(\d+)", (folder / "status").read_text())[1])
                )
        except (OSError, TypeError):  # a process that has just ended
            continue
    return most / 1024


def measure(context, address):
    """How many seconds pass from the click to the end of a page, what it held, and what it says then if it failed."""
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
        took, memory = time.monotonic() - begun, held()
        if good:  # a reader looks at the figure while the image is stored
            while not page.evaluate(KEPT):
                page.wait_for_timeout(100)
        return took, memory, "" if good else said
    except Exception as error:
        return time.monotonic() - begun, held(), str(error).splitlines()[0]
    finally:
        page.close()


def main():
    rows, found = parts.pages(), {}
    chosen = sys.argv[1:] or [
        row["page"] for row in rows if row["runs"] and row["page"] != "explore/own"
    ]
    with serve(HTML) as server, sync_playwright() as playwright:
        for name in chosen:
            browser = launched(playwright)
            context = browser.new_context()
            address = f"http://127.0.0.1:{server.server_address[1]}/book/{name}.html"
            first, memory, wrong = measure(context, address)
            again, kept, wrong_again = measure(context, address)
            browser.close()
            print(
                f"{name:32} {first:6.1f} s, again {again:6.1f} s, {memory:5.0f} and {kept:.0f} MB  "
                f"{(wrong or wrong_again)[:300]}",
                flush=True,
            )
            found[name] = (
                None
                if wrong or wrong_again
                else {
                    "seconds": round(first, 1),
                    "again": round(again, 1),
                    "memory": round(max(memory, kept)),
                }
            )
        server.shutdown()
    with parts.TABLE.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        for row in rows:
            new = row | (found.get(row["page"]) or {})
            table.writerow(new | {"runs": "yes" if row["runs"] else "no"})
    return sum(one is None for one in found.values())


if __name__ == "__main__":
    sys.exit(main())
