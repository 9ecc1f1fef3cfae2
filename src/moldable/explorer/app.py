"""The web application of the explorer: its page, its callbacks and what it refuses."""

from __future__ import annotations

import threading
import uuid
from contextlib import suppress

from dash import Dash
from flask import Flask

from moldable.errors import MoldableError
from moldable.explorer.callbacks import connect
from moldable.explorer.layout import INDEX, page
from moldable.explorer.question import Question
from moldable.explorer.security import protect, refuse_or_tell
from moldable.explorer.shown import PARTS, show


def build_app(question: Question, token: str, source: str = "") -> Flask:
    """Return the application.

    Args:
        question: that the page begins with.
        token: the secret part of the address.
        source: the file that the question was read from; empty without one.
    """
    server = Flask("moldable.explorer", static_folder=None)
    protect(server, token, lambda: app)  # before Dash, so that it is asked first
    app = Dash(
        __package__,
        server=server,
        routes_pathname_prefix=f"/{token}/",
        requests_pathname_prefix=f"/{token}/",
        serve_locally=True,
        title="moldable explorer",
        index_string=INDEX,
        update_title="",
        add_log_handler=False,
        enable_mcp=False,
        on_error=refuse_or_tell,
    )
    app.layout = lambda: page(question, source, uuid.uuid4().hex)
    connect(app, question)
    return server


def warm_up(question: Question) -> None:
    """Begin to answer a question, so that compiled code is loaded when the page asks it."""

    def answer() -> None:
        for view in PARTS:
            with suppress(MoldableError):
                show(view, question, "quick")

    threading.Thread(target=answer, daemon=True).start()
