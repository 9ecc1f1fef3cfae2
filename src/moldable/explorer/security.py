"""What the server of the explorer refuses, and the headers of its answers.

Programs of other users of the machine can reach the port, and so can pages of other sites in the
user's own browser. Neither knows the token, which is the first part of every path. It is not a
cookie, because browsers send cookies of one port of 127.0.0.1 to all others.
"""

from __future__ import annotations

import hmac
import sys
from collections.abc import Callable
from functools import cache
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

from dash import Dash
from dash.exceptions import DashException
from flask import Flask, Response, request
from werkzeug.exceptions import BadRequest, HTTPException

from moldable.errors import MoldableError, printable
from moldable.explorer.bodies import well_formed

LARGEST_BODY: Final = 1 << 20
"""Bytes of a request."""
HOSTS: Final = ("127.0.0.1", "localhost")
"""Names of this machine. A page of another site has its own name here, even if that resolves to
127.0.0.1 (DNS rebinding). Any port is right, because `ssh -L` may forward from another one."""
BACK: Final = {"", ".", ".."}
"""Parts of paths that browsers remove themselves."""
PATHS: Final = ("_dash-component-suites/", "assets/")
ANSWERS: Final = "_dash-update-component"
PAGES: Final = ("", "_dash-layout", "_dash-dependencies", ANSWERS, "_favicon.ico")
HEADERS: Final = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
POLICY: Final = (
    "default-src 'none'; script-src 'self' {scripts}; connect-src 'self'; font-src 'self'; "
    # Plotly sets the styles of its drawings, and makes pictures of them from blobs.
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def protect(server: Flask, token: str, app: Callable[[], Dash]) -> None:
    """Make a server refuse whatever is not a request of its own page.

    Args:
        server: the server; its paths begin with the token.
        token: the secret part of the address.
        app: returns the application, which does not exist yet.
    """
    server.config["MAX_CONTENT_LENGTH"] = LARGEST_BODY

    @cache
    def hashes() -> str:
        return " ".join(app().csp_hashes())

    @server.before_request
    def _check() -> Response | None:
        reason = refusal(token, app())
        return None if reason is None else _plain(*reason)

    @server.after_request
    def _complete(response: Response) -> Response:
        for name, value in HEADERS.items():
            response.headers[name] = value
        response.headers["Content-Security-Policy"] = POLICY.format(scripts=hashes())
        response.headers["Cache-Control"] = _kept(response.status_code)
        return response

    @server.errorhandler(HTTPException)
    def _refuse(error: HTTPException) -> Response:
        return _plain(error.code or 500, error.name)

    @server.errorhandler(DashException)
    def _find_nothing(_: DashException) -> Response:
        return _plain(404, "There is no such script.")

    @server.errorhandler(Exception)
    def _fail(error: Exception) -> Response:
        tell(error)
        return _plain(500, "The request could not be answered.")


def _kept(status: int) -> str:
    """Return for how long the browser may keep an answer: scripts until the address changes."""
    _, _, rest = request.path.removeprefix("/").partition("/")
    script = rest.startswith(PATHS) and status == HTTPStatus.OK
    return "private, max-age=86400, immutable" if script else "no-store"


def refuse_or_tell(error: Exception) -> None:
    """Refuse a request that asks an invalid question; write other errors to stderr."""
    if isinstance(error, MoldableError):
        raise BadRequest from error
    tell(error)


def tell(error: Exception) -> None:
    """Write an error that is no fault of the input to stderr, in one line."""
    text = printable(f"{type(error).__name__}: {error}")
    sys.stderr.write(f"moldable: error: the explorer could not answer: {text}\n")


def refusal(token: str, app: Dash) -> tuple[int, str] | None:
    """Return the status and the reason if the current request is refused."""
    if _host_name(request.headers.get("Host", "")) not in HOSTS:
        return 403, "This address serves 127.0.0.1 only."
    given, _, rest = request.path.removeprefix("/").partition("/")
    if not hmac.compare_digest(given.encode(), token.encode()):
        return 403, "The address needs its token; open the one that moldable explore printed."
    origin = request.headers.get("Origin")
    if request.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"} or (
        origin is not None and origin != f"http://{request.host}"
    ):
        return 403, "Requests of other sites are refused."
    if not (rest in PAGES or (rest.startswith(PATHS) and not BACK & {*rest.split("/")})):
        return 404, "There is no such page."
    if rest == ANSWERS and not well_formed(_body(), app.callback_map):
        return 400, "The request does not have the form that the page sends."
    return None


def _body() -> Any:
    """Return the JSON of the request; other content is refused."""
    try:
        return request.get_json()
    except RecursionError:  # thousands of brackets
        return None


def _host_name(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:  # such as "[::"
        return None


def _plain(status: int, text: str) -> Response:
    return Response(f"{text}\n", status, mimetype="text/plain")
