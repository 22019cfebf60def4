"""Live mode lets nobody run code who was not given the token, and keeps the token to itself."""

import base64
import http.client
import json
import secrets
import sys
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from jupyter_core.paths import jupyter_runtime_dir

from browser.conftest import HTML, ROOT, Server

sys.path.append(str(ROOT / "tests"))

from chaos import scripts

KERNEL = "00000000-0000-0000-0000-000000000000"
EXECUTE = [
    ("POST", "/api/kernels"),
    ("GET", "/api/kernels"),
    ("DELETE", f"/api/kernels/{KERNEL}"),
    ("POST", f"/api/kernels/{KERNEL}/restart"),
    ("POST", f"/api/kernels/{KERNEL}/interrupt"),
    ("POST", "/api/sessions"),
    ("PATCH", f"/api/sessions/{KERNEL}"),
    ("POST", "/api/terminals"),
    ("GET", "/api/terminals"),
    ("PUT", "/api/contents/x.ipynb"),
    ("POST", "/api/contents"),
    ("DELETE", "/api/contents/README.md"),
    ("GET", "/api/contents/README.md"),
    ("GET", "/files/README.md"),
    ("POST", "/api/shutdown"),
    ("POST", "/lab/api/extensions"),
    ("GET", "/nbconvert/html/book/background/mechanisms.ipynb"),
    ("POST", "/api/nbconvert"),
    ("GET", "/api/status"),
    ("GET", "/api/live"),
]
SOCKETS = [f"/api/kernels/{KERNEL}/channels", "/api/events/subscribe", "/terminals/websocket/1"]


def ask(live, method, path, body=None, **headers):
    """One request; the status, the headers and the text of the answer."""
    connection = http.client.HTTPConnection(urlsplit(live.base).netloc, timeout=30)
    connection.request(
        method, path, body, {name.replace("_", "-"): value for name, value in headers.items()}
    )
    answer = connection.getresponse()
    text = "" if answer.status == 101 else answer.read().decode(errors="replace")
    connection.close()
    return answer.status, answer.headers, text


def upgrade(live, path, **headers):
    """Ask for a WebSocket; 101 means that it was opened."""
    key = base64.b64encode(secrets.token_bytes(16)).decode()
    wanted = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec_WebSocket_Version": "13",
        "Sec_WebSocket_Key": key,
    }
    return ask(live, "GET", path, **wanted, **headers)[0]


@pytest.fixture(scope="module")
def kernel(live):
    status, headers, text = ask(
        live, "POST", "/api/kernels", "{}", Authorization=f"token {live.token}"
    )
    assert status == 201
    yield json.loads(text)["id"], headers["Set-Cookie"].split(";")[0]
    ask(
        live,
        "DELETE",
        f"/api/kernels/{json.loads(text)['id']}",
        Authorization=f"token {live.token}",
    )


@pytest.mark.parametrize(
    "given", ["nothing", "wrong token", "wrong token in the address", "no token, json"]
)
@pytest.mark.parametrize("method, path", EXECUTE)
def test_requests_without_the_token_are_refused(live, method, path, given):
    headers = {
        "nothing": {},
        "wrong token": {"Authorization": "token guess"},
        "wrong token in the address": {},
        "no token, json": {"Content_Type": "application/json"},
    }[given]
    status, answer, _ = ask(
        live, method, path + ("?token=guess" if "address" in given else ""), "{}", **headers
    )
    assert status in (
        403,
        302 if method == "GET" else 403,
    )  # a page of JupyterLab leads to its login
    assert status == 403 or "/login" in answer["Location"]
    assert status == 403 or not path.startswith("/api")


@pytest.mark.parametrize("path", SOCKETS)
def test_sockets_without_the_token_are_refused(live, path):
    assert upgrade(live, path) == 403
    assert upgrade(live, path, Authorization="token guess") == 403


def test_a_running_kernel_takes_no_socket_without_token_or_from_another_origin(live, kernel):
    name, cookie = kernel
    path = f"/api/kernels/{name}/channels"
    assert upgrade(live, path) == 403
    assert upgrade(live, path, Cookie=cookie, Origin="http://127.0.0.1:1") == 403
    assert upgrade(live, path, Cookie=cookie, Origin="http://evil.example") == 403
    assert upgrade(live, path, Cookie=cookie, Origin=live.base) == 101


