"""Admit only requests that show the token of the live server, in a header or as a subprotocol of a WebSocket.

Browsers send cookies to every port of an address, so that any other server of this machine receives them. Therefore no cookie is
set and none is read. A browser adds nothing by itself that admits a request, so that no other page can misuse it.
"""

import hmac
from typing import Any

from jupyter_server.auth.identity import IdentityProvider, User
from jupyter_server.base.handlers import APIHandler, JupyterHandler
from jupyter_server.services.kernels.websocket import KernelWebsocketHandler
from jupyterlab_server.handlers import LabHandler
from tornado import web, websocket
from tornado.httputil import HTTPServerRequest

PROTOCOL = "v1.token.websocket.jupyter.org"
"""Subprotocol by which a WebSocket connects.

A script cannot give a WebSocket a header, but can name protocols. It names this one, and this one with a dot and the token.
"""
ENTRANCE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>JupyterLab</title></head>
<body><script src="/static/_static/live/token.js"></script><script src="/static/_static/live/lab.js"></script></body></html>
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
    """The answer to a request with a body but without the token, which is given before the body is read."""

    def prepare(self) -> None:
        raise web.HTTPError(403)


def refuse_bodies(application: Any, identity: Identity) -> None:
    """Refuse requests that have a body but do not show the token, because Jupyter would first read the whole body into memory."""
    find = application.find_handler

    def find_handler(request: HTTPServerRequest, **given: Any) -> Any:
        brings = "Content-Length" in request.headers or "Transfer-Encoding" in request.headers
        if brings and not identity.shown(request):
            return application.get_handler_delegate(request, Refusal)
        return find(request, **given)

    application.find_handler = find_handler


def settle() -> None:
    """Change Jupyter's handlers for all servers of this process: no cookie, no login, no access from other origins."""

    def refused(self: JupyterHandler) -> str:
        raise web.HTTPError(403)

    def entrance(self: LabHandler) -> str:
        self.set_status(401)
        raise web.Finish(ENTRANCE)

    def selected(self: websocket.WebSocketHandler, offered: list[str]) -> str | None:
        return PROTOCOL if PROTOCOL in offered else None

    def selected_by_kernels(self: KernelWebsocketHandler, offered: list[str]) -> str | None:
        return select(self, offered) or selected(self, offered)

    handlers: Any = JupyterHandler, APIHandler, LabHandler, websocket.WebSocketHandler, KernelWebsocketHandler
    every, api, lab, sockets, kernels = handlers
    select = kernels.select_subprotocol
    every.xsrf_token = b""  # Jupyter would store it in a cookie
    every.get_login_url, lab.get_login_url = refused, entrance
    every.set_cors_headers = lambda self: None  # by default any origin may read an answer to the token
    api.options = web.RequestHandler.options  # this method refuses the request
    sockets.select_subprotocol, kernels.select_subprotocol = selected, selected_by_kernels
