"""Live mode lets nobody run code who was not given the token, and keeps the token to itself."""

import base64
import http.client
import http.server
import json
import os
import secrets
import socket
import threading
from pathlib import Path

import psutil
import pytest
from chaos import scripts
from jupyter_core.paths import jupyter_runtime_dir

from browser.conftest import HTML, ROOT, Listener, Quiet, Server
from browser.steps import enter, running, status

PROTOCOL = "v1.token.websocket.jupyter.org"
KERNEL = "00000000-0000-0000-0000-000000000000"
EXECUTE = [
    ("POST", "/api/kernels"), ("GET", "/api/kernels"), ("DELETE", f"/api/kernels/{KERNEL}"),
    ("POST", f"/api/kernels/{KERNEL}/restart"), ("POST", f"/api/kernels/{KERNEL}/interrupt"),
    ("POST", "/api/sessions"), ("PATCH", f"/api/sessions/{KERNEL}"), ("POST", "/api/terminals"),
    ("GET", "/api/terminals"), ("PUT", "/api/contents/x.ipynb"), ("POST", "/api/contents"),
    ("DELETE", "/api/contents/no-such-file"), ("GET", "/api/contents/README.md"),
    ("GET", "/files/README.md"), ("POST", "/api/shutdown"), ("POST", "/lab/api/extensions"),
    ("GET", "/nbconvert/html/book/background/mechanisms.ipynb"), ("POST", "/api/nbconvert"),
    ("GET", "/api/status"), ("GET", "/api/live"),
]  # fmt: skip
LAB = ["/lab", "/lab/tree/book/intro.md", "/lab/workspaces/auto-a", "/doc/tree/README.md"]
SOCKETS = [f"/api/kernels/{KERNEL}/channels", "/api/events/subscribe", "/terminals/websocket/1"]


