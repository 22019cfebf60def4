"""Hand scripts to the book's pages by every way that an address, a storage or a form offers: none
runs, and the page works on."""

import json
import random
import re
import shutil
import sys
import urllib.parse
from collections.abc import Iterable, Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from . import ROOT, Tally, environment, finish, runner, small_book

PAYLOADS = [
    "<img src=x onerror=ran()>", '"><script>ran()</script>', "'><svg onload=ran()>", "javascript:ran()",
    "';ran();'", "</script><script>ran()</script>", "${ran()}", "{{constructor.constructor('ran()')()}}",
    "<iframe srcdoc='<script>parent.ran()</script>'>", "<a href=javascript:ran() autofocus onfocus=ran()>",
    "\\u003cimg src=x onerror=ran()\\u003e", "&lt;img src=x onerror=ran()&gt;", "<style onload=ran()>",
    "constructor", "__proto__", "toString", "%", "%E0%A4%A", "", "\0", "null", "[]", "{", "[[1]]", "[[0,1,2]]",
]  # fmt: skip
OURS = re.compile(r"_static/(base|explore|live|laws|twin)[\w./]*\.js")
READY = "() => [...document.querySelectorAll('.explorer[data-explorer]')].every(e => e.dataset.state === 'ready')"


def pages(html: Path) -> list[str]:
    """The pages of a site that read their address or a storage."""
    live, explorers = (html / "_live" / "book").rglob("*.json"), html.glob("book/explore/*.html")
    names = [path.relative_to(html / "_live").with_suffix(".html") for path in sorted(live)[:3]]
    names += [path.relative_to(html) for path in sorted(explorers)]
    return ["search.html", *(name.as_posix() for name in names)]


def written(draw: random.Random, name: str) -> str:
    """A query and a fragment that carry payloads."""
    stem = Path(name).stem

    def text() -> str:
        payload = draw.choice(PAYLOADS)
        return payload if draw.random() < 0.4 else urllib.parse.quote(payload)

    pairs = [f"{draw.choice(['q', 'highlight', 'theme', text()])}={text()}" for _ in range(2)]
    fragment = draw.choice([text(), f"{stem}:{text()}={text()}", f"{stem}:k={text()}&epsilon={text()}",
                            f"{stem}:{text()}", f"token={text()}"])  # fmt: skip
    return f"?{'&'.join(pairs)}#{fragment}"


def attack(browser: Browser, base: str, name: str, draw: random.Random, entrance: str = "") -> str:
    """Load a page with payloads everywhere, for whom came through `entrance` if there is one; what
    went wrong, or nothing."""
    context = browser.new_context()
    try:
        page, wrong = context.new_page(), list[str]()
        # the theme and the search have errors of their own
        page.on(
            "pageerror",
            lambda e: wrong.append(f"the page broke: {e}") if OURS.search(e.stack or "") else None,
        )
        page.on("dialog", lambda d: (wrong.append("a dialog"), d.dismiss()))
        page.on("request", lambda r: None if re.match(rf"{re.escape(base.removesuffix('/static'))}/|data:|blob:|about:", r.url)
                else wrong.append(f"asked {r.url[:80]}"))  # fmt: skip
        held = {
            "local": {key: draw.choice(PAYLOADS) for key in
                      ("mode", "theme", "sphinx_highlight_terms", draw.choice(PAYLOADS))},
            "session": {f"ldpkit-live-edits:{re.sub('.html$', '', name)}": _edits(draw)},
            "name": draw.choice(PAYLOADS),
        }  # fmt: skip
        if entrance:
            page.goto(entrance)
            page.wait_for_load_state("networkidle")  # the tab has the token
        page.add_init_script(
            "window.ran = () => { window.hit = true; }; const held = " + json.dumps(held) + ";"
            "for (const [kind, items] of [[localStorage, held.local], [sessionStorage, held.session]])"
            "  for (const [key, value] of Object.entries(items)) kind.setItem(key, value);"
            "window.name = held.name;"
        )
        page.goto(f"{base}/{name}{written(draw, name)}", wait_until="load")
        page.wait_for_function(READY, timeout=30_000)
        _typed(page, draw)
        page.evaluate(
            "() => new Promise(d => requestAnimationFrame(() => requestAnimationFrame(d)))"
        )
        wrong += ["a script ran"] * bool(page.evaluate("window.hit"))
        return "; ".join(dict.fromkeys(wrong))
    except Exception as error:
        return f"{'; '.join(dict.fromkeys(wrong))} {str(error)[:200]}"
    finally:
        context.close()


def _edits(draw: random.Random) -> str:
    """What a page may find as a reader's kept edits."""
    payload = draw.choice(PAYLOADS)
    return draw.choice([payload, json.dumps([[0, payload, payload]]), json.dumps(payload)])


def _typed(page: Page, draw: random.Random) -> None:
    for field in page.locator("article input[type=text], #live-form input").all()[:4]:
        if field.is_visible():
            field.fill(draw.choice(PAYLOADS).replace("\0", ""))


def run(seed: int, n: int, folder: Path) -> list[dict[str, object]]:
    """Load `n` pages of the built book, or of a small one, as a plain site and from an address as
    the live server's."""
    tally, html = Tally("script handed to a page", seed), ROOT / "_build" / "html"
    if not (html / "index.html").exists():
        html = _site(folder / "book")
    sys.path.insert(0, str(ROOT / "tests"))
    from browser.conftest import launched, serve

    served, place = (
        folder / "served",
        f"book-{0:016}/static",
    )  # the live script works below such a path only
    (served / place).parent.mkdir(parents=True)
    (served / place).symlink_to(html)
    with sync_playwright() as playwright, serve(served) as server:
        base, browser = f"http://127.0.0.1:{server.server_address[1]}/{place}", launched(playwright)
        for number, problem in attacks(browser, base, html, seed, range(1, n + 1)):
            tally.add("wrong" if problem else "harmless", number, problem)
        browser.close()
        server.shutdown()
    return [tally.row()]


def attacks(
    browser: Browser, base: str, html: Path, seed: int, numbers: Iterable[int], entrance: str = ""
) -> Iterator[tuple[int, str]]:
    """Attack pages in turn; what went wrong with each."""
    known = pages(html)
    for number in numbers:
        draw, name = random.Random(f"{seed} {number}"), known[number % len(known)]
        problem = attack(browser, base, name, draw, entrance)
        yield number, problem and f"{name}: {problem}"


def _site(root: Path) -> Path:
    """A small book with the real explorers."""
    from ldpbook import execute

    small_book(root)
    shutil.copytree(ROOT / "book" / "explore", root / "book" / "explore")
    names = sorted(path.stem for path in (root / "book" / "explore").glob("*.md"))
    with (root / "_toc.yml").open("a") as toc:
        toc.writelines(f"- file: book/explore/{name}\n" for name in names)
    if problem := finish(root, runner(), root.with_suffix(".log")):
        raise RuntimeError(problem)
    # links of the explorers to pages that are not there are no matter here
    execute.jupyter_book(["."], root, env=environment(root), capture_output=True)
    return root / "_build" / "html"
