"""A browser, the built book on a plain web host, and the same book served live."""

import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[2]
HTML = ROOT / "_build" / "html"
PAGES = re.findall(r"(?:root|file): (\S+)", (ROOT / "_toc.yml").read_text())
CLASSROOM = "classroom.test"  # this machine by a name that no browser trusts on plain http
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", f"--host-resolver-rules=MAP {CLASSROOM} 127.0.0.1",
]  # fmt: skip


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


class Listener(Quiet):
    """A server that keeps what a browser tells it."""

    def do_GET(self):
        self.server.told.append((self.path, dict(self.headers)))
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()


def serve(folder):
    """A plain web host of one folder, on a free port."""
    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture(scope="session")
def site():
    assert (HTML / "index.html").exists(), "run `make book` first"
    with serve(HTML) as server:
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def launched(playwright):
    """The browser."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    path = path or shutil.which("chromium-browser")
    assert path, "Chromium is not on the path; install it or set CHROMIUM"
    return playwright.chromium.launch(executable_path=path, args=FLAGS)


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        chromium = launched(playwright)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser):
    """A page that remembers errors of its console and addresses outside of this machine."""
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    page = context.new_page()
    page.outside, page.errors = [], []
    ours = re.compile(r"(https?|ws)://(127\.0\.0\.1|book-\w+\.localhost):\d+/|data:|blob:")

    def told(kind, wrong, text):
        page.on(kind, lambda one: page.errors.append(text(one)) if wrong(one) else None)

    told("console", lambda m: m.type == "error", lambda m: f"{m.text} {m.location['url']}")
    told("pageerror", lambda e: True, str)
    told("response", lambda r: r.status >= 400, lambda r: f"{r.status} {r.url}")
    page.on("request", lambda r: None if ours.match(r.url) else page.outside.append(r.url))
    yield page
    context.close()


def themed(page, theme):
    """Choose a theme, as a reader would have."""
    for name in ("mode", "theme"):
        page.add_init_script(f"localStorage.setItem('{name}', '{theme}')")


@pytest.fixture(params=["light", "dark"])
def theme(page, request):
    themed(page, request.param)
    return request.param


def serious(page, part=None):
    """What axe finds to be serious in a page or a part of it."""
    found = Axe().run(page, part).response["violations"]
    bad = [one for one in found if one["impact"] in ("serious", "critical")]
    return [(one["id"], [n["target"] for n in one["nodes"]][:3]) for one in bad]


class Server:
    """`make lab` as a subprocess, with the links it prints and its log.

    Browsers find the book at `base`, and Python, which may not find that name, at `near`.
    """

    def __init__(self, folder, *options, port=None):
        options += () if port is None else ("--port", str(port))
        self.log = Path(folder) / "server.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "ldpbook", "live", *options],
                cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        links = (line.strip() for line in self.process.stdout if "#token=" in line)
        self.link, self.numbered = next(links), next(links)
        entrance = r"(http://127\.0\.0\.1:(\d+)/(book-\w+))/static/\S+#token=(\S+)"
        self.near, port, self.name, self.token = re.match(entrance, self.numbered).groups()
        self.base, self.port = f"http://{self.name}.localhost:{port}/{self.name}", int(port)
        assert self.link == self.numbered.replace(self.near, self.base)
        self.key = {"Authorization": f"token {self.token}"}

    def stop(self):
        self.process.terminate()
        self.process.wait(30)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


@pytest.fixture(scope="session")
def live(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("live")) as server:
        yield server