def ask(live, method, path, body=None, **headers):
    """One request; the status, the headers and the text of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=30)
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, f"/{live.name}{path}", body, told)
    answer = connection.getresponse()
    text = "" if answer.status == 101 else answer.read().decode(errors="replace")
    connection.close()
    return answer.status, answer.headers, text


def socket_headers(**more):
    own = {"Sec_WebSocket_Key": base64.b64encode(secrets.token_bytes(16)).decode()} | more
    return {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13"} | own


def upgrade(live, path, **headers):
    """Ask for a WebSocket; 101 means that it was opened."""
    return ask(live, "GET", path, **socket_headers(**headers))[0]


@pytest.fixture
def kernel(live):
    """A kernel that no other test has left, since it would end a minute later."""
    status, _, text = ask(live, "POST", "/api/kernels", "{}", **live.key)
    assert status == 201
    name = json.loads(text)["id"]
    yield name
    ask(live, "DELETE", f"/api/kernels/{name}", **live.key)


@pytest.mark.parametrize("given", ["nothing", "wrong token", "token in the address", "json"])
@pytest.mark.parametrize("method, path", EXECUTE)
def test_requests_without_the_token_are_refused(live, method, path, given):
    """Even the right token is none in an address, which a history keeps."""
    headers = {"wrong token": {"Authorization": "token guess"}, "json": {"Content_Type": "a/json"}}
    asked = path + (f"?token={live.token}" if "address" in given else "")
    for body in (None, "{}"):
        assert ask(live, method, asked, body, **headers.get(given, {}))[0] == 403


@pytest.mark.parametrize("path", LAB)
def test_jupyterlab_without_the_token_is_a_page_that_holds_nothing(live, path):
    status, _, text = ask(live, "GET", path)
    assert status == 401 and len(text) < 300 and live.token not in text
    assert str(ROOT) not in text and "jupyter-config-data" not in text
    status, _, text = ask(live, "GET", path, **live.key)
    assert status == 200 and "jupyter-config-data" in text


@pytest.mark.parametrize("path", SOCKETS)
def test_sockets_without_the_token_are_refused(live, path):
    assert upgrade(live, path) == 403
    assert upgrade(live, path, Authorization="token guess") == 403
    assert upgrade(live, path, Sec_WebSocket_Protocol=f"{PROTOCOL}, {PROTOCOL}.guess") == 403
    assert upgrade(live, f"{path}?token={live.token}") == 403


def test_a_running_kernel_takes_a_socket_that_shows_the_token(live, kernel):
    path = f"/api/kernels/{kernel}/channels"
    assert upgrade(live, path) == upgrade(live, path, Origin=f"http://127.0.0.1:{live.port}") == 403
    assert upgrade(live, path, **live.key) == 101
    offered = f"{PROTOCOL}, {PROTOCOL}.{live.token}"
    for said in (offered, f"v1.kernel.websocket.jupyter.org, {offered}"):  # as JupyterLab asks
        status, headers, _ = ask(live, "GET", path, **socket_headers(Sec_WebSocket_Protocol=said))
        assert status == 101 and headers["Sec-WebSocket-Protocol"] == said.partition(",")[0]


def test_the_token_ends_with_its_server(live, tmp_path):
    with Server(tmp_path) as server:
        assert ask(server, "GET", "/api/live", **server.key)[0] == 204
    with Server(tmp_path, port=server.port) as again:
        assert again.port == server.port and again.token != server.token
        assert ask(again, "GET", "/api/live", **server.key)[0] == 403


STEAL = "localStorage.stolen = location.hash + JSON.stringify(sessionStorage)"
STOLEN = "localStorage.stolen || ''"
THIEF = f"<!doctype html><script>{STEAL}</script>"
ANSWER = f"new Response({json.dumps(THIEF)}, {{headers: {{'Content-Type': 'text/html'}}}})"
WORKER = f"onfetch = e => e.request.mode === 'navigate' && e.respondWith({ANSWER});"


class Hostile(Quiet):
    """What once served a port: browsers may store all of it for long, and it has a worker."""

    def do_GET(self):
        script, text = self.path.endswith(".js"), STEAL if self.path.endswith(".js") else THIEF
        self.send_response(200)
        self.send_header("Content-Type", "text/javascript" if script else "text/html")
        self.send_header("Cache-Control", "max-age=1000000")
        self.end_headers()
        self.wfile.write((WORKER if self.path == "/worker.js" else text).encode())


@pytest.mark.parametrize("way", ["worker", "store"])
def test_a_server_that_had_the_port_before_does_not_see_the_token(page, tmp_path, way):
    """One profile meets a hostile server, and then `make lab` at the same port."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hostile) as before:
        threading.Thread(target=before.serve_forever, daemon=True).start()
        port = before.server_port
        page.goto(f"http://127.0.0.1:{port}/static/book/intro.html")
        assert page.evaluate(STOLEN) == "{}"
        if way == "worker":
            page.evaluate("navigator.serviceWorker.register('/worker.js').then(() => 0)")
            page.evaluate("navigator.serviceWorker.ready.then(() => 0)")
        else:
            for name in ("live.js", "live/token.js"):
                page.add_script_tag(url=f"http://127.0.0.1:{port}/static/_static/{name}")
        before.shutdown()
    with Server(tmp_path, port=port) as server:
        assert server.port == port
        page.goto(server.link)
        assert page.evaluate("ldpkit.live.token") == server.token
        assert page.evaluate(STOLEN) == ""
        # a worker stays at the address that it was made for, and SECURITY.md says so
        page.goto(server.numbered)
        page.wait_for_load_state("networkidle")
        assert (server.token in page.evaluate(STOLEN)) == (way == "worker")


def test_every_start_has_an_address_of_its_own(live, tmp_path):
    with Server(tmp_path) as other:
        assert other.port != live.port and other.name != live.name
    for path in ("/api/status", "/static/book/intro.html"):
        ours = {"Host": f"{live.name}.localhost:{live.port}"} | live.key
        assert ask(live, "GET", path, **ours)[0] == 200
        assert ask(live, "GET", path, **ours | {"Host": f"{other.name}.localhost"})[0] == 403
    assert ask(live, "GET", path)[1]["Cache-Control"] == "no-store"


def test_no_answer_sets_a_cookie(live):
    plain = ["/", "/login", "/static/book/intro.html", "/no", *LAB]
    reading = [path for method, path in EXECUTE if method == "GET"] + plain
    asked = [(*one, {}) for one in EXECUTE] + [("GET", path, {}) for path in plain]
    asked += [("GET", path, live.key) for path in reading]
    for method, path, headers in asked:
        assert ask(live, method, path, **headers)[1].get_all("Set-Cookie") is None


