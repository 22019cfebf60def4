"""Serve the built book and JupyterLab from one address, so that the book's pages can run their own cells.

One Jupyter server listens on the loopback interface only, and asks for a token. The token is made for this one server and passed
to it inside this process, since other users can read command lines. It is printed once, in the fragment of a link. Browsers send
no fragment to a server, so that no log can contain it. The opened page keeps the token in the storage of its tab and shows it
with every request. New tabs of the same address ask the open tabs for it.

Another server may have had an address before. A service worker or stored files that it left in the browser could read the token.
Therefore every start has a name of its own below ``localhost``, a port of its own unless one was asked for, and its own path.

Browsers send cookies to every port of an address, so that any other server of this machine receives them. Therefore no cookie is
set and none is read. A browser adds nothing by itself that admits a request, so that no other page can misuse it.
"""

import asyncio
import contextlib
import errno
import hmac
import logging
import math
import os
import resource
import secrets
import signal
import sys
import tempfile
import time
from subprocess import DEVNULL
from typing import Any

import click
import psutil
from jupyter_client.manager import KernelManager
from jupyter_server.auth.identity import IdentityProvider, User
from jupyter_server.base.handlers import APIHandler, FileFindHandler, JupyterHandler
from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager, ServerKernelManager
from jupyter_server.services.kernels.websocket import KernelWebsocketHandler
from jupyterlab.labapp import LabApp
from jupyterlab_server.handlers import LabHandler
from tornado import web, websocket
from tornado.httputil import HTTPServerRequest
from tornado.netutil import bind_sockets

from . import keeper, paths
from .execute import Project, shorten

FIRST = "book/intro"
IDLE = 3600  # seconds without use after which a kernel is stopped
PUBLISHED = 8888  # the port of a container
CONNECTIONS = 512  # at most at a time, so that nobody without the token uses up the descriptors

PROTOCOL = "v1.token.websocket.jupyter.org"
"""Subprotocol by which a WebSocket connects.

A script cannot give a WebSocket a header, but can name protocols. It names this one, and this one with a dot and the token.
"""
ENTRANCE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>JupyterLab</title></head>
<body><script src="{0}static/_static/live/token.js"></script><script src="{0}static/_static/live/lab.js"></script></body></html>
"""
"""Page that JupyterLab's addresses show without the token; it reloads them with the token of its tab."""


class Identity(IdentityProvider):
    """The reader, if a request shows the token; there is no login."""

    login_available = logout_available = False

    def shown(self, request: HTTPServerRequest) -> bool:
        """Return whether a request shows the token."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        offered = request.headers.get("Sec-WebSocket-Protocol", "").split(",")
        given = [name.strip().removeprefix(f"{PROTOCOL}.") for name in offered] + [token.strip()] * (scheme.lower() == "token")
        return any(hmac.compare_digest(one.encode(), self.token.encode()) for one in given)

    def get_user(self, handler: web.RequestHandler) -> User | None:
        known = self.shown(handler.request)
        vars(handler)["_token_authenticated"] = known  # where Jupyter looks for the user
        return User("reader") if known else None


@web.stream_request_body
class Refusal(web.RequestHandler):
    """The answer to a request that Jupyter's handlers do not get to see, which is given before its body is read."""

    def initialize(self, status: int) -> None:
        self.set_status(status)

    def prepare(self) -> None:
        self.set_header("Content-Type", "text/plain")
        self.finish("Refused. Open the link that `make lab` printed last.\n")


def refuse_strangers(application: Any, identity: Identity) -> None:
    """Refuse requests that do not show the token, except for the book's files and the entrance of JupyterLab.

    Jupyter would first read a whole body into memory, and some of its handlers fail at their own refusals. No page uses any
    other method than those of `tornado.web`, and ``OPTIONS`` asks for other origins.
    """
    find = application.find_handler

    def find_handler(request: HTTPServerRequest, **given: Any) -> Any:
        found = find(request, **given)
        handler = getattr(found, "handler_class", None)
        public = request.method in ("GET", "HEAD") and handler and issubclass(handler, (FileFindHandler, LabHandler))
        status = 0
        if request.method == "OPTIONS" or request.method not in web.RequestHandler.SUPPORTED_METHODS:
            status = 405
        elif not identity.shown(request) and (not public or {"Content-Length", "Transfer-Encoding"} & request.headers.keys()):
            status = 403
        return application.get_handler_delegate(request, Refusal, {"status": status}) if status else found

    application.find_handler = find_handler


def limit_connections(server: Any) -> None:
    """Hang up on connections beyond a number that leaves half of the descriptors to kernels and files."""
    handle, known = server.handle_stream, set[Any]()

    def handle_stream(stream: Any, address: Any) -> None:
        known.difference_update([one for one in known if one.closed()])
        if len(known) < min(CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2):
            known.add(stream)
            handle(stream, address)
        else:
            stream.close()

    server.handle_stream = handle_stream