def test_the_cookie_ends_with_the_browser_and_with_the_server(live, tmp_path):
    server = Server(tmp_path)
    answer = ask(server, "GET", "/api/live", Authorization=f"token {server.token}")
    given = answer[1].get_all("Set-Cookie")
    login = next(c for c in given if c.startswith(f"username-127-0-0-1-{server.port}="))
    assert answer[0] == 204 and all(
        "SameSite=Strict" in c and "expires" not in c.lower() for c in given
    )
    assert "HttpOnly" in login and server.token not in "".join(given)
    cookie = login.split(";")[0]
    assert (
        ask(server, "GET", "/api/live", Cookie=cookie, Origin=server.base, Referer=server.base)[0]
        == 204
    )
    server.stop()
    again = Server(tmp_path, port=server.port)
    try:
        assert again.port == server.port and again.token != server.token
        assert (
            ask(again, "GET", "/api/live", Cookie=cookie, Origin=again.base, Referer=again.base)[0]
            == 403
        )
        assert upgrade(again, SOCKETS[0], Cookie=cookie, Origin=again.base) == 403
    finally:
        again.stop()


def test_a_cookie_alone_starts_nothing(live, kernel):
    """What another page in the same browser could send: the cookie, but neither the token nor the
    XSRF value."""
    for origin in ("http://127.0.0.1:1", "http://evil.example"):
        for path in ("/api/kernels", "/api/sessions", "/api/terminals"):
            # the server hides from another origin that there is anything
            assert ask(live, "POST", path, "{}", Cookie=kernel[1], Origin=origin)[0] in (403, 404)
    assert ask(live, "POST", "/api/kernels", "{}", Cookie=kernel[1])[0] == 403


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_no_other_origin_may_read_an_answer_even_with_the_token(live, method):
    for origin in ("http://127.0.0.1:1", "http://evil.example", "null"):
        status, headers, said = ask(
            live,
            method,
            "/api/contents",
            "{}",
            Origin=origin,
            Authorization=f"token {live.token}",
            Access_Control_Request_Headers="authorization",
            Access_Control_Request_Method="POST",
        )
        assert not [name for name in headers if name.lower().startswith("access-control")]
        assert method != "OPTIONS" or status == 405
        if status == 201:  # whoever has the token may write; nothing is left behind
            path = f"/api/contents/{json.loads(said)['path']}"
            assert ask(live, "DELETE", path, Authorization=f"token {live.token}")[0] == 204


def test_what_the_server_writes_down_is_for_its_user_alone(live):
    folder = Path(jupyter_runtime_dir())
    files = list(folder.glob(f"jpserver-{live.process.pid}*"))
    assert files and all(path.stat().st_mode & 0o777 == 0o600 for path in files)


def test_a_name_that_is_made_to_point_here_is_refused(live):
    """DNS rebinding: the address is ours, the name is not."""
    assert (
        ask(live, "GET", "/api/status", Host="evil.example", Authorization=f"token {live.token}")[0]
        == 403
    )


def test_a_page_of_another_origin_can_neither_start_nor_talk_to_a_kernel(page, live, site, kernel):
    page.goto(live.link)
    page.goto(f"{live.base}/static/book/ldp_auditor/fig1.html")
    page.wait_for_function(
        "document.querySelector('#live-status')?.textContent.startsWith('Ready')"
    )  # the cookie is set
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

    def count():
        found = ask(live, "GET", "/api/kernels", Authorization=f"token {live.token}")
        return len(json.loads(found[2]))

    before = count()
    tried = page.evaluate(attempts, [live.base, kernel[0]])
    assert tried == {
        "corsGET": "refused",
        "corsPOST": "refused",
        "no-corsGET": "opaque",
        "no-corsPOST": "opaque",
        "socket": "refused",
    }
    assert count() == before


def test_no_script_that_is_handed_to_a_page_runs_and_the_page_works_on(browser, live, site):
    """By query, fragment, storages, the window's name and fields; `make chaos` tries more."""
    for base, entrance in ((site, ""), (f"{live.base}/static", live.link)):
        found = scripts.attacks(browser, base, HTML, 1, range(1, 12), entrance)
        assert [problem for _, problem in found if problem] == []


def test_the_server_and_its_kernels_listen_on_loopback_only(live, kernel):
    server = psutil.Process(live.process.pid)
    listening = [
        c.laddr.ip
        for process in [server, *server.children(recursive=True)]
        for c in process.net_connections(kind="inet")
        if c.status == psutil.CONN_LISTEN
    ]
    assert listening and set(listening) <= {"127.0.0.1", "::1"}


def test_the_token_is_in_no_log_no_command_line_and_no_environment(live, kernel):
    ask(live, "GET", f"/lab?token={live.token}x")
    ask(live, "GET", f"/api/nothing?token={live.token}")
    server = psutil.Process(live.process.pid)
    for process in [server, *server.children(recursive=True)]:
        assert not any(live.token in word for word in process.cmdline())
        assert live.token not in "".join(process.environ().values())
    assert live.token not in live.log.read_text()
    assert not (
        Path(jupyter_runtime_dir()) / f"jpserver-{live.process.pid}-open.html"
    ).exists()  # Jupyter's own way to hand it on