def test_what_a_browser_tells_another_port_of_the_address_lets_nobody_in(page, live):
    """Browsers send cookies to every port: a reader who runs cells meets another local server."""
    enter(page, live)
    page.locator(".cell:has(.live-run) .live-run").first.click()
    status(page, "Done")
    page.goto(f"{live.base}/lab/tree/book/ldp_auditor/fig1.ipynb?factory=Notebook")
    page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=60_000)
    with http.server.HTTPServer(("127.0.0.1", 0), Listener) as other:
        other.told = []
        threading.Thread(target=other.serve_forever, daemon=True).start()
        page.goto(f"http://127.0.0.1:{other.server_port}/")
        other.shutdown()
    assert other.told and live.token not in str(other.told)
    cookies = [f"{one['name']}={one['value']}" for one in page.context.cookies()]
    sent = [told["Cookie"] for _, told in other.told if "Cookie" in told]
    captured = {"Cookie": "; ".join([*cookies, *sent])}
    proofs = [one.partition("=")[2] for one in cookies if one.startswith("_xsrf=")]
    for proof in [*proofs, ""]:
        headers = captured | {"X-XSRFToken": proof, "Origin": live.base, "Referer": live.base}
        for method, path in EXECUTE:
            assert ask(live, method, path, "{}", **headers)[0] in (401, 403)
            assert ask(live, method, path, **headers)[0] in (401, 403)
        for path in SOCKETS:
            assert upgrade(live, path, **headers) in (401, 403)
        assert all(ask(live, "GET", path, **headers)[0] in (401, 403) for path in LAB)