class Sparing(logging.Filter):
    """A limit of the messages of a minute, so that no request and no fault can fill a disk."""

    MOST = 20
    minute = passed = 0

    def filter(self, record: logging.LogRecord) -> bool:
        if self.minute != (now := int(time.monotonic() // 60)):
            self.minute, self.passed = now, 0
        self.passed += 1
        if self.passed == self.MOST:
            record.msg, record.args = f"{record.getMessage()} (more messages of this minute are left out)", ()
        return self.passed <= self.MOST


def spare_the_log() -> None:
    """Let all handlers of this process share one limit."""
    sparing, loggers = Sparing(), [logging.root, *logging.root.manager.loggerDict.values()]
    handlers = [handler for logger in loggers for handler in getattr(logger, "handlers", [])]
    for handler in {*handlers, logging.lastResort}:
        handler.addFilter(sparing)


def settle() -> None:
    """Change Jupyter's handlers for all servers of this process: no cookie, no login, no access from other origins."""

    def refused(self: JupyterHandler) -> str:
        raise web.HTTPError(403)

    def entrance(self: LabHandler) -> str:
        self.set_status(401)
        raise web.Finish(ENTRANCE.format(self.base_url))

    def unstored(self: FileFindHandler) -> None:
        headers(self)
        self.set_header("Cache-Control", "no-store")

    def selected(self: websocket.WebSocketHandler, offered: list[str]) -> str | None:
        return PROTOCOL if PROTOCOL in offered else None

    def selected_by_kernels(self: KernelWebsocketHandler, offered: list[str]) -> str | None:
        return select(self, offered) or selected(self, offered)

    handlers: Any = JupyterHandler, FileFindHandler, LabHandler, websocket.WebSocketHandler, KernelWebsocketHandler
    every, files, lab, sockets, kernels = handlers
    select, headers = kernels.select_subprotocol, files.set_headers
    every.xsrf_token = b""  # Jupyter would store it in a cookie
    every.get_login_url, lab.get_login_url = refused, entrance
    every.set_cors_headers = lambda self: None  # by default any origin may read an answer to the token
    files.set_headers = unstored
    sockets.select_subprotocol, kernels.select_subprotocol = selected, selected_by_kernels


def arguments_of_server(project: Project, name: str, token: str, port: int, idle: int, ip: str) -> list[str]:
    """Return the settings of the server as command-line arguments, which override a user's own Jupyter configuration."""
    return [
        f"--ServerApp.ip={ip}",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=50",
        f"--ServerApp.root_dir={project.root}",
        f"--ServerApp.extra_static_paths={project.build / 'html'}",
        "--ServerApp.open_browser=False",
        "--ServerApp.allow_root=True",  # for containers and classrooms: nobody else can reach the server
        f"--ServerApp.base_url=/{name}/",
        "--ServerApp.local_hostnames=localhost",
        f"--ServerApp.local_hostnames={name}.localhost",
        "--ServerApp.allow_origin=",
        "--ServerApp.allow_origin_pat=",
        "--ServerApp.allow_remote_access=False",
        "--ServerApp.disable_check_xsrf=False",
        "--Application.log_level=ERROR",  # of this server and its extensions: readers need no warnings
        "--ServerApp.kernel_manager_class=ldpbook.live.Kernels",
        "--KernelManager.transport=ipc",  # other users can connect to any port
        "--MappingKernelManager.buffer_offline_messages=False",  # in memory, for pages that never come back
        "--AsyncMappingKernelManager.kernel_manager_class=ldpbook.live.Kernel",
        "--ServerApp.kernel_websocket_connection_class=ldpbook.live.Connection",
        "--ServerApp.identity_provider_class=ldpbook.live.Identity",
        f"--IdentityProvider.token={token}",
        f"--MappingKernelManager.cull_idle_timeout={idle}",
        f"--MappingKernelManager.cull_interval={min(60, idle)}",
        "--MappingKernelManager.cull_connected=True",
        f"--LabApp.app_settings_dir={project.root / 'book' / 'ldpbook' / 'lab'}",  # JupyterLab asks for no news and no updates
    ]


class Entrance(APIHandler):
    """The address at which a page checks whether its token is still valid."""

    @web.authenticated
    def get(self) -> None:
        self.set_status(204)
        self.finish()


class Kernel(ServerKernelManager):
    """A kernel that, when it ends or crashes, also ends all processes that its cells started.

    On Linux its keeper does that. Elsewhere, and if the keeper was killed, processes are found by a mark in their environment.
    """

    mark = ""  # a variable of the environment, which all processes of the kernel inherit
    left = math.inf  # time at which its last page was closed, by a monotonic clock

    async def _async_pre_start_kernel(self, **given: Any) -> Any:
        self.mark = secrets.token_hex(8)
        env = {**given.pop("env", os.environ), "LDPKIT_KERNEL": self.mark}
        command, given = await super()._async_pre_start_kernel(**given, env=env)
        kept = [sys.executable, "-I", "-S", keeper.__file__] if sys.platform == "linux" else []
        return kept + command, given

    async def _async_kill_kernel(self, restart: bool = False) -> None:
        await self._async_send_kernel_sigterm(restart)  # a keeper that is killed keeps nothing
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._async_wait(), 5)
        await super()._async_kill_kernel(restart)

    async def _async_shutdown_kernel(self, now: bool = False, restart: bool = False) -> None:
        await KernelManager._async_shutdown_kernel(self, now=now, restart=restart)
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, ProcessLookupError):  # the process has ended, or belongs to another user
                if process.environ().get("LDPKIT_KERNEL") == self.mark:
                    process.kill()

    shutdown_kernel = _async_shutdown_kernel


class Kernels(AsyncMappingKernelManager):
    """Kernels that end with their page, and print nothing in the server's terminal, since output belongs to the page."""

    async def start_kernel(self, **arguments: Any) -> str:  # type: ignore[override]  # the server names every argument
        quiet: dict[str, Any] = {"extra_arguments": ["--log-level=CRITICAL"], "stdout": DEVNULL, "stderr": DEVNULL}
        return await super().start_kernel(**arguments, **quiet)

    def notify_connect(self, kernel_id: str) -> None:
        untyped: Any = super()
        untyped.notify_connect(kernel_id)
        if kernel_id in self:
            self._kernels[kernel_id].left = math.inf

    def notify_disconnect(self, kernel_id: str) -> None:
        untyped: Any = super()
        untyped.notify_disconnect(kernel_id)
        if kernel_id in self and not self._kernel_connections[kernel_id]:
            self._kernels[kernel_id].left = time.monotonic()

    async def cull_kernel_if_idle(self, kernel_id: str) -> None:
        """End a page's kernel, busy or not, soon after its page was closed; end a kernel of JupyterLab after the idle time."""
        gone = time.monotonic() - self._kernels[kernel_id].left
        parent: Any = self.parent
        untyped: Any = super()
        sessions = await parent.session_manager.list_sessions()
        if gone > self.cull_interval and kernel_id not in {session["kernel"]["id"] for session in sessions}:
            await untyped.shutdown_kernel(kernel_id, now=True)
        else:
            self.cull_busy = gone > 0  # a page that waits for its cell keeps the kernel
            await untyped.cull_kernel_if_idle(kernel_id)


class Connection(ZMQChannelsWebsocketConnection):
    """The connection of a page to its kernel, which copes with a page that was closed before the kernel answered."""

    async def prepare(self) -> None:
        await super().prepare()  # type: ignore[no-untyped-call]  # it has no types
        if self.websocket_handler.connection is not self:
            raise web.Finish


def listen_beside(server: Any, port: int) -> None:
    """Listen on the other loopback address, too, which browsers try first for a name below ``localhost``."""
    try:
        server.add_sockets(bind_sockets(port, "::1"))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:  # another program would get the link
            sys.exit(f"--port must be a port that no other program uses, got {port}, which is in use at the address ::1")


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), help=f"first port to try; by default any, or {PUBLISHED} in a container")
@click.option("--idle", type=click.IntRange(1), default=IDLE, help="seconds without use after which a kernel is stopped")
@click.option("--ip", type=click.Choice(["127.0.0.1", "0.0.0.0"]), default="127.0.0.1",
              help="0.0.0.0 only in a container whose port is published on its host's loopback interface")  # fmt: skip
def main(port: int | None, idle: int, ip: str) -> None:
    """Serve the built book and JupyterLab from one address, so that the book's pages can run their own cells."""
    project = Project(paths.ROOT)
    if not project.html(FIRST).exists():
        sys.exit("The book is not built yet: run `make book`, or `make book SCALE=smoke` for a first look.")

    settle()
    shorten(40)
    name, token = f"book-{secrets.token_hex(8)}", secrets.token_urlsafe(32)
    contained = ip != "127.0.0.1"
    given = arguments_of_server(project, name, token, port or (PUBLISHED if contained else 0), idle, ip)
    with tempfile.TemporaryDirectory() as folder:  # of this user alone, for the sockets of kernels
        server = LabApp.initialize_server(argv=given)
        server.no_browser_open_file = True  # the log would contain the token
        server.kernel_manager.connection_dir = folder
        server.web_app.add_handlers(".*", [(f"/{name}/api/live", Entrance)])
        refuse_strangers(server.web_app, server.identity_provider)
        limit_connections(server.http_server)
        spare_the_log()
        if not contained:
            listen_beside(server.http_server, server.port)

        def stop(*_: object) -> None:
            print("\nStopped; open pages say so.", flush=True)
            server.stop(from_signal=True)

        signal.signal(signal.SIGINT, stop)  # Jupyter would ask first
        signal.signal(signal.SIGTERM, stop)
        way = f":{server.port}/{name}/static/{FIRST}.html#token={token}"
        told = f"The book, ready to run (Ctrl-C stops it):\n\n  http://{name}.localhost{way}\n"
        other = f"If the browser cannot find that address:\n\n  http://127.0.0.1{way}\n"
        server.io_loop.add_callback(print, f"\n{told}\n{other}", flush=True)  # once the loop runs, the port is open
        server.start()