@pytest.mark.parametrize("told", ["Content-Length: 100000000", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize(
    "path", ["/api/kernels", "/api/contents/x", "/static/book/intro.html", "/no"]
)
def test_a_body_without_the_token_is_refused_before_it_is_sent(live, path, told):
    """No byte of the body follows, so that a server that waits for it does not answer."""
    with socket.create_connection(("127.0.0.1", live.port), timeout=30) as way:
        way.sendall(
            f"POST /{live.name}{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{told}\r\n\r\n".encode()
        )
        answer = b"".join(iter(lambda: way.recv(4096), b""))  # until the server hangs up
    assert answer.startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_no_other_origin_may_read_an_answer_even_with_the_token(live, method):
    asked = {"Access_Control_Request_Headers": "authorization"} | live.key
    asked["Access_Control_Request_Method"] = "POST"
    for origin in ("http://127.0.0.1:1", "http://evil.example", "null"):
        status, headers, said = ask(live, method, "/api/contents", "{}", Origin=origin, **asked)
        assert not [name for name in headers if name.lower().startswith("access-control")]
        assert method != "OPTIONS" or status == 405
        if status == 201:  # whoever has the token may write; nothing is left behind
            path = f"/api/contents/{json.loads(said)['path']}"
            assert ask(live, "DELETE", path, **live.key)[0] == 204


def test_what_the_server_writes_down_is_for_its_user_alone(live):
    files = list(Path(jupyter_runtime_dir()).glob(f"jpserver-{live.process.pid}*"))
    assert files and all(path.stat().st_mode & 0o777 == 0o600 for path in files)


def test_a_name_that_is_made_to_point_here_is_refused(live):
    """DNS rebinding: the address is ours, the name is not."""
    assert ask(live, "GET", "/api/status", Host="evil.example", **live.key)[0] == 403


def test_a_page_of_another_origin_can_neither_start_nor_talk_to_a_kernel(page, live, site, kernel):
    enter(page, live)  # this tab has the token
    page.goto(f"{site}/book/intro.html")
    attempts = """async ([base, kernel]) => {
        const tried = {};
        for (const mode of ["cors", "no-cors"])
            for (const method of ["GET", "POST"])
                tried[mode + method] = await fetch(base + "/api/kernels", {method, mode, credentials: "include", body: method === "POST" ? "{}" : undefined})
                    .then(r => r.type === "opaque" ? "opaque" : r.text(), () => "refused");
        tried.socket = await new Promise(done => {
            const socket = new WebSocket(base.replace("http", "ws") + `/api/kernels/${kernel}/channels`);
            socket.onopen = () => done("open"); socket.onerror = () => done("refused");
        });
        return tried;
    }"""

    before = running(live)
    tried = page.evaluate(attempts, [live.base, kernel])
    refused, opaque = ("corsGET", "corsPOST", "socket"), ("no-corsGET", "no-corsPOST")
    assert tried == dict.fromkeys(refused, "refused") | dict.fromkeys(opaque, "opaque")
    assert running(live) == before


def test_no_script_that_is_handed_to_a_page_runs_and_the_page_works_on(browser, live, site):
    """By query, fragment, storages, the window's name and fields; `python -m ldpbook chaos` tries more."""
    for base, entrance in ((site, ""), (f"{live.base}/static", live.link)):
        found = scripts.attacks(browser, base, HTML, 1, range(1, 12), entrance)
        assert [problem for _, problem in found if problem] == []


def test_the_server_listens_on_loopback_only_and_its_kernels_give_nothing_by_a_port(live, kernel):
    """A kernel has one port, which takes output of forked processes with a secret of theirs."""
    assert upgrade(live, f"/api/kernels/{kernel}/channels", **live.key) == 101  # it has started
    server = psutil.Process(live.process.pid)
    ports = {process: set() for process in [server, *server.children(recursive=True)]}
    for process, found in ports.items():
        every = process.net_connections(kind="inet")
        found.update(one.laddr for one in every if one.status == psutil.CONN_LISTEN)
    assert ("127.0.0.1", live.port) in ports[server]
    assert ports.pop(server) <= {("127.0.0.1", live.port), ("::1", live.port)}
    assert ports and all(len(found) <= 1 for found in ports.values())
    assert {place.ip for found in ports.values() for place in found} <= {"127.0.0.1"}


def test_no_other_user_reaches_a_kernel(live, kernel):
    """Code and output pass through its sockets without a secret."""
    assert upgrade(live, f"/api/kernels/{kernel}/channels", **live.key) == 101  # it has started
    server = psutil.Process(live.process.pid)
    every = [server, *server.children(recursive=True)]
    found = [one.laddr for process in every for one in process.net_connections(kind="unix")]
    sockets = {Path(path) for path in found if kernel in path}
    assert len(sockets) == 5  # shell, iopub, stdin, control and heartbeat
    for path in sockets:
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert path.parent.stat().st_uid == os.getuid()
        with socket.socket(socket.AF_UNIX) as way:
            way.connect(str(path))
    if os.getuid() == 0:
        os.seteuid(65534)
        try:
            for path in sockets:
                with socket.socket(socket.AF_UNIX) as way, pytest.raises(PermissionError):
                    way.connect(str(path))
        finally:
            os.seteuid(0)


@pytest.mark.parametrize("method", ["GET", "OPTIONS", "TRACE", "PUT"])
def test_a_refusal_is_quick_and_logs_nothing(live, method):
    before = live.log.read_text()
    for path in ["/lab/api/licenses/", "/lab/api/licenses/x", "/api/kernels", "/no", *LAB]:
        assert ask(live, method, path)[0] in (401, 403, 405)
        if method in ("OPTIONS", "TRACE"):
            assert ask(live, method, path, **live.key)[0] == 405
    assert live.log.read_text() == before


def test_connections_of_others_use_up_no_descriptors(tmp_path):
    with Server(tmp_path) as server:
        process = psutil.Process(server.process.pid)
        hard = process.rlimit(psutil.RLIMIT_NOFILE)[1]
        process.rlimit(psutil.RLIMIT_NOFILE, (200, hard))
        place = ("127.0.0.1", server.port)
        ways = [socket.create_connection(place, timeout=30) for _ in range(300)]
        assert ways[-1].recv(1) == b""  # it hangs up
        asked = f"GET /{server.name}/static/book/intro.html HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        ways[0].sendall(asked.encode())
        assert ways[0].recv(12) == b"HTTP/1.1 200"
        for way in ways:
            way.close()
        assert server.log.read_text() == ""
        assert ask(server, "GET", "/api/status", **server.key)[0] == 200


def test_the_token_is_in_no_log_no_command_line_and_no_environment(live, kernel):
    ask(live, "GET", f"/lab?token={live.token}x")
    ask(live, "GET", f"/api/nothing?token={live.token}")
    server = psutil.Process(live.process.pid)
    for process in [server, *server.children(recursive=True)]:
        assert not any(live.token in word for word in process.cmdline())
        assert live.token not in "".join(process.environ().values())
    assert live.token not in live.log.read_text()
    handed = Path(jupyter_runtime_dir(), f"jpserver-{live.process.pid}-open.html")
    assert not handed.exists()  # Jupyter's own way to hand it on
